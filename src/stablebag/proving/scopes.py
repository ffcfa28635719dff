"""What a measurement of an average over bags, or a bound on it, is about."""

from typing import Any

import numpy as np

from stablebag.learning.output_ranges import diagonal
from stablebag.learning.ranges import as_prediction_range
from stablebag.proving.box_changes import BoxChanges
from stablebag.proving.labels import Labels
from stablebag.proving.scope import Quantity, Rerun, Scope
from stablebag.resampling.units import Units


def scope_of(average: Any, *, vector: bool = False) -> Scope:
    """Return the scope of leaving rows out of an average over bags; per class or output, or as a vector of them."""
    n, classes, n_lost = average.law.n_samples, average.classes, 1
    shift, length = 0.0, None if average.interval is None else average.interval[1] - average.interval[0]
    quantity = Quantity.NUMBER
    if average.y.ndim > 1:
        quantity = Quantity.OUTPUTS if vector else Quantity.OUTPUT
        length = None if length is None else diagonal(length)
    if classes is not None:
        quantity, length = (Quantity.VECTOR, None) if vector else (Quantity.CLASS, 1.0)
        labels = Labels.of(average.y, average.units, "scope_of")
        shift, n_lost = labels.shift(average.empty_without_a_lonely_unit, vector=vector), labels.n_lost
    rerun, n_bags, which = Rerun.ALL, None, average.law.fingerprint
    if average.drawn:
        rerun, n_bags, which = Rerun.REUSED, len(average.bags), average.bags.fingerprint
    changing = len(average.range_changes) / n
    about = {"delta_range": changing, "shift": shift, "n_lost": n_lost, "noun": average.units.noun}
    about["grouping"] = average.units.fingerprint
    return Scope(n, quantity, rerun, n_bags, which, length, **about)


def length_and_changes(rule: Any, y: np.ndarray, units: Units) -> tuple[float, float]:
    """Return the length of the range that a rule makes of targets, and the share of units that change it.

    Of several outputs it is the diagonal of their box, and the share of units that change any of their ranges.
    """
    owner = "leave_one_out_refit"
    if y.ndim > 1:
        _, length, box = BoxChanges.of_targets(y, rule, units, owner)
        return length, box.share
    rule = as_prediction_range(rule, owner)
    low, high = rule(y)
    return high - low, rule.delta(y) if units.are_rows else rule.delta(y, units)
