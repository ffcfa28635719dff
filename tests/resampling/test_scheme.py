import itertools
import math
import re
from fractions import Fraction

import numpy as np
import pytest

from stablebag import (
    BaggedRegressor,
    BernoulliSubbagging,
    Certificate,
    ClassicalBagging,
    PoissonizedBagging,
    ResamplingScheme,
    Subbagging,
    certify,
)
from stablebag.proving.bounds import bagging_constant
from stablebag.proving.frontier import frontier
from stablebag.resampling.scheme import ResolvedScheme

ALL = [Subbagging, BernoulliSubbagging, ClassicalBagging, PoissonizedBagging]
WITHOUT_REPLACEMENT = [Subbagging, BernoulliSubbagging]


@pytest.mark.parametrize("scheme", ALL)
def test_the_first_bags_do_not_depend_on_how_many_are_drawn(scheme):
    law = scheme(0.5).resolve(40)
    many = law.draw(300, random_state=1)
    assert law.draw(5, random_state=1) == many[:5]
    assert law.draw(100, random_state=1, first=100) == many[100:200]
    assert law.draw(5, random_state=2) != many[:5]


@pytest.mark.parametrize("scheme", ALL)
def test_a_million_rows_draw_small_bags(scheme):
    bags = scheme(1000).resolve(1_000_000).draw(3, random_state=0)
    assert (abs(bags.sizes - 1000) < 200).all()


def test_golden_constants():
    expected = {
        Subbagging(250): (0.5, 5.01002004008e-4),
        BernoulliSubbagging(0.5): (0.5, 0.0),
        ClassicalBagging(500): (0.632488745143, 2.70941236043e-4),
        ClassicalBagging(250): (0.393772934572, 3.68801290916e-4),
        PoissonizedBagging(500): (0.632120558829, 0.0),
    }
    for scheme, (p, q) in expected.items():
        law = scheme.resolve(500)
        assert law.inclusion_probability == pytest.approx(p, abs=1e-12)
        assert law.negative_covariance == pytest.approx(q, abs=1e-15)


def test_classical_q_is_accurate_where_the_two_powers_nearly_cancel():
    n = m = 10**6
    exact = Fraction(n - 1, n) ** 4 - Fraction(n - 2, n) ** 2
    assert ClassicalBagging(2).resolve(n).negative_covariance == pytest.approx(float(exact), rel=1e-9)
    assert ClassicalBagging(m).resolve(n).negative_covariance == pytest.approx(math.exp(-2) / n, rel=1e-5)


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


def test_the_law_without_one_keeps_the_size_or_the_rate():
    assert Subbagging(0.5).resolve(500).without_one() == Subbagging(250).resolve(499)
    assert ClassicalBagging(1.0).resolve(500).without_one() == ClassicalBagging(500).resolve(499)
    assert BernoulliSubbagging(250).resolve(500).without_one() == BernoulliSubbagging(0.5).resolve(499)
    assert PoissonizedBagging(500).resolve(500).without_one() == PoissonizedBagging(1.0).resolve(499)


def test_the_law_without_one_exists_where_its_bags_are_everything_that_is_left():
    law = Subbagging(4).resolve(5).without_one()
    assert (law.n_samples, law.bag_size, law.inclusion_probability) == (4, 4, 1.0)
    assert sorted(law.draw(1, random_state=0)[0].tolist()) == [0, 1, 2, 3]
    with pytest.raises(ValueError, match="it is in every bag"):
        law.without_one()
    assert ClassicalBagging(2).resolve(2).without_one().inclusion_probability == 1.0


def test_equal_laws_are_equal_however_they_were_written():
    assert Subbagging(0.5).resolve(10) == Subbagging(5).resolve(10)
    assert Subbagging(0.5).resolve(10) != Subbagging(0.4).resolve(10)
    assert Subbagging(0.5) == Subbagging(0.5) != BernoulliSubbagging(0.5)


@pytest.mark.parametrize("scheme", ALL)
def test_two_rows_are_enough(scheme):
    law = scheme(1).resolve(2)
    assert 0 < law.inclusion_probability < 1
    assert law.draw(3, random_state=0).n_samples == 2


def test_draws_with_replacement_may_exceed_the_number_of_rows():
    assert ClassicalBagging(2.0).resolve(10).bag_size == 20
    assert PoissonizedBagging(25).resolve(10).bag_size == 25


