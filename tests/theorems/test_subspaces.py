"""Random subspaces keep every certificate, exactly: fitted models over all bags, for every set of columns.

The columns hang on the learner's seed alone. For each seed the learner is therefore one of those that the theorems are
about, and so is the average over all sets of columns, in which every (bag, columns) is listed.
"""

import itertools

import numpy as np
import pytest

from grids import first, together
from stablebag import (
    BaggedClassifier,
    BaggedRegressor,
    BernoulliSubbagging,
    ClassicalBagging,
    FixedRange,
    FunctionClassifier,
    FunctionRegressor,
    Subbagging,
    certify,
    leave_one_out,
    leave_one_out_refit,
)
from theorems.test_models_keep_their_certificates import ROUNDING, assert_kept, hashed

N, COLUMNS = 5, 4
X = np.array([[hashed("cell", row, column) for column in range(COLUMNS)] for row in range(N)])
Y = np.array([0.3, -0.2, 1.0, 0.4, 0.0])
LABELS = np.array(["a", "a", "b", "b", "c"])
POINTS = X[:2] + 0.5
SCHEMES = [Subbagging(2), Subbagging(3), BernoulliSubbagging(0.5), ClassicalBagging(2)]


def lookup(X, y, seed):
    """A number that hangs on all that it sees, rows and columns."""
    return lambda points: np.full(len(points), hashed(X.round(9).tolist()))


def half_space(X, y, seed):
    return lambda points: np.full(len(points), float(X.sum() > 0.5 * X.size))


def memorizer(X, y, seed):
    """Whether the smallest cell of all columns that it sees is among its rows: in other bags for other columns."""
    return lambda points: np.full(len(points), float(np.isclose(X.min(), smallest_of(X))))


def smallest_of(seen):
    """The smallest cell of the whole table in the columns that a bag has seen."""
    columns = [place for place in range(COLUMNS) if np.isin(seen, X[:, place]).any()]
    return X[:, columns].min()


LEARNERS = [lookup, half_space, memorizer]


@pytest.mark.parametrize("scheme", first(SCHEMES), ids=str)
@together(learner=LEARNERS)
@pytest.mark.filterwarnings("ignore:With n_bags=.all., all bags use the same")
def test_over_all_bags_every_certificate_is_kept_whatever_columns_were_drawn(scheme, learner, seed):
    for size, number in ((1, 0), (2, 1)):
        about = {"scheme": scheme, "n_bags": "all", "prediction_range": FixedRange(0, 1), "random_state": seed + number}
        unfitted = BaggedRegressor(FunctionRegressor(learner), max_features=size, **about)
        model = unfitted.fit(X, Y)
        measured, literal = leave_one_out(model, POINTS), leave_one_out_refit(unfitted, X, Y, POINTS)
        np.testing.assert_allclose(measured.left_out, literal.left_out, atol=1e-12)
        for certificate in (certify(model), certify(model, POINTS), certify(model, reused=True)):
            assert_kept(certificate, literal, N)


@pytest.mark.parametrize("scheme", first(SCHEMES), ids=str)
@together(learner=LEARNERS)
def test_the_average_over_all_bags_and_all_columns_keeps_the_certificate(scheme, learner):
    """What drawn bags with drawn columns tend to: every pair of a bag and a set of columns, each with its chance."""
    about = {"scheme": scheme, "n_bags": "all", "prediction_range": FixedRange(0, 1), "random_state": 0}
    single = []
    for columns in itertools.combinations(range(COLUMNS), 2):
        model = BaggedRegressor(FunctionRegressor(learner), **about).fit(X[:, columns], Y)
        single.append(leave_one_out(model, POINTS[:, columns]))
    moved = np.abs(np.mean([one.prediction - one.left_out for one in single], axis=0))
    certificate = certify(model)
    for rows in range(N + 1):
        assert ((moved > certificate.epsilon(rows / N) + ROUNDING).sum(axis=0) <= rows).all()
    assert (moved.mean(axis=0) <= certificate.mean() + ROUNDING).all()
    assert (np.sqrt((moved**2).mean(axis=0)) <= certificate.rms() + ROUNDING).all()


@pytest.mark.parametrize("scheme", first(SCHEMES), ids=str)
def test_drawn_bags_with_drawn_columns_keep_what_is_proved_of_them(scheme, seed):
    for learner in LEARNERS:
        model = BaggedRegressor(
            FunctionRegressor(learner), scheme=scheme, n_bags=30, max_features=2, prediction_range=FixedRange(0, 1),
            random_state=seed,
        ).fit(X, Y)  # fmt: skip
        if (model.bags_.n_without == 0).any():
            continue
        for certificate in (certify(model, reused=True), certify(model, POINTS, reused=True)):
            assert_kept(certificate, leave_one_out(model, POINTS), N)


@pytest.mark.filterwarnings("ignore:With n_bags=.all., all bags use the same")
@pytest.mark.parametrize("scheme", first(SCHEMES), ids=str)
def test_classifiers_with_lonely_classes_keep_theirs(scheme, seed):
    def shares(X, y, seed):
        labels = np.unique(y)
        weights = np.array([hashed(X.round(9).tolist(), str(label)) + 1e-3 for label in labels])
        return lambda points: np.tile(weights / weights.sum(), (len(points), 1))

    about = {"scheme": scheme, "n_bags": "all", "max_features": 2, "random_state": seed}
    unfitted = BaggedClassifier(FunctionClassifier(shares), **about)
    model, literal = unfitted.fit(X, LABELS), leave_one_out_refit(unfitted, X, LABELS, POINTS)
    np.testing.assert_allclose(leave_one_out(model, POINTS).left_out, literal.left_out, atol=1e-12)
    assert_kept(certify(model), literal, N)
