"""Rows of any kind of table: taken, stacked, and shown to learners so that none can change what another sees."""

import copy
import hashlib
from functools import cached_property
from numbers import Real
from typing import Any

import joblib
import numpy as np
from scipy import sparse
from sklearn.utils import (
    _safe_indexing,  # private, but scikit-learn's own way to take rows of any frame
    column_or_1d,
)
from sklearn.utils.validation import validate_data

from stablebag._checks import as_array, read_only, refuse_masked, refuse_type, refuse_value, shown
from stablebag.learning.sources.source import RowSource

_COMPUTE = {"polars": "collect", "narwhals": "collect", "dask": "compute", "pyspark": "toPandas", "ibis": "to_pandas"}
_IMMUTABLE = (str, bytes, bool, int, float, complex, type(None), np.generic, np.datetime64)


def in_memory(X: Any, name: str, owner: str) -> Any:
    """Return a table as it is, and of narwhals the one that it wraps; one that is not computed yet is refused."""
    package = type(X).__module__.partition(".")[0]
    if package not in _COMPUTE or not hasattr(X, _COMPUTE[package]):
        return X.to_native() if package == "narwhals" and hasattr(X, "to_native") else X
    # Arrays and columns have one dtype, and numpy computes them; but rows that are not counted yet are NaN in number.
    if hasattr(X, "dtype") and not isinstance(X.shape[0], float):
        return X
    raise TypeError(
        f"{owner} got a {package} {type(X).__name__} as {name}, whose rows are not computed yet. Use "
        f"{name}.{_COMPUTE[package]}()."
    )


def n_rows(X: Any) -> int:
    """Return the number of rows of a table."""
    X = in_memory(X, "X", "stablebag")
    if getattr(X, "shape", None) == ():
        raise ValueError(f"Expected 2D array, got a single value: {shown(X)}. A table has rows and columns.")
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def as_table(X: Any, name: str, owner: str) -> Any:
    """Return a table as it is, or an array of what is none yet; what has no rows and columns is refused."""
    refuse_masked(X, name, owner)
    X = in_memory(X, name, owner)
    table = X if hasattr(X, "shape") else as_array(X, name, owner, "a table with as many columns in every row")
    if len(table.shape) != 2:
        reason = "For one row use [row]."
        raise ValueError(f"Expected 2D array as {name} of {owner}, got an array of shape {table.shape}. {reason}")
    return table


def as_column(y: Any, name: str, owner: str, *, warn: bool = True) -> np.ndarray:
    """Return one value for each row, as an array; what is masked, comes one by one or has several columns is refused.

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
        raise refuse_type(name, owner, "one value for each row, and no lists of them", given)
    return column


def index_of(X: Any) -> Any:
    """Return the index of a pandas frame, which names its rows; None of other tables, and if it only counts them."""
    if not hasattr(X, "iloc"):
        return None
    names = X.index.to_numpy()
    counts = names.dtype.kind in "iu" and np.array_equal(names, np.arange(len(names)))
    return None if counts else X.index


def take_rows(X: Any, rows: np.ndarray) -> Any:
    """Return these rows of an array, a sparse array or a data frame, in this order, as a new table of the same kind.

    >>> take_rows(np.array([[1, 2], [3, 4]]), np.array([1, 1, 0]))
    array([[3, 4],
           [3, 4],
           [1, 2]])
    """
    if isinstance(X, np.ndarray):
        return X[rows]
    if type(X).__module__.startswith("pyarrow."):  # which older versions of scikit-learn do not index
        return X.take(rows)
    taken = _safe_indexing(X, rows)
    if sparse.issparse(taken):
        taken.sort_indices()  # within a column of "csc", they are in the order of the table
    if hasattr(taken, "iloc") and np.array_equal(rows, np.arange(n_rows(X))):
        return taken.copy()  # all rows in order are a view in pandas, and scikit-learn writes to it where copy=False
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


def kept(X: Any) -> Any:
    """Return a copy of a table that later changes by the caller do not reach; a source stays where it is."""
    if isinstance(X, RowSource):
        return X
    table = _deep(X)
    return read_only(table) if isinstance(table, np.ndarray) else table


def has_mutable_cells(X: Any) -> bool:
    """Return whether a table has mutable objects in its cells, such as lists, which copies would share."""
    if isinstance(X, np.ndarray):
        return X.dtype.kind == "O" and not all(isinstance(value, _IMMUTABLE) for value in X.ravel())
    if hasattr(X, "iloc"):
        columns = [X.iloc[:, place] for place in range(X.shape[1]) if X.dtypes.iloc[place].kind == "O"]
        return any(has_mutable_cells(column.to_numpy()) for column in columns)
    return False


def with_own_cells(X: Any) -> Any:
    """Return a copy of a table that shares nothing with it, not even mutable cells, which pandas would share."""
    table = copy.deepcopy(X)
    for place in range(table.shape[1]) if hasattr(table, "iloc") else ():
        if table.dtypes.iloc[place].kind == "O":
            cells = np.empty(len(table), dtype=object)
            cells[:] = [copy.deepcopy(cell) for cell in table.iloc[:, place]]
            table.isetitem(place, cells)
    return table


def fingerprint(X: Any) -> str:
    """Return a hash that identifies a table, whatever the order of its bytes, and also if its floats are objects.

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
    if sparse.issparse(X):  # what scipy remembers about an array does not count
        entries = sparse.csr_array(X, copy=True)
        entries.sum_duplicates()
        return str(joblib.hash((type(X).__name__, X.shape, entries.data, entries.indices, entries.indptr)))
    if hasattr(X, "iloc") and X.ndim == 2:  # how pandas has put columns together does not count; it changes in use
        columns = [X.iloc[:, place] for place in range(X.shape[1])]
        parts = [(str(column.dtype), np.asarray(column) if _is_numpy(column) else column.array) for column in columns]
        return str(
            joblib.hash((type(X).__name__, X.shape, list(X.columns), list(X.index.names), np.asarray(X.index), parts))
        )
    return str(joblib.hash(X))


