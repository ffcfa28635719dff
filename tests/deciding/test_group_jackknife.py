from fractions import Fraction

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeRegressor

from stablebag import BaggedRegressor, Subbagging, leave_one_out, predict_interval, random_n_bags
from stablebag.deciding import jackknife_intervals_refit
from stablebag.deciding.jackknife import (
    GroupCVPlus,
    GroupJackknife,
    GroupJackknifeMinmax,
    GroupJackknifePlus,
    Jackknife,
    JackknifeMinmax,
    JackknifePlus,
)
from stablebag.measuring.leave_one_out import left_out_at_rows
from stablebag.resampling.units import RowIds, Units

pytestmark = pytest.mark.kernels

KINDS = [(GroupJackknife, Jackknife), (GroupJackknifePlus, JackknifePlus), (GroupJackknifeMinmax, JackknifeMinmax)]
POINTS = np.zeros((1, 1))


@pytest.fixture(scope="module")
def clinic():
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(30), rng.integers(1, 8, size=30))
    X = rng.normal(size=(len(groups), 3))
    y = X[:, 0] + 2 * rng.normal(size=30)[groups] + 0.1 * rng.normal(size=len(groups))
    return X, y, groups


def by_hand(values, weights, needed):
    """The smallest value up to which there is enough weight; the weights are fractions, and exact."""
    total = Fraction(0)
    for value, weight in sorted(zip(values, weights, strict=True)):
        total += weight
        if total >= needed:
            return value
    return np.inf


def test_a_tiny_example_by_hand():
    """Three units of 1, 2 and 4 rows; at level 1/2, weights 1, 1/2, 1/4 of rows have to add up to 2."""
    units = Units.of_groups(list("abbcccc"), 7)
    residuals, left_out = np.array([3.0, 1.0, 2.0, 0.0, 4.0, 5.0, 6.0]), np.array([[10.0], [20.0], [30.0]])
    lower, upper = GroupJackknifePlus(Fraction(1, 2), units).intervals(residuals, np.array([15.0]), left_out)
    # up: 13 (1), 21 (1.5), 22 (2); down: 30 (.25), 26 (.5), 25 (.75), 24 (1), 19 (1.5), 18 (2)
    assert (lower.tolist(), upper.tolist()) == ([18.0], [22.0])
    lower, upper = GroupJackknifeMinmax(Fraction(1, 2), units).intervals(residuals, np.array([15.0]), left_out)
    # residuals: 0 (.25), 1 (.75), 2 (1.25), 3 (2.25)
    assert (lower.tolist(), upper.tolist()) == ([7.0], [33.0])
    lower, upper = GroupJackknife(Fraction(1, 2), units).intervals(residuals, np.array([15.0]), left_out)
    assert (lower.tolist(), upper.tolist()) == ([12.0], [18.0])


@pytest.mark.parametrize(("grouped", "plain"), KINDS)
@pytest.mark.parametrize("level", ["0.5", "0.8", "0.9", "0.95"])
def test_units_of_one_row_each_have_the_intervals_of_rows(grouped, plain, level):
    rng = np.random.default_rng(0)
    residuals, prediction, left_out = rng.random(39), rng.normal(size=5), rng.normal(size=(39, 5))
    units = Units(RowIds(None, 39), np.arange(39))
    expected = plain(Fraction(level)).intervals(residuals, prediction, left_out)
    np.testing.assert_array_equal(grouped(Fraction(level), units).intervals(residuals, prediction, left_out), expected)


@pytest.mark.parametrize("level", ["0.6", "0.8", "0.9"])
def test_intervals_of_a_model_are_those_of_the_definition(clinic, level):
    X, y, groups = clinic
    model = BaggedRegressor(DecisionTreeRegressor(max_depth=3), n_bags=80, random_state=0).fit(X, y, groups=groups)
    found = predict_interval(model, X[:7] + 0.1, confidence_level=float(level))
    residuals, left_out = np.abs(y - left_out_at_rows(model)), leave_one_out(model, X[:7] + 0.1).left_out
    weights = [Fraction(1, int(size)) for size in model.units_.sizes[model.units_.of_rows]]
    needed = Fraction(level) * 31
    for point in range(7):
        at_rows = left_out[model.units_.of_rows, point]
        assert found.upper[point] == pytest.approx(by_hand(at_rows + residuals, weights, needed), abs=1e-12)
        assert found.lower[point] == pytest.approx(-by_hand(residuals - at_rows, weights, needed), abs=1e-12)


def test_residuals_are_of_rows_predicted_without_their_unit(clinic):
    X, y, groups = clinic
    model = BaggedRegressor(DecisionTreeRegressor(max_depth=3), n_bags=80, random_state=0).fit(X, y, groups=groups)
    outputs, found = model.bag_predictions(X), left_out_at_rows(model)
    for row in (0, 17, len(y) - 1):
        without = [b for b, bag in enumerate(model.bags_) if model.units_.of_rows[row] not in bag]
        assert found[row] == pytest.approx(outputs[without, row].mean(), abs=1e-12)


