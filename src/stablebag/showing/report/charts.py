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
from stablebag.deciding.label_sets import LabelSets
from stablebag.measuring.perturbations import Perturbations
from stablebag.showing.comparison import ESTIMATED, LIMIT, REFITTED, Comparison
from stablebag.showing.displays.curve import StabilityCurveDisplay
from stablebag.showing.displays.display import BAGGED, MOVES, OTHER, PROVED, Reach, as_steps, looks, noun_of
from stablebag.showing.displays.intervals import IntervalDisplay
from stablebag.showing.displays.label_sets import LabelSetDisplay

_STEPS = 200  # the most steps of a curve; more would not be visible
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


class Bar(NamedTuple):
    """A bar of typical changes: what it is of, how large that is, its share of the largest, and its colour."""

    name: str
    text: str
    share: float
    colour: str


@dataclass(frozen=True, eq=False)
class Changes:
    """What the verdict speaks of: how far both models change when they are refitted without the same rows.

    A model that rarely changes, but then by much, is not more stable than one that often changes by little: shares of
    rows cannot tell them apart. Bars therefore show the typical change, and curves show all changes, largest first.

    Attributes
    ----------
    compared : Comparison
        What was measured.
    label : str, default="change of the prediction"
        What the changes are.
    """

    compared: Comparison
    label: str = "change of the prediction"

    def bars(self) -> list[Bar]:
        """Return a bar for the typical change of each model, by root mean square."""
        compared = self.compared
        how = {ESTIMATED: ", estimated", LIMIT: ", apart from bagging noise"}.get(compared.how, "")
        bags = f" with {compared.n_bags:,} bags" if compared.n_bags and compared.how != LIMIT else ""
        sizes = {} if compared.base is None else {"base model": (compared.base_rms, OTHER)}
        sizes[f"bagged model{bags}{how}"] = compared.bagged_rms, BAGGED
        if compared.how != LIMIT and compared.noise > 0:
            sizes["bagged model with infinitely many bags, estimated"] = compared.limit_rms, BAGGED
        largest = max(size for size, _ in sizes.values()) or 1.0
        return [
            Bar(name, number(float(f"{size:.3g}")) if size or not compared.noise else "below the noise", size / largest,
                colour)
            for name, (size, colour) in sizes.items()
        ]  # fmt: skip

    @cached_property
    def curves(self) -> dict[str, tuple[np.ndarray, np.ndarray]]:
        """For each model, shares of all rows and points, and the change that this share reaches or exceeds.

        It is empty where the changes of the bagged model were not measured one by one.
        """
        named = zip(("base model", "bagged"), self.compared.distributions(), strict=True)
        measured = {name: found for name, found in named if found is not None}
        if len(measured) < 2 or (self.compared.how != REFITTED and self.compared.refitted is None):
            return {}
        curves = {}
        for name, (values, weights) in measured.items():
            order = np.argsort(-values, kind="stable")
            share, value = np.cumsum(weights[order]) / weights.sum(), values[order]
            # Steps are seen on a logarithmic scale: the same number for every power of ten.
            kept = np.unique(np.searchsorted(share, np.geomspace(share[0], 1.0, _STEPS) * (1 - 1e-12)))
            kept = kept[kept < len(share)]
            curves[name] = share[kept], value[kept]
        return curves

    def legend(self) -> list[tuple[str, str, str]]:
        """Return name, colour and line style of the curves."""
        return _legend(self.curves)

    @property
    def smallest(self) -> float:
        """Where shares begin: at half of the smallest, so that the largest change is seen."""
        return min(float(share[0]) for share, _ in self.curves.values()) / 2

    def picture(self) -> dict[str, str] | None:
        """Return the static picture of all changes, largest first; None if they were not measured one by one."""
        if not self.curves:
            return None
        largest = ", ".join(f"{name} up to {number(float(value[0]))}" for name, (_, value) in self.curves.items())

        def draw(ax: Any) -> None:
            for name, look in looks(self.curves).items():
                share, value = self.curves[name]
                ends = np.concatenate([[self.smallest], share]), np.concatenate([value[:1], value])
                ax.step(*ends, where="pre", color=look.colour, linestyle=look.line, label=name)
            ax.set(xscale="log", xlabel="share of all rows and test points, largest changes first", ylabel=self.label)
            ax.set_xlim(self.smallest, 1.0)
            ax.set_ylim(bottom=0.0)
            ax.xaxis.set_major_formatter(lambda share, _: f"{100 * share:.10g}%")
            ax.legend(fontsize="small")

        words = f"All changes when one {self.compared.bagged.noun.singular} is left out, largest first"
        return static(draw, f"{words}: {largest}.")


