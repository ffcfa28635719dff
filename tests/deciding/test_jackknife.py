import math
from fractions import Fraction

import numpy as np
import pytest
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.tree import DecisionTreeRegressor

from rounding import assert_same_sums
from stablebag import (
    BaggedRegressor,
    ClassicalBagging,
    FunctionRegressor,
    Subbagging,
    TrimmedRange,
    leave_one_out,
    predict_interval,
    random_n_bags,
)
from stablebag.deciding import jackknife as rank_search
from stablebag.deciding import jackknife_intervals_refit
from stablebag.deciding.jackknife import (
    CVPlus,
    Jackknife,
    JackknifeMinmax,
    JackknifePlus,
    RankSearch,
    quantile_rank,
)
from stablebag.measuring.leave_one_out import left_out_at_rows
from stablebag.models.average import BagPoints, LeftOutLines
from stablebag.models.fitted import fitted
from stablebag.resampling.units import Units

# ------------------------------------------------------------------------------------------------------------ jackknife


RESIDUALS, PREDICTION, LEFT_OUT = np.array([1.0, 3.0, 2.0]), np.array([10.0]), np.array([[9.0], [12.0], [10.0]])


def test_ranks_are_computed_with_exact_fractions():
    assert quantile_rank(0.9, 9) == 9
    assert quantile_rank(0.9, 10) == 10
    assert quantile_rank(0.8, 9) == 8
    assert quantile_rank(Fraction(1, 3), 8) == 3
    for level in (0.7, 0.8, 0.9, 0.95, 0.99, 0.29):
        exact = Fraction(str(level))
        for n in range(1, 300):
            assert quantile_rank(level, n) == -(-exact.numerator * (n + 1) // exact.denominator)


@pytest.mark.parametrize(("folds", "n", "slack"), [
    (10, 100, 0.0818181818), (5, 100, 0.0761904762), (10, 1000, 0.0178217822), (100, 100, 0.0),
])  # fmt: skip
def test_slack_of_cv_plus_equals_golden_values(folds, n, slack):
    words = CVPlus(Fraction(95, 100), n_folds=folds).guarantee(n)
    assert float(words.split("coverage is at least ")[1].split(";")[0]) == pytest.approx(0.9 - slack, abs=6e-4)


@pytest.mark.parametrize(("rule", "ends"), [
    (Jackknife(Fraction(1, 2)), (10 - 2, 10 + 2)),  # the second of the residuals 1, 2, 3
    (JackknifePlus(Fraction(1, 2)), (8, 12)),  # the second largest of 8, 9, 8, and the second smallest of 10, 15, 12
    (JackknifeMinmax(Fraction(1, 2)), (9 - 2, 12 + 2)),
    (CVPlus(Fraction(1, 2), n_folds=3), (8, 12)),
    (JackknifePlus(Fraction(3, 4)), (8, 15)),  # the third of each
], ids=lambda case: case.name if isinstance(case, Jackknife) else "")  # fmt: skip
def test_three_rows_computed_by_hand(rule, ends):
    lower, upper = rule.intervals(RESIDUALS, PREDICTION, LEFT_OUT)
    assert (lower.tolist(), upper.tolist()) == ([ends[0]], [ends[1]])


@pytest.mark.parametrize("kind", [Jackknife, JackknifePlus, JackknifeMinmax, CVPlus])
def test_a_rank_beyond_the_last_row_gives_infinite_intervals(kind):
    assert kind(Fraction(4, 5)).rank(3) == 4
    lower, upper = kind(Fraction(4, 5)).intervals(RESIDUALS, PREDICTION, LEFT_OUT)
    assert (lower.tolist(), upper.tolist()) == ([-math.inf], [math.inf])


def test_each_method_states_its_own_guarantee():
    level = Fraction(9, 10)
    assert Jackknife(level).guarantee(100).startswith("Nothing is proved about their coverage")
    assert "coverage is at least 0.8; typically it is near 0.9" in JackknifePlus(level).guarantee(100)
    assert JackknifeMinmax(level).guarantee(100).endswith("coverage is at least 0.9.")
    assert "Nothing is proved" in JackknifePlus(Fraction(1, 2)).guarantee(100)  # 1 - 2 / 2
    assert "folds have different sizes" in CVPlus(level, n_folds=7).guarantee(100)
    assert "folds have different sizes" not in CVPlus(level, n_folds=5).guarantee(100)


def test_nonfinite_residuals_raise():
    with pytest.raises(ValueError, match="infinite or NaN"):
        Jackknife(Fraction(1, 2)).intervals(np.array([1.0, np.nan, 2.0]), PREDICTION, LEFT_OUT)
    with pytest.raises(ValueError, match="infinite or NaN"):
        JackknifePlus(Fraction(1, 2)).intervals(RESIDUALS, PREDICTION, LEFT_OUT * np.inf)


# ------------------------------------------------------------------------------------------------------ group jackknife


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


@pytest.mark.kernels
def test_a_tiny_example_by_hand():
    """Three units of 1, 2 and 4 rows; at level 1/2, weights 1, 1/2, 1/4 of rows have to add up to 2."""
    units = Units.of_groups(list("abbcccc"), 7)
    residuals, left_out = np.array([3.0, 1.0, 2.0, 0.0, 4.0, 5.0, 6.0]), np.array([[10.0], [20.0], [30.0]])
    lower, upper = JackknifePlus(Fraction(1, 2), units).intervals(residuals, np.array([15.0]), left_out)
    # up: 13 (1), 21 (1.5), 22 (2); down: 30 (.25), 26 (.5), 25 (.75), 24 (1), 19 (1.5), 18 (2)
    assert (lower.tolist(), upper.tolist()) == ([18.0], [22.0])
    lower, upper = JackknifeMinmax(Fraction(1, 2), units).intervals(residuals, np.array([15.0]), left_out)
    # residuals: 0 (.25), 1 (.75), 2 (1.25), 3 (2.25)
    assert (lower.tolist(), upper.tolist()) == ([7.0], [33.0])
    lower, upper = Jackknife(Fraction(1, 2), units).intervals(residuals, np.array([15.0]), left_out)
    assert (lower.tolist(), upper.tolist()) == ([12.0], [18.0])


@pytest.mark.kernels
@pytest.mark.parametrize("kind", [Jackknife, JackknifePlus, JackknifeMinmax])
@pytest.mark.parametrize("level", ["0.1", "0.5", "0.8", "0.9", "0.95"])
def test_groups_of_identical_rows_have_the_intervals_of_single_rows(kind, level, seed):
    rng = np.random.default_rng(seed)
    residuals, prediction, left_out = rng.random(39), rng.normal(size=5), rng.normal(size=(39, 5))
    copies = rng.integers(2, 5, size=39)
    units = Units.of_groups(np.repeat(np.arange(39), copies), copies.sum())
    found = kind(Fraction(level), units).intervals(np.repeat(residuals, copies), prediction, left_out)
    np.testing.assert_array_equal(found, kind(Fraction(level)).intervals(residuals, prediction, left_out))


@pytest.mark.kernels
@pytest.mark.parametrize("level", ["0.6", "0.8", "0.9"])
def test_intervals_of_a_model_follow_the_definition(clinic, level):
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


@pytest.mark.kernels
def test_residuals_are_of_rows_predicted_without_their_group(clinic):
    X, y, groups = clinic
    model = BaggedRegressor(DecisionTreeRegressor(max_depth=3), n_bags=80, random_state=0).fit(X, y, groups=groups)
    outputs, found = model.bag_predictions(X), left_out_at_rows(model)
    for row in (0, 17, len(y) - 1):
        without = [b for b, bag in enumerate(model.bags_) if model.units_.of_rows[row] not in bag]
        assert found[row] == pytest.approx(outputs[without, row].mean(), abs=1e-12)


@pytest.mark.kernels
@pytest.mark.parametrize("method", ["jackknife", "jackknife+", "jackknife-minmax", "cv+"])
def test_refits_leave_out_whole_groups(clinic, method):
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


@pytest.mark.kernels
def test_the_guarantee_names_groups():
    import pandas as pd

    units = Units.of_groups(pd.Series(list("aabbbc"), name="patient"), 6)
    level = Fraction("0.9")
    proved = JackknifePlus(level, units).guarantee(6)
    assert proved.startswith("Proved for exchangeable groups and any learner that ignores group order,")
    assert "at a row drawn at random from a new group: coverage is at least 0.8;" in proved
    assert "coverage is at least 0.9." in JackknifeMinmax(level, units).guarantee(6)
    assert Jackknife(level, units).guarantee(6).startswith("Nothing is proved")
    assert CVPlus(level, units).guarantee(6).startswith("Nothing is proved about their coverage with folds of gro")
    assert JackknifePlus(Fraction("0.4"), units).guarantee(6).startswith("Nothing is proved about their coverage")


@pytest.mark.kernels
def test_too_few_groups_give_infinite_intervals_and_a_warning(clinic):
    X, y, groups = clinic
    model = BaggedRegressor(n_bags=40, random_state=0).fit(X, y, groups=groups)
    with pytest.warns(UserWarning, match=r"level 0\.99 needs at least 99 training groups and there are 30\."):
        intervals = predict_interval(model, X[:2], confidence_level=0.99)
    assert np.isinf(intervals.upper).all()


@pytest.mark.kernels
def test_the_stable_jackknife_rejects_groups(clinic):
    X, y, groups = clinic
    model = BaggedRegressor(n_bags=40, random_state=0).fit(X, y, groups=groups)
    with pytest.raises(ValueError, match=r"with groups\. Got 'stable-jackknife': its proof is for single rows"):
        predict_interval(model, X[:2], method="stable-jackknife")


@pytest.mark.kernels
def test_a_random_number_of_bags_uses_the_law_of_groups(clinic):
    X, y, groups = clinic
    n_bags = random_n_bags(Subbagging(0.5), 30, 50, random_state=0)
    model = BaggedRegressor(n_bags=n_bags, random_state=0).fit(X, y, groups=groups)
    assert "approximately" not in predict_interval(model, X[:1]).guarantee


@pytest.mark.kernels
def test_refits_of_a_fitted_model_use_its_groups(clinic):
    X, y, groups = clinic
    model = BaggedRegressor(DecisionTreeRegressor(max_depth=2), n_bags=20, random_state=0).fit(X, y, groups=groups)
    by_itself = jackknife_intervals_refit(model, X, y, X[:2], random_state=0)
    told = jackknife_intervals_refit(model, X, y, X[:2], groups=groups, random_state=0)
    assert by_itself.guarantee == told.guarantee
    assert "a new group" in told.guarantee
    np.testing.assert_array_equal(by_itself.upper, told.upper)


@pytest.mark.kernels
def test_weights_are_exact_for_many_groups():
    """Where the weight needed is that of whole units, sums of tenths in floats would miss it."""
    units = Units.of_groups(np.repeat(np.arange(29_999), 10), 299_990)
    values = np.arange(299_990.0)
    assert Jackknife(Fraction(9, 10), units).quantile(values[None])[0] == 269_999


@pytest.mark.kernels
def test_groups_of_many_sizes_without_a_small_common_multiple_have_intervals(monkeypatch):
    groups = np.repeat(np.arange(60), np.arange(1, 61))
    units, rng = Units.of_groups(groups, len(groups)), np.random.default_rng(0)
    residuals, left_out = rng.random(len(groups)), rng.normal(size=(60, 4))
    rule = JackknifePlus(Fraction(9, 10), units)
    lower, upper = rule.intervals(residuals, np.zeros(4), left_out)
    weights = [Fraction(1, int(size)) for size in units.sizes[units.of_rows]]
    for point in range(4):
        at = left_out[units.of_rows, point]
        assert upper[point] == by_hand(at + residuals, weights, Fraction(9, 10) * 61)
    monkeypatch.setattr("stablebag.deciding.jackknife._BLOCK", 2 * len(groups))  # two points at a time
    np.testing.assert_array_equal(rule.intervals(residuals, np.zeros(4), left_out)[0], lower)


# ----------------------------------------------------------------------------------------------------- locally weighted


RNG = np.random.default_rng(1)
X, NEW = RNG.normal(size=(30, 2)), RNG.normal(size=(9, 2))
Y = X[:, 0] + np.exp(X[:, 1]) * RNG.normal(size=30)


def slope(X, y, seed):
    """The mean of the targets, times the feature: three times as far out, bags differ three times as much."""
    return lambda points: points[:, 0] * y.mean()


@pytest.fixture(scope="module")
def four_rows():
    learner = FunctionRegressor(slope)
    model = BaggedRegressor(learner, scheme=Subbagging(2), n_bags="all", prediction_range=None)
    return model.fit(np.ones((4, 1)), [0.0, 2.0, 4.0, 9.0])


@pytest.mark.kernels
def test_an_example_computed_by_hand(four_rows):
    # Without each row the mean is 5, 13/3, 11/3 and 2, and the residual 5, 7/3, 1/3 and 7. At x = 3 prediction and
    # spread are three times those at the rows, where x = 1, so the ends are 3 (mean -+ residual), that is,
    # 0..30, 6..20, 10..12 and -15..27. At level 0.6 the rank is 3 of 4.
    found = predict_interval(four_rows, [[3.0]], confidence_level=0.6, locally_weighted=True)
    assert (found.lower[0], found.upper[0]) == pytest.approx((0, 27))
    plain = predict_interval(four_rows, [[3.0]], confidence_level=0.6)  # 3 mean -+ residual
    assert (plain.lower[0], plain.upper[0]) == pytest.approx((10, 13 + 7 / 3))
    assert found.method == "locally weighted jackknife+"
    assert "coverage is at least 0.2" in found.guarantee


@pytest.mark.kernels
def test_the_same_example_with_other_methods(four_rows):
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


@pytest.mark.kernels
@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("scheme", [Subbagging(0.4), ClassicalBagging(0.7)], ids=str)
def test_ends_are_weighted_order_statistics_of_predictions_without_the_group(scheme, grouped):
    groups = np.repeat(np.arange(20), [1, 2] * 10) if grouped else None
    model = BaggedRegressor(DecisionTreeRegressor(max_depth=2), scheme=scheme, n_bags=60, random_state=0)
    model.fit(X, Y, groups=groups)
    units, level = model.units_, Fraction(4, 5)
    raw, at_rows = (model.bag_predictions(rows) for rows in (NEW, X))  # trees stay in the range
    low, high = [], []
    for row, unit in enumerate(units.of_rows):
        out = [bag for bag, members in enumerate(model.bags_) if unit not in members]
        score = abs(Y[row] - np.clip(at_rows[out, row], *_range_without(model, unit)).mean()) / at_rows[out, row].std()
        centre = np.clip(raw[out], *_range_without(model, unit)).mean(axis=0)
        low.append(centre - score * raw[out].std(axis=0))
        high.append(centre + score * raw[out].std(axis=0))
    found = predict_interval(model, NEW, confidence_level=float(level), locally_weighted=True)
    weights = 1 / units.sizes[units.of_rows]
    needed = level * (len(units) + 1)
    for point in range(len(NEW)):
        for end, values in ((found.upper, high), (-found.lower, -np.array(low))):
            column = np.array(values)[:, point]
            order = np.argsort(column)
            place = np.searchsorted(np.cumsum(weights[order]), float(needed) - 1e-9)
            assert end[point] == pytest.approx(column[order][place])
    if not grouped:
        assert needed <= quantile_rank(level, 30)


def _range_without(model, unit):
    return fitted(model).average.range_changes.get(int(unit), model.range_)


@pytest.mark.kernels
def test_locally_weighted_intervals_are_narrow_where_bags_agree():
    model = BaggedRegressor(DecisionTreeRegressor(), n_bags=100, random_state=0).fit(X, Y)
    plain, local = (predict_interval(model, X, locally_weighted=weighted) for weighted in (False, True))
    deviation = model.bag_predictions(X).std(axis=0)
    assert np.corrcoef(local.width, deviation)[0, 1] > 0.99
    assert np.corrcoef(plain.width, deviation)[0, 1] < 0.9
    np.testing.assert_array_equal(local.prediction, plain.prediction)


def agreed(X, y, seed):
    """Everyone says zero, left of zero; and their own mean, right of it."""
    return lambda points: np.where(points[:, 0] < 0, 0.0, y.mean())


@pytest.mark.kernels
def test_rows_where_bags_agree_on_a_wrong_value_count_as_infinite():
    rows, targets = np.array([[-1.0]] * 2 + [[1.0]] * 8), np.array([0.0, 5.0, *range(8)])
    model = BaggedRegressor(FunctionRegressor(agreed), scheme=Subbagging(2), n_bags="all", prediction_range=None)
    model.fit(rows, targets)
    found = predict_interval(model, [[-1.0], [1.0]], confidence_level=0.8, locally_weighted=True)  # rank 9 of 10
    assert (found.lower[0], found.upper[0]) == (0, 0)  # one row has no ends; the others stand for no width there
    assert np.isfinite([found.lower[1], found.upper[1]]).all()
    found = predict_interval(model, [[-1.0], [1.0]], confidence_level=0.9, locally_weighted=True)  # rank 10 of 10
    assert (found.lower == -np.inf).all()
    assert (found.upper == np.inf).all()


@pytest.mark.kernels
def test_too_few_rows_give_infinite_locally_weighted_intervals_and_a_warning(four_rows):
    with pytest.warns(
        UserWarning,
        match="The intervals are infinite, because level 0.9 needs at least 9 training rows and there are 4",
    ):
        found = predict_interval(four_rows, [[3.0]], confidence_level=0.9, locally_weighted=True)
    assert np.isinf(found.width).all()


@pytest.mark.kernels
def test_locally_weighted_intervals_keep_the_guarantee():
    n_bags = random_n_bags(Subbagging(0.5), 30, 60, random_state=5)
    for bags in (60, n_bags):
        model = BaggedRegressor(n_bags=bags, random_state=0).fit(X, Y)
        plain, local = (predict_interval(model, NEW, locally_weighted=weighted) for weighted in (False, True))
        assert local.guarantee == plain.guarantee
        assert ("approximately" in local.guarantee) == (bags == 60)


@pytest.mark.kernels
def test_the_stable_jackknife_rejects_local_weights():
    model = BaggedRegressor(n_bags=40, random_state=0).fit(X, Y)
    sentence = "must be False for the stable-jackknife. Got True: its proof needs unweighted residuals"
    with pytest.raises(ValueError, match=sentence):
        predict_interval(model, NEW, method="stable-jackknife", locally_weighted=True)


# ---------------------------------------------------------------------------------------------------------- rank search


TREE = DecisionTreeRegressor(max_depth=4)
CASES = {
    "stable": {"estimator": Ridge()},
    "unstable": {"estimator": DecisionTreeRegressor()},
    "in between": {"estimator": TREE, "scheme": ClassicalBagging()},
    "without a range": {"estimator": TREE, "prediction_range": None},
    "rows that change the range": {"estimator": TREE, "prediction_range": TrimmedRange(20)},
    "all bags": {"estimator": Ridge(), "n_bags": "all", "scheme": Subbagging(1)},
}


def fitted_to_noise(n=600, digits=9, **settings):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n + 45, 3))
    y = np.round(X[:, 0] + np.sin(3 * X[:, 1]) + rng.normal(size=n + 45), digits)
    model = BaggedRegressor(random_state=0, **{"n_bags": 80, **settings}).fit(X[:n], y[:n])
    return model, X[n:]


