import numpy as np
import pytest

from stablebag.models import RowSource
from stablebag.showing.study import chosen_units, n_points_compared, of_source


def test_units_are_drawn_by_the_seed_and_all_if_there_are_no_more(seed):
    assert chosen_units(5, 9, seed).tolist() == [0, 1, 2, 3, 4]
    some = chosen_units(1000, 30, seed)
    assert len(np.unique(some)) == 30
    assert (np.diff(some) > 0).all()
    assert (some == chosen_units(1000, 30, seed)).all()
    assert (some != chosen_units(1000, 30, seed + 1)).any()


def test_all_held_out_rows_are_compared_unless_that_takes_too_much():
    assert n_points_compared(20, 500, 10_000, 200, 1) == 500
    assert n_points_compared(20, 10**6, 10_000, 200, 1) == 2**27 // 10_000
    assert n_points_compared(20, 10**6, 10_000, 10_000, 2) == 2**23 // 20_000
    assert n_points_compared(20, 10**6, 10**9, 200, 1) == 20  # those of what is proved, at the least


class Ten(RowSource):
    n_samples, n_features, part_sizes, bytes_per_row = 10, 1, (10,), 8.0

    def take(self, rows):
        return rows[:, None]

    def read(self, part, n_rows):
        return iter([self.take(np.arange(10))])

    def targets(self):
        return np.arange(10.0)

    def groups(self):
        return np.repeat([0, 1], 5)


def test_a_source_has_targets_and_units_of_its_own():
    y, groups = of_source(Ten(), None, None, 0)
    assert y.tolist() == list(range(10))
    assert groups.tolist() == [0] * 5 + [1] * 5
    with pytest.raises(ValueError, match="None with a Ten"):
        of_source(Ten(), None, np.arange(10), 0)
    with pytest.raises(ValueError, match="0 with a Ten"):
        of_source(Ten(), None, None, 3)
