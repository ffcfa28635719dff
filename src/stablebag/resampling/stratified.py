"""Stratified subbagging: bags with a fixed number of rows of every stratum."""

import hashlib
import itertools
import math
import numbers
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np

from stablebag._checks import as_share, refuse_value
from stablebag.resampling.arrivals import Arrivals, Picked
from stablebag.resampling.assumptions import WeightedBag
from stablebag.resampling.partition import Partition
from stablebag.resampling.sized import check_bag_size
from stablebag.resampling.unequal import UnequalScheme
from stablebag.resampling.units import Units

_OWNER = "StratifiedSubbagging"


@dataclass(frozen=True, eq=False)
class StratifiedSubbagging(UnequalScheme):
    """Bags with a fixed number of distinct rows of every stratum, so that rare strata are in every bag.

    In a `BaggedClassifier` the strata are the classes, unless others are given. Rows of different strata are in bags
    with different probabilities, so that the theorems for rows that are all alike do not apply; certificates rest on
    Proposition 5 of Barber and Samworth (2026) instead (docs/proofs.md, 11).

    Parameters
    ----------
    bag_size : int, float or mapping, default=0.5
        A float is the fraction of each stratum, rounded down to whole rows but at least one. An int is the number of
        rows in all: each stratum has its proportion of them, rounded down, but at least one row and at most all but
        one; rows that are then left over, or too many, are given or taken one by one where the proportion is missed by
        most, in a tie in the first stratum. A mapping has a number or a fraction for each stratum.
    strata : array-like of shape (n_samples,) or None, default=None
        The label of each row's stratum. None takes what is given to `fit`, or the classes of a classifier.

    Examples
    --------
    >>> law = StratifiedSubbagging(0.5, strata=["a"] * 90 + ["b"] * 10).resolve(n_samples=100)
    >>> str(law), law.bag_size
    ('stratified subbagging, 50 of 100 rows in 2 strata', 50)
    >>> bag = law.draw(1, random_state=0)[0]
    >>> int((bag >= 90).sum())  # of the rare stratum, always five
    5
    >>> round(law.constant, 6)  # the largest of (p / (1 - p)) n / (n - 1) over strata, divided by 100
    0.011111
    """

    bag_size: int | float | Mapping[Any, Any] = 0.5
    strata: Any = None
    such: ClassVar[str] = " in these strata"
    _in_closed_form: ClassVar[bool] = True

    def __post_init__(self) -> None:
        sizes = self.bag_size.values() if isinstance(self.bag_size, Mapping) else [self.bag_size]
        for size in sizes:
            check_bag_size(size, _OWNER)

    def fix(self, n_samples: int) -> Self:
        parts = self._parts(n_samples)
        _refuse_small_strata(parts)
        sizes = _allotted(self.bag_size, parts)
        return replace(self, bag_size=dict(zip(parts.labels, sizes, strict=True)), strata=parts)

    def pick(self, n_samples: int, arrivals: Arrivals) -> Picked:
        parts, sizes = self.layout(n_samples)
        return arrivals.first_rows_of_each(parts.codes, sizes)

    def layout(self, n_samples: int) -> tuple[Partition, np.ndarray]:
        """Return the strata, and how many rows of each are in a bag."""
        fixed = self if isinstance(self.strata, Partition) and _is_worked_out(self.bag_size) else self.fix(n_samples)
        parts = fixed._parts(n_samples)
        return parts, np.array([fixed.bag_size[label] for label in parts.labels])  # type: ignore[index]

    def inclusion_probabilities(self, n_samples: int) -> np.ndarray:
        parts, sizes = self.layout(n_samples)
        return np.asarray((sizes / parts.sizes)[parts.codes])

    def covariance(self, n_samples: int) -> np.ndarray:
        parts, sizes = self.layout(n_samples)
        p = sizes / parts.sizes
        within = -p * (1 - p) / np.maximum(1, parts.sizes - 1)
        matrix = np.where(parts.codes == parts.codes[:, None], within[parts.codes], 0.0)
        np.fill_diagonal(matrix, (p * (1 - p))[parts.codes])
        return matrix

    def covariance_norm(self, n_samples: int) -> float:
        return max(self._constants(n_samples))

    def row_constants(self, n_samples: int) -> np.ndarray:
        return np.asarray(np.array(self._constants(n_samples))[self.layout(n_samples)[0].codes])

    def raggedness(self, n_samples: int) -> float:
        return 1.0

    def empty_probability(self, n_samples: int) -> float:
        return 0.0

    def enumerate_bags(self, n_samples: int) -> Iterator[WeightedBag]:
        parts, sizes = self.layout(n_samples)
        probability = Fraction(1, self.count_bags(n_samples))
        each = [itertools.combinations(rows.tolist(), m) for rows, m in zip(parts.members, sizes, strict=True)]
        for chosen in itertools.product(*each):
            yield tuple(sorted(itertools.chain(*chosen))), probability

    def count_bags(self, n_samples: int) -> int:
        parts, sizes = self.layout(n_samples)
        return math.prod(math.comb(*pair) for pair in zip(parts.sizes.tolist(), sizes.tolist(), strict=True))

    def expected_size(self, n_samples: int) -> int:
        return int(self.layout(n_samples)[1].sum())

    def without(self, n_samples: int, rows: np.ndarray) -> Self:
        parts, sizes = self.layout(n_samples)
        left = parts.sizes - np.bincount(parts.codes[rows], minlength=len(parts.labels))
        if (left < sizes).any():
            code = int(np.argmax(left < sizes))
            raise ValueError(
                f"Without these rows, stratum {parts.labels[code]!r} has {left[code]:,} left, but every bag has "
                f"{sizes[code]:,} of them. Leave out fewer, or fit anew with smaller bags."
            )
        return replace(self, bag_size=dict(zip(parts.labels, sizes.tolist(), strict=True)), strata=parts.without(rows))

    def with_more(self, n_samples: int, strata: Any) -> Self:
        """Return the scheme with more rows, of strata that are known, and as many of each stratum in a bag."""
        parts, sizes = self.layout(n_samples)
        more = Partition.of(strata, len(strata), "strata", "learn")
        new = [label for label in more.labels if label not in parts.labels]
        if new:
            reason = f"bags have a fixed number of rows of {list(parts.labels[:5])}. Fit anew."
            raise refuse_value("strata", "learn", "strata that are there already", new[0], reason)
        return replace(self, bag_size=dict(zip(parts.labels, sizes.tolist(), strict=True)), strata=parts.joined(more))

    def describe(self, n_samples: int) -> str:
        parts, sizes = self.layout(n_samples)
        strata = "1 stratum" if len(parts.labels) == 1 else f"{len(parts.labels):,} strata"
        return f"stratified subbagging, {sizes.sum():,} of {n_samples:,} rows in {strata}"

    def digest(self, n_samples: int) -> str:
        parts, sizes = self.layout(n_samples)
        written = np.stack([parts.codes, sizes[parts.codes]]).astype(np.int64).tobytes()
        return f"strata {hashlib.blake2b(written, digest_size=8).hexdigest()}"

    def __repr__(self) -> str:
        shown = "" if self.strata is None else f", strata=<{np.size(_values(self.strata)):,} labels>"
        return f"{type(self).__name__}(bag_size={self.bag_size!r}{shown})"

    def _constants(self, n_samples: int) -> list[float]:
        """The constant of each stratum; infinite if its rows are in every bag, after another was left out."""
        parts, sizes = self.layout(n_samples)
        return [
            float(Fraction(m * size, (size - m) * (size - 1) * n_samples)) if m < size else math.inf
            for m, size in zip(sizes.tolist(), parts.sizes.tolist(), strict=True)
        ]

    def _parts(self, n_samples: int) -> Partition:
        if self.strata is None:
            reason = "give them here, or to fit: fit(X, y, strata=...). Without strata use Subbagging."
            raise refuse_value("strata", _OWNER, "a label for each row", None, reason)
        return Partition.of(self.strata, n_samples, "strata", _OWNER)


