"""`stablebag sets`: sets of labels for the rows of a table."""

from pathlib import Path
from typing import Any

import click
import numpy as np
from rich.markup import escape
from rich.table import Table

from stablebag._wording import NUMBER_OF_ROW, percent, visible
from stablebag._writing import refuse_unwritable, whole
from stablebag.cli.options import DATA, FILE, OUTPUT, Command, keep_option, option, save_option, table_options
from stablebag.cli.printing import new_table, open_console, print_warnings, progress, say
from stablebag.tables.text import paths_of

_SHOWN = 5  # rows in the terminal
_CLASSES = 12
_METHODS = ("inflated-argmax", "jackknife+")


@click.command(cls=Command)
@table_options
@option("--test", type=click.Path(path_type=Path), metavar="FILE", group=DATA, required=True, help="Rows to predict.")
@option("--method", metavar="NAME", type=click.Choice(_METHODS), default="inflated-argmax", group=OUTPUT,
        default_text="inflated-argmax", help="Or jackknife+ (see above).")  # fmt: skip
@option("--delta", metavar="SHARE", type=float, group=OUTPUT, default_text="0.05",
        help="For inflated-argmax: rows that may differ.")  # fmt: skip
@option("--confidence", metavar="LEVEL", type=float, group=OUTPUT, default_text="0.9",
        help="For jackknife+: level of the sets.")  # fmt: skip
@option("--by-class/--overall", default=None, group=OUTPUT,
        help="For jackknife+: cover each class (default), or all.")  # fmt: skip
@keep_option
@option("--output", type=FILE, metavar="FILE", group=OUTPUT, help="Write sets to this CSV file.")
@save_option
def sets(
    test: Path,
    method: str,
    delta: float | None,
    confidence: float | None,
    by_class: bool | None,
    keep: tuple[str, ...],
    output: Path | None,
    save: Path | None,
    **options: Any,
) -> None:
    """Predict sets of labels for the rows of a table.

    A row gets one label where the model is clear, and several where it is not. There are two methods:

    \b
    inflated-argmax  Stable: leave out one training row, and with most rows the
                     new set still has a label in common with this one.
    jackknife+       Covers the true label, for each class (--by-class) or for
                     all rows together (--overall).

    With --group, both are about leaving out whole groups, such as patients. Models: tree, forest, boosting, logistic,
    knn, mlp, svm, or package.module:Class.

    \b
    Examples:
      stablebag sets patients.csv --target diagnosis --test new.csv
      stablebag sets patients.csv --target diagnosis --test new.csv \\
        --method jackknife+ --confidence 0.9 --output sets.csv
    """
    from stablebag.cli import training
    from stablebag.cli.saving import check_can_save, save_model
    from stablebag.cli.training import TwoTables, check_level, check_share, describe_random_bags
    from stablebag.deciding.label_sets import predict_set
    from stablebag.models.estimators import BaggedClassifier
    from stablebag.tables.leakage import copies_to_predict

    covers = method == "jackknife+"
    if covers and delta is not None:
        raise ValueError("--delta is for stable sets. Leave it out, or use --method inflated-argmax.")
    if not covers and confidence is not None:
        raise ValueError(
            "--confidence is for sets that cover the true label. Leave it out, or use --method jackknife+."
        )
    if not covers and by_class is not None:
        raise ValueError(
            "--by-class and --overall are for sets that cover the true label. Leave them out, or use --method "
            "jackknife+."
        )
    about: dict[str, Any]
    if covers:
        about = {"confidence_level": 0.9 if confidence is None else confidence, "by_class": by_class is not False}
        check_level(about["confidence_level"], "--confidence")
    else:
        about = {"delta": 0.05 if delta is None else delta}
        check_share(about["delta"], "--delta")
    refuse_unwritable(output, *paths_of(options["table"]), test)
    check_can_save(save, *paths_of(options["table"]), test)
    console = open_console()
    with progress("Reading"):
        tables = TwoTables.read(options, test, "classification")
    for warning in tables.table.as_read.warned:
        say(console, warning)
    new, columns = tables.new, tables.new.columns_to_write(keep)
    model = tables.model(BaggedClassifier, random_number=covers)
    with progress("Fitting"):
        model.fit(**tables.to_fit)
    with print_warnings(console, {"by_class=False": "--overall", "by_class=True": "--by-class"}):
        found = predict_set(model, new.X, method=method, **about)
    say(console, conclusion(found))
    say(console, f"{found.guarantee} {describe_random_bags(model)}".strip())
    if not covers and not (found.sizes == 1).any():
        say(console, "More training rows, more bags or a larger --delta may give smaller sets.")
    console.print(_table(found))
    known = new.y if new.y is not None and set(new.y) & set(tables.table.y) else None
    if found.training_coverage is not None or known is not None:
        console.print(_classes(found, known))
    if tables.table.groups is not None:
        say(console, f"Trained on {training.count_rows(tables.table.groups)}.")
        seen = training.describe_seen_groups(tables.table.groups, new.groups)
        if covers and seen:
            say(console, f"{seen} The guarantee is not about these rows.")
    elif tables.suggestion:
        say(console, tables.suggestion)
    if known is not None:
        one = f"{percent(found.correct_singletons(known))} of the sets have only the known label"
        say(console, f"{percent(found.coverage(known))} of the known labels are in their sets; {one}.")
        for noticed in copies_to_predict(tables.table.X, tables.table.y, new):
            say(console, noticed)
    for note in tables.notes:
        say(console, note)
    if output is not None:
        with whole(output) as partial:
            new.with_results(columns_of(found), columns, "set").to_csv(partial, index=False)
        say(console, f"Sets: {output}")
    if save is not None:
        say(console, save_model(save, model, tables.table.reading, options["table"]))


