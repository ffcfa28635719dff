"""What is worth a remark about columns: that they tell the target, hardly miss being numbers, or can be read twice."""

import shlex
import warnings
from typing import Any

import numpy as np

from stablebag.commands.columns import Columns
from stablebag.commands.kinds import Decision
from stablebag.commands.written_numbers import spelling

_MONOTONE = 0.999  # rank correlation above which a column tells the target
_NEARLY_MONOTONE = 0.9  # to be looked at closely
_FEWEST_ROWS = 20  # in which that is no chance
_FIRST_ROWS = 1000  # that a column must pass before all rows are looked at
_NEARLY = 0.8  # the share of different values that are numbers in a column that hardly misses being one
_LISTED = 3


def telling(X: Any, y: np.ndarray, task: str) -> list[str]:
    """Return the names of the columns that tell the target exactly.

    Numbers tell numbers if their rank correlation is above 0.999 in absolute value. A column tells classes if each of
    its values goes with one class, and each class with one value. It must be known in half of the rows, and in 20.
    """
    if task == "regression":
        numbers = X.select_dtypes("number")
        return [name for name in _nearly_monotone(numbers, y) if _tells(X[name], y, _tells_numbers)]
    return [str(name) for name in X.columns if _tells(X[name], y, _tells_classes)]


def _nearly_monotone(numbers: Any, y: np.ndarray) -> list[str]:
    """The columns that are nearly in the order of the target in some rows, all over the table."""
    import pandas as pd

    few = np.linspace(0, len(y) - 1, min(len(y), _FIRST_ROWS)).astype(int)
    ranks, order = numbers.iloc[few].rank().to_numpy(), pd.Series(y[few]).rank().to_numpy()
    known = np.where(np.isnan(ranks), np.nan, order[:, None])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of columns without values
        ranks, known = ranks - np.nanmean(ranks, axis=0), known - np.nanmean(known, axis=0)
        spread = np.sqrt(np.nansum(ranks**2, axis=0) * np.nansum(known**2, axis=0))
        near = np.abs(np.nansum(ranks * known, axis=0)) > _NEARLY_MONOTONE * spread
    return [str(name) for name in numbers.columns[near]]


def about_telling(names: list[str]) -> list[str]:
    """Say that columns tell the target, and the option that helps."""
    if not names:
        return []
    more = f" and {len(names) - _LISTED:,} more" if len(names) > _LISTED else ""
    some = ", ".join(map(repr, names[:_LISTED])) + more
    drop = " ".join(f"--drop {shlex.quote(name)}" for name in names[:_LISTED])
    if len(names) == 1:
        return [f"The column {some} tells the target exactly; leave it out with {drop} if it is not known in advance."]
    return [f"The columns {some} tell the target exactly; leave them out with {drop} if they are not known in advance."]


def _tells(column: Any, y: np.ndarray, tells: Any) -> bool:
    known = column.notna().to_numpy()
    if known.sum() < max(_FEWEST_ROWS, len(y) / 2):
        return False
    rows = np.flatnonzero(known)
    few = np.linspace(0, len(rows) - 1, min(len(rows), _FIRST_ROWS)).astype(int)  # all over the table
    return bool(tells(column.iloc[rows[few]], y[rows[few]]) and tells(column.iloc[rows], y[rows]))


def _tells_numbers(column: Any, y: np.ndarray) -> bool:
    import pandas as pd

    if column.dtype.kind not in "iuf" or column.nunique() < 3:
        return False
    ranks, of_target = column.rank().to_numpy(), pd.Series(y).rank().to_numpy()
    spread = ranks.std() * of_target.std()
    return bool(
        spread > 0 and abs(np.mean((ranks - ranks.mean()) * (of_target - of_target.mean()))) > _MONOTONE * spread
    )


def _tells_classes(column: Any, y: np.ndarray) -> bool:
    import pandas as pd

    values, classes = pd.factorize(column.to_numpy())[0], pd.factorize(y)[0]
    n_values, n_classes = values.max(initial=-1) + 1, classes.max(initial=-1) + 1
    return bool(n_values == n_classes > 1 and len(np.unique(values * n_classes + classes)) == n_classes)


def nearly_numbers(frame: Any, columns: Columns) -> list[str]:
    """Say which categories and texts would be numbers but for a few values."""
    found = []
    for name in (*columns.named("category"), *columns.named("text")):
        values = frame[name].dropna()
        if frame[name].dtype.kind != "O" or not len(values):
            continue
        texts = values.unique().tolist()
        how = spelling(texts)
        zeros = np.array([text.lstrip("+-").startswith("0") and text.isdigit() and text != "0" for text in texts])
        numbers = np.maximum(how.point, how.comma)
        if zeros.any() or numbers.all() or numbers.sum() < max(_NEARLY * len(texts), 2):
            continue
        odd = [text for text, number in zip(texts, numbers, strict=True) if not number]
        rows = int(values.isin(odd).sum())
        found.append((name, columns.kinds[name].name, odd[0], "1 row" if rows == 1 else f"{rows:,} rows"))
    sentences = [
        f"The column {name!r} is a {kind} because of {_short(odd)} in {rows}; --kind {shlex.quote(name)}=number takes "
        "it as numbers, and such values as missing."
        for name, kind, odd, rows in found[:_LISTED]
    ]
    if len(found) > _LISTED:
        sentences.append(f"So it is with {len(found) - _LISTED:,} more columns.")
    return sentences


def about_two_ways(decision: Decision) -> list[str]:
    """Say which numbers could be read in two ways, such as 1.234."""
    if not decision.two_ways:
        return []
    name, text = next(iter(decision.two_ways.items()))
    decimal, n_more = decision.kinds[name].form[:1], len(decision.two_ways) - 1
    mark = "," if "," in text else "."
    taken = "a decimal mark" if decimal == mark else "a separator of thousands"
    more = (
        "" if not n_more else " (and so in 1 more column)" if n_more == 1 else f" (and so in {n_more:,} more columns)"
    )
    return [
        f"The column {name!r} has {text!r}, where {mark!r} was taken for {taken}{more}; --decimal {_other(decimal)} "
        "takes it otherwise."
    ]


def _other(decimal: str) -> str:
    return "," if decimal == "." else "."


def _short(text: str) -> str:
    return repr(text if len(text) <= 20 else f"{text[:17]}...")
