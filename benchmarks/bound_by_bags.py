"""Draw the guarantee against the number of bags: the figure of docs/proofs.md, section 16.

python benchmarks/bound_by_bags.py docs/images/bags_and_guarantee.png
"""

import sys

import matplotlib.pyplot as plt
import numpy as np

from stablebag import Certificate, Subbagging
from stablebag.proving import bounds
from stablebag.proving.coupling import matched

N_SAMPLES, DELTA = 1_000, 0.1


def draw(path: str) -> None:
    """Write the figure."""
    numbers = np.unique(np.round(np.geomspace(100, 30_000, 40)).astype(int))
    figure, panels = plt.subplots(1, 2, figsize=(8.5, 3.6), layout="constrained")
    for panel, share, words in zip(panels, (0.5, 0.1), ("half of the rows", "a tenth of the rows"), strict=True):
        law = Subbagging(share).resolve(N_SAMPLES)
        exact, coupling = Certificate(law, N_SAMPLES).epsilon(DELTA), matched(law)
        # Rows and bags separately, as in section 10; then jointly, as in section 15; then with the tail.
        parts = [(1 - 1 / b) * law.constant / 4 + coupling.noise / b for b in numbers]
        joint = [bounds.second_moment_epsilon(DELTA, law.constant, int(b), coupling) for b in numbers]
        tail = [Certificate(law, N_SAMPLES, int(b), coupling="matched").epsilon(DELTA) for b in numbers]
        panel.plot(numbers, np.sqrt(np.array(parts) / DELTA), color="0.6", label="rows and bags separately (10)")
        panel.plot(numbers, joint, color="#7b6fd0", ls="--", label="jointly, second moments (15)")
        panel.plot(numbers, tail, color="#1b6ca8", lw=2, label="with tail bounds (16)")
        panel.axhline(exact, color="black", lw=1, label="exact frontier, all bags (1)")
        panel.axvline(N_SAMPLES, color="0.85", lw=1, zorder=0)
        panel.annotate("as many bags as rows", (N_SAMPLES, 0.97), xycoords=("data", "axes fraction"), rotation=90,
                       ha="right", va="top", fontsize=8, color="0.4")  # fmt: skip
        panel.set(xscale="log", xlabel="number of bags", title=f"Bags of {words}", ylim=(0, 4 * exact))
        panel.spines[["top", "right"]].set_visible(False)
    panels[0].set_ylabel(f"change that at most {DELTA:.0%} of the rows exceed,\nas a share of the range", fontsize=9)
    panels[1].legend(frameon=False, fontsize=8, loc="upper right", title="proofs, section:", title_fontsize=8)
    figure.savefig(path, dpi=110, facecolor="white")


if __name__ == "__main__":
    draw(sys.argv[1] if len(sys.argv) > 1 else "bags_and_guarantee.png")
