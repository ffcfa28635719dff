"""How good the models are: errors on unseen rows from the training rows, and scores on the held-out rows."""

import difflib
import math
import warnings
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy import stats
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.metrics import get_scorer, get_scorer_names
from sklearn.utils.metaestimators import available_if

from stablebag._checks import refuse_type, shown
from stablebag._wording import GROUPS, ROWS, Noun, rounded_down, rounded_up, short
from stablebag.measuring.error_intervals import ENOUGH_CARRYING, ErrorInterval
from stablebag.measuring.errors import ErrorComparison, LeaveOneOutError, compare_errors, leave_one_out_error
from stablebag.models.fitted import fitted
from stablebag.models.learners import one_hot
from stablebag.models.ranges import ObservedRange
from stablebag.resampling.schemes import Subbagging

REGRESSION = ("neg_root_mean_squared_error", "neg_mean_absolute_error", "r2")
CLASSIFICATION = ("accuracy", "neg_log_loss")
IMBALANCED = ("balanced_accuracy", "average_precision", "roc_auc")
_LINEAR = ("neg_root_mean_squared_error", "neg_mean_absolute_error", "neg_median_absolute_error", "neg_max_error")
_WITHOUT_UNIT = ("r2", "explained_variance", "neg_mean_absolute_percentage_error")
_COMMON = ("r2", "neg_mean_absolute_error", "neg_root_mean_squared_error", "accuracy", "roc_auc", "f1", "neg_log_loss")
SHORT_NAMES = {
    "acc": "accuracy",
    "ap": "average_precision",
    "auc": "roc_auc",
    "auroc": "roc_auc",
    "brier": "neg_brier_score",
    "crossentropy": "neg_log_loss",
    "logloss": "neg_log_loss",
    "mae": "neg_mean_absolute_error",
    "mape": "neg_mean_absolute_percentage_error",
    "mse": "neg_mean_squared_error",
    "msle": "neg_mean_squared_log_error",
    "prauc": "average_precision",
    "r2score": "r2",
    "rmse": "neg_root_mean_squared_error",
    "rmsle": "neg_root_mean_squared_log_error",
}
RARE = 0.2  # a class with a smaller share of the training rows makes the classes imbalanced
_FARTHEST = 1e70  # relative to the largest target; larger errors would overflow the variance of a loss
_SMALLEST = np.finfo(float).eps  # smallest probability, so that its logarithm is finite
SPANS = Noun("span of time", "spans of time")
LEVEL = 0.05  # largest rate of false claims about accuracy
_LEVEL_OF_GROUPS = 0.025  # of the t test over groups; its error rate is then at most 5 % (docs/verdict.md)
_LEVEL_OF_LOSSES = 0.01  # of the t test of losses; its error rate is then at most 5 % (docs/verdict.md)
_LEVEL_OF_INTERVALS = 0.95  # of errors, and of their differences
_LEVEL_OF_HARDER = 0.01  # p-value from which on held-out rows are called harder than the training rows
_LEVEL_OF_COVERAGE = 0.01  # p-value below which too few rows are covered
_FEWEST_OTHERS = 10  # rows outside the most frequent class before probabilities are called worse
_WEAK = {"AUC": 0.2, "rank correlation": 0.4}  # above chance; held-out rows that may miss this much are too few
_WELL = {"AUC": 0.2, "rank correlation": 0.4}  # above chance; from here on, a model ranks well
_N_PERMUTATIONS = 1999
_MOST_PERMUTED = 10_000  # rows times classes; above this, a normal distribution replaces permutations
_AT_ONCE = 2**20  # numbers permuted at the same time


class Score(NamedTuple):
    """A score on the held-out rows; NaN if a model does not have it.

    Attributes
    ----------
    name : str
        Its name.
    base : float
        The score of the base model.
    bagged : float
        The score of the bagged model.
    constant : float
        The score of a constant: the mean of the training targets, or the frequencies of the classes.
    lower_is_better : bool
        Whether it is a loss.
    """

    name: str
    base: float
    bagged: float
    constant: float
    lower_is_better: bool

    def shown(self) -> tuple[str, str, str]:
        """Return the three numbers as text, rounded to a thousandth of their scale."""
        three = (self.base, self.bagged, self.constant)
        has_unit = "error" in self.name or "deviance" in self.name
        scale = max((abs(value) for value in three if math.isfinite(value)), default=0.0) if has_unit else 1.0
        base, bagged, constant = (short(value, scale) for value in three)
        return base, bagged, constant


