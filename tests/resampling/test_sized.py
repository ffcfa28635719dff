import math
import re
from fractions import Fraction

import numpy as np
import pytest

from stablebag import BernoulliSubbagging, ClassicalBagging, PoissonizedBagging, Subbagging

ALL = [Subbagging, BernoulliSubbagging, ClassicalBagging, PoissonizedBagging]


WITHOUT_REPLACEMENT = [Subbagging, BernoulliSubbagging]


@pytest.mark.parametrize(("size", "n", "rows"), [
    (0.5, 7, 3), (0.29, 100, 29), (0.001, 10, 1), (3, 10, 3), (np.int64(3), 10, 3), (np.float32(0.29), 100, 29),
    (Fraction(1, 3), 10, 3), (0.999, 10, 9),
])  # fmt: skip
def test_fractions_are_floored_to_whole_rows_as_written(size, n, rows):
    assert Subbagging(size).resolve(n).bag_size == rows
    assert ClassicalBagging(size).resolve(n).bag_size == rows


def test_fractions_are_kept_exactly_where_the_size_is_random():
    assert BernoulliSubbagging(0.29).resolve(7).inclusion_probability == 0.29
    assert BernoulliSubbagging(0.29).resolve(7).bag_size == pytest.approx(2.03)
    assert PoissonizedBagging(0.29).resolve(7).bag_size == pytest.approx(2.03)
    assert BernoulliSubbagging(2).resolve(6).inclusion_probability == 1 / 3


def test_draws_with_replacement_may_exceed_the_number_of_rows():
    assert ClassicalBagging(2.0).resolve(10).bag_size == 20
    assert PoissonizedBagging(25).resolve(10).bag_size == 25


@pytest.mark.parametrize("scheme", ALL)
@pytest.mark.parametrize("bad", [0, -1, 0.0, -0.5, math.nan, math.inf, 1e308])
def test_a_bag_size_that_is_no_size_is_refused_at_once(scheme, bad):
    words = rf"'bag_size' parameter of {scheme.__name__} must be a positive .* Got {re.escape(str(bad))}"
    with pytest.raises(ValueError, match=words):
        scheme(bad)


@pytest.mark.parametrize("scheme", ALL)
@pytest.mark.parametrize("bad", ["half", None, True, [0.5], 1j])
def test_a_bag_size_of_another_type_is_refused_at_once(scheme, bad):
    with pytest.raises(TypeError, match=r"'bag_size' parameter of .* Got "):
        scheme(bad)


@pytest.mark.parametrize("scheme", WITHOUT_REPLACEMENT)
@pytest.mark.parametrize("bad", [500, 1.0, 501])
def test_bags_of_all_rows_or_more_are_refused_without_replacement(scheme, bad):
    with pytest.raises(ValueError, match=r"must be smaller than n_samples=500.*Use at most 499"):
        scheme(bad).resolve(500)


@pytest.mark.parametrize("scheme", WITHOUT_REPLACEMENT)
def test_a_float_above_one_is_asked_to_be_an_int(scheme):
    with pytest.raises(
        ValueError, match=r"Got 250.0: a float is a fraction of the rows. For a number of rows write 250"
    ):
        scheme(250.0)


def test_every_k_of_n_given_as_a_fraction_is_k_rows():
    assert all(Subbagging(k / n).resolve(n).bag_size == k for n in range(2, 120) for k in range(1, n))


def test_a_slice_of_a_permutation_does_not_keep_the_permutation_alive():
    assert Subbagging(0.5).draw_bag(1000, np.random.default_rng(0)).base is None
