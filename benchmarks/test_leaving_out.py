"""Leave-one-out from the fitted bags: against the fit itself, a loop of masked means, and refitting; and memory."""

import time
import tracemalloc

import numpy as np
import pytest
from helpers import constant, logistic, seconds, trees
from sklearn.tree import DecisionTreeRegressor

from stablebag import (
    BaggedClassifier,
    BaggedRegressor,
    FunctionRegressor,
    Subbagging,
    leave_one_out,
    leave_one_out_refit,
)
from stablebag.models.fitted import Fitted


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("setting", [logistic, trees], ids=lambda setting: setting.__name__)
def test_shares_of_the_fit(setting, ratios):
    X, y, learner, n_bags = setting()
    mine = BaggedClassifier if setting is logistic else BaggedRegressor
    model = mine(learner, n_bags=n_bags, random_state=0)
    fit = seconds(lambda: model.fit(X, y))
    points = X[:10]
    ours = min(seconds(lambda: leave_one_out(model, points)) for _ in range(3))
    each = model.bag_predictions(points)

    def masked_means():
        inside = model.bags_.inclusion
        return np.stack([each[~inside[:, row]].mean(axis=0) for row in range(len(y))])

    ordinary = np.setdiff1d(np.arange(len(y)), list(Fitted(model).average.range_changes))
    assert np.allclose(Fitted(model).average.left_out(each)[ordinary], masked_means()[ordinary])
    product = min(seconds(lambda: Fitted(model).average.left_out(each)) for _ in range(3))
    begin = time.perf_counter()
    leave_one_out_refit(learner, X, y, points, rows=range(20), random_state=0)
    refit = (time.perf_counter() - begin) / 21 * (len(y) + 1)
    title = f"leave-one-out, {setting.__name__}: {n_bags:,} bags, {len(y)} rows, {len(points)} points"
    ratios(title, "fit / leave-one-out (predictions included)", fit / ours, 20.0)
    ratios(title, "masked-mean loop / ours (predictions apart)", seconds(masked_means) / product, None)
    ratios(title, "n refits of the learner / ours", refit / ours, None)


def test_memory_of_many_rows(ratios):
    n, n_bags, n_points = 20_000, 1000, 1000
    X, y = np.zeros((n, 1)), np.linspace(0, 1000, n)
    model = BaggedRegressor(FunctionRegressor(constant), n_bags=n_bags, random_state=0).fit(X, y)
    tracemalloc.start()
    begin = time.perf_counter()
    moved = leave_one_out(model, np.zeros((n_points, 1)))
    taken = time.perf_counter() - begin
    peak = tracemalloc.get_traced_memory()[1] - moved.left_out.nbytes
    tracemalloc.stop()
    title = f"leave-one-out, {n:,} rows, {n_bags:,} bags, {n_points:,} points in {taken:.0f} s"
    ratios(title, "2 GB / memory beyond the result", 2e9 / peak, 1.0)


def test_draws_are_not_the_bottleneck(ratios):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(500, 5)), rng.normal(size=500)
    fit = seconds(lambda: BaggedRegressor(DecisionTreeRegressor(max_depth=3), n_bags=2000, random_state=0).fit(X, y))
    draw = seconds(lambda: Subbagging(0.5).resolve(500).draw(2000, random_state=0))
    ratios("2,000 shallow trees on 500 rows", "fit / drawing the bags", fit / draw, None)
