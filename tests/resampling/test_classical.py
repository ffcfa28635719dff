import math
from fractions import Fraction

import numpy as np
import pytest

from stablebag import ClassicalBagging


def test_classical_q_is_accurate_where_the_two_powers_nearly_cancel():
    n = m = 10**6
    exact = Fraction(n - 1, n) ** 4 - Fraction(n - 2, n) ** 2
    assert ClassicalBagging(2).resolve(n).negative_covariance == pytest.approx(float(exact), rel=1e-9)
    assert ClassicalBagging(m).resolve(n).negative_covariance == pytest.approx(math.exp(-2) / n, rel=1e-5)


def test_so_many_draws_that_no_row_is_ever_out_are_refused_by_name():
    for size, n in [(50.0, 10), (3000, 3), (10**14, 500)]:
        with pytest.raises(ValueError, match=r"breaks Assumption 7 \(0 < p < 1\)"):
            ClassicalBagging(size).resolve(n)


def test_the_bags_of_two_draws_from_three_rows_have_these_chances():
    listed = {tuple(bag.tolist()): p for bag, p in ClassicalBagging(2).resolve(3).support()}
    once, twice = Fraction(2, 9), Fraction(1, 9)
    assert listed == {(0, 0): twice, (0, 1): once, (0, 2): once, (1, 1): twice, (1, 2): once, (2, 2): twice}


def test_one_draw_from_two_rows_takes_one_or_the_other():
    law = ClassicalBagging(1).resolve(2)
    assert law.inclusion_probability == pytest.approx(1 / 2)
    assert law.negative_covariance == pytest.approx(1 / 4)  # never both


def test_how_many_rows_are_in_a_bag_of_two_draws_from_three_rows():
    law = ClassicalBagging(2).resolve(3)
    np.testing.assert_allclose(law.count_law(3), [0, 1 / 3, 2 / 3, 0], atol=1e-15)
    np.testing.assert_allclose(law.count_law(1), [4 / 9, 5 / 9])


def test_counts_that_would_take_too_long_are_not_worked_out():
    assert ClassicalBagging(10**9).resolve(10**9).count_law(1) is None


def test_it_says_what_it_draws():
    assert str(ClassicalBagging(0.5).resolve(3000)) == "classical bagging, 1,500 draws from 3,000 rows"
