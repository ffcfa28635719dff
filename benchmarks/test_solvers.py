"""Solvers: the bags of a learner whose structure is known, against a bare loop and scikit-learn's Bagging.

CPU time of one thread; the tasks of a case take turns, and the median of the ratios is reported: above 1 is good.
"""

import time
from dataclasses import dataclass
from typing import Any

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

from stablebag import BaggedClassifier, BaggedRegressor, Subbagging, predict_interval
from stablebag.paper.settings import SETTINGS

pytestmark = pytest.mark.filterwarnings("ignore")


@dataclass(frozen=True)
class Case:
    """A learner on simulated data, with bags of half the rows."""

    name: str
    learner: Any
    n: int
    d: int
    n_bags: int
    loop: float  # how many times faster than a bare loop we want to be
    bagging: float  # and than scikit-learn's Bagging
    setting: int | None = None  # of the paper, whose data are used
    predicts: bool = False  # whether predicting counts, too

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
    Case("trees, Setting 4 of the paper", DecisionTreeRegressor(max_depth=50), 500, 40, 100, 6, 7, setting=4),
    Case("trees, n = 2,000, full", DecisionTreeRegressor(), 2000, 10, 40, 8, 8),
    Case("trees, n = 20,000, depth 8", DecisionTreeRegressor(max_depth=8), 20_000, 20, 10, 8, 8),
    Case("tree classifier, n = 2,000", DecisionTreeClassifier(), 2000, 10, 40, 12, 12),
    Case("logistic, Setting 1", LogisticRegression(C=4, fit_intercept=False), 500, 200, 200, 3.8, 5, setting=1),
    Case("logistic, Setting 2", LogisticRegression(C=2, fit_intercept=False), 1000, 200, 100, 2.7, 3.4, setting=2),
    Case("logistic, n = 1,000, d = 10", LogisticRegression(), 1000, 10, 300, 8, 12),
    Case("ridge, n = 1,000, d = 10", Ridge(), 1000, 10, 500, 10, 20),
    Case("ridge, n = 500, d = 200", Ridge(), 500, 200, 200, 2.4, 4),
    Case("scaler and ridge, n = 1,000, d = 10", make_pipeline(StandardScaler(), Ridge()), 1000, 10, 300, 10, 15),
    Case("nearest neighbours, n = 1,000", KNeighborsRegressor(), 1000, 10, 100, 10, 10, predicts=True),
    Case("nearest neighbours, n = 10,000", KNeighborsRegressor(), 10_000, 10, 30, 10, 10, predicts=True),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_fitting(case, ratios):
    X, y = case.data()
    bags = Subbagging(0.5).resolve(len(y)).draw(case.n_bags, random_state=0)
    mine, theirs = (BaggedClassifier, BaggingClassifier) if case.classifies else (BaggedRegressor, BaggingRegressor)
    settings = {"n_estimators": case.n_bags, "max_samples": 0.5, "bootstrap": False, "random_state": 0}
    points = X[:200]

    def loop():
        for rows in bags:
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
    ratios(what, f"{case.name}: bare loop / ours", times.ratio(loop, ours), case.loop)
    ratios(what, f"{case.name}: scikit-learn's Bagging / ours", times.ratio(bagging, ours), case.bagging)


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


def test_intervals(ratios):
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
        predict_interval(model, X[:1])  # with the residuals, which MAPIE makes when it fits

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


def test_the_paper(ratios):
    """The four settings by bags alone, which is where 10,000 bags spend their time."""
    n_bags, total = 200, {"auto": 0.0, "scikit-learn": 0.0}
    for number, setting in SETTINGS.items():
        X, y, points = setting.data()

        def fit(solver, setting=setting, X=X, y=y, points=points):
            setting.bagged(n_bags).set_params(solver=solver).fit(X, y).predict(points)

        auto, plain = (lambda fit=fit: fit("auto")), (lambda fit=fit: fit("scikit-learn"))
        times = rounds_of(auto, plain)
        ratios("the paper", f"Setting {number}: scikit-learn / ours", times.ratio(plain, auto), None)
        total["auto"] += times.median(auto)
        total["scikit-learn"] += times.median(plain)
    ratios("the paper", "all four settings: scikit-learn / ours", total["scikit-learn"] / total["auto"], 3)


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


def test_memory(ratios):
    """500 trees of 20,000 rows, as they are kept."""
    import pickle

    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 5))
    y = X[:, 0] * X[:, 1] + rng.normal(size=20_000)
    model = BaggedRegressor(n_bags=10, keep_rows=False, random_state=0).fit(X, y)
    kept = sum(part.nbytes for tree in model.estimators_.kept for part in tree if isinstance(part, np.ndarray))
    theirs = sum(
        state["nodes"].nbytes + state["values"].nbytes for state in (m.tree_.__getstate__() for m in model.estimators_)
    )
    ratios("memory", "trees of 20,000 rows: scikit-learn / ours", theirs / kept, 1.0)
    sizes = len(pickle.dumps(list(model.estimators_))) / len(pickle.dumps(model.estimators_))
    ratios("memory", "trees of 20,000 rows, pickled: scikit-learn / ours", sizes, 1.0)
