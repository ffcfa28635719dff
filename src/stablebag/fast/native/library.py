"""Load the compiled library, grow trees with it, and predict with them."""

import copy
import ctypes
import sys
import threading
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

# -------------------------------------------------------------------------------------------------------------- loading
# Loads the compiled library in this folder, if it exists and has the right version.

ABI = 1  # of native.h
SUFFIXES = {"win32": ".dll", "darwin": ".dylib"}
PATH = Path(__file__).with_name("_native" + SUFFIXES.get(sys.platform, ".so"))


def library() -> ctypes.CDLL | None:
    """Return the compiled library, or None if there is none that can be used."""
    return _loaded(PATH)[0]


def why_not() -> str:
    """Return why there is no compiled library, in words that complete 'because ...'; empty if there is one."""
    return _loaded(PATH)[1]


@cache
def _loaded(path: Path) -> tuple[ctypes.CDLL | None, str]:
    """Return the library and an empty reason, or None and the reason."""
    if not path.exists():
        return None, "stablebag was installed without its compiled part"
    try:
        loaded = ctypes.CDLL(str(path))
        abi = int(loaded.stablebag_abi())
    except (OSError, AttributeError) as error:
        return None, f"the compiled part of stablebag cannot be loaded ({error})"
    if abi != ABI:
        return None, f"the compiled part of stablebag has version {abi} instead of {ABI}; install stablebag again"
    return loaded, ""


# ----------------------------------------------------------------------------------------------------------- prediction
# Predictions of many trees at many points.

NODE = np.dtype([("threshold", "<f8"), ("feature", "<i4"), ("right", "<i4")])


class Forest:
    """Trees that predict together, without copying their arrays.

    If the feature of an inner node is at most its threshold, the next node follows, else `right`. A leaf has threshold
    -inf, feature 0, and `right` is the leaf itself.

    Parameters
    ----------
    nodes : sequence of arrays of dtype NODE
        One array per tree.
    values : sequence of (n_nodes, n_outputs) float64 arrays
        The predictions of the nodes of each tree.
    """

    def __init__(self, nodes: Sequence[np.ndarray], values: Sequence[np.ndarray]) -> None:
        if len(nodes) != len(values):
            raise ValueError(f"nodes and values must have one array per tree, got {len(nodes)} and {len(values)}.")
        self._kept = list(nodes), list(values)  # the arrays that the pointers refer to
        self._nodes = _pointers(self._kept[0], NODE, 1)
        self._values = _pointers(self._kept[1], np.dtype(np.float64), 2)
        self._sizes = np.array([len(line) for line in nodes], np.int64)
        if [len(line) for line in values] != self._sizes.tolist():
            raise ValueError("The values of a tree must have one line per node.")
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
        """Return each tree's predictions at finite float32 points, as (n_trees, n_points, n_outputs).

        `out` is an array of that shape to write to, with a contiguous part for each tree.
        """
        compiled = library()
        if compiled is None:
            raise RuntimeError(f"Cannot predict, because {why_not()}.")
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
    """Return the addresses of arrays, after checking that C can read them."""
    if not all(line.dtype == dtype and line.ndim == ndim and line.flags.c_contiguous and len(line) for line in arrays):
        raise ValueError(f"Trees must be contiguous {ndim}-dimensional arrays of {dtype} with at least one node.")
    return np.array([_address(line) for line in arrays], np.uintp)


def _address(array: np.ndarray) -> int:
    """Return the address of an array; the fast way needs a writeable array."""
    try:
        return ctypes.addressof(ctypes.c_char.from_buffer(array))  # type: ignore[arg-type]
    except TypeError:
        return int(array.ctypes.data)


def _common(widths: list[int]) -> int:
    """Return the number of outputs, which must be the same for all trees."""
    if len(set(widths)) > 1:
        raise ValueError(f"All trees must have the same number of outputs, got {sorted(set(widths))}.")
    return widths[0] if widths else 1


