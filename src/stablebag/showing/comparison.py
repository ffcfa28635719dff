"""The base learner beside its bagged version: moved by the same left-out rows, at the same points."""

import math
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from stablebag._wording import ROUNDING, number
from stablebag.measuring.bag_spread import BagSpread
from stablebag.measuring.leave_one_out import perturbations_of
from stablebag.measuring.perturbations import Perturbations
from stablebag.proving.scope import Quantity

_AT_ONCE = 2**22  # predictions without rows that are held at once
SURE = 2.0  # standard errors that a difference must exceed to be called one


class Line(NamedTuple):
    """A line of the table of moves.

    Attributes
    ----------
    what : str
        What the numbers are, and over what.
    base : float
        The base learner's; NaN if it was not measured.
    bagged : float
        The bagged model's.
    noise : float
        For a number that is below the noise of the bags, that noise; otherwise NaN.
    """

    what: str
    base: float
    bagged: float
    noise: float = math.nan

    def shown(self) -> tuple[str, str]:
        """Return both numbers as they are read: nothing that is below the noise is written as 0."""
        bagged = number(self.bagged) if math.isnan(self.noise) else f"below the noise ({self.noise:.2g})"
        return number(self.base), bagged


class Ratio(NamedTuple):
    """How many times smaller the bagged model's moves are, by root mean square and without the noise of its bags.

    Attributes
    ----------
    value : float
        The ratio; infinite if the bagged model's moves are all noise, NaN if neither model moves.
    low : float
        The lower end of an interval of about 95 %; 0 if there is none.
    high : float
        The upper end; infinite if there is none.
    """

    value: float
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class Comparison:
    """How far the same left-out rows move the base learner and the bagged model at the same points.

    Made by `study`; `Comparison.of` makes one from any two perturbations.

    Attributes
    ----------
    base : Perturbations or None
        The base learner's, by refitting without each of some rows; None if it was not measured.
    bagged : Perturbations
        The bagged model's, by the same rows at the same points.
    n_samples : int
        The number of rows, or units, of which these are some.
    reason : str, default=""
        A sentence about why the base learner was not measured, if there is a reason.
    """

    base: Perturbations | None
    bagged: Perturbations
    n_samples: int
    reason: str = ""

    @classmethod
    def of(cls, base: Perturbations | None, bagged: Perturbations) -> "Comparison":
        """Compare two perturbations; of the bagged model's, those by the rows of the base learner's are taken."""
        n = len(bagged.rows) if bagged.scope is None else bagged.scope.n_samples
        return cls(base, bagged if base is None else of_rows(bagged, np.asarray(base.rows)), n)

    @property
    def n_rows(self) -> int:
        """How many rows, or units, were left out in turn."""
        return len(self.bagged.rows)

    @property
    def n_points(self) -> int:
        """At how many points."""
        return len(self.bagged.prediction)

    def where(self) -> str:
        """Say which moves these are: of how many rows, at how many points."""
        noun, points = self.bagged.noun, "1 test point" if self.n_points == 1 else f"{self.n_points:,} test points"
        some = f"{self.n_rows:,} of the {noun.count(self.n_samples)}"
        if self.n_rows >= self.n_samples:
            some = f"each of the {noun.count(self.n_samples)}"
        return f"{some}, at {points}"

    def lines(self, delta: float = 0.05) -> list[Line]:
        """Return the lines of a table. All are over rows and points together: none is an average of quantiles."""
        moved = [np.full(1, math.nan) if self.base is None else self.base.values.ravel(), self.bagged.values.ravel()]
        noise, clean = self.noise, self.bagged_rms
        below = noise if clean == 0 and noise > 0 else math.nan
        moved = [np.where(np.abs(each) <= ROUNDING * self.scale, 0.0, each) for each in moved]
        most = (float(np.quantile(each, 1 - delta, method="inverted_cdf")) for each in moved)
        rows = [
            Line("typical move (root mean square), without the bags' noise", self.base_rms, clean, below),
            Line(f"{1 - delta:.0%} of all moves are at most, with it", *most),
            Line("largest move of all, with it", *(float(each.max()) for each in moved)),
        ]  # fmt: skip
        return rows if noise == 0 else [*rows, Line("noise of the bags in a move (root mean square)", math.nan, noise)]

    @property
    def base_rms(self) -> float:
        """The root mean square of the base learner's moves, over rows and points; NaN if there are none."""
        return math.nan if self.base is None else self._seen(_rms(self.base.values))

    @property
    def bagged_rms(self) -> float:
        """The root mean square of the bagged model's moves, without the noise of its bags; 0 if they are all noise."""
        together = self._seen(_rms(self.bagged.values))
        unit = max(together, self.noise) or 1.0
        square = (together / unit) ** 2 - (self.noise / unit) ** 2
        # What is left of two numbers that agree but for rounding is nothing.
        return math.sqrt(square) * unit if square > 1e-12 else 0.0

    @property
    def noise(self) -> float:
        """The root mean square of the noise of the bags in a move; 0 if none were drawn or it is not known."""
        return self._seen(_rms(self.bagged.noise)) if self.bagged.noise_known else 0.0

    @property
    def scale(self) -> float:
        """The size of the predictions, on which a rounding error is small; 1 for probabilities."""
        scope = self.bagged.scope
        if scope is not None and scope.quantity is Quantity.VECTOR:
            return 1.0
        return float(np.abs(self.bagged.prediction).max(initial=0.0))

    def _seen(self, value: float) -> float:
        """A size of moves; 0 if it is a rounding error."""
        return value if value > ROUNDING * self.scale else 0.0

    @property
    def still(self) -> float:
        """The share of moves in which the base learner does not move at all; NaN if it was not measured."""
        return math.nan if self.base is None else float(np.mean(self.base.values <= 1e-12 * _rms(self.base.values)))

    def ratio(self) -> Ratio:
        """Return how many times smaller the bagged model's moves are, with an interval of about 95 %.

        The interval is that of the logarithm of the ratio of two mean squares, by the delta method. Their covariance is
        that of the means over rows plus that of the means over points, as both were drawn. If the bagged model's mean
        square, without the noise of its bags, is not surely above zero, there is only a lower end: the base learner's
        lower end over the bagged model's upper end.
        """
        assert self.base is not None
        unit = max(_rms(self.base.values), _rms(self.bagged.values)) or 1.0
        before = (self.base.values / unit) ** 2
        after = (self.bagged.values / unit) ** 2 - (self.noise / unit) ** 2
        both = np.stack([before, after])
        mean, rows, points = both.mean(axis=(1, 2)), both.mean(axis=2), both.mean(axis=1)
        spread = _covariance(rows) + _covariance(points)
        first, second = float(mean[0]), float(mean[1])
        if first == 0:
            return Ratio(math.nan if self.bagged_rms == 0 else 0.0, 0.0, math.nan if self.bagged_rms == 0 else 0.0)

        value = self.base_rms / self.bagged_rms if self.bagged_rms else math.inf
        if second <= SURE * math.sqrt(spread[1, 1]):
            lowest = math.log(first) - SURE * math.sqrt(spread[0, 0]) / first
            most = max(second, 0.0) + SURE * math.sqrt(spread[1, 1])
            return Ratio(value, math.sqrt(math.exp(lowest) / most) if most else math.inf, math.inf)
        relative = np.array([1 / first, -1 / second])
        error = SURE * math.sqrt(max(0.0, float(relative @ spread @ relative))) / 2  # of the root
        return Ratio(value, value * math.exp(-error), value * math.exp(error))


