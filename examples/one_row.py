"""Draw the picture of the README: a decision tree and its bagged version, with and without one training row.

Both models predict the disease progression of 442 patients from their body mass index. Each model is refitted without
each patient in turn; the bagged model keeps its random seed. The picture shows the refit that differs most.

    python examples/one_row.py                 # a minute
    python examples/one_row.py --quick         # fewer bags, and only every tenth patient
    python examples/one_row.py --output DIR    # the folder to write the picture to

The picture needs matplotlib: pip install 'stablebag[plot]'.
"""

import argparse
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.tree import DecisionTreeRegressor

from stablebag import BaggedRegressor, leave_one_out_refit
from stablebag.measuring import Perturbations

matplotlib.use("agg")
import matplotlib.pyplot as plt

TREE = DecisionTreeRegressor(max_depth=4, min_samples_leaf=20, random_state=0)
ROWS, ALL, WITHOUT = "#b8c0c8", "#1f4e79", "#d1495b"


def measure(n_bags: int, step: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, dict[str, Perturbations]]:
    """Return the patients, a grid of body mass indices, and the leave-one-out changes of both models on that grid."""
    X, y = load_diabetes(return_X_y=True, scaled=False)
    bmi = X[:, 2:3]
    grid = np.linspace(bmi.min(), bmi.max(), 300)[:, None]
    learners = {
        "A decision tree": TREE,
        f"The average of {n_bags:,} trees, each on half of the patients": BaggedRegressor(
            TREE, n_bags=n_bags, random_state=0
        ),
    }
    rows = range(0, len(y), step)
    return bmi, y, grid, {name: leave_one_out_refit(of, bmi, y, grid, rows=rows) for name, of in learners.items()}


def draw(axes: Any, name: str, moved: Perturbations, bmi: np.ndarray, y: np.ndarray, grid: np.ndarray) -> float:
    """Draw the predictions with all rows and without the row that changes them most; return the largest change."""
    most = int(moved.values.max(axis=1).argmax())
    row = int(np.asarray(moved.rows)[most])
    axes.plot(bmi, y, ".", color=ROWS, markersize=4)
    axes.plot(grid, moved.prediction - moved.differences[most], color=WITHOUT, linewidth=2, label="without one patient")
    axes.plot(grid, moved.prediction, color=ALL, linewidth=2, label=f"with all {len(y)} patients")
    axes.plot(bmi[row], y[row], "o", markersize=9, markeredgewidth=1.8, markeredgecolor=WITHOUT, markerfacecolor="none")
    furthest = float(moved.values[most].max())
    axes.set_title(f"{name}\nleave out one patient: predictions change by up to {furthest:.0f}", fontsize=10)
    axes.set_xlabel("body mass index")
    return furthest


def main() -> None:
    """Measure, draw and print the largest changes."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--output", type=Path, default=Path())
    options = parser.parse_args()
    bmi, y, grid, found = measure(*((100, 10) if options.quick else (1000, 1)))
    figure, panels = plt.subplots(1, 2, figsize=(8.4, 3.3), sharey=True, layout="constrained")
    for axes, (name, moved) in zip(panels, found.items(), strict=True):
        furthest = draw(axes, name, moved, bmi, y, grid)
        print(f"{name}: at most {furthest:.1f}, on average over patients and points {moved.mean().mean():.2f}")
    panels[0].set_ylabel("disease progression")
    panels[0].legend(frameon=False, fontsize=9, loc="upper left")
    options.output.mkdir(parents=True, exist_ok=True)
    figure.savefig(options.output / "one_row.png", dpi=130, facecolor="white")
    print(f"Written: {options.output / 'one_row.png'}")


if __name__ == "__main__":
    main()
