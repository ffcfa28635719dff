"""Solvers: fitting bags against a bare loop and scikit-learn's Bagging.

CPU time of one thread; the tasks of a case take turns, and the median of the ratios is reported: above 1 is good.
Ours fits all bags of a case. The loop and Bagging fit a tenth of them, and their times count ten times: they are in
proportion to the bags.
"""

import json
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import memory
import numpy as np
import pytest
from helpers import rounds_of
from sklearn.base import clone
from sklearn.ensemble import BaggingClassifier, BaggingRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from stablebag import BaggedClassifier, BaggedRegressor, Subbagging
from stablebag.paper.settings import SETTINGS

pytestmark = pytest.mark.filterwarnings("ignore")

FEWER = 10  # times: the bags of the loop and of Bagging


@dataclass(frozen=True)
class Case:
    """A learner on simulated data, with bags of half the rows."""

    name: str
    learner: Any
    n: int
    d: int
    n_bags: int
    loop: float  # the target: how many times faster than a bare loop
    bagging: float  # the same for scikit-learn's Bagging
    setting: int | None = None  # the paper's setting whose data are used
    predicts: bool = False  # whether to measure predicting too

    @property
    def classifies(self):
        return hasattr(self.learner, "predict_proba")

    def data(self):
        if self.setting is not None:
            return SETTINGS[self.setting].data()[:2]
        rng = np.random.default_rng(0)
        X = rng.normal(size=(self.n, self.d))
        y = X[:, 0] * X[:, 1] + rng.normal(size=self.n)
        return X, (y > 0).astype(int) if self.classifies else y


CASES = [
    Case("trees, Setting 4 of the paper", DecisionTreeRegressor(max_depth=50), 500, 40, 500, 6, 7, setting=4),
    Case("trees, n = 2,000, full", DecisionTreeRegressor(), 2000, 20, 500, 8, 8),
    Case("trees, n = 20,000, depth 8", DecisionTreeRegressor(max_depth=8), 20_000, 20, 200, 8, 8),
    Case("tree classifier, n = 2,000", DecisionTreeClassifier(), 2000, 20, 500, 12, 12),
    Case("logistic, Setting 1", LogisticRegression(C=4, fit_intercept=False), 500, 200, 500, 3.8, 5, setting=1),
    Case("logistic, Setting 2", LogisticRegression(C=2, fit_intercept=False), 1000, 200, 500, 2.7, 3.4, setting=2),
    Case("logistic, n = 1,000, d = 10", LogisticRegression(), 1000, 10, 500, 8, 12),
    Case("ridge, n = 1,000, d = 10", Ridge(), 1000, 10, 500, 10, 20),
    Case("ridge, n = 500, d = 200", Ridge(), 500, 200, 500, 2.4, 4),
    Case("scaler and ridge, n = 1,000, d = 10", make_pipeline(StandardScaler(), Ridge()), 1000, 10, 500, 10, 15),
    Case("nearest neighbours, n = 1,000", KNeighborsRegressor(), 1000, 10, 500, 10, 10, predicts=True),
    Case("nearest neighbours, n = 10,000", KNeighborsRegressor(), 10_000, 10, 200, 10, 10, predicts=True),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_fitting(case, ratios):
    X, y = case.data()
    bags = Subbagging(0.5).resolve(len(y)).draw(case.n_bags, random_state=0)
    mine, theirs = (BaggedClassifier, BaggingClassifier) if case.classifies else (BaggedRegressor, BaggingRegressor)
    few = case.n_bags // FEWER
    settings = {"n_estimators": few, "max_samples": 0.5, "bootstrap": False, "random_state": 0}
    points = X[:1000]

    def loop():
        for rows in bags[:few]:
            model = clone(case.learner).fit(X[rows], y[rows])
            if case.predicts:
                model.predict(points)

    def ours():
        model = mine(case.learner, n_bags=case.n_bags, random_state=0).fit(X, y)
        assert model.solver_.name != "scikit-learn", model.solver_
        if case.predicts:
            model.predict(points)

    def bagging():
        model = theirs(case.learner, **settings).fit(X, y)
        if case.predicts:
            model.predict(points)

    times = rounds_of(loop, ours, bagging)
    what = "fit and predict" if case.predicts else "fit"
    name = f"{case.name}, {case.n_bags} bags"
    ratios(what, f"{name}: bare loop / ours", FEWER * times.ratio(loop, ours), case.loop)
    ratios(what, f"{name}: scikit-learn's Bagging / ours", FEWER * times.ratio(bagging, ours), case.bagging)


@pytest.mark.parametrize(("n_trees", "n_points", "target"), [(500, 10_000, 3), (2000, 10, 40)])
def test_prediction(n_trees, n_points, target, ratios):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 10))
    y, points = X[:, 0] * X[:, 1] + rng.normal(size=1000), rng.normal(size=(n_points, 10))
    model = BaggedRegressor(n_bags=n_trees, random_state=0).fit(X, y)
    peer = BaggingRegressor(DecisionTreeRegressor(), n_trees, max_samples=0.5, bootstrap=False, random_state=0).fit(
        X, y
    )

    def ours():
        model.predict(points)

    def bagging():
        peer.predict(points)

    name = f"{n_trees:,} full trees, {n_points:,} points"
    ratios("predict", f"{name}: scikit-learn's Bagging / ours", rounds_of(ours, bagging).ratio(bagging, ours), target)


