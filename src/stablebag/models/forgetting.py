"""Rows forgotten and rows learned: the model of other rows, in which only the bags that changed are fitted."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone

from stablebag._checks import as_array, refuse_type, refuse_value
from stablebag._wording import Noun
from stablebag.models.ensemble import BaggedEnsemble, check_bagged, law_with_more
from stablebag.models.fitted import fitted
from stablebag.models.fitting import fit_and_predict_bags, fit_bags
from stablebag.models.parallel import counted
from stablebag.models.rows import (
    RowSource,
    are_several,
    as_table,
    fingerprint,
    index_of,
    is_per_row,
    n_rows,
    names_of,
    stacked,
    take_rows,
    validated_rows,
    y_width,
)
from stablebag.models.solving import FitJob, choice_of, with_solver
from stablebag.resampling.bags import Bags
from stablebag.resampling.law import ResolvedScheme
from stablebag.resampling.units import RowIds, Units, as_row_ids

_MANY = 0.05  # of the bags


def forget(model: Any, row_ids: Any, *, X: Any = None, **fit_params: Any) -> Any:
    """Return the model without some rows, fitting only the bags that contained them.

    It is, to the last bit, what a fit to the remaining rows would give, with their names, the same `random_state` and
    the law of bags without these rows: the bag size is kept where it is fixed, and the rate where it is random; a
    fraction is not evaluated again. Stratified bags keep their number of rows of each stratum; of drawn clusters, one
    that has lost a row is in no bag any more. For one row, a share p of the bags is fitted. The given model stays as it
    is.

    A model that was fitted with `groups` forgets whole units: all rows of a patient.

    Parameters
    ----------
    model : BaggedRegressor or BaggedClassifier
        A fitted model.
    row_ids : sequence of int or labels
        The names of the rows, or units, to forget: as given to `fit`, else the labels of a data frame's index, else the
        positions in the training table. They are what `Perturbations.most_influential` names.
    X : array-like, sparse array or data frame, default=None
        The training rows as they were given to `fit`, for a model that keeps none (``keep_rows=False``).
    **fit_params : dict
        For such a model: what else was given to `fit`, such as `sample_weight`.

    Returns
    -------
    BaggedRegressor or BaggedClassifier
        A new, fitted model.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_diabetes
    >>> from stablebag import BaggedRegressor, Subbagging, forget
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = BaggedRegressor(scheme=Subbagging(100), n_bags=50, random_state=0).fit(X, y)
    >>> without = forget(model, [3])
    >>> len(model.bags_.with_any([3]))  # so many of the 50 bags were fitted again
    9
    >>> rest = np.delete(np.arange(len(y)), 3)
    >>> fresh = BaggedRegressor(scheme=Subbagging(100), n_bags=50, random_state=0).fit(X[rest], y[rest], row_ids=rest)
    >>> bool((without.predict(X) == fresh.predict(X)).all())
    True
    """
    check_bagged(model, "forget", outputs="all")
    if "y" in fit_params:
        raise TypeError("forget takes no y: the model keeps its targets. Give X alone, for a model that keeps no rows.")
    _refuse_unmatched(model, "forget")
    return without_units(model, model.units_.positions(row_ids, "forget"), X, **fit_params)


def without_units(model: Any, gone: np.ndarray, X: Any = None, **fit_params: Any) -> Any:
    """Return the model without some units, by their numbers, as `forget` does by their names."""
    fit, units = fitted(model), model.units_
    stay = np.delete(np.arange(len(units)), gone)
    if len(stay) < 2:
        left = f"{'no' if len(stay) == 0 else 'one'} {units.noun.singular}"
        reason = f"it would leave {left}, and a model needs two. Fit anew."
        at_most = f"at most {len(units) - 2:,} of the {units.noun.count(len(units))}"
        raise refuse_value("row_ids", "forget", at_most, len(gone), reason)
    table, params = _training_data(model, X, **fit_params)
    law = _without(model.scheme_, gone, units.noun)
    # If bags are listed, those that are left are found among them, and have not changed.
    contained = np.empty(0, dtype=np.intp) if model.derandomized_ else model.bags_.with_any(gone)
    rows, n = np.flatnonzero(np.isin(units.of_rows, stay)), units.n_rows
    _refuse_change_of_meaning(params, n, len(rows), "forget")
    rest = {name: take_rows(value, rows) if is_per_row(value, n) else value for name, value in params.items()}
    return _refitted(model, take_rows(table, rows), fit.y[rows], units.take(stay), law, rest, lambda bags: contained)


def _refitted(
    model: Any,
    X: Any,
    y: np.ndarray,
    units: Units,
    law: ResolvedScheme,
    fit_params: dict[str, Any],
    changed: Callable[[Bags], np.ndarray],
) -> Any:
    """Return a new model of other rows, from the same seeds, in which only the bags that changed are fitted.

    It is what a fit to these rows with ``scheme=law.scheme`` would give. `changed` tells, of the new bags, the
    numbers of those that are not as they were.
    """
    _refuse_changed_parameters(model)
    new_model = clone(model).set_params(scheme=law.scheme)
    new_model.__dict__.update({name: value for name, value in vars(model).items() if name == "output_names_"})
    job = new_model._prepared(X, y, units, fit_params, model._seeds)
    # Arrays refer to the classes by their place, which a class that is gone or new changes.
    before, now = model._average.classes, job.classes
    same_classes = before is None or now is None or np.array_equal(before, now)
    models = list(model.estimators_.stored if same_classes else model.estimators_)
    if model.derandomized_:  # there are other bags now: they are told by their rows
        places = dict(zip(units.ids.names.tolist(), range(len(units)), strict=True))
        moved = np.array([places.get(name, -1) for name in model.units_.ids.names.tolist()])
        known = {tuple(moved[bag].tolist()): one for bag, one in zip(model.bags_, models, strict=True)}
        models = [known.get(tuple(bag.tolist())) for bag in job.average.bags]
        new = np.array([number for number, one in enumerate(models) if one is None], dtype=np.intp)
        new = np.union1d(new, changed(job.average.bags))
    else:
        new = changed(job.average.bags)
    # What a bag without rows predicts depends on the range or the classes.
    new = np.union1d(new, np.flatnonzero(job.bags.sizes == 0))
    structure = model.estimators_.structure
    if structure is not None and structure.holds_rows:  # which have other positions now
        new = np.arange(len(job))
    changed_bags = with_solver(job.only(new)) if len(new) else job
    with counted(len(new)) as count:
        for number, one in zip(new, fit_bags(changed_bags, model.n_jobs) if len(new) else [], strict=True):
            models[number] = one
            count.one()
    choice = changed_bags.choice or model.solver_
    return new_model._set_fitted(job, models, choice, choice.structure, model)


def _refuse_changed_parameters(model: Any) -> None:
    """Refuse to fit some bags with other parameters than the rest."""
    now, before = model._fit_settings({}), model._settings
    free = ("keep_rows", "solver")  # every solver gives the same bits
    changed = {name for name in now if name not in free and now[name] != before.get(name)}
    if changed:
        last = [name for name in sorted(changed) if not any(other.startswith(f"{name}__") for other in changed)]
        names = ", ".join(name for name in last if not name.endswith("__steps")) or last[0]
        raise ValueError(f"Bags that stay were fitted with other parameters: {names} changed. Fit anew.")


def _training_data(model: Any, X: Any = None, **fit_params: Any) -> tuple[Any, dict[str, Any]]:
    """Return the training rows and what was passed to the learner's fit: those kept, or those given again."""
    if isinstance(getattr(model, "_X", X), RowSource):
        raise ValueError(
            "This model was fitted to rows that are not in memory, and its bags cannot be fitted again from there. "
            "Fit a model anew, to files with other rows; or fit it in memory: fit(*table.to_memory())."
        )
    if hasattr(model, "_X"):
        if X is not None or fit_params:
            raise ValueError("This model has kept its training rows. Leave X and the fit parameters out.")
        return model._X, model._fit_params
    if X is None:
        raise ValueError(
            "This model has kept no training rows (keep_rows=False). Give them again, as they were in fit: X=..."
        )
    X = validated_rows(model, X, reset=False, ensure_min_samples=2)
    params = model._routed(model._learner(), n_rows(X), fit_params.pop("sample_weight", None), fit_params)
    now, before = model._fit_settings(params), model._settings
    changed = [name for name in now | before if "fit parameter" in name and now.get(name) != before.get(name)]
    if fingerprint(X) != model._table or changed:
        what = "rows" if not changed else ", ".join(name.removeprefix("the fit parameter ") for name in changed)
        raise ValueError(
            f"The {what} are not those that the model was fitted to. Give them as they were in fit, in the same "
            "order; after forgetting rows, without these."
        )
    return X, params


