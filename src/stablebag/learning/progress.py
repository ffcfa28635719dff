"""Progress: every long piece of work tells how many of its fits are done, to whoever asked to be told."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeAlias

from stablebag._checks import refuse_type

OnProgress: TypeAlias = Callable[[int, int], None]
_listener: ContextVar[OnProgress | None] = ContextVar("stablebag progress", default=None)


@contextmanager
def on_progress(listener: OnProgress) -> Iterator[None]:
    """Be told how far long work inside a ``with`` block has come.

    Parameters
    ----------
    listener : callable
        ``listener(done, total)`` is called with the numbers of fits, at the start and after every fit: of `fit`, of
        refits, of intervals by refitting and of studies. Of work inside other work, only the outer one tells.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from stablebag import BaggedRegressor, on_progress
    >>> X, y = load_diabetes(return_X_y=True)
    >>> told = []
    >>> with on_progress(lambda done, total: told.append((done, total))):
    ...     model = BaggedRegressor(n_bags=3, random_state=0).fit(X, y)
    >>> told
    [(0, 3), (1, 3), (2, 3), (3, 3)]
    """
    if not callable(listener):
        raise refuse_type("listener", "on_progress", "a function of the numbers done and in all", listener)
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


class Count:
    """Counts the fits of one piece of work, and tells."""

    def __init__(self, total: int, listener: OnProgress | None) -> None:
        self.total, self.done, self.listener = total, 0, listener

    def one(self) -> None:
        """Count one more fit."""
        self.reach(self.done + 1)

    def reach(self, done: int) -> None:
        """Say how many fits are done; a smaller number than before is ignored."""
        if done > self.done:
            self.done = min(done, self.total)
            if self.listener is not None:
                self.listener(self.done, self.total)

    @contextmanager
    def part(self) -> Iterator[None]:
        """Let the work in a ``with`` block, which counts by itself, count as a part of this."""
        before = self.done
        with on_progress(lambda done, total: self.reach(before + done)):
            yield


@contextmanager
def counted(total: int) -> Iterator[Count]:
    """Count the fits of a piece of work; what is inside it counts only as a part of it."""
    count = Count(total, _listener.get())
    if count.listener is not None:
        count.listener(0, total)
    token = _listener.set(None)
    try:
        yield count
    finally:
        _listener.reset(token)
