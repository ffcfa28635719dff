"""A source without some of its rows."""

import pickle

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.tree import DecisionTreeRegressor

import parquet_files
from stablebag import BaggedRegressor, ParquetTable, Subbagging, leave_one_out
from stablebag.models import RowSource
from stablebag.tables.columns import Columns, Kind
from stablebag.tables.subsets import Remainder, TypedRows, read_rows

# ------------------------------------------------------------------------------------------------------------ remainder


@pytest.fixture(params=parquet_files.LAYOUTS, ids=lambda layout: layout.__name__)
def table(request, tmp_path):
    request.param(tmp_path, parquet_files.rows())
    columns = ["x", "z", "whole", "number", "flag", "town", "level", "day"]
    return ParquetTable(tmp_path, target="y", columns=columns, groups="patient", max_memory=20_000)


@pytest.fixture
def held_out(table):
    return np.concatenate([[0, 1, 2], np.arange(5, table.n_samples, 6), [table.n_samples - 1]])


def test_remainder_has_the_other_rows_in_order(table, held_out):
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
def test_blocks_and_parts_of_a_remainder_have_the_given_size(table, held_out, n_rows):
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


def test_fit_to_a_remainder_has_the_bits_of_a_fit_in_memory(table, held_out, seed):
    rest = Remainder(ParquetTable(table.files.paths, target="y", columns=["x", "z"], max_memory=3000), held_out)
    X, y = rest.source.to_memory()
    stay = np.delete(np.arange(len(y)), held_out)
    model = BaggedRegressor(DecisionTreeRegressor(), scheme=Subbagging(20), n_bags=30, random_state=seed)
    moved = leave_one_out(model.fit(rest), X[:5])
    again = leave_one_out(model.fit(X.iloc[stay], y[stay]), X[:5])
    assert (moved.values == again.values).all()
    assert (moved.names.rows == again.names.rows).all()


def test_remainders_are_equal_if_source_and_held_out_rows_are(table, held_out):
    rest = Remainder(table, held_out)
    assert rest.equals(Remainder(table, held_out[::-1]))
    assert not rest.equals(Remainder(table, held_out[1:]))
    assert not rest.equals(table)
    rest.targets()
    assert len(pickle.dumps(rest)) < 20_000
    assert pickle.loads(pickle.dumps(rest)).equals(rest)
    assert repr(rest).startswith(f"{rest.n_samples:,} rows of ParquetTable of")


def test_remainder_of_a_remainder_has_the_labels_of_the_first_source(table):
    rest = Remainder(Remainder(table, [0, 2]), [1])
    assert rest.labels()[:3].tolist() == [1, 4, 5]


def test_row_numbers_out_of_range_raise_an_error(table):
    with pytest.raises(ValueError, match="numbers from 0 to"):
        Remainder(table, [0, table.n_samples])
    with pytest.raises(TypeError, match="RowSource"):
        Remainder(np.zeros((3, 2)), [0])
    with pytest.raises(ValueError, match=r"Remainder.take' must be numbers from 0 to|numbers from 0 to"):
        Remainder(table, [0]).take([table.n_samples - 1])


# ----------------------------------------------------------------------------------------------------------- typed rows


KINDS = {
    "x": Kind("number", "."), "number": Kind("number", "."), "flag": Kind("category"), "town": Kind("category"),
    "level": Kind("category"), "day": Kind("date"),
}  # fmt: skip


@pytest.fixture(params=parquet_files.LAYOUTS, ids=lambda layout: layout.__name__)
def rows(request, tmp_path):
    request.param(tmp_path, parquet_files.rows())
    table = ParquetTable(tmp_path, "y", columns=list(KINDS), max_memory=10_000)
    return TypedRows(table, np.array([0, 5, 100]), Columns(KINDS), np.arange(table.n_samples) / 2, ("flag",))


def test_types_do_not_depend_on_which_rows_are_taken(rows):
    whole = rows.take(np.arange(rows.n_samples))
    assert list(whole.columns) == rows.columns == list(KINDS)
    assert set(whole["flag"].dropna()) == {"True", "False"}
    assert set(whole["town"].dropna()) == {"Ulm", "Bonn", "Kiel", "Jena"}
    for some in (np.arange(3), np.array([7, 8, 60]), np.arange(50, 90)):
        taken = rows.take(some)
        assert (taken.dtypes == whole.dtypes).all()
        pd.testing.assert_frame_equal(taken, whole.iloc[some])
    pd.testing.assert_frame_equal(pd.concat(rows.blocks(17)), whole)
    parts = [frame for part in range(len(rows.part_sizes)) for frame in rows.read(part, 9)]
    pd.testing.assert_frame_equal(pd.concat(parts), whole)


def test_targets_and_labels_skip_held_out_rows(rows):
    every = np.arange(rows.source.n_samples)
    stay = np.delete(every, [0, 5, 100])
    assert rows.targets().tolist() == (stay / 2).tolist()
    target = parquet_files.rows()["y"].is_null().to_numpy(zero_copy_only=False)
    assert rows.labels().tolist() == np.flatnonzero(~target)[stay].tolist()  # places in the files
    assert rows.shape == (len(stay), 6)
    assert rows.groups() is None
    other = TypedRows(rows.source, np.array([0, 5]), rows.reader, rows.targets(), ())
    assert not rows.equals(other)


def test_each_row_is_parsed_independently():
    frame = pd.DataFrame({
        "price": ["1", "2", "three", None], "code": [1.0, 2.5, np.nan, 3.0], "day": ["2024-01-02", "x", None, "2024"]
    })  # fmt: skip
    columns = Columns({"price": Kind("number", "."), "code": Kind("category"), "day": Kind("date", "%Y-%m-%d")})
    whole = read_rows(frame, columns)
    assert whole["price"].dtype == whole["price"].iloc[:2].dtype == float
    assert whole["price"].isna().tolist() == [False, False, True, True]
    assert whole["code"].dropna().tolist() == ["1", "2.5", "3"]
    assert str(whole["day"].dtype) == "datetime64[us]"
    assert whole["day"].isna().tolist() == [False, True, True, True]
    for row in range(4):
        one = read_rows(frame.iloc[[row]], columns)
        pd.testing.assert_frame_equal(one, whole.iloc[[row]])


def test_rows_without_any_valid_value_are_missing(tmp_path):
    pq.write_table(pa.table({"price": ["1", "2", "a", "b"], "y": [0.0, 1.0, 2.0, 3.0]}), tmp_path / "t.parquet")
    table = ParquetTable(tmp_path / "t.parquet", "y")
    rows = TypedRows(table, np.array([0]), Columns({"price": Kind("number", ".")}), table.targets(), ())
    assert rows.take(np.array([1, 2]))["price"].isna().all()
