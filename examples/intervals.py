"""The jackknife fails for an unstable learner, and bagging repairs it: a simulation with a picture.

Least squares with about as many features as rows is the textbook case of an unstable learner: near n = d the solution
of smallest norm swings with every row. Without a row it is a different one, and its residuals say little of the one
with all rows: the intervals of the jackknife, built on them, are far too short. The jackknife+ knows better. Bagging
half of the rows makes the learner stable, and then the plain jackknife covers, too.

    python examples/intervals.py            # some minutes
    python examples/intervals.py --quick    # some seconds: fewer rows and data sets
    python examples/intervals.py --output DIR    # where to write the picture

The picture needs matplotlib: pip install 'stablebag[plot]'.
"""

import argparse
import textwrap
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed
from sklearn.linear_model import LinearRegression

from stablebag import BaggedRegressor, Subbagging, jackknife_intervals_refit, predict_interval, random_n_bags

LEVEL, N_POINTS = 0.9, 50
METHODS = ("jackknife", "jackknife+", "bagged, jackknife", "bagged, jackknife+")

Outcome = dict[str, tuple[float, float]]


def draw(n_rows: int, n_features: int, generator: np.random.Generator) -> tuple[np.ndarray, ...]:
    """Draw training rows and test points from a linear model whose signal has ten times the variance of its noise."""
    effects = generator.normal(size=n_features)
    effects *= np.sqrt(10) / np.linalg.norm(effects)
    X = generator.normal(size=(n_rows + N_POINTS, n_features))
    y = X @ effects + generator.normal(size=n_rows + N_POINTS)
    return X[:n_rows], y[:n_rows], X[n_rows:], y[n_rows:]


def one_data_set(n_rows: int, n_features: int, n_bags: int, trial: int) -> Outcome:
    """Return, for each kind of interval, the share of new rows that it covers, and its median width."""
    X, y, X_new, y_new = draw(n_rows, n_features, np.random.default_rng([0, n_features, trial]))
    learner = LinearRegression(fit_intercept=False)  # the solution of smallest norm where there are many
    scheme = Subbagging(0.5)
    # What is proved of the jackknife+ over bags is proved for a number of bags that is drawn at random.
    number = random_n_bags(scheme, n_rows, n_bags, random_state=1000 + trial)
    bagged = BaggedRegressor(learner, scheme=scheme, n_bags=number, prediction_range=None, random_state=trial).fit(X, y)
    points = bagged.predict_once(X_new)
    found = (
        jackknife_intervals_refit(learner, X, y, X_new, method="jackknife", confidence_level=LEVEL),
        jackknife_intervals_refit(learner, X, y, X_new, method="jackknife+", confidence_level=LEVEL),
        predict_interval(bagged, points, method="jackknife", confidence_level=LEVEL),
        predict_interval(bagged, points, method="jackknife+", confidence_level=LEVEL),
    )
    return {
        name: (intervals.coverage(y_new), float(np.median(intervals.width)))
        for name, intervals in zip(METHODS, found, strict=True)
    }


def simulate(n_rows: int, features: list[int], n_trials: int, n_bags: int) -> dict[int, Outcome]:
    """Return, for each number of features, the mean coverage and the median width of each kind of interval."""
    tasks = [(d, trial) for d in features for trial in range(n_trials)]
    found = Parallel(n_jobs=2)(delayed(one_data_set)(n_rows, d, n_bags, trial) for d, trial in tasks)
    results: dict[int, Outcome] = {}
    for d in features:
        outcomes = [outcome for (d_of, _), outcome in zip(tasks, found, strict=True) if d_of == d]
        results[d] = {
            name: (
                float(np.mean([outcome[name][0] for outcome in outcomes])),
                float(np.median([outcome[name][1] for outcome in outcomes])),
            )
            for name in METHODS
        }
    return results


def show(results: dict[int, Outcome], n_rows: int, n_trials: int) -> None:
    """Print the table, and what is to be seen in it."""
    print(f"Least squares on {n_rows} rows. Intervals that should cover {LEVEL * 100:.0f} % of new rows:")
    print(f"how many they cover, and in brackets their median width. Mean over {n_trials} data sets.\n")
    print("  features" + "".join(f"{name:>22}" for name in METHODS))
    for d, result in results.items():
        print(f"  {d:>8}" + "".join(f"{f'{100 * share:.1f} % ({width:.1f})':>22}" for share, width in result.values()))
    worst = results[n_rows]
    share, plus, bagged = worst["jackknife"][0], worst["jackknife+"], worst["bagged, jackknife"]
    text = (
        f"With as many features as rows the jackknife covers only {100 * share:.1f} % of new rows. The jackknife+ "
        f"covers {100 * plus[0]:.1f} %, with intervals that are {plus[1]:.0f} wide. Bagged, the plain jackknife covers "
        f"{100 * bagged[0]:.1f} %, with intervals that are {bagged[1]:.0f} wide. For any learner the jackknife+ is "
        f"proved to cover at least {100 * (2 * LEVEL - 1):.0f} %, on average over data sets. Of the jackknife nothing "
        "is proved."
    )
    print("\n" + textwrap.fill(text, width=100))


def picture(results: dict[int, Outcome], n_rows: int, path: Path) -> None:
    """Draw coverages and widths."""
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    for name, style in zip(METHODS, ("r--", "r-", "b--", "b-"), strict=True):
        left.plot(list(results), [result[name][0] for result in results.values()], style, label=name)
        right.semilogy(list(results), [result[name][1] for result in results.values()], style, label=name)
    left.axhline(LEVEL, color="black", linestyle=":", label="level")
    left.axhline(2 * LEVEL - 1, color="gray", linestyle=":", label="proved for the jackknife+")
    left.set(xlabel="features", ylabel="coverage of new rows", title=f"least squares on {n_rows} rows")
    right.set(xlabel="features", ylabel="median width", title="and what it costs")
    left.legend(fontsize="small")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=100)
    print(f"\nThe picture is in {path}.")


def main() -> None:
    """Read the options, simulate, print and draw."""
    parser = argparse.ArgumentParser(description="The jackknife fails for an unstable learner, and bagging repairs it.")
    parser.add_argument("--quick", action="store_true", help="fewer rows and data sets: some seconds")
    parser.add_argument("--output", type=Path, default=Path("."), metavar="DIR", help="where to write the picture")
    options = parser.parse_args()
    n_rows, n_trials, n_bags = (40, 4, 60) if options.quick else (100, 40, 200)
    per_cent = (20, 90, 100, 110, 200) if options.quick else (20, 60, 80, 90, 95, 100, 105, 110, 120, 150, 200)
    results = simulate(n_rows, [n_rows * share // 100 for share in per_cent], n_trials, n_bags)
    show(results, n_rows, n_trials)
    picture(results, n_rows, options.output / "intervals.png")


if __name__ == "__main__":
    main()
