"""Coverage of intervals in simulation. Each test declares how often it may fail by chance."""

import math

import numpy as np
import pytest
from scipy.stats import binom
from sklearn.linear_model import LinearRegression
from sklearn.neighbors import KNeighborsRegressor
from sklearn.tree import DecisionTreeRegressor

from stablebag import BaggedRegressor, ClassicalBagging, FixedRange, Subbagging, predict_interval, random_n_bags
from stablebag.deciding import jackknife_intervals_refit

pytestmark = pytest.mark.slow

FALSE_ALARM = 1e-6


def drawn(n, d, seed, trial, n_points=1):
    rng = np.random.default_rng([seed, trial])
    table = rng.normal(size=(n + n_points, d))
    effects = rng.normal(size=d)
    target = table @ (effects * math.sqrt(10) / np.linalg.norm(effects)) + rng.normal(size=n + n_points)
    return table[:n], target[:n], table[n:], target[n:]


NEAREST = KNeighborsRegressor(n_neighbors=1)


def least_covered(n_trials, level):
    """Return a number of covered trials; fewer have a probability below the false-alarm rate at this coverage."""
    return binom.ppf(FALSE_ALARM, n_trials, level)


@pytest.mark.parametrize("scheme", [Subbagging(5), ClassicalBagging(5)], ids=str)
def test_jackknife_plus_with_a_random_number_of_bags_covers(scheme, seed):
    # One test row per data set makes trials independent. Nearest neighbours are not smooth, and ten rows are few. The
    # theorem guarantees 1 - 2a = 0.6, and about 0.8 is typical.
    n_trials, covered = 200, 0
    for trial in range(n_trials):
        X, y, point, target = drawn(10, 2, seed, trial)
        n_bags = random_n_bags(scheme, 10, 40, random_state=np.random.default_rng([seed, trial, 1]))
        model = BaggedRegressor(NEAREST, scheme=scheme, n_bags=n_bags, prediction_range=None, random_state=trial).fit(
            X, y
        )
        covered += predict_interval(model, point, confidence_level=0.8).contains(target).sum()
    assert covered >= least_covered(n_trials, 0.6)
    assert covered >= least_covered(n_trials, 0.75)  # near 1 - a on data like these


def test_minmax_and_the_stable_jackknife_cover_at_their_level(seed):
    n_trials, minmax, stable = 100, 0, 0
    for trial in range(n_trials):
        X, y, point, target = drawn(30, 2, seed, trial)
        model = BaggedRegressor(NEAREST, n_bags=40, prediction_range=FixedRange(-12, 12), random_state=trial).fit(X, y)
        minmax += predict_interval(model, point, confidence_level=0.8, method="jackknife-minmax").contains(target).sum()
        # With all 30 bags of one row, epsilon is a thirtieth of the range and does not hide the residuals.
        model.set_params(scheme=Subbagging(1), n_bags="all").fit(X, y)
        found = predict_interval(model, point, confidence_level=0.8, method="stable-jackknife")
        assert found.width[0] < 16
        stable += found.contains(target).sum()
    assert minmax >= least_covered(n_trials, 0.8)
    assert stable >= least_covered(n_trials, 0.8)


def test_all_methods_cover_regular_data_near_the_level(seed):
    n_trials = 100
    covered = dict.fromkeys(("jackknife", "jackknife+", "cv+"), 0)
    for trial in range(n_trials):
        X, y, point, target = drawn(30, 3, seed, trial)
        for method in covered:
            found = jackknife_intervals_refit(
                LinearRegression(), X, y, point, confidence_level=0.8, method=method, random_state=trial
            )
            covered[method] += found.contains(target).sum()
    for count in covered.values():
        assert binom.ppf(FALSE_ALARM / 2, n_trials, 0.78) <= count <= binom.isf(FALSE_ALARM / 2, n_trials, 0.88)


