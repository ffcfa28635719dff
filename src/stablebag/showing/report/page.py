"""The report: one HTML page about a study."""

import base64
import hashlib
import json
import math
import platform
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import date, datetime, time
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

import numpy
import numpy as np
import sklearn
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from stablebag import __version__
from stablebag._checks import is_missing, refuse_type
from stablebag._wording import ROW_NUMBERS, ROWS, Noun, number, percent, printable, short
from stablebag._writing import write_text
from stablebag.models.fitted import fitted
from stablebag.models.rows import RowSource, fingerprint
from stablebag.proving.scope import Rerun
from stablebag.resampling.units import plain
from stablebag.showing.displays.display import CHANGE
from stablebag.showing.facts import MOST_NAMED, Fact, Facts, ListedRow, RowList, row_lists
from stablebag.showing.report.charts import (
    ChangeCurves,
    Changes,
    Guarantee,
    Picture,
    interactive,
    interval_picture,
    label_picture,
)
from stablebag.showing.study import Study
from stablebag.showing.verdict import UNTIL_CHECKED

# --------------------------------------------------------------------------------------------------------- data as read
# The columns of a table: the kind of each, what is missing, and why some are not used.

# The most important first.
_ROLES = ("target", "group", "id", "dropped", "constant")
_NOUNS = {
    "number": Noun("number", "numbers"),
    "category": Noun("category", "categories"),
    "text": Noun("text", "texts"),
    "date": Noun("date", "dates"),
    "constant": Noun("constant", "constant"),
    "id": Noun("id", "ids"),
    "dropped": Noun("dropped", "dropped"),
}


@dataclass(frozen=True)
class ColumnAsRead:
    """A column of a table, and how it was read.

    Attributes
    ----------
    name : str
        Its name.
    kind : str
        How it was read: number, category, text or date; target or group; id, constant or dropped, which are not used.
    missing : float
        The share of rows with a missing value.
    n_values : int or None
        The number of different values; None if they were not read.
    example : str
        The range of numbers and dates; some values of other columns.
    remark : str
        How its values are written, or why it is not used; empty if there is nothing to say.
    """

    name: str
    kind: str
    missing: float
    n_values: int | None
    example: str
    remark: str = ""


@dataclass(frozen=True)
class DataAsRead:
    """A table, and how it was read.

    Attributes
    ----------
    name : str
        The name of the file.
    n_rows : int
        The number of rows with a target.
    columns : tuple of ColumnAsRead
        The columns, in the order of the file.
    said : tuple of str
        How the file was read, if that is unusual: "with ';' between columns".
    noticed : tuple of str
        Sentences about columns: what looks wrong, and the option that helps.
    warned : tuple of str
        Sentences to read before any result: columns that leak the target, and ratings that became classes.
    row_numbers : str
        A sentence that says which row has number 0; "" if rows have IDs or groups.
    n_sampled : int or None
        The number of rows, drawn at random, used to decide the kinds of columns; None means all rows.
    """

    name: str
    n_rows: int
    columns: tuple[ColumnAsRead, ...]
    said: tuple[str, ...] = ()
    noticed: tuple[str, ...] = ()
    warned: tuple[str, ...] = ()
    row_numbers: str = ROW_NUMBERS
    n_sampled: int | None = None

    def counted(self) -> str:
        """Count the columns by kind: "8 numbers, 3 categories; 1 not used (constant)"."""
        counts = Counter(column.kind for column in self.columns)
        used = [_NOUNS[kind].count(counts[kind]) for kind in ("number", "category", "text", "date") if counts[kind]]
        out = [kind for kind in ("constant", "id", "dropped") if counts[kind]]
        n_out = sum(counts[kind] for kind in out)
        why = _NOUNS[out[0]].singular if n_out == 1 else ", ".join(_NOUNS[kind].count(counts[kind]) for kind in out)
        parts = [", ".join(used) or "no column to learn from", *[f"{n_out:,} not used ({why})"] * bool(n_out)]
        return "; ".join(parts)

    def conclusion(self) -> str:
        """Return a sentence with the number of columns and their kinds."""
        others = sum(column.kind not in ("target", "group") for column in self.columns)
        group = " and the group" if any(column.kind == "group" for column in self.columns) else ""
        columns = "1 column" if others == 1 else f"{others:,} columns"
        return f"{columns} besides the target{group}: {self.counted()}."

    @property
    def title(self) -> str:
        """The title of a table of the columns."""
        sampled = "" if self.n_sampled is None else f", from {self.n_sampled:,} rows drawn at random"
        return f"How the columns of {self.name} were read{sampled}"

    def lines(self) -> list[str]:
        """Return sentences about the table: its columns, how the file was read, and what looks wrong."""
        read = [f"The file was read {_joined(self.said)}."] if self.said else []
        return [self.conclusion(), *read, *self.noticed]

    def shown(self, most: int = 20) -> tuple[ColumnAsRead, ...]:
        """Return the most important columns, in the order of the file.

        First come columns with a role, such as the target, then those with a remark or with missing values.
        """

        def rank(place: int) -> tuple[int, int]:
            column = self.columns[place]
            role = _ROLES.index(column.kind) if column.kind in _ROLES else len(_ROLES)
            return role if role < len(_ROLES) else role + (not column.remark) + (column.missing == 0), place

        first = sorted(range(len(self.columns)), key=rank)[:most]
        return tuple(self.columns[place] for place in sorted(first))

    def rest(self, most: int = 20) -> str:
        """Return a sentence that counts the columns that are not shown; "" if all are."""
        shown = set(self.shown(most))
        others = Counter(column.kind for column in self.columns if column not in shown)
        if not others:
            return ""
        return f"Not shown: {', '.join(_NOUNS[kind].count(number) for kind, number in others.most_common())}."

    def to_dict(self) -> dict[str, Any]:
        """Return a dictionary for JSON."""
        return {**asdict(self), "conclusion": self.conclusion()}


