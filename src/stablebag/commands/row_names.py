"""What rows and units are called: by their ids, as they are written, else by their places in the file."""

import shlex
from typing import Any

from stablebag._wording import ROW_NUMBERS
from stablebag.commands.columns import Columns
from stablebag.commands.kinds import Kind, decide
from stablebag.commands.parts import paths_of


def index_of(table: Any, ids: tuple[str, ...]) -> Any:
    """Return what rows are called: by their ids, else by their places in the file."""
    import pandas as pd

    if not ids:
        return table.index
    names = [names_of(table[name]) for name in ids]
    if len(names) == 1:
        column = names[0].where(names[0].notna(), "without id")
        return pd.Index(column.to_numpy(dtype=object) if column.dtype == object else column.to_numpy(), name=ids[0])
    texts = [" ".join("?" if value is None else str(value) for value in row) for row in zip(*names, strict=True)]
    return pd.Index(texts, dtype=object, name=" ".join(ids))


def numbered(table: Any) -> str:
    """Say in a sentence where the numbers of rows of a table start."""
    paths = paths_of(table)
    if len(paths) > 1:
        return "Row 0 is the first row of the first file, and the files follow each other."
    has_header = not str(paths[0]).lower().endswith((".parquet", ".pq", ".feather"))
    return ROW_NUMBERS if has_header else "Row 0 is the first row of the table."


def names_of(column: Any) -> Any:
    """Return names as they are written; whole numbers without leading zeros are numbers."""
    kind = decide(column.to_frame(), target=column.name).kinds[column.name]
    if column.dtype.kind == "O" and kind == Kind("number", "."):
        read = Columns({column.name: kind}).read(column.to_frame())[column.name]
        return read if read.dtype.kind in "iu" else column
    return column


def about_ids(index: Any, ids: tuple[str, ...]) -> list[str]:
    """Say that names of rows are not all different."""
    if not ids or index.is_unique:
        return []
    called = " and ".join(map(repr, ids))
    help_ = (
        f" If such rows belong together, use --group {shlex.quote(ids[0])} instead of --id: otherwise the scores "
        "flatter predictions for new ones."
        if len(ids) == 1
        else ""
    )
    return [f"Several rows have the same {called}, so an ID does not tell which row is meant.{help_}"]
