"""One pass over the columns that must be known before rows are numbered: targets, names, units, and categories."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from stablebag._checks import read_only


class Survey:
    """What is known of all rows after one pass; rows without a target are left out of everything.

    Parameters
    ----------
    batches : iterable of (int, int, RecordBatch)
        The number of each batch's file, that of its first row, and the batch.
    paths : tuple of str
        The files.
    target : str
        The column of the targets.
    named : tuple of str, default=()
        Columns that are kept as they are.
    categories : tuple of str, default=()
        Columns whose dictionaries are collected.
    counted : tuple of str, default=()
        Columns whose missing values are counted.
    """

    def __init__(
        self,
        batches: Iterable[tuple[int, int, Any]],
        paths: tuple[str, ...],
        target: str,
        named: tuple[str, ...] = (),
        categories: tuple[str, ...] = (),
        counted: tuple[str, ...] = (),
    ) -> None:
        import pyarrow.compute as pc

        targets, kept = list[Any](), {name: list[Any]() for name in named}
        missing, known = [np.empty(0, np.int64)], [0] * len(paths)
        self.dictionaries: dict[str, list[tuple[str, Any]]] = {name: [] for name in categories}
        self.has_nulls = dict.fromkeys(counted, False)
        for number, start, batch in batches:
            for name in categories:
                _collect(self.dictionaries[name], paths[number], batch.column(name))
            for name in counted:
                self.has_nulls[name] |= batch.column(name).null_count > 0
            target_values = batch.column(target)
            gone = target_values.is_null(nan_is_null=True)
            columns = {name: batch.column(name) for name in named}
            if gone.true_count:
                missing.append(start + np.flatnonzero(gone.to_numpy(zero_copy_only=False)))
                stay = pc.invert(gone)
                target_values = target_values.filter(stay)
                columns = {name: values.filter(stay) for name, values in columns.items()}
            known[number] += len(target_values)
            targets += [_compact(target_values)] if len(target_values) else []
            for name, values in columns.items():
                kept[name].append(values)
        self.known, self.missing = tuple(known), read_only(np.concatenate(missing))
        self.targets = read_only(_targets(targets))
        self.named = {name: _series(values, name) for name, values in kept.items()}
        self._before = self.missing - np.arange(len(self.missing))  # numbers that the rows after them have

    @property
    def n_samples(self) -> int:
        """The number of rows with a target."""
        return sum(self.known)

    def places(self, rows: np.ndarray) -> np.ndarray:
        """Return the places in the files, end to end, of rows by their numbers."""
        if not len(self.missing):
            return rows
        return rows + np.searchsorted(self._before, rows, side="right")

    def known_of(self, start: int, count: int) -> np.ndarray:
        """Return which of `count` places from `start` on have a target, counted from `start`."""
        local = np.arange(count)
        if not len(self.missing):
            return local
        low, high = np.searchsorted(self.missing, (start, start + count))
        return np.delete(local, self.missing[low:high] - start)


def _collect(found: list[tuple[str, Any]], path: str, array: Any) -> None:
    """Add a dictionary to those of a column, unless it is like the last one; a batch without values has none."""
    dictionary = getattr(array, "dictionary", None)
    if dictionary is not None and not (found and found[-1][1].equals(dictionary)):
        found.append((path, dictionary))


def _compact(array: Any) -> Any:
    """Targets that are held until the end: texts as numbers into a short list of them."""
    import pyarrow.types as pt

    texts = pt.is_string(array.type) or pt.is_large_string(array.type)
    return array.dictionary_encode() if texts else array


def _targets(chunks: list[Any]) -> np.ndarray:
    """All targets as one array: numbers as they are, and texts as objects that equal ones share."""
    import pyarrow as pa

    if not chunks:
        return np.empty(0)
    if not pa.types.is_dictionary(chunks[0].type):
        if pa.types.is_decimal(chunks[0].type):
            chunks = [chunk.cast(pa.float64()) for chunk in chunks]
        return np.concatenate([chunk.to_numpy(zero_copy_only=False) for chunk in chunks])
    texts = _are_texts(chunks[0].dictionary)
    kind = pa.dictionary(pa.int32(), pa.large_string() if texts else chunks[0].type.value_type)
    whole = pa.chunked_array([chunk.cast(kind) for chunk in chunks]).unify_dictionaries()
    labels: np.ndarray = np.array(whole.chunk(0).dictionary.to_pylist(), dtype=object if texts else None)
    places = np.concatenate([chunk.indices.to_numpy(zero_copy_only=False) for chunk in whole.chunks])
    return np.asarray(labels[places])


def _are_texts(array: Any) -> bool:
    import pyarrow.types as pt

    return bool(pt.is_string(array.type) or pt.is_large_string(array.type))


def _series(chunks: list[Any], name: str) -> Any:
    """A column as a pandas series of its name; categories become what they stand for."""
    import pandas as pd
    import pyarrow as pa

    plain = [chunk.dictionary_decode() if pa.types.is_dictionary(chunk.type) else chunk for chunk in chunks]
    if not plain:
        return pd.Series([], name=name, dtype=object)
    kind = next((chunk.type for chunk in plain if not pa.types.is_null(chunk.type)), plain[0].type)
    return pd.Series(pa.chunked_array([chunk.cast(kind) for chunk in plain]).to_pandas(), name=name)