def _joined(parts: tuple[str, ...]) -> str:
    return parts[0] if len(parts) == 1 else ", ".join(parts[:-1]) + " and " + parts[-1]


# ------------------------------------------------------------------------------------------------------------- colophon
# What a report is about, and the details needed to make it again: data, target, model, bags, seed, versions and date.

_NAMES = {
    "DecisionTree": "a decision tree",
    "ExtraTree": "a random tree",
    "ExtraTrees": "a forest of random trees",
    "GradientBoosting": "gradient boosting",
    "HistGradientBoosting": "gradient boosting",
    "KNeighbors": "nearest neighbours",
    "Lasso": "the lasso",
    "LinearRegression": "linear regression",
    "LogisticRegression": "logistic regression",
    "MLP": "a neural network",
    "RandomForest": "a random forest",
    "Ridge": "ridge regression",
    "SVC": "a support vector machine",
    "SVR": "a support vector machine",
}
_LONGEST_COMMAND = 4000  # letters


@dataclass(frozen=True)
class Colophon:
    """What a study is about, and the details needed to make it again.

    Attributes
    ----------
    data : str or None, default=None
        The name of the data, such as the name of a file.
    target : str or None, default=None
        The name of the target.
    learner : str or None, default=None
        The base model in words; None if it is not known.
    model : str or None, default=None
        The base model as code, with the parameters that are not its defaults.
    parameters : dict of str to str, number or None, default={}
        All parameters of the base model.
    scheme : str or None, default=None
        How bags are drawn.
    n_bags : int or None, default=None
        The number of bags.
    seed : int or None, default=None
        The random seed of the bags and the models.
    n_rows : int or None, default=None
        The number of training rows.
    n_samples : int, default=0
        The number of training rows, or of groups such as patients, that are left out one at a time.
    noun : Noun, default=ROWS
        The word for a row or group that is left out.
    command : str or None, default=None
        The command that makes the study again.
    call : str or None, default=None
        The bagged model as code.
    fingerprint : str or None, default=None
        A short hash of the training rows and their targets, as they were read.
    date : str or None, default=None
        The day on which the report was made.

    Examples
    --------
    >>> from stablebag.showing.report.page import Colophon
    >>> Colophon("houses.csv", "price", "a decision tree").title
    'Predicting price from houses.csv with a decision tree'
    """

    data: str | None = None
    target: str | None = None
    learner: str | None = None
    model: str | None = None
    parameters: dict[str, Any] = field(default_factory=dict)
    scheme: str | None = None
    n_bags: int | None = None
    seed: int | None = None
    n_rows: int | None = None
    n_samples: int = 0
    noun: Noun = ROWS
    command: str | None = None
    call: str | None = None
    fingerprint: str | None = None
    date: str | None = None

    @classmethod
    def of(cls, study: Any, *, data: str | None = None, target: Any = None, command: str | None = None) -> "Colophon":
        """Return the colophon of a study, with today's date.

        Parameters
        ----------
        study : Study
            The study. What it does not know is left out: without a model in it, most of the colophon.
        data : str or None, default=None
            The name of the data, such as the name of a file.
        target : str or None, default=None
            The name of the target.
        command : str or None, default=None
            The command that makes the study again.

        Returns
        -------
        Colophon
        """
        model = study.model
        of_model: dict[str, Any] = {}
        if model is not None:
            default = DecisionTreeClassifier() if study.task == "classification" else DecisionTreeRegressor()
            learner = _last_step(default if model.estimator is None else model.estimator)
            of_model = {
                "learner": learner_name(learner),
                "model": _code(learner),
                "parameters": {name: _json_value(value) for name, value in learner.get_params(deep=False).items()},
                "scheme": model.scheme_.describe(study.noun.plural),
                "n_bags": len(model.bags_),
                "seed": _json_value(model.random_state),
                "n_rows": model.units_.n_rows,
                "call": _code(model),
                "fingerprint": _data_fingerprint(model),
            }
        return cls(
            data=None if data is None else printable(data),
            target=None if target is None else printable(target),
            n_samples=study.n_samples,
            noun=study.noun,
            command=None if command is None else printable(command, _LONGEST_COMMAND),
            date=date.today().isoformat(),
            **of_model,
        )

    @property
    def title(self) -> str:
        """A title with the target, the data and the model, where they are known."""
        if self.data is None and self.target is None:
            return "Stability report" if self.learner is None else f"The stability of {self.learner}"
        data = None if self.data is None else f"from {self.data}"
        learner = None if self.learner is None else f"with {self.learner}"
        return " ".join(filter(None, ["Predicting", self.target or "the target", data, learner]))

    @property
    def target_name(self) -> str:
        """The name of the target; "target" if it is not known."""
        return self.target or "target"

    def words(self) -> str:
        """Explain in sentences what the report compares."""
        base = "" if self.learner is None else f"The base model is {self.learner}. "
        copies = "many copies of a model" if self.learner is None else "many such models"
        if self.n_bags is not None:
            copies = copies.replace("many", f"{self.n_bags:,}", 1)
        left_out = "one training row is" if self.noun == ROWS else f"all rows of one {self.noun.singular} are"
        return (
            f"{base}The bagged model averages the predictions of {copies}, each fitted to a part of the training rows "
            f"(a bag). A model is stable if its predictions change little when {left_out} left out."
        )

    def facts(self) -> list[tuple[str, str]]:
        """Return pairs of a name and a value, for people."""
        rows = None if self.n_rows is None else f"{self.n_rows:,}"
        known = {
            "made on": self.date,
            "data": self.data,
            "target": self.target,
            "training rows": rows if self.noun == ROWS else f"{rows} in {self.noun.count(self.n_samples)}",
            "data fingerprint": self.fingerprint,
            "base model": None if self.model is None else printable(self.model, _LONGEST_COMMAND),
            "bags": None if self.n_bags is None else f"{self.n_bags:,} ({self.scheme})",
            "random seed": None if self.seed is None else str(self.seed),
            "versions": ", ".join(f"{name} {version}" for name, version in versions().items()),
        }
        return [(name, value) for name, value in known.items() if value is not None]

    def to_dict(self) -> dict[str, Any]:
        """Return a dictionary for JSON, with the versions of the packages."""
        known = {**asdict(self), "noun": self.noun.singular, "versions": versions()}
        known["unit"] = known.pop("noun")
        return known


