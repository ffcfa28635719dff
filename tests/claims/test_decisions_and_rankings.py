"""Sentences about choices, rankings and decisions, held against leaving out every row."""

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

from claims.reading import joined, number_after
from stablebag import BaggedClassifier, BaggedRegressor, Subbagging, leave_one_out_refit, select_model, stable_ranking
from stablebag._wording import percent
from stablebag.deciding import RankSets, selection_stability


def lottery(rng, draw):
    """A function of the set of rows alone, and otherwise as wild as it can be."""
    known = {}

    def function(X, y):
        return known.setdefault(tuple(sorted(X[:, 0])), None) or known.update(
            {tuple(sorted(X[:, 0])): (found := draw(rng))}
        ) or found  # fmt: skip

    return function


def lost_by(text, lost):
    """Whether fewer rows are lost than a guarantee allows, in all of its sentences."""
    allowed = [int(rows) for rows in re.findall(r"for all but at most (\d+) of the", joined(text))]
    return (not allowed or lost <= min(allowed)) and not ("for each of the" in joined(text) and lost)


@pytest.mark.parametrize("epsilon", [0.3, 0.5, 0.7, 1.0])
def test_selections_have_a_choice_in_common_for_as_many_rows_as_is_said(epsilon, seed):
    rng, X, spoken = np.random.default_rng(seed), np.arange(7.0)[:, None], 0
    for _ in range(12):
        selector = lottery(rng, lambda rng: "abc"[rng.choice(3, p=rng.dirichlet(np.full(3, 0.4)))])
        selection = select_model(
            selector, X, None, epsilon=epsilon, bagging=BaggedRegressor(scheme=Subbagging(2), n_bags="all")
        )
        lost = int((~selection.leave_one_out().overlaps).sum())
        assert lost_by(selection.guarantee, lost), selection.guarantee
        spoken += "Proved" in selection.guarantee
        assert ("Nothing is proved at epsilon" in selection.guarantee) == (selection.delta >= 1)
    assert spoken or epsilon < 0.5


@pytest.mark.parametrize("epsilon", [0.1, 0.2, 0.4])
def test_rankings_have_k_items_and_a_ranking_in_common_for_as_many_rows_as_is_said(epsilon, seed):
    rng, X = np.random.default_rng(seed), np.arange(7.0)[:, None]
    for _ in range(12):
        scores = lottery(rng, lambda rng: tuple(rng.dirichlet(np.full(4, 0.4))))
        ranking = stable_ranking(
            scores, X, None, k=2, epsilon=epsilon, bagging=BaggedRegressor(scheme=Subbagging(2), n_bags="all")
        )
        left_out = ranking.leave_one_out()
        lost = int((~(left_out.keeps_ranking & left_out.keeps_top_k)).sum())
        assert lost_by(ranking.guarantee, lost), ranking.guarantee
        assert ("nothing is decided" in joined(ranking)) == (len(ranking.top_k) == 4)
        assert number_after(ranking, "(radius") >= np.sqrt(3 / 4)
        assert joined(left_out).count(f" {int(left_out.changes_order.sum())} of them") == 1


def test_shares_of_votes_are_only_rounded_to_all_or_none_if_they_are():
    X = np.arange(40.0)[:, None]
    some = select_model(lambda X, y: bool(X.sum() > 400), X, None, bagging=BaggedRegressor(n_bags=200, random_state=0))
    nearly = joined(replace(some, choices=["first", "second"], shares=np.array([0.9996, 0.0004])))
    assert "first (over 99.9%)" in nearly
    assert "100" not in nearly
    both = replace(some, choices=["first", "second"], shares=np.array([0.9996, 0.0004]), is_selected=np.ones(2, bool))
    assert "second (under 0.1%)" in joined(both)
    same = select_model(lambda X, y: "same", X, None, bagging=BaggedRegressor(n_bags=200, random_state=0))
    assert "All bags make the same choice (200 bags), which is selected: same (100%)." in joined(same)
    for share in (0.0004, 0.9996, 0.5, 1e-300, 1 - 1e-15):
        assert percent(share) not in ("0%", "100%")


