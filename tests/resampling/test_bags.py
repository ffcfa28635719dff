import pickle
import tracemalloc

import numpy as np
import pytest

from stablebag import BernoulliSubbagging, ClassicalBagging, PoissonizedBagging, Subbagging
from stablebag.resampling import Bags
from stablebag.resampling.bags import RowPatterns


@pytest.fixture
def bags():
    return Bags([[2, 0], [1, 1, 3], [], [3]], n_samples=4)


def test_order_and_repeats_are_kept(bags):
    assert [bag.tolist() for bag in bags] == [[2, 0], [1, 1, 3], [], [3]]
    assert bags.sizes.tolist() == [2, 3, 0, 1]


def test_inclusion_and_counts(bags):
    assert bags.inclusion.astype(int).tolist() == [[1, 0, 1, 0], [0, 1, 0, 1], [0, 0, 0, 0], [0, 0, 0, 1]]
    assert bags.counts.tolist() == [[1, 0, 1, 0], [0, 2, 0, 1], [0, 0, 0, 0], [0, 0, 0, 1]]


def test_bags_without_a_row(bags):
    assert bags.without(3).tolist() == [0, 2]
    assert bags.n_without.tolist() == [3, 3, 3, 2]


def test_indexing_works_as_in_a_list(bags):
    assert bags[-1].tolist() == [3]
    assert bags[1:3] == Bags([[1, 1, 3], []], n_samples=4)
    assert bags[::2] == Bags([[2, 0], []], n_samples=4)
    assert bags[3:1] == Bags([], n_samples=4)
    with pytest.raises(IndexError, match="Bag 4 does not exist, because there are 4 bags"):
        bags[4]


def test_changing_a_returned_bag_does_not_change_the_bags(bags):
    bags[0][:] = 1
    assert bags[0].tolist() == [2, 0]
    assert bags[0].dtype == np.intp


def test_equality_compares_rows_order_and_n_samples(bags):
    assert bags == Bags([[2, 0], [1, 1, 3], [], [3]], n_samples=4)
    assert bags != Bags([[0, 2], [1, 1, 3], [], [3]], n_samples=4)
    assert bags != Bags([[2, 0], [1, 1, 3], [], [3]], n_samples=5)
    assert bags != "bags"


def test_bags_can_be_pickled(bags):
    assert pickle.loads(pickle.dumps(bags)) == bags


@pytest.mark.parametrize("n_bags", [1, 7, 8, 9, 500])
@pytest.mark.parametrize(
    "law", [Subbagging(0.5).resolve(37), Subbagging(2).resolve(1000), ClassicalBagging(1.0).resolve(20)], ids=str
)
@pytest.mark.parametrize("max_bytes", [1, 1000, 2**26])
def test_inclusion_blocks_make_up_the_inclusion_matrix(law, n_bags, max_bytes):
    bags = law.draw(n_bags, random_state=0)
    rows, blocks = zip(*bags.inclusion_blocks(max_bytes), strict=True)
    assert [row for block in rows for row in range(law.n_samples)[block]] == list(range(law.n_samples))
    assert all(block.dtype == bool and (block.size <= max_bytes or block.shape[1] == 1) for block in blocks)
    np.testing.assert_array_equal(np.hstack(blocks), bags.inclusion)
    np.testing.assert_array_equal(bags.n_without, (~bags.inclusion).sum(axis=0))
    np.testing.assert_array_equal(bags.without(3), np.flatnonzero(~bags.inclusion[:, 3]))


def test_inclusion_is_stored_packed_or_sparse_whichever_is_smaller():
    dense = Subbagging(0.5).resolve(1000).draw(800, random_state=0)
    assert dense._inclusion_by_row.nbytes == 1000 * 100
    thin = Subbagging(5).resolve(1000).draw(800, random_state=0)
    assert thin._inclusion_by_row.nnz == 5 * 800


@pytest.mark.slow
def test_small_bags_of_many_rows_need_no_dense_matrix():
    tracemalloc.start()
    bags = Subbagging(1000).resolve(1_000_000).draw(1000, random_state=0)
    assert bags.n_without.sum() == 1000 * (1_000_000 - 1000)
    assert len(bags.without(12)) == bags.n_without[12]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100e6  # a matrix would be 1,000 MB, and packed 125 MB


def test_packing_needs_no_dense_matrix():
    bags = Subbagging(0.05).resolve(20_000).draw(500, random_state=0)
    bags = Bags([bag for _ in range(24) for bag in bags], n_samples=20_000)  # drawing 12,000 would take longer
    tracemalloc.start()
    assert bags.n_without.shape == (20_000,)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 200e6  # a matrix of bool would be 240 MB, the packed one is 30 MB


def test_rows_are_stored_in_the_smallest_type_that_fits():
    assert Bags([[255]], 256)._rows.dtype == np.uint8
    assert Bags([[256]], 257)._rows.dtype == np.uint16
    assert Bags([[2**16]], 2**16 + 1)._rows.dtype == np.uint32


def test_repr_describes_the_bags(bags):
    assert repr(bags) == "Bags of 4 training rows: 4 bags with 0 to 3 rows"
    assert repr(Bags([], 1)) == "Bags of 1 training rows: 0 bags with 0 rows"


