"""Parallel work through joblib, and progress reports."""

import itertools
import math
import os
import pickle
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import BrokenExecutor
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from functools import lru_cache
from typing import Any, TypeAlias
from uuid import uuid4

from joblib import cpu_count, effective_n_jobs, parallel_config
from joblib.parallel import get_active_backend
from sklearn.utils.parallel import Parallel, delayed
from threadpoolctl import ThreadpoolController

from stablebag._checks import check_jobs, refuse_type

# ------------------------------------------------------------------------------------------------------------- progress
# Progress: long work reports how many fits are done, and its other steps, to listeners.

OnProgress: TypeAlias = Callable[[int, int], None]
OnStep: TypeAlias = Callable[[str], None]
_listener: ContextVar[OnProgress | None] = ContextVar("stablebag progress", default=None)
_step_listener: ContextVar[OnStep | None] = ContextVar("stablebag steps", default=None)
_notice_listener: ContextVar[OnStep | None] = ContextVar("stablebag notices", default=None)


@contextmanager
def on_progress(listener: OnProgress) -> Iterator[None]:
    """Report the progress of all fits inside a ``with`` block.

    Parameters
    ----------
    listener : callable
        ``listener(done, total)`` is called at the start and after every fit, with the number of finished fits and the
        total. `fit`, refits, intervals by refitting and studies report their progress. If one runs inside another, only
        the outer one reports.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from stablebag import BaggedRegressor, on_progress
    >>> X, y = load_diabetes(return_X_y=True)
    >>> calls = []
    >>> with on_progress(lambda done, total: calls.append((done, total))):
    ...     model = BaggedRegressor(n_bags=3, random_state=0).fit(X, y)
    >>> calls
    [(0, 3), (1, 3), (2, 3), (3, 3)]
    """
    if not callable(listener):
        raise refuse_type("listener", "on_progress", "a function of two numbers, done and total", listener)
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


@contextmanager
def on_step(listener: OnStep) -> Iterator[None]:
    """Call ``listener(words)`` for each `step` of long work inside a ``with`` block."""
    token = _step_listener.set(listener)
    try:
        yield
    finally:
        _step_listener.reset(token)


def step(words: str) -> None:
    """Report what starts now, for example "Predicting 10,000 held-out rows"."""
    listener = _step_listener.get()
    if listener is not None:
        listener(words)


@contextmanager
def on_notice(listener: OnStep) -> Iterator[None]:
    """Call ``listener(sentence)`` for each `notice` inside a ``with`` block, instead of warning."""
    token = _notice_listener.set(listener)
    try:
        yield
    finally:
        _notice_listener.reset(token)


def notice(sentence: str) -> None:
    """Report something that needs no action: to the listener, or else as a warning."""
    listener = _notice_listener.get()
    if listener is None:
        warnings.warn(sentence, UserWarning, stacklevel=3)
    else:
        listener(sentence)


class Count:
    """Counts the fits of one piece of work and reports them."""

    def __init__(self, total: int, listener: OnProgress | None) -> None:
        self.total, self.done, self.listener = total, 0, listener

    def one(self) -> None:
        """Count one more fit."""
        self.reach(self.done + 1)

    def reach(self, done: int) -> None:
        """Report how many fits are done; ignore a smaller number than before."""
        if min(done, self.total) > self.done:
            self.done = min(done, self.total)
            if self.listener is not None:
                self.listener(self.done, self.total)

    @contextmanager
    def part(self) -> Iterator[None]:
        """Count work that reports its own progress inside a ``with`` block as a part of this work."""
        before = self.done
        with on_progress(lambda done, total: self.reach(before + done)):
            yield


@contextmanager
def counted(total: int) -> Iterator[Count]:
    """Count the fits of a piece of work; work inside it does not report."""
    count = Count(total, _listener.get())
    if count.listener is not None:
        count.listener(0, total)
    token = _listener.set(None)
    try:
        yield count
    finally:
        _listener.reset(token)


# ------------------------------------------------------------------------------------------------------------- parallel
# Work for joblib's workers with any backend: results in order, one thread per worker, and quick stops.

_stopped = set[str]()  # the tokens of parallel work that was cancelled
_SECONDS = 0.5  # how long a batch should take
_ROUNDS = 2  # batches per worker to submit together, for backends that return all results at once
_PER_PROCESSOR = 2  # the most workers per processor on this machine: more would only take memory
_LOOK = 0.5  # seconds after which a worker checks again whether its parent is alive
_DEATHS = {"KilledWorker", "WorkerCrashedError"}  # raised by dask and ray when a worker died
_watched = set[int]()  # parents that this process ends with


def n_workers(n_jobs: int | None, *, threads: bool = False, beside_others: bool = True) -> int:
    """Return the number of workers: as many as requested, but on this machine at most two per processor.

    It is one if the workers are threads (because of the backend or `threads`) and the learner must run alone.
    """
    backend = get_active_backend()[0]
    threads = threads or bool(getattr(backend, "uses_threads", False))
    if threads and not beside_others:
        return 1
    wanted = int(effective_n_jobs(check_jobs(n_jobs, "fit")))
    return min(wanted, _most_workers()) if on_this_machine() else wanted


