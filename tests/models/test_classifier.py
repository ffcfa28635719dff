import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from learners import Voter
from stablebag import BaggedClassifier


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


def test_probabilities_are_averaged_and_votes_where_there_are_none(iris):
    X, y = iris
    model = BaggedClassifier(DecisionTreeClassifier(max_depth=1), n_bags=30, random_state=0).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X), model.bag_predictions(X).mean(axis=0))
    np.testing.assert_array_equal(model.predict(X), model.predict_proba(X).argmax(axis=1))
    for learner in (Voter(), SGDClassifier(loss="hinge"), SVC()):
        votes = BaggedClassifier(learner, n_bags=10, random_state=0).fit(X, y).bag_predictions(X)
        assert set(np.unique(votes)) == {0.0, 1.0}


@pytest.mark.parametrize("labels", [
    ["no", "maybe", "yes"], [-1, 0, 7], [0.5, 1.5, 2.5], np.array(["a", "b", "c"], dtype=object),
], ids=str)  # fmt: skip
def test_labels_of_any_type_come_back_as_they_were(labels, iris):
    X, y = iris
    y = np.asarray(labels)[y]
    if y.dtype.kind == "f":
        with pytest.raises(ValueError, match="Unknown label type"):
            BaggedClassifier(n_bags=3).fit(X, y)
        return
    model = BaggedClassifier(n_bags=30, random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.classes_, np.unique(y))
    assert (model.predict(X) == y).mean() > 0.9


def test_two_classes_and_booleans(iris):
    X, y = iris[0][:100], iris[1][:100].astype(bool)
    model = BaggedClassifier(LogisticRegression(), n_bags=5, random_state=0).fit(X, y)
    assert model.predict(X).dtype == bool
    assert model.predict_proba(X).shape == (100, 2)


def test_one_class_in_all_is_refused():
    with pytest.raises(ValueError, match="at least 2 classes in the data, but the data contains only one class: 'a'"):
        BaggedClassifier(n_bags=2).fit([[1], [2]], ["a", "a"])


@pytest.mark.parametrize("labels", [
    pd.Series([None, "a", "b", "a"], dtype="string"), np.array([None, "a", "b", "a"], dtype=object),
    pd.Series([np.nan, "a", "b", "a"], dtype=object),
], ids=["string", "object", "series"])  # fmt: skip
def test_missing_labels_are_refused(labels):
    with pytest.raises(ValueError, match="Input y contains NaN"):
        BaggedClassifier(n_bags=2).fit(np.zeros((4, 1)), labels)


@pytest.mark.parametrize("name", ["None", "nan", "NaN", "NaT", "<NA>"])
def test_a_class_may_be_called_like_a_missing_value(name):
    X, labels = np.zeros((10, 1)), pd.Series([name, "A"] * 5, dtype=object)
    assert set(BaggedClassifier(n_bags=3, random_state=0).fit(X, labels).classes_) == {name, "A"}
    for missing in (None, np.nan, pd.NA, pd.NaT):
        with pytest.raises(ValueError, match="NaN or missing values"):
            BaggedClassifier(n_bags=3).fit(X, pd.Series([missing, "A"] * 5, dtype=object))
