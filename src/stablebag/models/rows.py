"""Rows and targets of any kind of table, and rows that are not in memory."""

import copy
import hashlib
import io
import math
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from functools import cached_property
from numbers import Real
from typing import Any, NamedTuple, TypeVar

import joblib
import numpy as np
from scipy import sparse
from sklearn.utils import (
    _safe_indexing,  # private, but scikit-learn's own way to take rows of any frame
    column_or_1d,
)
from sklearn.utils.validation import validate_data

from stablebag._checks import as_array, read_only, refuse_masked, refuse_type, refuse_value, shown

_Function = TypeVar("_Function", bound=Callable[..., Any])

# --------------------------------------------------------------------------------------------------------------- source
# Rows that are not in memory: the interface that fitting bags needs.


class RowSource(ABC):
    """A table with targets whose rows are read only when needed. Rows are numbered from 0.

    `fit` of the bagged estimators accepts one instead of X and y. It draws the bags and reads the distinct rows of as
    many bags at a time as fit into `max_memory`. To define your own source, implement the abstract methods. A row must
    have the same types no matter which other rows are read with it, or the models will depend on `max_memory`.

    Attributes
    ----------
    max_memory : int
        How many bytes of rows to hold in memory at a time.

    Examples
    --------
    >>> import numpy as np
    >>> from stablebag import BaggedRegressor
    >>> from stablebag.models import RowSource
    >>> class Squares(RowSource):
    ...     max_memory, bytes_per_row, n_features, n_samples = 100_000, 8, 1, 1000
    ...     part_sizes = (1000,)
    ...     def take(self, rows):
    ...         return rows[:, None] / 1000
    ...     def read(self, part, n_rows):
    ...         return (self.take(np.arange(k, min(k + n_rows, 1000))) for k in range(0, 1000, n_rows))
    ...     def targets(self):
    ...         return (np.arange(1000) / 1000) ** 2
    >>> BaggedRegressor(n_bags=20, random_state=0).fit(Squares()).predict([[0.5]]).round(2)
    array([0.25])
    """

    max_memory: int

    @property
    @abstractmethod
    def n_samples(self) -> int:
        """The number of rows."""

    @property
    @abstractmethod
    def n_features(self) -> int:
        """The number of columns without the target."""

    @property
    @abstractmethod
    def part_sizes(self) -> tuple[int, ...]:
        """The number of rows in each part, for example each file; they add up to `n_samples`."""

    @property
    @abstractmethod
    def bytes_per_row(self) -> float:
        """About how many bytes a row needs in memory, without its target."""

    @property
    def bytes_to_read(self) -> float:
        """About how many additional bytes are needed while rows are read."""
        return 0.0

    @abstractmethod
    def take(self, rows: np.ndarray) -> Any:
        """Return the rows with these numbers, in increasing order, as a matrix or a data frame."""

    @abstractmethod
    def read(self, part: int, n_rows: int) -> Iterator[Any]:
        """Yield the rows of a part in order, in tables of `n_rows` rows; the last may have fewer."""

    @abstractmethod
    def targets(self) -> np.ndarray:
        """Return the targets of all rows."""

    def row_ids(self) -> Any:
        """Return the IDs of all rows; None for their numbers."""
        return None

    def groups(self) -> Any:
        """Return the group of each row; None without groups."""
        return None

    def labels(self) -> Any:
        """Return a label to show for each row, as an array; None for the row IDs. Bags do not depend on labels."""
        return None

    @property
    def shape(self) -> tuple[int, int]:
        """The number of rows and the number of features."""
        return self.n_samples, self.n_features

    def blocks(self, n_rows: int) -> Iterator[Any]:
        """Yield all rows in order, in tables of `n_rows` rows; the last may have fewer."""
        for first in range(0, self.n_samples, n_rows):
            yield self.take(np.arange(first, min(first + n_rows, self.n_samples)))

    def fingerprint(self) -> str:
        """Return a string that identifies the rows; it must stay the same while the rows do."""
        return f"{type(self).__module__}.{type(self).__qualname__} {self.shape} {self.part_sizes}"

    def equals(self, other: Any) -> bool:
        """Return whether another source has the same rows."""
        return type(self) is type(other) and self.fingerprint() == other.fingerprint()

    def all_of_fit(self, y: Any, row_ids: Any, groups: Any, owner: str) -> tuple[np.ndarray, Any, Any]:
        """Return the targets, the row IDs and the groups for `fit`, from its arguments or from this table."""
        if y is not None:
            raise ValueError(f"{owner} got y, but a {type(self).__name__} has its own targets. Leave y out.")
        own_ids, own_groups = self.row_ids(), self.groups()
        for name, given, own in (("row_ids", row_ids, own_ids), ("groups", groups, own_groups)):
            if given is not None and own is not None:
                raise ValueError(f"{owner} got {name}, but the {type(self).__name__} has its own. Use only one.")
        row_ids, groups = own_ids if row_ids is None else row_ids, own_groups if groups is None else groups
        return self.targets(), row_ids, groups


