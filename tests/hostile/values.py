"""Values that nobody should pass, by name; and variants of a right argument: spoilt, or in another form."""

import math
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import scipy.sparse


class Refuses:
    """An object that fails at everything."""

    def __repr__(self) -> str:
        raise RuntimeError("no words for it")

    def __bool__(self) -> bool:
        raise RuntimeError("neither true nor false")

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("like nothing else")

    __hash__ = None


class LongText(str):
    """A subclass of str."""


# Created again for every call, so that no call can change the value of the next.
ALWAYS: dict[str, Callable[[], Any]] = {
    "10^400": lambda: 10**400,
    "-10^400": lambda: -(10**400),
    "10^400/3": lambda: Fraction(10**400, 3),
    "1/10^400": lambda: Fraction(1, 10**400),
    "2^63": lambda: 2**63,
    "2^63-1": lambda: 2**63 - 1,
    "-2^63-1": lambda: -(2**63) - 1,
    "2^53+1": lambda: 2**53 + 1,
    "-1": lambda: -1,
    "0": lambda: 0,
    "-0.0": lambda: -0.0,
    "1": lambda: 1,
    "3": lambda: 3,
    "0.3": lambda: 0.3,
    "2.5": lambda: 2.5,
    "1e308": lambda: 1e308,
    "-1e308": lambda: -1e308,
    "5e-324": lambda: 5e-324,
    "nan": lambda: math.nan,
    "inf": lambda: math.inf,
    "-inf": lambda: -math.inf,
    "None": lambda: None,
    "True": lambda: True,
    "np.True_": lambda: np.bool_(True),
    "'a'": lambda: "a",
    "''": lambda: "",
    "'0.5'": lambda: "0.5",
    "control characters": lambda: "a\x00\x1b[31m\n\r\u202eb[bold]</script>",
    "a surrogate": lambda: "\ud800",
    "a long text": lambda: "x" * 100_000,
    "a text of its own type": lambda: LongText("best"),
    "b'a'": lambda: b"a",
    "complex": lambda: 1 + 2j,
    "a real complex": lambda: 0.5 + 0j,
    "Decimal": lambda: Decimal("0.25"),
    "Decimal('sNaN')": lambda: Decimal("sNaN"),
    "Decimal('1e999999')": lambda: Decimal("1e999999"),
    "1/3": lambda: Fraction(1, 3),
    "np.float16": lambda: np.float16(0.5),
    "np.float64(nan)": lambda: np.float64(math.nan),
    "np.int8": lambda: np.int8(-1),
    "np.uint64": lambda: np.uint64(2**64 - 1),
    "np.datetime64": lambda: np.datetime64("2020-01-01"),
    "np.str_": lambda: np.str_("a"),
    "np.ma.masked": lambda: np.ma.masked,
    "pd.NA": lambda: pd.NA,
    "pd.NaT": lambda: pd.NaT,
    "[]": list,
    "()": tuple,
    "{}": dict,
    "[None]": lambda: [None],
    "[1, 'a']": lambda: [1, "a"],
    "[[1], [2, 3]]": lambda: [[1], [2, 3]],
    "[10^400]": lambda: [10**400],
    "{'a': 1}": lambda: {"a": 1},
    "{nan: nan}": lambda: {math.nan: math.nan},
    "a set": lambda: {1, 2},
    "object()": object,
    "a refusal": Refuses,
    "a type": lambda: int,
    "a function": lambda: len,
    "a module": lambda: math,
    "an error": lambda: ValueError("x"),
    "a generator": lambda: (number for number in (1, 2, 3)),
    "an endless generator": lambda: iter(int, 1),
    "range": lambda: range(3),
    "a huge range": lambda: range(2**62),
    "Ellipsis": lambda: ...,
    "a slice": lambda: slice(None),
    "a path": lambda: Path("/nowhere/at/all"),
    "a 0-d array": lambda: np.array(0.5),
    "a 0-d array of an object": lambda: np.array(None, dtype=object),
    "an empty array": lambda: np.empty(0),
    "an array of shape (0, 3)": lambda: np.empty((0, 3)),
    "an array of shape (3, 0)": lambda: np.empty((3, 0)),
    "a cube": lambda: np.zeros((2, 2, 2)),
    "an array of texts": lambda: np.array(["a", "b"]),
    "an array of objects": lambda: np.array([1, None, "a"], dtype=object),
    "an array of complex": lambda: np.array([1j, 2]),
    "an array of dates": lambda: np.array(["2020-01-01", "NaT"], dtype="datetime64[D]"),
    "a record array": lambda: np.zeros(3, dtype=[("a", int), ("b", float)]),
    "an array of void": lambda: np.zeros(3, dtype="V4"),
    "a masked array": lambda: np.ma.masked_array([1.0, 2.0, 3.0], [0, 1, 0]),
    "np.matrix": lambda: np.zeros((1, 2)).view(np.matrix),
    "a sparse array": lambda: scipy.sparse.csr_array(np.eye(3)),
    "a frame": lambda: pd.DataFrame({"a": [1, 2], "b": ["x", None]}),
    "an empty frame": pd.DataFrame,
    "a frame of doubles": lambda: pd.DataFrame([[1, 2]], columns=["a", "a"]),
    "a frame of odd types": lambda: pd.DataFrame(
        {
            "category": pd.Categorical(["u", "v"]),
            "interval": pd.arrays.IntervalArray.from_breaks([0, 1, 2]),
            "delta": pd.to_timedelta([1, 2]),
            "missing": pd.array([1, None], dtype="Int64"),
        }
    ),
    "a series": lambda: pd.Series([1.0, 2.0], index=["a", "a"]),
    "a polars frame": lambda: pl.DataFrame({"a": [[1], [2, 3]]}),
}


