"""What is known about a learner's outputs: the set in which they lie, and which rows can change it.

A certificate takes one of these. All provide what it needs: a `length`, the share `delta_range` of rows that change the
set and their `reach`, the `shift` due to bags without rows, and words.
"""

import math
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

from stablebag._checks import as_share, check_delta, check_real, refuse_type, refuse_value
from stablebag._wording import number, rounded_up
from stablebag.proving.scope import Quantity
from stablebag.resampling.scheme import ResolvedScheme


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
