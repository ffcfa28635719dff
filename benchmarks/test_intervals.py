"""Prediction intervals from the bags already fitted: against MAPIE on the same learner, and memory."""

import time
import tracemalloc

import numpy as np
import pytest
from helpers import constant, rounds_of
from sklearn.tree import DecisionTreeRegressor

from stablebag import BaggedRegressor, FunctionRegressor, predict_interval


@pytest.mark.filterwarnings("ignore")
def test_against_mapie(ratios):
    regression, subsample = pytest.importorskip("mapie.regression"), pytest.importorskip("mapie.subsample")
    n, n_points, n_bags = 5000, 2000, 100
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n + n_points, 10))
    y = X[:, 0] + np.sin(3 * X[:, 1]) + rng.normal(size=n + n_points)
    learner = DecisionTreeRegressor(max_depth=8, random_state=0)
    resampling = subsample.Subsample(n_resamplings=n_bags, n_samples=n // 2, replace=False, random_state=0)
    peer = regression.JackknifeAfterBootstrapRegressor(learner, confidence_level=0.9, resampling=resampling)
    model = BaggedRegressor(learner, n_bags=n_bags, prediction_range=None, random_state=0)

    def our_fit():
        model.fit(X[:n], y[:n])
        predict_interval(model, X[:1])  # computes the residuals, as MAPIE does in its fit

    def their_fit():
        peer.fit_conformalize(X[:n], y[:n])

    def ours():
        predict_interval(model, X[n:])

    def theirs():
        peer.predict_interval(X[n:])

    times = rounds_of(our_fit, their_fit, ours, theirs)
    name = f"n = {n:,}, {n_points:,} points, {n_bags} bags"
    ratios("intervals", f"{name}: MAPIE / ours, fit", times.ratio(their_fit, our_fit), 6)
    ratios("intervals", f"{name}: MAPIE / ours, predict", times.ratio(theirs, ours), 4.5)


def test_memory_of_many_rows_and_points(ratios):
    n, n_bags = 20_000, 200
    X, y = np.zeros((n, 1)), np.linspace(0, 1000, n)
    model = BaggedRegressor(FunctionRegressor(constant), n_bags=n_bags, random_state=0).fit(X, y)
    tracemalloc.start()
    begin = time.perf_counter()
    found = predict_interval(model, X)
    taken = time.perf_counter() - begin
    peak = tracemalloc.get_traced_memory()[1] - 3 * found.lower.nbytes
    tracemalloc.stop()
    title = f"intervals, {n:,} rows, {n:,} points, {n_bags} bags in {taken:.0f} s"
    ratios(title, "1 GB / memory beyond the result", 1e9 / peak, 1.0)
