"""What commands learn from and with."""

import click
import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from sklearn.base import is_classifier, is_regressor

import parquet_files
from stablebag import BaggedRegressor, Subbagging, random_n_bags
from stablebag.cli import budget
from stablebag.cli.main import main
from stablebag.cli.options import read_memory
from stablebag.cli.training import (
    TwoTables,
    _refuse_in_memory_only,
    check_level,
    check_share,
    count_rows,
    describe_group_sizes,
    describe_random_bags,
    describe_seen_groups,
    describe_split,
    hold_out_groups,
    make_learner,
    parse_kinds,
    parse_parameters,
)
from stablebag.models import RowSource
from stablebag.resampling import RandomBags
from stablebag.tables.text import TableError

# --------------------------------------------------------------------------------------------------------------- checks


@pytest.mark.parametrize(("value", "meant"), [(95, "Did you mean 0.95?"), (99.5, "Did you mean 0.995?"), (1, "got 1.")])
def test_percentage_in_place_of_a_share_gets_a_hint(value, meant):
    with pytest.raises(TableError, match=meant):
        check_level(value, "--confidence")


def test_share_may_be_0_or_1_but_a_level_may_not():
    check_share(0, "--delta")
    check_share(1, "--delta")
    check_level(0.5, "--confidence")
    for value in (0, 1, -0.1, 100, float("nan")):
        with pytest.raises(TableError, match="--confidence must be between 0 and 1"):
            check_level(value, "--confidence")
    with pytest.raises(TableError, match=r"Did you mean 0\.05"):
        check_share(5, "--delta")


# ------------------------------------------------------------------------------------------------------------- learners


@pytest.mark.parametrize("name", ["tree", "forest", "boosting", "ridge", "knn", "mlp", "svm"])
def test_models_have_short_names(name):
    assert is_regressor(make_learner(name, "regression", {}))
    if name != "ridge":
        assert is_classifier(make_learner(name, "classification", {}))
    assert make_learner(name, "regression", {}) is not make_learner(name, "regression", {})


def test_models_are_imported_and_mistakes_get_a_hint():
    parameters = parse_parameters(("max_depth=3", "criterion=absolute_error"))
    assert make_learner("sklearn.tree:DecisionTreeRegressor", "regression", parameters).max_depth == 3
    for name, words in (("oak", "There is no model 'oak'"), ("sklearn.tree:Oak", "has no 'Oak'"),
                        ("no.such:Thing", "cannot be imported"), ("math:sqrt", "is not a scikit-learn estimator"),
                        ("os:abort", "is not a scikit-learn estimator"), ("forrest", "Did you mean 'forest'"),
                        ("sklearn.svm.SVR", "Did you mean 'sklearn.svm:SVR'"),
                        ("sklearn.svm:SVRR", "Did you mean sklearn.svm:SVR"),
                        ("sklearn.cluster:KMeans", "KMeans is a clusterer. Pass a regressor."),
                        ("sklearn.svm:SVC", "SVC is a classifier, but the target has numbers. Pass a regressor, or"),
                        ("logistic", "is not for regression")):  # fmt: skip
        with pytest.raises(TableError, match=words):
            make_learner(name, "regression", {})
    with pytest.raises(TableError, match="has no parameter"):
        make_learner("tree", "regression", {"branches": 3})
    with pytest.raises(TableError, match="name=value"):
        parse_parameters(("max_depth",))


# -------------------------------------------------------------------------------------------------------------- options


def test_kinds_are_given_by_column():
    assert parse_kinds(("a=number", "b,c=Category")) == {"a": "number", "b,c": "category"}
    for text in ("a", "=number", "a=blob"):
        with pytest.raises(TableError, match="Give --kind as column=kind, where kind is one of number, category"):
            parse_kinds((text,))


@pytest.mark.parametrize("name", ["refits", "matched", "save"])
def test_options_that_need_all_rows_raise_an_error(name):
    _refuse_in_memory_only({"refits": None, "matched": 0, "save": None})
    with pytest.raises(TableError, match=f"--{name} .* larger than --max-memory. Remove --{name}"):
        _refuse_in_memory_only({name: 3})


# --------------------------------------------------------------------------------------------------------------- groups


def visits(*names, column="patient_id"):
    return pd.Series(list(names), name=column)


@pytest.fixture
def frame():
    """Forty patients with 1 to 5 visits each."""
    patients = np.repeat([f"p{k}" for k in range(40)], np.arange(40) % 5 + 1)
    return pd.DataFrame({"patient_id": patients, "dose": np.arange(len(patients)) / 7})


