"""Label sets of the jackknife+: the labels that are not stranger than those of rows that were not seen.

Barber, Candes, Ramdas and Tibshirani (2021) state the jackknife+ for intervals; Romano, Sesia and Candes (2020),
"Classification with valid and adaptive coverage", for labels. The score of a label is one minus its probability. By
class, a label is compared only with the rows that have it. The proofs, also for units of several rows, are in
docs/proofs.md, 13.
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
_UNSEEN = {
    False: "A label that no training row has is in no set; the chance of such a label comes on top.",
    True: "A class without training rows is in no set, so it is never covered.",
}
_PAIRS = 2**22  # rows, points and labels that are compared at once


@dataclass(frozen=True)
class JackknifeSets:
    """The labels of a point that beat less than a share 1 - a of the rows, each in the model without that row.

    Parameters
    ----------
    level : Fraction
        The level 1 - a.
    by_class : bool, default=True
        Whether a label is compared with the rows of its own class, so that each class is covered; otherwise with all.
    """

    level: Fraction
    by_class: bool = True

    def needed(self, weight: Any) -> Any:
        """Return the weight of the rows that a label has to beat to be left out; the rows of a unit have one in all."""
        return (self.level if isinstance(weight, int) else float(self.level)) * (weight + 1)

    def members(self, model: Any, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return the averaged probabilities at some points, and which labels are in their sets."""
        own = _own(model)
        found = [(there, self._inside(model, own, left_out)) for _, there, left_out in left_out_blocks(model, X)]
        return np.concatenate([there for there, _ in found]), np.concatenate([inside for _, inside in found])

    def covered_rows(self, model: Any) -> np.ndarray:
        """Return whether the set of each training row, predicted without it, has its label: an estimate.

        The probability of a row's label without row j, too, is taken to be that without the row alone.
        """
        own, weights, units = _own(model), _weights(model), model.units_
        covered = np.zeros(len(own), dtype=bool)
        for rows, _ in self._compared(model):
            above = _heavier(own[rows], weights[rows])
            there, total = units.of_rows[rows], float(weights[rows].sum()) if self.by_class else float(len(units))
            of_unit = np.bincount(there, weights[rows], minlength=len(units)) if self.by_class else np.ones(len(units))
            if not units.are_rows:
                order = np.argsort(there, kind="stable")
                for same in np.split(order, np.flatnonzero(np.diff(there[order])) + 1):
                    above[same] -= _heavier(own[rows[same]], weights[rows[same]])
            covered[rows] = above < self.needed(total - of_unit[there]) - _ROUNDING_OF_WEIGHTS
        return covered

    def without_estimate(self, model: Any) -> np.ndarray:
        """Return which classes have just enough rows to be left out of a set, and too few without one of these rows.

        The training rows of such a class are covered whatever the model predicts, and new rows are not.
        """
        fewest, units = float(self.level / (1 - self.level)) - _ROUNDING_OF_WEIGHTS, model.units_
        found = np.zeros(len(model.classes_), dtype=bool)
        weights = _weights(model)
        for rows, labels in self._compared(model):
            total, largest = float(len(units)), 1.0
            if self.by_class:
                total = float(weights[rows].sum())
                largest = float(np.bincount(units.of_rows[rows], weights[rows]).max())
            found[labels] = total >= fewest > total - largest
        return found

    def guarantee(self, model: Any) -> str:
        """Say what is proved about the coverage of the sets of a fitted model."""
        units = model.units_
        if not model.scheme_.is_symmetric:
            return (
                f"Nothing is proved about their coverage, because the bags do not treat all {units.noun.plural} alike."
            )
        rule = JackknifePlus(self.level) if units.are_rows else GroupJackknifePlus(self.level, units)
        said = rule.guarantee(len(units)) + about_bags(model, rule)
        if self.by_class:
            said = said.replace("coverage is at least", "coverage of each class is at least", 1)
        return f"{said} {_UNSEEN[self.by_class]}" if said.startswith("Proved") else said

    def _compared(self, model: Any) -> list[tuple[np.ndarray, Any]]:
        """Which rows are compared with each other, and the labels that are compared with them."""
        codes = np.searchsorted(model.classes_, model.y_)
        if not self.by_class:
            return [(np.arange(len(codes)), slice(None))]
        return [(np.flatnonzero(codes == code), slice(code, code + 1)) for code in range(len(model.classes_))]

    def _inside(self, model: Any, own: np.ndarray, left_out: np.ndarray) -> np.ndarray:
        """Which labels are in the sets at some points; `own` has each row's probability of its label without it."""
        units, weights = model.units_, _weights(model)
        inside = np.empty(left_out.shape[1:], dtype=bool)
        for rows, labels in self._compared(model):
            beaten = np.zeros(inside[:, labels].shape)
            step = max(1, _PAIRS // max(1, beaten.size))
            for first in range(0, len(rows), step):
                some: Any = rows[first : first + step]
                lines = units.of_rows[some]
                if units.are_rows and not self.by_class:
                    lines = slice(first, first + step)  # without a copy
                stranger = left_out[lines, :, labels] < own[some, None, None] - _ROUNDING
                beaten += stranger.sum(axis=0) if units.are_rows else np.tensordot(weights[some], stranger, axes=1)
            if units.are_rows:
                inside[:, labels] = beaten < float(self.needed(len(rows)))
            else:
                total = float(weights[rows].sum()) if self.by_class else len(units)
                inside[:, labels] = beaten < float(self.needed(total)) - _ROUNDING_OF_WEIGHTS
        return inside


def class_weights(model: Any) -> np.ndarray:
    """Return how many rows each class has; of units of several rows, how many units they amount to."""
    codes = np.searchsorted(model.classes_, model.y_)
    return np.bincount(codes, _weights(model), minlength=len(model.classes_))


def _own(model: Any) -> np.ndarray:
    """The probability of each training row's label, by the bags without the row."""
    own: np.ndarray = left_out_at_rows(model)[np.arange(len(model.y_)), np.searchsorted(model.classes_, model.y_)]
    return own


def _weights(model: Any) -> np.ndarray:
    """The weight of each row; those of a unit add up to one."""
    units = model.units_
    return np.ones(len(model.y_)) if units.are_rows else np.asarray(1 / units.sizes[units.of_rows])


def _heavier(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The weight of the values that are clearly larger than each."""
    order = np.argsort(values)
    up_to = np.concatenate([[0.0], np.cumsum(weights[order])])
    above: np.ndarray = up_to[-1] - up_to[np.searchsorted(values[order], values + _ROUNDING, side="right")]
    return above
