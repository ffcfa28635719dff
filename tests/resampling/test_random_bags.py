import numpy as np
import pytest

from stablebag import BaggedRegressor, BernoulliSubbagging, ClassicalBagging, Subbagging, random_n_bags
from stablebag.models.fitted import Fitted
from stablebag.resampling.schemes import probability_with_one_more


def test_the_law_with_one_more_row_keeps_the_size_or_the_rate():
    assert probability_with_one_more(Subbagging(0.5).resolve(99)) == 49 / 100
    assert probability_with_one_more(BernoulliSubbagging(0.5).resolve(99)) == 0.5
    assert probability_with_one_more(ClassicalBagging(1.0).resolve(10)) == pytest.approx(1 - (10 / 11) ** 10)


def test_the_number_hangs_on_the_seed_and_varies_about_what_was_asked_for():
    numbers = [random_n_bags(Subbagging(0.5), 99, 500, random_state) for random_state in range(40)]
    assert numbers[3] == random_n_bags(Subbagging(0.5), 99, 500, random_state=3)
    assert len(set(map(int, numbers))) > 10
    assert 400 < min(map(int, numbers)) < 500 < max(map(int, numbers)) < 600  # the standard deviation is 16


def test_it_is_taken_as_a_number_of_bags_and_recognized_with_its_own_law_only():
    number, X = random_n_bags(Subbagging(0.5), 20, 10, random_state=0), np.arange(20.0)[:, None]
    model = BaggedRegressor(n_bags=number, random_state=0).fit(X, X.ravel())
    assert len(model.bags_) == int(number) == len(range(number))
    assert Fitted(model).has_random_n_bags
    assert number.law == model.scheme_
    other = BaggedRegressor(n_bags=number, scheme=Subbagging(0.2), random_state=0).fit(X, X.ravel())
    assert not Fitted(other).has_random_n_bags


def test_a_law_of_which_no_larger_one_is_known_is_refused():
    class Half(BernoulliSubbagging):
        def without_one(self, n_samples):
            return BernoulliSubbagging(0.5).fix(n_samples - 1)

    with pytest.raises(TypeError, match=r"law on 10 rows .* is not known"):
        random_n_bags(Half(0.5), 9, 50, random_state=0)


def test_numbers_that_are_none_and_laws_of_other_rows_are_refused():
    with pytest.raises(ValueError, match=r"'n_bags' parameter of random_n_bags must be an integer >= 1. Got 0"):
        random_n_bags(Subbagging(0.5), 20, 0)
    with pytest.raises(ValueError, match="the scheme was resolved for n_samples=30"):
        random_n_bags(Subbagging(0.5).resolve(30), 20, 10)