def test_the_jackknife_fails_for_least_squares_at_n_equal_d_and_bagging_repairs_it(seed):
    # Points of one data set are not independent, so the shares by data set are averaged: their spread is below 0.3, and
    # the means of 12 of them are 0.56, 0.94 and 0.90 in the long run, with margins of five standard errors and more.
    learner = LinearRegression(fit_intercept=False)
    plain, plus, bagged = [], [], []
    for trial in range(12):
        X, y, points, targets = drawn(60, 60, seed, trial, n_points=40)
        settings = {"confidence_level": 0.9, "random_state": trial}
        plain.append(jackknife_intervals_refit(learner, X, y, points, method="jackknife", **settings).coverage(targets))
        plus.append(jackknife_intervals_refit(learner, X, y, points, **settings).coverage(targets))
        model = BaggedRegressor(learner, n_bags=100, prediction_range=None, random_state=trial).fit(X, y)
        found = predict_interval(model, points, method="jackknife", confidence_level=0.9)
        bagged.append(found.coverage(targets))
    assert np.mean(plain) < 0.77
    assert np.mean(plus) > 0.8
    assert np.mean(bagged) > 0.8


def prices(n, seed, trial):
    """Return targets like prices, with multiplicative noise."""
    rng = np.random.default_rng([seed, trial, 7])
    table = rng.normal(size=(n, 3))
    return table, np.exp(10 + table[:, 0] + 0.3 * table[:, 1] + 0.3 * rng.normal(size=n))


def test_locally_weighted_intervals_cover_with_a_random_number_of_bags(seed):
    # One test row per data set makes trials independent. At level 0.8 the theorem guarantees 1 - 2a = 0.6 for the
    # jackknife+, and 0.8 for minmax.
    n_trials, covered, scheme = 150, dict.fromkeys(("jackknife+", "jackknife-minmax"), 0), Subbagging(7)
    for trial in range(n_trials):
        X, y = prices(15, seed, trial)
        n_bags = random_n_bags(scheme, 14, 50, random_state=np.random.default_rng([seed, trial, 1]))
        model = BaggedRegressor(scheme=scheme, n_bags=n_bags, random_state=trial).fit(X[:14], y[:14])
        for method in covered:
            found = predict_interval(model, X[14:], confidence_level=0.8, method=method, locally_weighted=True)
            covered[method] += int(found.contains(y[14:])[0])
    assert covered["jackknife+"] >= least_covered(n_trials, 0.6)
    assert covered["jackknife+"] >= least_covered(n_trials, 0.7)  # on data like these
    assert covered["jackknife-minmax"] >= least_covered(n_trials, 0.8)


def test_locally_weighted_intervals_cover_low_and_high_prices_evenly(seed):
    # Means of twelve data sets of 200 points. With one width, 0.995 of the lower half are covered and 0.80 of the upper
    # one, and 0.59 of the intervals begin below zero; with local weights it is 0.93, 0.91 and 0.10. The standard errors
    # of these means are below 0.02 (0.03 of the 0.59), and all margins below are four of them or more.
    found = {weighted: np.zeros((12, 3)) for weighted in (False, True)}
    for trial in range(12):
        X, y = prices(400, seed, trial)
        model = BaggedRegressor(DecisionTreeRegressor(min_samples_leaf=5), n_bags=60, random_state=trial)
        model.fit(X[:200], y[:200])
        high = X[200:, 0] > 0
        for weighted, shares in found.items():
            intervals = predict_interval(model, X[200:], locally_weighted=weighted)
            inside = intervals.contains(y[200:])
            shares[trial] = inside[~high].mean(), inside[high].mean(), (intervals.lower < 0).mean()
    plain, local = found[False].mean(axis=0), found[True].mean(axis=0)
    assert plain[0] - plain[1] > 0.12
    assert plain[2] > 0.35
    assert abs(local[0] - local[1]) < 0.1
    assert local[2] < 0.18
    assert local[:2].mean() > 0.84
