"""Compares the base model with the bagged model: how much both change without the same rows, at the same points."""

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from stablebag._checks import hold_read_only
from stablebag._wording import ROUNDING
from stablebag.measuring.leave_one_out import perturbations_of
from stablebag.measuring.perturbations import BagSpread, Perturbations
from stablebag.models.fitted import fitted
from stablebag.proving.scope import Quantity

_AT_ONCE = 2**22  # leave-one-out predictions in memory at the same time
_NOTHING = 1e-12  # relative to a mean square; smaller differences are rounding errors
_CLOSE = 0.6  # relative to a mean square: two standard errors of a close estimate (about a sixth of its root each)
_FAR = 2.0  # the bagged model must surely change this many times less before its change is estimated

REFITTED = "refitted"  # the bagged model was refitted without rows
ESTIMATED = "estimated"  # what refits would give was estimated
LIMIT = "limit"  # nothing was refitted; the change with infinitely many bags was estimated


class Ratio(NamedTuple):
    """How many times smaller the bagged model's changes are, by root mean square.

    Attributes
    ----------
    value : float
        The ratio; infinite if only the base model changes, NaN if neither does.
    low : float
        The smallest ratio when any one of the rows, or of the points, is taken out of the comparison. This is not a
        confidence interval: it shows whether the ratio rests on a single row or point.
    high : float
        The largest.
    """

    value: float
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class Comparison:
    """How much predictions of the base model and of the bagged model change without the same rows, at the same points.

    Returned by `study`; `Comparison.of` builds one from any two perturbations. If possible, it compares changes of the
    model with its actual bags, refitted without a row with the same seed. Their mean square is that of the model with
    infinitely many bags plus bagging noise.

    Attributes
    ----------
    base : Perturbations or None
        Changes of the base model, refitted without each of some rows; None if they were not measured.
    bagged : Perturbations
        Changes of the bagged model without the same rows at the same points, from the bags without each row.
    n_samples : int
        The number of all rows, or groups.
    reason : str, default=""
        A sentence that explains why the base model was not measured.
    refitted : Perturbations or None, default=None
        Changes of the bagged model, refitted without some of these rows; None if it was not refitted.
    spread : ndarray or None, default=None
        As in `MatchedRefits`: for the rows of `refitted` or, without refits, estimated for those of `bagged`. Bagging
        noise follows from it.
    weights : ndarray or None, default=None
        How many of the base model's rows each row of `refitted` represents; None means one each.
    """

    base: Perturbations | None
    bagged: Perturbations
    n_samples: int
    reason: str = ""
    refitted: Perturbations | None = None
    spread: np.ndarray | None = None
    weights: np.ndarray | None = None

    def __post_init__(self) -> None:
        hold_read_only(self)

    @classmethod
    def of(cls, base: Perturbations | None, bagged: Perturbations) -> "Comparison":
        """Compare two perturbations, by the rows of the base model."""
        n = len(bagged.rows) if bagged.scope is None else bagged.scope.n_samples
        return cls(base, bagged if base is None else select_rows(bagged, np.asarray(base.rows)), n)

    @property
    def how(self) -> str:
        """How the bagged model's change was found: "refitted", "estimated" or "limit".

        If it was refitted without only some of the rows, both models are compared by these rows. For an unstable model,
        the change without all rows is estimated instead: the bags give the change with infinitely many bags better than
        a few refits do, and the refits give the noise.
        """
        return self._how

    @cached_property
    def _how(self) -> str:
        is_whole = self.n_refitted >= len(self.bagged.rows)
        if not self._is_noisy or (self.refitted is not None and (is_whole or self.spread is None)):
            return REFITTED
        if self.spread is not None and self._is_well_estimated:
            return ESTIMATED
        return LIMIT if self.refitted is None else REFITTED

    @property
    def n_rows(self) -> int:
        """The number of rows, or groups, that are left out in turn to compare the models."""
        return self.n_refitted if self._is_by_refits else len(self.bagged.rows)

    @property
    def is_close(self) -> bool:
        """Whether the bagged model's change was measured, or estimated with a standard error of about a sixth."""
        return self.how != LIMIT or not self._is_noisy or self._error <= _CLOSE * self._bagged_square

    def at_least(self) -> float:
        """Return a lower bound of how many times smaller the bagged model's changes are, if only the limit is known."""
        before, shares = self._base
        return _root_of_ratio(float(np.average(before.mean(axis=1), weights=shares)), self._bagged_square + self._error)

    @property
    def n_refitted(self) -> int:
        """The number of these rows, or groups, for which the bagged model was refitted."""
        return 0 if self.refitted is None else len(self.refitted.rows)

    @property
    def n_points(self) -> int:
        """The number of points."""
        return len(self.bagged.prediction)

    @property
    def n_bags(self) -> int | None:
        """The number of bags, if they were drawn and it is known."""
        return None if self.bagged.bags is None else self.bagged.bags.n_bags

    def where(self) -> str:
        """Describe the numbers of rows and points in words."""
        noun, points = self.bagged.noun, "1 test point" if self.n_points == 1 else f"{self.n_points:,} test points"
        some = f"{self.n_rows:,} of the {noun.count(self.n_samples)}"
        if self.n_rows >= self.n_samples:
            some = f"each of the {noun.count(self.n_samples)}"
        return f"{some}, at {points}"

    def quantiles(self, delta: float | None) -> list[float]:
        """Return the quantile that at most a share `delta` of each model's changes exceeds, base model first.

        If `delta` is None, it is the largest change.
        The quantile is NaN if the changes were not measured one by one.
        """
        return [math.nan if each is None else self._seen(_quantile(*each, delta)) for each in self.distributions()]

    @property
    def base_rms(self) -> float:
        """The root mean square of the base model's changes, over rows and points; NaN if they were not measured."""
        if self.base is None:
            return math.nan
        values, weights = self._base
        return self._seen(self._unit * math.sqrt(float(np.average(values.mean(axis=1), weights=weights))))

    @property
    def base_changes(self) -> bool:
        """Whether any refit changes the base model at any point."""
        return self.base is not None and self._seen(_rms(self.base.values)) > 0

    @property
    def bagged_rms(self) -> float:
        """The root mean square of the bagged model's changes: refitted, estimated, or with infinitely many bags."""
        return self._seen(self._unit * math.sqrt(self._bagged_square))

    @property
    def limit_rms(self) -> float:
        """The root mean square of the changes with infinitely many bags, estimated; 0 if they are all noise."""
        total, noise = self._bagged_square, self._noise_square if self.how != LIMIT else 0.0
        return self._seen(self._unit * math.sqrt(total - noise)) if total - noise > _NOTHING * total else 0.0

    @property
    def noise(self) -> float:
        """The root mean square of bagging noise in `bagged_rms`, or in the measured changes if only the limit is known.

        It is 0 if no bags were drawn, or the noise is not known.
        """
        return self._seen(self._unit * math.sqrt(max(0.0, self._noise_square)))

    @property
    def scale(self) -> float:
        """The size of the predictions, for telling rounding errors from changes; 1 for probabilities."""
        return scale_of(self.bagged)

    def _seen(self, value: float) -> float:
        """Return the size of a change, or 0 if it is a rounding error."""
        return 0.0 if value <= ROUNDING * self.scale else value

    @property
    def n_changed(self) -> int:
        """The number of pairs of a row and a point for which the base model changes."""
        assert self.base is not None
        return int(np.sum(self.base.values > max(_NOTHING * _rms(self.base.values), ROUNDING * self.scale)))

    @property
    def still(self) -> float:
        """The share of these pairs for which the base model does not change; NaN if it was not measured."""
        return math.nan if self.base is None else 1 - self.n_changed / self.base.values.size

    def ratio(self) -> Ratio:
        """Return how many times smaller the bagged model's changes are, and without any one row or point."""
        assert self.base is not None
        before, shares = self._base
        value = _root_of_ratio(float(np.average(before.mean(axis=1), weights=shares)), self._bagged_square)
        others = [np.array([value])]
        after, weights, rows = self._squares
        if self.n_rows < self.n_samples:  # otherwise it applies to all rows
            if self.n_rows < 2:
                return Ratio(value, 0.0, math.inf)
            sums, left = after.mean(axis=1) * weights, weights.sum() - weights
            with np.errstate(invalid="ignore"):  # of one row there is nothing left
                means = dict(zip(rows.tolist(), (sums.sum() - sums) / left, strict=True))
            noise = self._noise_without_rows
            compared = rows if self._is_by_refits else self.base.rows
            rest = [
                self._cut(means.get(row, float(sums.sum() / weights.sum())), noise.get(row))
                for row in np.asarray(compared).tolist()
            ]
            others.append(_roots_of_ratios(_without_each(before.mean(axis=1), shares), np.array(rest)))
        if self.n_points > 1:
            means_of_points = _without_each(np.average(after, axis=0, weights=weights))
            rest = list(map(self._cut, means_of_points, self._noise_without_points))
            others.append(_roots_of_ratios(_without_each(np.average(before, axis=0, weights=shares)), np.array(rest)))
        known = np.concatenate(others)
        known = known[~np.isnan(known)]
        return Ratio(value, float(known.min()), float(known.max())) if len(known) else Ratio(value, math.nan, math.nan)

    def limit_ratio(self) -> float:
        """Return the ratio for infinitely many bags; it is infinite if the bagged change is all noise."""
        return self.base_rms / self.limit_rms if self.limit_rms else math.inf

    @property
    def _is_noisy(self) -> bool:
        return self.bagged.noise_known and float(self.bagged.noise.max(initial=0.0)) > 0

    @property
    def _is_by_refits(self) -> bool:
        """Whether both models are compared only by the rows with refits of the bagged model."""
        return self.refitted is not None and self.how == REFITTED

    @cached_property
    def _base(self) -> tuple[np.ndarray, np.ndarray]:
        """The base model's squared changes by rows and points, and the weights of the rows."""
        assert self.base is not None
        if self._is_by_refits and self.refitted is not None:
            chosen = select_rows(self.base, np.asarray(self.refitted.rows))
            return (chosen.values / self._unit) ** 2, self._shares
        return (self.base.values / self._unit) ** 2, np.ones(len(self.base.rows))

    @cached_property
    def _error(self) -> float:
        """About two standard errors of the squared change with infinitely many bags, as estimated from the bags.

        It assumes the worst case: the noise of a row is one normal number, the same at all points.
        """
        noise = float(((self.bagged.noise / self._unit) ** 2).mean())
        true = max(0.0, float(((self.bagged.values / self._unit) ** 2).mean()) - noise)
        return 2 * math.sqrt((2 * noise**2 + 4 * true * noise) / len(self.bagged.rows))

    @property
    def _is_well_estimated(self) -> bool:
        """Whether the estimate is close, and the bagged model clearly more stable than the base model."""
        after = ((self.bagged.values / self._unit) ** 2 - (self.bagged.noise / self._unit) ** 2).mean()
        noise, weights, _ = self._noises
        total = max(0.0, float(after)) + self._as_noise(float(np.average(noise.mean(axis=1), weights=weights)))
        if not self._error <= _CLOSE * total:
            return False
        if self.base is None:
            return True
        return float(((self.base.values / self._unit) ** 2).mean()) > _FAR**2 * (total + self._error)

    @cached_property
    def _unit(self) -> float:
        """A unit in which squares of changes neither overflow nor underflow."""
        parts = [_rms(self.bagged.values), _rms(self.bagged.noise) if self._is_noisy else 0.0]
        parts += [_rms(each.values) for each in (self.base, self.refitted) if each is not None]
        return max(parts) or 1.0

    @cached_property
    def _shares(self) -> np.ndarray:
        """The weights of the refitted rows."""
        return np.ones(self.n_refitted) if self.weights is None else np.asarray(self.weights, dtype=float)

    @cached_property
    def _noise_square(self) -> float:
        if self.how == LIMIT:
            return float(np.mean((self.bagged.noise / self._unit) ** 2))
        if self.spread is None or self.n_bags is None:
            return 0.0
        noise, weights, _ = self._noises
        return self._as_noise(float(np.average(noise.mean(axis=1), weights=weights)))

    @cached_property
    def _noises(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The squared noise of one bag by rows and points, the weights of the rows, and the rows.

        A change is a mean over bags, and `spread` is the root mean square of the terms. Their variance is its square
        minus the squared change; without refits, the change with infinitely many bags is used instead.
        """
        assert self.spread is not None
        spread = (self.spread / self._unit) ** 2
        if self.refitted is None:
            rows = np.asarray(self.bagged.rows)
            after = (self.bagged.values / self._unit) ** 2 - (self.bagged.noise / self._unit) ** 2
            return spread - after, np.ones(len(rows)), rows
        return spread - (self.refitted.values / self._unit) ** 2, self._shares, np.asarray(self.refitted.rows)

    def _as_noise(self, of_one_bag: float) -> float:
        """The squared noise of all bags."""
        assert self.n_bags is not None
        if self.refitted is None:
            return max(0.0, of_one_bag) / self.n_bags
        return of_one_bag / max(1, self.n_bags - 1)

    @property
    def _noise_without_rows(self) -> dict[Any, float]:
        """The squared noise after taking out each row that it is estimated from."""
        if self.how != ESTIMATED:
            return {}
        noise, weights, rows = self._noises
        sums, left = noise.mean(axis=1) * weights, weights.sum() - weights
        known = left > 0
        rest = (sums.sum() - sums[known]) / left[known]
        return dict(zip(rows[known].tolist(), map(self._as_noise, rest.tolist()), strict=True))

    @property
    def _noise_without_points(self) -> list[float | None]:
        """The squared noise after taking out each point; None if it is not estimated."""
        if self.how != ESTIMATED:
            return [None] * self.n_points
        noise, weights, _ = self._noises
        return [self._as_noise(mean) for mean in _without_each(np.average(noise, axis=0, weights=weights)).tolist()]

    @cached_property
    def _squares(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The bagged model's squared changes by rows and points, the weights of the rows, and the rows.

        Without refits, they are those with infinitely many bags: squares minus the noise of the reused bags. This
        estimate is unbiased, and therefore sometimes negative.
        """
        if self.refitted is not None and self.how == REFITTED:
            return (self.refitted.values / self._unit) ** 2, self._shares, np.asarray(self.refitted.rows)
        noise = (self.bagged.noise / self._unit) ** 2 if self._is_noisy else 0.0
        rows = np.asarray(self.bagged.rows)
        return (self.bagged.values / self._unit) ** 2 - noise, np.ones(len(rows)), rows

    @cached_property
    def _bagged_square(self) -> float:
        after, weights, _ = self._squares
        return self._cut(float(np.average(after.mean(axis=1), weights=weights)))

    def _cut(self, square: float, noise_square: float | None = None) -> float:
        """Return a mean square that is not negative; if refits are estimated, it includes their noise."""
        if self.refitted is not None and self.how == REFITTED:
            return max(0.0, square) if not math.isnan(square) else square
        noise = float(np.mean((self.bagged.noise / self._unit) ** 2)) if self._is_noisy else 0.0
        square = square if square > _NOTHING * max(abs(square) + noise, noise) else 0.0
        if self.how != ESTIMATED:
            return square
        return square + max(0.0, self._noise_square if noise_square is None else noise_square)

    def distributions(self) -> list[tuple[np.ndarray, np.ndarray] | None]:
        """Return the changes of both models with weights; None if they were not measured."""
        base = None
        if self.base is not None:
            squares, shares = self._base
            base = (self._unit * np.sqrt(squares).ravel(), np.repeat(shares, squares.shape[1]))
        if self.refitted is not None:
            values = self.refitted.values
            return [base, (values.ravel(), np.repeat(self._shares, values.shape[1]))]
        if self.how == ESTIMATED:
            return [base, None]
        return [base, (self.bagged.values.ravel(), np.ones(self.bagged.values.size))]


def are_of_classes(moved: Perturbations) -> bool:
    """Whether changes are of vectors of class probabilities."""
    return moved.scope is not None and moved.scope.quantity is Quantity.VECTOR


def scale_of(moved: Perturbations) -> float:
    """Return the size of predictions, for telling rounding errors from changes; 1 for probabilities."""
    return 1.0 if are_of_classes(moved) else float(np.abs(moved.prediction).max(initial=0.0))


def bagged_by(model: Any, X: Any, rows: np.ndarray) -> Perturbations:
    """Return how much some rows change the predictions of a fitted model, as `leave_one_out` does for all rows.

    Points are taken in blocks, to save the memory for the other rows.
    """
    parts, size = [], len(model.units_) * fitted(model).n_classes
    step = max(1, _AT_ONCE // size)
    for _, raw in fitted(model).raw_blocks(X):
        for first in range(0, raw.shape[1], step):
            some = raw[:, first : first + step]
            parts.append(select_rows(perturbations_of(fitted(model).average, some), rows))
    one, spreads = parts[0], [part.bags for part in parts if part.bags is not None]
    together = BagSpread(np.concatenate([bags.deviation for bags in spreads]), None, spreads[0].n_bags,
                         spreads[0].n_without)  # fmt: skip
    prediction = np.concatenate([part.prediction for part in parts])
    left_out = np.concatenate([part.left_out for part in parts], axis=1)
    scope = None if one.scope is None else replace(one.scope, n_points=len(prediction), points=None)
    return replace(one, prediction=prediction, left_out=left_out, bags=together, scope=scope)


def at_first_points(moved: Perturbations, n_points: int, like: Perturbations) -> Perturbations:
    """Return the perturbations of an unbagged learner at the first points, which are the points of `like`."""
    names = replace(moved.names, points=like.names.points)
    scope = moved.scope
    if scope is not None and like.scope is not None:
        scope = replace(scope, n_points=n_points, points=like.scope.points)
    parts = {"prediction": moved.prediction[:n_points], "left_out": moved.left_out[:, :n_points]}
    return replace(moved, **parts, scope=scope, names=names)


def select_rows(moved: Perturbations, rows: np.ndarray) -> Perturbations:
    """Return the perturbations by some of the rows, with their noise."""
    places = {row: place for place, row in enumerate(np.asarray(moved.rows).tolist())}
    chosen = np.array([places[row] for row in rows.tolist()], dtype=np.intp)
    if np.array_equal(chosen, np.arange(len(moved.rows))):
        return moved
    bags = moved.bags
    if bags is not None and bags.n_without is not None:
        bags = replace(bags, n_without=bags.n_without[moved.rows[chosen]])
    scope = None if moved.scope is None else replace(moved.scope, n_rows=len(chosen))
    distances = None if moved.distances is None else moved.distances[:, chosen]
    parts = {"left_out": moved.left_out[chosen], "rows": rows, "distances": distances, "bags": bags, "scope": scope}
    return replace(moved, **parts)


def _roots_of_ratios(before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """Ratios of root mean squares: infinite if only the first is positive, NaN if neither is."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.sqrt(np.maximum(before, 0.0) / after))


def _root_of_ratio(before: float, after: float) -> float:
    return float(_roots_of_ratios(np.array([before]), np.array([after]))[0])


def _without_each(values: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
    """For each value, the mean of the others; rounding errors become 0."""
    weights = np.ones(len(values)) if weights is None else weights
    parts = weights * values
    rest = parts.sum() - parts
    rest = np.where(np.abs(rest) > _NOTHING * np.abs(parts).sum(), rest, 0.0)
    with np.errstate(invalid="ignore", divide="ignore"):  # of one value there is nothing left
        return np.asarray(rest / (weights.sum() - weights))


def _quantile(values: np.ndarray, weights: np.ndarray, delta: float | None) -> float:
    """The smallest value that at most a share `delta` of all exceeds; the largest if delta is None."""
    if delta is None:
        return float(values.max())
    order = np.argsort(values)
    reached = np.cumsum(weights[order])
    return float(values[order][min(len(values) - 1, np.searchsorted(reached, (1 - delta) * reached[-1] * (1 - 1e-12)))])


def _rms(values: np.ndarray) -> float:
    unit = float(np.abs(values).max(initial=0.0)) or 1.0  # a unit whose squares stay floats
    return unit * math.sqrt(float(np.mean((values / unit) ** 2)))
