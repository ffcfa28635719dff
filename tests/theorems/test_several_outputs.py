"""Several outputs: vector certificates held against fitted models, by listing all bags of up to seven rows.

The learners know that all outputs are clipped to a box which is taken from the targets, and are out to break a promise
about the distance between vectors: they threshold, memorize, toss coins, and go beyond the box at single outputs.
"""

import hashlib
import itertools
import math

import numpy as np
import pytest

from grids import first, together
from stablebag import (
    BaggedRegressor,
    BernoulliSubbagging,
    Certificate,
    ClassicalBagging,
    FixedRange,
    FunctionRegressor,
    ObservedRange,
    Subbagging,
    TrimmedRange,
    certify,
    leave_one_out,
    leave_one_out_refit,
)
from stablebag.models.fitted import Fitted

ROUNDING = 1e-11
POINTS = np.array([[0.0], [100.0]])
LISTED = [Subbagging(1), Subbagging(2), BernoulliSubbagging(0.4), ClassicalBagging(2)]


def mean(X, y, seed):
    return lambda points: np.tile(y.mean(axis=0), (len(points), 1))


def test_three_rows_and_two_outputs_by_hand():
    X, y = np.arange(3.0)[:, None], np.array([[0.0, 0.0], [1.0, 4.0], [3.0, 2.0]])
    model = BaggedRegressor(FunctionRegressor(mean), scheme=Subbagging(2), n_bags="all").fit(X, y)
    # The bags are the first two rows, the outer two and the last two.
    np.testing.assert_allclose(model.bag_predictions([[0.0]])[:, 0], [[0.5, 2.0], [1.5, 1.0], [2.0, 3.0]])
    np.testing.assert_allclose(model.predict([[0.0]]), [[4 / 3, 2.0]])
    assert model.range_ == ((0.0, 3.0), (0.0, 4.0))
    # One bag is without each row, and no range without a row reaches into it.
    moved = leave_one_out(model, [[0.0]])
    np.testing.assert_allclose(moved.left_out[:, 0], [[2.0, 3.0], [1.5, 1.0], [0.5, 2.0]])
    in_norm = moved.in_norm().values.ravel()
    np.testing.assert_allclose(in_norm**2, [(2 / 3) ** 2 + 1, (1 / 6) ** 2 + 1, (5 / 6) ** 2])
    # The first row is the smallest of both outputs, the second the largest of one and the third of the other.
    proved = certify(model, vector=True)
    assert (proved.range_length, proved.delta_range, proved.reach) == (5.0, 1.0, 5.0)
    assert [certify(model.output(place)).delta_range for place in (0, 1)] == [2 / 3, 2 / 3]
    assert proved.epsilon(0.9) == 5.0  # all rows change the box, so nothing is known but its diagonal


def test_with_bags_of_all_rows_but_one_the_mean_square_is_attained():
    X, y = np.arange(3.0)[:, None], np.array([[0.0, 0.0], [1.0, 4.0], [3.0, 2.0]])
    ranges = [FixedRange(0, 3), FixedRange(0, 4)]
    model = BaggedRegressor(FunctionRegressor(mean), scheme=Subbagging(2), n_bags="all", prediction_range=ranges)
    moved = leave_one_out(model.fit(X, y), [[0.0]]).in_norm()
    # c = 1 here, and the variance over bags is ((5/6)^2 + (1/6)^2 + 1 + (2/3)^2 + 1) / 3 = 19/18.
    assert moved.norm(2)[0] == pytest.approx(math.sqrt(19 / 18))
    assert certify(model, [[0.0]], vector=True, reused=True).rms()[0] == pytest.approx(math.sqrt(19 / 18))
    assert certify(model, [[0.0]], vector=True).rms()[0] == pytest.approx(math.sqrt(19 / 18))
    assert certify(model, vector=True).rms() == pytest.approx(2.5)  # half the diagonal
    assert certify(model, vector=True).worst_case() == pytest.approx(10 / 3)  # p times the diagonal


# ----------------------------------------------------------------------------- learners that are out to break a promise


def hashed(*values):
    digest = hashlib.blake2b(repr(values).encode(), digest_size=6).digest()
    return int.from_bytes(digest, "big") / 2**48


def far(y, where):
    """Beyond the box, on one side or the other of each output."""
    return np.where(where, 1e6, -1e6) * np.ones(y.shape[1])


def threshold(X, y, seed):
    return lambda points: np.tile(far(y, X[:, 0].sum() > 1.5 * len(X)), (len(points), 1))


def memorizer(X, y, seed):
    return lambda points: np.where(np.isin(points, X), 1.0, -1.0) * far(y, np.arange(y.shape[1]) % 2 == 0)


def corners(X, y, seed):
    """A corner of the box for each set of rows, which looks random."""
    rows = sorted(X[:, 0].tolist())
    sides = [[hashed(rows, float(point), place) > 0.5 for place in range(y.shape[1])] for point in POINTS[:, 0]]
    return lambda points: np.where(sides, 1e6, -1e6)[: len(points)]


