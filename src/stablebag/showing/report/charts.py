"""The report's charts: interactive ones by bokeh, and static ones for readers without scripts and for print."""

import base64
import io
import json
import re
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from stablebag._wording import ROWS, Noun, number, printable
from stablebag.deciding.intervals import Intervals
from stablebag.deciding.label_sets import predict_set
from stablebag.measuring.perturbations import Perturbations
from stablebag.showing.displays.curve import StabilityCurveDisplay
from stablebag.showing.displays.display import MOVES, PROVED, Reach, as_steps, looks, noun_of
from stablebag.showing.displays.histogram import PerturbationDisplay
from stablebag.showing.displays.intervals import IntervalDisplay
from stablebag.showing.displays.label_sets import LabelSetDisplay

_STEPS = 200  # the most steps of a curve; more would not be visible
_BINS = 30
_WIDTH = 54  # letters that fit above and below a picture
_DASHES = {"--": "dashed", "-": "solid"}  # of matplotlib and of bokeh
_INKS = {"light": ("#1b1f24", "#ffffff"), "dark": ("#e6e9ec", "#14181d")}  # ink and paper, as in the template
_PROVED = "proved for the bagged model"


def static(draw: Callable[[Any], Any], alt: str) -> dict[str, str]:
    """Return the picture that `draw` makes on an axes, for ``light`` and ``dark`` paper, and words in its place."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    pictures = {"alt": alt}
    for name, (ink, paper) in _INKS.items():
        colours: Any = {"axes.facecolor": "none", "legend.facecolor": paper}
        colours |= dict.fromkeys(("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color"), ink)
        with rc_context(colours):
            figure = Figure(figsize=(5.2, 3.4), layout="constrained")
            ax = figure.subplots()
            draw(ax)
            for text in (ax.title, ax.xaxis.label):
                text.set(text=textwrap.fill(text.get_text(), _WIDTH), fontsize="medium")
            held = io.BytesIO()
            figure.savefig(held, format="png", dpi=160, transparent=True, metadata={"Software": None})
        pictures[name] = "data:image/png;base64," + base64.b64encode(held.getvalue()).decode()
    return pictures


@dataclass(frozen=True, eq=False)
class Moves:
    """How far predictions move, as the charts show it.

    Attributes
    ----------
    named : dict of str to Perturbations
        What was measured, by name.
    guarantee : pair of ndarray or None, default=None
        The curve of what is proved: distances and shares.
    xlabel : str, default="how far the prediction moves"
        What the distances are.
    """

    named: dict[str, Perturbations]
    guarantee: tuple[np.ndarray, np.ndarray] | None = None
    xlabel: str = MOVES

    @cached_property
    def reach(self) -> Reach:
        """What the axis of the curves shows."""
        return Reach.of(self._values(), proved=0.0 if self.guarantee is None else float(self.guarantee[0].max()))

    @cached_property
    def reach_of_bars(self) -> Reach:
        """What the axis of the histogram shows, on the same scale."""
        return Reach.of(self._values(), scale="log" if self.reach.log else "linear")

    def thinned(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Return what is proved with no more steps than can be seen; it stays true between them."""
        if self.guarantee is None:
            return None
        order = np.lexsort((-self.guarantee[1], self.guarantee[0]))
        kept = order[_spread(len(order))]
        return self.guarantee[0][kept], self.guarantee[1][kept]

    def legend(self) -> list[tuple[str, str, str]]:
        """Return name, colour and line style of all that is shown."""
        shown = [(name, look.colour, _DASHES.get(look.line, "solid")) for name, look in looks(self.named).items()]
        return shown if self.guarantee is None else [*shown, (_PROVED, PROVED, "dotted")]

    def pictures(self) -> dict[str, dict[str, str]]:
        """Return the static pictures: ``histogram`` and ``curves``."""
        largest = {name: float(np.max(moved.max())) for name, moved in self.named.items()}
        words = ", ".join(f"{name} up to {number(value)}" for name, value in largest.items())
        noun = noun_of(self.named)
        whose, one = ("training rows", "training row") if noun == ROWS else (noun.plural, noun.singular)
        scale = "log" if self.reach.log else "linear"

        def curves(ax: Any) -> None:
            shown = {name: moved.curve("mean") for name, moved in self.named.items()}
            display = StabilityCurveDisplay(shown, self.thinned(), None, _PROVED, noun, self.xlabel)
            display.plot(ax=ax, scale=scale)

        def bars(ax: Any) -> None:
            PerturbationDisplay.from_perturbations(self.named, scale=scale, xlabel=self.xlabel, ax=ax)

        return {
            "histogram": static(bars, f"Histograms of {self.xlabel} when each {one} is left out: {words}."),
            "curves": static(
                curves,
                f"For each distance, the share of {whose} that move the prediction further, on average over the test "
                f"points, and what is proved. Largest: {words}.",
            ),
        }

    def _values(self) -> list[np.ndarray]:
        return [moved.distribution()[0] for moved in self.named.values()]  # rows in the same bags once