def test_the_paper(ratios):
    """The four settings with only 200 bags, where most of the time of 10,000 bags is spent."""
    n_bags, total = 200, {"auto": 0.0, "scikit-learn": 0.0}
    peer = 'solver="scikit-learn", which is what ran before there were solvers'
    for number, setting in SETTINGS.items():
        X, y, points = setting.data()

        def fit(solver, setting=setting, X=X, y=y, points=points):
            setting.bagged(n_bags).set_params(solver=solver).fit(X, y).predict(points)

        auto, plain = (lambda fit=fit: fit("auto")), (lambda fit=fit: fit("scikit-learn"))
        times = rounds_of(auto, plain)
        ratios("the paper", f"Setting {number}, {n_bags} bags: {peer} / ours", times.ratio(plain, auto), None)
        total["auto"] += times.median(auto)
        total["scikit-learn"] += times.median(plain)
    ratio = total["scikit-learn"] / total["auto"]
    ratios("the paper", f"all four settings, {n_bags} bags: {peer} / ours", ratio, 3)


def test_two_jobs(ratios):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 10))
    y = X[:, 0] * X[:, 1] + rng.normal(size=2000)

    def seconds(n_jobs):
        begin = time.perf_counter()
        BaggedRegressor(n_bags=400, n_jobs=n_jobs, random_state=0).fit(X, y)
        return time.perf_counter() - begin

    seconds(2)
    found = [(seconds(1), seconds(2)) for _ in range(5)]
    ratio = float(np.median([one / two for one, two in found]))
    ratios("two jobs (needs a quiet machine)", "trees by threads: one job / two jobs, by the clock", ratio, 1.8)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="only Linux says how much memory is used")
def test_memory(ratios):
    """Trees as scikit-learn stores them against ours, each in a separate process: see memory.py."""
    theirs, ours = (
        json.loads(subprocess.run([sys.executable, memory.__file__, solver], capture_output=True, check=True).stdout)
        for solver in ("scikit-learn", "auto")
    )
    names = {
        "fit": "the most while fitting",
        "fit and predict": "the most while fitting and predicting",
        "kept": "arrays",
        "pickled": "pickled",
    }
    for what, name in names.items():
        ratios("memory", f"{memory.WHAT}, {name}: scikit-learn / ours", theirs[what] / ours[what], 1.0)