# ---------------------------------------------------------------------------------------------------------- the support


@pytest.mark.parametrize(("law", "size"), [
    (Subbagging(2).resolve(5), 10), (BernoulliSubbagging(2).resolve(5), 32), (ClassicalBagging(2).resolve(5), 15),
    (PoissonizedBagging(2).resolve(5), math.inf), (Subbagging(250).resolve(500), math.comb(500, 250)),
], ids=str)  # fmt: skip
def test_support_size_needs_no_listing(law, size):
    assert law.support_size == size


def test_an_infinite_support_is_refused_before_it_is_walked():
    with pytest.raises(ValueError, match=r"infinitely many. Use a smaller mass"):
        PoissonizedBagging(2).resolve(5).support()


def test_the_support_is_walked_until_the_mass_is_reached():
    probabilities = [probability for _, probability in PoissonizedBagging(2).resolve(3).support(mass=0.9)]
    assert 0.9 <= sum(probabilities) < 0.99
    assert len(list(Subbagging(1).resolve(4).support(mass=0.5))) == 2


# ------------------------------------------------------------------------------------------------------------ bad input


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


def test_laws_of_a_billion_rows_resolve():
    for scheme in (Subbagging(10**9 - 1), BernoulliSubbagging(10**9 - 1), ClassicalBagging(10**9)):
        assert 0 < scheme.resolve(10**9).inclusion_probability < 1
    assert next(Subbagging(0.5).resolve(3000).support())[0].tolist() == list(range(1500))


def test_every_k_of_n_given_as_a_fraction_is_k_rows():
    assert all(Subbagging(k / n).resolve(n).bag_size == k for n in range(2, 120) for k in range(1, n))


def test_a_slice_of_a_permutation_does_not_keep_the_permutation_alive():
    assert Subbagging(0.5).draw_bag(1000, np.random.default_rng(0)).base is None


@pytest.mark.parametrize("scheme", ALL)
@pytest.mark.parametrize("bad", [0, 1, -3])
def test_too_few_rows_are_refused(scheme, bad):
    with pytest.raises(ValueError, match=rf"'n_samples' parameter of .* >= 2. Got {bad}: .*one is left out"):
        scheme(1).resolve(bad)


@pytest.mark.parametrize("bad", [10.0, "10", None, True])
def test_a_number_of_rows_that_is_no_integer_is_refused(bad):
    with pytest.raises(TypeError, match="'n_samples' parameter"):
        Subbagging().resolve(bad)


def test_a_number_of_bags_that_is_none_is_refused():
    law = Subbagging().resolve(10)
    with pytest.raises(ValueError, match=r"'n_bags' parameter of Subbagging.draw must be an integer >= 1. Got 0"):
        law.draw(0)
    with pytest.raises(TypeError, match="'n_bags'"):
        law.draw(2.5)
    with pytest.raises(ValueError, match="'first'"):
        law.draw(2, first=-1)


def test_so_many_draws_that_no_row_is_ever_out_are_refused_by_name():
    for size, n in [(50.0, 10), (3000, 3), (10**14, 500)]:
        with pytest.raises(ValueError, match=r"breaks Assumption 7 \(0 < p < 1\)"):
            ClassicalBagging(size).resolve(n)


# ------------------------------------------------------------------------------------------------ a scheme of one's own


class Declared(ResamplingScheme):
    """A scheme that says what p and q are."""

    def __init__(self, p, q):
        self.p, self.q = p, q

    def draw_bag(self, n_samples, generator):
        return np.flatnonzero(generator.random(n_samples) < self.p)

    def inclusion_probability(self, n_samples):
        return self.p

    def negative_covariance(self, n_samples):
        return self.q


class Listed(ResamplingScheme):
    """A scheme that lists its bags."""

    def __init__(self, bags):
        self.bags = bags

    def draw_bag(self, n_samples, generator):
        bags, weights = zip(*self.bags, strict=True)
        return np.array(bags[generator.choice(len(bags), p=np.array(weights, dtype=float))])

    def enumerate_bags(self, n_samples):
        return iter(self.bags)


PAIRS_OF_FIVE = [(pair, Fraction(1, 10)) for pair in itertools.combinations(range(5), 2)]


