"""The range that predictions are clipped to, for one output and for several."""

import inspect
import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from typing import Any, TypeAlias

import numpy as np

from stablebag._checks import as_array, check_integer, refuse_type, refuse_value, shown
from stablebag.resampling.units import RowIds, Units

# --------------------------------------------------------------------------------------------------------------- ranges
# The interval I(D) that predictions are clipped to, and delta_I, the share of rows whose removal changes it.

Interval: TypeAlias = tuple[float, float]


class PredictionRange(ABC):
    """A rule that computes an interval from the targets y.

    To define your own, implement `interval`, or use a function from y to (low, high). The rule should not depend on the
    number of targets: a quantile, for example, changes with almost every row that is left out, so its `delta` is near
    1.
    """

    @abstractmethod
    def interval(self, y: Any) -> Interval:
        """Return (low, high) for these targets."""

    def changes(self, y: Any, groups: Any = None) -> dict[int, Interval]:
        """Return the interval without row i, for each row i whose removal changes it. Calls the rule once per row.

        With `groups`, return the interval without each group that changes it, by the number of the group.
        """
        y = _check_targets(y, minimum=2)
        units = as_units(groups, y)
        whole = self(y)
        without = {unit: self(_without(y, units, unit)) for unit in range(len(units))}
        return {unit: interval for unit, interval in without.items() if interval != whole}

    def delta(self, y: Any, groups: Any = None) -> float:
        """Return the share of rows (or of `groups`) whose removal changes the interval."""
        return self.change(y, groups)[0]

    def reach(self, y: Any, groups: Any = None) -> float:
        """Return the largest length that I(D) and I(D without a row) span together.

        No prediction changes by more when a row (or one of the `groups`) is left out. This is the length of I(D),
        unless leaving out rows can extend the interval, which is impossible for `FixedRange`, `ObservedRange` and
        `TrimmedRange`.
        """
        return self.change(y, groups)[1]

    def change(self, y: Any, groups: Any = None) -> tuple[float, float]:
        """Return `delta` and `reach` in one pass over the rows."""
        y = _check_targets(y, minimum=1)
        units = as_units(groups, y)
        changes, (low, high) = changes_by_units(self, y, units), self(y)
        reach = max(max(high, h) - min(low, l) for l, h in [(low, high), *changes.values()])  # noqa: E741
        return len(changes) / len(units), reach

    def __call__(self, y: Any) -> Interval:
        """Return (low, high) for these targets, after checking that it is an interval."""
        return _as_interval(self.interval(y), self)


@dataclass(frozen=True)
class FixedRange(PredictionRange):
    """A fixed interval [low, high] that does not depend on the data, for example [0, 1] for probabilities.

    Parameters
    ----------
    low : float
        The lower end.
    high : float
        The upper end, at least `low`.

    Examples
    --------
    >>> FixedRange(0, 1).interval([0.2, 0.9]), FixedRange(0, 1).delta([0.2, 0.9])
    ((0.0, 1.0), 0.0)
    """

    low: float
    high: float

    def __post_init__(self) -> None:
        for name in ("low", "high"):
            object.__setattr__(self, name, _finite(getattr(self, name), name))
        if self.low > self.high:
            reason = f"swap the two ends: FixedRange({self.high!r}, {self.low!r})."
            raise refuse_value("low", "FixedRange", f"at most high={self.high!r}", self.low, reason)

    def interval(self, y: Any) -> Interval:
        return float(self.low), float(self.high)

    def changes(self, y: Any, groups: Any = None) -> dict[int, Interval]:
        """Return an empty dict, because no row changes a fixed interval."""
        _check_targets(y, minimum=2)
        return {}


def _finite(value: Any, name: str) -> float:
    expected, reason = "a finite number", "for predictions without a range use prediction_range=None."
    if not isinstance(value, Real) or isinstance(value, bool):
        raise refuse_type(name, "FixedRange", expected, value, reason)
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise refuse_value(name, "FixedRange", expected, value, reason)
    return number


