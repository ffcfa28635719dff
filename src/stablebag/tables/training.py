"""Training tables: `read_table` reads a file and infers the kinds of its columns; new rows are read in the same way."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from stablebag._checks import check_integer, refuse_type, refuse_value
from stablebag._wording import GROUPS, ROWS, option, printable
from stablebag.models.rows import as_bytes
from stablebag.showing.report.page import ColumnAsRead, DataAsRead
from stablebag.showing.verdict import Finding
from stablebag.tables.columns import (
    Columns,
    InferredKinds,
    Kind,
    as_targets,
    column_remarks,
    count_as_missing,
    describe_columns,
    infer_kinds,
    infinite_target,
    no_features,
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
    quoted,
    read_file,
    size_in_memory,
    table_of,
)

# ------------------------------------------------------------------------------------------------------------- new rows
# How a training table was read, so that new rows are read in the same way and get their results as further columns.


@dataclass(frozen=True)
class NewRows:
    """Rows of another table, read like the training table.

    Attributes
    ----------
    frame : DataFrame
        The table as its file has it.
    X : DataFrame
        The features; the index has the row IDs, if there are any.
    y : ndarray or None
        The targets; None if the table has no such column, or some are missing.
    groups : Series or None
        The group of each row; None if the table has no such column.
    notes : tuple of str
        Sentences about values that count as missing or as rare.
    ids : tuple of str
        The columns with row IDs.
    recognised_ids : tuple of str
        The columns that were recognised as IDs by their names and values; they are not used as features.
    """

    frame: Any
    X: Any
    y: np.ndarray | None = None
    groups: Any = None
    notes: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()
    recognised_ids: tuple[str, ...] = ()

    def columns_to_write(self, keep: tuple[str, ...]) -> list[str]:
        """Return the columns to write next to the results: all, or those in `keep` and the recognised IDs."""
        names = [name for some in keep for name in ([some] if some in self.frame.columns else some.split(","))]
        for name in names:
            check_column_name(self.frame.columns, name.strip())
        named = [*self.recognised_ids, *(name.strip() for name in names)]
        return list(dict.fromkeys(named)) if keep else list(self.frame.columns)

    def with_results(self, results: dict[str, Any], columns: list[str], mark: str) -> Any:
        """Return a table of results: the number of each row, its IDs, group and some columns, and the results.

        Parameters
        ----------
        results : dict of str to array
            The columns of results.
        columns : list of str
            The columns of the new rows to write.
        mark : str
            Added to the name of a result if a column of the new rows has this name.
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
        The kinds of the columns.
    target : str
        The name of the target.
    target_kind : Kind
        The kind of the target.
    task : str
        "regression" or "classification".
    group : str or None
        The column that identifies the group each row belongs to.
    ids : tuple of str
        The columns with row IDs.
    file_options : mapping
        Options for reading files.
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
        """Return the reading from what `to_dict` returned."""
        parts: dict[str, Any] = {"columns": Columns.from_dict(written["columns"])}
        parts["target_kind"] = Kind(*written["target_kind"])
        rest = {name: written[name] for name in ("target", "task", "group", "file_options", "categories")}
        return cls(**parts, **rest, ids=tuple(written["ids"]))

    def to_dict(self) -> dict[str, Any]:
        """Return the reading as a dictionary for JSON."""
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
        """Read another file like the training table.

        If targets are needed, rows without a target are left out. Otherwise, targets are used only if none is missing.
        """
        file = read_file(path, **self.file_options)
        needed = {self.target, self.group, *self.ids, *self.columns.used}
        raw = plain_frame(file.frame, optional=set(file.frame.columns) - needed)
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
        notes = [*file.remarks]
        notes += [
            count_as_missing(number, name, self.columns.kinds[name], f"in {Path(path).name}")
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
        """Yield a sentence for each column with categories that the training table does not have."""
        for name, known in self.categories.items():
            values = X[name].dropna().astype(str)
            if new := list(dict.fromkeys(values[~values.isin(known)])):
                number = int((~values.isin(known)).sum())
                are = "values" if number > 1 else "value"
                yield (
                    f"{number:,} {are} of {quoted(name)} in {table} {'do' if number > 1 else 'does'} not occur in the "
                    f"training table ({listed(map(printable, new))}) and {'count' if number > 1 else 'counts'} as rare."
                )

    def _targets(self, raw: Any, path: str | Path) -> np.ndarray:
        read = Columns({self.target: self.target_kind}).read(raw, f"the table {path}")[self.target]
        if read.isna().any():
            row = int(np.argmax(read.isna().to_numpy()))
            found = str(raw[self.target].iloc[row])
            raise TableError(
                f"The target {self.target!r} in {path} is not a number in row {row} (the first row below the header is "
                f"row 0): {quoted(found)}. Leave this cell empty, or remove the column."
            )
        return as_targets(read, self.task, self.target)


# ------------------------------------------------------------------------------------------------------ training tables
# Features and targets, in memory or, if they need more than max_memory, in their Parquet files.

TASKS = ("regression", "classification")
MOST_HELD_OUT = 10_000
_MEMORY_SHARE = 4  # held-out rows take at most a quarter of max_memory
_MANY_TARGETS = 1_000  # a numeric target with more different values is not checked for classes
_MOST_CATEGORIES = 100_000  # of a column, that are stored
_BLOCK = 2**16  # rows that are scanned at once


@dataclass(frozen=True)
class TrainingTable:
    """A training table: features, targets, and how they were read.

    Attributes
    ----------
    X : DataFrame or TypedRows
        The features: a data frame, or rows that stay in their Parquet files. The index of the frame has the row IDs, if
        there are any.
    y : ndarray
        The targets.
    groups : Series or None
        The group of each row.
    reading : Reading
        How to read new rows in the same way.
    as_read : DataAsRead
        How the table was read, for people.
    n_rows : int
        The number of rows of the file.
    n_without_target : int
        The number of rows that were left out because their target is missing.
    decisive : tuple
        The rows or groups whose removal would change how a column or the target is parsed.
    X_test, y_test, groups_test : DataFrame, ndarray, and Series or None
        For a table that stays in its files: the held-out rows, in random order. The kinds of the columns were inferred
        from these rows alone. None if the rows are in memory.
    notes : tuple of str
        Sentences about where the rows are, and about values that were found after the kinds had been inferred.
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
        """Short sentences about what was unusual or decisive when the table was read; none for plain numbers."""
        return tuple(self.as_read.lines()[1:])

    def guarantee_scope(self, trained: Any = None) -> str:
        """Return a sentence on whether the guarantee also covers how the columns are parsed.

        Parameters
        ----------
        trained : Index, Series or None, default=None
            The training rows or groups; None if all are.
        """
        noun = ROWS if self.groups is None else GROUPS
        if self.is_in_files:
            found, n_names = list(self.decisive), len(self.y) if self.groups is None else int(self.groups.nunique())
        else:
            names = self.X.index if self.groups is None else self.groups
            among = set(names if trained is None else trained)
            found, n_names = [name for name in self.decisive if name in among], len(among)
        if not found and self.is_in_files:
            return (
                f"The kinds of the columns were inferred from {ROWS.count(self.as_read.n_sampled or 0)} that were "
                "drawn first and are not used for training, so the guarantee covers parsing."
            )
        if not found:
            return f"No single {noun.singular} changes how the columns are parsed, so the guarantee covers parsing."
        one = len(found) == 1
        which = f"{noun.singular if one else noun.plural} {listed([str(name) for name in found])}"
        numbers = f" {self.as_read.row_numbers}" if self.as_read.row_numbers else ""
        return (
            f"Without {'' if one else 'one of '}{which}, a column would be parsed differently, so the guarantee does "
            f"not cover {'it' if one else 'them'} ({len(found):,} of {n_names:,}). Setting {option('kinds')}, "
            f"{option('drop')} or {option('task')} removes this dependence.{numbers}"
        )

    def pipeline(self, learner: Any) -> Any:
        """Return a pipeline that turns these columns into numbers for the learner; each bag fits all of it."""
        return self.reading.columns.pipeline(learner)

    def read_new(self, path: Any, *, needs_target: bool = False) -> NewRows:
        """Read another file like this table; if targets are needed, a class must occur in both."""
        new = self.reading.read_new(path, needs_target=needs_target)
        if needs_target and self.task == "classification" and new.y is not None and not set(new.y) & set(self.y):
            theirs, ours = (listed(sorted(set(map(printable, y)))) for y in (new.y, self.y))
            raise TableError(
                f"The classes in {path} ({theirs}) are not those of the training table ({ours}). Check their spelling."
            )
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
    r"""Read a training table with columns of any kind.

    Reads text files (.csv, .tsv, .txt, also compressed), the first visible sheet of Excel files (.xlsx, with openpyxl),
    Parquet and Feather. Whether a column has numbers, dates, categories or free text is inferred from its values. The
    method `pipeline` puts the conversion to numbers in front of a learner.

    Parameters
    ----------
    path : str, Path, or list of these
        One file; or Parquet files: a folder, a pattern such as ``"sales/*.parquet"``, or several of these.
    target : str
        The column to predict. Rows in which it is missing are left out.
    group : str or None, default=None
        The column that identifies the group each row belongs to, such as patient_id. It is not used as a feature.
    ids : sequence of str, default=()
        Columns with row IDs. They are not used as features.
    drop : sequence of str, default=()
        Columns to leave out.
    kinds : mapping of str to str or None, default=None
        The kinds of columns for which the values should not decide: "number", "category", "text" or "date".
    task : {"regression", "classification"} or None, default=None
        The task; None infers it from the target.
    separator : str or None, default=None
        The separator of a text file: one character, or "tab"; None finds it from the header.
    decimal : {".", ","} or None, default=None
        The decimal mark in texts; None infers it from the values.
    encoding : str or None, default=None
        The encoding of a text file; None infers it from the bytes.
    max_memory : int, str or None, default=None
        The memory for training rows, such as "1GB". Parquet files that would take more stay in their files: some rows
        are held out, and the kinds of the columns are inferred from these. None reads everything into memory.
    test_size : float, default=0.2
        The share of rows to hold out of such files, at most 10,000 rows.
    random_state : int, default=0
        The random seed for these rows.

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
    2 columns besides the target: 1 number, 1 category.
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
    _check_types(*given, separator, encoding)
    check_integer(random_state, "random_state", "read_table", minimum=0)
    if not isinstance(test_size, int | float):
        raise refuse_type("test_size", "read_table", "a share of the rows", test_size)
    memory = None if max_memory is None else as_bytes(max_memory, "max_memory", "read_table")
    if memory is not None and is_larger_than(table, memory):
        return _read_in_files(table, given, memory, test_size, random_state)
    file_options: dict[str, Any] = {"separator": separator, "encoding": encoding}
    if literal := [name for name, kind in (kinds or {}).items() if kind in ("category", "text")]:
        file_options["as_written"] = literal  # in these, a word such as None is a value
    return _read_in_memory(table, given, file_options, memory)


def _check_types(
    target: Any, group: Any, ids: Any, drop: Any, kinds: Any, task: Any, decimal: Any, separator: Any, encoding: Any
) -> None:
    """Raise an error for arguments of the wrong type, and for unknown tasks and decimal marks."""
    owner = "read_table"
    texts = {"group": group, "separator": separator, "encoding": encoding}
    for name, value in {"target": target, **{name: text for name, text in texts.items() if text is not None}}.items():
        if not isinstance(value, str):
            raise refuse_type(name, owner, "a text", value)
    for name, value in (("ids", ids), ("drop", drop)):
        if not isinstance(value, str | list | tuple) or not all(isinstance(column, str) for column in value):
            raise refuse_type(name, owner, "a list of names of columns", value)
    if kinds is not None and not (isinstance(kinds, Mapping) and all(isinstance(column, str) for column in kinds)):
        raise refuse_type("kinds", owner, "a dictionary such as {'note': 'text'}", kinds)
    for name, value, allowed in (("task", task, TASKS), ("decimal", decimal, (".", ","))):
        if value is not None and value not in allowed:
            raise refuse_value(name, owner, f"one of {', '.join(map(repr, allowed))} or None", value)


def is_larger_than(table: Any, max_memory: int) -> bool:
    """Return whether a table stays in its Parquet files, because it needs more than `max_memory`."""
    return is_parquet(table) and size_in_memory(table) > max_memory


def _read_in_memory(
    table: Any, given: tuple[Any, ...], file_options: dict[str, Any], memory: int | None
) -> TrainingTable:
    """Read all rows, and infer the kinds of the columns from all of them."""
    read = read_file(table, **file_options)
    roles = Roles.check(read.frame.columns, *given)
    target, group = roles.target, roles.group
    raw = plain_frame(read.frame, optional=roles.drop)
    if _n_infinite(read.frame[target]):
        raise infinite_target(target)
    rows = raw[_has_target(raw, roles)]
    _check_enough(target, len(rows))
    groups = None if group is None else read_names(split_group(rows.drop(columns=target), group, target)[1])
    used = {target, *roles.features(rows.columns)}
    X = rows[[name for name in rows.columns if name in used]]
    codes = None if groups is None else groups.factorize()[0]
    decision = infer_kinds(
        X, codes, chosen=roles.kinds, decimal=roles.decimal, separator=read.separator, target=target, task=roles.task
    )
    columns = Columns({name: kind for name, kind in decision.kinds.items() if name != target})
    if not columns.used:
        raise no_features()
    known = Columns({target: decision.kinds[target]}).read(rows)
    if known[target].isna().any():
        raise infinite_target(target)
    _, y, task, _ = split_target(known, target, roles.task, has_classes=decision.has_classes)
    index = row_index(rows, roles.ids)
    typed = columns.read(X.drop(columns=target)).set_axis(index)
    names = index if groups is None else groups.drop_duplicates()
    leaking = _leaks(typed, y, task, groups)
    gone = rows[[name for name in roles.drop if name in rows]]
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
            rows,
            typed.assign(**{target: known[target].to_numpy()}),
            decision.kinds,
            roles,
            leaking,
            list(read.frame.columns),
        ),
        said=(*read.said, *_decimal_comma(decision, roles.decimal)),
        noticed=(
            *read.remarks,
            *_infinite_values(read.frame, X.columns),
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
    """Prepare a table that stays in its files; the kinds of the columns are inferred from the held-out rows."""
    import pandas as pd

    if not 0 < share < 1:
        raise TableError(f"{option('test_size')} must be between 0 and 1, a share of the rows. Got {share:g}.")
    if given[2]:
        raise TableError(
            f"{option('ids')} cannot be used here, because it would keep all row IDs in memory and the table is larger "
            f"than {option('max_memory')}. Leave the column out with {option('drop')}, or allow more memory."
        )
    schema = _schema(table)
    roles = Roles.check(schema.names, *given)
    target, group, features = roles.target, roles.group, roles.features(schema.names)
    _refuse_nested(schema, features, target, paths_of(table)[0])
    if not features:
        raise no_features()
    check_same_columns(table, roles.drop)
    files = [str(path) for path in paths_of(table)]
    whole = ParquetTable(files, target, columns=features, groups=group, max_memory=memory)
    _check_enough(target, whole.n_samples)
    y, kind, task, strange, decisive = _targets_in_files(whole.targets(), whole.groups(), roles)
    if whole.groups() is not None:
        split_group(whole.groups().to_frame(), str(group), target)  # raises an error for missing or constant groups
    held_out = _held_out(whole, share, seed)
    sample = whole.take(held_out)
    flags = tuple(name for name in features if str(schema.field(name).type) == "bool")
    plain = _frame(plain_columns({name: sample[name] for name in features}, flags), sample.index)
    chosen = {name: kind for name, kind in roles.kinds.items() if name != target}
    decision = infer_kinds(plain, chosen=chosen, decimal=roles.decimal)
    columns = Columns(decision.kinds)
    if not columns.used:
        raise no_features()
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
        decisive=_decisive_in_files(decisive, gone, groups, used),
        X_test=X_test, y_test=y_test, groups_test=groups_test,
        notes=(_stays_in_files(table, memory, len(held_out)), *met_later),
        findings=findings,
    )  # fmt: skip


