"""The jackknife family: intervals from leave-one-out predictions and residuals, of rows or of groups."""

import math
import numbers
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from stablebag._checks import as_fraction, refuse_type, refuse_value
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
# The ends of the jackknife+ from fitted bags, searched only among rows whose residuals have about the right rank.
#
# The prediction without row i is near the one with all rows, so adding residual i keeps the order of residuals that are
# far apart. Rows whose residuals are far from the one of the right rank are therefore only counted. At each point it is
# proved that this is correct; if the proof fails, more rows are searched. The proof allows for rounding, so the ends
# are always those of a search over all rows.

_SHARES = (1 / 8, 1 / 4, 3 / 8, 1 / 2, 3 / 4)  # sizes of the windows that are tried first, as shares of the rows
_FEWEST_ROWS = 512  # with fewer, all rows are searched
_CROWDED = 0.05  # share of rows, those in the most bags, that are always searched


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
        lowest -= 0 if average.drawn else len(average.bags) * float(np.finfo(float).eps)  # rounding errors of sums
        self._deviations = math.sqrt(max(0.0, 1 - lowest) / lowest)
        self._spare = 1 + 2 / math.sqrt(len(average.bags))  # the order statistic is not exactly at the mean
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
        """Return windows of rows, and how far residuals outside each are at least from the one of the right rank."""
        distances = np.sort(np.abs(self._others - self._radius))
        places = [int(share * len(distances)) for share in _SHARES]
        return [(self._within(distances[place]), float(distances[place])) for place in places]

    def _within(self, distance: float) -> slice:
        """Return the rows whose residuals are at most `distance` from the one of the right rank."""
        low = np.searchsorted(self._others, self._radius - distance, side="left")
        high = np.searchsorted(self._others, self._radius + distance, side="right")
        return slice(int(low), int(high))

    def _search(self, points: BagPoints, numbers: np.ndarray, window: slice, ends: np.ndarray) -> None:
        """Write the ends at these points, assuming that rows outside the window stay on their side of the ends."""
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
                place = shifted.shape[1] - 1 - place  # for the lower end, counted from the largest

    def _doubtful(self, always: np.ndarray, others: np.ndarray, window: slice) -> tuple[int, int]:
        """Return the first and last row of a window whose order the residuals alone do not determine at some point.

        They determine it for rows whose residuals differ by more than the predictions without these rows.
        """
        low, high = extremes(always, others)
        rounding = 1e-12 * (self._radius + float(np.maximum(-low, high).max()))
        near = self._within(float((high - low).max()) + rounding)
        return max(near.start, window.start), min(near.stop, window.stop)

    def _proved(
        self, window: slice, mean: np.ndarray, reach: np.ndarray, lower: np.ndarray, upper: np.ndarray
    ) -> np.ndarray:
        """Return at which points all rows outside the window are proved to stay on their side of the ends."""
        low, high = mean - reach, mean + reach  # predictions without any of these rows are in between
        proved = np.ones(len(mean), dtype=bool)
        if window.start > 0:
            largest = self._others[window.start - 1]
            proved &= (high + largest <= upper) & (low - largest >= lower)
        if window.stop < len(self._others):
            smallest = self._others[window.stop]
            proved &= (low + smallest >= upper) & (high - smallest <= lower)
        return proved


# ------------------------------------------------------------------------------------------------------------ jackknife
# From leave-one-out predictions and residuals to the ends of intervals and their guarantee.
#
# With groups, rows are predicted without their group, all groups have the same total weight, and intervals are for a
# row of a new group. Lee, Barber and Willett (2023), "Distribution-free inference with hierarchical data", extend the
# jackknife+ to such data. The proofs are in docs/proofs.md, 12.

_FEW = 64  # points at a time where speed does not matter
_BLOCK = 2**21  # numbers (rows times points) in memory at the same time
_WEIGHT_ROUNDING = 1e-9  # rounding error of sums of weights

Ends = tuple[np.ndarray, np.ndarray]


