"""Nearest neighbours averaged over all bags in closed form are what listing and fitting every bag gives."""

import pickle

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

from stablebag import (
    BaggedClassifier,
    BaggedRegressor,
    BernoulliSubbagging,
    ClassicalBagging,
    FixedRange,
    PoissonizedBagging,
    Subbagging,
    certify,
    certify_reused,
    forget,
    learn,
    leave_one_out,
    leave_one_out_error,
    predict_interval,
)

RNG = np.random.default_rng(3)
X, Y = RNG.normal(size=(7, 2)), RNG.normal(size=7)
LABELS = np.array(["a", "b", "a", "c", "b", "a", "b"])
POINTS = RNG.normal(size=(4, 2))
SCHEMES = [Subbagging(3), ClassicalBagging(3)]


def pair(scheme, learner=None, labels=False, **more):
    """The same model in closed form, and with all bags listed and fitted by scikit-learn."""
    kind, default = (BaggedClassifier, KNeighborsClassifier) if labels else (BaggedRegressor, KNeighborsRegressor)
    models = [
        kind(learner or default(2), scheme=scheme, n_bags="all", solver=solver, random_state=0, **more)
        for solver in ("auto", "scikit-learn")
    ]
    closed, listed = (model.fit(X, LABELS if labels else Y) for model in models)
    assert str(closed.solver_) == "neighbours in closed form"
    assert len(listed.estimators_) > 0
    return closed, listed


@pytest.mark.parametrize("scheme", SCHEMES, ids=str)
@pytest.mark.parametrize("labels", [False, True], ids=["numbers", "labels"])
def test_predictions_and_leave_one_out_are_those_of_all_bags(scheme, labels):
    closed, listed = pair(scheme, labels=labels)
    ask = "predict_proba" if labels else "predict"
    np.testing.assert_allclose(getattr(closed, ask)(POINTS), getattr(listed, ask)(POINTS), atol=1e-12)
    one, other = leave_one_out(closed, POINTS), leave_one_out(listed, POINTS)
    np.testing.assert_allclose(one.left_out, other.left_out, atol=1e-12)
    np.testing.assert_allclose(one.bags.deviation, other.bags.deviation, atol=1e-12)
    streamed = leave_one_out(closed, POINTS, X_train=X, y_train=LABELS if labels else Y)
    np.testing.assert_array_equal(streamed.left_out, one.left_out)


@pytest.mark.parametrize("scheme", SCHEMES, ids=str)
def test_certificates_and_intervals_are_those_of_all_bags(scheme):
    closed, listed = pair(scheme)
    assert certify(closed).epsilon(0.3) == certify(listed).epsilon(0.3)
    np.testing.assert_allclose(certify(closed, POINTS).epsilon(0.3), certify(listed, POINTS).epsilon(0.3))
    assert certify_reused(closed).epsilon(0.3) == pytest.approx(certify_reused(listed).epsilon(0.3))
    for method in ("jackknife", "jackknife+", "jackknife-minmax"):
        one, other = (predict_interval(m, POINTS, confidence_level=0.6, method=method) for m in (closed, listed))
        np.testing.assert_allclose([one.lower, one.upper], [other.lower, other.upper], atol=1e-12)
        assert one.guarantee == other.guarantee
    assert leave_one_out_error(closed).value == pytest.approx(leave_one_out_error(listed).value)


@pytest.mark.parametrize("scheme", SCHEMES, ids=str)
def test_rows_are_forgotten_and_learned(scheme):
    closed, listed = pair(scheme)
    one, other = forget(closed, [2]), forget(listed, [2])
    assert str(one.solver_) == "neighbours in closed form"
    np.testing.assert_allclose(one.predict(POINTS), other.predict(POINTS), atol=1e-12)
    again = learn(one, X[2:3], Y[2:3], row_ids=[2])
    np.testing.assert_allclose(again.predict(POINTS), closed.predict(POINTS), atol=1e-12)
    np.testing.assert_allclose(one.predict(POINTS), leave_one_out(closed, POINTS).left_out[2], atol=1e-12)


@pytest.mark.parametrize("scheme", [*SCHEMES, BernoulliSubbagging(0.5), PoissonizedBagging(0.5)], ids=str)
@pytest.mark.parametrize("labels", [False, True], ids=["numbers", "labels"])
def test_the_certificate_bounds_what_is_measured(scheme, labels):
    y = LABELS if labels else Y
    kind, learner = (BaggedClassifier, KNeighborsClassifier(1)) if labels else (BaggedRegressor, KNeighborsRegressor(1))
    model = kind(learner, scheme=scheme, n_bags="all").fit(X, y)
    measured = leave_one_out(model, POINTS)
    for share in (1 / 7, 2 / 7, 4 / 7):
        assert (measured.epsilon(share) <= np.asarray(certify_reused(model, POINTS).epsilon(share)) + 1e-12).all()
        assert measured.epsilon(share, over_points="max").max() <= certify(model).epsilon(share) + 1e-12


def test_there_are_no_single_bags():
    closed, _ = pair(SCHEMES[0])
    assert len(closed.estimators_) == len(closed.bags_) == 0
    with pytest.raises(ValueError, match="no predictions of single bags"):
        closed.bag_predictions(POINTS)
    again = pickle.loads(pickle.dumps(closed))
    np.testing.assert_array_equal(again.predict(POINTS), closed.predict(POINTS))


def test_later_changes_of_the_table_do_not_reach_it():
    table = X.copy()
    model = BaggedRegressor(KNeighborsRegressor(2), scheme=Subbagging(3), n_bags="all", keep_rows=False).fit(table, Y)
    before = model.predict(POINTS)
    table[:] = 0.0
    np.testing.assert_array_equal(model.predict(POINTS), before)


def test_a_range_that_clips_bags_has_no_closed_form():
    model = BaggedRegressor(
        KNeighborsRegressor(2), scheme=Subbagging(3), n_bags="all", prediction_range=FixedRange(-0.1, 0.1)
    ).fit(X, Y)
    assert len(model.bags_) == 35  # they are listed
    rows = RNG.normal(size=(200, 2))
    with pytest.raises(ValueError, match="There is no closed form, because the range is narrower than the targets"):
        model.fit(rows, RNG.normal(size=200))


def test_weights_by_distance_have_no_closed_form():
    learner = KNeighborsRegressor(2, weights="distance")
    assert len(BaggedRegressor(learner, scheme=Subbagging(3), n_bags="all").fit(X, Y).bags_) == 35
