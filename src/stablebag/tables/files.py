"""Files of a table: which they are, what they say of themselves, and how their columns are held."""

import glob
import hashlib
import os
from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

import numpy as np

from stablebag._checks import refuse_type, refuse_value

# ---------------------------------------------------------------------------------------------------------------- files
# Which files a table is made of, and that they are still the files that they were.

_OWNER = "ParquetTable"
_PLAIN_OPTIONS = {"region", "scheme", "endpoint_override", "allow_bucket_creation", "retry_limit_seconds"}
_EXPECTED = (
    "a path, a pattern such as 'data/*.parquet', a folder, a URL, a list of these, or a pyarrow Dataset of files"
)


@dataclass(frozen=True)
class Files:
    """Files in the order of their paths, with the size and the time that each had when it was first looked at.

    Nothing that opens them is pickled, nor any credentials: a URL is opened again with those of the surroundings.

    Parameters
    ----------
    paths : tuple of str
        The paths, in order.
    stamps : tuple of (int, int)
        The size of each file in bytes, and when it was last changed, in nanoseconds.
    url : str or None
        How the files are reached, without a path: None for those of this machine, "" if only the one who made the
        dataset knows.
    filesystem : pyarrow.fs.FileSystem or None, default=None
        What opens them.
    """

    paths: tuple[str, ...]
    stamps: tuple[tuple[int, int], ...]
    url: str | None
    filesystem: Any = field(default=None, repr=False, compare=False)

    @classmethod
    def of(cls, source: Any) -> "Files":
        """Return the files that the first parameter of a table names."""
        filesystem, paths, url = _find_files(source)
        if not paths:
            reason = "no file is there. Look at the path, and at the pattern's *."
            raise refuse_value("source", _OWNER, "files that exist", _without_credentials(source), reason)
        twice = sorted(path for path in set(paths) if paths.count(path) > 1)
        if twice:
            raise refuse_value("source", _OWNER, "each file once", twice[0], "its rows would be counted twice.")
        in_order = tuple(sorted(paths))
        return cls(in_order, _stamps(filesystem, in_order), url, filesystem)

    def __getstate__(self) -> dict[str, Any]:
        return {"paths": self.paths, "stamps": self.stamps, "url": self.url, "filesystem": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)

    def open(self, number: int) -> Any:
        """Return one of the files, open."""
        return self.get_filesystem().open_input_file(self.paths[number])

    def check(self) -> None:
        """Refuse a file that is gone, or that has another size or time than it had."""
        now = _stamps(self.get_filesystem(), self.paths)
        for path, before, after in zip(self.paths, self.stamps, now, strict=True):
            if before != after:
                what = f"it had {before[0]:,} bytes and has {after[0]:,}" if before[0] != after[0] else "its time did"
                raise file_changed_error(path, what)

    def fingerprint(self) -> str:
        """Return a hash that identifies the files."""
        return hashlib.blake2b(repr((self.paths, self.stamps)).encode(), digest_size=16).hexdigest()

    def get_filesystem(self) -> Any:
        """Return the filesystem, made anew after a journey."""
        if self.filesystem is None:
            from pyarrow import fs

            if self.url == "":
                raise ValueError(
                    "This ParquetTable was made of a dataset with a filesystem of its own, which is not pickled, "
                    "because it may hold credentials. Make the table again, from a URL or from the dataset."
                )
            made = fs.LocalFileSystem() if self.url is None else fs.FileSystem.from_uri(self.url)[0]
            object.__setattr__(self, "filesystem", made)
        return self.filesystem


def file_changed_error(path: str, what: str) -> ValueError:
    """Build the error for a file that is no longer what it was."""
    return ValueError(
        f"The file {path} has changed since the table was made: {what}. Its rows may have other numbers now. "
        "Make the ParquetTable again, and fit to that."
    )