def learner_name(learner: Any) -> str:
    """Return the name of a learner in a sentence.

    >>> from sklearn.linear_model import HuberRegressor, Ridge
    >>> learner_name(Ridge()), learner_name(HuberRegressor())
    ('ridge regression', 'HuberRegressor')
    """
    name = type(learner).__name__
    short = name.removesuffix("Regressor").removesuffix("Classifier")
    return _NAMES.get(short, name)


def versions() -> dict[str, str]:
    """Return the versions of the packages that make a study."""
    return {
        "stablebag": __version__,
        "scikit-learn": sklearn.__version__,
        "numpy": numpy.__version__,
        "Python": platform.python_version(),
    }


def _last_step(learner: Any) -> Any:
    """The learner at the end of a pipeline, also if pipelines are nested."""
    while getattr(learner, "steps", None):
        learner = learner.steps[-1][1]
    return learner


def _json_value(value: Any) -> Any:
    """A parameter as a value for JSON."""
    value = plain(value)
    simple = value is None or isinstance(value, bool | int | str) or (isinstance(value, float) and math.isfinite(value))
    return value if simple else _code(value)


def _code(value: Any) -> str:
    """An object as code, on one line and without its memory address, which differs every time."""
    return re.sub(r" at 0x[0-9a-fA-F]+", "", " ".join(repr(value).split()))


