"""Fits without a solver: ours against a plain loop over the same bags, and against scikit-learn's Bagging.

Every ratio compares times within one run on one machine: above 1, we are faster.
"""

import warnings

import numpy as np
import pytest
from helpers import larger, logistic, seconds, trees
from sklearn.base import clone
from sklearn.ensemble import BaggingClassifier, BaggingRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from stablebag import BaggedClassifier, BaggedRegressor, Subbagging

N_POINTS = 10


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
            model = mine(learner, n_bags=n_bags, n_jobs=n_jobs, solver="scikit-learn", random_state=0).fit(X, y)
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
        ours(2, predict=False)()  # starts the workers, which all later fits share
        # Take turns, so that other work on the machine affects all alike; report the median ratio.
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
