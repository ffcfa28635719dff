"""The column that says whose rows are whose: read, refused, held out by whole units, and noticed if it is not given."""

import math
import shlex
from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split
from sklearn.utils import shuffle

from stablebag._wording import ROWS, Noun
from stablebag.commands.columns import written
from stablebag.commands.identities import is_called_like_units
from stablebag.commands.refusals import TableError, refuse_unknown
from stablebag.resampling.units import Units

_LISTED = 5  # rows or units that a sentence names
# A column is noticed if it is called like an identity, and whole numbers or texts in it repeat, but not too often.
_FEWEST_UNITS = 10
_ROWS_PER_UNIT = (1.5, 50)


def split_group(X: Any, group: str, target: str) -> tuple[Any, Any]:
    """Take the column of units out of a table whose target is already gone; return the table, and the column.

    What is no column of units is refused: an unknown name, the target, missing values, and one unit only.
    """
    if group == target:
        raise TableError(
            f"The target {target!r} cannot be the group as well. Give --group the column that says whose rows are "
            "whose."
        )
    refuse_unknown(X, group)
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
            "another column, or leave --group out."
        )
    return X.drop(columns=group), column


def held_out_units(X: Any, y: np.ndarray, groups: Any, test_size: float, task: str, seed: int) -> tuple[Any, ...]:
    """Hold out whole units, in random order of their rows; return X, X_test, y, y_test, groups, groups_test.

    The share is one of the units. If each has one class, they are held out by class where that can be done.
    """
    if not 0 < test_size < 1:
        raise ValueError(f"--test-size is a share between 0 and 1. Got {test_size:g}.")
    units = Units.of_groups(groups, len(y), "--group")
    n, n_test = len(units), math.ceil(test_size * len(units))
    if n - n_test < 2:
        left = "none is" if n == n_test else "one is"
        raise TableError(
            f"With --test-size {test_size:g}, {n_test:,} of the {units.noun.count(n)} are held out and {left} left to "
            "train on; 2 are needed, because one is left out. Take a smaller share, or give held-out rows with --test."
        )
    by_class = _classes(units, y) if task == "classification" else None
    if by_class is not None:
        counts = np.unique(by_class, return_counts=True)[1]
        by_class = by_class if counts.min() >= 2 and len(counts) <= min(n_test, n - n_test) else None
    train, test = train_test_split(np.arange(n), test_size=n_test, random_state=seed, stratify=by_class)
    rows, held = np.sort(units.rows_of(train)), shuffle(units.rows_of(test), random_state=seed)
    if task == "classification" and len(np.unique(y[rows])) < 2:
        raise TableError(
            f"All rows of the {units.noun.count(len(train))} to train on have one class, {str(y[rows[0]])!r}. Take "
            "another --seed or a smaller --test-size, or give held-out rows with --test."
        )
    return X.iloc[rows], X.iloc[held], y[rows], y[held], groups.iloc[rows], groups.iloc[held]


def _classes(units: Units, y: np.ndarray) -> np.ndarray | None:
    """The class of each unit; None if some unit has several."""
    first = np.array([units.rows_of(np.array([unit]))[0] for unit in range(len(units))])
    of_units: np.ndarray = y[first]
    return of_units if (of_units[units.of_rows] == y).all() else None


def noun(groups: Any) -> Noun:
    """Return what the units of a column are."""
    return Noun.of_column(groups.name)


def sizes(groups: Any) -> str:
    """Say in a sentence how many rows a unit has."""
    counts, many = groups.value_counts(), noun(groups).count(groups.nunique())
    if counts.max() == 1:
        return f"There are {many} with one row each: leaving out one is leaving out a row."
    if counts.min() == counts.max():
        return f"There are {many} with {counts.max():,} rows each."
    return f"There are {many} with {counts.min():,} to {counts.max():,} rows each."


def counted(groups: Any) -> str:
    """Say how many rows of how many units there are: "1,500 rows of 300 patients"."""
    return f"{ROWS.count(len(groups))} of {noun(groups).count(groups.nunique())}"


