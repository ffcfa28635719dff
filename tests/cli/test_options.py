import click
import pytest
from click.testing import CliRunner

from stablebag import BernoulliSubbagging, ClassicalBagging, PoissonizedBagging, Subbagging
from stablebag.cli.options import duration, number_or_auto, run_options, scheme_of, seconds_of, table_options


@pytest.mark.parametrize(("name", "size", "scheme"), [
    ("subbagging", None, Subbagging(0.5)), ("subbagging", "250", Subbagging(250)), ("subbagging", "1", Subbagging(1)),
    ("subbagging", "0.25", Subbagging(0.25)), ("subbagging", "5e-2", Subbagging(0.05)),
    ("classical", "1.0", ClassicalBagging(1.0)), ("bernoulli", "0.3", BernoulliSubbagging(0.3)),
    ("poissonized", "40", PoissonizedBagging(40)),
])  # fmt: skip
def test_bag_size_is_rows_if_whole_and_a_fraction_with_a_point(name, size, scheme):
    assert scheme_of(name, size) == scheme
    assert scheme_of(name, size).resolve(1000) == scheme.resolve(1000)


@pytest.mark.parametrize("size", ["half", "one", "", "nan", "inf", "1,000"])
def test_bag_size_must_be_a_number(size):
    with pytest.raises(ValueError, match="--bag-size must be a number of rows"):
        scheme_of("subbagging", size)


def read(options, *arguments):
    """What a command with these options is called with."""
    seen = {}
    command = click.command()(options(lambda **values: seen.update(values)))
    result = CliRunner().invoke(command, [str(argument) for argument in arguments])
    return seen, result


def test_a_table_needs_a_target_and_everything_else_has_a_default():
    seen, _ = read(table_options, "t.csv", "--target", "y", "--param", "a=1", "--param", "b=2")
    assert (str(seen["table"]), seen["target"], seen["task"], seen["parameters"]) == (
        "t.csv",
        "y",
        None,
        ("a=1", "b=2"),
    )
    assert (seen["model"], seen["n_bags"], seen["scheme"], seen["bag_size"]) == ("tree", None, "subbagging", None)
    assert seen["time_limit"] == 180.0
    assert (seen["jobs"], seen["seed"]) == (2, 0)
    seen, result = read(table_options, "t.csv")
    assert (seen, result.exit_code) == ({}, 2)
    assert "Missing option '--target'" in result.output


@pytest.mark.parametrize("seed", [-1, 2**32, "1.5"])
def test_wrong_seeds_raise_an_error(seed):
    assert read(run_options, "--seed", 2**32 - 1)[0]["seed"] == 2**32 - 1
    seen, result = read(run_options, "--seed", seed)
    assert (seen, result.exit_code) == ({}, 2)
    assert "--seed" in result.output


def test_zero_jobs_raise_an_error():
    seen, result = read(run_options, "--jobs", "0")
    assert (seen, result.exit_code) == ({}, 2)
    assert "--jobs must not be 0. Use 1, or -1 for all processors." in " ".join(result.output.split())


def test_columns_can_be_named_several_times():
    arguments = ("--drop", "a", "--drop", "b,c", "--id", "d", "--kind", "e=text", "--sep", "tab", "--decimal", ",")
    seen, _ = read(table_options, "t.csv", "--target", "y", *arguments, "--encoding", "cp1252")
    assert (seen["drop"], seen["ids"], seen["kinds"]) == (("a", "b,c"), ("d",), ("e=text",))
    assert (seen["sep"], seen["decimal"], seen["encoding"]) == ("tab", ",", "cp1252")
    seen, result = read(table_options, "t.csv", "--target", "y", "--decimal", ";")
    assert (seen, result.exit_code) == ({}, 2)


@pytest.mark.parametrize(("text", "seconds"), [("90s", 90.0), (" 3M ", 180.0), ("2min", 120.0), ("0.5h", 1800.0)])
def test_a_duration_is_a_number_with_a_unit(text, seconds):
    assert seconds_of(text) == duration(None, None, text) == seconds


@pytest.mark.parametrize("text", ["", "0", "0m", "-3m", "3 days", "nan", "1e3", "9" * 400, "٣m"])
def test_wrong_durations_raise_an_error(text):
    with pytest.raises(click.BadParameter, match=r"Give a duration such as 90s, 3m or 1h, got"):
        duration(None, None, text)


def test_auto_is_none_and_numbers_are_checked():
    read = number_or_auto(2)
    assert (read(None, None, "auto"), read(None, None, "7"), read(None, None, 7)) == (None, 7, 7)
    for wrong in ("1", "1.5", "many", ""):
        with pytest.raises(click.BadParameter):
            read(None, None, wrong)