def _find_files(source: Any) -> tuple[Any, list[str], str | None]:
    """The filesystem, the paths, and the URL by which it is reached again."""
    from pyarrow import dataset, fs

    if isinstance(source, dataset.Dataset):
        return _of_dataset(source)
    if isinstance(source, str | os.PathLike):
        text = os.fspath(source)
        if isinstance(text, str) and "://" in text:
            return _of_url(text)
        if not isinstance(text, str):
            raise refuse_type("source", _OWNER, _EXPECTED, source)
        found = local_files(text)
        if not found and not os.path.isdir(text) and not glob.has_magic(text):
            raise refuse_value("source", _OWNER, "files that exist", text, "no file is there. Look at the path.")
        return fs.LocalFileSystem(), found, None
    if not isinstance(source, list | tuple | Set | Iterator):
        raise refuse_type("source", _OWNER, _EXPECTED, source)
    parts = [_find_files(part) for part in source]
    if len({part[2] for part in parts}) > 1:
        raise refuse_value("source", _OWNER, "files of one place", "several", "copy them to one machine or bucket.")
    filesystem, _, url = parts[0] if parts else (fs.LocalFileSystem(), [], None)
    return filesystem, [path for part in parts for path in part[1]], url


def local_files(path: str) -> list[str]:
    """Return the files that a path, a pattern, or a folder names; of a folder, the Parquet files below it."""
    path = os.path.expanduser(path)
    if os.path.isdir(path):
        found = _parquet(glob.glob(f"{glob.escape(path)}/**/*", recursive=True), path)
    else:
        found = [path] if os.path.exists(path) else glob.glob(path, recursive=True)
    return [os.path.abspath(one) for one in found if os.path.isfile(one)]


def _parquet(paths: Iterable[str], folder: str) -> list[str]:
    """The Parquet files in a folder; names that begin with a dot or an underscore are what engines leave behind."""
    inside = [(path, path[len(folder) :].strip("/").split("/")) for path in paths if is_named_parquet(path)]
    return [path for path, names in inside if not any(name.startswith((".", "_")) for name in names)]


def is_named_parquet(path: str | os.PathLike[str]) -> bool:
    """Return whether a file is called as Parquet files are."""
    return os.fspath(path).lower().endswith((".parquet", ".pq"))


def _of_url(url: str) -> tuple[Any, list[str], str | None]:
    from pyarrow import fs

    parts = urlsplit(url)
    options = parse_qsl(parts.query, keep_blank_values=True)
    secret = [name for name, value in options if name not in _PLAIN_OPTIONS or "@" in value]
    # A password with a slash ends the place too early: what is behind the colon is then no port.
    user = "@" in parts.netloc or (not parts.netloc.rpartition(":")[2].isdigit() and ":" in parts.netloc)
    if user or secret:
        what = "a user or a password" if user else f"the option {secret[0]!r}"
        reason = f"it has {what}. Credentials come from the environment, or with a pyarrow Dataset; none are kept."
        raise refuse_value("source", _OWNER, "a URL without credentials", _without_credentials(url), reason)
    query = f"?{parts.query}" if parts.query else ""
    place = f"{parts.scheme}://{parts.netloc}"
    magic = glob.has_magic(parts.path)
    folder = parts.path.split("*")[0].rsplit("/", 1)[0] if magic else parts.path
    try:
        filesystem, path = fs.FileSystem.from_uri(f"{place}{folder}{query}")
        here = filesystem.get_file_info(path)
        if here.type == fs.FileType.File:
            return filesystem, [path], f"{place}/{query}"
        inside = filesystem.get_file_info(fs.FileSelector(path, recursive=True, allow_not_found=True))
    except (OSError, ValueError, TypeError, NotImplementedError) as error:
        reason = f"it could not be looked at ({type(error).__name__}). Is it a URL that pyarrow.fs understands?"
        raise refuse_value("source", _OWNER, _EXPECTED, _without_credentials(url), reason) from error
    found = [info.path for info in inside if info.type == fs.FileType.File and not info.base_name.startswith(".")]
    if not magic:
        return filesystem, _parquet(found, path), f"{place}/{query}"
    pattern = path + parts.path[len(folder) :]
    return filesystem, [one for one in found if _matches(one, pattern)], f"{place}/{query}"


