import pytest

from stablebag.cli.training import chosen_kinds, named_columns, refuse_roles
from stablebag.tables.text import TableError

NAMES = ["a", "b", "b,c", "c"]


def test_several_columns_can_be_named_at_once():
    assert named_columns(NAMES, ("a, c", "b", "a")) == ("a", "c", "b")
    assert named_columns(NAMES, ("b,c",)) == ("b,c",)  # a column is called so
    with pytest.raises(TableError, match="no column 'd' in the table"):
        named_columns(NAMES, ("a,d",))


def test_kinds_are_given_by_column():
    assert chosen_kinds(NAMES, ("a=number", "b,c=Category")) == {"a": "number", "b,c": "category"}
    for text in ("a", "=number", "a=blob"):
        with pytest.raises(TableError, match="Give --kind as column=kind, where the kind is one of number, category"):
            chosen_kinds(NAMES, (text,))
    with pytest.raises(TableError, match="no column 'z'"):
        chosen_kinds(NAMES, ("z=number",))


def test_a_column_has_one_role():
    refuse_roles("a", "b", ("b",), ("c",))
    for target, group, ids, drop, words in (
        ("a", None, (), ("a",), "The target 'a' cannot be left out as well"),
        ("a", "b", (), ("b",), "The group 'b' cannot be left out as well"),
        ("a", None, ("a",), (), "The target 'a' cannot be an id as well"),
    ):
        with pytest.raises(TableError, match=words):
            refuse_roles(target, group, ids, drop)
