"""Comparing two versions by hand, with two scikit-learn models, and with `compare_versions`: spurious changes of each.

Run it with `python benchmarks/versions_by_hand.py`: a few minutes. It prints the tables of docs/versions.md. By hand, a
prediction counts as changed if it moves by more than a tenth of the standard deviation of the targets, which is what
people do who have no noise floor.
"""

import os

import numpy as np
from sklearn.ensemble import RandomForestRegressor
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from stablebag import BaggedClassifier, BaggedRegressor, Subbagging, compare_versions
from stablebag.measuring.versions import _SignFlips

N_ROWS, N_POINTS, CHURN, N_BAGS = 1000, 300, 50, 500
QUICK = "STABLEBAG_QUICK" in os.environ
N_RUNS = 2 if QUICK else 10
N_RATES = 10 if QUICK else 200


def customers(rng: np.random.Generator, kind: str = "normal") -> tuple[np.ndarray, np.ndarray]:
    """Rows of both versions and the points: two columns of use, a noise column, and whether the plan is "family"."""
    n = N_ROWS + CHURN + N_POINTS
    X = np.column_stack([rng.normal(size=(n, 3)), rng.random(n) < 0.25])
    noise = {
        "normal": rng.normal(size=n),
        "heavy-tailed": rng.standard_t(2, size=n),
        "skewed": rng.exponential(size=n) ** 2,
    }[kind]
    return X, X[:, 0] - 0.5 * X[:, 1] + noise


def by_hand(learner: object, versions: list, points: np.ndarray, seeds: tuple[int, int], limit: float) -> np.ndarray:
    """Return which predictions moved further than the limit, between two fits."""
    fits = [
        type(learner)(**{**learner.get_params(), "random_state": seed}).fit(X, y)
        for (X, y, _), seed in zip(versions, seeds, strict=True)
    ]
    return np.abs(fits[1].predict(points) - fits[0].predict(points)) > limit


def with_bags(versions: list, points: np.ndarray, seeds: tuple[int, int]) -> np.ndarray:
    """Return which predictions `compare_versions` marks."""
    models = [
        BaggedRegressor(
            DecisionTreeRegressor(min_samples_leaf=3), scheme=Subbagging(100), n_bags=N_BAGS, random_state=seed
        ).fit(X, y, row_ids=ids)
        for (X, y, ids), seed in zip(versions, seeds, strict=True)
    ]
    return compare_versions(*models, points, by=np.zeros((len(points), 1))).beyond_noise


def spurious_and_found() -> None:
    """Print how many of 300 points each way reports: if only the seed or a few rows changed, and with a shift."""
    ways = {
        "a decision tree, fitted twice": lambda *args: by_hand(DecisionTreeRegressor(min_samples_leaf=3), *args),
        "a random forest of 500 trees, fitted twice": lambda *args: by_hand(
            RandomForestRegressor(N_BAGS, min_samples_leaf=3, n_jobs=2), *args
        ),
        "`compare_versions`, 500 bags": lambda *args: with_bags(*args[:3]),
    }
    print("| way | another seed | 5% of the rows replaced | shift in one plan: points in it | the others |")
    print("|---|---|---|---|---|")
    for name, way in ways.items():
        counts = np.zeros((N_RUNS, 4))
        for run in range(N_RUNS):
            rng = np.random.default_rng(run)
            X, y = customers(rng)
            points, X, y = X[-N_POINTS:], X[:-N_POINTS], y[:-N_POINTS]
            ids, family = np.arange(len(y)), points[:, 3] > 0
            old, now = ids[:N_ROWS], ids[CHURN:]
            limit = 0.1 * y.std()
            same = [(X[old], y[old], old)] * 2
            counts[run, 0] = way(same, points, (2 * run, 2 * run + 1), limit).mean()
            seeds = (2 * run, 2 * run)
            churned = [(X[old], y[old], old), (X[now], y[now], now)]
            counts[run, 1] = way(churned, points, seeds, limit).mean()
            shifted = y + 1.5 * (X[:, 3] > 0)
            moved = way([(X[old], y[old], old), (X[now], shifted[now], now)], points, seeds, limit)
            counts[run, 2:] = moved[family].mean(), moved[~family].mean()
        print(f"| {name} | {' | '.join(f'{share:.1%}' for share in counts.mean(axis=0))} |", flush=True)


def error_rates() -> None:
    """Print in how many runs any of 40 points is marked, although nothing but the seed, or some IDs, changed."""
    print("| outputs | another seed | 10% of the rows under other IDs |")
    print("|---|---|---|")
    for kind in ("normal", "heavy-tailed", "skewed", "classes"):
        marked = np.zeros(2)
        for run in range(N_RATES):
            rng = np.random.default_rng(run)
            X, y = customers(rng, "normal" if kind == "classes" else kind)
            points, X, y = X[-40:], X[:100], y[:100]
            ids = np.arange(100)
            others = np.where(ids < 10, ids + 1000, ids)
            learner, bagged = DecisionTreeRegressor(max_depth=3), BaggedRegressor
            if kind == "classes":
                learner, bagged, y = DecisionTreeClassifier(max_depth=3), BaggedClassifier, (y > 0.5).astype(int)
            for place, (seeds, names) in enumerate((((2 * run, 2 * run + 1), ids), ((run, run), others))):
                models = [
                    bagged(learner, scheme=Subbagging(30), n_bags=60, random_state=seed).fit(X, y, row_ids=called)
                    for seed, called in zip(seeds, (ids, names), strict=True)
                ]
                marked[place] += compare_versions(*models, points).n_beyond_noise > 0
        print(f"| {kind} | {' | '.join(f'{share:.1%}' for share in marked / N_RATES)} |", flush=True)


def skewed_rates() -> None:
    """Print in how many runs any of 20 points is marked whose differences are skewed and have no mean."""
    rng, n_runs = np.random.default_rng(5), 10 if QUICK else 2000
    print("| bags that differ | exponential, alike at all points | squared exponential, independent at all points |")
    print("|---|---|---|")
    for n_changed in (10, 20, 60, 200):
        marked = [0, 0]
        for kind in range(2):
            for _ in range(n_runs):
                differences = np.zeros((300, 20))
                if kind == 0:
                    shared = rng.exponential(size=(n_changed, 1)) - 1
                    differences[:n_changed] = 0.7 * shared + 0.3 * (rng.exponential(size=(n_changed, 20)) - 1)
                else:
                    differences[:n_changed] = rng.exponential(size=(n_changed, 20)) ** 2 - 2
                flips = _SignFlips(300, 20)
                marked[kind] += bool((flips.add(differences) > flips.threshold).any())
        print(f"| {n_changed} | {' | '.join(f'{count / n_runs:.0%}' for count in marked)} |", flush=True)


if __name__ == "__main__":
    spurious_and_found()
    print()
    error_rates()
    print()
    skewed_rates()
