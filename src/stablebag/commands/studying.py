"""A study ordered from the command line: run with progress, printed, and written to the files asked for."""

import json
import math
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from sklearn.model_selection import train_test_split

from stablebag._wording import ROWS, Noun
from stablebag.commands import tables
from stablebag.commands.options import scheme_of
from stablebag.commands.printing import finite, progress, say
from stablebag.commands.saving import Saving
from stablebag.resampling.row_ids import plain
from stablebag.resampling.scheme import ResamplingScheme
from stablebag.showing.decisions import Decisions
from stablebag.showing.study import Study, study


@dataclass(frozen=True)
class StudyOrder:
    """What to study, and where the results go.

    Attributes
    ----------
    title : str
        The title of the report.
    command : str
        The command that reproduces the report.
    model : str
        The name of the learner.
    parameters : tuple of str
        The parameters of the learner, as ``name=value``.
    scheme : ResamplingScheme
        How bags are drawn.
    n_bags : int
        The number of bags.
    n_points : int
        The number of held-out rows at which perturbations are measured.
    n_refits : int
        The number of training rows, or units, without which the base learner is refitted.
    jobs : int
        The number of fits in parallel.
    seed : int
        The seed of everything.
    output : Path or None
        Where the report goes.
    numbers : Path or None
        Where the numbers go.
    saving : Saving or None
        The order to save the bagged model.
    """

    title: str
    command: str
    model: str = "tree"
    parameters: tuple[str, ...] = ()
    scheme: ResamplingScheme = scheme_of("subbagging", None)  # noqa: RUF009 (frozen)
    n_bags: int = 500
    n_points: int = 20
    n_refits: int = 200
    jobs: int = 2
    seed: int = 0
    output: Path | None = None
    numbers: Path | None = None
    saving: Saving | None = None

    @classmethod
    def from_options(cls, options: dict[str, Any], title: str) -> "StudyOrder":
        """Return what the options of the command line ask for."""
        return cls(
            title=title,
            command="stablebag " + shlex.join(sys.argv[1:]),
            model=options["model"],
            parameters=options["parameters"],
            scheme=scheme_of(options["scheme"], options["bag_size"]),
            n_bags=options["n_bags"],
            n_points=options["points"],
            n_refits=options["refits"],
            jobs=options["jobs"],
            seed=options["seed"],
            output=options["output"],
            numbers=options["json_path"],
            saving=Saving.order(options.get("save"), options),
        )

    def carry_out(
        self, X: Any, y: Any, X_test: Any, y_test: Any, task: str, notes: list[str], groups: Any = None
    ) -> None:
        """Run the study with progress, print it, and write what was asked for; groups are the units of the rows."""
        for path in (self.output, self.numbers):
            if path is not None and not path.resolve().parent.is_dir():
                raise tables.TableError(f"There is no folder {path.resolve().parent} to write {path.name} to.")
        learner = tables.make_learner(self.model, task, tables.parse_parameters(self.parameters))
        pipeline = tables.Columns.of(X).pipeline(learner)
        console, n_refits = Console(), min(self.n_refits, len(y) if groups is None else groups.nunique())
        with progress(console, f"{self.n_bags:,} bags, and {n_refits:,} refits of the base learner"):
            result = study(
                pipeline,
                X,
                y,
                X_test,
                y_test,
                groups=groups,
                scheme=self.scheme,
                n_bags=self.n_bags,
                n_points=self.n_points,
                n_refits=n_refits,
                n_jobs=self.jobs,
                random_state=self.seed,
            )
        if result.decisions is not None:
            _print_decisions(console, result)
        for note in notes:
            say(console, note)
        _print(console, result)
        if self.numbers is not None:
            self.numbers.write_text(json.dumps(_numbers(result), indent=1) + "\n")
            say(console, f"The numbers are in {self.numbers}.")
        if self.output is not None:
            from stablebag.showing.report.page import write

            write(self.output, result, title=self.title, rows=X, command=self.command, notes=tuple(notes))
            say(console, f"The report is in {self.output}.")
        if self.saving is not None:
            say(console, self.saving.carry_out(result.model))


def held_out(X: Any, y: Any, test_size: float, task: str, seed: int) -> tuple[Any, Any, Any, Any]:
    """Hold out some rows, stratified by class if possible; return X, X_test, y, y_test."""
    if not 0 < test_size < 1:
        raise ValueError(f"--test-size is a share of the rows between 0 and 1. Got {test_size:g}.")
    counts = np.unique(y, return_counts=True)[1]
    by_class = y if task == "classification" and counts.min() >= 2 and len(counts) <= test_size * len(y) else None
    X, X_test, y, y_test = train_test_split(X, y, test_size=test_size, random_state=seed, stratify=by_class)
    return X, X_test, y, y_test


