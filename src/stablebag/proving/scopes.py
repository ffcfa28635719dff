"""What a measurement of an average over bags, or a bound on it, is about."""

from typing import Any

from stablebag.proving import bounds
from stablebag.proving.scope import Quantity, Rerun, Scope


def scope_of(average: Any, *, vector: bool = False) -> Scope:
    """Return the scope of leaving rows out of an average over bags; for a classifier, per class or as a vector."""
    n, classes = average.law.n_samples, average.classes
    shift, length = 0.0, None if average.interval is None else average.interval[1] - average.interval[0]
    quantity = Quantity.NUMBER
    if classes is not None:
        quantity, length = (Quantity.VECTOR, None) if vector else (Quantity.CLASS, 1.0)
        shift = bounds.empty_bags_shift(average.empty_without_a_lonely_row, len(classes), vector=vector)
    rerun, n_bags, which = Rerun.ALL, None, average.law.fingerprint
    if average.drawn:
        rerun, n_bags, which = Rerun.REUSED, len(average.bags), average.bags.fingerprint
    changing = len(average.range_changes) / n
    return Scope(n, quantity, rerun, n_bags, which, length, delta_range=changing, shift=shift)