def quantile_rank(level: float | Fraction, n_samples: int) -> int:
    """Return ceil((1 - a) (n + 1)), the rank of the order statistic for the level 1 - a; n + 1 stands for infinity.

    A level of 0.9 means exactly 9/10.

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
    units : Units or None, default=None
        The rows or groups that are left out; None stands for rows.
    """

    level: Fraction
    units: Units | None = None
    name: ClassVar[str] = "jackknife"
    reuses_bags: ClassVar[bool] = False  # whether the proof depends on reused bags

    def rank(self, n_units: int) -> int:
        """Return the rank of the order statistic; a rank above the number of rows or groups stands for infinity."""
        return quantile_rank(self.level, n_units)

    def guarantee(self, n_samples: int) -> str:
        """Return the sentence on the guaranteed coverage."""
        return "Nothing is proved about their coverage: the jackknife can fail for an unstable learner."

    def intervals(self, residuals: np.ndarray, prediction: np.ndarray, left_out: np.ndarray) -> Ends:
        """Return the ends of the intervals at some points; `left_out` has one line per row or group."""
        _check_finite(bool(np.isfinite(residuals).all() and np.isfinite(left_out).all()))
        if self.rank(len(left_out)) > len(left_out):
            return infinite_intervals(len(prediction))
        return self._ends(residuals, prediction, left_out)

    def from_bags(self, residuals: np.ndarray, average: BagAverage) -> Callable[[BagPoints], Ends]:
        """Return a function from points to the ends of their intervals, which equal those of `intervals`.

        No row or group may be in every bag.
        """
        _check_finite(bool(np.isfinite(residuals).all()))
        n_units = average.bags.n_samples
        find = self._finder(residuals, average) if self.rank(n_units) <= n_units else None

        def ends(points: BagPoints) -> Ends:
            _check_finite(bool(np.isfinite(points.size).all()))
            if points.may_overflow:
                return self._of_large(residuals, points)
            return infinite_intervals(len(points)) if find is None else find(points)

        return ends

    def quantile(self, values: np.ndarray) -> np.ndarray:
        """Return the weighted quantile of each line, which may be reordered in place."""
        if self._rows:
            rank = self.rank(values.shape[1])
            values.partition(rank - 1, axis=1)
            return values[:, rank - 1].copy()  # a view would keep the whole array in memory
        order = np.argsort(values, axis=1)
        weights, needed = self._weights
        place = np.minimum((np.cumsum(weights[order], axis=1) < needed).sum(axis=1), values.shape[1] - 1)
        lines = np.arange(len(values))
        found: np.ndarray = values[lines, order[lines, place]]
        return found

    def _ends(self, residuals: np.ndarray, prediction: np.ndarray, left_out: np.ndarray) -> Ends:
        radius = self._radius(residuals)
        return prediction - radius, prediction + radius

    def _finder(self, residuals: np.ndarray, average: BagAverage) -> Callable[[BagPoints], Ends]:
        radius = self._radius(residuals)
        return lambda points: (points.prediction - radius, points.prediction + radius)

    def _radius(self, residuals: np.ndarray) -> float:
        return float(self.quantile(residuals[None].copy())[0])

    def _of_large(self, residuals: np.ndarray, points: BagPoints) -> Ends:
        """Return the ends for predictions near the largest float, slowly and a few points at a time."""
        average, few = points.average, [slice(first, first + _FEW) for first in range(0, len(points), _FEW)]
        ends = [self.intervals(residuals, points.prediction[s], average.left_out(points.raw[:, s])) for s in few]
        return np.concatenate([lower for lower, _ in ends]), np.concatenate([upper for _, upper in ends])

    @property
    def _rows(self) -> bool:
        """Whether single rows are left out, so all weights are equal."""
        return self.units is None or self.units.are_rows

    @cached_property
    def _weights(self) -> tuple[np.ndarray, Any]:
        """The weight of each row, with the same sum in each group, and the weight that the quantile needs."""
        assert self.units is not None
        sizes, needed = self.units.sizes[self.units.of_rows], self.level * (len(self.units) + 1)
        whole = math.lcm(*np.unique(sizes).tolist())
        if whole * (len(self.units) + 1) < 2**62:
            return whole // sizes, math.ceil(needed * whole)
        return 1 / sizes, float(needed) - _WEIGHT_ROUNDING  # the common multiple of the sizes is too large for integers

    @property
    def _proved(self) -> str:
        """The first words of the guarantee, with its assumptions."""
        one, many, new = "row", "rows", ""
        if self.units is not None and not self._rows:
            one, many = self.units.noun.singular, self.units.noun.plural
            new = f", at a row drawn at random from a new {one}"
        return f"Proved for exchangeable {many} and any learner that ignores {one} order{new}:"


