"""How much the nearest rows count in the average over all bags of nearest neighbours, in closed form for any n."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import betainc, betaincc, gammainc, gammaincc
from scipy.stats import binom, poisson

from stablebag.learning.solvers.solver import NotCovered
from stablebag.resampling.bernoulli import BernoulliSubbagging
from stablebag.resampling.classical import ClassicalBagging
from stablebag.resampling.counting import log_concave_law
from stablebag.resampling.poissonized import PoissonizedBagging
from stablebag.resampling.scheme import ResolvedScheme
from stablebag.resampling.subbagging import Subbagging

_NEGLIGIBLE = 2.0**-60  # the chance of what is left out, below the rounding of what is not


@dataclass(frozen=True, eq=False)
class RankLaw:
    """How much the row that is nearest to a point counts over all bags, and the second nearest, and so on.

    Go through the rows from the nearest on. With the chance `last[j]`, the last of a bag's k neighbours is the row of
    rank j, and given that, the others are drawn from the nearer rows, all of them alike: without replacement in
    subbagging and Bernoulli subbagging, and with it, the row itself partly included, in classical and Poissonized
    bagging. So the mean and the mean square over all bags follow from sums of targets over the nearest rows. A bag with
    fewer than k rows averages all that it has.

    Parameters
    ----------
    law : ResolvedScheme
        One of the paper's laws of bags.
    k : int
        The number of neighbours.
    """

    law: ResolvedScheme
    k: int

    def __post_init__(self) -> None:
        if not self.law.is_of_the_paper:
            raise NotCovered(f"the weights of neighbours are not known for {type(self.law.scheme).__name__}")
        scheme, n = self.law.scheme, self.law.n_samples
        if isinstance(scheme, Subbagging | ClassicalBagging) and scheme.whole_size(n) < self.k:
            raise NotCovered(f"bags of {scheme.whole_size(n)} rows have no {self.k} neighbours")

    @cached_property
    def sizes(self) -> np.ndarray:
        """The chances that a bag has 0, 1, ..., k - 1 rows."""
        scheme, n, sizes = self.law.scheme, self.law.n_samples, np.arange(self.k)
        if isinstance(scheme, BernoulliSubbagging):
            return np.asarray(binom.pmf(sizes, n, float(scheme.share_of(n))))
        if isinstance(scheme, PoissonizedBagging):
            return np.asarray(poisson.pmf(sizes, scheme.expected_size(n)))
        return np.zeros(self.k)

    @property
    def empty(self) -> float:
        """The chance that a bag has no rows."""
        return float(self.sizes[0])

    @property
    def short(self) -> float:
        """The chance that a bag has rows, but fewer than k."""
        return float(self.sizes[1:].sum())

    def short_variance(self, variance: np.ndarray) -> np.ndarray:
        """Return the mean over short bags, times their chance, of the variance of their averages."""
        n, sizes = self.law.n_samples, np.arange(1, self.k)
        shares = self.sizes[1:] / sizes
        if isinstance(self.law.scheme, BernoulliSubbagging):  # drawn without replacement
            shares = shares * np.maximum(n - sizes, 0) / max(1, n - 1)
        return np.asarray(shares.sum() * variance)

    @cached_property
    def last(self) -> np.ndarray:
        """The chance that the last neighbour has rank 1, 2, ...: as far as it is not negligible."""
        chances = self._chances()
        if not len(chances):
            return chances
        beyond = np.append(np.cumsum(chances[::-1])[::-1][1:], 0.0)
        return chances[: int(np.argmax(beyond <= _NEGLIGIBLE)) + 1]

    @property
    def depth(self) -> int:
        """How many ranks count."""
        return len(self.last)

    @cached_property
    def weights(self) -> np.ndarray:
        """How much each rank counts, besides what it counts in short bags."""
        before = np.arange(self.depth)  # the number of nearer rows
        if not self.repeats:
            each = self.last * (self.k - 1) / np.maximum(before, 1)
            return np.asarray((self.last + _after(each)) / self.k)
        once, _ = self._with_replacement
        return np.asarray(self.last + (_after(once) - before * once) / self.k)

    @cached_property
    def squares(self) -> tuple[np.ndarray, ...]:
        """Coefficients of the mean square of the average of the neighbours.

        They go with the mean square of the targets at each rank, the square of their mean, the product of target and
        sum of the nearer ones, the sum of the squares of these, and the square of their sum.
        """
        k, before = self.k, np.arange(self.depth)
        if not self.repeats:
            one = self.last * (k - 1) / np.maximum(before, 1)
            two = one * (k - 2) / np.maximum(before - 1, 1) if k > 2 else np.zeros(self.depth)
            parts = (self.last, np.zeros(self.depth), 2 * one, one - two, two)
        else:
            one, two = self._with_replacement
            own = k * (k - 1) * self.last - 2 * (k - 1) * before * one + before**2 * two
            parts = (k * self.last - before * one, own, 2 * (k - 1) * one - 2 * before * two, one, two)
        return tuple(part / k**2 for part in parts)

    @property
    def repeats(self) -> bool:
        """Whether a row can be in a bag more than once."""
        return isinstance(self.law.scheme, ClassicalBagging | PoissonizedBagging)

    @cached_property
    def _with_replacement(self) -> tuple[np.ndarray, np.ndarray]:
        """The means of (k-1)/x and (k-1)(k-2)/x^2, rank by rank, where x is where the last draw falls in (0, n]."""
        scheme, n, k = self.law.scheme, self.law.n_samples, self.k
        m = scheme.whole_size(n) if isinstance(scheme, ClassicalBagging) else self.law.bag_size
        rate, pairs = m / n, (m * (m - 1) if isinstance(scheme, ClassicalBagging) else m**2) / n**2
        ranks, none = np.arange(self.depth + 1), np.zeros(self.depth)
        one = rate * _cells(*self._beyond(k - 1, ranks)) if k > 1 else none
        return one, pairs * _cells(*self._beyond(k - 2, ranks)) if k > 2 else none

    def _chances(self) -> np.ndarray:
        """The chances that the last neighbour has rank 1, 2, ..., perhaps further than needed."""
        scheme, n, k = self.law.scheme, self.law.n_samples, self.k
        if self.repeats:
            reach = 64
            while reach < n and self._beyond(k, np.array([reach]))[1][0] > _NEGLIGIBLE:
                reach *= 2
            return _cells(*self._beyond(k, np.arange(min(n, reach) + 1)))
        if n < k:
            return np.zeros(0)
        if isinstance(scheme, Subbagging):
            m = scheme.whole_size(n)
            rank = np.arange(k, n - m + k, dtype=float)
            ratios, total = rank / (rank - k + 1) * (n - rank - m + k) / (n - rank), 1.0
        else:
            p = float(self.law.inclusion_probability)
            rank = np.arange(k, n, dtype=float)
            ratios, total = rank / (rank - k + 1) * (1 - p), float(binom.sf(k - 1, n, p))
        return np.concatenate([np.zeros(k - 1), total * log_concave_law(np.log(ratios))])

    def _beyond(self, k: int, ranks: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The chances that the k-th draw, with replacement, has at most these ranks, and that it has larger ones."""
        scheme, n = self.law.scheme, self.law.n_samples
        if isinstance(scheme, ClassicalBagging):
            rest = scheme.whole_size(n) - self.k + 1
            return betainc(k, rest, ranks / n), betaincc(k, rest, ranks / n)
        rate = self.law.bag_size / n
        return gammainc(k, rate * ranks), gammaincc(k, rate * ranks)


def _cells(below: np.ndarray, above: np.ndarray) -> np.ndarray:
    """The chances between successive places, from the chances below and above each: the smaller ones are exact."""
    return np.where(below[1:] < 0.5, np.diff(below), -np.diff(above))


def _after(values: np.ndarray) -> np.ndarray:
    """For each rank, the sum over the ranks after it."""
    return np.append(np.cumsum(values[:0:-1])[::-1], 0.0)[: len(values)]
