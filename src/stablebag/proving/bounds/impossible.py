"""What cannot be guaranteed: levels below which some learner is unstable."""

import math
from fractions import Fraction

from scipy.special import gammaln

from stablebag._checks import check_choice, check_delta, check_integer, check_samples, refuse_value, whole_rows


def threshold_perturbation(n_samples: int, bag_size: int, n_influential: int) -> float:
    """Return exactly how far each of K rows moves the subbagged threshold learner.

    Theorem 10's learner predicts 1 if its m rows have more than m K / n ones. On K ones and n - K zeros, leaving
    out any one of the ones moves its subbagged prediction by ((m - h) / n) P{H = h}, where h = floor(m K / n) and
    H is hypergeometric: m draws from n - 1 rows of which K - 1 are marked.

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
