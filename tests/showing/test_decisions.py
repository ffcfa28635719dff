import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.tree import DecisionTreeClassifier

from stablebag import BaggedClassifier, Perturbations, leave_one_out, selection_stability
from stablebag._wording import Noun
from stablebag.measuring.names import Names
from stablebag.showing.decisions import Decisions


@pytest.fixture(scope="module")
def wine():
    X, y = load_wine(return_X_y=True)
    return BaggedClassifier(DecisionTreeClassifier(), n_bags=60, random_state=0).fit(X[::2], y[::2]), X[1::2]


def by_hand(by_point, by_row=(1, 0, 3), **about):
    about = {"names": Names(), "noun": Noun(), **about}
    return Decisions(np.array(by_point), np.array(by_row), **about)


def test_counts_are_those_of_selection_stability(wine):
    model, points = wine
    flips = selection_stability(model, points).flips["argmax"]
    assert flips.any()
    found = Decisions.of_model(model, points)
    np.testing.assert_array_equal(found.by_point, flips.sum(axis=0))
    np.testing.assert_array_equal(found.by_row, flips.sum(axis=1))
    assert found.n_flipped == flips.any(axis=0).sum()


def test_perturbations_give_the_same_counts(wine):
    model, points = wine
    found, at_hand = Decisions.of_model(model, points), Decisions.of_perturbations(leave_one_out(model, points))
    np.testing.assert_array_equal(found.by_point, at_hand.by_point)
    np.testing.assert_array_equal(found.by_row, at_hand.by_row)
    assert at_hand.conclusion().startswith("Of 89 points, ")


def test_the_conclusion_counts_decisions():
    told = "a decision that some single training row flips when it is left out"
    assert by_hand([0, 2, 0]).conclusion() == f"Of 3 held-out rows, 1 has {told}; for 2 none does."
    assert by_hand([1, 2, 0]).conclusion() == f"Of 3 held-out rows, 2 have {told}; for 1 none does."
    assert by_hand([0, 0]).conclusion() == f"Of 2 held-out rows, none has {told}."
    assert by_hand([4, 1]).conclusion() == f"Of 2 held-out rows, all have {told}."


def test_units_are_called_what_they_are():
    told = by_hand([0, 1], noun=Noun("patient", "patients")).conclusion()
    assert "some single patient flips when all rows of that patient are left out; for 1 none does." in told


def test_the_base_learner_is_compared_at_the_same_points():
    same = np.array([0, 1, 0])  # by 2 of the 3 rows
    told = by_hand([0, 2, 1, 1], base=np.array([1, 1, 0]), n_refits=2, same=same).beside()
    assert told == (
        "At the first 3 of them the base learner, refitted without each of 2 of the 3 rows, has 2 such decisions, and "
        "the bagged model, without each of the same rows, has 1."
    )
    everywhere = by_hand([0, 2], base=np.array([1, 1]), n_refits=3)
    assert everywhere.beside().startswith("At the same held-out rows the base learner, refitted without each of the 3 ")
    assert everywhere.beside().endswith(
        "has 2 such decisions, and the bagged model, without each of the same rows, has 1."
    )
    assert by_hand([0, 2]).beside() == ""
    assert everywhere.explain() == f"{everywhere.conclusion()} {everywhere.beside()}"


def test_rows_that_flip_most_come_first_and_others_not_at_all():
    names, counts = by_hand([1, 3], names=Names(np.array(["ann", "bob", "eve"]))).most_flips(5)
    assert (names.tolist(), counts.tolist()) == (["eve", "ann"], [3, 1])


def test_rows_that_were_not_left_out_flip_nothing():
    left_out = np.array([[[0.4, 0.6]], [[0.9, 0.1]]])
    found = Decisions.of_perturbations(Perturbations(np.array([[0.6, 0.4]]), left_out, rows=np.array([3, 1])))
    assert found.by_row.tolist() == [0, 0, 0, 1]
    assert found.most_flips()[0].tolist() == [3]
