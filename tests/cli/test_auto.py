import click
import pytest

from stablebag.cli.options import duration, number_or_auto, seconds_of


@pytest.mark.parametrize(("text", "seconds"), [("90s", 90.0), (" 3M ", 180.0), ("2min", 120.0), ("0.5h", 1800.0)])
def test_a_duration_is_a_number_with_a_unit(text, seconds):
    assert seconds_of(text) == duration(None, None, text) == seconds


@pytest.mark.parametrize("text", ["", "0", "0m", "-3m", "3 days", "nan", "1e3", "9" * 400, "٣m"])
def test_what_is_no_duration_is_refused(text):
    with pytest.raises(click.BadParameter, match=r"It is a duration such as 90s, 3m or 1h\. Got"):
        duration(None, None, text)


def test_auto_is_none_and_numbers_are_checked():
    read = number_or_auto(2)
    assert (read(None, None, "auto"), read(None, None, "7"), read(None, None, 7)) == (None, 7, 7)
    for wrong in ("1", "1.5", "many", ""):
        with pytest.raises(click.BadParameter):
            read(None, None, wrong)
