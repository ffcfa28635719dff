"""Finitely many bags: what drawing them at random costs."""

import math
from functools import lru_cache

import numpy as np
from scipy.optimize import brentq

from stablebag._checks import as_share, check_bags, check_delta, check_epsilon, check_real, whole_rows
from stablebag.proving.bounds.average_case import average_case_epsilon, kth_perturbation
from stablebag.proving.bounds.constant import check_constant
from stablebag.proving.coupling import ANY, Coupling, as_coupling


def monte_carlo_radius(n_bags: float, monte_carlo_delta: float, coupling: Coupling | str = ANY) -> float:
    """Return what drawing finitely many bags adds to epsilon, at the price of `monte_carlo_delta`.

    Theorem 9: if derandomized bagging is (epsilon, delta)-stable by Theorem 8, then bagging with B bags is
    (epsilon + sqrt(2 / B log(4 / delta')), delta + delta')-stable, for any delta' > 0. Proved here (docs/proofs.md, 4):
    if the bags with and without a row are drawn independently of each other (`coupling` "independent"), Hoeffding's
    inequality for all 2 B of them gives sqrt(1 / B log(2 / delta')).

    >>> round(monte_carlo_radius(n_bags=10_000, monte_carlo_delta=0.05), 6)
    0.029604
    """
    n_bags = check_bags(n_bags, "monte_carlo_radius")
    if math.isinf(n_bags):
        return 0.0
    monte_carlo_delta = check_delta(monte_carlo_delta, "monte_carlo_radius", name="monte_carlo_delta")
    if monte_carlo_delta == 0:
        return math.inf
    return float(as_coupling(coupling, "monte_carlo_radius").radius(n_bags, monte_carlo_delta))


def finite_bags_epsilon(delta: float, constant: float, n_bags: float) -> tuple[float, float]:
    """Return Theorem 9's epsilon for a total share `delta`, and the part delta' of that share for the bags.

    Theorem 9 holds for every split of delta between its two terms; this is the split with the smallest sum
    sqrt(c / (4 (delta - delta'))) + sqrt(2 / B log(4 / delta')), which is convex in delta'.

    >>> epsilon, monte_carlo_delta = finite_bags_epsilon(delta=0.05, constant=1 / 999, n_bags=1000)
    >>> round(epsilon, 4), round(monte_carlo_delta, 4)
    (0.1885, 0.0094)
    """
    delta = check_delta(delta, "finite_bags_epsilon")
    n_bags = check_bags(n_bags, "finite_bags_epsilon")
    if math.isinf(n_bags):
        return average_case_epsilon(delta, constant), 0.0
    if delta == 0:
        return math.inf, 0.0
    split = _best_split(delta, check_constant(constant, "finite_bags_epsilon") / 4, n_bags)
    return average_case_epsilon(delta - split, constant) + monte_carlo_radius(n_bags, split), split


def finite_bags_rows_epsilon(
    delta: float, n_samples: int, constant: float, p: float, n_bags: float, coupling: Coupling | str = ANY
) -> tuple[float, int]:
    """Return Theorem 9's epsilon counting whole rows, and the number of rows k that may exceed its first term.

    The proof of Theorem 9 adds the bags' term to *any* bound on derandomized bagging: here to the bound on the
    (k + 1)-th largest perturbation, by Theorems 8 and 14, with delta' = delta - k / n left for the bags. The best k is
    taken, among all up to 64 and then in steps of a few per cent. The result is at most 1, and falls as delta grows.

    >>> epsilon, rows = finite_bags_rows_epsilon(0.05, n_samples=1000, constant=1 / 999, p=0.5, n_bags=1000)
    >>> round(epsilon, 4), rows
    (0.1876, 40)
    """
    delta = check_delta(delta, "finite_bags_rows_epsilon")
    n_bags = check_bags(n_bags, "finite_bags_rows_epsilon")
    constant = check_constant(constant, "finite_bags_rows_epsilon")
    if math.isinf(n_bags):
        rows = whole_rows(delta, n_samples)
        return kth_perturbation(rows + 1, n_samples, constant, p), rows
    if delta == 0:
        return 1.0, 0
    grid = _grid(n_samples)
    left = float(as_share(delta, n_samples)) - grid / n_samples
    grid, left = grid[left > 0], left[left > 0]
    first = np.minimum(np.sqrt(n_samples * constant / (4 * (grid + 1.0))), p)
    total = first + as_coupling(coupling, "finite_bags_rows_epsilon").radius(n_bags, left)
    best = int(total.argmin())
    return min(1.0, float(total[best])), int(grid[best])


@lru_cache(maxsize=64)
def _grid(n_samples: int) -> np.ndarray:
    """The numbers of rows that are tried: the same for every delta, so that the epsilon falls as delta grows."""
    few = np.arange(min(n_samples, 64))
    wide = np.minimum(np.geomspace(1, n_samples, 400), 2.0**62).astype(np.int64)
    return np.unique(np.concatenate([few, wide]))