def interval_picture(intervals: Intervals, targets: Any, called: str = "target") -> dict[str, str] | None:
    """Return the picture of prediction intervals; None if all of them are infinite."""
    if not np.isfinite(intervals.width).any():
        return None
    covered = "" if targets is None else f" {int(intervals.contains(targets).sum())} of {len(targets)} targets inside."
    return static(
        lambda ax: IntervalDisplay.from_intervals(intervals, targets, ylabel=called, ax=ax),
        f"Prediction intervals at {len(intervals)} test points.{covered}",
    )


def label_picture(model: Any, points: Any, hinges: np.ndarray, noun: Noun, delta: float = 0.05) -> dict[str, str]:
    """Return the picture of the two leading labels at points, with those marked whose decision hinges on one row.

    Parameters
    ----------
    model : BaggedClassifier
        The model.
    points : array or DataFrame
        The points.
    hinges : ndarray of bool
        Whether one row flips the decision at each point, and perhaps at more points after them.
    noun : Noun
        What is left out.
    delta : float, default=0.05
        The share of the rows, or units, without which a set of labels may have none in common with this one.

    Returns
    -------
    dict
    """
    sets = predict_set(model, points, delta=delta)
    hinges = hinges[: len(sets)]

    def draw(ax: Any) -> None:
        from matplotlib import rcParams
        from matplotlib.colors import to_rgba
        from matplotlib.ticker import MaxNLocator

        display = LabelSetDisplay(sets, hinges, noun.singular).plot(ax=ax)
        display.hinges_.set_color(rcParams["text.color"])
        paper = to_rgba(rcParams["legend.facecolor"])
        for drawn in ax.collections:  # hollow marks have the colour of the paper
            faces = drawn.get_facecolor()
            drawn.set_facecolor([paper if tuple(face) == (1.0, 1.0, 1.0, 1.0) else face for face in faces])
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        ax.legend(fontsize="small")

    n = len(sets)
    return static(
        draw,
        f"The probabilities of the two likeliest classes at {n:,} test points. {int((sets.sizes == 1).sum())} have a "
        f"stable set of one class, and at {int(hinges.sum())} the decision hinges on one {noun.singular}.",
    )


class Interactive(NamedTuple):
    """The interactive chart: bokeh itself, what draws the chart, where it goes, and what can be chosen.

    Attributes
    ----------
    library : str
        Bokeh's own script.
    script : str
        The script that draws the chart.
    curves : str
        Where the curves are drawn.
    bars : str
        Where the histogram is drawn.
    points : list of (str, str)
        The keys and the names of the points to choose from.
    data : str
        JSON that is safe inside of a page: for each key and each name, the curve and the bars.
    """

    library: str
    script: str
    curves: str
    bars: str
    points: list[tuple[str, str]]
    data: str


