"""Solved trees are scikit-learn's, byte for byte: see tree_cases.py, also for how to run many more cases."""

import os
import pickle
import subprocess
import sys
import threading

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from fast.tree_cases import Case, case
from marks import since, solver_compared
from stablebag.fast import trees
from stablebag.fast.native import library as loading
from stablebag.fast.native.library import library
from stablebag.fast.trees import GrowthPlan, Trees, limits_of, n_exact_sums
from stablebag.models.rows import Points
from stablebag.models.solving import FitJob, NotCovered, same_model
from stablebag.resampling import Bags

N_CASES = int(os.environ.get("STABLEBAG_TREE_CASES", "1000"))
SHARES = 10

pytestmark = pytest.mark.skipif(library() is None, reason="there is no compiled library")


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    return X, X[:, 0] + rng.normal(size=60)


def job_of(learner, X, y, rows=None, **more):
    rows = np.arange(len(y)) if rows is None else rows
    classes = np.unique(y) if isinstance(learner, DecisionTreeClassifier) else None
    return FitJob(learner, X, y, Bags([rows], len(y)), np.array([0]), classes=classes, **more)


def as_bytes(model):
    return [np.asarray(field).tobytes() for field in model]


@solver_compared
@pytest.mark.parametrize("share", range(SHARES))
def test_random_cases_have_scikit_learns_bytes(share):
    count = N_CASES // SHARES
    assert [number for number in range(share * count, (share + 1) * count) if not case(number).is_same()] == []


@pytest.mark.parametrize("number", range(40))
def test_rows_outside_the_bag_do_not_change_a_bit(number):
    found = case(10_000 + number)
    rng = np.random.default_rng(number)
    outside = np.setdiff1d(np.arange(len(found.y)), found.rows)
    X, y = found.X.astype(float), found.y.copy()
    X[outside] = rng.choice([0.0, 1.0, -3e38, 3e38, *X.ravel()[:20]], size=X[outside].shape)
    y[outside] = rng.permutation(y)[: len(outside)]
    if y.dtype.kind == "f" and not isinstance(found.learner, DecisionTreeClassifier):
        y[outside] = rng.choice([1e90, 1 / 3, 2.0], size=len(outside))
    classes = np.unique(found.y) if isinstance(found.learner, DecisionTreeClassifier) else None
    models = []
    for table, targets in ((found.X.astype(float), found.y), (X, y)):
        job = FitJob(found.learner, table, targets, Bags([found.rows], len(y)), np.array([0]), classes=classes)
        models.append(as_bytes(Trees(job).fit(found.rows, found.seed)))
    assert models[0] == models[1]


