"""Files as tables: encodings, numbers and dates as they are written, text files and Excel sheets."""

import datetime
import gzip
import math
import re
import sys
import zipfile
from pathlib import Path

import numpy as np
import openpyxl
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
from stablebag.tables.training import read_table

# ----------------------------------------------------------------------------------------------------- names of columns


@pytest.mark.parametrize(("name", "words"), [
    ("outcom", r"no column 'outcom' in the table. Did you mean 'Outcome'\?"),
    ("OUTCOME", r"Did you mean 'Outcome'\?"),
    (" Outcome", r"Did you mean 'Outcome'\?"),
    ("zzz", "no column 'zzz' in the table; it has 'Outcome', 'age'.$"),
])  # fmt: skip
def test_unknown_column_gets_a_suggestion(name, words):
    with pytest.raises(TableError, match=words):
        check_column_name(["Outcome", "age"], name)
    check_column_name(["Outcome", "age"], "age")


def test_missing_header_is_suspected_if_names_are_numbers():
    with pytest.raises(TableError, match=r"'0', '0.134', 'a', '7'\. The first row of the file must have the names"):
        check_column_name(["0", "0.134", "a", "7"], "y")


def test_error_lists_only_the_first_column_names():
    with pytest.raises(TableError, match=r"it has 'a0', .*'a7', \.\.\.\.$"):
        check_column_name([f"a{k}" for k in range(10_000)], "zzz")


# ------------------------------------------------------------------------------------------------------------ encodings


PATH = Path("t.csv")


@pytest.mark.parametrize(("encoding", "said"), [
    ("utf-8", ""), ("utf-8-sig", ""), ("utf-16", "as UTF-16"), ("utf-32", "as UTF-32"),
    ("cp1252", "as Windows-1252 (Latin-1), because it is not UTF-8"),
    ("latin-1", "as Windows-1252 (Latin-1), because it is not UTF-8"),
])  # fmt: skip
def test_encodings_are_recognised_and_remarked_on_if_unusual(encoding, said):
    assert decode("stadt\nKöln".encode(encoding), PATH) == ("stadt\nKöln", said)


def test_unclear_encodings_raise_an_error_with_the_option():
    with pytest.raises(TableError, match="Use encoding='utf-16-le'"):
        decode("a,b\n1,2\n".encode("utf-16-le"), PATH)
    with pytest.raises(TableError, match="Use encoding='utf-16-be'"):
        decode("a,b\n1,2\n".encode("utf-16-be"), PATH)
    with pytest.raises(TableError, match="contains zero bytes, so it is not a text file"):
        decode(b"abc,\x00 def, ghi", PATH)
    with pytest.raises(TableError, match=r"neither UTF-8 nor Windows-1252\. Give its encoding"):
        decode(b"a,\x81\n", PATH)
    with pytest.raises(TableError, match="starts like UTF-16, but is not valid UTF-16"):
        decode("ab".encode("utf-16") + b"\x00", PATH)


def test_encoding_can_be_given():
    assert decode("Köln".encode("utf-16-le"), PATH, "utf-16-le") == ("Köln", "")
    assert decode("Köln".encode("cp850"), PATH, "cp850")[0] == "Köln"
    with pytest.raises(TableError, match="Unknown encoding 'utf-9'"):
        decode(b"a", PATH, "utf-9")
    with pytest.raises(TableError, match=r"is not valid ascii. Leave out encoding"):
        decode("ö".encode(), PATH, "ascii")


def test_files_are_decompressed_by_their_ending(tmp_path):
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(b"a,b"))
    with zipfile.ZipFile(tmp_path / "t.zip", "w") as archive:
        archive.writestr("t.csv", "a,b")
    (tmp_path / "t.csv").write_bytes(b"a,b")
    assert (
        decompress(tmp_path / "t.csv.gz") == decompress(tmp_path / "t.zip") == decompress(tmp_path / "t.csv") == b"a,b"
    )
    with zipfile.ZipFile(tmp_path / "t.zip", "a") as archive:
        archive.writestr("u.csv", "a,b")
    with pytest.raises(TableError, match="must contain one file, but has 2"):
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
def test_numbers_are_recognised_as_people_write_them(text, sign, point, comma):
    for texts in ([text], [text, "x"]):  # the second has no short way
        found = spelling(texts)
        assert (found.point[0], found.comma[0]) == (point is not None, comma is not None)
        assert found.sign[0] == sign
        for decimal, value in ((".", point), (",", comma)):
            number = parse_numbers(texts, decimal)[0]
            assert math.isnan(number) if value is None else number == value


