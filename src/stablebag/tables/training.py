"""A table to learn from: `read_table` reads a file, decides what its columns are, and reads new rows as it was read."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from stablebag._wording import GROUPS, ROWS, option
from stablebag.models.rows import as_bytes
from stablebag.showing.report.page import ColumnAsRead, DataAsRead
from stablebag.showing.verdict import Finding
from stablebag.tables.columns import (
    Columns,
    InferredKinds,
    Kind,
    as_targets,
    column_remarks,
    describe_columns,
    infer_kinds,
    plain_frame,
    rating_warnings,
    split_target,
    target_remarks,
)
from stablebag.tables.leakage import Leak, leak_findings, leaks, reading_findings
from stablebag.tables.parquet import ParquetTable
from stablebag.tables.roles import (
    Roles,
    dropped_groups,
    first_row,
    likely_groups,
    read_names,
    repeated_ids,
    row_index,
    split_group,
)
from stablebag.tables.subsets import Remainder, TypedRows, plain_columns, read_rows
from stablebag.tables.text import (
    Parts,
    TableError,
    check_column_name,
    check_same_columns,
    folders_of,
    footers,
    is_parquet,
    listed,
    name_of,
    paths_of,
    read_file,
    size_in_memory,
    table_of,
)

# ------------------------------------------------------------------------------------------------------------- new rows
# How a training table was read, so that other rows are read in the same way, and results are written beside them.


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
        The group of each row; None if the table does not tell.
    notes : tuple of str
        What could not be read as in the training table, and is missing.
    ids : tuple of str
        The columns that name rows.
    recognised_ids : tuple of str
        The columns that were taken for ids because of their names and values; nothing is learned from them.
    """

    frame: Any
    X: Any
    y: np.ndarray | None = None
    groups: Any = None
    notes: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()
    recognised_ids: tuple[str, ...] = ()

    def columns_to_write(self, keep: tuple[str, ...]) -> list[str]:
        """Return the columns to write beside results: all, or those named and those taken for ids."""
        names = [name for some in keep for name in ([some] if some in self.frame.columns else some.split(","))]
        for name in names:
            check_column_name(self.frame.columns, name.strip())
        named = [*self.recognised_ids, *(name.strip() for name in names)]
        return list(dict.fromkeys(named)) if keep else list(self.frame.columns)

    def with_results(self, results: dict[str, Any], columns: list[str], mark: str) -> Any:
        """Return a table of results: the number of each row, its ids, group and some columns, and the results.

        Parameters
        ----------
        results : dict of str to array
            The columns of results.
        columns : list of str
            The columns of the new rows to write.
        mark : str
            What is put behind the name of a result that such a column has, too.
        """
        import pandas as pd

        columns = [*self.ids, *(name for name in columns if name not in self.ids)]
        written: dict[str, Any] = {"row" + " of this table" * ("row" in columns): np.arange(len(self.frame))}
        if not self.ids and not isinstance(self.frame.index, pd.RangeIndex):
            written[str(self.frame.index.name or "index")] = np.asarray(self.frame.index)
        if self.groups is not None:
            written[str(self.groups.name)] = self.groups.to_numpy()
        written |= {name: self.frame[name].to_numpy() for name in columns}
        taken = set(written)
        written |= {f"{name} ({mark})" if name in taken else name: values for name, values in results.items()}
        return pd.DataFrame(written)


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
        The column that identifies the group each row belongs to.
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
        notes = [
            f"{number:,} of {name!r} in {Path(path).name} cannot be read as {self.columns.kinds[name].plural}, and are "
            "taken as missing."
            for name, number in lost.items()
            if number
        ]
        notes += self._unknown_categories(X, Path(path).name)
        groups = read_names(raw[self.group]) if self.group in raw.columns else None
        ids = tuple(name for name in self.ids if name in raw.columns)
        recognised = tuple(name for name in self.columns.named("id") if name in raw.columns)
        index = row_index(raw.reset_index(drop=True), ids if len(ids) == len(self.ids) else ())
        return NewRows(raw.set_axis(index), X.set_axis(index), y, groups, tuple(notes), ids, recognised)

    def _unknown_categories(self, X: Any, table: str) -> Iterator[str]:
        """What is to be said of categories that the training table does not have."""
        for name, known in self.categories.items():
            values = X[name].dropna().astype(str)
            if new := list(dict.fromkeys(values[~values.isin(known)])):
                number = int((~values.isin(known)).sum())
                many = f"{number:,} values" if number > 1 else "1 value"
                yield (
                    f"{many} of {name!r} in {table} {'are' if number > 1 else 'is'} not in the training table "
                    f"({listed(new)}), and taken as rare."
                )

    def _targets(self, raw: Any, path: str | Path) -> np.ndarray:
        read = Columns({self.target: self.target_kind}).read(raw, f"the table {path}")[self.target]
        if read.isna().any():
            row = int(np.argmax(read.isna().to_numpy()))
            found = str(raw[self.target].iloc[row])
            raise TableError(
                f"The target {self.target!r} in {path} is not a number: {found!r} in row {row}, counted "
                "from 0 below the header. Leave it empty, or leave the column out."
            )
        return as_targets(read, self.task, self.target)


