"""The inputs of commands: tables, models, held-out groups, and checks of options."""

import ast
import importlib
import math
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier, is_regressor
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
from sklearn.utils import get_tags, shuffle

from stablebag._wording import GROUPS, ROWS
from stablebag.cli.budget import settled
from stablebag.cli.options import scheme_of
from stablebag.resampling.schemes import RandomBags, as_law, random_n_bags
from stablebag.resampling.units import Units
from stablebag.tables.columns import KINDS, to_text
from stablebag.tables.roles import in_groups, suggest_group
from stablebag.tables.text import TableError, listed
from stablebag.tables.training import NewRows, TrainingTable, is_larger_than, read_table

# --------------------------------------------------------------------------------------------------------------- checks
# Checks of options before any fit.


def check_level(value: float, option: str) -> None:
    """Raise an error unless the value is between 0 and 1."""
    if not 0 < value < 1:
        raise TableError(f"{option} must be between 0 and 1, such as 0.9, got {value:g}.{_as_percent(value)}")


def check_share(value: float, option: str) -> None:
    """Raise an error unless the value is from 0 to 1."""
    if not 0 <= value <= 1:
        raise TableError(f"{option} must be a share from 0 to 1, such as 0.05, got {value:g}.{_as_percent(value)}")


def _as_percent(value: float) -> str:
    return f" Did you mean {value / 100:g}?" if 1 < value < 100 else ""


# ------------------------------------------------------------------------------------------------------------- learners
# The learner that --model names, with the parameters that --param sets.

TASKS = ("regression", "classification")
_TARGETS = {"regression": "numbers", "classification": "classes"}
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
        _check_kind(name, learner, task)
    own = learner.get_params()
    for parameter in parameters:
        if parameter.partition("__")[0] not in own:
            near = get_close_matches(parameter, own, n=1, cutoff=0.5)
            meant = f" Did you mean {near[0]!r}?" if near else ""
            some = f" Its parameters are {', '.join(own)}." if own else " It has none."
            raise TableError(f"The model {name!r} has no parameter {parameter!r}.{meant}{some}")
    try:
        return learner.set_params(**parameters)
    except ValueError as error:
        raise TableError(f"The model {name!r} does not take these parameters: {_first_line(error)}") from error


def _check_kind(name: str, learner: Any, task: str) -> None:
    """Raise an error for a clusterer or the like, or if the model does not fit the task."""
    wanted, other = ("regressor", "classifier") if task == "regression" else ("classifier", "regressor")
    if (is_regressor if task == "regression" else is_classifier)(learner):
        return
    if (is_classifier if task == "regression" else is_regressor)(learner):
        raise TableError(f"{name} is a {other}, but the target has {_TARGETS[task]}. Pass a {wanted}, or check --task.")
    kind = get_tags(learner).estimator_type if hasattr(learner, "__sklearn_tags__") else None
    if kind is not None:  # an undeclared class may be right
        raise TableError(f"{name} is a {kind.replace('_', ' ')}. Pass a {wanted}.")


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


def parse_parameters(settings: tuple[str, ...]) -> dict[str, Any]:
    """Read ``name=value`` pairs, where a value is a Python literal or else a string.

    >>> parse_parameters(("max_depth=3", "criterion=absolute_error"))
    {'max_depth': 3, 'criterion': 'absolute_error'}
    """
    parameters: dict[str, Any] = {}
    for setting in settings:
        name, equals, value = setting.partition("=")
        if not equals or not name:
            raise TableError(f"Give --param as name=value, such as max_depth=3, got {setting!r}.")
        try:
            parameters[name] = ast.literal_eval(value)
        except (ValueError, SyntaxError):
            parameters[name] = value
    return parameters


def _imported(name: str) -> Any:
    module, colon, attribute = name.partition(":")
    if not colon:
        near = get_close_matches(name.lower(), MODELS, n=1)
        if "." in name:
            near = [":".join(name.rsplit(".", 1))]
        meant = f" Did you mean {near[0]!r}?" if near else ""
        raise TableError(f"There is no model {name!r}.{meant} Use one of {', '.join(MODELS)}, or package.module:Class.")
    try:
        there = importlib.import_module(module)
    except ImportError as error:
        raise TableError(f"The module {module!r} of the model {name!r} cannot be imported: {error}.") from error
    if not hasattr(there, attribute):
        near = get_close_matches(attribute, dir(there), n=1)
        meant = f" Did you mean {module}:{near[0]}?" if near else ""
        raise TableError(f"The module {module!r} has no {attribute!r}.{meant}")
    kind = getattr(there, attribute)
    # Functions are not called: they may do anything, such as end the process.
    if not (isinstance(kind, type) and all(hasattr(kind, method) for method in ("fit", "get_params"))):
        raise TableError(f"{name} is not a scikit-learn estimator. Pass a class such as sklearn.svm:SVR.")
    try:
        return kind()
    except TypeError as error:
        raise TableError(f"The model {name!r} cannot be created without parameters: {error}.") from error


