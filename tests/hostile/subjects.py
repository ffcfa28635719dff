"""Every public name with right arguments, which tests replace by wrong ones: a dozen rows, and models of a few bags.

Missing names or parameters fail a test. `SUBJECTS` has everything that is called. `MADE_BY` has the classes that only
functions return; their methods are called.
"""

import functools
import re
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from sklearn.feature_selection import f_regression
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.tree import DecisionTreeRegressor

import stablebag as sb
from public import public
from stablebag import connect, deciding, measuring, models, proving, resampling, showing, tables

N = 12
_RNG = np.random.default_rng(5)
X = _RNG.normal(size=(N, 2))
Y = X[:, 0] + 0.1 * _RNG.normal(size=N)
BOTH = np.column_stack([Y, 10 - Y**2])
LABELS = np.array(["a", "b"])[(Y > 0).astype(int)]
GROUPS = np.arange(N) // 2
POINTS = _RNG.normal(size=(3, 2))
TARGETS = np.array([0.5, -0.25, 1.0])


def score_columns(X: Any, y: Any) -> Any:
    """Return the share of each column in the relation to the target."""
    scores = f_regression(X, y)[0]
    return scores / scores.sum()


def best_column(X: Any, y: Any) -> int:
    """Return the column that is most related to the target."""
    return int(f_regression(X, y)[0].argmax())


def mean_algorithm(X: Any, y: Any, seed: int) -> Callable[[Any], Any]:
    """Return a function that predicts the mean of the targets at all points."""
    return lambda points: np.full(len(points), y.mean())


@functools.cache
def regressor(**options: Any) -> Any:
    """Return a fitted regressor, shared by all tests."""
    return sb.BaggedRegressor(Ridge(), n_bags=20, random_state=0, **options).fit(X, Y)


@functools.cache
def retrained() -> Any:
    """Return the regressor fitted to other targets, shared by all tests."""
    return sb.BaggedRegressor(Ridge(), n_bags=20, random_state=0).fit(X, Y + 1)


@functools.cache
def of_outputs() -> Any:
    """Return a fitted regressor of two outputs, shared by all tests."""
    return sb.BaggedRegressor(Ridge(), n_bags=20, random_state=0).fit(X, BOTH)


@functools.cache
def classifier() -> Any:
    """Return a fitted classifier, shared by all tests."""
    return sb.BaggedClassifier(LogisticRegression(), n_bags=20, random_state=0).fit(X, LABELS)


@functools.cache
def perturbations() -> Any:
    """Return leave-one-out changes, shared by all tests."""
    return sb.leave_one_out(regressor(), POINTS)


@functools.cache
def folder() -> Path:
    """Return a temporary folder with a Parquet file."""
    place = tempfile.TemporaryDirectory()
    folder.kept = place
    pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "y": Y, "who": GROUPS, "name": np.arange(N)}).to_parquet(
        Path(place.name) / "table.parquet"
    )
    sb.leave_one_out(regressor(), POINTS).save(Path(place.name) / "moves.npz")
    return Path(place.name)


def axes() -> Any:
    """Return axes without a window."""
    return Figure().subplots()


@dataclass(frozen=True)
class Subject:
    """A call, and how to make right arguments for it.

    Parameters
    ----------
    name : str
        What it is, beginning with the public name.
    call : callable
        Returns what is called.
    right : callable
        Returns the right arguments.
    untouched : mapping of str to str
        Parameters that are left as they are, each with the reason.
    """

    name: str
    call: Callable[[], Callable[..., Any]]
    right: Callable[[], dict[str, Any]]
    untouched: Mapping[str, str]

    @property
    def public(self) -> str:
        """The public name."""
        return re.match(r"\w+", self.name)[0]

    def __repr__(self) -> str:
        return self.name


SUBJECTS: list[Subject] = []
_INSIDE = "made by the library for itself"
_INTERNAL = dict.fromkeys(("noun", "outputs", "names", "index", "owner", "parameter", "box"), _INSIDE)
_ANY_TEXT = dict.fromkeys(("xlabel", "ylabel", "title", "guarantee_label"), "any text will do")


def _add(
    name: str, right: Callable[[], dict[str, Any]], call: Callable[[], Any] | None = None, **untouched: str
) -> None:
    found = call if call is not None else functools.partial(_public, name)
    SUBJECTS.append(Subject(name, found, right, _INTERNAL | _ANY_TEXT | untouched))


def _public(name: str) -> Any:
    first, *parts = name.split(".")
    thing: Any = public(first)
    for part in parts:
        thing = getattr(thing, part)
    return thing


def _fit(make: Callable[..., Any], y: Any) -> Callable[..., Any]:
    def call(X: Any = X, y: Any = y, sample_weight: Any = None, row_ids: Any = None, groups: Any = None, **others: Any):
        strata = others.pop("strata", None)
        model = make(**others)
        model.fit(X, y, sample_weight=sample_weight, row_ids=row_ids, groups=groups, strata=strata)
        return model.predict(POINTS)

    return call


