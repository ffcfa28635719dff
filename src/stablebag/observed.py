"""Certificates of fitted models: for every data set of their size, at some points, or for the bags as they are.

`certify` says what is proved of a fitted model for every data set of its size; with test points, what is proved at
these, with a confidence over the draw of the bags. `certify_reused` is about the leave-one-out predictions that reuse
the drawn bags, and holds for those bags with no slack at all.
"""

import math
from dataclasses import replace
from typing import Any

import numpy as np

from stablebag import bounds
from stablebag.arguments import check_real, refuse_type, refuse_value
from stablebag.averaging import deviation_over_bags, lonely_rows
from stablebag.certificates import Certificate, labels_of
from stablebag.point_certificates import PointCertificate
from stablebag.reused_bags import ReusedBagsCertificate, largest_eigenvalue
from stablebag.scope import Quantity, Rerun, Scope
from stablebag.vectors import VectorCertificate


def certify(
    model: Any,
    X: Any = None,
    *,
    confidence: float = 0.95,
    coupling: str = "any",
    norm: bool = False,
) -> "Certificate | VectorCertificate | PointCertificate":
    """State what is proved of a fitted `BaggedRegressor` or `BaggedClassifier`.

    Without points, for every learner and data set of its size: of a regressor in the units of y, on the range to which
    predictions are clipped; without one, in units of the range of the learner's outputs. Of a classifier it speaks of
    each class's probability, or with `norm` of the vector of all of them.

    With points, for this learner, this data set and these points: where bags agree on a prediction, no row can move it
    far. How much they agree is estimated from the bags, and the certificate pays for that with a confidence.

    Parameters
    ----------
    model : BaggedRegressor or BaggedClassifier
        A fitted model.
    X : array-like, sparse array or data frame of shape (n_points, n_features) or None, default=None
        The points to speak of; None speaks of all.
    confidence : float, default=0.95
        With points: the probability, over the draw of the bags, with which all that is said of all points holds.
    coupling : {"any", "independent"}, default="any"
        As in `Certificate`.
    norm : bool, default=False
        Of a classifier: whether to speak of the Euclidean distance of the vectors of class probabilities.

    Returns
    -------
    Certificate, VectorCertificate or PointCertificate
        The last with points.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from stablebag import BaggedRegressor, certify
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = BaggedRegressor(n_bags=500, random_state=0).fit(X, y)
    >>> print(certify(model).explain(delta=0.1))
    For every learner, every data set of 442 rows with this range of targets and every test point:
    the chance, over the draw of bags and seeds, that leaving out a row moves the prediction by
    more than 52.64 is at most 0.1 on average over the rows.
    Proved by second moments of the bags, however they are coupled, Theorem 20 for the range
    (subbagging, 221 of 442 rows: p = 0.5, q = 0.000567; 500 bags; predictions in a range of
    length 321 that changes with a share 0.004525 of the rows).
    The mean over rows is at most 17.72 (second moments of the bags).
    """
    _check_model(model, "certify")
    n_bags = math.inf if model.derandomized_ else len(model.bags_)
    law = model.scheme_
    certificate: Certificate | VectorCertificate
    if hasattr(model, "classes_"):
        kind = VectorCertificate if norm else Certificate
        certificate = kind.for_labels(law, model.y_, n_bags, coupling=coupling)
    else:
        _refuse_norm(norm, "certify")
        if model.prediction_range_ is None:
            certificate = Certificate(law, law.n_samples, n_bags, range_kind="outputs", coupling=coupling)
        else:
            certificate = Certificate.for_targets(law, model.y_, model.prediction_range_, n_bags, coupling=coupling)
    reason = "the probability with which it holds, such as 0.95. For certain it holds with n_bags='all'."
    if check_real(confidence, "confidence", "certify", high=1.0, open_low=True, reason=reason) == 1:
        raise refuse_value("confidence", "certify", "below 1", confidence, reason)
    return certificate if X is None else _at_points(model, X, certificate, confidence)


def _at_points(model: Any, X: Any, certificate: Certificate | VectorCertificate, confidence: float) -> PointCertificate:
    outputs = model.bag_predictions(X)
    vector = isinstance(certificate, VectorCertificate)
    if model.derandomized_:
        exact = deviation_over_bags(outputs, model.bag_weights_)
        if vector:
            exact = np.sqrt((exact**2).sum(axis=-1))
        return PointCertificate(certificate, exact, exact, 1.0, proved=True)
    n_bags = len(outputs)
    if n_bags < 2:
        raise ValueError("The variance over bags needs two bags at least, and the model has one. Fit more bags.")
    deviation = deviation_over_bags(outputs, model.bag_weights_) * math.sqrt(n_bags / (n_bags - 1))
    if getattr(certificate, "range_kind", "fixed") == "outputs":
        return PointCertificate(certificate, deviation, deviation, confidence, proved=False)
    length = 1.0 if vector else certificate.range_length
    each = 1 - (1 - confidence) / deviation.size  # Bonferroni: all points and classes at once
    above = bounds.standard_deviation_bound(deviation / (length or 1.0), n_bags, each) * length
    if vector:
        total = np.minimum(np.sqrt((above**2).sum(axis=-1)), certificate.radius)  # type: ignore[union-attr]
        return PointCertificate(certificate, total, np.sqrt((deviation**2).sum(axis=-1)), confidence, proved=True)
    return PointCertificate(certificate, above, deviation, confidence, proved=True)


