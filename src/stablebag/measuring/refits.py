"""How predictions change when a model is refitted without a row, or with another row in its place."""

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn import get_config
from sklearn.base import clone, is_classifier, is_clusterer
from sklearn.compose import TransformedTargetRegressor
from sklearn.pipeline import Pipeline
from sklearn.utils import assert_all_finite, check_consistent_length

from stablebag._checks import (
    as_positions,
    as_reals,
    check_integer,
    check_jobs,
    distinct,
    hold_read_only,
    refuse_type,
    refuse_value,
    shown,
)
from stablebag._seeds import RandomState, Seeds
from stablebag.measuring.perturbations import Names, Perturbations, norm
from stablebag.models.ensemble import BaggedEnsemble, bagged_in, refuse_unequal, units_of, with_strata
from stablebag.models.fitted import fitted
from stablebag.models.fitting import Models, fit_and_predict_bags, fit_bags, predict_bags
from stablebag.models.forgetting import refit_bags, without_units
from stablebag.models.learners import Surroundings, may_predict, random_state_names, refuse_endless
from stablebag.models.parallel import Pace, counted, n_workers, results
from stablebag.models.rows import (
    are_several,
    as_table,
    columns_of_numbers,
    fingerprint,
    index_of,
    names_of,
    one_column,
    stacked,
)
from stablebag.models.solving import FitJob, PredictRequest
from stablebag.proving.coupling import ANY
from stablebag.proving.outputs import Labels, length_and_changes
from stablebag.proving.scope import Quantity, Rerun, Scope
from stablebag.resampling.bags import Bags
from stablebag.resampling.law import ResolvedScheme
from stablebag.resampling.schemes import as_law
from stablebag.resampling.units import Units

# ------------------------------------------------------------------------------------------------------- altered tables
# Which rows remain when a unit (a row or a group) is left out or replaced, and the IDs that a bagged model gets.


def units_for(estimator: Any, X: Any, n_samples: int, row_ids: Any, groups: Any, owner: str) -> Units:
    """Return the units to leave out; by default, those of a fitted model with the same number of rows."""
    known = getattr(estimator, "units_", None)
    if row_ids is None and groups is None and isinstance(known, Units) and known.n_rows == n_samples:
        return known
    return units_of(X, n_samples, row_ids, groups, owner)


def rows_without(units: Units, unit: int) -> np.ndarray:
    """Return all rows except those of a unit."""
    return np.delete(np.arange(units.n_rows), units.rows_of(np.array([unit])))


def replacing_units(units: Units, groups: Any, n_rows: int, owner: str) -> Units:
    """Return the units of the replacements, in the order of the units they replace."""
    if not units.are_groups:
        if groups is not None:
            reason = "single rows are replaced. Pass groups as well, or drop groups_replacement."
            raise refuse_value("groups_replacement", owner, "None if groups is None", groups, reason)
        return units
    if groups is None:
        reason = "every group needs the rows that replace it."
        raise refuse_value("groups_replacement", owner, "the group of each replacement row", None, reason)
    others = Units.of_groups(groups, n_rows, owner)
    if len(others) != len(units) or any(name not in others.ids for name in units.ids):
        missing = [name for name in units.ids if name not in others.ids]
        why = f"group {missing[0]!r} has no replacement." if missing else "some of these groups replace no group."
        raise refuse_value("groups_replacement", owner, "made of the same groups as 'groups'", groups, why)
    now = np.empty(len(units), dtype=np.intp)
    now[others.ids.positions(units.ids.names, owner)] = np.arange(len(units))
    return Units(units.ids, now[others.of_rows], noun=units.noun)


def rows_replaced(units: Units, others: Units, unit: int) -> np.ndarray:
    """Return the rows with a unit replaced; replacements are numbered after the n_rows training rows."""
    own, new = units.rows_of(np.array([unit])), units.n_rows + others.rows_of(np.array([unit]))
    if len(own) == len(new):
        rows = np.arange(units.n_rows)
        rows[own] = new
        return rows
    before, after = np.arange(own[0]), np.setdiff1d(np.arange(own[0], units.n_rows), own)
    return np.concatenate([before, new, after])


