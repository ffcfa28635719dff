"""The sets in which the scores of items lie, on whose radius the guarantees depend."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from stablebag._checks import check_real, refuse_value
from stablebag.proving import bounds

_NAMES = ("simplex", "box")
_ROUNDING = 1e-6


@dataclass(frozen=True)
class ScoreSet:
    """Where the scores of some items lie: a simplex, a box, or a ball.

    Parameters
    ----------
    within : {"simplex", "box"} or float
        "simplex": scores of at least 0 that add up to 1; "box": each in [0, 1]; a number: at most this far from the
        origin, where scores further away are pulled back to that distance.

    Examples
    --------
    >>> round(ScoreSet("simplex").radius(4) ** 2, 9), ScoreSet("box").radius(4), ScoreSet(2.5).radius(4)
    (0.75, 1.0, 2.5)
    >>> ScoreSet(1.0).held(np.array([3.0, 4.0]))
    array([0.6, 0.8])
    """

    within: Any

    def __post_init__(self) -> None:
        if isinstance(self.within, str):
            if self.within not in _NAMES:
                reason = "guarantees depend on where scores can be."
                raise refuse_value("within", "stable_ranking", "'simplex', 'box' or a radius", self.within, reason)
            object.__setattr__(self, "within", str(self.within))  # a text of numpy's own is none of Python's when shown
            return
        reason = "it is how far scores are from the origin at most. For importances that add up to 1 use 'simplex'."
        radius = check_real(self.within, "within", "stable_ranking", open_low=True, finite=True, reason=reason)
        object.__setattr__(self, "within", radius)

    def radius(self, n_items: int) -> float:
        """Return how far scores can be from the centre: sqrt(1 - 1 / L), sqrt(L) / 2, or the radius of the ball."""
        if self.within == "simplex":
            return bounds.simplex_radius(n_items)
        return math.sqrt(n_items) / 2 if self.within == "box" else float(self.within)

    def diameter(self, n_items: int) -> float:
        """Return the largest distance between two vectors of scores."""
        return min(math.sqrt(2.0), 2 * self.radius(n_items)) if self.within == "simplex" else 2 * self.radius(n_items)

    def centre(self, n_items: int) -> np.ndarray:
        """Return the centre, which is what a bag without rows has for scores: the same for all items."""
        value = {"simplex": 1 / n_items, "box": 0.5}.get(self.within, 0.0)
        return np.full(n_items, value)

    def held(self, scores: np.ndarray) -> np.ndarray:
        """Return scores as they are in the set; those outside of a simplex or a box are refused."""
        if self.within == "simplex":
            if not scores.any():  # such as the importances of a tree without a split
                return self.centre(len(scores))
            total = float(scores.sum())
            if scores.min() < -_ROUNDING or abs(total - 1) > _ROUNDING:
                raise ValueError(
                    f"Scores in a simplex are at least 0 and add up to 1. Got {_shown(scores)}, which add up to "
                    f"{total:g}. Divide them by their sum, or say where they are: within='box', or a radius."
                )
            scores = np.maximum(scores, 0.0)
            share: np.ndarray = scores / scores.sum()
            return share
        if self.within == "box":
            if scores.min() < 0 or scores.max() > 1:
                raise ValueError(
                    f"Scores in a box are between 0 and 1. Got {_shown(scores)}. Scale them by what is known before "
                    "any data is seen, or give the radius of a ball: within=2.0."
                )
            return scores
        largest = float(np.abs(scores).max()) or 1.0  # the unit, so that no square is too large or too small
        length = float(np.linalg.norm(scores / largest))
        return scores if length * largest <= self.within else scores / largest * (self.within / length)

    def __str__(self) -> str:
        words = {"simplex": "scores that add up to 1", "box": "scores between 0 and 1"}
        return words.get(self.within, f"scores within {self.within} of the origin")


def _shown(scores: np.ndarray) -> str:
    return np.array2string(scores, precision=4, threshold=5, edgeitems=2)
