"""`stablebag predict`: predictions of a saved model for the rows of a table."""

from pathlib import Path
from typing import Any

import click
import numpy as np
from rich.console import Console

from stablebag._wording import number, percent
from stablebag._writing import refuse_unwritable, whole
from stablebag.cli.interval import METHODS, check_method, columns_of, say_intervals
from stablebag.cli.options import FILE, OUTPUT, Command, keep_option, option
from stablebag.cli.printing import open_console, print_warnings, say
from stablebag.cli.sets import columns_of as columns_of_sets
from stablebag.cli.sets import conclusion
from stablebag.models.fitted import fitted


@click.command(cls=Command)
@click.argument("model_file", metavar="MODEL", type=click.Path(path_type=Path))
@click.argument("table", type=click.Path(path_type=Path))
@option("--output", type=FILE, metavar="FILE", group=OUTPUT, required=True, help="Write predictions to this CSV file.")
@option("--interval", "confidence", metavar="LEVEL", type=float, group=OUTPUT,
        help="For numbers: add intervals, such as 0.9.")  # fmt: skip
@option("--method", metavar="NAME", type=click.Choice(METHODS), default="jackknife+", group=OUTPUT,
        default_text="jackknife+", help="How intervals are made, as listed above.")  # fmt: skip
@option("--locally-weighted", is_flag=True, group=OUTPUT, help="Wider intervals where the bags differ more.")
@option("--sets", "with_sets", is_flag=True, group=OUTPUT, help="For classes: add stable sets of labels.")
@option("--delta", metavar="SHARE", type=float, default=0.05, group=OUTPUT, default_text="0.05",
        help="For --sets: share of rows that may differ.")  # fmt: skip
@keep_option
@option("--trust", multiple=True, metavar="TYPE", help="Type in the file to trust. Can be repeated.")
def predict(
    model_file: Path,
    table: Path,
    output: Path,
    confidence: float | None,
    method: str,
    locally_weighted: bool,
    with_sets: bool,
    delta: float,
    keep: tuple[str, ...],
    trust: tuple[str, ...],
) -> None:
    """Predict the rows of a table with a saved model.

    MODEL is a file that measure, interval or sets wrote with --save. Nothing is fitted.
    Methods of intervals: jackknife+, jackknife, jackknife-minmax, stable-jackknife.

    \b
    Examples:
      stablebag measure patients.csv --target outcome --save model.skops
      stablebag predict model.skops new.csv --output p.csv
      stablebag predict model.skops new.csv --interval 0.9 --output p.csv
    """
    from stablebag.cli import training
    from stablebag.cli.saving import SavedModel
    from stablebag.cli.training import check_level, check_share
    from stablebag.tables.leakage import copies_to_predict
    from stablebag.tables.text import TableError

    refuse_unwritable(output, model_file, table)
    if confidence is not None:
        check_level(confidence, "--interval")
    check_share(delta, "--delta")
    saved = SavedModel.load(model_file, trust)
    model, target, task, group = saved.model, saved.reading.target, saved.reading.task, saved.reading.group
    if task == "classification" and (confidence is not None or locally_weighted):
        raise TableError(f"Intervals are for numbers, but the model predicts the classes of {target!r}. Use --sets.")
    if task == "regression" and with_sets:
        raise TableError(
            f"Sets of labels are for classes, but the model predicts the number {target!r}. Use --interval 0.9."
        )
    if locally_weighted and confidence is None:
        raise TableError("--locally-weighted is for intervals. Add --interval 0.9, or leave it out.")
    new = saved.reading.read_new(table)
    columns, console = new.columns_to_write(keep), open_console()
    units = _units(model, group)
    if confidence is not None:
        check_method(method, locally_weighted, confidence, units, len(fitted(model).y))
    results: dict[str, Any]
    with print_warnings(console):
        if task == "regression":
            results = _numbers(console, model, new, target, confidence, method, locally_weighted)
        else:
            results = _classes(console, model, new, target, delta if with_sets else None)
    for noticed in copies_to_predict(fitted(model).X, fitted(model).y, new):
        say(console, noticed)
    if confidence is not None and (known := training.describe_seen_groups(units, new.groups)):
        say(console, f"{known} The guarantee is not about these rows.")
    if saved.note:
        say(console, saved.note)
    for note in new.notes:
        say(console, note)
    with whole(output) as partial:
        new.with_results(results, columns, "predicted").to_csv(partial, index=False)
    say(console, f"Predictions: {output}")


def _numbers(
    console: Console, model: Any, new: Any, target: str, confidence: float | None, method: str, weighted: bool
) -> dict[str, Any]:
    from stablebag.deciding.intervals import predict_interval

    if confidence is None:
        prediction = model.predict(new.X)
        low, middle, high = np.quantile(prediction, [0, 0.5, 1])
        say(console, f"Predictions of {target!r}: {number(low)} to {number(high)}, median {number(middle)}.")
        if new.y is not None:
            error = number(np.abs(prediction - new.y).mean())
            say(console, f"Mean absolute error at the known targets: {error}.")
        return {"prediction": prediction}
    found = predict_interval(model, new.X, confidence_level=confidence, method=method, locally_weighted=weighted)
    say_intervals(console, found, fitted(model).y, weighted)
    if new.y is not None:
        say(console, f"{percent(found.coverage(new.y))} of the known targets are inside their intervals.")
    return columns_of(found)


def _classes(console: Console, model: Any, new: Any, target: str, delta: float | None) -> dict[str, Any]:
    from stablebag.deciding.label_sets import predict_set

    probabilities = model.predict_proba(new.X)
    labels = model.classes_[probabilities.argmax(axis=1)]
    results: dict[str, Any] = {"prediction": labels}
    names, counts = np.unique(labels, return_counts=True)
    if delta is not None:
        found = predict_set(model, new.X, delta=delta)
        say(console, conclusion(found))
        say(console, found.guarantee)
        results |= columns_of_sets(found)
    order = np.argsort(-counts, kind="stable")[:5]
    some = ", ".join(f"{names[k]} ({counts[k]:,} rows)" for k in order)
    more = ", ..." if len(names) > len(order) else ""
    say(console, f"Predictions of {target!r}: {some}{more}.")
    if new.y is not None:
        say(console, f"{percent((labels == new.y).mean())} of the known labels are predicted correctly.")
    return results | {f"probability of {label}": probabilities[:, k] for k, label in enumerate(model.classes_)}


def _units(model: Any, group: str | None) -> Any:
    """The groups of the training rows, as in their column; None without groups."""
    import pandas as pd

    return None if group is None else pd.Series(model.units_.names_of_rows, name=group)
