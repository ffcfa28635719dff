"""What is to be predicted at each row: one number or label, or several numbers with a name for each column."""

from typing import Any, NamedTuple

import numpy as np

from stablebag._checks import refuse_value
from stablebag.learning.outputs import unmasked
from stablebag.learning.rows import as_column


class Output(NamedTuple):
    """One output of several.

    Attributes
    ----------
    name : object
        What it is called: a column of the targets, or its number.
    number : int
        Its place among the outputs.
    of : int
        How many outputs there are.
    """

    name: Any
    number: int
    of: int

    def column(self, block: np.ndarray) -> np.ndarray:
        """Return this output of the predictions of all, which are along the last axis."""
        return np.ascontiguousarray(block[..., self.number])


def are_several(y: Any) -> bool:
    """Return whether there are several targets for each row.

    >>> are_several([[1, 2], [3, 4]]), are_several([[1], [3]]), are_several([1, 3])
    (True, False, False)
    """
    if isinstance(y, range):  # one number for each row, and perhaps more of them than memory holds
        return False
    try:
        shape = y.shape if hasattr(y, "shape") else np.asarray(y).shape
    except ValueError:  # rows of different lengths, of which more is said where they are read
        return False
    return len(shape) == 2 and shape[1] > 1


def one_column(y: Any, owner: str, instead: str, *, warn: bool = True) -> np.ndarray:
    """Return targets of which there is one for each row; several are refused, with what to do instead."""
    if are_several(y):
        expected = "one target for each row"
        raise refuse_value("y", owner, expected, f"a table of {y_width(y)} columns", instead)
    return as_column(y, "y", owner, warn=warn)


def y_width(y: Any) -> int:
    """Return the number of columns of a table of targets."""
    return int((y.shape if hasattr(y, "shape") else np.asarray(y).shape)[1])


def columns(y: Any) -> np.ndarray:
    """Return a table of targets as an array, with the targets of a row beside each other in memory."""
    if hasattr(y, "toarray"):
        raise refuse_value("y", "fit", "a dense table of targets", y, "use y.toarray().")
    table = np.asarray(unmasked_targets(y))
    if table.ndim != 2:
        raise refuse_value("y", "fit", "a table of numbers, one column for each output", f"a {type(y).__name__}")
    return np.ascontiguousarray(table)


def columns_of_numbers(y: Any) -> np.ndarray:
    """Return a table of targets as an array of floats."""
    try:
        return columns(y).astype(float)
    except (TypeError, ValueError) as error:
        why = str(error).strip().split("\n")[0].rstrip(".")
        raise ValueError(f"Input y must be a table of numbers without missing values: {why}.") from error


def unmasked_targets(y: Any) -> Any:
    """Return the targets, but refuse them if some are masked."""
    try:
        return unmasked(y)
    except ValueError:
        raise ValueError("Input y has masked targets. Remove those rows.") from None


def names_of(y: Any, owner: str) -> np.ndarray | None:
    """Return the names of the columns of a frame of targets; None for an array, whose columns are counted."""
    if not hasattr(y, "columns"):
        return None
    names = np.empty(y_width(y), dtype=object)
    for place, name in enumerate(y.columns):
        names[place] = name
    twice = [name for place, name in enumerate(names) if name in names[:place].tolist()]
    if twice:
        reason = "an output is asked for by its name. Rename one of them."
        raise refuse_value("y", owner, "a table whose columns have different names", twice[0], reason)
    return names


def output_of(name: Any, names: np.ndarray, owner: str) -> Output:
    """Return the output of this name; where no name is a number, a number counts the outputs from 0."""
    known = names.tolist()
    for number, each in enumerate(known):
        if (type(each) is type(name) and each == name) or _same_number(each, name):
            return Output(each, number, len(known))
    if _is_number(name) and 0 <= name < len(known) and not any(map(_is_number, known)):
        return Output(known[name], int(name), len(known))
    raise refuse_value("name", owner, f"one of {', '.join(map(repr, known))}", name)


def _is_number(name: Any) -> bool:
    return isinstance(name, int | np.integer) and not isinstance(name, bool)


def _same_number(one: Any, other: Any) -> bool:
    return _is_number(one) and _is_number(other) and int(one) == int(other)
