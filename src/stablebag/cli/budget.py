"""Chooses the numbers of bags and refits by timing a few fits, and prints the choice before the work."""

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from joblib import cpu_count
from sklearn.base import clone, is_classifier

from stablebag._checks import check_jobs
from stablebag._wording import ROWS, Noun, about_time
from stablebag.cli.printing import progress, progress_console, say
from stablebag.models.fitting import NoRoomError
from stablebag.models.learners import Surroundings
from stablebag.models.parallel import n_workers, one_thread
from stablebag.models.rows import RowSource
from stablebag.models.solving import FitJob, Solver, SolverChoice, with_solver
from stablebag.resampling.bags import Bags
from stablebag.resampling.law import ResamplingScheme

# Pairs of numbers of bags and refits: the first within the time limit, or else the last.
LADDER = ((500, 200), (200, 100), (100, 50), (50, 20))
MORE_BAGS = (2_000, 1_000)  # for quick fits: less bagging noise and, from 500 rows on, a smaller guarantee
_MORE_SHARE = 1 / 12  # share of the time limit for all work with more bags
_MOST_ENTRIES = 5_000_000  # rows in all of these bags together, such as 500 bags of 10,000 rows
FULL_SIZE = 20_000  # above this number of rows, bags do not grow: half bags have 10,000 rows
_FIRST = 1_000  # rows of the first timed fit
_GROWTH = 4  # factor to the next one
_QUICK = 0.1  # seconds; a quicker fit is timed twice
_SPENT = 0.05  # share of the time limit after which no larger fit is timed
_POWERS = (1.0, 3.0)  # smallest and largest power of the number of rows with which the time of a fit grows
_LIKELY = 0.5  # expected rows in every bag; with more, there are too few bags
_PREDICTED = 20_000  # rows of a source at which every bag predicts: held-out rows and training rows
_OF_A_ROW, _OF_AN_ENTRY = 16, 24  # bytes of a row, and of a row in a bag, in addition to its values
FEWEST_MATCHED = 10  # refits of the bagged model; without time for these, its change is estimated
_MATCHED_SECONDS = 4.0  # seconds for more refits of the bagged model, even if everything else takes less
_MATCHED_SHARE = 1.0  # time for more of these refits, relative to everything else
_BESIDE_A_REFIT = 0.03  # seconds of a refit of the bagged model in addition to its fits
_BESIDE = 1.15  # time of everything (predictions, processes, printing), relative to the fits


@dataclass(frozen=True)
class Workload:
    """The numbers of fits, and how long they take.

    Attributes
    ----------
    scheme : ResamplingScheme
        How bags are drawn.
    n_bags : int
        The number of bags.
    n_refits : int
        The number of refits of the base model without a row; 0 if it is not refitted.
    n_matched : int
        The number of refits of the bagged model; 0 estimates its change.
    bag_seconds : float
        The time of the fit of a bag; 0 if unknown.
    refit_seconds : float
        The time of a refit of the base model.
    matched_seconds : float
        The time of a refit of the bagged model; for a classifier, including half of another one to check decisions.
    workers : int
        The number of parallel fits.
    n_passes : int
        The number of times that files are read, if the rows are not in memory.
    pass_seconds : float
        The time to read them once.
    chosen : tuple of str
        The choice as options of the command line.
    sentence : str
        The choice, its reason and its time, and the options that change it.
    """

    scheme: ResamplingScheme
    n_bags: int
    n_refits: int
    n_matched: int
    bag_seconds: float
    refit_seconds: float
    matched_seconds: float
    workers: int
    n_passes: int = 0
    pass_seconds: float = 0.0
    chosen: tuple[str, ...] = ()
    sentence: str = ""

    @property
    def seconds(self) -> float:
        """The time of everything, about."""
        fits = _seconds(self.n_bags, self.n_refits, self.bag_seconds, self.refit_seconds, self.workers)
        return fits + self.n_matched * self.matched_seconds + self.n_passes * self.pass_seconds

    def share(self, done: int) -> float:
        """Return the share of the work after some fits: first bags, then refits, which take longer."""
        bag, refit = (self.bag_seconds, self.refit_seconds) if self.bag_seconds > 0 else (1.0, 1.0)
        parts = [(self.n_bags, bag), (self.n_refits + 1, refit), (self.n_matched, self.matched_seconds * self.workers)]
        whole, reached = sum(number * each for number, each in parts), 0.0
        for number, each in parts:
            reached += min(done, number) * each
            done = max(0, done - number)
        return min(1.0, reached / whole)


