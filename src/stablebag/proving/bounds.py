"""The bounds: every theorem of the paper as a function, and those proved in docs/proofs.md."""

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import gammaln

from stablebag._checks import (
    as_share,
    check_bags,
    check_choice,
    check_delta,
    check_epsilon,
    check_integer,
    check_real,
    check_samples,
    refuse_value,
    whole_rows,
)
from stablebag.proving.coupling import ANY, Coupling, Matched, as_coupling
from stablebag.resampling.covariance import symmetric_norm

# ------------------------------------------------------------------------------------------------------------- constant
# The one number through which a scheme enters the guarantees, and what shifts it.


def bagging_constant(n_samples: int, p: float | Fraction, q: float | Fraction) -> float:
    """Return c = (p / (1 - p) + q / (1 - p)^2) / n, the one number through which a scheme enters the guarantees.

    By the proof of Theorem 8, the mean over rows of the squared leave-one-out perturbation of derandomized bagging
    is at most c times the variance of the prediction over bags, hence at most c / 4. For q < 0, which the paper does
    not cover, c = (p / (1 - p) - (n - 1) q / (1 - p)^2) / n (docs/proofs.md, notation). For a law that does not treat
    all rows alike it is `ResolvedScheme.constant`, by Proposition 5 of Barber and Samworth (2026).

    >>> bagging_constant(n_samples=5, p=0.5, q=0.05)  # (1 + 0.2) / 5
    0.24
    >>> bagging_constant(n_samples=5, p=0.5, q=-0.05)  # (1 + 4 * 0.2) / 5
    0.36
    """
    n_samples = check_samples(n_samples, "bagging_constant")
    check_inclusion(p, "bagging_constant")
    check_real(q, "q", "bagging_constant", low=-0.25, high=0.25)
    return symmetric_norm(n_samples, p, q)


def empty_bags_shift(chance: float, n_classes: int, n_lost: int = 1, *, vector: bool = False) -> float:
    """Return how far bags without rows alone can move a classifier's average when classes lose their only row.

    Proved here (docs/proofs.md, 9): such bags give L classes the probability 1 / L each, and without `n_lost` = j of
    them 1 / (L - j) to the others. If they are a share `chance` of the bags without the row, they move the average of a
    class by at most chance max(1 / L, j / (L (L - j))), which is chance / L for one class, and the vector of all
    classes by chance sqrt(j / (L (L - j))). A row can take one class away, and a unit of several rows more.

    >>> empty_bags_shift(chance=0.5, n_classes=5)
    0.1
    >>> empty_bags_shift(chance=0.5, n_classes=5, n_lost=4)  # the last class gets 1 in place of 1 / 5
    0.4
    """
    owner = "empty_bags_shift"
    chance = check_real(chance, "chance", owner, high=1.0)
    n_classes = check_integer(n_classes, "n_classes", owner, minimum=1)
    n_lost = check_integer(n_lost, "n_lost", owner, minimum=1)
    left = max(1, n_classes - n_lost)
    return chance * (math.sqrt(n_lost / (n_classes * left)) if vector else max(1, n_lost / left) / n_classes)


def shifted_constant(constant: float, shift: float, share: float) -> float:
    """Return what takes the place of c if a share of the rows moves the average by a `shift` for another reason.

    Proved here (docs/proofs.md, 9), by Minkowski's inequality for the mean square over rows:
    4 (sqrt(c / 4) + shift sqrt(share))^2.

    >>> round(shifted_constant(constant=0.04, shift=0.2, share=0.25), 9)  # 4 (0.1 + 0.1)^2
    0.16
    """
    constant = check_constant(constant, "shifted_constant")
    shift = check_real(shift, "shift", "shifted_constant")
    share = check_delta(share, "shifted_constant", name="share")
    return constant if shift == 0 else 4 * (math.sqrt(constant / 4) + shift * math.sqrt(share)) ** 2


def check_inclusion(p: float | Fraction, owner: str) -> float:
    """Return the chance p that a row is in a bag, in (0, 1)."""
    p = check_real(p, "p", owner, high=1.0, open_low=True)
    if p == 1:
        raise refuse_value("p", owner, "below 1", p, "every row is in every bag. Use smaller bags.")
    return p


def check_constant(constant: float, owner: str) -> float:
    """Return the bagging constant."""
    return check_real(constant, "constant", owner, reason="it is what bagging_constant returns.")


# --------------------------------------------------------------------------------------------------------- average case
# Infinitely many bags: how many rows can move a prediction far, and how far any one row can.


def average_case_epsilon(delta: float, constant: float) -> float:
    """Return the smallest perturbation that Theorem 8 allows at most a share `delta` of the rows to exceed.

    Theorem 8: derandomized bagging of any learner is (epsilon, delta)-stable as soon as delta epsilon^2 >= c / 4.
    This says nothing about delta = 0, for which epsilon is infinite.

    >>> average_case_epsilon(delta=0.25, constant=0.01)
    0.1
    """
    delta = check_delta(delta, "average_case_epsilon")
    constant = check_constant(constant, "average_case_epsilon")
    return math.inf if delta == 0 else math.sqrt(constant / (4 * delta))


