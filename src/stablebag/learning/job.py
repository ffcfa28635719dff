"""One fit job: the data, the bags and the seeds that fitting needs, and how the bags are averaged."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from stablebag.learning.rows import is_per_row, take_rows
from stablebag.learning.subspaces import Subspaces
from stablebag.resampling.bags import Bags


@dataclass(frozen=True, eq=False)
class FitJob:
    """What to fit: one clone of a learner to the rows of each bag.

    Made by the method `prepare` of an ensemble. Refits without some row are a job as well, with one bag per refit.

    Parameters
    ----------
    learner : estimator
        The learner, unfitted. It is cloned for every bag.
    X : array, sparse array or data frame
        The training rows.
    y : ndarray
        The targets of the training rows; of several outputs, a column for each.
    bags : Bags
        The rows of each fit, in order and with repeats.
    seeds : ndarray of int
        The learner's seed in each bag.
    classes : ndarray or None, default=None
        The class labels in order; None for regression.
    fit_params : mapping or None, default=None
        Passed to the learner's `fit`; arrays with one entry per training row are sliced by bag.
    average : BagAverage, AllBagsOfNeighbours or None, default=None
        How the bags are averaged, if they are; in closed form there are no bags.
    empty_value : float or ndarray of shape (n_outputs,), default=0.0
        What a bag without rows predicts in regression. In classification it gives all classes the same probability.
    first : int, default=0
        The number of the first of these bags, for error messages.
    numbers : ndarray of int or None, default=None
        The numbers of the bags, if they do not follow on each other.
    solver_wanted : str, default="auto"
        As the parameter `solver` of the ensembles.
    choice : Choice or None, default=None
        Which solver fits the bags, once that is decided; None is the learner itself.
    by_row : frozenset of str or None, default=None
        The names of the fit parameters that have one entry per training row; None finds them by their lengths.
    gathered_of : int or None, default=None
        If this is a portion of a job, whose rows alone are in memory, the number of bags of the whole job.
    subspaces : Subspaces or None, default=None
        The columns that each bag's learner sees, drawn from its seed; None is all.
    tasks : sequence of CallbackContext or None, default=None
        The place of each bag in the fit, for callbacks of scikit-learn that the learner has; None if it has none.
    """

    learner: Any
    X: Any
    y: np.ndarray
    bags: Bags
    seeds: np.ndarray
    classes: np.ndarray | None = None
    fit_params: Mapping[str, Any] | None = None
    average: Any = None
    empty_value: Any = 0.0
    first: int = 0
    numbers: np.ndarray | None = None
    solver_wanted: str = "auto"
    choice: Any = None
    by_row: frozenset[str] | None = None
    gathered_of: int | None = None
    subspaces: Subspaces | None = None
    tasks: Sequence[Any] | None = None

    def __len__(self) -> int:
        return len(self.bags)

    @property
    def n_outputs(self) -> int | None:
        """How many numbers a regressor of several outputs predicts at each point; None for one output."""
        return None if self.y.ndim == 1 else int(self.y.shape[1])

    def part(self, first: int, stop: int) -> "FitJob":
        """Return the job of the bags from `first` to `stop - 1`."""
        tasks = None if self.tasks is None else self.tasks[first:stop]
        bags, seeds = self.bags[first:stop], self.seeds[first:stop]
        return replace(self, bags=bags, seeds=seeds, tasks=tasks, first=self.first + first)

    def only(self, numbers: np.ndarray) -> "FitJob":
        """Return the job of some of the bags."""
        named = numbers + self.first if self.numbers is None else self.numbers[numbers]
        tasks = None if self.tasks is None else [self.tasks[number] for number in numbers]
        return replace(self, bags=self.bags.take(numbers), seeds=self.seeds[numbers], numbers=named, tasks=tasks)

    def params_by_row(self) -> frozenset[str]:
        """Return the names of the fit parameters that have one entry per training row."""
        if self.by_row is not None:
            return self.by_row
        given = self.fit_params or {}
        return frozenset(name for name, value in given.items() if is_per_row(value, len(self.y)))

    def on_own_rows(self, take: Callable[[Any, np.ndarray], Any] = take_rows) -> "FitJob":
        """Return the same job with the rows of its bags alone, so that no others have to travel with it or be read."""
        rows, bags = self.bags.compacted()
        if not len(rows):  # all bags are empty; a table of no rows is more than some libraries take
            rows = np.zeros(1, np.int64)
        by_row, given = self.params_by_row(), self.fit_params or {}
        params = {name: take_rows(value, rows) if name in by_row else value for name, value in given.items()}
        parts = {"X": take(self.X, rows), "y": self.y[rows], "bags": bags, "fit_params": params, "by_row": by_row}
        choice = None if self.choice is None else self.choice.without_rows()  # a solver has the rows of the whole table
        return replace(self, **parts, choice=choice)

    def without_rows(self) -> "FitJob":
        """Return the job without the data, which are sent separately."""
        return replace(self, X=None, y=np.empty(0), average=None)