def _matches(path: str, pattern: str) -> bool:
    """Whether a path is that of a pattern, in which * stands for part of a name and ** for any folders."""
    from pathlib import PurePosixPath

    names, wanted = PurePosixPath(path).parts, PurePosixPath(pattern).parts
    if "**" not in wanted:
        return len(names) == len(wanted) and PurePosixPath(path).match(pattern)
    place = wanted.index("**")
    return any(
        _matches(path, str(PurePosixPath(*wanted[:place], *["*"] * count, *wanted[place + 1 :])))
        for count in range(len(names) - len(wanted) + 2)
    )


def _of_dataset(source: Any) -> tuple[Any, list[str], str | None]:
    from pyarrow import dataset, fs

    if not isinstance(source, dataset.FileSystemDataset) or not isinstance(source.format, dataset.ParquetFileFormat):
        raise refuse_type("source", _OWNER, "a pyarrow Dataset of Parquet files", source, "write it as Parquet first.")
    if getattr(source, "_scan_options", None):
        reason = "rows are numbered in the files. Write the rows that pass as files of their own."
        raise refuse_value("source", _OWNER, "a dataset without a filter", source, reason)
    folders = source.partitioning
    if folders is not None and not isinstance(folders, dataset.HivePartitioning) and folders.schema.names:
        reason = f"the column {folders.schema.names[0]!r} is neither in the files nor in the names of folders."
        raise refuse_value("source", _OWNER, "a dataset whose folders are called column=value", source, reason)
    local = isinstance(source.filesystem, fs.LocalFileSystem)
    paths = [os.path.abspath(path) for path in source.files] if local else list(source.files)
    return source.filesystem, paths, None if local else ""


def _stamps(filesystem: Any, paths: tuple[str, ...]) -> tuple[tuple[int, int], ...]:
    from pyarrow import fs

    infos = filesystem.get_file_info(list(paths))
    gone = [info.path for info in infos if info.type != fs.FileType.File]
    if gone:
        more = f" (and {len(gone) - 1:,} more)" if len(gone) > 1 else ""
        raise FileNotFoundError(
            f"The file {gone[0]}{more} is gone. Make the ParquetTable again, without it or with it."
        )
    return tuple((int(info.size or 0), int(info.mtime_ns or 0)) for info in infos)


def _without_credentials(source: Any) -> Any:
    """What was given, without what might be a secret."""
    if not isinstance(source, str) or "://" not in source:
        return source
    parts = urlsplit(source)
    return f"{parts.scheme}://{parts.netloc.rsplit('@', 1)[-1]}{parts.path}"


# ----------------------------------------------------------------------------------------------------------- partitions
# Folders called `column=value`, as Hive, Spark and pyarrow write them: columns that are in no file.

_PARTITIONS_OWNER = "ParquetTable"
_MISSING = "__HIVE_DEFAULT_PARTITION__"
_WIDEST = 2**31  # whole numbers from here on are texts, as they are for pyarrow


