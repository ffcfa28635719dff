"""The one seam where learners are fitted: a job goes in, one model per bag comes out, in bag order.

A learner sees exactly the rows of its bag, in bag order and with repeats; rows outside of the bag do not reach it, not
even with weight zero, and nothing that it does reaches another learner. The same numbers come out, to the last bit, for
any number of jobs, backend and batching: every bag is fitted by one thread, from its own rows and its own seed.
"""

from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn import config_context
from sklearn.dummy import DummyClassifier, DummyRegressor

from stablebag.learning import outputs
from stablebag.learning.job import FitJob
from stablebag.learning.learners import Copies, Randomness, isolated
from stablebag.learning.parallel import BagError, Pace, n_workers, one_thread, results
from stablebag.learning.rows import Points, take_rows
from stablebag.learning.solvers.choice import solver_for
from stablebag.learning.solvers.solver import Solver

_BLOCK_BYTES = 2**26
_SMALL_PREDICTION = 100_000  # bags times points below which threads cost more than they save


def fit_bags(job: FitJob, n_jobs: int | None = None) -> Iterator[Any]:
    """Yield the fitted model of one bag after the other, in bag order; close it to stop early."""
    with closing(_one_by_one(_fit_each, job, n_jobs)) as models:
        yield from models


def fit_and_predict_bags(job: FitJob, X: Any, n_jobs: int | None = None) -> Iterator[np.ndarray]:
    """Fit one model per bag, yield its prediction at the points X, and forget it; only a batch is alive at a time."""
    with closing(_one_by_one(_fit_and_predict_each, job, n_jobs, Points(X))) as predictions:
        yield from predictions


def predict_bags(
    models: list[Any], X: Any, classes: np.ndarray | None = None, n_jobs: int | None = None
) -> Iterator[np.ndarray]:
    """Yield the prediction of one bag's model after the other at the points X; few points are left to one thread."""
    try:
        yield from _predict_all(models, X, classes, n_jobs)
    except BagError as failure:
        learner = type(models[failure.number]).__name__
        raise failure.explained(f"{learner} failed to predict with the model of") from failure.cause


# ----------------------------------------------------------------------------------------------------- one bag's worth


def _fit_each(job: FitJob) -> Iterator[Any]:
    """Yield the model of each bag."""
    solver, fresh, randomness = solver_for(job.learner), Copies(job.learner), Randomness(job.learner)
    given = job.fit_params or {}
    by_row = {name for name, value in given.items() if _is_per_row(value, len(job.y))}
    validated = False
    for number, (rows, seed) in enumerate(zip(job.bags, job.seeds.tolist(), strict=True), start=job.first):
        try:
            with one_thread():
                model = _model_without_learner(job, rows)
                if model is None:
                    model = fresh.copy(seed)
                    params = {k: take_rows(v, rows) if k in by_row else isolated(v) for k, v in given.items()}
                    with randomness(seed), _validation_skipped() if validated else nullcontext():
                        model = solver.fit(model, take_rows(job.X, rows), job.y[rows], params)
                    validated = fresh.validated_once
        except Exception as error:
            raise BagError.of(number, "fit", error) from error
        yield model


def _fit_and_predict_each(job: FitJob, points: Points) -> Iterator[np.ndarray]:
    """Yield the prediction of each bag's model."""
    solver, randomness = solver_for(job.learner), Randomness(job.learner)
    for number, model in enumerate(_fit_each(job), start=job.first):
        with one_thread():
            prediction = _predict(solver, number, model, points, job.classes, randomness)
        yield prediction


def _model_without_learner(job: FitJob, rows: np.ndarray) -> Any:
    """The constant model of a bag that a learner might not take: without rows, or with a single class; else None."""
    y, classes = job.y[rows], job.classes
    if classes is None:
        if len(y):
            return None
        return DummyRegressor(strategy="constant", constant=job.empty_value).fit([[0.0]], [0.0])
    if len(y) == 0:
        return DummyClassifier(strategy="uniform", random_state=0).fit(np.zeros((len(classes), 1)), classes)
    return DummyClassifier(strategy="prior").fit([[0.0]], y[:1]) if (y == y[0]).all() else None


