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
from datetime import datetime, time
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
from stablebag._wording import ROW_NUMBERS, ROWS, Noun, number, percent, printable
from stablebag._writing import write_text
from stablebag.models.fitted import fitted
from stablebag.models.rows import RowSource
from stablebag.resampling.units import plain
from stablebag.showing.displays.display import MOVES
from stablebag.showing.facts import MOST_NAMED, Fact, Facts, ListedRow, RowList, row_lists
from stablebag.showing.report.charts import ChangeCurves, Changes, interactive, interval_picture, label_picture
from stablebag.showing.study import Study
from stablebag.showing.verdict import AFTER_CHECKS, ALREADY_STABLE, NOT_COMPARED, STABILIZED, UNTIL_CHECKED

# --------------------------------------------------------------------------------------------------------- data as read
# The data as they were read: what each column was taken for, what is missing, and what was left out and why.

# In the order in which they are told, and in which they matter.
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
    """A column, as it was read.

    Attributes
    ----------
    name : str
        Its name.
    kind : str
        What it was taken for: number, category, text, date; target, group; id, constant or dropped, which are left
        out.
    missing : float
        The share of the rows in which it is missing.
    n_values : int or None
        The number of different values; None if they were not read.
    example : str
        The range of numbers and dates; some values of others.
    remark : str
        How it is written, or why it was left out; empty if there is nothing to say.
    """

    name: str
    kind: str
    missing: float
    n_values: int | None
    example: str
    remark: str = ""


