"""
Why are my leave-one-out intervals too short?
=============================================

**Because the learner is unstable: its error without a row says little about its error with all rows. Average it over
bags, and the same intervals cover again.** With as many features as rows, they are also several times shorter than
the jackknife+ intervals of the learner alone, which are safe but wide. This page compares four kinds of intervals as
the number of features grows.

The unstable learner is least squares with about as many features as rows. The data are simulated from a linear model
whose signal has ten times the variance of its noise, so that we can vary the number of features.
"""

import os

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LinearRegression

from stablebag import BaggedRegressor, Subbagging, predict_interval, random_n_bags
from stablebag.deciding import jackknife_intervals_refit

QUICK = "STABLEBAG_QUICK" in os.environ  # fewer rows and data sets, to run in seconds
N_ROWS, N_TRIALS, N_BAGS = (40, 2, 40) if QUICK else (100, 6, 100)
SHARES = (0.2, 1.0, 1.2, 2.0) if QUICK else (0.2, 0.6, 0.9, 1.0, 1.1, 1.5, 2.0)  # features as a share of the rows
LEVEL = 0.9


def draw(n_features: int, seed: int) -> tuple[np.ndarray, ...]:
    """Draw training rows and 50 new rows."""
    rng = np.random.default_rng(seed)
    effects = rng.normal(size=n_features)
    effects *= np.sqrt(10) / np.linalg.norm(effects)
    X = rng.normal(size=(N_ROWS + 50, n_features))
    y = X @ effects + rng.normal(size=N_ROWS + 50)
    return X[:N_ROWS], y[:N_ROWS], X[N_ROWS:], y[N_ROWS:]


# %%
# Four kinds of intervals
# -----------------------
# The *jackknife* puts the leave-one-out errors around the prediction with all rows. The *jackknife+* puts them around
# the predictions without each row. We compute both for the learner itself, by refitting it without each row, and for
# its bagged version, from the fitted bags. At level 90%, the jackknife+ is proved to cover at least 80% for any
# learner, on average over data sets. There is no such proof for the jackknife.

learner = LinearRegression(fit_intercept=False)
METHODS = ("jackknife", "jackknife+", "bagged, jackknife", "bagged, jackknife+")
coverage = {name: np.zeros((len(SHARES), N_TRIALS)) for name in METHODS}
width = {name: np.zeros((len(SHARES), N_TRIALS)) for name in METHODS}
for place, share in enumerate(SHARES):
    for trial in range(N_TRIALS):
        X, y, X_new, y_new = draw(int(share * N_ROWS), seed=1000 * place + trial)
        # For bags, the theorem on the jackknife+ requires a number of bags that is drawn at random.
        n_bags = random_n_bags(Subbagging(0.5), N_ROWS, N_BAGS, random_state=1000 + trial)
        bagged = BaggedRegressor(learner, n_bags=n_bags, prediction_range=None, random_state=trial).fit(X, y)
        for method in ("jackknife", "jackknife+"):
            alone = jackknife_intervals_refit(learner, X, y, X_new, method=method, confidence_level=LEVEL)
            over_bags = predict_interval(bagged, X_new, method=method, confidence_level=LEVEL)
            for name, intervals in ((method, alone), (f"bagged, {method}", over_bags)):
                coverage[name][place, trial] = intervals.coverage(y_new)
                width[name][place, trial] = np.median(intervals.width)

print(f"Coverage (median width) of {LEVEL:.0%} intervals, {N_ROWS} rows, over {N_TRIALS} data sets")
print("features" + "".join(f"{name:>22}" for name in METHODS))
for place, share in enumerate(SHARES):
    cells = (f"{coverage[name][place].mean():.1%} ({np.median(width[name][place]):.1f})" for name in METHODS)
    print(f"{int(share * N_ROWS):8}" + "".join(f"{cell:>22}" for cell in cells))

# %%
# What went wrong
# ---------------
# With as many features as rows, a fit without one row is a very different model, so its error says little about the fit
# with all rows. The jackknife covers less than three quarters of the new rows. The jackknife+ covers, but its intervals
# are wide. The bagged learner is stable: both methods agree, and their intervals are less than half as wide.

worst = SHARES.index(1.0)
assert coverage["jackknife"][worst].mean() < 0.75
assert coverage["bagged, jackknife"][worst].mean() > 0.85
assert np.median(width["bagged, jackknife"][worst]) < np.median(width["jackknife+"][worst]) / 2

LOOKS = {
    "jackknife": ("#d55e00", "--", "s"),
    "jackknife+": ("#d55e00", "-", "o"),
    "bagged, jackknife": ("#0072b2", "--", "s"),
    "bagged, jackknife+": ("#0072b2", "-", "o"),
}
figure, (above, below) = plt.subplots(2, 1, figsize=(5.6, 6), sharex=True, layout="constrained")
features = [int(share * N_ROWS) for share in SHARES]
for name, (colour, line, marker) in LOOKS.items():
    style = {"color": colour, "linestyle": line, "marker": marker, "markersize": 5}
    above.plot(features, 100 * coverage[name].mean(axis=1), label=name, **style)
    below.semilogy(features, np.median(width[name], axis=1), **style)
above.axhline(100 * LEVEL, color="black", linestyle=":", linewidth=1, label="requested level")
above.axhline(200 * LEVEL - 100, color="0.5", linestyle="-.", linewidth=1, label="proved for both jackknife+")
above.set(ylim=(15, 105), ylabel="new rows covered (%)")
above.set_title("Features = rows: the jackknife fails; bagged, it covers", loc="left", fontsize="medium")
above.legend(fontsize="small", ncols=2, loc="lower center")
below.set(xlabel=f"features ({N_ROWS} rows)", ylabel="median width (units of y)")
below.set_title("Features = rows: bagging also makes intervals short", loc="left", fontsize="medium")
below.set_yticks([5, 10, 20, 50], ["5", "10", "20", "50"])
below.minorticks_off()
plt.show()

# %%
# **Next:** for a classifier, the same idea gives sets of labels
# (:ref:`sphx_glr_auto_examples_answers_plot_label_sets.py`).
