import numpy as np
import pandas as pd
import pytest

from stablebag.cli.training import Columns, NewRows, Reading, TableError, TrainingTable
from stablebag.tables.columns import Kind


def test_a_reading_comes_back_from_its_text_and_reads_the_same(clinic):
    options = {"table": clinic, "target": "pressure", "group": "patient_id"}
    reading = TrainingTable.from_options(options).reading
    again = Reading.from_dict(reading.to_dict())
    assert again == reading
    pd.testing.assert_frame_equal(again.read_new(clinic).X, reading.read_new(clinic).X)
    np.testing.assert_array_equal(again.read_new(clinic).y, TrainingTable.from_options(options).y)


def test_ids_are_carried_along_once(tmp_path):
    path = tmp_path / "new.csv"
    path.write_text("visit,a,y\n007,1,2\n008,3,4\n")
    number = Kind("number", ".")
    reading = Reading(Columns({"a": number}), "y", number, "regression", ids=("visit",))
    new = reading.read_new(path)
    assert new.X.index.tolist() == ["007", "008"]
    assert new.beside({"out": [5, 6]}, ["visit", "a"], "set").columns.tolist() == ["row", "visit", "a", "out"]
    assert new.beside({"out": [5, 6]}, [], "set")["visit"].tolist() == ["007", "008"]


def test_the_index_of_a_table_is_carried_along():
    frame = pd.DataFrame({"a": [1, 2]}, index=pd.Index(["x", "y"], name="key"))
    written = NewRows(frame, None, groups=pd.Series(["p", "q"], name="patient")).beside({"out": [3, 4]}, ["a"], "set")
    assert written.to_dict("list") == {
        "row": [0, 1],
        "key": ["x", "y"],
        "patient": ["p", "q"],
        "a": [1, 2],
        "out": [3, 4],
    }


def test_kept_columns_are_named_with_commas_or_one_by_one():
    new = NewRows(pd.DataFrame({"a": [1], "b": [2], "c,d": [3]}), None)
    assert new.kept(("a, b", "c,d", "a")) == ["a", "b", "c,d"]
    assert new.kept(()) == list(new.frame.columns)
    with pytest.raises(TableError, match="There is no column 'e'"):
        new.kept(("a,e",))


def test_categories_that_the_training_table_does_not_have_are_told(tmp_path):
    path = tmp_path / "new.csv"
    path.write_text("town,y\nUlm,1\nOslo,2\nOslo,3\n,4\n")
    number, category = Kind("number", "."), Kind("category")
    reading = Reading(Columns({"town": category}), "y", number, "regression", categories={"town": ["Bonn", "Ulm"]})
    (told,) = reading.read_new(path).said
    assert told.startswith("2 values of 'town' in new.csv")
    assert "Oslo" in told
    path.write_text("town,y\nUlm,1\nBonn,2\n")
    assert reading.read_new(path).said == ()
