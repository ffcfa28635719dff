"""Simulate how often `suspects` lists a row as influential if no row is: the error rate that it declares.

Bags predict numbers that do not depend on their rows: normal, Cauchy, lognormal, mostly zero, or classes. In the last
line of the table, one row matters much, and we count how often any other row is listed. Run it with

    python benchmarks/suspects_error_rate.py [repetitions]

and it prints the table of docs/measuring.md. 1,000 repetitions take about ten minutes.
"""

import sys
from collections.abc import Callable

import numpy as np

from stablebag import BernoulliSubbagging, ClassicalBagging, PoissonizedBagging, StratifiedSubbagging, Subbagging
from stablebag.measuring.suspects import adjusted_p_values

N_ROWS, N_BAGS, N_POINTS, N_SMALL, ALPHA = 60, 100, 5, 10, 0.05

SCHEMES = {
    "bags of .5": Subbagging(0.5),
    "bags of .1": Subbagging(0.1),
    "bags of .9": Subbagging(0.9),
    "Bernoulli .1": BernoulliSubbagging(0.1),
    "bootstrap": ClassicalBagging(1.0),
    "Poisson .5": PoissonizedBagging(0.5),
    "strata": StratifiedSubbagging(0.5, [0] * N_SMALL + [1] * (N_ROWS - N_SMALL)),
}


def _classes(rng: np.random.Generator, bags: object) -> np.ndarray:
    """Votes for one of three classes, the third of which is rare."""
    return np.eye(3)[rng.choice(3, size=(N_BAGS, N_POINTS), p=[0.5, 0.48, 0.02])].reshape(N_BAGS, -1)


def _one_row(rng: np.random.Generator, bags: object) -> np.ndarray:
    """Normal numbers, three standard deviations larger in the bags with row 0."""
    return rng.normal(size=(N_BAGS, N_POINTS)) + 3.0 * bags.inclusion[:, [0]]  # type: ignore[attr-defined]


OUTPUTS: dict[str, Callable[[np.random.Generator, object], np.ndarray]] = {
    "normal": lambda rng, bags: rng.normal(size=(N_BAGS, N_POINTS)),
    "Cauchy": lambda rng, bags: rng.standard_cauchy(size=(N_BAGS, N_POINTS)),
    "lognormal": lambda rng, bags: np.exp(2 * rng.normal(size=(N_BAGS, N_POINTS))),
    "rare": lambda rng, bags: (rng.random((N_BAGS, N_POINTS)) < 0.02).astype(float),
    "rare, 1 point": lambda rng, bags: (rng.random((N_BAGS, 1)) < 0.02).astype(float),
    "classes": _classes,
    "one row matters": _one_row,
}


def error_rate(scheme: str, outputs: str, repetitions: int, seed: int = 0) -> float:
    """Return the share of repetitions in which any row is listed that has no effect."""
    listed, without_effect = 0, slice(0, None)
    if outputs == "one row matters":  # without another row of its stratum, it would be in more bags: that is an effect
        without_effect = slice(N_SMALL if scheme == "strata" else 1, None)
    for repetition in range(repetitions):
        rng = np.random.default_rng([seed, repetition])
        bags = SCHEMES[scheme].resolve(N_ROWS).draw(N_BAGS, int(rng.integers(2**31)))
        p_values = adjusted_p_values(bags, OUTPUTS[outputs](rng, bags), ALPHA, int(rng.integers(2**31)))
        listed += bool((p_values[without_effect] <= ALPHA).any())
    return listed / repetitions


if __name__ == "__main__":
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    print("| |", " | ".join(SCHEMES), "|")
    print("|---|", "---:|" * len(SCHEMES), sep="")
    for outputs in OUTPUTS:
        rates = [f"{error_rate(scheme, outputs, n):.3f}" for scheme in SCHEMES]
        print(f"| {outputs} |", " | ".join(rates), "|", flush=True)