def _print(console: Console, result: Study) -> None:
    noun = result.noun
    one, whose = ("training row", "training rows") if noun == ROWS else (noun.singular, noun.plural)
    table = Table(title=f"How far one {one} moves {result.distance}; averages over the test points")
    table.add_column(f"over the {noun.plural}")
    for name in ("base learner", "bagged", "bagged, proved"):
        table.add_column(name, justify="right")
    for name, *values in result.comparison():
        table.add_row(name, *("" if math.isnan(value) else f"{value:.4g}" for value in values))
    for name, pair in result.scores.items():
        table.add_row(f"held out: {name}", *(f"{value:.4g}" for value in pair), "")
    if result.coverage is not None:
        table.add_row("held out: coverage of 90 % intervals", "", f"{result.coverage:.3g}", "")
    console.print(table)
    if result.decisions is None:
        say(console, result.verdict())
    if result.anew is not None:
        told = " ".join(result.anew.explain().split())
        again = f"Fitted again with the same seed, {told[0].lower()}{told[1:]}"
        price = getattr(result.proved, "about_bags", str)()
        say(console, " ".join(filter(None, ["What is proved in the table is for these bags, reused.", price, again])))
    rows, effects = result.most_influential(5)
    named = ", ".join(f"{_called(row, noun)} ({effect:.3g})" for row, effect in zip(rows, effects, strict=True))
    say(console, f"The {whose} that move the predictions most: {named}.")


def _print_decisions(console: Console, result: Study) -> None:
    """The conclusion about classes: decisions first, then probabilities, and which rows flip most."""
    assert result.decisions is not None
    say(console, result.verdict())
    names, counts = result.decisions.most_flips(5)
    if len(names):
        whose = "training rows" if result.noun == ROWS else result.noun.plural
        named = ", ".join(
            f"{_called(name, result.noun)} ({count:,})" for name, count in zip(names, counts, strict=True)
        )
        say(console, f"The {whose} that flip most decisions: {named}.")
    say(console, "This is measured; `stablebag sets` gives sets of labels that are proved to be stable.")


def _called(name: Any, noun: Noun) -> str:
    """What a row or unit is called in a sentence: "patient 17", and not "patient patient 17"."""
    text = "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in str(plain(name)))
    return text if text.lower().startswith(noun.singular) else f"{noun.singular} {text}"


def _numbers(result: Study) -> dict[str, Any]:
    assert result.base is not None
    assert result.anew is not None
    assert result.error is not None
    decisions = {} if result.decisions is None else {"decisions": _decisions(result.decisions)}
    return {
        **decisions,
        "task": result.task,
        "unit": result.noun.singular,
        "n_samples": result.n_samples,
        "n_rows": result.model.units_.n_rows,
        "n_refits_of_the_base_learner": len(result.base.rows),
        "proved_of_these_bags": result.proved.explain(),
        "proved_of_bags_drawn_anew": result.anew.explain(),
        "verdict": result.verdict(),
        "perturbations": {
            name: {"base": before, "bagged": after, "proved": finite(proved)}
            for name, before, after, proved in result.comparison()
        },
        "held_out": {name: {"base": a, "bagged": b} for name, (a, b) in result.scores.items()},
        "most_influential": [
            {result.noun.singular: _written(row), "root_mean_square_effect": float(effect)}
            for row, effect in zip(*result.most_influential(15), strict=True)
        ],
        "leave_one_out_error": {"value": result.error.value, "standard_error": result.error.standard_error},
        "coverage": result.coverage,
    }


def _decisions(decisions: Decisions) -> dict[str, Any]:
    numbers: dict[str, Any] = {
        "conclusion": decisions.conclusion(),
        "n_held_out": len(decisions),
        "n_flipped": decisions.n_flipped,
        "n_not_flipped": len(decisions) - decisions.n_flipped,
        "most_flips": [
            {decisions.noun.singular: _written(name), "decisions": int(count)}
            for name, count in zip(*decisions.most_flips(15), strict=True)
        ],
    }
    if decisions.base is not None:
        first = len(decisions.base)
        numbers["at_the_first"] = {
            "n_held_out": first,
            "base": int((decisions.base > 0).sum()),
            "bagged": int((decisions.by_point[:first] > 0).sum()),
        }
    return numbers


def _written(name: Any) -> Any:
    """A name that JSON takes."""
    name = plain(name)
    return name if isinstance(name, int | float | str) else str(name)
