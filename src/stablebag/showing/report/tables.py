"""The report's tables: cells that show a text and are sorted by a number."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from stablebag._wording import number


class Cell(NamedTuple):
    """What a cell shows, and the number by which it is sorted; None if it is sorted as a text."""

    text: str
    value: float | None = None


@dataclass(frozen=True)
class Table:
    """A table of the report.

    Attributes
    ----------
    name : str
        Its name in the page.
    caption : str
        What it shows.
    head : tuple of str
        What its columns are.
    lines : tuple of tuple of Cell
        Its lines; the first cell of each names it.
    sorted_by : int or None, default=None
        For a table that readers can sort, the column by which it is sorted.
    ascending : bool, default=False
        Whether it is sorted with the smallest first.
    texts : tuple of int, default=()
        The columns, beside the first one, that have texts and not numbers.
    """

    name: str
    caption: str
    head: tuple[str, ...]
    lines: tuple[tuple[Cell, ...], ...]
    sorted_by: int | None = None
    ascending: bool = False
    texts: tuple[int, ...] = ()

    @classmethod
    def of(
        cls,
        name: str,
        caption: str,
        head: Sequence[str],
        lines: Sequence[Sequence[Cell | float | str]],
        *,
        sorted_by: int | None = None,
        ascending: bool = False,
        texts: Sequence[int] = (),
    ) -> "Table":
        """Make a table of cells, numbers and texts.

        >>> Table.of("t", "A table", ["what", "size"], [["a house", 1234567.0]]).lines[0][1]
        Cell(text='1,234,567', value=1234567.0)
        """
        cells = tuple(tuple(map(cell, line)) for line in lines)
        return cls(name, caption, tuple(head), cells, sorted_by, ascending, tuple(texts))


def cell(value: Cell | float | str) -> Cell:
    """Return what is to be shown as a cell."""
    if isinstance(value, Cell):
        return value
    if isinstance(value, str):
        return Cell(value)
    return Cell(number(value), None if math.isnan(value) else float(value))
