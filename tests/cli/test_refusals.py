import pytest

from stablebag.tables.text import TableError, refuse_unknown


@pytest.mark.parametrize(("name", "words"), [
    ("outcom", r"no column 'outcom' in the table. Did you mean 'Outcome'\?"),
    ("OUTCOME", r"Did you mean 'Outcome'\?"),
    (" Outcome", r"Did you mean 'Outcome'\?"),
    ("zzz", "no column 'zzz' in the table; it has 'Outcome', 'age'.$"),
])  # fmt: skip
def test_a_name_that_is_not_there_gets_the_one_that_is_meant(name, words):
    with pytest.raises(TableError, match=words):
        refuse_unknown(["Outcome", "age"], name)
    refuse_unknown(["Outcome", "age"], "age")


def test_not_all_of_many_names_are_listed():
    with pytest.raises(TableError, match=r"it has 'a0', .*'a7', \.\.\.\.$"):
        refuse_unknown([f"a{k}" for k in range(10_000)], "zzz")
