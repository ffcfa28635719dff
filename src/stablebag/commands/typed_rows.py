"""`TypedRows`: rows of files, read as the columns say, whichever of them are taken."""

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

import numpy as np

from stablebag._checks import read_only
from stablebag.commands.columns import Columns, plain_column
from stablebag.commands.kinds import Kind
from stablebag.learning.sources.parquet import ParquetTable
from stablebag.learning.sources.remainder import Remainder
from stablebag.learning.sources.source import RowSource

_TIMES = 2.0  # of the bytes of a row: as it is in the file, and as it is read


class TypedRows(RowSource):
    """The rows of Parquet files but some, as numbers, dates and texts, with the targets that were read.

    Unlike in a table in memory, the type of a column must not depend on which rows are taken: texts that are numbers
    are floats even if all are whole, and dates count microseconds.

    Parameters
    ----------
    table : ParquetTable
        The files, with the columns that are learned from.
    held_out : ndarray of int
        The numbers of the rows that are not here.
    columns : Columns
        What the columns are.
    targets : ndarray
        The targets of all rows of the files, as they were read.
    flags : tuple of str
        The columns of truth values.
    """

    def __init__(
        self, table: ParquetTable, held_out: np.ndarray, columns: Columns, targets: np.ndarray, flags: tuple[str, ...]
    ) -> None:
        self.table, self.rows, self.max_memory = table, Remainder(table, held_out), table.max_memory
        self.reader, self.flags, self._all_targets = columns, flags, targets

    @property
    def n_samples(self) -> int:
        """The number of rows."""
        return self.rows.n_samples

    @property
    def n_features(self) -> int:
        """The number of columns that are learned from."""
        return len(self.reader.used)

    @property
    def columns(self) -> list[str]:
        """The names of these columns."""
        return self.reader.used

    @property
    def part_sizes(self) -> tuple[int, ...]:
        """The number of rows of each file."""
        return self.rows.part_sizes

    @property
    def bytes_per_row(self) -> float:
        """About how many bytes a row takes in memory while it is read."""
        return _TIMES * self.rows.bytes_per_row

    @property
    def bytes_to_read(self) -> float:
        """About how many bytes it takes to read rows, beside those that are kept."""
        return self.rows.bytes_to_read

    def take(self, rows: np.ndarray) -> Any:
        """Return the rows with these numbers as a frame."""
        return typed(self.rows.take(rows), self.reader, self.flags)

    def read(self, part: int, n_rows: int) -> Iterator[Any]:
        """Yield the rows of a file in order, as frames of `n_rows` rows; the last may have fewer."""
        return (typed(frame, self.reader, self.flags) for frame in self.rows.read(part, n_rows))

    def blocks(self, n_rows: int) -> Iterator[Any]:
        """Yield all rows in order, as frames of `n_rows` rows, in one pass; the last may have fewer."""
        return (typed(frame, self.reader, self.flags) for frame in self.rows.blocks(n_rows))

    def targets(self) -> np.ndarray:
        """Return the targets of all rows."""
        return self._targets

    def groups(self) -> Any:
        """Return the unit of each row, as a series; None if every row is a unit of its own."""
        return self.rows.groups()

    def labels(self) -> np.ndarray:
        """Return the places of the rows in the files, end to end, which is what they are called."""
        return self.table.places(self.rows.numbers(np.arange(self.n_samples)))

    def fingerprint(self) -> str:
        """Return a text that identifies the rows and how they are read."""
        return f"{self.rows.fingerprint()} {self.reader.to_dict()}"

    @cached_property
    def _targets(self) -> np.ndarray:
        return read_only(np.delete(self._all_targets, self.rows.held_out))


def typed(frame: Any, columns: Columns, flags: tuple[str, ...] = ()) -> Any:
    """Return the columns that are learned from as numbers, dates and texts, each row by itself; others are missing."""
    import pandas as pd

    plain = plainly({name: frame[name] for name in columns.used}, flags)
    found = {name: _typed(column, columns.kinds[name]) for name, column in plain.items()}
    return pd.DataFrame(found, index=frame.index)


def plainly(columns: Mapping[str, Any], flags: tuple[str, ...]) -> dict[str, Any]:
    """Return columns as numbers, dates or texts of numpy's own types; truth values are texts, also if some miss."""
    return {name: plain_column(_flag(column) if name in flags else column) for name, column in columns.items()}


def _flag(column: Any) -> Any:
    return column if column.dtype.kind != "f" else column.map({1.0: "True", 0.0: "False"}).astype(object)


def _typed(column: Any, kind: Kind) -> Any:
    if kind.name in ("category", "text") and column.dtype.kind == "f":
        return column.map(lambda value: str(int(value) if value.is_integer() else value), na_action="ignore").astype(
            object
        )
    read = Columns.column(column, kind)
    if kind.name == "number" and column.dtype.kind == "O":
        return read.astype(float)
    return read.astype("datetime64[us]") if kind.name == "date" else read
