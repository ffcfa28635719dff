"""The report's charts: interactive ones by bokeh, and static ones for print and for readers without scripts."""

import html
import io
import json
import re
import textwrap
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from stablebag._wording import ROWS, Noun, number, percent, printable, rounded_down, short
from stablebag.deciding.intervals import Intervals
from stablebag.deciding.label_sets import LabelSets
from stablebag.measuring.perturbations import Perturbations
from stablebag.proving.certificate import StabilityCertificate
from stablebag.proving.scope import Rerun
from stablebag.showing.comparison import ESTIMATED, LIMIT, REFITTED, Comparison
from stablebag.showing.displays.curve import StabilityCurveDisplay
from stablebag.showing.displays.display import BAGGED, CHANGE, GUARANTEE, OTHER, Reach, as_steps, looks, noun_of
from stablebag.showing.displays.intervals import IntervalDisplay
from stablebag.showing.displays.label_sets import LabelSetDisplay

_STEPS = 200  # the most steps of a curve; more would not be visible
_WIDTH = 64  # letters that fit above and below a picture
_FAR = 10.0  # the scale is logarithmic if the guarantee is this many times larger than the largest measured change
_DASHES = {"--": "dashed", "-": "solid"}  # line styles of matplotlib and of bokeh
_INK, _PAPER = "#010203", "#010204"  # replaced by the colours of the page, which differ in light and dark
_ALL = "all"  # the key of all test points together


class Picture(NamedTuple):
    """A picture as SVG, which takes its colours from the page, and a text that says what it shows."""

    svg: str
    alt: str


def static(draw: Callable[[Any], Any], alt: str) -> Picture:
    """Return the picture that `draw` makes on an axes."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    colours = ("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color")
    settings: Any = {"axes.facecolor": "none", "legend.facecolor": _PAPER, **dict.fromkeys(colours, _INK)}
    # Text stays text: browsers have all letters, and dollar signs in the name of a column are not formulas.
    settings |= {"svg.fonttype": "none", "svg.hashsalt": alt, "text.parse_math": False}
    held = io.StringIO()
    with rc_context(settings), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=r"Glyph .* missing from")
        figure = Figure(figsize=(5.4, 3.6), layout="constrained")
        ax = figure.subplots()
        draw(ax)
        for text in (ax.title, ax.xaxis.label):
            lines = [textwrap.fill(line, _WIDTH) for line in text.get_text().splitlines()]
            text.set(text="\n".join(lines), fontsize=9)
        figure.savefig(held, format="svg", transparent=True)
    return Picture(_for_a_page(held.getvalue(), alt), alt)


def _for_a_page(svg: str, alt: str) -> str:
    """Take the picture out of matplotlib's SVG: without header, metadata, styles, comments and IDs of groups."""
    unused = r"<metadata>.*?</metadata>|<style.*?</style>|<!--.*?-->"
    svg = re.sub(unused, "", svg[svg.index("<svg") :], flags=re.DOTALL)
    svg = re.sub(r'<g id="[^"]*">', "<g>", svg)
    box = re.search(r'viewBox="[^"]*"', svg)
    assert box is not None
    head = f'<svg xmlns:xlink="http://www.w3.org/1999/xlink" {box.group()} role="img" aria-label="{html.escape(alt)}">'
    svg = head + svg[svg.index(">") + 1 :].strip()
    return svg.replace(_INK, "currentColor").replace(_PAPER, "var(--paper)")


class Bar(NamedTuple):
    """A bar: the model, its typical change, this change as a share of the largest, and a colour."""

    name: str
    text: str
    share: float
    colour: str


