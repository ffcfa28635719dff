"""Leaving out k rows at once: how far the bagged prediction moves, on average over sets of k rows and at most.

Everything is worked out from the chances that a bag avoids given rows, in logarithms, so that a billion rows and a
million of them left out are as quick as ten (docs/proofs.md, 15).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import gammaln

from stablebag._checks import check_bags, check_delta, check_integer, refuse_value
from stablebag.proving.components import Block, Components, components
from stablebag.resampling.law import ResolvedScheme
from stablebag.resampling.schemes import BernoulliSubbagging, ClassicalBagging, PoissonizedBagging, Subbagging

_MOST_LISTED = 5_000_000  # the most counts that are listed
_MOST_LEVELS = 64  # the most components of subbagging that are told apart
_MOST_DEGREES = 2_000  # the same for rows that are in bags independently


@dataclass(frozen=True)
class LeaveOut:
    """What is proved of leaving out k rows, for outputs in an interval of length 1; made by `leave_out`.

    Attributes
    ----------
    law : ResolvedScheme
        The law of the bags of all rows.
    k : int
        How many rows are left out.
    parts : Components
        Bias and noise by component, per unit of variance, for matched bags.
    constant : float
        The largest mean over sets of k rows of the squared change, per unit of variance, for infinitely many bags.
    worst_case : float
        The largest change by any k rows, for infinitely many bags: the chance that a bag has one of them.
    """

    law: ResolvedScheme
    k: int
    parts: Components
    constant: float
    worst_case: float

    def mean_square(self, n_bags: float = math.inf) -> float:
        """Bound the mean over sets of k rows of the expected squared change, with so many matched bags."""
        n_bags = check_bags(n_bags, "mean_square")
        if math.isinf(n_bags):
            return self._derandomized
        noise = min(self.parts.limit, self.parts.top / 4)
        apart = (1 - 1 / n_bags) * self._derandomized + noise / n_bags
        return min(float(self.parts.mean_square(n_bags)), apart)

    def epsilon(self, delta: float, n_bags: float = math.inf) -> float:
        """Return the change that at most a share `delta` of the sets of k rows exceeds."""
        delta = check_delta(delta, "epsilon")
        most = self.worst_case if math.isinf(n_bags) else 1.0
        return most if delta == 0 else min(most, math.sqrt(self.mean_square(n_bags) / delta))

    def of_variance(self, variance: Any, n_bags: float = math.inf, limit: float | None = None) -> Any:
        """Bound the mean square by the variance of a bag's output over bags, at a point or for vectors."""
        return self.parts.mean_square(n_bags, variance, limit)

    @cached_property
    def _derandomized(self) -> float:
        return min(self.constant / 4, _by_steps(self.law, self.k) / 4, self.worst_case**2)


def leave_out(law: ResolvedScheme, k: int) -> LeaveOut:
    """Return what is proved of leaving out k rows of a law that treats all rows alike.

    The bags without the k rows follow the law of the other rows with the same bag size, or the same rate. On average
    over all sets of k rows, the squared change is at most `constant` times the variance of a bag's output.

    Parameters
    ----------
    law : ResolvedScheme
        The law of the bags of all rows.
    k : int
        How many rows are left out.

    Returns
    -------
    LeaveOut

    Examples
    --------
    >>> from stablebag import Subbagging
    >>> found = leave_out(Subbagging(1000).resolve(10_000), k=100)
    >>> round(found.constant, 9), round(found.epsilon(0.1), 8)
    (0.001122334, 0.05297014)
    """
    owner = "leave_out"
    k = check_integer(k, "k", owner, minimum=1)
    if not law.is_symmetric:
        reason = "which rows leave would change the law of the bags of the others."
        raise refuse_value("law", owner, "one that treats all rows alike", str(law), reason)
    log_avoids = _log_avoidance(law, k)
    if k >= law.n_samples or log_avoids(k) == -math.inf:
        raise refuse_value("k", owner, "so few that a bag can avoid them", k, "some bags must have none of these rows.")
    worst = float(-np.expm1(log_avoids(k)))
    if k == 1:
        parts = components(law)
    elif type(law.scheme) is Subbagging:
        parts = _swapped(int(law.bag_size), law.n_samples, k, worst)
    elif type(law.scheme) in (BernoulliSubbagging, PoissonizedBagging):
        parts = _deleted(law.mean_inclusion, law.n_samples, k, worst)
    else:
        parts = Components((Block(np.array([_largest_bias(law, k)]), np.zeros(1)),), math.inf, worst)
    return LeaveOut(law, k, parts, parts.bias, worst)


