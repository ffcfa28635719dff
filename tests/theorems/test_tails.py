"""The tail of matched bags (docs/proofs.md, 16): no output and no bad learner changes by more than is proved.

The chances are exact: without a row, the average of B bags changes by a sum of B terms that are -1, 0 or 1.
"""

import itertools
import math
from functools import lru_cache

import numpy as np
import pytest
from scipy.stats import binom

from stablebag import BernoulliSubbagging, Certificate, ClassicalBagging, PoissonizedBagging, Subbagging
from stablebag.proving import frontier
from stablebag.proving.tails import _chances, _cheapest, _excesses, _far_off, tail_of


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


@pytest.mark.parametrize("n_bags", [1, 10, 1000, 10**6])
def test_sums_of_two_values_stay_below_the_binomial_bound(n_bags):
    # The terms are 1 with probability q, and otherwise `low`: centred and divided by what they exceed the mean by.
    for q, low in itertools.product((0.001, 0.02, 0.3), (-1.0, -0.2, 0.0)):
        mean, variance = q + (1 - q) * low, q * (1 - q) * (1 - low) ** 2
        distance = np.geomspace(0.01, 2, 25) * math.sqrt(variance / n_bags) * 3
        exact = binom.sf(np.ceil(n_bags * (mean + distance - low) / (1 - low) - 1e-9) - 1, n_bags, q)
        bound = _far_off(distance / (1 - mean), variance / (1 - mean) ** 2, n_bags)
        assert (exact <= bound + 1e-12).all()
        assert (bound <= 1).all()
        larger = _far_off(distance / (1 - mean), 1.1 * variance / (1 - mean) ** 2, n_bags)
        assert (larger >= bound * 0.99).all()


def test_the_binomial_bound_is_near_the_law_that_it_is_about():
    # For terms with the two extreme values it is at most e^2 / 2 times the exact chance, but for steps of the law.
    q, n_bags = 0.2, 1000
    variance, x = q / (1 - q), np.arange(200, 320, 10)
    exact = binom.sf(x - 1, n_bags, q)
    bound = _far_off((x / n_bags * (1 + variance) - variance), variance, n_bags)
    assert (exact <= bound).all()
    assert (bound[2:10] <= math.e**2 / 2 * exact[2:10]).all()


@pytest.mark.parametrize("n_bags", [5, 60, 1000])
def test_any_one_row_stays_below_the_bound_of_its_cell(n_bags):
    rng, epsilon = np.random.default_rng(0), 0.15
    changes, noise = np.linspace(0, epsilon, 8), np.geomspace(0.01, 0.5, 12)
    bound = _chances(epsilon, changes, noise, n_bags)
    for _ in range(400):
        moved = rng.uniform(0, 0.5)
        up, down = moved * np.array([(share := rng.uniform(0, 1)), 1 - share])
        change = abs(up - down)
        if change >= epsilon:
            continue
        exact = chance_to_exceed(up, down, n_bags, epsilon)
        cell = np.searchsorted(changes, change, side="right") - 1, np.searchsorted(noise, moved)
        assert exact <= bound[cell] + 1e-12


def test_the_price_that_rows_pay_is_convex_and_covers_every_gain():
    # A price with kinks of steepness one costs what `rest` says; the cheapest is checked against a linear programme.
    from scipy.optimize import linprog

    rng = np.random.default_rng(1)
    changes = np.sort(rng.uniform(0, 1, 12))
    changes[0] = 0.0
    for _ in range(30):
        gain = np.sort(rng.uniform(0, 1, (1, 12)) ** 3)
        rest = np.sort(rng.uniform(0, 1, 12))[::-1]
        found = _cheapest(changes, gain, rest, above=1e9)[0]
        kinks = np.maximum(0, changes[:, None] - changes[None, :-1])
        exact = linprog(np.append(1.0, rest[:-1]), -np.c_[np.ones(12), kinks], -gain[0], bounds=(0, None)).fun
        assert exact - 1e-9 <= found
        fewer = _cheapest(changes, gain, rest, above=0.0)[0]  # the last gain is free
        exact = linprog(np.append(1.0, rest[:-1]), -np.c_[np.ones(12), kinks][:-1], -gain[0, :-1], bounds=(0, None)).fun
        assert exact - 1e-9 <= fewer <= found


