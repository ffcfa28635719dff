"""The covariance of who is in a bag, and its norm: the one number through which a law of bags enters the guarantees.

Z_i is 1 if row i is in the bag, pi_i is the chance of that, and

    M_ij = Cov(Z_i, Z_j) / (n (1 - pi_i) (1 - pi_j)).

The largest eigenvalue of M bounds the mean square of what leaving out a row does (docs/proofs.md, 11). If all rows are
alike it is the bagging constant c of the paper.
"""

import math
from collections.abc import Iterable
from fractions import Fraction

import numpy as np
from scipy.sparse.linalg import eigsh

from stablebag.resampling.assumptions import WeightedBag

_DENSE = 400  # matrices up to this size are solved densely
_SEED = 20240131  # for the Lanczos iteration's first vector: the same law always gives the same bits
_ROUNDING = 1e-12


def symmetric_norm(n_samples: int, p: float | Fraction, q: float | Fraction) -> float:
    """Return the norm of M if all rows are alike: (p / (1 - p) + q / (1 - p)^2) / n, and another where q < 0.

    >>> symmetric_norm(n_samples=5, p=0.5, q=0.05)  # (1 + 0.2) / 5
    0.24
    """
    spread = q if q >= 0 else -(n_samples - 1) * q
    return float((p / (1 - p) + spread / (1 - p) ** 2) / n_samples)  # exact if p and q are fractions


def norm_of(inclusion: np.ndarray, covariance: np.ndarray) -> float:
    """Return the largest eigenvalue of M, from the chance of each row and the covariance of each two.

    Beyond 400 rows it is found by Lanczos iteration, with the residual added; the trace is a bound in any case.

    >>> round(norm_of(np.array([0.5, 0.5]), np.array([[0.25, -0.25], [-0.25, 0.25]])), 9)  # one of two rows
    1.0
    """
    scale = 1 / ((1 - inclusion) * math.sqrt(len(inclusion)))
    matrix = covariance * scale * scale[:, None]
    if len(matrix) <= _DENSE:
        return max(0.0, float(np.linalg.eigvalsh((matrix + matrix.T) / 2)[-1])) * (1 + _ROUNDING)
    start = np.random.default_rng(_SEED).normal(size=len(matrix))
    (value,), vector = eigsh(matrix, k=1, which="LA", v0=start, tol=1e-8)
    off = float(np.linalg.norm(matrix @ vector[:, 0] - value * vector[:, 0]))
    return min(float(np.trace(matrix)), float(value) + off) * (1 + _ROUNDING)


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
