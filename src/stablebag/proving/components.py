"""Components: what leaving rows out does to the parts of a bag's output, and to the noise of the drawn bags, jointly.

The output of a bag is a sum of orthogonal components. Leaving rows out moves the average through some of them, and the
noise of matched bags is largest through others, so that no output attains both bounds at once (docs/proofs.md, 15).
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy.special import gammaln

from stablebag.resampling.law import ResolvedScheme
from stablebag.resampling.schemes import BernoulliSubbagging, ClassicalBagging, PoissonizedBagging, Subbagging
from stablebag.resampling.unequal import ClusterSubbagging, StratifiedSubbagging

_MOST_DEGREES = 2_000  # the most components of a block that are told apart


class Block(NamedTuple):
    """Components that the average moves along in one direction: its share of the bias, and the noise, of each."""

    bias: np.ndarray
    noise: np.ndarray


@dataclass(frozen=True)
class Components:
    """The bias and the noise of matched bags, component by component, for a unit of variance of a bag's output.

    Attributes
    ----------
    blocks : tuple of Block
        The components through which leaving rows out moves the average.
    top : float
        The most noise through any component; infinite if it is not known.
    limit : float
        A bound on the noise whatever the variance, for outputs in an interval of length 1.
    """

    blocks: tuple[Block, ...]
    top: float
    limit: float

    @property
    def bias(self) -> float:
        """The largest mean square of the leave-one-out changes with infinitely many bags, per unit of variance."""
        return max((math.fsum(block.bias) for block in self.blocks), default=0.0)

    def mean_square(self, n_bags: float, variance: Any = 0.25, limit: float | None = None) -> Any:
        """Bound the mean over rows of the expected squared change of the average of so many matched bags.

        Parameters
        ----------
        n_bags : int or float
            The number of bags B.
        variance : float or ndarray, default=0.25
            The variance of a bag's output over bags, or a bound on it; for vectors, of its distance from its mean.
        limit : float or None, default=None
            A bound on the noise whatever the variance. None stands for that of outputs in an interval of length 1.

        Returns
        -------
        float or ndarray

        Examples
        --------
        >>> from stablebag import Subbagging
        >>> square = components(Subbagging(221).resolve(442)).mean_square(n_bags=500)
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
        """The blocks without those that have neither more bias nor more noise than another."""
        single = sorted({(float(b[0]), float(v[0])) for b, v in self.blocks if len(b) == 1}, reverse=True)
        kept: list[Block] = []
        for bias, noise in single:
            if not kept or noise > kept[-1].noise[0]:
                kept.append(Block(np.array([bias]), np.array([noise])))
        return kept + [block for block in self.blocks if len(block.bias) > 1]

    def _shares(self, n_bags: float) -> set[float]:
        """Shares of the noise that are bounded by the variance; the rest is bounded whatever the variance is."""
        if math.isinf(self.top):
            return {0.0}
        # Every share gives a bound. The best is an end, or where the top meets what the average moves along.
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


def components(law: ResolvedScheme, diameter: float = 1.0) -> Components:
    """Return the components of leaving one row out of matched bags of a law.

    Proved here (docs/proofs.md, 15) for the four schemes of the paper, strata and clusters. For other schemes the noise
    is only bounded by the chance that a row is in a bag, whatever the variance.

    Parameters
    ----------
    law : ResolvedScheme
        The law of the bags, which must draw matched ones.
    diameter : float, default=1.0
        The largest distance between two outputs; for vectors, in units of twice their radius.

    Returns
    -------
    Components

    Examples
    --------
    >>> from stablebag import Subbagging
    >>> found = components(Subbagging(5).resolve(10))
    >>> round(found.bias, 9), round(found.top, 9)  # c = 1 / 9, and 2 p (1 + 1 / 5)
    (0.111111111, 1.2)
    """
    p, n, constant = law.mean_inclusion, law.n_samples, law.constant
    limit = p * diameter**2
    if type(law.scheme) is Subbagging:
        m = int(law.bag_size)
        return Components((_block(constant, _swaps(m, n, 1)),), _swaps(m, n), limit)
    if type(law.scheme) is StratifiedSubbagging:
        shares, noises, tops, constants = _strata(law)
        blocks = tuple(_block(*pair) for pair in zip(constants, shares * noises, strict=True))
        limits = [min(m / n * diameter**2, top / 4) for m, n, top in zip(*_sizes(law), tops, strict=True)]
        return Components(blocks, float(shares @ tops), float(shares @ np.array(limits)))
    if type(law.scheme) is ClusterSubbagging:
        parts, m, there = law.scheme._layout(n)
        n_clusters, largest = len(there), float(parts.sizes[there].max()) * len(there) / n
        one, top = largest * _swaps(m, n_clusters, 1), largest * _swaps(m, n_clusters)
        return Components((_block(constant, one),), top, limit)
    if type(law.scheme) in (BernoulliSubbagging, PoissonizedBagging):
        return Components((_block(constant, 1 / (n * (1 - p))),), 1 / (1 - p), limit)
    if type(law.scheme) is ClassicalBagging and n > 1:
        blocks, top = _draws(int(law.bag_size), n, constant)
        return Components(blocks, top, limit)
    return Components((_block(constant, 0.0),), math.inf, limit)


