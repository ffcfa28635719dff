"""Certificates move the way they must: in n, m, B, delta and epsilon, and back again."""

import math

from hypothesis import assume, given
from hypothesis import strategies as st

from stablebag import BernoulliSubbagging, Certificate, ClassicalBagging, PoissonizedBagging, Subbagging
from stablebag.proving import unstable_epsilon

schemes = st.sampled_from([Subbagging, BernoulliSubbagging, ClassicalBagging, PoissonizedBagging])
n_samples = st.integers(2, 3000)
shares = st.floats(0.0, 1.0)
bags = st.one_of(st.just(math.inf), st.integers(1, 10**7))
range_shares = st.one_of(st.just(0.0), st.floats(0, 0.5))
bounds = st.sampled_from(["best", "exact", "paper"])
ROUNDING = 1 + 1e-9


@st.composite
def certificates(draw, n_bags=bags, delta_range=range_shares):
    n = draw(n_samples)
    size = draw(st.integers(1, n - 1))
    length = draw(st.floats(0.01, 1000))
    lengths = {
        "range_length": length,
        "delta_range": draw(delta_range),
        "reach": draw(st.sampled_from([None, 2 * length])),
    }
    return Certificate(draw(schemes)(size), n, draw(n_bags), **lengths)


@given(certificates(), shares, shares, bounds)
def test_larger_delta_gives_a_smaller_epsilon(certificate, one, other, bound):
    few, many = sorted([one, other])
    assert certificate.epsilon(many, bound) <= certificate.epsilon(few, bound) * ROUNDING


@given(certificates(), st.floats(0, 2), st.floats(0, 2), bounds)
def test_larger_epsilon_gives_a_smaller_delta(certificate, one, other, bound):
    small, large = sorted([one * certificate.range_length, other * certificate.range_length])
    assert certificate.delta(large, bound) <= certificate.delta(small, bound) * ROUNDING


@given(certificates(), shares)
def test_best_epsilon_is_at_most_the_papers_and_the_range(certificate, delta):
    best = certificate.epsilon(delta)
    assert best <= certificate.epsilon(delta, "paper") * ROUNDING
    assert best <= certificate.reach


@given(certificates(), st.floats(0, 2))
def test_best_delta_is_at_most_the_papers(certificate, ratio):
    epsilon = ratio * certificate.range_length
    assert certificate.delta(epsilon) <= certificate.delta(epsilon, "paper") + 1e-9


@given(certificates(n_bags=st.just(math.inf)), shares)
def test_delta_of_epsilon_of_delta_is_at_most_delta(certificate, delta):
    assert certificate.delta(certificate.epsilon(delta)) <= delta


@given(certificates(), st.floats(0, 2))
def test_epsilon_of_delta_of_epsilon_is_at_most_epsilon(certificate, ratio):
    epsilon = ratio * certificate.range_length
    assert certificate.epsilon(certificate.delta(epsilon)) <= epsilon * ROUNDING


@given(certificates(n_bags=st.integers(1, 10**6)), shares, st.integers(1, 10**6), bounds)
def test_more_bags_never_weaken_a_bound(certificate, delta, more, bound):
    lengths = {name: getattr(certificate, name) for name in ("range_length", "delta_range", "reach")}
    larger = Certificate(certificate.scheme, certificate.n_samples, certificate.n_bags + more, **lengths)
    assert larger.epsilon(delta, bound) <= certificate.epsilon(delta, bound) * ROUNDING
    assert larger.mean() <= certificate.mean() * ROUNDING


@given(schemes, n_samples, st.data(), shares, bags, bounds)
def test_larger_bags_are_less_stable(scheme, n, data, delta, n_bags, bound):
    assume(n > 2)
    m = data.draw(st.integers(1, n - 2))
    small, large = (Certificate(scheme(size), n, n_bags) for size in (m, m + 1))
    assert small.epsilon(delta, bound) <= large.epsilon(delta, bound) * ROUNDING


@given(schemes, n_samples, st.data(), st.floats(0.0, 1.0), bags)
def test_more_rows_are_more_stable_at_the_same_rate(scheme, n, data, delta, n_bags):
    m = data.draw(st.integers(1, n - 1))
    small, large = Certificate(scheme(m), n, n_bags), Certificate(scheme(3 * m), 3 * n, n_bags)
    assert large.epsilon(delta, "paper") <= small.epsilon(delta, "paper") * ROUNDING
    assert large.mean() <= small.mean() * ROUNDING


@given(certificates(st.just(math.inf), st.just(0.0)), st.floats(0.1, 20), st.floats(0.1, 20))
def test_norms_increase_with_their_order_up_to_the_worst_case(certificate, one, other):
    low, high = sorted([one, other])
    assert certificate.norm(low) <= certificate.norm(high) * ROUNDING
    assert certificate.norm(high) <= certificate.worst_case() * ROUNDING


@given(n_samples, st.data(), st.floats(0.0, 0.99))
def test_no_bound_is_below_the_lower_bound_of_theorem_10(n, data, delta):
    m = data.draw(st.integers(1, n - 1))
    assert unstable_epsilon(n, m, delta) <= Certificate(Subbagging(m), n).epsilon(delta) * ROUNDING


@given(certificates(), shares)
def test_explanations_never_fail(certificate, delta):
    text = " ".join(certificate.explain(delta).split())
    assert "for every learner" in text or "Nothing is guaranteed" in text or "nothing is guaranteed" in text


@given(certificates())
def test_certificates_survive_a_round_trip_through_dictionaries(certificate):
    assert Certificate.from_dict(certificate.to_dict()) == certificate
