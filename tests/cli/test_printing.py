import io
import math
import re
import time
import warnings

import numpy as np
import pytest
from rich.console import Console
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from stablebag import BaggedClassifier, BaggedRegressor
from stablebag._wording import ROWS, Noun, number
from stablebag.cli import printing
from stablebag.cli.printing import (
    finite,
    open_console,
    print_columns,
    print_study,
    print_warnings,
    progress,
    progress_console,
    say,
)
from stablebag.models.parallel import counted, step
from stablebag.showing.facts import row_in_words
from stablebag.showing.report.page import ColumnAsRead, DataAsRead
from stablebag.showing.study import study
from stablebag.showing.verdict import three_digits


@pytest.fixture
def pipe():
    return Console(file=io.StringIO(), width=60)


@pytest.fixture
def clock(monkeypatch):
    """A clock that is set by hand."""
    now = [0.0]
    monkeypatch.setattr(printing.time, "monotonic", lambda: now[0])
    return now


def test_say_prints_markup_literally(pipe):
    sentence = "The target is 'y [/b]', [red]and[/red] " + "it is long, " * 10 + "and ends."
    say(pipe, sentence)
    assert pipe.file.getvalue() == sentence + "\n"


def test_finite_replaces_infinity_and_nan():
    assert [finite(value) for value in (0.5, 0.0, math.inf, -math.inf, math.nan)] == [0.5, 0.0, None, None, None]


def test_progress_without_a_terminal_prints_a_line_per_step(pipe, capsys):
    with progress("Fitting"), counted(100) as count:
        count.one()
        step("Predicting 7 rows")
    step("Nobody listens")
    assert pipe.file.getvalue() == ""
    assert capsys.readouterr().err.splitlines() == ["Fitting ...", "Predicting 7 rows ..."]


def test_progress_without_a_terminal_prints_lines_during_a_long_fit(pipe, monkeypatch, capsys):
    assert printing._EVERY == 30.0
    monkeypatch.setattr(printing, "_EVERY", 0.05)
    lines = []
    with progress("Fitting"), counted(4) as count:
        count.one()
        while len(lines) < 3:
            time.sleep(0.05)
            lines += capsys.readouterr().err.splitlines()
    assert lines[0] == "Fitting ..."
    assert set(lines[1:]) <= {"Fitting ...", "Fitting: 0 of 4 fits.", "Fitting: 1 of 4 fits."}
    assert lines[-1] == "Fitting: 1 of 4 fits."


def test_time_left_appears_after_a_few_fits_and_weights_them(clock):
    work = printing._Work("Fitting", None)
    for done in range(3):
        clock[0] = 10.0 * done
        work.count(done, 6)
    assert work.left == ""
    clock[0] = 30.0
    work.count(3, 6)
    assert work.left == "about 30 seconds left"
    work = printing._Work("Fitting", lambda done: done / 30)  # three quick ones, and three that take nine times as long
    for done in range(4):
        clock[0] = 30.0 + 10.0 * done
        work.count(done, 6)
    assert work.left == "about 5 minutes left"
    work.count(6, 6)
    assert work.left == ""


def test_time_left_uses_the_speed_of_the_last_minute(clock):
    work = printing._Work("Fitting", None)
    work.count(0, 1000)
    work.count(500, 1000)  # kept from before: at once
    for second in range(1, 201):
        clock[0] = float(second)
        work.count(500 + second, 1000)
    assert work.left == "about 5 minutes left"


def test_progress_bar_in_a_terminal_is_erased_at_the_end(monkeypatch):
    console = Console(file=io.StringIO(), width=120, force_terminal=True)
    monkeypatch.setattr(printing, "open_console", lambda stderr: console)
    with progress("Reading [a].csv"):
        time.sleep(0.15)
        with counted(7) as count:
            for _ in range(7):
                count.one()
            time.sleep(0.15)
        step("Predicting")
        time.sleep(0.15)
    shown = console.file.getvalue()
    assert "Reading [a].csv" in shown
    assert "7 of 7 fits" in shown
    assert "Predicting" in shown
    assert shown.endswith("\x1b[2K")  # the line is erased