@dataclass(frozen=True, eq=False)
class Changes:
    """The changes behind the verdict: those of both models without the same rows.

    Bars show the typical change, which the verdict compares. Curves show all changes, largest first. A share of rows
    would not do: a model that rarely changes, but then by much, is not more stable than one that often changes a
    little.

    Attributes
    ----------
    compared : Comparison
        The measured changes.
    label : str, default="change of the prediction"
        What changes, for an axis.
    """

    compared: Comparison
    label: str = CHANGE

    def bars(self) -> list[Bar]:
        """Return a bar for the typical change of each model, by root mean square."""
        compared = self.compared
        how = {ESTIMATED: ", estimated", LIMIT: ", without bagging noise"}.get(compared.how, "")
        bags = f" ({compared.n_bags:,} bags)" if compared.n_bags and compared.how != LIMIT else ""
        sizes = {} if compared.base is None else {"base model": (compared.base_rms, OTHER)}
        sizes[f"bagged model{bags}{how}"] = compared.bagged_rms, BAGGED
        largest = max(size for size, _ in sizes.values()) or 1.0
        zero = "below bagging noise" if compared.noise else "0"
        return [
            Bar(name, number(float(f"{size:.3g}")) if size else zero, size / largest, colour)
            for name, (size, colour) in sizes.items()
        ]

    @cached_property
    def curves(self) -> dict[str, tuple[np.ndarray, np.ndarray]]:
        """For each model, shares of all changes, and the size that this share of them has or exceeds.

        Empty if the changes of the bagged model were not measured one by one.
        """
        named = zip(("base model", "bagged model"), self.compared.distributions(), strict=True)
        measured = {name: found for name, found in named if found is not None}
        if len(measured) < 2 or (self.compared.how != REFITTED and self.compared.refitted is None):
            return {}
        curves = {}
        for name, (values, weights) in measured.items():
            order = np.argsort(-values, kind="stable")
            share, value = np.cumsum(weights[order]) / weights.sum(), values[order]
            # Steps are visible on a logarithmic scale: take as many for each power of ten.
            kept = np.unique(np.searchsorted(share, np.geomspace(share[0], 1.0, _STEPS) * (1 - 1e-12)))
            kept = kept[kept < len(share)]
            curves[name] = share[kept], value[kept]
        return curves

    def legend(self) -> list[tuple[str, str, str]]:
        """Return name, colour and line style of the curves."""
        return _legend(self.curves)

    @property
    def smallest(self) -> float:
        """The left end of the shares: half of the smallest, so that the largest change is visible."""
        return min(float(share[0]) for share, _ in self.curves.values()) / 2

    @property
    def ticks(self) -> dict[float, str]:
        """Shares to mark on the axis, in words: "1 in 100"."""
        lowest = int(np.ceil(np.log10(self.smallest)))
        step = 1 if lowest >= -5 else 2  # more would overlap on a narrow screen
        return {10.0**power: "all" if power == 0 else f"1 in {10**-power:,}" for power in range(0, lowest - 1, -step)}

    def example(self) -> str:
        """Say how to read the curves, at one of their points; "" if both models rarely change."""
        for share in (0.01, 0.1, 0.001, 0.0001):
            sizes = [_size_of_share(*curve, share) for curve in self.curves.values()]
            if share >= 4 * self.smallest and all(size > 0 for size in sizes):
                base, bagged = (rounded_down(size, 3) for size in sizes)
                often = f"1 in {round(1 / share):,} changes"
                return f"For example, {often} is {base} or more for the base model, and {bagged} or more when bagged."
        return ""

    def picture(self) -> Picture | None:
        """Return the static picture of all changes, largest first; None if they were not measured one by one."""
        if not self.curves:
            return None
        largest = ", ".join(f"{name} up to {short(float(value[0]))}" for name, (_, value) in self.curves.items())

        def draw(ax: Any) -> None:
            for name, look in looks(self.curves).items():
                share, value = self.curves[name]
                ends = np.concatenate([[self.smallest], share]), np.concatenate([value[:1], value])
                ax.step(*ends, where="pre", color=look.colour, linestyle=look.line, label=name)
            ax.set(xscale="log", xlabel="how many changes are at least as large", ylabel=self.label)
            ax.set_xlim(self.smallest, 1.0)
            ax.set_ylim(bottom=0.0)
            ax.set_xticks(list(self.ticks), list(self.ticks.values()))
            ax.set_xticks([], minor=True)
            ax.legend(fontsize="small")

        words = f"All changes when one {self.compared.bagged.noun.singular} is left out, largest first"
        return static(draw, f"{words}: {largest}.")


