"""
How do I delete one person from a trained model?
================================================

**Call** :func:`~stablebag.forget`. **It refits only the bags that contain the person's row, and the result is
identical, to the last bit, to a model that never saw the row.** This page deletes one patient, checks the result,
measures which predictions change, and shows how the cost depends on the size of the bags.

The data are the 442 patients of :func:`sklearn.datasets.load_diabetes`.
"""

import os

import matplotlib.pyplot as plt
import numpy as np
from sklearn.base import clone
from sklearn.datasets import load_diabetes
from sklearn.tree import DecisionTreeRegressor

from stablebag import BaggedRegressor, Subbagging, certify, forget

QUICK = "STABLEBAG_QUICK" in os.environ  # fewer bags, to run in seconds

X, y = load_diabetes(return_X_y=True)
names = [f"patient {number}" for number in range(len(y))]
n_bags = 300 if QUICK else 2000
model = BaggedRegressor(DecisionTreeRegressor(), scheme=Subbagging(88), n_bags=n_bags, random_state=0)
model.fit(X, y, row_ids=names)

# %%
# Forget
# ------
# Whether a row is in a bag depends only on its row ID and the seed. So all other bags are the ones that a fresh fit
# would draw.

without = forget(model, ["patient 17"])
touched = len(model.bags_.with_any(model.units_.positions(["patient 17"])))
print(f"{touched} of {len(model.bags_)} bags were refitted")
assert touched < len(model.bags_) / 4

# %%
# It is exact
# -----------
# A fresh fit to the other rows, with the same row IDs and the same seed, gives identical predictions.

rest = np.delete(np.arange(len(y)), 17)
fresh = clone(model).fit(X[rest], y[rest], row_ids=[names[row] for row in rest])
assert (fresh.predict(X) == without.predict(X)).all()
assert fresh.bags_ == without.bags_
print("The model that forgot the row and the model that never saw it are identical.")

# %%
# Which predictions change?
# -------------------------
# The guarantee was known before the request. It is about most rows and most draws of the bags; patient 17 is one of
# these rows.

moved = np.abs(model.predict(X) - without.predict(X))
print(
    f"Predictions changed by {moved.mean():.2f} on average, and by up to {moved.max():.1f} (patient {moved.argmax()})."
)
print(certify(model).explain(delta=0.1))

# %%
# The prediction for patient 17 changes most. A tree that has a row in its bag knows the target of that row. The
# guarantee is about most rows at any one point, so it does not cover how the prediction *for* a row depends on that
# row.

others = np.delete(moved, 17)
assert moved.argmax() == 17
assert moved[17] > 2 * others.max()

figure, ax = plt.subplots(figsize=(5.6, 4), layout="constrained")
ax.plot(model.predict(X)[rest], others, ".", color="#0072b2", label="other patients")
ax.plot(model.predict(X)[17], moved[17], "D", color="#d55e00", label="patient 17")
ax.set(xlabel="prediction before (disease score)", ylabel="change of the prediction (disease score)")
ax.set_title("Deleting one patient changes\nthe predictions for the others little")
ax.legend()
plt.show()

# %%
# What do many requests cost?
# ---------------------------
# Each request affects the bags that contain the patient, so smaller bags make deletion cheaper. Many requests at once
# affect most bags, and then a fresh fit costs no more.

requests = np.array([1, 2, 5, 10, 20, 50])
gone = np.random.default_rng(0).permutation(len(y))
figure, ax = plt.subplots(figsize=(5.6, 4), layout="constrained")
for size, colour, line in ((22, "#0072b2", "-o"), (88, "#009e73", "--s"), (221, "#d55e00", "-.^")):
    bags = Subbagging(size).resolve(len(y)).draw(1000, random_state=0)
    share = [100 * len(bags.with_any(gone[:number])) / len(bags) for number in requests]
    ax.plot(requests, share, line, color=colour, label=f"bags of {size} of {len(y)} rows")
    print(f"bags of {size:3} rows: {share[0]:3.0f}% are refitted for one request, {share[3]:3.0f}% for ten")
ax.set(xscale="log", xlabel="patients deleted at once", ylabel="bags that are refitted (%)", ylim=(0, 103))
ax.set_xticks(requests, [str(number) for number in requests])
ax.minorticks_off()
ax.set_title("Small bags make deletion cheap")
ax.legend(fontsize="small")
plt.show()

# %%
# ``forget`` removes the row's effect from the model. You still have to delete the old model, the files it was saved to,
# and the row in the table.
#
# **Next:** if a patient has several rows, delete them together
# (:ref:`sphx_glr_auto_examples_rows_plot_patient_left_out.py`).
