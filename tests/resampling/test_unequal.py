import itertools
import math
import pickle
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from resampling.own_schemes import FirstRowOften, ListedUnequal, random_bags
from stablebag import (
    BernoulliSubbagging,
    Certificate,
    ClusterSubbagging,
    StratifiedSubbagging,
    Subbagging,
    random_n_bags,
)
from stablebag.resampling import UnequalScheme
from stablebag.resampling.covariance import moments, norm_of
from stablebag.resampling.unequal import Partition, largest_eigenvalue, with_labels
from stablebag.resampling.units import RowIds, Units


def conditional(law, rows):
    """The listed bags without these rows, renumbered, by their probabilities."""
    rest = np.delete(np.arange(law.n_samples), rows)
    left = [(tuple(np.searchsorted(rest, bag).tolist()), p) for bag, p in law.support() if not set(bag) & set(rows)]
    total = sum(p for _, p in left)
    found = {}
    for bag, p in left:
        found[bag] = found.get(bag, 0) + p / total
    return found


def test_everything_is_computed_from_listed_bags(seed):
    rng = np.random.default_rng(seed)
    law = ListedUnequal(random_bags(rng, 6)).resolve(6)
    assert not law.is_symmetric
    assert law.largest_inclusion == law.inclusion_probabilities.max()
    assert law.mean_inclusion == pytest.approx(law.inclusion_probabilities.mean())
    assert law.bag_size == pytest.approx(law.inclusion_probabilities.sum())
    assert law.constant >= np.max(law.inclusion_probabilities / (1 - law.inclusion_probabilities)) / 6


def test_an_unequal_scheme_of_equal_rows_has_the_constant_of_the_paper():
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


def test_unequal_schemes_have_no_single_p_q_or_law_without_one():
    law = FirstRowOften().resolve(6)
    for ask, words in (
        (
            lambda: law.inclusion_probability,
            "does not have a single inclusion probability p. Use inclusion_probabilities",
        ),
        (lambda: law.negative_covariance, "does not have a single negative covariance q. Use covariance"),
        (lambda: law.p_and_q, "does not treat all rows alike"),
        (law.without_one, r"depends on the row. Use law.without\(\[row\]\)"),
        (lambda: random_n_bags(law, 6, 10), "needs bags that treat all rows alike"),
    ):
        with pytest.raises(TypeError, match=words):
            ask()
    assert law.count_law(3) is None


def test_law_without_rows_is_the_conditional_law():
    law = ListedUnequal([((0, 1), 0.3), ((2,), 0.2), ((1, 3), 0.1), ((), 0.15), ((2, 3), 0.25)]).resolve(4)
    for rows in ([0], [1], [3], [0, 3], [1, 2]):
        smaller = law.without(rows)
        assert smaller.n_samples == 4 - len(rows)
        found = {tuple(bag.tolist()): p for bag, p in smaller.support()}
        assert found == pytest.approx(conditional(law, rows))
        gone = smaller.draw(200, random_state=0)
        assert {tuple(bag.tolist()) for bag in gone} <= set(found)
    with pytest.raises(ValueError, match="distinct positions from 0 to 3, and not all of them"):
        law.without([4])
    with pytest.raises(ValueError, match="distinct positions"):
        law.without([1, 1])


def test_conditional_probabilities_follow_from_the_covariance():
    law = FirstRowOften().resolve(6)
    np.testing.assert_allclose(law.without([0]).inclusion_probabilities, 0.25)
    with pytest.raises(TypeError, match="Define enumerate_bags or without"):
        _ = law.without([0, 1]).inclusion_probabilities


def test_drawing_without_rows_that_every_bag_contains_raises():
    law = ListedUnequal([((0, 1), Fraction(1, 2)), ((0, 2), Fraction(1, 4)), ((1, 2), Fraction(1, 4))]).resolve(3)
    with pytest.raises(ValueError, match="Every bag contains one of the rows"):
        list(law.without([0, 1]).support())


def test_fingerprints_distinguish_laws(seed):
    rng = np.random.default_rng(seed)
    assert FirstRowOften().resolve(5) == FirstRowOften().resolve(5)
    prints = {ListedUnequal(random_bags(rng, 5)).resolve(5).fingerprint for _ in range(10)}
    assert len(prints) == 10


