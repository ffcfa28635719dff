"""Fitting and predicting: ours against a bare loop on the same bags, and against scikit-learn's Bagging.

Every ratio is of one run on one machine: how many times faster we are, so above 1 is good for us.
"""

import time
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import BaggingClassifier, BaggingRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeRegressor

from stablebag import BaggedClassifier, BaggedRegressor, Subbagging

N_POINTS = 10


def logistic():
    """Setting 1 of the paper: n = 500, d = 200, logistic regression with C = 1e3 / m, bags of 250."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 200))
    y = (rng.random(500) < 1 / (1 + np.exp(-X @ np.full(200, 0.1)))).astype(int)
    return X, y, LogisticRegression(C=1e3 / 250, fit_intercept=False), 1000


def trees():
    """Setting 4 of the paper: n = 500, d = 40, deep regression trees, bags of 250."""
    rng = np.random.default_rng(0)
    X = rng.random((500, 40))
    y = np.sin(X / np.arange(1, 41)).sum(axis=1)
    y[::3] += rng.uniform(-0.25, 0.25, len(y[::3]))
    y[::4] += rng.uniform(0, 1, len(y[::4]))
    return X, y, DecisionTreeRegressor(max_depth=50), 1000


def larger():
    """n = 20,000, d = 20, depth-limited trees, 200 bags of half the rows."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 20))
    return X, X[:, 0] * X[:, 1] + rng.normal(size=20_000), DecisionTreeRegressor(max_depth=8), 200


def seconds(task):
    begin = time.perf_counter()
    task()
    return time.perf_counter() - begin


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("setting", [logistic, trees, larger], ids=lambda setting: setting.__name__)
def test_ratios(setting, ratios):
    X, y, learner, n_bags = setting()
    n_rounds = 1 if setting is larger else 3
    classify = isinstance(learner, LogisticRegression)
    mine, theirs = (BaggedClassifier, BaggingClassifier) if classify else (BaggedRegressor, BaggingRegressor)
    points = X[:N_POINTS]
    bags = Subbagging(0.5).resolve(len(y)).draw(n_bags, random_state=0)
    rows = [bags[b] for b in range(n_bags)]

    def loop():
        for bag in rows:
            clone(learner).fit(X[bag], y[bag])

    def ours(n_jobs, predict):
        def task():
            model = mine(learner, n_bags=n_bags, n_jobs=n_jobs, random_state=0).fit(X, y)
            if predict:
                model.predict(points)

        return task

    def scikit_learn(n_jobs):
        def task():
            settings = {"max_samples": 0.5, "bootstrap": False, "n_jobs": n_jobs, "random_state": 0}
            theirs(learner, n_estimators=n_bags, **settings).fit(X, y).predict(points)

        return task

    tasks = {
        "loop": loop,
        "ours, fit": ours(1, predict=False),
        "ours": ours(1, predict=True),
        "scikit-learn": scikit_learn(1),
        "ours, 2 jobs": ours(2, predict=True),
        "scikit-learn, 2 jobs": scikit_learn(2),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        mine(learner, n_bags=16, n_jobs=2).fit(X, y)  # starts the workers, which all later fits share
        # Interleaved, so that a noisy neighbour disturbs all of them alike; the median ratio is reported.
        rounds = [{name: seconds(task) for name, task in tasks.items()} for _ in range(n_rounds)]

    def ratio(one, other):
        return float(np.median([times[one] / times[other] for times in rounds]))

    each = np.median([times["loop"] for times in rounds]) / n_bags * 1e3
    title = f"{setting.__name__}: {n_bags:,} bags of {len(rows[0]):,} rows, {each:.1f} ms a fit"
    ratios(title, "bare loop / our fit, 1 job", ratio("loop", "ours, fit"), 1 / 1.02)
    target = {"logistic": 1.4, "trees": 1.25}.get(setting.__name__)
    ratios(title, "scikit-learn / ours, fit and predict, 1 job", ratio("scikit-learn", "ours"), target)
    ratios(title, "scikit-learn / ours, 2 jobs", ratio("scikit-learn, 2 jobs", "ours, 2 jobs"), target)
    ratios(title, "ours, 1 job / ours, 2 jobs", ratio("ours", "ours, 2 jobs"), 1.7)