def average_case_delta(epsilon: float, constant: float, n_samples: int) -> float:
    """Return the share of rows that may move the prediction by more than `epsilon`, by Theorem 8.

    Theorem 8 solved for delta: the number of such rows is at most n c / (4 epsilon^2), and whole. At most 1.

    >>> average_case_delta(epsilon=0.1, constant=0.01, n_samples=10)  # 2.5 rows of 10, so 2
    0.2
    """
    epsilon = check_epsilon(epsilon, "average_case_delta")
    n_samples = check_samples(n_samples, "average_case_delta")
    constant = check_constant(constant, "average_case_delta")
    rows = math.inf if epsilon == 0 else n_samples * constant / 4 / epsilon / epsilon
    return math.floor(rows) / n_samples if rows < n_samples else 1.0


def kth_perturbation(rank: int, n_samples: int, constant: float, p: float) -> float:
    """Bound the `rank`-th largest of the n leave-one-out perturbations, by Theorems 8 and 14.

    Whole rows are counted: if the k-th largest perturbation is epsilon, then k epsilon^2 <= n c / 4 (mean square, proof
    of Theorem 8), and no perturbation exceeds p (Theorem 14). So at most k - 1 rows move the prediction by more
    than the value returned. This is a little sharper than Theorem 8 at delta = (k - 1) / n.

    >>> kth_perturbation(rank=4, n_samples=16, constant=0.01, p=0.5)  # sqrt(16 * 0.01 / 4 / 4)
    0.1
    >>> kth_perturbation(rank=17, n_samples=16, constant=0.01, p=0.5)  # there is no 17th row
    0.0
    """
    rank = check_integer(rank, "rank", "kth_perturbation", minimum=1)
    p = check_inclusion(p, "kth_perturbation")
    if rank > n_samples:
        return 0.0
    return min(math.sqrt(n_samples * check_constant(constant, "kth_perturbation") / (4 * rank)), p)


def worst_case_epsilon(p: float) -> float:
    """Return the largest perturbation that any one row can cause in derandomized bagging.

    Theorem 14: it is p, for every learner, and the memorizing learner attains it.

    >>> worst_case_epsilon(p=0.5)
    0.5
    """
    return check_inclusion(p, "worst_case_epsilon")


def memorizer_in_sample_delta(epsilon: float, p: float) -> float:
    """Return the share of rows that move the memorizing learner's prediction *at that row* by more than epsilon.

    Section 5.2: each row moves the prediction at itself by exactly p. So the share is 1 for epsilon < p and 0 for
    epsilon >= p (the printed display has the boundary on the other side).

    >>> memorizer_in_sample_delta(0.49, p=0.5), memorizer_in_sample_delta(0.5, p=0.5)
    (1.0, 0.0)
    """
    epsilon = check_epsilon(epsilon, "memorizer_in_sample_delta")
    return 1.0 if epsilon < check_inclusion(p, "memorizer_in_sample_delta") else 0.0


