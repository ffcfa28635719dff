from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_iris
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import BaggingClassifier, StackingClassifier
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier

from learners import FailsOn, RowRecorder
from stablebag import BaggedClassifier, BaggedRegressor, Subbagging
from stablebag.models import fitting
from stablebag.models.fitted import Fitted
from stablebag.models.fitting import fit_bags
from stablebag.models.rows import Points
from stablebag.models.solving import FitJob, PredictRequest
from stablebag.resampling import Bags

# --------------------------------------------------------------------------------------------------------------- asking

X, Y = load_iris(return_X_y=True)
TWO = Y[50:] == 2


class Scorer(ClassifierMixin, BaseEstimator):
    """Scores each class that it has seen by a table, or scores what it was told."""

    def __init__(self, scores=None, classes=None):
        self.scores = scores
        self.classes = classes

    def fit(self, X, y):
        self.classes_ = np.unique(y) if self.classes is None else np.asarray(self.classes)
        return self

    def predict(self, X):
        return np.full(len(X), self.classes_[0])

    def decision_function(self, X):
        return np.asarray(self.scores)


def answer(scores, seen, classes):
    model = Scorer(scores, seen).fit(None, seen)
    return (
        PredictRequest(decisions=True)
        .predict(model, Points(np.zeros((1, 1))), np.array(list(classes)), harmless=True)
        .tolist()
    )


@pytest.mark.parametrize("learner", [SVC(), LogisticRegression(max_iter=500), RidgeClassifier()])
@pytest.mark.parametrize(("X", "y"), [(X, Y), (X[50:], TWO)], ids=["three classes", "two"])
def test_decision_functions_are_averaged_over_bags(learner, X, y):
    model = BaggedClassifier(learner, n_bags=6, random_state=0).fit(X, y)
    expected = np.mean([fitted.decision_function(X) for fitted in model], axis=0)
    np.testing.assert_allclose(model.decision_function(X), expected)
    assert model.decision_function(X).shape == ((150, 3) if len(X) == 150 else (100,))


def test_average_of_decision_functions_equals_scikit_learns():
    theirs = BaggingClassifier(SVC(), n_estimators=4, random_state=0).fit(X, Y)
    ours = BaggedClassifier(SVC(), n_bags=4, random_state=0).fit(X, Y)
    theirs.estimators_, theirs.estimators_features_ = list(ours), ours.estimators_features_
    np.testing.assert_allclose(theirs.decision_function(X), ours.decision_function(X))


@pytest.mark.parametrize(
    ("learner", "there"),
    [
        (None, False), (KNeighborsClassifier(), False), (DummyClassifier(), False), (SVC(), True),
        (make_pipeline(LinearSVC()), True), (make_pipeline(DecisionTreeClassifier()), False),
        (GridSearchCV(SVC(), {"C": [1]}), True),
    ],
    ids=str,
)  # fmt: skip
def test_decision_function_is_available_if_the_learner_has_one(learner, there):
    assert hasattr(BaggedClassifier(learner), "decision_function") is there
    assert hasattr(BaggedClassifier(learner, n_bags=2, random_state=0).fit(X, Y), "decision_function") is there
    assert not hasattr(BaggedRegressor(), "decision_function")
    assert not hasattr(BaggedClassifier(5), "decision_function")


def test_decision_function_may_become_available_in_fit():
    stack = StackingClassifier([("tree", DecisionTreeClassifier())])
    assert not hasattr(BaggedClassifier(stack), "decision_function")
    model = BaggedClassifier(stack, n_bags=2, random_state=0).fit(X, Y)
    assert model.decision_function(X).shape == (150, 3)


def test_class_that_a_bag_lacks_never_wins():
    assert answer([[0.5, -2.0]], ["a", "c"], "abc") == [[0.5, -2.0, -2.0]]
    assert answer([3.0], ["a", "c"], "abc") == [[-3.0, -3.0, 3.0]]
    assert answer([-3.0], ["a", "c"], "abc") == [[3.0, -3.0, -3.0]]
    assert answer([[1.0, 2.0, 3.0]], ["c", "a", "b"], "abcd") == [[2.0, 3.0, 1.0, 1.0]]


def test_score_of_two_classes_is_for_the_second_in_any_order():
    assert answer([3.0], ["a", "b"], "ab") == answer([[3.0]], ["a", "b"], "ab") == [3.0]
    assert answer([3.0], ["b", "a"], "ab") == [-3.0]


def test_bags_with_one_class_or_without_rows_count_as_zero():
    for y, shape in ((TWO, (100,)), (np.repeat([0, 1, 2, 3], 25), (100, 4))):
        model = BaggedClassifier(SVC(), scheme="bernoulli", n_bags=40, random_state=0)
        model.set_params(scheme__bag_size=0.02).fit(X[50:], y)
        constant = np.array([isinstance(fitted, DummyClassifier) for fitted in model])
        assert (model.bags_.sizes == 0).any()
        assert 0 < constant.sum() < 40
        scores = model.decision_function(X[50:])
        assert scores.shape == shape
        assert np.isfinite(scores).all()
        if len(shape) == 1:
            rest = [fitted.decision_function(X[50:]) for fitted in model if not isinstance(fitted, DummyClassifier)]
            np.testing.assert_allclose(scores, np.sum(rest, axis=0) / 40, atol=1e-12)


