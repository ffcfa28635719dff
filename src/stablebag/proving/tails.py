"""The tail of the leave-one-out change with finitely many matched bags.

A second moment does not tell a few large changes from many small ones. Here every row has a separate bound, and all
rows share three budgets: the variance of a bag's output (docs/proofs.md, 15), and the exact sums of the k largest
changes of the average of all bags, for every k (docs/proofs.md, 16).
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from scipy.special import betainc, ndtr

from stablebag.proving.frontier import _remembered, largest_sum
from stablebag.resampling.components import Components
from stablebag.resampling.law import ResolvedScheme

_EPSILONS = 1.002  # the ratio of the epsilons that are tried: the same ones for every delta
_MOST_TRIED = 2**13  # this many of them
_WORTH_TRYING = 0.35  # of the epsilon by second moments: below that, nothing is tried
_MIDDLE = 3_000  # with more rows than this near epsilon, sums of changes take too long
_HIGHEST = 10_000  # the most rows whose largest sum of changes is worked out

# The changes of the average, as parts of epsilon: edges of cells that get narrower towards epsilon.
_PARTS = 1 - np.concatenate([np.linspace(1, 0.3, 24, endpoint=False), np.geomspace(0.3, 3e-3, 16), [0.0]])
_NOISES, _SMALL_NOISES = (1.08, 40), 1.3  # ratio and number of the cells of the largest noise, and ratio of the others
_COUNTS = 256  # how many numbers of a binomial law are listed

# Shevtsova (2011): the distance to the normal law is at most _SKEWED (rho + _SYMMETRIC) / sqrt(B).
_SKEWED, _SYMMETRIC = 0.33554, 0.415


@dataclass(frozen=True, eq=False)
class Tail:
    """The tail of the change of the average of matched bags, for outputs in an interval of length 1.

    Attributes
    ----------
    n_samples : int
        The number of rows.
    n_bags : int
        The number of bags.
    parts : Components
        Bias and noise by component, per unit of variance.
    chance : float
        The chance of a row to be in a bag: the outputs of other bags do not change without it.
    largest_sum : callable
        Bounds the sum of the k largest changes of the average of all bags.
    """

    n_samples: int
    n_bags: int
    parts: Components
    chance: float
    largest_sum: Callable[[int], float]

    def epsilon(self, delta: float) -> float:
        """Return a change that at most a share `delta` of the rows exceeds, on average over the bags.

        Never above the one by second moments. It is searched for among the powers of a fixed number by always the same
        halving, so that it falls as delta grows.
        """
        if delta <= 0:
            return 1.0
        low, high = 0, _MOST_TRIED  # of the exponents: epsilon falls
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self._holds(middle, delta) else (low, middle)
        return min(1.0, self._by_squares(delta), _EPSILONS**-low)

    def delta(self, epsilon: float) -> float:
        """Bound the mean over rows of the chance of a change above epsilon; consistent with `epsilon`."""
        if epsilon >= 1:
            return 0.0
        known = min(1.0, self._square / epsilon**2) if epsilon > 0 else 1.0
        tried = max(1, math.ceil(-math.log(epsilon) / math.log(_EPSILONS) - 1e-9)) if epsilon > 0 else _MOST_TRIED
        while _EPSILONS**-tried > epsilon:
            tried += 1
        if tried >= _MOST_TRIED:
            return known
        return min(known, max(self._at(tried), _WORTH_TRYING**2 * self._square / _EPSILONS ** (-2 * tried)))

    @cached_property
    def _square(self) -> float:
        """The mean square of the change."""
        return float(self.parts.mean_square(self.n_bags))

    def _by_squares(self, delta: float) -> float:
        return math.sqrt(self._square / delta)

    def _holds(self, tried: int, delta: float) -> bool:
        """Whether an epsilon is proved for a share delta; where second moments decide, nothing else is worked out."""
        epsilon, known = _EPSILONS**-tried, self._by_squares(delta)
        if epsilon >= known:
            return True
        return epsilon > _WORTH_TRYING * known and self._at(tried) <= delta

    def _at(self, tried: int) -> float:
        """The bound at one epsilon, remembered."""
        if tried not in self._known:
            self._known[tried] = _bound(self, _EPSILONS**-tried)
        return self._known[tried]

    def priced(self, ratios: Iterable[float], prices: np.ndarray) -> list[tuple[float, float, float]]:
        """Return each price of bias with each ratio of that of noise to it, and what the variance can pay at most."""
        costs = {ratio: self.parts.combined(1.0, ratio) for ratio in ratios}
        return [(float(price), ratio, cost) for ratio, cost in costs.items() for price in prices]

    @cached_property
    def _known(self) -> dict[int, float]:
        return {}


@_remembered(maxsize=256)
def tail_of(law: ResolvedScheme, n_bags: int) -> Tail | None:
    """Return the tail for matched bags of a law; None if its components or sums of changes are not known."""
    if not law.is_symmetric or largest_sum(law, 1) is None:
        return None
    parts = law.matched_components()
    if not 0 < parts.bias < math.inf or not 0 < parts.top < math.inf:
        return None

    def largest(rank: int) -> float:
        known = largest_sum(law, rank)
        return math.inf if known is None else known

    return Tail(law.n_samples, n_bags, parts, law.largest_inclusion, largest)


def _bound(tail: Tail, epsilon: float) -> float:
    """Bound the mean over rows of the chance of a change above epsilon, by the smallest of some prices.

    A row whose average changes by L, with noise v, pays a L^2 + b v + pi(L), which must cover its chance. Together the
    rows have no more to pay with than the variance allows for a and b, and the sums of the largest changes for pi.
    """
    middle = tail.n_samples * tail.parts.bias / (2 * math.pi * epsilon**2)  # about this many rows may change by epsilon
    if middle > _MIDDLE:
        return 1.0
    changes = epsilon * _PARTS
    noise = _noises(tail, epsilon)
    low = changes[:-1, None]
    least, most = np.append(0.0, noise[:-1])[None, :], noise[None, :]
    possible = most >= low**2 / tail.chance
    paid = np.maximum(least, low**2 / tail.chance)  # by Cauchy and Schwarz: bags without the row do not change
    chance = _chances(epsilon, changes, noise, tail.n_bags)
    rest, n_above = _excesses(tail, epsilon, middle, changes)

    def total(prices: list[tuple[float, float, float]]) -> np.ndarray:
        """The bound with each price of bias, ratio of the price of noise to it, and cost of both to the variance."""
        gain = np.empty((len(prices), len(changes)))
        for k, (price, ratio, _) in enumerate(prices):
            gain[k, :-1] = np.where(possible, chance - price * ratio * paid, 0.0).max(axis=1) - price * low[:, 0] ** 2
            gain[k, -1] = 1 - price * (1 + ratio / tail.chance) * epsilon**2
        rows_pay = _cheapest(changes, np.maximum(gain, 0.0), rest, n_above / tail.n_samples)
        return np.asarray(np.array([price * cost for price, _, cost in prices]) + rows_pay)

    parts, unit = tail.parts, 1 / epsilon**2
    free, markov = parts.bias / parts.top, 1 / max(1, tail.n_bags - 1)
    # Up to the ratio `free` the noise costs nothing; that of Markov's inequality is the last. Prices are of use as long
    # as bias or noise alone would pay for a change by epsilon. Then look around the best.
    of_bias, of_noise = np.geomspace(0.02, 1.1, 12), np.geomspace(0.2, 1.5, 10)
    first = [
        each
        for ratio in sorted({free, free / 2.5, min(2 * markov, free), markov})
        for each in tail.priced([ratio], unit * np.concatenate([of_bias, of_noise * markov / ratio]))
    ]
    values = total(first)
    price, ratio, _ = first[int(values.argmin())]
    second = tail.priced([0.93 * ratio, ratio, 1.07 * ratio], price * np.geomspace(0.7, 1.43, 12))
    return float(min(1.0, values.min(), total(second).min())) * (1 + 1e-9)


def _cheapest(changes: np.ndarray, gain: np.ndarray, rest: np.ndarray, above: float) -> np.ndarray:
    """Return the cost of a convex rising price pi that covers each line of gains.

    It follows the gains up to some change, and rises on a straight line from there. A kink at s that makes it steeper
    by one costs `rest`, the bound on the mean over rows of the excess of their changes over s. The line may leave out
    the gain at epsilon itself: at most a share `above` of the rows can have that.
    """
    best = np.full(len(gain), np.inf)
    value, slope = gain[:, 0].copy(), np.zeros(len(gain))
    cost = value.copy()
    for k, at in enumerate(changes[:-1]):
        steep = np.maximum((gain[:, k + 1 :] - value[:, None]) / (changes[k + 1 :] - at), slope[:, None])
        for line in (steep.max(axis=1), steep[:, :-1].max(axis=1, initial=0.0)):
            line = np.maximum(line, slope)
            missing = np.maximum(0.0, gain[:, -1] - value - line * (changes[-1] - at))
            best = np.minimum(best, cost + (line - slope) * rest[k] + missing * above)
        cost, slope = cost + (steep[:, 0] - slope) * rest[k], steep[:, 0]
        value = value + slope * (changes[k + 1] - at)
    return best


# ------------------------------------------------------------------------------------------------------------- the rows


def _excesses(tail: Tail, epsilon: float, middle: float, changes: np.ndarray) -> tuple[np.ndarray, int]:
    """Bound the mean over rows of the excess of a change over each of some, and the rows that change by epsilon.

    If the k largest changes add up to U(k) at most, the excesses over s add up to max (U(k) - s k). Between two ranks
    U is bounded by the value at the higher one, and in proportion to that at the lower one.
    """
    n, squares = tail.n_samples, tail.n_samples * tail.parts.bias / 4
    ranks = _ranks(middle, n)
    sums = np.array([min(tail.largest_sum(rank), rank * tail.chance) for rank in ranks])
    at = np.array(ranks, dtype=float)
    worst = np.append(1.0, np.where(np.diff(at) > 1, np.minimum(at[1:], sums[1:] * at[:-1] / sums[:-1]), at[1:]))
    excess = (sums - changes[:, None] * worst).max(axis=1)
    with np.errstate(divide="ignore"):
        peak = squares / (4 * changes**2)  # of sqrt(squares k) - s k, which bounds the ranks beyond the last
        if ranks[-1] < n:
            beyond = np.clip(peak, ranks[-1], n)
            excess = np.maximum(excess, np.sqrt(squares * beyond) - changes * beyond)
        by_squares = np.minimum(squares / (4 * changes), math.sqrt(squares * n))
    below = np.flatnonzero(sums < at * epsilon)  # the mean of the k largest falls
    n_above = ranks[below[0]] - 1 if len(below) else n
    return np.clip(np.minimum(excess, by_squares), 0.0, None) / n, n_above


def _ranks(middle: float, n: int) -> list[int]:
    """Ranks at which changes are added up: close together where epsilon is passed, and the same for every epsilon."""
    ranks = {*range(1, min(n, math.ceil(3.2 * middle)) + 1)} if middle < 12 else set()
    dense, coarse, highest = (1.05, 1.3, 9) if middle < 300 else (1.1, 1.4, 4)  # large sums take longer
    for low, high, step in ((0.15, 0.5, 1.3), (0.5, 3.2, dense), (3.2, highest, coarse)):
        first = math.floor(math.log(max(1, low * middle)) / math.log(step))
        last = math.ceil(math.log(max(1, high * middle)) / math.log(step))
        ranks |= {min(n, max(1, round(step**k))) for k in range(first, last + 1)}
    return sorted(rank for rank in ranks if rank <= _HIGHEST)


# ------------------------------------------------------------------------------------------------------------- the bags


def _noises(tail: Tail, epsilon: float) -> np.ndarray:
    """Upper edges of cells of a row's noise v: up to its largest, and down to what hardly matters at epsilon.

    Apart from the largest they are powers of fixed numbers, so that what is worked out for them is of use again.
    """
    least = min(tail.n_bags * (6e-3 * epsilon) ** 2, tail.chance / 1000)
    (fine, n_fine), coarse = _NOISES, _SMALL_NOISES
    first = math.floor(-math.log(tail.chance) / math.log(fine)) + 1
    large = fine ** -np.arange(first, first + n_fine)
    start = math.floor(-math.log(large[-1]) / math.log(coarse)) + 1
    small = coarse ** -np.arange(start, max(start, math.ceil(-math.log(least) / math.log(coarse))) + 1.0)
    return np.concatenate([small[::-1], large[::-1], [tail.chance]])


def _chances(epsilon: float, changes: np.ndarray, noise: np.ndarray, n_bags: int) -> np.ndarray:
    """Bound the chance of a change above epsilon for each cell of the average's change and of noise."""
    low, high = changes[:-1, None], changes[1:, None]
    near, far = epsilon - high, epsilon + low
    binomial = np.array([_far_off(np.append(near, far / (1 + low)), float(v), n_bags) for v in noise]).T
    least = np.maximum(np.append(0.0, noise[:-1]) - high**2, 0.0)
    most = np.maximum(noise - low**2, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        error = _SKEWED * ((1 + high) / np.sqrt(least) + _SYMMETRIC) / math.sqrt(n_bags)
        sides = [ndtr(-distance / np.sqrt(most / n_bags)) + error for distance in (near, far)]
    both = np.fmin(binomial[: len(near)], sides[0]) + np.fmin(binomial[len(near) :], sides[1])
    markov = (most / n_bags + high**2) / epsilon**2
    return np.asarray(np.minimum(1.0, np.minimum(both, markov)))


def _far_off(distance: np.ndarray, variance: float, n_bags: int) -> np.ndarray:
    """Bound the chance that a mean of B centred terms of at most 1, with this variance, is a distance above zero.

    For every k it is at most E (N - k)_+^2 / (x - k)^2, where N is the binomial number that sums of two-valued terms
    have, and x the number that would be as far off. The best k for x is where the tangent meets.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        best = np.where(distance > 0, variance / (variance + n_bags * distance**2), 1.0)  # Cantelli
        counts, squares, touching = _excess_squares(n_bags, variance)
        if len(counts):
            x = n_bags * (variance + distance) / (1 + variance)
            at = np.searchsorted(touching, x)
            for k in (np.maximum(at - 1, 0), np.minimum(at, len(counts) - 1)):
                best = np.minimum(best, np.where(x > counts[k], squares[k] / (x - counts[k]) ** 2, 1.0))
    return np.asarray(best)


@lru_cache(maxsize=4096)
def _excess_squares(n_bags: int, variance: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return numbers k, E (N - k)_+^2 for a binomial N, and the x for which each k is the best.

    Where too many numbers would have to be listed, N is rounded up to a multiple.
    """
    p = variance / (1 + variance)
    mean, deviation = n_bags * p, math.sqrt(n_bags * p / (1 + variance))
    first = max(0, math.floor(mean - 2.5 * deviation) - 2)
    last = min(n_bags, math.ceil(mean + 10 * deviation) + 40)
    step = max(1, math.ceil((last - first) / _COUNTS))
    counts = np.arange(first, last + step + 1, step, dtype=float)
    reached = counts - step + 1  # N rounded up is at least k if N is at least this
    inside = (reached >= 1) & (reached <= n_bags)
    chances = np.where(reached < 1, 1.0, 0.0)
    chances[inside] = betainc(reached[inside], n_bags - reached[inside] + 1, p) * (1 + 1e-10) + 1e-18
    # E (N - k)_+ adds up the chances beyond k, and E (N - k)_+^2 adds up twice that, less one.
    once = np.append(np.cumsum(chances[::-1])[::-1][1:], 0.0)
    twice = 2 * np.append(np.cumsum(once[::-1])[::-1][1:], 0.0) + once
    kept = once > 1e-13
    counts, once, twice = counts[kept], step * once[kept], step**2 * twice[kept]
    return counts, twice * (1 + 1e-9), counts + twice / np.where(once > 0, once, 1.0)