@pytest.mark.parametrize("method", ["jackknife", "jackknife+", "jackknife-minmax", "cv+"])
def test_refits_leave_out_whole_units(clinic, method):
    X, y, groups = clinic
    intervals = jackknife_intervals_refit(
        LinearRegression(), X, y, X[:3], method=method, groups=groups, n_folds=5, random_state=0
    )
    assert (intervals.lower < intervals.upper).all()
    seen = []

    class Spy(LinearRegression):
        def fit(self, X, y):
            seen.append(frozenset(X[:, 0].tolist()))
            return super().fit(X, y)

    jackknife_intervals_refit(Spy(), X, y, X[:1], method=method, groups=groups, n_folds=5, random_state=0)
    for rows in seen[1:]:
        out = [row for row in range(len(y)) if X[row, 0] not in rows]
        assert out
        assert set(groups[out]).isdisjoint(groups[[row for row in range(len(y)) if row not in out]])
    assert len(seen) == (6 if method == "cv+" else 31)


def test_what_is_proved_is_said_with_the_name_of_the_unit():
    import pandas as pd

    units = Units.of_groups(pd.Series(list("aabbbc"), name="patient"), 6)
    level = Fraction("0.9")
    proved = GroupJackknifePlus(level, units).guarantee(6)
    assert proved.startswith("Proved for exchangeable groups and any learner that is blind to their order,")
    assert "at a row drawn at random from a new group: coverage is at least 0.8;" in proved
    assert "coverage is at least 0.9." in GroupJackknifeMinmax(level, units).guarantee(6)
    assert GroupJackknife(level, units).guarantee(6).startswith("Nothing is proved")
    assert GroupCVPlus(level, units).guarantee(6).startswith("Nothing is proved about their coverage with folds of pat")
    assert GroupJackknifePlus(Fraction("0.4"), units).guarantee(6).startswith("Nothing is proved about their coverage")


def test_too_few_units_give_infinite_intervals_and_a_warning(clinic):
    X, y, groups = clinic
    model = BaggedRegressor(n_bags=40, random_state=0).fit(X, y, groups=groups)
    with pytest.warns(UserWarning, match=r"residual number 31 of 30 training groups\. Use at least 99 groups"):
        intervals = predict_interval(model, X[:2], confidence_level=0.99)
    assert np.isinf(intervals.upper).all()


def test_the_stable_jackknife_is_refused(clinic):
    X, y, groups = clinic
    model = BaggedRegressor(n_bags=40, random_state=0).fit(X, y, groups=groups)
    with pytest.raises(ValueError, match=r"with groups\. Got 'stable-jackknife': it is proved for rows"):
        predict_interval(model, X[:2], method="stable-jackknife")


def test_a_random_number_of_bags_is_of_the_law_of_units(clinic):
    X, y, groups = clinic
    n_bags = random_n_bags(Subbagging(0.5), 30, 50, random_state=0)
    model = BaggedRegressor(n_bags=n_bags, random_state=0).fit(X, y, groups=groups)
    assert "approximately" not in predict_interval(model, X[:1]).guarantee


def test_refits_of_a_fitted_model_take_its_groups(clinic):
    X, y, groups = clinic
    model = BaggedRegressor(DecisionTreeRegressor(max_depth=2), n_bags=20, random_state=0).fit(X, y, groups=groups)
    by_itself = jackknife_intervals_refit(model, X, y, X[:2], random_state=0)
    told = jackknife_intervals_refit(model, X, y, X[:2], groups=groups, random_state=0)
    assert by_itself.guarantee == told.guarantee
    assert "a new group" in told.guarantee
    np.testing.assert_array_equal(by_itself.upper, told.upper)


def test_weights_are_exact_for_many_units():
    """Where the weight needed is that of whole units, sums of tenths in floats would miss it."""
    units = Units.of_groups(np.repeat(np.arange(29_999), 10), 299_990)
    values = np.arange(299_990.0)
    assert GroupJackknife(Fraction(9, 10), units).quantile(values[None])[0] == 269_999


def test_units_of_so_many_sizes_that_there_is_no_common_multiple_have_intervals(monkeypatch):
    groups = np.repeat(np.arange(60), np.arange(1, 61))
    units, rng = Units.of_groups(groups, len(groups)), np.random.default_rng(0)
    residuals, left_out = rng.random(len(groups)), rng.normal(size=(60, 4))
    rule = GroupJackknifePlus(Fraction(9, 10), units)
    lower, upper = rule.intervals(residuals, np.zeros(4), left_out)
    weights = [Fraction(1, int(size)) for size in units.sizes[units.of_rows]]
    for point in range(4):
        at = left_out[units.of_rows, point]
        assert upper[point] == by_hand(at + residuals, weights, Fraction(9, 10) * 61)
    monkeypatch.setattr("stablebag.deciding.jackknife._BLOCK", 2 * len(groups))  # two points at a time
    np.testing.assert_array_equal(rule.intervals(residuals, np.zeros(4), left_out)[0], lower)
