"""A table in memory, filled from batches of Arrow: a matrix, or a frame of columns, with nothing held twice."""

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from stablebag.learning.sources.kinds import Kind


class Filling(Protocol):
    """A table in memory that is being filled."""

    def put(self, batch: Any, local: np.ndarray, place: int) -> None:
        """Put some rows of a batch, by their places in it, into the table from row `place` on."""

    def table(self) -> Any:
        """Return the table, once all rows are there."""


class Matrix:
    """Columns of numbers, as one matrix, row by row.

    Parameters
    ----------
    kinds : sequence of Kind
        The columns.
    dtype : dtype
        The type of the matrix.
    n_rows : int
        The number of rows.
    """

    def __init__(self, kinds: Sequence[Kind], dtype: np.dtype, n_rows: int) -> None:
        self.kinds, self.out = kinds, np.empty((n_rows, len(kinds)), dtype)

    def put(self, batch: Any, local: np.ndarray, place: int) -> None:
        """Put some rows of a batch, by their places in it, into the table from row `place` on."""
        for number in range(len(self.kinds)):
            self.out[place : place + len(local), number] = numbers(batch.column(number), local)

    def table(self) -> np.ndarray:
        """Return the matrix."""
        return self.out


class Frame:
    """Columns of any kind, as a pandas frame whose index is the numbers of the rows in the whole table.

    Parameters
    ----------
    kinds : sequence of Kind
        The columns.
    rows : ndarray of int, or range
        The numbers of the rows.
    """

    def __init__(self, kinds: Sequence[Kind], rows: Any) -> None:
        self.rows = rows
        columns: dict[str, Any] = {"number": _Numbers, "category": _Codes, "other": _Others}
        self.columns = [columns[kind.form](kind, len(rows)) for kind in kinds]

    def put(self, batch: Any, local: np.ndarray, place: int) -> None:
        """Put some rows of a batch, by their places in it, into the table from row `place` on."""
        for number, column in enumerate(self.columns):
            column.put(batch.column(number), local, place)

    def table(self) -> Any:
        """Return the frame."""
        import pandas as pd

        index = pd.RangeIndex(self.rows.start, self.rows.stop) if isinstance(self.rows, range) else self.rows
        names, held = [column.kind.name for column in self.columns], [column.values() for column in self.columns]
        return pd.DataFrame(dict(zip(names, held, strict=True)), index=pd.Index(index), copy=False)


class _Numbers:
    def __init__(self, kind: Kind, n_rows: int) -> None:
        self.kind, self.out = kind, np.empty(n_rows, kind.dtype)

    def put(self, array: Any, local: np.ndarray, place: int) -> None:
        self.out[place : place + len(local)] = numbers(array, local)

    def values(self) -> np.ndarray:
        return self.out


class _Codes:
    def __init__(self, kind: Kind, n_rows: int) -> None:
        n_categories = len(kind.categories)
        smallest = next(t for t in (np.int8, np.int16, np.int32) if n_categories <= np.iinfo(t).max)
        self.kind, self.out = kind, np.full(n_rows, -1, smallest)

    def put(self, array: Any, local: np.ndarray, place: int) -> None:
        import pyarrow as pa
        import pyarrow.compute as pc

        if pa.types.is_null(array.type):
            return
        known = pc.index_in(array.dictionary.cast(self.kind.arrow), value_set=self.kind.categories)
        now: np.ndarray = known.fill_null(-1).to_numpy(zero_copy_only=False)
        codes = array.indices.take(pa.array(local)) if array.indices.null_count else None
        if codes is None:
            found = now[array.indices.to_numpy(zero_copy_only=False)[local]]
        elif len(now):
            found = now[codes.fill_null(0).to_numpy(zero_copy_only=False)]
            found[codes.is_null().to_numpy(zero_copy_only=False)] = -1
        else:
            return
        self.out[place : place + len(local)] = found

    def values(self) -> Any:
        import pandas as pd

        categories = self.kind.categories.to_pandas()
        dtype = pd.CategoricalDtype(pd.Index(categories), ordered=self.kind.ordered)
        return pd.Categorical.from_codes(self.out, dtype=dtype)


class _Others:
    def __init__(self, kind: Kind, n_rows: int) -> None:
        self.kind, self.chunks = kind, list[Any]()

    def put(self, array: Any, local: np.ndarray, place: int) -> None:
        import pyarrow as pa

        self.chunks.append(array.take(pa.array(local)).cast(self.kind.arrow))

    def values(self) -> Any:
        import pyarrow as pa

        whole = pa.chunked_array(self.chunks, type=self.kind.arrow).combine_chunks()
        self.chunks = []
        return whole.to_pandas(date_as_object=False).array


def numbers(array: Any, local: np.ndarray) -> np.ndarray:
    """Return some values of an Arrow array of numbers as an array of numpy; missing ones are NaN."""
    import pyarrow as pa

    kind = array.type
    if pa.types.is_null(kind):
        return np.full(len(local), np.nan)
    if pa.types.is_decimal(kind):
        array = array.take(pa.array(local)).cast(pa.float64())
        return np.asarray(array.to_numpy(zero_copy_only=False))
    if not array.null_count:
        values: np.ndarray = array.to_numpy(zero_copy_only=False)
        return values.take(local, mode="clip")
    array = array.take(pa.array(local))
    if pa.types.is_boolean(kind):
        array = array.cast(pa.float64())
    found: np.ndarray = np.array(array.to_numpy(zero_copy_only=False))
    if pa.types.is_float16(kind):  # of which pyarrow makes another NaN than of all other numbers
        found[array.is_null().to_numpy(zero_copy_only=False)] = np.nan
    return found
