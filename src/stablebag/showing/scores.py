"""Scores on held-out rows that fit the task, beside those of a constant."""

from typing import NamedTuple


class Score(NamedTuple):
    """A score on the held-out rows; NaN where a model has none.

    Attributes
    ----------
    name : str
        What it is called.
    base : float
        The base learner's.
    bagged : float
        The bagged model's.
    constant : float
        That of a constant: the mean of the training targets, or the frequencies of the classes.
    lower_is_better : bool
        Whether it is a loss.
    """

    name: str
    base: float
    bagged: float
    constant: float
    lower_is_better: bool
