"""Validation of arguments, and the wording of the errors: the value, the reason and the way out."""

import math
import numbers
import reprlib
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import fields
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

_MOST = 2**64  # rows or bags
_LARGEST = 2**63 - 1  # of a signed integer with 64 bits
_LETTERS = 200  # of a value in an error message
_LONGEST = 2**31  # rows of a table; a range takes no memory and can be far longer


def refuse_type(name: str, owner: str, expected: str, value: Any, reason: str = "") -> TypeError:
    """Return the error for an argument of the wrong type; `reason` ends with the way out."""
    return TypeError(_sentence(name, owner, expected, value, reason))


def refuse_value(name: str, owner: str, expected: str, value: Any, reason: str = "") -> ValueError:
    """Return the error for an argument of the right type with a wrong value; `reason` ends with the way out."""
    return ValueError(_sentence(name, owner, expected, value, reason))


def _sentence(name: str, owner: str, expected: str, value: Any, reason: str) -> str:
    tail = f": {reason}" if reason else " instead."
    return f"The '{name}' parameter of {owner} must be {expected}. Got {shown(value)}{tail}"


def shown(value: Any) -> str:
    """Return a short text for any value: one line, without control characters.

    >>> shown(np.arange(3)), shown("a" * 100)
    ('array([0, 1, 2])', "'aaaaaaaaaaaa...aaaaaaaaaaaaa'")
    """
    try:
        words = " ".join(reprlib.repr(value).split())
    except Exception:  # a broken __repr__ must not hide the error that is being reported
        words = f"<{type(value).__name__} object>"
    half = _LETTERS // 2
    words = words if len(words) <= _LETTERS else f"{words[:half]}...{words[-half:]}"
    return "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in words)


def refuse_masked(value: Any, name: str, owner: str) -> None:
    """Raise an error if entries of an array are masked: no function of the package would skip them."""
    if isinstance(value, np.ma.MaskedArray) and np.ma.getmaskarray(value).any():
        reason = "masks are not supported. Drop or fill the masked entries."
        n_masked = int(np.ma.getmaskarray(value).sum())
        raise refuse_value(name, owner, "without masked entries", n_masked, reason)


def as_array(value: Any, name: str, owner: str, expected: str = "an array", reason: str = "") -> np.ndarray:
    """Return an array. Masked entries, sets, mappings, iterators and ragged lists raise an error."""
    refuse_masked(value, name, owner)
    if isinstance(value, Iterator | Set | Mapping) or (isinstance(value, range) and len(value) > _LONGEST):
        raise refuse_type(name, owner, expected, value, reason)
    try:
        return np.asarray(value.to_numpy() if hasattr(value, "to_numpy") else value)
    except MemoryError:
        raise
    except Exception:
        raise refuse_value(name, owner, expected, value, reason) from None


def as_reals(value: Any, name: str, owner: str, expected: str = "an array of numbers", reason: str = "") -> np.ndarray:
    """Return an array of floats. Only real numbers are accepted, not strings such as "0.5".

    >>> as_reals([Fraction(1, 2), 3], "y", "f")
    array([0.5, 3. ])
    """
    given = as_array(value, name, owner, expected, reason)
    if given.dtype.kind in "biuf":
        return given.astype(float, copy=False)
    if given.dtype.kind != "O":
        raise refuse_value(name, owner, expected, value, reason)
    for entry in given.flat:
        if not isinstance(entry, numbers.Real | Decimal | np.bool_):
            raise refuse_value(name, owner, expected, entry, reason)
    try:
        return given.astype(float)
    except (TypeError, ValueError, ArithmeticError):
        raise refuse_value(name, owner, f"{expected} that fit into floats", value, reason) from None


