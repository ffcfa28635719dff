"""What a certificate promises of label sets: how far to inflate the argmax, for how many rows, and in which words."""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from stablebag._checks import as_fraction, check_delta, check_epsilon, hold_read_only, refuse_type, refuse_value
from stablebag._wording import count_bags, count_points, rounded_down
from stablebag.deciding.promise import (
    but_for_a_chance,
    for_most_rows,
    just_above,
    just_below,
    nothing_proved,
)
from stablebag.learning.predictions import BagPredictions
from stablebag.learning.rows import n_rows
from stablebag.proving.certify import certify, certify_reused
from stablebag.proving.points import PointCertificate
from stablebag.proving.reused_bags import ReusedBagsCertificate
from stablebag.proving.scope import Rerun, Scope
from stablebag.proving.scopes import scope_of
from stablebag.proving.vector import VectorCertificate

_SIZES = {"radius": "scale", "diameter": "range_length", "shift": "shift", "shifted_share": "shifted_share"}


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
        if epsilon is not None:  # of the certificate's confidence, the words speak
            epsilon = check_epsilon(epsilon, owner)
            each = np.full(n_points, epsilon)
            delta = float(np.max(certificate.delta(just_below(epsilon)), initial=0.0))
            return cls(each, delta, _words(certificate, each, delta, confidence=1 - unsure))
        delta = check_delta(delta, owner)
        if unsure and delta <= unsure:
            reason = f"of it, {unsure:.3g} is for the confidence {certificate.confidence:g}. Certify with a higher one."
            raise refuse_value("delta", owner, f"above {unsure:.3g} with this certificate", delta, reason)
        proved = certificate.epsilon(delta - unsure if delta < 1 else 1.0)
        each = np.broadcast_to(just_above(proved), n_points).copy()
        return cls(each, delta, _words(certificate, each, delta, unsure=unsure))


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
    why = own.mismatch(proved) or _too_small(model, certificate)
    if why:
        reason = f"{why}. Make it by certify or certify_reused of this model, with vector=True."
        raise refuse_value("certificate", owner, "of this model and these points", type(certificate).__name__, reason)
    return own


def _too_small(model: Any, certificate: Any) -> str | None:
    """Why a certificate is not about this model's probabilities, if they reach or jump further than it says."""
    given = certificate.certificate if isinstance(certificate, PointCertificate) else certificate
    reused = isinstance(given, ReusedBagsCertificate)
    own = certify_reused(model, vector=True) if reused else certify(model, vector=True)
    for name, of_bags in _SIZES.items():
        theirs, needed = (float(getattr(of, of_bags if reused else name)) for of in (given, own))
        if theirs < needed * (1 - 1e-9):
            what = name.replace("_", " ")
            return f"its {what} is {theirs:.4g}, and probabilities of these classes have {needed:.4g}"
    return None


def _words(certificate: Any, epsilon: np.ndarray, delta: float, *, unsure: float = 0.0, confidence: float = 1.0) -> str:
    """The promise in words; of delta, a part may be for a certificate that is not sure, or all of it be so."""
    scope: Scope = certificate.scope
    n, n_points, everywhere = scope.n_samples, len(epsilon), scope.n_points is None
    if delta >= 1:
        return scope.noun.in_place_of_rows(nothing_proved(float(epsilon.max(initial=0.0)), n, scope.n_bags or math.inf))
    where = "every point" if everywhere else f"each of {count_points(n_points)}"
    where = "this point" if not everywhere and n_points == 1 else where
    proved = (
        "Proved"
        if confidence == 1
        else f"Proved, with a confidence of {rounded_down(as_fraction(confidence), 6)} over the draw of the bags,"
    )
    shares = "has a label in common with this one"
    if scope.rerun is Rerun.ANEW:
        by: Any = certificate.certificate if isinstance(certificate, PointCertificate) else certificate
        data = f"every learner, every data set of {n:,} rows{by.such} and" if everywhere else "this data set and"
        promise = (
            f"{proved} for {data} {where}: the set of a model fitted anew without a row, with the same epsilon "
            f"({by.coupling.assumed}), {shares}, {but_for_a_chance(delta)}."
        )
    else:
        bags, without = "the average over all bags", "all bags without the row, with the same seed and epsilon"
        if scope.n_bags is not None:
            bags = f"{_these(scope.n_bags)} as they were drawn"
            without = "the bags without the row, with the same epsilon"
        promise = f"{proved} for {bags} and {where}: {for_most_rows(delta, n)}, the set from {without}, {shares}."
    if unsure:
        promise += f" Of this chance, {unsure:.3g} is that the bags understate how much they differ."
    return scope.noun.in_place_of_rows(f"{promise} {_proof(certificate)}")


def _these(n_bags: int) -> str:
    return f"{'this' if n_bags == 1 else 'these'} {count_bags(n_bags)}"


def _proof(certificate: Any) -> str:
    """Which certificate it is, by name."""
    if isinstance(certificate, ReusedBagsCertificate):
        own = "" if certificate.standard_deviation is None else " and their variance at each point"
        return f"Proof: the bags' own covariance{own} (docs/proofs.md, 7 and 13)."
    if isinstance(certificate, PointCertificate):
        return "Proof: the variance over bags at each point (docs/proofs.md, 6 and 13)."
    return "Proof: the certificate of vectors for all data sets (docs/proofs.md, 5 and 13)."