@pytest.mark.parametrize("stderr", [False, True])
def test_forced_colours_do_not_reach_files(stderr, monkeypatch, capsys):
    monkeypatch.setenv("FORCE_COLOR", "1")
    console = open_console(stderr=stderr)
    assert not console.is_terminal
    with progress("Reading"):
        say(console, "Done.")
    assert "\x1b" not in "".join(capsys.readouterr())


def test_progress_goes_to_stderr():
    assert progress_console().stderr


def test_sentences_are_wrapped_only_in_a_terminal():
    for is_terminal, said in ((True, "Leave it out, or\nuse another.\n"), (False, "Leave it out, or use another.\n")):
        file = io.StringIO()
        say(Console(file=file, force_terminal=is_terminal, width=16), "Leave it out, or use another.")
        assert file.getvalue() == said


def test_each_warning_is_printed_once_as_a_sentence():
    said = io.StringIO()
    with print_warnings(Console(file=said, width=80)):
        for _ in range(3):
            warnings.warn("Use more rows.", stacklevel=1)
    assert said.getvalue() == "Use more rows.\n"


def test_warnings_for_developers_stay_hidden():
    said = io.StringIO()
    with print_warnings(Console(file=said, width=80)):
        warnings.warn("A function will be renamed.", DeprecationWarning, stacklevel=1)
        warnings.warn("Use more rows.", stacklevel=1)
    assert said.getvalue() == "Use more rows.\n"


@pytest.mark.parametrize("width", [80, 120])
def test_a_wide_table_is_not_printed_in_full(width):
    columns = [ColumnAsRead(f"x{k}", "number", 0.0, 9, "0 to 8") for k in range(10_000)]
    columns[500] = ColumnAsRead("[bold]odd[/x]", "constant", 0.25, 1, "[red]", "left out: one value only")
    console = Console(file=io.StringIO(), width=width)
    print_columns(console, DataAsRead("t[/b].csv", 9, tuple(columns)))
    printed = console.file.getvalue()
    assert len(printed.splitlines()) < 40
    assert max(map(len, printed.splitlines())) <= width
    assert "t[/b].csv" in printed
    assert "[bold]odd[/x]" in printed
    assert "25%" in printed
    assert "Not shown: 9,980 numbers." in printed


@pytest.fixture(scope="module")
def of_numbers():
    X, y = load_diabetes(return_X_y=True)
    y[7] = 1500.0
    options = {"n_refits": 10, "n_points": 5}
    return study(
        BaggedRegressor(DecisionTreeRegressor(max_depth=4), n_bags=100),
        X[:200],
        y[:200],
        X[200:260],
        y[200:260],
        **options,
    )


@pytest.fixture(scope="module")
def of_classes():
    X, y = load_breast_cancer(return_X_y=True)
    options = {"n_refits": 5, "n_points": 5}
    return study(
        BaggedClassifier(DecisionTreeClassifier(max_depth=2), n_bags=40),
        X[:150],
        y[:150],
        X[150:200],
        y[150:200],
        **options,
    )


def suspicious(result):
    lists = result.facts().list
    return lists("moving the predictions").sentence, lists("worth a look").sentence


def told(result, **options):
    console = Console(width=80, record=True, file=None)
    with console.capture() as captured:
        print_study(console, result.facts(), **options)
    return captured.get()


@pytest.mark.parametrize("verbose", [False, True])
def test_study_starts_with_four_lines_and_fits_80_columns(of_numbers, of_classes, verbose):
    for result in (of_numbers, of_classes):
        text = told(result, data=["A sentence about the data."], verbose=verbose)
        words = " ".join(text.split())
        assert words.startswith(" ".join(map(str, result.summary())))
        assert "A sentence about the data." in words
        assert max(map(len, text.splitlines())) < 80
        for name in ("base model", "bagged", "constant", "measured", "guarantee"):
            assert name in words
        assert (result.verdict().headline in words) == verbose


