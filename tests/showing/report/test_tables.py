import math

from stablebag.showing.report.page import Cell, Table, cell


def test_numbers_are_written_for_people_and_sorted_as_numbers():
    assert cell(1234567.0) == Cell("1,234,567", 1234567.0)
    assert cell("a text") == Cell("a text", None)
    assert cell(math.nan) == Cell("", None)
    assert cell(Cell("7 %", 0.07)) == Cell("7 %", 0.07)


def test_a_table_is_made_of_cells():
    table = Table.of("t", "caption", ["a", "b"], [["x", 1.5], ["y", "z"]], sorted_by=1, texts=[1])
    assert table.lines == ((Cell("x"), Cell("1.5", 1.5)), (Cell("y"), Cell("z")))
    assert (table.head, table.sorted_by, table.ascending, table.texts) == (("a", "b"), 1, False, (1,))
