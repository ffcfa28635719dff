from fractions import Fraction

import numpy as np
import pytest

from resampling.own_schemes import Fond, ListedUnequal, random_bags
from stablebag import BernoulliSubbagging, Certificate, random_n_bags
from stablebag.resampling import UnequalScheme


def conditional(law, rows):
    """The listed bags without these rows, renumbered, by their probabilities."""
    rest = np.delete(np.arange(law.n_samples), rows)
    left = [(tuple(np.searchsorted(rest, bag).tolist()), p) for bag, p in law.support() if not set(bag) & set(rows)]
    total = sum(p for _, p in left)
    found = {}
    for bag, p in left:
        found[bag] = found.get(bag, 0) + p / total
    return found


def test_a_law_that_lists_its_bags_knows_all_of_it(seed):
    rng = np.random.default_rng(seed)
    law = ListedUnequal(random_bags(rng, 6)).resolve(6)
    assert not law.is_symmetric
    assert law.largest_inclusion == law.inclusion_probabilities.max()
    assert law.mean_inclusion == pytest.approx(law.inclusion_probabilities.mean())
    assert law.bag_size == pytest.approx(law.inclusion_probabilities.sum())
    assert law.constant >= np.max(law.inclusion_probabilities / (1 - law.inclusion_probabilities)) / 6


def test_a_law_of_alike_rows_has_the_constant_of_the_paper_either_way():
    class Same(UnequalScheme):
        def draw_bag(self, n_samples, generator):
            return np.flatnonzero(generator.random(n_samples) < 0.25)

        def enumerate_bags(self, n_samples):
            return BernoulliSubbagging(0.25).enumerate_bags(n_samples)

    law, alike = Same().resolve(5), BernoulliSubbagging(0.25).resolve(5)
    assert law.constant == pytest.approx(alike.constant)
    assert law.empty_probability == pytest.approx(alike.empty_probability)
    # What holds for all rows in the same way is not claimed for it, even though it would be true.
    assert Certificate(law, 5).epsilon(0.5) >= Certificate(alike, 5).epsilon(0.5)


def test_one_p_or_q_or_law_without_any_row_is_refused():
    law = Fond().resolve(6)
    for ask, words in (
        (lambda: law.inclusion_probability, "has not one inclusion probability p. Ask for inclusion_probabilities"),
        (lambda: law.negative_covariance, "has not one negative covariance q. Ask for covariance"),
        (lambda: law.p_and_q, "does not treat all rows alike"),
        (law.without_one, r"depends on which row it is. Say which: law.without\(\[row\]\)"),
        (lambda: random_n_bags(law, 6, 10), "proved for bags that treat all rows alike"),
    ):
        with pytest.raises(TypeError, match=words):
            ask()
    assert law.count_law(3) is None


def test_the_law_without_some_rows_is_the_law_given_that_they_are_out():
    law = ListedUnequal([((0, 1), 0.3), ((2,), 0.2), ((1, 3), 0.1), ((), 0.15), ((2, 3), 0.25)]).resolve(4)
    for rows in ([0], [1], [3], [0, 3], [1, 2]):
        smaller = law.without(rows)
        assert smaller.n_samples == 4 - len(rows)
        found = {tuple(bag.tolist()): p for bag, p in smaller.support()}
        assert found == pytest.approx(conditional(law, rows))
        gone = smaller.draw(200, random_state=0)
        assert {tuple(bag.tolist()) for bag in gone} <= set(found)
    with pytest.raises(ValueError, match="numbers of rows from 0 to 3, each once and not all"):
        law.without([4])
    with pytest.raises(ValueError, match="each once"):
        law.without([1, 1])


def test_without_a_row_that_is_all_that_is_known_its_chances_are():
    law = Fond().resolve(6)
    np.testing.assert_allclose(law.without([0]).inclusion_probabilities, 0.25)
    with pytest.raises(TypeError, match="Define that, or without"):
        _ = law.without([0, 1]).inclusion_probabilities


def test_a_row_that_all_bags_but_an_impossible_one_have_is_missed_in_vain():
    law = ListedUnequal([((0, 1), Fraction(1, 2)), ((0, 2), Fraction(1, 4)), ((1, 2), Fraction(1, 4))]).resolve(3)
    with pytest.raises(ValueError, match="Every bag has one of the rows"):
        list(law.without([0, 1]).support())


def test_equal_laws_are_equal_and_other_ones_have_other_fingerprints(seed):
    rng = np.random.default_rng(seed)
    assert Fond().resolve(5) == Fond().resolve(5)
    prints = {ListedUnequal(random_bags(rng, 5)).resolve(5).fingerprint for _ in range(10)}
    assert len(prints) == 10


def test_the_bound_on_how_ragged_bags_are_holds_for_every_bag(seed):
    rng = np.random.default_rng(seed)
    for _ in range(20):
        law = ListedUnequal(random_bags(rng, 6)).resolve(6)
        weights = 1 / (1 - law.inclusion_probabilities)
        for bag, _ in law.support():
            outside = np.delete(weights, bag).sum() / 6
            assert outside <= law.scheme.raggedness(6) + 1e-12


def test_a_law_with_its_norm_alone_is_certified():
    class ByNorm(Fond):
        covariance = UnequalScheme.covariance

        def covariance_norm(self, n_samples):
            return 3 / n_samples

    law = ByNorm().resolve(6)
    assert law.constant == 0.5
    assert Certificate(law, 6).worst_case() == 0.75
    with pytest.raises(TypeError, match="does not say how rows depend on each other"):
        law.scheme.covariance(6)


def test_a_scheme_that_says_nothing_is_told_what_to_define():
    class Silent(UnequalScheme):
        def draw_bag(self, n_samples, generator):
            return np.array([0])

    with pytest.raises(TypeError, match="Define inclusion_probabilities, or enumerate_bags"):
        Silent().resolve(4)


def test_pick_is_matched_if_bags_without_a_row_stay():
    class Lucky(UnequalScheme):
        """Each of the first rows with probability 1/4, the others with 1/2, by when they arrive."""

        def __init__(self, n_first=2):
            self.n_first = n_first

        def inclusion_probabilities(self, n_samples):
            return np.where(np.arange(n_samples) < self.n_first, 0.25, 0.5)

        def covariance(self, n_samples):
            p = self.inclusion_probabilities(n_samples)
            return np.diag(p * (1 - p))

        def pick(self, n_samples, arrivals):
            return arrivals.rows_within(0.5)

    with pytest.raises(ValueError, match=r"declares that row [01] is in a bag with probability 0.25, but"):
        Lucky().resolve(6)

    class Half(Lucky):
        def inclusion_probabilities(self, n_samples):
            return np.full(n_samples, 0.5)

    with pytest.raises(ValueError, match="Define without as well"):
        Half().resolve(6)

    class Matched(Half):
        def without(self, n_samples, rows):
            return self

    assert Matched().resolve(6).is_matched

    class Unmatched(Matched):
        def without(self, n_samples, rows):
            return Third()

    class Third(Half):
        def pick(self, n_samples, arrivals):
            return arrivals.rows_within(0.4)

    with pytest.raises(ValueError, match="bags without row 0 change when that row is gone"):
        Unmatched().resolve(6)


def test_all_bags_can_be_listed_in_every_order():
    law = ListedUnequal([((0, 1), 0.5), ((2,), 0.5)]).resolve(3)
    assert law.count_support(ordered=True) == 3
    assert sum(p for _, p in law.support(ordered=True)) == 1
    assert next(law.support())[0].tolist() == [0, 1]
