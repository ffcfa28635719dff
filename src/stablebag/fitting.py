"""The one seam where learners are fitted: the data, bags and seeds go in, one model per bag comes out, in bag order.

A learner sees exactly the rows of its bag, in bag order and with repeats; rows outside of the bag do not reach it, not
even with weight zero, and nothing that it does reaches another learner. The same numbers come out, to the last bit, for
any number of jobs, backend and batching: every bag is fitted by one thread, from its own rows and its own seed.
"""

from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse
from sklearn import config_context
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeClassifier, ExtraTreeRegressor

from stablebag import outputs
from stablebag.bags import Bags
from stablebag.learners import Copies, Randomness, isolated
from stablebag.parallel import BagError, in_order, n_workers, one_thread, results
from stablebag.rows import Points, as_float32, take_rows

_BATCHES_PER_WORKER = 8  # enough for even loads and a lively progress bar, few enough for cheap dispatch
_BLOCK_BYTES = 2**26
_SMALL_PREDICTION = 100_000  # bags times points below which threads cost more than they save
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
    with closing(_one_by_one(_fit_and_predict_each, work, bags, seeds, 0, n_jobs, Points(X))) as predictions:
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
        raise failure.explained(f"{learner} failed to predict with the model of") from failure.cause


# ----------------------------------------------------------------------------------------------------- one bag's worth


def _fit_each(work: Assignment, first: int, bags: Bags, seeds: np.ndarray) -> Iterator[Any]:
    """Yield the model of each bag."""
    fresh, randomness = Copies(work.learner), Randomness(work.learner)
    given = work.fit_params or {}
    by_row = {name for name, value in given.items() if _is_per_row(value, len(work.y))}
    validated = False
    for offset, seed in enumerate(seeds.tolist()):
        rows = bags[offset]
        try:
            with one_thread():
                model = _model_without_learner(work, rows)
                if model is None:
                    model = fresh.copy(seed)
                    params = {k: take_rows(v, rows) if k in by_row else isolated(v) for k, v in given.items()}
                    with randomness(seed), _validation_skipped() if validated else nullcontext():
                        model.fit(take_rows(work.X, rows), work.y[rows], **params)
                    validated = fresh.validated_once
        except Exception as error:
            raise BagError.of(first + offset, "fit", error) from error
        yield model


def _fit_and_predict_each(
    work: Assignment, first: int, bags: Bags, seeds: np.ndarray, points: Points
) -> Iterator[np.ndarray]:
    """Yield the prediction of each bag's model."""
    randomness = Randomness(work.learner)
    for number, model in enumerate(_fit_each(work, first, bags, seeds), start=first):
        with one_thread():
            prediction = _predict(number, model, points, work.classes, randomness)
        yield prediction


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


def _predict(number: int, model: Any, points: Points, classes: np.ndarray | None, randomness: Randomness) -> np.ndarray:
    try:
        # A learner of which little is known might have changed the number of threads, too.
        with nullcontext() if randomness.needless else one_thread(), randomness(number):
            if classes is None:
                return outputs.numbers(_ask(model, "predict", points), points.n_points)
            if hasattr(model, "predict_proba") and hasattr(model, "classes_"):
                given = _ask(model, "predict_proba", points)
                return outputs.probabilities(given, points.n_points, model.classes_, classes)
            return outputs.votes(_ask(model, "predict", points), points.n_points, classes)
    except Exception as error:
        raise BagError.of(number, "predict", error) from error


def _ask(model: Any, method: str, points: Points) -> Any:
    if type(model) in _TREES and points.as_float32 is not None:
        return getattr(model, method)(points.as_float32, check_input=False)
    return points.ask(model, method)


def _prepared(work: Assignment) -> Assignment:
    """Convert the rows once where every bag would have to: for trees, and for sparse formats without quick rows."""
    if sparse.issparse(work.X) and work.X.format != "csr":
        return replace(work, X=work.X.tocsr())
    if type(work.learner) in _TREES and work.learner.criterion != "poisson":  # which checks y together with X
        X = as_float32(work.X)
        if X is not None:
            return replace(work, X=X, fit_params={**(work.fit_params or {}), "check_input": False})
    return work


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
    workers = n_workers(n_jobs)
    step = max(1, len(bags) // (_BATCHES_PER_WORKER * workers))
    starts = range(0, len(bags), step)
    # X and y travel as arguments of their own, where backends look for large ones to send only once.
    light = replace(work, X=None, y=np.empty(0))
    batches = ((each, work.X, work.y, light, first + s, bags[s : s + step], seeds[s : s + step], *more) for s in starts)
    try:
        if workers == 1:
            yield from each(work, first, bags, seeds, *more)
        else:
            with results(_fit_remotely, batches, n_jobs) as found:
                yield from in_order(found)
    except BagError as failure:
        what = f"{type(work.learner).__name__} failed to {failure.doing} on"
        raise failure.explained(what, _about(bags[failure.number - first], work)) from failure.cause


def _fit_remotely(
    each: Callable[..., Iterator[Any]], X: Any, y: np.ndarray, light: Assignment, *arguments: Any
) -> Iterator[Any]:
    return each(replace(light, X=X, y=y), *arguments)


def _predict_all(models: list[Any], X: Any, classes: np.ndarray | None, n_jobs: int | None) -> Iterator[np.ndarray]:
    points, workers = Points(X), n_workers(n_jobs)
    small = len(models) * points.n_points < _SMALL_PREDICTION
    workers = 1 if small else workers
    bytes_per_bag = 8 * points.n_points * (1 if classes is None else len(classes))
    step = max(1, min(_BLOCK_BYTES // bytes_per_bag, len(models) // (4 * workers)))

    def predict_some(first: int) -> Iterator[np.ndarray]:
        randomness: dict[type, Randomness] = {}  # a bag without rows has a model of another type
        with one_thread():
            for number, model in enumerate(models[first : first + step], start=first):
                own = randomness.get(type(model)) or randomness.setdefault(type(model), Randomness(model))
                yield _predict(number, model, points, classes, own)

    starts = [(first,) for first in range(0, len(models), step)]
    if workers == 1:
        for start in starts:
            yield from list(predict_some(*start))  # all of a block within the limit of threads, none between blocks
        return
    # Threads share the models, where processes would have to be sent all of them.
    with results(predict_some, starts, n_jobs, require="sharedmem") as blocks:
        yield from in_order(blocks)


def _validation_skipped() -> AbstractContextManager[None]:
    context: AbstractContextManager[None] = config_context(skip_parameter_validation=True)
    return context


def _about(rows: np.ndarray, work: Assignment) -> str:
    """The size and the classes of a bag."""
    if work.classes is None:
        return f" ({len(rows)} rows)"
    seen = np.unique(work.y[rows]).tolist()
    names = ", ".join(map(str, seen[:5])) + (" and others" if len(seen) > 5 else "")
    return f" ({len(rows)} rows; classes {names})"


def _is_per_row(value: Any, n_samples: int) -> bool:
    """Whether a fit parameter has one entry per training row: an array, a column or a list of that length."""
    shape = getattr(value, "shape", None)
    if shape is not None:
        return len(shape) >= 1 and shape[0] == n_samples
    return isinstance(value, list | tuple) and len(value) == n_samples
