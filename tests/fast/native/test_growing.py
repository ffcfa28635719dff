import numpy as np
import pytest
import sklearn
from sklearn.tree import DecisionTreeRegressor

from stablebag.fast.native.library import Grower, Limits, library

pytestmark = pytest.mark.skipif(library() is None, reason="there is no compiled library")

RELEASE = int(sklearn.__version__.split(".")[1])
LIMITS = Limits(min_samples_split=2, min_samples_leaf=1, min_weight_leaf=0.0)


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    return rng.normal(size=(50, 3)).astype(np.float32), rng.normal(size=50)


@pytest.fixture
def grower(data):
    return Grower(
        library(), *data, n_classes=0, criterion="squared_error", max_features=3, max_depth=2**31 - 1,
        min_impurity_decrease=0.0, release=RELEASE,
    )  # fmt: skip


def test_nodes_are_depth_first_and_leaves_point_to_themselves(grower, data):
    tree = grower.grow(np.arange(50), 0, LIMITS, order_matters=True)
    theirs = DecisionTreeRegressor(random_state=0).fit(*data).tree_
    inner = theirs.children_left >= 0
    np.testing.assert_array_equal(theirs.children_left[inner], np.flatnonzero(inner) + 1)
    np.testing.assert_array_equal(tree.nodes["right"], np.where(inner, theirs.children_right, np.arange(len(inner))))
    np.testing.assert_array_equal(tree.nodes["feature"], np.where(inner, theirs.feature, 0))
    np.testing.assert_array_equal(tree.nodes["threshold"], np.where(inner, theirs.threshold, -np.inf))
    np.testing.assert_array_equal(tree.value[:, 0], theirs.value.ravel())
    assert tree.max_depth == theirs.max_depth


@pytest.mark.parametrize("seed", [0, 1, 12345, 2**31 - 1, 2**31, 2**32 - 1])
def test_seeds_agree_with_numpys_generator(seed, data):
    X, y = data[0], np.zeros(50)
    y[:25] = 1.0
    X = np.repeat(np.arange(50, dtype=np.float32)[:, None], 7, axis=1)  # which of the features is left to chance
    grower = Grower(
        library(), X, y, n_classes=0, criterion="squared_error", max_features=7, max_depth=1, min_impurity_decrease=0.0,
        release=RELEASE,
    )  # fmt: skip
    feature = grower.grow(np.arange(50), seed, LIMITS, order_matters=True).nodes["feature"][0]
    assert feature == DecisionTreeRegressor(random_state=seed, max_depth=1).fit(X, y).tree_.feature[0]


def test_bags_of_any_size_share_a_workspace(grower):
    rng = np.random.default_rng(0)
    bags = [rng.integers(50, size=size) for size in (3, 80, 1, 20, 50, 200, 2)]

    def all_bytes(numbers):
        trees = {number: grower.grow(bags[number], number, LIMITS, order_matters=True) for number in numbers}
        return {number: [np.asarray(part).tobytes() for part in tree] for number, tree in trees.items()}

    assert all_bytes(range(7)) == all_bytes([5, 0, 6, 3, 2, 1, 4])
