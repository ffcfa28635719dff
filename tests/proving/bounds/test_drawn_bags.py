import math

import numpy as np
import pytest
from scipy.stats import binom

from stablebag.proving.bounds import observed_mean_square, standard_deviation_bound
from theorems.enumeration import all_ensembles, learners


def test_golden_standard_deviation_bounds():
    y = [0.2, 0.5, 0.1, 0.9, 0.4, 0.6, 0.3, 0.7, 0.5, 0.8]
    assert np.var(y, ddof=1) == pytest.approx(0.0666666666667)
    slack = math.sqrt(-2 * math.log(0.05) / 9)
    assert math.sqrt(np.var(y, ddof=1)) + slack == pytest.approx(1.07411449997)
    assert standard_deviation_bound(np.std(y, ddof=1), 10, 0.95) == 0.5
    assert standard_deviation_bound(0.2, 1000, 0.95) == pytest.approx(0.277443282531, abs=1e-12)
    assert standard_deviation_bound(0.2, 1000, 1.0) == 0.5


@pytest.mark.parametrize("n_bags", [5, 30, 200])
@pytest.mark.parametrize("p", [0.01, 0.1, 0.5, 0.9])
def test_the_standard_deviation_is_missed_no_more_often_than_stated(n_bags, p):
    ones = np.arange(n_bags + 1)
    variances = ones * (n_bags - ones) / (n_bags * (n_bags - 1))
    missed = [math.sqrt(p * (1 - p)) > standard_deviation_bound(math.sqrt(v), n_bags, 0.9) for v in variances]
    assert binom.pmf(ones, n_bags, p)[missed].sum() <= 0.1


def test_the_mean_square_worked_by_hand():
    # c = 0.04 and s = 0.5 give 0.01; 100 bags add (0.5 + 0.5)^2 / 100, and independent ones (0.25 + 0.25) / 100.
    assert observed_mean_square(0.5, 0.04) == pytest.approx(0.01)
    assert observed_mean_square(0.5, 0.04, 100) == pytest.approx(0.01 + 0.01)
    assert observed_mean_square(0.5, 0.04, 100, coupling="independent") == pytest.approx(0.01 + 0.005)
    # Bags without a row vary four times as much: (0.5 + 1)^2 / 100.
    assert observed_mean_square(0.5, 0.04, 100, ragged=4.0) == pytest.approx(0.01 + 0.0225)
    # And bags without rows add to either root: (0.1 + 0.2)^2 and (0.5 + 0.5 + 0.5)^2 / 100.
    shifted = observed_mean_square([0.5, 0.0], 0.04, 100, shift=0.2, shift_noise=0.5)
    np.testing.assert_allclose(shifted, [0.09 + 0.0225, 0.04 + 0.0025])


def test_the_mean_square_by_the_variance_holds_when_all_bags_are_listed(seed):
    for ensemble in all_ensembles(6):
        p = ensemble.law.inclusion_probability
        ragged = 1.0 if len(set(ensemble.inside.sum(axis=1))) == 1 else 1 / (1 - p)
        outside = ensemble.weights[:, None] * ~ensemble.inside
        for name, outputs in learners(ensemble, np.random.default_rng(seed)):
            left_out = ensemble.left_out(outputs)
            variance = ensemble.variance(outputs)
            square = (outputs[:, None] - left_out) ** 2
            each = (outside * square).sum(axis=0) / outside.sum(axis=0)  # the variance over the bags without a row
            for n_bags in (1, 50, math.inf):
                limit = np.mean(ensemble.perturbations(outputs) ** 2)
                independent = limit + (variance + each.mean()) / n_bags
                worst = limit + np.mean((math.sqrt(variance) + np.sqrt(each)) ** 2) / n_bags
                for coupling, value in (("independent", independent), ("any", worst)):
                    bound = observed_mean_square(math.sqrt(variance), ensemble.constant, n_bags, ragged, coupling)
                    assert value <= bound + 1e-14, name


@pytest.mark.parametrize(("call", "words"), [
    (lambda: standard_deviation_bound(0.2, 1, 0.95), "one bag has no variance"),
    (lambda: standard_deviation_bound(-0.1, 10, 0.95), "'standard_deviation' .* not below 0"),
    (lambda: standard_deviation_bound(0.2, 10, 1.1), "'confidence'"),
    (lambda: observed_mean_square(np.array([0.1, np.nan]), 0.04), "'standard_deviation'"),
    (lambda: observed_mean_square(0.1, 0.04, ragged=0.5), "'ragged'"),
])  # fmt: skip
def test_arguments_outside_their_domain_are_refused(call, words):
    with pytest.raises(ValueError, match=words):
        call()
