import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.tree import DecisionTreeClassifier

from stablebag import BaggedClassifier, leave_one_out, leave_one_out_refit
from stablebag._wording import Noun
from stablebag.deciding import selection_stability
from stablebag.measuring import Perturbations
from stablebag.measuring.perturbations import Names
from stablebag.showing.study import HELD_OUT, Decisions


@pytest.fixture(scope="module")
def wine():
    X, y = load_wine(return_X_y=True)
    return BaggedClassifier(DecisionTreeClassifier(), n_bags=60, random_state=0), X[::2], y[::2], X[1::2]


def by_hand(by_point, by_row=(1, 0, 3), suggested=(), refitted=(0, 1, 2), **about):
    about = {"names": Names(), "noun": Noun(), "points": HELD_OUT, **about}
    pairs = np.array(suggested, dtype=int).reshape(-1, 2)
    return Decisions(np.array(by_point), np.array(by_row), suggested=pairs, refitted=np.array(refitted), **about)


def test_suggestions_are_those_of_selection_stability(wine):
    model, X, y, points = wine
    model = model.fit(X, y)
    flips = selection_stability(model, points).flips["argmax"]
    assert flips.any()
    found = Decisions.suggested_by(model, points)
    np.testing.assert_array_equal(found.suggested[np.lexsort(found.suggested.T[::-1])], np.argwhere(flips))
    assert found.n_suggested == flips.any(axis=0).sum()
    assert found.n_flipped == 0
    of_bags = Decisions.of_perturbations(leave_one_out(model, points))
    assert sorted(map(tuple, of_bags.suggested)) == sorted(map(tuple, found.suggested))
    assert not len(of_bags.refitted)  # bags that are used again only suggest


def test_refits_confirm_what_they_flip_and_nothing_else(wine):
    model, X, y, points = wine
    suggested = Decisions.suggested_by(model.fit(X, y), points)
    rows = suggested.to_check(8, known=np.array([], dtype=int))
    counts = np.bincount(suggested.suggested[:, 0], minlength=len(y))
    assert len(rows) == 8
    assert counts[rows].min() >= np.delete(counts, rows).max()  # those that seem to flip most
    assert not set(suggested.to_check(8, known=rows)) & set(rows)
    refits = leave_one_out_refit(model, X, y, points, rows=rows, random_state=0)
    base = leave_one_out_refit(DecisionTreeClassifier(), X, y, points, rows=rows[:3], random_state=0)
    found, flips = suggested.checked(refits, base), refits.flips()
    np.testing.assert_array_equal(found.by_point, flips.sum(axis=0))
    np.testing.assert_array_equal(found.by_row[rows], flips.sum(axis=1))
    assert found.by_row.sum() == flips.sum()
    asked = [(row, point) for row, point in suggested.suggested.tolist() if row in rows]
    assert found.n_checked == len(asked)
    assert found.n_confirmed == sum(flips[rows.tolist().index(row), point] for row, point in asked) < len(asked)
    np.testing.assert_array_equal(found.same, flips[:3].sum(axis=0))
    np.testing.assert_array_equal(found.base, base.flips().sum(axis=0))


def test_the_conclusion_counts_decisions():
    told = "on a single training row: refitting without that row flips"
    assert by_hand([0, 2, 0]).conclusion() == f"Of 3 decisions, 1 hinges {told} it."
    assert by_hand([1, 2, 0]).conclusion() == f"Of 3 decisions, 2 hinge {told} them."
    assert by_hand([1, 2, 0], refitted=[0, 2]).conclusion() == f"Of 3 decisions, at least 2 hinge {told} them."
    assert by_hand([0, 0]).conclusion() == "Refitting without any of the 3 rows flips none of 2 decisions."
    some = by_hand([0, 0], refitted=[0, 2]).conclusion()
    assert some == "Refitting without each of 2 of the 3 rows flips none of 2 decisions."


def test_what_no_refit_has_checked_is_called_an_estimate():
    told = by_hand([0, 0, 0], suggested=[(0, 1), (2, 1)], refitted=[]).explain()
    assert told == (
        "The bags without each training row suggest that 1 of 3 decisions may hinge on a single one. This is an "
        "estimate with bagging noise: no refit has checked it."
    )
    none = by_hand([0, 0, 0], refitted=[]).explain()
    assert none == "The bags without each training row suggest that none of 3 decisions hinges on a single one."


def test_units_are_called_what_they_are():
    told = by_hand([0, 1], noun=Noun("patient", "patients")).conclusion()
    assert told == "Of 2 decisions, 1 hinges on a single patient: refitting without that patient flips it."


def test_checks_say_how_many_candidates_were_checked_and_confirmed():
    found = by_hand([0, 2, 1], suggested=[(0, 1), (0, 2), (1, 1)], refitted=[0, 2], n_confirmed=1)
    assert found.checks() == (
        "The bagged model was refitted without 2 of the 3 rows. Its bags suggest 3 flips of a decision by a single "
        "row: 2 were checked by these refits, and 1 confirmed."
    )
    assert by_hand([0, 2]).checks() == ""  # all rows were left out
    assert by_hand([0, 2], refitted=[0]).checks().endswith("Its bags suggest no flip.")


def test_the_base_model_is_compared_without_the_same_rows():
    both = by_hand([0, 2, 1], base=np.array([1, 1, 0]), same=np.array([0, 1, 0]), n_same=2)
    assert both.beside() == (
        "Without each of the same 2 rows, refits flip 2 decisions of the base model and 1 of the bagged model."
    )
    assert by_hand([0, 2]).beside() == ""
    assert both.explain() == f"{both.conclusion()} {both.beside()}"


def test_many_close_calls_are_named_in_the_advice_and_few_are_not():
    assert by_hand([1] * 6 + [0] * 94).advice() == (
        "6 of 100 decisions are close calls: have someone review them, or answer with sets of labels (stablebag sets)."
    )
    assert by_hand([1] * 4 + [0] * 96).advice() == ""
    assert by_hand([0] * 10).advice() == ""
    unsure = by_hand([0] * 10, suggested=[(0, 1), (1, 4)], refitted=[]).advice()
    assert unsure.startswith("2 of 10 decisions may be close calls")


def test_rows_that_flip_most_come_first_and_others_not_at_all():
    names, counts = by_hand([1, 3], names=Names(np.array(["ann", "bob", "eve"]))).most_flips(5)
    assert (names.tolist(), counts.tolist()) == (["eve", "ann"], [3, 1])


def test_rows_that_were_not_left_out_flip_nothing():
    left_out = np.array([[[0.4, 0.6]], [[0.9, 0.1]]])
    found = Decisions.of_perturbations(Perturbations(np.array([[0.6, 0.4]]), left_out, rows=np.array([3, 1])))
    assert found.by_row.tolist() == [0, 0, 0, 1]
    assert found.most_flips()[0].tolist() == [3]
