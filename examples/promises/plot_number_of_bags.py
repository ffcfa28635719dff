"""
How many bags do I need?
========================

**For a good prediction, a few hundred. For a guarantee, about as many as there are training rows, and**
:func:`~stablebag.plan` **computes the number.** This page shows three quantities as the number of bags grows: the
error, which hardly changes; the bagging noise, which falls with the square root; and the guarantee, which falls until
there are about as many bags as rows, and then hardly for a long time.

The data are the 442 patients of :func:`sklearn.datasets.load_diabetes`.
"""

import math
import os

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.tree import DecisionTreeRegressor

from stablebag import BaggedRegressor, Certificate, Subbagging, certify, leave_one_out, leave_one_out_error, plan

QUICK = "STABLEBAG_QUICK" in os.environ  # fewer bags, to run in seconds

# %%
# Before any data is seen
# -----------------------
# You have 10,000 rows. Leaving out a random row may change a prediction by more than 5% of its range with a probability
# of at most 5%. Which bags achieve that?

found = plan(n_samples=10_000, epsilon=0.05, delta=0.05)
print(found)

# %%
# If the request is impossible, the error names what is possible.

try:
    plan(n_samples=1000, epsilon=0.001, delta=0.05)
except ValueError as refused:
    print(refused)

# %%
# The guarantee against the number of bags
# ----------------------------------------
# For bags of half of 500 rows: the solid line is the guarantee for each number of bags, the dotted line is the limit.

numbers = np.unique(np.geomspace(100, 1_000_000, 12 if QUICK else 40).astype(int))
proved = [Certificate(Subbagging(0.5), 500, int(number), coupling="matched").epsilon(0.05) for number in numbers]
limit = Certificate(Subbagging(0.5), 500).epsilon(0.05)
assert all(np.diff(proved) <= 0)
assert proved[-1] < 1.1 * limit < proved[0]
for number in (100, 1000, 10_000):
    ratio = Certificate(Subbagging(0.5), 500, number, coupling="matched").epsilon(0.05) / limit
    print(f"{number:6,} bags: {ratio:.1f} times the guarantee for infinitely many bags")

figure, ax = plt.subplots(figsize=(5.6, 3.8), layout="constrained")
ax.loglog(numbers, proved, color="#0072b2", label="guarantee for this number of bags")
ax.axhline(limit, color="#777777", linestyle=":", label="guarantee for infinitely many")
ax.fill_between(numbers, limit, proved, color="#0072b2", alpha=0.15)
ax.set(xlabel="number of bags", ylabel="epsilon for delta = 0.05\n(share of the range)")
ax.set_title("As many bags as rows are enough")
ax.set_yticks([0.1, 0.2, 0.5], ["0.1", "0.2", "0.5"], minor=False)
ax.minorticks_off()
ax.legend()
plt.show()

# %%
# On real data
# ------------
# With the same ``random_state``, the first 100 of 1,000 bags are those of a model with 100 bags. So we can add bags
# (``warm_start``) and watch three quantities: the error, the bagging noise in the measured changes, and the guarantee
# for a refit without a row.

X, y = load_diabetes(return_X_y=True)
X_train, y_train, points = X[:400], y[:400], X[400:]
model = BaggedRegressor(DecisionTreeRegressor(), n_bags=50, warm_start=True, random_state=0)
steps = [50, 100, 200, 400] if QUICK else [50, 100, 200, 400, 800, 1600, 3200]
error, noise, bound = [], [], []
print("  bags   error   noise   guarantee (epsilon for delta = 0.05)")
for number in steps:
    model.set_params(n_bags=number).fit(X_train, y_train)
    error.append(leave_one_out_error(model, "absolute").value)
    noise.append(leave_one_out(model, points).noise.mean())
    bound.append(certify(model).epsilon(0.05))
    print(f"{number:6,} {error[-1]:7.1f} {noise[-1]:7.2f} {math.ceil(10 * bound[-1]) / 10:10}")
assert noise[-1] < noise[0] * 1.2 * math.sqrt(steps[0] / steps[-1])

# %%
# Eight times as many bags hardly change the error. They make the noise about three times smaller.

assert abs(error[3] - error[0]) < 0.1 * error[0]
assert 2.3 < noise[0] / noise[3] < 3.5

figure, (above, below) = plt.subplots(2, 1, figsize=(5.6, 5), sharex=True, layout="constrained")
above.semilogx(steps, error, "o-", color="#0072b2")
above.set(ylim=(0, 1.15 * max(error)), ylabel="mean absolute error\n(disease score)")
above.set_title("For the error, a few hundred bags are enough", loc="left", fontsize="medium")
below.loglog(steps, noise, "s--", color="#d55e00")
below.set(xlabel="number of bags", ylabel="bagging noise\n(disease score)")
below.set_title("Bagging noise falls with the square root of their number", loc="left", fontsize="medium")
below.set_xticks(steps, [f"{number:,}" for number in steps])
below.set_yticks([1, 2, 5, 10], ["1", "2", "5", "10"])
below.minorticks_off()
plt.show()

# %%
# **Next:** the size of the bags matters more than their number
# (:ref:`sphx_glr_auto_examples_promises_plot_schemes.py`).
