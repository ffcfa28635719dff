"""`stablebag interval`: predictions with intervals for the rows of a table."""

import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import click
import numpy as np
from rich.console import Console

from stablebag._wording import percent
from stablebag._writing import refuse_unwritable, whole
from stablebag.cli.options import DATA, FILE, OUTPUT, Command, keep_option, option, save_option, table_options
from stablebag.cli.printing import open_console, print_warnings, progress, say
from stablebag.tables.text import paths_of

METHODS = ("jackknife", "jackknife+", "jackknife-minmax", "stable-jackknife")
_OF_RANDOM_BAGS = ("jackknife+", "jackknife-minmax")  # their theorem needs a random number of bags


@click.command(cls=Command)
@table_options
@option("--test", type=click.Path(path_type=Path), metavar="FILE", group=DATA, required=True, help="Rows to predict.")
@option("--confidence", metavar="LEVEL", type=float, default=0.9, group=OUTPUT, default_text="0.9",
        help="Level of the intervals.")  # fmt: skip
@option("--method", metavar="NAME", type=click.Choice(METHODS), default="jackknife+", group=OUTPUT,
        default_text="jackknife+", help="How intervals are made, as listed above.")  # fmt: skip
@option("--locally-weighted", is_flag=True, group=OUTPUT, help="Wider intervals where the bags differ more.")
@keep_option
@option("--output", type=FILE, metavar="FILE", group=OUTPUT, required=True, help="Write intervals to this CSV file.")
@save_option
def interval(
    test: Path,
    confidence: float,
    method: str,
    locally_weighted: bool,
    keep: tuple[str, ...],
    output: Path,
    save: Path | None,
    **options: Any,
) -> None:
    """Predict numbers with intervals for the rows of a table.

    Fits a bagged model to TABLE and predicts the rows of --test. With --group, the intervals are for rows of new
    groups, such as patients without any row in TABLE.

    Models: tree, forest, boosting, ridge, knn, mlp, svm, or package.module:Class.
    Methods: jackknife+, jackknife, jackknife-minmax, stable-jackknife.

    \b
    Examples:
      stablebag interval patients.csv --target outcome --test new.csv \\
        --output intervals.csv
      stablebag interval visits.csv --target outcome --group patient_id \\
        --test new.csv --output intervals.csv
    """
    from stablebag.cli import training
    from stablebag.cli.saving import check_can_save, save_model
    from stablebag.cli.training import TwoTables, check_level, describe_random_bags
    from stablebag.deciding.intervals import predict_interval
    from stablebag.models.estimators import BaggedRegressor
    from stablebag.tables.leakage import copies_to_predict

    check_level(confidence, "--confidence")
    refuse_unwritable(output, *paths_of(options["table"]), test)
    check_can_save(save, *paths_of(options["table"]), test)
    console = open_console()
    with progress("Reading"):
        tables = TwoTables.read(options, test, "regression")
    for warning in tables.table.as_read.warned:
        say(console, warning)
    new, columns = tables.new, tables.new.columns_to_write(keep)
    check_method(method, locally_weighted, confidence, tables.table.groups, len(tables.table.y))
    model = tables.model(BaggedRegressor, random_number=method in _OF_RANDOM_BAGS)
    _check_stable(model, tables.table.y, confidence, method)
    with progress("Fitting"):
        model.fit(**tables.to_fit)
    with print_warnings(console):
        found = predict_interval(
            model, new.X, confidence_level=confidence, method=method, locally_weighted=locally_weighted
        )
    say_intervals(console, found, tables.table.y, locally_weighted, describe_random_bags(model))
    if tables.table.groups is not None:
        say(
            console,
            f"Trained on {training.count_rows(tables.table.groups)}; the intervals are for rows of other groups.",
        )
        if known := training.describe_seen_groups(tables.table.groups, new.groups):
            say(console, f"{known} The guarantee is not about these rows.")
    elif tables.suggestion:
        say(console, tables.suggestion)
    if new.y is not None:
        say(console, f"{percent(found.coverage(new.y))} of the known targets are inside their intervals.")
    for noticed in copies_to_predict(tables.table.X, tables.table.y, new):
        say(console, noticed)
    for note in tables.notes:
        say(console, note)
    with whole(output) as partial:
        new.with_results(columns_of(found), columns, "interval").to_csv(partial, index=False)
    say(console, f"Intervals: {output}")
    if save is not None:
        say(console, save_model(save, model, tables.table.reading, options["table"]))


def columns_of(found: Any) -> dict[str, Any]:
    """Return the columns of results."""
    return {"prediction": found.prediction, "lower": found.lower, "upper": found.upper}


def say_intervals(console: Console, found: Any, y: np.ndarray, locally_weighted: bool, about_bags: str = "") -> None:
    """Print what the intervals are, their guarantee, and advice on negative ones."""
    first, *rest = found.explain().split("\n")
    say(console, " ".join([first, *rest, *[about_bags] * bool(about_bags)]))
    below = int((found.lower < 0).sum())
    if below and np.isfinite(found.lower).all() and y.min() >= 0:
        begin = f"{below:,} of {len(found.lower):,} intervals begin below zero, but no training target is negative."
        way = "" if locally_weighted else " --locally-weighted may help: it makes intervals narrower where bags agree."
        say(console, f"{begin} If targets cannot be negative, cut the intervals off at zero; they cover as much.{way}")


def check_method(method: str, locally_weighted: bool, confidence: float, units: Any, n_rows: int) -> None:
    """Raise an error if a method does not work with groups, or if every interval would be infinite."""
    from stablebag._wording import GROUPS, ROWS
    from stablebag.deciding.jackknife import quantile_rank
    from stablebag.tables.text import TableError

    noun = ROWS if units is None else GROUPS
    if units is not None and not units.is_unique and method == "stable-jackknife":
        raise TableError(f"The stable-jackknife works for rows, but --group leaves out {noun.plural}. Use jackknife+.")
    if method == "stable-jackknife":
        if locally_weighted:
            raise TableError(
                "--locally-weighted does not work with the stable-jackknife, which has one width. Use jackknife+."
            )
        return
    n = n_rows if units is None else int(units.nunique())
    if quantile_rank(confidence, n) > n:
        needed = math.ceil(1 / (1 - Fraction(str(confidence)))) - 1
        most = math.floor(100 * Fraction(n, n + 1)) / 100
        raise TableError(
            f"At level {confidence:g}, every interval from {noun.count(n)} would be infinite. Use at least {needed:,} "
            f"{noun.plural}, or --confidence {most:g} or less."
        )


def _check_stable(model: Any, y: np.ndarray, confidence: float, method: str) -> None:
    """Raise an error before any fit if the stable jackknife is not defined for these rows."""
    from stablebag._checks import as_fraction
    from stablebag.deciding.stable_jackknife import StableJackknife

    if method == StableJackknife.name:
        StableJackknife.of_estimator(model, y, as_fraction(confidence), None, "best", "stablebag interval")
