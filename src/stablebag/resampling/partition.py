"""Rows in parts that are told by labels: strata, or clusters."""

import reprlib
from functools import cached_property
from typing import Any

import numpy as np

from stablebag._checks import as_array, is_missing, read_only, refuse_type, refuse_value
from stablebag.resampling.keys import RowKeys
from stablebag.resampling.row_ids import RowIds


class Partition:
    """Rows in parts, each told by a label.

    Parameters
    ----------
    labels : tuple
        The labels, all different.
    codes : ndarray of int, shape (n_samples,)
        The place in `labels` of each row's label.

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
        """Read one label for each row; `name` is what the parameter is called, and `owner` whose it is."""
        if isinstance(values, Partition):
            _check_length(len(values.codes), n_samples, name, owner)
            return values
        array = as_array(values, name, owner, "one label for each row")
        if array.ndim != 1:
            reason = "for several columns, join them into one label."
            shown = f"an array of {array.ndim} axes" if array.ndim else values
            raise refuse_type(name, owner, "one label for each row", shown, reason)
        _check_length(len(array), n_samples, name, owner)
        if array.dtype.kind == "O":
            return cls(*_told_apart(array, name, owner))
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
        """The rows of each part, in order."""
        return np.split(np.argsort(self.codes, kind="stable"), np.cumsum(self.sizes)[:-1])

    @property
    def values(self) -> np.ndarray:
        """The label of each row, as an array of objects."""
        labels = np.empty(len(self.labels), dtype=object)
        labels[:] = self.labels
        return np.asarray(labels[self.codes])

    def keys_of(self, codes: np.ndarray) -> RowKeys:
        """Return the keys of some of the parts at bags, which depend on their labels alone."""
        known: dict[bytes, RowKeys] = self.__dict__.setdefault("_keys", {})
        if (which := codes.tobytes()) not in known:
            names = [f"part {self.labels[code]!r}" for code in codes.tolist()]
            known[which] = RowKeys(RowIds(names, len(names)))
        return known[which]

    def without(self, rows: np.ndarray) -> "Partition":
        """Return the parts of the rows that are left; a part of which no row is left is gone."""
        left = np.delete(self.codes, rows)
        there = np.unique(left)
        return Partition(tuple(self.labels[code] for code in there), np.searchsorted(there, left))

    def joined(self, more: "Partition") -> "Partition":
        """Return the parts with more rows at the end, all with labels that are known."""
        place = {label: code for code, label in enumerate(self.labels)}
        added = np.array([place[label] for label in more.labels], dtype=np.intp)[more.codes]
        return Partition(self.labels, np.concatenate([self.codes, added]))

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what follows from the labels."""
        return {"labels": self.labels, "codes": self.codes}

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Partition):
            return False
        return self.labels == other.labels and bool(np.array_equal(self.codes, other.codes))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<{self.n_samples:,} rows: {reprlib.repr(list(self.labels))}>"


def _told_apart(array: np.ndarray, name: str, owner: str) -> tuple[tuple[Any, ...], np.ndarray]:
    """The labels of an array of objects, in order where they have one, and their places."""
    place: dict[Any, int] = {}
    codes = np.empty(len(array), dtype=np.intp)
    for row, value in enumerate(array):
        value = value.item() if isinstance(value, np.generic) and value.dtype.kind not in "mM" else value
        if is_missing(value):
            raise _refuse_missing(value, row, name, owner)
        try:
            codes[row] = place.setdefault(value, len(place))
        except TypeError:
            raise refuse_type(name, owner, "labels that can be hashed, such as texts", value) from None
    labels = list(place)
    try:
        order = sorted(range(len(labels)), key=labels.__getitem__)
    except TypeError:  # of several kinds: in order of appearance
        return tuple(labels), codes
    return tuple(labels[k] for k in order), np.argsort(order)[codes]


def _check_length(length: int, n_samples: int, name: str, owner: str) -> None:
    if length != n_samples:
        reason = f"a scheme that keeps its {name} is for one table"
        reason += "; in a search, give them to fit: fit(X, y, strata=...)." if name == "strata" else "."
        raise refuse_value(name, owner, f"{n_samples:,} labels, one for each row", length, reason)


def _refuse_missing(value: Any, row: int, name: str, owner: str) -> ValueError:
    reason = f"row {row} has none. Give such rows a label of their own, such as 'unknown', or leave them out."
    return refuse_value(name, owner, "a label for each row", value, reason)