# -------------------------------------------------------------------------------------------------------- two versions


@dataclass(frozen=True)
class BetweenVersions:
    """What is proved of two versions of a data set, for outputs in an interval of length 1; made by `between_versions`.

    Attributes
    ----------
    changed_bags : float
        The chance that a bag differs between the versions.
    random_rows : float
        The mean squared change with infinitely many bags, if chance alone decides which rows are gone and new.
    worst_case : float
        The largest change with infinitely many bags, whichever rows are gone and new.
    """

    changed_bags: float
    random_rows: float
    worst_case: float

    def mean_square(self, n_bags: float = math.inf, *, random_rows: bool = True) -> float:
        """Bound the expected squared change with so many matched bags; for any rows if not `random_rows`."""
        n_bags = check_bags(n_bags, "mean_square")
        square = min(self.random_rows, self.worst_case**2) if random_rows else self.worst_case**2
        return square if math.isinf(n_bags) else (1 - 1 / n_bags) * square + self.changed_bags / n_bags

    def epsilon(self, delta: float, n_bags: float = math.inf, *, random_rows: bool = True) -> float:
        """Return the change that is exceeded with a chance of at most `delta`."""
        delta = check_delta(delta, "epsilon")
        most = self.worst_case if math.isinf(n_bags) else 1.0
        root = math.sqrt(self.mean_square(n_bags, random_rows=random_rows))
        return most if delta == 0 else min(most, root / math.sqrt(delta))


def between_versions(law: ResolvedScheme, n_gone: int, n_new: int) -> BetweenVersions:
    """Return how far a prediction moves if some rows are gone and others are new, with the same seed and row IDs.

    The law is that of the first version. Bags of the second have the same size, or rows the same rate. `random_rows`
    assumes that each row of both versions is as likely as any other to be gone or new. That is random churn; it is
    false for rows that were chosen.

    Parameters
    ----------
    law : ResolvedScheme
        The law of the bags of the first version.
    n_gone : int
        How many of its rows are gone in the second version.
    n_new : int
        How many rows of the second version are new.

    Returns
    -------
    BetweenVersions

    Examples
    --------
    >>> from stablebag import Subbagging
    >>> found = between_versions(Subbagging(5_000).resolve(10_000), n_gone=100, n_new=100)
    >>> round(found.epsilon(0.1), 4), round(found.worst_case, 4)
    (0.2225, 1.0)
    """
    owner = "between_versions"
    n_gone = check_integer(n_gone, "n_gone", owner, minimum=0)
    n_new = check_integer(n_new, "n_new", owner, minimum=0)
    if not law.is_symmetric:
        reason = "which rows are gone would change the law of the bags of the others."
        raise refuse_value("law", owner, "one that treats all rows alike", str(law), reason)
    fixed = law.scheme.without_one(law.n_samples)  # the bag size as a number of rows, or the rate
    both, second = (fixed.resolve(law.n_samples + more) for more in (n_new, n_new - n_gone))
    if n_gone + n_new == 0:
        return BetweenVersions(0.0, 0.0, 0.0)
    changed = float(-np.expm1(_log_avoidance(both, n_gone + n_new)(n_gone + n_new)))
    first_step = leave_out(law, n_gone) if n_gone else None
    second_step = leave_out(second, n_new) if n_new else None
    worst = max(step.worst_case for step in (first_step, second_step) if step)
    roots = [math.sqrt(step.mean_square()) for step in (first_step, second_step) if step]
    square = sum(roots) ** 2
    if type(law.scheme) is Subbagging:
        n, m = both.n_samples, int(law.bag_size)
        gone, new = n_gone / (n - n_gone), n_new / (n - n_new)
        square = min(square, m / (n - m) * (gone + new + 2 * gone * new) / 4)
    return BetweenVersions(changed, square, worst)


# --------------------------------------------------------------------------------------------------------- the chances


