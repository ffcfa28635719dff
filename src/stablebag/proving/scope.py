"""What a number speaks of: a bound may stand beside a measurement only if both speak of the same thing."""

import math
from dataclasses import dataclass
from enum import Enum
from typing import Any


class Quantity(Enum):
    """What is moved by leaving out a row."""

    NUMBER = "the prediction"
    CLASS = "each class's probability"
    VECTOR = "the vector of class probabilities"
    RELATIVE = "the prediction in units of the range of the learner's outputs"
    LOSS = "a loss"


class Rerun(Enum):
    """How the prediction without a row comes about."""

    REUSED = "the average over the drawn bags without the row"
    ALL = "the average over all bags without the row"
    ANEW = "the average over bags drawn anew without the row"
    ALONE = "a learner that is not bagged, fitted without the row"
    REPLACED = "a fit with the row replaced by another"


@dataclass(frozen=True)
class Scope:
    """What is said of what: the rows, how one is left out, and what it moves.

    Parameters
    ----------
    n_samples : int
        The number of training rows.
    quantity : Quantity
        What is moved.
    rerun : Rerun
        How the prediction without a row comes about.
    n_bags : int or None, default=None
        The number of bags, where some were drawn.
    bags : str or None, default=None
        The fingerprint of the drawn bags, where they are reused.
    range_length : float or None, default=None
        The length of the range to which predictions are clipped.
    n_points : int or None, default=None
        The number of test points; None speaks of every point.

    Examples
    --------
    >>> measured = Scope(100, Quantity.NUMBER, Rerun.REUSED, n_bags=50)
    >>> proved = Scope(100, Quantity.NUMBER, Rerun.ANEW, n_bags=50)
    >>> print(measured.mismatch(proved))
    the measurement is of the average over the drawn bags without the row, and the bound of the average over bags \
drawn anew without the row
    """

    n_samples: int
    quantity: Quantity
    rerun: Rerun
    n_bags: int | None = None
    bags: str | None = None
    range_length: float | None = None
    n_points: int | None = None

    def mismatch(self, proved: "Scope") -> str | None:
        """Say why a bound does not speak of what was measured.

        Parameters
        ----------
        proved : Scope
            What the bound speaks of.

        Returns
        -------
        str or None
            None where it does.
        """
        if self.n_samples != proved.n_samples:
            return f"the measurement is of {self.n_samples:,} rows, and the bound of {proved.n_samples:,}"
        numbers = {Quantity.NUMBER, Quantity.CLASS}  # a class's probability is a number in [0, 1]
        for mine, theirs in ((self.quantity, proved.quantity), (self.rerun, proved.rerun)):
            if mine is not theirs and {mine, theirs} != numbers:
                return f"the measurement is of {mine.value}, and the bound of {theirs.value}"
        if self.n_bags != proved.n_bags:
            return f"the measurement is of {self.n_bags} bags, and the bound of {proved.n_bags}"
        if None not in (self.bags, proved.bags) and self.bags != proved.bags:
            return "the measurement and the bound are of other bags"
        lengths = self.range_length, proved.range_length
        if None not in lengths and not math.isclose(*lengths, rel_tol=1e-9):  # type: ignore[arg-type]
            return f"the measurement is on a range of length {lengths[0]:g}, and the bound of {lengths[1]:g}"
        if None not in (self.n_points, proved.n_points) and self.n_points != proved.n_points:
            return f"the measurement is at {self.n_points} points, and the bound at {proved.n_points}"
        return None

    def to_dict(self) -> dict[str, Any]:
        """Return the scope as numbers and strings that JSON takes."""
        return {**vars(self), "quantity": self.quantity.name, "rerun": self.rerun.name}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "Scope":
        """Read back what `to_dict` wrote.

        Parameters
        ----------
        values : dict
            As `to_dict` gives it.

        Returns
        -------
        Scope
        """
        kinds = {"quantity": Quantity[values["quantity"]], "rerun": Rerun[values["rerun"]]}
        return cls(**{**values, **kinds})


def refuse_mismatch(measured: "Scope | None", proved: "Scope | None", owner: str) -> None:
    """Raise an error where a bound does not speak of what was measured, with the way to one that does."""
    why = None if measured is None or proved is None else measured.mismatch(proved)
    if why is None:
        return
    assert measured is not None
    assert proved is not None
    ways = {
        Rerun.REUSED: "Beside leave_one_out(model, X) put certify_reused(model)",
        Rerun.ALL: "Beside leave_one_out(model, X) put certify(model) or certify_reused(model)",
        Rerun.ANEW: "Beside leave_one_out_refit(model, ...) put certify(model)",
        Rerun.ALONE: "Nothing is proved of a learner that is not bagged",
        Rerun.REPLACED: "Nothing is proved of replaced rows for every data set",
    }
    norm = "; in_norm() goes with vector=True" if Quantity.VECTOR in (measured.quantity, proved.quantity) else ""
    raise ValueError(f"{owner} cannot show this bound beside this measurement: {why}. {ways[measured.rerun]}{norm}.")
