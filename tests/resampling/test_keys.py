from fractions import Fraction

import numpy as np
import pytest

from stablebag._seeds import Seeds
from stablebag.resampling import drawing as keys
from stablebag.resampling.drawing import MOST_HASHED, N_KEYS, RowKeys, hashed, permuted, threshold_of
from stablebag.resampling.units import RowIds


def keys_below(ids, threshold, seed=0, first=0, n_bags=3):
    """The rows with keys below a threshold, as {(bag, name): key}."""
    ids = ids if isinstance(ids, RowIds) else RowIds(ids, len(ids))
    names = range(len(ids)) if ids.is_counted else ids.names.tolist()
    seeds, found = Seeds(seed), {}
    for part in RowKeys(ids).below(threshold, seeds, first, seeds.bag_words(first, first + n_bags)):
        assert (np.diff(part.bag) >= 0).all()  # as the next step takes for granted
        for bag, row, value in zip(part.bag.tolist(), part.row.tolist(), part.value.tolist(), strict=True):
            assert (first + bag, names[row]) not in found
            found[first + bag, names[row]] = value
    return found


@pytest.mark.parametrize("bits", [16, 17, 25, 61])
def test_a_permutation_is_undone_by_going_backwards(bits):
    round_keys, _ = Seeds(5).block_generator(0, bits, 8)
    some = np.random.default_rng(bits).integers(0, 1 << bits, 1000, dtype=np.uint64)
    there = permuted(some, bits, round_keys)
    assert (there < np.uint64(1 << bits)).all()
    np.testing.assert_array_equal(permuted(there, bits, round_keys, backwards=True), some)
    np.testing.assert_array_equal(permuted(permuted(some, bits, round_keys, backwards=True), bits, round_keys), some)


@pytest.mark.parametrize("bits", [16, 17])
def test_a_permutation_takes_every_number_once_and_hangs_on_its_keys(bits):
    everything = np.arange(1 << bits, dtype=np.uint64)
    shuffled = [permuted(everything, bits, Seeds(seed).block_generator(0, bits, 8)[0]) for seed in (0, 1)]
    for one in shuffled:
        np.testing.assert_array_equal(np.sort(one), everything)
    # Two random permutations agree about once, and a Poisson(1) number exceeds 20 with a chance of 1e-20.
    assert np.sum(shuffled[0] == shuffled[1]) <= 20
    assert np.sum(shuffled[0] == everything) <= 20


def blocks():
    some = np.sort(np.random.default_rng(0).choice(1 << 17, 5000, replace=False)) + (1 << 17)
    yield keys._Counted(16, 100_000)
    yield keys._Listed(17, np.arange(5000)[::-1], some.astype(np.uint64))


@pytest.mark.parametrize("block", list(blocks()), ids=["counted", "listed"])
@pytest.mark.parametrize("n_smallest", [0, 1, 700, 60_000])
def test_a_key_found_from_the_row_is_the_key_found_from_the_smallest_on(block, n_smallest):
    round_keys, _ = Seeds(3).block_generator(7, block.bits, 8)
    found = []
    for way in (block._from_ranks, block._from_rows):
        parts = list(way(n_smallest, round_keys))
        found.append({line for part in parts for line in zip(*(one.tolist() for one in part), strict=True)})
    assert found[0] == found[1]
    present = dict(zip(*(part.tolist() for part in block.some(slice(0, block.n_rows))), strict=True))
    assert all(present[number] == position for _, number, position in found[0])
    assert len(found[0]) <= n_smallest
    if n_smallest > 10_000:
        assert found[0]


def test_whichever_way_is_taken_the_rows_below_are_the_same(monkeypatch):
    ids, threshold = RowIds(None, 70_000), threshold_of(0.3)
    found = keys_below(ids, threshold, n_bags=2)
    for name, other in (("_from_ranks", "_from_rows"), ("_from_rows", "_from_ranks")):
        with monkeypatch.context() as patch:
            patch.setattr(keys._Block, name, getattr(keys._Block, other))
            assert keys_below(ids, threshold, n_bags=2) == found


def test_keys_of_ranks_worked_by_hand():
    # Of four numbers two are below one half, and one of these below one quarter but none below one eighth.
    noise = np.full(4, 2**64 - 1, dtype=np.uint64)
    found = keys._keys_of_ranks(np.arange(4, dtype=np.uint64), [4, 2, 1, 0], noise)
    assert found.tolist() == [2**62 - 1, 2**63 - 1, 2**64 - 1, 2**64 - 1]
    found = keys._keys_of_ranks(np.arange(4, dtype=np.uint64), [4, 2, 1, 0], np.zeros(4, dtype=np.uint64))
    assert found.tolist() == [2**61, 2**62, 2**63, 2**63]


