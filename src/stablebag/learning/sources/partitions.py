"""Folders called `column=value`, as Hive, Spark and pyarrow write them: columns that are in no file."""

import os
from collections.abc import Iterable
from typing import Any
from urllib.parse import unquote

from stablebag._checks import refuse_value

_OWNER = "ParquetTable"
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
        found = [_named(path) for path in paths]
        self.partial = {name for names in found for name, _ in names if any(name not in dict(other) for other in found)}
        self.twice = {name for names in found for name, _ in names if [key for key, _ in names].count(name) > 1}
        names = [name for name, _ in found[0]] if found else []
        whole = [name for name in dict.fromkeys(names) if name not in self.partial]
        self.values = {name: _typed([dict(names)[name] for names in found]) for name in whole}

    def fields(self) -> list[Any]:
        """Return the columns, as fields of Arrow."""
        import pyarrow as pa

        numbers = {name: any(isinstance(value, int) for value in values) for name, values in self.values.items()}
        return [pa.field(name, pa.int32() if number else pa.string()) for name, number in numbers.items()]

    def added(self, schema: Any) -> Any:
        """Return the schema of a file with these columns, unless it has a column of the name."""
        for column in self.fields():
            schema = schema if column.name in schema.names else schema.append(column)
        return schema

    def check(self, columns: Iterable[str], schemas: list[Any]) -> None:
        """Refuse columns of which it is not clear what they are: `schemas` are those of the files themselves."""
        for name in columns:
            if fault := self.fault(name, schemas):
                reason = f"{fault} Leave it out of columns, or rename one of them."
                raise refuse_value("columns", _OWNER, "columns that are in all files or in all folders", name, reason)

    def fault(self, column: str, schemas: list[Any]) -> str | None:
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

    def beside(self, table: Any, number: int) -> Any:
        """Return a table that is one of the files with these columns beside its own."""
        import pyarrow as pa

        for column in self.fields():
            value = pa.scalar(self.values[column.name][number], column.type)
            table = table.append_column(column, pa.repeat(value, table.num_rows))
        return table

    def completed(self, batch: Any, columns: list[str], number: int) -> Any:
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


def _named(path: str) -> list[tuple[str, str]]:
    """The names and values of the folders of a path."""
    pairs = [folder.partition("=") for folder in path.replace(os.sep, "/").split("/")[:-1]]
    return [(unquote(name), unquote(value)) for name, equals, value in pairs if name and equals]


def _typed(texts: list[str]) -> list[Any]:
    """Values as whole numbers, if all that are there are some that pyarrow takes for such, or else as they are."""
    there = [text for text in texts if text != _MISSING]
    digits = all(text.removeprefix("-").isascii() and text.removeprefix("-").isdigit() for text in there)
    numbers = bool(there) and digits and all(-_WIDEST <= int(text) < _WIDEST for text in there)
    return [None if text == _MISSING else int(text) if numbers else text for text in texts]
