"""The range to which predictions are clipped, for one output and for several."""

import inspect
import math
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from stablebag._checks import as_array, check_integer, check_real, refuse_type, refuse_value
from stablebag.resampling.units import RowIds, Units

# --------------------------------------------------------------------------------------------------------------- ranges
# The interval I(D) to which predictions are clipped, and delta_I: the share of rows whose removal changes it.

Interval: TypeAlias = tuple[float, float]


class PredictionRange(ABC):
    """A rule that turns the targets y of a data set into an interval.

    Your own range defines `interval`; a plain function from y to (low, high) works as well. The
    rule may use the order of the targets, but not their number: a rule such as "the 5 % quantile" changes with every
    row that is left out, and its `delta` is then near 1.
    """

    @abstractmethod
    def interval(self, y: Any) -> Interval:
        """Return (low, high) for these targets."""

    def changes(self, y: Any, groups: Any = None) -> dict[int, Interval]:
        """Return the interval without row i for each row i whose removal changes it; calls the rule once per row.

        With `groups`, the units of the rows, it is the same for each unit, by its number.
        """
        y = _check_targets(y, minimum=2)
        units = as_units(groups, y)
        whole = self(y)
        without = {unit: self(_without(y, units, unit)) for unit in range(len(units))}
        return {unit: interval for unit, interval in without.items() if interval != whole}

    def delta(self, y: Any, groups: Any = None) -> float:
        """Return the share of rows, or of units if `groups` names them, whose removal changes the interval."""
        return self.change(y, groups)[0]

    def reach(self, y: Any, groups: Any = None) -> float:
        """Return the length of the longest interval that I(D) and I(D without a row) span together.

        No prediction moves further when a row is left out, or a unit if `groups` names them. It is the length of I(D)
        unless the interval grows when rows are left out, which `FixedRange`, `ObservedRange` and `TrimmedRange` never
        do.
        """
        return self.change(y, groups)[1]

    def change(self, y: Any, groups: Any = None) -> tuple[float, float]:
        """Return `delta` and `reach`, going through the rows only once."""
        y = _check_targets(y, minimum=1)
        units = as_units(groups, y)
        changes, (low, high) = changes_by_units(self, y, units), self(y)
        reach = max(max(high, h) - min(low, l) for l, h in [(low, high), *changes.values()])  # noqa: E741
        return len(changes) / len(units), reach

    def __call__(self, y: Any) -> Interval:
        """Return (low, high) for these targets, checked to be an interval."""
        return _as_interval(self.interval(y), self)


@dataclass(frozen=True)
class FixedRange(PredictionRange):
    """The interval [low, high], whatever the data: probabilities are in [0, 1], a grade in [1, 6].

    Parameters
    ----------
    low : float
        The lower end.
    high : float
        The upper end, not below the lower one.

    Examples
    --------
    >>> FixedRange(0, 1).interval([0.2, 0.9]), FixedRange(0, 1).delta([0.2, 0.9])
    ((0.0, 1.0), 0.0)
    """

    low: float
    high: float

    def __post_init__(self) -> None:
        for name in ("low", "high"):
            reason = "for predictions without a range use prediction_range=None."
            end = check_real(
                getattr(self, name), name, "FixedRange", low=-sys.float_info.max, finite=True, reason=reason
            )
            object.__setattr__(self, name, end)
        if self.low > self.high:
            reason = f"the interval [{self.low!r}, {self.high!r}] is empty. Swap its ends?"
            raise refuse_value("low", "FixedRange", f"at most high={self.high!r}", self.low, reason)

    def interval(self, y: Any) -> Interval:
        return float(self.low), float(self.high)

    def changes(self, y: Any, groups: Any = None) -> dict[int, Interval]:
        """Return nothing: no row changes a fixed interval."""
        _check_targets(y, minimum=2)
        return {}


