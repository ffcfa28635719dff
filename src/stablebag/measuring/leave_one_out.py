"""The prediction without each training row, computed from the fitted bags without refitting."""

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

_LEFT_OUT = 2**22  # predictions without a row that are in memory at the same time
_CLEAR = 1e-9  # difference of probabilities, far larger than rounding errors


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
    """Measure how far predictions of a bagged model change without each training row, without refitting.

    The prediction without row i is the average over the bags that do not contain it. This takes one matrix product for
    all rows and points. If leaving out row i changes the range that predictions are clipped to, the prediction without
    it is clipped to that range, as after a refit. If the model was fitted with groups, groups are left out instead.

    A fitted model keeps the models of all its bags. If they do not fit into memory, do not fit the model, but pass the
    training rows as `X_train`: each bag is then fitted, predicts at X and is discarded. The numbers are the same.

    Parameters
    ----------
    model : BaggedRegressor or BaggedClassifier
        A fitted model. With `X_train`, it may be unfitted: a clone is fitted, and the model is not changed.
    X : array-like, sparse array or data frame of shape (n_points, n_features), or BagPredictions
        The points at which to predict, or the result of `model.predict_once` at these points.
    rows : int, array-like of int or None, default=None
        The positions of the rows to leave out, or the number of rows to draw at random; with groups, the numbers of the
        groups. None leaves out each of them. Bounds on all rows are not shown next to a result for some of the rows.
    random_state : None, int, RandomState or Generator, default=None
        Determines which rows are drawn if `rows` is a number.
    X_train : array-like, sparse array or data frame of shape (n_samples, n_features), RowSource or None, default=None
        The training rows, to fit one bag after the other without keeping them. None uses the bags of a fitted model.
    y_train : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None
        The targets of `X_train`. A RowSource already contains them.
    fit_params : dict or None, default=None
        Further arguments for the fit to `X_train`, for example ``{"groups": patients}``.

    Returns
    -------
    Perturbations
        For a classifier, the changes of each class probability; with several outputs, those of each output.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from stablebag import BaggedRegressor, leave_one_out
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = BaggedRegressor(n_bags=400, random_state=0)
    >>> leave_one_out(model.fit(X[:400], y[:400]), X[400:]).left_out.shape
    (400, 42)

    The same numbers, with only a few of the 400 trees in memory at any time:

    >>> leave_one_out(model, X[400:], X_train=X[:400], y_train=y[:400]).left_out.shape
    (400, 42)
    """
    owner = "leave_one_out"
    if X_train is None:
        if y_train is not None or fit_params is not None:
            name, value = ("y_train", y_train) if y_train is not None else ("fit_params", fit_params)
            reason = "nothing is fitted without X_train. Pass X_train as well."
            raise refuse_value(name, owner, "None if X_train is None", value, reason)
        reason = "for other estimators, use leave_one_out_refit."
        check_bagged(model, owner, reason=reason, outputs="any")
        fit = fitted(model)
        average, raw, points, index = fit.average, fit.raw(X), fit.fingerprint_of(X), fit.index_of(X)
    else:
        check_bagged(model, owner, fitted=False)
        if not isinstance(fit_params, dict | None):
            raise refuse_type("fit_params", owner, "None or a dict of arguments for fit", fit_params)
        average, raw, points, index = _stream(clone(model), X, X_train, y_train, fit_params or {})
    chosen = chosen_rows(rows, average.law.n_samples, average.units.noun, random_state, owner)
    return perturbations_of(average, raw, points, index, chosen)


def _stream(model: Any, X: Any, X_train: Any, y_train: Any, fit_params: dict[str, Any]) -> tuple[Any, Any, str, Any]:
    """Fit one bag after the other, and keep only predictions; also return the fingerprint and index of the points."""
    job = prepare_fit(model, X_train, y_train, **fit_params)
    points = validated_rows(model, X, reset=False, ensure_min_samples=1)
    raw = []
    with counted(len(job)) as count:
        for prediction in fit_and_predict_bags(job, points, model.n_jobs):
            raw.append(prediction)
            count.one()
    return job.average, np.stack(raw), fingerprint(points), index_of(points)