def refit_bags(model: Any, gone: np.ndarray, numbers: list[np.ndarray], X: Any) -> Iterator[np.ndarray]:
    """Refit some bags without a unit, for each of some units; yield what each bag predicts at points, not clipped.

    They are the bags of these numbers that `without_units` would fit, but for units that change the range of the
    predictions or the classes. One job fits them all.
    """
    fit = fitted(model)
    units, average = fit.units, fit.average
    table, params = _training_data(model)

    def sequences() -> Iterator[np.ndarray]:
        for unit, some in zip(gone.tolist(), numbers, strict=True):
            left = units.take(np.delete(np.arange(len(units)), unit))
            law, rows = _without(model.scheme_, np.array([unit]), units.noun), np.flatnonzero(units.of_rows != unit)
            whole = len(some) > _MANY * len(model.bags_)  # then drawing all at once takes less time
            bags = law.draw(len(model.bags_), model._seeds, row_ids=left.ids) if whole else None
            for number in some.tolist():
                bag = bags[number] if bags is not None else law.draw(1, model._seeds, first=number, row_ids=left.ids)[0]
                yield rows[left.rows_of(bag)]

    bags, flat = Bags(sequences(), units.n_rows), np.concatenate(numbers)
    more = {"empty_value": average.empty_value, "choice": choice_of(model.solver), "numbers": flat}
    job = FitJob(model._learner(), table, fit.y, bags, model.estimators_.seeds[flat], average.classes, params, **more)
    return fit_and_predict_bags(replace(job, subspaces=model.estimators_.subspaces), X, model.n_jobs)


