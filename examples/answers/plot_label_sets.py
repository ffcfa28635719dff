"""
Two answers where one would be a guess
======================================

**Where two digits are nearly as likely, a single training row decides between them; a set of labels says so, and with
it hardly any answer hinges on one row.** :func:`~stablebag.predict_set` answers with one label where it leads
clearly, and with two or three where it does not.

The data are handwritten digits, from :func:`sklearn.datasets.load_digits`.
"""

import os

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.tree import DecisionTreeClassifier

from stablebag import BaggedClassifier, predict_set
from stablebag.deciding import selection_stability

QUICK = "STABLEBAG_QUICK" in os.environ  # fewer bags, so that the page is made in seconds

X, y = load_digits(return_X_y=True)
order = np.random.default_rng(0).permutation(len(y))
X, y = X[order], y[order]
n_new = 200 if QUICK else 400
X_train, y_train, X_new, y_new = X[:500], y[:500], X[500 : 500 + n_new], y[500 : 500 + n_new]
model = BaggedClassifier(DecisionTreeClassifier(random_state=0), n_bags=200 if QUICK else 1000, random_state=0)
model.fit(X_train, y_train)

# %%
# Does a decision hinge on one row?
# ---------------------------------
# The label with the largest probability, and the set of labels, without each of the 500 training rows.

measured = selection_stability(model, X_new, epsilon=0.2)
print(measured)

# %%
# At some images a third of the rows, one at a time, would change the answer. With sets, no image is left without a
# label in common but for at most two rows in 500.

assert measured.delta("argmax").max() > 1 / 3
assert measured.delta("inflated-argmax").max() <= 2 / 500

# %%
# What it costs
# -------------
# Most sets have one label.

sets = measured.sets
one = sets.sizes == 1
print(f"{one.mean():.0%} of the sets have one label, and {sets.correct_singletons(y_new):.0%} have the true one alone;")
print(f"the label with the largest probability is right for {(model.predict(X_new) == y_new).mean():.0%}.")
print(f"Where the set has two labels or more, it has the true one for {sets.contains(y_new)[~one].mean():.0%}.")
assert one.mean() > 0.8

# %%
# The images in doubt
# -------------------
# Those at which most training rows flip the plain answer. Below each: the set.

doubtful = np.argsort(-measured.delta("argmax"), kind="stable")[:8]
figure, axes = plt.subplots(2, 4, figsize=(5.6, 3.9), layout="constrained")
for ax, point in zip(axes.flat, doubtful, strict=True):
    ax.imshow(X_new[point].reshape(8, 8), cmap="gray_r")
    labels = " or ".join(str(label) for label in sets.to_list()[point])
    rows = round(500 * measured.delta("argmax")[point])
    ax.set_title(labels, fontsize="medium", fontweight="bold")
    ax.set_xlabel(f"{rows} rows flip it", fontsize="small")
    ax.set(xticks=[], yticks=[])
figure.suptitle("Where many rows flip the answer, sets have both")
plt.show()

# %%
# All points at once
# ------------------
# How many images hinge on at least one of the rows?

counts = {
    "largest probability": int((measured.delta("argmax") > 0).sum()),
    "label sets": int((measured.delta("inflated-argmax") > 0).sum()),
}
assert counts["label sets"] < counts["largest probability"] / 5
figure, ax = plt.subplots(figsize=(5.6, 2.6), layout="constrained")
bars = ax.barh(list(counts), list(counts.values()), color=["#d55e00", "#0072b2"], height=0.6)
ax.bar_label(bars, padding=4)
ax.invert_yaxis()
ax.set(xlabel=f"answers that one training row flips (of {len(y_new)} images)", xlim=(0, 1.15 * max(counts.values())))
ax.set_title("With sets, hardly an answer hinges on one row")
plt.show()

# %%
# What is proved
# --------------
# For all but 5 % of the training rows, the set without the row has a label in common with this one.

print(predict_set(model, X_new, delta=0.05))
