"""How much the models of the bags without each row differ: standard deviations of their predictions, not clipped.

Clipped predictions may agree where the models do not: where all of them leave the range. Bags without rows have no
model, and do not count. If models agree the deviation is zero, exactly: one below a millionth of what they are away
from the mean of all models is rounding, and taken as zero.
"""

from typing import Any

import numpy as np

from stablebag._checks import read_only
from stablebag.learning.averaging import BagAverage
from stablebag.learning.out_of_bag import lacking_blocks
from stablebag.learning.rows import fingerprint, take_rows
from stablebag.learning.sources.source import RowSource

_ROUNDING = 1e-12  # of a mean square
_BLOCK_BYTES = 2**27


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
    for rows, inside in average.bags.inclusion_blocks(max_bytes=max(1, _BLOCK_BYTES // 9)):
        outside = _adding_up(~inside.T * weights, axis=1)
        second = outside @ squares
        variance = second - (outside @ offsets) ** 2
        found[rows] = np.sqrt(np.where(variance > _ROUNDING * second, variance, 0.0)) * unit
    return found


def spread_at_rows(model: Any, rows: np.ndarray | None = None) -> np.ndarray:
    """Return, at each training row of a fitted model, the standard deviation over the bags without it, or its unit.

    With `rows`, it is for some rows only, given by their positions. The result is kept with the model.
    """
    average = model.average_

    def at(some: slice | np.ndarray, raw: np.ndarray) -> np.ndarray:
        return _deviation(_adding_up(average.lacks(some) * _weights(average)[:, None], axis=0), raw)

    def work_out() -> np.ndarray:
        X = model.X_
        if rows is not None:
            X = X.take(rows) if isinstance(X, RowSource) else take_rows(X, rows)
        return read_only(np.concatenate([at(*block) for block in lacking_blocks(model, X, rows)]))

    key = "spread at rows" if rows is None else f"spread at rows {fingerprint(rows)}"
    found: np.ndarray = model.remembered(key, work_out)
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