def settled(*data: Any, **wanted: Any) -> Workload:
    """Choose how much to fit, as `workload` does, and print the choice."""
    with progress("Timing a few fits"):
        load = workload(*data, **wanted)
    say(progress_console(), load.sentence)
    return load


@contextmanager
def room_named() -> Iterator[None]:
    """Name the option that helps if a bag of groups does not fit into memory."""
    try:
        yield
    except NoRoomError as error:
        raise ValueError(
            f"Bag {error.bag} has {error.n_rows:,} rows, which do not fit into memory. Use --max-memory "
            f"{error.megabytes:,}MB, or a smaller --bag-size."
        ) from None


def default_scheme(scheme: ResamplingScheme, n_units: int) -> tuple[ResamplingScheme, bool]:
    """Return a scheme for a number of rows or groups, and whether its bags are capped because there are many.

    Above 20,000 rows, bags are as large as with 20,000, which is 10,000 for half bags. Larger bags would make fits slow
    and the guarantee, which depends on the share of rows in a bag, worse.
    """
    if n_units <= FULL_SIZE:
        return scheme, False
    return type(scheme)(round(scheme.resolve(FULL_SIZE).bag_size)), True  # type: ignore[call-arg]


def workload(
    learner: Any,
    X: Any,
    y: np.ndarray,
    scheme: ResamplingScheme,
    *,
    n_bags: int | None = None,
    n_refits: int | None = None,
    n_matched: int | None = None,
    size_is_given: bool = False,
    units: int | None = None,
    noun: Noun = ROWS,
    jobs: int = 1,
    limit: float = 180.0,
    seed: int = 0,
) -> Workload:
    """Choose how much to fit in about `limit` seconds; given numbers stay, and None is chosen.

    Parameters
    ----------
    learner : estimator
        The learner, unfitted.
    X : DataFrame, array or RowSource
        The training rows. Of a source, one bag is read for the fits that are timed, which takes as long as a pass.
    y : ndarray
        Their targets.
    scheme : ResamplingScheme
        How bags are drawn.
    n_bags : int or None, default=None
        The number of bags.
    n_refits : int or None, default=None
        The number of refits of the base model; 0 for none.
    n_matched : int or None, default=None
        The number of refits of the bagged model; 0 estimates its change.
    size_is_given : bool, default=False
        Whether the size of the bags was given; otherwise bags of large tables are capped.
    units : int or None, default=None
        The number of rows or groups that bags are drawn from; None means the number of rows.
    noun : Noun, default=ROWS
        The word for them: row or group.
    jobs : int, default=1
        The number of fits in parallel.
    limit : float, default=180.0
        The seconds that it should take.
    seed : int, default=0
        The seed of the rows of the fits that are timed.

    Returns
    -------
    Workload
    """
    check_jobs(jobs, "workload")
    n_units = len(y) if units is None else units
    scheme, is_smaller = (scheme, False) if size_is_given else default_scheme(scheme, n_units)
    law = scheme.resolve(n_units)
    share = float(law.bag_size) / n_units
    pairs = [(n_bags or bags, refits if n_refits is None else n_refits) for bags, refits in LADDER]
    pairs = [(bags, min(refits, n_units)) for bags, refits in pairs]
    passes: Callable[[int], int] = lambda n_bags: 0  # noqa: E731
    took = 0.0
    if isinstance(X, RowSource):
        bag, took, solved = _timed_in_files(learner, X, y, share, limit, seed)
        refit, passes = 0.0, partial(_passes, X, share)
    else:
        bag, refit, solved = _timed(learner, X, y, share, limit, seed)
    alone = solved and not Surroundings(learner).may_run_beside_others  # in threads, one after the other
    workers = 1 if alone else min(n_workers(jobs), cpu_count())
    fits = [pair for pair in pairs if _seconds(*pair, bag, refit, workers) + passes(pair[0]) * took <= limit]
    bags, refits = fits[0] if fits else pairs[-1]
    usual = pairs[0]
    if n_bags is None and bag and not isinstance(X, RowSource) and (bags, refits) == usual:
        quick = (
            more for more in MORE_BAGS
            if more * float(law.bag_size) <= _MOST_ENTRIES
            and _seconds(more, refits, bag, refit, workers) <= _MORE_SHARE * limit
        )  # fmt: skip
        bags = next(quick, bags)
        usual = bags, refits
    _refuse_too_few(law, bags, noun)
    others = _seconds(bags, refits, bag, refit, workers) + passes(bags) * took
    each = _BESIDE * bags * float(law.mean_inclusion) * bag / workers + _BESIDE_A_REFIT
    each *= 1.5 if is_classifier(learner) else 1  # half as many more check decisions
    matched = min(_n_matched(each if bag else 0.0, others, limit) if n_matched is None else n_matched, refits)
    chosen = [] if n_bags else ["--n-bags", str(bags)]
    chosen += [] if n_refits is not None else ["--refits", str(refits)]
    chosen += [] if n_matched is not None or not refits else ["--matched", str(matched)]
    chosen += ["--bag-size", str(round(law.bag_size))] if is_smaller else []
    load = Workload(scheme, bags, refits, matched, bag, refit, each, workers, passes(bags), took, tuple(chosen))
    return replace(load, sentence=_sentence(load, usual, round(law.bag_size), noun, limit))


