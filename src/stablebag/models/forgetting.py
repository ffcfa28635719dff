"""Remove rows from a fitted model, or add rows to it, by refitting only the bags that change."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone

from stablebag._checks import as_array, refuse_type, refuse_value
from stablebag._wording import Noun
from stablebag.models.ensemble import BaggedEnsemble, changed_settings, check_bagged, law_with_more
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
    """Return the model without some rows, refitting only the bags that contained them.

    The result is, to the last bit, the model fitted to the remaining rows with their row IDs and the same
    `random_state`, and with bags of the same size (or inclusion probability, if the size is random): a bag size given
    as a fraction is not computed again from fewer rows. Stratified bags keep their number of rows per stratum. A
    cluster of `ClusterSubbagging` that lost a row is no longer in any bag. Without one row, a share p of the bags is
    refitted. The given model does not change.

    A model fitted with `groups` forgets whole groups, for example all rows of a patient.

    Parameters
    ----------
    model : BaggedRegressor or BaggedClassifier
        A fitted model.
    row_ids : sequence of int or labels
        The IDs of the rows (or the names of the groups) to forget: those that were passed to `fit`, or else the index
        of the data frame, or else the positions. `Perturbations.most_influential` returns the same IDs.
    X : array-like, sparse array or data frame, default=None
        The same training rows as in `fit`, for a model that did not store them (``keep_rows=False``).
    **fit_params : dict
        For such a model: the other arguments of `fit`, for example `sample_weight`.

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
    >>> len(model.bags_.with_any([3]))  # the number of bags that were refitted
    9
    >>> rest = np.delete(np.arange(len(y)), 3)
    >>> fresh = BaggedRegressor(scheme=Subbagging(100), n_bags=50, random_state=0).fit(X[rest], y[rest], row_ids=rest)
    >>> bool((without.predict(X) == fresh.predict(X)).all())
    True
    """
    check_bagged(model, "forget", outputs="all")
    if "y" in fit_params:
        raise TypeError("forget has no parameter y, because the model stores its targets. Remove y.")
    _refuse_unmatched(model, "forget")
    return without_units(model, model.units_.positions(row_ids, "forget"), X, **fit_params)


def without_units(model: Any, gone: np.ndarray, X: Any = None, **fit_params: Any) -> Any:
    """Return the model without some groups, given by their numbers; `forget` takes their names."""
    fit, units = fitted(model), model.units_
    stay = np.delete(np.arange(len(units)), gone)
    if len(stay) < 2:
        raise ValueError(
            f"Cannot forget {len(gone):,} of {units.noun.count(len(units))}, because a model needs at least two. Fit a "
            "new model to other rows."
        )
    table, params = _training_data(model, X, **fit_params)
    law = _without(model.scheme_, gone, units.noun)
    # With n_bags="all", `_refitted` finds the remaining bags among the earlier ones.
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
    """Return a model of other rows with the same seeds, fitting only the bags that changed.

    It is the model that a fit to these rows with ``scheme=law.scheme`` would give. `changed` returns the numbers of the
    new bags that differ from the earlier ones.
    """
    _refuse_changed_parameters(model)
    new_model = clone(model).set_params(scheme=law.scheme)
    new_model.__dict__.update({name: value for name, value in vars(model).items() if name == "output_names_"})
    job = new_model._prepared(X, y, units, fit_params, model._seeds)
    # Arrays refer to classes by position, which changes if there are more classes or fewer.
    before, now = model._average.classes, job.classes
    same_classes = before is None or now is None or np.array_equal(before, now)
    models = list(model.estimators_.stored if same_classes else model.estimators_)
    if model.derandomized_:  # find the earlier model of each bag by its rows
        places = dict(zip(units.ids.names.tolist(), range(len(units)), strict=True))
        moved = np.array([places.get(name, -1) for name in model.units_.ids.names.tolist()])
        known = {tuple(moved[bag].tolist()): one for bag, one in zip(model.bags_, models, strict=True)}
        models = [known.get(tuple(bag.tolist())) for bag in job.average.bags]
        new = np.array([number for number, one in enumerate(models) if one is None], dtype=np.intp)
        new = np.union1d(new, changed(job.average.bags))
    else:
        new = changed(job.average.bags)
    # The prediction of a bag without rows depends on the range or the classes.
    new = np.union1d(new, np.flatnonzero(job.bags.sizes == 0))
    structure = model.estimators_.structure
    if structure is not None and structure.holds_rows:  # the positions of the rows changed
        new = np.arange(len(job))
    changed_bags = with_solver(job.only(new)) if len(new) else job
    with counted(len(new)) as count:
        for number, one in zip(new, fit_bags(changed_bags, model.n_jobs) if len(new) else [], strict=True):
            models[number] = one
            count.one()
    choice = changed_bags.choice or model.solver_
    return new_model._set_fitted(job, models, choice, choice.structure, model)


def _refuse_changed_parameters(model: Any) -> None:
    """Raise ValueError if parameters changed since the bags were fitted."""
    free = ("keep_rows", "solver")  # every solver gives the same bits
    now = {name: value for name, value in model._fit_settings({}).items() if name not in free}
    before = {
        name: value
        for name, value in model._settings.items()
        if name not in free and not name.startswith("the fit parameter")
    }
    if changed := changed_settings(now, before):
        raise ValueError(f"Cannot reuse the fitted bags: {', '.join(changed)} changed since fit. Refit the model.")


def _training_data(model: Any, X: Any = None, **fit_params: Any) -> tuple[Any, dict[str, Any]]:
    """Return the training rows and the fit parameters: those stored, or else those passed again."""
    if isinstance(getattr(model, "_X", X), RowSource):
        raise ValueError(
            "Cannot change the rows of a model that was fitted to files. Fit a new model to other files, or fit it in "
            "memory: fit(*table.to_memory())."
        )
    if hasattr(model, "_X"):
        if X is not None or fit_params:
            raise ValueError("The model stored its training rows in fit. Do not pass X or fit parameters again.")
        return model._X, model._fit_params
    if X is None:
        raise ValueError("The model did not store its training rows (keep_rows=False). Pass the same rows again: X=...")
    X = validated_rows(model, X, reset=False, ensure_min_samples=2)
    params = model._routed(model._learner(), n_rows(X), fit_params.pop("sample_weight", None), fit_params)
    now, before = model._fit_settings(params), model._settings
    changed = [name for name in now | before if "fit parameter" in name and now.get(name) != before.get(name)]
    if fingerprint(X) != model._table or changed:
        names = ", ".join(name.removeprefix("the fit parameter ") for name in changed) or "The training rows"
        raise ValueError(
            f"{names} must be the same as in fit, in the same order. Leave out rows that the model already forgot."
        )
    return X, params


def refit_bags(model: Any, gone: np.ndarray, numbers: list[np.ndarray], X: Any) -> Iterator[np.ndarray]:
    """Refit some bags without a group, for each of some groups; yield each bag's predictions, not yet clipped.

    One job fits the bags of these numbers as `without_units` would. The groups must not change the range of the
    predictions or the classes.
    """
    fit = fitted(model)
    units, average = fit.units, fit.average
    table, params = _training_data(model)

    def sequences() -> Iterator[np.ndarray]:
        for unit, some in zip(gone.tolist(), numbers, strict=True):
            left = units.take(np.delete(np.arange(len(units)), unit))
            law, rows = _without(model.scheme_, np.array([unit]), units.noun), np.flatnonzero(units.of_rows != unit)
            whole = len(some) > _MANY * len(model.bags_)  # drawing all at once is faster then
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
    """Return the model with more rows, refitting only the bags that contain them: the reverse of `forget`.

    The result is, to the last bit, the model fitted to all rows with their row IDs, the same `random_state` and bags of
    the same size (or inclusion probability) as before. The given model does not change.

    A model fitted with `groups` accepts rows of new groups and more rows of known groups.

    Parameters
    ----------
    model : BaggedRegressor or BaggedClassifier
        A fitted model.
    X : array-like, sparse array or data frame of shape (n_new, n_features)
        The new rows.
    y : array-like of shape (n_new,) or (n_new, n_outputs)
        Their targets.
    row_ids : None, "index", or sequence of int or labels, default=None
        New IDs for these rows. If the IDs are integers, None continues from the largest.
    groups : sequence of int or labels, default=None
        The group of each new row, for a model fitted with groups.
    X_before : array-like, sparse array or data frame, default=None
        The same training rows as in `fit`, for a model that did not store them (``keep_rows=False``).
    strata : array-like of shape (n_new,) or None, default=None
        For stratified bags: the stratum of each new row. None uses its class, if the strata are the classes.
    **fit_params : dict
        The other arguments of `fit`, for example `sample_weight`, for the new rows. For a model that did not store its
        rows: for all rows, with the new ones last.

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
        raise ValueError(
            f"learn needs one target per new row and at least one row, got {n_rows(X):,} rows and y of shape {y.shape}."
        )
    n, more = model.units_.n_rows, len(y)
    units = _longer_units(model.units_, row_ids, groups, X, more)
    law = law_with_more(model.scheme_, model.units_, known, y, strata)
    law = law or _with(model.scheme_, len(units) - len(model.units_), units.noun)
    new = fitted(model).checked_points(X)
    if hasattr(model, "_X"):
        before, given = _training_data(model)
        if "groups" in given and groups is not None:  # the learner requested them
            fit_params = {"groups": groups, **fit_params}
        _refuse_change_of_meaning(given, n, n + more, "learn")
        params = {name: _longer(name, value, fit_params, n, more) for name, value in given.items()}
        unknown = sorted(set(fit_params) - set(given))
        if unknown:
            raise ValueError(f"learn got {unknown[0]}, which fit did not get. Refit the model with it, or remove it.")
    else:
        old = {name: value[:n] if is_per_row(value, n + more) else value for name, value in fit_params.items()}
        if X_before is None:
            raise ValueError(
                "The model did not store its training rows (keep_rows=False). Pass the same rows again: X_before=..."
            )
        before, _ = _training_data(model, X_before, **old)
        params = fit_params
    if type(before) is not type(new):
        raise refuse_type("X", "learn", f"a {type(before).__name__} like the training rows", X)
    table = stacked(before, new)
    if _types(table) != _types(before):
        reason = "all rows need the same column types. Convert the new rows."
        raise refuse_value("X", "learn", f"of the types {_types(before)}, like the training rows", _types(new), reason)
    targets = np.concatenate([known, y])
    if targets.dtype.kind != known.dtype.kind:
        raise refuse_type("y", "learn", f"of type {known.dtype}, like the training targets", y.dtype)
    changed = np.unique(units.of_rows[n:])
    return _refitted(model, table, targets, units, law, params, lambda bags: bags.with_any(changed))


