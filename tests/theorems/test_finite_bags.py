"""Theorems 9 and 20 and Corollaries 15 to 17, exactly.

A learner that answers 0 or 1 makes the average over B bags a Binomial count: the law of |f_B - f_B^i| for independent
draws is then a sum over two Binomials, with no simulation.
"""

import numpy as np
import pytest
from scipy.stats import binom

from grids import first, together
from stablebag import BernoulliSubbagging, Certificate, ClassicalBagging, Subbagging
from stablebag.proving import bounds
from theorems.enumeration import enumerate_law, learners

LAWS = [Subbagging(2).resolve(4), Subbagging(3).resolve(6), BernoulliSubbagging(0.5).resolve(4),
        ClassicalBagging(4).resolve(4), Subbagging(1).resolve(8)]  # fmt: skip


def difference_law(f, left_out, n_bags):
    """The values of |f_B - f_B^i| and their probabilities."""
    counts = np.arange(n_bags + 1)
    joint = np.outer(binom.pmf(counts, n_bags, min(f, 1.0)), binom.pmf(counts, n_bags, min(left_out, 1.0)))
    return np.abs(counts[:, None] - counts[None, :]) / n_bags, joint


def zero_one_learners(ensemble, seed):
    for name, outputs in learners(ensemble, np.random.default_rng(seed)):
        if set(np.unique(outputs)) <= {0.0, 1.0}:
            yield name, ensemble.average(outputs), ensemble.left_out(outputs)


@pytest.mark.parametrize("law", first(LAWS), ids=str)
@together(n_bags=[10, 200, 1000])
def test_theorem_9_and_the_best_certificate_hold(law, n_bags, seed):
    ensemble = enumerate_law(law)
    certificate = Certificate(law, law.n_samples, n_bags)
    deltas = (0.02, 0.1, 0.3, 0.6, 0.9)
    for name, f, left_out in zero_one_learners(ensemble, seed):
        tails = np.zeros((2, len(deltas)))
        for without in left_out:
            moved, chance = difference_law(f, without, n_bags)
            for k, bound in enumerate(("best", "paper")):
                for j, delta in enumerate(deltas):
                    tails[k, j] += chance[moved > certificate.epsilon(delta, bound) + 1e-12].sum() / law.n_samples
        assert (tails <= np.array(deltas) + 1e-12).all(), name


@pytest.mark.parametrize("law", first(LAWS), ids=str)
@together(n_bags=[1, 10, 200])
def test_corollaries_15_to_17_and_the_norms_hold(law, n_bags, seed):
    ensemble = enumerate_law(law)
    certificate = Certificate(law, law.n_samples, n_bags)
    for name, f, left_out in zero_one_learners(ensemble, seed):
        laws = [difference_law(f, without, n_bags) for without in left_out]
        for order in (0.5, 1, 2, 4):
            power = np.mean([np.sum(moved**order * chance) for moved, chance in laws])
            assert power ** (1 / order) <= certificate.norm(order) + 1e-12, (name, order)
    assert certificate.loss(3.0) == pytest.approx(3 * certificate.mean())
    in_expectation = min(6 * certificate.mean(), certificate.replace_one(3.0))
    assert certificate.replace_one_in_expectation(3.0) == pytest.approx(in_expectation)


@pytest.mark.parametrize("law", first(LAWS), ids=str)
@together(n_bags=[10, 200])
def test_the_worst_case_of_finitely_many_bags_holds_for_each_row(law, n_bags, seed):
    certificate = Certificate(law, law.n_samples, n_bags)
    for name, f, left_out in zero_one_learners(enumerate_law(law), seed):
        for without in left_out:
            moved, chance = difference_law(f, without, n_bags)
            for delta in (0.01, 0.2, 0.8):
                assert chance[moved > certificate.worst_case(delta) + 1e-12].sum() <= delta + 1e-12, name


def test_the_best_split_is_found():
    for delta, constant, n_bags in [(0.05, 1 / 999, 1000), (0.5, 0.3, 10), (1e-4, 1e-6, 10**6), (0.9, 1e-9, 5)]:
        epsilon, split = bounds.finite_bags_epsilon(delta, constant, n_bags)
        grid = delta * np.concatenate([np.logspace(-8, -1e-6, 20_000), 1 - np.logspace(-8, -1e-6, 20_000)])
        sums = np.sqrt(constant / 4 / (delta - grid)) + np.sqrt(2 / n_bags * np.log(4 / grid))
        assert epsilon <= sums.min() * (1 + 1e-9)
        assert 0 < split < delta


