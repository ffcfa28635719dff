"""Certificates of fitted models: for every data set of their size, at given points, or for their own bags."""

import math
from dataclasses import replace
from typing import Any, Literal, overload

import numpy as np

from stablebag._checks import check_flag, check_real, refuse_value
from stablebag.models.average import BagAverage
from stablebag.models.ensemble import check_bagged, refuse_several_outputs
from stablebag.models.fitted import fitted
from stablebag.models.ranges import diagonal
from stablebag.proving import bounds
from stablebag.proving.certificate import Certificate
from stablebag.proving.outputs import Labels, UnboundedOutputs, scope_of
from stablebag.proving.points import PointCertificate, ReusedBagsCertificate
from stablebag.proving.scope import Quantity
from stablebag.resampling.covariance import largest_eigenvalue


@overload
def certify(
    model: Any, X: Any = None, *, reused: Literal[True], vector: bool = False, confidence: float = 0.95
) -> ReusedBagsCertificate: ...
@overload
def certify(
    model: Any,
    X: None = None,
    *,
    reused: Literal[False] = False,
    vector: bool = False,
    confidence: float = 0.95,
    coupling: str | None = None,
) -> Certificate: ...
@overload
def certify(
    model: Any,
    X: Any,
    *,
    reused: bool = False,
    vector: bool = False,
    confidence: float = 0.95,
    coupling: str | None = None,
) -> Any: ...
def certify(
    model: Any,
    X: Any = None,
    *,
    reused: bool = False,
    vector: bool = False,
    confidence: float = 0.95,
    coupling: str | None = None,
) -> Certificate | PointCertificate | ReusedBagsCertificate:
    """Return the guarantee for a fitted `BaggedRegressor` or `BaggedClassifier`.

    Without points, the guarantee holds for every learner and every data set of this size. For a regressor it is in the
    units of y, on the range that predictions are clipped to. If they are not clipped, it is in units of the range of
    the learner's outputs. For a classifier it is about the probability of each class, or with `vector` about the vector
    of all of them. For a regressor with several outputs it is about one, ``certify(model.output(name))``, or with
    `vector` about the vector of all.

    With points, it holds for this learner and data set at these points: if the bags agree on a prediction, no row can
    change it by much. How much they agree is bounded from the drawn bags, so this guarantee has a confidence level.

    With `reused`, it is about what `leave_one_out` measures, where the prediction without a row is the average over the
    drawn bags that do not contain it. It holds for exactly these bags. It is not about a refitted model.

    Parameters
    ----------
    model : BaggedRegressor or BaggedClassifier
        A fitted model.
    X : array-like, sparse array or data frame, BagPredictions or None, default=None
        The test points, or what `model.predict_once` predicted at them. None gives a guarantee for every point. With
        `reused`, a regressor without a prediction range needs points.
    reused : bool, default=False
        Whether the guarantee is about `leave_one_out`, which reuses the drawn bags. At given points, the standard
        deviation over bags replaces the largest possible one.
    vector : bool, default=False
        Whether to bound the Euclidean distance between the vectors of class probabilities, or of several outputs. For
        learners that vote, the variance at a point is ``1 - |w|^2`` with w the shares of the votes
        (`bounds.vote_variance`).
    confidence : float, default=0.95
        With points: the probability, over the draw of the bags, that the guarantee holds at all points. It has no
        effect with `reused`, which holds for certain.
    coupling : {"any", "independent", "matched"} or None, default=None
        As in `Certificate`. None is "matched" if the scheme draws matched bags, and "any" otherwise. Not with `reused`,
        which does not compare two fits.

    Returns
    -------
    Certificate, PointCertificate or ReusedBagsCertificate
        A `ReusedBagsCertificate` with `reused`, otherwise a `PointCertificate` if points are given.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from stablebag import BaggedRegressor, certify
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = BaggedRegressor(n_bags=500, random_state=0).fit(X, y)
    >>> print(certify(model).explain(delta=0.1))
    At any test point, at most 10% of the 442 rows (delta = 0.1) are expected to change the
    prediction by more than 22.12 when left out. The expectation is over the draw of bags and
    seeds. This holds for every learner and every data set of 442 rows with this range of targets,
    if both fits have the same seed and row IDs, so that bags without the row stay the same.
    Proved by the exact frontier with tail bounds for the bags, Theorem 20 for the range. Setting:
    subbagging, 221 of 442 rows (p = 0.5, q = 0.000567); 500 bags; predictions in a range of
    length 321, which 2 of the rows can change.
    With 630 bags it would be 21.59, and with infinitely many 19.67.
    The mean change over rows, in expectation over bags and seeds, is at most 9.119 (second
    moments of the bags).

    A change measured with the drawn bags never exceeds the guarantee for these bags:

    >>> from stablebag import leave_one_out
    >>> proved = certify(model, X[:50], reused=True)
    >>> bool((leave_one_out(model, X[:50]).epsilon(0.1) <= proved.epsilon(0.1)).all())
    True
    """
    owner = "certify"
    check_bagged(model, owner, outputs="any")
    vector = check_flag(vector, "vector", owner)
    several = _has_several_outputs(model, vector, owner)
    reason = "it is the probability that the guarantee holds, such as 0.95. For certainty, fit with n_bags='all'."
    confidence = check_real(confidence, "confidence", owner, high=1.0, open_low=True, reason=reason)
    if confidence == 1:
        raise refuse_value("confidence", owner, "below 1", confidence, reason)
    if check_flag(reused, "reused", owner):
        if coupling is not None:
            reason = "reused bags are the same in both predictions. Leave out one of the two arguments."
            raise refuse_value("coupling", owner, "None with reused=True", coupling, reason)
        return _of_reused_bags(model, X, vector, several)
    certificate = _for_all_points(model, vector, several, coupling)
    if X is None:
        return certificate
    return replace(_at_points(model, X, certificate, confidence), points=fitted(model).fingerprint_of(X))