def _refuse_change_of_meaning(params: dict[str, Any], n_before: int, n_after: int, owner: str) -> None:
    """Reject a fit parameter that had one entry per row only before, or only after, the number of rows changed."""
    for name, value in params.items():
        if not is_per_row(value, n_before) and is_per_row(value, n_after):
            raise ValueError(
                f"The fit parameter {name} has {n_after:,} entries, as many as there will be rows after {owner}, so "
                "each bag would get only a part of it now. Refit the model instead."
            )


def _refuse_unmatched(model: BaggedEnsemble, owner: str) -> None:
    if not model.scheme_.is_matched:
        reason = "removing a row changes all its bags. Refit the model, or define pick instead of draw_bag."
        raise refuse_type("model", owner, "a model whose scheme draws matched bags", model.scheme_.scheme, reason)


def _refuse_other_outputs(model: Any, y: Any) -> None:
    """Reject targets with other outputs than the model's, or in another order."""
    if not hasattr(model, "output_names_"):
        return
    known, reason = model.output_names_.tolist(), "use the columns of the training targets, in the same order."
    width = y_width(y) if are_several(y) else 1
    given = names_of(y, "learn") if width > 1 else None
    if width != len(known) or (given is not None and given.tolist() != known):
        columns = width if given is None else given.tolist()
        raise refuse_value("y", "learn", f"with the columns {known}", columns, reason)


