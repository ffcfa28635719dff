import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import parquet_files
from stablebag import ParquetTable
from stablebag.tables.columns import Columns, Kind, TypedRows, typed

KINDS = {
    "x": Kind("number", "."), "number": Kind("number", "."), "flag": Kind("category"), "town": Kind("category"),
    "level": Kind("category"), "day": Kind("date"),
}  # fmt: skip


@pytest.fixture(params=parquet_files.LAYOUTS, ids=lambda layout: layout.__name__)
def rows(request, tmp_path):
    request.param(tmp_path, parquet_files.rows())
    table = ParquetTable(tmp_path, "y", columns=list(KINDS), max_memory=10_000)
    return TypedRows(table, np.array([0, 5, 100]), Columns(KINDS), np.arange(table.n_samples) / 2, ("flag",))


def test_rows_have_the_same_types_whichever_are_taken(rows):
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


def test_targets_and_names_leave_out_those_that_are_held_out(rows):
    every = np.arange(rows.table.n_samples)
    stay = np.delete(every, [0, 5, 100])
    assert rows.targets().tolist() == (stay / 2).tolist()
    target = parquet_files.rows()["y"].is_null().to_numpy(zero_copy_only=False)
    assert rows.labels().tolist() == np.flatnonzero(~target)[stay].tolist()  # places in the files
    assert rows.shape == (len(stay), 6)
    assert rows.groups() is None
    other = TypedRows(rows.table, np.array([0, 5]), rows.reader, rows.targets(), ())
    assert not rows.equals(other)


def test_each_row_is_read_by_itself():
    frame = pd.DataFrame({
        "price": ["1", "2", "three", None], "code": [1.0, 2.5, np.nan, 3.0], "day": ["2024-01-02", "x", None, "2024"]
    })  # fmt: skip
    columns = Columns({"price": Kind("number", "."), "code": Kind("category"), "day": Kind("date", "%Y-%m-%d")})
    whole = typed(frame, columns)
    assert whole["price"].dtype == whole["price"].iloc[:2].dtype == float
    assert whole["price"].isna().tolist() == [False, False, True, True]
    assert whole["code"].dropna().tolist() == ["1", "2.5", "3"]
    assert str(whole["day"].dtype) == "datetime64[us]"
    assert whole["day"].isna().tolist() == [False, True, True, True]
    for row in range(4):
        one = typed(frame.iloc[[row]], columns)
        pd.testing.assert_frame_equal(one, whole.iloc[[row]])


def test_values_that_all_fail_in_some_rows_are_missing_and_no_error(tmp_path):
    pq.write_table(pa.table({"price": ["1", "2", "a", "b"], "y": [0.0, 1.0, 2.0, 3.0]}), tmp_path / "t.parquet")
    table = ParquetTable(tmp_path / "t.parquet", "y")
    rows = TypedRows(table, np.array([0]), Columns({"price": Kind("number", ".")}), table.targets(), ())
    assert rows.take(np.array([1, 2]))["price"].isna().all()
