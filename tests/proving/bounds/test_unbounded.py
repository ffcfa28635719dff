import math

import pytest

from stablebag.proving import bounds


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
def test_arguments_outside_their_domain_are_refused(call, words):
    with pytest.raises(ValueError, match=words):
        call()
