"""Perturbations: how far leaving out each row moves each prediction."""

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
# What rows, points and classes are called: the labels of data frames and of groups, in place of positions.


@dataclass(frozen=True, eq=False)
class Names:
    """The labels of what is left out, of the points and of the classes; None where they are only counted.

    Attributes
    ----------
    rows : ndarray or None
        One for each row, or unit, that can be left out.
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
        """Return the names of these units, with those of points and classes."""
        counted = units.ids.is_counted and not units.has_labels
        return cls(None if counted else units.labels, points, classes)

    def of_rows(self, rows: np.ndarray) -> np.ndarray:
        """Return what rows are called; without names, their positions."""
        return rows if self.rows is None else self.rows[rows]

    def to_dict(self) -> dict[str, list[Any]]:
        """Return them as lists that JSON takes; what is no number or text is written as one."""
        parts = {"rows": self.rows, "points": self.points, "classes": self.classes}
        return {name: [_written(value) for value in part] for name, part in parts.items() if part is not None}

    @classmethod
    def from_dict(cls, values: dict[str, list[Any]]) -> "Names":
        """Read back what `to_dict` returned."""
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
# Summaries over rows of how far they move predictions; a line of distances may stand for many rows that are alike.
#
# `pooled` has one line for each row, or for rows that are alike, along its first axis. `counts` says how many rows each
# line stands for; None is one each.


def share_above(pooled: np.ndarray, epsilon: float, counts: np.ndarray | None = None) -> np.ndarray:
    """Return the share of rows whose distance is more than epsilon.

    >>> share_above(np.array([0.1, 0.3, 0.2]), 0.15, np.array([6, 1, 1])).item()
    0.25
    """
    above = pooled > epsilon
    if counts is None:
        return np.asarray(above.mean(axis=0))
    return np.asarray(np.tensordot(counts, above, axes=1) / counts.sum())


def exceeded_by(allowed: int, pooled: np.ndarray, counts: np.ndarray | None = None) -> np.ndarray:
    """Return the smallest distance that at most so many rows exceed.

    >>> exceeded_by(1, np.array([0.1, 0.3, 0.2]), np.array([6, 1, 1])).item()
    0.2
    """
    n_rows = len(pooled) if counts is None else int(counts.sum())
    if allowed >= n_rows:
        return np.zeros(pooled.shape[1:])
    # The largest `allowed` may exceed it, so it is the next one in order; no more than these are strictly larger.
    place = n_rows - 1 - allowed
    if counts is None:
        return np.asarray(np.partition(pooled, place, axis=0)[place])
    order = np.argsort(pooled, axis=0)
    line = np.sum(np.cumsum(counts[order], axis=0) <= place, axis=0, keepdims=True)
    return np.asarray(np.take_along_axis(pooled, np.take_along_axis(order, line, axis=0), axis=0)[0])


def shares_above(pooled: np.ndarray, levels: np.ndarray, counts: np.ndarray | None = None) -> np.ndarray:
    """Return the shares of rows whose distance is more than each level, along the last axis.

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
    """Return (mean over rows of the distance to this power)^(1 / order).

    If no distance is off by more than u, through rounding, neither is a norm of order one or more (Minkowski). Of order
    below one, it is the mean of the powers that is off by u^order at most: rows whose distance is zero but for rounding
    count then, and two ways to work out the same distances may differ in the eighth digit.

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
    unit = np.where(largest > 0, largest, 1.0)  # in other units, powers of large order leave the range of floats
    return np.asarray(unit * _mean((pooled / unit) ** order, counts) ** (1 / order))


def _mean(pooled: np.ndarray, counts: np.ndarray | None) -> np.ndarray:
    if counts is None:
        return np.asarray(pooled.mean(axis=0))
    return np.asarray(np.tensordot(counts, pooled, axes=1) / counts.sum())


# ----------------------------------------------------------------------------------------------------------- bag spread
# `BagSpread`: how much the bags of an ensemble differ, and what of a perturbation is due to that.


@dataclass(frozen=True, eq=False)
class BagSpread:
    """How much the bags of an ensemble differ in their predictions.

    Attributes
    ----------
    deviation : ndarray of shape (n_points,) or (n_points, n_classes)
        The standard deviation of the prediction over bags; an estimate if the bags were drawn.
    extent : ndarray like deviation, or None
        The difference between the largest and the smallest prediction over bags.
    n_bags : int or None
        The number of bags that were drawn; None if they are all possible bags.
    n_without : ndarray of shape (n_samples,) or None
        The number of drawn bags that do not contain each row; None if bags were not drawn.
    n_rows : ndarray like n_without, or None
        How many rows each of these numbers is of; None if of one each.
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
        """Return what was read from a file, whose numbers must be such as can be measured."""
        spread = cls(**values)
        of_points = [spread.deviation] + ([] if spread.extent is None else [spread.extent])
        counts = [part for part in (spread.n_bags, spread.n_without, spread.n_rows) if part is not None]
        if not all(part.shape == shape and np.isfinite(part).all() and (part >= 0).all() for part in of_points):
            raise ValueError("the spread of the bags is no finite number at each point")
        if not all(np.asarray(part).dtype.kind in "iu" and np.min(part) >= 1 for part in counts):
            raise ValueError("bags or rows are counted by numbers below one")
        return spread

    @property
    def noise(self) -> np.ndarray:
        """The root mean square over rows of what drawing the bags at random adds to a perturbation."""
        if self.n_bags is None or self.n_without is None:
            return np.zeros(self.deviation.shape)
        variance = np.average(1 / self.n_without - 1 / self.n_bags, weights=self.n_rows)
        noise: np.ndarray = self.deviation * math.sqrt(variance)
        return noise


