"""What columns of a table are for: the target, the group, names of rows; and which of them seem to identify groups."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from stablebag._wording import ROW_NUMBERS, ROWS, option
from stablebag.tables.columns import KINDS, Columns, Kind, infer_kinds, looks_like_group_name, to_text
from stablebag.tables.text import TableError, check_column_name, listed, paths_of

# ---------------------------------------------------------------------------------------------------------------- roles
# What each column is for: the target, the group, names of rows, left out, or learned from.


@dataclass(frozen=True)
class Roles:
    """What columns are for, as the caller said it, checked against the columns that there are.

    Attributes
    ----------
    target : str
        The column to predict.
    group : str or None
        The column that identifies the group each row belongs to.
    ids, drop : tuple of str
        The columns that name rows, and those that are left out.
    kinds : mapping of str to str
        Kinds that are given, by the names of columns.
    task, decimal : str or None
        What else is given; None if it is to be recognised.
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
        """Return the roles; an unknown column, or one with two roles, is refused."""
        for name in (target, group):
            if name is not None:
                check_column_name(columns, name)
        ids, drop = named_columns(columns, ids), named_columns(columns, drop)
        for name, role in ((target, "target"), (group, "group")):
            if name is not None and name in drop:
                raise TableError(f"The {role} {name!r} cannot be left out as well. Take it out of {option('drop')}.")
        for name in ids:
            if name in drop:
                raise TableError(
                    f"The id {name!r} is no feature, and need not be left out as well. Take it out of {option('drop')}."
                )
        if target in ids:
            raise TableError(f"The target {target!r} cannot be an id as well. Take it out of {option('ids')}.")
        for name, kind in (kinds or {}).items():
            if kind not in KINDS:
                raise TableError(f"The kind of column {name!r} must be one of {', '.join(KINDS)}. Got {kind!r}.")
            check_column_name(columns, name)
        return cls(target, group, ids, drop, dict(kinds or {}), task, decimal)

    def features(self, columns: Any) -> list[str]:
        """Return the columns that are neither the target nor set apart."""
        apart = {self.target, self.group, *self.ids, *self.drop}
        return [name for name in columns if name not in apart]


def named_columns(columns: Any, given: Any) -> tuple[str, ...]:
    """Return names of columns that are there; a text with commas is several, unless a column is called so."""
    found: dict[str, None] = {}
    for text in [given] if isinstance(given, str) else given:
        names = [text] if text in columns else [name.strip() for name in text.split(",") if name.strip()]
        for name in names:
            check_column_name(columns, name)
            found[name] = None
    return tuple(found)


# ------------------------------------------------------------------------------------------------------- names of rows
# What rows and groups are called: by their ids, as they are written, else by their places in the file.


def row_index(table: Any, ids: tuple[str, ...]) -> Any:
    """Return what rows are called: by their ids, else by their places in the file."""
    import pandas as pd

    if not ids:
        return table.index
    names = [read_names(table[name]) for name in ids]
    if len(names) == 1:
        column = names[0].where(names[0].notna(), "without id")
        return pd.Index(column.to_numpy(dtype=object) if column.dtype == object else column.to_numpy(), name=ids[0])
    texts = [" ".join("?" if value is None else str(value) for value in row) for row in zip(*names, strict=True)]
    return pd.Index(texts, dtype=object, name=" ".join(ids))


def read_names(column: Any) -> Any:
    """Return names as they are written; whole numbers without leading zeros are numbers."""
    kind = infer_kinds(column.to_frame(), target=column.name).kinds[column.name]
    if column.dtype.kind == "O" and kind == Kind("number", "."):
        read = Columns({column.name: kind}).read(column.to_frame())[column.name]
        return read if read.dtype.kind in "iu" else column
    return column


def first_row(table: Any) -> str:
    """Say in a sentence where the numbers of rows of a table start."""
    paths = paths_of(table)
    if len(paths) > 1:
        return "Row 0 is the first row of the first file, and the files follow each other."
    has_header = not str(paths[0]).lower().endswith((".parquet", ".pq", ".feather"))
    return ROW_NUMBERS if has_header else "Row 0 is the first row of the table."


