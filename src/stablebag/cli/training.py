"""From a table and options to a learner, rows and targets."""

import ast
import importlib
import math
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from sklearn.base import clone
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.svm import SVC, SVR
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils import shuffle

from stablebag._wording import GROUPS, ROW_NUMBERS, ROWS
from stablebag.cli.budget import settled
from stablebag.cli.options import scheme_of
from stablebag.resampling.schemes import RandomBags, as_law, random_n_bags
from stablebag.resampling.units import Units
from stablebag.showing.report.page import DataAsRead
from stablebag.tables.columns import (
    CHOICES,
    Columns,
    Decision,
    Kind,
    TypedRows,
    about_leaks,
    about_ratings,
    about_two_ways,
    decide,
    described,
    is_called_like_units,
    leaks,
    nearly_numbers,
    plain_frame,
    plainly,
    split_target,
    targets_of,
    typed,
    written,
)
from stablebag.tables.parquet import ParquetTable
from stablebag.tables.subsets import Remainder
from stablebag.tables.text import (
    TableError,
    folders_of,
    footers,
    is_parquet,
    name_of,
    paths_of,
    read_file,
    refuse_uneven,
    refuse_unknown,
    size_in_memory,
)

# ------------------------------------------------------------------------------------------------------------- checking
# What commands check before they fit: levels, folders, and warnings of the library made sentences.


def check_level(value: float, option: str) -> None:
    """Refuse what is no level between 0 and 1; 95 is meant as 0.95."""
    if not 0 < value < 1:
        raise TableError(f"{option} is a level between 0 and 1, such as 0.9. Got {value:g}.{_meant(value)}")


def check_share(value: float, option: str) -> None:
    """Refuse what is no share of the rows; 5 is meant as 0.05."""
    if not 0 <= value <= 1:
        raise TableError(f"{option} is a share from 0 to 1, such as 0.05. Got {value:g}.{_meant(value)}")


def _meant(value: float) -> str:
    return f" Did you mean {value / 100:g}?" if 1 < value < 100 else ""


# -------------------------------------------------------------------------------------------------------------- choices
# What options say about columns: which name rows, which are left out, and which kind they are.


def named_columns(columns: Any, given: tuple[str, ...]) -> tuple[str, ...]:
    """Return names of columns that are there; a text with commas is several, unless a column is called so."""
    found: dict[str, None] = {}
    for text in given:
        names = [text] if text in columns else [name.strip() for name in text.split(",") if name.strip()]
        for name in names:
            refuse_unknown(columns, name)
            found[name] = None
    return tuple(found)


def as_written(given: tuple[str, ...]) -> list[str]:
    """Return the columns that --kind makes categories or texts: in these, a word such as None is a value."""
    pairs = [text.rpartition("=") for text in given]
    return [name for name, _, kind in pairs if kind.strip().lower() in ("category", "text")]


def chosen_kinds(columns: Any, given: tuple[str, ...]) -> dict[str, str]:
    """Return the kinds that --kind gives, by the columns, which must be there."""
    chosen = {}
    for text in given:
        name, equals, kind = text.rpartition("=")
        if not equals or not name or kind.strip().lower() not in CHOICES:
            raise TableError(
                f"Give --kind as column=kind, where the kind is one of {', '.join(CHOICES)}. Got {text!r}."
            )
        refuse_unknown(columns, name)
        chosen[name] = kind.strip().lower()
    return chosen


def refuse_roles(target: str, group: str | None, ids: tuple[str, ...], drop: tuple[str, ...]) -> None:
    """Refuse a target that is an id as well, and a target or group that is left out."""
    for name, said in ((target, "target"), (group, "group")):
        if name is not None and name in drop:
            raise TableError(f"The {said} {name!r} cannot be left out as well. Take it out of --drop.")
    for name in ids:
        if name in drop:
            raise TableError(f"The id {name!r} is no feature, and need not be left out as well. Take it out of --drop.")
    if target in ids:
        raise TableError(f"The target {target!r} cannot be an id as well. Take it out of --id.")


# ------------------------------------------------------------------------------------------------------------- learners
# The learner that --model names, with the parameters that --param sets.

TASKS = ("regression", "classification")
MODELS: dict[str, tuple[Any, Any]] = {
    "tree": (DecisionTreeRegressor(), DecisionTreeClassifier()),
    "forest": (RandomForestRegressor(n_estimators=50), RandomForestClassifier(n_estimators=50)),
    "boosting": (HistGradientBoostingRegressor(), HistGradientBoostingClassifier()),
    "logistic": (None, LogisticRegression(max_iter=1000)),
    "ridge": (Ridge(), None),
    "knn": (KNeighborsRegressor(), KNeighborsClassifier()),
    "mlp": (MLPRegressor(early_stopping=False, max_iter=300), MLPClassifier(max_iter=300)),
    "svm": (SVR(), SVC()),
}


def make_learner(name: str, task: str, parameters: dict[str, Any]) -> Any:
    """Return a learner by its name in `MODELS`, or by ``package.module:Class``, with these parameters set."""
    if name in MODELS:
        known = MODELS[name][TASKS.index(task)]
        if known is None:
            others = ", ".join(other for other, pair in MODELS.items() if pair[TASKS.index(task)] is not None)
            raise TableError(f"The model {name!r} is not for {task}; use one of {others}.")
        learner = clone(known)
    else:
        learner = _imported(name)
    try:
        return learner.set_params(**parameters)
    except ValueError as error:
        raise TableError(f"The model {name!r} does not take a parameter: {str(error).splitlines()[0]}") from error


