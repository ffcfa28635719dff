"""The paper's logistic regression, whose penalty depends on the number of rows, and its solver."""

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression

from stablebag.learning.job import FitJob
from stablebag.learning.solvers.choice import register
from stablebag.learning.solvers.linear import LinearArrays, is_number
from stablebag.learning.solvers.logistic import LogisticForm
from stablebag.learning.solvers.parameters import check_parameters
from stablebag.learning.solvers.pipelines import Linear, LinearStructure


class ScaledLogisticRegression(ClassifierMixin, BaseEstimator):
    """Logistic regression without an intercept, with a penalty fixed per row: C = `strength` / (number of rows).

    Parameters
    ----------
    strength : float, default=1000.0
        The paper's 1e3; a bag of half the rows gets twice the C.

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.array([[1.0], [2.0], [-1.0], [-2.0]])
    >>> ScaledLogisticRegression().fit(rows, [1, 1, 0, 0]).model_.C
    250.0
    """

    def __init__(self, strength: float = 1e3) -> None:
        self.strength = strength

    def fit(self, X: Any, y: Any) -> Self:
        """Fit with the penalty for this number of rows."""
        self.model_ = LogisticRegression(C=self.strength / len(X), fit_intercept=False).fit(X, y)
        self.classes_ = self.model_.classes_
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probabilities of the two classes at each point."""
        probabilities: np.ndarray = self.model_.predict_proba(X)
        return probabilities

    def predict(self, X: Any) -> np.ndarray:
        """Return the likelier class at each point."""
        labels: np.ndarray = self.model_.predict(X)
        return labels


class ScaledForm(LogisticForm):
    """Logistic regression with a C that is divided by the number of rows."""

    def strength(self, n_rows: int) -> float:
        """Return how much the squared coefficients count beside the mean loss, rounded as scikit-learn does."""
        return 1.0 / (self.C / n_rows * n_rows)


class ScaledStructure(LinearStructure):
    """The paper's learner around a logistic regression."""

    def estimator(self, model: LinearArrays, seed: int) -> Any:
        estimator = self.copies.copy(seed)
        estimator.model_ = LogisticRegression(C=estimator.strength / model.n_rows, fit_intercept=False)
        self.fill([estimator.model_], model)
        estimator.classes_ = estimator.model_.classes_
        return estimator


@register
class ScaledLogistic(Linear):
    """Fits the paper's logistic regression."""

    learners = (ScaledLogisticRegression,)
    structure_type = ScaledStructure

    def form_of(self, learner: Any, job: FitJob) -> ScaledForm:
        check_parameters(learner, strength=is_number)
        return ScaledForm.of(LogisticRegression(C=float(learner.strength), fit_intercept=False), job.classes)
