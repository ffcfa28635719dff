"""p, q and Q_{n-1} of every scheme, exactly, by listing all bags."""

from fractions import Fraction

import numpy as np
import pytest

from grids import first, together
from stablebag import BernoulliSubbagging, ClassicalBagging, PoissonizedBagging, Subbagging
from theorems.enumeration import enumerate_law


def finite_laws(n):
    for m in range(1, n + 1):
        yield from (scheme(m).resolve(n) for scheme in (Subbagging, BernoulliSubbagging) if m < n)
        yield ClassicalBagging(m).resolve(n)


SIZES = first(range(2, 9), 4)


@pytest.mark.parametrize("n", SIZES)
def test_support_is_complete_and_its_probabilities_are_exact(n):
    for law in finite_laws(n):
        bags, probabilities = zip(*law.support(), strict=True)
        assert sum(probabilities) == 1
        assert all(isinstance(probability, Fraction) for probability in probabilities)
        assert len(bags) == law.support_size == len({tuple(bag) for bag in bags})


@pytest.mark.parametrize("n", SIZES)
def test_p_and_q_in_closed_form_are_those_of_the_support(n):
    for law in finite_laws(n):
        inside = [(probability, set(bag.tolist())) for bag, probability in law.support()]
        for i in range(law.n_samples):
            p = sum(weight for weight, rows in inside if i in rows)
            assert float(p) == pytest.approx(law.inclusion_probability, abs=1e-15)
            for j in range(i):
                both = sum(weight for weight, rows in inside if {i, j} <= rows)
                assert float(p * p - both) == pytest.approx(law.negative_covariance, abs=1e-15)


@pytest.mark.parametrize("n", SIZES)
def test_the_law_without_one_is_the_law_given_that_the_last_row_is_out(n):
    for law in finite_laws(n):
        last = law.n_samples - 1
        out = {tuple(bag.tolist()): weight for bag, weight in law.support() if last not in bag}
        total = sum(out.values())
        given = {bag: weight / total for bag, weight in out.items()}
        assert {tuple(bag.tolist()): weight for bag, weight in law.without_one().support()} == given


@together(n=[2, 3], m=[1, 2, 3])
def test_poissonized_bags_obey_p_q_and_the_conditional_law(n, m):
    law = PoissonizedBagging(m).resolve(n)
    ensemble = enumerate_law(law, mass=1 - 1e-9)
    assert ensemble.weights.sum() == pytest.approx(1, abs=2e-9)
    p = ensemble.weights @ ensemble.inside
    np.testing.assert_allclose(p, law.inclusion_probability, atol=2e-9)
    both = ensemble.weights @ (ensemble.inside[:, 0] & ensemble.inside[:, 1])
    assert p[0] * p[1] - both == pytest.approx(0, abs=4e-9)
    out = {tuple(b.tolist()): w for b, w in zip(ensemble.bags, ensemble.weights, strict=True) if n - 1 not in b}
    for bag, weight in law.without_one().support(mass=0.99):
        assert weight == pytest.approx(out[tuple(bag.tolist())] / (1 - law.inclusion_probability), rel=1e-12)
