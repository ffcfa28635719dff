"""Whether two fitted models are the same, to the last bit."""

import types
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

_PLAIN = (bool, int, str, bytes, slice, type(None))


def same_model(one: Any, other: Any) -> bool:
    """Return whether two models have the same attributes, with the same bits in all arrays.

    >>> from sklearn.linear_model import Ridge
    >>> X, y = [[0.0], [1.0], [3.0]], [1.0, 2.0, 0.0]
    >>> same_model(Ridge().fit(X, y), Ridge().fit(X, y)), same_model(Ridge().fit(X, y), Ridge().fit(X, [1, 2, 0.1]))
    (True, False)
    """
    if type(one) is not type(other):
        return False
    if isinstance(one, np.ndarray):
        return _same_array(one, other)
    if isinstance(one, float | np.generic):  # also of numbers the sign of zero counts, and NaN is itself
        return _same_array(np.asarray(one), np.asarray(other))
    if isinstance(one, _PLAIN):
        return bool(one == other)
    if isinstance(one, np.dtype):
        return bool(one == other)
    if isinstance(one, np.random.RandomState):
        return same_model(one.get_state(), other.get_state())
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same_model(one[name], other[name]) for name in one)
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(same_model, one, other))
    if isinstance(one, type | types.FunctionType | types.BuiltinFunctionType):
        return one is other
    if isinstance(one, BaseEstimator):
        return same_model(vars(one), vars(other))
    return same_model(one.__getstate__(), other.__getstate__())  # what pickling keeps


def _same_array(one: np.ndarray, other: np.ndarray) -> bool:
    if one.dtype != other.dtype or one.shape != other.shape:
        return False
    if one.dtype.names is not None:  # the bytes between fields do not count
        return all(_same_array(one[name], other[name]) for name in one.dtype.names)
    if one.dtype.kind == "O":
        return all(map(same_model, one.ravel().tolist(), other.ravel().tolist()))
    return one.tobytes() == other.tobytes()