def _for_all_points(model: Any, vector: bool, several: bool, coupling: str | None) -> Certificate:
    law, y = model.scheme_, fitted(model).y
    n_bags = math.inf if model.derandomized_ else len(model.bags_)
    if coupling is None:
        coupling = "matched" if law.is_matched and math.isfinite(n_bags) else "any"
    about: dict[str, Any] = {"coupling": coupling, "groups": model.units_, "vector": vector}
    if hasattr(model, "classes_"):
        return Certificate.for_labels(law, y, n_bags, **about)
    if model.prediction_range_ is not None:
        return Certificate.for_targets(law, y, model.prediction_range_, n_bags, **about)
    if several:
        raise ValueError(
            "A model with prediction_range=None has no guarantee for the vector of outputs. Fit with "
            "prediction_range=ObservedRange(), or use certify(model, X, reused=True, vector=True)."
        )
    noun = model.units_.noun
    return Certificate(law, law.n_samples, n_bags, outputs=UnboundedOutputs(), coupling=coupling, noun=noun)


def _at_points(model: Any, X: Any, certificate: Certificate, confidence: float) -> PointCertificate:
    outputs = certificate.outputs
    if model.derandomized_:
        exact = _deviation(model, X, vector=outputs.is_vector)
        return PointCertificate(certificate, exact, exact, 1.0, proved=True)
    n_bags = len(model.bags_)
    if n_bags < 2:
        raise ValueError("A guarantee at points needs at least 2 bags, and the model has 1. Fit more bags.")
    deviation = _deviation(model, X, estimated=True)
    if outputs.quantity is Quantity.RELATIVE:
        return PointCertificate(certificate, deviation, deviation, confidence, proved=False)
    length = np.asarray(1.0 if outputs.is_vector else certificate.range_length)
    if outputs.quantity is Quantity.OUTPUTS:
        length = np.subtract(*fitted(model).average.interval[::-1])  # of each output
    each = 1 - (1 - confidence) / deviation.size  # Bonferroni: all points and classes at once
    above = bounds.standard_deviation_bound(deviation / np.where(length > 0, length, 1.0), n_bags, each) * length
    if outputs.is_vector:
        above, deviation = np.minimum(_length(above), outputs.radius), _length(deviation)
    return PointCertificate(certificate, above, deviation, confidence, proved=True)


