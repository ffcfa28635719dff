"""`stablebag measure`: a model and its bagged version, measured on a table."""

import json
import shlex
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click
import numpy as np
import pandas as pd
from sklearn.metrics import get_scorer_names
from sklearn.model_selection import train_test_split

from stablebag._wording import GROUPS, ROWS
from stablebag._writing import refuse_ending, refuse_unwritable, write_text
from stablebag.cli import training
from stablebag.cli.budget import Workload, room_named, settled
from stablebag.cli.options import (
    DATA,
    FILE,
    OUTPUT,
    Command,
    number_or_auto,
    option,
    read_share,
    save_option,
    scheme_of,
    table_options,
)
from stablebag.cli.printing import (
    open_console,
    print_columns,
    print_study,
    print_summary,
    print_warnings,
    progress,
    say,
)
from stablebag.cli.requirements import FAILED, Vocabulary, require_option, say_outcomes
from stablebag.cli.saving import check_can_save, save_model
from stablebag.cli.training import make_learner, parse_parameters
from stablebag.models.caching import keep_fits
from stablebag.models.estimators import BaggedClassifier, BaggedRegressor
from stablebag.models.rows import RowSource
from stablebag.showing.facts import KNOWN, known_score
from stablebag.showing.report.page import Colophon
from stablebag.showing.scores import (
    CLASSIFICATION,
    IMBALANCED,
    REGRESSION,
    SHORT_NAMES,
    SPANS,
    checked_metric,
    score_of_metric,
)
from stablebag.showing.study import study
from stablebag.showing.verdict import CHECKS, COPIES, LEAKS, NO_CHECKS, REPEATED, TIME, Checks, Finding
from stablebag.tables import leakage
from stablebag.tables.columns import Columns
from stablebag.tables.text import TableError, check_column_name, name_of, paths_of
from stablebag.tables.training import Reading

_SPANS = (6, 20)  # fewest and most spans of time to compare accuracy over; one for each 100 held-out rows


@click.command(cls=Command)
@table_options
@option("--test", type=click.Path(path_type=Path), metavar="FILE", group=DATA, help="Table of held-out rows.")
@option("--test-size", type=float, default=0.2, metavar="SHARE", group=DATA, default_text="0.2",
        help="Share of rows to hold out, without --test.")  # fmt: skip
@option("--time", metavar="COLUMN", group=DATA, help="Hold out the latest rows by this column.")
@option("--output", type=FILE, metavar="FILE", group=OUTPUT, help="Write the report, such as report.html.")
@option("--json", "json_path", type=FILE, metavar="FILE", group=OUTPUT, help="Write all numbers as JSON.")
@save_option
@option("--metric", "metrics", metavar="NAME", group=OUTPUT, multiple=True, default_text="by task",
        help="Score, such as r2. Can be repeated.")  # fmt: skip
@require_option(lambda: _words(), "flips<=1%")
@option("--verbose", is_flag=True, group=OUTPUT, help="Print every number, reason and column.")
@option("--refits", metavar="N", default="auto", default_text="auto", callback=number_or_auto(1),
        help="Refits of the base model.")  # fmt: skip
@option("--matched", metavar="N", default="auto", default_text="auto", callback=number_or_auto(0),
        help="Refits of the bagged model.")  # fmt: skip
@option("--points", metavar="N", type=click.IntRange(1), default=20, default_text="20",
        help="Held-out rows for guarantees and charts.")  # fmt: skip
@option("--delta", metavar="SHARE", type=float, default=0.05, default_text="0.05", callback=read_share,
        help="Share of rows that may exceed a guarantee.")  # fmt: skip
@option("--cache", type=click.Path(file_okay=False, path_type=Path), metavar="FOLDER",
        help="Keep fits here, to resume after Ctrl-C.")  # fmt: skip
