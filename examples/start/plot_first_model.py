"""
Would this prediction change without one training row?
======================================================

**For one new patient, dozens of the 400 training rows change the prediction of a decision tree by more than 20 points
when left out. If you wrap the tree in** :class:`~stablebag.BaggedRegressor`, **no row does.** This page fits both
models to predict the progression of diabetes, leaves out every training row, and draws what happens to the
prediction. It ends with a guarantee.

The data are the 442 patients of :func:`sklearn.datasets.load_diabetes`.
"""

import os

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.tree import DecisionTreeRegressor

from stablebag import BaggedRegressor, certify, leave_one_out, leave_one_out_refit

QUICK = "STABLEBAG_QUICK" in os.environ  # fewer bags, to run in seconds

X, y = load_diabetes(return_X_y=True, as_frame=True)
X_train, y_train, X_new, y_new = X[:400], y[:400], X[400:], y[400:]

# %%
# Wrap the learner
# ----------------
# A bagged model fits the same tree to many *bags*, which are random halves of the training rows, and averages the
# predictions. It is a scikit-learn estimator like any other.

model = BaggedRegressor(DecisionTreeRegressor(min_samples_leaf=5), n_bags=300 if QUICK else 1000, random_state=0)
model.fit(X_train, y_train)

# %%
tree = DecisionTreeRegressor(min_samples_leaf=5, random_state=0).fit(X_train, y_train)
for name, fitted in {"one tree": tree, "bagged": model}.items():
    print(
        f"{name:9} mean absolute error on {len(y_new)} new patients: {np.abs(fitted.predict(X_new) - y_new).mean():.1f}"
    )

# %%
# Leave each row out
# ------------------
# The tree has to be refitted 400 times, once without each row. The bagged model needs no refit: its prediction without
# a row is the average over the bags that do not contain the row.

alone = leave_one_out_refit(tree, X_train, y_train, X_new)
bagged = leave_one_out(model, X_new)
bagged

# %%
# We look at the new patient whose prediction by the tree changes most often.

point = int((alone.values > 20).mean(axis=0).argmax())
jumps = int((alone.values[:, point] > 20).sum())
most = bagged.values[:, point].max()
print(f"Patient {X_new.index[point]}: {jumps} of 400 rows change the tree's prediction by more than 20 when left out,")
print(f"and no row changes the bagged model's prediction by more than {most:.1f}.")
assert jumps > 50
assert most < 20

figure, axes = plt.subplots(2, 1, figsize=(5.6, 5), sharex=True, sharey=True, layout="constrained")
shown = {"one tree": (alone, "#d55e00"), "bagged": (bagged, "#0072b2")}
for ax, (name, (moved, colour)) in zip(axes, shown.items(), strict=True):
    ax.axhline(moved.prediction[point], color="0.6", linewidth=1)
    ax.plot(moved.rows, moved.left_out[:, point], ".", color=colour, markersize=5)
    ax.set_ylabel("prediction\n(disease score)")
    ax.set_title(f"{name}: changes by up to {moved.values[:, point].max():.0f}", loc="left", fontsize="medium")
axes[1].set_xlabel("the training row that is left out")
figure.suptitle("Leave out one row: the tree jumps, the bagged tree does not")
plt.show()

# %%
# What is guaranteed
# ------------------
# The picture is about one patient. A certificate holds for *every* learner and *every* test point, with these bags. Its
# ``delta`` is a share of the training rows: at most a tenth of them may exceed the bound.

certificate = certify(model, reused=True)
print(certificate.explain(delta=0.1))
assert bagged.epsilon(0.1, "max") <= certificate.epsilon(0.1)

# %%
# The bound is for the worst possible learner, so it is larger than what we measured for trees.
#
# **Next:** :ref:`sphx_glr_auto_examples_start_plot_certificate_and_truth.py` compares guarantees with measurements.
