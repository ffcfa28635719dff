"""Columns of a table: their kinds, how they are parsed, the target, and remarks about them.

`infer_kinds` uses only counts of different values. So it knows for which single rows (or groups) a column would get
another kind if that row were missing. `Columns` parses any table by these kinds, and builds the pipeline that turns
columns into numbers inside each bag.
"""

import datetime
import decimal
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

from stablebag._wording import ROWS, option, printable
from stablebag.models.rows import row_by_row
from stablebag.showing.report.page import ColumnAsRead
from stablebag.tables.text import (
    NEARLY_ALL,
    Spelling,
    TableError,
    check_column_name,
    date_formats,
    date_order,
    date_parts,
    listed,
    parse_dates,
    parse_numbers,
    quoted,
    spelling,
)

# ---------------------------------------------------------------------------------------------------------------- names
# Names that IDs and groups usually have: patient_id, user, site, or the number of a row.

_IDENTITIES = {"id", "ids", "uid", "uuid", "guid", "identifier"}
_UNITS = {
    "patient", "subject", "participant", "respondent", "person", "individual", "donor", "animal", "mouse", "rat",
    "plant", "tree", "customer", "client", "user", "member", "employee", "worker", "student", "pupil", "teacher",
    "author", "speaker", "player", "team", "driver", "household", "family", "litter", "school", "hospital", "clinic",
    "physician", "doctor", "site", "centre", "center", "lab", "company", "firm", "store", "shop", "account", "card",
    "device", "sensor", "machine", "vehicle", "station", "farm", "plot", "village",
}  # fmt: skip
_ALONE = {"group", "groups", "cluster"}  # but not age_group
_ENDINGS = {"no", "nr", "number", "code", "key", "name"}  # as in patient_no
_COUNTS = {"n", "num", "number", "count", "per", "of", "mean", "total"}  # n_patient is a number
_ROWS = {"index", "row", "rownames", "rowname", "rownumber", "rowid", "unnamed"}


def looks_like_group_name(name: str) -> bool:
    """Whether a column has a name that columns of groups usually have, such as patient_id."""
    parts = _parts(name)
    if not parts or set(parts[:-1]) & _COUNTS:
        return False
    if parts[-1] in _IDENTITIES or parts[0] in _IDENTITIES:
        return True
    if len(parts) == 1 and parts[0] in _ALONE:
        return True
    return parts[-1] in _UNITS or (len(parts) > 1 and parts[-1] in _ENDINGS and parts[-2] in _UNITS)


def looks_like_id_name(name: str) -> bool:
    """Whether a column has a name that row IDs usually have: id, patient_no, index, or none."""
    return looks_like_group_name(name) or "".join(_parts(name)) in _ROWS


def _parts(name: str) -> list[str]:
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)
    return re.sub(r"[\W_\d]+", " ", words).lower().split()


# ---------------------------------------------------------------------------------------------------------------- kinds
# The kind of each column, inferred from counts of its values, and the single rows that matter for it.

FEW_CLASSES = 10  # a target of whole numbers with at most this many values has classes
FEW_VALUES = 50  # texts with at most this many values are categories
TEXT_WORDS = 4  # texts with at least this many words on average are free text
FEWEST_IDS = 10  # a column of different values is an ID if the table has at least this many rows
KINDS = ("number", "category", "text", "date")


@dataclass(frozen=True)
class Kind:
    """The kind of a column: number, category, text or date; or constant or id, which are not used as features.

    Attributes
    ----------
    name : str
        The kind.
    form : str
        How the values are written: the decimal mark and sign of a number, or the format of a date.
    """

    name: str
    form: str = ""

    @property
    def plural(self) -> str:
        """The plural, for sentences about values."""
        return "categories" if self.name == "category" else f"{self.name}s"

    @property
    def is_left_out(self) -> bool:
        """Whether the column is not used as a feature."""
        return self.name in ("constant", "id")


@dataclass(frozen=True)
class InferredKinds:
    """The kinds of the columns of a table, and the rows or groups that they depend on.

    Attributes
    ----------
    kinds : dict of str to Kind
        The kind of each column.
    decisive : dict of str to ndarray
        For each column that would be parsed differently without some single unit (a row or a group): these units.
    has_classes : bool
        Whether the target has classes: texts, or few different whole numbers.
    two_ways : dict of str to str
        For each column that could have decimal points or decimal commas: a value that would then be another number.
    """

    kinds: dict[str, Kind]
    decisive: dict[str, np.ndarray] = field(default_factory=dict)
    has_classes: bool = False
    two_ways: dict[str, str] = field(default_factory=dict)


