"""Certificates that look at the bags that were drawn: at some test points, or for the bags as they are.

`certify` says what is proved of a fitted model for every data set of its size; with test points, what is proved at
these, with a confidence over the draw of the bags. `certify_reused` is about the leave-one-out predictions that reuse
the drawn bags, and holds for those bags with no slack at all.
"""

import math
import textwrap
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse.linalg import LinearOperator, eigsh

from stablebag import bounds
from stablebag.arguments import check_delta, check_epsilon, check_real, hold_read_only, refuse_type, refuse_value, whole_rows
from stablebag.bags import Bags
from stablebag.certificates import Certificate, count_bags, rounded_up
from stablebag.schemes import Subbagging
from stablebag.vectors import VectorCertificate

_DENSE = 400  # matrices up to this size are solved densely
_SEED = 20240131  # of the Lanczos iteration's first vector: the same bags always give the same bits


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
        if norm:
            classes = len(model.classes_)
            certificate = VectorCertificate.for_classes(law, law.n_samples, classes, n_bags, coupling=coupling)
        else:
            certificate = Certificate(law, law.n_samples, n_bags, coupling=coupling)
    else:
        _refuse_norm(norm, "certify")
        if model.prediction_range_ is None:
            certificate = Certificate(law, law.n_samples, n_bags, range_kind="outputs", coupling=coupling)
        else:
            certificate = Certificate.for_targets(law, model.y_, model.prediction_range_, n_bags, coupling=coupling)
    if X is None:
        return certificate
    reason = "the probability with which it holds, such as 0.95. For certain it holds with n_bags='all'."
    if check_real(confidence, "confidence", "certify", high=1.0, open_low=True, reason=reason) == 1:
        raise refuse_value("confidence", "certify", "below 1", confidence, reason)
    return _at_points(model, X, certificate, confidence)


# --------------------------------------------------------------------------------------------------------- at points


