"""The Parquet files of a table: their paths, columns from folder names, types in memory, and metadata."""

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
# Which files a table consists of, and a check that they have not changed since.

_OWNER = "ParquetTable"
_PLAIN_OPTIONS = {"region", "scheme", "endpoint_override", "allow_bucket_creation", "retry_limit_seconds"}
_EXPECTED = (
    "a path, a pattern such as 'data/*.parquet', a folder, a URL, a list of these, or a pyarrow Dataset of files"
)


@dataclass(frozen=True)
class Files:
    """Files in the order of their paths, with their sizes and times of last change.

    Pickles contain neither open files nor credentials: a URL is opened again with the credentials of the environment.

    Parameters
    ----------
    paths : tuple of str
        The paths, in order.
    stamps : tuple of (int, int)
        The size of each file in bytes, and when it was last changed, in nanoseconds.
    url : str or None
        The URL of the file system, without a path: None for local files, "" for a file system that the user made.
    filesystem : pyarrow.fs.FileSystem or None, default=None
        The file system that opens them.
    """

    paths: tuple[str, ...]
    stamps: tuple[tuple[int, int], ...]
    url: str | None
    filesystem: Any = field(default=None, repr=False, compare=False)

    @classmethod
    def of(cls, source: Any) -> "Files":
        """Find the files that the first parameter of a table names."""
        filesystem, paths, url = _find_files(source)
        if not paths:
            reason = "there is no such file. Check the path, or the pattern."
            raise refuse_value("source", _OWNER, "files that exist", _without_credentials(source), reason)
        twice = sorted(path for path in set(paths) if paths.count(path) > 1)
        if twice:
            raise refuse_value("source", _OWNER, "each file once", twice[0], "its rows would count twice.")
        in_order = tuple(sorted(paths))
        return cls(in_order, _stamps(filesystem, in_order), url, filesystem)

    def __getstate__(self) -> dict[str, Any]:
        return {"paths": self.paths, "stamps": self.stamps, "url": self.url, "filesystem": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)

    def open(self, number: int) -> Any:
        """Open one of the files."""
        return self.get_filesystem().open_input_file(self.paths[number])

    def check(self) -> None:
        """Raise an error if a file is gone, or has another size or time than before."""
        now = _stamps(self.get_filesystem(), self.paths)
        for path, before, after in zip(self.paths, self.stamps, now, strict=True):
            if before != after:
                what = "its time of last change is another one"
                if before[0] != after[0]:
                    what = f"it had {before[0]:,} bytes and has {after[0]:,} now"
                raise file_changed_error(path, what)

    def fingerprint(self) -> str:
        """Return a hash that identifies the files."""
        return hashlib.blake2b(repr((self.paths, self.stamps)).encode(), digest_size=16).hexdigest()

    def get_filesystem(self) -> Any:
        """Return the file system; after unpickling, it is made again."""
        if self.filesystem is None:
            from pyarrow import fs

            if self.url == "":
                raise ValueError(
                    "This ParquetTable was made from a dataset with a user-defined file system, which is not pickled, "
                    "because it may contain credentials. Make the table again from a URL or from the dataset."
                )
            made = fs.LocalFileSystem() if self.url is None else fs.FileSystem.from_uri(self.url)[0]
            object.__setattr__(self, "filesystem", made)
        return self.filesystem


def file_changed_error(path: str, what: str) -> ValueError:
    """Build the error for a file that has changed."""
    return ValueError(
        f"The file {path} has changed since the table was made: {what}. Its rows may have other numbers now. Make the "
        "ParquetTable again, and refit the model."
    )


def _find_files(source: Any) -> tuple[Any, list[str], str | None]:
    """The file system, the paths, and the URL of the file system."""
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
            raise refuse_value("source", _OWNER, "files that exist", text, "there is no such file. Check the path.")
        return fs.LocalFileSystem(), found, None
    if not isinstance(source, list | tuple | Set | Iterator):
        raise refuse_type("source", _OWNER, _EXPECTED, source)
    parts = [_find_files(part) for part in source]
    if len({part[2] for part in parts}) > 1:
        raise refuse_value("source", _OWNER, "files in one place", "several", "copy them to one machine or bucket.")
    filesystem, _, url = parts[0] if parts else (fs.LocalFileSystem(), [], None)
    return filesystem, [path for part in parts for path in part[1]], url


