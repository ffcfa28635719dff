import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_wine

from stablebag.cli.training import (
    TableError,
    TrainingTable,
    counted,
    held_out_units,
    seen_before,
    sizes,
    split_group,
    suggestion,
    trained,
)


def visits(*names, column="patient_id"):
    return pd.Series(list(names), name=column)


@pytest.fixture
def frame():
    """Forty patients with 1 to 5 visits each."""
    patients = np.repeat([f"p{k}" for k in range(40)], np.arange(40) % 5 + 1)
    return pd.DataFrame({"patient_id": patients, "dose": np.arange(len(patients)) / 7})


# ---------------------------------------------------------------------------------------------- reading and refusing


def test_the_group_is_no_feature(frame):
    X, patients = split_group(frame, "patient_id", "y")
    assert X.columns.tolist() == ["dose"]
    assert patients.tolist() == frame["patient_id"].tolist()


@pytest.mark.parametrize(("name", "words"), [
    ("patientid", r"no column 'patientid' in the table. Did you mean 'patient_id'\?"),
    ("PATIENT_ID", r"Did you mean 'patient_id'\?"),
    ("zzz", "no column 'zzz' in the table; it has 'patient_id', 'dose'"),
    ("y", "target 'y' cannot be the group as well. Give --group"),
])  # fmt: skip
def test_a_group_that_is_no_column_of_its_own_is_refused_with_the_one_that_is_meant(frame, name, words):
    with pytest.raises(TableError, match=words):
        split_group(frame, name, "y")


def test_rows_of_nobody_are_named_as_they_are_in_the_file(frame):
    frame.loc[[4, 17], "patient_id"] = None
    words = r"'patient_id' is missing in 2 rows \(4, 17\), counted from 0 below the header. Fill in whose they are"
    with pytest.raises(TableError, match=words):
        split_group(frame, "patient_id", "y")
    with pytest.raises(TableError, match=r"is missing in row 17, counted from 0 below the header. Fill in whose it is"):
        split_group(frame[5:], "patient_id", "y")
    frame.loc[:20, "patient_id"] = None
    with pytest.raises(TableError, match=r"in 21 rows \(0, 1, 2, 3, 4, \.\.\.\)"):
        split_group(frame, "patient_id", "y")


def test_one_unit_alone_is_refused(frame):
    with pytest.raises(TableError, match="has one value only, 'p1': without it nothing would be left"):
        split_group(frame.assign(patient_id="p1"), "patient_id", "y")


# -------------------------------------------------------------------------------------------------------- holding out


def test_whole_units_are_held_out(frame):
    y = np.arange(len(frame))
    X, X_test, y_train, y_test, patients, others = held_out_units(frame, y, frame["patient_id"], 0.2, "regression", 0)
    assert others.nunique() == 8
    assert patients.nunique() == 32
    assert not set(patients) & set(others)
    assert X.index.tolist() == y_train.tolist() == sorted(y_train)
    assert X_test.index.tolist() == y_test.tolist() != sorted(y_test)  # the first points are of several units
    assert sorted([*y_train, *y_test]) == y.tolist()
    assert frame.loc[others.index, "patient_id"].tolist() == others.tolist()


def test_the_same_seed_holds_out_the_same_units(frame):
    y = np.arange(len(frame))
    tests = [held_out_units(frame, y, frame["patient_id"], 0.2, "regression", seed)[3].tolist() for seed in (0, 0, 1)]
    assert tests[0] == tests[1] != tests[2]


def test_units_of_one_class_each_are_held_out_by_class(frame):
    number = frame["patient_id"].str[1:].astype(int)
    y = np.where(number < 10, "seldom", "often")
    for seed in range(5):
        others = held_out_units(frame, y, frame["patient_id"], 0.2, "classification", seed)[5]
        assert (others.drop_duplicates().str[1:].astype(int) < 10).sum() == 2
    mixed = np.where(frame.index % 2, "a", "b")  # a patient has rows of both
    assert held_out_units(frame, mixed, frame["patient_id"], 0.2, "classification", 0)[5].nunique() == 8


def test_a_share_that_leaves_nobody_to_train_on_is_refused(frame):
    y, few = np.arange(len(frame)), frame["patient_id"]
    with pytest.raises(TableError, match=r"40 of the 40 groups are held out and none is left .*Take a smaller share"):
        held_out_units(frame, y, few, 0.99, "regression", 0)
    with pytest.raises(TableError, match=r"39 of the 40 groups are held out and one is left"):
        held_out_units(frame, y, few, 0.975, "regression", 0)
    assert held_out_units(frame, y, few, 0.95, "regression", 0)[4].nunique() == 2
    with pytest.raises(ValueError, match="--test-size is a share"):
        held_out_units(frame, y, few, 1.0, "regression", 0)


def test_one_class_left_to_train_on_is_refused():
    patients, y = visits("a", "b", "c", "c"), np.array(["no", "no", "no", "yes"])
    with pytest.raises(TableError, match=r"All rows of the 2 groups to train on have one class, 'no'"):
        # The one with both classes is held out under some of these seeds.
        _ = [held_out_units(pd.DataFrame({"x": range(4)}), y, patients, 0.3, "classification", k) for k in range(20)]


