"""Text files: encodings, numbers and dates as they are written, and tables."""

import gzip
import math
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from stablebag.tables.text import (
    TableError,
    check_column_name,
    date_formats,
    date_order,
    date_parts,
    decode,
    decompress,
    parse_dates,
    parse_numbers,
    read_file,
    spelling,
)

# ----------------------------------------------------------------------------------------------------- names of columns


@pytest.mark.parametrize(("name", "words"), [
    ("outcom", r"no column 'outcom' in the table. Did you mean 'Outcome'\?"),
    ("OUTCOME", r"Did you mean 'Outcome'\?"),
    (" Outcome", r"Did you mean 'Outcome'\?"),
    ("zzz", "no column 'zzz' in the table; it has 'Outcome', 'age'.$"),
])  # fmt: skip
def test_a_name_that_is_not_there_gets_the_one_that_is_meant(name, words):
    with pytest.raises(TableError, match=words):
        check_column_name(["Outcome", "age"], name)
    check_column_name(["Outcome", "age"], "age")


def test_not_all_of_many_names_are_listed():
    with pytest.raises(TableError, match=r"it has 'a0', .*'a7', \.\.\.\.$"):
        check_column_name([f"a{k}" for k in range(10_000)], "zzz")


# ------------------------------------------------------------------------------------------------------------ encodings


PATH = Path("t.csv")


@pytest.mark.parametrize(("encoding", "said"), [
    ("utf-8", ""), ("utf-8-sig", ""), ("utf-16", "as UTF-16"), ("utf-32", "as UTF-32"),
    ("cp1252", "as Windows-1252 (Latin-1), because it is not UTF-8"),
    ("latin-1", "as Windows-1252 (Latin-1), because it is not UTF-8"),
])  # fmt: skip
def test_encodings_are_recognised_and_said_where_they_are_not_usual(encoding, said):
    assert decode("stadt\nKöln".encode(encoding), PATH) == ("stadt\nKöln", said)


def test_encodings_that_cannot_be_told_are_refused_with_the_option_that_helps():
    with pytest.raises(TableError, match="Give encoding='utf-16-le'"):
        decode("a,b\n1,2\n".encode("utf-16-le"), PATH)
    with pytest.raises(TableError, match="Give encoding='utf-16-be'"):
        decode("a,b\n1,2\n".encode("utf-16-be"), PATH)
    with pytest.raises(TableError, match="zero bytes in it, so it is no table of text"):
        decode(b"abc,\x00 def, ghi", PATH)
    with pytest.raises(TableError, match=r"neither UTF-8 nor Windows-1252\. Give its encoding"):
        decode(b"a,\x81\n", PATH)
    with pytest.raises(TableError, match="begins as UTF-16 and cannot be read so"):
        decode("ab".encode("utf-16") + b"\x00", PATH)


def test_an_encoding_can_be_given():
    assert decode("Köln".encode("utf-16-le"), PATH, "utf-16-le") == ("Köln", "")
    assert decode("Köln".encode("cp850"), PATH, "cp850")[0] == "Köln"
    with pytest.raises(TableError, match="There is no encoding 'utf-9'"):
        decode(b"a", PATH, "utf-9")
    with pytest.raises(TableError, match=r"is not in ascii. Leave encoding out"):
        decode("ö".encode(), PATH, "ascii")


def test_files_are_unpacked_by_their_ending(tmp_path):
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(b"a,b"))
    with zipfile.ZipFile(tmp_path / "t.zip", "w") as archive:
        archive.writestr("t.csv", "a,b")
    (tmp_path / "t.csv").write_bytes(b"a,b")
    assert (
        decompress(tmp_path / "t.csv.gz") == decompress(tmp_path / "t.zip") == decompress(tmp_path / "t.csv") == b"a,b"
    )
    with zipfile.ZipFile(tmp_path / "t.zip", "a") as archive:
        archive.writestr("u.csv", "a,b")
    with pytest.raises(TableError, match="has 2 files in it and must have one"):
        decompress(tmp_path / "t.zip")


# ------------------------------------------------------------------------------------------------------ written numbers


