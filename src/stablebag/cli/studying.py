"""A study ordered from the command line: run with progress, printed, and written to the files asked for."""

import json
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from sklearn.model_selection import train_test_split

from stablebag._wording import GROUPS, ROWS
from stablebag._writing import refuse_unwritable, write_text
from stablebag.cli.budget import Workload, room_named, settled
from stablebag.cli.options import scheme_of
from stablebag.cli.printing import open_console, progress, say
from stablebag.cli.saving import Saving
from stablebag.cli.telling import numbers, tell
from stablebag.cli.training import make_learner, parse_parameters, print_warnings
from stablebag.models.caching import keep_fits
from stablebag.models.rows import RowSource
from stablebag.resampling.law import ResamplingScheme
from stablebag.showing.report.page import Colophon, DataAsRead
from stablebag.showing.scores import SPANS, checked_metric
from stablebag.showing.study import study
from stablebag.tables.columns import Columns
from stablebag.tables.text import TableError, name_of
from stablebag.tables.training import Reading

_SPANS = (6, 20)  # of time, over which accuracy is compared: so many, one for each 100 held-out rows


@dataclass(frozen=True)
class StudyOrder:
    """What to study, and where the results go.

    Attributes
    ----------
    command : str
        The command that reproduces the report.
    model : str
        The name of the learner.
    parameters : tuple of str
        The parameters of the learner, as ``name=value``.
    scheme : ResamplingScheme
        How bags are drawn.
    n_bags : int or None
        The number of bags; None is chosen by the time that fits take.
    n_points : int
        The number of held-out rows at which perturbations are measured.
    n_refits : int or None
        The number of training rows, or units, without which the base learner is refitted; None is chosen, too.
    n_matched : int or None
        The number of these without which the bagged model is refitted, too; None is chosen, and 0 estimates it.
    metrics : tuple of str
        The scores to show, by scikit-learn's names; () are those that fit the task.
    delta : float
        The share of rows, or units, that may move predictions further than is said.
    data : str or None
        What the data are called.
    target : str or None
        What the target is called.
    jobs : int
        The number of fits in parallel.
    seed : int
        The seed of everything.
    output : Path or None
        Where the report goes.
    numbers : Path or None
        Where the numbers go.
    size_is_given : bool
        Whether the size of the bags was given; otherwise those of large tables are smaller than usual.
    limit : float
        The seconds that what is chosen should take.
    cache : Path or None
        The folder in which fits are kept.
    saving : Saving or None
        The order to save the bagged model.
    reading : Reading or None
        How the table was read; None if it is to be decided from the training rows what the columns are.
    as_read : DataAsRead or None
        The same for people, for the numbers and the report.
    """

    command: str
    model: str = "tree"
    parameters: tuple[str, ...] = ()
    scheme: ResamplingScheme = scheme_of("subbagging", None)  # noqa: RUF009 (frozen)
    n_bags: int | None = 500
    n_points: int = 20
    n_refits: int | None = 200
    n_matched: int | None = None
    metrics: tuple[str, ...] = ()
    delta: float = 0.05
    data: str | None = None
    target: str | None = None
    jobs: int = 2
    seed: int = 0
    output: Path | None = None
    numbers: Path | None = None
    size_is_given: bool = False
    limit: float = 180.0
    cache: Path | None = None
    saving: Saving | None = None
    reading: Reading | None = None
    as_read: DataAsRead | None = None

    @classmethod
    def from_options(cls, options: dict[str, Any]) -> "StudyOrder":
        """Return what the options of the command line ask for."""
        return cls(
            command="stablebag " + shlex.join(sys.argv[1:]),
            model=options["model"],
            parameters=options["parameters"],
            scheme=scheme_of(options["scheme"], options["bag_size"]),
            n_bags=options["n_bags"],
            n_points=options["points"],
            n_refits=options["refits"],
            n_matched=options["matched"],
            metrics=tuple(map(checked_metric, options["metrics"])),
            delta=options["delta"],
            data=name_of(options["table"]),
            target=options["target"],
            jobs=options["jobs"],
            seed=options["seed"],
            output=options["output"],
            numbers=options["json_path"],
            size_is_given=options["bag_size"] is not None,
            limit=options["time_limit"],
            cache=options["cache"],
            saving=Saving.order(options.get("save"), options),
        )

    def carry_out(
        self, X: Any, y: Any, X_test: Any, y_test: Any, task: str, notes: list[str], groups: Any = None, *,
        groups_test: Any = None, warnings: Sequence[str] = (),
    ) -> None:  # fmt: skip
        """Run the study with progress, print it, and write what was asked for; groups are the units of the rows.

        Warnings come before the verdict, notes after the tables.

        Rows that are not in memory come as a source, which has its targets and units; y and groups are these.
        """
        for path in (self.output, self.numbers):
            refuse_unwritable(path)
        learner = make_learner(self.model, task, parse_parameters(self.parameters))
        columns = Columns.of(X) if self.reading is None else self.reading.columns
        pipeline = columns.pipeline(learner)
        console = open_console()
        load = self._settled(console, pipeline, X, y, groups)
        with print_warnings(console), self._kept(), room_named(), progress(console, "Fitting", load.share):
            of_source = isinstance(X, RowSource)
            result = study(
                pipeline,
                X,
                None if of_source else y,
                X_test,
                y_test,
                groups=None if of_source else groups,
                groups_test=groups_test,
                scheme=load.scheme,
                n_bags=load.n_bags,
                n_points=self.n_points,
                n_refits=max(1, load.n_refits),
                n_matched=load.n_matched,
                metrics=self.metrics,
                n_jobs=self.jobs,
                random_state=self.seed,
            )
        command = " ".join([self.command, *load.chosen])
        tell(console, result, notes, self.delta, warnings, self._row_numbers)
        colophon = Colophon.of(result, data=self.data, target=self.target, command=command)
        if self.numbers is not None:
            read = {} if self.as_read is None else {"data": self.as_read.to_dict()}
            written = {"warnings": list(warnings)} | numbers(result, colophon, self.delta) | read
            written["row_numbers"] = self._row_numbers
            write_text(self.numbers, json.dumps(written, indent=1) + "\n")
            say(console, f"The numbers are in {self.numbers}.")
        if self.output is not None:
            from stablebag.showing.report.page import write

            about: dict[str, Any] = {"colophon": colophon, "data": self.as_read, "notes": tuple(notes),
                                     "warnings": tuple(warnings)}  # fmt: skip
            with progress(console, f"Writing {self.output.name}"):
                write(self.output, result, rows=X, delta=self.delta, **about)
            say(console, f"The report is in {self.output}.")
        if self.saving is not None and self.reading is not None:
            with progress(console, f"Saving the model to {self.saving.path.name}"):
                said = self.saving.carry_out(result.model, self.reading)
            say(console, said)

    def _settled(self, console: Console, pipeline: Any, X: Any, y: Any, groups: Any) -> Workload:
        """How much is fitted, chosen where it was left open."""
        units = {} if groups is None else {"units": groups.nunique(), "noun": GROUPS}
        n_refits = 0 if isinstance(X, RowSource) else self.n_refits
        numbers: dict[str, Any] = {"n_bags": self.n_bags, "n_refits": n_refits, "n_matched": self.n_matched}
        numbers["size_is_given"] = self.size_is_given
        run = {"jobs": self.jobs, "limit": self.limit, "seed": self.seed}
        return settled(console, pipeline, X, y, self.scheme, **numbers, **units, **run)

    @property
    def _row_numbers(self) -> str:
        """Where the numbers of rows start; "" if rows have names."""
        return "Row 0 is the first row of the data." if self.as_read is None else self.as_read.row_numbers

    @contextmanager
    def _kept(self) -> Iterator[None]:
        """Keep fits in the cache, if there is one, and say so when interrupted."""
        if self.cache is None:
            yield
            return
        try:
            with keep_fits(self.cache):
                yield
        except KeyboardInterrupt as interrupt:
            where = f"What was done is kept in {self.cache}; the same command continues from there."
            raise type(interrupt)(where) from None