@dataclass(frozen=True)
class JackknifePlus(Jackknife):
    """Quantiles of the predictions without a row or group, plus and minus the residuals of its rows."""

    name: ClassVar[str] = "jackknife+"
    reuses_bags: ClassVar[bool] = True

    def guarantee(self, n_samples: int) -> str:
        covered, typically = self._covered(n_samples), f"typically it is near {float(self.level):g}."
        if covered <= 0:
            return f"Nothing is proved about their coverage at so low a level; {typically}"
        return f"{self._proved} coverage is at least {rounded_down(covered)}; {typically}"

    def _covered(self, n_samples: int) -> Fraction:
        return 1 - 2 * (1 - self.level)

    def _ends(self, residuals: np.ndarray, prediction: np.ndarray, left_out: np.ndarray) -> Ends:
        lower, upper = np.empty((2, len(prediction)))
        for some in _blocks(len(prediction), len(residuals)):
            lines = np.ascontiguousarray(left_out[:, some].T)
            lower[some], upper[some] = self._of_lines(residuals, lines)
        return lower, upper

    def _of_lines(self, residuals: np.ndarray, left_out: np.ndarray) -> Ends:
        """Return the ends at some points; `left_out` has one line per point, with one entry per row or group."""
        by_rows = left_out if self._rows or self.units is None else left_out[:, self.units.of_rows]
        with np.errstate(over="ignore"):  # an interval may be infinite
            return 0.0 - self.quantile(residuals - by_rows), self.quantile(by_rows + residuals)

    def _finder(self, residuals: np.ndarray, average: BagAverage) -> Callable[[BagPoints], Ends]:
        if self._rows:
            return RankSearch(self.rank(len(residuals)), residuals, average).ends
        lines, special, others = _all_lines(average)
        place = np.argsort(np.concatenate([special, others]))

        def ends(points: BagPoints) -> Ends:
            lower, upper = np.empty((2, len(points)))
            for some, *left_out in lines.blocks(points, np.arange(len(points)), slice(0, len(others))):
                left = np.concatenate(left_out, axis=1)[:, place]
                for part in _blocks(len(some), len(residuals)):
                    lower[some[part]], upper[some[part]] = self._of_lines(residuals, left[part])
            return lower, upper

        return ends


@dataclass(frozen=True)
class CVPlus(JackknifePlus):
    """The jackknife+ with folds of rows, or of whole groups.

    Parameters
    ----------
    level : Fraction
        The level 1 - a.
    units : Units or None, default=None
        The rows or groups that are left out; None stands for rows.
    n_folds : int, default=10
        The number of folds.
    """

    n_folds: int = 10
    name: ClassVar[str] = "cv+"

    def guarantee(self, n_samples: int) -> str:
        if self.units is not None and not self._rows:
            return (
                f"Nothing is proved about their coverage with folds of {self.units.noun.plural}; typically it is near "
                f"{float(self.level):g}. The jackknife+ has a proof."
            )
        proved = super().guarantee(n_samples)
        if n_samples % self.n_folds == 0 or self._covered(n_samples) <= 0:
            return proved
        return f"{proved} The folds have different sizes here, so this holds only approximately."

    def _covered(self, n_samples: int) -> Fraction:
        k, size = self.n_folds, Fraction(n_samples, self.n_folds)
        slack = min(2 * (1 - Fraction(1, k)) / (size + 1), (1 - Fraction(k, n_samples)) / (k + 1))
        return super()._covered(n_samples) - slack


@dataclass(frozen=True)
class JackknifeMinmax(Jackknife):
    """The extremes of the predictions without a row or group, plus and minus a quantile of the residuals."""

    name: ClassVar[str] = "jackknife-minmax"
    reuses_bags: ClassVar[bool] = True

    def guarantee(self, n_samples: int) -> str:
        return f"{self._proved} coverage is at least {float(self.level):g}."

    def _ends(self, residuals: np.ndarray, prediction: np.ndarray, left_out: np.ndarray) -> Ends:
        radius = self._radius(residuals)
        return left_out.min(axis=0) - radius, left_out.max(axis=0) + radius

    def _finder(self, residuals: np.ndarray, average: BagAverage) -> Callable[[BagPoints], Ends]:
        radius = self._radius(residuals)
        lines, _, others = _all_lines(average)

        def ends(points: BagPoints) -> Ends:
            lower, upper = np.empty((2, len(points)))
            for some, *left_out in lines.blocks(points, np.arange(len(points)), slice(0, len(others))):
                low, high = extremes(*left_out)
                lower[some], upper[some] = low - radius, high + radius
            return lower, upper

        return ends


def _all_lines(average: BagAverage) -> tuple[LeftOutLines, np.ndarray, np.ndarray]:
    """Return the predictions without each row or group, with the numbers of the special ones and of the others."""
    special = np.array(average.special_units, dtype=np.intp)
    others = np.setdiff1d(np.arange(average.bags.n_samples), special)
    return LeftOutLines(average, special, others), special, others


