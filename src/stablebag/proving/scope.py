"""What a number is about. A bound may be shown next to a measurement only if both are about the same thing."""

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from enum import Enum
from typing import Any

from stablebag._wording import ROWS, Noun


class Quantity(Enum):
    """What changes if a row is left out."""

    NUMBER = "the prediction"
    CLASS = "each class's probability"
    VECTOR = "the vector of class probabilities"
    OUTPUT = "each output"
    OUTPUTS = "the vector of outputs"
    RELATIVE = "the prediction in units of the range of the learner's outputs"
    LOSS = "a loss"


class Rerun(Enum):
    """How the prediction without a row comes about."""

    REUSED = "the average over the drawn bags without the {}"
    ALL = "the average over all bags without the {}"
    ANEW = "a bagged model refitted without the {}"
    ALONE = "a model that is not bagged, refitted without the {}"
    REPLACED = "a model refitted with the {} replaced"

    def describe(self, noun: Noun = ROWS) -> str:
        """Say how the prediction without a row comes about."""
        return self.value.format(noun.singular)


@dataclass(frozen=True)
class Scope:
    """What a number is about: the rows, how one is left out, and what that changes.

    Parameters
    ----------
    n_samples : int
        The number of training rows.
    quantity : Quantity
        What changes.
    rerun : Rerun
        How the prediction without a row comes about.
    n_bags : int or None, default=None
        The number of bags, if bags were drawn.
    bags : str or None, default=None
        The fingerprint of the drawn bags if they are reused, and the law of the bags otherwise.
    range_length : float or None, default=None
        The length of the range that predictions are clipped to; for several outputs the diagonal of their box. None if
        predictions are not clipped.
    n_points : int or None, default=None
        The number of test points; None stands for every point.
    points : str or None, default=None
        The fingerprint of the test points.
    delta_range : float, default=0.0
        The share of rows whose removal changes the range.
    shift : float, default=0.0
        What bags without rows add when a class loses its only row.
    n_rows : int or None, default=None
        The number of rows that were left out in turn, if not all.
    coupling : str or None, default=None
        What is assumed about the bags with and without a row, for refits.
    proved : bool, default=True
        Whether it is a bound, and not an estimate of one.
    noun : Noun, default=ROWS
        The word for what was left out: rows, or groups such as patients.
    n_lost : int, default=1
        The most classes that are gone without one of them.
    grouping : str or None, default=None
        A fingerprint that identifies which rows belong together, if some do.

    Examples
    --------
    >>> measured = Scope(100, Quantity.NUMBER, Rerun.REUSED, n_bags=50)
    >>> proved = Scope(100, Quantity.NUMBER, Rerun.ANEW, n_bags=50)
    >>> print(measured.mismatch(proved))
    the measurement is about the average over the drawn bags without the row, and the bound about a bagged model \
refitted without the row
    """

    n_samples: int
    quantity: Quantity
    rerun: Rerun
    n_bags: int | None = None
    bags: str | None = None
    range_length: float | None = None
    n_points: int | None = None
    points: str | None = None
    delta_range: float = 0.0
    shift: float = 0.0
    n_rows: int | None = None
    coupling: str | None = None
    proved: bool = True
    noun: Noun = ROWS
    n_lost: int = 1
    grouping: str | None = None

    def mismatch(self, proved: "Scope") -> str | None:
        """Say why a bound with the scope `proved` is not about this measurement; None if it is."""
        return next((reason for reason in self._reasons(proved) if reason), None)

    def _reasons(self, proved: "Scope") -> Iterator[str | None]:
        """Yield a reason for each property that differs, and None for each that agrees."""
        noun = self.noun if self.noun == proved.noun else ROWS
        yield None if proved.proved else "the bound is only an estimate and proves nothing"
        left_out = (self.noun.count(self.n_samples), proved.noun.count(proved.n_samples))
        yield _unlike("the measurement is about {}, and the bound about {}", *left_out)
        other = None not in (self.grouping, proved.grouping) and self.grouping != proved.grouping
        yield f"the measurement and the bound have different {self.noun.plural}" if other else None
        quantities, about = (self.quantity, proved.quantity), "the measurement is about {}, and the bound about {}"
        # A class's probability is a number in [0, 1].
        same = quantities[0] is quantities[1] or set(quantities) == {Quantity.NUMBER, Quantity.CLASS}
        yield None if same else _unlike(about, *(q.value for q in quantities))
        yield _unlike(about, self.rerun.describe(noun), proved.rerun.describe(noun))
        yield _unlike("the measurement has {} bags, and the bound is for {}", self.n_bags, proved.n_bags)
        different = "the measurement and the bound are about different bags: {}, and {}"
        yield _unlike(different, self.bags, proved.bags, or_none=True)
        lengths = self.range_length, proved.range_length
        same = lengths[0] == lengths[1] or (None not in lengths and math.isclose(*lengths, rel_tol=1e-9))  # type: ignore[arg-type]
        shown = ["None" if length is None else f"{length:g}" for length in lengths]
        yield (
            None
            if same
            else "the measurement is on a range of length {}, and the bound on one of length {}".format(*shown)
        )
        if self.delta_range > proved.delta_range + 1e-12:
            share = f"a share {self.delta_range:.4g} of the {noun.plural}"
            yield f"{share} changes the range, and the bound is for fewer such {noun.plural}"
        if self.shift > proved.shift + 1e-12:
            single = f"a class has a single {noun.singular}"
            yield f"bags without {noun.plural} matter because {single}, and the bound leaves that out"
        yield _unlike(
            "the measurement is at {} points, and the bound at {}", self.n_points, proved.n_points, or_none=True
        )
        other = None not in (self.points, proved.points) and self.points != proved.points
        yield "the measurement and the bound are at different points" if other else None
        yield None if self.n_rows is None else f"only {self.n_rows:,} of the {noun.count(self.n_samples)} were left out"
        what = 'the bags of the measurement are coupled as "{}", and the bound assumes "{}"'
        yield None if proved.coupling == "any" else _unlike(what, self.coupling, proved.coupling, or_none=True)

    def to_dict(self) -> dict[str, Any]:
        """Return the scope as a dictionary for JSON."""
        return {**asdict(self), "quantity": self.quantity.name, "rerun": self.rerun.name}  # a noun is two words

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "Scope":
        """Read back what `to_dict` returned."""
        kinds = {"quantity": Quantity[values["quantity"]], "rerun": Rerun[values["rerun"]]}
        return cls(**{**values, **kinds, "noun": Noun(**values.get("noun", asdict(ROWS)))})