class Loss(NamedTuple):
    """A loss of three models at the same held-out rows, one number for each row.

    Attributes
    ----------
    name : str
        Its name.
    base : ndarray of shape (n_rows,) or None
        The loss of the base model; None if it does not have it.
    bagged : ndarray of shape (n_rows,)
        The loss of the bagged model.
    constant : ndarray of shape (n_rows,)
        The loss of a constant.
    groups : ndarray of int or None, default=None
        The group of each row; rows of one group are not independent.
    n_others : int or None, default=None
        For classes, the number of rows that are not of the most frequent class.
    unit : float, default=1.0
        The unit of these numbers: squares of large targets are taken in a unit in which they stay floats.
    n_unknown : int, default=0
        The number of other held-out rows, whose class no training row has.
    """

    name: str
    base: np.ndarray | None
    bagged: np.ndarray
    constant: np.ndarray
    groups: np.ndarray | None = None
    n_others: int | None = None
    unit: float = 1.0
    n_unknown: int = 0

    @property
    def of_units(self) -> np.ndarray:
        """The loss of the bagged model at each row, or its mean at the rows of each group."""
        return self.bagged if self.groups is None else _of_groups(self.bagged, self.groups)


class Ranking(NamedTuple):
    """How well predictions rank the held-out rows, and whether chance explains it.

    Rows are ranked by the probability of each class, or by the predicted number. If features and targets have nothing
    to do with each other, every order of the held-out targets is equally likely. Comparing with random orders is
    therefore an exact test for any targets. With groups, it is a t test over groups.

    Attributes
    ----------
    name : {"AUC", "rank correlation"}
        What the value is: for classes the AUC, averaged over classes if there are more than two; for numbers
        Spearman's rank correlation.
    value : float
        The value; NaN if it is not defined, because the held-out rows have one class only.
    p_value : float
        The probability of a value at least as large by chance.
    n : int
        The number of held-out rows.
    level : float
        The largest p-value that counts as better than chance.
    are_few : bool
        Whether an AUC of 0.7, or a rank correlation of 0.4, could go unnoticed.
    rarest : tuple of (str, int) or None, default=None
        With two classes, the rarer one in the held-out rows and its number of rows.
    n_groups : int or None, default=None
        The number of groups in the held-out rows, if rows are grouped.
    groups : Noun, default="groups"
        The word for the groups.
    """

    name: str
    value: float
    p_value: float
    n: int
    level: float = LEVEL
    are_few: bool = False
    rarest: tuple[str, int] | None = None
    n_groups: int | None = None
    groups: Noun = GROUPS

    @property
    def is_real(self) -> bool:
        """Whether the model ranks better than chance explains."""
        return self.p_value <= self.level

    @property
    def is_good(self) -> bool:
        """Whether it also ranks well: an AUC of 0.7, or a rank correlation of 0.4, at least."""
        return self.is_real and self.value >= self.by_chance + _WELL[self.name]

    @property
    def by_chance(self) -> float:
        """The value that guessing has on average."""
        return 0.5 if self.name == "AUC" else 0.0


class Difference(NamedTuple):
    """The mean difference of two losses at the same rows, first minus second, and what is clear about it.

    Attributes
    ----------
    mean : float
        The mean difference.
    error : float
        Its standard error, over groups if there are any; NaN for one row or group.
    is_smaller : bool
        Whether the first loss is clearly smaller.
    is_larger : bool
        Whether the first loss is clearly larger.
    ends : tuple of two float, default=(nan, nan)
        A 95 % interval for the expected difference, where enough rows carry the difference.
    """

    mean: float
    error: float
    is_smaller: bool
    is_larger: bool
    ends: tuple[float, float] = (math.nan, math.nan)