def _size_of_share(share: np.ndarray, value: np.ndarray, at: float) -> float:
    """The size that a share of all changes has or exceeds: the step of a curve at this share."""
    return float(value[min(len(value) - 1, int(np.searchsorted(share, at * (1 - 1e-12))))])


@dataclass(frozen=True, eq=False)
class Guarantee:
    """Guaranteed curves: for each epsilon, the largest share of rows that can change a prediction by more.

    Attributes
    ----------
    together : pair of ndarray
        Epsilon and delta of the guarantee for the average over all test points.
    each : list of pairs of ndarray, or None
        The same for each test point; None if every point has the same guarantee.
    name : str, default="guaranteed for the bagged model"
        Its name in the legend.
    """

    together: tuple[np.ndarray, np.ndarray]
    each: list[tuple[np.ndarray, np.ndarray]] | None = None
    name: str = "guaranteed for the bagged model"

    @classmethod
    def of(cls, proved: StabilityCertificate) -> "Guarantee | None":
        """Return the curves of a certificate; None if it guarantees nothing."""
        epsilon, share = proved.curve("mean")
        known = np.isfinite(epsilon)
        if not known.any():
            return None
        together = epsilon[known], share[known]
        name = cls.name
        if proved.scope.rerun is Rerun.ANEW:  # the curve of a single draw of the bags may be above it
            name += ", on average over draws of the bags"
        if np.ndim(proved.epsilon(0.5)) == 0:
            return cls(together, name=name)
        n = proved.n_samples
        shares = np.unique(np.geomspace(1, max(1, n - 1), _STEPS).astype(np.int64)) / n
        levels = np.array([proved.epsilon(one) for one in shares])
        levels = levels.reshape(*levels.shape[:2], -1).max(axis=2)  # over classes, the weakest
        return cls(together, [(level[np.isfinite(level)], shares[np.isfinite(level)]) for level in levels.T], name)

    def at(self, key: str) -> tuple[np.ndarray, np.ndarray]:
        """Return the curve of all points together, or of one, with no more steps than are visible."""
        epsilon, delta = self.together if key == _ALL or self.each is None else self.each[int(key)]
        order = np.lexsort((-delta, epsilon))
        kept = order[_spread(len(order))]  # steps that are left stay true
        return epsilon[kept], delta[kept]

    def epsilon(self, delta: float) -> float:
        """Return the smallest guaranteed epsilon for a share of rows; the largest of all if there is none."""
        epsilon, share = self.together
        few = share <= delta
        return float(epsilon[few].min() if few.any() else epsilon.max())


@dataclass(frozen=True, eq=False)
class ChangeCurves:
    """The share of rows that change a prediction by more than epsilon, by the bags without each row.

    Attributes
    ----------
    named : dict of str to Perturbations
        The measured changes, by name.
    guarantee : Guarantee or None, default=None
        The guarantee about them.
    xlabel : str, default="change of the prediction"
        What changes, for an axis.
    delta : float, default=0.05
        The axis of changes reaches at least to the guarantee for this share of rows.
    """

    named: dict[str, Perturbations]
    guarantee: Guarantee | None = None
    xlabel: str = CHANGE
    delta: float = 0.05

    @cached_property
    def reach(self) -> Reach:
        """The ends of the axis of changes: it shows all measured changes, and the guarantee for few rows."""
        guaranteed = 0.0 if self.guarantee is None else 1.2 * self.guarantee.epsilon(self.delta)
        measured = [moved.distribution()[0] for moved in self.named.values()]  # rows in the same bags count once
        largest = max(float(each.max(initial=0.0)) for each in measured)
        scale = "log" if guaranteed > _FAR * largest else "linear"
        return Reach.of(measured, guarantee=guaranteed, scale=scale)

    def legend(self) -> list[tuple[str, str, str]]:
        """Return name, colour and line style of all curves."""
        shown = _legend(self.named)
        return shown if self.guarantee is None else [*shown, (self.guarantee.name, GUARANTEE, "dotted")]

    def picture(self) -> Picture:
        """Return the static picture."""
        largest = {name: float(np.max(moved.max())) for name, moved in self.named.items()}
        words = ", ".join(f"{name} up to {short(value)}" for name, value in largest.items())
        noun = noun_of(self.named)
        whose = "training rows" if noun == ROWS else noun.plural

        def curves(ax: Any) -> None:
            shown = {name: moved.curve("mean") for name, moved in self.named.items()}
            display = StabilityCurveDisplay(shown, noun=noun, xlabel=self.xlabel)
            if self.guarantee is not None:
                display.guarantee, display.guarantee_label = self.guarantee.at(_ALL), self.guarantee.name
            display.plot(ax=ax, scale="log" if self.reach.log else "linear")
            ax.set_xlim(self.reach.low, 1.05 * self.reach.high)

        guaranteed = "" if self.guarantee is None else ", with the guarantee"
        alt = f"For each change, the share of {whose} that change a prediction by more, averaged over the test points"
        return static(curves, f"{alt}{guaranteed}. Largest: {words}.")

    def series(self, key: str) -> dict[str, dict[str, list[float]]]:
        """Return all curves, of all points together or of one, as steps for bokeh."""
        found = {name: _measured(moved, key, self.reach) for name, moved in self.named.items()}
        if self.guarantee is not None:
            found[self.guarantee.name] = _steps(*as_steps(*self.guarantee.at(key)), self.reach)
        return found