def parse_parameters(settings: tuple[str, ...]) -> dict[str, Any]:
    """Read ``name=value`` pairs, where a value is a Python literal or else a string.

    >>> parse_parameters(("max_depth=3", "criterion=absolute_error"))
    {'max_depth': 3, 'criterion': 'absolute_error'}
    """
    parameters: dict[str, Any] = {}
    for setting in settings:
        name, equals, value = setting.partition("=")
        if not equals or not name:
            raise TableError(f"Give a parameter as name=value. Got {setting!r}.")
        try:
            parameters[name] = ast.literal_eval(value)
        except (ValueError, SyntaxError):
            parameters[name] = value
    return parameters


def _imported(name: str) -> Any:
    module, colon, attribute = name.partition(":")
    if not colon:
        near = get_close_matches(name.lower(), MODELS, n=1)
        meant = f" Did you mean {near[0]!r}?" if near else ""
        raise TableError(f"There is no model {name!r}.{meant} Use one of {', '.join(MODELS)}, or package.module:Class.")
    try:
        kind = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise TableError(f"The model {name!r} cannot be made: {error}") from error
    # A function is not called to find out what it makes: it may do anything, such as end the process.
    if not (isinstance(kind, type) and all(hasattr(kind, method) for method in ("fit", "get_params"))):
        raise TableError(f"The model {name!r} is not a scikit-learn estimator.")
    try:
        return kind()
    except TypeError as error:
        raise TableError(f"The model {name!r} cannot be made: {error}") from error


# ------------------------------------------------------------------------------------------------------------ row names
# What rows and units are called: by their ids, as they are written, else by their places in the file.


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


# --------------------------------------------------------------------------------------------------------------- groups
# The column that says whose rows are whose: read, refused, held out by whole units, and noticed if it is not given.

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


def sizes(groups: Any) -> str:
    """Say in a sentence how many rows a unit has."""
    counts, many = groups.value_counts(), GROUPS.count(groups.nunique())
    if counts.max() == 1:
        return f"There are {many} with one row each: leaving out one is leaving out a row."
    if counts.min() == counts.max():
        return f"There are {many} with {counts.max():,} rows each."
    return f"There are {many} with {counts.min():,} to {counts.max():,} rows each."


def counted(groups: Any) -> str:
    """Say how many rows of how many units there are: "1,500 rows of 300 groups"."""
    return f"{ROWS.count(len(groups))} of {GROUPS.count(groups.nunique())}"


def trained(n_rows: int, n_test: int, groups: Any, others: Any) -> str:
    """Say in a sentence what was trained on and what held out, of how many units if that is known."""
    if groups is None:
        return f"Trained on {n_rows:,} rows, held out {n_test:,}."
    of = ""
    if others is not None:
        number, new = others.nunique(), "" if _known(groups, others).any() else "other "
        of = f" of {number:,} {new}{'group' if number == 1 else 'groups'}"
    return f"Trained on {counted(groups)}, held out {ROWS.count(n_test)}{of}."


def seen_before(groups: Any, others: Any) -> str:
    """Say in a sentence which rows of another table belong to units of this one; "" if none is known to."""
    if groups is None or others is None or not (known := _known(groups, others)).any():
        return ""
    names, number = listed(list(dict.fromkeys(written(others[known])))), int(known.sum())
    belong = f"belong{'s' if number == 1 else ''} to groups that were trained on ({names})"
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
    whole = f"--group {shlex.quote(name)}"
    if X_test is None:
        return (
            f"The column {name} has {X[name].nunique():,} values in {len(X):,} rows. If the rows of a group "
            f"belong together, add {whole}: without it, errors and intervals are too small for new groups."
        )
    known = int(_known(X[name], X_test[name]).sum())
    if not known:
        return ""
    return (
        f"{known:,} of {ROWS.count(len(X_test))} held out {'belongs' if known == 1 else 'belong'} to groups that "
        f"were trained on ({name}), so the scores flatter predictions for new groups. If new groups are what "
        f"you predict, add {whole}: it holds out whole groups."
    )


def about_dropped(dropped: Any) -> list[str]:
    """Say that a column that seems to say whose rows are whose was left out, though its groups are still there."""
    if not (found := of_repeats(dropped)):
        return []
    name = found[0]
    quoted = shlex.quote(name)
    return [
        f"The column {name}, which is left out, has {dropped[name].nunique():,} values in {len(dropped):,} rows. If "
        f"the rows of a group belong together, use --group {quoted} instead of --drop {quoted}: otherwise errors and "
        "intervals are too small for new groups."
    ]


def _repeats(column: Any) -> bool:
    values = column.dropna()
    whole = values.dtype.kind in "iu" or (values.dtype.kind == "f" and bool((values == values.round()).all()))
    if not whole and values.dtype.kind in "fbMmc":
        return False
    n_units = values.nunique()
    fewest, most = _ROWS_PER_UNIT
    return bool(n_units >= _FEWEST_UNITS and fewest <= len(values) / n_units <= most)


# ------------------------------------------------------------------------------------------------------------- new rows
# How a training table was read, so that other rows are read in the same way, and results are written beside them.