def _unlike(what: str, mine: Any, theirs: Any, *, or_none: bool = False) -> str | None:
    """A sentence if two values differ; with `or_none`, only if both are known."""
    if mine == theirs or (or_none and None in (mine, theirs)):
        return None
    shown = [f"{value:,}" if isinstance(value, int) else str(value) for value in (mine, theirs)]
    return what.format(*shown)


def refuse_mismatch(measured: "Scope | None", proved: "Scope | None", owner: str) -> None:
    """Raise an error if a bound is not about the measurement, and name a bound that is."""
    why = None if measured is None or proved is None else measured.mismatch(proved)
    if why is None:
        return
    assert measured is not None
    assert proved is not None
    ways = {
        Rerun.REUSED: "For leave_one_out(model, X), use certify(model, reused=True)",
        Rerun.ALL: "For leave_one_out(model, X), use certify(model) or certify(model, reused=True)",
        Rerun.ANEW: "For leave_one_out_refit(model, ...), use certify(model)",
        Rerun.ALONE: "There is no bound for a model that is not bagged",
        Rerun.REPLACED: "There is no such bound for replaced rows",
    }
    vectors, both = (Quantity.VECTOR, Quantity.OUTPUT, Quantity.OUTPUTS), (measured.quantity, proved.quantity)
    norm = ". For in_norm(), use vector=True" if any(each in vectors for each in both) else ""
    if Quantity.OUTPUT in both:
        norm += ". For one output, use model.output(name) in both"
    raise ValueError(f"{owner} cannot show this bound with this measurement: {why}. {ways[measured.rerun]}{norm}.")
