"""Nearest neighbours: one search among all rows, of which every bag takes the first that it holds."""

import copy
import math
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from functools import cached_property
from numbers import Integral
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.special import betainc, betaincc, gammainc, gammaincc
from scipy.stats import binom, nbinom, poisson
from sklearn.neighbors import BallTree, KDTree, KNeighborsClassifier, KNeighborsRegressor, NearestNeighbors
from sklearn.utils import check_array

from stablebag.fast.linear import LARGEST
from stablebag.models.average import BagAverage, middle
from stablebag.models.learners import Copies, one_hot
from stablebag.models.parallel import one_thread
from stablebag.models.ranges import Interval, PredictionRange
from stablebag.models.rows import Points
from stablebag.models.saved_tables import unwrap_tables, wrap_tables
from stablebag.models.solving import (
    FitJob,
    NotCovered,
    Predictor,
    Solver,
    Structure,
    anything,
    as_matrix,
    check_parameters,
)
from stablebag.resampling.bags import Bags
from stablebag.resampling.law import ResolvedScheme, log_concave_law
from stablebag.resampling.schemes import BernoulliSubbagging, ClassicalBagging, PoissonizedBagging, Subbagging
from stablebag.resampling.units import Units

# ----------------------------------------------------------------------------------------------------------- neighbours
# Nearest neighbours: one search among all rows, of which every bag takes the first that it holds.

_METRICS = ("minkowski", "euclidean", "l2", "manhattan", "l1", "cityblock")
_FEW_FEATURES = 15  # up to so many, scikit-learn's "auto" builds a tree
_SHORTFALL = 1e-5  # how often a bag may hold too few of the rows that the search finds
_DEEPEST = 1000  # among so many neighbours, looking for those in a bag takes as long as a search of its own
_MOST_BYTES = 2**29  # of the neighbours that are kept while bags predict
_TINY = float(np.finfo(float).tiny)  # below which numbers have fewer digits
_BLOCK = 2**22  # the number of neighbours that are searched at once


class RowsOfBag(NamedTuple):
    """The model of a bag: its rows."""

    rows: np.ndarray