def conclusion(found: Any) -> str:
    """Count the rows that get one label, several or none, in a sentence."""
    one, none = int((found.sizes == 1).sum()), int((found.sizes == 0).sum())
    several = len(found) - one - none
    rest = [f"{several:,} get{'s' if several == 1 else ''} several"] * bool(several)
    if none:
        why = f"the model is too unsure to back any label, so treat {'it' if none == 1 else 'them'} as undecided"
        rest.append(f"{none:,} get{'s' if none == 1 else ''} none: {why}")
    number = "1 row" if len(found) == 1 else f"{len(found):,} rows"
    return "; ".join([f"{one:,} of {number} get{'s' if one == 1 else ''} one label", *rest]) + "."


def _table(found: Any) -> Table:
    """A table of some sets, several labels first, with the two highest probabilities."""
    more = f" ({_SHOWN} of {len(found):,}, several labels first)" if len(found) > _SHOWN else ""
    shown = np.argsort(found.sizes == 1, kind="stable")[:_SHOWN] if more else range(len(found))
    listed = found.to_list()
    table = new_table(f"Sets of labels{more}")
    table.add_column(NUMBER_OF_ROW, justify="right")
    table.add_column("labels")
    table.add_column("probabilities of the first two")
    for row in shown:
        labels = listed[row]
        first = np.argsort(-found.prediction[row], kind="stable")[:2]
        likely = ", ".join(f"{found.labels[k]} {found.prediction[row, k]:.3g}" for k in first)
        table.add_row(str(row), escape(visible(joined(labels))), escape(visible(likely)))
    return table


def _classes(found: Any, y: Any) -> Table:
    """A table of the classes, the rarest first: the share of sets that contain it, and the coverage of its rows."""
    labels, sizes = found.labels.tolist(), [0] * len(found.labels)
    columns = {"in sets": [percent(share) for share in found.members.mean(axis=0)]}
    if found.training_coverage is not None:
        sizes = found.training_rows.tolist()
        shares = zip(found.training_coverage, sizes, strict=True)
        columns["training rows covered (estimate)"] = [
            f"no estimate ({size:,})" if np.isnan(share) else f"{percent(share)} of {size:,}" for share, size in shares
        ]
    if y is not None:
        by_class = found.coverage_by_class(y)
        labels = [*labels, *(label for label in by_class if label not in labels)]  # not in the training table
        counts = [int((y == label).sum()) for label in labels]
        sizes = [*(sizes if any(sizes) else counts), *counts[len(sizes) :]]
        known = zip(labels, counts, strict=True)
        columns["new rows covered"] = [f"{percent(by_class[label])} of {n:,}" if n else "" for label, n in known]
    order = sorted(range(len(labels)), key=lambda k: sizes[k])
    more = f" (the {_CLASSES} rarest of {len(order):,})" if len(order) > _CLASSES else ""
    table = new_table(f"Classes{more}")
    table.add_column("class")
    for name in columns:
        table.add_column(name, justify="right")
    for k in order[:_CLASSES]:
        cells = [column[k] if k < len(column) else "" for column in columns.values()]
        table.add_row(escape(visible(str(labels[k]))), *cells)
    return table


def joined(labels: list[Any]) -> str:
    """Return the labels of a set as text."""
    return " | ".join(map(str, labels))


def columns_of(found: Any) -> dict[str, Any]:
    """Return the columns of results."""
    columns: dict[str, Any] = {"labels": [joined(labels) for labels in found.to_list()], "n_labels": found.sizes}
    return columns | {f"probability of {label}": found.prediction[:, k] for k, label in enumerate(found.labels)}
