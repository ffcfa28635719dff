import math

import numpy as np
import pytest

from stablebag.proving.outputs import Labels


def counted(y, groups=None):
    labels = Labels.of(y, groups, "here")
    return len(labels.units), labels.n_classes, labels.n_lonely, labels.n_lost


def test_labels_are_counted():
    assert counted(["a", "b", "a", "c", "a"]) == (5, 3, 2, 1)
    assert counted(np.array([1, 1])) == (2, 1, 0, 1)
    for y in (["a"], [["a", "b"]]):
        with pytest.raises(ValueError, match="'y' parameter of here must be a one-dimensional array of at least two"):
            Labels.of(y, None, "here")


def test_a_unit_can_take_several_classes_away():
    y, groups = ["a", "b", "c", "c", "d", "a"], ["p", "p", "p", "q", "q", "r"]
    assert counted(y, groups) == (3, 4, 2, 1)  # b only in p, d only in q
    assert counted(["a", "b", "c", "c"], ["p", "p", "q", "r"]) == (3, 3, 1, 2)
    assert counted(["a", "b", "c"], [1, 2, 3]) == counted(["a", "b", "c"]) == (3, 3, 3, 1)


@pytest.mark.parametrize("n_classes", [2, 3, 7])
def test_the_shift_is_how_far_equal_probabilities_move_when_classes_are_gone(n_classes):
    for n_lost in range(1, n_classes):
        before, after = np.full(n_classes, 1 / n_classes), np.zeros(n_classes)
        after[n_lost:] = 1 / (n_classes - n_lost)
        labels = Labels(None, n_classes, 1, n_lost)
        assert labels.shift(0.3) == pytest.approx(0.3 * np.abs(before - after).max())
        assert labels.shift(0.3, vector=True) == pytest.approx(0.3 * math.dist(before, after))
