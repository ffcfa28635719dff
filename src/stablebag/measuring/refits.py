"""The prediction without each training row, or with it replaced, by refitting any estimator."""

import itertools
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn import get_config
from sklearn.base import clone, is_classifier
from sklearn.compose import TransformedTargetRegressor
from sklearn.pipeline import Pipeline
from sklearn.utils import assert_all_finite, check_consistent_length, column_or_1d

from stablebag._checks import check_integer, refuse_type, refuse_value
from stablebag._seeds import RandomState, Seeds
from stablebag.learning.ensemble import BaggedEnsemble, bagged_in
from stablebag.learning.fitting import fit_and_predict_bags, fit_bags, predict_bags
from stablebag.learning.forgetting import forget
from stablebag.learning.job import FitJob
from stablebag.learning.learners import Surroundings, random_state_names
from stablebag.learning.models import Models
from stablebag.learning.parallel import Pace, n_workers, results
from stablebag.learning.progress import counted
from stablebag.learning.ranges import as_prediction_range
from stablebag.learning.rows import fingerprint, stacked
from stablebag.learning.strata import refuse_unequal, with_strata
from stablebag.measuring.perturbations import Perturbations
from stablebag.proving import bounds
from stablebag.proving.coupling import ANY
from stablebag.proving.outputs import labels_of
from stablebag.proving.scope import Quantity, Rerun, Scope
from stablebag.resampling.bags import Bags
from stablebag.resampling.row_ids import RowIds, as_row_ids
from stablebag.resampling.scheme import as_law

_ROWS_AT_ONCE = 256  # refits are handed out in portions, because the rows of n refits are n^2 numbers

Sequences = Callable[[np.ndarray], Iterator[np.ndarray]]