@click.pass_context
def measure(ctx: click.Context, **options: Any) -> None:
    """Measure on a table whether a model predicts and is stable.

    Fits a model and its bagged version, leaves out single rows, and prints four lines that say what to do, with the
    numbers behind them. With --group, it leaves out whole groups, such as all visits of a patient.

    TABLE is a CSV, TSV, Excel, Parquet or Feather file, or a folder or quoted pattern of Parquet files.
    Models: tree, forest, boosting, logistic, ridge, knn, mlp, svm, or package.module:Class.

    \b
    Examples:
      stablebag measure patients.csv --target outcome --output report.html
      stablebag measure visits.csv --target outcome --group patient_id
      stablebag measure 'sales/*.parquet' --target price --max-memory 2GB
    """
    if not measure_table(options, "stablebag " + shlex.join(sys.argv[1:])):
        ctx.exit(FAILED)


def _words() -> Vocabulary:
    """What can be required: the facts of a study, and all scores."""
    names = {score_of_metric(metric): metric for metric in get_scorer_names()}
    scores = {score: known_score(metric) for score, metric in names.items()}
    usual = [score_of_metric(metric) for metric in (*REGRESSION, *CLASSIFICATION, *IMBALANCED)]
    others = {metric: score for score, metric in names.items()}
    others |= {short: score_of_metric(metric) for short, metric in SHORT_NAMES.items()}
    note = (
        "After a point comes another number of the same fact: 'typical change.base<=2' is about the base model. Scores "
        "that are not in this list need --metric. "
        "Changes have the unit of the prediction; those of classes are distances between vectors of probabilities. "
        "With --group, facts are about leaving out a group."
    )
    return Vocabulary("flips<=1%", {**KNOWN, **{score: scores[score] for score in usual}}, scores, others, note)


def _check_scores(options: Mapping[str, Any]) -> None:
    """Raise an error if a required score is not among those that are measured."""
    names = {score_of_metric(metric): metric for metric in get_scorer_names()}
    measured = {score_of_metric(metric) for metric in options["metrics"] or (*REGRESSION, *CLASSIFICATION, *IMBALANCED)}
    for required in options["requirements"]:
        if required.name in names and required.name not in measured:
            raise TableError(f"--require {required.text!r} needs a score that is not measured. Add --metric "
                             f"{names[required.name]}.")  # fmt: skip


def measure_table(options: Mapping[str, Any], command: str) -> bool:
    """Run `stablebag measure` with these options; the report quotes the command. Return whether requirements hold."""
    table, test = options["table"], options["test"]
    refuse_ending(options["output"], "--output", ".html", ".htm")
    for path in (options["output"], options["json_path"]):
        refuse_unwritable(path, *paths_of(table), test)
    check_can_save(options["save"], *paths_of(table), test)
    for metric in options["metrics"]:
        checked_metric(metric)
    _check_scores(options)
    scheme_of(options["scheme"], options["bag_size"])  # raises an error for a wrong size
    rows = _read(options)
    for metric in options["metrics"]:
        checked_metric(metric, rows.task)
    return run_study(rows, options, command)


@dataclass(frozen=True)
class StudyRows:
    """Training rows and held-out rows, with sentences about them.

    Attributes
    ----------
    X : DataFrame, array or RowSource
        The training rows; a source has its targets and groups.
    y : ndarray
        Their targets.
    X_test : DataFrame or array
        The held-out rows.
    y_test : ndarray or None
        Their targets.
    task : {"regression", "classification"}
        The kind of task.
    groups : Series or None, default=None
        The group of each training row.
    groups_test : Series or None, default=None
        The group of each held-out row.
    notes : tuple of str, default=()
        Sentences about the data, below the numbers.
    remarks : tuple of str, default=()
        What was unusual when the table was read.
    checks : Checks, default=no checks
        The checks of the data and their findings.
    reading : Reading or None, default=None
        How the table was read; None infers the columns from the training rows.
    as_read : DataAsRead or None, default=None
        The same for people.
    """

    X: Any
    y: Any
    X_test: Any
    y_test: Any
    task: str
    groups: Any = None
    groups_test: Any = None
    notes: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    checks: Checks = NO_CHECKS
    reading: Reading | None = None
    as_read: Any = None

    @property
    def warnings(self) -> tuple[str, ...]:
        """The findings of the checks in full sentences."""
        return tuple(sentence for finding in self.checks.found for sentence in finding.details)

    @property
    def row_numbers(self) -> str:
        """A sentence that says which row has number 0; "" if rows have names."""
        return "Row 0 is the first row of the data." if self.as_read is None else self.as_read.row_numbers


