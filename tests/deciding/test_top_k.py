import numpy as np
import pytest

from stablebag import inflated_argmax
from stablebag.deciding import top_k_sets

SCORES = [0.9, 0.6, 0.55, 0.52, 0.1]


@pytest.mark.parametrize(("k", "items"), [(1, {0}), (2, {0, 1, 2}), (3, {0, 1, 2, 3}), (5, {0, 1, 2, 3, 4})])
def test_the_sets_of_the_golden_scores(k, items):
    assert set(np.flatnonzero(top_k_sets(SCORES, k, 0.1))) == items


def by_the_other_definition(scores, k, epsilon):
    """Item j is in the set if it is in the inflated argmax without the k - 1 largest of the other items."""
    found = []
    for item, score in enumerate(scores):
        others = np.sort(np.delete(scores, item))[: len(scores) - k]
        found.append(inflated_argmax([score, *others], epsilon)[0])
    return np.array(found)


def random_scores(rng):
    """Often close, and often equal."""
    scores = rng.random(rng.integers(1, 8)) * rng.choice([0.1, 1.0])
    return scores.round(rng.choice([1, 2, 15]))


@pytest.mark.slow
def test_both_definitions_are_the_same_also_with_ties():
    rng = np.random.default_rng(0)
    for _ in range(2000):
        scores, epsilon = random_scores(rng), rng.choice([0.01, 0.1, 0.5])
        k = rng.integers(1, len(scores) + 1)
        assert (top_k_sets(scores, k, epsilon) == by_the_other_definition(scores, k, epsilon)).all()


def neighbours(scores, epsilon, rng):
    """Scores a little less than epsilon away: in a random direction, or with two items at the border swapped."""
    step = rng.normal(size=len(scores))
    if len(scores) > 1 and rng.random() < 0.7:
        order = np.argsort(-scores)
        place = rng.integers(1, len(scores))
        step = np.zeros(len(scores))
        step[order[place:]] = rng.random(len(scores) - place) ** 4
        step[order[:place]] = -(rng.random(place) ** 4)
    return scores + step / np.linalg.norm(step) * epsilon * (1 - 1e-6)


@pytest.mark.slow
def test_scores_less_than_epsilon_apart_have_k_items_in_common():
    rng = np.random.default_rng(1)
    for _ in range(5000):
        scores, epsilon = random_scores(rng), rng.choice([0.05, 0.2, 0.6])
        k, other = rng.integers(1, len(scores) + 1), neighbours(scores, epsilon, rng)
        assert (top_k_sets(scores, k, epsilon) & top_k_sets(other, k, epsilon)).sum() >= k


def test_several_points_are_answered_line_by_line_and_equal_scores_alike():
    scores = np.random.default_rng(2).random((50, 6)).round(1)
    found = top_k_sets(scores, 3, 0.2)
    for line, mask in zip(scores, found, strict=True):
        assert (top_k_sets(line, 3, 0.2) == mask).all()
        assert all(mask[line == score].min() == mask[line == score].max() for score in line)
    assert (found.sum(axis=1) >= 3).all()


def test_more_items_than_there_are_cannot_be_wanted():
    with pytest.raises(ValueError, match=r"at most the number of items\. Got 6: there are 5 items"):
        top_k_sets(SCORES, 6, 0.1)
    with pytest.raises(ValueError, match="an integer >= 1"):
        top_k_sets(SCORES, 0, 0.1)
    with pytest.raises(ValueError, match="finite"):
        top_k_sets([0.1, np.nan], 1, 0.1)
    with pytest.raises(ValueError, match="of shape"):
        top_k_sets(0.5, 1, 0.1)
