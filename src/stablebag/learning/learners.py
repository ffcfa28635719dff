"""Fresh copies of a learner, each with a seed of its own, and all the randomness it can reach hanging on that seed.

A learner's `random_state` parameters that are None are filled, and so are those of splitters in it, such as
``KFold(shuffle=True)``. What is left draws from the global generators of numpy and Python: these are seeded for each
bag and given back as they were. With that, what a bag's learner does depends on its rows and its seed alone.
"""

import copy
import os
import pickle
import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV
from sklearn.svm import SVC, LinearSVC, LinearSVR, NuSVC

_PLAIN = (bool, int, float, str, np.generic)
_LARGEST_SEED = 2**31 - 1


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
        plain = all(value is None or isinstance(value, _PLAIN) for value in self.parameters.values())
        usual = getattr(type(learner), "__sklearn_clone__", None) is BaseEstimator.__sklearn_clone__
        self.by_class = plain and usual and vars(learner).keys() == self.parameters.keys()
        # Such a learner of scikit-learn has the same parameters in all bags and no other estimators in it: validating
        # them in the first bag is enough. Of any other learner it is not known what it validates while it fits.
        self.validated_once = self.by_class and _is_of_scikit_learn(learner)

    def copy(self, seed: int) -> Any:
        """Return a copy with this seed."""
        names = [*self.seed_names, *self.splitter_names]
        seeds = dict(zip(names, _spread(seed, len(names)), strict=True))
        if self.by_class:
            return type(self.learner)(**{**self.parameters, **seeds})
        model = clone(self.learner)
        if model is self.learner:  # a learner may say that it is its own clone; but bags must not share one
            return model if type(model) is FrozenEstimator else copy.deepcopy(model)
        if self.seed_names:
            model.set_params(**{name: seeds[name] for name in self.seed_names})
        parameters = model.get_params(deep=True) if self.splitter_names else {}
        for name in self.splitter_names:
            parameters[name].random_state = seeds[name]  # of a copy: clone has copied the splitter
        return model


class Randomness:
    """The global generators, as far as a learner may draw from them: seeded for each bag, and given back afterwards.

    Threads share these generators. A learner that has not touched them in its first bag goes on beside others; one
    that has, and one whose C library has a generator for the whole process, is run one at a time.

    Parameters
    ----------
    learner : estimator
        Whose bags are fitted, or predict, from now on.
    """

    def __init__(self, learner: Any) -> None:
        self.needless = draws_from_its_seeds_alone(learner)
        self.shares_a_generator = any(_uses_libsvm_or_liblinear(part) for part in _parts(learner))
        self.seen_clean = False

    @contextmanager
    def __call__(self, *seed: int) -> Iterator[None]:
        """Let one bag's learner draw from nothing that does not hang on its seed."""
        among_threads = threading.current_thread() is not threading.main_thread()
        if self.needless or (among_threads and self.seen_clean):
            with _alone() if among_threads and self.shares_a_generator else nullcontext():
                yield
            return
        with _alone() if among_threads else nullcontext():
            before = _global_states()
            (word,) = np.random.SeedSequence((*seed, 1)).generate_state(1)  # another stream than the learner's own
            _seed_globally(int(word))
            at_first = _global_states() if among_threads else None
            try:
                yield
            finally:
                if at_first is not None:
                    self.seen_clean = _equal(at_first, _global_states()) and not self.shares_a_generator
                np.random.set_state(before[0])
                random.setstate(before[1])


def draws_from_its_seeds_alone(learner: Any) -> bool:
    """Return whether a learner is known to draw from nothing but its `random_state` parameters, which are filled.

    It is where all parts of it are scikit-learn's, with plain parameters; of anything else it is not known.

    >>> from sklearn.feature_selection import SelectKBest, mutual_info_regression
    >>> from sklearn.linear_model import LinearRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> selection = SelectKBest(mutual_info_regression)
    >>> draws_from_its_seeds_alone(LinearRegression()), draws_from_its_seeds_alone(selection)
    (True, False)
    """
    if learner is None or isinstance(learner, (*_PLAIN, np.ndarray, slice, range)):
        return True
    if isinstance(learner, list | tuple):
        return all(map(draws_from_its_seeds_alone, learner))
    if isinstance(learner, dict):
        return all(map(draws_from_its_seeds_alone, learner.values()))
    if isinstance(learner, type) or not _is_of_scikit_learn(learner) or not hasattr(learner, "get_params"):
        return False
    parameters = learner.get_params(deep=False)
    seed = parameters.get("random_state")  # which may be "deprecated", and then the learner shuffles as it likes
    return (seed is None or isinstance(seed, int | np.integer)) and all(
        map(draws_from_its_seeds_alone, parameters.values())
    )


def running_alone() -> bool:
    """Return whether this thread runs a learner that must not run beside others."""
    return getattr(_this_thread, "alone", 0) > 0


def random_state_names(learner: Any) -> list[str]:
    """Return the names of the learner's `random_state` parameters, nested ones too, that nobody has set.

    >>> from sklearn.linear_model import SGDClassifier
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.random_projection import GaussianRandomProjection
    >>> random_state_names(make_pipeline(GaussianRandomProjection(random_state=7), SGDClassifier()))
    ['sgdclassifier__random_state']
    """
    parameters = {"": learner, **learner.get_params(deep=True)}
    names = {name for name, value in parameters.items() if name.split("__")[-1] == "random_state" and value is None}

    def seeds_its_parts(prefix: str) -> bool:
        owner = parameters.get(prefix.removesuffix("__"))
        if hasattr(
            owner, "bag_predictions"
        ):  # a bagged ensemble: with its seed filled, a learner is the same in all bags
            return True
        is_search = hasattr(owner, "refit")  # which has a seed for its own choices only
        return f"{prefix}random_state" in names and not is_search

    # An estimator that is seeded itself seeds the estimators inside it, as a rule.
    parents = {name: [name[:end] for end in _starts_of_parts(name)] for name in names}
    return sorted(name for name in names if not any(map(seeds_its_parts, parents[name])))


def isolated(value: Any) -> Any:
    """Return a fit parameter that is the same for all bags so that no learner can change another's."""
    if value is None or isinstance(value, _PLAIN) or callable(value):
        return value
    try:
        return copy.deepcopy(value)
    except Exception:  # of what cannot be copied there is only one
        return value


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


def _is_of_scikit_learn(learner: Any) -> bool:
    return type(learner).__module__.startswith("sklearn.")


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

_this_thread = threading.local()
_turns = threading.RLock()


def _renew_turns() -> None:
    """A process that was forked has no thread that could give back the turn it holds."""
    global _turns
    _turns = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_turns)


@contextmanager
def _alone() -> Iterator[None]:
    with _turns:
        _this_thread.alone = getattr(_this_thread, "alone", 0) + 1
        try:
            yield
        finally:
            _this_thread.alone -= 1


def _global_states() -> tuple[Any, Any]:
    return np.random.get_state(legacy=False), random.getstate()


def _seed_globally(word: int) -> None:
    np.random.seed(word)
    random.seed(word)


def _equal(state: tuple[Any, Any], other: tuple[Any, Any]) -> bool:
    return state[1] == other[1] and pickle.dumps(state[0]) == pickle.dumps(other[0])
