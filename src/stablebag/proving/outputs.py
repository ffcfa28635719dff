"""A learner's outputs: the set in which they lie, and which rows can change that set."""

import math
from dataclasses import KW_ONLY, asdict, dataclass, replace
from typing import Any, ClassVar

import numpy as np
from scipy.stats import hypergeom

from stablebag._checks import (
    as_array,
    as_reals,
    as_share,
    check_delta,
    check_integer,
    check_real,
    distinct,
    refuse_type,
    refuse_value,
)
from stablebag._wording import ROWS, Noun, at_most, number, rounded_up
from stablebag.models.ranges import (
    FixedRange,
    ObservedRange,
    OutputRanges,
    PredictionRange,
    TrimmedRange,
    as_prediction_range,
    as_units,
    diagonal,
)
from stablebag.proving import bounds
from stablebag.proving.coupling import Coupling
from stablebag.proving.scope import Quantity, Rerun, Scope
from stablebag.resampling.law import ResolvedScheme
from stablebag.resampling.units import Units

# -------------------------------------------------------------------------------------------------------------- outputs
# A certificate takes one of these classes. Each provides what a certificate needs: the largest distance `length` of two
# outputs, the `width` by which everything is divided, the share `delta_range` of rows that change the set and their
# `reach`, the `shift` due to bags without rows, and words.


@dataclass(frozen=True)
class Outputs:
    """Outputs in an interval that is known before seeing any data.

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
    is_vector: ClassVar[bool] = False  # whether distances are Euclidean
    is_fixed: ClassVar[bool] = True  # no row changes the interval, not even a new one
    unit: ClassVar[str] = ""  # of every epsilon, if it differs from the unit of the prediction
    moved: ClassVar[str] = "the prediction by"  # more than epsilon
    tail: ClassVar[str] = ""  # the inequality for the bagging noise, if it is not that of the coupling

    def __post_init__(self) -> None:
        reason = (
            "it is the length of the interval of predictions. For predictions without limits, use UnboundedOutputs()."
        )
        length = check_real(self.length, "range_length", "Certificate", finite=True, reason=reason)
        object.__setattr__(self, "length", length)  # a Fraction may have been smaller than all floats

    @property
    def radius(self) -> float:
        """All outputs are within this distance of some point, so their variance is at most its square."""
        return self.length / 2

    @property
    def width(self) -> float:
        """Twice the radius. In this unit, outputs have a variance of at most 1/4."""
        return self.length

    @property
    def diameter(self) -> float:
        """The largest distance between two outputs in units of the width."""
        return 1.0

    @property
    def reach(self) -> float:
        """How far a prediction can change at all."""
        return self.length

    def for_rows(self, n_samples: int) -> "Outputs":
        """Return the same outputs, with shares rounded up to whole rows of this many."""
        return self

    def noise(self, coupling: Coupling, n_bags: float, share: Any) -> Any:
        """Return what the bagging noise exceeds with probability at most `share`, in units of the width."""
        return coupling.radius(n_bags, share)

    def theorem(self, derandomized: bool) -> str:
        """Return the theorem that these outputs need in addition to those for an interval."""
        return ""

    def condition(self, law: ResolvedScheme, noun: Noun = ROWS) -> str:
        """Say which data sets the certificate is about, if not all."""
        return ""

    def describe(self, law: ResolvedScheme, noun: Noun = ROWS) -> str:
        """Say in which set the outputs lie."""
        return f"predictions in a range of length {number(self.length)}"

    def describe_shift(self, n_samples: int, noun: Noun = ROWS) -> str:
        """Say how much of the bounds is due to bags without rows, if any."""
        return describe_shift(self.shift, self.shifted_share, n_samples, noun)

    def to_dict(self) -> dict[str, Any]:
        """Return the kind of outputs and its numbers as a dictionary for JSON."""
        numbers = {name: None if value == math.inf else value for name, value in asdict(self).items()}
        if "ends" in numbers:
            ends = numbers.pop("ends")
            numbers |= {} if ends is None else {"ends": [list(end) for end in ends]}
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
        How far such a row can change a prediction: `length` if the interval never reaches further without a row.
    ends : tuple of pairs of int or None, default=None
        For each end of the interval: how many rows are at the end or beyond, and how many of them must be left out to
        move it. None if that is not known, or if the interval can grow without some rows.
    """

    delta_range: float = 0.0  # type: ignore[misc]
    reach: float = math.inf
    ends: tuple[tuple[int, int], ...] | None = None

    is_fixed: ClassVar[bool] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        check_delta(self.delta_range, "Certificate", name="delta_range")
        reach = check_real(self.reach, "reach", "Certificate", low=self.length, reason="use at least range_length.")
        object.__setattr__(self, "reach", reach)
        if self.ends is not None:
            object.__setattr__(self, "ends", _as_ends(self.ends))

    def for_rows(self, n_samples: int) -> "AdaptiveOutputs":
        rows = math.ceil(as_share(self.delta_range, n_samples) * n_samples)
        return replace(self, delta_range=rows / n_samples, reach=self.reach if rows else self.length)

    def share_of_sets(self, n_samples: int, k: int) -> float | None:
        """Bound the share of the sets of k rows whose removal changes the interval; None if it is not known."""
        if self.ends is None:
            return None
        return min(1.0, sum(float(hypergeom.sf(needed - 1, n_samples, rows, k)) for rows, needed in self.ends))

    def theorem(self, derandomized: bool) -> str:
        return f"Theorem {13 if derandomized else 20} for the range"

    def condition(self, law: ResolvedScheme, noun: Noun = ROWS) -> str:
        return " with this range of targets"

    def describe(self, law: ResolvedScheme, noun: Noun = ROWS) -> str:
        changing = round(self.delta_range * law.n_samples)
        changed = f", which {changing:,} of the {noun.plural} can change" if changing else ""
        return super().describe(law, noun) + changed


