"""The average over bags, with all rows and without each of them."""

import math
import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from stablebag._checks import read_only
from stablebag._wording import count_bags
from stablebag.models.ranges import OutputRanges, PredictionRange, changes_by_units
from stablebag.resampling.bags import Bags, RowPatterns
from stablebag.resampling.law import ResolvedScheme
from stablebag.resampling.units import RowIds, Units

# ------------------------------------------------------------------------------------------------------------ averaging
# The average over all bags, the averages over the bags without each row, and how much bags differ.

_BLOCK_BYTES = 2**27
_MANY_BAGS = 10**6  # more than anybody fits
_FEW_BAGS = 50  # the smallest number to suggest
_FEW = 1000  # numbers in a line, below which one call per line costs more than adding


@dataclass(frozen=True, eq=False)
class BagAverage:
    """How the predictions of all bags are averaged.

    Each bag's prediction is clipped to the range, if there is one. A bag without rows predicts the middle of the range,
    or gives all classes the same probability. The average without row i is over the bags that do not contain it. It
    accounts for everything else that changes without the row: the range, and the classes if it was the only row of its
    class. If bags are drawn from groups, read "group" for "row".

    *Raw* predictions come from the bags' models; *outputs* are clipped and then averaged. Both have one line per bag.

    Parameters
    ----------
    law : ResolvedScheme
        The law of the bags.
    bags : Bags
        The bags.
    weights : ndarray of shape (n_bags,)
        The weight of each bag in the average.
    drawn : bool
        Whether the bags were drawn at random, with equal weights; otherwise they are all possible bags.
    y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        The targets of the training rows.
    rule : PredictionRange, OutputRanges or None, default=None
        The rule for the range (for several outputs: the box) that predictions are clipped to.
    classes : ndarray or None, default=None
        The class labels in order; None for regression.
    units : Units or None, default=None
        The groups that bags are drawn from; None for rows.
    output_names : ndarray or None, default=None
        The names of several outputs; None for one output.
    """

    law: ResolvedScheme
    bags: Bags
    weights: np.ndarray
    drawn: bool
    y: np.ndarray
    rule: PredictionRange | OutputRanges | None = None
    classes: np.ndarray | None = None
    units: Units = None  # type: ignore[assignment]  # made below
    output_names: np.ndarray | None = None

    def __post_init__(self) -> None:
        if self.units is None:
            object.__setattr__(self, "units", Units(RowIds(None, self.law.n_samples)))

    @cached_property
    def interval(self) -> Any:
        """The range that predictions are clipped to; for several outputs, the lower ends and the upper ends."""
        return None if self.rule is None else self.rule(self.y)

    @cached_property
    def empty_value(self) -> Any:
        """The prediction of a bag without rows, in regression."""
        if self.interval is None:
            return 0.0 if self.output_names is None else np.zeros(len(self.output_names))
        return middle(self.interval)

    @property
    def n_numbers(self) -> int:
        """How many numbers are averaged at a point: one per class or output."""
        several = self.output_names if self.classes is None else self.classes
        return 1 if several is None else len(several)

    def outputs(self, raw: np.ndarray) -> np.ndarray:
        """Return predictions clipped to the range, ready to be averaged."""
        return raw if self.interval is None else _clipped(raw, self.interval, self._empty)

    def prediction(self, raw: Iterable[np.ndarray], *, clip: bool = True) -> np.ndarray:
        """Return the average of raw predictions that come in blocks, with one line per bag, in bag order.

        Bags are added one by one, so the bits do not depend on how bags and points are split into blocks. An average of
        numbers in a range may lie outside it by an ulp, because of rounding; this is clipped, except for decision
        functions.
        """
        total: np.ndarray | None = None
        first = 0
        for block in raw:
            outputs = block if self.interval is None else np.clip(block, *self.interval)
            if not self.drawn:
                outputs = outputs * self.weights[first : first + len(block)].reshape(-1, *[1] * (block.ndim - 1))
            total = _added(total, outputs)
            first += len(block)
        assert total is not None
        assert first == len(self.bags), f"{first} of {len(self.bags)} bags have predicted."
        average = np.asarray(total / len(self.bags) if self.drawn else total)
        if self.interval is not None:
            return np.asarray(np.clip(average, *self.interval))
        return self.as_probabilities(average) if clip else average

    def deviation(self, outputs: np.ndarray) -> np.ndarray:
        """Return the standard deviation over the bags, scaled so that no square overflows."""
        centred = np.abs(outputs - np.tensordot(self.weights, outputs, axes=1))
        unit = centred.max(axis=0)
        centred /= np.where(unit > 0, unit, 1.0)
        deviation: np.ndarray = np.sqrt(np.tensordot(self.weights, centred**2, axes=1)) * unit
        return np.where(all_the_same(outputs), 0.0, deviation)  # zero, not a rounding error of the mean

    def extent(self, outputs: np.ndarray) -> np.ndarray | None:
        """Return the difference between the largest and the smallest output over the bags."""
        return np.asarray(np.ptp(outputs, axis=0))

    def estimated_deviation(self, outputs: np.ndarray) -> np.ndarray:
        """Return the standard deviation over all bags; if bags were drawn, an estimate whose square is unbiased."""
        n_bags = len(self.bags)
        return self.deviation(outputs) * (math.sqrt(n_bags / (n_bags - 1)) if self.drawn and n_bags > 1 else 1.0)

    def left_out(self, raw: np.ndarray, rows: np.ndarray | None = None) -> np.ndarray:
        """Return the average over the bags without row i, for each row (or some); shape (n_rows, n_points, ...)."""
        self.refuse_units_in_every_bag()
        outputs = self.outputs(raw)
        columns = outputs.reshape(len(self.bags), -1)
        weighted = columns if self.drawn else columns * self.weights[:, None]
        result = np.empty((self.bags.n_samples if rows is None else len(rows), columns.shape[1]))
        for places, outside, total in self.outside_blocks(rows):
            with np.errstate(over="ignore"):  # infinities raise an error later
                np.matmul(outside, weighted, out=result[places])
            result[places] /= total[:, None]
        result = result.reshape(len(result), *outputs.shape[1:])
        return self._exactly(result, raw, outputs, np.arange(self.bags.n_samples) if rows is None else rows)

    def without_each(self, raw: np.ndarray, rows: np.ndarray | None = None) -> "LeftOut":
        """Return the average without each row (or some); sparse if that needs less memory than one line per row.

        Rows that are in the same bags have the same average, so the sparse form stores one line for all of them.
        """
        some = rows is not None
        n = self.bags.n_samples if rows is None else len(rows)
        if self._is_sparse(8 * n * raw[0].size, some=some):
            lines = LazyLeftOut(self, raw)
            return lines if rows is None else DenseLeftOut(lines[rows], rows, lines.n_without[lines.line_of(rows)])
        if rows is None:
            _refuse_beyond_memory(n, raw[0])
        numbers = np.arange(n) if rows is None else rows
        return DenseLeftOut(self.left_out(raw, rows), numbers, self.bags.n_without[numbers])

    def _is_sparse(self, n_bytes: int, *, some: bool) -> bool:
        if n_bytes <= _DENSE_BYTES and not some:
            return False
        return self.bags.is_thin if some else int(self.bags.sizes.sum()) <= 2 * self.bags.n_samples

    def outside(self, rows: slice | np.ndarray) -> np.ndarray:
        """Return 1.0 where a bag lacks a row, else 0.0: one line per row, one column per bag."""
        outside: np.ndarray = self.bags.outside(rows).T.astype(float)
        return outside

    def outside_blocks(self, rows: np.ndarray | None = None) -> Iterator[tuple[slice, np.ndarray, np.ndarray]]:
        """Yield blocks of rows that fit into memory, for averages and deviations without each row.

        Each block has the places of its rows, the result of `outside` for them, and the total weight of the bags
        without each row (their number, if the bags were drawn).
        """
        n_rows = self.bags.n_samples if rows is None else len(rows)
        step = max(1, _BLOCK_BYTES // 9 // len(self.bags))  # a block of bool, and as many floats
        for first in range(0, n_rows, step):
            places = slice(first, min(first + step, n_rows))
            outside = self.outside(places if rows is None else rows[places])
            yield places, outside, outside.sum(axis=1) if self.drawn else outside @ self.weights

    def _exactly(self, result: np.ndarray, raw: np.ndarray, outputs: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Fill in the averages without the special rows, and the prediction itself where a row cannot change it.

        A row cannot change it if all bags agree, or if it is in no bag. Sums in another order would differ by rounding.
        """
        prediction, agreed = self.prediction([raw]), all_the_same(outputs)
        result[:, agreed] = prediction[agreed]
        result[self.bags.n_without[rows] == len(self.bags)] = prediction
        for row in set(self.special_units) & set(rows.tolist()):
            result[rows == row] = self.left_out_exactly(row, raw, outputs, prediction)
        return self.as_probabilities(result)

    def left_out_exactly(self, row: int, raw: np.ndarray, outputs: np.ndarray, prediction: np.ndarray) -> np.ndarray:
        """Return the average without a special row; the prediction itself where all bags agree, with and without it."""
        weights, own = self._weighted(row, raw[without := self.bags.without(row)], without)
        stays = all_the_same(outputs) & (own == outputs[0]).all(axis=0)
        return np.where(stays, prediction, np.tensordot(weights, own, axes=1))

    def left_out_specially(self, row: int, raw: np.ndarray) -> np.ndarray:
        """Return the average without a special row, with the same bits for any split of the points."""
        weights, outputs = self._weighted(row, raw[without := self.bags.without(row)], without)
        return _added(None, outputs * weights.reshape(-1, *[1] * (outputs.ndim - 1)))

    def lacks(self, rows: slice | np.ndarray) -> np.ndarray:
        """Return whether bag b lacks row i, with its whole group: bool, of shape (n_bags, n_rows)."""
        return self.bags.outside(rows if self.units.are_rows else self.units.of_rows[rows])

    def left_out_at(self, rows: slice | np.ndarray, raw: np.ndarray) -> np.ndarray:
        """Return the average at each training row over the bags without it; NaN for a row in every bag.

        Here `raw` has the predictions of each bag at the rows that it lacks, and any finite number elsewhere.
        """
        units = self.units.of_rows[rows]
        outputs, outside = self.outputs(raw), self.lacks(rows)
        outside = outside.astype(float) if self.drawn else outside * self.weights[:, None]
        total = outside.sum(axis=0)
        with np.errstate(invalid="ignore"):  # zero bags have no average
            sums = np.einsum("br,br...->r...", outside, outputs)
            result: np.ndarray = sums / total.reshape(-1, *[1] * (sums.ndim - 1))
        for unit in self.special_units:
            for place in np.flatnonzero((units == unit) & (total > 0)):
                without = self.bags.without(unit)
                result[place] = self._without(unit, raw[without, place], without)
        return self.as_probabilities(result)

    def left_out_spread_at(self, rows: slice | np.ndarray, raw: np.ndarray) -> np.ndarray:
        """Return the standard deviation at each training row over the bags without it, or without its group.

        Here `raw` is as in `left_out_at`, with one number per point.
        """
        return _deviation(_adding_up(self.lacks(rows) * _weights(self)[:, None], axis=0), raw)

    def as_probabilities(self, average: np.ndarray) -> np.ndarray:
        """Clip averages of probabilities, which rounding may have put outside of [0, 1]."""
        return average if self.classes is None else np.asarray(np.clip(average, 0.0, 1.0, out=average))

    def refuse_units_in_every_bag(self) -> None:
        """Raise an error if a row or group is in every bag, so that there is no average without it."""
        always = self.bags.in_every_bag()
        if len(always):
            noun, p = self.units.noun, self.law.largest_inclusion
            one = len(always) == 1
            who = f"{self.units.describe(int(always[0]))} is" if one else f"{noun.count(len(always))} are"
            # With this many bags, the probability that any row is in all of them is at most 1% (a union bound).
            enough = math.inf if p == 1 else math.ceil(math.log(len(self.units) / 0.01) / -math.log(p))
            use = f"{max(enough, _FEW_BAGS):,} bags or more"
            if enough > _FEW_BAGS:
                use = f"{use}, or smaller bags" if enough <= _MANY_BAGS else "smaller bags"
            raise ValueError(f"With {count_bags(len(self.bags))}, {who} never left out. Use {use}.")

    @cached_property
    def lonely_units(self) -> dict[int, np.ndarray]:
        """The groups that hold all rows of a class, each with equal probabilities for the classes left without it."""
        if self.classes is None:
            return {}
        lost = self.units.classes_lost(self.y)
        n_classes = len(np.unique(self.y))
        return {unit: ~np.isin(np.arange(n_classes), gone) / (n_classes - len(gone)) for unit, gone in lost.items()}

    @cached_property
    def empty_without_a_lonely_unit(self) -> float:
        """The largest share of empty bags among the bags without a group that holds all rows of a class."""
        empty = float(self.weights[self._empty].sum())
        if empty == 0 or not self.lonely_units:
            return 0.0
        out = 1 - self.bags.inclusion_weights(self.weights)[list(self.lonely_units)]
        return min(1.0, empty / float(out.min()))

    @cached_property
    def range_changes(self) -> dict[int, Any]:
        """The range without each group that changes it; for several outputs, the range of any of them."""
        if isinstance(self.rule, OutputRanges):
            return self.rule.changes(self.y, self.units)
        return {} if self.rule is None else changes_by_units(self.rule, self.y, self.units)

    @cached_property
    def _empty(self) -> np.ndarray:
        return read_only(self.bags.sizes == 0)

    @property
    def special_units(self) -> list[int]:
        """The groups that also change the range, or the prediction of a bag without rows, when they are left out."""
        return [*self.range_changes, *(self.lonely_units if self._empty.any() else ())]

    def _without(self, row: int, raw: np.ndarray, bags: np.ndarray) -> np.ndarray:
        """The average over the bags without a special row."""
        return np.asarray(np.tensordot(*self._weighted(row, raw, bags), axes=1))

    def _weighted(self, row: int, raw: np.ndarray, bags: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The normalized weights of the bags without a special row, and their outputs without it."""
        if row in self.range_changes:
            outputs = _clipped(raw, self.range_changes[row], self._empty[bags])
        else:  # a class disappears, so bags without rows give all probability to the others
            outputs = raw.copy()
            outputs[self._empty[bags]] = self.lonely_units[row]
        return self.weights[bags] / self.weights[bags].sum(), outputs


def _added(total: np.ndarray | None, lines: np.ndarray) -> np.ndarray:
    """A total plus all lines, added one by one; numpy's own sum may use another order."""
    with np.errstate(over="ignore"):  # infinities raise an error later, or are averaged in another way
        return _in_order(total, lines)


def _in_order(total: np.ndarray | None, lines: np.ndarray) -> np.ndarray:
    if lines[0].size <= _FEW:
        lines = lines if total is None else np.concatenate([total[None], lines])
        return np.asarray(np.add.accumulate(lines, axis=0)[-1])
    if total is None:
        total, lines = lines[0].copy(), lines[1:]
    for line in lines:
        total += line
    return total


def all_the_same(outputs: np.ndarray) -> np.ndarray:
    """Return whether all bags predict the same finite number at a point."""
    same: np.ndarray = (outputs == outputs[0]).all(axis=0) & np.isfinite(outputs[0])
    return same


def middle(interval: Any) -> Any:
    """Return the middle of an interval, or of a box, even if the sum of its ends would overflow."""
    return interval[0] / 2 + interval[1] / 2


def _clipped(raw: np.ndarray, interval: Any, empty: np.ndarray) -> np.ndarray:
    """Clip to an interval; a bag without rows predicts its middle."""
    outputs: np.ndarray = np.clip(raw, *interval)
    outputs[empty] = middle(interval)
    return outputs


# ------------------------------------------------------------------------------------------------------- left out lines
# The predictions without each row, one line per point, in blocks that fit into the processor's cache.

_CACHED_BYTES = 2**21  # of a block of lines
_WORTHWHILE = 64  # lines in a block, even if they are too long for the cache
_MATRIX_BYTES = 2**27  # of the matrix that says which bags lack which rows; a larger one is made in parts, when needed


class BagPoints:
    """The predictions of all bags at some points, one line per point.

    Parameters
    ----------
    average : BagAverage
        How they are averaged.
    raw : ndarray of shape (n_bags, n_points)
        The predictions of the bags' models.
    """

    def __init__(self, average: BagAverage, raw: np.ndarray) -> None:
        self.average, self.raw = average, raw
        self._outputs = average.outputs(raw)
        self.prediction = average.prediction([raw])

    def __len__(self) -> int:
        return int(self.raw.shape[1])

    @cached_property
    def size(self) -> np.ndarray:
        """The largest absolute value at each point; infinite or NaN if any value is."""
        size: np.ndarray = np.abs(self._outputs).max(axis=0)
        return size

    @property
    def may_overflow(self) -> bool:
        """Whether the sum of finite predictions may overflow."""
        return bool((self.size > np.finfo(float).max / 2 / len(self.raw)).any())

    @cached_property
    def lines(self) -> np.ndarray:
        """The weighted outputs: shape (n_points, n_bags)."""
        weighted = self._outputs if self.average.drawn else self._outputs * self.average.weights[:, None]
        return np.ascontiguousarray(weighted.T)

    @cached_property
    def special(self) -> np.ndarray:
        """The predictions without each special row: shape (n_points, n_special)."""
        rows = self.average.special_units
        special = np.empty((len(self), len(rows)))
        for place, row in enumerate(rows):
            special[:, place] = self.average.left_out_specially(row, self.raw)
        return special

    def mean_and_reach(self, deviations: float) -> tuple[np.ndarray, np.ndarray]:
        """Return the mean over all bags, and this many standard deviations plus an allowance for rounding.

        The mean over a share q of the bags is at most sqrt((1 - q) / q) standard deviations away (Cauchy-Schwarz). In
        any order, a sum over the bags is off by at most one rounding unit per bag; the allowance is several times that.
        """
        mean = np.tensordot(self.average.weights, self._outputs, axes=1)
        rounding = 8 * np.finfo(float).eps * (len(self.raw) + 8) * (1 + deviations) * self.size
        return mean, deviations * self.average.deviation(self._outputs) + rounding


class LeftOutLines:
    """The averages over the bags without each row, one line per point: some rows always, the others in windows.

    Parameters
    ----------
    average : BagAverage
        How bags are averaged; no row is in every bag.
    always : ndarray of int
        The rows that are in every line, with the special ones first.
    others : ndarray of int
        The other rows, in the order of the windows.
    """

    def __init__(self, average: BagAverage, always: np.ndarray, others: np.ndarray) -> None:
        self.average, self.n_always, self.n_others = average, len(always), len(others)
        self._rows = np.concatenate([always, others])
        self._totals = outside_weights(average)[self._rows]
        small = 8 * len(self._rows) * len(average.bags) <= _MATRIX_BYTES
        self._matrix = average.outside(self._rows) if small else None

    def blocks(
        self, points: BagPoints, numbers: np.ndarray, window: slice
    ) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Yield blocks of points, each with its lines for the rows that are always there and for those in the window.

        The next block overwrites these arrays.
        """
        parts = slice(0, self.n_always), slice(self.n_always + window.start, self.n_always + window.stop)
        sizes = [part.stop - part.start for part in parts]
        step = self._n_lines(sum(sizes), len(numbers))
        products = [np.empty((step, size)) for size in sizes]
        for place in range(0, len(numbers), step):
            some = numbers[place : place + step]
            lines = points.lines[some]
            for part, product in zip(parts, products, strict=True):
                self._multiply(lines, part, product[: len(some)])
            always, others = (product[: len(some)] for product in products)
            always[:, : points.special.shape[1]] = points.special[some]
            yield some, always, others

    def _n_lines(self, width: int, wanted: int) -> int:
        """How many lines a block has: enough to make a matrix product worthwhile, if memory allows."""
        fits = (_MATRIX_BYTES if self._matrix is None else _CACHED_BYTES) // 8 // max(1, width)
        most = max(fits, min(_WORTHWHILE, _MATRIX_BYTES // 32 // max(1, width)))
        return min(max(1, most), wanted)

    def _multiply(self, lines: np.ndarray, rows: slice, result: np.ndarray) -> None:
        """Write the averages at some points over the bags without some rows."""
        if self._matrix is not None:
            np.matmul(lines, self._matrix[rows].T, out=result)
        else:  # in parts that are made when needed
            step = _MATRIX_BYTES // 9 // len(lines.T) + 1
            for first in range(rows.start, rows.stop, step):
                part = slice(first, min(first + step, rows.stop))
                result[:, part.start - rows.start : part.stop - rows.start] = (
                    lines @ self.average.outside(self._rows[part]).T
                )
        result /= self._totals[rows]


def extremes(always: np.ndarray, others: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the smallest and the largest prediction without a row at each point of a block."""
    parts = [part for part in (always, others) if part.shape[1]]
    low = np.minimum.reduce([part.min(axis=1) for part in parts])
    return low, np.maximum.reduce([part.max(axis=1) for part in parts])


def outside_weights(average: BagAverage) -> np.ndarray:
    """Return the total weight of the bags without row i, or their number if they were drawn; shape (n_samples,)."""
    if average.drawn:
        return average.bags.n_without.astype(float)
    return np.concatenate([total for _, _, total in average.outside_blocks()])


def point_blocks(average: BagAverage, raw: np.ndarray) -> Iterator[BagPoints]:
    """Yield the predictions of all bags in blocks of points, to limit memory."""
    step = max(1, _MATRIX_BYTES // 32 // (len(raw) + len(average.special_units)))
    for first in range(0, raw.shape[1], step):
        yield BagPoints(average, raw[:, first : first + step])


# ------------------------------------------------------------------------------------------------------ left out spread
# How much the models of the bags without each row differ: standard deviations of their unclipped predictions.
#
# Clipped predictions agree when all of them leave the range, even if the models differ. Bags without rows have no model
# and do not count. If the models agree, the deviation is exactly zero: a deviation below a millionth of their distance
# from the mean of all models is rounding, and is set to zero.

_ROUNDING = 1e-12  # of a mean square


def spread(average: BagAverage, raw: np.ndarray) -> np.ndarray:
    """Return the standard deviation over all bags at some points; shape (n_points,)."""
    weights = _weights(average)
    return _deviation(np.broadcast_to(weights[:, None] / weights.sum(), raw.shape), raw)


def left_out_spread(average: BagAverage, raw: np.ndarray) -> np.ndarray:
    """Return the standard deviation over the bags without each row or group.

    Parameters
    ----------
    average : BagAverage
        How bags are averaged; no row is in every bag.
    raw : ndarray of shape (n_bags, n_points)
        The predictions of the bags' models, not yet clipped.

    Returns
    -------
    ndarray of shape (n_units, n_points)
    """
    weights = _weights(average)
    offsets = raw - (weights / weights.sum()) @ raw  # near zero, so that squares lose no digits
    unit = np.abs(offsets).max(axis=0)
    offsets /= np.where(unit > 0, unit, 1.0)
    squares, found = offsets**2, np.empty((average.bags.n_samples, raw.shape[1]))
    for rows, outside, _ in average.outside_blocks():
        shares = _adding_up(outside * weights, axis=1)
        second = shares @ squares
        variance = second - (shares @ offsets) ** 2
        found[rows] = np.sqrt(np.where(variance > _ROUNDING * second, variance, 0.0)) * unit
    return found


def _weights(average: BagAverage) -> np.ndarray:
    """The weights of the bags, zero for bags without rows."""
    return np.where(average.bags.sizes > 0, average.weights, 0.0)


def _adding_up(weights: np.ndarray, axis: int) -> np.ndarray:
    """The weights divided by their sum; all zero if there are none."""
    total = weights.sum(axis=axis, keepdims=True)
    return weights / np.where(total > 0, total, 1.0)


def _deviation(weights: np.ndarray, values: np.ndarray) -> np.ndarray:
    """The standard deviation of each column, with weights that add up to one; exactly zero if all values are equal."""
    there = weights > 0
    low, high = np.where(there, values, np.inf).min(axis=0), np.where(there, values, -np.inf).max(axis=0)
    length = np.maximum(high - low, 0.0)  # negative if all weights are zero
    offsets = np.where(there, values - low, 0.0) / np.where(length > 0, length, 1.0)
    mean = (weights * offsets).sum(axis=0)
    deviation: np.ndarray = np.sqrt((weights * (offsets - mean) ** 2).sum(axis=0)) * length
    return deviation


# ------------------------------------------------------------------------------------------------------ dense or sparse
# The predictions without each row, for summaries over rows. `BagAverage.without_each` returns one of two forms.
#
# The dense form is an array with one line per row. The sparse form has one line for all rows that are in the same bags:
# these have the same predictions, unless leaving a row out changes more, for example the range. Rows in no bag change
# nothing, so of a billion rows only those in bags need lines. Summaries over rows are exact, because each line counts
# as often as it has rows.

MOST_BYTES = 2**32  # of an array with a line for each row that is made on demand
_DENSE_BYTES = 2**28  # predictions without each row are stored as an array up to this size


class LeftOut(ABC):
    """The predictions without each row, in lines; a line is for one row, or for all rows in the same bags."""

    rows: np.ndarray | range  # that are left out
    counts: np.ndarray | None = None  # how many rows each line is for; None if one each
    n_without: np.ndarray | None = None  # how many bags lack the rows of each line, if known

    @property
    @abstractmethod
    def by_rows(self) -> Any:
        """An object to index by row numbers: an array, or one that computes parts of it on demand."""

    @abstractmethod
    def lines(self, points: slice) -> np.ndarray:
        """Return all lines at some points; shape (n_lines, n_points) or (n_lines, n_points, n_classes)."""

    @abstractmethod
    def pick(self, lines: np.ndarray) -> np.ndarray:
        """Return the values of some lines at each point; `lines` has shape (n_points, k)."""

    @abstractmethod
    def first_rows(self, lines: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the first k rows of some lines, in the order of the lines, and the line of each."""

    @abstractmethod
    def spread_to_rows(self, values: np.ndarray) -> np.ndarray:
        """Return the value of its line for each row, if there are not too many rows."""

    @abstractmethod
    def replaced(self, lines: np.ndarray, prediction: np.ndarray) -> "LeftOut":
        """Return other values for the same lines, with the prediction with all rows that belongs to them."""

    @abstractmethod
    def refuse_if_large(self, n_rows: int, n_points: int | None = None) -> None:
        """Raise ValueError if an array with a line for each row would be large."""

    @abstractmethod
    def to_arrays(self) -> dict[str, np.ndarray]:
        """Return arrays to write to a file."""

    @staticmethod
    def from_arrays(arrays: dict[str, Any]) -> dict[str, Any]:
        """Return the same values, with the arrays of `to_arrays` put together again."""
        prefix = "patterns."
        others = {name: value for name, value in arrays.items() if not name.startswith(prefix)}
        if len(others) < len(arrays):
            patterns = {name.removeprefix(prefix): arrays[name] for name in arrays if name.startswith(prefix)}
            others["left_out"] = SparseLeftOut(RowPatterns(**patterns), others["prediction"], others["left_out"])
            others["rows"] = others["left_out"].rows
        return others


class DenseLeftOut(LeftOut):
    """One line for each row, as an array.

    Parameters
    ----------
    array : ndarray of shape (n_rows, n_points) or (n_rows, n_points, n_classes)
        The predictions.
    rows : ndarray of shape (n_rows,), or range
        The rows.
    n_without : ndarray of shape (n_rows,) or None, default=None
        How many bags lack each row.
    """

    def __init__(self, array: np.ndarray, rows: np.ndarray | range, n_without: np.ndarray | None = None) -> None:
        self.array, self.rows, self.n_without = array, rows, n_without

    @property
    def by_rows(self) -> np.ndarray:
        return self.array

    def lines(self, points: slice) -> np.ndarray:
        return np.asarray(self.array[:, points])

    def pick(self, lines: np.ndarray) -> np.ndarray:
        return np.asarray(self.array[lines, np.arange(len(lines))[:, None]])

    def first_rows(self, lines: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        return np.asarray(self.rows)[lines[:k]], lines[:k]

    def spread_to_rows(self, values: np.ndarray) -> np.ndarray:
        return values

    def replaced(self, lines: np.ndarray, prediction: np.ndarray) -> "DenseLeftOut":
        return DenseLeftOut(lines, self.rows)

    def refuse_if_large(self, n_rows: int, n_points: int | None = None) -> None:
        """Do nothing: the array exists."""

    def to_arrays(self) -> dict[str, np.ndarray]:
        return {"left_out": self.array, "rows": np.asarray(self.rows)}


class SparseLeftOut(LeftOut):
    """One line for the rows in no bag, one per pattern of bags, and one per special row, in this order.

    Parameters
    ----------
    patterns : RowPatterns
        Which rows are in which bags.
    prediction : ndarray of shape (n_points,) or (n_points, n_classes)
        The prediction with all rows.
    held : ndarray of shape (n_lines, n_points) or (n_lines, n_points, n_classes), or None
        The lines; None if a subclass computes them.
    """

    counts: np.ndarray

    def __init__(self, patterns: RowPatterns, prediction: np.ndarray, held: np.ndarray | None) -> None:
        self.patterns, self.prediction, self.rows = patterns, read_only(prediction), range(patterns.n_samples)
        self._held = None if held is None else read_only(held)
        apart = np.ones(len(patterns.apart), np.int64)
        self.counts = np.concatenate([[patterns.n_untouched], patterns.counts, apart])

    def lines(self, points: slice) -> np.ndarray:
        assert self._held is not None
        return np.asarray(self._held[:, points])

    def take(self, lines: np.ndarray) -> np.ndarray:
        """Return some lines at all points."""
        assert self._held is not None
        return np.asarray(self._held[lines])

    def pick(self, lines: np.ndarray) -> np.ndarray:
        needed, place = np.unique(lines, return_inverse=True)
        return self.take(needed)[place.reshape(lines.shape), np.arange(len(lines))[:, None]]

    def spread_to_rows(self, values: np.ndarray) -> np.ndarray:
        self.refuse_if_large(len(self), 1 if values.ndim == 1 else values.shape[1])
        return np.asarray(values[self.line_of(np.arange(len(self)))])

    def replaced(self, lines: np.ndarray, prediction: np.ndarray) -> "SparseLeftOut":
        return SparseLeftOut(self.patterns, prediction, lines)

    def to_arrays(self) -> dict[str, np.ndarray]:
        self.refuse_if_large(len(self.counts), len(self.prediction))
        patterns = {f"patterns.{name}": getattr(self.patterns, name) for name in self.patterns.__dataclass_fields__}
        return {"left_out": self.lines(slice(None)), "rows": np.array([len(self)]), **patterns}

    @property
    def by_rows(self) -> "SparseLeftOut":
        return self

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of an array with a line for each row."""
        return self.patterns.n_samples, *self.prediction.shape

    @property
    def ndim(self) -> int:
        """The number of axes of that array."""
        return len(self.shape)

    def __len__(self) -> int:
        return self.shape[0]

    def line_of(self, rows: np.ndarray) -> np.ndarray:
        """Return the line of each of these rows."""
        lines = self.patterns.places(rows) + 1
        there = np.isin(rows, self.patterns.apart)
        lines[there] = 1 + len(self.patterns) + np.searchsorted(self.patterns.apart, rows[there])
        return lines

    def first_rows(self, lines: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        patterns, found, which = self.patterns, [np.empty(0, np.int64)], [np.empty(0, np.int64)]
        for line in lines.tolist():
            if (rest := k - sum(map(len, found))) <= 0:
                break
            if line == 0:
                some = patterns.untouched(rest)
            elif line <= len(patterns):
                some = patterns.rows[patterns.ends[line - 1] : patterns.ends[line]][:rest].astype(np.int64)
            else:
                some = patterns.apart[[line - len(patterns) - 1]]
            found.append(some)
            which.append(np.full(len(some), line))
        return np.concatenate(found), np.concatenate(which)

    def __getitem__(self, rows: Any) -> np.ndarray:
        """Return the predictions without some rows, given as a number, a list of numbers, a mask or a slice."""
        if isinstance(rows, tuple):
            raise TypeError("left_out takes one index. Select rows first and then points: left_out[rows][:, points].")
        if isinstance(rows, slice):
            rows = range(*rows.indices(len(self)))
            self.refuse_if_large(len(rows))
        numbers = np.asarray(rows)
        if numbers.dtype == bool and numbers.shape == (len(self),):
            numbers = np.flatnonzero(numbers)
        if numbers.dtype.kind not in "iu" and numbers.size:
            raise IndexError(
                f"left_out takes row numbers, a slice, or a mask with {len(self):,} entries, got type {numbers.dtype}."
            )
        numbers = numbers.astype(np.int64)
        if ((numbers < -len(self)) | (numbers >= len(self))).any():
            raise IndexError(f"There are only {len(self):,} rows. Use row numbers from 0 to {len(self) - 1:,}.")
        return self.take(self.line_of(numbers.ravel() % len(self))).reshape(*numbers.shape, *self.prediction.shape)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """Return an array with a line for each row, if it is small enough."""
        self.refuse_if_large(len(self))
        array: np.ndarray = self.lines(slice(None))[self.line_of(np.arange(len(self)))]
        return array if dtype is None else array.astype(dtype)

    def refuse_if_large(self, n_rows: int, n_points: int | None = None) -> None:
        n_points = len(self.prediction) if n_points is None else n_points
        size = 8 * n_rows * n_points * self.prediction[:1].size
        if size > MOST_BYTES:
            raise ValueError(
                f"An array of {n_rows:,} rows by {n_points:,} points would need {size / 2**30:,.1f} GiB, more than the "
                f"limit of {MOST_BYTES / 2**30:g} GiB. Use summaries over rows, some rows with left_out[rows], or "
                "leave_one_out(model, X, rows=...)."
            )


class LazyLeftOut(SparseLeftOut):
    """Lines that are computed from the bags' predictions each time they are needed.

    Let f be the average over all bags. The average without row i is f minus the sum of w_b (y_b - f) over the bags b
    with the row, divided by the weight of the other bags. For a row in more than half of the bags, it is f plus the
    same sum over the other bags, divided by their weight. This avoids dividing a large sum that nearly cancels by a
    small number.

    Parameters
    ----------
    average : BagAverage
        How the predictions of all bags are averaged.
    raw : ndarray of shape (n_bags, n_points) or (n_bags, n_points, n_classes)
        The prediction of each bag, not yet clipped.
    """

    n_without: np.ndarray

    def __init__(self, average: BagAverage, raw: np.ndarray) -> None:
        average.refuse_units_in_every_bag()
        self._as_probabilities = average.as_probabilities
        prediction = average.prediction([raw])
        weights = np.ones(len(average.bags)) if average.drawn else average.weights
        special = np.unique(np.array(average.special_units, dtype=np.int64))
        super().__init__(RowPatterns.of(average.bags, special), prediction, None)
        outputs = average.outputs(raw)
        centred = np.where(all_the_same(outputs), 0.0, outputs - prediction)
        self._centred = centred * weights.reshape(-1, *[1] * prediction.ndim)
        self._many, self._others = self.patterns.complements()
        self._outside = weights.sum() - self.patterns.matrix @ weights
        self._outside[self._many] = self._others @ weights
        self._apart = np.empty((len(special), *prediction.shape))
        without = [len(average.bags.without(row)) for row in special.tolist()]
        for place, row in enumerate(special.tolist()):
            self._apart[place] = average.left_out_exactly(row, raw, outputs, prediction)
        self.n_without = np.concatenate([[len(average.bags)], len(average.bags) - self.patterns.n_inside, without])

    def lines(self, points: slice) -> np.ndarray:
        prediction = self.prediction[points]
        result, stop = np.empty((len(self.counts), *prediction.shape)), 1 + len(self.patterns)
        result[0], result[stop:] = prediction, self._apart[:, points]
        centred = self._centred[:, points].reshape(len(self._centred), -1)
        moved = self.patterns.matrix @ centred
        moved[self._many] = -(self._others @ centred)
        moved /= self._outside[:, None]
        np.subtract(prediction, moved.reshape(-1, *prediction.shape), out=result[1:stop])
        return self._as_probabilities(result)

    def take(self, lines: np.ndarray) -> np.ndarray:
        result = np.repeat(self.prediction[None], len(lines), axis=0)
        inside = np.flatnonzero((lines > 0) & (lines <= len(self.patterns)))
        pattern, centred = lines[inside] - 1, self._centred.reshape(len(self._centred), -1)
        moved = self.patterns.matrix[pattern] @ centred
        place = np.searchsorted(self._many, pattern)
        many = np.flatnonzero(np.append(self._many, -1)[place] == pattern)
        moved[many] = -(self._others[place[many]] @ centred)
        moved /= self._outside[pattern, None]
        result[inside] -= moved.reshape(-1, *self.prediction.shape)
        apart = np.flatnonzero(lines > len(self.patterns))
        result[apart] = self._apart[lines[apart] - len(self.patterns) - 1]
        return self._as_probabilities(result)


def _refuse_beyond_memory(n: int, prediction: np.ndarray) -> None:
    """Raise ValueError if an array of predictions without each row would be larger than the machine's memory."""
    size = 8 * n * prediction.size
    if hasattr(os, "sysconf") and size > os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"):
        raise ValueError(
            f"The predictions without each of {n:,} rows at {len(prediction):,} points would need "
            f"{size / 2**30:,.0f} GiB, more than this machine has. Leave out only some rows (rows=10_000), or predict "
            "at fewer points."
        )
