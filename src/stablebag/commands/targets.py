"""The target of a table: numbers, or classes."""

from typing import Any

import numpy as np

from stablebag._wording import printable
from stablebag.commands.columns import plain_frame
from stablebag.commands.kinds import decide
from stablebag.commands.refusals import TableError, refuse_unknown

_FEWEST_RATINGS = 3  # two are yes and no


def split_target(
    frame: Any, target: str, task: str | None = None, *, has_classes: bool | None = None
) -> tuple[Any, np.ndarray, str, int]:
    """Split a table into X and y; also return the task and the number of rows without a target, which are dropped.

    If the task is None, it is inferred: strings, truth values and few different whole numbers are classes.
    """
    refuse_unknown(frame, target)
    known = frame[target].notna()
    column = frame.loc[known, target]
    if not len(column):
        raise TableError(f"The target {target!r} is missing in every row.")
    numeric = column.dtype.kind in "iuf"
    if task is None:
        if has_classes is None:
            has_classes = decide(plain_frame(column.to_frame()), target=target).has_classes
        task = "classification" if has_classes or not numeric else "regression"
    if task == "regression" and not numeric:
        raise TableError(f"The target {target!r} is not a number, so it cannot be regressed on: use classification.")
    if task == "classification" and column.nunique() < 2:
        if numeric:
            raise TableError(
                f"The target {target!r} is {column.iloc[0]:g} in every row: there is nothing to predict. Use another "
                "column, or add rows with other values."
            )
        raise TableError(
            f"The target {target!r} has one class only, {str(column.iloc[0])!r}: there is nothing to predict. Words "
            f"such as None and NA are missing values; --kind {target}=category makes them classes."
        )
    if numeric and not np.isfinite(column.astype(float)).all():
        raise TableError(f"The target {target!r} has infinite values.")
    y = targets_of(column, task, target)
    return frame.loc[known].drop(columns=target), y, task, int((~known).sum())


def targets_of(column: Any, task: str, name: str) -> np.ndarray:
    """Return targets, none of them missing, as numbers or as names of classes, in which 1 and 1.0 are the same."""
    if task == "regression":
        try:
            return np.asarray(column.to_numpy(dtype=float))
        except (TypeError, ValueError):
            raise TableError(f"The target {name!r} has values that are not numbers.") from None
    if column.dtype.kind == "f" and bool((column == column.round()).all()):
        column = column.map(lambda value: str(int(value)))  # of any size
    return np.asarray(column.astype(str).to_numpy(dtype=str))


def about_ratings(column: Any, name: str, task: str, given: str | None) -> list[str]:
    """Say that consecutive whole numbers, such as 1 to 5 stars, were read as classes, unless that was asked for.

    Parameters
    ----------
    column : Series or ndarray
        The targets.
    name : str
        What the target is called.
    task : str
        How they were read.
    given : str or None
        The task that was asked for.
    """
    try:
        numbers = np.unique(np.asarray(column, dtype=float))
    except (TypeError, ValueError):
        return []
    few = task == "classification" and given is None and len(numbers) >= _FEWEST_RATINGS
    if not few or not (np.diff(numbers) == 1).all() or numbers[0] != round(float(numbers[0])):
        return []
    return [
        f"The numbers {numbers[0]:.0f} to {numbers[-1]:.0f} of {printable(name)} were read as classes without an "
        "order. If they are ratings or counts, --task regression treats them as numbers; if they are classes, --task "
        "classification says so."
    ]
