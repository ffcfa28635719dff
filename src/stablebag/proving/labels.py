"""What class labels say before any learner sees them: how many classes there are, and which units have one alone."""

from dataclasses import dataclass
from typing import Any

from stablebag._checks import as_array, distinct, refuse_value
from stablebag.learning.ranges import as_units
from stablebag.proving import bounds
from stablebag.resampling.units import Units


@dataclass(frozen=True)
class Labels:
    """The labels of a training table.

    Attributes
    ----------
    units : Units
        What is left out: rows, or groups of rows.
    n_classes : int
        The number of classes.
    n_lonely : int
        The number of units without which a class is gone.
    n_lost : int
        The most classes that are gone without one of them; 1 if there is none.

    Examples
    --------
    >>> labels = Labels.of(["a", "b", "c", "c"], groups=[7, 7, 8, 9], owner="example")
    >>> labels.n_classes, labels.n_lonely, labels.n_lost
    (3, 1, 2)
    """

    units: Units
    n_classes: int
    n_lonely: int = 0
    n_lost: int = 1

    @classmethod
    def of(cls, y: Any, groups: Any, owner: str) -> "Labels":
        """Read labels; `groups` are units, the name of each row's unit, or None."""
        labels = as_array(y, "y", owner, "a one-dimensional array of at least two labels")
        if labels.ndim != 1 or len(labels) < 2:
            raise refuse_value("y", owner, "a one-dimensional array of at least two labels", labels.shape)
        classes = distinct(labels, "y", owner)
        units = as_units(groups, labels)
        lost = [len(gone) for gone in units.classes_lost(labels).values()]
        return cls(units, len(classes), len(lost), max(lost, default=1))

    @property
    def share_lonely(self) -> float:
        """The share of the units without which a class is gone."""
        return self.n_lonely / len(self.units)

    def shift(self, chance: float, *, vector: bool = False) -> float:
        """Return how far bags without rows alone can move the average when a class is gone."""
        return bounds.empty_bags_shift(chance, self.n_classes, self.n_lost, vector=vector)
