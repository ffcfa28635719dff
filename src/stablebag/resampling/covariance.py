"""The covariance of who is in a bag, and its norm: the one number through which a law of bags enters the guarantees.

Z_i is 1 if row i is in the bag, pi_i is the chance of that, and

    M_ij = Cov(Z_i, Z_j) / (n (1 - pi_i) (1 - pi_j)).

The largest eigenvalue of M bounds the mean square of what leaving out a row does (docs/proofs.md, 11). If all rows are
alike it is the bagging constant c of the paper.
"""

import math
from collections.abc import Callable, Iterable
from fractions import Fraction

import numpy as np
from scipy.linalg import eigvalsh_tridiagonal

from stablebag.resampling.assumptions import WeightedBag

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
