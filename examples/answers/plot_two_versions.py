"""
We retrained: which customers are affected, and why?
====================================================

**Call** :func:`~stablebag.compare_versions` **with both fitted models. It marks the predictions that changed by more
than other bags would change them, names the kinds of customers, and finds the rows behind the change.** This page
retrains a model three times: with nothing but another seed, with a shift in one plan, and with one month of wrong rows.

The data are simulated, so that it is known what changed.
"""

import os

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.tree import DecisionTreeRegressor

from stablebag import BaggedRegressor, FixedRange, Subbagging, compare_versions

QUICK = "STABLEBAG_QUICK" in os.environ  # fewer bags, to run in seconds

rng = np.random.default_rng(0)
n = 1300  # rows of thirteen months, 100 in each
customers = pd.DataFrame(
    {
        "age": rng.integers(18, 80, n),
        "plan": rng.choice(["family", "single", "student"], n),
        "years": rng.exponential(4, n).round(1),
    },
    index=[f"customer {number}" for number in range(n)],
)
month = pd.Series(np.repeat(np.arange(13), 100), index=customers.index)
claims = customers["age"] / 20 - 0.1 * customers["years"] + rng.normal(size=n)  # what is predicted

# %%
# Fit both versions alike
# -----------------------
# Both versions have the same seed, the same row IDs and bags of 100 rows. Bag number 7 of the new version is then bag
# number 7 of the old one, but for rows that left or came. Trees need numbers, so the plan is coded.

X = customers.assign(plan=customers["plan"].astype("category").cat.codes)
model = BaggedRegressor(
    DecisionTreeRegressor(max_depth=5),
    scheme=Subbagging(100),
    n_bags=200 if QUICK else 1000,
    prediction_range=FixedRange(-5, 12),
    random_state=0,
)
before, now, held_out = month[month < 10].index, month[(month > 0) & (month < 11)].index, month[month >= 11].index
old = clone(model).fit(X.loc[before], claims[before], row_ids="index")

# %%
# Nothing but another seed
# ------------------------
# Every prediction differs, because the bags are others. None of it is beyond noise.

reseeded = clone(model).set_params(random_state=2).fit(X.loc[before], claims[before], row_ids="index")
nothing = compare_versions(old, reseeded, X.loc[held_out])
print(nothing.summary())
assert (nothing.change != 0).all()
assert nothing.n_beyond_noise == 0

# %%
# A shift in one plan
# -------------------
# Customers of the plan "family" now claim more. The first month left the table, and another came. ``by`` has columns
# that describe customers, here with the names of the plans.

more = claims + 1.5 * (customers["plan"] == "family")
shifted = clone(model).fit(X.loc[now], more[now], row_ids="index")
found = compare_versions(old, shifted, X.loc[held_out], by=customers.loc[held_out])
print(found.summary())
assert found.kinds is not None
assert found.kinds.groups[0].words.startswith("plan = family")
family = (customers.loc[held_out, "plan"] == "family").to_numpy()
assert found.beyond_noise[family].mean() > 0.9

# %%
# Values of customers who were there before have also changed. These rows count as corrected.

figure, ax = plt.subplots(figsize=(5.6, 4), layout="constrained")
for clear, colour, label in ((False, "#999999", "within noise"), (True, "#0072b2", "changed beyond noise")):
    some = found.beyond_noise == clear
    ax.plot(found.old[some], found.new[some], ".", color=colour, label=label)
ends = [found.old.min(), found.new.max()]
ax.plot(ends, ends, color="#777777", linewidth=0.8)
ax.set(xlabel="old prediction", ylabel="new prediction", title="One plan shifted")
ax.legend()
plt.show()

# %%
# One month of wrong rows
# -----------------------
# Some rows of every month are replaced by others. Those that come in month 7 have wrong values. The effect of each
# month is estimated from the bags that are already fitted.

leave = customers.index[(month < 10) & (np.arange(n) % 10 == 0)]
come = customers.index[(month >= 10) & (month < 11)]
label = month.copy()
label[come] = np.arange(len(come)) % 10  # late rows of the ten months
wrong = claims + 8 * (label == 7) * customers.index.isin(come)
rows = customers.index[((month < 10) & ~customers.index.isin(leave)) | (month == 10)]
new = clone(model).fit(X.loc[rows], wrong[rows], row_ids="index")
by_month = compare_versions(old, new, X.loc[held_out], rows=label)
blocks = by_month.blocks_to_frame().sort_index()
print(blocks[["n_left", "n_came", "effect", "size", "noise", "beyond_noise"]].round(3).to_string())
assert (blocks["size"] / blocks["noise"]).idxmax() == 7
assert blocks.loc[7, "beyond_noise"]

figure, ax = plt.subplots(figsize=(5.6, 3.4), layout="constrained")
ax.bar(blocks.index, blocks["size"], color="#0072b2", label="typical effect")
ax.plot(blocks.index, blocks["noise"], "D", color="#d55e00", label="its noise")
ax.set(xlabel="month of the rows that left and came", ylabel="change of a prediction", title="Month 7 is behind it")
ax.legend()
plt.show()

# %%
# Two exact parts
# ---------------
# ``with_parts`` fits the model of the common rows and splits every change: what rows that left did, and what rows that
# came did. Only bags with a changed row are fitted.

print(f"{by_month.n_fits} of {len(new.bags_)} bags have a row that left")
parts = by_month.with_parts().to_frame()
print(parts[["change", "left", "came"]].head(3).round(3).to_string())
assert np.allclose(parts["left"] + parts["came"], parts["change"])

# %%
# **Next:** a customer asks to be deleted (:ref:`sphx_glr_auto_examples_rows_plot_deletion_request.py`).
