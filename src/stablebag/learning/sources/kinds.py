"""How the columns of Parquet files are held in memory: one type per column, whatever rows of it are taken.

Left to itself, a reader makes another type of a column when the rows at hand have no missing value, or lack a category.
Here the type follows from all files: from their schemas, from the counts of missing values in their footers, and from
the union of their dictionaries.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from stablebag._checks import refuse_value

_OWNER = "ParquetTable"
_TEXT = 24  # bytes of a text in memory, where nothing else is known


@dataclass(frozen=True)
class Kind:
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

    def with_nulls(self) -> "Kind":
        """Return the kind of the same column if values are missing."""
        return replace(self, dtype="float64") if np.dtype(self.dtype).kind in "biu" else self

    def with_categories(self, dictionaries: list[tuple[str, Any]]) -> "Kind":
        """Return the kind with the categories of all files, from their dictionaries, which are Arrow arrays."""
        import pyarrow as pa
        import pyarrow.compute as pc

        if not dictionaries:
            return replace(self, categories=pa.array([], self.arrow))
        where, first = dictionaries[0]
        if self.ordered:  # then the order has a meaning, and there is no telling how two would be merged
            for path, other in dictionaries[1:]:
                if not other.equals(first):
                    raise _differs(self.name, path, "other ordered categories", where, "its own")
            return replace(self, categories=first.cast(self.arrow))
        union = pa.concat_arrays([values.cast(self.arrow) for _, values in dictionaries]).unique().drop_null()
        return replace(self, categories=union.take(pc.array_sort_indices(union)))


def kinds_of(
    columns: list[str], schemas: list[Any], nulls: list[dict[str, int | None]], paths: tuple[str, ...]
) -> list[Kind]:
    """Return how each column is held, from the schema of each file and its counts of missing values."""
    return [_kind(name, _common(name, schemas, paths), any(counts[name] for counts in nulls)) for name in columns]


def check_columns(columns: list[str], schemas: list[Any], paths: tuple[str, ...], what: str) -> None:
    """Refuse columns that are not in all files."""
    for schema, path in zip(schemas, paths, strict=True):
        lost = next((name for name in columns if name not in schema.names), None)
        if lost is not None:
            there = ", ".join(map(repr, schema.names[:8])) + (", ..." if len(schema.names) > 8 else "")
            reason = f"{path} has no such column. It has {there}."
            raise refuse_value(what, _OWNER, "columns of all files", lost, reason)


def matrix_type(kinds: list[Kind]) -> np.dtype:
    """Return the type of a matrix of these columns: float32 if that holds all of their values exactly, or float64."""
    strange = next((kind.name for kind in kinds if kind.form != "number"), None)
    if strange is not None:
        reason = "it is not a number. Leave it out of columns, or use a frame: as_frame=True."
        raise refuse_value("as_frame", _OWNER, f"True with a column such as {strange!r}", False, reason)
    return np.dtype(np.result_type(np.float32, *(np.dtype(kind.dtype) for kind in kinds)))


def needs_count(kind: Any) -> bool:
    """Return whether a type in memory depends on whether values are missing; `kind` is a type of Arrow."""
    import pyarrow.types as pt

    return bool(pt.is_integer(kind) or pt.is_boolean(kind))


def _common(name: str, schemas: list[Any], paths: tuple[str, ...]) -> Any:
    """The type of a column in all files; where all values of a file are missing, it may have none."""
    import pyarrow as pa

    found, where = pa.null(), paths[0]
    for schema, path in zip(schemas, paths, strict=True):
        if schema.names.count(name) > 1:
            reason = f"{path} has two columns of this name."
            raise refuse_value("columns", _OWNER, "columns with a name of their own", name, reason)
        own = _plain(schema.field(name).type)
        if pa.types.is_null(found):
            found, where = own, path
        elif not pa.types.is_null(own) and own != found:
            raise _differs(name, path, f"type {own}", where, f"type {found}")
    return found


def _differs(name: str, path: str, has: str, other: str, theirs: str) -> ValueError:
    return ValueError(
        f"Column {name!r} has {has} in {path}, and {theirs} in {other}. All files of a table have the same columns of "
        "the same types: write one of them anew, or leave the column out."
    )


def _plain(kind: Any) -> Any:
    """A type without what does not matter in memory: the size of offsets and of codes."""
    import pyarrow as pa
    import pyarrow.types as pt

    if pt.is_dictionary(kind):
        return pa.dictionary(pa.int32(), _plain(kind.value_type), kind.ordered)
    view = getattr(pt, "is_string_view", lambda kind: False)
    return pa.large_string() if pt.is_string(kind) or view(kind) else kind


def _kind(name: str, kind: Any, has_nulls: bool) -> Kind:
    import pyarrow.types as pt

    if pt.is_dictionary(kind):
        if not (pt.is_large_string(kind.value_type) or pt.is_integer(kind.value_type)):
            reason = f"its categories are of type {kind.value_type}. Leave it out of columns."
            raise refuse_value("columns", _OWNER, "columns of categories that are texts or whole numbers", name, reason)
        return Kind(name, "category", arrow=kind.value_type, ordered=kind.ordered)
    if pt.is_nested(kind):
        reason = f"its type is {kind}. Leave it out of columns, or write its fields as columns of their own."
        raise refuse_value("columns", _OWNER, "columns with one value per row", name, reason)
    if pt.is_integer(kind) or pt.is_boolean(kind):
        return Kind(name, "number", "float64" if has_nulls else kind.to_pandas_dtype()().dtype.name)
    if pt.is_floating(kind):
        return Kind(name, "number", "float64" if pt.is_float64(kind) else "float32")
    if pt.is_decimal(kind) or pt.is_null(kind):
        return Kind(name, "number", "float64")
    return Kind(name, "other", arrow=kind)