def interactive(moves: Moves) -> Interactive:
    """Draw curves and histograms that can be read by hovering, for all points together and for each of them."""
    from bokeh.embed import components
    from bokeh.models import ColumnDataSource, HoverTool, Range1d
    from bokeh.plotting import figure
    from bokeh.resources import Resources

    first, noun, reach = next(iter(moves.named.values())), noun_of(moves.named), moves.reach
    called = first.names.points
    names = (f"test point {k + 1}" if called is None else f"test row {printable(called[k])}" for k in range(_n(first)))
    points = [("all", "all points together"), *((str(k), name) for k, name in enumerate(names))]
    data = {key: {name: _series(moved, key, moves) for name, moved in moves.named.items()} for key, _ in points}
    size: dict[str, Any] = {
        "height": 300,
        "sizing_mode": "stretch_width",
        "tools": "",  # a finger that moves over the chart moves the page
        "toolbar_location": None,
        "x_axis_type": "log" if reach.log else "linear",
        "background_fill_color": None,
        "border_fill_color": None,
    }
    share = f"share of {noun.plural}"
    ends = moves.reach_of_bars
    curves: Any = figure(x_range=Range1d(start=reach.low, end=1.05 * reach.high), **size)
    bars: Any = figure(x_range=Range1d(start=ends.low, end=ends.high), **size)
    for name, look in looks(moves.named).items():
        style: dict[str, Any] = {"color": look.colour, "name": name}
        curve, bins = (
            ColumnDataSource(part, name=f"{kind} {name}")
            for part, kind in zip(data["all"][name], ("curve", "bars"), strict=True)
        )
        curves.line("moves", "share", source=curve, line_width=2, line_dash=_DASHES.get(look.line, "solid"), **style)
        hatch = {"hatch_pattern": "/", "hatch_color": look.colour, "hatch_alpha": 0.6} if look.hatch else {}
        bars.quad("left", "right", "share", 0, source=bins, fill_alpha=0.4, **style, **hatch)
    proved = moves.thinned()
    if proved is not None:
        corners = as_steps(*proved)
        steps = {"moves": reach.inside(corners[0]).tolist(), "share": corners[1].tolist()}
        style = {"line_dash": "dotted", "color": PROVED, "line_width": 2.5, "name": _PROVED}
        curves.line("moves", "share", source=ColumnDataSource(steps), **style)
    for plot in (curves, bars):
        plot.y_range.start = 0
        plot.xaxis.minor_tick_line_color = plot.yaxis.minor_tick_line_color = None
        plot.xaxis.formatter, plot.yaxis.formatter = _written(reach), _percent()
    tooltips = [("of", "$name"), (share, "@share{0.0%}"), ("moves it further than", "@moves" + _hovered(reach))]
    curves.add_tools(HoverTool(tooltips=tooltips, formatters={"@moves": _formatter(reach)}, mode="vline"))
    script, places = components((curves, bars), wrap_script=False)
    library = "\n".join(Resources(mode="inline", components=["bokeh"]).js_raw)
    script, *places = _with_names_in_order(script, *places)
    return Interactive(library, script, places[0], places[1], points, json.dumps(data).replace("<", "\\u003c"))


def _n(moved: Perturbations) -> int:
    return len(moved.prediction)


def _plainly(reach: Reach) -> bool:
    """Whether all numbers of an axis can be written without a power of ten."""
    return reach.high < 1e12 and (reach.low if reach.log else reach.high / 100) > 1e-6


def _written(reach: Reach) -> Any:
    from bokeh.models import BasicTickFormatter, NumeralTickFormatter

    return NumeralTickFormatter(format="0,0.[000000]") if _plainly(reach) else BasicTickFormatter()


def _percent() -> Any:
    from bokeh.models import NumeralTickFormatter

    return NumeralTickFormatter(format="0%")


def _hovered(reach: Reach) -> str:
    return "{0,0.[00]}" if reach.high >= 100 and _plainly(reach) else "{%.4g}"


def _formatter(reach: Reach) -> Any:
    return "numeral" if _hovered(reach).startswith("{0") else "printf"


def _with_names_in_order(*texts: str) -> list[str]:
    """Renumber bokeh's random and counted names, so that the same study gives the same page to the last bit."""
    names: dict[str, str] = {}

    def renamed(match: re.Match[str]) -> str:
        return names.setdefault(match.group(), f"name{len(names)}")

    pattern = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|\bp\d{4,}\b")
    return [pattern.sub(renamed, text) for text in texts]


def _spread(length: int) -> np.ndarray:
    """At most so many places of an array as steps can be seen, the first and the last among them."""
    return np.unique(np.linspace(0, length - 1, _STEPS).round().astype(int))


def _series(moved: Perturbations, key: str, moves: Moves) -> list[dict[str, list[float]]]:
    """The curve and the bars of all points, or of one."""
    values, rows = moved.distribution(None if key == "all" else int(key))
    reach, bars = moves.reach, moves.reach_of_bars
    order = np.argsort(values)
    ordered, below = values[order], np.concatenate([[0], np.cumsum(rows[order])])
    levels = np.concatenate([[0.0], ordered[_spread(len(ordered))]])
    shares = (below[-1] - below[np.searchsorted(ordered, levels, side="right")]) / below[-1]
    counts, edges = np.histogram(bars.inside(values), bars.edges(_BINS), weights=rows)
    shown = [[float(f"{end:.6g}") for end in ends] for ends in (edges[:-1], edges[1:])]
    bins = {"left": shown[0], "right": shown[1], "share": (counts / below[-1]).round(6).tolist()}
    # A share holds until the next distance: a line with corners, because bokeh's hover reads values only off lines.
    steps = {
        "moves": [float(f"{level:.6g}") for level in reach.inside(np.repeat(levels, 2)[1:])],
        "share": np.repeat(shares, 2)[:-1].round(6).tolist(),
    }
    return [steps, bins]