def names_of_rows(estimator: Any, units: Units, *below: Units, prefix: str = "") -> dict[str, Any]:
    """Return the fit parameter with row IDs or groups for a bagged model, also as a last step, to match its bags."""
    if isinstance(estimator, BaggedEnsemble):
        names = np.concatenate([part.names_of_rows for part in (units, *below)])
        return {f"{prefix}{'groups' if units.are_groups else 'row_ids'}": names}
    if get_config()["enable_metadata_routing"]:
        # Bagged models request groups. Row IDs are routed only if the user requests them.
        return names_of_rows(bagged_last(estimator), units, *below) if units.are_groups else {}
    if isinstance(estimator, Pipeline):
        name, last = estimator.steps[-1]
        return names_of_rows(last, units, *below, prefix=f"{prefix}{name}__")
    if isinstance(estimator, TransformedTargetRegressor):
        return names_of_rows(estimator.regressor, units, *below, prefix=prefix)
    return {}


def bagged_last(estimator: Any) -> Any:
    """Return the bagged model inside pipelines and target transformers, or None."""
    return bagged_in(estimator).get(_path_to_last_step(estimator))


def for_one_less(estimator: Any, n_samples: int, owner: str) -> Any:
    """Return the estimator for n - 1 rows or groups.

    An ensemble that is fitted to all rows (the estimator itself, or the last step of a pipeline) uses Q_{n-1} instead
    of its scheme at n - 1. An ensemble inside a search or another ensemble gets fewer rows and is not changed.
    """
    smaller, bagged, whole = clone(estimator), bagged_in(estimator), _path_to_last_step(estimator)
    if whole in bagged:
        refuse_unequal(bagged[whole].scheme, owner, "Draw matched bags, without a pipeline, or use leave_one_out.")
        smaller.set_params(**{f"{whole}scheme": as_law(bagged[whole].scheme, n_samples, owner).without_one()})
    return smaller


def _path_to_last_step(estimator: Any) -> str:
    """Return the parameter path to the estimator inside pipelines and target transformers, which gets all rows."""
    if isinstance(estimator, Pipeline):
        name, step = estimator.steps[-1]
        return f"{name}__{_path_to_last_step(step)}"
    if isinstance(estimator, TransformedTargetRegressor) and estimator.regressor is not None:
        return f"regressor__{_path_to_last_step(estimator.regressor)}"
    return ""


# --------------------------------------------------------------------------------------------------------------- refits

_MOST_REPEATS = 1_000_000
_REFITS_AT_ONCE = 16  # refits of a bagged model whose bags are in memory at the same time
_ROWS_AT_ONCE = 256  # refits run in portions, because the rows of n refits are n^2 numbers

Sequences = Callable[[np.ndarray], Iterator[np.ndarray]]


