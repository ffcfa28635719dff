import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom

from stablebag.proving import bounds
from stablebag.proving.bounds import (
    bagging_constant,
    observed_mean_square,
    simplex_radius,
    standard_deviation_bound,
    vector_epsilon,
    vector_monte_carlo_radius,
    vote_delta,
    vote_variance,
)
from theorems.enumeration import all_ensembles, learners

# --------------------------------------------------------------------------------------------------------- average case


def test_whole_rows_are_counted():
    # 2.5 rows of 10 may exceed it, and so 2.
    assert bounds.average_case_delta(0.1, 0.01, 10) == 0.2
    assert bounds.kth_perturbation(2, 10, 0.01, 0.5) == pytest.approx(math.sqrt(10 * 0.01 / 8))
    assert bounds.kth_perturbation(3, 10, 0.01, 0.5) < 0.1 < bounds.kth_perturbation(2, 10, 0.01, 0.5)
    assert bounds.kth_perturbation(11, 10, 0.01, 0.5) == 0.0


def test_no_rank_exceeds_the_worst_case():
    assert bounds.kth_perturbation(1, 10, 0.01, 0.05) == bounds.worst_case_epsilon(0.05) == 0.05


def test_the_memorizer_exceeds_what_is_below_p_at_all_of_its_rows():
    assert bounds.memorizer_in_sample_delta(math.nextafter(0.3, 0), p=0.3) == 1.0
    assert bounds.memorizer_in_sample_delta(0.3, p=0.3) == 0.0


def test_nothing_is_promised_of_no_rows_by_theorem_8():
    assert bounds.average_case_epsilon(0.0, 0.01) == math.inf
    assert bounds.average_case_delta(0.0, 0.01, 10) == 1.0


def test_tiny_arguments_do_not_overflow():
    assert bounds.average_case_delta(1e-309, 0.01, 10) == 1.0


@pytest.mark.parametrize(("call", "words"), [
    (lambda: bounds.average_case_epsilon(-0.1, 0.01), r"'delta' .* must be a number in \[0, 1\]. Got -0.1"),
    (lambda: bounds.average_case_epsilon(math.nan, 0.01), "Got nan"),
    (lambda: bounds.average_case_epsilon(0.1, -1.0), "'constant' parameter"),
    (lambda: bounds.average_case_delta(-1.0, 0.01, 10), "'epsilon' parameter"),
    (lambda: bounds.kth_perturbation(0, 10, 0.1, 0.5), "'rank' parameter"),
    (lambda: bounds.worst_case_epsilon(1.0), "'p' parameter of worst_case_epsilon must be below 1"),
])  # fmt: skip
def test_arguments_of_average_case_outside_their_domain_are_refused(call, words):
    with pytest.raises(ValueError, match=words):
        call()


@pytest.mark.parametrize("bad", ["0.1", None, True, [0.1]])
def test_arguments_of_another_type_are_refused(bad):
    with pytest.raises(TypeError, match="'delta' parameter of average_case_epsilon must be a number"):
        bounds.average_case_epsilon(bad, 0.01)


# ------------------------------------------------------------------------------------------------------------- constant


def test_subbagging_has_the_constant_of_the_papers_second_form():
    for n, m in [(10, 3), (500, 250), (7, 6)]:
        p, q = m / n, m * (n - m) / (n**2 * (n - 1))
        assert bagging_constant(n, p, q) == pytest.approx(p / (1 - p) / (n - 1), rel=1e-12)


def test_rows_that_are_likelier_together_are_counted_once_for_each_other_row():
    assert bagging_constant(5, 0.5, 0.05) == pytest.approx((1 + 0.05 / 0.25) / 5)
    assert bagging_constant(5, 0.5, -0.05) == pytest.approx((1 + 4 * 0.05 / 0.25) / 5)
    assert bagging_constant(3, Fraction(1, 3), Fraction(1, 9)) == 0.25  # (1/2 + 1/4) / 3, without any rounding


def test_bags_without_rows_move_one_class_by_less_than_all_of_them_together():
    # Of four classes one is lost: the others go from 1/4 to 1/3, and it from 1/4 to 0.
    moved = [1 / 4, -1 / 12, -1 / 12, -1 / 12]
    assert bounds.empty_bags_shift(0.6, 4) == pytest.approx(0.6 * max(moved))
    assert bounds.empty_bags_shift(0.6, 4, vector=True) == pytest.approx(0.6 * math.hypot(*moved))
    assert bounds.empty_bags_shift(0.6, 1, vector=True) == 0.6


