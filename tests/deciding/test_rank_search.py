import numpy as np
import pytest
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import Ridge
from sklearn.tree import DecisionTreeRegressor

from rounding import assert_same_sums
from stablebag import BaggedRegressor, ClassicalBagging, Subbagging, TrimmedRange, predict_interval
from stablebag.deciding import jackknife as rank_search
from stablebag.deciding.jackknife import RankSearch
from stablebag.measuring.leave_one_out import left_out_at_rows
from stablebag.models import FunctionRange
from stablebag.models.average import BagPoints, LeftOutLines
from stablebag.models.fitted import Fitted

TREE = DecisionTreeRegressor(max_depth=4)
CASES = {
    "stable": {"estimator": Ridge()},
    "unstable": {"estimator": DecisionTreeRegressor()},
    "in between": {"estimator": TREE, "scheme": ClassicalBagging()},
    "without a range": {"estimator": TREE, "prediction_range": None},
    "rows that change the range": {"estimator": TREE, "prediction_range": TrimmedRange(20)},
    "all bags": {"estimator": Ridge(), "n_bags": "all", "scheme": Subbagging(1)},
}


def fitted(n=600, digits=9, **settings):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n + 45, 3))
    y = np.round(X[:, 0] + np.sin(3 * X[:, 1]) + rng.normal(size=n + 45), digits)
    model = BaggedRegressor(random_state=0, **{"n_bags": 80, **settings}).fit(X[:n], y[:n])
    return model, X[n:]


def sorted_ends(model, points, rank):
    """The same order statistics by sorting everything."""
    residuals = np.abs(Fitted(model).y - left_out_at_rows(model))
    left_out = Fitted(model).average.left_out(points.raw).T
    n = len(residuals)
    return np.sort(left_out - residuals, axis=1)[:, n - rank], np.sort(left_out + residuals, axis=1)[:, rank - 1]


@pytest.mark.kernels
@pytest.mark.parametrize("settings", CASES.values(), ids=CASES)
@pytest.mark.parametrize("digits", [9, 0], ids=["distinct", "tied"])
def test_the_ends_are_those_of_sorting_all_rows(settings, digits):
    model, X = fitted(digits=digits, **settings)
    once = model.predict_once(X)
    residuals = np.abs(Fitted(model).y - left_out_at_rows(model))
    for rank in (1, 2, 60, 300, 541, 599, 600):
        found = RankSearch(rank, residuals, Fitted(model).average).ends(BagPoints(Fitted(model).average, once.raw))
        for ours, theirs in zip(found, sorted_ends(model, once, rank), strict=True):
            assert_same_sums(ours, theirs, model, once.raw, residuals)


@pytest.mark.kernels
def test_a_search_near_the_rank_gives_the_same_as_one_in_all_rows(monkeypatch):
    for settings in CASES.values():
        model, X = fitted(**settings)
        once = model.predict_once(X)
        near = predict_interval(model, once)
        with monkeypatch.context() as patch:
            patch.setattr(rank_search, "_FEWEST_ROWS", 10**9)
            everywhere = predict_interval(model, once)
        assert_same_sums(near.lower, everywhere.lower, model, once.raw, Fitted(model).y)
        assert_same_sums(near.upper, everywhere.upper, model, once.raw, Fitted(model).y)


RESIDUALS = {
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
@pytest.mark.parametrize("residuals", RESIDUALS.values(), ids=RESIDUALS)
@pytest.mark.parametrize("outputs", WHOLE.values(), ids=WHOLE)
def test_ties_and_near_ties_do_not_mislead_the_search_by_a_bit(residuals, outputs, average_of_520, seed):
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
    return Fitted(fitted(n=520, estimator=DummyRegressor(), prediction_range=None, n_bags=60)[0]).average


def widths(monkeypatch, model, X):
    """How many rows are looked at, for each point."""
    seen, blocks = np.zeros(len(X), dtype=int), LeftOutLines.blocks

    def counted(self, points, numbers, window):
        seen[numbers] += self.n_always + window.stop - window.start
        return blocks(self, points, numbers, window)

    monkeypatch.setattr(LeftOutLines, "blocks", counted)
    predict_interval(model, X)
    return seen


def test_a_stable_learner_needs_few_rows_and_an_unstable_one_all(monkeypatch):
    assert (widths(monkeypatch, *fitted(estimator=Ridge())) < 200).all()
    rows = widths(monkeypatch, *fitted(estimator=DecisionTreeRegressor(), n_bags=20))
    assert (rows >= 600).any()


def test_what_is_not_proved_in_a_window_is_searched_for_in_a_larger_one(monkeypatch):
    model, X = fitted(estimator=TREE)
    once = model.predict_once(X)
    expected, tried = predict_interval(model, once), []
    proved = RankSearch._proved

    def doubtful(self, window, *values):
        tried.append(window)
        return proved(self, window, *values) & (np.arange(len(values[0])) % 2 == 0)

    monkeypatch.setattr(RankSearch, "_proved", doubtful)
    found = predict_interval(model, once)
    assert tried
    assert_same_sums(found.lower, expected.lower, model, once.raw, Fitted(model).y)
    assert_same_sums(found.upper, expected.upper, model, once.raw, Fitted(model).y)


def test_a_window_that_is_too_small_is_found_out():
    model, X = fitted(estimator=DecisionTreeRegressor(), prediction_range=None)
    once = model.predict_once(X)
    residuals = np.abs(Fitted(model).y - left_out_at_rows(model))
    search = RankSearch(541, residuals, Fitted(model).average)
    search._spare = 0.0  # then every point is first searched for in the smallest window
    points = BagPoints(Fitted(model).average, once.raw)
    lower, upper = search.ends(points)
    for ours, theirs in zip((lower, upper), sorted_ends(model, once, 541), strict=True):
        assert_same_sums(ours, theirs, model, once.raw, residuals)


def test_a_range_that_every_row_changes_is_no_obstacle():
    model, X = fitted(
        n=530, estimator=Ridge(), prediction_range=FunctionRange(lambda y: (y.mean() - 0.5, y.mean() + 0.5))
    )
    once = model.predict_once(X)
    residuals = np.abs(Fitted(model).y - left_out_at_rows(model))
    found = RankSearch(478, residuals, Fitted(model).average).ends(BagPoints(Fitted(model).average, once.raw))
    for ours, theirs in zip(found, sorted_ends(model, once, 478), strict=True):
        assert_same_sums(ours, theirs, model, once.raw, residuals)
