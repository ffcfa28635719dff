"""What a fitted model is asked at some points, what is passed along, and what is made of its answer."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.dummy import DummyClassifier, DummyRegressor

from stablebag.learning import outputs
from stablebag.learning.learners import isolated
from stablebag.learning.rows import Points
from stablebag.learning.solvers.conversion import ask

CONSTANT = (DummyClassifier, DummyRegressor)  # of bags that do not reach a learner


@dataclass(frozen=True)
class Asking:
    """What the models of all bags are asked.

    Parameters
    ----------
    decisions : bool, default=False
        Whether classifiers are asked for their decision functions; otherwise for probabilities, or votes.
    params : mapping or None, default=None
        What is passed to the method that is asked, as it is; constants of bags that reach no learner get nothing.
    n_outputs : int or None, default=None
        How many numbers regressors of several outputs predict at each point; None is one, in no list of its own.
    wanted : ndarray of bool, shape (n_bags, n_points), or None, default=None
        Which points each bag's model has to predict; None is all. Elsewhere its line may have anything finite.
    """

    decisions: bool = False
    params: Mapping[str, Any] | None = None
    n_outputs: int | None = None
    wanted: np.ndarray | None = None

    @property
    def is_plain(self) -> bool:
        """Whether it is what every function asks, and no more, so that solvers may answer."""
        return not self.decisions and not self.params

    def answer(self, model: Any, points: Points, classes: np.ndarray | None, *, harmless: bool) -> np.ndarray:
        """Return what is averaged of a bag's model: numbers, probabilities, votes, or decision functions."""
        n_points, constant = points.n_points, isinstance(model, CONSTANT)
        given = {} if constant else self.params or {}
        params = {name: isolated(name, value) for name, value in given.items()}

        def asked(method: str) -> Any:
            return ask(model, method, points, harmless=harmless, **params)

        if classes is None:
            return outputs.numbers(asked("predict"), n_points, self.n_outputs, points.places)
        if self.decisions:
            if constant:
                return outputs.undecided(n_points, classes)
            if _compares_pairs(model) and len(classes) > 2:
                raise ValueError('its decision_function_shape="ovo" scores pairs of classes. Use "ovr".')
            return outputs.decisions(asked("decision_function"), n_points, model.classes_, classes)
        if hasattr(model, "predict_proba") and hasattr(model, "classes_"):
            return outputs.probabilities(asked("predict_proba"), n_points, model.classes_, classes, points.places)
        return outputs.votes(asked("predict"), n_points, classes)


def _compares_pairs(model: Any) -> bool:
    """Whether a model, or the last step of a pipeline, has one score for each pair of classes."""
    parameters = model.get_params(deep=True) if hasattr(model, "get_params") else {}
    shapes = [value for name, value in parameters.items() if name.split("__")[-1] == "decision_function_shape"]
    return "ovo" in shapes
