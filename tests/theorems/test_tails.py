"""The tail of matched bags (docs/proofs.md, 16): the chance of a large change, for all outputs and bad learners.

The chances are exact: the change of B bags by a row is a sum of B terms that are -1, 0 or 1, with known chances.
"""

import itertools
import math
from functools import lru_cache

import numpy as np
import pytest
from scipy.stats import binom

from stablebag import BernoulliSubbagging, Certificate, Subbagging
from stablebag.proving import frontier
from stablebag.proving.tails import Tail, _one_side


def tail_of(law, n_bags):
    parts, p = law.matched_components(), law.inclusion_probability
    return Tail(law.n_samples, n_bags, parts, p, lambda rank: frontier.frontier(law, rank).value)


@lru_cache(maxsize=100_000)
def chance_to_exceed(up, down, n_bags, epsilon):
    """P(|U - D| > B epsilon), where each of B bags goes up or down with these chances."""
    up, down = max(0.0, up), max(0.0, down)
    n_moved = np.arange(n_bags + 1)
    moved = binom.pmf(n_moved, n_bags, min(1.0, up + down))
    if up + down == 0:
        return 0.0
    # Of n that moved, k go up: |2 k - n| > B epsilon.
    limit, share = n_bags * epsilon * (1 + 1e-12), up / (up + down)
    above = binom.sf(np.floor((n_moved + limit) / 2), n_moved, share)
    below = binom.cdf(np.ceil((n_moved - limit) / 2) - 1, n_moved, share)
    return float(moved @ (above + below))


def changes(n, m):
    """Every bag of m of n rows, and for each row the pairs of a bag with it and one that may take its place."""
    bags = list(itertools.combinations(range(n), m))
    place = {bag: k for k, bag in enumerate(bags)}
    pairs = []
    for gone in range(n):
        rows = [(place[bag], place[tuple(sorted({*bag} - {gone} | {new}))])
                for bag in bags if gone in bag for new in range(n) if new not in bag]  # fmt: skip
        pairs.append(np.array(rows))
    return bags, pairs


@pytest.mark.parametrize(("n", "m"), [(4, 1), (4, 2), (5, 2), (5, 3), (5, 4), (6, 1), (6, 5)])
@pytest.mark.parametrize("n_bags", [1, 3, 10, 50, 200])
def test_no_output_of_zero_and_one_exceeds_the_tail(n, m, n_bags):
    law = Subbagging(m).resolve(n)
    tail, (bags, pairs) = tail_of(law, n_bags), changes(n, m)
    weight = 1 / len(bags) / (n - m)
    epsilons = np.unique(np.round(np.geomspace(0.4, 1, 6) * tail.epsilon(0.3), 6))
    proved = [tail.delta(epsilon) for epsilon in epsilons]
    seen = set()
    for outputs in itertools.islice(itertools.product([0, 1], repeat=len(bags)), 1 << (len(bags) - 1)):
        y = np.array(outputs)
        kinds = []
        for rows in pairs:
            moved = y[rows[:, 0]] - y[rows[:, 1]]
            kinds.append((int((moved > 0).sum()), int((moved < 0).sum())))
        if (key := tuple(sorted(kinds))) in seen:
            continue
        seen.add(key)
        for epsilon, most in zip(epsilons, proved, strict=True):
            exact = np.mean([chance_to_exceed(up * weight, down * weight, n_bags, epsilon) for up, down in key])
            assert exact <= most + 1e-9


def half_space(n, m, k):
    """The chances to go up and down of a row that a majority of k rows counts, and of any other."""
    needed = m * k / n

    def majority(n_others, k_others, drawn):
        # of `drawn` from `n_others` of which `k_others` are counted
        ways = [math.comb(k_others, x) * math.comb(n_others - k_others, drawn - x) for x in range(drawn + 1)]
        total = math.comb(n_others, drawn)
        return [float(way / total) for way in ways]

    # A row i of the bag gives way to j. Draw the m - 1 others from the n - 2 that are left.
    up_counted = up_other = down_other = 0.0
    p = m / n
    for x, chance in enumerate(majority(n - 2, k - 1, m - 1)):  # i counted, j not
        up_counted += p * chance * (n - k) / (n - 1) * (x + 1 > needed) * (x <= needed)
    for x, chance in enumerate(majority(n - 2, k - 1, m - 1)):  # i not, j counted
        down_other += p * chance * k / (n - 1) * (x <= needed) * (x + 1 > needed)
    return (up_counted, 0.0), (up_other, down_other)


