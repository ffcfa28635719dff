"""The exact frontier: the smallest epsilon for which derandomized bagging of *every* learner is stable.

Theorem 8 gives an epsilon that is enough, and Theorem 10 one that is too small. For outputs in [0, 1] and K rows, of
which a push the prediction up and b = K - a pull it down, let A and B be how many of each are in a bag. Then

    eps*(a, b) = min over u in [0, 1] of  E |u (A - p a) / a - (1 - u) (B - p b) / b| / (2 (1 - p)),

and the largest possible value of the K-th largest of the n perturbations, over all learners and data sets, is the
largest of these over all splits. The proof is in docs/proofs.md; it needs a law that treats all rows alike, and uses
only its law of how many of K rows are in a bag.

Every number here is a bound that holds: what is cut off the tails of a law, and what rounding may have cost, is added.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, wraps
from typing import Any

import numpy as np
from scipy.special import gammaln

from stablebag._checks import check_integer, refuse_value
from stablebag.resampling.law import ResolvedScheme

MOST_ROWS = 30_000  # the largest K for which the frontier is worked out: seconds, and the time grows as K^1.5
_MOST_IN_MEAN = 10_000  # the most rows for which the largest mean is worked out
_TAIL = 1e-15  # the probability that is cut off, and paid for
_SPLITS_AT_ONCE = 512


@dataclass(frozen=True)
class FrontierPoint:
    """The frontier at one rank, with the learner that attains it.

    The learner looks at whether its rows are among the first `n_plus` of the data set, or among the next `n_minus`. It
    outputs 1 if u (A - p a) / a > (1 - u) (B - p b) / b, 0 if less, and one of `ties` if they are equal. Leaving out
    any one of those rows then moves its bagged prediction by at least `value`, up to what is added for rounding.

    Attributes
    ----------
    value : float
        The largest possible value of the `rank`-th largest perturbation, for outputs in an interval of length 1.
    n_plus : int
        The number a of rows that push the prediction up.
    n_minus : int
        The number b of rows that pull it down.
    weight : float
        The weight u of the rows that push.
    ties : tuple of float
        The outputs if both sides are equal: on bags with fewer of the K rows than expected, and with more.
    inclusion_probability : float
        The chance p that a row is in a bag.
    """

    value: float
    n_plus: int
    n_minus: int
    weight: float
    ties: tuple[float, float]
    inclusion_probability: float

    def outputs(self, plus_in_bag: np.ndarray, minus_in_bag: np.ndarray) -> np.ndarray:
        """Return the learner's outputs on bags with this many of the rows that push (A) and of those that pull (B)."""
        p = self.inclusion_probability
        push = np.asarray(plus_in_bag) / self.n_plus - p
        pull = np.asarray(minus_in_bag) / self.n_minus - p if self.n_minus else np.zeros_like(push)
        side = _side(self.weight * push - (1 - self.weight) * pull)
        return np.where(side == 0, np.where(push + pull > 0, self.ties[1], self.ties[0]), side > 0)


def frontier(law: ResolvedScheme, rank: int) -> FrontierPoint | None:
    """Return the largest possible value of the `rank`-th largest perturbation, over all learners and data sets.

    Proved here (docs/proofs.md, 1), for infinitely many bags. At most rank - 1 rows move any bagged prediction by more
    than this, and some learner attains it. None if the law does not say how many rows are in a bag, or does not treat
    all rows alike, or if the rank exceeds `MOST_ROWS`.

    >>> from stablebag import Subbagging
    >>> law = Subbagging(3).resolve(n_samples=6)
    >>> [round(frontier(law, rank).value, 9) for rank in range(1, 7)]
    [0.5, 0.3, 0.2, 0.2, 0.2, 0.2]
    """
    rank = check_integer(rank, "rank", "frontier", minimum=1)
    if rank > law.n_samples:
        raise refuse_value("rank", "frontier", f"at most n_samples={law.n_samples}", rank)
    point: FrontierPoint | None = _known(law, rank) if rank <= MOST_ROWS else None
    return point


def _remembered(maxsize: int) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Remember results for the laws of the paper, which cannot change; for other schemes, work them out each time."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        remembering = lru_cache(maxsize)(function)

        @wraps(function)
        def call(law: ResolvedScheme, *arguments: Any, **named: Any) -> Any:
            return (remembering if law.is_constant else function)(law, *arguments, **named)

        return call

    return decorate


@_remembered(maxsize=4096)
def all_plus(law: ResolvedScheme, rank: int) -> float:
    """Return how far each of `rank` rows moves the learner that counts them, below which nothing can be promised.

    It is the frontier's value for rows that all push one way, E|A - p K| / (2 K (1 - p)): for subbagging the value of
    Theorem 10, here for every law. Zero if the law does not say how many rows are in a bag.

    >>> from stablebag import Subbagging
    >>> round(all_plus(Subbagging(3).resolve(n_samples=6), rank=2), 9)
    0.2
    """
    counts = law.count_law(rank)  # None also if rows are not all alike
    return 0.0 if counts is None else _all_plus(counts, law.inclusion_probability)


