"""Label sets of the jackknife+: the labels that are not stranger than those of rows that were not seen.

Barber, Candes, Ramdas and Tibshirani (2021) state the jackknife+ for intervals; Romano, Sesia and Candes (2020),
"Classification with valid and adaptive coverage", for labels. The score of a label is one minus its probability. The
proof, also for units of several rows, is in docs/proofs.md, 13.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from stablebag.deciding.group_jackknife import GroupJackknifePlus
from stablebag.deciding.intervals import about_bags
from stablebag.deciding.jackknife import JackknifePlus
from stablebag.measuring.leave_one_out import left_out_at_rows, left_out_blocks

_ROUNDING = 1e-12  # of a probability: a tie is not stranger
_ROUNDING_OF_WEIGHTS = 1e-9  # in units
_UNSEEN = "A label that no training row has is in no set; the chance of such a label comes on top."
_PAIRS = 2**22  # rows, points and labels that are compared at once


@dataclass(frozen=True)
class JackknifeSets:
    """The labels of a point that beat less than a share 1 - a of the rows, each in the model without that row.

    Parameters
    ----------
    level : Fraction
        The level 1 - a.
    """

    level: Fraction

    def needed(self, n_units: int) -> Fraction:
        """Return the weight of the rows that a label has to beat to be left out; each unit has weight one."""
        return self.level * (n_units + 1)

    def members(self, model: Any, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return the averaged probabilities at some points, and which labels are in their sets."""
        own = left_out_at_rows(model)[np.arange(len(model.y_)), np.searchsorted(model.classes_, model.y_)]
        found = [(there, self._inside(model, own, left_out)) for _, there, left_out in left_out_blocks(model, X)]
        return np.concatenate([there for there, _ in found]), np.concatenate([inside for _, inside in found])

    def guarantee(self, model: Any) -> str:
        """Say what is proved about the coverage of the sets of a fitted model."""
        units = model.units_
        if not model.scheme_.is_symmetric:
            return (
                f"Nothing is proved about their coverage, because the bags do not treat all {units.noun.plural} alike."
            )
        rule = JackknifePlus(self.level) if units.are_rows else GroupJackknifePlus(self.level, units)
        said = rule.guarantee(len(units)) + about_bags(model, rule)
        return f"{said} {_UNSEEN}" if said.startswith("Proved") else said

    def _inside(self, model: Any, own: np.ndarray, left_out: np.ndarray) -> np.ndarray:
        """Which labels are in the sets at some points; `own` has each row's probability of its label without it."""
        units = model.units_
        weights = None if units.are_rows else 1 / units.sizes[units.of_rows]
        beaten = np.zeros(left_out.shape[1:])
        step = max(1, _PAIRS // max(1, beaten.size))
        for first in range(0, len(own), step):
            some = slice(first, first + step)
            without = left_out[some] if units.are_rows else left_out[units.of_rows[some]]
            stranger = without < own[some, None, None] - _ROUNDING
            beaten += stranger.sum(axis=0) if weights is None else np.tensordot(weights[some], stranger, axes=1)
        inside: np.ndarray = beaten < float(self.needed(len(units))) - (0.0 if units.are_rows else _ROUNDING_OF_WEIGHTS)
        return inside