def _of_reused_bags(model: Any, X: Any, vector: bool, several: bool) -> ReusedBagsCertificate:
    of, law = fitted(model), model.scheme_
    of.average.refuse_units_in_every_bag()
    weights = of.average.weights if model.derandomized_ else None
    eigenvalue, inclusion = of.cached("eigenvalue", lambda: largest_eigenvalue(model.bags_, weights))
    limit = law.constant, law.largest_inclusion
    values: dict[str, Any] = {"eigenvalue": eigenvalue, "largest_inclusion": inclusion, "limit": limit}
    if of.average.classes is not None:
        values |= _of_classes(of.average, vector)
    else:
        values |= _of_range(of.average, X, several)
    if X is not None:
        values["standard_deviation"] = _deviation(model, X, vector=vector)
        n_points, points = len(values["standard_deviation"]), of.fingerprint_of(X)
        values["scope"] = replace(values["scope"], n_points=n_points, points=points)
    return ReusedBagsCertificate(**values)


def _deviation(model: Any, X: Any, *, vector: bool = False, estimated: bool = False) -> np.ndarray:
    """The standard deviation over bags at each point, by blocks of points."""
    average: BagAverage = fitted(model).average
    of_block = average.estimated_deviation if estimated else average.deviation
    deviation = np.concatenate([of_block(average.outputs(raw)) for _, raw in fitted(model).raw_blocks(X)])
    return _length(deviation) if vector else deviation


def _length(deviations: np.ndarray) -> np.ndarray:
    """The root of the sum of the variances of all classes."""
    return np.asarray(np.sqrt((deviations**2).sum(axis=-1)))


def _of_classes(average: BagAverage, vector: bool) -> dict[str, Any]:
    """The probabilities of a classifier, and what bags without rows add when a class loses its only row."""
    labels = Labels.of(average.y, average.units, "certify")
    shift = labels.shift(average.empty_without_a_lonely_unit, vector=vector)
    lengths = {"range_length": 1.0, "scale": 0.5}
    if vector:
        lengths = {"range_length": math.sqrt(2.0), "scale": bounds.simplex_radius(labels.n_classes)}
    scope = scope_of(average, vector=vector)
    return {**lengths, "scope": scope, "shift": shift, "shifted_share": labels.share_lonely if shift else 0.0}


def _of_range(average: BagAverage, X: Any, several: bool) -> dict[str, Any]:
    """The outputs of a regressor: the range, or box, that they are clipped to, and the rows that change it."""
    scope = scope_of(average, vector=several)
    if average.rule is None or average.interval is None:
        if X is None:
            raise ValueError(
                "A model with prediction_range=None has no guarantee for every point. Pass points, as in "
                "certify(model, X, reused=True), or fit with prediction_range=ObservedRange()."
            )
        return {"range_length": math.inf, "scale": math.inf, "scope": scope}
    low, high = average.interval
    about = (average.y,) if average.units.are_rows else (average.y, average.units)
    length, (delta_range, reach) = diagonal(high - low) if several else high - low, average.rule.change(*about)
    changing = {"delta_range": delta_range, "reach": reach}
    return {"range_length": length, "scale": length / 2, "scope": scope, **changing}


def _has_several_outputs(model: Any, vector: bool, owner: str) -> bool:
    """Whether it is a regressor with several outputs; raises an error if `vector` does not fit the model."""
    several = bool(fitted(model).average.y.ndim > 1)
    if several and not vector:
        refuse_several_outputs(model, owner, ", or vector=True for the distance of all outputs together")
    if vector and not several and fitted(model).average.classes is None:
        reason = "it predicts one number. Leave out vector."
        raise refuse_value("vector", owner, "False for a regressor with one output", vector, reason)
    return several
