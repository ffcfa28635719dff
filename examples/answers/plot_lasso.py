"""
Which features does the lasso keep?
===================================

**The lasso's choice of features is one of several that are about as good, and single rows decide between them. Let
bags vote, and keep all choices with about the most votes: without any row, one of them is still there.**

The data are the 442 patients of :func:`sklearn.datasets.load_diabetes`, with ten features.
"""

import os

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_diabetes
from sklearn.linear_model import Lasso

from stablebag import BaggedRegressor, select_model

QUICK = "STABLEBAG_QUICK" in os.environ  # fewer bags, so that the page is made in seconds

X, y = load_diabetes(return_X_y=True, as_frame=True)


def lasso_features(X: pd.DataFrame, y: pd.Series) -> frozenset[str]:
    """Return the features that the lasso keeps."""
    return frozenset(X.columns[Lasso(alpha=1.0).fit(X, y).coef_ != 0])


def written(choice: frozenset[str]) -> str:
    """Write a choice in a line."""
    return ", ".join(sorted(choice))


# %%
# One lasso
# ---------
# Fitted to all rows it keeps three features. Leave out each row, and look again.

kept = lasso_features(X, y)
rows = range(0, len(y), 2) if QUICK else range(len(y))
changed = sum(lasso_features(X.drop(index=row), y.drop(index=row)) != kept for row in rows)
print(f"The lasso keeps {written(kept)}; leaving out any of {changed} of {len(rows)} rows changes that.")
assert len(kept) == 3
assert changed > 0

# %%
# Bags vote
# ---------
# Any function of the data that returns a choice can be put to the vote.

bagging = BaggedRegressor(n_bags=200 if QUICK else 500, random_state=0)  # how bags are drawn
selection = select_model(lasso_features, X, y, bagging=bagging)
print(selection)

# %%
# Leave each row out
# ------------------
# The vote is nearly a tie, so the winner alone hangs on single rows. The selected choices together do not: whichever
# row is left out, at least one is selected again.

left_out = selection.leave_one_out()
print(left_out)
assert left_out.overlaps.all()
assert len(selection) >= 2

# %%
# The vote
# --------

frame = selection.to_frame().head(6)
figure, ax = plt.subplots(figsize=(5.6, 3.8), layout="constrained")
colours = np.where(frame["selected"], "#0072b2", "#b0b0b0")
bars = ax.barh([written(choice) for choice in frame["choice"]], 100 * frame["share"], color=colours, height=0.65)
ax.bar_label(bars, [f"{100 * share:.0f} %" for share in frame["share"]], padding=4)
ax.invert_yaxis()
ax.set(xlim=(0, 115 * frame["share"].max()), xlabel="votes of the bags (%); selected choices are blue")
ax.set_title(f"{len(selection)} choices are about as good")
plt.show()

# %%
# What is proved speaks of the selected choices, and not of the winner. And stable is not right: a selector that
# always returns the same choice is perfectly stable.