def test_codes_with_leading_zeros_are_numbers_only_on_demand():
    assert not spelling(["00012", "7"]).point[0]
    assert parse_numbers(["00012", "7", "000", "00,5"], ",").tolist() == [12, 7, 0, 0.5]


def test_line_breaks_in_texts_do_not_split_them():
    assert spelling(["1\n2", "abc"]).point.tolist() == [False, False]


# ---------------------------------------------------------------------------------------------------------------- dates


@pytest.mark.parametrize(("texts", "form", "said"), [
    (["13/02/2020", "02/03/2020", "05/06/2020"], "%d/%m/%Y", "day/month/year"),
    (["02/03/2020", "05/16/2020"], "%m/%d/%Y", "month/day/year"),
    (["2020-01-01", "2020-01-02 10:00"], "ISO8601", ""), (["3.2.2020", "14.12.2021"], "%d.%m.%Y", "day.month.year"),
    (["14.12.21 10:30"], "%d.%m.%y %H:%M", "day.month.year"),
])  # fmt: skip
def test_last_date_format_fits_all_texts(texts, form, said):
    *_, (last, found) = date_formats(texts)
    assert last == form
    assert found.all()
    assert date_order(form) == said


def test_texts_that_are_not_dates_have_no_format():
    for texts in (["Rome", "Oslo"], [], ["1.5", "2.5"], ["v1.2.3 is out", "no"]):
        assert list(date_formats(texts)) == []


def test_dates_are_parsed_one_by_one_as_together():
    texts = pd.Series(["13/02/2020", "02/03/2020", "05/06/2020"])
    together = parse_dates(texts, "%d/%m/%Y")
    one_by_one = [parse_dates(texts[[row]], "%d/%m/%Y").iloc[0] for row in range(3)]
    assert together.tolist() == one_by_one
    assert together[1] == pd.Timestamp("2020-03-02")


def test_date_parts_are_day_time_of_year_and_weekday():
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
    ("a.xls", "x", "files with the ending .xls are not supported. Save it as .csv, .tsv, .txt, .xlsx, .parquet"),
    ("a.csv", "", "is empty"),
    ("a.csv", "\n \n", "is empty"),
    ("a.csv", "a,b\n", "has a header but no rows"),
    ("a.parquet", "x", "cannot be read"),
    ("a.csv", "y,a\n1,2,3\n", r"Line 2 of .* has 3 fields, but the header has 2\. .* If the first field is an ID"),
    ("a.csv", "y,a\n1,2\n1,2,3,4\n", r"Line 3 of .* has 4 fields, but the header has 2\. Check separator, quotes"),
    ("a.csv", "y,a,b\n1,2,3\n\n1\n", r"Line 4 of .* has 1 field, but the header has 3"),
    ("a.csv", "y,a,y\n1,2,3\n", "two columns called 'y'"),
    ("a.csv", "NA,y,NA\n1,2,3\n", "two columns called 'NA'"),
])  # fmt: skip
def test_files_that_are_not_tables_raise_an_error_of_one_line(tmp_path, name, text, words):
    path = tmp_path / name if text is None else write(tmp_path, text, name)
    with pytest.raises(TableError, match=words) as refused:
        read_file(path)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(("text", "said"), [
    ("a;b\n1,5;2\n", ("with ';' between columns",)), ("a|b\n1,5|2\n", ("with '|' between columns",)),
    ("a\tb\n1,5\t2\n", ("with tabs between columns",)), ("sep=;\na;b\n1,5;2\n", ()),
    ('"a, b, c, d";b;c\n1,5;2;3\n', ("with ';' between columns",)),
])  # fmt: skip
def test_separator_is_found_from_the_header(tmp_path, text, said):
    read = read_file(write(tmp_path, text))
    assert read.frame.iloc[0, :2].tolist() == ["1,5", "2"]
    assert read.said == said


