"""`ParquetTable`: the rows of Parquet files, which need not fit into memory."""

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import groupby
from typing import Any, Protocol

import numpy as np

from stablebag._checks import as_array, as_positions, read_only, refuse_type, refuse_value
from stablebag.models.rows import RowSource, as_bytes
from stablebag.tables.files import (
    ColumnType,
    Files,
    Footer,
    Partitions,
    check_columns,
    check_orders,
    column_types,
    file_changed_error,
    matrix_type,
)

# -------------------------------------------------------------------------------------------------------------- filling
# A matrix or a data frame that is filled from Arrow batches, without a second copy of the rows.


class Filling(Protocol):
    """A table in memory that is being filled."""

    def put(self, batch: Any, local: np.ndarray, place: int) -> None:
        """Copy some rows of a batch into the table, from its row `place` on; `local` are their places in the batch."""

    def table(self) -> Any:
        """Return the table when all rows are in it."""


class Matrix:
    """Columns of numbers as one matrix, in row order.

    Parameters
    ----------
    kinds : sequence of ColumnType
        The columns.
    dtype : dtype
        The type of the matrix.
    n_rows : int
        The number of rows.
    """

    def __init__(self, kinds: Sequence[ColumnType], dtype: np.dtype, n_rows: int) -> None:
        self.kinds, self.out = kinds, np.empty((n_rows, len(kinds)), dtype)

    def put(self, batch: Any, local: np.ndarray, place: int) -> None:
        """Copy some rows of a batch into the table, from its row `place` on; `local` are their places in the batch."""
        for number in range(len(self.kinds)):
            self.out[place : place + len(local), number] = numbers(batch.column(number), local)

    def table(self) -> np.ndarray:
        """Return the matrix."""
        return self.out


class Frame:
    """Columns of any type as a pandas data frame, whose index has the numbers of the rows in the whole table.

    Parameters
    ----------
    kinds : sequence of ColumnType
        The columns.
    rows : ndarray of int, or range
        The numbers of the rows.
    """

    def __init__(self, kinds: Sequence[ColumnType], rows: Any) -> None:
        self.rows = rows
        columns: dict[str, Any] = {"number": _Numbers, "category": _Codes, "other": _Others}
        self.columns = [columns[kind.form](kind, len(rows)) for kind in kinds]

    def put(self, batch: Any, local: np.ndarray, place: int) -> None:
        """Copy some rows of a batch into the table, from its row `place` on; `local` are their places in the batch."""
        for number, column in enumerate(self.columns):
            column.put(batch.column(number), local, place)

    def table(self) -> Any:
        """Return the frame."""
        import pandas as pd

        index = pd.RangeIndex(self.rows.start, self.rows.stop) if isinstance(self.rows, range) else self.rows
        names, held = [column.kind.name for column in self.columns], [column.values() for column in self.columns]
        return pd.DataFrame(dict(zip(names, held, strict=True)), index=pd.Index(index), copy=False)


class _Numbers:
    def __init__(self, kind: ColumnType, n_rows: int) -> None:
        self.kind, self.out = kind, np.empty(n_rows, kind.dtype)

    def put(self, array: Any, local: np.ndarray, place: int) -> None:
        self.out[place : place + len(local)] = numbers(array, local)

    def values(self) -> np.ndarray:
        return self.out


class _Codes:
    def __init__(self, kind: ColumnType, n_rows: int) -> None:
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
    def __init__(self, kind: ColumnType, n_rows: int) -> None:
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
    """Return some values of an Arrow array of numbers as a numpy array; missing values are NaN."""
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
    if pa.types.is_float16(kind):  # pyarrow converts missing values to another NaN than for other types
        found[array.is_null().to_numpy(zero_copy_only=False)] = np.nan
    return found


# --------------------------------------------------------------------------------------------------------------- survey
# One pass over the columns that must be known before rows are numbered: targets, row IDs, groups and categories.


class RowsLeft:
    """The rows that stay when some are left out. They get new numbers in the same order; no list of them is stored.

    Parameters
    ----------
    left_out : ndarray of int
        The places of the rows that are left out, in increasing order.
    """

    def __init__(self, left_out: np.ndarray) -> None:
        self.left_out = read_only(left_out)
        self._before = left_out - np.arange(len(left_out))  # new numbers of the rows that follow each

    def places(self, rows: np.ndarray) -> np.ndarray:
        """Return the places of the rows with these new numbers."""
        if not len(self.left_out):
            return rows
        return rows + np.searchsorted(self._before, rows, side="right")

    def inside(self, start: int, count: int) -> np.ndarray:
        """Return which of the `count` places from `start` on stay, counted from `start`."""
        local = np.arange(count)
        low, high = np.searchsorted(self.left_out, (start, start + count))
        return np.delete(local, self.left_out[low:high] - start) if high > low else local