@dataclass(frozen=True, eq=False)
class ChangeCurves:
    """How far predictions move without each row, by the bags that are left, with what is proved about that.

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

    def thinned(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Return what is proved with no more steps than can be seen; it stays true between them."""
        if self.guarantee is None:
            return None
        order = np.lexsort((-self.guarantee[1], self.guarantee[0]))
        kept = order[_spread(len(order))]
        return self.guarantee[0][kept], self.guarantee[1][kept]

    def legend(self) -> list[tuple[str, str, str]]:
        """Return name, colour and line style of all that is shown."""
        shown = _legend(self.named)
        return shown if self.guarantee is None else [*shown, (_PROVED, PROVED, "dotted")]

    def picture(self) -> dict[str, str]:
        """Return the static picture."""
        largest = {name: float(np.max(moved.max())) for name, moved in self.named.items()}
        words = ", ".join(f"{name} up to {number(value)}" for name, value in largest.items())
        noun = noun_of(self.named)
        whose = "training rows" if noun == ROWS else noun.plural

        def curves(ax: Any) -> None:
            shown = {name: moved.curve("mean") for name, moved in self.named.items()}
            display = StabilityCurveDisplay(shown, self.thinned(), None, _PROVED, noun, self.xlabel)
            display.plot(ax=ax, scale="log" if self.reach.log else "linear")

        return static(
            curves,
            f"For each distance, the share of {whose} that move the prediction further, on average over the test "
            f"points, and what is proved. Largest: {words}.",
        )

    def _values(self) -> list[np.ndarray]:
        return [moved.distribution()[0] for moved in self.named.values()]  # rows in the same bags once


def interval_picture(intervals: Intervals, targets: Any, target: str = "target") -> dict[str, str] | None:
    """Return the picture of prediction intervals; None if all of them are infinite."""
    if not np.isfinite(intervals.width).any():
        return None
    covered = "" if targets is None else f" {int(intervals.contains(targets).sum())} of {len(targets)} targets inside."
    return static(
        lambda ax: IntervalDisplay.from_intervals(intervals, targets, ylabel=target, ax=ax),
        f"Prediction intervals at {len(intervals.lower)} test points.{covered}",
    )


def label_picture(sets: LabelSets, hinges: np.ndarray, noun: Noun) -> dict[str, str]:
    """Return the picture of the two leading labels at points, marking those whose decision hinges on one row.

    `hinges` says whether one row flips the decision at each point, and perhaps at more points after them.
    """
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
    """The interactive charts: bokeh itself, what draws them, where they go, and what can be chosen.

    Attributes
    ----------
    library : str
        Bokeh's own script.
    script : str
        The script that draws the charts.
    changes : str
        Where all changes are drawn; "" if they were not measured.
    curves : str
        Where the curves with what is proved are drawn.
    points : list of (str, str)
        The keys and the names of the points to choose from.
    data : str
        JSON that is safe inside of a page: for each key and each name, the curve.
    """

    library: str
    script: str
    changes: str
    curves: str
    points: list[tuple[str, str]]
    data: str


