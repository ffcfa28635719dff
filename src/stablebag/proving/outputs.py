"""What is known of a learner's outputs: the set in which they lie, and which rows can change it."""

import math
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import numpy as np

from stablebag._checks import (
    as_array,
    as_reals,
    as_share,
    check_delta,
    check_real,
    distinct,
    refuse_type,
    refuse_value,
    whole_rows,
)
from stablebag._wording import number, rounded_up
from stablebag.models.ranges import FixedRange, OutputRanges, as_prediction_range, as_units, diagonal
from stablebag.proving import bounds
from stablebag.proving.scope import Quantity, Rerun, Scope
from stablebag.resampling.law import ResolvedScheme
from stablebag.resampling.units import Units

# -------------------------------------------------------------------------------------------------------------- outputs
# What is known about a learner's outputs: the set in which they lie, and which rows can change it.
#
# A certificate takes one of these. All provide what it needs: a `length`, the share `delta_range` of rows that change
# the set and their `reach`, the `shift` due to bags without rows, and words.


@dataclass(frozen=True)
class Outputs:
    """Outputs in an interval that is known before any data are seen.

    Parameters
    ----------
    length : float, default=1.0
        The length of the interval.
    """

    length: float = 1.0

    delta_range: ClassVar[float] = 0.0
    shift: ClassVar[float] = 0.0
    shifted_share: ClassVar[float] = 0.0
    quantity: ClassVar[Quantity] = Quantity.NUMBER
    is_fixed: ClassVar[bool] = True  # no row, not even a new one, changes the interval
    unit: ClassVar[str] = ""  # of every epsilon, if it is not that of the prediction

    def __post_init__(self) -> None:
        reason = "it is the length of the interval of predictions. If there is none, use UnboundedOutputs()."
        length = check_real(self.length, "range_length", "Certificate", finite=True, reason=reason)
        object.__setattr__(self, "length", length)  # which may have been a fraction smaller than all floats

    @property
    def reach(self) -> float:
        """How far a prediction can move at all."""
        return self.length

    def theorem(self, derandomized: bool) -> str:
        """Return the theorem that such outputs need in addition to those for an interval."""
        return ""

    def such(self, law: ResolvedScheme) -> str:
        """Say which data sets the certificate is about, if not all."""
        return ""

    def words(self, law: ResolvedScheme) -> str:
        """Say in which set the outputs lie."""
        return f"predictions in a range of length {number(self.length)}"

    def about(self, n_samples: int) -> str:
        """Say which part of the bounds is due to the outputs, if any."""
        return ""

    def to_dict(self) -> dict[str, Any]:
        """Return the kind of outputs and its numbers as a dictionary that JSON takes."""
        numbers = {name: value if math.isfinite(value) else None for name, value in asdict(self).items()}
        return {"kind": type(self).__name__, **numbers}


@dataclass(frozen=True)
class AdaptiveOutputs(Outputs):
    """Outputs clipped to an interval that is taken from the targets (Theorems 13 and 20).

    Parameters
    ----------
    length : float, default=1.0
        The length of the interval.
    delta_range : float, default=0.0
        The share of rows whose removal changes the interval.
    reach : float, default=inf
        How far such a row can move a prediction: `length` if the interval does not reach further without a row.
    """

    delta_range: float = 0.0  # type: ignore[misc]
    reach: float = math.inf

    is_fixed: ClassVar[bool] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        check_delta(self.delta_range, "Certificate", name="delta_range")
        reach = check_real(self.reach, "reach", "Certificate", low=self.length, reason="no less than range_length.")
        object.__setattr__(self, "reach", reach)

    def counting_rows(self, n_samples: int) -> "AdaptiveOutputs":
        """Return the same outputs with the share of rows rounded up to whole rows; `reach` is `length` if none are."""
        rows = math.ceil(as_share(self.delta_range, n_samples) * n_samples)
        return AdaptiveOutputs(self.length, rows / n_samples, self.reach if rows else self.length)

    def theorem(self, derandomized: bool) -> str:
        return f"Theorem {13 if derandomized else 20} for the range"

    def such(self, law: ResolvedScheme) -> str:
        return " with this range of targets"

    def words(self, law: ResolvedScheme) -> str:
        changing = round(self.delta_range * law.n_samples)
        return super().words(law) + (f", which {changing:,} of the rows can change" if changing else "")


