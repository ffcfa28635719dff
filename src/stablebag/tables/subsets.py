"""A source without some of its rows: `Remainder` leaves them as they are, `TypedRows` parses them."""

import hashlib
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

import numpy as np

from stablebag._checks import as_positions, read_only, refuse_type
from stablebag.models.rows import RowSource, stacked, take_rows
from stablebag.models.rows import n_rows as n_rows_of
from stablebag.tables.columns import Columns, Kind, plain_column
from stablebag.tables.parquet import ParquetTable, RowsLeft, check_row_numbers

# ------------------------------------------------------------------------------------------------------------ remainder


class Remainder(RowSource):
    """The rows of a source without some of them, in the same order.

    Results name rows by their numbers in the source. In addition to the targets, only the numbers of the rows that are
    left out are stored.

    Parameters
    ----------
    source : RowSource
        The rows.
    held_out : array-like of int
        The numbers of the rows to leave out.

    Examples
    --------
    >>> import tempfile
    >>> import pyarrow as pa
    >>> import pyarrow.parquet as pq
    >>> from stablebag import BaggedRegressor, ParquetTable
    >>> from stablebag.tables import Remainder
    >>> folder = tempfile.TemporaryDirectory()
    >>> rows = pa.table({"x": [0.0, 0.1, 0.2, 0.3, 0.4], "y": [1.0, 2.0, 3.0, 4.0, 5.0]})
    >>> pq.write_table(rows, f"{folder.name}/all.parquet")
    >>> table = ParquetTable(f"{folder.name}/all.parquet", target="y")
    >>> rest = Remainder(table, [1, 3])
    >>> rest.n_samples, rest.targets().tolist(), rest.labels().tolist()
    (3, [1.0, 3.0, 5.0], [0, 2, 4])
    >>> BaggedRegressor(n_bags=10, random_state=0).fit(rest).predict(table.take([1, 3])).shape
    (2,)
    >>> folder.cleanup()
    """

    def __init__(self, source: RowSource, held_out: Any) -> None:
        if not isinstance(source, RowSource):
            raise refuse_type("source", "Remainder", "a RowSource", source)
        numbers = np.unique(as_positions(held_out, "held_out", "Remainder", "numbers of rows"))
        check_row_numbers(numbers, source.n_samples, "held_out", "Remainder")
        self.source, self.max_memory, self._left = source, source.max_memory, RowsLeft(numbers)

    @property
    def held_out(self) -> np.ndarray:
        """The numbers of the rows that are left out."""
        return self._left.left_out

    @property
    def n_samples(self) -> int:
        """The number of remaining rows."""
        return self.source.n_samples - len(self.held_out)

    @property
    def n_features(self) -> int:
        """The number of columns, without the target."""
        return self.source.n_features

    @property
    def part_sizes(self) -> tuple[int, ...]:
        """The number of remaining rows in each part."""
        ends = np.cumsum([0, *self.source.part_sizes])
        return tuple((np.diff(ends) - np.diff(np.searchsorted(self.held_out, ends))).tolist())

    @property
    def bytes_per_row(self) -> float:
        """About how many bytes a row takes in memory, without its target."""
        return self.source.bytes_per_row

    @property
    def bytes_to_read(self) -> float:
        """About how many bytes reading takes, in addition to the rows that are kept."""
        return self.source.bytes_to_read

    def numbers(self, rows: np.ndarray) -> np.ndarray:
        """Return the numbers in the source of rows with these numbers here."""
        return self._left.places(rows)

    def take(self, rows: Any) -> Any:
        """Return the rows with these numbers among the remaining rows, as the source returns them."""
        rows = np.asarray(rows, dtype=np.int64)
        check_row_numbers(rows, self.n_samples, "rows", f"{type(self).__name__}.take")
        return self.source.take(self.numbers(rows))

    def read(self, part: int, n_rows: int) -> Iterator[Any]:
        """Yield the remaining rows of a part in order, as tables of `n_rows` rows; the last may have fewer."""
        return self._cut(self.source.read(part, n_rows), sum(self.source.part_sizes[:part]), n_rows)

    def blocks(self, n_rows: int) -> Iterator[Any]:
        """Yield all remaining rows in order, as tables of `n_rows` rows, in one pass; the last may have fewer."""
        return self._cut(self.source.blocks(n_rows), 0, n_rows)

    def targets(self) -> np.ndarray:
        """Return the targets of the remaining rows."""
        return self._targets

    def row_ids(self) -> Any:
        """Return the row IDs of the remaining rows; None without IDs."""
        return self._of_those_left(self.source.row_ids())

    def groups(self) -> Any:
        """Return the group of each remaining row; None without groups."""
        return self._of_those_left(self.source.groups())

    def labels(self) -> np.ndarray:
        """Return the names of the remaining rows in the source, or their numbers there."""
        theirs, numbers = self.source.labels(), self.numbers(np.arange(self.n_samples))
        return numbers if theirs is None else theirs[numbers]

    def fingerprint(self) -> str:
        """Return a text that identifies the remaining rows."""
        out = hashlib.blake2b(self.held_out.tobytes(), digest_size=16).hexdigest()
        return f"{self.source.fingerprint()} without {len(self.held_out)} {out}"

    def __repr__(self) -> str:
        return f"{self.n_samples:,} rows of {self.source!r}"

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the targets, which the source has."""
        return {name: value for name, value in vars(self).items() if name != "_targets"}

    @cached_property
    def _targets(self) -> np.ndarray:
        return read_only(np.delete(self.source.targets(), self.held_out))

    def _of_those_left(self, of_rows: Any) -> Any:
        return of_rows if of_rows is None else take_rows(of_rows, self.numbers(np.arange(self.n_samples)))

    def _cut(self, tables: Iterator[Any], first: int, n_rows: int) -> Iterator[Any]:
        """Yield tables of `n_rows` rows from tables of all rows, from row `first` on, without the held-out rows."""
        held = None
        for table in tables:
            size = n_rows_of(table)
            local = self._left.inside(first, size)
            if len(local) < size:
                table = take_rows(table, local)
            held, first = table if held is None else stacked(held, table), first + size
            if n_rows_of(held) >= n_rows:  # tables have no more rows than that
                yield held[:n_rows]
                held = held[n_rows:]
        if held is not None and n_rows_of(held):
            yield held


# ----------------------------------------------------------------------------------------------------------- typed rows
# Rows of files as numbers, dates and texts, with types that do not depend on which rows are taken.

_COPIES = 2.0  # of the bytes of a row: as it is in the file, and parsed


class TypedRows(Remainder):
    """The rows of Parquet files without some of them, as numbers, dates and texts, with parsed targets.

    The type of a column must not depend on which rows are taken. So, unlike in a table in memory, texts that are
    numbers become floats even if all are whole, and dates have microseconds.

    Parameters
    ----------
    source : ParquetTable
        The files, with the features as columns.
    held_out : ndarray of int
        The numbers of the rows to leave out.
    reader : Columns
        The kinds of the columns.
    targets : ndarray
        The parsed targets of all rows of the files.
    flags : tuple of str
        The columns of booleans.
    """

    source: ParquetTable

    def __init__(
        self, source: ParquetTable, held_out: np.ndarray, reader: Columns, targets: np.ndarray, flags: tuple[str, ...]
    ) -> None:
        super().__init__(source, held_out)
        self.reader, self.flags, self._all_targets = reader, flags, targets

    @property
    def n_features(self) -> int:
        """The number of features."""
        return len(self.columns)

    @property
    def columns(self) -> list[str]:
        """The names of the features."""
        return self.reader.used

    @property
    def bytes_per_row(self) -> float:
        """About how many bytes a row takes in memory while it is read."""
        return _COPIES * super().bytes_per_row

    def take(self, rows: np.ndarray) -> Any:
        """Return the rows with these numbers as a data frame."""
        return read_rows(super().take(rows), self.reader, self.flags)

    def _cut(self, tables: Iterator[Any], first: int, n_rows: int) -> Iterator[Any]:
        return (read_rows(frame, self.reader, self.flags) for frame in super()._cut(tables, first, n_rows))

    def labels(self) -> np.ndarray:
        """Return the places of the rows across all files, which are their names in results."""
        return self.source.places(super().labels())

    def fingerprint(self) -> str:
        """Return a text that identifies the rows and the kinds of their columns."""
        return f"{super().fingerprint()} {self.reader.to_dict()}"

    @cached_property
    def _targets(self) -> np.ndarray:
        return read_only(np.delete(self._all_targets, self.held_out))


def read_rows(frame: Any, columns: Columns, flags: tuple[str, ...] = ()) -> Any:
    """Return the features as numbers, dates and texts, each row independently; other values become missing."""
    import pandas as pd

    plain = plain_columns({name: frame[name] for name in columns.used}, flags)
    found = {name: _read(column, columns.kinds[name]) for name, column in plain.items()}
    return pd.DataFrame(found, index=frame.index)


def plain_columns(columns: Mapping[str, Any], flags: tuple[str, ...]) -> dict[str, Any]:
    """Return columns as numbers, dates or texts of numpy's types; booleans become texts even if some are missing."""
    return {name: plain_column(_flag(column) if name in flags else column) for name, column in columns.items()}


def _flag(column: Any) -> Any:
    return column if column.dtype.kind != "f" else column.map({1.0: "True", 0.0: "False"}).astype(object)


def _read(column: Any, kind: Kind) -> Any:
    if kind.name in ("category", "text") and column.dtype.kind == "f":
        return column.map(lambda value: str(int(value) if value.is_integer() else value), na_action="ignore").astype(
            object
        )
    read = Columns.column(column, kind)
    if kind.name == "number" and column.dtype.kind == "O":
        return read.astype(float)
    return read.astype("datetime64[us]") if kind.name == "date" else read
