"""Draw the guarantee against the number of bags: by separate and joint bounds, by the tail bound, and the frontier.

python benchmarks/bound_by_bags.py guarantee.png
"""

import math
import sys

import matplotlib.pyplot as plt
import numpy as np

from stablebag import Subbagging
from stablebag.proving import bounds, frontier
from stablebag.proving.coupling import matched
from stablebag.proving.tails import Tail

N_SAMPLES, DELTA = 1_000, 0.1


def draw(path: str) -> None:
    """Write the figure."""
    numbers = np.unique(np.round(np.geomspace(50, 50_000, 40)).astype(int))
    figure, panels = plt.subplots(1, 2, figsize=(9.5, 4), sharey=False, layout="constrained")
    for panel, share, words in zip(panels, (0.5, 0.1), ("half of the rows", "a tenth of the rows"), strict=True):
        law = Subbagging(share).resolve(N_SAMPLES)
        parts, coupling = law.matched_components(), matched(law)

        def kth(rank: int, law=law) -> float:
            return frontier.frontier(law, rank).value

        exact = kth(math.floor(DELTA * N_SAMPLES) + 1)
        apart = [bounds.second_moment_epsilon(DELTA, law.constant, int(b), coupling) for b in numbers]
        joint = [math.sqrt(parts.mean_square(int(b)) / DELTA) for b in numbers]
        tail = [Tail(N_SAMPLES, int(b), parts, law.largest_inclusion, kth).epsilon(DELTA) for b in numbers]
        panel.plot(numbers, apart, color="0.65", label="both parts apart")
        panel.plot(numbers, joint, color="#7b6fd0", ls="--", label="jointly, by second moments")
        panel.plot(numbers, tail, color="#1b6ca8", lw=2, label="jointly, by the tail")
        panel.axhline(exact, color="black", lw=1, label="exact frontier, infinitely many bags")
        panel.axvline(N_SAMPLES, color="0.85", lw=1, zorder=0)
        panel.annotate("as many bags as rows", (N_SAMPLES, 0.02), xycoords=("data", "axes fraction"), rotation=90,
                       ha="right", va="bottom", fontsize=8, color="0.5")  # fmt: skip
        panel.set(xscale="log", xlabel="number of bags", title=f"Bags of {words}", ylim=(0, 6 * exact))
        panel.spines[["top", "right"]].set_visible(False)
    panels[0].set_ylabel(f"change that at most {DELTA:.0%} of the rows exceed,\nas a share of the range")
    panels[0].legend(frameon=False, fontsize=9, loc="upper right")
    figure.savefig(path, dpi=130, facecolor="white")


if __name__ == "__main__":
    draw(sys.argv[1] if len(sys.argv) > 1 else "bound_by_bags.png")
