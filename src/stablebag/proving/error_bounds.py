"""What the bags prove about the leave-one-out error: how far it is from the error of the fitted model on new rows."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy import stats
from scipy.optimize import minimize_scalar

from stablebag._checks import check_real, refuse_value
from stablebag._wording import count_bags, paragraphs, preformatted, rounded_up
from stablebag.resampling.bags import Bags
from stablebag.resampling.covariance import dense_eigenvalue
from stablebag.resampling.schemes import Subbagging

# docs/proofs.md, 17: the mean loss at the training rows, each predicted by the bags without it, minus the expected loss
# of the fitted model at a new row, is a mean of independent centred terms, plus a remainder, plus a drift.

_MOST_EXACT = 2e8  # operations for the eigenvalues of the bags without each row
_MOST_PAIRS = 1e11  # operations to count the bags without each two rows
_BLOCK_BYTES = 2**26
_TAIL = 1e-12  # of how many bags are without a row
_MOST_BAGS_COUNTED = 10**8
_MOST_BAGS_LISTED = 2000  # beyond which a moment of their number is bounded in closed form


def check_confidence_level(value: Any, owner: str) -> float:
    """Return a confidence level as a float in (0, 1)."""
    level = check_real(value, "confidence_level", owner, high=1.0, open_low=True)
    if level == 1:
        raise refuse_value("confidence_level", owner, "below 1", level, "no finite interval is certain.")
    return level


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

    >>> bound = ErrorBound.of_subbags(1000, 100, math.inf, upper=1, lipschitz=1, scale=0.5)
    >>> round(bound.half_width(0.95), 4)
    0.094
    """

    n: int
    upper: float
    remainder: float
    drift: float

    @classmethod
    def of_subbags(
        cls, n: int, bag_size: int, n_bags: float, upper: float, lipschitz: float, scale: float
    ) -> "ErrorBound":
        """Return the bound before any bag is drawn: for this many bags of a size, or infinitely many, and their draw.

        `scale` is the largest possible standard deviation of outputs over bags: half the range of the predictions. The
        drift is bounded in root mean square over the draw.
        """
        remainder = lipschitz * scale * math.sqrt(2 * expected_spread(n, bag_size, n_bags) / n)
        return cls(n, upper, remainder, lipschitz * scale * math.sqrt(_expected_square(n, bag_size, n_bags)))

    def half_width(self, confidence_level: float, *, differs: bool = False, one_sided: bool = False) -> float:
        """Return half the length of an interval that holds with this probability, for every learner.

        Hoeffding's inequality for the independent terms and Chebyshev's for the remainder share what is not covered, in
        the proportion that makes the interval shortest. With `differs`, the loss is a difference of two, in
        [-upper, upper]. With `one_sided`, the interval has one end, and Cantelli's inequality takes the place of
        Chebyshev's: half of what two sides miss is not what one of them does, as a remainder may be lopsided.
        """
        length = 2 * self.upper if differs else self.upper
        missed, sides = 1 - confidence_level, 1 if one_sided else 2

        def total(share: float) -> float:
            independent = length * math.sqrt(math.log(sides / (share * missed)) / (2 * self.n))
            rest = (1 - share) * missed
            return independent + self.remainder * math.sqrt((1 - rest if one_sided else 1.0) / rest)

        if not math.isfinite(self.remainder):
            return math.inf
        if self.remainder == 0:
            return total(1.0 - 1e-12) + self.drift
        best = minimize_scalar(total, bounds=(1e-9, 1 - 1e-9), method="bounded", options={"xatol": 1e-9})
        return float(best.fun) + self.drift

    def half_width_before_draw(self, confidence_level: float) -> float:
        """Return half the length of the interval if `drift` is also a root mean square over the draw of bags."""
        return ErrorBound(self.n, self.upper, self.remainder + self.drift, 0.0).half_width(confidence_level)

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
        return 2 * scale * scale * m * (n - 1) / ((n - 1 - m) * (n - 2)) <= square

    size, high = 0, n - 2
    while size < high:
        middle = (size + high + 1) // 2
        size, high = (middle, high) if is_enough(middle) else (size, middle - 1)
    return size


