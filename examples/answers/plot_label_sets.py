"""
What should a classifier answer when two labels are about equally likely?
=========================================================================

**A set with both. If two labels are about equally likely, a single training row can decide which one wins. A set of
labels hardly ever depends on one row.** :func:`~stablebag.predict_set` returns one label if it leads clearly, and two
or three if it does not. This page counts how many answers depend on one row, with and without sets, and what the sets
cost.

The data are handwritten digits, from :func:`sklearn.datasets.load_digits`.
"""

import os

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.tree import DecisionTreeClassifier

from stablebag import BaggedClassifier, predict_set
from stablebag.deciding import selection_stability

QUICK = "STABLEBAG_QUICK" in os.environ  # fewer bags, to run in seconds

X, y = load_digits(return_X_y=True)
order = np.random.default_rng(0).permutation(len(y))
X, y = X[order], y[order]
n_new = 200 if QUICK else 400
X_train, y_train, X_new, y_new = X[:500], y[:500], X[500 : 500 + n_new], y[500 : 500 + n_new]
model = BaggedClassifier(DecisionTreeClassifier(random_state=0), n_bags=200 if QUICK else 1000, random_state=0)
model.fit(X_train, y_train)

# %%
# Does an answer depend on one row?
# ---------------------------------
# For each of the 500 training rows, we compare the answers with and without the row: the most probable label, and the
# set of labels.

measured = selection_stability(model, X_new, epsilon=0.2)
print(measured)

# %%
# For some images, leaving out any one of a third of the rows changes the most probable label. For every image, the set
# keeps at least one label for all but at most two of the 500 rows.

assert measured.delta("argmax").max() > 1 / 3
assert measured.delta("inflated-argmax").max() <= 2 / 500

# %%
# What it costs
# -------------
# Most sets have one label.

sets = measured.sets
one = sets.sizes == 1
print(
    f"{one.mean():.0%} of the sets have one label, and {sets.correct_singletons(y_new):.0%} consist of the true label;"
)
print(f"the most probable label is right for {(model.predict(X_new) == y_new).mean():.0%} of the images.")
print(f"Sets of two or more labels contain the true one for {sets.contains(y_new)[~one].mean():.0%} of their images.")
assert one.mean() > 0.8

# %%
# The images in doubt
# -------------------
# These are the images for which most training rows change the most probable label. Above each image is its set.

doubtful = np.argsort(-measured.delta("argmax"), kind="stable")[:8]
figure, axes = plt.subplots(2, 4, figsize=(5.6, 3.9), layout="constrained")
for ax, point in zip(axes.flat, doubtful, strict=True):
    ax.imshow(X_new[point].reshape(8, 8), cmap="gray_r")
    labels = " or ".join(str(label) for label in sets.to_list()[point])
    rows = round(500 * measured.delta("argmax")[point])
    ax.set_title(labels, fontsize="medium", fontweight="bold")
    ax.set_xlabel(f"{rows} rows change it", fontsize="small")
    ax.set(xticks=[], yticks=[])
figure.suptitle("If many rows change the answer, the set has both labels")
plt.show()

# %%
# All images
# ----------
# For how many images does the answer depend on at least one of the rows?

counts = {
    "most probable label": int((measured.delta("argmax") > 0).sum()),
    "label sets": int((measured.delta("inflated-argmax") > 0).sum()),
}
assert counts["label sets"] < counts["most probable label"] / 5
figure, ax = plt.subplots(figsize=(5.6, 2.6), layout="constrained")
bars = ax.barh(list(counts), list(counts.values()), color=["#d55e00", "#0072b2"], height=0.6)
ax.bar_label(bars, padding=4)
ax.invert_yaxis()
ax.set(xlabel=f"answers that one training row changes (of {len(y_new)} images)", xlim=(0, 1.15 * max(counts.values())))
ax.set_title("Few sets depend on one row")
plt.show()

# %%
# What is guaranteed
# ------------------
# For at least 95% of the training rows, the set without the row has a label in common with this set.

print(predict_set(model, X_new, delta=0.05))

# %%
# **Next:** these sets are stable, but they need not contain the true label. ``predict_set(model, X,
# method="jackknife+")`` returns sets that cover it with a proved probability.
