"""Prediction intervals, with the targets that they cover and miss."""

from typing import Any, Self

import numpy as np

from stablebag._checks import refuse_type, refuse_value
from stablebag.deciding.intervals import Intervals
from stablebag.showing.displays.display import BAGGED, OTHER, PROVED, Display, as_line, write_numbers


class IntervalDisplay(Display):
    """Prediction intervals against a feature or the prediction, with the targets that they cover and miss.

    Parameters
    ----------
    intervals : Intervals
        What to show.
    x : ndarray of shape (n_points,)
        Where to show each interval.
    y : ndarray of shape (n_points,) or None, default=None
        The targets of the points.
    xlabel : str, default="prediction"
        What `x` is.
    ylabel : str, default="target"
        What the targets are.

    Attributes
    ----------
    ax_ : Axes
        Where it is drawn.
    figure_ : Figure
        The figure that contains it.
    bars_ : LineCollection
        The intervals.
    covered_ : PathCollection
        The targets in their intervals, if there are targets.
    missed_ : PathCollection
        The targets outside their intervals, if there are targets.

    Examples
    --------
    >>> import numpy as np
    >>> from stablebag import IntervalDisplay
    >>> from stablebag.deciding import Intervals
    >>> intervals = Intervals(np.array([0.0]), np.array([2.0]), np.array([1.0]), 0.9, "jackknife+", "none")
    >>> display = IntervalDisplay.from_intervals(intervals, y=[3.0])
    >>> display.ax_.get_title()
    'jackknife+ at level 0.9: 0 of 1 covered'
    """

    def __init__(
        self,
        intervals: Intervals,
        x: np.ndarray,
        y: np.ndarray | None = None,
        xlabel: str = "prediction",
        ylabel: str = "target",
    ) -> None:
        self.intervals = intervals
        owner = type(self).__name__
        if not isinstance(intervals, Intervals):
            raise refuse_type("intervals", owner, "Intervals, as predict_interval returns them", intervals)
        self.x = as_line(x, "x", owner)
        self.y = None if y is None else as_line(y, "y", owner)
        for name, line in (("x", self.x), ("y", self.y)):
            if line is not None and line.shape != intervals.lower.shape:
                raise refuse_value(name, owner, f"of shape {intervals.lower.shape}", line.shape)
        self.xlabel = xlabel
        self.ylabel = ylabel

    @classmethod
    def from_intervals(
        cls,
        intervals: Intervals,
        y: Any = None,
        *,
        x: Any = None,
        xlabel: str | None = None,
        ylabel: str | None = None,
        ax: Any = None,
    ) -> Self:
        """Draw prediction intervals.

        Parameters
        ----------
        intervals : Intervals
            What to show.
        y : array-like of shape (n_points,) or None, default=None
            The targets of the points.
        x : array-like of shape (n_points,) or None, default=None
            A feature of the points to show the intervals against; None shows them against the prediction.
        xlabel : str or None, default=None
            What `x` is; None uses the name of a column, or "feature".
        ylabel : str or None, default=None
            What the targets are; None uses the name of a column, or "target".
        ax : Axes or None, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        IntervalDisplay
        """
        if not isinstance(intervals, Intervals):
            raise refuse_type("intervals", cls.__name__, "Intervals, as predict_interval returns them", intervals)
        name = xlabel or ("prediction" if x is None else str(getattr(x, "name", None) or "feature"))
        places = intervals.prediction if x is None else x
        return cls(intervals, places, y, name, ylabel or str(getattr(y, "name", None) or "target")).plot(ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw the intervals.

        Parameters
        ----------
        ax : Axes or None, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        self
        """
        ax = self.start(ax)
        lower, upper, title = self.intervals.lower, self.intervals.upper, f"{self.intervals.method} at level "
        title += f"{self.intervals.confidence_level:g}"
        bounded = np.isfinite(lower) & np.isfinite(upper)
        style = {"color": BAGGED, "alpha": 0.35, "linewidth": 2, "label": "interval"}
        self.bars_ = ax.vlines(self.x[bounded], lower[bounded], upper[bounded], **style)
        if not bounded.all():
            title += f" ({(~bounded).sum():,} infinite, not shown)"
        if self.y is None:
            ax.plot(self.x, self.intervals.prediction, ".", color=BAGGED, label="prediction")
        else:
            inside = self.intervals.contains(self.y)
            title += f": {inside.sum():,} of {len(inside):,} covered"
            self.covered_ = ax.scatter(self.x[inside], self.y[inside], s=12, color=PROVED, label="covered", zorder=3)
            cross = {"s": 30, "color": OTHER, "marker": "x", "zorder": 4}
            self.missed_ = ax.scatter(self.x[~inside], self.y[~inside], label="missed", **cross)
        ax.set(xlabel=self.xlabel, ylabel=self.ylabel, title=title)
        for axis in (ax.xaxis, ax.yaxis):
            write_numbers(axis)
        ax.legend()
        return self