def test_a_scheme_that_lists_its_bags_gets_p_q_and_q_n_minus_1_worked_out():
    law, subbagging = Listed(PAIRS_OF_FIVE).resolve(5), Subbagging(2).resolve(5)
    assert law.inclusion_probability == subbagging.inclusion_probability
    assert law.negative_covariance == pytest.approx(subbagging.negative_covariance, abs=1e-15)
    assert (law.support_size, law.bag_size) == (10, 2)
    without, known = law.without_one(), subbagging.without_one()
    assert {tuple(b): w for b, w in without.support()} == {tuple(b): w for b, w in known.support()}
    assert without.inclusion_probability == pytest.approx(known.inclusion_probability, abs=1e-15)
    assert without.negative_covariance == pytest.approx(known.negative_covariance, abs=1e-15)
    assert max(bag.max() for bag in without.draw(200, random_state=0)) == 3


def test_a_scheme_that_declares_p_and_q_is_taken_at_its_word():
    law = Declared(0.3, 0.0).resolve(20)
    assert (law.inclusion_probability, law.negative_covariance) == (0.3, 0.0)
    assert law.draw(10, random_state=0) == law.draw(20, random_state=0)[:10]
    assert law.without_one().inclusion_probability == pytest.approx(0.3)
    assert all(19 not in bag for bag in law.without_one().draw(50, random_state=0))
    with pytest.raises(TypeError, match="does not define enumerate_bags"):
        list(law.support())


@pytest.mark.parametrize(("p", "q", "words"), [
    (1.0, 0.0, r"Declared at n_samples=20 breaks Assumption 7 \(0 < p < 1\).*p = 1, so every row is in every bag"),
    (0.0, 0.0, "every row is in no bag"),
    (0.5, -0.26, r"breaks Assumption 5 \(all rows alike\).*below -p \(1 - p\) = -0.25"),
    (0.5, 0.1, r"breaks Assumption 5 \(all rows alike\).*above p \(1 - p\)"),
])  # fmt: skip
def test_a_scheme_outside_the_assumptions_is_told_which(p, q, words):
    with pytest.raises(ValueError, match=words):
        Declared(p, q).resolve(20)


def test_a_scheme_that_favours_a_row_is_told_which_bags_differ():
    bags = [((0,), Fraction(1, 2)), ((1,), Fraction(1, 4)), ((2,), Fraction(1, 4))]
    words = r"breaks Assumption 5 \(all rows alike\): row 0 is in a bag with .* 0.5 and row 1"
    with pytest.raises(ValueError, match=words):
        Listed(bags).resolve(3)


def test_a_scheme_that_favours_pairs_is_told_which_bags_differ():
    neighbours = [(tuple(sorted((row, (row + 1) % 5))), Fraction(1, 5)) for row in range(5)]
    words = r"breaks Assumption 5 \(all rows alike\): rows 0 and 1 are both in a bag with probability 0.2, and rows"
    with pytest.raises(ValueError, match=words):
        Listed(neighbours).resolve(5)


def test_a_scheme_whose_pairs_are_alike_and_whose_triples_are_not_is_told_which_bags_differ():
    lines = [(0, 1, 2), (0, 3, 4), (0, 5, 6), (1, 3, 5), (1, 4, 6), (2, 3, 6), (2, 4, 5)]  # of the Fano plane
    words = r"breaks Assumption 5 \(all rows alike\): bag \(.*\) has probability 0.142857 and bag \(.*\) has 0"
    with pytest.raises(ValueError, match=words):
        Listed([(line, Fraction(1, 7)) for line in lines]).resolve(7)


def test_a_row_in_every_bag_is_found_among_many_bags(monkeypatch):
    monkeypatch.setattr("stablebag.resampling.assumptions.MOST_CHECKED", 3)
    bags = [((*pair, 4), Fraction(1, 6)) for pair in itertools.combinations(range(4), 2)]
    with pytest.raises(ValueError, match="row 4 with 1"):
        Listed(bags).resolve(5)


@pytest.mark.parametrize(("bags", "words"), [
    ([((5,), 1.0)], r"lists bag \(5,\), but the rows are numbered from 0 to 4"),
    ([((0,), -0.5), ((1,), 1.5)], r"with probability -0.5"),
])  # fmt: skip
def test_listed_bags_that_are_none_are_refused(bags, words):
    with pytest.raises(ValueError, match=words):
        Listed(bags).resolve(5)


