"""Data, learners and a clock that several benchmarks share."""

import time
from statistics import median

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeRegressor
from threadpoolctl import threadpool_limits

_ROUNDS = 5


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


class Times:
    """The CPU seconds of some tasks in several rounds."""

    def __init__(self, rounds):
        self.rounds = rounds

    def ratio(self, one, other):
        """The median ratio, over rounds, of the times of two tasks."""
        return median(times[one] / times[other] for times in self.rounds)

    def median(self, task):
        return median(times[task] for times in self.rounds)


def rounds_of(*tasks, n_rounds=_ROUNDS):
    """Run the tasks in turns, several times, on one thread, so that other work on the machine affects all alike."""
    with threadpool_limits(1):
        for task in tasks:
            task()  # fills caches and imports modules
        return Times([{task: cpu_seconds(task) for task in tasks} for _ in range(n_rounds)])


def cpu_seconds(task):
    begin = time.process_time()
    task()
    return time.process_time() - begin


def constant(X, y, seed):
    """A learner that costs nothing, to measure everything else."""
    level = float(seed % 1000)
    return lambda points: np.full(len(points), level)