# ---------------------------------------------------------------------------------------------------------- sentences


def test_units_and_their_rows_are_counted():
    assert counted(visits("a", "a", "b")) == "3 rows of 2 groups"
    assert sizes(visits("a", "a", "b")) == "There are 2 groups with 1 to 2 rows each."
    assert sizes(visits("a", "a", "b", "b")) == "There are 2 groups with 2 rows each."
    words = "There are 2 groups with one row each: leaving out one is leaving out a row."
    assert sizes(visits("a", "b", column="animal")) == words
    assert trained(1500, 30, None, None) == "Trained on 1,500 rows, held out 30."
    patients = visits("a", "a", "b")
    assert trained(3, 9, patients, None) == "Trained on 3 rows of 2 groups, held out 9 rows."
    assert trained(3, 2, patients, visits("c", "d")).endswith("held out 2 rows of 2 other groups.")
    assert trained(3, 1, patients, visits("c")).endswith("held out 1 row of 1 other group.")
    assert trained(3, 2, patients, visits("a", "d")).endswith("held out 2 rows of 2 groups.")


def test_rows_of_units_that_were_trained_on_are_noticed():
    numbers = visits(1, 2, 2, 3)
    assert seen_before(numbers, visits(4, 5)) == seen_before(numbers, None) == seen_before(None, numbers) == ""
    assert seen_before(numbers, visits(2, 5)) == (
        "1 of the 2 rows to predict belongs to groups that were trained on (2)."
    )
    for others in (
        visits("3", "1", "A7", "1"),
        visits(3.0, 1.0, np.nan, 1.0),
    ):  # numbers in one table, texts in another
        assert "3 of the 4 rows to predict belong to groups that were trained on (3, 1)." in seen_before(
            numbers, others
        )


# ----------------------------------------------------------------------------------------------------------- noticing


@pytest.mark.parametrize("load", [load_diabetes, load_breast_cancer, load_iris, load_wine])
def test_ordinary_tables_are_left_alone(load, tmp_path):
    load(as_frame=True).frame.to_csv(tmp_path / "t.csv", index=False)
    data = TrainingTable.from_options({"table": tmp_path / "t.csv", "target": "target"})
    assert suggestion(data.X) == ""


@pytest.mark.parametrize("name", [
    "patient_id", "PatientID", "patient", "Patient No", "subject.code", "id", "ID", "id_patient", "user", "site",
    "customer id", "household_nr", "group", "stop_id",
])  # fmt: skip
def test_columns_that_are_called_like_identities_and_repeat_are_noticed(name):
    for values in (np.arange(90) // 3, np.repeat([f"x{k}" for k in range(45)], 2)):
        told = suggestion(pd.DataFrame({"x": np.arange(90.0), name: values}))
        assert told.startswith(f"The column {name} has {len(set(values))} values in 90 rows. If the rows of a")
        assert f"--group {name if ' ' not in name else repr(name)}: " in told


def test_the_suggestion_says_what_would_change(frame):
    assert suggestion(frame) == (
        "The column patient_id has 40 values in 120 rows. If the rows of a group belong together, add --group "
        "patient_id: without it, errors and intervals are too small for new groups."
    )
    assert suggestion(frame[:100], frame[99:]) == (
        "1 of 21 rows held out belongs to groups that were trained on (patient_id), so the scores flatter "
        "predictions for new groups. If new groups are what you predict, add --group patient_id: it holds out "
        "whole groups."
    )
    assert suggestion(frame[:60], frame[60:]) == ""  # other patients


@pytest.mark.parametrize("name", [
    "patient_age", "age", "n_patient", "visits_per_user", "number_of_site", "age_group", "education-num", "zip_code",
    "width", "void", "paid", "hospital_beds", "target", "room number",
])  # fmt: skip
def test_columns_that_are_called_otherwise_are_not(name):
    assert suggestion(pd.DataFrame({"x": np.arange(90.0), name: np.arange(90) // 3})) == ""


@pytest.mark.parametrize("values", [
    np.arange(90), np.arange(90) // 1.4 // 1, np.arange(90) % 9, np.arange(90) // 3 + 0.5, np.arange(90) % 2 == 0,
    pd.date_range("2020-01-01", periods=30).repeat(3), [None] * 90,
], ids=["each once", "hardly repeated", "nine", "no whole numbers", "truth values", "dates", "empty"])  # fmt: skip
def test_values_that_are_none_of_units_are_not(values):
    assert suggestion(pd.DataFrame({"x": np.arange(90.0), "patient_id": values})) == ""


def test_few_units_of_very_many_rows_are_not():
    assert suggestion(pd.DataFrame({"site": np.arange(5100) // 51 % 100})) == ""
    assert suggestion(pd.DataFrame({"site": np.arange(5000) // 50})) != ""


def test_of_several_columns_the_one_with_the_most_values_is_noticed(frame):
    table = frame.assign(site=np.arange(len(frame)) // 10)
    assert "--group patient_id:" in suggestion(table)
