"""The footer of a Parquet file: its columns and their types, the number of rows, and how many values are missing."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from stablebag.learning.sources.files import Files
from stablebag.learning.sources.kinds import Kind, needs_count

_BUFFER = 2**18  # bytes of a column that are read from the file at once
_SAMPLED_GROUPS, _SAMPLED_ROWS = 16, 256  # of which texts are looked at, to know how long they are
_HEADERS = 128  # bytes of the headers of a row group's pages, at most, beside the extremes of its values


@dataclass(frozen=True)
class Footer:
    """What a file says of itself.

    Parameters
    ----------
    schema : pyarrow.Schema
        The columns.
    metadata : pyarrow.parquet.FileMetaData
        The row groups.
    """

    schema: Any
    metadata: Any

    @classmethod
    def of(cls, files: Files, number: int) -> "Footer":
        """Return the footer of one of the files."""
        with cls.opened(files, number) as file:
            return cls(file.schema_arrow, file.metadata)

    @staticmethod
    def opened(files: Files, number: int) -> Any:
        """Return one of the files as pyarrow's ParquetFile, open."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            # Far away, it is faster to ask for all columns of a row group at once.
            how = {"buffer_size": _BUFFER} if files.url is None else {"pre_buffer": True}
            return pq.ParquetFile(files.opened(number), page_checksum_verification=True, **how)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise _unreadable(files.paths[number], "as a Parquet file", error) from error

    @staticmethod
    def batches(file: Any, path: str, n_rows: int, groups: list[int], columns: list[str]) -> Iterator[Any]:
        """Yield batches of some row groups of an open file; if they cannot be read, say so by its path."""
        import pyarrow as pa

        try:
            yield from file.iter_batches(n_rows, row_groups=groups, columns=columns)
        except (pa.ArrowException, OSError) as error:
            raise _unreadable(path, f"in row groups {groups[0]} to {groups[-1]}", error) from error

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return int(self.metadata.num_rows)

    def nulls(self, columns: list[str]) -> dict[str, int | None]:
        """Return how many values are missing where that decides about a type; None if the file does not say."""
        import pyarrow.types as pt

        places = self._places()
        types = {name: self.schema.field(name).type for name in columns if name in self.schema.names}
        nulls: dict[str, int | None] = {name: self.n_rows if pt.is_null(kind) else 0 for name, kind in types.items()}
        return nulls | {name: self._nulls(places[name]) for name, kind in types.items() if needs_count(kind)}

    def lacks_dictionary(self, column: str) -> bool:
        """Return whether some row group has a column's values themselves, in place of a dictionary and codes."""
        import pyarrow.types as pt

        if pt.is_null(self.schema.field(column).type):
            return False
        groups = [self.metadata.row_group(number) for number in range(self.metadata.num_row_groups)]
        place = self._places()[column]
        return any(group.num_rows and not group.column(place).has_dictionary_page for group in groups)

    def text_bytes(self, kinds: list[Kind]) -> float:
        """Return how many bytes the values at least take of columns that are neither numbers nor categories.

        Headers are not counted, which are most of a file whose row groups have a row each.
        """
        places = self._places()
        others = [places[kind.name] for kind in kinds if kind.form == "other" and kind.name in places]
        groups = [self.metadata.row_group(number) for number in range(self.metadata.num_row_groups)]
        return float(sum(_least_bytes(group.column(place)) for group in groups for place in others))

    @classmethod
    def sampled_bytes(cls, files: Files, number: int, columns: list[str]) -> tuple[int, int]:
        """Return how many bytes some rows of a file take in these columns, and how many rows these are.

        A dictionary has each text once, so that the footer does not tell.
        """
        with cls.opened(files, number) as file:
            groups = [group for group in range(file.num_row_groups) if file.metadata.row_group(group).num_rows]
            step, total, rows = max(1, len(groups) // _SAMPLED_GROUPS), 0, 0
            for group in groups[::step]:
                batch = next(cls.batches(file, files.paths[number], _SAMPLED_ROWS, [group], columns))
                total, rows = total + batch.nbytes, rows + batch.num_rows
        return total, rows

    def largest_group(self, columns: list[str]) -> int:
        """Return how many bytes these columns take, unpacked, in the largest row group."""
        places = [place for name, place in self._places().items() if name in set(columns)]
        groups = [self.metadata.row_group(number) for number in range(self.metadata.num_row_groups)]
        sizes = [sum(group.column(place).total_uncompressed_size for place in places) for group in groups]
        return max(sizes, default=0)

    def _places(self) -> dict[str, int]:
        """The place of each column among those of the row groups."""
        schema = self.metadata.schema
        return {schema.column(place).path: place for place in range(len(schema))}

    def _nulls(self, place: int) -> int | None:
        total = 0
        for number in range(self.metadata.num_row_groups):
            column = self.metadata.row_group(number).column(place)
            statistics = column.statistics if column.is_stats_set else None
            if statistics is None or not statistics.has_null_count:
                if self.metadata.row_group(number).num_rows:
                    return None
            else:
                total += statistics.null_count
        return total


def check_orders(kinds: list[Kind], footers: list[Footer], paths: tuple[str, ...]) -> None:
    """Refuse ordered categories without dictionaries: their order would be that of the rows that are read first."""
    for name in (kind.name for kind in kinds if kind.ordered):
        path = next((path for path, footer in zip(paths, footers, strict=True) if footer.lacks_dictionary(name)), None)
        if path is not None:
            raise ValueError(
                f"Column {name!r} has ordered categories, and {path} does not say in which order: it was written "
                "without dictionaries. Write it with them (use_dictionary=True), or leave the column out."
            )


def _least_bytes(column: Any) -> int:
    """How many bytes the values of a column of a row group take in the file, without headers of pages."""
    statistics = column.statistics if column.is_stats_set else None
    extremes = (statistics.min, statistics.max) if statistics is not None and statistics.has_min_max else ()
    headers = _HEADERS + 2 * sum(len(str(value).encode()) for value in extremes)
    return max(0, int(column.total_uncompressed_size) - headers)


def _unreadable(path: str, what: str, error: Exception) -> ValueError:
    told = (str(error).splitlines() or [type(error).__name__])[0].rstrip(". ")
    return ValueError(f"{path} cannot be read {what}: {told}. Leave it out, or write it anew.")