def _values(strata: Any) -> Any:
    return strata.codes if isinstance(strata, Partition) else strata


def _is_worked_out(bag_size: Any) -> bool:
    return isinstance(bag_size, dict) and all(isinstance(m, int) for m in bag_size.values())


def _refuse_small_strata(parts: Partition) -> None:
    """Refuse strata of one row, which would be in every bag."""
    if len(parts.labels) == parts.n_samples:
        reason = (
            "every row is a stratum of its own, and would be in every bag. A stratum is a label that rows share, such "
            "as a class; a number is cut into a few ranges first. Without strata use Subbagging."
        )
        raise refuse_value("strata", _OWNER, "labels that rows share", list(parts.labels), reason)
    alone = np.flatnonzero(parts.sizes == 1)
    if len(alone):
        row, label = int(parts.members[alone[0]][0]), parts.labels[alone[0]]
        others = f" (and {len(alone) - 1:,} others)" if len(alone) > 1 else ""
        reason = (
            f"row {row}{others} is the only one of its stratum and would be in every bag, so that nothing could be "
            "said without it. Join it with another stratum, fit(X, y, strata=...), or leave it out."
        )
        raise refuse_value("strata", _OWNER, "labels with two rows or more", label, reason)


def _allotted(bag_size: Any, parts: Partition) -> list[int]:
    """How many rows of each stratum are in a bag."""
    sizes = parts.sizes.tolist()
    if isinstance(bag_size, Mapping):
        unknown = [label for label in bag_size if label not in parts.labels]
        missing = [label for label in parts.labels if label not in bag_size]
        if unknown or missing:
            reason = f"no row is in stratum {unknown[0]!r}." if unknown else f"stratum {missing[0]!r} has none."
            expected = f"a number for each of the strata {list(parts.labels[:5])}"
            raise refuse_value("bag_size", _OWNER, expected, dict(bag_size), reason)
        each = [_of_stratum(bag_size[label], size) for label, size in zip(parts.labels, sizes, strict=True)]
        for label, m, size in zip(parts.labels, each, sizes, strict=True):
            if m >= size:
                reason = f"it has {size:,} rows, and one at least must stay out. Use at most {size - 1:,}."
                raise refuse_value("bag_size", _OWNER, f"fewer rows of stratum {label!r} than there are", m, reason)
        return each
    if not isinstance(bag_size, numbers.Integral):
        if bag_size >= 1:
            reason = "every bag would be the whole data set, and no stability can be promised. Try 0.5."
            raise refuse_value("bag_size", _OWNER, "a fraction below 1, or an int", bag_size, reason)
        return [_of_stratum(bag_size, size) for size in sizes]
    n, total, n_strata = parts.n_samples, int(bag_size), len(sizes)
    if not n_strata <= total <= n - n_strata:
        reason = f"of each of the {n_strata:,} strata, one row at least is in a bag and one is not. "
        reason += f"Use {n_strata:,} to {n - n_strata:,} rows" if n >= 2 * n_strata else "Use fewer strata"
        expected = f"from {n_strata:,} to {n - n_strata:,} for these strata"
        raise refuse_value("bag_size", _OWNER, expected, total, f"{reason}.")
    return _in_proportion(total, parts.sizes)


