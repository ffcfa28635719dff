import math
from fractions import Fraction

import numpy as np
import pytest
from sklearn.tree import DecisionTreeRegressor

from stablebag import (
    BaggedRegressor,
    ClassicalBagging,
    FunctionRegressor,
    Subbagging,
    predict_interval,
    random_n_bags,
)
from stablebag.deciding.jackknife import quantile_rank
from stablebag.models.fitted import Fitted

pytestmark = pytest.mark.kernels

RNG = np.random.default_rng(1)
X, POINTS = RNG.normal(size=(30, 2)), RNG.normal(size=(9, 2))
Y = X[:, 0] + np.exp(X[:, 1]) * RNG.normal(size=30)


def slope(X, y, seed):
    """The mean of the targets, times the feature: three times as far out, bags differ three times as much."""
    return lambda points: points[:, 0] * y.mean()


@pytest.fixture(scope="module")
def four_rows():
    learner = FunctionRegressor(slope)
    model = BaggedRegressor(learner, scheme=Subbagging(2), n_bags="all", prediction_range=None)
    return model.fit(np.ones((4, 1)), [0.0, 2.0, 4.0, 9.0])


def test_an_example_by_hand(four_rows):
    # Without each row the mean is 5, 13/3, 11/3 and 2, and the residual 5, 7/3, 1/3 and 7. At x = 3 prediction and
    # spread are three times those at the rows, where x = 1, so the ends are 3 (mean -+ residual), that is,
    # 0..30, 6..20, 10..12 and -15..27. At level 0.6 the rank is 3 of 4.
    found = predict_interval(four_rows, [[3.0]], confidence_level=0.6, locally_weighted=True)
    assert (found.lower[0], found.upper[0]) == pytest.approx((0, 27))
    plain = predict_interval(four_rows, [[3.0]], confidence_level=0.6)  # 3 mean -+ residual
    assert (plain.lower[0], plain.upper[0]) == pytest.approx((10, 13 + 7 / 3))
    assert found.method == "locally weighted jackknife+"
    assert "coverage is at least 0.2" in found.guarantee


def test_the_same_by_the_other_methods(four_rows):
    # The spread of the means of pairs is half that of the three rows: sqrt(26/3) / 2 without row 0, whose score,
    # 5 / that, is third of four. Without row 3 it is sqrt(8/3) / 2, and the mean 2.
    score = 5 / (math.sqrt(26 / 3) / 2)
    of_three = {5: 26 / 3, 13 / 3: 97 / 3 - (13 / 3) ** 2, 11 / 3: 85 / 3 - (11 / 3) ** 2, 2: 8 / 3}
    ends = [3 * (mean + sign * score * math.sqrt(v) / 2) for mean, v in of_three.items() for sign in (-1, 1)]
    found = predict_interval(four_rows, [[3.0]], confidence_level=0.6, method="jackknife-minmax", locally_weighted=True)
    assert (found.lower[0], found.upper[0]) == pytest.approx((min(ends), max(ends)))
    found = predict_interval(four_rows, [[3.0]], confidence_level=0.6, method="jackknife", locally_weighted=True)
    means = [1, 2, 4.5, 3, 5.5, 6.5]
    radius = score * 3 * float(np.std(means))
    assert (found.lower[0], found.upper[0]) == pytest.approx((11.25 - radius, 11.25 + radius))
    assert found.guarantee.startswith("Nothing is proved")


