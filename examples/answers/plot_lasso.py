"""
Can I trust the features that the lasso selects?
================================================

**Not one selection alone: several are about equally good, and single rows decide between them.** This page leaves out
each row and counts how often the selection changes. Then it lets bags vote and keeps all selections with about the
most votes. Whichever row is left out, at least one of them is selected again.

The data are the 442 patients of :func:`sklearn.datasets.load_diabetes`, with ten features.
"""

import os

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_diabetes
from sklearn.linear_model import Lasso

from stablebag import BaggedRegressor, select_model

QUICK = "STABLEBAG_QUICK" in os.environ  # fewer bags, to run in seconds

X, y = load_diabetes(return_X_y=True, as_frame=True)


def lasso_features(X: pd.DataFrame, y: pd.Series) -> frozenset[str]:
    """Return the features that the lasso selects."""
    return frozenset(X.columns[Lasso(alpha=1.0).fit(X, y).coef_ != 0])


def written(choice: frozenset[str]) -> str:
    """Return the names of the features, in one line."""
    return ", ".join(sorted(choice))


# %%
# One lasso
# ---------
# Fitted to all rows, it selects three features. We leave out each row and compare.

kept = lasso_features(X, y)
rows = range(0, len(y), 2) if QUICK else range(len(y))
changed = sum(lasso_features(X.drop(index=row), y.drop(index=row)) != kept for row in rows)
print(f"The lasso selects {written(kept)}; leaving out any one of {changed} of {len(rows)} rows changes that.")
assert len(kept) == 3
assert changed > 0

# %%
# Bags vote
# ---------
# Bags can vote on the result of any function of the data that returns a choice.

bagging = BaggedRegressor(n_bags=200 if QUICK else 500, random_state=0)  # how bags are drawn
selection = select_model(lasso_features, X, y, bagging=bagging)
print(selection)

# %%
# Leave each row out
# ------------------
# The vote is nearly a tie, so the winner depends on single rows. The selected choices together do not: whichever row is
# left out, at least one of them is selected again.

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
ax.bar_label(bars, [f"{100 * share:.0f}%" for share in frame["share"]], padding=4)
ax.invert_yaxis()
ax.set(xlim=(0, 115 * frame["share"].max()), xlabel="votes of the bags (%); selected choices are blue")
ax.set_title(f"{len(selection)} choices have about the most votes")
plt.show()

# %%
# The guarantee is about the selected choices, not about the winner. It does not say that a choice is right: a selector
# that always returns the same choice is perfectly stable.
#
# **Next:** report all selected choices, or let bags vote on the winner of a grid search with
# :func:`~stablebag.deciding.search_winner`.
