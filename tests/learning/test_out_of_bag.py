import pickle

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_iris
from sklearn.ensemble import BaggingClassifier, BaggingRegressor
from sklearn.linear_model import Ridge
from sklearn.metrics import accuracy_score, balanced_accuracy_score, mean_absolute_error, r2_score
from sklearn.neighbors import KNeighborsRegressor

from learners import RowRecorder
from stablebag import BaggedClassifier, BaggedRegressor, Subbagging, forget, leave_one_out_error
from stablebag.learning.out_of_bag import left_out_at

pytestmark = pytest.mark.kernels

DIABETES, IRIS = load_diabetes(return_X_y=True), load_iris(return_X_y=True)


def test_the_score_is_that_of_the_predictions_by_the_bags_without_each_row():
    X, y = DIABETES[0][:60], DIABETES[1][:60]
    model = BaggedRegressor(Ridge(), n_bags=60, random_state=0, oob_score=True).fit(X, y)
    bags = np.array([fitted.predict(X) for fitted in model])
    for row in range(60):  # rows that set the range are clipped to what it is without them
        out = bags[[row not in rows for rows in model.estimators_samples_], row]
        low, high = model.prediction_range_(np.delete(y, row))
        assert model.oob_prediction_[row] == pytest.approx(np.clip(out, low, high).mean())
    assert model.oob_score_ == r2_score(y, model.oob_prediction_)


def test_a_classifier_scores_labels_and_keeps_probabilities():
    X, y = IRIS
    labels = np.array(["a", "b", "c"])[y]
    model = BaggedClassifier(n_bags=60, random_state=0, oob_score=True).fit(X, labels)
    assert model.oob_decision_function_.shape == (150, 3)
    np.testing.assert_allclose(model.oob_decision_function_.sum(axis=1), 1)
    predicted = model.classes_[model.oob_decision_function_.argmax(axis=1)]
    assert model.oob_score_ == accuracy_score(labels, predicted)
    assert not hasattr(model, "oob_prediction_")
    assert 1 - model.oob_score_ == pytest.approx(leave_one_out_error(model, "zero_one").value)


def test_any_metric_of_targets_and_predictions_will_do():
    X, y = DIABETES
    model = BaggedRegressor(Ridge(), n_bags=40, random_state=0, oob_score=mean_absolute_error).fit(X, y)
    assert model.oob_score_ == pytest.approx(leave_one_out_error(model, "absolute").value)
    classifier = BaggedClassifier(n_bags=40, random_state=0, oob_score=balanced_accuracy_score).fit(*IRIS)
    assert 0.9 < classifier.oob_score_ <= 1


def test_the_score_is_near_to_that_on_new_rows_as_scikit_learns_is():
    X, y = DIABETES
    about = {"random_state": 0, "oob_score": True}
    ours = BaggedRegressor(scheme="classical", n_bags=100, **about).fit(X[:300], y[:300])
    theirs = BaggingRegressor(n_estimators=100, **about).fit(X[:300], y[:300])
    assert abs(ours.oob_score_ - ours.score(X[300:], y[300:])) < 0.15
    assert abs(ours.oob_score_ - theirs.oob_score_) < 0.05
    ours = BaggedClassifier(scheme="classical", n_bags=50, **about).fit(*IRIS)
    assert abs(ours.oob_score_ - BaggingClassifier(n_estimators=50, **about).fit(*IRIS).oob_score_) < 0.03


def test_a_row_in_every_bag_is_refused_before_anything_is_fitted():
    class NeverFitted(RowRecorder):
        def fit(self, X, y):
            raise AssertionError("it was fitted")

    with pytest.raises(ValueError, match="is in all 1 bags, so its leave-one-out prediction is undefined"):
        BaggedRegressor(NeverFitted(), n_bags=1, random_state=0, oob_score=True).fit(*DIABETES)


@pytest.mark.parametrize("given", ["r2", 1, None, 0.5, [True]])
def test_what_is_no_metric_is_refused(given):
    with pytest.raises(TypeError, match="The 'oob_score' parameter of BaggedRegressor must be a bool or a function"):
        BaggedRegressor(oob_score=given).fit(*DIABETES)


def test_without_being_asked_nothing_is_scored():
    model = BaggedClassifier(n_bags=5, random_state=0).fit(*IRIS)
    assert not [name for name in vars(model) if name.startswith("oob_") and name.endswith("_")]


