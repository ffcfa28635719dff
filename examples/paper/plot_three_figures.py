"""
The paper's three figures
=========================

**The experiments of** *Bagging Provides Assumption-free Stability* **(Soloff, Barber and Willett, JMLR 2024) come out
again: learners that violate the guarantee satisfy it once they are subbagged.** The data are the paper's simulations,
made anew. The paper draws 10,000 bags, and so does ``stablebag reproduce``; this page draws fewer.
"""

import io
import os

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from stablebag.paper import figure_1, figure_2, figure_3, run_all

QUICK = "STABLEBAG_QUICK" in os.environ  # one of the settings, so that the page is made in seconds

# %%
# Run the experiments
# -------------------
# Each base learner is fitted again without each row; its subbagged version answers from its bags. Of the paper's four
# settings, these are the ones in which the base learner is unstable: logistic regression and trees. ``stablebag
# reproduce`` runs them all.

settings = (4,) if QUICK else (1, 4)
results = list(run_all(settings, n_bags=100 if QUICK else 500))
for result in results:
    print(f"Setting {result.setting.number}: {result.setting.title}")
    for claim in result.claims():
        print(f"  the paper: {claim.says}. Found: {claim.found}.")
assert all(claim.holds for result in results for claim in result.claims())


# %%
# Figure 1: one learner
# ---------------------
# How far rows move the prediction at the paper's test point, alone and subbagged.


def show(figure: Figure, width: float, height: float) -> None:
    """Hand a figure that was made without a display to pyplot, in the size of this page."""
    figure.set_size_inches(width, height)
    figure.savefig(picture := io.BytesIO(), dpi=200)
    picture.seek(0)
    shown = plt.figure(figsize=(width, height), dpi=100)
    shown.add_axes((0, 0, 1, 1)).imshow(plt.imread(picture))
    shown.axes[0].axis("off")
    plt.show()


first = figure_1(results[0])
first.axes[0].set_title(f"Rows move it less, subbagged\n({results[0].setting.title})", fontsize="medium")
show(first, 5.6, 3.8)

# %%
# Figure 2: what can be promised
# ------------------------------
# What the paper guarantees, what it shows to be impossible, and the exact line between them, which is ours.

second = figure_2()
second.axes[0].set_title("Guaranteed, impossible, and the exact line between")
show(second, 5.6, 4.2)

# %%
# Figure 3: histograms and curves
# -------------------------------
# On the left as in Figure 1; on the right the share of the rows that move the prediction by more than epsilon. A
# learner is as stable as promised where its curve stays below the dotted line, which bounds the average over all
# bags.

third = figure_3(results)
for ax, result in zip(third.axes[::2], results, strict=True):
    ax.set_title(result.setting.title, fontsize="small")
third.suptitle("Subbagged learners stay below what is allowed")
show(third, 6.4, 0.4 + 2.5 * len(results))
