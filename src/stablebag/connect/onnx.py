"""ONNX: bagged models as graphs that predict without Python."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.linear_model import (
    ARDRegression,
    BayesianRidge,
    ElasticNet,
    ElasticNetCV,
    HuberRegressor,
    Lars,
    LarsCV,
    Lasso,
    LassoCV,
    LassoLars,
    LassoLarsCV,
    LassoLarsIC,
    LinearRegression,
    LogisticRegression,
    LogisticRegressionCV,
    OrthogonalMatchingPursuit,
    QuantileRegressor,
    Ridge,
    RidgeCV,
    SGDRegressor,
    TheilSenRegressor,
)
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from stablebag import __version__
from stablebag._checks import refuse_value, shown
from stablebag.models.average import BagAverage
from stablebag.models.ensemble import check_bagged
from stablebag.models.fitted import fitted
from stablebag.models.learners import one_hot, probabilities
from stablebag.models.rows import Output
from stablebag.models.solving import CONSTANT, NotCovered, as_matrix, is_tree

# Exactly these classes, because a subclass may predict in another way.
_REGRESSIONS = (
    ARDRegression,
    BayesianRidge,
    ElasticNet,
    ElasticNetCV,
    HuberRegressor,
    Lars,
    LarsCV,
    Lasso,
    LassoCV,
    LassoLars,
    LassoLarsCV,
    LassoLarsIC,
    LinearRegression,
    OrthogonalMatchingPursuit,
    QuantileRegressor,
    Ridge,
    RidgeCV,
    SGDRegressor,
    TheilSenRegressor,
)
_LOGISTIC = (LogisticRegression, LogisticRegressionCV)
_LINEAR = (*_REGRESSIONS, *_LOGISTIC)
_NEIGHBOURS = (KNeighborsRegressor, KNeighborsClassifier)
_MANHATTAN = ("manhattan", "l1", "cityblock")
_COVERED = (
    "scikit-learn's trees, linear regressions, logistic regression and k nearest neighbours, and linear models after "
    "a StandardScaler"
)
_OPSET, _ML_OPSET, _IR = 17, 5, 10  # the first with an operator for trees in double precision


def to_onnx(model: Any, *, dtype: Any = "float64") -> Any:
    """Return a fitted bagged model as an ONNX graph, to predict without Python.

    The graph averages over the bags as `predict` and `predict_proba` do. That includes clipping, bags without rows or
    without a class, `max_features`, several outputs and ``n_bags="all"``. Its input ``X`` has one column per feature,
    in the order of the training table. A regressor has the output ``prediction``; a classifier has the outputs
    ``label`` and ``probabilities``. They have the shapes that `predict` and `predict_proba` return.

    The learner must be one of scikit-learn's trees, a linear regression, a logistic regression or k nearest neighbours;
    a linear model may come after a `StandardScaler`. Other learners raise a ValueError.

    The graph computes in double precision, so its predictions differ from scikit-learn's by rounding only, with these
    exceptions:

    - Nearest neighbours whose distances are equal, up to rounding. If a bag has more such rows than it needs, the graph
      takes those that come first in the bag, and scikit-learn takes any of them.
    - Labels of classes whose average probabilities are equal, up to rounding.
    - Points in single precision for a `StandardScaler` or a model fitted to single precision. There, scikit-learn
      itself computes in single precision.

    Trees take the same branch at every split, also at points exactly on a threshold. The graph does not check its
    input: where `predict` raises an error, it may return any numbers. The graph of nearest neighbours contains the
    training rows.

    Parameters
    ----------
    model : BaggedRegressor or BaggedClassifier
        The fitted model.
    dtype : {"float64", "float32"}, default="float64"
        The type of the numbers that go in and come out.

    Returns
    -------
    onnx.ModelProto
        The graph. `SerializeToString()` returns the bytes of an ONNX file.

    Examples
    --------
    >>> import numpy as np
    >>> import onnxruntime
    >>> from sklearn.datasets import load_diabetes
    >>> from stablebag import BaggedRegressor
    >>> from stablebag.connect import to_onnx
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = BaggedRegressor(n_bags=20, random_state=0).fit(X, y)
    >>> session = onnxruntime.InferenceSession(to_onnx(model).SerializeToString())
    >>> (prediction,) = session.run(["prediction"], {"X": X})
    >>> bool(np.allclose(prediction, model.predict(X), rtol=1e-12))
    True
    """
    try:
        from onnx import helper
    except ImportError as error:
        raise ImportError("Converting models needs onnx: pip install 'stablebag[onnx]'.") from error
    check_bagged(model, "to_onnx", outputs="any")
    kind = _tensor_type(_checked(dtype))
    graph, bags = _Graph(), _Bags.of(model)
    average, classes = _average(graph, bags), bags.average.classes
    outputs = []
    if classes is not None:
        labels = _labels(classes)
        graph.op("Gather", graph.constant(labels), graph.op("ArgMax", average, axis=1, keepdims=0), to="label")
        outputs.append(helper.make_tensor_value_info("label", _tensor_type(labels.dtype), (None,)))
    name, one = "prediction" if classes is None else "probabilities", bags.has_one_number
    graph.op("Cast", graph.op("Reshape", average, np.array([-1])) if one else average, to=name, attributes={"to": kind})
    outputs.append(helper.make_tensor_value_info(name, kind, (None,) if one else (None, bags.n_numbers)))
    points = helper.make_tensor_value_info("X", kind, (None, model.n_features_in_))
    made = helper.make_graph(graph.nodes, type(model).__name__, [points], outputs, graph.constants)
    opsets = [helper.make_opsetid("", _OPSET), helper.make_opsetid("ai.onnx.ml", _ML_OPSET)]
    about = {"producer_name": "stablebag", "producer_version": __version__}
    proto = helper.make_model(made, opset_imports=opsets, ir_version=_IR, **about)
    if hasattr(model, "feature_names_in_"):
        helper.set_model_props(proto, {"feature_names": "\n".join(model.feature_names_in_)})
    return proto


def _average(graph: "_Graph", bags: "_Bags") -> str:
    """Add the average over the bags, of shape (n_points, n_numbers)."""
    X, learner = graph.cast("X", "float64"), bags.model.estimator_
    steps = [step for _, step in learner.steps] if type(learner) is Pipeline else [learner]
    is_scaled = all(type(step) is StandardScaler or step in (None, "passthrough") for step in steps[:-1])
    if is_tree(learner):
        total = _trees(graph, bags, X)
    elif type(steps[-1]) in _LINEAR and is_scaled:
        total = _linear(graph, bags, X)
    elif type(learner) in _NEIGHBOURS:
        total = _neighbours(graph, bags, X)
    else:
        raise _not_covered(f"bags of {' and '.join(type(step).__name__ for step in steps)}")
    average = graph.op("Div", total, np.array(float(len(bags)))) if bags.average.drawn else total
    return graph.clip(average, bags.range if bags.average.classes is None else (np.array(0.0), np.array(1.0)))


def _not_covered(what: str) -> ValueError:
    return ValueError(f"to_onnx cannot convert {what}. It converts {_COVERED}. Predict in Python, or use one of these.")


def _checked(dtype: Any) -> str:
    """The name of one of the two types of numbers."""
    name = dtype.name if isinstance(dtype, np.dtype) else dtype.__name__ if isinstance(dtype, type) else dtype
    if not isinstance(name, str) or name not in ("float64", "float32"):
        reason = "it is the type of what goes in and comes out. The graph computes in double precision."
        raise refuse_value("dtype", "to_onnx", "'float64' or 'float32'", dtype, reason)
    return name


def _tensor_type(dtype: Any) -> int:
    from onnx import helper

    return int(helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))


def _labels(classes: np.ndarray) -> np.ndarray:
    """The classes as an array of a type that ONNX has."""
    values = classes.tolist()
    for kind, plain in ((bool, bool), (int, np.int64), (float, float), (str, object)):
        if all(isinstance(value, kind) for value in values):
            return np.array(values, dtype=plain)
    raise ValueError(
        f"to_onnx needs labels of one type: texts, numbers or booleans, but the classes are {shown(values)}. Convert "
        "the labels before fitting, for example with y.astype(str)."
    )


# ---------------------------------------------------------------------------------------------------------------- graph


@dataclass
class _Graph:
    """The nodes and constants of a graph, which get their names in order."""

    nodes: list[Any] = field(default_factory=list)
    constants: list[Any] = field(default_factory=list)
    prefix: str = ""

    def constant(self, value: np.ndarray) -> str:
        """Add a constant, and return its name."""
        from onnx import helper, numpy_helper

        name = f"{self.prefix}constant_{len(self.constants)}"
        if value.dtype == object:
            text = [str(each).encode() for each in value]
            self.constants.append(helper.make_tensor(name, _tensor_type(value.dtype), value.shape, text))
        else:
            self.constants.append(numpy_helper.from_array(np.ascontiguousarray(value).reshape(value.shape), name))
        return name

    def op(self, kind: str, *inputs: Any, to: str | list[str] = "", domain: str = "",
           attributes: dict[str, Any] | None = None, **more: Any) -> str:  # fmt: skip
        """Add an operation on earlier results and arrays, and return the name of its first result."""
        from onnx import helper

        names = [value if isinstance(value, str) else self.constant(value) for value in inputs]
        results = [to or f"{self.prefix}{kind}_{len(self.nodes)}"] if isinstance(to, str) else to
        self.nodes.append(helper.make_node(kind, names, results, domain=domain, **(attributes or {}), **more))
        return results[0]

    def clip(self, value: str, ends: tuple[Any, Any] | None) -> str:
        """Add clipping to a range, if there is one."""
        return value if ends is None else self.op("Min", self.op("Max", value, ends[0]), ends[1])

    def weighted_sum(self, each: str, weights: np.ndarray, constant: np.ndarray, axis: int) -> str:
        """Add the weighted sum of what the bags predict, and what the other bags add to it at all points."""
        each = each if (weights == 1).all() else self.op("Mul", each, weights[:, None])
        total = self.op("ReduceSum", each, np.array([axis]), keepdims=0)
        return self.op("Add", total, constant) if constant.any() else total

    def repeat(self, constant: np.ndarray, X: str) -> str:
        """Add the same numbers for every point."""
        shape = self.op("Concat", self.op("Shape", X, start=0, end=1), np.array([len(constant)]), axis=0)
        return self.op("Expand", constant[None], shape)

    def cast(self, value: str, dtype: str) -> str:
        """Add a conversion to another type."""
        return self.op("Cast", value, attributes={"to": _tensor_type(dtype)})


# ----------------------------------------------------------------------------------------------------------------- bags


@dataclass(frozen=True)
class _Bags:
    """The models of all bags, and how they are averaged."""

    model: Any
    average: BagAverage
    output: Output | None

    @classmethod
    def of(cls, model: Any) -> "_Bags":
        return cls(model, fitted(model).average, getattr(model, "output_", None))

    def __len__(self) -> int:
        return len(self.average.bags)

    @property
    def n_numbers(self) -> int:
        """How many numbers are averaged at a point."""
        return self.average.n_numbers

    @property
    def has_one_number(self) -> bool:
        """Whether a prediction is one number, without an axis for classes or outputs."""
        return self.average.classes is None and self.average.output_names is None

    @property
    def range(self) -> tuple[np.ndarray, np.ndarray] | None:
        """The ends of the range that the predictions of each bag and their average are clipped to, if there is one."""
        if self.average.interval is None:
            return None
        low, high = (np.broadcast_to(end, self.n_numbers).astype(float) for end in self.average.interval)
        return low, high

    @property
    def weights(self) -> np.ndarray:
        """What each bag counts in the sum: one if the sum is divided by their number afterwards."""
        return np.ones(len(self)) if self.average.drawn else self.average.weights

    def clipped(self, values: np.ndarray) -> np.ndarray:
        """Return what a bag predicts, clipped to the range if there is one."""
        return values if self.range is None else np.asarray(np.clip(values, *self.range))

    def chosen(self, values: np.ndarray) -> np.ndarray:
        """Return the numbers of the output that the model predicts, of lines with all outputs."""
        return values if self.output is None else values[:, [self.output.number]]

    def models(self) -> Iterator[tuple[int, float, np.ndarray, Any]]:
        """Yield the number, weight, columns and model of each bag."""
        columns = self.model.estimators_features_
        for number, (weight, of_bag) in enumerate(zip(self.weights.tolist(), columns, strict=True)):
            yield number, weight, of_bag, self.model.estimators_[number]

    def constant(self, model: Any) -> np.ndarray:
        """Return what the constant model of a bag predicts, one number per class or output."""
        if self.average.classes is not None:
            values = probabilities(model.predict_proba([[0.0]]), 1, model.classes_, self.average.classes)
        else:
            values = self.clipped(self.chosen(np.reshape(model.predict([[0.0]]), (1, -1))))
        return np.asarray(values[0])


# ---------------------------------------------------------------------------------------------------------------- trees
# All trees of all bags are one TreeEnsemble. A leaf adds one number to one class or output. A tree whose leaves have
# several numbers other than zero becomes several trees; in those, branches that add nothing are cut.


def _trees(graph: _Graph, bags: _Bags, X: str) -> str:
    from onnx import numpy_helper

    forest, constant = _Forest(), np.zeros(bags.n_numbers)
    for _, weight, columns, model in bags.models():
        if isinstance(model, CONSTANT):
            constant += weight * bags.constant(model)
            continue
        tree = model.tree_
        if bags.average.classes is None:
            values = bags.clipped(bags.chosen(tree.value[:, :, 0]))
        else:
            values = probabilities(tree.value[:, 0], tree.node_count, model.classes_, bags.average.classes)
        constant += forest.add(tree, columns, weight * values)
    if not forest.roots:
        return graph.repeat(constant, X)
    attributes: dict[str, Any] = {name: np.concatenate(parts) for name, parts in forest.parts.items()}
    attributes["nodes_modes"] = np.zeros(forest.n_nodes, np.uint8)  # less or equal
    for name, value in attributes.items():
        is_tensor = name in ("nodes_splits", "nodes_modes", "leaf_weights")
        attributes[name] = numpy_helper.from_array(value, name) if is_tensor else value.tolist()
    attributes |= {
        "tree_roots": forest.roots,
        "n_targets": bags.n_numbers,
        "aggregate_function": 1,
        "post_transform": 0,
    }
    # Trees round points to single precision, and compare them with thresholds of double precision.
    rounded = graph.cast(graph.cast(X, "float32"), "float64")
    found = graph.op("TreeEnsemble", rounded, domain="ai.onnx.ml", attributes=attributes)
    return graph.op("Add", found, constant) if constant.any() else found


@dataclass
class _Forest:
    """The attributes of a TreeEnsemble, with one array per tree."""

    roots: list[int] = field(default_factory=list)
    parts: dict[str, list[np.ndarray]] = field(default_factory=lambda: defaultdict(list))
    n_nodes: int = 0
    n_leaves: int = 0

    def __post_init__(self) -> None:
        # Some versions of onnxruntime (its issue 24679; at least 1.21 to 1.23) take a root for a leaf if its children
        # are a leaf and a split with the same number. With two leaves that belong to no tree, the numbers differ: every
        # tree has one leaf more than splits, so its first leaf has a larger number than the split below its root.
        self._extend(leaf_weights=np.zeros(2), leaf_targetids=np.zeros(2, dtype=int))

    def add(self, tree: Any, columns: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Add trees with these values at the leaves; return the values that all points get, which need no tree."""
        constant = np.zeros(values.shape[1])
        leaf = tree.children_left < 0
        values = np.where(leaf[:, None], values, 0.0)
        order = np.argsort(values == 0, axis=1, kind="stable")  # numbers other than zero first
        for rank in range(values.shape[1]):
            target = order[:, rank]
            value = values[np.arange(len(values)), target]
            if not value.any():
                break
            if leaf[0]:
                constant[target[0]] += value[0]
            else:
                self._add(tree, columns, value, target, cut=rank > 0)
        return constant

    def _add(self, tree: Any, columns: np.ndarray, value: np.ndarray, target: np.ndarray, *, cut: bool) -> None:
        left, right = tree.children_left, tree.children_right
        ends = left < 0
        for node in reversed(np.flatnonzero(~ends).tolist()) if cut else ():  # children come after their parents
            ends[node] = all(ends[child] and value[child] == 0 for child in (left[node], right[node]))
        kept = np.ones(len(ends), bool)
        for node in np.flatnonzero(left >= 0).tolist() if cut else ():
            kept[left[node]] = kept[right[node]] = kept[node] and not ends[node]
        inner, outer = kept & ~ends, kept & ends
        place = np.where(inner, np.cumsum(inner) - 1 + self.n_nodes, np.cumsum(outer) - 1 + self.n_leaves)
        self.roots.append(self.n_nodes)
        self._extend(
            nodes_featureids=columns[tree.feature[inner]],
            nodes_splits=tree.threshold[inner],
            nodes_truenodeids=place[left[inner]],
            nodes_trueleafs=ends[left[inner]].astype(int),
            nodes_falsenodeids=place[right[inner]],
            nodes_falseleafs=ends[right[inner]].astype(int),
            nodes_missing_value_tracks_true=tree.missing_go_to_left[inner].astype(int),
            leaf_weights=value[outer],
            leaf_targetids=target[outer],
        )

    def _extend(self, **more: np.ndarray) -> None:
        for name, values in more.items():
            self.parts[name].append(values)
        self.n_nodes += len(more.get("nodes_splits", ()))
        self.n_leaves += len(more["leaf_weights"])


