"""`stablebag interval`: predictions for the rows of a table, with intervals from the bags."""

from pathlib import Path
from typing import Any

import click
from rich.console import Console

from stablebag._writing import whole
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

    With --group, they are intervals for rows of new units, such as patients of whom no row was trained on.

    \b
    Example:
      stablebag interval patients.csv --target outcome --test new.csv --output intervals.csv
      stablebag interval visits.csv --target outcome --group patient_id --test new.csv --output intervals.csv
    """
    from stablebag.commands import groups, tables
    from stablebag.commands.budget import settled
    from stablebag.deciding.intervals import predict_interval
    from stablebag.learning.regressor import BaggedRegressor

    target, group = options["target"], options["group"]
    data = tables.TrainingTable.from_options(options)
    X, y, task, units = data.X, data.y, data.task, data.groups
    if task != "regression":
        raise tables.TableError(
            f"Intervals are for numbers, but the target {target!r} has classes. Use stablebag sets, or --task "
            "regression if they are numbers."
        )
    if units is not None and not units.is_unique and method == "stable-jackknife":
        many = groups.noun(units).plural
        raise tables.TableError(
            f"The stable-jackknife is proved for rows, and --group leaves out {many}. Use jackknife+."
        )
    new = data.read_new(test)
    learner = tables.make_learner(options["model"], task, tables.parse_parameters(options["parameters"]))
    console, pipeline = Console(), data.pipeline(learner)
    law, number = scheme_of(options["scheme"], options["bag_size"]), None if units is None else units.nunique()
    about = {"n_bags": options["n_bags"], "n_refits": 0, "size_is_given": options["bag_size"] is not None}
    run = {"jobs": options["jobs"], "limit": options["time_limit"], "seed": options["seed"], "units": number}
    load = settled(console, pipeline, X, y, law, **about, **run)
    model = BaggedRegressor(
        pipeline,
        scheme=load.scheme,
        n_bags=load.n_bags,
        n_jobs=options["jobs"],
        random_state=options["seed"],
    )
    with progress(console, "Fitting"):
        model.fit(X, y, groups=units)
    found = predict_interval(model, new.X, confidence_level=confidence, method=method)
    frame, others = found.to_frame(), new.groups
    if others is not None:
        frame.insert(0, group if group not in frame else f"{group} (group)", others.to_numpy())
    with whole(output) as partial:
        frame.to_csv(partial, index=False)
    say(console, found.explain())
    for note in (*data.as_read.lines(), *new.said, data.covered()):
        say(console, note)
    if units is not None:
        many = groups.noun(units).plural
        say(
            console,
            f"Trained on {groups.counted(units)}; the intervals are for rows of other {many}.",
        )
        if known := groups.seen_before(units, others):
            say(console, f"{known} The guarantee is not about these rows.")
    elif noticed := groups.suggestion(X):
        say(console, noticed)
    if new.y is not None:
        say(console, f"{found.coverage(new.y):.1%} of the known targets are inside.")
    say(console, f"{len(found):,} intervals are in {output}.")
