import itertools
import math
import pickle
from fractions import Fraction

import numpy as np
import pytest

from resampling.test_unequal import conditional
from stablebag import StratifiedSubbagging, Subbagging
from stablebag.resampling.covariance import moments, norm_of
from stablebag.resampling.unequal import with_labels
from stablebag.resampling.units import RowIds, Units

SIX = ["a", "b", "a", "b", "b", "b"]


def random_law(rng):
    sizes = rng.integers(2, 5, rng.integers(1, 4))
    strata = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    each = {stratum: int(rng.integers(1, size)) for stratum, size in enumerate(sizes.tolist())}
    return StratifiedSubbagging(each, strata).resolve(len(strata))


def test_one_of_two_and_two_of_four_are_one_of_twelve_bags():
    law = StratifiedSubbagging({"a": 1, "b": 2}, SIX).resolve(6)
    listed = {tuple(bag.tolist()): p for bag, p in law.support()}
    pairs = list(itertools.combinations([1, 3, 4, 5], 2))
    assert listed == {tuple(sorted((one, *two))): Fraction(1, 12) for one in (0, 2) for two in pairs}
    assert law.support_size == 12
    assert law.inclusion_probabilities.tolist() == [0.5] * 6
    # Worked by hand: p / (1 - p) = 1 in both, 2 / 1 for two rows and 4 / 3 for four, divided by six.
    assert law.constant == pytest.approx(2 / 6)
    assert law.empty_probability == 0
    assert law.scheme.raggedness(6) == 1


def test_closed_forms_are_those_of_the_listed_bags(seed):
    rng = np.random.default_rng(seed)
    for _ in range(60):
        law = random_law(rng)
        inclusion, covariance = moments(law.support(), law.n_samples)
        np.testing.assert_allclose(law.inclusion_probabilities, inclusion)
        np.testing.assert_allclose(law.scheme.covariance(law.n_samples), covariance, atol=1e-12)
        assert law.constant == pytest.approx(norm_of(inclusion, covariance))
        for bag, _ in law.support():
            assert np.delete(1 / (1 - inclusion), bag).sum() == pytest.approx(law.n_samples)


def test_one_stratum_is_subbagging():
    law, plain = StratifiedSubbagging(0.5, ["all"] * 8).resolve(8), Subbagging(0.5).resolve(8)
    assert law.constant == pytest.approx(plain.constant)
    assert law.largest_inclusion == plain.largest_inclusion == 0.5
    assert law.draw(20, random_state=3) == plain.draw(20, random_state=3)


@pytest.mark.parametrize("n_samples", [200, 70_000])
def test_drawn_bags_have_their_number_of_every_stratum(n_samples):
    strata = np.where(np.arange(n_samples) % 10 == 0, "rare", "common")
    law = StratifiedSubbagging({"rare": 3, "common": 5}, strata).resolve(n_samples)
    for bag in law.draw(30, random_state=0):
        assert len(set(bag.tolist())) == 8
        assert (strata[bag] == "rare").sum() == 3


def test_half_of_very_many_rows_are_drawn_as_well():
    strata = np.arange(70_000) % 3
    bags = StratifiedSubbagging(0.5, strata).resolve(70_000).draw(2, random_state=0)
    assert [np.bincount(strata[bag]).tolist() for bag in bags] == [[11_667, 11_666, 11_666]] * 2


@pytest.mark.parametrize("n_samples", [30, 66_000])
def test_with_a_row_less_bags_without_it_are_the_same_to_the_last_bit(n_samples):
    strata = np.arange(n_samples) % 3
    law = StratifiedSubbagging(12, strata).resolve(n_samples)
    bags = law.draw(40, random_state=5)
    for gone in (0, 10, n_samples - 1, int(bags[0][0])):
        rest = np.delete(np.arange(n_samples), gone)
        for bag, again in zip(bags, law.without([gone]).draw(40, random_state=5, row_ids=rest), strict=True):
            if gone not in bag:
                np.testing.assert_array_equal(bag, rest[again])
            else:  # a row of the same stratum takes its place
                (newcomer,) = set(rest[again].tolist()) - set(bag.tolist())
                assert set(bag.tolist()) - {gone} == set(rest[again].tolist()) - {newcomer}
                assert strata[newcomer] == strata[gone]


