"""What scikit-learn's learners convert anew in every bag, converted once: rows and points for trees, sparse formats."""

from dataclasses import replace
from typing import Any

from scipy import sparse
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeClassifier, ExtraTreeRegressor

from stablebag.learning.job import FitJob
from stablebag.learning.rows import Points, as_float32

_TREES = (DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeClassifier, ExtraTreeRegressor)


def is_tree(learner: Any) -> bool:
    """Return whether it is a tree of scikit-learn itself, but not of a class that inherits from it."""
    return type(learner) in _TREES


def converted(job: FitJob) -> FitJob:
    """Return the job with rows that the learner need not convert in every bag."""
    if is_tree(job.learner) and job.learner.criterion != "poisson":  # "poisson" checks y together with X
        X = as_float32(job.X)
        if X is not None:  # trees are told that they need not check the rows
            return replace(job, X=X, fit_params={**(job.fit_params or {}), "check_input": False})
    if sparse.issparse(job.X) and job.X.format not in ("csr", "csc"):  # rows of the others cannot be taken
        return replace(job, X=job.X.tocsr())
    return job


def ask(model: Any, method: str, points: Points, *, harmless: bool, **params: Any) -> Any:
    """Return what a method of a fitted model returns at the points; the model may be known to be harmless."""
    if is_tree(model) and points.as_float32 is not None:
        return getattr(model, method)(points.as_float32, **{"check_input": False, **params})
    return points.ask(model, method, harmless=harmless, **params)
