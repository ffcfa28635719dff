"""The interface of solvers: who they are for, how they fit the models of bags, and how these predict."""

from abc import ABC, abstractmethod
from typing import Any

from stablebag.learning.job import FitJob
from stablebag.learning.rows import Points


class Solver(ABC):
    """A way to fit one model per bag, and to predict with it, for learners whose structure is known."""

    @classmethod
    @abstractmethod
    def covers(cls, learner: Any) -> bool:
        """Return whether this solver is for a learner, or for a model that was fitted by one."""

    def prepared(self, job: FitJob) -> FitJob:
        """Return the job with everything done that is the same for all bags."""
        return job

    def fit(self, model: Any, X: Any, y: Any, params: dict[str, Any]) -> Any:
        """Fit a fresh copy of the learner to the rows of a bag."""
        model.fit(X, y, **params)  # which may return nothing
        return model

    def ask(self, model: Any, method: str, points: Points, harmless: bool) -> Any:
        """Return what a method of a fitted model, which may be known to be harmless, says of the points."""
        return points.ask(model, method, harmless=harmless)
