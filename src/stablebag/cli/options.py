"""Options that several commands share, how `--help` shows them, and how their values are read."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from stablebag.models.rows import as_bytes
from stablebag.resampling.law import ResamplingScheme
from stablebag.resampling.schemes import SCHEMES
from stablebag.tables.text import table_of

# ----------------------------------------------------------------------------------------------------------------- help
# `--help` shows options in groups, one line each, with the default in brackets.

GROUPS = DATA, MODEL, BAGS, OUTPUT, ADVANCED = ("Data", "Model", "Bags", "Output", "Advanced")


class Option(click.Option):
    """An option with a group, and with a short text for its default."""

    def __init__(self, *args: Any, group: str = ADVANCED, default_text: str | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.group, self.default_text = group, default_text

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """Return the option as it is written, and its line of help."""
        record = super().get_help_record(ctx)
        if record is None:
            return None
        more = " (required)" if self.required else f" [{self.default_text}]" if self.default_text else ""
        return record[0], f"{self.help or ''}{more}"


class Command(click.Command):
    """A command that shows its options in groups."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, group by group, with all lines of help in one column."""
        grouped: dict[str, list[tuple[str, str]]] = {name: [] for name in GROUPS}
        for parameter in self.get_params(ctx):
            if not isinstance(parameter, click.Argument) and (record := parameter.get_help_record(ctx)) is not None:
                grouped[getattr(parameter, "group", ADVANCED)].append(record)
        width = max(len(name) for records in grouped.values() for name, _ in records)
        shown = {name: records for name, records in grouped.items() if records}
        for name, records in shown.items():
            with formatter.section(name if len(shown) > 1 else "Options"):
                formatter.write_dl([(written.ljust(width), text) for written, text in records])
        formatter.write_paragraph()
        formatter.write_text("Defaults are in [brackets].")


def option(*names: str, **attributes: Any) -> Any:
    """Return a decorator that adds an option: `click.option` with a group, and a text for its default."""
    return click.option(*names, cls=Option, **attributes)


# --------------------------------------------------------------------------------------------------------------- values
# How values are read: numbers that may be "auto", durations, memory, paths and bag sizes.

_UNITS = {"s": 1, "m": 60, "min": 60, "h": 3600}


def number_or_auto(minimum: int) -> Callable[[click.Context, click.Parameter, Any], int | None]:
    """Return a callback that reads a whole number, or "auto", which becomes None."""

    def read(ctx: click.Context, param: click.Parameter, value: Any) -> int | None:
        if value == "auto":
            return None
        try:
            number = int(value)
        except ValueError:
            raise click.BadParameter(f"Give a whole number or auto, got {value!r}.") from None
        if number < minimum:
            few = " With one bag, nothing is known without its rows." if number == 1 else ""
            raise click.BadParameter(f"Give at least {minimum}, got {number}.{few}")
        return number

    return read


def duration(ctx: click.Context, param: click.Parameter, value: str) -> float:
    """Read a duration."""
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
        raise ValueError(f"Give a duration such as 90s, 3m or 1h, got {text!r}.")
    return float(found[1]) * _UNITS[found[2] or "s"]


def read_table(ctx: click.Context, param: click.Parameter, value: tuple[str, ...]) -> Any:
    """Read the argument of a table: the path of one file, or several files of one table."""
    return table_of(value)


def read_memory(ctx: click.Context, param: click.Parameter, value: str) -> int:
    """Read an amount of memory."""
    try:
        return as_bytes(value, "--max-memory", "stablebag")
    except ValueError:
        raise click.BadParameter(f"Give an amount of memory such as 500MB or 1GB, got {value!r}.") from None


def read_share(ctx: click.Context, param: click.Parameter, value: float) -> float:
    """Read a share from 0 to 1."""
    if not 0 <= value <= 1:
        meant = f" Did you mean {value / 100:g}?" if 1 < value < 100 else ""
        raise click.BadParameter(f"Give a share from 0 to 1, got {value:g}.{meant}")
    return value


def read_jobs(ctx: click.Context, param: click.Parameter, value: int) -> int:
    """Read the number of parallel fits."""
    if value == 0:
        raise click.BadParameter("--jobs must not be 0. Use 1, or -1 for all processors.")
    return value


