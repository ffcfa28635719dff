"""What each column is, decided by counts of its values; and which single rows would change that by their absence."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

import numpy as np

from stablebag.commands.dates import NEARLY_ALL, date_formats
from stablebag.commands.identities import is_called_like_an_id
from stablebag.commands.refusals import TableError
from stablebag.commands.written_numbers import Spelling, parsed, spelling

FEW_CLASSES = 10  # whole numbers with at most this many values are taken for classes
FEW_VALUES = 50  # texts with at most this many values are categories
TEXT_WORDS = 4  # texts with at least this many words on average are text
FEWEST_IDS = 10  # rows of a table in which values that are all different are names of rows
CHOICES = ("number", "category", "text", "date")


@dataclass(frozen=True)
class Kind:
    """What a column is: a number, a category, a text or a date; or constant or an id, and left out.

    Attributes
    ----------
    name : str
        The kind.
    form : str
        How values are written: of a number, the decimal mark and the sign; of a date, its format.
    """

    name: str
    form: str = ""

    @property
    def is_left_out(self) -> bool:
        """Whether nothing is learned from the column."""
        return self.name in ("constant", "id")


@dataclass(frozen=True)
class Decision:
    """What the columns of a table are, and whose absence would change it.

    Attributes
    ----------
    kinds : dict of str to Kind
        The kind of each column.
    decisive : dict of str to ndarray
        For columns that are read otherwise without some single unit (a row, or all rows of a group), which units.
    has_classes : bool
        Whether the target has classes: texts, or few different whole numbers.
    two_ways : dict of str to str
        For numbers that can be read with a decimal point and with a decimal comma, a value that would be another.
    """

    kinds: dict[str, Kind]
    decisive: dict[str, np.ndarray] = field(default_factory=dict)
    has_classes: bool = False
    two_ways: dict[str, str] = field(default_factory=dict)


def decide(
    frame: Any,
    units: np.ndarray | None = None,
    *,
    chosen: Mapping[str, str] | None = None,
    decimal: str | None = None,
    separator: str | None = None,
    target: str | None = None,
    task: str | None = None,
) -> Decision:
    """Decide what columns are.

    Parameters
    ----------
    frame : DataFrame
        The columns, as a file has them.
    units : ndarray of int or None, default=None
        The unit of each row, counted from 0; None if each row is one.
    chosen : mapping of str to str or None, default=None
        Kinds that are given, by the names of columns.
    decimal : str or None, default=None
        The decimal mark; None if it is to be recognised.
    separator : str or None, default=None
        What is between the columns of the file: with semicolons, decimal commas are likelier.
    target : str or None, default=None
        The column to predict: numbers or classes.
    task : str or None, default=None
        The task; None if it is to be recognised by the target.
    """
    units = np.arange(len(frame)) if units is None else units
    columns = {name: _Column(name, frame[name], units, (chosen or {}).get(name)) for name in frame.columns}
    comma = _has_commas(list(columns.values()), decimal, separator, 1 + units.max(initial=-1))
    kinds, decisive, has_classes = {}, {}, False
    for name, column in columns.items():
        if name == target:
            kinds[name], has_classes, changed = column.decide_target(comma, decimal)
            changed = changed[0] if task is not None else changed[0] | changed[1]
        else:
            kinds[name], changed = column.decide(comma, decimal)
        if changed.any():
            decisive[name] = np.flatnonzero(changed)
    ways = {name: column.two_ways() for name, column in columns.items() if kinds[name].name == "number"}
    two_ways = {} if decimal is not None else {name: text for name, text in ways.items() if text is not None}
    return Decision(kinds, decisive, has_classes, two_ways)


def _has_commas(columns: list["_Column"], decimal: str | None, separator: str | None, n_units: int) -> np.ndarray:
    """Whether numbers that can be read in two ways have decimal commas: in the table, and without each unit.

    More columns must be numbers with decimal commas alone than with decimal points alone; if there are as many, it
    hangs on the separator.
    """
    none = np.zeros(1 + n_units, dtype=int)
    if decimal is not None:
        return np.asarray(none + (decimal == ",")).astype(bool)
    texts = [column for column in columns if column.spelling is not None and column.chosen in (None, "number")]
    ways = [way for column in texts for way in column.ways()]
    commas = reduce(np.add, [comma & ~point for _, point, comma in ways], none)
    points = reduce(np.add, [point & ~comma for _, point, comma in ways], none)
    return np.asarray((commas > points) | ((commas == points) & (separator == ";")))


class _Column:
    """The different values of a column, and how many have a property: in the table, and without each unit."""

    def __init__(self, name: str, column: Any, units: np.ndarray, chosen: str | None) -> None:
        self.name, self.chosen, self.type = name, chosen, column.dtype.kind
        codes, values = factorized(column)
        there, n_units = codes >= 0, 1 + units.max(initial=-1)
        first, last = np.full(len(values), n_units), np.full(len(values), -1)
        np.minimum.at(first, codes[there], units[there])
        np.maximum.at(last, codes[there], units[there])
        self._owners, self._n_units = np.where(first == last, first, -1), n_units
        self.n_rows, self.n_missing = _without(units[there], n_units), _without(units[~there], n_units)
        self.n_values = self.count(np.ones(len(values), dtype=bool))
        self.values = values
        self.texts: list[str] = values.tolist() if self.type == "O" else []
        self.spelling: Spelling | None = spelling(self.texts) if self.type == "O" else None

    def count(self, has: np.ndarray) -> np.ndarray:
        """How many of the different values have a property."""
        return int(has.sum()) - np.append(
            0, np.bincount(self._owners[has & (self._owners >= 0)], minlength=self._n_units)
        )

    def ways(self) -> list[tuple[str, np.ndarray, np.ndarray]]:
        """The signs that there are; with each, whether all values are numbers with it and a point, or a comma."""
        assert self.spelling is not None
        found = []
        for sign in dict.fromkeys(self.spelling.sign.tolist()):
            same = self.spelling.sign == sign
            point, comma = (
                (self.n_values > 0) & (self.count(same & written) == self.n_values)
                for written in (self.spelling.point, self.spelling.comma)
            )
            if point.any() or comma.any():
                found.append((sign, point, comma))
        return found

    def two_ways(self) -> str | None:
        """A value that would be another number with another decimal mark, if all values are numbers with both."""
        how = self.spelling
        if how is None or not how.parted.any() or not (how.point & how.comma).all():
            return None
        return self.texts[int(how.parted.argmax())]

    def decide(self, has_commas: np.ndarray, decimal: str | None) -> tuple[Kind, np.ndarray]:
        """The kind in the table, and without which units it is another one."""
        if self.chosen is not None:
            return self._given(bool(has_commas[0])), np.zeros(self._n_units, dtype=bool)
        options: list[tuple[Kind, np.ndarray]] = []
        plain = np.zeros(1 + self._n_units, dtype=bool)
        unique = (self.n_rows == self.n_values) & (self.n_missing == 0) & (self.n_rows >= FEWEST_IDS)
        options.append((Kind("constant"), self.n_values + (self.n_missing > 0) < 2))
        if self.type == "O":
            plain = self._of_texts(options, unique, has_commas, decimal)
        elif self.type == "M":
            options.append((Kind("date"), plain | True))
        else:
            values = np.asarray(self.values, dtype=float)
            whole = self.count(values == np.round(values)) == self.n_values
            options.append((Kind("id"), unique & whole & is_called_like_an_id(self.name)))
            options.append((Kind("number", "."), plain | True))
        which = np.argmax([holds for _, holds in options], axis=0)
        kinds = [kind for kind, _ in options]
        same = np.array([_reads_alike(kinds[which[0]], kind) for kind in kinds])
        return kinds[which[0]], ((which != which[0]) & ~(same[which] & plain))[1:]

    def decide_target(self, has_commas: np.ndarray, decimal: str | None) -> tuple[Kind, bool, np.ndarray]:
        """How the target is read, whether it has classes, and without which units either is otherwise (two rows)."""
        never = np.zeros(1 + self._n_units, dtype=bool)
        if self.chosen is not None and self.chosen != "number":
            return Kind("category"), True, np.array([never[1:], never[1:]])
        if self.type == "M":
            return Kind("category"), True, np.array([never[1:], never[1:]])
        options: list[tuple[Kind, np.ndarray]] = [(Kind("number", "."), ~never)]
        plain = never
        if self.type == "O":
            given = [] if self.chosen is None else [(self._given(bool(has_commas[0])), ~never)]
            plain = self.count(self.spelling.parted) == 0 if self.spelling is not None else never
            options = given or [*self._numbers(plain, has_commas, decimal), (Kind("category"), ~never)]
        kinds = [kind for kind, _ in options]
        which = np.argmax([holds for _, holds in options], axis=0)
        kind = kinds[which[0]]
        values = parsed(self.texts, kind.form[:1] or ".") if self.type == "O" else np.asarray(self.values, dtype=float)
        few = (self.n_values <= FEW_CLASSES) & (self.count(values != np.round(values)) == 0)
        classes = few | np.array([kind.name == "category" for kind in kinds])[which]
        same = np.array([_reads_alike(kind, other) for other in kinds])
        changed = np.array([(which != which[0]) & ~(same[which] & plain), classes != classes[0]])
        return kind, bool(classes[0]), changed[:, 1:]

    def _numbers(self, plain: np.ndarray, has_commas: np.ndarray, decimal: str | None) -> list[tuple[Kind, np.ndarray]]:
        """The ways in which texts are numbers."""
        found: list[tuple[Kind, np.ndarray]] = []
        for sign, point, comma in self.ways():
            point, comma = point & (decimal != ","), comma & (decimal != ".")
            found.append((Kind("number", f".{sign}"), point & (~comma | ~has_commas | plain)))
            found.append((Kind("number", f",{sign}"), comma))
        return found

    def _of_texts(
        self, options: list[tuple[Kind, np.ndarray]], unique: np.ndarray, has_commas: np.ndarray, decimal: str | None
    ) -> np.ndarray:
        """Add what texts can be; return whether the values are without points and commas."""
        assert self.spelling is not None
        plain = self.count(self.spelling.parted) == 0
        numbers = self._numbers(plain, has_commas, decimal)
        if is_called_like_an_id(self.name):
            fractions = reduce(np.logical_or, [holds for _, holds in numbers], np.zeros_like(plain)) & ~plain
            options.append((Kind("id"), unique & ~fractions))
        options += numbers
        if options and np.logical_or.reduce([holds for _, holds in options]).all():
            return np.asarray(plain)  # whoever is left out, it is one of these
        most_lost = int((self.n_values[0] - self.n_values).max())
        dates = [(Kind("date", form), self.count(found)) for form, found in date_formats(self.texts, most_lost)]
        for share in (1, NEARLY_ALL):  # 05/06/2023 goes with 23/06/2023, though that is one of many
            options += [(form, number >= share * np.maximum(self.n_values, 1)) for form, number in dates]
        words = np.array([len(text.split()) for text in self.texts], dtype=int)
        n_words = words.sum() - np.append(0, np.bincount(self._owners[self._owners >= 0],
                                                         words[self._owners >= 0], self._n_units))  # fmt: skip
        wordy = n_words >= TEXT_WORDS * np.maximum(self.n_values, 1)
        options.append((Kind("text"), wordy & ((self.n_values > FEW_VALUES) | unique)))
        n_numbers = self.count(self.spelling.point | self.spelling.comma)
        options.append((Kind("id"), unique & (2 * n_numbers <= self.n_values)))
        options.append((Kind("category"), plain | True))
        return np.asarray(plain)

    def _given(self, has_commas: bool) -> Kind:
        """The kind that was chosen; what cannot be read so is refused."""
        if self.chosen == "number" and self.type == "O":
            readable = {decimal: int(np.isfinite(parsed(self.texts, decimal)).sum()) for decimal in ".,"}
            if not any(readable.values()):
                raise TableError(f"No value of the column {self.name!r} is a number, so --kind cannot make it one.")
            return Kind("number", max(",." if has_commas else ".,", key=lambda decimal: readable[decimal]))
        if self.chosen == "date" and self.type == "O":
            forms = {form: found.sum() for form, found in date_formats(self.texts, len(self.texts))}
            if not forms:
                raise TableError(f"No value of the column {self.name!r} is a date, so --kind cannot make it one.")
            return Kind("date", max(forms, key=lambda form: forms[form]))
        if self.chosen == "date" and self.type != "M":
            raise TableError(f"The column {self.name!r} has numbers, and --kind cannot make dates of them.")
        if self.chosen == "number" and self.type == "M":
            raise TableError(f"The column {self.name!r} has dates, and --kind cannot make numbers of them.")
        return Kind(self.chosen or "")


def factorized(column: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return which of its different values each row has, -1 if it is missing, and the values."""
    import pandas as pd

    codes, values = pd.factorize(column.to_numpy())
    return codes, values


def _without(units: np.ndarray, n_units: int) -> np.ndarray:
    """How many rows there are: in the table, and without each unit."""
    return len(units) - np.append(0, np.bincount(units, minlength=n_units))


def _reads_alike(one: Kind, other: Kind) -> bool:
    """Whether two kinds read values without points and commas alike."""
    return one.name == other.name == "number" and one.form[1:] == other.form[1:]
