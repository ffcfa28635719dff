"""Trees after a `ColumnTransformer`, as the command line builds them."""

import importlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from sklearn import get_config
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler
from sklearn.utils import check_array

from stablebag.fast.linear import LARGEST, ScalerStep, check_pipeline, check_settings, column_sums, fill_imputer, is_nan
from stablebag.fast.native.library import Forest, TreeArrays, library
from stablebag.fast.trees import MOST_ROWS, GrowthPlan, Trees, fill_tree, values_of
from stablebag.models.learners import Copies
from stablebag.models.rows import Points, take_rows
from stablebag.models.solving import (
    RELEASE,
    FitJob,
    NotCovered,
    Predictor,
    Solver,
    Structure,
    anything,
    check_parameters,
)

# ------------------------------------------------------------------------------------------------------------- branches
# The branches of a column reader for numbers, categories and texts, each fitted to a bag with numpy.

_FLOATS = (np.float64, np.float32)
_SCALER = ScalerStep(with_mean=True, with_std=True)


class Found(NamedTuple):
    """What a branch learned from a bag, in flat arrays."""

    numbers: np.ndarray
    places: np.ndarray
    names: np.ndarray


_NO_NUMBERS, _NO_PLACES, _NO_NAMES = np.empty(0), np.empty(0, np.int64), np.empty(0, object)


@dataclass(frozen=True)
class Branch(ABC):
    """What a reader does with some columns: a scikit-learn pipeline without data."""

    columns: list[str] | str
    function: Callable[..., Any] | None

    @abstractmethod
    def look(self, X: Any) -> Any:
        """Return what can be computed for each row independently, once for all bags; or raise `NotCovered`."""

    @abstractmethod
    def fit(self, seen: Any, rows: np.ndarray) -> tuple[np.ndarray, Found]:
        """Return the matrix of the rows of a bag and what was found, which depends on these rows only."""

    @abstractmethod
    def transform(self, seen: Any, found: Found) -> np.ndarray:
        """Return the matrix of all rows, transformed with what was found in a bag."""

    @abstractmethod
    def fill(self, steps: list[Any], found: Found, n_rows: int) -> None:
        """Set the attributes on the unfitted steps of the pipeline that their fits would have set."""

    @abstractmethod
    def width(self, found: Found) -> int:
        """Return the number of columns of the matrix."""

    def _applied(self, X: Any) -> Any:
        """The columns, after the function."""
        part = X[self.columns]
        if self.function is None:
            return part
        try:
            return self.function(part)
        except Exception as error:
            raise NotCovered(f"{_name_of(self.function)} fails on some rows") from error

    def _name(self, step: Any) -> None:
        """Set the names of the columns on a step."""
        step.feature_names_in_ = np.array(self.columns, dtype=object)
        step.n_features_in_ = len(self.columns)


class Matrix(NamedTuple):
    """Numbers of all rows, and whether scikit-learn gets those of a bag in row-major order."""

    values: np.ndarray
    missing: np.ndarray
    by_row: bool
    any_missing: bool