def learn(
    model: Any,
    X: Any,
    y: Any,
    row_ids: Any = None,
    *,
    groups: Any = None,
    X_before: Any = None,
    strata: Any = None,
    **fit_params: Any,
) -> Any:
    """Return the model with more rows, fitting only the bags that contain them: the mirror image of `forget`.

    It is, to the last bit, what a fit to all of the rows would give, with their names, the same `random_state` and bags
    of the same size, or rate, as before. The given model stays as it is.

    A model that was fitted with `groups` learns rows of new units, and more rows of units that it knows.

    Parameters
    ----------
    model : BaggedRegressor or BaggedClassifier
        A fitted model.
    X : array-like, sparse array or data frame of shape (n_new, n_features)
        The new rows.
    y : array-like of shape (n_new,) or (n_new, n_outputs)
        Their targets.
    row_ids : None, "index", or sequence of int or labels, default=None
        Their names, which no row may have already. None goes on counting, if names are whole numbers.
    groups : sequence of int or labels, default=None
        The unit of each new row, for a model that was fitted with groups.
    X_before : array-like, sparse array or data frame, default=None
        The training rows as they were given to `fit`, for a model that keeps none (``keep_rows=False``).
    strata : array-like of shape (n_new,) or None, default=None
        For stratified bags: the stratum of each new row. None is its class, if the strata are the classes.
    **fit_params : dict
        What `fit` was given beside X and y, such as `sample_weight`: for the new rows, and for a model that keeps no
        rows for all of them, the new ones last.

    Returns
    -------
    BaggedRegressor or BaggedClassifier
        A new, fitted model, with the new rows after the others.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from stablebag import BaggedRegressor, forget, learn
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = BaggedRegressor(n_bags=50, random_state=0).fit(X, y)
    >>> again = learn(forget(model, [3]), X[3:4], y[3:4], row_ids=[3])
    >>> bool((again.predict(X) == model.predict(X)).all())
    True
    """
    check_bagged(model, "learn", outputs="all")
    _refuse_unmatched(model, "learn")
    _refuse_other_outputs(model, y)
    X, y = as_table(X, "X", "learn"), as_array(y, "y", "learn", "one target for each of the new rows")
    known = fitted(model).y
    if y.ndim != known.ndim or len(y) == 0 or n_rows(X) != len(y) or y.dtype.kind == "V":
        raise refuse_value("y", "learn", "one target for each of the new rows", y.shape, "one row or more.")
    n, more = model.units_.n_rows, len(y)
    units = _longer_units(model.units_, row_ids, groups, X, more)
    law = law_with_more(model.scheme_, model.units_, known, y, strata)
    law = law or _with(model.scheme_, len(units) - len(model.units_), units.noun)
    new = fitted(model).checked_points(X)
    if hasattr(model, "_X"):
        before, given = _training_data(model)
        if "groups" in given and groups is not None:  # the learner has them, too
            fit_params = {"groups": groups, **fit_params}
        _refuse_change_of_meaning(given, n, n + more, "learn")
        params = {name: _longer(name, value, fit_params, n, more) for name, value in given.items()}
        unknown = sorted(set(fit_params) - set(given))
        if unknown:
            raise refuse_value("fit_params", "learn", f"those of the first fit, {sorted(given)}", unknown)
    else:
        old = {name: value[:n] if is_per_row(value, n + more) else value for name, value in fit_params.items()}
        if X_before is None:
            raise ValueError(
                "This model has kept no training rows (keep_rows=False). Give them again, as they were in fit: "
                "X_before=..."
            )
        before, _ = _training_data(model, X_before, **old)
        params = fit_params
    if type(before) is not type(new):
        raise refuse_type("X", "learn", f"a {type(before).__name__}, as the rows before", X)
    table = stacked(before, new)
    if _types(table) != _types(before):
        reason = "bags that stay have seen the types before. Convert the new rows."
        raise refuse_value("X", "learn", f"of the types of the rows before, {_types(before)}", _types(new), reason)
    targets = np.concatenate([known, y])
    if targets.dtype.kind != known.dtype.kind:
        raise refuse_type("y", "learn", f"of the kind of the targets before, {known.dtype}", y.dtype)
    changed = np.unique(units.of_rows[n:])
    return _refitted(model, table, targets, units, law, params, lambda bags: bags.with_any(changed))


