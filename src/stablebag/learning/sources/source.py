"""Rows that are not in memory: what has to be known of a table to fit bags of its rows."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np

from stablebag._checks import refuse_value


class RowSource(ABC):
    """A table whose rows are read when they are needed, each with its target; rows are numbered from 0.

    `fit` of the bagged estimators accepts one in place of X and y. It draws the bags, and asks for the distinct rows of
    as many bags at a time as `max_memory` has room for. Your own source defines the abstract methods; whatever rows are
    asked for, the same row must come with the same types, or the models will depend on how bags are put together.

    Attributes
    ----------
    max_memory : int
        How many bytes of rows are held at once.

    Examples
    --------
    >>> import numpy as np
    >>> from stablebag import BaggedRegressor, RowSource
    >>> class Squares(RowSource):
    ...     max_memory, bytes_per_row, n_features, n_samples = 100_000, 8, 1, 1000
    ...     part_sizes = (1000,)
    ...     def take(self, rows):
    ...         return rows[:, None] / 1000
    ...     def read(self, part, n_rows):
    ...         return (self.take(np.arange(k, min(k + n_rows, 1000))) for k in range(0, 1000, n_rows))
    ...     def targets(self):
    ...         return (np.arange(1000) / 1000) ** 2
    >>> BaggedRegressor(n_bags=20, random_state=0).fit(Squares()).predict([[0.5]]).round(2)
    array([0.25])
    """

    max_memory: int

    @property
    @abstractmethod
    def n_samples(self) -> int:
        """The number of rows."""

    @property
    @abstractmethod
    def n_features(self) -> int:
        """The number of columns, without the target."""

    @property
    @abstractmethod
    def part_sizes(self) -> tuple[int, ...]:
        """The number of rows of each part, such as a file; they add up to `n_samples`."""

    @property
    @abstractmethod
    def bytes_per_row(self) -> float:
        """About how many bytes a row takes in memory, without its target."""

    @property
    def bytes_to_read(self) -> float:
        """About how many bytes it takes to read rows, beside those that are kept."""
        return 0.0

    @abstractmethod
    def take(self, rows: np.ndarray) -> Any:
        """Return the rows with these numbers, which increase, as a matrix or a data frame."""

    @abstractmethod
    def read(self, part: int, n_rows: int) -> Iterator[Any]:
        """Yield the rows of a part in order, as tables of `n_rows` rows; the last may have fewer."""

    @abstractmethod
    def targets(self) -> np.ndarray:
        """Return the targets of all rows."""

    def row_ids(self) -> Any:
        """Return the names of all rows; None if they are numbered."""
        return None

    def groups(self) -> Any:
        """Return the unit of each row; None if every row is a unit of its own."""
        return None

    def labels(self) -> Any:
        """Return what rows are called for people, as an array; None if by their numbers. Bags do not depend on it."""
        return None

    @property
    def shape(self) -> tuple[int, int]:
        """The number of rows, and the number of features."""
        return self.n_samples, self.n_features

    def blocks(self, n_rows: int) -> Iterator[Any]:
        """Yield all rows in order, as tables of `n_rows` rows; the last may have fewer."""
        for first in range(0, self.n_samples, n_rows):
            yield self.take(np.arange(first, min(first + n_rows, self.n_samples)))

    def fingerprint(self) -> str:
        """Return a text that identifies the rows; it must not change while they stay the same."""
        return f"{type(self).__module__}.{type(self).__qualname__} {self.shape} {self.part_sizes}"

    def equals(self, other: Any) -> bool:
        """Return whether another source has the same rows."""
        return type(self) is type(other) and self.fingerprint() == other.fingerprint()

    def all_of_fit(self, y: Any, row_ids: Any, groups: Any, owner: str) -> tuple[np.ndarray, Any, Any]:
        """Return what `fit` takes beside the rows: the targets, and names or units where they are not given."""
        if y is not None:
            reason = "the table has its targets. Leave y out: fit(table)."
            raise refuse_value("y", f"{owner}.fit", f"None with a {type(self).__name__}", y, reason)
        of_rows, of_units = self.row_ids(), self.groups()
        for name, given, own in (("row_ids", row_ids, of_rows), ("groups", groups, of_units)):
            if given is not None and own is not None:
                raise refuse_value(name, f"{owner}.fit", "left out, because the table has some", given, "use one.")
        row_ids, groups = of_rows if row_ids is None else row_ids, of_units if groups is None else groups
        return self.targets(), row_ids, groups


def as_bytes(value: Any, name: str, owner: str) -> int:
    """Read an amount of memory: a number of bytes, or a text such as "500MB", "1.5 GB" or "2GiB".

    >>> as_bytes("1.5 GB", "max_memory", "ParquetTable"), as_bytes("2MiB", "max_memory", "ParquetTable")
    (1500000000, 2097152)
    """
    number: Any = value
    if isinstance(value, str):
        units = {"": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
        units |= {"B": 1, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}
        digits = value.strip().rstrip("KMGTIBkmgtib").strip()
        unit = value.strip()[len(value.strip().rstrip("KMGTIBkmgtib")) :].upper()
        try:
            number = float(digits) * units[unit]
        except (KeyError, ValueError):
            number = None
    whole = isinstance(number, int | float | np.integer) and not isinstance(number, bool)
    if not whole or not 1 <= number < 2**62:
        reason = "it is the memory for rows that are held at once."
        raise refuse_value(name, owner, 'a number of bytes, or a text such as "500MB" or "1GB"', value, reason)
    return int(number)
