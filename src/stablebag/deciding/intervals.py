"""Prediction intervals of the jackknife family, from fitted bags or by refitting.

The bags without row i have not seen it, so their error at row i shows how far off the model is at unseen rows. Barber,
Candes, Ramdas and Tibshirani (2021), "Predictive inference with the jackknife+", and Kim, Xu and Barber (2020),
"Predictive inference is free with the jackknife+-after-bootstrap", construct intervals from these errors.
"""

import math
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.model_selection import KFold
from sklearn.utils import check_consistent_length

from stablebag._checks import (
    as_reals,
    check_choice,
    check_flag,
    check_integer,
    check_jobs,
    hold_read_only,
    refuse_type,
    refuse_value,
)
from stablebag._seeds import RandomState, Seeds
from stablebag._wording import ROWS, Noun, Result, number, paragraphs
from stablebag.deciding.jackknife import (
    CVPlus,
    Jackknife,
    JackknifeMinmax,
    JackknifePlus,
    LocallyWeighted,
    check_level,
)
from stablebag.deciding.stable_jackknife import StableJackknife
from stablebag.measuring.leave_one_out import left_out_at_rows
from stablebag.measuring.refits import learner_hint, refit_without, units_for
from stablebag.models.average import point_blocks
from stablebag.models.ensemble import check_bagged, refuse_unequal
from stablebag.models.estimators import BaggedRegressor
from stablebag.models.fitted import fitted
from stablebag.models.rows import as_column, as_table, index_of, one_column
from stablebag.resampling.law import ResolvedScheme
from stablebag.resampling.units import Units

_METHODS = {method.name: method for method in (Jackknife, JackknifePlus, JackknifeMinmax)}
METHODS = (*_METHODS, StableJackknife.name)
_RARELY = 1e-3  # a smaller probability that some row is in every bag is not mentioned


@dataclass(frozen=True, eq=False, repr=False)
class Intervals(Result):
    """Prediction intervals at some points, with their guarantee.

    Returned by `predict_interval` and `jackknife_intervals_refit`. Unpack them with ``lower, upper = intervals``.

    Attributes
    ----------
    lower : ndarray of shape (n_points,)
        The lower ends; minus infinity if there are too few rows for the level.
    upper : ndarray of shape (n_points,)
        The upper ends; infinity if there are too few rows for the level.
    prediction : ndarray of shape (n_points,)
        The prediction with all rows.
    confidence_level : float
        The requested level 1 - a.
    method : str
        The name of the method.
    guarantee : str
        What is guaranteed about their coverage, in words. Coverage is a probability over the training rows and a new
        row, all exchangeable. It is not guaranteed conditionally on the point.
    index : pandas Index or None, default=None
        The index of the frame of points, if there is one.

    Examples
    --------
    >>> import numpy as np
    >>> from stablebag.deciding import Intervals
    >>> lower, upper = np.array([0.0, 1.0]), np.array([2.0, 4.0])
    >>> intervals = Intervals(lower, upper, np.array([1.0, 2.0]), 0.9, "jackknife+", "none")
    >>> intervals.width, intervals.contains([1.5, 5.0]), intervals.coverage([1.5, 5.0])
    (array([2., 3.]), array([ True, False]), 0.5)
    >>> intervals
    point  prediction  lower  upper
    0               1      0      2
    1               2      1      4
    """

    lower: np.ndarray
    upper: np.ndarray
    prediction: np.ndarray
    confidence_level: float
    method: str
    guarantee: str
    index: Any = None

    def __post_init__(self) -> None:
        hold_read_only(self)

    @property
    def width(self) -> np.ndarray:
        """The lengths of the intervals; zero for empty ones, which the jackknife+ can have at low levels."""
        lengths: np.ndarray = np.maximum(self.upper - self.lower, 0.0)
        return lengths

    def contains(self, y: Any) -> np.ndarray:
        """Return whether each target is in its interval, ends included.

        Parameters
        ----------
        y : array-like of shape (n_points,)
            The targets of the points.

        Returns
        -------
        ndarray of bool, shape (n_points,)
        """
        y = as_reals(as_column(y, "y", "Intervals.contains"), "y", "Intervals.contains", "numbers")
        if len(y) != len(self.lower):
            expected = f"{len(self.lower)} targets, one for each point"
            raise refuse_value("y", "Intervals.contains", expected, f"{len(y)} targets")
        if np.isnan(y).any():
            raise ValueError(f"Target {int(np.argmax(np.isnan(y)))} is NaN. Drop points whose target is unknown.")
        return np.asarray((self.lower <= y) & (y <= self.upper))

    def coverage(self, y: Any) -> float:
        """Return the share of the targets that are in their intervals.

        Parameters
        ----------
        y : array-like of shape (n_points,)
            The targets of the points.

        Returns
        -------
        float
        """
        return float(self.contains(y).mean())

    def to_frame(self) -> Any:
        """Return a pandas DataFrame with columns prediction, lower and upper, indexed like the points."""
        import pandas as pd

        columns = {"prediction": self.prediction, "lower": self.lower, "upper": self.upper}
        return pd.DataFrame(columns, index=self.index)

    def explain(self) -> str:
        """Explain the intervals and their guarantee in sentences."""
        width = float(np.median(self.width))
        size = "infinitely wide" if math.isinf(width) else f"with a median width of {number(width)}"
        n = len(self.lower)
        many = f"1 {self.method} interval" if n == 1 else f"{n:,} {self.method} intervals"
        return paragraphs([f"{many} at level {self.confidence_level:g}, {size}.", self.guarantee])

    def __iter__(self) -> Iterator[np.ndarray]:
        return iter((self.lower, self.upper))

    def _preview(self) -> tuple[str, Any, dict[str, Any]]:
        names = range(len(self.lower)) if self.index is None else self.index
        return "point", names, {"prediction": self.prediction, "lower": self.lower, "upper": self.upper}