def leave_one_out_refit(
    estimator: Any,
    X: Any,
    y: Any,
    X_test: Any,
    *,
    rows: Any = None,
    row_ids: Any = None,
    n_repeats: int = 1,
    n_jobs: int | None = None,
    random_state: RandomState = None,
) -> Perturbations:
    """Measure how far each training row moves the predictions of any estimator, by fitting once without each row.

    This is Definition 4 of the paper, literally: the same seed with and without the row and, for a bagged model, the
    law Q_{n-1} without it. It costs n + 1 fits per repeat. If the bags of a bagged model are matched, as those of the
    paper's four schemes are, only the bags that contain the row are fitted again.

    Parameters
    ----------
    estimator : estimator
        Any scikit-learn regressor or classifier, bagged or not.
    X : array-like, sparse array or data frame of shape (n_samples, n_features)
        The training rows.
    y : array-like of shape (n_samples,)
        The targets of the training rows.
    X_test : array-like, sparse array or data frame of shape (n_points, n_features)
        The points at which to predict.
    rows : array-like of int or None, default=None
        The rows to leave out, one at a time; None leaves out each row.
    row_ids : None, "index", or sequence of int or labels, default=None
        What the rows are called, as in `fit` of a bagged model. None takes the names from a fitted model of as many
        rows, and otherwise counts.
    n_repeats : int, default=1
        The number of seeds over which a randomized learner is averaged. With several, shares of rows are shares of
        rows and seeds.
    n_jobs : int or None, default=None
        The number of fits in parallel.
    random_state : None, int, RandomState or Generator, default=None
        The source of the seeds.

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
    owner = "leave_one_out_refit"
    X, y, classes = _checked(estimator, X, y, owner)
    n = len(y)
    if row_ids is None:  # a fitted model knows what its rows are called
        row_ids = getattr(estimator, "row_ids_", None)
        row_ids = row_ids if isinstance(row_ids, RowIds) and len(row_ids) == n else None
    estimator = with_strata(estimator, y)
    bagged = list(bagged_in(estimator).values())

    def sequences(some: np.ndarray) -> Iterator[np.ndarray]:
        return (np.delete(np.arange(n), row) for row in some)

    names = _names_of_rows(estimator, as_row_ids(row_ids, X, n, owner).names)
    refits = _Refits(X, y, classes, n, n_repeats, random_state, n_jobs, owner, names)
    chosen = _checked_rows(rows, n, owner)
    if _has_matched_bags(estimator, n) and not _may_leave_one_class(y, classes):
        moved = refits.forgetting(estimator, chosen, X_test)
    else:
        moved = refits.perturbations(estimator, _for_one_row_less(estimator, n, owner), sequences, chosen, X_test)
    return replace(moved, noise_known=_draws_nothing(bagged), scope=_scope(estimator, y, moved, X_test))


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
) -> Perturbations:
    """Measure how far the predictions of any estimator move when a training row is replaced by another (Corollary 17).

    Parameters
    ----------
    estimator : estimator
        Any scikit-learn regressor or classifier, bagged or not.
    X : array-like, sparse array or data frame of shape (n_samples, n_features)
        The training rows.
    y : array-like of shape (n_samples,)
        The targets of the training rows.
    X_replacement : like X
        The replacements: row i takes the place of row i of X.
    y_replacement : array-like of shape (n_samples,)
        The targets of the replacements.
    X_test : array-like, sparse array or data frame of shape (n_points, n_features)
        The points at which to predict.
    rows : array-like of int or None, default=None
        The rows to replace, one at a time; None replaces each row.
    n_repeats : int, default=1
        The number of seeds over which a randomized learner is averaged. With several, shares of rows are shares of
        rows and seeds.
    n_jobs : int or None, default=None
        The number of fits in parallel.
    random_state : None, int, RandomState or Generator, default=None
        The source of the seeds.

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
    owner = "replace_one_refit"
    X, y, _ = _checked(estimator, X, y, owner)
    check_consistent_length(X, X_replacement, y_replacement)
    X_replacement, y_replacement, _ = _checked(estimator, X_replacement, y_replacement, owner)
    n = len(y)
    columns = [list(getattr(table, "columns", range(table.shape[1]))) for table in (X, X_replacement)]
    if type(X) is not type(X_replacement) or columns[0] != columns[1] or y.dtype.kind != y_replacement.dtype.kind:
        raise ValueError(
            "Replacements must look like what they replace: the same kind of table with the same columns in the same "
            f"order, and targets of the same kind. Got {type(X).__name__} with columns {columns[0]} and targets of "
            f"type {y.dtype}, and {type(X_replacement).__name__} with {columns[1]} and {y_replacement.dtype}."
        )
    targets = np.concatenate([y, y_replacement])
    classes = np.unique(targets) if is_classifier(estimator) else None

    def sequences(some: np.ndarray) -> Iterator[np.ndarray]:
        return (np.where(np.arange(n) == row, n + row, np.arange(n)) for row in some)

    both = stacked(X, X_replacement)
    names = _names_of_rows(estimator, np.tile(np.arange(n), 2))  # a replacement takes the name of what it replaces
    refits = _Refits(both, targets, classes, n, n_repeats, random_state, n_jobs, owner, names)
    moved = refits.perturbations(estimator, estimator, sequences, _checked_rows(rows, n, owner), X_test)
    bagged = list(bagged_in(estimator).values())
    scope = replace(_scope(with_strata(estimator, y), y, moved, X_test), rerun=Rerun.REPLACED)
    return replace(moved, noise_known=_draws_nothing(bagged), scope=scope)