def test_a_rank_below_all_halvings_has_the_smallest_key():
    counts = [1] * 65  # one number that was in the lower half 64 times
    assert keys._keys_of_ranks(np.zeros(1, dtype=np.uint64), counts, np.full(1, 99, dtype=np.uint64)).tolist() == [0]


def test_thresholds_are_shares_of_all_keys():
    assert threshold_of(0) == 0
    assert threshold_of(1) == threshold_of(1.0) == N_KEYS
    assert threshold_of(Fraction(1, 2)) == 2**63
    assert threshold_of(Fraction(1, 3)) == (2**64 - 1) // 3


def test_a_threshold_is_exact():
    names = [3, 70_000, 2**40 + 1, 12]
    everything = keys_below(names, N_KEYS)
    assert len(everything) == 3 * 4
    for value in everything.values():
        at, above = keys_below(names, value), keys_below(names, value + 1)
        assert at == {where: key for where, key in everything.items() if key < value}
        assert above == {where: key for where, key in everything.items() if key <= value}
    assert keys_below(names, 0) == {}


@pytest.mark.parametrize("share", [1e-4, 0.01, 0.5, 1.0])
def test_a_key_hangs_on_seed_bag_and_name_alone(share):
    threshold = threshold_of(share)
    counted = keys_below(RowIds(None, 70_000), threshold, n_bags=2)
    rest = np.random.default_rng(0).permutation(np.delete(np.arange(70_000), [0, 5, 65_535, 65_536, 69_999]))
    listed = keys_below(rest, threshold, n_bags=2)
    gone = {0, 5, 65_535, 65_536, 69_999}
    assert listed == {where: key for where, key in counted.items() if where[1] not in gone}
    later = keys_below(rest[:20], threshold, first=1, n_bags=1)
    few = set(rest[:20].tolist())
    assert later == {where: key for where, key in counted.items() if where[0] == 1 and where[1] in few}
    assert keys_below(rest[:20], N_KEYS, seed=1) != keys_below(rest[:20], N_KEYS, seed=0)


@pytest.mark.parametrize("n", [MOST_HASHED - 1, MOST_HASHED, MOST_HASHED + 1, 2 * MOST_HASHED, 2 * MOST_HASHED + 1])
def test_every_row_has_a_key_wherever_blocks_begin(n):
    part_rows = [part.row for part in RowKeys(RowIds(None, n)).below(N_KEYS, Seeds(0), 0, Seeds(0).bag_words(0, 1))]
    np.testing.assert_array_equal(np.sort(np.concatenate(part_rows)), np.arange(n))


def test_all_keys_at_once_are_given_only_if_all_are_hashed():
    words = Seeds(0).bag_words(0, 2)
    rows, values = RowKeys(RowIds([7, 3], 2)).matrix(words)
    assert rows.tolist() == [[0, 1], [0, 1]]
    found = keys_below([7, 3], N_KEYS, n_bags=2)
    assert values.tolist() == [[found[bag, 7], found[bag, 3]] for bag in (0, 1)]
    assert RowKeys(RowIds([7, 70_000], 2)).matrix(words) is None
    assert RowKeys(RowIds(None, MOST_HASHED + 1)).matrix(words) is None
    assert RowKeys(RowIds(["a", "b"], 2)).matrix(words) is not None


def test_hashes_hang_on_both_words_and_on_the_number():
    code, words = np.array([7], dtype=np.uint64), Seeds(0).bag_words(0, 1)[0, :2]
    before = hashed(code, words)[0]
    for bit in range(64):
        flip = np.uint64(1 << bit)
        for other in (hashed(code ^ flip, words), hashed(code, words ^ np.array([flip, 0], dtype=np.uint64)),
                      hashed(code, words ^ np.array([0, flip], dtype=np.uint64))):  # fmt: skip
            assert 8 <= int(before ^ other[0]).bit_count() <= 56  # of 64 fair coins: outside with a chance of 1e-9


def test_bit_lengths_are_those_of_python():
    numbers = [0, 1, 2, 3, 2**16 - 1, 2**16, 2**61, 2**62 - 1]
    assert keys._bit_lengths(np.array(numbers, dtype=np.uint64)).tolist() == [k.bit_length() for k in numbers]


def test_small_thresholds_of_very_many_rows_take_no_time_per_row():
    # 10**12 rows: anything that walked them all would not end.
    found = keys_below(RowIds(None, 10**12), threshold_of(50 / 10**12), n_bags=4)
    assert 50 < len(found) < 400  # Poisson(200): outside with a chance below 1e-30
    assert all(0 <= row < 10**12 for _, row in found)