def local_files(path: str) -> list[str]:
    """Return the files that a path or a pattern names, or the Parquet files in a folder and its subfolders."""
    path = os.path.expanduser(path)
    if os.path.isdir(path):
        found = _parquet(glob.glob(f"{glob.escape(path)}/**/*", recursive=True), path)
    else:
        found = [path] if os.path.exists(path) else glob.glob(path, recursive=True)
    return [os.path.abspath(one) for one in found if os.path.isfile(one)]


def _parquet(paths: Iterable[str], folder: str) -> list[str]:
    """The Parquet files in a folder, without names that begin with a dot or an underscore, as engines leave them."""
    inside = [(path, path[len(folder) :].strip("/").split("/")) for path in paths if is_named_parquet(path)]
    return [path for path, names in inside if not any(name.startswith((".", "_")) for name in names)]


def is_named_parquet(path: str | os.PathLike[str]) -> bool:
    """Return whether a file has the ending of Parquet files."""
    return os.fspath(path).lower().endswith((".parquet", ".pq"))


def _of_url(url: str) -> tuple[Any, list[str], str | None]:
    from pyarrow import fs

    parts = urlsplit(url)
    options = parse_qsl(parts.query, keep_blank_values=True)
    secret = [name for name, value in options if name not in _PLAIN_OPTIONS or "@" in value]
    # If a password contains a slash, the network location ends too early, with a colon and no port.
    user = "@" in parts.netloc or (not parts.netloc.rpartition(":")[2].isdigit() and ":" in parts.netloc)
    if user or secret:
        what = "a user or a password" if user else f"the option {secret[0]!r}"
        reason = f"it contains {what}. Put credentials into the environment, or pass a pyarrow Dataset."
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
        reason = f"pyarrow.fs cannot open it ({type(error).__name__}). Check the URL."
        raise refuse_value("source", _OWNER, _EXPECTED, _without_credentials(url), reason) from error
    found = [info.path for info in inside if info.type == fs.FileType.File and not info.base_name.startswith(".")]
    if not magic:
        return filesystem, _parquet(found, path), f"{place}/{query}"
    pattern = path + parts.path[len(folder) :]
    return filesystem, [one for one in found if _matches(one, pattern)], f"{place}/{query}"


def _matches(path: str, pattern: str) -> bool:
    """Whether a path matches a pattern, in which * stands for a part of a name and ** for any folders."""
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
        reason = "rows are numbered by their places in the files. Write the rows that pass the filter as new files."
        raise refuse_value("source", _OWNER, "a dataset without a filter", source, reason)
    folders = source.partitioning
    if folders is not None and not isinstance(folders, dataset.HivePartitioning) and folders.schema.names:
        reason = f"the column {folders.schema.names[0]!r} is neither in the files nor in folders named column=value."
        raise refuse_value("source", _OWNER, "a dataset whose folders are named column=value", source, reason)
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
            f"The file {gone[0]}{more} is gone. Restore it, or make the ParquetTable again without it."
        )
    return tuple((int(info.size or 0), int(info.mtime_ns or 0)) for info in infos)


def _without_credentials(source: Any) -> Any:
    """The source, for an error message, without anything that may be secret."""
    if not isinstance(source, str) or "://" not in source:
        return source
    parts = urlsplit(source)
    return f"{parts.scheme}://{parts.netloc.rsplit('@', 1)[-1]}{parts.path}"


# ----------------------------------------------------------------------------------------------------------- partitions
# Columns from folders named `column=value`, as Hive, Spark and pyarrow write them.

_PARTITIONS_OWNER = "ParquetTable"
_MISSING = "__HIVE_DEFAULT_PARTITION__"
_WIDEST = 2**31  # larger whole numbers are texts, as for pyarrow