# ---------------------------------------------------------------------------------------------------------------- table
# The training table that the options name.


def read_training_table(options: Mapping[str, Any]) -> TrainingTable:
    """Read the table that the options of the command line name; it stays in its files if it is large."""
    if is_large(options):
        _refuse_in_memory_only(options)
    more = {"test_size": options["test_size"]} if "test_size" in options else {}
    return read_table(
        options["table"],
        options["target"],
        group=options.get("group"),
        ids=options.get("ids", ()),
        drop=options.get("drop", ()),
        kinds=parse_kinds(options.get("kinds", ())),
        task=options.get("task"),
        separator=options.get("sep"),
        decimal=options.get("decimal"),
        encoding=options.get("encoding"),
        max_memory=options.get("max_memory"),
        random_state=options.get("seed", 0),
        **more,
    )


def parse_kinds(given: tuple[str, ...]) -> dict[str, str]:
    """Return the kinds that --kind gives, by the names of columns."""
    kinds = {}
    for text in given:
        name, equals, kind = text.rpartition("=")
        if not equals or not name or kind.strip().lower() not in KINDS:
            raise TableError(f"Give --kind as column=kind, where kind is one of {', '.join(KINDS)}, got {text!r}.")
        kinds[name] = kind.strip().lower()
    return kinds


def is_large(options: Mapping[str, Any]) -> bool:
    """Return whether the table stays in its files, because it is larger than --max-memory."""
    return options.get("max_memory") is not None and is_larger_than(options["table"], options["max_memory"])


def _refuse_in_memory_only(options: Mapping[str, Any]) -> None:
    """Raise an error for options that need all rows in memory."""
    why = {
        "refits": "--refits fits the base model to all rows at once",
        "matched": "--matched refits the bagged model",
        "save": "--save stores the training rows with the model",
    }
    for name, reason in why.items():
        if options.get(name):
            raise TableError(
                f"{reason}, but the table is larger than --max-memory. Remove --{name}, or allow more memory."
            )


# --------------------------------------------------------------------------------------------------------------- groups
# Whole groups held out, and sentences about groups and their rows.


def hold_out_groups(X: Any, y: np.ndarray, groups: Any, test_size: float, task: str, seed: int) -> tuple[Any, ...]:
    """Hold out whole groups, in random order of their rows; return X, X_test, y, y_test, groups, groups_test.

    The share is of the groups. If each group has one class, groups are held out by class if possible.
    """
    if not 0 < test_size < 1:
        raise ValueError(f"--test-size must be between 0 and 1, got {test_size:g}.{_as_percent(test_size)}")
    units = Units.of_groups(groups, len(y), "--group")
    n, n_test = len(units), math.ceil(test_size * len(units))
    if n - n_test < 2:
        left = "none is" if n == n_test else "one is"
        raise TableError(
            f"With --test-size {test_size:g}, {n_test:,} of the {GROUPS.count(n)} are held out and {left} left to "
            "train on, but 2 are needed. Use a smaller share, or pass held-out rows with --test."
        )
    by_class = _classes(units, y) if task == "classification" else None
    if by_class is not None:
        counts = np.unique(by_class, return_counts=True)[1]
        by_class = by_class if counts.min() >= 2 and len(counts) <= min(n_test, n - n_test) else None
    train, test = train_test_split(np.arange(n), test_size=n_test, random_state=seed, stratify=by_class)
    rows, held = np.sort(units.rows_of(train)), shuffle(units.rows_of(test), random_state=seed)
    if task == "classification" and len(np.unique(y[rows])) < 2:
        raise TableError(
            f"All rows of the {GROUPS.count(len(train))} to train on have one class, {str(y[rows[0]])!r}. Use "
            "another --seed or a smaller --test-size, or pass held-out rows with --test."
        )
    return X.iloc[rows], X.iloc[held], y[rows], y[held], groups.iloc[rows], groups.iloc[held]


def _classes(units: Units, y: np.ndarray) -> np.ndarray | None:
    """The class of each group; None if some group has several."""
    first = np.array([units.rows_of(np.array([unit]))[0] for unit in range(len(units))])
    of_units: np.ndarray = y[first]
    return of_units if (of_units[units.of_rows] == y).all() else None


def describe_group_sizes(groups: Any) -> str:
    """Describe how many rows a group has."""
    counts, many = groups.value_counts(), GROUPS.count(groups.nunique())
    if counts.max() == 1:
        return f"There are {many} with one row each, so leaving out a group leaves out a row."
    if counts.min() == counts.max():
        return f"There are {many} with {counts.max():,} rows each."
    return f"There are {many} with {counts.min():,} to {counts.max():,} rows each."


def count_rows(groups: Any) -> str:
    """Count rows and groups in words: "1,500 rows of 300 groups"."""
    return f"{ROWS.count(len(groups))} of {GROUPS.count(groups.nunique())}"


