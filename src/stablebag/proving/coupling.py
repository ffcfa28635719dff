"""How the bags drawn with and without a row depend on each other: what is assumed, and what follows from it."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from stablebag._checks import refuse_value


@dataclass(frozen=True)
class Coupling:
    """What is assumed about the bags, and about the learners' seeds, in the two runs with all rows and without one.

    Attributes
    ----------
    name : str
        Its name.
    noise : float
        A bound on the variance of the difference between two bags' outputs, one from each run, for outputs in [0, 1].
    assumed : str
        The assumption, in words.
    """

    name: str
    noise: float
    assumed: str

    def radius(self, n_bags: float, monte_carlo_delta: Any) -> Any:
        """Return what the noise of this many bags exceeds with probability at most `monte_carlo_delta`."""
        # Theorem 9: Hoeffding's inequality for each run.
        return np.sqrt(2 / n_bags * (math.log(4) - np.log(monte_carlo_delta)))

    def of_deviations(self, with_all: Any, without: Any) -> Any:
        """Return a bound on the variance of the difference between two outputs with these standard deviations."""
        return (with_all + without) ** 2

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class _Independent(Coupling):
    def radius(self, n_bags: float, monte_carlo_delta: Any) -> Any:
        """Return what Hoeffding's inequality gives for the bags of both runs together."""
        return np.sqrt((math.log(2) - np.log(monte_carlo_delta)) / n_bags)

    def of_deviations(self, with_all: Any, without: Any) -> Any:
        """Return the sum of the variances."""
        return with_all**2 + without**2


ANY = Coupling("any", 1.0, "however they are coupled")
INDEPENDENT = _Independent("independent", 0.5, "drawn independently with and without a row")
COUPLINGS = {coupling.name: coupling for coupling in (ANY, INDEPENDENT)}


def as_coupling(value: Any, owner: str) -> Coupling:
    """Return a coupling: the one that is given, or the one with that name."""
    if isinstance(value, Coupling):
        return value
    if isinstance(value, str) and value in COUPLINGS:
        return COUPLINGS[value]
    reason = "it is how the bags with and without a row depend on each other."
    raise refuse_value("coupling", owner, f"one of {sorted(COUPLINGS)}", value, reason)