def test_a_shift_is_added_to_the_root_mean_square():
    shifted = bounds.shifted_constant(0.04, shift=0.2, share=0.25)
    assert math.sqrt(shifted / 4) == pytest.approx(math.sqrt(0.04 / 4) + 0.2 * 0.5)
    assert bounds.shifted_constant(0.04, shift=0.0, share=0.25) == 0.04
    assert bounds.shifted_constant(0.04, shift=0.2, share=0.0) == pytest.approx(0.04)


@pytest.mark.parametrize(("call", "words"), [
    (lambda: bagging_constant(1, 0.5, 0.0), "'n_samples' parameter"),
    (lambda: bagging_constant(10, 1.0, 0.0), "'p' parameter of bagging_constant must be below 1"),
    (lambda: bagging_constant(10, 0.0, 0.0), "'p' parameter"),
    (lambda: bagging_constant(10, 0.5, -0.3), "'q' parameter"),
    (lambda: bounds.empty_bags_shift(1.1, 3), "'chance' parameter"),
    (lambda: bounds.shifted_constant(-0.1, 0.0, 0.0), "'constant' parameter"),
])  # fmt: skip
def test_arguments_of_constant_outside_their_domain_are_refused(call, words):
    with pytest.raises(ValueError, match=words):
        call()


# ----------------------------------------------------------------------------------------------------------- drawn bags


def test_golden_standard_deviation_bounds():
    y = [0.2, 0.5, 0.1, 0.9, 0.4, 0.6, 0.3, 0.7, 0.5, 0.8]
    assert np.var(y, ddof=1) == pytest.approx(0.0666666666667)
    slack = math.sqrt(-2 * math.log(0.05) / 9)
    assert math.sqrt(np.var(y, ddof=1)) + slack == pytest.approx(1.07411449997)
    assert standard_deviation_bound(np.std(y, ddof=1), 10, 0.95) == 0.5
    assert standard_deviation_bound(0.2, 1000, 0.95) == pytest.approx(0.277443282531, abs=1e-12)
    assert standard_deviation_bound(0.2, 1000, 1.0) == 0.5


@pytest.mark.parametrize("n_bags", [5, 30, 200])
@pytest.mark.parametrize("p", [0.01, 0.1, 0.5, 0.9])
def test_the_standard_deviation_is_missed_no_more_often_than_stated(n_bags, p):
    ones = np.arange(n_bags + 1)
    variances = ones * (n_bags - ones) / (n_bags * (n_bags - 1))
    missed = [math.sqrt(p * (1 - p)) > standard_deviation_bound(math.sqrt(v), n_bags, 0.9) for v in variances]
    assert binom.pmf(ones, n_bags, p)[missed].sum() <= 0.1


def test_the_mean_square_worked_by_hand():
    # c = 0.04 and s = 0.5 give 0.01; 100 bags add (0.5 + 0.5)^2 / 100, and independent ones (0.25 + 0.25) / 100.
    assert observed_mean_square(0.5, 0.04) == pytest.approx(0.01)
    assert observed_mean_square(0.5, 0.04, 100) == pytest.approx(0.01 + 0.01)
    assert observed_mean_square(0.5, 0.04, 100, coupling="independent") == pytest.approx(0.01 + 0.005)
    # Bags without a row vary four times as much: (0.5 + 1)^2 / 100.
    assert observed_mean_square(0.5, 0.04, 100, ragged=4.0) == pytest.approx(0.01 + 0.0225)
    # And bags without rows add to either root: (0.1 + 0.2)^2 and (0.5 + 0.5 + 0.5)^2 / 100.
    shifted = observed_mean_square([0.5, 0.0], 0.04, 100, shift=0.2, shift_noise=0.5)
    np.testing.assert_allclose(shifted, [0.09 + 0.0225, 0.04 + 0.0025])


