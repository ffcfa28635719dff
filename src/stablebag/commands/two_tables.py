"""A table to learn from and one to predict: read and checked together, before anything is fitted, and written together.

`stablebag interval` and `stablebag sets` read their tables so, and `stablebag predict` its one.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from stablebag._wording import ROWS
from stablebag.commands import groups
from stablebag.commands.budget import settled
from stablebag.commands.large_tables import LargeTable, about_other_files, is_large, refuse_in_memory_only
from stablebag.commands.new_rows import NewRows
from stablebag.commands.options import scheme_of
from stablebag.commands.tables import TableError, TrainingTable, make_learner, parse_parameters
from stablebag.resampling.random_bags import RandomBags, random_n_bags
from stablebag.resampling.schemes import as_law

_OTHERWISE = {
    "regression": "Intervals are for numbers, but the target {0!r} has classes. Use stablebag sets, or --task "
    "regression if they are numbers.",
    "classification": "Sets are of labels, but the target {0!r} has numbers. Use stablebag interval, or --task "
    "classification if they are classes.",
}
_FEWEST_BAGS = 2


@dataclass(frozen=True)
class TwoTables:
    """A training table and the rows to predict, and the model that is to be fitted.

    Attributes
    ----------
    data : TrainingTable or LargeTable
        The table to learn from.
    new : NewRows
        The rows to predict.
    options : dict
        The options of the command line.
    """

    data: TrainingTable | LargeTable
    new: NewRows
    options: dict[str, Any]

    @classmethod
    def read(cls, options: dict[str, Any], test: Path, wanted: str) -> "TwoTables":
        """Read both tables for a command that is for regression or for classification."""
        if is_large(options):
            refuse_in_memory_only(options)
        data = LargeTable.from_options(options) if is_large(options) else TrainingTable.from_options(options)
        if data.task != wanted:
            raise TableError(_OTHERWISE[wanted].format(options["target"]))
        return cls(data, data.read_new(test), options)

    @property
    def X(self) -> Any:  # noqa: N802 (as everywhere)
        """The training rows."""
        return self.data.X

    @property
    def y(self) -> np.ndarray:
        """Their targets."""
        return self.data.y

    @property
    def groups(self) -> Any:
        """Their units, or None."""
        return self.data.groups

    @property
    def notes(self) -> list[str]:
        """Sentences about how the tables were read."""
        said = self.data.said or about_other_files(self.options)
        return [*said, *self.data.as_read.lines(), *self.new.said, self.data.covered()]

    @property
    def to_fit(self) -> dict[str, Any]:
        """What a model is fitted to; rows that are not in memory have their targets and units with them."""
        if isinstance(self.data, LargeTable):
            return {"X": self.X}
        return {"X": self.X, "y": self.y, "groups": self.groups}

    @property
    def suggestion(self) -> str:
        """Say in a sentence which column seems to tell units; "" if none does, or they are given."""
        some = self.data.X_test if isinstance(self.data, LargeTable) else self.X
        return groups.suggestion(some) if self.groups is None else ""

    @property
    def n_units(self) -> int:
        """The number of rows, or of units."""
        return len(self.y) if self.groups is None else int(self.groups.nunique())

    def model(self, console: Console, kind: Any, *, random_number: bool) -> Any:
        """Return a model of a kind that is to be fitted; scheme, learner and number of bags are checked.

        How many bags there is time for is settled here. If a theorem is for a random number of bags, their number is
        drawn, that many on average.
        """
        options = self.options
        learner = make_learner(options["model"], self.data.task, parse_parameters(options["parameters"]))
        pipeline, noun = self.data.pipeline(learner), ROWS if self.groups is None else groups.noun(self.groups)
        scheme = scheme_of(options["scheme"], options["bag_size"])
        about = {"n_bags": options["n_bags"], "n_refits": 0, "size_is_given": options["bag_size"] is not None}
        run = {"jobs": options["jobs"], "limit": options["time_limit"], "seed": options["seed"]}
        try:
            as_law(scheme, self.n_units, kind.__name__)
            load = settled(console, pipeline, self.X, self.y, scheme, units=self.n_units, noun=noun, **about, **run)
        except ValueError as error:
            raise TableError(noun.in_place_of_rows(str(error)) if noun != ROWS else str(error)) from error
        n_bags: int | RandomBags = load.n_bags
        if random_number:
            seed = np.random.default_rng([options["seed"], 1])  # not that of the bags
            n_bags = random_n_bags(load.scheme, self.n_units, load.n_bags, seed)
            if int(n_bags) < _FEWEST_BAGS:
                raise TableError(
                    f"The number of bags is drawn at random, {load.n_bags} on average, and came out as "
                    f"{int(n_bags)}. Take more of them with --n-bags."
                )
        jobs, seed_of_bags = options["jobs"], options["seed"]
        return kind(pipeline, scheme=load.scheme, n_bags=n_bags, n_jobs=jobs, random_state=seed_of_bags)


def about_bags(model: Any) -> str:
    """Say in a sentence how many bags were fitted, if that was drawn at random; "" otherwise."""
    if not isinstance(model.n_bags, RandomBags):
        return ""
    return f"{int(model.n_bags):,} bags were fitted: a number drawn at random, for which this is proved."
