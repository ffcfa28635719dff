import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import parquet_files
from stablebag import BaggedClassifier, BaggedRegressor, Subbagging
from stablebag.cli.training import LargeTable, about_other_files, amount, is_large, refuse_in_memory_only
from stablebag.tables.text import TableError, read_file, table_of


def options_of(*given, **options):
    table = table_of(tuple(map(str, given)))
    return {"table": table, "target": "y", "seed": 0, "max_memory": 30_000, **options}


def read(*given, **options):
    return LargeTable.from_options(options_of(*given, **options))


@pytest.fixture(params=parquet_files.LAYOUTS, ids=lambda layout: layout.__name__)
def folder(request, tmp_path):
    request.param(tmp_path, parquet_files.rows())
    return tmp_path


@pytest.fixture
def parts(tmp_path):
    """Two files: in the second, other categories, numbers that are none, and missing values."""
    rng, n = np.random.default_rng(0), 300
    for k in range(2):
        price = [str(value) for value in rng.integers(10, 99, n)]
        price[7] = "cheap" if k else "33"
        town = rng.choice(["Ulm", "Bonn"] if k == 0 else ["Ulm", "Kiel", "Jena"], n)
        town[0] = "Bonn"
        whole = pa.array(rng.integers(0, 50, n), mask=(np.arange(n) % 9 == 4) & (k == 1))
        columns = {"price": price, "town": town, "whole": whole, "flag": pa.array(rng.random(n) < 0.5)}
        target = pa.array(rng.normal(size=n), mask=np.arange(n) % 50 == 49)
        pq.write_table(pa.table({**columns, "y": target}), tmp_path / f"{k}.parquet", row_group_size=40)
    return tmp_path


@pytest.mark.parametrize("target", ["y", "kind"])
def test_models_have_the_bits_of_a_fit_in_memory(folder, target, seed):
    names = pq.read_schema(next(folder.rglob("*.parquet"))).names
    data = read(folder, target=target, drop=tuple({"name", "place"} & set(names)), max_memory=100_000)
    regresses = target == "y"
    kind, tree = (BaggedRegressor, DecisionTreeRegressor) if regresses else (BaggedClassifier, DecisionTreeClassifier)
    assert data.task == ("regression" if target == "y" else "classification")
    model = kind(data.pipeline(tree(max_depth=3)), scheme=Subbagging(20), n_bags=12, random_state=seed)
    found = model.fit(data.X).bag_predictions(data.X_test)
    everything = data.X.take(np.arange(data.X.n_samples))
    again = model.fit(everything, data.y).bag_predictions(data.X_test)
    np.testing.assert_array_equal(found, again)
    assert len(data.y_test) == len(data.X_test) == 47 + (target == "kind")
    assert not set(data.X.labels()) & set(data.X_test.index)
    n_targets = sum(parquet_files.rows()[target].is_valid().to_pylist())
    assert len(data.X.labels()) + len(data.X_test) == n_targets == data.as_read.n_rows
    assert data.n_rows == parquet_files.N
    assert data.n_without_target == parquet_files.N - n_targets


def test_kinds_are_decided_from_the_rows_that_are_held_out_and_others_are_counted(parts):
    data = read(parts, max_memory=1000)
    kinds = {name: kind.name for name, kind in data.reading.columns.kinds.items()}
    assert kinds == {"price": "number", "town": "category", "whole": "number", "flag": "category"}
    assert data.as_read.n_sampled == 100  # no fewer, however little memory there is
    everything = data.X.take(np.arange(data.X.n_samples))
    assert everything["price"].isna().sum() == 1
    assert set(data.reading.categories["town"]) == set(everything["town"]) == {"Ulm", "Bonn", "Kiel", "Jena"}
    first, *others = data.said
    assert first.startswith("The table would take about 24 kB in memory, more than --max-memory (1 kB), so its rows")
    assert "was decided from 100 rows that were drawn first" in first
    assert others == ["1 of 'price' in the training rows cannot be read as numbers, and are taken as missing."]
    assert "from the 100 rows drawn first, none of which is trained on" in data.covered()


def test_categories_that_no_held_out_row_has_are_said(tmp_path):
    def write(town):
        pq.write_table(pa.table({"town": town, "y": np.arange(600.0)}), tmp_path / "t.parquet")
        return read(tmp_path / "t.parquet", max_memory=1000)

    towns = ["Ulm", "Bonn"] * 300
    towns[write(towns).X.labels()[50]] = "Kiel"  # a training row
    data = write(towns)
    assert "Kiel" not in set(data.X_test["town"])
    assert data.said[1] == (
        "In 'town', 1 training row has a category that no row has from which the columns were decided (Kiel); bags "
        "learn from those that they have."
    )


def test_the_seed_decides_who_is_held_out(parts):
    one, same, other = read(parts), read(parts), read(parts, seed=1)
    assert one.X_test.equals(same.X_test)
    assert set(one.X_test.index) != set(other.X_test.index)
    assert (np.diff(one.X_test.index) < 0).any()  # in random order
    assert len(read(parts, test_size=0.05).X_test) == 30