@dataclass(frozen=True)
class ClassOutputs(Outputs):
    """The probability of a class, and what bags without rows add to its bounds (docs/proofs.md, 9).

    Parameters
    ----------
    length : float, default=1.0
        One, because probabilities are in [0, 1].
    shift : float, default=0.0
        How far bags without rows change the average of a classifier when a class loses its only row.
    shifted_share : float, default=0.0
        The share of the rows that are the only ones of their class.
    several : bool, default=False
        Whether groups of rows are left out, which may contain several classes.
    """

    shift: float = 0.0  # type: ignore[misc]
    shifted_share: float = 0.0  # type: ignore[misc]
    several: bool = False

    quantity: ClassVar[Quantity] = Quantity.CLASS
    moved: ClassVar[str] = "the probability of a given class by"

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_shift(self)

    def condition(self, law: ResolvedScheme, noun: Noun = ROWS) -> str:
        return condition_on_classes(self.shift, self.shifted_share, law, noun)


@dataclass(frozen=True)
class UnboundedOutputs(Outputs):
    """Outputs without limits: epsilon is in units of their range at the test point, over all bags (Theorem 12)."""

    quantity: ClassVar[Quantity] = Quantity.RELATIVE
    is_fixed: ClassVar[bool] = False
    unit: ClassVar[str] = " times the range of the learner's outputs at that point"

    def __post_init__(self) -> None:
        if self.length != 1.0:
            reason = "the unit is then the range of the outputs. Leave out range_length."
            raise refuse_value("range_length", "Certificate", "1 for unbounded outputs", self.length, reason)

    def theorem(self, derandomized: bool) -> str:
        return f"Theorem {12 if derandomized else 19} for unbounded outputs"

    def describe(self, law: ResolvedScheme, noun: Noun = ROWS) -> str:
        empty = f"; a bag without {noun.plural} predicts 0" if law.empty_probability > 0 else ""
        return f"the range is over all bags{empty}"


