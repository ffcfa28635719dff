"""Seeded copies of learners, the columns that each gets, and checks of what they return."""

import copy
import os
import random
import sys
import threading
import types
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from numbers import Integral
from typing import Any, Self

import numpy as np
from joblib import parallel_config
from numpy.random import Philox, SeedSequence
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV
from sklearn.svm import SVC, LinearSVC, LinearSVR, NuSVC
from sklearn.utils import (
    _safe_indexing,  # private, but scikit-learn's own way to take columns of any frame
    get_tags,
)

from stablebag._checks import check_integer, check_real, refuse_value, whole_rows
from stablebag.models.rows import unmasked

# ------------------------------------------------------------------------------------------------------------- learners
# Copies of a learner, each with its own seed for everything that it draws.
#
# A learner's `random_state` parameters that are None get a seed, including nested parameters and splitters like
# ``KFold(shuffle=True)``. Other random numbers come from the global generators of numpy, Python and torch, which are
# seeded for each bag and restored afterwards, like all process settings that a learner may change. The model of a bag
# therefore depends only on its rows and its seed.

_PLAIN = (bool, int, float, str, bytes, np.generic, type(None))
_KNOWN = ("sklearn.", "lightgbm.", "xgboost.", "catboost.")  # packages whose learners only use their own seeds
_TAKES_CODES = ("xgboost.",)  # packages whose classifiers only take the labels 0, 1, ...
_NAMES_NONE = ("auto", "all", "balanced", "balanced_subsample", "majority", "minority", "not majority", "not minority")
_ONE_IS_POSITIVE = ("f1", "precision", "recall", "jaccard", "average_precision", "neg_brier_score")  # scores, by name
_DEPTH = 100  # the most levels of nested parameters
_LARGEST_SEED = 2**31 - 1
_PATIENCE = 60.0  # seconds to wait for a learner that must not run alongside others


class Copies:
    """Unfitted copies of a learner, each with its own seed.

    If all parameters are plain values, calling the class gives the same result as `clone` and `set_params` in a tenth
    of the time.
    """

    def __init__(self, learner: Any) -> None:
        self.learner = learner
        self.seed_names = random_state_names(learner)
        self.splitter_names = _unseeded_splitters(learner)
        self.parameters = learner.get_params(deep=False)
        plain = all(isinstance(value, _PLAIN) for value in self.parameters.values())
        usual = getattr(type(learner), "__sklearn_clone__", None) is BaseEstimator.__sklearn_clone__
        self.by_class = plain and usual and vars(learner).keys() == self.parameters.keys()
        self.by_deepcopy = not self.by_class and _shares_parts(learner)
        self.by_codes = _takes_only_codes(learner)
        # These parameters are the same in all bags and contain no other estimators, so scikit-learn needs to validate
        # them in the first bag only. Other packages may validate more than parameters.
        self.validated_once = self.by_class and type(learner).__module__.startswith("sklearn.")

    def copy(self, seed: int) -> Any:
        """Return a copy with this seed; a learner that only takes the labels 0, 1, ... is wrapped in `LabelCodes`."""
        model = self._seeded(seed)
        return LabelCodes(model) if self.by_codes else model

    def _seeded(self, seed: int) -> Any:
        names = [*self.seed_names, *self.splitter_names]
        seeds = dict(zip(names, _spread(seed, len(names)), strict=True))
        if self.by_class:
            return type(self.learner)(**{**self.parameters, **seeds})
        model = copy.deepcopy(self.learner) if self.by_deepcopy else clone(self.learner)
        if model is self.learner or type(model) is FrozenEstimator:
            return model  # a frozen learner is already fitted and is its own clone
        if self.seed_names and not self._is_its_own_clone:
            model.set_params(**{name: seeds[name] for name in self.seed_names})
        parameters = model.get_params(deep=True) if self.splitter_names else {}
        for name in self.splitter_names:
            parameters[name].random_state = seeds[name]  # clone has copied the splitter
        return model

    @property
    def _is_its_own_clone(self) -> bool:
        """Whether the learner's clone is the learner itself."""
        return self.by_deepcopy and clone(self.learner) is self.learner


