"""`stablebag compare`: two versions of a table, or two saved models: which predictions changed, and why."""

import hashlib
import json
import shlex
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click
import numpy as np
from rich.console import Console

from stablebag._wording import ROWS, about_time, printable
from stablebag._writing import refuse_ending, refuse_unwritable, whole, write_text
from stablebag.cli.options import (
    BAGS,
    DATA,
    FILE,
    MODEL,
    OUTPUT,
    Command,
    duration,
    number_or_auto,
    option,
    run_options,
    scheme_of,
    scheme_options,
)
from stablebag.cli.printing import open_console, print_warnings, progress, progress_console, say
from stablebag.cli.requirements import FAILED, Outcome, Vocabulary, require_option, say_outcomes

_TOPICS = {"who": "Who", "noise": "Noise", "why": "Why", "guarantee": "Guarantee"}


def _options(command: Any) -> Any:
    options = [
        click.argument("old", type=click.Path(path_type=Path)),
        click.argument("new", type=click.Path(path_type=Path), required=False),
        option("--target", metavar="COLUMN", group=DATA, help="Column to predict."),
        option("--id", "ids", metavar="COLUMN", group=DATA, help="Column of row IDs, which match rows of both tables."),
        option("--group", metavar="COLUMN", group=DATA, help="Column of groups to match, in place of --id."),
        option("--points", metavar="FILE", type=click.Path(path_type=Path), group=DATA, default_text="new table",
               help="Table of rows to predict."),
        option("--block", metavar="COLUMN", group=DATA, help="Explain the change by blocks, such as month."),
        option("--forget", metavar="FILE", type=click.Path(path_type=Path), group=DATA,
               help="File of IDs to delete, in place of NEW."),
        option("--drop", metavar="COLUMNS", group=DATA, multiple=True, help="Columns to leave out: a,b."),
        option("--kind", "kinds", metavar="COL=KIND", group=DATA, multiple=True,
               help="Read COL as number, category, text or date."),
        option("--task", metavar="TASK", group=DATA, type=click.Choice(["regression", "classification"]),
               default_text="by target", help="regression or classification."),
        option("--model", metavar="NAME", group=MODEL, default="tree", default_text="tree",
               help="Model, as listed above."),
        option("--param", "parameters", metavar="NAME=VALUE", group=MODEL, multiple=True,
               help="Parameter of the model. Can be repeated."),
        option("--n-bags", metavar="N", group=BAGS, default="auto", default_text="auto", callback=number_or_auto(2),
               help="Number of bags; auto stays within --time-limit."),
        option("--time-limit", metavar="TIME", group=BAGS, default="3m", default_text="3m", callback=duration,
               help="Time for auto choices: 90s, 3m, 1h."),
        option("--output", metavar="FILE", type=FILE, group=OUTPUT, help="Write the report, such as report.html."),
        option("--table", "table_path", metavar="FILE", type=FILE, group=OUTPUT, help="Write a CSV line per point."),
        option("--json", "json_path", metavar="FILE", type=FILE, group=OUTPUT, help="Write all numbers as JSON."),
        require_option(lambda: _words(), "changed<=5%"),
        option("--parts/--no-parts", default=True, help="Split the change into rows left and new."),
        option("--trust", multiple=True, metavar="TYPE", help="Type in saved models to trust. Can be repeated."),
    ]  # fmt: skip
    command = scheme_options(run_options(command))
    for add in reversed(options):
        command = add(command)
    return command