def weighted_components(law: ResolvedScheme) -> Components | None:
    """Return the components of the sum over rows of squares, each divided by n times the constant of its row.

    Proved here (docs/proofs.md, 15) for strata, whose rows have one constant each. None for other laws.
    """
    if type(law.scheme) is not StratifiedSubbagging:
        return None
    shares, noises, tops, constants = _strata(law)
    blocks = tuple(_block(1.0, noise) for noise in shares * noises / constants)
    limits = [min(m / n, top / 4) for m, n, top in zip(*_sizes(law), tops, strict=True)]
    return Components(blocks, float(shares / constants @ tops), float(shares / constants @ np.array(limits)))


def _block(bias: float, noise: float) -> Block:
    return Block(np.array([bias], dtype=float), np.array([noise], dtype=float))


def _swaps(m: int, n: int, component: int | None = None) -> float:
    """The noise of swapping a row of m of n, per unit of variance of one component; by default of the noisiest one."""
    j = min(m, n - m) if component is None else component
    return 2 * j * (n + 1 - j) / (n * (n - m))


def _sizes(law: ResolvedScheme) -> tuple[list[int], list[int]]:
    """How many rows of each stratum are in a bag, and how many there are."""
    parts, sizes = law.scheme.layout(law.n_samples)  # type: ignore[attr-defined]
    return sizes.tolist(), parts.sizes.tolist()


def _strata(law: ResolvedScheme) -> tuple[np.ndarray, ...]:
    """Of each stratum: its share of the rows, the noise of its first component and of its noisiest, its constant."""
    sizes = list(zip(*_sizes(law), strict=True))
    parts, _ = law.scheme.layout(law.n_samples)  # type: ignore[attr-defined]
    constants = law.row_constants[[int(rows[0]) for rows in parts.members]]
    each = [(n / law.n_samples, _swaps(m, n, 1), _swaps(m, n)) for m, n in sizes]
    shares, noises, tops = np.array(each, dtype=float).T
    return shares, noises, tops, np.asarray(constants)


def _draws(m: int, n: int, constant: float) -> tuple[tuple[Block, ...], float]:
    """The components of m draws with replacement: degree j is what j draws decide together and fewer do not."""
    log_stays, log_in = math.log1p(-1 / n), -m * math.log1p(-1 / n)  # of 1 / (1 - p)
    ratio = m / (n - 1)
    j = np.arange(1, min(m, _MOST_DEGREES, 40 + math.ceil(8 * ratio)) + 1, dtype=float)

    def noise(degree: Any) -> Any:
        return (1 - np.exp(degree * log_stays) * (1 - np.minimum(1, degree / (n - 1)))) * math.exp(log_in)

    # The squared length of component j of what leaving a row out looks at, for weights with and without the sum zero.
    lengths = np.cumprod((m + 1 - j) / j / (n - 1))
    powers = np.where(j % 2 == 0, 1.0, -1.0) * float(n - 1) ** (1 - j)  # (n - 1) (-1 / (n - 1))^j
    log_rest = (len(j) + 1) * math.log(ratio) - float(gammaln(len(j) + 2)) + ratio
    blocks = []
    for profile in (lengths * (1 - powers / (n - 1)), lengths * np.maximum(0, 1 + powers)):
        bias, noises = profile / n, noise(j)
        if m > len(j):  # what is not told apart is as noisy as anything
            bias = np.append(bias, 2 * math.exp(min(700.0, log_rest)) / n)
            noises = np.append(noises, noise(float(m)))
        if bias.sum() > 0:
            blocks.append(Block(bias, noises))
    return tuple(blocks), float(noise(float(m)))


def with_shift(square: Any, n_bags: float, shift: float, share: float) -> Any:
    """Add what bags without rows do if classes lose their only row: a share of the rows moves the average by a shift.

    By Minkowski's inequality for the mean square over rows and draws; a single bag moves by 1 at most.
    """
    if shift == 0:
        return square
    added = (1 - 1 / n_bags) * shift**2 + shift / n_bags
    return (np.sqrt(square) + math.sqrt(share * added)) ** 2
