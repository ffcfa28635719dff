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
# Let Z_i be 1 if row i is in the bag, and pi_i its probability. The largest eigenvalue of
#
#     M_ij = Cov(Z_i, Z_j) / (n (1 - pi_i) (1 - pi_j))
#
# bounds the mean square of the leave-one-out changes (docs/proofs.md, 11). It is the only property of a law that the
# guarantees use. If all rows are treated alike, it is the bagging constant c of the paper.

MOST_DENSE = 4000  # matrices up to this size are solved densely
_SEED = 20240131  # seed of the start vectors
_VECTORS = 8  # number of start vectors, with independent normal entries
_DEGREE = 100  # degree of the polynomial that bounds the eigenvalues
_COMPONENT = 0.04  # P(|N(0, 1)| < 0.04)^8 < 1.1e-12: all vectors have less along the largest eigenvector
_STEPS = 300  # largest number of Lanczos steps


def symmetric_norm(n_samples: int, p: float | Fraction, q: float | Fraction) -> float:
    """Return the norm of M if all rows are treated alike: (p / (1 - p) + q / (1 - p)^2) / n if q >= 0.

    >>> symmetric_norm(n_samples=5, p=0.5, q=0.05)  # (1 + 0.2) / 5
    0.24
    """
    spread = q if q >= 0 else -(n_samples - 1) * q
    return float((p / (1 - p) + spread / (1 - p) ** 2) / n_samples)  # exact if p and q are fractions


def norm_of(inclusion: np.ndarray, covariance: np.ndarray) -> float:
    """Return the largest eigenvalue of M, from the probability of each row and the covariance of each pair.

    The result is an upper bound, tight up to rounding; beyond 4,000 rows, up to a fraction of a percent
    (`eigenvalue_bound`).

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
    """Return the largest eigenvalue of a symmetric matrix, up to rounding.

    LAPACK has a routine for the largest eigenvalue alone, but it may fail for repeated eigenvalues.
    """
    return float(np.linalg.eigvalsh(matrix)[-1])


def eigenvalue_bound(product: Callable[[np.ndarray], np.ndarray], size: int) -> float:
    """Return an upper bound on the largest eigenvalue of a symmetric matrix, using only products with vectors.

    Lanczos iteration finds a large eigenvalue mu, and a Chebyshev polynomial T_k bounds how much larger another can be:
    T_k is at most one on [-1, 1] and grows fast beyond. So an eigenvalue above mu would make T_k(2 A / mu - 1) x long
    for every x with a component along its eigenvector, as random vectors have. The bound is too small with probability
    below 1.1e-12 over the draw of these vectors, for any eigenvalues (docs/proofs.md, 7).

    Parameters
    ----------
    product : callable
        Maps vectors, as columns of an array of shape (size, n_vectors), to their products with the matrix.
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
        return 0.0  # the matrix is zero
    before, vectors = start, product(start) * (2 / mu) - start
    with np.errstate(over="ignore", invalid="ignore"):
        for _ in range(_DEGREE - 1):
            before, vectors = vectors, 2 * (product(vectors) * (2 / mu) - vectors) - before
        length = 2 * float(np.linalg.norm(vectors, axis=0).max())  # twice, to cover rounding errors
    if not math.isfinite(length):  # some eigenvalue is hundreds of times larger than mu
        return math.inf
    return mu / 2 * (1 + math.cosh(math.acosh(max(1.0, length / _COMPONENT)) / _DEGREE))


def _found_by_lanczos(product: Callable[[np.ndarray], np.ndarray], start: np.ndarray) -> float:
    """Return nearly the largest eigenvalue, and never more, iterating until ten steps add less than a thousandth."""
    before, vector = np.zeros(len(start)), start / np.linalg.norm(start)
    diagonal, beside, found = list[float](), list[float](), 0.0
    for step in range(1, _STEPS + 1):
        following = product(vector[:, None])[:, 0]
        diagonal.append(float(vector @ following))
        following -= diagonal[-1] * vector + (beside[-1] if beside else 0.0) * before
        length = float(np.linalg.norm(following))
        is_last = length <= 1e-12 * max(diagonal)  # the Krylov space is exhausted
        if is_last or step % 10 == 0:
            last, found = found, float(eigvalsh_tridiagonal(diagonal, beside)[-1])
            if is_last or found <= last * 1.001:
                break
        beside.append(length)
        before, vector = vector, following / length
    return found


