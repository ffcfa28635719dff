"""Random subspaces: each bag's learner sees some of the columns, drawn from its seed and never from the rows.

The learner that the theorems are about is then: draw columns from the seed, and fit to these. It is a randomized
learner like any other, and everything that is proved for every learner is proved for it.
"""

import numbers
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import Philox, SeedSequence
from sklearn.utils import _safe_indexing  # private, but scikit-learn's own way to take columns of any frame

from stablebag._checks import check_integer, check_real, refuse_value, whole_rows

_STREAM = 2  # of a seed, apart from those of the learner itself


@dataclass(frozen=True)
class Subspaces:
    """The columns that each bag's learner sees: so many of those of the table, each set of them equally likely.

    Parameters
    ----------
    n_features : int
        The number of columns of the table.
    size : int
        How many of them a learner sees.

    Examples
    --------
    >>> Subspaces(n_features=6, size=2).of(seed=0), Subspaces(n_features=6, size=2).of(seed=1)
    (array([3, 4]), array([1, 3]))
    """

    n_features: int
    size: int

    @classmethod
    def read(cls, max_features: Any, n_features: int, owner: str) -> "Subspaces | None":
        """Return what `max_features` means for so many columns; None if learners see them all.

        >>> Subspaces.read(0.5, 7, "BaggedRegressor"), Subspaces.read(1.0, 7, "BaggedRegressor")
        (Subspaces(n_features=7, size=3), None)
        """
        check_max_features(max_features, owner)
        if isinstance(max_features, numbers.Integral):
            size = int(max_features)
            if size > n_features:
                reason = f"there are {n_features:,} columns. Use 1.0 for all."
                raise refuse_value("max_features", owner, f"at most {n_features:,} here", size, reason)
        else:
            size = max(1, whole_rows(max_features, n_features))
        return None if size == n_features else cls(n_features, size)

    def of(self, seed: int) -> np.ndarray:
        """Return the columns that the learner with this seed sees, in the order of the table."""
        words = Philox(SeedSequence((seed, _STREAM))).random_raw(self.n_features)
        return np.sort(np.argsort(words, kind="stable")[: self.size])

    def warn_of_one(self, stacklevel: int) -> None:
        """Warn that all bags see the same columns, because all learners have the same seed."""
        warnings.warn(
            f'With n_bags="all" the learner has the same seed in every bag, so all bags see the same {self.size:,} of '
            f"{self.n_features:,} columns. Draw some bags (n_bags=500) for columns of their own, or use "
            "max_features=1.0.",
            stacklevel=stacklevel,
        )

    def take(self, X: Any, seed: int) -> Any:
        """Return these columns of an array, a sparse array or a data frame, as a new table of the same kind."""
        columns = self.of(seed)
        return np.take(X, columns, axis=1) if isinstance(X, np.ndarray) else _safe_indexing(X, columns, axis=1)


def check_max_features(value: Any, owner: str) -> None:
    """Refuse a number of columns that is no whole number from 1 on and no share of them."""
    reason = "it is how many columns each bag's learner sees, or their share. Use 1.0 for all."
    if isinstance(value, numbers.Integral) and not isinstance(value, bool):
        check_integer(value, "max_features", owner, minimum=1, reason=reason)
    else:
        check_real(value, "max_features", owner, high=1.0, open_low=True, reason=reason)