@dataclass(frozen=True)
class TrimmedRange(PredictionRange):
    """From the rank-th smallest to the rank-th largest target, so fewer than `rank` outliers cannot extend it.

    Parameters
    ----------
    rank : int
        A whole number that is the same for n and n - 1 rows, at most half the number of rows. A fraction is not
        allowed, because almost every row would then change the interval.

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
                f"The 'rank' parameter of TrimmedRange must be an integer >= 1. Got {self.rank!r}: with a fraction, "
                "nearly every row would change the range. Compute the rank once, for example as n_samples // 100."
            )
        object.__setattr__(self, "rank", check_integer(self.rank, "rank", "TrimmedRange", minimum=1))

    def interval(self, y: Any) -> Interval:
        y = _check_targets(y, minimum=2 * self.rank - 1, why=f" for TrimmedRange({self.rank})")
        low, high = self.rank - 1, len(y) - self.rank
        ordered = np.partition(y, (low, high))
        return float(ordered[low]), float(ordered[high])

    def changes(self, y: Any, groups: Any = None) -> dict[int, Interval]:
        """Return the interval without each row that changes it: at most 2 rank of them, fewer with ties."""
        units = as_units(groups, y)
        if not units.are_rows:
            return self._changes_by_units(_check_targets(y, minimum=2), units)
        y = _check_targets(y, minimum=2 * self.rank, why=f" for TrimmedRange({self.rank}) without one row")
        k, n = self.rank, len(y)
        order = np.argsort(y, kind="stable")
        ordered = y[order]
        low, next_low = float(ordered[k - 1]), float(ordered[k])
        high, next_high = float(ordered[n - k]), float(ordered[n - k - 1])
        # Without one of the k smallest, the low end moves up to the next target: a change unless the two are tied.
        changed = {int(row): (next_low, high) for row in order[:k]} if low != next_low else {}
        return changed | ({int(row): (low, next_high) for row in order[n - k :]} if high != next_high else {})

    def _changes_by_units(self, y: np.ndarray, units: Units) -> dict[int, Interval]:
        """The interval without each group that changes it.

        The low end stays if at least `rank` of the targets that are not above it remain. So only a group that has more
        than all but `rank` of them changes it, and at most `rank` groups have that many. The same holds for the high
        end.
        """
        most = int(units.sizes.max())
        why = f" for TrimmedRange({self.rank}) without {units.noun.any_one} of {most:,} rows"
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
    """From the smallest to the largest target.

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
        """Return the interval without each row or group that changes it; at most two do."""
        return TrimmedRange(rank=1).changes(y, groups)


@dataclass(frozen=True)
class _FunctionRange(PredictionRange):
    """The interval that the user's own function computes from the targets."""

    function: Callable[[np.ndarray], Any]

    def interval(self, y: Any) -> Interval:
        return _as_interval(self.function(_check_targets(y, minimum=1)), self)


def as_prediction_range(value: Any, owner: str) -> PredictionRange:
    """Return a prediction range; a function is wrapped as one."""
    if isinstance(value, PredictionRange):
        return value
    if callable(value) and not isinstance(value, type):
        return _FunctionRange(value)
    expected = "a prediction range, such as ObservedRange() or FixedRange(0, 1), or a function from y to (low, high)"
    is_range = isinstance(value, type) and issubclass(value, PredictionRange)
    reason = f"{value.__name__} is a class. Pass an instance, such as {value.__name__}(...)." if is_range else ""
    raise refuse_type("prediction_range", owner, expected, value, reason)


def changes_by_units(rule: PredictionRange, y: Any, units: Units) -> dict[int, Interval]:
    """Return the interval without each group that changes it; a user's own rule may know rows only."""
    if units.are_rows:
        return rule.changes(y)
    if "groups" in inspect.signature(rule.changes).parameters:
        return rule.changes(y, units)
    return PredictionRange.changes(rule, y, units)