def test_what_is_declared_is_held_against_what_is_listed():
    class Boasting(Listed):
        def inclusion_probability(self, n_samples):
            return 0.01

        def negative_covariance(self, n_samples):
            return 0.0

    with pytest.raises(ValueError, match=r"declares inclusion_probability 0.01, but by its listed bags it is 0.4"):
        Boasting(PAIRS_OF_FIVE).resolve(5)


def test_what_is_drawn_is_held_against_what_is_listed():
    class Straying(Listed):
        def draw_bag(self, n_samples, generator):
            return generator.choice(n_samples, 3, replace=False)

    with pytest.raises(ValueError, match=r"draws bag .* which it does not list"):
        Straying(PAIRS_OF_FIVE).resolve(5)


def test_a_scheme_that_never_leaves_the_last_row_out_is_told_so_instead_of_drawing_for_ever():
    class Whole(Declared):
        def draw_bag(self, n_samples, generator):
            return np.arange(n_samples)

    law = ResolvedScheme(Whole(0.3, 0.0), 8)  # resolve would have refused it
    with pytest.raises(ValueError, match="put the last row into 10,000 bags in a row"):
        law.without_one().draw(1, random_state=0)


@pytest.mark.parametrize("value", ["0.5", math.nan, None])
def test_a_probability_that_is_no_number_is_refused(value):
    with pytest.raises(TypeError, match="inclusion_probability of Declared must be a number"):
        Declared(value, 0.0).resolve(20)


def test_a_number_in_the_place_of_a_method_is_refused():
    class Numbered(Declared):
        inclusion_probability = 0.5

    with pytest.raises(TypeError, match=r"'inclusion_probability' .* must be a method of n_samples"):
        Numbered(0.5, 0.0).resolve(20)


def test_rounding_in_listed_probabilities_is_forgiven():
    subsets = (bag for size in range(4) for bag in itertools.combinations(range(3), size))
    law = Listed([(bag, 0.3 ** len(bag) * 0.7 ** (3 - len(bag))) for bag in subsets]).resolve(3)
    assert 0 <= law.negative_covariance < 1e-15


def test_subclasses_of_the_papers_schemes_stay_what_they_are():
    class Sorted(Subbagging):
        def draw_bag(self, n_samples, generator):
            return np.sort(super().draw_bag(n_samples, generator))

    bag = Sorted(0.5).resolve(20).draw(1, random_state=0)[0]
    assert (np.diff(bag) > 0).all()
    assert type(Sorted(0.5).resolve(20).without_one().scheme) is Sorted


def test_a_scheme_whose_probabilities_do_not_add_up_is_told_so():
    with pytest.raises(ValueError, match=r"add up to 0\.9"):
        Listed(PAIRS_OF_FIVE[:-1]).resolve(5)


def test_a_scheme_that_says_nothing_of_p_and_q_is_asked_to():
    class Silent(ResamplingScheme):
        def draw_bag(self, n_samples, generator):
            return generator.integers(n_samples, size=2)

    with pytest.raises(TypeError, match="inclusion_probability and negative_covariance"):
        Silent().resolve(10)


def test_a_scheme_that_lists_too_many_bags_is_asked_for_p_and_q(monkeypatch):
    monkeypatch.setattr("stablebag.resampling.scheme.MOST_LISTED", 5)
    monkeypatch.setattr("stablebag.resampling.assumptions.MOST_LISTED", 5)
    with pytest.raises(ValueError, match=r"lists more than 5 bags. Define inclusion_probability"):
        Listed(PAIRS_OF_FIVE).resolve(5)


def test_a_scheme_that_draws_rows_that_are_none_is_told_so():
    class Wrong(Declared):
        def draw_bag(self, n_samples, generator):
            return np.array([n_samples])

    with pytest.raises(ValueError, match="Bag 0 has row 20"):
        Wrong(0.5, 0.0).resolve(20).draw(1)


# ------------------------------------------------------------------------------- schemes that inherit from the paper's


class FirstRows(Subbagging):
    """Says that it is subbagging, and draws the same rows again and again."""

    def draw_bag(self, n_samples, generator):
        return np.arange(self.bag_size)