@pytest.mark.slow
def test_raggedness_bounds_every_bag(seed):
    rng = np.random.default_rng(seed)
    for _ in range(20):
        law = ListedUnequal(random_bags(rng, 6)).resolve(6)
        weights = 1 / (1 - law.inclusion_probabilities)
        for bag, _ in law.support():
            outside = np.delete(weights, bag).sum() / 6
            assert outside <= law.scheme.raggedness(6) + 1e-12


def test_covariance_norm_is_enough_for_a_certificate():
    class ByNorm(FirstRowOften):
        covariance = UnequalScheme.covariance

        def covariance_norm(self, n_samples):
            return 3 / n_samples

    law = ByNorm().resolve(6)
    assert law.constant == 0.5
    assert Certificate(law, 6).worst_case() == 0.75
    with pytest.raises(TypeError, match="must define covariance, covariance_norm or enumerate_bags"):
        law.scheme.covariance(6)


def test_error_says_which_methods_to_define():
    class Silent(UnequalScheme):
        def draw_bag(self, n_samples, generator):
            return np.array([0])

    with pytest.raises(TypeError, match="must define inclusion_probabilities or enumerate_bags"):
        Silent().resolve(4)


def test_pick_is_matched_if_bags_without_a_row_do_not_change():
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

    with pytest.raises(ValueError, match="bags without row 0 change if that row is removed"):
        Unmatched().resolve(6)


def test_all_bags_can_be_listed_in_every_order():
    law = ListedUnequal([((0, 1), 0.5), ((2,), 0.5)]).resolve(3)
    assert law.count_support(ordered=True) == 3
    assert sum(p for _, p in law.support(ordered=True)) == 1
    assert next(law.support())[0].tolist() == [0, 1]


# ------------------------------------------------------------------------------------------------------- labels of rows


def parts(values):
    return Partition.of(values, len(values), "strata", "fit")


def test_labels_of_any_type_are_accepted():
    for values in (["b", "a", "b"], np.array([2, 1, 2]), pd.Series([True, False, True]), pd.Categorical(list("yxy"))):
        found = parts(values)
        assert found.codes.tolist() == [1, 0, 1]
        assert found.sizes.tolist() == [1, 2]
        assert [rows.tolist() for rows in found.members] == [[1], [0, 2]]
    assert parts(np.array([1, "a", 1], dtype=object)).codes.tolist() == [0, 1, 0]  # of two kinds: as they appear
    dates = parts(np.array(["2026-01-02", "2026-01-01"], dtype="datetime64[D]"))
    assert dates.labels[0] == np.datetime64("2026-01-01")


@pytest.mark.parametrize("values", [
    [1.0, np.nan, 2.0], ["a", None, "b"], pd.Series(["a", pd.NA, "b"]),
    np.array(["2026", "NaT", "2025"], "datetime64[Y]"),
])  # fmt: skip
def test_error_for_a_missing_label_names_the_row(values):
    with pytest.raises(ValueError, match=r"The 'strata' parameter of fit .* row 1 has none. Label such rows"):
        parts(values)


def test_labels_must_match_the_rows():
    with pytest.raises(ValueError, match=r"must be 4 labels, one for each row. Got 3: .* pass them to fit"):
        Partition.of(list("aab"), 4, "strata", "fit")
    with pytest.raises(TypeError, match=r"Got 'an array with 2 dimensions': to use several columns, combine them"):
        parts(np.zeros((3, 2)))
    with pytest.raises(TypeError, match=r"one label for each row. Got 'abc'"):
        Partition.of("abc", 3, "strata", "fit")
    with pytest.raises(TypeError, match="hashable labels"):
        parts(np.array([[1], {}, "a"], dtype=object))


def test_rows_can_be_removed_and_added():
    whole = parts(list("abab"))
    assert whole.without([1]).values.tolist() == ["a", "a", "b"]
    assert whole.without([1, 3]).labels == ("a",)
    assert whole.joined(parts(["b"])).values.tolist() == list("ababb")


def test_partitions_can_be_pickled():
    whole = parts(list("abab"))
    assert whole.members
    again = pickle.loads(pickle.dumps(whole))
    assert again == whole
    assert whole != parts(list("abba"))
    assert whole != "abab"
    assert repr(whole) == "<4 rows: ['a', 'b']>"


# --------------------------------------------------------------------------------------------------------------- strata


SIX = ["a", "b", "a", "b", "b", "b"]


def random_strata(rng):
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


