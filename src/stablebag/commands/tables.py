"""A table from a file as training data: what each column is, and the pipeline that reads it inside every bag."""

import ast
import importlib
import math
import warnings
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler
from sklearn.svm import SVC, SVR
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

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
_FEW_CLASSES = 10  # whole numbers with at most this many values are taken for classes
_FEW_VALUES = 50  # strings with at most this many values are categories
_TEXT_WORDS = 4  # strings with at least this many words on average are text
_MOST_CATEGORIES = 50
_TEXT_FEATURES = 64
_SEPARATORS = {".csv": ",", ".tsv": "\t", ".txt": "\t"}
_PACKED = {".gz", ".bz2", ".xz", ".zip", ".zst"}
_DAYS = ("%Y/%m/%d", "%d.%m.%Y", "%m/%d/%Y", "%d/%m/%Y", "%m-%d-%Y", "%d-%m-%Y", "%d.%m.%y", "%m/%d/%y")
# Formats of dates, in the order in which they are tried; "ISO8601" takes dates with and without times.
_DATES = ["ISO8601", *(day + time for day in _DAYS for time in ("", " %H:%M", " %H:%M:%S"))]


class TableError(ValueError):
    """What is wrong with a table, a column or a model's name, in one sentence."""


@dataclass(frozen=True)
class Columns:
    """What the columns of a table are, decided once from the training table.

    Attributes
    ----------
    numeric : tuple of str
        Numbers; missing ones are replaced by the median, and marked.
    categorical : tuple of str
        Categories; missing is one of them, and rare or unknown ones are put together.
    text : tuple of str
        Texts, read as hashed words.
    dates : tuple of (str, str)
        Dates, read as days and as places in the year and in the week, each with the format in which it is written.
    constant : tuple of str
        Columns with at most one value, which are left out.
    """

    numeric: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()
    text: tuple[str, ...] = ()
    dates: tuple[tuple[str, str], ...] = ()
    constant: tuple[str, ...] = ()

    @classmethod
    def of(cls, frame: Any) -> "Columns":
        """Decide what the columns of the training table, without its target, are."""
        kinds: dict[str, list[str]] = {"numeric": [], "categorical": [], "text": [], "dates": [], "constant": []}
        for name in frame.columns:
            kinds[_kind(frame[name])].append(name)
        dates = tuple((name, _date_format(frame[name].dropna()) or "") for name in kinds.pop("dates"))
        return cls(**{kind: tuple(names) for kind, names in kinds.items()}, dates=dates)

    def pipeline(self, learner: Any) -> Pipeline:
        """Return the learner behind a reader of these columns; all of it is fitted inside each bag."""
        numbers = make_pipeline(
            SimpleImputer(strategy="median", add_indicator=True, keep_empty_features=True), StandardScaler()
        )
        categories = make_pipeline(
            FunctionTransformer(_as_categories, feature_names_out="one-to-one"),
            OneHotEncoder(handle_unknown="infrequent_if_exist", max_categories=_MOST_CATEGORIES, sparse_output=False),
        )
        dates = make_pipeline(
            FunctionTransformer(_date_parts, kw_args={"formats": dict(self.dates)}),
            SimpleImputer(keep_empty_features=True),
            StandardScaler(),
        )
        words = HashingVectorizer(n_features=_TEXT_FEATURES, alternate_sign=True)
        steps: list[tuple[str, Any, Any]] = [
            ("numbers", numbers, list(self.numeric)),
            ("categories", categories, list(self.categorical)),
        ]
        steps.append(("dates", dates, [name for name, _ in self.dates]))
        steps += [(f"text {name}", make_pipeline(FunctionTransformer(_as_text), words), name) for name in self.text]
        used = [step for step in steps if len(step[2])]
        if not used:
            raise TableError("The table has no column to learn from: all are constant or empty.")
        reader = ColumnTransformer(used, sparse_threshold=0.0)
        return Pipeline([("columns", reader), ("learner", learner)])


def read_table(path: str | Path) -> Any:
    """Read a table by the ending of its file: .csv, .tsv, .txt (tabs), .parquet or .feather; also .csv.gz and so on."""
    import pandas as pd

    path = Path(path)
    if not path.is_file():
        raise TableError(f"There is no file {path}.")
    endings = [ending.lower() for ending in path.suffixes if ending.lower() not in _PACKED]
    ending = endings[-1] if endings else ""
    try:
        if ending == ".parquet":
            frame = pd.read_parquet(path)
        elif ending == ".feather":
            frame = pd.read_feather(path)
        elif ending in _SEPARATORS:
            frame = _read_text(path, _SEPARATORS[ending])
        else:
            raise TableError(f"The file {path} must end in .csv, .tsv, .parquet or .feather.")
    except ImportError as error:
        raise TableError(f"Reading {path} needs pyarrow: pip install pyarrow.") from error
    except TableError:
        raise
    except Exception as error:
        raise TableError(f"The file {path} cannot be read: {error}") from error
    if not len(frame):
        raise TableError(f"The table {path} has no rows.")
    frame.columns = [str(name) for name in frame.columns]
    _refuse_twice(list(frame.columns), path)
    for name in frame.columns:
        if (
            frame[name].dtype.kind == "O"
            and frame[name].map(lambda value: isinstance(value, list | dict | np.ndarray)).any()
        ):
            raise TableError(f"The column {name!r} of {path} has lists or the like in it. Leave it out, or split it.")
    return frame