def _data_fingerprint(model: Any) -> str | None:
    """A short hash of the training rows and their targets; None if the model does not store them."""
    fit = fitted(model)
    if fit.X is None:
        return None
    both = f"{fingerprint(fit.X)} {fingerprint(np.asarray(fit.y))}"
    return hashlib.blake2b(both.encode(), digest_size=6).hexdigest()


# --------------------------------------------------------------------------------------------------------------- tables
# The report's tables: cells that show a text and are sorted by a number.


class Cell(NamedTuple):
    """A cell: its text, and the number by which it is sorted; None sorts by the text."""

    text: str
    value: float | None = None


@dataclass(frozen=True)
class Table:
    """A table of the report.

    Attributes
    ----------
    name : str
        Its ID in the page.
    caption : str
        Its caption.
    head : tuple of str
        The headings of its columns.
    lines : tuple of tuple of Cell
        Its lines; the first cell of each is the heading of the line.
    sorted_by : int or None, default=None
        The column by which it is sorted, if readers can sort it.
    ascending : bool, default=False
        Whether it is sorted with the smallest first.
    texts : tuple of int, default=()
        The columns of text, apart from the first.
    """

    name: str
    caption: str
    head: tuple[str, ...]
    lines: tuple[tuple[Cell, ...], ...]
    sorted_by: int | None = None
    ascending: bool = False
    texts: tuple[int, ...] = ()

    @classmethod
    def of(
        cls,
        name: str,
        caption: str,
        head: Sequence[str],
        lines: Sequence[Sequence[Cell | float | str]],
        *,
        sorted_by: int | None = None,
        ascending: bool = False,
        texts: Sequence[int] = (),
    ) -> "Table":
        """Make a table of cells, numbers and texts.

        >>> Table.of("t", "A table", ["what", "size"], [["a house", 1234567.0]]).lines[0][1]
        Cell(text='1,234,567', value=1234567.0)
        """
        cells = tuple(tuple(map(cell, line)) for line in lines)
        return cls(name, caption, tuple(head), cells, sorted_by, ascending, tuple(texts))


def cell(value: Cell | float | str) -> Cell:
    """Return a text or a number as a cell."""
    if isinstance(value, Cell):
        return value
    if isinstance(value, str):
        return Cell(value)
    return Cell(short(value), None if math.isnan(value) else float(value))


# ----------------------------------------------------------------------------------------------------------------- rows
# The rows, or groups, that the report names, with the values of their columns.

_MOST_COLUMNS_SHOWN = 12
_FEW = 3  # different texts of one group that fit in a cell
_GROUPED = 10_000  # from this size on, numbers of the data have commas; years have none


