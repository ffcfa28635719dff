"""A study as a person reads it in a terminal: warnings, the verdict, a table, what is proved, and suspicious rows."""

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from stablebag._wording import ROW_NUMBERS, ROWS, Noun, number, percent, printable, rounded_up, visible
from stablebag.measuring.suspects import RANKING, Farthest
from stablebag.resampling.row_ids import plain
from stablebag.showing.proofs import Proof
from stablebag.showing.study import Study
from stablebag.showing.verdict import AFTER_CHECKS, UNTIL_CHECKED

_MOST = 5  # rows, or units, that a sentence names


def tell(
    console: Console, result: Study, notes: Iterable[str] = (), delta: float = 0.05, warnings: Sequence[str] = (),
    rows: str = ROW_NUMBERS,
) -> None:  # fmt: skip
    """Print a study: what to check first, conclusion and advice, numbers, suspicious rows, notes."""
    verdict = result.verdict()
    if warnings:
        _paragraph(console, "Check first:", style="bold")
        for warning in warnings:
            _point(console, warning)
        _paragraph(console, UNTIL_CHECKED)
        console.print()
    _paragraph(console, verdict.headline, style="bold")
    _paragraph(console, f"{AFTER_CHECKS} {verdict.advice}" if warnings and verdict.advice else verdict.advice)
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
    lines = result.proofs(delta)
    console.print(_proved(result, lines))
    _paragraph(console, about_proofs(result, lines))
    console.print()
    for sentence in suspicious(result):
        _paragraph(console, sentence)
    _paragraph(console, rows)
    for note in notes:
        _paragraph(console, note)


def about_proofs(result: Study, lines: Iterable[Proof]) -> str:
    """Say in sentences how the table of what is proved is read."""
    bags = result.bagged.bags
    price = ""
    if bags is not None and bags.n_bags is not None:
        price = f"; the price is what drawing {bags.n_bags:,} bags at random, and not more, adds to a bound"
    error = " ± is a standard error." if any(not math.isnan(line.error) for line in lines) else ""
    return f"Where a cell is empty, nothing was measured, or nothing is proved{price}.{error}"


def suspicious(result: Study) -> list[str]:
    """Say in sentences which rows, or groups, move predictions, and which are worth a look."""
    found, noun = result.suspects, result.noun
    if found is None:
        return []
    of_all = found.noise == 0  # no bags were drawn, so that there is no noise
    beyond = "" if of_all else " beyond bagging noise"
    sentences = [found.about_moving]
    if found.moving:
        verb = "moves" if len(found.moving) == 1 else "move"
        moves = f"{_count(found.moving, noun)} {verb} predictions{found.at}{beyond}"
        named = _named(
            found.moving, noun, lambda one: f"by {number(one.change)}{'' if of_all else f', noise {number(one.noise)}'}"
        )
        sentences = [f"{moves}{_first(found.moving)}: {named}. {found.claim}".rstrip()]
    if found.farthest:
        how = _how_far if result.task == "regression" else _how_unlikely
        named = _named(found.farthest, noun, lambda one: how(one, noun))
        others = f"{_count(found.farthest, noun)} farthest from what the other {noun.plural} predict{found.among}"
        sentences.append(f"Worth a look, {others}{_first(found.farthest)}: {named}. {RANKING}")
    else:
        sentences.append(found.none_far)
    return sentences


def _how_far(one: Farthest, noun: Noun) -> str:
    times = "most are not off at all" if math.isinf(one.distance) else f"{one.distance:.1f} times the usual size"
    return f"{'' if noun == ROWS else 'one row '}off by {'+' * (one.value > 0)}{number(one.value)}, {times}"


def _how_unlikely(one: Farthest, noun: Noun) -> str:
    own = "its class" if noun == ROWS else "the class of one row"
    return f"{own} has {percent(one.value)}, usually {percent(one.usual)}"


def called(name: Any, noun: Noun) -> str:
    """Return what a row or unit is called in a sentence: "patient 17", and not "patient patient 17"."""
    text = printable(plain(name))
    return text if text.lower().startswith(noun.singular) else f"{noun.singular} {text}"


def _count(found: tuple[Any, ...], noun: Noun) -> str:
    many = noun.count(len(found))
    return many.replace(" ", " training ", 1) if noun == ROWS else many


def _first(found: tuple[Any, ...]) -> str:
    return "" if len(found) <= _MOST else f", the first {_MOST}"


def _named(found: tuple[Any, ...], noun: Noun, about: Any) -> str:
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
        table.add_row(f"{score.name} ({way})", *score.shown()[first:])
    if result.coverage is not None:
        inside = percent(result.coverage)
        if result.intervals is not None and np.isinf(result.intervals.lower).all():
            inside = "infinite"  # there are too few training rows for the level
        table.add_row("covered by 90 % intervals", *("", inside, "")[first:])
    return table


def _proved(result: Study, lines: Iterable[Proof]) -> Table:
    table = Table()
    table.add_column()
    for name in ("measured", "proved", "of it, price\nof the bags", "bags that\nhalve that"):
        table.add_column(name, justify="right")
    scale = result.compared.scale
    for line in lines:
        error = "" if math.isnan(line.error) else f" ± {line.error:.1g}"
        table.add_row(
            line.what,
            number(line.measured, scale) + error,
            "" if math.isnan(line.proved) else rounded_up(line.proved, scale),
            "" if math.isnan(line.price) else number(line.price, scale),
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