def test_separator_can_be_given(tmp_path):
    path = write(tmp_path, "a;b,c\n1;2,3\n")
    assert read_file(path).frame.columns.tolist() == ["a;b", "c"]  # as many of both: the usual one
    assert read_file(path, separator=";").frame.columns.tolist() == ["a", "b,c"]
    assert read_file(write(tmp_path, "a\tb\n1\t2\n"), separator="tab").frame.shape == (1, 2)
    with pytest.raises(TableError, match=r"separator must be one character, or tab\. Got ', '"):
        read_file(path, separator=", ")


def test_texts_are_stripped_and_otherwise_unchanged(tmp_path):
    frame = read_file(write(tmp_path, 'id,b ,,\n00012, x ,"a,\nb",NA\n7,,1,\n')).frame
    assert frame.columns.tolist() == ["id", "b", "Unnamed: 2", "Unnamed: 3"]
    assert frame.to_numpy().tolist() == [["00012", "x", "a,\nb", None], ["7", None, "1", None]]


def test_separators_at_the_end_of_lines_are_ignored(tmp_path):
    assert read_file(write(tmp_path, "y,a\n1,2,\n3,4,,\n")).frame.to_numpy().tolist() == [["1", "2"], ["3", "4"]]


def test_compressed_header_with_a_repeated_name_raises_an_error(tmp_path):
    with pytest.raises(TableError, match="two columns called 'y'"):
        read_file(write(tmp_path, gzip.compress(b"y,a,y\n1,2,1\n"), "t.csv.gz"))


def test_last_ending_decides_the_kind_of_file(tmp_path):
    assert len(read_file(write(tmp_path, "y,a\n1,2\n3,4\n", "x.parquet.csv")).frame) == 2


@pytest.mark.parametrize("nested", [[[1], [2, 3]] * 9, [{"a": 1}, {"a": 2}] * 9, [b"a", b"b"] * 9])
def test_nested_columns_and_bytes_can_be_dropped(tmp_path, nested):
    path = tmp_path / "t.parquet"
    pd.DataFrame({"y": np.arange(18.0), "a": nested, "b": np.arange(18) / 7}).to_parquet(path)
    with pytest.raises(TableError, match=r"The column 'a' contains .*\. Leave it out with drop"):
        read_table(path, "y")
    table = read_table(path, "y", drop=["a"])
    assert table.X.columns.tolist() == ["b"]
    assert table.as_read.columns[1].remark == "left out by drop, not read"
    assert table.read_new(path).X.columns.tolist() == ["b"]


def test_named_index_of_pandas_is_a_column(tmp_path):
    pd.DataFrame({"y": [1.0]}, index=pd.Index(["a"], name="who")).to_parquet(tmp_path / "t.parquet")
    assert read_file(tmp_path / "t.parquet").frame.columns.tolist() == ["who", "y"]


def test_misspelled_path_gets_a_suggestion(tmp_path):
    write(tmp_path, "a,b\n1,2\n", "patients.csv")
    with pytest.raises(TableError, match=r"There is no file .*patient\.csv\. Did you mean .*patients\.csv\?"):
        read_file(tmp_path / "patient.csv")
    with pytest.raises(TableError, match=r"because there is no folder .*nowhere\.$"):
        read_file(tmp_path / "nowhere" / "patients.csv")


def test_unclosed_quote_of_a_long_text_is_suspected(tmp_path):
    with pytest.raises(TableError, match=r"Line 2 of .* cannot be read: field larger than .* Check quotes\."):
        read_file(write(tmp_path, 'a,y\n"' + "x" * 2**24 + "y,1\n"))


def test_wrong_separator_is_suspected_if_the_only_column_has_separators_in_its_name(tmp_path):
    frame = read_file(write(tmp_path, "a;b\n1;2\n"), separator=",").frame
    with pytest.raises(TableError, match="Its only column is 'a;b': check separator"):
        check_column_name(frame.columns, "b")