@pytest.mark.parametrize(("n", "m"), [(100, 50), (100, 10), (60, 30)])
@pytest.mark.parametrize("n_bags", [50, 200, 1000])
def test_majorities_of_any_number_of_rows_stay_below_the_tail(n, m, n_bags):
    law = Subbagging(m).resolve(n)
    tail = tail_of(law, n_bags)
    closest = 0.0
    for delta in (0.05, 0.1, 0.2):
        epsilon = tail.epsilon(delta)
        for k in range(1, n // 2):
            counted, other = half_space(n, m, k)
            exact = (
                k * chance_to_exceed(*counted, n_bags, epsilon) + (n - k) * chance_to_exceed(*other, n_bags, epsilon)
            ) / n
            closest = max(closest, exact / delta)
            assert exact <= delta
    assert closest > 0.02  # the learners are no straw men


def test_a_learner_that_looks_at_one_row_stays_below_the_tail():
    for n, m, n_bags in ((10, 5, 20), (20, 2, 100), (100, 50, 200)):
        law = Subbagging(m).resolve(n)
        for epsilon in np.linspace(0.02, 0.6, 12):
            others = chance_to_exceed(0.0, m / n / (n - m) * (n - m) / (n - 1), n_bags, epsilon)
            exact = (chance_to_exceed(m / n, 0.0, n_bags, epsilon) + (n - 1) * others) / n
            assert exact <= tail_of(law, n_bags).delta(epsilon) + 1e-12


def test_noise_alone_stays_below_the_tail():
    # The parity of the number of rows, for rows that come independently: v = p for every row, and hardly any bias.
    for p, n_bags in ((0.5, 50), (0.1, 400)):
        law = BernoulliSubbagging(p).resolve(40)
        for delta in (0.01, 0.05, 0.2):
            epsilon = tail_of(law, n_bags).epsilon(delta)
            assert chance_to_exceed(p / 2, p / 2, n_bags, epsilon) <= delta


@pytest.mark.parametrize("n_bags", [1, 10, 1000])
def test_the_bound_for_one_row_holds_for_two_values(n_bags):
    # d is 1 with probability q, and otherwise `low`: mean, variance and reach are known, and so is the tail.
    for q, low in itertools.product((0.001, 0.02, 0.3), (-1.0, -0.2, 0.0)):
        mean, variance = q + (1 - q) * low, q * (1 - q) * (1 - low) ** 2
        for distance in np.geomspace(0.01, 2, 25) * math.sqrt(variance / n_bags) * 3:
            # The number of ones exceeds what makes the mean as far off.
            needed = math.ceil(n_bags * (mean + distance - low) / (1 - low) - 1e-9)
            exact = binom.sf(needed - 1, n_bags, q)
            arguments = (np.array(value) for value in (distance, 1 - mean, 1 - low, variance, variance))
            assert exact <= _one_side(*arguments, n_bags) + 1e-12


@pytest.mark.parametrize(("n", "m", "n_bags", "delta", "most"), [
    (1000, 500, 2000, 0.05, 1.15), (1000, 500, 2000, 0.1, 1.15), (1000, 100, 2000, 0.05, 1.2),
    (1000, 100, 2000, 0.1, 1.2), (1000, 500, 10_000, 0.1, 1.1), (100, 50, 200, 0.1, 1.2),
])  # fmt: skip
def test_epsilon_is_near_the_exact_frontier(n, m, n_bags, delta, most):
    law = Subbagging(m).resolve(n)
    exact = frontier.frontier(law, math.floor(n * delta + 1e-9) + 1).value
    epsilon = tail_of(law, n_bags).epsilon(delta)
    assert exact < epsilon < most * exact
    assert epsilon <= math.sqrt(law.matched_components().mean_square(n_bags) / delta)
    assert epsilon < Certificate(law, n, n_bags, coupling="matched").epsilon(delta) / 1.03  # by second moments


def test_epsilon_falls_as_delta_and_the_number_of_bags_grow():
    law = Subbagging(50).resolve(100)
    for n_bags in (20, 200):
        tail = tail_of(law, n_bags)
        epsilons = [tail.epsilon(delta) for delta in np.linspace(0.0, 0.4, 21)]
        assert epsilons[0] == 1
        assert all(later <= earlier for earlier, later in itertools.pairwise(epsilons))
    many = [tail_of(law, n_bags).epsilon(0.1) for n_bags in (5, 50, 200, 2000, 10**6)]
    assert all(later <= earlier * 1.01 for earlier, later in itertools.pairwise(many))