def moments(bags: Iterable[WeightedBag], n_samples: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the probability of each row and the covariance of each pair, from a list of all bags.

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
    """Return the probability of each other row to be in a bag, given that one row is not in it.

    >>> given_out(np.array([0.5, 0.5]), np.array([[0.25, -0.25], [-0.25, 0.25]]), row=0)  # one of two rows
    array([1.])
    """
    chances: np.ndarray = np.delete(inclusion - covariance[row] / (1 - inclusion[row]), row)
    return chances


# ----------------------------------------------------------------------------------------------------------- eigenvalue
# The largest eigenvalue of the covariance of drawn bags, for guarantees about exactly these bags.
#
# Rows in no bag add nothing, and rows in the same bags add the same, so the cost for small bags of very many rows
# depends on the number of rows in bags. Large bags are stored as bits and unpacked a few at a time.

_BLOCK_BYTES = 2**25  # unpacked bits in memory at the same time


def largest_eigenvalue(bags: Bags, weights: np.ndarray | None = None) -> tuple[float, float]:
    """Return the largest eigenvalue of M_ij = Cov(i in bag, j in bag) / ((1 - p_i) (1 - p_j) n), over drawn bags.

    Also returns the largest share of bags that contain one row. The eigenvalue is an upper bound, tight up to rounding;
    with more than 4,000 bags and rows, where the matrix is not formed, up to a fraction of a percent
    (`eigenvalue_bound`). It never exceeds the trace. `weights` are the probabilities of the bags; None stands for equal
    ones.

    >>> from stablebag.resampling import Bags
    >>> bags = Bags([[0, 1], [0, 2], [1, 3], [2, 3], [0, 3]], n_samples=4)
    >>> eigenvalue, inclusion = largest_eigenvalue(bags)
    >>> round(eigenvalue, 9), inclusion
    (0.625, 0.6)
    """
    if len(bags) == 0:
        raise ValueError("There are no bags to certify. Draw at least one.")
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
    """The matrix X = D (Z - p 1') W^(1/2), rows times bags; X X' has the wanted eigenvalues.

    Z is the inclusion matrix, and D has 1 / ((1 - p_i) sqrt(n)) on its diagonal, times the root of the number of rows
    that share a pattern.
    """

    bags: Bags
    patterns: RowPatterns | None  # None if bags are stored as bits
    root: np.ndarray  # square roots of the bags' weights
    share: np.ndarray  # share of the bags that contain each row
    scale: np.ndarray
    trace: float

    @classmethod
    def of(cls, bags: Bags, weights: np.ndarray | None) -> "_Scaled":
        patterns = RowPatterns.of(bags) if bags.is_thin else None
        alike = np.ones(1) if patterns is None else patterns.counts
        if weights is None:  # counts have no rounding errors
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
        """A bound on the rounding errors of sums over rows and bags, and of the solver (docs/proofs.md, 7)."""
        return 2 * float(np.finfo(float).eps) * (sum(self.shape) + 8) * float(np.sum(self.scale**2 * self.share))

    def blocks(self) -> Iterator[tuple[slice, Any]]:
        """Yield blocks of rows with their part of Z."""
        if self.patterns is not None:
            yield slice(0, len(self.patterns)), self.patterns.matrix
            return
        for rows, inside in self.bags.inclusion_blocks(_BLOCK_BYTES // 8):
            yield rows, inside.T.astype(float)

    def gram(self) -> np.ndarray:
        """Return X' X, bags times bags, or X X' if there are fewer rows."""
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
        """Return X' X V, or X X' V if there are fewer rows; V has one column per vector."""
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
