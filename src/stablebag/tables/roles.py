"""The roles of columns: target, group, row IDs, dropped or feature; and columns that seem to identify groups."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from stablebag._wording import ROW_NUMBERS, option
from stablebag.tables.columns import KINDS, Columns, Kind, infer_kinds, looks_like_group_name, to_text
from stablebag.tables.text import TableError, check_column_name, listed, paths_of, quoted

# ---------------------------------------------------------------------------------------------------------------- roles
# The role of each column, as the user gave it.


@dataclass(frozen=True)
class Roles:
    """The roles of columns, checked against the columns of the table.

    Attributes
    ----------
    target : str
        The column to predict.
    group : str or None
        The column that identifies the group each row belongs to.
    ids, drop : tuple of str
        The columns with row IDs, and those that are left out.
    kinds : mapping of str to str
        Kinds that the user gave, by column.
    task, decimal : str or None
        The task and the decimal mark; None infers them.
    """

    target: str
    group: str | None = None
    ids: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    kinds: Mapping[str, str] = field(default_factory=dict)
    task: str | None = None
    decimal: str | None = None

    @classmethod
    def check(
        cls, columns: Any, target: str, group: str | None, ids: Any, drop: Any, kinds: Mapping[str, str] | None,
        task: str | None, decimal: str | None,
    ) -> "Roles":  # fmt: skip
        """Return the roles; an unknown column, or a column with two roles, raises an error."""
        for name in (target, group):
            if name is not None:
                check_column_name(columns, name)
        ids, drop = named_columns(columns, ids), named_columns(columns, drop)
        for name, role in ((target, "target"), (group, "group")):
            if name is not None and name in drop:
                raise TableError(f"The column {name!r} is the {role}: remove it from {option('drop')}.")
        for name in ids:
            if name in drop:
                raise TableError(
                    f"The column {name!r} is a row ID, so it is not used as a feature: remove it from {option('drop')}."
                )
        if target in ids:
            raise TableError(f"The column {target!r} is the target: remove it from {option('ids')}.")
        for name, kind in (kinds or {}).items():
            if kind not in KINDS:
                raise TableError(f"The kind of column {name!r} must be one of {', '.join(KINDS)}. Got {kind!r}.")
            check_column_name(columns, name)
        return cls(target, group, ids, drop, dict(kinds or {}), task, decimal)

    def features(self, columns: Any) -> list[str]:
        """Return the columns without another role."""
        apart = {self.target, self.group, *self.ids, *self.drop}
        return [name for name in columns if name not in apart]


def named_columns(columns: Any, given: Any) -> tuple[str, ...]:
    """Return checked names of columns; a text with commas is several names, unless a column has this name."""
    found: dict[str, None] = {}
    for text in [given] if isinstance(given, str) else given:
        names = [text] if text in columns else [name.strip() for name in text.split(",") if name.strip()]
        for name in names:
            check_column_name(columns, name)
            found[name] = None
    return tuple(found)


# ------------------------------------------------------------------------------------------------------------- row IDs
# The names of rows in results: their IDs as they are written, or their numbers in the file.


def row_index(table: Any, ids: tuple[str, ...]) -> Any:
    """Return the names of rows: their IDs, or their numbers in the file."""
    import pandas as pd

    if not ids:
        return table.index
    names = [read_names(table[name]) for name in ids]
    if len(names) == 1:
        column = names[0].where(names[0].notna(), "without ID")
        return pd.Index(column.to_numpy(dtype=object) if column.dtype == object else column.to_numpy(), name=ids[0])
    texts = [" ".join("?" if value is None else str(value) for value in row) for row in zip(*names, strict=True)]
    return pd.Index(texts, dtype=object, name=" ".join(ids))


def read_names(column: Any) -> Any:
    """Return IDs as they are written; whole numbers without leading zeros become numbers."""
    kind = infer_kinds(column.to_frame(), target=column.name).kinds[column.name]
    if column.dtype.kind == "O" and kind == Kind("number", "."):
        read = Columns({column.name: kind}).read(column.to_frame())[column.name]
        return read if read.dtype.kind in "iu" else column
    return column


def first_row(table: Any) -> str:
    """Return a sentence on which row has the number 0."""
    paths = paths_of(table)
    if len(paths) > 1:
        return "Row 0 is the first row of the first file; the numbers continue in the next files."
    has_header = not str(paths[0]).lower().endswith((".parquet", ".pq", ".feather"))
    return ROW_NUMBERS if has_header else "Row 0 is the first row of the table."


def repeated_ids(index: Any, ids: tuple[str, ...]) -> list[str]:
    """Warn if several rows have the same ID."""
    if not ids or index.is_unique:
        return []
    names = " and ".join(map(repr, ids))
    help_ = (
        f" If rows with the same {names} belong together, use {option('group', ids[0])} instead of {option('ids')}. "
        "Otherwise, the scores are too good for new ones."
        if len(ids) == 1
        else ""
    )
    return [f"Several rows have the same {names}, so this ID does not identify a row.{help_}"]


# --------------------------------------------------------------------------------------------------------------- groups
# The column that identifies the group each row belongs to, or suggestions if it is not given.

# A column is suggested if it has a name like patient_id, and its whole numbers or texts repeat, but not too often.
_FEWEST_GROUPS = 10
_ROWS_PER_GROUP = (1.5, 50)


def split_group(X: Any, group: str, target: str) -> tuple[Any, Any]:
    """Return the table without the column of groups, and this column; `X` has no target any more.

    An unknown name, the target, missing values or a single group raise an error.
    """
    if group == target:
        raise TableError(
            f"The column {target!r} is the target, so it cannot be the group. Set {option('group')} to the column that "
            "identifies the group each row belongs to."
        )
    check_column_name(X, group)
    column = X[group]
    missing = column.index[column.isna()].tolist()
    if missing:
        some = listed([str(row) for row in missing])
        rows = f"row {some}" if len(missing) == 1 else f"{len(missing):,} rows ({some})"
        them = "the group, or remove this row" if len(missing) == 1 else "the groups, or remove these rows"
        raise TableError(
            f"The group {group!r} is missing in {rows}; row 0 is the first row below the header. Fill in {them}."
        )
    if column.nunique() < 2:
        raise TableError(
            f"The group {group!r} is {quoted(column.iloc[0])} in every row, so nothing would be left without it. Use "
            f"another column, or no {option('group')}."
        )
    return X.drop(columns=group), column


def likely_groups(X: Any) -> tuple[str, ...]:
    """Return the columns that seem to identify groups, such as patients with several rows, the finest first.

    The name of such a column ends in "id" or similar, or in a word such as patient, user or site, perhaps followed by
    "no", "code" or similar. Its values are whole numbers or texts, at least 10 different ones, with 1.5 to 50 rows per
    value.
    """
    found = {name: X[name].nunique() for name in X.columns if looks_like_group_name(name) and _repeats(X[name])}
    return tuple(sorted(found, key=lambda column: -found[column]))


def suggest_group(X: Any, X_test: Any = None) -> str:
    """Return a sentence on a column that seems to identify groups, and why to name it; "" if there is none.

    With held-out rows, it counts those whose group occurs in the training rows.
    """
    if not (found := likely_groups(X)):
        return ""
    name = found[0]
    way = f"add {option('group', name)}"
    if X_test is None:
        return (
            f"The column {name} has {X[name].nunique():,} values in {len(X):,} rows. If rows with the same {name} "
            f"belong together, {way}. Otherwise, errors and intervals are too small for new groups."
        )
    known = int(in_groups(X[name], X_test[name]).sum())
    if not known:
        return ""
    return (
        f"{known:,} of {len(X_test):,} held-out rows {'belongs' if known == 1 else 'belong'} to groups in the training "
        f"rows ({name}), so the scores are too good for new groups. If you predict new groups, {way}, which holds out "
        "whole groups."
    )


def dropped_groups(dropped: Any) -> list[str]:
    """Warn that a column that seems to identify groups was dropped, which does not remove the groups."""
    if not (found := likely_groups(dropped)):
        return []
    name = found[0]
    return [
        f"The dropped column {name} has {dropped[name].nunique():,} values in {len(dropped):,} rows. If rows with the "
        f"same {name} belong together, use {option('group', name)} instead of {option('drop', [name])}. Otherwise, "
        "errors and intervals are too small for new groups."
    ]


def in_groups(groups: Any, others: Any) -> Any:
    """Return whether each row of another table is in one of these groups; numbers and texts are compared as texts."""
    return to_text(others).isin(set(to_text(groups))) & others.notna()


def _repeats(column: Any) -> bool:
    values = column.dropna()
    whole = values.dtype.kind in "iu" or (values.dtype.kind == "f" and bool((values == values.round()).all()))
    if not whole and values.dtype.kind in "fbMmc":
        return False
    n_groups = values.nunique()
    fewest, most = _ROWS_PER_GROUP
    return bool(n_groups >= _FEWEST_GROUPS and fewest <= len(values) / n_groups <= most)
