"""Tables of a fitted model on their way into a file: pickled as they are, and kept by skops as plain arrays.

skops keeps no data frames. Here a frame becomes a few arrays per column, with no pickle in them, and the same frame
again: its types, categories, missing values, index and labels. What cannot be kept exactly is refused in a sentence.
"""

import io
import itertools
import json
import math
from collections.abc import Callable, Iterable
from datetime import date
from decimal import Decimal
from typing import Any

import numpy as np

State = dict[str, Any]

_HOW = "Keep the model with pickle or joblib, fit it with keep_rows=False, or convert the column before fitting."
_NUMPY_KINDS = "biufcmM"


class KeptRows:
    """A data frame or series inside of the state of a model.

    Pickling and copying pass it on as it is. skops asks for its state, which is plain arrays, and gets it again.

    Parameters
    ----------
    table : pandas or polars DataFrame or Series
        What is kept.
    """

    def __init__(self, table: Any) -> None:
        self.table = table

    def __reduce__(self) -> tuple[Callable[[Any], Any], tuple[Any]]:
        return _itself, (self.table,)

    def __getstate__(self) -> State:
        """Return what skops keeps, after a look at whether it gives the same table."""
        state = _polars_state(self.table) if _library(self.table) == "polars" else _pandas_state(self.table)
        try:
            again = _table(state)
        except Exception as error:
            raise _refuse("this table", error) from error
        if not _identical(again, self.table):
            raise _refuse("this table", "it would not come back exactly as it is")
        return state

    def __setstate__(self, state: State) -> None:
        self.table = _table(state)


def packed(value: Any) -> Any:
    """Return what stands for a value in the state of a model: frames and series wrapped, also those in a dict."""
    if isinstance(value, dict):
        return {name: packed(item) for name, item in value.items()}
    return KeptRows(value) if _library(value) in ("pandas", "polars") else value


def unpacked(value: Any) -> Any:
    """Return the value that `packed` was given."""
    if isinstance(value, dict):
        return {name: unpacked(item) for name, item in value.items()}
    return value.table if isinstance(value, KeptRows) else value


def _itself(table: Any) -> Any:
    return table


def _library(value: Any) -> str:
    """The library of a frame or series, or of what it inherits from; "" for anything else."""
    bases = [base for base in type(value).__mro__ if base.__name__ in ("DataFrame", "Series")]
    return bases[-1].__module__.split(".")[0] if bases else ""


def _table(state: State) -> Any:
    return _of_polars_state(state) if state["library"] == "polars" else _of_pandas_state(state)


def _refuse(what: str, reason: Any) -> TypeError:
    return TypeError(f"skops cannot keep {what}: {reason}. {_HOW}")


# -------------------------------------------------------------------------------------------------------------- polars


def _polars_state(table: Any) -> State:
    buffer = io.BytesIO()
    frame = table if hasattr(table, "columns") else table.to_frame()
    try:
        frame.write_ipc(buffer)  # Arrow's file format: columns and their types, no code
    except Exception as error:
        raise _refuse("this polars frame", error) from error
    return {"library": "polars", "series": frame is not table, "arrow": np.frombuffer(buffer.getvalue(), np.uint8)}


def _of_polars_state(state: State) -> Any:
    import polars as pl

    frame = pl.read_ipc(io.BytesIO(state["arrow"].tobytes()))
    return frame.to_series() if state["series"] else frame


# -------------------------------------------------------------------------------------------------------------- pandas


def _pandas_state(table: Any) -> State:
    import pandas as pd

    if type(table) not in (pd.DataFrame, pd.Series):
        raise _refuse(f"a {type(table).__name__}", "it is not a plain pandas DataFrame")
    is_series = isinstance(table, pd.Series)
    columns = [table] if is_series else [table.iloc[:, place] for place in range(table.shape[1])]
    labels = pd.Index([table.name], dtype=object) if is_series else table.columns
    return {
        "library": "pandas",
        "series": is_series,
        "columns": _index_state(labels, "the labels of the columns"),
        "index": _index_state(table.index, "the index"),
        "values": [_values_state(column, f"column {column.name!r}") for column in columns],
        "attrs": _attributes(table),
        "duplicates": bool(table.flags.allows_duplicate_labels),
    }


def _of_pandas_state(state: State) -> Any:
    import pandas as pd

    index = _of_index_state(state["index"])
    arrays = [_of_values_state(value) for value in state["values"]]
    columns = [pd.Series(array, index=index, dtype=array.dtype, copy=False) for array in arrays]
    frame = pd.concat(columns, axis=1) if columns else pd.DataFrame(index=index)
    frame.index, frame.columns = index, _of_index_state(state["columns"])
    table = frame.iloc[:, 0] if state["series"] else frame
    table.attrs = json.loads(state["attrs"])
    return table.set_flags(allows_duplicate_labels=state["duplicates"])


