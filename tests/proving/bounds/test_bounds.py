"""Golden values and the domains of the bounds; that they hold is shown in tests/theorems."""

import math

import pytest

from stablebag.proving import bounds
from stablebag.proving.bounds import bagging_constant


def test_golden_norms():
    constant = bagging_constant(10, 0.3, 3 * 7 / (100 * 9))
    assert bounds.norm_perturbation(2, constant, 0.3) == pytest.approx(0.109108945118, abs=1e-12)
    assert bounds.norm_perturbation(4, constant, 0.3) == pytest.approx(0.180921760812, abs=1e-12)
    assert bounds.norm_perturbation(8, constant, 0.3) == pytest.approx(0.232973235037, abs=1e-12)
    assert bounds.norm_perturbation(math.inf, constant, 0.3) == 0.3


def test_golden_monte_carlo_terms():
    for n_bags, value in [(100, 0.296), (500, 0.132), (1000, 0.094), (10_000, 0.030)]:
        assert bounds.monte_carlo_radius(n_bags, 0.05) == pytest.approx(value, abs=5e-4)
    assert bounds.finite_bags_epsilon(0.05, 1 / 999, 1000)[0] == pytest.approx(0.1885, abs=5e-5)


def test_subbagging_has_the_constant_of_the_papers_second_form():
    for n, m in [(10, 3), (500, 250), (7, 6)]:
        p, q = m / n, m * (n - m) / (n**2 * (n - 1))
        assert bagging_constant(n, p, q) == pytest.approx(p / (1 - p) / (n - 1), rel=1e-12)


def test_the_mean_with_many_bags_is_corollary_15():
    assert bounds.mean_perturbation(0.01, 0.5, 400) == pytest.approx(0.05 + math.sqrt(2 * math.pi / 400), rel=1e-12)
    assert bounds.mean_perturbation(0.01, 0.001) == 0.001  # the worst case bounds the mean


def test_order_below_one_is_bounded_by_the_mean():
    assert bounds.norm_perturbation(0.25, 0.01, 0.5, 400) == bounds.mean_perturbation(0.01, 0.5, 400)


def test_losses_multiply_and_do_not_divide():
    assert bounds.loss_perturbation(0.1, 3.0) == pytest.approx(0.3)
    assert bounds.replace_one_in_expectation(0.1, 3.0) == pytest.approx(0.6)


def test_clipping_costs_its_share_of_rows():
    plain = bounds.average_case_epsilon(0.05, 0.01)
    assert bounds.clipped_epsilon(0.06, 0.01, 0.01) == pytest.approx(plain)
    assert bounds.clipped_epsilon(0.01, 0.01, 0.01) == math.inf
    finite = bounds.finite_bags_epsilon(0.05, 0.01, 1000)[0]
    assert bounds.clipped_epsilon(0.06, 0.01, 0.01, n_bags=1000) == pytest.approx(finite)
    assert bounds.finite_bags_unbounded_epsilon(0.05, 0.01, 1000, output_range=7.0) == pytest.approx(7 * finite)


def test_nothing_is_promised_of_no_rows_by_theorem_8_and_9():
    assert bounds.average_case_epsilon(0.0, 0.01) == math.inf
    assert bounds.finite_bags_epsilon(0.0, 0.01, 10)[0] == math.inf
    assert bounds.monte_carlo_radius(10, 0.0) == math.inf
    assert bounds.average_case_delta(0.0, 0.01, 10) == 1.0
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
    assert bounds.average_case_delta(1e-309, 0.01, 10) == 1.0
    assert bounds.black_box_power_ceiling(0.05, 0.9, 10**9, 2) == 1.0
    assert bounds.norm_perturbation(1e6, 0.01, 0.5, 10) <= 1.0


def test_bags_for_twice_the_derandomized_guarantee():
    # The paper's B >= 2 / epsilon^2 log(4 / delta) makes the bags' term epsilon, at delta' = delta.
    n_bags = bounds.bags_to_double(0.07, 0.03)
    assert bounds.monte_carlo_radius(n_bags, 0.03) <= 0.07 < bounds.monte_carlo_radius(n_bags - 1, 0.03)


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


def test_inherited_stability_is_the_product():
    assert bounds.inherited_stability(2.0, 0.25, 0.1) == pytest.approx(0.05)


@pytest.mark.parametrize(("call", "words"), [
    (lambda: bagging_constant(1, 0.5, 0.0), "'n_samples' parameter"),
    (lambda: bagging_constant(10, 1.0, 0.0), "'p' parameter of bagging_constant must be below 1"),
    (lambda: bagging_constant(10, 0.0, 0.0), "'p' parameter"),
    (lambda: bagging_constant(10, 0.5, -0.3), "'q' parameter"),
    (lambda: bounds.average_case_epsilon(-0.1, 0.01), r"'delta' .* must be a number in \[0, 1\]. Got -0.1"),
    (lambda: bounds.average_case_epsilon(math.nan, 0.01), "Got nan"),
    (lambda: bounds.average_case_epsilon(0.1, -1.0), "'constant' parameter"),
    (lambda: bounds.average_case_delta(-1.0, 0.01, 10), "'epsilon' parameter"),
    (lambda: bounds.monte_carlo_radius(0, 0.1), r"'n_bags' .* must be an integer >= 1. Got 0: .*math.inf"),
    (lambda: bounds.kth_perturbation(0, 10, 0.1, 0.5), "'rank' parameter"),
    (lambda: bounds.norm_perturbation(0, 0.01, 0.5), r"'order' .* must be a number in \(0, inf\]. Got 0"),
    (lambda: bounds.unstable_epsilon(10, 10, 0.1), "smaller than n_samples=10"),
    (lambda: bounds.unstable_epsilon(10, 5, 1.0), r"'delta' parameter of unstable_epsilon must be in \[0, 1\)"),
    (lambda: bounds.unstable_epsilon(10, 5, 0.5, bound="paper"), r"must be in \[0, 0.5\)"),
    (lambda: bounds.unstable_epsilon(10, 5, 0.1, bound="exact"), "'bound' parameter"),
    (lambda: bounds.data_dependent_scale(-1.0), "'bag_variance'"),
    (lambda: bounds.loss_perturbation(0.1, -1.0), "'lipschitz'"),
    (lambda: bounds.bags_to_double(0.0, 0.1), "'epsilon'"),
])  # fmt: skip
def test_arguments_outside_their_domain_are_refused(call, words):
    with pytest.raises(ValueError, match=words):
        call()


@pytest.mark.parametrize("bad", ["0.1", None, True, [0.1]])
def test_arguments_of_another_type_are_refused(bad):
    with pytest.raises(TypeError, match="'delta' parameter of average_case_epsilon must be a number"):
        bounds.average_case_epsilon(bad, 0.01)