def undecided_blocks(model: Any, X: Any) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Yield a classifier's probabilities with all rows and without each, at points where a row may flip the class.

    Points are yielded in blocks, with their positions. A point is skipped if the predicted class leads even in the
    average over the least favourable bags, as few as any row leaves: then no row can change it. With many rows, this
    skips nearly all points, and so most of the product of rows and points, which takes the time.
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
    """Return at which points the predicted class clearly leads in the average over any `fewest` or more bags."""
    best = prediction.argmax(axis=1)
    leading = np.take_along_axis(raw, best[None, :, None], axis=2)[..., 0]
    clear = np.ones(len(best), dtype=bool)
    for other in range(prediction.shape[1]):
        ahead = np.partition(leading - raw[..., other], fewest - 1, axis=0)[:fewest].mean(axis=0)
        clear &= (ahead > _CLEAR) | (best == other)
    return clear


def _points_at_once(model: Any) -> int:
    return max(1, _LEFT_OUT // (len(model.units_) * fitted(model).n_classes))


def left_out_blocks(model: Any, X: Any) -> Iterator[tuple[slice, np.ndarray, np.ndarray]]:
    """Yield a fitted model's predictions with all rows and without each, for blocks (slices) of points."""
    average, place = fitted(model).average, 0
    step = _points_at_once(model)
    for _, raw in fitted(model).raw_blocks(X):
        for first in range(0, raw.shape[1], step):
            some = raw[:, first : first + step]
            prediction = average.prediction([some])
            yield slice(place, place + len(prediction)), prediction, average.left_out(some)
            place += len(prediction)


def left_out_at_rows(model: Any, *, undefined: str = "raise", rows: np.ndarray | None = None) -> np.ndarray:
    """Return the prediction at each training row, averaged over the bags without that row.

    Rows in every bag raise an error, or give NaN if `undefined` is "nan". `rows` limits the result to some positions.
    The model caches the result.
    """
    check_choice(undefined, "undefined", "left_out_at_rows", ("raise", "nan"))
    fit = fitted(model)
    if fit.X is None:
        raise ValueError(
            "Cannot predict at the training rows, because the model did not store them. Fit it with keep_rows=True."
        )
    if undefined == "raise":
        fit.average.refuse_units_in_every_bag()
    return fit.left_out_at_rows(rows)


def perturbations_of(
    average: Any, raw: Any, points: str | None = None, index: Any = None, rows: np.ndarray | None = None
) -> Perturbations:
    """Return the perturbations computed from the bags' predictions before clipping.

    `points` is the fingerprint of the points and `index` has their labels. `rows` limits which rows are left out.
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
    """Return the positions of the rows to use; None for all. An integer draws that many at random."""
    if rows is None:
        return None
    if isinstance(rows, int | np.integer) and not isinstance(rows, bool):
        size = check_integer(rows, "rows", owner, minimum=1)
        if size > n:
            raise refuse_value("rows", owner, f"at most {n:,}, the number of {noun.plural}", size)
        return np.sort(Seeds.from_random_state(random_state, owner).generator().choice(n, size, replace=False))
    expected = f"an integer (how many to draw) or a list of distinct positions from 0 to {n - 1:,}"
    chosen = as_positions(rows, "rows", owner, expected)
    if not len(chosen):
        raise refuse_value("rows", owner, expected, rows, "the list is empty.")
    if chosen.min() < 0 or chosen.max() >= n:
        raise refuse_value("rows", owner, expected, int(chosen[(chosen < 0) | (chosen >= n)][0]))
    if len(np.unique(chosen)) < len(chosen):
        values, counts = np.unique(chosen, return_counts=True)
        raise refuse_value("rows", owner, expected, rows, f"{values[counts > 1][0]} is in the list twice.")
    return chosen