@dataclass(frozen=True)
class VectorOutputs(Outputs):
    """Vectors within some distance of a point, with Euclidean distances between them (docs/proofs.md, 5).

    Parameters
    ----------
    length : float or None, default=None
        The largest distance between two vectors; None stands for twice the radius.
    shift : float, default=0.0
        How far bags without rows change the average of a classifier when a class loses its only row.
    shifted_share : float, default=0.0
        The share of the rows that may be the only ones of their class.
    radius : float, default=1.0
        All vectors are within this distance of some point.

    Examples
    --------
    >>> import math
    >>> from stablebag import Certificate, Subbagging
    >>> outputs = VectorOutputs(math.sqrt(2), radius=math.sqrt(0.9))  # probabilities of ten classes
    >>> round(Certificate(Subbagging(0.5), n_samples=500, outputs=outputs).epsilon(delta=0.1), 4)
    0.133
    """

    length: float = None  # type: ignore[assignment]
    _: KW_ONLY
    radius: float = 1.0
    shift: float = 0.0  # type: ignore[misc]
    shifted_share: float = 0.0  # type: ignore[misc]

    quantity: ClassVar[Quantity] = Quantity.VECTOR
    is_vector: ClassVar[bool] = True
    moved: ClassVar[str] = "the vector of outputs by a distance of"
    tail: ClassVar[str] = "McDiarmid's inequality for the bags"

    def __post_init__(self) -> None:
        radius = check_real(self.radius, "radius", "VectorOutputs", finite=True)
        length = 2 * radius if self.length is None else check_real(self.length, "length", "VectorOutputs")
        if length > 2 * radius:
            reason = "two points within that radius of a third are at most twice as far apart."
            raise refuse_value("length", "VectorOutputs", f"at most 2 * radius={2 * radius:g}", length, reason)
        object.__setattr__(self, "radius", radius)
        object.__setattr__(self, "length", length)
        _check_shift(self)

    @classmethod
    def of_classes(
        cls, n_classes: int, law: ResolvedScheme, *, n_lost: int = 1, share_lonely: float = 1.0
    ) -> "VectorOutputs":
        """Return the vectors of class probabilities or votes, where a share of rows may be alone in their class."""
        length = math.sqrt(2.0) if n_classes > 1 else 0.0
        shift = min(length, bounds.empty_bags_shift(law.empty_without_a_row, n_classes, n_lost, vector=True))
        return cls(length, radius=bounds.simplex_radius(n_classes), shift=shift, shifted_share=share_lonely)

    @property
    def width(self) -> float:
        return 2 * self.radius

    @property
    def diameter(self) -> float:
        return self.length / self.width if self.width else 1.0

    def noise(self, coupling: Coupling, n_bags: float, share: Any) -> Any:
        return vector_noise(n_bags, share, self.diameter)

    def condition(self, law: ResolvedScheme, noun: Noun = ROWS) -> str:
        return condition_on_classes(self.shift, self.shifted_share, law, noun)

    def describe(self, law: ResolvedScheme, noun: Noun = ROWS) -> str:
        return f"vectors within {at_most(self.radius)} of a point"


@dataclass(frozen=True)
class BoxOutputs(AdaptiveOutputs):
    """Vectors of several outputs, each clipped to its interval (docs/proofs.md, 5).

    Parameters
    ----------
    length : float, default=1.0
        The diagonal of the box.
    delta_range : float, default=0.0
        The share of rows whose removal changes the interval of any output.
    reach : float, default=inf
        The largest distance between a point of the box and one of the box without a row.
    ends : tuple or None, default=None
        As in `AdaptiveOutputs`, for both ends of every interval.
    of_targets : bool, default=True
        Whether the box is taken from the targets. Otherwise it is the same for every data set.

    Examples
    --------
    >>> y = [[0.0, 0.0], [1.0, 4.0], [3.0, 2.0], [0.0, 0.0], [3.0, 4.0], [2.0, 3.0]]
    >>> units, outputs = BoxOutputs.for_targets(y, lambda targets: (0, max(targets)), None, "example")
    >>> outputs.length, outputs.delta_range
    (5.0, 0.0)
    """

    of_targets: bool = True

    quantity: ClassVar[Quantity] = Quantity.OUTPUTS
    is_vector: ClassVar[bool] = True
    moved: ClassVar[str] = "the vector of outputs by a distance of"
    tail: ClassVar[str] = "McDiarmid's inequality for the bags"

    @classmethod
    def for_targets(cls, y: Any, rule: Any, groups: Any, owner: str) -> "tuple[Units, BoxOutputs]":
        """Return the units that are left out, and the box that outputs are clipped to."""
        table = as_reals(y, "y", owner, "a table of numbers, one column for each output")
        if table.ndim != 2 or len(table) < 2 or table.shape[1] < 1:
            raise refuse_value("y", owner, "a table of at least two rows, one column for each output", table.shape)
        ranges = rule if isinstance(rule, OutputRanges) else OutputRanges.of(rule, table.shape[1], owner)
        units, (low, high) = as_units(groups, table[:, 0]), ranges(table)
        of_targets = not all(isinstance(each, FixedRange) for each in ranges.ranges)
        ends = [ends_of(each, column, units) for each, column in zip(ranges.ranges, table.T, strict=True)]
        known = None if None in ends else tuple(end for each in ends if each for end in each)
        return units, cls(diagonal(high - low), *ranges.change(table, units), known, of_targets)

    def noise(self, coupling: Coupling, n_bags: float, share: Any) -> Any:
        return vector_noise(n_bags, share, self.diameter)

    def theorem(self, derandomized: bool) -> str:
        return ""

    def condition(self, law: ResolvedScheme, noun: Noun = ROWS) -> str:
        return " with these ranges of targets" if self.of_targets else ""

    def describe(self, law: ResolvedScheme, noun: Noun = ROWS) -> str:
        changing = round(self.delta_range * law.n_samples)
        middle = f", the middle of a box that {changing:,} of the {noun.plural} can change" if changing else ""
        return f"vectors within {at_most(self.radius)} of a point{middle}"