@dataclass(frozen=True)
class NumberBranch(Branch):
    """Numbers, perhaps from a function of columns: imputed, perhaps with missing-value indicators, and scaled.

    Found: the statistics of the imputer, the means, variances and scales, and the places of columns with indicators.
    """

    strategy: str
    marks: bool

    def look(self, X: Any) -> Matrix:
        if self.function is None and any(
            not isinstance(kind, np.dtype) or kind.kind not in "iuf" for kind in X[self.columns].dtypes
        ):
            raise NotCovered("columns whose type is not a numpy number are not covered")
        values = self._numbers(X)
        sample = self._numbers(take_rows(X, np.zeros(2, dtype=int)))
        if (
            sample.shape[1] == 0
            or values.dtype != np.float64
            or not (sample.flags.c_contiguous or sample.flags.f_contiguous)
        ):
            raise NotCovered("numbers of other types than float64 are not covered")
        missing = np.isnan(values)
        if not (np.abs(values[~missing]) <= LARGEST).all():
            raise NotCovered("numbers beyond 1e140 are not covered")
        by_row = bool(sample.flags.c_contiguous)
        values = np.ascontiguousarray(values if by_row else values.T)
        return Matrix(values, np.isnan(values), by_row, bool(missing.any()))

    def fit(self, seen: Matrix, rows: np.ndarray) -> tuple[np.ndarray, Found]:
        X, missing = seen.values.take(rows, 0 if seen.by_row else 1), seen.missing.take(rows, 0 if seen.by_row else 1)
        if not seen.by_row:
            X, missing = X.T, missing.T
        known = len(X) - np.count_nonzero(missing, axis=0) if seen.any_missing else np.full(X.shape[1], len(X))
        statistics = (_means if self.strategy == "mean" else _medians)(X, missing, known)
        places = np.flatnonzero(known < len(X)) if self.marks else _NO_PLACES
        np.copyto(X, statistics, where=missing)
        X, scaled = _SCALER.fit(self._marked(X, missing, places))
        return X, Found(np.concatenate([statistics, scaled]), places, _NO_NAMES)

    def transform(self, seen: Matrix, found: Found) -> np.ndarray:
        X, missing = (seen.values, seen.missing) if seen.by_row else (seen.values.T, seen.missing.T)
        d = X.shape[1]
        if seen.any_missing:
            X = np.where(missing, found.numbers[:d], X)
        return _SCALER.transform(self._marked(X, missing, found.places), found.numbers[d:])

    def fill(self, steps: list[Any], found: Found, n_rows: int) -> None:
        imputer, scaler = steps[-2:]
        d = self.width(found) - len(found.places)
        self._name(steps[0])
        imputer.n_features_in_ = d
        fill_imputer(imputer, found.numbers[:d])
        if self.marks:
            imputer.indicator_ = MissingIndicator(missing_values=imputer.missing_values, error_on_new=False)
            imputer.indicator_._precomputed, imputer.indicator_.features_ = True, found.places.copy()
            imputer.indicator_.n_features_in_ = imputer.indicator_._n_features = d
        scaler.n_features_in_ = d + len(found.places)
        _SCALER.fill(scaler, found.numbers[d:], n_rows)

    def width(self, found: Found) -> int:
        return (len(found.numbers) + len(found.places)) // 4

    def _numbers(self, X: Any) -> np.ndarray:
        """The columns as scikit-learn's imputer converts them."""
        try:
            numbers: np.ndarray = check_array(self._applied(X), dtype=_FLOATS, ensure_all_finite=False, copy=True)
        except (TypeError, ValueError) as error:
            raise NotCovered("columns that are not numbers are not covered") from error
        return numbers

    def _marked(self, X: np.ndarray, missing: np.ndarray, places: np.ndarray) -> np.ndarray:
        """The matrix with missing-value indicators of some columns, in the memory order that scikit-learn makes."""
        if not self.marks:
            return X
        return np.hstack((X, missing if len(places) == X.shape[1] else missing[:, places]))


class Codes(NamedTuple):
    """Categories of all rows, by their places among the sorted names of each column."""

    codes: list[np.ndarray]
    names: list[np.ndarray]
    of_name: list[dict[str, int]]