@dataclass(frozen=True)
class NewRows:
    """Rows of another table, read as the training table was.

    Attributes
    ----------
    frame : DataFrame
        The table as its file has it.
    X : DataFrame
        The columns that are learned from; the index has the names of the rows, if there are ids.
    y : ndarray or None
        The targets; None if the table has no such column, or some are missing.
    groups : Series or None
        The units of the rows; None if the table does not tell.
    said : tuple of str
        What could not be read as in the training table, and is missing.
    ids : tuple of str
        The columns that name rows.
    detected : tuple of str
        The columns that were taken for ids because of their names and values; nothing is learned from them.
    """

    frame: Any
    X: Any
    y: np.ndarray | None = None
    groups: Any = None
    said: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()
    detected: tuple[str, ...] = ()

    def kept(self, keep: tuple[str, ...]) -> list[str]:
        """Return the columns to write beside results: all, or those that --keep names and those taken for ids."""
        names = [name for some in keep for name in ([some] if some in self.frame.columns else some.split(","))]
        for name in names:
            refuse_unknown(self.frame.columns, name.strip())
        named = [*self.detected, *(name.strip() for name in names)]
        return list(dict.fromkeys(named)) if keep else list(self.frame.columns)

    def beside(self, results: dict[str, Any], kept: list[str], mark: str) -> Any:
        """Return a table of results: the number of each row, its ids, group and kept columns, and the results.

        Parameters
        ----------
        results : dict of str to array
            The columns of results.
        kept : list of str
            The columns of the new rows that are kept.
        mark : str
            What is put behind the name of a result that a kept column has, too.
        """
        import pandas as pd

        kept = [*self.ids, *(name for name in kept if name not in self.ids)]
        columns: dict[str, Any] = {"row" + " of this table" * ("row" in kept): np.arange(len(self.frame))}
        if not self.ids and not isinstance(self.frame.index, pd.RangeIndex):
            columns[str(self.frame.index.name or "index")] = np.asarray(self.frame.index)
        if self.groups is not None:
            columns[str(self.groups.name)] = self.groups.to_numpy()
        columns |= {name: self.frame[name].to_numpy() for name in kept}
        taken = set(columns)
        columns |= {f"{name} ({mark})" if name in taken else name: values for name, values in results.items()}
        return pd.DataFrame(columns)


@dataclass(frozen=True)
class Reading:
    """How a training table was read.

    Attributes
    ----------
    columns : Columns
        What the columns are.
    target : str
        The name of the target.
    target_kind : Kind
        How the target is written.
    task : str
        "regression" or "classification".
    group : str or None
        The column that says whose rows are whose.
    ids : tuple of str
        The columns that name rows.
    file_options : mapping
        How files are read.
    categories : mapping of str to list of str
        The categories of the training table.
    """

    columns: Columns
    target: str
    target_kind: Kind
    task: str
    group: str | None = None
    ids: tuple[str, ...] = ()
    file_options: Mapping[str, Any] = field(default_factory=dict)
    categories: Mapping[str, list[str]] = field(default_factory=dict)

    @classmethod
    def from_dict(cls, written: Mapping[str, Any]) -> "Reading":
        """Return the reading that `to_dict` has written."""
        parts: dict[str, Any] = {"columns": Columns.from_dict(written["columns"])}
        parts["target_kind"] = Kind(*written["target_kind"])
        rest = {name: written[name] for name in ("target", "task", "group", "file_options", "categories")}
        return cls(**parts, **rest, ids=tuple(written["ids"]))

    def to_dict(self) -> dict[str, Any]:
        """Return the same as JSON takes it."""
        return {
            "target": self.target,
            "task": self.task,
            "group": self.group,
            "ids": list(self.ids),
            "columns": self.columns.to_dict(),
            "target_kind": [self.target_kind.name, self.target_kind.form],
            "file_options": dict(self.file_options),
            "categories": dict(self.categories),
        }

    def read_new(self, path: str | Path, *, needs_target: bool = False) -> NewRows:
        """Read the rows of another file as those of the training table were.

        If targets are needed, rows without one are left out; else the targets count only if none is missing.
        """
        raw = plain_frame(read_file(path, **self.file_options).frame)
        y, known = None, np.ones(len(raw), dtype=bool)
        if self.target in raw.columns:
            known = raw[self.target].notna().to_numpy()
            if needs_target and not known.any():
                raise TableError(f"The target {self.target!r} is missing in every row of {path}.")
        if needs_target:
            raw, known = raw[known], known[known]
        if self.target in raw.columns and known.all():
            y = self._targets(raw, path)
        X = self.columns.read(raw, f"the table {path}")
        lost = {name: int((raw[name].notna() & X[name].isna()).sum()) for name in X.columns}
        said = [
            f"{number:,} of {name!r} in {Path(path).name} cannot be read as {_many(self.columns.kinds[name])}, and are "
            "taken as missing."
            for name, number in lost.items()
            if number
        ]
        said += self._unseen(X, Path(path).name)
        groups = names_of(raw[self.group]) if self.group in raw.columns else None
        ids = tuple(name for name in self.ids if name in raw.columns)
        detected = tuple(name for name in self.columns.named("id") if name in raw.columns)
        index = index_of(raw.reset_index(drop=True), ids if len(ids) == len(self.ids) else ())
        return NewRows(raw.set_axis(index), X.set_axis(index), y, groups, tuple(said), ids, detected)

    def _unseen(self, X: Any, called: str) -> list[str]:
        """What is to be said of categories that the training table does not have."""
        said = []
        for name, known in self.categories.items():
            values = X[name].dropna().astype(str)
            if new := list(dict.fromkeys(values[~values.isin(known)])):
                number = int((~values.isin(known)).sum())
                many = (
                    f"{number:,} values of {name!r} in {called} are"
                    if number > 1
                    else f"1 value of {name!r} in {called} is"
                )
                said.append(f"{many} not in the training table ({listed(new)}), and taken as rare.")
        return said

    def _targets(self, raw: Any, path: str | Path) -> np.ndarray:
        read = Columns({self.target: self.target_kind}).read(raw, f"the table {path}")[self.target]
        if read.isna().any():
            row = int(np.argmax(read.isna().to_numpy()))
            found = str(raw[self.target].iloc[row])
            raise TableError(
                f"The target {self.target!r} in {path} is not a number: {found!r} in row {row}, counted "
                "from 0 below the header. Leave it empty, or leave the column out."
            )
        return targets_of(read, self.task, self.target)


