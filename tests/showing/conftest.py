import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from stablebag.showing.study import study

EVIL = "<script>alert(1)</script>"


@pytest.fixture(scope="session")
def diabetes():
    """A study of numbers with a column's name that must be escaped, and all rows."""
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    X = X.rename(columns={"bmi": EVIL})
    options = {"n_bags": 60, "n_refits": 15, "n_points": 6}
    return study(DecisionTreeRegressor(max_depth=4), X[:200], y[:200].to_numpy(), X[200:260], y[200:260], **options), X


@pytest.fixture(scope="session")
def cancer():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    labels = np.where(y == 1, "benign", "malignant")
    options = {"n_bags": 60, "n_refits": 15, "n_points": 6}
    return study(DecisionTreeClassifier(max_depth=3), X[:200], labels[:200], X[200:260], labels[200:260], **options)
