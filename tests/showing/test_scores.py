import math

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, make_classification
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import RidgeClassifier
from sklearn.metrics import average_precision_score, f1_score, log_loss, roc_auc_score
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from stablebag import (
    BaggedClassifier,
    BaggedRegressor,
    BernoulliSubbagging,
    FixedRange,
    StratifiedSubbagging,
    certify,
    leave_one_out,
    study,
)
from stablebag.showing.scores import HeldOut, checked_metric, constant_like, unseen_errors
from stablebag.showing.study import Study


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
    assert (equal.is_constant, equal.beats) == (True, False)


def test_constant_is_the_mean_whatever_bags_and_range_the_model_has():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(100, 2)), np.exp(2 * rng.normal(size=100))
    rare = (np.arange(100) < 5).astype(int)
    for model in (
        BaggedRegressor(n_bags=50, prediction_range=FixedRange(20, 90), random_state=0).fit(X, y),  # excludes the mean
        BaggedRegressor(n_bags=50, scheme=BernoulliSubbagging(0.01), random_state=0).fit(X, y),  # has empty bags
        BaggedRegressor(n_bags=50, scheme=StratifiedSubbagging({0: 3, 1: 3}), random_state=0).fit(X, y, strata=rare),
    ):
        constant = constant_like(model)
        assert constant.predict(X[:1, :1]) == pytest.approx(y.mean(), rel=0.1)
    model = BaggedClassifier(n_bags=50, scheme=StratifiedSubbagging({0: 3, 1: 3}), random_state=0).fit(X, rare)
    assert constant_like(model).predict_proba(X[:1, :1])[0, 1] == pytest.approx(0.05, abs=0.01)


def test_bags_that_favour_a_rare_class_do_not_make_the_constant_worse():
    rng = np.random.default_rng(0)
    X, rare = rng.normal(size=(300, 2)), (np.arange(300) < 15).astype(int)
    model = BaggedClassifier(n_bags=60, scheme=StratifiedSubbagging({0: 8, 1: 8}), random_state=0).fit(X, rare)
    found = unseen_errors(model)
    assert found.errors[1].constant == pytest.approx(2 * 0.05 * 0.95, rel=0.02)
    assert found.beats is False  # it predicts both classes about equally often


def test_held_out_rows_are_not_called_harder_than_groups_of_rows():
    rng = np.random.default_rng(0)
    of = np.r_[np.zeros(150, dtype=int), np.arange(1, 151)]  # a group with half of the rows, which are far harder
    X = rng.normal(size=(600, 2))
    y = X[:, 0] + np.where(np.r_[of, of] == 0, 6.0, 0.5) * rng.normal(size=600)
    model, options = BaggedRegressor(n_bags=60, random_state=0), {"n_refits": 2, "n_matched": 0, "n_points": 3}
    rows = study(model, X[:300], y[:300], X[300:], y[300:], groups=of, **options)
    assert rows.unseen.is_harder is None  # a mean over rows says nothing of a mean over groups
    groups = study(model, X[:300], y[:300], X[300:], y[300:], groups=of, groups_test=of, **options)
    assert groups.unseen.is_harder in (False, None)


def test_error_of_harder_held_out_rows_is_that_of_the_test():
    rng = np.random.default_rng(0)
    X, of = rng.normal(size=(400, 2)), np.r_[np.zeros(100, dtype=int), np.arange(1, 101)]
    y = X[:, 0] + rng.uniform(-1, 1, size=400)
    y[200:] += np.where(of == 0, 6.0, 4.0)  # the largest group is also the farthest off
    options = {"groups": np.arange(200), "groups_test": of, "n_refits": 2, "n_matched": 0, "n_points": 3}
    made = study(BaggedRegressor(n_bags=60, random_state=0), X[:200], y[:200], X[200:], y[200:], **options)
    squares = (made.model.predict(X[200:]) - y[200:]) ** 2
    mean = math.sqrt((squares[:100].mean() + squares[100:].sum()) / 101)
    assert f"the root mean squared error is {mean:.3g} there" in made.summary()[1].text
    assert "at training groups that were left out." in made.summary()[1].text


def test_intervals_of_skewed_errors_may_be_wider():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 2))
    skewed = unseen_errors(BaggedRegressor(n_bags=60, random_state=0).fit(X, np.exp(2 * rng.normal(size=150))))
    assert skewed.errors[1].may_be_wider
    assert skewed.errors[1].interval_text().endswith(", or wider")
    plain = unseen_errors(BaggedRegressor(n_bags=60, random_state=0).fit(X, X[:, 0] + rng.uniform(size=150)))
    assert [error.may_be_wider for error in plain.errors] == [False, False]
    rare = unseen_errors(BaggedClassifier(n_bags=60, random_state=0).fit(X, np.arange(150) < 3))
    assert rare.errors[-1].may_be_wider


def test_scores_and_findings_count_rows_of_classes_that_were_not_trained_on():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    y = np.where(X[:, 0] > 0, "up", "down").astype(object)
    y[150:180] = "new"
    options = {"n_refits": 2, "n_matched": 0, "n_points": 3}
    made = study(BaggedClassifier(n_bags=60, random_state=0), X[:100], y[:100], X[100:], y[100:], **options)
    assert made.facts().section("scores").caption == "scores on 100 held-out rows"
    assert made.facts()["accuracy"].value <= 0.7
    said = "30 of 100 held-out rows have a class that no training row has, so they are always wrong."
    assert made.summary()[1].text.startswith(said)


def test_spans_of_time_keep_their_name():
    spans = pd.Series(np.arange(40) // 10, name="span of time")
    assert study_of(n_test=40, groups=spans).ranking.groups.plural == "spans of time"


def test_study_of_a_model_with_strata_has_its_errors():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2))
    model = BaggedRegressor(n_bags=60, scheme=StratifiedSubbagging(0.5), random_state=0)
    model.fit(X, X[:, 0], strata=np.arange(80) % 2)
    made = Study.of(leave_one_out(model, X[:3]), certify(model, reused=True), model=model)
    assert made.unseen.beats
