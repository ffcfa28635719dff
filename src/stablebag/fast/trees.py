"""Decision trees grown by the compiled library: scikit-learn's trees, byte for byte."""

from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import ceil
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from stablebag.fast.native.library import Forest, Grower, Limits, TreeArrays, library, why_not
from stablebag.models.learners import Copies
from stablebag.models.rows import Points, as_float32
from stablebag.models.solving import (
    RELEASE,
    FitJob,
    NotCovered,
    Predictor,
    Solver,
    Structure,
    anything,
    as_matrix,
    check_parameters,
)

try:
    from sklearn.tree._tree import NODE_DTYPE, Tree  # private, but pickling uses the same state
except ImportError:
    NODE_DTYPE = Tree = None

_LARGEST = 2**31 - 1
_LARGEST_TARGET = 1e100  # sums of squares of larger targets may overflow
_SMALLEST_EXPONENT = -400  # squares of smaller numbers may underflow
MOST_ROWS = 2**26


@dataclass(frozen=True, eq=False)
class TreeStructure(Structure):
    """What the trees of all bags have in common."""

    learner: Any
    n_features: int
    feature_names: np.ndarray | None
    classes: np.ndarray | None

    model_type = TreeArrays

    def estimator(self, model: TreeArrays, seed: int) -> Any:
        fitted = self._copies.copy(seed)
        if self.feature_names is not None:
            fitted.feature_names_in_ = self.feature_names.copy()
        fill_tree(fitted, model, self.n_features, self.classes)
        return fitted

    def predictor(self, points: Points) -> Predictor | None:
        rows = self._as_float32(points)
        if rows is None or library() is None:
            return None

        def predict(trees: Any) -> np.ndarray:
            forest = trees if isinstance(trees, Forest) else self._forest(trees)
            lines = forest.predict(rows)
            return lines[:, :, 0] if self.classes is None else lines

        return predict

    def stacked(self, models: list[TreeArrays]) -> Any:
        whole = self.classes is None or all(len(model.seen) == len(self.classes) for model in models)
        return self._forest(models) if whole else models  # adding zeros for missing classes would take memory

    def _forest(self, models: list[TreeArrays]) -> Forest:
        return Forest([model.nodes for model in models], [values_of(model, self.classes) for model in models])

    def _as_float32(self, points: Points) -> np.ndarray | None:
        """The points as the trees convert them, if they are finite numbers with the same feature names."""
        found = points.as_float32
        if found is None and hasattr(points.X, "columns"):
            try:
                matrix, names = as_matrix(points.X)
            except NotCovered:
                return None
            same = names is not None and self.feature_names is not None and np.array_equal(names, self.feature_names)
            found = as_float32(matrix) if same else None
        return found if found is not None and found.shape[1] == self.n_features else None

    @cached_property
    def _copies(self) -> Copies:
        return Copies(self.learner)


class Trees(Solver):
    """scikit-learn's trees with the best splitter, on dense numbers. Needs the compiled library."""

    name = "trees"
    learners = (DecisionTreeRegressor, DecisionTreeClassifier)
    releases_lock = True

    def __init__(self, job: FitJob) -> None:
        self._plan = GrowthPlan(job.learner, job)
        matrix, names = as_matrix(job.X)
        X = as_float32(matrix)
        if X is None:
            raise NotCovered("missing, infinite or very large values are not covered")
        if len(X) > MOST_ROWS or X.size == 0:
            raise NotCovered(f"a table of shape {X.shape} is not covered")
        try:
            self._grower = self._plan.grower(X, self._plan.targets)
        except MemoryError as error:
            raise NotCovered("there is not enough memory to sort all columns") from error
        self.structure = TreeStructure(job.learner, X.shape[1], names, job.classes)

    def fit(self, rows: np.ndarray, seed: int) -> TreeArrays | None:
        if len(rows) > MOST_ROWS:
            return None
        try:
            return self._plan.grow(self._grower, rows, seed)
        except MemoryError:  # scikit-learn needs less
            return None


class GrowthPlan:
    """How a learner grows trees on the bags of a job, for any matrix of rows; raises `NotCovered` if it cannot.

    Parameters
    ----------
    learner : DecisionTreeRegressor or DecisionTreeClassifier
        The learner.
    job : FitJob
        The job, for its targets and classes.
    """

    def __init__(self, learner: Any, job: FitJob) -> None:
        compiled = library()
        if compiled is None:
            raise NotCovered(why_not())
        if Tree is None:
            raise NotCovered("this version of scikit-learn has different trees")
        self._seed, self._library, self._learner = _check(learner), compiled, learner
        self.targets, self._n_classes = _targets(job)
        self._limits = lru_cache(lambda n_rows: limits_of(learner, n_rows))
        self._most_rows_exact = MOST_ROWS if self._n_classes else n_exact_sums(self.targets)

    def grower(self, X: np.ndarray, targets: np.ndarray) -> Grower:
        """Return a grower of trees for bags of rows of a matrix of finite float32."""
        learner, n_features = self._learner, X.shape[1]
        return Grower(
            self._library, X, targets, n_classes=self._n_classes, criterion=learner.criterion,
            max_features=min(_max_features(learner.max_features, n_features), n_features),
            max_depth=min(learner.max_depth or _LARGEST, _LARGEST),
            min_impurity_decrease=float(learner.min_impurity_decrease), release=RELEASE,
        )  # fmt: skip

    def grow(self, grower: Grower, rows: np.ndarray, seed: int) -> TreeArrays:
        """Return the tree of a bag."""
        seed = seed if self._seed is None else self._seed
        return grower.grow(rows, seed, self._limits(len(rows)), order_matters=len(rows) > self._most_rows_exact)


