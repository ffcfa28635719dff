"""The jackknife family for units of several rows: every unit counts the same, however many rows it has.

Residuals are those of rows predicted without their unit, and intervals are for a row of a new unit. Lee, Barber and
Willett (2023), "Distribution-free inference with hierarchical data", extend the jackknife+ to such data. The proofs are
in docs/proofs.md, 12.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from stablebag._wording import rounded_down
from stablebag.deciding.jackknife import Ends, Jackknife, everything, refuse_unless
from stablebag.learning.averaging import BagAverage
from stablebag.measuring.left_out_lines import BagPoints, LeftOutLines
from stablebag.resampling.units import Units

_ROUNDING = 1e-9  # of sums of weights, in units
_BLOCK = 2**21  # rows and points that are looked at together


@dataclass(frozen=True)
class GroupJackknife(Jackknife):
    """The prediction plus and minus a quantile of the residuals, in which every unit has the same weight.

    Parameters
    ----------
    level : Fraction
        The level 1 - a.
    units : Units, default=None
        The units of the rows; always given.
    """

    units: Units = None  # type: ignore[assignment]
    name: ClassVar[str] = "jackknife"

    def rank(self, n_samples: int) -> int:
        """Return how many units' weight is needed; more than there are stands for infinity."""
        return math.ceil(self._needed)

    def intervals(self, residuals: np.ndarray, prediction: np.ndarray, left_out: np.ndarray) -> Ends:
        """Return the ends of the intervals at some points; `left_out` has one line per unit."""
        refuse_unless(bool(np.isfinite(residuals).all() and np.isfinite(left_out).all()))
        if self._needed > len(self.units):
            return everything(len(prediction))
        return self._of_lines(residuals, prediction, left_out.T)

    def from_bags(self, residuals: np.ndarray, average: BagAverage) -> Callable[[BagPoints], Ends]:
        refuse_unless(bool(np.isfinite(residuals).all()))
        special = np.array(average.special_units, dtype=np.intp)
        others = np.setdiff1d(np.arange(len(self.units)), special)
        lines, place = LeftOutLines(average, special, others), np.argsort(np.concatenate([special, others]))

        def ends(points: BagPoints) -> Ends:
            refuse_unless(bool(np.isfinite(points.size).all()))
            if self._needed > len(self.units):
                return everything(len(points))
            if points.may_overflow:
                return self._of_large(residuals, points)
            lower, upper = np.empty((2, len(points)))
            for some, *left_out in lines.blocks(points, np.arange(len(points)), slice(0, len(others))):
                left = np.concatenate(left_out, axis=1)[:, place]
                lower[some], upper[some] = self._of_lines(residuals, points.prediction[some], left)
            return lower, upper

        return ends

    def _of_lines(self, residuals: np.ndarray, prediction: np.ndarray, left_out: np.ndarray) -> Ends:
        """The ends at some points; `left_out` has one line per point, with one entry per unit."""
        radius = self.quantile(residuals[None])[0]
        return prediction - radius, prediction + radius

    def quantile(self, values: np.ndarray) -> np.ndarray:
        """Return the smallest value in each line of all rows such that those up to it have the weight needed."""
        order = np.argsort(values, axis=1)
        weights, needed = self._weights
        place = np.minimum((np.cumsum(weights[order], axis=1) < needed).sum(axis=1), values.shape[1] - 1)
        lines = np.arange(len(values))
        found: np.ndarray = values[lines, order[lines, place]]
        return found

    @cached_property
    def _weights(self) -> tuple[np.ndarray, Any]:
        """The weight of each row, and how much is needed; those of a unit add up to the same, and are whole numbers."""
        sizes = self.units.sizes[self.units.of_rows]
        whole = math.lcm(*np.unique(sizes).tolist())
        if whole * (len(self.units) + 1) < 2**62:
            return whole // sizes, math.ceil(self._needed * whole)
        return 1 / sizes, float(self._needed) - _ROUNDING  # of many sizes there is no common multiple

    @property
    def _needed(self) -> Fraction:
        return self.level * (len(self.units) + 1)

    @property
    def _at_once(self) -> int:
        """How many points are looked at together, each with a number for every row."""
        return max(1, _BLOCK // self.units.n_rows)

    @property
    def _whom(self) -> str:
        """For whom something is proved."""
        one, many = self.units.noun.singular, self.units.noun.plural
        return (
            f"Proved for exchangeable {many} and any learner that is blind to their order, at a row drawn at random "
            f"from a new {one}:"
        )


@dataclass(frozen=True)
class GroupJackknifePlus(GroupJackknife):
    """Quantiles of the predictions without a unit plus and minus the residuals of its rows."""

    name: ClassVar[str] = "jackknife+"
    reuses_bags: ClassVar[bool] = True

    def guarantee(self, n_samples: int) -> str:
        covered, near = 1 - 2 * (1 - self.level), f"typically it is near {float(self.level):g}."
        if covered <= 0:
            return f"Nothing is proved about their coverage at so low a level; {near}"
        return f"{self._whom} coverage is at least {rounded_down(covered)}; {near}"

    def _of_lines(self, residuals: np.ndarray, prediction: np.ndarray, left_out: np.ndarray) -> Ends:
        lower, upper = np.empty((2, len(left_out)))
        for first in range(0, len(left_out), self._at_once):
            some = slice(first, first + self._at_once)
            by_rows = left_out[some][:, self.units.of_rows]
            lower[some], upper[some] = -self.quantile(residuals - by_rows), self.quantile(residuals + by_rows)
        return lower, upper


@dataclass(frozen=True)
class GroupCVPlus(GroupJackknifePlus):
    """The same with folds of whole units in place of units."""

    name: ClassVar[str] = "cv+"

    def guarantee(self, n_samples: int) -> str:
        return (
            f"Nothing is proved about their coverage with folds of {self.units.noun.plural}; typically it is near "
            f"{float(self.level):g}. The jackknife+ has a proof."
        )


@dataclass(frozen=True)
class GroupJackknifeMinmax(GroupJackknife):
    """The extremes of the predictions without a unit plus and minus a quantile of the residuals."""

    name: ClassVar[str] = "jackknife-minmax"
    reuses_bags: ClassVar[bool] = True

    def guarantee(self, n_samples: int) -> str:
        return f"{self._whom} coverage is at least {float(self.level):g}."

    def _of_lines(self, residuals: np.ndarray, prediction: np.ndarray, left_out: np.ndarray) -> Ends:
        radius = self.quantile(residuals[None])[0]
        return left_out.min(axis=1) - radius, left_out.max(axis=1) + radius
