"""The predictions of every bag's model at some points: made once, used by several functions."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from stablebag._checks import hold_read_only
from stablebag.learning.targets import Output
from stablebag.resampling.bags import Bags


@dataclass(frozen=True, eq=False)
class BagPredictions:
    """The predictions of every bag's model at some points, not yet clipped.

    Made by the method `predict_once` of a fitted model. Functions of that model accept it in place of the points.

    Attributes
    ----------
    raw : ndarray of shape (n_bags, n_points) or (n_bags, n_points, n_classes or n_outputs)
        What each bag's model predicts.
    bags : Bags
        The bags of the model.
    points : str
        The fingerprint of the points.
    index : pandas Index or None
        The index of the frame of points, if it names them.
    output : Output or None
        Of which output of several they are, if of one.
    """

    raw: np.ndarray
    bags: Bags
    points: str = ""
    index: Any = None
    output: Output | None = None

    def __post_init__(self) -> None:
        hold_read_only(self)

    def __len__(self) -> int:
        return int(self.raw.shape[1])

    def __getitem__(self, points: slice) -> "BagPredictions":
        """Return the predictions at some of the points."""
        index = None if self.index is None else self.index[points]
        about = f"{self.points}[{points.indices(len(self))}]", index, self.output
        return BagPredictions(self.raw[:, points], self.bags, *about)

    def of(self, model: Any) -> Iterator[tuple[slice, np.ndarray]]:
        """Yield everything as one block if it is from this model, or what is of its output; otherwise refuse."""
        if model.bags_ is not self.bags and model.bags_ != self.bags:
            raise ValueError("These predictions are from another model, or from an earlier fit of it. Predict anew.")
        wanted = getattr(model, "output_", None)
        if self.output == wanted:
            yield slice(0, len(self)), self.raw
        elif self.output is None and isinstance(wanted, Output):  # of all outputs
            yield slice(0, len(self)), wanted.column(self.raw)
        else:
            assert self.output is not None
            raise ValueError(
                f"These predictions are of the output {self.output.name!r} alone. Use those of all outputs, "
                "model.predict_once(X), or predict with the one that is asked."
            )
