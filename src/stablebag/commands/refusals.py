"""What is wrong with a table, in one sentence; names of columns that are not there get the one that is meant."""

from collections.abc import Iterable
from difflib import get_close_matches

_LISTED = 8  # names of columns in a sentence


class TableError(ValueError):
    """What is wrong with a table, a column or a model's name, in one sentence."""


def refuse_unknown(names: Iterable[str], name: str) -> None:
    """Refuse the name of a column that is not among these, with the one that is meant or with those that there are."""
    columns = list(names)
    if name in columns:
        return
    said = f"There is no column {name!r} in the table"
    lower = {column.lower().strip(): column for column in reversed(columns)}
    near = get_close_matches(name.lower().strip(), lower, n=1)
    if near:
        raise TableError(f"{said}. Did you mean {lower[near[0]]!r}?")
    some = ", ".join(repr(column) for column in columns[:_LISTED])
    raise TableError(f"{said}; it has {some}{', ...' * (len(columns) > _LISTED)}.")