def test_closed_forms_of_strata_agree_with_listed_bags(seed):
    rng = np.random.default_rng(seed)
    for _ in range(60):
        law = random_strata(rng)
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
def test_drawn_bags_have_the_right_number_of_every_stratum(n_samples):
    strata = np.where(np.arange(n_samples) % 10 == 0, "rare", "common")
    law = StratifiedSubbagging({"rare": 3, "common": 5}, strata).resolve(n_samples)
    for bag in law.draw(30, random_state=0):
        assert len(set(bag.tolist())) == 8
        assert (strata[bag] == "rare").sum() == 3


def test_half_of_very_many_rows_can_be_drawn():
    strata = np.arange(70_000) % 3
    bags = StratifiedSubbagging(0.5, strata).resolve(70_000).draw(2, random_state=0)
    assert [np.bincount(strata[bag]).tolist() for bag in bags] == [[11_667, 11_666, 11_666]] * 2


@pytest.mark.parametrize("n_samples", [30, 66_000])
def test_removing_a_row_does_not_change_stratified_bags_without_it(n_samples):
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


def test_stratified_law_without_rows_is_the_conditional_law(seed):
    rng = np.random.default_rng(seed)
    for _ in range(20):
        law = random_strata(rng)
        for gone in range(law.n_samples):
            smaller = law.without([gone])
            found = {tuple(bag.tolist()): p for bag, p in smaller.support()}
            assert found == conditional(law, [gone])
            assert smaller.bag_size == law.bag_size
    law = StratifiedSubbagging({"a": 1, "b": 1}, SIX).resolve(6)
    assert {tuple(bag.tolist()): p for bag, p in law.without([1, 4]).support()} == conditional(law, [1, 4])
    with pytest.raises(ValueError, match=r"stratum 'a' has 0 rows, but every bag needs 1 of them"):
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
def test_rows_are_divided_among_strata_as_documented(bag_size, sizes, each):
    strata = np.repeat(np.arange(len(sizes)), sizes)
    law = StratifiedSubbagging(bag_size, strata).resolve(sum(sizes))
    assert list(law.scheme.bag_size.values()) == each


def test_proportions_are_rounded_by_less_than_a_row(seed):
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
    (0.5, None, r"must be a label for each row. Got None: pass them here, or to fit: fit\(X, y, strata=...\)"),
    (0.5, list("aabbc"), r"labels with two rows or more. Got 'c': row 4 is the only one .* Merge it with another"),
    (0.5, ["a", "b", "b", "c", "d"], r"row \d \(and 2 others\) is the only one"),
    (0.5, list("abcde"), r"labels that rows share. Got .* every row has its own stratum, .* use Subbagging"),
    (0.5, list("aabb"), r"must be 5 labels, one for each row. Got 4"),
    (0.5, ["a", "a", "b", "b", None], "row 4 has none"),
    (0.5, [0.0, 0.0, 1.0, 1.0, np.nan], "row 4 has none"),
    (1, list("aabbb"), r"from 2 to 3 for these strata. Got 1: each of the 2 strata has at least one row in a bag"),
    (4, list("aabbb"), r"from 2 to 3 for these strata"),
    (1.0, list("aabbb"), "whole data set"),
    ({"a": 2, "b": 1}, list("aabbb"), r"at most 1 for stratum 'a'. Got 2: the stratum has 2 rows"),
    ({"a": 1}, list("aabbb"), "stratum 'b' is missing"),
    ({"a": 1, "b": 1, "z": 1}, list("aabbb"), "no row is in stratum 'z'"),
])  # fmt: skip
def test_errors_for_strata_give_the_way_out(bag_size, strata, words):
    with pytest.raises(ValueError, match=words):
        StratifiedSubbagging(bag_size, strata).resolve(5)


@pytest.mark.parametrize(("bag_size", "error"), [
    (0, ValueError), (-1, ValueError), (1.5, ValueError), (math.nan, ValueError), ("half", TypeError),
    ({"a": 0}, ValueError), ({"a": True}, TypeError),
])  # fmt: skip
def test_invalid_stratified_bag_size_raises(bag_size, error):
    with pytest.raises(error, match="The 'bag_size' parameter of StratifiedSubbagging must be"):
        StratifiedSubbagging(bag_size)


