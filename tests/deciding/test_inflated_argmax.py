"""The inflated argmax: against an independent projection, values computed by hand, and its properties."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import minimize

from stablebag import inflated_argmax
from stablebag.deciding import top_k_sets

SIXTEENTHS = st.integers(-64, 64).map(lambda k: k / 16)  # with many ties, and sums without rounding
SCORES = st.integers(1, 7).flatmap(lambda n: arrays(float, n, elements=SIXTEENTHS))
EPSILONS = st.sampled_from([0.05, 0.1, 0.3, 0.7, 1.1, 2.3, 5.7])


def distance(scores, label, epsilon):
    """The distance to the scores in which a label leads by epsilon / sqrt(2), one other score after the other."""
    mu, others = epsilon / math.sqrt(2), np.sort(np.delete(scores, label))[::-1]
    for k in range(len(scores)):
        level = (scores[label] + others[:k].sum() - mu) / (k + 1)
        if k == len(others) or others[k] <= level:
            break
    return 0.0 if k == 0 else math.hypot(np.linalg.norm(others[:k] - level), level + mu - scores[label])


def distances(scores, epsilon):
    return np.array([distance(np.asarray(scores), label, epsilon) for label in range(len(scores))])


GOLDEN = [
    ((0.40, 0.37, 0.15, 0.08), 0.05, (0.0037867966, 0.0462132034, 0.2217611468, 0.2787074414), {0, 1}),
    ((0.40, 0.37, 0.15, 0.08), 0.4, (0.1787867966, 0.2212132034, 0.4233486151, 0.4804401139), {0, 1}),
    ((0.36, 0.34, 0.30), 0.05, (0.0108578644, 0.0391421356, 0.0711127457), {0, 1}),
    ((0.36, 0.34, 0.30), 0.1, (0.0358578644, 0.0641421356, 0.0995692985), {0, 1, 2}),
]


@pytest.mark.parametrize(("scores", "epsilon", "golden", "labels"), GOLDEN)
def test_sets_equal_those_computed_by_hand(scores, epsilon, golden, labels):
    assert distances(scores, epsilon) == pytest.approx(golden, abs=1e-9)
    assert set(np.flatnonzero(inflated_argmax(scores, epsilon))) == labels


@pytest.mark.parametrize("seed", range(20))
def test_the_distance_to_leading_equals_that_of_a_general_minimizer(seed):
    rng = np.random.default_rng(seed)
    scores, epsilon = rng.normal(size=4), rng.uniform(0.1, 2)
    for label in range(4):
        ahead = {"type": "ineq", "fun": lambda v, j=label: np.delete(v[j] - v, j) - epsilon / math.sqrt(2)}
        found = minimize(lambda v: ((v - scores) ** 2).sum(), scores, constraints=[ahead], options={"ftol": 1e-14})
        assert math.sqrt(found.fun) == pytest.approx(distance(scores, label, epsilon), abs=1e-6)


@given(SCORES, EPSILONS)
def test_a_label_is_in_the_set_if_it_is_close_to_leading(scores, epsilon):
    away = distances(scores, epsilon)
    clear = np.abs(away - epsilon) > 1e-12
    assert (inflated_argmax(scores, epsilon) == (away < epsilon))[clear].all()


@given(SCORES, EPSILONS)
def test_largest_scores_are_in_the_set_and_those_far_behind_are_not(scores, epsilon):
    found, near = inflated_argmax(scores, epsilon), scores.max() - scores < epsilon / math.sqrt(2)
    assert found[scores == scores.max()].all()
    assert (found <= near).all()
    if len(scores) == 2:
        assert (found == near).all()


@given(scores=SCORES, epsilon=EPSILONS, data=st.data())
def test_sets_do_not_depend_on_the_order_of_labels(scores, epsilon, data):
    order = data.draw(st.permutations(range(len(scores))))
    found = inflated_argmax(scores, epsilon)
    assert (inflated_argmax(scores[order], epsilon) == found[order]).all()
    for one, other in itertools.combinations(range(len(scores)), 2):
        assert scores[one] != scores[other] or found[one] == found[other]


@given(scores=SCORES, epsilon=EPSILONS, constant=st.integers(-1000, 1000))
def test_a_constant_added_to_all_scores_changes_nothing(scores, epsilon, constant):
    assert (inflated_argmax(scores + constant, epsilon) == inflated_argmax(scores, epsilon)).all()


@given(scores=SCORES, smaller=EPSILONS, larger=EPSILONS)
def test_sets_grow_with_epsilon(scores, smaller, larger):
    smaller, larger = sorted([smaller, larger])
    assert (inflated_argmax(scores, smaller) <= inflated_argmax(scores, larger)).all()


@given(scores=SCORES, epsilon=EPSILONS)
def test_a_set_has_one_label_exactly_if_it_leads_by_epsilon_over_root_two(scores, epsilon):
    ordered = np.sort(scores)[::-1]
    leads = len(scores) == 1 or ordered[0] - ordered[1] >= epsilon / math.sqrt(2)
    assert (inflated_argmax(scores, epsilon).sum() == 1) == leads


def test_a_label_that_leads_by_exactly_the_margin_is_alone():
    mu = 0.3 / math.sqrt(2)
    assert inflated_argmax([mu, 0.0, 0.0], 0.3).sum() == 1
    assert inflated_argmax([np.nextafter(mu, 0), 0.0, 0.0], 0.3).sum() == 3
    assert inflated_argmax([np.nextafter(mu, 0), 0.0, -1e-3], 0.3).tolist() == [True, True, False]


@given(scores=SCORES, epsilon=EPSILONS, data=st.data())
def test_sets_of_scores_less_than_epsilon_apart_share_a_label(scores, epsilon, data):
    """Adversarial pairs: two labels swap the lead, or the change is in the direction that is drawn."""
    own = inflated_argmax(scores, epsilon)
    n = len(scores)
    drawn = np.array(data.draw(st.lists(st.floats(-1, 1), min_size=n, max_size=n)))
    steps = [drawn, -own.astype(float), *(np.eye(n)[j] - np.eye(n)[k] for j in range(n) for k in range(n) if j != k)]
    steps += [~own * 1.0 - own * data.draw(st.floats(0, 3))]
    for step in steps:
        if (length := np.linalg.norm(step)) > 1e-6:
            other = scores + step / length * epsilon * (1 - 1e-9)
            assert (inflated_argmax(other, epsilon) & own).any()


def test_sets_of_scores_exactly_epsilon_apart_need_not_share_a_label():
    epsilon = math.sqrt(2)
    assert not (inflated_argmax([1.0, 0.0], epsilon) & inflated_argmax([0.0, 1.0], epsilon)).any()


@given(st.integers(1, 5), st.integers(0, 6), EPSILONS, st.integers(0, 2**20))
def test_many_points_give_the_sets_of_each_point(n_labels, n_points, epsilon, seed):
    scores = np.random.default_rng(seed).normal(size=(n_points, n_labels)).round(1)
    epsilons = np.random.default_rng(seed).uniform(0, epsilon, size=n_points)
    together = inflated_argmax(scores, epsilon)
    assert together.shape == scores.shape
    assert all((inflated_argmax(line, epsilon) == found).all() for line, found in zip(scores, together, strict=True))
    each = inflated_argmax(scores, epsilons)
    assert all((inflated_argmax(*pair) == found).all() for *pair, found in zip(scores, epsilons, each, strict=True))


def test_results_do_not_depend_on_the_block_size(monkeypatch):
    scores = np.random.default_rng(0).dirichlet(np.ones(7), size=100)
    whole = inflated_argmax(scores, 0.3)
    monkeypatch.setattr("stablebag.deciding.inflated_argmax._BLOCK", 30)
    assert (inflated_argmax(scores, 0.3) == whole).all()
    assert (inflated_argmax(scores, np.full(100, 0.3)) == whole).all()


def test_extreme_scores_and_epsilons():
    scores = [0.3, 0.5, 0.5, -2.0]
    assert inflated_argmax(scores, 0).tolist() == [False, True, True, False]
    assert inflated_argmax(scores, math.inf).all()
    assert inflated_argmax([[0.3, 0.5], [0.5, 0.3]], [0.0, math.inf]).tolist() == [[False, True], [True, True]]
    assert inflated_argmax([1e308, -1e308, 1e308], 1.0).tolist() == [True, False, True]
    assert inflated_argmax([0.0, 5e-324, 0.0], 5e-324).tolist() == [False, True, False]
    assert inflated_argmax([7.0], 0.1).tolist() == [True]
    assert inflated_argmax([[7.0], [8.0]], 0.1).tolist() == [[True], [True]]


@pytest.mark.parametrize(
    ("scores", "epsilon", "said"),
    [
        ([0.1, np.nan], 0.1, "'scores' parameter .* finite numbers. Got nan"),
        ([0.1, np.inf], 0.1, "finite numbers. Got inf"),
        ([], 0.1, "of shape"),
        (0.5, 0.1, "of shape"),
        (np.zeros((2, 2, 2)), 0.1, "of shape"),
        ([0.1, 0.2], -0.1, "'epsilon' parameter .* Use a small number"),
        ([0.1, 0.2], np.nan, "'epsilon'"),
        ([0.1, 0.2], [0.1, 0.1], "one for each point"),
        ([[0.1, 0.2]], [0.1, 0.1], "one for each point"),
        ([[0.1, 0.2]], [-0.1], "Got -0.1"),
        ([[0.1, 0.2]], [np.nan], "Got nan"),
    ],
)
def test_invalid_arguments_raise(scores, epsilon, said):
    with pytest.raises(ValueError, match=said):
        inflated_argmax(scores, epsilon)


@pytest.mark.parametrize("epsilon", ["0.1", True, None])
def test_epsilon_must_be_a_number(epsilon):
    with pytest.raises(TypeError, match="'epsilon'"):
        inflated_argmax([0.1, 0.2], epsilon)


@pytest.mark.parametrize("scores", [["a", "b"], [[0.1], [0.2, 0.3]], ["0.4", "0.6"], [0.4, "x"], [1j, 2.0]], ids=str)
@pytest.mark.parametrize("rule", [inflated_argmax, lambda scores, epsilon: top_k_sets(scores, 1, epsilon)])
def test_scores_must_be_numbers(rule, scores):
    with pytest.raises(ValueError, match=r"The 'scores' parameter of .* must be an array of numbers"):
        rule(scores, 0.1)