def check_row_numbers(rows: np.ndarray, n_samples: int, name: str, owner: str) -> None:
    """Raise an error for row numbers that do not exist."""
    if len(rows) and not (rows.min() >= 0 and rows.max() < n_samples):
        wrong = int(rows[(rows < 0) | (rows >= n_samples)][0])
        raise refuse_value(name, owner, f"numbers from 0 to {n_samples - 1:,}", wrong)


class Survey:
    """What one pass over all rows finds out. Rows without a target are left out everywhere.

    Parameters
    ----------
    batches : iterable of (int, int, RecordBatch)
        For each batch, the number of its file, the place of its first row, and the batch.
    paths : tuple of str
        The files.
    target : str
        The column of the targets.
    named : tuple of str, default=()
        Columns that are stored as they are.
    categories : tuple of str, default=()
        Columns whose dictionaries are collected.
    counted : tuple of str, default=()
        Columns for which it is noted whether values are missing.
    """

    def __init__(
        self,
        batches: Iterable[tuple[int, int, Any]],
        paths: tuple[str, ...],
        target: str,
        named: tuple[str, ...] = (),
        categories: tuple[str, ...] = (),
        counted: tuple[str, ...] = (),
    ) -> None:
        import pyarrow.compute as pc

        targets, kept = list[Any](), {name: list[Any]() for name in named}
        missing, known = [np.empty(0, np.int64)], [0] * len(paths)
        self.dictionaries: dict[str, list[tuple[str, Any]]] = {name: [] for name in categories}
        self.has_nulls = dict.fromkeys(counted, False)
        for number, start, batch in batches:
            for name in categories:
                _collect(self.dictionaries[name], paths[number], batch.column(name))
            for name in counted:
                self.has_nulls[name] |= batch.column(name).null_count > 0
            target_values = batch.column(target)
            gone = target_values.is_null(nan_is_null=True)
            columns = {name: batch.column(name) for name in named}
            if gone.true_count:
                missing.append(start + np.flatnonzero(gone.to_numpy(zero_copy_only=False)))
                stay = pc.invert(gone)
                target_values = target_values.filter(stay)
                columns = {name: values.filter(stay) for name, values in columns.items()}
            known[number] += len(target_values)
            targets += [_compact(target_values)] if len(target_values) else []
            for name, values in columns.items():
                kept[name].append(values)
        self.known, self.present = tuple(known), RowsLeft(np.concatenate(missing))
        self.targets = read_only(_targets(targets))
        self.named = {name: _series(values, name) for name, values in kept.items()}

    @property
    def n_samples(self) -> int:
        """The number of rows with a target."""
        return sum(self.known)


def _collect(found: list[tuple[str, Any]], path: str, array: Any) -> None:
    """Add a dictionary to those of a column, unless it equals the last one; a batch without values has none."""
    dictionary = getattr(array, "dictionary", None)
    if dictionary is not None and not (found and found[-1][1].equals(dictionary)):
        found.append((path, dictionary))


def _compact(array: Any) -> Any:
    """Targets as they are stored until the end of the pass: texts as codes and a dictionary."""
    import pyarrow.types as pt

    texts = pt.is_string(array.type) or pt.is_large_string(array.type)
    return array.dictionary_encode() if texts else array


def _targets(chunks: list[Any]) -> np.ndarray:
    """All targets as one array: numbers unchanged, texts as objects that equal texts share."""
    import pyarrow as pa

    if not chunks:
        return np.empty(0)
    if not pa.types.is_dictionary(chunks[0].type):
        if pa.types.is_decimal(chunks[0].type):
            chunks = [chunk.cast(pa.float64()) for chunk in chunks]
        return np.concatenate([chunk.to_numpy(zero_copy_only=False) for chunk in chunks])
    texts = _are_texts(chunks[0].dictionary)
    kind = pa.dictionary(pa.int32(), pa.large_string() if texts else chunks[0].type.value_type)
    whole = pa.chunked_array([chunk.cast(kind) for chunk in chunks]).unify_dictionaries()
    labels: np.ndarray = np.array(whole.chunk(0).dictionary.to_pylist(), dtype=object if texts else None)
    places = np.concatenate([chunk.indices.to_numpy(zero_copy_only=False) for chunk in whole.chunks])
    return np.asarray(labels[places])


