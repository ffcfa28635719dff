"""Nearest neighbours: one search among all rows. Every bag uses the nearest rows that it contains."""

import copy
import math
import threading
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.stats import nbinom
from sklearn.neighbors import BallTree, KDTree, KNeighborsClassifier, KNeighborsRegressor, NearestNeighbors

from stablebag.fast.linear import LARGEST
from stablebag.models.learners import Copies
from stablebag.models.parallel import one_thread
from stablebag.models.rows import Points
from stablebag.models.solving import (
    RELEASE,
    FitJob,
    NotCovered,
    Predictor,
    Solver,
    Structure,
    anything,
    as_matrix,
    check_parameters,
)

# ----------------------------------------------------------------------------------------------------------- neighbours
# Nearest neighbours: one search among all rows. Every bag uses the nearest rows that it contains.

_METRICS = ("minkowski", "euclidean", "l2", "manhattan", "l1", "cityblock")
_FEW_FEATURES = 15  # up to this many, scikit-learn's "auto" builds a tree
_SHORTFALL = 1e-5  # the probability that a bag contains too few of the rows that the search finds
_DEEPEST = 1000  # with this many neighbours, a separate search for each bag is as fast
_MOST_BYTES = 2**29  # of the neighbours that are stored while bags predict
_TINY = float(np.finfo(float).tiny)  # below which numbers have fewer digits
_BLOCK = 2**22  # the number of neighbours that are searched at a time


class RowsOfBag(NamedTuple):
    """The model of a bag: its rows."""

    rows: np.ndarray


