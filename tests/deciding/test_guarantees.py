import math

import numpy as np
import pytest

from stablebag import Subbagging
from stablebag._wording import as_given
from stablebag.deciding.guarantees import StabilityGuarantee, just_above, just_below
from stablebag.models.functions import BaggedFindings, Finder


def fitted(n, scheme=Subbagging(0.5), n_bags=20, groups=None):  # noqa: B008 (frozen)
    model = BaggedFindings(Finder(lambda X, y: 0), scheme=scheme, n_bags=n_bags, random_state=0)
    return model.fit(np.zeros((n, 1)), np.zeros(n), groups=groups)


def promised(model, epsilon=None, delta=0.05):
    return StabilityGuarantee.of(model, 1.0, math.sqrt(2), epsilon, delta, "test")


def test_epsilon_is_just_above_that_of_the_certificate():
    promise = promised(fitted(300, Subbagging(25)))
    assert promise.certificate.epsilon(0.05) < promise.epsilon < 1.0001 * promise.certificate.epsilon(0.05)
    assert promise.certificate.coupling.name == "matched"


def test_delta_is_computed_from_a_given_epsilon():
    promise = promised(fitted(8, Subbagging(4), "all"), epsilon=0.4)
    # c = p / (1 - p) / (n - 1) = 1 / 7, and 8 c / 0.16 = 7.1, so that at most 7 of 8 rows.
    assert promise.delta == 7 / 8
    assert promised(fitted(8, Subbagging(4), "all"), epsilon=1.5).delta == 0
    # At a distance of exactly epsilon decisions may differ: no row exceeds p times the diameter, but one may reach it.
    assert promised(fitted(8, Subbagging(4), "all"), epsilon=math.sqrt(2) / 2).delta == 2 / 8


def test_describe_names_the_groups_and_the_probability():
    drawn = promised(fitted(6, groups=list("aabbccddeeff")[:6]))
    assert "without a group" in drawn.describe("agrees")
    assert "a probability of at most 0.05, over the draw of bags" in drawn.describe("agrees")
    listed = promised(fitted(8, Subbagging(4), "all"), delta=0.25)
    assert "for all but at most 2 of the 8 rows (delta = 0.25)" in listed.describe("agrees")
    assert promised(fitted(8, Subbagging(4), "all"), epsilon=1e-3).describe("agrees").startswith("Nothing is proved")


def test_numbers_are_printed_as_given_or_rounded_up():
    assert [as_given(number) for number in (0.05, 0.9, 0.123401)] == ["0.05", "0.9", "0.123401"]
    assert as_given(0.12340100001) == "0.1235"
    assert "at epsilon = 0.0009:" in promised(fitted(8), epsilon=0.0009).describe("agrees")


def test_a_delta_below_one_row_means_each_row():
    assert "for each of the 8 rows (delta = 0.1), the result" in promised(
        fitted(8, Subbagging(4), "all"), delta=0.1
    ).describe("")


def test_just_above_and_just_below_leave_room_for_rounding():
    assert just_below(just_above(0.3)) == pytest.approx(0.3, abs=1e-15)
    assert just_below(0.3) < 0.3 < just_above(0.3)


@pytest.mark.parametrize("epsilon", [0.0, -1.0, math.inf, math.nan])
def test_invalid_epsilon_raises(epsilon):
    with pytest.raises(ValueError, match="distance of scores up to which decisions agree"):
        promised(fitted(8), epsilon=epsilon)
