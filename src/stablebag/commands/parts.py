"""The files of a table on the command line: one file, a folder, a pattern or several parts, and how large it is."""

import glob
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from stablebag.commands.refusals import TableError
from stablebag.learning.sources.partitions import Partitions
from stablebag.learning.sources.source import as_bytes

MAX_MEMORY = "1GB"
_ENDINGS = (".parquet", ".pq")
_VALUE = 8  # bytes of a value in memory, about


@dataclass(frozen=True)
class Parts:
    """The Parquet files of one table, in the order of their paths.

    Attributes
    ----------
    paths : tuple of Path
        The files.
    name : str
        What the table is called: as it was given.
    """

    paths: tuple[Path, ...]
    name: str

    def __str__(self) -> str:
        return self.name

    @classmethod
    def of(cls, given: tuple[str, ...]) -> "Parts":
        """Find the files that folders, patterns and paths name; what is not there is refused."""
        paths: list[Path] = []
        for text in given:
            found = _found(text)
            others = [path for path in found if path.suffix.lower() not in _ENDINGS]
            if others:
                raise TableError(
                    f"A table in several files is of Parquet files, and {others[0].name} is none. Give one file, or "
                    "write the parts as Parquet."
                )
            paths += found
        in_order = sorted({path.resolve() for path in paths})
        if len(in_order) < len(paths):
            raise TableError("Some file is given twice, and its rows would be counted twice. Give each once.")
        called = "/".join(Path(given[0]).parts[-2 if glob.has_magic(given[0]) else -1 :])
        return cls(tuple(in_order), called if len(given) == 1 else f"{len(in_order):,} files")


def read_table(ctx: click.Context, param: click.Parameter, value: tuple[str, ...]) -> Path | Parts:
    """Read the argument of a table: the path of one file, or the parts of a table that is in several."""
    one = value[0] if len(value) == 1 else None
    if one is not None and (Path(one).is_file() or not (Path(one).is_dir() or glob.has_magic(one))):
        return Path(one)  # which may not be there; that is said where it is read
    return Parts.of(value)


def read_memory(ctx: click.Context, param: click.Parameter, value: str) -> int:
    """Read an option that is an amount of memory."""
    try:
        return as_bytes(value, "--max-memory", "stablebag")
    except ValueError:
        raise click.BadParameter(f'It is an amount of memory such as 500MB or 1GB. Got "{value}".') from None


def paths_of(table: Any) -> tuple[Path, ...]:
    """Return the files of a table as it was given."""
    return table.paths if isinstance(table, Parts) else (Path(table),)


def name_of(table: Any) -> str:
    """Return what a table is called."""
    return table.name if isinstance(table, Parts) else Path(table).name


def is_parquet(table: Any) -> bool:
    """Return whether a table that is there is of Parquet files."""
    return all(path.suffix.lower() in _ENDINGS and path.is_file() for path in paths_of(table))


def folders_of(table: Any) -> Partitions:
    """Return the columns that the names of folders on the way to several files are; of one file, none."""
    return Partitions(tuple(map(str, paths_of(table))) if isinstance(table, Parts) else ())


def footers(table: Any) -> list[Any]:
    """Return what the Parquet files of a table say of themselves; one that cannot be read is refused."""
    try:
        import pyarrow.parquet as pq
    except ImportError as error:
        raise TableError("Reading Parquet files needs pyarrow: pip install pyarrow.") from error
    found = []
    for path in paths_of(table):
        try:
            found.append(pq.read_metadata(path))
        except Exception as error:
            why = (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
            raise TableError(f"The file {path} cannot be read as Parquet: {why}.") from error
    return found


def refuse_uneven(table: Any, dropped: Collection[str]) -> None:
    """Refuse a column that some files of a table lack, or that is both in a file and in the name of a folder."""
    folders, schemas = folders_of(table), [footer.schema.to_arrow_schema() for footer in footers(table)]
    columns = {name for schema in schemas for name in schema.names}.difference(dropped)
    refuse_unclear(table, columns | folders.partial, schemas)
    for name in sorted(columns):
        for path, schema in zip(paths_of(table), schemas, strict=True):
            if name not in schema.names:
                where = f"is not in all files of {name_of(table)}: {path} has none"
                raise TableError(f"The column {name!r} {where}. Leave it out with --drop, or write the files anew.")


def refuse_unclear(table: Any, columns: set[str], schemas: list[Any]) -> None:
    """Refuse a column that is called as a folder is, unless all files are in such a folder and none has the column."""
    folders = folders_of(table)
    for name in sorted(columns) if folders.paths else ():
        if fault := folders.fault(name, schemas):
            raise TableError(f"It is not clear what {name!r} is in {name_of(table)}: {fault} Rename one of them.")


def size_in_memory(table: Any) -> int:
    """Return about how many bytes the values of Parquet files take in memory, by their footers."""
    return sum(_VALUE * footer.num_rows * footer.num_columns for footer in footers(table))


def _found(text: str) -> list[Path]:
    """The files that a path, a folder or a pattern names; names that begin with a dot or underscore are no parts."""
    path = Path(text)
    if path.is_file():
        return [path]
    if path.is_dir():
        inside = [one for one in path.rglob("*") if one.suffix.lower() in _ENDINGS and one.is_file()]
        named = [one for one in inside if not any(n.startswith((".", "_")) for n in one.relative_to(path).parts)]
        if not named:
            raise TableError(f"There is no Parquet file in the folder {text}.")
        return named
    if not glob.has_magic(text):
        raise TableError(f"There is no file {text}.")
    matching = [Path(one) for one in glob.glob(text, recursive=True) if Path(one).is_file()]
    if not matching:
        raise TableError(f"No file matches the pattern {text}. Look at the folder, and at the *.")
    return matching
