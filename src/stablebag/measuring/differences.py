"""What differs between two fitted models: their rows, learners, bags and columns."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from stablebag._checks import is_missing
from stablebag._wording import ROWS, Noun, count_bags, printable
from stablebag.models.fitted import fitted
from stablebag.models.rows import RowSource, n_rows
from stablebag.resampling.law import ResolvedScheme
from stablebag.resampling.units import Units

# ----------------------------------------------------------------------------------------------------------- the rows


@dataclass(frozen=True, eq=False)
class ChangedRows:
    """Which rows, or groups, differ between two versions, by their IDs and what is in them.

    Attributes
    ----------
    left : ndarray of int
        The numbers, in the old version, of those that the new one does not have.
    came : ndarray of int
        The numbers, in the new version, of those that the old one does not have.
    corrected : ndarray of int, shape (n_corrected, 2)
        The numbers, in the old and the new version, of those that both have with other values.
    n_common : int
        How many both have, corrected or not.
    noun : Noun
        What they are.
    by_position : bool
        Whether they were told apart by their position in the table, because `fit` was given no row IDs.
    values_known : bool
        Whether their values could be compared; not if a model keeps no rows.
    """

    left: np.ndarray
    came: np.ndarray
    corrected: np.ndarray
    n_common: int
    noun: Noun = ROWS
    by_position: bool = False
    values_known: bool = True

    @property
    def n_left(self) -> int:
        """How many are gone, with the old values of those that were corrected."""
        return len(self.left) + len(self.corrected)

    @property
    def n_came(self) -> int:
        """How many are new, with the new values of those that were corrected."""
        return len(self.came) + len(self.corrected)

    @property
    def gone(self) -> np.ndarray:
        """The numbers, in the old version, of all that left or were corrected."""
        return np.sort(np.concatenate([self.left, self.corrected[:, 0]]))

    @property
    def new(self) -> np.ndarray:
        """The numbers, in the new version, of all that came or were corrected."""
        return np.sort(np.concatenate([self.came, self.corrected[:, 1]]))

    def explain(self) -> str:
        """Say in a sentence how many left, came and were corrected."""
        if not self.n_left + self.n_came:
            alike = "" if self.values_known else " (by their IDs: a model has not kept its rows)"
            return f"Both versions have the same {self.noun.count(self.n_common)}{alike}."
        unchanged = self.n_common - len(self.corrected)
        parts = [f"{len(self.left):,} left", f"{len(self.came):,} came"]
        parts += [f"{len(self.corrected):,} have other values"] if len(self.corrected) else []
        return f"{self.noun.plural.capitalize()}: {', '.join(parts)}, {unchanged:,} are the same."


def changed_rows(old: Any, new: Any) -> ChangedRows:
    """Return which rows, or groups, differ between two fitted models."""
    before, after = old.units_, new.units_
    places = {name: place for place, name in enumerate(before.ids)}
    matches = np.array([places.get(name, -1) for name in after.ids], dtype=np.intp)
    came, both = np.flatnonzero(matches < 0), np.flatnonzero(matches >= 0)
    left = np.setdiff1d(np.arange(len(before)), matches[both])
    mine, theirs = _values_of_units(old, new), _values_of_units(new, old)
    differ = np.empty(0, dtype=np.intp)
    if mine is not None and theirs is not None:
        differ = both[mine[matches[both]] != theirs[both]]
    corrected = np.stack([matches[differ], differ], axis=1)
    counted = before.ids.is_counted and after.ids.is_counted and not before.are_groups
    return ChangedRows(left, came, corrected, len(both), after.noun, counted, mine is not None and theirs is not None)


# Rows are compared by hashes of 64 bits, so that two tables of a million rows need no more memory than a column each.

_FACTOR, _STEP = np.uint64(0x9E3779B97F4A7C15), np.uint64(29)


def _values_of_units(model: Any, other: Any) -> np.ndarray | None:
    """A hash of what is in the rows of each unit, in the columns that both models have; None if it is not known."""
    X, X_other = fitted(model).X, fitted(other).X
    if any(table is None or isinstance(table, RowSource) for table in (X, X_other)):
        return None
    rows = _hashed_rows(X, _names(X_other))
    for codes in _codes_of(fitted(model).y, None):
        rows = _mixed(rows, codes)
    units: Units = model.units_
    if units.are_rows:
        return rows
    order = np.argsort(units.of_rows, kind="stable")
    starts = np.cumsum(units.sizes) - units.sizes
    within = np.empty(len(rows), dtype=np.uint64)  # the place of a row in its unit, which counts
    within[order] = (np.arange(len(rows)) - np.repeat(starts, units.sizes)).astype(np.uint64)
    total = np.zeros(len(units), dtype=np.uint64)
    np.add.at(total, units.of_rows, _mixed(rows, within + np.uint64(1)))
    return total


def _names(X: Any) -> list[Any] | None:
    return list(X.columns) if hasattr(X, "columns") else None


def _mixed(total: np.ndarray, codes: np.ndarray) -> np.ndarray:
    mixed = (total ^ codes) * _FACTOR
    mixed ^= mixed >> _STEP
    return np.asarray(mixed * _FACTOR + np.uint64(1))


def _hashed_rows(X: Any, wanted: list[Any] | None) -> np.ndarray:
    total = np.zeros(n_rows(X), dtype=np.uint64)
    if hasattr(X, "tocoo"):
        entries = X.tocoo()
        there = entries.data != 0
        entry = _mixed(_mixed(np.zeros(int(there.sum()), np.uint64), entries.col[there].astype(np.uint64)),
                       _codes(entries.data[there]))  # fmt: skip
        np.add.at(total, entries.row[there], entry)
        return total
    for codes in _codes_of(X, wanted):
        total = _mixed(total, codes)
    return total


def _codes_of(X: Any, wanted: list[Any] | None) -> Iterator[np.ndarray]:
    """A number of 64 bits for each value, column by column; of a frame, those of these names, in their order."""
    names = _names(X)
    if names is not None:
        shared = names if wanted is None else sorted(set(names) & set(wanted), key=str)
        yield from (_codes(np.asarray(X[name])) for name in shared)
        return
    array = np.asarray(X)
    yield from (_codes(column) for column in array.reshape(len(array), -1).T)


def _codes(column: np.ndarray) -> np.ndarray:
    """Whole numbers and floats of the same value have the same code, and so have equal texts."""
    if column.dtype.kind in "biuf":
        values = column.astype(float) + 0.0  # no minus before zero
        values[np.isnan(values)] = np.nan
        return values.view(np.uint64)
    known: dict[Any, int] = {}
    numbers = np.empty(len(column), dtype=np.intp)
    for place, value in enumerate(column.tolist()):
        is_number = isinstance(value, int | float) and abs(value) < 1e300
        key = np.nan if is_missing(value) else float(value) if is_number else f"{value} "
        numbers[place] = known.setdefault(key, len(known))
    codes = [
        np.array([key]).view(np.uint64)[0]
        if isinstance(key, float)
        else np.uint64(int.from_bytes(hashlib.blake2b(key.encode(errors="surrogatepass"), digest_size=8).digest()))
        for key in known
    ]
    return np.array(codes, dtype=np.uint64)[numbers] if codes else np.empty(0, dtype=np.uint64)


# --------------------------------------------------------------------------------------------------- what else differs


def refuse_other_targets(old: Any, new: Any, owner: str) -> None:
    """Reject two models whose predictions are not of the same thing."""
    mine, theirs = fitted(old).average, fitted(new).average
    kinds = ["regressor" if average.classes is None else "classifier" for average in (mine, theirs)]
    if kinds[0] != kinds[1]:
        raise ValueError(
            f"The old model is a {kinds[0]} and the new one a {kinds[1]}. Compare two models of the same target."
        )
    if mine.classes is not None and theirs.classes is not None:
        classes, now = mine.classes.tolist(), theirs.classes.tolist()
        if classes != now:
            only = [name for name in (*classes, *now) if (name in classes) != (name in now)]
            where = "old" if only and only[0] in classes else "new"
            what = f"only the {where} one has {only[0]!r}" if only else "they have other types"
            raise ValueError(
                f"The two models predict other classes: {what}. Fit both with the same classes, for example after "
                "merging a rare one with another."
            )
    outputs = [getattr(model, "output_names_", None) for model in (old, new)]
    named = [None if names is None else names.tolist() for names in outputs]
    named = [
        getattr(getattr(model, "output_", None), "name", name) for model, name in zip((old, new), named, strict=True)
    ]
    if named[0] != named[1]:
        raise ValueError(
            f"The two models predict other targets: {_of(named[0])} and {_of(named[1])}. Compare models of the same "
            "targets, or one output of each: model.output(name)."
        )
    if old.units_.are_groups != new.units_.are_groups:
        raise ValueError(
            "One model was fitted with groups and the other without, so rows cannot be matched. Fit both with groups, "
            "or both without."
        )
    if old.derandomized_ != new.derandomized_:
        raise ValueError(
            "One model averages all possible bags and the other a number of drawn ones. Fit both with "
            'n_bags="all", or both with a number.'
        )
    fewest = min(len(old.bags_), len(new.bags_))
    if not old.derandomized_ and fewest < 2:
        raise ValueError(
            "Bagging noise cannot be estimated from 1 bag. Fit both versions with 2 bags or more; 100 are a good start."
        )


def _of(names: Any) -> str:
    return "one target" if names is None else repr(names)


def points_for(model: Any, X: Any, which: str) -> Any:
    """The columns of the points that a model was fitted to, in its order."""
    names = getattr(model, "feature_names_in_", None)
    if names is None or not hasattr(X, "columns") or isinstance(X, RowSource):
        return X
    there = [str(name) for name in X.columns]
    missing = [name for name in names.tolist() if name not in there]
    if missing:
        more = f" (and {len(missing) - 3:,} more)" if len(missing) > 3 else ""
        raise ValueError(
            f"The points lack columns that the {which} model was fitted to: {', '.join(map(repr, missing[:3]))}{more}. "
            "Add them to X; columns that a model does not use may stay."
        )
    return X if there == names.tolist() else X[names.tolist()]


def _settings_that_differ(old: Any, new: Any) -> list[str]:
    """The names of parameters, of the learner and of its fit, that differ."""
    before, after = ({k: v for k, v in model._settings.items() if k != "estimator"} for model in (old, new))
    free = ("keep_rows", "solver", "random_state")
    names = [name for name in (before | after) if name not in free and not name.startswith("prediction_range")]
    differ = [name for name in names if not _equal(before.get(name), after.get(name))]
    whole = [name for name in differ if any(other.startswith(f"{name}__") for other in differ)]
    named = [name for name in differ if name not in whole and not name.endswith(("__steps", "__transformers"))]
    return sorted(name.removeprefix("estimator__") for name in named or differ)


def _equal(one: Any, other: Any) -> bool:
    try:
        return bool(one == other)
    except Exception:
        return False


def fixed_scheme(law: ResolvedScheme) -> Any:
    """The scheme with its size or rate as a number."""
    return law.scheme.without_one(law.n_samples) if law.is_symmetric else law.scheme


@dataclass(frozen=True)
class Differences:
    """What differs between two models besides their rows.

    Attributes
    ----------
    learner : str
        How the learners differ; "" if they do not.
    seed : bool
        Whether the seeds differ, so that the bags are independent draws.
    bags : str
        How the laws of the bags, or their numbers, differ; "" if they do not.
    columns : str
        How the columns of the training tables differ; "" if they do not.
    ranges : str
        How the rules for the range of predictions differ; "" if they do not.
    """

    learner: str
    seed: bool
    bags: str
    columns: str
    ranges: str

    @classmethod
    def between(cls, old: Any, new: Any) -> "Differences":
        """Find out what differs between two fitted models."""
        kinds = [type(model.estimator_).__name__ for model in (old, new)]
        settings = _settings_that_differ(old, new)
        learner = " and ".join(kinds) if kinds[0] != kinds[1] else ", ".join(settings)
        laws, n_bags = (old.scheme_, new.scheme_), (len(old.bags_), len(new.bags_))
        bags = ""
        if laws[0].is_symmetric != laws[1].is_symmetric or fixed_scheme(laws[0]) != fixed_scheme(laws[1]):
            bags = f"{laws[0]}, and {laws[1]}"
        elif not old.derandomized_ and n_bags[0] != n_bags[1]:
            bags = f"{count_bags(n_bags[0])}, and {count_bags(n_bags[1])}"
        tables = [getattr(model, "feature_names_in_", None) for model in (old, new)]
        columns = ""
        if tables[0] is not None and tables[1] is not None:
            before, after = tables[0].tolist(), tables[1].tolist()
            gone, came = [c for c in before if c not in after], [c for c in after if c not in before]
            parts = [
                f"{word} {', '.join(map(printable, some))}"
                for word, some in (("without", gone), ("with", came))
                if some
            ]
            columns = ", ".join(parts) or ("in another order" if before != after else "")
        elif old.n_features_in_ != new.n_features_in_:
            columns = f"{new.n_features_in_} in place of {old.n_features_in_}"
        rules = [getattr(model, "prediction_range_", None) for model in (old, new)]
        ranges = "" if rules[0] == rules[1] else f"{rules[0]}, and {rules[1]}"
        return cls(learner, old._seeds.root != new._seeds.root, bags, columns, ranges)

    @property
    def is_more_than_rows(self) -> bool:
        """Whether anything but the rows differs."""
        return bool(self.learner or self.seed or self.bags or self.columns or self.ranges)

    def refuse_for_blocks(self, same_law: bool) -> None:
        """Raise ValueError for effects of blocks of rows if bags without changed rows also differ."""
        others = {"learner": self.learner, "columns": self.columns, "ranges": self.ranges, "bags": not same_law}
        found = [name for name, differs in others.items() if differs]
        if found:
            raise ValueError(
                f"Effects of blocks of rows need versions that differ in their rows alone, and their {found[0]} "
                f"{'differs' if found[0] == 'learner' else 'differ'}. Fit both alike, or leave rows out."
            )

    @property
    def is_learner_alone(self) -> bool:
        """Whether nothing but the rows and the learner differs."""
        return bool(self.learner) and not (self.seed or self.bags or self.columns or self.ranges)

    def sentences(self) -> list[str]:
        """Say what differs."""
        found = []
        if self.learner:
            found.append(f"The learners differ: {self.learner}.")
        if self.columns:
            found.append(f"The columns differ: the new version is {self.columns}.")
        if self.bags:
            found.append(f"The bags differ: {self.bags}.")
        if self.ranges:
            found.append(f"The ranges of predictions differ: {self.ranges}.")
        if self.seed:
            found.append(
                "The seeds differ, so the bags are independent draws and their noise does not cancel. Fit both with "
                "the same random_state and row IDs for less noise."
            )
        return found