_KINDS = {
    kind.__name__: kind
    for kind in (Outputs, AdaptiveOutputs, ClassOutputs, UnboundedOutputs, VectorOutputs, BoxOutputs)
}


def vector_noise(n_bags: float, share: Any, diameter: float) -> Any:
    """Return the bagging noise of vectors for any coupling, in units of twice their radius."""
    return bounds.mcdiarmid(n_bags, share, 0.5, diameter)


def outputs_from_dict(values: Any) -> Outputs:
    """Read back what `Outputs.to_dict` returned."""
    if not isinstance(values, dict) or not isinstance(values.get("kind"), str) or values["kind"] not in _KINDS:
        expected = f"a dictionary whose kind is one of {sorted(_KINDS)}"
        raise refuse_type("outputs", "Certificate.from_dict", expected, values)
    numbers: dict[str, Any] = {
        name: math.inf if value is None else value for name, value in values.items() if name != "kind"
    }
    kind, ends = _KINDS[values["kind"]], numbers.get("ends")
    if isinstance(ends, list) and all(isinstance(end, list) for end in ends):
        numbers["ends"] = tuple(map(tuple, ends))
    if not set(numbers) <= set(kind.__dataclass_fields__):
        expected = f"a dictionary of {sorted(kind.__dataclass_fields__)} and the kind"
        raise refuse_value("outputs", "Certificate.from_dict", expected, values)
    try:
        return kind(**numbers)
    except TypeError as error:
        expected = "the outputs that to_dict returned"
        raise refuse_type("outputs", "Certificate.from_dict", expected, values, str(error)) from None


def ends_of(rule: PredictionRange, y: np.ndarray, units: Units) -> tuple[tuple[int, int], ...] | None:
    """Return for each end of a range how many units reach it, and how many must leave to move it; None if not known.

    >>> y = np.array([1.0, 1.0, 2.0, 3.0, 4.0, 5.0, 5.0, 9.0])
    >>> ends_of(ObservedRange(), y, as_units(None, y)), ends_of(TrimmedRange(2), y, as_units(None, y))
    (((2, 2), (1, 1)), ((2, 1), (3, 2)))
    """
    if type(rule) is FixedRange:
        return ()
    if type(rule) not in (ObservedRange, TrimmedRange):
        return None
    rank = rule.rank if isinstance(rule, TrimmedRange) else 1
    low, high = rule(y)
    ends = []
    for reaching in (y <= low, y >= high):
        held = np.sort(np.bincount(units.of_rows[reaching]))[::-1]
        held = held[held > 0]
        # The end stays as long as `rank` targets reach it. Units that hold the most of them move it the soonest.
        needed = 1 + int(np.searchsorted(np.cumsum(held), held.sum() - rank, side="right"))
        ends.append((len(held), needed))
    return tuple(ends)


