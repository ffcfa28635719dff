"""The covariance of bag membership and its largest eigenvalue, for laws and for drawn bags."""

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.linalg import eigvalsh_tridiagonal

from stablebag.resampling.bags import Bags, RowPatterns, WeightedBag

# ----------------------------------------------------------------------------------------------------------- covariance
# The covariance of who is in a bag, and its norm: the one number through which a law of bags enters the guarantees.
#
# Z_i is 1 if row i is in the bag, pi_i is the chance of that, and
#
#     M_ij = Cov(Z_i, Z_j) / (n (1 - pi_i) (1 - pi_j)).
#
# The largest eigenvalue of M bounds the mean square of what leaving out a row does (docs/proofs.md, 11). If all rows
# are alike it is the bagging constant c of the paper.

MOST_DENSE = 4000  # matrices up to this size are solved densely
_SEED = 20240131  # of the iteration's first vectors
_VECTORS = 8  # of independent normal numbers
_DEGREE = 100  # of the polynomial that shows that no eigenvalue is larger
_COMPONENT = 0.04  # P(|N(0, 1)| < 0.04)^8 < 1.1e-12: the chance that all vectors have less of the largest eigenvalue's
_STEPS = 300  # of Lanczos at most


def symmetric_norm(n_samples: int, p: float | Fraction, q: float | Fraction) -> float:
    """Return the norm of M if all rows are alike: (p / (1 - p) + q / (1 - p)^2) / n, and another where q < 0.

    >>> symmetric_norm(n_samples=5, p=0.5, q=0.05)  # (1 + 0.2) / 5
    0.24
    """
    spread = q if q >= 0 else -(n_samples - 1) * q
    return float((p / (1 - p) + spread / (1 - p) ** 2) / n_samples)  # exact if p and q are fractions


def norm_of(inclusion: np.ndarray, covariance: np.ndarray) -> float:
    """Return the largest eigenvalue of M, from the chance of each row and the covariance of each two.

    It is an upper bound, by rounding above it; beyond 4,000 rows by a fraction of a percent (`eigenvalue_bound`).

    >>> round(norm_of(np.array([0.5, 0.5]), np.array([[0.25, -0.25], [-0.25, 0.25]])), 9)  # one of two rows
    1.0
    """
    n = len(inclusion)
    scale = 1 / ((1 - inclusion) * math.sqrt(n))
    matrix = covariance * scale * scale[:, None]
    matrix = (matrix + matrix.T) / 2
    trace = float(np.trace(matrix))
    value = dense_eigenvalue(matrix) if n <= MOST_DENSE else eigenvalue_bound(lambda vectors: matrix @ vectors, n)
    return max(0.0, min(trace, value)) + 2 * float(np.finfo(float).eps) * (n + 8) * trace


def dense_eigenvalue(matrix: np.ndarray) -> float:
    """Return the largest eigenvalue of a symmetric matrix, to rounding.

    LAPACK has a routine for the largest alone, but where eigenvalues repeat it may fail.
    """
    return float(np.linalg.eigvalsh(matrix)[-1])


