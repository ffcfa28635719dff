"""Tables from files: text files with columns of any kind, Excel sheets, and Parquet files larger than memory.

`read_table` reads a file of any of these kinds as a training table.
"""

from typing import TYPE_CHECKING

from stablebag import _lazily

if TYPE_CHECKING:
    from stablebag.tables.subsets import Remainder as Remainder
    from stablebag.tables.text import TableError as TableError
    from stablebag.tables.training import TrainingTable as TrainingTable
    from stablebag.tables.training import read_table as read_table
else:
    __getattr__, __dir__, __all__ = _lazily(
        __name__,
        {
            "subsets": ["Remainder"],
            "text": ["TableError"],
            "training": ["TrainingTable", "read_table"],
        },
    )
