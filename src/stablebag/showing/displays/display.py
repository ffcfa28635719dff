"""What the displays share: an axes to draw on, colours and line styles that have a meaning, scales, and names.

What is bagged is blue wherever it is shown, and the first other thing (usually the base learner) is vermilion: colours
of Okabe and Ito, which colour-blind people tell apart, on white and on black. Line styles and hatching tell them apart
without colour. What is proved is dotted.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from stablebag._checks import as_reals, check_choice, refuse_type, refuse_value
from stablebag._wording import ROWS, Noun, number
from stablebag.measuring.perturbations import Perturbations

OTHER, BAGGED, PROVED = "#d55e00", "#0072b2", "#777777"
COLOURS = (OTHER, BAGGED, "#009e73", "#cc79a7", "#b8860b", "#777777")
LINES = ("--", "-", "-.", (0, (5, 1, 1, 1, 1, 1)), (0, (8, 2)), ":")
HATCHES = ("///", "", "...", "xxx", "\\\\\\", "+++")
MOVES = "how far the prediction moves"
SCALES = ("auto", "linear", "log")
# With more than this share of the moves in the first of so many bars, a histogram shows nothing.
_BARS, _CROWD = 40, 0.5
_MOST_BARS = 10_000
_FAR = 10.0  # how many times further a guarantee reaches than what was measured before the scale is logarithmic
_NARROW = 100.0  # the ratio of the ends of a logarithmic scale below which it also has numbers between powers of ten
_DECADES = 1e-6  # the smallest move that a logarithmic scale shows, as a share of the largest


class Look(NamedTuple):
    """How one of the things shown looks: its colour, line style and hatching."""

    colour: str
    line: Any
    hatch: str


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
        if not hasattr(ax, "figure") or not hasattr(ax, "plot"):
            raise refuse_type("ax", type(self).__name__, "an Axes of matplotlib, or None for a new figure", ax)
        self.ax_, self.figure_ = ax, ax.figure
        return ax


def as_line(values: Any, name: str, owner: str, *, finite: bool = True) -> np.ndarray:
    """Return numbers in one line; `finite` refuses those that cannot be drawn."""
    line = as_reals(values, name, owner, "numbers in one line")
    if line.ndim != 1 or np.isnan(line).any() or (finite and not np.isfinite(line).all()):
        raise refuse_value(name, owner, "finite numbers in one line" if finite else "numbers in one line", values)
    return line


def as_named(values: Any, name: str, owner: str) -> dict[str, Any]:
    """Return a dictionary of what is shown, by its name."""
    if not isinstance(values, Mapping) or not all(isinstance(key, str) for key in values):
        raise refuse_type(name, owner, "a dictionary, by the name that the legend shows", values)
    return dict(values)


def looks(names: Collection[str]) -> dict[str, Look]:
    """Return how each of these looks; what is called "bagged" always the same.

    >>> looks(["bagged"])["bagged"] == looks(["base learner", "bagged"])["bagged"]
    True
    """
    others = [place for place in range(len(COLOURS)) if place != 1 or "bagged" not in names]
    places = dict(zip([name for name in names if name != "bagged"], others * len(names), strict=False))
    return {
        name: Look(COLOURS[place], LINES[place], HATCHES[place]) for name in names for place in [places.get(name, 1)]
    }


class Reach(NamedTuple):
    """What an axis of moves shows: from where to where, and whether its scale is logarithmic."""

    low: float
    high: float
    log: bool

    @classmethod
    def of(cls, moves: Iterable[np.ndarray], *, proved: float = 0.0, scale: str = "auto") -> "Reach":
        """Choose the scale of an axis.

        Parameters
        ----------
        moves : iterable of ndarray
            How far predictions move, of each thing shown.
        proved : float, default=0.0
            How far what is proved reaches.
        scale : {"auto", "linear", "log"}, default="auto"
            "auto" is logarithmic if more than half of the moves of one of the things shown are in the first fortieth of
            a linear scale, or what is proved reaches more than ten times as far as all that was measured.

        Returns
        -------
        Reach

        Examples
        --------
        >>> Reach.of([np.array([0.0, 1.0, 2.0])]).log, Reach.of([np.array([0.001, 0.001, 2.0])]).log
        (False, True)
        """
        scale = check_choice(scale, "scale", "a display", SCALES)
        positive = [each[each > 0] for each in map(np.ravel, moves)]
        positive = [each for each in positive if len(each)]
        measured = max((float(each.max()) for each in positive), default=0.0)
        high = max(measured, proved) or 1.0
        crowded = any(np.mean(each < measured / _BARS) > _CROWD for each in positive)
        log = bool(positive) and (scale == "log" or (scale == "auto" and (crowded or proved > _FAR * measured)))
        low = min((float(np.quantile(each, 0.01)) for each in positive), default=0.0) if log else 0.0
        return cls(max(low, _DECADES * high) if log else 0.0, high, log)

    def edges(self, bins: int) -> np.ndarray:
        """Return the ends of bars."""
        if bins > _MOST_BARS:
            raise refuse_value("bins", "a display", f"at most {_MOST_BARS:,}", bins, "nobody sees as many bars.")
        edges: np.ndarray = (np.geomspace if self.log else np.linspace)(self.low, self.high, bins + 1)
        return edges

    def inside(self, moves: np.ndarray) -> np.ndarray:
        """Return moves with those that are too small to be shown moved to the lower end."""
        inside: np.ndarray = np.maximum(moves, self.low)
        return inside


def write_numbers(axis: Any) -> None:
    """Let an axis write its numbers as people do."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    if axis.get_scale() == "log":
        low, high = axis.get_view_interval()
        axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if high < _NARROW * low else (1.0,)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: number(value)))
    axis.set_minor_formatter(NullFormatter())


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
    if not named:
        raise refuse_value("perturbations", owner, "one or more by name", perturbations, "there is nothing to show.")
    return as_named(named, "perturbations", owner)


def noun_of(named: Mapping[str, Perturbations]) -> Noun:
    """Return what all of these leave out; a share of rows and one of patients are not drawn on one axis."""
    nouns = {moved.noun for moved in named.values()}
    if len(nouns) > 1:
        words = " and ".join(sorted(noun.plural for noun in nouns))
        raise ValueError(f"Perturbations by {words} cannot be shown together: they are shares of different things.")
    return nouns.pop() if nouns else ROWS
