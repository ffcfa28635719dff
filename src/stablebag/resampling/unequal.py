"""Schemes that do not treat all rows alike: strata and clusters."""

import copy
import hashlib
import itertools
import math
import numbers
import reprlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, NoReturn, Self

import numpy as np
from numpy.random import Generator

from stablebag._checks import as_array, as_share, check_samples, is_missing, read_only, refuse_type, refuse_value
from stablebag.resampling.bags import WeightedBag
from stablebag.resampling.components import Components, block, swap_noise
from stablebag.resampling.covariance import given_out, moments, norm_of
from stablebag.resampling.drawing import Arrivals, Picked, RowKeys
from stablebag.resampling.law import (
    MatchedNoise,
    ResamplingScheme,
    ResolvedScheme,
    check_bag_size,
    is_true_of,
    swap_rate,
)
from stablebag.resampling.law_checks import MOST_CHECKED, check_unequal_scheme
from stablebag.resampling.units import RowIds, Units

# -------------------------------------------------------------------------------------------------------------- unequal

_MOST_TRIES = 10_000  # tries to draw a bag without given rows


class UnequalScheme(ResamplingScheme):
    """Base class of schemes that do not treat all training rows alike.

    To define your own scheme, derive a class with `draw_bag` or `pick`, and either `inclusion_probabilities` and
    `covariance` (or its norm, `covariance_norm`), or `enumerate_bags`, which determines all of these. No row may
    be in every bag. `resolve` raises an error if a scheme declares otherwise, or if its draws contradict what it
    declares.

    Guarantees use Proposition 5 of Barber and Samworth (2026), "Algorithmic stability via ensembling": leaving out row
    i changes the average over all bags by L_i, whose mean square over rows is at most a quarter of `covariance_norm`,
    and whose size is at most the probability of row i to be in a bag. Sharper results that need rows to be treated
    alike are not used (docs/proofs.md, 11).

    Examples
    --------
    In this scheme, the first row is in three of four bags, and each other row in one of four:

    >>> import numpy as np
    >>> from stablebag import Certificate
    >>> from stablebag.resampling import UnequalScheme
    >>> class FirstRowOften(UnequalScheme):
    ...     def inclusion_probabilities(self, n_samples):
    ...         return np.where(np.arange(n_samples) == 0, 0.75, 0.25)
    ...     def covariance(self, n_samples):  # rows are independent
    ...         p = self.inclusion_probabilities(n_samples)
    ...         return np.diag(p * (1 - p))
    ...     def draw_bag(self, n_samples, generator):
    ...         return np.flatnonzero(generator.random(n_samples) < self.inclusion_probabilities(n_samples))
    >>> law = FirstRowOften().resolve(n_samples=6)
    >>> law.is_symmetric, law.largest_inclusion, round(law.constant, 6)  # 0.75 / 0.25 / 6
    (False, 0.75, 0.5)
    >>> Certificate(law, 6).worst_case()
    0.75
    """

    is_symmetric: ClassVar[bool] = False
    condition: ClassVar[str] = " with these inclusion probabilities"
    _of_any_law: ClassVar[bool] = True

    def inclusion_probabilities(self, n_samples: int) -> np.ndarray:
        """Return the probability of each row to be in a bag, below one."""
        if self.enumerate_bags(n_samples) is None:
            raise TypeError(f"{type(self).__name__} must define inclusion_probabilities or enumerate_bags.")
        return moments(self._known_bags(n_samples), n_samples)[0]

    def covariance(self, n_samples: int) -> np.ndarray:
        """Return the covariance of "row i is in the bag" and "row j is in the bag", for each pair of rows."""
        if self.enumerate_bags(n_samples) is None:
            raise TypeError(f"{type(self).__name__} must define covariance, covariance_norm or enumerate_bags.")
        return moments(self._known_bags(n_samples), n_samples)[1]

    def covariance_norm(self, n_samples: int) -> float:
        """Return the norm of Cov(i in bag, j in bag) / (n (1 - pi_i) (1 - pi_j)), which replaces c."""
        inclusion = np.asarray(self.inclusion_probabilities(n_samples), dtype=float)
        return norm_of(inclusion, np.asarray(self.covariance(n_samples), dtype=float))

    def row_constants(self, n_samples: int) -> np.ndarray:
        """Return a constant c_i for each row, such that sum L_i^2 / (n c_i) is at most the variance over bags.

        By default, it is `covariance_norm` for all rows. If rows form groups without covariance between them, each
        group may have its own; `resolve` checks it with `covariance`.
        """
        return super().row_constants(n_samples)

    def knows_covariance(self, n_samples: int) -> bool:
        """Return whether `covariance` is known, and not only its norm."""
        declared = type(self).covariance is not UnequalScheme.covariance
        return declared or self.enumerate_bags(n_samples) is not None

    def matched_noise(self, n_samples: int) -> Sequence[MatchedNoise]:
        """Return bounds on the difference between matched bags with and without a row, for each kind of rows."""
        inclusion = float(np.mean(self.inclusion_probabilities(n_samples)))
        return [MatchedNoise(1.0, inclusion, constant=float(np.min(self.row_constants(n_samples))))]

    def raggedness(self, n_samples: int) -> float:
        """Return a bound, for every bag, on the mean over rows of 1(row is out) / P(row is out).

        It is 1 if this mean is the same for all bags. `PointCertificate` uses it.
        """
        return float(np.mean(1 / (1 - np.asarray(self.inclusion_probabilities(n_samples)))))

    def empty_probability(self, n_samples: int) -> float:
        """Return the probability that a bag is empty, or an upper bound."""
        if self.enumerate_bags(n_samples) is None or self.count_bags(n_samples) > MOST_CHECKED:
            return 1 - float(np.max(self.inclusion_probabilities(n_samples)))
        return float(sum(probability for bag, probability in self._known_bags(n_samples) if len(bag) == 0))

    def expected_size(self, n_samples: int) -> int | float:
        """Return the expected number of distinct rows in a bag."""
        return float(np.sum(self.inclusion_probabilities(n_samples)))

    def without(self, n_samples: int, rows: np.ndarray) -> ResamplingScheme:
        """Return the scheme that, on the other rows, draws from Q_n given that these are not in the bag.

        Parameters
        ----------
        n_samples : int
            The number of rows, including these.
        rows : ndarray of int
            The sorted positions of the rows that are left out.

        Returns
        -------
        ResamplingScheme
        """
        return _GivenRowsOut(self, n_samples, tuple(np.asarray(rows).tolist()))

    def without_one(self, n_samples: int) -> NoReturn:
        """Raise an error, because the result depends on which row is left out."""
        raise TypeError(
            f"{type(self).__name__} does not treat all rows alike, so its law without a row depends on the row. Use "
            "law.without([row])."
        )

    def inclusion_probability(self, n_samples: int) -> NoReturn:
        """Raise an error, because rows have different probabilities."""
        raise self._refusal("a single inclusion probability p", "inclusion_probabilities or largest_inclusion")

    def negative_covariance(self, n_samples: int) -> NoReturn:
        """Raise an error, because pairs of rows have different covariances."""
        raise self._refusal("a single negative covariance q", "covariance or constant")

    def count_law(self, n_samples: int, n_rows: int) -> None:
        """Return None, because the result depends on which rows are counted."""
        return

    def digest(self, n_samples: int) -> str:
        law = ResolvedScheme(self, n_samples)
        text = hashlib.blake2b(law.inclusion_probabilities.tobytes(), digest_size=8).hexdigest()
        return f"c = {law.constant!r}, rows {text}"

    def resolve(self, n_samples: int) -> ResolvedScheme:
        """Fix the number of training rows.

        Parameters
        ----------
        n_samples : int
            The number of training rows, at least 2.

        Returns
        -------
        ResolvedScheme
            The law Q_n of the bags.
        """
        n_samples = check_samples(n_samples, f"{type(self).__name__}.resolve")
        for name in ("draw_bag", "pick", "inclusion_probabilities", "covariance", "covariance_norm", "enumerate_bags"):
            if not callable(getattr(self, name)):
                raise refuse_type(name, type(self).__name__, "a method of n_samples", getattr(self, name))
        law = ResolvedScheme(self.fix(n_samples), n_samples)
        if not is_true_of(self, "_in_closed_form"):
            law = ResolvedScheme(copy.deepcopy(law.scheme), n_samples)
            check_unequal_scheme(law, f"{type(self).__name__} at n_samples={n_samples}")
        return law

    def _refusal(self, missing: str, instead: str) -> TypeError:
        name = type(self).__name__
        return TypeError(f"{name} does not treat all rows alike, so it does not have {missing}. Use {instead}.")


