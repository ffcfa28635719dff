"""Averages and norms over rows, losses, and rows that are replaced."""

import math

from stablebag._checks import check_bags, check_real
from stablebag.proving.bounds.constant import check_constant, check_inclusion

_HIGHEST = 1e300  # orders beyond it would overflow


def norm_perturbation(order: float, constant: float, p: float, n_bags: float = math.inf) -> float:
    """Bound the l_k norm of the perturbations, (mean_i L_i^k)^(1/k), with k = `order`.

    Theorem 18, for derandomized bagging: at most C^(2 / max(k, 2)) p^(1 - 2 / max(k, 2)), with C = min(sqrt(c / 4), p).
    For finitely many bags the expectation of L_i^k stands for L_i^k, and integrating Hoeffding's inequality as in
    Corollary 15 adds 2 (k Gamma(k / 2))^(1/k) / sqrt(2 B) for k >= 1 (an order below 1 is bounded by order 1); this
    extension is not in the paper. No norm exceeds 1.

    >>> round(norm_perturbation(order=4, constant=0.01, p=0.2), 9)  # sqrt(0.05 * 0.2)
    0.1
    """
    owner = "norm_perturbation"
    order = check_real(order, "order", owner, open_low=True)
    p = check_inclusion(p, owner)
    n_bags = check_bags(n_bags, owner)
    mean_square = min(math.sqrt(check_constant(constant, owner) / 4), p)
    weight = 0.0 if math.isinf(order) else 2 / max(order, 2)
    derandomized = math.pow(mean_square, weight) * math.pow(p, 1 - weight)
    if math.isinf(n_bags):
        return derandomized
    if math.isinf(order):
        return 1.0
    k = max(order, 1.0)
    if k > _HIGHEST:  # where the noise alone is as large as anything can be
        return 1.0
    noise = 2 * math.exp((math.log(k) + math.lgamma(k / 2)) / k) / math.sqrt(2 * n_bags)
    return min(1.0, derandomized + noise)


def mean_perturbation(constant: float, p: float, n_bags: float = math.inf) -> float:
    """Bound the mean over rows of the expected perturbation: beta in Corollary 15.

    Corollary 15: at most min(sqrt(c / 4), p) + sqrt(2 pi / B).

    >>> mean_perturbation(constant=0.01, p=0.5)
    0.05
    >>> round(mean_perturbation(constant=0.01, p=0.5, n_bags=10_000), 6)  # 0.05 + 0.0250663
    0.075066
    """
    return norm_perturbation(1, constant, p, n_bags)


def loss_perturbation(perturbation: float, lipschitz: float) -> float:
    """Bound how far a loss moves when the prediction moves: L epsilon for an L-Lipschitz loss.

    Section 2 for tails (there misprinted as epsilon / L) and Corollary 16 for means.

    >>> loss_perturbation(0.25, lipschitz=2.0)
    0.5
    """
    lipschitz = check_real(lipschitz, "lipschitz", "loss_perturbation", finite=True)
    return lipschitz * check_real(perturbation, "perturbation", "loss_perturbation")


def replace_one_in_expectation(perturbation: float, lipschitz: float = 1.0) -> float:
    """Bound how far a loss moves when a row is replaced by another, in expectation over i.i.d. rows: 2 L beta.

    Corollary 17: replacing is leaving out one row and putting in another; if rows and replacements are independent and
    from one distribution, each costs at most L beta in expectation. For every data set, only L p holds.

    >>> replace_one_in_expectation(0.25, lipschitz=2.0)
    1.0
    """
    return 2 * loss_perturbation(perturbation, lipschitz)
