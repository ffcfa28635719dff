"""How arguments are read and refused: the sentence, the value, the reason, the way out."""

import math
import numbers
from fractions import Fraction
from typing import Any


def refuse_type(name: str, owner: str, expected: str, value: Any) -> TypeError:
    """Build the error for an argument of the wrong kind."""
    return TypeError(f"The '{name}' parameter of {owner} must be {expected}. Got {value!r} instead.")


def refuse_value(name: str, owner: str, expected: str, value: Any, reason: str = "") -> ValueError:
    """Build the error for an argument of the right kind and a wrong value; `reason` ends with the way out."""
    tail = f": {reason}" if reason else " instead."
    return ValueError(f"The '{name}' parameter of {owner} must be {expected}. Got {value!r}{tail}")


def check_integer(value: Any, name: str, owner: str, *, minimum: int, reason: str = "") -> int:
    """Return `value` as an int of at least `minimum`; a bool, a float or a string is not an integer."""
    expected = f"an integer >= {minimum}"
    if not isinstance(value, numbers.Integral) or isinstance(value, bool):
        raise refuse_type(name, owner, expected, value)
    if value < minimum:
        raise refuse_value(name, owner, expected, int(value), reason)
    return int(value)


def check_real(
    value: Any, name: str, owner: str, *, low: float = 0.0, high: float = math.inf, open_low: bool = False
) -> float:
    """Return `value` as a float in [low, high], or (low, high] where `open_low`; NaN lies nowhere."""
    expected = f"a number in {'(' if open_low else '['}{low:g}, {high:g}{')' if math.isinf(high) else ']'}"
    if not isinstance(value, numbers.Real) or isinstance(value, bool):
        raise refuse_type(name, owner, expected, value)
    number = float(value)
    if not (low < number if open_low else low <= number) or number > high:  # NaN fails the first comparison
        raise refuse_value(name, owner, expected, number)
    return number


def check_samples(value: Any, owner: str) -> int:
    """Return the number of training rows: two at least, because one of them is left out."""
    reason = "one row is left out and at least one must remain."
    return check_integer(value, "n_samples", owner, minimum=2, reason=reason)


def check_bags(value: Any, owner: str, name: str = "n_bags") -> int | float:
    """Return the number of bags; ``math.inf`` stands for derandomized bagging."""
    if isinstance(value, float) and value == math.inf:
        return math.inf
    return check_integer(value, name, owner, minimum=1, reason="use math.inf for derandomized bagging.")


def as_fraction(value: Any) -> Fraction:
    """Return the number as it was written: 0.29 is 29/100 and not the binary fraction just below it.

    >>> int(100 * 0.29), int(100 * as_fraction(0.29))
    (28, 29)
    """
    return Fraction(str(value))


def whole_rows(share: float, n_samples: int) -> int:
    """Return the largest whole number of rows in a share of `n_samples`: floor(n * share), without rounding traps.

    A float that is the nearest one to k / n is read as k / n, any other as the decimal that was written.

    >>> whole_rows(0.29, 100), whole_rows(3 / 442, 442), whole_rows(0.5, 7)
    (29, 3, 3)
    """
    nearest = round(share * n_samples)
    if nearest / n_samples == share:
        return nearest
    return math.floor(as_fraction(share) * n_samples)
