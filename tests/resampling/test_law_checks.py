import itertools
from fractions import Fraction

import numpy as np
import pytest

from resampling.own_schemes import PAIRS_OF_FIVE, Declared, FirstRowOften, Listed, ListedUnequal
from stablebag import BaggedRegressor, BernoulliSubbagging, Subbagging
from stablebag.proving.frontier import frontier
from stablebag.resampling import ResamplingScheme, UnequalScheme


@pytest.mark.parametrize(("p", "q", "words"), [
    (1.0, 0.0, r"Declared at n_samples=20 violates Assumption 7 \(0 < p < 1\).*p = 1, so every row is in every bag"),
    (0.0, 0.0, "every row is in no bag"),
    (0.5, -0.26, r"violates Assumption 5 \(all rows alike\).*below -p \(1 - p\) = -0.25"),
    (0.5, 0.1, r"violates Assumption 5 \(all rows alike\).*above p \(1 - p\)"),
])  # fmt: skip
def test_error_names_the_violated_assumption(p, q, words):
    with pytest.raises(ValueError, match=words):
        Declared(p, q).resolve(20)


def test_error_names_rows_with_different_probabilities():
    bags = [((0,), Fraction(1, 2)), ((1,), Fraction(1, 4)), ((2,), Fraction(1, 4))]
    words = r"violates Assumption 5 \(all rows alike\): row 0 is in a bag with .* 0.5 and row 1"
    with pytest.raises(ValueError, match=words):
        Listed(bags).resolve(3)


def test_error_names_pairs_with_different_probabilities():
    neighbours = [(tuple(sorted((row, (row + 1) % 5))), Fraction(1, 5)) for row in range(5)]
    words = r"violates Assumption 5 \(all rows alike\): rows 0 and 1 are both in a bag with probability 0.2, and rows"
    with pytest.raises(ValueError, match=words):
        Listed(neighbours).resolve(5)


def test_error_names_bags_with_different_probabilities():
    lines = [(0, 1, 2), (0, 3, 4), (0, 5, 6), (1, 3, 5), (1, 4, 6), (2, 3, 6), (2, 4, 5)]  # of the Fano plane
    words = r"violates Assumption 5 \(all rows alike\): bag \(.*\) has probability 0.142857 and bag \(.*\) has 0"
    with pytest.raises(ValueError, match=words):
        Listed([(line, Fraction(1, 7)) for line in lines]).resolve(7)


def test_a_row_in_every_bag_is_detected_among_many_bags(monkeypatch):
    monkeypatch.setattr("stablebag.resampling.law_checks.MOST_CHECKED", 3)
    bags = [((*pair, 4), Fraction(1, 6)) for pair in itertools.combinations(range(4), 2)]
    with pytest.raises(ValueError, match="row 4 with 1"):
        Listed(bags).resolve(5)


@pytest.mark.parametrize(("bags", "words"), [
    ([((5,), 1.0)], r"lists bag \(5,\), but the rows are numbered from 0 to 4"),
    ([((0,), -0.5), ((1,), 1.5)], r"with probability -0.5"),
])  # fmt: skip
def test_invalid_listed_bags_raise(bags, words):
    with pytest.raises(ValueError, match=words):
        Listed(bags).resolve(5)


def test_declarations_must_agree_with_listed_bags():
    class Boasting(Listed):
        def inclusion_probability(self, n_samples):
            return 0.01

        def negative_covariance(self, n_samples):
            return 0.0

    with pytest.raises(ValueError, match=r"declares inclusion_probability 0.01, but its listed bags give 0.4"):
        Boasting(PAIRS_OF_FIVE).resolve(5)


def test_drawn_bags_must_be_listed():
    class Straying(Listed):
        def draw_bag(self, n_samples, generator):
            return generator.choice(n_samples, 3, replace=False)

    with pytest.raises(ValueError, match=r"draws bag .* which it does not list"):
        Straying(PAIRS_OF_FIVE).resolve(5)


def test_listed_probabilities_must_add_up_to_one():
    with pytest.raises(ValueError, match=r"add up to 0\.9"):
        Listed(PAIRS_OF_FIVE[:-1]).resolve(5)


