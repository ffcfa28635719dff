"""The predictions without each row, held once for all rows that are in the same bags.

A row matters only through the bags that hold it, unless leaving it out changes more, such as the range. Rows in no bag
move nothing. So of a billion rows only the patterns are looked at, and every summary over rows is exact: a line counts
as often as it has rows.
"""

from abc import ABC, abstractmethod
from functools import cached_property
from typing import Any

import numpy as np

from stablebag._checks import read_only
from stablebag.learning.averaging import BagAverage, all_the_same
from stablebag.resampling.patterns import RowPatterns

MOST_BYTES = 2**32  # of an array with a line for each row that is made on demand


class SharedLines(ABC):
    """The predictions without each row; an array with a line for each row is made of them only where it is small.

    There is one line for the rows in no bag, one for each pattern, and one for each of the rows apart, in this order.

    Parameters
    ----------
    patterns : RowPatterns
        Which rows are in which bags.
    prediction : ndarray of shape (n_points,) or (n_points, n_classes)
        The prediction with all rows.
    """

    def __init__(self, patterns: RowPatterns, prediction: np.ndarray) -> None:
        self.patterns, self.prediction = patterns, read_only(prediction)

    @abstractmethod
    def lines(self, points: slice) -> np.ndarray:
        """Return all lines at some points; shape (n_lines, n_points) or (n_lines, n_points, n_classes)."""

    @abstractmethod
    def take(self, lines: np.ndarray) -> np.ndarray:
        """Return some lines at all points."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape that an array with a line for each row has."""
        return self.patterns.n_samples, *self.prediction.shape

    @property
    def ndim(self) -> int:
        """The number of axes that it has."""
        return len(self.shape)

    def __len__(self) -> int:
        return self.shape[0]

    @cached_property
    def counts(self) -> np.ndarray:
        """How many rows have each line."""
        apart = np.ones(len(self.patterns.apart), np.int64)
        return np.concatenate([[self.patterns.n_untouched], self.patterns.counts, apart])

    def line_of(self, rows: np.ndarray) -> np.ndarray:
        """Return the line of each of these rows."""
        lines = self.patterns.places(rows) + 1
        there = np.isin(rows, self.patterns.apart)
        lines[there] = 1 + len(self.patterns) + np.searchsorted(self.patterns.apart, rows[there])
        return lines

    def rows_of(self, lines: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the first k rows of some lines, line by line in this order, and the line of each."""
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
        """Return the predictions without some rows: a number, a list of numbers or a slice."""
        if isinstance(rows, tuple):
            raise TypeError("Take the rows first, and then points of them: left_out[rows][:, points].")
        if isinstance(rows, slice):
            rows = range(*rows.indices(len(self)))
            self.refuse_if_large(len(rows))
        numbers = np.asarray(rows)
        if numbers.dtype == bool and numbers.shape == (len(self),):
            numbers = np.flatnonzero(numbers)
        if numbers.dtype.kind not in "iu" and numbers.size:
            raise IndexError(f"Rows are numbers, a mask with one entry for each of the {len(self):,} rows, or a slice.")
        numbers = numbers.astype(np.int64)
        if ((numbers < -len(self)) | (numbers >= len(self))).any():
            raise IndexError(f"A row outside of the {len(self):,} rows was asked for.")
        return self.take(self.line_of(numbers.ravel() % len(self))).reshape(*numbers.shape, *self.prediction.shape)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """Return the array with a line for each row, if it is small."""
        self.refuse_if_large(len(self))
        array: np.ndarray = self.lines(slice(None))[self.line_of(np.arange(len(self)))]
        return array if dtype is None else array.astype(dtype)

    def refuse_if_large(self, n_rows: int, n_points: int | None = None) -> None:
        """Refuse to make an array with a line for each of so many rows if it would be large."""
        n_points = len(self.prediction) if n_points is None else n_points
        size = 8 * n_rows * n_points * self.prediction[:1].size
        if size > MOST_BYTES:
            raise ValueError(
                f"An array of {n_rows:,} rows by {n_points:,} points would take {size / 2**30:,.1f} GiB, and no more "
                f"than {MOST_BYTES / 2**30:g} GiB are made on demand. Summaries over rows need no such array; take "
                "some rows with left_out[rows], or measure some with leave_one_out(model, X, rows=...)."
            )

    def table(self, lines: np.ndarray, prediction: np.ndarray) -> "LineTable":
        """Return other lines of the same rows."""
        return LineTable(self.patterns, prediction, lines)


class LineTable(SharedLines):
    """Lines that are held as an array.

    Parameters
    ----------
    patterns : RowPatterns
        As in `SharedLines`.
    prediction : ndarray
        As in `SharedLines`.
    held : ndarray of shape (n_lines, n_points) or (n_lines, n_points, n_classes)
        The lines.
    """

    def __init__(self, patterns: RowPatterns, prediction: np.ndarray, held: np.ndarray) -> None:
        super().__init__(patterns, prediction)
        self._held = read_only(held)

    def lines(self, points: slice) -> np.ndarray:
        """Return all lines at some points."""
        some: np.ndarray = self._held[:, points]
        return some

    def take(self, lines: np.ndarray) -> np.ndarray:
        """Return some lines at all points."""
        some: np.ndarray = self._held[lines]
        return some


class BagLines(SharedLines):
    """Lines that are worked out from what each bag predicts, where they are asked for.

    With f the average of all bags, that without row i is f - sum of w_b (y_b - f) over the bags b with it, divided by
    the weight of the others. For rows in more than half of the bags, it is f + the same sum over those others, divided
    by their weight: so no large sum, of which little should be left, is divided by a small number.

    Parameters
    ----------
    average : BagAverage
        How the predictions of all bags become one.
    raw : ndarray of shape (n_bags, n_points) or (n_bags, n_points, n_classes)
        What each bag predicts, not yet clipped.
    """

    def __init__(self, average: BagAverage, raw: np.ndarray) -> None:
        average.refuse_units_in_every_bag()
        self._as_probabilities = average.as_probabilities
        prediction = average.prediction([raw])
        weights = np.ones(len(average.bags)) if average.drawn else average.weights
        special = np.unique(np.array(average.special_units, dtype=np.int64))
        super().__init__(RowPatterns.of(average.bags, special), prediction)
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
        # How many bags are without the rows of each line.
        self.n_without = np.concatenate([[len(average.bags)], len(average.bags) - self.patterns.n_inside, without])

    def lines(self, points: slice) -> np.ndarray:
        """Return all lines at some points."""
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
        """Return some lines at all points."""
        result = np.repeat(self.prediction[None], len(lines), axis=0)
        inside = np.flatnonzero((lines > 0) & (lines <= len(self.patterns)))
        asked, centred = lines[inside] - 1, self._centred.reshape(len(self._centred), -1)
        moved = self.patterns.matrix[asked] @ centred
        place = np.searchsorted(self._many, asked)
        many = np.flatnonzero(np.append(self._many, -1)[place] == asked)
        moved[many] = -(self._others[place[many]] @ centred)
        moved /= self._outside[asked, None]
        result[inside] -= moved.reshape(-1, *self.prediction.shape)
        apart = np.flatnonzero(lines > len(self.patterns))
        result[apart] = self._apart[lines[apart] - len(self.patterns) - 1]
        return self._as_probabilities(result)
