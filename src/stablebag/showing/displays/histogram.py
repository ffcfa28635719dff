"""Histograms of leave-one-out changes."""

from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from stablebag._checks import check_integer, refuse_value
from stablebag._wording import ROWS, Noun
from stablebag.measuring.perturbations import Perturbations
from stablebag.showing.displays.display import (
    CHANGE,
    Display,
    Reach,
    as_line,
    as_named,
    by_name,
    looks,
    noun_of,
    write_numbers,
    write_shares,
)


class PerturbationDisplay(Display):
    """Overlaid histograms of the changes of predictions when rows are left out.

    Parameters
    ----------
    distances : dict of str to ndarray
        The changes L_i to count, by their name in the legend.
    noun : Noun, default=ROWS
        The word for the rows, or groups such as patients, that are left out.
    xlabel : str, default="change of the prediction"
        The label of the axis of changes.
    counts : dict of str to ndarray, or None, default=None
        The number of rows that each change stands for; None means one each.
    ylabel : str or None, default=None
        The label of the other axis; None means "share of rows", or of groups.

    Attributes
    ----------
    ax_ : Axes
        The axes of the picture.
    figure_ : Figure
        The figure that contains them.
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
        xlabel: str = CHANGE,
        counts: Mapping[str, np.ndarray] | None = None,
        ylabel: str | None = None,
    ) -> None:
        owner = type(self).__name__
        named = as_named(distances, "distances", owner)
        self.distances = {name: as_line(values, "distances", owner) for name, values in named.items()}
        self.noun = noun
        self.xlabel = xlabel
        self.ylabel = ylabel
        self.counts = (
            None
            if counts is None
            else {name: as_line(values, "counts", owner) for name, values in as_named(counts, "counts", owner).items()}
        )
        lengths = {name: len(values) for name, values in self.distances.items()}
        if self.counts is not None and lengths != {name: len(values) for name, values in self.counts.items()}:
            raise refuse_value("counts", owner, "one number for each change", counts)

    @classmethod
    def from_perturbations(
        cls,
        perturbations: Perturbations | Mapping[str, Perturbations],
        *,
        point: int | None = None,
        bins: int = 40,
        scale: str = "auto",
        xlabel: str = CHANGE,
        ax: Any = None,
    ) -> Self:
        """Draw the histograms of measured perturbations.

        Parameters
        ----------
        perturbations : Perturbations, or dict of str to Perturbations
            The measured perturbations; the histograms of several are overlaid.
        point : int or None, default=None
            The test point; None counts the changes at all points together.
        bins : int, default=40
            The number of bars.
        scale : {"auto", "linear", "log"}, default="auto"
            The scale of the changes. "auto" is logarithmic if most of them would be in one bar otherwise.
        xlabel : str, default="change of the prediction"
            The label of the axis of changes.
        ax : Axes or None, default=None
            The axes to draw on; None makes a new figure.

        Returns
        -------
        PerturbationDisplay
        """
        named = by_name(perturbations, cls.__name__)
        if point is not None:
            point = check_integer(point, "point", cls.__name__, minimum=0)
            for moved in named.values():
                if point >= len(moved.prediction):
                    raise IndexError(f"point={point} does not exist: there are {len(moved.prediction)} points, from 0.")
        found = {name: moved.distribution(point) for name, moved in named.items()}
        distances, counts = ({name: part[k] for name, part in found.items()} for k in (0, 1))
        points = "points" if point is None and any(len(moved.prediction) > 1 for moved in named.values()) else ""
        classes = "classes" if any(moved.prediction.ndim > 1 for moved in named.values()) else ""
        several, noun = " and ".join(filter(None, (points, classes))), noun_of(named)
        ylabel = f"share of {noun.plural}, over all {several}" if several else None
        return cls(distances, noun, xlabel, counts, ylabel).plot(bins=bins, scale=scale, ax=ax)

    def plot(self, ax: Any = None, *, bins: int = 40, scale: str = "auto") -> Self:
        """Draw the histograms.

        Parameters
        ----------
        ax : Axes or None, default=None
            The axes to draw on; None makes a new figure.
        bins : int, default=40
            The number of bars.
        scale : {"auto", "linear", "log"}, default="auto"
            The scale of the changes. "auto" is logarithmic if most of them would be in one bar otherwise.

        Returns
        -------
        self
        """
        ax, bins = self.start(ax), check_integer(bins, "bins", type(self).__name__, minimum=1)
        reach = Reach.of(self.distances.values(), scale=scale)
        self.bars_ = {}
        for name, look in looks(self.distances).items():
            values = self.distances[name]
            counts = np.ones(len(values)) if self.counts is None else self.counts[name]
            style = {"alpha": 0.45, "color": look.colour, "edgecolor": look.colour, "hatch": look.hatch, "label": name}
            shown, weights = reach.inside(values), counts / counts.sum()
            self.bars_[name] = ax.hist(shown, reach.edges(bins), weights=weights, histtype="stepfilled", **style)[2]
        smaller = any((values < reach.low).any() for values in self.distances.values())
        ax.set(
            xlabel=self.xlabel + (" (the first bar includes all smaller ones)" if smaller else ""),
            ylabel=f"share of {self.noun.plural}" if self.ylabel is None else self.ylabel,
            xscale="log" if reach.log else "linear",
        )
        ax.set(xlim=(reach.low, reach.high if reach.log else None))
        write_numbers(ax.xaxis)
        write_shares(ax.yaxis)
        ax.legend()
        return self
