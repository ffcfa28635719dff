"""Logistic regression in scikit-learn's own arithmetic and steps, without its bookkeeping."""

from dataclasses import dataclass
from functools import partial
from typing import Any, Self

import numpy as np
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from sklearn.utils.multiclass import type_of_target

from stablebag.learning.job import FitJob
from stablebag.learning.solvers.lbfgs import Function, check_minimizer, minimum
from stablebag.learning.solvers.linear import LinearArrays, LinearForm, is_number
from stablebag.learning.solvers.parameters import anything, check_parameters
from stablebag.learning.solvers.solver import NotCovered

try:
    from sklearn._loss._loss import CyHalfBinomialLoss, CyHalfMultinomialLoss  # private, but of a version that is known
except ImportError:
    CyHalfBinomialLoss = CyHalfMultinomialLoss = None

_BOTH = np.arange(2)


@dataclass(frozen=True, eq=False)
class LogisticForm(LinearForm):
    """`LogisticRegression` by L-BFGS, of two classes or more; a bag may have only some of all classes."""

    C: float
    tol: float
    max_iter: int
    fit_intercept: bool
    classes: np.ndarray

    by_row = True

    @classmethod
    def of(cls, learner: LogisticRegression, classes: np.ndarray | None) -> Self:
        """Return the form of a learner, or raise `NotCovered`."""
        if classes is None:
            raise NotCovered("labels that are numbers to be predicted are not covered")
        check_parameters(
            learner,
            penalty=("deprecated", "l2"),
            l1_ratio=(0.0, 0),
            C=is_number,
            tol=is_number,
            max_iter=anything,
            fit_intercept=(True, False),
            intercept_scaling=anything,
            random_state=anything,
        )
        return cls(float(learner.C), float(learner.tol), learner.max_iter, learner.fit_intercept, classes)

    def targets(self, job: FitJob) -> np.ndarray:
        """Return the positions of the labels among all classes."""
        check_minimizer()
        if CyHalfBinomialLoss is None:
            raise NotCovered("this version of scikit-learn has other losses")
        if job.y.ndim != 1 or type_of_target(job.y) not in ("binary", "multiclass"):
            raise NotCovered("these labels are not covered")
        positions = np.searchsorted(self.classes, job.y)
        if not np.array_equal(self.classes.take(positions, mode="clip"), job.y):
            raise NotCovered("labels without an order are not covered")
        return positions.astype(np.float64)

    def fit(self, X: np.ndarray, y: np.ndarray) -> LinearArrays | None:
        n_classes = len(self.classes)
        seen = _BOTH if n_classes == 2 else np.flatnonzero(np.bincount(y.astype(np.intp), minlength=n_classes))
        if len(seen) < n_classes:
            y = np.searchsorted(seen, y).astype(np.float64)
        function = self._two_classes(X, y) if len(seen) == 2 else self._more_classes(X, y, len(seen))
        n_lines = 1 if len(seen) == 2 else len(seen)
        size = n_lines * (X.shape[1] + self.fit_intercept)
        found = minimum(function, size, self.tol, self.max_iter)
        if found is None:
            return None
        weights, n_iter = found
        inner = n_lines * X.shape[1]
        intercept = weights[inner:].copy() if self.fit_intercept else np.zeros(n_lines)
        return LinearArrays(weights[:inner].copy(), intercept, len(X), n_iter=n_iter, seen=seen)

    def strength(self, n_rows: int) -> float:
        """Return how much the squared coefficients count beside the mean loss."""
        return 1.0 / (self.C * n_rows)

    def _two_classes(self, X: np.ndarray, y: np.ndarray) -> Function:
        """The loss of two classes; every call counts, so it is written to do nothing twice."""
        (m, d), strength, has_intercept = X.shape, self.strength(len(X)), self.fit_intercept
        half, rows = 0.5 * strength, float(m)
        raw, losses, slopes, pull = np.empty(m), np.empty(m), np.empty(m), np.empty(d)
        loss_gradient, add, multiply, divide = CyHalfBinomialLoss().loss_gradient, np.add, np.multiply, np.divide
        total = np.add.reduce
        forth, back = (X.dot, X.T.dot) if d > 1 else (partial(np.matmul, X), partial(np.matmul, X.T))

        def function(x: np.ndarray, gradient: np.ndarray) -> float:
            weights, slope = x[:d], gradient[:d]
            forth(weights, raw)
            if has_intercept:
                add(raw, x[d], raw)
            loss_gradient(y, raw, None, losses, slopes, 1)
            value = float(total(losses)) / rows + half * float(weights.dot(weights))
            divide(slopes, rows, slopes)
            back(slopes, slope)
            add(slope, multiply(weights, strength, pull), slope)
            if has_intercept:
                gradient[d] = total(slopes)
            return value

        return function

    def _more_classes(self, X: np.ndarray, y: np.ndarray, n_classes: int) -> Function:
        """The loss of more than two classes; the weights of one feature follow on each other."""
        (m, d), strength, has_intercept = X.shape, self.strength(len(X)), self.fit_intercept
        half, inner = 0.5 * strength, n_classes * d
        raw, losses, slopes = np.empty((m, n_classes)), np.empty(m), np.empty((m, n_classes))
        loss_gradient = CyHalfMultinomialLoss().loss_gradient

        def function(x: np.ndarray, gradient: np.ndarray) -> float:
            weights, flat = x[:inner].reshape(d, n_classes), x[:inner]
            np.matmul(X, weights, out=raw)
            if has_intercept:
                np.add(raw, x[inner:], out=raw)
            loss_gradient(y, raw, None, losses, slopes, 1)
            value: float = float(np.add.reduce(losses)) / m + half * float(flat.dot(flat))
            np.divide(slopes, m, out=slopes)
            gradient[:inner].reshape(d, n_classes)[:] = (slopes.T @ X).T + strength * weights
            if has_intercept:
                gradient[inner:] = np.add.reduce(slopes, axis=0)
            return value

        return function

    def fill(self, estimator: Any, model: LinearArrays) -> None:
        n_lines = len(model.intercept)
        estimator.classes_ = self.classes[model.seen]
        estimator.n_iter_ = np.array([model.n_iter], dtype=np.int32)
        estimator.coef_ = model.coef.reshape(n_lines, -1, order="F").copy(order="K")
        estimator.intercept_ = model.intercept.copy()

    def predict(self, X: np.ndarray, model: LinearArrays, line: np.ndarray) -> None:
        n_lines, seen = len(model.intercept), model.seen
        scores = X @ model.coef.reshape(n_lines, -1, order="F").T
        scores += model.intercept
        if len(seen) < len(self.classes):
            line[:] = 0
        if n_lines == 1:
            chances = expit(scores[:, 0])
            np.subtract(1, chances, out=line[:, seen[0]])
            line[:, seen[1]] = chances
        else:
            scores -= scores.max(axis=1)[:, np.newaxis]
            np.exp(scores, out=scores)
            scores /= scores.sum(axis=1)[:, np.newaxis]
            line[:, seen] = scores

    def shape(self, n_points: int) -> tuple[int, ...]:
        return (n_points, len(self.classes))
