"""Strata of a fit: the law of the bags, where it depends on which stratum each row is in."""

from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier

from stablebag._checks import refuse_value
from stablebag._wording import ROWS
from stablebag.resampling.partition import Partition
from stablebag.resampling.scheme import ResamplingScheme, ResolvedScheme
from stablebag.resampling.schemes import as_law
from stablebag.resampling.stratified import StratifiedSubbagging, refuse_strata, with_labels
from stablebag.resampling.units import Units


def law_of_rows(scheme: Any, y: np.ndarray, strata: Any, units: Units, owner: str, *, by_class: bool) -> ResolvedScheme:
    """Return the law of a scheme for these rows; strata that it lacks are those given, or the classes.

    Parameters
    ----------
    scheme : ResamplingScheme, ResolvedScheme or the name of a scheme
        How bags are drawn.
    y : ndarray of shape (n_samples,)
        The targets.
    strata : array-like of shape (n_samples,) or None
        What was given to `fit`.
    units : Units
        What bags are drawn of. If it is units of several rows, the strata are of units.
    owner : str
        Whose fit it is, for error messages.
    by_class : bool
        Whether the targets are classes, which are the strata if none are given.

    Returns
    -------
    ResolvedScheme
    """
    lacks_them = isinstance(scheme, StratifiedSubbagging) and scheme.strata is None
    if strata is not None and not lacks_them:
        refuse_strata(scheme.scheme if isinstance(scheme, ResolvedScheme) else scheme, strata, f"{owner}.fit")
    if lacks_them and strata is None and not by_class:
        reason = "a regressor has no classes to take their place. Give a label for each row: fit(X, y, strata=...)."
        raise refuse_value("strata", f"{owner}.fit", "given for stratified bags", None, reason)
    labels = y if strata is None else Partition.of(strata, len(y), "strata", f"{owner}.fit").values
    scheme = with_labels(scheme, labels, units)
    try:
        return as_law(scheme, len(units), owner)
    except ValueError as error:
        if units.noun == ROWS:
            raise
        # What is said of rows is meant of units.
        raise ValueError(units.noun.in_place_of_rows(str(error))) from error


def with_strata(estimator: Any, y: np.ndarray, units: Units) -> Any:
    """Return an estimator that is to be fitted without some rows, with the strata that it has of all of them."""
    scheme = getattr(estimator, "scheme", None)
    if not isinstance(scheme, StratifiedSubbagging) or scheme.strata is not None:  # also of what is not bagged
        return estimator
    if hasattr(estimator, "y_") and np.array_equal(estimator.y_, y):  # a fitted model knows its strata
        return clone(estimator).set_params(scheme=estimator.scheme_.scheme)
    if not is_classifier(estimator):
        reason = "give them to the scheme: StratifiedSubbagging(bag_size, strata=...)."
        raise refuse_value("strata", type(estimator).__name__, "known before it is fitted again", None, reason)
    return clone(estimator).set_params(scheme=with_labels(scheme, y, units))


def refuse_unequal(scheme: Any, owner: str, instead: str) -> None:
    """Refuse a scheme that does not treat all rows alike, and say what to use instead."""
    scheme = scheme.scheme if isinstance(scheme, ResolvedScheme) else scheme
    if isinstance(scheme, ResamplingScheme) and not scheme.is_symmetric:
        reason = f"the law of bags without a row depends on which row it is. {instead}"
        raise refuse_value("scheme", owner, "one that treats all rows alike", scheme, reason)


def law_with_more(
    law: ResolvedScheme, units: Units, y_before: np.ndarray, y: np.ndarray, strata: Any
) -> ResolvedScheme | None:
    """Return the law with more rows, and as many of each stratum in a bag; None if it is not stratified."""
    scheme = law.scheme
    if type(scheme) is StratifiedSubbagging and not units.are_rows:
        return None  # and then it is refused
    if type(scheme) is not StratifiedSubbagging:
        if strata is not None:
            refuse_strata(scheme, strata, "learn")
        return None
    if strata is None:
        before = scheme.layout(law.n_samples)[0].values
        if not all(a == b for a, b in zip(before.tolist(), np.asarray(y_before).tolist(), strict=True)):
            reason = "the rows before had strata other than their targets."
            raise refuse_value("strata", "learn", "a label for each of the new rows", None, reason)
        strata = y
    elif len(strata) != len(y):
        raise refuse_value("strata", "learn", f"{len(y):,} labels, one for each of the new rows", len(strata))
    return scheme.with_more(law.n_samples, strata).resolve(law.n_samples + len(y))