def leave_one_out_refit(
    estimator: Any,
    X: Any,
    y: Any,
    X_test: Any,
    *,
    rows: Any = None,
    row_ids: Any = None,
    groups: Any = None,
    n_repeats: int = 1,
    n_jobs: int | None = None,
    random_state: RandomState = None,
) -> Perturbations:
    """Measure how far the predictions of any estimator change when it is refitted without each training row.

    This is Definition 4 of the paper: the seed is the same with and without the row, and a bagged model without it uses
    the law Q_{n-1}. It takes n + 1 fits per repeat. If the bags of a bagged model are matched, as for the paper's four
    schemes, only the bags that contain the row are refitted. With `groups`, whole groups are left out instead of rows.

    Parameters
    ----------
    estimator : estimator
        Any scikit-learn regressor or classifier, bagged or not.
    X : array-like, sparse array or data frame of shape (n_samples, n_features)
        The training rows.
    y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        The targets of the training rows.
    X_test : array-like, sparse array or data frame of shape (n_points, n_features)
        The points at which to predict.
    rows : array-like of int or None, default=None
        The positions of the rows to leave out, one at a time; with groups, the numbers of the groups. None leaves out
        each of them.
    row_ids : None, "index", or sequence of int or labels, default=None
        The row IDs, as in `fit` of a bagged model. None uses those of a fitted model with the same number of rows, or
        else positions.
    groups : sequence of int or labels, of length n_samples, default=None
        The group of each row, such as its patient. All rows of a group are left out at once, and a bagged estimator
        draws its bags over groups. None uses the groups of a fitted model with the same number of rows, if any.
    n_repeats : int, default=1
        The number of seeds over which a randomized learner is averaged. With several, shares of rows are shares of
        pairs of a row and a seed.
    n_jobs : int or None, default=None
        The number of fits in parallel.
    random_state : None, int, RandomState or Generator, default=None
        Determines the learner's seeds.

    Returns
    -------
    Perturbations

    Examples
    --------
    >>> from sklearn.dummy import DummyRegressor
    >>> from stablebag import leave_one_out_refit
    >>> changes = leave_one_out_refit(DummyRegressor(), [[0], [0], [0]], [0.0, 1.0, 5.0], [[0]])
    >>> changes.prediction.tolist(), changes.left_out.ravel().tolist()  # the mean of all targets, and of the other two
    ([2.0], [3.0, 2.5, 0.5])
    """
    owner = "leave_one_out_refit"
    check_jobs(n_jobs, owner)
    names_of_outputs = names_of(y, owner) if are_several(y) else None
    X, y, classes = checked_training(estimator, X, y, owner, several=True)
    _check_columns(X, as_table(X_test, "X_test", owner))
    units = units_for(estimator, X, len(y), row_ids, groups, owner)
    estimator = with_strata(estimator, y, units)
    bagged = list(bagged_in(estimator).values())

    def sequences(some: np.ndarray) -> Iterator[np.ndarray]:
        return (rows_without(units, unit) for unit in some)

    refits = _Refits(X, y, classes, units, n_repeats, random_state, n_jobs, owner, names_of_rows(estimator, units))
    chosen = _checked_rows(rows, units, owner)
    if _has_matched_bags(estimator, len(units)) and not _may_leave_one_class(y, classes, units):
        moved = refits.forgetting(estimator, chosen, X_test)
    else:
        smaller = for_one_less(estimator, len(units), owner)
        moved = refits.perturbations(estimator, smaller, sequences, chosen, X_test)
    several = names_of_outputs if classes is None else classes
    names, scope = Names.of(units, index_of(X_test), several), _scope(estimator, y, moved, X_test, units)
    return replace(moved, noise_known=_draws_nothing(bagged), scope=scope, names=names)


@dataclass(frozen=True, eq=False)
class MatchedRefits:
    """The changes from refitting a fitted model without each of some rows, and how much they differ between bags.

    The change is the mean over all bags of the change of each bag's prediction, which is zero for bags without the row.
    Bags are drawn independently, so (spread^2 - c^2) / (n_bags - 1) is an unbiased estimate of the variance of a change
    c that comes from drawing them.

    Attributes
    ----------
    moved : Perturbations
        The predictions with all rows and without each of some, from refitting the bags that contain it.
    spread : ndarray of shape (n_rows, n_points)
        The root mean square over bags of the change of a bag's prediction; for classes, of the Euclidean distance.
    """

    moved: Perturbations
    spread: np.ndarray

    def __post_init__(self) -> None:
        hold_read_only(self)


def refit_without_each(model: Any, X_test: Any, rows: np.ndarray, raw: np.ndarray) -> MatchedRefits:
    """Refit a fitted model without each of some rows, with the same seed: only the bags that contain the row.

    `leave_one_out_refit` measures the same for an unfitted model. `raw` has the predictions of the bags at the points,
    and `rows` the numbers of rows or groups.
    """
    average = fitted(model).average
    classes = average.classes
    prediction, before = average.prediction([raw]), average.outputs(raw)
    without, spread = np.empty((len(rows), *prediction.shape)), np.empty((len(rows), len(prediction)))
    special = {*average.special_units, *average.lonely_units}  # these change more than the bags that contain them
    with counted(len(rows)) as count:
        for first in range(0, len(rows), _REFITS_AT_ONCE):
            some = rows[first : first + _REFITS_AT_ONCE]
            usual = np.array([row for row in some.tolist() if row not in special], dtype=np.intp)
            inside = [model.bags_.with_any(np.array([row])) for row in usual]
            refitted = iter(refit_bags(model, usual, inside, X_test)) if sum(map(len, inside)) else iter(())
            numbers = dict(zip(usual.tolist(), inside, strict=True))
            for place, row in enumerate(some.tolist(), start=first):
                if row in numbers:
                    after = raw.copy()
                    for number in numbers[row]:
                        after[number] = next(refitted)
                    without[place], outputs = average.prediction([after]), average.outputs(after)
                else:
                    without[place], outputs = _refitted_whole(model, row, X_test)
                spread[place] = norm(_distance(outputs - before, prediction.ndim), 2)
                count.one()
    names = Names.of(model.units_, index_of(X_test), classes)
    moved = Perturbations(prediction, without, rows, noise_known=False, names=names)
    scope = _scope(with_strata(model, fitted(model).y, model.units_), fitted(model).y, moved, X_test, model.units_)
    return MatchedRefits(replace(moved, scope=scope), spread)