@dataclass(frozen=True, eq=False)
class NeighboursStructure(Structure):
    """The training rows in which every bag searches its neighbours.

    Rows are ordered by distance once for all bags. If rows with different targets have the same distance, or nearly the
    same, this order cannot tell which of them scikit-learn would find in the bag. Then scikit-learn's own model
    predicts, so that ties are broken in the same way.
    """

    model_type: ClassVar[Any] = RowsOfBag
    holds_rows: ClassVar[bool] = True

    learner: Any
    X: np.ndarray
    y: np.ndarray
    classes: np.ndarray | None
    names: np.ndarray | None
    share: float  # of the rows that are in a bag

    def estimator(self, model: RowsOfBag, seed: int) -> Any:
        fitted = self.plain_estimator(model, seed)
        if self.names is not None:
            fitted.feature_names_in_ = self.names.copy()
        return fitted

    def plain_estimator(self, model: RowsOfBag, seed: int = 0) -> Any:
        """Return the fitted estimator without feature names."""
        return Copies(self.learner).copy(seed).fit(self.X[model.rows], self.y[model.rows])

    def predictor(self, points: Points) -> Predictor | None:
        try:
            at, _ = as_matrix(points.X)
        except NotCovered:
            return None
        if at.shape[1] != self.X.shape[1] or not are_covered(at):
            return None
        if self.method == "brute" and at.dtype != np.float64:
            return None
        return None if 4 * len(at) * self.depth > _MOST_BYTES else _Neighbours(self, np.ascontiguousarray(at))

    @cached_property
    def method(self) -> str:
        """How scikit-learn searches: by "kd_tree", "ball_tree" or "brute" force."""
        return method_of(self.learner, self.X.shape[1])

    @cached_property
    def metric(self) -> str:
        """The name of the metric: "euclidean" or "manhattan"."""
        learner = self.learner
        plain = learner.metric in ("manhattan", "l1", "cityblock") or (learner.metric == "minkowski" and learner.p == 1)
        return "manhattan" if plain else "euclidean"

    @cached_property
    def depth(self) -> int:
        """How many neighbours to search, such that nearly every bag contains enough of them."""
        k = int(self.learner.n_neighbors)
        return int(min(len(self.X), k + 1 + nbinom.ppf(1 - _SHORTFALL, k + 1, min(self.share, 1.0))))

    @cached_property
    def targets(self) -> np.ndarray:
        """The targets, or the numbers of the classes."""
        return self.y if self.classes is None else np.searchsorted(self.classes, self.y)

    @cached_property
    def order_matters(self) -> bool:
        """Whether the order of the neighbours can change the last bit of a prediction; some sums are exact."""
        if self.learner.weights == "distance":
            return True
        if self.classes is not None:
            return False
        whole = bool((self.y == np.rint(self.y)).all())
        return not whole or float(np.abs(self.y).max()) * self.learner.n_neighbors >= 2**53

    def search(self, points: np.ndarray, depth: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the distances of the nearest rows, and their numbers."""
        if self.method == "brute":
            finder = NearestNeighbors(n_neighbors=depth, algorithm="brute", metric=self.metric).fit(self.X)
            with one_thread():
                distances, near = finder.kneighbors(points)
        else:
            distances, near = self.whole_tree.query(points, k=depth)
        return distances, near

    @cached_property
    def whole_tree(self) -> Any:
        """scikit-learn's tree of all rows."""
        return self.tree(self.X, 30)

    def tree(self, X: np.ndarray, leaf_size: int) -> Any:
        """Return scikit-learn's tree of these rows."""
        return (KDTree if self.method == "kd_tree" else BallTree)(X, leaf_size, metric=self.metric)

    def rounding(self, points: np.ndarray, reduced: np.ndarray) -> np.ndarray:
        """Return the largest error of a (squared, if Euclidean) distance in any of scikit-learn's searches.

        Trees always compute distances in the same way. They miss a row only if the bound of a node is rounded up past
        it. The bound of a box is as large as the distance, the bound of a ball as large as the table. With brute force,
        squared distances are differences of squares.
        """
        unit = 8 * (self.X.shape[1] + 8) * np.finfo(float).eps
        if self.method == "kd_tree":
            return np.asarray(np.maximum(unit * reduced[:, 1:], _TINY))
        middle = self.X.mean(axis=0) if self.method == "ball_tree" else np.zeros(self.X.shape[1])
        norm = 1 if self.metric == "manhattan" else 2
        reach = np.linalg.norm(points - middle, norm, axis=1) + np.linalg.norm(self.X - middle, norm, axis=1).max()
        return np.asarray(np.maximum(unit * reach[:, None] ** norm, _TINY))


class _Neighbours:
    """The rows nearest to each point, in order, and the bags' predictions from them."""

    def __init__(self, structure: NeighboursStructure, points: np.ndarray) -> None:
        self.structure, self.points = structure, points
        self.depth, self.k = structure.depth, int(structure.learner.n_neighbors)
        self.lock = threading.Lock()
        self.searched = False

    def __call__(self, models: Any) -> np.ndarray:
        with self.lock:
            if not self.searched:
                self._search()
                self.searched = True
        return np.stack([self._of_bag(model) for model in models])

    def _search(self) -> None:
        """Order the rows by distance, and find how far down the order is certain."""
        structure, (n_points, depth) = self.structure, (len(self.points), self.depth)
        self.near = np.empty((n_points, depth), dtype=np.int32 if len(structure.X) < 2**31 else np.int64)
        self.distances = np.empty((n_points, depth)) if structure.learner.weights == "distance" else None
        self.certain = np.empty(n_points, dtype=np.intp)
        self.run_ends: np.ndarray | None = None if structure.order_matters else np.empty((0, depth), dtype=np.int32)
        self.in_runs = np.full(n_points, -1)
        step = max(1, _BLOCK // depth)
        for first in range(0, n_points, step):
            some = slice(first, min(first + step, n_points))
            distances, near = structure.search(self.points[some], depth)
            self.near[some] = near
            if self.distances is not None:
                self.distances[some] = distances
            self._look_for_doubt(some, distances, near)

    def _look_for_doubt(self, some: slice, distances: np.ndarray, near: np.ndarray) -> None:
        """Find the first place where rows with different targets are too close to tell which is nearer."""
        structure = self.structure
        with np.errstate(over="ignore", invalid="ignore"):  # distances that overflow are in doubt
            reduced = distances**2 if structure.metric == "euclidean" else distances
            gaps = np.diff(reduced, axis=1)
            close = ~(gaps > structure.rounding(self.points[some], reduced))
        differ = np.diff(structure.targets[near], axis=1) != 0
        doubt = close & (differ | (gaps > 0) if self.distances is not None else differ)
        if self.depth < len(structure.X):  # rows beyond the search may be as near as the last ones that were found
            close, doubt = (np.column_stack([table, np.ones(len(near), dtype=bool)]) for table in (close, doubt))
        for place in range(doubt.shape[1] - 2, -1, -1):  # a whole run of equally distant rows is in doubt
            doubt[:, place] |= close[:, place] & doubt[:, place + 1]
        found = doubt.any(axis=1)
        self.certain[some] = np.where(found, doubt.argmax(axis=1) if doubt.shape[1] else 0, self.depth)
        if self.run_ends is not None:
            points = np.flatnonzero(self.certain[some] < self.depth - 1)
            self.in_runs[some.start + points] = len(self.run_ends) + np.arange(len(points))
            ends = _ends_of_runs(close[points], doubt[points])[:, : self.depth]
            self.run_ends = np.concatenate([self.run_ends, ends])

    def _of_bag(self, model: RowsOfBag) -> np.ndarray:
        """The predictions of one bag: from the shared search if it is certain, else from scikit-learn."""
        structure, depth, k = self.structure, self.depth, self.k
        counts = np.bincount(model.rows, minlength=len(structure.X))
        near = self.near.reshape(-1)
        # All places exist; with "clip", numpy does not check them.
        places = np.flatnonzero((counts > 0).take(near, mode="clip"))  # of the bag's rows, point after point
        if len(model.rows) > np.count_nonzero(counts):
            places = np.repeat(places, counts.take(near.take(places, mode="clip"), mode="clip"))
        ends = np.arange(len(self.points) + 1) * depth
        starts = np.searchsorted(places, ends)
        enough = starts[1:] - starts[:-1] >= k
        chosen = np.append(places, 0).take(starts[:-1, None] + np.arange(k), mode="clip")
        last = np.where(enough, chosen[:, -1] - ends[:-1], depth)
        unsure = np.flatnonzero(last >= self.certain)
        if len(unsure) and self.run_ends is not None:
            following = np.append(places, ends[-1])[np.minimum(starts[unsure] + k, starts[unsure + 1])] - ends[unsure]
            unsure = unsure[self._can_differ(unsure, last[unsure], following)]
        distances = None if self.distances is None else self.distances.reshape(-1).take(chosen, mode="clip")
        prediction = self._average(model, near.take(chosen, mode="clip"), distances)
        if len(unsure):
            prediction[unsure] = self._by_scikit_learn(model, unsure)
        return prediction

    def _can_differ(self, points: np.ndarray, last: np.ndarray, following: np.ndarray) -> np.ndarray:
        """Whether the row after the last neighbour could replace one with another target."""
        assert self.run_ends is not None
        slot, short = self.in_runs[points], last >= self.depth
        ends = self.run_ends[slot, np.minimum(last, self.depth - 1)] if len(self.run_ends) else np.zeros(len(points))
        return np.asarray(short | (slot < 0) | (ends >= self.depth) | (following <= ends))

    def _average(self, model: RowsOfBag, rows: np.ndarray, distances: np.ndarray | None) -> np.ndarray:
        """The prediction from these neighbours, with scikit-learn's arithmetic."""
        structure = self.structure
        targets, weights = structure.targets.take(rows, mode="clip"), None if distances is None else _inverse(distances)
        if structure.classes is None:
            if weights is None:
                return np.asarray(np.mean(targets[:, :, None], axis=1)).reshape(-1)
            return np.asarray(np.sum(targets * weights, axis=1) / np.sum(weights, axis=1))
        n_classes, n_points = len(structure.classes), len(rows)
        if weights is None:
            cells = np.arange(n_points)[:, None] * n_classes + targets
            counts = np.bincount(cells.reshape(-1), minlength=n_points * n_classes)
            return counts.reshape(n_points, n_classes) / self.k
        seen, every = np.unique(structure.targets[model.rows]), np.arange(n_points)
        columns = np.minimum(np.searchsorted(seen, targets), len(seen) - 1)
        scores, aligned = np.zeros((n_points, len(seen))), np.zeros((n_points, n_classes))
        for neighbour in range(self.k):
            scores[every, columns[:, neighbour]] += weights[:, neighbour]
        aligned[:, seen] = scores / scores.sum(axis=1)[:, None]
        return aligned

    def _by_scikit_learn(self, model: RowsOfBag, unsure: np.ndarray) -> np.ndarray:
        """scikit-learn's own predictions; with brute force, they may depend on the other points."""
        structure, learner = self.structure, self.structure.learner
        if structure.method != "brute":
            tree = structure.tree(structure.X[model.rows], learner.leaf_size)
            distances, found = tree.query(self.points[unsure], k=self.k)
            return self._average(model, model.rows[found], distances if self.distances is not None else None)
        fitted = structure.plain_estimator(model)
        if structure.classes is None:
            return np.asarray(fitted.predict(self.points)[unsure])
        given = np.zeros((len(unsure), len(structure.classes)))
        given[:, np.searchsorted(structure.classes, fitted.classes_)] = fitted.predict_proba(self.points)[unsure]
        return given


class Neighbours(Solver):
    """Nearest neighbours: nothing is fitted, and all bags share one search."""

    name = "neighbours"
    learners = (KNeighborsRegressor, KNeighborsClassifier)
    structure: NeighboursStructure

    def __init__(self, job: FitJob) -> None:
        learner = job.learner
        check_neighbours(learner)
        X, names = as_matrix(job.X)
        if method_of(learner, X.shape[1]) == "brute" and (X.dtype != np.float64 or learner.weights == "distance"):
            raise NotCovered("with brute force, these distances are rounded differently in each search")
        if method_of(learner, X.shape[1]) == "brute" and job.classes is not None and RELEASE < 9:
            raise NotCovered("brute-force classification is covered only from version 1.9")
        if not are_covered(X):
            raise NotCovered("missing values and numbers beyond 1e140 are not covered")
        some = [len(np.unique(job.bags[number])) for number in range(min(10, len(job)))]
        share = max(1, math.fsum(some)) / (len(X) * max(1, len(some)))
        X = X.copy() if np.may_share_memory(X, job.X) else X  # models store the rows, and the caller may change them
        self.structure = NeighboursStructure(learner, X, job.y, job.classes, names, share)
        if self.structure.depth > _DEEPEST:
            raise NotCovered("bags contain so few of the rows that a separate search for each is as fast")

    def fit(self, rows: np.ndarray, seed: int) -> RowsOfBag | None:
        """Return the rows; None for bags so small that scikit-learn raises, or compares with all their rows."""
        learner = self.structure.learner
        if len(rows) < learner.n_neighbors:
            return None
        if learner.algorithm == "auto" and self.structure.method != "brute" and learner.n_neighbors >= len(rows) // 2:
            return None
        return RowsOfBag(np.asarray(rows))


def check_neighbours(learner: Any) -> None:
    """Raise `NotCovered` if a parameter of a learner is not covered."""
    bare = copy.copy(learner)
    vars(bare).pop("radius", None)  # an attribute for radius neighbours, not a parameter
    check_parameters(
        bare,
        n_neighbors=_is_count,
        weights=("uniform", "distance"),
        algorithm=("auto", "brute", "kd_tree", "ball_tree"),
        leaf_size=_is_count,
        p=lambda p: learner.metric != "minkowski" or p in (1, 2),
        metric=_METRICS,
        n_jobs=anything,
    )


def _is_count(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= 1


def are_covered(X: np.ndarray) -> bool:
    """Return whether all squared distances between rows and points are finite."""
    largest = min(LARGEST, float(np.finfo(X.dtype).max)) if X.dtype.kind == "f" else LARGEST
    return bool((np.abs(X) <= largest).all())


def method_of(learner: Any, n_features: int) -> str:
    """Return how scikit-learn searches, except in bags so small that "auto" compares with all their rows."""
    if learner.algorithm != "auto":
        return str(learner.algorithm)
    return "brute" if n_features > _FEW_FEATURES else "kd_tree"


def _inverse(distances: np.ndarray) -> np.ndarray:
    """Return one over the distance; rows at distance zero get all the weight."""
    with np.errstate(divide="ignore"):
        weights: np.ndarray = 1.0 / distances
    infinite = np.isinf(weights)
    at_once = infinite.any(axis=1)
    weights[at_once] = infinite[at_once]
    return weights


def _ends_of_runs(close: np.ndarray, doubt: np.ndarray) -> np.ndarray:
    """Return, for each place, the end of its run of equally distant rows if the run is in doubt, else the place."""
    places = np.arange(close.shape[1] + 1)
    ends, mixed = np.tile(places, (len(close), 1)), np.column_stack([doubt, np.zeros(len(doubt), dtype=bool)])
    for place in places[-2::-1]:
        ends[:, place] = np.where(close[:, place], ends[:, place + 1], place)
    for place in places[1:]:
        mixed[:, place] |= close[:, place - 1] & mixed[:, place - 1]
    return np.where(mixed, ends, places)