def _refuse_change_of_meaning(params: dict[str, Any], n_before: int, n_after: int, owner: str) -> None:
    """Refuse a fit parameter that would be sliced by bag, by its length alone, with one number of rows only."""
    for name, value in params.items():
        if not is_per_row(value, n_before) and is_per_row(value, n_after):
            raise ValueError(
                f"The fit parameter {name} has {n_after:,} entries, as many as there are rows after {owner}: it would "
                "be sliced by bag now, and was not before. Fit anew."
            )


def _refuse_unmatched(model: BaggedEnsemble, owner: str) -> None:
    if not model.scheme_.is_matched:
        reason = "it draws other bags when a row is gone. Fit anew, or define pick in place of draw_bag."
        raise refuse_type("model", owner, "a model whose scheme draws matched bags", model.scheme_.scheme, reason)


def _refuse_other_outputs(model: Any, y: Any) -> None:
    """Refuse targets of other outputs than those that the model has, or in another order."""
    if not hasattr(model, "output_names_"):
        return
    known, reason = model.output_names_.tolist(), "the new rows have the outputs of those before."
    width = y_width(y) if are_several(y) else 1
    given = names_of(y, "learn") if width > 1 else None
    if width != len(known) or (given is not None and given.tolist() != known):
        columns = width if given is None else given.tolist()
        raise refuse_value("y", "learn", f"with the columns {known}", columns, reason)