def _attributes(table: Any) -> str:
    try:
        text = json.dumps(table.attrs)
        if json.loads(text) == table.attrs:
            return text
    except (TypeError, ValueError):
        pass
    raise _refuse("the attrs of this frame", "they are not plain texts, numbers and lists")


def _index_state(index: Any, what: str) -> State:
    import pandas as pd

    names = _cells_state(list(index.names), f"the name of {what}")
    if isinstance(index, pd.MultiIndex):
        levels = [_index_state(level, what) for level in index.levels]
        return {"kind": "levels", "names": names, "levels": levels, "codes": [np.asarray(c) for c in index.codes]}
    if isinstance(index, pd.RangeIndex):
        return {"kind": "range", "names": names, "range": [index.start, index.stop, index.step]}
    return {"kind": "values", "names": names, "values": _values_state(index, what),
            "freq": getattr(index, "freqstr", None)}  # fmt: skip


def _of_index_state(state: State) -> Any:
    import pandas as pd

    names = _cells(state["names"])
    if state["kind"] == "levels":
        return pd.MultiIndex([_of_index_state(level) for level in state["levels"]], state["codes"], names=names)
    if state["kind"] == "range":
        return pd.RangeIndex(*state["range"], name=names[0])
    values = _of_values_state(state["values"])
    index = pd.Index(values, dtype=values.dtype, name=names[0], copy=False)
    if state["freq"] is not None:
        index.freq = state["freq"]
    return index


def _values_state(column: Any, what: str) -> State:
    """The values of a column or an index, as arrays."""
    import pandas as pd

    dtype, values = column.dtype, column.array
    if isinstance(dtype, np.dtype) and dtype.kind in _NUMPY_KINDS:
        return {"kind": "numpy", "array": np.ascontiguousarray(values)}
    if isinstance(dtype, np.dtype) and dtype.kind == "O":
        return {"kind": "object", "cells": _cells_state(list(values), what)}
    if isinstance(dtype, pd.CategoricalDtype):
        categories = _index_state(dtype.categories, what)
        return {"kind": "category", "codes": values.codes.copy(), "categories": categories, "ordered": dtype.ordered}
    if isinstance(dtype, pd.StringDtype):
        missing = np.asarray(pd.isna(values))
        texts = _texts_state("" if gone else text for text, gone in zip(values, missing, strict=True))
        is_nan = isinstance(dtype.na_value, float)
        return {"kind": "text", "texts": texts, "missing": missing, "storage": dtype.storage, "nan": is_nan}
    if isinstance(dtype, pd.DatetimeTZDtype):
        return {"kind": "zoned", "utc": np.asarray(values.tz_convert("UTC").tz_localize(None)), "zone": str(dtype.tz)}
    if isinstance(dtype, pd.PeriodDtype):
        return {"kind": "period", "ordinals": np.array(values.asi8), "type": str(dtype)}
    if isinstance(dtype, pd.IntervalDtype):
        ends = [_index_state(pd.Index(end), what) for end in (values.left, values.right)]
        return {"kind": "interval", "ends": ends, "closed": dtype.closed}
    if isinstance(dtype, pd.ArrowDtype):
        return {"kind": "arrow", "arrow": _arrow_bytes(values)}
    if hasattr(dtype, "numpy_dtype") and hasattr(values, "_mask"):  # the nullable numbers
        array = values.to_numpy(dtype=dtype.numpy_dtype, na_value=dtype.numpy_dtype.type(0))
        return {"kind": "nullable", "array": array, "missing": np.asarray(values.isna())}
    raise _refuse(what, f"its type is {dtype}")


def _of_values_state(state: State) -> Any:
    return _READERS[state["kind"]](state)


def _category(state: State) -> Any:
    import pandas as pd

    dtype = pd.CategoricalDtype(_of_index_state(state["categories"]), ordered=state["ordered"])
    return pd.Categorical.from_codes(state["codes"], dtype=dtype)


def _text(state: State) -> Any:
    import pandas as pd

    own = {"na_value": math.nan} if state["nan"] else {}  # pandas before 2.3 knows only NA
    dtype = pd.StringDtype(state["storage"], **own)
    array = np.array(_texts(state["texts"]), dtype=object)
    array[state["missing"]] = dtype.na_value
    return pd.array(array, dtype=dtype)


def _zoned(state: State) -> Any:
    import pandas as pd

    return pd.DatetimeIndex(state["utc"]).tz_localize("UTC").tz_convert(state["zone"]).array