# ------------------------------------------------------------------------------------------------------ training tables
# What is learned from and predicted, in memory or, where it is larger than the memory there is for it, in its files.

MOST_HELD_OUT = 10_000
_OF_MEMORY = 4  # at most one in so many bytes is for rows that are held out
_FEW_TARGETS = 1_000  # different numbers from which on targets are no classes
_MOST_CATEGORIES = 100_000  # of a column, that are remembered
_BLOCK = 2**16  # rows that are looked through at once


@dataclass(frozen=True)
class TrainingTable:
    """A training table: what is learned from, what is predicted, and how it was read.

    Attributes
    ----------
    X : DataFrame or TypedRows
        The columns that are learned from, as rows in memory, or in their Parquet files; the index of a frame has the
        names of the rows, if there are ids.
    y : ndarray
        The targets.
    groups : Series or None
        The group of each row.
    reading : Reading
        How new rows are read in the same way.
    as_read : DataAsRead
        How the table was read, for people.
    n_rows : int
        The number of rows of the file.
    n_without_target : int
        The number of rows that were left out because their target is missing.
    decisive : tuple
        The rows or groups without which a column, or the target, would be read otherwise.
    X_test, y_test, groups_test : DataFrame, ndarray, and Series or None
        Of a table that stays in its files, the rows that are held out, in random order: what the columns are was
        decided from them alone. None if the rows are in memory.
    notes : tuple of str
        What is to be said of where the rows are, and which of their values were met later.
    findings : tuple of Finding
        What is suspicious about the table, for the four lines that sum up a study.
    """

    X: Any
    y: np.ndarray
    groups: Any
    reading: Reading
    as_read: DataAsRead
    n_rows: int
    n_without_target: int
    decisive: tuple[Any, ...] = ()
    X_test: Any = None
    y_test: Any = None
    groups_test: Any = None
    notes: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()

    @property
    def is_in_files(self) -> bool:
        """Whether the rows stay in their files."""
        return isinstance(self.X, TypedRows)

    @property
    def task(self) -> str:
        """Whether it is "regression" or "classification"."""
        return self.reading.task

    @property
    def remarks(self) -> tuple[str, ...]:
        """Short sentences about what was odd or decisive when the table was read; none for plain numbers."""
        return tuple(self.as_read.lines()[1:])

    def guarantee_scope(self, trained: Any = None) -> str:
        """Say in a sentence whether the guarantee covers also what the columns were taken for.

        Parameters
        ----------
        trained : Index, Series or None, default=None
            The rows or groups that are trained on; None if all are.
        """
        if self.is_in_files:
            return (
                f"What each column is was decided from the {ROWS.count(self.as_read.n_sampled or 0)} drawn first, none "
                "of which is trained on, so the guarantee covers the reading as well."
            )
        names = self.X.index if self.groups is None else self.groups
        among = set(names if trained is None else trained)
        found = [name for name in self.decisive if name in among]
        noun = ROWS if self.groups is None else GROUPS
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
            f"not about {'it' if one else 'them'} ({len(found):,} of {len(among):,}). {option('kinds')}, "
            f"{option('drop')} or {option('task')} decides how it is read.{numbers}"
        )

    def pipeline(self, learner: Any) -> Any:
        """Return the learner behind a reader of these columns; all of it is fitted inside each bag."""
        return self.reading.columns.pipeline(learner)

    def read_new(self, path: Any, *, needs_target: bool = False) -> NewRows:
        """Read the rows of another file as those of this table were; needed targets must share a class with them."""
        new = self.reading.read_new(path, needs_target=needs_target)
        if needs_target and self.task == "classification" and new.y is not None and not set(new.y) & set(self.y):
            raise TableError(f"No class of {path} is in the training table.")
        return new


