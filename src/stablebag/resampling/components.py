"""Components: joint bounds on the effect of leaving rows out and on the noise of drawn bags.

The output of a bag is a sum of orthogonal components. Leaving rows out changes the average through some of them, and
the noise of matched bags is largest through others, so no output attains both bounds at once (docs/proofs.md, 15).
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy.special import gammaln

MOST_LISTED = 5_000_000  # largest number of terms in an explicit sum
_MOST_DEGREES = 2_000  # largest number of components of a block that are treated separately
_MOST_LEVELS = 64  # the same for subbagging without several rows


class Block(NamedTuple):
    """The bias and the noise of components along which the average changes in one direction."""

    bias: np.ndarray
    noise: np.ndarray


@dataclass(frozen=True)
class Components:
    """The bias and the noise of matched bags, component by component, per unit of variance of a bag's output.

    Attributes
    ----------
    blocks : tuple of Block
        The components through which leaving rows out changes the average.
    top : float
        The largest noise of any component; infinite if unknown.
    limit : float
        A bound on the noise for any variance, for outputs in an interval of length 1.
    """

    blocks: tuple[Block, ...]
    top: float
    limit: float

    @property
    def bias(self) -> float:
        """The largest mean square of the leave-one-out changes with infinitely many bags, per unit of variance."""
        return max((math.fsum(block.bias) for block in self.blocks), default=0.0)

    def mean_square(self, n_bags: float, variance: Any = 0.25, limit: float | None = None) -> Any:
        """Bound the mean over rows of the expected squared change of the average of `n_bags` matched bags.

        Parameters
        ----------
        n_bags : int or float
            The number of bags B.
        variance : float or ndarray, default=0.25
            The variance of a bag's output over bags, or a bound on it; for vectors, the mean squared distance from the
            mean.
        limit : float or None, default=None
            A bound on the noise for any variance. None uses the one for outputs in an interval of length 1.

        Returns
        -------
        float or ndarray

        Examples
        --------
        >>> from stablebag import Subbagging
        >>> square = Subbagging(221).resolve(442).matched_components().mean_square(n_bags=500)
        >>> round(math.sqrt(square / 0.1), 9)
        0.075517185
        """
        limit = self.limit if limit is None else limit
        if math.isinf(n_bags):
            return self.bias * variance
        shares = self._shares(n_bags)
        each = [
            ((1 - share) * limit / n_bags if share < 1 else 0.0) + variance * self.factor(n_bags, share)
            for share in shares
        ]
        return np.minimum.reduce(each) if np.ndim(variance) else float(min(each))

    def combined(self, of_bias: float, of_noise: float, variance: float = 0.25) -> float:
        """Bound a weighted sum of the mean squares of bias and noise."""
        square: float = self.mean_square(1 + of_bias / of_noise, variance)
        return square * (of_bias + of_noise)

    def factor(self, n_bags: float, share: float = 1.0) -> float:
        """Return the largest of (1 - 1/B) bias + share noise / B over all outputs with unit variance."""
        top = share * self.top / n_bags if share else 0.0
        return max([top, *(_largest_root((1 - 1 / n_bags) * b, share * v / n_bags) for b, v in self._distinct)])

    @cached_property
    def _distinct(self) -> list[Block]:
        """The blocks, without those dominated by another in both bias and noise."""
        single = sorted({(float(b[0]), float(v[0])) for b, v in self.blocks if len(b) == 1}, reverse=True)
        kept: list[Block] = []
        for bias, noise in single:
            if not kept or noise > kept[-1].noise[0]:
                kept.append(Block(np.array([bias]), np.array([noise])))
        return kept + [block for block in self.blocks if len(block.bias) > 1]

    def _shares(self, n_bags: float) -> set[float]:
        """Return candidates for the share of the noise bounded by the variance; the rest is bounded by `limit`."""
        if math.isinf(self.top):
            return {0.0}
        # Every share gives a bound. The best is at an end, or where the top equals the noise along a block.
        met = 0.0
        for bias, noise in self._distinct:
            below = noise < self.top * (1 - 1e-9)
            met = max(met, (n_bags - 1) * float((bias[below] / (self.top - noise[below])).sum()))
        return {0.0, min(1.0, met), 1.0}


def _largest_root(bias: np.ndarray, noise: np.ndarray) -> float:
    """Bound the largest eigenvalue of a diagonal matrix of noise with the bias added along one direction."""
    if len(bias) == 1:
        return float(bias[0] + noise[0])
    if not math.isfinite(float(bias.sum() + noise.sum())):
        return math.inf
    low, high = float(noise.max()), float(noise.max() + bias.sum())
    for _ in range(100):
        middle = (low + high) / 2
        if not low < middle < high:
            break
        above = float((bias / (middle - noise)).sum()) <= 1
        low, high = (low, middle) if above else (middle, high)
    return high * (1 + 1e-14 * len(bias))


# ------------------------------------------------------------------------------------------------------------- of laws
# The components of each law when one or several rows are left out (docs/proofs.md, 15).


def block(bias: float, noise: float) -> Block:
    """Return a block with a single component."""
    return Block(np.array([bias], dtype=float), np.array([noise], dtype=float))


def of_any_law(constant: float, limit: float) -> Components:
    """Return components that are valid for every law with this constant, where only `limit` bounds the noise."""
    return Components((block(constant, 0.0),), math.inf, limit)


def of_swaps(m: int, n: int, constant: float, limit: float) -> Components:
    """Return the components of subbagging m of n rows, where another row replaces the one left out."""
    return Components((block(constant, swap_noise(m, n, 1)),), swap_noise(m, n), limit)


def of_independent_rows(p: float, n: int, constant: float, limit: float) -> Components:
    """Return the components if rows are in a bag independently, with probability p."""
    return Components((block(constant, 1 / (n * (1 - p))),), 1 / (1 - p), limit)


def swap_noise(m: int, n: int, component: int | None = None) -> float:
    """Return the noise of swapping one of m rows per unit of variance, for one component or for the noisiest."""
    j = min(m, n - m) if component is None else component
    return 2 * j * (n + 1 - j) / (n * (n - m))


def of_draws(m: int, n: int, constant: float, limit: float) -> Components:
    """Return the components of m draws with replacement; degree j is the joint effect of j draws beyond fewer draws."""
    log_stays, log_in = math.log1p(-1 / n), -m * math.log1p(-1 / n)  # log_in is the log of 1 / (1 - p)
    ratio = m / (n - 1)
    j = np.arange(1, min(m, _MOST_DEGREES, 40 + math.ceil(8 * ratio)) + 1, dtype=float)

    def noise(degree: Any) -> Any:
        return (1 - np.exp(degree * log_stays) * (1 - np.minimum(1, degree / (n - 1)))) * math.exp(log_in)

    # The squared length of component j of the functional "leave a row out", for weights with and without sum zero.
    lengths = np.cumprod((m + 1 - j) / j / (n - 1))
    powers = np.where(j % 2 == 0, 1.0, -1.0) * float(n - 1) ** (1 - j)  # (n - 1) (-1 / (n - 1))^j
    log_rest = (len(j) + 1) * math.log(ratio) - float(gammaln(len(j) + 2)) + ratio
    blocks = []
    for profile in (lengths * (1 - powers / (n - 1)), lengths * np.maximum(0, 1 + powers)):
        bias, noises = profile / n, noise(j)
        if m > len(j):  # the remaining components get the largest noise
            bias = np.append(bias, 2 * math.exp(min(700.0, log_rest)) / n)
            noises = np.append(noises, noise(float(m)))
        if bias.sum() > 0:
            blocks.append(Block(bias, noises))
    return Components(tuple(blocks), float(noise(float(m))), limit)


def of_swaps_of_several(m: int, n: int, k: int, limit: float) -> Components:
    """Return the components of subbagging without k rows, where the next rows to arrive replace those left out."""
    out, levels = n - m, min(m, n - m)
    # u of the k rows arrive before m + 1 others. Given u, a bag and its replacement are independent subsets.
    if k == out:
        u, chance = np.array([float(k)]), np.ones(1)
    else:
        u = _likely(m, n, k)
        chance = np.exp(log_chances(np.log((m + u[:-1] + 1) / (u[:-1] + 1) * (k - u[:-1]) / (out - u[:-1] - 1))))
    blocks, log_kept, bias = [], np.zeros(len(u)), 1.0
    with np.errstate(divide="ignore"):
        for j in range(1, min(levels, _MOST_LEVELS) + 1):
            log_kept += np.log1p(-np.minimum(u, out - j + 1) / (out - j + 1)) - np.log1p(u / (m - j + 1))
            bias *= (
                (k / (out * (n - k)) * m) if j == 1 else (k - j + 1) * (m - j + 1) / ((out - j + 1) * (n - k - j + 1))
            )
            blocks.append(Block(np.array([max(0.0, bias)]), np.array([2 * float(chance @ -np.expm1(log_kept))])))
            if bias < 1e-12 * float(blocks[0].bias[0]):
                break
    top = float(blocks[-1].noise[0])
    if levels > len(blocks):
        # The noisiest component keeps at least the part from bags that none, or one, of the k rows would have entered.
        top = 2 * min(1.0, 1 - _kept_by_noisiest(m, n, k))
        blocks.append(Block(np.maximum(0.0, [bias]), np.array([top])))
    return Components(tuple(blocks), top * (1 + 1e-12), limit)


def of_several_independent_rows(p: float, n: int, k: int, limit: float) -> Components:
    """Return the components for independent rows without k of them; components are sets of rows, grouped by size."""
    log_odds, log_top = math.log(p) - math.log1p(-p), -k * math.log1p(-p)
    degrees = min(k, _MOST_DEGREES)
    j = np.arange(1, degrees + 1, dtype=float)
    # C(k, j)^2 / C(n, j) (p / (1 - p))^j, and 1 - C(n - j, k) / C(n, k).
    logs = np.cumsum(2 * np.log((k - j + 1) / j) - np.log((n - j + 1) / j) + log_odds)
    if log_top > 700 or logs.max() > 600:
        bias = np.array([math.exp(min(700.0, float(logs.max()))) * degrees])
        return Components((Block(bias if k == degrees else np.array([math.inf]), np.zeros(1)),), math.inf, limit)
    bias = np.exp(logs)
    missed = np.cumprod(np.maximum(0.0, 1 - k / (n - j + 1)))  # 0 for sets so large that they contain one of the k rows
    noise = (1 - missed) * math.exp(log_top)
    if k > degrees:  # bound the remaining components by a geometric series, with the largest noise
        ratio = math.exp(
            2 * math.log((k - degrees) / (degrees + 1)) - math.log((n - degrees) / (degrees + 1)) + log_odds
        )
        rest = bias[-1] * ratio / (1 - ratio) if ratio < 1 else math.inf
        bias, noise = np.append(bias, rest), np.append(noise, math.exp(log_top))
    top = math.exp(log_top) if math.isfinite(bias.sum()) else math.inf
    return Components((Block(bias, noise),), top, limit)


def _likely(m: int, n: int, k: int) -> np.ndarray:
    """Return how many of the k rows may arrive before m + 1 others, leaving out a negligible probability."""
    mean = k * (m + 1) / (n - k + 1)
    spread = math.sqrt(mean * (n + 1) / (n - k + 1) * (1 - (m + 1) / (n - k + 2))) + 1
    first = max(0, math.floor(mean - 12 * spread) - 60)
    return np.arange(first, min(k, math.ceil(mean + 12 * spread) + 60) + 1, dtype=float)


def _kept_by_noisiest(m: int, n: int, k: int) -> float:
    """Return a lower bound on the kept part of subbagging's noisiest component: the first terms of a positive sum."""
    out, levels = n - m, min(m, n - m)
    total, term, u = 0.0, math.exp(log_disjoint(m + 1, n, k)), 0
    while term > 0 and u < min(k, 1000):
        total += term
        ratio = (m + u + 1) / (u + 1) * (k - u) / max(1, out - u - 1)
        term *= ratio * max(0, out - levels - u) / (out - u) * (m - levels + u + 1) / (m + u + 1)
        u += 1
    return (total + term) * (1 - 1e-9)


def log_disjoint(a: int, n: int, k: int) -> float:
    """Return the log of C(n - a, k) / C(n, k), the probability that k random rows miss a given rows."""
    if a + k > n:
        return -math.inf
    short, long = sorted((a, k))
    if short <= MOST_LISTED:
        return float(np.log1p(-long / (n - np.arange(short, dtype=float))).sum())
    return float(gammaln(n - a + 1) - gammaln(n - a - k + 1) + gammaln(n - k + 1) - gammaln(n + 1))


def log_chances(log_ratios: np.ndarray) -> np.ndarray:
    """Return the logs of the probabilities with these successive ratios, summed outwards from the mode."""
    mode = int(np.searchsorted(-log_ratios, 0.0))  # the ratios are decreasing
    logs = np.concatenate([-np.cumsum(log_ratios[:mode][::-1])[::-1], [0.0], np.cumsum(log_ratios[mode:])])
    return np.asarray(logs - math.log(float(np.exp(logs).sum())))
