"""The prediction without each training row, from the bags already fitted, without refitting."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone

from stablebag._checks import read_only, refuse_value
from stablebag.learning.bagged_models import check_bagged
from stablebag.learning.fitting import fit_and_predict_bags
from stablebag.learning.progress import counted
from stablebag.learning.rows import fingerprint, index_of
from stablebag.measuring.names import Names
from stablebag.measuring.perturbations import BagSpread, Perturbations
from stablebag.proving.scopes import scope_of

_LEFT_OUT = 2**22  # predictions without rows that are held at once


def leave_one_out(model: Any, X: Any) -> Perturbations:
    """Measure how far each training row moves the predictions of a fitted model, without refitting.

    The prediction without row i is the average over the bags that do not contain it: one matrix product for all rows
    and points. If leaving out row i changes the range to which predictions are clipped, they are clipped to the range
    without it, as in a fit without it. If the model was fitted with groups, units are left out in place of rows.

    Parameters
    ----------
    model : BaggedRegressor or BaggedClassifier
        A fitted model.
    X : array-like, sparse array or data frame of shape (n_points, n_features), or BagPredictions
        The points at which to predict, or what `model.predict_once` predicted at them.

    Returns
    -------
    Perturbations
        For a classifier, those of each class's probability.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from stablebag import BaggedRegressor, leave_one_out
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = BaggedRegressor(n_bags=400, random_state=0).fit(X[:400], y[:400])
    >>> leave_one_out(model, X[400:]).left_out.shape
    (400, 42)
    """
    check_bagged(model, "leave_one_out", reason="for other estimators use leave_one_out_refit.")
    return perturbations_of(model.average_, model.raw(X), model.fingerprint_of(X), model.index_of(X))


def stream_leave_one_out(model: Any, X: Any, y: Any, X_test: Any, **fit_params: Any) -> Perturbations:
    """Return the same as `leave_one_out` of the fitted model, but without keeping any fitted learner.

    Parameters
    ----------
    model : BaggedRegressor or BaggedClassifier
        An unfitted model; it stays unfitted.
    X : array-like, sparse array or data frame of shape (n_samples, n_features)
        The training rows.
    y : array-like of shape (n_samples,)
        The targets of the training rows.
    X_test : array-like, sparse array or data frame of shape (n_points, n_features)
        The points at which to predict.
    **fit_params : dict
        As in the model's `fit`.

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
    check_bagged(model, "stream_leave_one_out", fitted=False)
    model = clone(model)
    job = model.prepare(X, y, **fit_params)
    points = model.checked_points(X_test)
    about = fingerprint(points), index_of(points)
    if not len(job):  # in closed form
        return perturbations_of(job.average, job.average.ranked(points), *about)
    raw = []
    with counted(len(job)) as count:
        for prediction in fit_and_predict_bags(job, points, model.n_jobs):
            raw.append(prediction)
            count.one()
    return perturbations_of(job.average, np.stack(raw), *about)


def left_out_blocks(model: Any, X: Any) -> Iterator[tuple[slice, np.ndarray, np.ndarray]]:
    """Yield blocks of points, as a slice, with a fitted model's predictions there with all rows and without each."""
    average, place = model.average_, 0
    step = max(1, _LEFT_OUT // (len(model.units_) * (1 if average.classes is None else len(average.classes))))
    for _, raw in model.raw_blocks(X):
        for first in range(0, raw.shape[1] if model.has_single_bags else len(raw), step):
            some = raw[:, first : first + step] if model.has_single_bags else raw[first : first + step]
            prediction = average.prediction([some])
            yield slice(place, place + len(prediction)), prediction, average.left_out(some)
            place += len(prediction)


def left_out_at_rows(model: Any, *, undefined: str = "raise") -> np.ndarray:
    """Return the prediction of a fitted model at each training row, averaged over the bags without that row.

    Rows that are in every bag are refused, or NaN if `undefined` is "nan". The result is kept with the model, so that
    asking again costs nothing.
    """
    if undefined not in ("raise", "nan"):
        raise refuse_value("undefined", "left_out_at_rows", 'one of "raise" and "nan"', undefined)
    if not hasattr(model, "X_"):
        raise ValueError(
            "This needs the predictions at the training rows, and the model has kept none of them. Fit it with "
            "keep_rows=True."
        )
    if undefined == "raise":
        model.average_.refuse_units_in_every_bag()

    def predict() -> np.ndarray:
        return read_only(np.concatenate([model.average_.left_out_at(*block) for block in model.raw_blocks(model.X_)]))

    predicted: np.ndarray = model.remembered("left out at rows", predict)
    return predicted


def perturbations_of(average: Any, raw: Any, points: str | None = None, index: Any = None) -> Perturbations:
    """Return the perturbations that follow from each bag's predictions, not yet clipped, at the named points."""
    prediction, left_out, outputs = average.prediction([raw]), average.left_out(raw), average.outputs(raw)
    n_bags, n_without = (len(average.bags), average.bags.n_without) if average.drawn else (None, None)
    scope = replace(scope_of(average), n_points=len(prediction), points=points)
    spread = BagSpread(average.estimated_deviation(outputs), average.extent(outputs), n_bags, n_without)
    names = Names.of(average.units, index, average.classes)
    return Perturbations(prediction, left_out, np.arange(len(left_out)), bags=spread, scope=scope, names=names)