def test_the_mean_square_by_the_variance_holds_when_all_bags_are_listed(seed):
    for ensemble in all_ensembles(6):
        p = ensemble.law.inclusion_probability
        ragged = 1.0 if len(set(ensemble.inside.sum(axis=1))) == 1 else 1 / (1 - p)
        outside = ensemble.weights[:, None] * ~ensemble.inside
        for name, outputs in learners(ensemble, np.random.default_rng(seed)):
            left_out = ensemble.left_out(outputs)
            variance = ensemble.variance(outputs)
            square = (outputs[:, None] - left_out) ** 2
            each = (outside * square).sum(axis=0) / outside.sum(axis=0)  # the variance over the bags without a row
            for n_bags in (1, 50, math.inf):
                limit = np.mean(ensemble.perturbations(outputs) ** 2)
                independent = limit + (variance + each.mean()) / n_bags
                worst = limit + np.mean((math.sqrt(variance) + np.sqrt(each)) ** 2) / n_bags
                for coupling, value in (("independent", independent), ("any", worst)):
                    bound = observed_mean_square(math.sqrt(variance), ensemble.constant, n_bags, ragged, coupling)
                    assert value <= bound + 1e-14, name


@pytest.mark.parametrize(("call", "words"), [
    (lambda: standard_deviation_bound(0.2, 1, 0.95), "one bag has no variance"),
    (lambda: standard_deviation_bound(-0.1, 10, 0.95), "'standard_deviation' .* not below 0"),
    (lambda: standard_deviation_bound(0.2, 10, 1.1), "'confidence'"),
    (lambda: observed_mean_square(np.array([0.1, np.nan]), 0.04), "'standard_deviation'"),
    (lambda: observed_mean_square(0.1, 0.04, ragged=0.5), "'ragged'"),
])  # fmt: skip
def test_arguments_of_drawn_bags_outside_their_domain_are_refused(call, words):
    with pytest.raises(ValueError, match=words):
        call()


# ---------------------------------------------------------------------------------------------------------- finite bags


def test_golden_monte_carlo_terms():
    for n_bags, value in [(100, 0.296), (500, 0.132), (1000, 0.094), (10_000, 0.030)]:
        assert bounds.monte_carlo_radius(n_bags, 0.05) == pytest.approx(value, abs=5e-4)
    assert bounds.finite_bags_epsilon(0.05, 1 / 999, 1000)[0] == pytest.approx(0.1885, abs=5e-5)


def test_nothing_is_promised_of_no_rows_by_theorem_9():
    assert bounds.finite_bags_epsilon(0.0, 0.01, 10)[0] == math.inf
    assert bounds.monte_carlo_radius(10, 0.0) == math.inf
    assert bounds.finite_bags_delta(0.01, 0.01, 10) == 1.0


def test_infinitely_many_bags_are_free():
    assert bounds.monte_carlo_radius(math.inf, 0.0) == 0.0
    assert bounds.finite_bags_epsilon(0.05, 0.01, math.inf) == (bounds.average_case_epsilon(0.05, 0.01), 0.0)
    assert bounds.finite_bags_delta(0.5, 0.01, math.inf) == pytest.approx(0.01)
    derandomized = bounds.average_case_epsilon(0.05, 0.01)
    assert bounds.finite_bags_epsilon(0.05, 0.01, 10**15)[0] == pytest.approx(derandomized, rel=1e-4)


def test_tiny_and_huge_arguments_do_not_overflow():
    assert bounds.finite_bags_epsilon(1e-300, 0.01, 10)[0] > 1
    bags_alone = bounds.monte_carlo_radius(10**12, 0.5)
    assert bounds.finite_bags_epsilon(0.5, 1e-300, 10**12)[0] == pytest.approx(bags_alone, rel=1e-6)


def test_bags_for_twice_the_derandomized_guarantee():
    # The paper's B >= 2 / epsilon^2 log(4 / delta) makes the bags' term epsilon, at delta' = delta.
    n_bags = bounds.bags_to_double(0.07, 0.03)
    assert bounds.monte_carlo_radius(n_bags, 0.03) <= 0.07 < bounds.monte_carlo_radius(n_bags - 1, 0.03)