class LabelCodes(ClassifierMixin, BaseEstimator):
    """A wrapper of a classifier that only takes the labels 0, 1, ...: it fits the codes of any labels.

    A label's code is its place among the sorted labels of the rows. All other attributes are the classifier's.

    >>> from sklearn.linear_model import LogisticRegression
    >>> model = LabelCodes(LogisticRegression()).fit([[0.0], [1.0]], ["no", "yes"])
    >>> model.estimator.classes_, model.classes_, model.predict([[2.0]])
    (array([0, 1]), array(['no', 'yes'], dtype='<U3'), array(['yes'], dtype='<U3'))
    """

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    def fit(self, X: Any, y: Any, **params: Any) -> Self:
        """Fit the classifier to the codes of these labels, also in an `eval_set`."""
        self.classes_, codes = np.unique(y, return_inverse=True)
        for name in params:
            if name.split("__")[-1] == "eval_set" and params[name] is not None:
                params[name] = [(rows, self._codes(labels)) for rows, labels in params[name]]
        self.estimator.fit(X, codes, **params)
        return self

    def predict(self, X: Any, **params: Any) -> np.ndarray:
        """Return the labels of the predicted codes."""
        labels: np.ndarray = self.classes_[np.asarray(self.estimator.predict(X, **params)).astype(int)]
        return labels

    def as_fitted(self) -> Any:
        """Return the classifier itself if the labels are 0, 1, ..."""
        alike = self.classes_.dtype.kind in "biuf" and np.array_equal(self.classes_, np.arange(len(self.classes_)))
        return self.estimator if alike else self

    def _codes(self, labels: Any) -> np.ndarray:
        known = {label: code for code, label in enumerate(self.classes_.tolist())}
        unknown = [label for label in np.asarray(labels).tolist() if label not in known]
        if unknown:
            raise ValueError(
                f"eval_set contains the class {unknown[0]!r}, but this bag has no row of it. Fit without eval_set."
            )
        return np.array([known[label] for label in np.asarray(labels).tolist()])

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name in ("estimator", "classes_"):
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}.")
        return getattr(self.estimator, name)


def _takes_only_codes(learner: Any) -> bool:
    """Whether a classifier in the learner only takes the labels 0, 1, ..., and no parameter names a label."""
    if isinstance(learner, LabelCodes) or not hasattr(learner, "get_params"):
        return False
    named = {"": learner, **learner.get_params(deep=True)}

    def takes_codes(part: Any) -> bool:
        kinds = type(part).__mro__ if hasattr(type(part), "predict_proba") else ()
        return any(kind.__module__.startswith(_TAKES_CODES) for kind in kinds)

    def names_labels(name: str, value: Any) -> bool:
        last, text = name.split("__")[-1], isinstance(value, str)
        if last in ("class_weight", "sampling_strategy"):
            return value is not None and not (text and value in _NAMES_NONE)
        if last == "scoring":
            return value is not None and not (text and value not in _ONE_IS_POSITIVE)
        return last == "pos_label" and value is not None

    return any(map(takes_codes, named.values())) and not any(names_labels(*item) for item in named.items())


class Surroundings:
    """The process state that a learner may use: global random generators and settings.

    Learners that are known not to use it may run at the same time. Any other learner runs alone, with seeded generators
    and default settings, which are restored afterwards.
    """

    def __init__(self, learner: Any) -> None:
        self.harmless = uses_only_its_seeds(learner)
        self.shares_a_generator = any(_uses_libsvm_or_liblinear(part) for part in _parts(learner))
        self.has_ensembles_inside = any(hasattr(part, "bag_predictions") for part in _parts(learner))

    @property
    def may_run_beside_others(self) -> bool:
        """Whether several such learners may run in threads at the same time."""
        return self.harmless and not self.shares_a_generator

    @contextmanager
    def __call__(self, *seed: int) -> Iterator[None]:
        """Run a bag's learner so that everything it draws depends on its seed."""
        if self.may_run_beside_others:
            yield
            return
        with _turn(self.has_ensembles_inside):
            if self.harmless:
                yield
                return
            before = np.random.get_state(legacy=False), random.getstate()
            (word,) = np.random.SeedSequence((*seed, 1)).generate_state(1)  # not the stream of the learner itself
            np.random.seed(word)
            random.seed(int(word))
            try:
                with _settings_restored(), _torch_seeded(int(word)):
                    yield
            finally:
                np.random.set_state(before[0])
                random.setstate(before[1])


def uses_only_its_seeds(learner: Any) -> bool:
    """Return whether a learner is known to draw only from its own seeds and to change no process settings.

    This is known if all its parts come from packages whose learners do so, and all seeds are set.

    >>> from sklearn.feature_selection import SelectKBest, mutual_info_regression
    >>> from sklearn.linear_model import LinearRegression
    >>> uses_only_its_seeds(LinearRegression()), uses_only_its_seeds(SelectKBest(mutual_info_regression))
    (True, False)
    """
    return _is_known(Copies(learner).copy(0) if hasattr(learner, "get_params") else learner)


