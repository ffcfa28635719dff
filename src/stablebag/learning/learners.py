"""Fresh copies of a learner, each with a seed of its own, and all the randomness it can reach hanging on that seed.

A learner's `random_state` parameters that are None are filled, nested ones too, and so are those of splitters in it,
such as ``KFold(shuffle=True)``. What is left draws from the global generators of numpy and Python: these are seeded for
each bag and given back as they were, and so are the settings of the process that a learner may change. With that, what
a bag's learner does depends on its rows and its seed alone.
"""

import copy
import os
import random
import threading
import types
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from typing import Any

import numpy as np
from joblib import parallel_config
from sklearn import config_context
from sklearn.base import BaseEstimator, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV
from sklearn.svm import SVC, LinearSVC, LinearSVR, NuSVC

_PLAIN = (bool, int, float, str, bytes, np.generic, type(None))
_KNOWN = ("sklearn.", "lightgbm.", "xgboost.", "catboost.")  # packages whose learners keep to their seeds
_LARGEST_SEED = 2**31 - 1
_PATIENCE = 60.0  # seconds to wait for a learner that must not run beside others


class Copies:
    """Unfitted copies of a learner, each with a seed of its own: `clone` and `set_params`, with a short cut.

    A learner whose parameters are plain values, and which has nothing else, is copied by calling its class: the same
    thing, at a tenth of the time.
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
        # Such a learner of scikit-learn has the same parameters in all bags and no other estimators in it: validating
        # them in the first bag is enough. Of any other learner it is not known what it validates while it fits.
        self.validated_once = self.by_class and type(learner).__module__.startswith("sklearn.")

    def copy(self, seed: int) -> Any:
        """Return a copy with this seed."""
        names = [*self.seed_names, *self.splitter_names]
        seeds = dict(zip(names, _spread(seed, len(names)), strict=True))
        if self.by_class:
            return type(self.learner)(**{**self.parameters, **seeds})
        model = copy.deepcopy(self.learner) if self.by_deepcopy else clone(self.learner)
        if model is self.learner or type(model) is FrozenEstimator:
            return model  # a frozen learner is fitted already, and its own clone
        if self.seed_names and not self._is_its_own_clone:
            model.set_params(**{name: seeds[name] for name in self.seed_names})
        parameters = model.get_params(deep=True) if self.splitter_names else {}
        for name in self.splitter_names:
            parameters[name].random_state = seeds[name]  # of a copy: clone has copied the splitter
        return model

    @property
    def _is_its_own_clone(self) -> bool:
        """Whether the learner itself wants to be left as it is."""
        return self.by_deepcopy and clone(self.learner) is self.learner


class Surroundings:
    """What a learner finds around it: generators seeded for its bag, settings as they are in a fresh process.

    All of that is one for the whole process. A learner that is known to use none of it is let alone; any other has it
    for itself while it runs, and it is given back as it was.

    Parameters
    ----------
    learner : estimator
        Whose bags are fitted, or predict, from now on.
    """

    def __init__(self, learner: Any) -> None:
        self.harmless = keeps_to_its_seeds(learner)
        self.shares_a_generator = any(_uses_libsvm_or_liblinear(part) for part in _parts(learner))
        self.has_ensembles_inside = any(hasattr(part, "bag_predictions") for part in _parts(learner))

    @property
    def may_run_beside_others(self) -> bool:
        """Whether several of it may run in threads at once."""
        return self.harmless and not self.shares_a_generator

    @contextmanager
    def __call__(self, *seed: int) -> Iterator[None]:
        """Let one bag's learner draw from nothing that does not hang on its seed."""
        if self.may_run_beside_others:
            yield
            return
        with _turn(self.has_ensembles_inside):
            if self.harmless:
                yield
                return
            before = np.random.get_state(legacy=False), random.getstate()
            (word,) = np.random.SeedSequence((*seed, 1)).generate_state(1)  # another stream than the learner's own
            np.random.seed(word)
            random.seed(int(word))
            try:
                with _settings_of_its_own():
                    yield
            finally:
                np.random.set_state(before[0])
                random.setstate(before[1])


def keeps_to_its_seeds(learner: Any) -> bool:
    """Return whether a learner is known to draw from nothing but its seeds, once filled, and to change nothing.

    It is where all parts of it are of packages that do, with plain parameters and seeds that are filled; of anything
    else it is not known.

    >>> from sklearn.feature_selection import SelectKBest, mutual_info_regression
    >>> from sklearn.linear_model import LinearRegression
    >>> keeps_to_its_seeds(LinearRegression()), keeps_to_its_seeds(SelectKBest(mutual_info_regression))
    (True, False)
    """
    return _is_known(Copies(learner).copy(0) if hasattr(learner, "get_params") else learner)