# ---------------------------------------------------------------------------------------------------------- finite bags
# Finitely many bags: what drawing them at random costs.


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
    delta: float,
    n_samples: int,
    constant: float,
    p: float,
    n_bags: float,
    coupling: Coupling | str = ANY,
    noise: Callable[[np.ndarray], np.ndarray] | None = None,
) -> tuple[float, int]:
    """Return Theorem 9's epsilon counting whole rows, and the number of rows k that may exceed its first term.

    The proof of Theorem 9 adds the bags' term to *any* bound on derandomized bagging: here to the bound on the
    (k + 1)-th largest perturbation, by Theorems 8 and 14, with delta' = delta - k / n left for the bags. The best k is
    taken, among all up to 64 and then in steps of a few per cent. The result is at most 1, and falls as delta grows.
    For vectors, `noise` gives the bags' term for each delta'.

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
    coupling = as_coupling(coupling, "finite_bags_rows_epsilon")
    total = first + (coupling.radius(n_bags, left) if noise is None else noise(left))
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


# ----------------------------------------------------------------------------------------------------------- impossible
# What cannot be guaranteed: levels below which some learner is unstable.


def threshold_perturbation(n_samples: int, bag_size: int, n_influential: int) -> float:
    """Return exactly how far each of K rows moves the subbagged threshold learner.

    Theorem 10's learner predicts 1 if its m rows have more than m K / n ones. On K ones and n - K zeros, leaving
    out any one of the ones moves its subbagged prediction by ((m - h) / n) P{H = h}, where h = floor(m K / n) and
    H is hypergeometric: m draws from n - 1 rows, K - 1 of them marked.

    >>> round(threshold_perturbation(n_samples=6, bag_size=3, n_influential=2), 12)  # 2/6 * C(4, 2) / C(5, 3)
    0.2
    """
    owner = "threshold_perturbation"
    n, m = _check_subbagging(n_samples, bag_size, owner)
    n_influential = check_integer(n_influential, "n_influential", owner, minimum=1)
    if n_influential > n:
        reason = "they are some of the rows."
        raise refuse_value("n_influential", owner, f"at most n_samples={n}", n_influential, reason)
    h = (m * n_influential) // n
    return (m - h) / n * _hypergeometric(h, n - 1, n_influential - 1, m)


def unstable_epsilon(n_samples: int, bag_size: int, delta: float, bound: str = "best") -> float:
    """Return the level below which nothing can be guaranteed: subbagging some learner is not (epsilon, delta)-stable.

    Theorem 10: for every epsilon below this level, subbagging m of n rows fails to be (epsilon, delta)-stable for a
    certain learner with outputs in [0, 1] (`stablebag.paper.counterexamples.ThresholdCount`).

    Parameters
    ----------
    n_samples : int
        The number of training rows n.
    bag_size : int
        The number of rows in a bag, m < n.
    delta : float
        The share of rows that may move the prediction further; below 1, and below 1/2 for the paper's form.
    bound : {"best", "paper"}, default="best"
        "best" is the exact perturbation of that learner, "paper" the slightly smaller value printed in the paper.

    Returns
    -------
    float

    Examples
    --------
    >>> round(unstable_epsilon(n_samples=500, bag_size=250, delta=0.1), 10)
    0.0532538319
    >>> round(unstable_epsilon(n_samples=500, bag_size=250, delta=0.1, bound="paper"), 10)
    0.0531354901
    """
    owner = "unstable_epsilon"
    n, m = _check_subbagging(n_samples, bag_size, owner)
    bound = check_choice(bound, "bound", owner, ("best", "paper"))
    delta = check_delta(delta, owner)
    if delta >= (limit := 0.5 if bound == "paper" else 1.0):
        raise refuse_value("delta", owner, f"in [0, {limit:g})", delta, "there is no such lower bound.")
    influential = 1 + whole_rows(delta, n)
    if bound == "best":
        return threshold_perturbation(n, m, influential)
    chance = _hypergeometric((m * influential) // n, n - 1, influential - 1, m)
    return (1 - delta - 1 / n) * (m / n) * chance


def _check_subbagging(n_samples: int, bag_size: int, owner: str) -> tuple[int, int]:
    n = check_samples(n_samples, owner)
    m = check_integer(bag_size, "bag_size", owner, minimum=1)
    if m >= n:
        reason = "bags of all rows are as unstable as the learner itself. Theorem 10 is about subbagging."
        raise refuse_value("bag_size", owner, f"smaller than n_samples={n}", m, reason)
    return n, m


def _hypergeometric(x: int, n_all: int, n_marked: int, n_drawn: int) -> float:
    """Return the chance of x marked ones among those drawn without replacement, as fast for 2**63 rows as for six.

    By saddle points (Loader 2000, "Fast and accurate computation of binomial probabilities"): a ratio of binomial
    chances, whose error is a few roundings however many rows there are.
    """
    if not max(0, n_drawn - (n_all - n_marked)) <= x <= min(n_marked, n_drawn):
        return 0.0
    if n_drawn == n_all:
        return 1.0
    p = Fraction(n_drawn, n_all)
    parts = _log_binomial(x, n_marked, p), _log_binomial(n_drawn - x, n_all - n_marked, p)
    return math.exp(math.fsum(parts) - _log_binomial(n_drawn, n_all, p))


def _log_binomial(x: int, n: int, p: Fraction) -> float:
    """Return the log of the chance of x successes in n trials."""
    if x == 0:
        return n * math.log1p(-float(p))
    if x == n:
        return n * math.log(float(p))
    deviances = _deviance(x, n * p) + _deviance(n - x, n * (1 - p))
    return _beyond_stirling(n) - _beyond_stirling(x) - _beyond_stirling(n - x) - deviances + _log_width(x, n)


def _log_width(x: int, n: int) -> float:
    return -math.log(2 * math.pi * float(Fraction(x * (n - x), n))) / 2


def _deviance(x: int, mean: Fraction) -> float:
    """Return x log(x / mean) + mean - x; the difference of the two is exact, which matters where it is small."""
    off = float((x - mean) / mean)
    if abs(off) > 0.1:
        return float(mean) * ((1 + off) * math.log1p(off) - off)
    powers, total = off * off, 0.0  # (1 + off) log(1 + off) - off = off^2 / (1 2) - off^3 / (2 3) + off^4 / (3 4) ...
    for k in range(2, 20):
        total += powers / (k * (k - 1))
        powers *= -off
    return float(mean) * total


def _beyond_stirling(k: int) -> float:
    """Return what Stirling's formula, sqrt(2 pi k) (k / e)^k, leaves of log k!."""
    if k <= 50:
        return float(gammaln(k + 1)) - (k + 0.5) * math.log(k) + k - math.log(2 * math.pi) / 2
    return 1 / (12 * k) - 1 / (360 * k**3) + 1 / (1260 * k**5) - 1 / (1680 * k**7)


