import numpy as np
import pytest

from stablebag import BernoulliSubbagging, ClassicalBagging, PoissonizedBagging, Subbagging
from stablebag.fast.neighbours import RankLaw
from stablebag.models.solving import NotCovered
from stablebag.resampling.law import ResamplingScheme

SCHEMES = [Subbagging(0.5), BernoulliSubbagging(0.5), ClassicalBagging(), PoissonizedBagging()]
GOLDEN = {
    (Subbagging(3), 2): (0.25, 0.25, 0.225, 0.175, 0.1, 0),
    (ClassicalBagging(3), 2): (0.2476851852, 0.2337962963, 0.2060185185, 0.1643518519, 0.1087962963, 0.0393518519),
    (BernoulliSubbagging(3), 2): (0.2578125, 0.2578125, 0.1953125, 0.1328125, 0.0859375, 0.0546875),
    (PoissonizedBagging(3), 2): (0.2542834425, 0.2187909300, 0.1737881486, 0.1322539809, 0.0984260867, 0.0726703431),
    (Subbagging(3), 1): (0.5, 0.3, 0.15, 0.05, 0, 0),
    (ClassicalBagging(3), 1): (0.4212962963, 0.2824074074, 0.1712962963, 0.0879629630, 0.0324074074, 0.0046296296),
    (BernoulliSubbagging(3), 1): (1 / 2, 1 / 4, 1 / 8, 1 / 16, 1 / 32, 1 / 64),
    (PoissonizedBagging(3), 1): (0.3934693403, 0.2386512185, 0.1447492810, 0.0877948769, 0.0532502846, 0.0322979303),
}


def all_weights(law):
    """How much each of the n ranks counts, also in short bags."""
    weights = np.full(law.law.n_samples, law.short / law.law.n_samples)
    weights[: law.depth] += law.weights
    return weights


def places(law, k):
    """How often each rank is among the k nearest draws, over its number, in every bag; rank 0 is nearest."""
    mass = 1.0 if law.scheme.has_finite_support else 1 - 1e-9
    bags, chances = zip(*law.support(mass=mass), strict=True)
    counts = np.array([np.bincount(np.sort(bag)[:k], minlength=law.n_samples) for bag in bags])
    return counts / np.maximum(counts.sum(axis=1), 1)[:, None], np.array(chances, dtype=float)


@pytest.mark.parametrize(("case", "expected"), GOLDEN.items(), ids=str)
def test_golden_weights(case, expected):
    scheme, k = case
    law = RankLaw(scheme.resolve(6), k)
    np.testing.assert_allclose(all_weights(law), expected, atol=5e-11)
    empty = {BernoulliSubbagging: 0.015625, PoissonizedBagging: 0.049787068368}.get(type(scheme), 0)
    assert law.empty == pytest.approx(empty, abs=1e-11)


@pytest.mark.parametrize("k", [1, 2, 3, 4])
@pytest.mark.parametrize(
    "scheme",
    [Subbagging(4), Subbagging(5), ClassicalBagging(4), ClassicalBagging(7), BernoulliSubbagging(0.3)],
    ids=str,
)
def test_weights_and_squares_are_those_of_all_bags(scheme, k):
    law = scheme.resolve(6)
    each, chances = places(law, k)
    ranks = RankLaw(law, k)
    np.testing.assert_allclose(all_weights(ranks), chances @ each, atol=1e-15)
    for values in np.random.default_rng(0).normal(size=(3, 6)):
        enough = np.array([len(bag) >= k for bag, _ in law.support()])
        expected = chances[enough] @ (each[enough] @ values) ** 2
        before = np.cumsum(values) - values
        parts = (values**2, values**2, values * before, np.cumsum(values**2) - values**2, before**2)
        found = sum(part[: ranks.depth] @ by for part, by in zip(parts, ranks.squares, strict=True))
        assert found == pytest.approx(expected, abs=1e-14)


@pytest.mark.parametrize("k", [1, 2, 3])
def test_poissonized_bags_are_those_of_a_long_list(k):
    law = PoissonizedBagging(0.7).resolve(3)
    each, chances = places(law, k)
    np.testing.assert_allclose(all_weights(RankLaw(law, k)), chances @ each, atol=1e-8)


@pytest.mark.parametrize("n", [20, 1000, 100_000])
@pytest.mark.parametrize("k", [1, 5, 10])
@pytest.mark.parametrize("scheme", SCHEMES, ids=str)
def test_weights_sum_to_one_minus_the_chance_of_a_short_bag_and_fall(scheme, k, n):
    for law in (scheme.resolve(n), scheme.resolve(n).without_one()):
        ranks = RankLaw(law, k)
        assert ranks.weights.sum() == pytest.approx(1 - ranks.short - ranks.empty, abs=1e-14)
        assert ranks.last.sum() == pytest.approx(1 - ranks.short - ranks.empty, abs=1e-14)
        assert (np.diff(ranks.weights) <= 1e-15).all()
        assert (ranks.weights > -1e-16).all()


def test_at_large_n_only_few_ranks_count():
    assert all(RankLaw(scheme.resolve(100_000), 5).depth < 100 for scheme in SCHEMES)
    assert RankLaw(Subbagging(100).resolve(100_000), 5).depth > 10_000


def test_a_bag_of_all_rows_but_one_without_that_row_is_the_learner_itself():
    ranks = RankLaw(Subbagging(5).resolve(6).without_one(), 3)
    np.testing.assert_allclose(ranks.weights, [1 / 3] * 3)


def test_if_all_bags_are_short_only_their_mean_counts():
    ranks = RankLaw(BernoulliSubbagging(0.5).resolve(3), 4)
    assert ranks.depth == len(ranks.weights) == 0
    assert ranks.short + ranks.empty == pytest.approx(1)


class OtherScheme(ResamplingScheme):
    def draw_bag(self, n_samples, generator):
        return generator.choice(n_samples, 2, replace=False)

    def enumerate_bags(self, n_samples):
        return Subbagging(2).enumerate_bags(n_samples)


def test_other_schemes_and_bags_that_are_always_short_are_not_covered():
    with pytest.raises(NotCovered, match="OtherScheme"):
        RankLaw(OtherScheme().resolve(6), 1)
    for scheme in (Subbagging(3), ClassicalBagging(3)):
        with pytest.raises(NotCovered, match="bags of 3 rows have no 4 neighbours"):
            RankLaw(scheme.resolve(6), 4)