@dataclass(frozen=True)
class DataAsRead:
    """A table, as it was read.

    Attributes
    ----------
    name : str
        The name of the file.
    n_rows : int
        The number of rows with a target.
    columns : tuple of ColumnAsRead
        The columns, in the order of the file.
    said : tuple of str
        How the file was read, where that is not as usual: "with ';' between columns".
    noticed : tuple of str
        Sentences about columns: what looks wrong, and the option that helps.
    warned : tuple of str
        Sentences to read before any result: columns that leak the target, and ratings that were taken for classes.
    row_numbers : str
        A sentence about where the numbers of rows start; "" if rows are called by their ids, or groups.
    n_sampled : int or None
        The number of rows, drawn at random, that the columns were decided from; None if from all.
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
        """Say how many columns of which kind there are: "8 numbers, 3 categories; 1 left out (constant)"."""
        counts = Counter(column.kind for column in self.columns)
        used = [_NOUNS[kind].count(counts[kind]) for kind in ("number", "category", "text", "date") if counts[kind]]
        out = [kind for kind in ("constant", "id", "dropped") if counts[kind]]
        n_out = sum(counts[kind] for kind in out)
        why = _NOUNS[out[0]].singular if n_out == 1 else ", ".join(_NOUNS[kind].count(counts[kind]) for kind in out)
        parts = [", ".join(used) or "none to learn from", *[f"{n_out:,} left out ({why})"] * bool(n_out)]
        return "; ".join(parts)

    def conclusion(self) -> str:
        """Say in a sentence how many columns there are, and what they were taken for."""
        others = sum(column.kind not in ("target", "group") for column in self.columns)
        beside = " and the group" if any(column.kind == "group" for column in self.columns) else ""
        number = "1 column" if others == 1 else f"{others:,} columns"
        return f"{number} beside the target{beside}: {self.counted()}."

    @property
    def title(self) -> str:
        """What a table of the columns is called."""
        sampled = "" if self.n_sampled is None else f" in {self.n_sampled:,} rows drawn at random"
        return f"The columns of {self.name}, as they were read{sampled}"

    def lines(self) -> list[str]:
        """Return what there is to say in sentences: the conclusion, how the file was read, and what was noticed."""
        read = [f"The file was read {_joined(self.said)}."] if self.said else []
        return [self.conclusion(), *read, *self.noticed]

    def shown(self, most: int = 20) -> tuple[ColumnAsRead, ...]:
        """Return the columns that matter most, in the order of the file.

        They are those that are not simply learned from, then those with a remark or with missing values, then the
        others; all of them if there are at most that many.
        """

        def rank(place: int) -> tuple[int, int]:
            column = self.columns[place]
            role = _ROLES.index(column.kind) if column.kind in _ROLES else len(_ROLES)
            return role if role < len(_ROLES) else role + (not column.remark) + (column.missing == 0), place

        first = sorted(range(len(self.columns)), key=rank)[:most]
        return tuple(self.columns[place] for place in sorted(first))

    def rest(self, most: int = 20) -> str:
        """Say in a sentence what the columns that are not shown are; "" if all are."""
        shown = set(self.shown(most))
        others = Counter(column.kind for column in self.columns if column not in shown)
        if not others:
            return ""
        return f"Not shown: {', '.join(_NOUNS[kind].count(number) for kind, number in others.most_common())}."

    def to_dict(self) -> dict[str, Any]:
        """Return all of it as JSON takes it."""
        return {**asdict(self), "conclusion": self.conclusion()}


def _joined(parts: tuple[str, ...]) -> str:
    return parts[0] if len(parts) == 1 else ", ".join(parts[:-1]) + " and " + parts[-1]


# ------------------------------------------------------------------------------------------------------------- colophon
# The colophon of a study: the data, target, learner, bags, seed and versions it is of, and a title that says so.

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
    """What a study is of, and what is needed to make it again.

    Attributes
    ----------
    data : str or None, default=None
        What the data are called, such as the name of a file.
    target : str or None, default=None
        What the target is called.
    learner : str or None, default=None
        The base learner in words; None if it is not known.
    model : str or None, default=None
        The base learner as code, with the parameters that are not its defaults.
    parameters : dict of str to str, number or None, default={}
        All parameters of the base learner.
    scheme : str or None, default=None
        How bags are drawn.
    n_bags : int or None, default=None
        The number of bags.
    seed : int or None, default=None
        The seed of the bags and the learners.
    n_rows : int or None, default=None
        The number of training rows.
    n_samples : int, default=0
        The number of what is left out, one at a time: training rows, or units such as patients.
    noun : Noun, default=ROWS
        What is left out.
    command : str or None, default=None
        The command that makes the study again.

    Examples
    --------
    >>> from stablebag.showing.report.page import Colophon
    >>> Colophon("houses.csv", "price", "a decision tree").title
    'price from houses.csv, by a decision tree'
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

    @classmethod
    def of(cls, study: Any, *, data: str | None = None, target: Any = None, command: str | None = None) -> "Colophon":
        """Return the colophon of a study.

        Parameters
        ----------
        study : Study
            What was studied. What it does not know, as if there is no model in it, is left out.
        data : str or None, default=None
            What the data are called, such as the name of a file.
        target : str or None, default=None
            What the target is called.
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
            }
        return cls(
            data=None if data is None else printable(data),
            target=None if target is None else printable(target),
            n_samples=study.n_samples,
            noun=study.noun,
            command=None if command is None else printable(command, _LONGEST_COMMAND),
            **of_model,
        )

    @property
    def title(self) -> str:
        """What is predicted, from what and by what; less of it where less is known."""
        parts = [self.target or ("a target" if self.data else ""), f"from {self.data}" if self.data else ""]
        what = " ".join(filter(None, parts))
        if not what:
            return "Stability report" if self.learner is None else f"The stability of {self.learner}"
        return what if self.learner is None else f"{what}, by {self.learner}"

    @property
    def target_name(self) -> str:
        """The target's own name; "target" if it is not known."""
        return self.target or "target"

    def facts(self) -> list[tuple[str, str]]:
        """Return what is known, each with its name, for people."""
        counted = {
            "training rows": None if self.n_rows is None else f"{self.n_rows:,}",
            self.noun.plural: None if self.noun == ROWS else f"{self.n_samples:,}",
        }
        bags = None if self.n_bags is None else f"{self.n_bags:,}"
        known = {
            "data": self.data,
            "target": self.target,
            **counted,
            "model": None if self.model is None else printable(self.model, _LONGEST_COMMAND),
            "scheme": self.scheme,
            "bags": bags,
            "seed": None if self.seed is None else str(self.seed),
            "versions": ", ".join(f"{name} {version}" for name, version in versions().items()),
        }
        return [(name, value) for name, value in known.items() if value is not None]

    def to_dict(self) -> dict[str, Any]:
        """Return what is known as a dictionary for JSON, with the versions of what it was made by."""
        known = {**asdict(self), "noun": self.noun.singular, "versions": versions()}
        known["unit"] = known.pop("noun")
        return known


def learner_name(learner: Any) -> str:
    """Return what a learner is called in a sentence.

    >>> from sklearn.linear_model import HuberRegressor, Ridge
    >>> learner_name(Ridge()), learner_name(HuberRegressor())
    ('ridge regression', 'HuberRegressor')
    """
    name = type(learner).__name__
    short = name.removesuffix("Regressor").removesuffix("Classifier")
    return _NAMES.get(short, name)