@dataclass(frozen=True, eq=False)
class NeighboursStructure(Structure):
    """The training rows, among which every bag looks for neighbours.

    Rows are ordered by their distance once for all bags. Where that order leaves in doubt what scikit-learn finds in a
    bag, because rows with different targets are equally far or nearly so, its own model is asked. So ties fall as they
    do in scikit-learn's search of the bag.
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
        """Return the fitted estimator that knows no names of features."""
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
        """How many neighbours are searched, so that nearly every bag holds enough of them."""
        k = int(self.learner.n_neighbors)
        return int(min(len(self.X), k + 1 + nbinom.ppf(1 - _SHORTFALL, k + 1, min(self.share, 1.0))))

    @cached_property
    def targets(self) -> np.ndarray:
        """What is averaged: the targets, or the numbers of the classes."""
        return self.y if self.classes is None else np.searchsorted(self.classes, self.y)

    @cached_property
    def order_matters(self) -> bool:
        """Whether the order of the neighbours can change the last bit of what they predict; sums may be exact."""
        if self.learner.weights == "distance":
            return True
        if self.classes is not None:
            return False
        whole = bool((self.y == np.rint(self.y)).all())
        return not whole or float(np.abs(self.y).max()) * self.learner.n_neighbors >= 2**53

    def search(self, points: np.ndarray, depth: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the distances of the nearest rows and their numbers."""
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
        """Return how far a distance, squared if it is Euclidean, can be off in any of scikit-learn's searches.

        Trees compute distances in the same way always, and lose a row only if the bound of a node is rounded up past
        it: that of a box is of the size of the distance, that of a ball of the size of the table. By brute force,
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
    """The rows nearest to each of some points, in order, and what the bags predict from them."""

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
        """Order the rows by distance, and find out how far that order is certain."""
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
        """Find the first place at which rows with different targets are too close to tell which is nearer."""
        structure = self.structure
        with np.errstate(over="ignore", invalid="ignore"):  # too far for floats is in doubt
            reduced = distances**2 if structure.metric == "euclidean" else distances
            gaps = np.diff(reduced, axis=1)
            close = ~(gaps > structure.rounding(self.points[some], reduced))
        differ = np.diff(structure.targets[near], axis=1) != 0
        doubt = close & (differ | (gaps > 0) if self.distances is not None else differ)
        if self.depth < len(structure.X):  # rows that were not found may be as far as the last that were
            close, doubt = (np.column_stack([table, np.ones(len(near), dtype=bool)]) for table in (close, doubt))
        for place in range(doubt.shape[1] - 2, -1, -1):  # a whole run of rows that are equally far is in doubt
            doubt[:, place] |= close[:, place] & doubt[:, place + 1]
        found = doubt.any(axis=1)
        self.certain[some] = np.where(found, doubt.argmax(axis=1) if doubt.shape[1] else 0, self.depth)
        if self.run_ends is not None:
            points = np.flatnonzero(self.certain[some] < self.depth - 1)
            self.in_runs[some.start + points] = len(self.run_ends) + np.arange(len(points))
            ends = _ends_of_runs(close[points], doubt[points])[:, : self.depth]
            self.run_ends = np.concatenate([self.run_ends, ends])

    def _of_bag(self, model: RowsOfBag) -> np.ndarray:
        """The predictions of one bag: from the shared search where it is certain, and else by scikit-learn."""
        structure, depth, k = self.structure, self.depth, self.k
        counts = np.bincount(model.rows, minlength=len(structure.X))
        near = self.near.reshape(-1)
        # With "clip", numpy needs no check of the places, all of which exist.
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
            prediction[unsure] = self._asked(model, unsure)
        return prediction

    def _can_differ(self, points: np.ndarray, last: np.ndarray, following: np.ndarray) -> np.ndarray:
        """Whether the row that follows the last neighbour could be in place of one with another target."""
        assert self.run_ends is not None
        slot, short = self.in_runs[points], last >= self.depth
        ends = self.run_ends[slot, np.minimum(last, self.depth - 1)] if len(self.run_ends) else np.zeros(len(points))
        return np.asarray(short | (slot < 0) | (ends >= self.depth) | (following <= ends))

    def _average(self, model: RowsOfBag, rows: np.ndarray, distances: np.ndarray | None) -> np.ndarray:
        """What neighbours predict, in scikit-learn's arithmetic."""
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

    def _asked(self, model: RowsOfBag, unsure: np.ndarray) -> np.ndarray:
        """What scikit-learn finds in the bag; by brute force, that may depend on the other points."""
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
    """Nearest neighbours of scikit-learn: nothing is fitted, and all bags share one search."""

    name = "neighbours"
    learners = (KNeighborsRegressor, KNeighborsClassifier)
    versions = ("1.9",)
    structure: NeighboursStructure

    def __init__(self, job: FitJob) -> None:
        learner = job.learner
        check_neighbours(learner)
        X, names = as_matrix(job.X)
        if method_of(learner, X.shape[1]) == "brute" and (X.dtype != np.float64 or learner.weights == "distance"):
            raise NotCovered("distances by brute force are not the same in every search")
        if not are_covered(X):
            raise NotCovered("missing values, and numbers beyond 1e140, are not covered")
        some = [len(np.unique(job.bags[number])) for number in range(min(10, len(job)))]
        share = max(1, math.fsum(some)) / (len(X) * max(1, len(some)))
        X = X.copy() if np.may_share_memory(X, job.X) else X  # models keep the rows, and the caller may change them
        self.structure = NeighboursStructure(learner, X, job.y, job.classes, names, share)
        if self.structure.depth > _DEEPEST:
            raise NotCovered("bags hold so few of the rows that a search of their own is as fast")

    def fit(self, rows: np.ndarray, seed: int) -> RowsOfBag | None:
        """Return the rows; bags with too few, or so few that scikit-learn looks at all of them, are for it alone."""
        learner = self.structure.learner
        if len(rows) < learner.n_neighbors:
            return None
        if learner.algorithm == "auto" and self.structure.method != "brute" and learner.n_neighbors >= len(rows) // 2:
            return None
        return RowsOfBag(np.asarray(rows))


def check_neighbours(learner: Any) -> None:
    """Raise `NotCovered` if a parameter of a learner is not covered."""
    bare = copy.copy(learner)
    vars(bare).pop("radius", None)  # it is of another kind of neighbours, and no parameter
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
    """Return whether the squared distances of rows or points are finite."""
    largest = min(LARGEST, float(np.finfo(X.dtype).max)) if X.dtype.kind == "f" else LARGEST
    return bool((np.abs(X) <= largest).all())


