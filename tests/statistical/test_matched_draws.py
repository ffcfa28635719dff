"""Matched bags have the laws of their schemes, for any row IDs.

Each test says how often it would fail if nothing were wrong. Rows are called 0, 1, ...; or by labels; or by whole
numbers, some small and some large, whose keys are found in another way.
"""

import functools
from collections import Counter

import numpy as np
import pytest
from scipy import stats

from stablebag import BernoulliSubbagging, ClassicalBagging, PoissonizedBagging, Subbagging
from stablebag._seeds import Seeds
from stablebag.resampling.drawing import N_KEYS, RowKeys
from stablebag.resampling.units import RowIds

pytestmark = pytest.mark.slow

FALSE_ALARM = 1e-6  # of each test, by Bonferroni over what it looks at
LAWS = [Subbagging(2).resolve(4), BernoulliSubbagging(0.4).resolve(4), ClassicalBagging(3).resolve(4),
        PoissonizedBagging(2).resolve(4)]  # fmt: skip
NAMES = {"counted": None, "labels": ["ann", "bob", "eve", "joe"], "numbers": [7, 2**16, 65_535, 2**40 + 3],
         "both": ["ann", 5, 2**20, 2.5]}  # fmt: skip
N_BAGS = {"counted": 10_000, "labels": 10_000, "numbers": 2_000, "both": 2_000}  # large numbers take a while


@functools.cache
def drawn(law, kind, seed):
    """Return bags that several tests use."""
    return law.draw(N_BAGS[kind], seed, row_ids=NAMES[kind])


def chi_square(counts, expected):
    """Return the p-value of counts, with rare cells merged."""
    counts, expected = np.asarray(counts, dtype=float), np.asarray(expected, dtype=float)
    rare = expected < 8
    if rare.any():
        counts = np.append(counts[~rare], counts[rare].sum())
        expected = np.append(expected[~rare], expected[rare].sum())
        if expected[-1] < 1e-9:
            assert counts[-1] == 0
            counts, expected = counts[:-1], expected[:-1]
    return stats.chisquare(counts, expected * counts.sum() / expected.sum()).pvalue


@pytest.mark.parametrize("kind", NAMES)
@pytest.mark.parametrize("law", LAWS, ids=str)
def test_bags_are_drawn_with_the_probabilities_of_the_support(law, kind, seed):
    n_bags = N_BAGS[kind]
    seen = Counter(tuple(sorted(bag.tolist())) for bag in drawn(law, kind, seed))
    mass = 1.0 if law.scheme.has_finite_support else 1 - 1e-7
    listed = {tuple(bag.tolist()): float(weight) for bag, weight in law.support(mass=mass)}
    unlisted = 1 - sum(listed.values())
    counts = [seen.pop(bag, 0) for bag in listed] + [sum(seen.values())]
    assert chi_square(counts, np.array([*listed.values(), max(0.0, unlisted)]) * n_bags) > FALSE_ALARM


@pytest.mark.parametrize("kind", NAMES)
@pytest.mark.parametrize("law", LAWS, ids=str)
def test_bags_of_the_remaining_rows_have_the_law_without_one(law, kind, seed):
    """After a row is removed: by the coupling, and by the law without it."""
    n_bags, names = N_BAGS[kind], NAMES[kind] or [0, 1, 2, 3]
    smaller, rest = law.without_one(), [names[k] for k in (0, 2, 3)]
    seen = Counter(tuple(sorted(bag.tolist())) for bag in smaller.draw(n_bags, seed, row_ids=rest))
    mass = 1.0 if law.scheme.has_finite_support else 1 - 1e-7
    listed = {tuple(bag.tolist()): float(weight) for bag, weight in smaller.support(mass=mass)}
    counts = [seen.pop(bag, 0) for bag in listed] + [sum(seen.values())]
    assert chi_square(counts, np.array([*listed.values(), max(0.0, 1 - sum(listed.values()))]) * n_bags) > FALSE_ALARM


@pytest.mark.parametrize("scheme", [Subbagging(3), ClassicalBagging(3)], ids=str)
def test_the_replacement_of_a_removed_row_is_uniform_among_the_others(scheme, seed):
    """The replacement is a uniform row from those outside the bag, or from all others."""
    law, rest = scheme.resolve(6), np.array([1, 2, 3, 4, 5])
    newcomers, expected = np.zeros(6), np.zeros(6)
    for before, after in zip(law.draw(20_000, seed), law.without_one().draw(20_000, seed, row_ids=rest), strict=True):
        if np.sum(before == 0) != 1:
            continue
        more = Counter(rest[after].tolist()) - Counter(before.tolist())
        assert more.total() == 1
        newcomers[next(iter(more))] += 1
        outside = rest if isinstance(scheme, ClassicalBagging) else np.setdiff1d(rest, before)
        expected[outside] += 1 / len(outside)
    assert chi_square(newcomers[1:], expected[1:]) > FALSE_ALARM