@dataclass(frozen=True, eq=False)
class Values:
    """The values of named rows, or of the rows of named groups.

    Attributes
    ----------
    columns : list of str
        The columns to show.
    hidden : int
        The number of other columns.
    known : bool
        Whether the rows of each group are known.
    """

    columns: list[str]
    hidden: int
    known: bool
    _rows: Any
    _rows_of: Callable[[int], list[int]] | None
    _targets: Any
    _by_index: bool
    _places: dict[int, int] | None = None  # the places of rows that were read from a source

    @classmethod
    def of(cls, study: Study, rows: Any) -> "Values":
        """Take the values from the training rows, which may be None. A source reads only the named rows."""
        rows_of, places, source = _rows_of(study), None, rows
        if isinstance(rows, RowSource):
            needed = np.unique([row for each in _named(study) for row in ([] if rows_of is None else rows_of(each))])
            rows, places = rows.take(needed.astype(np.int64)), {int(row): place for place, row in enumerate(needed)}
            rows = rows if hasattr(rows, "iloc") else None
        shown = [] if rows is None or rows_of is None else list(rows.columns)[:_MOST_COLUMNS_SHOWN]
        hidden = max(0, len(rows.columns) - _MOST_COLUMNS_SHOWN) if shown else 0
        targets = None if study.model is None else fitted(study.model).y
        by_index = rows is not None and study.noun == ROWS and source is rows
        names = [printable(name) for name in shown]
        return cls(names, hidden, rows_of is not None, rows, rows_of, targets, by_index, places)

    def name_of(self, position: int, name: Any) -> str:
        """The name of the row, or group, with this number."""
        return printable(self._rows.index[position] if self._by_index else name)

    def cells(self, position: int, counted: bool, targets: bool) -> list[Cell]:
        """The cells of a row or group: the number of its rows and their targets, if asked for, and its columns."""
        rows = [] if self._rows_of is None else self._rows_of(position)
        count = [Cell(f"{len(rows):,}", len(rows))] if counted else []
        target = [shared_value(self._targets[rows]) if rows else Cell("")] if targets else []
        at = rows if self._places is None else [self._places[row] for row in rows]
        return [*count, *target, *(shared_value(self._rows.iloc[at, place]) for place in range(len(self.columns)))]


def shared_value(values: Iterable[Any]) -> Cell:
    """Return the values of all rows of a group as one cell: the shared value, the range, or the number of values.

    Parameters
    ----------
    values : sequence of objects
        The values of the rows.

    Returns
    -------
    Cell
    """
    all_values = np.asarray(values, dtype=object).tolist()
    different = {_text(value): value for value in all_values if not is_missing(value)}
    if len(different) < 2:
        text, value = next(iter(different.items()), (_text(all_values[0]), None))
        return Cell(text, float(value) if value is not None and _is_number(value) else None)
    if all(map(_is_number, different.values())) or all(isinstance(value, datetime) for value in different.values()):
        low, high = min(different.values()), max(different.values())
        return Cell(f"{_text(low)} to {_text(high)}", float(low) if _is_number(low) else low.timestamp())
    return Cell(printable(" / ".join(different)) if len(different) <= _FEW else f"{len(different)} values")


def _named(study: Study) -> list[int]:
    """The numbers of the rows, or groups, that tables may name."""
    return [row.number for listed in row_lists(study) for row in listed.rows[:MOST_NAMED]]


def _rows_of(study: Study) -> Callable[[int], list[int]] | None:
    """A function that returns the rows of a group by its number; None if they are not known."""
    if study.noun == ROWS:
        return lambda position: [position]
    if study.model is None:
        return None
    units = study.model.units_
    return lambda position: units.rows_of(np.array([position])).tolist()


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool) and not is_missing(value)


def _text(value: Any) -> str:
    if is_missing(value):
        return "missing"
    if isinstance(value, datetime) and value.time() == time():
        return value.date().isoformat()
    if not _is_number(value):
        return printable(value)
    if float(value).is_integer():
        return f"{value:,.0f}" if abs(value) >= _GROUPED else f"{value:.0f}"
    return number(value) if abs(value) >= _GROUPED else f"{value:.4g}"


# ------------------------------------------------------------------------------------------------------------- contents
# The report's tables: changes, scores, suspicious rows, decisions, guarantees, and columns.

_MOST_COLUMNS = 40  # of the table of columns
MOST_INFLUENTIAL = "most influential"  # the list of rows where no test was made
_CLEARLY = 2.0  # times the bagging noise: rows of that list with smaller changes are not named
_FIRST_HEADS = {"errors": "error", "changes": "change", "scores": "score", "guarantees": "change"}