def _without(law: ResolvedScheme, gone: Any, noun: Noun) -> ResolvedScheme:
    """The law of the bags without these rows or groups."""
    n, n_gone = law.n_samples, len(gone)
    if not law.is_symmetric:
        smaller = law.without(gone)
        if smaller.largest_inclusion >= 1:
            row = int(np.argmax(smaller.inclusion_probabilities >= 1))
            raise ValueError(
                f"Without {n_gone:,} of {noun.count(n)}, {noun.singular} {row} of those left would be in every bag "
                f"({smaller}). Fit a new model with smaller bags."
            )
        return smaller
    for _ in range(n_gone):
        if law.n_samples < 2 or law.inclusion_probability >= 1:
            break
        law = law.without_one()
    if law.n_samples > n - n_gone or law.inclusion_probability >= 1:
        raise ValueError(
            f"Without {n_gone:,} of {noun.count(n)}, a bag of the same size would contain all the others. Fit a new "
            "model with smaller bags."
        )
    return law


def _with(law: ResolvedScheme, more: int, noun: Noun) -> ResolvedScheme:
    """The law of the bags with more rows or groups."""
    if not law.is_symmetric:
        raise TypeError(
            f"learn cannot extend {law} to more {noun.plural}, because it does not treat all {noun.plural} alike. Fit "
            "a new model."
        )
    larger = law.scheme.resolve(law.n_samples + more)
    if _without(larger, range(more), noun) != law:
        raise TypeError(f"learn cannot extend {law} to more {noun.plural}. Fit a new model.")
    return larger


