import itertools
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

from resampling.own_schemes import PAIRS_OF_FIVE, Declared, Listed
from stablebag import (
    BaggedRegressor,
    BernoulliSubbagging,
    Certificate,
    ClassicalBagging,
    PoissonizedBagging,
    Subbagging,
    certify,
)
from stablebag.proving.bounds import bagging_constant
from stablebag.proving.frontier import frontier
from stablebag.resampling import ResamplingScheme
from stablebag.resampling.law import ResolvedScheme, binomial_law, log_concave_law, orderings, orders, thinned

ALL = [Subbagging, BernoulliSubbagging, ClassicalBagging, PoissonizedBagging]


@pytest.mark.parametrize("scheme", ALL)
def test_the_first_bags_do_not_depend_on_how_many_are_drawn(scheme):
    law = scheme(0.5).resolve(40)
    many = law.draw(300, random_state=1)
    assert law.draw(5, random_state=1) == many[:5]
    assert law.draw(100, random_state=1, first=100) == many[100:200]
    assert law.draw(5, random_state=2) != many[:5]


def test_law_without_one_exists_even_if_its_bags_are_all_remaining_rows():
    law = Subbagging(4).resolve(5).without_one()
    assert (law.n_samples, law.bag_size, law.inclusion_probability) == (4, 4, 1.0)
    assert sorted(law.draw(1, random_state=0)[0].tolist()) == [0, 1, 2, 3]
    with pytest.raises(ValueError, match="because every bag contains it"):
        law.without_one()
    assert ClassicalBagging(2).resolve(2).without_one().inclusion_probability == 1.0


def test_laws_are_equal_if_bag_sizes_mean_the_same():
    assert Subbagging(0.5).resolve(10) == Subbagging(5).resolve(10)
    assert Subbagging(0.5).resolve(10) != Subbagging(0.4).resolve(10)
    assert Subbagging(0.5) == Subbagging(0.5) != BernoulliSubbagging(0.5)


# ---------------------------------------------------------------------------------------------------------- the support


def test_listing_an_infinite_support_raises_at_once():
    with pytest.raises(ValueError, match=r"infinitely many bags. Use a smaller mass"):
        PoissonizedBagging(2).resolve(5).support()


def test_support_stops_when_the_mass_is_reached():
    probabilities = [probability for _, probability in PoissonizedBagging(2).resolve(3).support(mass=0.9)]
    assert 0.9 <= sum(probabilities) < 0.99
    assert len(list(Subbagging(1).resolve(4).support(mass=0.5))) == 2


# ------------------------------------------------------------------------------------------------------------ bad input


@pytest.mark.parametrize("scheme", ALL)
@pytest.mark.parametrize("bad", [0, 1, -3])
def test_too_few_rows_raise(scheme, bad):
    with pytest.raises(ValueError, match=rf"'n_samples' parameter of .* >= 2. Got {bad}: .*One is left out"):
        scheme(1).resolve(bad)


@pytest.mark.parametrize("bad", [10.0, "10", None, True])
def test_n_samples_must_be_an_integer(bad):
    with pytest.raises(TypeError, match="'n_samples' parameter"):
        Subbagging().resolve(bad)


def test_invalid_n_bags_or_first_raises():
    law = Subbagging().resolve(10)
    with pytest.raises(ValueError, match=r"'n_bags' parameter of Subbagging.draw must be an integer >= 1. Got 0"):
        law.draw(0)
    with pytest.raises(TypeError, match="'n_bags'"):
        law.draw(2.5)
    with pytest.raises(ValueError, match="'first'"):
        law.draw(2, first=-1)


# ------------------------------------------------------------------------------------------------ a scheme of one's own


