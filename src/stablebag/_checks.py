"""How arguments are read and refused: the sentence, the value, the reason, the way out."""

import math
import numbers
import reprlib
from dataclasses import fields
from fractions import Fraction
from typing import Any

import numpy as np


def refuse_type(name: str, owner: str, expected: str, value: Any, reason: str = "") -> TypeError:
    """Build the error for an argument of the wrong kind; `reason` ends with the way out."""
    return TypeError(_sentence(name, owner, expected, value, reason))


def refuse_value(name: str, owner: str, expected: str, value: Any, reason: str = "") -> ValueError:
    """Build the error for an argument of the right kind but with a wrong value; `reason` ends with the way out."""
    return ValueError(_sentence(name, owner, expected, value, reason))


def _sentence(name: str, owner: str, expected: str, value: Any, reason: str) -> str:
    tail = f": {reason}" if reason else " instead."
    return f"The '{name}' parameter of {owner} must be {expected}. Got {reprlib.repr(value)}{tail}"


def check_integer(value: Any, name: str, owner: str, *, minimum: int, reason: str = "") -> int:
    """Return `value` as an int of at least `minimum`; a bool, a float or a string is not an integer."""
    expected = f"an integer >= {minimum}"
    if not isinstance(value, numbers.Integral) or isinstance(value, bool):
        raise refuse_type(name, owner, expected, value, reason)
    if value < minimum:
        raise refuse_value(name, owner, expected, int(value), reason)
    return int(value)


def check_real(
    value: Any,
    name: str,
    owner: str,
    *,
    low: float = 0.0,
    high: float = math.inf,
    open_low: bool = False,
    finite: bool = False,
    reason: str = "",
) -> float:
    """Return `value` as a float in [low, high], or (low, high] where `open_low`; NaN lies nowhere."""
    expected = f"a number in {'(' if open_low else '['}{low:g}, {high:g}{')' if finite else ']'}"
    if not isinstance(value, numbers.Real) or isinstance(value, bool):
        raise refuse_type(name, owner, expected, value, reason)
    number = float(value)
    above = low < number if open_low else low <= number  # NaN is not
    if not above or number > high or (finite and math.isinf(number)):
        raise refuse_value(name, owner, expected, number, reason)
    return number


def check_jobs(value: Any, owner: str) -> int | None:
    """Return a number of jobs: None, or a whole number that is not zero; -1 is one for each processor."""
    if value is None:
        return None
    expected, reason = "None or an integer other than 0", "use 1, or -1 for all processors."
    if not isinstance(value, numbers.Integral) or isinstance(value, bool):
        raise refuse_type("n_jobs", owner, expected, value, reason)
    if value == 0:
        raise refuse_value("n_jobs", owner, expected, 0, reason)
    return int(value)


def check_delta(value: Any, owner: str, name: str = "delta") -> float:
    """Return a share of the training rows."""
    reason = "it is a share of the training rows. For one row in twenty use 0.05."
    return check_real(value, name, owner, high=1.0, reason=reason)


def check_epsilon(value: Any, owner: str, *, open_low: bool = False) -> float:
    """Return a perturbation."""
    reason = "it is how far a prediction may move. Use a small part of the range of predictions, such as 0.05."
    return check_real(value, "epsilon", owner, open_low=open_low, reason=reason)


def check_samples(value: Any, owner: str) -> int:
    """Return the number of training rows: at least two, because one of them is left out."""
    reason = "it is the number of training rows; one is left out and at least one must remain."
    return check_integer(value, "n_samples", owner, minimum=2, reason=reason)


def check_bags(value: Any, owner: str, name: str = "n_bags") -> int | float:
    """Return the number of bags; ``math.inf`` stands for derandomized bagging."""
    if isinstance(value, float) and value == math.inf:
        return math.inf
    reason = "an average needs at least one bag. Use a whole number, or math.inf for derandomized bagging."
    return check_integer(value, name, owner, minimum=1, reason=reason)


def as_fraction(value: Any) -> Fraction:
    """Return the number as it was written: 0.29 is 29/100, not the binary fraction just below it.

    >>> int(100 * 0.29), int(100 * as_fraction(0.29))
    (28, 29)
    """
    return Fraction(str(value))


def as_share(value: Any, n_samples: int) -> Fraction:
    """Return a share of the rows exactly: k / n if it is the nearest float to that, else as it was written.

    >>> as_share(2 / 3, 3), as_share(0.29, 100), as_share(1 / 3, 7)
    (Fraction(2, 3), Fraction(29, 100), Fraction(3333333333333333, 10000000000000000))
    """
    nearest = round(value * n_samples)
    return Fraction(nearest, n_samples) if nearest / n_samples == value else as_fraction(value)


def whole_rows(share: Any, n_samples: int) -> int:
    """Return the largest whole number of rows in a share of `n_samples`: floor(n * share), without rounding traps.

    >>> whole_rows(0.29, 100), whole_rows(3 / 442, 442), whole_rows(0.5, 7)
    (29, 3, 3)
    """
    return math.floor(as_share(share, n_samples) * n_samples)


def read_only(array: np.ndarray) -> np.ndarray:
    """Return a read-only view of an array, for objects that keep what they were given.

    >>> held = read_only(np.zeros(2))
    >>> held[0] = 1.0
    Traceback (most recent call last):
    ...
    ValueError: assignment destination is read-only
    """
    view: np.ndarray = array.view()
    view.flags.writeable = False
    return view


def hold_read_only(result: Any) -> None:
    """Make the arrays that a frozen dataclass holds read-only, so that what was measured or proved stays so."""
    for field in fields(result):
        value = getattr(result, field.name)
        if isinstance(value, np.ndarray):
            object.__setattr__(result, field.name, read_only(value))