class Partitions:
    """What the names of the folders on the way to each file say of its rows.

    A column has whole numbers if all files have some, and texts otherwise, as with pyarrow's partitioning "hive".

    Parameters
    ----------
    paths : tuple of str
        The files.

    Examples
    --------
    >>> folders = Partitions(("data/year=2023/town=Ulm/0.parquet", "data/year=2024/town=Bad%20Ems/0.parquet"))
    >>> folders.values
    {'year': [2023, 2024], 'town': ['Ulm', 'Bad Ems']}
    """

    def __init__(self, paths: tuple[str, ...]) -> None:
        self.paths = paths
        found = [_folder_values(path) for path in paths]
        self.partial = {name for names in found for name, _ in names if any(name not in dict(other) for other in found)}
        self.twice = {name for names in found for name, _ in names if [key for key, _ in names].count(name) > 1}
        names = [name for name, _ in found[0]] if found else []
        whole = [name for name in dict.fromkeys(names) if name not in self.partial]
        self.values = {name: _as_numbers([dict(names)[name] for names in found]) for name in whole}

    def fields(self) -> list[Any]:
        """Return the columns, as fields of Arrow."""
        import pyarrow as pa

        numbers = {name: any(isinstance(value, int) for value in values) for name, values in self.values.items()}
        return [pa.field(name, pa.int32() if number else pa.string()) for name, number in numbers.items()]

    def extend_schema(self, schema: Any) -> Any:
        """Return the schema of a file with these columns, unless it has a column of the name."""
        for column in self.fields():
            schema = schema if column.name in schema.names else schema.append(column)
        return schema

    def check(self, columns: Iterable[str], schemas: list[Any]) -> None:
        """Refuse columns of which it is not clear what they are: `schemas` are those of the files themselves."""
        for name in columns:
            if problem := self.problem(name, schemas):
                reason = f"{problem} Leave it out of columns, or rename one of them."
                raise refuse_value(
                    "columns", _PARTITIONS_OWNER, "columns that are in all files or in all folders", name, reason
                )

    def problem(self, column: str, schemas: list[Any]) -> str | None:
        """Say why it is not clear what a column is, if it is not."""
        if column in self.twice:
            return "two folders on the way to a file are called so."
        inside = [path for path, schema in zip(self.paths, schemas, strict=True) if column in schema.names]
        if column in self.values and inside:
            return f"it is in {inside[0]}, and in the name of a folder, too."
        if column in self.partial and len(inside) < len(self.paths):
            return "some files are in folders that are called so, and others are not."
        return None

    def nulls(self, number: int, n_rows: int) -> dict[str, int | None]:
        """Return how many values of each column are missing in one of the files."""
        return {name: n_rows if values[number] is None else 0 for name, values in self.values.items()}

    def add_to(self, table: Any, number: int) -> Any:
        """Return a table that is one of the files with these columns beside its own."""
        import pyarrow as pa

        for column in self.fields():
            value = pa.scalar(self.values[column.name][number], column.type)
            table = table.append_column(column, pa.repeat(value, table.num_rows))
        return table

    def complete(self, batch: Any, columns: list[str], number: int) -> Any:
        """Return a batch of one of the files with these columns, in this order, be they in the file or not."""
        import pyarrow as pa

        if batch.schema.names == columns:
            return batch
        types = {column.name: column.type for column in self.fields()}
        arrays = [
            batch.column(name)
            if name in batch.schema.names
            else pa.repeat(pa.scalar(self.values[name][number], types[name]), batch.num_rows)
            for name in columns
        ]
        return pa.RecordBatch.from_arrays(arrays, names=columns)


def _folder_values(path: str) -> list[tuple[str, str]]:
    """The names and values of the folders of a path."""
    pairs = [folder.partition("=") for folder in path.replace(os.sep, "/").split("/")[:-1]]
    return [(unquote(name), unquote(value)) for name, equals, value in pairs if name and equals]


def _as_numbers(texts: list[str]) -> list[Any]:
    """Values as whole numbers, if all that are there are some that pyarrow takes for such, or else as they are."""
    there = [text for text in texts if text != _MISSING]
    digits = all(text.removeprefix("-").isascii() and text.removeprefix("-").isdigit() for text in there)
    numbers = bool(there) and digits and all(-_WIDEST <= int(text) < _WIDEST for text in there)
    return [None if text == _MISSING else int(text) if numbers else text for text in texts]


# ---------------------------------------------------------------------------------------------------------------- kinds
# How the columns of Parquet files are held in memory: one type per column, whatever rows of it are taken.
#
# Left to itself, a reader makes another type of a column when the rows at hand have no missing value, or lack a
# category. Here the type follows from all files: from their schemas, from the counts of missing values in their
# footers, and from the union of their dictionaries.

_KINDS_OWNER = "ParquetTable"
_TEXT = 24  # bytes of a text in memory, where nothing else is known


