"""Prediction intervals from the bags already fitted: against MAPIE on the same learner, and memory."""

import time
import tracemalloc
import warnings

import numpy as np
import pytest
from helpers import constant, seconds
from sklearn.tree import DecisionTreeRegressor

from stablebag import BaggedRegressor, FunctionRegressor, Subbagging, predict_interval


def test_against_mapie(ratios):
    regression = pytest.importorskip("mapie.regression")
    subsample = pytest.importorskip("mapie.subsample")
    n, n_points, n_bags = 5000, 2000, 200
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n + n_points, 10))
    y = X[:, 0] + np.sin(3 * X[:, 1]) + rng.normal(size=n + n_points)
    learner = DecisionTreeRegressor(max_depth=8, random_state=0)
    model = BaggedRegressor(learner, scheme=Subbagging(0.5), n_bags=n_bags, prediction_range=None, random_state=0)
    resampling = subsample.Subsample(n_resamplings=n_bags, n_samples=n // 2, replace=False, random_state=0)
    peer = regression.JackknifeAfterBootstrapRegressor(learner, confidence_level=0.9, resampling=resampling)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        their_fit = seconds(lambda: peer.fit_conformalize(X[:n], y[:n]))
        their_predict = seconds(lambda: peer.predict_interval(X[n:]))
    our_fit = seconds(lambda: model.fit(X[:n], y[:n]))
    first = seconds(lambda: predict_interval(model, X[n:]))
    again = seconds(lambda: predict_interval(model, X[n:]))
    title = f"intervals, {n:,} rows, {n_points:,} points, {n_bags} bags"
    ratios(title, "MAPIE / ours, fit", their_fit / our_fit, 1.0)
    ratios(title, "MAPIE / ours, fit and residuals", their_fit / (our_fit + first - again), 1.0)
    ratios(title, "MAPIE / ours, predict for the first time", their_predict / first, 3.0)
    ratios(title, "MAPIE / ours, predict again", their_predict / again, 3.0)


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