def trained(n_rows: int, n_test: int, groups: Any, others: Any) -> str:
    """Say in a sentence what was trained on and what held out, of how many units if that is known."""
    if groups is None:
        return f"Trained on {n_rows:,} rows, held out {n_test:,}."
    of = ""
    if others is not None:
        number, new = others.nunique(), "" if _known(groups, others).any() else "other "
        of = f" of {number:,} {new}{noun(groups).singular if number == 1 else noun(groups).plural}"
    return f"Trained on {counted(groups)}, held out {ROWS.count(n_test)}{of}."


def seen_before(groups: Any, others: Any) -> str:
    """Say in a sentence which rows of another table belong to units of this one; "" if none is known to."""
    if groups is None or others is None or not (known := _known(groups, others)).any():
        return ""
    names, number = listed(list(dict.fromkeys(written(others[known])))), int(known.sum())
    belong = f"belong{'s' if number == 1 else ''} to {noun(groups).plural} that were trained on ({names})"
    return f"{number:,} of the {ROWS.count(len(others))} to predict {belong}."


def _known(groups: Any, others: Any) -> Any:
    """Whether each row of another table belongs to a unit of this one; numbers and texts are compared as written."""
    return written(others).isin(set(written(groups))) & others.notna()


def listed(names: list[str]) -> str:
    """Return a few names for a sentence, and "..." for more of them."""
    return ", ".join(names[:_LISTED]) + (", ..." if len(names) > _LISTED else "")


def of_repeats(X: Any) -> tuple[str, ...]:
    """Return the columns that seem to say whose rows are whose, such as patients with several rows, the finest first.

    A column is noticed if its name ends in "id" or the like, or in a unit (patient, user, site, ...), perhaps with
    "no", "code" or the like behind it; if its values are whole numbers or texts, at least 10 different ones; and if
    there are 1.5 to 50 rows for each.
    """
    found = {name: X[name].nunique() for name in X.columns if is_called_like_units(name) and _repeats(X[name])}
    return tuple(sorted(found, key=lambda column: -found[column]))


def suggestion(X: Any, X_test: Any = None) -> str:
    """Say in a sentence which column seems to say whose rows are whose, and what --group would change; "" if none does.

    With held-out rows, it counts those that belong to a group that was trained on.
    """
    if not (found := of_repeats(X)):
        return ""
    name = found[0]
    of, whole = Noun.of_column(name), f"--group {shlex.quote(name)}"
    if X_test is None:
        return (
            f"The column {name} has {X[name].nunique():,} values in {len(X):,} rows. If the rows of {of.any_one} "
            f"belong together, add {whole}: without it, errors and intervals are too small for new {of.plural}."
        )
    known = int(_known(X[name], X_test[name]).sum())
    if not known:
        return ""
    return (
        f"{known:,} of {ROWS.count(len(X_test))} held out {'belongs' if known == 1 else 'belong'} to {of.plural} that "
        f"were trained on ({name}), so the scores flatter predictions for new {of.plural}. If new {of.plural} are what "
        f"you predict, add {whole}: it holds out whole {of.plural}."
    )


def about_dropped(dropped: Any) -> list[str]:
    """Say that a column that seems to say whose rows are whose was left out, though its groups are still there."""
    if not (found := of_repeats(dropped)):
        return []
    name, of = found[0], Noun.of_column(found[0])
    quoted = shlex.quote(name)
    return [
        f"The column {name}, which is left out, has {dropped[name].nunique():,} values in {len(dropped):,} rows. If "
        f"the rows of {of.any_one} belong together, use --group {quoted} instead of --drop {quoted}: otherwise errors "
        f"and intervals are too small for new {of.plural}."
    ]


def _repeats(column: Any) -> bool:
    values = column.dropna()
    whole = values.dtype.kind in "iu" or (values.dtype.kind == "f" and bool((values == values.round()).all()))
    if not whole and values.dtype.kind in "fbMmc":
        return False
    n_units = values.nunique()
    fewest, most = _ROWS_PER_UNIT
    return bool(n_units >= _FEWEST_UNITS and fewest <= len(values) / n_units <= most)
