import math

import pytest

from stablebag.proving.bounds import (
    simplex_radius,
    vector_epsilon,
    vector_monte_carlo_radius,
    vote_delta,
    vote_epsilon,
    vote_variance,
)


def test_golden_values_of_votes():
    assert vote_variance([0.6, 0.3, 0.1]) == pytest.approx(0.54)
    assert vote_delta(0.1, 1 / 499, [0.6, 0.3, 0.1]) == pytest.approx(0.108216432866, abs=1e-12)
    assert vote_epsilon(0.108216432866, 1 / 499, [0.6, 0.3, 0.1]) == pytest.approx(0.1)
    assert vote_delta(0.0, 1 / 499, [1.0, 0.0]) == vote_epsilon(0.0, 1 / 499, [1.0, 0.0]) == 0.0
    assert vote_delta(0.01, 1 / 499, [0.5, 0.5]) == 1.0
    with pytest.raises(ValueError, match="add up to 1"):
        vote_variance([0.6, 0.6])


def test_the_radius_is_the_distance_of_a_vote_from_none():
    assert simplex_radius(4) == pytest.approx(math.dist([1, 0, 0, 0], [0.25] * 4))
    assert simplex_radius(1) == 0.0


def test_a_distance_of_numbers_is_theorem_8():
    assert vector_epsilon(0.1, 0.01, 0.5) == pytest.approx(math.sqrt(0.01 / 0.4))
    assert vector_epsilon(0.25, 0.04, 1.0, n_bags=100) == pytest.approx(math.sqrt((0.04 + 4 / 100) / 0.25))
    assert vector_epsilon(0.25, 0.04, 1.0, 100, "independent") == pytest.approx(math.sqrt((0.04 + 2 / 100) / 0.25))


def test_drawing_bags_adds_the_mean_of_the_noise_and_its_tail():
    # 2 radius / sqrt(B) + diameter sqrt(2 / B log(2 / t)); t = 2 / e makes the logarithm 1.
    assert vector_monte_carlo_radius(200, 2 / math.e, radius=1.0, diameter=2.0) == pytest.approx(2 / 200**0.5 + 0.2)
    assert vector_monte_carlo_radius(math.inf, 0.1, 1.0, 2.0) == 0.0
    assert vector_monte_carlo_radius(200, 0.0, 1.0, 2.0) == math.inf
