"""The error of a model on unseen rows, from the bags that do not contain them."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from stablebag._checks import check_choice, check_integer, hold_read_only, refuse_value
from stablebag._seeds import Seeds
from stablebag._wording import ROUNDING, ROWS, number
from stablebag.measuring.error_intervals import ErrorInterval, Evidence, LossSource
from stablebag.measuring.leave_one_out import chosen_rows, left_out_at_rows
from stablebag.measuring.losses import BoundedLoss, loss_function
from stablebag.models.average import BagAverage
from stablebag.models.ensemble import check_bagged, refuse_several_outputs
from stablebag.models.fitted import fitted
from stablebag.models.learners import one_hot
from stablebag.proving.error_bounds import check_confidence_level


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
        because losses at different rows are not quite independent; `interval` states how good it is. If the model was
        fitted with groups, rows of the same group may depend on each other in any way: only groups are then taken as
        independent.
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
    _source: LossSource | None = None

    def __post_init__(self) -> None:
        hold_read_only(self)

    def __float__(self) -> float:
        return self.value

    @property
    def _n_units(self) -> int:
        """How many rows, or groups, the model was fitted to."""
        assert self._source is not None
        return int(self._source.average.law.n_samples)

    @property
    def _mean(self) -> tuple[float, float]:
        """The mean that `interval` is about, over groups if there are any, and its standard error."""
        if not self.units:
            return self.value, self.standard_error
        return self._evidence.value, self._evidence.unit * math.sqrt(self._evidence.variance)

    @property
    def rho(self) -> float:
        """The largest share of the variance that the certificate of the bags cannot exclude.

        The error differs from that of the fitted model on new rows by a mean of independent terms, whose variance the
        losses show, and by what their dependence on shared training rows adds. For every learner and every
        distribution, this is at most `rho` times that variance. It is infinite if nothing is proved.
        """
        return self._evidence.rho

    @property
    def measured_rho(self) -> float:
        """The same share as these bags measure it, without bagging noise: an estimate, not a proof."""
        return self._evidence.measured_rho

    def interval(self, confidence_level: float = 0.95, kind: str = "asymptotic") -> ErrorInterval:
        """Return an interval for the expected loss of this fitted model at a new row.

        With groups, it is about a new group: the mean loss at its rows, whatever their number, so that every group
        counts the same.

        Parameters
        ----------
        confidence_level : float, default=0.95
            The probability, over the training rows, with which the interval contains the expected loss.
        kind : {"asymptotic", "proved"}, default="asymptotic"
            "proved" holds for every learner, every distribution and every number of rows, and is wide. It needs a loss
            with a known limit on how fast it changes and how large it can be, and a range of predictions that does not
            depend on the data. "asymptotic" is the usual interval of a mean, widened by a measurement of how much
            losses depend on the same rows; `guarantee` says what that assumes, and `rho` how much of it is proved.

        Returns
        -------
        ErrorInterval

        Examples
        --------
        >>> from sklearn.datasets import load_diabetes
        >>> from stablebag import BaggedRegressor, FixedRange, Subbagging, leave_one_out_error
        >>> X, y = load_diabetes(return_X_y=True)
        >>> model = BaggedRegressor(prediction_range=FixedRange(0, 400), scheme=Subbagging(20), random_state=0)
        >>> error = leave_one_out_error(model.fit(X, y), "absolute")
        >>> low, high = error.interval()
        >>> round(low, 1), round(high, 1)
        (44.5, 50.6)
        >>> print(error.interval(kind="proved"))
        47.53, 95% interval from 0 to 103.1 (proved).
        Proved for every learner: with probability 95% over the draw of independent rows and of the
        bags, this fitted model's expected loss at a new row is in this interval, if all targets are
        from 0 to 400.
        """
        owner = "LeaveOneOutError.interval"
        level = check_confidence_level(confidence_level, owner)
        kind = check_choice(kind, "kind", owner, ("asymptotic", "proved"))
        return self._evidence.interval(level, kind)

    @cached_property
    def _evidence(self) -> Evidence:
        if self._source is None:
            raise ValueError("This error was not made by leave_one_out_error, so its bags are not known.")
        return Evidence.of([self._source], [self.losses])

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
        For a regressor, "squared" (the default) or "absolute". For a classifier, "zero_one" (the default), "log",
        "brier", "probability" (one minus the probability of the true class), or "ramp" (falls from 1 to 0 as the lead
        of the true class grows from 0 to 0.5, and is at least the zero-one loss). Or a function ``loss(prediction, y)``
        that returns one value per row. The prediction of a classifier is its class probabilities, and that of a
        regressor of several outputs has a column for each. A `BoundedLoss` can have a proved interval.
    undefined : {"raise", "skip"}, default="raise"
        What to do with rows that are in every bag.
    rows : int, array-like of int or None, default=None
        The training rows to predict, by position, or the number of rows to draw at random. None predicts all. Of very
        many rows, a sample is enough: the standard error shows how precise it is. With groups, whole groups are drawn,
        with about as many rows. Choose rows without looking at their features or targets: rows of one kind show the
        error at new rows of that kind.
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
    >>> low, high = leave_one_out_error(model, "absolute").interval()
    >>> round(low, 1), round(high, 1)
    (42.7, 50.7)
    """
    owner = "leave_one_out_error"
    undefined = check_choice(undefined, "undefined", owner, ("raise", "skip"))
    check_bagged(model, owner, outputs="any")
    if not callable(loss):
        refuse_several_outputs(model, owner, ", or a function of all outputs as loss")
    chosen = sampled_rows(model, rows, random_state, owner)
    losses, source = losses_of(model, loss, chosen, undefined, owner)
    units, known = model.units_, source.numbers
    unit = float(np.abs(losses).max()) or 1.0  # avoids overflow of squares
    of_units = None if units.are_rows else units.of_rows[known]
    error = unit * _standard_error(losses / unit, of_units)
    groups = "" if of_units is None else units.noun.count(len(np.unique(of_units)))
    value, n_undefined = unit * float((losses / unit).mean()), source.n_chosen - len(known)
    return LeaveOneOutError(value, error, losses, known, n_undefined, groups, source)


