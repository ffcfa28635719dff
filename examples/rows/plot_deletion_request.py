"""
A deletion request
==================

**A model forgets a row exactly by fitting again only the bags that contain it: the result is, to the last bit, the
model that never saw the row.** Someone withdraws their consent; the model must be what it would be without them, and
someone will ask what it cost and what moved.

The data are the 442 patients of :func:`sklearn.datasets.load_diabetes`.
"""

import os

import matplotlib.pyplot as plt
import numpy as np
from sklearn.base import clone
from sklearn.datasets import load_diabetes
from sklearn.tree import DecisionTreeRegressor

from stablebag import BaggedRegressor, Subbagging, certify, forget

QUICK = "STABLEBAG_QUICK" in os.environ  # fewer bags, so that the page is made in seconds

X, y = load_diabetes(return_X_y=True)
names = [f"patient {number}" for number in range(len(y))]
n_bags = 300 if QUICK else 2000
model = BaggedRegressor(DecisionTreeRegressor(), scheme=Subbagging(88), n_bags=n_bags, random_state=0)
model.fit(X, y, row_ids=names)

# %%
# Forget
# ------
# Rows have names, and which bags a row is in follows from its name and the seed. So the other bags are what they
# would be in a fresh fit.

without = forget(model, ["patient 17"])
touched = len(model.bags_.with_any(model.units_.positions(["patient 17"])))
print(f"{touched} of {len(model.bags_)} bags were fitted again")
assert touched < len(model.bags_) / 4

# %%
# It is exact
# -----------
# A fresh fit to the other rows, with their names and the same seed, predicts the same to the last bit.

rest = np.delete(np.arange(len(y)), 17)
fresh = clone(model).fit(X[rest], y[rest], row_ids=[names[row] for row in rest])
assert (fresh.predict(X) == without.predict(X)).all()
assert fresh.bags_ == without.bags_
print("The model that forgot and the model that never knew are the same.")

# %%
# What moved
# ----------
# And what was promised before anyone asked. The promise is about most rows and most draws of the bags; patient 17 is
# one of them.

moved = np.abs(model.predict(X) - without.predict(X))
print(
    f"Predictions moved by {moved.mean():.2f} on average, at most by {moved.max():.1f} (at patient {moved.argmax()})."
)
print(certify(model).explain(delta=0.1))

# %%
# At patient 17 a prediction moves further than anywhere else: a tree that has a row in its bag knows its target, and
# no guarantee about most rows covers how a prediction *at* a row depends on that row.

others = np.delete(moved, 17)
assert moved.argmax() == 17
assert moved[17] > 2 * others.max()

figure, ax = plt.subplots(figsize=(5.6, 4), layout="constrained")
ax.plot(model.predict(X)[rest], others, ".", color="#0072b2", label="other patients")
ax.plot(model.predict(X)[17], moved[17], "D", color="#d55e00", label="patient 17")
ax.set(xlabel="prediction before (disease score)", ylabel="how far it moved (disease score)")
ax.set_title("Forgetting one patient moves\nthe others' predictions little")
ax.legend()
plt.show()

# %%
# What many requests cost
# -----------------------
# Each request touches the bags with that patient. Smaller bags make deletion cheaper; with many requests at once,
# most bags are touched in the end, and a fresh fit costs no more.

requests = np.array([1, 2, 5, 10, 20, 50])
gone = np.random.default_rng(0).permutation(len(y))
figure, ax = plt.subplots(figsize=(5.6, 4), layout="constrained")
for size, colour, line in ((22, "#0072b2", "-o"), (88, "#009e73", "--s"), (221, "#d55e00", "-.^")):
    bags = Subbagging(size).resolve(len(y)).draw(1000, random_state=0)
    share = [100 * len(bags.with_any(gone[:number])) / len(bags) for number in requests]
    ax.plot(requests, share, line, color=colour, label=f"bags of {size} of {len(y)} rows")
    print(f"bags of {size:3} rows: {share[0]:3.0f} % are fitted again for one request, {share[3]:3.0f} % for ten")
ax.set(xscale="log", xlabel="patients who withdraw at once", ylabel="bags that are fitted again (%)", ylim=(0, 103))
ax.set_xticks(requests, [str(number) for number in requests])
ax.minorticks_off()
ax.set_title("Small bags make deletion cheap")
ax.legend(fontsize="small")
plt.show()

# %%
# What is forgotten is the row's part in the model. The old model, the files it was saved to and the table itself are
# yours to delete.
