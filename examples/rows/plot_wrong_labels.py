"""
Can I find wrong labels in my training data?
============================================

**Often:** :func:`~stablebag.suspects` **ranks rows by how little the bags without a row agree with its label. Here it
finds nearly all of the labels that we made wrong.** It needs no refit. Each row is judged by bags that do not contain
it, so a wrong label cannot support itself.

The data are handwritten digits, from :func:`sklearn.datasets.load_digits`. We put the mistakes in, so that we know
them.
"""

import os

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.neighbors import KNeighborsClassifier

from stablebag import BaggedClassifier, suspects

QUICK = "STABLEBAG_QUICK" in os.environ  # fewer rows and bags, to run in seconds

X, y = load_digits(return_X_y=True)
n = 400 if QUICK else 800
X, y = X[:n], y[:n]

# %%
# Make mistakes
# -------------
# We replace one label in forty by another digit, at random.

rng = np.random.default_rng(0)
wrong = np.sort(rng.choice(n, size=n // 40, replace=False))
recorded = y.copy()
recorded[wrong] = (y[wrong] + rng.integers(1, 10, size=len(wrong))) % 10

# %%
# Rank the rows
# -------------
# The ranking has as many rows as we request, even if nothing is wrong. Here we request as many as we made wrong.

model = BaggedClassifier(KNeighborsClassifier(3), n_bags=60 if QUICK else 500, random_state=0).fit(X, recorded)
found = suspects(model, X, k=len(wrong))
listed = np.array([far.number for far in found.unusual])
hits = np.isin(listed, wrong)
print(f"Of the first {len(listed)} of {n} rows, {hits.sum()} are among the {len(wrong)} wrong ones.")
assert hits.sum() >= 0.8 * len(wrong)

# %%
# The first eight
# ---------------
# The first eight rows of the ranking, with the recorded label and the true digit.

figure, axes = plt.subplots(2, 4, figsize=(5.6, 3.9), layout="constrained")
for ax, row in zip(axes.flat, listed[:8], strict=True):
    ax.imshow(X[row].reshape(8, 8), cmap="gray_r")
    made_wrong = row in wrong
    ax.set_title(f"recorded: {recorded[row]}", fontsize="medium", color="#d55e00" if made_wrong else "black")
    ax.set_xlabel(f"is a {y[row]}", fontsize="small")
    ax.set(xticks=[], yticks=[])
figure.suptitle(f"{hits[:8].sum()} of the first 8 rows are wrong labels")
plt.show()

# %%
# How the ranking works
# ---------------------
# It uses the probability that the bags without a row give to the recorded label of the row. For most rows it is near 1.

of = recorded[:, None] == model.classes_
probabilities = model.bag_predictions(X)[:, of]  # of each bag, for the recorded label of each row
own = np.where(model.bags_.inclusion, 0, probabilities).sum(axis=0) / model.bags_.n_without
assert np.allclose(own[listed], [far.value for far in found.unusual])

figure, ax = plt.subplots(figsize=(5.6, 4), layout="constrained")
ax.plot(own, ".", color="0.65", markersize=4, label="all rows")
ax.plot(listed, own[listed], "o", color="#0072b2", fillstyle="none", markersize=11, label="ranked first")
ax.plot(wrong, own[wrong], "x", color="#d55e00", markersize=7, label="wrong labels")
ax.set(xlabel="row", ylabel="probability of the recorded label,\nby the bags without the row", ylim=(-0.08, 1.4))
ax.set_yticks([0, 0.25, 0.5, 0.75, 1])
ax.set_title(f"{hits.sum()} of {len(wrong)} wrong labels\nare among the first {len(listed)}")
ax.legend(fontsize="small", loc="upper center", ncols=2)
plt.show()

# %%
# A wrong label need not change predictions
# -----------------------------------------
# The other list, ``found.influential``, has rows that change predictions by more than bagging noise. That is a
# different question: a wrong label among many similar rows changes little.

moving = np.array([one.number for one in found.influential], dtype=int)
print(
    f"{len(moving)} rows change predictions by more than noise; {np.isin(moving, wrong).sum()} of them are mislabeled."
)

# %%
# **Next:** check the first rows of the ranking yourself, correct them, and fit again. To drop a row without a fresh
# fit, see :ref:`sphx_glr_auto_examples_rows_plot_deletion_request.py`.
