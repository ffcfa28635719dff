"""Row IDs, and units: the rows, or groups of rows such as patients, that are drawn into bags and left out."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Set
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import Any
from uuid import UUID

import numpy as np

from stablebag._checks import (
    as_array,
    check_flag,
    check_integer,
    is_missing,
    read_only,
    refuse_masked,
    refuse_type,
    refuse_value,
)
from stablebag._wording import GROUPS, ROWS, Noun
from stablebag.resampling.bags import Bags

# -------------------------------------------------------------------------------------------------------------- row ids
# Row IDs identify the same row in different tables.

LARGEST_NAME = 2**62  # bound on integer IDs, and on the number of rows
_KINDS = (str, bytes, int, float, date, time, timedelta, np.datetime64, UUID, Decimal, Fraction)  # types of labels
_SHOWN = 3  # labels in an error message
_YEARS = range(1678, 2262)  # years whose nanoseconds fit into 64-bit integers


class RowIds:
    """The IDs of the rows of a table, in the order of the table.

    Whether a row is in a bag depends only on its ID. So the same row in a shorter, longer or reordered table is in the
    same bags. IDs are integers or labels: anything hashable with the same repr in every session.

    Parameters
    ----------
    names : None, sequence of int or sequence of labels
        The IDs. None stands for 0, ..., n_samples - 1.
    n_samples : int
        The number of rows.
    owner : str, default="row_ids"
        The function with this parameter, for error messages.
    parameter : str, default="row_ids"
        The name of the parameter, for error messages.
    noun : Noun, default=ROWS
        The word for what has these IDs: row or group.
    any_number : bool, default=False
        Whether integers below zero, or above 2**62, are allowed.

    Examples
    --------
    >>> RowIds(["ann", "bob", "eve"], 3).positions(["eve", "ann"])
    array([2, 0])
    >>> RowIds(None, 5).without([1, 3]).names
    array([0, 2, 4])
    """

    def __init__(
        self,
        names: Any,
        n_samples: int,
        owner: str = "row_ids",
        *,
        parameter: str = "row_ids",
        noun: Noun = ROWS,
        any_number: bool = False,
    ) -> None:
        n_samples = check_integer(n_samples, "n_samples", owner, minimum=0)
        any_number = check_flag(any_number, "any_number", owner)
        self.n_samples, self._parameter, self._noun = n_samples, parameter, noun
        self.is_counted = names is None  # 0, ..., n - 1
        if names is None:
            self._names: list[Any] | np.ndarray | None = None
            return
        values = self._listed(names, owner, parameter)
        if len(values) != n_samples:
            raise refuse_value(parameter, owner, f"{n_samples:,} row IDs, one for each row", len(values))
        if isinstance(values, np.ndarray) and values.dtype.kind in "iu" and (not any_number or _are_counts(values)):
            for extreme in (values.min(), values.max()) if n_samples else ():
                self._check_number(int(extreme), owner)
            self._names = read_only(values.astype(np.int64))
        else:
            labels = [self._label(value, row, owner, any_number=any_number) for row, value in enumerate(values)]
            whole = all(_is_count(label) for label in labels)
            self._names = read_only(np.array(labels, dtype=np.int64)) if whole else labels
        self.is_counted = self.are_numbers and bool(np.array_equal(self._names, np.arange(n_samples)))
        self._refuse_twice(owner)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out everything that can be computed from the IDs."""
        return {name: self.__dict__[name] for name in ("n_samples", "is_counted", "_names", "_parameter", "_noun")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update({"_parameter": "row_ids", "_noun": ROWS, **state})

    def __len__(self) -> int:
        return self.n_samples

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, RowIds) or len(self) != len(other):
            return False
        if self.is_counted or other.is_counted:
            return self.is_counted and other.is_counted
        return self.are_numbers == other.are_numbers and all(
            a == b for a, b in zip(self.names.tolist(), other.names.tolist(), strict=True)
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        if self.is_counted:
            return f"RowIds: 0, ..., {self.n_samples - 1:,}"
        some = ", ".join(repr(name) for name in self.names[:_SHOWN].tolist())
        return f"RowIds: {some}{', ...' if self.n_samples > _SHOWN else ''} ({self.n_samples:,} rows)"

    @property
    def are_numbers(self) -> bool:
        """Whether the IDs are integers."""
        return not isinstance(self._names, list)

    @property
    def names(self) -> np.ndarray:
        """The IDs as an array; of type object if they are labels."""
        if isinstance(self._names, list):
            array = np.empty(self.n_samples, dtype=object)
            array[:] = self._names
            return array
        return np.arange(self.n_samples) if self._names is None else self._names

    @cached_property
    def codes(self) -> np.ndarray:
        """A 64-bit integer for each ID: the hash of a label, or the integer itself."""
        if isinstance(self._names, list):
            return np.array([name if _is_count(name) else _hash(name) for name in self._names], dtype=np.uint64)
        return self.names.astype(np.uint64)

    @cached_property
    def number_rows(self) -> np.ndarray:
        """The positions of the rows whose IDs are integers."""
        if isinstance(self._names, list):
            return np.flatnonzero([_is_count(name) for name in self._names])
        return np.arange(self.n_samples)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.names.tolist())

    def __getitem__(self, place: Any) -> Any:
        return self.names[place]

    def __contains__(self, name: Any) -> bool:
        return plain(name) in self._places

    def positions(self, names: Any, owner: str = "RowIds.positions") -> np.ndarray:
        """Return the positions of these IDs in the table; unknown IDs raise an error."""
        values = self._listed(names, owner)
        if self.is_counted and isinstance(values, np.ndarray) and values.dtype.kind in "iu":
            known = (values >= 0) & (values < self.n_samples)
            found = values.astype(np.intp)
        else:
            place = self._places
            found = np.array([place.get(self._label(v, k, owner, any_number=True), -1) for k, v in enumerate(values)])
            found = found.astype(np.intp)
            known = found >= 0
        if not known.all():
            unknown = [plain(values[k]) for k in np.flatnonzero(~known)]
            more = f" (and {len(unknown) - _SHOWN:,} more)" if len(unknown) > _SHOWN else ""
            there = ", ".join(repr(name) for name in self.names[:_SHOWN].tolist())
            one, many = self._noun.singular, self._noun.plural
            existing = f"The {many} are {there}{', ...' if len(self) > _SHOWN else '.'}"
            reason = f"there is no such {one}{more}. {existing}"
            raise refuse_value("row_ids", owner, f"IDs of existing {many}", unknown[:_SHOWN], reason)
        if len(np.unique(found)) < len(found):
            reason = f"one {self._noun.singular} is listed twice."
            expected = f"distinct IDs of {self._noun.plural}"
            raise refuse_value("row_ids", owner, expected, values[:_SHOWN], reason)
        return found

    def without(self, names: Any, owner: str = "row_ids") -> "RowIds":
        """Return the IDs without these rows."""
        stay = np.ones(self.n_samples, dtype=bool)
        stay[self.positions(names, owner)] = False
        return self.take(np.flatnonzero(stay))

    def take(self, positions: np.ndarray) -> "RowIds":
        """Return the IDs of some rows."""
        return self.like(self.names[positions], "row_ids")

    def joined(self, more: "RowIds", owner: str = "row_ids") -> "RowIds":
        """Return these IDs followed by more; repeats raise an error."""
        return self.like(np.concatenate([self.names, more.names]), owner)

    def like(self, names: np.ndarray, owner: str) -> "RowIds":
        """Return other IDs with the same parameter name and noun."""
        labels: dict[str, Any] = {"parameter": self._parameter, "noun": self._noun}
        return RowIds(names, len(names), owner, any_number=True, **labels)

    @cached_property
    def _places(self) -> dict[Any, int]:
        names = self._names if isinstance(self._names, list) else self.names.tolist()
        return {name: place for place, name in enumerate(names)}

    def _refuse_twice(self, owner: str) -> None:
        if len(np.unique(self.codes)) == self.n_samples and (self.are_numbers or len(self._places) == self.n_samples):
            return
        seen: set[Any] = set()
        for name in self.names.tolist():
            if name in seen:
                reason = f"two {self._noun.plural} have this ID."
                raise refuse_value(self._parameter, owner, f"a unique ID for each {self._noun.singular}", name, reason)
            seen.add(name)
        raise ValueError(f"Two labels of {self._noun.plural} have the same 64-bit hash. Use integers instead.")

    def _listed(self, names: Any, owner: str, parameter: str = "row_ids") -> Any:
        """Return IDs as an array, or as a list of labels."""
        refuse_masked(names, parameter, owner)
        unordered = isinstance(names, str | bytes | Set | Mapping | Iterator)
        expected = f"a list of IDs of {self._noun.plural}"
        if unordered or not isinstance(names, Iterable):
            is_one = isinstance(names, str | int) and not isinstance(names, bool)
            reason = f"for a single {self._noun.singular}, use [{names!r}]." if is_one else ""
            raise refuse_type(parameter, owner, expected, names, reason)
        if not isinstance(names, range | np.ndarray) and not hasattr(names, "to_numpy"):
            return list(names)
        array = as_array(names, parameter, owner, expected)
        if array.ndim != 1:
            raise refuse_value(parameter, owner, "one-dimensional", f"an array with {array.ndim} dimensions")
        return array

    def _check_number(self, number: int, owner: str) -> None:
        if not 0 <= number < LARGEST_NAME:
            raise refuse_value(self._parameter, owner, "integers from 0 to 2**62 - 1, or labels", number)

    def _label(self, value: Any, row: int, owner: str, *, any_number: bool = False) -> Any:
        """Return an ID as it is stored; missing, unhashable and too large ones raise an error."""
        value = plain(value)
        if is_missing(value):
            raise refuse_value(self._parameter, owner, "an ID for each row", value, f"row {row} has none.")
        if isinstance(value, bool):
            reason = "this looks like a mask. Use the row IDs, for example frame.index[mask]."
            if self._noun != ROWS:
                reason = "this looks like a mask. Use strings: np.where(mask, 'treated', 'control')."
            expected = "IDs, not True or False" if self._noun == ROWS else "labels, not True or False"
            raise refuse_type(self._parameter, owner, expected, value, reason)
        if isinstance(value, float) and value.is_integer():
            reason = "larger floats cannot represent all integers. Use integers or strings."
            raise refuse_value(self._parameter, owner, "below 2**53 if it is a float", value, reason)
        if _is_number(value):
            if not any_number:
                self._check_number(value, owner)
            return value
        try:
            hash(value)
        except TypeError:
            raise refuse_type(self._parameter, owner, "integers or hashable labels", value) from None
        if not _has_stable_repr(value):
            reason = "its repr may differ between sessions. Use strings or integers."
            raise refuse_type(self._parameter, owner, "labels such as strings, dates or tuples of them", value, reason)
        return value