# --------------------------------------------------------------------------------------------------------------- linear
# One matrix has the coefficients of all bags. Without clipping, the average of linear models is a linear model.


def _linear(graph: _Graph, bags: _Bags, X: str) -> str:
    n_features, n_numbers = bags.model.n_features_in_, bags.n_numbers
    models, several = list(bags.models()), bags.average.classes is not None
    coefficients = np.zeros((len(bags), n_features, n_numbers))
    intercepts = np.zeros((len(bags), n_numbers))
    weights, constant, centre = bags.weights.copy(), np.zeros(n_numbers), _centre(models, n_features)
    for number, weight, columns, model in models:
        if isinstance(model, CONSTANT):
            weights[number] = 0.0
            constant += weight * bags.constant(model)
            continue
        slopes, intercept = _scores(bags, model[-1] if type(model) is Pipeline else model)
        for place, scaler in reversed(list(enumerate(_scalers(model)))):
            slopes = slopes if scaler.scale_ is None else slopes / scaler.scale_[:, None]
            if scaler.with_mean:
                intercept = intercept + ((0.0 if place else centre[columns]) - scaler.mean_) @ slopes
        coefficients[number, columns], intercepts[number] = slopes, intercept
    X = graph.op("Sub", X, centre) if centre.any() else X
    if not several and bags.range is None:
        line = np.tensordot(weights, coefficients, axes=1)
        return graph.op("Add", graph.op("MatMul", X, line), weights @ intercepts + constant)
    flat = coefficients.transpose(1, 0, 2).reshape(n_features, -1)
    scores = graph.op("Add", graph.op("MatMul", X, flat), intercepts.reshape(-1))
    scores = graph.op("Reshape", scores, np.array([-1, len(bags), n_numbers]))
    each = graph.op("Softmax", scores, axis=-1) if several else graph.clip(scores, bags.range)
    return graph.weighted_sum(each, weights, constant, axis=1)


