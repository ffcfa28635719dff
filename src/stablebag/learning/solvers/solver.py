"""The interface of solvers: which learners they cover, how they fit the models of bags, and how these predict."""

from abc import ABC, abstractmethod
from typing import Any

from stablebag.learning.job import FitJob
from stablebag.learning.rows import Points


class Solver(ABC):
    """A way to fit one model per bag, and to predict with it, for learners whose structure is known."""

    @classmethod
    @abstractmethod
    def covers(cls, learner: Any) -> bool:
        """Return whether this solver is for a learner, or for a model that a learner has fitted."""

    def prepared(self, job: FitJob) -> FitJob:
        """Return the job with everything done that is common to all bags."""
        return job

    def fit(self, model: Any, X: Any, y: Any, params: dict[str, Any]) -> Any:
        """Fit a fresh copy of the learner to the rows of a bag."""
        model.fit(X, y, **params)  # fit may return nothing
        return model

    def ask(self, model: Any, method: str, points: Points, harmless: bool) -> Any:
        """Return what a method of a fitted model returns at the points; the model may be known to be harmless."""
        return points.ask(model, method, harmless=harmless)