def test_tables_have_three_digits_and_no_wrapped_headings(of_numbers):
    text = told(of_numbers)
    assert not re.search(r"\d\.\d*[1-9]\d{3}|e-\d", text.replace("\n", " "))
    (heads,) = [line for line in text.splitlines() if "base model" in line and "constant" in line]
    assert heads.split() == ["base", "model", "bagged", "constant"]


def test_at_most_five_rows_are_named(of_numbers):
    lines = told(of_numbers).splitlines()
    assert 1 <= sum(line.startswith("  row ") for line in lines) <= 10  # in two lists
    (first,) = [place for place, line in enumerate(lines) if "worth a look" in line]
    assert sum(line.startswith("  row ") for line in lines[first:]) == 5


@pytest.mark.filterwarnings("ignore:The intervals are infinite")
def test_infinite_intervals_are_not_reported_as_100_percent_coverage(of_numbers):
    X, y = load_diabetes(return_X_y=True)
    few = study(
        BaggedRegressor(DecisionTreeRegressor(), n_bags=20), X[:6], y[:6], X[6:8], y[6:8], n_refits=2, n_points=2
    )
    (row,) = [line for line in told(few).splitlines() if "targets inside 90% intervals" in line]
    assert "infinite" in row
    assert "%" not in row.replace("90%", "")
    assert "infinite " not in told(of_numbers)


def test_accuracy_comes_before_stability_in_what_to_do():
    rng = np.random.default_rng(0)
    X, y, Z, z = rng.normal(size=(80, 2)), rng.normal(size=80), rng.normal(size=(40, 2)), rng.normal(size=40)
    result = study(BaggedRegressor(DecisionTreeRegressor(), n_bags=100), X, y, Z, z, n_refits=20, n_points=5)
    assert result.verdict().case == "no better than a constant"
    predicts, _, stable, to_do = result.summary()
    assert predicts.status == "warning"
    assert stable.text.startswith("More stable than the base model.")
    assert to_do.text.startswith("Fix accuracy first")
    assert "Use the bagged model" not in told(result)
    assert "Bagging stabilizes this model" in " ".join(told(result, verbose=True).split())


def test_suspicious_rows_are_named_with_their_noise(of_numbers):
    moving, far = suspicious(of_numbers)
    assert "Row 0 is the first row below the header." in told(of_numbers)
    first = of_numbers.suspects.influential[0]
    assert f"row 7 (by {three_digits(first.change)}, bagging noise {three_digits(first.noise)})" in moving
    assert moving.endswith("If no row had an effect, the chance of listing any would be at most 5%.")
    times = f"{of_numbers.suspects.unusual[0].distance:.1f} times the usual size"
    assert f"predict, the first 5: row 7 (off by +{three_digits(of_numbers.suspects.unusual[0].value)}, {times})" in far
    assert far.endswith("This is a ranking: clean data have one too.")


def test_rows_without_effect_are_not_named_as_influential(of_classes):
    assert of_classes.suspects.influential == ()
    moving, far = suspicious(of_classes)
    assert moving == (
        f"No row changes predictions at {len(of_classes.bagged.prediction)} test points clearly beyond bagging noise "
        f"({number(of_classes.suspects.noise)})."
    )
    assert far.startswith("Worth a look, 10 training rows farthest from what the other rows predict, the first 5: row ")


def test_group_names_do_not_repeat_the_word_group():
    patients = Noun("patient", "patients")
    assert row_in_words(np.int64(17), ROWS) == "row 17"
    assert row_in_words("ann", patients) == "patient ann"
    assert row_in_words("Patient 7", patients) == "Patient 7"
    assert row_in_words(17.0, patients) == "patient 17"
