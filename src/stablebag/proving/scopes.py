"""What a measurement of an average over bags, or a bound on it, is about."""

from typing import Any

from stablebag.proving.labels import Labels
from stablebag.proving.scope import Quantity, Rerun, Scope


def scope_of(average: Any, *, vector: bool = False) -> Scope:
    """Return the scope of leaving rows out of an average over bags; for a classifier, per class or as a vector."""
    n, classes, n_lost = average.law.n_samples, average.classes, 1
    shift, length = 0.0, None if average.interval is None else average.interval[1] - average.interval[0]
    quantity = Quantity.NUMBER
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
