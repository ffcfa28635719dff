"""The jackknife fails for an unstable learner, and bagging repairs it: a simulation with a picture.

Least squares with about as many features as rows is the textbook case of an unstable learner: near n = d the solution
of smallest norm swings with every row. Without a row it is a different one, and its residuals say little of the one
with all rows: the intervals of the jackknife, built on them, are far too short. The jackknife+ knows better, and
bagging half of the rows makes the learner stable, after which the plain jackknife covers, too.

    python examples/intervals.py [where to write the picture]     # some minutes
"""

import sys

import numpy as np
from sklearn.linear_model import LinearRegression

from stablebag import BaggedRegressor, Subbagging, jackknife_intervals_refit, predict_interval

N_ROWS, LEVEL = 100, 0.9


def draw(n_features: int, n_points: int, generator: np.random.Generator) -> tuple[np.ndarray, ...]:
    """Draw training rows and test points from a linear model whose signal has ten times the variance of its noise."""
    effects = generator.normal(size=n_features)
    effects *= np.sqrt(10) / np.linalg.norm(effects)
    X = generator.normal(size=(N_ROWS + n_points, n_features))
    y = X @ effects + generator.normal(size=N_ROWS + n_points)
    return X[:N_ROWS], y[:N_ROWS], X[N_ROWS:], y[N_ROWS:]


def coverages(n_features: int, n_trials: int, n_bags: int, seed: int = 0) -> dict[str, tuple[float, float]]:
    """Return the share of new rows that each kind of interval covers, and its median width."""
    learner = LinearRegression(fit_intercept=False)  # the solution of smallest norm where there are many
    covered: dict[str, list[float]] = {}
    widths: dict[str, list[float]] = {}
    for trial in range(n_trials):
        X, y, X_test, y_test = draw(n_features, 50, np.random.default_rng([seed, n_features, trial]))
        bagged = BaggedRegressor(
            learner, scheme=Subbagging(0.5), n_bags=n_bags, prediction_range=None, random_state=trial
        ).fit(X, y)
        found = {
            "jackknife": jackknife_intervals_refit(learner, X, y, X_test, method="jackknife", confidence_level=LEVEL),
            "jackknife+": jackknife_intervals_refit(learner, X, y, X_test, confidence_level=LEVEL),
            "bagged, jackknife": predict_interval(bagged, X_test, method="jackknife", confidence_level=LEVEL),
            "bagged, jackknife+": predict_interval(bagged, X_test, confidence_level=LEVEL),
        }
        for name, intervals in found.items():
            covered.setdefault(name, []).append(intervals.coverage(y_test))
            widths.setdefault(name, []).append(float(np.median(intervals.width)))
    return {name: (float(np.mean(shares)), float(np.median(widths[name]))) for name, shares in covered.items()}


def main(path: str = "intervals.png", n_trials: int = 40, n_bags: int = 200) -> None:
    """Print the coverages and draw them."""
    import matplotlib.pyplot as plt

    features = (20, 60, 80, 90, 95, 100, 105, 110, 120, 150, 200)
    results = {d: coverages(d, n_trials, n_bags) for d in features}
    names = list(results[features[0]])
    print(f"Coverage (median width) of intervals at level {LEVEL:g}, {N_ROWS} rows, {n_trials} data sets:\n")
    print("  features" + "".join(f"{name:>24}" for name in names))
    for d, result in results.items():
        print(f"  {d:>8}" + "".join(f"{covered:>15.3f} ({width:6.1f})" for covered, width in result.values()))
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    styles = ("r--", "r-", "b--", "b-")
    for name, style in zip(names, styles, strict=True):
        left.plot(features, [results[d][name][0] for d in features], style, label=name)
        right.semilogy(features, [results[d][name][1] for d in features], style, label=name)
    left.axhline(LEVEL, color="black", linestyle=":", label="level")
    left.axhline(2 * LEVEL - 1, color="gray", linestyle=":", label="proved for the jackknife+")
    left.set(xlabel="features", ylabel="coverage of new rows", title=f"least squares on {N_ROWS} rows")
    right.set(xlabel="features", ylabel="median width", title="and what it costs")
    left.legend(fontsize="small")
    figure.savefig(path, dpi=100)
    print(f"\nThe picture is in {path}.")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "intervals.png")