@dataclass(frozen=True)
class TrimmedRange(PredictionRange):
    """From the rank-th smallest to the rank-th largest target, so that fewer than `rank` outliers cannot stretch it.

    Parameters
    ----------
    rank : int
        A whole number, the same for n and n - 1 rows. (A fraction of n would change with every row left out, so almost
        every row would change the interval.) It must be at most half the number of rows.

    Examples
    --------
    >>> y = [1.0, 2.0, 3.0, 4.0, 50.0, 60.0]
    >>> TrimmedRange(rank=2).interval(y)
    (2.0, 50.0)
    >>> TrimmedRange(rank=2).delta(y)  # rows 0, 1 move the lower end, rows 4, 5 the upper one
    0.6666666666666666
    """

    rank: int

    def __post_init__(self) -> None:
        if isinstance(self.rank, float | np.floating):
            raise TypeError(
                f"The 'rank' parameter of TrimmedRange must be an integer >= 1. Got {self.rank!r}: a fraction of the "
                "rows is a different rank for n and for n - 1 rows, and then nearly every row changes the range. "
                "Use a whole number, such as max(1, n_samples // 100), worked out once."
            )
        object.__setattr__(self, "rank", check_integer(self.rank, "rank", "TrimmedRange", minimum=1))

    def interval(self, y: Any) -> Interval:
        y = _check_targets(y, minimum=2 * self.rank - 1, why=f" for rank {self.rank}")
        low, high = self.rank - 1, len(y) - self.rank
        ordered = np.partition(y, (low, high))
        return float(ordered[low]), float(ordered[high])

    def changes(self, y: Any, groups: Any = None) -> dict[int, Interval]:
        """Return the interval without each row that changes it: at most 2 rank of them, fewer with ties."""
        units = as_units(groups, y)
        if not units.are_rows:
            return self._changes_by_units(_check_targets(y, minimum=2), units)
        y = _check_targets(y, minimum=2 * self.rank, why=f" for rank {self.rank}, one row being left out")
        k, n = self.rank, len(y)
        order = np.argsort(y, kind="stable")
        ordered = y[order]
        low, next_low = float(ordered[k - 1]), float(ordered[k])
        high, next_high = float(ordered[n - k]), float(ordered[n - k - 1])
        # Without one of the k smallest, the low end moves up to the next target: a change unless the two are tied.
        changed = {int(row): (next_low, high) for row in order[:k]} if low != next_low else {}
        return changed | ({int(row): (low, next_high) for row in order[n - k :]} if high != next_high else {})

    def _changes_by_units(self, y: np.ndarray, units: Units) -> dict[int, Interval]:
        """The interval without each unit that changes it.

        The low end stays if at least `rank` targets that are not above it are left: only a unit with more than all but
        `rank` of these moves it, and at most `rank` units have so many. The same holds for the high end.
        """
        most = int(units.sizes.max())
        why = f" for rank {self.rank}, {units.noun.any_one} of {most:,} rows being left out"
        _check_targets(y, minimum=2 * self.rank - 1 + most, why=why)
        whole = low, high = self(y)
        moves = np.zeros(len(units), dtype=bool)
        for beyond in (y <= low, y >= high):
            held = np.bincount(units.of_rows[beyond], minlength=len(units))
            moves |= held > held.sum() - self.rank
        without = {unit: self(_without(y, units, unit)) for unit in np.flatnonzero(moves).tolist()}
        return {unit: interval for unit, interval in without.items() if interval != whole}


@dataclass(frozen=True)
class ObservedRange(PredictionRange):
    """From the smallest to the largest target: no prediction is outside what was observed.

    Examples
    --------
    >>> ObservedRange().interval([3.0, 1.0, 7.0, 7.0])
    (1.0, 7.0)
    >>> ObservedRange().delta([3.0, 1.0, 7.0, 7.0])  # only the row with 1.0 changes it: 7.0 is there twice
    0.25
    """

    def interval(self, y: Any) -> Interval:
        return TrimmedRange(rank=1).interval(y)

    def changes(self, y: Any, groups: Any = None) -> dict[int, Interval]:
        """Return the interval without each row, or unit, that changes it: at most two do."""
        return TrimmedRange(rank=1).changes(y, groups)


@dataclass(frozen=True)
class _FunctionRange(PredictionRange):
    """The interval that the user's own function computes from the targets."""

    function: Callable[[np.ndarray], Any]

    def interval(self, y: Any) -> Interval:
        return _as_interval(self.function(_check_targets(y, minimum=1)), self)


def as_prediction_range(value: Any, owner: str) -> PredictionRange:
    """Return a prediction range: the one that is given, or a function wrapped as one."""
    if isinstance(value, PredictionRange):
        return value
    if callable(value) and not isinstance(value, type):
        return _FunctionRange(value)
    expected = "a prediction range, such as ObservedRange() or FixedRange(0, 1), or a function from y to (low, high)"
    raise refuse_type("prediction_range", owner, expected, value)


def changes_by_units(rule: PredictionRange, y: Any, units: Units) -> dict[int, Interval]:
    """Return the interval without each unit that changes it; a rule of one's own may know rows only."""
    if units.are_rows:
        return rule.changes(y)
    if "groups" in inspect.signature(rule.changes).parameters:
        return rule.changes(y, units)
    return PredictionRange.changes(rule, y, units)


def as_units(groups: Any, y: Any) -> Units:
    """Return the units of some targets: those that are given, those that groups name, or every row."""
    if isinstance(groups, Units):
        return groups
    y = as_array(y, "y", "a prediction range", "a one-dimensional array of real numbers")
    if y.ndim != 1:
        raise refuse_type("y", "a prediction range", "a one-dimensional array of real numbers", y)
    return Units(RowIds(None, len(y))) if groups is None else Units.of_groups(groups, len(y))


def _without(y: np.ndarray, units: Units, unit: int) -> np.ndarray:
    return np.delete(y, units.rows_of(np.array([unit])))


