"""Joint bounds (docs/proofs.md, 15): what rows and drawn bags do to an output together, by enumeration and by draws.

The forms of bias and noise are worked out here from the definition: every bag, every set of rows that is left out, and
every bag that takes its place. Nothing is taken from the library but the bounds.
"""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from stablebag import (
    BernoulliSubbagging,
    Certificate,
    ClassicalBagging,
    ClusterSubbagging,
    PoissonizedBagging,
    StratifiedSubbagging,
    Subbagging,
)
from stablebag.proving.coupling import with_shift
from stablebag.proving.leave_out import between_versions, leave_out
from stablebag.resampling import ResamplingScheme

ROUNDING = 1e-9
N_BAGS = (1, 2, 3, 5, 10, 20, 50, 100, 200)


# ---------------------------------------------------------------------------------------------------- every bag listed


def listed(law):
    """Every bag, as the sorted rows in it, with its probability."""
    n = law.n_samples
    if isinstance(law.scheme, ClassicalBagging):
        m = int(law.bag_size)
        bags = list(itertools.combinations_with_replacement(range(n), m))
        ways = [math.factorial(m) / math.prod(math.factorial(bag.count(i)) for i in set(bag)) for bag in bags]
        return bags, np.array(ways) / n**m
    pairs = [(tuple(sorted(bag.tolist())), float(weight)) for bag, weight in law.support()]
    return [bag for bag, _ in pairs], np.array([weight for _, weight in pairs])


def successors(law, bag, gone):
    """The bags that may take the place of one when some rows are gone, all equally likely."""
    n, scheme = law.n_samples, law.scheme
    left = [row for row in bag if row not in gone]
    n_lost = len(bag) - len(left)
    if isinstance(scheme, ClassicalBagging):
        others = [row for row in range(n) if row not in gone]
        return [left + list(new) for new in itertools.product(others, repeat=n_lost)]
    if isinstance(scheme, Subbagging):
        others = [row for row in range(n) if row not in gone and row not in bag]
        return [left + list(new) for new in itertools.combinations(others, n_lost)]
    if isinstance(scheme, StratifiedSubbagging):  # one row is gone
        codes = scheme.layout(n)[0].codes
        kind = next(iter(codes[list(gone)]))
        return [[*left, row] for row in range(n) if row not in bag and codes[row] == kind]
    if isinstance(scheme, ClusterSubbagging):  # one row is gone, and its cluster with it
        codes = np.array(scheme.clusters.codes)
        left = [row for row in bag if codes[row] != codes[next(iter(gone))]]
        free = set(codes.tolist()) - {int(codes[row]) for row in bag}
        return [left + np.flatnonzero(codes == code).tolist() for code in free]
    return [left]


class Forms:
    """The mean square of bias, and of the noise of matched bags, as quadratic forms in the outputs of all bags."""

    def __init__(self, law, k=1, row_weights=None):
        self.law = law
        self.bags, self.weights = listed(law)
        place = {bag: number for number, bag in enumerate(self.bags)}
        gone_sets = [set(rows) for rows in itertools.combinations(range(law.n_samples), k)]
        share = np.full(len(gone_sets), 1 / len(gone_sets)) if row_weights is None else row_weights
        self.bias, self.noise = np.zeros((2, len(self.bags), len(self.bags)))
        for gone, weight in zip(gone_sets, share, strict=True):
            out = np.array([gone.isdisjoint(bag) for bag in self.bags])
            moved = self.weights - np.where(out, self.weights, 0) / self.weights[out].sum()
            self.bias += np.outer(moved, moved) * weight
            for here in np.flatnonzero(~out):
                after = successors(law, self.bags[here], gone)
                for bag in after:
                    there, chance = place[tuple(sorted(bag))], self.weights[here] / len(after) * weight
                    self.noise[here, here] += chance
                    self.noise[there, there] += chance
                    self.noise[here, there] -= chance
                    self.noise[there, here] -= chance

    def with_bags(self, n_bags):
        return self.bias if math.isinf(n_bags) else (1 - 1 / n_bags) * self.bias + self.noise / n_bags

    def per_variance(self, form):
        """The supremum over all outputs of a form, divided by the variance of the output over bags."""
        roots = np.sqrt(self.weights)
        centred = np.eye(len(roots)) - np.outer(roots, roots)
        return np.linalg.eigvalsh(centred @ (form / np.outer(roots, roots)) @ centred)[-1]

    def over_zero_one(self, form, most=16):
        """The supremum over all outputs of zero and one; by a search from many of them where they are too many."""
        size = len(form)
        if size > most:
            return max(self._climb(form, seed) for seed in range(30))
        best, step = 0.0, 1 << min(size - 1, 15)
        for start in range(0, 1 << (size - 1), step):  # y and 1 - y have the same value
            outputs = (np.arange(start, start + step)[:, None] >> np.arange(size) & 1).astype(float)
            best = max(best, float(((outputs @ form) * outputs).sum(axis=1).max()))
        return best

    @staticmethod
    def _climb(form, seed):
        y = np.random.default_rng(seed).integers(0, 2, len(form)).astype(float)
        while True:
            gain = (1 - 2 * y) * 2 * (form @ y) + np.diag(form)
            if gain.max() <= 1e-14:
                return float(y @ form @ y)
            y[gain.argmax()] = 1 - y[gain.argmax()]


