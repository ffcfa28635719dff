"""The one seam where learners are fitted: the data, bags and seeds go in, one model per bag comes out, in bag order.

A learner sees exactly the rows of its bag, in bag order and with repeats; rows outside of the bag do not reach it, not
even with weight zero. The same numbers come out, to the last bit, for any number of jobs, backend and batching: every
bag is fitted by one thread, from its own rows and its own seed.
"""

import itertools
import pickle
import sys
import threading
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from scipy import sparse
from sklearn import config_context
from sklearn.base import BaseEstimator, clone
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeClassifier, ExtraTreeRegressor
from sklearn.utils import _safe_indexing  # underscored, but what scikit-learn's users have for rows of any frame
from sklearn.utils.parallel import Parallel, delayed
from threadpoolctl import ThreadpoolController

from stablebag.bags import Bags

_BATCHES_PER_WORKER = 8  # enough for even loads and a lively progress bar, few enough for cheap dispatch
_BLOCK_BYTES = 2**26
_SMALL_PREDICTION = 100_000  # bags times points below which threads cost more than they save
_tokens, _stopped = itertools.count(), set[int]()  # of parallel work, and of that which was given up
_TREES = (DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeClassifier, ExtraTreeRegressor)


@dataclass(frozen=True)
class Assignment:
    """What fitting any bag needs beside the bag itself.

    Parameters
    ----------
    learner : estimator
        The base learner, unfitted. It is cloned for every bag.
    X : array, sparse array or data frame
        All training rows.
    y : ndarray
        Their targets.
    classes : ndarray or None, default=None
        The class labels in order; None for regression.
    empty_value : float, default=0.0
        What a bag without rows predicts, in regression. In classification it gives all classes the same probability.
    fit_params : mapping or None, default=None
        What is passed to the learner's `fit` beside X and y; arrays with one entry per training row are sliced by bag.
    """

    learner: Any
    X: Any
    y: np.ndarray
    classes: np.ndarray | None = None
    empty_value: float = 0.0
    fit_params: Mapping[str, Any] | None = None


class BagError(Exception):
    """A learner raised an error in a bag; carries what the sentence about it needs, through process borders, too."""

    def __init__(self, number: int, doing: str, cause: Exception) -> None:
        super().__init__(number, doing, cause)
        self.number, self.doing, self.cause = number, doing, cause


def fit_bags(
    work: Assignment,
    bags: Bags,
    seeds: np.ndarray,
    *,
    first: int = 0,
    n_jobs: int | None = None,
    on_bag: Callable[[], None] | None = None,
) -> list[Any]:
    """Fit one model per bag.

    Parameters
    ----------
    work : Assignment
        The learner and the data.
    bags : Bags
        The bags to fit.
    seeds : ndarray of int
        The learner's seed in each bag.
    first : int, default=0
        The number of the first of these bags, for error messages.
    n_jobs : int or None, default=None
        As everywhere in scikit-learn.
    on_bag : callable or None, default=None
        Called after each bag, in this process.

    Returns
    -------
    list of estimators
        In bag order.
    """
    models: list[Any] = []
    with closing(_one_by_one(_fit_each, work, bags, seeds, first, n_jobs)) as fitted:
        for model in fitted:
            models.append(model)
            if on_bag:
                on_bag()
    return models


def fit_and_predict_bags(
    work: Assignment,
    bags: Bags,
    seeds: np.ndarray,
    X: Any,
    *,
    n_jobs: int | None = None,
    on_bag: Callable[[], None] | None = None,
) -> Iterator[np.ndarray]:
    """Fit one model per bag, predict at the points X, and forget the model; only a batch of them is alive at a time.

    Parameters
    ----------
    work : Assignment
        The learner and the data.
    bags : Bags
        The bags to fit.
    seeds : ndarray of int
        The learner's seed in each bag.
    X : array, sparse array or data frame
        The points at which to predict.
    n_jobs : int or None, default=None
        As everywhere in scikit-learn.
    on_bag : callable or None, default=None
        Called after each bag, in this process.

    Yields
    ------
    prediction : ndarray of shape (n_points,) or (n_points, n_classes)
        One bag's prediction after the other, in bag order.
    """
    with closing(_one_by_one(_fit_and_predict_each, work, bags, seeds, 0, n_jobs, _Points(X))) as predictions:
        for prediction in predictions:
            yield prediction
            if on_bag:
                on_bag()


