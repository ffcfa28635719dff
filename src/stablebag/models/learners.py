"""Learners: fresh, seeded copies, the columns that each sees, and checks of what they return."""

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
# Fresh copies of a learner, each with its own seed, on which all the randomness that it can reach depends.
#
# A learner's `random_state` parameters that are None are filled, including nested ones and those of splitters, such
# as ``KFold(shuffle=True)``. What is left draws from the global generators of numpy, Python and torch: these are
# seeded for each bag and restored afterwards, and so are the process settings that a learner may change. What a bag's
# learner does therefore depends only on its rows and its seed.

_PLAIN = (bool, int, float, str, bytes, np.generic, type(None))
_KNOWN = ("sklearn.", "lightgbm.", "xgboost.", "catboost.")  # packages whose learners keep to their seeds
_TAKES_CODES = ("xgboost.",)  # packages whose classifiers take the labels 0, 1, ... and no others
_NAMES_NONE = ("auto", "all", "balanced", "balanced_subsample", "majority", "minority", "not majority", "not minority")
_ONE_IS_POSITIVE = ("f1", "precision", "recall", "jaccard", "average_precision", "neg_brier_score")  # scores, by name
_DEPTH = 100  # the most levels of parameters inside parameters
_LARGEST_SEED = 2**31 - 1
_PATIENCE = 60.0  # seconds to wait for a learner that must not run beside others


class Copies:
    """Unfitted copies of a learner, each with its own seed: `clone` and `set_params`, with a short cut.

    A learner that has only parameters, all of them plain values, is copied by calling its class: the same result in a
    tenth of the time.
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
        self.by_codes = _takes_codes_alone(learner)
        # Such a learner of scikit-learn has the same parameters in all bags and contains no other estimators, so
        # validating them in the first bag is enough. What any other learner validates while it fits is not known.
        self.validated_once = self.by_class and type(learner).__module__.startswith("sklearn.")

    def copy(self, seed: int) -> Any:
        """Return a copy with this seed; one that takes codes of labels alone is inside of what encodes them."""
        model = self._seeded(seed)
        return LabelCodes(model) if self.by_codes else model

    def _seeded(self, seed: int) -> Any:
        names = [*self.seed_names, *self.splitter_names]
        seeds = dict(zip(names, _spread(seed, len(names)), strict=True))
        if self.by_class:
            return type(self.learner)(**{**self.parameters, **seeds})
        model = copy.deepcopy(self.learner) if self.by_deepcopy else clone(self.learner)
        if model is self.learner or type(model) is FrozenEstimator:
            return model  # a frozen learner is already fitted, and is its own clone
        if self.seed_names and not self._is_its_own_clone:
            model.set_params(**{name: seeds[name] for name in self.seed_names})
        parameters = model.get_params(deep=True) if self.splitter_names else {}
        for name in self.splitter_names:
            parameters[name].random_state = seeds[name]  # of a copy: clone has copied the splitter
        return model

    @property
    def _is_its_own_clone(self) -> bool:
        """Whether the learner's clone is the learner itself."""
        return self.by_deepcopy and clone(self.learner) is self.learner


class LabelCodes(ClassifierMixin, BaseEstimator):
    """A classifier that takes the labels 0, 1, ... alone, fitted to the codes of whatever labels there are.

    A label's code is its place among those of the rows, in order. Whatever else is asked of it, the classifier answers.

    >>> from sklearn.linear_model import LogisticRegression
    >>> model = LabelCodes(LogisticRegression()).fit([[0.0], [1.0]], ["no", "yes"])
    >>> model.estimator.classes_, model.classes_, model.predict([[2.0]])
    (array([0, 1]), array(['no', 'yes'], dtype='<U3'), array(['yes'], dtype='<U3'))
    """

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    def fit(self, X: Any, y: Any, **params: Any) -> Self:
        """Fit the classifier to the codes of these labels; those of an `eval_set` are encoded alike."""
        self.classes_, codes = np.unique(y, return_inverse=True)
        for name in params:
            if name.split("__")[-1] == "eval_set" and params[name] is not None:
                params[name] = [(rows, self._codes(labels)) for rows, labels in params[name]]
        self.estimator.fit(X, codes, **params)
        return self

    def predict(self, X: Any, **params: Any) -> np.ndarray:
        """Return labels for the codes that the classifier predicts."""
        labels: np.ndarray = self.classes_[np.asarray(self.estimator.predict(X, **params)).astype(int)]
        return labels

    def as_fitted(self) -> Any:
        """Return the classifier itself where labels are their own codes."""
        alike = self.classes_.dtype.kind in "biuf" and np.array_equal(self.classes_, np.arange(len(self.classes_)))
        return self.estimator if alike else self

    def _codes(self, labels: Any) -> np.ndarray:
        known = {label: code for code, label in enumerate(self.classes_.tolist())}
        unknown = [label for label in np.asarray(labels).tolist() if label not in known]
        if unknown:
            raise ValueError(f"eval_set has the class {unknown[0]!r}, which these rows lack. Leave eval_set out.")
        return np.array([known[label] for label in np.asarray(labels).tolist()])

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name in ("estimator", "classes_"):
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}.")
        return getattr(self.estimator, name)


