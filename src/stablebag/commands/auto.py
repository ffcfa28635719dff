"""Options that may be left to the command: a number or "auto", and the time that there is for it."""

import re
from collections.abc import Callable
from typing import Any

import click

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