# ------------------------------------------------------------------------------------------------------------ unbounded
# Outputs without a range known in advance: unbounded ones, and ones clipped to a range taken from the data.


def data_dependent_scale(bag_variance: float) -> float:
    """Return R*(D, x), twice the standard deviation of the prediction over bags, which takes the place of the range.

    Theorem 12: without any bound on the outputs, derandomized bagging moves by more than epsilon R*(D, x) for at most a
    share delta of the rows, as soon as delta epsilon^2 >= c / 4. R* never exceeds the range of the outputs. With
    a variance estimated from drawn bags, the result is an estimate, not a certificate.

    >>> data_dependent_scale(bag_variance=0.25)  # half of the bags say 0, half say 1: the range itself
    1.0
    """
    return 2 * math.sqrt(check_real(bag_variance, "bag_variance", "data_dependent_scale"))


def unbounded_epsilon(delta: float, constant: float, bag_variance: float) -> float:
    """Return Theorem 12's epsilon in the units of the prediction: sqrt(c / (4 delta)) R*(D, x).

    >>> unbounded_epsilon(delta=0.25, constant=0.01, bag_variance=4.0)  # 0.1 of R* = 4
    0.4
    """
    return average_case_epsilon(delta, constant) * data_dependent_scale(bag_variance)


def unbounded_delta(epsilon: float, constant: float, bag_variance: float, n_samples: int) -> float:
    """Return Theorem 12's share of rows that may move the prediction by more than `epsilon`, in its own units.

    >>> unbounded_delta(epsilon=0.4, constant=0.01, bag_variance=4.0, n_samples=10)  # 2.5 rows of 10, so 2
    0.2
    """
    scale = data_dependent_scale(bag_variance)
    epsilon = check_epsilon(epsilon, "unbounded_delta")
    return 0.0 if scale == 0 else average_case_delta(epsilon / scale, constant, n_samples)


def finite_bags_unbounded_epsilon(delta: float, constant: float, n_bags: float, output_range: float) -> float:
    """Return Theorem 19's epsilon in the units of the prediction, best split: Theorem 9 times `output_range`.

    Theorem 19: with finitely many bags the scale is the range of the learner's outputs at x over all bags and seeds;
    the standard deviation of Theorem 12 is not enough, because Hoeffding's inequality needs bounded outputs.

    >>> round(finite_bags_unbounded_epsilon(delta=0.05, constant=1 / 999, n_bags=1000, output_range=10.0), 3)
    1.885
    """
    output_range = check_real(output_range, "output_range", "finite_bags_unbounded_epsilon", finite=True)
    return finite_bags_epsilon(delta, constant, n_bags)[0] * output_range


def finite_bags_unbounded_delta(epsilon: float, constant: float, n_bags: float, output_range: float) -> float:
    """Return Theorem 19's share for a perturbation in the units of the prediction, best split.

    >>> round(finite_bags_unbounded_delta(epsilon=1.8852, constant=1 / 999, n_bags=1000, output_range=10.0), 4)
    0.05
    """
    output_range = check_real(output_range, "output_range", "finite_bags_unbounded_delta", finite=True)
    epsilon = check_epsilon(epsilon, "finite_bags_unbounded_delta")
    return 0.0 if output_range == 0 else finite_bags_delta(epsilon / output_range, constant, n_bags)


def clipped_epsilon(delta: float, constant: float, delta_range: float, n_bags: float = math.inf) -> float:
    """Return the epsilon, relative to the length of I(D), for predictions clipped to a data-dependent interval I(D).

    Theorem 13, and Theorem 20 for finitely many bags: if leaving out a row changes I(D) for at most a share delta_I of
    the rows, clipped bagging is (epsilon, delta + delta_I)-stable on the scale of I(D)'s length wherever Theorem 8 (or
    9) promises (epsilon, delta). For a share of at most delta_I, epsilon is infinite.

    >>> clipped_epsilon(delta=0.75, constant=0.01, delta_range=0.5)
    0.1
    """
    delta = check_delta(delta, "clipped_epsilon")
    rest = delta - check_delta(delta_range, "clipped_epsilon", name="delta_range")
    return math.inf if rest <= 0 else finite_bags_epsilon(rest, constant, n_bags)[0]