def spoilt(right: Any) -> Iterator[tuple[str, Any]]:
    """Yield values that are wrong in a single place."""
    if not isinstance(right, np.ndarray) or right.ndim == 0 or not right.size:
        return
    if right.dtype.kind in "if":
        numbers = right.astype(float)
        for name, value in (("nan", math.nan), ("inf", math.inf), ("-inf", -math.inf), ("1e308", 1e308)):
            wrong = numbers.copy()
            wrong.flat[0] = value
            yield f"with {name} in it", wrong
        yield "of extremes", np.where(np.arange(numbers.size).reshape(numbers.shape) % 2 == 0, 1.7e308, -1.7e308)
        yield "complex", numbers + 1j
        yield "with 10^400 in it", _with(right, 10**400)
        yield "as texts", numbers.astype(str)
    mask = np.zeros(right.shape, dtype=bool)
    mask.flat[-1] = True
    yield "masked", np.ma.masked_array(right, mask)
    yield "with None in it", _with(right, None)
    yield "with an object in it", _with(right, object())
    yield "with a list in it", _with(right, [1, 2])
    yield "one too few", right[:-1]
    yield "one too many", np.concatenate([right, right[:1]])
    yield "turned into a cube", right[None, None]
    yield "all in one line", right.reshape(1, -1)
    yield "nothing of it", right[:0]
    if right.ndim == 2:
        yield "one column too few", right[:, :-1]
        yield "one column too many", np.hstack([right, right[:, :1]])
        yield "a frame with a column of lists", pd.DataFrame(right).assign(odd=[[1]] * len(right))
        yield "masked in a row", np.ma.masked_array(right, [[row == 0] * right.shape[1] for row in range(len(right))])


def _with(right: np.ndarray, value: Any) -> np.ndarray:
    wrong = right.astype(object)
    wrong.flat[0] = value
    return wrong


def reworded(right: Any) -> Iterator[tuple[str, Any]]:
    """Yield other forms of a right value: the result must be the same, or the form must raise an error."""
    if isinstance(right, bool) or right is None:
        return
    if isinstance(right, int):
        yield "as np.int64", np.int64(right)
        yield "as np.uint16", np.uint16(right)
    elif isinstance(right, float):
        yield "as np.float64", np.float64(right)
        yield "as a fraction", Fraction(str(right))
    elif isinstance(right, str):
        yield "as np.str_", np.str_(right)
        yield "as a text of its own type", LongText(right)
    elif isinstance(right, np.ndarray):
        frozen = right.copy()
        frozen.flags.writeable = False
        yield "read-only", frozen
        yield "in Fortran's order", np.asfortranarray(right)
        yield "with gaps in memory", np.repeat(right, 2, axis=0)[::2]
        yield "backwards in memory", right[::-1].copy()[::-1]
        yield "in the other byte order", right.astype(right.dtype.newbyteorder())
        yield "as lists", right.tolist()
        yield "as objects", right.astype(object)
        yield "with an empty mask", np.ma.masked_array(right)
        if right.ndim == 1:
            yield "as a series", pd.Series(right)
            yield "as a tuple", tuple(right.tolist())


def offered(right: Any) -> Iterator[tuple[str, Callable[[], Any], str]]:
    """Yield all values for a parameter, given a right one: a name, a function that makes it, and its sort."""
    for name, make in ALWAYS.items():
        yield name, make, "anything"
    for name, value in spoilt(right):
        yield f"the right one, {name}", (lambda value=value: value), "masked" if name.startswith("masked") else "spoilt"
    for name, value in reworded(right):
        yield f"the right one, {name}", (lambda value=value: value), "reworded"
