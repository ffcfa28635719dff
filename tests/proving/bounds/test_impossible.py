import math

import pytest

from stablebag.proving import bounds


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
def test_arguments_outside_their_domain_are_refused(call, words):
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