def _log_avoidance(law: ResolvedScheme, k: int) -> Callable[[Any], Any]:
    """Return the logarithm of the chance that a bag has none of u given rows, as a function of u."""
    n, scheme = law.n_samples, law.scheme
    if type(scheme) is Subbagging:
        m = int(law.bag_size)
        return lambda u: _log_disjoint(m, n, int(u))
    if type(scheme) is BernoulliSubbagging:
        return lambda u: u * math.log1p(-law.inclusion_probability)
    if type(scheme) is PoissonizedBagging:
        return lambda u: -u * float(scheme.share_of(n))
    if type(scheme) is ClassicalBagging:
        return lambda u: int(law.bag_size) * np.log1p(-np.minimum(u, n) / n) if np.max(u) < n else -math.inf
    chances = np.array([_avoidance(law, u) for u in range(min(2 * k, n) + 1)])
    with np.errstate(divide="ignore"):
        logs = np.log(chances)
    return lambda u: logs[u]


def _avoidance(law: ResolvedScheme, u: int) -> float:
    counts = law.count_law(u) if u else np.ones(1)
    if counts is None:
        reason = "it must say how many of some rows are in a bag: define count_law."
        raise refuse_value("law", "leave_out", "one whose bags are known", str(law), reason)
    return float(counts[0])


def _log_ratio(law: ResolvedScheme, k: int, common: np.ndarray) -> np.ndarray:
    """log of the chance to avoid two sets of k rows with so many in common, over the squared chance to avoid one."""
    n, scheme = law.n_samples, law.scheme
    if type(scheme) is ClassicalBagging:
        centred = (common - k * (k / n)) / n
        with np.errstate(divide="ignore"):
            return np.asarray(int(law.bag_size) * np.log1p(np.maximum(-1.0, centred / (1 - k / n) ** 2)))
    logs = _log_avoidance(law, k)
    return np.array([logs(int(2 * k - x)) - 2 * logs(k) for x in common])


def _largest_bias(law: ResolvedScheme, k: int) -> float:
    """The largest mean square per unit of variance: of components 0 and 1, which no other exceeds."""
    n = law.n_samples
    if k > _MOST_LISTED:
        return math.inf
    common = np.arange(max(0, 2 * k - n), k + 1, dtype=float)
    x = common[:-1]
    logs = _log_chances(np.log((k - x) / (x + 1) * (k - x) / (n - 2 * k + x + 1)))
    ratio = _log_ratio(law, k, common)
    small = ratio < 30
    excess = np.exp(np.minimum(logs + np.where(small, 0.0, ratio), 700.0))
    excess[small] *= np.expm1(ratio[small])
    centred = (common - k * (k / n)) * (n / k / (n - k))
    both = float(excess.sum()), float((centred * excess).sum())
    return max(0.0, *both) * (1 + 1e-9) if max(both) < 1e200 else math.inf


def _log_chances(log_ratios: np.ndarray) -> np.ndarray:
    """The logarithms of the law whose chances have these ratios, summed outwards from its largest chance."""
    mode = int(np.searchsorted(-log_ratios, 0.0))  # the ratios fall
    logs = np.concatenate([-np.cumsum(log_ratios[:mode][::-1])[::-1], [0.0], np.cumsum(log_ratios[mode:])])
    return np.asarray(logs - math.log(float(np.exp(logs).sum())))


def _by_steps(law: ResolvedScheme, k: int) -> float:
    """The mean square of k steps of one row each, by Minkowski's inequality, times four; for outputs in [0, 1]."""
    n, scheme = law.n_samples, law.scheme
    if type(scheme) is Subbagging or k > _MOST_LISTED:
        return math.inf  # what is known is smaller
    left = n - np.arange(k, dtype=float)
    p = law.mean_inclusion
    if type(scheme) in (BernoulliSubbagging, PoissonizedBagging):
        constants = p / (1 - p) / left
    elif type(scheme) is ClassicalBagging and n - k > 1:
        m = int(law.bag_size)
        # With A_u the chance to avoid u rows: p / (1 - p) = 1 / A_1 - 1 and q / (1 - p)^2 = 1 - A_2 / A_1^2.
        constants = (np.expm1(-m * np.log1p(-1 / left)) - np.expm1(m * np.log1p(-1 / (left - 1) ** 2))) / left
    else:
        return math.inf
    return float(np.sqrt(constants).sum()) ** 2 * (1 + 1e-12)


# ------------------------------------------------------------------------------------------------------- by component


