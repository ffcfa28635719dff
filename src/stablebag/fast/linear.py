"""Linear models, alone or at the end of a pipeline, with scikit-learn's arithmetic."""

import itertools
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache, partial
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from scipy.linalg import solve
from scipy.linalg.lapack import dgelsd, dgelsd_lwork, dlange, dpocon, dposv, dpotrf, dpotrs
from scipy.special import expit
from sklearn import get_config
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import check_array
from sklearn.utils.multiclass import type_of_target

from stablebag.models.learners import Copies
from stablebag.models.rows import Points, take_rows
from stablebag.models.solving import (
    RELEASE,
    FitJob,
    NotCovered,
    Predictor,
    Solver,
    Structure,
    anything,
    as_matrix,
    check_parameters,
)

# ------------------------------------------------------------------------------------------------------------- matrices
# Rows and points as the matrices that scikit-learn's linear models use, in the same memory order.
#
# The order matters: sums and products are rounded differently if a matrix is stored column by column.

LARGEST = 1e140  # the squares of numbers up to this, and the sums of squares, are finite


class BagRows:
    """The rows of bags, each bag as a new float64 matrix in the memory order that scikit-learn would get.

    Parameters
    ----------
    X : array or data frame
        The training rows.
    by_row : bool, default=False
        Whether the learner always converts them to row-major order.
    """

    def __init__(self, X: Any, *, by_row: bool = False) -> None:
        matrix, self.names = as_matrix(X)
        if 0 in matrix.shape:
            raise NotCovered("a table without rows or columns is not covered")
        if matrix.dtype.kind not in "iu" and matrix.dtype != np.float64:
            raise NotCovered(f"numbers of type {matrix.dtype} are not covered")
        matrix = matrix.astype(np.float64, copy=False)
        if not (np.abs(matrix) <= LARGEST).all():
            raise NotCovered("missing values and numbers beyond 1e140 are not covered")
        self.by_row = by_row or _comes_by_row(X)
        self.matrix = np.ascontiguousarray(matrix if self.by_row else matrix.T)

    @property
    def n_features(self) -> int:
        """The number of columns."""
        return int(self.matrix.shape[1 if self.by_row else 0])

    def take(self, rows: np.ndarray) -> np.ndarray:
        """Return these rows as a new matrix."""
        if self.by_row:
            return self.matrix.take(rows, axis=0)
        return self.matrix.take(rows, axis=1).T


def points_matrix(X: Any) -> np.ndarray | None:
    """Return points as scikit-learn's linear models convert them; None if the models should do that themselves."""
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
    """Return ``np.sum(X, axis=0)`` to the last bit; `einsum` adds rows in the same order, but faster.

    >>> column_sums(np.array([[1.0, 2.0], [3.0, 4.0]]))
    array([4., 6.])
    """
    by_row = X.shape[1] > 1 and X.flags.c_contiguous
    sums: np.ndarray = np.einsum("ij->j", X) if by_row else np.add.reduce(X, axis=0)
    return sums


def _comes_by_row(X: Any) -> bool:
    """Whether a learner gets the rows of a bag in row-major order."""
    sample = check_array(take_rows(X, np.zeros(2, dtype=int)), dtype=np.float64)
    if not sample.flags.c_contiguous and not sample.flags.f_contiguous:
        raise NotCovered("a table that is not contiguous in memory is not covered")
    return bool(sample.flags.c_contiguous)


# ---------------------------------------------------------------------------------------------------------------- steps
# Pipeline steps before linear models: scaling, and imputation of tables without missing values.

_EPS = float(np.finfo(np.float64).eps)