def sorted_ends(model, points, rank):
    """The same order statistics by sorting everything."""
    residuals = np.abs(fitted(model).y - left_out_at_rows(model))
    left_out = fitted(model).average.left_out(points.raw).T
    n = len(residuals)
    return np.sort(left_out - residuals, axis=1)[:, n - rank], np.sort(left_out + residuals, axis=1)[:, rank - 1]


@pytest.mark.kernels
@pytest.mark.parametrize("settings", CASES.values(), ids=CASES)
@pytest.mark.parametrize("digits", [9, 0], ids=["distinct", "tied"])
def test_the_ends_equal_those_of_sorting_all_rows(settings, digits):
    model, X = fitted_to_noise(digits=digits, **settings)
    once = model.predict_once(X)
    residuals = np.abs(fitted(model).y - left_out_at_rows(model))
    for rank in (1, 2, 60, 300, 541, 599, 600):
        found = RankSearch(rank, residuals, fitted(model).average).ends(BagPoints(fitted(model).average, once.raw))
        for ours, theirs in zip(found, sorted_ends(model, once, rank), strict=True):
            assert_same_sums(ours, theirs, model, once.raw, residuals)


@pytest.mark.kernels
def test_a_search_in_windows_equals_a_search_over_all_rows(monkeypatch):
    for settings in CASES.values():
        model, X = fitted_to_noise(**settings)
        once = model.predict_once(X)
        near = predict_interval(model, once)
        with monkeypatch.context() as patch:
            patch.setattr(rank_search, "_FEWEST_ROWS", 10**9)
            everywhere = predict_interval(model, once)
        assert_same_sums(near.lower, everywhere.lower, model, once.raw, fitted(model).y)
        assert_same_sums(near.upper, everywhere.upper, model, once.raw, fitted(model).y)


