import gzip

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.tree import DecisionTreeRegressor

from stablebag.commands.tables import (
    Columns,
    TableError,
    _date_parts,
    make_learner,
    parse_parameters,
    read_table,
    same_columns,
    split_target,
    targets_of,
)


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    n = 80
    return pd.DataFrame(
        {
            "age": np.where(rng.random(n) < 0.1, np.nan, rng.normal(50, 10, n)),
            "city": rng.choice(["Rome", "Oslo", None], n),
            "note": [f"patient number {k} came in with a cough" for k in range(n)],
            "seen": pd.date_range("2024-01-01", periods=n).astype(str),
            "when": pd.date_range("2023-01-01", periods=n),
            "smokes": rng.random(n) < 0.3,
            "code": [f"id{k}" for k in range(n)],
            "same": 1.0,
            "empty": np.nan,
            "y": rng.normal(size=n),
        }
    )


@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet", "feather", "csv.gz"])
def test_tables_are_read_by_their_ending(frame, tmp_path, ending):
    path = tmp_path / f"table.{ending}"
    if ending == "parquet":
        frame.to_parquet(path)
    elif ending == "feather":
        frame.to_feather(path)
    else:
        frame.to_csv(path, index=False, sep="\t" if ending == "tsv" else ",")
    assert read_table(path).columns.tolist() == frame.columns.tolist()


@pytest.mark.parametrize(("name", "text", "words"), [
    ("none.csv", None, "There is no file"), ("a.xls", "x", "must end in .csv"), ("a.csv", "a,b\n", "has no rows"),
    ("a.csv", "", "cannot be read"), ("a.parquet", "x", "cannot be read"),
])  # fmt: skip
def test_files_that_are_no_tables_are_refused(tmp_path, name, text, words):
    path = tmp_path / name
    if text is not None:
        path.write_text(text)
    with pytest.raises(TableError, match=words):
        read_table(path)


def test_columns_are_told_apart(frame):
    columns = Columns.of(frame.drop(columns="y"))
    assert columns.numeric == ("age",)
    assert columns.categorical == ("city", "smokes", "code")
    assert columns.text == ("note",)
    assert columns.dates == (("seen", "ISO8601"), ("when", ""))
    assert columns.constant == ("same", "empty")


def test_the_pipeline_reads_every_kind_also_what_it_has_not_seen(frame):
    X, y, task, dropped = split_target(frame, "y")
    assert (task, dropped) == ("regression", 0)
    pipeline = Columns.of(X).pipeline(DecisionTreeRegressor(random_state=0))
    fitted = clone(pipeline).fit(X[:5], y[:5])  # a small bag: cities, ages and notes that it lacks
    assert np.isfinite(fitted.predict(X)).all()
    strange = X[:1].assign(city="Paris", note=None, seen=None, age=np.nan)
    assert np.isfinite(fitted.predict(strange)).all()


def test_a_table_of_constants_has_nothing_to_learn_from():
    with pytest.raises(TableError, match="no column to learn from"):
        Columns.of(pd.DataFrame({"a": [1.0] * 9})).pipeline(DecisionTreeRegressor())


@pytest.mark.parametrize(("values", "task"), [
    ([0, 1] * 5, "classification"), (["a", "b"] * 5, "classification"), ([True, False] * 5, "classification"),
    (np.linspace(0, 1, 10), "regression"), (np.arange(30), "regression"), ([0.5, 1.5] * 5, "regression"),
])  # fmt: skip
def test_the_task_is_told_by_the_target(values, task):
    table = pd.DataFrame({"a": np.arange(len(values)), "y": values})
    assert split_target(table, "y")[2] == task


def test_rows_without_a_target_are_dropped_and_counted():
    table = pd.DataFrame({"a": range(4), "y": [0.5, np.nan, 1.5, 7.25]})
    X, y, _, dropped = split_target(table, "y")
    assert dropped == 1
    assert X["a"].tolist() == [0, 2, 3]
    assert y.tolist() == [0.5, 1.5, 7.25]


@pytest.mark.parametrize(("values", "task", "words"), [
    (["a", "a"], None, "one class only, 'a'"), (["a", "b"], "regression", "is not a number"),
    ([1.0, np.inf], "regression", "infinite"), ([np.nan, np.nan], None, "missing in every row"),
])  # fmt: skip
def test_targets_that_are_none_are_refused(values, task, words):
    with pytest.raises(TableError, match=words):
        split_target(pd.DataFrame({"a": [1, 2], "y": values}), "y", task)
    with pytest.raises(TableError, match=r"no column 'z' in the table; it has 'a'"):
        split_target(pd.DataFrame({"a": [1]}), "z")
    with pytest.raises(TableError, match=r"no column 'outcom' in the table. Did you mean 'Outcome'\?"):
        split_target(pd.DataFrame({"Outcome": [1]}), "outcom")


def test_a_test_table_must_have_the_columns(frame):
    X = frame.drop(columns="y")
    assert same_columns(X, frame[list(X.columns)[::-1]], "new.csv").columns.tolist() == X.columns.tolist()
    with pytest.raises(TableError, match=r"new.csv has no column 'city'"):
        same_columns(X, X.drop(columns="city"), "new.csv")
    with pytest.raises(TableError, match="'seen' has dates in the training table and none in new"):
        same_columns(X, X.assign(seen="never"), "new.csv")
    with pytest.raises(TableError, match="'age' has numbers in the training table and none in new"):
        same_columns(X, X.assign(age="old"), "new.csv")