@dataclass(frozen=True)
class CategoryBranch(Branch):
    """One-hot categories; with more than `most`, the rarest share one column with those that the bag lacks.

    Found: the names of the categories; for each column, how many there are, how many are rare, and which.
    """

    most: int

    def look(self, X: Any) -> Codes:
        codes, names, of_name = [], [], []
        frame = self._applied(X)
        for place in range(frame.shape[1]):
            values = check_array(frame.iloc[:, place], ensure_2d=False, dtype=None, ensure_all_finite=False)
            if values.dtype != object or not all(type(value) is str for value in values):
                raise NotCovered("categories that are not strings are not covered")
            known = sorted(set(values))
            of_name.append({name: code for code, name in enumerate(known)})
            names.append(np.array(known, dtype=object))
            codes.append(np.array([of_name[-1][value] for value in values], dtype=np.int64))
        return Codes(codes, names, of_name)

    def fit(self, seen: Codes, rows: np.ndarray) -> tuple[np.ndarray, Found]:
        blocks, places, names = [], list[np.ndarray](), []
        for codes, known in zip(seen.codes, seen.names, strict=True):
            here = codes.take(rows)
            counts = np.bincount(here, minlength=len(known))
            there = counts.nonzero()[0]
            rare = self._rare(counts[there])
            target, width = _targets(len(there), rare)
            blocks.append(_one_hot(_lookup(len(known), there, target, rare, width)[here], width))
            places += [np.array([len(there), len(rare)]), rare]
            names.append(known[there])
        return np.hstack(blocks), Found(_NO_NUMBERS, np.concatenate(places), np.concatenate(names))

    def transform(self, seen: Codes, found: Found) -> np.ndarray:
        blocks = []
        for codes, of_name, (names, rare) in zip(seen.codes, seen.of_name, _by_column(found), strict=True):
            target, width = _targets(len(names), rare)
            place = np.array([of_name.get(name, -1) for name in names.tolist()], dtype=np.int64)
            there = place >= 0
            lookup = _lookup(len(of_name), place[there], target[there], rare, width)
            blocks.append(_one_hot(lookup[codes], width))
        return np.hstack(blocks)

    def fill(self, steps: list[Any], found: Found, n_rows: int) -> None:
        encoder = steps[-1]
        for step in steps:
            self._name(step)
        columns = list(_by_column(found))
        some = [len(rare) > 0 for _, rare in columns]
        targets = [_targets(len(names), rare) for names, rare in columns]
        encoder._infrequent_enabled, encoder.drop_idx_, encoder._drop_idx_after_grouping = True, None, None
        encoder.categories_ = [names.copy() for names, _ in columns]
        encoder._infrequent_indices = [
            rare.copy() if any_ else None for any_, (_, rare) in zip(some, columns, strict=True)
        ]
        encoder._default_to_infrequent_mappings = [
            target if any_ else None for any_, (target, _) in zip(some, targets, strict=True)
        ]
        encoder._n_features_outs = [width for _, width in targets]

    def width(self, found: Found) -> int:
        return sum(_targets(len(names), rare)[1] for names, rare in _by_column(found))

    def _rare(self, counts: np.ndarray) -> np.ndarray:
        """The places of the rare categories that share a column; ties go to the first ones."""
        if len(counts) < self.most:
            return _NO_PLACES
        return np.sort(np.argsort(counts, kind="stable")[: len(counts) - self.most + 1])


@dataclass(frozen=True)
class TextBranch(Branch):
    """Texts as hashed words, for each row independently: nothing is learned from a bag."""

    words: HashingVectorizer

    def look(self, X: Any) -> np.ndarray:
        values: np.ndarray = clone(self.words).transform(self._applied(X)).toarray()  # transform changes the vectorizer
        return values.astype(np.float32)

    def fit(self, seen: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, Found]:
        return seen.take(rows, axis=0), Found(_NO_NUMBERS, _NO_PLACES, _NO_NAMES)

    def transform(self, seen: np.ndarray, found: Found) -> np.ndarray:
        return seen

    def fill(self, steps: list[Any], found: Found, n_rows: int) -> None:
        steps[1]._stop_words_id = id(steps[1].stop_words)
        steps[2].n_features_in_ = self.words.n_features

    def width(self, found: Found) -> int:
        return int(self.words.n_features)