def _types(table: Any) -> Any:
    """The types of a table's columns, including categories."""
    types = getattr(table, "dtypes", None)
    return table.dtype if types is None else list(types)


def _longer_units(before: Units, row_ids: Any, groups: Any, X: Any, more: int) -> Units:
    """The groups of all rows: the known ones and those of the new rows."""
    if groups is not None:
        if not before.are_groups:
            raise ValueError(
                "learn got groups, but the model was fitted without them. Use row_ids, or refit with groups."
            )
        if row_ids is not None:
            raise ValueError("learn got both groups and row_ids. With groups, rows have no IDs. Remove row_ids.")
        return before.joined(groups, more, "learn")
    if before.are_groups:
        raise ValueError(
            f"The model was fitted with groups, so learn needs the {before.noun.singular} of each new row. Use "
            "learn(model, X, y, groups=...)."
        )
    names = _new_names(before.ids, row_ids, X, more)
    known = [name for name in names if name in before.ids]
    if known:
        reason = "the model already has a row with this ID. Use other IDs, or forget this row first."
        raise refuse_value("row_ids", "learn", "new row IDs", known[0], reason)
    labels = None
    if before.has_labels and row_ids is None:
        index = index_of(X)
        labels = [*before.labels, *(index if index is not None else names.names)]
    return Units(before.ids.joined(names, "learn"), labels=labels)


def _new_names(before: RowIds, row_ids: Any, X: Any, more: int) -> RowIds:
    if row_ids is not None:
        return as_row_ids(row_ids, X, more, "learn")
    if not before.are_numbers:
        raise ValueError("The rows of this model have labels as IDs, so learn needs one per new row: row_ids=...")
    first = int(before.names.max()) + 1
    return RowIds(np.arange(first, first + more), more, "learn")


def _longer(name: str, value: Any, given: dict[str, Any], n: int, more: int) -> Any:
    """A fit parameter for all rows: the stored entries and those of the new rows."""
    if not is_per_row(value, n):
        return value
    if name not in given:
        raise ValueError(f"fit got {name}, so learn needs it for the new rows: learn(model, X, y, {name}=...).")
    added = np.asarray(given[name])
    if added.shape != (more, *np.shape(value)[1:]):
        raise ValueError(f"{name} must have one entry for each of the {more:,} new rows, got shape {added.shape}.")
    return np.concatenate([np.asarray(value), added])
