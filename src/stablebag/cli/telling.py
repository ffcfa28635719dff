"""What `measure` prints and writes of a study."""

import textwrap
from collections.abc import Iterable, Mapping, Sequence

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from stablebag._wording import ROW_NUMBERS, percent, printable, visible
from stablebag.cli.printing import say
from stablebag.showing.facts import Facts, Section
from stablebag.showing.report.page import DataAsRead
from stablebag.showing.verdict import AFTER_CHECKS, UNTIL_CHECKED

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


# ---------------------------------------------------------------------------------------------------------------- study
# The facts of a study as a person reads them in a terminal.


def print_study(
    console: Console, facts: Facts, notes: Iterable[str] = (), warnings: Sequence[str] = (), rows: str = ROW_NUMBERS
) -> None:
    """Print a study: what to check first, conclusion and advice, tables of facts, suspicious rows, notes."""
    verdict = facts.verdict
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
    for reason in facts.reasons:
        _point(console, reason)
    console.print()
    changes, scores, guarantees = map(facts.section, ("changes", "scores", "guarantees"))
    _paragraph(console, f"{', and '.join(filter(None, (changes.caption, scores.caption)))}:")
    console.print(_table(scores.columns, changes, scores))
    _paragraph(console, f"{guarantees.caption}:")
    console.print(_table(guarantees.columns, guarantees))
    _paragraph(console, guarantees.note)
    console.print()
    for listed in facts.lists:
        _paragraph(console, listed.sentence)
    _paragraph(console, rows)
    for note in notes:
        _paragraph(console, note)


def _table(columns: Mapping[str, str], *sections: Section) -> Table:
    """One table of the facts of some sections."""
    table = Table()
    table.add_column()
    for name in columns.values():
        table.add_column("\n".join(textwrap.wrap(name, 12)), justify="right", max_width=17)
    for section in sections:
        table.add_section()
        for fact in section.facts:
            table.add_row(fact.label, *map(fact.text, columns))
    return table


def _paragraph(console: Console, text: str, style: str = "") -> None:
    if text:
        console.print(visible(text), highlight=False, markup=False, style=style)


def _point(console: Console, text: str) -> None:
    """A line of a list, whose further lines are indented."""
    grid = Table.grid(padding=(0, 1))
    grid.add_row("-", printable(text, most=10_000))
    console.print(grid, highlight=False, markup=False)
