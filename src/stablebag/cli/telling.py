"""What `measure` prints and writes of a study."""

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from stablebag._wording import ROW_NUMBERS, ROWS, Noun, number, percent, printable, rounded_up, visible
from stablebag.cli.printing import finite, say
from stablebag.measuring.suspects import RANKING, Farthest, Suspects
from stablebag.resampling.units import plain
from stablebag.showing.report.page import Colophon, DataAsRead
from stablebag.showing.scores import Ranking
from stablebag.showing.study import Decisions, Proof, Study
from stablebag.showing.verdict import AFTER_CHECKS, UNTIL_CHECKED, Verdict

# -------------------------------------------------------------------------------------------------------- columns table
# The columns of a table, as they were read, in the terminal.


def print_columns(console: Console, data: DataAsRead) -> None:
    """Print a table of the columns that matter most, and how many others there are of which kind."""
    table = Table(title=escape(visible(data.title)))
    table.add_column("column", overflow="fold")
    table.add_column("read as", no_wrap=True)
    table.add_column("missing", justify="right", no_wrap=True)
    table.add_column("values", justify="right", no_wrap=True)
    table.add_column("examples", overflow="fold")
    table.add_column("remark")
    for column in data.shown():
        missing = percent(column.missing) if 0 < column.missing < 1 else "all" if column.missing else ""
        values = "" if column.n_values is None else f"{column.n_values:,}"
        cells = (column.name, column.kind, missing, values, column.example, column.remark)
        table.add_row(*(escape(visible(cell)) for cell in cells))
    console.print(table)
    if rest := data.rest():
        say(console, rest)


# -------------------------------------------------------------------------------------------------------------- numbers
# A study as a machine reads it: everything that is printed, and what is needed to make it again.


def numbers(result: Study, colophon: Colophon, delta: float = 0.05) -> dict[str, Any]:
    """Return a study as a dictionary that JSON takes."""
    return {
        "verdict": _verdict(result.verdict()),
        **({} if result.decisions is None else {"decisions": _decisions(result.decisions)}),
        **colophon.to_dict(),
        "task": result.task,
        "delta": delta,
        "changes": _changes(result, delta),
        "proved": [
            {name: finite(value) if isinstance(value, float) else value for name, value in line._asdict().items()}
            for line in result.proofs(delta)
        ],
        "proved_of_these_bags": result.proved.explain(delta),
        "proved_of_bags_drawn_anew": None if result.anew is None else result.anew.explain(delta),
        "ranking": None if result.ranking is None else _ranking(result.ranking),
        "held_out": {
            score.name: {
                "base": finite(score.base),
                "bagged": finite(score.bagged),
                "constant": finite(score.constant),
                "lower_is_better": score.lower_is_better,
            }
            for score in result.scores
        },
        "suspects": None if result.suspects is None else _suspects(result.suspects),
        "most_influential": [
            {result.noun.singular: written(row), "root_mean_square_effect": float(effect)}
            for row, effect in zip(*result.most_influential(15), strict=True)
        ],
        "leave_one_out_error": None
        if result.error is None
        else {"value": result.error.value, "standard_error": finite(result.error.standard_error)},
        "coverage": result.coverage,
    }


def _ranking(found: Ranking) -> dict[str, Any]:
    return {
        found.name: finite(found.value),
        "by_chance": found.by_chance,
        "p_value": found.p_value,
        "better_than_chance": found.is_real,
        "n_held_out": found.n,
        "n_groups": found.n_groups,
        "too_few": found.are_few,
    }


def _changes(result: Study, delta: float) -> dict[str, Any]:
    compared = result.compared
    about: dict[str, Any] = {
        "n_refits_of_the_base_model": 0 if compared.base is None else len(compared.base.rows),
        "n_refits_of_the_bagged_model": compared.n_refitted,
        "n_points": compared.n_points,
        "bagged_model": compared.how,
        "bagging_noise": compared.noise,
    }
    if compared.base is not None:
        ratio = compared.ratio()
        about["times_smaller"] = {
            "value": finite(ratio.value),
            "lowest_without_any_one_row_or_point": finite(ratio.low),
            "highest_without_any_one_row_or_point": finite(ratio.high),
            "with_infinitely_many_bags": finite(compared.limit_ratio()),
        }
    lines = result.comparison(delta)
    about["lines"] = {line.what: {"base": finite(line.base), "bagged": finite(line.bagged)} for line in lines}
    return about


def written(name: Any) -> Any:
    """Return a name that JSON takes."""
    name = plain(name)
    return name if isinstance(name, int | float | str) else str(name)


def _verdict(verdict: Verdict) -> dict[str, Any]:
    return {
        "case": verdict.case,
        "headline": verdict.headline,
        "advice": verdict.advice,
        "reasons": list(verdict.reasons),
        "remarks": [_verdict(remark) for remark in verdict.remarks],
    }


def _suspects(found: Suspects) -> dict[str, Any]:
    of_classes = math.isnan(found.usual)
    value, usual = ("probability_of_its_class", "usual_in_its_class") if of_classes else ("residual", "usual_residual")
    return {
        "alpha": found.alpha,
        "noise": found.noise,
        "moving_predictions": [
            {
                found.noun.singular: written(one.name),
                "root_mean_square_effect": one.change,
                "noise": one.noise,
                "p_value": one.p_value,
            }
            for one in found.moving
        ],
        "worth_a_look": [
            {
                found.noun.singular: written(one.name),
                value: one.value,
                usual: one.usual,
                "distance": finite(one.distance),
            }
            for one in found.farthest
        ],
        "n_looked_at": found.n_looked_at,
    }


def _decisions(decisions: Decisions) -> dict[str, Any]:
    numbers: dict[str, Any] = {
        "conclusion": decisions.conclusion(),
        "n_held_out": len(decisions),
        "n_refits": len(decisions.refitted),
        "n_flipped_by_refits": decisions.n_flipped,
        "n_suggested_by_bags": decisions.n_suggested,
        "suggested_flips": {
            "total": len(decisions.suggested),
            "checked": decisions.n_checked,
            "confirmed": decisions.n_confirmed,
        },
        "most_flips": [
            {decisions.noun.singular: written(name), "decisions": int(count)}
            for name, count in zip(*decisions.most_flips(15), strict=True)
        ],
    }
    if decisions.base is not None and decisions.same is not None:
        numbers["by_the_same_rows"] = {
            "n_rows": decisions.n_same,
            "base": int((decisions.base > 0).sum()),
            "bagged": int((decisions.same > 0).sum()),
        }
    return numbers


# -------------------------------------------------------------------------------------------------------------- telling
# A study as a person reads it in a terminal: warnings, the verdict, a table, what is proved, and suspicious rows.

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
    """Return what a row or unit is called in a sentence: "group 17", and not "group group 17"."""
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
