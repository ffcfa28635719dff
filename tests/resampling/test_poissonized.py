import math

import numpy as np
import pytest

from stablebag import PoissonizedBagging


def test_the_likeliest_bags_of_two_rows_have_these_chances():
    law = PoissonizedBagging(0.5).resolve(2)  # one draw is expected
    listed = {tuple(bag.tolist()): p * math.e for bag, p in law.support(mass=0.9)}
    assert listed == pytest.approx({(): 1, (0,): 1 / 2, (1,): 1 / 2, (0, 0): 1 / 8, (0, 1): 1 / 4, (1, 1): 1 / 8})


def test_a_rate_of_log_two_puts_every_row_into_half_of_the_bags():
    law = PoissonizedBagging(math.log(2)).resolve(10)
    assert law.inclusion_probability == pytest.approx(0.5)
    assert law.negative_covariance == 0
    np.testing.assert_allclose(law.count_law(2), [1 / 4, 1 / 2, 1 / 4])


def test_rows_repeat_in_bags_whose_sizes_differ_and_may_be_zero():
    bags = PoissonizedBagging(0.5).resolve(4).draw(200, random_state=0)
    assert bags.counts.max() >= 2
    assert {0, 1, 2, 3} <= set(bags.sizes.tolist())
    assert abs(bags.sizes.mean() - 2) < 0.5  # the standard deviation of the mean is 0.1


def test_it_says_what_it_draws():
    assert str(PoissonizedBagging(1.5).resolve(1000)) == "Poissonized bagging, 1,500 draws expected from 1,000 rows"
