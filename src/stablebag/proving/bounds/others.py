"""Results by others, for comparison."""

import math

from stablebag._checks import check_delta, check_integer, check_real
from stablebag.proving.bounds.constant import check_inclusion


def inherited_stability(lipschitz: float, p: float, base_stability: float) -> float:
    """Return the stability in the loss that bagging inherits from a stable learner: L p beta.

    Elisseeff, Evgeniou and Pontil (2005), Proposition 4.4, as quoted in section 7.3 of the paper: beta is the stability
    of the base learner on m rows in l_1 loss. It is useful only if beta is known and small; Corollary 16 needs neither.

    >>> inherited_stability(lipschitz=1.0, p=0.5, base_stability=0.25)
    0.125
    """
    lipschitz = check_real(lipschitz, "lipschitz", "inherited_stability", finite=True)
    base_stability = check_real(base_stability, "base_stability", "inherited_stability")
    return lipschitz * check_inclusion(p, "inherited_stability") * base_stability


def black_box_power_ceiling(
    alpha: float, delta: float, n_available: int, n_samples: int, true_delta: float = 0.0
) -> float:
    """Return the largest power of any black-box test of (epsilon, delta)-stability.

    Kim and Barber (2023), quoted in section 7.2 of the paper: a test that declares an unstable learner stable with
    probability at most `alpha`, whatever the learner and the distribution, declares a learner that is exceeded by a
    share delta* of the rows stable with probability at most alpha ((1 - delta*) / (1 - delta))^(N / n), and at most 1.
    The paper prints the case delta* = 0.

    >>> round(black_box_power_ceiling(alpha=0.05, delta=0.1, n_available=500, n_samples=500), 4)  # 0.05 / 0.9
    0.0556
    """
    owner = "black_box_power_ceiling"
    alpha = check_real(alpha, "alpha", owner, high=1.0)
    delta = check_delta(delta, owner)
    true_delta = check_real(true_delta, "true_delta", owner, high=1.0)
    n_available = check_integer(n_available, "n_available", owner, minimum=1)
    n_samples = check_integer(n_samples, "n_samples", owner, minimum=1)
    if alpha == 0 or true_delta == 1:
        return 0.0
    if delta == 1:
        return 1.0
    log_power = math.log(alpha) + n_available / n_samples * (math.log1p(-true_delta) - math.log1p(-delta))
    return math.exp(min(0.0, log_power))
