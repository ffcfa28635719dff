"""How much a fitted learner makes of each feature, as scores of items."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from stablebag.learning.learners import Copies


@dataclass(frozen=True)
class Importances:
    """A function from data to scores: `feature_importances_` of a learner fitted to them, or the sizes of `coef_`.

    Parameters
    ----------
    estimator : estimator
        An unfitted learner, or a pipeline that ends with one.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> Importances(LinearRegression())([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]], [0.0, 1.0, -2.0], seed=0).round(9)
    array([1., 2.])
    """

    estimator: Any

    def __call__(self, X: Any, y: Any, seed: int) -> np.ndarray:
        """Fit a copy to these rows, and return its scores of the features."""
        model = Copies(self.estimator).copy(seed)
        model.fit(X, y)
        last = model.steps[-1][1] if hasattr(model, "steps") else model
        if hasattr(last, "feature_importances_"):
            return np.asarray(last.feature_importances_, dtype=float)
        if not hasattr(last, "coef_"):
            raise TypeError(
                f"{type(last).__name__} has neither feature_importances_ nor coef_ after fit. Give a function of (X, "
                "y, seed) that returns the scores."
            )
        size: np.ndarray = np.abs(np.asarray(last.coef_, dtype=float))
        if size.ndim == 2 and len(size) != 1:
            raise TypeError(
                f"{type(last).__name__} has coefficients for {len(size)} outputs. Give a function of (X, y, seed) that "
                "makes one score of them for each feature."
            )
        return size.reshape(-1)