def _as_floats(X: np.ndarray) -> np.ndarray:
    """Objects as floats if they are real numbers, and none of them changes by it; as they are otherwise."""
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
    """Check X as far as possible without the learner, to which sparse data and NaN are left; a frame stays a frame."""
    refuse_masked(X, "X", type(estimator).__name__)
    X = in_memory(X, "X", type(estimator).__name__)
    if isinstance(X, RowSource):  # all of its rows are alike
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
        X = as_array(X, "X", type(estimator).__name__, "a table with as many columns in every row")
    if X.shape == ():
        value = shown(X.item())
        raise ValueError(f"Expected 2D array, got scalar array instead: {value}. A table has rows and columns.")
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
    """Refuse two columns of one name: which is meant, learners decide in different ways."""
    names = list(X.columns)
    if len(set(map(str, names))) < len(names):
        twice = next(name for place, name in enumerate(names) if str(name) in map(str, names[:place]))
        raise refuse_value("X", owner, "a table whose columns have names of their own", twice, "rename one of them.")


class Points:
    """Points at which many learners predict: each sees them, but none can change them.

    A learner that is known to be harmless sees an array or a sparse array read-only. If it has to write to it, as
    scikit-learn's transformers with ``copy=False`` may, it gets a copy, and so do those after it. Any other learner
    gets its own copy. Points taken out of others for one learner, which have `places` there, are its own.
    """

    def __init__(self, X: Any, places: np.ndarray | None = None) -> None:
        self.X, self.places = X, places
        self.n_points = n_rows(X)
        self.copies = False  # whether some learner had to write to them

    @cached_property
    def as_float32(self) -> np.ndarray | None:
        """Row-major float32, as scikit-learn's trees convert any X; None if they should check the points themselves."""
        converted = as_float32(self.X)
        return None if converted is None else read_only(converted)

    @cached_property
    def _have_mutable_cells(self) -> bool:
        return has_mutable_cells(self.X)

    def some(self, places: np.ndarray) -> "Points":
        """Return the points at these places, for one learner."""
        taken = take_rows(self.X, places)
        return Points(with_own_cells(taken) if self._have_mutable_cells else taken, places)

    def ask(self, model: Any, method: str, *, harmless: bool, **params: Any) -> Any:
        """Call a method of a fitted model with the points, and with what is passed along."""
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
    """Return an array of numbers as row-major float32; None if X is not one, or if a number is then not finite."""
    if not isinstance(X, np.ndarray) or X.dtype.kind not in "biuf":
        return None
    with np.errstate(over="ignore"):
        converted = np.ascontiguousarray(X, dtype=np.float32)
    return converted if np.isfinite(converted).all() else None


def _writes_to_frames(model: Any, X: Any) -> bool:
    """Whether a model may write to a frame: scikit-learn takes the right to, if it is told not to copy."""
    if not hasattr(X, "iloc") or not hasattr(model, "get_params"):
        return False
    parameters = model.get_params(deep=True)
    return any(value is False for name, value in parameters.items() if name.split("__")[-1].startswith("copy"))


def _shown(X: Any) -> Any:
    """The same rows, read-only or such that writing to them reaches no one else; None if neither is possible."""
    if isinstance(X, np.ndarray):
        return None if X.dtype.kind == "O" else read_only(X)
    if sparse.issparse(X) and X.format in ("csr", "csc"):
        buffers = (read_only(X.data), read_only(X.indices), read_only(X.indptr))
        return type(X)(buffers, shape=X.shape, copy=False)
    if hasattr(X, "iloc"):
        import pandas as pd

        writes_copy = int(pd.__version__.split(".")[0]) >= 3
        return X.copy(deep=not writes_copy)
    return X.clone() if hasattr(X, "clone") else None  # polars, whose columns cannot be written to


def _deep(X: Any) -> Any:
    """A copy that shares nothing mutable."""
    if has_mutable_cells(X):
        return with_own_cells(X)
    if hasattr(X, "clone") and not hasattr(X, "copy"):
        return X.clone()
    return X.copy() if hasattr(X, "copy") else copy.deepcopy(X)
