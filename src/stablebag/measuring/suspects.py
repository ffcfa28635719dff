"""Suspicious rows: which move the predictions beyond the noise of the bags, and which are likely wrong."""

from dataclasses import dataclass
from typing import Any, NamedTuple

from stablebag._wording import Noun


class Suspect(NamedTuple):
    """A row, or unit, that stands out.

    Attributes
    ----------
    number : int
        Its number among the training rows, or units.
    name : object
        What it is called.
    value : float
        How far it moves the predictions, or how far it is from what is predicted without it.
    noise : float
        For what moves predictions, the noise of the bags in `value`; for what is likely wrong, the usual size of it.
    p_value : float
        The chance of as much by noise alone.
    """

    number: int
    name: Any
    value: float
    noise: float
    p_value: float


@dataclass(frozen=True, eq=False)
class Suspects:
    """The rows, or units, that stand out, the most suspicious first.

    Attributes
    ----------
    moving : tuple of Suspect
        Those that move the predictions beyond the noise of the bags.
    wrong : tuple of Suspect
        Those that are likely wrong: far from what the bags without them predict.
    false_share : float
        The declared error rate: about this share of each list is expected to be there by chance.
    noun : Noun
        What they are.
    """

    moving: tuple[Suspect, ...]
    wrong: tuple[Suspect, ...]
    false_share: float
    noun: Noun