def as_bytes(value: Any, name: str, owner: str) -> int:
    """Return a number of bytes from an int or a string such as "500MB", "1.5 GB" or "2GiB".

    >>> as_bytes("1.5 GB", "max_memory", "a table"), as_bytes("2MiB", "max_memory", "a table")
    (1500000000, 2097152)
    """
    number: Any = value
    if isinstance(value, str):
        units = {"": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
        units |= {"B": 1, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}
        digits = value.strip().rstrip("KMGTIBkmgtib").strip()
        unit = value.strip()[len(value.strip().rstrip("KMGTIBkmgtib")) :].upper()
        try:
            number = float(digits) * units[unit]
        except (KeyError, ValueError):
            number = None
    whole = isinstance(number, int | float | np.integer) and not isinstance(number, bool)
    if not whole or not 1 <= number < 2**62:
        raise refuse_value(name, owner, 'a number of bytes, or a string such as "500MB" or "1GB"', value)
    return int(number)


# ----------------------------------------------------------------------------------------------------------------- rows
# Rows of any kind of table: select them, stack them, and pass them to learners such that none can change another's
# rows.

_COMPUTE = {"polars": "collect", "narwhals": "collect", "dask": "compute", "pyspark": "toPandas", "ibis": "to_pandas"}
_IMMUTABLE = (str, bytes, bool, int, float, complex, type(None), np.generic, np.datetime64)
_TABLE = "a table, for example a data frame, an array or a list of rows of the same length"


def in_memory(X: Any, name: str, owner: str) -> Any:
    """Return a table, unwrapped if it is from narwhals; raise TypeError if its rows are not computed yet."""
    package = type(X).__module__.partition(".")[0]
    if package not in _COMPUTE or not hasattr(X, _COMPUTE[package]):
        return X.to_native() if package == "narwhals" and hasattr(X, "to_native") else X
    # Lazy arrays and columns have a dtype, and numpy computes them, unless their number of rows is unknown (NaN).
    if hasattr(X, "dtype") and not isinstance(X.shape[0], float):
        return X
    raise TypeError(
        f"{owner} got a {package} {type(X).__name__} as {name}, whose rows are not computed yet. Pass "
        f"{name}.{_COMPUTE[package]}()."
    )


def n_rows(X: Any) -> int:
    """Return the number of rows of a table."""
    X = in_memory(X, "X", "stablebag")
    if getattr(X, "shape", None) == ():
        raise ValueError(f"Expected 2D array, got a single value: {shown(X)}. Pass a table with rows and columns.")
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def as_table(X: Any, name: str, owner: str) -> Any:
    """Return a table unchanged, and lists as an array; raise ValueError if there are no rows and columns."""
    refuse_masked(X, name, owner)
    X = in_memory(X, name, owner)
    table = X if hasattr(X, "shape") else as_array(X, name, owner, _TABLE)
    if len(table.shape) != 2:
        raise ValueError(
            f"Expected 2D array as {name} of {owner}, got an array of shape {table.shape}. Pass a single row as [row]."
        )
    return table


def as_column(y: Any, name: str, owner: str, *, warn: bool = True) -> np.ndarray:
    """Return one value per row, as an array; raise an error for masked entries, iterators or several columns.

    >>> as_column([[1.0], [2.0]], "y", "fit", warn=False)
    array([1., 2.])
    """
    refuse_masked(y, name, owner)
    given = y = in_memory(y, name, owner)
    if not hasattr(y, "iloc") or y.ndim != 1:
        y = as_array(y, name, owner, "one value for each row")
    if y.ndim == 0 or sparse.issparse(given):
        raise refuse_type(name, owner, "an array with one value for each row", given)
    column: np.ndarray = column_or_1d(y, warn=warn)
    if column.dtype.kind == "O" and any(isinstance(entry, list | np.ndarray) for entry in column):
        raise refuse_type(name, owner, "one value for each row, not a list for each", given)
    return column


def index_of(X: Any) -> Any:
    """Return the index of a pandas frame; None for other tables, and for an index 0, 1, ..."""
    if not hasattr(X, "iloc"):
        return None
    names = X.index.to_numpy()
    counts = names.dtype.kind in "iu" and np.array_equal(names, np.arange(len(names)))
    return None if counts else X.index


def take_rows(X: Any, rows: np.ndarray) -> Any:
    """Return rows of an array, a sparse array or a data frame, in this order, as a new table of the same kind.

    >>> take_rows(np.array([[1, 2], [3, 4]]), np.array([1, 1, 0]))
    array([[3, 4],
           [3, 4],
           [1, 2]])
    """
    if isinstance(X, np.ndarray):
        return X[rows]
    if type(X).__module__.startswith("pyarrow."):  # older versions of scikit-learn cannot index it
        return X.take(rows)
    taken = _safe_indexing(X, rows)
    if sparse.issparse(taken):
        taken.sort_indices()  # within a column of "csc", indices are in the order of the table
    if hasattr(taken, "iloc") and np.array_equal(rows, np.arange(n_rows(X))):
        return taken.copy()  # pandas returns a view of all rows in order, and scikit-learn writes to it if copy=False
    return taken


def is_per_row(value: Any, n_samples: int) -> bool:
    """Whether a fit parameter has one entry per training row: an array, a column or a list of that length."""
    shape = getattr(value, "shape", None)
    if shape is not None:
        return len(shape) >= 1 and shape[0] == n_samples
    return isinstance(value, list | tuple) and len(value) == n_samples


def stacked(X: Any, more: Any) -> Any:
    """Put two tables of the same kind one below the other."""
    if hasattr(X, "iloc"):
        import pandas as pd

        return pd.concat([X, more])
    if hasattr(X, "vstack"):
        import polars as pl

        return pl.concat([X, more], how="vertical_relaxed")
    if sparse.issparse(X):
        return sparse.vstack([X, more]).asformat("csc" if X.format == "csc" else "csr")
    return np.concatenate([np.asarray(X), np.asarray(more)])


def own_copy(X: Any) -> Any:
    """Return a copy of a table that does not change with the original; a row source is returned unchanged."""
    if isinstance(X, RowSource):
        return X
    table = _deep(X)
    return read_only(table) if isinstance(table, np.ndarray) else table


def has_mutable_cells(X: Any) -> bool:
    """Return whether cells of a table are mutable objects, for example lists, which copies would share."""
    if isinstance(X, np.ndarray):
        return X.dtype.kind == "O" and not all(isinstance(value, _IMMUTABLE) for value in X.ravel())
    if hasattr(X, "iloc"):
        columns = [X.iloc[:, place] for place in range(X.shape[1]) if X.dtypes.iloc[place].kind == "O"]
        return any(has_mutable_cells(column.to_numpy()) for column in columns)
    return False


def with_own_cells(X: Any) -> Any:
    """Return a deep copy of a table, including mutable cells, which pandas does not copy."""
    table = copy.deepcopy(X)
    for place in range(table.shape[1]) if hasattr(table, "iloc") else ():
        if table.dtypes.iloc[place].kind == "O":
            cells = np.empty(len(table), dtype=object)
            cells[:] = [copy.deepcopy(cell) for cell in table.iloc[:, place]]
            table.isetitem(place, cells)
    return table


def fingerprint(X: Any) -> str:
    """Return a hash that identifies a table; byte order, and floats stored as objects, make no difference.

    >>> fingerprint(np.array([[0.5, 2]], dtype=object)) == fingerprint(np.array([[0.5, 2]], dtype=">f8"))
    True
    """
    if isinstance(X, RowSource):
        return X.fingerprint()
    if not hasattr(X, "shape"):
        X = np.asarray(X)
    if isinstance(X, np.ndarray):
        X = _as_floats(X) if X.dtype.kind == "O" else X.astype(X.dtype.newbyteorder("="), copy=False)
    if isinstance(X, np.ndarray) and X.dtype.kind != "O":
        head = f"{X.shape} {X.dtype}".encode()
        return hashlib.blake2b(head + np.ascontiguousarray(X).tobytes(), digest_size=16).hexdigest()
    if sparse.issparse(X):  # ignore what scipy caches about an array
        entries = sparse.csr_array(X, copy=True)
        entries.sum_duplicates()
        return str(joblib.hash((type(X).__name__, X.shape, entries.data, entries.indices, entries.indptr)))
    if hasattr(X, "iloc") and X.ndim == 2:  # ignore how pandas stores columns, which changes in use
        columns = [X.iloc[:, place] for place in range(X.shape[1])]
        parts = [(str(column.dtype), np.asarray(column) if _is_numpy(column) else column.array) for column in columns]
        return str(
            joblib.hash((type(X).__name__, X.shape, list(X.columns), list(X.index.names), np.asarray(X.index), parts))
        )
    return str(joblib.hash(X))


def _as_floats(X: np.ndarray) -> np.ndarray:
    """Objects as floats if that is exact for all of them; else unchanged."""
    entries = X.ravel().tolist()
    if not all(isinstance(entry, Real) for entry in entries):
        return X
    try:
        floats: np.ndarray = X.astype(np.float64)
    except OverflowError:
        return X
    kept = (number == entry or entry != entry for number, entry in zip(floats.ravel().tolist(), entries, strict=True))
    return floats if all(kept) else X


def _is_numpy(column: Any) -> bool:
    return isinstance(column.dtype, np.dtype)


def same_table(X: Any, other: Any) -> bool:
    """Return whether two tables of the same kind have the same entries; NaN equals NaN."""
    if type(X) is not type(other) or X.shape != other.shape:
        return False
    if hasattr(X, "equals"):
        return bool(X.equals(other))
    if hasattr(X, "tocsr"):
        return all(same_table(getattr(X, name), getattr(other, name)) for name in ("data", "indices", "indptr"))
    return X.dtype == other.dtype and fingerprint(X) == fingerprint(other)


def validated_rows(estimator: Any, X: Any, *, reset: bool, ensure_min_samples: int) -> Any:
    """Check X without the learner, which may accept sparse data and NaN; a data frame stays one."""
    refuse_masked(X, "X", type(estimator).__name__)
    X = in_memory(X, "X", type(estimator).__name__)
    if isinstance(X, RowSource):  # all rows have the same types
        few = X.take(np.arange(min(X.n_samples, ensure_min_samples)))
        validated_rows(estimator, few, reset=reset, ensure_min_samples=ensure_min_samples)
        return X
    if hasattr(X, "columns") and hasattr(X, "shape"):
        _refuse_twice(X, type(estimator).__name__)
        X = validate_data(estimator, X, reset=reset, skip_check_array=True)
        if X.shape[0] < ensure_min_samples:
            raise ValueError(
                f"Found array with {X.shape[0]} sample(s) (shape={X.shape}) while a minimum of {ensure_min_samples} is "
                f"required by {type(estimator).__name__}."
            )
        return X
    if not hasattr(X, "shape"):
        X = as_array(X, "X", type(estimator).__name__, _TABLE)
    if X.shape == ():
        value = X.item()
        way = "Read the file first, for example with pandas.read_csv" if isinstance(value, str) else "Pass a table"
        raise ValueError(f"Expected 2D array, got scalar array instead: {shown(value)}. {way}.")
    return validate_data(
        estimator,
        X,
        reset=reset,
        dtype=None,
        ensure_all_finite=False,
        accept_sparse=("csr", "csc"),
        ensure_min_samples=ensure_min_samples,
    )


def _refuse_twice(X: Any, owner: str) -> None:
    """Reject two columns of one name, because learners differ in which one they use."""
    names = list(X.columns)
    if len(set(map(str, names))) < len(names):
        twice = next(name for place, name in enumerate(names) if str(name) in map(str, names[:place]))
        raise ValueError(f"X has two columns named {shown(twice)}, and learners differ in which they use. Rename one.")


class Points:
    """Points at which many learners predict, such that no learner can change them for another.

    A learner that is known to be harmless gets a read-only array or sparse array. If it has to write to it, as
    scikit-learn's transformers with ``copy=False`` do, it gets a copy, and so do all later learners. Any other learner
    gets its own copy. Points with `places` were selected for one learner, and may be changed.
    """

    def __init__(self, X: Any, places: np.ndarray | None = None) -> None:
        self.X, self.places = X, places
        self.n_points = n_rows(X)
        self.copies = False  # whether a learner had to write to them

    @cached_property
    def as_float32(self) -> np.ndarray | None:
        """The points as row-major float32, like scikit-learn's trees convert them; None if trees must check them."""
        converted = as_float32(self.X)
        return None if converted is None else read_only(converted)

    @cached_property
    def _have_mutable_cells(self) -> bool:
        return has_mutable_cells(self.X)

    def some(self, places: np.ndarray) -> "Points":
        """Return the points at these places for one learner."""
        taken = take_rows(self.X, places)
        return Points(with_own_cells(taken) if self._have_mutable_cells else taken, places)

    def call(self, model: Any, method: str, *, harmless: bool, **params: Any) -> Any:
        """Call a method of a fitted model with the points and with parameters."""
        if self.places is not None:
            return getattr(model, method)(self.X, **params)
        shown = _shown(self.X) if harmless and not self.copies and not _writes_to_frames(model, self.X) else None
        if shown is None:
            return getattr(model, method)(_deep(self.X), **params)
        try:
            return getattr(model, method)(shown, **params)
        except Exception:
            # Perhaps it failed because the points are read-only. If not, a copy does not help either.
            answer = getattr(model, method)(_deep(self.X), **params)
            self.copies = True
            return answer


def as_float32(X: Any) -> np.ndarray | None:
    """Return an array of numbers as row-major float32; None if X is something else or would not be finite."""
    if not isinstance(X, np.ndarray) or X.dtype.kind not in "biuf":
        return None
    with np.errstate(over="ignore"):
        converted = np.ascontiguousarray(X, dtype=np.float32)
    return converted if np.isfinite(converted).all() else None


def _writes_to_frames(model: Any, X: Any) -> bool:
    """Whether a model may write to a frame, because one of its parameters says not to copy."""
    if not hasattr(X, "iloc") or not hasattr(model, "get_params"):
        return False
    parameters = model.get_params(deep=True)
    return any(value is False for name, value in parameters.items() if name.split("__")[-1].startswith("copy"))


def _shown(X: Any) -> Any:
    """The same rows, protected from changes or cheap to copy on write; None if neither is possible."""
    if isinstance(X, np.ndarray):
        return None if X.dtype.kind == "O" else read_only(X)
    if sparse.issparse(X) and X.format in ("csr", "csc"):
        buffers = (read_only(X.data), read_only(X.indices), read_only(X.indptr))
        return type(X)(buffers, shape=X.shape, copy=False)
    if hasattr(X, "iloc"):
        import pandas as pd

        writes_copy = int(pd.__version__.split(".")[0]) >= 3
        return X.copy(deep=not writes_copy)
    return X.clone() if hasattr(X, "clone") else None  # polars columns are immutable


def _deep(X: Any) -> Any:
    """A copy that shares nothing mutable."""
    if has_mutable_cells(X):
        return with_own_cells(X)
    if hasattr(X, "clone") and not hasattr(X, "copy"):
        return X.clone()
    return X.copy() if hasattr(X, "copy") else copy.deepcopy(X)


def unmasked(given: Any) -> Any:
    """Return predictions; raise ValueError if some are masked."""
    if isinstance(given, np.ma.MaskedArray) and np.ma.getmaskarray(given).any():
        raise ValueError("its prediction is masked at some points. Return it without a mask.")
    return given


# -------------------------------------------------------------------------------------------------------------- targets
# Targets: one number or label per row, or several numbers with a name for each column.


class Output(NamedTuple):
    """One of several outputs.

    Attributes
    ----------
    name : object
        Its name: a column of the targets, or its number.
    number : int
        Its position among the outputs.
    of : int
        How many outputs there are.
    """

    name: Any
    number: int
    of: int

    def column(self, block: np.ndarray) -> np.ndarray:
        """Return this output from predictions of all outputs, along the last axis."""
        return np.ascontiguousarray(block[..., self.number])


def are_several(y: Any) -> bool:
    """Return whether there are several targets per row.

    >>> are_several([[1, 2], [3, 4]]), are_several([[1], [3]]), are_several([1, 3])
    (True, False, False)
    """
    if isinstance(y, range):  # one number per row, perhaps more than fit into memory
        return False
    try:
        shape = y.shape if hasattr(y, "shape") else np.asarray(y).shape
    except ValueError:  # rows of different lengths raise an error later
        return False
    return len(shape) == 2 and shape[1] > 1


def one_column(y: Any, owner: str, instead: str, *, warn: bool = True) -> np.ndarray:
    """Return one target per row; raise ValueError for several, with what to do instead."""
    if are_several(y):
        tail = f": {instead}" if instead else "."
        raise ValueError(f"{owner} needs one target per row, got y with {y_width(y)} columns{tail}")
    return as_column(y, "y", owner, warn=warn)


def y_width(y: Any) -> int:
    """Return the number of columns of a table of targets."""
    return int((y.shape if hasattr(y, "shape") else np.asarray(y).shape)[1])


def columns(y: Any) -> np.ndarray:
    """Return a table of targets as an array in row-major order."""
    if hasattr(y, "toarray"):
        raise ValueError("y must be a dense table, got a sparse one. Pass y.toarray().")
    table = np.asarray(unmasked_targets(y))
    if table.ndim != 2:
        raise ValueError(f"y must be a table of numbers with one column per output, got a {type(y).__name__}.")
    return np.ascontiguousarray(table)


def columns_of_numbers(y: Any) -> np.ndarray:
    """Return a table of targets as an array of floats."""
    try:
        return columns(y).astype(float)
    except (TypeError, ValueError) as error:
        why = str(error).strip().split("\n")[0].rstrip(".")
        raise ValueError(f"Input y must be a table of numbers without missing values: {why}.") from error


def unmasked_targets(y: Any) -> Any:
    """Return the targets; raise ValueError if some are masked."""
    try:
        return unmasked(y)
    except ValueError:
        raise ValueError("Input y has masked targets. Remove those rows.") from None


def names_of(y: Any, owner: str) -> np.ndarray | None:
    """Return the column names of a frame of targets; None for an array."""
    if not hasattr(y, "columns"):
        return None
    names = np.empty(y_width(y), dtype=object)
    for place, name in enumerate(y.columns):
        names[place] = name
    twice = [name for place, name in enumerate(names) if name in names[:place].tolist()]
    if twice:
        raise ValueError(
            f"{owner} got y with two columns named {shown(twice[0])}. Outputs need unique names: rename one."
        )
    return names


def output_of(name: Any, names: np.ndarray, owner: str) -> Output:
    """Return the output with this name, or at this position if no name is a number."""
    known = names.tolist()
    for number, each in enumerate(known):
        if (type(each) is type(name) and each == name) or _same_number(each, name):
            return Output(each, number, len(known))
    if _is_number(name) and 0 <= name < len(known) and not any(map(_is_number, known)):
        return Output(known[name], int(name), len(known))
    raise refuse_value("name", owner, f"one of {', '.join(map(repr, known))}", name)


def _is_number(name: Any) -> bool:
    return isinstance(name, int | np.integer) and not isinstance(name, bool)


def _same_number(one: Any, other: Any) -> bool:
    return _is_number(one) and _is_number(other) and int(one) == int(other)


def row_by_row(function: _Function) -> _Function:
    """Declare, as a decorator, that a function transforms each row of a table independently of the others."""
    function.is_row_by_row = True  # type: ignore[attr-defined]
    return function


# --------------------------------------------------------------------------------------------------------- saved tables
# Data frames inside saved models: pickle stores them unchanged, skops stores Arrow IPC bytes.
#
# skops has no format for data frames. Arrow's format stores columns, types, categories and the index, but no code.
# Before a frame is written, it is read back once; a frame that would change raises an error.

TABLE_FORMAT = 1  # of the state that skops writes
_INSTEAD = "Save the model with pickle or joblib, fit it with keep_rows=False, or convert the column before fitting."


class SavedTable:
    """A data frame or series in the state of a model: pickle and copy get the table itself, skops gets bytes."""

    def __init__(self, table: Any) -> None:
        self.table = table

    def __reduce__(self) -> tuple[Callable[[Any], Any], tuple[Any]]:
        return _itself, (self.table,)

    def __getstate__(self) -> dict[str, Any]:
        try:
            state = _polars_state(self.table) if _library(self.table) == "polars" else _pandas_state(self.table)
            changed = _changed(_table(state), self.table)
        except ImportError as error:
            raise ImportError("Saving data frames needs pyarrow: pip install 'stablebag[save]'.") from error
        except Exception as error:
            reason = "; ".join(map(str, error.args)).strip().rstrip(".") or type(error).__name__
            raise TypeError(f"skops cannot save this table: {reason}. {_INSTEAD}") from error
        if changed:
            raise TypeError(f"skops cannot save {changed}, because it would change. {_INSTEAD}")
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        if state.get("format") != TABLE_FORMAT:
            found = state.get("format", "unknown")
            raise ValueError(
                f"The saved rows have format {found}, but this version of stablebag reads format {TABLE_FORMAT}. Refit "
                "and save the model."
            )
        self.table = _table(state)


def wrap_tables(value: Any) -> Any:
    """Wrap a frame or series, also inside a dict, for the state of a model; return anything else unchanged."""
    if isinstance(value, dict):
        return {name: wrap_tables(item) for name, item in value.items()}
    return SavedTable(value) if _library(value) in ("pandas", "polars") else value


def unwrap_tables(value: Any) -> Any:
    """Undo `wrap_tables`."""
    if isinstance(value, dict):
        return {name: unwrap_tables(item) for name, item in value.items()}
    return value.table if isinstance(value, SavedTable) else value


def _itself(table: Any) -> Any:
    return table


def _library(value: Any) -> str:
    """The library of a frame or series, or of the class that it inherits from; "" for anything else."""
    bases = [base for base in type(value).__mro__ if base.__name__ in ("DataFrame", "Series")]
    return bases[-1].__module__.split(".")[0] if bases else ""


def _table(state: dict[str, Any]) -> Any:
    return _from_polars_state(state) if state["library"] == "polars" else _from_pandas_state(state)


def _polars_state(table: Any) -> dict[str, Any]:
    buffer = io.BytesIO()
    frame = table if hasattr(table, "columns") else table.to_frame()
    frame.write_ipc(buffer)
    content = np.frombuffer(buffer.getvalue(), np.uint8)
    return {"format": TABLE_FORMAT, "library": "polars", "is_series": frame is not table, "arrow": content}


def _from_polars_state(state: dict[str, Any]) -> Any:
    import polars as pl

    frame = pl.read_ipc(io.BytesIO(state["arrow"].tobytes()))
    return frame.to_series() if state["is_series"] else frame


def _pandas_state(table: Any) -> dict[str, Any]:
    import pandas as pd
    import pyarrow as pa

    if type(table) not in (pd.DataFrame, pd.Series):
        raise TypeError(f"a {type(table).__name__} is not a plain pandas DataFrame")
    is_series = isinstance(table, pd.Series)
    frame = table.to_frame() if is_series else table
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about labels that would change; they raise an error later
        arrow, sink = pa.Table.from_pandas(frame), io.BytesIO()
    with pa.ipc.new_file(sink, arrow.schema) as writer:
        writer.write_table(arrow)
    objects = [place for place, dtype in enumerate(frame.dtypes) if dtype.kind == "O" and isinstance(dtype, np.dtype)]
    return {
        "format": TABLE_FORMAT,
        "library": "pandas",
        "is_series": is_series,
        "name": table.name if is_series else None,
        # Arrow has one missing value, and Python's objects have three.
        "objects": {str(place): _missing_value(frame.iloc[:, place]) for place in objects},
        "arrow": np.frombuffer(sink.getvalue(), np.uint8),
    }


def _from_pandas_state(state: dict[str, Any]) -> Any:
    import pandas as pd
    import pyarrow as pa

    with pa.ipc.open_file(state["arrow"].tobytes()) as reader:
        frame = reader.read_all().to_pandas()
    missing = {"None": None, "nan": math.nan, "<NA>": pd.NA}
    for place, name in state["objects"].items():
        column = frame.iloc[:, int(place)]
        cells = column.to_numpy(dtype=object, na_value=None).copy()
        cells[column.isna().to_numpy()] = missing[name]
        frame.isetitem(int(place), pd.Series(cells, index=frame.index, dtype=object))
    return frame.iloc[:, 0].rename(state["name"]) if state["is_series"] else frame


def _missing_value(column: Any) -> str:
    gone = column[column.isna().to_numpy()]
    return str(gone.iloc[0]) if len(gone) else "None"


def _changed(one: Any, other: Any) -> str:
    """Name the part of two tables that differs in a way that a learner could notice; "" if there is none."""
    if _library(one) == "polars":
        types = [table.schema if hasattr(table, "schema") else table.dtype for table in (one, other)]
        return "" if types[0] == types[1] and one.equals(other, null_equal=True) else "this table"
    frames = [table if hasattr(table, "columns") else table.to_frame() for table in (one, other)]
    if _are_equal(*frames):
        return "" if one.attrs == other.attrs else "the attrs of this table"
    for place, name in enumerate(frames[1].columns):
        if not _are_equal(*(frame.iloc[:, [place]] for frame in frames)):
            return f"column {name!r}"
    return "this table"


def _are_equal(one: Any, other: Any) -> bool:
    from pandas import testing

    try:
        testing.assert_frame_equal(one, other, check_exact=True, check_freq=False)
    except AssertionError:
        return False
    objects = [place for place, dtype in enumerate(one.dtypes) if dtype.kind == "O" and isinstance(dtype, np.dtype)]
    cells = [[list(map(type, frame.iloc[:, place])) for place in objects] for frame in (one, other)]
    return cells[0] == cells[1]  # pandas would treat None, NaN and NA as equal
