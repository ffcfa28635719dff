"""Subbagging: bags of m distinct rows."""

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar, Self

import numpy as np

from stablebag.resampling.arrivals import Arrivals, Picked
from stablebag.resampling.assumptions import WeightedBag
from stablebag.resampling.counting import log_concave_law
from stablebag.resampling.sized import SizedScheme


@dataclass(frozen=True)
class Subbagging(SizedScheme):
    """Bags of m distinct rows, drawn without replacement.

    Parameters
    ----------
    bag_size : int or float, default=0.5
        The number of rows m, or their fraction of all rows, rounded down to whole rows but at least one. It must be
        smaller than the number of rows, or than 1 as a fraction.

    Examples
    --------
    >>> law = Subbagging(bag_size=250).resolve(n_samples=500)
    >>> law.inclusion_probability, round(law.negative_covariance, 9)
    (0.5, 0.000501002)
    >>> law.without_one().bag_size  # m stays the same on n - 1 rows
    250
    """

    bag_size: int | float | Fraction = 0.5
    _of_the_paper: ClassVar[bool] = True

    def fix(self, n_samples: int) -> Self:
        self.refuse_whole_bags(n_samples, largest=f"{n_samples - 1}")
        return replace(self, bag_size=self.whole_size(n_samples))

    def pick(self, n_samples: int, arrivals: Arrivals) -> Picked:
        return arrivals.first_rows(self.whole_size(n_samples))

    def inclusion_probability(self, n_samples: int) -> Fraction:
        return Fraction(self.whole_size(n_samples), n_samples)

    def negative_covariance(self, n_samples: int) -> Fraction:
        m = self.whole_size(n_samples)
        return Fraction(m * (n_samples - m), n_samples**2 * max(1, n_samples - 1))

    def enumerate_bags(self, n_samples: int) -> Iterator[WeightedBag]:
        probability = Fraction(1, self.count_bags(n_samples))
        for bag in itertools.combinations(range(n_samples), self.whole_size(n_samples)):
            yield bag, probability

    def count_bags(self, n_samples: int) -> int:
        return math.comb(n_samples, self.whole_size(n_samples))

    def count_law(self, n_samples: int, n_rows: int) -> np.ndarray:
        # Hypergeometric: m draws from n rows of which `n_rows` are watched.
        m = self.whole_size(n_samples)
        fewest, most = max(0, m - (n_samples - n_rows)), min(m, n_rows)
        law, k = np.zeros(n_rows + 1), np.arange(fewest, most, dtype=float)
        log_ratios = np.log((n_rows - k) * (m - k) / ((k + 1) * (n_samples - n_rows - m + k + 1)))
        law[fewest : most + 1] = log_concave_law(log_ratios)
        return law

    def empty_probability(self, n_samples: int) -> float:
        return 0.0

    def without_one(self, n_samples: int) -> Self:
        return replace(self, bag_size=self.whole_size(n_samples))

    def expected_size(self, n_samples: int) -> int:
        return self.whole_size(n_samples)

    def describe(self, n_samples: int) -> str:
        return f"subbagging, {self.whole_size(n_samples):,} of {n_samples:,} rows"
