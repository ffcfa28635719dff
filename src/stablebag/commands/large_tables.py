"""A training table that does not fit into memory: rows held out first, columns decided from them, the rest in files."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from stablebag._wording import ROWS
from stablebag.commands.choices import chosen_kinds, named_columns, refuse_roles
from stablebag.commands.columns import Columns, plain_frame
from stablebag.commands.describing import described
from stablebag.commands.groups import listed, of_repeats, split_group
from stablebag.commands.kinds import Kind, decide
from stablebag.commands.new_rows import NewRows, Reading
from stablebag.commands.noticing import about_leaks, about_two_ways, leaks, nearly_numbers
from stablebag.commands.parts import folders_of, footers, is_parquet, name_of, paths_of, refuse_uneven, size_in_memory
from stablebag.commands.refusals import TableError, refuse_unknown
from stablebag.commands.row_names import numbered
from stablebag.commands.targets import about_ratings, split_target
from stablebag.commands.typed_rows import TypedRows, plainly, typed
from stablebag.learning.sources.parquet import ParquetTable
from stablebag.learning.sources.remainder import Remainder
from stablebag.showing.data_as_read import DataAsRead

MOST_HELD_OUT = 10_000
_SHARE = 0.2  # of the rows, that is held out at most
_OF_MEMORY = 4  # at most one in so many bytes is for rows that are held out
_FEW_TARGETS = 1_000  # different numbers from which on targets are no classes
_MOST_CATEGORIES = 100_000  # of a column, that are remembered
_BLOCK = 2**16  # rows that are looked through at once


@dataclass(frozen=True)
class LargeTable:
    """A training table in Parquet files that is larger than the memory there is for it.

    No training row has a say in how columns are read: that is decided from the rows that are held out.

    Attributes
    ----------
    X : TypedRows
        The training rows, in their files.
    X_test : DataFrame
        The rows that are held out, in random order.
    y_test : ndarray
        Their targets.
    groups_test : Series or None
        Their units.
    reading : Reading
        How new rows are read in the same way.
    as_read : DataAsRead
        How the rows that are held out were read, for people.
    n_without_target : int
        The number of rows that were left out because their target is missing.
    said : tuple of str
        What it means that the rows are not in memory, and which of their values were met later.
    """

    X: TypedRows
    X_test: Any
    y_test: np.ndarray
    groups_test: Any
    reading: Reading
    as_read: DataAsRead
    n_without_target: int
    said: tuple[str, ...]

    @property
    def y(self) -> np.ndarray:
        """The targets of the training rows."""
        return self.X.targets()

    @property
    def groups(self) -> Any:
        """Their units, or None."""
        return self.X.groups()

    @property
    def n_rows(self) -> int:
        """The number of rows of the files."""
        return sum(self.X.table.row_counts)

    @property
    def task(self) -> str:
        """Whether it is "regression" or "classification"."""
        return self.reading.task

    @classmethod
    def from_options(cls, options: Mapping[str, Any]) -> "LargeTable":
        """Read what has to be known of the table that the options of the command line ask for.

        A share of its rows is held out, 10,000 at the most.
        """
        share = options.get("test_size", _SHARE)
        if not 0 < share < 1:
            raise ValueError(f"--test-size is a share of the rows between 0 and 1. Got {share:g}.")
        table, target, group = options["table"], options["target"], options.get("group")
        schema = _schema(table)
        for name in (target, *[group] * (group is not None)):
            refuse_unknown(schema.names, name)
        drop = named_columns(schema.names, options.get("drop", ()))
        refuse_roles(target, group, (), drop)
        chosen = chosen_kinds(schema.names, options.get("kinds", ()))
        features = [name for name in schema.names if name not in {target, group, *drop}]
        _refuse_nested(schema, features, target, paths_of(table)[0])
        if not features:
            raise TableError("The table has no column to learn from: all are left out.")
        refuse_uneven(table, drop)
        files = [str(path) for path in paths_of(table)]
        about = {"groups": group, "max_memory": options["max_memory"]}
        whole = ParquetTable(files, target, columns=features, **about)
        if whole.n_samples < 2:
            many = "is missing in every row" if not whole.n_samples else "is known in one row, and two are needed"
            raise TableError(f"The target {target!r} {many}.")
        y, kind, task, strange = _targets(whole.targets(), target, chosen, options)
        if whole.groups() is not None:
            split_group(whole.groups().to_frame(), str(group), target)  # which refuses what is none
        held_out = _held_out(whole, share, options["seed"])
        sample = whole.take(held_out)
        flags = tuple(name for name in features if str(schema.field(name).type) == "bool")
        plain = _frame(plainly({name: sample[name] for name in features}, flags), sample.index)
        decision = decide(plain, chosen=_without(chosen, target), decimal=options.get("decimal"))
        columns = Columns(decision.kinds)
        if not columns.used:
            raise TableError("The table has no column to learn from: all are constant, empty, ids or left out.")
        used = whole if columns.used == features else ParquetTable(files, target, columns=columns.used, **about)
        gone = np.union1d(held_out, strange)
        texts = [name for name in columns.used if plain[name].dtype.kind == "O"]
        known = {name: set(typed(sample, columns, flags)[name].dropna()) for name in columns.named("category")}
        seen = _looked_through(files, target, texts, gone, columns, flags, known, options["max_memory"])
        shuffled = np.random.default_rng([options["seed"], 3]).permutation(len(held_out))
        shuffled = shuffled[~np.isin(held_out[shuffled], strange)]
        X, X_test = TypedRows(used, gone, columns, y, flags), typed(sample, columns, flags).iloc[shuffled]
        X_test.index = used.places(held_out[shuffled])
        others = None if whole.groups() is None else whole.groups().iloc[held_out[shuffled]].set_axis(X_test.index)
        told = y[held_out[shuffled]]
        leaking = leaks(X_test, told, task, others, skip=of_repeats(X_test)[:1] if others is None else ())
        warned = about_leaks(leaking, target) + about_ratings(told, target, task, options.get("task"))
        as_read = DataAsRead(
            name=name_of(table),
            n_rows=len(y) - len(strange),
            columns=tuple(
                described(
                    _with_others(plain, whole, target, y, held_out),
                    typed(sample, columns, flags).assign(**{target: y[held_out]}),
                    {**decision.kinds, target: kind},
                    names=schema.names,
                    target=target,
                    group=group,
                    ids=(),
                    drop=drop,
                    leaking=[leak.column for leak in leaking],
                )
            ),
            noticed=(*nearly_numbers(plain, columns), *about_two_ways(decision)),
            warned=tuple(warned),
            row_numbers="" if group is not None else numbered(table),
            n_sampled=len(held_out),
        )
        categories = {name: sorted(values) for name, values in known.items() if len(values) <= _MOST_CATEGORIES}
        reading = Reading(columns, target, kind, task, group, (), {}, categories)
        n_gone = whole.n_missing_targets_ + len(strange)
        said = (_about(table, options["max_memory"], len(held_out)), *seen)
        return cls(X, X_test, y[held_out[shuffled]], others, reading, as_read, n_gone, said)

    def covered(self, trained: Any = None) -> str:
        """Say in a sentence that the guarantee covers also what the columns were taken for."""
        return (
            f"What each column is was decided from the {ROWS.count(self.as_read.n_sampled or 0)} drawn first, none of "
            "which is trained on, so the guarantee covers the reading as well."
        )

    def pipeline(self, learner: Any) -> Any:
        """Return the learner behind a reader of these columns; all of it is fitted inside each bag."""
        return self.reading.columns.pipeline(learner)

    def read_new(self, path: Any, *, needs_target: bool = False) -> NewRows:
        """Read the rows of another file as those of this table are; needed targets must share a class with them."""
        new = self.reading.read_new(path, needs_target=needs_target)
        if needs_target and self.task == "classification" and new.y is not None and not set(new.y) & set(self.y):
            raise TableError(f"No class of {path} is in the training table.")
        return new


def is_large(options: Mapping[str, Any]) -> bool:
    """Return whether a table is read from its files, because it is larger than the memory there is for it."""
    return is_parquet(options["table"]) and size_in_memory(options["table"]) > options["max_memory"]


def refuse_in_memory_only(options: Mapping[str, Any]) -> None:
    """Refuse options that need all rows in memory, in a sentence each."""
    why = {
        "refits": "--refits fits the base model to all rows at once",
        "matched": "--matched fits the bagged model again",
        "save": "--save keeps the training rows with the model",
    }
    larger = "and the table is larger than --max-memory"
    for name, said in why.items():
        if options.get(name):
            raise TableError(f"{said}, {larger}. Leave --{name} out, or allow more memory.")
    if options.get("ids"):
        raise TableError(
            f"--id holds the names of all rows in memory, {larger}. Leave the column out with --drop, so that rows are "
            "called by their places in the files, or allow more memory."
        )


def about_other_files(options: Mapping[str, Any]) -> tuple[str, ...]:
    """Say that a file that is no Parquet is read into memory, though it is larger than the memory there is for rows."""
    table = options["table"]
    size = sum(path.stat().st_size for path in paths_of(table) if path.is_file())
    if is_parquet(table) or size <= options["max_memory"]:
        return ()
    return (
        f"{name_of(table)} is larger than --max-memory ({amount(options['max_memory'])}), and was read into memory all "
        "the same: only Parquet files can be read in portions. docs/large_data.md has the lines that convert a CSV "
        "file.",
    )


def amount(n_bytes: float) -> str:
    """Return an amount of memory for people.

    >>> amount(240_000_000), amount(1_500_000_000), amount(20_000)
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
        for field in footer.schema.to_arrow_schema():
            schema = schema if field.name in schema.names else schema.append(field)
    return folders_of(table).added(schema)