def _without(law: ResolvedScheme, gone: Any, noun: Noun) -> ResolvedScheme:
    """The law of bags when these rows, or units, are gone."""
    n, n_gone = law.n_samples, len(gone)
    if not law.is_symmetric:
        smaller = law.without(gone)
        if smaller.largest_inclusion >= 1:
            row = int(np.argmax(smaller.inclusion_probabilities >= 1))
            raise ValueError(
                f"Without {n_gone:,} of {noun.count(n)}, {noun.singular} {row} of those left would be in every bag "
                f"({smaller}). Fit anew with smaller bags."
            )
        return smaller
    for _ in range(n_gone):
        if law.n_samples < 2 or law.inclusion_probability >= 1:
            break
        law = law.without_one()
    if law.n_samples > n - n_gone or law.inclusion_probability >= 1:
        raise ValueError(
            f"Without {n_gone:,} of {noun.count(n)}, bags of the same size would have all that are left. Fit anew with "
            "smaller bags."
        )
    return law


def _with(law: ResolvedScheme, more: int, noun: Noun) -> ResolvedScheme:
    """The law of bags with so many rows, or units, more."""
    if not law.is_symmetric:
        unlike = f"{noun.plural} are not all alike"
        raise TypeError(f"What {law} would be with more {noun.plural} is not known, because {unlike}. Fit anew.")
    larger = law.scheme.resolve(law.n_samples + more)
    if _without(larger, range(more), noun) != law:
        raise TypeError(f"The law with more rows, without which it is {law}, is not known. Fit anew.")
    return larger


def _types(table: Any) -> Any:
    """The types of a table's columns, categories included, as far as it says."""
    types = getattr(table, "dtypes", None)
    return table.dtype if types is None else list(types)


def _longer_units(before: Units, row_ids: Any, groups: Any, X: Any, more: int) -> Units:
    """The units of all rows, from those of the rows before and the names of the new ones."""
    if groups is not None:
        if not before.are_groups:
            reason = "the model was fitted without groups. Fit it anew, or give row_ids."
            raise refuse_value("groups", "learn", "None", groups, reason)
        if row_ids is not None:
            reason = "with groups, units have names and rows have none. Leave row_ids out."
            raise refuse_value("row_ids", "learn", "None beside groups", row_ids, reason)
        return before.joined(groups, more, "learn")
    if before.are_groups:
        reason = f"the rows before belong to {before.noun.plural}."
        raise refuse_value("groups", "learn", f"the {before.noun.singular} of each new row", None, reason)
    names = _new_names(before.ids, row_ids, X, more)
    known = [name for name in names if name in before.ids]
    if known:
        raise refuse_value("row_ids", "learn", "names of new rows", known[0], "such a row is in the model already.")
    labels = None
    if before.has_labels and row_ids is None:
        index = index_of(X)
        labels = [*before.labels, *(index if index is not None else names.names)]
    return Units(before.ids.joined(names, "learn"), labels=labels)


def _new_names(before: RowIds, row_ids: Any, X: Any, more: int) -> RowIds:
    if row_ids is not None:
        return as_row_ids(row_ids, X, more, "learn")
    if not before.are_numbers:
        reason = "the rows before have labels."
        raise refuse_value("row_ids", "learn", "a name for each of the new rows", row_ids, reason)
    first = int(before.names.max()) + 1
    return RowIds(np.arange(first, first + more), more, "learn")


def _longer(name: str, value: Any, given: dict[str, Any], n: int, more: int) -> Any:
    """A fit parameter for all rows, from that of the rows before and that of the new ones."""
    if not is_per_row(value, n):
        return value
    if name not in given:
        reason = "the rows before had one."
        raise refuse_value(name, "learn", "one entry for each of the new rows", None, reason)
    added = np.asarray(given[name])
    if added.shape != (more, *np.shape(value)[1:]):
        raise refuse_value(name, "learn", f"{more:,} entries, one for each of the new rows", added.shape)
    return np.concatenate([np.asarray(value), added])
