"""The ends of the jackknife+ from the bags already fitted, searched among the rows with residuals of about that rank.

The prediction without row i is near the one with all rows, so adding residual i keeps the order of residuals that are
far apart. Rows whose residuals are far from the wanted one are therefore only counted; that they may be is proved at
each point, and where it cannot be, more rows are looked at. The proof allows for rounding: the ends are those of all
rows, whatever the last digits of a prediction are.
"""

import math

import numpy as np

from stablebag.learning.averaging import BagAverage
from stablebag.measuring.left_out_lines import BagPoints, LeftOutLines, extremes, outside_weights

_SHARES = (1 / 8, 1 / 4, 3 / 8, 1 / 2, 3 / 4)  # of the rows: the windows that are tried before all rows
_FEWEST_ROWS = 512  # with fewer, all are looked at
_CROWDED = 0.05  # the share of rows, those in the most bags, that are looked at always


class RankSearch:
    """The lower and upper ends of the jackknife+ at any points.

    Parameters
    ----------
    rank : int
        The rank of the order statistic, at most the number of rows.
    residuals : ndarray of shape (n_samples,)
        The leave-one-out residuals.
    average : BagAverage
        The average over the bags.
    """

    def __init__(self, rank: int, residuals: np.ndarray, average: BagAverage) -> None:
        n, special = len(residuals), average.special_units
        shares = outside_weights(average) / (len(average.bags) if average.drawn else 1)
        crowded = np.argsort(shares, kind="stable")[: int(_CROWDED * n) if n >= _FEWEST_ROWS else 0]
        always = np.array([*special, *np.setdiff1d(crowded, special)], dtype=np.intp)
        order = np.argsort(residuals, kind="stable")
        is_other = np.ones(n, dtype=bool)
        is_other[always] = False
        others = order[is_other[order]]
        self._rank, self._radius = rank, float(residuals[order[rank - 1]])
        self._always, self._others = residuals[always], residuals[others]
        self._lines = LeftOutLines(average, always, others)
        lowest = float(shares[others].min(initial=1.0))
        lowest -= 0 if average.drawn else len(average.bags) * float(np.finfo(float).eps)  # for rounding of sums
        self._deviations = math.sqrt(max(0.0, 1 - lowest) / lowest)
        self._spare = 1 + 2 / math.sqrt(len(average.bags))  # because the order statistic is not quite at the mean
        self._windows = self._nested_windows() if n >= _FEWEST_ROWS and len(always) < n / 4 else []

    def ends(self, points: BagPoints) -> tuple[np.ndarray, np.ndarray]:
        """Return the ends at some points."""
        ends, left = np.empty((2, len(points))), np.arange(len(points))
        if self._windows:
            mean, reach = points.mean_and_reach(self._deviations)
            for window, distance in self._windows:
                tried = left[self._spare * reach[left] < distance]
                if len(tried):
                    self._search(points, tried, window, ends)
                    proved = tried[self._proved(window, mean[tried], reach[tried], *ends[:, tried])]
                    left = np.setdiff1d(left, proved, assume_unique=True)
        if len(left):
            self._search(points, left, slice(0, len(self._others)), ends)
        return ends[0], ends[1]

    def _nested_windows(self) -> list[tuple[slice, float]]:
        """Windows of the other rows, and how far the residuals are at least, outside of each, from the wanted one."""
        distances = np.sort(np.abs(self._others - self._radius))
        places = [int(share * len(distances)) for share in _SHARES]
        return [(self._within(distances[place]), float(distances[place])) for place in places]

    def _within(self, distance: float) -> slice:
        """The other rows whose residuals are as near to the wanted one as this."""
        low = np.searchsorted(self._others, self._radius - distance, side="left")
        high = np.searchsorted(self._others, self._radius + distance, side="right")
        return slice(int(low), int(high))

    def _search(self, points: BagPoints, numbers: np.ndarray, window: slice, ends: np.ndarray) -> None:
        """Write the ends at these points as if the rows outside of the window were on the sides of their residuals."""
        memory = np.empty(0)
        for some, always, others in self._lines.blocks(points, numbers, window):
            start, stop = self._doubtful(always, others, window)
            doubtful, n_always = others[:, start - window.start : stop - window.start], len(self._always)
            if memory.size < (size := len(some) * (n_always + stop - start)):
                memory = np.empty(size)
            shifted = memory[:size].reshape(len(some), -1)
            place = self._rank - 1 - start
            for end, shift in ((1, np.add), (0, np.subtract)):
                shift(always, self._always, out=shifted[:, :n_always])
                shift(doubtful, self._others[start:stop], out=shifted[:, n_always:])
                shifted.partition(place, axis=1)
                ends[end, some] = shifted[:, place]
                place = shifted.shape[1] - 1 - place  # of the lower end, counted from the largest

    def _doubtful(self, always: np.ndarray, others: np.ndarray, window: slice) -> tuple[int, int]:
        """The rows of a window, from where to where, whose places the residuals alone do not decide at some point.

        They decide between rows whose residuals differ by more than the predictions without them do.
        """
        low, high = extremes(always, others)
        rounding = 1e-12 * (self._radius + float(np.maximum(-low, high).max()))
        near = self._within(float((high - low).max()) + rounding)
        return max(near.start, window.start), min(near.stop, window.stop)

    def _proved(
        self, window: slice, mean: np.ndarray, reach: np.ndarray, lower: np.ndarray, upper: np.ndarray
    ) -> np.ndarray:
        """Whether all rows outside of the window are on the sides of their residuals."""
        low, high = mean - reach, mean + reach  # the predictions without any such row are in between
        proved = np.ones(len(mean), dtype=bool)
        if window.start > 0:
            largest = self._others[window.start - 1]
            proved &= (high + largest <= upper) & (low - largest >= lower)
        if window.stop < len(self._others):
            smallest = self._others[window.stop]
            proved &= (low + smallest >= upper) & (high - smallest <= lower)
        return proved