def test_p_q_and_the_law_without_one_are_computed_from_listed_bags():
    law, subbagging = Listed(PAIRS_OF_FIVE).resolve(5), Subbagging(2).resolve(5)
    assert law.inclusion_probability == subbagging.inclusion_probability
    assert law.negative_covariance == pytest.approx(subbagging.negative_covariance, abs=1e-15)
    assert (law.support_size, law.bag_size) == (10, 2)
    without, known = law.without_one(), subbagging.without_one()
    assert {tuple(b): w for b, w in without.support()} == {tuple(b): w for b, w in known.support()}
    assert without.inclusion_probability == pytest.approx(known.inclusion_probability, abs=1e-15)
    assert without.negative_covariance == pytest.approx(known.negative_covariance, abs=1e-15)
    assert max(bag.max() for bag in without.draw(200, random_state=0)) == 3


def test_declared_p_and_q_are_used():
    law = Declared(0.3, 0.0).resolve(20)
    assert (law.inclusion_probability, law.negative_covariance) == (0.3, 0.0)
    assert law.draw(10, random_state=0) == law.draw(20, random_state=0)[:10]
    assert law.without_one().inclusion_probability == pytest.approx(0.3)
    assert all(19 not in bag for bag in law.without_one().draw(50, random_state=0))
    with pytest.raises(TypeError, match="does not define enumerate_bags"):
        list(law.support())


def test_draw_fails_if_last_row_is_always_included():
    class Whole(Declared):
        def draw_bag(self, n_samples, generator):
            return np.arange(n_samples)

    law = ResolvedScheme(Whole(0.3, 0.0), 8)  # resolve would have refused it
    with pytest.raises(ValueError, match="put the last row into 10,000 consecutive bags"):
        law.without_one().draw(1, random_state=0)


@pytest.mark.parametrize("value", ["0.5", math.nan, None])
def test_inclusion_probability_must_be_a_number(value):
    with pytest.raises(TypeError, match=r"Declared\.inclusion_probability must return a number"):
        Declared(value, 0.0).resolve(20)


def test_inclusion_probability_must_be_a_method():
    class Numbered(Declared):
        inclusion_probability = 0.5

    with pytest.raises(TypeError, match=r"'inclusion_probability' .* must be a method of n_samples"):
        Numbered(0.5, 0.0).resolve(20)


def test_rounding_errors_of_listed_probabilities_are_allowed():
    subsets = (bag for size in range(4) for bag in itertools.combinations(range(3), size))
    law = Listed([(bag, 0.3 ** len(bag) * 0.7 ** (3 - len(bag))) for bag in subsets]).resolve(3)
    assert 0 <= law.negative_covariance < 1e-15


def test_a_scheme_without_p_and_q_raises():
    class Silent(ResamplingScheme):
        def draw_bag(self, n_samples, generator):
            return generator.integers(n_samples, size=2)

    with pytest.raises(TypeError, match="inclusion_probability and negative_covariance"):
        Silent().resolve(10)


def test_a_scheme_with_too_many_bags_must_define_p_and_q(monkeypatch):
    monkeypatch.setattr("stablebag.resampling.law.MOST_LISTED", 5)
    monkeypatch.setattr("stablebag.resampling.law_checks.MOST_LISTED", 5)
    with pytest.raises(ValueError, match=r"lists more than 5 bags. Define inclusion_probability"):
        Listed(PAIRS_OF_FIVE).resolve(5)


def test_draws_outside_the_table_raise():
    class Wrong(Declared):
        def draw_bag(self, n_samples, generator):
            return np.array([n_samples])

    with pytest.raises(ValueError, match="Bag 0 has row 20"):
        Wrong(0.5, 0.0).resolve(20).draw(1)


# -------------------------------------------------------------------------------------------------- schemes that change


class Changeable(ResamplingScheme):
    """Each row with probability p, which can be set."""

    p = 0.1

    def draw_bag(self, n_samples, generator):
        return np.flatnonzero(generator.random(n_samples) < self.p)

    def inclusion_probability(self, n_samples):
        return self.p

    def negative_covariance(self, n_samples):
        return 0.0

    def count_law(self, n_samples, n_rows):
        return BernoulliSubbagging(self.p).count_law(n_samples, n_rows)


