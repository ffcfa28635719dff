"""Files of a table: paths, folder columns, types of columns, and metadata."""

import pickle

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset
import pyarrow.fs
import pyarrow.parquet as pq
import pytest
from sklearn.tree import DecisionTreeRegressor

from stablebag import BaggedRegressor, ParquetTable, Subbagging
from stablebag.tables.files import ColumnType, Files, Footer, Partitions, column_types, matrix_type
from stablebag.tables.text import (
    Parts,
    TableError,
    footers,
    is_parquet,
    name_of,
    paths_of,
    size_in_memory,
    table_of,
)

# ---------------------------------------------------------------------------------------------------------------- files


@pytest.fixture
def nested_folder(tmp_path):
    for name in ("b.parquet", "a.parquet", "inner/c.parquet", "inner/deep/d.pq", "_tmp/e.parquet", ".f.parquet"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table({"x": [1, 2], "y": [1.0, 2.0]}), tmp_path / name)
    (tmp_path / "readme.txt").write_text("no table")
    return tmp_path


def names(files, nested_folder):
    return [path.removeprefix(f"{nested_folder}/") for path in files.paths]


def test_folder_means_all_parquet_files_in_it_and_its_subfolders(nested_folder):
    expected = ["a.parquet", "b.parquet", "inner/c.parquet", "inner/deep/d.pq"]
    assert names(Files.of(nested_folder), nested_folder) == expected
    assert names(Files.of(nested_folder.as_uri()), nested_folder) == expected
    assert Files.of(nested_folder.as_uri()).url == "file:///"


@pytest.mark.parametrize("of", [str, lambda path: f"file://{path}"], ids=["path", "url"])
def test_patterns_match_paths_and_urls_alike(nested_folder, of):
    assert names(Files.of(of(f"{nested_folder}/*.parquet")), nested_folder) == ["a.parquet", "b.parquet"]
    assert names(Files.of(of(f"{nested_folder}/a.parquet")), nested_folder) == ["a.parquet"]
    assert names(Files.of(of(f"{nested_folder}/inner/*/*.pq")), nested_folder) == ["inner/deep/d.pq"]
    found = names(Files.of(of(f"{nested_folder}/inner/**/*.p*")), nested_folder)
    assert found == ["inner/c.parquet", "inner/deep/d.pq"]


def test_order_of_a_list_of_files_does_not_matter(nested_folder):
    one, other = (
        [nested_folder / name for name in some] for some in (["a.parquet", "b.parquet"], ["b.parquet", "a.parquet"])
    )
    assert Files.of(one) == Files.of(other)
    with pytest.raises(ValueError, match="each file once"):
        Files.of([*one, nested_folder])


@pytest.mark.parametrize(
    ("source", "match"),
    [
        ("nowhere/*.parquet", "there is no such file"),
        ("nowhere.parquet", "there is no such file"),
        ([], "there is no such file"),
        (3, "must be a path, a pattern"),
        (b"a.parquet", "must be a path, a pattern"),
        ("unheard-of://place/a.parquet", "pyarrow.fs cannot open it"),
    ],
)
def test_source_without_files_raises_an_error(source, match):
    with pytest.raises((TypeError, ValueError), match=match):
        Files.of(source)


@pytest.mark.parametrize(
    "url",
    [
        "s3://KEY:SECRET@bucket/data/*.parquet?region=eu-west-1",
        "s3://SECRET@bucket/data",
        "abfs://container/a.parquet?sig=SECRET",
        "s3://bucket/data?region=eu-west-1&secret_key=SECRET",
        "s3://bucket/data?endpoint_override=KEY:SECRET@host",
        "s3://KEY:SECRET/with-a-slash@bucket/data",
    ],
)
def test_url_with_credentials_raises_an_error_that_does_not_show_them(url):
    with pytest.raises(ValueError, match="a URL without credentials") as error:
        Files.of([url])
    assert "SECRET" not in str(error.value)
    assert "SECRET" not in repr(error.value.__cause__)


