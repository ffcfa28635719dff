"""`ParquetTable`: the rows of Parquet files, by number, of which only those that are needed are held in memory."""

from collections.abc import Iterator
from functools import cached_property
from itertools import groupby
from typing import Any

import numpy as np

from stablebag._checks import as_array, as_positions, refuse_type, refuse_value
from stablebag.learning.sources.files import Files, changed
from stablebag.learning.sources.filling import Filling, Frame, Matrix
from stablebag.learning.sources.footers import Footer, check_orders
from stablebag.learning.sources.kinds import Kind, check_columns, kinds_of, matrix_type
from stablebag.learning.sources.partitions import Partitions
from stablebag.learning.sources.source import RowSource, as_bytes
from stablebag.learning.sources.survey import Survey

_OWNER = "ParquetTable"
_BATCH_ROWS = 2**17  # at most, of rows that are decoded together
_BATCH_SHARE = 16  # of the memory, at most one in so many bytes is a batch
_PAGES = 2**22  # bytes of a column that are held while it is read
_SAMPLED_FILES = 8  # of which texts are looked at, to know how long they are
_SHOWN = 3  # files and columns in the representation


class ParquetTable(RowSource):
    """The rows of Parquet files, which need not fit into memory: `fit(table)` takes it in place of X and y.

    Rows are numbered by the sorted paths of the files, and in a file by its own order. Rows whose target is missing
    are left out before anything is numbered. A fit draws the bags, and then reads the files once for each portion of
    the bags: as many as have room for their distinct rows in `max_memory`. The models are, to the last bit, those of a
    fit to `to_memory()`, whatever the portions, the files and their row groups are.

    The type of a column does not depend on which rows are taken: whole numbers and truth values are float64 if any is
    missing in any file, and categories are those of all files, sorted unless they have an order of their own. Folders
    that are called ``column=value``, anywhere on the way to a file, are columns: of whole numbers (int32) if all of
    their values are, or else of texts.

    The table holds no open file and no credentials, and is pickled in a few kilobytes. Whenever it reads, it checks
    that the files have the size, the time and the number of rows that they had; one that has changed is refused.

    Parameters
    ----------
    source : str, path, list of these, or pyarrow Dataset
        A file, a folder, a pattern such as ``"data/*.parquet"``, a URL that `pyarrow.fs` understands, or several of
        these. A dataset stands for its files. Credentials are those of the surroundings: a URL that has some is
        refused.
    target : str
        The column of the targets.
    columns : list of str or None, default=None
        The features, in this order. None is all columns that are not named otherwise, in the order of the first file.
    groups : str or None, default=None
        The column that names the unit of each row, such as its patient, as the parameter of `fit`.
    row_ids : str or None, default=None
        The column that names each row, as the parameter of `fit`.
    as_frame : bool, default=True
        Whether rows reach the learner as a pandas data frame, with the names of the columns. False makes a matrix of
        columns that are all numbers, which is faster: of float32 if that holds them exactly, or else of float64.
    max_memory : int or str, default="1GB"
        The memory for the rows of a portion, with their numbers and targets: bytes, or a text such as "500MB". What a
        learner needs beside its rows comes on top, and so does what the model keeps: its bags and the targets of all
        rows, 8 bytes each. It has no influence on the models.

    Attributes
    ----------
    n_samples : int
        The number of rows with a target.
    n_missing_targets_ : int
        The number of rows without one, which are left out.

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
            raise ImportError("Parquet files need pyarrow: pip install 'stablebag[parquet]'.") from error
        self.max_memory = as_bytes(max_memory, "max_memory", _OWNER)
        if not isinstance(as_frame, bool):
            raise refuse_type("as_frame", _OWNER, "True or False", as_frame)
        self.as_frame, self.files = as_frame, Files.of(source)
        paths = self.files.paths
        footers = [Footer.of(self.files, number) for number in range(len(paths))]
        self._folders = Partitions(paths)
        schemas = [self._folders.added(footer.schema) for footer in footers]
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
        self._kinds = kinds_of(self.columns, schemas, nulls, paths)
        check_orders(self._kinds, footers, paths)
        kinds_of(sorted(special), schemas, [dict.fromkeys(special, 0)], paths)  # of one type in all files
        self._uncounted = tuple(name for name in self.columns if any(counts[name] is None for counts in nulls))
        self._group_bytes = max(footer.largest_group(self.columns) for footer in footers)
        self._text_bytes = sum(footer.text_bytes(self._kinds) for footer in footers)
        if not as_frame:
            matrix_type(self._kinds)

    # --------------------------------------------------------------------------------------------- what is known of it

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
        return len(self._survey.missing)

    @property
    def part_sizes(self) -> tuple[int, ...]:
        """The number of rows with a target in each file."""
        return self._survey.known

    @property
    def bytes_per_row(self) -> float:
        """About how many bytes a row takes in memory, without its target."""
        kinds = self._pinned
        if not self.as_frame:
            return len(kinds) * matrix_type(kinds).itemsize
        return sum(kind.bytes_per_row for kind in kinds) + self._text_width + 8  # and the index

    @property
    def bytes_to_read(self) -> float:
        """About how many bytes reading takes: pages of all columns, packed and unpacked, and a batch of rows."""
        pages = min(_PAGES * len(self.columns), 4 * self._group_bytes)
        return pages + self._batch_rows * self._row_width

    def targets(self) -> np.ndarray:
        """Return the targets of all rows that have one, in order."""
        return self._survey.targets

    def groups(self) -> Any:
        """Return the unit of each row, as a series; None if there is no such column."""
        return None if self._groups is None else self._survey.named[self._groups]

    def row_ids(self) -> Any:
        """Return the name of each row, as a series; None if there is no such column."""
        return None if self._row_ids is None else self._survey.named[self._row_ids]

    def places(self, rows: np.ndarray) -> np.ndarray:
        """Return the places in the files, end to end and counted from 0, of rows by their numbers.

        They are the numbers, unless there are rows without a target.

        Parameters
        ----------
        rows : ndarray of int
            The numbers.

        Returns
        -------
        ndarray of int
        """
        return self._survey.places(rows)

    def fingerprint(self) -> str:
        """Return a text that identifies the files, their sizes and times, and what is taken of them."""
        about = (self.target, self.columns, self._groups, self._row_ids, self.as_frame)
        return f"{self.files.fingerprint()} {about}"

    def __repr__(self) -> str:
        paths = self.files.paths
        some = ", ".join(paths[:_SHOWN]) + (", ..." if len(paths) > _SHOWN else "")
        files = "1 file" if len(paths) == 1 else f"{len(paths):,} files"
        rows, features = f"{sum(self.row_counts):,} rows", f"{self.n_features:,} features"
        return f"{type(self).__name__} of {rows}, {features} and the target {self.target!r}, in {files}: {some}"

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what a pass over the files tells again."""
        return {name: value for name, value in vars(self).items() if name not in ("_survey", "_pinned", "_text_width")}

    # ------------------------------------------------------------------------------------------------------------- rows

    def take(self, rows: Any) -> Any:
        """Return the rows with these numbers as a matrix or a frame, in one pass over the row groups that have some.

        Parameters
        ----------
        rows : sequence of int
            The numbers. If they increase, nothing is held twice.

        Returns
        -------
        ndarray or DataFrame
            The index of a frame is the numbers of the rows.
        """
        rows = as_positions(rows, "rows", f"{_OWNER}.take", f"numbers from 0 to {self.n_samples - 1:,}")
        if len(rows) and not (rows.min() >= 0 and rows.max() < self.n_samples):
            wrong = int(rows[(rows < 0) | (rows >= self.n_samples)][0])
            raise refuse_value("rows", f"{_OWNER}.take", f"numbers from 0 to {self.n_samples - 1:,}", wrong)
        if (np.diff(rows) <= 0).any():
            distinct, places = np.unique(rows, return_inverse=True)
            found = self.take(distinct)
            return found.iloc[places] if self.as_frame else found[places]
        filling, places = self._filling(rows), self._survey.places(rows)
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
        """Return all rows and targets, as a fit sees them.

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
            local = survey.known_of(start, batch.num_rows)
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
        kinds = self._pinned
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
    def _pinned(self) -> list[Kind]:
        """The columns, with all that the survey tells of them."""
        survey, pinned = self._survey, list[Kind]()
        for kind in self._kinds:
            if kind.form == "category":
                kind = kind.with_categories(survey.dictionaries[kind.name])
            pinned.append(kind.with_nulls() if survey.has_nulls.get(kind.name) else kind)
        return pinned

    @cached_property
    def _text_width(self) -> float:
        """About how many bytes of text a row has: as some rows have, but no less than the footers tell of all."""
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

        Row groups in which no place is wanted are not read.
        """
        self.files.check()
        parts = range(len(self.row_counts)) if parts is None else parts
        place = sum(self.row_counts[: parts.start])
        for number in parts:
            count = self.row_counts[number]
            if wanted is None or np.diff(np.searchsorted(wanted, (place, place + count)))[0]:
                yield from self._of_file(number, place, columns, wanted)
            place += count
        self.files.check()  # nor has one changed while it was read

    def _of_file(
        self, number: int, place: int, columns: list[str], wanted: np.ndarray | None
    ) -> Iterator[tuple[int, int, Any]]:
        with Footer.opened(self.files, number) as file:
            if file.metadata.num_rows != self.row_counts[number]:
                found = f"it had {self.row_counts[number]:,} rows and has {file.metadata.num_rows:,}"
                raise changed(self.files.paths[number], found)
            sizes = [file.metadata.row_group(group).num_rows for group in range(file.metadata.num_row_groups)]
            starts = place + np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])
            needed = np.ones(len(sizes), bool) if wanted is None else np.diff(np.searchsorted(wanted, starts)) > 0
            # A few groups at a time, because pyarrow holds pages of all that it is asked for.
            step = max(1, int(self._batch_rows // max(1, file.metadata.num_rows / max(1, len(sizes)))))
            inside = [name for name in columns if name not in self._folders.values]
            for (asked, _), run in groupby(range(len(sizes)), key=lambda group: (bool(needed[group]), group // step)):
                groups = list(run)
                if not asked:
                    continue
                place = int(starts[groups[0]])
                for batch in Footer.batches(file, self.files.paths[number], self._batch_rows, groups, inside):
                    yield number, place, self._folders.completed(batch, columns, number)
                    place += batch.num_rows

    @property
    def _batch_rows(self) -> int:
        """How many rows are decoded together."""
        return int(min(_BATCH_ROWS, max(1024, self.max_memory // (_BATCH_SHARE * self._row_width))))

    @property
    def _row_width(self) -> int:
        """About how many bytes a row of a batch takes."""
        return sum(kind.bytes_per_row for kind in self._kinds) + 8


def _columns(given: Any, there: list[str], special: set[str], target: str) -> list[str]:
    """The features, as they were asked for or all that are there."""
    if given is None:
        names = [name for name in there if name not in special]
    else:
        expected = "a list of names of columns"
        listed = as_array(given, "columns", _OWNER, expected)
        if listed.ndim != 1 or not all(isinstance(name, str) for name in listed):
            raise refuse_type("columns", _OWNER, expected, given)
        names = [str(name) for name in listed]
    if target in names:
        raise refuse_value("columns", _OWNER, "without the target", target, "a learner would be told the answer.")
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise refuse_value("columns", _OWNER, "each column once", twice, "it is named twice.")
    if not names:
        raise refuse_value("columns", _OWNER, "one column or more", given, "there is nothing to learn from.")
    return names