# -------------------------------------------------------------------------------- schemes that inherit from the paper's


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

    def describe(self, n_samples, rows="rows"):
        return "half of them"


@pytest.mark.parametrize("n_samples", [6, 500])
@pytest.mark.parametrize(("scheme", "words"), [
    (FirstRows(0.5), "draw_bag and inclusion_probability agree"),
    (Boastful(0.5), "declares inclusion_probability 0.1|Check inclusion_probability"),
    (Forgetful(0.5), "draw_bag and inclusion_probability agree"),
])  # fmt: skip
def test_subclasses_of_built_in_schemes_are_checked(scheme, words, n_samples):
    with pytest.raises(ValueError, match=words):
        scheme.resolve(n_samples)
    with pytest.raises(ValueError, match=words):
        BaggedRegressor(scheme=scheme, n_bags=5).fit(np.zeros((n_samples, 1)), np.arange(float(n_samples)))


def test_without_one_must_agree_with_p_and_q():
    with pytest.raises(ValueError, match=r"given that a row is not in the bag it is 0.6. Check without_one"):
        OtherWithoutOne(0.5).resolve(6)


def test_correct_subclasses_are_accepted():
    for n_samples in (6, 500):
        law = Renamed(0.5).resolve(n_samples)
        assert law.is_in_closed_form
        assert law.p_and_q == Subbagging(0.5).resolve(n_samples).p_and_q
        assert str(law) == "half of them"
        assert frontier(law, 3).value == frontier(Subbagging(0.5).resolve(n_samples), 3).value


def test_draws_must_agree_with_p_even_without_listed_bags():
    class Silent(Declared):
        def draw_bag(self, n_samples, generator):
            return np.flatnonzero(generator.random(n_samples) < 0.35)

    assert Silent(0.35, 0.0).resolve(300).inclusion_probability == 0.35
    with pytest.raises(ValueError, match=r"(m|M)ake draw_bag and inclusion_probability agree"):
        Silent(0.6, 0.0).resolve(300)


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
def test_drawn_pairs_must_agree_with_q(scheme, n):
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


def test_all_listed_pairs_are_checked(monkeypatch):
    monkeypatch.setattr("stablebag.resampling.law_checks.MOST_CHECKED", 2000)  # fewer than the 2048 that are listed
    with pytest.raises(ValueError, match=r"rows 0 and 1 are both in a bag with probability 0.25, and rows .* with 0.5"):
        Paired().resolve(20)


