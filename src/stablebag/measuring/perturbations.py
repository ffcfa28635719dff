"""Perturbations: how far each prediction changes when a row is left out."""

import json
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from stablebag._checks import (
    OtherFormatError,
    as_array,
    as_positions,
    as_reals,
    check_choice,
    check_delta,
    check_epsilon,
    check_integer,
    check_real,
    hold_read_only,
    refuse_format,
    refuse_type,
    refuse_value,
    shown,
    whole_rows,
)
from stablebag._wording import ROWS, Noun, number, preformatted
from stablebag._writing import whole, write_text
from stablebag.models.average import DenseLeftOut, LeftOut
from stablebag.proving.bounds import empty_bags_shift
from stablebag.proving.scope import Quantity, Rerun, Scope
from stablebag.resampling.units import Units, plain

# ---------------------------------------------------------------------------------------------------------------- names
# The labels of rows, points and classes, taken from data frames and groups.


@dataclass(frozen=True, eq=False)
class Names:
    """The labels of rows, points and classes; None where positions are used instead.

    Attributes
    ----------
    rows : ndarray or None
        One label for each row, or group, that can be left out.
    points : pandas Index or None
        The index of the frame of test points.
    classes : ndarray or None
        The class labels.
    """

    rows: np.ndarray | None = None
    points: Any = None
    classes: np.ndarray | None = None

    @classmethod
    def of(cls, units: Units, points: Any = None, classes: np.ndarray | None = None) -> "Names":
        """Return the names of these units, points and classes."""
        counted = units.ids.is_counted and not units.has_labels
        return cls(None if counted else units.labels, points, classes)

    def of_rows(self, rows: np.ndarray) -> np.ndarray:
        """Return the names of rows, or their positions if they have none."""
        return rows if self.rows is None else self.rows[rows]

    def to_dict(self) -> dict[str, list[Any]]:
        """Return the names as lists for JSON. Other types than numbers and strings become strings."""
        parts = {"rows": self.rows, "points": self.points, "classes": self.classes}
        return {name: [_written(value) for value in part] for name, part in parts.items() if part is not None}

    @classmethod
    def from_dict(cls, values: dict[str, list[Any]]) -> "Names":
        """Return the names that `to_dict` has written."""
        return cls(**{name: _array(part) for name, part in values.items()})


def _written(value: Any) -> Any:
    value = plain(value)
    return value if isinstance(value, bool | int | float | str) else str(value)


def _array(values: list[Any]) -> np.ndarray:
    if all(isinstance(value, int) and not isinstance(value, bool) for value in values):
        return np.array(values)
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


# ------------------------------------------------------------------------------------------------------------ summaries
# Summaries of the changes over rows. `pooled` holds the absolute changes, with rows along its first axis. Rows that are
# in the same bags share one line, and `counts` has the number of rows of each line; None stands for one each.


def share_above(pooled: np.ndarray, epsilon: float, counts: np.ndarray | None = None) -> np.ndarray:
    """Return the share of rows whose change is larger than epsilon.

    >>> share_above(np.array([0.1, 0.3, 0.2]), 0.15, np.array([6, 1, 1])).item()
    0.25
    """
    above = pooled > epsilon
    if counts is None:
        return np.asarray(above.mean(axis=0))
    return np.asarray(np.tensordot(counts, above, axes=1) / counts.sum())


def exceeded_by(allowed: int, pooled: np.ndarray, counts: np.ndarray | None = None) -> np.ndarray:
    """Return the smallest change that at most `allowed` rows exceed.

    >>> exceeded_by(1, np.array([0.1, 0.3, 0.2]), np.array([6, 1, 1])).item()
    0.2
    """
    n_rows = len(pooled) if counts is None else int(counts.sum())
    if allowed >= n_rows:
        return np.zeros(pooled.shape[1:])
    # The `allowed` largest changes may exceed it, so it is the next one in order.
    place = n_rows - 1 - allowed
    if counts is None:
        return np.asarray(np.partition(pooled, place, axis=0)[place])
    order = np.argsort(pooled, axis=0)
    line = np.sum(np.cumsum(counts[order], axis=0) <= place, axis=0, keepdims=True)
    return np.asarray(np.take_along_axis(pooled, np.take_along_axis(order, line, axis=0), axis=0)[0])


def shares_above(pooled: np.ndarray, levels: np.ndarray, counts: np.ndarray | None = None) -> np.ndarray:
    """Return the share of rows whose change is larger than each level, along the last axis.

    >>> shares_above(np.array([[0.1], [0.3], [0.2]]), np.array([0.0, 0.15, 0.3]), np.array([6, 1, 1])).tolist()
    [[1.0, 0.25, 0.0]]
    """
    columns, shares = pooled.reshape(len(pooled), -1), []
    for column in columns.T:
        order = np.argsort(column)
        below = np.arange(len(column) + 1) if counts is None else np.concatenate([[0], np.cumsum(counts[order])])
        shares.append((below[-1] - below[np.searchsorted(column[order], levels, side="right")]) / below[-1])
    return np.array(shares).reshape(*pooled.shape[1:], len(levels))


