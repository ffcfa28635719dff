import math

import pytest

from stablebag import Certificate, FixedRange, ObservedRange, Subbagging
from stablebag.proving import BoxOutputs

Y = [[0.0, 5.0], [1.0, 5.0], [2.0, 7.0], [2.0, 9.0]]


def test_a_box_of_targets_by_hand():
    units, box = BoxOutputs.for_targets(Y, ObservedRange(), None, "x")
    assert (len(units), box) == (4, BoxOutputs(math.hypot(2, 4), 0.5, math.hypot(2, 4)))
    units, box = BoxOutputs.for_targets(Y, ObservedRange(), ["a", "a", "b", "c"], "x")
    assert (len(units), box.delta_range) == (3, 2 / 3)


def test_what_is_left_counts_whole_rows_if_all_bags_are_averaged():
    all_bags, drawn = (Certificate(Subbagging(2), 4, n, outputs=BoxOutputs(1.0, 0.5, 1.0)) for n in (math.inf, 50))
    assert all_bags.without_rows_changing_range(0.74) == 0.0
    assert all_bags.without_rows_changing_range(0.75) == 0.25
    assert drawn.without_rows_changing_range(0.74) == pytest.approx(0.24)
    assert all_bags.without_rows_changing_range(0.25) < 0
    few = Certificate(Subbagging(2), 442, 50, outputs=BoxOutputs(1.0, 3 / 442, 1.0))
    assert few.without_rows_changing_range(3 / 442) == 0.0


def test_sentences_speak_of_the_targets_only_if_the_box_depends_on_them():
    fixed = Certificate.for_targets(Subbagging(2), Y, FixedRange(0, 9), vector=True)
    assert fixed.condition == ""
    assert "can change" not in fixed.explain(0.5)
    box = Certificate.for_targets(Subbagging(2), Y, vector=True)
    assert box.condition == " with these ranges of targets"
    assert "2 of the rows can change" in " ".join(box.explain(0.9).split())


def test_values_that_are_none_are_refused():
    with pytest.raises(ValueError, match="'delta_range'"):
        BoxOutputs(1.0, 1.5, 1.0)
    with pytest.raises(ValueError, match="'reach'"):
        BoxOutputs(1.0, 0.5, math.nan)
    with pytest.raises(ValueError, match="one column for each output"):
        Certificate.for_targets(Subbagging(1), [1.0, 2.0, 3.0], vector=True)