@click.command(cls=Command)
@_options
@click.pass_context
def compare(ctx: click.Context, **options: Any) -> None:
    """Compare two versions: which predictions changed, and why.

    OLD and NEW are two tables, or two models from --save. Tables are fitted with the same seed, row IDs and bag size:
    most of the noise then cancels. A change counts only if it exceeds the rest. Predicted numbers are clipped to the
    range of the targets of both tables.

    Models: tree, forest, boosting, logistic, ridge, knn, mlp, svm, or package.module:Class.

    \b
    Examples:
      stablebag compare may.csv june.csv --target risk --id customer_id
      stablebag compare may.csv june.csv --target risk --id customer_id \\
        --block month --require 'changed<=5%'
      stablebag compare may.csv --target risk --id customer_id \\
        --forget ids.txt --output deletion.html
      stablebag compare may.skops june.skops --points customers.csv
    """
    from stablebag.measuring.versions import compare_versions
    from stablebag.tables.text import TableError

    old, new, forgotten = options["old"], options["new"], options["forget"]
    refuse_ending(options["output"], "--output", ".html", ".htm")
    refuse_ending(options["table_path"], "--table", ".csv")
    for path in (options["output"], options["json_path"], options["table_path"]):
        refuse_unwritable(path, old, new, options["points"], forgotten)
    if (new is None) == (forgotten is None):
        raise TableError("Give two versions, old and new, or one version and --forget.")
    if options["output"] is not None:
        try:
            import jinja2  # noqa: F401
        except ImportError:
            raise TableError("The report needs jinja2 and matplotlib: pip install 'stablebag[report]'.") from None
    console = open_console()
    saved = [path for path in (old, new) if path is not None and path.suffix == ".skops"]
    if saved and (len(saved) < 2 or forgotten is not None):
        raise TableError("Give two saved models (.skops), or two tables.")
    made = _from_models(options) if saved else _from_tables(console, options)
    if made.warnings:
        say(console, "Check first:")
        for warning in made.warnings:
            say(console, f"- {warning}")
    with print_warnings(console), progress("Comparing"):
        found = compare_versions(made.old, made.new, made.points, rows=made.blocks)
    if options["parts"]:
        found = _with_parts(console, found, made)
    for name, sentences in found.topics.items():
        if sentences:
            say(console, f"{_TOPICS[name]}: {' '.join(sentences)}")
    for note in made.notes:
        say(console, note)
    task = "regression" if found.decisions is None else "classification"
    outcomes = [required.check(_facts(found), task) for required in options["requirements"]]
    _write(console, found, made, options, outcomes)
    if not say_outcomes(console, outcomes):
        ctx.exit(FAILED)


def _words() -> Vocabulary:
    """What can be required of a comparison."""
    from stablebag.showing.facts import Known

    known = {
        "changed": Known("points whose prediction changed beyond noise", ("share",), counted=("n_points", "points")),
        "decisions": Known(
            "points whose predicted class changed", ("share",), task="classification", counted=("n_points", "decisions")
        ),
        "typical change": Known(
            "root mean square of the changes, bagging noise included", ("prediction", "probability")
        ),
    }
    return Vocabulary(
        "changed<=5%", known, note="For example, 'changed<=5%' and 'changed<=20' are a share and a number."
    )


def _facts(found: Any) -> Iterator[Any]:
    """Yield the facts of a comparison that can be required."""
    from stablebag.showing.facts import ESTIMATED_KIND, MEASURED, Fact

    n = {"n_points": found.n_points}
    beyond = "points changed beyond noise"  # how large the noise is was estimated
    yield Fact("changed", beyond, ESTIMATED_KIND, {"bagged": found.n_beyond_noise / found.n_points}, "share", details=n)
    size, unit = found.to_dict()["typical_change"], "prediction"
    if found.decisions is not None:
        share, unit = float(found.changed_decisions.mean()), "probability"
        yield Fact("decisions", "decisions changed", MEASURED, {"bagged": share}, "share", details=n)
    yield Fact("typical change", "typical change", MEASURED, {"bagged": size}, unit)


# ------------------------------------------------------------------------------------------------- what is compared


@dataclass
class _Made:
    """Two fitted models, and what there is to say about them."""

    old: Any
    new: Any
    points: Any
    blocks: Any = None
    seconds: float = 0.0  # of a fit
    warnings: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    facts: list[tuple[str, str]] = field(default_factory=list)
    target: str = ""


def _with_parts(console: Console, found: Any, made: _Made) -> Any:
    """Split the change into parts, after saying how many fits that takes; a note says if it cannot be done."""
    try:
        if found.n_fits and found.rows.n_common > len(found.rows.corrected):
            took = f", {about_time(found.n_fits * made.seconds)}" if made.seconds else ""
            say(
                progress_console(),
                f"Fitting {found.n_fits:,} bags that have a changed {found.rows.noun.singular}{took}.",
            )
        with print_warnings(console), progress("Splitting the change"):
            return found.with_parts()
    except (ValueError, TypeError) as error:
        made.notes.append(f"The change was not split into parts. {error}")
        return found


