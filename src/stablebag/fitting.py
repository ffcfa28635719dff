"""The one seam where learners are fitted: the data, bags and seeds go in, one model per bag comes out, in bag order.

A learner sees exactly the rows of its bag, in bag order and with repeats; rows outside of the bag do not reach it, not
even with weight zero. The same numbers come out, to the last bit, for any number of jobs, backend and batching: every
bag is fitted by one thread, from its own rows and its own seed.
"""

import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from scipy import sparse
from sklearn.base import clone
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.utils import _safe_indexing  # underscored, but what scikit-learn's users have for rows of any frame
from sklearn.utils.parallel import Parallel, delayed
from threadpoolctl import threadpool_limits

from stablebag.bags import Bags

_BATCHES_PER_WORKER = 16  # enough for even loads and a lively progress bar, few enough for cheap dispatch
_BLOCK_BYTES = 2**26
_SMALL_PREDICTION = 100_000  # bags times points below which threads cost more than they save


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
    for batch in _in_batches(_fit_batch, work, bags, seeds, first, n_jobs):
        for model in batch:
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
    for batch in _in_batches(_fit_and_predict_batch, work, bags, seeds, 0, n_jobs, X):
        for prediction in batch:
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
    return sorted(
        name for name, value in parameters.items() if name.split("__")[-1] == "random_state" and value is None
    )


# ----------------------------------------------------------------------------------------------------- one bag's worth


def _fit_batch(work: Assignment, first: int, bags: Bags, seeds: np.ndarray) -> list[Any]:
    return [model for _, model in _fit_each(work, first, bags, seeds)]


def _fit_and_predict_batch(work: Assignment, first: int, bags: Bags, seeds: np.ndarray, X: Any) -> list[np.ndarray]:
    fitted = _fit_each(work, first, bags, seeds)
    return [_predict(number, model, X, work.classes) for number, model in fitted]


def _fit_each(work: Assignment, first: int, bags: Bags, seeds: np.ndarray) -> Iterator[tuple[int, Any]]:
    names = random_state_names(work.learner)
    n_samples = len(work.y)
    by_row = {name for name, value in (work.fit_params or {}).items() if _is_per_row(value, n_samples)}
    for offset, seed in enumerate(seeds):
        rows = bags[offset]
        try:
            yield first + offset, _fit(work, rows, int(seed), names, by_row)
        except Exception as error:
            raise BagError(first + offset, "fit", _portable(error)) from error


def _fit(work: Assignment, rows: np.ndarray, seed: int, names: list[str], by_row: set[str]) -> Any:
    y = work.y[rows]
    if len(rows) == 0:
        return _model_of_an_empty_bag(work)
    if work.classes is not None and (y == y[0]).all():
        return DummyClassifier(strategy="prior").fit(np.zeros((1, 1)), y[:1])
    model = clone(work.learner)
    if names:
        model.set_params(**dict(zip(names, _spread(seed, len(names)), strict=True)))
    given = work.fit_params or {}
    params = {name: take_rows(value, rows) if name in by_row else value for name, value in given.items()}
    model.fit(take_rows(work.X, rows), y, **params)
    return model


def _model_of_an_empty_bag(work: Assignment) -> Any:
    if work.classes is None:
        return DummyRegressor(strategy="constant", constant=work.empty_value).fit([[0.0]], [0.0])
    return DummyClassifier(strategy="uniform", random_state=0).fit(np.zeros((len(work.classes), 1)), work.classes)


def _spread(seed: int, count: int) -> list[int]:
    """Make one seed into several, for a learner with several random parts; one alone gets it as it is."""
    if count == 1:
        return [seed]
    return [int(word) % (2**31 - 1) for word in np.random.SeedSequence(seed).generate_state(count)]


def _predict(number: int, model: Any, X: Any, classes: np.ndarray | None) -> np.ndarray:
    try:
        prediction = _raw_prediction(model, X) if classes is None else _class_probabilities(model, X, classes)
        if np.isnan(prediction).any():
            point = int(np.argwhere(np.isnan(prediction))[0][0])
            raise ValueError(f"its prediction at point {point} is NaN.")
    except Exception as error:
        raise BagError(number, "predict", _portable(error)) from error
    return prediction


def _raw_prediction(model: Any, X: Any) -> np.ndarray:
    prediction = np.asarray(model.predict(X), dtype=float)
    if prediction.size != _n_rows(X):
        raise ValueError(f"it predicted an array of shape {prediction.shape} for {_n_rows(X)} points.")
    return prediction.reshape(-1)