class Covered(NamedTuple):
    """The coverage of prediction intervals at the held-out rows, and whether chance explains it.

    Attributes
    ----------
    share : float
        The share of the held-out targets that are in their intervals.
    n : int
        The number of held-out rows.
    n_units : int
        The number of independent ones: the number of groups, if rows are grouped.
    level : float
        The level 1 - a of the intervals. Coverage is proved to be at least 1 - 2a, on average over training rows.
    n_trained : int
        The number of training rows, or groups.
    """

    share: float
    n: int
    n_units: int
    level: float
    n_trained: int

    @property
    def is_low(self) -> bool:
        """Whether the p-value of this coverage is at most 1 %, if coverage is 1 - 2a on average.

        The coverage of one model's intervals varies with its training rows, like that of quantiles, by a beta
        distribution. The number of covered rows is then beta-binomial, and binomial in the limit of many training rows.
        A group can be covered in part. By Bentkus (2004), "On Hoeffding's inequalities", a sum of such shares is this
        small with at most e times the probability, interpolated by logarithms.
        """
        missed = 2 * (1 - self.level)
        if missed >= 1 or not self.n_units:
            return False
        trained = self.n_trained + 1
        count = stats.betabinom(self.n_units, (1 - missed) * trained, missed * trained)
        if self.n_units == self.n:
            return bool(count.cdf(round(self.share * self.n)) <= _LEVEL_OF_COVERAGE)
        inside = math.floor(self.share * self.n_units)
        part, between = self.share * self.n_units - inside, count.logcdf([inside, inside + 1])
        return bool(1 + (1 - part) * between[0] + part * between[1] <= math.log(_LEVEL_OF_COVERAGE))


# ---------------------------------------------------------------------------------------------------------- unseen rows
# Errors on unseen rows, from the training rows: each is predicted by the bags that do not contain it.


class UnseenError(NamedTuple):
    """An error of the bagged model on unseen rows.

    Attributes
    ----------
    name : str
        Its name.
    bagged : float
        The error of the bagged model; with groups, the mean over groups.
    constant : float
        The error of a constant: the mean target, or the frequencies of the classes.
    interval : ErrorInterval or None
        The asymptotic interval for the mean loss of the bagged model; None if there is none.
    proved : ErrorInterval or None
        The interval that is proved for every learner; None if nothing is proved.
    is_root : bool, default=False
        Whether the error is the square root of what the intervals are about.
    n_carrying : float, default=inf
        How many rows, or groups, carry the variance of the losses, by the kurtosis.
    """

    name: str
    bagged: float
    constant: float
    interval: ErrorInterval | None
    proved: ErrorInterval | None = None
    is_root: bool = False
    n_carrying: float = math.inf

    @property
    def loss(self) -> str:
        """The name of the loss whose mean this is, or whose mean this is the root of."""
        return "squared error" if self.is_root else self.name

    def interval_text(self) -> str:
        """Return the asymptotic interval as text, its ends rounded outwards; "" if there is none."""
        if self.interval is None:
            return ""
        low, high = self.ends()
        wider = ", or wider" if self.may_be_wider else ""
        return f"{rounded_down(low, digits=3)} to {rounded_up(high, digits=3)}{wider}"

    @property
    def may_be_wider(self) -> bool:
        """Whether fewer than 12 rows, or groups, carry the error: rare large losses may then be missing among them."""
        return self.n_carrying < ENOUGH_CARRYING

    def ends(self, kind: str = "asymptotic") -> tuple[float, float]:
        """Return both ends of an interval for the error; NaN if there is none."""
        interval = self.interval if kind == "asymptotic" else self.proved
        if interval is None:
            return math.nan, math.nan
        return (math.sqrt(interval.low), math.sqrt(interval.high)) if self.is_root else (interval.low, interval.high)


@dataclass(frozen=True, eq=False)
class Unseen:
    """What the training rows say about the bagged model on unseen rows.

    Attributes
    ----------
    errors : tuple of UnseenError
        The errors: the mean absolute error and the root mean squared error, or the share of wrong decisions and the
        Brier score. Those that cannot be computed are missing.
    against : ErrorComparison or None
        The squared error, or the Brier score, compared with that of a constant that is bagged with the same bags; None
        if they cannot be compared.
    noun : Noun
        The word for what is left out: row or group.
    n : int
        The number of rows, or groups, that were predicted.
    is_harder : bool or None, default=None
        Whether the held-out rows are clearly harder than these errors suggest; None if they are too few to say. They
        then seem to differ from the training rows, and what the training rows say is not about them.
    """

    errors: tuple[UnseenError, ...]
    against: ErrorComparison | None
    noun: Noun
    n: int
    is_harder: bool | None = None

    @property
    def beats(self) -> bool | None:
        """Whether the bagged model is clearly better than a constant, or clearly not; None if neither is clear."""
        if self.against is None or self.is_harder or (self.against.better is None and not self.is_constant):
            return None
        return self.against.better == self.against.names[0]

    @property
    def is_constant(self) -> bool:
        """Whether the bagged model has the same loss as a constant at every training row."""
        return self.against is not None and self.against.difference == 0 and self.against.interval.width == 0

    @property
    def is_above(self) -> bool:
        """Whether the error of the bagged model is larger than that of a constant, clearly or not."""
        return self.against is not None and not self.is_harder and self.against.difference > 0

    @property
    def compared(self) -> UnseenError | None:
        """The error that is compared with the constant's."""
        return self.errors[-1] if self.against is not None and self.errors else None