def test_whole_groups_are_held_out(frame):
    y = np.arange(len(frame))
    X, X_test, y_train, y_test, patients, others = hold_out_groups(frame, y, frame["patient_id"], 0.2, "regression", 0)
    assert others.nunique() == 8
    assert patients.nunique() == 32
    assert not set(patients) & set(others)
    assert X.index.tolist() == y_train.tolist() == sorted(y_train)
    assert X_test.index.tolist() == y_test.tolist() != sorted(y_test)  # the first points are of several units
    assert sorted([*y_train, *y_test]) == y.tolist()
    assert frame.loc[others.index, "patient_id"].tolist() == others.tolist()


def test_same_seed_holds_out_the_same_groups(frame):
    y = np.arange(len(frame))
    tests = [hold_out_groups(frame, y, frame["patient_id"], 0.2, "regression", seed)[3].tolist() for seed in (0, 0, 1)]
    assert tests[0] == tests[1] != tests[2]


def test_groups_of_one_class_are_held_out_by_class(frame):
    number = frame["patient_id"].str[1:].astype(int)
    y = np.where(number < 10, "seldom", "often")
    for seed in range(5):
        others = hold_out_groups(frame, y, frame["patient_id"], 0.2, "classification", seed)[5]
        assert (others.drop_duplicates().str[1:].astype(int) < 10).sum() == 2
    mixed = np.where(frame.index % 2, "a", "b")  # a patient has rows of both
    assert hold_out_groups(frame, mixed, frame["patient_id"], 0.2, "classification", 0)[5].nunique() == 8


def test_test_size_that_leaves_no_groups_raises_an_error(frame):
    y, few = np.arange(len(frame)), frame["patient_id"]
    with pytest.raises(TableError, match=r"40 of the 40 groups are held out and none is left .*Use a smaller share"):
        hold_out_groups(frame, y, few, 0.99, "regression", 0)
    with pytest.raises(TableError, match=r"39 of the 40 groups are held out and one is left"):
        hold_out_groups(frame, y, few, 0.975, "regression", 0)
    assert hold_out_groups(frame, y, few, 0.95, "regression", 0)[4].nunique() == 2
    with pytest.raises(ValueError, match="--test-size must be between 0 and 1"):
        hold_out_groups(frame, y, few, 1.0, "regression", 0)


def test_one_class_left_to_train_on_raises_an_error():
    patients, y = visits("a", "b", "c", "c"), np.array(["no", "no", "no", "yes"])
    with pytest.raises(TableError, match=r"All rows of the 2 groups to train on have one class, 'no'"):
        # The one with both classes is held out under some of these seeds.
        _ = [hold_out_groups(pd.DataFrame({"x": range(4)}), y, patients, 0.3, "classification", k) for k in range(20)]


def test_sentence_counts_groups_and_their_rows():
    assert count_rows(visits("a", "a", "b")) == "3 rows of 2 groups"
    assert describe_group_sizes(visits("a", "a", "b")) == "There are 2 groups with 1 to 2 rows each."
    assert describe_group_sizes(visits("a", "a", "b", "b")) == "There are 2 groups with 2 rows each."
    words = "There are 2 groups with one row each, so leaving out a group leaves out a row."
    assert describe_group_sizes(visits("a", "b", column="animal")) == words
    assert describe_split(1500, 30, None, None) == "Trained on 1,500 rows, held out 30."
    patients = visits("a", "a", "b")
    assert describe_split(3, 9, patients, None) == "Trained on 3 rows of 2 groups, held out 9 rows."
    assert describe_split(3, 2, patients, visits("c", "d")).endswith("held out 2 rows of 2 other groups.")
    assert describe_split(3, 1, patients, visits("c")).endswith("held out 1 row of 1 other group.")
    assert describe_split(3, 2, patients, visits("a", "d")).endswith("held out 2 rows of 2 groups.")


def test_rows_of_training_groups_are_named():
    numbers = visits(1, 2, 2, 3)
    assert (
        describe_seen_groups(numbers, visits(4, 5))
        == describe_seen_groups(numbers, None)
        == describe_seen_groups(None, numbers)
        == ""
    )
    assert describe_seen_groups(numbers, visits(2, 5)) == (
        "1 of the 2 rows to predict belongs to groups that were trained on (2)."
    )
    for others in (
        visits("3", "1", "A7", "1"),
        visits(3.0, 1.0, np.nan, 1.0),
    ):  # numbers in one table, texts in another
        assert "3 of the 4 rows to predict belong to groups that were trained on (3, 1)." in describe_seen_groups(
            numbers, others
        )


# ----------------------------------------------------------------------------------------------------------- two tables


OPTIONS = {
    "target": "cost", "group": None, "task": None, "model": "tree", "parameters": (), "scheme": "subbagging",
    "bag_size": None, "n_bags": 50, "jobs": 1, "seed": 0, "time_limit": 60.0,
}  # fmt: skip


