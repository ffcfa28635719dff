"""The interface of solvers: they fit bags without scikit-learn's bookkeeping, and its own models come out."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import fields
from typing import Any, ClassVar

import numpy as np

from stablebag.learning.job import FitJob
from stablebag.learning.rows import Points

Predictor = Callable[[Any], np.ndarray]


class NotCovered(Exception):  # noqa: N818 (it is no error)
    """Why a solver is not for some job, in words that complete "scikit-learn, because ..."."""


class Structure(ABC):
    """What the models of all bags share: how arrays become a scikit-learn estimator, and how they predict.

    It is a frozen dataclass. A model is a NamedTuple of arrays and numbers, without what is the same in all bags.
    """

    model_type: ClassVar[Any]  # the NamedTuple
    holds_rows: ClassVar[bool] = False  # whether models refer to the training rows, by their position

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]  # a dataclass

    @abstractmethod
    def estimator(self, model: Any, seed: int) -> Any:
        """Return the fitted estimator that scikit-learn would have made of the bag, with this seed."""

    def stacked(self, models: list[Any]) -> Any:
        """Return models put together so that they predict quickly: something that is sliced like a list of them."""
        return models

    @abstractmethod
    def predictor(self, points: Points) -> Predictor | None:
        """Return a function from some models, stacked, to their predictions at the points, with one line per model.

        It may be called by several threads at once. A line does not depend on the other models. None means that these
        points are for the estimators themselves.
        """


class Solver(ABC):
    """Fits one bag after the other, for learners whose structure is known.

    Making one from a job does what is common to all bags; it raises `NotCovered` if the job is not for it.
    """

    name: ClassVar[str]
    learners: ClassVar[tuple[type, ...]]  # exact types: a class that inherits from one may do anything
    versions: ClassVar[tuple[str, ...]]  # of scikit-learn, for which it was verified
    releases_lock: ClassVar[bool] = False  # whether threads can fit at the same time
    orders_ties: ClassVar[bool] = False  # whether its models are others with ties in row order

    structure: Structure

    @classmethod
    def takes(cls, learner: Any) -> bool:
        """Return whether it is for learners such as this one, at a first look."""
        return type(learner) in cls.learners

    @abstractmethod
    def __init__(self, job: FitJob) -> None:
        pass

    @abstractmethod
    def fit(self, rows: np.ndarray, seed: int) -> Any | None:
        """Return the model of a bag as arrays; None hands the bag back to scikit-learn.

        A bag has at least one row and, in classification, at least two classes.
        """
