"""Histograms of how far rows move predictions."""

from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from stablebag._checks import check_integer
from stablebag._wording import ROWS, Noun
from stablebag.measuring.perturbations import Perturbations
from stablebag.showing.displays.display import COLOURS, HATCHES, Display, by_name, noun_of


class PerturbationDisplay(Display):
    """Overlaid histograms of how far the rows move a prediction.

    Parameters
    ----------
    distances : dict of str to ndarray
        The distances L_i to count, by the name to show.
    noun : Noun, default=ROWS
        What is left out: rows, or units such as patients.
    counts : dict of str to ndarray, or None, default=None
        How many rows each of the distances is of; None is one each.

    Attributes
    ----------
    ax_ : Axes
        Where it is drawn.
    figure_ : Figure
        The figure that contains it.
    bars_ : dict of str to artists
        The bars, by name.

    Examples
    --------
    >>> import numpy as np
    >>> from stablebag import PerturbationDisplay
    >>> display = PerturbationDisplay({"tree": np.array([0.0, 0.1, 0.9]), "bagged": np.array([0.1, 0.1, 0.2])})
    >>> sorted(display.distances)
    ['bagged', 'tree']
    """

    def __init__(
        self,
        distances: Mapping[str, np.ndarray],
        noun: Noun = ROWS,
        counts: Mapping[str, np.ndarray] | None = None,
    ) -> None:
        self.distances = dict(distances)
        self.noun = noun
        self.counts = counts

    @classmethod
    def from_perturbations(
        cls,
        perturbations: Perturbations | Mapping[str, Perturbations],
        *,
        point: int | None = None,
        bins: int = 40,
        ax: Any = None,
    ) -> Self:
        """Draw the histograms of measured perturbations.

        Parameters
        ----------
        perturbations : Perturbations, or dict of str to Perturbations
            What was measured; several are overlaid.
        point : int or None, default=None
            The test point; None counts all points together.
        bins : int, default=40
            The number of bars.
        ax : Axes or None, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        PerturbationDisplay
        """
        named = by_name(perturbations, cls.__name__)
        if point is not None:
            point = check_integer(point, "point", cls.__name__, minimum=0)
            for moved in named.values():
                if point >= len(moved.prediction):
                    raise IndexError(f"Point {point} was asked for, and there are {len(moved.prediction)} points.")
        found = {name: moved.distribution(point) for name, moved in named.items()}
        distances, counts = ({name: part[k] for name, part in found.items()} for k in (0, 1))
        return cls(distances, noun_of(named), counts).plot(bins=bins, ax=ax)

    def plot(self, ax: Any = None, *, bins: int = 40) -> Self:
        """Draw the histograms.

        Parameters
        ----------
        ax : Axes or None, default=None
            Where to draw; None makes a new figure.
        bins : int, default=40
            The number of bars.

        Returns
        -------
        self
        """
        ax = self.start(ax)
        largest = max((float(values.max()) for values in self.distances.values()), default=1.0)
        edges = np.linspace(0, largest or 1.0, check_integer(bins, "bins", type(self).__name__, minimum=1) + 1)
        self.bars_ = {}
        for number, (name, values) in enumerate(self.distances.items()):
            colour, hatch = COLOURS[number % len(COLOURS)], HATCHES[number % len(HATCHES)]
            counts = np.ones(len(values)) if self.counts is None else self.counts[name]
            weights = counts / counts.sum()
            style = {"alpha": 0.45, "color": colour, "edgecolor": colour, "hatch": hatch, "label": name}
            self.bars_[name] = ax.hist(values, edges, weights=weights, histtype="stepfilled", **style)[2]
        ax.set(
            xlabel="leave-one-out perturbation $|f(x) - f^{\\setminus i}(x)|$",
            ylabel=f"share of {self.noun.plural}",
            xlim=(0, None),
        )
        ax.legend()
        return self
