"""`stablebag sets`: sets of labels for the rows of a table, from the bags."""

from pathlib import Path
from typing import Any

import click
import numpy as np
from rich.markup import escape
from rich.table import Table

from stablebag._wording import visible
from stablebag._writing import refuse_unwritable, whole
from stablebag.commands.options import keep_option, save_option, table_options
from stablebag.commands.parts import paths_of
from stablebag.commands.printing import open_console, progress, say

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
@keep_option("every column")
@click.option("--output", type=click.Path(dir_okay=False, path_type=Path), help="Where to write them (CSV).")
@save_option
def sets(
    test: Path,
    method: str,
    delta: float | None,
    confidence: float | None,
    keep: tuple[str, ...],
    output: Path | None,
    save: Path | None,
    **options: Any,
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
    from stablebag.commands import groups
    from stablebag.commands.checking import check_level, check_share, spoken_warnings
    from stablebag.commands.saving import Saving
    from stablebag.commands.two_tables import TwoTables, about_bags
    from stablebag.deciding.label_sets import predict_set
    from stablebag.learning.classifier import BaggedClassifier

    covers = method == "jackknife+"
    if covers and delta is not None:
        raise ValueError("--delta is for stable sets. Leave it out, or use --method inflated-argmax.")
    if not covers and confidence is not None:
        raise ValueError(
            "--confidence is for sets that cover the true label. Leave it out, or use --method jackknife+."
        )
    if covers:
        level = {"confidence_level": 0.9 if confidence is None else confidence}
        check_level(level["confidence_level"], "--confidence")
    else:
        level = {"delta": 0.05 if delta is None else delta}
        check_share(level["delta"], "--delta")
    for path in (output, save):
        refuse_unwritable(path, *paths_of(options["table"]), test)
    saving, console = Saving.order(save, options), open_console()
    with progress(console, "Reading"):
        data = TwoTables.read(options, test, "classification")
    new, kept = data.new, data.new.kept(keep, list(data.new.frame.columns))
    model = data.model(console, BaggedClassifier, random_number=covers)
    with progress(console, "Fitting"):
        model.fit(**data.to_fit)
    with spoken_warnings(console):
        found = predict_set(model, new.X, method=method, **level)
    say(console, conclusion(found))
    say(console, f"{found.guarantee} {about_bags(model)}".strip())
    if not covers and not (found.sizes == 1).any():
        say(console, "More training rows, more bags or a larger --delta give smaller sets.")
    console.print(_table(found))
    for note in data.notes:
        say(console, note)
    if data.groups is not None:
        say(console, f"Trained on {groups.counted(data.groups)}.")
        known = groups.seen_before(data.groups, new.groups)
        if covers and known:
            say(console, f"{known} The guarantee is not about these rows.")
    elif noticed := data.suggestion:
        say(console, noticed)
    if new.y is not None and set(new.y) & set(data.y):
        one = f"{found.correct_singletons(new.y):.1%} have it as the only one"
        say(console, f"{found.coverage(new.y):.1%} of the known labels are in their sets; {one}.")
    if output is not None:
        with whole(output) as partial:
            new.beside(columns_of(found), kept, "set").to_csv(partial, index=False)
        say(console, f"{len(found):,} sets are in {output}.")
    if saving is not None:
        say(console, saving.carry_out(model, data.data.reading))


def conclusion(found: Any) -> str:
    """Say in a sentence how many rows get one label, several or none."""
    one, none = int((found.sizes == 1).sum()), int((found.sizes == 0).sum())
    several = len(found) - one - none
    rest = [f"{several:,} get{'s' if several == 1 else ''} several"] * bool(several)
    if none:
        why = "because every label is stranger there than most training rows were"
        rest.append(f"{none:,} get{'s' if none == 1 else ''} none, {why}")
    number = "1 row" if len(found) == 1 else f"{len(found):,} rows"
    return "; ".join([f"Of {number}, {one:,} get{'s' if one == 1 else ''} one label", *rest]) + "."


def _table(found: Any) -> Table:
    """Some sets, those of several labels first, with the probabilities of the two labels that lead."""
    more = f", several labels first; {len(found) - _SHOWN:,} more rows are not shown" if len(found) > _SHOWN else ""
    shown = np.argsort(found.sizes == 1, kind="stable")[:_SHOWN] if more else range(len(found))
    listed = found.to_list()
    table = Table(title=f"Sets of labels{more}")
    table.add_column("row", justify="right")
    table.add_column("labels")
    table.add_column("probabilities of the first two")
    for row in shown:
        labels = listed[row]
        first = np.argsort(-found.prediction[row], kind="stable")[:2]
        likely = ", ".join(f"{found.labels[k]} {found.prediction[row, k]:.3g}" for k in first)
        table.add_row(str(row), escape(visible(joined(labels))), escape(visible(likely)))
    return table


def joined(labels: list[Any]) -> str:
    """Return the labels of a set as one text."""
    return " | ".join(map(str, labels))


def columns_of(found: Any) -> dict[str, Any]:
    """Return the columns that are written of sets."""
    columns: dict[str, Any] = {"labels": [joined(labels) for labels in found.to_list()], "n_labels": found.sizes}
    return columns | {f"probability of {label}": found.prediction[:, k] for k, label in enumerate(found.labels)}