def interval_picture(intervals: Intervals, targets: Any, target: str = "target") -> Picture | None:
    """Return the picture of prediction intervals; None if all of them are infinite."""
    if not np.isfinite(intervals.width).any():
        return None
    inside = "" if targets is None else f" {int(intervals.contains(targets).sum())} of {len(targets)} targets inside."
    level = percent(intervals.confidence_level)
    return static(
        lambda ax: IntervalDisplay.from_intervals(intervals, targets, ylabel=target, ax=ax),
        f"{level} prediction intervals at {len(intervals.lower)} test points.{inside}",
    )


def label_picture(sets: LabelSets, flips: np.ndarray, noun: Noun) -> Picture:
    """Return the picture of the two likeliest labels at each point.

    `flips` says at which points a refit without one row flips the decision, and may go on beyond these points.
    """
    flips = flips[: len(sets)]

    def draw(ax: Any) -> None:
        from matplotlib import rcParams
        from matplotlib.colors import to_rgba
        from matplotlib.ticker import MaxNLocator

        display = LabelSetDisplay(sets, flips, noun.singular).plot(ax=ax)
        display.hinges_.set_color(rcParams["text.color"])
        ax.set_title(ax.get_title().splitlines()[0])  # without a count of flips: not every row was left out of a refit
        paper = to_rgba(rcParams["legend.facecolor"])
        for drawn in ax.collections:  # hollow marks have the colour of the page
            faces = drawn.get_facecolor()
            drawn.set_facecolor([paper if tuple(face) == (1.0, 1.0, 1.0, 1.0) else face for face in faces])
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        ax.legend(fontsize="small")

    n = len(sets)
    return static(
        draw,
        f"The probabilities of the two likeliest classes at {n:,} test points. {int((sets.sizes == 1).sum())} have a "
        f"set of one class, and {int(flips.sum())} decisions flipped in a refit without one {noun.singular}.",
    )


class Interactive(NamedTuple):
    """The interactive charts.

    Attributes
    ----------
    library : str
        Bokeh's own script.
    script : str
        The script that draws the charts.
    changes : str
        The place for all changes; "" if they were not measured.
    curves : str
        The place for the curves with the guarantee.
    points : list of (str, str)
        The keys and the names of the test points to choose from.
    data : str
        The curves as JSON that is safe inside a page, by key and name.
    """

    library: str
    script: str
    changes: str
    curves: str
    points: list[tuple[str, str]]
    data: str


