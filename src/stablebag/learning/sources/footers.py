"""The footer of a Parquet file: its columns and their types, the number of rows, and how many values are missing."""

from dataclasses import dataclass
from typing import Any

from stablebag.learning.sources.files import Files
from stablebag.learning.sources.kinds import Kind, needs_count

_BUFFER = 2**18  # bytes of a column that are read from the file at once


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
            return pq.ParquetFile(files.opened(number), **how)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise ValueError(
                f"{files.paths[number]} cannot be read as a Parquet file: {error}. Leave it out, or write it anew."
            ) from error

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return int(self.metadata.num_rows)

    def nulls(self, columns: list[str]) -> dict[str, int | None]:
        """Return how many values are missing where that decides about a type; None if the file does not say."""
        import pyarrow.types as pt

        places, types = self._places(), {name: self.schema.field(name).type for name in columns}
        nulls: dict[str, int | None] = {name: self.n_rows if pt.is_null(types[name]) else 0 for name in columns}
        return nulls | {name: self._nulls(places[name]) for name in columns if needs_count(types[name])}

    def text_bytes(self, kinds: list[Kind]) -> float:
        """Return how many bytes the columns take in the file that are neither numbers nor categories."""
        places = self._places()
        others = [places[kind.name] for kind in kinds if kind.form == "other" and kind.name in places]
        groups = [self.metadata.row_group(number) for number in range(self.metadata.num_row_groups)]
        return float(sum(group.column(place).total_uncompressed_size for group in groups for place in others))

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
