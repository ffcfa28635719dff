"""The rows, or units, that the report names, with the values of their rows in cells."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime, time
from typing import Any

import numpy as np

from stablebag._checks import is_missing
from stablebag._wording import ROWS, number, printable
from stablebag.learning.sources.source import RowSource
from stablebag.showing.report.tables import Cell
from stablebag.showing.study import Study

_MOST_COLUMNS = 12  # the most columns of a row, or unit, that are shown
MOST_NAMED = 15  # rows, or units, of a table
_FEW = 3  # different texts of one unit that fit in a cell
_GROUPED = 10_000  # numbers of the data from which thousands are set apart: years are not


@dataclass(frozen=True, eq=False)
class Values:
    """The values of the rows of what is named.

    Attributes
    ----------
    columns : list of str
        The columns that are shown.
    hidden : int
        How many more there are.
    known : bool
        Whether the rows of what is named are known.
    """

    columns: list[str]
    hidden: int
    known: bool
    _rows: Any
    _rows_of: Callable[[int], list[int]] | None
    _targets: Any
    _by_index: bool
    _places: dict[int, int] | None = None  # of the rows that were read from a source

    @classmethod
    def of(cls, study: Study, rows: Any) -> "Values":
        """Take the values from the training rows of a study, which may be None; from a source, of those named alone."""
        rows_of, places, source = _rows_of(study), None, rows
        if isinstance(rows, RowSource):
            needed = np.unique([row for each in _named(study) for row in ([] if rows_of is None else rows_of(each))])
            rows, places = rows.take(needed.astype(np.int64)), {int(row): place for place, row in enumerate(needed)}
            rows = rows if hasattr(rows, "iloc") else None
        shown = [] if rows is None or rows_of is None else list(rows.columns)[:_MOST_COLUMNS]
        hidden = max(0, len(rows.columns) - _MOST_COLUMNS) if shown else 0
        targets = None if study.model is None else study.model.y_
        by_index = rows is not None and study.noun == ROWS and source is rows
        names = [printable(name) for name in shown]
        return cls(names, hidden, rows_of is not None, rows, rows_of, targets, by_index, places)

    def called(self, position: int, name: Any) -> str:
        """What the row, or unit, of this number is called."""
        return printable(self._rows.index[position] if self._by_index else name)

    def cells(self, position: int, counted: bool, targets: bool) -> list[Cell]:
        """How many rows the unit of this number has and their target, if asked, and the columns that are shown."""
        its = [] if self._rows_of is None else self._rows_of(position)
        count = [Cell(f"{len(its):,}", len(its))] if counted else []
        target = [together(self._targets[its]) if its else Cell("")] if targets else []
        at = its if self._places is None else [self._places[row] for row in its]
        return [*count, *target, *(together(self._rows.iloc[at, place]) for place in range(len(self.columns)))]


def together(values: Iterable[Any]) -> Cell:
    """Return the values of all rows of a unit in one cell: the one that they share, their range, or how many there are.

    Parameters
    ----------
    values : sequence of objects
        The values of the rows.

    Returns
    -------
    Cell
    """
    all_values = np.asarray(values, dtype=object).tolist()
    different = {_text(value): value for value in all_values if not is_missing(value)}
    if len(different) < 2:
        text, value = next(iter(different.items()), (_text(all_values[0]), None))
        return Cell(text, float(value) if value is not None and _is_number(value) else None)
    if all(map(_is_number, different.values())) or all(isinstance(value, datetime) for value in different.values()):
        low, high = min(different.values()), max(different.values())
        return Cell(f"{_text(low)} to {_text(high)}", float(low) if _is_number(low) else low.timestamp())
    return Cell(printable(" / ".join(different)) if len(different) <= _FEW else f"{len(different)} values")


def _named(study: Study) -> list[int]:
    """The numbers of the rows, or units, that tables may name."""
    if study.suspects is None:
        return [int(number) for number in study.ranked(MOST_NAMED)[0]]
    listed = (*study.suspects.farthest[:MOST_NAMED], *study.suspects.moving[:MOST_NAMED])
    return [one[0] for one in listed]


def _rows_of(study: Study) -> Callable[[int], list[int]] | None:
    """What gives the rows of a unit by its number; None if that is not known."""
    if study.noun == ROWS:
        return lambda position: [position]
    if study.model is None:
        return None
    units = study.model.units_
    return lambda position: units.rows_of(np.array([position])).tolist()


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool) and not is_missing(value)


def _text(value: Any) -> str:
    if is_missing(value):
        return "missing"
    if isinstance(value, datetime) and value.time() == time():
        return value.date().isoformat()
    if not _is_number(value):
        return printable(value)
    if float(value).is_integer():
        return f"{value:,.0f}" if abs(value) >= _GROUPED else f"{value:.0f}"
    return number(value) if abs(value) >= _GROUPED else f"{value:.6g}"
