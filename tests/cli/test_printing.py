import io
import math
import time

import pytest
from rich.console import Console

from stablebag.cli import printing
from stablebag.cli.printing import beside, finite, open_console, progress, say
from stablebag.models.parallel import counted, step


@pytest.fixture
def pipe():
    return Console(file=io.StringIO(), width=60)


@pytest.fixture
def clock(monkeypatch):
    """A clock that is set by hand."""
    now = [0.0]
    monkeypatch.setattr(printing.time, "monotonic", lambda: now[0])
    return now


def test_sentences_are_printed_as_they_are(pipe):
    sentence = "The target is 'y [/b]', [red]and[/red] " + "it is long, " * 10 + "and ends."
    say(pipe, sentence)
    assert pipe.file.getvalue() == sentence + "\n"


def test_json_gets_no_infinity():
    assert [finite(value) for value in (0.5, 0.0, math.inf, -math.inf, math.nan)] == [0.5, 0.0, None, None, None]


def test_without_a_terminal_there_is_a_line_at_once_and_one_for_each_step_beside_the_results(pipe, capsys):
    with progress(pipe, "Fitting"), counted(100) as count:
        count.one()
        step("Predicting 7 rows")
    step("Nobody listens")
    assert pipe.file.getvalue() == ""
    assert capsys.readouterr().err.splitlines() == ["Fitting ...", "Predicting 7 rows ..."]


def test_without_a_terminal_there_are_lines_also_while_one_fit_takes_long(pipe, monkeypatch, capsys):
    assert printing._EVERY == 30.0
    monkeypatch.setattr(printing, "_EVERY", 0.05)
    lines = []
    with progress(pipe, "Fitting"), counted(4) as count:
        count.one()
        while len(lines) < 3:
            time.sleep(0.05)
            lines += capsys.readouterr().err.splitlines()
    assert lines[0] == "Fitting ..."
    assert set(lines[1:]) <= {"Fitting ...", "Fitting: 0 of 4 fits.", "Fitting: 1 of 4 fits."}
    assert lines[-1] == "Fitting: 1 of 4 fits."


def test_the_time_left_is_told_after_a_few_fits_and_weighs_them(clock):
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


def test_the_speed_is_that_of_the_last_minute(clock):
    work = printing._Work("Fitting", None)
    work.count(0, 1000)
    work.count(500, 1000)  # kept from before: at once
    for second in range(1, 201):
        clock[0] = float(second)
        work.count(500 + second, 1000)
    assert work.left == "about 5 minutes left"


def test_in_a_terminal_there_is_a_bar_and_it_is_gone_at_the_end():
    console = Console(file=io.StringIO(), width=120, force_terminal=True)
    with progress(console, "Reading [a].csv"):
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
def test_forced_colours_put_neither_bars_nor_codes_into_files(stderr, monkeypatch, capsys):
    monkeypatch.setenv("FORCE_COLOR", "1")
    console = open_console(stderr=stderr)
    assert not console.is_terminal
    with progress(console, "Reading"):
        say(console, "Done.")
    assert "\x1b" not in "".join(capsys.readouterr())
    assert beside(open_console()).stderr


def test_what_is_being_done_is_said_beside_results_that_go_to_a_file(pipe):
    assert beside(pipe).stderr
    terminal = Console(file=io.StringIO(), force_terminal=True)
    assert beside(terminal) is terminal


def test_sentences_break_between_words_in_a_terminal_and_not_at_all_elsewhere():
    for is_terminal, said in ((True, "Leave it out, or\nuse another.\n"), (False, "Leave it out, or use another.\n")):
        file = io.StringIO()
        say(Console(file=file, force_terminal=is_terminal, width=16), "Leave it out, or use another.")
        assert file.getvalue() == said
