"""The training rows as scikit-learn would see them: a matrix of numbers, with the names of its columns."""

from typing import Any

import numpy as np

from stablebag.learning.solvers.solver import NotCovered


def as_matrix(X: Any) -> tuple[np.ndarray, np.ndarray | None]:
    """Return a dense table as a matrix, with the names of its features if it has any.

    A frame is covered if scikit-learn converts any rows of it in the same way: its columns are plain numbers.

    >>> as_matrix(np.eye(2))
    (array([[1., 0.],
           [0., 1.]]), None)
    """
    if isinstance(X, np.ndarray):
        if type(X) not in (np.ndarray, np.memmap) or X.ndim != 2 or X.dtype.kind not in "iuf" or X.dtype.itemsize > 8:
            raise NotCovered(f"an array of type {X.dtype} with {X.ndim} axes is not covered")
        return np.asarray(X), None  # a worker may have it as a memory map
    if not hasattr(X, "columns"):
        raise NotCovered(f"a table of type {type(X).__name__} is not covered")
    names = list(X.columns)
    if not all(type(name) is str for name in names) or len(set(names)) != len(names):
        raise NotCovered("columns without a name, or with the same, are not covered")
    kinds = {str(kind) for kind in X.dtypes}
    if hasattr(X, "iloc") and not kinds <= {"float64", "float32", "int64", "int32"}:
        raise NotCovered(f"a frame with columns of type {', '.join(sorted(kinds))} is not covered")
    if not hasattr(X, "iloc") and not kinds <= {"Float64", "Float32", "Int64", "Int32"}:
        raise NotCovered(f"a frame with columns of type {', '.join(sorted(kinds))} is not covered")
    matrix = X.to_numpy()
    if matrix.dtype.kind not in "iuf" or (hasattr(X, "null_count") and matrix.dtype.kind == "f" and _has_nulls(X)):
        raise NotCovered("a frame with missing values is not covered")
    return matrix, np.array(names, dtype=object)


def _has_nulls(frame: Any) -> bool:
    """Whether a polars frame has nulls, which become NaN or objects."""
    return bool(frame.null_count().to_numpy().any())