def refuse_endless(learner: Any, owner: str) -> None:
    """Reject a learner with a parameter that contains itself, which could not be copied."""
    paths: list[Iterator[Any]] = [iter([learner])]
    parents: list[int] = []
    done = set[int]()
    while paths:
        part = next(paths[-1], paths)
        if part is paths:
            paths.pop()
            done.update(parents[-1:])
            del parents[-1:]
        elif id(part) in parents or len(parents) > _DEPTH:
            endless = id(part) in parents
            what = f"contains itself ({type(part).__name__})" if endless else f"has more than {_DEPTH} levels"
            raise ValueError(f"A parameter of {owner}'s estimator {what}, so it cannot be cloned. Pass another value.")
        elif id(part) not in done and (parts := _direct_parts(part)):
            paths.append(iter(parts))
            parents.append(id(part))


def _direct_parts(part: Any) -> list[Any]:
    if isinstance(part, list | tuple | set | frozenset):
        return list(part)
    if isinstance(part, np.ndarray):
        return part.ravel().tolist() if part.dtype.kind == "O" else []
    if isinstance(part, dict):
        return list(part.values())
    has_params = hasattr(part, "get_params") and not isinstance(part, type)
    return list(part.get_params(deep=False).values()) if has_params else []


def may_predict(learner: Any) -> bool:
    """Return whether a learner can predict, or may be able to once it is fitted.

    A stacked learner, for example, has the method `predict` only after `fit`.

    >>> from sklearn.ensemble import StackingRegressor
    >>> from sklearn.linear_model import Ridge
    >>> from sklearn.preprocessing import StandardScaler
    >>> stack = StackingRegressor([("ridge", Ridge())])
    >>> hasattr(stack, "predict"), may_predict(stack), may_predict(StandardScaler())
    (False, True, False)
    """
    if hasattr(learner, "predict"):
        return True
    if not hasattr(type(learner), "predict") or not hasattr(learner, "__sklearn_tags__"):
        return False
    return get_tags(learner).estimator_type in ("classifier", "regressor")


def random_state_names(learner: Any) -> list[str]:
    """Return the names of the learner's `random_state` parameters, including nested ones, that are None.

    >>> from sklearn.linear_model import SGDClassifier
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.random_projection import GaussianRandomProjection
    >>> random_state_names(make_pipeline(GaussianRandomProjection(random_state=7), SGDClassifier()))
    ['sgdclassifier__random_state']
    """
    parameters = {"": learner, **learner.get_params(deep=True)}
    names = [name for name, value in parameters.items() if name.split("__")[-1] == "random_state" and value is None]

    def seeds_its_parts(prefix: str) -> bool:
        # A bagged ensemble does. If its learner's seed were set here, it would be the same in all its bags.
        return hasattr(parameters.get(prefix.removesuffix("__")), "bag_predictions")

    return sorted(name for name in names if not any(seeds_its_parts(name[:end]) for end in _starts_of_parts(name)))


def has_callbacks(learner: Any) -> bool:
    """Return whether a learner or a part of it has scikit-learn callbacks."""
    return any(getattr(part, "_skl_callbacks", None) for part in _parts(learner))


def without_callbacks(model: Any) -> Any:
    """Remove the callbacks of a fitted model, because each copied callback opens a connection to the original."""
    for part in _parts(model):
        for each in (part, *getattr(part, "__dict__", {}).values()):
            if hasattr(each, "set_callbacks"):
                each.__dict__.pop("_skl_callbacks", None)
    return model


def isolated(name: str, value: Any) -> Any:
    """Return a fit parameter that all bags share, copied if a learner could change it."""
    if isinstance(value, (*_PLAIN, type, types.FunctionType, types.BuiltinFunctionType)):
        return value
    try:
        return copy.deepcopy(value)
    except Exception as error:
        raise TypeError(
            f"The fit parameter {name!r} cannot be copied for each bag: {error}. Pass an object that can be copied."
        ) from error