def _many(kind: Kind) -> str:
    return "categories" if kind.name == "category" else f"{kind.name}s"


# --------------------------------------------------------------------------------------------------------------- tables
# A table from a file as training data: its target, its rows' names, its columns, and new rows read as it was.

# Commands ask this file for all that they need of tables.
__all__ = [
    "MODELS", "TASKS", "Columns", "NewRows", "Reading", "TableError", "TrainingTable", "make_learner",
    "parse_parameters",
]  # fmt: skip


@dataclass(frozen=True)
class TrainingTable:
    """A training table: what is learned from, what is predicted, and how it was read.

    Attributes
    ----------
    X : DataFrame
        The columns that are learned from; the index has the names of the rows, if there are ids.
    y : ndarray
        The targets.
    groups : Series or None
        The units of the rows.
    reading : Reading
        How new rows are read in the same way.
    as_read : DataAsRead
        How the table was read, for people.
    n_without_target : int
        The number of rows that were left out because their target is missing.
    decisive : tuple
        The rows or units without which a column, or the target, would be read otherwise.
    """

    X: Any
    y: np.ndarray
    groups: Any
    reading: Reading
    as_read: DataAsRead
    n_without_target: int
    decisive: tuple[Any, ...]

    @property
    def n_rows(self) -> int:
        """The number of rows of the file."""
        return len(self.y) + self.n_without_target

    @property
    def said(self) -> tuple[str, ...]:
        """What is to be said of where the rows are: nothing, as they are in memory."""
        return ()

    @property
    def task(self) -> str:
        """Whether it is "regression" or "classification"."""
        return self.reading.task

    @classmethod
    def from_options(cls, options: Mapping[str, Any]) -> "TrainingTable":
        """Read the table that the options of the command line ask for."""
        about: dict[str, Any] = {"separator": options.get("sep"), "encoding": options.get("encoding")}
        if literal := as_written(options.get("kinds", ())):
            about["as_written"] = literal
        read = read_file(options["table"], **about)
        raw, target, group = plain_frame(read.frame), options["target"], options.get("group")
        for name in (target, *[group] * (group is not None)):
            refuse_unknown(raw.columns, name)
        ids, drop = (named_columns(raw.columns, options.get(name, ())) for name in ("ids", "drop"))
        refuse_roles(target, group, ids, drop)
        chosen = chosen_kinds(raw.columns, options.get("kinds", ()))
        table = raw[_has_target(raw, target, chosen, options.get("decimal"))]
        if len(table) < 2:
            many = "is missing in every row" if not len(table) else "is known in one row, and two are needed"
            raise TableError(f"The target {target!r} {many}.")
        groups = None
        if group is not None:
            groups = names_of(split_group(table.drop(columns=target), group, target)[1])
        X = table.drop(columns=[name for name in {group, *ids, *drop} if name is not None])
        units = None if groups is None else groups.factorize()[0]
        decision = decide(
            X, units, chosen=chosen, decimal=options.get("decimal"), separator=read.separator, target=target,
            task=options.get("task"),
        )  # fmt: skip
        columns = Columns({name: kind for name, kind in decision.kinds.items() if name != target})
        known = Columns({target: decision.kinds[target]}).read(table)
        _, y, task, _ = split_target(known, target, options.get("task"), has_classes=decision.has_classes)
        index = index_of(table, ids)
        typed = columns.read(X.drop(columns=target)).set_axis(index)
        names = index if groups is None else groups.drop_duplicates()
        decisive = _decisive(decision, names)
        leaking = leaks(typed, y, task, groups, skip=of_repeats(typed)[:1] if groups is None else ())
        noticed = [*nearly_numbers(X, columns), *about_two_ways(decision)]
        warned = about_leaks(leaking, target) + about_ratings(known[target], target, task, options.get("task"))
        warned += about_ids(index, ids) + (about_dropped(table[list(drop)]) if groups is None else [])
        as_read = DataAsRead(
            name=name_of(options["table"]),
            n_rows=len(y),
            columns=tuple(
                described(
                    table,
                    typed.assign(**{target: known[target].to_numpy()}),
                    decision.kinds,
                    target=target,
                    group=group,
                    ids=ids,
                    drop=drop,
                    leaking=[leak.column for leak in leaking],
                )
            ),
            said=(*read.said, *_decimals(decision, options.get("decimal"))),
            noticed=tuple(noticed),
            warned=tuple(warned),
            row_numbers="" if ids or group is not None else numbered(options["table"]),
        )
        if groups is not None:
            groups = groups.set_axis(index)
        known = {name: sorted(typed[name].dropna().astype(str).unique()) for name in columns.named("category")}
        reading = Reading(columns, target, decision.kinds[target], task, group, ids, about, known)
        return cls(typed, y, groups, reading, as_read, len(raw) - len(y), decisive)

    def covered(self, trained: Any = None) -> str:
        """Say in a sentence whether the guarantee covers also what the columns were taken for.

        Parameters
        ----------
        trained : Index, Series or None, default=None
            The rows or units that are trained on; None if all are.
        """
        names = self.X.index if self.groups is None else self.groups
        trained = names if trained is None else trained
        among = set(trained)
        found = [name for name in self.decisive if name in among]
        noun = ROWS if self.groups is None else GROUPS
        if not found:
            return (
                f"Without any single {noun.singular}, every column would be read as it is, so the guarantee covers the "
                "reading as well."
            )
        one = len(found) == 1
        which = f"{noun.singular if one else noun.plural} {listed([str(name) for name in found])}"
        numbers = f" {self.as_read.row_numbers}" if self.as_read.row_numbers else ""
        return (
            f"Without {'' if one else 'one of '}the {which}, some column would be read otherwise, so the guarantee is "
            f"not about {'it' if one else 'them'} ({len(found):,} of {len(among):,}). --kind, --drop or --task decides "
            f"how it is read.{numbers}"
        )

    def pipeline(self, learner: Any) -> Any:
        """Return the learner behind a reader of these columns; all of it is fitted inside each bag."""
        return self.reading.columns.pipeline(learner)

    def read_new(self, path: str | Path, *, needs_target: bool = False) -> NewRows:
        """Read the rows of another file as those of this table were; needed targets must share a class with them."""
        new = self.reading.read_new(path, needs_target=needs_target)
        if needs_target and self.task == "classification" and new.y is not None and not set(new.y) & set(self.y):
            raise TableError(f"No class of {path} is in the training table.")
        return new


