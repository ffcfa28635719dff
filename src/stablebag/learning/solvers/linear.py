"""Ridge regression and least squares in scikit-learn's own arithmetic, without its bookkeeping.

A form is a learner without data: how it fits the matrix of one bag, and what follows from the numbers it finds.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.linalg.lapack import dgelsd, dgelsd_lwork, dlange, dpocon, dposv, dpotrf, dpotrs
from sklearn.linear_model import LinearRegression, Ridge

from stablebag.learning.job import FitJob
from stablebag.learning.solvers.matrices import LARGEST, column_sums
from stablebag.learning.solvers.parameters import anything, check_parameters
from stablebag.learning.solvers.solver import NotCovered

_NONE = np.empty(0)
_WELL_CONDITIONED = 1e-10  # of a penalty: the least share of all eigenvalues that rounding cannot hide
_ILL_CONDITIONED = 10 * float(np.finfo(np.float64).eps)  # ten times what makes scipy warn


class LinearArrays(NamedTuple):
    """One bag's linear model; what its learner does not have is empty."""

    coef: np.ndarray  # flat; the coefficients of one feature follow on each other
    intercept: np.ndarray
    n_rows: int
    n_iter: int = 0
    rank: int = 0
    singular: np.ndarray = _NONE
    seen: np.ndarray = _NONE  # the positions of the bag's classes among all classes
    steps: np.ndarray = _NONE  # what the steps before the learner found, one after the other


class LinearForm(ABC):
    """A linear learner of scikit-learn without data; its matrices have been checked before."""

    by_row: ClassVar[bool] = False  # whether it puts matrices row by row in any case

    @abstractmethod
    def targets(self, job: FitJob) -> np.ndarray:
        """Return the targets as numbers."""

    @abstractmethod
    def fit(self, X: np.ndarray, y: np.ndarray) -> LinearArrays | None:
        """Fit a matrix and its targets, over which it may write; None hands the bag back to scikit-learn."""

    @abstractmethod
    def fill(self, estimator: Any, model: LinearArrays) -> None:
        """Give an unfitted estimator the attributes that its fit would have set."""

    @abstractmethod
    def predict(self, X: np.ndarray, model: LinearArrays, line: np.ndarray) -> None:
        """Write the model's predictions at points, or its probabilities of all classes, into a line."""

    def shape(self, n_points: int) -> tuple[int, ...]:
        """Return the shape of predictions at so many points."""
        return (n_points,)


@dataclass(frozen=True)
class _Regression(LinearForm):
    """What both regressions share."""

    fit_intercept: bool

    def targets(self, job: FitJob) -> np.ndarray:
        y = np.asarray(job.y)
        if job.classes is not None or y.dtype != np.float64 or y.ndim != 1 or not (np.abs(y) <= LARGEST).all():
            raise NotCovered("these targets are not covered")
        return y

    def center(self, X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, float] | None:
        """Subtract their means from X and y, in place, and return the means; None if there is no intercept."""
        if not self.fit_intercept:
            return None
        offsets, offset = column_sums(X) / len(X), np.add.reduce(y) / len(y)
        np.subtract(X, offsets, out=X)
        np.subtract(y, offset, out=y)
        return offsets, offset

    def intercept(self, coef: np.ndarray, means: tuple[np.ndarray, float] | None) -> np.ndarray:
        """Return the intercept of centered data, in an array; an empty one if there is none."""
        return _NONE if means is None else np.array([means[1] - means[0] @ coef])

    def fill(self, estimator: Any, model: LinearArrays) -> None:
        estimator.coef_ = model.coef.copy()
        estimator.intercept_ = model.intercept[0] if self.fit_intercept else 0.0

    def predict(self, X: np.ndarray, model: LinearArrays, line: np.ndarray) -> None:
        np.add(X @ model.coef, model.intercept[0] if self.fit_intercept else 0.0, out=line)


@dataclass(frozen=True)
class RidgeForm(_Regression):
    """`Ridge` by Cholesky's decomposition: of the Gram matrix, or that of rows if there are fewer of these."""

    alpha: float

    @classmethod
    def of(cls, learner: Ridge) -> "RidgeForm":
        """Return the form of a learner, or raise `NotCovered`."""
        free = {"random_state": anything, "copy_X": anything, "max_iter": anything, "tol": anything}
        check_parameters(learner, alpha=is_number, fit_intercept=(True, False), solver=("auto", "cholesky"), **free)
        return cls(learner.fit_intercept, float(learner.alpha))

    def fit(self, X: np.ndarray, y: np.ndarray) -> LinearArrays | None:
        means, right = self.center(X, y), y[:, np.newaxis]
        if X.shape[1] > len(X):
            solution = self.solution(X @ X.T, right)
            coef = None if solution is None else X.T @ solution
        else:
            coef = self.solution(X.T @ X, X.T @ right)
        if coef is None:
            return None
        return LinearArrays(coef := coef.ravel(), self.intercept(coef, means), len(X))

    def solution(self, gram: np.ndarray, right: np.ndarray) -> np.ndarray | None:
        """Solve the equations, with the penalty on the diagonal; None if scikit-learn would warn, or do otherwise."""
        size = len(gram)
        gram.reshape(-1)[:: size + 1] += self.alpha
        if size == 1:
            return None if gram[0, 0] == 0 else right / gram
        if self.alpha > _WELL_CONDITIONED * size * float(gram.trace()):
            _, solution, info = dposv(gram.T, right, lower=0, overwrite_a=1)
            return None if info != 0 else solution
        norm = dlange("1", gram)
        factor, info = dpotrf(gram.T, lower=0, overwrite_a=1)
        if info != 0 or not dpocon(factor, norm)[0] > _ILL_CONDITIONED:
            return None
        solved: np.ndarray = dpotrs(factor, right, lower=0)[0]
        return solved

    def fill(self, estimator: Any, model: LinearArrays) -> None:
        super().fill(estimator, model)
        estimator.n_iter_ = None
        estimator.solver_ = "cholesky"


@dataclass(frozen=True)
class LeastSquaresForm(_Regression):
    """`LinearRegression` by singular values."""

    tol: float

    @classmethod
    def of(cls, learner: LinearRegression) -> "LeastSquaresForm":
        """Return the form of a learner, or raise `NotCovered`."""
        check_parameters(learner, fit_intercept=(True, False), copy_X=anything, n_jobs=anything, tol=is_number)
        return cls(learner.fit_intercept, float(learner.tol))

    def fit(self, X: np.ndarray, y: np.ndarray) -> LinearArrays | None:
        means, (m, d) = self.center(X, y), X.shape
        if m < d:
            y = np.concatenate([y, np.zeros(d - m)])
        coef, singular, rank, info = dgelsd(X, y, *_work_sizes(m, d, self.tol), self.tol, False, False)
        if info != 0:
            return None
        coef = coef[:d].copy()
        return LinearArrays(coef, self.intercept(coef, means), m, rank=rank, singular=singular)

    def fill(self, estimator: Any, model: LinearArrays) -> None:
        super().fill(estimator, model)
        estimator.rank_ = int(model.rank)
        estimator.singular_ = model.singular.copy()


@lru_cache
def _work_sizes(m: int, d: int, tol: float) -> tuple[int, int]:
    """The sizes of the arrays that LAPACK asks for, which decide how it proceeds."""
    numbers, whole_numbers, _ = dgelsd_lwork(m, d, 1, tol)
    return int(numbers), int(whole_numbers)


def is_number(value: Any) -> bool:
    """Return whether it is one number, with which scikit-learn reckons in float64."""
    return type(value) in (int, float, np.float64, np.int64)
