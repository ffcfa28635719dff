"""Out-of-bag predictions of learners without a solver, against two peers.

scikit-learn's Bagging passes repeated rows as weights to learners that take weights. It fits such a learner to 0.63 n
rows, and we fit it to n rows, so ratios below one come from the fits.
"""

import numpy as np
import pytest
from helpers import rounds_of
from sklearn.ensemble import BaggingRegressor, GradientBoostingRegressor
from sklearn.neighbors import KNeighborsRegressor
from sklearn.svm import SVR

from stablebag import BaggedRegressor, predict_interval

N, N_POINTS, N_BAGS = 1000, 500, 40
LEARNERS = {
    "neighbours by another metric": (KNeighborsRegressor(metric="canberra"), 1.0, 1.0),
    "boosted trees": (GradientBoostingRegressor(n_estimators=20), 0.6, 1.0),
    "SVR": (SVR(), 0.5, 1.0),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", LEARNERS)
def test_against_scikit_learn_and_mapie(name, ratios):
    regression, subsample = pytest.importorskip("mapie.regression"), pytest.importorskip("mapie.subsample")
    learner, least_of_scikit_learn, least_of_mapie = LEARNERS[name]
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N + N_POINTS, 10))
    y = X[:, 0] + np.sin(3 * X[:, 1]) + rng.normal(size=N + N_POINTS)
    X, y, points = X[:N], y[:N], X[N:]
    about = {"scheme": "classical", "n_bags": N_BAGS, "prediction_range": None, "random_state": 0}
    resampling = subsample.Subsample(n_resamplings=N_BAGS, random_state=0)
    mapie = regression.JackknifeAfterBootstrapRegressor(learner, confidence_level=0.9, resampling=resampling)

    def our_score():
        BaggedRegressor(learner, oob_score=True, **about).fit(X, y)

    def their_score():
        BaggingRegressor(learner, n_estimators=N_BAGS, oob_score=True, random_state=0).fit(X, y)

    def our_intervals():
        predict_interval(BaggedRegressor(learner, **about).fit(X, y), points)

    def their_intervals():
        mapie.fit_conformalize(X, y).predict_interval(points)

    times = rounds_of(our_score, their_score, our_intervals, their_intervals, n_rounds=3)
    case = f"{name}, n = {N:,}, {N_BAGS} bags"
    of_score, of_intervals = times.ratio(their_score, our_score), times.ratio(their_intervals, our_intervals)
    ratios("out of bag", f"{case}: BaggingRegressor(oob_score=True) / ours", of_score, least_of_scikit_learn)
    ratios("out of bag", f"{case}, {N_POINTS} points: MAPIE, fit and predict / ours", of_intervals, least_of_mapie)
