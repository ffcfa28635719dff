"""Whatever the scheme, its size and the seed, drawn bags are bags of that scheme."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from stablebag import BernoulliSubbagging, ClassicalBagging, PoissonizedBagging, Subbagging

n_samples = st.integers(2, 60)
share = st.floats(0.01, 0.99)
seeds = st.integers(0, 2**32 - 1)


@given(n_samples, share, seeds)
def test_subbagging_draws_a_fixed_number_of_distinct_rows(n, size, seed):
    law = Subbagging(size).resolve(n)
    for bag in law.draw(5, seed):
        assert len(bag) == len(set(bag.tolist())) == law.bag_size


@given(n_samples, share, seeds)
def test_bernoulli_bags_are_distinct_rows(n, size, seed):
    for bag in BernoulliSubbagging(size).resolve(n).draw(5, seed):
        assert len(bag) == len(set(bag.tolist())) <= n


@given(n_samples, share, seeds)
def test_classical_bags_have_a_fixed_number_of_draws(n, size, seed):
    law = ClassicalBagging(size).resolve(n)
    assert (law.draw(5, seed).sizes == law.bag_size).all()


@given(
    st.sampled_from([Subbagging, BernoulliSubbagging, ClassicalBagging, PoissonizedBagging]), n_samples, share, seeds
)
def test_rows_are_in_range_and_bags_depend_only_on_seed_and_number(scheme, n, size, seed):
    law = scheme(size).resolve(n)
    bags = law.draw(8, seed)
    assert all(((bag >= 0) & (bag < n)).all() for bag in bags)
    assert law.draw(3, seed, first=4) == bags[4:7]
    assert law.draw(2, np.random.default_rng(seed)) == law.draw(2, np.random.default_rng(seed))


@given(st.sampled_from([Subbagging, BernoulliSubbagging, ClassicalBagging, PoissonizedBagging]), n_samples, share)
def test_every_scheme_satisfies_the_papers_assumptions_and_bound_on_q(scheme, n, size):
    law = scheme(size).resolve(n)
    p, q = law.inclusion_probability, law.negative_covariance
    assert 0 < p < 1
    assert 0 <= q <= p * (1 - p) / (n - 1) * (1 + 1e-12)