def _has_target(raw: Any, target: str, chosen: Mapping[str, str], decimal: str | None) -> Any:
    """Which rows have a target; one that must be a number and is none is missing."""
    there = raw[target].notna()
    if chosen.get(target) != "number" or not there.any():
        return there
    kinds = decide(raw[[target]], chosen=chosen, decimal=decimal).kinds
    return Columns(kinds).read(raw)[target].notna()


def _decisive(decision: Decision, names: Any) -> tuple[Any, ...]:
    """The names of the units without which something would be read otherwise."""
    found = list(decision.decisive.values())
    if not found:
        return ()
    return tuple(np.asarray(names, dtype=object)[np.unique(np.concatenate(found))].tolist())


def _decimals(decision: Decision, decimal: str | None) -> list[str]:
    """What is to be said of decimal commas, if they were recognised."""
    forms = [kind.form for kind in decision.kinds.values() if kind.name == "number"]
    return ["with ',' for decimals"] if decimal is None and any(form.startswith(",") for form in forms) else []


# --------------------------------------------------------------------------------------------------------- large tables
# A training table that does not fit into memory: rows held out first, columns decided from them, the rest in files.

MOST_HELD_OUT = 10_000
_SHARE = 0.2  # of the rows, that is held out at most
_OF_MEMORY = 4  # at most one in so many bytes is for rows that are held out
_FEW_TARGETS = 1_000  # different numbers from which on targets are no classes
_MOST_CATEGORIES = 100_000  # of a column, that are remembered
_BLOCK = 2**16  # rows that are looked through at once