def _are_texts(array: Any) -> bool:
    import pyarrow.types as pt

    return bool(pt.is_string(array.type) or pt.is_large_string(array.type))


def _series(chunks: list[Any], name: str) -> Any:
    """A column as a pandas series with its name; categories become their values."""
    import pandas as pd
    import pyarrow as pa

    plain = [chunk.dictionary_decode() if pa.types.is_dictionary(chunk.type) else chunk for chunk in chunks]
    if not plain:
        return pd.Series([], name=name, dtype=object)
    kind = next((chunk.type for chunk in plain if not pa.types.is_null(chunk.type)), plain[0].type)
    return pd.Series(pa.chunked_array([chunk.cast(kind) for chunk in plain]).to_pandas(), name=name)


# -------------------------------------------------------------------------------------------------------------- parquet
# `ParquetTable` keeps only those rows in memory that are needed.

_OWNER = "ParquetTable"
_BATCH_ROWS = 2**17  # at most this many rows are decoded together
_BATCH_SHARE = 16  # a batch takes at most 1/16 of the memory
_PAGES = 2**22  # bytes of a column that pyarrow holds while it reads
_SAMPLED_FILES = 8  # that are read to estimate the length of texts
_SHOWN = 3  # files and columns in the representation


class ParquetTable(RowSource):
    """Rows of Parquet files that need not fit into memory: pass the table to `fit` instead of X and y.

    Rows are numbered in the order of the sorted file paths, and within a file in its order. Rows without a target are
    left out before rows are numbered. A fit draws all bags first. It then reads the files once for each portion of the
    bags; a portion has as many bags as `max_memory` has room for their distinct rows. The models have the same bits as
    those of a fit to `to_memory()`, whatever the portions, the files and their row groups.

    The type of a column does not depend on which rows are read. Whole numbers and booleans are float64 if a value is
    missing in any file. Categories are those of all files, sorted unless they are ordered. Folders named
    ``column=value`` on the path to a file are columns: int32 if all their values are whole numbers, otherwise texts.

    The table has no open files and no credentials, and its pickle takes a few kilobytes. Before each read, it checks
    that the files still have the same size, time and number of rows, and raises an error if a file has changed.

    Parameters
    ----------
    source : str, path, list of these, or pyarrow Dataset
        A file, a folder, a pattern such as ``"data/*.parquet"``, a URL that `pyarrow.fs` understands, or several of
        these. A dataset stands for its files. Credentials come from the environment; a URL that contains credentials
        raises an error.
    target : str
        The column of the targets.
    columns : list of str or None, default=None
        The features, in this order. None uses all columns that have no other role, in the order of the first file.
    groups : str or None, default=None
        The column that identifies the group of each row, for example its patient; see the parameter of `fit`.
    row_ids : str or None, default=None
        The column with the ID of each row; see the parameter of `fit`.
    as_frame : bool, default=True
        Whether the learner gets rows as a pandas data frame with the names of the columns. False makes a matrix, which
        is faster and needs columns of numbers: float32 if that represents them exactly, otherwise float64.
    max_memory : int or str, default="1GB"
        The memory for the rows of a portion, with their numbers and targets: bytes, or a text such as "500MB". The
        learner needs more, and the model stores its bags and the targets of all rows, 8 bytes each. `max_memory` does
        not change the models.

    Attributes
    ----------
    n_samples : int
        The number of rows with a target.
    n_missing_targets_ : int
        The number of rows without a target, which are left out.

    Examples
    --------
    >>> import tempfile
    >>> import pyarrow as pa
    >>> import pyarrow.parquet as pq
    >>> from stablebag import BaggedRegressor, ParquetTable
    >>> folder = tempfile.TemporaryDirectory()
    >>> for k in range(3):
    ...     rows = pa.table({"x": [k + 0.1, k + 0.5], "y": [2.0 * k, None if k == 1 else 2.0 * k + 1]})
    ...     pq.write_table(rows, f"{folder.name}/{k}.parquet")
    >>> table = ParquetTable(f"{folder.name}/*.parquet", target="y")
    >>> table.n_samples, table.n_missing_targets_
    (5, 1)
    >>> X, y = table.to_memory()
    >>> one, other = (BaggedRegressor(n_bags=10, random_state=0).fit(*data) for data in ((table,), (X, y)))
    >>> bool((one.predict(X) == other.predict(X)).all())
    True
    >>> folder.cleanup()
    """

    def __init__(
        self,
        source: Any,
        target: str,
        columns: list[str] | None = None,
        groups: str | None = None,
        row_ids: str | None = None,
        as_frame: bool = True,
        max_memory: int | str = "1GB",
    ) -> None:
        try:
            import pyarrow  # noqa: F401
        except ImportError as error:
            raise ImportError("Reading Parquet files needs pyarrow: pip install 'stablebag[parquet]'.") from error
        self.max_memory = as_bytes(max_memory, "max_memory", _OWNER)
        if not isinstance(as_frame, bool):
            raise refuse_type("as_frame", _OWNER, "True or False", as_frame)
        self.as_frame, self.files = as_frame, Files.of(source)
        paths = self.files.paths
        footers = [Footer.of(self.files, number) for number in range(len(paths))]
        self._folders = Partitions(paths)
        schemas = [self._folders.extend_schema(footer.schema) for footer in footers]
        self.target, self._groups, self._row_ids = target, groups, row_ids
        given = {"target": target, "groups": groups, "row_ids": row_ids}
        for name, column in given.items():
            if (column is not None and not isinstance(column, str)) or (column is None and name == "target"):
                raise refuse_type(name, _OWNER, "the name of a column", column)
            if column is not None:
                check_columns([column], schemas, paths, name)
        special = {column for column in given.values() if column is not None}
        self.columns = _columns(columns, schemas[0].names, special, target)
        asked = {*self.columns, *special} | (self._folders.partial if columns is None else set())
        self._folders.check(sorted(asked), [footer.schema for footer in footers])
        check_columns(self.columns, schemas, paths, "columns")
        self.row_counts = tuple(footer.n_rows for footer in footers)
        outside = [self._folders.nulls(number, count) for number, count in enumerate(self.row_counts)]
        nulls = [footer.nulls(self.columns) | more for footer, more in zip(footers, outside, strict=True)]
        self._kinds = column_types(self.columns, schemas, nulls, paths)
        check_orders(self._kinds, footers, paths)
        column_types(sorted(special), schemas, [dict.fromkeys(special, 0)], paths)  # of one type in all files
        self._uncounted = tuple(name for name in self.columns if any(counts[name] is None for counts in nulls))
        self._group_bytes = max(footer.largest_group(self.columns) for footer in footers)
        self._text_bytes = sum(footer.text_bytes(self._kinds) for footer in footers)
        if not as_frame:
            matrix_type(self._kinds)

    # ------------------------------------------------------------------------------------------------------- properties

    @property
    def n_samples(self) -> int:
        """The number of rows with a target."""
        return self._survey.n_samples

    @property
    def n_features(self) -> int:
        """The number of columns, without the target."""
        return len(self.columns)

    @property
    def n_missing_targets_(self) -> int:
        """The number of rows without a target, which are left out."""
        return len(self._survey.present.left_out)

    @property
    def part_sizes(self) -> tuple[int, ...]:
        """The number of rows with a target in each file."""
        return self._survey.known

    @property
    def bytes_per_row(self) -> float:
        """About how many bytes a row takes in memory, without its target."""
        kinds = self._final_types
        if not self.as_frame:
            return len(kinds) * matrix_type(kinds).itemsize
        return sum(kind.bytes_per_row for kind in kinds) + self._text_width + 8  # and the index

    @property
    def bytes_to_read(self) -> float:
        """About how many bytes reading takes: compressed and uncompressed pages of all columns, and a batch of rows."""
        pages = min(_PAGES * len(self.columns), 4 * self._group_bytes)
        return pages + self._batch_rows * self._row_width

    def targets(self) -> np.ndarray:
        """Return the targets of all rows that have one, in order."""
        return self._survey.targets

    def groups(self) -> Any:
        """Return the group of each row as a series; None if `groups` was not given."""
        return None if self._groups is None else self._survey.named[self._groups]

    def row_ids(self) -> Any:
        """Return the ID of each row as a series; None if `row_ids` was not given."""
        return None if self._row_ids is None else self._survey.named[self._row_ids]

    def places(self, rows: np.ndarray) -> np.ndarray:
        """Return the places of rows in the files, counted from 0 across all files.

        They differ from the row numbers only if there are rows without a target.

        Parameters
        ----------
        rows : ndarray of int
            The row numbers.

        Returns
        -------
        ndarray of int
        """
        return self._survey.present.places(rows)

    def fingerprint(self) -> str:
        """Return a text that identifies the files, their sizes and times, and the columns."""
        about = (self.target, self.columns, self._groups, self._row_ids, self.as_frame)
        return f"{self.files.fingerprint()} {about}"

    def __repr__(self) -> str:
        paths = self.files.paths
        some = ", ".join(paths[:_SHOWN]) + (", ..." if len(paths) > _SHOWN else "")
        files = "1 file" if len(paths) == 1 else f"{len(paths):,} files"
        rows, features = f"{sum(self.row_counts):,} rows", f"{self.n_features:,} features"
        return f"{type(self).__name__} of {rows}, {features} and the target {self.target!r}, in {files}: {some}"

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what another pass over the files finds out again."""
        return {
            name: value for name, value in vars(self).items() if name not in ("_survey", "_final_types", "_text_width")
        }

    # ------------------------------------------------------------------------------------------------------------- rows

    def take(self, rows: Any) -> Any:
        """Return the rows with these numbers as a matrix or a data frame, in one pass over their row groups.

        Parameters
        ----------
        rows : sequence of int
            The row numbers. Increasing numbers avoid a second copy.

        Returns
        -------
        ndarray or DataFrame
            The index of a data frame has the row numbers.
        """
        rows = as_positions(rows, "rows", f"{_OWNER}.take", f"numbers from 0 to {self.n_samples - 1:,}")
        check_row_numbers(rows, self.n_samples, "rows", f"{_OWNER}.take")
        if (np.diff(rows) <= 0).any():
            distinct, places = np.unique(rows, return_inverse=True)
            found = self.take(distinct)
            return found.iloc[places] if self.as_frame else found[places]
        filling, places = self._filling(rows), self._survey.present.places(rows)
        for _, start, batch in self._batches(self.columns, wanted=places):
            low, high = np.searchsorted(places, (start, start + batch.num_rows))
            if high > low:
                filling.put(batch, places[low:high] - start, int(low))
        return filling.table()

    def read(self, part: int, n_rows: int) -> Iterator[Any]:
        """Yield the rows of a file in order, as tables of `n_rows` rows; the last may have fewer.

        Parameters
        ----------
        part : int
            The number of the file.
        n_rows : int
            The number of rows of a table.

        Yields
        ------
        ndarray or DataFrame
        """
        return self._in_order(range(part, part + 1), n_rows)

    def blocks(self, n_rows: int) -> Iterator[Any]:
        """Yield all rows in order, as tables of `n_rows` rows, in one pass; the last may have fewer.

        Parameters
        ----------
        n_rows : int
            The number of rows of a table.

        Yields
        ------
        ndarray or DataFrame
        """
        return self._in_order(range(len(self.row_counts)), n_rows)

    def to_memory(self) -> tuple[Any, np.ndarray]:
        """Return all rows and targets as `fit` uses them.

        Returns
        -------
        X : ndarray or DataFrame
        y : ndarray
        """
        every = list(self.blocks(max(1, self.n_samples)))
        return every[0] if every else self._filling(range(0)).table(), self.targets()

    def _in_order(self, parts: range, n_rows: int) -> Iterator[Any]:
        survey = self._survey
        first, stop = (sum(survey.known[:end]) for end in (parts.start, parts.stop))
        filling, size, place = None, 0, 0
        for _, start, batch in self._batches(self.columns, parts):
            local = survey.present.inside(start, batch.num_rows)
            while len(local):
                if filling is None:
                    size, place = min(n_rows, stop - first), 0
                    filling = self._filling(range(first, first + size))
                filling.put(batch, local[: size - place], place)
                local, place = local[size - place :], min(size, place + len(local))
                if place == size:
                    yield filling.table()
                    filling, first = None, first + size

    def _filling(self, rows: Any) -> Filling:
        kinds = self._final_types
        return Frame(kinds, rows) if self.as_frame else Matrix(kinds, matrix_type(kinds), len(rows))

    # ---------------------------------------------------------------------------------------------------------- reading

    @cached_property
    def _survey(self) -> Survey:
        named = tuple(name for name in (self._groups, self._row_ids) if name is not None)
        categories = tuple(kind.name for kind in self._kinds if kind.form == "category")
        columns = list(dict.fromkeys([self.target, *named, *categories, *self._uncounted]))
        batches = self._batches(columns)
        return Survey(batches, self.files.paths, self.target, named, categories, self._uncounted)

    @cached_property
    def _final_types(self) -> list[ColumnType]:
        """The types of the columns, with categories and missing values as found by the survey."""
        survey, found = self._survey, list[ColumnType]()
        for kind in self._kinds:
            if kind.form == "category":
                kind = kind.with_categories(survey.dictionaries[kind.name])
            found.append(kind.with_nulls() if survey.has_nulls.get(kind.name) else kind)
        return found

    @cached_property
    def _text_width(self) -> float:
        """About how many bytes of text a row has: estimated from some rows, but at least what the metadata implies."""
        texts = [kind.name for kind in self._kinds if kind.form == "other" and kind.name not in self._folders.values]
        n_rows = sum(self.row_counts)
        if not texts or not n_rows:
            return 0.0
        self.files.check()
        there = [number for number, count in enumerate(self.row_counts) if count]
        some = there[:: max(1, len(there) // _SAMPLED_FILES)]
        found = [Footer.sampled_bytes(self.files, number, texts) for number in some]
        sampled = sum(total for total, _ in found) / max(1, sum(rows for _, rows in found))
        return max(sampled, self._text_bytes / n_rows)

    def _batches(
        self, columns: list[str], parts: range | None = None, wanted: np.ndarray | None = None
    ) -> Iterator[tuple[int, int, Any]]:
        """Yield batches in order, each with the number of its file and the place of its first row.

        Row groups without a wanted place are not read.
        """
        self.files.check()
        parts = range(len(self.row_counts)) if parts is None else parts
        place = sum(self.row_counts[: parts.start])
        for number in parts:
            count = self.row_counts[number]
            if wanted is None or np.diff(np.searchsorted(wanted, (place, place + count)))[0]:
                yield from self._of_file(number, place, columns, wanted)
            place += count
        self.files.check()  # a file may have changed while it was read

    def _of_file(
        self, number: int, place: int, columns: list[str], wanted: np.ndarray | None
    ) -> Iterator[tuple[int, int, Any]]:
        with Footer.open(self.files, number) as file:
            if file.metadata.num_rows != self.row_counts[number]:
                found = f"it had {self.row_counts[number]:,} rows and has {file.metadata.num_rows:,}"
                raise file_changed_error(self.files.paths[number], found)
            sizes = [file.metadata.row_group(group).num_rows for group in range(file.metadata.num_row_groups)]
            starts = place + np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])
            needed = np.ones(len(sizes), bool) if wanted is None else np.diff(np.searchsorted(wanted, starts)) > 0
            # A few groups at a time, because pyarrow holds pages of all groups that it is asked for.
            step = max(1, int(self._batch_rows // max(1, file.metadata.num_rows / max(1, len(sizes)))))
            inside = [name for name in columns if name not in self._folders.values]
            for (asked, _), run in groupby(range(len(sizes)), key=lambda group: (bool(needed[group]), group // step)):
                groups = list(run)
                if not asked:
                    continue
                place = int(starts[groups[0]])
                for batch in Footer.batches(file, self.files.paths[number], self._batch_rows, groups, inside):
                    yield number, place, self._folders.complete(batch, columns, number)
                    place += batch.num_rows

    @property
    def _batch_rows(self) -> int:
        """The number of rows that are decoded together."""
        return int(min(_BATCH_ROWS, max(1024, self.max_memory // (_BATCH_SHARE * self._row_width))))

    @property
    def _row_width(self) -> int:
        """About how many bytes a row of a batch takes."""
        return sum(kind.bytes_per_row for kind in self._kinds) + 8


def _columns(given: Any, there: list[str], special: set[str], target: str) -> list[str]:
    """The features: those that were given, or all columns without another role."""
    if given is None:
        names = [name for name in there if name not in special]
    else:
        expected = "a list of names of columns"
        listed = as_array(given, "columns", _OWNER, expected)
        if listed.ndim != 1 or not all(isinstance(name, str) for name in listed):
            raise refuse_type("columns", _OWNER, expected, given)
        names = [str(name) for name in listed]
    if target in names:
        raise refuse_value("columns", _OWNER, "without the target", target, "the learner would see the answer.")
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise refuse_value("columns", _OWNER, "different names", twice, "it is given twice.")
    if not names:
        reason = "there would be nothing to learn from."
        raise refuse_value("columns", _OWNER, "one column or more", given, reason)
    return names
