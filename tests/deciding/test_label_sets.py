"""Label sets: what they hold, say and refuse."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_wine
from sklearn.neighbors import KNeighborsClassifier

from stablebag import BaggedClassifier, BaggedRegressor, Subbagging, certify, inflated_argmax, predict_set
from stablebag.deciding import LabelSets


@pytest.fixture(scope="module")
def wine():
    X, y = load_wine(return_X_y=True, as_frame=True)
    names = np.array(["barolo", "grignolino", "barbera"])
    X.index = [f"bottle {i}" for i in X.index]
    return X, names[y]


@pytest.fixture(scope="module")
def model(wine):
    X, y = wine
    return BaggedClassifier(n_bags=100, random_state=0).fit(X[::2], y[::2])


@pytest.fixture(scope="module")
def sets(model, wine):
    return predict_set(model, wine[0][1::2], delta=0.1)


def test_members_are_those_of_the_rule_at_the_averaged_probabilities(model, wine, sets):
    points = wine[0][1::2]
    assert (sets.prediction == model.predict_proba(points)).all()
    assert (sets.members == inflated_argmax(model.predict_proba(points), sets.epsilon)).all()
    assert (sets.labels == model.classes_).all()
    assert sets.delta == 0.1


def test_a_given_epsilon_is_used_at_all_points_and_delta_follows(model, wine):
    sets = predict_set(model, wine[0][1::2], epsilon=0.3)
    assert (sets.epsilon == 0.3).all()
    assert 0 < sets.delta < 1
    assert (sets.members == inflated_argmax(sets.prediction, 0.3)).all()
    assert sets.delta > predict_set(model, wine[0][1::2], epsilon=0.4).delta


def test_predictions_of_single_bags_and_blocks_of_points_give_the_same(model, wine, sets, monkeypatch):
    points = wine[0][1::2]
    assert (predict_set(model, model.predict_once(points), delta=0.1).members == sets.members).all()
    monkeypatch.setattr("stablebag.deciding.label_sets._ONCE", 0)
    monkeypatch.setattr("stablebag.models.ensemble._BLOCK_BYTES", 8 * 100 * 3 * 7)
    by_parts = predict_set(model, points, delta=0.1)
    assert (by_parts.members == sets.members).all()
    assert (by_parts.prediction == sets.prediction).all()
    assert list(by_parts.to_frame().index) == list(points.index)


def test_the_frame_has_the_names_of_points_and_classes(wine, sets):
    frame = sets.to_frame()
    assert list(frame.columns) == ["barbera", "barolo", "grignolino"]
    assert list(frame.index) == list(wine[0].index[1::2])
    assert (frame.to_numpy() == sets.members).all()


def test_summaries_are_what_they_say():
    members = np.array([[True, False], [True, True], [False, False], [False, True]])
    prediction = np.array([[0.9, 0.1], [0.4, 0.6], [0.5, 0.5], [0.2, 0.8]])
    sets = LabelSets(members, np.array(["a", "b"]), prediction, "inflated-argmax", "None.")
    y = ["a", "b", "a", "a"]
    assert sets.sizes.tolist() == [1, 2, 0, 1]
    assert sets.singletons == 0.5
    assert sets.contains(y).tolist() == [True, True, False, False]
    assert sets.coverage(pd.Series(y)) == 0.5
    assert sets.correct_singletons(y) == 0.25
    assert sets.to_list() == [["a"], ["b", "a"], [], ["b"]]
    assert len(sets) == 4
    with pytest.raises(ValueError, match="read-only"):
        sets.members[0, 0] = False


def test_a_label_that_the_model_does_not_know_is_in_no_set_and_labels_of_another_kind_are_refused(sets):
    y = ["barolo"] * 88 + ["merlot"]
    assert not sets.contains(y)[-1]
    assert not sets.contains(["merlot"] * 89).any()
    assert sets.coverage(["merlot"] * 89) == sets.correct_singletons(["merlot"] * 89) == 0
    with pytest.raises(ValueError, match=r"same kind as the model's.*'barbera', 'barolo', 'grignolino'"):
        sets.contains(np.zeros(89))
    for wrong in (["barolo"], None, "barolo", [["barolo", "merlot"]] * 89):
        with pytest.raises(ValueError, match=r"'y' parameter of LabelSets\.contains must be 89 labels"):
            sets.contains(wrong)


def test_a_given_epsilon_is_printed_as_it_was_given(model, wine):
    assert "with epsilon 0.9:" in predict_set(model, wine[0][1::2], epsilon=0.9).explain()


def test_sets_say_what_they_are(sets, model, wine):
    said = sets.explain()
    assert str(sets) == said
    assert "89 sets of labels by inflated-argmax with epsilon up to" in said
    assert "a label in common" in said
    one = predict_set(model, wine[0][1:2], epsilon=0.25)
    assert "1 set of labels by inflated-argmax with epsilon 0.25:" in one.explain()
    page = sets._repr_html_()
    assert "<th>bottle 1</th><td>barolo</td>" in page
    assert "and 79 more" in page


def test_names_are_escaped_in_notebooks():
    sets = LabelSets(np.ones((1, 1), bool), np.array(["<b>"]), np.ones((1, 1)), "inflated-argmax", "a < b")
    assert "<b>" not in sets._repr_html_()


def test_groups_are_what_is_left_out(wine):
    X, y = wine
    groups = pd.Series(np.arange(89) // 3, name="estate")
    model = BaggedClassifier(n_bags=100, random_state=0).fit(X[::2], y[::2], groups=groups.to_numpy())
    said = predict_set(model, X[1::2], delta=0.1).guarantee
    assert "for all but at most 3 of the 30 groups" in said
    assert "row" not in said
    covering = predict_set(model, X[1::2], method="jackknife+", confidence_level=0.8)
    assert "a row drawn at random from a new group: coverage of each class is at least 0.6" in covering.guarantee


@pytest.mark.slow
def test_all_bags_have_sets_too(wine):
    X, y = wine[0][::10], wine[1][::10]
    model = BaggedClassifier(KNeighborsClassifier(3), scheme=Subbagging(3), n_bags="all").fit(X, y)
    stable = predict_set(model, X, delta=0.1)
    assert "the average over all bags" in stable.guarantee
    np.testing.assert_allclose(stable.prediction, model.predict_proba(X))
    covering = predict_set(model, X, method="jackknife+", confidence_level=0.8)
    assert "typically it is near 0.8. A class without training rows is in no set" in covering.guarantee


def test_what_makes_no_sense_is_refused(model, wine):
    X = wine[0]
    for options, said in (
        ({"method": "argmax"}, "one of"),
        ({"delta": 2.0}, "share of the training rows"),
        ({"epsilon": -0.1}, "epsilon"),
        ({"confidence_level": 1.0}, "between 0 and 1"),
        ({"method": "jackknife+", "epsilon": 0.1}, "Use the inflated argmax"),
        ({"method": "jackknife+", "certificate": certify(model, vector=True)}, "None for the jackknife"),
    ):
        with pytest.raises(ValueError, match=said):
            predict_set(model, X, **options)
    with pytest.raises(TypeError, match="use predict_interval"):
        predict_set(BaggedRegressor(n_bags=10).fit(X[::2], np.arange(89.0)), X)


def test_too_high_a_level_has_all_labels_and_says_so(model, wine):
    overall = {"method": "jackknife+", "by_class": False}
    with pytest.warns(UserWarning, match="The sets have all labels: level 0.995 asks for 89.55 of 89 training rows"):
        assert predict_set(model, wine[0], **overall, confidence_level=0.995).members.all()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        predict_set(model, wine[0], **overall, confidence_level=0.98)


def test_coverage_by_class_has_every_class_of_the_points(sets, wine):
    y = wine[1][1::2].copy()
    inside = sets.contains(y)
    assert sets.coverage_by_class(y) == {label: inside[y == label].mean() for label in sets.labels.tolist()}
    y[:2] = "merlot"
    assert list(sets.coverage_by_class(y)) == ["barbera", "barolo", "grignolino", "merlot"]
    assert sets.coverage_by_class(y)["merlot"] == 0
    assert list(sets.coverage_by_class(["barolo"] * 89)) == ["barolo"]
