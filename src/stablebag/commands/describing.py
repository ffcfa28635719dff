"""What is said of each column of a table that was read: its kind, its values, and why it was left out."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from stablebag.commands.dates import said_of
from stablebag.commands.kinds import FEW_VALUES, Kind
from stablebag.showing.data_as_read import ColumnAsRead

_SHOWN = 3  # values of a category
_LONGEST = 18  # letters of a value


def described(
    table: Any,
    X: Any,
    kinds: Mapping[str, Kind],
    *,
    names: list[str] | None = None,
    target: str,
    group: str | None,
    ids: tuple[str, ...],
    drop: tuple[str, ...],
    leaking: list[str],
) -> Iterator[ColumnAsRead]:
    """Give out what there is to say of each column.

    Parameters
    ----------
    table : DataFrame
        The columns as the file has them.
    X : DataFrame
        Those that are learned from, as they were read, and the target.
    kinds : mapping of str to Kind
        Their kinds.
    names : list of str or None, default=None
        The columns of the file, in order; of those that are not in `table`, no value was read. None is those of it.
    target : str
        The column to predict.
    group : str or None
        The column that says whose rows are whose.
    ids : tuple of str
        The columns that name rows.
    drop : tuple of str
        The columns that were to be left out.
    leaking : list of str
        The columns that predict the target almost perfectly by themselves.
    """
    given: dict[str | None, str] = {target: "target", group: "group"}
    given.update({**dict.fromkeys(ids, "id"), **dict.fromkeys(drop, "dropped")})
    for name in table.columns if names is None else names:
        if name not in table:
            yield ColumnAsRead(name, given[name], 0.0, None, "", "left out by --drop, and not read")
            continue
        column, read = table[name], X.get(name, table[name])
        kind = kinds.get(name, Kind("category"))
        role = given.get(name, kind.name)
        yield ColumnAsRead(
            name=name,
            kind=role,
            missing=float(read.isna().mean()),
            n_values=int(column.nunique()),
            example=_example(read),
            remark="predicts the target alone"
            if name in leaking
            else _remark(column, kind, role, is_given=name in given),
        )


def _example(column: Any) -> str:
    values = column.dropna()
    if not len(values):
        return ""
    if values.dtype.kind in "iuf":
        low, high = (f"{value:.4g}" if abs(value) < 1e4 else f"{value:,.0f}" for value in (values.min(), values.max()))
        return low if low == high else f"{low} to {high}"
    if values.dtype.kind == "M":
        return f"{values.min():%Y-%m-%d} to {values.max():%Y-%m-%d}"
    counts = values.value_counts()  # the most frequent ones, in a fixed order
    most = sorted(counts.items(), key=lambda pair: (-pair[1], str(pair[0])))[:_SHOWN]
    some = [_short(str(value)) for value, _ in most]
    some = some[:1] if counts.iloc[0] == 1 or some[0].endswith("...") else some
    return ", ".join(some) + (", ..." if len(counts) > len(some) else "")


def _remark(column: Any, kind: Kind, role: str, *, is_given: bool) -> str:
    if role == "dropped":
        return "left out by --drop"
    if role == "group":
        return "says whose rows are whose"
    if role == "id":
        return "names rows" if is_given else "left out: all values differ"
    if role == "constant":
        return "left out: one value only" if column.notna().any() else "left out: empty"
    if kind.name == "number" and len(kind.form) > 1:
        return f"written with {kind.form[1:]}"
    if kind.name == "date":
        return said_of(kind.form)
    if kind.name == "category" and column.dtype.kind == "O" and role == "category":
        if column.dropna().map(lambda text: bool(re.fullmatch(r"0\d+", text))).any():
            return "codes with leading zeros"
        if column.nunique() > FEW_VALUES:
            return "the most frequent, and others"
    return ""


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."
