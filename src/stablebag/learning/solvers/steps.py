"""Steps of pipelines in front of linear models: scaling, and filling in missing values where there are none."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import StandardScaler

from stablebag.learning.solvers.matrices import column_sums
from stablebag.learning.solvers.parameters import anything, check_parameters
from stablebag.learning.solvers.solver import NotCovered

_EPS = np.finfo(np.float64).eps


class Step(ABC):
    """A transformer of scikit-learn without data. What it finds in a bag is a flat array."""

    @abstractmethod
    def fit(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the matrix transformed, perhaps in place, and what was found."""

    @abstractmethod
    def transform(self, X: np.ndarray, found: np.ndarray) -> np.ndarray:
        """Return a matrix transformed; the matrix itself does not change."""

    @abstractmethod
    def fill(self, transformer: Any, found: np.ndarray, n_rows: int) -> None:
        """Give an unfitted transformer the attributes that its fit would have set."""

    @abstractmethod
    def size(self, n_features: int) -> int:
        """Return how many numbers are found in a bag."""


@dataclass(frozen=True)
class ScalerStep(Step):
    """`StandardScaler`. Found: the means, the variances, the scales, as far as it looks at them."""

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
        np.divide(sums + 0.0, m, out=mean)  # scikit-learn adds them to zero
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
        transformer.n_samples_seen_ = np.float64(n_rows) if len(found) else np.int64(n_rows)
        transformer.mean_ = found[:d].copy() if len(found) else None
        transformer.var_ = found[d:-d].copy() if self.with_std else None
        transformer.scale_ = found[-d:].copy() if self.with_std else None

    def size(self, n_features: int) -> int:
        return n_features * (3 if self.with_std else int(self.with_mean))


def _squares(X: np.ndarray, sums: np.ndarray) -> np.ndarray:
    """The sums of squares around the means, mended by what rounding of the means has left."""
    centered = X - sums / len(X)
    left = column_sums(centered)
    squares = column_sums(np.multiply(centered, centered, out=centered))
    squares -= left**2 / len(X)
    return squares


@dataclass(frozen=True)
class ImputerStep(Step):
    """`SimpleImputer` where nothing is missing. Found: its statistics."""

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
        transformer._fit_dtype = transformer._fill_dtype = found.dtype
        transformer.indicator_ = None
        transformer.statistics_ = found.copy()

    def size(self, n_features: int) -> int:
        return n_features


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