def _seconds(n_bags: int, n_refits: int, bag: float, refit: float, workers: int) -> float:
    """The time of fits, with two fits of the learner to all rows, and one more bag for each refit."""
    alone = 2 * refit if n_refits else 0.0
    return _BESIDE * ((n_bags * bag + n_refits * (refit + bag)) / workers + alone)


def _n_matched(each: float, others: float, limit: float) -> int:
    """The number of refits of the bagged model within the time: 10, or more in steps of five."""
    if not each:
        return FEWEST_MATCHED
    little = min(limit - others, max(_MATCHED_SECONDS, _MATCHED_SHARE * others))
    number = max(FEWEST_MATCHED, 5 * int(little / each / 5))
    return number if number * each <= limit - others else 0


def _timed(learner: Any, X: Any, y: np.ndarray, share: float, limit: float, seed: int) -> tuple[float, float, bool]:
    """The times of a fit to a bag and to all rows, and whether a solver fits bags; zeros if every fit fails.

    Fits to 1,000 rows, 4,000 and so on are timed, up to all rows, while they take little of the time limit. Beyond the
    last one, time is extrapolated with the power of the number of rows with which it grew before. The actual fits
    report errors better.
    """
    order, n = np.random.default_rng(seed).permutation(len(y)), len(y)
    sizes: list[int] = []
    seconds: list[float] = []
    size, spent, solved = min(_FIRST, n), 0.0, False
    while spent <= _SPENT * limit and (not sizes or sizes[-1] < n):
        rows = np.sort(order[:size])
        took, solved = _time_of(learner, X.iloc[rows] if hasattr(X, "iloc") else X[rows], y[rows])
        if took is None:  # few rows may have one class only; the actual fits report other errors
            if size == n:
                break
        else:
            spent += took
            sizes.append(size)
            seconds.append(took)
        size = min(_GROWTH * size, n)
    if not sizes:
        return 0.0, 0.0, False
    return _at(share * n, sizes, seconds), _at(n, sizes, seconds), solved


def _timed_in_files(
    learner: Any, source: RowSource, y: np.ndarray, share: float, limit: float, seed: int
) -> tuple[float, float, bool]:
    """The times of fitting a bag (with later predictions) and of reading one, and whether a solver fits it."""
    needed, memory = share * len(y) * (source.bytes_per_row + _OF_A_ROW), _memory(source)
    if needed > memory:
        enough = f"{math.ceil(2 * needed / 1e6):,}MB"
        raise ValueError(
            f"A bag of {round(share * len(y)):,} rows takes about {math.ceil(needed / 1e6):,}MB, but --max-memory "
            f"leaves only {memory / 1e6:,.3g}MB for rows. Use --max-memory {enough}, or a smaller --bag-size."
        )
    size = min(len(y), max(_FIRST, round(share * len(y))))
    rows = np.sort(np.random.default_rng(seed).choice(len(y), size, replace=False))
    start = time.perf_counter()
    X = source.take(rows)
    took = time.perf_counter() - start
    bag, _, solved = _timed(learner, X, y[rows], min(1.0, share * len(y) / size), limit, seed)
    if not bag:
        return 0.0, took, solved
    few = np.arange(min(_FIRST, size))
    model = clone(learner)
    try:
        model.fit(X.iloc[few] if hasattr(X, "iloc") else X[few], y[rows[few]])
        start = time.perf_counter()
        model.predict(X)
    except Exception:
        return bag, took, solved  # the actual fits report the error
    return bag + _PREDICTED * (time.perf_counter() - start) / size, took, solved


def _passes(source: RowSource, share: float, n_bags: int) -> int:
    """The number of times a source is read: for the portions of the bags, and at the end for predictions."""
    entries = n_bags * share * source.n_samples
    held = max(min(entries, source.n_samples) * (source.bytes_per_row + _OF_A_ROW), entries * _OF_AN_ENTRY)
    return 1 + min(n_bags, math.ceil(held / _memory(source)))


def _memory(source: RowSource) -> float:
    """The bytes for rows, without those that reading takes."""
    return max(source.max_memory - source.bytes_to_read, source.max_memory / 2)