def test_whole_units_are_held_out(folder):
    data = read(folder, group="patient", drop=("name",))
    assert not set(data.groups) & set(data.groups_test)
    assert len(data.groups) == len(data.y)
    assert "patient" not in data.X.columns


def test_columns_that_are_not_learned_from_are_listed_too(tmp_path):
    columns = {"tags": [["a"]] * 60, "x": np.arange(60) % 7 / 2, "who": [f"p{k % 20}" for k in range(60)]}
    pq.write_table(pa.table({**columns, "y": np.arange(60.0)}), tmp_path / "t.parquet")
    found = read(tmp_path / "t.parquet", max_memory=100, group="who", drop=("tags",)).as_read
    assert [(one.name, one.kind) for one in found.columns] == [
        ("tags", "dropped"), ("x", "number"), ("who", "group"), ("y", "target"),
    ]  # fmt: skip
    assert (found.columns[0].n_values, found.columns[0].remark) == (None, "left out by --drop, and not read")
    assert 1 <= found.columns[2].n_values < 20
    assert "1 left out (dropped)" in found.conclusion()


def test_targets_are_decided_by_all_rows(tmp_path):
    def of(values, **options):
        pq.write_table(pa.table({"x": np.arange(300.0) % 7, "y": values}), tmp_path / "t.parquet")
        return read(tmp_path / "t.parquet", max_memory=100, **options)

    rare = np.zeros(300)
    rare[17] = 0.5
    assert of(rare).task == "regression"
    assert of([*rare.round()[:299].tolist(), 1.0]).task == "classification"
    assert set(of(np.arange(300) % 3).y) == {"0", "1", "2"}
    assert of(np.arange(300) % 3, task="regression").y.dtype == float
    assert set(of(np.arange(300) % 2 == 0).y) == {"True", "False"}
    texts = [str(k) for k in range(299)] + ["none"]
    numbers = of(texts, kinds=("y=number",))
    assert (numbers.task, numbers.n_without_target, numbers.as_read.n_rows) == ("regression", 1, 299)
    assert len(numbers.y) + len(numbers.y_test) == 299
    assert sorted([*numbers.y, *numbers.y_test]) == list(range(299))


@pytest.mark.parametrize(
    ("columns", "options", "said"),
    [
        ({}, {"target": "Y"}, "There is no column 'Y' in the table. Did you mean 'y'?"),
        ({}, {"target": "cost"}, "There is no column 'cost' in the table; it has 'x', 'y'."),
        ({}, {"drop": ("x",)}, "no column to learn from: all are left out"),
        ({"x": [1.0] * 30}, {}, "no column to learn from: all are constant"),
        ({"tags": [["a"]] * 30}, {}, "The column 'tags' of .* has lists or the like in it. Leave it out with --drop"),
        (
            {"y": [["a"]] * 30},
            {},
            "The target 'y' of .* has lists or the like in it. Predict a column of single values",
        ),
        ({"y": [b"a"] * 30}, {}, "The target 'y' has bytes in it. Write it as text."),
        ({"raw": [b"a"] * 30}, {}, "The column 'raw' has bytes in it. Leave it out with --drop."),
        ({"y": [None] * 30}, {}, "The target 'y' is missing in every row."),
        ({"y": [1.0] + [None] * 29}, {}, "The target 'y' is known in one row, and two are needed."),
        ({"y": ["a"] * 30}, {}, "The target 'y' has one class only"),
        ({"y": [np.inf] + [1.5] * 29}, {}, "The target 'y' has infinite values."),
        ({}, {"test_size": 1.5}, "--test-size is a share of the rows between 0 and 1. Got 1.5."),
        ({}, {"test_size": 0.99}, "30 rows are too few to hold some out"),
        ({"who": [None] + ["a", "b"] * 14 + ["c"]}, {"group": "who"}, "The group 'who' is missing in row 0"),
        ({"who": ["a", "b"] * 15}, {"group": "who"}, "2 units are too few to hold some out"),
    ],
)
def test_what_is_wrong_is_said_in_one_sentence(tmp_path, columns, options, said):
    table = {"x": np.arange(30) % 7 / 2, "y": np.arange(30.0), **columns}
    pq.write_table(pa.table(table), tmp_path / "t.parquet")
    with pytest.raises(ValueError, match=said):
        read(tmp_path / "t.parquet", max_memory=10, **options)


def test_columns_that_differ_between_files_are_refused_by_name(tmp_path):
    pq.write_table(pa.table({"x": [1.0, 2.0], "y": [1.0, 2.0]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"x": ["a", "b"], "y": [1.0, 2.0]}), tmp_path / "b.parquet")
    with pytest.raises(ValueError, match=r"Column 'x' has type .*b.parquet, and type double in .*a.parquet"):
        read(tmp_path)
    pq.write_table(pa.table({"z": [1.0], "y": [1.0]}), tmp_path / "b.parquet")
    with pytest.raises(ValueError, match=r"The column .x. is not in all files of .*b.parquet has none"):
        read(tmp_path)