def sampled_rows(model: Any, rows: Any, random_state: Any, owner: str) -> np.ndarray | None:
    """Return the positions of the rows to predict; None for all. With groups, a number of rows draws whole groups.

    Drawing rows, or groups until there are enough rows, would have large groups more often than new groups are large.
    """
    n, units = len(fitted(model).y), model.units_
    if units.are_rows or not isinstance(rows, int | np.integer) or isinstance(rows, bool):
        return chosen_rows(rows, n, ROWS, random_state, owner)
    n_groups = min(len(units), max(1, round(check_integer(rows, "rows", owner, minimum=1) * len(units) / n)))
    if rows > n:
        raise refuse_value("rows", owner, f"at most {n:,}, the number of rows", rows)
    groups = Seeds.from_random_state(random_state, owner).generator().choice(len(units), n_groups, replace=False)
    return np.flatnonzero(np.isin(units.of_rows, groups))


def losses_of(
    model: Any, loss: Any, chosen: np.ndarray | None, undefined: str, owner: str
) -> tuple[np.ndarray, LossSource]:
    """Return the loss at each chosen row that is not in every bag, and the source of the losses."""
    predicted = left_out_at_rows(model, undefined="raise" if undefined == "raise" else "nan", rows=chosen)
    average: BagAverage = fitted(model).average
    classifier = average.classes is not None
    name, function = loss_function(loss, classifier, owner)
    units, numbers = model.units_, np.arange(len(fitted(model).y)) if chosen is None else chosen
    y = fitted(model).y[numbers]
    if name and classifier:
        y = one_hot(y, model.classes_)
    known = np.flatnonzero(model.bags_.n_without[units.of_rows[numbers]] > 0)
    if not len(known):
        every = f"Every {units.noun.singular} is in every bag"
        raise ValueError(f"{every}, so there is no unseen row to predict. Use more or smaller bags.")
    source = LossSource(model, average, name, loss, function, numbers[known], y[known], len(predicted))
    predictions = _rounded(predicted[known], source.truth) if average.classes is None else predicted[known]
    losses = source.loss(predictions, source.truth)
    if not name and len(losses) > 1:
        some = source.loss(predictions[1::2], source.truth[1::2])
        if not np.allclose(losses[1::2], some, rtol=1e-6, atol=0, equal_nan=True):
            raise ValueError(
                "The loss function must be elementwise, but it returned other losses when it was called with half of "
                "the rows. The loss at a row must not depend on other rows, for example on their mean."
            )
    if not np.isfinite(losses).all():
        row = int(numbers[known[np.argmax(~np.isfinite(losses))]])
        raise ValueError(
            f"The loss at row {row} is {losses[np.argmax(~np.isfinite(losses))]}. Clip predictions with "
            "prediction_range, use another loss, or rescale the targets if they are extremely large."
        )
    if isinstance(loss, BoundedLoss) and not (losses.min() >= 0 and losses.max() <= loss.upper):
        worst = losses.max() if losses.max() > loss.upper else losses.min()
        what = "larger than declared" if worst > loss.upper else "negative"
        raise ValueError(
            f"A loss is {worst:g}, {what}. A BoundedLoss with upper={loss.upper:g} must be between 0 and this number."
        )
    return losses, source


def _rounded(predictions: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Predictions that differ from the targets by rounding alone, as averages of them do, made equal to these."""
    return np.where(np.abs(predictions - y) <= ROUNDING * np.abs(y), y, predictions)


def _standard_error(losses: np.ndarray, units: np.ndarray | None) -> float:
    """Return the standard error of the mean; with units, only losses of different units are taken as independent."""
    if units is None:
        return float(losses.std(ddof=1)) / math.sqrt(len(losses)) if len(losses) > 1 else math.nan
    totals = np.bincount(np.unique(units, return_inverse=True)[1], weights=losses - losses.mean())
    n_units = len(totals)
    if n_units < 2:
        return math.nan
    return math.sqrt(n_units / (n_units - 1) * float((totals**2).sum())) / len(losses)
