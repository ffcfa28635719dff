import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from stablebag.tables.files import Kind, kinds_of, matrix_type

TYPES = {
    "int8": (pa.int8(), "int8", "float64"),
    "uint32": (pa.uint32(), "uint32", "float64"),
    "int64": (pa.int64(), "int64", "float64"),
    "bool": (pa.bool_(), "bool", "float64"),
    "float16": (pa.float16(), "float32", "float32"),
    "float32": (pa.float32(), "float32", "float32"),
    "float64": (pa.float64(), "float64", "float64"),
    "decimal": (pa.decimal128(9, 2), "float64", "float64"),
    "null": (pa.null(), "float64", "float64"),
}


@pytest.mark.parametrize("name", TYPES)
def test_numbers_have_one_type_that_depends_on_whether_any_is_missing(name):
    arrow, full, with_gaps = TYPES[name]
    schema = pa.schema([("c", arrow)])
    for nulls, dtype in (([0, 0], full), ([0, 1], with_gaps)):
        (kind,) = kinds_of(["c"], [schema, schema], [{"c": count} for count in nulls], ("a", "b"))
        assert (kind.form, kind.dtype) == ("number", dtype)
    assert kind.with_nulls().dtype == with_gaps


def test_sizes_of_offsets_and_codes_make_no_difference():
    one = pa.schema([("t", pa.string()), ("c", pa.dictionary(pa.int8(), pa.string()))])
    other = pa.schema([("t", pa.large_string()), ("c", pa.dictionary(pa.int32(), pa.large_string()))])
    kinds = kinds_of(["t", "c"], [one, other], [{"t": 0, "c": 0}] * 2, ("a", "b"))
    assert [kind.form for kind in kinds] == ["other", "category"]


def test_categories_are_sorted_whatever_the_order_of_the_dictionaries():
    kind = Kind("c", "category", arrow=pa.large_string())
    some = [("a", pa.array(["z", "b"])), ("b", pa.array(["c", None, "b"]))]
    for dictionaries in (some, some[::-1]):
        assert kind.with_categories(dictionaries).categories.to_pylist() == ["b", "c", "z"]
    assert kind.with_categories([]).categories.to_pylist() == []


def test_categories_that_are_neither_texts_nor_whole_numbers_are_refused():
    schema = pa.schema([("c", pa.dictionary(pa.int8(), pa.float64()))])
    with pytest.raises(ValueError, match=r"columns of categories that are texts or whole numbers. Got 'c'"):
        kinds_of(["c"], [schema], [{"c": 0}], ("a",))


def test_two_columns_of_one_name_are_refused():
    schema = pa.schema([("c", pa.int64()), ("c", pa.int64())])
    with pytest.raises(ValueError, match="a has two columns of this name"):
        kinds_of(["c"], [schema], [{"c": 0}], ("a",))


@pytest.mark.parametrize(
    ("dtypes", "expected"),
    [
        (["float32"], "f4"),
        (["int8", "bool"], "f4"),
        (["int16", "float32"], "f4"),
        (["int32"], "f8"),
        (["float64"], "f8"),
    ],
)
def test_a_matrix_has_the_smaller_type_that_is_exact(dtypes, expected):
    assert matrix_type([Kind(str(k), "number", dtype) for k, dtype in enumerate(dtypes)]) == np.dtype(expected)


def test_bytes_of_a_row_are_about_what_it_takes():
    assert Kind("c", "number", "int16").bytes_per_row == 2
    assert Kind("c", "category", arrow=pa.large_string()).bytes_per_row >= pd.Categorical(["a"]).codes.itemsize