@pytest.mark.parametrize("kind", NAMES)
@pytest.mark.parametrize("law", LAWS, ids=str)
def test_rows_and_pairs_are_in_bags_as_often_as_p_and_q_say(law, kind, seed):
    n_bags = N_BAGS[kind]
    inside = drawn(law, kind, seed).inclusion.astype(int)
    p, both = law.inclusion_probability, law.inclusion_probability**2 - law.negative_covariance
    together = (inside.T @ inside)[np.triu_indices(4, k=1)]
    for counts, chance in ((inside.sum(axis=0), p), (together, both)):
        tail = FALSE_ALARM / 10 / 2
        assert (counts >= stats.binom.ppf(tail, n_bags, chance)).all()
        assert (counts <= stats.binom.isf(tail, n_bags, chance)).all()


@pytest.mark.parametrize("kind", NAMES)
@pytest.mark.parametrize("law", LAWS, ids=str)
def test_consecutive_bags_are_independent(law, kind, seed):
    numbers = {}
    which = [numbers.setdefault(tuple(np.unique(bag).tolist()), len(numbers)) for bag in drawn(law, kind, seed)]
    table = np.zeros((len(numbers), len(numbers)))
    np.add.at(table, (which[:-1:2], which[1::2]), 1)  # pairs that do not overlap
    common = table.sum(axis=0) + table.sum(axis=1) > 60  # of cells with enough in them
    assert stats.chi2_contingency(table[np.ix_(common, common)]).pvalue > FALSE_ALARM


@pytest.mark.parametrize("kind", NAMES)
def test_every_order_is_equally_likely(kind, seed):
    law = Subbagging(3).resolve(4)
    bags = list(drawn(law, kind, seed))
    seen = Counter((tuple(sorted(bag.tolist())), tuple(np.argsort(bag).tolist())) for bag in bags)
    assert len(seen) == 4 * 6
    assert chi_square(list(seen.values()), np.full(24, len(bags) / 24)) > FALSE_ALARM


def test_repeats_are_in_every_order(seed):
    law = ClassicalBagging(3).resolve(2)
    seen = Counter(tuple(bag.tolist()) for bag in law.draw(16_000, seed))
    assert chi_square(list(seen.values()), np.full(8, 2_000)) > FALSE_ALARM


def test_the_order_is_independent_of_the_rows_in_a_bag(seed):
    """The order of rows 0 and 1 against the other rows in the bag, and against which arrived first."""
    table = np.zeros((3, 2))
    for bag in Subbagging(3).resolve(5).draw(20_000, seed):
        rows = bag.tolist()
        if 0 in rows and 1 in rows:
            other = (set(rows) - {0, 1}).pop()
            table[other - 2, rows.index(0) < rows.index(1)] += 1
    assert stats.chi2_contingency(table).pvalue > FALSE_ALARM


@pytest.mark.parametrize("kind", ["counted", "numbers", "both"])
def test_keys_are_uniform_and_independent_between_rows(kind, seed):
    n_bags = N_BAGS[kind]
    ids, seeds = RowIds(NAMES[kind], 4), Seeds(seed)
    keys = np.zeros((n_bags, 4))
    for part in RowKeys(ids).below(N_KEYS, seeds, 0, seeds.bag_words(0, n_bags)):
        keys[part.bag, part.row] = part.value / N_KEYS
    looks = 4 + 6
    for row in range(4):
        assert stats.kstest(keys[:, row], "uniform").pvalue > FALSE_ALARM / looks
        for other in range(row):
            table = np.histogram2d(keys[:, row], keys[:, other], bins=8)[0]
            assert stats.chisquare(table.ravel()).pvalue > FALSE_ALARM / looks


def test_rows_of_a_block_arrive_independently(seed):
    """The number of 40 large integers of one block that are in a bag is binomial."""
    names = 2**16 + 3 * np.arange(40)
    sizes = BernoulliSubbagging(0.1).resolve(40).draw(2_000, seed, row_ids=names).sizes
    expected = stats.binom.pmf(np.arange(41), 40, 0.1) * 2_000
    assert chi_square(np.bincount(sizes, minlength=41), expected) > FALSE_ALARM


@pytest.mark.parametrize("bits", [16, 40])
def test_halvings_are_fair(bits, seed):
    """The keys of 40 rows of one block, in 1,000 bags, are below 1/2, 1/4, ... with the right frequencies."""
    names, seeds = (1 << bits) + 3 * np.arange(40), Seeds(seed)
    parts = RowKeys(RowIds(names, 40)).below(N_KEYS, seeds, 0, seeds.bag_words(0, 1_000))
    keys = np.concatenate([part.value for part in parts]) / N_KEYS
    assert len(keys) == 40_000
    shares = [1 / 2, 1 / 4, 1 / 8, 1 / 16, 1 / 3, 0.9]
    tail = FALSE_ALARM / len(shares) / 2
    for share in shares:
        below = np.sum(keys < share)
        assert stats.binom.ppf(tail, 40_000, share) <= below <= stats.binom.isf(tail, 40_000, share)


def test_small_bags_of_very_many_rows_are_uniform(seed):
    """The rows of 20 bags of 500 of a billion rows are uniform over tenths of the table, and over blocks."""
    rows = np.concatenate(list(Subbagging(500).resolve(10**9).draw(20, seed)))
    tenths = np.bincount(rows // 10**8, minlength=10)
    assert chi_square(tenths, np.full(10, 1_000)) > FALSE_ALARM / 2
    last_digit = np.bincount(rows % 16, minlength=16)
    assert chi_square(last_digit, np.full(16, 10_000 / 16)) > FALSE_ALARM / 2
