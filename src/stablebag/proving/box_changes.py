"""Which rows change the box to which several outputs are clipped, and how far these rows can move a prediction."""

from dataclasses import dataclass
from typing import Any

from stablebag._checks import as_reals, as_share, check_delta, check_real, refuse_value, whole_rows
from stablebag.learning.output_ranges import OutputRanges, diagonal
from stablebag.learning.ranges import FixedRange, as_units
from stablebag.resampling.units import Units


@dataclass(frozen=True)
class BoxChanges:
    """What is known of a box that is taken from the targets of several outputs (docs/proofs.md, 5).

    Parameters
    ----------
    share : float
        The share of rows whose removal changes the range of any output.
    reach : float
        The largest distance between a point of the box and one of the box without a row.
    fixed : bool, default=False
        Whether the box does not depend on the targets at all.

    Examples
    --------
    >>> y = [[0.0, 0.0], [1.0, 4.0], [3.0, 2.0], [0.0, 0.0], [3.0, 4.0], [2.0, 3.0]]
    >>> units, length, box = BoxChanges.of_targets(y, lambda targets: (0, max(targets)), None, "example")
    >>> length, box.share
    (5.0, 0.0)
    """

    share: float
    reach: float
    fixed: bool = False

    def __post_init__(self) -> None:
        check_delta(self.share, "BoxChanges", name="share")
        check_real(self.reach, "reach", "BoxChanges")

    @classmethod
    def of_targets(cls, y: Any, rule: Any, groups: Any, owner: str) -> tuple[Units, float, "BoxChanges"]:
        """Return what is left out, the diagonal of the box of these targets, and what changes it."""
        table = as_reals(y, "y", owner, "a table of numbers, one column for each output")
        if table.ndim != 2 or len(table) < 2 or table.shape[1] < 1:
            raise refuse_value("y", owner, "a table of at least two rows, one column for each output", table.shape)
        ranges = rule if isinstance(rule, OutputRanges) else OutputRanges.of(rule, table.shape[1], owner)
        units, (low, high) = as_units(groups, table[:, 0]), ranges(table)
        fixed = all(isinstance(each, FixedRange) for each in ranges.ranges)
        return units, diagonal(high - low), cls(*ranges.change(table, units), fixed)

    def left_of(self, delta: float, n_samples: int, all_bags: bool) -> float:
        """Return what is left of a share of rows after those that change the box; below zero if nothing is."""
        if all_bags:
            return (whole_rows(delta, n_samples) - round(self.share * n_samples)) / n_samples
        return float(as_share(delta, n_samples) - as_share(self.share, n_samples))

    @property
    def such(self) -> str:
        """Which data sets a certificate is about."""
        return "" if self.fixed else " with these ranges of targets"

    def words(self, n_samples: int) -> str:
        """Say how many rows change it, in a part of a sentence."""
        changing = round(self.share * n_samples)
        return f", the middle of a box that {changing:,} of the rows can change" if changing else ""