def _swapped(m: int, n: int, k: int, worst: float) -> Components:
    """Subbagging: rows that leave a bag give way to the next to arrive, and components are those of the swaps."""
    out, levels = n - m, min(m, n - m)
    # How many of the k arrive before m + 1 others have: given that, a bag and its successor are independent subsets.
    if k == out:
        u, chance = np.array([float(k)]), np.ones(1)
    else:
        u = _likely(m, n, k)
        chance = np.exp(_log_chances(np.log((m + u[:-1] + 1) / (u[:-1] + 1) * (k - u[:-1]) / (out - u[:-1] - 1))))
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
        # The noisiest component keeps at least what bags keep that none, or one, of the k would have entered.
        top = 2 * min(1.0, 1 - _kept_by_noisiest(m, n, k))
        blocks.append(Block(np.maximum(0.0, [bias]), np.array([top])))
    return Components(tuple(blocks), top * (1 + 1e-12), worst)


def _deleted(p: float, n: int, k: int, worst: float) -> Components:
    """Rows that come independently of each other: components are sets of rows, told apart by how many they are."""
    log_odds, log_top = math.log(p) - math.log1p(-p), -k * math.log1p(-p)
    degrees = min(k, _MOST_DEGREES)
    j = np.arange(1, degrees + 1, dtype=float)
    # C(k, j)^2 / C(n, j) (p / (1 - p))^j, and 1 - C(n - j, k) / C(n, k).
    logs = np.cumsum(2 * np.log((k - j + 1) / j) - np.log((n - j + 1) / j) + log_odds)
    if log_top > 700 or logs.max() > 600:
        bias = np.array([math.exp(min(700.0, float(logs.max()))) * degrees])
        return Components((Block(bias if k == degrees else np.array([math.inf]), np.zeros(1)),), math.inf, worst)
    bias = np.exp(logs)
    missed = np.cumprod(np.maximum(0.0, 1 - k / (n - j + 1)))  # 0 for sets so large that the k rows meet them
    noise = (1 - missed) * math.exp(log_top)
    if k > degrees:  # what is not told apart falls at least as fast as here, and is as noisy as anything
        ratio = math.exp(
            2 * math.log((k - degrees) / (degrees + 1)) - math.log((n - degrees) / (degrees + 1)) + log_odds
        )
        rest = bias[-1] * ratio / (1 - ratio) if ratio < 1 else math.inf
        bias, noise = np.append(bias, rest), np.append(noise, math.exp(log_top))
    top = math.exp(log_top) if math.isfinite(bias.sum()) else math.inf
    return Components((Block(bias, noise),), top, worst)


def _likely(m: int, n: int, k: int) -> np.ndarray:
    """Numbers of the k rows that may arrive before m + 1 others do, but for a negligible chance."""
    mean = k * (m + 1) / (n - k + 1)
    spread = math.sqrt(mean * (n + 1) / (n - k + 1) * (1 - (m + 1) / (n - k + 2))) + 1
    first = max(0, math.floor(mean - 12 * spread) - 60)
    return np.arange(first, min(k, math.ceil(mean + 12 * spread) + 60) + 1, dtype=float)


def _kept_by_noisiest(m: int, n: int, k: int) -> float:
    """A lower bound on what the noisiest component of subbagging keeps: the first terms of a sum of positive ones."""
    out, levels = n - m, min(m, n - m)
    total, term, u = 0.0, math.exp(_log_disjoint(m + 1, n, k)), 0
    while term > 0 and u < min(k, 1000):
        total += term
        ratio = (m + u + 1) / (u + 1) * (k - u) / max(1, out - u - 1)
        term *= ratio * max(0, out - levels - u) / (out - u) * (m - levels + u + 1) / (m + u + 1)
        u += 1
    return (total + term) * (1 - 1e-9)


def _log_disjoint(a: int, n: int, k: int) -> float:
    """log of C(n - a, k) / C(n, k): the chance that k random rows miss a given ones."""
    if a + k > n:
        return -math.inf
    short, long = sorted((a, k))
    if short <= _MOST_LISTED:
        return float(np.log1p(-long / (n - np.arange(short, dtype=float))).sum())
    return float(gammaln(n - a + 1) - gammaln(n - a - k + 1) + gammaln(n - k + 1) - gammaln(n + 1))
