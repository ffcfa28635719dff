"""The box to which predictions of several outputs are clipped: a range for each, taken from the targets of its own."""

import math
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from stablebag._checks import refuse_value
from stablebag.learning.ranges import Interval, PredictionRange, as_prediction_range, as_units, changes_by_units
from stablebag.resampling.units import Units

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