def versions() -> dict[str, str]:
    """Return the versions of what a study is made by."""
    return {
        "stablebag": __version__,
        "scikit-learn": sklearn.__version__,
        "numpy": numpy.__version__,
        "Python": platform.python_version(),
    }


def _last_step(learner: Any) -> Any:
    """The learner at the end of a pipeline, however deep."""
    while getattr(learner, "steps", None):
        learner = learner.steps[-1][1]
    return learner


def _json_value(value: Any) -> Any:
    """A parameter that JSON takes."""
    value = plain(value)
    simple = value is None or isinstance(value, bool | int | str) or (isinstance(value, float) and math.isfinite(value))
    return value if simple else _code(value)


def _code(value: Any) -> str:
    """An object as code, on one line and without its place in memory, which differs every time."""
    return re.sub(r" at 0x[0-9a-fA-F]+", "", " ".join(repr(value).split()))


# --------------------------------------------------------------------------------------------------------------- tables
# The report's tables: cells that show a text and are sorted by a number.


class Cell(NamedTuple):
    """What a cell shows, and the number by which it is sorted; None if it is sorted as a text."""

    text: str
    value: float | None = None


@dataclass(frozen=True)
class Table:
    """A table of the report.

    Attributes
    ----------
    name : str
        Its name in the page.
    caption : str
        What it shows.
    head : tuple of str
        What its columns are.
    lines : tuple of tuple of Cell
        Its lines; the first cell of each names it.
    sorted_by : int or None, default=None
        For a table that readers can sort, the column by which it is sorted.
    ascending : bool, default=False
        Whether it is sorted with the smallest first.
    texts : tuple of int, default=()
        The columns, beside the first one, that have texts and not numbers.
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
    """Return what is to be shown as a cell."""
    if isinstance(value, Cell):
        return value
    if isinstance(value, str):
        return Cell(value)
    return Cell(number(value), None if math.isnan(value) else float(value))


# ----------------------------------------------------------------------------------------------------------------- rows
# The rows, or units, that the report names, with the values of their rows in cells.

_MOST_COLUMNS_SHOWN = 12  # the most columns of a row, or unit, that are shown
_FEW = 3  # different texts of one unit that fit in a cell
_GROUPED = 10_000  # numbers of the data from which thousands are set apart: years are not


@dataclass(frozen=True, eq=False)
class Values:
    """The values of the rows of what is named.

    Attributes
    ----------
    columns : list of str
        The columns that are shown.
    hidden : int
        How many more there are.
    known : bool
        Whether the rows of what is named are known.
    """

    columns: list[str]
    hidden: int
    known: bool
    _rows: Any
    _rows_of: Callable[[int], list[int]] | None
    _targets: Any
    _by_index: bool
    _places: dict[int, int] | None = None  # of the rows that were read from a source

    @classmethod
    def of(cls, study: Study, rows: Any) -> "Values":
        """Take the values from the training rows of a study, which may be None; from a source, of those named alone."""
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
        """What the row, or unit, of this number is called."""
        return printable(self._rows.index[position] if self._by_index else name)

    def cells(self, position: int, counted: bool, targets: bool) -> list[Cell]:
        """How many rows the unit of this number has and their target, if asked, and the columns that are shown."""
        its = [] if self._rows_of is None else self._rows_of(position)
        count = [Cell(f"{len(its):,}", len(its))] if counted else []
        target = [shared_value(self._targets[its]) if its else Cell("")] if targets else []
        at = its if self._places is None else [self._places[row] for row in its]
        return [*count, *target, *(shared_value(self._rows.iloc[at, place]) for place in range(len(self.columns)))]


def shared_value(values: Iterable[Any]) -> Cell:
    """Return the values of all rows of a unit in one cell: the one that they share, their range, or how many there are.

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
    """What gives the rows of a unit by its number; None if that is not known."""
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
    return number(value) if abs(value) >= _GROUPED else f"{value:.6g}"


# ------------------------------------------------------------------------------------------------------------- contents
# What the report's tables say: moves, scores, suspicious rows, decisions, proofs, and the data as they were read.

_MOST_COLUMNS = 40  # of the data as they were read


