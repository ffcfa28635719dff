"""`Remainder`: the rows of a source that are left when some are held out, numbered anew."""

import hashlib
from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np

from stablebag._checks import as_positions, read_only, refuse_type, refuse_value
from stablebag.models.rows import RowSource, stacked, take_rows
from stablebag.models.rows import n_rows as n_rows_of


class Remainder(RowSource):
    """The rows of a source without some of them; nothing is held that has as many entries as there are rows.

    Rows keep their order. For people they are called by their numbers in the source.

    Parameters
    ----------
    source : RowSource
        The rows.
    held_out : array-like of int
        The numbers of the rows that are not here.

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
        if len(numbers) and not (numbers[0] >= 0 and numbers[-1] < source.n_samples):
            wrong = int(numbers[(numbers < 0) | (numbers >= source.n_samples)][0])
            raise refuse_value("held_out", "Remainder", f"numbers from 0 to {source.n_samples - 1:,}", wrong)
        self.source, self.held_out, self.max_memory = source, read_only(numbers), source.max_memory
        self._before = numbers - np.arange(len(numbers))  # numbers here that the rows after them have

    @property
    def n_samples(self) -> int:
        """The number of rows that are left."""
        return self.source.n_samples - len(self.held_out)

    @property
    def n_features(self) -> int:
        """The number of columns, without the target."""
        return self.source.n_features

    @property
    def part_sizes(self) -> tuple[int, ...]:
        """The number of rows that are left of each part."""
        ends = np.cumsum([0, *self.source.part_sizes])
        return tuple((np.diff(ends) - np.diff(np.searchsorted(self.held_out, ends))).tolist())

    @property
    def bytes_per_row(self) -> float:
        """About how many bytes a row takes in memory, without its target."""
        return self.source.bytes_per_row

    @property
    def bytes_to_read(self) -> float:
        """About how many bytes it takes to read rows, beside those that are kept."""
        return self.source.bytes_to_read

    def numbers(self, rows: np.ndarray) -> np.ndarray:
        """Return the numbers in the source of rows by their numbers here."""
        return rows + np.searchsorted(self._before, rows, side="right")

    def take(self, rows: Any) -> Any:
        """Return the rows with these numbers as the source gives them.

        Parameters
        ----------
        rows : sequence of int
            The numbers, counted here.

        Returns
        -------
        ndarray or DataFrame
        """
        rows = np.asarray(rows, dtype=np.int64)
        if len(rows) and not (rows.min() >= 0 and rows.max() < self.n_samples):
            wrong = int(rows[(rows < 0) | (rows >= self.n_samples)][0])
            raise refuse_value("rows", "Remainder.take", f"numbers from 0 to {self.n_samples - 1:,}", wrong)
        return self.source.take(self.numbers(rows))

    def read(self, part: int, n_rows: int) -> Iterator[Any]:
        """Yield the rows that are left of a part in order, as tables of `n_rows` rows; the last may have fewer.

        Parameters
        ----------
        part : int
            The number of the part.
        n_rows : int
            The number of rows of a table.

        Yields
        ------
        ndarray or DataFrame
        """
        return self._cut(self.source.read(part, n_rows), sum(self.source.part_sizes[:part]), n_rows)

    def blocks(self, n_rows: int) -> Iterator[Any]:
        """Yield all rows that are left in order, as tables of `n_rows` rows, in one pass; the last may have fewer.

        Parameters
        ----------
        n_rows : int
            The number of rows of a table.

        Yields
        ------
        ndarray or DataFrame
        """
        return self._cut(self.source.blocks(n_rows), 0, n_rows)

    def targets(self) -> np.ndarray:
        """Return the targets of the rows that are left."""
        return self._targets

    def row_ids(self) -> Any:
        """Return the names of the rows that are left; None if they are numbered."""
        return self._left(self.source.row_ids())

    def groups(self) -> Any:
        """Return the unit of each row that is left; None if every row is a unit of its own."""
        return self._left(self.source.groups())

    def labels(self) -> np.ndarray:
        """Return the numbers in the source of all rows here, or what they are called there."""
        theirs, numbers = self.source.labels(), self.numbers(np.arange(self.n_samples))
        return numbers if theirs is None else theirs[numbers]

    def fingerprint(self) -> str:
        """Return a text that identifies the rows that are left."""
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

    def _left(self, of_rows: Any) -> Any:
        return of_rows if of_rows is None else take_rows(of_rows, self.numbers(np.arange(self.n_samples)))

    def _cut(self, tables: Iterator[Any], first: int, n_rows: int) -> Iterator[Any]:
        """Cut tables of all rows, from row `first` on, anew without those that are held out."""
        held = None
        for table in tables:
            size = n_rows_of(table)
            low, high = np.searchsorted(self.held_out, (first, first + size))
            if high > low:
                table = take_rows(table, np.delete(np.arange(size), self.held_out[low:high] - first))
            held, first = table if held is None else stacked(held, table), first + size
            if n_rows_of(held) >= n_rows:  # tables have no more rows than that
                yield held[:n_rows]
                held = held[n_rows:]
        if held is not None and n_rows_of(held):
            yield held