def _takes_codes_alone(learner: Any) -> bool:
    """Whether a classifier in it takes the codes of labels alone, and nothing in it names labels."""
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
    """What a learner finds around it: generators seeded for its bag, and settings as in a fresh process.

    All of this is shared by the whole process. A learner that is known to use none of it is left alone; any other has
    it to itself while it runs, and it is restored afterwards.
    """

    def __init__(self, learner: Any) -> None:
        self.harmless = keeps_to_its_seeds(learner)
        self.shares_a_generator = any(_uses_libsvm_or_liblinear(part) for part in _parts(learner))
        self.has_ensembles_inside = any(hasattr(part, "bag_predictions") for part in _parts(learner))

    @property
    def may_run_beside_others(self) -> bool:
        """Whether several such learners may run in threads at once."""
        return self.harmless and not self.shares_a_generator

    @contextmanager
    def __call__(self, *seed: int) -> Iterator[None]:
        """Run one bag's learner so that everything it draws depends on its seed."""
        if self.may_run_beside_others:
            yield
            return
        with _turn(self.has_ensembles_inside):
            if self.harmless:
                yield
                return
            before = np.random.get_state(legacy=False), random.getstate()
            (word,) = np.random.SeedSequence((*seed, 1)).generate_state(1)  # a stream other than the learner's own
            np.random.seed(word)
            random.seed(int(word))
            try:
                with _settings_of_its_own(), _torch_seeded(int(word)):
                    yield
            finally:
                np.random.set_state(before[0])
                random.setstate(before[1])


def keeps_to_its_seeds(learner: Any) -> bool:
    """Return whether a learner is known to draw only from its seeds, once these are filled, and to change nothing.

    This is known if all parts are from packages whose learners do so, with plain parameters and filled seeds.

    >>> from sklearn.feature_selection import SelectKBest, mutual_info_regression
    >>> from sklearn.linear_model import LinearRegression
    >>> keeps_to_its_seeds(LinearRegression()), keeps_to_its_seeds(SelectKBest(mutual_info_regression))
    (True, False)
    """
    return _is_known(Copies(learner).copy(0) if hasattr(learner, "get_params") else learner)


def refuse_endless(learner: Any, owner: str) -> None:
    """Refuse a learner with a parameter that contains itself, of which neither copies nor names would end."""
    ways: list[Iterator[Any]] = [iter([learner])]
    inside: list[int] = []  # what each of the ways leads out of
    done = set[int]()
    while ways:
        part = next(ways[-1], ways)
        if part is ways:
            ways.pop()
            done.update(inside[-1:])
            del inside[-1:]
        elif id(part) in inside or len(inside) > _DEPTH:
            what = (
                f"contains itself ({type(part).__name__})" if id(part) in inside else f"has more than {_DEPTH} levels"
            )
            raise ValueError(f"A parameter of {owner}'s estimator {what}, so it cannot be cloned. Pass another value.")
        elif id(part) not in done and (parts := _direct_parts(part)):
            ways.append(iter(parts))
            inside.append(id(part))


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
    """Return whether a learner predicts, or may once it is fitted, as it says that it is a classifier or a regressor.

    A stacked learner, for instance, has the method `predict` only after its last part was fitted.

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
        # A bagged ensemble does: if the seed of its learner were filled here, it would be the same in all its bags.
        return hasattr(parameters.get(prefix.removesuffix("__")), "bag_predictions")

    return sorted(name for name in names if not any(seeds_its_parts(name[:end]) for end in _starts_of_parts(name)))


def has_callbacks(learner: Any) -> bool:
    """Return whether callbacks of scikit-learn are set on a learner or on a part of it."""
    return any(getattr(part, "_skl_callbacks", None) for part in _parts(learner))


def without_callbacks(model: Any) -> Any:
    """Return a fitted model after its callbacks were removed: each one that travels opens a line to the first."""
    for part in _parts(model):
        for each in (part, *getattr(part, "__dict__", {}).values()):
            if hasattr(each, "set_callbacks"):
                each.__dict__.pop("_skl_callbacks", None)
    return model


def isolated(name: str, value: Any) -> Any:
    """Return a fit parameter that all bags share, copied if needed so that no learner can change another's."""
    if isinstance(value, (*_PLAIN, type, types.FunctionType, types.BuiltinFunctionType)):
        return value
    try:
        return copy.deepcopy(value)
    except Exception as error:
        raise TypeError(
            f"The fit parameter {name!r} cannot be copied ({error}), so bags would share it. Pass something that can "
            "be copied."
        ) from error