def infer_kinds(
    frame: Any,
    units: np.ndarray | None = None,
    *,
    chosen: Mapping[str, str] | None = None,
    decimal: str | None = None,
    separator: str | None = None,
    target: str | None = None,
    task: str | None = None,
) -> InferredKinds:
    """Infer the kinds of columns from their values.

    Parameters
    ----------
    frame : DataFrame
        The columns, as the file has them.
    units : ndarray of int or None, default=None
        The group of each row, counted from 0; None if each row is its own group.
    chosen : mapping of str to str or None, default=None
        Kinds that the user gave, by column.
    decimal : str or None, default=None
        The decimal mark; None infers it.
    separator : str or None, default=None
        The separator of the file. With semicolons, decimal commas are more likely.
    target : str or None, default=None
        The column to predict.
    task : str or None, default=None
        The task; None infers it from the target.
    """
    units = np.arange(len(frame)) if units is None else units
    columns = {name: _Column(name, frame[name], units, (chosen or {}).get(name)) for name in frame.columns}
    comma = _has_commas(list(columns.values()), decimal, separator, 1 + units.max(initial=-1))
    kinds, decisive, has_classes = {}, {}, False
    for name, column in columns.items():
        if name == target:
            kinds[name], has_classes, changed = column.infer_target(comma, decimal)
            changed = changed[0] if task is not None else changed[0] | changed[1]
        else:
            kinds[name], changed = column.infer_kind(comma, decimal)
        if changed.any():
            decisive[name] = np.flatnonzero(changed)
    ways = {name: column.two_ways() for name, column in columns.items() if kinds[name].name == "number"}
    two_ways = {} if decimal is not None else {name: text for name, text in ways.items() if text is not None}
    return InferredKinds(kinds, decisive, has_classes, two_ways)


