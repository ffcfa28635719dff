"""All bags of nearest neighbours at once: their average in closed form, with all rows and without each, at any n."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.utils import check_array

from stablebag.learning.averaging import BagAverage, middle
from stablebag.learning.kept_rows import packed, unpacked
from stablebag.learning.outputs import one_hot
from stablebag.learning.ranges import Interval, PredictionRange
from stablebag.learning.solvers.neighbours import NeighboursStructure, are_covered, check_neighbours
from stablebag.learning.solvers.rank_law import RankLaw
from stablebag.learning.solvers.solver import NotCovered
from stablebag.learning.solvers.tables import as_matrix
from stablebag.resampling.bags import Bags
from stablebag.resampling.scheme import ResolvedScheme
from stablebag.resampling.units import Units

NEIGHBOURS = (KNeighborsRegressor, KNeighborsClassifier)
_BLOCK = 2**22  # the number of neighbours that are held at once


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
        return {field.name: packed(getattr(self, field.name)) for field in fields(self)}  # the rest follows from them

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update({name: unpacked(value) for name, value in state.items()})

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
        step = max(1, _BLOCK // depth)
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
