"""What is proved beside what is measured of the same thing, with the price of finitely many bags."""

import math
from typing import NamedTuple


class Proof(NamedTuple):
    """A line of the table of what is proved.

    Attributes
    ----------
    what : str
        What is bounded: how the row is left out, and over what the number is.
    measured : float
        The same, measured; NaN if it was not.
    error : float
        The standard error of what was measured, if it was for a few rows drawn at random; otherwise NaN.
    proved : float
        The bound; NaN if nothing is proved.
    price : float
        What of the bound is due to drawing finitely many bags; NaN if that is not known, or there is no bound.
    enough : int or None
        How many bags would halve that price; None if that is not known.
    """

    what: str
    measured: float
    proved: float
    error: float = math.nan
    price: float = math.nan
    enough: int | None = None
