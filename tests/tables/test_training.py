"""Training tables in memory and in their files, and new rows."""

import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import parquet_files
from stablebag import BaggedClassifier, BaggedRegressor, Subbagging
from stablebag.tables.columns import Columns, Kind
from stablebag.tables.text import TableError, read_file, table_of
from stablebag.tables.training import NewRows, Reading, format_bytes, is_larger_than, read_table

# ------------------------------------------------------------------------------------------------------------- new rows


def test_reading_survives_a_round_trip(office_file):
    table = read_table(office_file, "pressure", group="patient")
    reading = table.reading
    again = Reading.from_dict(reading.to_dict())
    assert again == reading
    pd.testing.assert_frame_equal(again.read_new(office_file).X, reading.read_new(office_file).X)
    np.testing.assert_array_equal(again.read_new(office_file).y, table.y)


def test_ids_are_written_once(tmp_path):
    path = tmp_path / "new.csv"
    path.write_text("visit,a,y\n007,1,2\n008,3,4\n")
    number = Kind("number", ".")
    reading = Reading(Columns({"a": number}), "y", number, "regression", ids=("visit",))
    new = reading.read_new(path)
    assert new.X.index.tolist() == ["007", "008"]
    assert new.with_results({"out": [5, 6]}, ["visit", "a"], "set").columns.tolist() == ["row", "visit", "a", "out"]
    assert new.with_results({"out": [5, 6]}, [], "set")["visit"].tolist() == ["007", "008"]


def test_index_of_a_table_is_written():
    frame = pd.DataFrame({"a": [1, 2]}, index=pd.Index(["x", "y"], name="key"))
    written = NewRows(frame, None, groups=pd.Series(["p", "q"], name="patient")).with_results(
        {"out": [3, 4]}, ["a"], "set"
    )
    assert written.to_dict("list") == {
        "row": [0, 1],
        "key": ["x", "y"],
        "patient": ["p", "q"],
        "a": [1, 2],
        "out": [3, 4],
    }


def test_columns_to_keep_are_given_with_commas_or_one_by_one():
    new = NewRows(pd.DataFrame({"a": [1], "b": [2], "c,d": [3]}), None)
    assert new.columns_to_write(("a, b", "c,d", "a")) == ["a", "b", "c,d"]
    assert new.columns_to_write(()) == list(new.frame.columns)
    with pytest.raises(TableError, match="There is no column 'e'"):
        new.columns_to_write(("a,e",))


def test_categories_unknown_to_the_training_table_get_a_note(tmp_path):
    path = tmp_path / "new.csv"
    path.write_text("town,y\nUlm,1\nOslo,2\nOslo,3\n,4\n")
    number, category = Kind("number", "."), Kind("category")
    reading = Reading(Columns({"town": category}), "y", number, "regression", categories={"town": ["Bonn", "Ulm"]})
    (told,) = reading.read_new(path).notes
    assert told.startswith("2 values of 'town' in new.csv")
    assert "Oslo" in told
    path.write_text("town,y\nUlm,1\nBonn,2\n")
    assert reading.read_new(path).notes == ()


# ------------------------------------------------------------------------------------------------------------ in memory


N = 40


