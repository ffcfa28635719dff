import math
from collections import Counter

import numpy as np
import pytest

from stablebag.resampling.law import binomial_law, log_concave_law, orderings, orders, thinned


def test_a_binomial_law_by_hand():
    np.testing.assert_allclose(binomial_law(2, 0.25, 0.75), [9 / 16, 6 / 16, 1 / 16])
    np.testing.assert_array_equal(binomial_law(0, 0.25, 0.75), [1.0])


def test_a_binomial_law_of_many_rows_does_not_vanish():
    law = binomial_law(100_000, 0.5, 0.5)
    assert law.sum() == pytest.approx(1.0)
    assert law.argmax() == 50_000
    assert law[50_000] == pytest.approx(math.sqrt(2 / (math.pi * 100_000)), rel=1e-5)  # by Stirling's formula


def test_a_law_follows_from_the_ratios_of_its_neighbours():
    np.testing.assert_allclose(log_concave_law(np.log([2.0, 1.0, 0.5])), [1 / 6, 2 / 6, 2 / 6, 1 / 6])
    np.testing.assert_allclose(log_concave_law(np.array([800.0, -800.0])), [0, 1, 0], atol=1e-300)


def test_fewer_rows_of_a_binomial_law_have_a_binomial_law():
    np.testing.assert_allclose(thinned(binomial_law(9, 0.3, 0.7), 4), binomial_law(4, 0.3, 0.7))
    np.testing.assert_allclose(thinned(binomial_law(9, 0.3, 0.7), 9), binomial_law(9, 0.3, 0.7))
    np.testing.assert_allclose(thinned(np.array([0.0, 0.0, 1.0, 0.0]), 2), [0, 2 / 3, 1 / 3])


def test_the_orders_of_a_bag_are_counted_and_listed():
    assert list(orderings(Counter([1, 0, 0]))) == [(0, 0, 1), (0, 1, 0), (1, 0, 0)]
    for bag, number in [((), 1), ((4,), 1), ((2, 2, 2), 1), ((0, 0, 1, 1), 6), ((0, 1, 2, 3), 24)]:
        assert orders(bag) == len(set(orderings(Counter(bag)))) == number
