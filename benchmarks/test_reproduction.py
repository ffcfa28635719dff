"""The paper's four settings end to end, against one process that fits one bag after another and masks."""

import numpy as np
import pytest
from helpers import seconds
from sklearn.base import clone

from stablebag.paper.experiments import N_POINTS, run
from stablebag.paper.settings import SETTINGS


def one_by_one(setting, n_bags):
    """Plain scikit-learn calls: refit without each row, fit each bag, and average over masks."""
    X, y, points = setting.data("script")
    learner, n = setting.learner("script"), setting.n_samples
    rng = np.random.default_rng(0)

    def predicted(rows):
        model = clone(learner).fit(X[rows], y[rows])
        return model.predict_proba(points)[:, 0] if setting.classifies else model.predict(points)

    whole = predicted(np.arange(n))
    base = np.array([abs(whole - predicted(np.delete(np.arange(n), row))) for row in range(n)])
    bags = [rng.choice(n, n // 2, replace=False) for _ in range(n_bags)]
    each = np.array([predicted(bag) for bag in bags])
    inside = np.zeros((n_bags, n), dtype=bool)
    for b, bag in enumerate(bags):
        inside[b, bag] = True
    bagged = np.array([abs(each.mean(axis=0) - each[~inside[:, row]].mean(axis=0)) for row in range(n)])
    return base, bagged


@pytest.mark.filterwarnings("ignore")
def test_end_to_end(ratios):
    n_bags, theirs, ours = 500, 0.0, 0.0
    run(4, n_bags=10, n_jobs=2)  # starts the workers
    for number, setting in SETTINGS.items():
        plain = seconds(lambda setting=setting: one_by_one(setting, n_bags))
        mine = seconds(lambda number=number: run(number, n_bags=n_bags, n_jobs=2))
        title = f"the paper's settings, {n_bags} bags, {N_POINTS} points, two jobs"
        ratios(title, f"one after the other / ours, Setting {number}", plain / mine, None)
        theirs, ours = theirs + plain, ours + mine
    ratios(title, "all four", theirs / ours, 2.0)
