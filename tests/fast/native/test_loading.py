"""The compiled library is used if it is there and of the right version; otherwise there is a reason, and no error."""

import re
import shutil
from pathlib import Path

import pytest

from stablebag.fast.native import library as loading
from stablebag.fast.native import library as native

HEADER = Path(loading.__file__).with_name("native.h")


@pytest.fixture
def elsewhere(monkeypatch, tmp_path):
    """A folder in which the library is looked for."""
    path = tmp_path / loading.PATH.name
    monkeypatch.setattr(loading, "PATH", path)
    return path


def test_library_exists_or_there_is_a_reason():
    assert (native.library() is None) == bool(native.why_not())
    assert native.library() is native.library()


def test_missing_library_is_not_an_error(elsewhere):
    assert native.library() is None
    assert native.why_not() == "stablebag was installed without its compiled part"


def test_file_that_is_not_a_library_is_not_an_error(elsewhere):
    elsewhere.write_bytes(b"not a library")
    assert native.library() is None
    assert native.why_not().startswith("the compiled part of stablebag cannot be loaded (")


@pytest.mark.skipif(native.library() is None, reason=native.why_not())
def test_library_of_another_version_is_not_used(elsewhere, monkeypatch):
    shutil.copy(Path(loading.__file__).with_name(elsewhere.name), elsewhere)
    monkeypatch.setattr(loading, "ABI", loading.ABI + 1)
    assert native.library() is None
    assert f"has version {loading.ABI - 1} instead of {loading.ABI}" in native.why_not()


@pytest.mark.skipif(not HEADER.exists(), reason="The C files are not installed.")
def test_python_and_c_have_the_same_interface_version():
    assert int(re.search(r"#define STABLEBAG_ABI (\d+)", HEADER.read_text()).group(1)) == loading.ABI