def _refuse_nested(schema: Any, features: list[str], target: str, path: Any) -> None:
    import pyarrow.types as pt

    for name in (target, *features):
        kind, what = schema.field(name).type, "target" if name == target else "column"
        nested = "Predict a column of single values." if name == target else "Leave it out with --drop, or split it."
        if pt.is_nested(kind):
            raise TableError(f"The {what} {name!r} of {path} has lists or the like in it. {nested}")
        if pt.is_binary(kind) or pt.is_large_binary(kind) or pt.is_fixed_size_binary(kind):
            instead = "Write it as text." if name == target else "Leave it out with --drop."
            raise TableError(f"The {what} {name!r} has bytes in it. {instead}")


def _targets(
    found: np.ndarray, target: str, chosen: Mapping[str, str], options: Mapping[str, Any]
) -> tuple[np.ndarray, Kind, str, np.ndarray]:
    """All targets as numbers or classes, how they are written, the task, and the rows whose target is no number.

    What they are is decided by their different values, of all rows.
    """
    import pandas as pd

    task, kinds = options.get("task"), {name: kind for name, kind in chosen.items() if name == target}
    numeric = found.dtype.kind in "iuf"
    if numeric and not np.isfinite(found).all():
        raise TableError(f"The target {target!r} has infinite values.")
    if numeric and not kinds and (task == "regression" or (task is None and _are_many(found))):
        # As they are: a list of different values would take several times their memory.
        return found.astype(float, copy=False), Kind("number", "."), "regression", np.empty(0, np.int64)
    codes, values = pd.factorize(found)
    plain = plain_frame(pd.DataFrame({target: values}))
    decision = decide(plain, chosen=kinds, decimal=options.get("decimal"), target=target, task=task)
    read = Columns({target: decision.kinds[target]}).read(plain)
    _, typed_values, task, _ = split_target(read, target, task, has_classes=decision.has_classes)
    is_known = read[target].notna().to_numpy()
    places = np.cumsum(is_known) - 1
    strange = np.flatnonzero(~is_known[codes])
    return typed_values[places[codes]], decision.kinds[target], task, strange


