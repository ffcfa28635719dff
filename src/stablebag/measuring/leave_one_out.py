"""The prediction without each training row, from the bags already fitted, without refitting."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone

from stablebag._checks import as_positions, check_choice, check_integer, refuse_type, refuse_value
from stablebag._seeds import Seeds
from stablebag._wording import Noun
from stablebag.measuring.perturbations import BagSpread, Names, Perturbations
from stablebag.models.ensemble import check_bagged, prepare_fit
from stablebag.models.fitted import fitted
from stablebag.models.fitting import fit_and_predict_bags
from stablebag.models.parallel import counted
from stablebag.models.rows import fingerprint, index_of, validated_rows
from stablebag.proving.outputs import scope_of

_LEFT_OUT = 2**22  # predictions without rows that are held at once
_BY_FAR = 1e-9  # of a probability: far more than rounding


def leave_one_out(
    model: Any,
    X: Any,
    *,
    rows: Any = None,
    random_state: Any = None,
    X_train: Any = None,
    y_train: Any = None,
    fit_params: dict[str, Any] | None = None,
) -> Perturbations:
    """Measure how far each training row moves the predictions of a bagged model, without refitting.

    The prediction without row i is the average over the bags that do not contain it: one matrix product for all rows
    and points. If leaving out row i changes the range to which predictions are clipped, they are clipped to the range
    without it, as in a fit without it. If the model was fitted with groups, groups are left out in place of rows.

    A fitted model holds the models of all its bags. If they do not fit into memory, pass the training rows as `X_train`
    instead of fitting: each bag is then fitted, predicts at X and is dropped. The numbers are the same.

    Parameters
    ----------
    model : BaggedRegressor or BaggedClassifier
        A fitted model. With `X_train`, any model: a clone is fitted, and the model itself stays as it is.
    X : array-like, sparse array or data frame of shape (n_points, n_features), or BagPredictions
        The points at which to predict, or what `model.predict_once` predicted at them.
    rows : int, array-like of int or None, default=None
        The rows to leave out, by position, or how many of them to draw at random; with groups, groups by number. None
        leaves out each. A result for some of the rows says so, and no bound on all rows is shown next to it.
    random_state : None, int, RandomState or Generator, default=None
        Which rows are drawn if `rows` is a number.
    X_train : array-like, sparse array or data frame of shape (n_samples, n_features), RowSource or None, default=None
        The training rows, to fit bag by bag without keeping any fitted bag. None uses the bags of a fitted model.
    y_train : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None
        The targets of `X_train`. A RowSource already has them.
    fit_params : dict or None, default=None
        More arguments of the model's `fit` to `X_train`, for example ``{"groups": patients}``.

    Returns
    -------
    Perturbations
        For a classifier, those of each class's probability; with several outputs, those of each.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from stablebag import BaggedRegressor, leave_one_out
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = BaggedRegressor(n_bags=400, random_state=0)
    >>> leave_one_out(model.fit(X[:400], y[:400]), X[400:]).left_out.shape
    (400, 42)

    The same numbers, without ever holding more than a few of the 400 trees:

    >>> leave_one_out(model, X[400:], X_train=X[:400], y_train=y[:400]).left_out.shape
    (400, 42)
    """
    owner = "leave_one_out"
    if X_train is None:
        if y_train is not None or fit_params is not None:
            name, value = ("y_train", y_train) if y_train is not None else ("fit_params", fit_params)
            raise refuse_value(name, owner, "None without X_train", value, "a fitted model is not fitted again.")
        reason = "for other estimators use leave_one_out_refit."
        check_bagged(model, owner, reason=reason, outputs="any")
        fit = fitted(model)
        average, raw, points, index = fit.average, fit.raw(X), fit.fingerprint_of(X), fit.index_of(X)
    else:
        check_bagged(model, owner, fitted=False)
        if not isinstance(fit_params, dict | None):
            raise refuse_type("fit_params", owner, "a dict of arguments for fit, or None", fit_params)
        average, raw, points, index = _stream(clone(model), X, X_train, y_train, fit_params or {})
    chosen = chosen_rows(rows, average.law.n_samples, average.units.noun, random_state, owner)
    return perturbations_of(average, raw, points, index, chosen)


def _stream(model: Any, X: Any, X_train: Any, y_train: Any, fit_params: dict[str, Any]) -> tuple[Any, Any, str, Any]:
    """Fit bag by bag and keep only the predictions at the points; with what identifies and names these."""
    job = prepare_fit(model, X_train, y_train, **fit_params)
    points = validated_rows(model, X, reset=False, ensure_min_samples=1)
    raw = []
    with counted(len(job)) as count:
        for prediction in fit_and_predict_bags(job, points, model.n_jobs):
            raw.append(prediction)
            count.one()
    return job.average, np.stack(raw), fingerprint(points), index_of(points)


def undecided_blocks(model: Any, X: Any) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Yield blocks of points with the probabilities there with all rows and without each, of a fitted classifier.

    Points, given by their places, are left out if it is certain that no row changes the class with the highest
    probability: because it leads even on average over those bags that speak most against it, as many as are without
    any row. With many rows nearly all points are such, and the product of all rows and points is what takes long.
    """
    average = fitted(model).average
    if not average.drawn or average.special_units:
        for places, prediction, left_out in left_out_blocks(model, X):
            yield np.arange(places.start, places.stop), prediction, left_out
        return
    average.refuse_units_in_every_bag()
    fewest, step = int(average.bags.n_without.min()), _points_at_once(model)
    for places, raw in fitted(model).raw_blocks(X):
        some = np.flatnonzero(~_is_clear(average.prediction([raw]), raw, fewest))
        for first in range(0, len(some), step):
            chosen = some[first : first + step]
            block = raw[:, chosen]
            yield places.start + chosen, average.prediction([block]), average.left_out(block)