def unseen_errors(model: Any, rows: np.ndarray | None = None) -> Unseen | None:
    """Return the errors of a fitted bagged model on unseen rows, next to a constant; None if there is not one.

    `rows` limits them to some of the training rows.
    """
    constant, found, against = constant_like(model), list[UnseenError](), None
    known = {"absolute": "mean absolute error", "squared": "root mean squared error"}
    if fitted(model).average.classes is not None:
        known = {"zero_one": "share of wrong decisions", "brier": "Brier score"}
    for loss, name in known.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of numbers that are too large
            try:
                error = leave_one_out_error(model, loss, rows=rows)
                other = leave_one_out_error(constant, loss, rows=rows)
            except ValueError:  # squares of extreme targets
                continue
        intervals = _interval_of(error, "asymptotic"), _interval_of(error, "proved")
        losses = _of_units(model, error)
        bagged, by_constant = (_mean(each) for each in (losses, _of_units(model, other)))
        if is_root := loss == "squared":
            bagged, by_constant = math.sqrt(bagged), math.sqrt(by_constant)
        found.append(UnseenError(name, bagged, by_constant, *intervals, is_root, error.n_carrying))
        n = len(losses)
    if not found:
        return None
    if found[-1].name == list(known.values())[-1]:
        try:
            against = compare_errors(model, constant, list(known)[-1], rows=rows)
            against = replace(against, names=("the bagged model", "a constant"))
        except ValueError:  # all differences are equal, or too few bags are without any two rows
            against = None
    return Unseen(tuple(found), against, model.units_.noun, n)


def constant_like(model: Any) -> Any:
    """Return a constant, fitted like a fitted bagged model: the mean target, or the class frequencies.

    It has the same bags and range, unless these would change the constant: bags that favour some rows, empty bags, and
    a range that excludes some targets.
    """
    fit, units = fitted(model), model.units_
    average, numbers = fit.average, fit.average.classes is None
    constant = DummyRegressor() if numbers else DummyClassifier()
    unfitted = clone(model).set_params(estimator=constant, max_features=1.0, keep_rows=True)
    if not average.law.is_symmetric or (average.bags.sizes == 0).any():
        unfitted.set_params(scheme=Subbagging(), n_bags=len(average.bags))
    if numbers and average.interval is not None:
        low, high = average.interval
        if not low <= fit.y.min() <= fit.y.max() <= high:
            unfitted.set_params(prediction_range=ObservedRange())
    same = {"row_ids": units.ids} if not units.are_groups else {"groups": units.names_of_rows}
    return unfitted.fit(np.zeros((len(fit.y), 1)), fit.y, **same)


def _interval_of(error: LeaveOneOutError, kind: str) -> ErrorInterval | None:
    try:
        return error.interval(_LEVEL_OF_INTERVALS, kind)
    except ValueError:  # all losses are equal, too few bags are without any two rows, or nothing is proved
        return None


def _of_units(model: Any, error: LeaveOneOutError) -> np.ndarray:
    """The loss at each row, or the mean loss at the rows of each group."""
    units = model.units_
    return error.losses if units.are_rows else _of_groups(error.losses, units.of_rows[error.rows])