def read(table, wanted="regression", **options):
    return TwoTables.read({**OPTIONS, "table": table, **options}, table, wanted)


def test_both_tables_are_read_in_the_same_way(table):
    data = read(table)
    pd.testing.assert_frame_equal(data.table.X, data.new.X)
    np.testing.assert_array_equal(data.table.y, data.new.y)
    assert "cost" not in data.table.X


def test_targets_of_new_rows_are_used_if_none_is_missing(table, tmp_path):
    frame = pd.read_csv(table)
    frame.loc[3, "cost"] = np.nan
    frame.to_csv(tmp_path / "new.csv", index=False)
    data = TwoTables.read({**OPTIONS, "table": table}, tmp_path / "new.csv", "regression")
    assert data.new.y is None
    assert len(data.new.X) == 120


def test_random_number_of_bags_does_not_depend_on_the_bags(table, monkeypatch):
    monkeypatch.setattr(budget, "_timed", lambda *fits: (0.0, 0.0, False))  # the number is given
    data = read(table)
    fixed, drawn = (data.model(BaggedRegressor, random_number=random) for random in (False, True))
    assert fixed.n_bags == 50
    assert isinstance(drawn.n_bags, RandomBags)
    assert drawn.n_bags == data.model(BaggedRegressor, random_number=True).n_bags
    assert drawn.n_bags.law == Subbagging(0.5).resolve(120)
    assert describe_random_bags(fixed) == ""
    numbers = {int(read(table, seed=seed).model(BaggedRegressor, random_number=True).n_bags) for seed in range(20)}
    assert len(numbers) > 5


def test_random_number_of_bags_below_two_raises_an_error(table):
    numbers = [int(random_n_bags(Subbagging(2), 120, 2, np.random.default_rng([seed, 1]))) for seed in range(50)]
    few = read(table, seed=int(np.argmin(numbers)), n_bags=2, bag_size="2")
    with pytest.raises(TableError, match=r"2 on average, and was [01]. Use a larger --n-bags"):
        few.model(BaggedRegressor, random_number=True)


def test_bags_with_more_groups_than_exist_raise_an_error(clinic):
    data = read(clinic, target="pressure", group="patient_id", bag_size="31")
    with pytest.raises(TableError, match=r"not that many rows.* With --group, bags are drawn of 30 groups"):
        data.model(BaggedRegressor, random_number=False)


def test_a_large_table_is_fitted_from_its_files(tmp_path):
    parquet_files.one_file(tmp_path, parquet_files.rows(400))
    (tmp_path / "new").mkdir()
    parquet_files.one_file(tmp_path / "new", parquet_files.rows(30))
    options = {**OPTIONS, "table": tmp_path / "all.parquet", "target": "y", "drop": ("name", "patient"), "n_bags": 5}
    options |= {"max_memory": 35_000, "bag_size": "20"}
    data = TwoTables.read(options, tmp_path / "new" / "all.parquet", "regression")
    assert isinstance(data.table.X, RowSource)
    assert list(data.to_fit) == ["X"]
    assert data.notes[0].startswith("The table would take about 38.4 kB in memory")
    model = data.model(BaggedRegressor, random_number=False).fit(**data.to_fit)
    assert model.predict(data.new.X).shape == (30,)


@pytest.mark.parametrize(("text", "number"), [("1GB", 10**9), ("500MB", 5 * 10**8), ("2 kb", 2000), ("7", 7)])
def test_memory_is_a_number_with_a_unit(text, number):
    assert read_memory(None, None, text) == number


@pytest.mark.parametrize("text", ["much", "", "-1GB", "0", "1 XB", "nan"])
def test_wrong_amounts_of_memory_raise_an_error(text):
    with pytest.raises(click.BadParameter, match="Give an amount of memory such as 500MB or 1GB"):
        read_memory(None, None, text)


def test_a_model_of_a_class_called_none_is_measured_and_saved(tmp_path):
    pytest.importorskip("skops.io")
    table, saved = tmp_path / "table.csv", tmp_path / "model.skops"
    words = ["None", "mild", "nan"] * 12
    table.write_text("x,severity\n" + "".join(f"{place % 3 + place / 99},{word}\n" for place, word in enumerate(words)))
    told = ["--target", "severity", "--kind", "severity=category", "--n-bags", "20", "--refits", "2"]
    result = CliRunner().invoke(main, ["measure", str(table), *told, "--seed", "0", "--save", str(saved)])
    assert result.exit_code == 0, result.output
    assert "one class" not in result.output
    output = tmp_path / "predicted.csv"
    result = CliRunner().invoke(main, ["predict", str(saved), str(table), "--output", str(output)])
    assert result.exit_code == 0, result.output
    assert output.read_text().count("None") > 5