# -------------------------------------------------------------------------------------------------------- perturbations
# Perturbations: how far each training row moves each prediction, measured.

_FORMAT = 1  # of files; one that does not say is of the first
_MOST_STEPS = 1000
_BLOCK_BYTES = 2**26
_WAYS = {
    Rerun.REUSED: "reused bags",
    Rerun.ALL: "all bags",
    Rerun.ANEW: "refits",
    Rerun.ALONE: "refits",
    Rerun.REPLACED: "refits with {} replaced",
}


@dataclass(frozen=True, eq=False, repr=False)
class Perturbations:
    """The predictions at some points with all training rows and without each of them.

    Made by `leave_one_out` and its relatives. Every summary has one value per test point (and class), or one for all
    points with ``over_points="max"`` or ``"mean"``. What is measured here is about these data and these points; what
    holds for all is a `Certificate`. With bags drawn at random, a part of what is measured is their noise.

    Parameters
    ----------
    prediction : ndarray of shape (n_points,) or (n_points, n_classes)
        The prediction with all rows.
    left_out : ndarray of shape (n_rows, n_points) or (n_rows, n_points, n_classes), or LeftOut
        The prediction without each row. Of very many rows it is held once for all that are in the same bags; then
        ``left_out[rows]`` gives some of it, and the whole array is made where it is asked for and small.
    rows : ndarray of shape (n_rows,), or range
        The training rows that were left out.
    distances : ndarray of shape (n_repeats, n_rows, n_points) or None, default=None
        The distances under several seeds of a randomized learner; `prediction` and `left_out` are then averages over
        the seeds.
    bags : BagSpread or None, default=None
        How much the bags of an ensemble differ, if they were reused.
    noise_known : bool, default=True
        Whether the noise of drawing bags is known. It is not if bags were drawn anew for each row, or for a loss.
    scope : Scope or None, default=None
        What was measured, to compare it with what a certificate is about; None if that is not known.
    names : Names or None, default=None
        What rows, points and classes are called; without names they are counted.

    Examples
    --------
    >>> import numpy as np
    >>> from stablebag.measuring import Perturbations
    >>> moved = Perturbations(np.array([0.5]), np.array([[0.4], [0.8], [0.5], [0.6]]), rows=np.arange(4))
    >>> moved.values.ravel().round(3).tolist()
    [0.1, 0.3, 0.0, 0.1]
    >>> moved.delta(0.2), moved.epsilon(0.25).round(3), moved.max().round(3)
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
    _lines: LeftOut = field(init=False, repr=False)  # `left_out` behind one set of methods, dense or sparse

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
            raise refuse_value("prediction", "Perturbations", "of one or two axes", self.prediction.shape)
        expected = (len(self.rows), *self.prediction.shape)
        if self.left_out.shape != expected:
            reason = "it is one prediction without each row, shaped like the one with all rows."
            raise refuse_value("left_out", "Perturbations", f"of shape {expected}", self.left_out.shape, reason)
        of_points = {"prediction": self.prediction, "left_out": self._extremes}  # finite if all are
        if self.distances is not None:
            of_points["distances"] = self.distances.max(axis=(0, 1), initial=0.0)
        for name, values in of_points.items():
            if not np.isfinite(values).all():
                point = int(np.argwhere(~np.isfinite(values))[0][0])
                raise ValueError(f"The {name} at point {point} is NaN or infinite. Clip predictions to a range.")

    # ------------------------------------------------------------------------------------------------ what is measured

    @property
    def noun(self) -> Noun:
        """What was left out: rows, or units such as patients."""
        return ROWS if self.scope is None else self.scope.noun

    @property
    def differences(self) -> np.ndarray:
        """The prediction with all rows minus that without row i: positive if the row pulls it up."""
        signed: np.ndarray = self.prediction - np.asarray(self.left_out)
        return signed

    @property
    def values(self) -> np.ndarray:
        """L_i, how far row i moves each prediction; shaped like `left_out`."""
        mean: np.ndarray = np.abs(self.differences) if self.distances is None else self.distances.mean(axis=0)
        return mean

    def delta(self, epsilon: float, over_points: str | None = None) -> Any:
        """Return the share of rows that move the prediction by more than `epsilon`.

        Parameters
        ----------
        epsilon : float
            A perturbation, in the units of the prediction.
        over_points : {"max", "mean"} or None, default=None
            How to summarize over points; None returns one value per point.

        Returns
        -------
        ndarray or float
        """
        epsilon = check_epsilon(epsilon, "Perturbations.delta") + self._rounding
        return _summary(self._by_points(lambda pooled: share_above(pooled, epsilon, self._counts)), over_points)

    def worst_case_delta(self, epsilon: float, over_points: str | None = None) -> Any:
        """Return the largest chance, over rows, that leaving out a row moves the prediction by more than `epsilon`.

        This is delta in the paper's Definition 3, where the chance is over the seed of a randomized learner and must be
        small for *every* row. It is measured by the share of the repeats, which is 0 or 1 without repeats.

        Parameters
        ----------
        epsilon : float
            A perturbation, in the units of the prediction.
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
        """Return the smallest perturbation that at most a share `delta` of the rows exceeds.

        Parameters
        ----------
        delta : float
            A share of the training rows, in [0, 1].
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
            Zero, and the distances at which some share changes; 1,000 of them, evenly spread, if there are more.
        delta : ndarray of shape (n_steps,) or (n_steps, n_points)
            The share of rows that move the prediction by more than that.
        """
        epsilon = self._levels()
        levels = epsilon + self._rounding
        delta = np.moveaxis(self._by_points(lambda pooled: shares_above(pooled, levels, self._counts)), -1, 0)
        return epsilon, np.stack([_summary(share, over_points) for share in delta])

    def mean(self, over_points: str | None = None) -> Any:
        """Return the mean over rows.

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
        """Return the largest perturbation over rows: the worst case.

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
            Positive; 1 is the mean, 2 the root mean square, ``math.inf`` the largest. Below 1, distances that are zero
            but for rounding count: few digits hold.
        over_points : {"max", "mean"} or None, default=None
            As in `delta`.

        Returns
        -------
        ndarray or float
        """
        order = check_real(order, "order", "Perturbations.norm", open_low=True)
        return _summary(self._by_points(lambda pooled: norm(pooled, order, self._counts)), over_points)

    def in_sample(self) -> np.ndarray:
        """Return how far each row moves the prediction *at that row*; the points must be the training rows in order."""
        if self.scope is not None and self.scope.grouping is not None:
            raise ValueError(
                f"What is left out here are {self.noun.plural}, which have several rows each. In-sample perturbations "
                "are of single rows: fit without groups."
            )
        rows, places = np.asarray(self.rows), np.arange(len(self.rows))
        if len(self.prediction) <= rows.max():
            raise ValueError(
                f"In-sample perturbations need the training rows as points, but there are {len(self.prediction)} "
                f"points and a row {rows.max()}. Ask for the predictions at all training rows."
            )
        if self.distances is not None:
            repeated: np.ndarray = self.distances[:, places, rows].mean(axis=0)
            return repeated
        return np.asarray(np.abs(self.prediction[rows] - np.asarray(self.left_out)[places, rows]))

    def in_sample_delta(self, epsilon: float) -> float:
        """Return the share of rows that move the prediction at that row by more than `epsilon`.

        Parameters
        ----------
        epsilon : float
            A perturbation, in the units of the prediction.

        Returns
        -------
        float
        """
        epsilon = check_epsilon(epsilon, "Perturbations.in_sample_delta")
        return float(np.mean(self.in_sample() > epsilon + self._rounding))

    def distribution(self, point: int | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Return the distances at one point, or at all together, and how many rows each is of, for histograms.

        Parameters
        ----------
        point : int or None, default=None
            The test point; None counts all points together.

        Returns
        -------
        distances : ndarray
            For a classifier, of all classes.
        counts : ndarray of int, of the same length
            One each, unless rows that are in the same bags are held together.
        """
        if point is not None:
            point = check_integer(point, "point", "Perturbations.distribution", minimum=0)
            if point >= len(self.prediction):
                expected = f"below {len(self.prediction)}, the number of points"
                raise refuse_value("point", "Perturbations.distribution", expected, point)
        points = slice(None) if point is None else slice(point, point + 1)
        values = self._distances(points).reshape(self._n_lines, -1)
        counts = np.ones(len(values), dtype=np.int64) if self._counts is None else self._counts
        return values[counts > 0].ravel(), np.repeat(counts[counts > 0], values.shape[1])

    def most_influential(self, k: int = 5) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows, or units, that move each prediction most, and how far, with sign.

        Effects below `noise` are mostly noise: with other bags, other rows would come first. More bags reduce it.

        Parameters
        ----------
        k : int, default=5
            The number of rows; all of them if there are fewer.

        Returns
        -------
        rows : ndarray of shape (n_points, k)
            What these rows or units are called, the most influential first; for a classifier, by Euclidean norm over
            classes. Rows are called by the names given to `fit`, or by the index of the training frame, or else by
            their positions; `forget` takes the same names.
        effects : ndarray of shape (n_points, k) or (n_points, k, n_classes)
            The prediction with all rows minus that without this row: positive if the row pulls it up.
        """
        k = min(check_integer(k, "k", "Perturbations.most_influential", minimum=1), len(self.rows))

        def first(values: np.ndarray) -> np.ndarray:
            size = values if values.ndim == 2 else np.sqrt((values**2).sum(axis=-1))
            return np.argsort(-size, axis=0, kind="stable")[: k + 1].T  # a line may have no row, if none is in no bag

        order = np.concatenate([first(values) for _, values in self._blocks(pooled=False)])
        rows, lines = (
            np.stack(part) for part in zip(*(self._lines.first_rows(each, k) for each in order), strict=True)
        )
        return self.names.of_rows(rows), self.prediction[:, None] - self._lines.pick(lines)

    def row_norms(self) -> np.ndarray:
        """Return the root mean square over points of how far each row moves the predictions; shape (n_rows,)."""
        largest = max(float(np.max(values)) for _, values in self._blocks(pooled=False)) or 1.0
        total: Any = 0.0
        for _, values in self._blocks(pooled=False):
            total = total + ((values / largest) ** 2).reshape(len(values), -1).sum(axis=1)
        return np.asarray(self._lines.spread_to_rows(np.sqrt(total / self.prediction.size) * largest))

    def flips(self, rule: Callable[[np.ndarray], np.ndarray] | None = None) -> np.ndarray:
        """Return which rows flip a classifier's decision at which points when they are left out.

        Measured, not proved: what is proved about label sets is in their `guarantee`.

        Parameters
        ----------
        rule : callable or None, default=None
            ``rule(scores)`` returns which labels are chosen, as bool of the same shape (n_points, n_classes); two
            decisions differ if no label is in both. None is the class with the highest probability, as `predict` has
            it, which is flipped if it is no longer among the highest, up to rounding.

        Returns
        -------
        ndarray of bool, shape (n_rows, n_points)

        Examples
        --------
        >>> import numpy as np
        >>> from stablebag import inflated_argmax
        >>> from stablebag.measuring import Perturbations
        >>> left_out = np.array([[[0.45, 0.55]], [[0.7, 0.3]]])
        >>> moved = Perturbations(np.array([[0.52, 0.48]]), left_out, rows=np.arange(2))
        >>> moved.flips().ravel(), moved.flips(lambda scores: inflated_argmax(scores, 0.1)).ravel()
        (array([ True, False]), array([False, False]))
        """
        if rule is not None and not callable(rule):
            raise refuse_type("rule", "Perturbations.flips", "a function of scores, or None for the highest", rule)
        if self.prediction.ndim != 2 or self._columns == "output":
            raise ValueError(
                "Decisions are between classes, and here is one number at each point, or one for each output. Use a "
                "classifier's probabilities, as leave_one_out measures them."
            )
        found = [flipped(self.prediction[points], self._lines.lines(points), rule) for points in self._point_blocks()]
        return np.asarray(self._lines.spread_to_rows(np.concatenate(found, axis=1)))

    # ----------------------------------------------------------------------------- made from it: losses and distances

    def loss(self, function: Callable[[np.ndarray, np.ndarray], Any], y_test: Any) -> "Perturbations":
        """Return the perturbations of a loss at the points.

        Parameters
        ----------
        function : callable
            ``function(prediction, y_test)`` returns the loss at each point, elementwise.
        y_test : array-like of shape (n_points,)
            The targets of the points.

        Returns
        -------
        Perturbations
            Those of the loss in place of the prediction. At the training rows themselves, `in_sample` then returns how
            much each row's own loss depends on it.
        """
        y_test = as_array(y_test, "y_test", "Perturbations.loss", "one target for each point")
        if y_test.shape[:1] != self.prediction.shape[:1]:
            reason = "it is one target for each point."
            raise refuse_value("y_test", "Perturbations.loss", f"{len(self.prediction)} targets", y_test.shape, reason)
        if not callable(function):
            expected = "a function of predictions and targets"
            raise refuse_type("function", "Perturbations.loss", expected, function)
        if self.distances is not None:
            raise ValueError("A loss cannot be computed from distances under several seeds. Measure with n_repeats=1.")
        try:
            with_all = _losses(function, self.prediction, y_test)
        except (TypeError, ValueError, ArithmeticError) as error:
            kind = TypeError if isinstance(error, TypeError) else ValueError  # its own may take other arguments
            raise kind(f"The loss cannot be worked out with these targets: {error}.") from error
        if with_all.shape[:1] != y_test.shape[:1]:
            raise ValueError(f"The loss must be elementwise: one value for each of {len(y_test)} points, no average.")
        lines = np.stack([_losses(function, prediction, y_test) for prediction in self._all_lines()])
        without = self._lines.replaced(lines, with_all)
        scope = None if self.scope is None else replace(self.scope, quantity=Quantity.LOSS, range_length=None)
        known = self.noise_known and (self.bags is None or self.bags.n_bags is None)
        names = replace(self.names, classes=None)
        return Perturbations(with_all, without, self.rows, noise_known=known, scope=scope, names=names)

    def in_norm(self) -> "Perturbations":
        """Return the Euclidean distances between vectors of probabilities, or of outputs, in place of one for each.

        A distance has no sign: `differences` are the distances themselves, and the prediction is zero.
        """
        if self.prediction.ndim == 1:
            raise ValueError("There is one number at each point, whose distance is already in `values`.")
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

    # ---------------------------------------------------------------------------- noise and scale, which are estimates

    @property
    def noise(self) -> np.ndarray:
        """The root mean square over rows of the noise of drawing bags at random; zero if none were drawn.

        It is an estimate: with B bags of which k_i do not contain row i, the difference between the two averages has
        variance s^2 (1 / k_i - 1 / B), where s^2 is the variance over bags.
        """
        if not self.noise_known:
            raise ValueError(
                "The noise of the bags is not known here: they were drawn anew for each row, or these are the "
                "perturbations of a loss. Use leave_one_out on a fitted model, before any loss."
            )
        return np.zeros(self.prediction.shape) if self.bags is None else self.bags.noise

    def debiased_rms(self, over_points: str | None = None) -> Any:
        """Return the root mean square over rows without the noise of the bags; zero if there is nothing but noise.

        Parameters
        ----------
        over_points : {"max", "mean"} or None, default=None
            As in `delta`. "mean" is the root of the mean square over points, which removes the noise from all points
            together and is the most precise.

        Returns
        -------
        ndarray or float
        """
        if over_points is not None:
            check_choice(over_points, "over_points", "Perturbations.debiased_rms", ("max", "mean"))
        return self._without_noise(self.norm(2), over_points)

    def _without_noise(self, root: np.ndarray, over_points: str | None = None) -> Any:
        noise = self.noise
        unit = max(float(root.max(initial=0.0)), float(noise.max(initial=0.0))) or 1.0  # its squares stay floats
        square = (root / unit) ** 2 - (noise / unit) ** 2
        if over_points == "mean":
            return np.sqrt(np.maximum(square.mean(axis=0), 0.0)) * unit
        return _summary(np.sqrt(np.maximum(square, 0.0)) * unit, over_points)

    @property
    def estimated_scale(self) -> np.ndarray:
        """Twice the standard deviation over bags, R*(D, x) of Theorem 12: estimated from the bags that were drawn."""
        if self.bags is None:
            raise ValueError("There are no bags to estimate a scale from. Use leave_one_out on a bagged model.")
        scale: np.ndarray = 2 * self.bags.deviation
        return scale

    @property
    def estimated_range(self) -> np.ndarray:
        """The range of the predictions over the bags that were drawn; over all bags it can only be larger."""
        if self.bags is None or self.bags.extent is None:
            raise ValueError("There are no bags to estimate a range from. Use leave_one_out on a bagged model.")
        return self.bags.extent

    # ------------------------------------------------------------------------------------------------- in and out again

    def to_frame(self) -> Any:
        """Return a pandas DataFrame with one line per row, point (and class): left out, difference, distance.

        Rows, or units, points and classes are called as in the training data, in the frame of test points and by their
        labels; what has no name is counted.
        """
        import pandas as pd

        left_out = np.asarray(self.left_out)  # refused if there are very many rows
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
        """Write everything to one file, a ``.npz`` or a ``.json`` file depending on its ending; whole or not at all.

        Parameters
        ----------
        path : str or Path
            The file to write.
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
        """Read what `save` wrote.

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
            raise FileNotFoundError(f"There is no file {shown(str(path))} to read.")
        try:
            return cls._read(Path(path), ending)
        except (MemoryError, OtherFormatError):
            raise
        except Exception as error:  # whatever a damaged file can be read as
            why = str(error).strip().split("\n")[0].rstrip(".") or type(error).__name__
            raise ValueError(
                f"The file {shown(str(path))} is damaged, or not one that Perturbations.save has written ({why}). "
                "Measure again, and save that."
            ) from error

    @classmethod
    def _read(cls, path: Path, ending: str) -> "Perturbations":
        if ending == ".npz":
            with path.open("rb") as file, np.load(file) as archive:
                arrays = {name: archive[name] for name in archive.files}
        else:
            arrays = {name: np.array(value) for name, value in json.loads(path.read_text()).items()}
        # A number or a word comes back as an array without axes.
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
        """For notebooks."""
        return preformatted(repr(self))

    def __repr__(self) -> str:
        n_points, of = len(self.prediction), "point" if self.prediction.ndim == 1 else self._columns
        several = "" if of == "point" else f" of {self.prediction.shape[1]} {'classes' if of == 'class' else 'outputs'}"
        points = f"{n_points:,} point{'' if n_points == 1 else 's'}{several}"
        way = "" if self.scope is None else f" ({_WAYS[self.scope.rerun].format(self.noun.any_one)})"
        left_out = self.noun.count(len(self.rows))
        if self.scope is not None and self.scope.n_rows is not None:
            left_out = f"{len(self.rows):,} of {self.noun.count(self.scope.n_samples)}"
        table = self._table()
        width = max(22, *map(len, table))
        lines = [
            f"Perturbations by {left_out} at {points}{way}",
            f"{'':<{width}}{f'average {of}':>16}{f'worst {of}':>14}",
        ]
        for name, value in table.items():
            lines.append(f"{name:<{width}}{number(np.mean(value)):>16}{number(np.max(value)):>14}")
        if not self.noise_known:
            lines.append("  how much of it is noise of bags drawn at random is not known")
        return "\n".join(lines)

    # ------------------------------------------------------------------------------------------------------- details

    def _table(self) -> dict[str, np.ndarray]:
        """The summaries that are shown, in one walk over the points."""
        allowed = whole_rows(0.05, self._n_pooled)

        def all_at_once(pooled: np.ndarray) -> np.ndarray:
            norms = [norm(pooled, order, self._counts) for order in (1, math.inf, 2)]
            return np.stack([norms[0], exceeded_by(allowed, pooled, self._counts), *norms[1:]], axis=-1)

        many = self.noun.plural
        names = (f"mean over {many}", f"95 % of {many}, at most", "largest", "root mean square")
        table = dict(zip(names, np.moveaxis(self._by_points(all_at_once), -1, 0), strict=True))
        if self.bags is not None and self.bags.n_bags is not None:
            table["  bagging noise, estimated"] = self.noise
            table["  without that noise"] = self._without_noise(table["root mean square"])
        return {name: np.where(value <= self._rounding, 0.0, value) for name, value in table.items()}

    @property
    def _columns(self) -> str:
        """What several numbers at a point are of."""
        return "output" if self.scope is not None and self.scope.quantity is Quantity.OUTPUT else "class"

    @property
    def _n_pooled(self) -> int:
        return len(self.rows) * (1 if self.distances is None else len(self.distances))

    @property
    def _counts(self) -> np.ndarray | None:
        """How many rows each line of distances is of; None if of one each."""
        return self._lines.counts

    @property
    def _n_lines(self) -> int:
        return len(self.rows) if self._counts is None else len(self._counts)

    @cached_property
    def _rounding(self) -> float:
        """What rounding can make of sums over all bags: a distance at most this far above epsilon is a tie."""
        ends = (float(np.abs(array).max(initial=0.0)) for array in (self.prediction, self._extremes))
        n_bags = None if self.bags is None else self.bags.n_bags
        return max(8, 4 * (n_bags or 0)) * float(np.finfo(float).eps * max(ends))

    @cached_property
    def _extremes(self) -> np.ndarray:
        """The largest absolute value of the predictions without a row at each point, without an array of all."""
        blocks = (self._lines.lines(points) for points in self._point_blocks())
        ends = [np.maximum(some.max(axis=0, initial=0.0), -some.min(axis=0, initial=0.0)) for some in blocks]
        return np.concatenate([np.empty((0, *self.prediction.shape[1:])), *ends])

    def _all_lines(self) -> np.ndarray:
        """The predictions without each row; of rows that are alike, once."""
        self._lines.refuse_if_large(self._n_lines)
        return np.asarray(self._lines.lines(slice(None)))

    def _distances(self, points: slice) -> np.ndarray:
        """How far each line is from the prediction at some points, averaged over repeats."""
        if self.distances is not None:
            return np.asarray(self.distances[:, :, points].mean(axis=0))
        self._lines.refuse_if_large(self._n_lines, len(self.prediction[points]))
        return np.asarray(np.abs(self.prediction[points] - self._lines.lines(points)))

    def _point_blocks(self) -> Iterator[slice]:
        """Walk the points by blocks, so that no second array of rows by points is made."""
        n_lines = self._n_lines * (1 if self.distances is None else len(self.distances))
        step = max(1, _BLOCK_BYTES // max(1, 8 * n_lines * math.prod(self.prediction.shape[1:])))
        for first in range(0, len(self.prediction), step):
            yield slice(first, min(first + step, len(self.prediction)))

    def _blocks(self, *, pooled: bool = True) -> Iterator[tuple[slice, np.ndarray]]:
        """Yield the distances by blocks of points.

        If pooled, rows and repeats are along the first axis, and a probability over seeds is a share of the repeats.
        Otherwise distances are averaged over the repeats.
        """
        for points in self._point_blocks():
            if self.distances is None:
                # With the rows of a point next to each other in memory, sums over rows are several times as fast.
                lines = np.moveaxis(self._lines.lines(points), 0, -1)
                moved = np.empty(lines.shape)
                np.subtract(self.prediction[points][..., None], lines, out=moved)
                yield points, np.moveaxis(np.abs(moved, out=moved), -1, 0)
            else:
                repeats = self.distances[:, :, points]
                yield points, repeats.reshape(-1, *repeats.shape[2:]) if pooled else repeats.mean(axis=0)

    def _by_points(self, function: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        """Apply a function to the pooled distances, with rows along the first axis before it and points after it."""
        return np.concatenate([function(pooled) for _, pooled in self._blocks()])

    def _levels(self) -> np.ndarray:
        """Zero, and distances at which the share of some point changes: all of them, or evenly spread ones."""
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
    """Return which rows flip the decision at which of some points, as `Perturbations.flips` does.

    >>> flipped(np.array([[0.6, 0.4]]), np.array([[[0.5, 0.5]], [[0.4, 0.6]]])).ravel()
    array([False,  True])
    """
    if rule is not None:
        with_all = rule(prediction)
        return np.array([~(with_all & rule(without)).any(axis=1) for without in left_out])
    rounding = 1e-12 * max(1.0, float(np.abs(left_out).max(initial=0.0)))  # of sums over a thousand bags
    best = prediction.argmax(axis=1)
    own = np.take_along_axis(left_out, best[None, :, None], axis=2)[..., 0]
    behind: np.ndarray = left_out.max(axis=2) - own > rounding
    return behind


def _losses(
    function: Callable[[np.ndarray, np.ndarray], Any], prediction: np.ndarray, y_test: np.ndarray
) -> np.ndarray:
    losses = np.asarray(function(prediction, y_test))
    if losses.dtype.kind == "c":
        raise TypeError("losses are real numbers, and these are complex")
    return losses.astype(float)


def _summary(values: np.ndarray, over_points: str | None) -> Any:
    if over_points is None:
        return values
    how = check_choice(over_points, "over_points", "Perturbations", ("max", "mean"), "None gives one for each point.")
    return values.max(axis=0) if how == "max" else values.mean(axis=0)


def _ending(path: str | Path) -> str:
    if not isinstance(path, str | Path):
        raise refuse_type("path", "Perturbations", "a path, as a text", path)
    ending = Path(path).suffix
    if ending not in (".npz", ".json"):
        raise refuse_value("path", "Perturbations", "a .npz or .json file", str(path))
    return ending