def _checked(out: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Return an array to write to, if that is possible."""
    fits = out.shape == shape and out.dtype == np.float64 and out.flags.writeable
    if not (fits and all(line.flags.c_contiguous for line in out[:1])):
        raise ValueError(f"out must be a writeable float64 array of shape {shape} with a contiguous part per tree.")
    return out


@cache
def _function(compiled: ctypes.CDLL) -> Any:
    """Return the compiled function with its types declared."""
    number, pointer = ctypes.c_int64, ctypes.c_void_p
    function = compiled.stablebag_predict
    function.restype = None
    function.argtypes = [number, *[pointer] * 3, number, pointer, number, number, pointer, number]
    return function


# -------------------------------------------------------------------------------------------------------------- growing
# Growing decision trees, one bag per call.

CRITERIA = {"squared_error": 0, "gini": 1, "entropy": 2, "log_loss": 2}
_SMALL = 64  # rows of a small node
_LOG_SCALE = 2.0**32
_INT = ctypes.c_int32
_POINTER = ctypes.c_void_p


class TreeArrays(NamedTuple):
    """A tree with its nodes in depth-first order: the left child of a node is the next node.

    `nodes` have a threshold, a feature and the right child; a leaf has threshold -inf, feature 0 and itself as child.
    """

    nodes: np.ndarray
    impurity: np.ndarray
    n_samples: np.ndarray
    value: np.ndarray
    seen: np.ndarray  # the classes in the bag, by their positions among all classes; empty for regression
    max_depth: int


class Limits(NamedTuple):
    """The limits below which a node of a tree is not split."""

    min_samples_split: int
    min_samples_leaf: int
    min_weight_leaf: float


class _Table(ctypes.Structure):
    _fields_ = (
        *((name, _INT) for name in ("n_rows", "n_features", "n_classes", "criterion", "max_features", "max_depth")),
        ("min_impurity_decrease", ctypes.c_double),
        *((name, _POINTER) for name in ("columns", "order", "crowded", "targets", "codes", "terms")),
    )  # of trees.h


class _Fit(ctypes.Structure):
    _fields_ = (
        *((name, _INT) for name in ("n_rows", "min_samples_split", "min_samples_leaf", "order_matters")),
        ("min_weight_leaf", ctypes.c_double),
        *((name, _POINTER) for name in ("rows", "memory", "inverse", "logs", "nodes", "impurity", "value")),
        *((name, _POINTER) for name in ("n_samples", "seen")),
        *((name, _INT) for name in ("n_nodes", "depth", "n_seen", "release")),
    )  # of trees.h


class Grower:
    """Grows trees on bags of rows of one table.

    Parameters
    ----------
    library : CDLL
        The compiled library.
    X : ndarray of float32, shape (n_rows, n_features)
        The rows, with finite values.
    y : ndarray of shape (n_rows,)
        The targets as float64, or the codes of classes as int32.
    n_classes : int
        The number of classes; 0 for regression.
    criterion : str
        The criterion, as scikit-learn calls it.
    max_features : int
        The number of features to draw at each node.
    max_depth : int
        The depth beyond which no node is split.
    min_impurity_decrease : float
        The smallest gain of a split.
    release : int
        The minor version of scikit-learn 1 to reproduce: 8 for 1.8.
    """

    def __init__(
        self,
        library: ctypes.CDLL,
        X: np.ndarray,
        y: np.ndarray,
        *,
        n_classes: int,
        criterion: str,
        max_features: int,
        max_depth: int,
        min_impurity_decrease: float,
        release: int,
    ) -> None:
        self._grow, self._bytes = library.stablebag_fit_tree, library.stablebag_tree_bytes
        self._bytes.restype = ctypes.c_int64
        columns = np.ascontiguousarray(X.T, dtype=np.float32)
        order = np.argsort(columns, axis=1, kind="stable").astype(np.int32)
        ordered = np.take_along_axis(columns, order, axis=1)
        same_value = np.float32(0 if release < 8 else 1e-7)  # as in trees.c
        crowded = np.any(ordered[:, 1:] <= ordered[:, :-1] + same_value, axis=1).astype(np.uint8)
        terms = np.empty((_SMALL, _SMALL))
        library.stablebag_tree_terms(_POINTER(terms.ctypes.data))
        self._kept: list[np.ndarray] = [columns, order, crowded, y, y, terms]  # that the pointers refer to
        self.n_rows, self.n_features, self.n_classes = *X.shape, n_classes
        self._table = _Table(
            *X.shape, n_classes, CRITERIA[criterion], max_features, max_depth, min_impurity_decrease,
            *(array.ctypes.data for array in self._kept),
        )  # fmt: skip
        self._release, self._by_thread = release, threading.local()

    def grow(self, rows: np.ndarray, seed: int, limits: Limits, *, order_matters: bool) -> TreeArrays:
        """Return the tree of a bag; `order_matters` unless sums of targets are exact in any order."""
        rows = np.ascontiguousarray(rows, dtype=np.int64)
        space = self._space(len(rows))
        fit = space.fit
        fit.n_rows, fit.rows, fit.order_matters = len(rows), rows.ctypes.data, order_matters
        fit.min_samples_split, fit.min_samples_leaf, fit.min_weight_leaf = limits
        fit.release = self._release
        if self._grow(ctypes.byref(self._table), ctypes.byref(fit), ctypes.c_uint32(seed)):
            raise IndexError(f"A bag contains a row number outside of the {self.n_rows:,} rows of the table.")
        n, k = fit.n_nodes, fit.n_seen if self.n_classes else 1
        return TreeArrays(
            space.nodes[:n].copy(), space.impurity[:n].copy(), space.n_samples[:n].copy(),
            space.value[: n * k].copy().reshape(n, k), space.seen[: fit.n_seen].copy(), fit.depth,
        )  # fmt: skip

    def _space(self, n_rows: int) -> "_Space":
        """The workspace of this thread, with memory for a bag of this many rows."""
        space: _Space | None = getattr(self._by_thread, "space", None)
        if space is None or space.n_rows < n_rows:
            n_bytes = self._bytes(*map(_INT, (self.n_rows, n_rows, self.n_features, self.n_classes)))
            space = self._by_thread.space = _Space(n_rows, n_bytes, self.n_classes)
        return space


class _Space:
    """Memory for a bag of up to n rows, and tables that all nodes use."""

    def __init__(self, n_rows: int, n_bytes: int, n_classes: int) -> None:
        self.n_rows = n_rows
        n_nodes = 2 * n_rows - 1
        numbers = np.arange(1, n_rows + 1, dtype=np.float64)
        logs = np.concatenate([[0.0], numbers * np.log(numbers)]) if n_classes else np.zeros(1)
        self.nodes, self.impurity = np.empty(n_nodes, NODE), np.empty(n_nodes)
        self.value, self.n_samples = np.empty(n_nodes * max(n_classes, 1)), np.empty(n_nodes, np.int32)
        self.seen = np.empty(n_classes, np.int32)
        self._kept: Any = (
            np.empty(n_bytes + 64, np.uint8), np.concatenate([[0.0], 1 / numbers]),
            np.rint(logs * _LOG_SCALE).astype(np.int64),
        )  # fmt: skip
        self.fit = _Fit()
        self.fit.memory = (self._kept[0].ctypes.data + 63) // 64 * 64
        self.fit.inverse, self.fit.logs = (array.ctypes.data for array in self._kept[1:])
        for name in ("nodes", "impurity", "value", "n_samples", "seen"):
            setattr(self.fit, name, getattr(self, name).ctypes.data)