def _scalers(model: Any) -> list[Any]:
    """The scalers in front of a model."""
    steps = model.steps[:-1] if type(model) is Pipeline else []
    return [step for _, step in steps if type(step) is StandardScaler]


def _centre(models: list[Any], n_features: int) -> np.ndarray:
    """The average mean of each column in the bags' first scalers, which is subtracted first to keep the digits."""
    total, count = np.zeros(n_features), np.zeros(n_features)
    for _, _, columns, model in models:
        for scaler in _scalers(model)[:1]:
            if scaler.with_mean:
                total[columns] += scaler.mean_
                count[columns] += 1
    return total / np.maximum(count, 1)


def _scores(bags: _Bags, model: Any) -> tuple[np.ndarray, np.ndarray]:
    """The slopes and intercepts of a linear model, one column per class or output."""
    slopes = np.atleast_2d(np.asarray(model.coef_, dtype=float))
    intercept = np.broadcast_to(np.asarray(model.intercept_, dtype=float).reshape(-1), len(slopes))
    if bags.average.classes is None:
        return bags.chosen(slopes.T), bags.chosen(intercept[None])[0]
    seen = one_hot(model.classes_, bags.average.classes).argmax(axis=1)
    if getattr(model, "multi_class", "auto") not in ("auto", "deprecated"):  # scikit-learn 1.7 and earlier
        raise _not_covered(f"{type(model).__name__} with multi_class={model.multi_class!r}")
    if model.solver == "liblinear" and len(seen) > 2:
        raise _not_covered(f"{type(model).__name__} with solver='liblinear' and more than two classes")
    if len(seen) == 2:
        slopes, intercept = np.stack([0 * slopes[0], slopes[0]]), np.array([0.0, intercept[0]])
    all_slopes = np.zeros((slopes.shape[1], bags.n_numbers))
    all_intercepts = np.full(bags.n_numbers, -np.inf)  # of classes that the bag lacks, whose probability is zero
    all_slopes[:, seen], all_intercepts[seen] = slopes.T, intercept
    return all_slopes, all_intercepts