@dataclass(frozen=True)
class ColumnType:
    """How one column is held in memory.

    Parameters
    ----------
    name : str
        The column.
    form : {"number", "category", "other"}
        Numbers are an array of numpy, categories are codes, and all else becomes what pandas makes of it.
    dtype : str, default="float64"
        The type of numbers.
    arrow : pyarrow.DataType or None, default=None
        The type in the files, for columns that are neither numbers nor categories.
    categories : pyarrow.Array or None, default=None
        The categories, once they are known.
    ordered : bool, default=False
        Whether categories have an order.
    """

    name: str
    form: str
    dtype: str = "float64"
    arrow: Any = None
    categories: Any = None
    ordered: bool = False

    @property
    def bytes_per_row(self) -> int:
        """About how many bytes a value takes in memory."""
        if self.form == "category":
            return 4
        return np.dtype(self.dtype).itemsize if self.form == "number" else _TEXT

    def with_nulls(self) -> "ColumnType":
        """Return the kind of the same column if values are missing."""
        return replace(self, dtype="float64") if np.dtype(self.dtype).kind in "biu" else self

    def with_categories(self, dictionaries: list[tuple[str, Any]]) -> "ColumnType":
        """Return the kind with the categories of all files, from their dictionaries, which are Arrow arrays."""
        import pyarrow as pa
        import pyarrow.compute as pc

        if not dictionaries:
            return replace(self, categories=pa.array([], self.arrow))
        where, first = dictionaries[0]
        if self.ordered:  # then the order has a meaning, and there is no telling how two would be merged
            for path, other in dictionaries[1:]:
                if not other.equals(first):
                    raise _type_mismatch(self.name, path, "other ordered categories", where, "its own")
            return replace(self, categories=first.cast(self.arrow))
        union = pa.concat_arrays([values.cast(self.arrow) for _, values in dictionaries]).unique().drop_null()
        return replace(self, categories=union.take(pc.array_sort_indices(union)))


def column_types(
    columns: list[str], schemas: list[Any], nulls: list[dict[str, int | None]], paths: tuple[str, ...]
) -> list[ColumnType]:
    """Return how each column is held, from the schema of each file and its counts of missing values."""
    return [
        _column_type(name, _common_type(name, schemas, paths), any(counts[name] for counts in nulls))
        for name in columns
    ]


def check_columns(columns: list[str], schemas: list[Any], paths: tuple[str, ...], what: str) -> None:
    """Refuse columns that are not in all files."""
    for schema, path in zip(schemas, paths, strict=True):
        lost = next((name for name in columns if name not in schema.names), None)
        if lost is not None:
            there = ", ".join(map(repr, schema.names[:8])) + (", ..." if len(schema.names) > 8 else "")
            reason = f"{path} has no such column. It has {there}."
            raise refuse_value(what, _KINDS_OWNER, "columns of all files", lost, reason)


def matrix_type(kinds: list[ColumnType]) -> np.dtype:
    """Return the type of a matrix of these columns: float32 if that holds all of their values exactly, or float64."""
    strange = next((kind.name for kind in kinds if kind.form != "number"), None)
    if strange is not None:
        reason = "it is not a number. Leave it out of columns, or use a frame: as_frame=True."
        raise refuse_value("as_frame", _KINDS_OWNER, f"True with a column such as {strange!r}", False, reason)
    return np.dtype(np.result_type(np.float32, *(np.dtype(kind.dtype) for kind in kinds)))


def needs_count(kind: Any) -> bool:
    """Return whether a type in memory depends on whether values are missing; `kind` is a type of Arrow."""
    import pyarrow.types as pt

    return bool(pt.is_integer(kind) or pt.is_boolean(kind))


def _common_type(name: str, schemas: list[Any], paths: tuple[str, ...]) -> Any:
    """The type of a column in all files; where all values of a file are missing, it may have none."""
    import pyarrow as pa

    found, where = pa.null(), paths[0]
    for schema, path in zip(schemas, paths, strict=True):
        if schema.names.count(name) > 1:
            reason = f"{path} has two columns of this name."
            raise refuse_value("columns", _KINDS_OWNER, "columns with a name of their own", name, reason)
        own = _simplified(schema.field(name).type)
        if pa.types.is_null(found):
            found, where = own, path
        elif not pa.types.is_null(own) and own != found:
            raise _type_mismatch(name, path, f"type {own}", where, f"type {found}")
    return found