@pytest.mark.parametrize(("start", "words"), [
    (b"PK\x03\x04", "not a text file, but a zip archive or an Excel file. Rename an Excel file to .xlsx"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "not a text file, but an old Excel file"),
    (b"PAR1", "a Parquet file. Rename it to .parquet"), (b"\x1f\x8b", "compressed by gzip. Add .gz to its name"),
])  # fmt: skip
def test_files_of_another_kind_are_recognised(tmp_path, start, words):
    with pytest.raises(TableError, match=words):
        read_file(write(tmp_path, start + bytes(100)))


# ---------------------------------------------------------------------------------------------------------------- Excel

N = 40
HEADER = ["id", "age", "seen", "ill", "town", "y"]


def workbook(tmp_path, rows=None, change=None, name="t.xlsx"):
    """Write rows into the first sheet of a file; `change` may change the workbook and this sheet."""
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = "Data"
    if rows is None:
        day = datetime.datetime(2024, 1, 1)
        rows = [HEADER] + [
            [f"p{k}", 20 + k, day + datetime.timedelta(days=k), k % 3 == 0, ["Ulm", "Bonn", None][k % 3], k / 8]
            for k in range(N)
        ]
    for row in rows:
        sheet.append(row)
    if change is not None:
        change(book, sheet)
    book.save(tmp_path / name)
    return tmp_path / name


def rewritten(path, change, part="xl/worksheets/sheet1.xml"):
    """Change one part of a workbook."""
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    before, parts[part] = parts[part], change(parts[part])
    assert parts[part] != before
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return path


def test_typed_cells_keep_their_types(tmp_path):
    table = read_table(workbook(tmp_path), "y", ids=["id"])
    kinds = {name: kind.name for name, kind in table.reading.columns.kinds.items()}
    assert kinds == {"age": "number", "seen": "date", "ill": "category", "town": "category"}
    assert table.X["age"].dtype == np.int64
    assert table.X["seen"].iloc[0] == pd.Timestamp("2024-01-01")
    assert table.X["ill"].iloc[:2].tolist() == ["TRUE", "FALSE"]
    assert table.X["town"].isna().sum() == N // 3
    assert table.X.index[0] == "p0"
    assert table.y.tolist() == [k / 8 for k in range(N)]
    assert table.as_read.row_numbers == ""
    assert table.remarks == ("Dates, turned into the day, the time of year and the weekday: 'seen'.",)


def test_sheet_and_its_csv_export_give_the_same_table(tmp_path):
    table = read_table(workbook(tmp_path), "y", ids=["id"])
    lines = [f"p{k},{20 + k},2024-{(k + 1) // 32 + 1:02d}-{k % 31 + 1:02d},{str(k % 3 == 0).upper()},"
             f"{['Ulm', 'Bonn', ''][k % 3]},{k / 8}" for k in range(N)]  # fmt: skip
    path = write(tmp_path, "\n".join([",".join(HEADER), *lines]))
    pd.testing.assert_frame_equal(read_table(path, "y", ids=["id"]).X, table.X, check_dtype=False)
    new = table.read_new(path)  # a model of the sheet predicts rows of the CSV file
    pd.testing.assert_frame_equal(new.X, table.X, check_dtype=False)
    assert new.notes == ()


def test_texts_among_numbers_are_treated_as_in_a_text_file(tmp_path):
    rows = [["a", "b", "y"], *([k / 8, "n.d." if k == 3 else k, k / 8] for k in range(N))]
    table = read_table(workbook(tmp_path, rows), "y")
    assert table.remarks == (
        "'b' is a category because of 'n.d.' in 1 row. kinds={'b': 'number'} reads numbers and treats such values as "
        "missing.",
    )
    assert read_table(workbook(tmp_path, rows), "y", kinds={"b": "number"}).X["b"].isna().sum() == 1


