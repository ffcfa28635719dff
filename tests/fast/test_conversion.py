import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import Ridge
from sklearn.tree import DecisionTreeRegressor

from stablebag import BaggedRegressor
from stablebag.models.rows import Points
from stablebag.models.solving import FitJob, call_method, converted, is_tree
from stablebag.resampling import Bags


@pytest.fixture
def data():
    return np.arange(60.0).reshape(30, 2), np.random.default_rng(0).normal(size=30)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int64, np.uint8, bool, object])
def test_trees_give_the_same_bits_as_scikit_learn_for_any_type(dtype):
    rng = np.random.default_rng(0)
    X, y = (rng.random((40, 3)) * 5).astype(dtype), rng.normal(size=40)
    model = BaggedRegressor(DecisionTreeRegressor(random_state=0), n_bags=5, random_state=0).fit(X, y)
    each = model.bag_predictions(X)
    for bag, prediction in zip(model.bags_, each, strict=True):
        tree = DecisionTreeRegressor(random_state=0).fit(X[bag], y[bag])
        np.testing.assert_array_equal(np.clip(tree.predict(X), y.min(), y.max()), prediction)


@pytest.mark.filterwarnings("ignore:overflow encountered in cast")
@pytest.mark.parametrize("value", [np.inf, 1e300])
def test_values_that_trees_cannot_hold_are_refused_by_them(value, data):
    X, y = data
    X = X.copy()
    X[:, 0] = value
    with pytest.raises(ValueError, match=r"failed to fit on bag 0.*(infinity|too large)"):
        BaggedRegressor(n_bags=2).fit(X, y)


def job_of(learner, X, y):
    return FitJob(learner, X, y, Bags([np.arange(len(y))], len(y)), np.array([0]))


def test_rows_are_converted_once_and_trees_need_not_check_them(data):
    prepared = converted(job_of(DecisionTreeRegressor(), *data))
    assert prepared.X.dtype == np.float32
    np.testing.assert_array_equal(prepared.X, data[0])
    assert prepared.fit_params == {"check_input": False}


@pytest.mark.parametrize("make", [sparse.csr_array, pd.DataFrame, lambda X: np.where(X == 0, np.nan, X)])
def test_tables_that_trees_should_look_at_themselves_are_left_to_them(make, data):
    job = job_of(DecisionTreeRegressor(), make(data[0]), data[1])
    assert converted(job) is job


def test_a_criterion_that_looks_at_the_targets_still_does(data):
    X, y = data
    assert converted(job := job_of(DecisionTreeRegressor(criterion="poisson"), X, y)) is job
    with pytest.raises(ValueError, match=r"failed to fit on bag 0.*Some value\(s\) of y are negative"):
        BaggedRegressor(DecisionTreeRegressor(criterion="poisson"), n_bags=2).fit(X, -1 - np.abs(y))


def test_trees_and_models_of_bags_without_rows_are_asked_alike(data):
    X, y = data
    points = Points(X)
    tree, constant = DecisionTreeRegressor(random_state=0).fit(X, y), DummyRegressor().fit(X, y)
    np.testing.assert_array_equal(call_method(tree, points, "predict", harmless=True), tree.predict(X))
    np.testing.assert_array_equal(call_method(constant, points, "predict", harmless=True), np.full(30, y.mean()))


def test_classes_that_inherit_from_a_tree_are_not_covered():
    class Mine(DecisionTreeRegressor):
        pass

    assert is_tree(DecisionTreeRegressor())
    assert not is_tree(Mine())


@pytest.mark.parametrize("make", [sparse.bsr_array, sparse.coo_array, sparse.lil_array, sparse.dok_array])
def test_sparse_formats_without_quick_rows_are_converted_once(make, data):
    job = job_of(Ridge(), make(data[0]), data[1])
    prepared = converted(job)
    assert prepared.X.format == "csr"
    np.testing.assert_array_equal(prepared.X.toarray(), data[0])
    assert job.X.format != "csr"
    assert prepared.bags is job.bags


@pytest.mark.parametrize("make", [np.array, sparse.csr_array, sparse.csc_array, sparse.csc_matrix])
def test_other_tables_are_left_as_they_are(make, data):
    job = job_of(Ridge(), make(data[0]), data[1])
    assert converted(job) is job
