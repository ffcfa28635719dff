"""Rows in files: Parquet tables that do not fit into memory, and text files with mixed columns."""

from typing import TYPE_CHECKING

from stablebag._lazy import lazily

if TYPE_CHECKING:
    from stablebag.tables.subsets import Remainder as Remainder
else:
    __getattr__, __dir__, __all__ = lazily(
        __name__,
        {
            "subsets": ["Remainder"],
        },
    )
