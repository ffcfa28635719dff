"""The one seam where learners are fitted: a job goes in, one model per bag comes out, in bag order.

A learner sees exactly the rows of its bag, in bag order and with repeats; rows outside the bag do not reach it, not
even with weight zero, and nothing that it does reaches another learner. The same numbers come out, to the last bit, for
any number of jobs, backend and batching: every bag is fitted by one thread, from its own rows and its own seed.
"""

import copy
import pickle
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn import config_context
from sklearn.dummy import DummyClassifier, DummyRegressor

from stablebag.learning import outputs
from stablebag.learning.job import FitJob
from stablebag.learning.learners import Copies, Surroundings, isolated
from stablebag.learning.parallel import BagError, Pace, n_workers, one_thread, results
from stablebag.learning.rows import Points, has_mutable_cells, take_rows
from stablebag.learning.solvers.choice import solver_for
from stablebag.learning.solvers.solver import Solver

_BLOCK_BYTES = 2**26
_SMALL_PREDICTION = 100_000  # bags times points below which threads cost more than they save


def fit_bags(job: FitJob, n_jobs: int | None = None) -> Iterator[Any]:
    """Yield the fitted model of each bag, in bag order; close the iterator to stop early."""
    with closing(_one_by_one(_fit_each, job, n_jobs)) as models:
        yield from models


def fit_and_predict_bags(job: FitJob, X: Any, n_jobs: int | None = None) -> Iterator[np.ndarray]:
    """Fit one model per bag, yield its prediction at the points X, and forget it; only a batch is alive at a time."""
    with closing(_one_by_one(_fit_and_predict_each, job, n_jobs, Points(X))) as predictions:
        yield from predictions


def predict_bags(
    models: list[Any], seeds: np.ndarray, X: Any, classes: np.ndarray | None = None, n_jobs: int | None = None
) -> Iterator[np.ndarray]:
    """Yield the prediction of each bag's model at the points X, in bag order; small jobs are left to one thread.

    What a model draws at random while it predicts depends on the seed of its bag.
    """
    try:
        yield from _predict_all(models, seeds, X, classes, n_jobs)
    except BagError as failure:
        learner = type(models[failure.number]).__name__
        raise failure.explained(f"{learner} failed to predict with the model of") from failure.cause


# ----------------------------------------------------------------------------------------------------- one bag's worth


def _fit_each(job: FitJob) -> Iterator[Any]:
    """Yield the model of each bag."""
    solver, fresh, surroundings = solver_for(job.learner), Copies(job.learner), Surroundings(job.learner)
    given = job.fit_params or {}
    by_row = {name for name, value in given.items() if is_per_row(value, len(job.y))}
    validated, mutable = False, has_mutable_cells(job.X)
    for number, (rows, seed) in enumerate(zip(job.bags, job.seeds.tolist(), strict=True), start=job.first):
        try:
            with one_thread():
                model = _model_without_learner(job, rows)
                if model is None:
                    model = fresh.copy(seed)
                    params = {k: take_rows(v, rows) if k in by_row else isolated(k, v) for k, v in given.items()}
                    X, y = take_rows(job.X, rows), job.y[rows]
                    with surroundings(seed), _validation_skipped() if validated else nullcontext():
                        model = solver.fit(model, copy.deepcopy(X) if mutable else X, y, params)
                    model, validated = _as_after_a_journey(model), fresh.validated_once
        except Exception as error:
            raise BagError.of(number, "fit", error) from error
        yield model


def _fit_and_predict_each(job: FitJob, points: Points) -> Iterator[np.ndarray]:
    """Yield the prediction of each bag's model."""
    solver, surroundings = solver_for(job.learner), Surroundings(job.learner)
    for number, (model, seed) in enumerate(zip(_fit_each(job), job.seeds.tolist(), strict=True), start=job.first):
        with one_thread():
            prediction = _predict(solver, number, seed, model, points, job.classes, surroundings)
        yield prediction


def _model_without_learner(job: FitJob, rows: np.ndarray) -> Any:
    """The constant model of a bag without rows or with a single class, which a learner might refuse; else None."""
    y, classes = job.y[rows], job.classes
    if classes is None:
        if len(y):
            return None
        return DummyRegressor(strategy="constant", constant=job.empty_value).fit([[0.0]], [0.0])
    if len(y) == 0:
        return DummyClassifier(strategy="uniform", random_state=0).fit(np.zeros((len(classes), 1)), classes)
    return DummyClassifier(strategy="prior").fit([[0.0]], y[:1]) if (y == y[0]).all() else None


