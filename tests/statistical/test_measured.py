"""Measured changes: reuse and refitting agree, and the estimated bagging noise is correct."""

import numpy as np
import pytest
from scipy import stats
from sklearn.datasets import load_diabetes
from sklearn.neighbors import KNeighborsRegressor
from sklearn.tree import DecisionTreeRegressor

from stablebag import (
    BaggedRegressor,
    BernoulliSubbagging,
    ClassicalBagging,
    FixedRange,
    PoissonizedBagging,
    Subbagging,
    leave_one_out,
    leave_one_out_refit,
)

pytestmark = pytest.mark.slow

FALSE_ALARM = 1e-6


@pytest.mark.parametrize("learner", [KNeighborsRegressor(1), DecisionTreeRegressor(max_depth=3)], ids=str)
@pytest.mark.parametrize(
    "scheme", [Subbagging(0.5), BernoulliSubbagging(0.5), ClassicalBagging(0.7), PoissonizedBagging(0.7)], ids=str
)
def test_reuse_and_refitting_agree_within_bagging_noise(scheme, learner, seed):
    rng = np.random.default_rng(0)
    X, y, points = rng.random((20, 2)), rng.random(20), rng.random((3, 2))
    settings = {"scheme": scheme, "prediction_range": FixedRange(0, 1)}
    reused = leave_one_out(BaggedRegressor(learner, n_bags=600, random_state=seed, **settings).fit(X, y), points)
    rows = [0, 7, 13]
    refitted = leave_one_out_refit(
        BaggedRegressor(learner, n_bags=600, **settings), X, y, points, rows=rows, random_state=seed + 1
    )
    # Hoeffding for each of two averages of numbers in [0, 1], of k_i and of 600 bags, over nine comparisons.
    k = reused.bags.n_without[rows][:, None]
    looks = 2 * 9
    radius = np.sqrt(np.log(2 * looks / FALSE_ALARM) / 2) * (1 / np.sqrt(k) + 1 / np.sqrt(600))
    assert (np.abs(reused.left_out[rows] - refitted.left_out) < radius).all()


def test_noise_equals_the_spread_of_repeated_draws(seed):
    rng = np.random.default_rng(0)
    X, y, point = rng.random((30, 2)), rng.random(30), rng.random((1, 2))
    models = (
        BaggedRegressor(KNeighborsRegressor(1), n_bags=60, prediction_range=None, random_state=1000 * seed + draw)
        for draw in range(60)
    )
    measured = [leave_one_out(model.fit(X, y), point) for model in models]
    # Over draws of the bags, a difference varies by the noise around the true change.
    spread = np.var([moved.differences[:, 0] for moved in measured], axis=0, ddof=1).mean()
    stated = np.mean([moved.noise[0] ** 2 for moved in measured])
    # Each row's variance estimate has 59 degrees of freedom; rows are dependent, so this counts them as one.
    low, high = stats.chi2.ppf([FALSE_ALARM / 2, 1 - FALSE_ALARM / 2], 59) / 59
    assert low < spread / stated < high


def test_debiased_changes_hardly_depend_on_the_number_of_bags(seed):
    """On diabetes with deep trees.

    Over 40 seeds, 200 bags gave a root mean square of 0.01401 with standard deviation 0.00018, and of 0.00391 with
    0.00043 after the noise was taken off; over 3 seeds, 6,000 bags gave 0.00406 with 0.00003. The margins are five
    standard deviations: a false alarm in two million runs, if they are normal.
    """
    X, y = load_diabetes(return_X_y=True)
    y = (y - y.min()) / np.ptp(y)
    train, points = slice(0, 342), X[342::5]
    raw, clean = {}, {}
    for n_bags in (200, 6000):
        model = BaggedRegressor(DecisionTreeRegressor(), n_bags=n_bags, n_jobs=2, random_state=seed)
        moved = leave_one_out(model.fit(X[train], y[train]), points)
        raw[n_bags], clean[n_bags] = np.sqrt(np.mean(moved.values**2)), moved.debiased_rms("mean")
    assert raw[200] > 2 * clean[200]
    assert raw[200] > 2 * raw[6000]
    assert abs(clean[200] - clean[6000]) < 5 * 0.00043
