"""
Which scheme and bag size should I choose?
==========================================

**Choose the size: smaller bags have stronger guarantees, and on these data they cost no accuracy until they are very
small. The scheme matters less.** What counts is how many different rows are in a bag. At the same bag size, drawing
with replacement gives fewer different rows, and so a stronger guarantee. This page compares the four schemes: first
their guarantees, which are known before any fit, then their errors.

The data are the 442 patients of :func:`sklearn.datasets.load_diabetes`.
"""

import os

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.tree import DecisionTreeRegressor

from stablebag import (
    BaggedRegressor,
    BernoulliSubbagging,
    Certificate,
    ClassicalBagging,
    PoissonizedBagging,
    Subbagging,
    leave_one_out_error,
)

QUICK = "STABLEBAG_QUICK" in os.environ  # fewer bags, to run in seconds

# %%
# The four schemes
# ----------------
# ``p`` is the probability that a given row is in a bag. A row that is in most bags can change the average far.

SCHEMES = {
    "subbagging": Subbagging,
    "Bernoulli": BernoulliSubbagging,
    "classical": ClassicalBagging,
    "Poissonized": PoissonizedBagging,
}
X, y = load_diabetes(return_X_y=True)
n = len(y)
for name, scheme in SCHEMES.items():
    law = scheme(0.5).resolve(n)
    bags = law.draw(2000, random_state=0)
    distinct = [len(np.unique(bag)) for bag in bags]
    spread = f"{np.mean(distinct):.0f} +- {np.std(distinct):.0f}"
    print(f"{name:12} p = {law.inclusion_probability:.3f}; distinct rows in a bag: {spread}")

# %%
# The guarantee, by bag size
# --------------------------
# For infinitely many bags and predictions in a range of length 1. The two schemes without replacement share a curve,
# and so do the two with replacement, because their p are equal, or nearly so.

sizes = np.linspace(0.05, 0.9, 7 if QUICK else 18)
curves = {
    name: [Certificate(scheme(float(size)), n).epsilon(0.1) for size in sizes] for name, scheme in SCHEMES.items()
}
assert all(curves["classical"][k] < curves["subbagging"][k] for k in range(len(sizes)))
assert np.allclose(curves["subbagging"], curves["Bernoulli"], rtol=0.02)
assert np.allclose(curves["classical"], curves["Poissonized"], rtol=0.02)

LOOKS = {
    "subbagging": ("#0072b2", "-", "o"),
    "Bernoulli": ("#d55e00", "--", "s"),
    "classical": ("#009e73", "-", "^"),
    "Poissonized": ("#cc79a7", "--", "D"),
}
figure, ax = plt.subplots(figsize=(5.6, 4), layout="constrained")
for name, curve in curves.items():
    colour, line, marker = LOOKS[name]
    ax.plot(100 * sizes, curve, line, marker=marker, markersize=5, color=colour, label=name)
ax.set(xlabel="bag size (% of the rows; with repeats, number of draws)", ylim=(0, None))
ax.set_ylabel("90% of the rows change a prediction\nby at most this share of the range")
ax.set_title("Smaller bags have stronger guarantees,\nand so has drawing with replacement")
ax.legend(ncols=2)
plt.show()

# %%
# The error
# ---------
# The same four schemes on the data, with trees. Each row is predicted by the bags without it. The picture plots each
# error against the guarantee for infinitely many bags, in units of the target's range.

few = (0.05, 0.2, 0.5) if QUICK else (0.05, 0.1, 0.2, 0.35, 0.5, 0.75)
results = {}
for name, scheme in SCHEMES.items():
    for size in few:
        model = BaggedRegressor(
            DecisionTreeRegressor(), scheme=scheme(size), n_bags=150 if QUICK else 600, random_state=0
        )
        error = leave_one_out_error(model.fit(X, y), "absolute")
        results[name, size] = Certificate(scheme(size), n).epsilon(0.1), error.value, error.standard_error
print("mean absolute error (standard error), by bag size")
print(f"{'':12}" + "".join(f"{size:>14.0%}" for size in few))
for name in SCHEMES:
    print(
        f"{name:12}" + "".join(f"{f'{results[name, size][1]:.1f} ({results[name, size][2]:.1f})':>14}" for size in few)
    )

# %%
# Here, bags of a fifth of the rows cost no accuracy: from this size on, all errors are within two standard errors of
# each other.

errors = [results[name, size][1] for name in SCHEMES for size in few if size >= 0.2]
assert max(errors) - min(errors) < 2 * results["subbagging", 0.5][2]

figure, ax = plt.subplots(figsize=(5.6, 4), layout="constrained")
for name in SCHEMES:
    bound, error, _ = np.array([results[name, size] for size in few]).T
    colour, line, marker = LOOKS[name]
    ax.plot(bound, error, line, marker=marker, color=colour, label=name)
ax.set(xlabel="guaranteed for 90% of the rows (share of the range)", ylabel="mean absolute error (disease score)")
ax.set(ylim=(0, 62))
ax.set_title("On these data, stability is cheap:\nthe error hardly depends on scheme and size")
ax.legend(ncols=2)
plt.show()

# %%
# **Next:** try smaller bags on your own data. :func:`~stablebag.plan` finds the largest bags that meet a guarantee
# (:ref:`sphx_glr_auto_examples_promises_plot_number_of_bags.py`).
