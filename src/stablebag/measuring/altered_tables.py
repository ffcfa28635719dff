"""What refits share: which rows are left when a unit is left out or replaced, and what a bagged estimator is told."""

from typing import Any

import numpy as np
from sklearn import get_config
from sklearn.base import clone
from sklearn.compose import TransformedTargetRegressor
from sklearn.pipeline import Pipeline

from stablebag._checks import refuse_value
from stablebag.learning.ensemble import BaggedEnsemble, bagged_in, units_of
from stablebag.learning.strata import refuse_unequal
from stablebag.resampling.schemes import as_law
from stablebag.resampling.units import Units


def units_for(estimator: Any, X: Any, n_samples: int, row_ids: Any, groups: Any, owner: str) -> Units:
    """Return what is left out; a fitted model of as many rows knows what its units are."""
    known = getattr(estimator, "units_", None)
    if row_ids is None and groups is None and isinstance(known, Units) and known.n_rows == n_samples:
        return known
    return units_of(X, n_samples, row_ids, groups, owner)


def rows_without(units: Units, unit: int) -> np.ndarray:
    """Return all rows but those of a unit."""
    return np.delete(np.arange(units.n_rows), units.rows_of(np.array([unit])))


def replacing_units(units: Units, groups: Any, n_rows: int, owner: str) -> Units:
    """Return the units of the replacements, in the order of what they replace."""
    if not units.are_groups:
        if groups is not None:
            reason = "rows are replaced here. Give groups as well, or leave it out."
            raise refuse_value("groups_replacement", owner, "None without groups", groups, reason)
        return units
    if groups is None:
        reason = "they tell which rows take the place of which unit."
        raise refuse_value("groups_replacement", owner, "the unit of each replacement", None, reason)
    others = Units.of_groups(groups, n_rows, owner)
    if len(others) != len(units) or any(name not in others.ids for name in units.ids):
        missing = [name for name in units.ids if name not in others.ids] or ["more units than there are"]
        reason = f"every unit needs its replacement. Without one, or one too many: {missing[0]!r}."
        raise refuse_value("groups_replacement", owner, "the same units as groups", len(others), reason)
    now = np.empty(len(units), dtype=np.intp)
    now[others.ids.positions(units.ids.names, owner)] = np.arange(len(units))
    return Units(units.ids, now[others.of_rows], noun=units.noun)


def rows_replaced(units: Units, others: Units, unit: int) -> np.ndarray:
    """Return rows of a table with its replacements below: all, but for a unit the rows that take its place."""
    own, new = units.rows_of(np.array([unit])), units.n_rows + others.rows_of(np.array([unit]))
    if len(own) == len(new):
        rows = np.arange(units.n_rows)
        rows[own] = new
        return rows
    before, after = np.arange(own[0]), np.setdiff1d(np.arange(own[0], units.n_rows), own)
    return np.concatenate([before, new, after])


def names_of_rows(estimator: Any, units: Units, *below: Units, prefix: str = "") -> dict[str, Any]:
    """Return what tells a bagged model, also as a last step, which rows it gets, so that its bags are matched."""
    if isinstance(estimator, BaggedEnsemble):
        names = np.concatenate([part.names_of_rows for part in (units, *below)])
        return {f"{prefix}{'groups' if units.are_groups else 'row_ids'}": names}
    if get_config()["enable_metadata_routing"]:
        # Groups are requested by bagged models; that names are, is for users to say.
        return names_of_rows(bagged_last(estimator), units, *below) if units.are_groups else {}
    if isinstance(estimator, Pipeline):
        name, last = estimator.steps[-1]
        return names_of_rows(last, units, *below, prefix=f"{prefix}{name}__")
    if isinstance(estimator, TransformedTargetRegressor):
        return names_of_rows(estimator.regressor, units, *below, prefix=prefix)
    return {}


def bagged_last(estimator: Any) -> Any:
    """Return the bagged model at the heart of pipelines and target transformers, or else None."""
    return bagged_in(estimator).get(_path_to_last_step(estimator))


def for_one_less(estimator: Any, n_samples: int, owner: str) -> Any:
    """Return the estimator for n - 1 rows, or units.

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