def strata(sizes, bag_sizes):
    labels = np.repeat(np.arange(len(sizes)), sizes)
    return StratifiedSubbagging(dict(enumerate(bag_sizes)), strata=labels).resolve(len(labels))


def clusters(sizes, n_in_bag):
    labels = np.repeat(np.arange(len(sizes)), sizes)
    return ClusterSubbagging(n_in_bag, clusters=labels).resolve(len(labels))


SUBBAGGING = [Subbagging(m).resolve(n) for n in range(2, 7) for m in range(1, n)]
INDEPENDENT = [BernoulliSubbagging(p).resolve(n) for n in (2, 3, 4) for p in (0.1, 0.3, 0.5, 0.8)]
CLASSICAL = [ClassicalBagging(m).resolve(n) for n in (2, 3, 4) for m in (1, 2, 3, 4)]
STRATA = [strata(*each) for each in [([2, 2], [1, 1]), ([2, 3], [1, 1]), ([2, 3], [1, 2]), ([3, 3], [1, 2]),
                                     ([2, 4], [1, 2]), ([2, 4], [1, 1]), ([3, 3], [1, 1]), ([2, 4], [1, 3]),
                                     ([2, 2, 2], [1, 1, 1])]]  # fmt: skip
CLUSTERS = [clusters(*each) for each in [([2, 2, 2], 1), ([2, 2, 2], 2), ([3, 1, 1], 1), ([2, 1, 1, 1], 2)]]
EXACT = SUBBAGGING + INDEPENDENT + STRATA  # the joint bound is the largest eigenvalue


@pytest.mark.parametrize("law", EXACT + CLASSICAL + CLUSTERS, ids=str)
def test_no_output_of_zero_and_one_exceeds_the_joint_bound(law):
    forms, found = Forms(law), law.matched_components()
    for n_bags in N_BAGS:
        assert forms.over_zero_one(forms.with_bags(n_bags)) <= found.mean_square(n_bags) + ROUNDING


@pytest.mark.parametrize("law", EXACT + CLASSICAL + CLUSTERS, ids=str)
def test_no_output_exceeds_the_joint_bound_per_variance(law):
    forms, found = Forms(law), law.matched_components()
    for n_bags in (*N_BAGS, math.inf):
        most, proved = forms.per_variance(forms.with_bags(n_bags)), found.mean_square(n_bags, 1.0, math.inf)
        assert most <= proved * (1 + ROUNDING)
        if law in EXACT or math.isinf(n_bags):
            assert most == pytest.approx(proved)


def test_zero_one_outputs_attain_the_joint_bound_of_subbagging_at_every_number_of_bags():
    for n, m in ((4, 1), (4, 3), (6, 3), (6, 1), (6, 5)):
        law = Subbagging(m).resolve(n)
        forms = Forms(law)
        for n_bags in N_BAGS:
            assert forms.over_zero_one(forms.with_bags(n_bags)) == pytest.approx(
                law.matched_components().mean_square(n_bags)
            )


@pytest.mark.parametrize("p", [0.1, 0.3, 0.5])
def test_few_bernoulli_bags_attain_the_joint_bound_of_rare_rows(p):
    # One bag: the parity has the noise p, whatever its variance.
    law = BernoulliSubbagging(p).resolve(4)
    forms = Forms(law)
    assert forms.over_zero_one(forms.with_bags(1)) == pytest.approx(p) == law.matched_components().mean_square(1)


