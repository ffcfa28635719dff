"""Patterns: the sets of bags that rows are in. Rows in the same bags are alike, and rows in no bag are not looked at.

Of very many rows, few are in several of some small bags: each pattern is held once, with its rows, and nothing here has
as many entries as there are rows.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse

from stablebag.resampling.bags import Bags


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
        Rows that are in no pattern, because they are looked at one by one; in increasing order.
    rows : ndarray of int
        The rows of all patterns, pattern by pattern, in increasing order in each.
    ends : ndarray of int, shape (n_patterns + 1,)
        Zero, and then where the rows of each pattern end.
    bags : ndarray of int
        The bags of all patterns, pattern by pattern.
    bag_ends : ndarray of int, shape (n_patterns + 1,)
        Zero, and then where the bags of each pattern end.

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
        """Return the patterns of these bags; some rows may be kept apart."""
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
        """How many rows each pattern has."""
        return np.diff(self.ends)

    @property
    def n_inside(self) -> np.ndarray:
        """How many bags each pattern has."""
        return np.diff(self.bag_ends)

    @property
    def n_untouched(self) -> int:
        """How many rows are in no bag, and not apart."""
        return self.n_samples - len(self.rows) - len(self.apart)

    @cached_property
    def matrix(self) -> sparse.csr_array:
        """A sparse array of ones where a pattern has a bag; shape (n_patterns, n_bags)."""
        entries = np.ones(len(self.bags))
        return sparse.csr_array((entries, self.bags, self.bag_ends), shape=(len(self), self.n_bags))

    def complements(self) -> tuple[np.ndarray, sparse.csr_array]:
        """Return the patterns that have more than half of the bags, and ones where these lack a bag.

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
        """Return the first k rows, or all, that are in no bag and not apart."""
        k = min(k, self.n_untouched)
        known = np.sort(np.concatenate([self.rows.astype(np.int64), self.apart]))
        # The j-th of the known rows has known[j] - j others before it.
        before = np.searchsorted(known - np.arange(len(known)), np.arange(k), side="right")
        return np.asarray(before + np.arange(k))

    def places(self, rows: np.ndarray) -> np.ndarray:
        """Return the pattern of each of these rows; -1 for rows that are in none."""
        if not len(self.rows):
            return np.full(np.shape(rows), -1)
        order, of_rows = self._by_row
        found = np.minimum(np.searchsorted(self.rows, rows, sorter=order), len(order) - 1)
        return np.where(self.rows[order[found]] == rows, of_rows[order[found]], -1)

    @cached_property
    def _by_row(self) -> tuple[np.ndarray, np.ndarray]:
        return np.argsort(self.rows), np.repeat(np.arange(len(self)), self.counts)


def _alike(rows: np.ndarray, of_rows: np.ndarray, n_bags: int) -> tuple[np.ndarray, ...]:
    """Put rows with the same bags together: rows, how many are alike, their bags, and how many bags each has."""
    n_inside = of_rows.shape[1]
    if n_bags**n_inside < 2**63:  # a number for each set of bags
        codes = np.zeros(len(rows), np.min_scalar_type(n_bags**n_inside))
        for bag in of_rows.T:
            codes *= codes.dtype.type(n_bags)
            codes += bag.astype(codes.dtype)
        order = np.argsort(codes, kind="stable")
        codes = codes[order]
        first = np.flatnonzero(np.concatenate([[True], codes[1:] != codes[:-1]]))
    else:  # few rows are in so many of so many bags, and hardly two of them in the same
        order, first = np.arange(len(rows)), np.arange(len(rows))
    patterns = of_rows[order[first]]
    return rows[order], np.diff(first, append=len(rows)), patterns.ravel(), np.full(len(first), n_inside)
