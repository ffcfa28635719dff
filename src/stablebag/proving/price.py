"""The price of finitely many bags: what of a bound is due to drawing them at random, and how many would halve that."""

import math
from collections.abc import Callable

from stablebag._wording import rounded_up

_MULTIPLES = (2, 3, 4, 5, 6, 8, 10, 12, 16, 24, 32, 64)
_WORTH_A_WORD = 0.02  # of the bound


def price_of_bags(epsilon: Callable[[float], float], n_bags: float) -> tuple[float, float, int | None]:
    """Return what a bound would be with infinitely many bags, what finitely many add, and how many would halve that.

    The last is the first of a few multiples of `n_bags` that is enough, and None if none is. `epsilon` gives the bound
    for a number of bags.

    >>> price_of_bags(lambda n_bags: 1 + n_bags**-0.5, 100)
    (1.0, 0.10000000000000009, 400)
    """
    now, ideal = epsilon(n_bags), epsilon(math.inf)
    price = now - ideal
    enough = (k for k in _MULTIPLES if epsilon(k * n_bags) - ideal <= price / 2)
    multiple = next(enough, None)
    return ideal, price, None if multiple is None else int(multiple * n_bags)


def about_bags(epsilon: Callable[[float], float], n_bags: float, reach: float) -> str:
    """Say what of a bound is the price of drawing bags at random, and how many would halve it; nothing if it is little.

    `reach` is what holds without any proof: about a bound that reaches it there is nothing to say.
    """
    if math.isinf(n_bags) or not 0 < epsilon(n_bags) < reach:
        return ""
    ideal, price, enough = price_of_bags(epsilon, n_bags)
    if price < _WORTH_A_WORD * (ideal + price):
        return ""
    halved = "" if enough is None else f"; {enough:,} bags would halve that price"
    return (
        f"Of it, {rounded_up(price)} is the price of drawing {int(n_bags):,} bags at random: with infinitely many it "
        f"would be {rounded_up(ideal)}{halved}."
    )
