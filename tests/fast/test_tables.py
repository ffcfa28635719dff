import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

from stablebag.models.solving import NotCovered, as_matrix


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, np.int64, np.uint8])
def test_an_array_of_numbers_is_the_matrix(dtype):
    X = np.arange(6).reshape(3, 2).astype(dtype)
    matrix, names = as_matrix(X)
    assert matrix is X
    assert names is None


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_a_frame_of_numbers_has_names(frame):
    matrix, names = as_matrix(frame({"a": [1, 2], "b": [0.5, 1.5]}))
    np.testing.assert_array_equal(matrix, [[1, 0.5], [2, 1.5]])
    assert matrix.dtype == float
    assert names.tolist() == ["a", "b"]


@pytest.mark.parametrize(
    "table",
    [np.array([["a"]]), np.array([[True]]), np.array([[1j]]), np.array([[1]], dtype=object), np.ma.array([[1.0]]),
     sparse.csr_array(np.eye(2)), [[1.0]], np.ones((1, 1, 1)),
     pd.DataFrame({"a": [True]}), pd.DataFrame({"a": ["x"]}), pd.DataFrame({0: [1.0]}),
     pd.DataFrame([[1.0, 2.0]], columns=["a", "a"]), pd.DataFrame({"a": pd.array([1, None], dtype="Int64")}),
     pd.DataFrame({"a": pd.Categorical([1])}), pl.DataFrame({"a": [1, None]}), pl.DataFrame({"a": [1.0, None]}),
     pl.DataFrame({"a": ["x"]}), pl.DataFrame({"a": [True]})],
)  # fmt: skip
def test_all_other_tables_are_left_to_the_learner(table):
    with pytest.raises(NotCovered, match="not covered"):
        as_matrix(table)