def _has_commas(columns: list["_Column"], decimal: str | None, separator: str | None, n_units: int) -> np.ndarray:
    """Whether ambiguous numbers have decimal commas: in the table, and in the table without each unit.

    They do if more columns can only be read with decimal commas than only with decimal points. In a tie, the separator
    decides.
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
    """The different values of a column; counts are arrays: for the table, and for the table without each unit."""

    def __init__(self, name: str, column: Any, units: np.ndarray, chosen: str | None) -> None:
        self.name, self.chosen, self.type = name, chosen, column.dtype.kind
        codes, values = factorize(column)
        there, n_units = codes >= 0, 1 + units.max(initial=-1)
        first, last = np.full(len(values), n_units), np.full(len(values), -1)
        np.minimum.at(first, codes[there], units[there])
        np.maximum.at(last, codes[there], units[there])
        self._owners, self._n_units = np.where(first == last, first, -1), n_units
        self.n_rows, self.n_missing = _counts_without(units[there], n_units), _counts_without(units[~there], n_units)
        self.n_values = self.count(np.ones(len(values), dtype=bool))
        self.values = values
        self.texts: list[str] = values.tolist() if self.type == "O" else []
        self.spelling: Spelling | None = spelling(self.texts) if self.type == "O" else None

    def count(self, has: np.ndarray) -> np.ndarray:
        """How many of the different values are in a mask."""
        return int(has.sum()) - np.append(
            0, np.bincount(self._owners[has & (self._owners >= 0)], minlength=self._n_units)
        )

    def ways(self) -> list[tuple[str, np.ndarray, np.ndarray]]:
        """The signs in the column; for each, whether all values are numbers with it and a point, or a comma."""
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
        """A value that would be another number with the other decimal mark, if all values can be read with both."""
        how = self.spelling
        if how is None or not how.parted.any() or not (how.point & how.comma).all():
            return None
        return self.texts[int(how.parted.argmax())]

    def infer_kind(self, has_commas: np.ndarray, decimal: str | None) -> tuple[Kind, np.ndarray]:
        """The kind, and a mask of the units whose removal would change it."""
        if self.chosen is not None:
            return self._chosen_kind(bool(has_commas[0])), np.zeros(self._n_units, dtype=bool)
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
            options.append((Kind("id"), unique & whole & looks_like_id_name(self.name)))
            options.append((Kind("number", "."), plain | True))
        which = np.argmax([holds for _, holds in options], axis=0)
        kinds = [kind for kind, _ in options]
        same = np.array([_reads_alike(kinds[which[0]], kind) for kind in kinds])
        return kinds[which[0]], ((which != which[0]) & ~(same[which] & plain))[1:]

    def infer_target(self, has_commas: np.ndarray, decimal: str | None) -> tuple[Kind, bool, np.ndarray]:
        """The kind of the target, whether it has classes, and for both, the units whose removal would change them."""
        never = np.zeros(1 + self._n_units, dtype=bool)
        if self.chosen is not None and self.chosen != "number":
            return Kind("category"), True, np.array([never[1:], never[1:]])
        if self.type == "M":
            return Kind("category"), True, np.array([never[1:], never[1:]])
        options: list[tuple[Kind, np.ndarray]] = [(Kind("number", "."), ~never)]
        plain = never
        if self.type == "O":
            given = [] if self.chosen is None else [(self._chosen_kind(bool(has_commas[0])), ~never)]
            plain = self.count(self.spelling.parted) == 0 if self.spelling is not None else never
            options = given or [*self._numbers(plain, has_commas, decimal), (Kind("category"), ~never)]
        kinds = [kind for kind, _ in options]
        which = np.argmax([holds for _, holds in options], axis=0)
        kind = kinds[which[0]]
        values = (
            parse_numbers(self.texts, kind.form[:1] or ".")
            if self.type == "O"
            else np.asarray(self.values, dtype=float)
        )
        few = (self.n_values <= FEW_CLASSES) & (self.count(values != np.round(values)) == 0)
        classes = few | np.array([kind.name == "category" for kind in kinds])[which]
        same = np.array([_reads_alike(kind, other) for other in kinds])
        changed = np.array([(which != which[0]) & ~(same[which] & plain), classes != classes[0]])
        return kind, bool(classes[0]), changed[:, 1:]

    def _numbers(self, plain: np.ndarray, has_commas: np.ndarray, decimal: str | None) -> list[tuple[Kind, np.ndarray]]:
        """The ways in which all texts are numbers."""
        found: list[tuple[Kind, np.ndarray]] = []
        for sign, point, comma in self.ways():
            point, comma = point & (decimal != ","), comma & (decimal != ".")
            found.append((Kind("number", f".{sign}"), point & (~comma | ~has_commas | plain)))
            found.append((Kind("number", f",{sign}"), comma))
        return found

    def _of_texts(
        self, options: list[tuple[Kind, np.ndarray]], unique: np.ndarray, has_commas: np.ndarray, decimal: str | None
    ) -> np.ndarray:
        """Append the kinds that texts can have; return whether the values have neither points nor commas."""
        assert self.spelling is not None
        plain = self.count(self.spelling.parted) == 0
        numbers = self._numbers(plain, has_commas, decimal)
        if looks_like_id_name(self.name):
            fractions = reduce(np.logical_or, [holds for _, holds in numbers], np.zeros_like(plain)) & ~plain
            options.append((Kind("id"), unique & ~fractions))
        options += numbers
        if options and np.logical_or.reduce([holds for _, holds in options]).all():
            return np.asarray(plain)  # one of these fits, whichever unit is left out
        most_lost = int((self.n_values[0] - self.n_values).max())
        dates = [(Kind("date", form), self.count(found)) for form, found in date_formats(self.texts, most_lost)]
        for share in (1, NEARLY_ALL):  # a single 23/06/2023 decides how 05/06/2023 is read
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

    def _chosen_kind(self, has_commas: bool) -> Kind:
        """The kind that the user gave, if the values can be parsed so."""
        if self.chosen == "number" and self.type == "O":
            readable = {decimal: int(np.isfinite(parse_numbers(self.texts, decimal)).sum()) for decimal in ".,"}
            if not any(readable.values()):
                raise TableError(
                    f"No value of the column {self.name!r} is a number. Give it another kind, or leave out "
                    f"{option('kinds')}."
                )
            return Kind("number", max(",." if has_commas else ".,", key=lambda decimal: readable[decimal]))
        if self.chosen == "date" and self.type == "O":
            forms = {form: found.sum() for form, found in date_formats(self.texts, len(self.texts))}
            if not forms:
                raise TableError(
                    f"No value of the column {self.name!r} is a date in a format that stablebag knows. Give it another "
                    f"kind, or leave out {option('kinds')}."
                )
            return Kind("date", max(forms, key=lambda form: forms[form]))
        if self.chosen == "date" and self.type != "M":
            raise TableError(f"The column {self.name!r} has numbers, which cannot be read as dates: change its kind.")
        if self.chosen == "number" and self.type == "M":
            raise TableError(f"The column {self.name!r} has dates, which cannot be read as numbers: change its kind.")
        return Kind(self.chosen or "")


def factorize(column: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return a code for each row (-1 if missing), and the different values that the codes stand for."""
    import pandas as pd

    codes, values = pd.factorize(column.to_numpy())
    return codes, values


def _counts_without(units: np.ndarray, n_units: int) -> np.ndarray:
    """The number of rows: in the table, and in the table without each unit."""
    return len(units) - np.append(0, np.bincount(units, minlength=n_units))


def _reads_alike(one: Kind, other: Kind) -> bool:
    """Whether two kinds parse values without points and commas in the same way."""
    return one.name == other.name == "number" and one.form[1:] == other.form[1:]


# -------------------------------------------------------------------------------------------------------------- columns
# The columns of a table, parsed by the kinds of the training table, and the pipeline that turns them into numbers.

_MOST_CATEGORIES = 50
_NESTED = (list, dict, tuple, set, np.ndarray)
_TEXT_FEATURES = 64


