"""What columns are for: target, group, names of rows; and which of them seem to identify groups."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_wine

from stablebag.tables.roles import Roles, named_columns, read_names, repeated_ids, row_index, split_group, suggest_group
from stablebag.tables.text import TableError
from stablebag.tables.training import read_table

# ---------------------------------------------------------------------------------------------------------------- roles


NAMES = ["a", "b", "b,c", "c"]


def test_several_columns_can_be_named_at_once():
    assert named_columns(NAMES, ("a, c", "b", "a")) == ("a", "c", "b")
    assert named_columns(NAMES, ("b,c",)) == ("b,c",)  # a column is called so
    with pytest.raises(TableError, match="no column 'd' in the table"):
        named_columns(NAMES, ("a,d",))


def test_column_with_two_roles_raises_an_error():
    Roles.check(NAMES, "a", "b", ("b",), ("c",), {"c": "text"}, None, None)
    for target, group, ids, drop, words in (
        ("a", None, (), ("a",), "The column 'a' is the target: remove it from drop"),
        ("a", "b", (), ("b",), "The column 'b' is the group: remove it from drop"),
        ("a", None, ("a",), (), "The column 'a' is the target: remove it from ids"),
    ):
        with pytest.raises(TableError, match=words):
            Roles.check(NAMES, target, group, ids, drop, None, None, None)
    with pytest.raises(TableError, match="no column 'z'"):
        Roles.check(NAMES, "a", None, (), (), {"z": "text"}, None, None)
    with pytest.raises(TableError, match=r"The kind of column 'b' must be one of number, category, text, date. Got"):
        Roles.check(NAMES, "a", None, (), (), {"b": "blob"}, None, None)


# -------------------------------------------------------------------------------------------------------- names of rows


def test_ids_keep_their_spelling_unless_all_are_whole_numbers():
    assert read_names(pd.Series(["1", "2", "7"], dtype=object, name="id")).tolist() == [1, 2, 7]
    for texts in (["01", "2"], ["1.0", "2.5"], ["a", "1"], ["1", None]):
        column = pd.Series(texts, dtype=object, name="id")
        assert read_names(column).tolist() == texts


def test_rows_are_named_by_ids_or_numbers():
    table = pd.DataFrame({"id": ["A1", None], "visit": ["1", "2"]}, dtype=object, index=[4, 7])
    assert row_index(table, ()).tolist() == [4, 7]
    assert row_index(table, ("id",)).tolist() == ["A1", "without ID"]
    assert row_index(table, ("visit",)).tolist() == [1, 2]
    assert row_index(table, ("id", "visit")).tolist() == ["A1 1", "? 2"]


def test_repeated_ids_get_a_warning_with_the_option_group():
    index = pd.Index(["a", "a"])
    assert repeated_ids(index, ()) == repeated_ids(pd.Index(["a", "b"]), ("id",)) == []
    (said,) = repeated_ids(index, ("my id",))
    assert said.startswith("Several rows have the same 'my id'")
    assert "use group='my id' instead of ids" in said


# --------------------------------------------------------------------------------------------------------------- groups


@pytest.fixture
def frame():
    """Forty patients with 1 to 5 visits each."""
    patients = np.repeat([f"p{k}" for k in range(40)], np.arange(40) % 5 + 1)
    return pd.DataFrame({"patient_id": patients, "dose": np.arange(len(patients)) / 7})


def test_group_is_not_a_feature(frame):
    X, patients = split_group(frame, "patient_id", "y")
    assert X.columns.tolist() == ["dose"]
    assert patients.tolist() == frame["patient_id"].tolist()


@pytest.mark.parametrize(("name", "words"), [
    ("patientid", r"no column 'patientid' in the table. Did you mean 'patient_id'\?"),
    ("PATIENT_ID", r"Did you mean 'patient_id'\?"),
    ("zzz", "no column 'zzz' in the table; it has 'patient_id', 'dose'"),
    ("y", "column 'y' is the target, so it cannot be the group. Set group"),
])  # fmt: skip
def test_unknown_group_raises_an_error_with_a_suggestion(frame, name, words):
    with pytest.raises(TableError, match=words):
        split_group(frame, name, "y")


def test_missing_groups_raise_an_error_with_the_row_numbers(frame):
    frame.loc[[4, 17], "patient_id"] = None
    words = r"'patient_id' is missing in 2 rows \(4, 17\); row 0 is the first row below the header. Fill in the groups"
    with pytest.raises(TableError, match=words):
        split_group(frame, "patient_id", "y")
    with pytest.raises(
        TableError, match=r"is missing in row 17; row 0 is the first row below the header. Fill in the group, or"
    ):
        split_group(frame[5:], "patient_id", "y")
    frame.loc[:20, "patient_id"] = None
    with pytest.raises(TableError, match=r"in 21 rows \(0, 1, 2, 3, 4, \.\.\.\)"):
        split_group(frame, "patient_id", "y")


def test_single_group_raises_an_error(frame):
    with pytest.raises(TableError, match="is 'p1' in every row, so nothing would be left without it"):
        split_group(frame.assign(patient_id="p1"), "patient_id", "y")


@pytest.mark.parametrize("load", [load_diabetes, load_breast_cancer, load_iris, load_wine])
def test_no_group_is_suggested_for_ordinary_tables(load, tmp_path):
    load(as_frame=True).frame.to_csv(tmp_path / "t.csv", index=False)
    assert suggest_group(read_table(tmp_path / "t.csv", "target").X) == ""


@pytest.mark.parametrize("name", [
    "patient_id", "PatientID", "patient", "Patient No", "subject.code", "id", "ID", "id_patient", "user", "site",
    "customer id", "household_nr", "group", "stop_id",
])  # fmt: skip
def test_repeated_ids_are_suggested_as_a_group(name):
    for values in (np.arange(90) // 3, np.repeat([f"x{k}" for k in range(45)], 2)):
        told = suggest_group(pd.DataFrame({"x": np.arange(90.0), name: values}))
        assert told.startswith(
            f"The column {name} has {len(set(values))} values in 90 rows. If rows with the same {name}"
        )
        assert f"add group={name!r}. " in told


def test_suggestion_counts_rows_of_known_groups(frame):
    assert suggest_group(frame) == (
        "The column patient_id has 40 values in 120 rows. If rows with the same patient_id belong together, add "
        "group='patient_id'. Otherwise, errors and intervals are too small for new groups."
    )
    assert suggest_group(frame[:100], frame[99:]) == (
        "1 of 21 held-out rows belongs to groups in the training rows (patient_id), so the scores are too good for new "
        "groups. If you predict new groups, add group='patient_id', which holds out whole groups."
    )
    assert suggest_group(frame[:60], frame[60:]) == ""  # other patients


@pytest.mark.parametrize("name", [
    "patient_age", "age", "n_patient", "visits_per_user", "number_of_site", "age_group", "education-num", "zip_code",
    "width", "void", "paid", "hospital_beds", "target", "room number",
])  # fmt: skip
def test_columns_with_other_names_are_not_suggested_as_a_group(name):
    assert suggest_group(pd.DataFrame({"x": np.arange(90.0), name: np.arange(90) // 3})) == ""


@pytest.mark.parametrize("values", [
    np.arange(90), np.arange(90) // 1.4 // 1, np.arange(90) % 9, np.arange(90) // 3 + 0.5, np.arange(90) % 2 == 0,
    pd.date_range("2020-01-01", periods=30).repeat(3), [None] * 90,
], ids=["each once", "hardly repeated", "nine", "no whole numbers", "truth values", "dates", "empty"])  # fmt: skip
def test_columns_with_other_values_are_not_suggested_as_a_group(values):
    assert suggest_group(pd.DataFrame({"x": np.arange(90.0), "patient_id": values})) == ""


def test_groups_of_very_many_rows_are_not_suggested():
    assert suggest_group(pd.DataFrame({"site": np.arange(5100) // 51 % 100})) == ""
    assert suggest_group(pd.DataFrame({"site": np.arange(5000) // 50})) != ""


def test_column_with_the_most_values_is_suggested(frame):
    table = frame.assign(site=np.arange(len(frame)) // 10)
    assert "group='patient_id'." in suggest_group(table)