@dataclass(frozen=True, eq=False)
class Contents:
    """The tables of a report; each is None if there is nothing to show.

    Attributes
    ----------
    study : Study
        What was measured and proved.
    colophon : Colophon
        What the data and the target are called.
    values : Values
        The values of the rows that are named.
    data : DataAsRead or None
        What each column of the table was taken for.
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
        """A table of facts."""
        section = self.facts.section(name)
        lines: list[list[Cell | float | str]] = [
            [fact.label, *(_cell(fact, column) for column in section.columns)] for fact in section.facts
        ]
        caption = f"{section.caption[:1].upper()}{section.caption[1:]}"
        return Table.of(f"{name}-table", caption, ("what", *section.columns.values()), lines) if lines else None

    def rows(self, name: str, sorted_by: int = 1) -> Table | None:
        """A list of rows, or groups, with their values."""
        found = self.facts.list(name)
        listed = [] if found is None else [row for row in found.rows if row.numbers.get("change", 1.0) > 0][:MOST_NAMED]
        if found is None or not listed:
            return None
        first = "" if len(found.rows) <= MOST_NAMED else f"The first {MOST_NAMED} of "
        lines = [(row.number, row.name, *map(cell, _shown(row, found.columns))) for row in listed]
        return self._named(name.replace(" ", "-"), f"{first}{found.caption}", found, lines, sorted_by)

    @property
    def noise(self) -> float:
        """The bagging noise in how far a row moves the predictions; NaN if it is not known."""
        if self.study.suspects is not None:
            return self.study.suspects.noise
        moved = self.study.bagged
        return float(np.sqrt(np.mean(moved.noise**2))) if moved.noise_known else math.nan

    @property
    def columns(self) -> Table | None:
        """What each column of the table was taken for."""
        if self.data is None:
            return None
        lines = [
            (printable(column.name), column.kind,
             Cell("" if not column.missing else percent(column.missing), column.missing),
             Cell("" if column.n_values is None else f"{column.n_values:,}", column.n_values),
             printable(column.example), printable(column.remark, 300))
            for column in self.data.shown(_MOST_COLUMNS)
        ]  # fmt: skip
        head = ("column", "taken for", "missing", "values", "range, or some of them", "remark")
        sampled = "" if self.data.n_sampled is None else f"; what columns are, from {self.data.n_sampled:,} of them"
        caption = f"{printable(self.data.name)}: {self.data.n_rows:,} rows with a target{sampled}"
        return Table.of("columns", caption, head, lines, texts=(1, 4, 5))

    @property
    def rest(self) -> str:
        """What the columns that are not shown are."""
        return "" if self.data is None else self.data.rest(_MOST_COLUMNS)

    @property
    def _counted(self) -> str:
        """Where the numbers of rows start, for a caption; "" if rows have names."""
        if self.study.noun != ROWS:
            return ""
        said = "Rows are numbered from 0." if self.data is None else self.data.row_numbers
        return f"; {said[0].lower()}{said[1:].rstrip('.')}" if said else ""

    def _named(self, name: str, caption: str, found: RowList, lines: Sequence[Any], sorted_by: int) -> Table:
        """A table of rows, or groups, with their values."""
        values, of_groups = self.values, self.study.noun != ROWS and self.values.known
        if of_groups:
            caption += f"; where the rows of {self.study.noun.any_one} differ, a cell has the range of their values"
        caption += self._counted
        if values.hidden:
            caption += f"; {values.hidden} more columns are not shown"
        of_target = [] if self.study.model is None else [self.colophon.target_name]
        rows = ["rows"] if of_groups else []
        titles = (self.study.noun.singular, *found.columns.values(), *rows, *of_target, *values.columns)
        shown = [
            (values.name_of(position, name), *numbers, *values.cells(position, of_groups, bool(of_target)))
            for position, name, *numbers in lines
        ]
        return Table.of(name, caption, titles, shown, sorted_by=sorted_by)


def _cell(fact: Fact, column: str) -> Cell:
    """A number of a fact as it is read, sorted by its value."""
    value = fact.numbers.get(column, math.nan)
    return Cell(fact.text(column), None if math.isnan(value) else value)


def _shown(row: ListedRow, columns: Mapping[str, str]) -> list[Cell | float]:
    """The numbers of a listed row; what it is off by is sorted by its size."""
    numbers = [(column, row.numbers[column]) for column in columns]
    return [Cell(number(value), abs(value)) if column == "residual" else float(value) for column, value in numbers]


# ----------------------------------------------------------------------------------------------------------------- page
# The page itself: numbers and sentences filled into a template, with every value of the data escaped.

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
) -> Path:
    """Write the report of a study to one HTML file that opens offline.

    Parameters
    ----------
    path : str or Path
        The file to write.
    study : Study
        What was measured and proved, as `stablebag.study` returns it; or ``Study.of(...)``, built from
        existing perturbations, a certificate about them and intervals.
    colophon : Colophon or None, default=None
        What the data and the target are called, and the command that makes the report again, beside what the study
        itself knows: ``Colophon.of(study, data=..., target=..., command=...)``. None is ``Colophon.of(study)``.
    data : DataAsRead or None, default=None
        What each column of the table was taken for.
    rows : DataFrame or None, default=None
        The training rows, to show the values of the rows, or of the rows of the units, that are named.
    notes : tuple of str, default=()
        Sentences about the data, such as how many rows were left out.
    warnings : tuple of str, default=()
        Sentences to read before the verdict, such as a column that leaks the target.

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
    template = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True).from_string(_part("page.html.jinja"))
    moves, changes = _moves(study, colophon), _changes(study, colophon)
    contents = Contents(study, colophon, Values.of(study, rows), data)
    facts, verdict = contents.facts, contents.facts.verdict
    chart = interactive(moves, changes)
    scripts = [chart.library, chart.script, _part("page.js")]
    page = template.render(
        colophon=colophon,
        verdict=verdict,
        careful=bool(warnings) or verdict.case not in (STABILIZED, ALREADY_STABLE, NOT_COMPARED),
        reasons=facts.reasons,
        notes=[printable(note, _LONGEST_NOTE) for note in notes if data is None or note not in data.lines()],
        warnings=[printable(warning, _LONGEST_NOTE) for warning in warnings],
        after_checks=AFTER_CHECKS,
        until_checked=UNTIL_CHECKED,
        study=study,
        noun=study.noun,
        of_units=study.noun != ROWS,
        one="all rows of one " + study.noun.singular if study.noun != ROWS else "one training row",
        are="are" if study.noun != ROWS else "is",
        contents=contents,
        moves=moves,
        changes=changes,
        chart=chart,
        charts={"curves": moves.picture(), "changes": changes.picture(), **_pictures(study, colophon)},
        proved=facts.sentences["proved of these bags"],
        anew=facts.sentences.get("proved of bags drawn anew"),
        certificate_json=json.dumps(_certificates(study), indent=1),
        scripts=scripts,
        number=number,
        printable=printable,
        percent=percent,
        hashes=" ".join(map(_hash, scripts)),
    )
    path = Path(path)
    write_text(path, page)
    return path