@pytest.mark.parametrize("law", STRATA, ids=str)
def test_weighted_sums_over_strata_do_not_exceed_their_joint_bound(law):
    forms = Forms(law, row_weights=1 / (law.n_samples * law.row_constants))
    found = law.weighted_components
    for n_bags in (*N_BAGS, math.inf):
        most = forms.per_variance(forms.with_bags(n_bags))
        assert most == pytest.approx(found.mean_square(n_bags, 1.0, math.inf))
        assert forms.over_zero_one(forms.with_bags(n_bags)) <= found.mean_square(n_bags) + ROUNDING
    assert Subbagging(2).resolve(4).weighted_components is None


@pytest.mark.parametrize("law", [Subbagging(3).resolve(6), ClassicalBagging(3).resolve(3), CLUSTERS[2]], ids=str)
def test_fractional_outputs_stay_below_the_joint_bound(law, seed):
    rng = np.random.default_rng(seed)
    forms, found = Forms(law), law.matched_components()
    for _ in range(200):
        y = rng.random(len(forms.bags)) ** rng.uniform(0.2, 5)
        variance = forms.weights @ y**2 - (forms.weights @ y) ** 2
        for n_bags in N_BAGS:
            assert y @ forms.with_bags(n_bags) @ y <= found.mean_square(n_bags, variance) + ROUNDING


# -------------------------------------------------------------------------------------------------------- golden values


@pytest.mark.parametrize(("m", "n_bags", "epsilon"), [
    (221, 500, 0.07551718507), (88, 500, 0.04468304353), (221, math.inf, 0.07529232524), (88, math.inf, 0.0375396669),
])  # fmt: skip
def test_golden_values_of_half_and_fifth_bags(m, n_bags, epsilon):
    # theory.md, 13.1; for 88: sqrt(.25 * 2 * (88 / 442) (1 + 1 / 354) / 500 / .1).
    square = Subbagging(m).resolve(442).matched_components().mean_square(n_bags)
    assert math.sqrt(square / 0.1) == pytest.approx(epsilon, abs=5e-12)