def test_user_defined_file_system_is_neither_pickled_nor_shown(nested_folder):
    own = pyarrow.fs.SubTreeFileSystem(str(nested_folder), pyarrow.fs.LocalFileSystem())
    table = ParquetTable(pyarrow.dataset.dataset("inner", filesystem=own, format="parquet"), target="y")
    assert table.n_samples == 4
    sent = pickle.dumps(table)
    assert str(nested_folder).encode() not in sent
    assert "FileSystem" not in repr(table.files)
    with pytest.raises(ValueError, match="a user-defined file system, which is not pickled"):
        pickle.loads(sent).to_memory()


def test_url_is_opened_again_after_unpickling(nested_folder):
    table = ParquetTable(nested_folder.as_uri(), target="y")
    assert pickle.loads(pickle.dumps(table)).to_memory()[0]["x"].tolist() == [1, 2] * 4


def test_dataset_that_is_not_parquet_raises_an_error(nested_folder):
    (nested_folder / "t.csv").write_text("x,y\n1,2\n")
    for other in (
        pyarrow.dataset.dataset(pa.table({"x": [1]})),
        pyarrow.dataset.dataset(nested_folder / "t.csv", format="csv"),
    ):
        with pytest.raises(TypeError, match="a pyarrow Dataset of Parquet files"):
            Files.of(other)


# ---------------------------------------------------------------------------------------------- tables in several files


@pytest.fixture
def folder(tmp_path):
    """Three files of 0, 1 and 2 rows, one in a subfolder, and files that engines leave behind."""
    for k, name in enumerate(["b.parquet", "a.parquet", "more/c.pq", "_logs/x.parquet", ".hidden.parquet"]):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        pq.write_table(pa.table({"x": [1.0] * k, "y": [2] * k}), tmp_path / name)
    (tmp_path / "notes.txt").write_text("x\n1\n")
    return tmp_path


def of(*given):
    return table_of(tuple(map(str, given)))


def test_one_file_is_a_path_even_if_it_does_not_exist(folder):
    assert of(folder / "a.parquet") == folder / "a.parquet"
    assert of("nowhere.csv").name == "nowhere.csv"
    strange = folder / "[1].parquet"
    (folder / "a.parquet").rename(strange)
    assert of(strange) == strange
    assert (name_of(strange), paths_of(strange)) == ("[1].parquet", (strange,))


def test_folders_patterns_and_lists_are_parts_in_the_order_of_paths(folder):
    names = [path.name for path in of(folder).paths]
    assert names == ["a.parquet", "b.parquet", "c.pq"]
    pattern = of(folder / "*.parquet")
    assert [path.name for path in pattern.paths] == ["a.parquet", "b.parquet"]
    assert of(folder / "b.parquet", folder / "a.parquet").paths == pattern.paths
    assert [name_of(table) for table in (of(folder), pattern)] == [folder.name, f"{folder.name}/*.parquet"]
    assert name_of(of(folder / "b.parquet", folder / "more")) == "2 files"
    assert str(pattern) == pattern.name


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["*.pqt"], r"No file matches the pattern .*\*.pqt. Check the folder"),
        (["more/../empty"], r"The folder .*empty has no Parquet files\."),
        (["a.parquet", "gone.parquet"], r"There is no file .*gone.parquet\."),
        (["a.parquet", "notes.txt"], r"must be Parquet, but notes.txt is not"),
        (["a.parquet", "*.parquet"], "The same file is given twice"),
    ],
)
def test_paths_that_are_not_a_table_raise_an_error(folder, given, said):
    (folder / "empty").mkdir()
    with pytest.raises(TableError, match=said):
        of(*(folder / name for name in given))


def test_size_in_memory_counts_all_values(folder):
    assert size_in_memory(of(folder)) == 8 * 2 * (0 + 1 + 2)
    assert size_in_memory(folder / "a.parquet") == 8 * 2
    assert is_parquet(of(folder))
    assert not is_parquet(folder / "notes.txt")
    assert not is_parquet(folder / "gone.parquet")


def test_damaged_file_is_named_in_the_error(folder):
    (folder / "b.parquet").write_bytes(b"PAR1 and nothing else")
    with pytest.raises(TableError, match=r"The file .*b.parquet cannot be read as Parquet: "):
        footers(Parts((folder / "a.parquet", folder / "b.parquet"), "two"))


