"""`ColumnReader`: a `ColumnTransformer` of scikit-learn as branches, which are fitted to the rows of a bag by numpy."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline

from stablebag.learning.solvers.branches import Branch, Found, branch_of
from stablebag.learning.solvers.pipelines import check_pipeline
from stablebag.learning.solvers.solver import NotCovered

_COVERED = {
    "remainder": "drop", "sparse_threshold": 0.0, "n_jobs": None, "transformer_weights": None, "verbose": False,
    "verbose_feature_names_out": True, "force_int_remainder_cols": "deprecated",
}  # fmt: skip


@dataclass(frozen=True)
class ColumnReader:
    """What reads the columns of a frame, without data.

    Attributes
    ----------
    branches : tuple of Branch
        The branches, in the order of their columns in the matrix.
    names : list of str
        The names of the columns of the frame.
    """

    branches: tuple[Branch, ...]
    names: list[str]

    @classmethod
    def of(cls, transformer: ColumnTransformer, names: list[str]) -> "ColumnReader":
        """Return the reader that is a transformer of a frame with these columns, or raise `NotCovered`."""
        parameters = transformer.get_params(deep=False)
        if extra := sorted(vars(transformer).keys() - parameters.keys()):
            raise NotCovered(f"this ColumnTransformer has the attribute {extra[0]}")
        for name, value in _COVERED.items():
            if name in parameters and parameters[name] != value:
                raise NotCovered(f"ColumnTransformer({name}={parameters[name]!r}) is not covered")
        for _, step, _ in transformer.transformers:
            if type(step) is Pipeline:
                check_pipeline(step)
        reader = cls(tuple(branch_of(step, columns) for _, step, columns in transformer.transformers), names)
        used = [name for columns in reader._columns for name in columns]
        if sorted(used) != sorted(names) or len(set(names)) != len(names):
            raise NotCovered("a table with columns that are read twice, or not at all, is not covered")
        return reader

    @cached_property
    def _columns(self) -> list[list[str]]:
        """The columns of each branch."""
        return [[branch.columns] if isinstance(branch.columns, str) else branch.columns for branch in self.branches]

    def look(self, X: Any) -> list[Any]:
        """Return what the branches make of every row by itself; raise `NotCovered` if that is not known."""
        if type(X).__module__.partition(".")[0] != "pandas" or type(X).__name__ != "DataFrame":
            raise NotCovered(f"a table of type {type(X).__name__} is not covered")
        if not len(X) or list(X.columns) != self.names:
            raise NotCovered("a table without rows, or with other columns, is not covered")
        return [branch.look(X) for branch in self.branches]

    def fit(self, seen: list[Any], rows: np.ndarray) -> tuple[np.ndarray, list[Found]]:
        """Return the rows of a bag as float32, column by column in memory, and what each branch found in them."""
        blocks, found = zip(*map(lambda branch, its: branch.fit(its, rows), self.branches, seen), strict=True)
        return _joined(blocks, "F"), list(found)

    def transform(self, seen: list[Any], found: list[Found]) -> np.ndarray:
        """Return all rows that were looked at as float32, row by row in memory, by what was found in a bag."""
        return _joined([branch.transform(*its) for branch, *its in zip(self.branches, seen, found, strict=True)], "C")

    def fill(self, transformer: Any, found: list[Found], n_rows: int) -> int:
        """Give an unfitted transformer the attributes that its fit would have set; return the columns of its matrix."""
        place = {name: number for number, name in enumerate(self.names)}
        transformer.feature_names_in_ = np.array(self.names, dtype=object)
        transformer.n_features_in_ = len(self.names)
        transformer._columns = [columns for _, _, columns in transformer.transformers]
        transformer._remainder, transformer.sparse_output_ = ("remainder", "drop", []), False
        inputs, outputs, fitted, first = {}, {}, [], 0
        for branch, names, its, (name, step, columns) in zip(
            self.branches, self._columns, found, transformer.transformers, strict=True
        ):
            step = clone(step)
            branch.fill([part for _, part in step.steps], its, n_rows)
            inputs[name], outputs[name] = [place[one] for one in names], slice(first, first + branch.width(its))
            fitted.append((name, step, columns))
            first = outputs[name].stop
        transformer._transformer_to_input_indices = {**inputs, "remainder": []}
        transformer.output_indices_ = {**outputs, "remainder": slice(0, 0)}
        transformer.transformers_ = fitted
        return first


def _joined(blocks: Any, order: Any) -> np.ndarray:
    """Blocks side by side, as float32."""
    ends = np.cumsum([0, *(block.shape[1] for block in blocks)]).tolist()
    matrix = np.empty((len(blocks[0]), ends[-1]), dtype=np.float32, order=order)
    for first, block in zip(ends, blocks, strict=False):
        matrix[:, first : first + block.shape[1]] = block
    return matrix