def test_cell_of_three_decimals_among_texts_is_not_taken_for_thousands(tmp_path):
    rows = [["a", "b", "y"], *([1.234, f"{k},5", k / 8] for k in range(N)), ["n.d.", "1,5", 3.0]]
    assert read_table(workbook(tmp_path, rows), "y", kinds={"a": "number"}).X["a"].iloc[0] == 1.234


def test_error_cells_are_missing_and_counted(tmp_path):
    def errors(book, sheet):
        sheet["B3"], sheet["B5"], sheet["E2"] = "#DIV/0!", "#N/A", "#REF!"

    table = read_table(workbook(tmp_path, change=errors), "y")
    assert table.X["age"].isna().sum() == 2
    assert table.X["town"].isna().sum() == N // 3 + 1
    assert table.remarks[0] == "3 cells have errors such as #DIV/0! and count as missing."
    assert "3 cells have errors such as #DIV/0! and count as missing." in table.read_new(tmp_path / "t.xlsx").notes
    words = read_table(workbook(tmp_path, change=lambda book, sheet: sheet.__setitem__("B3", "#N/A")), "y").remarks
    assert words[0] == "1 cell has the error #N/A and counts as missing."


def test_first_visible_sheet_is_read_and_named_if_there_are_several(tmp_path):
    def more(book, sheet):
        book.create_sheet("Notes")
        book.create_sheet("Hidden", 0).sheet_state = "hidden"

    table = read_table(workbook(tmp_path, change=more), "y")
    assert table.remarks[0] == "The file was read from sheet 'Data', the first of 2."
    with pytest.raises(TableError, match=r"sheet 'Empty' of .* is empty\. Move the sheet with the table to the front"):
        read_file(workbook(tmp_path, change=lambda book, sheet: book.create_sheet("Empty", 0)))


def test_empty_rows_above_and_below_the_table_are_ignored(tmp_path):
    rows = [[], [None, " "], ["a", "y"], *([k / 3, k / 8] for k in range(N)), [None, ""], [None]]
    table = read_table(workbook(tmp_path, rows), "y")
    assert table.n_rows == N
    assert table.remarks == ()


def test_index_that_pandas_wrote_has_a_column_name(tmp_path):
    pd.DataFrame({"a": np.arange(30) / 7, "y": np.arange(30.0)}).to_excel(tmp_path / "t.xlsx")
    assert read_file(tmp_path / "t.xlsx").frame.columns.tolist() == ["Unnamed: 0", "a", "y"]


def merged(book, sheet):
    sheet.insert_rows(1)
    sheet["B1"] = "vital signs"
    sheet.merge_cells("B1:D1")


@pytest.mark.parametrize(("rows", "change", "words"), [
    (None, merged, r"has a value in cell C2, but the header \(row 1\) has no name for column C\. Name each column in"),
    ([["Study 2024"], [], ["a", "y"], [1, 2]], None, r"cell B3, .* without merged cells, and remove titles above it"),
    ([["a", "y"], [1, 2], [3, 4, None, "sum"]], None, "has a value in cell D3"),
    ([["a", "y"]], None, "has a header but no rows"),
    ([], None, "The sheet 'Data' of .* is empty"),
    ([["a", "a", "y"], [1, 2, 3]], None, "two columns called 'a'"),
    ([["a", "y"], *(["=B2*2", k] for k in range(9))], None, "has a formula without a stored result in cell A2. Open"),
])  # fmt: skip
def test_sheets_that_are_not_tables_raise_an_error(tmp_path, rows, change, words):
    with pytest.raises(TableError, match=words) as raised:
        read_file(workbook(tmp_path, rows, change))
    assert "\n" not in str(raised.value)


def test_formulas_have_their_stored_results(tmp_path):
    path = workbook(tmp_path, [["a", "b", "y"], *(["=B2*2", f"=C{k}", k] for k in range(2, N))])
    results = rb"""<c r="A\1" t='str'><f>B2*2</f><v></v></c>"""  # an empty text is a result
    path = rewritten(path, lambda sheet: re.sub(rb'<c r="A(\d+)"><f>B2\*2</f><v ?/?>(?:</v>)?</c>', results, sheet))
    path = rewritten(path, lambda sheet: re.sub(rb"<f>C(\d+)</f><v ?/?>(?:</v>)?", rb"<f>C\1</f><v>\1</v>", sheet))
    frame = read_file(path).frame
    assert frame["b"].tolist() == list(range(2, N))
    assert frame["a"].isna().all()


