"""What the bags prove about the leave-one-out error: how far it is from the error of the fitted model on new rows."""

import math
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize_scalar

from stablebag.resampling.bags import Bags
from stablebag.resampling.covariance import dense_eigenvalue
from stablebag.resampling.law import ResolvedScheme

# docs/proofs.md, 17: the mean loss at the training rows, each predicted by the bags without it, minus the expected loss
# of the fitted model at a new row, is a mean of independent centred terms, plus a remainder, plus a drift.

_MOST_EXACT = 2e8  # operations for the eigenvalues of the bags without each row
_MOST_PAIRS = 1e11  # operations to count the bags without each two rows
_BLOCK_BYTES = 2**26


@dataclass(frozen=True)
class ErrorBound:
    """How far the leave-one-out error of a fitted model can be from its expected loss at a new row.

    Parameters
    ----------
    n : int
        How many independent rows, or groups of rows, the error is the mean of.
    upper : float
        The largest possible loss; the smallest is 0.
    remainder : float
        A bound on the root mean square of what the losses of different rows share, which has mean zero.
    drift : float
        A bound on the mean difference, in expected loss, between the model and itself without a row.

    Examples
    --------
    All bags of 100 of 1,000 rows, and a loss in [0, 1] with Lipschitz constant 1:

    >>> from stablebag import Subbagging
    >>> bound = ErrorBound.of_all_bags(Subbagging(100).resolve(1000), upper=1, lipschitz=1, scale=0.5)
    >>> round(bound.half_width(0.95), 4)
    0.094
    """

    n: int
    upper: float
    remainder: float
    drift: float

    @classmethod
    def of_all_bags(cls, law: ResolvedScheme, upper: float, lipschitz: float, scale: float) -> "ErrorBound":
        """Return the bound for all bags of a law under which all rows are alike.

        `scale` is the largest possible standard deviation of outputs over bags: half the range of the predictions.
        """
        n = law.n_samples
        if n < 3:
            return cls(n, upper, math.inf, lipschitz * scale * math.sqrt(law.constant))
        squares = (n - 1) * law.without_one().constant
        remainder = lipschitz * scale * math.sqrt(2 * squares / n)
        return cls(n, upper, remainder, lipschitz * scale * math.sqrt(law.constant))

    def half_width(self, confidence_level: float, *, differs: bool = False) -> float:
        """Return half the length of an interval that holds with this probability, for every learner.

        Hoeffding's inequality for the independent terms and Chebyshev's for the remainder share what is not covered, in
        the proportion that makes the interval shortest. With `differs`, the loss is a difference of two, in
        [-upper, upper].
        """
        length = 2 * self.upper if differs else self.upper
        missed = 1 - confidence_level

        def total(share: float) -> float:
            independent = length * math.sqrt(math.log(2 / (share * missed)) / (2 * self.n))
            return independent + self.remainder / math.sqrt((1 - share) * missed)

        if not math.isfinite(self.remainder):
            return math.inf
        if self.remainder == 0:
            return total(1.0 - 1e-12) + self.drift
        best = minimize_scalar(total, bounds=(1e-9, 1 - 1e-9), method="bounded", options={"xatol": 1e-9})
        return float(best.fun) + self.drift

    def __add__(self, other: "ErrorBound") -> "ErrorBound":
        """Return the bound for the difference of two models' losses at the same rows."""
        upper = max(self.upper, other.upper)
        return ErrorBound(self.n, upper, self.remainder + other.remainder, self.drift + other.drift)


def largest_proving_size(n: int, scale: float, square: float) -> int:
    """Return the largest m such that n times the squared remainder, for all bags of m of n rows, is at most `square`.

    `scale` is the Lipschitz constant of the loss times the largest standard deviation over bags.

    >>> largest_proving_size(1000, scale=0.5, square=0.01)
    19
    """
    if n < 3:
        return 0

    def is_enough(m: int) -> bool:
        return 2 * scale**2 * m * (n - 1) / ((n - 1 - m) * (n - 2)) <= square

    size, high = 0, n - 2
    while size < high:
        middle = (size + high + 1) // 2
        size, high = (middle, high) if is_enough(middle) else (size, middle - 1)
    return size


