"""Bags: drawn sequences of row numbers, with order and repeats, and which rows are in which bags."""

import hashlib
import reprlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, TypeAlias, overload

import numpy as np
from scipy import sparse

from stablebag._checks import as_array, check_integer, read_only, refuse_type, shown
from stablebag._wording import ROWS, Noun

# ----------------------------------------------------------------------------------------------------------------- bags

Probability: TypeAlias = Fraction | float
WeightedBag: TypeAlias = tuple[tuple[int, ...], Probability]

_BLOCK_BYTES = 2**26
_MOST_HASHED = 2**22


class Bags:
    """One sequence of row numbers per bag, over the training rows 0, ..., `n_samples` - 1.

    ``bags[b]`` is the sequence of bag b as it was drawn; a slice returns `Bags`. Rows are stored in the smallest
    integer type that fits, and the inclusion matrix is bit-packed or sparse, whichever is smaller.

    Parameters
    ----------
    sequences : iterable of array-like of int
        The rows of each bag, in order and with repeats. A bag may be empty.
    n_samples : int
        The number of training rows.

    Examples
    --------
    >>> bags = Bags([[2, 0], [1, 1], []], n_samples=3)
    >>> bags
    Bags of 3 training rows: 3 bags with 0 to 2 rows
    >>> bags[0]
    array([2, 0])
    >>> bags.inclusion.astype(int)
    array([[1, 0, 1],
           [0, 1, 0],
           [0, 0, 0]])
    >>> bags.without(0)
    array([1, 2])
    """

    _noun = ROWS

    def __init__(self, sequences: Iterable[Any], n_samples: int) -> None:
        self.n_samples = check_integer(n_samples, "n_samples", "Bags", minimum=1)
        chunks, sizes = [np.empty(0, np.min_scalar_type(self.n_samples - 1))], [0]
        for first, chunk in _chunks(sequences):
            sizes.extend(len(rows) for rows in chunk)
            chunks.append(_checked(chunk, first, self.n_samples).astype(chunks[0].dtype))
        self._hold(np.concatenate(chunks), np.cumsum(sizes, dtype=np.int64))

    @classmethod
    def from_flat(cls, rows: np.ndarray, ends: np.ndarray, n_samples: int) -> "Bags":
        """Return bags from their concatenated rows and the end of each bag, unchecked.

        Parameters
        ----------
        rows : ndarray of int
            The rows of all bags.
        ends : ndarray of int, shape (n_bags + 1,)
            Zero, followed by the end of each bag in `rows`.
        n_samples : int
            The number of training rows.

        Returns
        -------
        Bags
        """
        bags = cls.__new__(cls)
        bags.n_samples = n_samples
        bags._hold(rows, ends)
        return bags

    def called(self, noun: Noun) -> "Bags":
        """Return the same bags with another noun, for example groups instead of rows."""
        bags = Bags.from_flat(self._rows, self._ends, self.n_samples)
        bags._noun = noun
        return bags

    def _hold(self, rows: np.ndarray, ends: np.ndarray) -> None:
        """Store the concatenated rows and the ends of the bags, read-only."""
        self._rows, self._ends = read_only(rows), read_only(ends)

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore a pickled state; pickling loses the read-only flags of arrays."""
        self.__dict__.update(state)
        self._hold(self._rows, self._ends)

    def __len__(self) -> int:
        return len(self._ends) - 1

    @overload
    def __getitem__(self, number: int) -> np.ndarray: ...
    @overload
    def __getitem__(self, number: slice) -> "Bags": ...
    def __getitem__(self, number: int | slice) -> "np.ndarray | Bags":
        if isinstance(number, slice):
            first, stop, step = number.indices(len(self))
            if step != 1:
                return Bags([self[b] for b in range(first, stop, step)], self.n_samples).called(self._noun)
            ends = self._ends[first : max(stop, first) + 1]
            some = Bags.from_flat(self._rows[ends[0] : ends[-1]], ends - ends[0], self.n_samples)
            return some.called(self._noun)
        if not isinstance(number, int | np.integer):
            raise TypeError(f"A bag is selected by an integer or a slice. Got {reprlib.repr(number)}.")
        if not -len(self) <= number < len(self):
            raise IndexError(f"Bag {number} does not exist, because there are {len(self)} bags.")
        number = number % len(self)
        # A copy, so that no caller can change the bag, in the integer type that every library accepts as an index.
        return self._rows[self._ends[number] : self._ends[number + 1]].astype(np.intp)

    def __iter__(self) -> Iterator[np.ndarray]:
        return (self[number] for number in range(len(self)))

    def __contains__(self, rows: Any) -> bool:
        return any(np.array_equal(bag, rows) for bag in self)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Bags):
            return NotImplemented
        same_shape = self.n_samples == other.n_samples and np.array_equal(self._ends, other._ends)
        return same_shape and np.array_equal(self._rows, other._rows)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        low, high = (int(self.sizes.min()), int(self.sizes.max())) if len(self) else (0, 0)
        size = f"{low:,}" if low == high else f"{low:,} to {high:,}"
        bags = "1 bag" if len(self) == 1 else f"{len(self):,} bags"
        things = self._noun.plural if self._noun != ROWS else "training rows"
        return f"Bags of {self.n_samples:,} {things}: {bags} with {size} {self._noun.plural}"

    def take(self, numbers: np.ndarray) -> "Bags":
        """Return some of the bags, in this order."""
        sizes = self.sizes[numbers]
        ends = np.concatenate([[0], np.cumsum(sizes)])
        places = np.arange(ends[-1]) + np.repeat(self._ends[:-1][numbers] - ends[:-1], sizes)
        return Bags.from_flat(self._rows[places], ends, self.n_samples).called(self._noun)

    def compacted(self) -> "tuple[np.ndarray, Bags]":
        """Return the sorted distinct rows of the bags, and the bags renumbered to positions among these rows.

        >>> rows, bags = Bags([[7, 2], [9, 2, 2]], n_samples=10).compacted()
        >>> rows, bags[1]
        (array([2, 7, 9]), array([2, 0, 0]))
        """
        held = self._rows
        order: np.ndarray
        in_order: np.ndarray
        if max(self.n_samples, len(held)) < 2**32:  # row and place in one word, which numpy sorts much faster
            keys = held.astype(np.uint64)
            keys <<= np.uint64(32)
            keys |= np.arange(len(held), dtype=np.uint32)
            keys.sort()
            halves = keys.astype("<u8", copy=False).view("<u4")
            order, in_order = halves[::2], halves[1::2]
        else:
            order = np.argsort(held, kind="stable")
            in_order = held[order]
        new = np.ones(len(held), dtype=bool)
        np.not_equal(in_order[1:], in_order[:-1], out=new[1:])
        rows = in_order[new].astype(np.int64)
        ranks = np.cumsum(new, dtype=np.min_scalar_type(len(held)))
        ranks -= 1
        places = np.empty(len(held), dtype=np.min_scalar_type(max(0, len(rows) - 1)))
        places[order] = ranks
        return rows, Bags.from_flat(places, self._ends, max(1, len(rows))).called(self._noun)

    def with_any(self, rows: np.ndarray) -> np.ndarray:
        """Return the numbers of the bags that contain any of these rows, in increasing order."""
        return np.unique(self._bag_numbers()[np.isin(self._rows, rows)])

    @property
    def sizes(self) -> np.ndarray:
        """The number of rows in each bag, counting repeats; shape (n_bags,)."""
        return np.diff(self._ends)

    @property
    def inclusion(self) -> np.ndarray:
        """Whether row i is in bag b: a dense bool array of shape (n_bags, n_samples). See also `inclusion_blocks`."""
        dense = np.zeros((len(self), self.n_samples), dtype=bool)
        dense[self._bag_numbers(), self._rows] = True
        return dense

    def to_sparse(self) -> sparse.csr_array:
        """Return the inclusion matrix as a sparse array of ones, of shape (n_bags, n_samples)."""
        index = np.int32 if max(self.n_samples, len(self._rows)) < 2**31 else np.int64
        rows, ends = (np.array(held, dtype=index) for held in (self._rows, self._ends))  # copies: the sum is in place
        matrix = sparse.csr_array((np.ones(len(rows)), rows, ends), shape=(len(self), self.n_samples))
        matrix.sum_duplicates()  # a row that was drawn repeatedly is in the bag once
        matrix.data[:] = 1.0
        return matrix

    @property
    def counts(self) -> np.ndarray:
        """How often each bag contains each row, as a dense array of shape (n_bags, n_samples)."""
        dense = np.zeros((len(self), self.n_samples), dtype=np.int32)
        np.add.at(dense, (self._bag_numbers(), self._rows), 1)
        return dense

    @cached_property
    def n_without(self) -> np.ndarray:
        """The number of bags that do not contain each row; shape (n_samples,)."""
        by_row = self._inclusion_by_row
        if isinstance(by_row, np.ndarray):
            inside: np.ndarray = np.bitwise_count(by_row).sum(axis=1, dtype=np.int64)
        else:
            inside = np.diff(by_row.indptr).astype(np.int64)
        return read_only(len(self) - inside)

    def in_every_bag(self) -> np.ndarray:
        """Return the rows that every bag contains, in increasing order, without an array of all rows."""
        order = np.argsort(self.sizes, kind="stable")
        rows = np.unique(self[int(order[0])]) if len(self) else np.empty(0, np.intp)
        for number in order[1:]:
            if not len(rows):
                break
            rows = rows[np.isin(rows, self[int(number)])]
        return rows

    def bags_by_row(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the rows that are in some bag, and the bags of each, without an array of all rows.

        Returns
        -------
        rows : ndarray of int
            In increasing order.
        ends : ndarray of int, shape (len(rows) + 1,)
            Zero, followed by the end of the bags of each row in `bags`.
        bags : ndarray of int
            The numbers of the bags of each row, in increasing order.
        """
        bits = max(1, (len(self) - 1).bit_length())
        if (self.n_samples - 1).bit_length() + bits <= 64:  # row and bag in one number of 64 bits
            pairs = self._rows.astype(np.uint64)
            pairs <<= np.uint64(bits)
            pairs |= self._bag_numbers().view(np.uint32)
            pairs.sort()
            new = _first_of_each(pairs)
            pairs = pairs if new.all() else pairs[new]  # drops repeats of a row in a bag
            numbers = pairs.astype(np.uint32)
            numbers &= np.uint32((1 << bits) - 1)
            numbers = numbers.view(np.int32)
            pairs >>= np.uint64(bits)
        else:
            order = np.lexsort((self._bag_numbers(), self._rows))
            pairs, numbers = self._rows[order], self._bag_numbers()[order]
            new = _first_of_each(pairs) | _first_of_each(numbers)
            pairs, numbers = pairs[new], numbers[new]
        starts = np.flatnonzero(_first_of_each(pairs))
        kind = np.int32 if len(pairs) < 2**31 else np.int64
        return pairs[starts].astype(self._rows.dtype), np.append(starts, len(pairs)).astype(kind), numbers

    @property
    def is_thin(self) -> bool:
        """Whether a list of the bags of each row takes less memory than one bit per row and bag."""
        return 5 * len(self._rows) < self.n_samples * (-(-len(self) // 8))

    @cached_property
    def fingerprint(self) -> str:
        """A hash that identifies these bags; very large bags are hashed in part."""
        digest = hashlib.blake2b(f"{self.n_samples} {len(self)}".encode(), digest_size=16)
        for array in (self._ends, self._rows):
            digest.update(np.ascontiguousarray(array[:: len(array) // _MOST_HASHED + 1], dtype=np.int64).tobytes())
        return digest.hexdigest()

    def inclusion_weights(self, weights: np.ndarray) -> np.ndarray:
        """Return the total weight of the bags that contain row i; shape (n_samples,)."""
        total: np.ndarray = self.to_sparse().T @ weights
        return total

    def without(self, row: int) -> np.ndarray:
        """Return the numbers of the bags that do not contain `row`, in increasing order."""
        if not 0 <= check_integer(row, "row", "Bags.without", minimum=0) < self.n_samples:
            raise IndexError(f"Row {row} does not exist, because there are {self.n_samples} rows.")
        if self.is_thin:  # without an array of all rows
            return np.setdiff1d(np.arange(len(self)), self._bag_numbers()[self._rows == row])
        return np.flatnonzero(~self._block(slice(row, row + 1))[:, 0])

    def outside(self, rows: slice | np.ndarray) -> np.ndarray:
        """Return whether each bag does *not* contain each of some rows; bool of shape (n_bags, n_rows)."""
        return ~self._block(rows)

    def inclusion_blocks(self, max_bytes: int = _BLOCK_BYTES) -> Iterator[tuple[slice, np.ndarray]]:
        """Yield the inclusion matrix in blocks of training rows.

        Parameters
        ----------
        max_bytes : int, default=67108864
            The largest size of a block in bytes. A block has at least one training row.

        Yields
        ------
        rows : slice
            The training rows of the block.
        block : ndarray of bool, shape (n_bags, number of rows in the block)
            ``inclusion[:, rows]``.
        """
        step = max(1, check_integer(max_bytes, "max_bytes", "inclusion_blocks", minimum=1) // max(1, len(self)))
        for first in range(0, self.n_samples, step):
            stop = min(first + step, self.n_samples)
            yield slice(first, stop), self._block(slice(first, stop))

    def _block(self, rows: slice | np.ndarray) -> np.ndarray:
        by_row = self._inclusion_by_row
        if isinstance(by_row, np.ndarray):
            return np.unpackbits(by_row[rows], axis=1, count=len(self)).view(bool).T
        dense: np.ndarray = by_row[rows].toarray()
        return dense.T

    @cached_property
    def _inclusion_by_row(self) -> "np.ndarray | sparse.csr_array":
        """The transposed inclusion matrix, with contiguous training rows: bit-packed, or sparse if that is smaller."""
        packed_bytes = self.n_samples * (-(-len(self) // 8))
        sparse_bytes = 5 * len(self._rows) + 4 * self.n_samples  # a 4-byte bag number and a bool per entry
        return self._sparse_by_row() if sparse_bytes < packed_bytes else self._packed_by_row()

    def _sparse_by_row(self) -> sparse.csr_array:
        entries = np.ones(len(self._rows), dtype=bool)
        by_row = sparse.coo_array((entries, (self._rows, self._bag_numbers())), shape=(self.n_samples, len(self)))
        return by_row.tocsr()  # sums repeats, which for bool gives True

    def _packed_by_row(self) -> np.ndarray:
        packed = np.empty((self.n_samples, -(-len(self) // 8)), dtype=np.uint8)
        step = max(8, _BLOCK_BYTES // 8 // self.n_samples // 8 * 8)
        for first in range(0, len(self), step):
            part = self[first : first + step]
            dense = np.zeros((self.n_samples, len(part)), dtype=bool)
            dense[part._rows, part._bag_numbers()] = True
            packed[:, first // 8 : (first + len(part) + 7) // 8] = np.packbits(dense, axis=1)
        return packed

    def _bag_numbers(self) -> np.ndarray:
        """Return the bag of each stored row."""
        return np.repeat(np.arange(len(self), dtype=np.int32), self.sizes)


def _first_of_each(values: np.ndarray) -> np.ndarray:
    """Return where values of a sorted array occur for the first time."""
    first = np.ones(len(values), dtype=bool)
    np.not_equal(values[1:], values[:-1], out=first[1:])
    return first


def _chunks(sequences: Iterable[Any]) -> Iterator[tuple[int, list[np.ndarray]]]:
    """Yield groups of bags with about a million rows, with the number of each group's first bag."""
    first, chunk, n_rows = 0, [], 0
    if not isinstance(sequences, Iterable) or getattr(sequences, "shape", None) == ():
        raise refuse_type("sequences", "Bags", "an iterable of bags, each a sequence of row numbers", sequences)
    for number, sequence in enumerate(sequences):
        rows = as_array(sequence, "sequences", "Bags", "sequences of row numbers")
        if rows.size == 0:
            rows = np.empty(0, np.intp)
        elif rows.ndim != 1 or rows.dtype.kind not in "iu":
            raise TypeError(f"Each bag must be a sequence of row numbers. Got {shown(sequence)} for bag {number}.")
        chunk.append(rows.astype(np.intp, copy=False))
        n_rows += len(rows)
        if n_rows > 2**20:
            yield first, chunk
            first, chunk, n_rows = number + 1, [], 0
    yield first, chunk


def _checked(chunk: list[np.ndarray], first: int, n_samples: int) -> np.ndarray:
    """Concatenate bags and check their row numbers; checking many bags at once is much faster."""
    flat = np.concatenate([np.empty(0, np.intp), *chunk])
    outside = (flat < 0) | (flat >= n_samples)
    if outside.any():
        where = int(np.argmax(outside))
        number = first + int(np.searchsorted(np.cumsum([len(rows) for rows in chunk]), where, side="right"))
        raise ValueError(f"Bag {number} has row {flat[where]}, but the rows are numbered from 0 to {n_samples - 1}.")
    return flat


# ------------------------------------------------------------------------------------------------------------- patterns
# A pattern is the set of bags that a row is in. With very many rows and small bags, many rows share a pattern, and most
# are in no bag. Each pattern is stored once with its rows, so no array has as many entries as there are rows.


@dataclass(frozen=True, eq=False)
class RowPatterns:
    """The patterns of the rows that are in some bag.

    Attributes
    ----------
    n_samples : int
        The number of training rows.
    n_bags : int
        The number of bags.
    apart : ndarray of int
        Rows that are handled one by one, and belong to no pattern; in increasing order.
    rows : ndarray of int
        The rows of all patterns, pattern by pattern, in increasing order within each.
    ends : ndarray of int, shape (n_patterns + 1,)
        Zero, followed by the end of the rows of each pattern.
    bags : ndarray of int
        The bags of all patterns, pattern by pattern.
    bag_ends : ndarray of int, shape (n_patterns + 1,)
        Zero, followed by the end of the bags of each pattern.

    Examples
    --------
    >>> patterns = RowPatterns.of(Bags([[0, 1, 2], [2, 7], [2, 7]], n_samples=9))
    >>> [(rows.tolist(), bags.tolist()) for rows, bags in patterns]
    [([0, 1], [0]), ([7], [1, 2]), ([2], [0, 1, 2])]
    >>> patterns.n_untouched, patterns.untouched(3)
    (5, array([3, 4, 5]))
    """

    n_samples: int
    n_bags: int
    apart: np.ndarray
    rows: np.ndarray
    ends: np.ndarray
    bags: np.ndarray
    bag_ends: np.ndarray

    @classmethod
    def of(cls, bags: Bags, apart: np.ndarray | None = None) -> "RowPatterns":
        """Return the patterns of these bags, without the rows in `apart`."""
        rows, ends, numbers = bags.bags_by_row()
        apart = np.empty(0, np.int64) if apart is None else np.unique(np.asarray(apart, dtype=np.int64))
        n_inside, found = np.diff(ends), []
        if len(apart):
            n_inside[np.isin(rows, apart)] = 0
        for count in np.flatnonzero(np.bincount(n_inside)).tolist():
            if count:
                some = np.flatnonzero(n_inside == count)
                of_rows = np.stack([numbers[ends[:-1][some] + k] for k in range(count)], axis=1)
                found.append(_alike(rows[some], of_rows, len(bags)))
        empty = np.empty(0, rows.dtype), np.empty(0, np.int64), np.empty(0, np.int32), np.empty(0, np.int64)
        parts = [np.concatenate(part) for part in zip(empty, *found, strict=True)]
        filled = [np.concatenate([[0], np.cumsum(parts[k])]) for k in (1, 3)]
        return cls(bags.n_samples, len(bags), apart, parts[0], filled[0], parts[2], filled[1])

    def __len__(self) -> int:
        return len(self.ends) - 1

    def __iter__(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield the rows of each pattern, and its bags."""
        for k in range(len(self)):
            yield self.rows[self.ends[k] : self.ends[k + 1]], self.bags[self.bag_ends[k] : self.bag_ends[k + 1]]

    @property
    def counts(self) -> np.ndarray:
        """The number of rows of each pattern."""
        return np.diff(self.ends)

    @property
    def n_inside(self) -> np.ndarray:
        """The number of bags of each pattern."""
        return np.diff(self.bag_ends)

    @property
    def n_untouched(self) -> int:
        """The number of rows in no bag, not counting those in `apart`."""
        return self.n_samples - len(self.rows) - len(self.apart)

    @cached_property
    def matrix(self) -> sparse.csr_array:
        """A sparse array of ones where a pattern has a bag; shape (n_patterns, n_bags)."""
        entries = np.ones(len(self.bags))
        return sparse.csr_array((entries, self.bags, self.bag_ends), shape=(len(self), self.n_bags))

    def complements(self) -> tuple[np.ndarray, sparse.csr_array]:
        """Return the patterns with more than half of the bags, and a matrix of ones for the bags they lack.

        >>> many, others = RowPatterns.of(Bags([[0, 1, 2], [2, 7], [2, 7]], n_samples=9)).complements()
        >>> many.tolist(), others.toarray().tolist()
        ([1, 2], [[1.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
        """
        many = np.flatnonzero(2 * self.n_inside > self.n_bags)
        lacking = np.ones((len(many), self.n_bags), dtype=bool)
        for line, pattern in enumerate(many.tolist()):
            lacking[line, self.bags[self.bag_ends[pattern] : self.bag_ends[pattern + 1]]] = False
        return many, sparse.csr_array(lacking, dtype=float)

    def untouched(self, k: int) -> np.ndarray:
        """Return the first k rows, or all, that are in no bag and not in `apart`."""
        k = min(k, self.n_untouched)
        known = np.sort(np.concatenate([self.rows.astype(np.int64), self.apart]))
        # Before the j-th known row there are known[j] - j other rows.
        before = np.searchsorted(known - np.arange(len(known)), np.arange(k), side="right")
        return np.asarray(before + np.arange(k))

    def places(self, rows: np.ndarray) -> np.ndarray:
        """Return the pattern of each row; -1 for rows without one."""
        if not len(self.rows):
            return np.full(np.shape(rows), -1)
        order, of_rows = self._by_row
        found = np.minimum(np.searchsorted(self.rows, rows, sorter=order), len(order) - 1)
        return np.where(self.rows[order[found]] == rows, of_rows[order[found]], -1)

    @cached_property
    def _by_row(self) -> tuple[np.ndarray, np.ndarray]:
        return np.argsort(self.rows), np.repeat(np.arange(len(self)), self.counts)


def _alike(rows: np.ndarray, of_rows: np.ndarray, n_bags: int) -> tuple[np.ndarray, ...]:
    """Group rows with the same bags; return the rows, the group sizes, the groups' bags, and their numbers of bags."""
    n_inside = of_rows.shape[1]
    if n_bags**n_inside < 2**63:  # each set of bags fits into one integer
        codes = np.zeros(len(rows), np.min_scalar_type(n_bags**n_inside))
        for bag in of_rows.T:
            codes *= codes.dtype.type(n_bags)
            codes += bag.astype(codes.dtype)
        order = np.argsort(codes, kind="stable")
        codes = codes[order]
        first = np.flatnonzero(np.concatenate([[True], codes[1:] != codes[:-1]]))
    else:  # with this many bags per row, hardly any two rows are in the same bags
        order, first = np.arange(len(rows)), np.arange(len(rows))
    patterns = of_rows[order[first]]
    return rows[order], np.diff(first, append=len(rows)), patterns.ravel(), np.full(len(first), n_inside)
