import math

import numpy as np
import pytest

from stablebag import FixedRange, ObservedRange, TrimmedRange
from stablebag.models import PredictionRange
from stablebag.models.ranges import OutputRanges, as_prediction_range, diagonal

# --------------------------------------------------------------------------------------------------------------- ranges


def test_fixed_range_never_changes():
    assert FixedRange(-1, 2.5).interval([5.0, 6.0]) == (-1.0, 2.5)
    assert FixedRange(-1, 2.5).delta([5.0, 6.0]) == 0


def test_two_rows_change_the_observed_range_and_twice_the_rank_the_trimmed():
    y = np.random.default_rng(0).normal(size=50)
    assert ObservedRange().delta(y) == 2 / 50
    for rank in (1, 2, 10, 25):
        assert TrimmedRange(rank).delta(y) == 2 * rank / 50


def test_ties_make_delta_smaller():
    assert ObservedRange().delta([1, 1, 2, 3, 3]) == 0
    assert ObservedRange().delta([0, 1, 2, 3, 3]) == 1 / 5
    assert TrimmedRange(2).delta([0, 1, 1, 3, 4, 5]) == 2 / 6
    assert TrimmedRange(2).delta([7] * 6) == 0


def test_constant_target_gives_an_interval_of_length_zero():
    assert ObservedRange().interval([3, 3]) == TrimmedRange(1).interval([3, 3]) == (3.0, 3.0)
    assert FixedRange(3, 3).interval([]) == (3.0, 3.0)


def test_range_can_be_a_function_of_the_targets():
    assert ObservedRange()([1, 5, 3]) == (1.0, 5.0)
    assert as_prediction_range(lambda y: (min(y), 10), "test")([1, 5, 3]) == (1.0, 10.0)
    assert as_prediction_range(ObservedRange(), "test") == ObservedRange()


def test_own_range_needs_only_interval():
    class AroundMedian(PredictionRange):
        def interval(self, y):
            return float(np.median(y)) - 1, float(np.median(y)) + 1

    assert AroundMedian().delta([1.0, 2.0, 3.0, 4.0, 5.0]) == 0.8  # without 3.0 the median stays
    assert AroundMedian().delta([1.0, 3.0, 3.0, 3.0, 5.0]) == 0.0


def test_reach_is_the_length_unless_the_interval_moves_away():
    y = [0.0, 1.0, 2.0, 30.0, 40.0]
    assert ObservedRange().reach(y) == 40.0
    assert TrimmedRange(2).reach(y) == 29.0
    assert FixedRange(0, 1).reach(y) == 1.0
    # The median is 2, and 16 without one of the first three rows: an interval of no length that moves by 14.
    assert as_prediction_range(lambda values: (np.median(values), np.median(values)), "here").reach(y) == 14.0


def test_own_range_that_returns_no_interval_raises():
    class Five(PredictionRange):
        def interval(self, y):
            return 5

    with pytest.raises(ValueError, match="Five returned 5"):
        Five().delta([1.0, 2.0])


@pytest.mark.parametrize("bad", [0.05, 1.0, np.float64(2)])
def test_fractional_rank_raises_with_the_reason(bad):
    with pytest.raises(TypeError, match="nearly every row would change the range"):
        TrimmedRange(bad)


@pytest.mark.parametrize(("bad", "error"), [(0, ValueError), (-1, ValueError), ("2", TypeError), (True, TypeError)])
def test_rank_that_is_not_a_positive_integer_raises(bad, error):
    with pytest.raises(error, match="'rank' parameter of TrimmedRange must be an integer >= 1"):
        TrimmedRange(bad)


@pytest.mark.parametrize(("low", "high", "error", "words"), [
    (2, 1, ValueError, r"swap the two ends: FixedRange\(1.0, 2.0\)"),
    (math.nan, 1, ValueError, "'low' parameter of FixedRange"),
    (0, math.inf, ValueError, "'high' parameter of FixedRange"),
    ("0", 1, TypeError, "'low' parameter of FixedRange"),
])  # fmt: skip
def test_impossible_fixed_range_raises(low, high, error, words):
    with pytest.raises(error, match=words):
        FixedRange(low, high)


@pytest.mark.parametrize("result", [(2, 1), (0, math.nan), 3, "ab", (1, 2, 3), None, (0, math.inf)])
def test_function_that_returns_no_interval_raises(result):
    with pytest.raises(ValueError, match="must return a pair"):
        as_prediction_range(lambda y: result, "here").interval([1.0])