def _nullable(state: State) -> Any:
    import pandas as pd

    array = state["array"]
    kinds = {"b": pd.arrays.BooleanArray, "f": pd.arrays.FloatingArray}
    return kinds.get(array.dtype.kind, pd.arrays.IntegerArray)(array, state["missing"])


def _arrow_bytes(values: Any) -> np.ndarray:
    """A column of Arrow's in Arrow's own format."""
    import pyarrow as pa

    table, sink = pa.table({"values": pa.chunked_array(values.__arrow_array__())}), io.BytesIO()
    with pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    return np.frombuffer(sink.getvalue(), np.uint8)


def _arrow(state: State) -> Any:
    import pandas as pd
    import pyarrow as pa

    with pa.ipc.open_file(state["arrow"].tobytes()) as reader:
        return pd.arrays.ArrowExtensionArray(reader.read_all().column(0))


def _period(state: State) -> Any:
    import pandas as pd

    return pd.arrays.PeriodArray(state["ordinals"], dtype=pd.api.types.pandas_dtype(state["type"]))


def _interval(state: State) -> Any:
    import pandas as pd

    return pd.arrays.IntervalArray.from_arrays(*map(_of_index_state, state["ends"]), closed=state["closed"])


_READERS: dict[str, Callable[[State], Any]] = {
    "numpy": lambda state: state["array"],
    "object": lambda state: _as_objects(_cells(state["cells"])),
    "category": _category,
    "text": _text,
    "zoned": _zoned,
    "nullable": _nullable,
    "period": _period,
    "interval": _interval,
    "arrow": _arrow,
}


# --------------------------------------------------------------------------------------------------------------- cells

# How a cell of each type is written as text, and read again; files hold the places, so add only at the end.
_CELLS: dict[str, tuple[Callable[[Any], str], Callable[[str], Any]]] = {
    "builtins.NoneType": (lambda value: "", lambda text: None),
    "builtins.str": (str, str),
    "builtins.bool": (lambda value: "1" if value else "", bool),
    "builtins.int": (str, int),
    "builtins.float": (float.hex, float.fromhex),
    "builtins.bytes": (lambda value: value.decode("latin-1"), lambda text: text.encode("latin-1")),
    "datetime.date": (date.isoformat, date.fromisoformat),
    "decimal.Decimal": (str, Decimal),
    "pandas.NAType": (lambda value: "", lambda text: _missing()),
}


def _cells_state(cells: list[Any], what: str) -> State:
    """Cells of plain types, each as a text and the place of its type."""
    kinds = [f"{type(cell).__module__.split('.')[0]}.{type(cell).__name__}" for cell in cells]
    strange = next((kind for kind in kinds if kind not in _CELLS), None)
    if strange is not None:
        raise _refuse(what, f"it holds a {strange.removeprefix('builtins.')}")
    places = {kind: place for place, kind in enumerate(_CELLS)}
    texts = _texts_state(_CELLS[kind][0](cell) for kind, cell in zip(kinds, cells, strict=True))
    return {"kinds": np.array([places[kind] for kind in kinds], dtype=np.uint8), "texts": texts}


def _cells(state: State) -> list[Any]:
    readers = [read for _, read in _CELLS.values()]
    return [readers[kind](text) for kind, text in zip(state["kinds"], _texts(state["texts"]), strict=True)]


def _missing() -> Any:
    import pandas as pd

    return pd.NA


def _as_objects(cells: list[Any]) -> np.ndarray:
    array = np.empty(len(cells), dtype=object)
    array[:] = cells
    return array


def _texts_state(texts: Iterable[str]) -> State:
    """Texts end to end in one array of bytes; numpy's own texts would lose zeros at their ends."""
    encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
    ends = np.cumsum([0, *map(len, encoded)], dtype=np.int64)
    return {"bytes": np.frombuffer(b"".join(encoded), dtype=np.uint8), "ends": ends}


def _texts(state: State) -> list[str]:
    everything, ends = state["bytes"].tobytes(), state["ends"].tolist()
    return [everything[a:b].decode("utf-8", "surrogatepass") for a, b in itertools.pairwise(ends)]


# ------------------------------------------------------------------------------------------------------------ checking


def _identical(one: Any, other: Any) -> bool:
    """Whether two tables are the same in everything that a learner can see."""
    if _library(one) == "polars":
        types = [table.schema if hasattr(table, "schema") else table.dtype for table in (one, other)]
        return bool(types[0] == types[1] and one.equals(other, null_equal=True))
    from pandas import testing

    compare = testing.assert_frame_equal if hasattr(one, "columns") else testing.assert_series_equal
    try:
        compare(one, other, check_exact=True)
    except AssertionError:
        return False
    return True