def _most_workers() -> int:
    return _PER_PROCESSOR * int(cpu_count())


def on_this_machine() -> bool:
    """Return whether the workers are threads or processes of this machine, started by joblib itself."""
    return type(get_active_backend()[0]).__module__.startswith("joblib._parallel_backends")


class Pace:
    """The number of bags per batch: one at first, and then as many as take about half a second.

    The first result comes after a single fit, and later batches are large enough for short fits.
    """

    def __init__(self, workers: int) -> None:
        self.workers, self.seconds = workers, math.inf  # per bag; unknown at first

    def batches(self, n_bags: int) -> Iterator[tuple[int, int]]:
        """Yield the first bag of each batch and the one after its last; sizes depend on the latest times."""
        first = 0
        while first < n_bags:
            wanted = 1 if math.isinf(self.seconds) else int(_SECONDS / max(self.seconds, 1e-6))
            even = -(-(n_bags - first) // (2 * self.workers))  # so that workers finish at about the same time
            stop = first + max(1, min(wanted, even))
            yield first, stop
            first = stop

    def learn(self, n_bags: int, seconds: float) -> None:
        """Record how long a worker took for some bags."""
        if n_bags:
            self.seconds = seconds / n_bags


@contextmanager
def results(
    task: Callable[..., Iterator[Any]],
    arguments: Iterable[tuple[Any, ...]],
    n_jobs: int | None,
    pace: Pace | None = None,
    **options: Any,
) -> Iterator[Iterator[Any]]:
    """Yield the results of a task for many arguments, in order; leaving the block stops the workers."""
    token = uuid4().hex  # unique, because a worker may start parallel work itself
    work = (delayed(_listed)(token, os.getpid(), task, *some) for some in arguments)
    _report_dead_workers(get_active_backend()[0])
    here = on_this_machine() or options.get("require") == "sharedmem"
    if here and effective_n_jobs(n_jobs) > _most_workers():
        n_jobs = _most_workers()
    found = _as_they_come(work, n_jobs, **options)
    try:
        yield _in_order(found, pace)
    except BrokenExecutor as error:
        _stopped.add(token)
        raise _killed("") from error
    except (TypeError, AttributeError, pickle.PicklingError) as error:
        _stopped.add(token)
        if "pickle" in str(error):
            raise TypeError(
                f"The learner or its data cannot be sent to another process: {error}. Use n_jobs=1."
            ) from error
        raise
    except BaseException as error:
        _stopped.add(token)
        if type(error).__name__ in _DEATHS:
            raise _killed(f" ({' '.join(str(error).split()).rstrip('.')})") from error
        raise
    finally:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".*have been cancelled", category=UserWarning)
            found.close()  # this is what cancels them


def _killed(about: str) -> RuntimeError:
    """The error for a worker that died; `about` is the engine's message."""
    return RuntimeError(
        f"A worker process crashed or was killed{about}, most often because memory ran out. Use fewer jobs (n_jobs=1 "
        "or --jobs 1), smaller bags or fewer columns."
    )


class _Failed:
    """The result of a batch whose worker died."""

    def __init__(self, error: BaseException) -> None:
        self.error = error


def _report_dead_workers(backend: Any) -> None:
    """Make joblib's dask backend report batches whose worker died; without this it waits for them forever."""
    if type(backend).__module__ != "joblib._dask" or "submit" in vars(backend):
        return
    submit, retrieve = backend.submit, backend.retrieve_result_callback

    def submitted(func: Any, callback: Any = None) -> Any:
        def tell(done: Any) -> None:
            if callback is not None and not done.cancelled() and done.exception() is not None:
                callback(_Failed(done.exception()))

        future = submit(func, callback)
        future.add_done_callback(tell)
        return future

    def retrieved(out: Any) -> Any:
        if isinstance(out, _Failed):
            raise out.error
        return retrieve(out)

    backend.submit, backend.retrieve_result_callback = submitted, retrieved


def _as_they_come(work: Iterator[Any], n_jobs: int | None, **options: Any) -> Any:
    try:
        parallel = Parallel(n_jobs=n_jobs, return_as="generator", **options)
    except ValueError:  # this backend returns all results at once, so submit a few batches at a time
        return _in_rounds(work, Parallel(n_jobs=n_jobs, **options))
    return parallel(work)


def _in_rounds(work: Iterator[Any], parallel: Any) -> Iterator[Any]:
    with parallel:
        while some := list(itertools.islice(work, _ROUNDS * max(1, effective_n_jobs(parallel.n_jobs)))):
            yield from parallel(some)