def _from_models(options: Mapping[str, Any]) -> _Made:
    from stablebag.cli.saving import SavedModel
    from stablebag.models.fitted import fitted
    from stablebag.tables.text import TableError

    models = [SavedModel.load(options[name], options["trust"]) for name in ("old", "new")]
    readings = [saved.reading for saved in models]
    if readings[0].target != readings[1].target or readings[0].task != readings[1].task:
        raise TableError(
            f"The models predict {readings[0].target!r} ({readings[0].task}) and {readings[1].target!r} "
            f"({readings[1].task}). Compare models of the same target."
        )
    points = fitted(models[1].model).X
    notes = [saved.note for saved in models if saved.note]
    if options["points"] is not None:
        new = readings[1].read_new(options["points"])
        points, notes = new.X, [*notes, *new.notes]
    made = _Made(models[0].model, models[1].model, points, options["block"], notes=notes, target=readings[1].target)
    made.warnings += _other_kinds(readings[0].columns, readings[1].columns)
    made.facts = [*_files(options), ("target", made.target), *_bags(made)]
    return made


def _from_tables(console: Console, options: dict[str, Any]) -> _Made:
    """Read both tables, check IDs and columns, and fit a model to each with the same seed and bags."""
    from stablebag.cli import training
    from stablebag.cli.budget import settled
    from stablebag.models.estimators import BaggedClassifier, BaggedRegressor
    from stablebag.models.forgetting import forget
    from stablebag.models.ranges import FixedRange
    from stablebag.resampling.schemes import as_law
    from stablebag.tables.text import TableError

    if options["target"] is None:
        raise TableError("Give the column to predict: --target.")
    if options["forget"] is not None and options["ids"] is None and options["group"] is None:
        raise TableError("--forget needs to know what rows are called. Give --id or --group.")
    with progress("Reading"):
        tables = _read(options)
    old, new, reading = tables["old"], tables["new"], tables["reading"]
    learner = training.make_learner(options["model"], reading.task, training.parse_parameters(options["parameters"]))
    pipeline = reading.columns.pipeline(learner)
    n_old, n_new = (len(_called(each)) for each in (old, new))
    scheme = scheme_of(options["scheme"], options["bag_size"])
    load = settled(
        pipeline, old.X, old.y, scheme, units=n_old, noun=tables["noun"], n_bags=options["n_bags"], n_refits=0,
        size_is_given=options["bag_size"] is not None, jobs=options["jobs"], limit=options["time_limit"] / 2,
        seed=options["seed"],
    )  # fmt: skip
    law = as_law(load.scheme, n_old, "stablebag compare")
    fixed = law.scheme.without_one(n_old)  # the bag size as a number of rows
    try:
        as_law(fixed, n_new, "stablebag compare")
    except ValueError:
        raise TableError(
            f"The new table has {tables['noun'].count(n_new)}, too few for bags of {law.bag_size:g} as in the old one. "
            "Give a smaller --bag-size."
        ) from None
    kind: Any = BaggedClassifier if reading.task == "classification" else BaggedRegressor
    more: dict[str, Any] = {}
    if reading.task == "regression":
        both = np.concatenate([old.y, new.y])
        more["prediction_range"] = FixedRange(float(both.min()), float(both.max()))
    more |= {"scheme": fixed, "n_bags": load.n_bags, "n_jobs": options["jobs"], "random_state": options["seed"]}
    start = time.monotonic()
    with print_warnings(console), progress("Fitting the old version"):
        model = kind(pipeline, **more).fit(old.X, old.y, **tables["names"][0])
    seconds = (time.monotonic() - start) / load.n_bags
    made = _Made(model, None, None, tables["blocks"], seconds, tables["warnings"], tables["notes"])
    made.target = options["target"]
    if options["forget"] is not None:
        names = _ids_in(options["forget"], model.units_.ids.names.tolist())
        with print_warnings(console), progress("Forgetting"):
            made.new = forget(model, names)
        stay = ~np.isin(model.units_.names_of_rows, np.array(names, dtype=model.units_.names_of_rows.dtype))
        made.notes += _fresh_fit(console, kind(pipeline, **more), old, stay, tables["names"][0], made.new, len(names))
    else:
        with print_warnings(console), progress("Fitting the new version"):
            made.new = kind(pipeline, **more).fit(new.X, new.y, **tables["names"][1])
    made.points = new.X if options["points"] is None else tables["points"].X
    if options["points"] is None:
        made.notes.append(
            "The points are training rows, at which predictions may change more than at others. Give --points to "
            "compare at other rows."
        )
    made.facts = [*_files(options), ("target", made.target), ("model", str(options["model"])), *_bags(made)]
    return made


