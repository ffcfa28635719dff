"""Drawn bags have the law of their scheme. Each test declares how often it may fail by chance."""

import numpy as np
import pytest
from scipy import stats

from stablebag import BernoulliSubbagging, ClassicalBagging, PoissonizedBagging, Subbagging
from stablebag._seeds import Seeds

pytestmark = pytest.mark.slow

FALSE_ALARM = 1e-6  # of each test, by Bonferroni over what it looks at
LAWS = [Subbagging(0.3).resolve(20), BernoulliSubbagging(0.3).resolve(20), ClassicalBagging(1.0).resolve(20),
        PoissonizedBagging(0.7).resolve(20), Subbagging(3).resolve(200)]  # fmt: skip


def within(count, trials, probability, looks):
    """Return whether binomial counts are plausible at the rate FALSE_ALARM over this many looks."""
    tail = FALSE_ALARM / looks / 2
    return (count >= stats.binom.ppf(tail, trials, probability)) & (count <= stats.binom.isf(tail, trials, probability))


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_rows_are_in_bags_as_often_as_p_says(law, seed):
    n_bags = 4000
    count = law.draw(n_bags, seed).inclusion.sum(axis=0)
    assert within(count, n_bags, law.inclusion_probability, looks=law.n_samples).all()


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_pairs_are_in_bags_as_often_as_p_and_q_say(law, seed):
    n_bags = 4000
    inside = law.draw(n_bags, seed).inclusion.astype(int)
    together = (inside.T @ inside)[np.triu_indices(law.n_samples, k=1)]
    both = law.inclusion_probability**2 - law.negative_covariance
    assert within(together, n_bags, both, looks=len(together)).all()


@pytest.mark.parametrize("law", [law for law in LAWS if law.n_samples == 20], ids=str)
def test_bags_without_a_row_have_the_law_without_one(law, seed):
    bags = law.draw(8000, seed)
    rest = [bag for bag in bags if 19 not in bag]
    smaller = law.without_one()
    count = sum(np.isin(np.arange(19), bag) for bag in rest)
    assert within(count, len(rest), smaller.inclusion_probability, looks=19).all()


@pytest.mark.parametrize(
    "law", [Subbagging(3).resolve(5), Subbagging(3).resolve(200), BernoulliSubbagging(3).resolve(5)], ids=str
)
def test_every_order_is_equally_likely(law, seed):
    triples = [bag for bag in law.draw(12_000, seed) if len(bag) == 3]
    orders = [tuple(np.argsort(bag)) for bag in triples]
    _, counts = np.unique(orders, axis=0, return_counts=True)
    assert len(counts) == 6
    assert within(counts, len(triples), 1 / 6, looks=6).all()


def test_sizes_of_random_bags_have_their_laws(seed):
    sizes = BernoulliSubbagging(0.3).resolve(20).draw(5000, seed).sizes
    for size in range(21):
        assert within(np.sum(sizes == size), 5000, stats.binom.pmf(size, 20, 0.3), looks=21)
    sizes = PoissonizedBagging(4).resolve(20).draw(5000, seed).sizes
    for size in range(21):
        assert within(np.sum(sizes == size), 5000, stats.poisson.pmf(size, 4), looks=21)


def test_a_bag_is_independent_of_its_learner_seed(seed):
    n_bags, n = 8000, 16
    bags = ClassicalBagging(1).resolve(n).draw(n_bags, seed)
    first_row = np.array([bag[0] for bag in bags])
    learner = Seeds.from_random_state(seed).learner_seeds(0, n_bags) % n
    table = np.histogram2d(first_row, learner, bins=n)[0]
    assert stats.chi2_contingency(table).pvalue > FALSE_ALARM


def test_neighbouring_bags_are_independent(seed):
    inside = Subbagging(0.5).resolve(20).draw(8001, seed).inclusion
    agree = np.sum(inside[1:] == inside[:-1], axis=0)
    assert within(agree, 8000, 0.5, looks=20).all()
