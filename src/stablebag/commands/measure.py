"""`stablebag measure`: a learner beside its bagged version on a table."""

from pathlib import Path
from typing import Any

import click

from stablebag.commands.options import save_option, table_options


@click.command()
@table_options
@click.option("--test", type=click.Path(path_type=Path), help="A table of held-out rows.")
@click.option("--test-size", type=float, default=0.2, show_default=True, help="The share to hold out without --test.")
@click.option("--points", type=click.IntRange(1), default=20, show_default=True, help="Test points to measure at.")
@click.option("--refits", type=click.IntRange(1), default=200, show_default=True,
              help="The number of rows, or units, without which the base learner is refitted.")  # fmt: skip
@click.option("--output", type=click.Path(dir_okay=False, path_type=Path), help="Where to write the report (HTML).")
@click.option(
    "--json", "json_path", type=click.Path(dir_okay=False, path_type=Path), help="Where to write the numbers."
)
@save_option
def measure(**options: Any) -> None:
    """Measure a learner beside its bagged version on a table: stability, guarantee, accuracy, influential rows.

    With --group, what is left out is not a row but all rows of a unit, such as the visits of a patient.

    Numbers, categories, texts, dates and missing values are read by a pipeline that is fitted inside each bag, so the
    guarantee covers it.

    \b
    Example:
      stablebag measure patients.csv --target outcome --model tree --output report.html
      stablebag measure visits.csv --target outcome --group patient_id --output report.html
    """
    from stablebag.commands import groups, tables
    from stablebag.commands.studying import StudyOrder, held_out

    table, target, group, test, size = (options[name] for name in ("table", "target", "group", "test", "test_size"))
    X, y, task, dropped = tables.split_target(tables.read_table(table), target, options["task"])
    notes = [f"{len(y) + dropped:,} rows of {table.name}; the target is {target!r} ({task})."]
    if dropped:
        notes.append(f"{dropped:,} rows without a target were left out.")
    units = others = None
    if group is not None:
        X, units = groups.split_group(X, group, target)
        notes.append(groups.sizes(units))
    if test is not None:
        X_test, y_test, others = tables.read_test(test, X, y, target, task, group)
    elif units is None:
        X, X_test, y, y_test = held_out(X, y, size, task, options["seed"])
    else:
        X, X_test, y, y_test, units, others = groups.held_out_units(X, y, units, size, task, options["seed"])
    notes.append(groups.trained(len(y), len(X_test), units, others))
    if known := groups.seen_before(units, others):
        notes.append(f"{known} So the held-out scores are better than at rows of new {groups.noun(units).plural}.")
    if units is None and (noticed := groups.suggestion(X)):
        notes.append(noticed)
    order = StudyOrder.from_options(options, title=f"Stability of predicting {target} from {table.name}")
    order.carry_out(X, y, X_test, y_test, task, notes, units)