class Partitions:
    """Columns whose values are in the names of the folders on the path to each file.

    A column has whole numbers if all its values are, and texts otherwise, as with pyarrow's partitioning "hive".

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
        """Return the columns as Arrow fields."""
        import pyarrow as pa

        numbers = {name: any(isinstance(value, int) for value in values) for name, values in self.values.items()}
        return [pa.field(name, pa.int32() if number else pa.string()) for name, number in numbers.items()]

    def extend_schema(self, schema: Any) -> Any:
        """Return the schema of a file with these columns added, except those that it has."""
        for column in self.fields():
            schema = schema if column.name in schema.names else schema.append(column)
        return schema

    def check(self, columns: Iterable[str], schemas: list[Any]) -> None:
        """Raise an error for ambiguous columns; `schemas` are those of the files."""
        for name in columns:
            if problem := self.problem(name, schemas):
                reason = f"{problem} Leave it out of columns, or rename one of them."
                expected = "columns that are in all files or in the folders of all files"
                raise refuse_value("columns", _PARTITIONS_OWNER, expected, name, reason)

    def problem(self, column: str, schemas: list[Any]) -> str | None:
        """Return why a column is ambiguous, or None."""
        if column in self.twice:
            return "two folders on the path to a file have this name."
        inside = [path for path, schema in zip(self.paths, schemas, strict=True) if column in schema.names]
        if column in self.values and inside:
            return f"it is a column of {inside[0]}, and also the name of a folder."
        if column in self.partial and len(inside) < len(self.paths):
            return "some files are in folders with this name, and others are not."
        return None

    def nulls(self, number: int, n_rows: int) -> dict[str, int | None]:
        """Return the number of missing values of each column in one of the files."""
        return {name: n_rows if values[number] is None else 0 for name, values in self.values.items()}

    def add_to(self, table: Any, number: int) -> Any:
        """Add these columns to a table that is one of the files."""
        import pyarrow as pa

        for column in self.fields():
            value = pa.scalar(self.values[column.name][number], column.type)
            table = table.append_column(column, pa.repeat(value, table.num_rows))
        return table

    def complete(self, batch: Any, columns: list[str], number: int) -> Any:
        """Return a batch of one of the files with these columns in this order, from the file or from folder names."""
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
    """Values as whole numbers, if all of them are numbers that pyarrow reads so; otherwise as texts."""
    there = [text for text in texts if text != _MISSING]
    digits = all(text.removeprefix("-").isascii() and text.removeprefix("-").isdigit() for text in there)
    numbers = bool(there) and digits and all(-_WIDEST <= int(text) < _WIDEST for text in there)
    return [None if text == _MISSING else int(text) if numbers else text for text in texts]


# ---------------------------------------------------------------------------------------------------------------- types
# The types of columns in memory: one per column, whichever rows are taken.
#
# pyarrow and pandas choose the type by the rows that they read: whether a value is missing, and which categories occur.
# Here the type follows from all files: from their schemas, from the numbers of missing values in their metadata, and
# from the union of their dictionaries.

_TYPES_OWNER = "ParquetTable"
_TEXT = 24  # bytes of a text in memory, if nothing is known about it


@dataclass(frozen=True)
class ColumnType:
    """The type of one column in memory.

    Parameters
    ----------
    name : str
        The column.
    form : {"number", "category", "other"}
        Numbers become a numpy array, categories become codes, and pandas converts everything else.
    dtype : str, default="float64"
        The type of numbers.
    arrow : pyarrow.DataType or None, default=None
        The type in the files; None for numbers.
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
        """Return the type of the column if values are missing."""
        return replace(self, dtype="float64") if np.dtype(self.dtype).kind in "biu" else self

    def with_categories(self, dictionaries: list[tuple[str, Any]]) -> "ColumnType":
        """Return the type with the categories of all files, from their dictionaries, which are Arrow arrays."""
        import pyarrow as pa
        import pyarrow.compute as pc

        if not dictionaries:
            return replace(self, categories=pa.array([], self.arrow))
        where, first = dictionaries[0]
        if self.ordered:  # two different orders cannot be merged
            for path, other in dictionaries[1:]:
                if not other.equals(first):
                    raise _type_mismatch(self.name, path, "other ordered categories", where, "its own")
            return replace(self, categories=first.cast(self.arrow))
        union = pa.concat_arrays([values.cast(self.arrow) for _, values in dictionaries]).unique().drop_null()
        return replace(self, categories=union.take(pc.array_sort_indices(union)))


def column_types(
    columns: list[str], schemas: list[Any], nulls: list[dict[str, int | None]], paths: tuple[str, ...]
) -> list[ColumnType]:
    """Return the type of each column, from the schema of each file and its numbers of missing values."""
    return [
        _column_type(name, _common_type(name, schemas, paths), any(counts[name] for counts in nulls))
        for name in columns
    ]


