"""Trees behind a reader of columns: the reader is fitted to each bag by numpy, and its tree grown by the library."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from sklearn import get_config
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline

from stablebag.learning.job import FitJob
from stablebag.learning.learners import Copies
from stablebag.learning.rows import Points
from stablebag.learning.solvers.branches import Found
from stablebag.learning.solvers.column_reader import ColumnReader
from stablebag.learning.solvers.native import library
from stablebag.learning.solvers.native.growing import TreeArrays
from stablebag.learning.solvers.native.prediction import Forest
from stablebag.learning.solvers.pipelines import check_pipeline, check_settings
from stablebag.learning.solvers.solver import NotCovered, Predictor, Solver, Structure
from stablebag.learning.solvers.trees import MOST_ROWS, GrowthPlan, Trees, fill_tree, values_of


class ReadTree(NamedTuple):
    """One bag's tree, and what its reader found: the arrays of all branches end to end."""

    numbers: np.ndarray
    places: np.ndarray
    names: np.ndarray
    sizes: np.ndarray  # how much of each is of which branch
    n_rows: int
    nodes: np.ndarray
    impurity: np.ndarray
    n_samples: np.ndarray
    value: np.ndarray
    seen: np.ndarray
    max_depth: int

    @classmethod
    def of(cls, found: list[Found], n_rows: int, tree: TreeArrays) -> "ReadTree":
        """Put together what was found and grown."""
        sizes = np.array([[len(part) for part in its] for its in found])
        numbers, places, names = map(np.concatenate, zip(*found, strict=True))
        return cls(numbers, places, names, sizes, n_rows, *tree)

    @property
    def tree(self) -> TreeArrays:
        """The tree."""
        return TreeArrays(*self[5:])

    @property
    def found(self) -> list[Found]:
        """What each branch found."""
        ends = self.sizes.cumsum(axis=0)
        parts = [np.split(flat, ends[:-1, kind]) for kind, flat in enumerate(self[:3])]
        return list(map(Found, *parts))


@dataclass(frozen=True, eq=False)
class ReadTreeStructure(Structure):
    """What the pipelines of all bags have in common."""

    learner: Pipeline
    names: list[str]
    classes: np.ndarray | None

    model_type = ReadTree

    def estimator(self, model: ReadTree, seed: int) -> Any:
        estimator = self._copies.copy(seed)
        (_, reader), (_, tree) = estimator.steps
        n_features = self.reader.fill(reader, model.found, model.n_rows)
        fill_tree(tree, model.tree, n_features, self.classes)
        return estimator

    def predictor(self, points: Points) -> Predictor | None:
        if library() is None or get_config()["transform_output"] != "default":
            return None
        try:
            seen = self.reader.look(points.X)
        except NotCovered:
            return None
        n_outputs = 1 if self.classes is None else len(self.classes)

        def predict(models: Sequence[ReadTree]) -> np.ndarray:
            lines = np.empty((len(models), points.n_points, n_outputs))
            for place, model in enumerate(models):
                with np.errstate(all="ignore"):
                    matrix = self.reader.transform(seen, model.found)
                if np.isfinite(matrix).all():
                    tree = model.tree
                    Forest([tree.nodes], [values_of(tree, self.classes)]).predict(matrix, lines[place : place + 1])
                else:
                    lines[place] = np.nan  # the estimator will refuse it
            return lines[:, :, 0] if self.classes is None else lines

        return predict

    @cached_property
    def reader(self) -> ColumnReader:
        """What reads the columns."""
        return ColumnReader.of(self.learner.steps[0][1], self.names)

    @cached_property
    def _copies(self) -> Copies:
        return Copies(self.learner)


class TreePipelines(Solver):
    """Trees of scikit-learn behind a `ColumnTransformer`, as the command line makes them; the library must be there.

    What a branch makes of each row by itself is made once for all bags. What depends on several rows (medians, means,
    scales, which categories there are) is found in each bag, from its rows alone.
    """

    name = "reader and trees"
    learners = (Pipeline,)
    versions = ("1.9",)
    releases_lock = True

    def __init__(self, job: FitJob) -> None:
        check_settings()
        check_pipeline(job.learner)
        self._plan = GrowthPlan(job.learner.steps[-1][1], job)
        if not hasattr(job.X, "columns"):
            raise NotCovered(f"a table of type {type(job.X).__name__} is not covered")
        self.structure: ReadTreeStructure = ReadTreeStructure(job.learner, list(job.X.columns), job.classes)
        self._seen = self.structure.reader.look(job.X)

    @classmethod
    def takes(cls, learner: Any) -> bool:
        steps = learner.steps if type(learner) is Pipeline and isinstance(learner.steps, list) else []
        return [type(step[-1]) for step in steps] in [[ColumnTransformer, tree] for tree in Trees.learners]

    def fit(self, rows: np.ndarray, seed: int) -> ReadTree | None:
        if len(rows) > MOST_ROWS:
            return None
        try:
            with np.errstate(over="raise", divide="raise", invalid="raise"):
                matrix, found = self.structure.reader.fit(self._seen, rows)
            grower = self._plan.grower(matrix, self._plan.targets[rows])
            tree = self._plan.grow(grower, np.arange(len(rows)), seed, self._plan.ties(len(rows)))
        except (FloatingPointError, MemoryError):  # scikit-learn warns or refuses, or takes less
            return None
        return ReadTree.of(found, len(rows), tree)
