"""Units of several rows: every certificate held against fitted models, by listing all bags of up to six units.

With units in place of rows the theorems are the same; what could go wrong is the way from units to rows. The learners
see rows only, and are out to break a promise about units.
"""

import math

import numpy as np
import pytest

from grids import first, together
from stablebag import (
    BaggedClassifier,
    BaggedRegressor,
    BernoulliSubbagging,
    Certificate,
    ClassicalBagging,
    FixedRange,
    FunctionClassifier,
    FunctionRegressor,
    ObservedRange,
    PoissonizedBagging,
    Subbagging,
    TrimmedRange,
    certify,
    leave_one_out,
    leave_one_out_refit,
)
from stablebag.models.fitted import Fitted
from stablebag.proving import bounds

ROUNDING = 1e-11
SIZES = [(1, 4, 2), (3, 1, 1, 5), (2, 2, 1, 6, 1), (1, 1, 7, 2, 3, 1)]
LISTED = [Subbagging(1), Subbagging(2), BernoulliSubbagging(0.3), BernoulliSubbagging(0.6), ClassicalBagging(2)]
POINTS = np.array([[0.0], [3.0], [50.0]])


def clinic(sizes, seed=0):
    """Rows of units of these sizes in random order: the number of the row, a target, and the unit's name."""
    rng = np.random.default_rng([seed, len(sizes)])
    groups = rng.permutation(np.repeat([f"unit {k}" for k in range(len(sizes))], sizes))
    X = np.arange(len(groups), dtype=float)[:, None]
    return X, rng.integers(0, 4, size=len(groups)) / 3, groups


def threshold(X, y, seed):
    return lambda points: np.full(len(points), float(len(X) > 4))


def parity(X, y, seed):
    return lambda points: np.full(len(points), float(len(X) % 2))


def memorizer(X, y, seed):
    return lambda points: np.isin(points[:, 0], X[:, 0]).astype(float)


def table(X, y, seed):
    """Any function of the rows: a random number in [0, 1] for each set of rows, with repeats."""
    rows = np.sort(X[:, 0]).astype(np.uint64)
    return lambda points: np.random.default_rng([7, *rows.tolist()]).random(len(points))


LEARNERS = [threshold, parity, memorizer, table]


def model_of(learner, scheme, rule=FixedRange(0, 1)):  # noqa: B008
    return BaggedRegressor(FunctionRegressor(learner), scheme=scheme, n_bags="all", prediction_range=rule)


@pytest.mark.parametrize("sizes", first(SIZES), ids=str)
@together(scheme=LISTED, learner=LEARNERS)
def test_no_unit_breaks_a_certificate(learner, scheme, sizes):
    X, y, groups = clinic(sizes)
    model = model_of(learner, scheme).fit(X, y, groups=groups)
    moved, proved = leave_one_out(model, POINTS), certify(model)
    n = len(sizes)
    assert moved.values.shape == (n, 3)
    assert proved.n_samples == n
    for rank in range(n):
        assert (moved.epsilon(rank / n) <= proved.epsilon(rank / n) + ROUNDING).all()
    constant = bounds.bagging_constant(n, *model.scheme_.p_and_q)
    weights = Fitted(model).average.weights
    spread = np.sqrt(np.tensordot(weights, (model.bag_predictions(POINTS) - moved.prediction) ** 2, axes=1))
    assert (moved.norm(2) <= math.sqrt(constant) * spread + ROUNDING).all()
    assert (moved.max() <= model.scheme_.inclusion_probability + ROUNDING).all()
    assert (moved.norm(2) <= certify(model, POINTS, reused=True).rms() + ROUNDING).all()


@pytest.mark.parametrize("sizes", first(SIZES[:3]), ids=str)
@together(scheme=LISTED, rule=[FixedRange(0, 1), ObservedRange(), TrimmedRange(2)])
def test_bags_without_a_unit_are_what_a_fit_without_it_would_list(rule, scheme, sizes):
    X, y, groups = clinic(sizes)
    if isinstance(rule, TrimmedRange) and sum(sorted(sizes)[:-2]) < 3:
        sizes = (2, 2, 1, 6, 1)  # without two units, three rows are left
        X, y, groups = clinic(sizes)
    model = model_of(table, scheme, rule).fit(X, y, groups=groups)
    reused, names = leave_one_out(model, POINTS), model.units_.labels
    for unit, name in enumerate(names):
        stay = groups != name
        if scheme == Subbagging(2) and len(sizes) == 3:
            continue  # two of two units are no law
        without = model_of(table, model.scheme_.without_one(), rule).fit(X[stay], y[stay], groups=groups[stay])
        np.testing.assert_allclose(reused.left_out[unit], without.predict(POINTS), atol=1e-12)
    if scheme != Subbagging(2) or len(sizes) > 3:
        refits = leave_one_out_refit(model_of(table, scheme, rule), X, y, POINTS, groups=groups)
        np.testing.assert_allclose(reused.left_out, refits.left_out, atol=1e-12)


