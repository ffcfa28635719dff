import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

from stablebag.models.rows import (
    Output,
    are_several,
    columns,
    columns_of_numbers,
    names_of,
    one_column,
    output_of,
)


def test_several_targets_are_a_table_of_two_columns_or_more():
    assert are_several(pd.DataFrame({"a": [1], "b": [2]}))
    assert are_several(np.zeros((3, 2)))
    for y in ([1, 2], [[1], [2]], np.zeros((2, 2, 2)), [[1, 2], [3]], pd.Series([1, 2]), None, np.zeros((3, 0))):
        assert not are_several(y)


def test_one_column_is_as_scikit_learn_reads_it_and_several_are_refused_with_a_way_out():
    np.testing.assert_array_equal(one_column([[1.0], [2.0]], "x", "", warn=False), [1.0, 2.0])
    with pytest.warns(UserWarning, match="column-vector"):
        one_column([[1.0], [2.0]], "x", "")
    with pytest.raises(ValueError, match=r"must be one target for each row\. Got 'a table of 2 columns': split"):
        one_column([[1, 2], [3, 4]], "Model", "split.")


@pytest.mark.parametrize("kind", [np.array, np.asfortranarray, pd.DataFrame, pl.DataFrame, list])
def test_whatever_holds_the_targets_those_of_a_row_are_beside_each_other(kind):
    values = np.arange(6.0).reshape(3, 2)
    table = columns(kind(values) if kind is not list else values.tolist())
    np.testing.assert_array_equal(table, values)
    assert table.flags.c_contiguous


def test_masked_sparse_and_missing_targets_are_refused():
    with pytest.raises(ValueError, match="masked"):
        columns(np.ma.masked_array(np.zeros((2, 2)), mask=[[0, 1], [0, 0]]))
    with pytest.raises(ValueError, match="toarray"):
        columns(sparse.csr_array(np.eye(3)))
    with pytest.raises(ValueError, match="without missing values"):
        columns_of_numbers(pd.DataFrame({"a": [1, pd.NA], "b": [1, 2]}, dtype="Int64"))


def test_the_columns_of_a_frame_name_the_outputs():
    assert names_of(pd.DataFrame({"a": [1], 3: [2]}), "fit").tolist() == ["a", 3]
    assert names_of(
        pd.DataFrame(np.zeros((1, 2)), columns=pd.MultiIndex.from_tuples([(1, 2), (1, 3)])), "fit"
    ).tolist() == [(1, 2), (1, 3)]
    assert names_of(np.zeros((1, 2)), "fit") is None
    with pytest.raises(ValueError, match=r"columns have different names\. Got 'a'"):
        names_of(pd.DataFrame([[1, 2]], columns=["a", "a"]), "fit")


def test_an_output_is_asked_for_by_name_or_where_names_are_texts_by_number():
    texts, numbers = np.array(["a", "b"], dtype=object), np.array([1, 2])
    assert output_of("b", texts, "output") == output_of(1, texts, "output") == Output("b", 1, 2)
    assert output_of(1, numbers, "output") == output_of(np.int64(1), numbers, "output") == Output(1, 0, 2)
    for name, names in (
        (0, numbers),
        ("c", texts),
        (2, texts),
        (-1, texts),
        (True, numbers),
        (None, texts),
        ([], texts),
    ):
        with pytest.raises(ValueError, match="of output must be one of"):
            output_of(name, names, "output")


def test_a_column_is_a_copy_with_its_numbers_side_by_side():
    block = np.arange(12.0).reshape(2, 3, 2)
    column = Output("b", 1, 2).column(block)
    np.testing.assert_array_equal(column, block[..., 1])
    assert column.flags.c_contiguous