def certify_reused(model: Any, X: Any = None, *, norm: bool = False) -> ReusedBagsCertificate:
    """State what is proved of `leave_one_out` of a fitted model, for the bags that it drew.

    Parameters
    ----------
    model : BaggedRegressor or BaggedClassifier
        A fitted model.
    X : array-like, sparse array or data frame of shape (n_points, n_features) or None, default=None
        Points to speak of: there the standard deviation over bags takes the place of the largest possible one.
        A regressor without a prediction range needs them.
    norm : bool, default=False
        Of a classifier: whether to speak of the Euclidean distance of the vectors of class probabilities. For learners
        that vote, the variance at a point is 1 - |w|^2 with w the shares of the votes (`bounds.vote_variance`).

    Returns
    -------
    ReusedBagsCertificate

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from stablebag import BaggedRegressor, certify_reused, leave_one_out
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = BaggedRegressor(n_bags=500, random_state=0).fit(X[:400], y[:400])
    >>> proved = certify_reused(model, X[400:])
    >>> bool((leave_one_out(model, X[400:]).epsilon(0.1) <= proved.epsilon(0.1)).all())
    True
    """
    _check_model(model, "certify_reused")
    weights = model.bag_weights_ if model.derandomized_ else None
    eigenvalue, inclusion = largest_eigenvalue(model.bags_, weights)
    values: dict[str, Any] = {"eigenvalue": eigenvalue, "largest_inclusion": inclusion}
    if hasattr(model, "classes_"):
        values |= _of_classes(model, norm)
    else:
        _refuse_norm(norm, "certify_reused")
        values |= _of_range(model, X)
    if X is not None:
        spread = deviation_over_bags(model.bag_predictions(X), model.bag_weights_)
        values["standard_deviation"] = np.sqrt((spread**2).sum(axis=-1)) if norm else spread
        values["scope"] = replace(values["scope"], n_points=len(spread))
    return ReusedBagsCertificate(**values)


def _of_classes(model: Any, norm: bool) -> dict[str, Any]:
    """The outputs of a classifier: probabilities, and what bags without rows add when a class loses its only row."""
    n, n_classes, lonely = labels_of(model.y_, "certify_reused")
    empty = float(model.bag_weights_[model.bags_.sizes == 0].sum())
    out = 1 - model.bags_.inclusion_weights(model.bag_weights_)[list(lonely_rows(model.y_))]
    chance = min(1.0, empty / float(out.min())) if len(out) else 0.0
    shift = bounds.empty_bags_shift(chance, n_classes, vector=norm)
    lengths = {"range_length": 1.0, "scale": 0.5}
    if norm:
        lengths = {"range_length": math.sqrt(2.0), "scale": bounds.simplex_radius(n_classes)}
    scope = _scope(model, Quantity.VECTOR if norm else Quantity.CLASS, None if norm else 1.0)
    return {**lengths, "scope": scope, "shift": shift, "shifted_share": lonely / n if shift else 0.0}


def _of_range(model: Any, X: Any) -> dict[str, Any]:
    """The outputs of a regressor: the range to which they are clipped, and the rows that change it."""
    rule = model.prediction_range_
    if rule is None:
        if X is None:
            raise ValueError(
                "Without a prediction range nothing is known of all points. Give points, or fit with "
                "prediction_range=ObservedRange()."
            )
        return {"range_length": math.inf, "scale": math.inf, "scope": _scope(model, Quantity.NUMBER, None)}
    low, high = model.range_
    length = high - low
    changing = {"delta_range": rule.delta(model.y_), "reach": rule.reach(model.y_)}
    return {"range_length": length, "scale": length / 2, "scope": _scope(model, Quantity.NUMBER, length), **changing}


def _scope(model: Any, quantity: Quantity, length: float | None) -> Scope:
    rerun, n_bags = (Rerun.ALL, None) if model.derandomized_ else (Rerun.REUSED, len(model.bags_))
    return Scope(model.bags_.n_samples, quantity, rerun, n_bags, model.bags_.fingerprint, length)


def _check_model(model: Any, owner: str) -> None:
    from sklearn.utils.validation import check_is_fitted  # scikit-learn is there, since there is a model

    if not hasattr(model, "bag_predictions"):
        raise refuse_type("model", owner, "a fitted BaggedRegressor or BaggedClassifier", model)
    check_is_fitted(model)


def _refuse_norm(norm: bool, owner: str) -> None:
    if norm:
        reason = "a regressor predicts one number, and its distance is the difference."
        raise refuse_value("norm", owner, "False for a regressor", norm, reason)