def _are_many(numbers: np.ndarray) -> bool:
    """Whether there are so many different numbers that they are no classes; few blocks tell it of most targets."""
    seen: np.ndarray = numbers[:0]
    for start in range(0, len(numbers), _BLOCK):
        seen = np.union1d(seen, numbers[start : start + _BLOCK])
        if len(seen) > _FEW_TARGETS:
            return True
    return False


def _held_out(table: ParquetTable, share: float, seed: int) -> np.ndarray:
    """The numbers of the rows that are held out, drawn before anything else; with groups, all rows of some units."""
    import pandas as pd

    n, generator = table.n_samples, np.random.default_rng([seed, 2])
    most = max(100, table.max_memory // (_OF_MEMORY * 8 * max(1, table.n_features)))
    number = int(min(math.ceil(share * n), MOST_HELD_OUT, most))
    groups = table.groups()
    if groups is None:
        if n - number < 2:
            raise TableError(f"{ROWS.count(n)} are too few to hold some out. Take a smaller --test-size, or --test.")
        return np.sort(generator.choice(n, number, replace=False))
    codes, names = pd.factorize(groups)
    order = generator.permutation(len(names))
    sizes = np.bincount(codes, minlength=len(names))[order]
    last = min(max(1, int(np.searchsorted(np.cumsum(sizes), number, side="right"))), len(names) - 2)
    if last < 1:
        raise TableError(f"{len(names):,} units are too few to hold some out: 2 are needed to train on. Use --test.")
    return np.flatnonzero(np.isin(codes, order[:last]))


def _looked_through(
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
        plain, read = plainly({name: block[name] for name in texts}, flags), typed(block, some, flags)
        for name in texts:
            lost[name] += int((plain[name].notna() & read[name].isna()).sum())
            if name in known and len(known[name]) <= _MOST_CATEGORIES:
                values = read[name].dropna()
                new[name] += int((~values.isin(first[name])).sum())
                known[name] |= set(values.unique())
    said = [
        f"{number:,} of {name!r} in the training rows cannot be read as {columns.kinds[name].name}s, and are taken as "
        "missing."
        for name, number in lost.items()
        if number
    ]
    for name, number in new.items():
        if number and len(known[name]) <= _MOST_CATEGORIES:
            others = sorted(known[name] - first[name])
            what = "a category" if len(others) == 1 else f"{len(others):,} categories"
            rows = "1 training row has" if number == 1 else f"{number:,} training rows have"
            said.append(
                f"In {name!r}, {rows} {what} that no row has from which the columns were decided ({listed(others)}); "
                "bags learn from those that they have."
            )
    return said


def _about(table: Any, max_memory: int, n_held_out: int) -> str:
    """What it means that the table is not in memory."""
    size = amount(size_in_memory(table))
    where = "its file, which is" if len(paths_of(table)) == 1 else "its files, which are"
    return (
        f"The table would take about {size} in memory, more than --max-memory ({amount(max_memory)}), so its rows stay "
        f"in {where} read once for each portion of the bags; what its columns are was decided from "
        f"{ROWS.count(n_held_out)} that were drawn first (by --seed) and "
        "are not trained on."
    )


def _with_others(plain: Any, table: ParquetTable, target: str, y: np.ndarray, rows: np.ndarray) -> Any:
    """The features of some rows with what else was read of them: the target, and the group if there is one."""
    others = {target: y[rows]}
    if (groups := table.groups()) is not None:
        others[str(groups.name)] = groups.iloc[rows].to_numpy()
    return plain.assign(**others)


def _without(chosen: Mapping[str, str], target: str) -> dict[str, str]:
    return {name: kind for name, kind in chosen.items() if name != target}


def _frame(columns: Mapping[str, Any], index: Any) -> Any:
    import pandas as pd

    return pd.DataFrame(dict(columns), index=index)