@pytest.mark.parametrize("scheme", [Subbagging(3), BernoulliSubbagging(0.4), ClassicalBagging(4)], ids=str)
def test_excesses_over_a_change_are_those_of_the_worst_learner(scheme):
    # All outputs of 0 and 1 of bags of six rows, by which rows they have.
    law = scheme.resolve(6)
    chances, within = {}, []
    for bag, chance in law.support():
        chances[frozenset(np.asarray(bag).tolist())] = chances.get(frozenset(np.asarray(bag).tolist()), 0) + float(
            chance
        )
    p = law.inclusion_probability
    weights = np.array([[chance * ((i in bag) - p) / (1 - p) for i in range(6)] for bag, chance in chances.items()])
    rng = np.random.default_rng(0)
    outputs = rng.integers(0, 2, (4000, len(weights)))
    directions = rng.normal(size=(4000, 6)) * (rng.uniform(size=(4000, 6)) < 0.7)
    outputs = np.concatenate([outputs, (weights @ directions.T > 0).T])
    within = np.abs(outputs @ weights)
    levels = np.array([0.0, 0.02, 0.05, 0.1, 0.2, 0.3])
    for middle in (1.0, 3.0, 6.0):
        bound, _ = _excesses(tail_of(law, 10), 0.3, middle, levels)
        found = np.maximum(0, within[:, :, None] - levels).mean(axis=1).max(axis=0)
        assert (found <= bound + 1e-12).all()
    _, n_above = _excesses(tail_of(law, 10), 0.12, 6.0, levels)
    assert (within >= 0.12).sum(axis=1).max() <= n_above


@pytest.mark.parametrize(("n", "m", "n_bags", "delta", "most"), [
    (1000, 500, 2000, 0.05, 1.06), (1000, 500, 2000, 0.1, 1.09), (1000, 100, 2000, 0.05, 1.12),
    (1000, 100, 2000, 0.1, 1.16), (1000, 500, 10_000, 0.1, 1.03), (100, 50, 200, 0.1, 1.13),
    (100, 50, 200, 0.05, 1.22), (100, 10, 200, 0.1, 1.3), (100, 10, 200, 0.2, 1.3),
])  # fmt: skip
def test_epsilon_is_near_the_exact_frontier(n, m, n_bags, delta, most):
    law = Subbagging(m).resolve(n)
    exact = frontier.frontier(law, math.floor(n * delta + 1e-9) + 1).value
    epsilon = tail_of(law, n_bags).epsilon(delta)
    assert exact < epsilon < most * exact
    assert epsilon <= math.sqrt(law.matched_components().mean_square(n_bags) / delta)
    assert Certificate(law, n, n_bags, coupling="matched").epsilon(delta) <= epsilon


@pytest.mark.parametrize("scheme", [Subbagging(0.5), BernoulliSubbagging(0.2), PoissonizedBagging(1.0)], ids=str)
def test_epsilon_falls_as_delta_and_the_number_of_bags_grow(scheme):
    law = scheme.resolve(100)
    for n_bags in (20, 200):
        tail = tail_of(law, n_bags)
        epsilons = [tail.epsilon(delta) for delta in np.linspace(0.0, 0.4, 21)]
        assert epsilons[0] == 1
        assert all(later <= earlier for earlier, later in itertools.pairwise(epsilons))
    many = [tail_of(law, n_bags).epsilon(0.1) for n_bags in (5, 50, 200, 2000, 10**6)]
    assert all(later <= earlier * 1.01 for earlier, later in itertools.pairwise(many))


def test_delta_and_epsilon_of_a_tail_are_inverse():
    tail = tail_of(Subbagging(50).resolve(100), 200)
    for delta in (0.013, 0.05, 0.1, 0.3, 0.9):
        epsilon = tail.epsilon(delta)
        assert tail.delta(epsilon) <= delta
        assert tail.delta(epsilon * 0.99) > delta or epsilon == 1
    for epsilon in (0.05, 0.1, 0.17, 0.4, 0.9):
        assert tail.epsilon(tail.delta(epsilon)) <= epsilon
    assert (tail.delta(0.0), tail.delta(1.0), tail.epsilon(0.0)) == (1.0, 0.0, 1.0)


def test_laws_without_components_have_no_tail():
    class Backwards(Subbagging):
        def pick(self, n_samples, arrivals):
            return super().pick(n_samples, arrivals)

    assert tail_of(Backwards(5).resolve(10), 20) is None