def one_output_alone(X, y, seed):
    """Moves one output by all it can, and leaves the others."""
    value = np.zeros(y.shape[1])
    value[-1] = 1e6 * (-1) ** len(np.unique(X))
    return lambda points: np.tile(value, (len(points), 1))


def extremes(X, y, seed):
    return lambda points: np.tile(y.max(axis=0) if 0.0 in X else y.min(axis=0), (len(points), 1))


LEARNERS = [mean, threshold, memorizer, corners, one_output_alone, extremes]
RANGES = {
    "fixed": FixedRange(-1, 2),
    "observed": ObservedRange(),
    "trimmed": TrimmedRange(2),
    "mixed": [FixedRange(0, 1), ObservedRange(), lambda y: (0.0, 2 * float(np.max(y)) + 1)],
}


def table(n, seed=0):
    rng = np.random.default_rng([n, seed])
    y = np.column_stack([rng.integers(0, 4, size=n) / 3, rng.normal(size=n) * 10, rng.integers(0, 2, size=n)])
    return np.arange(n, dtype=float)[:, None], y


def assert_kept(proved, distances):
    """Hold a certificate against the truth: one column of distances per point."""
    n = len(distances)
    scale = 1 + np.abs(distances).max()
    for point, column in enumerate(np.sort(distances, axis=0)[::-1].T):
        for rows in range(n):
            epsilon = np.broadcast_to(proved.epsilon(rows / n), (distances.shape[1],))[point]
            assert column[rows] <= epsilon + ROUNDING * scale, f"{rows} of {n} rows"
        for epsilon in (*column, 0.7 * column[0]):
            share = np.broadcast_to(proved.delta(float(epsilon)), (distances.shape[1],))[point]
            assert np.mean(column > epsilon + ROUNDING * scale) <= share + ROUNDING
        assert column[0] <= proved.worst_case() + ROUNDING * scale
        for bound, true in ((proved.mean(), column.mean()), (proved.rms(), math.sqrt(np.mean(column**2)))):
            assert true <= np.broadcast_to(bound, (distances.shape[1],))[point] + ROUNDING * scale


def test_reusing_all_bags_is_fitting_anew_without_each_row():
    X, y = table(5)
    for kind, learner in (("observed", corners), ("mixed", extremes), ("trimmed", memorizer)):
        model = BaggedRegressor(
            FunctionRegressor(learner), scheme=Subbagging(2), n_bags="all", prediction_range=RANGES[kind]
        )
        fresh = leave_one_out_refit(model, X, y, POINTS)
        reused = leave_one_out(model.fit(X, y), POINTS)
        np.testing.assert_allclose(reused.left_out, fresh.left_out, atol=1e-9)
        assert fresh.in_norm().scope.mismatch(certify(model, vector=True).scope) is None


@pytest.mark.parametrize("scheme", first(LISTED), ids=str)
@together(kind=RANGES)
def test_the_vector_of_outputs_keeps_its_certificate(kind, scheme):
    X, y = table(4 if isinstance(scheme, BernoulliSubbagging) else 5)
    for learner in LEARNERS:
        model = BaggedRegressor(
            FunctionRegressor(learner), scheme=scheme, n_bags="all", prediction_range=RANGES[kind]
        ).fit(X, y)
        moved = leave_one_out(model, POINTS)
        for proved in (
            certify(model, vector=True), certify(model, POINTS, vector=True),
            certify(model, vector=True, reused=True), certify(model, POINTS, vector=True, reused=True),
        ):  # fmt: skip
            assert_kept(proved, moved.in_norm().values)
            assert moved.in_norm().scope.mismatch(proved.scope) is None


@pytest.mark.parametrize("learner", first(LEARNERS), ids=lambda learner: learner.__name__)
def test_each_output_keeps_the_certificate_of_its_own(learner):
    X, y = table(5)
    model = BaggedRegressor(
        FunctionRegressor(learner), scheme=Subbagging(2), n_bags="all", prediction_range=RANGES["mixed"]
    ).fit(X, y)
    together = leave_one_out(model, POINTS)
    for place in range(3):
        alone = leave_one_out(model.output(place), POINTS)
        np.testing.assert_allclose(alone.values, together.values[..., place], atol=1e-12)
        for proved in (certify(model.output(place)), certify(model.output(place), POINTS, reused=True)):
            assert_kept(proved, alone.values)
            assert alone.scope.mismatch(proved.scope) is None


@pytest.mark.parametrize("learner", first([corners, memorizer], 0), ids=lambda learner: learner.__name__)
def test_seven_rows(learner):
    X, y = table(7)
    model = BaggedRegressor(FunctionRegressor(learner), scheme=Subbagging(3), n_bags="all").fit(X, y)
    moved = leave_one_out(model, POINTS).in_norm()
    assert_kept(certify(model, vector=True), moved.values)
    assert_kept(certify(model, POINTS, vector=True), moved.values)