def describe_split(n_rows: int, n_test: int, groups: Any, groups_test: Any) -> str:
    """Describe the numbers of training and held-out rows, and of their groups if known."""
    if groups is None:
        return f"Trained on {n_rows:,} rows, held out {n_test:,}."
    of = ""
    if groups_test is not None:
        number, new = groups_test.nunique(), "" if in_groups(groups, groups_test).any() else "other "
        of = f" of {number:,} {new}{GROUPS.singular if number == 1 else GROUPS.plural}"
    return f"Trained on {count_rows(groups)}, held out {ROWS.count(n_test)}{of}."


def describe_seen_groups(groups: Any, others: Any) -> str:
    """Describe the rows of another table that belong to groups of this one; "" if there are none."""
    if groups is None or others is None or not (known := in_groups(groups, others)).any():
        return ""
    names, number = listed(dict.fromkeys(to_text(others[known]))), int(known.sum())
    belong = f"belong{'s' if number == 1 else ''} to groups that were trained on ({names})"
    return f"{number:,} of the {ROWS.count(len(others))} to predict {belong}."


# ----------------------------------------------------------------------------------------------------------- two tables
# A table to learn from and one to predict: read and checked together before any fit.

_OTHER_COMMAND = {
    "regression": "Intervals are for numbers, but the target {0!r} has classes. Use stablebag sets, or --task "
    "regression if they are numbers.",
    "classification": "Sets of labels are for classes, but the target {0!r} has numbers. Use stablebag interval, or "
    "--task classification if they are classes.",
}
_FEWEST_BAGS = 2


@dataclass(frozen=True)
class TwoTables:
    """A training table and the rows to predict, for `stablebag interval` and `stablebag sets`.

    Attributes
    ----------
    table : TrainingTable
        The table to learn from.
    new : NewRows
        The rows to predict.
    options : dict
        The options of the command line.
    """

    table: TrainingTable
    new: NewRows
    options: dict[str, Any]

    @classmethod
    def read(cls, options: dict[str, Any], test: Path, wanted: str) -> "TwoTables":
        """Read both tables for a command for regression or classification."""
        data = read_training_table(options)
        if data.task != wanted:
            raise TableError(_OTHER_COMMAND[wanted].format(options["target"]))
        return cls(data, data.read_new(test), options)

    @property
    def notes(self) -> list[str]:
        """Sentences about how the tables were read."""
        scope = [self.table.guarantee_scope()] if self.table.decisive else []
        return [*self.table.notes, *self.table.as_read.lines(), *self.new.notes, *scope]

    @property
    def to_fit(self) -> dict[str, Any]:
        """The arguments of `fit`; rows that are not in memory bring their targets and groups."""
        if self.table.is_in_files:
            return {"X": self.table.X}
        return {"X": self.table.X, "y": self.table.y, "groups": self.table.groups}

    @property
    def suggestion(self) -> str:
        """Suggest the column that seems to identify groups; "" if there is none, or groups are given."""
        some = self.table.X_test if self.table.is_in_files else self.table.X
        return suggest_group(some) if self.table.groups is None else ""

    def model(self, kind: Any, *, random_number: bool) -> Any:
        """Return an unfitted model of a kind, with a checked scheme, learner and number of bags.

        The number of bags is chosen by the time limit. If a theorem needs a random number of bags, it is drawn, with
        the chosen number as its average.
        """
        options, data = self.options, self.table
        pipeline = data.pipeline(make_learner(options["model"], data.task, parse_parameters(options["parameters"])))
        scheme = scheme_of(options["scheme"], options["bag_size"])
        noun = ROWS if data.groups is None else GROUPS
        n_units = len(data.y) if data.groups is None else int(data.groups.nunique())
        try:
            as_law(scheme, n_units, kind.__name__)
            load = settled(
                pipeline, data.X, data.y, scheme, units=n_units, noun=noun, n_bags=options["n_bags"],
                n_refits=0, size_is_given=options["bag_size"] is not None, jobs=options["jobs"],
                limit=options["time_limit"], seed=options["seed"],
            )  # fmt: skip
        except ValueError as error:
            of_groups = "" if data.groups is None else f" With --group, bags are drawn of {noun.count(n_units)}."
            raise TableError(f"{error}{of_groups}") from error
        n_bags: int | RandomBags = load.n_bags
        if random_number:
            seed = np.random.default_rng([options["seed"], 1])  # independent of the bags
            n_bags = random_n_bags(load.scheme, n_units, load.n_bags, seed)
            if int(n_bags) < _FEWEST_BAGS:
                raise TableError(
                    f"The number of bags is drawn at random, {load.n_bags} on average, and was {int(n_bags)}. Use a "
                    "larger --n-bags."
                )
        return kind(pipeline, scheme=load.scheme, n_bags=n_bags, n_jobs=options["jobs"], random_state=options["seed"])


def describe_random_bags(model: Any) -> str:
    """Describe the number of bags if it was drawn at random; "" otherwise."""
    if not isinstance(model.n_bags, RandomBags):
        return ""
    return f"{int(model.n_bags):,} bags were fitted; the guarantee needs a number of bags drawn at random."