def scheme_of(name: str, bag_size: str | None) -> ResamplingScheme:
    """Return the scheme that was chosen."""
    if bag_size is None:
        return SCHEMES[name]()  # type: ignore[call-arg]
    try:
        size = float(bag_size) if "." in bag_size or "e" in bag_size else int(bag_size)
    except ValueError:
        share = re.fullmatch(r"(\d{1,3}(?:\.\d*)?)\s*%", bag_size)
        meant = f" For {bag_size}, write {float(share[1]) / 100:g}." if share else ""
        given = f"--bag-size must be a number of rows (250) or a fraction (0.5), got {bag_size!r}."
        raise ValueError(f"{given}{meant}") from None
    return SCHEMES[name](size)


# -------------------------------------------------------------------------------------------------------------- options
# Options that several commands share.

SEED = click.IntRange(0, 2**32 - 1)
MAX_MEMORY = "1GB"
FILE = click.Path(dir_okay=False, path_type=Path)


class _Target(click.types.StringParamType):
    """The name of the target, with a hint if it is missing."""

    def get_missing_message(self, param: click.Parameter, ctx: click.Context | None = None) -> str:
        """Return the hint."""
        return "Name the column to predict, such as --target outcome."


def scheme_options(command: Any) -> Any:
    """Add the options that choose a scheme."""
    size = option("--bag-size", metavar="SIZE", group=BAGS, default_text="by scheme",
                  help="Rows per bag (250), or share (0.5).")  # fmt: skip
    name = option("--scheme", metavar="NAME", group=BAGS, type=click.Choice(sorted(SCHEMES)), default="subbagging",
                  help="bernoulli, classical, poissonized or [subbagging].")  # fmt: skip
    return size(name(command))


def run_options(command: Any) -> Any:
    """Add the options of every command that fits: jobs and seed."""
    jobs = option("--jobs", metavar="N", type=int, default=2, default_text="2", callback=read_jobs,
                  help="Parallel fits; -1 uses all processors.")  # fmt: skip
    seed = option("--seed", metavar="N", type=SEED, default=0, default_text="0", help="Random seed.")
    return jobs(seed(command))


def table_options(command: Any) -> Any:
    """Add the options that choose a table, a model and its bags."""
    options = [
        click.argument("table", nargs=-1, required=True, callback=read_table),
        option("--target", metavar="COLUMN", group=DATA, required=True, type=_Target(), help="Column to predict."),
        option("--group", metavar="COLUMN", group=DATA, help="Column of groups, such as patient_id."),
        option("--id", "ids", metavar="COLUMN", group=DATA, multiple=True, help="Column of row IDs. Can be repeated."),
        option("--drop", metavar="COLUMNS", group=DATA, multiple=True, help="Columns to leave out: a,b."),
        option("--kind", "kinds", metavar="COL=KIND", group=DATA, multiple=True,
               help="Read COL as number, category, text or date."),
        option("--task", metavar="TASK", group=DATA, type=click.Choice(["regression", "classification"]),
               default_text="by target", help="regression or classification."),
        option("--model", metavar="NAME", group=MODEL, default="tree", default_text="tree",
               help="Model, as listed above."),
        option("--param", "parameters", metavar="NAME=VALUE", group=MODEL, multiple=True,
               help="Parameter of the model. Can be repeated."),
        option("--n-bags", metavar="N", group=BAGS, default="auto", default_text="auto", callback=number_or_auto(2),
               help="Number of bags; auto stays within --time-limit."),
        option("--time-limit", metavar="TIME", group=BAGS, default="3m", default_text="3m", callback=duration,
               help="Time for auto choices: 90s, 3m, 1h."),
        option("--max-memory", metavar="SIZE", default=MAX_MEMORY, default_text=MAX_MEMORY, callback=read_memory,
               help="Larger Parquet tables stay on disk."),
        option("--sep", metavar="TEXT", default_text="by header", help="Separator of a text file, or tab."),
        option("--decimal", metavar="MARK", type=click.Choice([".", ","]), default_text="by values",
               help="Decimal mark of a text file."),
        option("--encoding", metavar="NAME", default_text="by content", help="Encoding, such as cp1252."),
    ]  # fmt: skip
    command = scheme_options(run_options(command))
    for add in reversed(options):
        command = add(command)
    return command


def keep_option(command: Any) -> Any:
    """Add the option --keep of commands that write results for new rows."""
    return option("--keep", multiple=True, metavar="COLUMNS", group=OUTPUT, default_text="all",
                  help="Columns to copy to the output: a,b.")(command)  # fmt: skip


def save_option(command: Any) -> Any:
    """Add the option that saves the fitted model."""
    return option("--save", type=FILE, metavar="FILE", group=OUTPUT, help="Save the model, such as model.skops.")(
        command
    )
