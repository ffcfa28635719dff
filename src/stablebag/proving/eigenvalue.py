"""The largest eigenvalue of the covariance of drawn bags: what is proved about leaving rows out of exactly these bags.

Rows in no bag add nothing, and rows in the same bags add the same; so small bags of very many rows cost as much as they
have rows. Of large bags, which are held as bits, a few are unpacked at a time.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from stablebag.resampling.bags import Bags
from stablebag.resampling.covariance import MOST_DENSE, dense_eigenvalue, eigenvalue_bound
from stablebag.resampling.patterns import RowPatterns

_BLOCK_BYTES = 2**25  # of unpacked bits


def largest_eigenvalue(bags: Bags, weights: np.ndarray | None = None) -> tuple[float, float]:
    """Return the largest eigenvalue of M_ij = Cov(i in bag, j in bag) / ((1 - p_i) (1 - p_j) n), over drawn bags.

    Returns it with the largest share of the bags that one row is in. It is found on the smaller side, bags or rows, and
    what is returned is an upper bound: by rounding above it, and by a fraction of a percent beyond 4,000 bags and rows,
    where the matrix is not formed (`eigenvalue_bound`). The trace is a bound in any case. `weights` are the
    probabilities of the bags; None stands for equal ones.

    >>> from stablebag import Bags
    >>> bags = Bags([[0, 1], [0, 2], [1, 3], [2, 3], [0, 3]], n_samples=4)
    >>> eigenvalue, inclusion = largest_eigenvalue(bags)
    >>> round(eigenvalue, 9), inclusion
    (0.625, 0.6)
    """
    if len(bags) == 0:
        raise ValueError("There are no bags, so there is nothing to certify.")
    if len(always := bags.in_every_bag()):
        raise ValueError(
            f"Row {always[0]} is in every bag, so there is no prediction without it and nothing to certify. Use more "
            "or smaller bags."
        )
    scaled = _Scaled.of(bags, weights)
    if scaled.trace == 0:
        return 0.0, 0.0  # all bags are empty
    size = min(scaled.shape)
    value = dense_eigenvalue(scaled.gram()) if size <= MOST_DENSE else eigenvalue_bound(scaled.product, size)
    return min(scaled.trace, max(0.0, value)) + scaled.rounding, scaled.largest


@dataclass(frozen=True, eq=False)
class _Scaled:
    """The matrix X = D (Z - p 1') W^(1/2), rows by bags, of which X X' has the eigenvalues that are asked for.

    Here Z says which rows are in which bags, and D has 1 / ((1 - p_i) sqrt(n)), times the root of how many rows are
    alike.
    """

    bags: Bags
    patterns: RowPatterns | None  # None if they are held as bits
    root: np.ndarray  # of the bags' weights
    share: np.ndarray  # of the bags that a row is in
    scale: np.ndarray
    trace: float

    @classmethod
    def of(cls, bags: Bags, weights: np.ndarray | None) -> "_Scaled":
        patterns = RowPatterns.of(bags) if bags.is_thin else None
        alike = np.ones(1) if patterns is None else patterns.counts
        if weights is None:  # shares of whole bags have no rounding to add up
            weights, n_bags = np.full(len(bags), 1 / len(bags)), len(bags)
            n_without = bags.n_without if patterns is None else n_bags - patterns.n_inside
            share, outside = (n_bags - n_without) / n_bags, n_without / n_bags
        elif patterns is None:
            blocks = bags.inclusion_blocks(_BLOCK_BYTES)
            both = [(inside.T @ weights, ~inside.T @ weights) for _, inside in blocks]
            share, outside = (np.concatenate(part) for part in zip(*both, strict=True))
        else:
            many, others = patterns.complements()
            share = patterns.matrix @ weights
            outside = weights.sum() - share
            outside[many] = others @ weights
        scale = np.sqrt(alike / bags.n_samples) / outside
        trace = float(np.sum(alike * (share / outside))) / bags.n_samples
        return cls(bags, patterns, np.sqrt(weights), share, scale, trace)

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.share), len(self.bags)

    @property
    def largest(self) -> float:
        return float(self.share.max())

    @property
    def rounding(self) -> float:
        """More than rounding can take away in sums over rows and bags, and in solving (docs/proofs.md, 7)."""
        return 2 * float(np.finfo(float).eps) * (sum(self.shape) + 8) * float(np.sum(self.scale**2 * self.share))

    def blocks(self) -> Iterator[tuple[slice, Any]]:
        """Yield some rows, and their part of Z."""
        if self.patterns is not None:
            yield slice(0, len(self.patterns)), self.patterns.matrix
            return
        for rows, inside in self.bags.inclusion_blocks(_BLOCK_BYTES // 8):
            yield rows, inside.T.astype(float)

    def gram(self) -> np.ndarray:
        """X' X, bags by bags, or X X' if there are fewer rows."""
        n_rows, n_bags = self.shape
        if n_rows <= n_bags:
            return self._by_rows()
        total = np.zeros((n_bags, n_bags))
        for rows, inside in self.blocks():
            scale, share = self.scale[rows], self.share[rows]
            if self.patterns is None:
                inside -= share[:, None]
                inside *= scale[:, None]
                total += inside.T @ inside
            else:
                squares = inside.multiply((scale**2)[:, None]).tocsr()
                along = squares.T @ share
                total += (inside.T @ squares).toarray() - along[:, None] - along + (scale * share) @ (scale * share)
        return np.asarray(total * self.root[:, None] * self.root)

    def _by_rows(self) -> np.ndarray:
        total = np.zeros((len(self.share),) * 2)
        if self.patterns is not None:
            inside = self.patterns.matrix.multiply(self.root).toarray() - np.outer(self.share, self.root)
            inside *= self.scale[:, None]
            return np.asarray(inside @ inside.T)
        step = max(1, _BLOCK_BYTES // 8 // len(self.share))
        for first in range(0, len(self.bags), step):
            part = slice(first, first + step)
            inside = (self.bags[part].inclusion - self.share) * self.scale * self.root[part, None]
            total += inside.T @ inside
        return total

    def product(self, vectors: np.ndarray) -> np.ndarray:
        """X' X V, or X X' V if there are fewer rows; V has one column per vector."""
        n_rows, n_bags = self.shape
        root, scale, share = self.root[:, None], self.scale[:, None], self.share[:, None]
        total = np.zeros((n_bags, vectors.shape[1]))
        if n_rows > n_bags:
            weighted = root * vectors
            for rows, inside in self.blocks():
                along = scale[rows] ** 2 * (inside @ weighted - share[rows] * weighted.sum(axis=0))
                total += inside.T @ along - share[rows].T @ along
            return np.asarray(root * total)
        scaled = scale * vectors
        for rows, inside in self.blocks():
            total += inside.T @ scaled[rows]
        weighted = root**2 * (total - share.T @ scaled)
        along = np.concatenate([inside @ weighted for _, inside in self.blocks()])
        return np.asarray(scale * (along - share * weighted.sum(axis=0)))
