"""`stablebag sets`: sets of labels for the rows of a table, from the bags."""

from pathlib import Path
from typing import Any

import click
import numpy as np
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from stablebag._writing import refuse_unwritable, whole
from stablebag.commands.options import scheme_of, table_options
from stablebag.commands.printing import progress, say

_SHOWN = 5  # rows in the terminal
_METHODS = ("inflated-argmax", "margin", "jackknife+")


@click.command()
@table_options
@click.option("--test", type=click.Path(path_type=Path), required=True, help="The rows to predict.")
@click.option("--method", type=click.Choice(_METHODS), default="inflated-argmax", show_default=True,
              help="How sets are made: the first two are stable, the last covers the true label.")  # fmt: skip
@click.option("--delta", type=float, help="For stable sets: the share of the training rows without which a set may "
              "have no label in common with this one.  [default: 0.05]")  # fmt: skip
@click.option("--confidence", type=float, help="For jackknife+: the level of the sets.  [default: 0.9]")
@click.option("--output", type=click.Path(dir_okay=False, path_type=Path), help="Where to write them (CSV).")
def sets(
    test: Path, method: str, delta: float | None, confidence: float | None, output: Path | None, **options: Any
) -> None:
    """Predict sets of labels for the rows of a table: one label where it leads clearly, several where it does not.

    Without most single training rows, the set still has a label in common with this one, and that is proved. With
    --group, what is left out is not a row but all rows of a unit, such as the visits of a patient.

    \b
    Example:
      stablebag sets patients.csv --target diagnosis --test new.csv --output sets.csv
      stablebag sets visits.csv --target diagnosis --group patient_id --test new.csv
      stablebag sets patients.csv --target diagnosis --test new.csv --method jackknife+ --confidence 0.9
    """
    from stablebag.commands import groups, tables
    from stablebag.commands.budget import settled
    from stablebag.deciding.label_sets import predict_set
    from stablebag.learning.classifier import BaggedClassifier

    target, covers = options["target"], method == "jackknife+"
    if covers and delta is not None:
        raise ValueError("--delta is for stable sets. Leave it out, or use --method inflated-argmax.")
    if not covers and confidence is not None:
        raise ValueError(
            "--confidence is for sets that cover the true label. Leave it out, or use --method jackknife+."
        )
    refuse_unwritable(output)
    data = tables.TrainingTable.from_options(options)
    X, y, task, units = data.X, data.y, data.task, data.groups
    if task != "classification":
        raise tables.TableError(
            f"Sets are of labels, but the target {target!r} has numbers. Use stablebag interval, or --task "
            "classification if they are classes."
        )
    new = data.read_new(test)
    learner = tables.make_learner(options["model"], task, tables.parse_parameters(options["parameters"]))
    console, pipeline = Console(), data.pipeline(learner)
    law, number = scheme_of(options["scheme"], options["bag_size"]), None if units is None else units.nunique()
    about = {"n_bags": options["n_bags"], "n_refits": 0, "size_is_given": options["bag_size"] is not None}
    run = {"jobs": options["jobs"], "limit": options["time_limit"], "seed": options["seed"], "units": number}
    load = settled(console, pipeline, X, y, law, **about, **run)
    model = BaggedClassifier(
        pipeline,
        scheme=load.scheme,
        n_bags=load.n_bags,
        n_jobs=options["jobs"],
        random_state=options["seed"],
    )
    with progress(console, "Fitting"):
        model.fit(X, y, groups=units)
    level = {"confidence_level": 0.9 if confidence is None else confidence}
    found = predict_set(
        model, new.X, method=method, **(level if covers else {"delta": 0.05 if delta is None else delta})
    )
    say(console, _conclusion(found))
    say(console, found.guarantee)
    if not covers and not (found.sizes == 1).any():
        say(console, "More training rows, more bags or a larger --delta give smaller sets.")
    console.print(_table(found))
    for note in (*data.as_read.lines(), *new.said, data.covered()):
        say(console, note)
    if units is not None:
        say(console, f"Trained on {groups.counted(units)}.")
        known = groups.seen_before(units, new.groups)
        if covers and known:
            say(console, f"{known} The guarantee is not about these rows.")
    elif noticed := groups.suggestion(X):
        say(console, noticed)
    if new.y is not None and set(new.y) & set(y):
        one = f"{found.correct_singletons(new.y):.1%} have it as the only one"
        say(console, f"{found.coverage(new.y):.1%} of the known labels are in their sets; {one}.")
    if output is not None:
        with whole(output) as partial:
            _with_sets(new.frame, found).to_csv(partial, index=False)
        say(console, f"{len(found):,} sets are in {output}.")


def _conclusion(found: Any) -> str:
    """How many rows get one label, several or none, in a sentence."""
    one, none = int((found.sizes == 1).sum()), int((found.sizes == 0).sum())
    several = len(found) - one - none
    rest = [f"{several:,} get{'s' if several == 1 else ''} several"] * bool(several)
    if none:
        why = "because every label is stranger there than most training rows were"
        rest.append(f"{none:,} get{'s' if none == 1 else ''} none, {why}")
    number = "1 row" if len(found) == 1 else f"{len(found):,} rows"
    return "; ".join([f"Of {number}, {one:,} get{'s' if one == 1 else ''} one label", *rest]) + "."


def _table(found: Any) -> Table:
    """The first sets, with the probabilities of the two labels that lead."""
    more = f"; {len(found) - _SHOWN:,} more rows are not shown" if len(found) > _SHOWN else ""
    table = Table(title=f"Sets of labels{more}")
    table.add_column("row", justify="right")
    table.add_column("labels")
    table.add_column("probabilities of the first two")
    for row, labels in enumerate(found.to_list()[:_SHOWN]):
        first = np.argsort(-found.prediction[row], kind="stable")[:2]
        likely = ", ".join(f"{found.labels[k]} {found.prediction[row, k]:.3g}" for k in first)
        table.add_row(str(row), escape(_joined(labels)), escape(likely))
    return table


def _joined(labels: list[Any]) -> str:
    return " | ".join(map(str, labels))


def _with_sets(other: Any, found: Any) -> Any:
    """The table of new rows as it was read, with their sets and the probabilities behind its own columns."""
    new: dict[str, Any] = {"labels": [_joined(labels) for labels in found.to_list()], "n_labels": found.sizes}
    new |= {f"probability of {label}": found.prediction[:, k] for k, label in enumerate(found.labels)}
    taken = set(other.columns)
    return other.assign(**{f"{name} (set)" if name in taken else name: values for name, values in new.items()})