@dataclass(frozen=True, eq=False)
class PointCertificate:
    """What is proved of a fitted model at some test points, with a confidence over the draw of its bags.

    Made by `certify` with points. The mean over rows of the squared perturbation of derandomized bagging is at most
    c s^2, where s is the standard deviation of the output over bags at that point (proof of Theorem 8). Here s is
    bounded from the drawn bags (Maurer and Pontil 2009) at all points and classes at once. No value is above that of
    `certificate`, which holds for all data sets and points.

    Attributes
    ----------
    certificate : Certificate or VectorCertificate
        What holds for every learner, data set and point.
    standard_deviation : ndarray of shape (n_points,) or (n_points, n_classes)
        The bound on s, or where there is none its estimate, in the units of the prediction.
    estimate : ndarray like standard_deviation
        The standard deviation over the drawn bags.
    confidence : float
        The probability with which it all holds: 1 if all bags were listed.
    proved : bool
        Whether this is a certificate: not where the outputs have no bounds, and s is only estimated.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from stablebag import BaggedRegressor, certify
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = BaggedRegressor(n_bags=1000, random_state=0).fit(X[:400], y[:400])
    >>> print(certify(model, X[400:]).explain(delta=0.1))
    With confidence 95 % over the draw of the bags, for this data set and these 42 points: in
    expectation over bags and seeds, at most a share 0.1 of the 400 rows move the prediction by
    more than 28.58 when left out (by more than 24.51 at half of the points).
    For every data set with this range of targets and every point it would be 42.01.
    """

    certificate: Certificate | VectorCertificate
    standard_deviation: np.ndarray
    estimate: np.ndarray
    confidence: float
    proved: bool

    def __post_init__(self) -> None:
        hold_read_only(self)

    def epsilon(self, delta: float) -> np.ndarray:
        """Return the perturbation that at most a share `delta` of the rows exceeds, at each point.

        Parameters
        ----------
        delta : float
            A share of the training rows, in [0, 1].

        Returns
        -------
        ndarray of shape (n_points,) or (n_points, n_classes)
            In the units of the prediction.
        """
        delta = check_delta(delta, "PointCertificate.epsilon")
        rest, ceiling = self._rest(delta), self._ceiling(delta)
        if rest < 0 or delta == 1:
            return np.full(self.estimate.shape, ceiling)
        n = self.certificate.n_samples
        share = (whole_rows(rest, n) + 1) / n if math.isinf(self.certificate.n_bags) else rest
        if share == 0:
            return np.full(self.estimate.shape, ceiling)
        return np.minimum(np.sqrt(self._mean_square / share), ceiling)

    def delta(self, epsilon: float) -> np.ndarray:
        """Return the share of rows that can move the prediction by more than `epsilon`, at each point.

        Parameters
        ----------
        epsilon : float
            A perturbation, in the units of the prediction.

        Returns
        -------
        ndarray of shape (n_points,) or (n_points, n_classes)
        """
        epsilon = check_epsilon(epsilon, "PointCertificate.delta")
        n, changing = self.certificate.n_samples, getattr(self.certificate, "delta_range", 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            share = np.where(self._mean_square == 0, 0.0, self._mean_square / epsilon**2)
        if math.isinf(self.certificate.n_bags):
            share = np.floor(np.minimum(share, 1.0) * n) / n
        return np.minimum(share + changing, 1.0 if self._unbounded else self.certificate.delta(epsilon))

    def explain(self, delta: float = 0.05) -> str:
        """Say in sentences what is promised at these points for a share `delta` of the rows.

        Parameters
        ----------
        delta : float, default=0.05
            A share of the training rows, in [0, 1].

        Returns
        -------
        str
        """
        epsilon = self.epsilon(delta)
        n_points, n = len(epsilon), self.certificate.n_samples
        points = "this point" if n_points == 1 else f"these {n_points:,} points"
        if math.isinf(self.certificate.n_bags):
            rows = f"at most {whole_rows(delta, n):,} of the {n:,} rows (delta = {delta:g}) move"
        else:
            rows = f"in expectation over bags and seeds, at most a share {delta:g} of the {n:,} rows move"
        what = "vector of outputs" if isinstance(self.certificate, VectorCertificate) else "prediction"
        middle, largest, ceiling = float(np.median(epsilon)), float(epsilon.max()), self._ceiling(delta)
        moves = f"{rows} the {what} by more than {rounded_up(largest)} when left out"
        if n_points > 1:
            moves += f" (by more than {rounded_up(middle)} at half of the points)"
        if middle >= ceiling:
            moves = f"nothing more is known for delta = {delta:g} than for every data set and point"
        if self.proved and self.confidence < 1:
            head = (
                f"With confidence {100 * self.confidence:g} % over the draw of the bags, for this data set and {points}"
            )
        elif self.proved:
            head = f"For this data set and {points}"
        else:
            head = f"An estimate and no certificate, for this data set and {points}"
        sentences = [f"{head}: {moves}."]
        if not self.proved:
            sentences.append(
                "The outputs have no bounds, so the standard deviation over bags is estimated and not bounded. Clip "
                "predictions to a range for a certificate."
            )
        else:
            such = " with this range of targets" if getattr(self.certificate, "range_kind", "") == "adaptive" else ""
            sentences.append(f"For every data set{such} and every point it would be {rounded_up(ceiling)}.")
        return "\n".join(textwrap.fill(sentence, width=94) for sentence in sentences)

    def __str__(self) -> str:
        return self.explain()

    @property
    def _unbounded(self) -> bool:
        return getattr(self.certificate, "range_kind", "fixed") == "outputs"

    def _ceiling(self, delta: float) -> float:
        """What holds anyway, in the units of the prediction; of unbounded outputs nothing does."""
        if self._unbounded:
            return 0.0 if delta == 1 else math.inf
        return self.certificate.epsilon(delta)

    def _rest(self, delta: float) -> float:
        rest = getattr(self.certificate, "_without_rows_changing_range", lambda share: share)(delta)
        return float(rest)

    @property
    def _mean_square(self) -> np.ndarray:
        """The bound on the mean over rows of the expected squared perturbation, at each point."""
        law = self.certificate.scheme
        constant = bounds.bagging_constant(law.n_samples, *law.moments)
        ragged = 1.0 if isinstance(law.scheme, Subbagging) else 1 / (1 - law.inclusion_probability)
        per_unit = bounds.observed_mean_square(
            1.0, constant, self.certificate.n_bags, ragged, self.certificate.coupling
        )
        return np.asarray(per_unit * self.standard_deviation**2)


def _at_points(model: Any, X: Any, certificate: Certificate | VectorCertificate, confidence: float) -> PointCertificate:
    outputs = model.bag_predictions(X)
    vector = isinstance(certificate, VectorCertificate)
    if model.derandomized_:
        middle = np.tensordot(model.bag_weights_, outputs, axes=1)
        exact = np.sqrt(np.tensordot(model.bag_weights_, (outputs - middle) ** 2, axes=1))
        if vector:
            exact = np.sqrt((exact**2).sum(axis=-1))
        return PointCertificate(certificate, exact, exact, 1.0, proved=True)
    n_bags = len(outputs)
    if n_bags < 2:
        raise ValueError("The variance over bags needs two bags at least, and the model has one. Fit more bags.")
    variance = outputs.var(axis=0, ddof=1)
    unbounded = getattr(certificate, "range_kind", "fixed") == "outputs"
    if unbounded:
        return PointCertificate(certificate, np.sqrt(variance), np.sqrt(variance), confidence, proved=False)
    length = 1.0 if vector else certificate.range_length  # type: ignore[union-attr]
    each = 1 - (1 - confidence) / variance.size  # Bonferroni: all points and classes at once
    bounded = np.array(
        [bounds.standard_deviation_bound(value, n_bags, each) for value in (variance / (length or 1.0) ** 2).ravel()]
    )
    above = bounded.reshape(variance.shape) * length
    if vector:
        total = np.minimum(np.sqrt((above**2).sum(axis=-1)), certificate.radius)  # type: ignore[union-attr]
        return PointCertificate(certificate, total, np.sqrt(variance.sum(axis=-1)), confidence, proved=True)
    return PointCertificate(certificate, above, np.sqrt(variance), confidence, proved=True)


# ----------------------------------------------------------------------------------------------------- reused bags


@dataclass(frozen=True, eq=False)
class ReusedBagsCertificate:
    """What is proved of the leave-one-out predictions that reuse the drawn bags, for these very bags.

    Made by `certify_reused`. For every learner and every point, the mean over rows of the squared perturbation is at
    most lambda times the variance of the output over the drawn bags, where lambda is the largest eigenvalue of a
    matrix made of who is in which bag (Barber and Samworth 2026, Proposition 5, for the empirical law of the bags;
    docs/proofs.md, 7). Nothing is random here: there is no confidence, and no price for finitely many bags.

    It speaks of what `leave_one_out` measures, where the prediction without row i is the average over the bags without
    it, and not of a model fitted anew.

    Attributes
    ----------
    eigenvalue : float
        lambda.
    n_samples : int
        The number of training rows.
    n_bags : int
        The number of bags.
    largest_inclusion : float
        The largest share of the bags that one row is in: no row that leaves the range as it is moves a prediction by
        more than this times the range.
    scale : float
        The largest that the standard deviation over bags can be: half the range, or the radius of the outputs.
    range_length : float
        The range of the predictions; for vectors the diameter of the outputs.
    delta_range : float
        The share of rows that change the range to which predictions are clipped.
    reach : float
        How far these can move a prediction.
    standard_deviation : ndarray or None
        The standard deviation over the drawn bags at some points, if they were given.
    vector : bool
        Whether this is about Euclidean distances of vectors of outputs.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from stablebag import BaggedRegressor, FixedRange, certify_reused
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = BaggedRegressor(n_bags=1000, prediction_range=FixedRange(0, 400), random_state=0).fit(X, y)
    >>> print(certify_reused(model).explain(delta=0.1))
    For these 1,000 bags as they were drawn, every learner and every test point: at most 44 of the
    442 rows (delta = 0.1) move the prediction by more than 49.4, where the prediction without a
    row is the average over the bags that do not have it.
    Proved by the largest eigenvalue 0.00621 of the bags' own covariance (docs/proofs.md, 7). No
    row at all moves it by more than 223.3.
    """

    eigenvalue: float
    n_samples: int
    n_bags: int
    largest_inclusion: float
    scale: float
    range_length: float
    delta_range: float = 0.0
    reach: float = math.inf
    standard_deviation: np.ndarray | None = None
    vector: bool = False

    def __post_init__(self) -> None:
        hold_read_only(self)

    def rms(self) -> Any:
        """Return the bound on the root mean square over rows that leave the range as it is: one, or one per point."""
        return math.sqrt(self.eigenvalue) * self._spread

    def worst_case(self) -> float:
        """Return the perturbation that no row exceeds, those that change the range included."""
        return self._most if self.delta_range == 0 else max(self._most, self.reach)

    def epsilon(self, delta: float) -> Any:
        """Return the perturbation that at most a share `delta` of the rows exceeds.

        Parameters
        ----------
        delta : float
            A share of the training rows, in [0, 1].

        Returns
        -------
        float, or ndarray of shape (n_points,) or (n_points, n_classes)
            For a share below that of the rows that change the range it is how far these can move it.
        """
        delta = check_delta(delta, "ReusedBagsCertificate.epsilon")
        rows = whole_rows(delta, self.n_samples) - round(self.delta_range * self.n_samples)
        if delta == 1:
            return 0.0 * self._spread
        if rows < 0:
            return self.worst_case() + 0.0 * self._spread
        bound = np.minimum(math.sqrt(self.n_samples * self.eigenvalue / (rows + 1)) * self._spread, self._most)
        return bound if self.standard_deviation is not None else float(bound)

    def delta(self, epsilon: float) -> Any:
        """Return the share of rows that can move the prediction by more than `epsilon`.

        Parameters
        ----------
        epsilon : float
            A perturbation, in the units of the prediction.

        Returns
        -------
        float, or ndarray of shape (n_points,) or (n_points, n_classes)
        """
        epsilon = check_epsilon(epsilon, "ReusedBagsCertificate.delta")
        with np.errstate(divide="ignore", invalid="ignore"):
            square = np.asarray(self.rms()) ** 2
            share = np.where(square == 0, 0.0, square / np.float64(epsilon) ** 2)
        share = np.where(epsilon >= self._most, 0.0, np.floor(np.minimum(share, 1.0) * self.n_samples))
        total = np.minimum(share / self.n_samples + self.delta_range, 1.0) * (epsilon < self.worst_case())
        return total if self.standard_deviation is not None else float(total)

    def explain(self, delta: float = 0.05) -> str:
        """Say in sentences what is promised for a share `delta` of the rows.

        Parameters
        ----------
        delta : float, default=0.05
            A share of the training rows, in [0, 1].

        Returns
        -------
        str
        """
        largest = float(np.max(self.epsilon(delta)))
        rows = whole_rows(delta, self.n_samples)
        where = "every test point"
        if self.standard_deviation is not None:
            n_points = len(self.standard_deviation)
            where = "this point" if n_points == 1 else f"these {n_points:,} points"
        learner = "every learner and" if self.standard_deviation is None else "the learner as fitted, at"
        moved = "the vector of outputs by a distance of" if self.vector else "the prediction by"
        by = "" if math.isinf(largest) else f"at most {rows:,} of the {self.n_samples:,} rows (delta = {delta:g}) move "
        by += "nothing is promised" if math.isinf(largest) else f"{moved} more than {rounded_up(largest)}"
        sentences = [
            f"For these {count_bags(self.n_bags)} as they were drawn, {learner} {where}: {by}, where the prediction "
            "without a row is the average over the bags that do not have it.",
            f"Proved by the largest eigenvalue {self.eigenvalue:.4g} of the bags' own covariance (docs/proofs.md, 7).",
        ]
        if math.isfinite(worst := self.worst_case()):
            sentences[-1] += f" No row at all moves it by more than {rounded_up(worst)}."
        if self.delta_range > 0:
            sentences.append(f"Counted in it is a share {self.delta_range:.4g} of rows that change the range itself.")
        return "\n".join(textwrap.fill(sentence, width=94) for sentence in sentences)

    def __str__(self) -> str:
        return self.explain()

    @property
    def _most(self) -> float:
        """How far any row that leaves the range as it is can move a prediction."""
        return self.largest_inclusion * self.range_length

    @property
    def _spread(self) -> Any:
        return self.scale if self.standard_deviation is None else np.minimum(self.standard_deviation, self.scale)


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
    classifier = hasattr(model, "classes_")
    length, scale, changing, reach = 1.0, 0.5, 0.0, math.inf
    if classifier and norm:
        length, scale = math.sqrt(2.0), bounds.simplex_radius(len(model.classes_))
    elif not classifier:
        _refuse_norm(norm, "certify_reused")
        if model.prediction_range_ is None:
            length = scale = math.inf
            if X is None:
                raise ValueError(
                    "Without a prediction range nothing is known of all points. Give points, or fit with "
                    "prediction_range=ObservedRange()."
                )
        else:
            low, high = model.range_
            length, scale, changing = high - low, (high - low) / 2, model.prediction_range_.delta(model.y_)
            reach = model.prediction_range_.reach(model.y_)
    spread = None
    if X is not None:
        outputs, weights = model.bag_predictions(X), model.bag_weights_
        variance = np.tensordot(weights, (outputs - np.tensordot(weights, outputs, axes=1)) ** 2, axes=1)
        spread = np.sqrt(variance.sum(axis=-1) if classifier and norm else variance)
    n, n_bags = model.scheme_.n_samples, len(model.bags_)
    return ReusedBagsCertificate(eigenvalue, n, n_bags, inclusion, scale, length, changing, reach, spread, norm)


def largest_eigenvalue(bags: Bags, weights: np.ndarray | None = None) -> tuple[float, float]:
    """Return the largest eigenvalue of M_ij = Cov(i in bag, j in bag) / ((1 - p_i) (1 - p_j) n), over drawn bags.

    By Lanczos iteration on the smaller of the two sides, bags or rows; neither matrix is ever formed. The residual of
    the iteration is added, and the trace is a bound in any case.

    Parameters
    ----------
    bags : Bags
        The bags that were drawn.
    weights : ndarray of shape (n_bags,) or None, default=None
        Their probabilities; None are equal ones.

    Returns
    -------
    eigenvalue : float
    largest_inclusion : float
        The largest share of the bags that one row is in.

    Examples
    --------
    >>> from stablebag import Bags
    >>> bags = Bags([[0, 1], [0, 2], [1, 3], [2, 3], [0, 3]], n_samples=4)
    >>> eigenvalue, inclusion = largest_eigenvalue(bags)
    >>> round(eigenvalue, 9), inclusion
    (0.625, 0.6)
    """
    n, n_bags = bags.n_samples, len(bags)
    if n_bags == 0:
        raise ValueError("There are no bags, and so nothing to certify.")
    inside = bags.to_sparse()
    if weights is None:
        weights, share = np.full(n_bags, 1 / n_bags), 1 - bags.n_without / n_bags
    else:
        share = inside.T @ weights
    if (bags.n_without == 0).any():
        row = int(np.argmax(bags.n_without == 0))
        raise ValueError(
            f"Row {row} is in every bag, so there is no prediction without it and nothing can be said. Use more or "
            "smaller bags."
        )
    root, scale = np.sqrt(weights), 1 / ((1 - share) * math.sqrt(n))

    def to_bags(v: np.ndarray) -> np.ndarray:
        """W^(1/2) (Z - 1 p') D v."""
        scaled = scale * v.ravel()
        return np.asarray(root * (inside @ scaled - share @ scaled))

    def to_rows(v: np.ndarray) -> np.ndarray:
        weighted = root * v.ravel()
        return np.asarray(scale * (inside.T @ weighted - share * weighted.sum()))

    size = min(n, n_bags)
    if n <= n_bags:
        product = LinearOperator((n, n), matvec=lambda v: to_rows(to_bags(v)), dtype=float)
    else:
        product = LinearOperator((n_bags, n_bags), matvec=lambda v: to_bags(to_rows(v)), dtype=float)
    largest = float(share.max())
    trace = float(np.sum(share / (1 - share))) / n
    if trace == 0:
        return 0.0, largest  # all bags are empty
    if size <= _DENSE:
        dense = np.column_stack([product.matvec(column) for column in np.eye(size)])
        return max(0.0, float(np.linalg.eigvalsh((dense + dense.T) / 2)[-1])) * (1 + 1e-12), largest
    start = np.random.default_rng(_SEED).normal(size=size)
    (value,), vector = eigsh(product, k=1, which="LA", v0=start, tol=1e-8)
    off = float(np.linalg.norm(product.matvec(vector[:, 0]) - value * vector[:, 0]))
    return min(trace, float(value) + off), largest


def _check_model(model: Any, owner: str) -> None:
    from sklearn.utils.validation import check_is_fitted  # scikit-learn is there, since there is a model

    if not hasattr(model, "bag_predictions"):
        raise refuse_type("model", owner, "a fitted BaggedRegressor or BaggedClassifier", model)
    check_is_fitted(model)


def _refuse_norm(norm: bool, owner: str) -> None:
    if norm:
        reason = "a regressor predicts one number, and its distance is the difference."
        raise refuse_value("norm", owner, "False for a regressor", norm, reason)