@dataclass(frozen=True)
class ClassOutputs(Outputs):
    """The probability of a class, and what bags without rows add to its bounds (docs/proofs.md, 9).

    Parameters
    ----------
    length : float, default=1.0
        One, because probabilities are in [0, 1].
    shift : float, default=0.0
        How far bags without rows alone move the average of a classifier when a class loses its only row.
    shifted_share : float, default=0.0
        The share of the rows that are the only ones of their class.
    several : bool, default=False
        Whether units of several rows are left out, which may be of several classes.
    """

    shift: float = 0.0  # type: ignore[misc]
    shifted_share: float = 0.0  # type: ignore[misc]
    several: bool = False

    quantity: ClassVar[Quantity] = Quantity.CLASS

    def __post_init__(self) -> None:
        super().__post_init__()
        check_real(self.shift, "shift", "Certificate", high=self.length)
        check_delta(self.shifted_share, "Certificate", name="shifted_share")
        if self.shift == 0 or self.shifted_share == 0:
            object.__setattr__(self, "shift", 0.0)
            object.__setattr__(self, "shifted_share", 0.0)

    def such(self, law: ResolvedScheme) -> str:
        return such_classes(self.shift, self.shifted_share, law)

    def about(self, n_samples: int) -> str:
        return about_empty_bags(self.shift, self.shifted_share, n_samples)


@dataclass(frozen=True)
class UnboundedOutputs(Outputs):
    """Outputs without any bounds: epsilon is in units of their range at the test point, over all bags (Theorem 12)."""

    quantity: ClassVar[Quantity] = Quantity.RELATIVE
    is_fixed: ClassVar[bool] = False
    unit: ClassVar[str] = " times the range of the learner's outputs at that point"

    def __post_init__(self) -> None:
        if self.length != 1.0:
            reason = "the unit is then the range of the outputs. Leave the length out."
            raise refuse_value("range_length", "Certificate", "1 for unbounded outputs", self.length, reason)

    def theorem(self, derandomized: bool) -> str:
        return f"Theorem {12 if derandomized else 19} for unbounded outputs"

    def words(self, law: ResolvedScheme) -> str:
        empty = ", of which one without rows predicts 0" if law.empty_probability > 0 else ""
        return f"the range is over all bags{empty}"


_KINDS = {kind.__name__: kind for kind in (Outputs, AdaptiveOutputs, ClassOutputs, UnboundedOutputs)}


def outputs_from_dict(values: Any) -> Outputs:
    """Read back what `Outputs.to_dict` returned."""
    if not isinstance(values, dict) or not isinstance(values.get("kind"), str) or values["kind"] not in _KINDS:
        expected = f"a dictionary whose kind is one of {sorted(_KINDS)}"
        raise refuse_type("outputs", "Certificate.from_dict", expected, values)
    numbers = {name: math.inf if value is None else value for name, value in values.items() if name != "kind"}
    kind = _KINDS[values["kind"]]
    if not set(numbers) <= set(kind.__dataclass_fields__):
        expected = f"a dictionary of {sorted(kind.__dataclass_fields__)} and the kind"
        raise refuse_value("outputs", "Certificate.from_dict", expected, values)
    try:
        return kind(**numbers)
    except TypeError as error:
        raise refuse_type("outputs", "Certificate.from_dict", "as to_dict returns them", values, str(error)) from None


def such_classes(shift: float, shifted_share: float, law: ResolvedScheme) -> str:
    """Say which classes a certificate is about, if bags without rows depend on them."""
    if law.empty_probability == 0:
        return ""
    if shifted_share == 1:  # whatever the sizes of the classes
        return " with as many classes"
    return " with these class sizes" if shift > 0 else " in which no class has a single row"


def about_empty_bags(shift: float, shifted_share: float, n_samples: int) -> str:
    """Say what bags without rows add to a bound, and why; nothing if they add nothing."""
    if shift == 0:
        return ""
    lonely = round(shifted_share * n_samples)
    rows = (
        "one row is the only one of its class" if lonely == 1 else f"{lonely:,} rows are each the only one of its class"
    )
    if shifted_share == 1:
        rows = "any row may be the only one of its class"
    return (
        f"Bags without rows give all classes the same probability, and {rows}: by such bags alone, leaving it out "
        f"moves the output by up to {rounded_up(shift)}. The bounds include that. Subbagging and classical bagging "
        "have no such bags."
    )


# --------------------------------------------------------------------------------------------------------------- labels
# What class labels say before any learner sees them: how many classes there are, and which units have one alone.


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


# ---------------------------------------------------------------------------------------------------------- box changes
# Which rows change the box to which several outputs are clipped, and how far these rows can move a prediction.