class BadWithout(BernoulliSubbagging):
    """Has the right p without a row, and another law."""

    def without_one(self, n_samples):
        return Subbagging((n_samples - 1) // 2)


def test_without_one_must_agree_with_bag_sizes():
    with pytest.raises(ValueError, match="bag sizes differ from those of its own bags"):
        BadWithout(0.5).resolve(5)


def test_error_shows_the_exact_sum_of_probabilities():
    bags = [((row,), float(np.float32(1 / 3))) for row in range(3)]
    with pytest.raises(ValueError, match=r"add up to 1.000000029802322"):
        Listed(bags).resolve(3)


# ---------------------------------------------------------------------------------------------- rows that are not alike


def of(**methods):
    """The scheme that is fond of row 0, with other methods."""
    return type("Other", (FirstRowOften,), methods)()


@pytest.mark.parametrize(("methods", "words"), [
    ({"inclusion_probabilities": lambda self, n: np.full(n, 1.0)}, "probability 1, but no row may be in every bag"),
    ({"inclusion_probabilities": lambda self, n: np.full(n, np.nan)}, "which is not a probability"),
    ({"inclusion_probabilities": lambda self, n: np.full(n, -0.1)}, "probability -0.1, which is not a probability"),
    ({"inclusion_probabilities": lambda self, n: np.zeros(n)}, "no row in any bag"),
    ({"inclusion_probabilities": lambda self, n: np.full(n + 1, 0.5)}, r"It returned an array of shape \(7,\)"),
    ({"covariance": lambda self, n: np.zeros((n, n))}, "declares the variance 0 for row 0, but .* gives 0.1875"),
    ({"covariance": lambda self, n: np.zeros(n)}, "a symmetric 6 by 6 matrix"),
    ({"covariance": lambda self, n: np.full((n, n), 0.1875)}, "which is impossible for their inclusion probabilities"),
    ({"covariance_norm": lambda self, n: 0.1}, "norm 0.1, but its inclusion probabilities require at least 0.5"),
    ({"covariance_norm": lambda self, n: np.inf}, "Check covariance_norm"),
    ({"draw_bag": lambda self, n, generator: np.arange(2)}, "row 1 is in a bag with probability 0.25, but it is in"),
    ({"empty_probability": lambda self, n: 0.0}, "too many for its empty_probability of 0"),
    ({"without": lambda self, n, rows: FirstRowOften()}, "law without row 0 whose inclusion probabilities"),
])  # fmt: skip
def test_contradictory_unequal_schemes_raise(methods, words):
    with pytest.raises(ValueError, match=words):
        of(**methods).resolve(6)


def test_row_constants_must_agree_with_the_covariance():
    def own(self, n):  # rows are independent, so that each has its own
        p = self.inclusion_probabilities(n)
        return p / (1 - p) / n

    law = of(row_constants=own).resolve(6)
    np.testing.assert_allclose(law.row_constants, [0.5, *[1 / 18] * 5])
    with pytest.raises(ValueError, match=r"its covariance is 2 times as large"):
        of(row_constants=lambda self, n: own(self, n) / 2).resolve(6)
    with pytest.raises(ValueError, match="must return 6 positive numbers"):
        of(row_constants=lambda self, n: np.zeros(n)).resolve(6)


class AllOrNone(UnequalScheme):
    def draw_bag(self, n_samples, generator):
        return np.arange(n_samples if generator.random() < 0.5 else 0)

    def inclusion_probabilities(self, n_samples):
        return np.full(n_samples, 0.5)

    def covariance(self, n_samples):
        return 0.25 * np.eye(n_samples)


def test_drawn_pairs_must_agree_with_the_covariance():
    with pytest.raises(ValueError, match=r"are both in a bag with probability 0.25, but they are in"):
        AllOrNone().resolve(40)


def test_drawn_bags_must_agree_with_the_covariance_norm():
    class ByNorm(AllOrNone):
        covariance = UnequalScheme.covariance

        def covariance_norm(self, n_samples):
            return 1 / n_samples

    with pytest.raises(
        ValueError, match=r"norm 0.025, but the drawn bags have a variance of 1 in one direction. Check covariance_norm"
    ):
        ByNorm().resolve(40)


@pytest.mark.parametrize(("bags", "words"), [
    ([((5,), 1.0)], r"lists bag \(5,\), but the rows are numbered from 0 to 2"),
    ([((0,), -0.5), ((1,), 1.5)], "with probability -0.5. Check enumerate_bags"),
    ([((0,), 0.5), ((1,), 0.4)], r"add up to 0\.9"),
    ([((0, 1), 0.5), ((0, 2), 0.5)], "row 0 in a bag with probability 1"),
])  # fmt: skip
def test_invalid_listed_bags_of_unequal_schemes_raise(bags, words):
    with pytest.raises(ValueError, match=words):
        ListedUnequal(bags).resolve(3)


def test_unequal_draws_and_declarations_must_agree_with_listed_bags():
    bags = [((0, 1), 0.5), ((2,), 0.5)]

    class Straying(ListedUnequal):
        def draw_bag(self, n_samples, generator):
            return np.array([0, 2])

    with pytest.raises(ValueError, match="which it does not list"):
        Straying(bags).resolve(3)

    class Boasting(ListedUnequal):
        def inclusion_probabilities(self, n_samples):
            return np.full(n_samples, 0.1)

    with pytest.raises(ValueError, match=r"inclusion probabilities of Boasting .* those of its listed bags differ"):
        Boasting(bags).resolve(3)


def test_attributes_instead_of_methods_raise():
    with pytest.raises(TypeError, match="a method of n_samples"):
        of(covariance=3).resolve(6)


@pytest.mark.slow
def test_correct_schemes_are_accepted_for_any_number_of_rows():
    for n in (2, 6, 40, 450):
        assert FirstRowOften().resolve(n).largest_inclusion == 0.75
