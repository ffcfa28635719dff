"""Classical bagging: draws with replacement."""

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar, Self

import numpy as np

from stablebag.resampling.arrivals import Arrivals, Picked
from stablebag.resampling.assumptions import WeightedBag
from stablebag.resampling.counting import orders
from stablebag.resampling.sized import SizedScheme

_MOST_DRAWN = 2e8  # the largest product of draws and rows for which count_law is worked out


@dataclass(frozen=True)
class ClassicalBagging(SizedScheme):
    """Bags of m rows drawn with replacement: the bootstrap if m = n.

    Parameters
    ----------
    bag_size : int or float, default=1.0
        The number of draws m, or their ratio to the number of rows, rounded down to whole draws but at least one. It
        may exceed the number of rows, as it does on n - 1 rows if m = n.

    Examples
    --------
    >>> law = ClassicalBagging(bag_size=1.0).resolve(n_samples=500)
    >>> round(law.inclusion_probability, 9), round(law.negative_covariance, 9)
    (0.632488745, 0.000270941)
    """

    bag_size: int | float | Fraction = 1.0
    _of_the_paper: ClassVar[bool] = True
    repeats: ClassVar[bool] = True

    def fix(self, n_samples: int) -> Self:
        return replace(self, bag_size=self.whole_size(n_samples))

    def pick(self, n_samples: int, arrivals: Arrivals) -> Picked:
        return arrivals.first_arrivals(self.whole_size(n_samples))

    def inclusion_probability(self, n_samples: int) -> float:
        if n_samples == 1:
            return 1.0
        return -math.expm1(self.whole_size(n_samples) * math.log1p(-1 / n_samples))

    def negative_covariance(self, n_samples: int) -> float:
        # (1 - 1/n)^2m - (1 - 2/n)^m, written so that two nearly equal powers are not subtracted.
        m = self.whole_size(n_samples)
        if n_samples <= 2:
            return math.exp(-m * math.log(4)) if n_samples == 2 else 0.0
        log_ratio = m * math.log1p(1 / (n_samples * (n_samples - 2)))
        return -math.exp(2 * m * math.log1p(-1 / n_samples)) * math.expm1(-log_ratio)

    def enumerate_bags(self, n_samples: int) -> Iterator[WeightedBag]:
        m = self.whole_size(n_samples)
        for bag in itertools.combinations_with_replacement(range(n_samples), m):
            yield bag, Fraction(orders(bag), n_samples**m)

    def count_bags(self, n_samples: int) -> int:
        m = self.whole_size(n_samples)
        return math.comb(n_samples + m - 1, m)

    def count_law(self, n_samples: int, n_rows: int) -> np.ndarray | None:
        # Draw by draw: a draw hits one of the watched rows that are not yet in the bag, or changes nothing. All terms
        # are positive, so nothing cancels.
        m = self.whole_size(n_samples)
        if m * (n_rows + 500) > _MOST_DRAWN:
            return None
        hit = (n_rows - np.arange(n_rows + 1)) / n_samples
        law = np.zeros(n_rows + 1)
        law[0] = 1.0
        for _ in range(m):
            moved = law * hit
            law -= moved
            law[1:] += moved[:-1]
        return law

    def empty_probability(self, n_samples: int) -> float:
        return 0.0

    def without_one(self, n_samples: int) -> Self:
        return replace(self, bag_size=self.whole_size(n_samples))

    def expected_size(self, n_samples: int) -> int:
        return self.whole_size(n_samples)

    def describe(self, n_samples: int) -> str:
        return f"classical bagging, {self.whole_size(n_samples):,} draws from {n_samples:,} rows"
