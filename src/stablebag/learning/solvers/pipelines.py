"""Linear models, alone or at the end of a pipeline, fitted one bag at a time: the same bits as scikit-learn's."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from sklearn import get_config
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.pipeline import Pipeline

from stablebag.learning.job import FitJob
from stablebag.learning.learners import Copies
from stablebag.learning.rows import Points
from stablebag.learning.solvers.linear import LeastSquaresForm, LinearArrays, LinearForm, RidgeForm
from stablebag.learning.solvers.logistic import LogisticForm
from stablebag.learning.solvers.matrices import BagRows, points_matrix
from stablebag.learning.solvers.solver import NotCovered, Predictor, Solver, Structure
from stablebag.learning.solvers.steps import Step, step_of

_SETTINGS = {"transform_output": "default", "enable_metadata_routing": False}


@dataclass(frozen=True, eq=False)
class LinearStructure(Structure):
    """A linear learner of scikit-learn, with the steps in front of it."""

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
        """Give the unfitted steps and the learner at their end the attributes that their fits would have set."""
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
        if self.steps:  # the first of them would copy it
            X = np.array(X, order="K", copy=True)

        def predict(models: Sequence[LinearArrays]) -> np.ndarray:
            lines = np.empty((len(models), *self.form.shape(len(X))))
            for line, model in zip(lines, models, strict=True):
                matrix = X
                for step, place in zip(self.steps, self.places, strict=True):
                    matrix = step.transform(matrix, model.steps[place])
                if self.steps and not np.isfinite(matrix).all():
                    line[:] = np.nan  # the estimator will refuse it
                else:
                    self.form.predict(matrix, model, line)
            return lines

        return predict

    @cached_property
    def places(self) -> list[slice]:
        """Where in a model is what each step found."""
        ends = np.cumsum([0, *(step.size(self.n_features) for step in self.steps)]).tolist()
        return [slice(first, stop) for first, stop in itertools.pairwise(ends)]


class Linear(Solver):
    """Fits ridge regression, least squares and logistic regression."""

    name = "linear"
    learners: ClassVar[tuple[type, ...]] = (Ridge, LinearRegression, LogisticRegression, Pipeline)
    versions = ("1.9",)

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
        """Return the model of a bag; the seed has no influence."""
        try:
            with np.errstate(over="raise", divide="raise", invalid="raise"):
                return self._fit(rows)
        except FloatingPointError:  # scikit-learn warns, and goes on
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
    """Raise `NotCovered` if a setting of scikit-learn changes what pipelines do."""
    settings = get_config()
    if other := [name for name, value in _SETTINGS.items() if settings.get(name, value) != value]:
        raise NotCovered(f"scikit-learn's setting {other[0]} is not covered")


def check_pipeline(learner: Pipeline) -> None:
    """Raise `NotCovered` unless a pipeline passes its rows from step to step, and does no more."""
    if learner.memory is not None or learner.verbose or learner.transform_input is not None:
        raise NotCovered("a pipeline with memory, or that shows what it does, is not covered")
    if extra := sorted(vars(learner).keys() - learner.get_params(deep=False).keys()):
        raise NotCovered(f"this pipeline has the attribute {extra[0]}")
    if not learner.steps:
        raise NotCovered("an empty pipeline is not covered")


def _parts(learner: Any) -> tuple[list[Any], Any]:
    """The transformers of a pipeline, and the learner at its end."""
    if type(learner) is not Pipeline:
        return [], learner
    check_pipeline(learner)
    *transformers, (_, final) = learner.steps
    if type(final) not in Linear.learners[:-1]:
        raise NotCovered(f"a pipeline that ends in {type(final).__name__} is not covered")
    return [transformer for _, transformer in transformers], final
