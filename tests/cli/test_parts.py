import click
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from stablebag.cli.options import read_memory
from stablebag.tables.text import (
    Parts,
    TableError,
    footers,
    is_parquet,
    name_of,
    paths_of,
    size_in_memory,
    table_of,
)


@pytest.fixture
def folder(tmp_path):
    """Three files of 0, 1 and 2 rows, one in a folder of its own, and what engines leave behind."""
    for k, name in enumerate(["b.parquet", "a.parquet", "more/c.pq", "_logs/x.parquet", ".hidden.parquet"]):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        pq.write_table(pa.table({"x": [1.0] * k, "y": [2] * k}), tmp_path / name)
    (tmp_path / "notes.txt").write_text("x\n1\n")
    return tmp_path


def of(*given):
    return table_of(tuple(map(str, given)))


def test_one_file_is_a_path_even_if_it_is_not_there(folder):
    assert of(folder / "a.parquet") == folder / "a.parquet"
    assert of("nowhere.csv").name == "nowhere.csv"
    strange = folder / "[1].parquet"
    (folder / "a.parquet").rename(strange)
    assert of(strange) == strange
    assert (name_of(strange), paths_of(strange)) == ("[1].parquet", (strange,))


def test_a_folder_a_pattern_and_several_files_are_parts_in_order(folder):
    names = [path.name for path in of(folder).paths]
    assert names == ["a.parquet", "b.parquet", "c.pq"]
    pattern = of(folder / "*.parquet")
    assert [path.name for path in pattern.paths] == ["a.parquet", "b.parquet"]
    assert of(folder / "b.parquet", folder / "a.parquet").paths == pattern.paths
    assert [name_of(table) for table in (of(folder), pattern)] == [folder.name, f"{folder.name}/*.parquet"]
    assert name_of(of(folder / "b.parquet", folder / "more")) == "2 files"
    assert str(pattern) == pattern.name


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["*.pqt"], r"No file matches the pattern .*\*.pqt. Look at the folder"),
        (["more/../empty"], r"There is no Parquet file in the folder .*empty\."),
        (["a.parquet", "gone.parquet"], r"There is no file .*gone.parquet\."),
        (["a.parquet", "notes.txt"], r"of Parquet files, and notes.txt is none"),
        (["a.parquet", "*.parquet"], "Some file is given twice"),
    ],
)
def test_what_is_no_table_is_refused(folder, given, said):
    (folder / "empty").mkdir()
    with pytest.raises(TableError, match=said):
        of(*(folder / name for name in given))


def test_the_size_is_that_of_all_values(folder):
    assert size_in_memory(of(folder)) == 8 * 2 * (0 + 1 + 2)
    assert size_in_memory(folder / "a.parquet") == 8 * 2
    assert is_parquet(of(folder))
    assert not is_parquet(folder / "notes.txt")
    assert not is_parquet(folder / "gone.parquet")


def test_a_damaged_file_is_refused_by_name(folder):
    (folder / "b.parquet").write_bytes(b"PAR1 and nothing else")
    with pytest.raises(TableError, match=r"The file .*b.parquet cannot be read as Parquet: "):
        footers(Parts((folder / "a.parquet", folder / "b.parquet"), "two"))


@pytest.mark.parametrize(("text", "number"), [("1GB", 10**9), ("500MB", 5 * 10**8), ("2 kb", 2000), ("7", 7)])
def test_memory_is_a_number_with_a_unit(text, number):
    assert read_memory(None, None, text) == number


@pytest.mark.parametrize("text", ["much", "", "-1GB", "0", "1 XB", "nan"])
def test_other_amounts_of_memory_are_refused(text):
    with pytest.raises(click.BadParameter, match="It is an amount of memory such as 500MB or 1GB"):
        read_memory(None, None, text)