@dataclass(frozen=True)
class _GivenRowsOut(UnequalScheme):
    """The law of a user's scheme given that some rows are not in the bag, on the remaining rows."""

    scheme: UnequalScheme
    n_before: int
    gone: tuple[int, ...]

    def draw_bag(self, n_samples: int, generator: Generator) -> np.ndarray:
        for _ in range(_MOST_TRIES):
            bag = np.asarray(self.scheme.draw_bag(self.n_before, generator), dtype=np.intp)
            if not np.isin(bag, self.gone).any():
                return bag - np.searchsorted(self.gone, bag)
        raise ValueError(
            f"{type(self.scheme).__name__}.draw_bag put one of the rows {self.gone[:3]} into {_MOST_TRIES:,} "
            "consecutive bags. Make draw_bag and inclusion_probabilities agree, or leave out fewer rows."
        )

    def inclusion_probabilities(self, n_samples: int) -> np.ndarray:
        if self.enumerate_bags(n_samples) is not None:
            return super().inclusion_probabilities(n_samples)
        if len(self.gone) > 1 or not self.scheme.knows_covariance(self.n_before):
            raise TypeError(
                f"The law of {type(self.scheme).__name__} without these rows is unknown. Define enumerate_bags or "
                "without."
            )
        before = (self.scheme.inclusion_probabilities(self.n_before), self.scheme.covariance(self.n_before))
        return given_out(*before, self.gone[0])

    def enumerate_bags(self, n_samples: int) -> Iterable[WeightedBag] | None:
        listed = self.scheme.enumerate_bags(self.n_before)
        if listed is None:
            return None
        left = [(bag, probability) for bag, probability in listed if not set(bag) & set(self.gone)]
        total = sum(probability for _, probability in left)
        if total <= 0:
            raise ValueError(
                f"Every bag contains one of the rows {self.gone[:3]}, so there is no law without them. Leave out fewer "
                "rows, or use smaller bags."
            )
        return ((self._renumbered(bag), probability / total) for bag, probability in left)

    def _renumbered(self, bag: tuple[int, ...]) -> tuple[int, ...]:
        return tuple((np.array(bag, dtype=np.intp) - np.searchsorted(self.gone, bag)).tolist())