@pytest.mark.parametrize("learner", first([corners, extremes]), ids=lambda learner: learner.__name__)
@together(kind=RANGES)
def test_drawn_bags_keep_the_certificate_of_their_own(learner, kind):
    X, y = table(12)
    for scheme in (Subbagging(0.5), BernoulliSubbagging(0.3), ClassicalBagging(1.0)):
        model = BaggedRegressor(FunctionRegressor(learner), scheme=scheme, n_bags=30, prediction_range=RANGES[kind])
        moved = leave_one_out(model.set_params(random_state=1).fit(X, y), POINTS).in_norm()
        assert_kept(certify(model, vector=True, reused=True), moved.values)
        assert_kept(certify(model, POINTS, vector=True, reused=True), moved.values)


@pytest.mark.parametrize("n", first([3, 4]))
@together(learner=[mean, corners, one_output_alone], kind=["fixed", "observed", "mixed"])
def test_two_bags_drawn_anew_keep_the_certificate_exactly(n, kind, learner):
    """All draws of two bags with all rows, and of two without a row, are listed with their chances."""
    X, y = table(n)
    about = {"scheme": Subbagging(1 if n == 3 else 2), "n_bags": "all", "prediction_range": RANGES[kind]}
    model = BaggedRegressor(FunctionRegressor(learner), **about).fit(X, y)
    raw, average = model.predict_once(POINTS[:1]).raw, Fitted(model).average
    outputs, bags = average.outputs(raw)[:, 0], list(model.bags_)
    low, high = average.interval
    distances, chances = [], []
    pairs = [np.mean(pair, axis=0) for pair in itertools.product(outputs, repeat=2)]
    for row in range(n):
        ends = average.range_changes.get(row, (low, high))
        without = [np.clip(line, *ends) for line, bag in zip(raw[:, 0], bags, strict=True) if row not in bag]
        others = [np.mean(pair, axis=0) for pair in itertools.product(without, repeat=2)]
        moved = [np.linalg.norm(one - other) for one in pairs for other in others]
        distances += moved
        chances += [1 / n / len(moved)] * len(moved)
    distances, chances = np.array(distances), np.array(chances)
    for coupling in ("any", "independent"):
        proved = Certificate.for_targets(about["scheme"], y, RANGES[kind], 2, coupling=coupling, vector=True)
        for epsilon in np.quantile(distances, [0.0, 0.3, 0.6, 0.9, 1.0], method="lower"):
            assert chances[distances > epsilon + 1e-8].sum() <= proved.delta(float(epsilon)) + 1e-9
        assert chances @ distances <= proved.mean() + 1e-9
        assert math.sqrt(chances @ distances**2) <= proved.rms() + 1e-9
        assert distances.max() <= proved.worst_case() + 1e-9


def test_a_box_that_grows_without_a_row_is_counted_with_all_that_it_spans():
    """A rule whose interval is longer without the first row: the reach is over both."""

    def grows(y):
        return (0.0, 1.0) if 7.0 in y else (-9.0, 1.0)

    X, y = np.arange(5.0)[:, None], np.array([[7.0, 0], [1, 1], [2, 0], [3, 1], [4, 0]])
    learner = FunctionRegressor(lambda X, y, seed: lambda points: np.full((len(points), 2), -100.0))
    model = BaggedRegressor(
        learner, scheme=Subbagging(2), n_bags="all", prediction_range=[grows, FixedRange(0, 1)]
    ).fit(X, y)
    proved = certify(model, vector=True)
    assert (proved.delta_range, proved.reach) == (0.2, math.hypot(10, 1))
    moved = leave_one_out(model, POINTS).in_norm()
    assert moved.max()[0] == pytest.approx(9.0)
    assert_kept(proved, moved.values)
    assert_kept(certify(model, vector=True, reused=True), moved.values)


def test_units_of_several_rows_keep_the_certificate():
    rng = np.random.default_rng(0)
    groups = np.repeat(list("abcde"), [1, 3, 2, 1, 4])
    X, y = np.arange(11.0)[:, None], np.column_stack([rng.normal(size=11), rng.integers(0, 3, size=11)])
    for learner in (corners, extremes):
        model = BaggedRegressor(FunctionRegressor(learner), scheme=Subbagging(2), n_bags="all")
        moved = leave_one_out_refit(model, X, y, POINTS, groups=groups).in_norm()
        model.fit(X, y, groups=groups)
        assert len(moved.rows) == 5
        np.testing.assert_allclose(leave_one_out(model, POINTS).in_norm().values, moved.values, atol=1e-9)
        assert_kept(certify(model, vector=True), moved.values)
        assert_kept(certify(model, POINTS, vector=True, reused=True), moved.values)
        assert moved.scope.mismatch(certify(model, vector=True).scope) is None
