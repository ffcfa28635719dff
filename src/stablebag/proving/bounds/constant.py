"""The one number through which a scheme enters the guarantees, and what shifts it."""

import math
from fractions import Fraction

from stablebag._checks import check_delta, check_integer, check_real, check_samples, refuse_value
from stablebag.resampling.covariance import symmetric_norm


def bagging_constant(n_samples: int, p: float | Fraction, q: float | Fraction) -> float:
    """Return c = (p / (1 - p) + q / (1 - p)^2) / n, the one number through which a scheme enters the guarantees.

    By the proof of Theorem 8, the mean over rows of the squared leave-one-out perturbation of derandomized bagging
    is at most c times the variance of the prediction over bags, hence at most c / 4. For q < 0, which the paper does
    not cover, c = (p / (1 - p) - (n - 1) q / (1 - p)^2) / n (docs/proofs.md, notation). For a law that does not treat
    all rows alike it is `ResolvedScheme.constant`, by Proposition 5 of Barber and Samworth (2026).

    >>> bagging_constant(n_samples=5, p=0.5, q=0.05)  # (1 + 0.2) / 5
    0.24
    >>> bagging_constant(n_samples=5, p=0.5, q=-0.05)  # (1 + 4 * 0.2) / 5
    0.36
    """
    n_samples = check_samples(n_samples, "bagging_constant")
    check_inclusion(p, "bagging_constant")
    check_real(q, "q", "bagging_constant", low=-0.25, high=0.25)
    return symmetric_norm(n_samples, p, q)


def empty_bags_shift(chance: float, n_classes: int, n_lost: int = 1, *, vector: bool = False) -> float:
    """Return how far bags without rows alone can move a classifier's average when classes lose their only row.

    Proved here (docs/proofs.md, 9): such bags give L classes the probability 1 / L each, and without `n_lost` = j of
    them 1 / (L - j) to the others. If they are a share `chance` of the bags without the row, they move the average of a
    class by at most chance max(1 / L, j / (L (L - j))), which is chance / L for one class, and the vector of all
    classes by chance sqrt(j / (L (L - j))). A row can take one class away, and a unit of several rows more.

    >>> empty_bags_shift(chance=0.5, n_classes=5)
    0.1
    >>> empty_bags_shift(chance=0.5, n_classes=5, n_lost=4)  # the last class gets 1 in place of 1 / 5
    0.4
    """
    owner = "empty_bags_shift"
    chance = check_real(chance, "chance", owner, high=1.0)
    n_classes = check_integer(n_classes, "n_classes", owner, minimum=1)
    n_lost = check_integer(n_lost, "n_lost", owner, minimum=1)
    left = max(1, n_classes - n_lost)
    return chance * (math.sqrt(n_lost / (n_classes * left)) if vector else max(1, n_lost / left) / n_classes)


def shifted_constant(constant: float, shift: float, share: float) -> float:
    """Return what takes the place of c if a share of the rows moves the average by a `shift` for another reason.

    Proved here (docs/proofs.md, 9), by Minkowski's inequality for the mean square over rows:
    4 (sqrt(c / 4) + shift sqrt(share))^2.

    >>> round(shifted_constant(constant=0.04, shift=0.2, share=0.25), 9)  # 4 (0.1 + 0.1)^2
    0.16
    """
    constant = check_constant(constant, "shifted_constant")
    shift = check_real(shift, "shift", "shifted_constant")
    share = check_delta(share, "shifted_constant", name="share")
    return constant if shift == 0 else 4 * (math.sqrt(constant / 4) + shift * math.sqrt(share)) ** 2


def check_inclusion(p: float | Fraction, owner: str) -> float:
    """Return the chance p that a row is in a bag, in (0, 1)."""
    p = check_real(p, "p", owner, high=1.0, open_low=True)
    if p == 1:
        raise refuse_value("p", owner, "below 1", p, "every row is in every bag. Use smaller bags.")
    return p


def check_constant(constant: float, owner: str) -> float:
    """Return the bagging constant."""
    return check_real(constant, "constant", owner, reason="it is what bagging_constant returns.")
