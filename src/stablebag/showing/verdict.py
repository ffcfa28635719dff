"""The verdict of a study: one of a few plain cases, decided by declared rules, with advice and the numbers behind it."""

from dataclasses import dataclass

STABILIZED = "stabilized"
ALREADY_STABLE = "already stable"
NOT_STABILIZED = "not stabilized"
NOT_ENOUGH_BAGS = "not enough bags"
NOT_ENOUGH_REFITS = "not enough refits"
COSTS_ACCURACY = "costs accuracy"
NO_BETTER = "no better than a constant"
NOT_COMPARED = "not compared"


@dataclass(frozen=True)
class Verdict:
    """What a study comes to.

    Attributes
    ----------
    case : str
        One of "stabilized", "already stable", "not stabilized", "not enough bags", "not enough refits", "costs
        accuracy", "no better than a constant" and "not compared".
    headline : str
        The conclusion, in one sentence.
    advice : str
        What to do, in one or two sentences; "" if there is nothing to do.
    reasons : tuple of str
        The numbers behind it, as short lines.
    remarks : tuple of Verdict, default=()
        What else is true, in order of importance.
    """

    case: str
    headline: str
    advice: str = ""
    reasons: tuple[str, ...] = ()
    remarks: tuple["Verdict", ...] = ()

    def __str__(self) -> str:
        return " ".join(filter(None, [self.headline, self.advice]))