def interactive(moves: ChangeCurves, changes: Changes | None = None) -> Interactive:
    """Draw charts that can be read by hovering: all changes, and the curves of all points together and of each."""
    from bokeh.embed import components
    from bokeh.models import ColumnDataSource, HoverTool, NumeralTickFormatter, Range1d
    from bokeh.plotting import figure
    from bokeh.resources import Resources

    first, noun, reach = next(iter(moves.named.values())), noun_of(moves.named), moves.reach
    points_names = first.names.points
    names = (
        f"test point {k + 1}" if points_names is None else f"test row {printable(points_names[k])}"
        for k in range(_n(first))
    )
    points = [("all", "all points together"), *((str(k), name) for k, name in enumerate(names))]
    data = {key: {name: _series(moved, key, moves) for name, moved in moves.named.items()} for key, _ in points}
    size: dict[str, Any] = {
        "height": 300,
        "sizing_mode": "stretch_width",
        "tools": "",  # a finger that moves over the chart moves the page
        "toolbar_location": None,
        "background_fill_color": None,
        "border_fill_color": None,
    }
    scale = "log" if reach.log else "linear"
    curves: Any = figure(x_range=Range1d(start=reach.low, end=1.05 * reach.high), x_axis_type=scale, **size)
    for name, look in looks(moves.named).items():
        source = ColumnDataSource(data["all"][name], name=f"curve {name}")
        style: dict[str, Any] = {"color": look.colour, "name": name, "line_dash": _DASHES.get(look.line, "solid")}
        curves.line("moves", "share", source=source, line_width=2, **style)
    proved = moves.thinned()
    if proved is not None:
        corners = as_steps(*proved)
        steps = {"moves": reach.inside(corners[0]).tolist(), "share": corners[1].tolist()}
        style = {"line_dash": "dotted", "color": PROVED, "line_width": 2.5, "name": _PROVED}
        curves.line("moves", "share", source=ColumnDataSource(steps), **style)
    curves.xaxis.formatter, curves.yaxis.formatter = _number_format(reach), _percent()
    share = [("of", "$name"), (f"share of {noun.plural}", "@share{0.0%}")]
    tooltips = [*share, ("moves it further than", "@moves" + _hover_format(reach))]
    curves.add_tools(HoverTool(tooltips=tooltips, formatters={"@moves": _formatter(reach)}, mode="vline"))
    drawn = [curves]
    if changes is not None and changes.curves:
        ends = Range1d(start=changes.smallest, end=1.0)
        sorted_ones: Any = figure(x_range=ends, x_axis_type="log", **size)
        of_changes = Reach.of([value for _, value in changes.curves.values()], scale="linear")
        for name, look in looks(changes.curves).items():
            part, value = changes.curves[name]
            steps = {
                "share": np.repeat(np.concatenate([[changes.smallest], part]), 2)[1:-1].tolist(),
                "change": [float(f"{each:.6g}") for each in np.repeat(value, 2)],
            }
            style = {"color": look.colour, "name": name, "line_dash": _DASHES.get(look.line, "solid")}
            sorted_ones.line("share", "change", source=ColumnDataSource(steps), line_width=2, **style)
        sorted_ones.xaxis.formatter = NumeralTickFormatter(format="0.[0000]%")
        sorted_ones.yaxis.formatter = _number_format(of_changes)
        read = [("of", "$name"), ("share of all cases", "@share{0.[000]%}"), ("change by at least", "@change{%.3g}")]
        sorted_ones.add_tools(HoverTool(tooltips=read, formatters={"@change": "printf"}, mode="vline"))
        drawn.append(sorted_ones)
    for plot in drawn:
        plot.y_range.start = 0
        plot.xaxis.minor_tick_line_color = plot.yaxis.minor_tick_line_color = None
    script, places = components(tuple(drawn), wrap_script=False)
    library = "\n".join(Resources(mode="inline", components=["bokeh"]).js_raw)
    script, *places = _with_names_in_order(script, *places)
    safe = json.dumps(data).replace("<", "\\u003c")
    return Interactive(library, script, places[1] if len(places) > 1 else "", places[0], points, safe)


def _legend(names: Any) -> list[tuple[str, str, str]]:
    return [(name, look.colour, _DASHES.get(look.line, "solid")) for name, look in looks(names).items()]


def _n(moved: Perturbations) -> int:
    return len(moved.prediction)


def _plainly(reach: Reach) -> bool:
    """Whether all numbers of an axis can be written without a power of ten."""
    return reach.high < 1e12 and (reach.low if reach.log else reach.high / 100) > 1e-6


def _number_format(reach: Reach) -> Any:
    from bokeh.models import BasicTickFormatter, NumeralTickFormatter

    return NumeralTickFormatter(format="0,0.[000000]") if _plainly(reach) else BasicTickFormatter()


def _percent() -> Any:
    from bokeh.models import NumeralTickFormatter

    return NumeralTickFormatter(format="0%")


def _hover_format(reach: Reach) -> str:
    return "{0,0.[00]}" if reach.high >= 100 and _plainly(reach) else "{%.4g}"


def _formatter(reach: Reach) -> Any:
    return "numeral" if _hover_format(reach).startswith("{0") else "printf"


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


def _series(moved: Perturbations, key: str, moves: ChangeCurves) -> dict[str, list[float]]:
    """The curve of all points, or of one."""
    values, rows = moved.distribution(None if key == "all" else int(key))
    order = np.argsort(values)
    ordered, below = values[order], np.concatenate([[0], np.cumsum(rows[order])])
    levels = np.concatenate([[0.0], ordered[_spread(len(ordered))]])
    shares = (below[-1] - below[np.searchsorted(ordered, levels, side="right")]) / below[-1]
    # A share holds until the next distance: a line with corners, because bokeh's hover reads values only off lines.
    return {
        "moves": [float(f"{level:.6g}") for level in moves.reach.inside(np.repeat(levels, 2)[1:])],
        "share": np.repeat(shares, 2)[:-1].round(6).tolist(),
    }
