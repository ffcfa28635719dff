import pandas as pd

from stablebag.cli.training import about_ids, index_of, names_of


def test_names_are_as_they_are_written():
    assert names_of(pd.Series(["1", "2", "7"], dtype=object, name="id")).tolist() == [1, 2, 7]
    for texts in (["01", "2"], ["1.0", "2.5"], ["a", "1"], ["1", None]):
        column = pd.Series(texts, dtype=object, name="id")
        assert names_of(column).tolist() == texts


def test_rows_are_called_by_their_ids_or_counted():
    table = pd.DataFrame({"id": ["A1", None], "visit": ["1", "2"]}, dtype=object, index=[4, 7])
    assert index_of(table, ()).tolist() == [4, 7]
    assert index_of(table, ("id",)).tolist() == ["A1", "without id"]
    assert index_of(table, ("visit",)).tolist() == [1, 2]
    assert index_of(table, ("id", "visit")).tolist() == ["A1 1", "? 2"]


def test_names_of_several_rows_are_told():
    index = pd.Index(["a", "a"])
    assert about_ids(index, ()) == about_ids(pd.Index(["a", "b"]), ("id",)) == []
    (said,) = about_ids(index, ("my id",))
    assert said.startswith("Several rows have the same 'my id'")
    assert "use --group 'my id' instead of --id" in said