def _class_probabilities(model: Any, X: Any, classes: np.ndarray) -> np.ndarray:
    """Probabilities of all classes, zero for those the model has not seen; one-hot votes where it has none."""
    if hasattr(model, "predict_proba") and hasattr(model, "classes_"):
        probabilities = np.asarray(model.predict_proba(X), dtype=float)
        if len(model.classes_) == len(classes):
            return probabilities
        aligned = np.zeros((len(probabilities), len(classes)))
        aligned[:, np.searchsorted(classes, model.classes_)] = probabilities
        return aligned
    labels = np.asarray(model.predict(X)).reshape(-1)
    votes: np.ndarray = np.equal(labels[:, None], classes[None, :]).astype(float)
    return votes


# ------------------------------------------------------------------------------------------------------------ all bags


def _in_batches(
    task: Callable[..., list[Any]],
    work: Assignment,
    bags: Bags,
    seeds: np.ndarray,
    first: int,
    n_jobs: int | None,
    *more: Any,
) -> Iterator[list[Any]]:
    """Run a task on batches of bags, and give out what it returns in bag order."""
    if sparse.issparse(work.X) and work.X.format != "csr":
        work = Assignment(**{**vars(work), "X": work.X.tocsr()})  # rows of other formats cannot be taken, or slowly
    workers = effective_n_jobs(n_jobs)
    step = 1 if workers == 1 else max(1, len(bags) // (_BATCHES_PER_WORKER * workers))

    def arguments() -> Iterator[tuple[Any, ...]]:
        for start in range(0, len(bags), step):
            stop = start + step
            yield work, first + start, bags[start:stop], seeds[start:stop], *more

    try:
        with _one_thread_each(), _results(task, arguments(), n_jobs) as results:
            yield from results
    except BagError as failure:
        raise _explained(failure, work, bags, first) from failure.cause


def _predict_all(models: list[Any], X: Any, classes: np.ndarray | None, n_jobs: int | None) -> Iterator[np.ndarray]:
    n_points = _n_rows(X)
    if len(models) * n_points < _SMALL_PREDICTION or effective_n_jobs(n_jobs) == 1:
        with _one_thread_each():
            for number, model in enumerate(models):
                yield _predict(number, model, X, classes)
        return
    # Threads share the models, where processes would have to be sent all of them.
    bytes_per_bag = 8 * n_points * (1 if classes is None else len(classes))
    step = max(1, min(_BLOCK_BYTES // bytes_per_bag, -(-len(models) // (4 * effective_n_jobs(n_jobs)))))

    def predict_some(first: int) -> list[np.ndarray]:
        some = enumerate(models[first : first + step], start=first)
        return [_predict(number, model, X, classes) for number, model in some]

    starts = range(0, len(models), step)
    with _one_thread_each(), _results(predict_some, ((s,) for s in starts), n_jobs, require="sharedmem") as blocks:
        for block in blocks:
            yield from block


@contextmanager
def _results(
    task: Callable[..., Any], arguments: Iterable[tuple[Any, ...]], n_jobs: int | None, **options: Any
) -> Iterator[Iterator[Any]]:
    """The results of a task on many arguments, in order, as they come; leaving the block stops the workers."""
    if effective_n_jobs(n_jobs) == 1:
        yield (task(*some) for some in arguments)
        return
    parallel = Parallel(n_jobs=n_jobs, return_as="generator", **options)
    results = parallel(delayed(_with_one_thread)(task, *some) for some in arguments)
    try:
        yield results
    finally:
        results.close()


def _with_one_thread(task: Callable[..., Any], *arguments: Any) -> Any:
    with _one_thread_each():
        return task(*arguments)


@contextmanager
def _one_thread_each() -> Iterator[None]:
    """One thread of BLAS and OpenMP per bag: jobs do not crowd each other, and sums do not depend on their number."""
    with threadpool_limits(limits=1):
        yield


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
    kind = next((kind for kind in (TypeError, ValueError) if isinstance(cause, kind)), RuntimeError)
    return kind(f"{what} bag {failure.number}{about}: {type(cause).__name__}: {cause}")


def _portable(error: Exception) -> Exception:
    """The error itself, or its text where it cannot travel between processes."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error


def _is_per_row(value: Any, n_samples: int) -> bool:
    return hasattr(value, "__len__") and not isinstance(value, str | Mapping) and _n_rows(value) == n_samples


def _n_rows(X: Any) -> int:
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)
