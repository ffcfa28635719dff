"""Selections, top k and rankings never change for more rows than is proved, for any selector: all bags are listed."""

import itertools
import math

import numpy as np
import pytest

from grids import first, together
from stablebag import BaggedRegressor, BernoulliSubbagging, ClassicalBagging, Subbagging, select_model
from stablebag.deciding import RankSets, top_k_sets
from theorems.enumeration import enumerate_law

SCHEMES = [Subbagging(2), Subbagging(3), BernoulliSubbagging(0.5), ClassicalBagging(3)]


def selectors(n, rng):
    """Functions of which rows are in a bag: lookups, memorizers, thresholds, and many choices or few."""
    for n_choices in (2, 3, 8, 60):
        table = {}
        yield lambda rows, table=table, k=n_choices: table.setdefault(rows, int(rng.integers(k)))
    yield lambda rows: 0 in rows
    yield lambda rows: rows
    yield lambda rows: min(rows, default=-1)
    for _ in range(4):
        signs = rng.choice([-1, 1], n)
        yield lambda rows, signs=signs: bool(sum(signs[list(rows)]) > 0)
        weights = rng.normal(size=(3, n))
        yield lambda rows, weights=weights: int(weights[:, list(rows)].sum(axis=1).argmax())


@pytest.mark.parametrize("n", first([4, 5, 6]))
@together(scheme=SCHEMES)
def test_selections_without_a_row_have_nothing_in_common_for_at_most_a_share_delta(scheme, n):
    rng, rows = np.random.default_rng(n), np.arange(n)[:, None]
    disjoint = 0
    for selector in selectors(n, rng):
        for wish in ({"delta": 1 / n}, {"delta": 0.5}, {"epsilon": 0.01}, {"epsilon": 0.2}, {"epsilon": 0.35}):
            choose = lambda X, y, selector=selector: selector(frozenset(X[:, 0].tolist()))  # noqa: E731
            selection = select_model(choose, rows, None, bagging=BaggedRegressor(scheme=scheme, n_bags="all"), **wish)
            measured = selection.leave_one_out()
            assert measured.instability <= selection.delta + 1e-12
            if selection.vote_delta is not None:
                assert measured.instability <= selection.vote_delta + 1e-12
            near = measured.distance < selection.epsilon
            assert measured.overlaps[near].all()
            disjoint += int((~measured.overlaps).sum())
    assert disjoint > 0  # at small epsilon some selectors do lose what they had


@pytest.mark.parametrize("scheme", first(SCHEMES), ids=str)
def test_scores_in_a_simplex_or_box_keep_k_items_and_a_ranking_for_all_but_a_share_delta(scheme):
    rng = np.random.default_rng(0)
    law = scheme.resolve(6)
    ensemble = enumerate_law(law)
    for n_items, corner in itertools.product([2, 3, 4], [True, False]):
        for _ in range(10):
            raw = np.eye(n_items)[rng.integers(n_items, size=len(ensemble.bags))]
            raw = raw if corner else rng.integers(0, 2, raw.shape).astype(float)
            radius = math.sqrt(1 - 1 / n_items) if corner else math.sqrt(n_items) / 2
            scores, left_out = ensemble.weights @ raw, np.stack([ensemble.left_out(column) for column in raw.T], axis=1)
            for delta in (1 / 6, 0.5):
                epsilon = radius * math.sqrt(law.constant / delta)
                kept = top_k_sets(scores, 2, epsilon) & top_k_sets(left_out, 2, epsilon)
                assert (kept.sum(axis=1) < 2).mean() <= delta
                rankings = RankSets(scores, epsilon)
                lost = [not rankings.intersects(RankSets(line, epsilon)) for line in left_out]
                assert np.mean(lost) <= delta