# ------------------------------------------------------------------------------------------------------------ partition
# A partition of the rows by labels: strata or clusters.


class Partition:
    """A partition of the rows into labelled parts.

    Parameters
    ----------
    labels : tuple
        The distinct labels.
    codes : ndarray of int, shape (n_samples,)
        The position in `labels` of each row's label.

    Examples
    --------
    >>> parts = Partition.of(["b", "a", "b"], 3, "strata", "fit")
    >>> parts.labels, parts.codes.tolist(), parts.sizes.tolist()
    (('a', 'b'), [1, 0, 1], [1, 2])
    """

    def __init__(self, labels: tuple[Any, ...], codes: np.ndarray) -> None:
        self.labels, self.codes = labels, read_only(codes)

    @classmethod
    def of(cls, values: Any, n_samples: int, name: str, owner: str) -> "Partition":
        """Return the partition by one label for each row; `name` and `owner` are for error messages."""
        if isinstance(values, Partition):
            _check_length(len(values.codes), n_samples, name, owner)
            return values
        array = as_array(values, name, owner, "one label for each row")
        if array.ndim != 1:
            reason = "to use several columns, combine them into one label."
            shown = f"an array with {array.ndim} dimensions" if array.ndim else values
            raise refuse_type(name, owner, "one label for each row", shown, reason if array.ndim else "")
        _check_length(len(array), n_samples, name, owner)
        if array.dtype.kind == "O":
            return cls(*_distinct_labels(array, name, owner))
        missing = np.flatnonzero(np.isnat(array) if array.dtype.kind in "mM" else array != array)
        if len(missing):
            raise _refuse_missing(array[missing[0]], int(missing[0]), name, owner)
        labels, codes = np.unique(array, return_inverse=True)
        return cls(tuple(labels.tolist() if labels.dtype.kind not in "mM" else labels), codes.ravel())

    @property
    def n_samples(self) -> int:
        """The number of rows."""
        return len(self.codes)

    @cached_property
    def sizes(self) -> np.ndarray:
        """The number of rows of each part."""
        return read_only(np.bincount(self.codes, minlength=len(self.labels)))

    @cached_property
    def members(self) -> list[np.ndarray]:
        """The sorted rows of each part."""
        return np.split(np.argsort(self.codes, kind="stable"), np.cumsum(self.sizes)[:-1])

    @property
    def values(self) -> np.ndarray:
        """The label of each row, as an array of objects."""
        labels = np.empty(len(self.labels), dtype=object)
        labels[:] = self.labels
        return np.asarray(labels[self.codes])

    def keys_of(self, codes: np.ndarray) -> RowKeys:
        """Return the keys of some parts at bags, which depend only on their labels."""
        known: dict[bytes, RowKeys] = self.__dict__.setdefault("_keys", {})
        if (which := codes.tobytes()) not in known:
            names = [f"part {self.labels[code]!r}" for code in codes.tolist()]
            known[which] = RowKeys(RowIds(names, len(names)))
        return known[which]

    def without(self, rows: np.ndarray) -> "Partition":
        """Return the partition of the remaining rows, without empty parts."""
        left = np.delete(self.codes, rows)
        there = np.unique(left)
        return Partition(tuple(self.labels[code] for code in there), np.searchsorted(there, left))

    def joined(self, more: "Partition") -> "Partition":
        """Return the partition with more rows at the end, all with existing labels."""
        place = {label: code for code, label in enumerate(self.labels)}
        added = np.array([place[label] for label in more.labels], dtype=np.intp)[more.codes]
        return Partition(self.labels, np.concatenate([self.codes, added]))

    def __getstate__(self) -> dict[str, Any]:
        """Leave out everything that can be computed from labels and codes."""
        return {"labels": self.labels, "codes": self.codes}

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Partition):
            return False
        return self.labels == other.labels and bool(np.array_equal(self.codes, other.codes))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<{self.n_samples:,} rows: {reprlib.repr(list(self.labels))}>"


