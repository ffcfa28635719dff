"""What differs between two fitted models: their rows, learners, bags and columns."""

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np

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
    differ = []
    if mine is not None and theirs is not None:
        differ = [place for place in both if mine[matches[place]] != theirs[place]]
    corrected = np.array([(matches[place], place) for place in differ], dtype=np.intp).reshape(-1, 2)
    counted = before.ids.is_counted and after.ids.is_counted and not before.are_groups
    return ChangedRows(left, came, corrected, len(both), after.noun, counted, None not in (mine, theirs))


def _values_of_units(model: Any, other: Any) -> list[bytes] | None:
    """What is in the rows of each unit, as bytes, in the columns that both models have; None if it is not known."""
    X, X_other = fitted(model).X, fitted(other).X
    if any(table is None or isinstance(table, RowSource) for table in (X, X_other)):
        return None
    parts = [_values_of_rows(X, _names(X_other)), _values_of_rows(fitted(model).y, None)]
    whole = [b"|".join(row) for row in zip(*parts, strict=True)]
    units: Units = model.units_
    if units.are_rows:
        return whole
    return [b"||".join(whole[row] for row in units.rows_of(np.array([unit]))) for unit in range(len(units))]


def _names(X: Any) -> list[Any] | None:
    return list(X.columns) if hasattr(X, "columns") else None


def _values_of_rows(X: Any, wanted: list[Any] | None) -> list[bytes]:
    """What is in each row, as bytes; whole numbers and floats of the same value are equal."""
    if hasattr(X, "tocsr"):
        X = X.tocsr()
        X.sum_duplicates()
        ends = X.indptr
        return [
            X.indices[a:b].astype(np.int64).tobytes() + X.data[a:b].astype(float).tobytes()
            for a, b in itertools.pairwise(ends)
        ]
    names = _names(X)
    if names is None:
        X = np.asarray(X).reshape(len(X), -1)
        columns = [X] if X.dtype.kind in "biuf" else list(X.T)
    else:
        columns = [np.asarray(X[name]) for name in sorted(set(names) & set(wanted or names), key=str)]
    parts = [_column_as_bytes(column) for column in columns]
    return [b"|".join(row) for row in zip(*parts, strict=True)] if parts else [b""] * n_rows(X)


def _column_as_bytes(column: np.ndarray) -> list[bytes]:
    if column.dtype.kind in "biuf":
        values = np.ascontiguousarray(column, dtype=float).reshape(len(column), -1) + 0.0  # no minus before zero
        return [row.tobytes() for row in values]
    return [str(value).encode(errors="surrogatepass") for value in column.tolist()]


# --------------------------------------------------------------------------------------------------- what else differs


def refuse_other_targets(old: Any, new: Any, owner: str) -> None:
    """Refuse two models whose predictions are not of the same thing."""
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


def _fixed(law: ResolvedScheme) -> Any:
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
        if laws[0].is_symmetric != laws[1].is_symmetric or _fixed(laws[0]) != _fixed(laws[1]):
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