def read_table(
    path: Any,
    target: str,
    *,
    group: str | None = None,
    ids: Sequence[str] = (),
    drop: Sequence[str] = (),
    kinds: Mapping[str, str] | None = None,
    task: str | None = None,
    separator: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    max_memory: int | str | None = None,
    test_size: float = 0.2,
    random_state: int = 0,
) -> TrainingTable:
    r"""Read a table to learn from, with columns of any kind, and decide what each column is.

    Text files (.csv, .tsv, .txt, packed or not), Parquet and Feather are read. Numbers as people write them, dates,
    categories and texts are told apart by their values, and `pipeline` puts a reader of these columns before a learner.

    Parameters
    ----------
    path : str, Path, or list of these
        A file; or Parquet files: a folder, a pattern such as ``"sales/*.parquet"``, or several of these.
    target : str
        The column to predict. Rows in which it is missing are left out.
    group : str or None, default=None
        The column that identifies the group each row belongs to, such as patient_id. It is not used as a feature.
    ids : sequence of str, default=()
        Columns that name rows. They are not used as features.
    drop : sequence of str, default=()
        Columns to leave out.
    kinds : mapping of str to str or None, default=None
        What columns are where their values should not decide: "number", "category", "text" or "date".
    task : {"regression", "classification"} or None, default=None
        The task; None decides by the target.
    separator : str or None, default=None
        What is between the columns of a text file; None decides by its header.
    decimal : {".", ","} or None, default=None
        The decimal mark of a text file; None decides by the values.
    encoding : str or None, default=None
        The encoding of a text file; None decides by its bytes.
    max_memory : int, str or None, default=None
        The memory for training rows, such as "1GB": Parquet files that would take more stay in their files, some rows
        are held out, and the columns are decided from these. None reads everything into memory.
    test_size : float, default=0.2
        The share of rows that is held out of such files, 10,000 rows at the most.
    random_state : int, default=0
        The seed that draws them.

    Returns
    -------
    TrainingTable

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> from stablebag import BaggedRegressor
    >>> from stablebag.tables import read_table
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = Path(folder.name) / "homes.csv"
    >>> rows = [f"{40 + k};{'Ulm' if k % 3 else 'Bonn'};{100 + 3 * k},50 €" for k in range(60)]
    >>> _ = path.write_text("\n".join(["size;town;price", *rows]))
    >>> table = read_table(path, "price")
    >>> print(table.as_read.conclusion())
    2 columns beside the target: 1 number, 1 category.
    >>> table.task, table.y[:2].tolist()
    ('regression', [100.5, 103.5])
    >>> model = BaggedRegressor(table.pipeline(DecisionTreeRegressor()), n_bags=20, random_state=0)
    >>> _ = model.fit(table.X, table.y)
    >>> model.predict(table.read_new(path).X).shape
    (60,)
    >>> folder.cleanup()
    """
    table = path if isinstance(path, Parts) else table_of(path)
    given = (target, group, ids, drop, kinds, task, decimal)
    memory = None if max_memory is None else as_bytes(max_memory, "max_memory", "read_table")
    if memory is not None and is_larger_than(table, memory):
        return _read_in_files(table, given, memory, test_size, random_state)
    file_options: dict[str, Any] = {"separator": separator, "encoding": encoding}
    if literal := [name for name, kind in (kinds or {}).items() if kind in ("category", "text")]:
        file_options["as_written"] = literal  # in these, a word such as None is a value
    return _read_in_memory(table, given, file_options, memory)


def is_larger_than(table: Any, max_memory: int) -> bool:
    """Return whether a table is read from its files, because it is larger than the memory there is for it."""
    return is_parquet(table) and size_in_memory(table) > max_memory