# Estimators: parameters of the constructor and of fit together, because fit checks both.
_FIT = {"sample_weight": None, "row_ids": None, "groups": None, "strata": None}
_BAGGED = {
    "scheme": sb.Subbagging(0.5), "n_bags": 5, "n_jobs": 1, "warm_start": False, "keep_rows": True, "solver": "auto",
    "random_state": 0, "max_features": 1.0, "oob_score": False,
}  # fmt: skip


def _own(make: Any, more: dict[str, Any]) -> Callable[[], dict[str, Any]]:
    """Return the arguments of a bagged model that its constructor has."""

    def right() -> dict[str, Any]:
        known = make._get_param_names()
        given = {**_BAGGED, **more}
        return {name: value for name, value in given.items() if name in known or name in ("X", "y", *_FIT)}

    return right


_add("BaggedRegressor", _own(sb.BaggedRegressor, {"estimator": Ridge(), "prediction_range": sb.ObservedRange(),
     "X": X, "y": Y, **_FIT}), lambda: _fit(sb.BaggedRegressor, Y))  # fmt: skip
_add("BaggedClassifier", _own(sb.BaggedClassifier, {"estimator": LogisticRegression(), "X": X, "y": LABELS, **_FIT}),
     lambda: _fit(sb.BaggedClassifier, LABELS))  # fmt: skip
_add("BaggedRegressor.fit of units", lambda: {"X": X, "y": Y, "sample_weight": np.ones(N), "row_ids": None,
     "groups": GROUPS}, lambda: _fit(functools.partial(sb.BaggedRegressor, Ridge(), n_bags=5, random_state=0),
                                     Y))  # fmt: skip
_add("BaggedRegressor.fit of named rows", lambda: {"row_ids": np.arange(N) + 100},
     lambda: _fit(functools.partial(sb.BaggedRegressor, Ridge(), n_bags=5, random_state=0), Y))  # fmt: skip
_add("BaggedRegressor.fit of strata", lambda: {"strata": np.arange(N) % 2}, lambda: _fit(functools.partial(
     sb.BaggedRegressor, Ridge(), n_bags=5, random_state=0, scheme=sb.StratifiedSubbagging(0.5)), Y))  # fmt: skip
for _name in ("predict", "bag_predictions"):
    _add(f"BaggedRegressor.{_name}", lambda: {"X": POINTS}, lambda _name=_name: getattr(regressor(), _name))
_add("BaggedRegressor.fit of columns and a score", lambda: {"max_features": 1, "oob_score": True, "X": X, "y": Y},
     lambda: _fit(functools.partial(sb.BaggedRegressor, Ridge(), n_bags=20, random_state=0), Y))  # fmt: skip
_add("BaggedRegressor.fit of outputs", lambda: {"y": BOTH, "oob_score": True, "max_features": 0.5,
     "prediction_range": [sb.ObservedRange(), sb.FixedRange(-100.0, 100.0)]},
     lambda: _fit(functools.partial(sb.BaggedRegressor, Ridge(), n_bags=20, random_state=0), BOTH))  # fmt: skip
_add("BaggedRegressor.output", lambda: {"name": 1}, lambda: lambda name: of_outputs().output(name).predict(POINTS))
for _name in ("predict", "bag_predictions"):
    _add(f"BaggedRegressor.{_name} of outputs", lambda: {"X": POINTS}, lambda _name=_name: getattr(of_outputs(), _name))
for _name in ("predict", "predict_proba", "predict_log_proba", "decision_function", "bag_predictions"):
    _add(f"BaggedClassifier.{_name}", lambda: {"X": POINTS}, lambda _name=_name: getattr(classifier(), _name))
_add("BaggedRegressor.predict_once", lambda: {"X": POINTS}, lambda: lambda X: regressor().predict_once(X).raw)
_add("FunctionRegressor", lambda: {"algorithm": mean_algorithm, "order_matters": False, "random_state": 0, "X": X,
     "y": Y},
     lambda: _function(sb.FunctionRegressor))  # fmt: skip
_add("FunctionClassifier", lambda: {"algorithm": _majority, "order_matters": False, "random_state": 0, "X": X,
     "y": LABELS}, lambda: _function(sb.FunctionClassifier))  # fmt: skip


def _majority(X: Any, y: Any, seed: int) -> Callable[[Any], Any]:
    labels, counts = np.unique(y, return_counts=True)
    return lambda points: np.repeat(labels[counts.argmax()], len(points))


def _function(make: Any) -> Callable[..., Any]:
    def call(algorithm: Any, order_matters: Any, random_state: Any, X: Any, y: Any) -> Any:
        model = make(algorithm, order_matters=order_matters, random_state=random_state)
        return model.fit(X, y).predict(POINTS)

    return call