def test_the_law_without_some_rows_keeps_the_numbers_and_is_the_conditional_law(seed):
    rng = np.random.default_rng(seed)
    for _ in range(20):
        law = random_law(rng)
        for gone in range(law.n_samples):
            smaller = law.without([gone])
            found = {tuple(bag.tolist()): p for bag, p in smaller.support()}
            assert found == conditional(law, [gone])
            assert smaller.bag_size == law.bag_size
    law = StratifiedSubbagging({"a": 1, "b": 1}, SIX).resolve(6)
    assert {tuple(bag.tolist()): p for bag, p in law.without([1, 4]).support()} == conditional(law, [1, 4])
    with pytest.raises(ValueError, match=r"stratum 'a' has 0 left, but every bag has 1 of them"):
        law.without([0, 2])


# ------------------------------------------------------------------------------------------- how many of each stratum


@pytest.mark.parametrize(("bag_size", "sizes", "each"), [
    (0.5, [90, 10], [45, 5]),
    (0.5, [7, 3], [3, 1]),
    (0.01, [90, 10], [1, 1]),  # at least one row
    (0.99, [90, 10], [89, 9]),  # and never all
    (50, [90, 10], [45, 5]),
    (10, [90, 7, 3], [8, 1, 1]),  # 9, 0.7 and 0.3
    (5, [3, 3, 3], [2, 2, 1]),  # 5/3 each: what is left over goes to the first
    (97, [50, 47, 3], [49, 46, 2]),  # 48.5, 45.59 and 2.91: at most all but one
    (2, [50, 50], [1, 1]),
    (98, [50, 50], [49, 49]),
    ({0: 5, 1: 0.5}, [90, 10], [5, 5]),
    ({0: 0.1, 1: 9}, [90, 10], [9, 9]),
    (0.29, [100, 100], [29, 29]),  # not 28, as floats would have it
])  # fmt: skip
def test_rows_are_allotted_as_stated(bag_size, sizes, each):
    strata = np.repeat(np.arange(len(sizes)), sizes)
    law = StratifiedSubbagging(bag_size, strata).resolve(sum(sizes))
    assert list(law.scheme.bag_size.values()) == each


