import itertools
from fractions import Fraction

import numpy as np

from stablebag import Subbagging


def test_subclasses_of_the_papers_schemes_stay_what_they_are():
    class Sorted(Subbagging):
        def draw_bag(self, n_samples, generator):
            return np.sort(super().draw_bag(n_samples, generator))

    bag = Sorted(0.5).resolve(12).draw(1, random_state=0)[0]
    assert (np.diff(bag) > 0).all()
    assert type(Sorted(0.5).resolve(12).without_one().scheme) is Sorted


def test_two_of_four_rows_are_one_of_six_bags():
    law = Subbagging(2).resolve(4)
    listed = {tuple(bag.tolist()): p for bag, p in law.support()}
    assert listed == dict.fromkeys(itertools.combinations(range(4), 2), Fraction(1, 6))
    assert law.p_and_q == (Fraction(1, 2), Fraction(1, 12))  # 1/4 - 1/6


def test_how_many_of_some_rows_are_in_a_bag_is_hypergeometric():
    np.testing.assert_allclose(Subbagging(2).resolve(4).count_law(2), [1 / 6, 2 / 3, 1 / 6])
    np.testing.assert_allclose(Subbagging(3).resolve(4).count_law(2), [0, 1 / 2, 1 / 2])
    np.testing.assert_allclose(Subbagging(3).resolve(4).count_law(4), [0, 0, 0, 1, 0])


def test_bags_are_of_one_size_and_have_distinct_rows_in_any_order():
    bags = Subbagging(5).resolve(8).draw(300, random_state=0)
    assert (bags.sizes == 5).all()
    assert bags.counts.max() == 1
    assert {bag[0] for bag in bags} == set(range(8))


def test_it_says_what_it_draws():
    assert str(Subbagging(0.29).resolve(10_000)) == "subbagging, 2,900 of 10,000 rows"
