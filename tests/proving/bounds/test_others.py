import pytest

from stablebag.proving import bounds


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
def test_arguments_outside_their_domain_are_refused(call, words):
    with pytest.raises(ValueError, match=words):
        call()
