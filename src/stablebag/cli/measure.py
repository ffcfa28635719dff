"""`stablebag measure`: a learner beside its bagged version on a table."""

import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from stablebag._writing import refuse_ending, refuse_unwritable
from stablebag.cli.options import number_or_auto, save_option, table_options
from stablebag.cli.printing import open_console, progress
from stablebag.tables.text import name_of, paths_of


@click.command()
@table_options
@click.option("--test", type=click.Path(path_type=Path), help="A table of held-out rows.")
@click.option("--test-size", type=float, default=0.2, show_default=True, help="The share to hold out without --test.")
@click.option("--time", metavar="COLUMN", help="Column that orders the rows in time, such as date: the latest rows are "
              "held out instead of random ones.")  # fmt: skip
@click.option(
    "--points",
    type=click.IntRange(1),
    default=20,
    show_default=True,
    help="Held-out rows for what is proved, for intervals and pictures.",
)
@click.option("--refits", default="auto", show_default=True, callback=number_or_auto(1),
              help="The number of rows, or groups, without which the base model is refitted; auto is 200, 100, 50 or "
              "20, by the time of the first fits.")  # fmt: skip
@click.option("--cache", type=click.Path(file_okay=False, path_type=Path), help="A folder of your own to keep fits in: "
              "the same command goes on from there if it was interrupted.")  # fmt: skip
@click.option("--matched", default="auto", show_default=True, callback=number_or_auto(0),
              help="The number of these rows, or units, without which the bagged model is refitted, too, with the same "
              "seed. Each takes as many fits as bags contain it; auto is 10, or more if that takes little time. With "
              "fewer than --refits, the change without all of them is estimated.")  # fmt: skip
@click.option("--metric", "metrics", multiple=True, help="A score by scikit-learn's name, such as r2 or roc_auc; "
              "repeatable. [default: those that fit the task]")  # fmt: skip
@click.option("--delta", type=click.FloatRange(0, 1), default=0.05, show_default=True,
              help="The share of rows, or units, that may move predictions further than is said.")  # fmt: skip
@click.option("--output", type=click.Path(dir_okay=False, path_type=Path), help="Where to write the report (HTML).")
@click.option(
    "--json", "json_path", type=click.Path(dir_okay=False, path_type=Path), help="Where to write the numbers."
)
@save_option
def measure(**options: Any) -> None:
    """Measure a learner beside its bagged version on a table: stability, guarantee, accuracy, influential rows.

    With --group, what is left out is not a row but all rows of a unit, such as the visits of a patient.

    Numbers, categories, texts, dates and missing values are read by a pipeline that is fitted inside each bag, so the
    guarantee covers it. What each column is, is decided once, from all rows; the guarantee covers that for every row
    whose absence would not change it, and rows whose absence would are named (docs/tables.md).

    \b
    Example:
      stablebag measure patients.csv --target outcome --model tree --output report.html
      stablebag measure visits.csv --target outcome --group patient_id --output report.html
      stablebag measure 'sales/*.parquet' --target price --max-memory 2GB --output report.html

    TABLE is a file, or Parquet files: a folder, a quoted pattern, or several. If they would take more than
    --max-memory, rows stay in the files: some are held out first, at most 10,000, columns are decided from these, and
    the others are read once for each portion of the bags (docs/large_data.md).
    """
    table, target, test, size, seed = (options[name] for name in ("table", "target", "test", "test_size", "seed"))
    refuse_ending(options["output"], "--output", ".html", ".htm")
    for path in (options["output"], options["json_path"], options["save"]):
        refuse_unwritable(path, *paths_of(table), test)
    with progress(open_console(), f"Reading {name_of(table)}"):
        from stablebag.cli import training
        from stablebag.cli.studying import StudyOrder, held_out, held_out_latest, refuse_time
        from stablebag.cli.telling import print_columns
        from stablebag.tables import leakage
        from stablebag.tables.roles import suggest_group
        from stablebag.tables.text import TableError, refuse_unknown

        order = StudyOrder.from_options(options)
        refuse_time(options, is_large=training.is_large(options))
        data = training.read_training_table(options)
    if options["time"] is not None:
        dates_first = sorted(data.as_read.columns, key=lambda column: column.kind != "date")
        refuse_unknown([column.name for column in dates_first], options["time"])
    X, y, task, groups, groups_test = data.X, data.y, data.task, data.groups, None
    warnings, time = list(data.as_read.warned), options["time"]
    notes = [f"{data.n_rows:,} rows of {name_of(table)}; the target is {target!r} ({task})."]
    notes[:0] = data.notes
    if data.n_without_target:
        words = (
            f"; if words such as None or NA are classes, add --kind {target}=category"
            if task == "classification"
            else ""
        )
        notes.append(f"{data.n_without_target:,} rows without a target were left out{words}.")
    notes += data.as_read.lines()
    if groups is not None:
        notes.append(training.describe_group_sizes(groups))
    if test is not None:
        new = data.read_new(test, needs_target=True)
        X_test, y_test, groups_test = new.X, new.y, new.groups
        notes += new.notes
    elif data.is_in_files:
        X_test, y_test, groups_test = data.X_test, data.y_test, data.groups_test
    elif time is not None:
        X, X_test, y, y_test, groups_test, note = held_out_latest(X, y, time, size, task)
        notes.append(note)
    elif groups is None:
        ordered = leakage.in_time(X, y, task)
        way = f"add --time {shlex.quote(ordered[0])}: it holds out the latest rows" if ordered else ""
        warnings += leakage.about_time(ordered, target, way)
        X, X_test, y, y_test = held_out(X, y, size, task, seed)
        if len(y) < 2:
            raise TableError("One row is left to train on, and two are needed. Give more rows, or --test.")
    else:
        X, X_test, y, y_test, groups, groups_test = training.hold_out_groups(X, y, groups, size, task, seed)
    notes.append(training.describe_split(len(y), len(X_test), groups, groups_test))
    if known := training.describe_seen_groups(groups, groups_test):
        warnings.append(f"{known} So the scores flatter predictions for new groups.")
    if groups is None and (suggestion := suggest_group(*([X_test] if data.is_in_files else [X, X_test]))):
        warnings.append(suggestion)
    if not data.is_in_files and y_test is not None:
        warnings += leakage.about_copies(X, y, X_test, y_test)
    notes.append(data.guarantee_scope(groups if groups is not None or data.is_in_files else X.index))
    order = replace(order, reading=data.reading, as_read=data.as_read)
    order.carry_out(X, y, X_test, y_test, task, notes, groups, groups_test=groups_test, warnings=warnings)
    print_columns(open_console(), data.as_read)
