import numpy as np
import pytest

from learners import PredictsNaN, Reversed, Says
from stablebag import BaggedClassifier, BaggedRegressor
from stablebag.models import learners as outputs


@pytest.fixture
def data():
    return np.arange(60.0).reshape(30, 2), np.random.default_rng(0).normal(size=30)


def test_nan_prediction_raises(data):
    X, y = data
    model = BaggedRegressor(PredictsNaN(), n_bags=3).fit(X, y)
    with pytest.raises(ValueError, match=r"bag 0.*prediction at point 1 is NaN"):
        model.predict(X)


def test_the_learners_order_of_classes_does_not_matter():
    X, y = np.zeros((40, 1)), np.array(["a"] * 30 + ["b"] * 8 + ["c"] * 2)
    model = BaggedClassifier(Reversed(), n_bags=50, random_state=0).fit(X, y)
    assert model.predict(X[:1]) == ["a"]
    np.testing.assert_allclose(model.predict_proba(X[:1])[0], [0.75, 0.2, 0.05], atol=0.04)


@pytest.mark.parametrize(("learner", "words"), [
    (Says(probabilities=[-50.0, 50.0]), "must be between 0 and 1"),
    (Says(probabilities=[0.2, 0.2]), "between 0 and 1 and sum to 1"),
    (Says(probabilities=[1.0]), "have shape"),
    (Says(probabilities=0.0), "have shape"),
    (Says(label=99), "predicted the class .*99.*, but the classes are"),
])  # fmt: skip
def test_wrong_probabilities_and_classes_raise(learner, words):
    X, y = np.zeros((10, 1)), np.repeat([0, 1], 5)
    model = BaggedClassifier(learner, n_bags=3, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match=words):
        model.predict_proba(X)


def test_predictions_are_copied_to_one_number_per_point():
    given = np.array([[1], [2]])
    taken = outputs.numbers(given, n_points=2)
    assert taken.tolist() == [1.0, 2.0]
    given[0] = 9
    assert taken.tolist() == [1.0, 2.0]


@pytest.mark.parametrize(("given", "words"), [
    ([1.0, 2.0], r"shape \(2,\) instead of \(3,\)"),
    ([[1.0, 2.0]] * 3, r"shape \(3, 2\) instead of \(3,\)"),
    ([1j, 2, 3], "complex128 instead of real numbers"),
    (["a", "b", "c"], "instead of real numbers"),
    (np.ma.array([1.0, 2.0, 3.0], mask=[0, 0, 1]), "masked at some points"),
    ([1.0, 2.0, np.nan], "at point 2 is NaN"),
])  # fmt: skip
def test_predictions_of_wrong_shape_or_type_raise(given, words):
    with pytest.raises(ValueError, match=words):
        outputs.numbers(given, n_points=3)


def test_labels_become_votes():
    classes = np.array(["a", "b", "c"])
    assert outputs.votes([["c"], ["a"]], 2, classes).tolist() == [[0, 0, 1], [1, 0, 0]]
    with pytest.raises(ValueError, match=r"labels of shape \(1,\) instead of \(2,\)"):
        outputs.votes(["c"], 2, classes)
    with pytest.raises(ValueError, match=r"predicted the class 1, but the classes are \['a', 'b', 'c'\]"):
        outputs.votes([1, 1], 2, classes)


def test_probabilities_that_nearly_sum_to_one_are_normalized():
    table = outputs.probabilities([[0.5004, 0.5], [-0.0001, 1.0]], 2, seen=[0, 1], classes=np.array([0, 1]))
    np.testing.assert_allclose(table.sum(axis=1), 1, rtol=1e-15)
    np.testing.assert_allclose(table, [[0.5004 / 1.0004, 0.5 / 1.0004], [0, 1]])


def test_classes_that_are_not_distinct_labels_raise():
    with pytest.raises(ValueError, match=r"contain a class twice: \[0, 0\]"):
        outputs.probabilities([[0.5, 0.5]], 1, seen=[0, 0], classes=np.array([0, 1]))
    with pytest.raises(ValueError, match="its classes_ must be a list of labels"):
        outputs.probabilities([[0.5, 0.5]], 1, seen=[[0, 1]], classes=np.array([0, 1]))
