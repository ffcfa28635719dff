"""The columns of a table: read as the training table was, and the pipeline that makes numbers of them in every bag."""

import datetime
import decimal
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

from stablebag.commands.dates import date_formats, date_parts, parsed_dates
from stablebag.commands.kinds import Kind, decide, factorized
from stablebag.commands.refusals import TableError, refuse_unknown
from stablebag.commands.written_numbers import parsed
from stablebag.learning.solvers.branches import row_by_row

_MOST_CATEGORIES = 50
_TEXT_FEATURES = 64


@dataclass(frozen=True)
class Columns:
    """What the columns of a table are, decided once from the training table.

    Numbers that are missing are replaced by the median, and marked. Of categories, missing is one, and rare or unknown
    ones are put together. Texts are read as hashed words; dates as days and as places in the year and in the week.

    Attributes
    ----------
    kinds : mapping of str to Kind
        The kind of each column, in the order of the table.
    """

    kinds: Mapping[str, Kind]

    @classmethod
    def of(cls, frame: Any) -> "Columns":
        """Decide what the columns of the training table, without its target, are."""
        return cls(decide(plain_frame(frame)).kinds)

    @classmethod
    def from_dict(cls, kinds: Mapping[str, list[str]]) -> "Columns":
        """Return the columns that `to_dict` has written."""
        return cls({name: Kind(*kind) for name, kind in kinds.items()})

    def to_dict(self) -> dict[str, list[str]]:
        """Return the kind of each column, and how its values are written, as JSON takes them."""
        return {name: [kind.name, kind.form] for name, kind in self.kinds.items()}

    def named(self, kind: str) -> list[str]:
        """Return the names of the columns of a kind."""
        return [name for name, its in self.kinds.items() if its.name == kind]

    @property
    def used(self) -> list[str]:
        """The columns that are learned from."""
        return [name for name, kind in self.kinds.items() if not kind.is_left_out]

    def read(self, frame: Any, called: str = "the table") -> Any:
        """Return the columns that are learned from as numbers, dates and texts; what cannot be read so is missing.

        A table that lacks one of them, or has one with no value that can be read, is refused.
        """
        import pandas as pd

        found = {}
        for name in self.used:
            if name not in frame.columns:
                _refuse_missing(frame, name, called)
            kind, column = self.kinds[name], plain_column(frame[name])
            found[name] = read = self.column(column, kind)
            if column.notna().any() and not read.notna().any():
                raise TableError(f"The column {name!r} has {kind.name}s in the training table and none in {called}.")
        return pd.DataFrame(found, index=frame.index)

    @staticmethod
    def column(column: Any, kind: Kind) -> Any:
        """Return one column, of numpy's own types, as numbers, dates or texts; what cannot be read so is missing."""
        return _READERS[kind.name](column, kind.form)

    def pipeline(self, learner: Any) -> Pipeline:
        """Return the learner behind a reader of these columns; all of it is fitted inside each bag."""
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
            raise TableError("The table has no column to learn from: all are constant, empty, ids or left out.")
        reader = ColumnTransformer(used, sparse_threshold=0.0)
        return Pipeline([("columns", reader), ("learner", learner)])


@row_by_row
def as_categories(frame: Any) -> Any:
    """Return texts of which "missing" is one."""
    return frame.astype(object).where(frame.notna(), "missing").astype(str)


@row_by_row
def as_text(column: Any) -> Any:
    """Return texts, empty where they are missing."""
    return column.astype(object).where(column.notna(), "").astype(str)


def plain_frame(frame: Any) -> Any:
    """Return a table whose columns are numbers, dates or texts, of numpy's own types."""
    import pandas as pd

    return pd.DataFrame({name: plain_column(frame[name]) for name in frame.columns}, index=frame.index)


def plain_column(column: Any) -> Any:
    """Return a column of whichever type as numbers, dates or texts; missing texts are None."""
    import pandas as pd

    if isinstance(column.dtype, pd.CategoricalDtype):
        column = column.astype(column.cat.categories.dtype if not column.isna().any() else object)
    kind = column.dtype.kind
    if kind == "M":
        return column if getattr(column.dtype, "tz", None) is None else column.dt.tz_convert("UTC").dt.tz_localize(None)
    if kind == "m":
        return column / pd.Timedelta(days=1)
    if kind in "iuf":
        if not isinstance(column.dtype, np.dtype):  # a type that has missing values of its own
            column = column.astype(float) if kind == "f" or column.isna().any() else column.astype(np.int64)
        return column.where(~np.isinf(column)) if kind == "f" and np.isinf(column).any() else column
    if kind == "c":
        raise TableError(f"The column {column.name!r} has complex numbers. Leave it out with --drop, or split it.")
    if isinstance(column.dtype, pd.StringDtype):
        return pd.Series(column.to_numpy(dtype=object, na_value=None), column.index, object, column.name)
    return _of_objects(column.astype(object))


def _of_objects(column: Any) -> Any:
    """A column of Python's numbers, dates or decimals as one of numpy's types; else as texts."""
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
        raise TableError(f"The column {column.name!r} has bytes in it. Leave it out with --drop.")
    texts = [None if missing else str(value) for value, missing in zip(column, column.isna(), strict=True)]
    return pd.Series(texts, column.index, object, column.name)


def written(column: Any) -> Any:
    """Return values as text, whole numbers without a point: a missing value among them turns them into floats."""
    whole = column.dtype.kind == "f" and bool((column.dropna() == column.dropna().round()).all())
    text = column.map(lambda value: str(int(value)) if whole else str(value), na_action="ignore")
    return text.astype(object)


def _read_number(column: Any, form: str) -> Any:
    import pandas as pd

    if column.dtype.kind != "O":
        return column if column.dtype.kind in "iuf" else pd.Series(np.nan, index=column.index)
    codes, texts = factorized(column)
    values = np.append(parsed(texts.tolist(), form[:1] or "."), np.nan)[codes]
    whole = np.isfinite(values).all() and bool((values == np.round(values)).all()) and bool((abs(values) < 2**53).all())
    return pd.Series(values.astype(np.int64) if whole else values, index=column.index)


def _read_date(column: Any, form: str) -> Any:
    import pandas as pd

    if (
        column.dtype.kind == "O" and not form
    ):  # the training table's file knew that they are dates, and this one does not
        forms = {form: found.sum() for form, found in date_formats(list(column.dropna().unique()))}
        form = max(forms, key=lambda form: forms[form], default="ISO8601")
    if column.dtype.kind in "iuf":
        return pd.Series(pd.NaT, index=column.index, dtype="datetime64[ns]")
    return parsed_dates(column, form)


def _read_text(column: Any, form: str) -> Any:
    return column if column.dtype.kind == "O" else written(column)


_READERS = {"number": _read_number, "date": _read_date, "category": _read_text, "text": _read_text}


def _refuse_missing(frame: Any, name: str, called: str) -> None:
    try:
        refuse_unknown(frame.columns, name)
    except TableError as error:
        meant = f" Did{str(error).split('. Did')[1]}" if ". Did" in str(error) else ""
        raise TableError(
            f"{called[0].upper()}{called[1:]} has no column {name!r}, which the training table has.{meant}"
        ) from None
