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

    def __call__(self, X: Any, y: Any, seed: int) -> np.ndarray | dict[str, float]:
        """Fit a copy to these rows, and return its scores of the features, by name if the learner saw their names."""
        model = Copies(self.estimator).copy(seed)
        model.fit(X, y)
        last, names = model, getattr(model, "feature_names_in_", None)
        if hasattr(model, "steps"):
            last, names = model.steps[-1][1], _names_after(model)
        scores = self._scores(last)
        return scores if names is None or len(names) != len(scores) else dict(zip(names, scores, strict=True))

    @staticmethod
    def _scores(last: Any) -> np.ndarray:
        """What a fitted learner makes of the features that it saw."""
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


def _names_after(pipeline: Any) -> Any:
    """What the steps before the last call the features that they make; None if they do not say, or saw no names."""
    before = pipeline[:-1]
    if not hasattr(pipeline, "feature_names_in_"):
        return None
    try:
        return before.get_feature_names_out() if len(before) else pipeline.feature_names_in_
    except (AttributeError, ValueError, TypeError):
        return None
