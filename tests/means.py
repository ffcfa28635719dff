"""Solvers for tests, for a learner that predicts the mean of its bag; some return wrong results."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin

from stablebag.models.solving import NotCovered, Solver, Structure


class Mean(RegressorMixin, BaseEstimator):
    """Predicts the mean target, and counts its fits."""

    n_fits: ClassVar[list[int]] = []

    def __init__(self, shift=0.0, random_state=None):
        self.shift = shift
        self.random_state = random_state

    def fit(self, X, y):
        self.n_fits.append(len(y))
        self.mean_, self.seed_ = np.array([y.mean() + self.shift]), self.random_state
        return self

    def predict(self, X):
        return np.full(len(X), self.mean_[0])


class MeanArrays(NamedTuple):
    mean: np.ndarray
    size: int


@dataclass(frozen=True)
class MeanStructure(Structure):
    model_type = MeanArrays
    shift: float
    error: float = 0.0

    def estimator(self, model, seed):
        made = Mean(self.shift, seed)
        made.mean_, made.seed_ = model.mean, seed
        return made

    def predictor(self, points) -> Callable | None:
        if not np.isfinite(points.X).all():
            return None
        return lambda models: np.array([np.full(points.n_points, m.mean[0] + self.error) for m in models])


class Means(Solver):
    """A correct solver."""

    name, learners = "means", (Mean,)

    def __init__(self, job):
        if job.learner.shift < 0:
            raise NotCovered("the shift is negative")
        self.y, self.shift, self.structure = job.y, job.learner.shift, MeanStructure(job.learner.shift)

    def fit(self, rows, seed):
        mean = self.y[rows].mean() + self.shift
        return MeanArrays(np.array([mean]), len(rows)) if mean < 1e6 else None


class WrongMeans(Means):
    """A solver whose models differ in the last bit."""

    def fit(self, rows, seed):
        model = super().fit(rows, seed)
        return model._replace(mean=np.nextafter(model.mean, np.inf))


class WrongPredictions(Means):
    """A solver with correct models but wrong predictions."""

    def __init__(self, job):
        super().__init__(job)
        self.structure = MeanStructure(job.learner.shift, error=1e-12)