MANY_RESIDUALS = {
    "few values": lambda rng, n: rng.integers(0, 3, n) / 3,
    "one value": lambda rng, n: np.full(n, 0.1),
    "two values": lambda rng, n: np.where(rng.random(n) < 0.1, 0.7, 0.1),
    "values as near as floats are": lambda rng, n: 0.1 + rng.integers(0, 4, n) * 2.0**-56,
    "zeros": lambda rng, n: np.zeros(n),
    "heavy tails": lambda rng, n: np.abs(rng.standard_cauchy(n)),
    "in the order of the rows": lambda rng, n: np.arange(n) / n,
}
WHOLE = {  # sums of whole numbers are exact, so that no kernel can make another number of them
    "all the same": lambda rng, shape: np.full(shape, 3),
    "zeros and ones": lambda rng, shape: rng.integers(0, 2, shape),
    "one bag apart": lambda rng, shape: np.where(np.arange(shape[0])[:, None] == 5, 10**6, rng.integers(0, 2, shape)),
    "far from zero": lambda rng, shape: 2**44 + rng.integers(0, 2, shape),
    "heavy tails": lambda rng, shape: np.rint(rng.standard_cauchy(shape)).clip(-(10**9), 10**9),
}


@pytest.mark.kernels
@pytest.mark.parametrize("residuals", MANY_RESIDUALS.values(), ids=MANY_RESIDUALS)
@pytest.mark.parametrize("outputs", WHOLE.values(), ids=WHOLE)
def test_ties_and_near_ties_do_not_change_the_ends(residuals, outputs, average_of_520, seed):
    rng = np.random.default_rng(seed)
    for exponent in (-40, -3, 0, 3):
        raw, given = 2.0**exponent * outputs(rng, (60, 9)), residuals(rng, 520)
        left_out, points = average_of_520.left_out(raw).T, BagPoints(average_of_520, raw)
        for rank in (1, 52, 468, 515, 520):
            lower, upper = RankSearch(rank, given, average_of_520).ends(points)
            np.testing.assert_array_equal(upper, np.sort(left_out + given, axis=1)[:, rank - 1])
            np.testing.assert_array_equal(lower, np.sort(left_out - given, axis=1)[:, 520 - rank])