def _type_mismatch(name: str, path: str, has: str, other: str, theirs: str) -> ValueError:
    return ValueError(
        f"Column {name!r} has {has} in {path}, and {theirs} in {other}. All files of a table have the same columns of "
        "the same types: write one of them anew, or leave the column out."
    )


def _simplified(kind: Any) -> Any:
    """A type without what does not matter in memory: the size of offsets and of codes."""
    import pyarrow as pa
    import pyarrow.types as pt

    if pt.is_dictionary(kind):
        return pa.dictionary(pa.int32(), _simplified(kind.value_type), kind.ordered)
    view = getattr(pt, "is_string_view", lambda kind: False)
    return pa.large_string() if pt.is_string(kind) or view(kind) else kind


def _column_type(name: str, kind: Any, has_nulls: bool) -> ColumnType:
    import pyarrow.types as pt

    if pt.is_dictionary(kind):
        if not (pt.is_large_string(kind.value_type) or pt.is_integer(kind.value_type)):
            reason = f"its categories are of type {kind.value_type}. Leave it out of columns."
            raise refuse_value(
                "columns", _KINDS_OWNER, "columns of categories that are texts or whole numbers", name, reason
            )
        return ColumnType(name, "category", arrow=kind.value_type, ordered=kind.ordered)
    if pt.is_nested(kind):
        reason = f"its type is {kind}. Leave it out of columns, or write its fields as columns of their own."
        raise refuse_value("columns", _KINDS_OWNER, "columns with one value per row", name, reason)
    if pt.is_integer(kind) or pt.is_boolean(kind):
        return ColumnType(name, "number", "float64" if has_nulls else kind.to_pandas_dtype()().dtype.name)
    if pt.is_floating(kind):
        return ColumnType(name, "number", "float64" if pt.is_float64(kind) else "float32")
    if pt.is_decimal(kind) or pt.is_null(kind):
        return ColumnType(name, "number", "float64")
    return ColumnType(name, "other", arrow=kind)


# -------------------------------------------------------------------------------------------------------------- footers
# The footer of a Parquet file: its columns and their types, the number of rows, and how many values are missing.

_BUFFER = 2**18  # bytes of a column that are read from the file at once
_SAMPLED_GROUPS, _SAMPLED_ROWS = 16, 256  # of which texts are looked at, to know how long they are
_HEADERS = 128  # bytes of the headers of a row group's pages, at most, beside the extremes of its values


