"""The average over bags, with all rows and without each of them."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from stablebag._checks import read_only
from stablebag._wording import count_bags
from stablebag.models.ranges import OutputRanges, PredictionRange, changes_by_units
from stablebag.resampling.bags import Bags
from stablebag.resampling.law import ResolvedScheme
from stablebag.resampling.units import RowIds, Units

# ------------------------------------------------------------------------------------------------------------ averaging
# The average over bags, with all rows and without each row: what is averaged, how, and how much bags differ.

_BLOCK_BYTES = 2**27
_MANY_BAGS = 10**6  # which nobody fits
_FEW = 1000  # numbers in a line, below which adding line by line is not worth a call for each


@dataclass(frozen=True, eq=False)
class BagAverage:
    """How the predictions of all bags become one.

    Each bag's prediction is clipped to the range, if there is one; a bag without rows predicts the middle of the range,
    or gives all classes the same probability. The average without row i is over the bags that do not contain it, and it
    takes into account what else leaving the row out changes: the range, and the set of classes if it was the only row
    of its class. If bags are drawn over units of several rows, all of this is about units in place of rows.

    *Raw* predictions are those of the bags' models, and *outputs* are what is averaged; both have one line per bag.

    Parameters
    ----------
    law : ResolvedScheme
        The law of the bags.
    bags : Bags
        The bags.
    weights : ndarray of shape (n_bags,)
        The weight of each bag in the average.
    drawn : bool
        Whether the bags were drawn at random, and so have equal weights; otherwise they are all possible bags.
    y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        The targets of the training rows.
    rule : PredictionRange, OutputRanges or None, default=None
        The rule for the range to which predictions are clipped; of several outputs, for the box.
    classes : ndarray or None, default=None
        The class labels in order; None for regression.
    units : Units or None, default=None
        What bags are drawn of; None is the rows themselves.
    output_names : ndarray or None, default=None
        What several outputs are called; None if there is one.
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
        """The range to which predictions are clipped; of several outputs, the lower ends and the upper ones."""
        return None if self.rule is None else self.rule(self.y)

    @cached_property
    def empty_value(self) -> Any:
        """What a bag without rows predicts in regression."""
        if self.interval is None:
            return 0.0 if self.output_names is None else np.zeros(len(self.output_names))
        return middle(self.interval)

    @property
    def n_numbers(self) -> int:
        """How many numbers are averaged at a point: one for each class or output."""
        several = self.output_names if self.classes is None else self.classes
        return 1 if several is None else len(several)

    def outputs(self, raw: np.ndarray) -> np.ndarray:
        """Return what is averaged: predictions clipped to the range."""
        return raw if self.interval is None else _clipped(raw, self.interval, self._empty)

    def prediction(self, raw: Iterable[np.ndarray], *, clip: bool = True) -> np.ndarray:
        """Return the average of the raw predictions, which come in blocks with one line per bag, in bag order.

        It is added up bag by bag: the same bits however bags and points were handed out. An average of numbers in a
        range is in that range; rounding may put it outside by an ulp, which is clipped, unless they are no
        probabilities but decision functions.
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
        """Return the standard deviation over the bags, computed in units of the largest so that no square overflows."""
        centred = np.abs(outputs - np.tensordot(self.weights, outputs, axes=1))
        unit = centred.max(axis=0)
        centred /= np.where(unit > 0, unit, 1.0)
        deviation: np.ndarray = np.sqrt(np.tensordot(self.weights, centred**2, axes=1)) * unit
        return np.where(all_the_same(outputs), 0.0, deviation)  # not what rounding of the mean makes of it

    def extent(self, outputs: np.ndarray) -> np.ndarray | None:
        """Return the difference between the largest and the smallest output over the bags."""
        return np.asarray(np.ptp(outputs, axis=0))

    def estimated_deviation(self, outputs: np.ndarray) -> np.ndarray:
        """Return the standard deviation over all bags; if bags were drawn, an estimate whose square is unbiased."""
        n_bags = len(self.bags)
        return self.deviation(outputs) * (math.sqrt(n_bags / (n_bags - 1)) if self.drawn and n_bags > 1 else 1.0)

    def left_out(self, raw: np.ndarray, rows: np.ndarray | None = None) -> np.ndarray:
        """Return the average over the bags without row i, for every row i, or some; shape (n_rows, n_points, ...)."""
        self.refuse_units_in_every_bag()
        outputs = self.outputs(raw)
        columns = outputs.reshape(len(self.bags), -1)
        weighted = columns if self.drawn else columns * self.weights[:, None]
        result = np.empty((self.bags.n_samples if rows is None else len(rows), columns.shape[1]))
        for places, outside, total in self.outside_blocks(rows):
            with np.errstate(over="ignore"):  # what is infinite then is refused
                np.matmul(outside, weighted, out=result[places])
            result[places] /= total[:, None]
        result = result.reshape(len(result), *outputs.shape[1:])
        return self._exactly(result, raw, outputs, np.arange(self.bags.n_samples) if rows is None else rows)

    def outside(self, rows: slice | np.ndarray) -> np.ndarray:
        """Return 1.0 for each bag without each of these rows, else 0.0: one line per row, one column per bag."""
        outside: np.ndarray = self.bags.outside(rows).T.astype(float)
        return outside

    def outside_blocks(self, rows: np.ndarray | None = None) -> Iterator[tuple[slice, np.ndarray, np.ndarray]]:
        """Yield what every average and spread without rows is made of, in blocks of rows that fit into memory.

        For some rows, or for all: their places, `outside` of them, and the total weight of the bags without each row,
        which is the number of these bags if they were drawn.
        """
        n_rows = self.bags.n_samples if rows is None else len(rows)
        step = max(1, _BLOCK_BYTES // 9 // len(self.bags))  # a block of bool, and as many floats
        for first in range(0, n_rows, step):
            places = slice(first, min(first + step, n_rows))
            outside = self.outside(places if rows is None else rows[places])
            yield places, outside, outside.sum(axis=1) if self.drawn else outside @ self.weights

    def _exactly(self, result: np.ndarray, raw: np.ndarray, outputs: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Put in the averages without the special rows, and the prediction itself where a row cannot move it.

        That is so where all bags agree, and for rows in no bag: sums in another order would differ by rounding.
        """
        prediction, agreed = self.prediction([raw]), all_the_same(outputs)
        result[:, agreed] = prediction[agreed]
        result[self.bags.n_without[rows] == len(self.bags)] = prediction
        for row in set(self.special_units) & set(rows.tolist()):
            result[rows == row] = self.left_out_exactly(row, raw, outputs, prediction)
        return self.as_probabilities(result)

    def left_out_exactly(self, row: int, raw: np.ndarray, outputs: np.ndarray, prediction: np.ndarray) -> np.ndarray:
        """Return the average without a special row, and the prediction itself where all bags agree with and without."""
        weights, own = self._weighted(row, raw[without := self.bags.without(row)], without)
        stays = all_the_same(outputs) & (own == outputs[0]).all(axis=0)
        return np.where(stays, prediction, np.tensordot(weights, own, axes=1))

    def left_out_specially(self, row: int, raw: np.ndarray) -> np.ndarray:
        """Return the average without one of the special rows, with the same bits however points are handed out."""
        weights, outputs = self._weighted(row, raw[without := self.bags.without(row)], without)
        return _added(None, outputs * weights.reshape(-1, *[1] * (outputs.ndim - 1)))

    def lacks(self, rows: slice | np.ndarray) -> np.ndarray:
        """Return whether bag b lacks training row i, with its whole unit: bool, of shape (n_bags, n_rows)."""
        return self.bags.outside(rows if self.units.are_rows else self.units.of_rows[rows])

    def left_out_at(self, rows: slice | np.ndarray, raw: np.ndarray) -> np.ndarray:
        """Return the average at each of these training rows over the bags without it; NaN for a row in every bag.

        Here `raw` has the predictions of each bag at the rows that it lacks, and elsewhere anything finite.
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
        """Return the standard deviation at each of these training rows over the bags without it, or its unit.

        Here `raw` is as in `left_out_at`, with one number at each point.
        """
        return _deviation(_adding_up(self.lacks(rows) * _weights(self)[:, None], axis=0), raw)

    def as_probabilities(self, average: np.ndarray) -> np.ndarray:
        """Clip an average of probabilities, which rounding may have put outside of [0, 1]; others are as they are."""
        return average if self.classes is None else np.asarray(np.clip(average, 0.0, 1.0, out=average))

    def refuse_units_in_every_bag(self) -> None:
        """Raise an error that names a row, or a unit, without which there is no average."""
        always = self.bags.in_every_bag()
        if len(always):
            first, noun, p = self.units.describe(int(always[0])), self.units.noun, self.law.largest_inclusion
            who = first if len(always) == 1 else f"{noun.count(len(always))}, such as {first},"
            are, them = ("is", "it") if len(always) == 1 else ("are", "them")
            # No row is in all of so many bags, but for a chance of 1 % (the sum over rows of their chances).
            enough = math.inf if p == 1 else math.ceil(math.log(len(self.units) / 0.01) / -math.log(p))
            use = f"{enough:,} bags or more, or smaller bags" if enough <= _MANY_BAGS else "smaller bags"
            raise ValueError(
                f"With {count_bags(len(self.bags))}, {who} {are} never left out, so there is no prediction without "
                f"{them}. Use {use}."
            )

    @cached_property
    def lonely_units(self) -> dict[int, np.ndarray]:
        """The units without which classes are gone, each with equal probabilities for the classes that are left."""
        if self.classes is None:
            return {}
        lost = self.units.classes_lost(self.y)
        n_classes = len(np.unique(self.y))
        return {unit: ~np.isin(np.arange(n_classes), gone) / (n_classes - len(gone)) for unit, gone in lost.items()}

    @cached_property
    def empty_without_a_lonely_unit(self) -> float:
        """The largest share of bags without rows among those without a unit that has all rows of a class."""
        empty = float(self.weights[self._empty].sum())
        if empty == 0 or not self.lonely_units:
            return 0.0
        out = 1 - self.bags.inclusion_weights(self.weights)[list(self.lonely_units)]
        return min(1.0, empty / float(out.min()))

    @cached_property
    def range_changes(self) -> dict[int, Any]:
        """The range without a unit, for each unit that changes it; of several outputs, that of any of them."""
        if isinstance(self.rule, OutputRanges):
            return self.rule.changes(self.y, self.units)
        return {} if self.rule is None else changes_by_units(self.rule, self.y, self.units)

    @cached_property
    def _empty(self) -> np.ndarray:
        return read_only(self.bags.sizes == 0)

    @property
    def special_units(self) -> list[int]:
        """The units that change more than which bags are averaged: the range, or what a bag without rows predicts."""
        return [*self.range_changes, *(self.lonely_units if self._empty.any() else ())]

    def _without(self, row: int, raw: np.ndarray, bags: np.ndarray) -> np.ndarray:
        """The average over the bags without a special row."""
        return np.asarray(np.tensordot(*self._weighted(row, raw, bags), axes=1))

    def _weighted(self, row: int, raw: np.ndarray, bags: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The weights of the bags without a special row, which add up to one, and what is averaged over them."""
        if row in self.range_changes:
            outputs = _clipped(raw, self.range_changes[row], self._empty[bags])
        else:  # a class is gone, so bags without rows give all probability to the others
            outputs = raw.copy()
            outputs[self._empty[bags]] = self.lonely_units[row]
        return self.weights[bags] / self.weights[bags].sum(), outputs


