"""Theorem 10: the threshold learner attains the lower bound, and no certificate goes below it."""

import itertools

import numpy as np
import pytest

from grids import first, together
from stablebag import Certificate, Subbagging
from stablebag.paper.counterexamples import Memorizer, ThresholdCount
from stablebag.proving import unstable_epsilon
from stablebag.proving.bounds import memorizer_in_sample_delta, threshold_perturbation
from theorems.enumeration import enumerate_law


def outputs_of(learner, X, y, bags, point):
    return np.array([learner.fit(X[bag], y[bag]).predict(point)[0] for bag in bags])


@pytest.mark.parametrize("n", first(range(2, 9), 4))
def test_threshold_count_moves_by_exactly_the_stated_amount_for_each_of_the_ones(n):
    for m, influential in itertools.product(range(1, n), range(1, n + 1)):
        ensemble = enumerate_law(Subbagging(m).resolve(n))
        learner = ThresholdCount(n_samples=n, n_influential=influential)
        X, y = learner.data_set()
        moved = ensemble.perturbations(outputs_of(learner, X, y, ensemble.bags, X[:1]))
        np.testing.assert_allclose(moved[:influential], threshold_perturbation(n, m, influential), atol=1e-12)


@together(size=[*((n, m) for n in range(2, 9) for m in range(1, n)), (30, 7), (100, 50), (101, 99)])
def test_no_certificate_is_below_the_lower_bound(size):
    n, m = size
    certificate = Certificate(Subbagging(m), n)
    for rows in range(n):
        delta = rows / n
        assert unstable_epsilon(n, m, delta) <= certificate.epsilon(delta) + 1e-12
        if delta < 0.5:
            assert unstable_epsilon(n, m, delta, bound="paper") <= unstable_epsilon(n, m, delta) + 1e-15


def test_golden_values_of_the_lower_bound():
    assert threshold_perturbation(6, 3, 2) == pytest.approx(0.2, abs=1e-15)
    assert unstable_epsilon(500, 250, 0.1) == pytest.approx(0.0532538319220, abs=1e-12)
    assert unstable_epsilon(500, 250, 0.1, bound="paper") == pytest.approx(0.0531354900733, abs=1e-12)


def test_floors_are_taken_in_whole_numbers():
    # floor(100 * 0.29) is 28 in floats.
    assert unstable_epsilon(100, 50, 0.29) == threshold_perturbation(100, 50, 30)


@pytest.mark.parametrize("n", first(range(2, 9), 4))
def test_the_memorizer_is_unstable_at_its_own_rows_up_to_p_and_not_at_p(n):
    X, y = Memorizer.data_set(n)
    for m in range(1, n):
        ensemble = enumerate_law(Subbagging(m).resolve(n))
        at_own_row = [
            ensemble.perturbations(outputs_of(Memorizer(), X, y, ensemble.bags, X[[row]]))[row] for row in range(n)
        ]
        np.testing.assert_allclose(at_own_row, m / n, atol=1e-12)
        assert memorizer_in_sample_delta(np.nextafter(m / n, 0), p=m / n) == 1
        assert memorizer_in_sample_delta(m / n, p=m / n) == 0