def method_of(learner: Any, n_features: int) -> str:
    """Return how scikit-learn searches, but for bags so small that "auto" looks at all of their rows."""
    if learner.algorithm != "auto":
        return str(learner.algorithm)
    return "brute" if n_features > _FEW_FEATURES else "kd_tree"


def _inverse(distances: np.ndarray) -> np.ndarray:
    """Return one over the distance; rows at distance zero have all the weight."""
    with np.errstate(divide="ignore"):
        weights: np.ndarray = 1.0 / distances
    infinite = np.isinf(weights)
    at_once = infinite.any(axis=1)
    weights[at_once] = infinite[at_once]
    return weights


def _ends_of_runs(close: np.ndarray, doubt: np.ndarray) -> np.ndarray:
    """Return, for each place, the last one of its run of equally far rows if that is in doubt, else itself."""
    places = np.arange(close.shape[1] + 1)
    ends, mixed = np.tile(places, (len(close), 1)), np.column_stack([doubt, np.zeros(len(doubt), dtype=bool)])
    for place in places[-2::-1]:
        ends[:, place] = np.where(close[:, place], ends[:, place + 1], place)
    for place in places[1:]:
        mixed[:, place] |= close[:, place - 1] & mixed[:, place - 1]
    return np.where(mixed, ends, places)


# ------------------------------------------------------------------------------------------------------------- rank law
# How much the nearest rows count in the average over all bags of nearest neighbours, in closed form for any n.

_NEGLIGIBLE = 2.0**-60  # the chance of what is left out, below the rounding of what is not