def _is_known(part: Any) -> bool:
    """Whether a part of a learner, with its seeds set, is known to draw only from them."""
    if isinstance(part, (*_PLAIN, np.ndarray, slice, range)):
        return True
    if isinstance(part, list | tuple):
        return all(map(_is_known, part))
    if isinstance(part, dict):
        return all(map(_is_known, part.values()))
    if isinstance(part, LabelCodes):
        return _is_known(part.estimator)
    if isinstance(part, type) or not hasattr(part, "get_params") or not type(part).__module__.startswith(_KNOWN):
        return False
    parameters = part.get_params(deep=False)
    seed = parameters.get("random_state", 0)  # it may be "deprecated", and the learner then ignores it
    return isinstance(seed, int | np.integer) and all(map(_is_known, parameters.values()))


def _shares_parts(learner: Any) -> bool:
    """Whether a clone shares an estimator with the learner, because that estimator is its own clone."""
    named = {"": learner, **learner.get_params(deep=True)}
    frozen = [f"{name}__" if name else "" for name, part in named.items() if type(part) is FrozenEstimator]

    def stays(name: str) -> bool:
        """Whether it is a frozen learner or inside one: these are already fitted and may be shared."""
        return any(f"{name}__".startswith(prefix) for prefix in frozen)

    mine = {id(part) for name, part in named.items() if hasattr(part, "fit") and not stays(name)}
    return any(id(part) in mine for part in _parts(clone(learner)))


def _starts_of_parts(name: str) -> list[int]:
    """Where the names of the enclosing estimators end in ``a__b__random_state``: before a, and before b."""
    parts = name.split("__")[:-1]
    return [sum(len(part) + 2 for part in parts[:depth]) for depth in range(len(parts))]


def _unseeded_splitters(learner: Any) -> list[str]:
    """The names of parameters that are splitters which shuffle without a seed."""

    def shuffles(value: Any) -> bool:
        return hasattr(value, "split") and getattr(value, "random_state", 0) is None and getattr(value, "shuffle", True)

    return sorted(name for name, value in learner.get_params(deep=True).items() if shuffles(value))


def _parts(learner: Any) -> list[Any]:
    return [learner, *(learner.get_params(deep=True).values() if hasattr(learner, "get_params") else [])]


def _uses_libsvm_or_liblinear(part: Any) -> bool:
    """Whether it may draw from the one generator per process that these C libraries use."""
    if isinstance(part, LogisticRegression | LogisticRegressionCV):
        return bool(part.solver == "liblinear")
    # Calibration contains a LinearSVC by default.
    return isinstance(part, SVC | NuSVC | LinearSVC | LinearSVR | CalibratedClassifierCV)


def _spread(seed: int, count: int) -> list[int]:
    """Make several seeds from one, for a learner with several random parts; a single part gets the seed itself."""
    if count == 1:
        return [seed]
    return [int(word) % _LARGEST_SEED for word in np.random.SeedSequence(seed).generate_state(count)]


# ------------------------------------------------------------------------------------------ state of the whole process


@contextmanager
def _settings_restored() -> Iterator[None]:
    """Restore what a learner may change: settings of scikit-learn, numpy and Python, and the environment."""
    environment = os.environ.copy()
    with ExitStack() as stack:
        stack.enter_context(config_context())
        stack.enter_context(np.errstate(divide="warn", over="warn", under="ignore", invalid="warn"))
        stack.enter_context(np.printoptions())
        if threading.current_thread() is threading.main_thread():  # warning filters are not thread-safe
            stack.enter_context(warnings.catch_warnings())
        try:
            yield
        finally:
            if os.environ != environment:
                os.environ.clear()
                os.environ.update(environment)


def torch_is_imported() -> bool:
    """Return whether torch is imported, so that its generators can be seeded."""
    return hasattr(sys.modules.get("torch"), "manual_seed")


@contextmanager
def _torch_seeded(seed: int) -> Iterator[None]:
    """Seed torch's generators for the CPU and GPUs, if torch is imported, and restore them afterwards."""
    if not torch_is_imported():
        yield
        return
    torch: Any = sys.modules["torch"]
    cards = list(range(torch.cuda.device_count())) if torch.cuda.is_available() else []
    with torch.random.fork_rng(devices=cards):
        torch.manual_seed(seed)
        yield


_turns = threading.RLock()


def _renew_turns() -> None:
    """Make a new lock in a forked process, where no thread could release the inherited one."""
    global _turns
    _turns = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_turns)


