"""Rows in files: Parquet tables that do not fit into memory, and text files with mixed columns.

`read_table` reads a file of any of these kinds as a table to learn from; `ParquetTable` is the rows of Parquet files.
"""

from importlib import import_module
from typing import Any

_HOMES = {"ParquetTable": "parquet", "Remainder": "subsets", "TableError": "text", "read_table": "training"}
__all__ = ["ParquetTable", "Remainder", "TableError", "read_table"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