def finite_bags_delta(epsilon: float, constant: float, n_bags: float) -> float:
    """Return the smallest total share delta + delta' for which Theorem 9, best split, promises `epsilon`.

    With random bags delta bounds an average of probabilities over the rows, so it is not a multiple of 1 / n.

    >>> round(finite_bags_delta(epsilon=0.18852, constant=1 / 999, n_bags=1000), 4)
    0.05
    """
    epsilon = check_epsilon(epsilon, "finite_bags_delta")
    n_bags = check_bags(n_bags, "finite_bags_delta")
    quarter = check_constant(constant, "finite_bags_delta") / 4
    if math.isinf(epsilon):
        return 0.0
    if math.isinf(n_bags):
        return 1.0 if quarter >= epsilon * epsilon else quarter / epsilon / epsilon
    # Split epsilon = first + rest; delta' = 4 exp(-B rest^2 / 2) is below 1, and then convex, where rest is at least:
    widest = epsilon - math.sqrt(2 / n_bags * math.log(4))
    if widest <= 0:
        return 1.0

    def slope(first: float) -> float:
        rest = epsilon - first
        return 4 * n_bags * rest * math.exp(-n_bags * rest * rest / 2) - 2 * quarter / first / first / first

    narrowest = widest * 1e-9
    if slope(widest) <= 0:
        first = widest
    elif slope(narrowest) >= 0:
        first = narrowest
    else:
        first = brentq(slope, narrowest, widest)
    rest = epsilon - first
    return min(1.0, quarter / first / first + 4 * math.exp(-n_bags * rest * rest / 2))


def second_moment_epsilon(delta: float, constant: float, n_bags: float, coupling: Coupling | str = ANY) -> float:
    """Return the perturbation that at most a share `delta` of the rows exceeds with finitely many bags, by Chebyshev.

    Proved here (docs/proofs.md, 4): both predictions are unbiased for their limits with infinitely many bags, so the
    squares of the limit's perturbation and of the noise add up, and delta epsilon^2 >= c / 4 + 1 / B is enough,
    however the bags with and without a row are coupled. If they are drawn independently, c / 4 + 1 / (2 B) is.

    >>> round(second_moment_epsilon(delta=0.05, constant=1 / 999, n_bags=1000), 4)
    0.1581
    >>> round(second_moment_epsilon(delta=0.05, constant=1 / 999, n_bags=1000, coupling="independent"), 4)
    0.1225
    """
    delta = check_delta(delta, "second_moment_epsilon")
    return math.inf if delta == 0 else mean_square_perturbation(constant, n_bags, coupling) / math.sqrt(delta)


def second_moment_delta(epsilon: float, constant: float, n_bags: float, coupling: Coupling | str = ANY) -> float:
    """Return the share of rows that may exceed `epsilon` with finitely many bags: (c / 4 + 1 / B) / epsilon^2.

    Proved here (docs/proofs.md, 4), as `second_moment_epsilon`. At most 1.

    >>> second_moment_delta(epsilon=0.5, constant=0.04, n_bags=100)
    0.08
    """
    epsilon = check_epsilon(epsilon, "second_moment_delta")
    root = mean_square_perturbation(constant, n_bags, coupling)
    return 1.0 if root >= epsilon else (root / epsilon) ** 2


def mean_square_perturbation(constant: float, n_bags: float = math.inf, coupling: Coupling | str = ANY) -> float:
    """Bound the root of the mean over rows of the expected squared perturbation: sqrt(c / 4 + 1 / B).

    By the proof of Theorem 8 for infinitely many bags; proved here (docs/proofs.md, 4) for B bags. With bags drawn
    independently with and without a row, 1 / (2 B) takes the place of 1 / B.

    >>> round(mean_square_perturbation(constant=0.04, n_bags=100), 9)
    0.141421356
    """
    n_bags = check_bags(n_bags, "mean_square_perturbation")
    quarter = check_constant(constant, "mean_square_perturbation") / 4
    return math.sqrt(as_coupling(coupling, "mean_square_perturbation").mean_square(quarter, n_bags))


def finite_bags_mean(derandomized: float, n_bags: float, coupling: Coupling | str = ANY) -> float:
    """Bound the mean over rows of the expected perturbation with B bags by that with infinitely many, plus 1 / sqrt(B).

    Proved here (docs/proofs.md, 4), by the second moment of the noise, whereas Corollary 15 integrates Hoeffding's
    inequality and adds sqrt(2 pi / B). With bags drawn independently with and without a row, 1 / sqrt(2 B) is added.

    >>> round(finite_bags_mean(0.05, n_bags=10_000), 6)
    0.06
    """
    derandomized = check_real(derandomized, "derandomized", "finite_bags_mean")
    return min(1.0, derandomized + mean_square_perturbation(0.0, n_bags, coupling))


def bags_to_double(epsilon: float, delta: float) -> int | float:
    """Return how many bags turn a derandomized (epsilon, delta) into (2 epsilon, 2 delta), by Theorem 9.

    >>> bags_to_double(epsilon=0.1, delta=0.05)  # 2 / 0.01 * log(80) = 876.4
    877
    """
    epsilon = check_epsilon(epsilon, "bags_to_double", open_low=True)
    delta = check_real(delta, "delta", "bags_to_double", high=1.0, open_low=True)
    n_bags = 2 / epsilon / epsilon * math.log(4 / delta)
    return n_bags if math.isinf(n_bags) else math.ceil(n_bags)


def _best_split(delta: float, quarter: float, n_bags: float) -> float:
    """Return the delta' in (0, delta) that minimizes sqrt(quarter / (delta - delta')) + sqrt(2 / B log(4 / delta'))."""

    def rising_over_falling(split: float) -> float:
        """The log of the ratio of the two terms' slopes; it grows with delta' and is zero at the minimum."""
        rising = math.log(quarter) / 2 - 1.5 * math.log(delta - split)
        return rising + math.log(split) + math.log(math.log(4 / split) * n_bags / 2) / 2

    low, high = delta * 1e-12, delta * (1 - 1e-9)
    if low == 0:  # a delta near the smallest float: every split is valid, but none is useful
        return delta / 2
    if quarter == 0 or rising_over_falling(high) <= 0:
        return high
    if rising_over_falling(low) >= 0:
        return low
    return float(brentq(rising_over_falling, low, high, xtol=delta * 1e-14))
