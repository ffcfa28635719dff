"""A study as a person reads it in a terminal: the verdict first, then a table, what is proved, and suspicious rows."""

import math
from collections.abc import Iterable
from typing import Any

from rich.console import Console
from rich.table import Table

from stablebag._wording import ROWS, Noun, number, printable, rounded_up, visible
from stablebag.measuring.suspects import Suspect
from stablebag.resampling.row_ids import plain
from stablebag.showing.study import Study

_MOST = 5  # rows, or units, that a sentence names


def tell(console: Console, result: Study, notes: Iterable[str] = (), delta: float = 0.05) -> None:
    """Print a study: conclusion and advice, numbers, suspicious rows, notes."""
    verdict = result.verdict()
    _paragraph(console, verdict.headline, style="bold")
    _paragraph(console, verdict.advice)
    for remark in verdict.remarks:
        _paragraph(console, f"Also: {remark.headline[0].lower()}{remark.headline[1:]} {remark.advice}".rstrip())
    console.print()
    for reason in [*verdict.reasons, *(reason for remark in verdict.remarks for reason in remark.reasons)]:
        _point(console, reason)
    console.print()
    _paragraph(console, _heading(result))
    console.print(_moves_and_scores(result, delta))
    points = len(result.bagged.prediction)
    at = "the test point" if points == 1 else f"the worst of {points:,} test points"
    _paragraph(console, f"How far one {result.noun.singular} moves the bagged model at {at}:")
    console.print(_proved(result, delta))
    _paragraph(console, about_proofs(result))
    console.print()
    for sentence in suspicious(result):
        _paragraph(console, sentence)
    for note in notes:
        _paragraph(console, note)


def about_proofs(result: Study) -> str:
    """Say in a sentence how the table of what is proved is read."""
    bags = result.bagged.bags
    price = ""
    if bags is not None and bags.n_bags is not None:
        price = f"; the price is what drawing {bags.n_bags:,} bags at random, and not more, adds to a bound"
    return f"Where a cell is empty, nothing was measured, or nothing is proved{price}."


def suspicious(result: Study) -> list[str]:
    """Say in sentences which rows, or units, move predictions, flip decisions, and are likely wrong."""
    found, noun = result.suspects, result.noun
    if found is None:
        return []
    whose = "training rows" if noun == ROWS else noun.plural
    rate = f"about {found.false_share:.0%} of such a list would be there by chance"
    moving = f"No {noun.singular} moves predictions beyond the noise of the bags ({number(found.noise)})."
    if found.moving:
        named = _named(found.moving, noun, lambda one: f"{number(one.value)}, noise {number(one.noise)}")
        moving = f"The {whose} that move predictions beyond the noise ({rate}), {_first(found.moving)}: {named}."
    sentences = [moving]
    if result.decisions is not None and found.moving:
        counts = result.decisions.by_row
        flips = sorted((one for one in found.moving if counts[one.number]), key=lambda one: -counts[one.number])
        if flips:
            named = _named(tuple(flips), noun, lambda one: f"{counts[one.number]:,}")
            sentences.append(f"Of these, refitting without some flips decisions of held-out rows: {named}.")
    if result.task == "regression":
        wrong, usual = (
            "its target is far from what the bags without it predict",
            f" (usual residual {number(found.usual)})",
        )
        each = lambda one: f"off by {'+' * (one.value > 0)}{number(one.value)}"  # noqa: E731
    else:
        wrong, usual = "the bags without it hardly ever predict its class", ""
        each = lambda one: f"its class has {one.value:.1%}"  # noqa: E731
    if found.wrong:
        named, beside = _named(found.wrong, noun, each), ""
        if len(found.wrong) > 1:
            beside = " A gross mistake pulls the predictions beside it, so some of the others may be right."
        likely = f"Likely wrong{found.among}, because {wrong}{usual}"
        sentences.append(f"{likely}; {rate}; {_first(found.wrong)}: {named}.{beside}")
    if noun == ROWS and (found.moving or found.wrong) and result.bagged.names.rows is None:
        sentences.append("Rows are counted from 0, below the header.")
    if found.wrong:
        return sentences
    return [*sentences, f"No {noun.singular} stands out as likely wrong{found.among}{usual}."]


def called(name: Any, noun: Noun) -> str:
    """Return what a row or unit is called in a sentence: "patient 17", and not "patient patient 17"."""
    text = printable(plain(name))
    return text if text.lower().startswith(noun.singular) else f"{noun.singular} {text}"


def _first(found: tuple[Suspect, ...]) -> str:
    return "all" if len(found) <= _MOST else f"the first {_MOST} of {len(found):,}"


def _named(found: tuple[Suspect, ...], noun: Noun, about: Any) -> str:
    return ", ".join(f"{called(one.name, noun)} ({about(one)})" for one in found[:_MOST])


def _heading(result: Study) -> str:
    moved = f"How far {result.distance} changed without {result.compared.where()}"
    if not result.scores:
        return f"{moved}:"
    n = len(result.losses[0].bagged) if result.losses else 0
    return f"{moved}, and scores on {ROWS.count(n)} held out:"


def _moves_and_scores(result: Study, delta: float) -> Table:
    table = Table()
    table.add_column()
    first = 0 if result.compared.base is not None else 1  # without the base learner there is no column for it
    for name in ("base model", "bagged", "constant")[first:]:
        table.add_column(name, justify="right", max_width=15)
    for line in result.comparison(delta):
        table.add_row(line.what, *line.shown()[first:], "")
    table.add_section()
    for score in result.scores:
        way = "lower is better" if score.lower_is_better else "higher is better"
        shown = map(number, (score.base, score.bagged, score.constant)[first:])
        table.add_row(f"{score.name} ({way})", *shown)
    if result.coverage is not None:
        table.add_row("covered by 90 % intervals", *("", f"{result.coverage:.1%}", "")[first:])
    return table


def _proved(result: Study, delta: float) -> Table:
    table = Table()
    table.add_column()
    for name in ("measured", "proved", "of it, price\nof the bags", "bags that\nhalve that"):
        table.add_column(name, justify="right")
    for line in result.proofs(delta):
        error = "" if math.isnan(line.error) else f" ± {line.error:.1g}"
        table.add_row(
            line.what,
            number(line.measured) + error,
            "" if math.isnan(line.proved) else rounded_up(line.proved),
            "" if math.isnan(line.price) else number(line.price),
            "" if line.enough is None else f"{line.enough:,}",
        )
    return table


def _paragraph(console: Console, text: str, style: str = "") -> None:
    if text:
        console.print(visible(text), highlight=False, markup=False, style=style)


def _point(console: Console, text: str) -> None:
    """A line of a list, whose further lines are indented."""
    grid = Table.grid(padding=(0, 1))
    grid.add_row("-", printable(text, most=10_000))
    console.print(grid, highlight=False, markup=False)