def as_units(groups: Any, y: Any) -> Units:
    """Return the groups of some targets; without `groups`, every row is a group."""
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
            f"A prediction range must return a pair (low, high) of finite numbers with low <= high, but "
            f"{'your function' if isinstance(owner, _FunctionRange) else type(owner).__name__} returned {shown(value)}."
        )
    return low, high


def _check_targets(y: Any, minimum: int, why: str = "") -> np.ndarray:
    array = as_array(y, "y", "a prediction range", "a one-dimensional array of real numbers")
    if array.ndim != 1 or array.dtype.kind not in "biuf":
        raise ValueError(
            "The targets of a prediction range must be a one-dimensional array of real numbers, got shape "
            f"{array.shape} and type {array.dtype}. Convert them, for example with np.asarray(y, dtype=float)."
        )
    array = array.astype(float)
    if len(array) < minimum:
        smaller = " or a smaller rank" if why else ""
        raise ValueError(f"Too few targets{why}: need at least {minimum}, got {len(array)}. Use more rows{smaller}.")
    if not np.isfinite(array).all():
        raise ValueError(f"Target {np.flatnonzero(~np.isfinite(array))[0]} is NaN or infinite. Remove its row.")
    return array


# -------------------------------------------------------------------------------------------------------- output ranges
# The box that predictions of several outputs are clipped to: one range per output, computed from its targets.

Box: TypeAlias = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True)
class OutputRanges:
    """One prediction range per output; together they compute a box, its lower ends and its upper ends.

    It has the methods of a `PredictionRange`. A row changes the box if it changes the range of any output.

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
    >>> rule.changes(y)  # without the first row, the range of the first output is 5 to 9
    {0: (array([5., 0.]), array([9., 1.]))}
    """

    ranges: tuple[PredictionRange, ...]

    @classmethod
    def of(cls, given: Any, n_outputs: int, owner: str) -> "OutputRanges":
        """Return the ranges for one rule, used for every output, or for a list with one rule per output."""
        if not isinstance(given, list | tuple):
            return cls((as_prediction_range(given, owner),) * n_outputs)
        if len(given) != n_outputs:
            reason = f"y has {n_outputs} columns. Pass one range per column, or a single one for all."
            raise refuse_value("prediction_range", owner, f"a list of {n_outputs} ranges", given, reason)
        if any(each is None for each in given):
            reason = "either all outputs are clipped or none. Use prediction_range=None for none."
            raise refuse_value("prediction_range", owner, "a range for every output", given, reason)
        return cls(tuple(as_prediction_range(each, owner) for each in given))

    def __call__(self, y: Any) -> Box:
        """Return the lower and the upper ends for these targets."""
        return _box([rule(column) for rule, column in self._columns(y)])

    def changes(self, y: Any, groups: Any = None) -> dict[int, Box]:
        """Return the box without each row (or one of the `groups`) that changes it."""
        units, outputs = self._units(y, groups), self._columns(y)
        each = [changes_by_units(rule, column, units) for rule, column in outputs]
        whole = [rule(column) for rule, column in outputs]
        changing = sorted(set().union(*each))
        return {unit: _box([of.get(unit, before) for of, before in zip(each, whole, strict=True)]) for unit in changing}

    def change(self, y: Any, groups: Any = None) -> tuple[float, float]:
        """Return the share of rows that change the box, and the longest diagonal that both boxes span together.

        No vector of predictions moves further when a row (or one of the `groups`) is left out.
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
            raise ValueError(
                f"OutputRanges has {len(self.ranges)} ranges, so y needs as many columns, got shape {table.shape}."
            )
        return list(zip(self.ranges, np.ascontiguousarray(table.T), strict=True))


def diagonal(lengths: np.ndarray) -> float:
    """Return the length of the diagonal of a box with these sides, without overflow.

    >>> diagonal(np.array([3.0, 4.0]))
    5.0
    """
    return math.hypot(*lengths.tolist())


def _box(intervals: list[Interval]) -> Box:
    low, high = np.array(intervals, dtype=float).T.copy()
    return low, high