def _time_of(learner: Any, X: Any, y: np.ndarray) -> tuple[float | None, bool]:
    """The time of a fit like those of bags, None if it fails, and whether a solver does it.

    A quick fit is repeated, because much of the first one is loading.
    """
    solver, took = _solver(learner, X, y), 0.0
    for _ in range(2):
        start = time.perf_counter()
        try:
            with one_thread():
                clone(learner).fit(X, y) if solver is None else solver.fit(np.arange(len(y)), 0)
        except Exception:
            return None, False
        took = time.perf_counter() - start
        if took > _QUICK:
            break
    return took, solver is not None


def _solver(learner: Any, X: Any, y: np.ndarray) -> Solver | None:
    """The solver that fits bags of such rows; None if the learner itself does."""
    classes = np.unique(y) if is_classifier(learner) else None
    job = FitJob(learner, X, y, Bags([np.arange(len(y))] * 2, len(y)), np.arange(2), classes=classes)
    try:
        choice: SolverChoice = with_solver(job).choice
    except Exception:
        return None  # the actual fits report the error
    return choice.solver


def _at(size: float, sizes: list[int], seconds: list[float]) -> float:
    """The time of a fit to `size` rows, from the nearest known times and their growth."""
    if len(sizes) == 1 or size <= sizes[0]:
        return seconds[0] * (size / sizes[0] if size > sizes[0] else 1.0)
    place = min(int(np.searchsorted(sizes, size)), len(sizes) - 1)
    grown = np.log(max(seconds[place], 1e-9) / max(seconds[place - 1], 1e-9)) / np.log(sizes[place] / sizes[place - 1])
    power = float(np.clip(grown, *_POWERS))
    return seconds[place] * float((size / sizes[place]) ** power)


def _refuse_too_few(law: Any, n_bags: int, noun: Noun) -> None:
    """Raise an error if some row is likely to be in every bag: there would be no prediction without it."""
    likely = float(np.sum(np.asarray(law.inclusion_probabilities, dtype=float) ** n_bags))
    if likely > _LIKELY:
        raise ValueError(
            f"With {n_bags:,} bags of {round(law.bag_size):,}, about {float(f'{likely:.2g}'):,g} of the "
            f"{noun.count(law.n_samples)} are in every bag, so there is no prediction without them. Use more bags, or "
            "a smaller --bag-size."
        )


def _sentence(load: Workload, usual: tuple[int, int], size: int, noun: Noun, limit: float) -> str:
    """The choice in words, with its reason, its time, and the options that change it."""
    takes = f" take {about_time(load.seconds)} with {load.workers} job{'s' * (load.workers != 1)}"
    read = ""
    if load.n_passes:
        whole = f", {about_time(load.pass_seconds * load.n_passes)} in total" if load.pass_seconds > 1 else ""
        read = f"; the files are read about {load.n_passes:,} times{whole}"
    numbers = _numbers(load.n_bags, load.n_refits, load.n_matched, noun, size)
    words = [f"{numbers}{takes if load.bag_seconds else ''}{read}."]
    if load.n_refits and not load.n_matched and "--matched" in load.chosen:
        words.append(
            "There is no time to refit the bagged model, so its change is estimated; use "
            f"--matched {FEWEST_MATCHED} to refit it."
        )
    names = [name for name in load.chosen if name in ("--n-bags", "--refits")]
    most = f"--time-limit ({about_time(limit).removeprefix('about ')})"
    if names and load.seconds > limit:
        words.append(
            f"That is more than {most}, but fewer would measure too little. A smaller --bag-size, more --jobs or "
            "another --model takes less time."
        )
    elif (load.n_bags, load.n_refits) != usual:
        seconds = replace(load, n_bags=usual[0], n_refits=usual[1], n_matched=0).seconds
        longer = f"would take {about_time(seconds)}, more than {most}"
        words.append(f"The usual {_numbers(*usual)} {longer}; set them with {' and '.join(names)}.")
    if "--bag-size" in load.chosen:
        words.append(f"Above {FULL_SIZE:,} {noun.plural}, bags are capped at {size:,}; --bag-size sets another size.")
    return " ".join(words)


def _numbers(n_bags: int, n_refits: int, n_matched: int = 0, noun: Noun = ROWS, size: int = 0) -> str:
    bags = f"{n_bags:,} bags{f' of {noun.count(size)}' if size else ''}"
    if n_matched:
        return f"{bags}, {n_refits:,} refits of the base model and {n_matched:,} of the bagged model"
    return bags + (f" and {n_refits:,} refits of the base model" if n_refits else "")