def held_out(X: Any, y: Any, test_size: float, task: str, seed: int) -> tuple[Any, Any, Any, Any]:
    """Hold out some rows, stratified by class if possible; return X, X_test, y, y_test."""
    _refuse_share(test_size)
    counts = np.unique(y, return_counts=True)[1]
    by_class = y if task == "classification" and counts.min() >= 2 and len(counts) <= test_size * len(y) else None
    X, X_test, y, y_test = train_test_split(X, y, test_size=test_size, random_state=seed, stratify=by_class)
    if task == "classification" and len(y) > 1:
        _refuse_one_class(y, y_test)
    return X, X_test, y, y_test


def _refuse_one_class(y: np.ndarray, y_test: np.ndarray) -> None:
    """Refuse training rows of one class, if other classes have so few rows that all of them are held out."""
    first, others = str(y[0]), sorted(set(map(str, y_test)) - set(map(str, y)))
    if not others or (y != y[0]).any():
        return
    n = int((y_test.astype(str) == others[0]).sum())
    rare = f"class {others[0]!r} has {ROWS.count(n)} only, and {'it is' if n == 1 else 'they are'} held out"
    if len(others) > 1:
        rare = f"the other {len(others):,} classes have so few rows that all of them are held out"
    numbers = all(name.lstrip("-").replace(".", "", 1).isdigit() for name in (first, *others))
    way = " If the target is a number, use --task regression." if numbers else ""
    raise TableError(
        f"All rows to train on have class {first!r}: {rare}. Gather more rows of class {others[0]!r}, or give "
        f"held-out rows with --test.{way}"
    )