@dataclass(frozen=True)
class Columns:
    """The kinds of the columns, inferred once from the training table.

    In the pipeline, a missing number becomes the median, with a column that marks it. Missing is a category,
    and rare and unknown categories are merged. A text becomes hashed words. A date becomes the day, the time of year
    and the weekday.

    Attributes
    ----------
    kinds : mapping of str to Kind
        The kind of each column, in the order of the table.
    """

    kinds: Mapping[str, Kind]

    @classmethod
    def of(cls, frame: Any) -> "Columns":
        """Infer the kinds from the training table without its target."""
        return cls(infer_kinds(plain_frame(frame)).kinds)

    @classmethod
    def from_dict(cls, kinds: Mapping[str, list[str]]) -> "Columns":
        """Return the columns from what `to_dict` returned."""
        return cls({name: Kind(*kind) for name, kind in kinds.items()})

    def to_dict(self) -> dict[str, list[str]]:
        """Return the kind of each column, and how its values are written, for JSON."""
        return {name: [kind.name, kind.form] for name, kind in self.kinds.items()}

    def named(self, kind: str) -> list[str]:
        """Return the names of the columns of this kind."""
        return [name for name, its in self.kinds.items() if its.name == kind]

    @property
    def used(self) -> list[str]:
        """The names of the features."""
        return [name for name, kind in self.kinds.items() if not kind.is_left_out]

    def read(self, frame: Any, called: str = "the table") -> Any:
        """Return the features as numbers, dates and texts; values that cannot be parsed become missing.

        Raises an error if the table lacks a feature, or if no value of a feature can be parsed. `called` is the name of
        the table in this error.
        """
        import pandas as pd

        found = {}
        for name in self.used:
            if name not in frame.columns:
                _check_present(frame, name, called)
            kind, column = self.kinds[name], plain_column(frame[name])
            found[name] = read = self.column(column, kind)
            if column.notna().any() and not read.notna().any():
                raise TableError(
                    f"The column {name!r} has {kind.plural} in the training table, but no value in {called} is one."
                )
        return pd.DataFrame(found, index=frame.index)

    @staticmethod
    def column(column: Any, kind: Kind) -> Any:
        """Return a column of numpy's types as numbers, dates or texts; values that cannot be parsed become missing."""
        return _READERS[kind.name](column, kind.form)

    def pipeline(self, learner: Any) -> Pipeline:
        """Return a pipeline that turns these columns into numbers for the learner; each bag fits all of it."""
        numbers = make_pipeline(
            SimpleImputer(strategy="median", add_indicator=True, keep_empty_features=True), StandardScaler()
        )
        categories = make_pipeline(
            FunctionTransformer(as_categories, feature_names_out="one-to-one"),
            OneHotEncoder(handle_unknown="infrequent_if_exist", max_categories=_MOST_CATEGORIES, sparse_output=False),
        )
        dates = make_pipeline(
            FunctionTransformer(date_parts), SimpleImputer(keep_empty_features=True), StandardScaler()
        )
        words = HashingVectorizer(n_features=_TEXT_FEATURES, alternate_sign=True)
        steps: list[tuple[str, Any, Any]] = [
            ("numbers", numbers, self.named("number")),
            ("categories", categories, self.named("category")),
            ("dates", dates, self.named("date")),
        ]
        # The last step does nothing: scikit-learn 1.6 takes a pipeline that ends in the hashing for not fitted.
        texts = make_pipeline(FunctionTransformer(as_text), words, FunctionTransformer())
        for name in self.named("text"):
            steps.append((f"text {name}".replace("__", "_"), texts, name))
        used = [step for step in steps if len(step[2])]
        if not used:
            raise no_features()
        reader = ColumnTransformer(used, sparse_threshold=0.0)
        return Pipeline([("columns", reader), ("learner", learner)])


def no_features() -> TableError:
    """Build the error for a table without features."""
    return TableError("The table has no column to learn from: all are constant, empty, IDs or left out.")


@row_by_row
def as_categories(frame: Any) -> Any:
    """Return texts, with "missing" for missing values."""
    return frame.astype(object).where(frame.notna(), "missing").astype(str)


@row_by_row
def as_text(column: Any) -> Any:
    """Return texts, empty for missing values."""
    return column.astype(object).where(column.notna(), "").astype(str)


def plain_frame(frame: Any, optional: Collection[str] = ()) -> Any:
    """Return a table whose columns are numbers, dates or texts of numpy's types.

    Columns that cannot be converted raise an error, unless they are optional: then they are left out.
    """
    import pandas as pd

    found = {}
    for name in frame.columns:
        try:
            found[name] = plain_column(frame[name])
        except TableError:
            if name not in optional:
                raise
    return pd.DataFrame(found, index=frame.index)