def refit_without(
    estimator: Any,
    X: Any,
    y: Any,
    folds: list[np.ndarray],
    X_test: Any,
    *,
    one_row_less: bool = True,
    n_jobs: int | None = None,
    random_state: RandomState = None,
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Fit without each fold of rows; yield the predictions at the test points and at the rows of the fold.

    An empty fold fits with all rows. If folds are single rows (`one_row_less`), a bagged estimator uses the law Q_{n-1}
    without the row; otherwise its scheme is resolved for the rows that are left. The seed is the same in all fits.
    """
    owner = "refit_without"
    X, y, classes = _checked(estimator, X, y, owner)
    n = len(y)
    points = _checked_points(X, X_test)
    both = stacked(points, X)
    n_points = points.shape[0]
    (seed,) = Seeds.from_random_state(random_state, owner).learner_seeds(0, 1)
    smaller = _for_one_row_less(estimator, n, owner) if one_row_less else estimator
    names = _names_of_rows(estimator, np.arange(n))
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
    """Fits with all rows and with altered sequences of rows: each is a bag, so they are fitted as bags are."""

    def __init__(
        self,
        X: Any,
        y: np.ndarray,
        classes: np.ndarray | None,
        n_samples: int,
        n_repeats: int,
        random_state: RandomState,
        n_jobs: int | None,
        owner: str,
        fit_params: dict[str, Any],
    ) -> None:
        self.fit_params = fit_params
        self.X, self.y, self.classes, self.n_samples, self.n_jobs, self.owner = X, y, classes, n_samples, n_jobs, owner
        self.n_repeats = check_integer(n_repeats, "n_repeats", owner, minimum=1)
        self.seeds = Seeds.from_random_state(random_state, owner).learner_seeds(0, self.n_repeats)

    def perturbations(
        self, estimator: Any, altered: Any, sequences: Sequences, rows: np.ndarray, X_test: Any
    ) -> Perturbations:
        """Compare the estimator fitted to all rows with the altered one fitted to the altered sequences of rows."""
        self._refuse_repeats(estimator)
        with counted(self.n_repeats * (1 + len(rows))) as count:
            everything = [np.arange(self.n_samples)] * self.n_repeats
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
        """Compare a bagged model with what it is when each row is forgotten: the same as fitting it without the row."""
        self._refuse_repeats(estimator)
        points = X_test if hasattr(X_test, "shape") else np.asarray(X_test)
        whole = [np.arange(self.n_samples)] * self.n_repeats
        keeping = clone(estimator).set_params(keep_rows=True)
        job = FitJob(keeping, self.X, self.y, Bags(whole, self.n_samples), self.seeds, self.classes, self.fit_params)
        workers = n_workers(self.n_jobs, beside_others=Surroundings(keeping).may_run_beside_others)
        with counted(self.n_repeats * (1 + len(rows))) as count:
            models = Models(fit_bags(job, self.n_jobs), self.seeds)
            predictions = np.concatenate(list(predict_bags(models, points, self.classes, None)))
            count.reach(self.n_repeats)
            without = np.empty((self.n_repeats, len(rows), *predictions.shape[1:]))
            for repeat, (model, seed) in enumerate(zip(models, self.seeds, strict=True)):
                names = model.row_ids_[rows]
                for place, prediction in enumerate(self._forget(model, names, (seed, points, self.classes), workers)):
                    without[repeat, place] = prediction
                    count.one()
        return self._together(predictions, without, rows)

    def _forget(self, model: Any, names: np.ndarray, about: tuple[Any, ...], workers: int) -> Iterator[np.ndarray]:
        """Forget each row, on as many workers as there are."""
        if workers == 1:
            yield from _forget_each(model, names, *about)
            return
        pace = Pace(workers)
        batches = ((model, names[first:stop], *about) for first, stop in pace.batches(len(names)))
        with results(_forget_each, batches, self.n_jobs, pace) as found:
            yield from found

    def _refuse_repeats(self, estimator: Any) -> None:
        if self.n_repeats > 1 and not random_state_names(estimator):
            reason = "the estimator has no random_state that is None, so every repeat would be the same. Use 1."
            raise refuse_value("n_repeats", self.owner, "1 for this estimator", self.n_repeats, reason)

    def _together(self, predictions: np.ndarray, without: np.ndarray, rows: np.ndarray) -> Perturbations:
        distances = np.abs(predictions[:, None] - without) if self.n_repeats > 1 else None
        return Perturbations(predictions.mean(axis=0), without.mean(axis=0), rows, distances=distances)

    def _fit(
        self, estimator: Any, sequences: Any, seeds: np.ndarray, X_test: Any, after: Callable[[], None]
    ) -> Iterator[np.ndarray]:
        job = FitJob(estimator, self.X, self.y, Bags(sequences, len(self.y)), seeds, self.classes, self.fit_params)
        X_test = X_test if hasattr(X_test, "shape") else np.asarray(X_test)
        for prediction in fit_and_predict_bags(job, X_test, self.n_jobs):
            after()
            yield prediction


def _forget_each(
    model: Any, names: np.ndarray, seed: int, points: Any, classes: np.ndarray | None
) -> Iterator[np.ndarray]:
    """Predict with each of these rows forgotten."""
    for name in names:
        without = forget(model, [name])
        yield next(predict_bags(Models([without], np.array([seed])), points, classes, None))[0]


def _has_matched_bags(estimator: Any, n_samples: int) -> bool:
    """Whether a row can be forgotten in place of fitting without it."""
    if not isinstance(estimator, BaggedEnsemble) or isinstance(estimator.n_bags, str) or n_samples < 3:
        return False
    law = as_law(estimator.scheme, n_samples, "leave_one_out_refit")
    return law.is_matched and (not law.is_symmetric or law.without_one().inclusion_probability < 1)


def _may_leave_one_class(y: np.ndarray, classes: np.ndarray | None) -> bool:
    """Whether without some row there is one class only, for which there is nothing to learn."""
    if classes is None or len(classes) > 2:
        return False
    return len(classes) < 2 or bool((np.unique(y, return_counts=True)[1] == 1).any())


def _names_of_rows(estimator: Any, names: np.ndarray, prefix: str = "") -> dict[str, Any]:
    """What tells a bagged model, also as a last step, which rows it is fitted to, so that its bags are matched."""
    if isinstance(estimator, BaggedEnsemble):
        return {f"{prefix}row_ids": names}
    if get_config()["enable_metadata_routing"]:  # then it is for users to say who gets what
        return {}
    if isinstance(estimator, Pipeline):
        name, last = estimator.steps[-1]
        return _names_of_rows(last, names, f"{prefix}{name}__")
    if isinstance(estimator, TransformedTargetRegressor):
        return _names_of_rows(estimator.regressor, names, prefix)
    return {}


def _scope(estimator: Any, y: np.ndarray, moved: Perturbations, X_test: Any) -> Scope:
    """What refits of this estimator measure; nothing is proved about a pipeline with a bagged model in it."""
    n, some = len(y), None if len(moved.rows) == len(y) else len(moved.rows)
    quantity = Quantity.NUMBER if moved.prediction.ndim == 1 else Quantity.CLASS
    length = None if quantity is Quantity.NUMBER else 1.0
    about = {"n_points": len(moved.prediction), "points": fingerprint(X_test), "n_rows": some}
    if not isinstance(estimator, BaggedEnsemble):
        return Scope(n, quantity, Rerun.ALONE, range_length=length, **about)  # type: ignore[arg-type]
    law, drawn = as_law(estimator.scheme, n, "leave_one_out_refit"), estimator.n_bags != "all"
    how = "matched" if law.is_matched else ANY.name
    rerun, n_bags, coupling = (Rerun.ANEW, int(estimator.n_bags), how) if drawn else (Rerun.ALL, None, None)
    shift = changing = 0.0
    rule = getattr(estimator, "prediction_range", None)
    if rule is not None:
        rule = as_prediction_range(rule, "leave_one_out_refit")
        low, high = rule(y)
        length, changing = high - low, rule.delta(y)
    elif quantity is Quantity.CLASS:
        _, n_classes, lonely = labels_of(y, "leave_one_out_refit")
        shift = bounds.empty_bags_shift(law.empty_without_a_row if lonely else 0.0, n_classes)
    about |= {"delta_range": changing, "shift": shift, "coupling": coupling}
    return Scope(n, quantity, rerun, n_bags, law.fingerprint, length, **about)  # type: ignore[arg-type]


def _draws_nothing(bagged: list[Any]) -> bool:
    """Whether no ensemble draws bags at random, which would differ in each refit."""
    return all(part.n_bags == "all" for part in bagged)


def _for_one_row_less(estimator: Any, n_samples: int, owner: str) -> Any:
    """The estimator for n - 1 rows.

    An ensemble that sees all rows (the estimator itself, or the last step of the pipeline around it) uses Q_{n-1}, not
    its scheme at n - 1. One that sees fewer rows, inside a search or another ensemble, is left as it is.
    """
    smaller, bagged, whole = clone(estimator), bagged_in(estimator), _path_to_last_step(estimator)
    if whole in bagged:
        refuse_unequal(bagged[whole].scheme, owner, "Draw matched bags, without a pipeline, or use leave_one_out.")
        smaller.set_params(**{f"{whole}scheme": as_law(bagged[whole].scheme, n_samples, owner).without_one()})
    return smaller


def _path_to_last_step(estimator: Any) -> str:
    """The name of the estimator at the heart of pipelines and target transformers, which see all rows."""
    if isinstance(estimator, Pipeline):
        name, step = estimator.steps[-1]
        return f"{name}__{_path_to_last_step(step)}"
    if isinstance(estimator, TransformedTargetRegressor) and estimator.regressor is not None:
        return f"regressor__{_path_to_last_step(estimator.regressor)}"
    return ""


def _checked(estimator: Any, X: Any, y: Any, owner: str) -> tuple[Any, np.ndarray, np.ndarray | None]:
    if not (hasattr(estimator, "fit") and hasattr(estimator, "predict")) or isinstance(estimator, type):
        raise refuse_type("estimator", owner, "an unfitted scikit-learn regressor or classifier", estimator)
    X = X if hasattr(X, "shape") else np.asarray(X)
    y = np.asarray(column_or_1d(y))
    check_consistent_length(X, y)
    if len(y) < 2:
        raise ValueError(f"Found array with {len(y)} sample(s) while a minimum of 2 is required to leave one out.")
    if is_classifier(estimator):
        return X, y, np.unique(y)
    assert_all_finite(y, input_name="y", estimator_name=type(estimator).__name__)
    return X, y, None


def _checked_rows(rows: Any, n_samples: int, owner: str) -> np.ndarray:
    if rows is None:
        return np.arange(n_samples)
    chosen = np.asarray(rows)
    if chosen.ndim != 1 or chosen.dtype.kind not in "iu" or len(chosen) == 0:
        raise refuse_type("rows", owner, "a list of row numbers, or None for all", rows)
    if chosen.min() < 0 or chosen.max() >= n_samples:
        raise ValueError(f"The rows are numbered from 0 to {n_samples - 1}. Got {chosen.min()} to {chosen.max()}.")
    return chosen.astype(np.intp)


def _checked_points(X: Any, X_test: Any) -> Any:
    """Test points that can be put below the training rows: the same kind of table with the same number of columns."""
    points = X_test if hasattr(X_test, "shape") else np.asarray(X_test)
    if len(points.shape) != 2:
        raise ValueError(
            f"Expected 2D array as X_test, got an array of shape {points.shape} instead. For one point use [point]."
        )
    if points.shape[0] == 0:
        raise ValueError("X_test has no points to predict at.")
    if points.shape[1] != X.shape[1]:
        raise ValueError(f"X_test has {points.shape[1]} features, but X has {X.shape[1]}.")
    kinds = ("iloc", "vstack", "tocsr")
    if [hasattr(points, kind) for kind in kinds] != [hasattr(X, kind) for kind in kinds]:
        raise refuse_type("X_test", "refit_without", f"the same kind of table as X, {type(X).__name__}", X_test)
    return points
