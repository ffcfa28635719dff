import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from stablebag import BaggedRegressor, BernoulliSubbagging, FixedRange, FunctionRegressor, Subbagging
from stablebag.models.average import left_out_spread, spread
from stablebag.models.fitted import Fitted

pytestmark = pytest.mark.kernels

RNG = np.random.default_rng(0)
X, POINTS = RNG.normal(size=(12, 2)), RNG.normal(size=(7, 2))
Y = X[:, 0] + RNG.normal(size=12)


def by_hand(model, raw, unit):
    """The standard deviation over the bags that have rows, and not this unit."""
    used = [bag for bag, rows in enumerate(model.bags_) if len(rows) and unit not in rows]
    weights = Fitted(model).average.weights[used] / Fitted(model).average.weights[used].sum()
    return np.sqrt(weights @ (raw[used] - weights @ raw[used]) ** 2)


@pytest.mark.parametrize("settings", [
    {"scheme": Subbagging(4), "n_bags": 40, "random_state": 0},
    {"scheme": Subbagging(2), "n_bags": "all"},
    {"scheme": BernoulliSubbagging(2), "n_bags": 60, "random_state": 0},
    {"scheme": Subbagging(4), "n_bags": 40, "random_state": 0, "prediction_range": FixedRange(-0.1, 0.1)},
], ids=str)  # fmt: skip
@pytest.mark.parametrize("grouped", [False, True])
def test_spread_is_the_standard_deviation_over_the_bags_without_the_group(settings, grouped):
    groups = np.repeat(np.arange(8), [1, 2] * 4) if grouped else None
    model = BaggedRegressor(LinearRegression(), **settings).fit(X, Y, groups=groups)
    raw, at_rows = Fitted(model).raw(POINTS), Fitted(model).raw(X)
    if isinstance(model.scheme_.scheme, BernoulliSubbagging):
        assert (model.bags_.sizes == 0).any()
    n = len(model.units_)
    expected = [by_hand(model, raw, unit) for unit in range(n)]
    np.testing.assert_allclose(left_out_spread(Fitted(model).average, raw), expected, rtol=1e-9)
    np.testing.assert_allclose(spread(Fitted(model).average, raw), by_hand(model, raw, None), rtol=1e-12)
    own = [by_hand(model, at_rows, unit)[row] for row, unit in enumerate(model.units_.of_rows)]
    np.testing.assert_allclose(Fitted(model).spread_at_rows(), own, rtol=1e-12)
    assert Fitted(model).spread_at_rows() is Fitted(model).spread_at_rows()


def test_bags_that_agree_have_exactly_no_spread():
    # 0.1 + 0.1 + 0.1 is not 0.3: a mean of equal numbers may differ from them. The bags with row 0 predict otherwise.
    def learn(rows, y, seed):
        value = 7.3 if 0.5 in y else 0.1
        return lambda points: np.full(len(points), value)

    y = np.array([0.5, 1, 2, 3, 4, 5])
    model = BaggedRegressor(FunctionRegressor(learn), scheme=Subbagging(2), n_bags="all", prediction_range=None)
    model.fit(X[:6], y)
    without = left_out_spread(Fitted(model).average, Fitted(model).raw(POINTS))
    assert (without[0] == 0).all()
    assert (without[1:] > 1).all()
    assert (Fitted(model).spread_at_rows() == 0).tolist() == [True] + [False] * 5


def test_spread_does_not_overflow():
    model = BaggedRegressor(LinearRegression(), n_bags=30, prediction_range=None, random_state=0).fit(X, Y)
    raw = Fitted(model).raw(POINTS)
    found, large = (left_out_spread(Fitted(model).average, raw * unit) for unit in (1, 1e300))
    np.testing.assert_allclose(large / 1e300, found)
