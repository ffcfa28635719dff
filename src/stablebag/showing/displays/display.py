"""Shared by all displays: the axes to draw on, colours and line styles with a fixed meaning, scales and names.

Everything bagged is blue, and the first other model (usually the base model) is vermilion. These are colours of Okabe
and Ito, which colour-blind people can tell apart, on white and on black. Line styles and hatching work without colour.
Guarantees are dotted.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from stablebag._checks import as_reals, check_choice, refuse_type, refuse_value
from stablebag._wording import ROWS, Noun, number
from stablebag.measuring.perturbations import Perturbations

OTHER, BAGGED, GUARANTEE = "#d55e00", "#0072b2", "#777777"
COLOURS = (OTHER, BAGGED, "#009e73", "#cc79a7", "#b8860b", "#777777")
LINES = ("--", "-", "-.", (0, (5, 1, 1, 1, 1, 1)), (0, (8, 2)), ":")
HATCHES = ("///", "", "...", "xxx", "\\\\\\", "+++")
CHANGE = "change of the prediction"
_BAGGED_NAMES = {"bagged", "bagged model"}
SCALES = ("auto", "linear", "log")
# A histogram of 40 bars shows nothing if more than half of the changes are in its first bar.
_BARS, _CROWD = 40, 0.5
_MOST_BARS = 10_000
_FAR = 10.0  # the scale is logarithmic if a guarantee is this many times larger than the largest measured change
_NARROW = 100.0  # a logarithmic scale with a smaller ratio of its ends also has ticks between powers of ten
_DECADES = 1e-6  # the smallest change on a logarithmic scale, as a share of the largest


class Look(NamedTuple):
    """Colour, line style and hatching of one model in a picture."""

    colour: str
    line: Any
    hatch: str


class Display:
    """Base class of the displays: it has the axes to draw on, and creates one if none is given."""

    ax_: Any
    figure_: Any

    def start(self, ax: Any) -> Any:
        """Return the given axes, or the axes of a new figure."""
        try:
            import matplotlib.pyplot as plt
        except ImportError as error:
            raise ImportError("Plots need matplotlib: pip install 'stablebag[plot]'.") from error
        if ax is None:
            _, ax = plt.subplots(layout="constrained")
        if not hasattr(ax, "figure") or not hasattr(ax, "plot"):
            raise refuse_type("ax", type(self).__name__, "a matplotlib Axes, or None for a new figure", ax)
        self.ax_, self.figure_ = ax, ax.figure
        return ax


def as_line(values: Any, name: str, owner: str, *, finite: bool = True) -> np.ndarray:
    """Return numbers as a one-dimensional array; with `finite`, infinite ones raise an error."""
    line = as_reals(values, name, owner, "numbers in one dimension")
    if line.ndim != 1 or np.isnan(line).any() or (finite and not np.isfinite(line).all()):
        expected = "finite numbers in one dimension" if finite else "numbers in one dimension"
        raise refuse_value(name, owner, expected, values)
    return line


def as_named(values: Any, name: str, owner: str) -> dict[str, Any]:
    """Return a dictionary whose keys are the names in the legend."""
    if not isinstance(values, Mapping) or not all(isinstance(key, str) for key in values):
        raise refuse_type(name, owner, "a dictionary whose keys are the names in the legend", values)
    return dict(values)


def looks(names: Collection[str]) -> dict[str, Look]:
    """Return the look of each name; "bagged" and "bagged model" always have the same one.

    >>> looks(["bagged"])["bagged"] == looks(["base model", "bagged model"])["bagged model"]
    True
    """
    others = [place for place in range(len(COLOURS)) if place != 1 or not _BAGGED_NAMES.intersection(names)]
    places = dict(zip([name for name in names if name not in _BAGGED_NAMES], others * len(names), strict=False))
    return {
        name: Look(COLOURS[place], LINES[place], HATCHES[place]) for name in names for place in [places.get(name, 1)]
    }


class Reach(NamedTuple):
    """The ends of an axis of changes, and whether its scale is logarithmic."""

    low: float
    high: float
    log: bool

    @classmethod
    def of(cls, changes: Iterable[np.ndarray], *, guarantee: float = 0.0, scale: str = "auto") -> "Reach":
        """Choose the scale of an axis.

        Parameters
        ----------
        changes : iterable of ndarray
            The changes of each model.
        guarantee : float, default=0.0
            The largest guaranteed change.
        scale : {"auto", "linear", "log"}, default="auto"
            "auto" is logarithmic in two cases: more than half of the changes of one model are in the first fortieth of
            a linear scale, or the largest guaranteed change is more than ten times the largest measured one.

        Returns
        -------
        Reach

        Examples
        --------
        >>> Reach.of([np.array([0.0, 1.0, 2.0])]).log, Reach.of([np.array([0.001, 0.001, 2.0])]).log
        (False, True)
        """
        scale = check_choice(scale, "scale", "a display", SCALES)
        positive = [each[each > 0] for each in map(np.ravel, changes)]
        positive = [each for each in positive if len(each)]
        measured = max((float(each.max()) for each in positive), default=0.0)
        high = max(measured, guarantee) or 1.0
        crowded = any(np.mean(each < measured / _BARS) > _CROWD for each in positive)
        log = bool(positive) and (scale == "log" or (scale == "auto" and (crowded or guarantee > _FAR * measured)))
        low = min((float(np.quantile(each, 0.01)) for each in positive), default=0.0) if log else 0.0
        return cls(max(low, _DECADES * high) if log else 0.0, high, log)

    def edges(self, bins: int) -> np.ndarray:
        """Return the edges of the bars of a histogram."""
        if bins > _MOST_BARS:
            raise refuse_value("bins", "a display", f"at most {_MOST_BARS:,}", bins, "more bars cannot be seen.")
        edges: np.ndarray = (np.geomspace if self.log else np.linspace)(self.low, self.high, bins + 1)
        return edges

    def inside(self, changes: np.ndarray) -> np.ndarray:
        """Return changes in which those below the axis are replaced by its lower end."""
        inside: np.ndarray = np.maximum(changes, self.low)
        return inside


def write_shares(axis: Any) -> None:
    """Write the ticks of an axis of shares in percent."""
    from matplotlib.ticker import FuncFormatter

    axis.set_major_formatter(FuncFormatter(lambda share, _: f"{number(100 * share)}%"))


def write_numbers(axis: Any) -> None:
    """Write the ticks of an axis as people write numbers: 1,000 and not 1e3."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    if axis.get_scale() == "log":
        low, high = axis.get_view_interval()
        axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if high < _NARROW * low else (1.0,)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: number(value)))
    axis.set_minor_formatter(NullFormatter())


