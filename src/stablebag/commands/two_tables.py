"""A table to learn from and one to predict: read and checked together, before anything is fitted, and written together.

`stablebag interval` and `stablebag sets` read their tables so, and `stablebag predict` its one.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from stablebag.commands import groups, tables
from stablebag.commands.options import scheme_of
from stablebag.commands.tables import TableError
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
class NewRows:
    """The rows to predict.

    Attributes
    ----------
    frame : DataFrame
        The table as it was read.
    X : DataFrame
        Its columns as in the training table.
    y : ndarray or None
        The targets, if the table has all of them.
    groups : Series or None
        The units of the rows, if the table has them.
    """

    frame: Any
    X: Any
    y: np.ndarray | None = None
    groups: Any = None

    @classmethod
    def read(cls, path: Path, X: Any, target: str, task: str, group: str | None) -> "NewRows":
        """Read the rows of a file as those of the training table X were."""
        frame = tables.read_table(path)
        points = tables.same_columns(X, frame, str(path))
        y = None
        if target in frame.columns:
            _refuse_targets(frame[target], target, task, path)
            if frame[target].notna().all():
                y = tables.targets_of(frame[target], task, target)
        return cls(frame, points, y, frame[group] if group in frame.columns else None)

    def beside(self, results: dict[str, Any], kept: list[str], mark: str) -> Any:
        """Return a table of results: the number of each row, its group and kept columns, and the results behind them.

        Parameters
        ----------
        results : dict of str to array
            The columns of results.
        kept : list of str
            The columns of the new rows that are kept.
        mark : str
            What is put behind the name of a result that a kept column has, too.
        """
        import pandas as pd

        columns: dict[str, Any] = {"row" if "row" not in kept else "row (number)": np.arange(len(self.frame))}
        if not isinstance(self.frame.index, pd.RangeIndex):
            columns[str(self.frame.index.name or "index")] = np.asarray(self.frame.index)
        if self.groups is not None:
            columns[str(self.groups.name)] = self.groups.to_numpy()
        columns |= {name: self.frame[name].to_numpy() for name in kept}
        taken = set(columns)
        columns |= {f"{name} ({mark})" if name in taken else name: values for name, values in results.items()}
        return pd.DataFrame(columns)

    def kept(self, keep: tuple[str, ...], otherwise: list[str]) -> list[str]:
        """Return the columns that --keep names, or else others; one that is not there is refused."""
        names = [name for some in keep for name in ([some] if some in self.frame.columns else some.split(","))]
        for name in names:
            tables.refuse_unknown(self.frame, name.strip())
        return list(dict.fromkeys(name.strip() for name in names)) if keep else otherwise


@dataclass(frozen=True)
class TwoTables:
    """A training table and the rows to predict, and the model that is to be fitted.

    Attributes
    ----------
    X : DataFrame
        The training rows.
    y : ndarray
        Their targets.
    groups : Series or None
        Their units.
    new : NewRows
        The rows to predict.
    options : dict
        The options of the command line.
    """

    X: Any
    y: np.ndarray
    groups: Any
    new: NewRows
    options: dict[str, Any]

    @classmethod
    def read(cls, options: dict[str, Any], test: Path, wanted: str) -> "TwoTables":
        """Read both tables for a command that is for regression or for classification."""
        target, group = options["target"], options["group"]
        X, y, task, _ = tables.split_target(tables.read_table(options["table"]), target, options["task"])
        if task != wanted:
            raise TableError(_OTHERWISE[wanted].format(target))
        X, units = (X, None) if group is None else groups.split_group(X, group, target)
        return cls(X, y, units, NewRows.read(test, X, target, task, group), options)

    @property
    def n_units(self) -> int:
        """The number of rows, or of units."""
        return len(self.y) if self.groups is None else int(self.groups.nunique())

    def model(self, kind: Any, *, random_number: bool) -> Any:
        """Return a model of a kind that is to be fitted; scheme, learner and number of bags are checked.

        If a theorem is for a random number of bags, their number is drawn, `--n-bags` on average.
        """
        options = self.options
        task = "regression" if kind.__name__ == "BaggedRegressor" else "classification"
        learner = tables.make_learner(options["model"], task, tables.parse_parameters(options["parameters"]))
        scheme = scheme_of(options["scheme"], options["bag_size"])
        noun = None if self.groups is None else groups.noun(self.groups)
        try:
            law = as_law(scheme, self.n_units, kind.__name__)
        except ValueError as error:
            raise TableError(str(error) if noun is None else noun.in_place_of_rows(str(error))) from error
        n_bags: int | RandomBags = options["n_bags"]
        if random_number:
            seed = np.random.default_rng([options["seed"], 1])  # not that of the bags
            n_bags = random_n_bags(law, self.n_units, options["n_bags"], seed)
            if int(n_bags) < _FEWEST_BAGS:
                raise TableError(
                    f"The number of bags is drawn at random, {options['n_bags']} on average, and came out as "
                    f"{int(n_bags)}. Take more of them with --n-bags."
                )
        return kind(
            tables.Columns.of(self.X).pipeline(learner),
            scheme=scheme,
            n_bags=n_bags,
            n_jobs=options["jobs"],
            random_state=options["seed"],
        )

    def about_bags(self, model: Any) -> str:
        """Say in a sentence how many bags were fitted, if that was drawn at random; "" otherwise."""
        if not isinstance(model.n_bags, RandomBags):
            return ""
        return (
            f"{int(model.n_bags):,} bags were fitted: a number drawn at random, {self.options['n_bags']:,} on average, "
            "for which this is proved."
        )


def _refuse_targets(column: Any, target: str, task: str, path: Path) -> None:
    """Refuse targets of the rows to predict that are not numbers, if numbers are predicted."""
    import pandas as pd

    if task != "regression" or column.dtype.kind in "iufb":
        return
    wrong = column[column.notna() & pd.to_numeric(column, errors="coerce").isna()]
    if len(wrong):
        raise TableError(
            f"The target {target!r} in {path} is not a number: {str(wrong.iloc[0])!r} in row {wrong.index[0]}, counted "
            "from 0 below the header. Leave it empty, or leave the column out."
        )
