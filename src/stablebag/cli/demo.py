"""`stablebag demo`: `stablebag measure` on two data sets that come with scikit-learn."""

import shlex
from pathlib import Path

import click

from stablebag.cli.options import OUTPUT, Command, option, run_options
from stablebag.cli.printing import open_console, say

_DATA = {"diabetes": "progression", "breast-cancer": "diagnosis"}  # and their targets


@click.command(cls=Command)
@option("--output", type=click.Path(file_okay=False, path_type=Path), default=Path("stablebag-demo"), metavar="FOLDER",
        group=OUTPUT, default_text="stablebag-demo", help="Folder for the tables and reports.")  # fmt: skip
@run_options
def demo(output: Path, jobs: int, seed: int) -> None:
    """Measure a decision tree on two data sets of scikit-learn.

    The data are diabetes (numbers) and breast cancer (classes). The command writes both tables, and runs `stablebag
    measure` with a report on each.

    \b
    Example:
      stablebag demo --output somewhere
    """
    from sklearn.datasets import load_breast_cancer, load_diabetes

    from stablebag.cli.measure import measure, measure_table

    output.mkdir(parents=True, exist_ok=True)
    console = open_console()
    for (name, target), load in zip(_DATA.items(), (load_diabetes, load_breast_cancer), strict=True):
        data = load(as_frame=True)
        frame = data.frame.rename(columns={"target": target})
        if name == "breast-cancer":
            frame[target] = data.target_names[data.target.to_numpy()]
        frame.to_csv(path := output / f"{name}.csv", index=False)
        given = {"--target": target, "--n-bags": 500, "--refits": 150, "--jobs": jobs, "--seed": seed,
                 "--output": output / f"{name}.html"}  # fmt: skip
        arguments = [str(path), *(str(part) for pair in given.items() for part in pair)]
        command = f"stablebag measure {shlex.join(arguments)}"
        console.rule(name)
        say(console, f"{command}\n")
        measure_table(measure.make_context("measure", arguments).params, command)
        console.print()