def as_positions(value: Any, name: str, owner: str, expected: str, reason: str = "") -> np.ndarray:
    """Return a one-dimensional array of integers. Boolean masks and floats raise an error."""
    given = as_array(value, name, owner, expected, reason)
    if given.ndim == 1 and given.dtype.kind == "O" and all(_is_short(entry) for entry in given):
        given = given.astype(np.int64)
    if given.ndim != 1 or (len(given) and given.dtype.kind not in "iu"):
        if given.dtype.kind == "b":
            reason = "a boolean mask is not accepted. Pass np.flatnonzero(mask)."
        elif given.dtype.kind == "f":
            reason = "floats are not accepted. Pass integers."
        raise refuse_type(name, owner, expected, value, reason)
    if len(given) and int(given.max()) > _LARGEST:
        raise refuse_value(name, owner, expected, int(given.max()), reason)
    return given.astype(np.int64)


def _is_short(value: Any) -> bool:
    return isinstance(value, numbers.Integral) and not isinstance(value, bool) and abs(int(value)) <= _LARGEST


def is_missing(value: Any) -> bool:
    """Return whether a value is None, NaN, NA or NaT. The string "nan" is not missing.

    >>> is_missing(None), is_missing(math.nan), is_missing("nan"), is_missing(np.datetime64("NaT"))
    (True, True, False, True)
    """
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    if isinstance(value, np.datetime64 | np.timedelta64):
        return bool(np.isnat(value))
    if isinstance(value, Decimal):
        return value.is_nan()
    return isinstance(value, numbers.Number) and bool(value != value)


def distinct(labels: np.ndarray, name: str, owner: str) -> np.ndarray:
    """Return the sorted distinct labels. Missing labels, and labels that cannot be sorted, raise an error.

    >>> distinct(np.array(["b", "a", "b"]), "y", "fit")
    array(['a', 'b'], dtype='<U1')
    """
    if labels.dtype.kind == "O" and any(map(is_missing, labels)):
        raise refuse_value(name, owner, "a label for each row", None, "some labels are missing. Drop these rows.")
    try:
        return np.unique(labels)
    except TypeError:
        reason = "they have different types and cannot be sorted. Convert them all to strings."
        raise refuse_type(name, owner, "labels of one type", labels, reason) from None


def check_choice(value: Any, name: str, owner: str, choices: Iterable[str], reason: str = "") -> str:
    """Return `value` if it is one of the choices."""
    words = list(choices)
    if not isinstance(value, str) or value not in words:
        raise refuse_value(name, owner, f"one of {', '.join(map(repr, words))}", value, reason)
    return words[words.index(value)]


def check_flag(value: Any, name: str, owner: str) -> bool:
    """Return `value` if it is a bool."""
    if not isinstance(value, bool | np.bool_):
        raise refuse_type(name, owner, "True or False", value)
    return bool(value)


class OtherFormatError(ValueError):
    """A file or dictionary was written in a format that this version cannot read."""


def refuse_format(value: Any, known: int, what: str) -> None:
    """Raise an error unless something was written in the known format.

    >>> refuse_format(1, 1, "The dictionary")
    """
    if type(value) is not int or value != known:
        raise OtherFormatError(
            f"{what} is written in format {shown(value)}, and this version of stablebag reads format {known}. Read it "
            "with the version that wrote it."
        )


def check_integer(value: Any, name: str, owner: str, *, minimum: int, reason: str = "") -> int:
    """Return `value` as an int of at least `minimum`. Bools, floats and strings raise an error."""
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
    """Return `value` as a float in [low, high], or in (low, high] if `open_low`. NaN raises an error."""
    expected = f"a number in {'(' if open_low else '['}{float(low):g}, {float(high):g}{')' if finite else ']'}"
    if not isinstance(value, numbers.Real) or isinstance(value, bool):
        raise refuse_type(name, owner, expected, value, reason)
    try:
        number = float(value)
    except OverflowError:  # an integer or a fraction beyond the largest float
        beyond: Any = value
        number = math.inf if beyond > 0 else -math.inf
    above = low < number if open_low else low <= number  # False for NaN
    if not above or number > high or (finite and math.isinf(number)):
        raise refuse_value(name, owner, expected, number, reason)
    return number


