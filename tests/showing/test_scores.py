import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, make_classification
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import RidgeClassifier
from sklearn.metrics import average_precision_score, f1_score, log_loss, roc_auc_score
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from stablebag import BaggedClassifier, BaggedRegressor, study
from stablebag.showing.scores import HeldOut, checked_metric, constant_like, unseen_errors


def held_out(learner, X, y, X_test, y_test):
    maker = BaggedRegressor if isinstance(learner, DecisionTreeRegressor) else BaggedClassifier
    model = maker(learner, n_bags=30, random_state=0).fit(X, y)
    averaged = model.predict(X_test) if maker is BaggedRegressor else model.predict_proba(X_test)
    return (
        HeldOut(learner.fit(X, y), X_test, averaged, y_test, y=y, classes=getattr(model, "classes_", None)),
        model,
        averaged,
    )


def test_scores_of_numbers_equal_those_computed_directly():
    X, y = np.arange(6.0)[:, None], np.array([0.0, 0.0, 0.0, 6.0, 6.0, 6.0])
    held, *_ = held_out(DecisionTreeRegressor(), X, y, X[[0, 5]], np.array([1.0, 9.0]))
    squared, absolute, r2 = held.scores()
    assert (squared.name, squared.lower_is_better) == ("root mean squared error", True)
    assert squared.base == pytest.approx(np.sqrt((1 + 9) / 2))
    assert squared.constant == pytest.approx(np.sqrt((4 + 36) / 2))  # the mean is 3
    assert (absolute.base, absolute.constant) == (2.0, 4.0)
    assert r2.name == "R2"
    assert r2.base == pytest.approx(1 - 10 / 32)
    (loss,) = held.losses()
    assert loss.constant * 81 == pytest.approx([4, 36])
    assert float((loss.base - loss.constant).mean()) * 81 == pytest.approx(-15)


def test_large_numbers_have_scores_too():
    X, y = np.arange(6.0)[:, None], 1e200 * np.array([1.0, 0.0, 0.0, 6.0, 6.0, 6.0])
    held, *_ = held_out(DecisionTreeRegressor(), X, y, X, y + 1e200)
    assert held.scores()[0].base == pytest.approx(1e200)
    assert np.isfinite(held.losses()[0].bagged).all()


def test_scores_of_two_classes_are_those_of_the_rarer_one():
    X, y = make_classification(400, 5, weights=[0.9], class_sep=0.5, random_state=0)
    labels = np.where(y == 1, "bad", "good")  # the rarer comes first in the alphabet
    held, model, averaged = held_out(DecisionTreeClassifier(max_depth=3), X[:300], labels[:300], X[300:], labels[300:])
    assert held.is_imbalanced
    assert held.rare == "bad"
    scores = {score.name: score for score in held.scores()}
    assert list(scores) == ["accuracy", "log loss", "balanced accuracy", "average precision", "AUC"]
    bad = averaged[:, list(model.classes_).index("bad")]
    assert scores["average precision"].bagged == pytest.approx(average_precision_score(y[300:], bad))
    assert scores["AUC"].bagged == pytest.approx(roc_auc_score(y[300:], bad))
    assert scores["AUC"].constant == 0.5
    assert scores["balanced accuracy"].constant == 0.5
    assert scores["log loss"].bagged == pytest.approx(log_loss(labels[300:], averaged, labels=model.classes_))
    (chosen,) = held.scores(("f1",))
    assert chosen.bagged == pytest.approx(f1_score(y[300:], bad > 0.5))


@pytest.mark.parametrize("learner", [SVC(), RidgeClassifier()])
def test_learners_without_probabilities_have_scores_of_decisions(learner):
    X, y = load_breast_cancer(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    held, *_ = held_out(learner, X[:150], y[:150], X[150:250], y[150:250])
    scores = {score.name: score for score in held.scores(("accuracy", "roc_auc", "neg_log_loss"))}
    assert scores["accuracy"].base > 0.8
    assert scores["AUC"].base > 0.9  # by its decision values, the right way round
    assert np.isnan(scores["log loss"].base)
    brier, wrong, log = held.losses()
    np.testing.assert_allclose(brier.base, 2 * wrong.base)  # a decision is a probability of one
    assert log.base is None


def test_unseen_class_counts_as_a_wrong_decision():
    X, y = np.arange(20.0)[:, None], np.repeat(["a", "b"], 10)
    held, *_ = held_out(DecisionTreeClassifier(), X, y, X[:3], np.array(["a", "a", "c"]))
    assert [score.name for score in held.scores()] == ["accuracy"]
    assert held.scores()[0].base == pytest.approx(2 / 3)
    assert len(held.losses()[0].bagged) == 2


def test_many_classes_and_a_constant():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(90, 2)), np.repeat(["a", "b", "c"], [70, 15, 5])
    held, *_ = held_out(DummyClassifier(strategy="prior"), X, y, X, y)
    for score in held.scores():
        assert score.base == pytest.approx(score.constant)
    assert [score.name for score in held.scores()] == ["accuracy", "log loss", "balanced accuracy"]