OLD = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600)


@pytest.mark.parametrize(("content", "words"), [
    (b"a,b\n1,2\n", "is not an Excel file, or it is damaged. If it is a text file, rename it to .csv"),
    (b"", "is not an Excel file, or it is damaged"),
    (OLD, "is an old Excel file .* save it as .xlsx or CSV"),
    (OLD + "EncryptedPackage".encode("utf-16-le"), "is protected by a password. Save it without one, or as CSV"),
])  # fmt: skip
def test_files_that_are_not_workbooks_raise_an_error(tmp_path, content, words):
    with pytest.raises(TableError, match=words):
        read_file(write(tmp_path, content, "t.xlsx"))


def test_damaged_workbook_raises_an_error_of_one_line(tmp_path):
    data = workbook(tmp_path).read_bytes()
    rng, errors = np.random.default_rng(0), []
    for _ in range(60):
        broken = bytearray(data)
        for place in rng.integers(0, len(data), 8):
            broken[place] ^= 255
        try:
            read_file(write(tmp_path, bytes(broken), "t.xlsx"))
        except TableError as error:
            errors.append(str(error))
    assert len(errors) > 30
    assert all("t.xlsx" in error and "\n" not in error for error in errors)


def test_declared_size_of_a_sheet_is_ignored(tmp_path):
    path = rewritten(workbook(tmp_path), lambda sheet: re.sub(rb'ref="A1:F\d+"', b'ref="A1:XFD1048576"', sheet))
    assert read_file(path).frame.shape == (N, 6)


@pytest.mark.parametrize("row", [1, N + 1])
def test_sheet_with_too_many_rows_raises_an_error(tmp_path, row, monkeypatch):
    monkeypatch.setattr("stablebag.tables.text._MOST_ROWS", 1000)
    path = workbook(tmp_path)
    rewritten(path, lambda sheet: sheet.replace(f'<row r="{row}"'.encode(), b'<row r="9999999999"'))
    with pytest.raises(TableError, match=r"has more than 1,000 rows\. Save it as CSV or Parquet"):
        read_file(path)


def test_sheet_with_too_many_cells_raises_an_error(tmp_path, monkeypatch):
    monkeypatch.setattr("stablebag.tables.text._MOST_CELLS", 100)
    with pytest.raises(TableError, match="has more than 100 cells"):
        read_file(workbook(tmp_path))


def test_zip_bomb_is_not_unpacked(tmp_path, monkeypatch):
    path = rewritten(workbook(tmp_path), lambda part: bytes(10**7), "docProps/app.xml")
    monkeypatch.setattr("stablebag.tables.text._MOST_UNPACKED", 10**7)
    with pytest.raises(TableError, match=r"t.xlsx unpacks to 0.0 GB, more than the limit"):
        read_file(path)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_xml_entities_raise_an_error(tmp_path, encoding):
    head = f'<?xml version="1.0" encoding="{encoding}"?><!-- {"x" * 99_999} -->'
    entity = '<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]>'

    def declare(sheet):
        return (head + entity + sheet.decode().split("?>")[-1]).encode(encoding)

    with pytest.raises(TableError, match=r"declares XML entities\. Excel never does this, so"):
        read_file(rewritten(workbook(tmp_path), declare))


def test_reading_excel_without_openpyxl_says_what_to_install(tmp_path, monkeypatch):
    path = workbook(tmp_path)
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(TableError, match="needs openpyxl: pip install openpyxl, or save the sheet as CSV"):
        read_file(path)


def test_compressed_workbook_raises_an_error(tmp_path):
    with pytest.raises(TableError, match=r"t\.xlsx\.gz: only text files may be compressed\. Unpack it first"):
        read_file(write(tmp_path, b"x", "t.xlsx.gz"))