def predict_interval(
    model: Any,
    X: Any,
    *,
    confidence_level: float = 0.9,
    method: str = "jackknife+",
    locally_weighted: bool = False,
    delta: float | None = None,
    bound: str = "best",
) -> Intervals:
    """Compute prediction intervals for a fitted `BaggedRegressor`, without refitting.

    The residual of row i is the error, at row i, of the bags without it. If the model was fitted with groups, rows are
    predicted by the bags without their group, all groups have the same weight, and the intervals are for rows of new
    groups.

    Parameters
    ----------
    model : BaggedRegressor
        A fitted model.
    X : array-like, sparse array or data frame of shape (n_points, n_features), or BagPredictions
        The points at which to predict, or the result of `model.predict_once` at these points.
    confidence_level : float, default=0.9
        The level 1 - a, between 0 and 1.
    method : {"jackknife", "jackknife+", "jackknife-minmax", "stable-jackknife"}, default="jackknife+"
        "jackknife": the prediction plus and minus a quantile of the residuals, without a guarantee.
        "jackknife+": quantiles of the predictions without row i plus and minus the residual of row i. Over bags, this
        is the jackknife+-after-bootstrap. "jackknife-minmax": the extremes of these predictions plus and minus a
        quantile of the residuals. "stable-jackknife": the jackknife with the certificate's epsilon added to its radius.
        The guarantees of the jackknife+ and of minmax need all bags (``n_bags="all"``) or a random number of bags
        (``n_bags=random_n_bags(...)``).
    locally_weighted : bool, default=False
        Whether to divide residuals by the standard deviation over the bags without the row, and multiply by that at the
        point. Intervals are then wide where bags differ and narrow where they agree. The jackknife+ and minmax keep
        their guarantees. Not available for the stable jackknife.
    delta : float or None, default=None
        For the stable jackknife, the fraction of rows, including those that change the range, for which the certificate
        gives epsilon. A larger fraction makes epsilon smaller, but the quantile larger. None chooses the fraction with
        the shortest interval for normal residuals whose standard deviation is a tenth of the range. This does not use
        the residuals: choosing delta by them would void the guarantee.
    bound : {"best", "paper"}, default="best"
        For the stable jackknife: "best" lowers the level by sqrt(2 delta) (docs/proofs.md, 8), "paper" by
        2 sqrt(delta), as in the paper.

    Returns
    -------
    Intervals

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from stablebag import BaggedRegressor, predict_interval
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = BaggedRegressor(n_bags=500, random_state=0).fit(X[:400], y[:400])
    >>> lower, upper = predict_interval(model, X[400:], confidence_level=0.9)
    >>> print(predict_interval(model, X[400:], confidence_level=0.9))
    42 jackknife+ intervals at level 0.9, with a median width of 187.8.
    Proved for exchangeable rows and any learner that ignores row order: coverage is at least 0.8;
    typically it is near 0.9. The proof needs a random number of bags, or all bags; with a fixed
    number, as here, it holds only approximately.
    """
    owner = "predict_interval"
    reason = "for other regressors, use jackknife_intervals_refit; for classifiers, use predict_set."
    check_bagged(model, owner, kind=BaggedRegressor, reason=reason)
    level = check_level(confidence_level, owner)
    method = _check_method(method, METHODS, owner, delta)
    if check_flag(locally_weighted, "locally_weighted", owner):
        _check_weighted(method, owner)
    residuals = np.abs(fitted(model).y - left_out_at_rows(model))
    rule: Jackknife
    units = model.units_
    if method == StableJackknife.name:
        _check_stable(method, units, owner, model.scheme_)
        rule = StableJackknife.of_model(model, level, delta, bound, owner)
        rule.warn_if_vacuous()
    else:
        rule = _METHODS[method](level, units)
        _warn_if_infinite(rule, units)
    if locally_weighted:
        found = list(LocallyWeighted(rule).of_model(model, X))
    else:
        find = rule.from_bags(residuals, fitted(model).average)
        blocks = (block for _, raw in fitted(model).raw_blocks(X) for block in point_blocks(fitted(model).average, raw))
        found = [(block.prediction, find(block)) for block in blocks]
    prediction = np.concatenate([block for block, _ in found])
    lower, upper = (np.concatenate([ends[side] for _, ends in found]) for side in (0, 1))
    guarantee = rule.guarantee(len(residuals)) + describe_bags(model, rule)
    if not model.scheme_.is_symmetric:
        why = f"the bags do not treat all {units.noun.plural} alike"
        guarantee = f"Nothing is proved about their coverage, because {why}."
    if locally_weighted:
        method = f"locally weighted {method}"
    return Intervals(lower, upper, prediction, float(level), method, guarantee, fitted(model).index_of(X))


