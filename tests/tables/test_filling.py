import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from stablebag.tables.files import Kind
from stablebag.tables.parquet import Frame, Matrix, numbers


@pytest.mark.parametrize(
    ("array", "expected"),
    [
        (pa.array([1, 2, 3]), [3, 1]),
        (pa.array([1, None, 3]), [3, 1]),
        (pa.array([None, 2, 3]), [3, np.nan]),
        (pa.array([True, False, None]), [np.nan, 1]),
        (pa.array([False, True, True]), [1, 0]),
        (pa.array([1.5, None, None], pa.float32()), [np.nan, 1.5]),
        (pa.nulls(3), [np.nan, np.nan]),
        (pa.array([1, 2, 3]).cast(pa.decimal128(20, 1)), [3, 1]),
    ],
)
def test_numbers_are_taken_with_nan_for_missing_ones(array, expected):
    np.testing.assert_array_equal(numbers(array, np.array([2, 0])).astype(float), expected)


def test_a_matrix_is_filled_row_by_row():
    filling = Matrix([Kind("a", "number"), Kind("b", "number")], np.dtype(np.float32), 3)
    filling.put(pa.record_batch({"a": [1, 2], "b": [3.0, None]}), np.array([1]), 0)
    filling.put(pa.record_batch({"a": [4, 5], "b": [6.0, 7.0]}), np.array([0, 1]), 1)
    np.testing.assert_array_equal(filling.table(), np.array([[2, np.nan], [4, 6], [5, 7]], dtype=np.float32))
    assert filling.table().flags.c_contiguous


def test_a_frame_is_filled_from_batches_with_different_dictionaries():
    towns = Kind("c", "category", arrow=pa.large_string(), categories=pa.array(["a", "b", "z"], pa.large_string()))
    filling = Frame([towns, Kind("t", "other", arrow=pa.large_string())], np.array([5, 8, 9, 11]))
    filling.put(_batch(["z", None, "a"], ["p", "q", None]), np.array([0, 1]), 0)
    filling.put(_batch(["b", "a"], ["r", "s"]), np.array([0]), 2)
    filling.put(_batch([None], ["u"]), np.array([0]), 3)
    frame = filling.table()
    assert frame.index.tolist() == [5, 8, 9, 11]
    expected = pd.Categorical(["z", None, "b", None], categories=frame["c"].cat.categories)
    assert frame["c"].cat.categories.tolist() == ["a", "b", "z"]
    assert (frame["c"].cat.codes == expected.codes).all()
    assert frame["t"].tolist() == ["p", "q", "r", "u"]


def test_a_frame_of_a_range_counts_its_rows():
    filling = Frame([Kind("a", "number", "int16")], range(3, 5))
    filling.put(pa.record_batch({"a": [1, 2]}), np.array([0, 1]), 0)
    pd.testing.assert_frame_equal(
        filling.table(), pd.DataFrame({"a": np.array([1, 2], "i2")}, index=pd.RangeIndex(3, 5))
    )


def _batch(categories, texts):
    return pa.record_batch({"c": pa.array(categories, pa.string()).dictionary_encode(), "t": texts})


@pytest.mark.parametrize("kind", [pa.float16(), pa.float32(), pa.float64(), pa.int64(), pa.bool_(), pa.null()], ids=str)
def test_what_is_missing_is_the_same_nan_whatever_the_type(kind):
    values = np.zeros(3, "f2") if kind == pa.float16() else [None] * 3
    array = pa.array(values, kind, mask=np.ones(3, bool) if kind == pa.float16() else None)
    assert numbers(array, np.array([0, 2])).astype("f8").tobytes() == np.full(2, np.nan).tobytes()