def test_concurrent_threads_give_the_same_bytes():
    rng = np.random.default_rng(0)
    X, y = np.round(rng.normal(size=(400, 8)), 1), rng.normal(size=400)
    bags = [rng.integers(400, size=rng.integers(50, 600)) for _ in range(12)]
    solver = Trees(job_of(DecisionTreeRegressor(max_features=5), X, y))
    alone = [as_bytes(solver.fit(rows, seed)) for seed, rows in enumerate(bags)]
    together, start = [None] * 4, threading.Barrier(4)

    def fit(number):
        start.wait()
        together[number] = [
            [as_bytes(solver.fit(bags[bag], bag)) for bag in np.roll(np.arange(12), number)] for _ in range(5)
        ]

    threads = [threading.Thread(target=fit, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number in range(4):
        expected = [alone[bag] for bag in np.roll(np.arange(12), number)]
        assert together[number] == [expected] * 5


# ------------------------------------------------------------------------------------------------------------ ties


class Adversary:
    """Values that make scikit-learn's sort choose bad pivots: they are only fixed when it compares them."""

    def __init__(self, n):
        self.value, self.n_fixed = [n] * n, 0  # n is not fixed: larger than all that are

    def is_less(self, a, b):
        if a != b and self.value[a] == self.value[b] == len(self.value):
            self.value[b], self.n_fixed = self.n_fixed, self.n_fixed + 1
        return self.value[a] < self.value[b]

    def sort(self, keys, depth):
        """Sort by three-way partitions; return the keys that are left when no depth is."""
        while depth and len(keys) > 15:
            depth -= 1
            a, b, c = keys[0], keys[len(keys) // 2], keys[-1]
            if self.is_less(a, b):
                pivot = b if self.is_less(b, c) else c if self.is_less(a, c) else a
            elif self.is_less(b, c):
                pivot = a if self.is_less(a, c) else c
            else:
                pivot = b
            i, low, high = 0, 0, len(keys)
            while i < high:
                if self.is_less(keys[i], pivot):
                    keys[i], keys[low] = keys[low], keys[i]
                    i, low = i + 1, low + 1
                elif self.is_less(pivot, keys[i]):
                    high -= 1
                    keys[i], keys[high] = keys[high], keys[i]
                else:
                    i += 1
            keys = keys[high:]
        return keys


@since("scikit-learn", "1.9", "its sort cannot be called")
@pytest.mark.parametrize("seed", range(5))
def test_ties_after_a_heap_sort_are_reproduced(seed):
    sort = pytest.importorskip("sklearn.utils._sorting")._py_simultaneous_sort
    n, rng = 300, np.random.default_rng(seed)
    adversary = Adversary(n)
    left = adversary.sort(list(range(n)), depth=2 * 8)
    assert len(left) > 100  # these are sorted by a heap
    values = np.array(adversary.value, dtype=np.float32)
    values[left] = n + rng.integers(5, size=len(left))
    y = rng.normal(size=n)
    order = np.arange(n)
    sort(values.copy(), order, n, use_three_way_partition=True)
    assert not np.array_equal(values[order][:-1] < values[order][1:], np.ones(n - 1, dtype=bool))
    other = np.column_stack([values, rng.normal(size=n)])
    for X in (values[:, None], other):
        assert Case(DecisionTreeRegressor(), X, y, np.arange(n), seed).is_same()


@pytest.mark.parametrize("scale", [1.0, 2.0**-20, 2.0**30])
def test_sums_of_integers_are_exact(scale):
    y = np.array([-3.0, 0.0, 7.0, 1000.0]) * scale
    assert n_exact_sums(y) == 2**26
    assert n_exact_sums(np.append(y, 2.0**-30 * scale)) == 0
    assert n_exact_sums(np.array([2.0**20 + 1]) * scale) == 2**11  # squares have 42 digits
    assert n_exact_sums(np.zeros(3)) == 2**26
    assert n_exact_sums(np.array([2.0**-500])) == 0


@pytest.mark.parametrize("digits", [0, 1])
def test_order_of_ties_does_not_matter_if_sums_are_exact(digits):
    rng = np.random.default_rng(0)
    X, y = np.round(rng.normal(size=(300, 5)), 1), np.round(10 * rng.normal(size=300), digits)
    plan, rows = GrowthPlan(DecisionTreeRegressor(), job_of(DecisionTreeRegressor(), X, y)), np.arange(300)
    grower = plan.grower(X.astype(np.float32), y)
    limits = limits_of(DecisionTreeRegressor(), 300)
    grown = [as_bytes(grower.grow(rows, 1, limits, order_matters=matters)) for matters in (False, True)]
    assert (grown[0] == grown[1]) == (digits == 0)
    assert as_bytes(plan.grow(grower, rows, 1)) == grown[1]


# ----------------------------------------------------------------------------------------- estimators and predictions


@pytest.mark.parametrize(
    "make",
    [np.asarray, lambda X: pd.DataFrame(X, columns=list("abcd")), lambda X: pl.DataFrame(X, schema=list("abcd"))],
)
def test_estimators_have_all_attributes_and_can_predict(make, data):
    X, y = data
    table = make(X)
    for learner, targets in ((DecisionTreeRegressor(), y), (DecisionTreeClassifier(), np.where(y > 0, "yes", "no"))):
        solver = Trees(job_of(learner, table, targets))
        model = solver.fit(np.arange(60), 5)
        theirs = type(learner)(random_state=5).fit(table, targets)
        assert same_model(solver.structure.estimator(model, 5), theirs)
        predict = solver.structure.predictor(Points(table))
        expected = theirs.predict(table) if learner.criterion == "squared_error" else theirs.predict_proba(table)
        np.testing.assert_array_equal(predict(solver.structure.stacked([model, model]))[1], expected)


def test_classes_that_a_bag_lacks_have_probability_zero(data):
    X, y = data[0], np.repeat(["a", "b", "c"], 20)
    solver = Trees(job_of(DecisionTreeClassifier(max_depth=1), X, y))
    models = [solver.fit(rows, 0) for rows in (np.arange(60), np.r_[0:20, 40:60])]
    assert solver.structure.estimator(models[1], 0).classes_.tolist() == ["a", "c"]
    found = solver.structure.predictor(Points(X))(solver.structure.stacked(models))
    np.testing.assert_array_equal(found[0], solver.structure.estimator(models[0], 0).predict_proba(X))
    np.testing.assert_array_equal(found[1][:, [0, 2]], solver.structure.estimator(models[1], 0).predict_proba(X))
    assert not found[1][:, 1].any()


@pytest.mark.filterwarnings("ignore:overflow encountered in cast")
def test_points_that_are_not_covered_are_left_to_the_estimators(data):
    X, y = data
    structure = Trees(job_of(DecisionTreeRegressor(), X, y)).structure
    for points in (X[:, :2], np.where(X > 2, np.nan, X), X * 1e300, X.astype(object), pd.DataFrame(X)):
        assert structure.predictor(Points(points)) is None


def test_structure_can_be_pickled(data):
    solver = Trees(job_of(DecisionTreeRegressor(), *data))
    model = solver.fit(np.arange(60), 5)
    before = solver.structure.estimator(model, 5)
    structure, model = pickle.loads(pickle.dumps((solver.structure, model)))
    assert same_model(structure.estimator(model, 5), before)


# ---------------------------------------------------------------------------------------------------- what is covered


@pytest.mark.parametrize(
    "learner",
    [
        DecisionTreeRegressor(splitter="random"),
        DecisionTreeRegressor(criterion="absolute_error"),
        DecisionTreeRegressor(max_leaf_nodes=5),
        DecisionTreeRegressor(ccp_alpha=0.1),
        DecisionTreeRegressor(monotonic_cst=[1, 0, 0, 0]),
        DecisionTreeRegressor(random_state=np.random.RandomState(0)),
        DecisionTreeClassifier(class_weight="balanced"),
    ],
)
def test_other_parameters_are_not_covered(learner, data):
    y = data[1] > 0 if isinstance(learner, DecisionTreeClassifier) else data[1]
    with pytest.raises(NotCovered):
        Trees(job_of(learner, data[0], y))


@pytest.mark.filterwarnings("ignore:overflow encountered in cast")
@pytest.mark.parametrize(
    "make", [sparse.csr_array, lambda X: np.where(X > 2, np.nan, X), lambda X: X * 1e300, lambda X: X.astype(object)]
)
def test_other_tables_are_not_covered(make, data):
    with pytest.raises(NotCovered):
        Trees(job_of(DecisionTreeRegressor(), make(data[0]), data[1]))


@pytest.mark.parametrize("value", [np.inf, np.nan, 1e200])
def test_other_targets_are_not_covered(value, data):
    y = data[1].copy()
    y[0] = value
    with pytest.raises(NotCovered, match="targets"):
        Trees(job_of(DecisionTreeRegressor(), data[0], y))


def test_without_the_compiled_library_nothing_is_covered(data, monkeypatch, tmp_path):
    monkeypatch.setattr(loading, "PATH", tmp_path / "nothing.so")
    with pytest.raises(NotCovered, match="compiled part"):
        Trees(job_of(DecisionTreeRegressor(), *data))


def test_scikit_learn_with_other_trees_is_not_covered(data, monkeypatch):
    monkeypatch.setattr(trees, "Tree", None)
    with pytest.raises(NotCovered, match="different trees"):
        Trees(job_of(DecisionTreeRegressor(), *data))


@pytest.mark.slow
def test_module_imports_even_if_private_names_are_missing():
    code = "from sklearn.tree import _tree; del _tree.NODE_DTYPE; from stablebag import BaggedRegressor; print('fine')"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "fine\n"


def test_rows_outside_the_table_raise(data):
    solver = Trees(job_of(DecisionTreeRegressor(), *data))
    for row in (-1, 60):
        with pytest.raises(IndexError, match="outside of the"):
            solver.fit(np.array([0, row, 5]), 0)