def test_the_best_number_of_whole_rows_is_found_up_to_a_thousandth():
    for n, p, n_bags in [(1000, 0.5, 1000), (50, 0.9, 100), (10_000, 0.05, 10_000), (30, 0.01, 10**6)]:
        constant = p / (1 - p) / (n - 1)
        for delta in (0.001, 0.05, 0.3, 1.0):
            rows = np.arange(n + 1)[np.arange(n + 1) < n * delta]
            first = np.minimum(p, np.sqrt(n * constant / 4 / (rows + 1))) * (rows < n)
            sums = first + np.sqrt(2 / n_bags * np.log(4 / (delta - rows / n)))
            epsilon, _ = bounds.finite_bags_rows_epsilon(delta, n, constant, p, n_bags)
            best = min(1.0, sums.min())
            assert best * (1 - 1e-9) <= epsilon <= best * 1.001  # beyond 64 rows not every number is tried


def test_finite_bags_delta_inverts_finite_bags_epsilon():
    for delta in (1e-3, 0.05, 0.5):
        epsilon, _ = bounds.finite_bags_epsilon(delta, 1 / 999, 10_000)
        assert bounds.finite_bags_delta(epsilon, 1 / 999, 10_000) == pytest.approx(delta, rel=1e-6)


@pytest.mark.parametrize("law", first(LAWS), ids=str)
@together(n_bags=[50, 500])
def test_theorem_20_holds_for_clipped_outputs(law, n_bags, seed):
    """Outputs are either end of I(D), so that an average over B bags is again a Binomial count, scaled."""
    rng = np.random.default_rng(seed)
    ensemble, n = enumerate_law(law), law.n_samples
    targets = rng.normal(size=n)
    certificate = Certificate.for_targets(law, targets, n_bags=n_bags)
    low, high = targets.min(), targets.max()
    for name, f, left_out in zero_one_learners(ensemble, seed):
        for delta in (0.3, 0.6, 0.9):
            tail = {"best": 0.0, "paper": 0.0}
            for row, without in enumerate(left_out):
                others = np.delete(targets, row)
                counts = np.arange(n_bags + 1)
                full = low + (high - low) * counts / n_bags
                less = others.min() + np.ptp(others) * counts / n_bags
                moved = np.abs(full[:, None] - less[None, :])
                _, chance = difference_law(f, without, n_bags)
                for bound in tail:
                    tail[bound] += chance[moved > certificate.epsilon(delta, bound) + 1e-12].sum() / n
            assert max(tail.values()) <= delta + 1e-12, name


def coupled_laws(f, left_out, n_bags):
    """The law of |f_B - f_B^i| for independent draws, and for those of opposite order: the worst for second moments."""
    yield "independent", *difference_law(f, left_out, n_bags)
    uniform = (np.arange(20_000) + 0.5) / 20_000
    high, low = (binom.ppf(u, n_bags, min(rate, 1.0)) for u, rate in ((uniform, f), (1 - uniform, left_out)))
    yield "any", np.abs(high - low) / n_bags, np.full(len(uniform), 1 / len(uniform))


@pytest.mark.parametrize("law", first(LAWS), ids=str)
@together(n_bags=[1, 10, 200])
def test_second_moments_hold_for_independent_and_for_opposite_bags(law, n_bags, seed):
    ensemble = enumerate_law(law)
    deltas = (0.05, 0.2, 0.5)
    for name, f, left_out in zero_one_learners(ensemble, seed):
        squares, tails, means = {}, {}, {}
        for without in left_out:
            for coupling, moved, chance in coupled_laws(f, without, n_bags):
                certificate = Certificate(law, law.n_samples, n_bags, coupling=coupling)
                over = [chance[moved > certificate.epsilon(delta) + 1e-12].sum() for delta in deltas]
                tails[coupling] = tails.get(coupling, 0.0) + np.array(over) / law.n_samples
                squares[coupling] = squares.get(coupling, 0.0) + (moved**2 * chance).sum() / law.n_samples
                means[coupling] = means.get(coupling, 0.0) + (moved * chance).sum() / law.n_samples
        for coupling, square in squares.items():
            certificate = Certificate(law, law.n_samples, n_bags, coupling=coupling)
            grid = 1e-3 if coupling == "any" else 1e-12  # opposite quantiles are taken on a grid
            root = bounds.mean_square_perturbation(ensemble.constant, n_bags, coupling)
            assert square <= root**2 + grid, name
            assert means[coupling] <= certificate.mean() + grid, name
            assert (tails[coupling] <= np.array(deltas) + grid).all(), name


def test_second_moments_are_attained_by_a_learner_of_no_rows():
    # Outputs 0 or 1 by the flip of a coin, with opposite flips with and without a row: c plays no part, and the square
    # of the difference is 1 / B in expectation.
    n_bags = 100
    counts = np.arange(n_bags + 1)
    square = np.sum(binom.pmf(counts, n_bags, 0.5) * ((2 * counts - n_bags) / n_bags) ** 2)
    assert square == pytest.approx(1 / n_bags)
    assert bounds.mean_square_perturbation(0.0, n_bags) ** 2 == pytest.approx(square)