def as_row_ids(names: Any, X: Any, n_samples: int, owner: str) -> RowIds:
    """Return the row IDs from the parameter `row_ids`: None, a list, or "index" for the index of a data frame."""
    if isinstance(names, RowIds):
        if len(names) != n_samples:
            raise refuse_value("row_ids", owner, f"{n_samples:,} row IDs, one for each row", len(names))
        return names
    if isinstance(names, str):
        if names != "index" or not hasattr(X, "index"):
            expected = 'None, one ID for each row, or "index" with a pandas DataFrame'
            reason = (
                "X has no index. Pass the IDs themselves." if names == "index" else f"pass the column: X[{names!r}]."
            )
            raise refuse_value("row_ids", owner, expected, names, reason)
        names = X.index
    return RowIds(names, n_samples, owner)


def _is_number(name: Any) -> bool:
    return isinstance(name, int) and not isinstance(name, bool)


def _is_count(name: Any) -> bool:
    """Return whether an ID is an integer that needs no hash."""
    return _is_number(name) and 0 <= name < LARGEST_NAME


def _are_counts(numbers: np.ndarray) -> bool:
    return len(numbers) == 0 or (int(numbers.min()) >= 0 and int(numbers.max()) < LARGEST_NAME)


def _has_stable_repr(value: Any) -> bool:
    """Return whether a label is of a type that has the same repr in every session."""
    if isinstance(value, tuple):
        return all(map(_has_stable_repr, value))
    return isinstance(value, _KINDS) or type(value).__module__.split(".")[0] == "pandas"


