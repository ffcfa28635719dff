from fractions import Fraction

import numpy as np
import pytest

from stablebag import BernoulliSubbagging


def test_the_bags_of_two_rows_have_these_chances():
    listed = {tuple(bag.tolist()): p for bag, p in BernoulliSubbagging(Fraction(1, 3)).resolve(2).support()}
    assert listed == {(): Fraction(4, 9), (0,): Fraction(2, 9), (1,): Fraction(2, 9), (0, 1): Fraction(1, 9)}


def test_how_many_of_some_rows_are_in_a_bag_is_binomial():
    law = BernoulliSubbagging(0.25).resolve(10)
    np.testing.assert_allclose(law.count_law(3), np.array([27, 27, 9, 1]) / 64, rtol=1e-12)


def test_bags_have_distinct_rows_and_sizes_that_differ():
    bags = BernoulliSubbagging(0.5).resolve(10).draw(200, random_state=0)
    assert (bags.counts <= 1).all()
    assert len(set(bags.sizes.tolist())) >= 5
    assert abs(bags.sizes.mean() - 5) < 0.5  # the standard deviation of the mean is 0.11


def test_no_bag_has_rows_where_the_probability_is_tiny():
    law = BernoulliSubbagging(1e-12).resolve(1000)
    assert law.empty_probability == pytest.approx(1 - 1e-9, abs=1e-15)
    assert law.draw(50, random_state=0).sizes.tolist() == [0] * 50


def test_it_says_what_it_draws():
    assert str(BernoulliSubbagging(250).resolve(1000)) == (
        "Bernoulli subbagging, each of 1,000 rows with probability 0.25"
    )