def _distinct_labels(array: np.ndarray, name: str, owner: str) -> tuple[tuple[Any, ...], np.ndarray]:
    """Return the distinct labels of an array of objects, sorted if possible, and the code of each row."""
    place: dict[Any, int] = {}
    codes = np.empty(len(array), dtype=np.intp)
    for row, value in enumerate(array):
        value = value.item() if isinstance(value, np.generic) and value.dtype.kind not in "mM" else value
        if is_missing(value):
            raise _refuse_missing(value, row, name, owner)
        try:
            codes[row] = place.setdefault(value, len(place))
        except TypeError:
            raise refuse_type(name, owner, "hashable labels, such as strings", value) from None
    labels = list(place)
    try:
        order = sorted(range(len(labels)), key=labels.__getitem__)
    except TypeError:  # labels of several types stay in order of appearance
        return tuple(labels), codes
    return tuple(labels[k] for k in order), np.argsort(order)[codes]


def _check_length(length: int, n_samples: int, name: str, owner: str) -> None:
    if length != n_samples:
        reason = f"a scheme with {name} is for one table."
        reason += " In a search, pass them to fit: fit(X, y, strata=...)." if name == "strata" else ""
        raise refuse_value(name, owner, f"{n_samples:,} labels, one for each row", length, reason)


def _refuse_missing(value: Any, row: int, name: str, owner: str) -> ValueError:
    reason = f"row {row} has none. Label such rows, for example as 'unknown', or drop them."
    return refuse_value(name, owner, "a label for each row", value, reason)


# ----------------------------------------------------------------------------------------------------------- stratified

_STRATIFIED = "StratifiedSubbagging"


