import math
from fractions import Fraction

import pytest

from stablebag.proving import bounds
from stablebag.proving.bounds import bagging_constant


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
def test_arguments_outside_their_domain_are_refused(call, words):
    with pytest.raises(ValueError, match=words):
        call()