def _read_in_memory(
    table: Any, given: tuple[Any, ...], file_options: dict[str, Any], memory: int | None
) -> TrainingTable:
    """Read all rows; what the columns are is decided from all of them."""
    read = read_file(table, **file_options)
    raw = plain_frame(read.frame)
    roles = Roles.check(raw.columns, *given)
    target, group = roles.target, roles.group
    rows = raw[_has_target(raw, roles)]
    _check_enough(target, len(rows))
    groups = None if group is None else read_names(split_group(rows.drop(columns=target), group, target)[1])
    X = rows[[name for name in rows.columns if name == target or name in roles.features(rows.columns)]]
    codes = None if groups is None else groups.factorize()[0]
    decision = infer_kinds(
        X, codes, chosen=roles.kinds, decimal=roles.decimal, separator=read.separator, target=target, task=roles.task
    )
    columns = Columns({name: kind for name, kind in decision.kinds.items() if name != target})
    known = Columns({target: decision.kinds[target]}).read(rows)
    _, y, task, _ = split_target(known, target, roles.task, has_classes=decision.has_classes)
    index = row_index(rows, roles.ids)
    typed = columns.read(X.drop(columns=target)).set_axis(index)
    names = index if groups is None else groups.drop_duplicates()
    leaking = _leaks(typed, y, task, groups)
    gone = rows[list(roles.drop)]
    findings = (
        *leak_findings(leaking, target),
        *reading_findings(
            rating_warnings(known[target], target, task, roles.task),
            repeated_ids(index, roles.ids),
            dropped_groups(gone) if groups is None else [],
            target,
            roles.ids,
            gone,
        ),
    )
    as_read = DataAsRead(
        name=name_of(table),
        n_rows=len(y),
        columns=_describe(
            rows, typed.assign(**{target: known[target].to_numpy()}), decision.kinds, roles, leaking, list(rows.columns)
        ),
        said=(*read.said, *_decimal_comma(decision, roles.decimal)),
        noticed=(
            *target_remarks(known[target], decision.kinds[target], task, roles.task, rows[target]),
            *column_remarks(X.drop(columns=target), typed, decision, chosen=roles.kinds),
        ),
        warned=tuple(sentence for finding in findings for sentence in finding.details),
        row_numbers="" if roles.ids or group is not None else first_row(table),
    )
    categories = {name: sorted(typed[name].dropna().astype(str).unique()) for name in columns.named("category")}
    kind = decision.kinds[target]
    reading = Reading(columns, target, kind, task, group, roles.ids, file_options, categories)
    groups = None if groups is None else groups.set_axis(index)
    notes = () if memory is None else _larger_text_file(table, memory)
    n_gone = len(raw) - len(y)
    return TrainingTable(
        typed, y, groups, reading, as_read, len(raw), n_gone, decisive=_decisive(decision, names), notes=notes,
        findings=findings,
    )  # fmt: skip