@dataclass(frozen=True, eq=False)
class StratifiedSubbagging(UnequalScheme):
    """Bags with a fixed number of distinct rows of every stratum, so that rare strata are in every bag.

    In a `BaggedClassifier`, the strata are the classes, unless others are given. Rows of different strata are in bags
    with different probabilities, so the theorems for rows that are treated alike do not apply. Certificates use
    Proposition 5 of Barber and Samworth (2026) instead (docs/proofs.md, 11).

    Parameters
    ----------
    bag_size : int, float or mapping, default=0.5
        A float is the fraction of each stratum, rounded down to at least one row. An int is the total number of rows,
        divided among the strata in proportion: each gets its share rounded down, but at least one row and at most all
        but one, and the total is then corrected row by row in the stratum farthest from its share (the first one, if
        tied). A mapping has a number or a fraction for each stratum.
    strata : array-like of shape (n_samples,) or None, default=None
        The stratum of each row. None uses the strata passed to `fit`, or the classes of a classifier.

    Examples
    --------
    >>> law = StratifiedSubbagging(0.5, strata=["a"] * 90 + ["b"] * 10).resolve(n_samples=100)
    >>> str(law), law.bag_size
    ('stratified subbagging, 50 of 100 rows in 2 strata', 50)
    >>> bag = law.draw(1, random_state=0)[0]
    >>> int((bag >= 90).sum())  # always five of the rare stratum
    5
    >>> round(law.constant, 6)  # the largest of (p / (1 - p)) n / (n - 1) over strata, divided by 100
    0.011111
    """

    bag_size: int | float | Mapping[Any, Any] = 0.5
    strata: Any = None
    condition: ClassVar[str] = " in these strata"
    _in_closed_form: ClassVar[bool] = True

    @property
    def lacks_strata(self) -> bool:  # type: ignore[override]
        """Whether the scheme has no strata yet, so they must be passed to fit."""
        return self.strata is None

    def __post_init__(self) -> None:
        sizes = self.bag_size.values() if isinstance(self.bag_size, Mapping) else [self.bag_size]
        for size in sizes:
            check_bag_size(size, _STRATIFIED)

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
        fixed = self if isinstance(self.strata, Partition) and _is_fixed(self.bag_size) else self.fix(n_samples)
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

    def strata_of_rows(self, n_samples: int) -> np.ndarray:
        return self.layout(n_samples)[0].values

    def covariance_norm(self, n_samples: int) -> float:
        return max(self._constants(n_samples))

    def row_constants(self, n_samples: int) -> np.ndarray:
        return np.asarray(np.array(self._constants(n_samples))[self.layout(n_samples)[0].codes])

    def matched_noise(self, n_samples: int) -> list[MatchedNoise]:
        # Given the other strata, a stratum is subbagging (docs/proofs.md, 11).
        parts, sizes = self.layout(n_samples)
        of_strata = zip(sizes.tolist(), parts.sizes.tolist(), self._constants(n_samples), strict=True)
        return [
            MatchedNoise(size / n_samples, m / size, 2 * (m / size) * swap_rate(m, size), constant)
            for m, size, constant in of_strata
        ]

    def matched_components(self, n_samples: int, diameter: float) -> Components:
        sizes, shares, noises, tops, constants = self._noises(n_samples)
        blocks = tuple(block(*pair) for pair in zip(constants, shares * noises, strict=True))
        limits = [min(m / n * diameter**2, top / 4) for (m, n), top in zip(sizes, tops, strict=True)]
        return Components(blocks, float(shares @ tops), float(shares @ np.array(limits)))

    def weighted_components(self, n_samples: int) -> Components:
        sizes, shares, noises, tops, constants = self._noises(n_samples)
        blocks = tuple(block(1.0, noise) for noise in shares * noises / constants)
        limits = [min(m / n, top / 4) for (m, n), top in zip(sizes, tops, strict=True)]
        return Components(blocks, float(shares / constants @ tops), float(shares / constants @ np.array(limits)))

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
                f"Without these rows, stratum {parts.labels[code]!r} has {left[code]:,} rows, but every bag needs "
                f"{sizes[code]:,} of them. Leave out fewer rows, or refit with smaller bags."
            )
        return replace(self, bag_size=dict(zip(parts.labels, sizes.tolist(), strict=True)), strata=parts.without(rows))

    def with_more(self, n_samples: int, strata: Any) -> Self:
        """Return the scheme with more rows of existing strata, and the same number of each stratum in a bag."""
        parts, sizes = self.layout(n_samples)
        more = Partition.of(strata, len(strata), "strata", "learn")
        new = [label for label in more.labels if label not in parts.labels]
        if new:
            reason = f"bags have a fixed number of rows of each of {list(parts.labels[:5])}. Refit the model."
            raise refuse_value("strata", "learn", "existing strata", new[0], reason)
        return replace(self, bag_size=dict(zip(parts.labels, sizes.tolist(), strict=True)), strata=parts.joined(more))

    def describe(self, n_samples: int, rows: str = "rows") -> str:
        parts, sizes = self.layout(n_samples)
        strata = "1 stratum" if len(parts.labels) == 1 else f"{len(parts.labels):,} strata"
        return f"stratified subbagging, {sizes.sum():,} of {n_samples:,} {rows} in {strata}"

    def digest(self, n_samples: int) -> str:
        parts, sizes = self.layout(n_samples)
        written = np.stack([parts.codes, sizes[parts.codes]]).astype(np.int64).tobytes()
        return f"strata {hashlib.blake2b(written, digest_size=8).hexdigest()}"

    def __repr__(self) -> str:
        shown = "" if self.strata is None else f", strata=<{np.size(_values(self.strata)):,} labels>"
        return f"{type(self).__name__}(bag_size={self.bag_size!r}{shown})"

    def _noises(self, n_samples: int) -> tuple[list[tuple[int, int]], np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return for each stratum its sizes, share, noise of the first and of the noisiest component, and constant."""
        parts, in_bags = self.layout(n_samples)
        sizes = list(zip(in_bags.tolist(), parts.sizes.tolist(), strict=True))
        each = [(n / n_samples, swap_noise(m, n, 1), swap_noise(m, n)) for m, n in sizes]
        shares, noises, tops = np.array(each, dtype=float).T
        return sizes, shares, noises, tops, np.array(self._constants(n_samples))

    def _constants(self, n_samples: int) -> list[float]:
        """Return the constant of each stratum; infinite if its rows are in every bag after another was left out."""
        parts, sizes = self.layout(n_samples)
        return [
            float(Fraction(m * size, (size - m) * (size - 1) * n_samples)) if m < size else math.inf
            for m, size in zip(sizes.tolist(), parts.sizes.tolist(), strict=True)
        ]

    def _parts(self, n_samples: int) -> Partition:
        if self.strata is None:
            reason = "pass them here, or to fit: fit(X, y, strata=...). Without strata, use Subbagging."
            raise refuse_value("strata", _STRATIFIED, "a label for each row", None, reason)
        return Partition.of(self.strata, n_samples, "strata", _STRATIFIED)


def _values(strata: Any) -> Any:
    return strata.codes if isinstance(strata, Partition) else strata


def _is_fixed(bag_size: Any) -> bool:
    return isinstance(bag_size, dict) and all(isinstance(m, int) for m in bag_size.values())


def _refuse_small_strata(parts: Partition) -> None:
    """Raise an error for strata of one row, which would be in every bag."""
    if len(parts.labels) == parts.n_samples:
        reason = (
            "every row has its own stratum, and would be in every bag. Use a label that rows share, such as a class or "
            "a range of the target. Without strata, use Subbagging."
        )
        raise refuse_value("strata", _STRATIFIED, "labels that rows share", list(parts.labels), reason)
    alone = np.flatnonzero(parts.sizes == 1)
    if len(alone):
        row, label = int(parts.members[alone[0]][0]), parts.labels[alone[0]]
        others = f" (and {len(alone) - 1:,} others)" if len(alone) > 1 else ""
        reason = (
            f"row {row}{others} is the only one of its stratum and would be in every bag, so there would be no "
            "prediction without it. Merge it with another stratum, fit(X, y, strata=...), or drop the row."
        )
        raise refuse_value("strata", _STRATIFIED, "labels with two rows or more", label, reason)


def _allotted(bag_size: Any, parts: Partition) -> list[int]:
    """Return how many rows of each stratum are in a bag."""
    sizes = parts.sizes.tolist()
    if isinstance(bag_size, Mapping):
        unknown = [label for label in bag_size if label not in parts.labels]
        missing = [label for label in parts.labels if label not in bag_size]
        if unknown or missing:
            reason = f"no row is in stratum {unknown[0]!r}." if unknown else f"stratum {missing[0]!r} is missing."
            expected = f"a size for each of the strata {list(parts.labels[:5])}"
            raise refuse_value("bag_size", _STRATIFIED, expected, dict(bag_size), reason)
        each = [_of_stratum(bag_size[label], size) for label, size in zip(parts.labels, sizes, strict=True)]
        for label, m, size in zip(parts.labels, each, sizes, strict=True):
            if m >= size:
                expected = f"at most {size - 1:,} for stratum {label!r}"
                reason = f"the stratum has {size:,} rows, and at least one must stay outside each bag."
                raise refuse_value("bag_size", _STRATIFIED, expected, m, reason)
        return each
    if not isinstance(bag_size, numbers.Integral):
        if bag_size >= 1:
            reason = "otherwise every bag is the whole data set, and no stability can be guaranteed. Try 0.5."
            raise refuse_value("bag_size", _STRATIFIED, "a fraction below 1, or an int", bag_size, reason)
        return [_of_stratum(bag_size, size) for size in sizes]
    n, total, n_strata = parts.n_samples, int(bag_size), len(sizes)
    if not n_strata <= total <= n - n_strata:
        reason = f"each of the {n_strata:,} strata has at least one row in a bag and one outside."
        reason += "" if n >= 2 * n_strata else " Use fewer strata."
        expected = f"from {n_strata:,} to {n - n_strata:,} for these strata"
        raise refuse_value("bag_size", _STRATIFIED, expected, total, reason)
    return _in_proportion(total, parts.sizes)


def _of_stratum(size: Any, n_rows: int) -> int:
    if isinstance(size, numbers.Integral):
        return int(size)
    return max(1, math.floor(as_share(size, n_rows) * n_rows))


def _in_proportion(total: int, sizes: np.ndarray) -> list[int]:
    """Return integers near the proportions, with the right sum, from one to all but one of each size.

    >>> _in_proportion(10, np.array([90, 7, 3]))  # 9, 0.7 and 0.3, but at least one of each
    [8, 1, 1]
    """
    sizes = sizes.astype(np.int64)
    n = int(sizes.sum())
    each = np.clip(total * sizes // n, 1, sizes - 1)
    while (rest := total - int(each.sum())) != 0:
        missed = total * sizes - n * each  # n times the shortfall of each stratum
        if rest > 0:
            each[np.argmax(np.where(each < sizes - 1, missed, np.iinfo(np.int64).min))] += 1
        else:
            each[np.argmin(np.where(each > 1, missed, np.iinfo(np.int64).max))] -= 1
    return [int(m) for m in each]


def lacks_strata(scheme: Any) -> bool:
    """Return whether this is a scheme that needs strata and has none yet."""
    return isinstance(scheme, ResamplingScheme) and scheme.lacks_strata


def with_labels(scheme: Any, labels: Any, units: Units) -> Any:
    """Return the scheme with these strata, one label for each row, if it needs strata and has none yet.

    With groups, all rows of a group must share a stratum. Other schemes are returned unchanged.
    """
    return replace(scheme, strata=units.shared(labels, "strata", "fit")) if lacks_strata(scheme) else scheme


def refuse_strata(scheme: Any, strata: Any, owner: str) -> None:
    """Raise an error for strata that the scheme of a fit does not use."""
    reason = "the scheme already has strata. Pass them only once."
    if getattr(scheme, "strata", None) is None:
        reason = "this scheme does not use strata. Use StratifiedSubbagging."
    raise refuse_value("strata", owner, f"None for {type(scheme).__name__}", strata, reason)


# ------------------------------------------------------------------------------------------------------------- clusters

_CLUSTERS = "ClusterSubbagging"


@dataclass(frozen=True, eq=False)
class ClusterSubbagging(UnequalScheme):
    """Bags of whole clusters, drawn without replacement: if one row of a cluster is in a bag, all are.

    A cluster may be the visits of a patient, or the pupils of a school. Certificates are still about leaving out one
    *row*: bags without the row are bags without its cluster, and the law without the row has its cluster in no bag. To
    leave out whole patients, pass them to `fit` as `groups` instead. Rows of a cluster depend on each other, so the
    theorems for rows that are treated alike do not apply. Certificates use Proposition 5 of Barber and Samworth (2026)
    instead (docs/proofs.md, 11).

    Parameters
    ----------
    bag_size : int or float, default=0.5
        The number of *clusters* in a bag (int), or their fraction of all clusters (float), rounded down to at least
        one.
    clusters : array-like of shape (n_samples,), default=None
        The cluster of each row. Required.
    barred : tuple, default=()
        The labels of clusters that are in no bag. In the law without some rows, these are the clusters of those rows.

    Examples
    --------
    >>> law = ClusterSubbagging(2, clusters=["a", "a", "a", "b", "c", "c", "d", "d"]).resolve(n_samples=8)
    >>> law.draw(1, random_state=0)[0].tolist()
    [7, 5, 6, 4]
    >>> law.largest_inclusion, round(law.constant, 6)
    (0.5, 0.451184)
    """

    bag_size: int | float | Fraction = 0.5
    clusters: Any = None
    barred: tuple[Any, ...] = ()
    condition: ClassVar[str] = " in these clusters"
    _in_closed_form: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_bag_size(self.bag_size, _CLUSTERS, things="clusters")
        if not isinstance(self.barred, tuple):
            raise refuse_type("barred", _CLUSTERS, "a tuple of labels", self.barred)

    def fix(self, n_samples: int) -> Self:
        parts = self._parts(n_samples)
        open_to_all = len(parts.labels) - len(set(self.barred) & set(parts.labels))
        m = self.bag_size
        if not isinstance(m, numbers.Integral):
            m = max(1, math.floor(as_share(m, open_to_all) * open_to_all)) if m < 1 else open_to_all
        if not 1 <= m < open_to_all:
            reason = "otherwise every cluster is in every bag, and no stability can be guaranteed."
            reason += "" if open_to_all > 1 else " Use two or more clusters."
            expected = f"smaller than the number of clusters, {open_to_all:,}"
            raise refuse_value("bag_size", _CLUSTERS, expected, self.bag_size, reason)
        return replace(self, bag_size=int(m), clusters=parts)

    def pick(self, n_samples: int, arrivals: Arrivals) -> Picked:
        parts, m, there = self._layout(n_samples)
        chosen = there[arrivals.of(parts.keys_of(there)).first_rows(m).rows]
        sizes = parts.sizes[chosen]
        flat, starts = np.concatenate(parts.members), np.cumsum(parts.sizes) - parts.sizes
        lengths = sizes.ravel()
        place = np.repeat(starts[chosen].ravel() - (np.cumsum(lengths) - lengths), lengths) + np.arange(lengths.sum())
        total = sizes.sum(axis=1)
        rows = np.zeros((len(chosen), int(total.max())), dtype=np.int64)
        rows[np.arange(rows.shape[1]) < total[:, None]] = flat[place]
        return Picked(rows, total)

    def inclusion_probabilities(self, n_samples: int) -> np.ndarray:
        parts, m, there = self._layout(n_samples)
        by_cluster = np.zeros(len(parts.labels))
        by_cluster[there] = m / len(there)
        return np.asarray(by_cluster[parts.codes])

    def covariance(self, n_samples: int) -> np.ndarray:
        parts, m, there = self._layout(n_samples)
        p, n_clusters = m / len(there), len(parts.labels)
        by_cluster = np.zeros((n_clusters, n_clusters))
        by_cluster[np.ix_(there, there)] = -p * (1 - p) / max(1, len(there) - 1)
        by_cluster[there, there] = p * (1 - p)
        return np.asarray(by_cluster[np.ix_(parts.codes, parts.codes)])

    def covariance_norm(self, n_samples: int) -> float:
        parts, m, there = self._layout(n_samples)
        if m == (g := len(there)):
            return math.inf  # after a cluster was barred, every other one is in every bag
        return m / (g - m) * g / (g - 1) * largest_eigenvalue(parts.sizes[there]) / n_samples

    def matched_noise(self, n_samples: int) -> list[MatchedNoise]:
        parts, m, there = self._layout(n_samples)
        largest = float(parts.sizes[there].max()) * len(there) / n_samples  # relative to the mean over clusters
        (known,) = super().matched_noise(n_samples)
        return [replace(known, per_variance=2 * (m / len(there) * swap_rate(m, len(there)) * largest))]

    def matched_components(self, n_samples: int, diameter: float) -> Components:
        parts, m, there = self._layout(n_samples)
        largest = float(parts.sizes[there].max()) * len(there) / n_samples
        one, top = largest * swap_noise(m, len(there), 1), largest * swap_noise(m, len(there))
        law = ResolvedScheme(self, n_samples)
        return Components((block(law.constant, one),), top, law.mean_inclusion * diameter**2)

    def raggedness(self, n_samples: int) -> float:
        # All clusters but m are outside a bag, weighted by one over their probability to be outside, and barred ones.
        parts, m, there = self._layout(n_samples)
        sizes = np.sort(parts.sizes[there])
        outside = float(sizes[m:].sum()) / (1 - m / len(there))
        return (outside + n_samples - float(sizes.sum())) / n_samples

    def empty_probability(self, n_samples: int) -> float:
        return 0.0

    def enumerate_bags(self, n_samples: int) -> Iterator[WeightedBag]:
        parts, m, there = self._layout(n_samples)
        probability = Fraction(1, self.count_bags(n_samples))
        for chosen in itertools.combinations(there.tolist(), m):
            rows = np.concatenate([parts.members[code] for code in chosen])
            yield tuple(np.sort(rows).tolist()), probability

    def count_bags(self, n_samples: int) -> int:
        _, m, there = self._layout(n_samples)
        return math.comb(len(there), m)

    def without(self, n_samples: int, rows: np.ndarray) -> Self:
        parts, m, there = self._layout(n_samples)
        touched = {parts.labels[code] for code in parts.codes[rows].tolist()}
        left = parts.without(rows)
        barred = tuple(label for label in left.labels if label in touched or label in self.barred)
        if len(there) - len(touched - set(self.barred)) < m:
            raise ValueError(
                f"Without the clusters of these rows, fewer than {m:,} clusters remain, but every bag needs {m:,}. "
                "Leave out fewer rows, or refit with smaller bags."
            )
        return replace(self, bag_size=m, clusters=left, barred=barred)

    def describe(self, n_samples: int, rows: str = "rows") -> str:
        _, m, there = self._layout(n_samples)
        return f"cluster subbagging, {m:,} of {len(there):,} clusters, {n_samples:,} {rows} in all"

    def digest(self, n_samples: int) -> str:
        parts, m, there = self._layout(n_samples)
        written = np.concatenate([parts.codes, [m], there]).astype(np.int64).tobytes()
        return f"clusters {hashlib.blake2b(written, digest_size=8).hexdigest()}"

    def __repr__(self) -> str:
        codes = self.clusters.codes if isinstance(self.clusters, Partition) else self.clusters
        barred = f", barred={self.barred!r}" if self.barred else ""
        return f"{type(self).__name__}(bag_size={self.bag_size!r}, clusters=<{np.size(codes):,} labels>{barred})"

    def _parts(self, n_samples: int) -> Partition:
        if self.clusters is None:
            reason = "rows with the same label are drawn together."
            raise refuse_value("clusters", _CLUSTERS, "a label for each row", None, reason)
        return Partition.of(self.clusters, n_samples, "clusters", _CLUSTERS)

    def _layout(self, n_samples: int) -> tuple[Partition, int, np.ndarray]:
        """Return the clusters, how many are in a bag, and which can be in a bag."""
        fixed = self if isinstance(self.clusters, Partition) else self.fix(n_samples)
        parts = fixed._parts(n_samples)
        barred = set(self.barred)
        there = np.array([code for code, label in enumerate(parts.labels) if label not in barred], dtype=np.intp)
        return parts, int(fixed.bag_size), there


def largest_eigenvalue(sizes: np.ndarray) -> float:
    """Return the largest eigenvalue of D - d d' / G, where D is the diagonal matrix of G sizes and d their roots.

    It is the largest size if two clusters have it. Otherwise, it is the number x between the two largest sizes for
    which the mean of s / (s - x) over the sizes s is one (docs/proofs.md, 11).

    >>> largest_eigenvalue(np.array([2, 2, 2]))
    2.0
    >>> round(largest_eigenvalue(np.array([3, 1])), 9)  # 3 - 3/2 and 1 - 1/2 on the diagonal, -sqrt(3)/2 off it
    2.0
    """
    values = np.sort(np.asarray(sizes, dtype=float))
    low, high = values[-2:]
    if low == high:
        return float(high)
    top = high
    while (middle := (low + high) / 2) not in (low, high):
        if middle == top or np.mean(values / (values - middle)) >= 1:
            high = middle
        else:
            low = middle
    return float(high)
