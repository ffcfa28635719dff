"""The predictions of every bag's model at some points: made once, used by several functions."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from stablebag._checks import hold_read_only
from stablebag.resampling.bags import Bags


@dataclass(frozen=True, eq=False)
class BagPredictions:
    """The predictions of every bag's model at some points, not yet clipped.

    Made by the method `predict_once` of a fitted model. Functions of that model accept it in place of the points.

    Attributes
    ----------
    raw : ndarray of shape (n_bags, n_points) or (n_bags, n_points, n_classes)
        What each bag's model predicts.
    bags : Bags
        The bags of the model.
    points : str
        The fingerprint of the points.
    index : pandas Index or None
        The index of the frame of points, if it names them.
    """

    raw: np.ndarray
    bags: Bags
    points: str = ""
    index: Any = None

    def __post_init__(self) -> None:
        hold_read_only(self)

    def __len__(self) -> int:
        return int(self.raw.shape[1])

    def __getitem__(self, points: slice) -> "BagPredictions":
        """Return the predictions at some of the points."""
        index = None if self.index is None else self.index[points]
        return BagPredictions(self.raw[:, points], self.bags, f"{self.points}[{points.indices(len(self))}]", index)

    def of(self, model: Any) -> Iterator[tuple[slice, np.ndarray]]:
        """Yield everything as one block if it is from this model; otherwise refuse."""
        if model.bags_ is not self.bags and model.bags_ != self.bags:
            raise ValueError("These predictions are from another model, or from an earlier fit of it. Predict anew.")
        yield slice(0, len(self)), self.raw
