"""How commands print: sentences, progress, tables, and the facts of a study."""

import math
import sys
import textwrap
import threading
import time
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
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
    from stablebag.showing.facts import Facts
    from stablebag.showing.report.page import DataAsRead

_EVERY = 30.0  # seconds between two lines if there is no terminal for a bar
_WINDOW = 60.0  # seconds over which the speed is measured
_FEW = 3  # fits after which the time left is shown


def open_console(*, stderr: bool = False) -> Console:
    """Return the console to print to; files and pipes get neither bars nor colours, even if FORCE_COLOR is set."""
    return Console(stderr=stderr, force_terminal=(sys.stderr if stderr else sys.stdout).isatty())


def say(console: Console, text: str) -> None:
    """Print a sentence literally; only a terminal wraps it, between words."""
    console.print(visible(text), highlight=False, markup=False, soft_wrap=not console.is_terminal)


def progress_console() -> Console:
    """Return the console for progress: stderr, which keeps it out of a file of results."""
    return open_console(stderr=True)


def finite(value: float) -> float | None:
    """Return a number for JSON; None for infinity and NaN."""
    return value if math.isfinite(value) else None


@contextmanager
def print_warnings(console: Console, options: Mapping[str, str] | None = None) -> Iterator[None]:
    """Print warnings from a ``with`` block as sentences, each once and without its place in the code.

    Options of the command line replace names of parameters. Warnings for developers, which Python hides from users,
    stay hidden.
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
def progress(name: str, share: Callable[[int], float] | None = None) -> Iterator[None]:
    """Show the progress of a ``with`` block: a bar in a terminal, otherwise a line now and every half minute.

    If fits take different times, `share` returns the share of the work after a number of fits. Work without a count is
    shown by its name and its steps.
    """
    work, there = _Work(name, share), progress_console()
    shown = _bar(there, work) if there.is_terminal else _lines(there, work)
    notices = on_notice(lambda sentence: say(there, sentence))
    with shown, on_progress(work.count), on_step(work.begin), notices:
        yield


class _Work:
    """The work being done: its name, how much of it is done, and the time left."""

    def __init__(self, name: str, share: Callable[[int], float] | None) -> None:
        self.name, self.share = name, share
        self.changed: Callable[[], Any] = list  # called when another step begins
        self.done, self.total = 0, 0  # fits; a total of zero means work without a count
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
        """The time left, once it is known."""
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
    """A bar for work with a count."""

    def __init__(self, work: _Work) -> None:
        super().__init__(bar_width=24)
        self.work = work

    def render(self, task: Task) -> Text:
        if not self.work.total:
            return Text("")
        task.total, task.completed = self.work.total, self.work.done
        return super().render(task)


class _Fits(ProgressColumn):
    """The number of finished fits."""

    def __init__(self, work: _Work) -> None:
        super().__init__()
        self.work = work

    def render(self, task: Task) -> Text:
        return Text(f"{self.work.done:,} of {self.work.total:,} fits" if self.work.total else "")


class _Left(ProgressColumn):
    """The time left."""

    def __init__(self, work: _Work) -> None:
        super().__init__()
        self.work = work

    def render(self, task: Task) -> Text:
        return Text(self.work.left)


@contextmanager
def _lines(console: Console, work: _Work) -> Iterator[None]:
    """Lines for a file or a pipe, from a separate thread, because single fits may take long."""
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


# --------------------------------------------------------------------------------------------------------------- tables


def new_table(title: str) -> Table:
    """Return an empty table without lines, with its title on the left."""
    style = "bold"
    return Table(title=escape(visible(title)), title_justify="left", title_style=style, box=None, pad_edge=False,
                 padding=(0, 2, 0, 0))  # fmt: skip


def print_columns(console: Console, data: "DataAsRead") -> None:
    """Print a table of the most important columns, and the numbers of the others by kind."""
    table = new_table(data.title)
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

_STYLES = {"good": "bold green", "warning": "bold yellow", "unknown": "bold cyan"}


def print_summary(console: Console, facts: "Facts") -> None:
    """Print the four lines that sum up a study."""
    from stablebag.showing.facts import summary_text

    for line in facts.summary:
        text = Text(summary_text([line], console.width - 1))
        text.stylize(_STYLES[line.status], 0, len(line.label))
        console.print(text, highlight=False)


def print_study(
    console: Console,
    facts: "Facts",
    *,
    data: Sequence[str] = (),
    remarks: Sequence[str] = (),
    warnings: Sequence[str] = (),
    rows: str = ROW_NUMBERS,
    verbose: bool = False,
) -> None:
    """Print a study: four lines, what is suspicious, tables of numbers, rows to look at, and the data.

    Parameters
    ----------
    data : sequence of str
        Sentences about the table, below the numbers.
    remarks : sequence of str
        What was unusual when the table was read.
    warnings : sequence of str
        What is suspicious about the data, in full.
    rows : str
        Which row has number 0; "" if rows have names.
    verbose : bool
        Whether to print all numbers, reasons and guarantees in words.
    """
    from stablebag.showing.facts import rows_text

    print_summary(console, facts)
    for heading, sentences in (("Check first:", warnings), ("How the table was read:", remarks)):
        if sentences:
            console.print()
            _paragraph(console, heading, style="bold")
            for sentence in sentences:
                _point(console, sentence)
    width = console.width - 1
    for table in facts.tables(width, verbose=verbose):
        console.print()
        _lines_of(console, table)
    for name in ("moving the predictions", "worth a look"):
        if (listed := facts.list(name)) is not None:
            console.print()
            _lines_of(console, rows_text(listed, width))
    if verbose:
        console.print()
        _paragraph(console, "What the four lines rest on:", style="bold")
        for sentence in (
            facts.verdict.headline,
            *(remark.headline for remark in facts.verdict.remarks),
            *facts.reasons,
        ):
            _point(console, sentence)
        for sentence in facts.sentences.values():
            console.print()
            _paragraph(console, " ".join(sentence.split()))
    console.print()
    _paragraph(console, " ".join(filter(None, [*data, rows])))


def _lines_of(console: Console, text: str) -> None:
    """Print text that is already wrapped."""
    console.print(visible(text), highlight=False, markup=False, soft_wrap=True)


def _paragraph(console: Console, text: str, style: str = "") -> None:
    if text:
        shown = textwrap.fill(visible(text), console.width - 1, break_on_hyphens=False)
        console.print(shown, highlight=False, markup=False, style=style, soft_wrap=True)


def _point(console: Console, text: str) -> None:
    """Print an item of a list, with a hanging indent."""
    _lines_of(console, textwrap.fill(f"- {printable(text, most=10_000)}", console.width - 1, subsequent_indent="  ",
                                     break_on_hyphens=False))  # fmt: skip
