import pickle

import pyarrow as pa
import pyarrow.dataset
import pyarrow.fs
import pyarrow.parquet as pq
import pytest

from stablebag import ParquetTable
from stablebag.tables.files import Files


@pytest.fixture
def folder(tmp_path):
    for name in ("b.parquet", "a.parquet", "inner/c.parquet", "inner/deep/d.pq", "_tmp/e.parquet", ".f.parquet"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table({"x": [1, 2], "y": [1.0, 2.0]}), tmp_path / name)
    (tmp_path / "readme.txt").write_text("no table")
    return tmp_path


def names(files, folder):
    return [path.removeprefix(f"{folder}/") for path in files.paths]


def test_a_folder_has_the_parquet_files_below_it_in_order(folder):
    expected = ["a.parquet", "b.parquet", "inner/c.parquet", "inner/deep/d.pq"]
    assert names(Files.of(folder), folder) == expected
    assert names(Files.of(folder.as_uri()), folder) == expected
    assert Files.of(folder.as_uri()).url == "file:///"


@pytest.mark.parametrize("of", [str, lambda path: f"file://{path}"], ids=["path", "url"])
def test_patterns_are_those_of_paths(folder, of):
    assert names(Files.of(of(f"{folder}/*.parquet")), folder) == ["a.parquet", "b.parquet"]
    assert names(Files.of(of(f"{folder}/a.parquet")), folder) == ["a.parquet"]
    assert names(Files.of(of(f"{folder}/inner/*/*.pq")), folder) == ["inner/deep/d.pq"]
    found = names(Files.of(of(f"{folder}/inner/**/*.p*")), folder)
    assert found == ["inner/c.parquet", "inner/deep/d.pq"]


def test_the_order_of_a_list_does_not_matter(folder):
    one, other = ([folder / name for name in some] for some in (["a.parquet", "b.parquet"], ["b.parquet", "a.parquet"]))
    assert Files.of(one) == Files.of(other)
    with pytest.raises(ValueError, match="each file once"):
        Files.of([*one, folder])


@pytest.mark.parametrize(
    ("source", "match"),
    [
        ("nowhere/*.parquet", "no file is there"),
        ("nowhere.parquet", "no file is there"),
        ([], "no file is there"),
        (3, "must be a path, a pattern"),
        (b"a.parquet", "must be a path, a pattern"),
        ("unheard-of://place/a.parquet", "Is it a URL that pyarrow.fs understands?"),
    ],
)
def test_what_names_no_files_is_refused(source, match):
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
def test_a_url_with_credentials_is_refused_without_repeating_them(url):
    with pytest.raises(ValueError, match="a URL without credentials") as error:
        Files.of([url])
    assert "SECRET" not in str(error.value)
    assert "SECRET" not in repr(error.value.__cause__)


def test_a_filesystem_of_ones_own_is_neither_pickled_nor_shown(folder):
    own = pyarrow.fs.SubTreeFileSystem(str(folder), pyarrow.fs.LocalFileSystem())
    table = ParquetTable(pyarrow.dataset.dataset("inner", filesystem=own, format="parquet"), target="y")
    assert table.n_samples == 4
    sent = pickle.dumps(table)
    assert str(folder).encode() not in sent
    assert "FileSystem" not in repr(table.files)
    with pytest.raises(ValueError, match="a filesystem of its own, which is not pickled"):
        pickle.loads(sent).to_memory()


def test_a_url_is_opened_again_after_a_journey(folder):
    table = ParquetTable(folder.as_uri(), target="y")
    assert pickle.loads(pickle.dumps(table)).to_memory()[0]["x"].tolist() == [1, 2] * 4


def test_other_datasets_are_refused(folder):
    (folder / "t.csv").write_text("x,y\n1,2\n")
    for other in (
        pyarrow.dataset.dataset(pa.table({"x": [1]})),
        pyarrow.dataset.dataset(folder / "t.csv", format="csv"),
    ):
        with pytest.raises(TypeError, match="a pyarrow Dataset of Parquet files"):
            Files.of(other)