def plain_column(column: Any) -> Any:
    """Return a column of any type as numbers, dates or texts; missing texts are None, infinite numbers missing."""
    import pandas as pd

    if isinstance(column.dtype, pd.CategoricalDtype):
        column = column.astype(column.cat.categories.dtype if not column.isna().any() else object)
    kind = column.dtype.kind
    if kind == "M":
        return column if getattr(column.dtype, "tz", None) is None else column.dt.tz_convert("UTC").dt.tz_localize(None)
    if kind == "m":
        return column / pd.Timedelta(days=1)
    if kind in "iuf":
        if not isinstance(column.dtype, np.dtype):  # one of pandas' types with missing values
            column = column.astype(float) if kind == "f" or column.isna().any() else column.astype(np.int64)
        return column.where(~np.isinf(column)) if kind == "f" and np.isinf(column).any() else column
    if kind == "c":
        raise TableError(
            f"The column {column.name!r} has complex numbers. Leave it out with {option('drop')}, or write their parts "
            "as two columns."
        )
    if isinstance(column.dtype, pd.StringDtype):
        return pd.Series(column.to_numpy(dtype=object, na_value=None), column.index, object, column.name)
    return _of_objects(column.astype(object))


def _of_objects(column: Any) -> Any:
    """Convert a column of Python's numbers, dates or decimals to one of numpy's types; anything else to texts."""
    import pandas as pd

    types = set(map(type, column.to_numpy())) - {type(None)}
    if types <= {str}:
        return column
    types = set(map(type, column.dropna()))
    if types and (types <= {int, float, decimal.Decimal} or all(issubclass(type_, np.number) for type_ in types)):
        return plain_column(pd.to_numeric(column.astype(float)))
    if types and types <= {datetime.date, datetime.datetime, pd.Timestamp}:
        return plain_column(pd.to_datetime(column, errors="coerce", utc=True))
    if bytes in types:
        raise TableError(f"The column {column.name!r} contains bytes. Leave it out with {option('drop')}.")
    if any(issubclass(type_, _NESTED) for type_ in types):
        raise TableError(
            f"The column {column.name!r} contains lists or other nested values. Leave it out with {option('drop')}, or "
            "write their parts as columns."
        )
    texts = [None if missing else str(value) for value, missing in zip(column, column.isna(), strict=True)]
    return pd.Series(texts, column.index, object, column.name)


def to_text(column: Any) -> Any:
    """Return values as texts; whole numbers without ".0", which they have if another value of the column is missing."""
    whole = column.dtype.kind == "f" and bool((column.dropna() == column.dropna().round()).all())
    text = column.map(lambda value: str(int(value)) if whole else str(value), na_action="ignore")
    return text.astype(object)


def _read_number(column: Any, form: str) -> Any:
    import pandas as pd

    if column.dtype.kind != "O":
        return column if column.dtype.kind in "iuf" else pd.Series(np.nan, index=column.index)
    codes, texts = factorize(column)
    values = np.append(parse_numbers(texts.tolist(), form[:1] or "."), np.nan)[codes]
    whole = np.isfinite(values).all() and bool((values == np.round(values)).all()) and bool((abs(values) < 2**53).all())
    return pd.Series(values.astype(np.int64) if whole else values, index=column.index)


def _read_date(column: Any, form: str) -> Any:
    import pandas as pd

    if column.dtype.kind == "O" and not form:  # the training table had a column of dates, and this table has texts
        forms = {form: found.sum() for form, found in date_formats(list(column.dropna().unique()))}
        form = max(forms, key=lambda form: forms[form], default="ISO8601")
    if column.dtype.kind in "iuf":
        return pd.Series(pd.NaT, index=column.index, dtype="datetime64[ns]")
    return parse_dates(column, form)


def _read_text(column: Any, form: str) -> Any:
    return column if column.dtype.kind == "O" else to_text(column)


_READERS = {"number": _read_number, "date": _read_date, "category": _read_text, "text": _read_text}


def _check_present(frame: Any, name: str, called: str) -> None:
    try:
        check_column_name(frame.columns, name)
    except TableError as error:
        similar = f" Did{str(error).split('. Did')[1]}" if ". Did" in str(error) else ""
        raise TableError(
            f"{called[0].upper()}{called[1:]} has no column {name!r}, which the training table has.{similar}"
        ) from None


# -------------------------------------------------------------------------------------------------------------- targets
# The target of a table: numbers, or classes.

_FEWEST_RATINGS = 3  # two are yes and no


def split_target(
    frame: Any, target: str, task: str | None = None, *, has_classes: bool | None = None
) -> tuple[Any, np.ndarray, str, int]:
    """Return X and y, the task, and the number of rows that are dropped because their target is missing.

    If the task is None, it is inferred: texts, booleans and few different whole numbers are classes.
    """
    check_column_name(frame, target)
    known = frame[target].notna()
    column = frame.loc[known, target]
    if not len(column):
        raise TableError(f"The target {target!r} is missing in every row. Choose another target.")
    numeric = column.dtype.kind in "iuf"
    if task is None:
        if has_classes is None:
            has_classes = infer_kinds(plain_frame(column.to_frame()), target=target).has_classes
        task = "classification" if has_classes or not numeric else "regression"
    if task == "regression" and not numeric:
        raise TableError(
            f"The target {target!r} is not a number. Use {option('task', 'classification')}, or "
            f"{option('kinds', {target: 'number'})} to drop rows whose target is not a number."
        )
    if task == "classification" and column.nunique() < 2:
        if numeric:
            raise TableError(
                f"The target {target!r} is {column.iloc[0]:g} in every row, so there is nothing to predict. Use "
                "another column, or add rows with other values."
            )
        raise TableError(
            f"The target {target!r} has one class only, {quoted(column.iloc[0])}, so there is nothing to predict. "
            f"Words such as None and NA count as missing; {option('kinds', {target: 'category'})} makes them classes."
        )
    if numeric and not np.isfinite(column.astype(float)).all():
        raise infinite_target(target)
    y = as_targets(column, task, target)
    return frame.loc[known].drop(columns=target), y, task, int((~known).sum())


