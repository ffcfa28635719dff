"""How commands print: plain sentences, numbers for machines, and progress."""

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from stablebag.learning.progress import on_progress

_EVERY = 30.0  # seconds between two lines if there is no terminal for a bar


def say(console: Console, text: str) -> None:
    """Print a sentence as it is; in a terminal, lines end between words."""
    console.print(text, highlight=False, markup=False, soft_wrap=not console.is_terminal)


def finite(value: float) -> float | None:
    """Return a number that JSON takes; None for infinity and NaN."""
    return value if math.isfinite(value) else None


@contextmanager
def progress(console: Console, name: str) -> Iterator[None]:
    """Show the progress of the work in a ``with`` block: a bar in a terminal, otherwise a line now and then."""
    if not console.is_terminal:
        with on_progress(_Lines(Console(stderr=True), name).tell):  # results alone go to the file
            yield
        return
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.completed:,} of {task.total:,} fits"))
    times = (TimeElapsedColumn(), TextColumn("left:"), TimeRemainingColumn())
    with Progress(*columns, *times, console=console) as bar:
        task = bar.add_task(name, total=1)
        with on_progress(lambda done, total: bar.update(task, completed=done, total=total)):
            yield


class _Lines:
    """Progress if output goes to a file or a pipe: a line at the start, and one every half minute."""

    def __init__(self, console: Console, name: str) -> None:
        self.console, self.name, self.start, self.last = console, name, time.monotonic(), -math.inf

    def tell(self, done: int, total: int) -> None:
        now = time.monotonic()
        if now - self.last < _EVERY:
            return
        self.last = now
        left = "" if not done else f", about {(now - self.start) / done * (total - done):.0f} s left"
        say(self.console, f"{self.name}: {done:,} of {total:,} fits{left}.")