def test_changing_a_scheme_changes_its_frontier():
    scheme = Changeable()
    before = scheme.resolve(10)
    assert frontier(before, 1).value == pytest.approx(0.1)
    scheme.p = 0.9
    assert frontier(scheme.resolve(10), 1).value == pytest.approx(0.9)
    assert Certificate(scheme, 10).epsilon(0.3) == Certificate(BernoulliSubbagging(0.9), 10).epsilon(0.3)
    assert frontier(before, 1).value == pytest.approx(0.1)  # a law is what the scheme was
    assert before.inclusion_probability == 0.1


def test_a_method_assigned_to_one_object_changes_its_law():
    scheme = Changeable()
    scheme.draw_bag = lambda n_samples, generator: np.flatnonzero(generator.random(n_samples) < 0.1)
    assert frontier(ResolvedScheme(scheme, 10), 1) is None


def test_changing_a_class_changes_its_frontier(monkeypatch):
    before = frontier(Changeable().resolve(10), 2).value
    monkeypatch.setattr(Changeable, "p", 0.9)
    after = frontier(Changeable().resolve(10), 2).value
    assert after == frontier(BernoulliSubbagging(0.9).resolve(10), 2).value > before


# -------------------------------------------------------------------------------------- rows that are likelier together


class OneOrMost(ResamplingScheme):
    """One row or all but one, each half of the time: q < 0."""

    def draw_bag(self, n_samples, generator):
        return generator.choice(n_samples, generator.choice([1, n_samples - 1]), replace=False)

    def enumerate_bags(self, n_samples):
        for size in (1, n_samples - 1):
            for bag in itertools.combinations(range(n_samples), size):
                yield bag, Fraction(1, 2 * n_samples)


def test_a_law_with_negative_q_has_a_larger_constant():
    law = OneOrMost().resolve(6)
    assert law.negative_covariance == pytest.approx(-1 / 12)
    assert bagging_constant(6, *law.p_and_q) == pytest.approx((1 + 5 / 3) / 6)
    model = BaggedRegressor(scheme=OneOrMost(), n_bags="all").fit(np.zeros((6, 1)), np.arange(6.0))
    assert 0 < certify(model).epsilon(0.5) < 5


def test_empty_probability():
    assert BernoulliSubbagging(0.05).resolve(6).empty_probability == pytest.approx(0.95**6)
    assert PoissonizedBagging(0.5).resolve(6).empty_probability == pytest.approx(math.exp(-3))
    assert Subbagging(3).resolve(6).empty_probability == ClassicalBagging(6).resolve(6).empty_probability == 0.0
    assert OneOrMost().resolve(6).empty_probability == 0.0
    assert Declared(0.3, 0.0).resolve(20).empty_probability == pytest.approx(0.7)  # a bound: nothing more is known


def test_empty_probability_follows_from_count_law_by_default():
    for scheme in (BernoulliSubbagging(0.05), PoissonizedBagging(0.5), Subbagging(3), ClassicalBagging(6)):
        law = scheme.resolve(6)
        assert ResamplingScheme.empty_probability(law.scheme, 6) == pytest.approx(law.empty_probability, abs=1e-15)
    assert ResamplingScheme.empty_probability(Declared(0.3, 0.0), 6) == pytest.approx(0.7)