@pytest.mark.parametrize(
    ("scores", "classes", "reason"),
    [
        ([[1.0, 2.0]], "abc", "shape"), ([1.0], "abc", "shape"), ([[1.0, 2.0]], "ab", "shape"),
        ([np.nan], "ab", "NaN"), ([np.inf], "ab", "infinite"), (["x"], "ab", "instead of real numbers"),
    ],
)  # fmt: skip
def test_scores_that_cannot_be_averaged_raise(scores, classes, reason):
    with pytest.raises(ValueError, match=reason):
        answer(scores, list(classes), list(classes))


def test_scores_of_pairs_of_classes_raise_and_name_the_bag():
    model = BaggedClassifier(SVC(decision_function_shape="ovo"), n_bags=2, random_state=0).fit(X, Y)
    with pytest.raises(ValueError, match=r"SVC failed to predict with the model of bag 0.*scores pairs of classes"):
        model.decision_function(X)
    two = BaggedClassifier(SVC(decision_function_shape="ovo"), n_bags=2, random_state=0).fit(X[50:], TWO)
    assert two.decision_function(X[50:]).shape == (100,)


def test_n_jobs_does_not_change_bits_of_decision_functions(monkeypatch):
    model = BaggedClassifier(LogisticRegression(max_iter=500), n_bags=20, scheme=Subbagging(20), random_state=0)
    one = model.fit(X, Y).decision_function(X)
    monkeypatch.setattr(fitting, "_SMALL_PREDICTION", 0)
    np.testing.assert_array_equal(model.set_params(n_jobs=2).decision_function(X), one)


def test_predict_log_proba_is_the_log_of_the_average():
    model = BaggedClassifier(n_bags=10, random_state=0).fit(X, Y)
    logarithms = model.predict_log_proba(X)
    np.testing.assert_array_equal(np.exp(logarithms) > 0, model.predict_proba(X) > 0)
    np.testing.assert_allclose(np.exp(logarithms), model.predict_proba(X))
    assert np.isneginf(logarithms).any()
    assert not np.isnan(logarithms).any()


# ------------------------------------------------------------------------------------------------------------------ job


@pytest.fixture
def job():
    X, bags = np.arange(6.0)[:, None], Bags([[0, 1], [2, 3], [3, 3], [4, 5], [5, 0]], n_samples=6)
    return FitJob(RowRecorder(), X, X.ravel(), bags, np.arange(10, 15), fit_params={"tag": "all"}, empty_value=3.0)


def test_part_of_a_job_has_its_bags_seeds_and_numbers(job):
    part = job.part(1, 4)
    assert (len(job), len(part)) == (5, 3)
    assert part.bags == job.bags[1:4]
    assert part.seeds.tolist() == [11, 12, 13]
    assert (part.bag_numbers, part.part(1, 3).bag_numbers) == (range(1, 4), range(2, 4))
    assert part.part(1, 3).seeds.tolist() == [12, 13]


def test_part_of_a_job_fits_the_same_models(job):
    whole, part = list(fit_bags(job)), list(fit_bags(job.part(2, 4)))
    assert [model.seed_ for model in part] == [12, 13]
    for model, same in zip(part, whole[2:4], strict=True):
        np.testing.assert_array_equal(Fitted(model).X, Fitted(same).X)


def test_errors_in_a_part_name_the_bag_by_its_number_in_the_whole_job(job):
    failing = FitJob(FailsOn(row=4.0), job.X, job.y, job.bags, job.seeds)
    with pytest.raises(RuntimeError, match=r"failed to fit on bag 3 \(2 rows\)"):
        list(fit_bags(failing.part(2, 5)))


def test_part_with_only_its_own_rows_fits_the_same_models(job):
    own = job.part(2, 4).on_own_rows()
    assert (own.X.ravel().tolist(), own.y.tolist()) == ([3.0, 4.0, 5.0], [3.0, 4.0, 5.0])
    assert [rows.tolist() for rows in own.bags] == [[0, 0], [1, 2]]
    assert (own.bag_numbers[0], own.seeds.tolist()) == (2, [12, 13])
    for model, same in zip(fit_bags(own), list(fit_bags(job))[2:4], strict=True):
        np.testing.assert_array_equal(Fitted(model).X, Fitted(same).X)


def test_part_with_its_own_rows_still_knows_parameters_per_row(job):
    given = replace(job, fit_params={"sample_weight": np.arange(6.0), "three": [7, 8, 9]})
    own = given.part(2, 4).on_own_rows()  # has three rows, like the parameter that has nothing to do with rows
    assert own.params_by_row() == own.part(0, 1).params_by_row() == {"sample_weight"}
    assert own.fit_params["sample_weight"].tolist() == [3.0, 4.0, 5.0]
    assert own.fit_params["three"] == [7, 8, 9]


def test_job_of_empty_bags_has_one_unused_row(job):
    own = replace(job, bags=Bags([[], []], n_samples=6), seeds=np.arange(2)).on_own_rows()
    assert (len(own.X), [len(rows) for rows in own.bags]) == (1, [0, 0])
    assert [model.predict([[0.0]]).tolist() for model in fit_bags(own)] == [[3.0], [3.0]]


def test_without_rows_removes_only_the_data(job):
    light = job.without_rows()
    assert light.X is None
    assert len(light.y) == 0
    assert light.bags == job.bags
    assert (light.fit_params, light.empty_value, len(light.seeds)) == ({"tag": "all"}, 3.0, 5)
    assert len(job.y) == 6  # which is left as it was
