"""What is left out, one at a time: single rows, or groups of rows that belong together, such as a patient's visits.

Bags are drawn over units, and a learner gets all rows of the units in its bag. Every promise is about leaving out one
unit; n is their number.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Set
from functools import cached_property
from typing import Any

import numpy as np

from stablebag._checks import as_array, is_missing, read_only, refuse_masked, refuse_type, refuse_value
from stablebag._wording import ROWS, Noun
from stablebag.resampling.bags import Bags
from stablebag.resampling.row_ids import RowIds, plain

_LISTED = 3  # rows without a group, in an error message


class Units:
    """The units of a table, in the order in which they first appear.

    Parameters
    ----------
    ids : RowIds
        The names of the units: whether a unit is in a bag depends on its name alone.
    of_rows : ndarray of int, shape (n_rows,), or None, default=None
        The number of each row's unit; None if every row is a unit of its own.
    labels : sequence or None, default=None
        What the units are called for people, where that is not their name: the index of a data frame.
    noun : Noun, default=ROWS
        What a unit is.

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
        """Return the units that the parameter `groups` of `fit` names, one name for each row.

        Parameters
        ----------
        groups : sequence of int or labels, of length n_rows
            The name of each row's unit. The name of a pandas or polars series says what a unit is.
        n_rows : int
            The number of rows.
        owner : str, default="groups"
            Whose parameter it is, for error messages.

        Returns
        -------
        Units
        """
        names, of_rows = numbered_groups(groups, n_rows, owner)
        if len(names) < 2:
            reason = "leaving it out leaves no row. Give groups that tell units apart, or none to leave out rows."
            given = f"only {names[0]!r}" if len(names) else "none"
            raise refuse_value("groups", owner, "the names of two units or more", given, reason)
        noun = Noun.of_column(getattr(groups, "name", None))
        ids = RowIds(names, len(names), owner, parameter="groups", noun=noun, any_number=True)
        return cls(ids, of_rows, noun=noun)

    def __len__(self) -> int:
        return len(self.ids)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Units) and self.ids == other.ids and np.array_equal(self.of_rows, other.of_rows)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        of = "" if self.are_rows else f" of {ROWS.count(self.n_rows)}"
        return f"{self.noun.count(len(self))}{of}"

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what follows from the rest."""
        return {name: self.__dict__[name] for name in ("ids", "noun", "_of_rows", "_labels")}

    @property
    def are_rows(self) -> bool:
        """Whether every row is a unit of its own."""
        return self._of_rows is None

    @property
    def are_groups(self) -> bool:
        """Whether they were named by groups; each may have one row all the same."""
        return self.noun != ROWS

    @property
    def fingerprint(self) -> str | None:
        """A hash that identifies which rows belong together; None if every row is a unit of its own."""
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
        """How many rows each unit has; shape (n_units,)."""
        return np.diff(self._ends)

    @property
    def labels(self) -> np.ndarray:
        """What the units are called for people."""
        if self._labels is None:
            return self.ids.names
        if isinstance(self._labels, np.ndarray):
            return self._labels
        labels = np.empty(len(self), dtype=object)
        labels[:] = self._labels
        return labels

    @property
    def has_labels(self) -> bool:
        """Whether units are called otherwise for people than by their names."""
        return self._labels is not None

    @property
    def names_of_rows(self) -> np.ndarray:
        """The name of each row's unit."""
        names: np.ndarray = self.ids.names[self.of_rows]
        return names

    def rows_of(self, units: np.ndarray) -> np.ndarray:
        """Return the rows of some units, unit by unit, those of a unit in the order of the table."""
        if self.are_rows:
            return np.asarray(units)
        sizes = self.sizes[units]
        ends = np.cumsum(sizes)
        places = np.arange(ends[-1] if len(ends) else 0) + np.repeat(self._ends[:-1][units] - (ends - sizes), sizes)
        rows: np.ndarray = self._by_unit[places]
        return rows

    def rows_of_bags(self, bags: Bags) -> Bags:
        """Return the rows of each bag from its units."""
        return bags if self.are_rows else Bags((self.rows_of(bag) for bag in bags), self.n_rows)

    def classes_lost(self, y: np.ndarray) -> dict[int, np.ndarray]:
        """Return the units that have all rows of some class, each with the classes, by number, that it has alone.

        >>> Units.of_groups([7, 7, 8, 9], n_rows=4).classes_lost(np.array(["a", "b", "c", "c"]))
        {0: array([0, 1])}
        """
        classes, codes = np.unique(y, return_inverse=True)
        code, unit = np.unique(np.stack([codes, self.of_rows]), axis=1)  # which units have rows of which class
        alone = np.bincount(code, minlength=len(classes))[code] == 1
        return {int(one): code[alone & (unit == one)] for one in np.unique(unit[alone])}

    def shared(self, given: Any, name: str, owner: str) -> np.ndarray:
        """Return what the rows of each unit have in common, one value for each unit; a unit with several is refused.

        >>> Units.of_groups([7, 7, 8], n_rows=3).shared(["a", "a", "b"], "strata", "fit")
        array(['a', 'b'], dtype='<U1')
        """
        values: np.ndarray = np.asarray(given)
        if self.are_rows or len(values) != self.n_rows:
            return values  # of another length they are refused elsewhere
        first: np.ndarray = values[self._by_unit[self._ends[:-1]]]
        differs = np.flatnonzero(values != first[self.of_rows])
        if len(differs):
            unit = int(self.of_rows[differs[0]])
            several = f"{self.describe(unit)} has {plain(first[unit])!r} and {plain(values[differs[0]])!r}."
            reason = f"{several} Give strata=..., in which it has one."
            raise refuse_value(name, owner, f"the same for all rows of a {self.noun.singular}", values, reason)
        return first

    def positions(self, names: Any, owner: str = "Units.positions") -> np.ndarray:
        """Return the numbers of the units that are called so; unknown ones are refused."""
        return self._called.positions(names, owner)

    def describe(self, number: int) -> str:
        """Return a unit with its name, for a sentence: "row 3", "patient 'ann'"."""
        return f"{self.noun.singular} {plain(self.labels[number])!r}"

    def take(self, numbers: np.ndarray) -> "Units":
        """Return some of the units, in this order; their rows are those that are left, in the order of the table."""
        labels = None if self._labels is None else self.labels[numbers].tolist()
        of_rows = None
        if not self.are_rows:
            now = np.full(len(self), -1)
            now[numbers] = np.arange(len(numbers))
            of_rows = now[self.of_rows]
            of_rows = of_rows[of_rows >= 0]
        return Units(self.ids.take(numbers), of_rows, labels, self.noun)

    def joined(self, groups: Any, n_more: int, owner: str) -> "Units":
        """Return the units with more rows below: of units that are there, or of new ones after them."""
        names, of_new = numbered_groups(groups, n_more, owner)
        known = {name: number for number, name in enumerate(self.ids)}
        numbers = np.array([known.setdefault(name, len(known)) for name in names], dtype=np.intp)
        all_names = np.empty(len(known), dtype=object)
        all_names[:] = list(known)
        return Units(self.ids.like(all_names, owner), np.concatenate([self.of_rows, numbers[of_new]]), noun=self.noun)

    @cached_property
    def _called(self) -> RowIds:
        """What they are called for people, to be looked up."""
        if self._labels is None:
            return self.ids
        try:
            return RowIds(self._labels, len(self), "forget", parameter="index", noun=self.noun, any_number=True)
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"The rows cannot be told apart by the index of the training frame. {error} Fit with "
                f"row_ids=range({len(self)}) to call them by position."
            ) from error

    @cached_property
    def _by_unit(self) -> np.ndarray:
        """The rows, unit by unit."""
        return np.argsort(self.of_rows, kind="stable")

    @cached_property
    def _ends(self) -> np.ndarray:
        """Where the rows of each unit end in `_by_unit`, after a zero."""
        counts = np.bincount(self.of_rows, minlength=len(self))
        return np.concatenate([[0], np.cumsum(counts)])


