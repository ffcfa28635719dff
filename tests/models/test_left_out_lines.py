import numpy as np
import pytest
from sklearn.linear_model import Ridge
from sklearn.tree import DecisionTreeRegressor

from rounding import assert_same_sums
from stablebag import BaggedRegressor, ClassicalBagging, ObservedRange, Subbagging
from stablebag.models import average as left_out_lines
from stablebag.models.average import BagPoints, LeftOutLines, outside_weights, point_blocks
from stablebag.models.fitted import Fitted

CASES = {
    "drawn": {"n_bags": 60, "scheme": ClassicalBagging()},
    "without a range": {"n_bags": 60, "prediction_range": None},
    "all bags": {"n_bags": "all", "scheme": Subbagging(2)},
    "a range that every row changes": {"n_bags": 60, "prediction_range": lambda y: (y.mean(), y.max())},
}


@pytest.fixture(scope="module", params=CASES.values(), ids=CASES)
def case(request):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 2))
    model = BaggedRegressor(DecisionTreeRegressor(max_depth=3), random_state=0, **request.param)
    model.fit(X, X[:, 0] + rng.normal(size=50))
    return model, Fitted(model).average, model.predict_once(rng.normal(size=(21, 2))).raw


def lines_of(average, raw, numbers, window, others=None):
    """The lines of some points put together, and the rows in them."""
    special = np.array(average.special_units, dtype=int)
    others = np.setdiff1d(np.arange(50), special)[::-1] if others is None else others
    lines = LeftOutLines(average, special, others)
    found = [(some, np.hstack(parts)) for some, *parts in lines.blocks(BagPoints(average, raw), numbers, window)]
    np.testing.assert_array_equal(np.concatenate([some for some, _ in found]), numbers)
    return np.concatenate([line for _, line in found]), np.concatenate([special, others[window]])


@pytest.mark.kernels
def test_lines_are_the_predictions_without_each_row(case):
    model, average, raw = case
    numbers = np.array([3, 20, 0, 7])
    for window in (slice(0, 50 - len(average.special_units)), slice(0, 0)):
        lines, rows = lines_of(average, raw, numbers, window)
        assert_same_sums(lines, average.left_out(raw)[rows][:, numbers].T, model, raw)


@pytest.mark.kernels
def test_blocks_and_other_points_change_a_line_only_by_rounding(case, monkeypatch):
    model, average, raw = case
    everything = slice(0, 50 - len(average.special_units))
    whole, rows = lines_of(average, raw, np.arange(21), everything)
    monkeypatch.setattr(left_out_lines, "_WORTHWHILE", 8)
    for cached, matrix in ((1, 2**27), (8 * 50 * 16, 2**20), (1, 1), (1, 9 * 10 * len(raw))):
        monkeypatch.setattr(left_out_lines, "_CACHED_BYTES", cached)
        monkeypatch.setattr(left_out_lines, "_MATRIX_BYTES", matrix)
        lines, _ = lines_of(average, raw, np.arange(21), everything)
        assert_same_sums(lines, whole, model, raw)
    alone, _ = lines_of(average, raw[:, 4:5], np.array([0]), everything)
    assert_same_sums(alone[0], whole[4], model, raw)
    if not average.special_units:
        some, fewer = lines_of(average, raw, np.arange(21), slice(3, 20))
        assert_same_sums(some, whole[:, 3:20], model, raw)
        assert fewer.tolist() == rows[3:20].tolist()


def test_blocks_cover_all_points_and_are_bounded(case, monkeypatch):
    _, average, raw = case
    monkeypatch.setattr(left_out_lines, "_MATRIX_BYTES", 32 * 5 * (len(raw) + len(average.special_units)))
    blocks = list(point_blocks(average, raw))
    assert [len(block) for block in blocks] == [5, 5, 5, 5, 1]
    np.testing.assert_array_equal(np.hstack([block.raw for block in blocks]), raw)


@pytest.mark.kernels
def test_mean_without_a_row_is_within_reach_of_the_mean(case):
    _, average, raw = case
    shares = outside_weights(average) / (len(raw) if average.drawn else 1)
    points = BagPoints(average, raw)
    ordinary = np.setdiff1d(np.arange(50), average.special_units)
    for row in ordinary[:20]:
        mean, reach = points.mean_and_reach(np.sqrt((1 - shares[row]) / shares[row]))
        assert (np.abs(average.left_out(raw)[row] - mean) <= reach).all()


def test_reach_is_tight():
    X, y = np.arange(4.0)[:, None], np.arange(4.0)
    model = BaggedRegressor(Ridge(), scheme=Subbagging(1), n_bags="all", prediction_range=ObservedRange()).fit(X, y)
    without_row_0 = ~model.bags_.inclusion[:, 0]
    raw = np.where(without_row_0, 2.0, 1.0)[:, None]  # all bags without row 0 agree, and so does the other
    mean, reach = BagPoints(Fitted(model).average, raw).mean_and_reach(np.sqrt(1 / 3))
    assert reach == pytest.approx(2.0 - mean, rel=1e-6)
