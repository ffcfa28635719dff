"""Prediction intervals, with the targets inside and outside."""

from typing import Any, Self

import numpy as np

from stablebag._checks import refuse_type, refuse_value
from stablebag._wording import Noun, percent
from stablebag.deciding.intervals import Intervals
from stablebag.showing.displays.display import BAGGED, GUARANTEE, OTHER, Display, as_line, write_numbers

_TARGETS = Noun("target", "targets")


class IntervalDisplay(Display):
    """Prediction intervals against a feature or the prediction, with the targets inside and outside.

    Parameters
    ----------
    intervals : Intervals
        The intervals to draw.
    x : ndarray of shape (n_points,)
        The place of each interval on the horizontal axis.
    y : ndarray of shape (n_points,) or None, default=None
        The targets of the points.
    xlabel : str, default="prediction"
        The label of `x`.
    ylabel : str, default="target"
        The label of the targets.

    Attributes
    ----------
    ax_ : Axes
        The axes of the picture.
    figure_ : Figure
        The figure that contains them.
    bars_ : LineCollection
        The intervals.
    covered_ : PathCollection
        The targets inside their intervals, if there are targets.
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
    '90% prediction intervals (jackknife+): 0 of 1 target inside'
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
            The intervals to draw.
        y : array-like of shape (n_points,) or None, default=None
            The targets of the points.
        x : array-like of shape (n_points,) or None, default=None
            A feature of the points for the horizontal axis; None takes the prediction.
        xlabel : str or None, default=None
            The label of `x`; None takes the name of a column, or "feature".
        ylabel : str or None, default=None
            The label of the targets; None takes the name of a column, or "target".
        ax : Axes or None, default=None
            The axes to draw on; None makes a new figure.

        Returns
        -------
        IntervalDisplay
        """
        if not isinstance(intervals, Intervals):
            raise refuse_type("intervals", cls.__name__, "Intervals, as predict_interval returns them", intervals)
        xlabel = xlabel or ("prediction" if x is None else _name_of(x, "feature"))
        places = intervals.prediction if x is None else x
        return cls(intervals, places, y, xlabel, ylabel or _name_of(y, "target")).plot(ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw the intervals.

        Parameters
        ----------
        ax : Axes or None, default=None
            The axes to draw on; None makes a new figure.

        Returns
        -------
        self
        """
        ax = self.start(ax)
        lower, upper, level = self.intervals.lower, self.intervals.upper, self.intervals.confidence_level
        title = f"{percent(level)} prediction intervals ({self.intervals.method})"
        bounded = np.isfinite(lower) & np.isfinite(upper)
        style = {"color": BAGGED, "alpha": 0.55, "linewidth": 2, "label": "interval"}
        self.bars_ = ax.vlines(self.x[bounded], lower[bounded], upper[bounded], **style)
        if not bounded.all():
            title += f", {(~bounded).sum():,} infinite and not drawn"
        if self.y is None:
            ax.plot(self.x, self.intervals.prediction, ".", color=BAGGED, label="prediction")
        else:
            inside = self.intervals.contains(self.y)
            title += f": {inside.sum():,} of {_TARGETS.count(len(inside))} inside"
            dot = {"s": 12, "color": GUARANTEE, "zorder": 3}
            label = "target inside" if inside.any() else None
            self.covered_ = ax.scatter(self.x[inside], self.y[inside], label=label, **dot)
            cross = {"s": 30, "color": OTHER, "marker": "x", "zorder": 4}
            label = None if inside.all() else "target outside"
            self.missed_ = ax.scatter(self.x[~inside], self.y[~inside], label=label, **cross)
        ax.set(xlabel=self.xlabel, ylabel=self.ylabel, title=title)
        for axis in (ax.xaxis, ax.yaxis):
            write_numbers(axis)
        low, high = ax.get_ylim()
        ax.set_ylim(low, high + 0.15 * (high - low))  # room for the legend, which hides no interval there
        ax.legend(loc="upper center", ncols=3)
        return self


def _name_of(column: Any, default: str) -> str:
    """The name of a column, in which dollar signs are not formulas."""
    return str(getattr(column, "name", None) or default).replace("$", r"\$")