# Laws of bags, and bags.
for _name in ("Subbagging", "BernoulliSubbagging", "ClassicalBagging", "PoissonizedBagging"):
    _add(_name, lambda: {"bag_size": 0.5, "n_samples": N},
         lambda _name=_name: functools.partial(_chance, getattr(sb, _name)))  # fmt: skip
    _add(f"{_name}.draw", lambda: {"n_bags": 3, "random_state": 0, "first": 0, "row_ids": np.arange(N)},
         lambda _name=_name: getattr(sb, _name)(0.5).resolve(N).draw)  # fmt: skip
_add(
    "Subbagging.support", lambda: {"mass": 1.0, "ordered": False}, lambda: _listed(sb.Subbagging(2).resolve(4).support)
)
_add("Subbagging.without", lambda: {"rows": np.array([0, 1])}, lambda: sb.Subbagging(2).resolve(N).without)
_add(
    "StratifiedSubbagging",
    lambda: {"bag_size": 0.5, "strata": np.arange(N) % 2, "n_samples": N},
    lambda: (
        lambda bag_size, strata, n_samples: sb.StratifiedSubbagging(bag_size, strata).resolve(n_samples).mean_inclusion
    ),
)
_add(
    "ClusterSubbagging", lambda: {"bag_size": 0.5, "clusters": GROUPS, "barred": (), "n_samples": N}, lambda: _clusters
)
_add("ResamplingScheme", lambda: {"n_samples": N}, lambda: _OwnScheme().resolve)
_add("UnequalScheme", lambda: {"n_samples": N}, lambda: _OwnUnequal().resolve)
_add("Bags", lambda: {"sequences": [[0, 1], [2, 2], []], "n_samples": 4})
_add("Bags.without", lambda: {"row": 0}, lambda: resampling.Bags([[0, 1], [2]], 4).without)
_add("RowIds", lambda: {"names": np.arange(4), "n_samples": 4, "any_number": False})
_add("RowIds.positions", lambda: {"names": [1, 2]}, lambda: resampling.RowIds(None, 4).positions)
_add("RowIds.without", lambda: {"names": [1, 2]}, lambda: resampling.RowIds(None, 4).without)
_add("random_n_bags", lambda: {"scheme": sb.Subbagging(0.5), "n_samples": N, "n_bags": 5, "random_state": 0})