def _read_text(path: Path, separator: str) -> Any:
    import pandas as pd

    # If the header has "y" twice, pandas calls the second one "y.1", and a copy of the target would be learned from. If
    # rows have one field more than the header, it takes the first column for names of rows.
    header = pd.read_csv(path, sep=separator, header=None, nrows=1, dtype=str, na_filter=False).iloc[0].tolist()
    _refuse_twice([name for name in header if name], path)
    with warnings.catch_warnings():
        warnings.simplefilter("error", pd.errors.ParserWarning)
        try:
            return pd.read_csv(path, sep=separator, index_col=False)
        except pd.errors.ParserWarning:
            raise TableError(
                f"The table {path} has rows with more fields than its header, which has {len(header)}. Check the "
                "separator, and the ends of the lines."
            ) from None


def _refuse_twice(names: list[str], path: Path) -> None:
    twice = [name for place, name in enumerate(names) if name in names[:place]]
    if twice:
        raise TableError(f"The table {path} has two columns called {twice[0]!r}. Rename one.")


def split_target(frame: Any, target: str, task: str | None = None) -> tuple[Any, np.ndarray, str, int]:
    """Split a table into X and y; also return the task and the number of rows without a target, which are dropped.

    If the task is None, it is inferred: strings, truth values and few different whole numbers are classes.
    """
    refuse_unknown(frame, target)
    known = frame[target].notna()
    column = frame.loc[known, target]
    if not len(column):
        raise TableError(f"The target {target!r} is missing in every row.")
    numeric = column.dtype.kind in "iuf"
    if task is None:
        few = numeric and column.nunique() <= _FEW_CLASSES and bool((column == column.round()).all())
        task = "classification" if few or not numeric else "regression"
    if task == "regression" and not numeric:
        raise TableError(f"The target {target!r} is not a number, so it cannot be regressed on: use classification.")
    if task == "classification" and column.nunique() < 2:
        raise TableError(f"The target {target!r} has one class only, {column.iloc[0]!r}: there is nothing to predict.")
    if numeric and not np.isfinite(column.astype(float)).all():
        raise TableError(f"The target {target!r} has infinite values.")
    y = targets_of(column, task, target)
    return frame.loc[known].drop(columns=target), y, task, int((~known).sum())


def refuse_unknown(frame: Any, name: str) -> None:
    """Refuse the name of a column that is not in the table, with one that is meant or with those that there are."""
    if name in frame.columns:
        return
    lower = {column.lower(): column for column in frame.columns}
    near = get_close_matches(name.lower(), lower, n=1)
    if near:
        raise TableError(f"There is no column {name!r} in the table. Did you mean {lower[near[0]]!r}?")
    some = ", ".join(repr(column) for column in list(frame.columns)[:8])
    raise TableError(f"There is no column {name!r} in the table; it has {some}{', ...' * (len(frame.columns) > 8)}.")


def targets_of(column: Any, task: str, name: str) -> np.ndarray:
    """Return targets, none of them missing, as numbers or as names of classes, in which 1 and 1.0 are the same."""
    if task == "regression":
        try:
            return np.asarray(column.to_numpy(dtype=float))
        except (TypeError, ValueError):
            raise TableError(f"The target {name!r} has values that are not numbers.") from None
    if column.dtype.kind == "f" and bool((column == column.round()).all()):
        column = column.map(lambda value: str(int(value)))  # of any size
    return np.asarray(column.astype(str).to_numpy(dtype=str))


