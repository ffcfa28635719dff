"""`stablebag interval`: predictions for the rows of a table, with intervals from the bags."""

from pathlib import Path
from typing import Any

import click
from rich.console import Console

from stablebag.commands.options import scheme_of, table_options
from stablebag.commands.printing import progress, say


@click.command()
@table_options
@click.option("--test", type=click.Path(path_type=Path), required=True, help="The rows to predict.")
@click.option("--confidence", type=float, default=0.9, show_default=True, help="The level of the intervals.")
@click.option("--method", type=click.Choice(["jackknife", "jackknife+", "jackknife-minmax", "stable-jackknife"]),
              default="jackknife+", show_default=True, help="How intervals are made.")  # fmt: skip
@click.option(
    "--output", type=click.Path(dir_okay=False, path_type=Path), required=True, help="Where to write them (CSV)."
)
def interval(test: Path, confidence: float, method: str, output: Path, **options: Any) -> None:
    """Predict the rows of a table, with intervals from the bags.

    \b
    Example:
      stablebag interval patients.csv --target outcome --test new.csv --output intervals.csv
    """
    from stablebag.commands import tables
    from stablebag.deciding.intervals import predict_interval
    from stablebag.learning.regressor import BaggedRegressor

    target = options["target"]
    X, y, task, _ = tables.split_target(tables.read_table(options["table"]), target, options["task"])
    if task != "regression":
        raise tables.TableError(f"Intervals are for numbers, but the target {target!r} has classes.")
    other = tables.read_table(test)
    learner = tables.make_learner(options["model"], task, tables.parse_parameters(options["parameters"]))
    points = tables.same_columns(X, other, str(test))
    model = BaggedRegressor(
        tables.Columns.of(X).pipeline(learner),
        scheme=scheme_of(options["scheme"], options["bag_size"]),
        n_bags=options["n_bags"],
        n_jobs=options["jobs"],
        random_state=options["seed"],
    )
    console = Console()
    with progress(console, "bags"):
        model.fit(X, y)
    found = predict_interval(model, points, confidence_level=confidence, method=method)
    found.to_frame().to_csv(output, index=False)
    say(console, found.explain())
    if target in other.columns and other[target].notna().all():
        say(console, f"{found.coverage(other[target]):.1%} of the known targets are inside.")
    say(console, f"{len(found):,} intervals are in {output}.")