def _predict(
    solver: Solver,
    number: int,
    seed: int,
    model: Any,
    points: Points,
    classes: np.ndarray | None,
    surroundings: Surroundings,
) -> np.ndarray:
    try:
        # A learner about which little is known might have changed the number of threads, too.
        harmless = surroundings.harmless
        with nullcontext() if harmless else one_thread(), surroundings(seed, 1):
            if classes is None:
                return outputs.numbers(solver.ask(model, "predict", points, harmless), points.n_points)
            if hasattr(model, "predict_proba") and hasattr(model, "classes_"):
                given = solver.ask(model, "predict_proba", points, harmless)
                return outputs.probabilities(given, points.n_points, model.classes_, classes)
            return outputs.votes(solver.ask(model, "predict", points, harmless), points.n_points, classes)
    except Exception as error:
        raise BagError.of(number, "predict", error) from error


# ------------------------------------------------------------------------------------------------------------ all bags


def _one_by_one(
    each: Callable[..., Iterator[Any]], job: FitJob, n_jobs: int | None, *more: Any
) -> Generator[Any, None, None]:
    """Yield what `each` yields for all bags, in bag order, from as many workers as there are."""
    job = solver_for(job.learner).prepared(job)
    workers = n_workers(n_jobs, beside_others=Surroundings(job.learner).may_run_beside_others)
    pace, light = Pace(workers), job.without_rows()
    # X and y are separate arguments, because there backends look for large ones to send only once.
    batches = ((each, job.X, job.y, light.part(*ends), *more) for ends in pace.batches(len(job)))
    try:
        if workers == 1:
            yield from each(job, *more)
            return
        done = 0
        with results(_fit_remotely, batches, n_jobs, pace) as found:
            for item in found:
                done += 1
                yield item
        if done != len(job):
            raise RuntimeError(f"Only {done} of {len(job)} fits came back from the workers. Fit again.")
    except BagError as failure:
        what = f"{type(job.learner).__name__} failed to {failure.doing} on"
        about = _about(job.bags[failure.number - job.first], job)
        if job.numbers is not None:
            failure.number = int(job.numbers[failure.number - job.first])
        raise failure.explained(what, about) from failure.cause


def _fit_remotely(
    each: Callable[..., Iterator[Any]], X: Any, y: np.ndarray, light: FitJob, *more: Any
) -> Iterator[Any]:
    return each(replace(light, X=X, y=y), *more)


def _predict_all(
    models: list[Any], seeds: np.ndarray, X: Any, classes: np.ndarray | None, n_jobs: int | None
) -> Iterator[np.ndarray]:
    points, kinds = (
        Points(X),
        {type(model): (solver_for(model), Surroundings(model)) for model in _one_of_a_kind(models)},
    )
    beside_others = all(surroundings.may_run_beside_others for _, surroundings in kinds.values())
    small = len(models) * points.n_points < _SMALL_PREDICTION
    workers = 1 if small else n_workers(n_jobs, threads=True, beside_others=beside_others)
    bytes_per_bag = 8 * points.n_points * (1 if classes is None else len(classes))
    step = max(1, min(_BLOCK_BYTES // bytes_per_bag, len(models) // (4 * workers)))

    def predict_some(first: int) -> Iterator[np.ndarray]:
        with one_thread():
            for number, model in enumerate(models[first : first + step], start=first):
                solver, surroundings = kinds[type(model)]
                yield _predict(solver, number, int(seeds[number]), model, points, classes, surroundings)

    starts = [(first,) for first in range(0, len(models), step)]
    if workers == 1:
        for start in starts:
            yield from list(predict_some(*start))  # threads are limited within a block, but not between blocks
        return
    # Threads share the models; processes would have to be sent all of them.
    with results(predict_some, starts, n_jobs, require="sharedmem") as found:
        yield from found


def _one_of_a_kind(models: list[Any]) -> list[Any]:
    """One model of each type, because a bag without rows has a model of another type."""
    return list({type(model): model for model in models}.values())


def _as_after_a_journey(model: Any) -> Any:
    """The model as it would come back from another process, where strided arrays become contiguous ones."""
    if not _has_strided_arrays(model, depth=8):
        return model
    try:
        return pickle.loads(pickle.dumps(model))
    except Exception:  # what cannot be pickled does not come back from another process at all
        return model


def _has_strided_arrays(part: Any, depth: int) -> bool:
    if isinstance(part, np.ndarray):
        return not (part.flags.c_contiguous or part.flags.f_contiguous)
    if depth == 0:
        return False
    if isinstance(part, list | tuple):
        return len(part) < 100 and any(_has_strided_arrays(item, depth - 1) for item in part)
    return hasattr(part, "get_params") and any(_has_strided_arrays(item, depth - 1) for item in vars(part).values())


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


def is_per_row(value: Any, n_samples: int) -> bool:
    """Whether a fit parameter has one entry per training row: an array, a column or a list of that length."""
    shape = getattr(value, "shape", None)
    if shape is not None:
        return len(shape) >= 1 and shape[0] == n_samples
    return isinstance(value, list | tuple) and len(value) == n_samples