def plain(value: Any) -> Any:
    """Return an ID as a Python value instead of a numpy one; all times become nanoseconds, if possible."""
    if isinstance(value, datetime) and value.tzinfo is None and not is_missing(value):
        return np.datetime64(value.isoformat(), "ns") if value.year in _YEARS else value
    if isinstance(value, np.datetime64):
        far = np.isnat(value) or value.astype("datetime64[Y]").astype(int) + 1970 not in _YEARS
        return value if far else value.astype("datetime64[ns]")
    value = value.item() if isinstance(value, np.generic) else value
    # pandas converts integers to floats if one is missing.
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < 2**53 else value


def _hash(label: Any) -> int:
    """Return a 64-bit hash of a label, the same in every session; labels of different types differ."""
    written = f"{type(label).__name__}:{label!r}".encode()
    return int.from_bytes(hashlib.blake2b(written, digest_size=8).digest(), "little")


# ---------------------------------------------------------------------------------------------------------------- units
# A unit is a row, or a group of rows that belong together, such as a patient's visits.
#
# Bags are drawn over units, and a learner gets all rows of the units in its bag. Guarantees are about leaving out one
# unit, and n is the number of units.

_LISTED = 3  # rows without a group, in an error message


class Units:
    """The units of a table, in order of first appearance.

    Parameters
    ----------
    ids : RowIds
        The IDs of the units, which determine the bags they are in.
    of_rows : ndarray of int, shape (n_rows,), or None, default=None
        The number of each row's unit; None if each row is its own unit.
    labels : sequence or None, default=None
        The labels shown to people, if they are not the IDs: the index of a data frame.
    noun : Noun, default=ROWS
        The word for a unit: row or group.

    Examples
    --------
    >>> units = Units.of_groups(["ann", "bob", "ann", "eve"], n_rows=4)
    >>> units
    3 groups of 4 rows
    >>> units.rows_of(np.array([1, 0, 0]))  # with repeats
    array([1, 0, 2, 0, 2])
    """

    def __init__(self, ids: RowIds, of_rows: np.ndarray | None = None, labels: Any = None, noun: Noun = ROWS) -> None:
        self.ids, self.noun = ids, noun
        single = of_rows is None or np.array_equal(of_rows, np.arange(len(ids)))
        self._of_rows = None if of_rows is None or single else read_only(of_rows)
        counted = isinstance(labels, np.ndarray) and labels.dtype.kind in "iu"  # there may be very many
        self._labels = labels if labels is None or counted else [plain(label) for label in labels]

    @classmethod
    def of_groups(cls, groups: Any, n_rows: int, owner: str = "groups") -> "Units":
        """Return the units for the parameter `groups` of `fit`.

        Parameters
        ----------
        groups : sequence of int or labels, of length n_rows
            The group of each row.
        n_rows : int
            The number of rows.
        owner : str, default="groups"
            The function with this parameter, for error messages.

        Returns
        -------
        Units
        """
        names, of_rows = numbered_groups(groups, n_rows, owner)
        if len(names) < 2:
            reason = "without this group no row would remain. Pass at least two groups, or groups=None."
            given = f"only {names[0]!r}" if len(names) else "none"
            raise refuse_value("groups", owner, "the labels of two or more groups", given, reason)
        ids = RowIds(names, len(names), owner, parameter="groups", noun=GROUPS, any_number=True)
        return cls(ids, of_rows, noun=GROUPS)

    def __len__(self) -> int:
        return len(self.ids)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Units) and self.ids == other.ids and np.array_equal(self.of_rows, other.of_rows)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        of = "" if self.are_rows else f" of {ROWS.count(self.n_rows)}"
        return f"{self.noun.count(len(self))}{of}"

    def __getstate__(self) -> dict[str, Any]:
        """Leave out everything that can be computed from the rest."""
        return {name: self.__dict__[name] for name in ("ids", "noun", "_of_rows", "_labels")}

    @property
    def are_rows(self) -> bool:
        """Whether each row is its own unit."""
        return self._of_rows is None

    @property
    def are_groups(self) -> bool:
        """Whether groups were given; each may still have a single row."""
        return self.noun != ROWS

    @property
    def fingerprint(self) -> str | None:
        """A hash that identifies which rows belong together; None if each row is its own unit."""
        if self._of_rows is None:
            return None
        return hashlib.blake2b(self._of_rows.astype(np.int64).tobytes(), digest_size=8).hexdigest()

    @property
    def n_rows(self) -> int:
        """The number of rows of all units."""
        return len(self.ids) if self._of_rows is None else len(self._of_rows)

    @property
    def of_rows(self) -> np.ndarray:
        """The number of each row's unit; shape (n_rows,)."""
        return np.arange(len(self.ids)) if self._of_rows is None else self._of_rows

    @property
    def sizes(self) -> np.ndarray:
        """The number of rows of each unit; shape (n_units,)."""
        return np.diff(self._ends)

    @property
    def labels(self) -> np.ndarray:
        """The labels of the units that are shown to people."""
        if self._labels is None:
            return self.ids.names
        if isinstance(self._labels, np.ndarray):
            return self._labels
        labels = np.empty(len(self), dtype=object)
        labels[:] = self._labels
        return labels

    @property
    def has_labels(self) -> bool:
        """Whether the units have labels other than their IDs."""
        return self._labels is not None

    @property
    def names_of_rows(self) -> np.ndarray:
        """The ID of each row's unit."""
        names: np.ndarray = self.ids.names[self.of_rows]
        return names

    def rows_of(self, units: np.ndarray) -> np.ndarray:
        """Return the rows of some units, unit by unit, and within a unit in table order."""
        if self.are_rows:
            return np.asarray(units)
        sizes = self.sizes[units]
        ends = np.cumsum(sizes)
        places = np.arange(ends[-1] if len(ends) else 0) + np.repeat(self._ends[:-1][units] - (ends - sizes), sizes)
        rows: np.ndarray = self._by_unit[places]
        return rows

    def rows_of_bags(self, bags: Bags) -> Bags:
        """Return bags of rows from bags of units."""
        return bags if self.are_rows else Bags((self.rows_of(bag) for bag in bags), self.n_rows)

    def classes_lost(self, y: np.ndarray) -> dict[int, np.ndarray]:
        """Return the units that contain all rows of some class, each with the numbers of these classes.

        >>> Units.of_groups([7, 7, 8, 9], n_rows=4).classes_lost(np.array(["a", "b", "c", "c"]))
        {0: array([0, 1])}
        """
        classes, codes = np.unique(y, return_inverse=True)
        code, unit = np.unique(np.stack([codes, self.of_rows]), axis=1)  # pairs of a class and a unit with such rows
        alone = np.bincount(code, minlength=len(classes))[code] == 1
        return {int(one): code[alone & (unit == one)] for one in np.unique(unit[alone])}

    def shared(self, given: Any, name: str, owner: str) -> np.ndarray:
        """Return the value that the rows of each unit share; different values within a unit raise an error.

        >>> Units.of_groups([7, 7, 8], n_rows=3).shared(["a", "a", "b"], "strata", "fit")
        array(['a', 'b'], dtype='<U1')
        """
        values: np.ndarray = np.asarray(given)
        if self.are_rows or len(values) != self.n_rows:
            return values  # a wrong length raises an error elsewhere
        first: np.ndarray = values[self._by_unit[self._ends[:-1]]]
        differs = np.flatnonzero(values != first[self.of_rows])
        if len(differs):
            unit = int(self.of_rows[differs[0]])
            several = f"{self.describe(unit)} has {plain(first[unit])!r} and {plain(values[differs[0]])!r}."
            reason = f"{several} Pass strata=... with one value for each {self.noun.singular}."
            raise refuse_value(name, owner, f"the same for all rows of a {self.noun.singular}", values, reason)
        return first

    def positions(self, names: Any, owner: str = "Units.positions") -> np.ndarray:
        """Return the numbers of the units with these labels; unknown labels raise an error."""
        return self._ids_of_labels.positions(names, owner)

    def describe(self, number: int) -> str:
        """Return a unit with its label, for a sentence: "row 3", "group 'ann'"."""
        return f"{self.noun.singular} {plain(self.labels[number])!r}"

    def take(self, numbers: np.ndarray) -> "Units":
        """Return some of the units, in this order, with their rows in table order."""
        labels = None if self._labels is None else self.labels[numbers].tolist()
        of_rows = None
        if not self.are_rows:
            now = np.full(len(self), -1)
            now[numbers] = np.arange(len(numbers))
            of_rows = now[self.of_rows]
            of_rows = of_rows[of_rows >= 0]
        return Units(self.ids.take(numbers), of_rows, labels, self.noun)

    def joined(self, groups: Any, n_more: int, owner: str) -> "Units":
        """Return the units with more rows appended, which belong to existing units or to new ones after them."""
        names, of_new = numbered_groups(groups, n_more, owner)
        known = {name: number for number, name in enumerate(self.ids)}
        numbers = np.array([known.setdefault(name, len(known)) for name in names], dtype=np.intp)
        all_names = np.empty(len(known), dtype=object)
        all_names[:] = list(known)
        return Units(self.ids.like(all_names, owner), np.concatenate([self.of_rows, numbers[of_new]]), noun=self.noun)

    @cached_property
    def _ids_of_labels(self) -> RowIds:
        """The labels as IDs, to look them up."""
        if self._labels is None:
            return self.ids
        try:
            return RowIds(self._labels, len(self), "forget", parameter="index", noun=self.noun, any_number=True)
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"The index of the training frame does not identify the rows. {error} Fit with "
                f"row_ids=range({len(self)}) to use positions instead."
            ) from error

    @cached_property
    def _by_unit(self) -> np.ndarray:
        """The rows, unit by unit."""
        return np.argsort(self.of_rows, kind="stable")

    @cached_property
    def _ends(self) -> np.ndarray:
        """Zero, followed by the end of the rows of each unit in `_by_unit`."""
        counts = np.bincount(self.of_rows, minlength=len(self))
        return np.concatenate([[0], np.cumsum(counts)])


