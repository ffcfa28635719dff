"""The columns of a table, as they were read, in the terminal."""

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from stablebag._wording import percent, visible
from stablebag.commands.printing import say
from stablebag.showing.data_as_read import DataAsRead


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
