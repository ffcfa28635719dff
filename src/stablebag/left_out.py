"""The prediction without each training row: from the bags already fitted, by refitting, or with a row replaced."""

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.utils import check_consistent_length, column_or_1d
from sklearn.utils.validation import check_is_fitted

from stablebag.arguments import check_integer, refuse_type, refuse_value
from stablebag.averaging import (
    averages_without,
    clipped,
    deviation_over_bags,
    lonely_rows,
    weighted_sum,
    without_class,
)
from stablebag.bags import Bags
from stablebag.ensembles import BaggedRegressor, _BaggedEnsemble
from stablebag.fitting import Assignment, fit_and_predict_bags, predict_bags
from stablebag.learners import random_state_names
from stablebag.perturbations import Perturbations
from stablebag.ranges import as_prediction_range
from stablebag.rows import stacked, take_rows
from stablebag.schemes import as_law
from stablebag.scope import Quantity, Rerun, Scope
from stablebag.seeds import RandomState, Seeds

_BLOCK_BYTES = 2**27
_AT_ROWS: "WeakKeyDictionary[Any, tuple[Bags, np.ndarray]]" = WeakKeyDictionary()
_ROWS_AT_ONCE = 256  # refits are handed out in portions: the rows of n refits are n^2 numbers


def leave_one_out(model: Any, X: Any) -> Perturbations:
    """Measure how far each training row moves the predictions of a fitted model, without a refit.

    The prediction without row i is the average over the bags that do not contain it: one matrix product for all rows
    and points. Where leaving out row i changes the range to which predictions are clipped, they are clipped to the
    range without it, as fitting without it would.

    Parameters
    ----------
    model : BaggedRegressor or BaggedClassifier
        A fitted model.
    X : array-like, sparse array or data frame of shape (n_points, n_features)
        The points at which to predict.

    Returns
    -------
    Perturbations
        Of a classifier, of each class's probability.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from stablebag import BaggedRegressor, leave_one_out
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = BaggedRegressor(n_bags=400, random_state=0).fit(X[:400], y[:400])
    >>> leave_one_out(model, X[400:]).left_out.shape
    (400, 42)
    """
    if not isinstance(model, _BaggedEnsemble):
        reason = "for other estimators use leave_one_out_refit."
        raise refuse_type("model", "leave_one_out", "a fitted BaggedRegressor or BaggedClassifier", model, reason)
    check_is_fitted(model)
    points = model._validated_points(X)
    raw = np.stack(list(predict_bags(model.estimators_, points, model._classes(), n_jobs=model.n_jobs)))
    return perturbations_of_bags(model, raw, model.bags_, model.bag_weights_, model.y_)


def stream_leave_one_out(model: Any, X: Any, y: Any, X_test: Any, **fit_params: Any) -> Perturbations:
    """Fit, predict and forget: the same as `leave_one_out` of the fitted model, without keeping any fitted learner.

    Parameters
    ----------
    model : BaggedRegressor or BaggedClassifier
        An unfitted model; it stays unfitted.
    X : array-like, sparse array or data frame of shape (n_samples, n_features)
        The training rows.
    y : array-like of shape (n_samples,)
        Their targets.
    X_test : array-like, sparse array or data frame of shape (n_points, n_features)
        The points at which to predict.
    **fit_params : dict
        As for the model's `fit`.

    Returns
    -------
    Perturbations

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from stablebag import BaggedRegressor, stream_leave_one_out
    >>> X, y = load_diabetes(return_X_y=True)
    >>> stream_leave_one_out(BaggedRegressor(n_bags=50, random_state=0), X[:400], y[:400], X[400:]).left_out.shape
    (400, 42)
    """
    if not isinstance(model, _BaggedEnsemble):
        raise refuse_type("model", "stream_leave_one_out", "a BaggedRegressor or BaggedClassifier", model)
    model = clone(model)
    work, bags, weights = model._prepared(X, y, fit_params)
    points = model._validated_rows(X_test)
    seeds = model._learner_seeds(0, len(bags))
    raw = np.stack(list(fit_and_predict_bags(work, bags, seeds, points, n_jobs=model.n_jobs)))
    return perturbations_of_bags(model, raw, bags, weights, work.y)


