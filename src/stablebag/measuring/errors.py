"""The error of a model on unseen rows, from the bags that do not contain them."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from stablebag._checks import check_choice, hold_read_only, refuse_type, refuse_value
from stablebag._wording import ROWS, number
from stablebag.measuring.leave_one_out import chosen_rows, left_out_at_rows
from stablebag.models.ensemble import check_bagged, refuse_several_outputs
from stablebag.models.fitted import fitted
from stablebag.models.learners import one_hot

_SMALLEST = np.finfo(float).eps  # the logarithm of a probability of zero would be infinite


def _squared(prediction: np.ndarray, y: np.ndarray) -> Any:
    distance = np.abs(prediction - y)
    square = distance**2
    if ((square == 0) & (distance > 0)).any():
        raise ValueError(
            "The targets are so small that squared errors underflow to zero. Multiply the targets by a constant, or "
            "use another loss."
        )
    return square


def _absolute(prediction: np.ndarray, y: np.ndarray) -> Any:
    return np.abs(prediction - y)


def _zero_one(probabilities: np.ndarray, truth: np.ndarray) -> Any:
    return (probabilities.argmax(axis=1) != truth.argmax(axis=1)).astype(float)


def _log(probabilities: np.ndarray, truth: np.ndarray) -> Any:
    return -np.log(np.maximum((probabilities * truth).sum(axis=1), _SMALLEST))


def _brier(probabilities: np.ndarray, truth: np.ndarray) -> Any:
    return ((probabilities - truth) ** 2).sum(axis=1)


_REGRESSION = {"squared": _squared, "absolute": _absolute}
_CLASSIFICATION = {"zero_one": _zero_one, "log": _log, "brier": _brier}


@dataclass(frozen=True, eq=False, repr=False)
class LeaveOneOutError:
    """The mean loss at the training rows, each predicted by the bags without it.

    Returned by `leave_one_out_error`.

    Attributes
    ----------
    value : float
        The mean loss.
    standard_error : float
        The standard deviation of the losses divided by the square root of their number. This is an approximation,
        because losses at different rows are not quite independent. If the model was fitted with groups, rows of the
        same group may depend on each other in any way: only groups are then taken as independent.
    losses : ndarray of shape (n_rows,)
        The loss at each row.
    rows : ndarray of shape (n_rows,)
        The positions of these rows.
    n_undefined : int
        The number of rows skipped because they are in every bag, so there is no prediction without them.
    units : str
        The number of groups that the rows belong to, in words; empty if the model was fitted without groups.
    """

    value: float
    standard_error: float
    losses: np.ndarray
    rows: np.ndarray
    n_undefined: int = 0
    units: str = ""

    def __post_init__(self) -> None:
        hold_read_only(self)

    def __float__(self) -> float:
        return self.value

    def to_frame(self) -> Any:
        """Return a pandas DataFrame with the loss at each row, indexed by the positions of the rows."""
        import pandas as pd

        return pd.DataFrame({"loss": self.losses}, index=pd.Index(self.rows, name="row"))

    def __repr__(self) -> str:
        of = f" of {self.units}" if self.units else ""
        off = "unknown" if math.isnan(self.standard_error) else number(float(f"{self.standard_error:.2g}"))
        if self.standard_error == 0:
            off = "unknown: all losses are equal"
        skipped = f"; skipped {ROWS.count(self.n_undefined)} in every bag" if self.n_undefined else ""
        return f"{number(self.value)} (standard error {off}) over {ROWS.count(len(self.rows))}{of}{skipped}"


def leave_one_out_error(
    model: Any,
    loss: str | Callable[[np.ndarray, np.ndarray], Any] | None = None,
    *,
    undefined: str = "raise",
    rows: Any = None,
    random_state: Any = None,
) -> LeaveOneOutError:
    """Estimate the error of a fitted model on unseen rows: the out-of-bag error, for any scheme.

    Each training row is predicted by the bags that do not contain it. This is the error of a model fitted to one row
    less, which stability keeps close to the error of the model itself. If the model was fitted with groups, a row is
    predicted by the bags without its group, so this is the error at rows of new groups.

    Parameters
    ----------
    model : BaggedRegressor or BaggedClassifier
        A fitted model.
    loss : str, callable or None, default=None
        "squared" (the default) or "absolute" for a regressor, "zero_one" (the default), "log" or "brier" for a
        classifier, or a function ``loss(prediction, y)`` that returns one value per row. The prediction of a classifier
        is its class probabilities, and that of a regressor of several outputs has a column for each.
    undefined : {"raise", "skip"}, default="raise"
        What to do with rows that are in every bag.
    rows : int, array-like of int or None, default=None
        The training rows to predict, by position, or the number of rows to draw at random. None predicts all. Of very
        many rows, a sample is enough: the standard error shows how precise it is.
    random_state : None, int, RandomState or Generator, default=None
        Determines which rows are drawn if `rows` is a number.

    Returns
    -------
    LeaveOneOutError

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from stablebag import BaggedRegressor, leave_one_out_error
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = BaggedRegressor(n_bags=300, random_state=0).fit(X, y)
    >>> leave_one_out_error(model, "absolute")
    46.72 (standard error 1.6) over 442 rows
    """
    owner = "leave_one_out_error"
    undefined = check_choice(undefined, "undefined", owner, ("raise", "skip"))
    check_bagged(model, owner, outputs="any")
    if not callable(loss):
        refuse_several_outputs(model, owner, ", or a function of all outputs as loss")
    chosen = chosen_rows(rows, len(fitted(model).y), ROWS, random_state, owner)
    predicted = left_out_at_rows(model, undefined="raise" if undefined == "raise" else "nan", rows=chosen)
    classifier = fitted(model).average.classes is not None
    function = _loss_function(loss, classifier, owner)
    units, numbers = model.units_, np.arange(len(fitted(model).y)) if chosen is None else chosen
    y = fitted(model).y[numbers]
    if classifier and not callable(loss):
        y = one_hot(y, model.classes_)
    known = np.flatnonzero(model.bags_.n_without[units.of_rows[numbers]] > 0)
    if not len(known):
        every = f"Every {units.noun.singular} is in every bag"
        raise ValueError(f"{every}, so there is no unseen row to predict. Use more or smaller bags.")
    with np.errstate(over="ignore"):  # infinite losses raise an error below
        losses = np.asarray(function(predicted[known], y[known]), dtype=float)
    if losses.shape != known.shape:
        raise ValueError(
            f"The loss function must return one value for each of the {len(known)} rows, not their average. It "
            f"returned an array of shape {losses.shape}."
        )
    if not np.isfinite(losses).all():
        row = int(numbers[known[np.argmax(~np.isfinite(losses))]])
        raise ValueError(
            f"The loss at row {row} is {losses[np.argmax(~np.isfinite(losses))]}. Clip predictions with "
            "prediction_range, use another loss, or rescale the targets if they are extremely large."
        )
    unit = float(np.abs(losses).max()) or 1.0  # avoids overflow of squares
    of_units = None if units.are_rows else units.of_rows[numbers[known]]
    error = unit * _standard_error(losses / unit, of_units)
    groups = "" if of_units is None else units.noun.count(len(np.unique(of_units)))
    value, n_undefined = unit * float((losses / unit).mean()), len(predicted) - len(known)
    return LeaveOneOutError(value, error, losses, numbers[known], n_undefined, groups)


def _standard_error(losses: np.ndarray, units: np.ndarray | None) -> float:
    """Return the standard error of the mean; with units, only losses of different units are taken as independent."""
    if units is None:
        return float(losses.std(ddof=1)) / math.sqrt(len(losses)) if len(losses) > 1 else math.nan
    totals = np.bincount(np.unique(units, return_inverse=True)[1], weights=losses - losses.mean())
    n_units = len(totals)
    if n_units < 2:
        return math.nan
    return math.sqrt(n_units / (n_units - 1) * float((totals**2).sum())) / len(losses)


def _loss_function(loss: Any, classifier: bool, owner: str) -> Callable[..., Any]:
    if callable(loss):
        return loss  # type: ignore[no-any-return]
    known: dict[str, Callable[..., Any]] = _CLASSIFICATION if classifier else _REGRESSION
    name = next(iter(known)) if loss is None else loss
    if not isinstance(name, str):
        raise refuse_type("loss", owner, f"one of {sorted(known)} or a function of (prediction, y)", loss)
    if name not in known:
        reason = (
            f"this loss is for a {'regressor' if classifier else 'classifier'}."
            if name in (_REGRESSION if classifier else _CLASSIFICATION)
            else ""
        )
        raise refuse_value("loss", owner, f"one of {sorted(known)} or a function of (prediction, y)", loss, reason)
    return known[name]
