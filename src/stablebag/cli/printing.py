"""How commands print: plain sentences, numbers for machines, and what is being done."""

import math
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, SpinnerColumn, Task, TextColumn, TimeElapsedColumn
from rich.text import Text

from stablebag._wording import about_time, visible
from stablebag.models.parallel import on_notice, on_progress, on_step

_EVERY = 30.0  # seconds between two lines if there is no terminal for a bar
_WINDOW = 60.0  # seconds over which the speed is measured
_FEW = 3  # fits after which the time left is told


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
def progress(console: Console, name: str, share: Callable[[int], float] | None = None) -> Iterator[None]:
    """Show what is done in a ``with`` block: a bar in a terminal, otherwise a line at once and one every half minute.

    `share` tells how much of the work is done after so many fits, if they do not all take the same time. Work that is
    not counted is shown as well, by its name and by those of its steps.
    """
    work = _Work(name, share)
    shown = _bar(console, work) if console.is_terminal else _lines(beside(console), work)
    told = on_notice(lambda sentence: say(beside(console), sentence))
    with shown, on_progress(work.count), on_step(work.begin), told:
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

    def tell() -> None:
        left = f", {work.left}" if work.left else ""
        say(console, f"{work.name}: {work.done:,} of {work.total:,} fits{left}." if work.total else f"{work.name} ...")

    def tell_now_and_then() -> None:
        while not over.wait(_EVERY):
            tell()

    tell()
    work.changed = tell
    teller = threading.Thread(target=tell_now_and_then, daemon=True)
    teller.start()
    try:
        yield
    finally:
        over.set()
        teller.join()