class Boastful(Subbagging):
    def inclusion_probability(self, n_samples):
        return Fraction(1, 10)


class Forgetful(BernoulliSubbagging):
    """Bags are half as large as it says."""

    def draw_bag(self, n_samples, generator):
        return super().draw_bag(n_samples, generator)[::2]


class OtherWithoutOne(Subbagging):
    """Evaluates its fraction anew, where Q_{n-1} keeps the number of rows."""

    def without_one(self, n_samples):
        return Subbagging(0.5).fix(n_samples - 1)


class Renamed(Subbagging):
    """Differs in its words alone."""

    def describe(self, n_samples):
        return "half of them"


@pytest.mark.parametrize("n_samples", [6, 500])
@pytest.mark.parametrize(("scheme", "words"), [
    (FirstRows(0.5), "draw_bag and inclusion_probability agree"),
    (Boastful(0.5), "declares inclusion_probability 0.1|Check inclusion_probability"),
    (Forgetful(0.5), "draw_bag and inclusion_probability agree"),
])  # fmt: skip
def test_a_scheme_that_inherits_from_the_papers_is_checked_like_any_other(scheme, words, n_samples):
    with pytest.raises(ValueError, match=words):
        scheme.resolve(n_samples)
    with pytest.raises(ValueError, match=words):
        BaggedRegressor(scheme=scheme, n_bags=5).fit(np.zeros((n_samples, 1)), np.arange(float(n_samples)))


def test_a_law_without_one_that_is_another_is_refused():
    with pytest.raises(ValueError, match=r"given that a row is out it is 0.6. Check without_one"):
        OtherWithoutOne(0.5).resolve(6)


def test_a_scheme_that_inherits_and_is_right_is_taken():
    for n_samples in (6, 500):
        law = Renamed(0.5).resolve(n_samples)
        assert not law.is_of_the_paper
        assert law.p_and_q == Subbagging(0.5).resolve(n_samples).p_and_q
        assert str(law) == "half of them"
        assert frontier(law, 3).value == frontier(Subbagging(0.5).resolve(n_samples), 3).value


def test_draws_are_held_against_p_also_where_bags_cannot_be_listed():
    class Silent(Declared):
        def draw_bag(self, n_samples, generator):
            return np.flatnonzero(generator.random(n_samples) < 0.35)

    assert Silent(0.35, 0.0).resolve(300).inclusion_probability == 0.35
    with pytest.raises(ValueError, match=r"(m|M)ake draw_bag and inclusion_probability agree"):
        Silent(0.6, 0.0).resolve(300)


# ------------------------------------------------------------------------------------------------- schemes that change


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


def test_a_scheme_that_was_changed_has_the_frontier_of_what_it_is_now():
    scheme = Changeable()
    before = scheme.resolve(10)
    assert frontier(before, 1).value == pytest.approx(0.1)
    scheme.p = 0.9
    assert frontier(scheme.resolve(10), 1).value == pytest.approx(0.9)
    assert Certificate(scheme, 10).epsilon(0.3) == Certificate(BernoulliSubbagging(0.9), 10).epsilon(0.3)
    assert frontier(before, 1).value == pytest.approx(0.1)  # a law is what the scheme was
    assert before.inclusion_probability == 0.1


def test_a_class_that_was_changed_has_the_frontier_of_what_it_is_now(monkeypatch):
    before = frontier(Changeable().resolve(10), 2).value
    monkeypatch.setattr(Changeable, "p", 0.9)
    after = frontier(Changeable().resolve(10), 2).value
    assert after == frontier(BernoulliSubbagging(0.9).resolve(10), 2).value > before


# ---------------------------------------------------------------------------------- rows that are likelier together


class OneOrMost(ResamplingScheme):
    """One row or all but one, each half of the time: q < 0."""

    def draw_bag(self, n_samples, generator):
        return generator.choice(n_samples, generator.choice([1, n_samples - 1]), replace=False)

    def enumerate_bags(self, n_samples):
        for size in (1, n_samples - 1):
            for bag in itertools.combinations(range(n_samples), size):
                yield bag, Fraction(1, 2 * n_samples)


