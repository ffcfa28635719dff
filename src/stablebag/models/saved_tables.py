"""Data frames inside saved models: pickled as they are, and written to skops files as Arrow IPC bytes.

skops has no format for data frames. Arrow's format holds columns, types, categories and the index, and no code. Before
a frame is written it is read back once: a frame that would change on the way raises an error.
"""

import io
import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

FORMAT = 1  # of the state that skops writes
_INSTEAD = "Keep the model with pickle or joblib, fit it with keep_rows=False, or convert the column before fitting."


class SavedTable:
    """A data frame or series in the state of a model; pickle and copy see the table itself, skops sees bytes."""

    def __init__(self, table: Any) -> None:
        self.table = table

    def __reduce__(self) -> tuple[Callable[[Any], Any], tuple[Any]]:
        return _itself, (self.table,)

    def __getstate__(self) -> dict[str, Any]:
        try:
            state = _polars_state(self.table) if _library(self.table) == "polars" else _pandas_state(self.table)
            changed = _changed(_table(state), self.table)
        except ImportError as error:
            raise ImportError("Saving data frames needs pyarrow: pip install 'stablebag[save]'.") from error
        except Exception as error:
            reason = "; ".join(map(str, error.args)).strip().rstrip(".") or type(error).__name__
            raise TypeError(f"skops cannot keep this table: {reason}. {_INSTEAD}") from error
        if changed:
            raise TypeError(f"skops cannot keep {changed}: it would not come back exactly as it is. {_INSTEAD}")
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        if state.get("format") != FORMAT:
            found = state.get("format", "unknown")
            raise ValueError(
                f"The saved rows have format {found}, and this version of stablebag reads format {FORMAT}. Fit and "
                "save the model again."
            )
        self.table = _table(state)


def wrap_tables(value: Any) -> Any:
    """Wrap a frame or series, also in a dict, for the state of a model; anything else stays as it is."""
    if isinstance(value, dict):
        return {name: wrap_tables(item) for name, item in value.items()}
    return SavedTable(value) if _library(value) in ("pandas", "polars") else value


def unwrap_tables(value: Any) -> Any:
    """Return what `wrap_tables` was given."""
    if isinstance(value, dict):
        return {name: unwrap_tables(item) for name, item in value.items()}
    return value.table if isinstance(value, SavedTable) else value


def _itself(table: Any) -> Any:
    return table


def _library(value: Any) -> str:
    """The library of a frame or series, or of the class that it inherits from; "" for anything else."""
    bases = [base for base in type(value).__mro__ if base.__name__ in ("DataFrame", "Series")]
    return bases[-1].__module__.split(".")[0] if bases else ""


def _table(state: dict[str, Any]) -> Any:
    return _from_polars_state(state) if state["library"] == "polars" else _from_pandas_state(state)


def _polars_state(table: Any) -> dict[str, Any]:
    buffer = io.BytesIO()
    frame = table if hasattr(table, "columns") else table.to_frame()
    frame.write_ipc(buffer)
    content = np.frombuffer(buffer.getvalue(), np.uint8)
    return {"format": FORMAT, "library": "polars", "is_series": frame is not table, "arrow": content}


def _from_polars_state(state: dict[str, Any]) -> Any:
    import polars as pl

    frame = pl.read_ipc(io.BytesIO(state["arrow"].tobytes()))
    return frame.to_series() if state["is_series"] else frame


def _pandas_state(table: Any) -> dict[str, Any]:
    import pandas as pd
    import pyarrow as pa

    if type(table) not in (pd.DataFrame, pd.Series):
        raise TypeError(f"a {type(table).__name__} is more than a plain pandas DataFrame")
    is_series = isinstance(table, pd.Series)
    frame = table.to_frame() if is_series else table
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about labels that would change, which raise an error here
        arrow, sink = pa.Table.from_pandas(frame), io.BytesIO()
    with pa.ipc.new_file(sink, arrow.schema) as writer:
        writer.write_table(arrow)
    objects = [place for place, dtype in enumerate(frame.dtypes) if dtype.kind == "O" and isinstance(dtype, np.dtype)]
    return {
        "format": FORMAT,
        "library": "pandas",
        "is_series": is_series,
        "name": table.name if is_series else None,
        # Arrow has one missing value, and Python's objects have three.
        "objects": {str(place): _missing_value(frame.iloc[:, place]) for place in objects},
        "arrow": np.frombuffer(sink.getvalue(), np.uint8),
    }


def _from_pandas_state(state: dict[str, Any]) -> Any:
    import pandas as pd
    import pyarrow as pa

    with pa.ipc.open_file(state["arrow"].tobytes()) as reader:
        frame = reader.read_all().to_pandas()
    missing = {"None": None, "nan": math.nan, "<NA>": pd.NA}
    for place, name in state["objects"].items():
        column = frame.iloc[:, int(place)]
        cells = column.to_numpy(dtype=object, na_value=None).copy()
        cells[column.isna().to_numpy()] = missing[name]
        frame.isetitem(int(place), pd.Series(cells, index=frame.index, dtype=object))
    return frame.iloc[:, 0].rename(state["name"]) if state["is_series"] else frame


def _missing_value(column: Any) -> str:
    gone = column[column.isna().to_numpy()]
    return str(gone.iloc[0]) if len(gone) else "None"


def _changed(one: Any, other: Any) -> str:
    """Name what a learner could see differ between two tables; "" if they are the same."""
    if _library(one) == "polars":
        types = [table.schema if hasattr(table, "schema") else table.dtype for table in (one, other)]
        return "" if types[0] == types[1] and one.equals(other, null_equal=True) else "this table"
    frames = [table if hasattr(table, "columns") else table.to_frame() for table in (one, other)]
    if _are_equal(*frames):
        return "" if one.attrs == other.attrs else "the attrs of this table"
    for place, name in enumerate(frames[1].columns):
        if not _are_equal(*(frame.iloc[:, [place]] for frame in frames)):
            return f"column {name!r}"
    return "this table"


def _are_equal(one: Any, other: Any) -> bool:
    from pandas import testing

    try:
        testing.assert_frame_equal(one, other, check_exact=True, check_freq=False)
    except AssertionError:
        return False
    objects = [place for place, dtype in enumerate(one.dtypes) if dtype.kind == "O" and isinstance(dtype, np.dtype)]
    cells = [[list(map(type, frame.iloc[:, place])) for place in objects] for frame in (one, other)]
    return cells[0] == cells[1]  # None, NaN and NA are equal otherwise