def _listed(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda **arguments: list(function(**arguments))


def _chance(make: Any, bag_size: Any, n_samples: Any) -> Any:
    return make(bag_size).resolve(n_samples).inclusion_probability


def _clusters(bag_size: Any, clusters: Any, barred: Any, n_samples: Any) -> Any:
    return sb.ClusterSubbagging(bag_size, clusters, barred).resolve(n_samples).mean_inclusion


class _OwnScheme(resampling.ResamplingScheme):
    def draw_bag(self, n_samples: int, generator: Any) -> np.ndarray:
        return np.flatnonzero(generator.random(n_samples) < 0.5)

    def inclusion_probability(self, n_samples: int) -> float:
        return 0.5

    def negative_covariance(self, n_samples: int) -> float:
        return 0.0


class _OwnUnequal(resampling.UnequalScheme):
    def draw_bag(self, n_samples: int, generator: Any) -> np.ndarray:
        return np.flatnonzero(generator.random(n_samples) < 0.5)

    def inclusion_probabilities(self, n_samples: int) -> np.ndarray:
        return np.full(n_samples, 0.5)

    def covariance(self, n_samples: int) -> np.ndarray:
        return np.eye(n_samples) / 4


# Ranges.
_add("FixedRange", lambda: {"low": 0.0, "high": 1.0})
_add("TrimmedRange", lambda: {"rank": 2, "y": Y, "groups": None},
     lambda: lambda rank, y, groups: sb.TrimmedRange(rank).delta(y, groups))  # fmt: skip
_add("ObservedRange", lambda: {"y": Y, "groups": GROUPS}, lambda: sb.ObservedRange().changes)
_add("ObservedRange.interval", lambda: {"y": Y}, lambda: sb.ObservedRange().interval)
_add("PredictionRange", lambda: {"y": Y}, lambda: _OwnRange().delta)


def _ends(y: np.ndarray) -> tuple[float, float]:
    return float(y.min()), float(y.max())


class _OwnRange(models.PredictionRange):
    def interval(self, y: Any) -> tuple[float, float]:
        return -1.0, 1.0


# Rows that are not in memory.
_add("ParquetTable", lambda: {"source": folder() / "table.parquet", "target": "y", "columns": ["a", "b"],
     "groups": "who", "row_ids": None, "as_frame": True, "max_memory": "1GB"},
     lambda: lambda **arguments: sb.ParquetTable(**arguments).to_memory()[1])  # fmt: skip
_add("ParquetTable.take", lambda: {"rows": np.array([0, 3])},
     lambda: sb.ParquetTable(folder() / "table.parquet", "y").take)  # fmt: skip
_add("RowSource", lambda: {"y": None, "row_ids": None, "groups": None}, lambda: lambda **about: sb.BaggedRegressor(
     Ridge(), n_bags=3, random_state=0).fit(sb.ParquetTable(folder() / "table.parquet", "y"), **about).predict(
         pd.DataFrame({"a": [0.0], "b": [1.0], "who": [1], "name": [2]})))  # fmt: skip
_add("Remainder", lambda: {"source": sb.ParquetTable(folder() / "table.parquet", "y"), "held_out": [1, 3]},
     lambda: lambda **arguments: tables.Remainder(**arguments).targets())  # fmt: skip

# Proofs.
_LAW = {"scheme": sb.Subbagging(0.5), "n_samples": 50, "n_bags": 100}
_add("Certificate", lambda: {**_LAW, "range_length": 1.0, "delta_range": 0.0, "reach": None, "coupling": "any"},
     lambda: lambda **arguments: sb.Certificate(**arguments).epsilon(0.1))  # fmt: skip
for _name, _more in (
    ("epsilon", {"delta": 0.1, "bound": "best"}),
    ("delta", {"epsilon": 0.2, "bound": "best"}),
    ("best", {"delta": 0.1, "bound": "best"}),
    ("explain", {"delta": 0.1}),
    ("to_markdown", {"delta": 0.1}),
    ("loss", {"lipschitz": 1.0}),
    ("mean", {"bound": "best"}),
    ("norm", {"order": 2.0, "bound": "best"}),
    ("price", {"delta": 0.1}),
    ("quick_epsilon", {"delta": 0.1}),
    ("replace_one", {"lipschitz": 1.0}),
    ("replace_one_in_expectation", {"lipschitz": 1.0}),
    ("without_rows_changing_range", {"delta": 0.1}),
    ("worst_case", {"monte_carlo_delta": 0.1}),
    ("curve", {"over_points": "max"}),
):
    _add(f"Certificate.{_name}", lambda _more=_more: dict(_more),
         lambda _name=_name: getattr(sb.Certificate(sb.Subbagging(0.5), 50, 100), _name))  # fmt: skip
_add("Certificate.for_targets", lambda: {"scheme": sb.Subbagging(0.5), "y": Y, "prediction_range": sb.ObservedRange(),
     "n_bags": 100, "coupling": "any", "groups": None})  # fmt: skip
_add("Certificate.for_labels", lambda: {"scheme": sb.Subbagging(0.5), "y": LABELS, "n_bags": 100, "coupling": "any",
     "groups": GROUPS})  # fmt: skip
_add("Certificate.from_dict", lambda: {"values": sb.Certificate(**_LAW).to_dict(), "scheme": None})
_add("VectorOutputs", lambda: {"length": None, "radius": 1.0, "shift": 0.0, "shifted_share": 0.0},
     lambda: lambda **about: sb.Certificate(**_LAW, outputs=proving.VectorOutputs(**about)).epsilon(0.1))  # fmt: skip
_add("BoxOutputs", lambda: {"length": 2.0, "delta_range": 0.0, "reach": 3.0, "ends": ((2, 1),), "of_targets": True},
     lambda: lambda **about: sb.Certificate(**_LAW, outputs=proving.BoxOutputs(**about)).epsilon(0.1))  # fmt: skip
_add("Certificate.for_classes", lambda: {**_LAW, "n_classes": 3, "coupling": "any"})
_add("Certificate.for_labels of vectors", lambda: {"scheme": sb.Subbagging(0.5), "y": LABELS, "n_bags": 100,
     "vector": True, "coupling": "any", "groups": None}, lambda: sb.Certificate.for_labels)  # fmt: skip
_add("Certificate.for_targets of vectors", lambda: {"scheme": sb.Subbagging(0.5), "y": BOTH,
     "prediction_range": sb.ObservedRange(), "n_bags": 100, "vector": True, "coupling": "any", "groups": None},
     lambda: sb.Certificate.for_targets)  # fmt: skip
for _name, _more in (("epsilon", {"delta": 0.1}), ("delta", {"epsilon": 0.2}), ("explain", {"delta": 0.1}),
                     ("price", {"delta": 0.1})):  # fmt: skip
    for _public_name, _made in (
        ("VectorOutputs", lambda: sb.Certificate(sb.Subbagging(0.5), 50, 100, outputs=proving.VectorOutputs())),
        ("ReusedBagsCertificate", lambda: sb.certify(regressor(), POINTS, reused=True)),
        ("PointCertificate", lambda: sb.certify(regressor(), POINTS)),
    ):
        if (_public_name, _name) != ("PointCertificate", "price"):
            _add(f"{_public_name}.{_name}", lambda _more=_more: dict(_more),
                 lambda _name=_name, _made=_made: getattr(_made(), _name))  # fmt: skip
_add("certify", lambda: {"model": regressor(), "X": POINTS, "confidence": 0.95, "coupling": None, "vector": False,
     "reused": False})  # fmt: skip
_add("certify of a classifier", lambda: {"model": classifier(), "X": POINTS, "vector": True}, lambda: sb.certify)
_add("certify of outputs", lambda: {"model": of_outputs(), "X": None, "vector": True}, lambda: sb.certify)
_add("certify of one output", lambda: {"model": of_outputs().output(0), "X": POINTS}, lambda: sb.certify)
_add("certify of outputs and reused bags", lambda: {"model": of_outputs(), "X": POINTS, "vector": True, "reused": True},
     lambda: sb.certify)  # fmt: skip
_add("certify of reused bags", lambda: {"model": regressor(), "X": POINTS, "vector": False, "reused": True},
     lambda: sb.certify)  # fmt: skip
_add("plan", lambda: {"n_samples": 200, "epsilon": 0.5, "delta": 0.1, "scheme": "subbagging", "max_bags": 10_000,
     "max_bag_size": None, "range_length": 1.0, "delta_range": 0.0, "coupling": None, "churn": None,
     "error_width": None, "confidence_level": 0.95, "lipschitz": 1.0, "upper": 1.0})  # fmt: skip
_add("plan of churn", lambda: {"n_samples": 200, "epsilon": 0.5, "delta": 0.1, "churn": 0.01, "max_bags": 100},
     lambda: sb.plan)  # fmt: skip
_add("plan of the error", lambda: {"n_samples": 200, "error_width": 0.9, "confidence_level": 0.9, "lipschitz": 1.0,
     "upper": 1.0, "max_bags": 100}, lambda: sb.plan)  # fmt: skip
_add("unstable_epsilon", lambda: {"n_samples": 50, "bag_size": 25, "delta": 0.1, "bound": "best"})

# What leaving out a row does.
_add("leave_one_out", lambda: {"model": regressor(), "X": POINTS, "rows": None, "random_state": None},
     X_train="in a row below", y_train="in a row below", fit_params="in a row below")  # fmt: skip
_add("leave_one_out of outputs", lambda: {"model": of_outputs(), "X": POINTS, "rows": None, "random_state": None},
     lambda: sb.leave_one_out)  # fmt: skip
_add("leave_one_out of one output", lambda: {"model": of_outputs().output(1), "X": POINTS}, lambda: sb.leave_one_out)
_add("leave_one_out of rows", lambda: {"rows": np.array([0, 3])},
     lambda: functools.partial(sb.leave_one_out, regressor(), POINTS))  # fmt: skip
_add("leave_one_out, bag by bag", lambda: {"model": sb.BaggedRegressor(Ridge(), n_bags=10, random_state=0), "X": POINTS,
     "X_train": X, "y_train": Y, "fit_params": None}, lambda: sb.leave_one_out)  # fmt: skip
_REFIT = {"estimator": DecisionTreeRegressor(), "X": X, "y": Y}
_add("leave_one_out_refit", lambda: {**_REFIT, "X_test": POINTS, "rows": np.array([0, 1]), "row_ids": None,
     "groups": None, "n_repeats": 1, "n_jobs": 1, "random_state": 0})  # fmt: skip
_add("leave_one_out_refit of units", lambda: {**_REFIT, "X_test": POINTS, "rows": [0], "groups": GROUPS,
     "random_state": 0}, lambda: sb.leave_one_out_refit)  # fmt: skip
_add("replace_one_refit", lambda: {**_REFIT, "X_replacement": X[::-1].copy(), "y_replacement": Y[::-1].copy(),
     "X_test": POINTS, "rows": np.array([2, 3]), "groups": None,
     "groups_replacement": None, "n_repeats": 1, "n_jobs": 1,
     "random_state": 0})  # fmt: skip
_add("leave_one_out_error", lambda: {"model": regressor(), "loss": "squared", "undefined": "raise",
     "rows": None, "random_state": None})  # fmt: skip
_add("leave_one_out_error of rows", lambda: {"rows": np.array([0, 3]), "random_state": 0},
     lambda: functools.partial(sb.leave_one_out_error, regressor()))  # fmt: skip
_add("leave_one_out_error of one output", lambda: {"model": of_outputs().output(1), "loss": "absolute"},
     lambda: sb.leave_one_out_error)  # fmt: skip
_add("compare_errors", lambda: {"a": regressor(), "b": regressor(scheme=sb.Subbagging(4)), "loss": "squared",
     "confidence_level": 0.9, "kind": "asymptotic", "rows": None, "random_state": None})  # fmt: skip
_add("compare_errors of rows", lambda: {"rows": np.array([0, 3]), "random_state": 0},
     lambda: functools.partial(sb.compare_errors, regressor(), regressor(scheme=sb.Subbagging(4))))  # fmt: skip
_add("compare_errors of several", lambda: {"a": {"one": regressor(), "two": regressor(scheme=sb.Subbagging(4))},
     "loss": "squared"}, lambda: sb.compare_errors)  # fmt: skip
_add("BoundedLoss", lambda: {"function": lambda prediction, y: abs(prediction - y), "lipschitz": 1.0, "upper": 400.0},
     lambda: measuring.BoundedLoss)  # fmt: skip
_add("LeaveOneOutError.interval", lambda: {"confidence_level": 0.9, "kind": "asymptotic"},
     lambda: sb.leave_one_out_error(regressor()).interval)  # fmt: skip
_add("stability_test", lambda: {**_REFIT, "epsilon": 0.5, "delta": 0.1, "n_samples": 4, "alpha": 0.05,
     "X_unlabelled": None, "n_jobs": 1, "random_state": 0})  # fmt: skip
_add("StabilityTest.power", lambda: {"true_delta": 0.05}, lambda: measuring.stability_test(
     DecisionTreeRegressor(), X, Y, 0.5, 0.1, 4, random_state=0).power)  # fmt: skip
_add("StabilityTest.ceiling", lambda: {"true_delta": 0.05}, lambda: measuring.stability_test(
     DecisionTreeRegressor(), X, Y, 0.5, 0.1, 4, random_state=0).ceiling)  # fmt: skip
_add("suspects", lambda: {"model": regressor(), "X": POINTS, "k": 3, "alpha": 0.05, "rows": None,
     "random_state": None},
     lambda: lambda **arguments: sb.suspects(**arguments).usual)  # fmt: skip
_add("compare_versions", lambda: {"old": regressor(), "new": retrained(), "X": POINTS, "by": None,
     "rows": dict.fromkeys(range(N), "all")},
     lambda: lambda **arguments: sb.compare_versions(**arguments).change)  # fmt: skip
_add(
    "Versions.bags_for", lambda: {"share": 0.1}, lambda: sb.compare_versions(regressor(), retrained(), POINTS).bags_for
)
for _name in ("epsilon", "epsilon_of_any_rows", "explain", "in_short"):
    _add(f"VersionsCertificate.{_name}", lambda: {"delta": 0.1}, lambda _name=_name: getattr(
        proving.VersionsCertificate(sb.Subbagging(5).resolve(50), 3, 2, n_bags=100), _name))  # fmt: skip
_add("Perturbations.flips", lambda: {"rule": None}, lambda: sb.leave_one_out(classifier(), POINTS).flips)
_add("Perturbations", lambda: {"prediction": np.array([1.0, 2.0]), "left_out": np.array([[1.0, 2.5], [0.5, 2.0]]),
     "rows": np.array([0, 1]), "distances": None, "bags": None, "noise_known": True, "scope": None},
     lambda: lambda **arguments: measuring.Perturbations(**arguments).max(), bags=_INSIDE, scope=_INSIDE,
     distances=_INSIDE, noise_known=_INSIDE)  # fmt: skip
for _name, _more in (
    ("epsilon", {"delta": 0.1, "over_points": "max"}),
    ("delta", {"epsilon": 0.1, "over_points": "max"}),
    ("worst_case_delta", {"epsilon": 0.1, "over_points": "max"}),
    ("debiased_rms", {"over_points": "max"}),
    ("max", {"over_points": "max"}),
    ("mean", {"over_points": "mean"}),
    ("norm", {"order": 2.0, "over_points": "max"}),
    ("curve", {"over_points": "max"}),
    ("distribution", {"point": 0}),
    ("most_influential", {"k": 2}),
    ("loss", {"function": lambda prediction, y: (prediction - y) ** 2, "y_test": TARGETS}),
):
    _add(f"Perturbations.{_name}", lambda _more=_more: dict(_more), lambda _name=_name: getattr(perturbations(), _name))
_add("Perturbations.in_sample_delta", lambda: {"epsilon": 0.1},
     lambda: sb.leave_one_out(regressor(), X).in_sample_delta)  # fmt: skip
_add("Perturbations.load", lambda: {"path": folder() / "moves.npz"})
_add("Perturbations.save", lambda: {"path": folder() / "again.npz"}, lambda: perturbations().save,
     path="what is in the way of a path is in tests/test__writing.py")  # fmt: skip
_add("forget of outputs", lambda: {"model": of_outputs(), "row_ids": [1, 2]}, lambda: sb.forget)
_add("learn of outputs", lambda: {"model": of_outputs(), "X": POINTS, "y": np.column_stack([TARGETS, TARGETS]),
     "row_ids": np.array([100, 101, 102])}, lambda: sb.learn)  # fmt: skip
_add("forget", lambda: {"model": regressor(), "row_ids": [1, 2], "X": None})
_add("learn", lambda: {"model": regressor(), "X": POINTS, "y": TARGETS, "row_ids": np.array([100, 101, 102]),
     "groups": None, "X_before": None, "strata": None})  # fmt: skip
_add("on_progress", lambda: {"listener": lambda done, total: None}, lambda: _with_progress)


def _with_progress(listener: Any) -> Any:
    with sb.on_progress(listener):
        return sb.BaggedRegressor(Ridge(), n_bags=2, random_state=0).fit(X, Y).predict(POINTS)


# Decisions.
_SCORES = np.array([[0.4, 0.37, 0.23], [0.8, 0.1, 0.1]])
_add("inflated_argmax", lambda: {"scores": _SCORES, "epsilon": 0.1})
_add(
    "inflated_argmax of points",
    lambda: {"scores": _SCORES, "epsilon": np.array([0.1, 0.2])},
    lambda: sb.inflated_argmax,
)
_add("top_k_sets", lambda: {"scores": _SCORES, "k": 2, "epsilon": 0.1})
_add(
    "RankSets",
    lambda: {"scores": _SCORES[0], "epsilon": 0.1},
    lambda: lambda **arguments: list(deciding.RankSets(**arguments)),
)
_RANKS = deciding.RankSets(_SCORES[0], 0.1)
_add("RankSets.candidates", lambda: {"remaining": [0, 2]}, lambda: _RANKS.candidates)
_add("RankSets.common", lambda: {"other": deciding.RankSets([0.3, 0.4, 0.2], 0.1)}, lambda: _RANKS.common)
_add("RankSets.intersects", lambda: {"other": deciding.RankSets([0.3, 0.4, 0.2], 0.1)}, lambda: _RANKS.intersects)
_add("RankSets.first", lambda: {"count": 2}, lambda: _RANKS.first)
_add("RankSets.size", lambda: {"most": 10}, lambda: _RANKS.size)
_add("RankSets.__contains__", lambda: {"ranking": [0, 1, 2]}, lambda: lambda ranking: ranking in _RANKS)
_add("predict_interval", lambda: {"model": regressor(), "X": POINTS, "confidence_level": 0.8, "method": "jackknife+",
     "locally_weighted": False, "delta": None, "bound": "best"})  # fmt: skip
_add("predict_interval of one output", lambda: {"model": of_outputs().output(1), "X": POINTS, "confidence_level": 0.8},
     lambda: sb.predict_interval)  # fmt: skip
_add("predict_interval that is stable", lambda: {"delta": 0.17, "bound": "best", "confidence_level": 0.05},
     lambda: functools.partial(sb.predict_interval, regressor(), POINTS, method="stable-jackknife"))  # fmt: skip
_add("jackknife_intervals_refit", lambda: {**_REFIT, "X_test": POINTS, "confidence_level": 0.8, "method": "cv+",
     "n_folds": 3, "groups": None, "delta": None, "bound": "best", "n_jobs": 1, "random_state": 0})  # fmt: skip
for _name in ("contains", "coverage"):
    _add(f"Intervals.{_name}", lambda: {"y": TARGETS}, lambda _name=_name: getattr(_intervals(), _name))
    _add(f"LabelSets.{_name}", lambda: {"y": np.array(["a", "b", "a"])}, lambda _name=_name: getattr(_sets(), _name))
_add("LabelSets.correct_singletons", lambda: {"y": np.array(["a", "b", "a"])}, lambda: _sets().correct_singletons)
_add("LabelSets.coverage_by_class", lambda: {"y": np.array(["a", "b", "a"])}, lambda: _sets().coverage_by_class)
_add("predict_set", lambda: {"model": classifier(), "X": POINTS, "method": "inflated-argmax", "epsilon": None,
     "delta": 0.1, "certificate": None, "confidence_level": 0.9, "by_class": True})  # fmt: skip
_add("predict_set by jackknife+", lambda: {"confidence_level": 0.8, "by_class": False}, lambda: functools.partial(
     sb.predict_set, classifier(), POINTS, method="jackknife+"))  # fmt: skip
_add("selection_stability", lambda: {"model": classifier(), "X": POINTS, "epsilon": 0.1, "delta": 0.1})
_add("SelectionStability.delta", lambda: {"rule": "argmax"}, lambda: _stability().delta)
_add("SelectionStability.rows_that_flip", lambda: {"point": 0, "rule": "argmax"}, lambda: _stability().rows_that_flip)
_FIND = {"X": X, "y": Y, "bagging": sb.BaggedRegressor(n_bags=8, random_state=0), "epsilon": 0.5, "delta": 0.1,
         "groups": None, "row_ids": None}  # fmt: skip
_add("select_model", lambda: {"selector": best_column, **_FIND})
_add("Selection.__contains__", lambda: {"choice": 0}, lambda: lambda choice: choice in _selection())
_add("stable_ranking", lambda: {"function": score_columns, **_FIND, "k": 1, "within": "simplex"})
_add("search_winner", lambda: {"search": GridSearchCV(Ridge(), {"alpha": [0.1, 1.0]}, cv=2)},
     lambda: lambda search: deciding.search_winner(search)(X, Y, 0))  # fmt: skip


@functools.cache
def _intervals() -> Any:
    return sb.predict_interval(regressor(), POINTS, confidence_level=0.8)


@functools.cache
def _sets() -> Any:
    return sb.predict_set(classifier(), POINTS)


@functools.cache
def _stability() -> Any:
    return deciding.selection_stability(classifier(), POINTS, epsilon=0.1)


@functools.cache
def _selection() -> Any:
    return sb.select_model(best_column, X, Y, bagging=sb.BaggedRegressor(n_bags=8, random_state=0))


# A study, and pictures.
_add("study", lambda: {
    "model": sb.BaggedRegressor(Ridge(), n_bags=20, random_state=0), "X": X, "y": Y, "X_test": POINTS,
    "y_test": TARGETS, "groups": None, "groups_test": None, "test_size": 0.2, "n_points": 2, "n_refits": 3,
    "n_matched": 0, "metrics": (), "delta": 0.1}, lambda: lambda **arguments: sb.study(**arguments).bagged)  # fmt: skip
_add("study that holds out", lambda: {
    "model": Ridge(), "X": X, "y": Y, "groups": GROUPS, "test_size": 0.4, "n_refits": 2, "n_matched": 1},
    lambda: lambda **arguments: sb.study(**arguments).bagged)  # fmt: skip
_add("study of classes", lambda: {
    "model": sb.BaggedClassifier(LogisticRegression(), n_bags=20, random_state=0), "X": X, "y": LABELS,
    "X_test": POINTS, "y_test": np.array(["a", "b", "a"]), "n_refits": 2, "metrics": ["accuracy"]},
    lambda: lambda **arguments: sb.study(**arguments).bagged)  # fmt: skip
_add("PerturbationDisplay.from_perturbations", lambda: {"perturbations": perturbations(), "point": None, "bins": 5,
     "scale": "auto", "ax": axes()})  # fmt: skip
_add("PerturbationDisplay", lambda: {"distances": {"a": np.array([0.1, 0.2])}, "counts": None},
     lambda: lambda **arguments: sb.PerturbationDisplay(**arguments).plot(axes()))  # fmt: skip
_add("StabilityCurveDisplay.from_perturbations", lambda: {"perturbations": perturbations(), "certificate": None,
     "over_points": "max", "show_noise": False, "scale": "auto", "ax": axes()})  # fmt: skip
_add("StabilityCurveDisplay", lambda: {"curves": {"a": (np.array([0.0, 0.1]), np.array([1.0, 0.5]))}, "guarantee": None,
     "noise": None}, lambda: lambda **arguments: sb.StabilityCurveDisplay(**arguments).plot(axes()))  # fmt: skip
_add("IntervalDisplay.from_intervals", lambda: {"intervals": _intervals(), "y": TARGETS, "x": None, "ax": axes()})
_add("IntervalDisplay", lambda: {"intervals": _intervals(), "x": TARGETS, "y": None},
     lambda: lambda **arguments: sb.IntervalDisplay(**arguments).plot(axes()))  # fmt: skip
_add("LabelSetDisplay.from_sets", lambda: {"sets": _sets(), "stability": _stability(), "most": 5, "ax": axes()})
_add("LabelSetDisplay", lambda: {"sets": _sets(), "hinges": None, "most": 5},
     lambda: lambda **arguments: showing.LabelSetDisplay(**arguments).plot(axes()))  # fmt: skip
_add("PhaseDiagramDisplay.from_certificate", lambda: {"certificate": sb.Certificate(**_LAW), "bound": "best",
     "ax": axes()})  # fmt: skip
_add(
    "PhaseDiagramDisplay",
    lambda: {"delta": np.array([0.1, 0.2]), "guaranteed": np.array([0.5, 0.3]), "impossible": None, "exact": None},
    lambda: lambda **arguments: showing.PhaseDiagramDisplay(**arguments).plot(axes()),
)
# Bridges to other libraries.
_add("to_onnx", lambda: {"model": regressor(), "dtype": "float64"},
     lambda: lambda **arguments: connect.to_onnx(**arguments).SerializeToString())  # fmt: skip

# Bridges.


def _card():
    from skops.card import Card

    return Card(Ridge(), template=None)


_add("add_to_card", lambda: {"card": _card(), "result": sb.Certificate(**_LAW), "section": "Stability"},
     lambda: lambda **arguments: connect.add_to_card(**arguments).get_toc())  # fmt: skip
_add("SingleRowCheck", lambda: {"n_refits": 50, "n_points": 200, "tolerance": 0.1, "share": 0.05, "n_jobs": None,
     "random_state": 0}, lambda: lambda **arguments: connect.SingleRowCheck(**arguments).title)  # fmt: skip

MADE_BY = {
    "BagPredictions": "predict_once",
    "BestModels": "compare_errors",
    "ErrorComparison": "compare_errors",
    "ErrorInterval": "LeaveOneOutError.interval",
    "ErrorPlan": "plan",
    "Intervals": "predict_interval",
    "LabelSets": "predict_set",
    "LeaveOneOutError": "leave_one_out_error",
    "LeftOutRankings": "StableRanking.leave_one_out",
    "LeftOutSelections": "Selection.leave_one_out",
    "Plan": "plan",
    "PointCertificate": "certify",
    "RandomBags": "random_n_bags",
    "ResolvedScheme": "Subbagging.draw",
    "ReusedBagsCertificate": "certify",
    "Selection": "select_model",
    "SelectionStability": "selection_stability",
    "StabilityTest": "stability_test",
    "TableError": "read_table",
    "TrainingTable": "read_table",
    "StableRanking": "stable_ranking",
    "Study": "study",
    "Suspects": "suspects",
    "Versions": "compare_versions",
    "log_study": "tests/compatibility, because it needs MLflow",
    "VersionsCertificate": "compare_versions",
    "read_table": "the command measure (test_tables.py)",
}