def _is_known(part: Any) -> bool:
    """Whether a part of a learner whose seeds are filled is known to keep to them."""
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
    seed = parameters.get("random_state", 0)  # it may be "deprecated"; the learner then shuffles as it likes
    return isinstance(seed, int | np.integer) and all(map(_is_known, parameters.values()))


def _shares_parts(learner: Any) -> bool:
    """Whether a clone shares an estimator with the learner: one that declares itself its own clone."""
    named = {"": learner, **learner.get_params(deep=True)}
    frozen = [f"{name}__" if name else "" for name, part in named.items() if type(part) is FrozenEstimator]

    def stays(name: str) -> bool:
        """Whether it is a frozen learner, or inside one: these are already fitted and may be shared."""
        return any(f"{name}__".startswith(prefix) for prefix in frozen)

    mine = {id(part) for name, part in named.items() if hasattr(part, "fit") and not stays(name)}
    return any(id(part) in mine for part in _parts(clone(learner)))


def _starts_of_parts(name: str) -> list[int]:
    """Where the names of the enclosing estimators end in ``a__b__random_state``: before a, and before b."""
    parts = name.split("__")[:-1]
    return [sum(len(part) + 2 for part in parts[:depth]) for depth in range(len(parts))]


def _unseeded_splitters(learner: Any) -> list[str]:
    """The names of parameters that are splitters and shuffle without a seed."""

    def shuffles(value: Any) -> bool:
        return hasattr(value, "split") and getattr(value, "random_state", 0) is None and getattr(value, "shuffle", True)

    return sorted(name for name, value in learner.get_params(deep=True).items() if shuffles(value))


def _parts(learner: Any) -> list[Any]:
    return [learner, *(learner.get_params(deep=True).values() if hasattr(learner, "get_params") else [])]


def _uses_libsvm_or_liblinear(part: Any) -> bool:
    """Whether it may draw from the generator that these two C libraries share across the whole process."""
    if isinstance(part, LogisticRegression | LogisticRegressionCV):
        return bool(part.solver == "liblinear")
    # Calibration contains a LinearSVC by default.
    return isinstance(part, SVC | NuSVC | LinearSVC | LinearSVR | CalibratedClassifierCV)


def _spread(seed: int, count: int) -> list[int]:
    """Make one seed into several, for a learner with several random parts; a single part gets it as it is."""
    if count == 1:
        return [seed]
    return [int(word) % _LARGEST_SEED for word in np.random.SeedSequence(seed).generate_state(count)]


# ----------------------------------------------------------------------------------------------- what all threads share


@contextmanager
def _settings_of_its_own() -> Iterator[None]:
    """Restore what a learner may change: scikit-learn's, numpy's and Python's settings, and the environment."""
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


def torch_is_there() -> bool:
    """Return whether torch is imported, and so has generators that can be seeded."""
    return hasattr(sys.modules.get("torch"), "manual_seed")


@contextmanager
def _torch_seeded(seed: int) -> Iterator[None]:
    """Seed torch's generators, if it is imported, and restore those of the processor and of the graphics cards."""
    if not torch_is_there():
        yield
        return
    torch: Any = sys.modules["torch"]
    cards = list(range(torch.cuda.device_count())) if torch.cuda.is_available() else []
    with torch.random.fork_rng(devices=cards):
        torch.manual_seed(seed)
        yield