def _read_in_files(table: Any, given: tuple[Any, ...], memory: int, share: float, seed: int) -> TrainingTable:
    """Read what has to be known of a table that stays in its files; columns are decided from rows that are held out."""
    import pandas as pd

    if not 0 < share < 1:
        raise ValueError(f"{option('test_size')} is a share of the rows between 0 and 1. Got {share:g}.")
    if given[2]:
        raise TableError(
            f"{option('ids')} holds the names of all rows in memory, and the table is larger than "
            f"{option('max_memory')}. Leave the column out with {option('drop')}, so that rows are called by their "
            "places in the files, or allow more memory."
        )
    schema = _schema(table)
    roles = Roles.check(schema.names, *given)
    target, group, features = roles.target, roles.group, roles.features(schema.names)
    _refuse_nested(schema, features, target, paths_of(table)[0])
    if not features:
        raise TableError("The table has no column to learn from: all are left out.")
    check_same_columns(table, roles.drop)
    files = [str(path) for path in paths_of(table)]
    whole = ParquetTable(files, target, columns=features, groups=group, max_memory=memory)
    _check_enough(target, whole.n_samples)
    y, kind, task, strange = _targets_in_files(whole.targets(), roles)
    if whole.groups() is not None:
        split_group(whole.groups().to_frame(), str(group), target)  # which refuses what is none
    held_out = _held_out(whole, share, seed)
    sample = whole.take(held_out)
    flags = tuple(name for name in features if str(schema.field(name).type) == "bool")
    plain = _frame(plain_columns({name: sample[name] for name in features}, flags), sample.index)
    chosen = {name: kind for name, kind in roles.kinds.items() if name != target}
    decision = infer_kinds(plain, chosen=chosen, decimal=roles.decimal)
    columns = Columns(decision.kinds)
    if not columns.used:
        raise TableError("The table has no column to learn from: all are constant, empty, ids or left out.")
    used = whole if columns.used == features else ParquetTable(
        files, target, columns=columns.used, groups=group, max_memory=memory
    )  # fmt: skip
    typed = read_rows(sample, columns, flags)
    gone = np.union1d(held_out, strange)
    categories = {name: set(typed[name].dropna()) for name in columns.named("category")}
    texts = [name for name in columns.used if plain[name].dtype.kind == "O"]
    met_later = _scan_texts(files, target, texts, gone, columns, flags, categories, memory)
    shuffled = np.random.default_rng([seed, 3]).permutation(len(held_out))
    shuffled = shuffled[~np.isin(held_out[shuffled], strange)]
    X_test, y_test = typed.iloc[shuffled], y[held_out[shuffled]]
    X_test.index = used.places(held_out[shuffled])
    groups = whole.groups()
    groups_test = None if groups is None else groups.iloc[held_out[shuffled]].set_axis(X_test.index)
    others = {} if groups is None else {str(groups.name): groups.iloc[held_out].to_numpy()}
    leaking = _leaks(X_test, y_test, task, groups_test)
    ratings = rating_warnings(y_test, target, task, roles.task)
    findings = (*leak_findings(leaking, target), *reading_findings(ratings, [], [], target, (), None))
    as_read = DataAsRead(
        name=name_of(table),
        n_rows=len(y) - len(strange),
        columns=_describe(
            plain.assign(**{target: y[held_out]}, **others), typed.assign(**{target: y[held_out]}),
            {**decision.kinds, target: kind}, roles, leaking, schema.names,
        ),
        noticed=(
            *target_remarks(pd.Series(y_test, name=target), kind, task, roles.task),
            *column_remarks(plain, typed, decision, chosen=roles.kinds, n_sampled=len(held_out)),
        ),
        warned=tuple(sentence for finding in findings for sentence in finding.details),
        row_numbers="" if group is not None else first_row(table),
        n_sampled=len(held_out),
    )  # fmt: skip
    known = {name: sorted(values) for name, values in categories.items() if len(values) <= _MOST_CATEGORIES}
    reading = Reading(columns, target, kind, task, group, (), {}, known)
    X = TypedRows(used, gone, columns, y, flags)
    return TrainingTable(
        X, X.targets(), X.groups(), reading, as_read, sum(whole.row_counts), whole.n_missing_targets_ + len(strange),
        X_test=X_test, y_test=y_test, groups_test=groups_test,
        notes=(_stays_in_files(table, memory, len(held_out)), *met_later),
        findings=findings,
    )  # fmt: skip


def _check_enough(target: str, n_rows: int) -> None:
    if n_rows < 2:
        many = "is missing in every row" if not n_rows else "is known in one row, and two are needed"
        raise TableError(f"The target {target!r} {many}.")


def _leaks(X: Any, y: np.ndarray, task: str, groups: Any) -> list[Leak]:
    """The columns that leak the target; one that seems to identify groups is warned of as such."""
    return leaks(X, y, task, groups, skip=likely_groups(X)[:1] if groups is None else ())


def _describe(
    table: Any, X: Any, kinds: Mapping[str, Kind], roles: Roles, leaking: list[Leak], names: list[str]
) -> tuple[ColumnAsRead, ...]:
    found = describe_columns(
        table, X, kinds, names=names, target=roles.target, group=roles.group, ids=roles.ids, drop=roles.drop,
        leaking=[leak.column for leak in leaking],
    )  # fmt: skip
    return tuple(found)


def _has_target(raw: Any, roles: Roles) -> Any:
    """Which rows have a target; one that must be a number and is none is missing."""
    target = roles.target
    there = raw[target].notna()
    if roles.kinds.get(target) != "number" or not there.any():
        return there
    kinds = infer_kinds(raw[[target]], chosen=roles.kinds, decimal=roles.decimal).kinds
    return Columns(kinds).read(raw)[target].notna()