@dataclass(frozen=True)
class LargeTable:
    """A training table in Parquet files that is larger than the memory there is for it.

    No training row has a say in how columns are read: that is decided from the rows that are held out.

    Attributes
    ----------
    X : TypedRows
        The training rows, in their files.
    X_test : DataFrame
        The rows that are held out, in random order.
    y_test : ndarray
        Their targets.
    groups_test : Series or None
        Their units.
    reading : Reading
        How new rows are read in the same way.
    as_read : DataAsRead
        How the rows that are held out were read, for people.
    n_without_target : int
        The number of rows that were left out because their target is missing.
    said : tuple of str
        What it means that the rows are not in memory, and which of their values were met later.
    """

    X: TypedRows
    X_test: Any
    y_test: np.ndarray
    groups_test: Any
    reading: Reading
    as_read: DataAsRead
    n_without_target: int
    said: tuple[str, ...]

    @property
    def y(self) -> np.ndarray:
        """The targets of the training rows."""
        return self.X.targets()

    @property
    def groups(self) -> Any:
        """Their units, or None."""
        return self.X.groups()

    @property
    def n_rows(self) -> int:
        """The number of rows of the files."""
        return sum(self.X.table.row_counts)

    @property
    def task(self) -> str:
        """Whether it is "regression" or "classification"."""
        return self.reading.task

    @classmethod
    def from_options(cls, options: Mapping[str, Any]) -> "LargeTable":
        """Read what has to be known of the table that the options of the command line ask for.

        A share of its rows is held out, 10,000 at the most.
        """
        share = options.get("test_size", _SHARE)
        if not 0 < share < 1:
            raise ValueError(f"--test-size is a share of the rows between 0 and 1. Got {share:g}.")
        table, target, group = options["table"], options["target"], options.get("group")
        schema = _schema(table)
        for name in (target, *[group] * (group is not None)):
            refuse_unknown(schema.names, name)
        drop = named_columns(schema.names, options.get("drop", ()))
        refuse_roles(target, group, (), drop)
        chosen = chosen_kinds(schema.names, options.get("kinds", ()))
        features = [name for name in schema.names if name not in {target, group, *drop}]
        _refuse_nested(schema, features, target, paths_of(table)[0])
        if not features:
            raise TableError("The table has no column to learn from: all are left out.")
        refuse_uneven(table, drop)
        files = [str(path) for path in paths_of(table)]
        about = {"groups": group, "max_memory": options["max_memory"]}
        whole = ParquetTable(files, target, columns=features, **about)
        if whole.n_samples < 2:
            many = "is missing in every row" if not whole.n_samples else "is known in one row, and two are needed"
            raise TableError(f"The target {target!r} {many}.")
        y, kind, task, strange = _targets(whole.targets(), target, chosen, options)
        if whole.groups() is not None:
            split_group(whole.groups().to_frame(), str(group), target)  # which refuses what is none
        held_out = _held_out(whole, share, options["seed"])
        sample = whole.take(held_out)
        flags = tuple(name for name in features if str(schema.field(name).type) == "bool")
        plain = _frame(plainly({name: sample[name] for name in features}, flags), sample.index)
        decision = decide(plain, chosen=_without(chosen, target), decimal=options.get("decimal"))
        columns = Columns(decision.kinds)
        if not columns.used:
            raise TableError("The table has no column to learn from: all are constant, empty, ids or left out.")
        used = whole if columns.used == features else ParquetTable(files, target, columns=columns.used, **about)
        gone = np.union1d(held_out, strange)
        texts = [name for name in columns.used if plain[name].dtype.kind == "O"]
        known = {name: set(typed(sample, columns, flags)[name].dropna()) for name in columns.named("category")}
        seen = _looked_through(files, target, texts, gone, columns, flags, known, options["max_memory"])
        shuffled = np.random.default_rng([options["seed"], 3]).permutation(len(held_out))
        shuffled = shuffled[~np.isin(held_out[shuffled], strange)]
        X, X_test = TypedRows(used, gone, columns, y, flags), typed(sample, columns, flags).iloc[shuffled]
        X_test.index = used.places(held_out[shuffled])
        others = None if whole.groups() is None else whole.groups().iloc[held_out[shuffled]].set_axis(X_test.index)
        told = y[held_out[shuffled]]
        leaking = leaks(X_test, told, task, others, skip=of_repeats(X_test)[:1] if others is None else ())
        warned = about_leaks(leaking, target) + about_ratings(told, target, task, options.get("task"))
        as_read = DataAsRead(
            name=name_of(table),
            n_rows=len(y) - len(strange),
            columns=tuple(
                described(
                    _with_others(plain, whole, target, y, held_out),
                    typed(sample, columns, flags).assign(**{target: y[held_out]}),
                    {**decision.kinds, target: kind},
                    names=schema.names,
                    target=target,
                    group=group,
                    ids=(),
                    drop=drop,
                    leaking=[leak.column for leak in leaking],
                )
            ),
            noticed=(*nearly_numbers(plain, columns), *about_two_ways(decision)),
            warned=tuple(warned),
            row_numbers="" if group is not None else numbered(table),
            n_sampled=len(held_out),
        )
        categories = {name: sorted(values) for name, values in known.items() if len(values) <= _MOST_CATEGORIES}
        reading = Reading(columns, target, kind, task, group, (), {}, categories)
        n_gone = whole.n_missing_targets_ + len(strange)
        said = (_about(table, options["max_memory"], len(held_out)), *seen)
        return cls(X, X_test, y[held_out[shuffled]], others, reading, as_read, n_gone, said)

    def covered(self, trained: Any = None) -> str:
        """Say in a sentence that the guarantee covers also what the columns were taken for."""
        return (
            f"What each column is was decided from the {ROWS.count(self.as_read.n_sampled or 0)} drawn first, none of "
            "which is trained on, so the guarantee covers the reading as well."
        )

    def pipeline(self, learner: Any) -> Any:
        """Return the learner behind a reader of these columns; all of it is fitted inside each bag."""
        return self.reading.columns.pipeline(learner)

    def read_new(self, path: Any, *, needs_target: bool = False) -> NewRows:
        """Read the rows of another file as those of this table are; needed targets must share a class with them."""
        new = self.reading.read_new(path, needs_target=needs_target)
        if needs_target and self.task == "classification" and new.y is not None and not set(new.y) & set(self.y):
            raise TableError(f"No class of {path} is in the training table.")
        return new


def is_large(options: Mapping[str, Any]) -> bool:
    """Return whether a table is read from its files, because it is larger than the memory there is for it."""
    return is_parquet(options["table"]) and size_in_memory(options["table"]) > options["max_memory"]


def refuse_in_memory_only(options: Mapping[str, Any]) -> None:
    """Refuse options that need all rows in memory, in a sentence each."""
    why = {
        "refits": "--refits fits the base model to all rows at once",
        "matched": "--matched fits the bagged model again",
        "save": "--save keeps the training rows with the model",
    }
    larger = "and the table is larger than --max-memory"
    for name, said in why.items():
        if options.get(name):
            raise TableError(f"{said}, {larger}. Leave --{name} out, or allow more memory.")
    if options.get("ids"):
        raise TableError(
            f"--id holds the names of all rows in memory, {larger}. Leave the column out with --drop, so that rows are "
            "called by their places in the files, or allow more memory."
        )


def about_other_files(options: Mapping[str, Any]) -> tuple[str, ...]:
    """Say that a file that is no Parquet is read into memory, though it is larger than the memory there is for rows."""
    table = options["table"]
    size = sum(path.stat().st_size for path in paths_of(table) if path.is_file())
    if is_parquet(table) or size <= options["max_memory"]:
        return ()
    return (
        f"{name_of(table)} is larger than --max-memory ({amount(options['max_memory'])}), and was read into memory all "
        "the same: only Parquet files can be read in portions. docs/large_data.md has the lines that convert a CSV "
        "file.",
    )


