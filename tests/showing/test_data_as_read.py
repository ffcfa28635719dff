import json

from stablebag.showing.report.page import ColumnAsRead, DataAsRead


def table(*kinds, **about):
    columns = [ColumnAsRead(f"x{place}", kind, 0.0, 2, "a, b") for place, kind in enumerate(kinds)]
    return DataAsRead("t.csv", 9, tuple(columns), **about)


def test_the_conclusion_counts_columns_by_kind():
    assert table("target", *["number"] * 8, *["category"] * 3, "constant").conclusion() == (
        "12 columns beside the target: 8 numbers, 3 categories; 1 left out (constant)."
    )
    assert table("target", "group", "number", "date", "text", "id", "id", "dropped").conclusion() == (
        "6 columns beside the target and the group: 1 number, 1 text, 1 date; 3 left out (2 ids, 1 dropped)."
    )
    assert table("target", "constant").conclusion() == (
        "1 column beside the target: none to learn from; 1 left out (constant)."
    )


def test_sentences_say_how_the_file_was_read():
    assert table("number", said=("with ';' between columns",)).lines()[1:] == [
        "The file was read with ';' between columns."
    ]
    lines = table("number", said=("as UTF-16", "a", "b"), noticed=("Look here.",)).lines()
    assert lines[1:] == ["The file was read as UTF-16, a and b.", "Look here."]


def test_columns_that_matter_are_shown_first_and_the_rest_is_counted():
    columns = list(table("target", *["number"] * 30, "constant", "date").columns)
    columns[17] = ColumnAsRead("holes", "number", 0.5, 2, "")
    data = DataAsRead("t.csv", 9, tuple(columns))
    assert [column.name for column in data.shown(4)] == ["x0", "x1", "holes", "x31"]
    assert data.rest(4) == "Not shown: 28 numbers, 1 date."
    assert data.shown(99) == data.columns
    assert data.rest(99) == ""


def test_json_takes_it():
    data = table("target", "number", said=("a",))
    assert json.loads(json.dumps(data.to_dict()))["columns"][1] == {
        "name": "x1", "kind": "number", "missing": 0.0, "n_values": 2, "example": "a, b", "remark": "",
    }  # fmt: skip
    assert data.to_dict()["conclusion"] == data.conclusion()
