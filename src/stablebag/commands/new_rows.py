"""How a training table was read, so that other rows are read in the same way, and results are written beside them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from stablebag.commands.columns import Columns, plain_frame
from stablebag.commands.files import read_file
from stablebag.commands.groups import listed
from stablebag.commands.kinds import Kind
from stablebag.commands.refusals import TableError, refuse_unknown
from stablebag.commands.row_names import index_of, names_of
from stablebag.commands.targets import targets_of


@dataclass(frozen=True)
class NewRows:
    """Rows of another table, read as the training table was.

    Attributes
    ----------
    frame : DataFrame
        The table as its file has it.
    X : DataFrame
        The columns that are learned from; the index has the names of the rows, if there are ids.
    y : ndarray or None
        The targets; None if the table has no such column, or some are missing.
    groups : Series or None
        The units of the rows; None if the table does not tell.
    said : tuple of str
        What could not be read as in the training table, and is missing.
    ids : tuple of str
        The columns that name rows.
    detected : tuple of str
        The columns that were taken for ids because of their names and values; nothing is learned from them.
    """

    frame: Any
    X: Any
    y: np.ndarray | None = None
    groups: Any = None
    said: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()
    detected: tuple[str, ...] = ()

    def kept(self, keep: tuple[str, ...]) -> list[str]:
        """Return the columns to write beside results: all, or those that --keep names and those taken for ids."""
        names = [name for some in keep for name in ([some] if some in self.frame.columns else some.split(","))]
        for name in names:
            refuse_unknown(self.frame.columns, name.strip())
        named = [*self.detected, *(name.strip() for name in names)]
        return list(dict.fromkeys(named)) if keep else list(self.frame.columns)

    def beside(self, results: dict[str, Any], kept: list[str], mark: str) -> Any:
        """Return a table of results: the number of each row, its ids, group and kept columns, and the results.

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

        kept = [*self.ids, *(name for name in kept if name not in self.ids)]
        columns: dict[str, Any] = {"row" + " of this table" * ("row" in kept): np.arange(len(self.frame))}
        if not self.ids and not isinstance(self.frame.index, pd.RangeIndex):
            columns[str(self.frame.index.name or "index")] = np.asarray(self.frame.index)
        if self.groups is not None:
            columns[str(self.groups.name)] = self.groups.to_numpy()
        columns |= {name: self.frame[name].to_numpy() for name in kept}
        taken = set(columns)
        columns |= {f"{name} ({mark})" if name in taken else name: values for name, values in results.items()}
        return pd.DataFrame(columns)


@dataclass(frozen=True)
class Reading:
    """How a training table was read.

    Attributes
    ----------
    columns : Columns
        What the columns are.
    target : str
        The name of the target.
    target_kind : Kind
        How the target is written.
    task : str
        "regression" or "classification".
    group : str or None
        The column that says whose rows are whose.
    ids : tuple of str
        The columns that name rows.
    file_options : mapping
        How files are read.
    categories : mapping of str to list of str
        The categories of the training table.
    """

    columns: Columns
    target: str
    target_kind: Kind
    task: str
    group: str | None = None
    ids: tuple[str, ...] = ()
    file_options: Mapping[str, Any] = field(default_factory=dict)
    categories: Mapping[str, list[str]] = field(default_factory=dict)

    @classmethod
    def from_dict(cls, written: Mapping[str, Any]) -> "Reading":
        """Return the reading that `to_dict` has written."""
        parts: dict[str, Any] = {"columns": Columns.from_dict(written["columns"])}
        parts["target_kind"] = Kind(*written["target_kind"])
        rest = {name: written[name] for name in ("target", "task", "group", "file_options", "categories")}
        return cls(**parts, **rest, ids=tuple(written["ids"]))

    def to_dict(self) -> dict[str, Any]:
        """Return the same as JSON takes it."""
        return {
            "target": self.target,
            "task": self.task,
            "group": self.group,
            "ids": list(self.ids),
            "columns": self.columns.to_dict(),
            "target_kind": [self.target_kind.name, self.target_kind.form],
            "file_options": dict(self.file_options),
            "categories": dict(self.categories),
        }

    def read_new(self, path: str | Path, *, needs_target: bool = False) -> NewRows:
        """Read the rows of another file as those of the training table were.

        If targets are needed, rows without one are left out; else the targets count only if none is missing.
        """
        raw = plain_frame(read_file(path, **self.file_options).frame)
        y, known = None, np.ones(len(raw), dtype=bool)
        if self.target in raw.columns:
            known = raw[self.target].notna().to_numpy()
            if needs_target and not known.any():
                raise TableError(f"The target {self.target!r} is missing in every row of {path}.")
        if needs_target:
            raw, known = raw[known], known[known]
        if self.target in raw.columns and known.all():
            y = self._targets(raw, path)
        X = self.columns.read(raw, f"the table {path}")
        lost = {name: int((raw[name].notna() & X[name].isna()).sum()) for name in X.columns}
        said = [
            f"{number:,} of {name!r} in {Path(path).name} cannot be read as {_many(self.columns.kinds[name])}, and are "
            "taken as missing."
            for name, number in lost.items()
            if number
        ]
        said += self._unseen(X, Path(path).name)
        groups = names_of(raw[self.group]) if self.group in raw.columns else None
        ids = tuple(name for name in self.ids if name in raw.columns)
        detected = tuple(name for name in self.columns.named("id") if name in raw.columns)
        index = index_of(raw.reset_index(drop=True), ids if len(ids) == len(self.ids) else ())
        return NewRows(raw.set_axis(index), X.set_axis(index), y, groups, tuple(said), ids, detected)

    def _unseen(self, X: Any, called: str) -> list[str]:
        """What is to be said of categories that the training table does not have."""
        said = []
        for name, known in self.categories.items():
            values = X[name].dropna().astype(str)
            if new := list(dict.fromkeys(values[~values.isin(known)])):
                number = int((~values.isin(known)).sum())
                many = (
                    f"{number:,} values of {name!r} in {called} are"
                    if number > 1
                    else f"1 value of {name!r} in {called} is"
                )
                said.append(f"{many} not in the training table ({listed(new)}), and taken as rare.")
        return said

    def _targets(self, raw: Any, path: str | Path) -> np.ndarray:
        read = Columns({self.target: self.target_kind}).read(raw, f"the table {path}")[self.target]
        if read.isna().any():
            row = int(np.argmax(read.isna().to_numpy()))
            found = str(raw[self.target].iloc[row])
            raise TableError(
                f"The target {self.target!r} in {path} is not a number: {found!r} in row {row}, counted "
                "from 0 below the header. Leave it empty, or leave the column out."
            )
        return targets_of(read, self.task, self.target)


def _many(kind: Kind) -> str:
    return "categories" if kind.name == "category" else f"{kind.name}s"
