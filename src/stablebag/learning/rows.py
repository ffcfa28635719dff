"""Rows of any kind of table: taken, stacked, and shown to learners so that none can change what another sees."""

import copy
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import _safe_indexing  # underscored, but what scikit-learn's users have for rows of any frame
from sklearn.utils.validation import validate_data

from stablebag._checks import read_only


def n_rows(X: Any) -> int:
    """Return the number of rows of a table."""
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def take_rows(X: Any, rows: np.ndarray) -> Any:
    """Return these rows, in this order, of an array, a sparse array or a frame: a new thing of the same kind.

    >>> take_rows(np.array([[1, 2], [3, 4]]), np.array([1, 1, 0]))
    array([[3, 4],
           [3, 4],
           [1, 2]])
    """
    if isinstance(X, np.ndarray):
        return X[rows]
    return _safe_indexing(X, rows)


def stacked(X: Any, more: Any) -> Any:
    """Put two tables of the same kind one below the other."""
    if hasattr(X, "iloc"):
        import pandas as pd

        return pd.concat([X, more], ignore_index=True)
    if hasattr(X, "vstack"):
        return X.vstack(more)
    if sparse.issparse(X):
        return sparse.vstack([X, more]).tocsr()
    return np.concatenate([np.asarray(X), np.asarray(more)])


def kept(X: Any) -> Any:
    """Return a copy of a table that no later change by the caller reaches."""
    if isinstance(X, np.ndarray):
        return read_only(X.copy())
    return _deep(X)


def same_table(X: Any, other: Any) -> bool:
    """Return whether two tables of the same kind have the same entries; NaN is itself."""
    if type(X) is not type(other) or X.shape != other.shape:
        return False
    if hasattr(X, "equals"):
        return bool(X.equals(other))
    if hasattr(X, "tocsr"):
        return all(same_table(getattr(X, name), getattr(other, name)) for name in ("data", "indices", "indptr"))
    return bool(np.array_equal(X, other, equal_nan=X.dtype.kind == "f"))


def validated_rows(estimator: Any, X: Any, *, reset: bool, ensure_min_samples: int) -> Any:
    """Check X as far as can be done without the learner: a frame stays a frame; sparse and NaN are its business."""
    if hasattr(X, "columns") and hasattr(X, "shape"):
        X = validate_data(estimator, X, reset=reset, skip_check_array=True)
        if X.shape[0] < ensure_min_samples:
            raise ValueError(
                f"Found array with {X.shape[0]} sample(s) (shape={X.shape}) while a minimum of {ensure_min_samples} is "
                f"required by {type(estimator).__name__}."
            )
        return X
    return validate_data(
        estimator,
        X,
        reset=reset,
        dtype=None,
        ensure_all_finite=False,
        accept_sparse="csr",
        ensure_min_samples=ensure_min_samples,
    )


class Points:
    """Points at which many learners predict: each gets to see them, and none can change them.

    An array or a sparse array is shown read-only. Where a learner insists on writing to it (scikit-learn's transformers
    with ``copy=False`` may), it gets a copy, and so do the learners after it. A frame is shown as a shallow copy
    where its library copies on write.
    """

    def __init__(self, X: Any) -> None:
        self.X = X
        self.n_points = n_rows(X)
        self.copies = False  # whether some learner had to write to them

    @cached_property
    def as_float32(self) -> np.ndarray | None:
        """Float32 in rows, as scikit-learn's trees make of any X; None where they should look at it themselves."""
        converted = as_float32(self.X)
        return None if converted is None else read_only(converted)

    def ask(self, model: Any, method: str) -> Any:
        """Call a method of a fitted model with the points."""
        if self.copies:
            return getattr(model, method)(_deep(self.X))
        shown = _shown(self.X)
        try:
            return getattr(model, method)(shown)
        except Exception:
            if not isinstance(shown, np.ndarray) and not sparse.issparse(shown):
                raise
            # It may be that the points are read-only. If it is for another reason, a copy does not help either.
            answer = getattr(model, method)(_deep(self.X))
            self.copies = True
            return answer


def as_float32(X: Any) -> np.ndarray | None:
    """Return an array as float32 in rows; None if it is none, or if something in it is not finite then."""
    if not isinstance(X, np.ndarray) or X.dtype.kind not in "biuf":
        return None
    with np.errstate(over="ignore"):
        converted = np.ascontiguousarray(X, dtype=np.float32)
    return converted if np.isfinite(converted).all() else None


def _shown(X: Any) -> Any:
    if isinstance(X, np.ndarray):
        return read_only(X)
    if sparse.issparse(X) and X.format == "csr":
        buffers = (read_only(X.data), read_only(X.indices), read_only(X.indptr))
        return type(X)(buffers, shape=X.shape, copy=False)
    return _own(X)


def _own(X: Any) -> Any:
    """A frame of one's own, sharing memory only where writing to it does not reach the other."""
    if hasattr(X, "iloc"):
        import pandas as pd

        writes_copy = int(pd.__version__.split(".")[0]) >= 3
        return X.copy(deep=not writes_copy)
    if hasattr(X, "clone"):  # polars, whose columns cannot be written to
        return X.clone()
    return copy.deepcopy(X)


def _deep(X: Any) -> Any:
    """A copy that shares nothing that can be written to."""
    if hasattr(X, "clone") and not hasattr(X, "copy"):
        return X.clone()
    return X.copy() if hasattr(X, "copy") else copy.deepcopy(X)