def clipped_delta(
    epsilon: float, constant: float, n_samples: int, delta_range: float, n_bags: float = math.inf
) -> float:
    """Return the share of rows, including those that change I(D), that may exceed `epsilon` relative to its length.

    Theorems 13 and 20 solved for delta: Theorem 8's share (or 9's) and delta_I add up. At most 1.

    >>> clipped_delta(epsilon=0.1, constant=0.01, n_samples=10, delta_range=0.5)  # 2 of 10 rows, and 5 that change I(D)
    0.7
    """
    delta_range = check_delta(delta_range, "clipped_delta", name="delta_range")
    if math.isinf(check_bags(n_bags, "clipped_delta")):
        share = average_case_delta(epsilon, constant, n_samples)
        return min(1.0, float(as_share(share, n_samples) + as_share(delta_range, n_samples)))
    return min(1.0, finite_bags_delta(epsilon, constant, n_bags) + delta_range)


# ---------------------------------------------------------------------------------------------------------------- norms
# Averages and norms over rows, losses, and rows that are replaced.

_HIGHEST = 1e300  # orders beyond it would overflow


def norm_perturbation(order: float, constant: float, p: float, n_bags: float = math.inf) -> float:
    """Bound the l_k norm of the perturbations, (mean_i L_i^k)^(1/k), with k = `order`.

    Theorem 18, for derandomized bagging: at most C^(2 / max(k, 2)) p^(1 - 2 / max(k, 2)), with C = min(sqrt(c / 4), p).
    For finitely many bags the expectation of L_i^k stands for L_i^k, and integrating Hoeffding's inequality as in
    Corollary 15 adds 2 (k Gamma(k / 2))^(1/k) / sqrt(2 B) for k >= 1 (an order below 1 is bounded by order 1); this
    extension is not in the paper. No norm exceeds 1.

    >>> round(norm_perturbation(order=4, constant=0.01, p=0.2), 9)  # sqrt(0.05 * 0.2)
    0.1
    """
    owner = "norm_perturbation"
    order = check_real(order, "order", owner, open_low=True)
    p = check_inclusion(p, owner)
    n_bags = check_bags(n_bags, owner)
    mean_square = min(math.sqrt(check_constant(constant, owner) / 4), p)
    weight = 0.0 if math.isinf(order) else 2 / max(order, 2)
    derandomized = math.pow(mean_square, weight) * math.pow(p, 1 - weight)
    if math.isinf(n_bags):
        return derandomized
    if math.isinf(order):
        return 1.0
    k = max(order, 1.0)
    if k > _HIGHEST:  # where the noise alone is as large as anything can be
        return 1.0
    noise = 2 * math.exp((math.log(k) + math.lgamma(k / 2)) / k) / math.sqrt(2 * n_bags)
    return min(1.0, derandomized + noise)


def mean_perturbation(constant: float, p: float, n_bags: float = math.inf) -> float:
    """Bound the mean over rows of the expected perturbation: beta in Corollary 15.

    Corollary 15: at most min(sqrt(c / 4), p) + sqrt(2 pi / B).

    >>> mean_perturbation(constant=0.01, p=0.5)
    0.05
    >>> round(mean_perturbation(constant=0.01, p=0.5, n_bags=10_000), 6)  # 0.05 + 0.0250663
    0.075066
    """
    return norm_perturbation(1, constant, p, n_bags)


def loss_perturbation(perturbation: float, lipschitz: float) -> float:
    """Bound how far a loss moves when the prediction moves: L epsilon for an L-Lipschitz loss.

    Section 2 for tails (there misprinted as epsilon / L) and Corollary 16 for means.

    >>> loss_perturbation(0.25, lipschitz=2.0)
    0.5
    """
    lipschitz = check_real(lipschitz, "lipschitz", "loss_perturbation", finite=True)
    return lipschitz * check_real(perturbation, "perturbation", "loss_perturbation")


def replace_one_in_expectation(perturbation: float, lipschitz: float = 1.0) -> float:
    """Bound how far a loss moves when a row is replaced by another, in expectation over i.i.d. rows: 2 L beta.

    Corollary 17: replacing is leaving out one row and putting in another; if rows and replacements are independent and
    from one distribution, each costs at most L beta in expectation. For every data set, only L p holds.

    >>> replace_one_in_expectation(0.25, lipschitz=2.0)
    1.0
    """
    return 2 * loss_perturbation(perturbation, lipschitz)


# -------------------------------------------------------------------------------------------------------------- vectors
# Outputs that are vectors, such as the probabilities of all classes.


def simplex_radius(n_classes: int) -> float:
    """Return sqrt(1 - 1 / L): how far a vector of L class probabilities can be from the uniform one.

    It is what `vector_epsilon` takes for class probabilities, as in Soloff, Barber and Willett (2024b).

    >>> round(simplex_radius(n_classes=4) ** 2, 9)
    0.75
    """
    return math.sqrt(1 - 1 / check_integer(n_classes, "n_classes", "simplex_radius", minimum=1))