def leave_one_out_refit(
    estimator: Any,
    X: Any,
    y: Any,
    X_test: Any,
    *,
    rows: Any = None,
    n_repeats: int = 1,
    n_jobs: int | None = None,
    random_state: RandomState = None,
    on_fit: Callable[[], None] | None = None,
) -> Perturbations:
    """Measure how far each training row moves the predictions of any estimator, by fitting once without each row.

    This is Definition 4 of the paper, literally: the same seed with and without the row, and for a bagged model the law
    Q_{n-1} without it. It costs n + 1 fits for each repeat.

    Parameters
    ----------
    estimator : estimator
        Any scikit-learn regressor or classifier, bagged or not.
    X : array-like, sparse array or data frame of shape (n_samples, n_features)
        The training rows.
    y : array-like of shape (n_samples,)
        Their targets.
    X_test : array-like, sparse array or data frame of shape (n_points, n_features)
        The points at which to predict.
    rows : array-like of int or None, default=None
        The rows to leave out, one at a time; None is each of them.
    n_repeats : int, default=1
        Over how many seeds a randomized learner is averaged; shares of rows are then shares of rows and seeds.
    n_jobs : int or None, default=None
        How many fits at once.
    random_state : None, int, RandomState or Generator, default=None
        Where the seeds come from.
    on_fit : callable or None, default=None
        Called after each fit, to show progress.

    Returns
    -------
    Perturbations

    Examples
    --------
    >>> from sklearn.dummy import DummyRegressor
    >>> from stablebag import leave_one_out_refit
    >>> moved = leave_one_out_refit(DummyRegressor(), [[0], [0], [0]], [0.0, 1.0, 5.0], [[0]])
    >>> moved.prediction.tolist(), moved.left_out.ravel().tolist()  # the mean of all, and of the other two
    ([2.0], [3.0, 2.5, 0.5])
    """
    X, y, classes = _checked(estimator, X, y, "leave_one_out_refit")
    n = len(y)
    chosen = _checked_rows(rows, n)
    smaller, bagged = _for_one_row_less(estimator, n, "leave_one_out_refit")

    def sequences(some: np.ndarray) -> Iterator[np.ndarray]:
        return (np.delete(np.arange(n), row) for row in some)

    works = Assignment(estimator, X, y, classes), Assignment(smaller, X, y, classes)
    moved = _refit(works, n, chosen, sequences, X_test, n_repeats, n_jobs, random_state, on_fit, "refit")
    scope = _scope_of_refits(estimator, y, moved.prediction)
    return replace(moved, noise_known=not any(part.n_bags != "all" for part in bagged), scope=scope)


def replace_one_refit(
    estimator: Any,
    X: Any,
    y: Any,
    X_replacement: Any,
    y_replacement: Any,
    X_test: Any,
    *,
    rows: Any = None,
    n_repeats: int = 1,
    n_jobs: int | None = None,
    random_state: RandomState = None,
    on_fit: Callable[[], None] | None = None,
) -> Perturbations:
    """Measure how far the predictions of any estimator move when a training row is replaced by another (Corollary 17).

    Parameters
    ----------
    estimator : estimator
        Any scikit-learn regressor or classifier, bagged or not.
    X : array-like, sparse array or data frame of shape (n_samples, n_features)
        The training rows.
    y : array-like of shape (n_samples,)
        Their targets.
    X_replacement : like X
        Row i of it takes the place of row i of X.
    y_replacement : array-like of shape (n_samples,)
        The targets of the replacements.
    X_test : array-like, sparse array or data frame of shape (n_points, n_features)
        The points at which to predict.
    rows : array-like of int or None, default=None
        The rows to replace, one at a time; None is each of them.
    n_repeats : int, default=1
        Over how many seeds a randomized learner is averaged.
    n_jobs : int or None, default=None
        How many fits at once.
    random_state : None, int, RandomState or Generator, default=None
        Where the seeds come from.
    on_fit : callable or None, default=None
        Called after each fit, to show progress.

    Returns
    -------
    Perturbations
        `left_out` is the prediction with the row replaced.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> from stablebag import replace_one_refit
    >>> X, y = [[0.0], [1.0], [2.0]], [0.0, 1.0, 2.0]
    >>> moved = replace_one_refit(LinearRegression(), X, y, X, [3.0, 1.0, 2.0], [[1.0]])
    >>> moved.values.ravel().round(3).tolist()  # the first target from 0 to 3 moves the mean by 1, the others stay
    [1.0, 0.0, 0.0]
    """
    X, y, _ = _checked(estimator, X, y, "replace_one_refit")
    check_consistent_length(X, X_replacement, y_replacement)
    X_replacement, y_replacement, _ = _checked(estimator, X_replacement, y_replacement, "replace_one_refit")
    n = len(y)
    columns = [list(getattr(table, "columns", range(table.shape[1]))) for table in (X, X_replacement)]
    if type(X) is not type(X_replacement) or columns[0] != columns[1] or y.dtype.kind != y_replacement.dtype.kind:
        raise ValueError(
            "Replacements must look like what they replace: the same kind of table with the same columns in the same "
            f"order, and targets of the same kind. Got {type(X).__name__} with columns {columns[0]} and targets of "
            f"type {y.dtype}, and {type(X_replacement).__name__} with {columns[1]} and {y_replacement.dtype}."
        )
    both = stacked(X, X_replacement)
    targets = np.concatenate([y, y_replacement])
    classes = np.unique(targets) if is_classifier(estimator) else None

    def sequences(some: np.ndarray) -> Iterator[np.ndarray]:
        return (np.where(np.arange(n) == row, n + row, np.arange(n)) for row in some)

    work = Assignment(estimator, both, targets, classes)
    chosen = _checked_rows(rows, n)
    moved = _refit((work, work), n, chosen, sequences, X_test, n_repeats, n_jobs, random_state, on_fit, "replaced")
    return replace(moved, scope=replace(_scope_of_refits(estimator, y, moved.prediction), rerun=Rerun.REPLACED))


