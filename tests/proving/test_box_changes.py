import math

import pytest

from stablebag import FixedRange, ObservedRange, Subbagging
from stablebag.proving import VectorCertificate
from stablebag.proving.outputs import BoxChanges

Y = [[0.0, 5.0], [1.0, 5.0], [2.0, 7.0], [2.0, 9.0]]


def test_of_targets_by_hand():
    units, length, box = BoxChanges.of_targets(Y, ObservedRange(), None, "x")
    assert (len(units), length, box) == (4, math.hypot(2, 4), BoxChanges(0.5, math.hypot(2, 4)))
    units, _, box = BoxChanges.of_targets(Y, ObservedRange(), ["a", "a", "b", "c"], "x")
    assert (len(units), box.share) == (3, 2 / 3)


def test_what_is_left_counts_whole_rows_if_all_bags_are_averaged():
    box = BoxChanges(0.5, 1.0)
    assert box.left_of(0.74, 4, all_bags=True) == 0.0
    assert box.left_of(0.75, 4, all_bags=True) == 0.25
    assert box.left_of(0.74, 4, all_bags=False) == pytest.approx(0.24)
    assert box.left_of(0.25, 4, all_bags=True) < 0
    assert BoxChanges(3 / 442, 1.0).left_of(3 / 442, 442, all_bags=False) == 0.0


def test_sentences_speak_of_the_targets_only_if_the_box_depends_on_them():
    fixed = BoxChanges.of_targets(Y, FixedRange(0, 9), None, "x")[2]
    assert (fixed.such, fixed.words(2)) == ("", "")
    box = BoxChanges.of_targets(Y, ObservedRange(), None, "x")[2]
    assert box.such == " with these ranges of targets"
    assert "2 of the rows can change" in box.words(len(Y))


def test_values_that_are_none_are_refused():
    with pytest.raises(ValueError, match="'share'"):
        BoxChanges(1.5, 1.0)
    with pytest.raises(ValueError, match="'reach'"):
        BoxChanges(0.5, math.nan)
    with pytest.raises(ValueError, match="one column for each output"):
        VectorCertificate.for_targets(Subbagging(1), [1.0, 2.0, 3.0])
