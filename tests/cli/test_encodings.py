import gzip
import zipfile
from pathlib import Path

import pytest

from stablebag.tables.text import TableError, decoded, unpacked

PATH = Path("t.csv")


@pytest.mark.parametrize(("encoding", "said"), [
    ("utf-8", ""), ("utf-8-sig", ""), ("utf-16", "as UTF-16"), ("utf-32", "as UTF-32"),
    ("cp1252", "as Windows-1252 (Latin-1), because it is not UTF-8"),
    ("latin-1", "as Windows-1252 (Latin-1), because it is not UTF-8"),
])  # fmt: skip
def test_encodings_are_recognised_and_said_where_they_are_not_usual(encoding, said):
    assert decoded("stadt\nKöln".encode(encoding), PATH) == ("stadt\nKöln", said)


def test_encodings_that_cannot_be_told_are_refused_with_the_option_that_helps():
    with pytest.raises(TableError, match="Give --encoding utf-16-le"):
        decoded("a,b\n1,2\n".encode("utf-16-le"), PATH)
    with pytest.raises(TableError, match="Give --encoding utf-16-be"):
        decoded("a,b\n1,2\n".encode("utf-16-be"), PATH)
    with pytest.raises(TableError, match="zero bytes in it, so it is no table of text"):
        decoded(b"abc,\x00 def, ghi", PATH)
    with pytest.raises(TableError, match=r"neither UTF-8 nor Windows-1252\. Give its encoding"):
        decoded(b"a,\x81\n", PATH)
    with pytest.raises(TableError, match="begins as UTF-16 and cannot be read so"):
        decoded("ab".encode("utf-16") + b"\x00", PATH)


def test_an_encoding_can_be_given():
    assert decoded("Köln".encode("utf-16-le"), PATH, "utf-16-le") == ("Köln", "")
    assert decoded("Köln".encode("cp850"), PATH, "cp850")[0] == "Köln"
    with pytest.raises(TableError, match="There is no encoding 'utf-9'"):
        decoded(b"a", PATH, "utf-9")
    with pytest.raises(TableError, match=r"is not in ascii. Leave --encoding out"):
        decoded("ö".encode(), PATH, "ascii")


def test_files_are_unpacked_by_their_ending(tmp_path):
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(b"a,b"))
    with zipfile.ZipFile(tmp_path / "t.zip", "w") as archive:
        archive.writestr("t.csv", "a,b")
    (tmp_path / "t.csv").write_bytes(b"a,b")
    assert unpacked(tmp_path / "t.csv.gz") == unpacked(tmp_path / "t.zip") == unpacked(tmp_path / "t.csv") == b"a,b"
    with zipfile.ZipFile(tmp_path / "t.zip", "a") as archive:
        archive.writestr("u.csv", "a,b")
    with pytest.raises(TableError, match="has 2 files in it and must have one"):
        unpacked(tmp_path / "t.zip")
