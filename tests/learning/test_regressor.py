import numpy as np
import pytest
from sklearn.datasets import load_diabetes
from sklearn.linear_model import LinearRegression

from stablebag import BaggedRegressor, FixedRange, FunctionRegressor, TrimmedRange, certify


@pytest.fixture(scope="module")
def diabetes():
    return load_diabetes(return_X_y=True)


def test_predictions_are_clipped_before_they_are_averaged(diabetes):
    X, y = diabetes
    model = BaggedRegressor(LinearRegression(), n_bags=20, prediction_range=FixedRange(100, 150), random_state=0)
    far = X * 20
    bags = model.fit(X, y).bag_predictions(far)
    assert set(np.unique(bags)) >= {100.0, 150.0}
    np.testing.assert_allclose(model.predict(far), bags.mean(axis=0))
    free = BaggedRegressor(LinearRegression(), n_bags=20, prediction_range=None, random_state=0).fit(X, y)
    assert free.range_ is None
    assert np.ptp(free.predict(far)) > 1000


def test_the_range_is_taken_from_the_targets(diabetes):
    X, y = diabetes
    assert BaggedRegressor(n_bags=2).fit(X, y).range_ == (y.min(), y.max())
    assert BaggedRegressor(n_bags=2, prediction_range=TrimmedRange(5)).fit(X, y).range_ == (
        np.sort(y)[4], np.sort(y)[-5]
    )  # fmt: skip
    assert BaggedRegressor(n_bags=2, prediction_range=lambda v: (0, v.mean())).fit(X, y).range_ == (0, y.mean())


def test_a_constant_target_is_predicted():
    model = BaggedRegressor(LinearRegression(), n_bags=3).fit([[1.0], [2.0], [3.0]], [7, 7, 7])
    assert model.predict([[100.0]]) == [7.0]
    assert certify(model).epsilon(0.1) == 0.0


def test_a_range_that_is_not_defined_without_a_row_is_refused_at_fit():
    with pytest.raises(ValueError, match="Too few targets for rank 2"):
        BaggedRegressor(n_bags=2, prediction_range=TrimmedRange(2)).fit(np.zeros((3, 1)), [1.0, 2.0, 3.0])


def test_infinite_predictions_without_a_range_are_an_error(diabetes):
    X, y = diabetes
    learner = FunctionRegressor(lambda X, y, seed: lambda points: np.full(len(points), np.inf))
    with pytest.raises(ValueError, match="prediction at point 0 is infinite"):
        BaggedRegressor(learner, n_bags=2, prediction_range=None).fit(X, y).predict(X)
    assert (BaggedRegressor(learner, n_bags=2).fit(X, y).predict(X) == y.max()).all()
