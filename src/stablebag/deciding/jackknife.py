"""The jackknife family: from leave-one-out predictions and residuals to the ends of intervals, and what is proved."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from stablebag._checks import as_fraction, check_real, refuse_value
from stablebag._wording import rounded_down
from stablebag.deciding.rank_search import RankSearch
from stablebag.learning.averaging import BagAverage
from stablebag.measuring.left_out_lines import BagPoints, LeftOutLines, extremes

_FEW = 64  # points at a time where speed does not matter

Ends = tuple[np.ndarray, np.ndarray]

_WHATEVER = "Proved for exchangeable rows and any learner that is blind to their order:"


def quantile_rank(level: float | Fraction, n_samples: int) -> int:
    """Return ceil((1 - a) (n + 1)), the rank of the order statistic for the level 1 - a; n + 1 stands for infinity.

    The level is read as it is written: 0.9 means 9/10.

    >>> quantile_rank(0.9, n_samples=9), quantile_rank(0.9, n_samples=19), quantile_rank(0.95, n_samples=9)
    (9, 18, 10)
    """
    return math.ceil(as_fraction(level) * (n_samples + 1))


@dataclass(frozen=True)
class Jackknife:
    """The prediction plus and minus a quantile of the leave-one-out residuals.

    Parameters
    ----------
    level : Fraction
        The level 1 - a.
    """

    level: Fraction
    name: ClassVar[str] = "jackknife"
    reuses_bags: ClassVar[bool] = False  # whether the proof depends on reused bags

    def rank(self, n_samples: int) -> int:
        """Return the rank of the order statistic; more than `n_samples` stands for infinity."""
        return quantile_rank(self.level, n_samples)

    def intervals(self, residuals: np.ndarray, prediction: np.ndarray, left_out: np.ndarray) -> Ends:
        """Return the ends of the intervals at some points; `left_out` has one line per training row."""
        refuse_unless(bool(np.isfinite(residuals).all() and np.isfinite(left_out).all()))
        rank = self.rank(len(residuals))
        if rank > len(residuals):
            return everything(len(prediction))
        return self._ends(rank, residuals, prediction, left_out)

    def from_bags(self, residuals: np.ndarray, average: BagAverage) -> Callable[[BagPoints], Ends]:
        """Return a function from points to the ends of their intervals, the same as `intervals` gives.

        No row is in every bag.
        """
        rank = self.rank(len(residuals))
        refuse_unless(bool(np.isfinite(residuals).all()))
        find = self._search(rank, residuals, average) if rank <= len(residuals) else None

        def ends(points: BagPoints) -> Ends:
            refuse_unless(bool(np.isfinite(points.size).all()))
            if points.may_overflow:
                return self._of_large(residuals, points)
            return everything(len(points)) if find is None else find(points)

        return ends

    def _of_large(self, residuals: np.ndarray, points: BagPoints) -> Ends:
        """The ends if predictions are near the largest number that there is; slow, a few points at a time."""
        average, few = points.average, [slice(first, first + _FEW) for first in range(0, len(points), _FEW)]
        ends = [self.intervals(residuals, points.prediction[s], average.left_out(points.raw[:, s])) for s in few]
        return np.concatenate([lower for lower, _ in ends]), np.concatenate([upper for _, upper in ends])

    def guarantee(self, n_samples: int) -> str:
        """Say what is proved about the coverage."""
        return "Nothing is proved about their coverage: the jackknife can fail for an unstable learner."

    def _ends(self, rank: int, residuals: np.ndarray, prediction: np.ndarray, left_out: np.ndarray) -> Ends:
        radius = self._radius(rank, residuals)
        return prediction - radius, prediction + radius

    def _search(self, rank: int, residuals: np.ndarray, average: BagAverage) -> Callable[[BagPoints], Ends]:
        radius = self._radius(rank, residuals)
        return lambda points: (points.prediction - radius, points.prediction + radius)

    def _radius(self, rank: int, residuals: np.ndarray) -> float:
        return float(np.partition(residuals, rank - 1)[rank - 1])


@dataclass(frozen=True)
class JackknifePlus(Jackknife):
    """Quantiles of the predictions without row i plus and minus the residual of row i."""

    name: ClassVar[str] = "jackknife+"
    reuses_bags: ClassVar[bool] = True

    def guarantee(self, n_samples: int) -> str:
        covered = 1 - 2 * (1 - self.level) - self._slack(n_samples)
        if covered <= 0:
            typically = f"typically it is near {float(self.level):g}."
            return f"Nothing is proved about their coverage at so low a level; {typically}"
        proved = f"coverage is at least {rounded_down(covered)}; typically it is near {float(self.level):g}."
        return f"{_WHATEVER} {proved}{self._caveat(n_samples)}"

    def _slack(self, n_samples: int) -> Fraction:
        return Fraction(0)

    def _caveat(self, n_samples: int) -> str:
        return ""

    def _ends(self, rank: int, residuals: np.ndarray, prediction: np.ndarray, left_out: np.ndarray) -> Ends:
        n = len(residuals)
        columns = np.empty(left_out.T.shape)
        with np.errstate(over="ignore"):  # an interval may be infinite
            np.add(left_out.T, residuals, out=columns)
        columns.partition(rank - 1, axis=1)
        upper = columns[:, rank - 1].copy()  # a view would keep all of it alive
        with np.errstate(over="ignore"):
            np.subtract(left_out.T, residuals, out=columns)
        columns.partition(n - rank, axis=1)
        return columns[:, n - rank].copy(), upper

    def _search(self, rank: int, residuals: np.ndarray, average: BagAverage) -> Callable[[BagPoints], Ends]:
        return RankSearch(rank, residuals, average).ends


@dataclass(frozen=True)
class CVPlus(JackknifePlus):
    """The jackknife+ with folds in place of rows.

    Parameters
    ----------
    level : Fraction
        The level 1 - a.
    n_folds : int, default=10
        The number of folds.
    """

    n_folds: int = 10
    name: ClassVar[str] = "cv+"

    def _slack(self, n_samples: int) -> Fraction:
        k, size = self.n_folds, Fraction(n_samples, self.n_folds)
        return min(2 * (1 - Fraction(1, k)) / (size + 1), (1 - Fraction(k, n_samples)) / (k + 1))

    def _caveat(self, n_samples: int) -> str:
        even = n_samples % self.n_folds == 0
        return "" if even else " Folds differ in size here, so this holds approximately."


@dataclass(frozen=True)
class JackknifeMinmax(Jackknife):
    """The extremes of the predictions without a row plus and minus a quantile of the residuals."""

    name: ClassVar[str] = "jackknife-minmax"
    reuses_bags: ClassVar[bool] = True

    def guarantee(self, n_samples: int) -> str:
        return f"{_WHATEVER} coverage is at least {float(self.level):g}."

    def _ends(self, rank: int, residuals: np.ndarray, prediction: np.ndarray, left_out: np.ndarray) -> Ends:
        radius = self._radius(rank, residuals)
        return left_out.min(axis=0) - radius, left_out.max(axis=0) + radius

    def _search(self, rank: int, residuals: np.ndarray, average: BagAverage) -> Callable[[BagPoints], Ends]:
        radius, special = self._radius(rank, residuals), np.array(average.special_units, dtype=np.intp)
        others = np.setdiff1d(np.arange(len(residuals)), special)
        lines = LeftOutLines(average, special, others)

        def ends(points: BagPoints) -> Ends:
            lower, upper = np.empty((2, len(points)))
            for some, *left_out in lines.blocks(points, np.arange(len(points)), slice(0, len(others))):
                low, high = extremes(*left_out)
                lower[some], upper[some] = low - radius, high + radius
            return lower, upper

        return ends


def everything(n_points: int) -> Ends:
    """Return intervals that have no ends."""
    return np.full(n_points, -np.inf), np.full(n_points, np.inf)


def refuse_unless(finite: bool) -> None:
    """Refuse predictions that are not finite."""
    if not finite:
        raise ValueError(
            "A prediction without some row is infinite or NaN, so there is no interval. Clip predictions to a range."
        )


def check_level(confidence_level: float, owner: str) -> Fraction:
    """Return the level 1 - a as it was written."""
    reason = "it is the level 1 - a. For 90 % write 0.9."
    level = check_real(confidence_level, "confidence_level", owner, low=-math.inf, reason=reason)
    if not 0 < level < 1:
        raise refuse_value("confidence_level", owner, "a number between 0 and 1", confidence_level, reason)
    return as_fraction(confidence_level)