@pytest.mark.parametrize("name", ["tree", "forest", "boosting", "ridge", "knn", "mlp", "svm"])
def test_models_have_short_names(name):
    assert is_regressor(make_learner(name, "regression", {}))
    if name != "ridge":
        assert is_classifier(make_learner(name, "classification", {}))
    assert make_learner(name, "regression", {}) is not make_learner(name, "regression", {})


def test_models_are_imported_and_take_parameters():
    parameters = parse_parameters(("max_depth=3", "criterion=absolute_error"))
    assert make_learner("sklearn.tree:DecisionTreeRegressor", "regression", parameters).max_depth == 3
    for name, words in (("oak", "There is no model 'oak'"), ("sklearn.tree:Oak", "cannot be made"),
                        ("no.such:Thing", "cannot be made"), ("math:sqrt", "cannot be made"),
                        ("logistic", "is not for regression")):  # fmt: skip
        with pytest.raises(TableError, match=words):
            make_learner(name, "regression", {})
    with pytest.raises(TableError, match="does not take a parameter"):
        make_learner("tree", "regression", {"branches": 3})
    with pytest.raises(TableError, match="name=value"):
        parse_parameters(("max_depth",))


@pytest.mark.parametrize(("name", "separator"), [("t.csv", ","), ("t.tsv", "\t"), ("t.csv.gz", ",")])
def test_a_header_with_the_target_twice_is_refused_and_not_learned_from(name, separator, tmp_path):
    path = tmp_path / name
    text = "\n".join(separator.join(line) for line in (["y", "a", "y"], *([str(k), "1", str(k)] for k in range(20))))
    path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    with pytest.raises(TableError, match="two columns called 'y'"):
        read_table(path)


def test_columns_that_only_look_like_renamed_ones_are_kept(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("y,y.1,,\n1,2,3,4\n5,6,7,8\n")
    assert list(read_table(path).columns) == ["y", "y.1", "Unnamed: 2", "Unnamed: 3"]


def write(tmp_path, text, name="t.csv"):
    path = tmp_path / name
    path.write_text(text)
    return path


def test_rows_that_are_longer_than_the_header_do_not_shift_columns(tmp_path):
    frame = read_table(write(tmp_path, "y,a,b\n1,2,3,\n4,5,6,\n"))  # a separator at the end of each line
    assert frame.to_dict("list") == {"y": [1, 4], "a": [2, 5], "b": [3, 6]}
    with pytest.raises(TableError, match="rows with more fields than its header, which has 2"):
        read_table(write(tmp_path, "y,a\n1,2,3\n4,5,6\n"))


def test_names_that_look_like_missing_values_are_names(tmp_path):
    with pytest.raises(TableError, match="two columns called 'NA'"):
        read_table(write(tmp_path, "NA,y,NA\n1,2,3\n4,5,6\n"))


def test_the_last_ending_counts(tmp_path):
    assert len(read_table(write(tmp_path, "y,a\n1,2\n3,4\n", "x.parquet.csv"))) == 2


def test_lists_in_columns_are_refused(tmp_path):
    frame = pd.DataFrame({"y": [1.0, 2.0], "a": [[1], [2, 3]]})
    frame.to_parquet(tmp_path / "t.parquet")
    with pytest.raises(TableError, match=r"column 'a' of .* has lists or the like"):
        read_table(tmp_path / "t.parquet")


@pytest.mark.parametrize("texts", [
    ["13/02/2020", "02/03/2020", "05/06/2020"] * 5, ["2020-01-01", "2020-01-02 10:00", "2020-05-03"] * 5,
    ["3.2.2020", "14.12.2021", "1.1.2019"] * 5,
])  # fmt: skip
def test_a_date_means_the_same_in_every_bag_and_call(texts):
    frame = pd.DataFrame({"when": texts})
    ((name, form),) = Columns.of(frame).dates
    together = _date_parts(frame, {name: form})
    assert np.isfinite(together).all()
    one_by_one = np.concatenate([_date_parts(frame.iloc[[row]], {name: form}) for row in range(len(frame))])
    np.testing.assert_array_equal(together, one_by_one)


def test_categories_of_a_test_table_are_read_as_those_of_the_training_table():
    train = pd.DataFrame({"a": ["A", "2", "3"] * 5})
    for there in (["2", "3"], [2, 3], [2.0, 3.0, np.nan]):
        found = same_columns(train, pd.DataFrame({"a": there}), "new")["a"]
        assert found.dropna().tolist() == ["2", "3"]
    with pytest.raises(TableError, match="truth values in the training table"):
        same_columns(pd.DataFrame({"a": [True, False] * 3}), pd.DataFrame({"a": [1, 0]}), "new")


def test_large_whole_classes_are_told_apart():
    assert targets_of(pd.Series([1e19, 2e19]), "classification", "y").tolist() == [
        "10000000000000000000", "20000000000000000000",
    ]  # fmt: skip