def as_steps(epsilon: np.ndarray, delta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the corners of a step curve: a guarantee at one epsilon holds until the next.

    >>> as_steps(np.array([0.5, 0.2]), np.array([0.0, 0.4]))
    (array([0.2, 0.5, 0.5]), array([0.4, 0.4, 0. ]))
    """
    order = np.lexsort((-delta, epsilon))  # if one epsilon has several shares, the smallest holds
    return np.repeat(epsilon[order], 2)[1:], np.repeat(delta[order], 2)[:-1]


def by_name(perturbations: Any, owner: str) -> dict[str, Perturbations]:
    """Return a dictionary of perturbations by their names in the legend."""
    named = {"measured": perturbations} if isinstance(perturbations, Perturbations) else perturbations
    if not isinstance(named, Mapping) or not all(isinstance(moved, Perturbations) for moved in named.values()):
        raise refuse_type("perturbations", owner, "Perturbations, or a dict of them by name", perturbations)
    if not named:
        raise refuse_value("perturbations", owner, "at least one, by name", perturbations, "there is nothing to draw.")
    return as_named(named, "perturbations", owner)


def noun_of(named: Mapping[str, Perturbations]) -> Noun:
    """Return what all of these leave out. A share of rows and a share of patients do not fit on one axis."""
    nouns = {moved.noun for moved in named.values()}
    if len(nouns) > 1:
        words = " and ".join(sorted(noun.plural for noun in nouns))
        raise ValueError(f"Cannot draw perturbations by {words} on one axis: they are shares of different things.")
    return nouns.pop() if nouns else ROWS