def numbered_groups(groups: Any, n_rows: int, owner: str, name: str = "groups") -> tuple[list[Any], np.ndarray]:
    """Return the labels of the groups in order of appearance, and the number of each row's group.

    Errors refer to the parameter `name` of `owner`.
    """
    values = _listed(groups, n_rows, owner, name)
    if isinstance(values, np.ndarray):
        names, first, inverse = np.unique(values, return_index=True, return_inverse=True)
        order = np.argsort(first)
        return names[order].tolist(), np.argsort(order)[inverse]
    numbers: dict[Any, int] = {}
    try:
        of_rows = np.array([numbers.setdefault(value, len(numbers)) for value in values], dtype=np.intp)
    except TypeError:
        unhashable = next(value for value in values if type(value).__hash__ is None)
        raise refuse_type(name, owner, "integers or hashable labels", unhashable) from None
    return list(numbers), of_rows


def _listed(groups: Any, n_rows: int, owner: str, name: str) -> list[Any] | np.ndarray:
    """Return the checked group of each row; an array of integers stays an array."""
    expected, lengths = "a list with the group of each row", f"{n_rows:,} group labels, one for each row"
    refuse_masked(groups, name, owner)
    if isinstance(groups, str | bytes | Set | Mapping | Iterator) or not isinstance(groups, Iterable):
        reason = f"pass the column of a table, for example {name}=frame['patient']."
        raise refuse_type(name, owner, expected, groups, reason)
    is_array = hasattr(groups, "to_numpy") or isinstance(groups, range)
    array: Any = as_array(groups, name, owner, expected) if is_array else groups
    if getattr(array, "ndim", 1) != 1:
        reason = "pass one group label for each row."
        raise refuse_value(name, owner, "one-dimensional", f"an array with {array.ndim} dimensions", reason)
    if hasattr(array, "__len__") and len(array) != n_rows:  # before reading all of them
        raise refuse_value(name, owner, lengths, len(array))
    whole = isinstance(array, np.ndarray) and array.dtype.kind in "iu"
    values = array if whole else [plain(value) for value in array]
    if len(values) != n_rows:
        raise refuse_value(name, owner, lengths, len(values))
    missing = [] if whole else [row for row, value in enumerate(values) if is_missing(value)]
    if missing:
        some = ", ".join(map(str, missing[:_LISTED])) + (", ..." if len(missing) > _LISTED else "")
        reason = f"{len(missing):,} rows ({some}) have none. Drop them, or give each its own group."
        if len(missing) == 1:
            reason = f"row {some} has none. Drop it, or give it its own group."
        raise refuse_value(name, owner, "a group label for each row", values[missing[0]], reason)
    return values
