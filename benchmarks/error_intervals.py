"""Simulate how often error intervals contain the error of the fitted model, and how wide they are.

The error is the mean loss at 10^6 fresh rows of the model that would be deployed, fitted to all rows. Next to the two
intervals of `leave_one_out_error`: the same without its widening, cross-validation with two standard errors of five
folds, the corrected resampled t interval (Nadeau and Bengio, 2003) of ten splits, and a fifth of the rows held out, for
a model that has lost these rows. Run it with

    python benchmarks/error_intervals.py [factor] [designs ...]

and it prints the tables of docs/errors.md, as lines of numbers. A factor of 1 takes about an hour on one core; with
"compare" in place of a design, it simulates `compare_errors`.
"""

import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats
from sklearn.linear_model import Ridge
from sklearn.model_selection import KFold, ShuffleSplit
from sklearn.neighbors import KNeighborsRegressor
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from stablebag import BaggedClassifier, BaggedRegressor, FixedRange, Subbagging, leave_one_out_error
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

    def fit(self, X: np.ndarray, y: np.ndarray) -> Any:
        """Fit the bagged model."""
        learner = self.learner(len(y))
        settings: dict[str, Any] = {"scheme": Subbagging(0.5), "n_bags": N_BAGS, "random_state": 0}
        if self.targets is imbalanced:
            return BaggedClassifier(learner, **settings).fit(X, y)
        return BaggedRegressor(learner, prediction_range=FixedRange(*self.interval), **settings).fit(X, y)

    def losses(self, model: Any, X: np.ndarray, y: np.ndarray, places: np.ndarray | None = None) -> np.ndarray:
        """Return the loss at rows; with `places`, X has the points of the grid, and rows lie there."""
        if self.targets is imbalanced:
            all_columns = np.zeros((len(X), 2))
            all_columns[:, model.classes_.astype(int)] = model.predict_proba(X)
            chance = all_columns if places is None else all_columns[places]
            wrong = (chance[:, 1] > 0.5) != (y == 1)
            return np.asarray(2 * (chance[:, 1] - y) ** 2 if self.loss == "brier" else wrong.astype(float))
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
    "Memorizer": Design(lambda n: Memorizer(), coin, "absolute", (0, 1)),
    "ThresholdCount": Design(lambda n: ThresholdCount(n, n // 2), coin, "absolute", (0, 1)),
}


def _of_mean(losses: np.ndarray) -> tuple[float, float]:
    half = float(stats.t.isf((1 - LEVEL) / 2, len(losses) - 1) * losses.std(ddof=1) / np.sqrt(len(losses)))
    return losses.mean() - half, losses.mean() + half


def _splits(design: Design, X: np.ndarray, y: np.ndarray, splits: Any) -> np.ndarray:
    means = []
    for train, test in splits.split(X):
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
        kept = design.fit(X[n // 5 :], y[n // 5 :])
        found["held out"] = _of_mean(design.losses(kept, X[: n // 5], y[: n // 5]))
        risks["held out"] = float(design.losses(kept, points, targets, places).mean())
        for method, (low, high) in found.items():
            covered.setdefault(method, []).append(low <= risks[method] <= high)
            widths.setdefault(method, []).append(high - low)
    return {method: (float(np.mean(covered[method])), float(np.mean(widths[method]))) for method in covered}


def main(factor: float = 1.0, *names: str) -> None:
    """Print the coverage and width of each method for every design and number of rows."""
    warnings.simplefilter("ignore")
    for n, repetitions in REPETITIONS.items():
        for name in names or DESIGNS:
            found = simulate(name, n, max(2, round(factor * repetitions)))
            shown = "  ".join(f"{method} {share:.3f} {width:.4g}" for method, (share, width) in found.items())
            print(f"{name}, {n:,} rows, {max(2, round(factor * repetitions))} repetitions: {shown}", flush=True)


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 1.0, *sys.argv[2:])