def test_unknown_metric_raises_an_error_with_a_suggestion():
    with pytest.raises(ValueError, match=r"There is no metric 'roc_acu'. Did you mean 'roc_auc'\?"):
        checked_metric("roc_acu")
    with pytest.raises(ValueError, match=r"Did you mean 'neg_root_mean_squared_error'"):
        checked_metric("root_mean_squared_error")


@pytest.mark.parametrize(
    ("short", "name"),
    [
        ("mape", "neg_mean_absolute_percentage_error"),
        ("RMSE", "neg_root_mean_squared_error"),
        ("mae", "neg_mean_absolute_error"),
        ("r2_score", "r2"),
        ("auc", "roc_auc"),
        ("log-loss", "neg_log_loss"),
        ("acuracy", "accuracy"),
    ],
)
def test_short_names_of_metrics_are_understood(short, name):
    with pytest.raises(ValueError, match=f"There is no metric '{short}'. Did you mean '{name}'") as error:
        checked_metric(short)
    assert "neg_mean_absolute_error, neg_root_mean_squared_error, accuracy, roc_auc" in str(error.value)
    assert checked_metric(name) == name


def test_unlike_metric_gets_no_suggestion():
    with pytest.raises(ValueError, match=r"There is no metric 'foo'\. Common ones are r2"):
        checked_metric("foo")


@pytest.mark.parametrize("name", ["accuracy", "roc_auc", "f1_macro", "neg_log_loss", "top_k_accuracy"])
def test_metrics_of_classes_are_not_for_numbers(name):
    assert checked_metric(name, "classification") == name
    with pytest.raises(ValueError, match=f"The metric '{name}' is for classes, but the target has numbers. Use for"):
        checked_metric(name, "regression")


@pytest.mark.parametrize("name", ["r2", "neg_max_error", "neg_mean_poisson_deviance", "neg_median_absolute_error"])
def test_metrics_of_numbers_are_not_for_classes(name):
    assert checked_metric(name, "regression") == name
    with pytest.raises(ValueError, match=f"The metric '{name}' is for numbers, but the target has classes. Use for"):
        checked_metric(name, "classification")


def study_of(seed=0, n_test=200, slope=1.0, groups=None):
    """A study of trees, whose held-out rows follow another law if the slope is not 1."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(150 + n_test, 2))
    y = X[:, 0] * np.where(np.arange(len(X)) < 150, 1.0, slope) + 0.5 * rng.normal(size=len(X))
    options = {"groups_test": groups, "n_refits": 2, "n_matched": 0, "n_points": 3}
    return study(BaggedRegressor(n_bags=60, random_state=0), X[:150], y[:150], X[150:], y[150:], **options)


def test_held_out_rows_are_called_harder_if_they_follow_another_law():
    same, other, few = study_of(), study_of(slope=-1.0), study_of(slope=-1.0, n_test=8)
    assert [each.unseen.is_harder for each in (same, other, few)] == [False, True, None]
    assert same.unseen.beats
    assert other.unseen.beats is None  # what the training rows say is not about these rows
    assert "harder held-out rows" in same.summary()[1].text
    assert other.summary()[1].text.startswith("The held-out rows seem to differ from the training rows: ")
    assert other.summary()[0].text.startswith("No. On 200 held-out rows, it does not clearly beat a constant")
    assert "harder" not in few.summary()[1].text


def test_nothing_is_estimated_from_training_rows_that_depend_on_each_other():
    made = study_of(groups=pd.Series(np.arange(200) // 10, name="span of time"))
    assert made.unseen is None
    assert "unseen" not in str(made)


def test_constant_has_the_bags_and_the_mean_of_the_model():
    X, y = np.arange(40.0)[:, None], np.arange(40.0) ** 2
    for fit_params in ({}, {"groups": np.repeat(list("abcdefghij"), 4)}, {"row_ids": np.arange(100, 140)}):
        model = BaggedRegressor(n_bags=30, max_features=1, random_state=3).fit(X, y, **fit_params)
        constant = constant_like(model)
        assert constant.bags_ == model.bags_
        means = [y[list(rows)].mean() for rows in model.estimators_samples_]
        assert constant.predict(X[:1]) == pytest.approx(np.mean(means))


def test_errors_that_overflow_are_left_out():
    X, y = np.arange(40.0)[:, None], 1e200 * np.resize([1.0, -1.0, 0.5], 40)
    found = unseen_errors(BaggedRegressor(n_bags=30, random_state=0).fit(X, y))
    assert [error.name for error in found.errors] == ["mean absolute error"]
    assert (found.against, found.beats, found.compared) == (None, None, None)
    equal = unseen_errors(BaggedRegressor(n_bags=30, random_state=0).fit(X, np.ones(40)))
    assert [error.interval for error in equal.errors] == [None, None]
    assert equal.beats is None