@_remembered(maxsize=512)
def largest_mean(law: ResolvedScheme) -> float | None:
    """Return the largest possible mean over rows of the perturbation, over all learners and data sets.

    Proved here (docs/proofs.md, 2): it is the largest, over the splits a + b = n, of
    E|(A - p a) - (B - p b)| / (2 n (1 - p)), for outputs in an interval of length 1. None if it cannot be worked out.

    >>> from stablebag import Subbagging
    >>> round(largest_mean(Subbagging(3).resolve(n_samples=6)), 9)
    0.2
    """
    n = law.n_samples
    counts = law.count_law(n) if n <= _MOST_IN_MEAN else None
    return None if counts is None else _slack(float(_uniform_weights(counts, law.inclusion_probability).max()), n, law)


@_remembered(maxsize=8192)
def largest_sum(law: ResolvedScheme, rank: int) -> float | None:
    """Return the largest possible sum of the `rank` largest perturbations, over all learners and data sets.

    Proved here (docs/proofs.md, 2): it is the largest, over the splits a + b = rank, of
    E|(A - p a) - (B - p b)| / (2 (1 - p)), for outputs in an interval of length 1. None if it cannot be worked out.

    >>> from stablebag import Subbagging
    >>> law = Subbagging(3).resolve(n_samples=6)
    >>> [round(largest_sum(law, rank), 9) for rank in (1, 2, 6)]  # the last is six times the largest mean
    [0.5, 0.6, 1.2]
    """
    counts = law.count_law(rank)
    if counts is None:
        return None
    return rank * _slack(float(_uniform_weights(counts, law.inclusion_probability).max()), rank, law)