def run_study(rows: StudyRows, options: Mapping[str, Any], command: str) -> bool:
    """Study rows with the options of `measure`, print the facts, and write the requested files.

    Returns whether all requirements hold.
    """
    for name in ("output", "json_path"):
        refuse_unwritable(options[name])
    console, in_files = open_console(), isinstance(rows.X, RowSource)
    learner = make_learner(options["model"], rows.task, parse_parameters(options["parameters"]))
    read_as = Columns.of(rows.X) if rows.reading is None else rows.reading.columns
    pipeline = read_as.pipeline(learner)
    load = _workload(pipeline, rows, options)
    model = BaggedClassifier if rows.task == "classification" else BaggedRegressor
    with print_warnings(console), _kept(options["cache"]), room_named(), progress("Fitting", load.share):
        result = study(
            model(
                pipeline,
                scheme=load.scheme,
                n_bags=load.n_bags,
                n_jobs=options["jobs"],
                random_state=options["seed"],
            ),
            rows.X,
            None if in_files else rows.y,
            rows.X_test,
            rows.y_test,
            groups=None if in_files else rows.groups,
            groups_test=rows.groups_test,
            n_points=options["points"],
            n_refits=max(1, load.n_refits),
            n_matched=load.n_matched,
            metrics=options["metrics"],
            delta=options["delta"],
        )
    result = replace(result, checks=rows.checks)
    facts = result.facts()
    outcomes = [
        required.check(facts, rows.task, result.noun, result.n_samples) for required in options.get("requirements", ())
    ]
    print_study(
        console,
        facts,
        data=rows.notes,
        remarks=rows.remarks,
        warnings=rows.warnings,
        rows=rows.row_numbers,
        verbose=options["verbose"],
    )
    if rows.as_read is not None and options["verbose"]:
        console.print()
        print_columns(console, rows.as_read)
    console.print()
    command = " ".join([command, *load.chosen])
    colophon = Colophon.of(result, data=name_of(options["table"]), target=options["target"], command=command)
    if (path := options["json_path"]) is not None:
        read = {} if rows.as_read is None else {"data": rows.as_read.to_dict()}
        written = {"warnings": list(rows.warnings), **facts.to_dict(), "task": rows.task, "delta": options["delta"],
                   "requirements": [outcome.to_dict() for outcome in outcomes]}  # fmt: skip
        written |= {**colophon.to_dict(), **read, "row_numbers": rows.row_numbers}
        write_text(path, json.dumps(written, indent=1) + "\n")
        say(console, f"Numbers: {path}")
    if (path := options["output"]) is not None:
        from stablebag.showing.report.page import write

        required = tuple(outcome.sentence for outcome in sorted(outcomes, key=lambda each: each.passed))
        with progress(f"Writing {path.name}"):
            write(path, result, colophon=colophon, data=rows.as_read, rows=rows.X, notes=(*rows.notes, *rows.remarks),
                  warnings=rows.warnings, requirements=required)  # fmt: skip
        say(console, f"Report: {path}")
    if (path := options["save"]) is not None and rows.reading is not None:
        with progress(f"Saving the model to {path.name}"):
            saved = save_model(path, result.model, rows.reading, options["table"])
        say(console, saved)
    if not options["verbose"]:
        say(console, "More: --verbose prints every number, reason and column.")
    console.print()
    print_summary(console, facts)
    if outcomes:
        console.print()
    return say_outcomes(console, outcomes)


def _workload(pipeline: Any, rows: StudyRows, options: Mapping[str, Any]) -> Workload:
    """The numbers of fits, given or chosen."""
    groups = rows.groups
    units = {} if groups is None else {"units": groups.nunique(), "noun": GROUPS}
    return settled(
        pipeline,
        rows.X,
        rows.y,
        scheme_of(options["scheme"], options["bag_size"]),
        n_bags=options["n_bags"],
        n_refits=0 if isinstance(rows.X, RowSource) else options["refits"],
        n_matched=options["matched"],
        size_is_given=options["bag_size"] is not None,
        jobs=options["jobs"],
        limit=options["time_limit"],
        seed=options["seed"],
        **units,
    )