def _listed(token: str, owner: int, task: Callable[..., Iterator[Any]], *arguments: Any) -> tuple[list[Any], float]:
    """The results of a task and how long it took; it stops if the work was cancelled.

    Threads cannot be stopped from outside, so they check for themselves. A process ends with its parent.
    """
    if os.getppid() == owner and owner not in _watched:
        _watched.add(owner)
        threading.Thread(target=_exit_with_parent, args=(owner,), daemon=True).start()
    found: list[Any] = []
    start = time.perf_counter()
    try:
        for item in task(*arguments):
            if token in _stopped:
                break
            found.append(item)
    except BagError as failure:
        found.append(failure)  # in bag order, so that every n_jobs reports the same bag
    return found, time.perf_counter() - start


def _exit_with_parent(owner: int) -> None:
    """End this process when its parent is gone, even if the parent was killed."""
    while os.getppid() == owner:
        time.sleep(_LOOK)
    os._exit(1)


def _in_order(batches: Iterable[tuple[list[Any], float]], pace: Pace | None) -> Iterator[Any]:
    """The items of all batches, up to the first that failed."""
    for batch, seconds in batches:
        if pace is not None:
            pace.learn(len(batch), seconds)
        for item in batch:
            if isinstance(item, BagError):
                raise item
            yield item


class BagError(Exception):
    """An error that a learner raised in a bag, perhaps in another process, with everything the message needs."""

    def __init__(self, number: int, doing: str, cause: Exception, contents: str = "") -> None:
        super().__init__(number, doing, cause, contents)
        self.number, self.doing, self.cause, self.contents = number, doing, cause, contents

    @classmethod
    def of(cls, number: int, doing: str, error: Exception, contents: str = "") -> "BagError":
        """Wrap an error, or its text if it cannot be sent between processes."""
        try:
            pickle.loads(pickle.dumps(error))
        except Exception:
            error = RuntimeError(f"{type(error).__name__}: {error}")
        return cls(number, doing, error, contents)

    def explained(self, what: str) -> Exception:
        """Return an error of the same kind that names the bag."""
        kind = next((kind for kind in (ValueError, TypeError) if isinstance(self.cause, kind)), RuntimeError)
        return kind(f"{what} bag {self.number}{self.contents}: {type(self.cause).__name__}: {self.cause}")


class _OneThread:
    """Limits BLAS and OpenMP to one thread per bag, so that sums do not depend on the number of jobs.

    BLAS has one limit for the whole process: the first thread to enter sets it, and the last to leave restores it.
    OpenMP has one limit per thread. A `parallel_config` around the whole fit does not affect jobs inside learners.
    """

    def __init__(self) -> None:
        self.lock, self.users = threading.Lock(), 0
        self.before: list[int] = []

    @contextmanager
    def __call__(self) -> Iterator[None]:
        pools = _thread_pools(len(sys.modules))
        blas = [pool for pool in pools.lib_controllers if pool.user_api == "blas"]
        with self.lock:
            self.users += 1
            if self.users == 1:
                self.pools, self.before = blas, [pool.num_threads for pool in blas]
            _set(self.pools, [1] * len(self.pools))
        own = [pool for pool in pools.lib_controllers if pool.user_api != "blas"]
        before = [pool.num_threads for pool in own]
        _set(own, [1] * len(own))
        try:
            with _one_job_per_learner(), unlogged():
                yield
        finally:
            _set(own, before)
            with self.lock:
                self.users -= 1
                if self.users == 0:
                    _set(self.pools, self.before)


one_thread = _OneThread()


class _Unlogged:
    """Disables MLflow's autologging, if it is imported, because it would log every bag as a run.

    The setting is global: the first thread to enter disables it, and the last to leave restores it.
    """

    def __init__(self) -> None:
        self.lock, self.users, self.switched = threading.Lock(), 0, ExitStack()

    @contextmanager
    def __call__(self) -> Iterator[None]:
        mlflow: Any = sys.modules.get("mlflow.utils.autologging_utils")
        if not hasattr(mlflow, "disable_autologging"):
            yield
            return
        with self.lock:
            self.users += 1
            # MLflow does not count its users: if it is disabled already, whoever disabled it will restore it.
            if self.users == 1 and not getattr(mlflow, "_AUTOLOGGING_GLOBALLY_DISABLED", False):
                self.switched.enter_context(mlflow.disable_autologging())
        try:
            yield
        finally:
            with self.lock:
                self.users -= 1
                if self.users == 0:
                    self.switched.close()


unlogged = _Unlogged()


def _one_job_per_learner() -> Any:
    """One job for learners that do not set their own number; on a cluster, learners stay on their machine."""
    if on_this_machine():
        return parallel_config(n_jobs=1)
    return parallel_config(backend="threading", n_jobs=1)


def _set(pools: list[Any], numbers: list[int]) -> None:
    """Set limits even if another thread has set some before; threadpoolctl would allow only one thread."""
    for pool, number in zip(pools, numbers, strict=True):
        take_over = getattr(pool, "clear_controlling_thread", None)
        if take_over is not None:
            take_over(force=True)
        pool.set_num_threads(number)
        if take_over is not None:
            take_over(force=True)


@lru_cache(maxsize=1)
def _thread_pools(n_modules: int) -> ThreadpoolController:
    """The thread pools of this process; looking them up takes milliseconds, so only when more modules are loaded."""
    return ThreadpoolController()