def _of_stratum(size: Any, n_rows: int) -> int:
    if isinstance(size, numbers.Integral):
        return int(size)
    return max(1, math.floor(as_share(size, n_rows) * n_rows))


def _in_proportion(total: int, sizes: np.ndarray) -> list[int]:
    """Whole numbers near the proportions, that add up, from one to all but one of each size.

    >>> _in_proportion(10, np.array([90, 7, 3]))  # 9, 0.7 and 0.3: at least one of each
    [8, 1, 1]
    """
    sizes = sizes.astype(np.int64)
    n = int(sizes.sum())
    each = np.clip(total * sizes // n, 1, sizes - 1)
    while (rest := total - int(each.sum())) != 0:
        missed = total * sizes - n * each  # n times how far below its proportion a stratum is
        if rest > 0:
            each[np.argmax(np.where(each < sizes - 1, missed, np.iinfo(np.int64).min))] += 1
        else:
            each[np.argmin(np.where(each > 1, missed, np.iinfo(np.int64).max))] -= 1
    return [int(m) for m in each]


def with_labels(scheme: Any, labels: Any, units: Units) -> Any:
    """Return the scheme with these strata, one label for each row, if it is stratified and has none of its own.

    The strata of units are those that all their rows share. Any other scheme is returned as it is.
    """
    if isinstance(scheme, StratifiedSubbagging) and scheme.strata is None:
        return replace(scheme, strata=units.shared(labels, "strata", "fit"))
    return scheme


def refuse_strata(scheme: Any, strata: Any, owner: str) -> None:
    """Refuse strata given to a fit whose scheme has no use for them."""
    reason = "the scheme has strata of its own. Give them once."
    if not isinstance(scheme, StratifiedSubbagging):
        reason = "the scheme has no strata. Use StratifiedSubbagging."
    raise refuse_value("strata", owner, f"None for {type(scheme).__name__}", strata, reason)
