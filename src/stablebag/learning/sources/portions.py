"""Portions of bags whose rows have room in memory: one pass over a source fills each, and the bags are fitted as ever.

A learner gets the very rows, in the very order, that it would get from a table in memory: the same bits come out.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from stablebag._checks import refuse_value
from stablebag.learning.job import FitJob
from stablebag.learning.sources.source import RowSource
from stablebag.resampling.bags import Bags

_OF_A_ROW = 16  # bytes: its number in the table, and its target
_OF_AN_ENTRY = 24  # bytes of a row in a bag: its number, sorted with its place, and its new number


def portions(job: FitJob) -> Iterator[FitJob]:
    """Yield a job of rows that are in a source as jobs of rows in memory, each of as many bags as have room."""
    source: RowSource = job.X
    for first, stop in cuts(job.bags, source):
        yield gathered(job.part(first, stop), len(job))


class NoRoomError(ValueError):
    """The distinct rows of a bag have no room in the memory of their source."""

    bag: int
    n_rows: int
    megabytes: int  # with which they would

    @classmethod
    def of(cls, source: RowSource, bag: int, n_rows: int, megabytes: int) -> "NoRoomError":
        """Return the error with its sentence."""
        reason = f"bag {bag} has {n_rows:,} distinct rows. Give it {megabytes:,}MB, or draw smaller bags."
        given = f"{source.max_memory:,} bytes"
        error = cls(*refuse_value("max_memory", type(source).__name__, "enough for one bag", given, reason).args)
        error.bag, error.n_rows, error.megabytes = bag, n_rows, megabytes
        return error


def gathered(job: FitJob, n_bags: int) -> FitJob:
    """Return the job with the rows of its bags, and no others, in memory; `n_bags` are those of the whole job."""
    return replace(job.on_own_rows(lambda source, rows: source.take(rows)), gathered_of=n_bags)


def cuts(bags: Bags, source: RowSource) -> Iterator[tuple[int, int]]:
    """Yield the first bag of each portion and the one after its last, so that its distinct rows have room."""
    per_row, n = source.bytes_per_row + _OF_A_ROW, bags.n_samples
    memory = max(source.max_memory - source.bytes_to_read, source.max_memory / 2)
    total = int(bags.sizes.sum())
    if min(total, n) * per_row <= memory and total * _OF_AN_ENTRY <= memory:
        yield 0, len(bags)
        return
    first, held, entries = 0, 0, 0
    seen = np.zeros(
        n if n <= memory // 8 else 0, dtype=bool
    )  # if there is no room for it, rows of two bags count twice
    for number, bag in enumerate(bags):
        rows = _distinct(bag)
        new = rows[~seen[rows]] if len(seen) else rows
        entries += len(bag)
        full = (held + len(new)) * per_row > memory or entries * _OF_AN_ENTRY > memory
        if full and number > first:
            yield first, number
            seen[:] = False
            first, held, entries, new = number, 0, len(bag), rows
        if len(new) * per_row > memory:
            raise NoRoomError.of(source, number, len(new), int((len(new) * per_row + source.bytes_to_read) / 1e6) + 1)
        if len(seen):
            seen[new] = True
        held += len(new)
    if first < len(bags):
        yield first, len(bags)


def _distinct(bag: np.ndarray) -> np.ndarray:
    """The rows of a bag, each once, in order; sorting takes a tenth of the time of numpy's table of hashes."""
    rows = np.sort(bag)
    new = np.ones(len(rows), dtype=bool)
    np.not_equal(rows[1:], rows[:-1], out=new[1:])
    return rows[new]
