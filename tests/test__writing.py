import os
import shutil
import stat
import subprocess
import sys

import pytest

from marks import posix_only
from stablebag._writing import refuse_ending, refuse_unwritable, refuse_unwritable_folder, whole, write_text


def test_a_file_is_replaced_only_when_it_is_complete(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("before")
    with whole(path) as partial:
        assert (partial.parent, partial.suffix) == (tmp_path, ".csv")
        partial.write_text("after")
        assert path.read_text() == "before"
    assert path.read_text() == "after"
    assert list(tmp_path.iterdir()) == [path]


def half_write(path, error):
    with whole(path) as partial:
        partial.write_text("half")
        raise error


@pytest.mark.parametrize("error", [OSError("No space left on device"), KeyboardInterrupt(), SystemExit(143)])
def test_a_failed_write_leaves_the_old_file_and_no_other(tmp_path, error):
    path = tmp_path / "a.json"
    for before in (None, "before"):
        if before is not None:
            path.write_text(before)
        with pytest.raises(type(error)):
            half_write(path, error)
        assert list(tmp_path.iterdir()) == ([] if before is None else [path])
    assert path.read_text() == "before"


@posix_only
def test_permissions_of_the_old_file_are_kept_and_new_files_follow_the_umask(tmp_path):
    kept, new = tmp_path / "kept", tmp_path / "new"
    kept.write_text("")
    kept.chmod(0o604)
    write_text(kept, "1")
    assert stat.S_IMODE(kept.stat().st_mode) == 0o604
    before = os.umask(0o027)
    try:
        write_text(new, "1")
    finally:
        os.umask(before)
    assert stat.S_IMODE(new.stat().st_mode) == 0o640


@posix_only
def test_links_are_followed_and_devices_are_written_directly(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "target")
    write_text(tmp_path / "link", "é")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_text(encoding="utf-8") == "é"
    write_text("/dev/null", "gone")
    assert not os.path.isfile("/dev/null")


def test_refuse_unwritable_rejects_missing_folders_and_folders(tmp_path):
    refuse_unwritable(None)
    refuse_unwritable(tmp_path / "a")
    with pytest.raises(FileNotFoundError, match=r"^There is no folder .*none to write a.csv to\.$"):
        refuse_unwritable(tmp_path / "none" / "a.csv")
    with pytest.raises(IsADirectoryError, match=r"is a folder\. Give the name of a file in it\.$"):
        refuse_unwritable(tmp_path)


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="everything is allowed to root")
def test_refuse_unwritable_rejects_folders_without_permission(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(PermissionError, match="No permission to write"):
        refuse_unwritable(tmp_path / "a")


@pytest.mark.skipif(shutil.which("prlimit") is None, reason="needs a limit on the size of files")
def test_a_full_disk_leaves_the_old_file(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("before")
    code = f"""
import signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
from stablebag._writing import write_text
write_text({str(path)!r}, "x" * 100_000)
"""
    done = subprocess.run(
        ["prlimit", "--fsize=4096", sys.executable, "-B", "-c", code], capture_output=True, text=True, check=False
    )
    assert "OSError" in done.stderr
    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]


@posix_only
def test_input_files_are_not_overwritten(tmp_path):
    table = tmp_path / "table.csv"
    refuse_unwritable(table, table)  # it is not there yet
    table.write_text("a")
    (tmp_path / "link.csv").symlink_to(table)
    for path in (table, tmp_path / "link.csv"):
        with pytest.raises(FileExistsError, match=r"table.csv is an input file"):
            refuse_unwritable(path, None, table)
    refuse_unwritable(tmp_path / "other.csv", table)


def test_refuse_ending_rejects_other_file_types():
    for path in (None, "report", "report.html", "REPORT.HTM"):
        refuse_ending(path, "--output", ".html", ".htm")
    with pytest.raises(ValueError, match=r"--output writes .html files, not .pdf"):
        refuse_ending("report.pdf", "--output", ".html", ".htm")


def test_output_folder_may_be_new_but_not_a_file_or_without_permission(tmp_path, monkeypatch):
    refuse_unwritable_folder(tmp_path)
    refuse_unwritable_folder(tmp_path / "new" / "folder")
    assert not (tmp_path / "new").exists()
    (tmp_path / "file").write_text("mine")
    with pytest.raises(NotADirectoryError, match=r"Cannot create the folder .*file is a file"):
        refuse_unwritable_folder(tmp_path / "file" / "folder")
    monkeypatch.setattr(os, "access", lambda place, how: False)
    with pytest.raises(PermissionError, match="No permission to write to"):
        refuse_unwritable_folder(tmp_path / "new")
