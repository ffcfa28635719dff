import runpy
import sys

import pytest

from stablebag import __version__


def as_module(monkeypatch, *arguments):
    """The exit code of ``python -m stablebag`` with these arguments."""
    monkeypatch.setattr(sys, "argv", ["python", *arguments])
    monkeypatch.delitem(sys.modules, "stablebag.__main__", raising=False)
    with pytest.raises(SystemExit) as ended:
        runpy.run_module("stablebag", run_name="__main__")
    return ended.value.code


def test_python_m_stablebag_is_the_command(monkeypatch, capsys):
    assert as_module(monkeypatch, "--version") == 0
    assert capsys.readouterr().out.startswith(f"stablebag {__version__} (")
    assert as_module(monkeypatch, "certify", "--n-samples", "1") == 2
    assert "n_samples" in capsys.readouterr().err


def test_help_shows_the_name_of_the_command(monkeypatch, capsys):
    assert as_module(monkeypatch, "--help") == 0
    assert capsys.readouterr().out.startswith("Usage: stablebag [OPTIONS]")


def test_importing_main_runs_nothing(monkeypatch, capsys):
    monkeypatch.delitem(sys.modules, "stablebag.__main__", raising=False)  # another test may have imported it
    monkeypatch.setattr(sys, "argv", ["python", "--version"])
    assert "main" in runpy.run_module("stablebag.__main__", run_name="imported")
    assert capsys.readouterr().out == ""