def predict_bags(
    models: list[Any], X: Any, classes: np.ndarray | None = None, *, n_jobs: int | None = None
) -> Iterator[np.ndarray]:
    """Predict at the points X with one model after the other.

    Parameters
    ----------
    models : list of estimators
        One fitted model per bag.
    X : array, sparse array or data frame
        The points.
    classes : ndarray or None, default=None
        The class labels in order; None for regression.
    n_jobs : int or None, default=None
        How many threads predict. Few points are predicted by one: handing them out would take longer.

    Yields
    ------
    prediction : ndarray of shape (n_points,) or (n_points, n_classes)
        One bag's prediction after the other, in bag order.
    """
    try:
        yield from _predict_all(models, X, classes, n_jobs)
    except BagError as failure:
        learner = type(models[failure.number]).__name__
        raise _same_kind(failure, f"{learner} failed to predict with the model of") from failure.cause


def take_rows(X: Any, rows: np.ndarray) -> Any:
    """Return these rows, in this order, of an array, a sparse array or a frame, as the same kind of thing.

    >>> take_rows(np.array([[1, 2], [3, 4]]), np.array([1, 1, 0]))
    array([[3, 4],
           [3, 4],
           [1, 2]])
    """
    if isinstance(X, np.ndarray):
        return X[rows]
    return _safe_indexing(X, rows)


def random_state_names(learner: Any) -> list[str]:
    """Return the names of the learner's `random_state` parameters, nested ones too, that nobody has set.

    >>> from sklearn.linear_model import SGDClassifier
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.random_projection import GaussianRandomProjection
    >>> random_state_names(make_pipeline(GaussianRandomProjection(random_state=7), SGDClassifier()))
    ['sgdclassifier__random_state']
    """
    parameters = learner.get_params(deep=True)
    names = {name for name, value in parameters.items() if name.split("__")[-1] == "random_state" and value is None}

    def seeds_its_parts(prefix: str) -> bool:
        return f"{prefix}random_state" in names

    # An estimator that is seeded itself seeds the estimators inside it.
    parents = {name: [name[:end] for end in _starts_of_parts(name)] for name in names}
    return sorted(name for name in names if not any(map(seeds_its_parts, parents[name])))


def _starts_of_parts(name: str) -> list[int]:
    """Where the names of the enclosing estimators end in ``a__b__random_state``: before a, and before b."""
    parts = name.split("__")[:-1]
    return [sum(len(part) + 2 for part in parts[:depth]) for depth in range(len(parts))]


# ----------------------------------------------------------------------------------------------------- one bag's worth


def _fit_each(work: Assignment, first: int, bags: Bags, seeds: np.ndarray) -> Iterator[Any]:
    """Yield the model of each bag."""
    fresh = _Copies(work.learner)
    given = work.fit_params or {}
    by_row = {name for name, value in given.items() if _is_per_row(value, len(work.y))}
    validated = False
    for offset, seed in enumerate(seeds):
        rows = bags[offset]
        try:
            with _one_thread_each():
                model = _model_without_learner(work, rows)
                if model is None:
                    model = fresh.copy(int(seed))
                    params = {k: take_rows(v, rows) if k in by_row else v for k, v in given.items()}
                    with _validation_skipped() if validated else nullcontext():
                        model.fit(take_rows(work.X, rows), work.y[rows], **params)
                    validated = fresh.validated_once
        except Exception as error:
            raise BagError(first + offset, "fit", _portable(error)) from error
        yield model


def _fit_and_predict_each(
    work: Assignment, first: int, bags: Bags, seeds: np.ndarray, points: "_Points"
) -> Iterator[np.ndarray]:
    """Yield the prediction of each bag's model."""
    for number, model in enumerate(_fit_each(work, first, bags, seeds), start=first):
        yield _predict(number, model, points, work.classes)


