import math

import numpy as np
import pytest

from stablebag.proving import bounds

EQUAL = np.full(8, 0.04)
RARE = np.array([0.5, 0.5, *[0.02] * 8])


def test_equal_constants_give_theorem_8_and_second_moments():
    for rank in range(1, 9):
        expected = bounds.kth_perturbation(rank, 8, 0.04, 0.5)
        assert bounds.kth_of_unequal_rows(rank, EQUAL, np.full(8, 0.5)) == pytest.approx(expected)
    for delta in (0.1, 0.5, 1.0):
        for coupling in ("any", "independent"):
            found = bounds.unequal_rows_epsilon(delta, EQUAL, 50, coupling)
            assert found == pytest.approx(bounds.second_moment_epsilon(delta, 0.04, 50, coupling))
    assert bounds.unequal_rows_mean(EQUAL) == pytest.approx(math.sqrt(0.04 / 4))


def test_few_rows_with_a_large_constant_count_as_few():
    # The two of weight 1 / 5 come first, then those of weight 5.
    chances = np.full(10, 0.9)
    expected = [0.25 / 0.2, 0.25 / 0.4, 0.25 / 5.4, 0.25 / 10.4]
    found = [bounds.kth_of_unequal_rows(rank, RARE, chances) for rank in (1, 2, 3, 4)]
    np.testing.assert_allclose(found, np.minimum(np.sqrt(expected), 0.9))
    assert bounds.unequal_rows_epsilon(0.3, RARE) == pytest.approx(math.sqrt(0.25 / 5.4))
    assert bounds.unequal_rows_epsilon(0.25, RARE) == pytest.approx(math.sqrt(0.25 / 2.9))


def test_the_chance_of_the_row_of_that_rank_is_a_bound():
    chances = np.array([0.9, 0.05, *[0.01] * 8])
    assert [bounds.kth_of_unequal_rows(rank, RARE, chances) for rank in (1, 2, 3)] == [0.9, 0.05, 0.01]
    assert bounds.kth_of_unequal_rows(11, RARE, chances) == 0.0
    assert bounds.kth_of_unequal_rows(1, np.array([math.inf, 0.1]), np.array([1.0, 0.5])) == 1.0


def test_no_rows_are_promised_nothing():
    assert bounds.unequal_rows_epsilon(0.0, RARE) == math.inf


def test_it_falls_with_more_bags_and_larger_shares():
    shares = np.linspace(0.01, 1, 30)
    found = [[bounds.unequal_rows_epsilon(share, RARE, n_bags) for share in shares] for n_bags in (10, 100, math.inf)]
    assert (np.diff(found, axis=0) < 0).all()
    assert (np.diff(found, axis=1) < 0).all()
