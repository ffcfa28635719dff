"""The average over bags, with all rows and without each of them: what is averaged, and how."""

import numpy as np

from stablebag.bags import Bags
from stablebag.ranges import Interval

_BLOCK_BYTES = 2**27


def lonely_rows(y: np.ndarray) -> dict[int, np.ndarray]:
    """Return the rows that are the only ones of their class, with equal probabilities of the others."""
    classes, counts = np.unique(y, return_counts=True)
    return {
        int(np.flatnonzero(y == classes[lonely])[0]): (np.arange(len(classes)) != lonely) / (len(classes) - 1)
        for lonely in np.flatnonzero(counts == 1)
    }


def without_class(raw: np.ndarray, empty: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Without the only row of a class, a bag without rows gives probability to the other classes alone."""
    again = raw.copy()
    again[empty] = others
    return again


def clipped(raw: np.ndarray, interval: Interval, empty: np.ndarray) -> np.ndarray:
    """Clip to an interval; a bag without rows predicts its middle."""
    outputs: np.ndarray = np.clip(raw, *interval)
    outputs[empty] = middle(interval)
    return outputs


def middle(interval: Interval) -> float:
    """Return the middle of an interval, also of one whose ends do not add up in floats."""
    return interval[0] / 2 + interval[1] / 2


def deviation_over_bags(outputs: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the standard deviation over bags, worked out in units of the largest: no square leaves the floats."""
    centred = np.abs(outputs - np.tensordot(weights, outputs, axes=1))
    unit = centred.max(axis=0)
    centred /= np.where(unit > 0, unit, 1.0)
    deviation: np.ndarray = np.sqrt(np.tensordot(weights, centred**2, axes=1)) * unit
    return deviation


def weighted_sum(predictions: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the average over bags."""
    total: np.ndarray = np.tensordot(weights, predictions, axes=1)
    return total


def averages_without(predictions: np.ndarray, bags: Bags, weights: np.ndarray) -> np.ndarray:
    """Return the average over the bags without row i, for every row i, by one matrix product per block of rows."""
    columns = predictions.reshape(len(bags), -1)
    result = np.empty((bags.n_samples, columns.shape[1]))
    equal = bool((weights == weights[0]).all())
    weighted = columns if equal else columns * weights[:, None]
    # A block of bool, and as many floats for the product.
    for rows, inside in bags.inclusion_blocks(max_bytes=max(1, _BLOCK_BYTES // 9)):
        outside = (~inside.T).astype(float)
        total = outside.sum(axis=1) if equal else outside @ weights
        np.matmul(outside, weighted, out=result[rows])
        result[rows] /= total[:, None]
    shaped: np.ndarray = result.reshape(bags.n_samples, *predictions.shape[1:])
    return shaped
