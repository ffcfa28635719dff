"""scikit-learn's trees: rows and points are converted to the trees' data type once, not once per tree."""

from dataclasses import replace
from typing import Any

from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeClassifier, ExtraTreeRegressor

from stablebag.learning.job import FitJob
from stablebag.learning.rows import Points, as_float32
from stablebag.learning.solvers.general import General

_TREES = (DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeClassifier, ExtraTreeRegressor)


class Trees(General):
    """Trees of scikit-learn itself, but not classes that inherit from them."""

    @classmethod
    def covers(cls, learner: Any) -> bool:
        return type(learner) in _TREES

    def prepared(self, job: FitJob) -> FitJob:
        """Convert the rows, and tell the trees that they need not check them."""
        X = None if job.learner.criterion == "poisson" else as_float32(job.X)  # "poisson" checks y together with X
        if X is None:
            return super().prepared(job)
        return replace(job, X=X, fit_params={**(job.fit_params or {}), "check_input": False})

    def ask(self, model: Any, method: str, points: Points, harmless: bool) -> Any:
        """Ask a tree with converted points; a bag without rows, or with one class, has a model of another kind."""
        if not self.covers(model) or points.as_float32 is None:
            return super().ask(model, method, points, harmless)
        return getattr(model, method)(points.as_float32, check_input=False)