def amount(n_bytes: float) -> str:
    """Return an amount of memory for people.

    >>> amount(240_000_000), amount(1_500_000_000), amount(20_000)
    ('240 MB', '1.5 GB', '20 kB')
    """
    for unit, name in ((10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
        if n_bytes >= unit:
            return f"{float(f'{n_bytes / unit:.3g}'):,g} {name}"
    return f"{n_bytes:,.0f} bytes"


def _schema(table: Any) -> Any:
    import pyarrow.parquet as pq

    schema = pq.read_schema(paths_of(table)[0])
    twice = next((name for name in schema.names if schema.names.count(name) > 1), None)
    if twice is not None:
        raise TableError(f"The table {name_of(table)} has two columns called {twice!r}. Rename one.")
    for footer in footers(table)[1:]:  # columns that the first file lacks are refused, unless they are left out
        for column in footer.schema.to_arrow_schema():
            schema = schema if column.name in schema.names else schema.append(column)
    return folders_of(table).added(schema)


def _refuse_nested(schema: Any, features: list[str], target: str, path: Any) -> None:
    import pyarrow.types as pt

    for name in (target, *features):
        kind, what = schema.field(name).type, "target" if name == target else "column"
        nested = "Predict a column of single values." if name == target else "Leave it out with --drop, or split it."
        if pt.is_nested(kind):
            raise TableError(f"The {what} {name!r} of {path} has lists or the like in it. {nested}")
        if pt.is_binary(kind) or pt.is_large_binary(kind) or pt.is_fixed_size_binary(kind):
            instead = "Write it as text." if name == target else "Leave it out with --drop."
            raise TableError(f"The {what} {name!r} has bytes in it. {instead}")


def _targets(
    found: np.ndarray, target: str, chosen: Mapping[str, str], options: Mapping[str, Any]
) -> tuple[np.ndarray, Kind, str, np.ndarray]:
    """All targets as numbers or classes, how they are written, the task, and the rows whose target is no number.

    What they are is decided by their different values, of all rows.
    """
    import pandas as pd

    task, kinds = options.get("task"), {name: kind for name, kind in chosen.items() if name == target}
    numeric = found.dtype.kind in "iuf"
    if numeric and not np.isfinite(found).all():
        raise TableError(f"The target {target!r} has infinite values.")
    if numeric and not kinds and (task == "regression" or (task is None and _are_many(found))):
        # As they are: a list of different values would take several times their memory.
        return found.astype(float, copy=False), Kind("number", "."), "regression", np.empty(0, np.int64)
    codes, values = pd.factorize(found)
    plain = plain_frame(pd.DataFrame({target: values}))
    decision = decide(plain, chosen=kinds, decimal=options.get("decimal"), target=target, task=task)
    read = Columns({target: decision.kinds[target]}).read(plain)
    _, typed_values, task, _ = split_target(read, target, task, has_classes=decision.has_classes)
    is_known = read[target].notna().to_numpy()
    places = np.cumsum(is_known) - 1
    strange = np.flatnonzero(~is_known[codes])
    return typed_values[places[codes]], decision.kinds[target], task, strange


def _are_many(numbers: np.ndarray) -> bool:
    """Whether there are so many different numbers that they are no classes; few blocks tell it of most targets."""
    seen: np.ndarray = numbers[:0]
    for start in range(0, len(numbers), _BLOCK):
        seen = np.union1d(seen, numbers[start : start + _BLOCK])
        if len(seen) > _FEW_TARGETS:
            return True
    return False


def _held_out(table: ParquetTable, share: float, seed: int) -> np.ndarray:
    """The numbers of the rows that are held out, drawn before anything else; with groups, all rows of some units."""
    import pandas as pd

    n, generator = table.n_samples, np.random.default_rng([seed, 2])
    most = max(100, table.max_memory // (_OF_MEMORY * 8 * max(1, table.n_features)))
    number = int(min(math.ceil(share * n), MOST_HELD_OUT, most))
    groups = table.groups()
    if groups is None:
        if n - number < 2:
            raise TableError(f"{ROWS.count(n)} are too few to hold some out. Take a smaller --test-size, or --test.")
        return np.sort(generator.choice(n, number, replace=False))
    codes, names = pd.factorize(groups)
    order = generator.permutation(len(names))
    sizes = np.bincount(codes, minlength=len(names))[order]
    last = min(max(1, int(np.searchsorted(np.cumsum(sizes), number, side="right"))), len(names) - 2)
    if last < 1:
        raise TableError(f"{len(names):,} units are too few to hold some out: 2 are needed to train on. Use --test.")
    return np.flatnonzero(np.isin(codes, order[:last]))


def _looked_through(
    files: list[str], target: str, texts: list[str], gone: np.ndarray, columns: Columns, flags: tuple[str, ...],
    known: dict[str, set[str]], max_memory: int,
) -> list[str]:  # fmt: skip
    """Look through the texts of all training rows: say what does not fit the kind; `known` gets all categories."""
    if not texts:
        return []
    rest = Remainder(ParquetTable(files, target, columns=texts, max_memory=max_memory), gone)
    some, first = (
        Columns({name: columns.kinds[name] for name in texts}),
        {name: set(known.get(name, ())) for name in texts},
    )
    lost, new = dict.fromkeys(texts, 0), dict.fromkeys(known, 0)
    for block in rest.blocks(_BLOCK):
        plain, read = plainly({name: block[name] for name in texts}, flags), typed(block, some, flags)
        for name in texts:
            lost[name] += int((plain[name].notna() & read[name].isna()).sum())
            if name in known and len(known[name]) <= _MOST_CATEGORIES:
                values = read[name].dropna()
                new[name] += int((~values.isin(first[name])).sum())
                known[name] |= set(values.unique())
    said = [
        f"{number:,} of {name!r} in the training rows cannot be read as {columns.kinds[name].name}s, and are taken as "
        "missing."
        for name, number in lost.items()
        if number
    ]
    for name, number in new.items():
        if number and len(known[name]) <= _MOST_CATEGORIES:
            others = sorted(known[name] - first[name])
            what = "a category" if len(others) == 1 else f"{len(others):,} categories"
            rows = "1 training row has" if number == 1 else f"{number:,} training rows have"
            said.append(
                f"In {name!r}, {rows} {what} that no row has from which the columns were decided ({listed(others)}); "
                "bags learn from those that they have."
            )
    return said


def _about(table: Any, max_memory: int, n_held_out: int) -> str:
    """What it means that the table is not in memory."""
    size = amount(size_in_memory(table))
    where = "its file, which is" if len(paths_of(table)) == 1 else "its files, which are"
    return (
        f"The table would take about {size} in memory, more than --max-memory ({amount(max_memory)}), so its rows stay "
        f"in {where} read once for each portion of the bags; what its columns are was decided from "
        f"{ROWS.count(n_held_out)} that were drawn first (by --seed) and "
        "are not trained on."
    )


def _with_others(plain: Any, table: ParquetTable, target: str, y: np.ndarray, rows: np.ndarray) -> Any:
    """The features of some rows with what else was read of them: the target, and the group if there is one."""
    others = {target: y[rows]}
    if (groups := table.groups()) is not None:
        others[str(groups.name)] = groups.iloc[rows].to_numpy()
    return plain.assign(**others)


def _without(chosen: Mapping[str, str], target: str) -> dict[str, str]:
    return {name: kind for name, kind in chosen.items() if name != target}


def _frame(columns: Mapping[str, Any], index: Any) -> Any:
    import pandas as pd

    return pd.DataFrame(dict(columns), index=index)


# ----------------------------------------------------------------------------------------------------------- two tables
# A table to learn from and one to predict: read and checked together, before anything is fitted, and written together.
#
# `stablebag interval` and `stablebag sets` read their tables so, and `stablebag predict` its one.

_OTHERWISE = {
    "regression": "Intervals are for numbers, but the target {0!r} has classes. Use stablebag sets, or --task "
    "regression if they are numbers.",
    "classification": "Sets are of labels, but the target {0!r} has numbers. Use stablebag interval, or --task "
    "classification if they are classes.",
}
_FEWEST_BAGS = 2


@dataclass(frozen=True)
class TwoTables:
    """A training table and the rows to predict, and the model that is to be fitted.

    Attributes
    ----------
    data : TrainingTable or LargeTable
        The table to learn from.
    new : NewRows
        The rows to predict.
    options : dict
        The options of the command line.
    """

    data: TrainingTable | LargeTable
    new: NewRows
    options: dict[str, Any]

    @classmethod
    def read(cls, options: dict[str, Any], test: Path, wanted: str) -> "TwoTables":
        """Read both tables for a command that is for regression or for classification."""
        if is_large(options):
            refuse_in_memory_only(options)
        data = LargeTable.from_options(options) if is_large(options) else TrainingTable.from_options(options)
        if data.task != wanted:
            raise TableError(_OTHERWISE[wanted].format(options["target"]))
        return cls(data, data.read_new(test), options)

    @property
    def X(self) -> Any:  # noqa: N802 (as everywhere)
        """The training rows."""
        return self.data.X

    @property
    def y(self) -> np.ndarray:
        """Their targets."""
        return self.data.y

    @property
    def groups(self) -> Any:
        """Their units, or None."""
        return self.data.groups

    @property
    def notes(self) -> list[str]:
        """Sentences about how the tables were read."""
        said = self.data.said or about_other_files(self.options)
        return [*said, *self.data.as_read.lines(), *self.new.said, self.data.covered()]

    @property
    def to_fit(self) -> dict[str, Any]:
        """What a model is fitted to; rows that are not in memory have their targets and units with them."""
        if isinstance(self.data, LargeTable):
            return {"X": self.X}
        return {"X": self.X, "y": self.y, "groups": self.groups}

    @property
    def suggestion(self) -> str:
        """Say in a sentence which column seems to tell units; "" if none does, or they are given."""
        some = self.data.X_test if isinstance(self.data, LargeTable) else self.X
        return suggestion(some) if self.groups is None else ""

    @property
    def n_units(self) -> int:
        """The number of rows, or of units."""
        return len(self.y) if self.groups is None else int(self.groups.nunique())

    def model(self, console: Console, kind: Any, *, random_number: bool) -> Any:
        """Return a model of a kind that is to be fitted; scheme, learner and number of bags are checked.

        How many bags there is time for is settled here. If a theorem is for a random number of bags, their number is
        drawn, that many on average.
        """
        options = self.options
        learner = make_learner(options["model"], self.data.task, parse_parameters(options["parameters"]))
        pipeline, noun = self.data.pipeline(learner), ROWS if self.groups is None else GROUPS
        scheme = scheme_of(options["scheme"], options["bag_size"])
        about = {"n_bags": options["n_bags"], "n_refits": 0, "size_is_given": options["bag_size"] is not None}
        run = {"jobs": options["jobs"], "limit": options["time_limit"], "seed": options["seed"]}
        try:
            as_law(scheme, self.n_units, kind.__name__)
            load = settled(console, pipeline, self.X, self.y, scheme, units=self.n_units, noun=noun, **about, **run)
        except ValueError as error:
            raise TableError(noun.in_place_of_rows(str(error)) if noun != ROWS else str(error)) from error
        n_bags: int | RandomBags = load.n_bags
        if random_number:
            seed = np.random.default_rng([options["seed"], 1])  # not that of the bags
            n_bags = random_n_bags(load.scheme, self.n_units, load.n_bags, seed)
            if int(n_bags) < _FEWEST_BAGS:
                raise TableError(
                    f"The number of bags is drawn at random, {load.n_bags} on average, and came out as "
                    f"{int(n_bags)}. Take more of them with --n-bags."
                )
        jobs, seed_of_bags = options["jobs"], options["seed"]
        return kind(pipeline, scheme=load.scheme, n_bags=n_bags, n_jobs=jobs, random_state=seed_of_bags)


def about_bags(model: Any) -> str:
    """Say in a sentence how many bags were fitted, if that was drawn at random; "" otherwise."""
    if not isinstance(model.n_bags, RandomBags):
        return ""
    return f"{int(model.n_bags):,} bags were fitted: a number drawn at random, for which this is proved."
