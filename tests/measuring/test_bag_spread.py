import numpy as np
import pytest

from stablebag.measuring.perturbations import BagSpread

POINTS = np.array([2.0, 4.0])


def test_the_noise_is_that_of_the_bags_that_are_not_shared():
    spread = BagSpread(POINTS, n_bags=10, n_without=np.array([5, 2]))
    assert spread.noise == pytest.approx(POINTS * np.sqrt(((1 / 5 - 1 / 10) + (1 / 2 - 1 / 10)) / 2))


def test_all_bags_have_no_noise():
    assert BagSpread(POINTS).noise.tolist() == [0.0, 0.0]


def test_what_can_be_measured_is_read_back():
    values = {"deviation": POINTS, "extent": POINTS, "n_bags": 10, "n_without": np.array([5, 2])}
    assert BagSpread.checked(values, (2,)).n_bags == 10


@pytest.mark.parametrize("wrong", [
    {"deviation": np.array([np.nan, 1.0])}, {"deviation": -POINTS}, {"deviation": POINTS[:1]},
    {"extent": np.array([np.inf, 1.0])}, {"n_bags": -3}, {"n_bags": 2.5}, {"n_without": np.array([0, 1])},
])  # fmt: skip
def test_what_cannot_be_measured_is_not(wrong):
    with pytest.raises(ValueError, match=r"no finite number at each point|numbers below one"):
        BagSpread.checked({"deviation": POINTS, **wrong}, (2,))