def vector_epsilon(
    delta: float, constant: float, radius: float, n_bags: float = math.inf, coupling: Coupling | str = ANY
) -> float:
    """Return the Euclidean distance exceeded by at most a share `delta` of the rows, for a vector of outputs.

    Soloff, Barber and Willett (2024b), "Stability via resampling", arXiv 2405.09511, for infinitely many bags: outputs
    within `radius` of some point give delta epsilon^2 >= radius^2 c. For B bags proved here (docs/proofs.md, 5):
    radius^2 (c + 4 / B), and radius^2 (c + 2 / B) with bags drawn independently with and without a row.

    >>> vector_epsilon(delta=0.25, constant=0.01, radius=0.5)  # an interval of length 1: Theorem 8
    0.1
    """
    radius = check_real(radius, "radius", "vector_epsilon", finite=True)
    return 2 * radius * second_moment_epsilon(delta, constant, n_bags, coupling)


def vote_variance(shares: Sequence[float]) -> float:
    """Return ``1 - |w|^2``, the Gini index of the shares of the votes: the variance over bags of a vector of votes.

    Proved here (docs/proofs.md, 5): a vote is a vector of length 1, so ``E|y - w|^2 = 1 - |w|^2``. It takes the place
    of the squared radius 1 - 1 / L, and is not larger. With the shares of drawn bags it is an estimate for all bags,
    but exact for the drawn ones.

    >>> round(vote_variance([0.6, 0.3, 0.1]), 9)
    0.54
    """
    shares = [check_real(share, "shares", "vote_variance", high=1.0) for share in shares]
    if not math.isclose(math.fsum(shares), 1.0, abs_tol=1e-9):
        raise refuse_value("shares", "vote_variance", "shares that add up to 1", shares)
    return max(0.0, 1 - math.fsum(share * share for share in shares))


def vote_delta(epsilon: float, constant: float, shares: Sequence[float]) -> float:
    """Return the share of rows that may move the shares of the votes by a distance of more than `epsilon`.

    Proved here (docs/proofs.md, 5), for infinitely many bags: ``c (1 - |w|^2) / epsilon^2``. At most 1.

    >>> round(vote_delta(epsilon=0.1, constant=1 / 499, shares=[0.6, 0.3, 0.1]), 9)
    0.108216433
    """
    epsilon = check_epsilon(epsilon, "vote_delta")
    square = check_constant(constant, "vote_delta") * vote_variance(shares)
    return 0.0 if square == 0 else 1.0 if square >= epsilon * epsilon else square / epsilon / epsilon


def vector_monte_carlo_radius(n_bags: float, monte_carlo_delta: float, radius: float, diameter: float) -> float:
    """Return what drawing B bags adds to a distance between vectors, at the price of `monte_carlo_delta`.

    Proved here (docs/proofs.md, 5): 2 radius / sqrt(B) + diameter sqrt(2 / B log(2 / delta')), by McDiarmid's
    inequality, in place of Theorem 9's term for numbers.

    >>> round(vector_monte_carlo_radius(n_bags=10_000, monte_carlo_delta=0.05, radius=0.9, diameter=2**0.5), 6)
    0.056413
    """
    n_bags = check_bags(n_bags, "vector_monte_carlo_radius")
    if math.isinf(n_bags):
        return 0.0
    delta = check_delta(monte_carlo_delta, "vector_monte_carlo_radius", name="monte_carlo_delta")
    if delta == 0:
        return math.inf
    return float(mcdiarmid(n_bags, delta, radius, diameter))


def mcdiarmid(n_bags: float, shares: Any, radius: float, diameter: float) -> Any:
    """The formula of `vector_monte_carlo_radius` for several positive shares at once."""
    return 2 * radius / math.sqrt(n_bags) + diameter * np.sqrt(2 / n_bags * np.log(2 / np.asarray(shares)))


# ----------------------------------------------------------------------------------------------------------- drawn bags
# Bounds that look at what the drawn bags predict.


def standard_deviation_bound(standard_deviation: Any, n_bags: int, confidence: float) -> Any:
    """Bound the standard deviation of the output over all bags by that over B drawn ones, for outputs in [0, 1].

    Maurer and Pontil (2009), "Empirical Bernstein bounds and sample variance penalization", Theorem 10: with
    probability `confidence` over the bags it is at most sqrt(V) + sqrt(2 log(1 / t) / (B - 1)), where sqrt(V) is the
    standard deviation of the sample (V divided by B - 1) and t = 1 - confidence. It is also never above 1/2.

    >>> round(standard_deviation_bound(0.2, n_bags=1000, confidence=0.95), 9)
    0.277443283
    """
    owner = "standard_deviation_bound"
    n_bags = check_integer(n_bags, "n_bags", owner, minimum=2, reason="one bag has no variance.")
    confidence = check_real(confidence, "confidence", owner, high=1.0)
    deviation = np.asarray(standard_deviation, dtype=float)
    if not (deviation >= 0).all():
        raise refuse_value("standard_deviation", owner, "not below 0", float(np.min(deviation)))
    slack = math.inf if confidence == 1 else math.sqrt(-2 * math.log(1 - confidence) / (n_bags - 1))
    bound = np.minimum(0.5, deviation + slack)
    return bound if bound.ndim else float(bound)