def fill_tree(tree: Any, model: TreeArrays, n_features: int, classes: np.ndarray | None) -> None:
    """Set the attributes on an unfitted tree that its fit would have set, except for feature names."""
    tree.n_features_in_, tree.n_outputs_ = n_features, 1
    tree.max_features_ = _max_features(tree.max_features, n_features)
    if classes is not None:
        tree.classes_, tree.n_classes_ = classes[model.seen], np.intp(len(model.seen))
    tree.tree_ = Tree(n_features, np.array([model.value.shape[1]], dtype=np.intp), 1)
    tree.tree_.__setstate__(_state(model))


def values_of(model: TreeArrays, classes: np.ndarray | None) -> np.ndarray:
    """Return the predictions of the nodes of a tree, with zeros for classes that the bag lacks."""
    if classes is None or len(model.seen) == len(classes):
        return model.value
    values = np.zeros((len(model.value), len(classes)))
    values[:, model.seen] = model.value
    return values


def limits_of(learner: Any, n_rows: int) -> Limits:
    """Return the limits on splitting nodes in a bag with this many rows; fractions are of its rows."""
    leaf, split = learner.min_samples_leaf, learner.min_samples_split
    leaf = int(leaf) if isinstance(leaf, Integral) else ceil(leaf * n_rows)
    split = int(split) if isinstance(split, Integral) else max(2, ceil(split * n_rows))
    split, leaf = max(split, 2 * leaf), min(leaf, _LARGEST)
    return Limits(min(split, _LARGEST), leaf, float(learner.min_weight_fraction_leaf * n_rows))


def n_exact_sums(targets: np.ndarray) -> int:
    """Return for how many rows the sums of targets and of their squares are exact in any order.

    >>> n_exact_sums(np.array([1.0, 2.0, 3.0])) > 1_000_000, n_exact_sums(np.array([0.1, 0.3]))
    (True, 0)
    """
    share, exponent = np.frexp(targets[targets != 0])
    if len(share) == 0:
        return MOST_ROWS
    digits = np.abs(np.ldexp(share, 53)).astype(np.int64)
    unit = int((exponent - 53 + np.log2(digits & -digits).astype(int)).min())  # all are multiples of 2 to this power
    largest = int(exponent.max())  # and all are below 2 to this power
    bits = min(53 + unit - largest, 53 + 2 * unit - 2 * largest)
    return min(2**bits, MOST_ROWS) if bits > 0 and unit > _SMALLEST_EXPONENT else 0


def _state(model: TreeArrays) -> dict[str, Any]:
    """The state of scikit-learn's tree, as used for unpickling."""
    n, nodes = len(model.nodes), np.zeros(len(model.nodes), dtype=NODE_DTYPE)
    places = np.arange(n)
    inner = model.nodes["right"] != places
    leaf = ~inner
    nodes["left_child"], nodes["right_child"] = places + 1, model.nodes["right"]
    nodes["feature"], nodes["threshold"] = model.nodes["feature"], model.nodes["threshold"]
    for name, value in {"left_child": -1, "right_child": -1, "feature": -2, "threshold": -2.0}.items():
        nodes[name][leaf] = value
    nodes["impurity"] = model.impurity
    nodes["n_node_samples"] = nodes["weighted_n_node_samples"] = model.n_samples
    left, right = model.n_samples[places[inner] + 1], model.n_samples[model.nodes["right"][inner]]
    nodes["missing_go_to_left"][inner] = left > right
    values = model.value.reshape(n, 1, -1)
    return {"max_depth": model.max_depth, "node_count": n, "nodes": nodes, "values": values}


def _check(learner: Any) -> int | None:
    """Check that the parameters are covered; return the learner's own seed or None."""
    criteria = ("squared_error",) if isinstance(learner, DecisionTreeRegressor) else ("gini", "entropy", "log_loss")
    sizes = ("max_depth", "min_samples_split", "min_samples_leaf", "min_weight_fraction_leaf", "max_features")
    check_parameters(
        learner, criterion=criteria, ccp_alpha=lambda value: value == 0.0, min_impurity_decrease=anything,
        random_state=lambda value: value is None or isinstance(value, Integral), **dict.fromkeys(sizes, anything),
    )  # fmt: skip
    return None if learner.random_state is None else int(learner.random_state)


def _max_features(wanted: Any, n_features: int) -> Any:
    """The number of features to draw in each node, as scikit-learn computes it."""
    if wanted is None:
        return n_features
    if isinstance(wanted, str):
        return max(1, int({"sqrt": np.sqrt, "log2": np.log2}[wanted](n_features)))
    return wanted if isinstance(wanted, Integral) else max(1, int(wanted * n_features))


def _targets(job: FitJob) -> tuple[np.ndarray, int]:
    """The targets and 0 in regression; in classification, the codes of the classes and their number."""
    if job.classes is not None:
        return np.searchsorted(job.classes, job.y).astype(np.int32), len(job.classes)
    targets = np.ascontiguousarray(job.y, dtype=np.float64)
    if targets.ndim != 1 or not np.isfinite(targets).all() or (np.abs(targets) > _LARGEST_TARGET).any():
        raise NotCovered("targets beyond 1e100 are not covered")
    return targets, 0