def _part(name: str) -> str:
    return files("stablebag.showing.report").joinpath(name).read_text(encoding="utf-8")


def _hash(script: str) -> str:
    """What the page says of a script of its own, so that a browser runs no other."""
    digest = hashlib.sha256(script.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def _changes(study: Study, colophon: Colophon) -> Changes:
    """How far both models change when they are refitted."""
    if study.task != "regression":
        return Changes(study.compared, "change of the class probabilities")
    return Changes(study.compared, f"change of the prediction of {colophon.target_name}")


def _moves(study: Study, colophon: Colophon) -> ChangeCurves:
    """How far predictions move by the bags that were drawn, with what is proved about that."""
    epsilon, share = study.proved.curve("mean")
    known = np.isfinite(epsilon)
    proved = (epsilon[known], share[known]) if known.any() else None
    if study.task != "regression":
        return ChangeCurves({"bagged": study.bagged}, proved, "how far the class probabilities move (at most 1.41)")
    return ChangeCurves(
        {"bagged": study.bagged}, proved, MOVES.replace("prediction", f"prediction of {colophon.target_name}")
    )


def _pictures(study: Study, colophon: Colophon) -> dict[str, Any]:
    if study.intervals is not None:
        targets = study.targets if study.task == "regression" else None
        return {"intervals": interval_picture(study.intervals, targets, colophon.target_name)}
    if study.decisions is None or study.sets is None:
        return {}
    return {"labels": label_picture(study.sets, study.decisions.by_point > 0, study.noun)}


def _certificates(study: Study) -> dict[str, Any]:
    parts = {"of_these_bags": study.proved, "of_bags_drawn_anew": study.anew}
    return {name: certificate.to_dict() for name, certificate in parts.items() if certificate is not None}
