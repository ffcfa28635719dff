"""Bounds that look at what the drawn bags predict."""

import math
from typing import Any

import numpy as np

from stablebag._checks import check_bags, check_integer, check_real, refuse_value
from stablebag.proving.bounds.constant import check_constant
from stablebag.proving.coupling import ANY, Coupling, Matched, as_coupling


def standard_deviation_bound(standard_deviation: Any, n_bags: int, confidence: float) -> Any:
    """Bound the standard deviation of the output over all bags by that over B drawn ones, for outputs in [0, 1].

    Maurer and Pontil (2009), "Empirical Bernstein bounds and sample variance penalization", Theorem 10: with
    probability `confidence` over the bags it is at most sqrt(V) + sqrt(2 log(1 / t) / (B - 1)), where sqrt(V) is the
    standard deviation of the sample (V divided by B - 1) and t = 1 - confidence. It is also never above 1/2.

    >>> round(standard_deviation_bound(0.2, n_bags=1000, confidence=0.95), 9)
    0.277443283
    """
    owner = "standard_deviation_bound"
    n_bags = check_integer(n_bags, "n_bags", owner, minimum=2, reason="one bag has no variance.")
    confidence = check_real(confidence, "confidence", owner, high=1.0)
    deviation = np.asarray(standard_deviation, dtype=float)
    if not (deviation >= 0).all():
        raise refuse_value("standard_deviation", owner, "not below 0", float(np.min(deviation)))
    slack = math.inf if confidence == 1 else math.sqrt(-2 * math.log(1 - confidence) / (n_bags - 1))
    bound = np.minimum(0.5, deviation + slack)
    return bound if bound.ndim else float(bound)


def observed_mean_square(
    standard_deviation: Any,
    constant: float,
    n_bags: float = math.inf,
    ragged: float = 1.0,
    coupling: Coupling | str = ANY,
    *,
    shift: float = 0.0,
    shift_noise: float = 0.0,
    shift_square: float = 0.0,
    width: float = math.inf,
) -> Any:
    """Bound the mean over rows of the expected squared perturbation by the standard deviation s over bags.

    For infinitely many bags, c s^2 by the proof of Theorem 8. For B bags, proved here (docs/proofs.md, 6):
    s^2 (c + (1 + sqrt(g))^2 / B), and s^2 (c + (1 + g) / B) with bags drawn independently with and without a row.
    Here g = `ragged` bounds the variance over the bags without a row, averaged over rows, in units of s^2: 1 if all
    bags have the same number of distinct rows, and 1 / (1 - p) in any case. If bags without rows also move the average
    (docs/proofs.md, 9), their root mean square `shift` and the deviation `shift_noise` are added to the roots.

    With matched bags (docs/proofs.md, 10) it is at most s^2 ((1 - 1 / B) c + w / B), where w is
    2 p (1 + 1 / max(m, n - m)) for subbagging, and 1 / (1 - p) if rows are in bags independently. Nor is w s^2 above v
    times the square of `width`, the length of the range (for vectors, twice the radius) in the units of s.
    `shift_square` is the mean square of what bags without rows add.

    >>> round(observed_mean_square(0.5, constant=0.04, n_bags=100), 9)  # c / 4 + 1 / B
    0.02
    """
    owner = "observed_mean_square"
    s = np.asarray(standard_deviation, dtype=float)
    if not (s >= 0).all():
        raise refuse_value("standard_deviation", owner, "not below 0", float(np.min(s)))
    ragged = check_real(ragged, "ragged", owner, low=1.0)
    without = math.sqrt(ragged) * s + shift_noise
    coupling, n_bags = as_coupling(coupling, owner), check_bags(n_bags, owner)
    derandomized = (math.sqrt(check_constant(constant, owner)) * s + shift) ** 2
    square = derandomized + coupling.of_deviations(s, without) / n_bags
    if isinstance(coupling, Matched) and math.isfinite(n_bags):
        noise: Any = coupling.noise * width**2
        if math.isfinite(coupling.per_variance):
            of_variance = (math.sqrt(coupling.per_variance) * s + math.sqrt(shift_square)) ** 2
            noise = np.minimum(noise, of_variance)
        square = np.minimum(square, (1 - 1 / n_bags) * derandomized + noise / n_bags)
    return square if np.ndim(square) else float(square)
