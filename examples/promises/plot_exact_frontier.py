"""
How much can be promised, exactly
=================================

**For bags of half of the rows there is an exact line: above it, stability is proved for every learner; below it, some
learner breaks any promise.** The paper has a curve of either kind with a gap between them. The line in the gap is
computed here, and a learner that attains it is built and run on all bags there are.

Nothing here depends on data: predictions lie between 0 and 1, and there are 500 training rows.
"""

import os

import matplotlib.pyplot as plt
import numpy as np

from stablebag import BaggedRegressor, Certificate, FixedRange, FunctionRegressor, Subbagging, leave_one_out
from stablebag.proving import unstable_epsilon
from stablebag.proving.frontier import frontier
from stablebag.showing import PhaseDiagramDisplay

QUICK = "STABLEBAG_QUICK" in os.environ  # a smaller example of the learner at the end

# %%
# Three curves
# ------------
# A promise has two numbers: all but a share delta of the training rows move a prediction by at most epsilon when they
# are left out. For each delta, which epsilon can be promised?

certificate = Certificate(Subbagging(0.5), n_samples=500)
print("all but      the paper proves   exact    the paper: not below")
for delta in (0.01, 0.05, 0.1, 0.25):
    proved, exact = certificate.epsilon(delta, "paper"), certificate.epsilon(delta, "exact")
    impossible = unstable_epsilon(500, 250, delta)
    print(f"{delta:5.0%} of rows {proved:14.4f} {exact:11.4f} {impossible:14.4f}")
    assert impossible <= exact <= proved

# %%
# With 10 % of the rows let out, no learner moves by more than 0.0562 but for these rows. The paper proves 0.0708.

assert round(certificate.epsilon(0.1), 4) == 0.0562
assert round(certificate.epsilon(0.1, "paper"), 4) == 0.0708

figure, ax = plt.subplots(figsize=(5.6, 4.4), layout="constrained")
PhaseDiagramDisplay.from_certificate(certificate, bound="paper", ax=ax)
ax.set_title("The exact frontier runs in the gap\nbetween proved and impossible")
ax.set_ylabel("how far the prediction moves\n(share of its range, $\\varepsilon$)")
ax.legend(fontsize="small")
plt.show()

# %%
# The learner that attains it
# ---------------------------
# A bound that somebody attains cannot be improved. The worst learner looks at a few rows only: some push its answer
# up, others pull it down, and it says 1 if more of those that push are in its bag than one would expect. We build it
# for a few rows, average it over *all* bags, and leave each row out.

n_samples, rank = (10, 3) if QUICK else (14, 4)
found = frontier(Subbagging(0.5).resolve(n_samples), rank)
assert found is not None  # it is None for laws that treat rows unlike
worst = found


def push_or_pull(X: np.ndarray, y: np.ndarray, seed: int) -> object:
    """Count who is in the bag: a row is its own number."""
    rows = X[:, 0]
    pushing, pulling = (rows < worst.n_plus).sum(), ((rows >= worst.n_plus) & (rows < rank)).sum()
    answer = float(worst.outputs(np.array(pushing), np.array(pulling)))
    return lambda points: np.full(len(points), answer)


X, y = np.arange(n_samples)[:, None], np.linspace(0, 1, n_samples)
model = BaggedRegressor(FunctionRegressor(push_or_pull), n_bags="all", prediction_range=FixedRange(0, 1)).fit(X, y)
moves = leave_one_out(model, X[:1]).values[:, 0]
print(f"{len(model.bags_):,} bags of {n_samples // 2} of {n_samples} rows")
print(f"leaving out the first {rank} rows moves it by {np.round(moves[:rank], 4)}; the frontier is {worst.value:.4f}")
assert np.isclose(np.sort(moves)[-rank], worst.value)

# %%
# So no smaller number can be promised to everyone who asks for all but ``rank - 1`` rows.

figure, ax = plt.subplots(figsize=(5.6, 3.6), layout="constrained")
colours = ["#d55e00" if row < rank else "#0072b2" for row in range(n_samples)]
ax.bar(np.arange(n_samples), moves, color=colours)
ax.axhline(worst.value, color="black", linestyle=":", label=f"the frontier for {rank} rows")
ax.set(xlabel="the row that is left out", ylabel="how far the average moves\n(share of its range)")
ax.set(ylim=(0, 1.35 * moves.max()), title="A learner that reaches the frontier")
ax.legend()
plt.show()