def check_columns(columns: list[str], schemas: list[Any], paths: tuple[str, ...], what: str) -> None:
    """Raise an error if a column is not in all files."""
    for schema, path in zip(schemas, paths, strict=True):
        lost = next((name for name in columns if name not in schema.names), None)
        if lost is not None:
            there = ", ".join(map(repr, schema.names[:8])) + (", ..." if len(schema.names) > 8 else "")
            reason = f"{path} has no such column. It has {there}."
            raise refuse_value(what, _TYPES_OWNER, "a column of all files", lost, reason)


def matrix_type(kinds: list[ColumnType]) -> np.dtype:
    """Return the type of a matrix of these columns: float32 if it represents all values exactly, otherwise float64."""
    strange = next((kind.name for kind in kinds if kind.form != "number"), None)
    if strange is not None:
        reason = "this column is not a number. Leave it out of columns, or use as_frame=True."
        raise refuse_value("as_frame", _TYPES_OWNER, f"True with the column {strange!r}", False, reason)
    return np.dtype(np.result_type(np.float32, *(np.dtype(kind.dtype) for kind in kinds)))


def needs_count(kind: Any) -> bool:
    """Return whether the type in memory depends on whether values are missing; `kind` is an Arrow type."""
    import pyarrow.types as pt

    return bool(pt.is_integer(kind) or pt.is_boolean(kind))


def _common_type(name: str, schemas: list[Any], paths: tuple[str, ...]) -> Any:
    """The type of a column in all files; a file without any value may lack a type."""
    import pyarrow as pa

    found, where = pa.null(), paths[0]
    for schema, path in zip(schemas, paths, strict=True):
        if schema.names.count(name) > 1:
            reason = f"{path} has two columns of this name. Rename one of them."
            raise refuse_value("columns", _TYPES_OWNER, "columns with different names", name, reason)
        own = _simplified(schema.field(name).type)
        if pa.types.is_null(found):
            found, where = own, path
        elif not pa.types.is_null(own) and own != found:
            raise _type_mismatch(name, path, f"type {own}", where, f"type {found}")
    return found


def _type_mismatch(name: str, path: str, has: str, other: str, theirs: str) -> ValueError:
    return ValueError(
        f"Column {name!r} has {has} in {path}, and {theirs} in {other}. All files of a table must have the same "
        "columns of the same types. Write one of them again, or leave the column out."
    )


def _simplified(kind: Any) -> Any:
    """A type without details that do not matter in memory: the sizes of offsets and codes."""
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
            expected = "columns whose categories are texts or whole numbers"
            raise refuse_value("columns", _TYPES_OWNER, expected, name, reason)
        return ColumnType(name, "category", arrow=kind.value_type, ordered=kind.ordered)
    if pt.is_nested(kind):
        reason = f"its type is {kind}. Leave it out of columns, or write its fields as columns."
        raise refuse_value("columns", _TYPES_OWNER, "columns with one value per row", name, reason)
    if pt.is_integer(kind) or pt.is_boolean(kind):
        return ColumnType(name, "number", "float64" if has_nulls else kind.to_pandas_dtype()().dtype.name)
    if pt.is_floating(kind):
        return ColumnType(name, "number", "float64" if pt.is_float64(kind) else "float32")
    if pt.is_decimal(kind) or pt.is_null(kind):
        return ColumnType(name, "number", "float64")
    return ColumnType(name, "other", arrow=kind)


# -------------------------------------------------------------------------------------------------------------- footers
# The metadata of a Parquet file: its columns and their types, the number of rows, and the numbers of missing values.

_BUFFER = 2**18  # bytes of a column that are read from the file at once
_SAMPLED_GROUPS, _SAMPLED_ROWS = 16, 256  # that are read to estimate the length of texts
_HEADERS = 128  # bytes of the page headers of a row group, at most, without its smallest and largest value


