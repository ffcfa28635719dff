"""The general way: one fit of the learner itself per bag, whatever it is."""

import pickle
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
from sklearn import config_context

from stablebag.learning.job import FitJob
from stablebag.learning.learners import (
    Copies,
    LabelCodes,
    Surroundings,
    has_callbacks,
    isolated,
    torch_is_there,
    without_callbacks,
)
from stablebag.learning.rows import has_mutable_cells, take_rows, with_own_cells
from stablebag.learning.solvers.conversion import converted


class General:
    """Fits a fresh copy of the learner to the rows of each bag; nothing that it does reaches another copy."""

    def __init__(self, job: FitJob) -> None:
        job = converted(job)
        self.X, self.y = job.X, job.y
        self.fresh, self.surroundings = Copies(job.learner), Surroundings(job.learner)
        self.given = job.fit_params or {}
        self.by_row = job.params_by_row()
        self.validated, self.mutable = False, has_mutable_cells(job.X)
        self.has_callbacks = has_callbacks(job.learner)
        self.subspaces, self.predicts_late = job.subspaces, not hasattr(job.learner, "predict")

    def fit(self, rows: np.ndarray, seed: int, task: Any = None) -> Any:
        """Return the model of a bag; the learner's callbacks are told that it is this task of the whole fit."""
        seedable = torch_is_there()
        model = self._fitted(rows, seed, task)
        if not seedable and torch_is_there():  # its fit imported torch, whose generators were not seeded yet
            model = self._fitted(rows, seed, task)
        self.validated = self.fresh.validated_once
        if self.predicts_late and not hasattr(model, "predict"):
            raise TypeError("it has no method predict, not even now that it is fitted.")
        model = without_callbacks(model) if self.has_callbacks else model
        return _as_after_a_journey(model.as_fitted() if isinstance(model, LabelCodes) else model)

    def _fitted(self, rows: np.ndarray, seed: int, task: Any) -> Any:
        model = self.fresh.copy(seed)
        params = {k: take_rows(v, rows) if k in self.by_row else isolated(k, v) for k, v in self.given.items()}
        X, y = take_rows(self.X, rows), self.y[rows]
        X = X if self.subspaces is None else self.subspaces.take(X, seed)
        within = nullcontext() if task is None else task.propagate_callback_context(model)
        with self.surroundings(seed), _validation_skipped() if self.validated else nullcontext(), within:
            model.fit(with_own_cells(X) if self.mutable else X, y, **params)  # fit may return nothing
        return model


def _validation_skipped() -> AbstractContextManager[None]:
    context: AbstractContextManager[None] = config_context(skip_parameter_validation=True)
    return context


def _as_after_a_journey(model: Any) -> Any:
    """The model as it would come back from another process, where strided arrays become contiguous ones."""
    if not _has_strided_arrays(model, depth=8):
        return model
    try:
        return pickle.loads(pickle.dumps(model))
    except Exception:  # what cannot be pickled does not come back from another process at all
        return model


def _has_strided_arrays(part: Any, depth: int) -> bool:
    if isinstance(part, np.ndarray):
        return not (part.flags.c_contiguous or part.flags.f_contiguous)
    if depth == 0:
        return False
    if isinstance(part, list | tuple):
        return len(part) < 100 and any(_has_strided_arrays(item, depth - 1) for item in part)
    return hasattr(part, "get_params") and any(_has_strided_arrays(item, depth - 1) for item in vars(part).values())
