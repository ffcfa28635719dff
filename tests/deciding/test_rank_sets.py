import itertools
import pickle

import numpy as np
import pytest

from stablebag import inflated_argmax
from stablebag.deciding import RankSets
from stablebag.deciding.ranking import common_rounds


def listed(scores, epsilon):
    """All rankings of the set, by going through all permutations."""
    items = range(len(scores))

    def fits(ranking):
        steps = (inflated_argmax(np.asarray(scores)[list(ranking[place:])], epsilon)[0] for place in items)
        return all(steps)

    return {ranking for ranking in itertools.permutations(items) if fits(ranking)}


def random_pair(rng):
    scores = rng.random(rng.integers(1, 6)).round(rng.choice([1, 15]))
    step = rng.normal(size=len(scores))
    return scores, step / np.linalg.norm(step)


def test_the_rankings_of_the_golden_scores():
    rankings = RankSets([0.5, 0.45, 0.2], 0.1)
    assert set(rankings) == {(0, 1, 2), (1, 0, 2)} == listed([0.5, 0.45, 0.2], 0.1)


@pytest.mark.slow
def test_listing_counting_and_membership_are_those_of_the_definition():
    rng = np.random.default_rng(0)
    for _ in range(150):
        scores, _ = random_pair(rng)
        rankings, expected = RankSets(scores, 0.3), listed(scores, 0.3)
        assert len(list(rankings)) == rankings.size() == len(expected)
        assert set(rankings) == expected
        every = itertools.permutations(range(len(scores)))
        assert {ranking for ranking in every if ranking in rankings} == expected
        assert rankings.first(1)[0] == tuple(np.argsort(-scores, kind="stable"))


def test_the_search_finds_a_common_ranking_exactly_if_there_is_one():
    rng, found = np.random.default_rng(1), set()
    for _ in range(300):
        scores, step = random_pair(rng)
        one, other = RankSets(scores, 0.15), RankSets(scores + step * rng.choice([0.2, 0.4, 0.8]), 0.15)
        both = set(one) & set(other)
        common = one.common(other)
        assert one.intersects(other) == other.intersects(one) == bool(both)
        assert common in both if both else common is None
        found.add(bool(both))
    assert found == {True, False}


def test_scores_less_than_epsilon_apart_have_a_ranking_in_common():
    rng = np.random.default_rng(2)
    for _ in range(1000):
        scores, step = random_pair(rng)
        epsilon = rng.choice([0.05, 0.3, 0.9])
        other = RankSets(scores + step * epsilon * (1 - 1e-6), epsilon)
        assert RankSets(scores, epsilon).intersects(other)


def test_many_items_are_searched_without_listing_their_rankings():
    scores = np.linspace(0, 0.01, 120)
    one, other = RankSets(scores, 0.1), RankSets(scores[::-1], 0.1)
    assert one.intersects(other)
    assert len(one.first(5)) == 5
    with pytest.raises(ValueError, match="more than 10,000 rankings"):
        one.size()
    assert repr(one).endswith(", ...")


def test_near_ties_among_many_items_are_decided_without_trying_their_orders():
    """Items 38 and 39 are swapped far apart, behind 38 others that may be ranked in any order: 2^38 sets of them."""
    scores = np.concatenate([np.linspace(1.0, 1.001, 38), [0.5, 0.0]])
    other = scores.copy()
    other[38:] = other[38:][::-1]
    one = RankSets(scores, 0.1)
    assert not one.intersects(RankSets(other, 0.1))
    assert one.common(RankSets(scores, 0.1)) in one
    rounds = common_rounds(scores, np.stack([scores, other]), 0.1)
    assert (rounds[0] >= 0).all()
    assert np.flatnonzero(rounds[1] < 0).tolist() == [38, 39]


def test_sets_of_different_epsilon_are_compared_each_with_its_own():
    wide, narrow = RankSets([0.5, 0.45], 0.1), RankSets([0.4, 0.5], 0.01)
    assert wide.common(narrow) == narrow.common(wide) == (1, 0)
    assert not RankSets([0.5, 0.45], 0.01).intersects(narrow)


def test_asking_leaves_nothing_behind_that_would_be_stored():
    rankings = RankSets(np.linspace(0, 0.01, 60), 0.1)
    before = len(pickle.dumps(rankings))
    rankings.first(50)
    rankings.intersects(RankSets(np.linspace(0.01, 0, 60), 0.1))
    assert len(pickle.dumps(rankings)) == before


def test_what_is_no_ranking_of_these_items_is_refused():
    rankings = RankSets([0.5, 0.45, 0.2], 0.1)
    with pytest.raises(ValueError, match="every item once"):
        _ = (0, 1, 1) in rankings
    with pytest.raises(TypeError, match="a sequence of the numbers"):
        _ = 3 in rankings
    with pytest.raises(ValueError, match="the same items"):
        rankings.common(RankSets([0.5], 0.1))
    with pytest.raises(TypeError, match="RankSets of the same items"):
        rankings.intersects([(0, 1, 2)])
    with pytest.raises(ValueError, match="finite numbers, one for each item"):
        RankSets([[0.5]], 0.1)
    for scores in (["a", "b"], [[0.1], [0.2, 0.3]]):
        with pytest.raises(ValueError, match="'scores' parameter of RankSets must be an array of numbers"):
            RankSets(scores, 0.1)
