"""The predictions without each row, one line per point, in blocks that stay in the processor's cache."""

from collections.abc import Iterator
from functools import cached_property

import numpy as np

from stablebag.learning.averaging import BagAverage

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
        self._matrix = self._outside(slice(0, len(self._rows))) if small else None

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
                result[:, part.start - rows.start : part.stop - rows.start] = lines @ self._outside(part).T
        result /= self._totals[rows]

    def _outside(self, places: slice) -> np.ndarray:
        """One line for each row at these places, with 1.0 for each bag that is without it."""
        rows, bags = self._rows[places], self.average.bags
        matrix = np.zeros((len(rows), len(bags)))
        for block, inside in bags.inclusion_blocks():
            here = np.flatnonzero((block.start <= rows) & (rows < block.stop))
            matrix[here] = ~inside.T[rows[here] - block.start]
        return matrix


def extremes(always: np.ndarray, others: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the smallest and the largest prediction without a row at each point of a block."""
    parts = [part for part in (always, others) if part.shape[1]]
    low = np.minimum.reduce([part.min(axis=1) for part in parts])
    return low, np.maximum.reduce([part.max(axis=1) for part in parts])


def outside_weights(average: BagAverage) -> np.ndarray:
    """Return the total weight of the bags without row i, or their number if they were drawn; shape (n_samples,)."""
    if average.drawn:
        return average.bags.n_without.astype(float)
    return np.concatenate([~inside.T @ average.weights for _, inside in average.bags.inclusion_blocks()])


def point_blocks(average: BagAverage, raw: np.ndarray) -> Iterator[BagPoints]:
    """Walk the predictions of all bags by blocks of points, so that memory is bounded."""
    step = max(1, _MATRIX_BYTES // 32 // (len(raw) + len(average.special_units)))
    for first in range(0, raw.shape[1], step):
        yield BagPoints(average, raw[:, first : first + step])