def spread_without_each(bags: Bags, weights: np.ndarray | None, eigenvalue: float, rows: np.ndarray) -> np.ndarray:
    """Return, for some rows i, a bound on what leaving out each other row does to the average over the bags without i.

    For every learner and every point, the sum over j of (f_i - f_ij)^2 is at most this times the variance over the bags
    without i, where f_i is the average over the bags without row i and f_ij over those without i and j. It is the
    largest eigenvalue for the bags without i: exactly if there are few, and otherwise bounded by the one for all bags.

    Parameters
    ----------
    bags : Bags
        The bags.
    weights : ndarray of shape (n_bags,) or None
        Their weights, which add up to one; None stands for equal ones.
    eigenvalue : float
        The `largest_eigenvalue` of all bags.
    rows : ndarray of int
        The rows i.

    Returns
    -------
    ndarray of shape (n_rows,)
        Infinite where no bag is without both i and another row.

    Examples
    --------
    >>> import itertools
    >>> bags = Bags(itertools.combinations(range(5), 2), n_samples=5)
    >>> from stablebag.resampling.covariance import largest_eigenvalue
    >>> spread_without_each(bags, None, largest_eigenvalue(bags)[0], np.array([0])).round(9)  # 2/2 * 4/3
    array([1.33333333])
    """
    n = bags.n_samples
    weights = np.full(len(bags), 1 / len(bags)) if weights is None else weights
    if n > 2 and len(rows) * float(n) ** 2 * (n + len(bags)) <= _MOST_EXACT:
        inside = bags.inclusion.astype(float)
        return np.array([_of_bags_without(inside[inside[:, row] == 0], weights[inside[:, row] == 0]) for row in rows])
    without = 1 - bags.inclusion_weights(weights)
    with np.errstate(divide="ignore", invalid="ignore"):
        bound = n * eigenvalue / without[rows] * _largest_ratio(bags, weights, without, rows) ** 2
    return np.where(np.isnan(bound), math.inf, bound)


def _of_bags_without(inside: np.ndarray, weights: np.ndarray) -> float:
    """The largest eigenvalue for the bags without one row, from who is in these bags."""
    total = float(weights.sum())
    if total == 0:
        return math.inf
    share = weights @ inside / total
    row = int(np.argmin(share))  # one that is in none of them adds nothing: the row itself
    others = np.arange(len(share)) != row
    if share[others].max() > 1 - 1e-12:
        return math.inf
    scaled = (inside[:, others] - share[others]) / (1 - share[others]) * np.sqrt(weights / total)[:, None]
    matrix = scaled @ scaled.T if len(scaled) < scaled.shape[1] else scaled.T @ scaled
    return max(0.0, dense_eigenvalue(matrix)) * (1 + 1e-12)


def _largest_ratio(bags: Bags, weights: np.ndarray, without: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """For each row i, the largest of w_i w_j / w_ij over the other rows j: weights of the bags without one, and both.

    So many times larger can what leaving out j does become if only the bags without i are averaged.
    """
    n, found = bags.n_samples, np.zeros(len(rows))
    if float(len(rows)) * n * len(bags) > _MOST_PAIRS:  # w_ij is at least w_i + w_j - 1, and the ratio falls with w_j
        most = int(np.argmin(without))
        others = np.where(rows == most, np.delete(without, most).min(), without[most])
        both = without[rows] + others - 1
        return np.asarray(np.where(both > 0, without[rows] * others / both, np.inf))
    outside = bags.outside(slice(0, n)).astype(np.float32)
    counted = bool((weights == weights[0]).all())  # counts are exact in single precision
    weighted = outside if counted else outside * weights[:, None].astype(np.float32)
    unit = weights[0] if counted else 1 - 1e-5  # more than rounding adds
    step = max(1, _BLOCK_BYTES // (8 * n))
    for first in range(0, len(rows), step):
        block = rows[first : first + step]
        both = (weighted[:, block].T @ outside).astype(float) * unit
        ratio = without[block][:, None] * without / both
        ratio[np.arange(len(block)), block] = 0
        found[first : first + step] = ratio.max(axis=1)
    return found