def eigenvalue_bound(product: Callable[[np.ndarray], np.ndarray], size: int) -> float:
    """Return an upper bound on the largest eigenvalue of a symmetric matrix that is known by its products alone.

    Lanczos iteration finds a large eigenvalue mu, and a polynomial shows how much larger another can be: T_k, the
    Chebyshev polynomial, is at most one on [-1, 1] and grows fast beyond. An eigenvalue above mu would therefore make
    T_k(2 A / mu - 1) x long for every x that has some of its eigenvector, and random vectors do: the bound is too small
    with a probability below 1.1e-12 over their draw, whatever the eigenvalues are (docs/proofs.md, 7).

    Parameters
    ----------
    product : callable
        From vectors, shape (size, n_vectors), to the matrix times each.
    size : int
        The number of rows of the matrix.

    Returns
    -------
    float

    Examples
    --------
    >>> values = np.linspace(0, 1, 5000)
    >>> bound = eigenvalue_bound(lambda vectors: values[:, None] * vectors, 5000)
    >>> 1 <= bound < 1.01
    True
    """
    start = np.random.default_rng(_SEED).normal(size=(size, _VECTORS))
    mu = _found_by_lanczos(product, start[:, 0])
    if mu <= 0:
        return 0.0  # no vector is moved
    before, vectors = start, product(start) * (2 / mu) - start
    with np.errstate(over="ignore", invalid="ignore"):
        for _ in range(_DEGREE - 1):
            before, vectors = vectors, 2 * (product(vectors) * (2 / mu) - vectors) - before
        length = 2 * float(np.linalg.norm(vectors, axis=0).max())  # twice: far more than rounding
    if not math.isfinite(length):  # an eigenvalue is hundreds of times larger, and nothing is known of it
        return math.inf
    return mu / 2 * (1 + math.cosh(math.acosh(max(1.0, length / _COMPONENT)) / _DEGREE))


def _found_by_lanczos(product: Callable[[np.ndarray], np.ndarray], start: np.ndarray) -> float:
    """About the largest eigenvalue, and never more: iterated until ten more steps add less than a thousandth."""
    before, vector = np.zeros(len(start)), start / np.linalg.norm(start)
    diagonal, beside, found = list[float](), list[float](), 0.0
    for step in range(1, _STEPS + 1):
        following = product(vector[:, None])[:, 0]
        diagonal.append(float(vector @ following))
        following -= diagonal[-1] * vector + (beside[-1] if beside else 0.0) * before
        length = float(np.linalg.norm(following))
        is_last = length <= 1e-12 * max(diagonal)  # of all that there is
        if is_last or step % 10 == 0:
            last, found = found, float(eigvalsh_tridiagonal(diagonal, beside)[-1])
            if is_last or found <= last * 1.001:
                break
        beside.append(length)
        before, vector = vector, following / length
    return found


def moments(bags: Iterable[WeightedBag], n_samples: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the chance of each row, and the covariance of each two, from a list of all bags.

    >>> moments([((0,), 0.75), ((1,), 0.25)], n_samples=2)[0]
    array([0.75, 0.25])
    """
    together = np.zeros((n_samples, n_samples))
    for bag, probability in bags:
        rows = sorted(set(bag))
        together[np.ix_(rows, rows)] += float(probability)
    inclusion = np.diag(together).copy()
    return inclusion, together - np.outer(inclusion, inclusion)


def given_out(inclusion: np.ndarray, covariance: np.ndarray, row: int) -> np.ndarray:
    """Return the chance of each other row in a bag, given that one row is not in it.

    >>> given_out(np.array([0.5, 0.5]), np.array([[0.25, -0.25], [-0.25, 0.25]]), row=0)  # one of two rows
    array([1.])
    """
    chances: np.ndarray = np.delete(inclusion - covariance[row] / (1 - inclusion[row]), row)
    return chances


# ----------------------------------------------------------------------------------------------------------- eigenvalue
# The largest eigenvalue of the covariance of drawn bags: what is proved about leaving rows out of exactly these bags.
#
# Rows in no bag add nothing, and rows in the same bags add the same; so small bags of very many rows cost as much as
# they have rows. Of large bags, which are held as bits, a few are unpacked at a time.

_BLOCK_BYTES = 2**25  # of unpacked bits


def largest_eigenvalue(bags: Bags, weights: np.ndarray | None = None) -> tuple[float, float]:
    """Return the largest eigenvalue of M_ij = Cov(i in bag, j in bag) / ((1 - p_i) (1 - p_j) n), over drawn bags.

    Returns it with the largest share of the bags that one row is in. It is found on the smaller side, bags or rows, and
    what is returned is an upper bound: by rounding above it, and by a fraction of a percent beyond 4,000 bags and rows,
    where the matrix is not formed (`eigenvalue_bound`). The trace is a bound in any case. `weights` are the
    probabilities of the bags; None stands for equal ones.

    >>> from stablebag.resampling import Bags
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