@pytest.fixture
def office_file(tmp_path):
    """A file as an office writes it: semicolons, decimal commas, codes with zeros, Windows-1252."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "visit": [f"V{k}" for k in range(N)],
            "patient": [f"{k // 4:03d}" for k in range(N)],
            "dose": rng.normal(10, 2, N).round(1),
            "city": rng.choice(["Köln", "Düren"], N),
            "price": [f"{k}.000,50 €" for k in range(1, N + 1)],
            "same": 1,
            "pressure": rng.normal(120, 9, N).round(1),
        }
    )
    path = tmp_path / "clinic.csv"
    frame.to_csv(path, sep=";", decimal=",", index=False, encoding="cp1252")
    return path


def read_in_memory(path, target="pressure", **options):
    return read_table(path, target, **options)


def write(tmp_path, text, name="t.csv"):
    path = tmp_path / name
    path.write_text(text)
    return path


def test_messy_table_is_read_with_remarks(office_file):
    data = read_in_memory(office_file, group="patient", ids=("visit",))
    assert data.task == "regression"
    assert data.X.columns.tolist() == ["dose", "city", "price"]
    assert data.X.index.tolist()[:2] == ["V0", "V1"]
    assert data.X["price"].tolist()[:2] == [1000.5, 2000.5]
    assert data.groups.tolist()[:5] == ["000", "000", "000", "000", "001"]
    assert data.as_read.lines() == [
        "5 columns besides the target and the group: 2 numbers, 1 category; 2 not used (1 constant, 1 id).",
        "The file was read as Windows-1252 (Latin-1), because it is not UTF-8, with ';' between columns and with ',' "
        "for decimals.",
        "Not used, because it is constant: 'same'.",
    ]
    assert data.remarks == tuple(data.as_read.lines()[1:])
    assert data.guarantee_scope().startswith("No single group changes how the columns are parsed")


def test_columns_can_be_dropped_and_kinds_given(office_file):
    data = read_in_memory(office_file, drop=("city, price",), kinds={"patient": "number", "dose": "category"})
    assert data.reading.columns.named("number") == ["patient"]
    assert data.reading.columns.named("category") == ["dose"]
    assert [column.kind for column in data.as_read.columns].count("dropped") == 2
    for options in ({"drop": ("citi",)}, {"ids": ("Citi",)}, {"kinds": {"CITY": "text"}}, {"group": "Ciy"}):
        with pytest.raises(TableError, match=r"Did you mean 'city'\?"):
            read_in_memory(office_file, **options)
    with pytest.raises(TableError, match=r"Did you mean 'pressure'\?"):
        read_in_memory(office_file, "Pressure")


def test_new_rows_are_read_like_the_training_table(office_file, tmp_path):
    data = read_in_memory(office_file, group="patient", ids=("visit",))
    new = "price;dose;city;visit;patient;pressure\n1.234;7;Rom;A17;007;100,5\nabc;;Rom;A18;;99\n"
    found = data.read_new(write(tmp_path, new, "new.csv"))
    assert found.X.index.tolist() == ["A17", "A18"]
    assert found.X["price"].tolist()[0] == 1234.0  # and not 1.234: the training table has decimal commas
    assert found.X["dose"].tolist()[0] == 7
    assert found.y.tolist() == [100.5, 99.0]
    assert found.groups.tolist() == ["007", None]
    assert found.notes == (
        "1 value of 'price' in new.csv cannot be read as a number and counts as missing.",
        "2 values of 'city' in new.csv do not occur in the training table (Rom) and count as rare.",
    )
    assert data.read_new(write(tmp_path, "price;dose;city\n1;2;Rom\n", "new.csv")).y is None


def test_targets_of_new_rows_are_used_if_none_is_missing(office_file, tmp_path):
    data = read_in_memory(office_file)
    new = write(tmp_path, "price;dose;city;patient;pressure\n1;2;Rom;3;\n1;2;Rom;3;9,5\n", "new.csv")
    assert data.read_new(new).y is None
    assert data.read_new(new, needs_target=True).y.tolist() == [9.5]
    empty = write(tmp_path, "price;dose;city;patient;pressure\n1;2;Rom;3;\n", "new.csv")
    with pytest.raises(TableError, match=r"The target 'pressure' is missing in every row of .*new.csv"):
        data.read_new(empty, needs_target=True)


@pytest.mark.parametrize(("text", "words"), [
    ("y,a\n,1\n,2\n", "The target 'y' is missing in every row"),
    ("y,a\n1,1\n", "The target 'y' has a value in one row only. At least two are needed"),
    ("y,a\nu,1\nu,2\n", "has one class only, 'u'"),
    ("y,a\n1,1\n2\n", "has 1 field, but the header has 2"),
])  # fmt: skip
def test_tables_without_usable_targets_raise_an_error(tmp_path, text, words):
    with pytest.raises(TableError, match=words):
        read_in_memory(write(tmp_path, text), "y")


def test_rows_without_a_numeric_target_are_dropped_if_the_kind_is_number(tmp_path):
    rows = "".join(f"{k / 7},{k % 3}\n" for k in range(30))
    path = write(tmp_path, f"y,a\n{rows}n.d.,1\n,2\n")
    assert read_in_memory(path, "y").task == "classification"
    data = read_in_memory(path, "y", kinds={"y": "number"})
    assert (data.task, len(data.y), data.n_without_target, len(data.X)) == ("regression", 30, 2, 30)


def test_guarantee_scope_names_rows_that_decide_how_a_column_is_parsed(tmp_path):
    rows = "".join(f"{k / 7},{k}\n" for k in range(60))
    path = write(tmp_path, f"y,a\n{rows}3.5,n.d.\n")
    data = read_in_memory(path, "y")
    assert data.decisive == (60,)
    assert data.guarantee_scope() == (
        "Without row 60, a column would be parsed differently, so the guarantee does not cover it (1 of 61). Setting "
        "kinds, drop or task removes this dependence. Row 0 is the first row below the header."
    )
    assert data.guarantee_scope(data.X.index[:50]).startswith("No single row")  # it is held out
    assert "kinds={'a': 'number'}" in data.remarks[0]
    assert read_in_memory(path, "y", kinds={"a": "number"}).decisive == ()


def test_leaking_column_gets_a_warning(tmp_path):
    rows = "".join(f"{'yes' if k % 2 else 'no'},{k % 2},{k * 7 % 11}\n" for k in range(30))
    data = read_in_memory(write(tmp_path, f"ill,code,a\n{rows}"), "ill")
    assert data.as_read.warned == (
        "code alone predicts ill almost perfectly (code > 0: accuracy 1.000 on 10 held-out rows). Is it known at "
        "the time of prediction? If not, it leaks the target: add drop=['code'].",
    )
    assert data.as_read.columns[1].remark == "predicts the target alone"


def test_table_of_many_columns_has_short_remarks(tmp_path):
    names = ",".join(f"x{k}" for k in range(300))
    rows = "".join(",".join(str((j * k) % 7) for k in range(300)) + "\n" for j in range(15))
    data = read_in_memory(write(tmp_path, f"{names}\n{rows}"), "x1")
    assert len("".join(data.as_read.lines())) < 1000
    assert len(data.as_read.columns) == 300


def test_none_is_a_class_if_the_kind_of_the_target_is_category(tmp_path):
    """Without the kind, the word counts as missing, as for pandas, and the error says how to make it a class."""
    table = tmp_path / "table.csv"
    words = ["None", "nan", "", "mild", "NA"] * 4
    table.write_text("x,severity\n" + "".join(f"{place},{word}\n" for place, word in enumerate(words)))
    with pytest.raises(TableError, match=r"one class only, 'mild'.* kinds={'severity': 'category'} makes them classes"):
        read_table(table, "severity")
    data = read_table(table, "severity", kinds={"severity": "category"})
    assert set(data.y) == {"None", "nan", "mild", "NA"}
    assert data.n_without_target == 4
    again = Reading.from_dict(json.loads(json.dumps(data.reading.to_dict())))
    new = tmp_path / "new.csv"
    new.write_text("x,severity\n1,None\n2,mild\n")
    for reading in (data.reading, again):  # other rows are read in the same way, also by a model from a file
        assert reading.read_new(new).y.tolist() == ["None", "mild"]


# ------------------------------------------------------------------------------------------------------------- in files


def read(path, target="y", max_memory=22_000, **options):
    return read_table(path, target, max_memory=max_memory, **options)


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
def test_model_from_files_has_the_bits_of_a_fit_in_memory(folder, target, seed):
    names = pq.read_schema(next(folder.rglob("*.parquet"))).names
    data = read(folder, target=target, drop=tuple({"name", "place"} & set(names)))
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


def test_kinds_of_a_large_table_are_inferred_from_held_out_rows(parts):
    data = read(parts, max_memory=1000)
    kinds = {name: kind.name for name, kind in data.reading.columns.kinds.items()}
    assert kinds == {"price": "number", "town": "category", "whole": "number", "flag": "category"}
    assert data.as_read.n_sampled == 100  # no fewer, however little memory there is
    everything = data.X.take(np.arange(data.X.n_samples))
    assert everything["price"].isna().sum() == 1
    assert set(data.reading.categories["town"]) == set(everything["town"]) == {"Ulm", "Bonn", "Kiel", "Jena"}
    first, *others = data.notes
    assert first.startswith("The table would take about 24 kB in memory, more than max_memory (1 kB), so its rows")
    assert "inferred from 100 rows that were drawn first" in first
    assert others == ["1 value of 'price' in the training rows cannot be read as a number and counts as missing."]
    assert "from 100 rows that were drawn first and are not used for training" in data.guarantee_scope()


def test_categories_that_no_held_out_row_has_get_a_note(tmp_path):
    def write(town):
        pq.write_table(pa.table({"town": town, "y": np.arange(600.0)}), tmp_path / "t.parquet")
        return read(tmp_path / "t.parquet", max_memory=1000)

    towns = ["Ulm", "Bonn"] * 300
    towns[write(towns).X.labels()[50]] = "Kiel"  # a training row
    data = write(towns)
    assert "Kiel" not in set(data.X_test["town"])
    assert data.notes[1] == (
        "In 'town', 1 training row has a category that did not occur in the rows from which the kinds were inferred "
        "(Kiel). Each bag uses the categories of its own rows."
    )


def test_seed_decides_which_rows_are_held_out(parts):
    one, same, other = read(parts), read(parts), read(parts, random_state=1)
    assert one.X_test.equals(same.X_test)
    assert set(one.X_test.index) != set(other.X_test.index)
    assert (np.diff(one.X_test.index) < 0).any()  # in random order
    assert len(read(parts, test_size=0.05).X_test) == 30


def test_whole_groups_are_held_out(folder):
    data = read(folder, group="patient", drop=("name",))
    assert not set(data.groups) & set(data.groups_test)
    assert len(data.groups) == len(data.y)
    assert "patient" not in data.X.columns


def test_unused_columns_are_described(tmp_path):
    columns = {"tags": [["a"]] * 60, "x": np.arange(60) % 7 / 2, "who": [f"p{k % 20}" for k in range(60)]}
    pq.write_table(pa.table({**columns, "y": np.arange(60.0)}), tmp_path / "t.parquet")
    found = read(tmp_path / "t.parquet", max_memory=100, group="who", drop=("tags",)).as_read
    assert [(one.name, one.kind) for one in found.columns] == [
        ("tags", "dropped"), ("x", "number"), ("who", "group"), ("y", "target"),
    ]  # fmt: skip
    assert (found.columns[0].n_values, found.columns[0].remark) == (None, "left out by drop, not read")
    assert 1 <= found.columns[2].n_values < 20
    assert "1 not used (dropped)" in found.conclusion()


def test_task_of_a_large_table_follows_from_the_targets_of_all_rows(tmp_path):
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
    numbers = of(texts, kinds={"y": "number"})
    assert (numbers.task, numbers.n_without_target, numbers.as_read.n_rows) == ("regression", 1, 299)
    assert len(numbers.y) + len(numbers.y_test) == 299
    assert sorted([*numbers.y, *numbers.y_test]) == list(range(299))


def large(tmp_path, y, **columns):
    """A table in its file, with two rows for each group if there are groups."""
    pq.write_table(pa.table({"x": np.arange(300.0) % 7, "y": y, **columns}), tmp_path / "t.parquet")
    return read(tmp_path / "t.parquet", max_memory=100, group="g" if columns else None)


def test_training_row_that_alone_makes_a_large_target_numeric_is_named(tmp_path):
    y = np.arange(300) % 10
    data = large(tmp_path, y)
    free, held = data.X.labels()[0], data.X_test.index[0]
    assert data.guarantee_scope().endswith("so the guarantee covers parsing.")
    y[free] = 10  # with 11 different whole numbers, the target is a number
    data = large(tmp_path, y)
    assert data.task == "regression"
    assert data.guarantee_scope().startswith(f"Without row {free}, a column would be parsed differently")
    assert "(1 of 240)" in data.guarantee_scope()
    y[free], y[held] = 0, 10
    assert large(tmp_path, y).decisive == ()  # it is not trained on
    y[free] = 10
    assert large(tmp_path, y).decisive == ()  # two rows have this value


def test_training_group_that_alone_makes_a_large_target_numeric_is_named(tmp_path):
    y, groups = np.arange(300) % 10, np.arange(300) // 2
    free = large(tmp_path, y, g=groups).groups.iloc[0]
    y[groups == free] = 10, 11  # without this group, 10 different whole numbers are left
    data = large(tmp_path, y, g=groups)
    assert data.decisive == (free,)
    assert data.guarantee_scope().startswith(f"Without group {free}, a column would be parsed differently")
    y[groups == free] = 10, 10
    assert large(tmp_path, y, g=groups).decisive == (free,)
    y[groups == free] = 10, 0
    y[groups == large(tmp_path, y, g=groups).groups.iloc[-1]] = 10
    assert large(tmp_path, y, g=groups).decisive == ()


@pytest.mark.parametrize(
    ("columns", "options", "said"),
    [
        ({}, {"target": "Y"}, "There is no column 'Y' in the table. Did you mean 'y'?"),
        ({}, {"target": "cost"}, "There is no column 'cost' in the table; it has 'x', 'y'."),
        ({}, {"drop": ("x",)}, "no column to learn from: all are constant, empty, IDs or left out"),
        ({"x": [1.0] * 30}, {}, "no column to learn from: all are constant"),
        (
            {"tags": [["a"]] * 30},
            {},
            "The column 'tags' of .* contains lists or other nested values. Leave it out with drop",
        ),
        (
            {"y": [["a"]] * 30},
            {},
            "The target 'y' of .* contains lists or other nested values. Choose a column of single values",
        ),
        ({"y": [b"a"] * 30}, {}, "The target 'y' of .* contains bytes. Write it as text."),
        ({"raw": [b"a"] * 30}, {}, "The column 'raw' of .* contains bytes. Leave it out with drop."),
        ({"y": [None] * 30}, {}, "The target 'y' is missing in every row."),
        ({"y": [1.0] + [None] * 29}, {}, "The target 'y' has a value in one row only. At least two are needed."),
        ({"y": ["a"] * 30}, {}, "The target 'y' has one class only"),
        ({"y": [np.inf] + [1.5] * 29}, {}, "The target 'y' has infinite values, or numbers above 1e308."),
        ({}, {"test_size": 1.5}, "test_size must be between 0 and 1, a share of the rows. Got 1.5."),
        ({}, {"test_size": 0.99}, "With test_size=0.99, fewer than 2 of the 30 rows are left for training"),
        ({"who": [None] + ["a", "b"] * 14 + ["c"]}, {"group": "who"}, "The group 'who' is missing in row 0"),
        ({"who": ["a", "b"] * 15}, {"group": "who"}, "The table has 2 groups, but at least 3 are needed"),
    ],
)
def test_unusable_large_tables_raise_an_error(tmp_path, columns, options, said):
    table = {"x": np.arange(30) % 7 / 2, "y": np.arange(30.0), **columns}
    pq.write_table(pa.table(table), tmp_path / "t.parquet")
    with pytest.raises(ValueError, match=said):
        read(tmp_path / "t.parquet", max_memory=10, **options)


def test_columns_that_differ_between_files_raise_an_error(tmp_path):
    pq.write_table(pa.table({"x": [1.0, 2.0], "y": [1.0, 2.0]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"x": ["a", "b"], "y": [1.0, 2.0]}), tmp_path / "b.parquet")
    with pytest.raises(ValueError, match=r"Column 'x' has type .*b.parquet, and type double in .*a.parquet"):
        read(tmp_path, max_memory=10)
    pq.write_table(pa.table({"z": [1.0], "y": [1.0]}), tmp_path / "b.parquet")
    with pytest.raises(ValueError, match=r"The column .x. is not in all files of .*b.parquet does not have it"):
        read(tmp_path, max_memory=10)


def test_file_that_changes_between_passes_is_named_in_the_error(parts):
    data = read(parts)
    pq.write_table(pq.read_table(parts / "1.parquet").slice(0, 200), parts / "1.parquet")
    with pytest.raises(ValueError, match=r"The file .*1.parquet has changed since the table was made"):
        data.X.take(np.array([0]))


def test_table_is_large_if_it_needs_more_than_max_memory(parts, tmp_path):
    assert is_larger_than(table_of(parts), 8 * 600 * 5 - 1)
    assert not is_larger_than(table_of(parts), 8 * 600 * 5)
    (tmp_path / "t.csv").write_text("x,y\n1,2\n" * 1000)
    assert not is_larger_than(tmp_path / "t.csv", 1)


def test_ids_of_a_large_table_raise_an_error(parts):
    with pytest.raises(TableError, match=r"ids cannot be used here, .* Leave the column out with dr"):
        read(parts, ids=("town",))


def test_csv_file_larger_than_max_memory_gets_a_note(tmp_path):
    (tmp_path / "t.csv").write_text("x,y\n" + "1,2\n1,3\n" * 500)
    assert read(tmp_path / "t.csv", max_memory=4004, task="regression", kinds={"x": "text"}).notes == ()
    (said,) = read(tmp_path / "t.csv", max_memory=4003, task="regression", kinds={"x": "text"}).notes
    assert said.startswith("t.csv is larger than max_memory (4 kB)")
    assert "only Parquet files can be read in portions. docs/large_data.md shows how" in said


def test_bytes_are_formatted_with_units():
    assert [format_bytes(n) for n in (7, 1234, 2_560_000, 10**12)] == ["7 bytes", "1.23 kB", "2.56 MB", "1,000 GB"]


@pytest.mark.parametrize("kind", ["float32", "float64", "int64"])
def test_targets_with_many_numbers_are_regression(tmp_path, kind):
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


def test_folder_columns_are_the_same_in_large_and_small_tables(years):
    large = read(years, max_memory=1_000)
    small = read_file(table_of((str(years),))).frame
    assert list(small.columns) == ["x", "y", "year"]
    assert (small["year"].to_numpy() == np.repeat([2022, 2023, 2024], 40)).all()
    together = pd.concat([large.X.take(np.arange(large.X.n_samples)), large.X_test])
    assert list(together.columns) == ["x", "year"]
    pd.testing.assert_frame_equal(together.sort_index(), small[["x", "year"]], check_dtype=False)


@pytest.mark.parametrize("target", ["y", "x"])
def test_folder_columns_can_be_group_or_target(years, target):
    assert read(years, target=target, group="year", max_memory=1_000).X.groups().nunique() == 2
    assert set(read(years, target="year", max_memory=1_000).y) == {"2022", "2023", "2024"}


def test_ambiguous_or_missing_columns_raise_an_error_for_any_size(years):
    rows = pa.table({"x": [1.0] * 40, "y": [1.0] * 40})
    pq.write_table(rows, years / "year=2022" / "part.parquet")
    for added, said in (
        (
            rows.append_column("year", pa.array([1] * 40)),
            r"The column 'year' of .* is ambiguous: .* also the name of a folder",
        ),
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
        with pytest.raises(
            TableError, match=r"The column 'year' of .* is ambiguous: some files are in folders with this name"
        ):
            reading()


def test_read_table_needs_neither_click_nor_rich():
    code = (
        "import sys; sys.modules['click'] = sys.modules['rich'] = None; "
        "from stablebag import ParquetTable; from stablebag.tables import read_table; import stablebag.tables.leakage"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.filterwarnings("error")
def test_number_too_large_for_a_float_counts_as_missing(tmp_path):
    rows = "".join(f"{10**400 if k == 3 else k},{k * 1.5}\n" for k in range(30))
    table = read_in_memory(write(tmp_path, f"a,y\n{rows}"), "y")
    assert table.X["a"].isna().tolist() == [k == 3 for k in range(30)]
    assert table.remarks == (
        "1 value of 'a' cannot be read as a number ('10000000000000000...') and counts as missing.",
    )
    with pytest.raises(TableError, match="The target 'a' has infinite values, or numbers above 1e308"):
        read_in_memory(write(tmp_path, f"a,y\n{rows}"), "a")


def test_infinite_numbers_count_as_missing_but_not_in_the_target(tmp_path):
    frame = pd.DataFrame({"a": [np.inf, *range(29)], "y": np.arange(30) * 1.5})
    frame.to_parquet(tmp_path / "t.parquet")
    assert read_table(tmp_path / "t.parquet", "y").remarks == ("In 'a', 1 value is infinite and counts as missing.",)
    with pytest.raises(TableError, match="The target 'a' has infinite values"):
        read_table(tmp_path / "t.parquet", "a")


@pytest.mark.parametrize(("arguments", "words"), [
    ({"path": 10**400}, "'path' parameter of read_table must be a path, or a list of paths"), ({"path": []}, "'path'"),
    ({"path": None}, "'path'"), ({"target": 5}, "'target' parameter of read_table must be a text. Got 5"),
    ({"group": 5}, "'group'"), ({"ids": 5}, "'ids' parameter of read_table must be a list of names of columns"),
    ({"drop": None}, "'drop'"), ({"drop": [5]}, "'drop'"), ({"kinds": ["text"]}, "must be a dictionary such as"),
    ({"kinds": {5: "text"}}, "'kinds'"), ({"task": "classify"}, "must be one of 'regression', 'classifi"),
    ({"decimal": ";"}, "must be one of '.', ',' or None. Got ';'"), ({"separator": 5}, "'separator'"),
    ({"encoding": 5}, "'encoding'"), ({"random_state": "a"}, "'random_state'"), ({"test_size": "a"}, "'test_size'"),
    ({"max_memory": 10**400}, "'max_memory'"), ({"path": "x.csv"}, "There is no file"),
])  # fmt: skip
def test_wrong_arguments_of_read_table_raise_an_error_that_names_them(tmp_path, monkeypatch, arguments, words):
    monkeypatch.chdir(tmp_path)
    with pytest.raises((TypeError, ValueError)) as raised:
        read_table(**{"path": write(tmp_path, "a,y\n1,2\n2,3.5\n"), "target": "y", **arguments})
    assert words in str(raised.value)
    assert len(str(raised.value)) < 300


def test_table_without_features_raises_an_error(tmp_path):
    for text, drop in (("y\n1\n2.5\n", ()), ("a,y\n1,1\n2,2.5\n", "a"), ("a,y\n1,1\n1,2.5\n", ())):
        with pytest.raises(TableError, match="no column to learn from: all are constant, empty, IDs or left out"):
            read_in_memory(write(tmp_path, text), "y", drop=drop)
