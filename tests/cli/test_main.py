"""The command line: what bad input gets."""

import signal
import subprocess
import sys

import pandas as pd
import pytest

import stablebag
from stablebag.fast.native.library import why_not


def words(result):
    return " ".join(result.output.split())


@pytest.mark.parametrize(("arguments", "sentence"), [
    (("certify", "--n-samples", 500, "--bag-size", "1.5"), "use 1."),
    (("certify", "--n-samples", 500, "--bag-size", "half"), "--bag-size must be a number of rows"),
    (("certify", "--n-samples", 1), "n_samples"),
    (("certify", "--n-samples", 500, "--n-bags", "many"), "--n-bags must be a whole number"),
    (("plan", "--n-samples", 100, "--epsilon", 0.001, "--delta", 0.05), "No plan with at most"),
    (("measure", "none.csv", "--target", "y"), "There is no file none.csv"),
    (("measure", "TABLE", "--target", "price"), "There is no column 'price'"),
    (("measure", "TABLE", "--target", "cost", "--model", "oak"), "There is no model 'oak'"),
    (("measure", "TABLE", "--target", "cost", "--param", "branches=3"), "has no parameter 'branches'"),
    (("measure", "TABLE", "--target", "cost", "--test-size", 1.5), "--test-size must be between 0 and 1, got 1.5"),
    (("measure", "TABLE", "--target", "ill", "--task", "regression"), "is not a number"),
    (("measure", "TABLE", "--target", "cost", "--output", "/no/such/folder/x.html"), "There is no folder"),
    (("measure", "TABLE", "--target", "city", "--test", "WRONG"), "'age' has numbers in the training table"),
    (("measure", "TABLE", "--target", "cost", "--bag-size", "1.5"), "use 1."),
    (("interval", "TABLE", "--target", "ill", "--test", "TABLE", "--output", "x.csv"), "Use stablebag sets"),
    (("interval", "TABLE", "--target", "cost", "--test", "none.csv", "--output", "x.csv"), "There is no file"),
])  # fmt: skip
def test_bad_input_ends_with_two_and_one_sentence(run, table, arguments, sentence):
    wrong = table.with_name("wrong.csv")
    pd.read_csv(table).assign(age="old")[:5].to_csv(wrong, index=False)
    result = run(*({"TABLE": table, "WRONG": wrong}.get(argument, argument) for argument in arguments))
    assert result.exit_code == 2
    assert sentence in words(result)
    assert "Traceback" not in result.output
    assert len(result.output.strip().splitlines()) <= 2


def test_version_names_the_solvers(run):
    speed = f"scikit-learn's speed, because {why_not()}" if why_not() else "compiled solvers"
    assert run("--version").output.strip() == f"stablebag {stablebag.__version__} ({speed})"


def test_debug_prints_the_traceback(run):
    assert "Traceback" in run("--debug", "measure", "none.csv", "--target", "y").output


@pytest.mark.parametrize("command", ["certify", "plan", "measure", "interval", "sets", "compare", "demo", "reproduce"])
def test_every_command_has_an_example(run, command):
    result = run(command, "--help")
    assert result.exit_code == 0
    assert f"stablebag {command}" in result.output


def test_an_interrupt_ends_with_130_and_without_a_traceback(run, monkeypatch):
    def interrupted(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("stablebag.cli.certify.Certificate", interrupted)
    result = run("certify", "--n-samples", 50)
    assert result.exit_code == 130
    assert result.output.strip() == "Interrupted."


def test_sigterm_ends_a_command_like_an_interrupt_and_restores_the_handler(run, monkeypatch):
    before = signal.getsignal(signal.SIGTERM)
    monkeypatch.setattr("stablebag.cli.certify.Certificate", lambda *given, **more: signal.raise_signal(15))
    result = run("certify", "--n-samples", 50)
    assert (result.exit_code, result.output.strip()) == (143, "Terminated.")
    assert signal.getsignal(signal.SIGTERM) is before


def test_interrupt_prints_what_is_kept(run, monkeypatch):
    def interrupted(*arguments, **options):
        raise KeyboardInterrupt("What was done is kept.")

    monkeypatch.setattr("stablebag.cli.certify.Certificate", interrupted)
    assert run("certify", "--n-samples", 50).output.strip() == "Interrupted. What was done is kept."


@pytest.mark.slow
def test_slow_command_prints_at_once_that_it_is_loading():
    code = [sys.executable, "-m", "stablebag", "measure", "none.csv", "--target", "y"]
    done = subprocess.run(code, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.splitlines()[0] == "Loading scikit-learn ..."
    assert done.stderr.splitlines()[-1] == "Error: There is no file none.csv."


def test_importing_the_command_imports_neither_numpy_nor_scipy():
    code = "import sys, stablebag.cli.main; print([name for name in ('numpy', 'scipy') if name in sys.modules])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


def test_error_prints_its_first_line_or_its_type(run, monkeypatch):
    for error, shown in ((ValueError("first\nsecond"), "Error: first"), (MemoryError(), "Error: MemoryError")):

        def failing(*arguments, error=error, **options):
            raise error

        monkeypatch.setattr("stablebag.cli.certify.Certificate", failing)
        result = run("certify", "--n-samples", 50)
        assert (result.exit_code, result.output.strip()) == (2, shown)