_turns = threading.RLock()


def _renew_turns() -> None:
    """Make a new lock in a forked process, where no thread could release the one it inherited."""
    global _turns
    _turns = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_turns)


@contextmanager
def _turn(stay: bool) -> Iterator[None]:
    """Wait for this thread's turn; what a learner runs in parallel may have to stay in the thread that has it."""
    turns = _turns
    mine = turns.acquire(timeout=_PATIENCE)
    if not mine:  # the thread that has the turn may be waiting for this one
        warnings.warn(
            f"After waiting for {_PATIENCE:g} seconds, a learner was run beside another although both may use the "
            "process's random generators. Results may depend on which came first.",
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
# Random subspaces: each bag's learner sees some of the columns, drawn from its seed and never from the rows.
#
# The learner that the theorems are about is then: draw columns from the seed, and fit to these. It is a randomized
# learner like any other, and everything that is proved for every learner is proved for it.

_STREAM = 2  # of a seed, apart from those of the learner itself


@dataclass(frozen=True)
class Subspaces:
    """The columns that each bag's learner sees: so many of those of the table, each set of them equally likely.

    Parameters
    ----------
    n_features : int
        The number of columns of the table.
    size : int
        How many of them a learner sees.

    Examples
    --------
    >>> Subspaces(n_features=6, size=2).of(seed=0), Subspaces(n_features=6, size=2).of(seed=1)
    (array([3, 4]), array([1, 3]))
    """

    n_features: int
    size: int

    @classmethod
    def read(cls, max_features: Any, n_features: int, owner: str) -> "Subspaces | None":
        """Return what `max_features` means for so many columns; None if learners see them all.

        >>> Subspaces.read(0.5, 7, "BaggedRegressor"), Subspaces.read(1.0, 7, "BaggedRegressor")
        (Subspaces(n_features=7, size=3), None)
        """
        check_max_features(max_features, owner)
        if isinstance(max_features, Integral):
            size = int(max_features)
            if size > n_features:
                reason = f"there are {n_features:,} columns. Use 1.0 for all."
                raise refuse_value("max_features", owner, f"at most {n_features:,} here", size, reason)
        else:
            size = max(1, whole_rows(max_features, n_features))
        return None if size == n_features else cls(n_features, size)

    def of(self, seed: int) -> np.ndarray:
        """Return the columns that the learner with this seed sees, in the order of the table."""
        words = Philox(SeedSequence((seed, _STREAM))).random_raw(self.n_features)
        return np.sort(np.argsort(words, kind="stable")[: self.size])

    def warn_of_one(self, stacklevel: int) -> None:
        """Warn that all bags see the same columns, because all learners have the same seed."""
        warnings.warn(
            f'With n_bags="all" the learner has the same seed in every bag, so all bags see the same {self.size:,} of '
            f"{self.n_features:,} columns. Draw some bags (n_bags=500) for columns of their own, or use "
            "max_features=1.0.",
            stacklevel=stacklevel,
        )

    def take(self, X: Any, seed: int) -> Any:
        """Return these columns of an array, a sparse array or a data frame, as a new table of the same kind."""
        columns = self.of(seed)
        return np.take(X, columns, axis=1) if isinstance(X, np.ndarray) else _safe_indexing(X, columns, axis=1)


def check_max_features(value: Any, owner: str) -> None:
    """Refuse a number of columns that is no whole number from 1 on and no share of them."""
    reason = "it is how many columns each bag's learner sees, or their share. Use 1.0 for all."
    if isinstance(value, Integral) and not isinstance(value, bool):
        check_integer(value, "max_features", owner, minimum=1, reason=reason)
    else:
        check_real(value, "max_features", owner, high=1.0, open_low=True, reason=reason)


# -------------------------------------------------------------------------------------------------------------- outputs
# Checks of what learners return before it is averaged: a copy of the right shape, of numbers or of known classes.

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


def _without_nan(prediction: np.ndarray, places: np.ndarray | None = None) -> np.ndarray:
    if np.isnan(prediction).any():
        point = int(np.argwhere(np.isnan(prediction))[0][0])
        raise ValueError(f"its prediction at point {point if places is None else places[point]} is NaN.")
    return prediction
