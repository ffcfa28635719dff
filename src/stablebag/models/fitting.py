"""Fit one model per bag, in parallel but in bag order."""

import time
from bisect import bisect_left
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing, nullcontext
from dataclasses import replace
from functools import cached_property
from typing import Any, overload

import numpy as np
from sklearn.dummy import DummyClassifier, DummyRegressor

from stablebag.models.caching import FitCache
from stablebag.models.learners import Subspaces, Surroundings
from stablebag.models.parallel import BagError, Pace, n_workers, on_this_machine, one_thread, results, unlogged
from stablebag.models.rows import Points, RowSource
from stablebag.models.solving import (
    PREDICT,
    FitJob,
    General,
    PredictRequest,
    SolverChoice,
    Structure,
    bags_for_solvers,
    converted,
    warns_of_many_classes,
    with_solver,
)
from stablebag.resampling.bags import Bags

# --------------------------------------------------------------------------------------------------------------- models
# The fitted models of all bags. A solver's models are stored as arrays and become estimators on access.


class Models(Sequence[Any]):
    """The model of each bag, as a sequence of fitted estimators.

    If a solver fitted a bag, its model is stored as arrays. The estimator is built on each access, with all attributes
    that scikit-learn's fit would have set. Pickling stores the arrays.

    Parameters
    ----------
    stored : iterable
        The model of each bag, as arrays or as an estimator.
    seeds : ndarray of int
        The learner's seed in each bag.
    structure : Structure or None, default=None
        What the models that are stored as arrays have in common.
    subspaces : Subspaces or None, default=None
        The columns that each model uses; None for all.
    """

    def __init__(
        self,
        stored: Iterable[Any],
        seeds: np.ndarray,
        structure: Structure | None = None,
        subspaces: Subspaces | None = None,
    ) -> None:
        self.stored, self.seeds, self.structure, self.subspaces = list(stored), seeds, structure, subspaces

    def __len__(self) -> int:
        return len(self.stored)

    @overload
    def __getitem__(self, place: int) -> Any: ...
    @overload
    def __getitem__(self, place: slice) -> list[Any]: ...
    def __getitem__(self, place: Any) -> Any:
        """Return the estimator of a bag; a slice returns a list."""
        if isinstance(place, slice):
            return [self[number] for number in range(*place.indices(len(self)))]
        number = range(len(self))[place]
        model = self.stored[number]
        if not self.is_array(model):
            return model
        assert self.structure is not None
        with unlogged():
            return self.structure.estimator(model, int(self.seeds[number]))

    def __iter__(self) -> Iterator[Any]:
        return (self[number] for number in range(len(self)))

    def __repr__(self) -> str:
        return f"{type(self).__name__} of {len(self):,} bags, {self.n_arrays:,} of them stored as arrays"

    def is_array(self, model: Any) -> bool:
        """Return whether a model is stored as arrays."""
        return self.structure is not None and type(model) is self.structure.model_type

    @property
    def n_arrays(self) -> int:
        """The number of models that are stored as arrays."""
        return len(self._numbers)

    @cached_property
    def _numbers(self) -> list[int]:
        """The numbers of the bags whose models are arrays."""
        return [number for number, model in enumerate(self.stored) if self.is_array(model)]

    @cached_property
    def _stacked(self) -> Any:
        assert self.structure is not None
        return self.structure.stacked([self.stored[number] for number in self._numbers])

    def runs(self, first: int, stop: int) -> Iterator[tuple[range, bool]]:
        """Yield runs of bags that are stored alike: their numbers, and whether they are arrays."""
        while first < stop:
            array, end = self.is_array(self.stored[first]), first + 1
            if len(self._numbers) == len(self):
                end = stop
            while end < stop and self.is_array(self.stored[end]) == array:
                end += 1
            yield range(first, end), array
            first = end

    def together(self, numbers: range) -> Any:
        """Return a run of arrays in the form that predicts for all of them at once."""
        place = bisect_left(self._numbers, numbers.start)
        return self._stacked[place : place + len(numbers)]

    @cached_property
    def may_run_beside_others(self) -> bool:
        """Whether several of the estimators may run in threads at the same time."""
        kinds = {type(model): number for number, model in enumerate(self.stored)}
        return all(Surroundings(self[number]).may_run_beside_others for number in kinds.values())

    # ------------------------------------------------------------------------------------------------------- pickling

    def __getstate__(self) -> dict[str, Any]:
        """Concatenate the arrays of all bags: a few large arrays instead of thousands."""
        inside = np.array([self.is_array(model) for model in self.stored], dtype=bool)
        arrays = [model for model in self.stored if self.is_array(model)]
        return {
            "estimators": [model for model in self.stored if not self.is_array(model)],
            "inside": inside,
            "seeds": self.seeds,
            "structure": self.structure,
            "packed": [_packed(values) for values in zip(*arrays, strict=True)],
            "subspaces": self.subspaces,
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.seeds, self.structure, self.subspaces = state["seeds"], state["structure"], state["subspaces"]
        estimators, n_arrays = iter(state["estimators"]), int(np.sum(state["inside"]))
        columns = [_unpacked(packed, n_arrays) for packed in state["packed"]]
        kind = None if self.structure is None else self.structure.model_type
        arrays = (kind(*values) for values in zip(*columns, strict=True)) if kind is not None else iter(())
        self.stored = [next(arrays) if inside else next(estimators) for inside in state["inside"]]


def _packed(values: tuple[Any, ...]) -> dict[str, Any]:
    """One field of many models: concatenated arrays and their shapes, or numbers in one array."""
    if not isinstance(values[0], np.ndarray):
        return {"numbers": np.array(values)}
    flat = np.concatenate([value.ravel() for value in values])
    return {"flat": flat, "shapes": np.array([value.shape for value in values])}


def _unpacked(packed: dict[str, Any], count: int) -> Iterable[Any]:
    if "numbers" in packed:
        return list(packed["numbers"].tolist())
    shapes = packed["shapes"].reshape(count, -1)
    ends = np.cumsum(shapes.prod(axis=1, dtype=np.int64))
    starts = ends - shapes.prod(axis=1, dtype=np.int64)
    flat = packed["flat"]
    flat.flags.writeable = False
    return [flat[a:b].reshape(shape) for a, b, shape in zip(starts, ends, shapes.tolist(), strict=True)]


# ------------------------------------------------------------------------------------------------------------- portions
# For rows that are not in memory, bags are fitted in portions whose rows fit into memory. One pass over the source
# reads the rows of a portion.
#
# A learner gets the same rows in the same order as from a table in memory, so the models have the same bits.

_OF_A_ROW = 16  # bytes: its number in the table, and its target
_OF_AN_ENTRY = 24  # bytes for a row in a bag: its number, its place, and its new number


def portions(job: FitJob) -> Iterator[FitJob]:
    """Split a job with a row source into jobs with rows in memory, each with as many bags as fit."""
    source: RowSource = job.X
    for first, stop in cuts(job.bags, source):
        yield gathered(job.part(first, stop), len(job))


class NoRoomError(ValueError):
    """The distinct rows of a bag do not fit into `max_memory` of their source."""

    bag: int
    n_rows: int
    megabytes: int  # that would be enough

    @classmethod
    def of(cls, source: RowSource, bag: int, n_rows: int, megabytes: int) -> "NoRoomError":
        """Return the error with its sentence."""
        error = cls(
            f"max_memory of {type(source).__name__} must be enough for one bag, got {source.max_memory:,} bytes, but "
            f'bag {bag} has {n_rows:,} distinct rows. Use max_memory="{megabytes}MB" or smaller bags.'
        )
        error.bag, error.n_rows, error.megabytes = bag, n_rows, megabytes
        return error


def gathered(job: FitJob, n_bags: int) -> FitJob:
    """Return the job with only the rows of its bags, in memory; `n_bags` is the number in the whole job."""
    return replace(job.on_own_rows(lambda source, rows: source.take(rows)), gathered_of=n_bags)


def cuts(bags: Bags, source: RowSource) -> Iterator[tuple[int, int]]:
    """Yield the first bag of each portion and the one after its last, such that its distinct rows fit into memory."""
    per_row, n = source.bytes_per_row + _OF_A_ROW, bags.n_samples
    memory = max(source.max_memory - source.bytes_to_read, source.max_memory / 2)
    total = int(bags.sizes.sum())
    if min(total, n) * per_row <= memory and total * _OF_AN_ENTRY <= memory:
        yield 0, len(bags)
        return
    first, held, entries = 0, 0, 0
    is_held = np.zeros(n if n <= memory // 8 else 0, dtype=bool)  # without memory for it, rows of two bags count twice
    for number, bag in enumerate(bags):
        rows = _distinct(bag)
        new = rows[~is_held[rows]] if len(is_held) else rows
        entries += len(bag)
        full = (held + len(new)) * per_row > memory or entries * _OF_AN_ENTRY > memory
        if full and number > first:
            yield first, number
            is_held[:] = False
            first, held, entries, new = number, 0, len(bag), rows
        if len(new) * per_row > memory:
            raise NoRoomError.of(source, number, len(new), int((len(new) * per_row + source.bytes_to_read) / 1e6) + 1)
        if len(is_held):
            is_held[new] = True
        held += len(new)
    if first < len(bags):
        yield first, len(bags)


def _distinct(bag: np.ndarray) -> np.ndarray:
    """The distinct rows of a bag in order; ten times as fast as numpy's hash table."""
    rows = np.sort(bag)
    new = np.ones(len(rows), dtype=bool)
    np.not_equal(rows[1:], rows[:-1], out=new[1:])
    return rows[new]


# -------------------------------------------------------------------------------------------------------------- fitting
# The only place where learners are fitted.
#
# A learner gets exactly the rows of its bag, in bag order and with repeats. It never gets rows outside its bag, not
# even with weight zero, and nothing that it does affects another learner. Every bag is fitted by one thread from its
# own rows and its own seed, so the models have the same bits for any number of jobs, backend and batch size.

_BLOCK_BYTES = 2**26
_SMALL_PREDICTION = 100_000  # bags times points below which threads cost more than they save
_NEARLY_ALL = 0.9  # share of the points above which selecting them costs more than predicting at all
_AT_ONCE = 0.02  # seconds of a solver's fits that are returned together


def ready(job: FitJob) -> Iterator[FitJob]:
    """Yield the job with rows in memory and a solver; with a row source, yield it in portions.

    The solver is chosen in the first portion with a bag that a solver can fit.
    """
    if not isinstance(job.X, RowSource):
        yield with_solver(job)
        return
    settled: SolverChoice | None = None
    for part in portions(job):
        part = with_solver(part) if settled is None else replace(part, choice=settled)
        yield part
        if settled is None and (part.choice.why or next(bags_for_solvers(part), None) is not None):
            settled = part.choice.without_rows()
        del part  # before the rows of the next are read


def fit_bags(job: FitJob, n_jobs: int | None = None) -> Iterator[Any]:
    """Yield the fitted model of each bag as `Models` stores it, in bag order; close the iterator to stop early.

    Without a solver, these are estimators.
    """
    with closing(_one_by_one(_fit_each, job, n_jobs)) as models:
        yield from models


def fit_and_predict_bags(job: FitJob, X: Any, n_jobs: int | None = None) -> Iterator[np.ndarray]:
    """Fit one model per bag and yield its prediction at X; only one batch of models is in memory at a time."""
    points = Points(X)
    for part in ready(job):
        with closing(_one_by_one(_fit_and_predict_each, part, n_jobs, points)) as predictions:
            yield from predictions
        del part  # before the rows of the next are read


def predict_bags(
    models: Models,
    X: Any,
    classes: np.ndarray | None = None,
    n_jobs: int | None = None,
    *,
    request: PredictRequest = PREDICT,
) -> Iterator[np.ndarray]:
    """Yield the predictions of the bags' models at the points X, in blocks with one line per bag, in bag order.

    Random numbers that a model draws while predicting depend on the seed of its bag. By default, the predictions are
    numbers, probabilities or votes; `request` may ask for decision functions, and for some points only.
    """
    points = Points(X)
    small = len(models) * points.n_points < _SMALL_PREDICTION
    workers = 1 if small else n_workers(n_jobs, threads=True, beside_others=models.may_run_beside_others)
    bytes_per_bag = 8 * points.n_points * ((request.n_outputs or 1) if classes is None else len(classes))
    step = max(1, min(_BLOCK_BYTES // bytes_per_bag, len(models) // (4 * workers)))
    with one_thread():
        predict = _Predict(points, classes, models.structure, request)

    def predict_some(first: int) -> Iterator[np.ndarray]:
        with one_thread():
            yield from predict(models, first, min(first + step, len(models)))

    starts = [(first,) for first in range(0, len(models), step)]
    try:
        if workers == 1:
            for start in starts:
                yield from list(predict_some(*start))  # threads are limited within a block, but not between blocks
            return
        # Threads share the models; processes would need copies of all of them.
        with results(predict_some, starts, n_jobs, require="sharedmem") as found:
            yield from found
    except BagError as failure:
        learner = type(models[failure.number]).__name__
        raise failure.explained(f"{learner} failed to predict with the model of") from failure.cause


# ----------------------------------------------------------------------------------------------------- one bag's worth


class _Fit:
    """Fits the bags of a job, by their place in it, with the chosen solver or else with the learner itself."""

    def __init__(self, job: FitJob) -> None:
        self.job = job
        self.solver = None if job.choice is None else job.choice.solver_of(job)
        self.general: General | None = None

    def __call__(self, place: int) -> Any:
        try:
            rows, seed = self.job.bags[place], int(self.job.seeds[place])
            model = _model_without_learner(self.job, rows)
            if model is None and self.solver is not None and not warns_of_many_classes(self.job, rows):
                model = self.solver.fit(rows, seed)
            if model is None:
                if self.general is None:
                    self.general = General(self.job)
                model = self.general.fit(rows, seed, None if self.job.tasks is None else self.job.tasks[place])
            return model
        except Exception as error:
            raise BagError.of(*_named(self.job, place, "fit", error)) from error

    @property
    def structure(self) -> Structure | None:
        return None if self.solver is None else self.solver.structure


class _Predict:
    """Predicts at some points with the models of some bags."""

    def __init__(
        self, points: Points, classes: np.ndarray | None, structure: Structure | None, request: PredictRequest
    ) -> None:
        self.points, self.classes, self.request = points, classes, request
        self.predictor = structure.predictor(points) if structure is not None and request.is_plain else None
        self.surroundings: dict[type, Surroundings] = {}

    def __call__(self, models: Models, first: int, stop: int) -> Iterator[np.ndarray]:
        """Yield the predictions of some bags, in blocks."""
        for numbers, solved in models.runs(first, stop):
            block = self.predictor(models.together(numbers)) if solved and self.predictor is not None else None
            if block is not None and not np.isnan(block).any():
                yield block
            else:  # for NaN, the estimator raises an error
                line = self._at_all if self.request.wanted is None else self._at_wanted
                yield np.stack([line(models, number) for number in numbers])

    def _at_wanted(self, models: Models, number: int) -> np.ndarray:
        """The line of a bag that needs to predict at some points only."""
        assert self.request.wanted is not None
        places = np.flatnonzero(self.request.wanted[number])
        if len(places) > _NEARLY_ALL * self.points.n_points:
            return self._at_all(models, number)
        line = np.zeros((self.points.n_points, *self._numbers_at_a_point))
        if len(places):
            line[places] = self._at_all(models, number, self.points.some(places))
        return line

    @property
    def _numbers_at_a_point(self) -> tuple[int, ...]:
        if self.classes is not None:
            return (len(self.classes),)
        return () if self.request.n_outputs is None else (self.request.n_outputs,)

    def _at_all(self, models: Models, number: int, points: Points | None = None) -> np.ndarray:
        """The line of a bag at all points, or at the given ones."""
        points = self.points if points is None else points
        model, seed = models[number], int(models.seeds[number])
        if models.subspaces is not None:
            points = Points(models.subspaces.take(points.X, seed), points.places)
        surroundings = self.surroundings.get(type(model))
        if surroundings is None:
            surroundings = self.surroundings[type(model)] = Surroundings(model)
        harmless = surroundings.harmless
        try:
            # An unknown learner may have changed the number of threads.
            with nullcontext() if harmless else one_thread(), surroundings(seed, 1):
                return self.request.predict(model, points, self.classes, harmless=harmless)
        except Exception as error:
            raise BagError.of(number, "predict", error) from error


def _fit_each(job: FitJob) -> Iterator[Any]:
    """Yield the model of each bag, as it is stored."""
    fit = _Fit(job)
    return _one_after_another(fit, len(job), several=fit.solver is not None)


def _fit_and_predict_each(job: FitJob, points: Points) -> Iterator[np.ndarray]:
    """Yield the prediction of each bag's model."""
    fit = _Fit(job)
    with one_thread():
        predict = _Predict(points, job.classes, fit.structure, PredictRequest(n_outputs=job.n_outputs))

    def predicted(place: int) -> np.ndarray:
        model = Models([fit(place)], job.seeds[place : place + 1], fit.structure, job.subspaces)
        try:
            (block,) = predict(model, 0, 1)
        except BagError as failure:
            raise BagError(*_named(job, place, failure.doing, failure.cause)) from failure.cause
        line: np.ndarray = block[0]
        return line

    return _one_after_another(predicted, len(job), several=fit.solver is not None)


def _one_after_another(task: Callable[[int], Any], count: int, *, several: bool) -> Iterator[Any]:
    """Yield the results of a task for each place, with one thread.

    With `several`, many results share one setting of the number of threads, which takes longer than a solver's fit.
    """
    place = 0
    while place < count:
        found, failure, stop = list[Any](), None, time.monotonic() + (_AT_ONCE if several else 0)
        with one_thread():
            while place < count and not (found and time.monotonic() >= stop):
                try:
                    found.append(task(place))
                except BagError as error:
                    failure = error
                    break
                place += 1
        yield from found
        if failure is not None:
            raise failure


def _model_without_learner(job: FitJob, rows: np.ndarray) -> Any:
    """The constant model of a bag without rows or with a single class, for which learners may raise; else None."""
    y, classes = job.y[rows], job.classes
    if classes is None:
        if len(y):
            return None
        return DummyRegressor(strategy="constant", constant=job.empty_value).fit([[0.0]], np.zeros((1, *y.shape[1:])))
    if len(y) == 0:
        return DummyClassifier(strategy="uniform", random_state=0).fit(np.zeros((len(classes), 1)), classes)
    return DummyClassifier(strategy="prior").fit([[0.0]], y[:1]) if (y == y[0]).all() else None


# ------------------------------------------------------------------------------------------------------------ all bags


def _one_by_one(
    each: Callable[..., Iterator[Any]], job: FitJob, n_jobs: int | None, *more: Any
) -> Generator[Any, None, None]:
    """Yield the results of `each` for all bags, in bag order, reusing stored fits."""
    cache = FitCache.of(job, each.__name__, more)
    if cache is None:
        yield from _from_workers(each, job, n_jobs, *more)
        return
    places = cache.places
    missing = np.array([place for place in range(len(job)) if place not in places], dtype=np.intp)
    with closing(_from_workers(each, job.only(missing) if places else job, n_jobs, *more)) as made:
        for place in range(len(job)):
            found = cache.read(place) if place in places else None
            if found is None:
                (found,) = (
                    [next(made)] if place not in places else _from_workers(each, job.only(np.array([place])), 1, *more)
                )
                cache.write(place, found)
            yield found


def _from_workers(
    each: Callable[..., Iterator[Any]], job: FitJob, n_jobs: int | None, *more: Any
) -> Generator[Any, None, None]:
    """Yield the results of `each` for all bags, in bag order, computed by the workers."""
    if not len(job):
        return
    solved = job.choice is not None and job.choice.kind is not None
    job = job if solved else converted(job)
    threads = solved and job.choice.kind.releases_lock
    beside_others = Surroundings(job.learner).may_run_beside_others
    workers = n_workers(n_jobs, threads=threads, beside_others=beside_others)
    workers = 1 if len(job) == 1 and on_this_machine() else workers  # starting a process would take longer
    pace = Pace(workers)
    batches = ((each, *sent, *more) for sent in _sent(job, pace, on_this_machine=on_this_machine()))
    try:
        if workers == 1:
            yield from each(job, *more)
            return
        done = 0
        with results(_fit_remotely, batches, n_jobs, pace, prefer="threads" if threads else None) as found:
            for item in found:
                done += 1
                yield item
        if done != len(job):
            raise RuntimeError(f"The workers returned only {done} of {len(job)} fits. Call fit again, or use n_jobs=1.")
    except BagError as failure:
        raise failure.explained(f"{type(job.learner).__name__} failed to {failure.doing} on") from failure.cause


def _sent(job: FitJob, pace: Pace, *, on_this_machine: bool) -> Iterator[tuple[Any, np.ndarray, FitJob]]:
    """What is sent to a worker with each batch of bags: rows, targets, and the rest of the job.

    X and y are separate arguments, because backends send large arguments only once. Workers on this machine share them.
    A batch for another machine has only the rows of its bags, unless models refer to rows by their positions.
    """
    light, structure = job.without_rows(), None if job.choice is None else job.choice.structure
    whole = on_this_machine or (structure is not None and structure.holds_rows)
    for ends in pace.batches(len(job)):
        if whole:
            yield job.X, job.y, light.part(*ends)
        else:
            part = job.part(*ends).on_own_rows()
            yield part.X, part.y, part.without_rows()


def _fit_remotely(
    each: Callable[..., Iterator[Any]], X: Any, y: np.ndarray, light: FitJob, *more: Any
) -> Iterator[Any]:
    return each(replace(light, X=X, y=y), *more)


def _named(job: FitJob, place: int, doing: str, error: Exception) -> tuple[int, str, Exception, str]:
    """The arguments of the `BagError` for a bag that failed."""
    return int(job.bag_numbers[place]), doing, error, _contents(job.bags[place], job)


def _contents(rows: np.ndarray, job: FitJob) -> str:
    """The size and the classes or outputs of a bag, for error messages."""
    if job.n_outputs is not None:
        return (
            f" ({len(rows)} rows with {job.n_outputs} outputs; if the learner predicts only one output, wrap it in "
            "MultiOutputRegressor)"
        )
    if job.classes is None:
        return f" ({len(rows)} rows)"
    present = np.unique(job.y[rows]).tolist()
    names = ", ".join(map(str, present[:5])) + (" and others" if len(present) > 5 else "")
    return f" ({len(rows)} rows; classes {names})"
