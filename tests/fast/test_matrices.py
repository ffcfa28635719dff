import numpy as np
import pandas as pd
import pytest
from sklearn.utils import check_array

from fast.linear_cases import TABLES, as_table
from stablebag.fast.linear import BagRows, column_sums, points_matrix
from stablebag.models.rows import take_rows
from stablebag.models.solving import NotCovered

RNG = np.random.default_rng(0)
X = RNG.normal(size=(30, 4))


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("n_rows", [1, 2, 11])
def test_rows_lie_in_memory_as_scikit_learn_gets_them(table, n_rows):
    rows = RNG.integers(0, 30, n_rows)
    expected = check_array(take_rows(as_table(X, table), rows))
    taken = BagRows(as_table(X, table)).take(rows)
    assert np.array_equal(taken, expected)
    assert n_rows == 1 or taken.strides == expected.strides
    assert taken.flags.writeable


@pytest.mark.parametrize("table", TABLES)
def test_learners_that_want_rows_get_rows(table):
    assert BagRows(as_table(X, table), by_row=True).take(np.arange(5)).flags.c_contiguous


def test_taking_rows_leaves_the_table_alone():
    taken = BagRows(X).take(np.arange(30))
    assert not np.shares_memory(taken, X)


def test_an_array_that_workers_share_is_covered(tmp_path):
    shared = np.memmap(tmp_path / "rows", dtype=float, mode="w+", shape=X.shape)
    shared[:] = X
    assert np.array_equal(BagRows(shared).take(np.arange(30)), X)


@pytest.mark.parametrize("bad", [np.nan, np.inf, 1e141])
def test_missing_and_huge_numbers_are_not_covered(bad):
    with pytest.raises(NotCovered, match="not covered"):
        BagRows(np.where(np.arange(120).reshape(X.shape) == 14, bad, X))


@pytest.mark.parametrize("table", [X.astype(np.float32), X[:, :0], X[:0], X > 0])
def test_other_tables_are_not_covered(table):
    with pytest.raises(NotCovered):
        BagRows(table)


@pytest.mark.parametrize("d", [1, 2, 3, 7, 8, 9, 64, 200])
def test_sums_of_columns_have_numpys_bits(d):
    for m in (1, 2, 7, 8, 9, 127, 128, 129, 1000):
        for order in "CF":
            rows = np.asarray(RNG.normal(size=(m, d)) * 10.0 ** RNG.integers(-9, 9, d), order=order)
            assert column_sums(rows).tobytes() == np.sum(rows, axis=0).tobytes()


def test_sums_of_negative_zeros_have_numpys_sign():
    for rows in (np.full((3, 2), -0.0), np.full((3, 1), -0.0), np.full((3, 2), -0.0, order="F")):
        assert column_sums(rows).tobytes() == np.sum(rows, axis=0).tobytes()


@pytest.mark.parametrize("points", [X.astype(np.float32), np.where(X > 1, np.nan, X), X[:0], X > 0, X.tolist()])
def test_other_points_are_for_scikit_learn(points):
    assert points_matrix(points) is None


def test_points_of_a_frame_are_as_scikit_learn_sees_them():
    frame = pd.DataFrame(X, columns=list("abcd"))
    assert points_matrix(frame).strides == check_array(frame).strides