def observed_mean_square(
    standard_deviation: Any,
    constant: float,
    n_bags: float = math.inf,
    ragged: float = 1.0,
    coupling: Coupling | str = ANY,
    *,
    shift: float = 0.0,
    shift_noise: float = 0.0,
    shift_square: float = 0.0,
    width: float = math.inf,
) -> Any:
    """Bound the mean over rows of the expected squared perturbation by the standard deviation s over bags.

    For infinitely many bags, c s^2 by the proof of Theorem 8. For B bags, proved here (docs/proofs.md, 6):
    s^2 (c + (1 + sqrt(g))^2 / B), and s^2 (c + (1 + g) / B) with bags drawn independently with and without a row.
    Here g = `ragged` bounds the variance over the bags without a row, averaged over rows, in units of s^2: 1 if all
    bags have the same number of distinct rows, and 1 / (1 - p) in any case. If bags without rows also move the average
    (docs/proofs.md, 9), their root mean square `shift` and the deviation `shift_noise` are added to the roots.

    With matched bags (docs/proofs.md, 10) it is at most s^2 ((1 - 1 / B) c + w / B), where w is
    2 p (1 + 1 / max(m, n - m)) for subbagging, and 1 / (1 - p) if rows are in bags independently. Jointly, both terms
    are at most s^2 times the largest sum of any one component (docs/proofs.md, 15). Nor is w s^2 above v
    times the square of `width`, the length of the range (for vectors, twice the radius) in the units of s.
    `shift_square` is the mean square of what bags without rows add.

    >>> round(observed_mean_square(0.5, constant=0.04, n_bags=100), 9)  # c / 4 + 1 / B
    0.02
    """
    owner = "observed_mean_square"
    s = np.asarray(standard_deviation, dtype=float)
    if not (s >= 0).all():
        raise refuse_value("standard_deviation", owner, "not below 0", float(np.min(s)))
    ragged = check_real(ragged, "ragged", owner, low=1.0)
    without = math.sqrt(ragged) * s + shift_noise
    coupling, n_bags = as_coupling(coupling, owner), check_bags(n_bags, owner)
    derandomized = (math.sqrt(check_constant(constant, owner)) * s + shift) ** 2
    square = derandomized + coupling.of_deviations(s, without) / n_bags
    if isinstance(coupling, Matched) and math.isfinite(n_bags):
        noise: Any = coupling.noise * width**2
        if math.isfinite(coupling.per_variance):
            of_variance = (math.sqrt(coupling.per_variance) * s + math.sqrt(shift_square)) ** 2
            noise = np.minimum(noise, of_variance)
        square = np.minimum(square, (1 - 1 / n_bags) * derandomized + noise / n_bags)
        jointly = coupling.parts.mean_square(n_bags, s**2, coupling.parts.limit * width**2)
        if shift > 0 or shift_square > 0:
            jointly = (np.sqrt(jointly) + math.sqrt((1 - 1 / n_bags) * shift**2 + shift_square / n_bags)) ** 2
        square = np.minimum(square, jointly)
    return square if np.ndim(square) else float(square)


# --------------------------------------------------------------------------------------------------------- unequal rows
# Laws that do not treat all rows alike: few rows that are in bags often do not spoil the bound for the others.
#
# Row i has its own constant c_i, and the sum over rows of L_i^2 / (n c_i) is at most the variance of the output
# over bags. If all constants are equal this is Proposition 5 of Barber and Samworth (2026); strata have one each.


def kth_of_unequal_rows(rank: int, constants: np.ndarray, inclusion: np.ndarray) -> float:
    """Bound the `rank`-th largest of the leave-one-out perturbations of derandomized bagging, for unequal rows.

    Proposition 5 of Barber and Samworth (2026), with a constant for each row (docs/proofs.md, 11): if K rows move the
    prediction by more than epsilon, then epsilon^2 times the sum of their 1 / (n c_i) is at most 1/4. The sum is
    smallest for the rows with the largest constants. Nor does a row move it by more than its chance to be in a bag.

    >>> kth_of_unequal_rows(2, np.array([0.25, 0.01, 0.01, 0.01]), np.full(4, 0.9))  # 1 / 1 + 1 / 0.04 = 26
    0.09805806756909202
    """
    rank = check_integer(rank, "rank", "kth_of_unequal_rows", minimum=1)
    if rank > len(constants):
        return 0.0
    weights = np.sort(1 / (len(constants) * constants))
    total, chance = float(weights[:rank].sum()), float(np.sort(inclusion)[-rank])
    return chance if total == 0 else min(math.sqrt(0.25 / total), chance)