def left_out_at_rows(model: Any, *, undefined: str = "raise", owner: str = "left_out_at_rows") -> np.ndarray:
    """Return the prediction of a fitted model at each training row, averaged over the bags without that row.

    Parameters
    ----------
    model : BaggedRegressor or BaggedClassifier
        A fitted model.
    undefined : {"raise", "nan"}, default="raise"
        What to do with rows that are in every bag: refuse, or give NaN.
    owner : str, default="left_out_at_rows"
        The function on whose behalf a wrong argument is refused.

    Returns
    -------
    ndarray of shape (n_samples,) or (n_samples, n_classes)
        It is kept as long as the model is, so that asking again costs nothing.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from stablebag import BaggedRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> left_out_at_rows(BaggedRegressor(n_bags=50, random_state=0).fit(X, y)).shape
    (442,)
    """
    _check_fitted(model, owner)
    if undefined == "raise":
        _refuse_rows_in_every_bag(model.bags_, model)
    bags, kept = _AT_ROWS.get(model, (None, np.empty(0)))
    if bags is not model.bags_:
        kept = _predict_at_rows(model)
        _AT_ROWS[model] = model.bags_, kept
    return kept.copy()


def left_out_blocks(model: Any, X: Any) -> Iterator[tuple[slice, np.ndarray, np.ndarray]]:
    """Walk the predictions with all rows and without each of them by blocks of points, so that memory is bounded.

    Parameters
    ----------
    model : BaggedRegressor
        A fitted model.
    X : array-like, sparse array or data frame of shape (n_points, n_features)
        The points at which to predict.

    Yields
    ------
    points : slice
        The points of the block.
    prediction : ndarray of shape (number of points in the block,)
        The prediction with all rows.
    left_out : ndarray of shape (n_samples, number of points in the block)
        The prediction without each row.
    """
    _check_fitted(model, "left_out_blocks")
    _refuse_rows_in_every_bag(model.bags_, model)
    for points, raw in _raw_blocks(model, model._validated_points(X)):
        step = max(1, _BLOCK_BYTES // 8 // (model.bags_.n_samples + len(raw)))
        for first in range(0, raw.shape[1], step):
            block = raw[:, first : first + step]
            prediction, left_out = _with_and_without(model, block, model.bags_, model.bag_weights_, model.y_)[1:]
            start = points.start + first
            yield slice(start, start + block.shape[1]), prediction, left_out


def refit_without(
    estimator: Any,
    X: Any,
    y: Any,
    groups: list[np.ndarray],
    X_test: Any,
    *,
    one_row_less: bool = True,
    n_jobs: int | None = None,
    random_state: RandomState = None,
    on_fit: Callable[[], None] | None = None,
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Fit without each group of rows, and predict at the test points and at the rows of the group.

    Parameters
    ----------
    estimator : estimator
        Any regressor, bagged or not.
    X : array-like, sparse array or data frame of shape (n_samples, n_features)
        The training rows.
    y : array-like of shape (n_samples,)
        Their targets.
    groups : list of ndarray of int
        The rows to leave out together; an empty group fits with all rows.
    X_test : array-like, sparse array or data frame of shape (n_points, n_features)
        The points at which to predict.
    one_row_less : bool, default=True
        Whether groups are single rows, so that a bagged estimator keeps the law Q_{n-1} without them; otherwise its
        scheme is that for as many rows as are left.
    n_jobs : int or None, default=None
        How many fits at once.
    random_state : None, int, RandomState or Generator, default=None
        Where the seed of a randomized learner comes from; it is the same in all fits.
    on_fit : callable or None, default=None
        Called after each fit, to show progress.

    Yields
    ------
    at_points : ndarray of shape (n_points,)
        The predictions at the test points.
    at_rows : ndarray of shape (size of the group,)
        Those at the rows that were left out.
    """
    owner = "refit_without"
    X, y, classes = _checked(estimator, X, y, owner)
    n = len(y)
    points = _checked_points(X, X_test)
    both = stacked(points, X)
    n_points = points.shape[0]
    (seed,) = Seeds.from_random_state(random_state, owner).learner_seeds(0, 1)
    smaller = _for_one_row_less(estimator, n, owner)[0] if one_row_less else estimator
    for first in range(0, len(groups), _ROWS_AT_ONCE):
        some = groups[first : first + _ROWS_AT_ONCE]
        for whole, chosen in itertools.groupby(some, key=lambda group: len(group) == 0):
            left, learner = list(chosen), estimator if whole else smaller
            bags = Bags((np.delete(np.arange(n), group) for group in left), n)
            work, seeds = Assignment(learner, X, y, classes), np.full(len(left), seed)
            refits = fit_and_predict_bags(work, bags, seeds, both, n_jobs=n_jobs, on_bag=on_fit)
            for group, predicted in zip(left, refits, strict=True):
                yield predicted[:n_points], predicted[n_points + group]


# ---------------------------------------------------------------------------------------------------------- from bags


def _check_fitted(model: Any, owner: str) -> None:
    if not isinstance(model, _BaggedEnsemble):
        raise refuse_type("model", owner, "a fitted BaggedRegressor or BaggedClassifier", model)
    check_is_fitted(model)


def _raw_blocks(model: Any, points: Any) -> Iterator[tuple[slice, np.ndarray]]:
    """Every bag's prediction, not yet clipped, at as many points at once as memory should hold."""
    n_points, n_classes = points.shape[0], max(1, len(model._classes()) if model._classes() is not None else 1)
    step = max(1, 2 * _BLOCK_BYTES // (8 * len(model.bags_) * n_classes))
    for first in range(0, n_points, step):
        stop = min(first + step, n_points)
        some = points if stop - first == n_points else take_rows(points, np.arange(first, stop))
        yield (
            slice(first, stop),
            np.stack(list(predict_bags(model.estimators_, some, model._classes(), n_jobs=model.n_jobs))),
        )


def _predict_at_rows(model: Any) -> np.ndarray:
    """The prediction at each training row over the bags without it; NaN where there are none."""
    bags, weights, y = model.bags_, model.bag_weights_, model.y_
    shape = (len(y),) if model._classes() is None else (len(y), len(model._classes()))
    result, empty = np.full(shape, np.nan), bags.sizes == 0
    changes = model.prediction_range_.changes(y) if getattr(model, "prediction_range_", None) is not None else {}
    lonely = lonely_rows(y) if model._classes() is not None and empty.any() else {}
    for rows, raw in _raw_blocks(model, model.X_):
        outputs = raw if getattr(model, "range_", None) is None else clipped(raw, model.range_, empty)
        outside = bags.outside(rows) * weights[:, None]
        known = outside.any(axis=0)
        sums = np.einsum("br,br...->r...", outside, outputs)[known]
        result[rows][known] = sums / outside.sum(axis=0)[known].reshape(-1, *[1] * (sums.ndim - 1))
        for row in ({*changes, *lonely} & {*range(rows.start, rows.stop)}) - {*(rows.start + np.flatnonzero(~known))}:
            without = bags.without(row)
            own = raw[without, row - rows.start]
            if row in changes:
                own = clipped(own, changes[row], empty[without])
            else:
                own = without_class(own, empty[without], lonely[row])
            result[row] = weighted_sum(own, weights[without] / weights[without].sum())
    return result


def perturbations_of_bags(model: Any, raw: np.ndarray, bags: Bags, weights: np.ndarray, y: np.ndarray) -> Perturbations:
    """The perturbations that the predictions of each bag, not yet clipped, make up."""
    _refuse_rows_in_every_bag(bags, model)
    outputs, prediction, left_out = _with_and_without(model, raw, bags, weights, y)
    drawn = not model.derandomized_
    # Of drawn bags it is the unbiased estimate, as for the noise; of all bags it is exact.
    deviation = deviation_over_bags(outputs, weights) * (math.sqrt(len(bags) / max(1, len(bags) - 1)) if drawn else 1.0)
    classes, interval = model._classes(), getattr(model, "range_", None)
    length = 1.0 if classes is not None else None if interval is None else interval[1] - interval[0]
    scope = Scope(
        bags.n_samples,
        Quantity.NUMBER if classes is None else Quantity.CLASS,
        Rerun.REUSED if drawn else Rerun.ALL,
        len(bags) if drawn else None,
        bags.fingerprint,
        length,
        raw.shape[1],
    )
    return Perturbations(
        prediction,
        left_out,
        np.arange(bags.n_samples),
        how="reused bags" if drawn else "all bags",
        bag_deviation=deviation,
        bag_range=np.ptp(outputs, axis=0),
        n_bags=len(bags) if drawn else None,
        n_without=bags.n_without if drawn else None,
        scope=scope,
    )


def _with_and_without(
    model: Any, raw: np.ndarray, bags: Bags, weights: np.ndarray, y: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What is averaged, the average over all bags, and that over the bags without each row."""
    empty = bags.sizes == 0
    interval = model.range_ if isinstance(model, BaggedRegressor) else None
    outputs = raw if interval is None else clipped(raw, interval, empty)
    prediction = weighted_sum(outputs, weights)
    left_out = averages_without(outputs, bags, weights)
    if interval is not None and model.prediction_range_ is not None:
        for row, other in model.prediction_range_.changes(y).items():
            without = bags.without(row)
            again = clipped(raw[without], other, empty[without])
            left_out[row] = weighted_sum(again, weights[without] / weights[without].sum())
    elif model._classes() is not None and empty.any():
        for row, others in lonely_rows(y).items():
            without = bags.without(row)
            again = without_class(raw[without], empty[without], others)
            left_out[row] = weighted_sum(again, weights[without] / weights[without].sum())
    return outputs, prediction, left_out


def _refuse_rows_in_every_bag(bags: Bags, model: Any) -> None:
    always = np.flatnonzero(bags.n_without == 0)
    if len(always):
        law, others = model.scheme_, f" (and {len(always) - 1:,} others)" if len(always) > 1 else ""
        chance = law.n_samples * law.inclusion_probability ** len(bags)
        raise ValueError(
            f"Row {always[0]}{others} is in all {len(bags)} bags, so its leave-one-out prediction is undefined. Raise "
            f"n_bags (about {chance:.2g} such rows are expected with {len(bags)}) or lower the scheme's bag_size."
        )


# ---------------------------------------------------------------------------------------------------------- by refits


def _refit(
    works: tuple[Assignment, Assignment],
    n_samples: int,
    rows: np.ndarray,
    sequences: Callable[[np.ndarray], Iterator[np.ndarray]],
    X_test: Any,
    n_repeats: int,
    n_jobs: int | None,
    random_state: RandomState,
    on_fit: Callable[[], None] | None,
    how: str,
) -> Perturbations:
    """Fit with all rows and with each altered sequence of rows: each is a bag, so the seam for bags fits them."""
    n_repeats = check_integer(n_repeats, "n_repeats", "leave_one_out_refit", minimum=1)
    if n_repeats > 1 and not random_state_names(works[0].learner):
        reason = "the estimator has no random_state that is None, so every repeat would be the same. Use 1."
        raise refuse_value("n_repeats", "leave_one_out_refit", "1 for this estimator", n_repeats, reason)
    seeds = Seeds.from_random_state(random_state, "leave_one_out_refit").learner_seeds(0, n_repeats)
    whole, altered = works
    n_total = len(whole.y)
    everything = Bags([np.arange(n_samples)] * n_repeats, n_total)
    predictions = np.stack(list(fit_and_predict_bags(whole, everything, seeds, X_test, n_jobs=n_jobs, on_bag=on_fit)))
    without = np.empty((n_repeats, len(rows), *predictions.shape[1:]))
    for repeat, seed in enumerate(seeds):
        for first in range(0, len(rows), _ROWS_AT_ONCE):
            some = rows[first : first + _ROWS_AT_ONCE]
            bags, same = Bags(sequences(some), n_total), np.full(len(some), seed)
            refits = fit_and_predict_bags(altered, bags, same, X_test, n_jobs=n_jobs, on_bag=on_fit)
            for place, prediction in enumerate(refits, start=first):
                without[repeat, place] = prediction
    distances = np.abs(predictions[:, None] - without) if n_repeats > 1 else None
    return Perturbations(predictions.mean(axis=0), without.mean(axis=0), rows, how=how, distances=distances)


def _scope_of_refits(estimator: Any, y: np.ndarray, prediction: np.ndarray) -> Scope:
    """What refits of this estimator measure; of a pipeline with a bagged model in it nothing is proved."""
    quantity = Quantity.NUMBER if prediction.ndim == 1 else Quantity.CLASS
    length = None if quantity is Quantity.NUMBER else 1.0
    rerun, n_bags = Rerun.ALONE, None
    if isinstance(estimator, _BaggedEnsemble):
        rerun, n_bags = (Rerun.ALL, None) if estimator.n_bags == "all" else (Rerun.ANEW, int(estimator.n_bags))
        rule = getattr(estimator, "prediction_range", None)
        if rule is not None:
            low, high = as_prediction_range(rule, "leave_one_out_refit")(y)
            length = high - low
    return Scope(len(y), quantity, rerun, n_bags, range_length=length, n_points=len(prediction))


def _for_one_row_less(estimator: Any, n_samples: int, owner: str) -> tuple[Any, list[Any]]:
    """The estimator for n - 1 rows, and the bagged ensembles in it: they keep Q_{n-1}, and not the scheme at n - 1."""
    smaller = clone(estimator)
    inner = {"": estimator, **{f"{k}__": v for k, v in estimator.get_params(deep=True).items()}}
    bagged = {prefix: part for prefix, part in inner.items() if isinstance(part, _BaggedEnsemble)}
    for prefix, part in bagged.items():
        smaller.set_params(**{f"{prefix}scheme": as_law(part.scheme, n_samples, owner).without_one()})
    return smaller, list(bagged.values())


def _checked(estimator: Any, X: Any, y: Any, owner: str) -> tuple[Any, np.ndarray, np.ndarray | None]:
    if not (hasattr(estimator, "fit") and hasattr(estimator, "predict")) or isinstance(estimator, type):
        raise refuse_type("estimator", owner, "an unfitted scikit-learn regressor or classifier", estimator)
    X = X if hasattr(X, "shape") else np.asarray(X)
    y = np.asarray(column_or_1d(y))
    check_consistent_length(X, y)
    if len(y) < 2:
        raise ValueError(f"Found array with {len(y)} sample(s) while a minimum of 2 is required to leave one out.")
    return X, y, np.unique(y) if is_classifier(estimator) else None


def _checked_rows(rows: Any, n_samples: int) -> np.ndarray:
    if rows is None:
        return np.arange(n_samples)
    chosen = np.asarray(rows)
    if chosen.ndim != 1 or chosen.dtype.kind not in "iu" or len(chosen) == 0:
        raise refuse_type("rows", "leave_one_out_refit", "a list of row numbers, or None for all", rows)
    if chosen.min() < 0 or chosen.max() >= n_samples:
        raise ValueError(f"The rows are numbered from 0 to {n_samples - 1}. Got {chosen.min()} to {chosen.max()}.")
    return chosen.astype(np.intp)


def _checked_points(X: Any, X_test: Any) -> Any:
    """Test points that can be put below the training rows: the same kind of table, with as many columns."""
    points = X_test if hasattr(X_test, "shape") else np.asarray(X_test)
    if len(points.shape) != 2:
        raise ValueError(
            f"Expected 2D array as X_test, got an array of shape {points.shape} instead. For one point use [point]."
        )
    if points.shape[0] == 0:
        raise ValueError("There is no point in X_test to predict at.")
    if points.shape[1] != X.shape[1]:
        raise ValueError(f"X_test has {points.shape[1]} features, but X has {X.shape[1]}.")
    kinds = ("iloc", "vstack", "tocsr")
    if [hasattr(points, kind) for kind in kinds] != [hasattr(X, kind) for kind in kinds]:
        raise refuse_type("X_test", "refit_without", f"the same kind of table as X, {type(X).__name__}", X_test)
    return points