def norm(pooled: np.ndarray, order: float, counts: np.ndarray | None = None) -> np.ndarray:
    """Return (mean over rows of the change to the power of `order`)^(1 / order).

    If rounding errors of the changes are at most u, so are those of a norm of order one or more (Minkowski). Below
    order one, the mean of the powers can be off by u^order. Rows whose change is a rounding error then count, and two
    ways to compute the same changes may differ in the eighth digit.

    >>> norm(np.array([0.0, 0.5]), 1, np.array([9, 1])).item()
    0.05
    """
    largest: np.ndarray = pooled.max(axis=0)
    if math.isinf(order):
        return largest
    if order in (1, 2) and largest.max(initial=0.0) < 1e150 and largest.min(initial=1.0, where=largest > 0) > 1e-150:
        if order == 1:
            return _mean(pooled, counts)
        if counts is None:
            return np.asarray(np.sqrt(np.einsum("i...,i...->...", pooled, pooled) / len(pooled)))
        return np.asarray(np.sqrt(np.einsum("i,i...,i...->...", counts, pooled, pooled) / counts.sum()))
    unit = np.where(largest > 0, largest, 1.0)  # without it, powers of large order overflow
    return np.asarray(unit * _mean((pooled / unit) ** order, counts) ** (1 / order))


def _mean(pooled: np.ndarray, counts: np.ndarray | None) -> np.ndarray:
    if counts is None:
        return np.asarray(pooled.mean(axis=0))
    return np.asarray(np.tensordot(counts, pooled, axes=1) / counts.sum())


# ----------------------------------------------------------------------------------------------------------- bag spread


@dataclass(frozen=True, eq=False)
class BagSpread:
    """How much the predictions of the bags differ.

    Attributes
    ----------
    deviation : ndarray of shape (n_points,) or (n_points, n_classes)
        The standard deviation of the prediction over bags. It is an estimate if the bags were drawn at random.
    extent : ndarray of the same shape, or None
        The difference between the largest and the smallest prediction of a bag.
    n_bags : int or None
        The number of bags that were drawn; None if these are all possible bags.
    n_without : ndarray of shape (n_samples,) or None
        The number of drawn bags that do not contain each row; None if bags were not drawn.
    n_rows : ndarray of the same shape as n_without, or None
        The number of rows that each entry of `n_without` stands for; None stands for one each.
    """

    deviation: np.ndarray
    extent: np.ndarray | None = None
    n_bags: int | None = None
    n_without: np.ndarray | None = None
    n_rows: np.ndarray | None = None

    def __post_init__(self) -> None:
        hold_read_only(self)

    @classmethod
    def checked(cls, values: dict[str, Any], shape: tuple[int, ...]) -> "BagSpread":
        """Return the spread that was read from a file; values that cannot be measured raise an error."""
        spread = cls(**values)
        of_points = [spread.deviation] + ([] if spread.extent is None else [spread.extent])
        counts = [part for part in (spread.n_bags, spread.n_without, spread.n_rows) if part is not None]
        if not all(part.shape == shape and np.isfinite(part).all() and (part >= 0).all() for part in of_points):
            raise ValueError("The spread of the bags must be finite and nonnegative at each point")
        if not all(np.asarray(part).dtype.kind in "iu" and np.min(part) >= 1 for part in counts):
            raise ValueError("Numbers of bags and rows must be at least 1")
        return spread

    @property
    def noise(self) -> np.ndarray:
        """The bagging noise: the root mean square over rows of what drawing bags at random adds to a change."""
        if self.n_bags is None or self.n_without is None:
            return np.zeros(self.deviation.shape)
        variance = np.average(1 / self.n_without - 1 / self.n_bags, weights=self.n_rows)
        noise: np.ndarray = self.deviation * math.sqrt(variance)
        return noise


# -------------------------------------------------------------------------------------------------------- perturbations

_FORMAT = 1  # of saved files; a file without a format has this one
_MOST_STEPS = 1000
_BLOCK_BYTES = 2**26
_WAYS = {
    Rerun.REUSED: "reused bags",
    Rerun.ALL: "all bags",
    Rerun.ANEW: "refits",
    Rerun.ALONE: "refits",
    Rerun.REPLACED: "refits",
}