# ----------------------------------------------------------------------------------------------------------- partitions


def write(folder, *names, **more):
    """A file of three rows in each of these folders."""
    for number, name in enumerate(names):
        (folder / name).mkdir(parents=True)
        rows = {"x": np.arange(3) + 10.0 * number, **more, "y": [1.0, None, 3.0 + number]}
        pq.write_table(pa.table(rows), folder / name / "part.parquet", row_group_size=2)


def test_folder_columns_have_the_values_and_types_of_pyarrow(tmp_path):
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


def test_folder_numbers_are_floats_if_one_is_missing(tmp_path):
    write(tmp_path, "a=1", "a=__HIVE_DEFAULT_PARTITION__")
    for rows in ([0, 1], [2], [0, 3]):
        assert ParquetTable(tmp_path, target="y").take(rows)["a"].dtype == np.float64
    assert np.isnan(ParquetTable(tmp_path, target="y", as_frame=False).to_memory()[0][:, 1]).tolist() == [0, 0, 1, 1]


@pytest.mark.parametrize("as_frame", [False, True])
def test_fit_with_folder_columns_has_the_bits_of_a_fit_with_file_columns(tmp_path, as_frame):
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


def test_folder_columns_can_be_the_only_feature_and_the_group(tmp_path):
    write(tmp_path, "site=b/kind=u", "site=a/kind=v")
    table = ParquetTable(tmp_path, target="y", columns=["site"], groups="kind")
    assert table.to_memory()[0]["site"].tolist() == ["a", "a", "b", "b"]
    assert table.groups().tolist() == ["v", "v", "u", "u"]


@pytest.mark.parametrize(
    ("names", "columns", "match"),
    [
        (["x=1"], None, "it is a column of .*part.parquet, and also the name of a folder"),
        (["a=1/a=2"], None, "two folders on the path to a file have this name"),
        (["a=1", "b"], None, "some files are in folders with this name, and others are not"),
        (["a", "b=1"], None, "Got 'b': some files are in folders"),
        (["a=1", "b"], ["a"], "Got 'a': some files are in folders"),
    ],
)
def test_ambiguous_folder_column_raises_an_error_unless_it_is_left_out(tmp_path, names, columns, match):
    write(tmp_path, *names, z=[1, 2, 3])
    with pytest.raises(ValueError, match=f"The 'columns' parameter of ParquetTable must be .*{match}"):
        ParquetTable(tmp_path, target="y", columns=columns)
    assert ParquetTable(tmp_path, target="y", columns=["z"]).take([1])["z"].tolist() == [3]


def test_dataset_with_other_folder_names_raises_an_error(tmp_path):
    write(tmp_path, "2023", "2024")
    with pytest.raises(ValueError, match=r"folders are named column=value.*the column 'year' is neither"):
        ParquetTable(pyarrow.dataset.dataset(tmp_path, partitioning=["year"]), target="y")
    assert ParquetTable(pyarrow.dataset.dataset(tmp_path), target="y").columns == ["x"]


def test_path_without_named_folders_has_no_folder_columns():
    assert Partitions(("/data/=3/part.parquet", "/data/a/b=1.parquet")).values == {}


# ----------------------------------------------------------------------------------------------------- types of columns


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
def test_type_of_numbers_depends_only_on_whether_any_is_missing(name):
    arrow, full, with_gaps = TYPES[name]
    schema = pa.schema([("c", arrow)])
    for nulls, dtype in (([0, 0], full), ([0, 1], with_gaps)):
        (kind,) = column_types(["c"], [schema, schema], [{"c": count} for count in nulls], ("a", "b"))
        assert (kind.form, kind.dtype) == ("number", dtype)
    assert kind.with_nulls().dtype == with_gaps


def test_sizes_of_offsets_and_codes_do_not_matter():
    one = pa.schema([("t", pa.string()), ("c", pa.dictionary(pa.int8(), pa.string()))])
    other = pa.schema([("t", pa.large_string()), ("c", pa.dictionary(pa.int32(), pa.large_string()))])
    kinds = column_types(["t", "c"], [one, other], [{"t": 0, "c": 0}] * 2, ("a", "b"))
    assert [kind.form for kind in kinds] == ["other", "category"]