def test_where_nothing_is_decided_only_what_helps_is_named():
    X, y = np.arange(40.0)[:, None], None

    def told(X=X[:8], n_bags=500, **options):
        bagging = BaggedRegressor(n_bags=n_bags, random_state=0)
        return joined(select_model(lambda X, y: float(X.sum()), X, y, bagging=bagging, **options))

    drawn = told(X, n_bags=100)
    assert "Use a selector with fewer possible choices, smaller bags, more of them, or a larger delta." in drawn
    every = told(n_bags="all")
    assert "more of them" not in every  # there are no more
    assert "or a larger delta." in every
    given = told(n_bags="all", epsilon=0.9)
    assert "or a smaller epsilon." in given
    assert "delta." not in given.split("Use ")[1].split(" Proved")[0]
    same = joined(
        select_model(lambda X, y: 1, X[:8], y, bagging=BaggedRegressor(n_bags=30, random_state=0))
    )  # too few bags for any votes
    assert "whatever the votes (here 1 (100%)), every choice is selected" in same
    assert "Use smaller bags, more of them, or a larger delta." in same
    assert "Nothing is decided" not in joined(
        select_model(lambda X, y: 1, X, y, bagging=BaggedRegressor(n_bags=100, random_state=0))
    )


def test_names_of_groups_stay_as_they_are():
    X, groups = (
        np.arange(8.0)[:, None],
        pd.Series(["row 1", "row 1", "row 2", "row 2", "a", "a", "b", "b"], name="pupil"),
    )
    selection = select_model(
        lambda X, y: bool((X < 2).any()), X, None, groups=groups, bagging=BaggedRegressor(n_bags="all")
    )
    measured = selection.leave_one_out()
    measured = type(measured)(np.array([True, False, True, True]), *[getattr(measured, name) for name in (
        "overlaps", "distance", "names", "noun")])  # fmt: skip
    assert "the choice with the most votes changes for 3 of them (row 1, a, b)." in joined(measured)


def test_too_small_an_epsilon_is_blamed_on_the_bags_where_they_are_few():
    X = np.arange(2000.0)[:, None]
    few = select_model(
        lambda X, y: bool(X.mean() > 900), X, None, epsilon=0.3, bagging=BaggedRegressor(n_bags=5, random_state=0)
    )
    assert "Nothing is proved at epsilon = 0.3: it is too small for 2,000 rows with 5 bags." in joined(few)
    X = np.arange(6.0)[:, None]
    small = select_model(lambda X, y: bool(X.mean() > 2), X, None, epsilon=0.01, bagging=BaggedRegressor(n_bags="all"))
    assert joined(small).endswith("it is too small for 6 rows.")


def test_with_all_bags_a_row_that_is_said_to_flip_a_decision_does_flip_it_on_refitting(seed):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(8, 2)), np.array(list("abababab"))
    tree = DecisionTreeClassifier(random_state=0)
    model = BaggedClassifier(tree, scheme=Subbagging(4), n_bags="all", random_state=0).fit(X, y)
    measured = selection_stability(model, X)
    refitted = leave_one_out_refit(model, X, y, X).flips()
    assert (measured.flips["argmax"] == refitted).all()
    at, most = int(refitted.any(axis=0).sum()), int(refitted.sum(axis=0).max())
    rows = "1 row does" if most == 1 else f"{most} rows do"
    said = (
        f"some row flips the decision at {at} of 8 points; at the worst point, {rows}."
        if at
        else "no row flips any decision."
    )
    assert f"- argmax: {said}" in joined(measured)
    assert "noise" not in joined(measured)  # there is none


def test_flips_by_bags_that_were_drawn_may_be_noise_and_are_said_to_be(seed):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(30, 2)), rng.choice(["a", "b"], 30)
    model = BaggedClassifier(DecisionTreeClassifier(), n_bags=40, random_state=seed).fit(X, y)
    assert "A flip may be bagging noise: refit without the row to be sure." in joined(selection_stability(model, X))
    assert joined(selection_stability(model, X[:1])).startswith(
        "Measured at this point with the fitted bags, leaving out each of 30 rows"
    )


def test_rank_sets_show_rankings_that_are_in_them():
    for epsilon in (0.0, 0.1, 1.0):
        rankings = RankSets([0.5, 0.45, 0.2], epsilon)
        shown = [tuple(map(int, found.split(", "))) for found in re.findall(r"\(([\d, ]+)\)", repr(rankings))]
        assert all(ranking in rankings for ranking in shown)
        assert ("..." in repr(rankings)) == (rankings.size() > len(shown))