def _refitted_whole(model: Any, row: int, X_test: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return predictions and bags' outputs without a row that changes the range or the classes."""
    classes = fitted(model).average.classes
    smaller = fitted(without_units(model, np.array([row])))
    raw = smaller.raw(X_test)
    both = smaller.average.prediction([raw]), smaller.average.outputs(raw)
    left = smaller.average.classes
    if classes is None or left is None or len(left) == len(classes):
        return both
    kept = np.searchsorted(classes, left)
    return _with_zeros(both[0], kept, len(classes)), _with_zeros(both[1], kept, len(classes))


def may_refit_without(model: Any) -> bool:
    """Return whether refitting without a row only needs to refit the bags that contain it, for every row."""
    units, law = model.units_, model.scheme_
    if model.derandomized_ or len(units) < 3 or not _is_matched(law):
        return False
    return not _may_leave_one_class(fitted(model).y, fitted(model).average.classes, units)


def spread_of_a_few(model: Any, X_test: Any, rows: np.ndarray, raw: np.ndarray, random_state: int) -> np.ndarray:
    """Estimate the `spread` of `MatchedRefits` from one refitted bag for each row; its square is unbiased.

    Predictions are clipped to the range of all rows.
    """
    average, n_bags = fitted(model).average, len(model.bags_)
    inside = [model.bags_.with_any(np.array([row])) for row in rows]
    generator = Seeds.from_random_state(random_state, "study").generator()
    places = [place for place, bags in enumerate(inside) if len(bags)]  # a row in no bag changes nothing
    numbers = [generator.choice(inside[place], 1) for place in places]
    spread = np.zeros((len(rows), raw.shape[1]))
    refitted = refit_bags(model, rows[places], numbers, X_test) if places else iter(())
    for place, (number,), after in zip(places, numbers, refitted, strict=True):
        both = np.stack([raw[number], after])
        before, after = both if average.interval is None else np.clip(both, *average.interval)
        spread[place] = math.sqrt(len(inside[place]) / n_bags) * _distance(after - before, raw.ndim - 1)
    return spread


def _with_zeros(some: np.ndarray, kept: np.ndarray, n_classes: int) -> np.ndarray:
    """Return probabilities of all classes, with zeros for those that are not kept."""
    whole = np.zeros((*some.shape[:-1], n_classes))
    whole[..., kept] = some
    return whole


def _distance(moved: np.ndarray, n_axes: int) -> np.ndarray:
    """Return absolute changes, or the Euclidean norms of changes of vectors."""
    return np.asarray(np.abs(moved) if n_axes == 1 else np.sqrt((moved**2).sum(axis=-1)))


def replace_one_refit(
    estimator: Any,
    X: Any,
    y: Any,
    X_replacement: Any,
    y_replacement: Any,
    X_test: Any,
    *,
    rows: Any = None,
    groups: Any = None,
    groups_replacement: Any = None,
    n_repeats: int = 1,
    n_jobs: int | None = None,
    random_state: RandomState = None,
) -> Perturbations:
    """Measure how far the predictions of any estimator change when a training row is replaced (Corollary 17).

    With `groups`, whole groups are replaced: for example, all visits of a patient by those of another.

    Parameters
    ----------
    estimator : estimator
        Any scikit-learn regressor or classifier, bagged or not.
    X : array-like, sparse array or data frame of shape (n_samples, n_features)
        The training rows.
    y : array-like of shape (n_samples,)
        The targets of the training rows.
    X_replacement : like X
        The replacements: row i replaces row i of X. With groups, the rows of a group replace those of the group with
        the same label.
    y_replacement : array-like of shape (n_samples,)
        The targets of the replacements.
    X_test : array-like, sparse array or data frame of shape (n_points, n_features)
        The points at which to predict.
    rows : array-like of int or None, default=None
        The positions of the rows to replace, one at a time; with groups, the numbers of the groups. None replaces each
        of them.
    groups : sequence of int or labels, of length n_samples, default=None
        The group of each row.
    groups_replacement : sequence of int or labels, default=None
        With groups, the group of each replacement row: the same groups, in any order, with any number of rows.
    n_repeats : int, default=1
        The number of seeds over which a randomized learner is averaged. With several, shares of rows are shares of
        pairs of a row and a seed.
    n_jobs : int or None, default=None
        The number of fits in parallel.
    random_state : None, int, RandomState or Generator, default=None
        Determines the learner's seeds.

    Returns
    -------
    Perturbations
        `left_out` is the prediction with the row replaced.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> from stablebag.measuring import replace_one_refit
    >>> X, y = [[0.0], [1.0], [2.0]], [0.0, 1.0, 2.0]
    >>> changes = replace_one_refit(LinearRegression(), X, y, X, [3.0, 1.0, 2.0], [[1.0]])
    >>> changes.values.ravel().round(3).tolist()  # the first target changes from 0 to 3, and so the mean by 1
    [1.0, 0.0, 0.0]
    """
    owner = "replace_one_refit"
    check_jobs(n_jobs, owner)
    X, y, _ = checked_training(estimator, X, y, owner)
    _check_columns(X, as_table(X_test, "X_test", owner))
    units = units_for(estimator, X, len(y), None, groups, owner)
    if groups is None:
        check_consistent_length(X, X_replacement, y_replacement)
    X_replacement, y_replacement, _ = checked_training(estimator, X_replacement, y_replacement, owner)
    others = replacing_units(units, groups_replacement, len(y_replacement), owner)
    columns = [list(getattr(table, "columns", range(table.shape[1]))) for table in (X, X_replacement)]
    if type(X) is not type(X_replacement) or columns[0] != columns[1] or y.dtype.kind != y_replacement.dtype.kind:
        raise ValueError(
            "X_replacement and y_replacement must have the same types and columns as X and y. X is a "
            f"{type(X).__name__} with columns {shown(columns[0])} and y has type {y.dtype}; X_replacement is a "
            f"{type(X_replacement).__name__} with columns {shown(columns[1])} and y_replacement has type "
            f"{y_replacement.dtype}."
        )
    targets = np.concatenate([y, y_replacement])
    classes = np.unique(targets) if is_classifier(estimator) else None

    def sequences(some: np.ndarray) -> Iterator[np.ndarray]:
        return (rows_replaced(units, others, unit) for unit in some)

    both = stacked(X, X_replacement)
    names = names_of_rows(estimator, units, others)  # a replacement has the ID of the row it replaces
    refits = _Refits(both, targets, classes, units, n_repeats, random_state, n_jobs, owner, names)
    moved = refits.perturbations(estimator, estimator, sequences, _checked_rows(rows, units, owner), X_test)
    bagged = list(bagged_in(estimator).values())
    scope = replace(_scope(with_strata(estimator, y, units), y, moved, X_test, units), rerun=Rerun.REPLACED)
    labels = {"scope": scope, "names": Names.of(units, index_of(X_test), classes)}
    return replace(moved, noise_known=_draws_nothing(bagged), **labels)  # type: ignore[arg-type]


def refit_without(
    estimator: Any,
    X: Any,
    y: Any,
    folds: list[np.ndarray],
    X_test: Any,
    *,
    units: Units | None = None,
    one_less: bool = True,
    n_jobs: int | None = None,
    random_state: RandomState = None,
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Fit without each fold of rows, and yield the predictions at the test points and at the rows of the fold.

    An empty fold means a fit to all rows. If each fold is one row or group (`one_less`), a bagged estimator uses the
    law Q_{n-1}; otherwise its scheme is resolved for the remaining rows. The seed is the same in all fits.
    """
    owner = "refit_without"
    X, y, classes = checked_training(estimator, X, y, owner)
    n = len(y)
    units = units_of(X, n, None, None, owner) if units is None else units
    points = checked_points(X, X_test)
    both = stacked(points, X)
    n_points = points.shape[0]
    (seed,) = Seeds.from_random_state(random_state, owner).learner_seeds(0, 1)
    smaller = for_one_less(estimator, len(units), owner) if one_less else estimator
    names = names_of_rows(estimator, units)
    with counted(len(folds)) as count:
        for first in range(0, len(folds), _ROWS_AT_ONCE):
            some = folds[first : first + _ROWS_AT_ONCE]
            for whole, chosen in itertools.groupby(some, key=lambda fold: len(fold) == 0):
                left, learner = list(chosen), estimator if whole else smaller
                bags = Bags((np.delete(np.arange(n), fold) for fold in left), n)
                job = FitJob(learner, X, y, bags, np.full(len(left), seed), classes, names)
                for fold, predicted in zip(left, fit_and_predict_bags(job, both, n_jobs), strict=True):
                    count.one()
                    yield predicted[:n_points], predicted[n_points + fold]


class _Refits:
    """Fits to all rows and to altered sequences of rows, each treated as a bag."""

    def __init__(
        self,
        X: Any,
        y: np.ndarray,
        classes: np.ndarray | None,
        units: Units,
        n_repeats: int,
        random_state: RandomState,
        n_jobs: int | None,
        owner: str,
        fit_params: dict[str, Any],
    ) -> None:
        self.fit_params, self.units = fit_params, units
        self.X, self.y, self.classes, self.n_jobs, self.owner = X, y, classes, n_jobs, owner
        self.n_repeats = check_integer(n_repeats, "n_repeats", owner, minimum=1)
        if self.n_repeats > _MOST_REPEATS:
            raise refuse_value("n_repeats", owner, f"at most {_MOST_REPEATS:,}", n_repeats, "use a few dozen.")
        self.seeds = Seeds.from_random_state(random_state, owner).learner_seeds(0, self.n_repeats)

    def perturbations(
        self, estimator: Any, altered: Any, sequences: Sequences, rows: np.ndarray, X_test: Any
    ) -> Perturbations:
        """Compare the estimator fitted to all rows with `altered` fitted to the altered sequences of rows."""
        self._refuse_repeats(estimator)
        with counted(self.n_repeats * (1 + len(rows))) as count:
            everything = [np.arange(self.units.n_rows)] * self.n_repeats
            predictions = np.stack(list(self._fit(estimator, everything, self.seeds, X_test, count.one)))
            without = np.empty((self.n_repeats, len(rows), *predictions.shape[1:]))
            for repeat, seed in enumerate(self.seeds):
                for first in range(0, len(rows), _ROWS_AT_ONCE):
                    some = rows[first : first + _ROWS_AT_ONCE]
                    same = np.full(len(some), seed)
                    fits = self._fit(altered, sequences(some), same, X_test, count.one)
                    for place, prediction in enumerate(fits, start=first):
                        without[repeat, place] = prediction
        return self._together(predictions, without, rows)

    def forgetting(self, estimator: Any, rows: np.ndarray, X_test: Any) -> Perturbations:
        """Compare a bagged model with itself after forgetting each row, which equals a fit without the row."""
        self._refuse_repeats(estimator)
        points = as_table(X_test, "X_test", "a refit")
        n = self.units.n_rows
        keeping, whole = clone(estimator).set_params(keep_rows=True), Bags([np.arange(n)] * self.n_repeats, n)
        job = FitJob(keeping, self.X, self.y, whole, self.seeds, self.classes, self.fit_params)
        workers = n_workers(self.n_jobs, beside_others=Surroundings(keeping).may_run_beside_others)
        with counted(self.n_repeats * (1 + len(rows))) as count:
            models = Models(fit_bags(job, self.n_jobs), self.seeds)
            wanted = self.classes, PredictRequest(n_outputs=job.n_outputs)
            predictions = np.concatenate(list(predict_bags(models, points, wanted[0], request=wanted[1])))
            count.reach(self.n_repeats)
            without = np.empty((self.n_repeats, len(rows), *predictions.shape[1:]))
            for repeat, (model, seed) in enumerate(zip(models, self.seeds, strict=True)):
                for place, prediction in enumerate(self._forget(model, rows, (seed, points, *wanted), workers)):
                    without[repeat, place] = prediction
                    count.one()
        return self._together(predictions, without, rows)

    def _forget(self, model: Any, rows: np.ndarray, request: tuple[Any, ...], workers: int) -> Iterator[np.ndarray]:
        """Forget each row, on all workers."""
        if workers == 1:
            yield from _forget_each(model, rows, *request)
            return
        pace = Pace(workers)
        batches = ((model, rows[first:stop], *request) for first, stop in pace.batches(len(rows)))
        with results(_forget_each, batches, self.n_jobs, pace) as found:
            yield from found

    def _refuse_repeats(self, estimator: Any) -> None:
        if self.n_repeats > 1 and not random_state_names(estimator):
            reason = "no random_state of the estimator is None, so all repeats would be equal. Set random_state=None."
            raise refuse_value("n_repeats", self.owner, "1 for this estimator", self.n_repeats, reason)

    def _together(self, predictions: np.ndarray, without: np.ndarray, rows: np.ndarray) -> Perturbations:
        distances = np.abs(predictions[:, None] - without) if self.n_repeats > 1 else None
        return Perturbations(predictions.mean(axis=0), without.mean(axis=0), rows, distances=distances)

    def _fit(
        self, estimator: Any, sequences: Any, seeds: np.ndarray, X_test: Any, after: Callable[[], None]
    ) -> Iterator[np.ndarray]:
        job = FitJob(estimator, self.X, self.y, Bags(sequences, len(self.y)), seeds, self.classes, self.fit_params)
        X_test = as_table(X_test, "X_test", "a refit")
        for prediction in fit_and_predict_bags(job, X_test, self.n_jobs):
            after()
            yield prediction


def _forget_each(
    model: Any, rows: np.ndarray, seed: int, points: Any, classes: np.ndarray | None, request: PredictRequest
) -> Iterator[np.ndarray]:
    """Yield the predictions without each of these rows or groups."""
    for row in rows:
        without = without_units(model, np.array([row]))
        yield next(predict_bags(Models([without], np.array([seed])), points, classes, request=request))[0]


def _has_matched_bags(estimator: Any, n_samples: int) -> bool:
    """Return whether forgetting a row can replace fitting without it."""
    if not isinstance(estimator, BaggedEnsemble) or isinstance(estimator.n_bags, str) or n_samples < 3:
        return False
    return _is_matched(as_law(estimator.scheme, n_samples, "leave_one_out_refit"))


def _is_matched(law: ResolvedScheme) -> bool:
    return law.is_matched and (not law.is_symmetric or law.without_one().inclusion_probability < 1)


def _may_leave_one_class(y: np.ndarray, classes: np.ndarray | None, units: Units) -> bool:
    """Return whether leaving out some row or group leaves a single class, which cannot be fitted."""
    if classes is None:
        return False
    most = max(map(len, units.classes_lost(y).values()), default=0)
    return len(classes) - most < 2


def _scope(estimator: Any, y: np.ndarray, moved: Perturbations, X_test: Any, units: Units) -> Scope:
    """Return the scope of these refits. No certificate covers a pipeline with a bagged model in it."""
    n, some = len(units), None if len(moved.rows) == len(units) else len(moved.rows)
    several = Quantity.OUTPUT if y.ndim > 1 else Quantity.CLASS
    quantity = Quantity.NUMBER if moved.prediction.ndim == 1 else several
    length = 1.0 if quantity is Quantity.CLASS else None
    details = {"n_points": len(moved.prediction), "points": fingerprint(X_test), "n_rows": some, "noun": units.noun}
    details["grouping"] = units.fingerprint
    if not isinstance(estimator, BaggedEnsemble):
        return Scope(n, quantity, Rerun.ALONE, range_length=length, **details)  # type: ignore[arg-type]
    law, drawn = as_law(estimator.scheme, n, "leave_one_out_refit"), estimator.n_bags != "all"
    how = "matched" if law.is_matched else ANY.name
    rerun, n_bags, coupling = (Rerun.ANEW, int(estimator.n_bags), how) if drawn else (Rerun.ALL, None, None)
    shift = changing = 0.0
    rule = getattr(estimator, "prediction_range", None)
    if rule is not None:
        length, changing = length_and_changes(rule, y, units)
    elif quantity is Quantity.CLASS:
        labels = Labels.of(y, units, "leave_one_out_refit")
        shift = labels.shift(law.empty_without_a_row if labels.n_lonely else 0.0)
        details["n_lost"] = labels.n_lost
    details |= {"delta_range": changing, "shift": shift, "coupling": coupling}
    return Scope(n, quantity, rerun, n_bags, law.fingerprint, length, **details)  # type: ignore[arg-type]


def _draws_nothing(bagged: list[Any]) -> bool:
    """Return whether all ensembles use all bags, so that no refit draws bags at random."""
    return all(part.n_bags == "all" for part in bagged)


def learner_hint(value: Any, call: str) -> str:
    """Return what to pass instead of something that is not a regressor or classifier; `call` is the right call.

    >>> learner_hint([[0.0]], "f(estimator, X, y)"), learner_hint(float, "f(estimator, X, y)")
    ('pass the estimator first, then the data: f(estimator, X, y).', 'this is a class. Pass an instance: float().')
    """
    if isinstance(value, type):
        return f"this is a class. Pass an instance: {value.__name__}()."
    if not hasattr(value, "fit"):
        is_data = hasattr(value, "shape") or isinstance(value, list | tuple)
        return f"pass the estimator first, then the data: {call}." if is_data else ""
    return f"{type(value).__name__} is a clusterer." if is_clusterer(value) else ""


def check_learner(estimator: Any, owner: str) -> None:
    """Raise an error unless this is a regressor or classifier."""
    is_learner = hasattr(estimator, "fit") and may_predict(estimator) and not isinstance(estimator, type)
    if not is_learner or is_clusterer(estimator):
        hint = learner_hint(estimator, f"{owner}(estimator, X, y, ...)")
        raise refuse_type("estimator", owner, "a scikit-learn regressor or classifier", estimator, hint)


def checked_training(
    estimator: Any, X: Any, y: Any, owner: str, *, several: bool = False
) -> tuple[Any, np.ndarray, np.ndarray | None]:
    """Return the rows, the targets and the classes, after all checks that need no fit."""
    refuse_endless(estimator, owner)
    check_learner(estimator, owner)
    X = as_table(X, "X", owner)
    several = several and are_several(y) and not is_classifier(estimator)
    y = columns_of_numbers(y) if several else one_column(y, owner, "pass one column at a time.", warn=False)
    check_consistent_length(X, y)
    if len(y) < 2:
        raise ValueError(f"Found array with {len(y)} sample(s) while a minimum of 2 is required to leave one out.")
    if is_classifier(estimator):
        return X, y, distinct(y, "y", owner)
    y = as_reals(y, "y", owner, "numbers") if y.dtype.kind == "O" else y  # the learner itself rejects strings
    assert_all_finite(y, input_name="y", estimator_name=type(estimator).__name__)
    return X, y, None


def _checked_rows(rows: Any, units: Units, owner: str) -> np.ndarray:
    if rows is None:
        return np.arange(len(units))
    last = len(units) - 1
    expected = f"a list of positions of {units.noun.plural} from 0 to {last:,}, or None for all"
    is_number = isinstance(rows, int | np.integer) and not isinstance(rows, bool)
    reason = f"for the first {rows}, use range({rows})." if is_number and rows > 0 else ""
    chosen = as_positions(rows, "rows", owner, expected, reason)
    if len(chosen) == 0:
        raise refuse_value("rows", owner, expected, rows, "the list is empty.")
    if chosen.min() < 0 or chosen.max() > last:
        wrong = chosen[(chosen < 0) | (chosen > last)][0]
        raise refuse_value("rows", owner, expected, int(wrong))
    return chosen


def _check_columns(X: Any, points: Any) -> None:
    if points.shape[0] == 0:
        raise ValueError("X_test is empty. Pass at least one point to predict at.")
    if points.shape[1] != X.shape[1]:
        raise ValueError(
            f"X_test has {points.shape[1]} columns, but X has {X.shape[1]}. Pass points with the columns of X."
        )


def checked_points(X: Any, X_test: Any, owner: str = "a refit") -> Any:
    """Return test points that can be stacked with the training rows: same type of table, same number of columns."""
    points = as_table(X_test, "X_test", owner)
    _check_columns(X, points)
    kinds = ("iloc", "vstack", "tocsr")
    if [hasattr(points, kind) for kind in kinds] != [hasattr(X, kind) for kind in kinds]:
        raise refuse_type("X_test", owner, f"a {type(X).__name__} like X", X_test)
    return points