@dataclass(frozen=True)
class BoxChanges:
    """What is known of a box that is taken from the targets of several outputs (docs/proofs.md, 5).

    Parameters
    ----------
    share : float
        The share of rows whose removal changes the range of any output.
    reach : float
        The largest distance between a point of the box and one of the box without a row.
    fixed : bool, default=False
        Whether the box does not depend on the targets at all.

    Examples
    --------
    >>> y = [[0.0, 0.0], [1.0, 4.0], [3.0, 2.0], [0.0, 0.0], [3.0, 4.0], [2.0, 3.0]]
    >>> units, length, box = BoxChanges.of_targets(y, lambda targets: (0, max(targets)), None, "example")
    >>> length, box.share
    (5.0, 0.0)
    """

    share: float
    reach: float
    fixed: bool = False

    def __post_init__(self) -> None:
        check_delta(self.share, "BoxChanges", name="share")
        check_real(self.reach, "reach", "BoxChanges")

    @classmethod
    def of_targets(cls, y: Any, rule: Any, groups: Any, owner: str) -> tuple[Units, float, "BoxChanges"]:
        """Return what is left out, the diagonal of the box of these targets, and what changes it."""
        table = as_reals(y, "y", owner, "a table of numbers, one column for each output")
        if table.ndim != 2 or len(table) < 2 or table.shape[1] < 1:
            raise refuse_value("y", owner, "a table of at least two rows, one column for each output", table.shape)
        ranges = rule if isinstance(rule, OutputRanges) else OutputRanges.of(rule, table.shape[1], owner)
        units, (low, high) = as_units(groups, table[:, 0]), ranges(table)
        fixed = all(isinstance(each, FixedRange) for each in ranges.ranges)
        return units, diagonal(high - low), cls(*ranges.change(table, units), fixed)

    def left_of(self, delta: float, n_samples: int, all_bags: bool) -> float:
        """Return what is left of a share of rows after those that change the box; below zero if nothing is."""
        if all_bags:
            return (whole_rows(delta, n_samples) - round(self.share * n_samples)) / n_samples
        return float(as_share(delta, n_samples) - as_share(self.share, n_samples))

    @property
    def such(self) -> str:
        """Which data sets a certificate is about."""
        return "" if self.fixed else " with these ranges of targets"

    def words(self, n_samples: int) -> str:
        """Say how many rows change it, in a part of a sentence."""
        changing = round(self.share * n_samples)
        return f", the middle of a box that {changing:,} of the rows can change" if changing else ""


# --------------------------------------------------------------------------------------------------------------- scopes
# What a measurement of an average over bags, or a bound on it, is about.


def scope_of(average: Any, *, vector: bool = False) -> Scope:
    """Return the scope of leaving rows out of an average over bags; per class or output, or as a vector of them."""
    n, classes, n_lost = average.law.n_samples, average.classes, 1
    shift, length = 0.0, None if average.interval is None else average.interval[1] - average.interval[0]
    quantity = Quantity.NUMBER
    if average.y.ndim > 1:
        quantity = Quantity.OUTPUTS if vector else Quantity.OUTPUT
        length = None if length is None else diagonal(length)
    if classes is not None:
        quantity, length = (Quantity.VECTOR, None) if vector else (Quantity.CLASS, 1.0)
        labels = Labels.of(average.y, average.units, "scope_of")
        shift, n_lost = labels.shift(average.empty_without_a_lonely_unit, vector=vector), labels.n_lost
    rerun, n_bags, which = Rerun.ALL, None, average.law.fingerprint
    if average.drawn:
        rerun, n_bags, which = Rerun.REUSED, len(average.bags), average.bags.fingerprint
    changing = len(average.range_changes) / n
    about = {"delta_range": changing, "shift": shift, "n_lost": n_lost, "noun": average.units.noun}
    about["grouping"] = average.units.fingerprint
    return Scope(n, quantity, rerun, n_bags, which, length, **about)


def length_and_changes(rule: Any, y: np.ndarray, units: Units) -> tuple[float, float]:
    """Return the length of the range that a rule makes of targets, and the share of units that change it.

    Of several outputs it is the diagonal of their box, and the share of units that change any of their ranges.
    """
    owner = "leave_one_out_refit"
    if y.ndim > 1:
        _, length, box = BoxChanges.of_targets(y, rule, units, owner)
        return length, box.share
    rule = as_prediction_range(rule, owner)
    low, high = rule(y)
    return high - low, rule.delta(y) if units.are_rows else rule.delta(y, units)