def _model_without_learner(work: Assignment, rows: np.ndarray) -> Any:
    """The constant model of a bag that a learner might not take: without rows, or with a single class; else None."""
    y, classes = work.y[rows], work.classes
    if classes is None:
        if len(y):
            return None
        return DummyRegressor(strategy="constant", constant=work.empty_value).fit([[0.0]], [0.0])
    if len(y) == 0:
        return DummyClassifier(strategy="uniform", random_state=0).fit(np.zeros((len(classes), 1)), classes)
    return DummyClassifier(strategy="prior").fit([[0.0]], y[:1]) if (y == y[0]).all() else None


class _Copies:
    """Unfitted copies of a learner, each with a seed of its own: `clone` and `set_params`, with a short cut.

    A learner whose parameters are plain values, and which has nothing else, is copied by calling its class: the same
    thing, at a tenth of the time.
    """

    def __init__(self, learner: Any) -> None:
        self.learner = learner
        self.seed_names = random_state_names(learner)
        self.parameters = learner.get_params(deep=False)
        plain = all(value is None or isinstance(value, bool | int | float | str) for value in self.parameters.values())
        usual = getattr(type(learner), "__sklearn_clone__", None) is BaseEstimator.__sklearn_clone__
        self.by_class = plain and usual and vars(learner).keys() == self.parameters.keys()
        # Such a learner of scikit-learn has the same parameters in all bags and no other estimators in it: validating
        # them in the first bag is enough. Of any other learner it is not known what it validates while it fits.
        self.validated_once = self.by_class and type(learner).__module__.startswith("sklearn.")

    def copy(self, seed: int) -> Any:
        seeds = dict(zip(self.seed_names, _spread(seed, len(self.seed_names)), strict=True))
        if self.by_class:
            return type(self.learner)(**{**self.parameters, **seeds})
        model = clone(self.learner)
        if seeds and model is not self.learner:  # a learner may say that it is its own clone
            model.set_params(**seeds)
        return model


def _spread(seed: int, count: int) -> list[int]:
    """Make one seed into several, for a learner with several random parts; one alone gets it as it is."""
    if count == 1:
        return [seed]
    return [int(word) % (2**31 - 1) for word in np.random.SeedSequence(seed).generate_state(count)]


class _Points:
    """Points at which to predict; trees get them in their own type, converted once and not once per tree."""

    def __init__(self, X: Any) -> None:
        self.X = X
        self.n_points = _n_rows(X)

    @cached_property
    def for_trees(self) -> np.ndarray | None:
        return _as_trees_want_it(self.X)


def _predict(number: int, model: Any, points: _Points, classes: np.ndarray | None) -> np.ndarray:
    try:
        prediction = _raw_prediction(model, points) if classes is None else _class_probabilities(model, points, classes)
        if np.isnan(prediction).any():
            point = int(np.argwhere(np.isnan(prediction))[0][0])
            raise ValueError(f"its prediction at point {point} is NaN.")
    except Exception as error:
        raise BagError(number, "predict", _portable(error)) from error
    return prediction


def _raw_prediction(model: Any, points: _Points) -> np.ndarray:
    prediction = np.asarray(_ask(model, "predict", points), dtype=float)
    if prediction.size != points.n_points:
        raise ValueError(f"it predicted an array of shape {prediction.shape} for {points.n_points} points.")
    return prediction.reshape(-1)


def _class_probabilities(model: Any, points: _Points, classes: np.ndarray) -> np.ndarray:
    """Probabilities of all classes, zero for those the model has not seen; one-hot votes where it has none."""
    if not (hasattr(model, "predict_proba") and hasattr(model, "classes_")):
        return one_hot(_ask(model, "predict", points), classes)
    probabilities = np.asarray(_ask(model, "predict_proba", points), dtype=float)
    if probabilities.shape != (points.n_points, len(model.classes_)):
        expected = (points.n_points, len(model.classes_))
        raise ValueError(f"its probabilities have shape {probabilities.shape} and not {expected}.")
    if (np.abs(probabilities - 0.5) > 0.5 + 1e-6).any() or (np.abs(probabilities.sum(axis=1) - 1) > 1e-3).any():
        raise ValueError("its probabilities are not between 0 and 1 with sum 1.")
    if np.array_equal(model.classes_, classes):
        return probabilities
    aligned = np.zeros((points.n_points, len(classes)))
    aligned[:, one_hot(model.classes_, classes).argmax(axis=1)] = probabilities
    return aligned