def _check_weighted(method: str, owner: str) -> None:
    """Raise an error for local weights with a method whose guarantee they would void."""
    if method == StableJackknife.name:
        reason = 'its proof needs unweighted residuals. Use method="jackknife+".'
        raise refuse_value("locally_weighted", owner, f"False for the {method}", True, reason)


def _check_stable(method: str, units: Units, owner: str, law: ResolvedScheme | None = None) -> None:
    """Raise an error for the stable jackknife with groups, or with bags that do not treat all rows alike."""
    if not units.are_rows:
        reason = 'its proof is for single rows. Use method="jackknife+".'
        raise refuse_value("method", owner, f"one of {tuple(_METHODS)} with groups", method, reason)
    if law is not None and not law.is_symmetric:
        reason = f"its proof needs bags that treat all rows alike, and {type(law.scheme).__name__} does not."
        raise refuse_value("method", owner, f"one of {tuple(_METHODS)} for this scheme", method, reason)


def jackknife_intervals_refit(
    estimator: Any,
    X: Any,
    y: Any,
    X_test: Any,
    *,
    confidence_level: float = 0.9,
    method: str = "jackknife+",
    n_folds: int = 10,
    groups: Any = None,
    delta: float | None = None,
    bound: str = "best",
    n_jobs: int | None = None,
    random_state: RandomState = None,
) -> Intervals:
    """Compute prediction intervals for any regressor by refitting it without each row, or without each fold.

    Parameters
    ----------
    estimator : estimator
        Any scikit-learn regressor, bagged or not.
    X : array-like, sparse array or data frame of shape (n_samples, n_features)
        The training rows.
    y : array-like of shape (n_samples,)
        The targets of the training rows.
    X_test : array-like, sparse array or data frame of shape (n_points, n_features)
        The points at which to predict.
    confidence_level : float, default=0.9
        The level 1 - a, between 0 and 1.
    method : {"jackknife", "jackknife+", "jackknife-minmax", "stable-jackknife", "cv+"}, default="jackknife+"
        As in `predict_interval`; "cv+" is the jackknife+ with folds instead of rows. The stable jackknife needs a
        `BaggedRegressor`, because only bagged models have a certificate.
    n_folds : int, default=10
        The number of folds for "cv+". Rows are shuffled.
    groups : sequence of int or labels, of length n_samples, default=None
        The group of each row, such as its patient. The regressor is refitted without each group, or without folds of
        whole groups; all groups have the same weight, and the intervals are for rows of new groups. None uses the
        groups of a fitted model with the same number of rows, if any.
    delta : float or None, default=None
        As in `predict_interval`.
    bound : {"best", "paper"}, default="best"
        As in `predict_interval`.
    n_jobs : int or None, default=None
        The number of fits in parallel.
    random_state : None, int, RandomState or Generator, default=None
        Determines the seed of a randomized learner and the folds.

    Returns
    -------
    Intervals

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> from stablebag.deciding import jackknife_intervals_refit
    >>> X, y = [[i] for i in range(9)], [0.1, 0.9, 2.3, 2.7, 4.4, 4.8, 6.3, 6.6, 8.5]
    >>> intervals = jackknife_intervals_refit(LinearRegression(), X, y, [[4.5]], confidence_level=0.8)
    >>> round(float(intervals.lower[0]), 4), round(float(intervals.upper[0]), 4)
    (3.981, 5.0958)
    """
    owner = "jackknife_intervals_refit"
    check_jobs(n_jobs, owner)
    refuse_unequal(getattr(estimator, "scheme", None), owner, "Use predict_interval(model, X), which reuses the bags.")
    level = check_level(confidence_level, owner)
    method = _check_method(method, (*METHODS, CVPlus.name), owner, delta)
    if not hasattr(estimator, "fit") or isinstance(estimator, type) or is_classifier(estimator):
        hint = learner_hint(estimator, f"{owner}(estimator, X, y, X_test)") or "intervals are for numeric targets."
        raise refuse_type("estimator", owner, "a scikit-learn regressor", estimator, hint)
    column = one_column(y, owner, "pass one column at a time.", warn=False)
    X, y = as_table(X, "X", owner), as_reals(column, "y", owner, "numbers")
    check_consistent_length(X, y)
    n, units = len(y), units_for(estimator, X, len(y), None, groups, owner)
    seeds = Seeds.from_random_state(random_state, owner)
    folds = [np.array([unit]) for unit in range(len(units))]
    if method == CVPlus.name:
        folds = shuffled_folds(len(units), n_folds, seeds, owner, units.noun)
    rule: Jackknife
    if method == StableJackknife.name:
        _check_stable(method, units, owner)
        rule = StableJackknife.of_estimator(estimator, y, level, delta, bound, owner)
        rule.warn_if_vacuous()
    else:
        rule = CVPlus(level, units, len(folds)) if method == CVPlus.name else _METHODS[method](level, units)
        _warn_if_infinite(rule, units)
    residuals, left_out, prediction = np.empty(n), np.empty((0, 0)), np.empty(0)
    every = [np.empty(0, dtype=np.intp), *folds]
    options = {"units": units, "one_less": method != CVPlus.name, "n_jobs": n_jobs, "random_state": seeds}
    without = [units.rows_of(fold) for fold in every]
    fits = refit_without(estimator, X, y, without, X_test, **options)  # type: ignore[arg-type]
    for place, (fold, rows, (at_points, at_rows)) in enumerate(zip(every, without, fits, strict=True)):
        if place == 0:
            prediction, left_out = at_points, np.empty((len(units), len(at_points)))
        with np.errstate(over="ignore"):  # residuals may overflow to infinity, which raises an error later
            left_out[fold], residuals[rows] = at_points, np.abs(y[rows] - at_rows)
    lower, upper = rule.intervals(residuals, prediction, left_out)
    return Intervals(lower, upper, prediction, float(level), method, rule.guarantee(n), index_of(X_test))


