"""Summaries over rows of how far they move predictions; a line of distances may stand for many rows that are alike.

`pooled` has one line for each row, or for rows that are alike, along its first axis. `counts` says how many rows each
line stands for; None is one each.
"""

import math

import numpy as np


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