@pytest.mark.parametrize(("text", "sign", "point", "comma"), [
    ("12", "", 12, 12), ("-3", "", -3, -3), ("\u22123", "", -3, -3), ("1e5", "", 1e5, 1e5), (".5", "", 0.5, None),
    ("1.", "", 1, None), ("0.123", "", 0.123, None), ("1.234", "", 1.234, 1234), ("1,234", "", 1234, 1.234),
    ("1,5", "", None, 1.5), ("1,234.50", "", 1234.5, None), ("1.234,50", "", None, 1234.5),
    ("1.234.567", "", None, 1234567), ("1 234,5", "", None, 1234.5), ("1'234.5", "", 1234.5, None),
    ("1,234.50 €", "€", 1234.5, None), ("€ 1.234,50", "€", None, 1234.5), ("12 %", "%", 12, 12),
    ("$-5", "$", -5, -5), ("-$5", "$", -5, -5), ("EUR 7", "EUR", 7, 7),
    ("1,23,4", "", None, None), ("n.d.", "", None, None), ("inf", "", None, None), ("1_000", "", None, None),
    ("2020-01-01", "", None, None), ("12 kg", "", None, None), ("1e999", "", None, None), ("", "", None, None),
])  # fmt: skip
def test_numbers_are_what_people_write(text, sign, point, comma):
    for texts in ([text], [text, "x"]):  # the second has no short way
        found = spelling(texts)
        assert (found.point[0], found.comma[0]) == (point is not None, comma is not None)
        assert found.sign[0] == sign
        for decimal, value in ((".", point), (",", comma)):
            number = parse_numbers(texts, decimal)[0]
            assert math.isnan(number) if value is None else number == value


def test_codes_with_leading_zeros_are_numbers_only_if_they_must_be():
    assert not spelling(["00012", "7"]).point[0]
    assert parse_numbers(["00012", "7", "000", "00,5"], ",").tolist() == [12, 7, 0, 0.5]


def test_lines_in_texts_do_not_count_as_texts():
    assert spelling(["1\n2", "abc"]).point.tolist() == [False, False]


# ---------------------------------------------------------------------------------------------------------------- dates


@pytest.mark.parametrize(("texts", "form", "said"), [
    (["13/02/2020", "02/03/2020", "05/06/2020"], "%d/%m/%Y", "day/month/year"),
    (["02/03/2020", "05/16/2020"], "%m/%d/%Y", "month/day/year"),
    (["2020-01-01", "2020-01-02 10:00"], "ISO8601", ""), (["3.2.2020", "14.12.2021"], "%d.%m.%Y", "day.month.year"),
    (["14.12.21 10:30"], "%d.%m.%y %H:%M", "day.month.year"),
])  # fmt: skip
def test_the_last_format_is_one_of_all(texts, form, said):
    *_, (last, found) = date_formats(texts)
    assert last == form
    assert found.all()
    assert date_order(form) == said


def test_texts_that_are_no_dates_have_no_formats():
    for texts in (["Rome", "Oslo"], [], ["1.5", "2.5"], ["v1.2.3 is out", "no"]):
        assert list(date_formats(texts)) == []


def test_a_date_means_the_same_in_every_bag_and_call():
    texts = pd.Series(["13/02/2020", "02/03/2020", "05/06/2020"])
    together = parse_dates(texts, "%d/%m/%Y")
    one_by_one = [parse_dates(texts[[row]], "%d/%m/%Y").iloc[0] for row in range(3)]
    assert together.tolist() == one_by_one
    assert together[1] == pd.Timestamp("2020-03-02")


def test_parts_of_dates_are_days_and_places_in_year_and_week():
    dates = parse_dates(pd.Series(["2000-01-02", "2001-01-01", None]), "ISO8601")
    parts = date_parts(pd.DataFrame({"when": dates}))
    assert parts[:2, 0].tolist() == [1, 366]
    np.testing.assert_allclose(parts[0, 1:3], [np.sin(4 * np.pi / 365.25), np.cos(4 * np.pi / 365.25)])
    assert parts[:2, 3].tolist() == [6, 0]  # a Sunday and a Monday
    assert np.isnan(parts[2]).all()


# ---------------------------------------------------------------------------------------------------------------- files


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
    ("a.csv", "y,a\n1,2\n1,2,3,4\n", r"more fields .* line 3 has 4 fields. Check separator"),
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
    with pytest.raises(TableError, match=r"separator is one character, or tab\. Got ', '"):
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