def _is_clear(prediction: np.ndarray, raw: np.ndarray, fewest: int) -> np.ndarray:
    """Whether the class that leads at each point does so by far in the average over any `fewest` bags or more."""
    best = prediction.argmax(axis=1)
    leading = np.take_along_axis(raw, best[None, :, None], axis=2)[..., 0]
    clear = np.ones(len(best), dtype=bool)
    for other in range(prediction.shape[1]):
        ahead = np.partition(leading - raw[..., other], fewest - 1, axis=0)[:fewest].mean(axis=0)
        clear &= (ahead > _BY_FAR) | (best == other)
    return clear


def _points_at_once(model: Any) -> int:
    return max(1, _LEFT_OUT // (len(model.units_) * fitted(model).n_classes))


def left_out_blocks(model: Any, X: Any) -> Iterator[tuple[slice, np.ndarray, np.ndarray]]:
    """Yield blocks of points, as a slice, with a fitted model's predictions there with all rows and without each."""
    average, place = fitted(model).average, 0
    step = _points_at_once(model)
    for _, raw in fitted(model).raw_blocks(X):
        for first in range(0, raw.shape[1], step):
            some = raw[:, first : first + step]
            prediction = average.prediction([some])
            yield slice(place, place + len(prediction)), prediction, average.left_out(some)
            place += len(prediction)


def left_out_at_rows(model: Any, *, undefined: str = "raise", rows: np.ndarray | None = None) -> np.ndarray:
    """Return the prediction of a fitted model at each training row, averaged over the bags without that row.

    Rows that are in every bag are refused, or NaN if `undefined` is "nan". With `rows`, it is for some rows only, given
    by their positions. The result is kept with the model, so that asking again costs nothing.
    """
    check_choice(undefined, "undefined", "left_out_at_rows", ("raise", "nan"))
    fit = fitted(model)
    if fit.X is None:
        raise ValueError(
            "This needs the predictions at the training rows, and the model has kept none of them. Fit it with "
            "keep_rows=True."
        )
    if undefined == "raise":
        fit.average.refuse_units_in_every_bag()
    return fit.left_out_at_rows(rows)


def perturbations_of(
    average: Any, raw: Any, points: str | None = None, index: Any = None, rows: np.ndarray | None = None
) -> Perturbations:
    """Return the perturbations that follow from each bag's predictions, not yet clipped, at the named points.

    With `rows`, only these are left out.
    """
    prediction, outputs = average.prediction([raw]), average.outputs(raw)
    scope = replace(scope_of(average), n_points=len(prediction), points=points)
    if rows is not None and len(rows) < average.law.n_samples:
        scope = replace(scope, n_rows=len(rows))
    left_out = average.without_each(raw, rows)
    drawn = (len(average.bags), left_out.n_without, left_out.counts) if average.drawn else (None, None, None)
    spread = BagSpread(average.estimated_deviation(outputs), average.extent(outputs), *drawn)
    several = average.output_names if average.classes is None and average.y.ndim > 1 else average.classes
    names = Names.of(average.units, index, several)
    return Perturbations(prediction, left_out, left_out.rows, bags=spread, scope=scope, names=names)


def chosen_rows(rows: Any, n: int, noun: Noun, random_state: Any, owner: str) -> np.ndarray | None:
    """Return rows as an option gives them: None for all, those that are named by position, or so many at random."""
    if rows is None:
        return None
    if isinstance(rows, int | np.integer) and not isinstance(rows, bool):
        size = check_integer(rows, "rows", owner, minimum=1)
        if size > n:
            raise refuse_value("rows", owner, f"at most the {noun.count(n)} that there are", size)
        return np.sort(Seeds.from_random_state(random_state, owner).generator().choice(n, size, replace=False))
    expected = f"how many to draw, or positions from 0 to {n - 1:,}, each once"
    chosen = as_positions(rows, "rows", owner, expected)
    if not len(chosen) or chosen.min() < 0 or chosen.max() >= n or len(np.unique(chosen)) < len(chosen):
        raise refuse_value("rows", owner, expected, rows)
    return chosen