def one_hot(labels: Any, classes: np.ndarray) -> np.ndarray:
    """Return one row per label, with a one in the column of its class.

    >>> one_hot(["b", "a"], np.array(["a", "b", "c"]))
    array([[0., 1., 0.],
           [1., 0., 0.]])
    """
    labels = np.asarray(labels).reshape(-1)
    votes: np.ndarray = np.equal(labels[:, None], classes[None, :]).astype(float)
    if not votes.any(axis=1).all():
        unknown = labels[~votes.any(axis=1)][0]
        raise ValueError(f"it predicts the class {unknown!r}, which is not among {classes.tolist()}.")
    return votes


def _ask(model: Any, method: str, points: _Points) -> Any:
    if type(model) in _TREES and points.for_trees is not None:
        return getattr(model, method)(points.for_trees, check_input=False)
    return getattr(model, method)(points.X)


def _prepared(work: Assignment) -> Assignment:
    """Convert the rows once where every bag would have to: for trees, and for sparse formats without quick rows."""
    if sparse.issparse(work.X) and work.X.format != "csr":
        return replace(work, X=work.X.tocsr())
    if type(work.learner) in _TREES and work.learner.criterion != "poisson":  # which checks y together with X
        X = _as_trees_want_it(work.X)
        if X is not None:
            return replace(work, X=X, fit_params={**(work.fit_params or {}), "check_input": False})
    return work


def _as_trees_want_it(X: Any) -> np.ndarray | None:
    """Float32 in rows, as scikit-learn's trees make of any X; None where they should look at it themselves."""
    if not isinstance(X, np.ndarray) or X.dtype.kind not in "biuf":
        return None
    with np.errstate(over="ignore"):
        converted = np.ascontiguousarray(X, dtype=np.float32)
    return converted if np.isfinite(converted).all() else None


# ------------------------------------------------------------------------------------------------------------ all bags