def _n_infinite(column: Any) -> int:
    """The number of infinite values of a column of numbers."""
    if getattr(column.dtype, "kind", "O") != "f":
        return 0
    return int(np.isinf(column.to_numpy(dtype=float, na_value=np.nan)).sum())


def _infinite_values(frame: Any, names: Any) -> Iterator[str]:
    for name in names:
        if number := _n_infinite(frame[name]):
            values = "1 value is" if number == 1 else f"{number:,} values are"
            yield f"In {quoted(name)}, {values} infinite and {'counts' if number == 1 else 'count'} as missing."


def _check_enough(target: str, n_rows: int) -> None:
    if n_rows < 2:
        if n_rows:
            raise TableError(f"The target {target!r} has a value in one row only. At least two are needed.")
        raise TableError(f"The target {target!r} is missing in every row. Choose another target.")


def _leaks(X: Any, y: np.ndarray, task: str, groups: Any) -> list[Leak]:
    """The columns that leak the target, except one that seems to identify groups, which has its own warning."""
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
    """Which rows have a target; if the user called it a number, other values count as missing."""
    target = roles.target
    there = raw[target].notna()
    if roles.kinds.get(target) != "number" or not there.any():
        return there
    kinds = infer_kinds(raw[[target]], chosen=roles.kinds, decimal=roles.decimal).kinds
    return Columns(kinds).read(raw)[target].notna()


