"""Outputs that are vectors, such as the probabilities of all classes."""

import math
from collections.abc import Sequence

from stablebag._checks import check_bags, check_delta, check_epsilon, check_integer, check_real, refuse_value
from stablebag.proving.bounds.constant import check_constant
from stablebag.proving.bounds.finite_bags import second_moment_epsilon
from stablebag.proving.coupling import ANY, Coupling


def simplex_radius(n_classes: int) -> float:
    """Return sqrt(1 - 1 / L): how far a vector of L class probabilities can be from the uniform one.

    It is what `vector_epsilon` takes for class probabilities, as in Soloff, Barber and Willett (2024b).

    >>> round(simplex_radius(n_classes=4) ** 2, 9)
    0.75
    """
    return math.sqrt(1 - 1 / check_integer(n_classes, "n_classes", "simplex_radius", minimum=1))


def vector_epsilon(
    delta: float, constant: float, radius: float, n_bags: float = math.inf, coupling: Coupling | str = ANY
) -> float:
    """Return the Euclidean distance exceeded by at most a share `delta` of the rows, for a vector of outputs.

    Soloff, Barber and Willett (2024b), "Stability via resampling", arXiv 2405.09511, for infinitely many bags: outputs
    within `radius` of some point give delta epsilon^2 >= radius^2 c. For B bags proved here (docs/proofs.md, 5):
    radius^2 (c + 4 / B), and radius^2 (c + 2 / B) with bags drawn independently with and without a row.

    >>> vector_epsilon(delta=0.25, constant=0.01, radius=0.5)  # an interval of length 1: Theorem 8
    0.1
    """
    radius = check_real(radius, "radius", "vector_epsilon", finite=True)
    return 2 * radius * second_moment_epsilon(delta, constant, n_bags, coupling)


def vote_variance(shares: Sequence[float]) -> float:
    """Return ``1 - |w|^2``, the Gini index of the shares of the votes: the variance over bags of a vector of votes.

    Proved here (docs/proofs.md, 5): a vote is a vector of length 1, so ``E|y - w|^2 = 1 - |w|^2``. It takes the place
    of the squared radius 1 - 1 / L, and is not larger. With the shares of drawn bags it is an estimate for all bags,
    but exact for the drawn ones.

    >>> round(vote_variance([0.6, 0.3, 0.1]), 9)
    0.54
    """
    shares = [check_real(share, "shares", "vote_variance", high=1.0) for share in shares]
    if not math.isclose(math.fsum(shares), 1.0, abs_tol=1e-9):
        raise refuse_value("shares", "vote_variance", "shares that add up to 1", shares)
    return max(0.0, 1 - math.fsum(share * share for share in shares))


def vote_delta(epsilon: float, constant: float, shares: Sequence[float]) -> float:
    """Return the share of rows that may move the shares of the votes by a distance of more than `epsilon`.

    Proved here (docs/proofs.md, 5), for infinitely many bags: ``c (1 - |w|^2) / epsilon^2``. At most 1.

    >>> round(vote_delta(epsilon=0.1, constant=1 / 499, shares=[0.6, 0.3, 0.1]), 9)
    0.108216433
    """
    epsilon = check_epsilon(epsilon, "vote_delta")
    square = check_constant(constant, "vote_delta") * vote_variance(shares)
    return 0.0 if square == 0 else 1.0 if square >= epsilon * epsilon else square / epsilon / epsilon


def vote_epsilon(delta: float, constant: float, shares: Sequence[float]) -> float:
    """Return the distance exceeded by at most a share `delta` of the rows, for the shares of the votes.

    Proved here (docs/proofs.md, 5), for infinitely many bags: ``sqrt(c (1 - |w|^2) / delta)``.

    >>> round(vote_epsilon(delta=0.54, constant=0.01, shares=[0.6, 0.3, 0.1]), 9)
    0.1
    """
    delta = check_delta(delta, "vote_epsilon")
    square = check_constant(constant, "vote_epsilon") * vote_variance(shares)
    return 0.0 if square == 0 else math.inf if delta == 0 else math.sqrt(square / delta)


def vector_monte_carlo_radius(n_bags: float, monte_carlo_delta: float, radius: float, diameter: float) -> float:
    """Return what drawing B bags adds to a distance between vectors, at the price of `monte_carlo_delta`.

    Proved here (docs/proofs.md, 5): 2 radius / sqrt(B) + diameter sqrt(2 / B log(2 / delta')), by McDiarmid's
    inequality, in place of Theorem 9's term for numbers.

    >>> round(vector_monte_carlo_radius(n_bags=10_000, monte_carlo_delta=0.05, radius=0.9, diameter=2**0.5), 6)
    0.056413
    """
    n_bags = check_bags(n_bags, "vector_monte_carlo_radius")
    if math.isinf(n_bags):
        return 0.0
    delta = check_delta(monte_carlo_delta, "vector_monte_carlo_radius", name="monte_carlo_delta")
    if delta == 0:
        return math.inf
    return 2 * radius / math.sqrt(n_bags) + diameter * math.sqrt(2 / n_bags * math.log(2 / delta))