def _blocks(n_points: int, n_rows: int) -> Iterator[slice]:
    """Yield blocks of points, so that one number per row and point fits into memory."""
    step = max(1, _BLOCK // max(1, n_rows))
    return (slice(first, first + step) for first in range(0, n_points, step))


def infinite_intervals(n_points: int) -> Ends:
    """Return intervals from minus infinity to infinity."""
    return np.full(n_points, -np.inf), np.full(n_points, np.inf)


def _check_finite(finite: bool) -> None:
    if not finite:
        raise ValueError(
            "The prediction without some row is infinite or NaN, so there is no interval. Clip predictions with "
            "prediction_range."
        )


def check_level(confidence_level: float, owner: str) -> Fraction:
    """Return the level 1 - a as the exact decimal."""
    reason = "it is the coverage to aim for. For 90%, use 0.9."
    expected = "a number between 0 and 1"
    if not isinstance(confidence_level, numbers.Real) or isinstance(confidence_level, bool):
        raise refuse_type("confidence_level", owner, expected, confidence_level, reason)
    if not 0 < confidence_level < 1:
        raise refuse_value("confidence_level", owner, expected, confidence_level, reason)
    return as_fraction(confidence_level)


# ----------------------------------------------------------------------------------------------------- locally weighted
# The jackknife family with residuals divided by the spread of the bags: intervals are wide where bags differ.
#
# Lei, G'Sell, Rinaldo, Tibshirani and Wasserman (2018), "Distribution-free predictive inference for regression",
# divide residuals by an estimate of their size. Here this is the standard deviation over the bags without the row,
# before clipping. These bags also make the prediction without the row, so the proofs of the jackknife+ hold
# (docs/proofs.md, 12).

_AT_ONCE = 2**21  # predictions without a row in memory at the same time


@dataclass(frozen=True)
class LocallyWeighted:
    """A method of the jackknife family, in units of the spread of the bags.

    The score of a row is its residual divided by the spread, at the row, over the bags without it. If these bags all
    agree, the score is zero if they are right and infinite otherwise; the row then counts as an infinite interval.

    Parameters
    ----------
    rule : Jackknife
        The method with unscaled residuals.
    """

    rule: Jackknife

    def of_model(self, model: Any, X: Any) -> Iterator[tuple[np.ndarray, Ends]]:
        """Yield the predictions of a fitted model, and the ends of the intervals, at blocks of points."""
        scores = scaled_residuals(np.abs(fitted(model).y - left_out_at_rows(model)), fitted(model).spread_at_rows())
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
            The predictions without each row or group.
        without : ndarray of shape (n_units, n_points)
            The spread over the bags without each row or group.

        Returns
        -------
        tuple of two ndarray of shape (n_points,)
        """
        _check_finite(bool(np.isfinite(left_out).all() and np.isfinite(without).all()))
        units = self.rule.units
        if self.rule.rank(len(left_out)) > len(left_out):
            return infinite_intervals(len(prediction))
        if self.rule.name == "jackknife+":
            of_rows = slice(None) if units is None else units.of_rows
            centres, radii = left_out.T[:, of_rows], radii_of(scores, without.T[:, of_rows])
            return 0.0 - self.rule.quantile(radii - centres), self.rule.quantile(radii + centres)
        score = self.rule.quantile(scores[None].copy())
        if self.rule.name == "jackknife":
            radius = radii_of(score, there)
            return prediction - radius, prediction + radius
        radii = radii_of(score, without)
        return (left_out - radii).min(axis=0), (left_out + radii).max(axis=0)


def scaled_residuals(residuals: np.ndarray, spread: np.ndarray) -> np.ndarray:
    """Return residuals divided by the spread; if the spread is zero, a zero residual gives 0 and any other infinity.

    >>> scaled_residuals(np.array([3.0, 0.0, 1.0]), np.array([2.0, 0.0, 0.0]))
    array([1.5, 0. , inf])
    """
    with np.errstate(over="ignore"):  # a large residual over a tiny spread may overflow to infinity
        scores: np.ndarray = residuals / np.where(spread > 0, spread, 1.0)
    scores[(spread == 0) & (residuals > 0)] = np.inf
    return scores


def radii_of(scores: np.ndarray, spread: np.ndarray) -> np.ndarray:
    """Return scores times spread; infinite for an infinite score, even if the spread is zero.

    >>> radii_of(np.array([1.5, np.inf, 2.0]), np.array([2.0, 0.0, 0.0]))
    array([ 3., inf,  0.])
    """
    radii: np.ndarray = np.where(np.isinf(scores), np.inf, np.where(np.isinf(scores), 0.0, scores) * spread)
    return radii
