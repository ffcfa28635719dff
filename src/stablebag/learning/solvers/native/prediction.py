"""Predictions of many trees at many points, by the compiled library."""

import copy
import ctypes
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from stablebag.learning.solvers.native.loading import library

NODE = np.dtype([("threshold", "<f8"), ("feature", "<i4"), ("right", "<i4")])


class Forest:
    """Trees that predict together, each tree where it lies in memory.

    An inner node goes to the node after it where its feature is at most its threshold, and to `right` otherwise. A leaf
    has threshold -inf, feature 0 and `right` leads to itself.

    Parameters
    ----------
    nodes : sequence of arrays of dtype NODE
        One per tree.
    values : sequence of (n_nodes, n_outputs) float64 arrays
        What the nodes of a tree predict.
    """

    def __init__(self, nodes: Sequence[np.ndarray], values: Sequence[np.ndarray]) -> None:
        if len(nodes) != len(values):
            raise ValueError(f"There are {len(nodes)} trees of nodes and {len(values)} of values.")
        self._kept = list(nodes), list(values)  # the arrays to which the pointers lead
        self._nodes = _pointers(self._kept[0], NODE, 1)
        self._values = _pointers(self._kept[1], np.dtype(np.float64), 2)
        self._sizes = np.array([len(line) for line in nodes], np.int64)
        if [len(line) for line in values] != self._sizes.tolist():
            raise ValueError("Each node of a tree has its line of values.")
        self.n_outputs = _common([line.shape[1] for line in values])

    def __len__(self) -> int:
        return len(self._nodes)

    def __getitem__(self, some: slice) -> "Forest":
        """Return some of the trees."""
        part = copy.copy(self)
        parts = (np.ascontiguousarray(column[some]) for column in (self._nodes, self._values, self._sizes))
        part._nodes, part._values, part._sizes = parts
        return part

    def predict(self, points: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        """Return what each tree says at finite float32 points, as (n_trees, n_points, n_outputs).

        `out` is an array of that shape to write into, of which each tree's part is contiguous.
        """
        compiled = library()
        if compiled is None:
            raise RuntimeError("There is no compiled library; ask scikit-learn's trees themselves.")
        points = np.ascontiguousarray(points, np.float32)
        shape = (len(self), len(points), self.n_outputs)
        out = np.empty(shape) if out is None else _checked(out, shape)
        if out.size:
            _function(compiled)(
                len(self), self._nodes.ctypes.data, self._sizes.ctypes.data, self._values.ctypes.data, self.n_outputs,
                points.ctypes.data, *points.shape, out.ctypes.data, out.strides[0] // out.itemsize,
            )  # fmt: skip
        return out


def _pointers(arrays: list[np.ndarray], dtype: np.dtype[Any], ndim: int) -> np.ndarray:
    """Return where arrays begin, after a look at whether C can read them."""
    if not all(line.dtype == dtype and line.ndim == ndim and line.flags.c_contiguous and len(line) for line in arrays):
        raise ValueError(f"Trees are made of contiguous {ndim}-dimensional arrays of {dtype} with at least one node.")
    return np.array([_address(line) for line in arrays], np.uintp)


def _address(array: np.ndarray) -> int:
    """Return where an array begins: quickly, for there may be thousands, if it is one that can be written to."""
    try:
        return ctypes.addressof(ctypes.c_char.from_buffer(array))  # type: ignore[arg-type]
    except TypeError:
        return int(array.ctypes.data)


def _common(widths: list[int]) -> int:
    """Return the one number of outputs that all trees have."""
    if len(set(widths)) > 1:
        raise ValueError(f"Trees that predict together have the same number of outputs, not {sorted(set(widths))}.")
    return widths[0] if widths else 1


def _checked(out: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Return an array to write into, if that is possible."""
    fits = out.shape == shape and out.dtype == np.float64 and out.flags.writeable
    if not (fits and all(line.flags.c_contiguous for line in out[:1])):
        raise ValueError(f"out is a writeable float64 array of shape {shape}, each tree's part contiguous.")
    return out


@cache
def _function(compiled: ctypes.CDLL) -> Any:
    """Return the compiled function, told what it takes."""
    number, pointer = ctypes.c_int64, ctypes.c_void_p
    function = compiled.stablebag_predict
    function.restype = None
    function.argtypes = [number, *[pointer] * 3, number, pointer, number, number, pointer, number]
    return function