def describe_bags(model: Any, rule: Jackknife) -> str:
    """Return the sentence on what the proof assumes about the bags of a fitted model."""
    if not rule.reuses_bags or model.derandomized_:
        return ""
    if isinstance(rule, StableJackknife):
        return (
            " The certificate is for bags drawn again without each row. Here bags are reused, so this holds only "
            "approximately. It is exact with all bags or with refits."
        )
    if fitted(model).has_random_n_bags:
        refused = float(np.sum(model.scheme_.inclusion_probabilities ** len(model.bags_)))
        if refused < _RARELY:
            return ""
        chance = f"about {refused:.2g}" if refused < 0.5 else "large"
        one = model.units_.noun.any_one
        draw = f"A draw with {one} in every bag raises an error and counts as covered"
        return f" {draw}; its probability is {chance} here."
    return (
        " The proof needs a random number of bags, or all bags; with a fixed number, as here, it holds only "
        "approximately."
    )


def _warn_if_infinite(rule: Jackknife, units: Units) -> None:
    """Warn about infinite intervals; the warning points to the line of the user."""
    n = len(units)
    if rule.rank(n) > n:
        needed = math.ceil(1 / (1 - rule.level)) - 1
        warnings.warn(
            f"The intervals are infinite, because level {float(rule.level):g} needs at least {needed:,} training "
            f"{units.noun.plural} and there are {n:,}. Use more {units.noun.plural}, or a lower level.",
            stacklevel=3,
        )


def shuffled_folds(n_samples: int, n_folds: int, seeds: Seeds, owner: str, noun: Noun = ROWS) -> list[np.ndarray]:
    """Return the rows, or groups, of each fold, in random order."""
    n_folds = check_integer(n_folds, "n_folds", owner, minimum=2)
    if n_folds > n_samples:
        raise refuse_value("n_folds", owner, f"at most {n_samples}, the number of {noun.plural}", n_folds)
    splitter = KFold(n_folds, shuffle=True, random_state=int(seeds.learner_seeds(1, 2)[0]))
    return [fold for _, fold in splitter.split(np.empty(n_samples))]


def _check_method(method: str, methods: tuple[str, ...], owner: str, delta: float | None) -> str:
    reason = "folds need refits. Use jackknife_intervals_refit." if isinstance(method, str) and method == "cv+" else ""
    method = check_choice(method, "method", owner, methods, reason)
    if delta is not None and method != "stable-jackknife":
        reason = 'only the stable jackknife uses delta. Drop it, or use method="stable-jackknife".'
        raise refuse_value("delta", owner, f"None for the {method}", delta, reason)
    return method
