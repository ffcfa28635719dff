"""The report on two versions of a model: one HTML page."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np

from stablebag._checks import refuse_type
from stablebag._wording import percent, printable, short
from stablebag._writing import write_text
from stablebag.measuring.versions import Versions
from stablebag.showing.displays.display import BAGGED, OTHER
from stablebag.showing.report.charts import Picture, static
from stablebag.showing.report.page import part, versions

_MOST_DRAWN = 5000  # points in the chart
_MOST_LISTED = 25  # points in the table
_TOPICS = {"who": "Who", "noise": "Noise", "why": "Why", "guarantee": "Guarantee"}


@dataclass(frozen=True)
class ChangeFooter:
    """What a comparison is about, and the details needed to make it again.

    Attributes
    ----------
    title : str
        The heading of the page.
    target : str
        The name of the target.
    facts : tuple of pairs of str
        Names and values: the files with their fingerprints, the model, the seed.
    command : str
        The command that makes the page again; "" if there is none.
    """

    title: str = "Two versions of a model"
    target: str = "prediction"
    facts: tuple[tuple[str, str], ...] = ()
    command: str = ""


def write_change(
    path: str | Path,
    found: Versions,
    *,
    footer: ChangeFooter | None = None,
    warnings: Sequence[str] = (),
    notes: Sequence[str] = (),
) -> Path:
    """Write the report on two versions to one HTML file that opens offline.

    Parameters
    ----------
    path : str or Path
        The file to write.
    found : Versions
        The result of `compare_versions`.
    footer : ChangeFooter or None, default=None
        What the comparison is about.
    warnings : sequence of str, default=()
        Sentences to read first, such as IDs that repeat.
    notes : sequence of str, default=()
        Sentences about the data.

    Returns
    -------
    Path
    """
    if not isinstance(found, Versions):
        raise refuse_type("found", "write_change", "the result of compare_versions", found)
    try:
        from jinja2 import Environment
    except ImportError as error:
        raise ImportError("Reports need jinja2 and matplotlib: pip install 'stablebag[report]'.") from error
    footer = ChangeFooter() if footer is None else footer
    text = part("change_page.html.jinja")
    template = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True).from_string(text)
    page = template.render(
        style=part("page.css"),
        date=date.today().isoformat(),
        footer=footer,
        topics=[(_TOPICS[name], " ".join(sentences)) for name, sentences in found.topics.items() if sentences],
        warnings=warnings,
        notes=notes,
        picture=_picture(found, footer.target),
        points=_points(found),
        n_points=found.n_points,
        parts=[(part.name, _size(part.change), _size(part.noise)) for part in found.parts or ()],
        blocks=sorted(found.blocks or (), key=lambda block: -block.size / (block.noise or 1)),
        kinds=found.kinds,
        guarantee=None if found.guarantee is None else found.guarantee.explain().split("\n"),
        versions=", ".join(f"{name} {version}" for name, version in versions().items()),
        noun=found.rows.noun,
        short=short,
        percent=percent,
        printable=printable,
    )
    path = Path(path)
    write_text(path, page)
    return path


def _size(values: np.ndarray) -> float:
    return float(np.sqrt((values**2).mean()))


def _points(found: Versions) -> tuple[list[str], list[list[str]]]:
    """The headings and the lines of a table of the points that changed most."""
    _, names, columns = found._preview()
    lines = zip(names[:_MOST_LISTED], *(column[:_MOST_LISTED] for column in columns.values()), strict=True)
    written = [[printable(name), *(_cell(value) for value in some)] for name, *some in lines]
    return ["point", *columns], written


def _cell(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return value if isinstance(value, str) else short(value)


def _picture(found: Versions, target: str) -> Picture | None:
    """The new predictions against the old ones; None if there are several classes or outputs."""
    if found.columns is not None:
        return None
    some = np.arange(found.n_points)
    if found.n_points > _MOST_DRAWN:
        some = np.unique(np.linspace(0, found.n_points - 1, _MOST_DRAWN).astype(int))
    old, new, clear = found.old[some], found.new[some], found.beyond_noise[some]
    decided = found.changed_decisions[some]
    what = f"probability of {printable(found.positive)}" if found.positive is not None else printable(target)

    def draw(ax: Any) -> None:
        low, high = float(min(old.min(), new.min())), float(max(old.max(), new.max()))
        ax.plot([low, high], [low, high], color="#777777", linewidth=0.8, zorder=0)
        ax.scatter(old[~clear], new[~clear], s=8, color="#999999", linewidths=0, label="within noise")
        ax.scatter(old[clear], new[clear], s=12, color=BAGGED, linewidths=0, label="changed beyond noise")
        if decided.any():
            ax.scatter(old[decided], new[decided], s=34, facecolors="none", edgecolors=OTHER, label="decision changed")
        ax.set(xlabel=f"{what}: old version", ylabel="new version")
        ax.legend(fontsize="small")

    alt = (
        f"The new prediction against the old one at {len(some):,} points: {int(clear.sum()):,} changed beyond bagging "
        f"noise, and {int(decided.sum()):,} decisions changed."
    )
    return static(draw, alt)
