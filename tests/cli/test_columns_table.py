import io

import pytest
from rich.console import Console

from stablebag.cli.telling import print_columns
from stablebag.showing.report.page import ColumnAsRead, DataAsRead


@pytest.mark.parametrize("width", [80, 120])
def test_a_wide_table_is_not_printed_in_full(width):
    columns = [ColumnAsRead(f"x{k}", "number", 0.0, 9, "0 to 8") for k in range(10_000)]
    columns[500] = ColumnAsRead("[bold]odd[/x]", "constant", 0.25, 1, "[red]", "left out: one value only")
    console = Console(file=io.StringIO(), width=width)
    print_columns(console, DataAsRead("t[/b].csv", 9, tuple(columns)))
    printed = console.file.getvalue()
    assert len(printed.splitlines()) < 40
    assert max(map(len, printed.splitlines())) <= width
    assert "t[/b].csv" in printed
    assert "[bold]odd[/x]" in printed
    assert "25%" in printed
    assert "Not shown: 9,980 numbers." in printed