def test_a_law_with_negative_q_is_taken_with_the_larger_constant():
    law = OneOrMost().resolve(6)
    assert law.negative_covariance == pytest.approx(-1 / 12)
    assert bagging_constant(6, *law.p_and_q) == pytest.approx((1 + 5 / 3) / 6)
    model = BaggedRegressor(scheme=OneOrMost(), n_bags="all").fit(np.zeros((6, 1)), np.arange(6.0))
    assert 0 < certify(model).epsilon(0.5) < 5


def test_the_chance_of_an_empty_bag():
    assert BernoulliSubbagging(0.05).resolve(6).empty_probability == pytest.approx(0.95**6)
    assert PoissonizedBagging(0.5).resolve(6).empty_probability == pytest.approx(math.exp(-3))
    assert Subbagging(3).resolve(6).empty_probability == ClassicalBagging(6).resolve(6).empty_probability == 0.0
    assert OneOrMost().resolve(6).empty_probability == 0.0
    assert Declared(0.3, 0.0).resolve(20).empty_probability == pytest.approx(0.7)  # a bound: nothing more is known


# --------------------------------------------------------------------- schemes that contradict themselves in other ways


class WrongQ(ResamplingScheme):
    """One row or all but one, declared as if rows were independent."""

    def draw_bag(self, n_samples, generator):
        return generator.choice(n_samples, generator.choice([1, n_samples - 1]), replace=False)

    def inclusion_probability(self, n_samples):
        return 0.5

    def negative_covariance(self, n_samples):
        return 0.0


class Blocks(Subbagging):
    """A block bootstrap: neighbours are in a bag together."""

    def draw_bag(self, n_samples, generator):
        return (generator.integers(n_samples) + np.arange(self.bag_size)) % n_samples


@pytest.mark.parametrize(("scheme", "n"), [(WrongQ(), 20), (WrongQ(), 500), (Blocks(20), 40), (Blocks(0.5), 2000)])
def test_pairs_of_rows_that_are_drawn_are_held_against_q(scheme, n):
    with pytest.raises(ValueError, match="make draw_bag and negative_covariance agree"):
        scheme.resolve(n)


class Paired(ResamplingScheme):
    """Rows 2k and 2k + 1 are together, except for 0 and 1: a list too long to check all permutations of."""

    def draw_bag(self, n_samples, generator):
        pairs = np.repeat(generator.random(n_samples // 2) < 0.5, 2)
        pairs[:2] = generator.random(2) < 0.5
        return np.flatnonzero(pairs)

    def enumerate_bags(self, n_samples):
        for first in itertools.product([False, True], repeat=2):
            for rest in itertools.product([False, True], repeat=n_samples // 2 - 1):
                inside = [*first, *(value for value in rest for _ in range(2))]
                yield tuple(np.flatnonzero(inside)), 0.5 ** (n_samples // 2 + 1)


def test_pairs_of_rows_that_are_listed_are_all_looked_at():
    with pytest.raises(ValueError, match=r"rows 0 and 1 are both in a bag with probability 0.25, and rows .* with 0.5"):
        Paired().resolve(28)


class BadCount(BernoulliSubbagging):
    """Says the truth of one row, of two and of all, and not of three."""

    def count_law(self, n_samples, n_rows):
        if n_rows in (1, 2, n_samples):
            return super().count_law(n_samples, n_rows)
        return np.eye(n_rows + 1)[n_rows // 2]


def test_how_many_rows_are_in_a_bag_follows_from_the_law_for_all_rows():
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


def test_the_chance_of_an_empty_bag_is_not_inherited():
    assert MaybeEmpty(1).resolve(5).empty_probability == pytest.approx(0.9)
    assert Certificate.for_labels(MaybeEmpty(1), list("abcde")).worst_case() == pytest.approx(0.02 + 0.9 / 0.98 / 5)


class BadWithout(BernoulliSubbagging):
    """Has the right p without a row, and another law."""

    def without_one(self, n_samples):
        return Subbagging((n_samples - 1) // 2)


def test_the_law_without_one_is_held_against_the_sizes_of_bags():
    with pytest.raises(ValueError, match="other sizes than its own bags without that row"):
        BadWithout(0.5).resolve(5)


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


def test_probabilities_that_nearly_add_up_are_told_exactly():
    bags = [((row,), float(np.float32(1 / 3))) for row in range(3)]
    with pytest.raises(ValueError, match=r"add up to 1.000000029802322"):
        Listed(bags).resolve(3)