def branch_of(transformer: Any, columns: Any) -> Branch:
    """Return the branch for a scikit-learn pipeline and its columns, or raise `NotCovered`."""
    parts = [step for _, step in transformer.steps] if type(transformer) is Pipeline else [transformer]
    types = [type(part) for part in parts]
    if type(columns) is str and types == [FunctionTransformer, HashingVectorizer, FunctionTransformer]:
        check_parameters(parts[1], n_features=anything, alternate_sign=anything)
        check_parameters(parts[2])
        return TextBranch(columns, _function_of(parts[0]), parts[1])
    if type(columns) is list and all(type(name) is str for name in columns):
        if types == [FunctionTransformer, OneHotEncoder]:
            return CategoryBranch(columns, _function_of(parts[0]), _most_of(parts[1]))
        if types[-2:] == [SimpleImputer, StandardScaler] and types[:-2] in ([], [FunctionTransformer]):
            function = _function_of(parts[0]) if len(parts) == 3 else None
            return NumberBranch(columns, function, *_imputer_of(parts[-2], parts[-1]))
    raise NotCovered(f"columns read by {', '.join(kind.__name__ for kind in types)} are not covered")


def _function_of(transformer: FunctionTransformer) -> Callable[..., Any]:
    check_parameters(transformer, func=anything, feature_names_out=anything)
    if not getattr(transformer.func, "is_row_by_row", False):
        raise NotCovered(f"{_name_of(transformer.func)} is not known to transform each row independently")
    function: Callable[..., Any] = transformer.func
    return function


def _imputer_of(imputer: SimpleImputer, scaler: StandardScaler) -> tuple[str, bool]:
    check_parameters(
        imputer, missing_values=is_nan, strategy=("mean", "median"), add_indicator=(True, False),
        keep_empty_features=(True,),
    )  # fmt: skip
    check_parameters(scaler)
    return imputer.strategy, imputer.add_indicator


def _most_of(encoder: OneHotEncoder) -> int:
    check_parameters(
        encoder, handle_unknown=("infrequent_if_exist",), sparse_output=(False,),
        max_categories=lambda most: isinstance(most, int) and most > 1,
    )  # fmt: skip
    return int(encoder.max_categories)


def _name_of(function: Any) -> str:
    return str(getattr(function, "__name__", function))


def _means(X: np.ndarray, missing: np.ndarray, known: np.ndarray) -> np.ndarray:
    """The means of values that are not missing, rounded like those of a masked array; 0 if all are missing."""
    sums = column_sums(np.where(missing, 0.0, X) if (known < len(X)).any() else X)
    return np.where(known > 0, sums / np.maximum(known, 1), 0.0)


