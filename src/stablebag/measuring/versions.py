"""Two versions of a model: which predictions changed beyond bagging noise, and what is guaranteed about the change."""

import itertools
import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from stablebag._checks import check_real, hold_read_only, refuse_type, refuse_value
from stablebag._seeds import Seeds
from stablebag._wording import (
    ROUNDING,
    ROWS,
    Noun,
    Result,
    count_bags,
    number,
    paragraphs,
    percent,
    printable,
)
from stablebag.measuring.causes import (
    BlockEffect,
    Blocks,
    Kinds,
    Part,
    count_fits,
    kinds_of_points,
    some_points,
    steps,
)
from stablebag.models.ensemble import check_bagged
from stablebag.models.fitted import BagPredictions, fitted
from stablebag.models.ranges import FixedRange
from stablebag.models.rows import RowSource, n_rows, take_rows
from stablebag.proving.leave_out import VersionsCertificate
from stablebag.resampling.law import ResolvedScheme
from stablebag.resampling.units import Units

ALPHA = 0.05  # the chance that any point is marked if nothing but chance changed
_BLOCK = 2**22  # predictions of all bags that are held at once
_WORK = 2 * 10**10  # multiplications for the sign flips, a few seconds
_FLIPS = 199, 999  # the fewest and the most sign flips
_TIES = 1e-4  # relative: sums of 32-bit floats that differ by less are equal
_RESAMPLED = 20  # pairs of redrawn bags, from which decisions by another seed are estimated
_TENTH = 0.1
_MOST_COLUMNS = 100  # of the points, by which they are described without being asked


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


def _refuse_other_targets(old: Any, new: Any, owner: str) -> None:
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


def _points_for(model: Any, X: Any, which: str) -> Any:
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


def _guarantee(
    old: Any, new: Any, rows: ChangedRows, differences: Differences
) -> tuple[VersionsCertificate | None, str]:
    """What is proved about these two versions, or why nothing is."""
    way = ""
    law, ranges = old.scheme_, getattr(old, "prediction_range_", None)
    regression = fitted(old).average.classes is None
    if differences.ranges:
        way = "fit both versions with the same range, such as prediction_range=FixedRange(low, high)"
    elif differences.is_more_than_rows:
        way = "both versions must have the same learner, columns, bag size, number of bags and random_state"
    elif not law.is_symmetric or not law.is_matched or not new.scheme_.is_matched:
        way = "it is known only for bags that treat all rows alike, such as Subbagging(1000)"
    elif regression and fitted(old).y.ndim > 1:
        way = "compare one output at a time: model.output(name)"
    elif regression and not isinstance(ranges, FixedRange):
        way = "fit both versions with the same range, such as prediction_range=FixedRange(low, high)"
    elif not rows.values_known:
        way = "both models must keep their rows: keep_rows=True"
    elif rows.n_common == 0 or rows.n_left >= law.n_samples or rows.n_came >= new.scheme_.n_samples:
        way = f"the versions have no {rows.noun.plural} in common that are the same"
    if way:
        return None, f"No guarantee: {way}."
    n_bags = math.inf if old.derandomized_ else len(old.bags_)
    low, high = fitted(old).average.interval or (0.0, 1.0)  # probabilities are in [0, 1]
    try:
        return VersionsCertificate(law, rows.n_left, rows.n_came, n_bags, high - low, rows.noun), ""
    except ValueError:
        return None, "No guarantee: so many rows changed that every bag may have one of them."


# -------------------------------------------------------------------------------------------- the bags, pair by pair


class _SignFlips:
    """The largest change over all points, in units of its noise, under random signs of the pairs' differences.

    If both versions have the same rows and only the seed differs, or only the names of some rows, then a pair of bags
    is as likely as the same pair the other way round. So is any choice of signs, and the largest statistic over all
    points is as likely to have any rank among those with other signs.
    """

    def __init__(self, n_pairs: int, n_numbers: int) -> None:
        fewest, most = _FLIPS
        n_flips = most if n_pairs * n_numbers * most <= _WORK else fewest
        generator = Seeds(0).generator()
        self._signs = (2 * generator.integers(0, 2, (n_flips, n_pairs), dtype=np.int8) - 1).astype(np.float32)
        self._largest = np.zeros(n_flips)

    def add(self, differences: np.ndarray) -> np.ndarray:
        """Take in the differences at some points, shape (n_pairs, n); return the statistic at each."""
        unit = np.abs(differences).max(axis=0)
        scaled = differences / np.where(unit > 0, unit, 1.0)
        length = np.sqrt((scaled**2).sum(axis=0))
        scaled /= np.where(length > 0, length, 1.0)
        if (unit > 0).any():
            some = scaled[:, unit > 0].astype(np.float32)
            np.maximum(self._largest, np.abs(self._signs @ some).max(axis=1), out=self._largest)
        return np.asarray(np.abs(scaled.sum(axis=0)))

    @property
    def threshold(self) -> float:
        """What the statistic has to exceed."""
        allowed = math.floor(ALPHA * (len(self._largest) + 1) + 1e-9) - 1
        return float(np.sort(self._largest)[::-1][allowed]) * (1 + _TIES)