@dataclass(frozen=True, eq=False)
class Contents:
    """The tables of a report; each is None if there is nothing to show.

    Attributes
    ----------
    study : Study
        The study.
    colophon : Colophon
        The names of the data and the target.
    values : Values
        The values of named rows.
    data : DataAsRead or None
        How the columns of the table were read.
    """

    study: Study
    colophon: Colophon
    values: Values
    data: DataAsRead | None

    @cached_property
    def facts(self) -> Facts:
        """The facts of the study."""
        return self.study.facts()

    def section(self, name: str) -> Table | None:
        """A table of facts, without empty lines and columns."""
        section = self.facts.section(name)
        facts = [fact for fact in section.facts if any(fact.text(column) for column in section.columns)]
        columns = [column for column in section.columns if any(fact.text(column) for fact in facts)]
        lines: list[list[Cell | float | str]] = [
            [fact.label, *(_cell(fact, column) for column in columns)] for fact in facts
        ]
        heads = (_FIRST_HEADS.get(name, name), *(section.columns[column] for column in columns))
        return Table.of(f"{name}-table", _capital(section.caption), heads, lines) if lines else None

    def note(self, name: str) -> str:
        """How to read a table of facts."""
        return self.facts.section(name).note

    def rows(self, name: str, sorted_by: int = 1) -> Table | None:
        """A list of rows, or groups, with their values; None if it is empty, or if all of it may be bagging noise."""
        found = self.facts.list(name)
        least = _CLEARLY * self.noise if name == MOST_INFLUENTIAL and self.noise > 0 else 0.0
        listed = [] if found is None else [row for row in found.rows if row.numbers.get("change", math.inf) > least]
        if found is None or not listed:
            return None
        caption = _capital(found.caption)
        if len(found.rows) > MOST_NAMED:
            caption += f"; the first {MOST_NAMED} are shown"
        elif len(listed) < len(found.rows):
            clearly = self.study.noun.count(len(listed))
            caption = f"{clearly} that change the predictions most, each by more than twice the bagging noise"
        lines = [(row.number, row.name, *map(cell, _shown(row, found.columns))) for row in listed[:MOST_NAMED]]
        return self._named(name.replace(" ", "-"), caption, found, lines, sorted_by)

    @property
    def noise(self) -> float:
        """The bagging noise of the change by one row, over all test points; NaN if it is not known."""
        if self.study.suspects is not None:
            return self.study.suspects.noise
        moved = self.study.bagged
        return float(np.sqrt(np.mean(moved.noise**2))) if moved.noise_known else math.nan

    @property
    def columns(self) -> Table | None:
        """How each column of the table was read."""
        if self.data is None:
            return None
        lines = [
            (printable(column.name), column.kind,
             Cell("" if not column.missing else percent(column.missing), column.missing),
             Cell("" if column.n_values is None else f"{column.n_values:,}", column.n_values),
             printable(column.example), printable(column.remark, 300))
            for column in self.data.shown(_MOST_COLUMNS)
        ]  # fmt: skip
        sampled = f"; kinds decided from {self.data.n_sampled:,} of them" if self.data.n_sampled is not None else ""
        caption = f"{printable(self.data.name)}: {self.data.n_rows:,} rows with a target{sampled}"
        head = ("column", "read as", "missing", "values", "examples", "remark")
        kept = [place for place in range(len(head)) if any(cell(line[place]).text for line in lines)]
        texts = [new for new, old in enumerate(kept) if old in (1, 4, 5)]
        shown = [[line[place] for place in kept] for line in lines]
        return Table.of("columns", caption, [head[place] for place in kept], shown, texts=texts)

    @property
    def rest(self) -> str:
        """A sentence about the columns that are not shown."""
        return "" if self.data is None else self.data.rest(_MOST_COLUMNS)

    @property
    def _counted(self) -> str:
        """Which row has number 0, for a caption; "" if rows have names."""
        if self.study.noun != ROWS:
            return ""
        numbered = "Rows are numbered from 0." if self.data is None else self.data.row_numbers
        return f"; {numbered[0].lower()}{numbered[1:].rstrip('.')}" if numbered else ""

    def _named(self, name: str, caption: str, found: RowList, lines: Sequence[Any], sorted_by: int) -> Table:
        """A table of rows, or groups, with their values."""
        values, of_groups = self.values, self.study.noun != ROWS and self.values.known
        if of_groups:
            caption += f"; cells show the range of values if the rows of {self.study.noun.any_one} differ"
        caption += self._counted
        if values.hidden:
            caption += f"; {values.hidden:,} more {'column is' if values.hidden == 1 else 'columns are'} not shown"
        of_target = [] if self.study.model is None else [self.colophon.target_name]
        rows = ["rows"] if of_groups else []
        titles = (self.study.noun.singular, *found.columns.values(), *rows, *of_target, *values.columns)
        shown = [
            (values.name_of(position, name), *numbers, *values.cells(position, of_groups, bool(of_target)))
            for position, name, *numbers in lines
        ]
        return Table.of(name, caption, titles, shown, sorted_by=sorted_by)


