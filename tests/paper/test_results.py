import json
import math
from dataclasses import replace

import numpy as np
import pytest

from paper.small import small
from stablebag.measuring import Perturbations
from stablebag.measuring.perturbations import BagSpread
from stablebag.paper.experiments import Result, first_class, run, write_numbers


def result_of(values, n_bags=100):
    """A result whose subbagged learner has these perturbations at a single point."""
    values = np.asarray(values, dtype=float)
    moved = Perturbations(np.zeros(1), values[:, None], np.arange(len(values)), bags=BagSpread(np.ones(1), np.ones(1)))
    return Result(small(1, n=len(values)), "script", 0, n_bags, moved, moved, None, 1.0)


def test_the_excess_is_the_largest_ratio_of_the_curve_to_theorem_8():
    # Four rows, bags of two: c = 1/3, so a share 1 / (12 epsilon^2) is allowed. At 0.5 one row, 0.25 / (1/3).
    result = result_of([0.5, 0.1, 0.1, 0.0])
    assert result.excess(result.bagged)[0] == pytest.approx(max(0.25 * 0.25, 0.75 * 0.01) * 12)
    epsilons = np.linspace(1e-3, 1, 5000)
    curve = np.array([(np.array([0.5, 0.1, 0.1, 0.0]) > epsilon).mean() for epsilon in epsilons])
    assert result.excess(result.bagged)[0] == pytest.approx((curve * 12 * epsilons**2).max(), rel=1e-3)


def test_claims_are_held_against_numbers():
    unstable, stable = result_of([0.9] * 40), result_of([1e-3] * 40)
    assert [claim.holds for claim in unstable.claims()] == [True, False]
    assert [claim.holds for claim in stable.claims()] == [False, True]
    assert "times what is allowed" in unstable.claims()[0].found
    assert "violated at 0 of 1" in stable.claims()[0].over_points


@pytest.mark.slow
def test_the_claims_of_setting_2_are_all_checked():
    result = run(small(2, n=40), n_bags=60)
    says = [claim.says for claim in result.claims()]
    assert any("comparable to that of the base learner" in claim for claim in says)
    assert any("each single bag is highly unstable" in claim for claim in says)
    assert result.single_bags.shape == (5, 10)
    assert result.to_dict()["single_bags_excess"] == result.single_bags.tolist()


@pytest.mark.parametrize("number", [1, 4])
def test_every_number_goes_to_json(number, tmp_path):
    result = run(small(number), n_bags=30)
    write_numbers([result], tmp_path / "numbers.json")
    (numbers,) = json.loads((tmp_path / "numbers.json").read_text())
    assert numbers["setting"] == number
    assert np.shape(numbers["base"]["perturbations_by_point"]) == (10, 40)
    assert len(numbers["claims"]) == 2
    bounds = numbers["guarantee"]
    assert all(exact <= paper for exact, paper in zip(bounds["exact"], bounds["theorem_8"], strict=True))
    assert ("excess_in_observed_range" in numbers["base"]) == (number == 4)
    assert bounds["theorem_8"][0] == pytest.approx(math.sqrt(1 / 39 / 4 / bounds["delta"][0]))


def test_of_two_classes_the_first_is_kept_with_its_spread():
    left_out = np.arange(12.0).reshape(3, 2, 2)
    spread = BagSpread(np.array([[0.1, 0.2], [0.3, 0.4]]), np.array([[1.0, 2.0], [3.0, 4.0]]))
    moved = Perturbations(np.zeros((2, 2)), left_out, np.arange(3), bags=spread)
    first = first_class(moved)
    assert first.left_out.tolist() == [[0.0, 2.0], [4.0, 6.0], [8.0, 10.0]]
    assert first.bags.deviation.tolist() == [0.1, 0.3]
    assert first.bags.extent.tolist() == [1.0, 3.0]
    assert first_class(first) is first


def test_an_excess_falls_with_the_square_of_the_unit():
    result = replace(result_of([0.5, 0.1, 0.1, 0.0]), target_range=10.0)
    np.testing.assert_allclose(result.excess_in_observed_range(result.bagged), result.excess(result.bagged) / 100)
