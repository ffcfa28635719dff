"""What rows, points and classes are called: the labels of data frames and of groups, in place of positions."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from stablebag.resampling.row_ids import plain
from stablebag.resampling.units import Units


@dataclass(frozen=True, eq=False)
class Names:
    """The labels of what is left out, of the points and of the classes; None where they are only counted.

    Attributes
    ----------
    rows : ndarray or None
        One for each row, or unit, that can be left out.
    points : pandas Index or None
        The index of the frame of test points.
    classes : ndarray or None
        The class labels.
    """

    rows: np.ndarray | None = None
    points: Any = None
    classes: np.ndarray | None = None

    @classmethod
    def of(cls, units: Units, points: Any = None, classes: np.ndarray | None = None) -> "Names":
        """Return the names of these units, with those of points and classes."""
        counted = units.ids.is_counted and not units.has_labels
        return cls(None if counted else units.labels, points, classes)

    def of_rows(self, rows: np.ndarray) -> np.ndarray:
        """Return what rows are called; without names, their positions."""
        return rows if self.rows is None else self.rows[rows]

    def to_dict(self) -> dict[str, list[Any]]:
        """Return them as lists that JSON takes; what is no number or text is written as one."""
        parts = {"rows": self.rows, "points": self.points, "classes": self.classes}
        return {name: [_written(value) for value in part] for name, part in parts.items() if part is not None}

    @classmethod
    def from_dict(cls, values: dict[str, list[Any]]) -> "Names":
        """Read back what `to_dict` returned."""
        return cls(**{name: _array(part) for name, part in values.items()})


def _written(value: Any) -> Any:
    value = plain(value)
    return value if isinstance(value, bool | int | float | str) else str(value)


def _array(values: list[Any]) -> np.ndarray:
    if all(isinstance(value, int) and not isinstance(value, bool) for value in values):
        return np.array(values)
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array