def expected_spread(n: int, bag_size: int, n_bags: float) -> float:
    """Return the `spread_without_each` of drawn bags of a size, on average over their draw; at most, for any row.

    Of k bags without a row, some are also without a second one. What they predict differs because the law differs, and
    because other bags are averaged (docs/proofs.md, 17). It does not grow with the number of bags.

    >>> round(expected_spread(1000, 100, math.inf), 6)  # (100 / 899) (999 / 998) where all bags are averaged
    0.111346
    >>> round(expected_spread(1000, 100, n_bags=1000), 2)
    0.24
    """
    if n < 3 or bag_size > n - 2:
        return math.inf
    if math.isinf(n_bags):
        return float((n - 1) * _expected_square(n - 1, bag_size, n_bags))
    if n_bags > _MOST_BAGS_COUNTED:  # by Hoeffding, hardly ever fewer; and a square falls with their number
        low = n_bags * (1 - bag_size / n) - math.sqrt(n_bags * math.log(1 / _TAIL) / 2)
        return (n - 1) * (float(_expected_square(n - 1, bag_size, max(1.0, low))) + 8 * _TAIL)
    law = stats.binom(n_bags, 1 - bag_size / n)  # of the bags without a row
    low = max(1.0, float(law.ppf(_TAIL)))
    counts = np.arange(low, law.isf(_TAIL) + 1)
    squares = _expected_square(n - 1, bag_size, counts)
    return (n - 1) * (float(law.pmf(counts) @ squares) + 8 * _TAIL)  # no square is above 4


def _expected_square(n: int, bag_size: int, n_bags: Any) -> Any:
    """The mean over rows of (f - f_i)^2 in units of the variance over bags, on average over the draw of the bags.

    A row in every bag has the middle of the range in place of an average over no bags.
    """
    p = bag_size / n
    counts = np.asarray(n_bags, dtype=float)
    with np.errstate(under="ignore"):
        of_law = p / (1 - p) / (n - 1) * (1 + (1 - p) / (p * counts))
        found = of_law + p / counts + _noise_outside(counts, p) + p**counts
    return float(found) if counts.ndim == 0 else found


def _noise_outside(n_bags: np.ndarray, p: float) -> Any:
    """E (1 - K / B)^2 / K over K > 0, for the number K of B bags without a row."""
    # E 1/K is at most E 1/(K+1) + E 3/((K+1)(K+2)), with equality in the limit.
    inverse = 1 / ((n_bags + 1) * (1 - p)) + 3 / ((n_bags + 1) * (n_bags + 2) * (1 - p) ** 2)
    bound = np.where(np.isinf(n_bags), 0.0, inverse - (1 + p) / n_bags + 2 * p**n_bags / n_bags)
    listed = np.atleast_1d(n_bags)
    if listed.max() > _MOST_BAGS_LISTED:
        return bound
    exact = np.empty(len(listed))
    for place, number in enumerate(listed):
        counts = np.arange(1, number + 1)
        exact[place] = stats.binom.pmf(counts, number, 1 - p) @ ((1 - counts / number) ** 2 / counts)
    return np.minimum(bound, exact.reshape(np.shape(n_bags)))


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

    The effect of leaving out j can become this many times larger if only the bags without i are averaged.
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


# ----------------------------------------------------------------------------------------------------------------- plan
# How large bags may be, and how many rows it takes, for a proved interval of a wished width.

_SIZE = 0.95  # of the largest bags that are proved: the last 5 % would take most of the bags
_SHARES = (0.5, 0.1, 0.01)  # of the rows in a bag, for which the plan says how many rows it takes
_MOST_ROWS = 10**9


@dataclass(frozen=True)
class ErrorPlan:
    """Bags for which the error of the fitted model has a proved interval of a wished width.

    Made by `plan` with ``error_width``.

    Attributes
    ----------
    scheme : ResamplingScheme
        How to draw bags.
    n_bags : int or math.inf
        How many.
    n_samples : int
        The number of training rows.
    width : float
        The width of the interval that is proved with these bags.
    error_width : float
        The width that was asked for.
    confidence_level : float
        The probability with which the interval contains the error.
    lipschitz : float
        How fast the loss changes with the prediction.
    upper : float
        The largest possible loss.
    range_length : float
        The length of the range of the predictions.
    rows : dict of float to int
        For some shares of the rows in a bag, the number of rows that would be enough; none where a billion is not.
    """

    scheme: Any
    n_bags: int | float
    n_samples: int
    width: float
    error_width: float
    confidence_level: float
    lipschitz: float
    upper: float
    range_length: float
    rows: dict[float, int]

    def explain(self) -> str:
        """Explain in sentences what to use, and what is then proved."""
        use = f"Use {self.scheme.resolve(self.n_samples)}, with {count_bags(self.n_bags)}."
        draw = "independent rows" if math.isinf(self.n_bags) else "independent rows and of the bags"
        steep = "as much as" if self.lipschitz == 1 else f"{self.lipschitz:g} times as much as"
        proved = (
            f"Proved for every learner: with probability {100 * self.confidence_level:g}% over the draw of {draw}, an "
            f"interval of width {rounded_up(self.width)} contains the expected loss of the fitted model at a new row. "
            f"The loss is from 0 to {self.upper:g} and changes at most {steep} the prediction, which is in a fixed "
            f"range of length {self.range_length:g}."
        )
        enough = [f"{n:,} rows for bags of {100 * share:g}% of them" for share, n in self.rows.items()]
        others = [f"Larger or smaller bags need other numbers of rows: {', '.join(enough)}."] if enough else []
        return paragraphs([use, proved, *others])

    def __str__(self) -> str:
        return self.explain()

    def _repr_html_(self) -> str:
        """For notebooks."""
        return preformatted(self.explain())


