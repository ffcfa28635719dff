"""
How far is the guarantee from what really happens?
==================================================

**A guarantee holds for every learner and every data set, so it is usually far above what you measure for your own
model.** This page draws both as curves: the share of the training rows that change a prediction by more than some
distance. You will also see which guarantee belongs to which measurement, and why there are three.

The data are the 442 patients of :func:`sklearn.datasets.load_diabetes`; predictions are disease scores from 25 to
346.
"""

import math
import os
from typing import Any

import matplotlib.pyplot as plt
from sklearn.datasets import load_diabetes
from sklearn.tree import DecisionTreeRegressor

from stablebag import (
    BaggedRegressor,
    Certificate,
    StabilityCurveDisplay,
    Subbagging,
    certify,
    leave_one_out,
    leave_one_out_refit,
)

QUICK = "STABLEBAG_QUICK" in os.environ  # fewer bags, to run in seconds

X, y = load_diabetes(return_X_y=True)
assert (y.min(), y.max()) == (25, 346)
X_train, y_train, points = X[:342], y[:342], X[342::5]

# %%
# Measure
# -------
# We leave out each of the 342 training patients and compare the predictions for some other patients. The numbers are
# for the test patient with the largest changes.

tree = DecisionTreeRegressor(min_samples_leaf=5, random_state=0)
model = BaggedRegressor(tree, n_bags=400 if QUICK else 2000, random_state=0).fit(X_train, y_train)
alone = leave_one_out_refit(tree, X_train, y_train, points)
bagged = leave_one_out(model, points)
print(bagged)

# %%
# Certify
# -------
# With ``reused=True``, :func:`~stablebag.certify` bounds exactly this measurement: the average over these bags, and
# over those of them without the row. It holds for every learner at every point. If you pass the points, the bound is
# sharper, because it uses how much the trees differ there.

everywhere, here = certify(model, reused=True), certify(model, points, reused=True)
print(here.explain(delta=0.05))

# %%
# Measured and guaranteed, next to each other. ``epsilon(0.05)`` is the change that at most 5% of the rows exceed.


def up(bound: float) -> float:
    """Round a guarantee up, so that the printed number is still one."""
    return math.ceil(10 * bound) / 10


print("                                        guaranteed    guaranteed")
print("                            one tree   bagged   at these points   at all points")
lines = {
    "mean over rows": (alone.mean("max"), bagged.mean("max"), here.mean().max(), everywhere.mean()),
    "95% of the rows below": (*(moved.epsilon(0.05, "max") for moved in (alone, bagged)), here.epsilon(0.05).max(),
                               everywhere.epsilon(0.05)),
}  # fmt: skip
for name, numbers in lines.items():
    print(f"{name:26}{numbers[0]:>10.1f}{numbers[1]:>9.1f}{up(numbers[2]):>18}{up(numbers[3]):>16}")
    assert numbers[1] <= numbers[2] <= numbers[3]

# %%
# There is no guarantee for the single tree. Few rows change its predictions, but some of them very far.

assert alone.max("max") > 2 * bagged.max("max")

figure, ax = plt.subplots(figsize=(5.6, 4.2), layout="constrained")
label = "change of the prediction (disease score)"
StabilityCurveDisplay.from_perturbations(
    {"one tree": alone, "bagged": bagged}, certificate=here, scale="log", xlabel=label, ax=ax
)
ax.set_title("The bagged tree stays below its guarantee;\na single row changes one tree very far")
plt.show()

# %%
# Three questions, three certificates
# -----------------------------------
# 1. How far can predictions differ *between these bags and those of them without the row*? That is ``reused=True``.
# 2. How far can they differ *after a refit* without the row? That is ``certify(model)``.
# 3. How far could they differ *with infinitely many bags*? That is the limit of both.
#
# The first and the third bound hold for at least 95% of the rows. The second is about random bags: leaving out a random
# row exceeds it with a probability of at most 5%, over the draw of the bags.

limit = Certificate.for_targets(Subbagging(0.5), y_train)
certificates: dict[str, Any] = {
    "these bags, reused": everywhere,
    "refit": certify(model),
    "infinitely many bags": limit,
}
epsilons = {name: float(proved.epsilon(0.05)) for name, proved in certificates.items()}
for name, epsilon in epsilons.items():
    print(f"{name:20} epsilon = {up(epsilon)} for delta = 0.05")
assert epsilons["infinitely many bags"] < min(epsilons["these bags, reused"], epsilons["refit"])

# %%
# The last bar is lower for two reasons: no part of it is due to drawing finitely many bags, and its proof is sharper.

figure, ax = plt.subplots(figsize=(5.6, 2.8), layout="constrained")
bars = ax.barh(list(epsilons), list(epsilons.values()), color="#777777", height=0.6)
ax.bar_label(bars, [str(up(epsilon)) for epsilon in epsilons.values()], padding=4)
ax.invert_yaxis()
ax.set(xlim=(0, 1.15 * max(epsilons.values())), xlabel="guarantee: epsilon for delta = 0.05 (disease score)")
ax.set_title("Three questions, three guarantees")
plt.show()

# %%
# **Next:** :ref:`sphx_glr_auto_examples_promises_plot_number_of_bags.py`