@contextmanager
def _turn(stay: bool) -> Iterator[None]:
    """Wait for this thread's turn; with `stay`, or outside the main thread, nested work runs in the same thread."""
    turns = _turns
    mine = turns.acquire(timeout=_PATIENCE)
    if not mine:  # the thread that has the turn may be waiting for this one
        warnings.warn(
            f"Two learners ran at the same time because one waited for more than {_PATIENCE:g} seconds. Both may use "
            "the global random generators, so the results may not be reproducible. Use n_jobs=1 and no other threads.",
            stacklevel=2,
        )
    stay = stay or threading.current_thread() is not threading.main_thread()
    try:
        with parallel_config(backend="sequential", n_jobs=1) if stay else nullcontext():
            yield
    finally:
        if mine:
            turns.release()


# ------------------------------------------------------------------------------------------------------------ subspaces
# Random subspaces: each bag's learner gets some of the columns, drawn from its seed and independent of the rows.
#
# The theorems then apply to the learner "draw columns from the seed, and fit to these". It is a randomized learner, and
# the theorems hold for every randomized learner.

_STREAM = 2  # of a seed, other than those of the learner itself


@dataclass(frozen=True)
class Subspaces:
    """The columns that each bag's learner gets: a fixed number of them, with every set equally likely.

    Parameters
    ----------
    n_features : int
        The number of columns of the table.
    size : int
        How many of them a learner gets.

    Examples
    --------
    >>> Subspaces(n_features=6, size=2).of(seed=0), Subspaces(n_features=6, size=2).of(seed=1)
    (array([3, 4]), array([1, 3]))
    """

    n_features: int
    size: int

    @classmethod
    def read(cls, max_features: Any, n_features: int, owner: str) -> "Subspaces | None":
        """Return the subspaces for `max_features` and a number of columns; None if learners get all columns.

        >>> Subspaces.read(0.5, 7, "BaggedRegressor"), Subspaces.read(1.0, 7, "BaggedRegressor")
        (Subspaces(n_features=7, size=3), None)
        """
        check_max_features(max_features, owner)
        if isinstance(max_features, Integral):
            size = int(max_features)
            if size > n_features:
                reason = "X has no more columns. Use 1.0 for all of them."
                raise refuse_value("max_features", owner, f"at most {n_features:,}", size, reason)
        else:
            size = max(1, whole_rows(max_features, n_features))
        return None if size == n_features else cls(n_features, size)

    def of(self, seed: int) -> np.ndarray:
        """Return the columns for the learner with this seed, in the order of the table."""
        words = Philox(SeedSequence((seed, _STREAM))).random_raw(self.n_features)
        return np.sort(np.argsort(words, kind="stable")[: self.size])

    def warn_of_one(self, stacklevel: int) -> None:
        """Warn that all bags get the same columns, because all learners have the same seed."""
        warnings.warn(
            f'With n_bags="all", all bags use the same {self.size:,} of {self.n_features:,} columns, because they '
            "share one seed. Use n_bags=500 for different columns in each bag, or max_features=1.0 for all columns.",
            stacklevel=stacklevel,
        )

    def take(self, X: Any, seed: int) -> Any:
        """Return these columns of an array, a sparse array or a data frame, as a new table of the same kind."""
        columns = self.of(seed)
        return np.take(X, columns, axis=1) if isinstance(X, np.ndarray) else _safe_indexing(X, columns, axis=1)


def check_max_features(value: Any, owner: str) -> None:
    """Reject anything but a whole number from 1 on or a fraction in (0, 1]."""
    reason = "it is a number of columns (int) or a fraction of them (float). Use 1.0 for all columns."
    if isinstance(value, Integral) and not isinstance(value, bool):
        check_integer(value, "max_features", owner, minimum=1, reason=reason)
    else:
        check_real(value, "max_features", owner, high=1.0, open_low=True, reason=reason)


# -------------------------------------------------------------------------------------------------------------- outputs
# Checks of the predictions of learners before they are averaged: the right shape, and numbers or known classes.

_OFF = 1e-3  # how far the sum of probabilities may be from 1, because some learners work in half precision
_ROUNDING = 1e-9


def numbers(given: Any, n_points: int, n_outputs: int | None = None, places: np.ndarray | None = None) -> np.ndarray:
    """Return the predictions of a regressor in a new array: one number per point, or one per point and output.

    If the points are some rows of a table, `places` are their positions there, for error messages.

    >>> numbers([[1], [2]], n_points=2)
    array([1., 2.])
    """
    prediction = _reals(given)
    if n_outputs is not None:
        if prediction.shape != (n_points, n_outputs):
            raise ValueError(
                f"it predicted an array of shape {prediction.shape} instead of {(n_points, n_outputs)}, one number per "
                "point and output."
            )
        return _without_nan(np.ascontiguousarray(prediction), places)
    if prediction.shape not in ((n_points,), (n_points, 1)):
        raise ValueError(
            f"it predicted an array of shape {prediction.shape} instead of {(n_points,)}, one number per point."
        )
    return _without_nan(prediction.reshape(-1), places)


