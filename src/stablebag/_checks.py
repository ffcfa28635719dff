"""How arguments are read and refused: the sentence, the value, the reason, the way out."""

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
_LARGEST = 2**63 - 1  # of 64 bits with a sign
_LETTERS = 200  # of a value that is shown
_LONGEST = 2**31  # what stands for itself, such as a range, can be longer than any table


def refuse_type(name: str, owner: str, expected: str, value: Any, reason: str = "") -> TypeError:
    """Build the error for an argument of the wrong kind; `reason` ends with the way out."""
    return TypeError(_sentence(name, owner, expected, value, reason))


def refuse_value(name: str, owner: str, expected: str, value: Any, reason: str = "") -> ValueError:
    """Build the error for an argument of the right kind but with a wrong value; `reason` ends with the way out."""
    return ValueError(_sentence(name, owner, expected, value, reason))


def _sentence(name: str, owner: str, expected: str, value: Any, reason: str) -> str:
    tail = f": {reason}" if reason else " instead."
    return f"The '{name}' parameter of {owner} must be {expected}. Got {shown(value)}{tail}"


def shown(value: Any) -> str:
    """Return a value in a few words, on one line and without control characters, whatever it is.

    >>> shown(np.arange(3)), shown("a" * 100)
    ('array([0, 1, 2])', "'aaaaaaaaaaaa...aaaaaaaaaaaaa'")
    """
    try:
        words = " ".join(reprlib.repr(value).split())
    except Exception:  # its own fault, which must not hide that it was refused
        words = f"<{type(value).__name__} object>"
    half = _LETTERS // 2
    words = words if len(words) <= _LETTERS else f"{words[:half]}...{words[-half:]}"
    return "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in words)


def refuse_masked(value: Any, name: str, owner: str) -> None:
    """Refuse an array of which entries are masked: no function here would leave them out."""
    if isinstance(value, np.ma.MaskedArray) and np.ma.getmaskarray(value).any():
        reason = "no entry is left out here. Drop or fill the masked ones."
        n_masked = int(np.ma.getmaskarray(value).sum())
        raise refuse_value(name, owner, "without masked entries", n_masked, reason)


def as_array(value: Any, name: str, owner: str, expected: str = "an array", reason: str = "") -> np.ndarray:
    """Return an array; what is masked, has no order, comes one by one or is of unequal lengths is refused."""
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
    """Return an array of floats, made of real numbers only; a text that spells one is a text.

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
        raise refuse_value(name, owner, f"{expected} that a float can hold", value, reason) from None


def as_positions(value: Any, name: str, owner: str, expected: str, reason: str = "") -> np.ndarray:
    """Return whole numbers in one line, as they are written; a mask or floats are no positions."""
    given = as_array(value, name, owner, expected, reason)
    if given.ndim == 1 and given.dtype.kind == "O" and all(_is_short(entry) for entry in given):
        given = given.astype(np.int64)
    if given.ndim != 1 or (len(given) and given.dtype.kind not in "iu"):
        raise refuse_type(name, owner, expected, value, reason)
    if len(given) and int(given.max()) > _LARGEST:
        raise refuse_value(name, owner, expected, int(given.max()), reason)
    return given.astype(np.int64)


def _is_short(value: Any) -> bool:
    return isinstance(value, numbers.Integral) and not isinstance(value, bool) and abs(int(value)) <= _LARGEST


def is_missing(value: Any) -> bool:
    """Return whether a value is None, NaN, NA or NaT; a text that spells one of these is not missing.

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
    """Return the different labels in order; those that have none, or are missing, are refused.

    >>> distinct(np.array(["b", "a", "b"]), "y", "fit")
    array(['a', 'b'], dtype='<U1')
    """
    if labels.dtype.kind == "O" and any(map(is_missing, labels)):
        raise refuse_value(name, owner, "a label for each row", None, "some are missing. Leave out their rows.")
    try:
        return np.unique(labels)
    except TypeError:
        raise refuse_type(name, owner, "labels of one kind, which have an order, such as texts", labels) from None


def check_choice(value: Any, name: str, owner: str, choices: Iterable[str], reason: str = "") -> str:
    """Return one of some words."""
    words = list(choices)
    if not isinstance(value, str) or value not in words:
        raise refuse_value(name, owner, f"one of {', '.join(map(repr, words))}", value, reason)
    return words[words.index(value)]


def check_flag(value: Any, name: str, owner: str) -> bool:
    """Return True or False; a number, a text or None is neither."""
    if not isinstance(value, bool | np.bool_):
        raise refuse_type(name, owner, "True or False", value)
    return bool(value)


class OtherFormatError(ValueError):
    """What is read back was written in a format that is not known here."""


def refuse_format(value: Any, known: int, what: str) -> None:
    """Refuse what was written in another format than the one that is read here.

    >>> refuse_format(1, 1, "The dictionary")
    """
    if type(value) is not int or value != known:
        raise OtherFormatError(
            f"{what} is written in format {shown(value)}, and this version of stablebag reads format {known}. Read it "
            "with the version that wrote it."
        )


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
    expected = f"a number in {'(' if open_low else '['}{float(low):g}, {float(high):g}{')' if finite else ']'}"
    if not isinstance(value, numbers.Real) or isinstance(value, bool):
        raise refuse_type(name, owner, expected, value, reason)
    try:
        number = float(value)
    except OverflowError:  # a whole number or a fraction beyond all floats
        beyond: Any = value
        number = math.inf if beyond > 0 else -math.inf
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
    return _refuse_beyond_all(check_integer(value, "n_samples", owner, minimum=2, reason=reason), "n_samples", owner)


def check_bags(value: Any, owner: str, name: str = "n_bags") -> int | float:
    """Return the number of bags; ``math.inf`` stands for derandomized bagging."""
    if isinstance(value, float) and value == math.inf:
        return math.inf
    reason = "an average needs at least one bag. Use a whole number, or math.inf for derandomized bagging."
    return _refuse_beyond_all(check_integer(value, name, owner, minimum=1, reason=reason), name, owner)


def _refuse_beyond_all(value: int, name: str, owner: str) -> int:
    """Refuse a count with which floats would overflow somewhere on the way."""
    if value > _MOST:
        raise refuse_value(name, owner, "at most 2**64", value, "no computer counts as far. Use fewer.")
    return value


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
    if isinstance(value, np.floating):
        value = float(str(value))  # one of numpy's short ones has no room for the number of rows
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