def test_categories_are_sorted_in_any_order_of_dictionaries():
    kind = ColumnType("c", "category", arrow=pa.large_string())
    some = [("a", pa.array(["z", "b"])), ("b", pa.array(["c", None, "b"]))]
    for dictionaries in (some, some[::-1]):
        assert kind.with_categories(dictionaries).categories.to_pylist() == ["b", "c", "z"]
    assert kind.with_categories([]).categories.to_pylist() == []


def test_categories_of_floats_raise_an_error():
    schema = pa.schema([("c", pa.dictionary(pa.int8(), pa.float64()))])
    with pytest.raises(ValueError, match=r"columns whose categories are texts or whole numbers. Got 'c'"):
        column_types(["c"], [schema], [{"c": 0}], ("a",))


def test_two_columns_of_one_name_raise_an_error():
    schema = pa.schema([("c", pa.int64()), ("c", pa.int64())])
    with pytest.raises(ValueError, match="a has two columns of this name"):
        column_types(["c"], [schema], [{"c": 0}], ("a",))


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
def test_matrix_has_the_smallest_exact_type(dtypes, expected):
    assert matrix_type([ColumnType(str(k), "number", dtype) for k, dtype in enumerate(dtypes)]) == np.dtype(expected)


def test_bytes_per_row_of_numbers_and_categories():
    assert ColumnType("c", "number", "int16").bytes_per_row == 2
    assert ColumnType("c", "category", arrow=pa.large_string()).bytes_per_row >= pd.Categorical(["a"]).codes.itemsize


# -------------------------------------------------------------------------------------------------------------- footers


def footer(folder, table, **how):
    pq.write_table(pa.table(table), folder / "a.parquet", **how)
    return Footer.of(Files.of(folder), 0)


def test_missing_values_are_counted_if_the_type_depends_on_them(tmp_path):
    table = {
        "s": [{"x": 1}] * 4,
        "a": [1, None, 3, None],
        "b": [True] * 4,
        "f": [None, 1.0, 2.0, 3.0],
        "n": pa.nulls(4),
    }
    found = footer(tmp_path, table, row_group_size=1)
    assert found.n_rows == 4
    assert found.nulls(["a", "b", "f", "n"]) == {"a": 2, "b": 0, "f": 0, "n": 4}


def test_number_of_missing_values_is_none_if_the_file_lacks_it(tmp_path):
    assert footer(tmp_path, {"a": [1, None], "f": [1.0, None]}, write_statistics=False).nulls(["a", "f"]) == {
        "a": None,
        "f": 0,
    }
    assert footer(tmp_path, {"a": pa.array([], pa.int64())}, write_statistics=False).nulls(["a"]) == {"a": 0}


def test_largest_row_group_counts_only_the_given_columns(tmp_path):
    found = footer(tmp_path, {"a": range(1000), "b": range(1000)}, row_group_size=600, use_dictionary=False)
    assert 600 * 8 <= found.largest_group(["a"]) < 600 * 9
    assert found.largest_group(["a", "b"]) == 2 * found.largest_group(["a"])


def test_bytes_of_texts_are_those_in_the_file(tmp_path):
    texts = [f"{k:0100d}" for k in range(200)]
    found = footer(tmp_path, {"t": texts, "x": range(200)})
    assert 20_000 < found.text_bytes([ColumnType("t", "other"), ColumnType("x", "number")]) < 30_000
    assert found.text_bytes([ColumnType("x", "number")]) == 0


@pytest.mark.parametrize("length", [10, 100, 1000])
@pytest.mark.parametrize("size", [1, 7, 200])
def test_headers_of_small_row_groups_do_not_count_as_texts(tmp_path, length, size):
    texts = [f"{k:0{length}d}" for k in range(200)]
    found = footer(tmp_path, {"t": texts}, row_group_size=size)
    assert found.text_bytes([ColumnType("t", "other")]) <= 200 * (length + 4) + 1000
    assert Footer.sampled_bytes(Files.of(tmp_path), 0, ["t"])[0] >= length
