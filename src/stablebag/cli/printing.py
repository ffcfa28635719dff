"""How commands print: plain sentences, what is being done, the columns of a table, and the facts of a study."""

import math
import sys
import textwrap
import threading
import time
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, ProgressColumn, SpinnerColumn, Task, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from stablebag._wording import ROW_NUMBERS, about_time, percent, printable, visible
from stablebag.models.parallel import on_notice, on_progress, on_step

if TYPE_CHECKING:
    from stablebag.showing.facts import Facts, Section
    from stablebag.showing.report.page import DataAsRead

_EVERY = 30.0  # seconds between two lines if there is no terminal for a bar
_WINDOW = 60.0  # seconds over which the speed is measured
_FEW = 3  # fits after which the time left is shown


def open_console(*, stderr: bool = False) -> Console:
    """Return where to print. What goes to a file or a pipe has no bars and colours, even if FORCE_COLOR is set."""
    return Console(stderr=stderr, force_terminal=(sys.stderr if stderr else sys.stdout).isatty())


def say(console: Console, text: str) -> None:
    """Print a sentence as it is; in a terminal, lines end between words."""
    console.print(visible(text), highlight=False, markup=False, soft_wrap=not console.is_terminal)


def beside(console: Console) -> Console:
    """Return where to say what is being done: in a terminal there, otherwise beside the results, which may be kept."""
    return console if console.is_terminal else open_console(stderr=True)


def finite(value: float) -> float | None:
    """Return a number that JSON takes; None for infinity and NaN."""
    return value if math.isfinite(value) else None