def _decisive(decision: InferredKinds, names: Any) -> tuple[Any, ...]:
    """The names of the rows or groups whose removal would change how something is parsed."""
    found = list(decision.decisive.values())
    if not found:
        return ()
    return tuple(np.asarray(names, dtype=object)[np.unique(np.concatenate(found))].tolist())


def _decimal_comma(decision: InferredKinds, decimal: str | None) -> list[str]:
    """A part of a sentence about decimal commas, if they were recognised."""
    forms = [kind.form for kind in decision.kinds.values() if kind.name == "number"]
    return ["with ',' for decimals"] if decimal is None and any(form.startswith(",") for form in forms) else []


def _larger_text_file(table: Any, memory: int) -> tuple[str, ...]:
    """A note that a file was read into memory although it is larger than `max_memory`."""
    size = sum(path.stat().st_size for path in paths_of(table) if path.is_file())
    if is_parquet(table) or size <= memory:
        return ()
    return (
        f"{name_of(table)} is larger than {option('max_memory')} ({format_bytes(memory)}), but was read into memory, "
        "because only Parquet files can be read in portions. docs/large_data.md shows how to convert a CSV file.",
    )


def format_bytes(n_bytes: float) -> str:
    """Return an amount of memory with a unit.

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
    for footer in footers(table)[1:]:  # columns that the first file lacks raise an error later, unless they are dropped
        for column in footer.schema.to_arrow_schema():
            schema = schema if column.name in schema.names else schema.append(column)
    return folders_of(table).extend_schema(schema)


def _refuse_nested(schema: Any, features: list[str], target: str, path: Any) -> None:
    import pyarrow.types as pt

    for name in (target, *features):
        kind, what = schema.field(name).type, "target" if name == target else "column"
        if pt.is_nested(kind):
            way = f"Leave it out with {option('drop')}, or write its parts as columns."
            way = "Choose a column of single values." if name == target else way
            raise TableError(f"The {what} {name!r} of {path} contains lists or other nested values. {way}")
        if pt.is_binary(kind) or pt.is_large_binary(kind) or pt.is_fixed_size_binary(kind):
            way = "Write it as text." if name == target else f"Leave it out with {option('drop')}."
            raise TableError(f"The {what} {name!r} of {path} contains bytes. {way}")


def _targets_in_files(
    found: np.ndarray, groups: Any, roles: Roles
) -> tuple[np.ndarray, Kind, str, np.ndarray, np.ndarray]:
    """Return all targets as numbers or classes, their kind, the task, and the rows whose target is not a number.

    The kind is inferred from the different values in all rows. The last result has a row of each owner (a row, or a
    group) whose removal would change how the target is parsed.
    """
    import pandas as pd

    target, task = roles.target, roles.task
    kinds = {name: kind for name, kind in roles.kinds.items() if name == target}
    numeric = found.dtype.kind in "iuf"
    if numeric and not np.isfinite(found).all():
        raise infinite_target(target)
    if numeric and not kinds and (task == "regression" or (task is None and _has_many_values(found))):
        # Unchanged: a list of different values would take several times their memory.
        return (
            found.astype(float, copy=False),
            Kind("number", "."),
            "regression",
            np.empty(0, np.int64),
            np.empty(0, np.int64),
        )
    codes, values = pd.factorize(found)
    plain = plain_frame(pd.DataFrame({target: values}))
    owners = np.arange(len(found)) if groups is None else pd.factorize(groups)[0]
    first, last = np.full(len(values), len(found)), np.full(len(values), -1)
    np.minimum.at(first, codes, owners)
    np.maximum.at(last, codes, owners)
    has_one = first == last  # a value with several owners stays, whichever of them is left out
    units = np.unique(np.where(has_one, first, len(found) + np.arange(len(values))), return_inverse=True)[1].ravel()
    decision = infer_kinds(plain, units, chosen=kinds, decimal=roles.decimal, target=target, task=task)
    read = Columns({target: decision.kinds[target]}).read(plain)
    _, typed_values, task, _ = split_target(read, target, task, has_classes=decision.has_classes)
    is_known = read[target].notna().to_numpy()
    places = np.cumsum(is_known) - 1
    strange = np.flatnonzero(~is_known[codes])
    is_decisive = np.isin(units, decision.decisive.get(target, np.empty(0, np.int64))) & has_one
    rows = np.unique(codes, return_index=True)[1][is_decisive]
    return typed_values[places[codes]], decision.kinds[target], task, strange, rows


def _decisive_in_files(rows: np.ndarray, gone: np.ndarray, groups: Any, table: ParquetTable) -> tuple[Any, ...]:
    """The names of these rows, or of their groups, that are used for training."""
    if groups is None or not len(rows):
        return tuple(table.places(np.setdiff1d(rows, gone)).tolist())
    trained = set(groups.drop(groups.index[gone]))
    return tuple(name for name in groups.iloc[rows].unique().tolist() if name in trained)


def _has_many_values(numbers: np.ndarray) -> bool:
    """Whether there are too many different numbers for classes; for most targets, the first blocks show it."""
    seen: np.ndarray = numbers[:0]
    for start in range(0, len(numbers), _BLOCK):
        seen = np.union1d(seen, numbers[start : start + _BLOCK])
        if len(seen) > _MANY_TARGETS:
            return True
    return False


def _held_out(table: ParquetTable, share: float, seed: int) -> np.ndarray:
    """Draw the numbers of the held-out rows, before anything else; with groups, all rows of some groups."""
    import pandas as pd

    n, generator = table.n_samples, np.random.default_rng([seed, 2])
    most = max(100, table.max_memory // (_MEMORY_SHARE * 8 * max(1, table.n_features)))
    number = int(min(math.ceil(share * n), MOST_HELD_OUT, most))
    groups = table.groups()
    if groups is None:
        if n - number < 2:
            raise TableError(
                f"With {option('test_size', share)}, fewer than 2 of the {ROWS.count(n)} are left for training. Use a "
                "smaller share."
            )
        return np.sort(generator.choice(n, number, replace=False))
    codes, names = pd.factorize(groups)
    order = generator.permutation(len(names))
    sizes = np.bincount(codes, minlength=len(names))[order]
    last = min(max(1, int(np.searchsorted(np.cumsum(sizes), number, side="right"))), len(names) - 2)
    if last < 1:
        raise TableError(
            f"The table has {GROUPS.count(len(names))}, but at least 3 are needed: 1 to hold out and 2 for training."
        )
    return np.flatnonzero(np.isin(codes, order[:last]))


def _scan_texts(
    files: list[str], target: str, texts: list[str], gone: np.ndarray, columns: Columns, flags: tuple[str, ...],
    known: dict[str, set[str]], max_memory: int,
) -> list[str]:  # fmt: skip
    """Scan the texts of all training rows; return notes on values that do not fit, and add categories to `known`."""
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
        count_as_missing(number, name, columns.kinds[name], "in the training rows")
        for name, number in lost.items()
        if number
    ]
    for name, number in new.items():
        if number and len(known[name]) <= _MOST_CATEGORIES:
            others = sorted(known[name] - first[name])
            what = "a category" if len(others) == 1 else f"{len(others):,} categories"
            rows = "1 training row has" if number == 1 else f"{number:,} training rows have"
            notes.append(
                f"In {quoted(name)}, {rows} {what} that did not occur in the rows from which the kinds were inferred "
                f"({listed(map(printable, others))}). Each bag uses the categories of its own rows."
            )
    return notes


def _stays_in_files(table: Any, max_memory: int, n_held_out: int) -> str:
    """A note on what it means that the table stays in its files."""
    size = format_bytes(size_in_memory(table))
    where = "its file, which is" if len(paths_of(table)) == 1 else "its files, which are"
    return (
        f"The table would take about {size} in memory, more than {option('max_memory')} "
        f"({format_bytes(max_memory)}), so its rows stay in {where} read once for each portion of the bags. The kinds "
        f"of its columns were inferred from {ROWS.count(n_held_out)} that were drawn first (see "
        f"{option('random_state')}) and are not used for training."
    )


def _frame(columns: Mapping[str, Any], index: Any) -> Any:
    import pandas as pd

    return pd.DataFrame(dict(columns), index=index)