@dataclass(frozen=True)
class Footer:
    """The metadata of a file.

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
        """Return the metadata of one of the files."""
        with cls.open(files, number) as file:
            return cls(file.schema_arrow, file.metadata)

    @staticmethod
    def open(files: Files, number: int) -> Any:
        """Open one of the files as pyarrow's ParquetFile."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            # Over a network, it is faster to request all columns of a row group at once.
            how = {"buffer_size": _BUFFER} if files.url is None else {"pre_buffer": True}
            return pq.ParquetFile(files.open(number), page_checksum_verification=True, **how)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise _unreadable(files.paths[number], "as a Parquet file", error) from error

    @staticmethod
    def batches(file: Any, path: str, n_rows: int, groups: list[int], columns: list[str]) -> Iterator[Any]:
        """Yield batches of some row groups of an open file; errors name the file."""
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
        """Return the number of missing values of columns whose type depends on it; None if the file lacks it."""
        import pyarrow.types as pt

        places = self._places()
        types = {name: self.schema.field(name).type for name in columns if name in self.schema.names}
        nulls: dict[str, int | None] = {name: self.n_rows if pt.is_null(kind) else 0 for name, kind in types.items()}
        return nulls | {name: self._nulls(places[name]) for name, kind in types.items() if needs_count(kind)}

    def lacks_dictionary(self, column: str) -> bool:
        """Return whether some row group stores the values of a column without a dictionary."""
        import pyarrow.types as pt

        if pt.is_null(self.schema.field(column).type):
            return False
        groups = [self.metadata.row_group(number) for number in range(self.metadata.num_row_groups)]
        place = self._places()[column]
        return any(group.num_rows and not group.column(place).has_dictionary_page for group in groups)

    def text_bytes(self, kinds: list[ColumnType]) -> float:
        """Return at least how many bytes the values of columns take that are neither numbers nor categories.

        Headers are not counted: they are most of a file whose row groups have one row each.
        """
        places = self._places()
        others = [places[kind.name] for kind in kinds if kind.form == "other" and kind.name in places]
        groups = [self.metadata.row_group(number) for number in range(self.metadata.num_row_groups)]
        return float(sum(_least_bytes(group.column(place)) for group in groups for place in others))

    @classmethod
    def sampled_bytes(cls, files: Files, number: int, columns: list[str]) -> tuple[int, int]:
        """Return how many bytes some rows of a file take in these columns, and the number of these rows.

        The metadata cannot tell, because a dictionary has each text once.
        """
        with cls.open(files, number) as file:
            groups = [group for group in range(file.num_row_groups) if file.metadata.row_group(group).num_rows]
            step, total, rows = max(1, len(groups) // _SAMPLED_GROUPS), 0, 0
            for group in groups[::step]:
                batch = next(cls.batches(file, files.paths[number], _SAMPLED_ROWS, [group], columns))
                total, rows = total + batch.nbytes, rows + batch.num_rows
        return total, rows

    def largest_group(self, columns: list[str]) -> int:
        """Return how many uncompressed bytes these columns take in the largest row group."""
        places = [place for name, place in self._places().items() if name in set(columns)]
        groups = [self.metadata.row_group(number) for number in range(self.metadata.num_row_groups)]
        sizes = [sum(group.column(place).total_uncompressed_size for place in places) for group in groups]
        return max(sizes, default=0)

    def _places(self) -> dict[str, int]:
        """The number of each column in the row groups."""
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
    """Raise an error for ordered categories without dictionaries: their order would depend on which rows come first."""
    for name in (kind.name for kind in kinds if kind.ordered):
        path = next((path for path, footer in zip(paths, footers, strict=True) if footer.lacks_dictionary(name)), None)
        if path is not None:
            raise ValueError(
                f"Column {name!r} has ordered categories, but {path} does not store their order, because it was "
                "written without dictionaries. Write it with use_dictionary=True, or leave the column out."
            )


def _least_bytes(column: Any) -> int:
    """How many bytes the values of a column of a row group take in the file, without page headers."""
    statistics = column.statistics if column.is_stats_set else None
    extremes = (statistics.min, statistics.max) if statistics is not None and statistics.has_min_max else ()
    headers = _HEADERS + 2 * sum(len(str(value).encode()) for value in extremes)
    return max(0, int(column.total_uncompressed_size) - headers)


def _unreadable(path: str, what: str, error: Exception) -> ValueError:
    told = (str(error).splitlines() or [type(error).__name__])[0].rstrip(". ")
    return ValueError(f"{path} cannot be read {what}: {told}. Leave it out, or write it again.")
