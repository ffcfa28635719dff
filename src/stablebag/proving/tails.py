"""The tail of the change with finitely many bags: the exact frontier for the rows, and sums of bounded terms for bags.

A second moment does not tell few large changes from many small ones. Here each row is bounded by itself: the k-th
largest change of the average of all bags is within the frontier, the noise of a row has a light tail, and both draw on
the same variance of a bag's output (docs/proofs.md, 16).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial

import numpy as np
from scipy.special import ndtr

from stablebag.resampling.components import Components

_BERRY_ESSEEN = 0.4748  # Shevtsova (2011), for sums of independent terms with the same law
_EPSILONS = 1.004  # the ratio of the epsilons that are tried: the same for every delta
_RANKS = 1.06  # the ratio of the ranks at which rows are bounded: the same for every epsilon


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
        A bound on the mean square of the noise of a bag by any one row, such as the largest chance to be in a bag.
    kth : callable
        Bounds the k-th largest change of the average of all bags.
    """

    n_samples: int
    n_bags: int
    parts: Components
    chance: float
    kth: Callable[[int], float]

    def epsilon(self, delta: float) -> float:
        """Return a change that at most a share `delta` of the rows exceeds, on average over the bags.

        It is at most that by second moments, up to which it is searched for among the powers of a fixed number.
        """
        if delta <= 0:
            return 1.0
        known = min(1.0, math.sqrt(self.parts.mean_square(self.n_bags) / delta))
        high = math.floor(math.log(known, _EPSILONS))
        low = math.floor(math.log(known * 0.2, _EPSILONS))
        if self.delta(_EPSILONS**high) > delta:
            return known
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self.delta(_EPSILONS**middle) <= delta else (middle, high)
        return min(known, _EPSILONS**high)

    def delta(self, epsilon: float) -> float:
        """Bound the mean over rows of the chance of a change above epsilon."""
        return _tail_delta(self, epsilon)


@lru_cache(maxsize=4096)
def _tail_delta(tail: Tail, epsilon: float) -> float:
    n, parts, n_bags = tail.n_samples, tail.parts, tail.n_bags
    largest, noise = _edges(epsilon, n_bags, tail.chance)
    exceeds = _exceeds(epsilon, n_bags, largest, noise)
    # How many rows there are whose change of the average may be in a cell or below; the last is for epsilon and more.
    ranks = _ranks(n * parts.bias / (2 * math.pi * epsilon**2), n)
    cells = np.searchsorted(largest[1:], [math.inf, *(tail.kth(rank) for rank in ranks)])
    cells = np.minimum(cells, len(largest) - 1)
    n_in = np.bincount(cells, weights=np.diff([0, *(rank - 1 for rank in ranks), n]), minlength=len(largest))
    squares, noises = largest[:-1, None] ** 2, np.maximum(noise[None, :-1], largest[:-1, None] ** 2)

    def bound(ratio: float, of_bias: float) -> float:
        """By Lagrange: what the variance allows, and what rows gain beyond its price."""
        of_noise = of_bias * ratio
        gain = (exceeds - of_bias * squares - of_noise * noises).max(axis=1)
        gain = np.append(gain, 1 - (of_bias + of_noise) * epsilon**2)
        gain = np.maximum.accumulate(np.maximum(gain, 0))
        return parts.combined(of_bias, of_noise) + float(gain @ n_in) / n

    free = parts.bias / parts.top  # up to this ratio the price of the noise is nothing to the variance
    ratios = {free} if free * n_bags >= 1 else {free, math.sqrt(free / n_bags), 1 / n_bags}
    most = 1.5 / epsilon**2
    return min(1.0, *(_smallest(partial(bound, ratio), most) for ratio in ratios))


def _smallest(bound: Callable[[float], float], most: float) -> float:
    """The smallest value found of a convex function: each is a bound."""
    low, high, golden = 0.02 * most, most, (math.sqrt(5) - 1) / 2
    points = [high - golden * (high - low), low + golden * (high - low)]
    values = [bound(point) for point in points]
    for _ in range(12):
        if values[0] <= values[1]:
            high, points[1], values[1] = points[1], points[0], values[0]
            points[0] = high - golden * (high - low)
            values[0] = bound(points[0])
        else:
            low, points[0], values[0] = points[0], points[1], values[1]
            points[1] = low + golden * (high - low)
            values[1] = bound(points[1])
    return min(values)


def _ranks(middle: float, n: int) -> list[int]:
    """Ranks at which rows are bounded: those around which epsilon is passed, and a few beyond."""
    if middle < 12:
        return list(range(1, min(n, math.ceil(4 * middle) + 12) + 1))
    step = math.log(_RANKS)
    first, last = math.floor(math.log(0.85 * middle) / step), math.ceil(math.log(min(n, 3.5 * middle)) / step)
    exponents = [k for k in range(first, last + 1) if k < first + 7 or k % 4 == 0]
    return sorted({min(n, math.floor(_RANKS**k)) for k in exponents})


def _edges(epsilon: float, n_bags: int, chance: float) -> tuple[np.ndarray, np.ndarray]:
    """Edges of cells of the change of the average, up to epsilon, and of the noise of a bag, up to its largest."""
    closeness = np.concatenate([[1.0], np.geomspace(0.95, 3e-4, 100), [0.0]])
    spread = np.geomspace(2e-3 * epsilon, max(math.sqrt(chance / n_bags), 2.1e-3 * epsilon), 110)
    return epsilon * (1 - closeness), np.concatenate([[0.0], spread**2 * n_bags])


def _exceeds(epsilon: float, n_bags: int, largest: np.ndarray, noise: np.ndarray) -> np.ndarray:
    """Bound the chance of a change above epsilon in each cell of change and noise."""
    low, high = largest[:-1, None], largest[1:, None]
    least, most = np.maximum(noise[None, :-1] - high**2, 0), np.maximum(noise[None, 1:] - low**2, 0)
    near = _one_side(epsilon - high, 1 - low, 1 + high, least, most, n_bags)
    far = _one_side(epsilon + low, 1 + high, 1 + high, least, most, n_bags)
    markov = (noise[None, 1:] / n_bags + high**2) / epsilon**2
    return np.asarray(np.minimum(1, np.minimum(near + far, markov)))


def _one_side(
    distance: np.ndarray, reach: np.ndarray, farthest: np.ndarray, least: np.ndarray, most: np.ndarray, n_bags: int
) -> np.ndarray:
    """Bound the chance that a mean of centred terms of at most `reach`, with variance in [least, most], is as far off.

    The smallest of the bounds of Cantelli, of Hoeffding (1963, Theorem 3), and of Berry and Esseen.
    """
    variance = most / n_bags
    with np.errstate(divide="ignore", invalid="ignore"):
        cantelli = np.where(variance > 0, variance / (variance + distance**2), np.where(distance > 0, 0, 1))
        q, x = most / (reach**2 + most), np.minimum(1, (distance * reach + most) / (reach**2 + most))
        rest = np.where(x < 1, (1 - x) * np.log((1 - x) / (1 - q)), 0)
        divergence = np.where(most > 0, x * np.log(x / q) + rest, np.inf)
        hoeffding = np.where(distance > 0, np.exp(-n_bags * divergence), 1)
        skew = _BERRY_ESSEEN * farthest / np.sqrt(least * n_bags)
        normal = ndtr(-distance / np.sqrt(variance)) + skew
    return np.asarray(np.fmin(1, np.fmin(np.fmin(cantelli, hoeffding), np.where(least > 0, normal, 1))))