def test_squares_of_the_perturbation_and_of_the_noise_add_up():
    # c / 4 = 0.01, and as much for 100 bags; half as much for independent ones.
    assert bounds.mean_square_perturbation(0.04, 100) ** 2 == pytest.approx(0.01 + 0.01)
    assert bounds.mean_square_perturbation(0.04, 100, "independent") ** 2 == pytest.approx(0.01 + 0.005)
    assert bounds.second_moment_epsilon(0.02, 0.04, 100) == pytest.approx(1.0)
    assert bounds.second_moment_epsilon(0.0, 0.04, 100) == math.inf
    assert bounds.finite_bags_mean(0.05, 100) == pytest.approx(0.05 + 0.1)
    assert bounds.finite_bags_mean(0.95, 100) == 1.0


def test_the_best_number_of_whole_rows_is_the_best_of_all():
    # Five rows of twenty: up to four of them for the first term, and what is left for the bags.
    each = [math.sqrt(20 * 0.01 / (4 * (k + 1))) + bounds.monte_carlo_radius(10**4, (5 - k) / 20) for k in range(5)]
    epsilon, rows = bounds.finite_bags_rows_epsilon(0.25, 20, 0.01, 0.5, 10**4)
    assert (epsilon, rows) == (pytest.approx(min(each)), each.index(min(each)))
    assert bounds.finite_bags_rows_epsilon(0.0, 20, 0.01, 0.5, 10**4) == (1.0, 0)
    assert bounds.finite_bags_rows_epsilon(0.25, 20, 0.01, 0.5, math.inf)[1] == 5


@pytest.mark.parametrize(("call", "words"), [
    (lambda: bounds.monte_carlo_radius(0, 0.1), r"'n_bags' .* must be an integer >= 1. Got 0: .*math.inf"),
    (lambda: bounds.monte_carlo_radius(10, 0.1, "loose"), "'coupling' parameter of monte_carlo_radius"),
    (lambda: bounds.finite_bags_mean(-0.1, 10), "'derandomized'"),
    (lambda: bounds.bags_to_double(0.0, 0.1), "'epsilon'"),
])  # fmt: skip
def test_arguments_of_finite_bags_outside_their_domain_are_refused(call, words):
    with pytest.raises(ValueError, match=words):
        call()


# ----------------------------------------------------------------------------------------------------------- impossible


def test_the_threshold_learner_of_four_rows_worked_by_hand():
    # Two ones and two zeros, two rows in a bag: it predicts 1 where both are ones, in 1 of 6 bags. Without a one it is
    # never so: 1/6. The formula: h = 1, (2 - 1) / 4 times the chance 2/3 to draw the other one twice out of three.
    assert bounds.threshold_perturbation(4, 2, 2) == pytest.approx(1 / 6)


def test_a_single_row_is_memorized():
    # One one among six rows: in half of the bags of three, and never without it.
    assert bounds.threshold_perturbation(6, 3, 1) == pytest.approx(0.5)
    assert bounds.unstable_epsilon(6, 3, 0.0) == pytest.approx(0.5)


def test_the_next_row_counts_from_its_share_on():
    assert bounds.unstable_epsilon(6, 3, 1 / 6) == bounds.threshold_perturbation(6, 3, 2) == pytest.approx(0.2)
    assert bounds.unstable_epsilon(6, 3, 0.16) == bounds.threshold_perturbation(6, 3, 1)


def test_the_papers_form_is_a_little_lower():
    # (1 - delta - 1 / n) m / n in place of (m - h) / n, with h = 1 and a chance of 6 / 10.
    assert bounds.unstable_epsilon(6, 3, 1 / 6, "paper") == pytest.approx((1 - 1 / 6 - 1 / 6) * 0.5 * 0.6)
    assert bounds.unstable_epsilon(500, 250, 0.1, "paper") < bounds.unstable_epsilon(500, 250, 0.1)


@pytest.mark.parametrize(("call", "words"), [
    (lambda: bounds.unstable_epsilon(10, 10, 0.1), "smaller than n_samples=10"),
    (lambda: bounds.unstable_epsilon(10, 5, 1.0), r"'delta' parameter of unstable_epsilon must be in \[0, 1\)"),
    (lambda: bounds.unstable_epsilon(10, 5, 0.5, bound="paper"), r"must be in \[0, 0.5\)"),
    (lambda: bounds.unstable_epsilon(10, 5, 0.1, bound="exact"), "'bound' parameter"),
    (lambda: bounds.threshold_perturbation(10, 5, 11), "at most n_samples=10"),
])  # fmt: skip
def test_arguments_of_impossible_outside_their_domain_are_refused(call, words):
    with pytest.raises(ValueError, match=words):
        call()