def numbered_groups(groups: Any, n_rows: int, owner: str, name: str = "groups") -> tuple[list[Any], np.ndarray]:
    """Return the names of the units in the order in which they appear, and the number of each row's unit.

    Groups that are not one name for each row are refused, as the parameter `name` of `owner`.
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
        expected = "whole numbers, or labels that can be hashed"
        raise refuse_type(name, owner, expected, unhashable) from None
    return list(numbers), of_rows


def _listed(groups: Any, n_rows: int, owner: str, name: str) -> list[Any] | np.ndarray:
    """The name of each row's unit, checked to be there; whole numbers stay an array."""
    refuse_masked(groups, name, owner)
    if isinstance(groups, str | bytes | Set | Mapping | Iterator) or not isinstance(groups, Iterable):
        reason = f"take the column of a table: {name}=frame['patient']."
        raise refuse_type(name, owner, "a list with the unit of each row", groups, reason)
    is_array = hasattr(groups, "to_numpy") or isinstance(groups, range)
    array: Any = as_array(groups, name, owner, "a list with the unit of each row") if is_array else groups
    if getattr(array, "ndim", 1) != 1:
        raise refuse_value(name, owner, "one-dimensional", f"an array of {array.ndim} axes")
    if hasattr(array, "__len__") and len(array) != n_rows:  # before all of them are looked at
        reason = "every row belongs to one unit."
        raise refuse_value(name, owner, f"{n_rows:,} names of units, one for each row", len(array), reason)
    whole = isinstance(array, np.ndarray) and array.dtype.kind in "iu"
    values = array if whole else [plain(value) for value in array]
    if len(values) != n_rows:
        reason = "every row belongs to one unit."
        raise refuse_value(name, owner, f"{n_rows:,} names of units, one for each row", len(values), reason)
    missing = [] if whole else [row for row, value in enumerate(values) if is_missing(value)]
    if missing:
        some = ", ".join(map(str, missing[:_LISTED])) + (", ..." if len(missing) > _LISTED else "")
        reason = f"{len(missing):,} rows ({some}) have none. Leave them out, or give each a unit of its own."
        if len(missing) == 1:
            reason = f"row {some} has none. Leave it out, or give it a unit of its own."
        raise refuse_value(name, owner, "the name of a unit for each row", values[missing[0]], reason)
    return values
