import numpy as np
import pytest

from resampling.own_schemes import Fond, ListedUnequal
from stablebag.resampling import UnequalScheme


def of(**methods):
    """The scheme that is fond of row 0, with other methods."""
    return type("Other", (Fond,), methods)()


@pytest.mark.parametrize(("methods", "words"), [
    ({"inclusion_probabilities": lambda self, n: np.full(n, 1.0)}, "row 0 in a bag with probability 1: it is in every"),
    ({"inclusion_probabilities": lambda self, n: np.full(n, np.nan)}, "that is no chance"),
    ({"inclusion_probabilities": lambda self, n: np.full(n, -0.1)}, "with probability -0.1: that is no chance"),
    ({"inclusion_probabilities": lambda self, n: np.zeros(n)}, "no row in any bag"),
    ({"inclusion_probabilities": lambda self, n: np.full(n + 1, 0.5)}, r"Got an array of shape \(7,\)"),
    ({"covariance": lambda self, n: np.zeros((n, n))}, "declares the variance 0 for row 0, but .* it is 0.1875"),
    ({"covariance": lambda self, n: np.zeros(n)}, "symmetric covariance of 6 by 6 numbers"),
    ({"covariance": lambda self, n: np.full((n, n), 0.1875)}, "which is impossible for their inclusion probabilities"),
    ({"covariance_norm": lambda self, n: 0.1}, "norm 0.1, which by its inclusion probabilities is at least 0.5"),
    ({"covariance_norm": lambda self, n: np.inf}, "Check covariance_norm"),
    ({"draw_bag": lambda self, n, generator: np.arange(2)}, "row 1 is in a bag with probability 0.25, but it is in"),
    ({"empty_probability": lambda self, n: 0.0}, "bags without rows. Check empty_probability"),
    ({"without": lambda self, n, rows: Fond()}, "law without row 0 whose inclusion probabilities are not those given"),
])  # fmt: skip
def test_a_scheme_that_contradicts_itself_is_told_where(methods, words):
    with pytest.raises(ValueError, match=words):
        of(**methods).resolve(6)


def test_constants_of_rows_are_held_against_the_covariance():
    def own(self, n):  # rows are independent, so that each has its own
        p = self.inclusion_probabilities(n)
        return p / (1 - p) / n

    law = of(row_constants=own).resolve(6)
    np.testing.assert_allclose(law.row_constants, [0.5, *[1 / 18] * 5])
    with pytest.raises(ValueError, match=r"covariance exceeds 2 times. Check row_constants"):
        of(row_constants=lambda self, n: own(self, n) / 2).resolve(6)
    with pytest.raises(ValueError, match="6 positive row constants"):
        of(row_constants=lambda self, n: np.zeros(n)).resolve(6)


class AllOrNone(UnequalScheme):
    def draw_bag(self, n_samples, generator):
        return np.arange(n_samples if generator.random() < 0.5 else 0)

    def inclusion_probabilities(self, n_samples):
        return np.full(n_samples, 0.5)

    def covariance(self, n_samples):
        return 0.25 * np.eye(n_samples)


def test_pairs_that_are_drawn_are_held_against_the_covariance():
    with pytest.raises(ValueError, match=r"are both in a bag with probability 0.25, but they are in"):
        AllOrNone().resolve(40)


def test_bags_that_are_drawn_are_held_against_a_norm():
    class ByNorm(AllOrNone):
        covariance = UnequalScheme.covariance

        def covariance_norm(self, n_samples):
            return 1 / n_samples

    with pytest.raises(ValueError, match=r"norm 0.025, but the bags drawn vary by 1. Check covariance_norm"):
        ByNorm().resolve(40)


@pytest.mark.parametrize(("bags", "words"), [
    ([((5,), 1.0)], r"lists bag \(5,\), but the rows are numbered from 0 to 2"),
    ([((0,), -0.5), ((1,), 1.5)], "with probability -0.5. Check enumerate_bags"),
    ([((0,), 0.5), ((1,), 0.4)], r"add up to 0\.9"),
    ([((0, 1), 0.5), ((0, 2), 0.5)], "row 0 in a bag with probability 1"),
])  # fmt: skip
def test_listed_bags_that_are_none_are_refused(bags, words):
    with pytest.raises(ValueError, match=words):
        ListedUnequal(bags).resolve(3)


def test_what_is_drawn_and_declared_is_held_against_what_is_listed():
    bags = [((0, 1), 0.5), ((2,), 0.5)]

    class Straying(ListedUnequal):
        def draw_bag(self, n_samples, generator):
            return np.array([0, 2])

    with pytest.raises(ValueError, match="which it does not list"):
        Straying(bags).resolve(3)

    class Boasting(ListedUnequal):
        def inclusion_probabilities(self, n_samples):
            return np.full(n_samples, 0.1)

    with pytest.raises(ValueError, match="declares other inclusion probabilities than its listed bags"):
        Boasting(bags).resolve(3)


def test_what_is_not_a_method_is_refused():
    with pytest.raises(TypeError, match="a method of n_samples"):
        of(covariance=3).resolve(6)


def test_honest_schemes_are_taken_for_any_number_of_rows():
    for n in (2, 6, 40, 450):
        assert Fond().resolve(n).largest_inclusion == 0.75
