"""Jackknife+ intervals, by rows and by groups."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from stablebag._checks import as_fraction, check_real, refuse_value
from stablebag._wording import rounded_down
from stablebag.measuring.leave_one_out import left_out_at_rows
from stablebag.models.average import (
    BagAverage,
    BagPoints,
    LeftOutLines,
    extremes,
    left_out_spread,
    outside_weights,
    spread,
)
from stablebag.models.fitted import fitted
from stablebag.resampling.units import Units

# ---------------------------------------------------------------------------------------------------------- rank search
# The ends of the jackknife+ from the bags already fitted, searched among the rows with residuals of about that rank.
#
# The prediction without row i is near the one with all rows, so adding residual i keeps the order of residuals that are
# far apart. Rows whose residuals are far from the wanted one are therefore only counted; that they may be is proved at
# each point, and where it cannot be, more rows are looked at. The proof allows for rounding: the ends are those of all
# rows, whatever the last digits of a prediction are.

_SHARES = (1 / 8, 1 / 4, 3 / 8, 1 / 2, 3 / 4)  # of the rows: the windows that are tried before all rows
_FEWEST_ROWS = 512  # with fewer, all are looked at
_CROWDED = 0.05  # the share of rows, those in the most bags, that are looked at always


class RankSearch:
    """The lower and upper ends of the jackknife+ at any points.

    Parameters
    ----------
    rank : int
        The rank of the order statistic, at most the number of rows.
    residuals : ndarray of shape (n_samples,)
        The leave-one-out residuals.
    average : BagAverage
        The average over the bags.
    """

    def __init__(self, rank: int, residuals: np.ndarray, average: BagAverage) -> None:
        n, special = len(residuals), average.special_units
        shares = outside_weights(average) / (len(average.bags) if average.drawn else 1)
        crowded = np.argsort(shares, kind="stable")[: int(_CROWDED * n) if n >= _FEWEST_ROWS else 0]
        always = np.array([*special, *np.setdiff1d(crowded, special)], dtype=np.intp)
        order = np.argsort(residuals, kind="stable")
        is_other = np.ones(n, dtype=bool)
        is_other[always] = False
        others = order[is_other[order]]
        self._rank, self._radius = rank, float(residuals[order[rank - 1]])
        self._always, self._others = residuals[always], residuals[others]
        self._lines = LeftOutLines(average, always, others)
        lowest = float(shares[others].min(initial=1.0))
        lowest -= 0 if average.drawn else len(average.bags) * float(np.finfo(float).eps)  # for rounding of sums
        self._deviations = math.sqrt(max(0.0, 1 - lowest) / lowest)
        self._spare = 1 + 2 / math.sqrt(len(average.bags))  # because the order statistic is not quite at the mean
        self._windows = self._nested_windows() if n >= _FEWEST_ROWS and len(always) < n / 4 else []

    def ends(self, points: BagPoints) -> tuple[np.ndarray, np.ndarray]:
        """Return the ends at some points."""
        ends, left = np.empty((2, len(points))), np.arange(len(points))
        if self._windows:
            mean, reach = points.mean_and_reach(self._deviations)
            for window, distance in self._windows:
                tried = left[self._spare * reach[left] < distance]
                if len(tried):
                    self._search(points, tried, window, ends)
                    proved = tried[self._proved(window, mean[tried], reach[tried], *ends[:, tried])]
                    left = np.setdiff1d(left, proved, assume_unique=True)
        if len(left):
            self._search(points, left, slice(0, len(self._others)), ends)
        return ends[0], ends[1]

    def _nested_windows(self) -> list[tuple[slice, float]]:
        """Windows of the other rows, and how far the residuals are at least, outside of each, from the wanted one."""
        distances = np.sort(np.abs(self._others - self._radius))
        places = [int(share * len(distances)) for share in _SHARES]
        return [(self._within(distances[place]), float(distances[place])) for place in places]

    def _within(self, distance: float) -> slice:
        """The other rows whose residuals are as near to the wanted one as this."""
        low = np.searchsorted(self._others, self._radius - distance, side="left")
        high = np.searchsorted(self._others, self._radius + distance, side="right")
        return slice(int(low), int(high))

    def _search(self, points: BagPoints, numbers: np.ndarray, window: slice, ends: np.ndarray) -> None:
        """Write the ends at these points as if the rows outside of the window were on the sides of their residuals."""
        memory = np.empty(0)
        for some, always, others in self._lines.blocks(points, numbers, window):
            start, stop = self._doubtful(always, others, window)
            doubtful, n_always = others[:, start - window.start : stop - window.start], len(self._always)
            if memory.size < (size := len(some) * (n_always + stop - start)):
                memory = np.empty(size)
            shifted = memory[:size].reshape(len(some), -1)
            place = self._rank - 1 - start
            for end, shift in ((1, np.add), (0, np.subtract)):
                shift(always, self._always, out=shifted[:, :n_always])
                shift(doubtful, self._others[start:stop], out=shifted[:, n_always:])
                shifted.partition(place, axis=1)
                ends[end, some] = shifted[:, place]
                place = shifted.shape[1] - 1 - place  # of the lower end, counted from the largest

    def _doubtful(self, always: np.ndarray, others: np.ndarray, window: slice) -> tuple[int, int]:
        """The rows of a window, from where to where, whose places the residuals alone do not decide at some point.

        They decide between rows whose residuals differ by more than the predictions without them do.
        """
        low, high = extremes(always, others)
        rounding = 1e-12 * (self._radius + float(np.maximum(-low, high).max()))
        near = self._within(float((high - low).max()) + rounding)
        return max(near.start, window.start), min(near.stop, window.stop)

    def _proved(
        self, window: slice, mean: np.ndarray, reach: np.ndarray, lower: np.ndarray, upper: np.ndarray
    ) -> np.ndarray:
        """Whether all rows outside of the window are on the sides of their residuals."""
        low, high = mean - reach, mean + reach  # the predictions without any such row are in between
        proved = np.ones(len(mean), dtype=bool)
        if window.start > 0:
            largest = self._others[window.start - 1]
            proved &= (high + largest <= upper) & (low - largest >= lower)
        if window.stop < len(self._others):
            smallest = self._others[window.stop]
            proved &= (low + smallest >= upper) & (high - smallest <= lower)
        return proved


# ------------------------------------------------------------------------------------------------------------ jackknife
# The jackknife family: from leave-one-out predictions and residuals to the ends of intervals, and what is proved.

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


# ------------------------------------------------------------------------------------------------------ group jackknife
# The jackknife family for units of several rows: every unit counts the same, however many rows it has.
#
# Residuals are those of rows predicted without their unit, and intervals are for a row of a new unit. Lee, Barber and
# Willett (2023), "Distribution-free inference with hierarchical data", extend the jackknife+ to such data. The proofs
# are in docs/proofs.md, 12.

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


# ----------------------------------------------------------------------------------------------------- locally weighted
# Intervals as wide as the bags differ there: the jackknife family with residuals divided by the spread of the bags.
#
# Lei, G'Sell, Rinaldo, Tibshirani and Wasserman (2018), "Distribution-free predictive inference for regression",
# divide residuals by an estimate of their size. Here it is the standard deviation over the bags without the row, of
# the same models that make the prediction without it, not clipped, so that the proofs of the jackknife+ hold
# (docs/proofs.md, 12).

_AT_ONCE = 2**21  # predictions without rows that are held at once


@dataclass(frozen=True)
class LocallyWeighted:
    """A method of the jackknife family, in units of the spread of the bags.

    A score is a residual divided by the spread over the bags without the row, there. If these bags all agree, the score
    is zero if they are right, and otherwise infinite: the row then stands for an interval without ends.

    Parameters
    ----------
    rule : Jackknife
        The method with residuals as they are, for rows or for units.
    units : Units
        What is left out.
    """

    rule: Jackknife
    units: Units

    def of_model(self, model: Any, X: Any) -> Iterator[tuple[np.ndarray, Ends]]:
        """Yield the predictions of a fitted model, and the ends of the intervals, at blocks of points."""
        scores = scores_of(np.abs(fitted(model).y - left_out_at_rows(model)), fitted(model).spread_at_rows())
        average, step = fitted(model).average, max(1, _AT_ONCE // len(scores))
        for _, raw in fitted(model).raw_blocks(X):
            for first in range(0, raw.shape[1], step):
                some = raw[:, first : first + step]
                with_all = average.prediction([some]), spread(average, some)
                without = average.left_out(some), left_out_spread(average, some)
                yield with_all[0], self.ends(scores, *with_all, *without)

    def ends(
        self, scores: np.ndarray, prediction: np.ndarray, there: np.ndarray, left_out: np.ndarray, without: np.ndarray
    ) -> Ends:
        """Return the ends of the intervals at some points.

        Parameters
        ----------
        scores : ndarray of shape (n_rows,)
            The score of each training row.
        prediction : ndarray of shape (n_points,)
            The predictions with all rows.
        there : ndarray of shape (n_points,)
            The spread over all bags.
        left_out : ndarray of shape (n_units, n_points)
            The predictions without each unit.
        without : ndarray of shape (n_units, n_points)
            The spread over the bags without each unit.

        Returns
        -------
        tuple of two ndarray of shape (n_points,)
        """
        refuse_unless(bool(np.isfinite(left_out).all() and np.isfinite(without).all()))
        if self.rule.rank(len(self.units)) > len(self.units):
            return everything(len(prediction))
        if self.rule.name == "jackknife+":
            of_rows = self.units.of_rows
            centres, radii = left_out.T[:, of_rows], times(scores, without.T[:, of_rows])
            return -self._quantile(radii - centres), self._quantile(radii + centres)
        score = self._quantile(scores[None])
        if self.rule.name == "jackknife":
            radius = times(score, there)
            return prediction - radius, prediction + radius
        radii = times(score, without)
        return (left_out - radii).min(axis=0), (left_out + radii).max(axis=0)

    def _quantile(self, values: np.ndarray) -> np.ndarray:
        """The order statistic of each line, in which every unit has the same weight."""
        if not self.units.are_rows:
            return GroupJackknife(self.rule.level, self.units).quantile(values)
        rank = self.rule.rank(values.shape[1])
        found: np.ndarray = np.partition(values, rank - 1, axis=1)[:, rank - 1]
        return found


def scores_of(residuals: np.ndarray, spread: np.ndarray) -> np.ndarray:
    """Return residuals in units of the spread; without spread, none is zero and any other infinite.

    >>> scores_of(np.array([3.0, 0.0, 1.0]), np.array([2.0, 0.0, 0.0]))
    array([1.5, 0. , inf])
    """
    with np.errstate(over="ignore"):  # of a residual that no spread explains
        scores: np.ndarray = residuals / np.where(spread > 0, spread, 1.0)
    scores[(spread == 0) & (residuals > 0)] = np.inf
    return scores


def times(scores: np.ndarray, spread: np.ndarray) -> np.ndarray:
    """Return the radii of scores: infinite for an infinite score, even without spread.

    >>> times(np.array([1.5, np.inf, 2.0]), np.array([2.0, 0.0, 0.0]))
    array([ 3., inf,  0.])
    """
    radii: np.ndarray = np.where(np.isinf(scores), np.inf, np.where(np.isinf(scores), 0.0, scores) * spread)
    return radii
