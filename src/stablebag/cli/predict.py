"""`stablebag predict`: a saved model at the rows of a table."""

from pathlib import Path
from typing import Any

import click
import numpy as np
from rich.console import Console

from stablebag._wording import number, percent
from stablebag._writing import refuse_unwritable, whole
from stablebag.cli.interval import METHODS, check_method, columns_of, say_intervals
from stablebag.cli.options import keep_option
from stablebag.cli.printing import open_console, print_warnings, say
from stablebag.cli.sets import columns_of as columns_of_sets
from stablebag.cli.sets import conclusion
from stablebag.models.fitted import fitted


@click.command()
@click.argument("model_file", metavar="MODEL", type=click.Path(path_type=Path))
@click.argument("table", type=click.Path(path_type=Path))
@click.option("--output", type=click.Path(dir_okay=False, path_type=Path), required=True,
              help="Where to write the predictions (CSV).")  # fmt: skip
@click.option("--interval", "confidence", type=float, help="For numbers: add intervals of this level, such as 0.9.")
@click.option("--method", type=click.Choice(METHODS), default="jackknife+", show_default=True,
              help="How intervals are made.")  # fmt: skip
@click.option("--locally-weighted", is_flag=True, help="Make intervals as wide as the bags differ at each row.")
@click.option("--sets", "with_sets", is_flag=True, help="For classes: add stable sets of labels.")
@click.option("--delta", type=float, default=0.05, show_default=True, help="For sets: the share of the training rows "
              "without which a set may have no label in common with this one.")  # fmt: skip
@keep_option
@click.option("--trust", multiple=True, metavar="TYPE", help="A type in the file that you trust; repeatable.")
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
    """Predict the rows of a table by a model that was saved with --save, without fitting anything.

    \b
    Example:
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
        raise TableError(f"Intervals are for numbers, and the model predicts the classes of {target!r}. Use --sets.")
    if task == "regression" and with_sets:
        raise TableError(f"Sets are of labels, and the model predicts the number {target!r}. Use --interval 0.9.")
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
    say(console, f"{len(new.frame):,} predictions are in {output}.")


def _numbers(
    console: Console, model: Any, new: Any, target: str, confidence: float | None, method: str, weighted: bool
) -> dict[str, Any]:
    from stablebag.deciding.intervals import predict_interval

    if confidence is None:
        prediction = model.predict(new.X)
        low, middle, high = np.quantile(prediction, [0, 0.5, 1])
        said = f"{number(low)} to {number(high)}, with a median of {number(middle)}"
        say(console, f"{target!r} is predicted as {said}.")
        if new.y is not None:
            error = number(np.abs(prediction - new.y).mean())
            say(console, f"The mean absolute error at the known targets is {error}.")
        return {"prediction": prediction}
    found = predict_interval(model, new.X, confidence_level=confidence, method=method, locally_weighted=weighted)
    say_intervals(console, found, fitted(model).y, weighted)
    if new.y is not None:
        say(console, f"{percent(found.coverage(new.y))} of the known targets are inside.")
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
    some = ", ".join(f"{names[k]} {counts[k]:,} times" for k in order)
    more = ", ..." if len(names) > len(order) else ""
    say(console, f"{target!r} is predicted as {some}{more}.")
    if new.y is not None:
        say(console, f"{percent((labels == new.y).mean())} of the known labels are predicted.")
    return results | {f"probability of {label}": probabilities[:, k] for k, label in enumerate(model.classes_)}


def _units(model: Any, group: str | None) -> Any:
    """The units of the training rows, as in the column that named them; None if there was no such column."""
    import pandas as pd

    return None if group is None else pd.Series(model.units_.names_of_rows, name=group)