def _cell(fact: Fact, column: str) -> Cell:
    """A number of a fact as a cell."""
    value = fact.numbers.get(column, math.nan)
    return Cell(fact.text(column), None if math.isnan(value) else value)


def _shown(row: ListedRow, columns: Mapping[str, str]) -> list[Cell | float]:
    """The numbers of a listed row. Residuals are sorted by their size."""
    numbers = [(column, row.numbers[column]) for column in columns]
    shares = ("probability", "usual_probability")
    return [
        Cell(short(value), abs(value)) if column == "residual" else Cell(percent(value), value) if column in shares
        else float(value) for column, value in numbers
    ]  # fmt: skip


def _capital(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"


# ----------------------------------------------------------------------------------------------------------------- page
# The page itself: a template filled with numbers and sentences. Every value of the data is escaped.

_LONGEST_NOTE = 2000  # letters


def write(
    path: str | Path,
    study: Study,
    *,
    colophon: Colophon | None = None,
    data: DataAsRead | None = None,
    rows: Any = None,
    notes: tuple[str, ...] = (),
    warnings: tuple[str, ...] = (),
    requirements: tuple[str, ...] = (),
) -> Path:
    """Write the report of a study to one HTML file that opens offline.

    Parameters
    ----------
    path : str or Path
        The file to write.
    study : Study
        The result of `stablebag.study`; or ``Study.of(...)``, built from existing perturbations, a certificate about
        them and intervals.
    colophon : Colophon or None, default=None
        The names of the data and the target, and the command that makes the report again:
        ``Colophon.of(study, data=..., target=..., command=...)``. None means ``Colophon.of(study)``.
    data : DataAsRead or None, default=None
        How the columns of the table were read.
    rows : DataFrame or None, default=None
        The training rows, to show the values of named rows and groups.
    notes : tuple of str, default=()
        Sentences about the data, such as the number of held-out rows.
    warnings : tuple of str, default=()
        Sentences about suspicious data, such as a column that leaks the target.
    requirements : tuple of str, default=()
        Sentences about what was required of the study, and whether it holds.

    Returns
    -------
    Path
    """
    if not isinstance(study, Study):
        reason = "build one from existing objects with Study.of(bagged, proved, ...)."
        raise refuse_type("study", "report.write", "a Study, as stablebag.study makes it", study, reason)
    try:
        from jinja2 import Environment
    except ImportError as error:
        raise ImportError("Reports need jinja2, matplotlib and bokeh: pip install 'stablebag[report]'.") from error
    colophon = Colophon.of(study) if colophon is None else colophon
    template = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True).from_string(part("page.html.jinja"))
    curves, changes = _curves(study, colophon), _changes(study, colophon)
    contents = Contents(study, colophon, Values.of(study, rows), data)
    chart = interactive(curves, changes)
    scripts = [chart.library, chart.script, part("page.js")]
    n_points, n_compared = len(study.bagged.prediction), study.compared.n_points
    page = template.render(
        style=part("page.css"),
        colophon=colophon,
        study=study,
        facts=contents.facts,
        contents=contents,
        words=_Words.of(study.noun),
        points="the test point" if n_points == 1 else f"the {n_points:,} test points",
        compared_points="1 test point" if n_compared == 1 else f"{n_compared:,} test points",
        guaranteed=_guaranteed(contents.facts, study),
        is_of_refits=_is_of_refits(study),
        notes=[printable(note, _LONGEST_NOTE) for note in notes if data is None or note not in data.lines()],
        warnings=[printable(warning, _LONGEST_NOTE) for warning in warnings],
        requirements=[printable(sentence, _LONGEST_NOTE) for sentence in requirements],
        until_checked=UNTIL_CHECKED,
        curves=curves,
        changes=changes,
        chart=chart,
        pictures={"curves": curves.picture(), "changes": changes.picture(), **_pictures(study, colophon)},
        certificate_json=json.dumps(_certificates(study), indent=1),
        scripts=scripts,
        short=short,
        printable=printable,
        percent=percent,
        hashes=" ".join(map(_hash, scripts)),
    )
    path = Path(path)
    write_text(path, page)
    return path