def _medians(X: np.ndarray, missing: np.ndarray, known: np.ndarray) -> np.ndarray:
    """The medians of values that are not missing; 0 if all are missing."""
    ordered, columns = np.sort(X, axis=0), np.arange(X.shape[1])  # NaN come last
    low, high = ordered[np.maximum(known - 1, 0) // 2, columns], ordered[np.minimum(known // 2, len(X) - 1), columns]
    return np.where(known > 0, (low + high + 0.0) / 2.0, 0.0)  # never a negative zero


def _targets(n_names: int, rare: np.ndarray) -> tuple[np.ndarray, int]:
    """The column of each category (rare ones share the last), and the number of columns."""
    if not len(rare):
        return np.arange(n_names), n_names
    target = np.ones(n_names, dtype=np.int64)
    target[rare] = 0
    target = np.cumsum(target) - 1
    target[rare] = n_names - len(rare)
    return target, n_names - len(rare) + 1


def _lookup(count: int, places: np.ndarray, target: np.ndarray, rare: np.ndarray, width: int) -> np.ndarray:
    """The column of each known name; names that the bag lacks get the column of the rare ones, or -1."""
    lookup = np.full(count, width - 1 if len(rare) else -1)
    lookup[places] = target
    return lookup


def _one_hot(columns: np.ndarray, width: int) -> np.ndarray:
    block = np.zeros((len(columns), width), dtype=np.float32)
    rows = np.arange(len(columns)) if columns.min(initial=0) >= 0 else (columns >= 0).nonzero()[0]
    block[rows, columns[rows]] = 1.0
    return block


def _by_column(found: Found) -> Any:
    """Yield the category names and the places of the rare ones, column by column."""
    place = name = 0
    while place < len(found.places):
        n_names, n_rare = found.places[place : place + 2].tolist()
        yield found.names[name : name + n_names], found.places[place + 2 : place + 2 + n_rare]
        place, name = place + 2 + n_rare, name + n_names


# -------------------------------------------------------------------------------------------------------- column reader
# `ColumnReader`: scikit-learn's `ColumnTransformer` as branches.

_COVERED = {
    "remainder": "drop", "sparse_threshold": 0.0, "n_jobs": None, "transformer_weights": None, "verbose": False,
    "verbose_feature_names_out": True,
    "force_int_remainder_cols": ColumnTransformer([]).get_params(deep=False).get("force_int_remainder_cols"),
}  # fmt: skip


@dataclass(frozen=True)
class ColumnReader:
    """A `ColumnTransformer` without data.

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
        """Return the reader for a transformer of a frame with these columns, or raise `NotCovered`."""
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
            raise NotCovered("columns that are used twice, or not at all, are not covered")
        return reader

    @cached_property
    def _columns(self) -> list[list[str]]:
        """The columns of each branch."""
        return [[branch.columns] if isinstance(branch.columns, str) else branch.columns for branch in self.branches]

    def look(self, X: Any) -> list[Any]:
        """Return what the branches compute for each row independently, or raise `NotCovered`."""
        if type(X).__module__.partition(".")[0] != "pandas" or type(X).__name__ != "DataFrame":
            raise NotCovered(f"a table of type {type(X).__name__} is not covered")
        if not len(X) or list(X.columns) != self.names:
            raise NotCovered("a table without rows, or with other columns, is not covered")
        return [branch.look(X) for branch in self.branches]

    def fit(self, seen: list[Any], rows: np.ndarray) -> tuple[np.ndarray, list[Found]]:
        """Return the rows of a bag as column-major float32, and what each branch found in them."""
        blocks, found = zip(*map(lambda branch, its: branch.fit(its, rows), self.branches, seen), strict=True)
        return _joined(blocks, "F"), list(found)

    def transform(self, seen: list[Any], found: list[Found]) -> np.ndarray:
        """Return all rows as row-major float32, transformed with what was found in a bag."""
        return _joined([branch.transform(*its) for branch, *its in zip(self.branches, seen, found, strict=True)], "C")

    def fill(self, transformer: Any, found: list[Found], n_rows: int) -> int:
        """Set the attributes on an unfitted transformer that its fit would have set; return its number of columns."""
        place = {name: number for number, name in enumerate(self.names)}
        transformer.feature_names_in_ = np.array(self.names, dtype=object)
        transformer.n_features_in_ = len(self.names)
        transformer._columns = [columns for _, _, columns in transformer.transformers]
        transformer._remainder, transformer.sparse_output_ = ("remainder", "drop", _no_columns()), False
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


def _no_columns() -> Any:
    """The remaining columns (none), as scikit-learn's own type of list."""
    if RELEASE >= 7:
        return []
    return importlib.import_module("sklearn.compose._column_transformer")._RemainderColsList([], future_dtype="str")


def _joined(blocks: Any, order: Any) -> np.ndarray:
    """Blocks side by side, as float32."""
    ends = np.cumsum([0, *(block.shape[1] for block in blocks)]).tolist()
    matrix = np.empty((len(blocks[0]), ends[-1]), dtype=np.float32, order=order)
    for first, block in zip(ends, blocks, strict=False):
        matrix[:, first : first + block.shape[1]] = block
    return matrix


# ------------------------------------------------------------------------------------------------------- tree pipelines
# The solver: numpy fits the column reader to each bag, and the library grows the tree.


class ReadTree(NamedTuple):
    """One bag's tree, and what its reader found: the concatenated arrays of all branches."""

    numbers: np.ndarray
    places: np.ndarray
    names: np.ndarray
    sizes: np.ndarray  # the lengths of each branch's parts
    n_rows: int
    nodes: np.ndarray
    impurity: np.ndarray
    n_samples: np.ndarray
    value: np.ndarray
    seen: np.ndarray
    max_depth: int

    @classmethod
    def of(cls, found: list[Found], n_rows: int, tree: TreeArrays) -> "ReadTree":
        """Combine what the reader found with the tree."""
        sizes = np.array([[len(part) for part in its] for its in found])
        numbers, places, names = map(np.concatenate, zip(*found, strict=True))
        return cls(numbers, places, names, sizes, n_rows, *tree)

    @property
    def tree(self) -> TreeArrays:
        """The tree."""
        return TreeArrays(*self[5:])

    @property
    def found(self) -> list[Found]:
        """What each branch found."""
        ends = self.sizes.cumsum(axis=0)
        parts = [np.split(flat, ends[:-1, kind]) for kind, flat in enumerate(self[:3])]
        return list(map(Found, *parts))


@dataclass(frozen=True, eq=False)
class ReadTreeStructure(Structure):
    """What the pipelines of all bags have in common."""

    learner: Pipeline
    names: list[str]
    classes: np.ndarray | None

    model_type = ReadTree

    def estimator(self, model: ReadTree, seed: int) -> Any:
        estimator = self._copies.copy(seed)
        (_, reader), (_, tree) = estimator.steps
        n_features = self.reader.fill(reader, model.found, model.n_rows)
        fill_tree(tree, model.tree, n_features, self.classes)
        return estimator

    def predictor(self, points: Points) -> Predictor | None:
        if library() is None or get_config()["transform_output"] != "default":
            return None
        try:
            seen = self.reader.look(points.X)
        except NotCovered:
            return None
        n_outputs = 1 if self.classes is None else len(self.classes)

        def predict(models: Sequence[ReadTree]) -> np.ndarray:
            lines = np.empty((len(models), points.n_points, n_outputs))
            for place, model in enumerate(models):
                with np.errstate(all="ignore"):
                    matrix = self.reader.transform(seen, model.found)
                if np.isfinite(matrix).all():
                    tree = model.tree
                    Forest([tree.nodes], [values_of(tree, self.classes)]).predict(matrix, lines[place : place + 1])
                else:
                    lines[place] = np.nan  # the estimator will raise an error
            return lines[:, :, 0] if self.classes is None else lines

        return predict

    @cached_property
    def reader(self) -> ColumnReader:
        """The column reader."""
        return ColumnReader.of(self.learner.steps[0][1], self.names)

    @cached_property
    def _copies(self) -> Copies:
        return Copies(self.learner)


class TreePipelines(Solver):
    """scikit-learn's trees after a `ColumnTransformer`, as the command line builds them. Needs the compiled library.

    What depends on one row only is computed once for all bags. What depends on several rows (medians, means, scales,
    categories) is computed for each bag from its own rows.
    """

    name = "reader and trees"
    learners = (Pipeline,)
    releases_lock = True

    def __init__(self, job: FitJob) -> None:
        check_settings()
        check_pipeline(job.learner)
        self._plan = GrowthPlan(job.learner.steps[-1][1], job)
        if not hasattr(job.X, "columns"):
            raise NotCovered(f"a table of type {type(job.X).__name__} is not covered")
        self.structure: ReadTreeStructure = ReadTreeStructure(job.learner, list(job.X.columns), job.classes)
        self._seen = self.structure.reader.look(job.X)

    @classmethod
    def takes(cls, learner: Any) -> bool:
        steps = learner.steps if type(learner) is Pipeline and isinstance(learner.steps, list) else []
        return [type(step[-1]) for step in steps] in [[ColumnTransformer, tree] for tree in Trees.learners]

    def fit(self, rows: np.ndarray, seed: int) -> ReadTree | None:
        if len(rows) > MOST_ROWS:
            return None
        try:
            with np.errstate(over="raise", divide="raise", invalid="raise"):
                matrix, found = self.structure.reader.fit(self._seen, rows)
            grower = self._plan.grower(matrix, self._plan.targets[rows])
            tree = self._plan.grow(grower, np.arange(len(rows)), seed)
        except (FloatingPointError, MemoryError):  # scikit-learn warns or raises, or needs less memory
            return None
        return ReadTree.of(found, len(rows), tree)
