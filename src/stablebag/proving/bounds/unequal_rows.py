"""Laws that do not treat all rows alike: few rows that are in bags often do not spoil the bound for the others.

Row i has a constant c_i of its own, and the sum over rows of L_i^2 / (n c_i) is at most the variance of the output over
bags. If all constants are equal this is Proposition 5 of Barber and Samworth (2026); strata have one each.
"""

import math

import numpy as np

from stablebag._checks import check_bags, check_delta, check_integer
from stablebag.proving.coupling import ANY, Coupling, Matched, as_coupling


def kth_of_unequal_rows(rank: int, constants: np.ndarray, inclusion: np.ndarray) -> float:
    """Bound the `rank`-th largest of the leave-one-out perturbations of derandomized bagging, for unequal rows.

    Proposition 5 of Barber and Samworth (2026), with a constant for each row (docs/proofs.md, 11): if K rows move the
    prediction by more than epsilon, then epsilon^2 times the sum of their 1 / (n c_i) is at most 1/4. The sum is
    smallest for the rows with the largest constants. Nor does a row move it by more than its chance to be in a bag.

    >>> kth_of_unequal_rows(2, np.array([0.25, 0.01, 0.01, 0.01]), np.full(4, 0.9))  # 1 / 1 + 1 / 0.04 = 26
    0.09805806756909202
    """
    rank = check_integer(rank, "rank", "kth_of_unequal_rows", minimum=1)
    if rank > len(constants):
        return 0.0
    weights = np.sort(1 / (len(constants) * constants))
    total, chance = float(weights[:rank].sum()), float(np.sort(inclusion)[-rank])
    return chance if total == 0 else min(math.sqrt(0.25 / total), chance)


def unequal_rows_epsilon(
    delta: float, constants: np.ndarray, n_bags: float = math.inf, coupling: Coupling | str = ANY
) -> float:
    """Return the perturbation that at most a share `delta` of unequal rows exceeds, on average over the bags.

    Proposition 5 of Barber and Samworth (2026) with a constant for each row, and second moments of the bags
    (docs/proofs.md, 11): delta(epsilon) is the largest mean of n chances P_i whose sum of P_i / (n c_i) is at most
    A / epsilon^2, where A is 1/4 and what the bags add.

    >>> unequal_rows_epsilon(0.5, np.array([0.25, 0.01, 0.01, 0.01]))  # two of four rows, as above
    0.09805806756909202
    """
    owner = "unequal_rows_epsilon"
    rows = check_delta(delta, owner) * len(constants)
    weights = np.sort(1 / (len(constants) * constants))
    total = np.concatenate([[0.0], np.cumsum(weights)])
    filled = float(np.interp(rows, np.arange(len(total)), total))
    return math.inf if filled == 0 else math.sqrt(_weighted_square(weights, n_bags, coupling, owner) / filled)


def unequal_rows_mean(constants: np.ndarray, n_bags: float = math.inf, coupling: Coupling | str = ANY) -> float:
    """Bound the mean over unequal rows of the expected perturbation.

    Proposition 5 of Barber and Samworth (2026) with a constant for each row (docs/proofs.md, 11): by the inequality of
    Cauchy and Schwarz, it is at most the root of the mean of the constants times A, as in `unequal_rows_epsilon`.

    >>> unequal_rows_mean(np.array([0.01, 0.03]))  # sqrt(0.02 / 4)
    0.07071067811865475
    """
    weights = 1 / (len(constants) * constants)
    return math.sqrt(float(np.mean(constants)) * _weighted_square(weights, n_bags, coupling, "unequal_rows_mean"))


def _weighted_square(weights: np.ndarray, n_bags: float, coupling: Coupling | str, owner: str) -> float:
    """A bound on the sum of the weighted expected squares, for outputs in [0, 1]."""
    coupling, n_bags = as_coupling(coupling, owner), check_bags(n_bags, owner)
    noise = coupling.noise * float(weights.sum())
    if isinstance(coupling, Matched):
        noise = float(weights.max()) * len(weights) * coupling.noise if coupling.weighted is None else coupling.weighted
        return (1 - 1 / n_bags) / 4 + noise / n_bags
    return 1 / 4 + noise / n_bags
