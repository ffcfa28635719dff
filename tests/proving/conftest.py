"""Models that several files ask about: they are fitted once, and no test alters them."""

import pytest
from sklearn.datasets import load_diabetes, make_classification
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from stablebag import (
    BaggedClassifier,
    BaggedRegressor,
    FixedRange,
)

X, Y = load_diabetes(return_X_y=True)
X, Y = X[:80], Y[:80]


@pytest.fixture(scope="session")
def regressor():
    tree = DecisionTreeRegressor(max_depth=3)
    return BaggedRegressor(tree, n_bags=3000, prediction_range=FixedRange(0, 400), random_state=0).fit(X, Y)


@pytest.fixture(scope="session")
def classifier():
    features, labels = make_classification(90, n_informative=4, n_classes=3, random_state=1)
    tree = DecisionTreeClassifier()
    return BaggedClassifier(tree, n_bags=400, random_state=0).fit(features[:80], labels[:80]), features[80:]