def check_jobs(value: Any, owner: str) -> int | None:
    """Return a number of jobs: None or a nonzero integer, where -1 stands for all processors."""
    if value is None:
        return None
    expected, reason = "None or an integer other than 0", "use 1, or -1 for all processors."
    if not isinstance(value, numbers.Integral) or isinstance(value, bool):
        raise refuse_type("n_jobs", owner, expected, value, reason)
    if value == 0:
        raise refuse_value("n_jobs", owner, expected, 0, reason)
    return int(value)


def check_delta(value: Any, owner: str, name: str = "delta") -> float:
    """Return a fraction of the training rows."""
    is_percent = isinstance(value, int | float) and 1 < value <= 100
    example = f"For {value:g}%, use {value / 100:g}." if is_percent else "For one row in twenty, use 0.05."
    reason = f"it is a fraction of the training rows. {example}"
    return check_real(value, name, owner, high=1.0, reason=reason)


def check_epsilon(value: Any, owner: str, *, open_low: bool = False) -> float:
    """Return how far a prediction may change."""
    reason = "it is how far a prediction may change, in the units of the prediction."
    return check_real(value, "epsilon", owner, open_low=open_low, reason=reason)


def check_samples(value: Any, owner: str) -> int:
    """Return the number of training rows: at least two, because one of them is left out."""
    reason = "it is the number of training rows. One is left out, and at least one must remain."
    return _refuse_beyond_all(check_integer(value, "n_samples", owner, minimum=2, reason=reason), "n_samples", owner)


def check_bags(value: Any, owner: str, name: str = "n_bags") -> int | float:
    """Return the number of bags; ``math.inf`` stands for derandomized bagging."""
    if isinstance(value, float) and value == math.inf:
        return math.inf
    reason = "an average needs at least one bag. Use an integer, or math.inf for derandomized bagging."
    return _refuse_beyond_all(check_integer(value, name, owner, minimum=1, reason=reason), name, owner)


def _refuse_beyond_all(value: int, name: str, owner: str) -> int:
    """Raise an error for a count so large that floats computed from it would overflow."""
    if value > _MOST:
        raise refuse_value(name, owner, "at most 2**64", value)
    return value


def as_fraction(value: Any) -> Fraction:
    """Return the decimal that a float is written as: 0.29 is 29/100, not the binary fraction just below it.

    >>> int(100 * 0.29), int(100 * as_fraction(0.29))
    (28, 29)
    """
    return Fraction(str(value))


def as_share(value: Any, n_samples: int) -> Fraction:
    """Return a share of the rows exactly: k / n if `value` is the float nearest to it, else the decimal as written.

    >>> as_share(2 / 3, 3), as_share(0.29, 100), as_share(1 / 3, 7)
    (Fraction(2, 3), Fraction(29, 100), Fraction(3333333333333333, 10000000000000000))
    """
    if isinstance(value, np.floating):
        value = float(str(value))  # a float16 would overflow when multiplied by the number of rows
    nearest = round(value * n_samples)
    return Fraction(nearest, n_samples) if nearest / n_samples == value else as_fraction(value)


def whole_rows(share: Any, n_samples: int) -> int:
    """Return floor(share * n_samples), computed exactly.

    >>> whole_rows(0.29, 100), whole_rows(3 / 442, 442), whole_rows(0.5, 7)
    (29, 3, 3)
    """
    return math.floor(as_share(share, n_samples) * n_samples)


def read_only(array: np.ndarray) -> np.ndarray:
    """Return a read-only view of an array.

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
    """Make the arrays of a frozen dataclass read-only."""
    for field in fields(result):
        value = getattr(result, field.name)
        if isinstance(value, np.ndarray):
            object.__setattr__(result, field.name, read_only(value))
