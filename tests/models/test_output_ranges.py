import math

import numpy as np
import pytest

from stablebag import FixedRange, ObservedRange, TrimmedRange
from stablebag.models import PredictionRange
from stablebag.models.ranges import OutputRanges, diagonal

Y = np.array([[0.0, 5.0], [1.0, 5.0], [2.0, 7.0], [2.0, 9.0]])


def test_one_rule_is_for_every_output_and_a_list_has_one_for_each():
    assert OutputRanges.of(ObservedRange(), 2, "x").ranges == (ObservedRange(), ObservedRange())
    given = OutputRanges.of([FixedRange(0, 1), lambda y: (0, 9)], 2, "x").ranges
    assert given[0] == FixedRange(0, 1)
    assert isinstance(given[1], PredictionRange)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([ObservedRange()], "must be a list of 2 ranges"),
        ([ObservedRange(), None], "clipped in every output or in none"),
        ([ObservedRange(), 3], "must be a prediction range"),
        (3, "must be a prediction range"),
    ],
)
def test_what_is_no_range_for_each_output_is_refused(given, message):
    with pytest.raises((ValueError, TypeError), match=message):
        OutputRanges.of(given, 2, "BaggedRegressor")


def test_a_row_changes_the_box_if_it_changes_any_of_its_sides():
    rule = OutputRanges.of(ObservedRange(), 2, "x")
    low, high = rule(Y)
    assert (low.tolist(), high.tolist()) == ([0.0, 5.0], [2.0, 9.0])
    # The first row is the smallest of the first output, the last the largest of the second; the rest are tied.
    changes = {row: (low.tolist(), high.tolist()) for row, (low, high) in rule.changes(Y).items()}
    assert changes == {0: ([1.0, 5.0], [2.0, 9.0]), 3: ([0.0, 5.0], [2.0, 7.0])}
    assert rule.change(Y) == (0.5, math.hypot(2, 4))
    assert OutputRanges.of(FixedRange(0, 1), 2, "x").change(Y) == (0.0, math.sqrt(2))


def test_the_changes_are_those_of_going_through_the_rows():
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


def test_targets_of_another_number_of_columns_are_refused():
    with pytest.raises(ValueError, match="a table with 3 columns"):
        OutputRanges.of(ObservedRange(), 3, "x")(Y)


def test_a_diagonal_does_not_overflow():
    assert diagonal(np.array([3e200, 4e200])) == pytest.approx(5e200)
    assert diagonal(np.array([3e-200, 4e-200])) == pytest.approx(5e-200)