@dataclass(frozen=True, eq=False, repr=False)
class Perturbations:
    """How far predictions change when training rows are left out one at a time.

    Returned by `leave_one_out`, `leave_one_out_refit` and `replace_one_refit`. Each summary has one value per test
    point (and class), or one for all points with ``over_points="max"`` or ``"mean"``. The numbers are measured: they
    hold for these data and points. A `Certificate` holds for all. If bags were drawn at random, a part of each change
    is `noise`.

    Parameters
    ----------
    prediction : ndarray of shape (n_points,) or (n_points, n_classes)
        The prediction with all rows.
    left_out : ndarray of shape (n_rows, n_points) or (n_rows, n_points, n_classes), or LeftOut
        The prediction without each row. With very many rows, those in the same bags share one copy: use
        ``left_out[rows]`` for some of them. The full array is only made if it is small.
    rows : ndarray of shape (n_rows,), or range
        The training rows that were left out, by position.
    distances : ndarray of shape (n_repeats, n_rows, n_points) or None, default=None
        The absolute changes under several seeds of a randomized learner. `prediction` and `left_out` are then averages
        over the seeds.
    bags : BagSpread or None, default=None
        How much the bags differ, if bags were reused.
    noise_known : bool, default=True
        Whether the bagging noise is known. It is unknown if bags were drawn again for each row, or for a loss.
    scope : Scope or None, default=None
        What was measured, to compare it with what a certificate covers. None if unknown.
    names : Names or None, default=None
        The labels of rows, points and classes. None uses their positions.

    Examples
    --------
    >>> import numpy as np
    >>> from stablebag.measuring import Perturbations
    >>> changes = Perturbations(np.array([0.5]), np.array([[0.4], [0.8], [0.5], [0.6]]), rows=np.arange(4))
    >>> changes.values.ravel().round(3).tolist()
    [0.1, 0.3, 0.0, 0.1]
    >>> changes.delta(0.2), changes.epsilon(0.25).round(3), changes.max().round(3)
    (array([0.25]), array([0.1]), array([0.3]))
    """

    prediction: np.ndarray
    left_out: Any
    rows: np.ndarray | range
    distances: np.ndarray | None = None
    bags: BagSpread | None = None
    noise_known: bool = True
    scope: Scope | None = None
    names: Names = None  # type: ignore[assignment]  # made below
    _lines: LeftOut = field(init=False, repr=False)  # `left_out`, whether dense or shared between rows

    def __post_init__(self) -> None:
        object.__setattr__(self, "prediction", as_reals(self.prediction, "prediction", "Perturbations"))
        if self.distances is not None:
            object.__setattr__(self, "distances", as_reals(self.distances, "distances", "Perturbations"))
        if not isinstance(self.rows, range):
            rows = as_positions(self.rows, "rows", "Perturbations", "the numbers of the rows that were left out")
            object.__setattr__(self, "rows", rows)
        lines = self.left_out
        if not isinstance(lines, LeftOut):
            lines = DenseLeftOut(as_reals(lines, "left_out", "Perturbations"), self.rows)
        object.__setattr__(self, "left_out", lines.by_rows)
        object.__setattr__(self, "_lines", lines)
        hold_read_only(self)
        if self.names is None:
            object.__setattr__(self, "names", Names())
        if self.prediction.ndim not in (1, 2):
            raise refuse_value("prediction", "Perturbations", "one- or two-dimensional", self.prediction.shape)
        expected = (len(self.rows), *self.prediction.shape)
        if self.left_out.shape != expected:
            reason = "it has the prediction without each row, so its shape is (len(rows), *prediction.shape)."
            raise refuse_value("left_out", "Perturbations", f"of shape {expected}", self.left_out.shape, reason)
        # The extremes are finite only if all are.
        of_points = {"The prediction": self.prediction, "A prediction without some row": self._extremes}
        if self.distances is not None:
            of_points["A distance"] = self.distances.max(axis=(0, 1), initial=0.0)
        for of_what, values in of_points.items():
            if not np.isfinite(values).all():
                point = int(np.argwhere(~np.isfinite(values))[0][0])
                raise ValueError(
                    f"{of_what} at point {point} is NaN or infinite, so no change can be computed. Clip predictions "
                    "with prediction_range, for example FixedRange(0, 100)."
                )

    # ----------------------------------------------------------------------------------------------------- measurements

    @property
    def noun(self) -> Noun:
        """The word for what was left out: row or group."""
        return ROWS if self.scope is None else self.scope.noun

    @property
    def differences(self) -> np.ndarray:
        """The prediction with all rows minus the one without row i; positive if the row pulls the prediction up."""
        signed: np.ndarray = self.prediction - np.asarray(self.left_out)
        return signed

    @property
    def values(self) -> np.ndarray:
        """The absolute changes L_i of each prediction, in the shape of `left_out`."""
        mean: np.ndarray = np.abs(self.differences) if self.distances is None else self.distances.mean(axis=0)
        return mean

    def delta(self, epsilon: float, over_points: str | None = None) -> Any:
        """Return the share of rows that change the prediction by more than `epsilon`.

        Parameters
        ----------
        epsilon : float
            A change, in the units of the prediction.
        over_points : {"max", "mean"} or None, default=None
            How to summarize over points; None returns one value per point.

        Returns
        -------
        ndarray or float
        """
        epsilon = check_epsilon(epsilon, "Perturbations.delta") + self._rounding
        return _summary(self._by_points(lambda pooled: share_above(pooled, epsilon, self._counts)), over_points)

    def worst_case_delta(self, epsilon: float, over_points: str | None = None) -> Any:
        """Return the largest probability, over rows, that leaving out the row changes the prediction by over `epsilon`.

        This is delta in the paper's Definition 3: the probability is over the seed of a randomized learner, and must be
        small for *every* row. It is measured as the share of repeats, which is 0 or 1 without repeats.

        Parameters
        ----------
        epsilon : float
            A change, in the units of the prediction.
        over_points : {"max", "mean"} or None, default=None
            As in `delta`.

        Returns
        -------
        ndarray or float
        """
        epsilon = check_epsilon(epsilon, "Perturbations.worst_case_delta") + self._rounding

        def largest_chance(pooled: np.ndarray) -> np.ndarray:
            n_repeats = 1 if self.distances is None else len(self.distances)
            repeats = (pooled > epsilon).reshape(n_repeats, -1, *pooled.shape[1:])
            return np.asarray(repeats.mean(axis=0).max(axis=0))

        return _summary(self._by_points(largest_chance), over_points)

    def epsilon(self, delta: float, over_points: str | None = None) -> Any:
        """Return the smallest change that at most a share `delta` of the rows exceeds.

        Parameters
        ----------
        delta : float
            A fraction of the training rows, in [0, 1].
        over_points : {"max", "mean"} or None, default=None
            As in `delta`.

        Returns
        -------
        ndarray or float
        """
        allowed = whole_rows(check_delta(delta, "Perturbations.epsilon"), self._n_pooled)
        return _summary(self._by_points(lambda pooled: exceeded_by(allowed, pooled, self._counts)), over_points)

    def curve(self, over_points: str | None = "max") -> tuple[np.ndarray, np.ndarray]:
        """Return delta as a function of epsilon.

        Parameters
        ----------
        over_points : {"max", "mean"} or None, default="max"
            As in `delta`; None returns one column per point.

        Returns
        -------
        epsilon : ndarray of shape (n_steps,)
            Zero, and the changes at which delta drops; if there are more than 1,000, then 1,000 spread evenly.
        delta : ndarray of shape (n_steps,) or (n_steps, n_points)
            The share of rows that change the prediction by more than epsilon.
        """
        epsilon = self._levels()
        levels = epsilon + self._rounding
        delta = np.moveaxis(self._by_points(lambda pooled: shares_above(pooled, levels, self._counts)), -1, 0)
        return epsilon, np.stack([_summary(share, over_points) for share in delta])

    def mean(self, over_points: str | None = None) -> Any:
        """Return the mean change over rows.

        Parameters
        ----------
        over_points : {"max", "mean"} or None, default=None
            As in `delta`.

        Returns
        -------
        ndarray or float
        """
        return self.norm(1, over_points)

    def max(self, over_points: str | None = None) -> Any:
        """Return the largest change over rows.

        Parameters
        ----------
        over_points : {"max", "mean"} or None, default=None
            As in `delta`.

        Returns
        -------
        ndarray or float
        """
        return self.norm(math.inf, over_points)

    def norm(self, order: float, over_points: str | None = None) -> Any:
        """Return (mean of L_i^order)^(1 / order) over rows.

        Parameters
        ----------
        order : float
            A positive number: 1 for the mean, 2 for the root mean square, ``math.inf`` for the largest change. Below 1,
            rounding errors weigh heavily, and only a few digits are reliable.
        over_points : {"max", "mean"} or None, default=None
            As in `delta`.

        Returns
        -------
        ndarray or float
        """
        order = check_real(order, "order", "Perturbations.norm", open_low=True)
        return _summary(self._by_points(lambda pooled: norm(pooled, order, self._counts)), over_points)

    def in_sample(self) -> np.ndarray:
        """Return how far each row changes the prediction at itself. The points must be all training rows, in order."""
        if self.scope is not None and self.scope.grouping is not None:
            raise ValueError(
                f"Perturbations.in_sample needs single rows, but here {self.noun.plural} of several rows were left "
                "out. Fit without groups."
            )
        rows, places = np.asarray(self.rows), np.arange(len(self.rows))
        if len(self.prediction) <= rows.max():
            raise ValueError(
                f"Perturbations.in_sample needs the training rows as points, but row {rows.max()} is not among the "
                f"{len(self.prediction)} points. Pass all training rows as X."
            )
        if self.distances is not None:
            repeated: np.ndarray = self.distances[:, places, rows].mean(axis=0)
            return repeated
        return np.asarray(np.abs(self.prediction[rows] - np.asarray(self.left_out)[places, rows]))

    def in_sample_delta(self, epsilon: float) -> float:
        """Return the share of rows that change the prediction at that row by more than `epsilon`.

        Parameters
        ----------
        epsilon : float
            A change, in the units of the prediction.

        Returns
        -------
        float
        """
        epsilon = check_epsilon(epsilon, "Perturbations.in_sample_delta")
        return float(np.mean(self.in_sample() > epsilon + self._rounding))

    def distribution(self, point: int | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Return the absolute changes at one point, or at all points together, with their counts, for histograms.

        Parameters
        ----------
        point : int or None, default=None
            The position of the test point; None pools all points.

        Returns
        -------
        distances : ndarray
            The absolute changes; for a classifier, of all classes.
        counts : ndarray of int, of the same length
            The number of rows for each; it is 1, unless rows in the same bags share an entry.
        """
        if point is not None:
            point = check_integer(point, "point", "Perturbations.distribution", minimum=0)
            if point >= len(self.prediction):
                expected = f"less than the number of points, {len(self.prediction)}"
                raise refuse_value("point", "Perturbations.distribution", expected, point)
        points = slice(None) if point is None else slice(point, point + 1)
        values = self._distances(points).reshape(self._n_lines, -1)
        counts = np.ones(len(values), dtype=np.int64) if self._counts is None else self._counts
        return values[counts > 0].ravel(), np.repeat(counts[counts > 0], values.shape[1])

    def most_influential(self, k: int = 5) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows, or groups, that change each prediction most, and by how much, with sign.

        Effects below `noise` are mostly noise: with other bags, other rows would come first. More bags reduce it.

        Parameters
        ----------
        k : int, default=5
            The number of rows to return; if there are fewer rows, all of them.

        Returns
        -------
        rows : ndarray of shape (n_points, k)
            The row IDs or group labels, most influential first; for a classifier, by the Euclidean norm over classes.
            Row IDs are those given to `fit`, or the index of the training frame, or positions. `forget` takes the same
            row IDs.
        effects : ndarray of shape (n_points, k) or (n_points, k, n_classes)
            The prediction with all rows minus the one without this row; positive if the row pulls the prediction up.
        """
        k = min(check_integer(k, "k", "Perturbations.most_influential", minimum=1), len(self.rows))

        def first(values: np.ndarray) -> np.ndarray:
            size = values if values.ndim == 2 else np.sqrt((values**2).sum(axis=-1))
            return np.argsort(-size, axis=0, kind="stable")[: k + 1].T  # one more: the line for no bag may have no row

        order = np.concatenate([first(values) for _, values in self._blocks(pooled=False)])
        rows, lines = (
            np.stack(part) for part in zip(*(self._lines.first_rows(each, k) for each in order), strict=True)
        )
        return self.names.of_rows(rows), self.prediction[:, None] - self._lines.pick(lines)

    def row_norms(self) -> np.ndarray:
        """Return the root mean square over points of the changes due to each row; shape (n_rows,)."""
        largest = max(float(np.max(values)) for _, values in self._blocks(pooled=False)) or 1.0
        total: Any = 0.0
        for _, values in self._blocks(pooled=False):
            total = total + ((values / largest) ** 2).reshape(len(values), -1).sum(axis=1)
        return np.asarray(self._lines.spread_to_rows(np.sqrt(total / self.prediction.size) * largest))

    def flips(self, rule: Callable[[np.ndarray], np.ndarray] | None = None) -> np.ndarray:
        """Return which rows change a classifier's decision at which points when they are left out.

        This is measured. For what is guaranteed about label sets, see their `guarantee`.

        Parameters
        ----------
        rule : callable or None, default=None
            ``rule(scores)`` returns the chosen labels as a boolean array of the same shape (n_points, n_classes). Two
            decisions differ if they have no label in common. None stands for the class with the highest probability, as
            in `predict`; it changes if it no longer has the highest probability, up to rounding.

        Returns
        -------
        ndarray of bool, shape (n_rows, n_points)

        Examples
        --------
        >>> import numpy as np
        >>> from stablebag import inflated_argmax
        >>> from stablebag.measuring import Perturbations
        >>> left_out = np.array([[[0.45, 0.55]], [[0.7, 0.3]]])
        >>> changes = Perturbations(np.array([[0.52, 0.48]]), left_out, rows=np.arange(2))
        >>> changes.flips().ravel(), changes.flips(lambda scores: inflated_argmax(scores, 0.1)).ravel()
        (array([ True, False]), array([False, False]))
        """
        if rule is not None and not callable(rule):
            raise refuse_type("rule", "Perturbations.flips", "None or a function of scores", rule)
        if self.prediction.ndim != 2 or self._columns == "output":
            raise ValueError(
                "Perturbations.flips needs the class probabilities of a classifier, but these are the predictions of a "
                "regressor, a loss or a distance. Call flips on what leave_one_out returns for a classifier."
            )
        found = [flipped(self.prediction[points], self._lines.lines(points), rule) for points in self._point_blocks()]
        return np.asarray(self._lines.spread_to_rows(np.concatenate(found, axis=1)))

    # --------------------------------------------------------------------------------------------- losses and distances

    def loss(self, function: Callable[[np.ndarray, np.ndarray], Any], y_test: Any) -> "Perturbations":
        """Return how far a loss at the points changes.

        Parameters
        ----------
        function : callable
            ``function(prediction, y_test)`` returns the loss at each point, elementwise.
        y_test : array-like of shape (n_points,)
            The targets of the points.

        Returns
        -------
        Perturbations
            The changes of the loss. If the points are the training rows, `in_sample` then returns how much the loss at
            each row depends on that row.
        """
        y_test = as_array(y_test, "y_test", "Perturbations.loss", "one target for each point")
        if y_test.shape[:1] != self.prediction.shape[:1]:
            expected = f"of shape ({len(self.prediction)},), one target for each point"
            raise refuse_value("y_test", "Perturbations.loss", expected, y_test.shape)
        if not callable(function):
            expected = "a function of predictions and targets"
            raise refuse_type("function", "Perturbations.loss", expected, function)
        if self.distances is not None:
            raise ValueError("A loss cannot be computed for several seeds together. Measure with n_repeats=1.")
        try:
            with_all = _losses(function, self.prediction, y_test)
        except (TypeError, ValueError, ArithmeticError) as error:
            kind = TypeError if isinstance(error, TypeError) else ValueError  # a subclass may take other arguments
            raise kind(f"The loss function failed on the predictions and y_test: {error}.") from error
        if with_all.shape[:1] != y_test.shape[:1]:
            raise ValueError(
                f"The loss function must return one value for each of the {len(y_test)} points, not their average. It "
                f"returned an array of shape {with_all.shape}."
            )
        lines = np.stack([_losses(function, prediction, y_test) for prediction in self._all_lines()])
        without = self._lines.replaced(lines, with_all)
        scope = None if self.scope is None else replace(self.scope, quantity=Quantity.LOSS, range_length=None)
        known = self.noise_known and (self.bags is None or self.bags.n_bags is None)
        names = replace(self.names, classes=None)
        return Perturbations(with_all, without, self.rows, noise_known=known, scope=scope, names=names)

    def in_norm(self) -> "Perturbations":
        """Return one change per point: the Euclidean distance between vectors of probabilities, or of outputs.

        A distance is never negative, so `differences` holds the distances, and `prediction` is zero.
        """
        if self.prediction.ndim == 1:
            raise ValueError(
                "Perturbations.in_norm needs several classes or outputs, but each point has one number. Use `values`."
            )
        distances = None if self.distances is None else np.sqrt((self.distances**2).sum(axis=-1))
        moved = np.sqrt(((self.prediction - self._all_lines()) ** 2).sum(axis=-1))
        lengths = -moved if distances is None else -distances.mean(axis=0)
        bags = self.bags
        if bags is not None:
            bags = replace(bags, deviation=np.sqrt((bags.deviation**2).sum(axis=-1)), extent=None)
        scope = self.scope
        if self._columns == "output":
            scope = replace(scope, quantity=Quantity.OUTPUTS)  # type: ignore[type-var]
        elif scope is not None:
            sizes = self.prediction.shape[1], scope.n_lost
            to_vector = empty_bags_shift(1.0, *sizes, vector=True) / empty_bags_shift(1.0, *sizes)  # docs/proofs.md, 9
            shift = scope.shift * to_vector
            scope = replace(scope, quantity=Quantity.VECTOR, range_length=None, shift=shift)
        zeros, names = np.zeros(len(self.prediction)), replace(self.names, classes=None)
        left_out = self._lines.replaced(lengths, zeros)
        return replace(
            self, prediction=zeros, left_out=left_out, distances=distances, bags=bags, scope=scope, names=names
        )

    # ------------------------------------------------------------------------------------------------ noise (estimated)

    @property
    def noise(self) -> np.ndarray:
        """The bagging noise, as the root mean square over rows; zero if no bags were drawn at random.

        It is an estimate. If k_i of B bags do not contain row i, the difference between the two averages has variance
        s^2 (1 / k_i - 1 / B), where s^2 is the variance over bags.
        """
        if not self.noise_known:
            raise ValueError(
                "The bagging noise is unknown, because bags were drawn again for each row or because this is a loss. "
                "Use the noise of what leave_one_out returns for the fitted model."
            )
        return np.zeros(self.prediction.shape) if self.bags is None else self.bags.noise

    def debiased_rms(self, over_points: str | None = None) -> Any:
        """Return the root mean square over rows with the bagging noise removed; zero if there is only noise.

        Parameters
        ----------
        over_points : {"max", "mean"} or None, default=None
            As in `delta`. Here "mean" is the root of the mean square over points. It removes the noise from all points
            together, which is most precise.

        Returns
        -------
        ndarray or float
        """
        if over_points is not None:
            check_choice(over_points, "over_points", "Perturbations.debiased_rms", ("max", "mean"))
        return self._without_noise(self.norm(2), over_points)

    def _without_noise(self, root: np.ndarray, over_points: str | None = None) -> Any:
        noise = self.noise
        unit = max(float(root.max(initial=0.0)), float(noise.max(initial=0.0))) or 1.0  # avoids overflow of squares
        square = (root / unit) ** 2 - (noise / unit) ** 2
        if over_points == "mean":
            return np.sqrt(np.maximum(square.mean(axis=0), 0.0)) * unit
        return _summary(np.sqrt(np.maximum(square, 0.0)) * unit, over_points)

    @property
    def estimated_scale(self) -> np.ndarray:
        """Twice the standard deviation over bags, R*(D, x) of Theorem 12: estimated from the bags that were drawn."""
        if self.bags is None:
            raise ValueError(
                "Perturbations.estimated_scale needs reused bags. Use leave_one_out with a fitted bagged model."
            )
        scale: np.ndarray = 2 * self.bags.deviation
        return scale

    @property
    def estimated_range(self) -> np.ndarray:
        """The range of the predictions over the bags that were drawn. Over all possible bags it can only be larger."""
        if self.bags is None or self.bags.extent is None:
            raise ValueError(
                "Perturbations.estimated_range needs reused bags. Use leave_one_out with a fitted bagged model."
            )
        return self.bags.extent

    # ------------------------------------------------------------------------------------------------------------ files

    def to_frame(self) -> Any:
        """Return a pandas DataFrame with one line per training row and point (and class).

        Rows, groups, points and classes keep the labels of the data; without labels, they have their positions. The
        columns are the prediction with all rows and without this one, the difference, and its absolute value.
        """
        import pandas as pd

        left_out = np.asarray(self.left_out)  # raises an error if there are very many rows
        heads = [self.noun.singular, "point", self._columns][: self.left_out.ndim]
        named = (self.names.points, self.names.classes)
        counted = (range(size) for size in self.prediction.shape)
        index = [
            self.names.of_rows(np.asarray(self.rows)),
            *(b if a is None else a for a, b in zip(named, counted, strict=False)),
        ]
        frame = pd.MultiIndex.from_product([list(level) for level in index], names=heads).to_frame(index=False)
        frame["prediction"] = np.broadcast_to(self.prediction, self.left_out.shape).ravel()
        frame["left_out"] = left_out.ravel()
        frame["difference"] = self.differences.ravel()
        frame["distance"] = self.values.ravel()
        return frame

    def save(self, path: str | Path) -> None:
        """Save to a ``.npz`` or ``.json`` file.

        Parameters
        ----------
        path : str or Path
            The file to write. It is written completely or not at all.
        """
        values = {part.name: getattr(self, part.name) for part in fields(self) if part.init}
        spread = values.pop("bags")
        values |= self._lines.to_arrays()
        values |= {} if spread is None else {f"bags.{name}": value for name, value in vars(spread).items()}
        values["scope"] = None if self.scope is None else json.dumps(self.scope.to_dict())
        values["names"] = json.dumps(self.names.to_dict())
        values = {"format": _FORMAT} | {name: value for name, value in values.items() if value is not None}
        if _ending(path) == ".npz":
            with whole(path) as partial:
                np.savez_compressed(partial, **values)
        else:
            plain = {name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in values.items()}
            write_text(path, json.dumps(plain))

    @classmethod
    def load(cls, path: str | Path) -> "Perturbations":
        """Load what `save` has written.

        Parameters
        ----------
        path : str or Path
            The file to read.

        Returns
        -------
        Perturbations
        """
        ending = _ending(path)
        if not Path(path).is_file():
            raise FileNotFoundError(f"There is no file {shown(str(path))}. Check the path.")
        try:
            return cls._read(Path(path), ending)
        except (MemoryError, OtherFormatError):
            raise
        except Exception as error:  # a damaged file can raise anything
            why = str(error).strip().split("\n")[0].rstrip(".") or type(error).__name__
            raise ValueError(
                f"The file {shown(str(path))} is damaged or was not written by Perturbations.save ({why}). Measure and "
                "save again."
            ) from error

    @classmethod
    def _read(cls, path: Path, ending: str) -> "Perturbations":
        if ending == ".npz":
            with path.open("rb") as file, np.load(file) as archive:
                arrays = {name: archive[name] for name in archive.files}
        else:
            arrays = {name: np.array(value) for name, value in json.loads(path.read_text()).items()}
        # Numbers and strings come back as arrays without axes.
        values = {name: value if value.ndim else value.item() for name, value in arrays.items()}
        refuse_format(values.pop("format", _FORMAT), _FORMAT, f"The file {shown(str(path))}")
        spread = {name.removeprefix("bags."): values.pop(name) for name in list(values) if name.startswith("bags.")}
        if "scope" in values:
            values["scope"] = Scope.from_dict(json.loads(values["scope"]))
        if "names" in values:
            values["names"] = Names.from_dict(json.loads(values["names"]))
        values = LeftOut.from_arrays(values)
        return cls(**values, bags=BagSpread.checked(spread, values["prediction"].shape) if spread else None)

    def _repr_html_(self) -> str:
        """Return the repr for notebooks."""
        return preformatted(repr(self))

    def __repr__(self) -> str:
        n_points, of = len(self.prediction), "point" if self.prediction.ndim == 1 else self._columns
        several = "" if of == "point" else f", {self.prediction.shape[1]} {'classes' if of == 'class' else 'outputs'}"
        points = f"{n_points:,} point{'' if n_points == 1 else 's'}{several}"
        way = "" if self.scope is None else f" ({_WAYS[self.scope.rerun]})"
        left_out = self.noun.count(len(self.rows))
        if self.scope is not None and self.scope.n_rows is not None:
            left_out = f"{len(self.rows):,} of {self.noun.count(self.scope.n_samples)}"
        how = "replaced" if self.scope is not None and self.scope.rerun is Rerun.REPLACED else "left out"
        how += "" if len(self.rows) == 1 else " one at a time"
        table = self._table()
        width = max(22, *map(len, table))
        lines = [
            f"Perturbations: {left_out} {how}, {points}{way}",
            f"{'':<{width}}{f'average {of}':>16}{f'worst {of}':>14}",
        ]
        for name, value in table.items():
            lines.append(f"{name:<{width}}{number(np.mean(value)):>16}{number(np.max(value)):>14}")
        if not self.noise_known:
            lines.append("  bagging noise: unknown")
        return "\n".join(lines)

    # ------------------------------------------------------------------------------------------------------- details

    def _table(self) -> dict[str, np.ndarray]:
        """Return the summaries that `repr` shows, in one pass over the points."""
        allowed = whole_rows(0.05, self._n_pooled)

        def all_at_once(pooled: np.ndarray) -> np.ndarray:
            norms = [norm(pooled, order, self._counts) for order in (1, math.inf, 2)]
            return np.stack([norms[0], exceeded_by(allowed, pooled, self._counts), *norms[1:]], axis=-1)

        many = self.noun.plural
        names = (f"mean over {many}", "95th percentile", "largest", "root mean square")
        table = dict(zip(names, np.moveaxis(self._by_points(all_at_once), -1, 0), strict=True))
        if self.bags is not None and self.bags.n_bags is not None:
            table["  bagging noise (estimated)"] = self.noise
            table["  without bagging noise"] = self._without_noise(table["root mean square"])
        return {name: np.where(value <= self._rounding, 0.0, value) for name, value in table.items()}

    @property
    def _columns(self) -> str:
        """The word for the columns of the prediction."""
        return "output" if self.scope is not None and self.scope.quantity is Quantity.OUTPUT else "class"

    @property
    def _n_pooled(self) -> int:
        return len(self.rows) * (1 if self.distances is None else len(self.distances))

    @property
    def _counts(self) -> np.ndarray | None:
        """The number of rows of each line; None stands for one each."""
        return self._lines.counts

    @property
    def _n_lines(self) -> int:
        return len(self.rows) if self._counts is None else len(self._counts)

    @cached_property
    def _rounding(self) -> float:
        """The rounding error of sums over all bags: a change at most this far above epsilon counts as equal to it."""
        ends = (float(np.abs(array).max(initial=0.0)) for array in (self.prediction, self._extremes))
        n_bags = None if self.bags is None else self.bags.n_bags
        return max(8, 4 * (n_bags or 0)) * float(np.finfo(float).eps * max(ends))

    @cached_property
    def _extremes(self) -> np.ndarray:
        """The largest absolute prediction without a row at each point, computed in blocks to save memory."""
        blocks = (self._lines.lines(points) for points in self._point_blocks())
        ends = [np.maximum(some.max(axis=0, initial=0.0), -some.min(axis=0, initial=0.0)) for some in blocks]
        return np.concatenate([np.empty((0, *self.prediction.shape[1:])), *ends])

    def _all_lines(self) -> np.ndarray:
        """Return the predictions without each row; rows in the same bags share one line."""
        self._lines.refuse_if_large(self._n_lines)
        return np.asarray(self._lines.lines(slice(None)))

    def _distances(self, points: slice) -> np.ndarray:
        """Return the absolute change of each line at some points, averaged over repeats."""
        if self.distances is not None:
            return np.asarray(self.distances[:, :, points].mean(axis=0))
        self._lines.refuse_if_large(self._n_lines, len(self.prediction[points]))
        return np.asarray(np.abs(self.prediction[points] - self._lines.lines(points)))

    def _point_blocks(self) -> Iterator[slice]:
        """Yield blocks of points, so that no second array of rows by points is held in memory."""
        n_lines = self._n_lines * (1 if self.distances is None else len(self.distances))
        step = max(1, _BLOCK_BYTES // max(1, 8 * n_lines * math.prod(self.prediction.shape[1:])))
        for first in range(0, len(self.prediction), step):
            yield slice(first, min(first + step, len(self.prediction)))

    def _blocks(self, *, pooled: bool = True) -> Iterator[tuple[slice, np.ndarray]]:
        """Yield the absolute changes by blocks of points.

        If pooled, rows and repeats are along the first axis, so that the share of repeats estimates a probability over
        seeds. Otherwise, changes are averaged over repeats.
        """
        for points in self._point_blocks():
            if self.distances is None:
                # Sums over rows are several times faster with the rows of a point next to each other in memory.
                lines = np.moveaxis(self._lines.lines(points), 0, -1)
                moved = np.empty(lines.shape)
                np.subtract(self.prediction[points][..., None], lines, out=moved)
                yield points, np.moveaxis(np.abs(moved, out=moved), -1, 0)
            else:
                repeats = self.distances[:, :, points]
                yield points, repeats.reshape(-1, *repeats.shape[2:]) if pooled else repeats.mean(axis=0)

    def _by_points(self, function: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        """Apply a function that reduces the pooled changes over rows (first axis) to each block of points."""
        return np.concatenate([function(pooled) for _, pooled in self._blocks()])

    def _levels(self) -> np.ndarray:
        """Return zero and the changes at which delta drops at some point: all of them, or an even selection."""
        n_lines = self._n_lines * (1 if self.distances is None else len(self.distances))
        few = n_lines * self.prediction.size <= _BLOCK_BYTES // 8

        def some(pooled: np.ndarray) -> np.ndarray:
            if few:
                return np.unique(pooled)
            places = np.linspace(0, len(pooled) - 1, _MOST_STEPS).round().astype(int)
            return np.unique(np.sort(pooled, axis=0)[places])

        steps = np.unique(np.concatenate([some(pooled) for _, pooled in self._blocks()]))
        if len(steps) > _MOST_STEPS:
            steps = steps[np.linspace(0, len(steps) - 1, _MOST_STEPS).round().astype(int)]
        return np.unique(np.concatenate([[0.0], steps]))


def flipped(
    prediction: np.ndarray, left_out: np.ndarray, rule: Callable[[np.ndarray], np.ndarray] | None = None
) -> np.ndarray:
    """Return which rows change the decision at which points, as `Perturbations.flips` does.

    >>> flipped(np.array([[0.6, 0.4]]), np.array([[[0.5, 0.5]], [[0.4, 0.6]]])).ravel()
    array([False,  True])
    """
    if rule is not None:
        with_all = rule(prediction)
        return np.array([~(with_all & rule(without)).any(axis=1) for without in left_out])
    rounding = 1e-12 * max(1.0, float(np.abs(left_out).max(initial=0.0)))  # error of sums over a thousand bags
    best = prediction.argmax(axis=1)
    own = np.take_along_axis(left_out, best[None, :, None], axis=2)[..., 0]
    behind: np.ndarray = left_out.max(axis=2) - own > rounding
    return behind


def _losses(
    function: Callable[[np.ndarray, np.ndarray], Any], prediction: np.ndarray, y_test: np.ndarray
) -> np.ndarray:
    losses = np.asarray(function(prediction, y_test))
    if losses.dtype.kind == "c":
        raise TypeError("it returned complex numbers instead of real ones")
    return losses.astype(float)


def _summary(values: np.ndarray, over_points: str | None) -> Any:
    if over_points is None:
        return values
    how = check_choice(
        over_points, "over_points", "Perturbations", ("max", "mean"), "use None for one value per point."
    )
    return values.max(axis=0) if how == "max" else values.mean(axis=0)


def _ending(path: str | Path) -> str:
    if not isinstance(path, str | Path):
        raise refuse_type("path", "Perturbations", "a string or a Path", path)
    ending = Path(path).suffix
    if ending not in (".npz", ".json"):
        raise refuse_value("path", "Perturbations", "a file name that ends in .npz or .json", str(path))
    return ending
