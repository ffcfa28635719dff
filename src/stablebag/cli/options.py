"""Options that several commands share, and what is read from them."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from stablebag.models.rows import as_bytes
from stablebag.resampling.law import ResamplingScheme
from stablebag.resampling.schemes import SCHEMES
from stablebag.tables.text import table_of

# ----------------------------------------------------------------------------------------------------------------- auto
# Options that may be left to the command: a number or "auto", and the time that there is for it.

_UNITS = {"s": 1, "m": 60, "min": 60, "h": 3600}


def number_or_auto(minimum: int) -> Callable[[click.Context, click.Parameter, Any], int | None]:
    """Return how an option is read that is a whole number, or "auto", which becomes None."""

    def read(ctx: click.Context, param: click.Parameter, value: Any) -> int | None:
        if value == "auto":
            return None
        number: int = click.IntRange(minimum).convert(value, param, ctx)
        return number

    return read


def duration(ctx: click.Context, param: click.Parameter, value: str) -> float:
    """Read an option that is a duration."""
    try:
        return seconds_of(value)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


def seconds_of(text: str) -> float:
    """Return the seconds of a duration such as 90s, 3m or 1.5h; a number alone counts seconds.

    >>> seconds_of("3m"), seconds_of("90"), seconds_of("1.5 h")
    (180.0, 90.0, 5400.0)
    """
    found = re.fullmatch(r"(\d+(?:\.\d*)?)\s*(s|m|min|h)?", text.strip().lower(), re.ASCII)
    if found is None or not 0 < float(found[1]) < 1e9:
        raise ValueError(f"It is a duration such as 90s, 3m or 1h. Got {text!r}.")
    return float(found[1]) * _UNITS[found[2] or "s"]


# -------------------------------------------------------------------------------------------------------------- options
# Options that several commands share, and how they are read.

SEED = click.IntRange(0, 2**32 - 1)
MAX_MEMORY = "1GB"


def read_table(ctx: click.Context, param: click.Parameter, value: tuple[str, ...]) -> Any:
    """Read the argument of a table: the path of one file, or several files of one table."""
    return table_of(value)


def read_memory(ctx: click.Context, param: click.Parameter, value: str) -> int:
    """Read an option that is an amount of memory."""
    try:
        return as_bytes(value, "--max-memory", "stablebag")
    except ValueError:
        raise click.BadParameter(f'It is an amount of memory such as 500MB or 1GB. Got "{value}".') from None


def _jobs(ctx: click.Context, param: click.Parameter, value: int) -> int:
    if value == 0:
        raise click.BadParameter("0 fits in parallel are none. Use 1, or -1 for all processors.")
    return value


def scheme_options(command: Any) -> Any:
    """Add the options that choose a scheme."""
    size = click.option("--bag-size", help="Rows in a bag (250), or a fraction of the rows (0.5).")
    name = click.option(
        "--scheme",
        type=click.Choice(sorted(SCHEMES)),
        default="subbagging",
        show_default=True,
        help="How bags are drawn.",
    )
    return name(size(command))


def run_options(command: Any) -> Any:
    """Add the options of every command that fits: jobs and seed."""
    jobs = click.option("--jobs", type=int, default=2, show_default=True, callback=_jobs,
                        help="The number of fits in parallel; -1 is one for each processor, and two for each are the "
                        "most.")  # fmt: skip
    seed = click.option("--seed", type=SEED, default=0, show_default=True, help="The seed of everything.")
    return jobs(seed(command))


def table_options(command: Any) -> Any:
    """Add the options that choose a table, a learner and its bags."""
    options = [
        click.argument("table", nargs=-1, required=True, callback=read_table),
        click.option("--target", required=True, help="The column to predict."),
        click.option("--group", help="The column that says whose rows are whose, such as patient_id. It is no feature; "
                     "whole patients are put into bags, left out and held out, and what counts rows counts patients."),
        click.option("--id", "ids", metavar="COLUMN", multiple=True,
                     help="A column that names rows, such as visit_no. It is no feature; repeatable."),
        click.option("--drop", metavar="COLUMN", multiple=True,
                     help="A column to leave out; repeatable, or several with commas between."),
        click.option("--kind", "kinds", metavar="COLUMN=KIND", multiple=True,
                     help="What a column is: number, category, text or date; repeatable.  [default: by its values]"),
        click.option("--sep", help="What is between the columns of a text file, or tab.  [default: by its header]"),
        click.option("--decimal", type=click.Choice([".", ","]),
                     help="The decimal mark of a text file.  [default: by the values]"),
        click.option("--encoding", help="The encoding of a text file, such as cp1252.  [default: by its bytes]"),
        click.option("--max-memory", default=MAX_MEMORY, show_default=True, callback=read_memory,
                     help="The memory for training rows: a Parquet table that would take more stays in its files."),
        click.option("--task", type=click.Choice(["regression", "classification"]), help="[default: by the target]"),
        click.option("--model", default="tree", show_default=True,
                     help="tree, forest, boosting, logistic, ridge, knn, mlp, svm, or package.module:Class."),
        click.option("--param", "parameters", multiple=True, help="A parameter of the model, name=value; repeatable."),
        click.option("--n-bags", default="auto", show_default=True, callback=number_or_auto(2),
                     help="The number of bags, or its average where it is random; auto is 50 to 2,000, by how long "
                     "fits take."),
        click.option("--time-limit", default="3m", show_default=True, callback=duration,
                     help="How long auto may take, about: 90s, 3m, 1h."),
    ]  # fmt: skip
    command = scheme_options(run_options(command))
    for option in reversed(options):
        command = option(command)
    return command


def keep_option(command: Any) -> Any:
    """Add the option --keep of commands that write results for new rows."""
    text = "Columns of the new rows to write beside the results, a,b; ids and the group are always there. Can be "
    return click.option("--keep", multiple=True, metavar="COLUMNS", help=f"{text}repeated.  [default: all]")(command)


def save_option(command: Any) -> Any:
    """Add the option that saves the fitted model."""
    text = "Where to save the fitted model (.skops), for stablebag predict."
    return click.option("--save", type=click.Path(dir_okay=False, path_type=Path), help=text)(command)


def scheme_of(name: str, bag_size: str | None) -> ResamplingScheme:
    """Return the scheme that was chosen."""
    if bag_size is None:
        return SCHEMES[name]()  # type: ignore[call-arg]
    try:
        size = float(bag_size) if "." in bag_size or "e" in bag_size else int(bag_size)
    except ValueError:
        raise ValueError(f"--bag-size is a number of rows, or a fraction of them. Got {bag_size!r}.") from None
    return SCHEMES[name](size)
