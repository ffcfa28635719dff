"""The error of a model on unseen rows, from the bags that do not contain them; and which of several models is best."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, overload

import numpy as np

from stablebag._checks import check_choice, check_integer, hold_read_only, refuse_type, refuse_value, shown
from stablebag._seeds import Seeds
from stablebag._wording import (
    ROUNDING,
    ROWS,
    Noun,
    about_count,
    html_table,
    number,
    paragraphs,
    preformatted,
    printable,
)
from stablebag.measuring.error_intervals import (
    ENOUGH_CARRYING,
    BoundedLoss,
    ErrorInterval,
    Evidence,
    LossSource,
    loss_function,
    signed_down,
    signed_up,
)
from stablebag.measuring.leave_one_out import chosen_rows, left_out_at_rows
from stablebag.models.average import BagAverage
from stablebag.models.ensemble import check_bagged, refuse_several_outputs
from stablebag.models.fitted import fitted
from stablebag.models.learners import one_hot
from stablebag.proving.error_bounds import check_confidence_level

_MOST_ROWS = 1e9  # beyond which a number of rows says nothing


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
        return len(self.losses) if self._source is None else int(self._source.average.law.n_samples)

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

    @property
    def n_carrying(self) -> float:
        """How many rows, or groups, carry the variance of the losses, by the kurtosis.

        It is all of them if losses are alike, and one if all the variance comes from one. Below 12, asymptotic
        intervals may contain the expected loss far less often than they should.
        """
        return self._evidence.n_carrying

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


# ---------------------------------------------------------------------------------------------------------- comparisons
# Which of two or more models is better: their errors at the same rows.


@dataclass(frozen=True, eq=False, repr=False)
class ErrorComparison:
    """The difference of two fitted models' errors at the same rows, and which of them is better.

    Made by `compare_errors`.

    Attributes
    ----------
    names : tuple of two str
        What the models are called.
    errors : tuple of two LeaveOneOutError
        The error of each.
    interval : ErrorInterval
        The interval for the expected loss of the first model at a new row, minus that of the second.
    same_bags : bool
        Whether both models have the same bags, so that their bagging noise largely cancels.
    n_carrying : float
        How many rows, or groups, carry the difference, by the kurtosis of the differences.
    n_enough : float
        About how many rows, or groups, would tell with probability 80% which model is better, if the difference stays
        as it is. It is infinite if the difference is zero, or if it takes more bags.
    """

    names: tuple[str, str]
    errors: tuple[LeaveOneOutError, LeaveOneOutError]
    interval: ErrorInterval
    same_bags: bool
    n_carrying: float
    n_enough: float

    @property
    def difference(self) -> float:
        """The error of the first model minus that of the second; with groups, the mean over groups."""
        return self.interval.value

    @property
    def rho(self) -> float:
        """The largest share of the variance of the difference that the certificates cannot exclude."""
        return self.interval.rho

    @property
    def measured_rho(self) -> float:
        """The same share as it is measured: an estimate, which the asymptotic interval includes."""
        return self.interval.measured_rho

    @property
    def better(self) -> str | None:
        """The name of the better model; None if these data cannot tell."""
        if self.interval.kind == "asymptotic" and self.n_carrying < ENOUGH_CARRYING:
            return None
        if self.interval.high < 0:
            return self.names[0]
        return self.names[1] if self.interval.low > 0 else None

    @property
    def verdict(self) -> str:
        """Which model is better, in a sentence; or that these data cannot tell."""
        noun, level = self.interval.noun, f"{100 * self.interval.confidence_level:g}%"
        if self.better is not None:
            low, high = sorted((abs(self.interval.low), abs(self.interval.high)))
            how = "proved" if self.interval.kind == "proved" else "asymptotic"
            return (
                f"{self.better} is better: its expected loss at a new {noun.singular} is lower by {signed_down(low)} "
                f"to {signed_up(high)} ({level} interval, {how})."
            )
        return f"These data cannot tell which model is better{self._why}"

    @property
    def _why(self) -> str:
        noun, enough = self.interval.noun, self.n_enough
        if self.difference == 0 and self.interval.width == 0:
            return f": both have the same loss at every {noun.singular}."
        if 0 not in self.interval:
            return (
                f": about {max(1, round(self.n_carrying)):,} {noun.plural} carry the difference, and at least "
                f"{ENOUGH_CARRYING} are needed."
            )
        if enough == math.inf and self.difference != 0:
            return (
                f": the bags without a {noun.singular} are so few that this alone could make the difference. "
                "Use more bags."
            )
        n, trained = self.interval.n, self.errors[0]._n_units
        sample = f" The models were compared at {n:,} of {trained:,} {noun.plural}." if n < trained else ""
        if enough > _MOST_ROWS:
            return f".{sample}"
        stays = f"with probability 80%, if the difference stays at {number(self.difference)}"
        return f": about {about_count(enough):,} {noun.plural} would, {stays}.{sample}"

    def to_frame(self) -> Any:
        """Return a pandas DataFrame of one line: the interval of the difference, and which model is better."""
        frame = self.interval.to_frame()
        frame.insert(0, "better", [self.better])
        return frame

    def explain(self) -> str:
        """Explain in sentences which model is better, and what that rests on."""
        first, second = (
            f"{name} {number(error._mean[0])}" for name, error in zip(self.names, self.errors, strict=True)
        )
        low, high, level = *self.interval, f"{100 * self.interval.confidence_level:g}%"
        return paragraphs(
            [
                self.verdict,
                f"Mean loss{_by(self.interval.noun)}: {first}, {second}; difference {number(self.difference)}, {level} "
                f"interval from {signed_down(low)} to {signed_up(high)} ({self.interval.kind}).",
                self.interval.guarantee,
                _of_bags(self.same_bags),
            ]
        )

    def __str__(self) -> str:
        return self.explain()

    def __repr__(self) -> str:
        return self.verdict

    def _repr_html_(self) -> str:
        """For notebooks."""
        return preformatted(self.explain())


@dataclass(frozen=True, eq=False, repr=False)
class BestModels:
    """Several fitted models, and a set of them that contains the best one with the stated confidence.

    Made by `compare_errors`.

    Attributes
    ----------
    names : tuple of str
        What the models are called.
    errors : tuple of LeaveOneOutError
        The error of each.
    best : tuple of str
        The models that no other one clearly beats, the one with the smallest error first.
    beaten_by : dict of str to str
        For each of the others, a model that clearly beats it.
    confidence_level : float
        The probability, over the training rows, with which the best model is among `best`.
    kind : {"asymptotic", "proved"}
        What that rests on, as for intervals.
    same_bags : bool
        Whether all models have the same bags.
    guarantee : str
        What is guaranteed, or where to read it, in words.
    """

    names: tuple[str, ...]
    errors: tuple[LeaveOneOutError, ...]
    best: tuple[str, ...]
    beaten_by: dict[str, str]
    confidence_level: float
    kind: str
    same_bags: bool
    guarantee: str

    def __iter__(self) -> Any:
        return iter(self.best)

    def __len__(self) -> int:
        return len(self.best)

    def __contains__(self, name: object) -> bool:
        return name in self.best

    @property
    def verdict(self) -> str:
        """Which models may be the best, in a sentence."""
        if len(self.best) == 1:
            return f"{self.best[0]} is the best of {len(self.names)} models ({self._level})."
        those = f"{', '.join(self.best[:-1])} and {self.best[-1]}"
        if len(self.best) == len(self.names):
            return f"These data cannot tell which of {those} is the best ({self._level})."
        return f"The best of {len(self.names)} models is one of {those} ({self._level}); these data cannot tell which."

    @property
    def _level(self) -> str:
        return f"{100 * self.confidence_level:g}% confidence, {self.kind}"

    def to_frame(self) -> Any:
        """Return a pandas DataFrame with the error of each model, and which one beats it.

        With groups, the error is the mean over groups of their mean losses.
        """
        import pandas as pd

        return pd.DataFrame(
            {
                "error": [error._mean[0] for error in self.errors],
                "standard_error": [error._mean[1] for error in self.errors],
                "may_be_best": [name in self.best for name in self.names],
                "beaten_by": [self.beaten_by.get(name) for name in self.names],
            },
            index=pd.Index(self.names, name="model"),
        )

    def _columns(self) -> dict[str, Sequence[Any]]:
        beaten = [
            f"beaten by {self.beaten_by[name]}" if name in self.beaten_by else "may be best" for name in self.names
        ]
        return {"error": [number(error._mean[0]) for error in self.errors], "": beaten}

    def explain(self) -> str:
        """Explain in sentences which models may be the best, and show the error of each."""
        width = max(len(printable(name)) for name in self.names)
        columns = self._columns()
        wide = max(map(len, columns["error"]))
        lines = [
            f"{printable(name).ljust(width)}  {error.rjust(wide)}  {how}"
            for name, error, how in zip(self.names, *columns.values(), strict=True)
        ]
        return (
            f"{paragraphs([self.verdict])}\n"
            + "\n".join(lines)
            + f"\n{paragraphs([self.guarantee, _of_bags(self.same_bags)])}"
        )

    def __str__(self) -> str:
        return self.explain()

    def __repr__(self) -> str:
        return self.explain()

    def _repr_html_(self) -> str:
        """For notebooks."""
        table = html_table("model", self.names, self._columns())
        return f"{preformatted(paragraphs([self.verdict]))}{table}"


@overload
def compare_errors(
    a: Any, b: None = None, loss: Any = None, *, confidence_level: float = 0.95, kind: str = "asymptotic",
    rows: Any = None, random_state: Any = None,
) -> BestModels: ...  # fmt: skip
@overload
def compare_errors(
    a: Any, b: Any, loss: Any = None, *, confidence_level: float = 0.95, kind: str = "asymptotic",
    rows: Any = None, random_state: Any = None,
) -> ErrorComparison: ...  # fmt: skip
def compare_errors(
    a: Any,
    b: Any = None,
    loss: Any = None,
    *,
    confidence_level: float = 0.95,
    kind: str = "asymptotic",
    rows: Any = None,
    random_state: Any = None,
) -> ErrorComparison | BestModels:
    """Compare the errors of models that were fitted to the same rows, and say which one is better.

    Each row is predicted by the bags without it, so no rows are held out, and the answer is about the fitted models.
    Losses of two models at the same row have much in common, and their difference is far surer than either. Fit both
    with the same scheme, number of bags, `random_state` and row IDs: their bags are then the same, and most of the
    bagging noise cancels.

    Parameters
    ----------
    a : BaggedRegressor, BaggedClassifier, list or dict
        A fitted model; or several models, in a list or in a dict from their names, to find those that may be the best.
    b : BaggedRegressor, BaggedClassifier or None, default=None
        The other model, fitted to the same rows, with the same features or others. None with several models.
    loss : str, callable or None, default=None
        As in `leave_one_out_error`.
    confidence_level : float, default=0.95
        The probability, over the training rows, with which the interval contains the difference of the expected losses,
        or with which the set of models contains the best one.
    kind : {"asymptotic", "proved"}, default="asymptotic"
        As in `LeaveOneOutError.interval`.
    rows : int, array-like of int or None, default=None
        The training rows at which all models are compared, by position, or the number of rows to draw at random. None
        compares at all. With groups, whole groups are drawn. Choose rows without looking at their features or targets.
    random_state : None, int, RandomState or Generator, default=None
        Determines which rows are drawn if `rows` is a number.

    Returns
    -------
    ErrorComparison or BestModels
        For two models the interval of their difference, and a verdict: one is better, or these data cannot tell, and
        about how many rows would. For several, the set of those that may be the best.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.dummy import DummyRegressor
    >>> from sklearn.linear_model import Ridge
    >>> from stablebag import BaggedRegressor, compare_errors
    >>> X, y = load_diabetes(return_X_y=True)
    >>> trees = BaggedRegressor(n_bags=300, random_state=0).fit(X, y)
    >>> ridge = BaggedRegressor(Ridge(0.1), n_bags=300, random_state=0).fit(X, y)
    >>> constant = BaggedRegressor(DummyRegressor(), n_bags=300, random_state=0).fit(X, y)
    >>> found = compare_errors(trees, ridge, "absolute")
    >>> found
    These data cannot tell which model is better: about 2,500 rows would, with probability 80%, if the
    difference stays at 1.904.
    >>> low, high = found.interval
    >>> round(low, 1), round(high, 1)
    (-1.2, 5.0)
    >>> compare_errors({"trees": trees, "ridge": ridge, "constant": constant}, loss="absolute")
    The best of 3 models is one of ridge and trees (95% confidence, asymptotic); these data cannot
    tell which.
    trees     46.72  may be best
    ridge     44.82  may be best
    constant  65.92  beaten by ridge
    This assumes what each asymptotic interval does: see compare_errors of two of them.
    The models have the same bags, so most of their bagging noise cancels.
    """
    owner = "compare_errors"
    level = check_confidence_level(confidence_level, owner)
    kind = check_choice(kind, "kind", owner, ("asymptotic", "proved"))
    if b is None:
        names, models = _several(a)
    else:
        names, models = ("a", "b"), (a, b)
    for model in models:
        check_bagged(model, owner, outputs="any")
    _refuse_other_rows(names, models)
    chosen = sampled_rows(models[0], rows, random_state, owner)
    errors = tuple(leave_one_out_error(model, loss, rows=chosen) for model in models)
    sources = [_source(error) for error in errors]
    same_bags = all(source.average.bags == sources[0].average.bags for source in sources)
    if b is not None:
        evidence = Evidence.of(sources, [error.losses for error in errors])
        interval = evidence.interval(level, kind) if evidence.losses.any() else evidence.nothing(level, kind)
        two, carrying = (errors[0], errors[1]), evidence.n_carrying
        few = ENOUGH_CARRYING / max(carrying, 1e-9) if kind == "asymptotic" else 1.0
        enough = evidence.n_enough(level, kind) if evidence.losses.any() else math.inf
        enough = max(enough, few * interval.n, interval.n)
        return ErrorComparison(("a", "b"), two, interval, same_bags, carrying, enough)
    return _best_of(names, errors, sources, level, kind, same_bags)


def _best_of(
    names: tuple[str, ...],
    errors: tuple[LeaveOneOutError, ...],
    sources: list[LossSource],
    level: float,
    kind: str,
    same_bags: bool,
) -> BestModels:
    """Each model is in the set unless another one beats it; the best one is not, but for the stated probability."""
    missed, beaten = (1 - level) / (len(names) - 1), dict[str, str]()
    order = sorted(range(len(names)), key=lambda place: errors[place]._mean[0])
    for loser in reversed(order):
        for winner in order:
            evidence = Evidence.of([sources[loser], sources[winner]], [errors[loser].losses, errors[winner].losses])
            if evidence.value <= 0 or (kind == "asymptotic" and evidence.n_carrying < ENOUGH_CARRYING):
                continue
            if evidence.is_larger(missed, kind):
                beaten[names[loser]] = names[winner]
                break
    best = tuple(names[place] for place in order if names[place] not in beaten)
    guarantee = "This assumes what each asymptotic interval does: see compare_errors of two of them."
    if kind == "proved":
        guarantee = Evidence.set_of_best(sources, level)
    return BestModels(names, errors, best, beaten, level, kind, same_bags, guarantee)


def _several(models: Any) -> tuple[tuple[str, ...], tuple[Any, ...]]:
    if isinstance(models, Mapping):
        names, values = tuple(map(str, models)), tuple(models.values())
    elif isinstance(models, Sequence) and not isinstance(models, str):
        names, values = tuple(f"model {place}" for place in range(len(models))), tuple(models)
    else:
        raise refuse_type(
            "b", "compare_errors", "another model beside a", None, "or pass several, in a list or a dict."
        )
    if len(values) < 2:
        raise refuse_value("a", "compare_errors", "two models or more", shown(list(names)))
    return names, values


def _refuse_other_rows(names: tuple[str, ...], models: tuple[Any, ...]) -> None:
    """Reject models that were fitted to other rows: their errors are then not of the same rows."""
    first = fitted(models[0])
    for name, model in zip(names[1:], models[1:], strict=True):
        other = fitted(model)
        if (first.average.classes is None) != (other.average.classes is None):
            raise ValueError(
                f"{names[0]} and {name} are a regressor and a classifier, whose losses are not comparable."
            )
        if first.y.shape != other.y.shape or not np.array_equal(first.y, other.y):
            raise ValueError(
                f"{names[0]} and {name} were fitted to other targets. Fit both to the same rows, in the same order."
            )
        if first.units != other.units:
            raise ValueError(
                f"{names[0]} and {name} were fitted with other groups or row IDs. Pass the same ones to both fits."
            )


def _source(error: LeaveOneOutError) -> LossSource:
    assert error._source is not None
    return error._source


def _by(noun: Noun) -> str:
    return "" if noun is ROWS else f" by {noun.singular}"


def _of_bags(same: bool) -> str:
    if same:
        return "The models have the same bags, so most of their bagging noise cancels."
    return (
        "The models have different bags, and their bagging noise does not cancel. Fit them with the same scheme, "
        "n_bags and random_state."
    )