@contextmanager
def print_warnings(console: Console, options: Mapping[str, str] | None = None) -> Iterator[None]:
    """Print warnings of the work in a ``with`` block as sentences, each once and without the place in the code.

    Names of parameters are replaced by the options of the command line. Warnings for developers, which Python hides
    from users, stay hidden.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        for category in (DeprecationWarning, PendingDeprecationWarning, ImportWarning, ResourceWarning):
            warnings.simplefilter("ignore", category)
        yield
    for sentence in dict.fromkeys(str(warning.message) for warning in caught):
        for parameter, option in (options or {}).items():
            sentence = sentence.replace(parameter, option)
        say(console, sentence)


# ------------------------------------------------------------------------------------------------------------- progress


@contextmanager
def progress(console: Console, name: str, share: Callable[[int], float] | None = None) -> Iterator[None]:
    """Show what is done in a ``with`` block: a bar in a terminal, otherwise a line at once and one every half minute.

    `share` says how much of the work is done after so many fits, if they do not all take the same time. Work that is
    not counted is shown as well, by its name and by those of its steps.
    """
    work = _Work(name, share)
    shown = _bar(console, work) if console.is_terminal else _lines(beside(console), work)
    notices = on_notice(lambda sentence: say(beside(console), sentence))
    with shown, on_progress(work.count), on_step(work.begin), notices:
        yield


class _Work:
    """What is being done, how much of it, and how long it will take."""

    def __init__(self, name: str, share: Callable[[int], float] | None) -> None:
        self.name, self.share = name, share
        self.changed: Callable[[], Any] = list  # what is called when another step begins
        self.done, self.total = 0, 0  # fits; a total of zero is work that is not counted
        self.seen = deque[tuple[float, float]]()

    def begin(self, name: str) -> None:
        self.name, self.total = name, 0
        self.changed()

    def count(self, done: int, total: int) -> None:
        now = time.monotonic()
        self.done, self.total = done, total
        self.seen.append((now, self.share(done) if self.share is not None else done / max(total, 1)))
        while now - self.seen[1 if len(self.seen) > 1 else 0][0] > _WINDOW:
            self.seen.popleft()

    @property
    def left(self) -> str:
        """How long it will take, once that is known."""
        if not self.total or not _FEW <= self.done < self.total or len(self.seen) < 2:
            return ""
        (start, before), (_, now) = self.seen[0], self.seen[-1]
        speed = (now - before) / max(time.monotonic() - start, 1e-9)
        return "" if speed <= 0 else f"{about_time((1 - now) / speed)} left"


def _bar(console: Console, work: _Work) -> Progress:
    bar = Progress(
        SpinnerColumn(), TextColumn("{task.description}", markup=False), _Bar(work), _Fits(work), TimeElapsedColumn(),
        _Left(work), console=console, transient=True,
    )  # fmt: skip
    task = bar.add_task(work.name, total=None)
    work.changed = lambda: bar.update(task, description=work.name)
    return bar


class _Bar(BarColumn):
    """A bar for work that is counted."""

    def __init__(self, work: _Work) -> None:
        super().__init__(bar_width=24)
        self.work = work

    def render(self, task: Task) -> Text:
        if not self.work.total:
            return Text("")
        task.total, task.completed = self.work.total, self.work.done
        return super().render(task)


class _Fits(ProgressColumn):
    """How many fits are done."""

    def __init__(self, work: _Work) -> None:
        super().__init__()
        self.work = work

    def render(self, task: Task) -> Text:
        return Text(f"{self.work.done:,} of {self.work.total:,} fits" if self.work.total else "")


class _Left(ProgressColumn):
    """How long it will take."""

    def __init__(self, work: _Work) -> None:
        super().__init__()
        self.work = work

    def render(self, task: Task) -> Text:
        return Text(self.work.left)


@contextmanager
def _lines(console: Console, work: _Work) -> Iterator[None]:
    """Lines for a file or a pipe, from a thread of their own, because single fits may take long."""
    over = threading.Event()

    def report() -> None:
        left = f", {work.left}" if work.left else ""
        say(console, f"{work.name}: {work.done:,} of {work.total:,} fits{left}." if work.total else f"{work.name} ...")

    def report_now_and_then() -> None:
        while not over.wait(_EVERY):
            report()

    report()
    work.changed = report
    reporter = threading.Thread(target=report_now_and_then, daemon=True)
    reporter.start()
    try:
        yield
    finally:
        over.set()
        reporter.join()


# -------------------------------------------------------------------------------------------------------- columns table


def print_columns(console: Console, data: "DataAsRead") -> None:
    """Print a table of the columns that matter most, and how many others there are of which kind."""
    table = Table(title=escape(visible(data.title)))
    table.add_column("column", overflow="fold")
    table.add_column("read as", no_wrap=True)
    table.add_column("missing", justify="right", no_wrap=True)
    table.add_column("values", justify="right", no_wrap=True)
    table.add_column("examples", overflow="fold")
    table.add_column("remark")
    for column in data.shown():
        missing = percent(column.missing) if 0 < column.missing < 1 else "all" if column.missing else ""
        values = "" if column.n_values is None else f"{column.n_values:,}"
        cells = (column.name, column.kind, missing, values, column.example, column.remark)
        table.add_row(*(escape(visible(cell)) for cell in cells))
    console.print(table)
    if rest := data.rest():
        say(console, rest)


# ---------------------------------------------------------------------------------------------------------------- study


def print_study(
    console: Console,
    facts: "Facts",
    notes: Iterable[str] = (),
    check_first: Sequence[str] = (),
    rows: str = ROW_NUMBERS,
) -> None:
    """Print a study: what to check first, conclusion and advice, tables of facts, suspicious rows, notes."""
    from stablebag.showing.verdict import AFTER_CHECKS, UNTIL_CHECKED

    verdict = facts.verdict
    if check_first:
        _paragraph(console, "Check first:", style="bold")
        for warning in check_first:
            _point(console, warning)
        _paragraph(console, UNTIL_CHECKED)
        console.print()
    _paragraph(console, verdict.headline, style="bold")
    _paragraph(console, f"{AFTER_CHECKS} {verdict.advice}" if check_first and verdict.advice else verdict.advice)
    for remark in verdict.remarks:
        _paragraph(console, f"Also: {remark.headline[0].lower()}{remark.headline[1:]} {remark.advice}".rstrip())
    console.print()
    for reason in facts.reasons:
        _point(console, reason)
    console.print()
    changes, scores, guarantees = map(facts.section, ("changes", "scores", "guarantees"))
    _paragraph(console, f"{', and '.join(filter(None, (changes.caption, scores.caption)))}:")
    console.print(_table(scores.columns, changes, scores))
    _paragraph(console, f"{guarantees.caption}:")
    console.print(_table(guarantees.columns, guarantees))
    _paragraph(console, guarantees.note)
    console.print()
    for listed in facts.lists:
        _paragraph(console, listed.sentence)
    _paragraph(console, rows)
    for note in notes:
        _paragraph(console, note)


def _table(columns: Mapping[str, str], *sections: "Section") -> Table:
    """One table of the facts of some sections."""
    table = Table()
    table.add_column()
    for name in columns.values():
        table.add_column("\n".join(textwrap.wrap(name, 12)), justify="right", max_width=17)
    for section in sections:
        table.add_section()
        for fact in section.facts:
            table.add_row(fact.label, *map(fact.text, columns))
    return table


def _paragraph(console: Console, text: str, style: str = "") -> None:
    if text:
        console.print(visible(text), highlight=False, markup=False, style=style)


def _point(console: Console, text: str) -> None:
    """A line of a list, whose further lines are indented."""
    grid = Table.grid(padding=(0, 1))
    grid.add_row("-", printable(text, most=10_000))
    console.print(grid, highlight=False, markup=False)