def _decisive(decision: InferredKinds, names: Any) -> tuple[Any, ...]:
    """The names of the rows or groups without which something would be read otherwise."""
    found = list(decision.decisive.values())
    if not found:
        return ()
    return tuple(np.asarray(names, dtype=object)[np.unique(np.concatenate(found))].tolist())


def _decimal_comma(decision: InferredKinds, decimal: str | None) -> list[str]:
    """What is to be said of decimal commas, if they were recognised."""
    forms = [kind.form for kind in decision.kinds.values() if kind.name == "number"]
    return ["with ',' for decimals"] if decimal is None and any(form.startswith(",") for form in forms) else []


def _larger_text_file(table: Any, memory: int) -> tuple[str, ...]:
    """Say that a file that is no Parquet is read into memory, though it is larger than the memory there is for rows."""
    size = sum(path.stat().st_size for path in paths_of(table) if path.is_file())
    if is_parquet(table) or size <= memory:
        return ()
    return (
        f"{name_of(table)} is larger than {option('max_memory')} ({format_bytes(memory)}), and was read into memory "
        "all the same: only Parquet files can be read in portions. docs/large_data.md has the lines that convert a CSV "
        "file.",
    )


def format_bytes(n_bytes: float) -> str:
    """Return an amount of memory for people.

    >>> format_bytes(240_000_000), format_bytes(1_500_000_000), format_bytes(20_000)
    ('240 MB', '1.5 GB', '20 kB')
    """
    for unit, name in ((10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
        if n_bytes >= unit:
            return f"{float(f'{n_bytes / unit:.3g}'):,g} {name}"
    return f"{n_bytes:,.0f} bytes"


def _schema(table: Any) -> Any:
    import pyarrow.parquet as pq

    schema = pq.read_schema(paths_of(table)[0])
    twice = next((name for name in schema.names if schema.names.count(name) > 1), None)
    if twice is not None:
        raise TableError(f"The table {name_of(table)} has two columns called {twice!r}. Rename one.")
    for footer in footers(table)[1:]:  # columns that the first file lacks are refused, unless they are left out
        for column in footer.schema.to_arrow_schema():
            schema = schema if column.name in schema.names else schema.append(column)
    return folders_of(table).extend_schema(schema)


def _refuse_nested(schema: Any, features: list[str], target: str, path: Any) -> None:
    import pyarrow.types as pt

    for name in (target, *features):
        kind, what = schema.field(name).type, "target" if name == target else "column"
        nested = (
            "Predict a column of single values."
            if name == target
            else f"Leave it out with {option('drop')}, or split it."
        )
        if pt.is_nested(kind):
            raise TableError(f"The {what} {name!r} of {path} has lists or the like in it. {nested}")
        if pt.is_binary(kind) or pt.is_large_binary(kind) or pt.is_fixed_size_binary(kind):
            instead = "Write it as text." if name == target else f"Leave it out with {option('drop')}."
            raise TableError(f"The {what} {name!r} has bytes in it. {instead}")


def _targets_in_files(found: np.ndarray, roles: Roles) -> tuple[np.ndarray, Kind, str, np.ndarray]:
    """All targets as numbers or classes, how they are written, the task, and the rows whose target is no number.

    What they are is decided by their different values, of all rows.
    """
    import pandas as pd

    target, task = roles.target, roles.task
    kinds = {name: kind for name, kind in roles.kinds.items() if name == target}
    numeric = found.dtype.kind in "iuf"
    if numeric and not np.isfinite(found).all():
        raise TableError(f"The target {target!r} has infinite values.")
    if numeric and not kinds and (task == "regression" or (task is None and _has_many_values(found))):
        # As they are: a list of different values would take several times their memory.
        return found.astype(float, copy=False), Kind("number", "."), "regression", np.empty(0, np.int64)
    codes, values = pd.factorize(found)
    plain = plain_frame(pd.DataFrame({target: values}))
    decision = infer_kinds(plain, chosen=kinds, decimal=roles.decimal, target=target, task=task)
    read = Columns({target: decision.kinds[target]}).read(plain)
    _, typed_values, task, _ = split_target(read, target, task, has_classes=decision.has_classes)
    is_known = read[target].notna().to_numpy()
    places = np.cumsum(is_known) - 1
    strange = np.flatnonzero(~is_known[codes])
    return typed_values[places[codes]], decision.kinds[target], task, strange


def _has_many_values(numbers: np.ndarray) -> bool:
    """Whether there are so many different numbers that they are no classes; few blocks tell it of most targets."""
    seen: np.ndarray = numbers[:0]
    for start in range(0, len(numbers), _BLOCK):
        seen = np.union1d(seen, numbers[start : start + _BLOCK])
        if len(seen) > _FEW_TARGETS:
            return True
    return False


def _held_out(table: ParquetTable, share: float, seed: int) -> np.ndarray:
    """The numbers of the rows that are held out, drawn before anything else; with groups, all rows of some groups."""
    import pandas as pd

    n, generator = table.n_samples, np.random.default_rng([seed, 2])
    most = max(100, table.max_memory // (_OF_MEMORY * 8 * max(1, table.n_features)))
    number = int(min(math.ceil(share * n), MOST_HELD_OUT, most))
    groups = table.groups()
    if groups is None:
        if n - number < 2:
            raise TableError(f"{ROWS.count(n)} are too few to hold some out. Take a smaller {option('test_size')}.")
        return np.sort(generator.choice(n, number, replace=False))
    codes, names = pd.factorize(groups)
    order = generator.permutation(len(names))
    sizes = np.bincount(codes, minlength=len(names))[order]
    last = min(max(1, int(np.searchsorted(np.cumsum(sizes), number, side="right"))), len(names) - 2)
    if last < 1:
        raise TableError(
            f"{GROUPS.count(len(names))} are too few to hold some out: 2 are needed to train on. Add rows of others."
        )
    return np.flatnonzero(np.isin(codes, order[:last]))


def _scan_texts(
    files: list[str], target: str, texts: list[str], gone: np.ndarray, columns: Columns, flags: tuple[str, ...],
    known: dict[str, set[str]], max_memory: int,
) -> list[str]:  # fmt: skip
    """Look through the texts of all training rows: say what does not fit the kind; `known` gets all categories."""
    if not texts:
        return []
    rest = Remainder(ParquetTable(files, target, columns=texts, max_memory=max_memory), gone)
    some, first = (
        Columns({name: columns.kinds[name] for name in texts}),
        {name: set(known.get(name, ())) for name in texts},
    )
    lost, new = dict.fromkeys(texts, 0), dict.fromkeys(known, 0)
    for block in rest.blocks(_BLOCK):
        plain, read = plain_columns({name: block[name] for name in texts}, flags), read_rows(block, some, flags)
        for name in texts:
            lost[name] += int((plain[name].notna() & read[name].isna()).sum())
            if name in known and len(known[name]) <= _MOST_CATEGORIES:
                values = read[name].dropna()
                new[name] += int((~values.isin(first[name])).sum())
                known[name] |= set(values.unique())
    notes = [
        f"{number:,} of {name!r} in the training rows cannot be read as {columns.kinds[name].plural}, and are taken as "
        "missing."
        for name, number in lost.items()
        if number
    ]
    for name, number in new.items():
        if number and len(known[name]) <= _MOST_CATEGORIES:
            others = sorted(known[name] - first[name])
            what = "a category" if len(others) == 1 else f"{len(others):,} categories"
            rows = "1 training row has" if number == 1 else f"{number:,} training rows have"
            notes.append(
                f"In {name!r}, {rows} {what} that no row has from which the columns were decided ({listed(others)}); "
                "bags learn from those that they have."
            )
    return notes


def _stays_in_files(table: Any, max_memory: int, n_held_out: int) -> str:
    """What it means that the table is not in memory."""
    size = format_bytes(size_in_memory(table))
    where = "its file, which is" if len(paths_of(table)) == 1 else "its files, which are"
    return (
        f"The table would take about {size} in memory, more than {option('max_memory')} "
        f"({format_bytes(max_memory)}), so its rows stay in {where} read once for each portion of the bags; what its "
        f"columns are was decided from {ROWS.count(n_held_out)} that were drawn first (by {option('random_state')}) "
        "and are not trained on."
    )


def _frame(columns: Mapping[str, Any], index: Any) -> Any:
    import pandas as pd

    return pd.DataFrame(dict(columns), index=index)
