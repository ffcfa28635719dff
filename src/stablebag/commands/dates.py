"""Dates as people write them, and what learners are told of them."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from stablebag.learning.solvers.branches import row_by_row

_DAYS = ("%Y/%m/%d", "%d.%m.%Y", "%m/%d/%Y", "%d/%m/%Y", "%m-%d-%Y", "%d-%m-%Y", "%d.%m.%y", "%m/%d/%y")
# Formats of dates, in the order in which they are tried; "ISO8601" takes dates with and without times.
_DATES = ["ISO8601", *(day + time for day in _DAYS for time in ("", " %H:%M", " %H:%M:%S"))]
_LOOKS_LIKE_ONE = r"^\D*\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}"
NEARLY_ALL = 0.95  # of the different values of a column of dates


def date_formats(texts: list[str], n_spare: int = 0) -> Iterator[tuple[str, np.ndarray]]:
    """Give out the formats that could be those of these texts, each with who of them is a date in it.

    There are none if fewer than nearly all look like dates, also without some `n_spare` of them. A format in which all
    are dates is the last.
    """
    import pandas as pd

    values = pd.Series(texts, dtype=object)
    n_alike = int(values.str.contains(_LOOKS_LIKE_ONE).sum()) if len(texts) else 0
    if not n_alike or n_alike < NEARLY_ALL * (len(texts) - n_spare):
        return
    for form in _DATES:
        found = pd.to_datetime(values, format=form, errors="coerce", utc=True).notna().to_numpy()
        if found.any():
            yield form, found
        if found.all():
            return


def parsed_dates(column: Any, form: str) -> Any:
    """Return a column as dates without time zones, in this format; what is none is missing."""
    import pandas as pd

    options: dict[str, Any] = {"format": form} if form and column.dtype.kind != "M" else {}
    return pd.to_datetime(column, errors="coerce", utc=True, **options).dt.tz_localize(None)


def said_of(form: str) -> str:
    """Say how a date is written, where that could be taken otherwise."""
    words = {"Y": "year", "y": "year", "m": "month", "d": "day"}
    day = form.split(" ")[0]
    return "" if not day.startswith("%") else day[2].join(words[part] for part in day[1::3])


@row_by_row
def date_parts(frame: Any) -> np.ndarray:
    """Return the days of dates, and their places in the year and the week."""
    import pandas as pd

    parts = []
    for name in frame.columns:
        dates = frame[name]
        days = (dates - pd.Timestamp("2000-01-01")) / pd.Timedelta(days=1)
        year = 2 * math.pi * dates.dt.day_of_year / 365.25
        parts += [days, np.sin(year), np.cos(year), dates.dt.day_of_week]
    return np.column_stack([np.asarray(part, dtype=float) for part in parts])
