"""Bernoulli subbagging: each row is in a bag with the same probability, independently of the others."""

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar, Self

import numpy as np

from stablebag._wording import probability
from stablebag.resampling.arrivals import Arrivals, Picked
from stablebag.resampling.assumptions import WeightedBag
from stablebag.resampling.counting import binomial_law
from stablebag.resampling.sized import SizedScheme


@dataclass(frozen=True)
class BernoulliSubbagging(SizedScheme):
    """Bags that contain each row independently with probability m/n; their size is random and may be zero.

    Parameters
    ----------
    bag_size : int or float, default=0.5
        The expected number of rows m, or the probability m/n itself. It must be smaller than the number of rows, or
        than 1 as a probability.

    Examples
    --------
    >>> law = BernoulliSubbagging(bag_size=100).resolve(n_samples=400)
    >>> law.inclusion_probability, law.negative_covariance
    (0.25, 0.0)
    >>> law.without_one().bag_size  # the probability stays, so the expected size falls
    99.75
    """

    bag_size: int | float | Fraction = 0.5
    _of_the_paper: ClassVar[bool] = True

    def fix(self, n_samples: int) -> Self:
        self.refuse_whole_bags(n_samples, largest=f"{n_samples - 1}, or a fraction below 1")
        return replace(self, bag_size=self.share_of(n_samples))

    def pick(self, n_samples: int, arrivals: Arrivals) -> Picked:
        return arrivals.rows_within(self.share_of(n_samples))

    def inclusion_probability(self, n_samples: int) -> Fraction:
        return self.share_of(n_samples)

    def negative_covariance(self, n_samples: int) -> Fraction:
        return Fraction(0)

    def enumerate_bags(self, n_samples: int) -> Iterator[WeightedBag]:
        p = self.share_of(n_samples)
        for size in range(n_samples + 1):
            probability = p**size * (1 - p) ** (n_samples - size)
            for bag in itertools.combinations(range(n_samples), size):
                yield bag, probability

    def count_bags(self, n_samples: int) -> int:
        return 1 << n_samples

    def count_law(self, n_samples: int, n_rows: int) -> np.ndarray:
        p = self.share_of(n_samples)
        return binomial_law(n_rows, float(p), float(1 - p))

    def empty_probability(self, n_samples: int) -> float:
        return math.exp(n_samples * math.log1p(-float(self.share_of(n_samples))))

    def without_one(self, n_samples: int) -> Self:
        return replace(self, bag_size=self.share_of(n_samples))

    def expected_size(self, n_samples: int) -> float:
        return float(self.share_of(n_samples) * n_samples)

    def describe(self, n_samples: int) -> str:
        share = float(self.share_of(n_samples))
        return f"Bernoulli subbagging, each of {n_samples:,} rows with probability {probability(share)}"