@pytest.mark.parametrize(("n", "m", "k"), [(7, 3, 2), (60, 59, 30), (200, 20, 190), (3000, 1000, 500), (10**5, 10, 7)])
def test_the_perturbation_is_that_of_exact_integers(n, m, k):
    h = m * k // n
    exact = (m - h) / n * (math.comb(k - 1, h) * math.comb(n - k, m - h) / math.comb(n - 1, m))
    assert bounds.threshold_perturbation(n, m, k) == pytest.approx(exact, rel=1e-12)


@pytest.mark.parametrize("n", [10**12, 2**63])
def test_very_many_rows_are_no_harder_than_few(n):
    # P{H = h} is near the normal density at its mean, and m - h is 0.9 m.
    expected = 0.45 / math.sqrt(2 * math.pi * n * 0.1 * 0.9 * 0.25)
    assert bounds.unstable_epsilon(n, n // 2, 0.1) == pytest.approx(expected, rel=1e-5)
    assert bounds.unstable_epsilon(n, n // 2, 0.1, bound="paper") == pytest.approx(expected, rel=1e-5)
    assert bounds.unstable_epsilon(n, n - 1, 0.25) == pytest.approx(0.75, rel=1e-9)


# ---------------------------------------------------------------------------------------------------------------- norms


def test_golden_norms():
    constant = bagging_constant(10, 0.3, 3 * 7 / (100 * 9))
    assert bounds.norm_perturbation(2, constant, 0.3) == pytest.approx(0.109108945118, abs=1e-12)
    assert bounds.norm_perturbation(4, constant, 0.3) == pytest.approx(0.180921760812, abs=1e-12)
    assert bounds.norm_perturbation(8, constant, 0.3) == pytest.approx(0.232973235037, abs=1e-12)
    assert bounds.norm_perturbation(math.inf, constant, 0.3) == 0.3


def test_the_mean_with_many_bags_is_corollary_15():
    assert bounds.mean_perturbation(0.01, 0.5, 400) == pytest.approx(0.05 + math.sqrt(2 * math.pi / 400), rel=1e-12)
    assert bounds.mean_perturbation(0.01, 0.001) == 0.001  # the worst case bounds the mean


def test_order_below_one_is_bounded_by_the_mean():
    assert bounds.norm_perturbation(0.25, 0.01, 0.5, 400) == bounds.mean_perturbation(0.01, 0.5, 400)


def test_huge_orders_do_not_overflow():
    # With so few bags the noise of all orders is above the range, and no norm is.
    assert bounds.norm_perturbation(1e6, 0.01, 0.5, 10) == bounds.norm_perturbation(math.inf, 0.01, 0.5, 10) == 1.0
    assert bounds.norm_perturbation(1e6, 0.01, 0.5) == pytest.approx(0.5, rel=1e-5)


def test_losses_multiply_and_do_not_divide():
    assert bounds.loss_perturbation(0.1, 3.0) == pytest.approx(0.3)
    assert bounds.replace_one_in_expectation(0.1, 3.0) == pytest.approx(0.6)


@pytest.mark.parametrize(("call", "words"), [
    (lambda: bounds.norm_perturbation(0, 0.01, 0.5), r"'order' .* must be a number in \(0, inf\]. Got 0"),
    (lambda: bounds.norm_perturbation(2, 0.01, 1.0), "'p' parameter of norm_perturbation"),
    (lambda: bounds.loss_perturbation(0.1, -1.0), "'lipschitz'"),
])  # fmt: skip
def test_arguments_of_norms_outside_their_domain_are_refused(call, words):
    with pytest.raises(ValueError, match=words):
        call()


# --------------------------------------------------------------------------------------------------------------- others


@pytest.mark.parametrize(("kappa", "delta", "true_delta", "ceiling"), [
    (10, 0.1, 0.0, 0.143398599540), (10, 0.1, 0.02, 0.117167096230), (30, 0.1, 0.02, 0.643393978340),
])  # fmt: skip
def test_golden_power_ceilings(kappa, delta, true_delta, ceiling):
    value = bounds.black_box_power_ceiling(0.05, delta, n_available=50 * kappa, n_samples=50, true_delta=true_delta)
    assert value == pytest.approx(ceiling, abs=1e-12)


def test_power_ceiling_at_its_ends():
    assert bounds.black_box_power_ceiling(0.0, 0.1, 10, 10) == 0.0
    assert bounds.black_box_power_ceiling(0.05, 1.0, 10, 10) == 1.0
    assert bounds.black_box_power_ceiling(0.05, 0.5, 10, 10, true_delta=1.0) == 0.0


def test_many_rows_have_a_power_of_one_and_no_more():
    assert bounds.black_box_power_ceiling(0.05, 0.9, 10**9, 2) == 1.0


def test_inherited_stability_is_the_product():
    assert bounds.inherited_stability(2.0, 0.25, 0.1) == pytest.approx(0.05)


@pytest.mark.parametrize(("call", "words"), [
    (lambda: bounds.black_box_power_ceiling(1.5, 0.1, 10, 10), "'alpha'"),
    (lambda: bounds.black_box_power_ceiling(0.05, 0.1, 0, 10), "'n_available'"),
    (lambda: bounds.inherited_stability(1.0, 1.0, 0.1), "'p' parameter of inherited_stability"),
])  # fmt: skip
def test_arguments_of_others_outside_their_domain_are_refused(call, words):
    with pytest.raises(ValueError, match=words):
        call()


# ------------------------------------------------------------------------------------------------------------ unbounded


def test_clipping_costs_its_share_of_rows():
    plain = bounds.average_case_epsilon(0.05, 0.01)
    assert bounds.clipped_epsilon(0.06, 0.01, 0.01) == pytest.approx(plain)
    assert bounds.clipped_epsilon(0.01, 0.01, 0.01) == math.inf
    finite = bounds.finite_bags_epsilon(0.05, 0.01, 1000)[0]
    assert bounds.clipped_epsilon(0.06, 0.01, 0.01, n_bags=1000) == pytest.approx(finite)
    assert bounds.finite_bags_unbounded_epsilon(0.05, 0.01, 1000, output_range=7.0) == pytest.approx(7 * finite)


def test_twice_the_standard_deviation_stands_for_the_range():
    assert bounds.data_dependent_scale(4.0) == 4.0
    assert bounds.unbounded_epsilon(0.25, 0.01, 4.0) == pytest.approx(0.1 * 4)
    assert bounds.unbounded_delta(0.4, 0.01, 4.0, 10) == 0.2  # 2.5 rows of 10, so 2
    assert bounds.unbounded_delta(0.0, 0.01, 0.0, 10) == 0.0  # all bags agree


def test_finitely_many_bags_need_the_range_itself():
    epsilon = bounds.finite_bags_epsilon(0.05, 0.01, 1000)[0]
    assert bounds.finite_bags_unbounded_delta(7 * epsilon, 0.01, 1000, 7.0) == pytest.approx(0.05, rel=1e-6)
    assert bounds.finite_bags_unbounded_delta(0.0, 0.01, 1000, 0.0) == 0.0


def test_rows_that_change_the_range_are_counted_with_the_others():
    assert bounds.clipped_delta(0.1, 0.01, 10, delta_range=0.5) == 0.2 + 0.5
    assert bounds.clipped_delta(0.1, 0.01, 10, delta_range=0.9) == 1.0
    of_bags = bounds.finite_bags_delta(0.5, 0.01, 1000)
    assert bounds.clipped_delta(0.5, 0.01, 10, 0.25, n_bags=1000) == pytest.approx(of_bags + 0.25)


@pytest.mark.parametrize(("call", "words"), [
    (lambda: bounds.data_dependent_scale(-1.0), "'bag_variance'"),
    (lambda: bounds.clipped_epsilon(0.1, 0.01, delta_range=1.1), "'delta_range'"),
    (lambda: bounds.finite_bags_unbounded_epsilon(0.1, 0.01, 10, math.inf), "'output_range'"),
])  # fmt: skip
def test_arguments_of_unbounded_outside_their_domain_are_refused(call, words):
    with pytest.raises(ValueError, match=words):
        call()


# --------------------------------------------------------------------------------------------------------- unequal rows


EQUAL = np.full(8, 0.04)
RARE = np.array([0.5, 0.5, *[0.02] * 8])


def test_equal_constants_give_theorem_8_and_second_moments():
    for rank in range(1, 9):
        expected = bounds.kth_perturbation(rank, 8, 0.04, 0.5)
        assert bounds.kth_of_unequal_rows(rank, EQUAL, np.full(8, 0.5)) == pytest.approx(expected)
    for delta in (0.1, 0.5, 1.0):
        for coupling in ("any", "independent"):
            found = bounds.unequal_rows_epsilon(delta, EQUAL, 50, coupling)
            assert found == pytest.approx(bounds.second_moment_epsilon(delta, 0.04, 50, coupling))
    assert bounds.unequal_rows_mean(EQUAL) == pytest.approx(math.sqrt(0.04 / 4))


def test_few_rows_with_a_large_constant_count_as_few():
    # The two of weight 1 / 5 come first, then those of weight 5.
    chances = np.full(10, 0.9)
    expected = [0.25 / 0.2, 0.25 / 0.4, 0.25 / 5.4, 0.25 / 10.4]
    found = [bounds.kth_of_unequal_rows(rank, RARE, chances) for rank in (1, 2, 3, 4)]
    np.testing.assert_allclose(found, np.minimum(np.sqrt(expected), 0.9))
    assert bounds.unequal_rows_epsilon(0.3, RARE) == pytest.approx(math.sqrt(0.25 / 5.4))
    assert bounds.unequal_rows_epsilon(0.25, RARE) == pytest.approx(math.sqrt(0.25 / 2.9))


def test_the_chance_of_the_row_of_that_rank_is_a_bound():
    chances = np.array([0.9, 0.05, *[0.01] * 8])
    assert [bounds.kth_of_unequal_rows(rank, RARE, chances) for rank in (1, 2, 3)] == [0.9, 0.05, 0.01]
    assert bounds.kth_of_unequal_rows(11, RARE, chances) == 0.0
    assert bounds.kth_of_unequal_rows(1, np.array([math.inf, 0.1]), np.array([1.0, 0.5])) == 1.0


def test_no_rows_are_promised_nothing():
    assert bounds.unequal_rows_epsilon(0.0, RARE) == math.inf


def test_it_falls_with_more_bags_and_larger_shares():
    shares = np.linspace(0.01, 1, 30)
    found = [[bounds.unequal_rows_epsilon(share, RARE, n_bags) for share in shares] for n_bags in (10, 100, math.inf)]
    assert (np.diff(found, axis=0) < 0).all()
    assert (np.diff(found, axis=1) < 0).all()


# -------------------------------------------------------------------------------------------------------------- vectors


def test_golden_values_of_votes():
    assert vote_variance([0.6, 0.3, 0.1]) == pytest.approx(0.54)
    assert vote_delta(0.1, 1 / 499, [0.6, 0.3, 0.1]) == pytest.approx(0.108216432866, abs=1e-12)
    assert vote_delta(0.0, 1 / 499, [1.0, 0.0]) == 0.0
    assert vote_delta(0.01, 1 / 499, [0.5, 0.5]) == 1.0
    with pytest.raises(ValueError, match="add up to 1"):
        vote_variance([0.6, 0.6])


def test_the_radius_is_the_distance_of_a_vote_from_none():
    assert simplex_radius(4) == pytest.approx(math.dist([1, 0, 0, 0], [0.25] * 4))
    assert simplex_radius(1) == 0.0


def test_a_distance_of_numbers_is_theorem_8():
    assert vector_epsilon(0.1, 0.01, 0.5) == pytest.approx(math.sqrt(0.01 / 0.4))
    assert vector_epsilon(0.25, 0.04, 1.0, n_bags=100) == pytest.approx(math.sqrt((0.04 + 4 / 100) / 0.25))
    assert vector_epsilon(0.25, 0.04, 1.0, 100, "independent") == pytest.approx(math.sqrt((0.04 + 2 / 100) / 0.25))


def test_drawing_bags_adds_the_mean_of_the_noise_and_its_tail():
    # 2 radius / sqrt(B) + diameter sqrt(2 / B log(2 / t)); t = 2 / e makes the logarithm 1.
    assert vector_monte_carlo_radius(200, 2 / math.e, radius=1.0, diameter=2.0) == pytest.approx(2 / 200**0.5 + 0.2)
    assert vector_monte_carlo_radius(math.inf, 0.1, 1.0, 2.0) == 0.0
    assert vector_monte_carlo_radius(200, 0.0, 1.0, 2.0) == math.inf
