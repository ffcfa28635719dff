"""Rows and points as the matrices that scikit-learn's linear models work on, in the same order in memory.

The order matters: sums and products are rounded in another way when a matrix lies column by column.
"""

from typing import Any

import numpy as np
from sklearn.utils import check_array

from stablebag.learning.rows import take_rows
from stablebag.learning.solvers.solver import NotCovered
from stablebag.learning.solvers.tables import as_matrix

LARGEST = 1e140  # squares of numbers up to this, and sums of these, are finite


class BagRows:
    """The rows of bags, each bag as a new matrix of float64 in the order in which scikit-learn would get it.

    Parameters
    ----------
    X : array or data frame
        The training rows.
    by_row : bool, default=False
        Whether the learner puts them row by row in any case.
    """

    def __init__(self, X: Any, *, by_row: bool = False) -> None:
        matrix, self.names = as_matrix(X)
        if 0 in matrix.shape:
            raise NotCovered("a table without rows or columns is not covered")
        if matrix.dtype.kind not in "iu" and matrix.dtype != np.float64:
            raise NotCovered(f"numbers of type {matrix.dtype} are not covered")
        matrix = matrix.astype(np.float64, copy=False)
        if not (np.abs(matrix) <= LARGEST).all():
            raise NotCovered("missing values, and numbers beyond 1e140, are not covered")
        self.by_row = by_row or _comes_by_row(X)
        self.matrix = np.ascontiguousarray(matrix if self.by_row else matrix.T)

    @property
    def n_features(self) -> int:
        """The number of columns."""
        return int(self.matrix.shape[1 if self.by_row else 0])

    def take(self, rows: np.ndarray) -> np.ndarray:
        """Return these rows as a matrix of their own."""
        if self.by_row:
            return self.matrix.take(rows, axis=0)
        return self.matrix.take(rows, axis=1).T


def points_matrix(X: Any) -> np.ndarray | None:
    """Return points as scikit-learn's linear models see them; None if they should look at them themselves."""
    if not isinstance(X, np.ndarray) and not hasattr(X, "columns"):
        return None
    try:
        matrix = as_matrix(X)[0]
    except NotCovered:
        return None
    if not isinstance(X, np.ndarray):
        matrix = check_array(X, ensure_min_samples=0, ensure_all_finite=False)
    if matrix.dtype.kind in "iu" and matrix.flags.c_contiguous:
        matrix = matrix.astype(np.float64)
    if matrix.dtype != np.float64 or len(matrix) == 0 or not np.isfinite(matrix).all():
        return None
    return matrix


def column_sums(X: np.ndarray) -> np.ndarray:
    """Return ``np.sum(X, axis=0)``, to the last bit: of a matrix row by row, `einsum` adds in the same order, faster.

    >>> column_sums(np.array([[1.0, 2.0], [3.0, 4.0]]))
    array([4., 6.])
    """
    by_row = X.shape[1] > 1 and X.flags.c_contiguous
    sums: np.ndarray = np.einsum("ij->j", X) if by_row else np.add.reduce(X, axis=0)
    return sums


def _comes_by_row(X: Any) -> bool:
    """Whether the rows of a bag reach a learner row by row."""
    sample = check_array(take_rows(X, np.zeros(2, dtype=int)), dtype=np.float64)
    if not sample.flags.c_contiguous and not sample.flags.f_contiguous:
        raise NotCovered("a table whose rows are spread out in memory is not covered")
    return bool(sample.flags.c_contiguous)
