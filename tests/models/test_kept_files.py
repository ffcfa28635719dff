from pathlib import Path

import pytest

from stablebag.models.caching import FileCache
from stablebag.models.parallel import on_notice


def test_what_is_written_is_read_by_its_name(tmp_path):
    files = FileCache(tmp_path / "new", ".txt")
    assert files.read("a", Path.read_text, "none") == "none"
    files.write("a", lambda path: path.write_text("first"))
    files.write("ab", lambda path: path.write_text("second"))
    assert [files.read(name, Path.read_text) for name in ("a", "ab")] == ["first", "second"]
    (path,) = (tmp_path / "new").glob("a.*")
    assert path.name == "a.a7937b64b8caa58f.txt"  # sha256 of "first"
    files.write("a", lambda path: path.write_text("first"))
    assert len(list((tmp_path / "new").iterdir())) == 2


@pytest.mark.parametrize("damage", ["contents", "reader"])
def test_what_is_damaged_is_set_aside_and_told(tmp_path, damage):
    files, told = FileCache(tmp_path, ".txt"), []
    files.write("a", lambda path: path.write_text("7"))
    (path,) = tmp_path.iterdir()

    def load(path):
        return int(path.read_text()) if damage == "contents" else int("of another version")

    if damage == "contents":
        path.write_text("8")
    with on_notice(told.append):
        assert files.read("a", load) is None
        assert files.read("a", load) is None
    aside = f"damaged-{path.name}"
    assert told == [f"The file {path} is damaged. It was set aside as {aside}, and what was in it is made again."]
    assert [left.name for left in tmp_path.iterdir()] == [aside]


def test_what_cannot_be_written_leaves_nothing(tmp_path):
    files = FileCache(tmp_path, ".txt")
    with pytest.raises(OSError, match="full"):
        files.write("a", lambda path: (_ for _ in ()).throw(OSError("full")))
    assert list(tmp_path.iterdir()) == []
