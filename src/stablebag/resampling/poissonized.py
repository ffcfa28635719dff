"""Poissonized bagging: each row is in a bag a Poisson number of times, independently of the others."""

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar, Self

import numpy as np

from stablebag._wording import written_size
from stablebag.resampling.arrivals import Arrivals, Picked
from stablebag.resampling.assumptions import WeightedBag
from stablebag.resampling.counting import binomial_law, orders
from stablebag.resampling.sized import SizedScheme


@dataclass(frozen=True)
class PoissonizedBagging(SizedScheme):
    """Bags that contain each row independently Poisson(m/n) times; their size is random and may be zero.

    Parameters
    ----------
    bag_size : int or float, default=1.0
        The expected number of draws m, or the rate m/n itself. It may exceed the number of rows.

    Examples
    --------
    >>> law = PoissonizedBagging(bag_size=1.0).resolve(n_samples=500)
    >>> round(law.inclusion_probability, 9), law.negative_covariance, law.support_size
    (0.632120559, 0.0, inf)
    """

    bag_size: int | float | Fraction = 1.0
    _of_the_paper: ClassVar[bool] = True
    repeats: ClassVar[bool] = True
    has_finite_support: ClassVar[bool] = False

    def fix(self, n_samples: int) -> Self:
        return replace(self, bag_size=self.share_of(n_samples))

    def pick(self, n_samples: int, arrivals: Arrivals) -> Picked:
        return arrivals.arrivals_within(self.share_of(n_samples))

    def inclusion_probability(self, n_samples: int) -> float:
        return -math.expm1(-float(self.share_of(n_samples)))

    def negative_covariance(self, n_samples: int) -> Fraction:
        return Fraction(0)

    def enumerate_bags(self, n_samples: int) -> Iterator[WeightedBag]:
        m = self.expected_size(n_samples)
        for size in itertools.count():
            of_size = math.exp(size * math.log(m) - m - math.lgamma(size + 1))
            for bag in itertools.combinations_with_replacement(range(n_samples), size):
                yield bag, of_size * orders(bag) / n_samples**size

    def count_bags(self, n_samples: int) -> float:
        return math.inf

    def count_law(self, n_samples: int, n_rows: int) -> np.ndarray:
        rate = float(self.share_of(n_samples))
        return binomial_law(n_rows, -math.expm1(-rate), math.exp(-rate))

    def empty_probability(self, n_samples: int) -> float:
        return math.exp(-self.expected_size(n_samples))

    def without_one(self, n_samples: int) -> Self:
        return replace(self, bag_size=self.share_of(n_samples))

    def expected_size(self, n_samples: int) -> float:
        return float(self.share_of(n_samples) * n_samples)

    def describe(self, n_samples: int) -> str:
        number = written_size(self.expected_size(n_samples))
        draws = "1 draw" if number == "1" else f"{number} draws"
        return f"Poissonized bagging, {draws} expected from {n_samples:,} rows"