class Step(ABC):
    """A scikit-learn transformer without data. What it learns from a bag is a flat array, `found`."""

    @abstractmethod
    def fit(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the transformed matrix, perhaps changed in place, and what was found."""

    @abstractmethod
    def transform(self, X: np.ndarray, found: np.ndarray) -> np.ndarray:
        """Return the transformed matrix without changing the original."""

    @abstractmethod
    def fill(self, transformer: Any, found: np.ndarray, n_rows: int) -> None:
        """Set the attributes on an unfitted transformer that its fit would have set."""

    @abstractmethod
    def size(self, n_features: int) -> int:
        """Return the length of `found`."""


@dataclass(frozen=True)
class ScalerStep(Step):
    """`StandardScaler`. Found: the means, variances and scales that it uses."""

    with_mean: bool
    with_std: bool

    @classmethod
    def of(cls, scaler: StandardScaler) -> "ScalerStep":
        """Return the step of a transformer, or raise `NotCovered`."""
        check_parameters(scaler, with_mean=(True, False), with_std=(True, False))
        return cls(scaler.with_mean, scaler.with_std)

    def fit(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        m, d = X.shape
        found = np.empty(self.size(d))
        if not found.size:
            return X, found
        sums, mean = column_sums(X), found[:d]
        np.divide(sums + 0.0, m, out=mean)  # scikit-learn also adds zero
        if self.with_std:
            variance, scale = found[d:].reshape(2, d)
            np.divide(_squares(X, sums), m, out=variance)
            np.sqrt(variance, out=scale)
            scale[variance <= m * _EPS * variance + (m * mean * _EPS) ** 2] = 1.0
        if self.with_mean:
            np.subtract(X, mean, out=X)
        return (np.divide(X, scale, out=X) if self.with_std else X), found

    def transform(self, X: np.ndarray, found: np.ndarray) -> np.ndarray:
        d = X.shape[1]
        if self.with_mean:
            X = X - found[:d]
            return np.divide(X, found[-d:], out=X) if self.with_std else X
        return X / found[-d:] if self.with_std else X

    def fill(self, transformer: Any, found: np.ndarray, n_rows: int) -> None:
        d = len(found) // (3 if self.with_std else 1)
        transformer.n_samples_seen_ = np.float64(n_rows) if len(found) and RELEASE >= 8 else np.int64(n_rows)
        transformer.mean_ = found[:d].copy() if len(found) else None
        transformer.var_ = found[d:-d].copy() if self.with_std else None
        transformer.scale_ = found[-d:].copy() if self.with_std else None

    def size(self, n_features: int) -> int:
        return n_features * (3 if self.with_std else int(self.with_mean))


def _squares(X: np.ndarray, sums: np.ndarray) -> np.ndarray:
    """The sums of squares around the means, corrected for rounding errors of the means."""
    centered = X - sums / len(X)
    left = column_sums(centered)
    squares = column_sums(np.multiply(centered, centered, out=centered))
    squares -= left**2 / len(X)
    return squares


@dataclass(frozen=True)
class ImputerStep(Step):
    """`SimpleImputer` without missing values. Found: its statistics."""

    strategy: str

    @classmethod
    def of(cls, imputer: SimpleImputer) -> "ImputerStep":
        """Return the step of a transformer, or raise `NotCovered`."""
        check_parameters(
            imputer,
            missing_values=is_nan,
            strategy=("mean", "median"),
            fill_value=anything,
            keep_empty_features=(True, False),
        )
        return cls(imputer.strategy)

    def fit(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        if self.strategy == "mean":
            return X, column_sums(X) / len(X)
        ordered = np.sort(X, axis=0)
        low, high = ordered[(len(X) - 1) // 2], ordered[len(X) // 2]
        return X, (low + high + 0.0) / 2.0  # never a negative zero

    def transform(self, X: np.ndarray, found: np.ndarray) -> np.ndarray:
        return X

    def fill(self, transformer: Any, found: np.ndarray, n_rows: int) -> None:
        fill_imputer(transformer, found)

    def size(self, n_features: int) -> int:
        return n_features


def fill_imputer(imputer: SimpleImputer, statistics: np.ndarray) -> None:
    """Set the attributes on an unfitted imputer without indicator that its fit would have set."""
    imputer._fit_dtype, imputer.indicator_, imputer.statistics_ = statistics.dtype, None, statistics.copy()
    if RELEASE >= 8:
        imputer._fill_dtype = statistics.dtype


def step_of(transformer: Any) -> Step:
    """Return the step of a transformer, or raise `NotCovered`."""
    if type(transformer) is StandardScaler:
        return ScalerStep.of(transformer)
    if type(transformer) is SimpleImputer:
        return ImputerStep.of(transformer)
    raise NotCovered(f"a pipeline with {type(transformer).__name__} is not covered")


def is_nan(value: Any) -> bool:
    """Return whether a parameter is NaN."""
    return isinstance(value, float) and bool(np.isnan(value))


# --------------------------------------------------------------------------------------------------------------- linear
# Ridge regression and least squares with scikit-learn's arithmetic, without its overhead.
#
# A form is a learner without data: how it fits the matrix of a bag, and what follows from the result.

_NONE = np.empty(0)
_WELL_CONDITIONED = 1e-10  # the smallest penalty, as a share of all eigenvalues, that rounding cannot hide
_ILL_CONDITIONED = 10 * float(np.finfo(np.float64).eps)  # ten times the condition number at which scipy warns


class LinearArrays(NamedTuple):
    """One bag's linear model; fields that the learner does not have are empty."""

    coef: np.ndarray  # flat; the coefficients of one feature are next to each other
    intercept: np.ndarray
    n_rows: int
    n_iter: int = 0
    rank: int = 0
    singular: np.ndarray = _NONE
    seen: np.ndarray = _NONE  # the positions of the bag's classes among all classes
    steps: np.ndarray = _NONE  # what the steps before the learner found, concatenated


class LinearForm(ABC):
    """A linear learner of scikit-learn without data. Its matrices are already checked."""

    by_row: ClassVar[bool] = False  # whether it always converts matrices to row-major order

    @abstractmethod
    def targets(self, job: FitJob) -> np.ndarray:
        """Return the targets as numbers."""

    @abstractmethod
    def fit(self, X: np.ndarray, y: np.ndarray) -> LinearArrays | None:
        """Fit a matrix and its targets, and perhaps overwrite them; None hands the bag back to scikit-learn."""

    @abstractmethod
    def fill(self, estimator: Any, model: LinearArrays) -> None:
        """Set the attributes on an unfitted estimator that its fit would have set."""

    @abstractmethod
    def predict(self, X: np.ndarray, model: LinearArrays, line: np.ndarray) -> None:
        """Write the model's predictions, or its probabilities of all classes, into a line."""

    def shape(self, n_points: int) -> tuple[int, ...]:
        """Return the shape of the predictions at a number of points."""
        return (n_points,)


@dataclass(frozen=True)
class _Regression(LinearForm):
    """What both regressions share."""

    fit_intercept: bool

    def targets(self, job: FitJob) -> np.ndarray:
        y = np.asarray(job.y)
        if job.classes is not None or y.dtype != np.float64 or y.ndim != 1 or not (np.abs(y) <= LARGEST).all():
            raise NotCovered(f"targets of type {y.dtype}, or beyond 1e140, are not covered")
        return y

    def center(self, X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, float] | None:
        """Subtract the means from X and y in place and return them; None without an intercept."""
        if not self.fit_intercept:
            return None
        offsets, offset = column_sums(X) / len(X), np.add.reduce(y) / len(y)
        np.subtract(X, offsets, out=X)
        np.subtract(y, offset, out=y)
        return offsets, offset

    def intercept(self, coef: np.ndarray, means: tuple[np.ndarray, float] | None) -> np.ndarray:
        """Return the intercept for centered data as an array; empty without an intercept."""
        return _NONE if means is None else np.array([means[1] - means[0] @ coef])

    def fill(self, estimator: Any, model: LinearArrays) -> None:
        estimator.coef_ = model.coef.copy()
        estimator.intercept_ = model.intercept[0] if self.fit_intercept else 0.0

    def predict(self, X: np.ndarray, model: LinearArrays, line: np.ndarray) -> None:
        np.add(X @ model.coef, model.intercept[0] if self.fit_intercept else 0.0, out=line)


@dataclass(frozen=True)
class RidgeForm(_Regression):
    """`Ridge` by Cholesky decomposition of X'X, or of XX' if there are fewer rows than columns."""

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
        """Solve the equations with the penalty on the diagonal; None if scikit-learn might warn or switch methods."""
        size = len(gram)
        gram.reshape(-1)[:: size + 1] += self.alpha
        if size == 1 and _divides():
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


@cache
def _divides() -> bool:
    """Whether scipy solves a single equation by a division, as it does since 1.17; before, it used a root."""
    return all(solve([[a]], [1.0], assume_a="pos")[0] == 1 / a for a in range(2, 50))


@dataclass(frozen=True)
class LeastSquaresForm(_Regression):
    """`LinearRegression` by singular values."""

    tol: float | None  # None for scikit-learn's default before 1.9

    @classmethod
    def of(cls, learner: LinearRegression) -> "LeastSquaresForm":
        """Return the form of a learner, or raise `NotCovered`."""
        check_parameters(learner, fit_intercept=(True, False), copy_X=anything, n_jobs=anything, tol=is_number)
        return cls(learner.fit_intercept, None if RELEASE < 9 else float(learner.tol))

    def fit(self, X: np.ndarray, y: np.ndarray) -> LinearArrays | None:
        means, (m, d) = self.center(X, y), X.shape
        tol = max(m, d) * _EPS if self.tol is None else self.tol
        if m < d:
            y = np.concatenate([y, np.zeros(d - m)])
        coef, singular, rank, info = dgelsd(X, y, *_work_sizes(m, d, tol), tol, False, False)
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
    """The sizes of the work arrays for LAPACK, which affect how it computes."""
    numbers, whole_numbers, _ = dgelsd_lwork(m, d, 1, tol)
    return int(numbers), int(whole_numbers)


def is_number(value: Any) -> bool:
    """Return whether it is a number that scikit-learn converts to float64."""
    return type(value) in (int, float, np.float64, np.int64)


# ---------------------------------------------------------------------------------------------------------------- lbfgs
# The minimizer of scikit-learn's logistic regression, called directly, so that it takes the same steps.

try:
    from scipy.optimize._lbfgsb import setulb  # private; `is_known` checks that it works as expected
except ImportError:
    setulb = None

Function = Callable[[np.ndarray, np.ndarray], float]

_MEMORY, _LINE_SEARCH_STEPS, _EVALUATIONS, _PRECISION = 10, 50, 15_000, 64.0  # as scikit-learn and scipy set them
_NEW_POINT, _EVALUATE, _CONVERGED = 1, 3, 4  # what the minimizer did or needs next


def minimum(function: Function, size: int, tol: float, max_iter: int) -> tuple[np.ndarray, int] | None:
    """Return the minimum of a function and the number of steps from zero; None if it did not converge.

    The function returns its value and writes its gradient into its second argument.
    """
    x, gradient, value = np.zeros(size), np.zeros(size), 0.0
    bounds, kinds_of_bounds = np.zeros(size), np.zeros(size, np.int32)  # there are none
    work = np.zeros(2 * _MEMORY * size + 5 * size + 11 * _MEMORY**2 + 8 * _MEMORY)
    whole_work, task, line_task = np.zeros(3 * size, np.int32), np.zeros(2, np.int32), np.zeros(2, np.int32)
    saved: Any = np.zeros(4, np.int32), np.zeros(44, np.int32), np.zeros(29)
    ends = (_PRECISION, tol, work, whole_work, task, *saved, _LINE_SEARCH_STEPS, line_task)
    steps = evaluations = 0
    while True:
        setulb(_MEMORY, x, bounds, bounds, kinds_of_bounds, value, gradient, *ends)
        wanted = task[0]
        if wanted == _EVALUATE:
            value = function(x, gradient)
            evaluations += 1
        elif wanted == _NEW_POINT:
            steps += 1
            if steps >= max_iter or evaluations > _EVALUATIONS:
                return None
        else:
            return (x, steps) if wanted == _CONVERGED else None


@cache
def is_known() -> bool:
    """Return whether scipy's minimizer has the interface that is used here."""

    def function(x: np.ndarray, gradient: np.ndarray) -> float:
        gradient[:] = 2 * (x - 3)
        return float((x - 3) @ (x - 3))

    try:
        found = minimum(function, 2, 1e-9, 100)
    except Exception:  # another version may raise anything for these arguments
        return False
    return found is not None and bool((np.abs(found[0] - 3) < 1e-6).all())


def check_minimizer() -> None:
    """Raise `NotCovered` if scipy's minimizer has another interface."""
    if not is_known():
        raise NotCovered("this version of scipy has a different minimizer")


# ------------------------------------------------------------------------------------------------------------- logistic
# Logistic regression with scikit-learn's arithmetic and steps, without its overhead.

try:
    from sklearn._loss._loss import CyHalfBinomialLoss, CyHalfMultinomialLoss  # private; used with known versions only
except ImportError:
    CyHalfBinomialLoss = CyHalfMultinomialLoss = None

_BOTH = np.arange(2)


@dataclass(frozen=True, eq=False)
class LogisticForm(LinearForm):
    """`LogisticRegression` by L-BFGS for two or more classes; a bag may lack some classes."""

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
            raise NotCovered("a classifier in a bagged regressor is not covered")
        check_parameters(
            learner,
            penalty=("deprecated", "l2"),
            l1_ratio=(0.0, 0) if RELEASE >= 8 else (None,),
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
            raise NotCovered("this version of scikit-learn has different losses")
        if job.y.ndim != 1 or type_of_target(job.y) not in ("binary", "multiclass"):
            raise NotCovered(f"labels of kind {type_of_target(job.y)} are not covered")
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
        """Return the weight of the squared coefficients relative to the mean loss."""
        return 1.0 / (self.C * n_rows)

    def _two_classes(self, X: np.ndarray, y: np.ndarray) -> Function:
        """The loss of two classes. It is called so often that nothing is computed twice."""
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
        """The loss of more than two classes; the weights of one feature are next to each other."""
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
        estimator.coef_ = _lines(model.coef, n_lines).copy(order="K")
        estimator.intercept_ = model.intercept.copy()

    def predict(self, X: np.ndarray, model: LinearArrays, line: np.ndarray) -> None:
        n_lines, seen = len(model.intercept), model.seen
        scores = X @ _lines(model.coef, n_lines).T
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


def _lines(coef: np.ndarray, n_lines: int) -> np.ndarray:
    """The coefficients with one line per score, in scikit-learn's memory order."""
    lines = coef.reshape(n_lines, -1, order="F")
    return lines if RELEASE >= 9 else np.ascontiguousarray(lines)


# ------------------------------------------------------------------------------------------------------------ pipelines
# The solver: linear models, alone or at the end of a pipeline, fitted one bag at a time.

_SETTINGS = {"transform_output": "default", "enable_metadata_routing": False}


@dataclass(frozen=True, eq=False)
class LinearStructure(Structure):
    """A linear learner of scikit-learn and the pipeline steps before it."""

    learner: Any
    steps: tuple[Step, ...]
    form: LinearForm
    n_features: int
    names: np.ndarray | None

    model_type = LinearArrays

    @cached_property
    def copies(self) -> Copies:
        """Unfitted copies of the learner."""
        return Copies(self.learner)

    def estimator(self, model: LinearArrays, seed: int) -> Any:
        estimator = self.copies.copy(seed)
        self.fill([part for _, part in estimator.steps] if type(estimator) is Pipeline else [estimator], model)
        return estimator

    def fill(self, parts: list[Any], model: LinearArrays) -> None:
        """Set the attributes on the unfitted steps and the learner that their fits would have set."""
        if self.names is not None:
            parts[0].feature_names_in_ = self.names.copy()
        for part in parts:
            part.n_features_in_ = self.n_features
        for step, part, place in zip(self.steps, parts[:-1], self.places, strict=True):
            step.fill(part, model.steps[place], model.n_rows)
        self.form.fill(parts[-1], model)

    def predictor(self, points: Points) -> Predictor | None:
        X = points_matrix(points.X)
        if X is None or (self.steps and get_config()["transform_output"] != _SETTINGS["transform_output"]):
            return None
        if self.steps:  # the first step would copy it
            X = np.array(X, order="K", copy=True)

        def predict(models: Sequence[LinearArrays]) -> np.ndarray:
            lines = np.empty((len(models), *self.form.shape(len(X))))
            for line, model in zip(lines, models, strict=True):
                matrix = X
                for step, place in zip(self.steps, self.places, strict=True):
                    matrix = step.transform(matrix, model.steps[place])
                if self.steps and not np.isfinite(matrix).all():
                    line[:] = np.nan  # the estimator will raise an error
                else:
                    self.form.predict(matrix, model, line)
            return lines

        return predict

    @cached_property
    def places(self) -> list[slice]:
        """The places in a model of what each step found."""
        ends = np.cumsum([0, *(step.size(self.n_features) for step in self.steps)]).tolist()
        return [slice(first, stop) for first, stop in itertools.pairwise(ends)]


class Linear(Solver):
    """Fits ridge regression, least squares and logistic regression."""

    name = "linear"
    learners: ClassVar[tuple[type, ...]] = (Ridge, LinearRegression, LogisticRegression, Pipeline)

    structure: LinearStructure
    structure_type: ClassVar[type[LinearStructure]] = LinearStructure

    def __init__(self, job: FitJob) -> None:
        check_settings()
        transformers, final = _parts(job.learner)
        self.form = self.form_of(final, job)
        self.rows = BagRows(job.X, by_row=self.form.by_row and not transformers)
        self.steps = tuple(step_of(part) for part in transformers)
        self.y = self.form.targets(job)
        self.structure = self.structure_type(job.learner, self.steps, self.form, self.rows.n_features, self.rows.names)

    def form_of(self, learner: Any, job: FitJob) -> LinearForm:
        """Return the form of the learner after all steps, or raise `NotCovered`."""
        if type(learner) is LogisticRegression:
            return LogisticForm.of(learner, job.classes)
        return RidgeForm.of(learner) if type(learner) is Ridge else LeastSquaresForm.of(learner)

    def fit(self, rows: np.ndarray, seed: int) -> LinearArrays | None:
        """Return the model of a bag; the seed is not used."""
        try:
            with np.errstate(over="raise", divide="raise", invalid="raise"):
                return self._fit(rows)
        except FloatingPointError:  # scikit-learn warns and continues
            return None

    def _fit(self, rows: np.ndarray) -> LinearArrays | None:
        X, y = self.rows.take(rows), self.y.take(rows)
        if not self.steps:
            return self.form.fit(X, y)
        all_found = []
        for step in self.steps:
            X, found = step.fit(X)
            all_found.append(found)
        model = self.form.fit(np.ascontiguousarray(X) if self.form.by_row else X, y)
        return None if model is None else model._replace(steps=np.concatenate(all_found))


def check_settings() -> None:
    """Raise `NotCovered` if a setting of scikit-learn changes how pipelines work."""
    settings = get_config()
    if other := [name for name, value in _SETTINGS.items() if settings.get(name, value) != value]:
        raise NotCovered(f"scikit-learn's setting {other[0]} is not covered")


def check_pipeline(learner: Pipeline) -> None:
    """Raise `NotCovered` unless a pipeline only passes its rows from step to step."""
    if learner.memory is not None or learner.verbose or learner.transform_input is not None:
        raise NotCovered("a pipeline with memory, verbose or transform_input is not covered")
    if extra := sorted(vars(learner).keys() - learner.get_params(deep=False).keys()):
        raise NotCovered(f"this pipeline has the attribute {extra[0]}")
    if not learner.steps:
        raise NotCovered("an empty pipeline is not covered")


def _parts(learner: Any) -> tuple[list[Any], Any]:
    """The transformers of a pipeline and the learner at its end."""
    if type(learner) is not Pipeline:
        return [], learner
    check_pipeline(learner)
    *transformers, (_, final) = learner.steps
    if type(final) not in Linear.learners[:-1]:
        raise NotCovered(f"a pipeline that ends in {type(final).__name__} is not covered")
    return [transformer for _, transformer in transformers], final
