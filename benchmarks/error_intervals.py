"""Simulate how often error intervals contain the error of the fitted model, and how wide they are.

The error is the mean loss at 10^6 fresh rows of the model that would be deployed, fitted to all rows. Next to the two
intervals of `leave_one_out_error`: the same without its widening, cross-validation with two standard errors of five
folds, the corrected resampled t interval (Nadeau and Bengio, 2003) of ten splits, and a fifth of the rows held out, for
a model that has lost these rows. Run it with

    python benchmarks/error_intervals.py [factor] [designs ...]

and it prints the tables of docs/errors.md, as lines of numbers. A factor of 1 takes about an hour on one core; with
"compare" in place of a design, it simulates `compare_errors`, and with "hard" groups, rare classes, skewed noise, other
schemes, samples of rows and few bags.
"""

import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy import stats
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.linear_model import Ridge
from sklearn.model_selection import KFold, ShuffleSplit
from sklearn.neighbors import KNeighborsRegressor
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from stablebag import (
    BaggedClassifier,
    BaggedRegressor,
    BernoulliSubbagging,
    ClassicalBagging,
    FixedRange,
    Subbagging,
    compare_errors,
    leave_one_out_error,
)
from stablebag.paper import Memorizer, ThresholdCount

LEVEL, N_BAGS, N_FRESH = 0.95, 200, 10**6
SIDE = 24  # rows lie on a grid, so that the predictions for 10^6 rows are those at its points
GRID = np.stack(np.meshgrid(*[np.linspace(-2, 2, SIDE)] * 2), axis=-1).reshape(-1, 2)
SIGNAL = np.sin(2 * GRID[:, 0]) + GRID[:, 1] * (GRID[:, 0] > 0)
CHANCE = 1 / (1 + np.exp(4.0 - 1.2 * SIGNAL))  # of the rare class, 3 % on average
REPETITIONS = {50: 400, 200: 200, 1000: 40, 5000: 20}


def clean(rng: np.random.Generator, places: np.ndarray) -> np.ndarray:
    """Normal noise, which the range of -10 to 10 does not cut off."""
    return np.clip(SIGNAL[places] + rng.normal(size=len(places)), -10, 10)


def heavy(rng: np.random.Generator, places: np.ndarray) -> np.ndarray:
    """Noise with 2.5 degrees of freedom, cut off at the ends of the range."""
    return np.clip(SIGNAL[places] + rng.standard_t(2.5, size=len(places)), -10, 10)


def imbalanced(rng: np.random.Generator, places: np.ndarray) -> np.ndarray:
    """Two classes, one of them rare."""
    return (rng.random(len(places)) < CHANCE[places]).astype(float)


def coin(rng: np.random.Generator, places: np.ndarray) -> np.ndarray:
    """0 or 1, whatever the features are."""
    return (rng.random(len(places)) < 0.5).astype(float)


@dataclass(frozen=True)
class Design:
    """A learner, targets, a loss, and the range of predictions."""

    learner: Callable[[int], Any]
    targets: Callable[[np.random.Generator, np.ndarray], np.ndarray]
    loss: str
    interval: tuple[float, float] = (-10, 10)
    bag_size: float = 0.5

    def fit(self, X: np.ndarray, y: np.ndarray, random_state: int = 0) -> Any:
        """Fit the bagged model."""
        learner = self.learner(len(y))
        settings: dict[str, Any] = {"scheme": Subbagging(self.bag_size), "n_bags": N_BAGS, "random_state": random_state}
        if self.targets is imbalanced:
            return BaggedClassifier(learner, **settings).fit(X, y)
        return BaggedRegressor(learner, prediction_range=FixedRange(*self.interval), **settings).fit(X, y)

    def losses(self, model: Any, X: np.ndarray, y: np.ndarray, places: np.ndarray | None = None) -> np.ndarray:
        """Return the loss at rows; with `places`, X has the points of the grid, and rows lie there."""
        if self.targets is imbalanced:
            all_columns = np.zeros((len(X), 2))
            all_columns[:, model.classes_.astype(int)] = model.predict_proba(X)
            chance = all_columns if places is None else all_columns[places]
            off = np.abs(chance[:, 1] - y)
            of_losses = {"brier": 2 * off**2, "probability": off, "zero_one": (off > 0.5).astype(float)}
            return np.asarray(of_losses[self.loss])
        predicted = model.predict(X) if places is None else model.predict(X)[places]
        return np.asarray(np.abs(predicted - y) ** (2 if self.loss == "squared" else 1))


