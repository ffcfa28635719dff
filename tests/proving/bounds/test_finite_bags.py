import math

import pytest

from stablebag.proving import bounds


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
    assert bounds.second_moment_delta(0.5, 0.04, 100) == pytest.approx(0.08)
    assert bounds.second_moment_delta(0.1, 0.04, 100) == 1.0
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
def test_arguments_outside_their_domain_are_refused(call, words):
    with pytest.raises(ValueError, match=words):
        call()