def test_more_rows_of_existing_strata_keep_the_bag_size():
    law = StratifiedSubbagging({"a": 1, "b": 2}, SIX).resolve(6)
    larger = law.scheme.with_more(6, ["a", "b"]).resolve(8)
    assert larger.without([6, 7]) == law
    with pytest.raises(ValueError, match=r"existing strata. Got 'c'"):
        law.scheme.with_more(6, ["c", "c"])


# ------------------------------------------------------------------------------------------------- how it is an object


def test_stratified_subbagging_equality_copy_and_repr():
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


def test_changing_the_labels_does_not_change_the_law():
    strata = np.array(SIX)
    law = StratifiedSubbagging(0.5, strata).resolve(6)
    before = law.fingerprint
    strata[:] = "z"
    assert law.fingerprint == before


def test_a_stratified_subclass_with_other_draws_raises():
    class Greedy(StratifiedSubbagging):
        def draw_bag(self, n_samples, generator):
            return np.arange(3)

    with pytest.raises(ValueError, match=r"Make them agree|does not list"):
        Greedy(0.5, SIX).resolve(6)


def test_with_labels_sets_missing_strata_only():
    rows = Units(RowIds(None, len(SIX)))
    assert with_labels(StratifiedSubbagging(), SIX, rows).strata.tolist() == list(SIX)
    own = StratifiedSubbagging(strata=SIX)
    assert with_labels(own, None, rows) is own
    assert with_labels(Subbagging(), SIX, rows) == Subbagging()


# ------------------------------------------------------------------------------------------------------------- clusters


EIGHT = ["a", "a", "a", "b", "c", "c", "d", "d"]


def random_clusters(rng):
    sizes = rng.integers(1, 5, rng.integers(2, 6))
    clusters = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    return ClusterSubbagging(int(rng.integers(1, len(sizes))), clusters).resolve(len(clusters))


def test_one_of_two_clusters_is_one_of_two_bags():
    law = ClusterSubbagging(1, list("aab")).resolve(3)
    assert [(bag.tolist(), p) for bag, p in law.support()] == [([0, 1], Fraction(1, 2)), ([2], Fraction(1, 2))]
    # D = diag(2, 1): D - d d' / 2 has the eigenvalue 3/2, and (1/3) (p / (1 - p)) (2 / 1) (3/2) = 1.
    assert law.constant == pytest.approx(1)
    assert law.bag_size == 1.5


def test_closed_forms_of_clusters_agree_with_listed_bags(seed):
    rng = np.random.default_rng(seed)
    for _ in range(60):
        law = random_clusters(rng)
        n = law.n_samples
        inclusion, covariance = moments(law.support(), n)
        np.testing.assert_allclose(law.inclusion_probabilities, inclusion)
        np.testing.assert_allclose(law.scheme.covariance(n), covariance, atol=1e-12)
        assert law.constant == pytest.approx(norm_of(inclusion, covariance))
        ragged = max(np.delete(1 / (1 - inclusion), bag).sum() / n for bag, _ in law.support())
        assert law.scheme.raggedness(n) == pytest.approx(ragged)


def test_clusters_of_equal_size_have_the_closed_form_of_the_note():
    for size, n_clusters, m in ((1, 6, 3), (2, 5, 2), (4, 3, 1)):
        n, p = size * n_clusters, m / n_clusters
        law = ClusterSubbagging(m, np.arange(n) % n_clusters).resolve(n)
        assert law.constant == pytest.approx(size / n * p / (1 - p) * n_clusters / (n_clusters - 1))
    rows = ClusterSubbagging(3, np.arange(6)).resolve(6)
    assert rows.constant == pytest.approx(Subbagging(3).resolve(6).constant)  # each row a cluster of its own


def test_eigenvalue_of_clusters_equals_that_of_the_dense_matrix(seed):
    rng = np.random.default_rng(seed)
    for _ in range(100):
        sizes = rng.integers(1, 30, rng.integers(2, 12)).astype(float)
        root = np.sqrt(sizes)
        dense = np.linalg.eigvalsh(np.diag(sizes) - np.outer(root, root) / len(sizes))[-1]
        assert largest_eigenvalue(sizes) == pytest.approx(dense, rel=1e-12)
    assert largest_eigenvalue(np.array([10**6, *[1] * 999])) == pytest.approx(10**6 * 0.999, rel=1e-6)