def _one_by_one(
    each: Callable[..., Iterator[Any]],
    work: Assignment,
    bags: Bags,
    seeds: np.ndarray,
    first: int,
    n_jobs: int | None,
    *more: Any,
) -> Generator[Any, None, None]:
    """What `each` yields for all bags, in bag order, from as many workers as there are."""
    work = _prepared(work)
    workers = effective_n_jobs(n_jobs)
    step = max(1, len(bags) // (_BATCHES_PER_WORKER * workers))
    starts = range(0, len(bags), step)
    # X and y travel as arguments of their own, where backends look for large ones to send only once.
    light = replace(work, X=None, y=np.empty(0))
    batches = ((each, work.X, work.y, light, first + s, bags[s : s + step], seeds[s : s + step], *more) for s in starts)
    try:
        if workers == 1:
            yield from each(work, first, bags, seeds, *more)
        else:
            with _results(_fit_remotely, batches, n_jobs) as results:
                yield from _in_order(results)
    except BagError as failure:
        raise _explained(failure, work, bags, first) from failure.cause


def _fit_remotely(
    each: Callable[..., Iterator[Any]], X: Any, y: np.ndarray, light: Assignment, *arguments: Any
) -> Iterator[Any]:
    return each(replace(light, X=X, y=y), *arguments)


def _predict_all(models: list[Any], X: Any, classes: np.ndarray | None, n_jobs: int | None) -> Iterator[np.ndarray]:
    points, workers = _Points(X), effective_n_jobs(n_jobs)
    small = len(models) * points.n_points < _SMALL_PREDICTION
    workers = 1 if small else workers
    bytes_per_bag = 8 * points.n_points * (1 if classes is None else len(classes))
    step = max(1, min(_BLOCK_BYTES // bytes_per_bag, len(models) // (4 * workers)))

    def predict_some(first: int) -> Iterator[np.ndarray]:
        some = enumerate(models[first : first + step], start=first)
        return (_predict(number, model, points, classes) for number, model in some)

    starts = [(first,) for first in range(0, len(models), step)]
    if workers == 1:
        for start in starts:
            with _one_thread_each():
                block = list(predict_some(*start))
            yield from block
        return
    # Threads share the models, where processes would have to be sent all of them.
    with _results(predict_some, starts, n_jobs, require="sharedmem") as blocks:
        yield from _in_order(blocks)


@contextmanager
def _results(
    task: Callable[..., Iterator[Any]], arguments: Iterable[tuple[Any, ...]], n_jobs: int | None, **options: Any
) -> Iterator[Iterator[list[Any]]]:
    """What a task yields for many arguments, as lists, in order, as they come; leaving the block stops the workers."""
    parallel = Parallel(n_jobs=n_jobs, return_as="generator", **options)
    token = next(_tokens)
    results = parallel(delayed(_listed)(token, task, *some) for some in arguments)
    try:
        yield results
    except BaseException:
        _stopped.add(token)
        raise
    finally:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".*have been cancelled", category=UserWarning)
            results.close()  # which is what cancels them


def _listed(token: int, task: Callable[..., Iterator[Any]], *arguments: Any) -> list[Any]:
    """What a task yields, unless its results are no longer wanted: threads cannot be ended, they have to look."""
    found: list[Any] = []
    with _one_thread_each():
        try:
            for item in task(*arguments):
                if token in _stopped:
                    break
                found.append(item)
        except BagError as failure:
            found.append(failure)  # in its place: so the first bag that fails is the one told of, for any n_jobs
    return found


def _in_order(batches: Iterable[list[Any]]) -> Iterator[Any]:
    for batch in batches:
        for item in batch:
            if isinstance(item, BagError):
                raise item
            yield item


class _OneThread:
    """One thread of BLAS and OpenMP per bag: jobs do not crowd each other, and sums do not depend on their number.

    The limit is the whole process's. The first to ask for it sets it and the last to leave lifts it, in whatever order
    threads come and go.
    """

    def __init__(self) -> None:
        self.lock, self.users = threading.Lock(), 0
        self.limit: Any = None

    @contextmanager
    def __call__(self) -> Iterator[None]:
        with self.lock:
            self.users += 1
            if self.users == 1:
                self.limit = _thread_pools(len(sys.modules)).limit(limits=1)
                self.limit.__enter__()
        try:
            yield
        finally:
            with self.lock:
                self.users -= 1
                if self.users == 0:
                    self.limit.__exit__(None, None, None)


_one_thread_each = _OneThread()


@lru_cache(maxsize=1)
def _thread_pools(n_modules: int) -> ThreadpoolController:
    """The pools of this process, looked up anew (which takes milliseconds) only when more modules are loaded."""
    return ThreadpoolController()


def _validation_skipped() -> AbstractContextManager[None]:
    context: AbstractContextManager[None] = config_context(skip_parameter_validation=True)
    return context


def _explained(failure: BagError, work: Assignment, bags: Bags, first: int) -> Exception:
    """Say which bag it was, with its size and classes, in an error of the same kind as the learner's."""
    rows = bags[failure.number - first]
    about = f"{len(rows)} rows"
    if work.classes is not None:
        seen = ", ".join(map(str, np.unique(work.y[rows])[:5].tolist()))
        about += f"; classes {seen}" + (" and others" if len(np.unique(work.y[rows])) > 5 else "")
    return _same_kind(failure, f"{type(work.learner).__name__} failed to {failure.doing} on", f" ({about})")


def _same_kind(failure: BagError, what: str, about: str = "") -> Exception:
    cause = failure.cause
    kind = next((kind for kind in (ValueError, TypeError) if isinstance(cause, kind)), RuntimeError)
    return kind(f"{what} bag {failure.number}{about}: {type(cause).__name__}: {cause}")


def _portable(error: Exception) -> Exception:
    """The error itself, or its text where it cannot travel between processes."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error


def _is_per_row(value: Any, n_samples: int) -> bool:
    """Whether a fit parameter has one entry per training row: an array, a column or a list of that length."""
    shape = getattr(value, "shape", None)
    if shape is not None:
        return len(shape) >= 1 and shape[0] == n_samples
    return isinstance(value, list | tuple) and len(value) == n_samples


def _n_rows(X: Any) -> int:
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)