def held_out_latest(X: Any, y: Any, time: str, test_size: float, task: str) -> tuple[Any, ...]:
    """Hold out the latest rows by a column of times, all of one time together.

    Returns X, X_test, y, y_test, the span of time of each held-out row, because rows next to each other in time are not
    independent, and a sentence.
    """
    import pandas as pd

    _refuse_share(test_size)
    column = X.get(time)
    if column is None or column.dtype.kind not in "iufM":
        raise TableError(f"--time {time} is not a column of dates or numbers that the table is learned from.")
    if missing := int(column.isna().sum()):
        raise TableError(f"The time {time!r} is missing in {missing:,} rows. Fill it in, or leave these rows out.")
    ordered = np.sort(column.to_numpy())
    first = ordered[len(ordered) - max(1, round(test_size * len(ordered)))]
    late = column.to_numpy() >= first
    if (~late).sum() < 2 or (task == "classification" and len(np.unique(y[~late])) < 2):
        raise TableError(
            f"Too few rows, or one class only, are before the latest {test_size:.0%} by {time!r}. Take a smaller "
            "--test-size."
        )
    shuffled = np.random.default_rng(0).permutation(np.flatnonzero(late))  # the first are points of tables and charts
    shown = str(first)[:10] if column.dtype.kind == "M" else f"{first:g}"
    of_rows = np.unique(column.to_numpy()[shuffled], return_inverse=True)[1].ravel()
    n_spans = min(int(np.clip(late.sum() // 100, *_SPANS)), int(of_rows.max()) + 1)
    spans = pd.Series(of_rows * n_spans // (of_rows.max() + 1), name=SPANS.singular)
    said = (
        f"The latest rows are held out: those with {time} from {shown} on. Rows next to each other in time are alike, "
        f"so accuracy is compared over {SPANS.count(n_spans)}."
    )
    return X[~late], X.iloc[shuffled], y[~late], y[shuffled], spans, said


def refuse_time(options: Mapping[str, Any], *, is_large: bool) -> None:
    """Refuse --time together with what decides otherwise which rows are held out."""
    if options.get("time") is None:
        return
    for name, given in (("--test", options.get("test")), ("--group", options.get("group"))):
        if given is not None:
            raise TableError(f"--time and {name} both decide which rows are held out. Use one of them.")
    if is_large:
        raise TableError("--time needs all rows in memory. Allow more --max-memory, or give later rows with --test.")


def _refuse_share(test_size: float) -> None:
    if not 0 < test_size < 1:
        raise ValueError(f"--test-size is a share of the rows between 0 and 1. Got {test_size:g}.")