def repeated_ids(index: Any, ids: tuple[str, ...]) -> list[str]:
    """Warn that names of rows are not all different."""
    if not ids or index.is_unique:
        return []
    names = " and ".join(map(repr, ids))
    help_ = (
        f" If such rows belong together, use {option('group', ids[0])} instead of {option('ids')}: otherwise the "
        "scores flatter predictions for new ones."
        if len(ids) == 1
        else ""
    )
    return [f"Several rows have the same {names}, so an ID does not tell which row is meant.{help_}"]


# --------------------------------------------------------------------------------------------------------------- groups
# The column that identifies the group each row belongs to: read, refused, and suggested if it is not given.

# A column is suggested if it is called like an identity, and whole numbers or texts in it repeat, but not too often.
_FEWEST_GROUPS = 10
_ROWS_PER_GROUP = (1.5, 50)


def split_group(X: Any, group: str, target: str) -> tuple[Any, Any]:
    """Take the column of groups out of a table whose target is already gone; return the table, and the column.

    What is no column of groups is refused: an unknown name, the target, missing values, and one group only.
    """
    if group == target:
        raise TableError(
            f"The target {target!r} cannot be the group as well. Give {option('group')} the column that identifies "
            "the group each row belongs to."
        )
    check_column_name(X, group)
    column = X[group]
    missing = column.index[column.isna()].tolist()
    if missing:
        some = listed([str(row) for row in missing])
        rows = f"row {some}" if len(missing) == 1 else f"{len(missing):,} rows ({some})"
        whose = "whose it is, or leave it" if len(missing) == 1 else "whose they are, or leave them"
        raise TableError(
            f"The group {group!r} is missing in {rows}, counted from 0 below the header. Fill in {whose} out."
        )
    if column.nunique() < 2:
        raise TableError(
            f"The group {group!r} has one value only, {str(column.iloc[0])!r}: without it nothing would be left. Take "
            f"another column, or leave {option('group')} out."
        )
    return X.drop(columns=group), column


def likely_groups(X: Any) -> tuple[str, ...]:
    """Return the columns that seem to identify groups, such as patients with several rows, the finest first.

    A column counts if its name ends in "id" or the like, or in what has an identity (patient, user, site, ...), perhaps
    with "no", "code" or the like behind it; if its values are whole numbers or texts, at least 10 different ones; and
    if there are 1.5 to 50 rows for each.
    """
    found = {name: X[name].nunique() for name in X.columns if looks_like_group_name(name) and _repeats(X[name])}
    return tuple(sorted(found, key=lambda column: -found[column]))


def suggest_group(X: Any, X_test: Any = None) -> str:
    """Say in a sentence which column seems to identify groups, and what naming it would change; "" if none does.

    With held-out rows, it counts those that belong to a group that was trained on.
    """
    if not (found := likely_groups(X)):
        return ""
    name = found[0]
    way = f"add {option('group', name)}"
    if X_test is None:
        return (
            f"The column {name} has {X[name].nunique():,} values in {len(X):,} rows. If rows with the same {name} "
            f"belong together, {way}: without it, errors and intervals are too small for new groups."
        )
    known = int(in_groups(X[name], X_test[name]).sum())
    if not known:
        return ""
    return (
        f"{known:,} of {ROWS.count(len(X_test))} held out {'belongs' if known == 1 else 'belong'} to groups that were "
        f"trained on ({name}), so the scores flatter predictions for new groups. If new groups are what you predict, "
        f"{way}: it holds out whole groups."
    )


def dropped_groups(dropped: Any) -> list[str]:
    """Warn that a column that seems to identify groups was left out, though its groups are still there."""
    if not (found := likely_groups(dropped)):
        return []
    name = found[0]
    return [
        f"The column {name}, which is left out, has {dropped[name].nunique():,} values in {len(dropped):,} rows. If "
        f"rows with the same {name} belong together, use {option('group', name)} instead of {option('drop', [name])}: "
        "otherwise errors and intervals are too small for new groups."
    ]


def in_groups(groups: Any, others: Any) -> Any:
    """Return whether each row of another table is in one of these groups; numbers and texts compare as written."""
    return to_text(others).isin(set(to_text(groups))) & others.notna()


def _repeats(column: Any) -> bool:
    values = column.dropna()
    whole = values.dtype.kind in "iu" or (values.dtype.kind == "f" and bool((values == values.round()).all()))
    if not whole and values.dtype.kind in "fbMmc":
        return False
    n_groups = values.nunique()
    fewest, most = _ROWS_PER_GROUP
    return bool(n_groups >= _FEWEST_GROUPS and fewest <= len(values) / n_groups <= most)