def _tree(n: int) -> Any:
    return DecisionTreeRegressor(random_state=0)


DESIGNS = {
    "trees, clean": Design(_tree, clean, "squared"),
    "trees, clean, absolute": Design(_tree, clean, "absolute"),
    "trees, heavy": Design(_tree, heavy, "absolute"),
    "ridge, clean": Design(lambda n: Ridge(), clean, "squared"),
    "ridge, heavy": Design(lambda n: Ridge(), heavy, "absolute"),
    "3-NN, clean": Design(lambda n: KNeighborsRegressor(3), clean, "squared"),
    "3-NN, heavy": Design(lambda n: KNeighborsRegressor(3), heavy, "absolute"),
    "trees, imbalanced": Design(lambda n: DecisionTreeClassifier(max_depth=4), imbalanced, "brier"),
    "trees, imbalanced, zero-one": Design(lambda n: DecisionTreeClassifier(max_depth=4), imbalanced, "zero_one"),
    "trees, imbalanced, bags of 2%": Design(
        lambda n: DecisionTreeClassifier(max_depth=4), imbalanced, "probability", bag_size=0.02
    ),
    "Memorizer": Design(lambda n: Memorizer(), coin, "absolute", (0, 1)),
    "ThresholdCount": Design(lambda n: ThresholdCount(n, n // 2), coin, "absolute", (0, 1)),
}


def _of_mean(losses: np.ndarray) -> tuple[float, float]:
    half = float(stats.t.isf((1 - LEVEL) / 2, len(losses) - 1) * losses.std(ddof=1) / np.sqrt(len(losses)))
    return losses.mean() - half, losses.mean() + half


def _splits(design: Design, X: np.ndarray, y: np.ndarray, splits: Any) -> np.ndarray:
    means = []
    for train, test in splits.split(X):
        if design.targets is imbalanced and len(np.unique(y[train])) < 2:
            continue
        means.append(design.losses(design.fit(X[train], y[train]), X[test], y[test]).mean())
    return np.array(means)


def intervals(design: Design, model: Any, X: np.ndarray, y: np.ndarray) -> dict[str, tuple[float, float]]:
    """Return the interval of each method for the error of the fitted model."""
    error, found = leave_one_out_error(model, design.loss), {}
    found["plain"] = _of_mean(error.losses)
    found["asymptotic"] = found["plain"]
    if error.losses.std() > 0:
        found["asymptotic"] = tuple(error.interval(LEVEL))
    if design.loss != "zero_one":
        found["proved"] = tuple(error.interval(LEVEL, "proved"))
    if len(y) <= 1000:
        folds = _splits(design, X, y, KFold(5, shuffle=True, random_state=0))
        half = 2 * folds.std(ddof=1) / np.sqrt(5)
        found["cross-validation"] = folds.mean() - half, folds.mean() + half
        parts = _splits(design, X, y, ShuffleSplit(10, test_size=0.2, random_state=0))
        corrected = float(np.sqrt((1 / 10 + 0.2 / 0.8) * parts.var(ddof=1)) * stats.t.isf((1 - LEVEL) / 2, 9))
        found["corrected t"] = parts.mean() - corrected, parts.mean() + corrected
    return found


def simulate(name: str, n: int, repetitions: int, seed: int = 0) -> dict[str, tuple[float, float]]:
    """Return the coverage and the mean width of each method's intervals."""
    design, covered, widths = DESIGNS[name], dict[str, list[float]](), dict[str, list[float]]()
    fresh = np.random.default_rng([seed, 1])
    places = fresh.integers(0, len(GRID), N_FRESH)
    targets = design.targets(fresh, places)
    points = (GRID > 0).astype(float) if name == "ThresholdCount" else GRID
    for repetition in range(repetitions):
        rng = np.random.default_rng([seed, n, repetition])
        drawn = rng.integers(0, len(GRID), n)
        X, y = points[drawn], design.targets(rng, drawn)
        if design.targets is imbalanced and y.sum() < 2:
            continue
        model = design.fit(X, y)
        found = intervals(design, model, X, y)
        risk = float(design.losses(model, points, targets, places).mean())
        risks = dict.fromkeys(found, risk)
        if design.targets is not imbalanced or len(np.unique(y[n // 5 :])) == 2:
            kept = design.fit(X[n // 5 :], y[n // 5 :])
            found["held out"] = _of_mean(design.losses(kept, X[: n // 5], y[: n // 5]))
            risks["held out"] = float(design.losses(kept, points, targets, places).mean())
        for method, (low, high) in found.items():
            covered.setdefault(method, []).append(low <= risks[method] <= high)
            widths.setdefault(method, []).append(high - low)
    return {method: (float(np.mean(covered[method])), float(np.mean(widths[method]))) for method in covered}


# ---------------------------------------------------------------------------------------------------------- comparisons


class SoftThreshold(RegressorMixin, BaseEstimator):
    """Covariances with the target, moved towards zero by `threshold`: the learner of arXiv 2508.04409."""

    def __init__(self, threshold: float = 0.0) -> None:
        self.threshold = threshold

    def fit(self, X: np.ndarray, y: np.ndarray) -> "SoftThreshold":
        """Fit."""
        covariance = X.T @ y / len(y)
        self.coef_ = np.sign(covariance) * np.maximum(np.abs(covariance) - self.threshold, 0)
        return self

    def predict(self, X: np.ndarray) -> Any:
        """Predict."""
        return X @ self.coef_


def lognormal(rng: np.random.Generator, places: np.ndarray) -> np.ndarray:
    """Skewed noise, cut off at the end of the range."""
    return np.clip(SIGNAL[places] + np.exp(1.5 * rng.normal(size=len(places))), -10, 10)


EQUAL = {
    "trees, clean": Design(lambda n: DecisionTreeRegressor(max_depth=5), clean, "squared"),
    "trees, heavy": Design(lambda n: DecisionTreeRegressor(max_depth=5), heavy, "squared"),
    "trees, lognormal": Design(lambda n: DecisionTreeRegressor(max_depth=5), lognormal, "squared"),
    "trees, imbalanced": Design(lambda n: DecisionTreeClassifier(max_depth=4), imbalanced, "brier"),
}


def _naive(a: Any, b: Any, loss: Callable[..., np.ndarray], X: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """Ten-fold cross-validation of the difference, with 1.96 standard errors of the rows."""
    losses = np.empty(len(y))
    for train, test in KFold(10, shuffle=True, random_state=0).split(X):
        losses[test] = np.subtract(*(loss(clone(each).fit(X[train], y[train]), X[test], y[test]) for each in (a, b)))
    half = 1.96 * losses.std(ddof=1) / np.sqrt(len(y))
    return losses.mean() - half, losses.mean() + half


def compare_equal(name: str, n: int, repetitions: int, seed: int = 0) -> dict[str, float]:
    """Two models of one learner, with different bags: shares that are covered, called better, and called so wrongly."""
    design, counts, n_trials = EQUAL[name], np.zeros(3), 0
    fresh = np.random.default_rng([seed, 1])
    places = fresh.integers(0, len(GRID), N_FRESH)
    targets = design.targets(fresh, places)
    for repetition in range(repetitions):
        rng = np.random.default_rng([seed, n, repetition])
        drawn = rng.integers(0, len(GRID), n)
        X, y = GRID[drawn], design.targets(rng, drawn)
        if design.targets is imbalanced and y.sum() < 2:
            continue
        n_trials += 1
        models = [design.fit(X, y, random_state=2 * repetition + k) for k in range(2)]
        true = float(np.subtract(*(design.losses(model, GRID, targets, places).mean() for model in models)))
        found = compare_errors(*models, design.loss)
        called = found.better is not None
        counts += [true in found.interval, called, called and (found.better == "a") == (true > 0)]
    return dict(zip(("covered", "called better", "wrongly"), counts / n_trials, strict=True))


def compare_soft(thresholds: tuple[float, float], n: int, repetitions: int, seed: int = 0) -> dict[str, float]:
    """Two soft-thresholded least squares: shares that ours and the naive interval cover, and wrong verdicts of both."""
    truth, counts = np.array([1.0, 0.5, 0.25] + 7 * [0.0]), np.zeros(5)
    learners = [SoftThreshold(each / np.sqrt(n)) for each in thresholds]
    for repetition in range(repetitions):
        rng = np.random.default_rng([seed, n, repetition])
        X = rng.normal(size=(n, 10))
        y = X @ truth + rng.normal(size=n)
        settings: dict[str, Any] = {"n_bags": N_BAGS, "prediction_range": None, "random_state": repetition}
        models = [BaggedRegressor(each, scheme=Subbagging(0.5), **settings).fit(X, y) for each in learners]
        means = [np.mean([part.coef_ for part in model.estimators_], axis=0) for model in models]
        true = float(np.subtract(*(((mean - truth) ** 2).sum() for mean in means)))
        found = compare_errors(*models, "squared")
        whole = float(np.subtract(*(((clone(each).fit(X, y).coef_ - truth) ** 2).sum() for each in learners)))
        low, high = _naive(*learners, lambda model, X, y: (model.predict(X) - y) ** 2, X, y)
        called = found.better is not None
        naive_is_wrong = (low > 0 and whole < 0) or (high < 0 and whole > 0)
        wrong = called and (found.better == "a") == (true > 0)
        counts += [true in found.interval, called, wrong, low <= whole <= high, naive_is_wrong]
    names = ("covered", "called better", "wrongly", "covered by the naive interval", "naively wrong")
    return dict(zip(names, counts / repetitions, strict=True))


def main_of_comparisons(factor: float) -> None:
    """Print how often `compare_errors` covers the difference, calls a model better, and is wrong."""
    for n in (50, 200):
        for name in EQUAL:
            print(f"equal {name}, {n} rows:", compare_equal(name, n, round(400 * factor)), flush=True)
    for n in (100, 400):
        for thresholds in ((1.0, 1.05), (1.0, 2.0), (0.0, 1.0)):
            print(f"thresholds {thresholds}, {n} rows:", compare_soft(thresholds, n, round(400 * factor)), flush=True)


# ---------------------------------------------------------------------------------------------------------- hard kinds

HARD_SIDE = 16  # points on a side of the grid
GROUP_SIZES = np.array([1, 1, 1, 1, 2, 3, 5, 40])
PLACES = np.stack(np.meshgrid(*[np.linspace(-2, 2, HARD_SIDE)] * 2), axis=-1).reshape(-1, 2)
LEVELS = np.sin(2 * PLACES[:, 0]) + PLACES[:, 1] * (PLACES[:, 0] > 0)


def _in_groups(rng: np.random.Generator, n_groups: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Where rows are, their targets and groups; targets of a group share an effect, which is larger in large groups."""
    sizes = GROUP_SIZES[rng.integers(0, len(GROUP_SIZES), n_groups)]
    effect, groups = rng.normal(size=n_groups) * (1 + (sizes > 3)), np.repeat(np.arange(n_groups), sizes)
    places = rng.integers(0, len(PLACES), len(groups))
    return places, LEVELS[places] + effect[groups] + rng.normal(size=len(groups)), groups


def _tried(error: Any, true: float) -> tuple[bool, float, bool, float] | None:
    """Whether the interval covers and its width, and the same of the one that is not widened; None if there is none."""
    try:
        found = error.interval(LEVEL)
    except ValueError:  # all losses are equal
        return None
    low, high = _of_mean(error._evidence.losses)
    return true in found, found.width, low <= true <= high, high - low


def hard_groups(n_groups: int, learner: Any, repetition: int, part: int = 1) -> Any:
    """Groups of very different sizes, all or one of so many parts of them; the error is that at a new group."""
    places, y, groups = _in_groups(np.random.default_rng([n_groups, repetition]), n_groups)
    model = BaggedRegressor(learner, n_bags=100, prediction_range=None, random_state=repetition)
    model.fit(PLACES[places], y, groups=groups)
    fresh, targets, of = _in_groups(np.random.default_rng(9), 40_000)
    losses = (model.predict(PLACES)[fresh] - targets) ** 2
    rows = None if part == 1 else len(y) // part
    true = float((np.bincount(of, weights=losses) / np.bincount(of)).mean())
    return _tried(leave_one_out_error(model, "squared", rows=rows, random_state=repetition), true)


def hard_rare(n: int, share: float, loss: str, repetition: int) -> Any:
    """A class that is rare."""
    chance = 1 / (1 + np.exp(-1.2 * LEVELS))
    chance = np.minimum(1, chance * share / chance.mean())
    rng = np.random.default_rng([n, repetition, 1])
    places = rng.integers(0, len(PLACES), n)
    y = (rng.random(n) < chance[places]).astype(int)
    if y.sum() < 1:
        return None
    tree = DecisionTreeClassifier(random_state=0, max_depth=4)
    model = BaggedClassifier(tree, n_bags=100, random_state=repetition).fit(PLACES[places], y)
    p = model.predict_proba(PLACES)[:, 1]
    true = {
        "zero_one": np.where(p > 0.5, 1 - chance, chance),
        "brier": 2 * chance * (1 - p) ** 2 + 2 * (1 - chance) * p**2,
        "probability": chance * (1 - p) + (1 - chance) * p,
    }[loss].mean()
    return _tried(leave_one_out_error(model, loss), float(true))


def hard_noise(n: int, learner: Any, repetition: int, *, skewed: bool, n_bags: int = 100, scheme: Any = None,
               rows: int | None = None) -> Any:  # fmt: skip
    """Normal or lognormal noise, with squared loss."""
    rng = np.random.default_rng([n, repetition, 2])
    places, noise = rng.integers(0, len(PLACES), n), rng.normal(size=n)
    noise, variance = (np.exp(noise) - np.exp(0.5), np.exp(2) - np.exp(1)) if skewed else (noise, 1.0)
    settings = {"n_bags": n_bags, "scheme": scheme or Subbagging(0.5), "random_state": repetition}
    model = BaggedRegressor(learner, prediction_range=None, **settings).fit(PLACES[places], LEVELS[places] + noise)
    true = float(((model.predict(PLACES) - LEVELS) ** 2).mean() + variance)
    error = leave_one_out_error(model, "squared", rows=rows, random_state=repetition, undefined="skip")
    return _tried(error, true)


def main_of_hard_kinds(factor: float) -> None:
    """Print the coverage and width for kinds of data that are hard."""
    tree, six, ridge = (
        DecisionTreeRegressor(random_state=0),
        DecisionTreeRegressor(max_depth=6, random_state=0),
        Ridge(),
    )
    kinds: dict[str, tuple[int, Callable[[int], Any]]] = {
        "trees, 30 groups": (150, lambda k: hard_groups(30, six, k)),
        "trees, 100 groups": (80, lambda k: hard_groups(100, six, k)),
        "trees, a third of 100 groups": (60, lambda k: hard_groups(100, six, k, part=3)),
        "ridge, 30 groups": (150, lambda k: hard_groups(30, ridge, k)),
        "lognormal, trees, 50 rows": (200, lambda k: hard_noise(50, tree, k, skewed=True)),
        "lognormal, trees, 200 rows": (100, lambda k: hard_noise(200, tree, k, skewed=True)),
        "lognormal, trees, 1,000 rows": (30, lambda k: hard_noise(1000, tree, k, skewed=True)),
        "lognormal, ridge, 200 rows": (150, lambda k: hard_noise(200, ridge, k, skewed=True)),
        "classical bagging": (150, lambda k: hard_noise(100, tree, k, skewed=False, scheme=ClassicalBagging())),
        "Bernoulli": (150, lambda k: hard_noise(100, tree, k, skewed=False, scheme=BernoulliSubbagging(0.5))),
        "trees, 100 of 1,000 rows": (60, lambda k: hard_noise(1000, tree, k, skewed=False, rows=100)),
        "ridge, 100 of 1,000 rows": (60, lambda k: hard_noise(1000, ridge, k, skewed=False, rows=100)),
    }
    for n, n_bags, sets in ((1000, 10, 60), (1000, 30, 60), (4000, 10, 25)):
        one = partial(hard_noise, n, tree, skewed=False, n_bags=n_bags)
        kinds[f"trees, {n:,} rows, {n_bags} bags"] = sets, one
    for n, share, loss in ((50, 0.01, "zero_one"), (100, 0.03, "zero_one"), (300, 0.03, "zero_one"),
                           (300, 0.01, "zero_one"), (300, 0.01, "probability"), (100, 0.03, "brier")):  # fmt: skip
        kinds[f"{share:.0%} positives, {n} rows, {loss}"] = 150, partial(hard_rare, n, share, loss)
    for name, (repetitions, one) in kinds.items():
        tried = [one(k) for k in range(max(2, round(factor * repetitions)))]
        there = np.array([each for each in tried if each is not None])
        shares = "none has an interval"
        if len(there):
            covered, width, plainly, plain = there.mean(axis=0)
            shares = f"asymptotic {covered:.3f} {width:.3g}  plain {plainly:.3f} {plain:.3g}"
        print(f"{name}, {len(there)} of {len(tried)} data sets: {shares}", flush=True)


def main(factor: float = 1.0, *names: str) -> None:
    """Print the coverage and width of each method for every design and number of rows."""
    warnings.simplefilter("ignore")
    if names == ("compare",):
        main_of_comparisons(factor)
        return
    if names == ("hard",):
        main_of_hard_kinds(factor)
        return
    for n, repetitions in REPETITIONS.items():
        for name in names or DESIGNS:
            found = simulate(name, n, max(2, round(factor * repetitions)))
            shown = "  ".join(f"{method} {share:.3f} {width:.4g}" for method, (share, width) in found.items())
            print(f"{name}, {n:,} rows, {max(2, round(factor * repetitions))} repetitions: {shown}", flush=True)


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 1.0, *sys.argv[2:])
