"""Drawing matched bags: every row has a random key at every bag, and a bag takes the rows that arrive first."""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from stablebag._seeds import Seeds
from stablebag.resampling.units import RowIds

# ----------------------------------------------------------------------------------------------------------------- keys
# The key of a row at a bag is a uniform 64-bit number that depends only on (random_state, bag, row).
#
# Keys of labels, and of integers below 2**16, are hashes of bag and row. Larger integers are grouped into blocks, from
# one power of two to the next. Within a block, keys can be computed from rows, or rows from keys in increasing order: a
# random permutation (a Feistel network) ranks the integers, and binomial halvings determine how many have a key below
# 1/2, 1/4, 1/8 and so on. Both ways give the same keys, and the faster one is used. So the cost of small bags of very
# many rows depends on the sizes of the bags, and not on the number of rows.

N_KEYS = 2**64
MOST_HASHED = 2**16  # integers below have hashed keys
_ROUNDS = 8  # rounds of the Feistel network
_AT_ONCE = 2**15  # integers of a block computed at the same time, to stay in caches
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


class Part(NamedTuple):
    """Rows with a value each, as flat arrays sorted by bag, and how often they arrived before."""

    bag: np.ndarray
    row: np.ndarray
    value: np.ndarray
    again: int = 0


class RowKeys:
    """The keys of rows at bags.

    Parameters
    ----------
    ids : RowIds
        The row IDs.
    """

    def __init__(self, ids: RowIds) -> None:
        self.n_rows = n = len(ids)
        self._codes: np.ndarray | None = None  # input of the hashes; None if row IDs are 0, 1, 2, ...
        self._blocks: list[_Block] = []
        if ids.is_counted:
            self._hashed_rows = np.arange(min(n, MOST_HASHED))
            self._blocks += [_Counted(bits, n) for bits in range(MOST_HASHED.bit_length() - 1, (n - 1).bit_length())]
        else:
            codes, numbers = ids.codes, ids.number_rows
            large = numbers[codes[numbers] >= np.uint64(MOST_HASHED)]
            bits = _bit_lengths(codes[large]) - 1
            self._blocks += [_Listed(int(b), large[bits == b], codes[large[bits == b]]) for b in np.unique(bits)]
            self._hashed_rows = np.setdiff1d(np.arange(n), large)
            self._codes = codes.copy()  # the code of a label is its hash
            self._codes[numbers] *= _GOLDEN
        self._hashed_codes = self.codes(self._hashed_rows)

    @property
    def n_hashed(self) -> int:
        """The number of rows with hashed keys."""
        return len(self._hashed_rows)

    def codes(self, rows: np.ndarray) -> np.ndarray:
        """Return the numbers that are hashed for these rows."""
        return rows.astype(np.uint64) * _GOLDEN if self._codes is None else self._codes[rows]

    def matrix(self, words: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
        """Return all rows and their keys at each bag as matrices, or None if not all keys are hashed."""
        if self._blocks:
            return None
        keys = hashed(self._hashed_codes, words[:, None, :2])
        return np.broadcast_to(self._hashed_rows, keys.shape), keys

    def below(self, threshold: int, seeds: Seeds, first: int, words: np.ndarray) -> Iterator[Part]:
        """Yield the rows with keys below a threshold, at the bags from `first` on, one for each of `words`."""
        if threshold == 0:
            return
        keys = hashed(self._hashed_codes, words[:, None, :2])
        flat = np.flatnonzero(keys <= np.uint64(threshold - 1))
        bag, place = np.divmod(flat, max(1, keys.shape[1]))
        yield Part(bag, self._hashed_rows[place], keys.ravel()[flat])
        for block in self._blocks:
            found = [block.below(threshold, seeds, first + place, words[place]) for place in range(len(words))]
            bag = np.repeat(np.arange(len(words)), [len(rows) for rows, _ in found])
            rows, small = (np.concatenate(parts) for parts in zip(*found, strict=True))
            yield Part(bag, rows, small)


class _Block(ABC):
    """The integers from 2**bits to 2**(bits + 1) - 1; some of them are row IDs."""

    n_rows: int

    def __init__(self, bits: int) -> None:
        self.bits, self.start = bits, 1 << bits

    @abstractmethod
    def present(self, numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return which of these integers are row IDs, and the positions of these rows."""

    @abstractmethod
    def some(self, places: slice) -> tuple[np.ndarray, np.ndarray]:
        """Return the IDs of some rows of the block, and their positions."""

    def below(self, threshold: int, seeds: Seeds, bag: int, words: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows whose key at a bag is below a threshold, and their keys."""
        round_keys, generator = seeds.block_generator(bag, self.bits, _ROUNDS)
        counts = [self.start]  # how many integers have keys below 1, 1/2, 1/4, ...
        while counts[-1] and len(counts) <= 64:
            counts.append(int(generator.binomial(counts[-1], 0.5)))
        n_smallest = counts[min(64 - (threshold - 1).bit_length(), len(counts) - 1)]
        found = self._from_ranks if n_smallest <= self.n_rows else self._from_rows
        parts = [(np.empty(0, np.int64), np.empty(0, np.uint64))]
        for ranks, numbers, positions in found(n_smallest, round_keys):
            keys = _keys_of_ranks(ranks, counts, hashed(numbers * _GOLDEN, words[:2]))
            small = keys <= np.uint64(threshold - 1)
            parts.append((positions[small], keys[small]))
        positions, keys = (np.concatenate(part) for part in zip(*parts, strict=True))
        return positions, keys

    def _from_ranks(self, n_smallest: int, round_keys: np.ndarray) -> Iterator[tuple[np.ndarray, ...]]:
        for first in range(0, n_smallest, _AT_ONCE):
            ranks = np.arange(first, min(first + _AT_ONCE, n_smallest), dtype=np.uint64)
            numbers = permuted(ranks, self.bits, round_keys, backwards=True) + np.uint64(self.start)
            there, positions = self.present(numbers)
            yield ranks[there], numbers[there], positions

    def _from_rows(self, n_smallest: int, round_keys: np.ndarray) -> Iterator[tuple[np.ndarray, ...]]:
        for first in range(0, self.n_rows, _AT_ONCE):
            numbers, positions = self.some(slice(first, min(first + _AT_ONCE, self.n_rows)))
            ranks = permuted(numbers - np.uint64(self.start), self.bits, round_keys)
            small = ranks < np.uint64(n_smallest)
            yield ranks[small], numbers[small], positions[small]


class _Counted(_Block):
    """A block of rows whose IDs are their positions."""

    def __init__(self, bits: int, n: int) -> None:
        super().__init__(bits)
        self.stop = min(n, 2 << bits)
        self.n_rows = self.stop - self.start

    def present(self, numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        there = numbers < np.uint64(self.stop)
        return there, numbers[there].astype(np.int64)

    def some(self, places: slice) -> tuple[np.ndarray, np.ndarray]:
        positions = np.arange(self.start + places.start, self.start + places.stop)
        return positions.astype(np.uint64), positions


class _Listed(_Block):
    """A block of rows whose IDs are given as a list."""

    def __init__(self, bits: int, positions: np.ndarray, numbers: np.ndarray) -> None:
        super().__init__(bits)
        order = np.argsort(numbers)
        self.positions, self.numbers, self.n_rows = positions[order], numbers[order], len(numbers)

    def present(self, numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        place = np.minimum(np.searchsorted(self.numbers, numbers), self.n_rows - 1)
        there = self.numbers[place] == numbers
        return there, self.positions[place[there]]

    def some(self, places: slice) -> tuple[np.ndarray, np.ndarray]:
        return self.numbers[places], self.positions[places]


def threshold_of(share: Fraction | float) -> int:
    """Return the number that a key is below with this probability."""
    return min(N_KEYS, math.floor(Fraction(share) * N_KEYS))


def hashed(codes: np.ndarray, words: np.ndarray) -> np.ndarray:
    """Return a 64-bit hash of numbers and of two words, which are the last axis of `words`."""
    return _mixed(_mixed(codes + words[..., 0]) + words[..., 1])


def permuted(values: np.ndarray, bits: int, round_keys: np.ndarray, *, backwards: bool = False) -> np.ndarray:
    """Return a random permutation of the integers with this many bits: a Feistel network with a hash in every round."""
    low = bits // 2
    halves, widths = [values >> np.uint64(low), values & np.uint64((1 << low) - 1)], [bits - low, low]
    rounds = list(enumerate(round_keys))
    for number, key in reversed(rounds) if backwards else rounds:
        one, other = number % 2, 1 - number % 2
        halves[one] = halves[one] ^ (_mixed((halves[other] + key) * _GOLDEN) >> np.uint64(64 - widths[one]))
    return (halves[0] << np.uint64(low)) | halves[1]


def _keys_of_ranks(ranks: np.ndarray, counts: list[int], noise: np.ndarray) -> np.ndarray:
    """Return keys by ranks: keys of ranks below counts[g] are below 2**(64 - g), and uniform there."""
    ascending = np.array(counts[:0:-1], dtype=np.uint64)
    halvings = len(ascending) - np.searchsorted(ascending, ranks, side="right")
    leading = np.array([*(1 << np.arange(63, -1, -1, dtype=np.uint64)), 0], dtype=np.uint64)[halvings]
    below = np.where(leading > 0, leading - np.uint64(1), np.uint64(0))
    return leading | (noise & below)


def _mixed(x: np.ndarray) -> np.ndarray:
    """Mix the bits of an array, in place: the finalizer of SplitMix64 (Steele, Lea and Flood 2014)."""
    x ^= x >> np.uint64(30)
    x *= np.uint64(0xBF58476D1CE4E5B9)
    x ^= x >> np.uint64(27)
    x *= np.uint64(0x94D049BB133111EB)
    x ^= x >> np.uint64(31)
    return x


def _bit_lengths(numbers: np.ndarray) -> np.ndarray:
    """Return the bit lengths of integers."""
    lengths = np.zeros(len(numbers), dtype=np.int64)
    rest = numbers.copy()
    while rest.any():
        lengths += rest > 0
        rest >>= np.uint64(1)
    return lengths


# ------------------------------------------------------------------------------------------------------------- arrivals
# Matched bags: rows arrive at a bag at random times that depend only on (random_state, bag, row).
#
# The arrivals of each row at each bag are a Poisson process of rate one, independent of all others. A scheme takes the
# first rows to arrive, or those that arrive before some time. If a row is removed, only its own arrivals vanish, so
# bags without it do not change.

_BATCH = 2**18  # keys computed at the same time, to stay in caches
# Odd numbers that make hashes for different purposes differ.
_ARRIVALS, _ORDER, _BAG = 0xA0761D6478BD642F, 0xD1342543DE82EF95, 0x5851F42D4C957F2D


@dataclass(frozen=True)
class Picked:
    """The rows that some bags take, one line per bag, padded on the right.

    Attributes
    ----------
    rows : ndarray of int, shape (n_bags, largest size)
        The positions of the rows.
    sizes : ndarray of int, shape (n_bags,)
        The number of valid rows in each line.
    again : ndarray of int like `rows`, or None, default=None
        How often the same bag took each row before; None if no row is taken twice.
    """

    rows: np.ndarray
    sizes: np.ndarray
    again: np.ndarray | None = None


class Arrivals:
    """The times at which rows arrive at some bags.

    Parameters
    ----------
    keys : RowKeys
        The keys of the rows, which determine all times.
    seeds : Seeds
        The source of randomness.
    first : int
        The number of the first bag.
    stop : int
        The number of the last bag, plus one.
    """

    def __init__(self, keys: RowKeys, seeds: Seeds, first: int, stop: int) -> None:
        self.n_rows, self.n_bags = keys.n_rows, stop - first
        self._keys, self._seeds, self._first = keys, seeds, first
        self._words = seeds.bag_words(first, stop)

    # ------------------------------------------------------------------------------------------------------ for schemes

    def first_rows(self, size: int) -> Picked:
        """Return the `size` rows that arrive first at each bag: a uniform choice of `size` distinct rows.

        Parameters
        ----------
        size : int
            The number of rows, at most all.

        Returns
        -------
        Picked
        """
        share = (size + 6 * math.sqrt(size) + 20) / self.n_rows
        all_of_them = self._keys.matrix(self._words) if 4 * share > 1 else None
        if all_of_them is not None:
            return Picked(_smallest(*all_of_them, size)[0], np.full(self.n_bags, size))
        while True:
            table = _Table.of(self._below(threshold_of(min(share, 1.0))), self.n_bags)
            if table.sizes.min() >= size:
                return Picked(_smallest(table.rows, table.values, size)[0], np.full(self.n_bags, size))
            share *= 1.5  # rarely, some bag has too few rows, and more keys are needed

    def first_rows_of_each(self, codes: np.ndarray, sizes: np.ndarray) -> Picked:
        """Return the rows of each part that arrive first at each bag: a uniform choice in every part.

        Parameters
        ----------
        codes : ndarray of int, shape (n_rows,)
            The part of each row.
        sizes : ndarray of int, shape (n_parts,)
            The number of rows to take of each part, at least one and at most all.

        Returns
        -------
        Picked
        """
        total, in_all = np.full(self.n_bags, sizes.sum()), np.bincount(codes, minlength=len(sizes))
        share = float(np.max((sizes + 6 * np.sqrt(sizes) + 20) / in_all))
        all_of_them = self._keys.matrix(self._words) if 4 * share > 1 else None
        if all_of_them is not None:
            members = np.split(np.argsort(codes, kind="stable"), np.cumsum(in_all)[:-1])
            lines = (np.broadcast_to(rows, (self.n_bags, len(rows))) for rows in members)
            chosen = [
                _smallest(rows, all_of_them[1][:, part], size)[0]
                for rows, part, size in zip(lines, members, sizes.tolist(), strict=True)
            ]
            return Picked(np.concatenate(chosen, axis=1), total)
        while True:
            table = _Table.of(self._below(threshold_of(min(share, 1.0))), self.n_bags)
            part = codes[table.rows]
            part[np.arange(part.shape[1]) >= table.sizes[:, None]] = len(sizes)  # padding
            cells = part + np.arange(self.n_bags)[:, None] * (len(sizes) + 1)
            there = np.bincount(cells.ravel(), minlength=self.n_bags * (len(sizes) + 1))
            there = there.reshape(self.n_bags, -1)[:, :-1]
            if (there >= sizes).all():
                order = np.lexsort((table.values, part), axis=1)
                first = np.cumsum(there, axis=1) - there
                place = np.repeat(first, sizes, axis=1) + np.concatenate([np.arange(size) for size in sizes])
                chosen_rows = np.take_along_axis(table.rows, np.take_along_axis(order, place, axis=1), axis=1)
                return Picked(chosen_rows, total)
            share *= 1.5

    def of(self, keys: RowKeys) -> "Arrivals":
        """Return the arrivals of other items at the same bags, such as clusters of rows.

        Parameters
        ----------
        keys : RowKeys
            The keys of these items.

        Returns
        -------
        Arrivals
        """
        return Arrivals(keys, self._seeds, self._first, self._first + self.n_bags)

    def rows_within(self, share: Fraction | float) -> Picked:
        """Return each row independently with probability `share`.

        Parameters
        ----------
        share : float
            The probability.

        Returns
        -------
        Picked
        """
        table = _Table.of(self._below(threshold_of(share)), self.n_bags)
        return Picked(table.rows, table.sizes)

    def first_arrivals(self, size: int) -> Picked:
        """Return the first `size` arrivals at each bag, of any rows: uniform draws with replacement.

        Parameters
        ----------
        size : int
            The number of arrivals.

        Returns
        -------
        Picked
        """
        horizon = (size + 6 * math.sqrt(size) + 20) / self.n_rows
        while True:
            table = self._until(horizon)
            if table.sizes.min() >= size:
                rows, again = _smallest(table.rows, table.values, size, table.again)
                return Picked(rows, np.full(self.n_bags, size), again)
            horizon *= 1.5

    def arrivals_within(self, time: Fraction | float) -> Picked:
        """Return all arrivals before a time: a Poisson number for each row, whose mean is the time.

        Parameters
        ----------
        time : float
            The time.

        Returns
        -------
        Picked
        """
        table = self._until(float(time))
        return Picked(table.rows, table.sizes, table.again)

    def uniforms(self) -> np.ndarray:
        """Return a uniform number in [0, 1) for each bag, independent of the rows."""
        return hashed(np.full(self.n_bags, _BAG, dtype=np.uint64), self._words[:, 2:]) / float(N_KEYS)

    # --------------------------------------------------------------------------------------------------------- order

    def in_order(self, picked: Picked) -> tuple[np.ndarray, np.ndarray]:
        """Shuffle the rows of each bag; return the concatenated rows and the bag sizes.

        The order depends on a number for each (bag, row), and not on the other rows in the bag.

        Parameters
        ----------
        picked : Picked
            The rows of each bag.

        Returns
        -------
        rows : ndarray of int
        sizes : ndarray of int
        """
        codes = self._keys.codes(picked.rows)
        if picked.again is not None:
            codes = codes + picked.again.astype(np.uint64) * np.uint64(_ORDER)
        keys = hashed(codes, self._words[:, None, 2:])
        width = picked.rows.shape[1]
        if (picked.sizes == width).all():
            return np.take_along_axis(picked.rows, np.argsort(keys, axis=1), axis=1).flatten(), picked.sizes
        counts = np.arange(width) < picked.sizes[:, None]
        keys[~counts] = N_KEYS - 1  # sorts padding to the right
        return np.take_along_axis(picked.rows, np.argsort(keys, axis=1), axis=1)[counts], picked.sizes

    # ------------------------------------------------------------------------------------------------------ the times

    def _below(self, threshold: int) -> list[Part]:
        return list(self._keys.below(threshold, self._seeds, self._first, self._words))

    def _until(self, horizon: float) -> "_Table":
        """Return all arrivals up to a time, with their times."""
        # A few more keys, so that rounding errors lose none.
        threshold = min(N_KEYS, threshold_of(-math.expm1(-horizon)) + 2**14)
        parts = []
        for part in self._below(threshold):
            bag, row, time, again = part.bag, part.row, _exponential(part.value), 0
            while len(soon := np.flatnonzero(time <= horizon)):
                bag, row, time = bag[soon], row[soon], time[soon]
                parts.append(Part(bag, row, time, again))
                again += 1
                codes = self._keys.codes(row) + np.array([again * _ARRIVALS % N_KEYS], dtype=np.uint64)
                time = time + _exponential(hashed(codes, self._words[bag, :2]))
        return _Table.of(parts, self.n_bags, counted=True)


def batches(ids: RowIds, seeds: Seeds, first: int, stop: int, bag_size: float) -> Iterator[Arrivals]:
    """Yield the arrivals at many bags of about this size, in batches that stay in caches."""
    keys = RowKeys(ids)
    step = max(1, int(_BATCH / max(keys.n_hashed, bag_size)))
    for start in range(first, stop, step):
        yield Arrivals(keys, seeds, start, min(start + step, stop))


@dataclass(frozen=True)
class _Table:
    """Rows with a value each, one line per bag, padded on the right with the largest value."""

    rows: np.ndarray
    values: np.ndarray
    sizes: np.ndarray
    again: np.ndarray | None = None

    @classmethod
    def of(cls, parts: list[Part], n_bags: int, *, counted: bool = False) -> "_Table":
        """Combine parts; `counted` keeps how often each row arrived before."""
        more = [np.bincount(part.bag, minlength=n_bags) for part in parts]
        sizes = sum(more, start=np.zeros(n_bags, dtype=np.int64))
        shape = n_bags, int(sizes.max(initial=0))
        rows, again = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64) if counted else None
        values = np.full(shape, math.inf) if counted else np.full(shape, N_KEYS - 1, dtype=np.uint64)
        taken = np.zeros(n_bags, dtype=np.int64)
        for part, n_new in zip(parts, more, strict=True):
            first = np.arange(n_bags) * shape[1] + taken - np.concatenate([[0], np.cumsum(n_new)[:-1]])
            place = np.arange(len(part.row)) + np.repeat(first, n_new)
            rows.ravel()[place], values.ravel()[place] = part.row, part.value
            if again is not None and part.again:
                again.ravel()[place] = part.again
            taken += n_new
        return cls(rows, values, sizes, again)


def _smallest(
    rows: np.ndarray, values: np.ndarray, size: int, again: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray | None]:
    """Return the rows of the `size` smallest values of each line, and how often each arrived before."""
    if size == rows.shape[1]:
        return rows, again
    last = np.partition(values, size - 1, axis=1)[:, size - 1 : size]
    if (small := values <= last).sum() == size * len(values):  # there are no ties
        return rows[small].reshape(-1, size), None if again is None else again[small].reshape(-1, size)
    chosen = np.argpartition(values, size - 1, axis=1)[:, :size]
    before = None if again is None else np.take_along_axis(again, chosen, axis=1)
    return np.take_along_axis(rows, chosen, axis=1), before


def _exponential(keys: np.ndarray) -> np.ndarray:
    """Return exponential times from keys; smaller keys are earlier."""
    time: np.ndarray = -np.log1p(-np.minimum((keys.astype(float) + 0.5) / N_KEYS, 1 - 2**-53))
    return time
