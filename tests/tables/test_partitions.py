import pickle

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest
from sklearn.tree import DecisionTreeRegressor

from stablebag import BaggedRegressor, ParquetTable, Subbagging
from stablebag.tables.files import Partitions


def write(folder, *names, **more):
    """A file of three rows in each of these folders."""
    for number, name in enumerate(names):
        (folder / name).mkdir(parents=True)
        rows = {"x": np.arange(3) + 10.0 * number, **more, "y": [1.0, None, 3.0 + number]}
        pq.write_table(pa.table(rows), folder / name / "part.parquet", row_group_size=2)


def test_folders_are_columns_of_whole_numbers_or_texts_as_for_pyarrow(tmp_path):
    write(tmp_path, "a=01/b=x/c=7", "a=-3/b=5/c=__HIVE_DEFAULT_PARTITION__", "a=12/b=n%2Fm/c=3000000000")
    table = ParquetTable(tmp_path, target="y")
    X, y = table.to_memory()
    theirs = pyarrow.dataset.dataset(tmp_path, partitioning="hive").to_table().to_pandas()
    theirs = theirs[theirs["y"].notna()].reset_index(drop=True)
    assert table.columns == ["x", "a", "b", "c"]
    pd.testing.assert_frame_equal(X, theirs[table.columns])
    np.testing.assert_array_equal(y, theirs["y"])
    assert X["a"].dtype == np.int32
    pd.testing.assert_frame_equal(pickle.loads(pickle.dumps(table)).take([0, 3]), X.iloc[[0, 3]])


def test_whole_numbers_are_floats_if_a_folder_has_none(tmp_path):
    write(tmp_path, "a=1", "a=__HIVE_DEFAULT_PARTITION__")
    for rows in ([0, 1], [2], [0, 3]):
        assert ParquetTable(tmp_path, target="y").take(rows)["a"].dtype == np.float64
    assert np.isnan(ParquetTable(tmp_path, target="y", as_frame=False).to_memory()[0][:, 1]).tolist() == [0, 0, 1, 1]


@pytest.mark.parametrize("as_frame", [False, True])
def test_a_fit_has_the_bits_of_a_fit_to_files_with_the_column(tmp_path, as_frame):
    rng = np.random.default_rng(0)
    for year in range(4):
        x, y = rng.normal(size=50), rng.normal(size=50) + year
        for kind, more in (("folders", {}), ("files", {"year": pa.array([year] * 50, pa.int32())})):
            folder = tmp_path / kind / (f"year={year}" if kind == "folders" else f"{year}")
            folder.mkdir(parents=True)
            pq.write_table(pa.table({"x": x, "y": y, **more}), folder / "0.parquet", row_group_size=7)
    model = BaggedRegressor(DecisionTreeRegressor(), scheme=Subbagging(20), n_bags=6, random_state=0)
    how = {"target": "y", "columns": ["year", "x"], "as_frame": as_frame}
    points = ParquetTable(tmp_path / "files", **how).to_memory()[0]
    expected = model.fit(ParquetTable(tmp_path / "files", **how)).bag_predictions(points)
    for memory in ("1GB", 5000):
        table = ParquetTable(tmp_path / "folders", **how, max_memory=memory)
        np.testing.assert_array_equal(model.fit(table).bag_predictions(points), expected)


def test_a_folder_can_be_the_only_feature_and_say_whose_rows_they_are(tmp_path):
    write(tmp_path, "site=b/kind=u", "site=a/kind=v")
    table = ParquetTable(tmp_path, target="y", columns=["site"], groups="kind")
    assert table.to_memory()[0]["site"].tolist() == ["a", "a", "b", "b"]
    assert table.groups().tolist() == ["v", "v", "u", "u"]


@pytest.mark.parametrize(
    ("names", "columns", "match"),
    [
        (["x=1"], None, "it is in .*part.parquet, and in the name of a folder, too"),
        (["a=1/a=2"], None, "two folders on the way to a file are called so"),
        (["a=1", "b"], None, "some files are in folders that are called so, and others are not"),
        (["a", "b=1"], None, "Got 'b': some files are in folders"),
        (["a=1", "b"], ["a"], "Got 'a': some files are in folders"),
    ],
)
def test_what_is_not_clear_is_refused_unless_it_is_left_out(tmp_path, names, columns, match):
    write(tmp_path, *names, z=[1, 2, 3])
    with pytest.raises(ValueError, match=f"The 'columns' parameter of ParquetTable must be .*{match}"):
        ParquetTable(tmp_path, target="y", columns=columns)
    assert ParquetTable(tmp_path, target="y", columns=["z"]).take([1])["z"].tolist() == [3]


def test_a_dataset_with_other_folders_is_refused(tmp_path):
    write(tmp_path, "2023", "2024")
    with pytest.raises(ValueError, match=r"folders are called column=value.*the column 'year' is neither"):
        ParquetTable(pyarrow.dataset.dataset(tmp_path, partitioning=["year"]), target="y")
    assert ParquetTable(pyarrow.dataset.dataset(tmp_path), target="y").columns == ["x"]


def test_a_path_without_such_folders_has_no_columns():
    assert Partitions(("/data/=3/part.parquet", "/data/a/b=1.parquet")).values == {}
