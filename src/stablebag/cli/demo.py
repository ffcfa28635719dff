"""`stablebag demo`: reports on data that come with scikit-learn."""

from pathlib import Path

import click

from stablebag.cli.options import OUTPUT, Command, option, run_options
from stablebag.cli.printing import open_console


@click.command(cls=Command)
@option("--output", type=click.Path(file_okay=False, path_type=Path), default=Path("stablebag-demo"), metavar="FOLDER",
        group=OUTPUT, default_text="stablebag-demo", help="Folder for the reports.")  # fmt: skip
@run_options
def demo(output: Path, jobs: int, seed: int) -> None:
    """Measure a decision tree on two data sets of scikit-learn.

    The data are diabetes (numbers) and breast cancer (classes). Writes a report on each.

    \b
    Example:
      stablebag demo --output somewhere
    """
    from sklearn.datasets import load_breast_cancer, load_diabetes

    from stablebag.cli.measure import StudyRows, held_out, measure, run_study

    output.mkdir(parents=True, exist_ok=True)
    for name, load in (("diabetes", load_diabetes), ("breast-cancer", load_breast_cancer)):
        open_console().rule(f"{name}: a decision tree, and the same tree bagged")
        data = load(as_frame=True)
        task = "regression" if name == "diabetes" else "classification"
        y = data.target.to_numpy() if task == "regression" else data.target_names[data.target.to_numpy()].astype(str)
        X, X_test, y, y_test = held_out(data.data, y, 0.2, task, seed)
        note = f"scikit-learn's {name} data: trained on {len(y):,} rows, held out {len(y_test):,}."
        given = {"--target": "disease progression" if task == "regression" else "diagnosis", "--jobs": jobs,
                 "--n-bags": 500, "--refits": 150, "--seed": seed, "--output": output / f"{name}.html"}  # fmt: skip
        arguments = [f"scikit-learn's {name} data", *(str(part) for pair in given.items() for part in pair)]
        options = measure.make_context("measure", arguments).params
        run_study(StudyRows(X, y, X_test, y_test, task, notes=(note,)), options, f"stablebag demo --seed {seed}")