def test_with_as_many_bags_as_rows_drawing_them_costs_nothing():
    for n, m in ((442, 221), (1000, 100), (10**9, 10**8)):
        found = Subbagging(m).resolve(n).matched_components()
        switch = math.ceil(2 * (1 - m / n) * (n - 1)) + 3
        assert found.mean_square(switch) <= found.mean_square(math.inf) * (1 + 2 / (m / n) / switch)
        assert found.mean_square(switch // 2) > 1.5 * found.mean_square(math.inf)


@pytest.mark.parametrize("scheme", [
    Subbagging(0.5), Subbagging(0.1), BernoulliSubbagging(0.5), BernoulliSubbagging(0.1), ClassicalBagging(1.0),
    ClassicalBagging(0.5), PoissonizedBagging(1.0),
], ids=str)  # fmt: skip
@pytest.mark.parametrize("n", [2, 3, 10, 442, 10**6])
def test_the_joint_bound_is_never_above_the_sum_of_both_parts(scheme, n):
    if n == 2 and scheme.bag_size == 0.1:
        pytest.skip("a bag of one of two rows is that of one half")
    law = scheme.resolve(n)
    found = law.matched_components()
    assert found.bias == pytest.approx(law.constant)
    before = math.inf
    for n_bags in (1, 2, 10, 100, 1000, 10**6):
        joint = found.mean_square(n_bags)
        assert joint <= Certificate(law, n, n_bags, coupling="matched").rms() ** 2 * (1 + 1e-12)
        assert law.constant / 4 * (1 - 1 / n_bags) <= joint <= before
        before = joint


def test_schemes_of_users_have_the_noise_of_their_inclusion():
    class Pairs(ResamplingScheme):
        """Two rows, drawn like subbagging."""

        def draw_bag(self, n_samples, generator):
            return generator.choice(n_samples, 2, replace=False)

        def pick(self, n_samples, arrivals):
            return arrivals.first_rows(2)

        def enumerate_bags(self, n_samples):
            return Subbagging(2).enumerate_bags(n_samples)

        def without_one(self, n_samples):
            return self

    law = Pairs().resolve(6)
    assert law.matched_components().mean_square(10) == pytest.approx(
        0.9 * law.constant / 4 + law.inclusion_probability / 10
    )


def test_a_shift_of_empty_bags_is_added_to_the_root():
    assert with_shift(0.04, 10, 0.0, 1.0) == 0.04
    # sqrt(.04) + sqrt(.25 (.9 * .01 + .1 / 10)), squared
    assert with_shift(0.04, 10, 0.1, 0.25) == pytest.approx((0.2 + math.sqrt(0.25 * 0.019)) ** 2)


# ----------------------------------------------------------------------------------------------- adversaries, and draws


def pairs(rows, n_pairs):
    """One component alone: the product over pairs of rows of who of the two is in the bag; 1/2 where not one is."""
    value = 1.0
    for k in range(n_pairs):
        value *= (2 * k in rows) - (2 * k + 1 in rows)
    return (1 + value) / 2


ADVERSARIES = {
    "first component": lambda rows: float(0 in rows),
    "second component": lambda rows: pairs(rows, 2),
    "last component": lambda rows: pairs(rows, 4),
    "parity": lambda rows: float(sum(rows) % 2),
    "half-space": lambda rows: float(2 * len(rows & {0, 1, 2, 3}) > len(rows)),
}
DRAWN = [
    Subbagging(4),
    Subbagging(2),
    BernoulliSubbagging(0.3),
    ClassicalBagging(1.0),
    PoissonizedBagging(0.7),
    StratifiedSubbagging(0.5, strata=[0] * 4 + [1] * 4),
    ClusterSubbagging(2, clusters=[0, 0, 1, 1, 2, 2, 3, 3]),
]


def matched_differences(scheme, learner, n_bags, seed):
    """What bags that are really drawn, matched by seed and row IDs, lose by each of eight rows: (rows, bags)."""
    law, everything = scheme.resolve(8), np.arange(8)
    before = np.array([learner(set(bag.tolist())) for bag in law.draw(n_bags, seed, row_ids=everything)])
    lost = []
    for row in everything:
        rest = np.delete(everything, row)
        drawn = law.without([row]).draw(n_bags, seed, row_ids=rest)
        lost.append(before - np.array([learner(set(rest[bag].tolist())) for bag in drawn]))
    return np.array(lost), before


@pytest.mark.parametrize("learner", ADVERSARIES)
@pytest.mark.parametrize("scheme", DRAWN, ids=lambda scheme: type(scheme).__name__)
def test_models_of_one_component_stay_below_the_joint_bound(scheme, learner, seed):
    drawn = 4_000
    lost, outputs = matched_differences(scheme, ADVERSARIES[learner], drawn, seed)
    found = scheme.resolve(8).matched_components()
    bias, noise = lost.mean(axis=1) ** 2, (lost**2).mean(axis=1)
    variance = outputs.var()
    for n_bags in (1, 5, 20, 200):
        measured = ((1 - 1 / n_bags) * bias + noise / n_bags).mean()
        # Means of 4,000 terms in [0, 1], and squares of such; six standard deviations of each.
        slack = 6 * math.sqrt(0.25 / drawn) * (2 * np.sqrt(bias).max() + 1 / n_bags) + 36 / drawn
        assert measured <= found.mean_square(n_bags) + slack
        assert measured <= found.mean_square(n_bags, variance) + slack


def test_a_learner_that_looks_at_one_row_attains_the_bound_with_many_bags(seed):
    lost, _ = matched_differences(Subbagging(4), ADVERSARIES["first component"], 20_000, seed)
    n_bags = 50
    measured = ((1 - 1 / n_bags) * lost.mean(axis=1) ** 2 + (lost**2).mean(axis=1) / n_bags).mean()
    assert measured == pytest.approx(Subbagging(4).resolve(8).matched_components().mean_square(n_bags), rel=0.1)


# -------------------------------------------------------------------------------------------------------- leaving out k


SEVERAL = [(Subbagging(m).resolve(n), k) for n in range(3, 8) for m in range(1, n) for k in range(1, n - m + 1)]
SEVERAL_INDEPENDENT = [
    (BernoulliSubbagging(p).resolve(n), k) for n in (3, 4, 5) for p in (0.1, 0.5) for k in range(1, n)
]
SEVERAL_DRAWN = [(ClassicalBagging(m).resolve(n), k) for n, m in ((3, 2), (3, 4), (4, 3), (5, 3)) for k in (1, 2)]


@pytest.mark.parametrize(("law", "k"), SEVERAL + SEVERAL_INDEPENDENT + SEVERAL_DRAWN, ids=str)
def test_the_constant_of_leaving_k_rows_out_is_exact_and_the_joint_bound_holds(law, k):
    forms, found = Forms(law, k), leave_out(law, k)
    assert forms.per_variance(forms.bias) == pytest.approx(found.constant, rel=1e-7)
    assert forms.over_zero_one(forms.bias) <= found.mean_square() + ROUNDING
    for n_bags in (1, 3, 10, 100):
        form = forms.with_bags(n_bags)
        assert forms.over_zero_one(form) <= found.mean_square(n_bags) + ROUNDING
        assert forms.per_variance(form) <= found.of_variance(1.0, n_bags, math.inf) * (1 + ROUNDING)
        if isinstance(law.scheme, Subbagging):
            assert forms.per_variance(form) == pytest.approx(found.of_variance(1.0, n_bags, math.inf))


@pytest.mark.parametrize(("law", "k", "golden"), [
    (Subbagging(3).resolve(7), 2, 0.3), (Subbagging(4).resolve(8), 2, 1 / 3), (Subbagging(3).resolve(9), 4, 0.4),
    (BernoulliSubbagging(0.5).resolve(6), 2, 0.7333333333), (BernoulliSubbagging(0.3).resolve(8), 3, 0.5425864223),
    (BernoulliSubbagging(0.5).resolve(6), 3, 2.15), (ClassicalBagging(200).resolve(200), 5, 0.0957),
    (Subbagging(1000).resolve(10_000), 100, 0.001122334),
])  # fmt: skip
def test_golden_constants_of_leaving_k_rows_out(law, k, golden):
    assert leave_out(law, k).constant == pytest.approx(golden, abs=5e-5 if golden == 0.0957 else 1e-9)


def test_golden_epsilons_of_leaving_k_rows_out():
    assert leave_out(Subbagging(1000).resolve(10_000), 100).epsilon(0.1) == pytest.approx(0.05297014, abs=1e-8)
    # Half bags, 1 % of the rows: sqrt(.0101 / .4), whatever n is.
    for n in (1000, 10**6, 10**9):
        assert leave_out(Subbagging(0.5).resolve(n), n // 100).epsilon(0.1) == pytest.approx(0.158910, rel=1e-3)
    assert leave_out(BernoulliSubbagging(0.5).resolve(6), 3).mean_square() == pytest.approx(1.8372769 / 4, abs=1e-7)


@pytest.mark.parametrize(("n", "m", "k"), [(5, 2, 2), (6, 3, 2), (4, 2, 2)])
def test_the_noise_of_k_rows_is_attained(n, m, k):
    law = Subbagging(m).resolve(n)
    forms = Forms(law, k)
    assert forms.over_zero_one(forms.noise, most=20) == pytest.approx(leave_out(law, k).parts.top / 4)


@pytest.mark.parametrize(("n", "m"), [(60, 20), (60, 40), (60, 30), (200, 2), (200, 198), (300, 150)])
def test_what_a_component_of_subbagging_keeps_is_positive_and_falls(n, m):
    """The sum of positive terms is that of theory.md, 14, by Hahn polynomials in exact fractions."""
    for k in {k for k in (1, 2, 5, (n - m) // 2, n - m) if 1 <= k <= n - m}:
        found = leave_out(Subbagging(m).resolve(n), k).parts
        kept = []
        for j in range(1, min(m, n - m) + 1):
            ways = [math.comb(j, i) * math.comb(n + 1 - j, i) * math.comb(k, i) for i in range(min(j, k) + 1)]
            all_ways = [math.comb(n - m, i) * math.comb(n, i) for i in range(len(ways))]
            kept.append(sum((-1) ** i * Fraction(*pair) for i, pair in enumerate(zip(ways, all_ways, strict=True))))
        assert all(0 <= later <= earlier <= 1 for earlier, later in itertools.pairwise(kept))
        for block, exact in zip(found.blocks, kept, strict=False):
            assert block.noise[0] >= 2 * (1 - float(exact)) - 1e-12
        assert found.top == pytest.approx(2 * (1 - float(kept[-1])), rel=1e-9)


def test_a_billion_rows_and_a_million_left_out():
    for law in (Subbagging(0.5), Subbagging(0.1), ClassicalBagging(0.001), PoissonizedBagging(1e-6)):
        found = leave_out(law.resolve(10**9), 10**6)
        assert 0 < found.mean_square(1000) < 1
        assert found.mean_square() <= found.mean_square(10**6) <= found.mean_square(1000)
        assert math.isfinite(found.constant)
    assert leave_out(BernoulliSubbagging(0.5).resolve(10**9), 10**6).mean_square() == 1.0  # nothing is proved
    assert leave_out(ClassicalBagging(1.0).resolve(10**9), 10**6).mean_square() == 1.0


def test_rows_that_cannot_be_left_out_raise():
    with pytest.raises(ValueError, match="small enough that a bag can avoid these rows"):
        leave_out(Subbagging(3).resolve(6), 4)
    with pytest.raises(ValueError, match="treats all rows alike"):
        leave_out(strata([2, 2], [1, 1]), 1)
    with pytest.raises(ValueError, match="treats all rows alike"):
        between_versions(clusters([2, 2, 2], 1), 1, 1)


# --------------------------------------------------------------------------------------------------------- two versions


def versions_form(n, m, k, new):
    """Over all ways to split the rows of both versions: the mean squared difference of f, as a form in the outputs."""
    bags = list(itertools.combinations(range(n + new), m))
    form, count, rows = np.zeros((len(bags), len(bags))), 0, range(n + new)
    for gone in itertools.combinations(rows, k):
        for fresh in itertools.combinations(sorted(set(rows) - set(gone)), new):
            first = np.array([set(bag).isdisjoint(fresh) for bag in bags], dtype=float)
            second = np.array([set(bag).isdisjoint(gone) for bag in bags], dtype=float)
            moved = first / first.sum() - second / second.sum()
            form += np.outer(moved, moved)
            count += 1
    return form / count


@pytest.mark.parametrize(
    ("n", "m", "k", "new"), [(4, 2, 1, 1), (5, 2, 2, 2), (5, 3, 1, 2), (6, 2, 3, 1), (5, 2, 0, 2), (5, 2, 2, 0)]
)
def test_two_versions_differ_by_at_most_what_random_churn_allows(n, m, k, new):
    form = versions_form(n, m, k, new)
    found = between_versions(Subbagging(m).resolve(n), k, new)
    # Outputs in [0, 1] are within 1/2 of 1/2, so that the norm times a quarter of the bags is a bound; it is attained.
    assert np.linalg.eigvalsh(form)[-1] * len(form) / 4 == pytest.approx(found.random_rows)
    law = Subbagging(m).resolve(n)
    steps = [leave_out(law, k).mean_square()] if k else []
    steps += [leave_out(Subbagging(m).resolve(n - k + new), new).mean_square()] if new else []
    assert found.random_rows <= sum(math.sqrt(step) for step in steps) ** 2 + ROUNDING


@pytest.mark.parametrize(("n", "m", "k", "new"), [(4, 2, 1, 1), (5, 2, 2, 1), (5, 3, 1, 2)])
def test_the_worst_case_of_two_versions_is_the_larger_of_both_steps(n, m, k, new):
    rows = set(range(n + new))
    gone, fresh = set(range(k)), set(range(k, k + new))
    first = {bag: 1 / math.comb(n, m) for bag in itertools.combinations(sorted(rows - fresh), m)}
    second = {bag: 1 / math.comb(n - k + new, m) for bag in itertools.combinations(sorted(rows - gone), m)}
    variation = sum(abs(first.get(bag, 0) - second.get(bag, 0)) for bag in {*first, *second}) / 2
    found = between_versions(Subbagging(m).resolve(n), k, new)
    assert found.worst_case == pytest.approx(variation)
    assert found.changed_bags == pytest.approx(1 - math.comb(n - k, m) / math.comb(n + new, m))


def test_two_equal_versions_do_not_differ():
    found = between_versions(Subbagging(3).resolve(8), 0, 0)
    assert found.mean_square(10) == found.epsilon(0.1) == found.worst_case == 0


@pytest.mark.parametrize("scheme", [Subbagging(4), BernoulliSubbagging(0.3), ClassicalBagging(5)], ids=str)
def test_drawn_versions_stay_below_their_bounds(scheme, seed):
    """Rows 0 to 7 and then 2 to 9, for all learners above, with bags that are really drawn."""
    law, n_bags = scheme.resolve(8), 4_000
    old, new = np.arange(8), np.arange(2, 10)
    fixed = law.scheme.without_one(8).resolve(8)
    before, after = ([set(rows[bag].tolist()) for bag in fixed.draw(n_bags, seed, row_ids=rows)] for rows in (old, new))
    found = between_versions(law, 2, 2)
    differ = np.mean([one != other for one, other in zip(before, after, strict=True)])
    assert differ <= found.changed_bags + 6 * math.sqrt(0.25 / n_bags)
    for learner in ADVERSARIES.values():
        moved = np.array([learner(one) - learner(other) for one, other in zip(before, after, strict=True)])
        assert abs(moved.mean()) <= found.worst_case + 6 * math.sqrt(0.25 / n_bags)
        assert (moved**2).mean() <= found.changed_bags + 6 * math.sqrt(0.25 / n_bags)