@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("scheme", [Subbagging(0.4), ClassicalBagging(0.7)], ids=str)
def test_ends_are_weighted_order_statistics_of_what_bags_without_the_unit_say(scheme, grouped):
    groups = np.repeat(np.arange(20), [1, 2] * 10) if grouped else None
    model = BaggedRegressor(DecisionTreeRegressor(max_depth=2), scheme=scheme, n_bags=60, random_state=0)
    model.fit(X, Y, groups=groups)
    units, level = model.units_, Fraction(4, 5)
    raw, at_rows = (model.bag_predictions(rows) for rows in (POINTS, X))  # trees stay in the range
    low, high = [], []
    for row, unit in enumerate(units.of_rows):
        out = [bag for bag, members in enumerate(model.bags_) if unit not in members]
        score = abs(Y[row] - np.clip(at_rows[out, row], *_range_without(model, unit)).mean()) / at_rows[out, row].std()
        centre = np.clip(raw[out], *_range_without(model, unit)).mean(axis=0)
        low.append(centre - score * raw[out].std(axis=0))
        high.append(centre + score * raw[out].std(axis=0))
    found = predict_interval(model, POINTS, confidence_level=float(level), locally_weighted=True)
    weights = 1 / units.sizes[units.of_rows]
    needed = level * (len(units) + 1)
    for point in range(len(POINTS)):
        for end, values in ((found.upper, high), (-found.lower, -np.array(low))):
            column = np.array(values)[:, point]
            order = np.argsort(column)
            place = np.searchsorted(np.cumsum(weights[order]), float(needed) - 1e-9)
            assert end[point] == pytest.approx(column[order][place])
    if not grouped:
        assert needed <= quantile_rank(level, 30)


def _range_without(model, unit):
    return Fitted(model).average.range_changes.get(int(unit), model.range_)


def test_intervals_are_narrow_where_bags_agree_and_wide_where_they_do_not():
    model = BaggedRegressor(DecisionTreeRegressor(), n_bags=100, random_state=0).fit(X, Y)
    plain, local = (predict_interval(model, X, locally_weighted=weighted) for weighted in (False, True))
    deviation = model.bag_predictions(X).std(axis=0)
    assert np.corrcoef(local.width, deviation)[0, 1] > 0.99
    assert np.corrcoef(plain.width, deviation)[0, 1] < 0.9
    np.testing.assert_array_equal(local.prediction, plain.prediction)


def agreed(X, y, seed):
    """Everyone says zero, left of zero; and their own mean, right of it."""
    return lambda points: np.where(points[:, 0] < 0, 0.0, y.mean())


def test_rows_where_bags_agree_and_are_wrong_stand_for_intervals_without_ends():
    rows, targets = np.array([[-1.0]] * 2 + [[1.0]] * 8), np.array([0.0, 5.0, *range(8)])
    model = BaggedRegressor(FunctionRegressor(agreed), scheme=Subbagging(2), n_bags="all", prediction_range=None)
    model.fit(rows, targets)
    found = predict_interval(model, [[-1.0], [1.0]], confidence_level=0.8, locally_weighted=True)  # rank 9 of 10
    assert (found.lower[0], found.upper[0]) == (0, 0)  # one row has no ends; the others stand for no width there
    assert np.isfinite([found.lower[1], found.upper[1]]).all()
    found = predict_interval(model, [[-1.0], [1.0]], confidence_level=0.9, locally_weighted=True)  # rank 10 of 10
    assert (found.lower == -np.inf).all()
    assert (found.upper == np.inf).all()


def test_too_few_rows_make_infinite_intervals_with_a_warning(four_rows):
    with pytest.warns(UserWarning, match="The intervals are infinite: level 0.9 asks for residual number 5 of 4"):
        found = predict_interval(four_rows, [[3.0]], confidence_level=0.9, locally_weighted=True)
    assert np.isinf(found.width).all()


def test_what_is_proved_is_said_as_of_the_jackknife_plus():
    n_bags = random_n_bags(Subbagging(0.5), 30, 60, random_state=5)
    for bags in (60, n_bags):
        model = BaggedRegressor(n_bags=bags, random_state=0).fit(X, Y)
        plain, local = (predict_interval(model, POINTS, locally_weighted=weighted) for weighted in (False, True))
        assert local.guarantee == plain.guarantee
        assert ("approximately" in local.guarantee) == (bags == 60)


def test_the_stable_jackknife_is_never_weighted():
    model = BaggedRegressor(n_bags=40, random_state=0).fit(X, Y)
    sentence = "must be False for the stable-jackknife. Got True: its proof needs residuals as they are"
    with pytest.raises(ValueError, match=sentence):
        predict_interval(model, POINTS, method="stable-jackknife", locally_weighted=True)