def _blocks(old: Any, new: Any, X: Any) -> Iterator[tuple[slice, np.ndarray, np.ndarray]]:
    """Yield blocks of points, as a slice, with what the bags of both models predict there, not yet clipped."""
    models = (old, new)
    numbers = max(fitted(model).average.n_numbers * len(model.bags_) for model in models)
    tables = [_points_for(model, X, which) for model, which in zip(models, ("old", "new"), strict=True)]
    tables = [fitted(model).checked_points(table) for model, table in zip(models, tables, strict=True)]
    step = max(1, _BLOCK // numbers)
    if isinstance(tables[0], RowSource):
        parts: Iterator[Any] = zip(*(table.blocks(step) for table in tables), strict=True)
    else:
        places = (np.arange(first, min(first + step, n_rows(tables[0]))) for first in range(0, n_rows(tables[0]), step))
        parts = ([take_rows(table, some) for table in tables] for some in places)
    first = 0
    for some in parts:
        stop = first + n_rows(some[0])
        yield slice(first, stop), *(model._raw(part) for model, part in zip(models, some, strict=True))
        first = stop


class _Pairs:
    """Two models, pair by pair: changes, their noise, and which decisions changed, collected in blocks of points."""

    def __init__(self, old: Any, new: Any) -> None:
        self.averages = fitted(old).average, fitted(new).average
        self.drawn = not old.derandomized_
        self.paired = self.drawn and old._seeds.root == new._seeds.root
        self.n_bags = len(old.bags_), len(new.bags_)
        self.n_pairs = min(self.n_bags)
        classes = self.averages[0].classes
        self.binary = classes is not None and len(classes) == 2

    def outputs(self, raws: tuple[np.ndarray, ...]) -> list[np.ndarray]:
        """What is averaged, of both models; of two classes, the probability of the second."""
        outputs = [average.outputs(raw) for average, raw in zip(self.averages, raws, strict=True)]
        return [each[..., 1] for each in outputs] if self.binary else outputs

    def predictions(self, raws: tuple[np.ndarray, ...]) -> list[np.ndarray]:
        """The predictions of both models."""
        return [average.prediction([raw]) for average, raw in zip(self.averages, raws, strict=True)]

    def differences(self, outputs: list[np.ndarray]) -> np.ndarray:
        """The differences of as many pairs of bags as there are; a rounding error is none."""
        before, after = (each[: self.n_pairs] for each in outputs)
        differences = after - before
        size = np.maximum(np.abs(before).max(axis=0), np.abs(after).max(axis=0))
        differences[np.abs(differences) <= ROUNDING * size] = 0.0
        return np.asarray(differences)

    def noise(self, outputs: list[np.ndarray], differences: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The standard error of the change, and what it would be for two independent draws of bags."""
        if not self.drawn:
            return np.zeros(outputs[0].shape[1:]), np.zeros(outputs[0].shape[1:])
        errors = [
            average.estimated_deviation(each) / math.sqrt(n)
            for average, each, n in zip(self.averages, outputs, self.n_bags, strict=True)
        ]
        apart = np.hypot(*errors)
        if not self.paired:
            return apart, apart
        if self.n_bags[0] == self.n_bags[1]:
            return _deviation(differences) / math.sqrt(self.n_pairs), apart
        before, after = (each[: self.n_pairs] / n for each, n in zip(outputs, self.n_bags, strict=True))
        longer = int(np.argmax(self.n_bags))
        rest = self.n_bags[longer] - self.n_pairs
        alone = _deviation(outputs[longer]) / self.n_bags[longer] * math.sqrt(rest)
        return np.hypot(_deviation(after - before) * math.sqrt(self.n_pairs), alone), apart


def _deviation(values: np.ndarray) -> np.ndarray:
    """The standard deviation over bags, in units of the largest so that no square overflows."""
    centred = values - values.mean(axis=0)
    unit = np.abs(centred).max(axis=0)
    centred /= np.where(unit > 0, unit, 1.0)
    deviation: np.ndarray = np.sqrt((centred**2).sum(axis=0) / max(1, len(values) - 1)) * unit
    return np.where((values == values[0]).all(axis=0), 0.0, deviation)


def _looked_at(differences: np.ndarray, points: slice, looked_at: np.ndarray) -> np.ndarray:
    """The differences at those numbers of these points at which blocks of rows are looked at."""
    flat = differences.reshape(len(differences), -1)
    width = flat.shape[1] // (points.stop - points.start)
    here = looked_at[(looked_at >= points.start * width) & (looked_at < points.stop * width)]
    return np.asarray(flat[:, here - points.start * width])


class _Redrawn:
    """How many decisions another seed alone would change, estimated by drawing the bags of one model again."""

    def __init__(self, n_bags: tuple[int, int]) -> None:
        generator = Seeds(1).generator()
        draws = [generator.multinomial(n, np.full(n_bags[1], 1 / n_bags[1]), _RESAMPLED) / n for n in n_bags]
        self._weights = np.concatenate(draws).astype(np.float32)
        self.changed = 0.0

    def add(self, raw: np.ndarray) -> None:
        """Take in the probabilities of all bags at some points."""
        flat = raw.reshape(len(raw), -1).astype(np.float32)
        means = (self._weights @ flat).reshape(2, _RESAMPLED, *raw.shape[1:])
        labels = means.argmax(axis=-1)
        self.changed += float((labels[0] != labels[1]).mean(axis=0).sum())


# ---------------------------------------------------------------------------------------------------------- the result


@dataclass(frozen=True, eq=False, repr=False)
class Versions(Result):
    """How predictions changed between two versions of a model, and which changes are beyond bagging noise.

    Made by `compare_versions`. Arrays have one value for each point; for more than two classes, or several outputs,
    they have a column for each. For two classes the prediction is the probability of the second.

    Attributes
    ----------
    old, new : ndarray of shape (n_points,) or (n_points, n_columns)
        The predictions of both versions.
    noise : ndarray like old
        The standard error of the change: how much it would vary with other bags and seeds. Matched bags share most of
        their rows, and so do their errors, which cancel.
    beyond_noise : ndarray of bool, like old
        Whether the change is beyond bagging noise.
    seed_noise : ndarray like old
        How much two independent draws of the bags would differ: what another seed alone does at these numbers of bags.
    rows : ChangedRows
        Which training rows, or groups, left, came or were corrected.
    differences : Differences
        What else differs between the models.
    n_bags : tuple of int
        The number of bags of both versions.
    n_changed_bags : int or None
        How many pairs of bags predict something else at some point; None if all possible bags are averaged.
    decisions : tuple of two arrays, or None
        The predicted classes of both versions; None in regression.
    seed_decisions : float or None
        How many decisions another seed alone would change: an estimate from the bags of the new version.
    guarantee : VersionsCertificate or None
        What is proved about the change before seeing the points.
    why_no_guarantee : str
        Why nothing is, and what to do; "" if there is a guarantee.
    columns : ndarray or None
        The names of the columns; None if there is one.
    positive : object
        For two classes, the one whose probability is compared.
    index : pandas Index or None
        The index of the frame of points, if it names them.
    kinds : Kinds or None
        Which kinds of points changed by how much; None if nothing changed beyond noise, or the columns explain nothing.
    blocks : tuple of BlockEffect, or None
        What the changed rows of each block did to the predictions; None if no blocks were asked for.
    parts : tuple of Part, or None
        The parts of the change that are due to rows that left, to rows that came, and to what else differs; None before
        `with_parts`.
    """

    old: np.ndarray
    new: np.ndarray
    noise: np.ndarray
    beyond_noise: np.ndarray
    seed_noise: np.ndarray
    rows: ChangedRows
    differences: Differences
    n_bags: tuple[int, int]
    n_changed_bags: int | None = None
    decisions: tuple[np.ndarray, np.ndarray] | None = None
    seed_decisions: float | None = None
    guarantee: VersionsCertificate | None = None
    why_no_guarantee: str = ""
    columns: np.ndarray | None = None
    positive: Any = None
    index: Any = None
    kinds: Kinds | None = None
    blocks: tuple[BlockEffect, ...] | None = None
    parts: tuple[Part, ...] | None = None
    _compared: tuple[Any, Any, Any, Any] | None = None  # both models, the points and the blocks of rows

    alpha = ALPHA

    def __post_init__(self) -> None:
        hold_read_only(self)

    # ------------------------------------------------------------------------------------------------- what was found

    @cached_property
    def change(self) -> np.ndarray:
        """The new prediction minus the old one."""
        change: np.ndarray = self.new - self.old
        change.flags.writeable = False
        return change

    @property
    def n_points(self) -> int:
        """The number of points."""
        return len(self.old)

    @cached_property
    def changed_points(self) -> np.ndarray:
        """Whether any number at a point changed beyond noise."""
        return self.beyond_noise if self.beyond_noise.ndim == 1 else np.asarray(self.beyond_noise.any(axis=1))

    @property
    def n_beyond_noise(self) -> int:
        """How many points changed beyond noise."""
        return int(self.changed_points.sum())

    @cached_property
    def changed_decisions(self) -> np.ndarray:
        """Whether the predicted class changed, at each point; all False in regression."""
        if self.decisions is None:
            return np.zeros(self.n_points, dtype=bool)
        return np.asarray(self.decisions[0] != self.decisions[1])

    @property
    def noise_floor(self) -> float:
        """The root mean square of what another seed alone would do, at these numbers of bags."""
        return _root_mean_square(self.seed_noise)

    def bags_for(self, share: float = _TENTH) -> int | None:
        """Return how many bags in each version would make the noise so small a share of the change.

        Parameters
        ----------
        share : float, default=0.1
            Noise over change, both as a root mean square over points.

        Returns
        -------
        int or None
            None if the change cannot be told from noise, so that no number is known, or if there is no noise.
        """
        share = check_real(share, "share", "Versions.bags_for", low=1e-6, finite=True, reason="a tenth is 0.1.")
        noise, total = _root_mean_square(self.noise), _root_mean_square(self.change)
        if noise == 0 or not self.n_beyond_noise or total <= noise:
            return None
        actual = math.sqrt(1 - (noise / total) ** 2) * total
        return max(2, math.ceil(min(self.n_bags) * (noise / actual / share) ** 2 - 1e-9))

    # ----------------------------------------------------------------------------------------- which rows are behind it

    @property
    def n_fits(self) -> int:
        """How many bags `with_parts` fits: those that have a changed row. If the learners differ, about how many."""
        old, new, *_ = self._models()
        return count_fits(old, new, self.rows, self.differences.is_more_than_rows)

    def with_parts(self) -> "Versions":
        """Split the change of every prediction into what is due to rows that left and to rows that came.

        The model of the rows that both versions have lies between them: forgetting the rows that left gives the first
        part, learning the rows that came the second. Values that were corrected left and came. If the learners differ,
        the old one is fitted to the new rows, and the third part, "learner", is what the new learner changes. It is
        called "other" if bags, seeds, ranges or columns differ. The parts add up to the change, to rounding.

        Only bags with a changed row are fitted, `n_fits` of them; with many changed rows that is every bag. Use
        `on_progress` to follow the fits. Effects of blocks of rows, if asked for, are estimated again from the fitted
        bags, which makes them sharper.

        Returns
        -------
        Versions
            The same comparison with `parts`, which `to_frame` and `summary` show.
        """
        old, new, X, blocks = self._models()
        n_numbers = self.old.size
        looked_at = some_points(n_numbers)
        n_pairs = min(self.n_bags)
        kept: dict[str, list[np.ndarray]] = {"left": [], "came": []}
        way = steps(old, new, self.rows, self.differences.is_more_than_rows)
        parts, before, start = [], old, self.old
        for place, (name, after) in enumerate(way):
            if after is before:
                end, noise = start, np.zeros_like(start)
                if name in kept:
                    kept[name].append(np.zeros((n_pairs, len(looked_at))))
            else:
                pairs, ends, noises = _Pairs(before, after), [], []
                for some, *raws in _blocks(before, after, X):
                    both = (raws[0], raws[1])
                    outputs = pairs.outputs(both)
                    differences = pairs.differences(outputs)
                    noises.append(pairs.noise(outputs, differences)[0])
                    if blocks is not None and name in kept:
                        kept[name].append(_looked_at(differences[:n_pairs], some, looked_at))
                    prediction = pairs.predictions(both)[1]
                    ends.append(prediction[:, 1] if pairs.binary else prediction)
                end, noise = np.concatenate(ends), np.concatenate(noises)
            if place == len(way) - 1:
                end = self.new
            name = "learner" if name == "other" and self.differences.is_learner_alone else name
            parts.append(Part(name, end - start, noise))
            before, start = after, end
        found = self.blocks
        if blocks is not None:
            found = blocks.apart(*(np.concatenate(each, axis=1) for each in kept.values()))
        return replace(self, parts=tuple(parts), blocks=found)

    def _models(self) -> tuple[Any, Any, Any, Any]:
        if self._compared is None:
            raise ValueError("This comparison was made by hand and has no models. Use compare_versions.")
        return self._compared

    def blocks_to_frame(self) -> Any:
        """Return a pandas DataFrame with the effect of each block of rows, the largest first.

        Its columns are the attributes of `BlockEffect`.
        """
        import pandas as pd

        if self.blocks is None:
            raise ValueError("No blocks were asked for. Compare with rows=..., such as rows='month'.")
        order = sorted(self.blocks, key=lambda block: -block.size)
        return pd.DataFrame(order, columns=list(BlockEffect._fields)).set_index("name").rename_axis("block")

    # ----------------------------------------------------------------------------------------------------- in sentences

    def summary(self) -> str:
        """Explain in plain sentences what changed, how much of it is noise, and what is guaranteed."""
        return paragraphs([" ".join(sentences) for sentences in self.topics.values() if sentences])

    @property
    def topics(self) -> dict[str, list[str]]:
        """The sentences of `summary` by what they are about: who, noise, why, and the guarantee."""
        topics = {
            "who": [self._headline(), self._decided(), "" if self.kinds is None else self.kinds.explain()],
            "noise": [self._claim(), self._floor()],
            "why": [
                self.rows.explain(),
                self._position_hint(),
                *self.differences.sentences(),
                self._in_parts(),
                self._in_blocks(),
            ],
            "guarantee": [self.why_no_guarantee if self.guarantee is None else self.guarantee.in_short()],
        }
        return {name: [sentence for sentence in sentences if sentence] for name, sentences in topics.items()}

    def explain(self) -> str:
        """Explain in plain sentences: the same as `summary`."""
        return self.summary()

    def _headline(self) -> str:
        of = f"{self.n_points:,} {'point' if self.n_points == 1 else 'points'}"
        predictions = "Predictions"
        if self.positive is not None:
            predictions += f" (the probability of {printable(self.positive)})"
        if not (self.change != 0).any():
            return f"No prediction changed at {of}."
        if not self.n_beyond_noise:
            beyond = "clearly changed beyond bagging noise" if self.noise.any() else "changed by more than rounding"
            return f"No prediction at {of} {beyond}. {self._sizes()}"
        name, size = self._largest()
        of_all = f"{self.n_beyond_noise:,} of {of} ({percent(self.n_beyond_noise / self.n_points)})"
        beyond = " beyond bagging noise" if self.noise.any() else ""
        return f"{predictions} changed{beyond} at {of_all}, most at {name}: {size}. {self._sizes()}"

    def _sizes(self) -> str:
        size, noise = _root_mean_square(self.change), _root_mean_square(self.noise)
        tail = f", bagging noise included ({number(noise)})" if noise else ""
        return f"The typical change is {number(size)}{tail}."

    def _largest(self) -> tuple[str, str]:
        """The name of the point that changed most beyond noise, and by how much."""
        change = np.where(self.beyond_noise, np.abs(self.change), -1.0)
        place = np.unravel_index(int(change.argmax()), change.shape)
        name = f"point {place[0]}" if self.index is None else printable(self.index[place[0]])
        of = f" for {printable(self.columns[place[1]])}" if self.columns is not None else ""
        return name, f"{self.change[place]:+.4g}{of}"

    def _claim(self) -> str:
        if not self.noise.any() or not self.n_beyond_noise:
            return ""
        return f"If only the seed had changed, the chance of marking any of these points would be at most {ALPHA:.0%}."

    def _decided(self) -> str:
        if self.decisions is None:
            return ""
        changed = self.changed_decisions
        n, clear = int(changed.sum()), int((changed & self.changed_points).sum())
        if not n:
            found = "No decision changed."
        else:
            found = f"{n:,} of {self.n_points:,} decisions changed ({percent(n / self.n_points)})"
            found += f", {clear:,} of them where the change is beyond noise." if self.noise.any() else "."
        if self.seed_decisions is None:
            return found
        return f"{found} Another seed alone would change about {number(round(self.seed_decisions, 1))} decisions."

    def _floor(self) -> str:
        if not self.seed_noise.any():
            return ""
        floor = f"Another seed alone would change predictions by about {number(self.noise_floor)}"
        counts = count_bags(self.n_bags[0]) if self.n_bags[0] == self.n_bags[1] else "these numbers of bags"
        wanted, now = self.bags_for(), min(self.n_bags)
        more = ""
        if wanted is not None and wanted > now:
            more = f" {wanted:,} bags in each version would make the noise a tenth of the change."
        return f"{floor} (root mean square, with {counts}).{more}"

    def _in_parts(self) -> str:
        if self.parts is None:
            return ""
        names = {
            "left": f"{self.rows.noun.plural} that left",
            "came": f"{self.rows.noun.plural} that came",
            "learner": "the new learner",
            "other": "what else differs",
        }
        sizes = [
            f"{names[part.name]} {number(_root_mean_square(part.change))}"
            + (f" (noise {number(noise)})" if (noise := _root_mean_square(part.noise)) else "")
            for part in self.parts
        ]
        listed = f"{', '.join(sizes[:-1])} and {sizes[-1]}"
        return f"Typical parts of the change: {listed}. At every point they add up to the change."

    def _in_blocks(self) -> str:
        if self.blocks is None:
            return ""
        clear = sorted(
            (each for each in self.blocks if each.beyond_noise), key=lambda each: -each.size / (each.noise or 1)
        )
        total = (
            f"{len(self.blocks):,} {'block' if len(self.blocks) == 1 else 'blocks'} of changed {self.rows.noun.plural}"
        )
        if not clear:
            return f"No effect of {total} is beyond noise." if self.blocks else "No block has changed rows."
        first = "; ".join(
            f"{printable(block.name)} ({block.effect:+.3g} on average, {number(block.size)} typically, noise "
            f"{number(block.noise)})"
            for block in clear[:3]
        )
        more = f", and {len(clear) - 3:,} more" if len(clear) > 3 else ""
        return (
            f"Of {total}, {len(clear):,} {'has' if len(clear) == 1 else 'have'} an effect beyond noise: {first}{more}."
        )

    def _position_hint(self) -> str:
        if not self.rows.by_position or not len(self.rows.corrected) or not self.rows.n_common:
            return ""
        if len(self.rows.corrected) < 0.5 * self.rows.n_common:
            return ""
        return (
            "Rows were matched by their position in the table, and most positions hold other rows now. Fit both "
            'versions with row_ids, such as row_ids="index".'
        )

    # ------------------------------------------------------------------------------------------------------- as a table

    def to_frame(self) -> Any:
        """Return a pandas DataFrame with one line per point, and per class or output if there are several.

        Its columns are `old`, `new`, `change`, `noise` and `beyond_noise`; for a classifier also `old_decision` and
        `new_decision`; and after `with_parts` the parts of the change, such as `left` and `came`.
        """
        import pandas as pd

        index = pd.RangeIndex(self.n_points, name="point") if self.index is None else self.index
        values: dict[str, Any] = {name: getattr(self, name) for name in _FRAME}
        values |= {part.name: part.change for part in self.parts or ()}
        decided = (
            {} if self.decisions is None else dict(zip(("old_decision", "new_decision"), self.decisions, strict=True))
        )
        if self.columns is None:
            return pd.DataFrame({**values, **decided}, index=index)
        heading = "class" if self.decisions is not None else "output"
        product = pd.MultiIndex.from_product([list(index), list(self.columns)], names=[index.name or "point", heading])
        repeated = {name: np.repeat(each, len(self.columns)) for name, each in decided.items()}
        return pd.DataFrame({**{name: each.ravel() for name, each in values.items()}, **repeated}, index=product)

    def to_dict(self) -> dict[str, Any]:
        """Return what was found as a dictionary that JSON takes; single points are in `to_frame`."""
        parts = {
            part.name: {"size": _root_mean_square(part.change), "noise": _root_mean_square(part.noise)}
            for part in self.parts or ()
        }
        blocks = [{**block._asdict(), "name": str(block.name)} for block in self.blocks or ()]
        kinds = None
        if self.kinds is not None:
            kinds = {"groups": [kind._asdict() for kind in self.kinds.groups], "share": self.kinds.share}
        return {
            "n_points": self.n_points,
            "n_beyond_noise": self.n_beyond_noise,
            "alpha": ALPHA,
            "typical_change": _root_mean_square(self.change),
            "typical_noise": _root_mean_square(self.noise),
            "noise_of_another_seed": self.noise_floor,
            "bags_for_a_tenth": self.bags_for(),
            "n_changed_decisions": None if self.decisions is None else int(self.changed_decisions.sum()),
            "n_decisions_of_another_seed": self.seed_decisions,
            "n_bags": list(self.n_bags),
            "rows": {
                "noun": self.rows.noun.singular,
                "n_left": len(self.rows.left),
                "n_came": len(self.rows.came),
                "n_corrected": len(self.rows.corrected),
                "n_common": self.rows.n_common,
            },
            "differences": asdict(self.differences),
            "parts": parts or None,
            "blocks": blocks if self.blocks is not None else None,
            "kinds": kinds,
            "guarantee": None if self.guarantee is None else self.guarantee.to_dict(),
            "summary": self.topics,
        }

    def _preview(self) -> tuple[str, Any, dict[str, Any]]:
        """The points that changed most, those beyond noise first."""
        size = np.abs(self.change) if self.columns is None else np.abs(self.change).max(axis=1)
        order = np.lexsort((-size, ~self.changed_points))
        called = np.arange(self.n_points) if self.index is None else np.asarray(self.index, dtype=object)
        names = called[order].tolist()
        values = {name: getattr(self, name)[order] for name in _FRAME}
        if self.columns is not None:
            names = [f"{name}, {column}" for name in names for column in self.columns]
            values = {name: each.ravel() for name, each in values.items()}
        columns = {name.replace("_", " "): each.tolist() for name, each in values.items()}
        if self.decisions is not None and self.columns is None:
            for name, each in zip(("old decision", "new decision"), self.decisions, strict=True):
                columns[name] = [printable(label) for label in each[order]]
        return "point", names, columns


def _described(X: Any, by: Any, owner: str) -> Any:
    """The table whose columns describe the points; None if there is none."""
    if by is None:
        few = not isinstance(X, RowSource) and getattr(X, "ndim", 2) == 2
        few = few and hasattr(X, "shape") and X.shape[1] <= _MOST_COLUMNS
        return X if few and (hasattr(X, "columns") or isinstance(X, np.ndarray)) else None
    if isinstance(by, str) or (isinstance(by, list | tuple) and all(isinstance(name, str) for name in by)):
        names = [by] if isinstance(by, str) else list(by)
        there = [str(name) for name in getattr(X, "columns", ())]
        missing = [name for name in names if name not in there]
        if missing or not names:
            raise refuse_value("by", owner, "columns of X, or a table of the points", by, "X has no such column.")
        return X[names]
    if isinstance(by, RowSource | BagPredictions) or not (hasattr(by, "columns") or isinstance(by, np.ndarray | list)):
        raise refuse_type("by", owner, "columns of X, or a table of the points", by)
    return by


_FRAME = ("old", "new", "change", "noise", "beyond_noise")


def _root_mean_square(values: np.ndarray) -> float:
    unit = float(np.abs(values).max(initial=0.0))
    return unit * math.sqrt(float(((values / unit) ** 2).mean())) if unit else 0.0


def compare_versions(old: Any, new: Any, X: Any, *, by: Any = None, rows: Any = None) -> Versions:
    """Compare the predictions of two versions of a bagged model: which changed, by how much, and how much is noise.

    The versions are two fitted models of the same target, for example before and after a retraining. Nothing is
    fitted. If both have the same `random_state` and `row_ids`, bag b of one is bag b of the other but for the rows that
    left and came. The difference of the two is measured bag by bag, and most of its noise cancels. Models with other
    seeds, learners or bags can be compared as well; the result says what differs.

    **What noise means.** The change is a fixed number once the bags are drawn. Its noise is the standard error over
    other draws of the bags and of the learners' seeds, for these two data sets. It says nothing about other data.

    **What beyond noise means.** Random signs are given to the differences of all pairs of bags, 999 times. A point is
    marked if its change, divided by the root of the sum of squares of its differences, is larger than the largest such
    ratio over all points in 95% of these draws. If only the seed differs between the versions, or only the IDs of some
    rows, the chance of marking any point is at most 5%, for any learner and any outputs: this is proved
    (docs/versions.md). If the rows differ, it is approximate for points that changed nothing on average; the same page
    has simulations. A change that fewer than 6 bags carry is never marked. If the versions have different numbers of
    bags, the test uses as many bags of each as the smaller number.

    Parameters
    ----------
    old : BaggedRegressor or BaggedClassifier
        The fitted model of the old version.
    new : BaggedRegressor or BaggedClassifier
        The fitted model of the new version.
    X : array-like, sparse array, data frame or RowSource of shape (n_points, n_features)
        The points at which to compare. A frame may have more columns than the models use.
    by : list of str, array-like, data frame or None, default=None
        What describes the kinds of points that changed: columns of X by name, or another table of the same points. None
        takes all columns of X, unless there are more than 100.
    rows : str, mapping or None, default=None
        Blocks of training rows whose effects are estimated, without refitting: a column of both training tables, such
        as "month", or the label of each changed row by its ID, as a dict or a pandas Series. It needs versions with the
        same `random_state`.

    Returns
    -------
    Versions

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> from stablebag import BaggedRegressor, Subbagging, compare_versions
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = BaggedRegressor(DecisionTreeRegressor(), scheme=Subbagging(100), n_bags=500, random_state=0)
    >>> before, now = np.arange(0, 380), np.arange(20, 400)  # 20 patients left, 20 came
    >>> old = model.fit(X[before], y[before], row_ids=before)
    >>> new = BaggedRegressor(**model.get_params(deep=False)).fit(X[now], y[now] + 20 * (now >= 380), row_ids=now)
    >>> print(compare_versions(old, new, X[400:]).summary())
    Predictions changed beyond bagging noise at 2 of 42 points (4.8%), most at point 10: -15.9.
    The typical change is 5.101, bagging noise included (2.921).
    If only the seed had changed, the chance of marking any of these points would be at most 5%.
    Another seed alone would change predictions by about 3.728 (root mean square, with 500 bags).
    24,384 bags in each version would make the noise a tenth of the change.
    Rows: 20 left, 20 came, 360 are the same.
    No guarantee: fit both versions with the same range, such as
    prediction_range=FixedRange(low, high).
    """
    owner = "compare_versions"
    for model in (old, new):
        check_bagged(model, owner, outputs="any")
    if isinstance(X, BagPredictions):
        raise refuse_type("X", owner, "a table of points", X, "both models predict there, each with its own bags.")
    _refuse_other_targets(old, new, owner)
    labels_of_rows = rows
    differences, rows = Differences.between(old, new), changed_rows(old, new)
    guarantee, why_not = _guarantee(old, new, rows, differences)
    blocks = None if labels_of_rows is None else Blocks(old, new, rows, labels_of_rows, owner)
    described = _described(X, by, owner)
    pairs = _Pairs(old, new)
    found: dict[str, list[np.ndarray]] = {name: [] for name in ("old", "new", "noise", "seed_noise", "statistic")}
    labels: list[list[np.ndarray]] = [[], []]
    total = fitted(new).n_points(_points_for(new, X, "new"))
    n_numbers = total * (1 if pairs.binary else pairs.averages[0].n_numbers)
    flips = _SignFlips(pairs.n_pairs, n_numbers) if pairs.drawn else None
    classes = pairs.averages[0].classes
    redrawn = _Redrawn(pairs.n_bags) if pairs.drawn and classes is not None else None
    carried = np.zeros(pairs.n_pairs, dtype=bool)
    looked_at, kept_pairs = some_points(n_numbers), []
    for place, *raws in _blocks(old, new, X):
        both = (raws[0], raws[1])
        predictions, outputs = pairs.predictions(both), pairs.outputs(both)
        if classes is not None:
            for kept, prediction in zip(labels, predictions, strict=True):
                kept.append(classes[prediction.argmax(axis=1)])
        for name, prediction in zip(("old", "new"), predictions, strict=True):
            found[name].append(prediction[:, 1] if pairs.binary else prediction)
        differences_of_bags = pairs.differences(outputs)
        noise, apart = pairs.noise(outputs, differences_of_bags)
        found["noise"].append(noise)
        found["seed_noise"].append(apart)
        flat = differences_of_bags.reshape(pairs.n_pairs, -1)
        if blocks is not None:
            kept_pairs.append(_looked_at(differences_of_bags, place, looked_at))
        if flips is not None:
            found["statistic"].append(flips.add(flat).reshape(noise.shape))
            carried |= (flat != 0).any(axis=1)
        else:
            moved = np.abs(found["new"][-1] - found["old"][-1])
            size = np.maximum(np.abs(outputs[0]).max(axis=0), np.abs(outputs[1]).max(axis=0))
            found["statistic"].append(np.where(moved > 1e-9 * size, np.inf, 0.0))
        if redrawn is not None:
            redrawn.add(both[1])
    parts: dict[str, Any] = {name: np.concatenate(each) for name, each in found.items()}
    beyond = parts.pop("statistic") > (flips.threshold if flips is not None else 0.0)
    average = pairs.averages[0]
    several = None if pairs.binary or average.n_numbers == 1 else average.output_names if classes is None else classes
    kinds = None
    if described is not None and several is None and beyond.any():
        kinds = kinds_of_points(parts["new"] - parts["old"], described, owner)
    return Versions(
        **parts,
        beyond_noise=beyond,
        kinds=kinds,
        blocks=None if blocks is None else blocks.together(np.concatenate(kept_pairs, axis=1)),
        _compared=(old, new, X, blocks),
        rows=rows,
        differences=differences,
        n_bags=pairs.n_bags,
        n_changed_bags=int(carried.sum()) if pairs.drawn else None,
        decisions=None if classes is None else (np.concatenate(labels[0]), np.concatenate(labels[1])),
        seed_decisions=None if redrawn is None else redrawn.changed,
        guarantee=guarantee,
        why_no_guarantee=why_not,
        columns=several,
        positive=classes[1] if pairs.binary and classes is not None else None,
        index=fitted(new).index_of(X),
    )