def plan_error(
    n_samples: int,
    error_width: float,
    confidence_level: float = 0.95,
    *,
    lipschitz: float = 1.0,
    upper: float = 1.0,
    range_length: float = 1.0,
    max_bags: int | float = 10_000,
    max_bag_size: int | None = None,
    given: Mapping[str, Any] | None = None,
) -> ErrorPlan:
    """Find large subbags, and then the fewest of them, for a proved interval of the wished width.

    What else was given to `plan` must be None: it is about stability.
    """
    for name, value in (given or {}).items():
        if value is not None:
            reason = "such a plan is for subbags, and for predictions in a fixed range."
            raise refuse_value(name, "plan", "left out with error_width", value, reason)
    error_width = check_real(error_width, "error_width", "plan", open_low=True, finite=True)
    confidence_level = check_confidence_level(confidence_level, "plan")
    lipschitz = check_real(lipschitz, "lipschitz", "plan", finite=True)
    upper = check_real(upper, "upper", "plan", open_low=True, finite=True)
    about = {"upper": upper, "lipschitz": lipschitz, "scale": range_length / 2}

    def width(n: int, size: int, n_bags: int | float) -> float:
        bound = ErrorBound.of_subbags(n, size, n_bags, **about)
        if math.isinf(n_bags):
            return 2 * bound.half_width(confidence_level)
        # At low levels, the interval of drawn bags is wider: its drift is that of the worst learner for these bags.
        drawn = ErrorBound(n, upper, bound.remainder, math.sqrt(2) * bound.drift).half_width(confidence_level)
        return 2 * max(drawn, bound.half_width_before_draw(confidence_level))

    def enough_rows(size: Callable[[int], int]) -> int:
        """The smallest number of rows that is enough with bags of a size that depends on it; 0 if a billion is not."""
        high = 3
        while width(high, size(high), max_bags) > error_width:
            high *= 2
            if high > _MOST_ROWS:
                return 0
        low = high // 2
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if width(middle, size(middle), max_bags) <= error_width else (middle + 1, high)
        return low

    if n_samples < 3 or width(n_samples, 1, max_bags) > error_width:
        rows, best = enough_rows(lambda n: 1), width(n_samples, 1, max_bags)
        ways = [f"error_width >= {rounded_up(best)}"] if math.isfinite(best) and best < upper else []
        ways += [f"{rows:,} rows or more"] if rows else []
        ways += ["more bags"] if width(n_samples, 1, math.inf) <= error_width else []
        raise ValueError(
            f"No bags of {n_samples:,} rows, at most {count_bags(max_bags)}, prove an interval of width "
            f"{error_width:g} for the error. Possible: {', or '.join(ways) or 'nothing; use a larger error_width'}."
        )
    low, high = 1, n_samples - 2
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if width(n_samples, middle, max_bags) <= error_width else (low, middle - 1)
    size, n_bags = max(1, low if math.isinf(max_bags) else math.floor(_SIZE * low)), max_bags
    size = size if max_bag_size is None else min(size, max_bag_size)
    if isinstance(max_bags, int):
        few, many = 1, max_bags
        while few < many:
            middle = (few + many) // 2
            few, many = (few, middle) if width(n_samples, size, middle) <= error_width else (middle + 1, many)
        n_bags = few
    enough = {share: enough_rows(partial(_share_of, share)) for share in _SHARES}
    found = width(n_samples, size, n_bags)
    known = {share: number for share, number in enough.items() if number}
    return ErrorPlan(Subbagging(size), n_bags, n_samples, found, error_width, confidence_level, lipschitz, upper,
                     range_length, known)  # fmt: skip


def _share_of(share: float, n: int) -> int:
    return max(1, int(share * n))