def test_proportions_are_missed_by_less_than_a_row_where_bounds_do_not_bind(seed):
    rng = np.random.default_rng(seed)
    for _ in range(200):
        sizes = rng.integers(20, 200, rng.integers(2, 6))
        total = int(rng.integers(sizes.sum() // 4, sizes.sum() // 2))
        law = StratifiedSubbagging(total, np.repeat(np.arange(len(sizes)), sizes)).resolve(int(sizes.sum()))
        each = np.array(list(law.scheme.bag_size.values()))
        assert each.sum() == total == law.bag_size
        assert (np.abs(each - total * sizes / sizes.sum()) < 1).all()


# ---------------------------------------------------------------------------------------------------------- bad input


@pytest.mark.parametrize(("bag_size", "strata", "words"), [
    (0.5, None, r"must be a label for each row. Got None: give them here, or to fit: fit\(X, y, strata=...\)"),
    (0.5, list("aabbc"), r"labels with two rows or more. Got 'c': row 4 is the only one .* Join it with another"),
    (0.5, ["a", "b", "b", "c", "d"], r"row \d \(and 2 others\) is the only one"),
    (0.5, list("abcde"), r"labels that rows share. Got .* every row is a stratum of its own, .* use Subbagging"),
    (0.5, list("aabb"), r"must be 5 labels, one for each row. Got 4"),
    (0.5, ["a", "a", "b", "b", None], "row 4 has none"),
    (0.5, [0.0, 0.0, 1.0, 1.0, np.nan], "row 4 has none"),
    (1, list("aabbb"), r"from 2 to 3 for these strata. Got 1: of each of the 2 strata, one row at least is in a bag"),
    (4, list("aabbb"), r"Use 2 to 3 rows"),
    (1.0, list("aabbb"), "whole data set"),
    ({"a": 2, "b": 1}, list("aabbb"), r"fewer rows of stratum 'a' than there are. Got 2: it has 2 rows, .* at most 1"),
    ({"a": 1}, list("aabbb"), "stratum 'b' has none"),
    ({"a": 1, "b": 1, "z": 1}, list("aabbb"), "no row is in stratum 'z'"),
])  # fmt: skip
def test_bad_strata_and_sizes_are_told_the_way_out(bag_size, strata, words):
    with pytest.raises(ValueError, match=words):
        StratifiedSubbagging(bag_size, strata).resolve(5)


@pytest.mark.parametrize(("bag_size", "error"), [
    (0, ValueError), (-1, ValueError), (1.5, ValueError), (math.nan, ValueError), ("half", TypeError),
    ({"a": 0}, ValueError), ({"a": True}, TypeError),
])  # fmt: skip
def test_a_size_that_is_none_is_refused_at_once(bag_size, error):
    with pytest.raises(error, match="The 'bag_size' parameter of StratifiedSubbagging must be"):
        StratifiedSubbagging(bag_size)


def test_more_rows_of_known_strata_keep_the_numbers():
    law = StratifiedSubbagging({"a": 1, "b": 2}, SIX).resolve(6)
    larger = law.scheme.with_more(6, ["a", "b"]).resolve(8)
    assert larger.without([6, 7]) == law
    with pytest.raises(ValueError, match=r"strata that are there already. Got 'c'"):
        law.scheme.with_more(6, ["c", "c"])


# ------------------------------------------------------------------------------------------------- how it is an object


def test_it_can_be_compared_copied_and_shown():
    scheme = StratifiedSubbagging(0.5, np.array(SIX))
    assert pickle.loads(pickle.dumps(scheme)) == scheme
    assert scheme == StratifiedSubbagging(0.5, SIX) != StratifiedSubbagging(0.5, SIX[::-1])
    assert hash(scheme) == hash(StratifiedSubbagging(0.4))
    law = scheme.resolve(6)
    assert pickle.loads(pickle.dumps(law)) == law == law.scheme.resolve(6)
    assert repr(StratifiedSubbagging()) == "StratifiedSubbagging(bag_size=0.5)"
    assert repr(scheme) == "StratifiedSubbagging(bag_size=0.5, strata=<6 labels>)"
    assert str(law) == "stratified subbagging, 3 of 6 rows in 2 strata"
    assert law.fingerprint != StratifiedSubbagging(0.5, SIX[::-1]).resolve(6).fingerprint


def test_changing_the_labels_afterwards_changes_no_law():
    strata = np.array(SIX)
    law = StratifiedSubbagging(0.5, strata).resolve(6)
    before = law.fingerprint
    strata[:] = "z"
    assert law.fingerprint == before


def test_a_subclass_that_draws_something_else_is_refused():
    class Greedy(StratifiedSubbagging):
        def draw_bag(self, n_samples, generator):
            return np.arange(3)

    with pytest.raises(ValueError, match=r"Make them agree|does not list"):
        Greedy(0.5, SIX).resolve(6)


def test_labels_are_taken_where_there_are_none():
    rows = Units(RowIds(None, len(SIX)))
    assert with_labels(StratifiedSubbagging(), SIX, rows).strata.tolist() == list(SIX)
    own = StratifiedSubbagging(strata=SIX)
    assert with_labels(own, None, rows) is own
    assert with_labels(Subbagging(), SIX, rows) == Subbagging()
