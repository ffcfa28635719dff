import io
import math

import pytest
from rich.console import Console

from stablebag.commands import printing
from stablebag.commands.printing import finite, progress, say
from stablebag.learning.progress import counted


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
    sentence = "The target is 'y [/b]', [red]and[/red] " + "it is long, " * 10
    say(pipe, sentence)
    assert pipe.file.getvalue() == sentence + "\n"


def test_json_gets_no_infinity():
    assert [finite(value) for value in (0.5, 0.0, math.inf, -math.inf, math.nan)] == [0.5, 0.0, None, None, None]


def test_without_a_terminal_there_is_a_line_now_and_then_beside_the_results(pipe, clock, capsys):
    with progress(pipe, "bags"), counted(100) as count:
        for second in (1.0, 10.0, 29.0, 40.0, 50.0, 80.0):
            clock[0] = second
            count.one()
    assert pipe.file.getvalue() == ""
    assert capsys.readouterr().err.splitlines() == [
        "bags: 0 of 100 fits.",
        "bags: 4 of 100 fits, about 960 s left.",
        "bags: 6 of 100 fits, about 1253 s left.",
    ]


def test_in_a_terminal_there_is_a_bar():
    console = Console(file=io.StringIO(), width=120, force_terminal=True)
    with progress(console, "bags"), counted(7) as count:
        for _ in range(7):
            count.one()
    assert "7 of 7 fits" in console.file.getvalue()


def test_sentences_break_between_words_in_a_terminal_and_not_at_all_elsewhere():
    for is_terminal, said in ((True, "Leave it out, or\nuse another.\n"), (False, "Leave it out, or use another.\n")):
        file = io.StringIO()
        say(Console(file=file, force_terminal=is_terminal, width=16), "Leave it out, or use another.")
        assert file.getvalue() == said