def test_objects_that_are_not_ranges_raise():
    with pytest.raises(TypeError, match="'prediction_range' parameter of here"):
        as_prediction_range((0, 1), "here")
    for bad in ((0, 1), ObservedRange, "observed"):
        with pytest.raises(TypeError, match="'prediction_range' parameter of test"):
            as_prediction_range(bad, "test")


@pytest.mark.parametrize(
    "make", [ObservedRange, lambda: TrimmedRange(2), lambda: as_prediction_range(lambda y: (0, 1), "here")]
)
@pytest.mark.parametrize(
    "bad", [[1, math.nan, 2, 3], [1, math.inf, 2, 3], [[1, 2], [3, 4]], ["a", "b", "c", "d"], 3.0, [1j, 2, 3, 4]]
)
def test_targets_that_are_not_numbers_raise(make, bad):
    with pytest.raises(ValueError, match=r"[Tt]arget"):
        make().interval(bad)


def test_too_few_targets_raise():
    with pytest.raises(ValueError, match=r"Too few targets for TrimmedRange\(2\): need at least 3, got 2"):
        TrimmedRange(2).interval([1, 2])
    with pytest.raises(
        ValueError, match=r"Too few targets for TrimmedRange\(2\) without one row: need at least 4, got 3"
    ):
        TrimmedRange(2).delta([1, 2, 3])
    with pytest.raises(ValueError, match="got 0"):
        ObservedRange().interval([])
    with pytest.raises(ValueError, match="got 1"):
        FixedRange(0, 1).delta([1.0])


# -------------------------------------------------------------------------------------------------------- output ranges

Y = np.array([[0.0, 5.0], [1.0, 5.0], [2.0, 7.0], [2.0, 9.0]])


def test_one_rule_is_used_for_all_outputs_and_a_list_has_one_each():
    assert OutputRanges.of(ObservedRange(), 2, "x").ranges == (ObservedRange(), ObservedRange())
    given = OutputRanges.of([FixedRange(0, 1), lambda y: (0, 9)], 2, "x").ranges
    assert given[0] == FixedRange(0, 1)
    assert isinstance(given[1], PredictionRange)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([ObservedRange()], "must be a list of 2 ranges"),
        ([ObservedRange(), None], "all outputs are clipped or none"),
        ([ObservedRange(), 3], "must be a prediction range"),
        (3, "must be a prediction range"),
    ],
)
def test_wrong_ranges_for_outputs_raise(given, message):
    with pytest.raises((ValueError, TypeError), match=message):
        OutputRanges.of(given, 2, "BaggedRegressor")


def test_row_changes_the_box_if_it_changes_any_side():
    rule = OutputRanges.of(ObservedRange(), 2, "x")
    low, high = rule(Y)
    assert (low.tolist(), high.tolist()) == ([0.0, 5.0], [2.0, 9.0])
    # The first row is the smallest of the first output, the last the largest of the second; the rest are tied.
    changes = {row: (low.tolist(), high.tolist()) for row, (low, high) in rule.changes(Y).items()}
    assert changes == {0: ([1.0, 5.0], [2.0, 9.0]), 3: ([0.0, 5.0], [2.0, 7.0])}
    assert rule.change(Y) == (0.5, math.hypot(2, 4))
    assert OutputRanges.of(FixedRange(0, 1), 2, "x").change(Y) == (0.0, math.sqrt(2))


def test_changes_of_the_box_agree_with_brute_force():
    class Slow(PredictionRange):
        def interval(self, y):
            return TrimmedRange(2).interval(y)

    y = np.random.default_rng(0).integers(0, 5, size=(9, 3)).astype(float)
    groups = list("aabbbccdd")
    for units in (None, groups):
        fast, slow = (OutputRanges.of(rule, 3, "x").changes(y, units) for rule in (TrimmedRange(2), Slow()))
        assert list(fast) == list(slow)
        for row, ends in fast.items():
            np.testing.assert_array_equal(ends, slow[row])


def test_targets_with_another_number_of_columns_raise():
    with pytest.raises(ValueError, match="has 3 ranges, so y needs as many columns"):
        OutputRanges.of(ObservedRange(), 3, "x")(Y)


def test_diagonal_does_not_overflow():
    assert diagonal(np.array([3e200, 4e200])) == pytest.approx(5e200)
    assert diagonal(np.array([3e-200, 4e-200])) == pytest.approx(5e-200)