@dataclass(frozen=True, eq=False)
class RankLaw:
    """How much the row that is nearest to a point counts over all bags, and the second nearest, and so on.

    Go through the rows from the nearest on. With the chance `last[j]`, the last of a bag's k neighbours is the row of
    rank j, and given that, the others are drawn from the nearer rows, all of them alike: without replacement in
    subbagging and Bernoulli subbagging, and with it, the row itself partly included, in classical and Poissonized
    bagging. So the mean and the mean square over all bags follow from sums of targets over the nearest rows. A bag with
    fewer than k rows averages all that it has.

    Parameters
    ----------
    law : ResolvedScheme
        One of the paper's laws of bags.
    k : int
        The number of neighbours.
    """

    law: ResolvedScheme
    k: int

    def __post_init__(self) -> None:
        if not self.law.is_of_the_paper:
            raise NotCovered(f"the weights of neighbours are not known for {type(self.law.scheme).__name__}")
        scheme, n = self.law.scheme, self.law.n_samples
        if isinstance(scheme, Subbagging | ClassicalBagging) and scheme.whole_size(n) < self.k:
            raise NotCovered(f"bags of {scheme.whole_size(n)} rows have no {self.k} neighbours")

    @cached_property
    def sizes(self) -> np.ndarray:
        """The chances that a bag has 0, 1, ..., k - 1 rows."""
        scheme, n, sizes = self.law.scheme, self.law.n_samples, np.arange(self.k)
        if isinstance(scheme, BernoulliSubbagging):
            return np.asarray(binom.pmf(sizes, n, float(scheme.share_of(n))))
        if isinstance(scheme, PoissonizedBagging):
            return np.asarray(poisson.pmf(sizes, scheme.expected_size(n)))
        return np.zeros(self.k)

    @property
    def empty(self) -> float:
        """The chance that a bag has no rows."""
        return float(self.sizes[0])

    @property
    def short(self) -> float:
        """The chance that a bag has rows, but fewer than k."""
        return float(self.sizes[1:].sum())

    def short_variance(self, variance: np.ndarray) -> np.ndarray:
        """Return the mean over short bags, times their chance, of the variance of their averages."""
        n, sizes = self.law.n_samples, np.arange(1, self.k)
        shares = self.sizes[1:] / sizes
        if isinstance(self.law.scheme, BernoulliSubbagging):  # drawn without replacement
            shares = shares * np.maximum(n - sizes, 0) / max(1, n - 1)
        return np.asarray(shares.sum() * variance)

    @cached_property
    def last(self) -> np.ndarray:
        """The chance that the last neighbour has rank 1, 2, ...: as far as it is not negligible."""
        chances = self._chances()
        if not len(chances):
            return chances
        beyond = np.append(np.cumsum(chances[::-1])[::-1][1:], 0.0)
        return chances[: int(np.argmax(beyond <= _NEGLIGIBLE)) + 1]

    @property
    def depth(self) -> int:
        """How many ranks count."""
        return len(self.last)

    @cached_property
    def weights(self) -> np.ndarray:
        """How much each rank counts, besides what it counts in short bags."""
        before = np.arange(self.depth)  # the number of nearer rows
        if not self.repeats:
            each = self.last * (self.k - 1) / np.maximum(before, 1)
            return np.asarray((self.last + _after(each)) / self.k)
        once, _ = self._with_replacement
        return np.asarray(self.last + (_after(once) - before * once) / self.k)

    @cached_property
    def squares(self) -> tuple[np.ndarray, ...]:
        """Coefficients of the mean square of the average of the neighbours.

        They go with the mean square of the targets at each rank, the square of their mean, the product of target and
        sum of the nearer ones, the sum of the squares of these, and the square of their sum.
        """
        k, before = self.k, np.arange(self.depth)
        if not self.repeats:
            one = self.last * (k - 1) / np.maximum(before, 1)
            two = one * (k - 2) / np.maximum(before - 1, 1) if k > 2 else np.zeros(self.depth)
            parts = (self.last, np.zeros(self.depth), 2 * one, one - two, two)
        else:
            one, two = self._with_replacement
            own = k * (k - 1) * self.last - 2 * (k - 1) * before * one + before**2 * two
            parts = (k * self.last - before * one, own, 2 * (k - 1) * one - 2 * before * two, one, two)
        return tuple(part / k**2 for part in parts)

    @property
    def repeats(self) -> bool:
        """Whether a row can be in a bag more than once."""
        return isinstance(self.law.scheme, ClassicalBagging | PoissonizedBagging)

    @cached_property
    def _with_replacement(self) -> tuple[np.ndarray, np.ndarray]:
        """The means of (k-1)/x and (k-1)(k-2)/x^2, rank by rank, where x is where the last draw falls in (0, n]."""
        scheme, n, k = self.law.scheme, self.law.n_samples, self.k
        m = scheme.whole_size(n) if isinstance(scheme, ClassicalBagging) else self.law.bag_size
        rate, pairs = m / n, (m * (m - 1) if isinstance(scheme, ClassicalBagging) else m**2) / n**2
        ranks, none = np.arange(self.depth + 1), np.zeros(self.depth)
        one = rate * _cells(*self._beyond(k - 1, ranks)) if k > 1 else none
        return one, pairs * _cells(*self._beyond(k - 2, ranks)) if k > 2 else none

    def _chances(self) -> np.ndarray:
        """The chances that the last neighbour has rank 1, 2, ..., perhaps further than needed."""
        scheme, n, k = self.law.scheme, self.law.n_samples, self.k
        if self.repeats:
            reach = 64
            while reach < n and self._beyond(k, np.array([reach]))[1][0] > _NEGLIGIBLE:
                reach *= 2
            return _cells(*self._beyond(k, np.arange(min(n, reach) + 1)))
        if n < k:
            return np.zeros(0)
        if isinstance(scheme, Subbagging):
            m = scheme.whole_size(n)
            rank = np.arange(k, n - m + k, dtype=float)
            ratios, total = rank / (rank - k + 1) * (n - rank - m + k) / (n - rank), 1.0
        else:
            p = float(self.law.inclusion_probability)
            rank = np.arange(k, n, dtype=float)
            ratios, total = rank / (rank - k + 1) * (1 - p), float(binom.sf(k - 1, n, p))
        return np.concatenate([np.zeros(k - 1), total * log_concave_law(np.log(ratios))])

    def _beyond(self, k: int, ranks: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The chances that the k-th draw, with replacement, has at most these ranks, and that it has larger ones."""
        scheme, n = self.law.scheme, self.law.n_samples
        if isinstance(scheme, ClassicalBagging):
            rest = scheme.whole_size(n) - self.k + 1
            return betainc(k, rest, ranks / n), betaincc(k, rest, ranks / n)
        rate = self.law.bag_size / n
        return gammainc(k, rate * ranks), gammaincc(k, rate * ranks)


def _cells(below: np.ndarray, above: np.ndarray) -> np.ndarray:
    """The chances between successive places, from the chances below and above each: the smaller ones are exact."""
    return np.where(below[1:] < 0.5, np.diff(below), -np.diff(above))


def _after(values: np.ndarray) -> np.ndarray:
    """For each rank, the sum over the ranks after it."""
    return np.append(np.cumsum(values[:0:-1])[::-1], 0.0)[: len(values)]


# ----------------------------------------------------------------------------------------------------- neighbours limit
# All bags of nearest neighbours at once: their average in closed form, with all rows and without each, at any n.

NEIGHBOURS = (KNeighborsRegressor, KNeighborsClassifier)
_LIMIT_BLOCK = 2**22  # the number of neighbours that are held at once


@dataclass(frozen=True, eq=False)
class Ranking:
    """The rows nearest to each of some points, in order; it takes the place of what single bags predict there.

    Attributes
    ----------
    rows : ndarray of shape (n_points, depth)
        The rows, the nearest first.
    starts : ndarray of shape (n_points, depth) or None
        The place of the first row that is as far as this one; None if all distances differ.
    stops : ndarray of shape (n_points, depth) or None
        The place after the last row that is as far.
    """

    rows: np.ndarray
    starts: np.ndarray | None = None
    stops: np.ndarray | None = None

    @classmethod
    def of(cls, distances: np.ndarray, rows: np.ndarray) -> "Ranking":
        """Return the ranking by these distances, which are in order."""
        new = np.diff(distances, axis=1) > 0
        if new.all():
            return cls(rows)
        ones, places = np.ones((len(rows), 1), dtype=bool), np.arange(rows.shape[1])
        starts = np.maximum.accumulate(np.where(np.column_stack([ones, new]), places, 0), axis=1)
        ends = np.where(np.column_stack([new, ones]), places + 1, rows.shape[1])
        return cls(rows, starts, np.minimum.accumulate(ends[:, ::-1], axis=1)[:, ::-1])

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, points: slice) -> "Ranking":
        if self.starts is None or self.stops is None:
            return Ranking(self.rows[points])
        return Ranking(self.rows[points], self.starts[points], self.stops[points])

    def shared(self, values: np.ndarray) -> np.ndarray:
        """Return the values, one for each place, averaged over the rows that are equally far."""
        if self.starts is None or self.stops is None:
            return values
        sums, size = _sums(values), self.stops - self.starts
        group = np.take_along_axis(sums, self.stops, axis=1) - np.take_along_axis(sums, self.starts, axis=1)
        return np.where(size > 1, group / size, values)


@dataclass(frozen=True, eq=False)
class AllBagsOfNeighbours:
    """The average over all bags of nearest neighbours, without any bag: the rows near a point, weighted by their rank.

    It answers what `BagAverage` answers. Rows that are equally far share their places evenly, as if their order were
    drawn at random for each bag. A bag with fewer than k rows, for which scikit-learn has no prediction, averages all
    that it has; a bag without rows predicts the middle of the range, or gives all classes the same probability.

    Clipping changes nothing: what a bag predicts is between the targets, and without a row between the other ones. So a
    range is covered if these are in it.

    Parameters
    ----------
    learner : KNeighborsRegressor or KNeighborsClassifier
        The learner, whose neighbours count alike.
    X : array or data frame of shape (n_samples, n_features)
        The training rows.
    y : ndarray of shape (n_samples,)
        Their targets.
    law : ResolvedScheme
        The law of the bags.
    rule : PredictionRange or None, default=None
        The rule for the range to which predictions are clipped.
    classes : ndarray or None, default=None
        The class labels in order; None for regression.
    units : Units or None, default=None
        What the rows are called.
    """

    learner: Any
    X: Any
    y: np.ndarray
    law: ResolvedScheme
    rule: PredictionRange | None = None
    classes: np.ndarray | None = None
    units: Units = None  # type: ignore[assignment]  # as in BagAverage
    drawn = False
    name = "neighbours in closed form"

    def __post_init__(self) -> None:
        learner = self.learner
        if type(learner) not in NEIGHBOURS:
            raise NotCovered(f"there is no closed form for {type(learner).__name__}")
        if self.y.ndim > 1:
            raise NotCovered("there are several outputs")
        check_neighbours(learner)
        if learner.weights != "uniform":
            raise NotCovered(f"there is no closed form for weights={learner.weights!r}")
        if not are_covered(self._structure.X):
            raise NotCovered("missing values, and numbers beyond 1e140, are not covered")
        if self.rule is not None and not self._is_in_range():
            raise NotCovered("the range is narrower than the targets, so that the predictions of bags are clipped")
        try:
            assert self._with_all.k == self._without_one.k  # both exist, or are refused now
        except ValueError as error:
            raise NotCovered("there is no law of the bags without one row") from error

    def __getstate__(self) -> dict[str, Any]:
        return {
            field.name: wrap_tables(getattr(self, field.name)) for field in fields(self)
        }  # the rest follows from them

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update({name: unwrap_tables(value) for name, value in state.items()})

    # ------------------------------------------------------------------------------------------- what is asked of it

    def blocks(self, X: Any) -> Iterator[tuple[slice, Ranking]]:
        """Yield blocks of points that fit into memory, as a slice, with the rows near them."""
        points = self._as_points(X)
        yield from self._blocks(points, slice(0, len(points)), self._first_depth)

    def ranked(self, X: Any) -> Ranking:
        """Return the rows near some points, all at once."""
        points, depth = self._as_points(X), self._first_depth
        while (ranking := self._search(points, depth)) is None:
            depth = self._deeper(depth)
        return ranking

    def outputs(self, ranking: Ranking) -> Ranking:
        """Return the ranking: there is nothing to clip."""
        return ranking

    def prediction(self, rankings: Iterable[Ranking]) -> np.ndarray:
        """Return the average over all bags."""
        return np.concatenate([self._prediction(ranking) for ranking in rankings])

    def deviation(self, ranking: Ranking) -> np.ndarray:
        """Return the standard deviation over all bags; with ties, that if each bag broke them at random."""
        law, prediction = self._with_all, self._prediction(ranking).reshape(len(ranking), -1)
        centre, spread = self._targets.mean(axis=0), self._targets.var(axis=0)
        square = law.short_variance(spread) + law.short * (centre - prediction) ** 2
        square = square + law.empty * (self._of_empty_bags - prediction) ** 2
        for number, values in enumerate(self._ranked_targets(ranking)):
            square[:, number] += _mean_square(ranking, values - prediction[:, [number]], law)
        return self._shaped(np.sqrt(np.maximum(square, 0.0)))

    def estimated_deviation(self, ranking: Ranking) -> np.ndarray:
        """Return the standard deviation over all bags."""
        return self.deviation(ranking)

    def left_out(self, ranking: Ranking) -> np.ndarray:
        """Return the average over the bags without row i, for every row i; shape (n_samples, n_points, ...)."""
        base = self._of_small_bags_without()
        result = np.repeat(base[:, None, :], len(ranking), axis=1)
        at = np.arange(len(ranking))[:, None]
        for number, (others, without) in enumerate(self._without_each(ranking)):
            column = np.broadcast_to(others, result.shape[:2]).copy()
            column[ranking.rows, at] = without
            result[:, :, number] += column
        return self._shaped(self._in_range(result))

    def left_out_at(self, rows: slice, ranking: Ranking) -> np.ndarray:
        """Return the average at each of these training rows over the bags without it."""
        numbers = np.arange(rows.start, rows.stop)
        result = self._of_small_bags_without()[rows]
        own = ranking.rows == numbers[:, None]
        place, found = own.argmax(axis=1), own.any(axis=1)
        for number, (others, without) in enumerate(self._without_each(ranking)):
            result[:, number] += np.where(found, without[np.arange(len(numbers)), place], others)
        return self._shaped(self._in_range(result))

    def extent(self, ranking: Ranking) -> None:
        """Return nothing: how far single bags are apart is not known."""

    def refuse_units_in_every_bag(self) -> None:
        """Refuse nothing: no row is in every bag."""

    # ----------------------------------------------------------------------------------- what is known of the targets

    @cached_property
    def _known(self) -> BagAverage:
        """What the targets say, whatever the bags are."""
        about = self.y, self.rule, self.classes, self.units
        return BagAverage(self.law, Bags([], self.n_samples), np.empty(0), False, *about)

    @property
    def bags(self) -> Bags:
        """No bags: none are drawn or listed."""
        return self._known.bags

    @property
    def n_samples(self) -> int:
        """The number of training rows."""
        return self.law.n_samples

    @property
    def interval(self) -> Interval | None:
        """The range to which predictions are clipped."""
        interval: Interval | None = self._known.interval
        return interval

    @property
    def range_changes(self) -> dict[int, Interval]:
        """The range without row i, for each row that changes it."""
        return self._known.range_changes

    @property
    def lonely_units(self) -> dict[int, np.ndarray]:
        """The rows that are the only ones of their class, each with equal probabilities for the other classes."""
        return self._known.lonely_units

    @property
    def empty_value(self) -> float:
        """What a bag without rows predicts in regression."""
        return float(self._known.empty_value)

    @property
    def empty_without_a_lonely_unit(self) -> float:
        """The share of bags without rows among those without a row that is the only one of its class."""
        return self._without_one.empty if self.lonely_units else 0.0

    def _is_in_range(self) -> bool:
        """Whether all targets are in the range, and without each row the others are."""
        assert self.interval is not None
        ordered, order = np.sort(self.y), np.argsort(self.y, kind="stable")
        if not self.interval[0] <= ordered[0] <= ordered[-1] <= self.interval[1]:
            return False
        return all(
            low <= ordered[1 if row == order[0] else 0] and ordered[-2 if row == order[-1] else -1] <= high
            for row, (low, high) in self.range_changes.items()
        )

    # ------------------------------------------------------------------------------------------------------- the search

    @cached_property
    def _structure(self) -> NeighboursStructure:
        X, names = as_matrix(self.X)
        return NeighboursStructure(self.learner, np.ascontiguousarray(X, dtype=float), self.y, self.classes, names, 1.0)

    @cached_property
    def _with_all(self) -> RankLaw:
        return RankLaw(self.law, int(self.learner.n_neighbors))

    @cached_property
    def _without_one(self) -> RankLaw:
        return RankLaw(self.law.without_one(), int(self.learner.n_neighbors))

    @property
    def _needed(self) -> int:
        """How many of the nearest rows count."""
        return max(1, min(self.n_samples, max(self._with_all.depth, self._without_one.depth + 1)))

    @property
    def _first_depth(self) -> int:
        """How many are searched at first: one more tells whether the last is the only one at its distance."""
        return min(self.n_samples, self._needed + 1)

    def _deeper(self, depth: int) -> int:
        return min(self.n_samples, 4 * depth)

    def _as_points(self, X: Any) -> np.ndarray:
        points: np.ndarray = check_array(X, dtype=np.float64, order="C")
        return points

    def _blocks(self, points: np.ndarray, some: slice, depth: int) -> Iterator[tuple[slice, Ranking]]:
        step = max(1, _LIMIT_BLOCK // depth)
        for first in range(some.start, some.stop, step):
            block = slice(first, min(first + step, some.stop))
            ranking = self._search(points[block], depth)
            if ranking is None:
                yield from self._blocks(points, block, self._deeper(depth))
            else:
                yield block, ranking

    def _search(self, points: np.ndarray, depth: int) -> Ranking | None:
        """The rows near some points; None if a row that was not found is as far as one that counts."""
        structure = self._structure
        distances, rows = structure.search(points, depth)
        if structure.method == "brute":  # equal distances may be rounded differently
            distances = _distances(points, structure.X, rows, structure.metric)
            order = np.argsort(distances, axis=1, kind="stable")
            distances, rows = np.take_along_axis(distances, order, axis=1), np.take_along_axis(rows, order, axis=1)
        if depth < self.n_samples and (distances[:, -1] == distances[:, self._needed - 1]).any():
            return None
        return Ranking.of(distances, rows)

    # ---------------------------------------------------------------------------------------------------- the averages

    @cached_property
    def _targets(self) -> np.ndarray:
        """The targets in a column; for a classifier, a column for each class."""
        return self.y[:, None].astype(float) if self.classes is None else one_hot(self.y, self.classes)

    @cached_property
    def _of_empty_bags(self) -> np.ndarray:
        if self.classes is None:
            return np.array([self.empty_value])
        return np.full(len(self.classes), 1 / len(self.classes))

    def _ranked_targets(self, ranking: Ranking) -> Iterator[np.ndarray]:
        """The targets at each place, one column after the other."""
        for column in self._targets.T:
            yield column[ranking.rows]

    def _prediction(self, ranking: Ranking) -> np.ndarray:
        law = self._with_all
        small = law.short * self._targets.mean(axis=0) + law.empty * self._of_empty_bags
        columns = [ranking.shared(values)[:, : law.depth] @ law.weights for values in self._ranked_targets(ranking)]
        return self._shaped(self._in_range(np.stack(columns, axis=-1) + small))

    def _of_small_bags_without(self) -> np.ndarray:
        """What bags with fewer than k rows add to the average without each row."""
        law, n = self._without_one, self.n_samples
        result = law.short * (self._targets.sum(axis=0) - self._targets) / (n - 1)
        empty = np.repeat(self._of_empty_bags[None, :], n, axis=0)
        for row, interval in self.range_changes.items():
            empty[row] = middle(interval)
        for row, equal in self.lonely_units.items():
            empty[row] = equal
        return np.asarray(result + law.empty * empty)

    def _without_each(self, ranking: Ranking) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """For each column, the average without a row that is far, and without the row at each place."""
        depth = ranking.rows.shape[1]
        weights = np.zeros(depth)
        weights[: self._without_one.depth] = self._without_one.weights[:depth]
        places = np.arange(depth)
        starts = np.broadcast_to(places, ranking.rows.shape) if ranking.starts is None else ranking.starts
        stops = starts + 1 if ranking.stops is None else ranking.stops
        total, size = np.append(0.0, np.cumsum(weights)), stops - starts
        for values in self._ranked_targets(ranking):
            shared = ranking.shared(values)
            nearer = _sums(shared * weights)
            farther = _sums((shared * np.append(0.0, weights[:-1]))[:, ::-1])[:, ::-1]
            without = np.take_along_axis(nearer, starts, axis=1) + np.take_along_axis(farther, stops, axis=1)
            if ranking.starts is not None:  # the rows that are as far are one fewer
                rest = (size * shared - values) / np.maximum(size - 1, 1)
                without = without + (total[stops - 1] - total[starts]) * rest
            yield nearer[:, -1], without

    def _in_range(self, average: np.ndarray) -> np.ndarray:
        """The average, which rounding may have put outside of the range by an ulp."""
        ends = (0.0, 1.0) if self.classes is not None else self.interval
        return average if ends is None else np.clip(average, *ends)

    def _shaped(self, columns: np.ndarray) -> np.ndarray:
        return columns[..., 0] if self.classes is None else columns


def _mean_square(ranking: Ranking, values: np.ndarray, law: RankLaw) -> np.ndarray:
    """The mean square over bags of the average of the neighbours' values, besides short bags."""
    shared, square = ranking.shared(values), ranking.shared(values**2)
    before = _sums(shared)[:, :-1]
    product, squared = shared * before, before**2
    if not law.repeats and ranking.starts is not None and ranking.stops is not None:
        # Two rows that are equally far are different rows: the mean product over such pairs.
        size = ranking.stops - ranking.starts
        pairs = (size * shared**2 - square) / np.maximum(size - 1, 1)
        product = shared * np.take_along_axis(before, ranking.starts, axis=1)
        product = product + (np.arange(values.shape[1]) - ranking.starts) * pairs
        squared = _sums(2 * product + square)[:, :-1]
    parts, depth = (square, shared**2, product, _sums(square)[:, :-1], squared), law.depth
    return np.asarray(sum(part[:, :depth] @ by for part, by in zip(parts, law.squares, strict=True)))


def _sums(values: np.ndarray) -> np.ndarray:
    """The sums over the first 0, 1, ... places."""
    return np.column_stack([np.zeros(len(values)), np.cumsum(values, axis=1)])


def _distances(points: np.ndarray, X: np.ndarray, rows: np.ndarray, metric: str) -> np.ndarray:
    """The distances, squared if Euclidean, feature by feature: the same bits for the same coordinates."""
    total = np.zeros(rows.shape)
    for feature in range(X.shape[1]):
        difference = X[rows, feature] - points[:, [feature]]
        total += np.abs(difference) if metric == "manhattan" else difference**2
    return total
