"""Small cases worked by hand; that the frontier is exact is shown in tests/theorems."""

import numpy as np
import pytest

from stablebag import BernoulliSubbagging, Subbagging
from stablebag.proving.frontier import MOST_ROWS, all_plus, frontier, largest_mean

ONE_OF_TWO = Subbagging(1).resolve(2)
COINS = BernoulliSubbagging(0.5).resolve(6)


def test_one_of_two_rows_worked_by_hand():
    # The bag is the first row or the second. A learner that says 1 to the first and 0 to the other says 1/2 on average;
    # without either row it says 0 or 1. Counting both rows tells nothing: one of them is in every bag.
    point = frontier(ONE_OF_TWO, 2)
    assert (point.value, point.n_plus, point.n_minus) == (0.5, 1, 1)
    assert point.outputs(np.array([1, 0]), np.array([0, 1])).tolist() == [1.0, 0.0]
    assert all_plus(ONE_OF_TWO, 2) == 0.0
    assert largest_mean(ONE_OF_TWO) == pytest.approx(0.5)


def test_coins_worked_by_hand():
    # Of K rows A are in the bag: E|A - K / 2| / K is 1/2, 1/4 (of 0, 1, 1, 2) and 1/4 (of 0, 1, 2, 3 by 1, 3, 3, 1).
    assert [all_plus(COINS, rank) for rank in (1, 2, 3)] == pytest.approx([0.5, 0.25, 0.25])
    assert [frontier(COINS, rank).value for rank in (1, 2, 3)] == pytest.approx([0.5, 0.25, 0.25], abs=1e-10)


def test_the_first_rank_is_the_worst_case_and_memorizes_a_row():
    law = Subbagging(3).resolve(8)
    point = frontier(law, 1)
    assert (point.value, point.n_plus, point.n_minus, point.weight) == (3 / 8, 1, 0, 1.0)
    assert point.outputs(np.array([0, 1]), np.array([0, 0])).tolist() == [0.0, 1.0]


def test_values_are_rounded_up_and_never_down():
    for rank in range(1, 7):
        value = frontier(COINS, rank).value
        assert all_plus(COINS, rank) <= value
        assert value == pytest.approx(float(f"{value:.11g}"), rel=1e-15)


def test_it_is_not_worked_out_where_that_takes_too_long():
    law = Subbagging(0.5).resolve(10**6)
    assert MOST_ROWS == 30_000  # as Certificate.epsilon tells
    assert frontier(law, MOST_ROWS + 1) is None
    assert largest_mean(law) is None


@pytest.mark.parametrize(("rank", "words"), [(0, "'rank' parameter of frontier"), (7, "at most n_samples=6")])
def test_ranks_outside_the_rows_are_refused(rank, words):
    with pytest.raises(ValueError, match=words):
        frontier(COINS, rank)