@contextmanager
def _kept(cache: Path | None) -> Iterator[None]:
    """Keep fits in the cache, if there is one; an interrupt names it."""
    if cache is None:
        yield
        return
    try:
        with keep_fits(cache):
            yield
    except KeyboardInterrupt as interrupt:
        where = f"Finished fits are kept in {cache}; the same command continues from there."
        raise type(interrupt)(where) from None


# -------------------------------------------------------------------------------------------------------- rows held out


def _read(options: Mapping[str, Any]) -> StudyRows:
    """Read the table, hold out rows, and check both."""
    table, target, test, size, seed = (options[name] for name in ("table", "target", "test", "test_size", "seed"))
    with progress(f"Reading {name_of(table)}"):
        _check_time(options, is_large=training.is_large(options))
        data = training.read_training_table(options)
    if options["time"] is not None:
        dates_first = sorted(data.as_read.columns, key=lambda column: column.kind != "date")
        check_column_name([column.name for column in dates_first], options["time"])
    X, y, task, groups, groups_test = data.X, data.y, data.task, data.groups, None
    found, time = list(data.findings), options["time"]
    made = {REPEATED} if groups is not None else set()
    of_leaks = (data.y_test, task, data.groups_test) if data.is_in_files else (y, task, groups)
    if leakage.may_look_for_leaks(*of_leaks):
        made.add(LEAKS)
    notes = [f"{name_of(table)}: {data.n_rows:,} rows, target {target!r} ({task})."]
    notes[:0] = data.notes
    if data.n_without_target:
        words = (
            f"; if words such as None or NA are classes, add --kind {target}=category"
            if task == "classification"
            else ""
        )
        notes.append(f"{data.n_without_target:,} rows without a target were left out{words}.")
    notes.append(data.as_read.conclusion())
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
        made.add(TIME)
    elif groups is None:
        found += leakage.time_findings(leakage.time_order(X, y, task), target)
        made.add(TIME)
        X, X_test, y, y_test = held_out(X, y, size, task, seed)
        if len(y) < 2:
            raise TableError("Only one row is left to train on, but two are needed. Use more rows, or --test.")
    else:
        X, X_test, y, y_test, groups, groups_test = training.hold_out_groups(X, y, groups, size, task, seed)
    notes.append(training.describe_split(len(y), len(X_test), groups, groups_test))
    if known := training.describe_seen_groups(groups, groups_test):
        text = "Some held-out rows belong to groups that are also in the training rows."
        details = (f"{known} So the scores flatter predictions for new groups.",)
        found.append(Finding(REPEATED, text, "If you predict for new groups, hold out rows of other groups.", details))
    if groups is None:
        found += leakage.group_findings(*([X_test] if data.is_in_files else [X, X_test]))
        made.add(REPEATED)
    if not data.is_in_files and y_test is not None:
        found += leakage.copy_findings(X, y, X_test, y_test)
        made.add(COPIES)
    scope = data.guarantee_scope(groups if groups is not None or data.is_in_files else X.index)
    remarks = [*data.remarks, *([scope] if data.decisive else [])]
    notes += [] if data.decisive else [scope]
    found.sort(key=lambda finding: CHECKS.index(finding.check) if finding.check in CHECKS else len(CHECKS))
    checks = Checks(tuple(name for name in CHECKS if name in made), tuple(found))
    return StudyRows(
        X,
        y,
        X_test,
        y_test,
        task,
        groups,
        groups_test,
        tuple(notes),
        tuple(remarks),
        checks,
        data.reading,
        data.as_read,
    )


