import pickle

import numpy as np
import pytest
from sklearn.tree import DecisionTreeRegressor

import parquet_files
from stablebag import BaggedRegressor, ParquetTable, Subbagging, leave_one_out
from stablebag.models import RowSource
from stablebag.tables.subsets import Remainder


@pytest.fixture(params=parquet_files.LAYOUTS, ids=lambda layout: layout.__name__)
def table(request, tmp_path):
    request.param(tmp_path, parquet_files.rows())
    columns = ["x", "z", "whole", "number", "flag", "town", "level", "day"]
    return ParquetTable(tmp_path, target="y", columns=columns, groups="patient", max_memory=20_000)


@pytest.fixture
def held_out(table):
    return np.concatenate([[0, 1, 2], np.arange(5, table.n_samples, 6), [table.n_samples - 1]])


def test_the_rest_has_the_rows_of_the_source_in_order(table, held_out):
    rest = Remainder(table, held_out)
    X, y = table.to_memory()
    stay = np.delete(np.arange(len(y)), held_out)
    assert isinstance(rest, RowSource)
    assert rest.shape == (len(stay), 8)
    assert rest.labels().tolist() == stay.tolist()
    assert rest.take(np.arange(len(stay))).equals(X.iloc[stay])
    assert rest.take([7, 2]).equals(X.iloc[stay[[7, 2]]])
    assert (rest.targets() == y[stay]).all()
    assert (rest.groups() == table.groups().iloc[stay]).all()
    assert rest.row_ids() is None
    assert sum(rest.part_sizes) == len(stay)


@pytest.mark.parametrize("n_rows", [1, 7, 1000])
def test_blocks_and_parts_are_cut_anew(table, held_out, n_rows):
    import pandas as pd

    rest = Remainder(table, held_out)
    whole = rest.take(np.arange(rest.n_samples))
    blocks = list(rest.blocks(n_rows))
    assert {len(block) for block in blocks[:-1]} <= {n_rows}
    assert 0 < len(blocks[-1]) <= n_rows
    assert pd.concat(blocks).equals(whole)
    parts = [list(rest.read(part, n_rows)) for part in range(len(rest.part_sizes))]
    assert [sum(map(len, part)) for part in parts] == list(rest.part_sizes)
    assert pd.concat([block for part in parts for block in part]).equals(whole)


def test_a_fit_to_the_rest_has_the_bits_of_one_in_memory(table, held_out, seed):
    rest = Remainder(ParquetTable(table.files.paths, target="y", columns=["x", "z"], max_memory=3000), held_out)
    X, y = rest.source.to_memory()
    stay = np.delete(np.arange(len(y)), held_out)
    model = BaggedRegressor(DecisionTreeRegressor(), scheme=Subbagging(20), n_bags=30, random_state=seed)
    moved = leave_one_out(model.fit(rest), X[:5])
    again = leave_one_out(model.fit(X.iloc[stay], y[stay]), X[:5])
    assert (moved.values == again.values).all()
    assert (moved.names.rows == again.names.rows).all()


def test_what_identifies_the_rest_is_the_source_and_who_is_held_out(table, held_out):
    rest = Remainder(table, held_out)
    assert rest.equals(Remainder(table, held_out[::-1]))
    assert not rest.equals(Remainder(table, held_out[1:]))
    assert not rest.equals(table)
    rest.targets()
    assert len(pickle.dumps(rest)) < 20_000
    assert pickle.loads(pickle.dumps(rest)).equals(rest)
    assert repr(rest).startswith(f"{rest.n_samples:,} rows of ParquetTable of")


def test_a_rest_of_a_rest_is_called_by_the_first_source(table):
    rest = Remainder(Remainder(table, [0, 2]), [1])
    assert rest.labels()[:3].tolist() == [1, 4, 5]


def test_rows_that_are_not_there_are_refused(table):
    with pytest.raises(ValueError, match="numbers from 0 to"):
        Remainder(table, [0, table.n_samples])
    with pytest.raises(TypeError, match="RowSource"):
        Remainder(np.zeros((3, 2)), [0])
    with pytest.raises(ValueError, match=r"Remainder.take' must be numbers from 0 to|numbers from 0 to"):
        Remainder(table, [0]).take([table.n_samples - 1])