class BadCount(BernoulliSubbagging):
    """Says the truth of one row, of two and of all, and not of three."""

    def count_law(self, n_samples, n_rows):
        if n_rows in (1, 2, n_samples):
            return super().count_law(n_samples, n_rows)
        return np.eye(n_rows + 1)[n_rows // 2]


def test_count_law_of_fewer_rows_follows_from_that_of_all_rows():
    law, right = BadCount(0.5).resolve(8), BernoulliSubbagging(0.5).resolve(8)
    for k in range(9):
        np.testing.assert_allclose(law.count_law(k), right.count_law(k), atol=1e-12)
    assert Certificate(BadCount(0.5), 8).epsilon(3 / 8) == pytest.approx(0.1875)


class MaybeEmpty(Subbagging):
    """Nothing in nine bags of ten, and otherwise one row: a subclass whose parent never draws an empty bag."""

    def draw_bag(self, n_samples, generator):
        return generator.integers(n_samples, size=int(generator.random() < 0.1))

    def enumerate_bags(self, n_samples):
        yield (), Fraction(9, 10)
        for row in range(n_samples):
            yield (row,), Fraction(1, 10 * n_samples)

    def count_bags(self, n_samples):
        return n_samples + 1

    def inclusion_probability(self, n_samples):
        return Fraction(1, 10 * n_samples)

    def negative_covariance(self, n_samples):
        return Fraction(1, 10 * n_samples) ** 2

    def count_law(self, n_samples, n_rows):
        return np.array([1 - n_rows / (10 * n_samples), n_rows / (10 * n_samples), *[0.0] * (n_rows - 1)])

    def without_one(self, n_samples):
        return ResamplingScheme.without_one(self, n_samples)

    def fix(self, n_samples):
        return self


def test_empty_probability_is_not_inherited_by_another_law():
    assert MaybeEmpty(1).resolve(5).empty_probability == pytest.approx(0.9)
    assert Certificate.for_labels(MaybeEmpty(1), list("abcde")).worst_case() == pytest.approx(0.02 + 0.9 / 0.98 / 5)


def test_schemes_with_arrays_can_be_compared():
    class Weighted(Declared):
        def __init__(self, table):
            super().__init__(0.3, 0.0)
            self.table = table

    one, two = Weighted(np.arange(3)), Weighted(np.arange(3))
    assert one == two
    assert one != Weighted(np.arange(4))
    model = BaggedRegressor(scheme=one, n_bags=3, warm_start=True, random_state=0)
    X, y = np.zeros((20, 1)), np.arange(20.0)
    assert len(model.fit(X, y).set_params(n_bags=5).fit(X, y).bags_) == 5


# ------------------------------------------------------------------------------------------------------- laws of counts


def test_binomial_law_computed_by_hand():
    np.testing.assert_allclose(binomial_law(2, 0.25, 0.75), [9 / 16, 6 / 16, 1 / 16])
    np.testing.assert_array_equal(binomial_law(0, 0.25, 0.75), [1.0])


def test_binomial_law_of_many_rows_does_not_underflow():
    law = binomial_law(100_000, 0.5, 0.5)
    assert law.sum() == pytest.approx(1.0)
    assert law.argmax() == 50_000
    assert law[50_000] == pytest.approx(math.sqrt(2 / (math.pi * 100_000)), rel=1e-5)  # by Stirling's formula


def test_log_concave_law_follows_from_ratios():
    np.testing.assert_allclose(log_concave_law(np.log([2.0, 1.0, 0.5])), [1 / 6, 2 / 6, 2 / 6, 1 / 6])
    np.testing.assert_allclose(log_concave_law(np.array([800.0, -800.0])), [0, 1, 0], atol=1e-300)


def test_thinning_a_binomial_law_gives_a_binomial_law():
    np.testing.assert_allclose(thinned(binomial_law(9, 0.3, 0.7), 4), binomial_law(4, 0.3, 0.7))
    np.testing.assert_allclose(thinned(binomial_law(9, 0.3, 0.7), 9), binomial_law(9, 0.3, 0.7))
    np.testing.assert_allclose(thinned(np.array([0.0, 0.0, 1.0, 0.0]), 2), [0, 2 / 3, 1 / 3])


def test_orders_of_a_bag_are_counted_and_listed():
    assert list(orderings(Counter([1, 0, 0]))) == [(0, 0, 1), (0, 1, 0), (1, 0, 0)]
    for bag, number in [((), 1), ((4,), 1), ((2, 2, 2), 1), ((0, 0, 1, 1), 6), ((0, 1, 2, 3), 24)]:
        assert orders(bag) == len(set(orderings(Counter(bag)))) == number
