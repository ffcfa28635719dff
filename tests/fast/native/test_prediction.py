"""Trees that predict together say, to the last bit, what scikit-learn's trees say one by one."""

from threading import Thread

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeRegressor

from stablebag.fast.native.library import NODE, Forest, library, why_not

pytestmark = pytest.mark.skipif(library() is None, reason=why_not())
LARGEST, SMALLEST = np.finfo(np.float32).max, np.finfo(np.float32).smallest_subnormal


def converted(estimator):
    """The nodes and values of a fitted tree of scikit-learn."""
    tree = estimator.tree_
    leaf = tree.children_left < 0
    assert (tree.children_left[~leaf] == np.flatnonzero(~leaf) + 1).all()
    nodes = np.empty(tree.node_count, NODE)
    nodes["threshold"] = np.where(leaf, -np.inf, tree.threshold)
    nodes["feature"] = np.where(leaf, 0, tree.feature)
    nodes["right"] = np.where(leaf, np.arange(tree.node_count), tree.children_right)
    return nodes, np.ascontiguousarray(tree.value[:, 0, :])


def forest_of(estimators):
    nodes, values = zip(*map(converted, estimators), strict=True)
    return Forest(nodes, values)


def one_by_one(estimators, points):
    return np.stack([estimator.tree_.predict(points).reshape(len(points), -1) for estimator in estimators])


def same(estimators, points):
    points = np.ascontiguousarray(points, np.float32)
    predicted = forest_of(estimators).predict(points)
    expected = one_by_one(estimators, points)
    assert predicted.shape == expected.shape
    assert predicted.tobytes() == expected.tobytes()


def grown(n_rows=300, n_features=4, n_trees=6, learner=DecisionTreeRegressor, seed=0, **parameters):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_features)).astype(np.float32)
    y = rng.integers(0, 3, n_rows) if learner is DecisionTreeClassifier else X[:, 0] + rng.normal(size=n_rows)
    bags = [rng.integers(0, n_rows, n_rows) for _ in range(n_trees)]
    trees = [learner(random_state=b, **parameters).fit(X[bag], y[bag]) for b, bag in enumerate(bags)]
    return X, trees


@pytest.mark.parametrize("n_points", [1, 7, 8, 9, 63, 128, 129, 1000])
@pytest.mark.parametrize("learner", [DecisionTreeRegressor, DecisionTreeClassifier, ExtraTreeRegressor])
def test_full_trees_predict_like_scikit_learn(learner, n_points):
    _, trees = grown(learner=learner)
    same(trees, np.random.default_rng(1).normal(size=(n_points, 4)))


@pytest.mark.parametrize("n_points", [3, 200])
@pytest.mark.parametrize("depth", [1, 2, 5])
def test_shallow_trees_predict_like_scikit_learn(depth, n_points):
    _, trees = grown(max_depth=depth)
    same(trees, np.random.default_rng(1).normal(size=(n_points, 4)))


@pytest.mark.parametrize("n_points", [1, 500])
def test_trees_with_a_single_leaf_predict_like_scikit_learn(n_points):
    X, trees = grown(n_rows=100)
    stumps = [DecisionTreeRegressor().fit(X[:5], np.full(5, float(level))) for level in range(3)]
    assert {stump.get_depth() for stump in stumps} == {0}
    same([*stumps, *trees, *stumps], np.random.default_rng(1).normal(size=(n_points, 4)))


def test_classifiers_of_one_class_predict_like_scikit_learn():
    X, _ = grown(n_rows=50)
    same([DecisionTreeClassifier().fit(X, np.zeros(len(X)))], X)


@pytest.mark.parametrize("n_points", [5, 400])
def test_points_at_a_threshold_go_left_and_just_above_it_right(n_points):
    """A threshold lies between two floats, and a float that is nearest to it may be above it, below it, or itself."""
    rng = np.random.default_rng(0)
    rows = np.concatenate([rng.normal(size=100), np.arange(20) / 4]).astype(np.float32)[:, None]
    trees = [DecisionTreeRegressor().fit(rows[::step], rng.normal(size=len(rows[::step]))) for step in (1, 2, 3)]
    thresholds = np.concatenate([tree.tree_.threshold[tree.tree_.children_left >= 0] for tree in trees])
    near = thresholds.astype(np.float32)
    assert (near == thresholds).any()
    assert (near > thresholds).any()
    assert (near < thresholds).any()
    around = [near, np.nextafter(near, np.float32(-np.inf)), np.nextafter(near, np.float32(np.inf))]
    same(trees, np.resize(np.concatenate(around), (n_points, 1)))


@pytest.mark.parametrize("copies", [1, 40])
def test_extreme_floats_predict_like_scikit_learn(copies):
    """The largest and smallest numbers there are, and both zeros."""
    line = np.array([-LARGEST, -1, -SMALLEST, -0.0, 0.0, SMALLEST, 2 * SMALLEST, 1, LARGEST], np.float32)
    trees = [DecisionTreeRegressor().fit(line[keep][:, None], np.flatnonzero(keep)) for keep in np.eye(9) == 0]
    same(trees, np.tile(line, copies)[:, None])