def infinite_target(name: str) -> TableError:
    """Build the error for a target that is infinite, or too large for a number."""
    return TableError(f"The target {name!r} has infinite values, or numbers above 1e308. Correct or remove these rows.")


def as_targets(column: Any, task: str, name: str) -> np.ndarray:
    """Return targets without missing values as numbers, or as names of classes; 1 and 1.0 are the same class."""
    if task == "regression":
        try:
            return np.asarray(column.to_numpy(dtype=float))
        except (TypeError, ValueError):
            raise TableError(f"The target {name!r} has values that are not numbers.") from None
    if column.dtype.kind == "f" and bool((column == column.round()).all()):
        column = column.map(lambda value: str(int(value)))  # of any size
    return np.asarray(column.astype(str).to_numpy(dtype=str))


def rating_warnings(column: Any, name: str, task: str, given: str | None) -> list[str]:
    """Warn that consecutive whole numbers, such as 1 to 5 stars, were read as classes, unless the user gave the task.

    Parameters
    ----------
    column : Series or ndarray
        The targets.
    name : str
        The name of the target.
    task : str
        How they were read.
    given : str or None
        The task that the user gave.
    """
    try:
        numbers = np.unique(np.asarray(column, dtype=float))
    except (TypeError, ValueError):
        return []
    few = task == "classification" and given is None and len(numbers) >= _FEWEST_RATINGS
    if not few or not (np.diff(numbers) == 1).all() or numbers[0] != round(float(numbers[0])):
        return []
    return [
        f"The numbers {numbers[0]:.0f} to {numbers[-1]:.0f} of {printable(name)} were read as classes without an "
        f"order. If they are ratings or counts, use {option('task', 'regression')}. If they are classes, use "
        f"{option('task', 'classification')}, and this warning goes away."
    ]


# ----------------------------------------------------------------------------------------------------------- describing
# A line for each column of a table that was read: its kind, its values, and why it is not used.

_SHOWN = 3  # values of a category
_LONGEST = 18  # letters of a value


