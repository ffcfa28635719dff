import gzip

import pandas as pd
import pytest

from stablebag.tables.text import TableError, read_file


def write(tmp_path, text, name="t.csv"):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.mark.parametrize("ending", ["csv", "tsv", "txt", "parquet", "feather", "csv.gz"])
def test_tables_are_read_by_their_ending(tmp_path, ending):
    frame, path = pd.DataFrame({"a": ["1", "2"], "b": ["x", "y"]}), tmp_path / f"t.{ending}"
    if ending in ("parquet", "feather"):
        getattr(frame, f"to_{ending}")(path)
    else:
        frame.to_csv(path, index=False, sep="," if "csv" in ending else "\t")
    read = read_file(path)
    assert read.frame.to_dict("list") == frame.to_dict("list")
    assert read.said == ()


@pytest.mark.parametrize(("name", "text", "words"), [
    ("none.csv", None, "There is no file"),
    ("a.xls", "x", "must end in .csv"),
    ("a.csv", "", "is empty"),
    ("a.csv", "\n \n", "is empty"),
    ("a.csv", "a,b\n", "has a header and no rows"),
    ("a.parquet", "x", "cannot be read"),
    ("a.csv", "y,a\n1,2,3\n", r"rows with more fields than its header, which has 2: line 2 has 3 fields. If the first"),
    ("a.csv", "y,a\n1,2\n1,2,3,4\n", r"more fields .* line 3 has 4 fields. Check --sep"),
    ("a.csv", "y,a,b\n1,2,3\n\n1\n", r"fewer fields than its header, which has 3: line 4 has 1 field"),
    ("a.csv", "y,a,y\n1,2,3\n", "two columns called 'y'"),
    ("a.csv", "NA,y,NA\n1,2,3\n", "two columns called 'NA'"),
])  # fmt: skip
def test_files_that_are_no_tables_are_refused_in_a_sentence(tmp_path, name, text, words):
    path = tmp_path / name if text is None else write(tmp_path, text, name)
    with pytest.raises(TableError, match=words) as refused:
        read_file(path)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(("text", "said"), [
    ("a;b\n1,5;2\n", ("with ';' between columns",)), ("a|b\n1,5|2\n", ("with '|' between columns",)),
    ("a\tb\n1,5\t2\n", ("with tabs between columns",)), ("sep=;\na;b\n1,5;2\n", ()),
    ('"a, b, c, d";b;c\n1,5;2;3\n', ("with ';' between columns",)),
])  # fmt: skip
def test_what_is_between_columns_is_told_by_the_header(tmp_path, text, said):
    read = read_file(write(tmp_path, text))
    assert read.frame.iloc[0, :2].tolist() == ["1,5", "2"]
    assert read.said == said


def test_what_is_between_columns_can_be_given(tmp_path):
    path = write(tmp_path, "a;b,c\n1;2,3\n")
    assert read_file(path).frame.columns.tolist() == ["a;b", "c"]  # as many of both: the usual one
    assert read_file(path, separator=";").frame.columns.tolist() == ["a", "b,c"]
    assert read_file(write(tmp_path, "a\tb\n1\t2\n"), separator="tab").frame.shape == (1, 2)
    with pytest.raises(TableError, match=r"--sep is one character, or tab\. Got ', '"):
        read_file(path, separator=", ")


def test_texts_are_as_they_are_written(tmp_path):
    frame = read_file(write(tmp_path, 'id,b ,,\n00012, x ,"a,\nb",NA\n7,,1,\n')).frame
    assert frame.columns.tolist() == ["id", "b", "Unnamed: 2", "Unnamed: 3"]
    assert frame.to_numpy().tolist() == [["00012", "x", "a,\nb", None], ["7", None, "1", None]]


def test_a_separator_at_the_end_of_lines_is_none(tmp_path):
    assert read_file(write(tmp_path, "y,a\n1,2,\n3,4,,\n")).frame.to_numpy().tolist() == [["1", "2"], ["3", "4"]]


def test_a_packed_header_with_the_target_twice_is_refused(tmp_path):
    with pytest.raises(TableError, match="two columns called 'y'"):
        read_file(write(tmp_path, gzip.compress(b"y,a,y\n1,2,1\n"), "t.csv.gz"))


def test_the_last_ending_counts(tmp_path):
    assert len(read_file(write(tmp_path, "y,a\n1,2\n3,4\n", "x.parquet.csv")).frame) == 2


def test_nested_columns_are_refused(tmp_path):
    for nested in ([[1], [2, 3]], [{"a": 1}, {"a": 2}]):
        pd.DataFrame({"y": [1.0, 2.0], "a": nested}).to_parquet(tmp_path / "t.parquet")
        with pytest.raises(TableError, match=r"column 'a' of .* has lists or the like"):
            read_file(tmp_path / "t.parquet")


def test_an_index_that_pandas_put_aside_is_a_column(tmp_path):
    pd.DataFrame({"y": [1.0]}, index=pd.Index(["a"], name="who")).to_parquet(tmp_path / "t.parquet")
    assert read_file(tmp_path / "t.parquet").frame.columns.tolist() == ["who", "y"]