def test_bags_have_the_right_number_of_whole_clusters():
    clusters = np.repeat(np.arange(10), np.arange(1, 11))
    for bag in ClusterSubbagging(0.4, clusters).resolve(55).draw(50, random_state=0):
        there = np.unique(clusters[bag])
        assert len(there) == 4
        assert sorted(bag.tolist()) == np.flatnonzero(np.isin(clusters, there)).tolist()


def test_drawn_clusters_depend_only_on_their_labels():
    clusters = np.array(EIGHT)
    law = ClusterSubbagging(2, clusters).resolve(8)
    order = np.array([5, 3, 1, 7, 0, 2, 4, 6])
    moved = ClusterSubbagging(2, clusters[order]).resolve(8)
    for bag, again in zip(law.draw(30, 1), moved.draw(30, 1, row_ids=order), strict=True):
        np.testing.assert_array_equal(bag, order[again])


def test_removing_a_row_does_not_change_bags_without_its_cluster():
    clusters = np.array(EIGHT)
    law = ClusterSubbagging(2, clusters).resolve(8)
    bags = law.draw(60, random_state=2)
    for gone in range(8):
        rest = np.delete(np.arange(8), gone)
        for bag, again in zip(bags, law.without([gone]).draw(60, random_state=2, row_ids=rest), strict=True):
            assert clusters[gone] not in clusters[rest[again]]
            if gone not in bag:
                np.testing.assert_array_equal(bag, rest[again])


def test_law_without_a_row_has_its_cluster_in_no_bag(seed):
    rng = np.random.default_rng(seed)
    for _ in range(20):
        law = random_clusters(rng)
        for gone in range(law.n_samples):
            smaller = law.without([gone])
            assert {tuple(bag.tolist()): p for bag, p in smaller.support()} == conditional(law, [gone])
            inclusion, covariance = moments(smaller.support(), smaller.n_samples)
            np.testing.assert_allclose(smaller.inclusion_probabilities, inclusion)
            np.testing.assert_allclose(smaller.scheme.covariance(smaller.n_samples), covariance, atol=1e-12)
            if inclusion.max() < 1:
                assert smaller.constant == pytest.approx(norm_of(inclusion, covariance))
    law = ClusterSubbagging(2, EIGHT).resolve(8)
    whole = law.without([0, 1, 2])  # the whole cluster is gone, and none is barred
    assert whole.scheme.barred == ()
    assert law.without([0]).scheme.barred == ("a",)
    assert law.without([0]).without([0]).without([0]) == whole
    with pytest.raises(ValueError, match="fewer than 2 clusters remain, but every bag needs 2"):
        law.without([0, 3, 4])


@pytest.mark.parametrize(("bag_size", "clusters", "words"), [
    (0.5, None, "must be a label for each row. Got None: rows with the same label are drawn together"),
    (0.5, list("aaa"), "smaller than the number of clusters, 1. .* Use two or more clusters"),
    (2, list("aab"), "smaller than the number of clusters, 2. Got 2: otherwise every cluster is in every bag"),
    (1.0, list("aab"), "smaller than the number of clusters"),
    (1, list("aa"), "3 labels, one for each row. Got 2: a scheme with clusters is for one table"),
    (1, ["a", "b", None], "row 2 has none"),
])  # fmt: skip
def test_errors_for_clusters_give_the_way_out(bag_size, clusters, words):
    with pytest.raises(ValueError, match=words):
        ClusterSubbagging(bag_size, clusters).resolve(3)
    with pytest.raises(ValueError, match=r"a positive number of clusters \(int\)"):
        ClusterSubbagging(0, clusters)


def test_cluster_subbagging_equality_copy_and_repr():
    scheme = ClusterSubbagging(2, EIGHT)
    law = scheme.resolve(8)
    assert pickle.loads(pickle.dumps(law)) == law == law.scheme.resolve(8)
    assert scheme == ClusterSubbagging(2, list(EIGHT)) != ClusterSubbagging(2, EIGHT[::-1])
    assert str(law) == "cluster subbagging, 2 of 4 clusters, 8 rows in all"
    assert repr(scheme) == "ClusterSubbagging(bag_size=2, clusters=<8 labels>)"
    assert repr(law.without([0]).scheme) == "ClusterSubbagging(bag_size=2, clusters=<7 labels>, barred=('a',))"
    assert law.fingerprint != ClusterSubbagging(2, EIGHT[::-1]).resolve(8).fingerprint
