import numpy as np
import pytest

from stablebag import BernoulliSubbagging, ClassicalBagging, PoissonizedBagging, Subbagging
from stablebag.resampling import Bags
from stablebag.resampling.bags import RowPatterns

SCHEMES = [Subbagging(3), ClassicalBagging(4), BernoulliSubbagging(0.1), PoissonizedBagging(0.2), Subbagging(0.5)]


@pytest.mark.parametrize("scheme", SCHEMES, ids=str)
@pytest.mark.parametrize("n_bags", [1, 9, 70])
def test_every_row_is_in_the_pattern_of_its_bags(scheme, n_bags):
    bags, apart = scheme.resolve(40).draw(n_bags, 1), [7, 5]
    patterns, inside = RowPatterns.of(bags, np.array(apart)), bags.inclusion
    seen = {}
    for number, (rows, numbers) in enumerate(patterns):
        assert rows.tolist() == sorted(rows.tolist())
        for row in rows.tolist():
            assert np.flatnonzero(inside[:, row]).tolist() == numbers.tolist()
            seen[row] = number
    untouched = [row for row in range(40) if not inside[:, row].any() and row not in apart]
    assert sorted([*seen, *untouched, *apart]) == list(range(40))
    assert patterns.n_untouched == len(untouched)
    assert patterns.untouched(100).tolist() == untouched
    assert patterns.untouched(2).tolist() == untouched[:2]
    assert patterns.places(np.arange(40)).tolist() == [seen.get(row, -1) for row in range(40)]
    np.testing.assert_array_equal(patterns.matrix.toarray().sum(axis=1), patterns.n_inside)
    if n_bags < 40:  # so many bags, and so few rows in each, that sets of bags have a number
        assert len({tuple(numbers.tolist()) for _, numbers in patterns}) == len(patterns)


def test_rows_in_the_same_bags_are_one_pattern():
    patterns = RowPatterns.of(Bags([[0, 1, 2, 3], [2, 3, 3], [5]], n_samples=8))
    found = [(rows.tolist(), bags.tolist()) for rows, bags in patterns]
    assert found == [([0, 1], [0]), ([5], [2]), ([2, 3], [0, 1])]
    assert patterns.counts.tolist() == [2, 1, 2]


def test_empty_bags_have_no_patterns():
    patterns = RowPatterns.of(Bags([[], []], n_samples=3))
    assert (len(patterns), patterns.n_untouched) == (0, 3)
    assert patterns.places(np.arange(3)).tolist() == [-1, -1, -1]


def test_more_rows_than_fit_into_a_number_with_the_bag():
    # 62 bits for the row and 3 for the bag.
    rows = [[2**61 + 3, 5], [5, 2**61 + 3, 5], [1], [2], [9]]
    patterns = RowPatterns.of(Bags(rows, n_samples=2**62))
    found = [(rows.tolist(), bags.tolist()) for rows, bags in patterns]
    assert found == [([1], [2]), ([2], [3]), ([9], [4]), ([5, 2**61 + 3], [0, 1])]
    assert patterns.untouched(4).tolist() == [0, 3, 4, 6]