@dataclass(frozen=True)
class Footer:
    """What a file says of itself.

    Parameters
    ----------
    schema : pyarrow.Schema
        The columns.
    metadata : pyarrow.parquet.FileMetaData
        The row groups.
    """

    schema: Any
    metadata: Any

    @classmethod
    def of(cls, files: Files, number: int) -> "Footer":
        """Return the footer of one of the files."""
        with cls.open(files, number) as file:
            return cls(file.schema_arrow, file.metadata)

    @staticmethod
    def open(files: Files, number: int) -> Any:
        """Return one of the files as pyarrow's ParquetFile, open."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            # Far away, it is faster to ask for all columns of a row group at once.
            how = {"buffer_size": _BUFFER} if files.url is None else {"pre_buffer": True}
            return pq.ParquetFile(files.open(number), page_checksum_verification=True, **how)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise _unreadable(files.paths[number], "as a Parquet file", error) from error

    @staticmethod
    def batches(file: Any, path: str, n_rows: int, groups: list[int], columns: list[str]) -> Iterator[Any]:
        """Yield batches of some row groups of an open file; if they cannot be read, say so by its path."""
        import pyarrow as pa

        try:
            yield from file.iter_batches(n_rows, row_groups=groups, columns=columns)
        except (pa.ArrowException, OSError) as error:
            raise _unreadable(path, f"in row groups {groups[0]} to {groups[-1]}", error) from error

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return int(self.metadata.num_rows)

    def nulls(self, columns: list[str]) -> dict[str, int | None]:
        """Return how many values are missing where that decides about a type; None if the file does not say."""
        import pyarrow.types as pt

        places = self._places()
        types = {name: self.schema.field(name).type for name in columns if name in self.schema.names}
        nulls: dict[str, int | None] = {name: self.n_rows if pt.is_null(kind) else 0 for name, kind in types.items()}
        return nulls | {name: self._nulls(places[name]) for name, kind in types.items() if needs_count(kind)}

    def lacks_dictionary(self, column: str) -> bool:
        """Return whether some row group has a column's values themselves, in place of a dictionary and codes."""
        import pyarrow.types as pt

        if pt.is_null(self.schema.field(column).type):
            return False
        groups = [self.metadata.row_group(number) for number in range(self.metadata.num_row_groups)]
        place = self._places()[column]
        return any(group.num_rows and not group.column(place).has_dictionary_page for group in groups)

    def text_bytes(self, kinds: list[ColumnType]) -> float:
        """Return how many bytes the values at least take of columns that are neither numbers nor categories.

        Headers are not counted, which are most of a file whose row groups have a row each.
        """
        places = self._places()
        others = [places[kind.name] for kind in kinds if kind.form == "other" and kind.name in places]
        groups = [self.metadata.row_group(number) for number in range(self.metadata.num_row_groups)]
        return float(sum(_least_bytes(group.column(place)) for group in groups for place in others))

    @classmethod
    def sampled_bytes(cls, files: Files, number: int, columns: list[str]) -> tuple[int, int]:
        """Return how many bytes some rows of a file take in these columns, and how many rows these are.

        A dictionary has each text once, so that the footer does not tell.
        """
        with cls.open(files, number) as file:
            groups = [group for group in range(file.num_row_groups) if file.metadata.row_group(group).num_rows]
            step, total, rows = max(1, len(groups) // _SAMPLED_GROUPS), 0, 0
            for group in groups[::step]:
                batch = next(cls.batches(file, files.paths[number], _SAMPLED_ROWS, [group], columns))
                total, rows = total + batch.nbytes, rows + batch.num_rows
        return total, rows

    def largest_group(self, columns: list[str]) -> int:
        """Return how many bytes these columns take, decompressed, in the largest row group."""
        places = [place for name, place in self._places().items() if name in set(columns)]
        groups = [self.metadata.row_group(number) for number in range(self.metadata.num_row_groups)]
        sizes = [sum(group.column(place).total_uncompressed_size for place in places) for group in groups]
        return max(sizes, default=0)

    def _places(self) -> dict[str, int]:
        """The place of each column among those of the row groups."""
        schema = self.metadata.schema
        return {schema.column(place).path: place for place in range(len(schema))}

    def _nulls(self, place: int) -> int | None:
        total = 0
        for number in range(self.metadata.num_row_groups):
            column = self.metadata.row_group(number).column(place)
            statistics = column.statistics if column.is_stats_set else None
            if statistics is None or not statistics.has_null_count:
                if self.metadata.row_group(number).num_rows:
                    return None
            else:
                total += statistics.null_count
        return total


def check_orders(kinds: list[ColumnType], footers: list[Footer], paths: tuple[str, ...]) -> None:
    """Refuse ordered categories without dictionaries: their order would be that of the rows that are read first."""
    for name in (kind.name for kind in kinds if kind.ordered):
        path = next((path for path, footer in zip(paths, footers, strict=True) if footer.lacks_dictionary(name)), None)
        if path is not None:
            raise ValueError(
                f"Column {name!r} has ordered categories, and {path} does not say in which order: it was written "
                "without dictionaries. Write it with them (use_dictionary=True), or leave the column out."
            )


def _least_bytes(column: Any) -> int:
    """How many bytes the values of a column of a row group take in the file, without headers of pages."""
    statistics = column.statistics if column.is_stats_set else None
    extremes = (statistics.min, statistics.max) if statistics is not None and statistics.has_min_max else ()
    headers = _HEADERS + 2 * sum(len(str(value).encode()) for value in extremes)
    return max(0, int(column.total_uncompressed_size) - headers)


def _unreadable(path: str, what: str, error: Exception) -> ValueError:
    told = (str(error).splitlines() or [type(error).__name__])[0].rstrip(". ")
    return ValueError(f"{path} cannot be read {what}: {told}. Leave it out, or write it anew.")