def _fresh_fit(
    console: Console, model: Any, rows: Any, stay: np.ndarray, names: dict[str, Any], forgotten: Any, n_gone: int
) -> list[str]:
    """Fit a model to the remaining rows from nothing, and say whether it predicts the same."""
    left = {
        name: [one for one, stays in zip(value, stay.tolist(), strict=True) if stays] for name, value in names.items()
    }
    with print_warnings(console), progress("Fitting anew without them, to compare"):
        fresh = model.fit(rows.X[stay], rows.y[stay], **left)
    method = "predict_proba" if hasattr(fresh, "classes_") else "predict"
    same = np.array_equal(getattr(fresh, method)(rows.X), getattr(forgotten, method)(rows.X))
    if not same:  # pragma: no cover (a learner that is not deterministic)
        return ["A fresh fit without these rows predicts something else: is the learner deterministic?"]
    noun = forgotten.units_.noun
    return [
        f"{noun.count(n_gone)} removed. A fresh fit to the {len(fresh.units_):,} others gives the same predictions at "
        f"all {len(rows.X):,} rows of the table, to the last bit."
    ]


def _ids_in(path: Path, known: list[Any]) -> list[Any]:
    """The IDs in a text file, one a line, as they are in the table."""
    from stablebag.tables.text import TableError

    try:
        lines = [line.strip() for line in path.read_text(encoding="utf-8").splitlines()]
    except (OSError, UnicodeDecodeError) as error:
        raise TableError(f"The file {path} cannot be read: {error}.") from None
    by_text = {str(name): name for name in known}
    wanted = list(dict.fromkeys(line for line in lines if line))
    unknown = [line for line in wanted if line not in by_text]
    if unknown or not wanted:
        what = f"{unknown[0]!r} is not an ID of the table" if unknown else "it has no IDs"
        more = f" (nor are {len(unknown) - 1:,} others)" if len(unknown) > 1 else ""
        raise TableError(f"In {path.name}, {what}{more}. Give one ID a line, as in the column that --id names.")
    return [by_text[line] for line in wanted]


