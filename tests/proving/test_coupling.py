import math

import numpy as np
import pytest

from stablebag.proving.coupling import ANY, COUPLINGS, INDEPENDENT, as_coupling


def test_the_noise_is_that_of_outputs_which_vary_as_much_as_they_can():
    # Outputs in [0, 1] have a standard deviation of at most one half.
    for coupling in (ANY, INDEPENDENT):
        assert coupling.noise == coupling.of_deviations(0.5, 0.5)
    assert (ANY.noise, INDEPENDENT.noise) == (1.0, 0.5)


def test_deviations_add_up_and_independent_ones_by_their_squares():
    assert ANY.of_deviations(0.3, 0.4) == pytest.approx(0.49)
    assert INDEPENDENT.of_deviations(0.3, 0.4) == pytest.approx(0.25)
    np.testing.assert_allclose(INDEPENDENT.of_deviations(np.array([0.0, 0.3]), 0.4), [0.16, 0.25])


def test_radii_worked_by_hand():
    # sqrt(2 / B log(4 / t)) and sqrt(1 / B log(2 / t)), with t such that the logarithm is 2.
    assert ANY.radius(100, 4 / math.e**2) == pytest.approx(0.2)
    assert INDEPENDENT.radius(100, 2 / math.e**2) == pytest.approx(math.sqrt(0.02))
    np.testing.assert_allclose(ANY.radius(100, np.array([0.1, 0.5])), np.sqrt(0.02 * np.log([40.0, 8.0])))


@pytest.mark.parametrize("share", [1e-9, 0.05, 0.5, 1.0])
def test_an_assumption_never_makes_it_worse(share):
    assert INDEPENDENT.radius(100, share) < ANY.radius(100, share)


def test_couplings_are_found_by_their_names():
    assert {name: as_coupling(name, "here") for name in COUPLINGS} == {"any": ANY, "independent": INDEPENDENT}
    assert as_coupling(INDEPENDENT, "here") is INDEPENDENT
    assert str(INDEPENDENT) == "independent"
    for value in ("none", None, 1):
        with pytest.raises(ValueError, match=r"'coupling' parameter of here must be one of \['any', 'independent'\]"):
            as_coupling(value, "here")