def describe_columns(
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
    """Yield a description of each column.

    Parameters
    ----------
    table : DataFrame
        The columns as the file has them.
    X : DataFrame
        The features and the target, as they were parsed.
    kinds : mapping of str to Kind
        Their kinds.
    names : list of str or None, default=None
        The columns of the file, in order. Columns that are not in `table` were not read. None: those of `table`.
    target : str
        The column to predict.
    group : str or None
        The column that identifies the group of each row.
    ids : tuple of str
        The columns with row IDs.
    drop : tuple of str
        The columns that the user left out.
    leaking : list of str
        The columns that alone predict the target almost perfectly.
    """
    given: dict[str | None, str] = {target: "target", group: "group"}
    given.update({**dict.fromkeys(ids, "id"), **dict.fromkeys(drop, "dropped")})
    for name in table.columns if names is None else names:
        if name not in table:
            yield ColumnAsRead(name, given[name], 0.0, None, "", f"left out by {option('drop')}, not read")
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
    counts = values.value_counts()  # the most frequent ones; ties in a fixed order
    most = sorted(counts.items(), key=lambda pair: (-pair[1], str(pair[0])))[:_SHOWN]
    some = [_short(str(value)) for value, _ in most]
    some = some[:1] if counts.iloc[0] == 1 or some[0].endswith("...") else some
    return ", ".join(some) + (", ..." if len(counts) > len(some) else "")


def _remark(column: Any, kind: Kind, role: str, *, is_given: bool) -> str:
    if role == "dropped":
        return f"left out by {option('drop')}"
    if role == "group":
        return "identifies groups"
    if role == "id":
        return "row ID" if is_given else "not used: all values differ"
    if role == "constant":
        return "not used: constant" if column.notna().any() else "not used: empty"
    if kind.name == "number" and len(kind.form) > 1:
        return f"written with {kind.form[1:]}"
    if kind.name == "date":
        return date_order(kind.form)
    if kind.name == "category" and column.dtype.kind == "O" and role == "category":
        if _has_leading_zeros(column):
            return "codes with leading zeros"
        if column.nunique() > FEW_VALUES:
            return f"{_MOST_CATEGORIES - 1} most frequent, others merged"
    return ""


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


# -------------------------------------------------------------------------------------------------------------- remarks
# What was odd or decisive about how the columns were read, one short sentence each, with the option that changes it.

_ALMOST_ALL = 0.8  # share of different values that are numbers in a column that is almost numeric
_LISTED = 3  # columns that are named in one sentence


def column_remarks(
    table: Any, X: Any, inferred: InferredKinds, *, chosen: Collection[str] = (), n_sampled: int | None = None
) -> list[str]:
    """Return short sentences about columns that were read in a way that a reader should know.

    A table of plain numbers gets none.

    Parameters
    ----------
    table : DataFrame
        The columns as the file has them.
    X : DataFrame
        The features, as they were parsed.
    inferred : InferredKinds
        What the columns were taken for.
    chosen : collection of str, default=()
        Columns whose kind was given by the user.
    n_sampled : int or None, default=None
        The number of rows that the kinds were inferred from; None if from all.
    """
    kinds = {name: kind for name, kind in inferred.kinds.items() if name in table.columns}
    free = {name: kind for name, kind in kinds.items() if name not in chosen}
    almost = [name for name, kind in free.items() if _is_almost_numeric(table[name], kind)]
    rest = {name: kind for name, kind in free.items() if name not in almost}
    where = "" if n_sampled is None else f" among the {n_sampled:,} rows that were looked at"
    return [
        *_almost_numeric(table, kinds, almost, where),
        *ambiguous_numbers(inferred),
        *_unreadable(table, X, kinds, where),
        *_unused(table, rest, where),
        *_texts_and_dates(rest),
        *_categories(table, rest, where),
    ]


def target_remarks(column: Any, kind: Kind, task: str, given: str | None, raw: Any = None) -> list[str]:
    """Return a sentence if the target has classes although it looks like numbers, dates or IDs.

    Parameters
    ----------
    column : Series
        The targets, none of them missing, as they were parsed.
    kind : Kind
        What they were taken for.
    task : str
        How they were read.
    given : str or None
        The task that the user gave.
    raw : Series or None, default=None
        The targets as the file has them; None does not look for words among numbers.
    """
    if task != "classification" or given is not None:
        return []
    name, n_values = str(column.name), column.nunique()
    if raw is not None and _is_almost_numeric(raw, kind):
        odd, rows = _odd_values(raw)
        return [
            f"The target {quoted(name)} has classes because of {odd} in {rows}. "
            f"{option('kinds', {name: 'number'})} predicts numbers and drops such rows."
        ]
    if raw is not None and _has_dates(raw):
        return [
            f"The target {quoted(name)} has dates, read as {n_values:,} classes. To predict a time, replace it by a "
            "number, such as days."
        ]
    if kind.name == "category" and 2 * n_values > len(column):
        return [
            f"The target {quoted(name)} has {n_values:,} classes in {ROWS.count(len(column))}. Is it an ID or a text?"
        ]
    if kind.name != "number" or n_values < _FEWEST_RATINGS or rating_warnings(column, name, task, given):
        return []
    return [
        f"The target {quoted(name)} has {n_values} different whole numbers, read as classes. "
        f"{option('task', 'regression')} predicts numbers instead."
    ]


def _has_dates(column: Any) -> bool:
    """Whether all values of a column are dates."""
    if column.dtype.kind != "O":
        return bool(column.dtype.kind == "M")
    return any(found.all() for _, found in date_formats(column.dropna().unique().tolist()))


def _is_almost_numeric(column: Any, kind: Kind) -> bool:
    """Whether a category or a text would be a number but for a few values."""
    values = column.dropna()
    if kind.name not in ("category", "text") or values.dtype.kind != "O" or not len(values):
        return False
    texts = values.unique().tolist()
    found = spelling(texts)
    codes = any(text.lstrip("+-").startswith("0") and text.isdigit() and text != "0" for text in texts)
    numbers = found.point | found.comma
    return not codes and not numbers.all() and int(numbers.sum()) >= max(_ALMOST_ALL * len(texts), 2)


def _odd_values(column: Any) -> tuple[str, str]:
    """The first value of an almost numeric column that is not a number, and how many rows have such values."""
    values = column.dropna()
    texts = values.unique().tolist()
    found = spelling(texts)
    odd = [text for text, number in zip(texts, found.point | found.comma, strict=True) if not number]
    return quoted(odd[0], 20), ROWS.count(int(values.isin(odd).sum()))


def _almost_numeric(table: Any, kinds: Mapping[str, Kind], names: list[str], where: str) -> Iterator[str]:
    for name in names[:_LISTED]:
        odd, rows = _odd_values(table[name])
        yield (
            f"{quoted(name)} is a {kinds[name].name} because of {odd} in {rows}{where}. "
            f"{option('kinds', {name: 'number'})} reads numbers and treats such values as missing."
        )
    if len(names) > _LISTED:
        yield f"The same is true of {_count(len(names) - _LISTED, 'more column')}."


def ambiguous_numbers(inferred: InferredKinds) -> list[str]:
    """Return a sentence about numbers that could be read in two ways, such as 1.234."""
    if not inferred.two_ways:
        return []
    name, text = next(iter(inferred.two_ways.items()))
    decimal, n_more = inferred.kinds[name].form[:1], len(inferred.two_ways) - 1
    mark = "," if "," in text else "."
    taken = "a decimal mark" if decimal == mark else "a thousands separator"
    more = f" The same is true of {_count(n_more, 'more column')}." if n_more else ""
    return [
        f"In {quoted(name)}, the {mark!r} of {text!r} was read as {taken}. "
        f"{option('decimal', '.' if decimal == ',' else ',')} reads it the other way.{more}"
    ]


def _unreadable(table: Any, X: Any, kinds: Mapping[str, Kind], where: str) -> Iterator[str]:
    """Values of numbers and dates that count as missing because they cannot be parsed."""
    for name, kind in kinds.items():
        if kind.name not in ("number", "date") or name not in X.columns:
            continue
        lost = table[name].notna().to_numpy() & X[name].isna().to_numpy()
        if lost.any():
            example = quoted(table[name].to_numpy()[lost.argmax()], 20)
            yield count_as_missing(int(lost.sum()), name, kind, where.strip(), example)


def count_as_missing(number: int, name: str, kind: Kind, where: str = "", example: str = "") -> str:
    """Return a sentence about values that count as missing, because they are not numbers or not dates."""
    form = f" written {order}" if kind.name == "date" and (order := date_order(kind.form)) else ""
    where, example = f" {where}" * bool(where), f" ({example})" * bool(example)
    values, what, count = "1 value", f"a {kind.name}", "counts"
    if number > 1:
        values, what, count = f"{number:,} values", kind.plural, "count"
    return f"{values} of {quoted(name)}{where} cannot be read as {what}{form}{example} and {count} as missing."


def _unused(table: Any, kinds: Mapping[str, Kind], where: str) -> Iterator[str]:
    """Columns that are not used as features, though nobody asked for it."""
    constant = [name for name, kind in kinds.items() if kind.name == "constant"]
    empty = [name for name in constant if not table[name].notna().any()]
    single = [name for name in constant if name not in empty]
    for names, reason in ((empty, "empty"), (single, "constant")):
        if names:
            yield f"Not used, because {_they(names)} {reason}{where}: {_few(names)}."
    if names := [name for name, kind in kinds.items() if kind.name == "id"]:
        way = option("kinds", {names[0]: "number" if table[names[0]].dtype.kind in "iuf" else "text"})
        yield f"Not used, because every value is different{where}, as in an ID: {_few(names)}. {way} would use it."


def _texts_and_dates(kinds: Mapping[str, Kind]) -> Iterator[str]:
    if names := [name for name, kind in kinds.items() if kind.name == "text"]:
        way = option("kinds", {names[0]: "category"})
        into = f"{_TEXT_FEATURES} columns of hashed words"
        yield f"Free text, turned into {into}: {_few(names)}. {way} keeps each value whole."
    if dates := {name: kind for name, kind in kinds.items() if kind.name == "date"}:
        forms = {name: date_order(kind.form) for name, kind in dates.items()}
        texts = [quoted(name) + (f" ({forms[name]})" if forms[name] else "") for name in dates]
        yield f"Dates, turned into the day, the time of year and the weekday: {listed(texts, _LISTED)}."


def _categories(table: Any, kinds: Mapping[str, Kind], where: str) -> Iterator[str]:
    categories = [name for name, kind in kinds.items() if kind.name == "category" and table[name].dtype.kind == "O"]
    codes = [name for name in categories if _has_leading_zeros(table[name]) and not _has_words(table[name])]
    if codes:
        way = option("kinds", {codes[0]: "number"})
        yield f"Read as categories because of leading zeros{where}: {_few(codes)}. {way} reads numbers."
    if many := [name for name in categories if table[name].nunique(dropna=False) > _MOST_CATEGORIES]:
        most = _MOST_CATEGORIES - 1
        yield f"Many categories: {_few(many)}. Each bag keeps the {most} most frequent and treats the rest as one."


def _has_leading_zeros(column: Any) -> bool:
    return bool(column.dropna().map(lambda text: bool(re.fullmatch(r"0\d+", text))).any())


def _has_words(column: Any) -> bool:
    return not column.dropna().map(str.isdigit).all()


def _they(names: list[str]) -> str:
    return "it is" if len(names) == 1 else "they are"


def _count(number: int, noun: str) -> str:
    return f"1 {noun}" if number == 1 else f"{number:,} {noun}s"


def _few(names: list[str]) -> str:
    """A few names of columns, and how many more there are: "'a', 'b', 'c' and 4 more"."""
    more = f" and {len(names) - _LISTED:,} more" if len(names) > _LISTED else ""
    return f"{', '.join(map(quoted, names[:_LISTED]))}{more}"