def _predict(
    solver: Solver, number: int, model: Any, points: Points, classes: np.ndarray | None, randomness: Randomness
) -> np.ndarray:
    try:
        # A learner of which little is known might have changed the number of threads, too.
        with nullcontext() if randomness.needless else one_thread(), randomness(number):
            if classes is None:
                return outputs.numbers(solver.ask(model, "predict", points), points.n_points)
            if hasattr(model, "predict_proba") and hasattr(model, "classes_"):
                given = solver.ask(model, "predict_proba", points)
                return outputs.probabilities(given, points.n_points, model.classes_, classes)
            return outputs.votes(solver.ask(model, "predict", points), points.n_points, classes)
    except Exception as error:
        raise BagError.of(number, "predict", error) from error


# ------------------------------------------------------------------------------------------------------------ all bags


def _one_by_one(
    each: Callable[..., Iterator[Any]], job: FitJob, n_jobs: int | None, *more: Any
) -> Generator[Any, None, None]:
    """What `each` yields for all bags, in bag order, from as many workers as there are."""
    job = solver_for(job.learner).prepared(job)
    workers = n_workers(n_jobs)
    pace, light = Pace(workers), job.without_rows()
    # X and y travel as arguments of their own, where backends look for large ones to send only once.
    batches = ((each, job.X, job.y, light.part(*ends), *more) for ends in pace.batches(len(job)))
    try:
        if workers == 1:
            yield from each(job, *more)
        else:
            with results(_fit_remotely, batches, n_jobs, pace) as found:
                yield from found
    except BagError as failure:
        what = f"{type(job.learner).__name__} failed to {failure.doing} on"
        raise failure.explained(what, _about(job.bags[failure.number - job.first], job)) from failure.cause


def _fit_remotely(
    each: Callable[..., Iterator[Any]], X: Any, y: np.ndarray, light: FitJob, *more: Any
) -> Iterator[Any]:
    return each(replace(light, X=X, y=y), *more)


def _predict_all(models: list[Any], X: Any, classes: np.ndarray | None, n_jobs: int | None) -> Iterator[np.ndarray]:
    points, workers = Points(X), n_workers(n_jobs)
    small = len(models) * points.n_points < _SMALL_PREDICTION
    workers = 1 if small else workers
    bytes_per_bag = 8 * points.n_points * (1 if classes is None else len(classes))
    step = max(1, min(_BLOCK_BYTES // bytes_per_bag, len(models) // (4 * workers)))

    def predict_some(first: int) -> Iterator[np.ndarray]:
        # A bag without rows has a model of another type.
        kinds: dict[type, tuple[Solver, Randomness]] = {}
        with one_thread():
            for number, model in enumerate(models[first : first + step], start=first):
                if type(model) not in kinds:
                    kinds[type(model)] = solver_for(model), Randomness(model)
                solver, randomness = kinds[type(model)]
                yield _predict(solver, number, model, points, classes, randomness)

    starts = [(first,) for first in range(0, len(models), step)]
    if workers == 1:
        for start in starts:
            yield from list(predict_some(*start))  # all of a block within the limit of threads, none between blocks
        return
    # Threads share the models, where processes would have to be sent all of them.
    with results(predict_some, starts, n_jobs, require="sharedmem") as found:
        yield from found


def _validation_skipped() -> AbstractContextManager[None]:
    context: AbstractContextManager[None] = config_context(skip_parameter_validation=True)
    return context


def _about(rows: np.ndarray, job: FitJob) -> str:
    """The size and the classes of a bag."""
    if job.classes is None:
        return f" ({len(rows)} rows)"
    seen = np.unique(job.y[rows]).tolist()
    names = ", ".join(map(str, seen[:5])) + (" and others" if len(seen) > 5 else "")
    return f" ({len(rows)} rows; classes {names})"


def _is_per_row(value: Any, n_samples: int) -> bool:
    """Whether a fit parameter has one entry per training row: an array, a column or a list of that length."""
    shape = getattr(value, "shape", None)
    if shape is not None:
        return len(shape) >= 1 and shape[0] == n_samples
    return isinstance(value, list | tuple) and len(value) == n_samples
