import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_iris
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression

from stablebag import BaggedClassifier, BaggedRegressor, FixedRange, FunctionClassifier, FunctionRegressor


@pytest.fixture(scope="module")
def diabetes():
    return load_diabetes(return_X_y=True)


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


def first_target(X, y, seed):
    return lambda points: np.full(len(points), y[0])


def slope(X, y, seed):
    coefficients = np.linalg.lstsq(np.asarray(X), y, rcond=None)[0]
    return lambda points: np.asarray(points) @ coefficients


def coin(X, y, seed):
    side = np.random.default_rng(seed).integers(2)
    return lambda points: np.full(len(points), float(side))


def shares(X, y, seed):
    counts = np.unique(y, return_counts=True)[1]
    return lambda points: np.tile(counts / counts.sum(), (len(points), 1))


def test_any_algorithm_can_be_bagged(diabetes):
    X, y = diabetes
    ours = BaggedRegressor(FunctionRegressor(slope), n_bags=10, random_state=0).fit(X, y)
    theirs = BaggedRegressor(LinearRegression(fit_intercept=False), n_bags=10, random_state=0).fit(X, y)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-6)


def test_a_randomized_algorithm_gets_another_seed_in_every_bag(diabetes):
    X, y = diabetes
    model = BaggedRegressor(FunctionRegressor(coin), n_bags=200, prediction_range=FixedRange(0, 1), random_state=0)
    assert 0.3 < model.fit(X, y).predict(X[:1])[0] < 0.7
    kept = BaggedRegressor(FunctionRegressor(coin, random_state=5), n_bags=20, prediction_range=FixedRange(0, 1))
    assert kept.fit(X, y).predict(X[:1])[0] in (0.0, 1.0)


def test_a_function_that_gives_probabilities_or_labels_classifies(iris):
    X, y = iris
    model = BaggedClassifier(FunctionClassifier(shares), n_bags=50, random_state=0).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X[:2]), 1 / 3, atol=0.05)
    alone = FunctionClassifier(first_target).fit(X, y)
    assert alone.predict(X[:3]).tolist() == [0, 0, 0]


def test_functions_work_with_several_jobs_and_closures(diabetes):
    X, y = diabetes
    offset = 3.0

    def shifted(X, y, seed):
        return lambda points: np.full(len(points), y.mean() + offset)

    predictions = [
        BaggedRegressor(FunctionRegressor(shifted), n_bags=20, n_jobs=n_jobs, random_state=0).fit(X, y).predict(X)
        for n_jobs in (1, 2)
    ]
    np.testing.assert_array_equal(*predictions)


def test_a_function_learner_that_is_none_is_refused(diabetes):
    X, y = diabetes
    with pytest.raises(TypeError, match="'algorithm' parameter of FunctionRegressor"):
        FunctionRegressor("mean").fit(X, y)
    with pytest.raises(TypeError, match="must return a function"):
        FunctionRegressor(lambda X, y, seed: 3).fit(X, y)
    with pytest.raises(NotFittedError):
        FunctionRegressor(slope).predict(X)


def test_labels_in_a_column_are_labels():
    X, y = np.zeros((10, 1)), np.repeat([0, 1], 5)
    learner = FunctionClassifier(lambda X, y, seed: lambda points: np.ones((len(points), 1)))
    np.testing.assert_array_equal(BaggedClassifier(learner, n_bags=5).fit(X, y).predict(X), 1)
