"""
How good is my model, really?
=============================

**The bags that a row is not in have already tested the model on it: an interval for its error on new rows needs no
held-out rows and no further fit.** The proved interval holds for every learner and every distribution; small bags make
it narrow, and large bags make the model good. This page shows that choice, and compares two models.

The data are 569 tumours, with 30 measurements each. The loss is one minus the probability of the true class.
"""

import os
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.dummy import DummyClassifier
from sklearn.tree import DecisionTreeClassifier

from stablebag import BaggedClassifier, Subbagging, compare_errors, leave_one_out_error

QUICK = "STABLEBAG_QUICK" in os.environ  # fewer bags and sizes, to run in seconds
N_BAGS, SIZES = (200, (5, 50)) if QUICK else (1000, (3, 5, 10, 20, 50, 100, 284))
X, y = load_breast_cancer(return_X_y=True)

# %%
# Small bags prove more, large bags predict better
# ------------------------------------------------
# Each bag is a decision tree. The asymptotic interval includes what the bags measure of how losses depend on the same
# rows; the proved one includes the worst that any learner could do with these bags.

models, errors = {}, {}
for size in SIZES:
    models[size] = BaggedClassifier(scheme=Subbagging(size), n_bags=N_BAGS, random_state=0).fit(X, y)
    errors[size] = leave_one_out_error(models[size], "probability")

fig, ax = plt.subplots(figsize=(7, 4))
place = np.arange(len(SIZES))
for kind, offset, colour in (("proved", -0.08, "tab:gray"), ("asymptotic", 0.08, "tab:blue")):
    ends = np.array([tuple(error.interval(kind=kind)) for error in errors.values()])
    ax.vlines(place + offset, *ends.T, color=colour, linewidth=3, label=f"{kind} interval, 95%")
ax.plot(place, [error.value for error in errors.values()], "o", color="black", label="leave-one-out error")
ax.axhline(0.5, color="tab:red", linestyle=":", label="coin")
ax.set_xticks(place, [str(size) for size in SIZES])
ax.set(xlabel="rows in a bag", ylabel="one minus the probability of the true class", ylim=(0, 0.75))
ax.legend()
plt.show()

# %%
# rho is the share of the variance that the bags' certificate cannot exclude, next to the share that is measured:

for size, error in errors.items():
    print(f"bags of {size:3d}: error {error.value:.3f}, rho {error.rho:7.2f}, measured {error.measured_rho:.3f}")

# %%
# Is it better than a constant, and than stumps?
# ----------------------------------------------
# Models with the same scheme, number of bags and random state have the same bags, so most of their noise cancels.

size = SIZES[1] if QUICK else 20
bags: dict[str, Any] = {"scheme": Subbagging(size), "n_bags": N_BAGS, "random_state": 0}
constant = BaggedClassifier(DummyClassifier(), **bags).fit(X, y)
stumps = BaggedClassifier(DecisionTreeClassifier(max_depth=1), **bags).fit(X, y)
print(compare_errors(models[size], constant, "probability", kind="proved"))
print(compare_errors(models[size], stumps, "brier"))

# %%
# The first is proved for every learner, the second states its assumptions. Where neither model is clearly better, the
# verdict says so, and about how many rows would tell:

print(compare_errors({"trees": models[size], "stumps": stumps, "constant": constant}, loss="zero_one"))

# %%
# **Next:** :doc:`How good is it, really? <../../errors>` says which losses have a proved interval, how often intervals
# cover in simulations, and what is not promised.
