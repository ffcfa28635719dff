"""What the four schemes of the paper share: a bag size, given as a number of rows or as a fraction of them."""

import math
import numbers
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from stablebag._checks import as_share, refuse_type, refuse_value
from stablebag.resampling.scheme import ResamplingScheme

_LARGEST_BAG = 2**64


@dataclass(frozen=True)
class SizedScheme(ResamplingScheme):
    """What the four schemes of the paper share: a bag size, given as a number of rows or as a fraction of them."""

    bag_size: int | float | Fraction
    repeats: ClassVar[bool] = False  # whether a row can be in a bag more than once

    def __post_init__(self) -> None:
        check_bag_size(self.bag_size, type(self).__name__, repeats=self.repeats)

    def share_of(self, n_samples: int) -> Fraction:
        """Return m / n, exactly."""
        if isinstance(self.bag_size, numbers.Integral):
            return Fraction(int(self.bag_size), n_samples)
        return self.bag_size if isinstance(self.bag_size, Fraction) else as_share(self.bag_size, n_samples)

    def whole_size(self, n_samples: int) -> int:
        """Return m as a whole number of rows, at least one."""
        if isinstance(self.bag_size, int):
            return self.bag_size
        return max(1, math.floor(self.share_of(n_samples) * n_samples))

    def refuse_whole_bags(self, n_samples: int, largest: str) -> None:
        """Refuse a bag of all rows, or of more, in the schemes that draw without replacement."""
        if self.share_of(n_samples) >= 1:
            whole = self.share_of(n_samples) == 1
            size = "every bag would be the whole data set (p = 1)" if whole else "there are not that many rows"
            reason = f"{size}, and no stability can be promised. Use at most {largest}, or ClassicalBagging."
            expected = f"smaller than n_samples={n_samples}, and smaller than 1 as a fraction"
            raise refuse_value("bag_size", type(self).__name__, expected, self.bag_size, reason)


def check_bag_size(size: Any, owner: str, *, repeats: bool = False, things: str = "rows") -> None:
    """Refuse what is neither a number of rows nor a fraction of them; with repeats, it may be more than all."""
    expected = f"a positive number of {things} (int) or fraction of the {things} (float)"
    if not isinstance(size, numbers.Real) or isinstance(size, bool):
        raise refuse_type("bag_size", owner, expected, size)
    number: Any = size if isinstance(size, numbers.Rational) else float(size)
    if not 0 < number < _LARGEST_BAG:  # refuses NaN as well
        raise refuse_value("bag_size", owner, expected, size, "a bag needs rows to learn from. Try 0.5.")
    if number > 1 and not repeats and not isinstance(size, numbers.Integral):
        reason = f"a float is a fraction of the {things}. For a number of {things} write {math.floor(float(size))}."
        raise refuse_value("bag_size", owner, "a fraction below 1, or an int", size, reason)
