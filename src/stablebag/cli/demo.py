"""`stablebag demo`: reports on data that come with scikit-learn."""

from pathlib import Path

import click

from stablebag.cli.options import run_options
from stablebag.cli.printing import open_console


@click.command()
@click.option("--output", type=click.Path(file_okay=False, path_type=Path), default=Path("stablebag-demo"),
              show_default=True, help="The folder for the reports.")  # fmt: skip
@run_options
def demo(output: Path, jobs: int, seed: int) -> None:
    """Write reports on data that come with scikit-learn: diabetes (numbers) and breast cancer (classes).

    \b
    Example:
      stablebag demo --output somewhere
    """
    from sklearn.datasets import load_breast_cancer, load_diabetes

    from stablebag.cli.studying import StudyOrder, held_out

    output.mkdir(parents=True, exist_ok=True)
    for name, load in (("diabetes", load_diabetes), ("breast-cancer", load_breast_cancer)):
        open_console().rule(f"{name}: a decision tree, and the same tree bagged")
        data = load(as_frame=True)
        task = "regression" if name == "diabetes" else "classification"
        y = data.target.to_numpy() if task == "regression" else data.target_names[data.target.to_numpy()].astype(str)
        X, X_test, y, y_test = held_out(data.data, y, 0.2, task, seed)
        notes = [f"scikit-learn's {name} data: trained on {len(y):,} rows, held out {len(y_test):,}."]
        order = StudyOrder(
            data=f"scikit-learn's {name} data",
            target="disease progression" if task == "regression" else "diagnosis",
            command=f"stablebag demo --seed {seed}",
            n_refits=150,
            jobs=jobs,
            seed=seed,
            output=output / f"{name}.html",
        )
        order.carry_out(X, y, X_test, y_test, task, notes)