def _files(options: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The files that were read, with their fingerprints."""
    names = {"old": "old version", "new": "new version", "points": "points", "forget": "removed"}
    found = [(words, options[name]) for name, words in names.items() if options[name] is not None]
    return [(words, f"{path.name} (SHA-256 {_fingerprint(path)})") for words, path in found]


def _fingerprint(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(2**20):
            digest.update(block)
    return digest.hexdigest()


def _bags(made: _Made) -> list[tuple[str, str]]:
    return [
        ("bags of the old version", f"{len(made.old.bags_):,}: {made.old.scheme_}"),
        ("bags of the new version", f"{len(made.new.bags_):,}: {made.new.scheme_}"),
        ("seed", " and ".join(dict.fromkeys(str(model._seeds.root) for model in (made.old, made.new)))),
    ]


# ----------------------------------------------------------------------------------------------------- both tables read


def _read(options: dict[str, Any]) -> dict[str, Any]:
    """Read both tables by the same columns, and say what differs in how they would be read."""
    from stablebag._wording import GROUPS
    from stablebag.cli import training
    from stablebag.tables.columns import plain_frame
    from stablebag.tables.text import TableError, check_column_name, read_file
    from stablebag.tables.training import read_table

    paths = [options["old"], options["new"]] if options["new"] is not None else [options["old"]]
    raws = [plain_frame(read_file(path).frame) for path in paths]
    warnings: list[str] = []
    for name in filter(None, (options["target"], options["ids"], options["group"], options["block"])):
        for raw in raws:
            check_column_name(raw.columns, name)
    warnings += _check_ids(options, raws, paths)
    for raw, path in zip(raws, paths, strict=True):
        if missing := int(raw[options["target"]].isna().sum()):
            warnings.append(f"{ROWS.count(missing)} of {path.name} without a target were left out.")
    some = [set(map(str, raw.columns)) for raw in raws]
    apart = sorted(some[0] ^ some[-1])
    if apart:
        where = [f"{name!r} ({'old' if name in some[0] else 'new'})" for name in apart[:5]]
        more = f" and {len(apart) - 5:,} more" if len(apart) > 5 else ""
        warnings.append(f"Columns that only one of the tables has are not used: {', '.join(where)}{more}.")
    named = (options["target"], options["ids"], options["group"])
    given = {
        "group": options["group"],
        "ids": [options["ids"]] if options["ids"] is not None and options["group"] is None else [],
        "kinds": training.parse_kinds(options["kinds"]),
        "task": options["task"],
    }
    dropped = {*apart, *filter(None, [options["block"]])} - set(filter(None, named))
    for text in options["drop"]:  # one column, or several with commas between
        dropped |= {text} if text in some[0] | some[-1] else {name.strip() for name in text.split(",")}
    for name in dropped:
        check_column_name(some[0] | some[-1], name)
    if options["group"] is not None and options["ids"] is not None:
        dropped.add(options["ids"])
    read = [
        read_table(path, options["target"], drop=sorted(dropped & here), **given)
        for path, here in zip(paths, some, strict=True)
    ]
    reading = read[0].reading
    if len(read) > 1:
        if read[1].task != reading.task:
            what = "classes" if reading.task == "classification" else "numbers"
            raise TableError(
                f"The target {options['target']!r} has {what} in the old table and not in the new one. Give --task "
                f"{reading.task} or correct the new table."
            )
        warnings += _other_kinds(reading.columns, read[1].reading.columns)
        warnings += _new_categories(reading, read[1])
    rows = [reading.read_new(path, needs_target=True) for path in paths]
    notes = [note for each in rows for note in each.notes if "not in the training table" not in note]
    labels = None
    if options["block"] is not None:
        labels = _blocks(options["block"], rows)
    return {
        "old": rows[0],
        "new": rows[-1],
        "points": None if options["points"] is None else reading.read_new(options["points"]),
        "reading": reading,
        "noun": ROWS if options["group"] is None else GROUPS,
        "names": _names(options, rows),
        "blocks": labels,
        "warnings": warnings,
        "notes": notes,
    }


def _check_ids(options: Mapping[str, Any], raws: list[Any], paths: list[Path]) -> list[str]:
    """Reject missing and repeated IDs, and say what is odd about the others."""
    from stablebag.tables.text import TableError

    column = options["group"] or options["ids"]
    if column is None:
        way = "Give --id, the column that names rows"
        return [f"Rows are matched by their position in the files, because they have no IDs. {way}."]
    for raw, path in zip(raws, paths, strict=True):
        missing = int(raw[column].isna().sum())
        if missing:
            raise TableError(f"{ROWS.count(missing)} of {path.name} have no {column!r}. Give each row an ID.")
        repeated = raw[column][raw[column].duplicated()]
        if options["group"] is None and len(repeated):
            raise TableError(
                f"The ID {printable(repeated.iloc[0])!r} is there twice in {path.name} ({len(repeated):,} rows repeat "
                f"one). If a customer may have several rows, use --group {shlex.quote(column)} in place of --id."
            )
    if len(raws) == 1:
        return []
    first, second = (raw[column].astype(str) for raw in raws)
    common = set(first) & set(second)
    if not common:
        return [f"No {column!r} of {paths[1].name} is in {paths[0].name}, so every row is new. Is it the right column?"]
    in_order = [[name for name in names.drop_duplicates() if name in common] for names in (first, second)]
    if in_order[0] != in_order[1]:
        return ["The rows that both tables have are in another order. They are matched by their IDs."]
    return []


def _names(options: Mapping[str, Any], rows: list[Any]) -> list[dict[str, Any]]:
    """What rows, or groups, are called in each table."""
    if options["group"] is None and options["ids"] is None:
        return [{} for _ in rows]
    names = [_called(each).tolist() if options["group"] is None else each.groups.tolist() for each in rows]
    kinds = {type(name) for each in names for name in each}
    if len(kinds) > 1:  # whole numbers in one table, and texts in the other
        names = [[str(name) for name in each] for each in names]
    return [{"row_ids" if options["group"] is None else "groups": each} for each in names]


def _called(rows: Any) -> Any:
    """What rows, or groups, are called; groups once each."""
    return rows.X.index if rows.groups is None else rows.groups.drop_duplicates()


def _other_kinds(before: Any, after: Any) -> list[str]:
    """Say which columns were read as something else in the two tables."""
    found = []
    for name, kind in before.kinds.items():
        other = after.kinds.get(name)
        if other is not None and other.name != kind.name:
            found.append(
                f"The column {printable(name)!r} was read as {kind.name} in the old table and as {other.name} in the "
                f"new one. Both versions read it as {kind.name}; --kind decides otherwise."
            )
    return found


def _new_categories(reading: Any, table: Any) -> list[str]:
    """Say which columns have categories that the old table does not have."""
    from stablebag.tables.text import listed

    found = []
    for name, known in reading.categories.items():
        now = table.reading.categories.get(name, ())
        if new := [value for value in now if value not in set(known)]:
            found.append(f"The column {printable(name)!r} has new categories: {listed(new)}.")
    return found


def _blocks(column: str, rows: list[Any]) -> dict[Any, Any]:
    """The block of each row, or group, by what it is called; those of the new table count."""
    from stablebag.tables.text import TableError

    labels: dict[Any, Any] = {}
    for each in rows:
        values = each.frame[column]
        if values.isna().any():
            raise TableError(f"The column {column!r} of --block is missing in {int(values.isna().sum()):,} rows.")
        names = each.X.index if each.groups is None else each.groups
        here: dict[Any, Any] = {}
        for name, value in zip(names.tolist(), values.tolist(), strict=True):
            if here.setdefault(name, value) != value:
                raise TableError(f"The group {name!r} has rows in several blocks of {column!r}. Leave --block out.")
        labels |= here
    return {**labels, **{str(name): value for name, value in labels.items()}}


# ------------------------------------------------------------------------------------------------------------- results


def _write(console: Console, found: Any, made: _Made, options: Mapping[str, Any], outcomes: list[Outcome]) -> None:
    failed = [outcome.sentence for outcome in outcomes if not outcome.passed]
    held = [outcome.sentence for outcome in outcomes if outcome.passed]
    command = "stablebag " + shlex.join(sys.argv[1:])
    if (path := options["json_path"]) is not None:
        written = {
            **found.to_dict(),
            "target": made.target,
            "warnings": made.warnings,
            "notes": made.notes,
            "about": dict(made.facts),
            "requirements": [outcome.to_dict() for outcome in outcomes],
        }
        write_text(path, json.dumps(written, indent=1, default=str) + "\n")
        say(console, f"The numbers are in {path}.")
    if (path := options["table_path"]) is not None:
        with whole(path) as partial:
            found.to_frame().to_csv(partial)
        say(console, f"{found.n_points:,} points are in {path}.")
    if (path := options["output"]) is not None:
        from stablebag.showing.report.change_page import ChangeFooter, write_change

        other = f"and {options['new'].name}" if options["forget"] is None else f"without {options['forget'].name}"
        title = f"{made.target}: {options['old'].name} {other}"
        footer = ChangeFooter(title, made.target, tuple(made.facts), command)
        with progress(f"Writing {path.name}"):
            write_change(path, found, footer=footer, warnings=[*failed, *made.warnings], notes=[*made.notes, *held])
        say(console, f"The report is in {path}.")
