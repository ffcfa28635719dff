"""The report's charts: interactive ones by bokeh, and static ones for readers without scripts and for print."""

import base64
import io
import re
from typing import Any

import numpy as np

from stablebag._wording import ROWS
from stablebag.deciding.intervals import Intervals
from stablebag.measuring.perturbations import Perturbations
from stablebag.showing.displays.curve import StabilityCurveDisplay
from stablebag.showing.displays.display import as_steps, noun_of
from stablebag.showing.displays.histogram import PerturbationDisplay
from stablebag.showing.displays.intervals import IntervalDisplay

_STEPS = 200  # the most steps of a curve; more would not be visible
_BINS = 30
_COLOURS = {"base learner": "#d62728", "bagged": "#1f77b4"}


def static(draw: Any, alt: str) -> dict[str, str]:
    """Return the picture that `draw` makes on an axes as text (``src``), with its alternative text (``alt``)."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.2, 4.0), layout="constrained")
    draw(figure.subplots())
    held = io.BytesIO()
    figure.savefig(held, format="png", dpi=110, metadata={"Software": None})
    return {"src": "data:image/png;base64," + base64.b64encode(held.getvalue()).decode(), "alt": alt}


def static_charts(
    named: dict[str, Perturbations], guarantee: Any, intervals: Intervals | None, targets: Any
) -> dict[str, dict[str, str]]:
    """Return all static pictures by name; `guarantee` is the curve of what is proved, epsilon and delta."""
    largest = {name: float(np.max(moved.max())) for name, moved in named.items()}
    words, noun = ", ".join(f"{name} up to {value:.3g}" for name, value in largest.items()), noun_of(named)
    whose = "training rows" if noun == ROWS else noun.plural
    one = "each training row" if noun == ROWS else f"each {noun.singular}"

    def curves(ax: Any) -> None:
        shown = {name: moved.curve("mean") for name, moved in named.items()}
        label = "proved for the bagged model"
        StabilityCurveDisplay(shown, guarantee, guarantee_label=label, noun=noun).plot(ax=ax)

    charts = {
        "histogram": static(
            lambda ax: PerturbationDisplay.from_perturbations(named, ax=ax),
            f"Histograms of how far leaving out {one} moves the predictions: {words}.",
        ),
        "curves": static(
            curves,
            f"For each distance epsilon, the share of {whose} that move the predictions by more, on average over "
            f"the test points, and what is proved. Largest: {words}.",
        ),
    }
    if intervals is not None and np.isfinite(intervals.width).any():
        covered = (
            "" if targets is None else f" {int(intervals.contains(targets).sum())} of {len(targets)} targets inside."
        )
        charts["intervals"] = static(
            lambda ax: IntervalDisplay.from_intervals(intervals, targets, ax=ax),
            f"Prediction intervals at {len(intervals)} test points.{covered}",
        )
    return charts


def interactive(named: dict[str, Perturbations], guarantee: Any) -> tuple[str, str, str]:
    """Return bokeh's own script, the page's script and the elements of the chart of curves and histograms.

    The test point is chosen from a list; hovering over a curve shows (epsilon, delta). `guarantee` is the curve of what
    is proved, epsilon and delta.
    """
    from bokeh.embed import components
    from bokeh.layouts import column
    from bokeh.models import ColumnDataSource, CustomJS, HoverTool
    from bokeh.models.widgets import Select
    from bokeh.plotting import figure
    from bokeh.resources import Resources

    n_points = len(next(iter(named.values())).prediction)
    called, noun = next(iter(named.values())).names.points, noun_of(named)
    points = (f"test point {k + 1}" if called is None else f"test row {called[k]}" for k in range(n_points))
    choices: Any = [("all", "all points together"), *((str(k), point) for k, point in enumerate(points))]
    widest = max(float(np.max(moved.max())) for moved in named.values()) or 1.0
    data = {key: {name: _series(moved, key, widest) for name, moved in named.items()} for key, _ in choices}
    size: dict[str, Any] = {
        "height": 340,
        "sizing_mode": "stretch_width",
        "tools": "pan,box_zoom,wheel_zoom,reset,save",
    }
    share, moves = f"share of {noun.plural}", noun.in_place_of_rows("how far a row moves the prediction")
    curves: Any = figure(x_axis_label="epsilon", y_axis_label=f"delta: {share}", **size)
    bars: Any = figure(x_axis_label=moves, y_axis_label=share, **size)
    sources = {}
    for name in named:
        style: dict[str, Any] = {"color": _COLOURS.get(name, "#2ca02c"), "legend_label": name}
        curve, bins = (ColumnDataSource(part) for part in data["all"][name])
        curves.line("epsilon", "delta", source=curve, line_width=2, **style)
        bars.quad(left="left", right="right", bottom=0, top="share", source=bins, fill_alpha=0.45, **style)
        sources[name] = [curve, bins]
    if guarantee is not None:
        corners = as_steps(*guarantee)
        proved = ColumnDataSource({"epsilon": corners[0].tolist(), "delta": corners[1].tolist()})
        style = {"line_dash": "dotted", "color": "#777777", "line_width": 2}
        curves.line("epsilon", "delta", source=proved, legend_label="proved for the bagged model", **style)
    curves.x_range.start, curves.y_range.start = 0, 0
    tooltips = [("epsilon", "@epsilon{%.4g}"), ("delta", "@delta{0.0%}")]
    curves.add_tools(HoverTool(tooltips=tooltips, formatters={"@epsilon": "printf"}, mode="vline"))
    select = Select(title="Test point", value="all", options=choices)
    swap = (
        "for (const name in sources) { for (let k = 0; k < 2; k++) "
        "{ sources[name][k].data = data[this.value][name][k]; } }"
    )
    select.js_on_change("value", CustomJS(args={"sources": sources, "data": data}, code=swap))
    script, div = components(column(select, curves, bars, sizing_mode="stretch_width"), wrap_script=False)
    library = Resources(mode="inline", components=["bokeh", "bokeh-widgets"]).render_js()
    script, div = _with_names_in_order(script, div)
    return library, script, div


def _with_names_in_order(*texts: str) -> list[str]:
    """Renumber bokeh's random and counted names, so that the same study gives the same page to the last bit."""
    names: dict[str, str] = {}

    def renamed(match: re.Match[str]) -> str:
        return names.setdefault(match.group(), f"name{len(names)}")

    pattern = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|\bp\d{4,}\b")
    return [pattern.sub(renamed, text) for text in texts]


def _series(moved: Perturbations, key: str, widest: float) -> list[dict[str, list[float]]]:
    values, rows = moved.distribution(None if key == "all" else int(key))
    order = np.argsort(values)
    ordered, below = values[order], np.concatenate([[0], np.cumsum(rows[order])])
    places = np.unique(np.linspace(0, len(ordered) - 1, _STEPS).round().astype(int))
    epsilon = np.concatenate([[0.0], ordered[places]])
    delta = (below[-1] - below[np.searchsorted(ordered, epsilon, side="right")]) / below[-1]
    counts, edges = np.histogram(values, _BINS, range=(0.0, widest), weights=rows)
    bins = {"left": edges[:-1].tolist(), "right": edges[1:].tolist(), "share": (counts / below[-1]).tolist()}
    # A share holds until the next distance: a line with corners, because bokeh's hover reads values only off lines.
    steps = {
        "epsilon": [float(f"{level:.8g}") for level in np.repeat(epsilon, 2)[1:]],
        "delta": np.repeat(delta, 2)[:-1].round(6).tolist(),
    }
    return [steps, bins]