def same_columns(frame: Any, other: Any, name: str) -> Any:
    """Return a test table, called `name` in errors, with the columns of the training table, in its order."""
    missing = [column for column in frame.columns if column not in other.columns]
    if missing:
        raise TableError(f"The table {name} has no column {missing[0]!r}, which the training table has.")
    other = other[list(frame.columns)].reset_index(drop=True)
    for column in frame.columns:
        kind, there = _kind(frame[column]), other[column]
        if not there.notna().any():
            continue
        if frame[column].dtype.kind in "iuf" and there.dtype.kind not in "iufb":
            raise TableError(f"The column {column!r} has numbers in the training table and none in {name}.")
        if kind == "dates" and not _has_dates(there.dropna()):
            raise TableError(f"The column {column!r} has dates in the training table and none in {name}.")
        if kind in ("categorical", "text") and there.dtype.kind in "iufb":
            if frame[column].dtype.kind == "b" and there.dtype.kind != "b":
                raise TableError(f"The column {column!r} has truth values in the training table and none in {name}.")
            other[column] = written(there)  # as in the training table, which has it as text
    return other


def written(column: Any) -> Any:
    """Return values as text, whole numbers without a point: a missing value among them turns them into floats."""
    whole = column.dtype.kind == "f" and bool((column.dropna() == column.dropna().round()).all())
    text = column.map(lambda value: str(int(value)) if whole else str(value), na_action="ignore")
    return text.astype(object)


def read_test(
    path: str | Path, X: Any, y: np.ndarray, target: str, task: str, group: str | None = None
) -> tuple[Any, np.ndarray | None, Any]:
    """Read a table of held-out rows: their columns as in X, their targets, and their units.

    Targets or units are None if the table does not have them.
    """
    other = read_table(path)
    X_test, units = same_columns(X, other, str(path)), other[group] if group in other.columns else None
    if target not in other.columns:
        return X_test, None, units
    known = other[target].notna().to_numpy()
    if not known.any():
        raise TableError(f"The target {target!r} is missing in every row of {path}.")
    y_test = targets_of(other.loc[known, target], task, target)
    if task == "classification" and not set(y_test) & set(y):
        raise TableError(f"No class of {path} is in the training table.")
    return X_test.loc[known].reset_index(drop=True), y_test, None if units is None else units[known]


def make_learner(name: str, task: str, parameters: dict[str, Any]) -> Any:
    """Return a learner by its name in `MODELS`, or by ``package.module:Class``, with these parameters set."""
    from sklearn.base import clone

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
        raise TableError(f"There is no model {name!r}: use one of {', '.join(MODELS)}, or package.module:Class.")
    try:
        made = getattr(importlib.import_module(module), attribute)()
    except (ImportError, AttributeError, TypeError) as error:
        raise TableError(f"The model {name!r} cannot be made: {error}") from error
    if not (hasattr(made, "fit") and hasattr(made, "predict") and hasattr(made, "get_params")):
        raise TableError(f"The model {name!r} is not a scikit-learn estimator.")
    return made


def _kind(column: Any) -> str:
    values = column.dropna()
    if values.nunique() < 2:
        return "constant"
    if column.dtype.kind == "M":
        return "dates"
    if column.dtype.kind in "iuf":
        return "numeric"
    if column.dtype.kind == "b" or str(column.dtype) == "category" or values.nunique() <= _FEW_VALUES:
        return "dates" if _are_dates(values) else "categorical"
    if _are_dates(values):
        return "dates"
    return "text" if values.astype(str).str.split().str.len().mean() >= _TEXT_WORDS else "categorical"


def _has_dates(values: Any) -> bool:
    return _date_format(values) is not None


def _are_dates(values: Any) -> bool:
    return values.dtype.kind not in "biuf" and _date_format(values) is not None


def _date_format(values: Any) -> str | None:
    """The format in which nearly all values are dates; empty for a column of dates, None if they are not dates."""
    import pandas as pd

    if values.dtype.kind == "M":
        return ""
    sample = values.astype(str)
    if not sample.str.contains(r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}").mean() > 0.95:
        return None
    for form in _DATES:
        if pd.to_datetime(sample, format=form, errors="coerce", utc=True).notna().mean() > 0.95:
            return form
    return None


def _as_categories(frame: Any) -> Any:
    return frame.astype(object).where(frame.notna(), "missing").astype(str)


def _as_text(column: Any) -> Any:
    return column.astype(object).where(column.notna(), "").astype(str)


def _date_parts(frame: Any, formats: dict[str, str]) -> np.ndarray:
    """Days, and their places in the year and the week; the format is that of the training table, for every bag."""
    import pandas as pd

    parts = []
    for name in frame.columns:
        options: dict[str, Any] = {"format": formats[name]} if formats[name] else {}
        dates = pd.to_datetime(frame[name], errors="coerce", utc=True, **options)
        days = (dates - pd.Timestamp("2000-01-01", tz="UTC")) / pd.Timedelta(days=1)
        year = 2 * math.pi * dates.dt.day_of_year / 365.25
        parts += [days, np.sin(year), np.cos(year), dates.dt.day_of_week]
    return np.column_stack([np.asarray(part, dtype=float) for part in parts])
