"""
One row leaves, a prediction jumps
==================================

**Wrapped in** :class:`~stablebag.BaggedRegressor`, **a decision tree no longer changes its mind because one training
row is missing.** Here a tree predicts how far diabetes goes on in a year. We take one patient and ask 400 times: what
would the prediction have been without this training row, or that one? The tree's answer jumps. The bagged tree's
hardly moves, and how far it can move is proved.

The data are the 442 patients of :func:`sklearn.datasets.load_diabetes`.
"""

import os

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.tree import DecisionTreeRegressor

from stablebag import BaggedRegressor, certify, leave_one_out, leave_one_out_refit

QUICK = "STABLEBAG_QUICK" in os.environ  # fewer bags, so that the page is made in seconds

X, y = load_diabetes(return_X_y=True, as_frame=True)
X_train, y_train, X_new, y_new = X[:400], y[:400], X[400:], y[400:]

# %%
# Wrap the learner
# ----------------
# A bagged model fits the same tree to many *bags*, random halves of the training rows, and averages what the trees
# predict. It is a scikit-learn estimator like any other.

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
# For the tree this means to fit it again without each row, 400 times. The bagged model has its answer already: the
# average over the bags that do not contain the row.

alone = leave_one_out_refit(tree, X_train, y_train, X_new)
bagged = leave_one_out(model, X_new)
bagged

# %%
# Of the new patients, we look at the one at whom rows move the tree most often.

point = int((alone.values > 20).mean(axis=0).argmax())
jumps = int((alone.values[:, point] > 20).sum())
most = bagged.values[:, point].max()
print(f"Patient {X_new.index[point]}: {jumps} of 400 rows move the tree by more than 20 when they are left out,")
print(f"and none moves the bagged tree by more than {most:.1f}.")
assert most < 20 < alone.values[:, point].max()

figure, axes = plt.subplots(2, 1, figsize=(5.6, 5), sharex=True, sharey=True, layout="constrained")
shown = {"one tree": (alone, "#d55e00"), "bagged": (bagged, "#0072b2")}
for ax, (name, (moved, colour)) in zip(axes, shown.items(), strict=True):
    ax.axhline(moved.prediction[point], color="0.6", linewidth=1)
    ax.plot(moved.rows, moved.left_out[:, point], ".", color=colour, markersize=5)
    ax.set_ylabel("prediction\n(disease score)")
    ax.set_title(f"{name}: moves by up to {moved.values[:, point].max():.0f}", loc="left", fontsize="medium")
axes[1].set_xlabel("the training row that is left out")
figure.suptitle("One row leaves: a tree jumps, a bagged tree does not")
plt.show()

# %%
# What is proved
# --------------
# The picture is about one patient. What holds for *every* learner and at *every* point, of these bags, is a
# certificate. Its ``delta`` is a share of the training rows: here, all but a tenth of them.

certificate = certify(model, reused=True)
print(certificate.explain(delta=0.1))
assert bagged.epsilon(0.1, "max") <= certificate.epsilon(0.1)

# %%
# A bound for the worst learner there could be is larger than what this one does. How the two compare is the subject
# of :ref:`sphx_glr_auto_examples_start_plot_certificate_and_truth.py`.