def _as_interval(value: Any, owner: PredictionRange) -> Interval:
    try:
        low, high = (float(end) for end in value)
    except (TypeError, ValueError):
        low, high = np.nan, np.nan
    if not -np.inf < low <= high < np.inf:
        raise ValueError(
            f"A prediction range must be a pair (low, high) of finite numbers, low <= high. Got {value!r} from "
            f"{'your function' if isinstance(owner, _FunctionRange) else type(owner).__name__}."
        )
    return low, high


def _check_targets(y: Any, minimum: int, why: str = "") -> np.ndarray:
    array = as_array(y, "y", "a prediction range", "a one-dimensional array of real numbers")
    if array.ndim != 1 or array.dtype.kind not in "biuf":
        raise ValueError(
            "The targets of a prediction range must be a one-dimensional array of real numbers. Got an array of shape "
            f"{array.shape} and type {array.dtype}: convert it, for example with np.asarray(y, dtype=float)."
        )
    array = array.astype(float)
    if len(array) < minimum:
        raise ValueError(f"Too few targets{why}: at least {minimum} needed. Got {len(array)}: use more rows.")
    if not np.isfinite(array).all():
        raise ValueError(f"Target {np.flatnonzero(~np.isfinite(array))[0]} is NaN or infinite. Remove or repair it.")
    return array


# -------------------------------------------------------------------------------------------------------- output ranges
# The box to which predictions of several outputs are clipped: a range for each, taken from the targets of its own.

Box: TypeAlias = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True)
class OutputRanges:
    """One prediction range for each output, which together turn targets into a box: the lower ends and the upper ones.

    It answers as a `PredictionRange` does. A row changes the box if it changes the range of any output.

    Parameters
    ----------
    ranges : tuple of PredictionRange
        The range of each output.

    Examples
    --------
    >>> from stablebag import FixedRange, ObservedRange
    >>> rule = OutputRanges((ObservedRange(), FixedRange(0, 1)))
    >>> y = [[3.0, 0.5], [5.0, 0.5], [9.0, 0.5], [9.0, 0.5]]
    >>> rule(y)
    (array([3., 0.]), array([9., 1.]))
    >>> rule.changes(y)  # without the first row the first output is from 5 to 9
    {0: (array([5., 0.]), array([9., 1.]))}
    """

    ranges: tuple[PredictionRange, ...]

    @classmethod
    def of(cls, given: Any, n_outputs: int, owner: str) -> "OutputRanges":
        """Read one rule that is for every output, or a list with one for each."""
        if not isinstance(given, list | tuple):
            return cls((as_prediction_range(given, owner),) * n_outputs)
        if len(given) != n_outputs:
            reason = f"y has {n_outputs} columns. Give one for each, or a single one for all."
            raise refuse_value("prediction_range", owner, f"a list of {n_outputs} ranges", given, reason)
        if any(each is None for each in given):
            reason = "predictions are clipped in every output or in none. Use prediction_range=None for none."
            raise refuse_value("prediction_range", owner, "a range for every output", given, reason)
        return cls(tuple(as_prediction_range(each, owner) for each in given))

    def __call__(self, y: Any) -> Box:
        """Return the lower and the upper ends for these targets."""
        return _box([rule(column) for rule, column in self._columns(y)])

    def changes(self, y: Any, groups: Any = None) -> dict[int, Box]:
        """Return the box without each row that changes it; with `groups`, without each such unit."""
        units, outputs = self._units(y, groups), self._columns(y)
        each = [changes_by_units(rule, column, units) for rule, column in outputs]
        whole = [rule(column) for rule, column in outputs]
        changing = sorted(set().union(*each))
        return {unit: _box([of.get(unit, before) for of, before in zip(each, whole, strict=True)]) for unit in changing}

    def change(self, y: Any, groups: Any = None) -> tuple[float, float]:
        """Return the share of rows that change the box, and the longest diagonal that both boxes span together.

        No vector of predictions moves further when a row is left out, or a unit if `groups` names them.
        """
        low, high = self(y)
        changes = self.changes(y, groups)
        spans = [np.maximum(high, h) - np.minimum(low, l) for l, h in [(low, high), *changes.values()]]  # noqa: E741
        return len(changes) / len(self._units(y, groups)), max(diagonal(span) for span in spans)

    def _units(self, y: Any, groups: Any) -> Units:
        return as_units(groups, self._columns(y)[0][1])

    def _columns(self, y: Any) -> list[tuple[PredictionRange, np.ndarray]]:
        table = np.asarray(y)
        if table.ndim != 2 or table.shape[1] != len(self.ranges):
            expected = f"a table with {len(self.ranges)} columns, one for each output"
            raise refuse_value("y", "OutputRanges", expected, f"an array of shape {table.shape}")
        return list(zip(self.ranges, np.ascontiguousarray(table.T), strict=True))


def diagonal(lengths: np.ndarray) -> float:
    """Return the length of the diagonal of a box with these sides, also where their squares would overflow.

    >>> diagonal(np.array([3.0, 4.0]))
    5.0
    """
    return math.hypot(*lengths.tolist())


def _box(intervals: list[Interval]) -> Box:
    low, high = np.array(intervals, dtype=float).T.copy()
    return low, high