def _of_groups(losses: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """The mean loss at the rows of each group."""
    of_rows = np.unique(groups, return_inverse=True)[1]
    return np.asarray(np.bincount(of_rows, losses) / np.bincount(of_rows))


def _mean(losses: np.ndarray) -> float:
    """The mean of losses of which some may be too large to be added."""
    unit = float(np.abs(losses).max()) or 1.0
    return unit * float((losses / unit).mean())


def are_harder(loss: Loss, unseen: Unseen) -> bool | None:
    """Whether the bagged model's loss on held-out rows is clearly larger than the training rows suggest.

    This is a one-sided t test at 1 %. It is None for fewer than 12 held-out rows, or groups, and if fewer than 12
    training rows, or groups, carry the variance of their losses: rare large losses may then be missing among them. It
    is also None if the groups of the training rows are known, and those of the held-out rows are not.
    """
    error = unseen.compared
    if error is None or error.interval is None or not len(loss.bagged):
        return None
    if loss.groups is None and unseen.noun != ROWS:
        return None
    held, expected = loss.of_units, error.interval.value / loss.unit
    own = (error.interval.high - error.interval.value) / loss.unit
    own /= float(stats.t.isf((1 - _LEVEL_OF_INTERVALS) / 2, max(1, error.interval.n - 1)))
    n = len(held)
    if n < ENOUGH_CARRYING or error.may_be_wider:
        return None
    spread = math.sqrt(float(held.var(ddof=1)) / n + own**2)
    degrees = min(n, error.interval.n) - 1
    return bool(float(held.mean()) - expected > float(stats.t.isf(_LEVEL_OF_HARDER, degrees)) * spread)


# -------------------------------------------------------------------------------------------------------- held-out rows


class HeldOut:
    """Predictions of three models at the held-out rows: the base model, the bagged model, and a constant.

    Parameters
    ----------
    alone : estimator, ndarray of shape (n_rows,) or None
        The base model, fitted to all training rows, or its predictions; None if it was not fitted.
    X_test : array or DataFrame
        The held-out rows.
    averaged : ndarray of shape (n_rows,) or (n_rows, n_classes)
        The predictions of the bagged model.
    y_test : ndarray of shape (n_rows,)
        The targets of the held-out rows.
    y : ndarray
        The targets of the training rows, which make the constant.
    classes : ndarray or None, default=None
        The classes, in the order of the columns of `averaged`; None for numbers.
    groups : sequence of labels or None, default=None
        The groups of the held-out rows, if known.
    grouped : Noun, default=GROUPS
        The word for these groups.
    """

    def __init__(
        self,
        alone: Any,
        X_test: Any,
        averaged: np.ndarray,
        y_test: np.ndarray,
        *,
        y: np.ndarray,
        classes: np.ndarray | None = None,
        groups: Any = None,
        grouped: Noun = GROUPS,
    ) -> None:
        self.groups, self.grouped = None, grouped
        if groups is not None:
            self.groups = np.unique(np.asarray(groups).astype(str), return_inverse=True)[1].ravel()
        self.classes = classes
        if self.classes is None:
            self.y, trained = np.asarray(y_test, dtype=float), np.asarray(y, dtype=float)
            numbers = alone.predict(X_test) if hasattr(alone, "predict") else alone
            self.base: Any = None if alone is None else _Numbers(numbers)
            self.bagged: Any = _Numbers(averaged)
            self.constant: Any = DummyRegressor().fit(np.zeros((len(trained), 1)), trained)
            self.is_imbalanced, self.rare = False, None
            self.unit = float(np.abs(self.y).max(initial=0.0)) or 1.0  # a unit whose squares stay floats
            return
        self.unit = 1.0
        # Classes are numbered, the more frequent of two first, so that scores of one class are those of the rarer one.
        counts = np.array([(y == label).sum() for label in self.classes])
        self.order = np.argsort(-counts, kind="stable") if len(counts) == 2 else np.arange(len(counts))
        self.y, trained = self._counted(y_test), self._counted(y)
        self.is_imbalanced = bool(counts.min() < RARE * counts.sum())
        self.rare = self.classes[self.order[1]] if len(counts) == 2 else None
        number = np.arange(len(counts))
        self.base = None
        if alone is not None:
            self.base = _Labels(number, self._counted(alone.predict(X_test)), *self._scores(alone, X_test))
        decided = self._counted(self.classes[averaged.argmax(axis=1)])  # as predict decides
        self.bagged = _Labels(number, decided, averaged[:, self.order])
        self.constant = DummyClassifier(strategy="prior").fit(np.zeros((len(trained), 1)), trained)

    def scores(self, metrics: tuple[str, ...] = ()) -> tuple[Score, ...]:
        """Return the requested scores, by the names of scikit-learn's scorers, or the usual ones of the task."""
        chosen = metrics or REGRESSION
        if not metrics and self.classes is not None:
            two = IMBALANCED if len(self.classes) == 2 else IMBALANCED[:1]
            chosen = (*CLASSIFICATION, *(two if self.is_imbalanced else ()))
        rows, found = np.zeros((len(self.y), 1)), []
        models: list[Any] = [self.base, self.bagged, self.constant]
        if self.classes is not None and (self.y >= len(self.classes)).any():
            # A class that was not trained on does not get a probability, so only decisions are scored.
            number = np.arange(len(self.classes))
            models = [None if each is None else _Labels(number, each.predict(rows)) for each in models]
        for name in chosen:
            scorer, sign = get_scorer(checked_metric(name)), -1.0 if name.startswith("neg_") else 1.0
            unit = self.unit if name in (*_LINEAR, *_WITHOUT_UNIT) else 1.0
            y, back = self.y / unit if unit != 1 else self.y, sign * (unit if name in _LINEAR else 1.0)
            scaled = unit != 1
            asked = [_Numbers(each.predict(rows) / unit) if scaled and each is not None else each for each in models]
            base, bagged, constant = (back * _value(scorer, each, rows, y) for each in asked)
            if not (math.isnan(base) and math.isnan(bagged)):
                found.append(Score(score_of_metric(name), base, bagged, constant, sign < 0))
        return tuple(found)

    def losses(self) -> tuple[Loss, ...]:
        """Return the losses that compare the models, the most informative first.

        For numbers, it is the squared error. For classes, they are the Brier score (of decisions, for learners without
        probabilities), the share of wrong decisions, and the logarithmic loss (for learners with probabilities).
        """
        models = (self.base, self.bagged, self.constant)
        if self.classes is None:
            rows, y = np.zeros((len(self.y), 1)), self.y / self.unit
            squares: list[Any] = [
                None if each is None else np.clip(each.predict(rows) / self.unit - y, -_FARTHEST, _FARTHEST) ** 2
                for each in models
            ]
            return (Loss("squared error", squares[0], squares[1], squares[2], self.groups, unit=self.unit * self.unit),)
        known = (self.y >= 0) & (self.y < len(self.classes))
        rows, y = np.zeros((int(known.sum()), 1)), self.y[known]
        number = np.arange(len(self.classes))
        wrong, tables = list[Any](), list[Any]()
        for each in models:
            if each is None:
                wrong.append(None)
                tables.append(None)
                continue
            decided = each.predict(rows) if each is self.constant else each.labels[known]
            wrong.append((decided != y).astype(float))
            table = each.predict_proba(rows) if each is self.constant else each.table
            table = one_hot(decided, number) if table is None else table
            tables.append(table[known] if len(table) > len(y) else table)
        truth = one_hot(y, number)
        brier: list[Any] = [None if table is None else ((table - truth) ** 2).sum(axis=1) for table in tables]
        log: list[Any] = [
            None if table is None else -np.log(np.maximum((table * truth).sum(axis=1), _SMALLEST)) for table in tables
        ]
        if self.base is not None and self.base.table is None:
            log[0] = None
        groups, n_unknown = None if self.groups is None else self.groups[known], int((~known).sum())
        n_others = len(y) - int(np.bincount(y, minlength=1).max())
        named = {"Brier score": brier, "share of wrong decisions": wrong, "log loss": log}
        return tuple(
            Loss(name, base, bagged, constant, groups, n_others, n_unknown=n_unknown)
            for name, (base, bagged, constant) in named.items()
        )

    def ranking(self) -> Ranking:
        """Return how well the bagged model ranks the held-out rows, and whether chance explains it."""
        if self.classes is None:
            ranks = _centred_ranks(self.y)
            found = _ranking("rank correlation", self.bagged.predict(None)[:, None], ranks, self.groups)
            return found._replace(groups=self.grouped)
        known = (self.y >= 0) & (self.y < len(self.classes))
        y, table = self.y[known], np.asarray(self.bagged.table)[known]
        counts = np.bincount(y, minlength=len(self.classes))
        there = np.flatnonzero((counts > 0) & (counts < len(y)))
        there = there[-1:] if len(self.classes) == 2 else there  # both classes have the same AUC
        shares = counts[there] / max(1, len(y))
        weights = len(y) ** 2 * shares * (1 - shares) * max(1, len(there))
        truth = ((y[:, None] == there) - shares) / np.where(weights > 0, weights, 1)
        found = _ranking("AUC", table[:, there], truth, None if self.groups is None else self.groups[known])
        found = found._replace(groups=self.grouped)
        if self.rare is None:
            return found
        least = int(np.argmin(counts))
        return found._replace(rarest=(str(self.classes[self.order[least]]), int(counts[least])))

    def _counted(self, labels: Any) -> np.ndarray:
        """The numbers of labels; an unseen label gets the next number."""
        assert self.classes is not None
        places = {label: place for place, label in enumerate(self.classes[self.order].tolist())}
        return np.array([places.get(label, len(places)) for label in np.asarray(labels).tolist()], dtype=int)

    def _scores(self, alone: Any, X_test: Any) -> tuple[np.ndarray | None, np.ndarray | None]:
        """The learner's probabilities, or else its decision values, for the classes in our order."""
        places = np.argsort(self._counted(alone.classes_)) if hasattr(alone, "classes_") else self.order
        if hasattr(alone, "predict_proba"):
            return np.asarray(alone.predict_proba(X_test), dtype=float)[:, places], None
        if hasattr(alone, "decision_function"):
            values = np.asarray(alone.decision_function(X_test), dtype=float)
            if values.ndim == 1:
                return None, values if places[0] == 0 else -values
            return None, values[:, places] if values.shape[1] == len(places) else None
        return None, None


def checked_metric(name: Any, task: str | None = None) -> str:
    """Return the name of a scorer of scikit-learn; raise an error for other names, and for scorers of another task."""
    names = get_scorer_names()
    if not isinstance(name, str):
        raise refuse_type("metrics", "study", "names of scikit-learn's scorers, such as ('r2', 'max_error')", name)
    if name in names:
        if task is not None and (task == "regression") != _is_for_numbers(name):
            own, others = ("numbers", "classes") if task == "regression" else ("classes", "numbers")
            usual = ", ".join(REGRESSION if task == "regression" else (*CLASSIFICATION, *IMBALANCED))
            raise ValueError(f"The metric {name!r} is for {others}, but the target has {own}. Use for example {usual}.")
        return name
    plain = name.lower().replace("-", "_").replace(" ", "_")
    without_sign = {known.removeprefix("neg_"): known for known in names}
    close = difflib.get_close_matches(plain.removeprefix("neg_"), without_sign, n=1)
    near = SHORT_NAMES.get(plain.replace("_", "")) or (without_sign[close[0]] if close else "")
    meant = f" Did you mean {near!r}?" if near else ""
    raise ValueError(
        f"There is no metric {shown(name)}.{meant} Common ones are {', '.join(_COMMON)}; all names are in "
        "sklearn.metrics.get_scorer_names()."
    )


def _is_for_numbers(name: str) -> bool:
    """Whether a scorer of scikit-learn takes targets that are not whole numbers."""
    y = np.array([0.5, 1.25, 2.75, 4.5])
    return not math.isnan(_value(get_scorer(name), _Numbers(y + 0.1), np.zeros((len(y), 1)), y))


def difference(loss: Loss, other: np.ndarray) -> Difference:
    """Return how much larger the bagged model's loss is than another at the same rows, and whether that is clear.

    Rows of one group count as one. The t test is at 1 %. A larger loss also needs 12 rows that carry the difference and
    10 rows outside the most frequent class. The error rate is then at most 5 %, also for skewed and heavy-tailed
    differences (docs/verdict.md has the simulation).
    """
    each = loss.bagged - other
    n, mean = len(each), float(each.mean()) if len(each) else math.nan
    off = each - mean if loss.groups is None else np.bincount(loss.groups, each - mean)
    off = off if loss.groups is None else off[np.unique(loss.groups)]
    units, squares = len(off), float((off**2).sum())
    if units < 2:
        return Difference(mean, math.nan, False, False)
    error = math.sqrt(units / (units - 1) * squares) / n
    surely = float(stats.t.isf(_LEVEL_OF_LOSSES, units - 1)) * error
    carried = math.inf if squares == 0 else squares / float((off**4).sum()) * squares
    enough = min(carried, units) >= ENOUGH_CARRYING and (loss.n_others is None or loss.n_others >= _FEWEST_OTHERS)
    half = float(stats.t.isf((1 - _LEVEL_OF_INTERVALS) / 2, units - 1)) * error if enough else math.nan
    return Difference(mean, error, mean < -surely, mean > surely and enough, (mean - half, mean + half))


def _ranking(name: str, predicted: np.ndarray, truth: np.ndarray, groups: np.ndarray | None) -> Ranking:
    """The ranking statistic, a sum of centred ranks times centred targets over rows and columns, and its p-value."""
    n, by_chance = len(predicted), 0.5 if name == "AUC" else 0.0
    truth = truth.reshape(n, -1)
    if n < 2 or not truth.size or not np.abs(truth).max() > 0:
        return Ranking(name, math.nan, 1.0, n, are_few=True)
    ranks = np.column_stack([_centred_ranks(column) for column in predicted.T])
    unit = 1.0 if name == "AUC" else math.sqrt(float((ranks**2).sum() * (truth**2).sum())) or 1.0
    each = (ranks * truth).sum(axis=1) / unit
    total = float(each.sum())
    spread = math.sqrt(float(((ranks.T @ ranks) * (truth.T @ truth)).sum()) / (n - 1)) / unit  # over all orders
    units = n if groups is None else len(np.unique(groups))
    # Whether rows are enough depends on the targets alone, not on ties of the predictions.
    full = np.arange(n) - (n - 1) / 2
    usual = math.sqrt(float(full @ full) * float((truth**2).sum()) / (n - 1))
    usual = usual if name == "AUC" else 1 / math.sqrt(n - 1)
    are_few = stats.norm.isf(LEVEL) * usual * math.sqrt(n / units) > _WEAK[name]
    if groups is not None:
        sums = np.bincount(groups, each)[np.unique(groups)]
        error = float(sums.std(ddof=1)) * math.sqrt(units) if units > 1 else 0.0
        p = float(stats.t.sf(total / error, units - 1)) if error > 0 else 1.0
        return Ranking(name, by_chance + total, p, n, _LEVEL_OF_GROUPS, bool(are_few), n_groups=units)
    if not spread > 0:
        return Ranking(name, by_chance + total, 1.0, n, are_few=bool(are_few))
    p = (
        float(stats.norm.sf(total / spread))
        if truth.size > _MOST_PERMUTED
        else _by_permutation(ranks / unit, truth, total)
    )
    return Ranking(name, by_chance + total, p, n, are_few=bool(are_few))


def _by_permutation(ranks: np.ndarray, truth: np.ndarray, total: float) -> float:
    """The share of random orders, including the actual one, in which the statistic is at least as large."""
    generator, n = np.random.default_rng(0), len(ranks)
    as_large, least = 1, total - 1e-9 * float((np.abs(ranks) * np.abs(truth)).sum())
    for first in range(0, _N_PERMUTATIONS, step := max(1, _AT_ONCE // n)):
        orders = np.tile(np.arange(n), (min(step, _N_PERMUTATIONS - first), 1))
        orders = generator.permuted(orders, axis=1)
        sums = sum(truth[orders, column] @ ranks[:, column] for column in range(ranks.shape[1]))
        as_large += int(np.count_nonzero(sums >= least))
    return as_large / (_N_PERMUTATIONS + 1)


def _centred_ranks(values: np.ndarray) -> np.ndarray:
    ranks = stats.rankdata(values)
    return np.asarray(ranks - ranks.mean())


def _value(scorer: Any, model: Any, rows: np.ndarray, y: np.ndarray) -> float:
    """A score; NaN without a model, or if the model or the held-out rows lack what the score needs."""
    if model is None:
        return math.nan
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # undefined scores are NaN
            return float(scorer(model, rows, y))
    except (ValueError, AttributeError, TypeError):
        return math.nan


def score_of_metric(name: str) -> str:
    """Return what the score of a scorer of scikit-learn is called.

    >>> score_of_metric("neg_mean_absolute_error"), score_of_metric("r2")
    ('mean absolute error', 'R2')
    """
    known = {"r2": "R2", "roc_auc": "AUC"}
    return known.get(name, name.removeprefix("neg_").replace("_", " "))


class _Numbers(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """A regressor with given predictions."""

    def __init__(self, predicted: Any = ()) -> None:
        self.predicted = predicted
        self.fitted_ = True

    def predict(self, X: Any) -> np.ndarray:
        return np.asarray(self.predicted, dtype=float)


class _Labels(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier with given predictions, and probabilities or decision values if there are any."""

    def __init__(self, classes: Any = (), labels: Any = (), table: Any = None, values: Any = None) -> None:
        self.classes_, self.labels, self.table, self.values = classes, labels, table, values

    def predict(self, X: Any) -> np.ndarray:
        return np.asarray(self.labels)

    @available_if(lambda self: self.table is not None)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> np.ndarray:
        return np.asarray(self.table)

    @available_if(lambda self: self.values is not None)  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any) -> np.ndarray:
        return np.asarray(self.values)