def _added(total: np.ndarray | None, lines: np.ndarray) -> np.ndarray:
    """The lines added to a total, one after the other; numpy's own sum may add them in another order."""
    with np.errstate(over="ignore"):  # what is infinite then is refused, or averaged in another way
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
# The predictions without each row, one line per point, in blocks that stay in the processor's cache.

_CACHED_BYTES = 2**21  # of a block of lines
_WORTHWHILE = 64  # lines in a block, even if they are too long for the cache
_MATRIX_BYTES = 2**27  # of what tells which bags are without which rows; what is larger is made again and again


class BagPoints:
    """The predictions of all bags at some points, one line per point, and what follows from them alone.

    Parameters
    ----------
    average : BagAverage
        How they become one.
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
        """The largest absolute value at each point; infinite or NaN if one is."""
        size: np.ndarray = np.abs(self._outputs).max(axis=0)
        return size

    @property
    def may_overflow(self) -> bool:
        """Whether finite predictions are so large that their sum may not be finite."""
        return bool((self.size > np.finfo(float).max / 2 / len(self.raw)).any())

    @cached_property
    def lines(self) -> np.ndarray:
        """What is added up, with its weight: shape (n_points, n_bags)."""
        weighted = self._outputs if self.average.drawn else self._outputs * self.average.weights[:, None]
        return np.ascontiguousarray(weighted.T)

    @cached_property
    def special(self) -> np.ndarray:
        """The predictions without each of the special rows: shape (n_points, number of special rows)."""
        rows = self.average.special_units
        special = np.empty((len(self), len(rows)))
        for place, row in enumerate(rows):
            special[:, place] = self.average.left_out_specially(row, self.raw)
        return special

    def mean_and_reach(self, deviations: float) -> tuple[np.ndarray, np.ndarray]:
        """Return the mean over all bags, and so many standard deviations; the reach allows for rounding.

        The mean over a share q of the bags is at most sqrt((1 - q) / q) standard deviations away (Cauchy-Schwarz).
        Sums over the bags are off by at most as many units of rounding as there are bags, in whichever order they are
        added up: the allowance is several times what all of them together can be off.
        """
        mean = np.tensordot(self.average.weights, self._outputs, axes=1)
        rounding = 8 * np.finfo(float).eps * (len(self.raw) + 8) * (1 + deviations) * self.size
        return mean, deviations * self.average.deviation(self._outputs) + rounding


class LeftOutLines:
    """The averages over the bags without each row, one line per point: some rows always, and a window of the others.

    Parameters
    ----------
    average : BagAverage
        What is averaged; no row is in every bag.
    always : ndarray of int
        The rows that are in every line, the special ones first.
    others : ndarray of int
        The other rows, in the order in which there are windows of them.
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
        """Yield blocks of the points of these numbers, with two lines for each: of the rows always, and of the window.

        The next block overwrites the lines.
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
        """How many lines a block has: enough that a product is worth its preparations, if memory allows."""
        fits = (_MATRIX_BYTES if self._matrix is None else _CACHED_BYTES) // 8 // max(1, width)
        most = max(fits, min(_WORTHWHILE, _MATRIX_BYTES // 32 // max(1, width)))
        return min(max(1, most), wanted)

    def _multiply(self, lines: np.ndarray, rows: slice, result: np.ndarray) -> None:
        """Write the averages at some points over the bags without some rows."""
        if self._matrix is not None:
            np.matmul(lines, self._matrix[rows].T, out=result)
        else:  # by parts, which are made when they are wanted
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
    """Walk the predictions of all bags by blocks of points, so that memory is bounded."""
    step = max(1, _MATRIX_BYTES // 32 // (len(raw) + len(average.special_units)))
    for first in range(0, raw.shape[1], step):
        yield BagPoints(average, raw[:, first : first + step])


# ------------------------------------------------------------------------------------------------------ left out spread
# How much the models of the bags without each row differ: standard deviations of their predictions, not clipped.
#
# Clipped predictions may agree where the models do not: where all of them leave the range. Bags without rows have no
# model, and do not count. If models agree the deviation is zero, exactly: one below a millionth of what they are away
# from the mean of all models is rounding, and taken as zero.

_ROUNDING = 1e-12  # of a mean square


def spread(average: BagAverage, raw: np.ndarray) -> np.ndarray:
    """Return the standard deviation over all bags at some points; shape (n_points,)."""
    weights = _weights(average)
    return _deviation(np.broadcast_to(weights[:, None] / weights.sum(), raw.shape), raw)


def left_out_spread(average: BagAverage, raw: np.ndarray) -> np.ndarray:
    """Return the standard deviation over the bags without each row, or unit.

    Parameters
    ----------
    average : BagAverage
        What is averaged; no row is in every bag.
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
    """The weights of the bags, of which those without rows have none."""
    return np.where(average.bags.sizes > 0, average.weights, 0.0)


def _adding_up(weights: np.ndarray, axis: int) -> np.ndarray:
    """The weights divided by their sum; all zero if there are none."""
    total = weights.sum(axis=axis, keepdims=True)
    return weights / np.where(total > 0, total, 1.0)


def _deviation(weights: np.ndarray, values: np.ndarray) -> np.ndarray:
    """The standard deviation of each column, by weights that add up to one in each; zero if all values are equal."""
    there = weights > 0
    low, high = np.where(there, values, np.inf).min(axis=0), np.where(there, values, -np.inf).max(axis=0)
    length = np.maximum(high - low, 0.0)  # it is below zero if nothing is there
    offsets = np.where(there, values - low, 0.0) / np.where(length > 0, length, 1.0)
    mean = (weights * offsets).sum(axis=0)
    deviation: np.ndarray = np.sqrt((weights * (offsets - mean) ** 2).sum(axis=0)) * length
    return deviation
