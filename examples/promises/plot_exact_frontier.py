"""
What is the best guarantee that anyone can give?
================================================

**For bags of half of the rows, there is an exact line: above it, stability is guaranteed for every learner; below it,
some learner breaks any guarantee.** The paper has one curve of each kind, with a gap between them. This page computes
the exact line in the gap, then builds a learner that reaches it and runs it on all possible bags.

Nothing here depends on data: predictions lie between 0 and 1, and there are 500 training rows.
"""

import os

import matplotlib.pyplot as plt
import numpy as np

from stablebag import BaggedRegressor, Certificate, FixedRange, FunctionRegressor, Subbagging, leave_one_out
from stablebag.proving import unstable_epsilon
from stablebag.proving.frontier import frontier
from stablebag.showing import PhaseDiagramDisplay

QUICK = "STABLEBAG_QUICK" in os.environ  # a smaller example at the end, to run in seconds

# %%
# Three curves
# ------------
# A guarantee has two numbers: all but a share delta of the training rows change a prediction by at most epsilon when
# left out. Which epsilon can be guaranteed for each delta?

certificate = Certificate(Subbagging(0.5), n_samples=500)
print("all but      paper's bound   exact bound    impossible below (paper)")
for delta in (0.01, 0.05, 0.1, 0.25):
    proved, exact = certificate.epsilon(delta, "paper"), certificate.epsilon(delta, "exact")
    impossible = unstable_epsilon(500, 250, delta)
    print(f"{delta:5.0%} of rows {proved:12.4f} {exact:13.4f} {impossible:17.4f}")
    assert impossible <= exact <= proved

# %%
# For every learner, at most 10% of the rows change a prediction by more than 0.0562. The paper proves 0.0708.

assert round(certificate.epsilon(0.1), 4) == 0.0562
assert round(certificate.epsilon(0.1, "paper"), 4) == 0.0708

figure, ax = plt.subplots(figsize=(5.6, 4.4), layout="constrained")
PhaseDiagramDisplay.from_certificate(certificate, bound="paper", ax=ax)
ax.set_title("The exact frontier lies in the gap\nbetween guaranteed and impossible")
ax.set_ylabel("change of the prediction\n(share of its range, $\\varepsilon$)")
ax.legend(fontsize="small")
plt.show()

# %%
# A learner that reaches the line
# -------------------------------
# If some learner reaches a bound, the bound cannot be improved. The worst learner looks at a few rows only. Some of
# them push its answer up, others pull it down. It answers 1 if its bag contains more pushing rows than expected. We
# build it for a few rows, average it over *all* possible bags, and leave out each row.

n_samples, rank = (10, 3) if QUICK else (14, 4)
found = frontier(Subbagging(0.5).resolve(n_samples), rank)
assert found is not None  # it is None for laws that do not treat all rows alike
worst = found


def push_or_pull(X: np.ndarray, y: np.ndarray, seed: int) -> object:
    """Count the pushing and pulling rows in the bag; the feature of a row is its number."""
    rows = X[:, 0]
    pushing, pulling = (rows < worst.n_plus).sum(), ((rows >= worst.n_plus) & (rows < rank)).sum()
    answer = float(worst.outputs(np.array(pushing), np.array(pulling)))
    return lambda points: np.full(len(points), answer)


X, y = np.arange(n_samples)[:, None], np.linspace(0, 1, n_samples)
model = BaggedRegressor(FunctionRegressor(push_or_pull), n_bags="all", prediction_range=FixedRange(0, 1)).fit(X, y)
moves = leave_one_out(model, X[:1]).values[:, 0]
print(f"{len(model.bags_):,} bags of {n_samples // 2} of {n_samples} rows")
print(f"leaving out one of the first {rank} rows changes the average by {np.round(moves[:rank], 4)}")
print(f"the frontier for {rank} rows is {worst.value:.4f}")
assert np.isclose(np.sort(moves)[-rank], worst.value)

# %%
# So no smaller bound holds for every learner, for all but ``rank - 1`` rows.

figure, ax = plt.subplots(figsize=(5.6, 3.6), layout="constrained")
colours = ["#d55e00" if row < rank else "#0072b2" for row in range(n_samples)]
ax.bar(np.arange(n_samples), moves, color=colours)
ax.axhline(worst.value, color="black", linestyle=":", label=f"the frontier for {rank} rows")
ax.set(xlabel="the row that is left out", ylabel="change of the average\n(share of its range)")
ax.set(ylim=(0, 1.35 * moves.max()), title="A learner that reaches the frontier")
ax.legend()
plt.show()

# %%
# **Next:** with finitely many bags, guarantees are a little larger. How many bags do you need?
# (:ref:`sphx_glr_auto_examples_promises_plot_number_of_bags.py`)
