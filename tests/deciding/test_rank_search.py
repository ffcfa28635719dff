import numpy as np
import pytest
from sklearn.linear_model import Ridge
from sklearn.tree import DecisionTreeRegressor

from stablebag import BaggedRegressor, ClassicalBagging, FunctionRange, Subbagging, TrimmedRange, predict_interval
from stablebag.deciding import rank_search
from stablebag.deciding.rank_search import RankSearch
from stablebag.measuring.leave_one_out import left_out_at_rows
from stablebag.measuring.left_out_lines import BagPoints, LeftOutLines

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
    residuals = np.abs(model.y_ - left_out_at_rows(model))
    left_out = model.average_.left_out(points.raw).T
    n = len(residuals)
    return np.sort(left_out - residuals, axis=1)[:, n - rank], np.sort(left_out + residuals, axis=1)[:, rank - 1]


@pytest.mark.parametrize("settings", CASES.values(), ids=CASES)
@pytest.mark.parametrize("digits", [9, 0], ids=["distinct", "tied"])
def test_the_ends_are_those_of_sorting_all_rows(settings, digits):
    model, X = fitted(digits=digits, **settings)
    once = model.predict_once(X)
    residuals = np.abs(model.y_ - left_out_at_rows(model))
    for rank in (1, 2, 60, 300, 541, 599, 600):
        found = RankSearch(rank, residuals, model.average_).ends(BagPoints(model.average_, once.raw))
        for ours, theirs in zip(found, sorted_ends(model, once, rank), strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-13, atol=1e-13)


def test_a_search_near_the_rank_gives_the_same_bits_as_one_in_all_rows(monkeypatch):
    for settings in CASES.values():
        model, X = fitted(**settings)
        near = predict_interval(model, X)
        with monkeypatch.context() as patch:
            patch.setattr(rank_search, "_FEWEST_ROWS", 10**9)
            everywhere = predict_interval(model, X)
        np.testing.assert_array_equal(near.lower, everywhere.lower)
        np.testing.assert_array_equal(near.upper, everywhere.upper)


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
    expected, tried = predict_interval(model, X), []
    proved = RankSearch._proved

    def doubtful(self, window, *values):
        tried.append(window)
        return proved(self, window, *values) & (np.arange(len(values[0])) % 2 == 0)

    monkeypatch.setattr(RankSearch, "_proved", doubtful)
    found = predict_interval(model, X)
    assert tried
    np.testing.assert_array_equal(found.lower, expected.lower)
    np.testing.assert_array_equal(found.upper, expected.upper)


def test_a_window_that_is_too_small_is_found_out():
    model, X = fitted(estimator=DecisionTreeRegressor(), prediction_range=None)
    once = model.predict_once(X)
    residuals = np.abs(model.y_ - left_out_at_rows(model))
    search = RankSearch(541, residuals, model.average_)
    search._spare = 0.0  # then every point is first searched for in the smallest window
    points = BagPoints(model.average_, once.raw)
    lower, upper = search.ends(points)
    for ours, theirs in zip((lower, upper), sorted_ends(model, once, 541), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-13)


def test_a_range_that_every_row_changes_is_no_obstacle():
    model, X = fitted(
        n=530, estimator=Ridge(), prediction_range=FunctionRange(lambda y: (y.mean() - 0.5, y.mean() + 0.5))
    )
    once = model.predict_once(X)
    residuals = np.abs(model.y_ - left_out_at_rows(model))
    found = RankSearch(478, residuals, model.average_).ends(BagPoints(model.average_, once.raw))
    for ours, theirs in zip(found, sorted_ends(model, once, 478), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-13)