@pytest.fixture(scope="module")
def average_of_520():
    return fitted_to_noise(n=520, estimator=DummyRegressor(), prediction_range=None, n_bags=60)[0]._average


def widths(monkeypatch, model, X):
    """How many rows are looked at, for each point."""
    seen, blocks = np.zeros(len(X), dtype=int), LeftOutLines.blocks

    def counted(self, points, numbers, window):
        seen[numbers] += self.n_always + window.stop - window.start
        return blocks(self, points, numbers, window)

    monkeypatch.setattr(LeftOutLines, "blocks", counted)
    predict_interval(model, X)
    return seen


def test_a_stable_learner_needs_small_windows_and_an_unstable_one_all_rows(monkeypatch):
    assert (widths(monkeypatch, *fitted_to_noise(estimator=Ridge())) < 200).all()
    rows = widths(monkeypatch, *fitted_to_noise(estimator=DecisionTreeRegressor(), n_bags=20))
    assert (rows >= 600).any()


def test_points_that_are_not_proved_in_a_window_are_searched_in_a_larger_one(monkeypatch):
    model, X = fitted_to_noise(estimator=TREE)
    once = model.predict_once(X)
    expected, tried = predict_interval(model, once), []
    proved = RankSearch._proved

    def doubtful(self, window, *values):
        tried.append(window)
        return proved(self, window, *values) & (np.arange(len(values[0])) % 2 == 0)

    monkeypatch.setattr(RankSearch, "_proved", doubtful)
    found = predict_interval(model, once)
    assert tried
    assert_same_sums(found.lower, expected.lower, model, once.raw, fitted(model).y)
    assert_same_sums(found.upper, expected.upper, model, once.raw, fitted(model).y)


def test_a_window_that_is_too_small_is_detected():
    model, X = fitted_to_noise(estimator=DecisionTreeRegressor(), prediction_range=None)
    once = model.predict_once(X)
    residuals = np.abs(fitted(model).y - left_out_at_rows(model))
    search = RankSearch(541, residuals, fitted(model).average)
    search._spare = 0.0  # then every point is first searched for in the smallest window
    points = BagPoints(fitted(model).average, once.raw)
    lower, upper = search.ends(points)
    for ours, theirs in zip((lower, upper), sorted_ends(model, once, 541), strict=True):
        assert_same_sums(ours, theirs, model, once.raw, residuals)


def test_the_search_works_if_every_row_changes_the_range():
    model, X = fitted_to_noise(n=530, estimator=Ridge(), prediction_range=lambda y: (y.mean() - 0.5, y.mean() + 0.5))
    once = model.predict_once(X)
    residuals = np.abs(fitted(model).y - left_out_at_rows(model))
    found = RankSearch(478, residuals, fitted(model).average).ends(BagPoints(fitted(model).average, once.raw))
    for ours, theirs in zip(found, sorted_ends(model, once, 478), strict=True):
        assert_same_sums(ours, theirs, model, once.raw, residuals)
