from fractions import Fraction

import numpy as np
import pytest

from stablebag import ClassicalBagging, Subbagging
from stablebag.resampling.covariance import given_out, moments, norm_of, symmetric_norm


def test_moments_of_listed_bags_are_those_of_the_law():
    law = ClassicalBagging(2).resolve(3)
    inclusion, covariance = moments(law.support(), 3)
    np.testing.assert_allclose(inclusion, law.inclusion_probability)
    np.testing.assert_allclose(covariance[0, 1:], -law.negative_covariance)


def test_the_norm_of_a_symmetric_law_is_the_bagging_constant():
    for m in (1, 3, 5):
        law = Subbagging(m).resolve(6)
        assert norm_of(*moments(law.support(), 6)) == pytest.approx(law.constant) == pytest.approx(m / (6 - m) / 5)
    assert symmetric_norm(6, Fraction(1, 2), Fraction(-1, 12)) == pytest.approx((1 + 5 / 3) / 6)


def test_large_matrices_give_the_norm_of_small_ones(seed):
    rng = np.random.default_rng(seed)
    p = rng.uniform(0.1, 0.9, 500)
    factors = rng.normal(size=(500, 3))
    covariance = np.diag(p * (1 - p)) + 0.01 * factors @ factors.T
    scale = 1 / ((1 - p) * np.sqrt(500))
    dense = np.linalg.eigvalsh(covariance * scale * scale[:, None])[-1]
    assert norm_of(p, covariance) == pytest.approx(dense, rel=1e-6)
    assert norm_of(p, covariance) >= dense


def test_given_that_a_row_is_out_the_others_are_likelier_in_subbagging():
    np.testing.assert_allclose(given_out(*moments(Subbagging(2).resolve(4).support(), 4), row=1), 2 / 3)
