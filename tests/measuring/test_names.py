import json

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from stablebag import BaggedClassifier, BaggedRegressor, leave_one_out, leave_one_out_refit
from stablebag.measuring import Perturbations
from stablebag.measuring.perturbations import Names
from stablebag.resampling.units import RowIds, Units


@pytest.fixture
def frames():
    """A table whose index is in disorder, as after a split; the target is one of its columns."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=60), "b": rng.normal(size=60)}, index=rng.permutation(60) + 100)
    frame["y"] = frame.a + rng.normal(size=60)
    return frame[:45], frame[45:]


def bagged(**more):
    return BaggedRegressor(DecisionTreeRegressor(random_state=0), n_bags=60, random_state=0, **more)


def test_a_join_on_the_index_finds_the_right_rows_and_points(frames):
    train, test = frames
    moved = leave_one_out(bagged().fit(train[["a", "b"]], train.y), test[["a", "b"]])
    frame = moved.to_frame()
    assert len(frame) == 45 * 15
    joined = frame.join(train.y.rename("target"), on="row").join(test.a.rename("at"), on="point")
    np.testing.assert_array_equal(
        joined.target.to_numpy().reshape(45, 15), np.repeat(train.y.to_numpy()[:, None], 15, 1)
    )
    np.testing.assert_array_equal(joined["at"].to_numpy().reshape(45, 15)[0], test.a)
    np.testing.assert_array_equal(frame.left_out.to_numpy().reshape(45, 15), moved.left_out)


def test_the_most_influential_rows_are_called_as_in_the_training_frame(frames):
    train, test = frames
    moved = leave_one_out(bagged().fit(train[["a", "b"]], train.y), test[["a", "b"]])
    named = moved.most_influential(3)[0]
    positions = np.argsort(-moved.values, axis=0, kind="stable")[:3].T
    np.testing.assert_array_equal(named, train.index.to_numpy()[positions])


def test_names_that_were_given_come_before_the_index(frames):
    train, test = frames
    names = [f"row {k}" for k in range(45)]
    moved = leave_one_out(bagged().fit(train[["a", "b"]], train.y, row_ids=names), test[["a", "b"]])
    assert set(moved.most_influential(2)[0].ravel()) <= set(names)


def test_without_names_rows_and_points_are_counted(frames):
    train, test = (frame[["a", "b"]].to_numpy() for frame in frames)
    moved = leave_one_out(bagged().fit(train, frames[0].y), test)
    assert moved.names.rows is None
    assert moved.to_frame().row.unique().tolist() == list(range(45))
    counted = frames[0].reset_index(drop=True)
    again = leave_one_out(bagged().fit(counted[["a", "b"]], counted.y), frames[1][["a", "b"]])
    assert again.names.rows is None


def test_classes_are_called_by_their_labels():
    X, y = load_iris(return_X_y=True, as_frame=True)
    labels = np.array(["setosa", "versicolor", "virginica"])[y]
    moved = leave_one_out(BaggedClassifier(DecisionTreeClassifier(), n_bags=50, random_state=0).fit(X, labels), X[:2])
    assert moved.to_frame()["class"].unique().tolist() == ["setosa", "versicolor", "virginica"]
    assert moved.in_norm().to_frame().columns.tolist()[:3] == ["row", "point", "prediction"]
    refits = leave_one_out_refit(DecisionTreeClassifier(random_state=0), X, labels, X[:2], rows=[0, 1])
    assert refits.to_frame()["class"].unique().tolist() == ["setosa", "versicolor", "virginica"]


def test_predictions_made_once_keep_the_names_of_their_points(frames):
    train, test = frames
    model = bagged().fit(train[["a", "b"]], train.y)
    once = model.predict_once(test[["a", "b"]])
    assert leave_one_out(model, once).to_frame().point.unique().tolist() == test.index.tolist()
    assert leave_one_out(model, once[3:5]).to_frame().point.unique().tolist() == test.index[3:5].tolist()


@pytest.mark.parametrize("ending", [".npz", ".json"])
def test_names_survive_a_file(frames, ending, tmp_path):
    train, test = frames
    days = pd.Series(pd.date_range("2020-01-01", periods=9).repeat(5), name="day")
    moved = leave_one_out(bagged().fit(train[["a", "b"]], train.y, groups=days), test[["a", "b"]])
    moved.save(tmp_path / f"moved{ending}")
    again = Perturbations.load(tmp_path / f"moved{ending}")
    assert again.noun == moved.noun
    assert again.names.points.tolist() == test.index.tolist()
    assert again.names.rows[0] == "2020-01-01T00:00:00.000000000"
    assert again.to_frame().shape == moved.to_frame().shape


def test_names_are_written_as_numbers_and_texts():
    names = Names(np.array([1, "a", (2, "b")], dtype=object), pd.Index([3, 4]), np.array([True, False]))
    written = json.loads(json.dumps(names.to_dict()))
    assert written == {"rows": [1, "a", "(2, 'b')"], "points": [3, 4], "classes": [True, False]}
    again = Names.from_dict(written)
    assert again.points.tolist() == [3, 4]
    assert again.classes.tolist() == [True, False]
    assert Names.from_dict({}).of_rows(np.array([5])).tolist() == [5]


def test_counted_units_have_no_names():
    assert Names.of(Units(RowIds(None, 3))).rows is None
    assert Names.of(Units.of_groups([5, 5, 7], 3)).rows.tolist() == [5, 7]