def held_out(X: Any, y: Any, test_size: float, task: str, seed: int) -> tuple[Any, Any, Any, Any]:
    """Hold out some rows, stratified by class if possible; return X, X_test, y, y_test."""
    _check_share(test_size)
    counts = np.unique(y, return_counts=True)[1]
    by_class = y if task == "classification" and counts.min() >= 2 and len(counts) <= test_size * len(y) else None
    X, X_test, y, y_test = train_test_split(X, y, test_size=test_size, random_state=seed, stratify=by_class)
    if task == "classification" and len(y) > 1:
        _check_classes(y, y_test)
    return X, X_test, y, y_test


def _check_classes(y: np.ndarray, y_test: np.ndarray) -> None:
    """Raise an error if all training rows have one class, because all rows of the others are held out."""
    first, others = str(y[0]), sorted(set(map(str, y_test)) - set(map(str, y)))
    if not others or (y != y[0]).any():
        return
    n = int((y_test.astype(str) == others[0]).sum())
    rare = f"class {others[0]!r} has only {ROWS.count(n)}, which {'is' if n == 1 else 'are'} held out"
    if len(others) > 1:
        rare = f"the other {len(others):,} classes have so few rows that all of them are held out"
    numbers = all(name.lstrip("-").replace(".", "", 1).isdigit() for name in (first, *others))
    way = " If the target is a number, use --task regression." if numbers else ""
    raise TableError(
        f"All rows to train on have class {first!r}: {rare}. Gather more rows of class {others[0]!r}, or pass "
        f"held-out rows with --test.{way}"
    )


def held_out_latest(X: Any, y: Any, time: str, test_size: float, task: str) -> tuple[Any, ...]:
    """Hold out the latest rows by a column of times; rows of the same time stay together.

    Returns X, X_test, y, y_test, the span of time of each held-out row, because rows next to each other in time are not
    independent, and a sentence.
    """
    _check_share(test_size)
    column = X.get(time)
    if column is None or column.dtype.kind not in "iufM":
        raise TableError(f"--time {time} is not a column of dates or numbers that the table is learned from.")
    if missing := int(column.isna().sum()):
        raise TableError(f"The time {time!r} is missing in {missing:,} rows. Fill it in, or leave these rows out.")
    ordered = np.sort(column.to_numpy())
    first = ordered[len(ordered) - max(1, round(test_size * len(ordered)))]
    late = column.to_numpy() >= first
    if (~late).sum() < 2 or (task == "classification" and len(np.unique(y[~late])) < 2):
        raise TableError(
            f"Too few rows, or one class only, are before the latest {test_size:.0%} by {time!r}. Take a smaller "
            "--test-size."
        )
    shuffled = np.random.default_rng(0).permutation(np.flatnonzero(late))  # tables and charts use the first rows
    shown = str(first)[:10] if column.dtype.kind == "M" else f"{first:g}"
    of_rows = np.unique(column.to_numpy()[shuffled], return_inverse=True)[1].ravel()
    n_spans = min(int(np.clip(late.sum() // 100, *_SPANS)), int(of_rows.max()) + 1)
    spans = pd.Series(of_rows * n_spans // (of_rows.max() + 1), name=SPANS.singular)
    said = (
        f"The latest rows are held out: those with {time} from {shown} on. Rows next to each other in time are "
        f"similar, so accuracy is compared over {SPANS.count(n_spans)}."
    )
    return X[~late], X.iloc[shuffled], y[~late], y[shuffled], spans, said


def _check_time(options: Mapping[str, Any], *, is_large: bool) -> None:
    """Raise an error if another option already decides which rows are held out."""
    if options.get("time") is None:
        return
    for name, given in (("--test", options.get("test")), ("--group", options.get("group"))):
        if given is not None:
            raise TableError(f"--time and {name} both decide which rows are held out. Use one of them.")
    if is_large:
        raise TableError("--time needs all rows in memory. Use a larger --max-memory, or pass later rows with --test.")


def _check_share(test_size: float) -> None:
    if not 0 < test_size < 1:
        meant = f" Did you mean {test_size / 100:g}?" if 1 < test_size < 100 else ""
        raise ValueError(f"--test-size must be between 0 and 1, got {test_size:g}.{meant}")