@pytest.mark.parametrize("n_points", [1, 100])
def test_thresholds_at_zero_and_beyond_float32_are_compared_correctly(n_points):
    """Thresholds that no training of scikit-learn would leave behind are compared as doubles, too."""
    thresholds = np.array([-1e-60, 1e-60, -0.0, 0.0, 1e300, -1e300, np.float64(LARGEST) * (1 - 1e-12)])
    line = np.array([-LARGEST, -SMALLEST, -0.0, 0.0, SMALLEST, LARGEST], np.float32)
    points = np.resize(line, (n_points, 1))
    for threshold in thresholds:
        nodes = np.array([(threshold, 0, 2), (-np.inf, 0, 1), (-np.inf, 0, 2)], NODE)
        predicted = Forest([nodes], [np.array([[9.0], [0.0], [1.0]])]).predict(points)
        assert predicted[0, :, 0].tolist() == (points[:, 0].astype(float) > threshold).tolist()


def test_large_trees_and_many_points_predict_like_scikit_learn():
    rng = np.random.default_rng(0)
    X = rng.random((40_000, 2)).astype(np.float32)
    large = DecisionTreeRegressor(splitter="random", random_state=0).fit(X, rng.random(len(X)))
    assert large.tree_.node_count > 2**16
    small = DecisionTreeRegressor(max_depth=9).fit(X[:2000], X[:2000, 0])
    same([large, small], rng.random((70_000, 2)))


def test_many_features_predict_like_scikit_learn():
    X, trees = grown(n_rows=200, n_features=3000, n_trees=2)
    same(trees, X)


def test_predictions_do_not_depend_on_other_trees_or_points():
    X, trees = grown()
    together = forest_of(trees).predict(X)
    for number, tree in enumerate(trees):
        assert (forest_of([tree]).predict(X)[0] == together[number]).all()
    for point in range(0, len(X), 50):
        assert (forest_of(trees).predict(X[point : point + 1])[:, 0] == together[:, point]).all()


def test_no_trees_or_no_points_give_an_empty_array():
    _, trees = grown(n_rows=20)
    assert forest_of(trees).predict(np.empty((0, 4), np.float32)).shape == (6, 0, 1)
    assert Forest([], []).predict(np.zeros((3, 4), np.float32)).shape == (0, 3, 1)


def test_out_can_be_a_part_of_an_array():
    X, trees = grown()
    forest = forest_of(trees)
    block = np.full((2 * len(trees), len(X), 1), np.nan)
    returned = forest.predict(X, out=block[::2])
    assert np.shares_memory(returned, block)
    assert (block[::2] == forest.predict(X)).all()
    assert np.isnan(block[1::2]).all()


@pytest.mark.parametrize("change", [
    lambda out: out[:, :-1],
    lambda out: out.astype(np.float32),
    lambda out: np.asfortranarray(out),
    lambda out: np.broadcast_to(out[:1], out.shape),
])  # fmt: skip
def test_wrong_out_array_raises(change):
    X, trees = grown(n_rows=20)
    with pytest.raises(ValueError, match="out must be a writeable float64 array of shape"):
        forest_of(trees).predict(X, out=change(np.empty((6, 20, 1))))


@pytest.mark.parametrize("change", [
    lambda nodes, values: (nodes[::2], values),
    lambda nodes, values: (nodes, values[:, 0]),
    lambda nodes, values: (nodes, values.astype(np.float32)),
    lambda nodes, values: (nodes, values[:-1]),
    lambda nodes, values: (nodes[:0], values[:0]),
    lambda nodes, values: (nodes["threshold"].copy(), values),
])  # fmt: skip
def test_arrays_that_are_not_trees_raise(change):
    _, trees = grown(n_rows=20)
    nodes, values = change(*converted(trees[0]))
    with pytest.raises(ValueError, match=r"Trees must be contiguous|one line per node"):
        Forest([nodes], [values])


def test_trees_with_different_outputs_raise():
    _, trees = grown(n_rows=20)
    (nodes, values), (more, _) = converted(trees[0]), converted(trees[1])
    with pytest.raises(ValueError, match="All trees must have the same number of outputs"):
        Forest([nodes, more], [values, np.zeros((len(more), 2))])
    with pytest.raises(ValueError, match="one array per tree, got 2 and 1"):
        Forest([nodes, more], [values])


def test_read_only_arrays_are_accepted():
    X, trees = grown(n_rows=20)
    nodes, values = converted(trees[0])
    expected = Forest([nodes], [values]).predict(X)
    nodes.flags.writeable = values.flags.writeable = False
    X.flags.writeable = False
    assert (Forest([nodes], [values]).predict(X) == expected).all()


def test_threads_can_predict_at_the_same_time():
    X, trees = grown()
    forest, results = forest_of(trees), {}
    threads = [Thread(target=lambda k=k: results.update({k: forest.predict(X[k:])})) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all((results[k] == forest.predict(X)[:, k:]).all() for k in range(8))
