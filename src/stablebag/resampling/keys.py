"""The key of a row at a bag: a uniform number of 64 bits that depends on (random_state, bag, row) alone.

Keys of labels, and of whole numbers below 2**16, are hashes of bag and row. Larger whole numbers are grouped in blocks,
from one power of two to the next, in which keys are found both ways: from a row, or from the smallest key on. A random
permutation (a Feistel network) ranks the numbers of a block, and binomial halvings say how many of them have a key
below 1/2, 1/4, 1/8 and so on. Which way is taken is a matter of speed and changes nothing. So small bags of very many
rows cost as much as they are long.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from stablebag._seeds import Seeds
from stablebag.resampling.row_ids import RowIds

N_KEYS = 2**64
MOST_HASHED = 2**16  # whole numbers below have hashed keys
_ROUNDS = 8  # of the Feistel network
_AT_ONCE = 2**15  # numbers of a block that are worked out at once: what fits into caches
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


class Part(NamedTuple):
    """Rows with a value each, as flat arrays sorted by bag, and how often they came before."""

    bag: np.ndarray
    row: np.ndarray
    value: np.ndarray
    again: int = 0


class RowKeys:
    """The keys of rows at bags.

    Parameters
    ----------
    ids : RowIds
        The names of the rows.
    """

    def __init__(self, ids: RowIds) -> None:
        self.n_rows = n = len(ids)
        self._codes: np.ndarray | None = None  # from which hashes are made; None where rows are counted
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
            self._codes = codes.copy()  # of a label, its hash
            self._codes[numbers] *= _GOLDEN
        self._hashed_codes = self.codes(self._hashed_rows)

    @property
    def n_hashed(self) -> int:
        """How many rows have hashed keys."""
        return len(self._hashed_rows)

    def codes(self, rows: np.ndarray) -> np.ndarray:
        """Return the numbers from which hashes of these rows are made."""
        return rows.astype(np.uint64) * _GOLDEN if self._codes is None else self._codes[rows]

    def matrix(self, words: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
        """Return all rows and their keys at each bag, as matrices, if all are hashed."""
        if self._blocks:
            return None
        keys = hashed(self._hashed_codes, words[:, None, :2])
        return np.broadcast_to(self._hashed_rows, keys.shape), keys

    def below(self, threshold: int, seeds: Seeds, first: int, words: np.ndarray) -> Iterator[Part]:
        """Yield the rows with keys below a threshold, at as many bags as there are `words`, from bag `first` on."""
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
    """The whole numbers from 2**bits to 2**(bits + 1) - 1, of which some are rows."""

    n_rows: int

    def __init__(self, bits: int) -> None:
        self.bits, self.start = bits, 1 << bits

    @abstractmethod
    def present(self, numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Which of these numbers are rows, and the positions of those."""

    @abstractmethod
    def some(self, places: slice) -> tuple[np.ndarray, np.ndarray]:
        """The numbers of some rows of the block, and their positions."""

    def below(self, threshold: int, seeds: Seeds, bag: int, words: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The rows whose key at a bag is below a threshold, and their keys."""
        round_keys, generator = seeds.block_generator(bag, self.bits, _ROUNDS)
        counts = [self.start]  # of numbers with keys below 1, 1/2, 1/4, ...
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
    """A block of rows that are counted: all numbers below n are rows, at their own positions."""

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
    """A block of rows that are listed."""

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
    """Return the number below which a key is with this probability."""
    return min(N_KEYS, math.floor(Fraction(share) * N_KEYS))


def hashed(codes: np.ndarray, words: np.ndarray) -> np.ndarray:
    """Return a hash of 64 bits of numbers and of two words, which are the last axis of `words`."""
    return _mixed(_mixed(codes + words[..., 0]) + words[..., 1])


def permuted(values: np.ndarray, bits: int, round_keys: np.ndarray, *, backwards: bool = False) -> np.ndarray:
    """Return a random permutation of the numbers of so many bits: a Feistel network with a hash in every round."""
    low = bits // 2
    halves, widths = [values >> np.uint64(low), values & np.uint64((1 << low) - 1)], [bits - low, low]
    rounds = list(enumerate(round_keys))
    for number, key in reversed(rounds) if backwards else rounds:
        one, other = number % 2, 1 - number % 2
        halves[one] = halves[one] ^ (_mixed((halves[other] + key) * _GOLDEN) >> np.uint64(64 - widths[one]))
    return (halves[0] << np.uint64(low)) | halves[1]


def _keys_of_ranks(ranks: np.ndarray, counts: list[int], noise: np.ndarray) -> np.ndarray:
    """Keys of numbers by their ranks: those of ranks below counts[g] are below 2**(64 - g), and uniform there."""
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
    """How many bits whole numbers have."""
    lengths = np.zeros(len(numbers), dtype=np.int64)
    rest = numbers.copy()
    while rest.any():
        lengths += rest > 0
        rest >>= np.uint64(1)
    return lengths
