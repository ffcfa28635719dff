"""Which rows and points a study looks at, where all of them would take too much time or memory."""

from typing import Any

import numpy as np

from stablebag._checks import refuse_value
from stablebag._seeds import Seeds
from stablebag.learning.sources.source import RowSource
from stablebag.measuring.perturbations import Perturbations

_MOST_COMPARED = 2**23  # the most predictions of the base learner without rows that are kept
_MOST_AVERAGED = 2**27  # the most averages without rows that are taken to compare
_MOST_PREDICTED = 2**24  # the most predictions of single bags that are held for each refit of the bagged model


def of_source(source: RowSource, y: Any, groups: Any, n_matched: int | None) -> tuple[np.ndarray, Any]:
    """Return the targets and units of rows that are not in memory; what a study cannot do with them is refused."""
    if groups is not None:
        reason = 'name their column where the table is made: ParquetTable(..., groups="patient").'
        raise refuse_value("groups", "study", f"None with a {type(source).__name__}", groups, reason)
    if n_matched:
        reason = "the bagged model is not refitted to rows that are not in memory."
        raise refuse_value("n_matched", "study", f"0 with a {type(source).__name__}", n_matched, reason)
    y, _, units = source.all_of_fit(y, None, None, "study")
    return y, units


def n_points_compared(n_points: int, n_tests: int, n_units: int, n_refits: int, classes: int, n_bags: int = 1) -> int:
    """Return at how many held-out rows both are compared: all of them, or as many as memory and time allow."""
    most = min(_MOST_COMPARED // n_refits, _MOST_AVERAGED // n_units, _MOST_PREDICTED // n_bags) // classes
    return min(n_tests, max(n_points, most))


def rows_to_refit(reused: Perturbations, n: int, random_state: int) -> tuple[np.ndarray, np.ndarray]:
    """Return `n` of the rows without which the base model was refitted, and how many of these each stands for.

    `reused` has what the bags without each of these rows say. Half of the rows are those that seem to change the bagged
    model most, because few rows may carry most of its change; the others are drawn at random from the rest, and stand
    for all of it. A mean with these weights is therefore unbiased.
    """
    rows, n_rows = np.asarray(reused.rows), len(reused.rows)
    if n >= n_rows:
        return rows, np.ones(n_rows)
    size = reused.values.reshape(n_rows, -1)
    order = np.argsort(-((size / (size.max(initial=0.0) or 1.0)) ** 2).sum(axis=1), kind="stable")
    first, rest = order[: n // 2], order[n // 2 :]
    generator = next(Seeds.from_random_state(random_state, "study").bag_generators(1, 2))
    drawn = generator.choice(rest, n - len(first), replace=False)
    weights = np.ones(n_rows)
    weights[drawn] = len(rest) / len(drawn)
    chosen = np.sort(np.concatenate([first, drawn]))
    return rows[chosen], weights[chosen]


def chosen_units(n_samples: int, n_refits: int, random_state: int) -> np.ndarray:
    """Return some of so many rows, or units, drawn by the seed of a study; all of them if there are no more."""
    if n_refits >= n_samples:
        return np.arange(n_samples)
    generator = next(Seeds.from_random_state(random_state, "study").bag_generators(0, 1))
    return np.sort(generator.choice(n_samples, n_refits, replace=False))
