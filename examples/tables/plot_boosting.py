"""
Does bagging help XGBoost, LightGBM and CatBoost?
=================================================

**Yes: a single training row changes the predictions of boosted trees more than twice as much as those of their bagged
versions, and the error is about the same.** This page measures both for each library. You can wrap any learner that
has ``fit`` and ``predict``.

The data are the 442 patients of :func:`sklearn.datasets.load_diabetes`. The page uses scikit-learn's boosted trees,
and whichever of ``pip install xgboost lightgbm catboost`` is installed.
"""

import os

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.ensemble import GradientBoostingRegressor

from stablebag import BaggedRegressor, leave_one_out, leave_one_out_refit

QUICK = "STABLEBAG_QUICK" in os.environ  # fewer trees and bags, to run in seconds

# %%
# The learners
# ------------
# Each has the same number of trees of depth three, and default settings otherwise. Each uses one thread, because
# stablebag runs bags in parallel itself (``n_jobs``).

N_TREES = 12 if QUICK else 50
learners = {
    "scikit-learn": GradientBoostingRegressor(n_estimators=N_TREES, max_depth=3),
}
try:
    from xgboost import XGBRegressor

    learners["XGBoost"] = XGBRegressor(n_estimators=N_TREES, max_depth=3, n_jobs=1)
except ImportError:
    print("XGBoost is not installed: pip install xgboost")
try:
    from lightgbm import LGBMRegressor

    learners["LightGBM"] = LGBMRegressor(n_estimators=N_TREES, max_depth=3, n_jobs=1, verbose=-1)
except ImportError:
    print("LightGBM is not installed: pip install lightgbm")
try:
    from catboost import CatBoostRegressor

    learners["CatBoost"] = CatBoostRegressor(
        n_estimators=N_TREES, max_depth=3, thread_count=1, verbose=False, allow_writing_files=False
    )
except ImportError:
    print("CatBoost is not installed: pip install catboost")

# %%
# Measure
# -------
# Each learner is refitted without some of the rows. Its bagged version measures all rows from its bags. We compare the
# root mean square change over rows, for 42 other patients. For the bagged version we also show it without bagging
# noise, which more bags would make smaller.

X, y = load_diabetes(return_X_y=True)
X_train, y_train, X_new, y_new = X[:400], y[:400], X[400:], y[400:]
left_out = range(0, 400, 25 if QUICK else 4)
moves, errors = {}, {}
for name, learner in learners.items():
    bagged = BaggedRegressor(learner, n_bags=50 if QUICK else 300, random_state=0).fit(X_train, y_train)
    alone = leave_one_out_refit(learner, X_train, y_train, X_new, rows=left_out, random_state=0)
    moved = leave_one_out(bagged, X_new)
    noise = np.sqrt(np.mean(moved.noise**2))
    total = np.sqrt(np.mean(moved.norm(2) ** 2))
    moves[name] = np.sqrt(np.mean(alone.norm(2) ** 2)), total, np.sqrt(max(0, total**2 - noise**2))
    errors[name] = [np.abs(made - y_new).mean() for made in (alone.prediction, bagged.predict(X_new))]

print("change of a prediction by one row      alone   bagged   without noise     error: alone   bagged")
for name in learners:
    print(f"{name:36}" + "".join(f"{value:8.2f}" for value in moves[name]), end="")
    print(f"{errors[name][0]:24.1f}{errors[name][1]:10.1f}")
    assert 2 * moves[name][2] < moves[name][0]
    assert errors[name][1] < 1.1 * errors[name][0]

# %%
# The picture
# -----------

figure, ax = plt.subplots(figsize=(5.6, 4), layout="constrained")
places = np.arange(len(learners))
for shift, part, colour, hatch, label in (
    (-0.2, 0, "#d55e00", "///", "alone"),
    (0.2, 2, "#0072b2", "", "bagged, without bagging noise"),
):
    values = [moves[name][part] for name in learners]
    bars = ax.bar(places + shift, values, 0.38, color=colour, alpha=0.7, hatch=hatch, edgecolor="white", label=label)
    ax.bar_label(bars, [f"{value:.1f}" for value in values])
ax.set_xticks(places, list(learners))
ax.set(
    ylim=(0, 1.35 * max(value[0] for value in moves.values())),
    ylabel="change of a prediction by one row\n(disease score)",
)
ax.set_title("One row changes bagged boosted trees less")
ax.legend(fontsize="small")
plt.show()

# %%
# **Next:** wrap your own pipeline, with its preparation of the table
# (:ref:`sphx_glr_auto_examples_tables_plot_skrub.py`).
