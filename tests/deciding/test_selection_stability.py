"""Which rows flip which decisions."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_wine
from sklearn.neighbors import KNeighborsClassifier

from stablebag import BaggedClassifier, BaggedRegressor, Subbagging, inflated_argmax, leave_one_out
from stablebag.deciding import selection_stability
from stablebag.deciding.selection import RULES


@pytest.fixture(scope="module")
def wine():
    X, y = load_wine(return_X_y=True, as_frame=True)
    X.index = [f"bottle {i}" for i in X.index]
    return X[["alcohol", "ash"]], y.to_numpy()  # two columns are not enough to be sure


@pytest.fixture(scope="module")
def model(wine):
    X, y = wine
    return BaggedClassifier(n_bags=80, random_state=0).fit(X[::2], y[::2])


@pytest.fixture(scope="module")
def measured(model, wine):
    return selection_stability(model, wine[0][1::2], delta=0.3)


def test_flips_are_those_of_leave_one_out(model, wine, measured):
    moved = leave_one_out(model, wine[0][1::2])
    epsilon = measured.sets.epsilon
    assert (measured.flips["argmax"] == moved.flips()).all()
    with_all = inflated_argmax(moved.prediction, epsilon)
    disjoint = np.array([~(inflated_argmax(line, epsilon) & with_all).any(axis=1) for line in moved.left_out])
    assert (measured.flips["inflated-argmax"] == disjoint).all()
    assert measured.delta("inflated-argmax") == pytest.approx(disjoint.mean(axis=0))


def test_the_argmax_is_flipped_where_sets_are_not(measured):
    assert measured.delta("argmax").max() > 0
    assert measured.delta("inflated-argmax").max() <= measured.sets.delta


def test_rows_that_flip_are_called_by_their_names(model, wine, measured):
    point = int(measured.delta().argmax())
    names = measured.rows_that_flip(point)
    assert len(names) == measured.flips["argmax"][:, point].sum()
    assert set(names) <= set(wine[0].index[::2])
    calm = int(measured.delta().argmin())
    assert len(measured.rows_that_flip(calm)) == 0
    row = list(wine[0].index[::2]).index(names[0])
    left_out = leave_one_out(model, wine[0][1::2]).left_out[row, point]
    assert left_out.argmax() != measured.sets.prediction[point].argmax()


def test_the_frame_has_a_line_per_point(wine, measured):
    frame = measured.to_frame()
    assert list(frame.columns) == list(RULES)
    assert list(frame.index) == list(wine[0].index[1::2])
    assert frame["argmax"].to_numpy() == pytest.approx(measured.delta())


def test_it_says_what_was_measured_and_what_is_proved(measured):
    said = str(measured)
    assert repr(measured).splitlines()[0].split() == ["point", "argmax", "inflated-argmax"]
    assert "Measured at these 89 points by leaving out each of 89 rows" in said
    assert "Proved for these 80 bags as they were drawn" in said
    assert "Measured" in measured._repr_html_()


def test_units_are_left_out_where_there_are_groups(wine):
    X, y = wine
    groups = pd.Series([f"estate {i}" for i in np.arange(89) // 3], name="estate_id")
    model = BaggedClassifier(n_bags=80, random_state=0).fit(X[::2], y[::2], groups=groups)
    measured = selection_stability(model, X[1::2], epsilon=0.2)
    assert measured.flips["argmax"].shape == (30, 89)
    assert "by leaving out each of 30 estates" in str(measured)
    assert " row" not in str(measured)
    assert measured.rows_that_flip(int(measured.delta().argmax()))[0].startswith("estate ")


@pytest.mark.slow
def test_blocks_do_not_matter(model, wine, measured, monkeypatch):
    X, y = wine
    labels = y[:40] + np.arange(40) % 2
    listed = BaggedClassifier(KNeighborsClassifier(1), scheme=Subbagging(2), n_bags="all").fit(X[:40], labels)
    whole = selection_stability(listed, X[1::2], delta=0.3)
    monkeypatch.setattr("stablebag.measuring.leave_one_out._LEFT_OUT", 1000)
    monkeypatch.setattr("stablebag.deciding.label_sets._ONCE", 0)
    for one, model_, points in ((measured, model, X[1::2]), (whole, listed, X[1::2])):
        again = selection_stability(model_, points, delta=0.3)
        assert all((again.flips[rule] == one.flips[rule]).all() for rule in RULES)


def test_what_makes_no_sense_is_refused(wine, measured):
    with pytest.raises(ValueError, match="one of"):
        measured.delta("majority")
    with pytest.raises(ValueError, match="below the number of points, 89"):
        measured.rows_that_flip(89)
    with pytest.raises(ValueError, match=">= 0"):
        measured.rows_that_flip(-1)
    with pytest.raises(ValueError, match="read-only"):
        measured.flips["argmax"][0, 0] = True
    with pytest.raises(TypeError, match="The 'model' parameter of selection_stability"):
        selection_stability(BaggedRegressor(), wine[0])