def _as_ends(ends: Any) -> tuple[tuple[int, int], ...]:
    """Check pairs of numbers of rows."""
    try:
        pairs = [(rows, needed) for rows, needed in ends]
    except (TypeError, ValueError):
        raise refuse_type("ends", "Certificate", "None or pairs such as ((2, 1), (1, 1))", ends) from None
    return tuple(
        (check_integer(rows, "ends", "Certificate", minimum=1), check_integer(needed, "ends", "Certificate", minimum=1))
        for rows, needed in pairs
    )


def _check_shift(outputs: Any) -> None:
    """Check the shift, and set it to zero if no row has one."""
    check_real(outputs.shift, "shift", "Certificate", high=outputs.length)
    check_delta(outputs.shifted_share, "Certificate", name="shifted_share")
    if outputs.shift == 0 or outputs.shifted_share == 0:
        object.__setattr__(outputs, "shift", 0.0)
        object.__setattr__(outputs, "shifted_share", 0.0)


def condition_on_classes(shift: float, shifted_share: float, law: ResolvedScheme, noun: Noun = ROWS) -> str:
    """Say for which classes a certificate holds, if bags without rows depend on them."""
    if law.empty_probability == 0:
        return ""
    if shifted_share == 1:  # whatever the sizes of the classes
        return " with as many classes"
    return " with these class sizes" if shift > 0 else f" in which no class has a single {noun.singular}"


def describe_shift(shift: float, shifted_share: float, n_samples: int, noun: Noun = ROWS) -> str:
    """Say what bags without rows add to a bound, and why."""
    if shift == 0:
        return ""
    lonely, one, many = round(shifted_share * n_samples), noun.singular, noun.plural
    rows = f"one {one} is" if lonely == 1 else f"{lonely:,} {many} are each"
    rows = f"any {one} may be" if shifted_share == 1 else rows
    return (
        f"The bounds include {rounded_up(shift)} for bags without {many}: such bags give all classes the same "
        f"probability, and {rows} the only one of its class. Subbagging and classical bagging have no such bags."
    )


# --------------------------------------------------------------------------------------------------------------- labels
# What follows from class labels alone: how many classes there are, and which units are the only ones of a class.


@dataclass(frozen=True)
class Labels:
    """The labels of a training table.

    Attributes
    ----------
    units : Units
        The units that are left out: rows, or groups of rows.
    n_classes : int
        The number of classes.
    n_lonely : int
        The number of units whose removal takes a class away.
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
        """Read labels; `groups` are units, the group of each row, or None."""
        labels = as_array(y, "y", owner, "a one-dimensional array of at least two labels")
        if labels.ndim != 1 or len(labels) < 2:
            raise refuse_value("y", owner, "a one-dimensional array of at least two labels", labels.shape)
        classes = distinct(labels, "y", owner)
        units = as_units(groups, labels)
        lost = [len(gone) for gone in units.classes_lost(labels).values()]
        return cls(units, len(classes), len(lost), max(lost, default=1))

    @property
    def share_lonely(self) -> float:
        """The share of the units whose removal takes a class away."""
        return self.n_lonely / len(self.units)

    def shift(self, chance: float, *, vector: bool = False) -> float:
        """Return how far bags without rows can change the average when a class is gone."""
        return bounds.empty_bags_shift(chance, self.n_classes, self.n_lost, vector=vector)


# --------------------------------------------------------------------------------------------------------------- scopes
def scope_of(average: Any, *, vector: bool = False) -> Scope:
    """Return the scope of leaving rows out of an average over bags, for each output or for the vector of them."""
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
    """Return the length of the range of some targets, and the share of units that change it.

    For several outputs, it is the diagonal of their box, and the share of units that change any of their ranges.
    """
    owner = "leave_one_out_refit"
    if y.ndim > 1:
        _, box = BoxOutputs.for_targets(y, rule, units, owner)
        return box.length, box.delta_range
    rule = as_prediction_range(rule, owner)
    low, high = rule(y)
    return high - low, rule.delta(y) if units.are_rows else rule.delta(y, units)
