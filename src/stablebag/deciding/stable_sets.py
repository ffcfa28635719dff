"""What a certificate promises of label sets: how far to inflate the argmax, for how many rows, and in which words."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from stablebag._checks import check_delta, check_epsilon, hold_read_only, refuse_type, refuse_value, whole_rows
from stablebag._wording import at_most, count_bags, count_points
from stablebag.learning.predictions import BagPredictions
from stablebag.learning.rows import n_rows
from stablebag.proving.bounds import simplex_radius
from stablebag.proving.certify import certify_reused
from stablebag.proving.points import PointCertificate
from stablebag.proving.reused_bags import ReusedBagsCertificate
from stablebag.proving.scope import Rerun, Scope
from stablebag.proving.scopes import scope_of
from stablebag.proving.vector import VectorCertificate

_ABOVE = 1e-9  # sets share a label at distances strictly below epsilon, and a certificate speaks of those up to it
_ROUNDING = 1e-12  # of a distance between probabilities


@dataclass(frozen=True, eq=False)
class SharedLabels:
    """For which epsilon, and for all but which share of the rows, sets with and without a row share a label.

    Attributes
    ----------
    epsilon : ndarray of shape (n_points,)
        The epsilon of the rule at each point.
    delta : float
        The share of the rows.
    words : str
        The promise: what is compared, for how many rows, and by which proof.
    """

    epsilon: np.ndarray
    delta: float
    words: str

    def __post_init__(self) -> None:
        hold_read_only(self)

    @classmethod
    def of(
        cls, model: Any, X: Any, epsilon: float | None, delta: float, certificate: Any, owner: str
    ) -> "SharedLabels":
        """Return what is promised at some points by a certificate; None takes that of the bags as they were drawn."""
        if certificate is None:
            certificate = certify_reused(model, X, vector=True)
        measured = _scope(model, X, certificate, owner)
        n_points = measured.n_points or 0
        unsure = 1 - certificate.confidence if isinstance(certificate, PointCertificate) else 0.0
        if epsilon is None:
            delta = check_delta(delta, owner)
            if unsure >= delta > 0:
                reason = (
                    f"of it, {unsure:.3g} is for the confidence {certificate.confidence:g}. Certify with a higher one."
                )
                raise refuse_value("delta", owner, f"above {unsure:.3g} with this certificate", delta, reason)
            proved = certificate.epsilon(delta - unsure if delta < 1 else 1.0)
            each = np.broadcast_to(proved * (1 + _ABOVE) + _ROUNDING, n_points)
        else:
            each = np.full(n_points, check_epsilon(epsilon, owner))
            below = max(0.0, float(epsilon) * (1 - _ABOVE) - _ROUNDING)
            delta = min(1.0, float(np.max(certificate.delta(below))) + unsure)
        return cls(each.copy(), delta, _words(certificate, n_points, delta, unsure))


def _scope(model: Any, X: Any, certificate: Any, owner: str) -> Scope:
    """What the sets are about; a certificate of something else is refused."""
    if not isinstance(certificate, VectorCertificate | PointCertificate | ReusedBagsCertificate):
        expected = "a certificate of vectors, or None"
        reason = "make one by certify or certify_reused with vector=True."
        raise refuse_type("certificate", owner, expected, certificate, reason)
    proved, points = certificate.scope, model.fingerprint_of(X)
    n_points = len(X) if isinstance(X, BagPredictions) else n_rows(model.checked_points(X))
    own = replace(scope_of(model.average_, vector=True), n_points=n_points, points=points)
    if proved.rerun is Rerun.ANEW and own.rerun is Rerun.REUSED:
        law = model.scheme_.fingerprint
        own = replace(own, rerun=Rerun.ANEW, bags=law, coupling=proved.coupling, shift=0.0)
    why = own.mismatch(proved) or _too_small(certificate, len(model.classes_))
    if why:
        reason = f"{why}. Make it by certify or certify_reused of this model, with vector=True."
        raise refuse_value("certificate", owner, "of this model and these points", type(certificate).__name__, reason)
    return own


def _too_small(certificate: Any, n_classes: int) -> str | None:
    """Why a certificate is not about the probabilities of so many classes, if they reach further than it says."""
    of = certificate.certificate if isinstance(certificate, PointCertificate) else certificate
    if isinstance(of, VectorCertificate) and of.radius < simplex_radius(n_classes) * (1 - 1e-9):
        return f"it is about vectors within {of.radius:.4g} of a point, unlike probabilities of {n_classes} classes"
    return None


def _words(certificate: Any, n_points: int, delta: float, unsure: float) -> str:
    """The promise in words."""
    scope: Scope = certificate.scope
    n, everywhere = scope.n_samples, scope.n_points is None
    where = "every point" if everywhere else f"each of {count_points(n_points)}"
    where = "this point" if not everywhere and n_points == 1 else where
    disjoint = "a set that has no label in common with this one"
    if scope.rerun is Rerun.ANEW:
        by: Any = certificate.certificate if isinstance(certificate, PointCertificate) else certificate
        data = f"every learner, every data set of {n:,} rows{by.such} and" if everywhere else "this data set and"
        promise = (
            f"Proved for {data} {where}: the chance, over the draw of bags and seeds, that leaving out a row gives "
            f"{disjoint} is at most {at_most(delta)} on average over the rows. The set without a row is that of a "
            f"model fitted anew without it, {by.coupling.assumed}, and is made with the same epsilon."
        )
    else:
        rows = whole_rows(delta, n)
        bags = "the average over all bags" if scope.n_bags is None else f"{_these(scope.n_bags)} as they were drawn"
        others = "all bags" if scope.n_bags is None else "the bags"
        promise = (
            f"Proved for {bags} and {where}: at most {rows:,} of the {n:,} rows (delta = {at_most(delta)}), when left "
            f"out, give {disjoint}. The set without a row is that of the average over {others} that do not contain it, "
            "and is made with the same epsilon."
        )
    if unsure:
        promise += f" Of this share, {unsure:.3g} is for the chance that the bags understate how much they differ."
    return scope.noun.in_place_of_rows(f"{promise} {_proof(certificate)}")


def _these(n_bags: int) -> str:
    return f"{'this' if n_bags == 1 else 'these'} {count_bags(n_bags)}"


def _proof(certificate: Any) -> str:
    """Which certificate it is, by name."""
    if isinstance(certificate, ReusedBagsCertificate):
        own = "" if certificate.standard_deviation is None else " and the variance over bags at each point"
        return f"Epsilon is from the largest eigenvalue of the bags' own covariance{own} (docs/proofs.md, 7 and 13)."
    if isinstance(certificate, PointCertificate):
        return "Epsilon is from the variance over bags at each point (docs/proofs.md, 6 and 13)."
    return "Epsilon is from the certificate of vectors for all data sets (docs/proofs.md, 5 and 13)."
