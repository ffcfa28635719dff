"""Coverage of intervals for rows of new groups, in simulation. Each test declares how often it may fail by chance."""

import numpy as np
import pytest
from scipy.stats import binom
from sklearn.neighbors import KNeighborsRegressor

from rounding import assert_same_sums
from stablebag import BaggedRegressor, ClassicalBagging, Subbagging, predict_interval, random_n_bags
from stablebag.deciding import jackknife_intervals_refit

pytestmark = pytest.mark.slow

FALSE_ALARM = 1e-6
LEVEL = 0.9
METHODS = ("jackknife+", "jackknife-minmax")
NEAREST = KNeighborsRegressor(1)  # neither smooth nor stable: a prediction hangs on one unit


def drawn(n_units, seed, trial):
    """Return groups whose size depends on their outcome, and a row drawn at random from a new group.

    A third of the units have 120 rows and outcomes near zero; the others have one row, other features, and outcomes
    that are positive and far apart. Counting rows, nearly all residuals are small; counting units, a third of them are.
    """
    rng = np.random.default_rng([seed, trial])
    latent = rng.normal(size=n_units + 1)
    large = latent < -0.43
    units = np.repeat(np.arange(n_units + 1), np.where(large, 120, 1))
    features = (rng.normal(size=(n_units + 1, 2)) + 3 * large[:, None])[units] + 0.1 * rng.normal(size=(len(units), 2))
    outcomes = np.where(large, 0.0, 3.0 * (latent + 0.43))[units]
    targets = outcomes + 0.2 * rng.normal(size=len(units))
    seen, new = units < n_units, rng.choice(np.flatnonzero(units == n_units))
    return features[seen], targets[seen], units[seen], features[[new]], targets[[new]]


def least_covered(n_trials, level):
    """Return a number of covered trials; fewer have a probability below the false-alarm rate at this coverage."""
    return binom.ppf(FALSE_ALARM, n_trials, level)


def test_refits_cover_new_groups_as_guaranteed(seed):
    # One row of one new group per data set makes trials independent. If every row had the same weight, about 0.56 and
    # 0.74 would be covered, which this many trials can distinguish from the guaranteed 0.8 and 0.9.
    n_trials, covered = 300, dict.fromkeys(METHODS, 0)
    for trial in range(n_trials):
        X, y, groups, point, target = drawn(12, seed, trial)
        for method in METHODS:
            found = jackknife_intervals_refit(
                NEAREST, X, y, point, groups=groups, confidence_level=LEVEL, method=method, random_state=0
            )
            covered[method] += found.contains(target).sum()
    assert covered["jackknife+"] >= least_covered(n_trials, 2 * LEVEL - 1)
    assert covered["jackknife-minmax"] >= least_covered(n_trials, LEVEL)


@pytest.mark.parametrize("scheme", [Subbagging(6), ClassicalBagging(6)], ids=str)
def test_bags_of_groups_cover_new_groups_as_guaranteed(scheme, seed):
    n_trials, covered = 100, dict.fromkeys(METHODS, 0)
    for trial in range(n_trials):
        X, y, groups, point, target = drawn(12, seed, trial)
        n_bags = random_n_bags(scheme, 12, 40, random_state=np.random.default_rng([seed, trial, 1]))
        model = BaggedRegressor(NEAREST, scheme=scheme, n_bags=n_bags, prediction_range=None, random_state=trial)
        model.fit(X, y, groups=groups)
        for method in METHODS:
            found = predict_interval(model, point, confidence_level=LEVEL, method=method)
            covered[method] += found.contains(target).sum()
    assert covered["jackknife+"] >= least_covered(n_trials, 2 * LEVEL - 1)
    assert covered["jackknife-minmax"] >= least_covered(n_trials, LEVEL)


def test_without_groups_new_groups_are_not_covered(seed):
    # About 0.43 are covered, so these data distinguish rows from groups. False alarms are below the rate here as well.
    n_trials, covered = 200, 0
    for trial in range(n_trials):
        X, y, _, point, target = drawn(12, seed, trial)
        model = BaggedRegressor(NEAREST, n_bags=40, prediction_range=None, random_state=trial).fit(X, y)
        covered += predict_interval(model, point, confidence_level=LEVEL).contains(target).sum()
    assert covered < least_covered(n_trials, 2 * LEVEL - 1)


@pytest.mark.parametrize("method", ["jackknife", *METHODS, "cv+"])
def test_groups_of_one_row_give_the_intervals_without_groups(method, seed):
    rng = np.random.default_rng(seed)
    X, y, points = rng.normal(size=(30, 2)), rng.normal(size=30), rng.normal(size=(5, 2))
    names = [f"patient {number}" for number in rng.permutation(30)]
    settings = {"method": method, "confidence_level": LEVEL, "random_state": 0}
    plain = jackknife_intervals_refit(NEAREST, X, y, points, **settings)
    grouped = jackknife_intervals_refit(NEAREST, X, y, points, groups=names, **settings)
    assert (grouped.lower == plain.lower).all()
    assert (grouped.upper == plain.upper).all()
    if method != "cv+":
        model = BaggedRegressor(NEAREST, n_bags=40, random_state=0)
        plain = predict_interval(model.fit(X, y, row_ids=names), points, method=method, confidence_level=LEVEL)
        grouped = predict_interval(model.fit(X, y, groups=names), points, method=method, confidence_level=LEVEL)
        assert_same_sums(grouped.lower, plain.lower, model, y)
        assert_same_sums(grouped.upper, plain.upper, model, y)
