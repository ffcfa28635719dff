"""Cluster subbagging: whole clusters of rows are drawn."""

import hashlib
import itertools
import math
import numbers
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np

from stablebag._checks import as_share, refuse_type, refuse_value
from stablebag.resampling.arrivals import Arrivals, Picked
from stablebag.resampling.assumptions import WeightedBag
from stablebag.resampling.partition import Partition
from stablebag.resampling.sized import check_bag_size
from stablebag.resampling.unequal import UnequalScheme

_OWNER = "ClusterSubbagging"


@dataclass(frozen=True, eq=False)
class ClusterSubbagging(UnequalScheme):
    """Bags of whole clusters, drawn without replacement: if one row of a cluster is in a bag, all are.

    Rows of a cluster may be the visits of a patient, or the pupils of a school. What is certified is still the effect
    of leaving out one *row*: the bags without it are the bags without its cluster, and the law without it has its
    cluster in no bag. Rows of one cluster depend on each other, so that the theorems for rows that are all alike do
    not apply; certificates rest on Proposition 5 of Barber and Samworth (2026) instead (docs/proofs.md, 11).

    Parameters
    ----------
    bag_size : int or float, default=0.5
        The number of *clusters* in a bag, or their fraction of all clusters, rounded down but at least one.
    clusters : array-like of shape (n_samples,), default=None
        The label of each row's cluster; it has to be given.
    barred : tuple, default=()
        The labels of clusters that are in no bag: in the law without some rows, the clusters that they are from.

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
    such: ClassVar[str] = " in these clusters"
    _in_closed_form: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_bag_size(self.bag_size, _OWNER, things="clusters")
        if not isinstance(self.barred, tuple):
            raise refuse_type("barred", _OWNER, "a tuple of labels", self.barred)

    def fix(self, n_samples: int) -> Self:
        parts = self._parts(n_samples)
        open_to_all = len(parts.labels) - len(set(self.barred) & set(parts.labels))
        m = self.bag_size
        if not isinstance(m, numbers.Integral):
            m = max(1, math.floor(as_share(m, open_to_all) * open_to_all)) if m < 1 else open_to_all
        if not 1 <= m < open_to_all:
            reason = "every cluster would be in every bag, and no stability can be promised."
            reason += f" Use at most {open_to_all - 1:,}." if open_to_all > 1 else " Use two clusters or more."
            expected = f"smaller than the number of clusters, {open_to_all:,}"
            raise refuse_value("bag_size", _OWNER, expected, self.bag_size, reason)
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
            return math.inf  # every cluster is in every bag, after another was barred
        return m / (g - m) * g / (g - 1) * largest_eigenvalue(parts.sizes[there]) / n_samples

    def raggedness(self, n_samples: int) -> float:
        # Outside of a bag are all clusters but m, weighted by one over their chance to be there, and barred ones.
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
                f"Without these rows, and the clusters that they are from, fewer clusters are left than the {m:,} of "
                "every bag. Leave out fewer, or fit anew with smaller bags."
            )
        return replace(self, bag_size=m, clusters=left, barred=barred)

    def describe(self, n_samples: int) -> str:
        _, m, there = self._layout(n_samples)
        return f"cluster subbagging, {m:,} of {len(there):,} clusters, {n_samples:,} rows in all"

    def digest(self, n_samples: int) -> str:
        parts, m, there = self._layout(n_samples)
        written = np.concatenate([parts.codes, [m], there]).astype(np.int64).tobytes()
        return f"clusters {hashlib.blake2b(written, digest_size=8).hexdigest()}"

    def largest_share(self, n_samples: int) -> tuple[int, int, float]:
        """Return m, the number of clusters, and the rows of the largest one relative to the mean over all of them."""
        parts, m, there = self._layout(n_samples)
        return m, len(there), float(parts.sizes[there].max()) * len(there) / n_samples

    def __repr__(self) -> str:
        codes = self.clusters.codes if isinstance(self.clusters, Partition) else self.clusters
        barred = f", barred={self.barred!r}" if self.barred else ""
        return f"{type(self).__name__}(bag_size={self.bag_size!r}, clusters=<{np.size(codes):,} labels>{barred})"

    def _parts(self, n_samples: int) -> Partition:
        if self.clusters is None:
            reason = "it tells which rows are drawn together."
            raise refuse_value("clusters", _OWNER, "a label for each row", None, reason)
        return Partition.of(self.clusters, n_samples, "clusters", _OWNER)

    def _layout(self, n_samples: int) -> tuple[Partition, int, np.ndarray]:
        """The clusters, how many are in a bag, and which can be."""
        fixed = self if isinstance(self.clusters, Partition) else self.fix(n_samples)
        parts = fixed._parts(n_samples)
        barred = set(self.barred)
        there = np.array([code for code, label in enumerate(parts.labels) if label not in barred], dtype=np.intp)
        return parts, int(fixed.bag_size), there


def largest_eigenvalue(sizes: np.ndarray) -> float:
    """Return the largest eigenvalue of D - d d' / G, for D the diagonal of G sizes and d their roots.

    Proved here (docs/proofs.md, 11): it is the largest size if two clusters have it. Otherwise it lies between the two
    largest, where the mean of s / (s - x) over the sizes s is one.

    >>> largest_eigenvalue(np.array([2, 2, 2]))
    2.0
    >>> round(largest_eigenvalue(np.array([3, 1])), 9)  # 3 - 3/2 and 1 - 1/2 on the diagonal, -sqrt(3)/2 beside it
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
