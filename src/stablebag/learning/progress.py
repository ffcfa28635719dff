"""Progress: every long piece of work tells whoever listens how many of its fits are done, and what it does beside."""

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeAlias

from stablebag._checks import refuse_type

OnProgress: TypeAlias = Callable[[int, int], None]
OnStep: TypeAlias = Callable[[str], None]
_listener: ContextVar[OnProgress | None] = ContextVar("stablebag progress", default=None)
_told: ContextVar[OnStep | None] = ContextVar("stablebag steps", default=None)
_noticed: ContextVar[OnStep | None] = ContextVar("stablebag notices", default=None)


@contextmanager
def on_progress(listener: OnProgress) -> Iterator[None]:
    """Listen to the progress of long work inside a ``with`` block.

    Parameters
    ----------
    listener : callable
        ``listener(done, total)`` is called at the start and after every fit, with the number of fits done and the
        total. `fit`, refits, intervals by refitting and studies report their progress; if one of them runs inside
        another, only the outer one does.

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
        raise refuse_type("listener", "on_progress", "a function of two numbers, done and total", listener)
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


@contextmanager
def on_step(listener: OnStep) -> Iterator[None]:
    """Listen, inside a ``with`` block, to what long work does beside fitting; `step` calls ``listener(words)``."""
    token = _told.set(listener)
    try:
        yield
    finally:
        _told.reset(token)


def step(words: str) -> None:
    """Tell whoever listens what is done from now on, such as "Predicting 10,000 held-out rows"."""
    listener = _told.get()
    if listener is not None:
        listener(words)


@contextmanager
def on_notice(listener: OnStep) -> Iterator[None]:
    """Hear, inside a ``with`` block, the sentences that are warnings otherwise; ``listener(sentence)`` is called."""
    token = _noticed.set(listener)
    try:
        yield
    finally:
        _noticed.reset(token)


def notice(sentence: str) -> None:
    """Say what somebody should know but need not do anything about: to whoever listens, or else as a warning."""
    listener = _noticed.get()
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
        """Report how many fits are done; a smaller number than before is ignored."""
        if min(done, self.total) > self.done:
            self.done = min(done, self.total)
            if self.listener is not None:
                self.listener(self.done, self.total)

    @contextmanager
    def part(self) -> Iterator[None]:
        """Count the work in a ``with`` block, which reports its own progress, as a part of this."""
        before = self.done
        with on_progress(lambda done, total: self.reach(before + done)):
            yield


@contextmanager
def counted(total: int) -> Iterator[Count]:
    """Count the fits of a piece of work; work inside it does not report by itself."""
    count = Count(total, _listener.get())
    if count.listener is not None:
        count.listener(0, total)
    token = _listener.set(None)
    try:
        yield count
    finally:
        _listener.reset(token)
