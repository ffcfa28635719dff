"""
What is proved, beside what is measured
=======================================

**A certificate bounds what leaving out one row can do, for every learner and every data set; the measured truth of a
given model lies below it, often far.** Both are curves: the share of the rows that move a prediction by more than
some distance. A bound is drawn beside what it bounds, and beside nothing else.

The data are the 442 patients of :func:`sklearn.datasets.load_diabetes`; predictions are scores from 25 to 346.
"""

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

QUICK = "STABLEBAG_QUICK" in os.environ  # fewer bags, so that the page is made in seconds

X, y = load_diabetes(return_X_y=True)
assert (y.min(), y.max()) == (25, 346)
X_train, y_train, points = X[:342], y[:342], X[342::5]

# %%
# Measure
# -------
# Every one of the 342 training patients is left out, and the prediction compared at some other patients. Of these
# points we take the worst.

tree = DecisionTreeRegressor(min_samples_leaf=5, random_state=0)
model = BaggedRegressor(tree, n_bags=400 if QUICK else 2000, random_state=0).fit(X_train, y_train)
alone = leave_one_out_refit(tree, X_train, y_train, points)
bagged = leave_one_out(model, points)
print(bagged)

# %%
# Prove
# -----
# With ``reused=True``, :func:`~stablebag.certify` is about this measurement: these bags, and the average over those
# without the row. It holds for every learner at every point; with the points given, it is sharper, because it knows
# how far the trees differ there.

everywhere, here = certify(model, reused=True), certify(model, points, reused=True)
print(here.explain(delta=0.05))

# %%
# The two beside each other. ``epsilon(0.05)`` is how far a prediction moves, but for 5 % of the rows.

print("                            one tree   bagged   proved here   proved everywhere")
lines = {
    "mean over rows": (alone.mean("max"), bagged.mean("max"), here.mean().max(), everywhere.mean()),
    "95 % of the rows below": (*(moved.epsilon(0.05, "max") for moved in (alone, bagged)), here.epsilon(0.05).max(),
                               everywhere.epsilon(0.05)),
}  # fmt: skip
for name, numbers in lines.items():
    print(f"{name:26}{numbers[0]:>10.1f}{numbers[1]:>9.1f}{numbers[2]:>14.1f}{numbers[3]:>20.1f}")
    assert numbers[1] <= numbers[2] <= numbers[3]

# %%
# Of the single tree nothing is proved, so nothing stands beside it. Few rows move it, and some of these very far.

assert alone.max("max") > 2 * bagged.max("max")

figure, ax = plt.subplots(figsize=(5.6, 4.2), layout="constrained")
label = "how far the prediction moves (disease score)"
StabilityCurveDisplay.from_perturbations(
    {"one tree": alone, "bagged": bagged}, certificate=here, scale="log", xlabel=label, ax=ax
)
ax.set_title("The bagged tree keeps what is proved of it;\na single row moves one tree very far")
plt.show()

# %%
# Three questions, three certificates
# -----------------------------------
# *These bags* are one question. To fit anew without the row is another: bags with the row are then drawn anew, and
# :func:`~stablebag.certify` bounds that. To average over all bags there are is the third, and the limit of both.

limit = Certificate.for_targets(Subbagging(0.5), y_train)
certificates: dict[str, Any] = {
    "these bags, reused": everywhere,
    "fitted anew": certify(model),
    "all bags there are": limit,
}
epsilons = {name: float(proved.epsilon(0.05)) for name, proved in certificates.items()}
for name, epsilon in epsilons.items():
    print(f"{name:20} all but 5 % of the rows move a prediction by at most {epsilon:.1f}")
assert epsilons["all bags there are"] < min(epsilons["these bags, reused"], epsilons["fitted anew"])

# %%
# The difference to the last line is the price of drawing bags at random; more of them lower it
# (:ref:`sphx_glr_auto_examples_promises_plot_number_of_bags.py`).

figure, ax = plt.subplots(figsize=(5.6, 2.8), layout="constrained")
bars = ax.barh(list(epsilons), list(epsilons.values()), color="#777777", height=0.6)
ax.bar_label(bars, [f"{epsilon:.1f}" for epsilon in epsilons.values()], padding=4)
ax.invert_yaxis()
ax.set(xlim=(0, 1.15 * max(epsilons.values())), xlabel="proved for all but 5 % of the rows (disease score)")
ax.set_title("Finitely many bags have their price")
plt.show()