def unequal_rows_epsilon(
    delta: float, constants: np.ndarray, n_bags: float = math.inf, coupling: Coupling | str = ANY
) -> float:
    """Return the perturbation that at most a share `delta` of unequal rows exceeds, on average over the bags.

    Proposition 5 of Barber and Samworth (2026) with a constant for each row, and second moments of the bags
    (docs/proofs.md, 11): delta(epsilon) is the largest mean of n chances P_i whose sum of P_i / (n c_i) is at most
    A / epsilon^2, where A is 1/4 and what the bags add.

    >>> unequal_rows_epsilon(0.5, np.array([0.25, 0.01, 0.01, 0.01]))  # two of four rows, as above
    0.09805806756909202
    """
    owner = "unequal_rows_epsilon"
    rows = check_delta(delta, owner) * len(constants)
    weights = np.sort(1 / (len(constants) * constants))
    total = np.concatenate([[0.0], np.cumsum(weights)])
    filled = float(np.interp(rows, np.arange(len(total)), total))
    return math.inf if filled == 0 else math.sqrt(_weighted_square(weights, n_bags, coupling, owner) / filled)


def unequal_rows_mean(constants: np.ndarray, n_bags: float = math.inf, coupling: Coupling | str = ANY) -> float:
    """Bound the mean over unequal rows of the expected perturbation.

    Proposition 5 of Barber and Samworth (2026) with a constant for each row (docs/proofs.md, 11): by the inequality of
    Cauchy and Schwarz, it is at most the root of the mean of the constants times A, as in `unequal_rows_epsilon`.

    >>> unequal_rows_mean(np.array([0.01, 0.03]))  # sqrt(0.02 / 4)
    0.07071067811865475
    """
    weights = 1 / (len(constants) * constants)
    return math.sqrt(float(np.mean(constants)) * _weighted_square(weights, n_bags, coupling, "unequal_rows_mean"))


def _weighted_square(weights: np.ndarray, n_bags: float, coupling: Coupling | str, owner: str) -> float:
    """A bound on the sum of the weighted expected squares, for outputs in [0, 1]."""
    coupling, n_bags = as_coupling(coupling, owner), check_bags(n_bags, owner)
    if isinstance(coupling, Matched):
        apart = (1 - 1 / n_bags) / 4 + coupling.weighted / n_bags
        return apart if coupling.weighted_parts is None else min(apart, coupling.weighted_parts.mean_square(n_bags))
    return 1 / 4 + coupling.noise * float(weights.sum()) / n_bags


# --------------------------------------------------------------------------------------------------------------- others
# Results by others, for comparison.


def inherited_stability(lipschitz: float, p: float, base_stability: float) -> float:
    """Return the stability in the loss that bagging inherits from a stable learner: L p beta.

    Elisseeff, Evgeniou and Pontil (2005), Proposition 4.4, as quoted in section 7.3 of the paper: beta is the stability
    of the base learner on m rows in l_1 loss. It is useful only if beta is known and small; Corollary 16 needs neither.

    >>> inherited_stability(lipschitz=1.0, p=0.5, base_stability=0.25)
    0.125
    """
    lipschitz = check_real(lipschitz, "lipschitz", "inherited_stability", finite=True)
    base_stability = check_real(base_stability, "base_stability", "inherited_stability")
    return lipschitz * check_inclusion(p, "inherited_stability") * base_stability


def black_box_power_ceiling(
    alpha: float, delta: float, n_available: int, n_samples: int, true_delta: float = 0.0
) -> float:
    """Return the largest power of any black-box test of (epsilon, delta)-stability.

    Kim and Barber (2023), quoted in section 7.2 of the paper: a test that declares an unstable learner stable with
    probability at most `alpha`, whatever the learner and the distribution, declares a learner that is exceeded by a
    share delta* of the rows stable with probability at most alpha ((1 - delta*) / (1 - delta))^(N / n), and at most 1.
    The paper prints the case delta* = 0.

    >>> round(black_box_power_ceiling(alpha=0.05, delta=0.1, n_available=500, n_samples=500), 4)  # 0.05 / 0.9
    0.0556
    """
    owner = "black_box_power_ceiling"
    alpha = check_real(alpha, "alpha", owner, high=1.0)
    delta = check_delta(delta, owner)
    true_delta = check_real(true_delta, "true_delta", owner, high=1.0)
    n_available = check_integer(n_available, "n_available", owner, minimum=1)
    n_samples = check_integer(n_samples, "n_samples", owner, minimum=1)
    if alpha == 0 or true_delta == 1:
        return 0.0
    if delta == 1:
        return 1.0
    log_power = math.log(alpha) + n_available / n_samples * (math.log1p(-true_delta) - math.log1p(-delta))
    return math.exp(min(0.0, log_power))
