"""Print how far guarantees with finitely many bags are from the exact frontier: the table of docs/certificates.md.

python benchmarks/distance_to_frontier.py
"""

import math

from stablebag import Certificate, Subbagging

DELTAS, BAGS = (0.01, 0.05, 0.1, 0.2), ((0.5, "n/2"), (1, "n"), (2, "2n"), (10, "10n"))


def ratios(share: float, n_samples: int, delta: float, n_bags: int) -> tuple[float, float]:
    """Return epsilon divided by the exact frontier: by second moments, and as certificates have it."""
    exact = Certificate(Subbagging(share), n_samples).epsilon(delta)
    certificate = Certificate(Subbagging(share), n_samples, n_bags, coupling="matched")
    return certificate.quick_epsilon(delta) / exact, certificate.epsilon(delta) / exact


def cell(share: float, n_samples: int, delta: float, n_bags: int) -> str:
    """Write both ratios, rounded up."""
    before, now = (math.ceil(ratio * 100 - 1e-9) / 100 for ratio in ratios(share, n_samples, delta, n_bags))
    return f"{before:.2f} → {now:.2f}"


def main() -> None:
    """Print the table."""
    print("| bags | rows | delta |", " | ".join(f"B = {name}" for _, name in BAGS), "|")
    print("|" + "---|" * (3 + len(BAGS)))
    for share, name in ((0.5, "half"), (0.1, "tenth")):
        for n_samples in (100, 1_000, 10_000):
            for delta in DELTAS:
                cells = [cell(share, n_samples, delta, int(factor * n_samples)) for factor, _ in BAGS]
                print(f"| {name} | {n_samples:,} | {delta} |", " | ".join(cells), "|", flush=True)


if __name__ == "__main__":
    main()
