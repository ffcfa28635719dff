"""Checks of what learners return before it is averaged: a copy of the right shape, of numbers or of known classes."""

from typing import Any

import numpy as np

_OFF = 1e-3  # how far the sum of probabilities may be from 1: some learners work in half precision
_ROUNDING = 1e-9


def numbers(given: Any, n_points: int, n_outputs: int | None = None, places: np.ndarray | None = None) -> np.ndarray:
    """Return the predictions of a regressor: one number for each point, or one for each output, in a new array.

    If the points are some of a table, `places` are their numbers there, for error messages.

    >>> numbers([[1], [2]], n_points=2)
    array([1., 2.])
    """
    prediction = _reals(given)
    if n_outputs is not None:
        if prediction.shape != (n_points, n_outputs):
            raise ValueError(
                f"it predicted an array of shape {prediction.shape} for {n_outputs} outputs at {n_points} points."
            )
        return _without_nan(np.ascontiguousarray(prediction), places)
    if prediction.shape not in ((n_points,), (n_points, 1)):
        raise ValueError(f"it predicted an array of shape {prediction.shape} for {n_points} points.")
    return _without_nan(prediction.reshape(-1), places)


def votes(given: Any, n_points: int, classes: np.ndarray) -> np.ndarray:
    """Return one-hot votes for the labels that a classifier predicts: one label for each point."""
    labels = np.asarray(unmasked(given))
    if labels.shape not in ((n_points,), (n_points, 1)):
        raise ValueError(f"it predicted labels of shape {labels.shape} for {n_points} points.")
    return one_hot(labels, classes)


def probabilities(
    given: Any, n_points: int, seen: Any, classes: np.ndarray, places: np.ndarray | None = None
) -> np.ndarray:
    """Return the probabilities of all classes, zero for those that a classifier has not seen.

    >>> probabilities([[0.25, 0.75]], 1, seen=["c", "a"], classes=np.array(["a", "b", "c"]))
    array([[0.75, 0.  , 0.25]])
    """
    seen = np.asarray(seen)
    if seen.ndim != 1:
        raise ValueError(f"its classes_ are not a list of labels, but an array of shape {seen.shape}.")
    if len(set(seen.tolist())) != len(seen):
        raise ValueError(f"its classes_ have the same class twice: {seen.tolist()}.")
    table = _reals(given)
    if table.shape != (n_points, len(seen)):
        raise ValueError(f"its probabilities have shape {table.shape}, not {(n_points, len(seen))}.")
    _without_nan(table, places)
    total = table.sum(axis=1)
    if (np.abs(table - 0.5) > 0.5 + _OFF).any() or (np.abs(total - 1) > _OFF).any():
        raise ValueError("its probabilities are not between 0 and 1 with sum 1.")
    if (np.abs(table - 0.5) > 0.5).any() or (np.abs(total - 1) > _ROUNDING).any():
        table = np.clip(table, 0.0, 1.0)  # the proofs are about probabilities
        table /= table.sum(axis=1, keepdims=True)
    if np.array_equal(seen, classes):
        return table
    aligned = np.zeros((n_points, len(classes)))
    aligned[:, one_hot(seen, classes).argmax(axis=1)] = table
    return aligned


def decisions(given: Any, n_points: int, seen: Any, classes: np.ndarray) -> np.ndarray:
    """Return the decision function for all classes, or of the second of two: one number for each point.

    A class that a classifier has not seen gets the lowest of its scores at the point, so that it never leads. A single
    column is the score of the second class that was seen; its negative is that of the first.

    >>> decisions([[0.5, -2.0]], 1, seen=["a", "c"], classes=np.array(["a", "b", "c"]))
    array([[ 0.5, -2. , -2. ]])
    >>> decisions([3.0], 1, seen=["a", "c"], classes=np.array(["a", "b", "c"]))
    array([[-3., -3.,  3.]])
    """
    seen, scores = np.asarray(seen), _without_nan(_reals(given))
    if not np.isfinite(scores).all():
        point = int(np.argwhere(~np.isfinite(scores))[0][0])
        raise ValueError(f"its decision function at point {point} is infinite.")
    places = one_hot(seen, classes).argmax(axis=1)
    if len(seen) == 2 and scores.shape in ((n_points,), (n_points, 1)):
        second = scores.reshape(-1)
        if len(classes) == 2:
            return second if places[1] == 1 else -second
        scores = np.stack([-second, second], axis=1)
    if len(classes) == 2 or scores.shape != (n_points, len(seen)):
        expected = (n_points,) if len(classes) == 2 else (n_points, len(seen))
        raise ValueError(f"its decision function has shape {scores.shape}, not {expected}.")
    aligned = np.repeat(scores.min(axis=1, keepdims=True), len(classes), axis=1)
    aligned[:, places] = scores
    return aligned


def undecided(n_points: int, classes: np.ndarray) -> np.ndarray:
    """Return the decision function of a bag without rows or with a single class: zero, for lack of any other."""
    return np.zeros(n_points if len(classes) == 2 else (n_points, len(classes)))


def one_hot(labels: Any, classes: np.ndarray) -> np.ndarray:
    """Return one row per label, with a one in the column of its class.

    >>> one_hot(["b", "a"], np.array(["a", "b", "c"]))
    array([[0., 1., 0.],
           [1., 0., 0.]])
    """
    labels = np.asarray(labels).reshape(-1)
    if labels.dtype.kind != classes.dtype.kind:  # numpy does not compare texts with numbers
        labels, classes = labels.astype(object), classes.astype(object)
    table: np.ndarray = np.equal(labels[:, None], classes[None, :]).astype(float)
    if not table.any(axis=1).all():
        unknown = labels[~table.any(axis=1)][0]
        raise ValueError(f"it predicts the class {unknown!r}, which is not among {classes.tolist()}.")
    return table


def _reals(given: Any) -> np.ndarray:
    """Real numbers in a new array, because the learner may reuse its own."""
    array = np.asarray(unmasked(given))
    if array.dtype.kind not in "biufO":
        raise ValueError(f"it predicted values of type {array.dtype}, which are not real numbers.")
    return np.array(array, dtype=float)


def unmasked(given: Any) -> Any:
    """Return what was given, but refuse it if some of it is masked."""
    if isinstance(given, np.ma.MaskedArray) and np.ma.getmaskarray(given).any():
        raise ValueError("its prediction is masked at some points.")
    return given


def _without_nan(prediction: np.ndarray, places: np.ndarray | None = None) -> np.ndarray:
    if np.isnan(prediction).any():
        point = int(np.argwhere(np.isnan(prediction))[0][0])
        raise ValueError(f"its prediction at point {point if places is None else places[point]} is NaN.")
    return prediction