@pytest.mark.parametrize(("rows", "error", "words"), [
    ([0, 4], ValueError, "Bag 1 has row 4, .*rows are numbered from 0 to 3"),
    ([-1], ValueError, "Bag 1 has row -1"),
    ([0.5], TypeError, "sequence of row numbers"),
    ([[1]], TypeError, "sequence of row numbers"),
    ("ab", TypeError, "sequence of row numbers"),
])  # fmt: skip
def test_invalid_rows_raise(rows, error, words):
    with pytest.raises(error, match=words):
        Bags([[0], rows], n_samples=4)


def test_in_finds_a_bag(bags):
    assert [1, 1, 3] in bags
    assert [1, 3, 1] not in bags


def test_invalid_bag_index_raises(bags):
    with pytest.raises(TypeError, match="selected by an integer or a slice"):
        bags[[0, 1]]


def test_n_without_is_read_only(bags):
    with pytest.raises(ValueError, match="read-only"):
        bags.n_without[0] = 7


def test_a_row_outside_the_data_raises(bags):
    with pytest.raises(IndexError, match="Row 4 does not exist, because there are 4 rows"):
        bags.without(4)


def test_no_method_changes_the_bags():
    sequences = [[2, 0], [1, 1], [0], [], [2, 2, 0]]
    bags = Bags(sequences, n_samples=3)
    matrix = bags.to_sparse()
    np.testing.assert_array_equal(matrix.toarray(), bags.inclusion)
    matrix.data[:], matrix.indices[:], matrix.indptr[1:-1] = 7.0, 0, 0
    bags.counts[:], bags.sizes[:], bags.inclusion[:] = 9, 9, True
    bags[0][:] = 1
    assert [bag.tolist() for bag in bags] == sequences
    for name, value in vars(bags).items():
        if isinstance(value, np.ndarray):
            assert not value.flags.writeable, name


def test_unpickled_bags_are_read_only():
    again = pickle.loads(pickle.dumps(Bags([[2, 0], [1, 1]], n_samples=3)))
    with pytest.raises(ValueError, match="read-only"):
        again._rows[0] = 1


def test_compacted_bags_index_their_distinct_rows(seed):
    rng = np.random.default_rng(seed)
    for n in (9, 300, 2**33):
        bags = Bags([rng.integers(0, n, size) for size in (5, 0, 40, 1)], n_samples=n)
        rows, compacted = bags.compacted()
        assert (np.diff(rows) > 0).all()
        assert compacted.n_samples == len(rows)
        assert all(np.array_equal(rows[new], old) for new, old in zip(compacted, bags, strict=True))
    rows, compacted = Bags([[], []], n_samples=5).compacted()
    assert len(rows) == 0
    assert len(compacted) == 2


@pytest.mark.parametrize("sequences", [[[0, 1, 2], [2, 1, 1], [5, 2, 1]], [[0]], [[0, 1], []], [[3, 3], [3], [3, 1]]])
def test_rows_in_every_bag(sequences):
    bags = Bags(sequences, n_samples=6)
    assert bags.in_every_bag().tolist() == np.flatnonzero(bags.inclusion.all(axis=0)).tolist()


def test_bags_of_very_many_rows_need_no_array_of_all_rows():
    bags = Bags([[10**15, 3, 3], [7, 10**15]], n_samples=10**16)
    assert bags.in_every_bag().tolist() == [10**15]
    assert bags.without(3).tolist() == [1]
    assert bags.without(10**15).tolist() == []
    assert bags.with_any(np.array([7, 8])).tolist() == [1]
    rows, ends, numbers = bags.bags_by_row()
    assert (rows.tolist(), ends.tolist(), numbers.tolist()) == ([3, 7, 10**15], [0, 1, 2, 4], [0, 1, 0, 1])


# ----------------------------------------------------------------------------------------------------- patterns of rows


SCHEMES = [Subbagging(3), ClassicalBagging(4), BernoulliSubbagging(0.1), PoissonizedBagging(0.2), Subbagging(0.5)]


@pytest.mark.parametrize("scheme", SCHEMES, ids=str)
@pytest.mark.parametrize("n_bags", [1, 9, 70])
def test_patterns_have_the_bags_of_every_row(scheme, n_bags):
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


def test_rows_in_the_same_bags_share_a_pattern():
    patterns = RowPatterns.of(Bags([[0, 1, 2, 3], [2, 3, 3], [5]], n_samples=8))
    found = [(rows.tolist(), bags.tolist()) for rows, bags in patterns]
    assert found == [([0, 1], [0]), ([5], [2]), ([2, 3], [0, 1])]
    assert patterns.counts.tolist() == [2, 1, 2]


def test_empty_bags_have_no_patterns():
    patterns = RowPatterns.of(Bags([[], []], n_samples=3))
    assert (len(patterns), patterns.n_untouched) == (0, 3)
    assert patterns.places(np.arange(3)).tolist() == [-1, -1, -1]


def test_row_and_bag_numbers_beyond_64_bits_together():
    # 62 bits for the row and 3 for the bag.
    rows = [[2**61 + 3, 5], [5, 2**61 + 3, 5], [1], [2], [9]]
    patterns = RowPatterns.of(Bags(rows, n_samples=2**62))
    found = [(rows.tolist(), bags.tolist()) for rows, bags in patterns]
    assert found == [([1], [2]), ([2], [3]), ([9], [4]), ([5, 2**61 + 3], [0, 1])]
    assert patterns.untouched(4).tolist() == [0, 3, 4, 6]
