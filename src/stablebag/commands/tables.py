"""A table from a file as training data: its target, its rows' names, its columns, and new rows read as it was."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from stablebag._wording import ROWS, Noun
from stablebag.commands.choices import as_written, chosen_kinds, named_columns, refuse_roles
from stablebag.commands.columns import Columns, plain_frame
from stablebag.commands.describing import described
from stablebag.commands.files import read_file
from stablebag.commands.groups import about_dropped, listed, of_repeats, split_group
from stablebag.commands.kinds import Decision, decide
from stablebag.commands.learners import MODELS, TASKS, make_learner, parse_parameters
from stablebag.commands.new_rows import NewRows, Reading
from stablebag.commands.noticing import about_leaks, about_two_ways, leaks, nearly_numbers
from stablebag.commands.parts import name_of
from stablebag.commands.refusals import TableError, refuse_unknown
from stablebag.commands.row_names import about_ids, index_of, names_of, numbered
from stablebag.commands.targets import about_ratings, split_target
from stablebag.showing.data_as_read import DataAsRead

# Commands ask this file for all that they need of tables.
__all__ = [
    "MODELS", "TASKS", "Columns", "NewRows", "Reading", "TableError", "TrainingTable", "make_learner",
    "parse_parameters",
]  # fmt: skip


@dataclass(frozen=True)
class TrainingTable:
    """A training table: what is learned from, what is predicted, and how it was read.

    Attributes
    ----------
    X : DataFrame
        The columns that are learned from; the index has the names of the rows, if there are ids.
    y : ndarray
        The targets.
    groups : Series or None
        The units of the rows.
    reading : Reading
        How new rows are read in the same way.
    as_read : DataAsRead
        How the table was read, for people.
    n_without_target : int
        The number of rows that were left out because their target is missing.
    decisive : tuple
        The rows or units without which a column, or the target, would be read otherwise.
    """

    X: Any
    y: np.ndarray
    groups: Any
    reading: Reading
    as_read: DataAsRead
    n_without_target: int
    decisive: tuple[Any, ...]

    @property
    def n_rows(self) -> int:
        """The number of rows of the file."""
        return len(self.y) + self.n_without_target

    @property
    def said(self) -> tuple[str, ...]:
        """What is to be said of where the rows are: nothing, as they are in memory."""
        return ()

    @property
    def task(self) -> str:
        """Whether it is "regression" or "classification"."""
        return self.reading.task

    @classmethod
    def from_options(cls, options: Mapping[str, Any]) -> "TrainingTable":
        """Read the table that the options of the command line ask for."""
        about: dict[str, Any] = {"separator": options.get("sep"), "encoding": options.get("encoding")}
        if literal := as_written(options.get("kinds", ())):
            about["as_written"] = literal
        read = read_file(options["table"], **about)
        raw, target, group = plain_frame(read.frame), options["target"], options.get("group")
        for name in (target, *[group] * (group is not None)):
            refuse_unknown(raw.columns, name)
        ids, drop = (named_columns(raw.columns, options.get(name, ())) for name in ("ids", "drop"))
        refuse_roles(target, group, ids, drop)
        chosen = chosen_kinds(raw.columns, options.get("kinds", ()))
        table = raw[_has_target(raw, target, chosen, options.get("decimal"))]
        if len(table) < 2:
            many = "is missing in every row" if not len(table) else "is known in one row, and two are needed"
            raise TableError(f"The target {target!r} {many}.")
        groups = None
        if group is not None:
            groups = names_of(split_group(table.drop(columns=target), group, target)[1])
        X = table.drop(columns=[name for name in {group, *ids, *drop} if name is not None])
        units = None if groups is None else groups.factorize()[0]
        decision = decide(
            X, units, chosen=chosen, decimal=options.get("decimal"), separator=read.separator, target=target,
            task=options.get("task"),
        )  # fmt: skip
        columns = Columns({name: kind for name, kind in decision.kinds.items() if name != target})
        known = Columns({target: decision.kinds[target]}).read(table)
        _, y, task, _ = split_target(known, target, options.get("task"), has_classes=decision.has_classes)
        index = index_of(table, ids)
        typed = columns.read(X.drop(columns=target)).set_axis(index)
        names = index if groups is None else groups.drop_duplicates()
        decisive = _decisive(decision, names)
        leaking = leaks(typed, y, task, groups, skip=of_repeats(typed)[:1] if groups is None else ())
        noticed = [*nearly_numbers(X, columns), *about_two_ways(decision)]
        warned = about_leaks(leaking, target) + about_ratings(known[target], target, task, options.get("task"))
        warned += about_ids(index, ids) + (about_dropped(table[list(drop)]) if groups is None else [])
        as_read = DataAsRead(
            name=name_of(options["table"]),
            n_rows=len(y),
            columns=tuple(
                described(
                    table,
                    typed.assign(**{target: known[target].to_numpy()}),
                    decision.kinds,
                    target=target,
                    group=group,
                    ids=ids,
                    drop=drop,
                    leaking=[leak.column for leak in leaking],
                )
            ),
            said=(*read.said, *_decimals(decision, options.get("decimal"))),
            noticed=tuple(noticed),
            warned=tuple(warned),
            row_numbers="" if ids or group is not None else numbered(options["table"]),
        )
        if groups is not None:
            groups = groups.set_axis(index)
        known = {name: sorted(typed[name].dropna().astype(str).unique()) for name in columns.named("category")}
        reading = Reading(columns, target, decision.kinds[target], task, group, ids, about, known)
        return cls(typed, y, groups, reading, as_read, len(raw) - len(y), decisive)

    def covered(self, trained: Any = None) -> str:
        """Say in a sentence whether the guarantee covers also what the columns were taken for.

        Parameters
        ----------
        trained : Index, Series or None, default=None
            The rows or units that are trained on; None if all are.
        """
        names = self.X.index if self.groups is None else self.groups
        trained = names if trained is None else trained
        among = set(trained)
        found = [name for name in self.decisive if name in among]
        noun = ROWS if self.groups is None else Noun.of_column(self.groups.name)
        if not found:
            return (
                f"Without any single {noun.singular}, every column would be read as it is, so the guarantee covers the "
                "reading as well."
            )
        one = len(found) == 1
        which = f"{noun.singular if one else noun.plural} {listed([str(name) for name in found])}"
        numbers = f" {self.as_read.row_numbers}" if self.as_read.row_numbers else ""
        return (
            f"Without {'' if one else 'one of '}the {which}, some column would be read otherwise, so the guarantee is "
            f"not about {'it' if one else 'them'} ({len(found):,} of {len(among):,}). --kind, --drop or --task decides "
            f"how it is read.{numbers}"
        )

    def pipeline(self, learner: Any) -> Any:
        """Return the learner behind a reader of these columns; all of it is fitted inside each bag."""
        return self.reading.columns.pipeline(learner)

    def read_new(self, path: str | Path, *, needs_target: bool = False) -> NewRows:
        """Read the rows of another file as those of this table were; needed targets must share a class with them."""
        new = self.reading.read_new(path, needs_target=needs_target)
        if needs_target and self.task == "classification" and new.y is not None and not set(new.y) & set(self.y):
            raise TableError(f"No class of {path} is in the training table.")
        return new


def _has_target(raw: Any, target: str, chosen: Mapping[str, str], decimal: str | None) -> Any:
    """Which rows have a target; one that must be a number and is none is missing."""
    there = raw[target].notna()
    if chosen.get(target) != "number" or not there.any():
        return there
    kinds = decide(raw[[target]], chosen=chosen, decimal=decimal).kinds
    return Columns(kinds).read(raw)[target].notna()


def _decisive(decision: Decision, names: Any) -> tuple[Any, ...]:
    """The names of the units without which something would be read otherwise."""
    found = list(decision.decisive.values())
    if not found:
        return ()
    return tuple(np.asarray(names, dtype=object)[np.unique(np.concatenate(found))].tolist())


def _decimals(decision: Decision, decimal: str | None) -> list[str]:
    """What is to be said of decimal commas, if they were recognised."""
    forms = [kind.form for kind in decision.kinds.values() if kind.name == "number"]
    return ["with ',' for decimals"] if decimal is None and any(form.startswith(",") for form in forms) else []
