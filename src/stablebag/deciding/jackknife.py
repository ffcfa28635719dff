"""The jackknife family: from leave-one-out predictions and residuals to the ends of intervals, and what is proved."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from stablebag._checks import as_fraction

_WHATEVER = "Proved for exchangeable rows and any learner that is blind to their order:"


def quantile_rank(level: float | Fraction, n_samples: int) -> int:
    """Return ceil((1 - a) (n + 1)), the rank of the order statistic for the level 1 - a; n + 1 stands for infinity.

    The level is read as it is written: 0.9 means 9/10.

    >>> quantile_rank(0.9, n_samples=9), quantile_rank(0.9, n_samples=19), quantile_rank(0.95, n_samples=9)
    (9, 18, 10)
    """
    return math.ceil(as_fraction(level) * (n_samples + 1))


@dataclass(frozen=True)
class Jackknife:
    """The prediction plus and minus a quantile of the leave-one-out residuals.

    Parameters
    ----------
    level : Fraction
        The level 1 - a.
    """

    level: Fraction
    name: ClassVar[str] = "jackknife"
    reuses_bags: ClassVar[bool] = False  # whether the proof depends on reused bags

    def rank(self, n_samples: int) -> int:
        """Return the rank of the order statistic; more than `n_samples` stands for infinity."""
        return quantile_rank(self.level, n_samples)

    def intervals(
        self, residuals: np.ndarray, prediction: np.ndarray, left_out: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the ends of the intervals at some points; `left_out` has one line per training row."""
        if not (np.isfinite(residuals).all() and np.isfinite(left_out).all()):
            raise ValueError(
                "A prediction without some row is infinite or NaN, so there is no interval. Clip predictions to a "
                "range."
            )
        rank = self.rank(len(residuals))
        if rank > len(residuals):
            return np.full(len(prediction), -np.inf), np.full(len(prediction), np.inf)
        return self._ends(rank, residuals, prediction, left_out)

    def guarantee(self, n_samples: int) -> str:
        """Say what is proved about the coverage."""
        return "Nothing is proved about their coverage: the jackknife can fail for an unstable learner."

    def _ends(
        self, rank: int, residuals: np.ndarray, prediction: np.ndarray, left_out: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        radius = self._radius(rank, residuals)
        return prediction - radius, prediction + radius

    def _radius(self, rank: int, residuals: np.ndarray) -> float:
        return float(np.partition(residuals, rank - 1)[rank - 1])


@dataclass(frozen=True)
class JackknifePlus(Jackknife):
    """Quantiles of the predictions without row i plus and minus the residual of row i."""

    name: ClassVar[str] = "jackknife+"
    reuses_bags: ClassVar[bool] = True

    def guarantee(self, n_samples: int) -> str:
        covered = 1 - 2 * (1 - self.level) - self._slack(n_samples)
        if covered <= 0:
            typically = f"typically it is near {float(self.level):g}."
            return f"Nothing is proved about their coverage at so low a level; {typically}"
        proved = f"coverage is at least {float(covered):.3g}; typically it is near {float(self.level):g}."
        return f"{_WHATEVER} {proved}{self._caveat(n_samples)}"

    def _slack(self, n_samples: int) -> Fraction:
        return Fraction(0)

    def _caveat(self, n_samples: int) -> str:
        return ""

    def _ends(
        self, rank: int, residuals: np.ndarray, prediction: np.ndarray, left_out: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        n = len(residuals)
        columns = np.empty(left_out.T.shape)
        np.add(left_out.T, residuals, out=columns)
        columns.partition(rank - 1, axis=1)
        upper = columns[:, rank - 1].copy()  # a view would keep all of it alive
        np.subtract(left_out.T, residuals, out=columns)
        columns.partition(n - rank, axis=1)
        return columns[:, n - rank].copy(), upper


@dataclass(frozen=True)
class CVPlus(JackknifePlus):
    """The jackknife+ with folds in place of rows.

    Parameters
    ----------
    level : Fraction
        The level 1 - a.
    n_folds : int, default=10
        The number of folds.
    """

    n_folds: int = 10
    name: ClassVar[str] = "cv+"

    def _slack(self, n_samples: int) -> Fraction:
        k, size = self.n_folds, Fraction(n_samples, self.n_folds)
        return min(2 * (1 - Fraction(1, k)) / (size + 1), (1 - Fraction(k, n_samples)) / (k + 1))

    def _caveat(self, n_samples: int) -> str:
        even = n_samples % self.n_folds == 0
        return "" if even else " Folds differ in size here, so this holds approximately."


@dataclass(frozen=True)
class JackknifeMinmax(Jackknife):
    """The extremes of the predictions without a row plus and minus a quantile of the residuals."""

    name: ClassVar[str] = "jackknife-minmax"
    reuses_bags: ClassVar[bool] = True

    def guarantee(self, n_samples: int) -> str:
        return f"{_WHATEVER} coverage is at least {float(self.level):g}."

    def _ends(
        self, rank: int, residuals: np.ndarray, prediction: np.ndarray, left_out: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        radius = self._radius(rank, residuals)
        return left_out.min(axis=0) - radius, left_out.max(axis=0) + radius