# ----------------------------------------------------------------------------------------------------------- neighbours
# The distances of a point to all training rows are computed once. Every bag then looks for the smallest among its rows.
# The graph does this for one point after the other, so that many points need no more memory.


def _neighbours(graph: _Graph, bags: _Bags, X: str) -> str:
    from onnx import TensorProto, helper

    learner, rows = bags.model.estimator_, _rows(bags)
    k, live = int(learner.n_neighbors), list[int]()
    members, constant = bags.model.estimators_samples_, np.zeros(bags.n_numbers)
    for number, (weight, model) in enumerate(zip(bags.weights, bags.model.estimators_.stored, strict=True)):
        if isinstance(model, CONSTANT):
            constant += weight * bags.constant(model)
        elif len(members[number]) < k:
            raise ValueError(
                f"to_onnx needs bags of at least n_neighbors={k} rows, and bag {number} has {len(members[number])}. "
                "Use larger bags or fewer neighbours."
            )
        else:
            live.append(number)
    if not live:
        return graph.repeat(constant, X)
    padded = np.full((len(live), max(len(members[number]) for number in live)), len(rows))
    for place, number in enumerate(live):
        padded[place, : len(members[number])] = members[number]
    classes, y = bags.average.classes, bags.average.y
    targets = y.reshape(len(y), -1).astype(float) if classes is None else one_hot(y, classes)

    body = _Graph(constants=graph.constants, prefix="point_")
    away = body.op("Sub", rows, "point")
    plain = learner.metric in _MANHATTAN or (learner.metric == "minkowski" and learner.p == 1)
    distances = body.op("ReduceSum", body.op("Abs", away) if plain else body.op("Mul", away, away), _AXIS_1, keepdims=0)
    distances = body.op("Concat", distances, np.array([np.inf]), axis=0)  # the last for places that a bag does not fill
    in_bags = body.constant(padded)
    near, places = "point_near", "point_places"
    body.op("TopK", body.op("Gather", distances, in_bags), np.array([k]), to=[near, places], largest=0)
    found = body.op("Gather", targets, body.op("GatherElements", in_bags, places, axis=1))
    if learner.weights == "uniform":
        each = body.op("Div", body.op("ReduceSum", found, _AXIS_1, keepdims=0), np.array(float(k)))
    else:
        inverse = body.op("Div", np.array(1.0), near if plain else body.op("Sqrt", near))
        infinite = body.cast(body.op("IsInf", inverse), "float64")
        some = body.op("Greater", body.op("ReduceMax", infinite, axes=[1], keepdims=1), np.array(0.5))
        shares = body.op("Unsqueeze", body.op("Where", some, infinite, inverse), np.array([2]))
        total = body.op("ReduceSum", body.op("Mul", found, shares), _AXIS_1, keepdims=0)
        each = body.op("Div", total, body.op("ReduceSum", shares, _AXIS_1, keepdims=0))
    each = body.clip(each, bags.range)
    total = body.weighted_sum(each, bags.weights[live], constant, axis=0)
    point = helper.make_tensor_value_info("point", TensorProto.DOUBLE, (rows.shape[1],))
    result = helper.make_tensor_value_info(total, TensorProto.DOUBLE, (bags.n_numbers,))
    return graph.op("Scan", X, num_scan_inputs=1, body=helper.make_graph(body.nodes, "point", [point], [result]))


_AXIS_1 = np.array([1])


def _rows(bags: _Bags) -> np.ndarray:
    """The training rows as a matrix, if the graph can search in them as the learner does."""
    learner = bags.model.estimator_
    name = type(learner).__name__
    metric = learner.p if learner.metric == "minkowski" else learner.metric
    if metric not in (1, 2, "euclidean", "l2", *_MANHATTAN) or learner.metric_params is not None:
        raise _not_covered(f"{name} with a metric that is neither Euclidean nor Manhattan")
    if learner.weights not in ("uniform", "distance"):
        raise _not_covered(f"{name} with weights={learner.weights!r}")
    if bags.model.estimators_.subspaces is not None:
        raise _not_covered(f"{name} with max_features={bags.model.max_features!r}")
    if fitted(bags.model).X is None:
        raise ValueError("to_onnx needs the training rows of nearest neighbours. Fit the model with keep_rows=True.")
    try:
        rows, _ = as_matrix(fitted(bags.model).X)
    except NotCovered as reason:
        raise _not_covered(f"{name}, because {reason}") from None
    return rows.astype(float)
