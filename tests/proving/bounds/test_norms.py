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
def test_arguments_outside_their_domain_are_refused(call, words):
    with pytest.raises(ValueError, match=words):
        call()