def interactive(moves: ChangeCurves, changes: Changes | None = None) -> Interactive:
    """Draw the charts that readers can hover over: all changes, and the curves of all points and of each."""
    from bokeh.embed import components
    from bokeh.models import ColumnDataSource, HoverTool, Range1d
    from bokeh.plotting import figure
    from bokeh.resources import Resources

    first, noun, reach = next(iter(moves.named.values())), noun_of(moves.named), moves.reach
    points_names = first.names.points
    names = (
        f"test point {k + 1}" if points_names is None else f"test row {printable(points_names[k])}"
        for k in range(len(first.prediction))
    )
    points = [(_ALL, "average of all"), *((str(k), name) for k, name in enumerate(names))]
    data = {key: moves.series(key) for key, _ in points}
    size: dict[str, Any] = {
        "height": 300,
        "sizing_mode": "stretch_width",
        "tools": "",  # a finger that moves over the chart scrolls the page
        "toolbar_location": None,
        "background_fill_color": None,
        "border_fill_color": None,
    }
    scale = "log" if reach.log else "linear"
    curves: Any = figure(x_range=Range1d(start=reach.low, end=1.05 * reach.high), x_axis_type=scale, **size)
    for name, colour, dash in moves.legend():
        source = ColumnDataSource(data[_ALL][name], name=f"curve {name}")
        curves.line("moves", "share", source=source, line_width=2, color=colour, name=name, line_dash=dash)
    curves.xaxis.formatter, curves.yaxis.formatter = _number_format(reach), _percent()
    by_more = ("change it by more than", "@moves" + _hover_format(reach))
    tooltips = [("line", "$name"), (f"share of {noun.plural}", "@share{0.0%}"), by_more]
    curves.add_tools(HoverTool(tooltips=tooltips, formatters={"@moves": _formatter(reach)}, mode="vline"))
    drawn = [curves]
    if changes is not None and changes.curves:
        ends = Range1d(start=changes.smallest, end=1.0)
        sorted_ones: Any = figure(x_range=ends, x_axis_type="log", **size)
        of_changes = Reach.of([value for _, value in changes.curves.values()], scale="linear")
        for name, look in looks(changes.curves).items():
            part, value = changes.curves[name]
            shares = np.repeat(np.concatenate([[changes.smallest], part]), 2)[1:-1]
            steps = {
                "share": shares.tolist(),
                "change": [float(f"{each:.6g}") for each in np.repeat(value, 2)],
                "often": [_one_in(share) for share in np.repeat(part, 2)],
            }
            style = {"color": look.colour, "name": name, "line_dash": _DASHES.get(look.line, "solid")}
            sorted_ones.line("share", "change", source=ColumnDataSource(steps), line_width=2, **style)
        sorted_ones.xaxis.ticker = list(changes.ticks)
        sorted_ones.xaxis.major_label_overrides = dict(changes.ticks)
        sorted_ones.yaxis.formatter = _number_format(of_changes)
        read = [("line", "$name"), ("this many changes", "@often"), ("are at least", "@change{%.3g}")]
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


def _one_in(share: float) -> str:
    """A share in words: "1 in 20"."""
    return percent(share) if share > 0.4 else f"1 in {float(f'{1 / share:.2g}'):,.0f}"


def _legend(names: Any) -> list[tuple[str, str, str]]:
    return [(name, look.colour, _DASHES.get(look.line, "solid")) for name, look in looks(names).items()]


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
    return "{0,0.[00]}" if reach.high >= 100 and _plainly(reach) else "{%.3g}"


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
    """Places of an array, evenly spread, with its ends: no more than there are visible steps."""
    if not length:
        return np.empty(0, dtype=int)
    return np.unique(np.linspace(0, length - 1, _STEPS).round().astype(int))


def _measured(moved: Perturbations, key: str, reach: Reach) -> dict[str, list[float]]:
    """The measured curve of all points together, or of one."""
    values, rows = moved.distribution(None if key == _ALL else int(key))
    order = np.argsort(values)
    ordered, below = values[order], np.concatenate([[0], np.cumsum(rows[order])])
    levels = np.concatenate([[0.0], ordered[_spread(len(ordered))]])
    shares = (below[-1] - below[np.searchsorted(ordered, levels, side="right")]) / below[-1]
    return _steps(np.repeat(levels, 2)[1:], np.repeat(shares, 2)[:-1], reach)


def _steps(levels: np.ndarray, shares: np.ndarray, reach: Reach) -> dict[str, list[float]]:
    """The corners of a step curve: lines, because bokeh's hover reads no values off its steps."""
    return {"moves": [float(f"{level:.6g}") for level in reach.inside(levels)], "share": shares.round(6).tolist()}
