"""`BagSpread`: how much the bags of an ensemble differ, and what of a perturbation is due to that."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from stablebag._checks import hold_read_only


@dataclass(frozen=True, eq=False)
class BagSpread:
    """How much the bags of an ensemble differ in their predictions.

    Attributes
    ----------
    deviation : ndarray of shape (n_points,) or (n_points, n_classes)
        The standard deviation of the prediction over bags; an estimate if the bags were drawn.
    extent : ndarray like deviation, or None
        The difference between the largest and the smallest prediction over bags.
    n_bags : int or None
        The number of bags that were drawn; None if they are all possible bags.
    n_without : ndarray of shape (n_samples,) or None
        The number of drawn bags that do not contain each row; None if bags were not drawn.
    n_rows : ndarray like n_without, or None
        How many rows each of these numbers is of; None if of one each.
    """

    deviation: np.ndarray
    extent: np.ndarray | None = None
    n_bags: int | None = None
    n_without: np.ndarray | None = None
    n_rows: np.ndarray | None = None

    def __post_init__(self) -> None:
        hold_read_only(self)

    @classmethod
    def checked(cls, values: dict[str, Any], shape: tuple[int, ...]) -> "BagSpread":
        """Return what was read from a file, whose numbers must be such as can be measured."""
        spread = cls(**values)
        of_points = [spread.deviation] + ([] if spread.extent is None else [spread.extent])
        counts = [part for part in (spread.n_bags, spread.n_without, spread.n_rows) if part is not None]
        if not all(part.shape == shape and np.isfinite(part).all() and (part >= 0).all() for part in of_points):
            raise ValueError("the spread of the bags is no finite number at each point")
        if not all(np.asarray(part).dtype.kind in "iu" and np.min(part) >= 1 for part in counts):
            raise ValueError("bags or rows are counted by numbers below one")
        return spread

    @property
    def noise(self) -> np.ndarray:
        """The root mean square over rows of what drawing the bags at random adds to a perturbation."""
        if self.n_bags is None or self.n_without is None:
            return np.zeros(self.deviation.shape)
        variance = np.average(1 / self.n_without - 1 / self.n_bags, weights=self.n_rows)
        noise: np.ndarray = self.deviation * math.sqrt(variance)
        return noise