def votes(given: Any, n_points: int, classes: np.ndarray) -> np.ndarray:
    """Return one-hot votes for the labels that a classifier predicts: one label for each point."""
    labels = np.asarray(unmasked(given))
    if labels.shape not in ((n_points,), (n_points, 1)):
        raise ValueError(f"it predicted labels of shape {labels.shape} instead of {(n_points,)}, one per point.")
    return one_hot(labels, classes)


def probabilities(
    given: Any, n_points: int, seen: Any, classes: np.ndarray, places: np.ndarray | None = None
) -> np.ndarray:
    """Return the probabilities of all classes, zero for those that a classifier never saw.

    >>> probabilities([[0.25, 0.75]], 1, seen=["c", "a"], classes=np.array(["a", "b", "c"]))
    array([[0.75, 0.  , 0.25]])
    """
    seen = np.asarray(seen)
    if seen.ndim != 1:
        raise ValueError(f"its classes_ must be a list of labels, got an array of shape {seen.shape}.")
    if len(set(seen.tolist())) != len(seen):
        raise ValueError(f"its classes_ contain a class twice: {seen.tolist()}.")
    table = _reals(given)
    if table.shape != (n_points, len(seen)):
        raise ValueError(f"its probabilities have shape {table.shape} instead of {(n_points, len(seen))}.")
    _without_nan(table, places)
    total = table.sum(axis=1)
    if (np.abs(table - 0.5) > 0.5 + _OFF).any() or (np.abs(total - 1) > _OFF).any():
        raise ValueError("its probabilities must be between 0 and 1 and sum to 1.")
    if (np.abs(table - 0.5) > 0.5).any() or (np.abs(total - 1) > _ROUNDING).any():
        table = np.clip(table, 0.0, 1.0)  # the proofs need exact probabilities
        table /= table.sum(axis=1, keepdims=True)
    if np.array_equal(seen, classes):
        return table
    aligned = np.zeros((n_points, len(classes)))
    aligned[:, one_hot(seen, classes).argmax(axis=1)] = table
    return aligned


def decisions(given: Any, n_points: int, seen: Any, classes: np.ndarray) -> np.ndarray:
    """Return the decision function for all classes; with two classes, for the second.

    A class that the classifier never saw gets the lowest score at each point, so that it never wins. A single column
    is the score of the second class that was seen, and its negative is the score of the first.

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
        raise ValueError(f"its decision function has shape {scores.shape} instead of {expected}.")
    aligned = np.repeat(scores.min(axis=1, keepdims=True), len(classes), axis=1)
    aligned[:, places] = scores
    return aligned


def undecided(n_points: int, classes: np.ndarray) -> np.ndarray:
    """Return the decision function of a bag without rows or with a single class: zero."""
    return np.zeros(n_points if len(classes) == 2 else (n_points, len(classes)))


def one_hot(labels: Any, classes: np.ndarray) -> np.ndarray:
    """Return one row per label, with a one in the column of its class.

    >>> one_hot(["b", "a"], np.array(["a", "b", "c"]))
    array([[0., 1., 0.],
           [1., 0., 0.]])
    """
    labels = np.asarray(labels).reshape(-1)
    if labels.dtype.kind != classes.dtype.kind:  # numpy cannot compare strings with numbers
        labels, classes = labels.astype(object), classes.astype(object)
    table: np.ndarray = np.equal(labels[:, None], classes[None, :]).astype(float)
    if not table.any(axis=1).all():
        unknown = labels[~table.any(axis=1)][0]
        raise ValueError(f"it predicted the class {unknown!r}, but the classes are {classes.tolist()}.")
    return table


def _reals(given: Any) -> np.ndarray:
    """Real numbers in a new array, because the learner may reuse its own."""
    array = np.asarray(unmasked(given))
    if array.dtype.kind not in "biufO":
        raise ValueError(f"it predicted values of type {array.dtype} instead of real numbers.")
    return np.array(array, dtype=float)


def _without_nan(prediction: np.ndarray, places: np.ndarray | None = None) -> np.ndarray:
    if np.isnan(prediction).any():
        point = int(np.argwhere(np.isnan(prediction))[0][0])
        raise ValueError(f"its prediction at point {point if places is None else places[point]} is NaN.")
    return prediction
