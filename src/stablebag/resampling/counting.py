"""Laws of counts, and the orderings of a bag."""

import math
from collections import Counter
from collections.abc import Iterator

import numpy as np
from scipy.stats import hypergeom


def binomial_law(n: int, p: float, not_p: float) -> np.ndarray:
    """Return the probabilities of 0, ..., n successes."""
    k = np.arange(n, dtype=float)
    return log_concave_law(np.log((n - k) / (k + 1)) + math.log(p) - math.log(not_p))


def log_concave_law(log_ratios: np.ndarray) -> np.ndarray:
    """Return the probabilities whose successive ratios have these decreasing logs, summed outwards from the mode."""
    mode = int((log_ratios > 0).sum())
    below, above = -np.cumsum(log_ratios[:mode][::-1])[::-1], np.cumsum(log_ratios[mode:])
    weights = np.exp(np.concatenate([below, [0.0], above]))
    return np.asarray(weights / weights.sum())


def thinned(law: np.ndarray, n_rows: int) -> np.ndarray:
    """Return the law of how many of `n_rows` given rows are in a bag, from the law of how many of all rows are.

    As all rows are alike, the number of given rows among the s of n rows in a bag is hypergeometric.

    >>> thinned(np.array([0.0, 0.0, 1.0, 0.0]), 1)  # two of three rows, of which one is watched
    array([0.33333333, 0.66666667])
    """
    n = len(law) - 1
    inside, watched = np.arange(n + 1)[:, None], np.arange(n_rows + 1)[None, :]
    return np.asarray(law @ hypergeom.pmf(watched, n, inside, n_rows))


def orders(bag: tuple[int, ...]) -> int:
    """Count the distinct orderings of a bag."""
    return math.factorial(len(bag)) // math.prod(math.factorial(k) for k in Counter(bag).values())


def orderings(counts: "Counter[int]") -> Iterator[tuple[int, ...]]:
    """List the distinct orderings of a bag that has each row as often as it is counted."""
    if not counts:
        yield ()
    for row in sorted(counts):
        for rest in orderings(counts - Counter([row])):
            yield row, *rest
