"""What the displays share: an axes to draw on, colours and line styles that have a meaning, and names.

The first thing shown (usually the base learner) is red, and the second (its bagged version) is blue; line styles and
hatching tell them apart without colour. What is proved is dotted.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from stablebag._checks import refuse_type
from stablebag._wording import ROWS, Noun
from stablebag.measuring.perturbations import Perturbations

COLOURS = ("tab:red", "tab:blue", "tab:green", "tab:purple", "tab:brown", "tab:gray")
LINES = ("--", "-", "-.", (0, (5, 1, 1, 1, 1, 1)), (0, (8, 2)), ":")
HATCHES = ("///", "", "...", "xxx", "\\\\\\", "+++")


class Display:
    """What the displays share: an axes to draw on, which is created if none is given."""

    ax_: Any
    figure_: Any

    def start(self, ax: Any) -> Any:
        """Return an axes to draw on: the given one, or that of a new figure."""
        try:
            import matplotlib.pyplot as plt
        except ImportError as error:
            raise ImportError("Plots need matplotlib: pip install 'stablebag[plot]'.") from error
        if ax is None:
            _, ax = plt.subplots(layout="constrained")
        self.ax_, self.figure_ = ax, ax.figure
        return ax


def as_steps(epsilon: np.ndarray, delta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the corners of a curve whose value holds until the next epsilon, as what is proved at an epsilon does.

    >>> as_steps(np.array([0.5, 0.2]), np.array([0.0, 0.4]))
    (array([0.2, 0.5, 0.5]), array([0.4, 0.4, 0. ]))
    """
    order = np.lexsort((-delta, epsilon))  # of several shares at one epsilon, the smallest holds
    return np.repeat(epsilon[order], 2)[1:], np.repeat(delta[order], 2)[:-1]


def by_name(perturbations: Any, owner: str) -> dict[str, Perturbations]:
    """Return perturbations by the names under which they are shown."""
    named = {"measured": perturbations} if isinstance(perturbations, Perturbations) else perturbations
    if not isinstance(named, Mapping) or not all(isinstance(moved, Perturbations) for moved in named.values()):
        raise refuse_type("perturbations", owner, "Perturbations, or a dict of them by name", perturbations)
    return dict(named)


def noun_of(named: Mapping[str, Perturbations]) -> Noun:
    """Return what all of these leave out; a share of rows and one of patients are not drawn on one axis."""
    nouns = {moved.noun for moved in named.values()}
    if len(nouns) > 1:
        words = " and ".join(sorted(noun.plural for noun in nouns))
        raise ValueError(f"Perturbations by {words} cannot be shown together: they are shares of different things.")
    return nouns.pop() if nouns else ROWS
