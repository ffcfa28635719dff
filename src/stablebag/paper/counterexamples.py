"""The paper's two counterexamples: learners that show what cannot be guaranteed, each with its data set."""

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from stablebag._checks import check_integer, check_samples, refuse_value


class ThresholdCount(RegressorMixin, BaseEstimator):
    """A-sharp of Theorem 10: predicts 1 if its rows have more ones than their share, and 0 otherwise.

    Given m rows, it compares the sum of the first feature with m K / n, in exact integer arithmetic. If it is subbagged
    on K ones and n - K zeros, leaving out any of the K ones changes its prediction by `bounds.threshold_perturbation`
    at every point.

    Parameters
    ----------
    n_samples : int
        The number of rows n of the whole data set, not of a bag.
    n_influential : int
        The number of ones, K = 1 + floor(n delta).

    Examples
    --------
    >>> learner = ThresholdCount(n_samples=6, n_influential=2)
    >>> X, y = learner.data_set()
    >>> X.ravel()
    array([1., 1., 0., 0., 0., 0.])
    >>> bag = [0, 1, 3]  # two ones in three rows, while the share is one
    >>> learner.fit(X[bag], y[bag]).predict(X[:1])
    array([1.])
    """

    def __init__(self, n_samples: int, n_influential: int) -> None:
        self.n_samples = n_samples
        self.n_influential = n_influential

    def fit(self, X: Any, y: Any) -> Self:
        """Fit to the sum of the first feature; y is ignored."""
        n, influential = self._check_parameters()
        X, y = validate_data(self, X, y)
        self.prediction_ = float(n * X[:, 0].sum() > len(X) * influential)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Return the same 0 or 1 for every point."""
        check_is_fitted(self)
        return np.full(len(validate_data(self, X, reset=False)), self.prediction_)

    def data_set(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the X and y that attain the lower bound of Theorem 10: K ones, then zeros; y is zero."""
        n, influential = self._check_parameters()
        return (np.arange(n) < influential).astype(float)[:, None], np.zeros(n)

    def _check_parameters(self) -> tuple[int, int]:
        n = check_samples(self.n_samples, "ThresholdCount")
        influential = check_integer(self.n_influential, "n_influential", "ThresholdCount", minimum=1)
        if influential > n:
            raise refuse_value("n_influential", "ThresholdCount", f"at most n_samples={n}", influential)
        return n, influential


class Memorizer(RegressorMixin, BaseEstimator):
    """A-dagger of Theorem 14: predicts 1 at points it has seen, and 0 elsewhere.

    If it is bagged on distinct rows, its prediction at row i is p, and 0 without this row. So no bound on the worst
    case, or on changes at the training rows themselves, can be below p.

    Examples
    --------
    >>> X, y = Memorizer.data_set(n_samples=4)
    >>> Memorizer().fit(X[[0, 2]], y[[0, 2]]).predict(X)
    array([1., 0., 1., 0.])
    """

    def fit(self, X: Any, y: Any) -> Self:
        """Memorize the rows; y is ignored."""
        X, y = validate_data(self, X, y)
        self.rows_ = {tuple(row) for row in X.tolist()}
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Return 1 at points that are training rows, and 0 elsewhere."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False)
        return np.array([float(tuple(row) in self.rows_) for row in X.tolist()])

    @staticmethod
    def data_set(n_samples: int) -> tuple[np.ndarray, np.ndarray]:
        """Return an X of distinct rows, and a y of zeros."""
        n_samples = check_samples(n_samples, "Memorizer.data_set")
        return np.arange(float(n_samples))[:, None], np.zeros(n_samples)