def bagged_by(model: Any, X: Any, rows: np.ndarray) -> Perturbations:
    """Return how far some rows move the predictions of a fitted model, as `leave_one_out` does for all of them.

    Points are taken in blocks, so that many of them take no memory for the other rows.
    """
    parts, size = [], len(model.units_) * (1 if model.average_.classes is None else len(model.average_.classes))
    step = max(1, _AT_ONCE // size)
    for _, raw in model.raw_blocks(X):
        for first in range(0, raw.shape[1] if model.has_single_bags else len(raw), step):
            some = raw[:, first : first + step] if model.has_single_bags else raw[first : first + step]
            parts.append(of_rows(perturbations_of(model.average_, some), rows))
    one, spreads = parts[0], [part.bags for part in parts if part.bags is not None]
    together = BagSpread(np.concatenate([bags.deviation for bags in spreads]), None, spreads[0].n_bags,
                         spreads[0].n_without)  # fmt: skip
    prediction = np.concatenate([part.prediction for part in parts])
    left_out = np.concatenate([part.left_out for part in parts], axis=1)
    scope = None if one.scope is None else replace(one.scope, n_points=len(prediction), points=None)
    return replace(one, prediction=prediction, left_out=left_out, bags=together, scope=scope)


def at_first(moved: Perturbations, n_points: int, like: Perturbations) -> Perturbations:
    """Return the perturbations of a learner that is not bagged at the first points, which are those of `like`."""
    names = replace(moved.names, points=like.names.points)
    scope = moved.scope
    if scope is not None and like.scope is not None:
        scope = replace(scope, n_points=n_points, points=like.scope.points)
    parts = {"prediction": moved.prediction[:n_points], "left_out": moved.left_out[:, :n_points]}
    return replace(moved, **parts, scope=scope, names=names)  # type: ignore[arg-type]


def of_rows(moved: Perturbations, rows: np.ndarray) -> Perturbations:
    """Return the perturbations by some of the rows, with the noise that these have."""
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
    return replace(moved, **parts)  # type: ignore[arg-type]


def _covariance(means: np.ndarray) -> np.ndarray:
    """The covariance of two means over as many numbers; zero for one, about which nothing is known."""
    return np.cov(means) / means.shape[1] if means.shape[1] > 1 else np.zeros((2, 2))


def _rms(values: np.ndarray) -> float:
    unit = float(np.abs(values).max(initial=0.0)) or 1.0  # a unit whose squares stay floats
    return unit * math.sqrt(float(np.mean((values / unit) ** 2)))