class _Words(NamedTuple):
    """How the page names the rows or groups that are left out."""

    one: str  # "row" or "group"
    many: str
    training: str  # "training rows" or "groups"
    left_out: str  # "one training row is left out"
    excluded: str  # what the bags of a leave-one-out prediction do not contain

    @classmethod
    def of(cls, noun: Noun) -> "_Words":
        if noun == ROWS:
            return cls(noun.singular, noun.plural, "training rows", "one training row is left out", "that row")
        left_out = f"all rows of one {noun.singular} are left out"
        return cls(noun.singular, noun.plural, noun.plural, left_out, f"any row of that {noun.singular}")


def _guaranteed(facts: Facts, study: Study) -> str:
    """The guarantee for the drawn bags in one sentence, with the measured change that it covers."""
    fact = next((fact for fact in facts if fact.name == "guaranteed change"), None)
    n_points = len(study.bagged.prediction)
    at = "the test point" if n_points == 1 else f"each of the {n_points:,} test points"
    most, them = percent(1 - study.delta), study.noun.plural
    if fact is None or not fact.text("proved"):
        return f"For {most} of the {them}, these bags guarantee nothing."
    what = "the prediction" if study.task == "regression" else "the class probabilities"
    average = "on average over draws of the bags, " if _is_of_refits(study) else ""
    return (
        f"Guaranteed: {average}at {at}, at least {most} of the {them} change {what} by at most {fact.text('proved')}. "
        f"Measured: by at most {fact.text('measured')}."
    )


def _is_of_refits(study: Study) -> bool:
    """Whether the guarantee is about refits: it then holds on average over draws of the bags, and not for each."""
    return study.proved.scope.rerun is Rerun.ANEW


def part(name: str) -> str:
    """Return the text of a file of this room: a template, styles or a script."""
    return files("stablebag.showing.report").joinpath(name).read_text(encoding="utf-8")


def _hash(script: str) -> str:
    """The hash that allows a script of this page to run: browsers run no others."""
    digest = hashlib.sha256(script.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def _changes(study: Study, colophon: Colophon) -> Changes:
    """The changes of both models without the same rows."""
    return Changes(study.compared, _change_of(study, colophon))


def _curves(study: Study, colophon: Colophon) -> ChangeCurves:
    """The changes by the drawn bags, with the guarantee about them."""
    measured, guarantee = {"bagged model": study.bagged}, Guarantee.of(study.proved)
    return ChangeCurves(measured, guarantee, _change_of(study, colophon), study.delta)


def _change_of(study: Study, colophon: Colophon) -> str:
    """What changes, for an axis."""
    if study.task != "regression":
        return "change of the class probabilities"
    return CHANGE.replace("prediction", f"predicted {colophon.target_name}")


def _pictures(study: Study, colophon: Colophon) -> dict[str, Picture | None]:
    if study.intervals is not None:
        targets = study.targets if study.task == "regression" else None
        return {"intervals": interval_picture(study.intervals, targets, colophon.target_name)}
    if study.decisions is None or study.sets is None:
        return {}
    return {"labels": label_picture(study.sets, study.decisions.by_point > 0, study.noun)}


def _certificates(study: Study) -> dict[str, Any]:
    parts = {"of_these_bags": study.proved, "of_bags_drawn_anew": study.anew}
    return {name: certificate.to_dict() for name, certificate in parts.items() if certificate is not None}