def test_a_file_that_changes_between_passes_is_refused_by_name(parts):
    data = read(parts)
    pq.write_table(pq.read_table(parts / "1.parquet").slice(0, 200), parts / "1.parquet")
    with pytest.raises(ValueError, match=r"The file .*1.parquet has changed since the table was made"):
        data.X.take(np.array([0]))


def test_a_table_is_large_if_it_takes_more_than_there_is(parts, tmp_path):
    assert is_large(options_of(parts, max_memory=8 * 600 * 5 - 1))
    assert not is_large(options_of(parts, max_memory=8 * 600 * 5))
    (tmp_path / "t.csv").write_text("x,y\n1,2\n" * 1000)
    assert not is_large(options_of(tmp_path / "t.csv", max_memory=1))


@pytest.mark.parametrize("name", ["refits", "matched", "save"])
def test_options_that_need_all_rows_are_refused(name):
    refuse_in_memory_only({"refits": None, "matched": 0, "save": None})
    with pytest.raises(TableError, match=f"--{name} .* larger than --max-memory. Leave --{name} out"):
        refuse_in_memory_only({name: 3})


def test_ids_are_refused_with_the_way_out():
    with pytest.raises(
        TableError, match=r"--id holds the names of all rows in memory, .* Leave the column out with --"
    ):
        refuse_in_memory_only({"ids": ("name",)})


def test_a_csv_file_beyond_the_memory_is_remarked_on(parts, tmp_path):
    (tmp_path / "t.csv").write_text("x,y\n" + "1,2\n" * 1000)
    assert about_other_files(options_of(tmp_path / "t.csv", max_memory=4004)) == ()
    assert about_other_files(options_of(parts, max_memory=1)) == ()
    (said,) = about_other_files(options_of(tmp_path / "t.csv", max_memory=4003))
    assert said.startswith("t.csv is larger than --max-memory (4 kB)")
    assert "only Parquet files can be read in portions. docs/large_data.md has the lines" in said


def test_amounts_are_for_people():
    assert [amount(n) for n in (7, 1234, 2_560_000, 10**12)] == ["7 bytes", "1.23 kB", "2.56 MB", "1,000 GB"]


@pytest.mark.parametrize("kind", ["float32", "float64", "int64"])
def test_many_numbers_are_targets_as_they_are(tmp_path, kind):
    def of(n_values):
        values = (np.arange(140_000) % n_values).astype(kind)
        values[:70_000] = 1
        pq.write_table(pa.table({"x": np.arange(140_000) % 7 / 2, "y": values}), tmp_path / "t.parquet")
        return read(tmp_path / "t.parquet", max_memory=10**6)

    many = of(1_001)
    assert (many.task, many.y.dtype) == ("regression", float)
    assert set(many.y) == set(range(1_001))
    assert of(3).task == "classification"


@pytest.fixture
def years(tmp_path):
    """Forty rows in each of three folders that are called by a year."""
    rng = np.random.default_rng(0)
    for year in (2022, 2023, 2024):
        (tmp_path / f"year={year}").mkdir()
        rows = pa.table({"x": rng.normal(size=40), "y": rng.normal(size=40)})
        pq.write_table(rows, tmp_path / f"year={year}" / "part.parquet")
    return tmp_path


def test_folders_are_columns_of_large_and_of_small_tables(years):
    large = read(years, max_memory=1_000)
    small = read_file(table_of((str(years),))).frame
    assert list(small.columns) == ["x", "y", "year"]
    assert (small["year"].to_numpy() == np.repeat([2022, 2023, 2024], 40)).all()
    together = pd.concat([large.X.take(np.arange(large.X.n_samples)), large.X_test])
    assert list(together.columns) == ["x", "year"]
    pd.testing.assert_frame_equal(together.sort_index(), small[["x", "year"]], check_dtype=False)


@pytest.mark.parametrize("target", ["y", "x"])
def test_folders_can_be_units_or_the_target(years, target):
    assert read(years, target=target, group="year", max_memory=1_000).X.groups().nunique() == 2
    assert set(read(years, target="year", max_memory=1_000).y) == {"2022", "2023", "2024"}


def test_a_column_that_is_a_folder_too_or_that_a_file_lacks_is_refused_however_large_the_table(years):
    rows = pa.table({"x": [1.0] * 40, "y": [1.0] * 40})
    pq.write_table(rows, years / "year=2022" / "part.parquet")
    for added, said in (
        (rows.append_column("year", pa.array([1] * 40)), r"not clear what 'year' is .* in the name of a folder, too"),
        (rows.drop_columns("x"), "The column 'x' is not in all files of"),
    ):
        pq.write_table(added, years / "year=2022" / "more.parquet")
        with pytest.raises(TableError, match=said):
            read(years, max_memory=1_000)
        with pytest.raises(TableError, match=said):
            read_file(table_of((str(years),)))
    assert read(years, drop=("x",), target="year", max_memory=1_000).X.columns == ["y"]
    (years / "year=2022" / "more.parquet").unlink()
    pq.write_table(rows, years / "other.parquet")
    for reading in (lambda: read(years, max_memory=1_000), lambda: read_file(table_of((str(years),)))):
        with pytest.raises(TableError, match=r"not clear what 'year' is .* some files are in folders that are called"):
            reading()
