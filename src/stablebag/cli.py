"""The command line: certificates, plans, and a learner beside its bagged version on one's own table."""

import json
import math
import shlex
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

try:
    import click
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
    from rich.table import Table
except ImportError as error:  # pragma: no cover
    raise SystemExit("The command line needs click and rich: pip install 'stablebag[cli]'.") from error

from stablebag import __version__
from stablebag.certificates import Certificate, count_bags, plan, rounded_up
from stablebag.schemes import SCHEMES, ResamplingScheme

_QUICK_BAGS = 500
_PAPER_BAGS = 10_000
_SEED = click.IntRange(0, 2**32 - 1)
_SHARES = (0.01, 0.05, 0.1, 0.25)


class _Commands(click.Group):
    """Says what is wrong in one sentence and ends with 2; a traceback is for --debug."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except (click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except KeyboardInterrupt:
            click.echo("Interrupted.", err=True)
            ctx.exit(130)
        except Exception as error:
            if ctx.params.get("debug"):
                traceback.print_exc()
            click.echo(f"Error: {_one_sentence(error)}", err=True)
            ctx.exit(2)


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="stablebag")
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
def main(debug: bool) -> None:
    """Algorithmic stability you can install: predictions that do not hinge on any single training row.

    \b
    Example:
      stablebag demo
    Shell completion for bash, to be put into ~/.bashrc:
      eval "$(_STABLEBAG_COMPLETE=bash_source stablebag)"
    """


# ------------------------------------------------------------------------------------------ what is proved beforehand


def _scheme_options(command: Any) -> Any:
    size = click.option("--bag-size", help="Rows in a bag (250), or a fraction of the rows (0.5).")
    name = click.option(
        "--scheme",
        type=click.Choice(sorted(SCHEMES)),
        default="subbagging",
        show_default=True,
        help="How bags are drawn.",
    )
    return name(size(command))


@main.command()
@_scheme_options
@click.option("--n-samples", type=int, required=True, help="The number of training rows.")
@click.option("--n-bags", default="inf", show_default=True, help="The number of bags; inf is derandomized bagging.")
@click.option(
    "--delta", type=float, default=0.05, show_default=True, help="The share of rows that may move it further."
)
@click.option(
    "--range-length", type=float, default=1.0, show_default=True, help="The length of the range of predictions."
)
@click.option(
    "--coupling",
    type=click.Choice(["any", "independent"]),
    default="any",
    show_default=True,
    help="What is assumed of the bags with and without a row.",
)
@click.option("--json", "as_json", is_flag=True, help="Numbers for machines in place of sentences.")
def certify(
    scheme: str,
    bag_size: str | None,
    n_samples: int,
    n_bags: str,
    delta: float,
    range_length: float,
    coupling: str,
    as_json: bool,
) -> None:
    """State what is proved of bagging any learner, before any data is seen.

    \b
    Example:
      stablebag certify --n-samples 500 --n-bags 10000 --delta 0.05
    """
    number = math.inf if n_bags in ("inf", "all") else _whole(n_bags, "--n-bags")
    certificate = Certificate(
        _scheme(scheme, bag_size), n_samples, number, range_length=range_length, coupling=coupling
    )
    shares = sorted({*_SHARES, delta})
    if as_json:
        numbers = {str(share): certificate.epsilon(share) for share in shares}
        paper = {str(share): _finite(certificate.epsilon(share, "paper")) for share in shares}
        click.echo(json.dumps({**certificate.to_dict(), "epsilon": numbers, "epsilon_of_the_paper": paper}, indent=1))
        return
    console = Console()
    console.print(certificate.explain(delta), highlight=False, markup=False, soft_wrap=True)
    table = Table(title="epsilon, for a share delta of the rows")
    for name in ("delta", "rows", "epsilon", "the paper's"):
        table.add_column(name, justify="right")
    for share in shares:
        values = (certificate.epsilon(share), certificate.epsilon(share, "paper"))
        table.add_row(f"{share:g}", f"{int(share * n_samples):,}", *(rounded_up(value) for value in values))
    console.print(table)


@main.command(name="plan")
@click.option("--n-samples", type=int, required=True, help="The number of training rows.")
@click.option("--epsilon", type=float, required=True, help="How far a prediction may move, in units of its range.")
@click.option("--delta", type=float, required=True, help="The share of rows that may move it further.")
@click.option("--max-bags", type=int, default=10_000, show_default=True, help="The largest number of bags.")
@click.option("--scheme", type=click.Choice(sorted(SCHEMES)), help="Only this one.  [default: each]")
def plan_command(n_samples: int, epsilon: float, delta: float, max_bags: int, scheme: str | None) -> None:
    """Find the largest bags, and how many of them, that certify (epsilon, delta)-stability.

    \b
    Example:
      stablebag plan --n-samples 10000 --epsilon 0.05 --delta 0.05
    """
    table = Table(
        title=f"At most a share {delta:g} of {n_samples:,} rows move a prediction by more than {epsilon:g} of its range"
    )
    for name in ("scheme", "bags", "proved by"):
        table.add_column(name, overflow="fold")
    found = 0
    refusal = ""
    for name in [scheme] if scheme else sorted(SCHEMES):
        try:
            best = plan(n_samples, epsilon, delta, name, max_bags=max_bags)
        except ValueError as error:
            refusal = str(error)
            table.add_row(name, "none", refusal)
            continue
        found += 1
        table.add_row(str(best.certificate.scheme), count_bags(best.n_bags), best.certificate._best(delta)[1])
    if not found:
        raise ValueError(refusal)
    Console().print(table)


# ------------------------------------------------------------------------------------------------- on one's own table


def _table_options(command: Any) -> Any:
    options = [
        click.argument("table", type=click.Path(path_type=Path)),
        click.option("--target", required=True, help="The column to predict."),
        click.option("--task", type=click.Choice(["regression", "classification"]), help="[default: by the target]"),
        click.option("--model", default="tree", show_default=True,
                     help="tree, forest, boosting, logistic, ridge, knn, mlp, svm, or package.module:Class."),
        click.option("--param", "parameters", multiple=True, help="A parameter of the model, name=value; repeatable."),
        click.option("--n-bags", type=click.IntRange(2), default=500, show_default=True, help="The number of bags."),
        click.option("--jobs", type=int, default=2, show_default=True, help="How many fits at once."),
        click.option("--seed", type=_SEED, default=0, show_default=True, help="The seed of everything."),
    ]  # fmt: skip
    for option in reversed(options):
        command = option(command)
    return _scheme_options(command)


@main.command()
@_table_options
@click.option("--test", type=click.Path(path_type=Path), help="A table of held-out rows.")
@click.option("--test-size", type=float, default=0.2, show_default=True, help="The share of rows held out otherwise.")
@click.option("--points", type=click.IntRange(1), default=20, show_default=True, help="Test points to measure at.")
@click.option("--refits", type=click.IntRange(1), default=200, show_default=True,
              help="Rows to refit the base learner without.")  # fmt: skip
@click.option("--output", type=click.Path(dir_okay=False, path_type=Path), help="Where to write the report (HTML).")
@click.option(
    "--json", "json_path", type=click.Path(dir_okay=False, path_type=Path), help="Where to write the numbers."
)
def measure(**options: Any) -> None:
    """Measure a learner beside its bagged version on a table: stability, guarantee, accuracy, influential rows.

    Numbers, categories, texts, dates and missing values are read by a pipeline that is fitted inside each bag, so that
    the guarantee covers it.

    \b
    Example:
      stablebag measure patients.csv --target outcome --model tree --output report.html
    """
    from stablebag import tables

    frame = tables.read_table(options["table"])
    X, y, task, dropped = tables.split_target(frame, options["target"], options["task"])
    notes = [f"{len(y) + dropped:,} rows of {options['table'].name}; the target is {options['target']!r} ({task})."]
    if dropped:
        notes.append(f"{dropped:,} rows without a target were left out.")
    if options["test"] is not None:
        other = tables.read_table(options["test"])
        X_test, y_test = tables.same_columns(X, other, str(options["test"])), None
        if options["target"] in other.columns:
            known = other[options["target"]].notna().to_numpy()
            if not known.any():
                raise tables.TableError(
                    f"The target {options['target']!r} is missing in every row of {options['test']}."
                )
            X_test = X_test.loc[known].reset_index(drop=True)
            y_test = tables.targets_of(other.loc[known, options["target"]], task, options["target"])
            if task == "classification" and not set(y_test) & set(y):
                raise tables.TableError(f"No class of {options['test']} is one of the training table.")
    else:
        X, X_test, y, y_test = _held_out(X, y, options["test_size"], task, options["seed"])
    notes.append(f"Trained on {len(y):,} rows, held out {len(X_test):,}.")
    _measured(X, y, X_test, y_test, task, notes, options, title=f"Stability of predicting {options['target']}")


def _held_out(X: Any, y: Any, test_size: float, task: str, seed: int) -> tuple[Any, Any, Any, Any]:
    import numpy as np
    from sklearn.model_selection import train_test_split

    if not 0 < test_size < 1:
        raise ValueError(f"--test-size is a share of the rows between 0 and 1. Got {test_size:g}.")
    counts = np.unique(y, return_counts=True)[1]
    by_class = y if task == "classification" and counts.min() >= 2 and len(counts) <= test_size * len(y) else None
    X, X_test, y, y_test = train_test_split(X, y, test_size=test_size, random_state=seed, stratify=by_class)
    return X, X_test, y, y_test


def _measured(
    X: Any, y: Any, X_test: Any, y_test: Any, task: str, notes: list[str], options: dict[str, Any], title: str
) -> None:
    """Run a study with progress, print it, and write what was asked for."""
    from stablebag import tables
    from stablebag.studies import study

    for path in (options.get("output"), options.get("json_path")):
        if path is not None and not path.resolve().parent.is_dir():
            raise tables.TableError(f"There is no folder {path.resolve().parent} to write {path.name} to.")
    learner = tables.make_learner(options["model"], task, tables.parse_parameters(options["parameters"]))
    pipeline = tables.Columns.of(X).pipeline(learner)
    console = Console()
    n_refits = min(options["refits"], len(y))
    with _progress(console) as track:
        title = f"{options['n_bags']:,} bags, and {n_refits:,} refits of the base learner"
        on_progress = track(title, options["n_bags"] + n_refits + 1)
        result = study(
            pipeline,
            X,
            y,
            X_test,
            y_test,
            scheme=_scheme(options["scheme"], options["bag_size"]),
            n_bags=options["n_bags"],
            n_points=options["points"],
            n_refits=n_refits,
            n_jobs=options["jobs"],
            random_state=options["seed"],
            on_progress=on_progress,
        )
    for note in notes:
        console.print(note, highlight=False, markup=False)
    table = Table(title="How far one training row moves the prediction (averages over the test points)")
    for name in ("over the rows", "base learner", "bagged", "bagged, proved"):
        table.add_column(name, justify="left" if name == "over the rows" else "right")
    for name, *values in result.comparison():
        table.add_row(name, *("" if math.isnan(value) else f"{value:.4g}" for value in values))
    for name, pair in result.scores.items():
        table.add_row(f"held out: {name}", *(f"{value:.4g}" for value in pair), "")
    if result.coverage is not None:
        table.add_row("held out: coverage of 90 % intervals", "", f"{result.coverage:.3g}", "")
    console.print(table)
    console.print(result.verdict(), highlight=False, markup=False)
    console.print(
        f"Proved is for these bags, reused without a row. Fitted anew, {_first_lower(result.anew.explain())}",
        highlight=False,
        markup=False,
        soft_wrap=True,
    )
    rows, effects = result.most_influential(5)
    named = ", ".join(f"row {X.index[row]} ({effect:.3g})" for row, effect in zip(rows, effects, strict=True))
    console.print(f"The training rows that move the predictions most: {named}.", highlight=False, markup=False)
    if options.get("json_path") is not None:
        options["json_path"].write_text(json.dumps(_numbers(result, X), indent=1) + "\n")
        console.print(f"The numbers are in {options['json_path']}.", highlight=False, markup=False)
    if options.get("output") is not None:
        from stablebag.report import write

        command = options.get("command") or "stablebag " + shlex.join(sys.argv[1:])
        write(options["output"], result, title=title, rows=X, command=command, notes=tuple(notes))
        console.print(f"The report is in {options['output']}.", highlight=False, markup=False)


def _first_lower(sentences: str) -> str:
    return sentences[0].lower() + " ".join(sentences.split())[1:]


def _numbers(result: Any, X: Any) -> dict[str, Any]:
    return {
        "task": result.task,
        "n_samples": result.n_samples,
        "n_refits_of_the_base_learner": len(result.base.rows),
        "proved_of_these_bags": result.proved.explain(),
        "proved_of_bags_drawn_anew": result.anew.explain(),
        "verdict": result.verdict(),
        "perturbations": {
            name: {"base": before, "bagged": after, "proved": _finite(proved)}
            for name, before, after, proved in result.comparison()
        },
        "held_out": {name: {"base": a, "bagged": b} for name, (a, b) in result.scores.items()},
        "most_influential": [
            {"row": int(X.index[row]), "root_mean_square_effect": float(effect)}
            for row, effect in zip(*result.most_influential(15), strict=True)
        ],
        "leave_one_out_error": {"value": result.error.value, "standard_error": result.error.standard_error},
        "coverage": result.coverage,
    }


@main.command()
@_table_options
@click.option("--test", type=click.Path(path_type=Path), required=True, help="The rows to predict.")
@click.option("--confidence", type=float, default=0.9, show_default=True, help="The level of the intervals.")
@click.option("--method", type=click.Choice(["jackknife", "jackknife+", "jackknife-minmax", "stable-jackknife"]),
              default="jackknife+", show_default=True, help="How they are made.")  # fmt: skip
@click.option(
    "--output", type=click.Path(dir_okay=False, path_type=Path), required=True, help="Where to write them (CSV)."
)
def interval(test: Path, confidence: float, method: str, output: Path, **options: Any) -> None:
    """Predict the rows of a table, with intervals from the bags.

    \b
    Example:
      stablebag interval patients.csv --target outcome --test new.csv --output intervals.csv
    """
    from stablebag import tables
    from stablebag.ensembles import BaggedRegressor
    from stablebag.intervals import predict_interval
    from stablebag.studies import fit_in_portions

    X, y, task, _ = tables.split_target(tables.read_table(options["table"]), options["target"], options["task"])
    if task != "regression":
        raise tables.TableError(f"Intervals are for numbers, and the target {options['target']!r} has classes.")
    other = tables.read_table(test)
    learner = tables.make_learner(options["model"], task, tables.parse_parameters(options["parameters"]))
    points = tables.same_columns(X, other, str(test))
    model = BaggedRegressor(
        tables.Columns.of(X).pipeline(learner),
        scheme=_scheme(options["scheme"], options["bag_size"]),
        n_bags=options["n_bags"],
        n_jobs=options["jobs"],
        random_state=options["seed"],
    )
    console = Console()
    with _progress(console) as track:
        on_progress = track("bags", options["n_bags"])
        fit_in_portions(model, X, y, lambda done: on_progress(done, options["n_bags"]))
    found = predict_interval(model, points, confidence_level=confidence, method=method)
    found.to_frame().to_csv(output, index=False)
    console.print(found.explain(), highlight=False, markup=False, soft_wrap=True)
    if options["target"] in other.columns and other[options["target"]].notna().all():
        console.print(
            f"{found.coverage(other[options['target']]):.1%} of the known targets are inside.",
            highlight=False,
            markup=False,
        )
    console.print(f"{len(found):,} intervals are in {output}.", highlight=False, markup=False)


@main.command()
@click.option("--output", type=click.Path(file_okay=False, path_type=Path), default=Path("stablebag-demo"),
              show_default=True, help="The folder for the reports.")  # fmt: skip
@click.option("--jobs", type=int, default=2, show_default=True, help="How many fits at once.")
@click.option("--seed", type=_SEED, default=0, show_default=True, help="The seed of everything.")
def demo(output: Path, jobs: int, seed: int) -> None:
    """Show the main job on data that come with scikit-learn: diabetes (numbers) and breast cancer (classes).

    \b
    Example:
      stablebag demo --output somewhere
    """
    from sklearn.datasets import load_breast_cancer, load_diabetes

    output.mkdir(parents=True, exist_ok=True)
    console = Console()
    for name, load in (("diabetes", load_diabetes), ("breast-cancer", load_breast_cancer)):
        console.rule(f"{name}: a decision tree, and the same tree bagged")
        data = load(as_frame=True)
        task = "regression" if name == "diabetes" else "classification"
        y = data.target.to_numpy() if task == "regression" else data.target_names[data.target.to_numpy()].astype(str)
        X, X_test, y, y_test = _held_out(data.data, y, 0.2, task, seed)
        options: dict[str, Any] = {
            "model": "tree",
            "parameters": (),
            "scheme": "subbagging",
            "bag_size": None,
            "n_bags": 500,
            "points": 20,
        }
        options |= {"refits": 150, "jobs": jobs, "seed": seed, "output": output / f"{name}.html"}
        options["command"] = f"stablebag demo --seed {seed}"
        notes = [f"scikit-learn's {name} data: trained on {len(y):,} rows, held out {len(y_test):,}."]
        _measured(X, y, X_test, y_test, task, notes, options, title=f"Stability of a decision tree: {name}")


# ---------------------------------------------------------------------------------------------------------- the paper


@main.command()
@click.option("--setting", "settings", type=click.IntRange(1, 4), multiple=True, help="Only this one; may be repeated.")
@click.option(
    "--variant",
    type=click.Choice(["script", "text"]),
    default="script",
    show_default=True,
    help="Data as the authors' script made them (the paper's figures), or as the paper's text says.",
)
@click.option("--n-bags", type=click.IntRange(2), help=f"Bags in each setting.  [default: {_PAPER_BAGS}]")
@click.option("--quick", is_flag=True, help=f"{_QUICK_BAGS} bags: under a minute on two cores.")
@click.option(
    "--literal-rows",
    type=click.IntRange(0),
    default=0,
    show_default=True,
    help="For so many rows, refit the subbagged learner on fresh bags, too. Takes twice that many times the bags.",
)
@click.option(
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("reproduction"),
    show_default=True,
    help="The folder for figures, numbers and the cache.",
)
@click.option("--jobs", type=int, default=2, show_default=True, help="How many fits at once.")
@click.option(
    "--seed",
    type=click.IntRange(0, 2**32 - 1),
    default=0,
    show_default=True,
    help="For bags and learners, and the text's data.",
)
def reproduce(
    settings: tuple[int, ...],
    variant: str,
    n_bags: int | None,
    quick: bool,
    literal_rows: int,
    output: Path,
    jobs: int,
    seed: int,
) -> None:
    """Redo the experiments and figures of the paper, from nothing, and hold its claims against the numbers.

    Four settings: a learner by refitting it without each row, and its subbagged version by reusing the bags. Writes
    Figures 1 to 3 as PNG, SVG and PDF and every number as JSON. What is done is kept in OUTPUT/cache: an interrupted
    run goes on where it stopped.

    \b
    Example:
      stablebag reproduce --quick
    """
    from importlib.util import find_spec

    from stablebag.paper import experiments, figures
    from stablebag.paper.settings import SETTINGS

    if quick and n_bags is not None:
        raise click.UsageError("--quick is a number of bags, too: give one of --quick and --n-bags.")
    if find_spec("matplotlib") is None:
        raise ImportError("The figures need matplotlib: pip install 'stablebag[cli,plot]'.")
    number = n_bags or (_QUICK_BAGS if quick else _PAPER_BAGS)
    chosen = sorted(set(settings)) or [1, 2, 3, 4]
    console = Console()
    options: dict[str, Any] = {"variant": variant, "n_bags": number, "seed": seed, "n_jobs": jobs}
    options |= {"literal_rows": literal_rows, "cache": output / "cache"}
    results = []
    try:
        with _progress(console) as track:
            for k in chosen:
                setting = SETTINGS[k]
                on_progress = track(f"Setting {k}: {setting.title}", experiments.n_fits(setting, number, literal_rows))
                results.append(experiments.run(k, on_progress=on_progress, **options))
    except KeyboardInterrupt:
        console.print(
            f"\nInterrupted. What was done is kept in {output / 'cache'}; the same command goes on from there."
        )
        sys.exit(130)
    experiments.write_numbers(results, output / "numbers.json")
    made = []
    if results[0].setting.number == 1:
        made += figures.save(figures.figure_1(results[0]), output, "figure1")
    made += figures.save(figures.figure_2(), output, "figure2")
    made += figures.save(figures.figure_3(results), output, "figure3")
    claims = [claim for result in results for claim in result.claims()]
    console.print(_table_of_claims(claims, variant, number))
    console.print(
        "Theorem 8 allows a share c / (4 epsilon^2) of the rows to move a prediction by more than epsilon. The factor "
        "is the largest ratio of the measured share to that, over all epsilon: above 1 it is violated."
    )
    console.print(f"{len(made)} files of figures and numbers.json are in {output}.")
    kept = sum(claim.holds for claim in claims)
    console.print(f"{kept} of {len(claims)} claims are as the paper has them.")


def _table_of_claims(claims: list[Any], variant: str, n_bags: int) -> Table:
    table = Table(title=f"The paper's claims (data of the {variant}, {n_bags:,} bags)")
    for column in ("Setting", "The paper says", "Found at its test point", "Verdict", "Over ten test points"):
        table.add_column(column, justify="center" if column in ("Setting", "Verdict") else "left")
    for claim in claims:
        verdict = "[green]as the paper[/]" if claim.holds else "[red]not here[/]"
        table.add_row(str(claim.setting), claim.says, claim.found, verdict, claim.over_points)
    return table


class _progress:  # noqa: N801 (used like a function)
    """Bars with the time left, where there is a terminal to show them."""

    def __init__(self, console: Console) -> None:
        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.completed:,} of {task.total:,} fits"),
        )
        times = (TimeElapsedColumn(), TextColumn("left:"), TimeRemainingColumn())
        self.progress = Progress(*columns, *times, console=console, disable=not console.is_terminal)

    def __enter__(self) -> Callable[[str, int], Callable[[int, int], None]]:
        self.progress.start()
        return self._track

    def __exit__(self, *error: object) -> None:
        self.progress.stop()

    def _track(self, name: str, total: int) -> Callable[[int, int], None]:
        task = self.progress.add_task(name, total=total)
        return lambda done, total: self.progress.update(task, completed=done, total=total)


def _scheme(name: str, bag_size: str | None) -> ResamplingScheme:
    if bag_size is None:
        return SCHEMES[name]()  # type: ignore[call-arg]
    try:
        size = float(bag_size) if "." in bag_size or "e" in bag_size else int(bag_size)
    except ValueError:
        raise ValueError(f"--bag-size is a number of rows, or a fraction of them. Got {bag_size!r}.") from None
    return SCHEMES[name](size)


def _whole(text: str, name: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise ValueError(f"{name} is a whole number, or inf. Got {text!r}.") from None


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _one_sentence(error: BaseException) -> str:
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return lines[0]


if __name__ == "__main__":
    main()