def test_a_warm_start_scores_all_bags_and_forgets_the_score_when_told_to():
    about = {"n_bags": 30, "random_state": 0, "oob_score": True}
    X, y = DIABETES
    model = BaggedRegressor(Ridge(), warm_start=True, **about).fit(X, y)
    before = model.oob_score_
    model.set_params(n_bags=60).fit(X, y)
    assert model.oob_score_ != before
    assert model.oob_score_ == BaggedRegressor(Ridge(), **{**about, "n_bags": 60}).fit(X, y).oob_score_
    model.set_params(n_bags=70, oob_score=False).fit(X, y)
    assert not hasattr(model, "oob_score_")
    assert not hasattr(model, "oob_prediction_")


def test_the_model_without_a_row_has_the_score_without_it():
    X, y = DIABETES
    about = {"scheme": Subbagging(100), "n_bags": 40, "random_state": 0, "oob_score": True}
    without = forget(BaggedRegressor(Ridge(), **about).fit(X, y), [3])
    rest = np.delete(np.arange(len(y)), 3)
    assert without.oob_score_ == BaggedRegressor(Ridge(), **about).fit(X[rest], y[rest], row_ids=rest).oob_score_


def test_a_row_is_scored_by_bags_without_its_whole_unit():
    X, y = DIABETES[0][:60], DIABETES[1][:60]
    model = BaggedRegressor(Ridge(), n_bags=60, random_state=0, oob_score=True, prediction_range=None)
    model.fit(X, y, groups=np.arange(60) // 2)
    bags = np.array([fitted.predict(X) for fitted in model])
    out = [0 not in rows and 1 not in rows for rows in model.estimators_samples_]
    np.testing.assert_allclose(model.oob_prediction_[:2], bags[out][:, :2].mean(axis=0))


@pytest.mark.parametrize("keep_rows", [True, False])
def test_a_model_that_keeps_no_rows_is_scored_all_the_same_and_predicts_no_row_twice(keep_rows, monkeypatch):
    model = BaggedRegressor(Ridge(), n_bags=40, random_state=0, oob_score=True, keep_rows=keep_rows).fit(*DIABETES)
    assert model.oob_prediction_ is left_out_at(model, DIABETES[0])
    assert pickle.loads(pickle.dumps(model)).oob_score_ == model.oob_score_
    if keep_rows:
        monkeypatch.setattr(type(model), "raw_blocks", None)
        assert leave_one_out_error(model).value > 0


def test_all_bags_in_closed_form_are_scored():
    model = BaggedRegressor(KNeighborsRegressor(3), n_bags="all", random_state=0, oob_score=True).fit(*DIABETES)
    assert not model.has_single_bags
    assert model.oob_score_ == r2_score(DIABETES[1], model.oob_prediction_)


def test_several_outputs_are_scored_together_and_each_output_alone():
    X, y = DIABETES[0][:80], np.column_stack([DIABETES[1], DIABETES[0][:, 2]])[:80]
    about = {"n_bags": 60, "random_state": 0}
    model = BaggedRegressor(Ridge(), oob_score=True, **about).fit(X, y)
    assert model.oob_prediction_.shape == (80, 2)
    assert model.oob_score_ == r2_score(y, model.oob_prediction_)
    for number in (0, 1):
        alone = BaggedRegressor(Ridge(), oob_score=True, **about).fit(X, y[:, number])
        view = model.output(number)
        np.testing.assert_allclose(view.oob_prediction_, alone.oob_prediction_, rtol=1e-9)
        assert view.oob_score_ == pytest.approx(alone.oob_score_)
        assert not view.oob_prediction_.flags.writeable
    assert model.oob_prediction_.shape == (80, 2)  # as it was


def test_a_metric_of_all_outputs_is_not_asked_about_one():
    def of_both(y, predicted):
        assert y.shape == predicted.shape == (40, 2)
        return 7.0

    X, y = DIABETES[0][:40], np.column_stack([DIABETES[1], DIABETES[0][:, 2]])[:40]
    model = BaggedRegressor(Ridge(), n_bags=40, random_state=0, oob_score=of_both).fit(X, y)
    assert model.oob_score_ == 7
    assert model.output(0).oob_prediction_.shape == (40,)
    assert not hasattr(model.output(0), "oob_score_")