@together(sizes=SIZES, rule=[ObservedRange(), TrimmedRange(2), lambda y: (0.0, float(np.max(y)))])
def test_the_share_of_units_that_change_the_range_is_exact(rule, sizes):
    for seed in range(30):
        _, y, groups = clinic(sizes, seed)
        names = list(dict.fromkeys(groups.tolist()))
        if isinstance(rule, TrimmedRange) and len(y) < 3 + max(sizes):
            continue
        interval = rule if not hasattr(rule, "interval") else rule.interval
        changing = [name for name in names if interval(y[groups != name]) != interval(y)]
        certificate = Certificate.for_targets(Subbagging(1), y, rule, groups=groups)
        assert certificate.delta_range == len(changing) / len(names)


def test_a_range_that_is_not_defined_without_some_unit_is_refused_at_once():
    X, y, groups = clinic((1, 5, 1))
    with pytest.raises(ValueError, match=r"Too few targets for TrimmedRange\(2\): need at least 3, got 2"):
        model_of(table, Subbagging(1), TrimmedRange(2)).fit(X, y, groups=groups)


def votes(X, y, seed):
    """All probability to one class, by the rows of the bag."""

    def predict(points):
        found = np.zeros((len(points), len(np.unique(y))))
        found[:, int(X[:, 0].sum()) % found.shape[1]] = 1.0
        return found

    return predict


@pytest.mark.parametrize("labels", first(["aabbbccddd", "abcabcddde", "aaaaabbbbc"]))
@together(scheme=[*LISTED, BernoulliSubbagging(0.1)])
def test_no_unit_breaks_the_certificate_of_a_classifier(scheme, labels):
    X, y = np.arange(10.0)[:, None], np.array(list(labels))
    groups = [0, 0, 0, 1, 1, 2, 2, 2, 3, 3]
    model = BaggedClassifier(FunctionClassifier(votes), scheme=scheme, n_bags="all").fit(X, y, groups=groups)
    moved = leave_one_out(model, POINTS)
    for vector in (False, True):
        measured, proved = moved.in_norm() if vector else moved, certify(model, vector=vector)
        for rank in range(4):
            assert (measured.epsilon(rank / 4) <= proved.epsilon(rank / 4) + ROUNDING).all()
        assert (measured.norm(2) <= certify(model, vector=vector, reused=True).rms() + ROUNDING).all()
        assert (measured.max() <= proved.worst_case() + ROUNDING).all()


@pytest.mark.parametrize("sizes", first(SIZES), ids=str)
@together(scheme=[*LISTED, PoissonizedBagging(1.5), ClassicalBagging(1.0)])
def test_drawn_bags_keep_their_certificate_for_certain(scheme, sizes):
    X, y, groups = clinic(sizes)
    for learner in LEARNERS:
        model = BaggedRegressor(
            FunctionRegressor(learner), scheme=scheme, n_bags=60, prediction_range=FixedRange(0, 1), random_state=1
        ).fit(X, y, groups=groups)
        moved, proved = leave_one_out(model, POINTS), certify(model, reused=True)
        assert (moved.norm(2) <= proved.rms() + ROUNDING).all()
        assert (moved.max() <= proved.worst_case() + ROUNDING).all()
        for bag, rows in zip(model.bags_, model.units_.rows_of_bags(model.bags_), strict=True):
            expected = [row for unit in bag for row in np.flatnonzero(groups == model.units_.labels[unit])]
            assert rows.tolist() == expected


def test_a_unit_moves_what_none_of_its_rows_moves():
    """The memorizer of a unit that has two rows with the same entry: no row matters, and the unit does."""
    X, y, groups = np.array([[0.0], [0.0], [1.0], [2.0], [3.0]]), np.zeros(5), [0, 0, 1, 2, 3]
    learner = FunctionRegressor(memorizer)
    by_row = leave_one_out_refit(learner, X, y, [[0.0]])
    by_unit = leave_one_out_refit(learner, X, y, [[0.0]], groups=groups)
    assert by_row.max().tolist() == [0.0]
    assert by_unit.max().tolist() == [1.0]
    model = model_of(memorizer, Subbagging(2)).fit(X, y, groups=groups)
    assert leave_one_out(model, [[0.0]]).max().tolist() == [0.5]  # p, which no learner can exceed
