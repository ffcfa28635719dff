import pickle
from fractions import Fraction

import numpy as np
import pytest

from resampling.test_unequal import conditional
from stablebag import ClusterSubbagging, Subbagging
from stablebag.resampling.covariance import moments, norm_of
from stablebag.resampling.unequal import largest_eigenvalue

EIGHT = ["a", "a", "a", "b", "c", "c", "d", "d"]


def random_law(rng):
    sizes = rng.integers(1, 5, rng.integers(2, 6))
    clusters = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    return ClusterSubbagging(int(rng.integers(1, len(sizes))), clusters).resolve(len(clusters))


def test_one_of_two_clusters_is_one_of_two_bags():
    law = ClusterSubbagging(1, list("aab")).resolve(3)
    assert [(bag.tolist(), p) for bag, p in law.support()] == [([0, 1], Fraction(1, 2)), ([2], Fraction(1, 2))]
    # D = diag(2, 1): D - d d' / 2 has the eigenvalue 3/2, and (1/3) (p / (1 - p)) (2 / 1) (3/2) = 1.
    assert law.constant == pytest.approx(1)
    assert law.bag_size == 1.5


def test_closed_forms_are_those_of_the_listed_bags(seed):
    rng = np.random.default_rng(seed)
    for _ in range(60):
        law = random_law(rng)
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


def test_the_eigenvalue_is_that_of_the_dense_matrix(seed):
    rng = np.random.default_rng(seed)
    for _ in range(100):
        sizes = rng.integers(1, 30, rng.integers(2, 12)).astype(float)
        root = np.sqrt(sizes)
        dense = np.linalg.eigvalsh(np.diag(sizes) - np.outer(root, root) / len(sizes))[-1]
        assert largest_eigenvalue(sizes) == pytest.approx(dense, rel=1e-12)
    assert largest_eigenvalue(np.array([10**6, *[1] * 999])) == pytest.approx(10**6 * 0.999, rel=1e-6)


def test_bags_have_whole_clusters_and_their_number():
    clusters = np.repeat(np.arange(10), np.arange(1, 11))
    for bag in ClusterSubbagging(0.4, clusters).resolve(55).draw(50, random_state=0):
        there = np.unique(clusters[bag])
        assert len(there) == 4
        assert sorted(bag.tolist()) == np.flatnonzero(np.isin(clusters, there)).tolist()


def test_which_clusters_are_drawn_depends_on_their_labels_alone():
    clusters = np.array(EIGHT)
    law = ClusterSubbagging(2, clusters).resolve(8)
    order = np.array([5, 3, 1, 7, 0, 2, 4, 6])
    moved = ClusterSubbagging(2, clusters[order]).resolve(8)
    for bag, again in zip(law.draw(30, 1), moved.draw(30, 1, row_ids=order), strict=True):
        np.testing.assert_array_equal(bag, order[again])


def test_with_a_row_less_bags_without_its_cluster_are_the_same_to_the_last_bit():
    clusters = np.array(EIGHT)
    law = ClusterSubbagging(2, clusters).resolve(8)
    bags = law.draw(60, random_state=2)
    for gone in range(8):
        rest = np.delete(np.arange(8), gone)
        for bag, again in zip(bags, law.without([gone]).draw(60, random_state=2, row_ids=rest), strict=True):
            assert clusters[gone] not in clusters[rest[again]]
            if gone not in bag:
                np.testing.assert_array_equal(bag, rest[again])


def test_the_law_without_a_row_has_its_cluster_in_no_bag(seed):
    rng = np.random.default_rng(seed)
    for _ in range(20):
        law = random_law(rng)
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
    with pytest.raises(ValueError, match="fewer clusters are left than the 2 of every bag"):
        law.without([0, 3, 4])


@pytest.mark.parametrize(("bag_size", "clusters", "words"), [
    (0.5, None, "must be a label for each row. Got None: it tells which rows are drawn together"),
    (0.5, list("aaa"), "smaller than the number of clusters, 1. .* Use two clusters or more"),
    (2, list("aab"), "smaller than the number of clusters, 2. Got 2: .* Use at most 1"),
    (1.0, list("aab"), "smaller than the number of clusters"),
    (1, list("aa"), "3 labels, one for each row. Got 2: a scheme that keeps its clusters is for one table"),
    (1, ["a", "b", None], "row 2 has none"),
])  # fmt: skip
def test_bad_clusters_and_sizes_are_told_the_way_out(bag_size, clusters, words):
    with pytest.raises(ValueError, match=words):
        ClusterSubbagging(bag_size, clusters).resolve(3)
    with pytest.raises(ValueError, match=r"a positive number of clusters \(int\)"):
        ClusterSubbagging(0, clusters)


def test_it_can_be_compared_copied_and_shown():
    scheme = ClusterSubbagging(2, EIGHT)
    law = scheme.resolve(8)
    assert pickle.loads(pickle.dumps(law)) == law == law.scheme.resolve(8)
    assert scheme == ClusterSubbagging(2, list(EIGHT)) != ClusterSubbagging(2, EIGHT[::-1])
    assert str(law) == "cluster subbagging, 2 of 4 clusters, 8 rows in all"
    assert repr(scheme) == "ClusterSubbagging(bag_size=2, clusters=<8 labels>)"
    assert repr(law.without([0]).scheme) == "ClusterSubbagging(bag_size=2, clusters=<7 labels>, barred=('a',))"
    assert law.fingerprint != ClusterSubbagging(2, EIGHT[::-1]).resolve(8).fingerprint