def random_state_names(learner: Any) -> list[str]:
    """Return the names of the learner's `random_state` parameters, nested ones too, that nobody has set.

    >>> from sklearn.linear_model import SGDClassifier
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.random_projection import GaussianRandomProjection
    >>> random_state_names(make_pipeline(GaussianRandomProjection(random_state=7), SGDClassifier()))
    ['sgdclassifier__random_state']
    """
    parameters = {"": learner, **learner.get_params(deep=True)}
    names = [name for name, value in parameters.items() if name.split("__")[-1] == "random_state" and value is None]

    def seeds_its_parts(prefix: str) -> bool:
        # A bagged ensemble does: with its seed filled, a learner would be the same in all its bags.
        return hasattr(parameters.get(prefix.removesuffix("__")), "bag_predictions")

    return sorted(name for name in names if not any(seeds_its_parts(name[:end]) for end in _starts_of_parts(name)))


def isolated(name: str, value: Any) -> Any:
    """Return a fit parameter that is the same for all bags so that no learner can change another's."""
    if isinstance(value, (*_PLAIN, type, types.FunctionType, types.BuiltinFunctionType)):
        return value
    try:
        return copy.deepcopy(value)
    except Exception as error:
        raise TypeError(
            f"The fit parameter {name!r} cannot be copied ({error}), so that bags would share it. Pass something that "
            "can be."
        ) from error


def _is_known(part: Any) -> bool:
    """Whether a part of a learner, its seeds filled, is known to keep to them."""
    if isinstance(part, (*_PLAIN, np.ndarray, slice, range)):
        return True
    if isinstance(part, list | tuple):
        return all(map(_is_known, part))
    if isinstance(part, dict):
        return all(map(_is_known, part.values()))
    if isinstance(part, type) or not hasattr(part, "get_params") or not type(part).__module__.startswith(_KNOWN):
        return False
    parameters = part.get_params(deep=False)
    seed = parameters.get("random_state", 0)  # which may be "deprecated", and then the learner shuffles as it likes
    return isinstance(seed, int | np.integer) and all(map(_is_known, parameters.values()))


def _shares_parts(learner: Any) -> bool:
    """Whether a clone has an estimator of the learner itself in it: one that says that it is its own clone."""
    named = {"": learner, **learner.get_params(deep=True)}
    frozen = [f"{name}__" if name else "" for name, part in named.items() if type(part) is FrozenEstimator]

    def stays(name: str) -> bool:
        """Whether it is a frozen learner, or inside one: these are fitted already, and may be shared."""
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
    """Whether it may draw from the generator that these two C libraries have for the whole process."""
    if isinstance(part, LogisticRegression | LogisticRegressionCV):
        return bool(part.solver == "liblinear")
    # Calibration has a LinearSVC inside where nothing else is given.
    return isinstance(part, SVC | NuSVC | LinearSVC | LinearSVR | CalibratedClassifierCV)


def _spread(seed: int, count: int) -> list[int]:
    """Make one seed into several, for a learner with several random parts; one alone gets it as it is."""
    if count == 1:
        return [seed]
    return [int(word) % _LARGEST_SEED for word in np.random.SeedSequence(seed).generate_state(count)]


# ------------------------------------------------------------------------------------------ what is one for all threads


@contextmanager
def _settings_of_its_own() -> Iterator[None]:
    """Give back what a learner may have set: scikit-learn's, numpy's and Python's settings, and the environment."""
    environment = os.environ.copy()
    with ExitStack() as stack:
        stack.enter_context(config_context())
        stack.enter_context(np.errstate(divide="warn", over="warn", under="ignore", invalid="warn"))
        stack.enter_context(np.printoptions())
        if threading.current_thread() is threading.main_thread():  # filters of warnings are not safe among threads
            stack.enter_context(warnings.catch_warnings())
        try:
            yield
        finally:
            if os.environ != environment:
                os.environ.clear()
                os.environ.update(environment)


_turns = threading.RLock()


def _renew_turns() -> None:
    """A process that was forked has no thread that could give back the turn it holds."""
    global _turns
    _turns = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_turns)


@contextmanager
def _turn(stay: bool) -> Iterator[None]:
    """Wait for one's turn; what a learner runs in parallel meanwhile may have to stay in its thread, which has it."""
    turns = _turns
    mine = turns.acquire(timeout=_PATIENCE)
    if not mine:  # it may be that the one who has the turn waits for this thread
        warnings.warn(
            "A learner was run beside another although both may use the process's random generators, after "
            f"{_PATIENCE:g} seconds of waiting. Results may depend on which came first.",
            stacklevel=2,
        )
    stay = stay or threading.current_thread() is not threading.main_thread()
    try:
        with parallel_config(backend="sequential", n_jobs=1) if stay else nullcontext():
            yield
    finally:
        if mine:
            turns.release()
