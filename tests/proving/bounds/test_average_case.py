import math

import pytest

from stablebag.proving import bounds


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
def test_arguments_outside_their_domain_are_refused(call, words):
    with pytest.raises(ValueError, match=words):
        call()


@pytest.mark.parametrize("bad", ["0.1", None, True, [0.1]])
def test_arguments_of_another_type_are_refused(bad):
    with pytest.raises(TypeError, match="'delta' parameter of average_case_epsilon must be a number"):
        bounds.average_case_epsilon(bad, 0.01)