def work_out(law: ResolvedScheme, rank: int) -> FrontierPoint | None:
    """Work out the frontier at one rank, even if that was done before."""
    counts = law.count_law(rank)
    if counts is None:
        return None
    p = law.inclusion_probability
    # Equal weights bound each split from above at little cost; only splits that could be the largest are worked out.
    # If all rows push, or as many push as pull, equal weights are the best ones: these splits come first.
    uniform = _uniform_weights(counts, p)
    tied = 1 + _rounding(rank, law)
    first = [0, rank // 2] if rank % 2 == 0 else [0]
    minus, weight, ties, value = 0, 1.0, (0.0, 0.0), -math.inf
    for split in [*first, *np.argsort(-uniform, kind="stable").tolist()]:
        if uniform[split] <= value * tied:
            if split in first:
                continue
            value = max(value, float(uniform[split]))  # in a tie, its bound takes its place
            break
        of_split = _best_weight(counts, p, split)
        if of_split[0] > value:
            minus, (value, weight, ties) = split, of_split
    # Where the frontier is level, ranks differ only by rounding; on a grid they are equal, as they should be.
    bound = _up_to_digits(_slack(value, rank, law), digits=11 if rank <= 1000 else 9)
    return FrontierPoint(min(p, bound), rank - minus, minus, weight, ties, p)


_known = _remembered(maxsize=4096)(work_out)


def _up_to_digits(value: float, digits: int) -> float:
    """The next number with this many digits, which is not smaller."""
    unit = 10.0 ** (math.floor(math.log10(value)) + 1 - digits) if value > 0 else 1.0
    return max(value, math.ceil(value / unit) * unit)


def _slack(value: float, rank: int, law: ResolvedScheme) -> float:
    """Add what is cut off, and what rounding may have cost."""
    return value * (1 + _rounding(rank, law)) + _TAIL / (1 - law.inclusion_probability)


def _rounding(rank: int, law: ResolvedScheme) -> float:
    """The largest relative error: that of logarithms of factorials, and of one product per draw, or per row."""
    return (16 * float(gammaln(rank + 2)) + 4 * law.count_law_roundings(rank)) * 2.0**-52


def _all_plus(counts: np.ndarray, p: float) -> float:
    rank = len(counts) - 1
    return float(counts @ np.abs(np.arange(rank + 1) - p * rank)) / (2 * rank * (1 - p))


def _uniform_weights(counts: np.ndarray, p: float) -> np.ndarray:
    """Return E|(A - p a) - (B - p b)| / (2 K (1 - p)) for all splits of K rows with b = 0, ..., K // 2.

    That is E(D - d)^+ / (K (1 - p)) with D = A - B and d = p (a - b). Given that S = s of the K rows are in the bag,
    all sets of s rows are alike and D = 2 A - s. With x the largest A for which D <= d, exchanging a row that is in
    with one that is out gives (docs/proofs.md, 3)

        E[(D - d)^+ | s] = (2 / K) (x + 1) (b - s + x + 1) P(A = x + 1 | s) + (a - b) (s / K - p) P(A > x | s),

    and summing the last term over s by parts leaves only probabilities P(A = x | s) next to the line D = d.
    """
    rank = len(counts) - 1
    s, law = _without_tails(counts)
    # E[(S - p K) 1{S >= s}], from the lighter end.
    moments = law * (s - p * rank)
    tails = np.where(s > p * rank, np.cumsum(moments[::-1])[::-1], np.concatenate([[0.0], -np.cumsum(moments)[:-1]]))
    log_factorial = gammaln(np.arange(rank + 1) + 1.0)
    values = []
    for first in range(0, rank // 2 + 1, _SPLITS_AT_ONCE):
        b = np.arange(first, min(first + _SPLITS_AT_ONCE, rank // 2 + 1))[:, None]
        a = rank - b
        x = np.floor((s + p * (a - b)) / 2).astype(int)
        at = _in_bag(x, s, a, b, log_factorial)
        # The next probability, by the ratio of the two; if the first is zero, worked out directly.
        above = at * ((a - x) / (x + 1)) * ((s - x) / np.maximum(b - s + x + 1, 1))
        first_ones = np.nonzero((at == 0) & (x + 1 >= 0) & (x + 1 <= a) & (s - x - 1 >= 0) & (s - x - 1 <= b))
        if len(first_ones[0]):
            split, place = first_ones
            in_bag = x[first_ones] + 1, s[place], a[split, 0], b[split, 0]
            above[first_ones] = _in_bag(*in_bag, log_factorial)
        exchanged = 2 / rank * ((x + 1) * (b - s + x + 1) * above) @ law
        rises = at[:, :-1] * (a - x[:, :-1]) / (rank - s[:-1]) - np.where(np.diff(x, axis=1) == 1, at[:, 1:], 0.0)
        shifted = (a - b)[:, 0] / rank * (rises @ tails[1:])
        values.append((exchanged + shifted) / (rank * (1 - p)))
    return np.concatenate(values)


def _best_weight(counts: np.ndarray, p: float, minus: int) -> tuple[float, float, tuple[float, float]]:
    """Return eps*(a, b) for one split, the weight u that attains the minimum, and the learner's outputs at ties."""
    rank = len(counts) - 1
    if minus == 0:
        return _all_plus(counts, p), 1.0, (0.0, 0.0)
    a, b = rank - minus, minus
    s, law = _without_tails(counts)
    # Given s, A is hypergeometric: Bernstein's and Hoeffding's inequalities say how far from its mean it can be.
    log_tail = math.log(2 / _TAIL)
    variance = np.minimum(s * (a / rank) * (b / rank), a * (s / rank) * (1 - s / rank)).max()
    farthest = log_tail / 3 + math.sqrt(log_tail**2 / 9 + 2 * variance * log_tail)
    farthest = math.ceil(min(farthest, math.sqrt(log_tail / 2 * min(a, b))))
    plus_in = (a * s // rank)[:, None] + np.arange(-farthest, farthest + 2)
    log_factorial = gammaln(np.arange(rank + 1) + 1.0)
    chance = _in_bag(plus_in, s[:, None], a, b, log_factorial) * law[:, None]
    likely = chance > 0
    chance, push, pull = chance[likely], plus_in[likely] / a - p, (s[:, None] - plus_in)[likely] / b - p
    # |u X - (1 - u) Y| = |X + Y| |u - Y / (X + Y)|, so the best u is a weighted median.
    slope = push + pull
    bends = np.divide(pull, slope, out=np.full_like(pull, 0.5), where=slope != 0)
    order = np.argsort(bends, kind="stable")
    weights = np.cumsum((chance * np.abs(slope))[order])
    weight = float(np.clip(bends[order][np.searchsorted(weights, weights[-1] / 2)], 0.0, 1.0))
    score = weight * push - (1 - weight) * pull
    # At ties, the learner that attains it balances how far the rows that push move it and how far those that pull do.
    side, imbalance = _side(score), chance * slope
    missing = -float(imbalance[side > 0].sum())
    tied = imbalance[(side == 0) & (imbalance * missing > 0)].sum()
    share = min(1.0, missing / tied) if tied else 0.0
    ties = (0.0, share) if missing > 0 else (share, 0.0)
    return float(chance @ np.abs(score)) / (2 * (1 - p)), weight, ties


def _side(score: np.ndarray) -> np.ndarray:
    """The sign of a score, zero up to rounding."""
    return np.where(np.abs(score) <= 1e-12, 0.0, np.sign(score))


def _in_bag(x: np.ndarray, s: np.ndarray, a: Any, b: Any, log_factorial: np.ndarray) -> np.ndarray:
    """Return P(A = x | S = s): of s rows out of a + b, x are among the a. Hypergeometric."""
    impossible = (x < 0) | (x > a) | (s - x < 0) | (s - x > b)
    x, y = np.clip(x, 0, a), np.clip(s - x, 0, b)
    f = log_factorial
    ways = (f[a] - f[x] - f[a - x]) + (f[b] - f[y] - f[b - y]) - (f[a + b] - f[s] - f[a + b - s])
    ways[impossible] = -np.inf
    return np.asarray(np.exp(ways))


def _without_tails(counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Cut the tails off a law; return the rest of its support, and the probabilities there."""
    below, above = np.cumsum(counts), np.cumsum(counts[::-1])[::-1]
    kept = np.flatnonzero((below > _TAIL / 2) & (above > _TAIL / 2))
    s = np.arange(kept[0], kept[-1] + 1)
    return s, counts[s]
