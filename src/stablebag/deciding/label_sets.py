"""Label sets: stable ones, and those with guaranteed coverage."""

import math
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.stats import binom

from stablebag._checks import (
    as_fraction,
    check_choice,
    check_delta,
    check_epsilon,
    check_flag,
    check_real,
    hold_read_only,
    refuse_type,
    refuse_value,
)
from stablebag._wording import ROWS, Result, as_given, count_bags, count_points, paragraphs, percent, rounded_down
from stablebag.deciding.guarantees import for_most_rows, just_above, just_below, nothing_proved, rarely_fails
from stablebag.deciding.inflated_argmax import inflated_argmax
from stablebag.deciding.intervals import describe_bags
from stablebag.deciding.jackknife import JackknifePlus, check_level
from stablebag.measuring.leave_one_out import left_out_at_rows, left_out_blocks
from stablebag.models.ensemble import check_bagged
from stablebag.models.estimators import BaggedClassifier
from stablebag.models.fitted import BagPredictions, fitted
from stablebag.models.rows import as_column
from stablebag.proving import bounds
from stablebag.proving.certificate import Certificate
from stablebag.proving.certify import certify
from stablebag.proving.outputs import scope_of
from stablebag.proving.points import PointCertificate, ReusedBagsCertificate
from stablebag.proving.scope import Rerun, Scope

# ---------------------------------------------------------------------------------------------------------- stable sets
# What a certificate guarantees for label sets: how far to inflate the argmax, for how many rows, and in which words.

_SIZES = {"radius": "scale", "length": "range_length", "shift": "shift", "shifted_share": "shifted_share"}


@dataclass(frozen=True, eq=False)
class LabelStability:
    """The epsilon for which sets with and without a row share a label, for all but a share delta of the rows.

    Attributes
    ----------
    epsilon : ndarray of shape (n_points,)
        The epsilon of the rule at each point.
    delta : float
        The share of rows that may be exceptions.
    guarantee : str
        The guarantee in words.
    """

    epsilon: np.ndarray
    delta: float
    guarantee: str

    def __post_init__(self) -> None:
        hold_read_only(self)

    @classmethod
    def of(
        cls, model: Any, X: Any, epsilon: float | None, delta: float, certificate: Any, owner: str
    ) -> "LabelStability":
        """Return what a certificate guarantees at some points; None uses the certificate for reused bags."""
        if certificate is None:
            certificate = certify(model, X, vector=True, reused=True)
        measured = _scope(model, X, certificate, owner)
        n_points = measured.n_points or 0
        unsure = 1 - certificate.confidence if isinstance(certificate, PointCertificate) else 0.0
        if epsilon is not None:  # the sentence has the certificate's confidence
            epsilon = check_epsilon(epsilon, owner)
            each = np.full(n_points, epsilon)
            delta = float(np.max(certificate.delta(just_below(epsilon)), initial=0.0))
            return cls(each, delta, _guarantee(certificate, each, delta, confidence=1 - unsure))
        delta = check_delta(delta, owner)
        if unsure and delta <= unsure:
            reason = (
                f"the certificate's confidence of {certificate.confidence:g} uses up {unsure:.3g} of delta. Use a "
                "larger delta, or certify with a higher confidence."
            )
            raise refuse_value("delta", owner, f"above {unsure:.3g} with this certificate", delta, reason)
        proved = certificate.epsilon(delta - unsure if delta < 1 else 1.0)
        each = np.broadcast_to(just_above(proved), n_points).copy()
        return cls(each, delta, _guarantee(certificate, each, delta, unsure=unsure))


def _scope(model: Any, X: Any, certificate: Any, owner: str) -> Scope:
    """Return the scope of the sets; a certificate with another scope raises an error."""
    if not isinstance(certificate, Certificate | PointCertificate | ReusedBagsCertificate):
        reason = "use certify(model, vector=True)."
        raise refuse_type("certificate", owner, "None or a certificate for vectors", certificate, reason)
    proved, points = certificate.scope, fitted(model).fingerprint_of(X)
    n_points = fitted(model).n_points(X)
    own = replace(scope_of(fitted(model).average, vector=True), n_points=n_points, points=points)
    if proved.rerun is Rerun.ANEW and own.rerun is Rerun.REUSED:
        law = model.scheme_.fingerprint
        own = replace(own, rerun=Rerun.ANEW, bags=law, coupling=proved.coupling, shift=0.0)
    why = own.mismatch(proved) or _too_small(model, certificate)
    if why:
        reason = f"{why}. Use certify(model, vector=True) with this model."
        expected = "a certificate for this model and these points"
        raise refuse_value("certificate", owner, expected, type(certificate).__name__, reason)
    return own


def _too_small(model: Any, certificate: Any) -> str | None:
    """Return why a certificate does not cover this model's probabilities; None if it does."""
    given = certificate.certificate if isinstance(certificate, PointCertificate) else certificate
    reused = isinstance(given, ReusedBagsCertificate)
    own: Any = certify(model, vector=True, reused=True) if reused else certify(model, vector=True)
    for name, of_bags in _SIZES.items():
        both = (given, own) if reused else (given.outputs, own.outputs)
        theirs, needed = (float(getattr(of, of_bags if reused else name)) for of in both)
        if theirs < needed * (1 - 1e-9):
            what = "diameter" if name == "length" else name.replace("_", " ")
            return f"its {what} is {theirs:.4g}, but the probabilities of these classes need {needed:.4g}"
    return None


def _guarantee(
    certificate: Any, epsilon: np.ndarray, delta: float, *, unsure: float = 0.0, confidence: float = 1.0
) -> str:
    """Return the guarantee in words.

    `unsure` is the part of delta that covers the certificate's confidence; otherwise, the sentence has `confidence`.
    """
    scope: Scope = certificate.scope
    n, n_points, everywhere, noun = scope.n_samples, len(epsilon), scope.n_points is None, scope.noun
    if delta >= 1:
        return nothing_proved(float(epsilon.max(initial=0.0)), n, scope.n_bags or math.inf, noun)
    where = "every point" if everywhere else f"each of {count_points(n_points)}"
    where = "this point" if not everywhere and n_points == 1 else where
    proved = "Proved"
    if confidence < 1:
        proved = f"Proved with confidence {rounded_down(as_fraction(confidence), 6)} over the draw of the bags,"
    shares = "has a label in common with this one"
    if scope.rerun is Rerun.ANEW:
        by: Any = certificate.certificate if isinstance(certificate, PointCertificate) else certificate
        data = "this data set and"
        if everywhere:
            data = f"every learner, every data set of {noun.count(n)}{by.condition} and"
        assumed = by.coupling.describe(noun)
        sentence = (
            f"{proved} for {data} {where}: the set of a model refitted without {noun.any_one}, with the same "
            f"epsilon ({assumed}), {shares}, {rarely_fails(delta, noun)}."
        )
    else:
        bags, without = "the average over all bags", f"all bags without the {noun.singular}, with the same seed and"
        if scope.n_bags is not None:
            bags, without = _these(scope.n_bags), f"the bags without the {noun.singular}, with the same"
        most = for_most_rows(delta, n, noun)
        sentence = f"{proved} for {bags} and {where}: {most}, the set from {without} epsilon, {shares}."
    if unsure:
        sentence += f" This includes a probability of {unsure:.3g} that these bags understate their variance."
    return f"{sentence} {_proof(certificate)}"


def _these(n_bags: int) -> str:
    return f"{'this' if n_bags == 1 else 'these'} {count_bags(n_bags)}"


def _proof(certificate: Any) -> str:
    """Return the sentence that names the proof."""
    if isinstance(certificate, ReusedBagsCertificate):
        own = "" if certificate.standard_deviation is None else " and their variance at each point"
        return f"Proof: the covariance of these bags{own} (docs/proofs.md, 7 and 13)."
    if isinstance(certificate, PointCertificate):
        return "Proof: the variance over bags at each point (docs/proofs.md, 6 and 13)."
    return "Proof: the certificate for vectors and all data sets (docs/proofs.md, 5 and 13)."


# ------------------------------------------------------------------------------------------------------- jackknife sets
# Label sets of the jackknife+: all labels that are no less likely than the labels of unseen rows were.
#
# Barber, Candes, Ramdas and Tibshirani (2021) state the jackknife+ for intervals; Romano, Sesia and Candes (2020),
# "Classification with valid and adaptive coverage", for labels. The score of a label is one minus its probability. With
# by_class, a label is compared only with the rows that have it. The proofs, also for groups, are in docs/proofs.md, 13.

_RANK_ROUNDING = 1e-12  # rounding error of probabilities, which are then tied
_ROUNDING_OF_WEIGHTS = 1e-9
_UNSEEN = {
    False: "A label without training rows is in no set; subtract the probability of such labels from the coverage.",
    True: "A class without training rows is in no set, so it is never covered.",
}
_PAIRS = 2**22  # comparisons of rows, points and labels in memory at the same time


@dataclass(frozen=True)
class JackknifeSets:
    """The labels of a point that are less likely than the row's own label for less than a share 1 - a of the rows.

    Each row is compared in the model without it.

    Parameters
    ----------
    level : Fraction
        The level 1 - a.
    by_class : bool, default=True
        Whether a label is compared only with the rows of its class, so that each class is covered.
    """

    level: Fraction
    by_class: bool = True

    def needed(self, weight: Any) -> Any:
        """Return the weight of rows that leaves a label out of a set; the rows of a group weigh 1 together."""
        return (self.level if isinstance(weight, int) else float(self.level)) * (weight + 1)

    def members(self, model: Any, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return the averaged probabilities at some points, and whether each label is in the set."""
        own = _own(model)
        found = [(there, self._inside(model, own, left_out)) for _, there, left_out in left_out_blocks(model, X)]
        return np.concatenate([there for there, _ in found]), np.concatenate([inside for _, inside in found])

    def covered_rows(self, model: Any) -> np.ndarray:
        """Estimate whether the set of each training row, predicted without it, contains its label.

        As an approximation, the probability of a row's label without this row and row j is that without this row.
        """
        own, weights, units = _own(model), _weights(model), model.units_
        covered = np.zeros(len(own), dtype=bool)
        for rows, _ in self._compared(model):
            above = _heavier(own[rows], weights[rows])
            there, total = units.of_rows[rows], float(weights[rows].sum()) if self.by_class else float(len(units))
            of_unit = np.bincount(there, weights[rows], minlength=len(units)) if self.by_class else np.ones(len(units))
            if not units.are_rows:
                order = np.argsort(there, kind="stable")
                for same in np.split(order, np.flatnonzero(np.diff(there[order])) + 1):
                    above[same] -= _heavier(own[rows[same]], weights[rows[same]])
            covered[rows] = above < self.needed(total - of_unit[there]) - _ROUNDING_OF_WEIGHTS
        return covered

    def without_estimate(self, model: Any) -> np.ndarray:
        """Return which classes have just enough rows to be left out of a set, but too few without one of these rows.

        Training rows of such a class are always covered, but new rows are not.
        """
        fewest, units = float(self.level / (1 - self.level)) - _ROUNDING_OF_WEIGHTS, model.units_
        found = np.zeros(len(model.classes_), dtype=bool)
        weights = _weights(model)
        for rows, labels in self._compared(model):
            total, largest = float(len(units)), 1.0
            if self.by_class:
                total = float(weights[rows].sum())
                largest = float(np.bincount(units.of_rows[rows], weights[rows]).max())
            found[labels] = total >= fewest > total - largest
        return found

    def guarantee(self, model: Any) -> str:
        """Return the sentence on the guaranteed coverage of the sets of a fitted model."""
        units = model.units_
        if not model.scheme_.is_symmetric:
            return (
                f"Nothing is proved about their coverage, because the bags do not treat all {units.noun.plural} alike."
            )
        rule = JackknifePlus(self.level, units)
        sentence = rule.guarantee(len(units)) + describe_bags(model, rule)
        if self.by_class:
            sentence = sentence.replace("coverage is at least", "coverage of each class is at least", 1)
        return f"{sentence} {_UNSEEN[self.by_class]}" if sentence.startswith("Proved") else sentence

    def _compared(self, model: Any) -> list[tuple[np.ndarray, Any]]:
        """Return the sets of rows that are compared with each other, each with the labels compared with them."""
        codes = np.searchsorted(model.classes_, fitted(model).y)
        if not self.by_class:
            return [(np.arange(len(codes)), slice(None))]
        return [(np.flatnonzero(codes == code), slice(code, code + 1)) for code in range(len(model.classes_))]

    def _inside(self, model: Any, own: np.ndarray, left_out: np.ndarray) -> np.ndarray:
        """Return which labels are in the sets; `own` has the probability of each row's label without the row."""
        units, weights = model.units_, _weights(model)
        inside = np.empty(left_out.shape[1:], dtype=bool)
        for rows, labels in self._compared(model):
            beaten = np.zeros(inside[:, labels].shape)
            step = max(1, _PAIRS // max(1, beaten.size))
            for first in range(0, len(rows), step):
                some: Any = rows[first : first + step]
                lines = units.of_rows[some]
                if units.are_rows and not self.by_class:
                    lines = slice(first, first + step)  # avoids a copy
                less_likely = left_out[lines, :, labels] < own[some, None, None] - _RANK_ROUNDING
                more = less_likely.sum(axis=0) if units.are_rows else np.tensordot(weights[some], less_likely, axes=1)
                beaten += more
            if units.are_rows:
                inside[:, labels] = beaten < float(self.needed(len(rows)))
            else:
                total = float(weights[rows].sum()) if self.by_class else len(units)
                inside[:, labels] = beaten < float(self.needed(total)) - _ROUNDING_OF_WEIGHTS
        return inside


def class_weights(model: Any) -> np.ndarray:
    """Return the number of rows of each class, or their total weight if there are groups."""
    codes = np.searchsorted(model.classes_, fitted(model).y)
    return np.bincount(codes, _weights(model), minlength=len(model.classes_))


def _own(model: Any) -> np.ndarray:
    """Return the probability of each training row's label, from the bags without the row."""
    y = fitted(model).y
    own: np.ndarray = left_out_at_rows(model)[np.arange(len(y)), np.searchsorted(model.classes_, y)]
    return own


def _weights(model: Any) -> np.ndarray:
    """Return the weight of each row; the weights of a group add up to one."""
    units = model.units_
    return np.ones(len(fitted(model).y)) if units.are_rows else np.asarray(1 / units.sizes[units.of_rows])


def _heavier(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return, for each value, the total weight of the clearly larger values."""
    order = np.argsort(values)
    up_to = np.concatenate([[0.0], np.cumsum(weights[order])])
    above: np.ndarray = up_to[-1] - up_to[np.searchsorted(values[order], values + _RANK_ROUNDING, side="right")]
    return above


# ----------------------------------------------------------------------------------------------------------- label sets

METHODS = ("inflated-argmax", "jackknife+")
_ONCE = 2**24  # predictions of single bags that are kept in memory instead of computed twice
_FEW_CLASSES = 5  # more classes are not listed one by one
_CHANCE = 0.01  # p-value of the coverage of a class, below which a warning is given


@dataclass(frozen=True, eq=False, repr=False)
class LabelSets(Result):
    """Label sets at some points, with their guarantee.

    Returned by `predict_set`. Iterating over them yields the list of labels of each point, the most likely first.

    Attributes
    ----------
    members : ndarray of bool, shape (n_points, n_labels)
        Whether each label is in the set of each point.
    labels : ndarray of shape (n_labels,)
        The class labels, in the order of the columns.
    prediction : ndarray of shape (n_points, n_labels)
        The averaged probabilities with all rows.
    method : str
        The name of the method.
    guarantee : str
        What is guaranteed about them, in words.
    epsilon : ndarray of shape (n_points,) or None, default=None
        For stable sets, the epsilon of the rule at each point.
    delta : float or None, default=None
        For stable sets, the share of training rows whose removal may give a set that shares no label with this one. It
        is not a confidence.
    confidence_level : float or None, default=None
        For sets with coverage, the level 1 - a.
    training_rows : ndarray of int, shape (n_labels,), or None, default=None
        For sets with coverage, the number of training rows of each class.
    training_coverage : ndarray of shape (n_labels,) or None, default=None
        For sets with coverage, the share of each class's training rows whose own set, predicted without the row,
        contains their label. This estimates the coverage of each class. It is NaN for a class with exactly the number
        of rows needed to leave its label out of a set, such as 9 at level 0.9: without one of them there are too few,
        so all of them would count as covered.
    index : pandas Index or None, default=None
        The index of the frame of points, if there is one.

    Examples
    --------
    >>> import numpy as np
    >>> from stablebag.deciding import LabelSets
    >>> members = np.array([[True, False, False], [True, True, False]])
    >>> prediction = np.array([[0.8, 0.1, 0.1], [0.4, 0.39, 0.21]])
    >>> sets = LabelSets(members, np.array(["cat", "dog", "hen"]), prediction, "inflated-argmax", "none")
    >>> sets.sizes, sets.contains(["cat", "hen"]), sets.singletons, sets.correct_singletons(["cat", "cat"])
    (array([1, 2]), array([ True, False]), 0.5, 0.5)
    >>> sets.coverage_by_class(["cat", "hen"])
    {'cat': 1.0, 'hen': 0.0}
    >>> sets
    point    labels
    0           cat
    1      cat, dog
    """

    members: np.ndarray
    labels: np.ndarray
    prediction: np.ndarray
    method: str
    guarantee: str
    epsilon: np.ndarray | None = None
    delta: float | None = None
    confidence_level: float | None = None
    training_rows: np.ndarray | None = None
    training_coverage: np.ndarray | None = None
    index: Any = None

    def __post_init__(self) -> None:
        hold_read_only(self)

    @property
    def sizes(self) -> np.ndarray:
        """The number of labels in each set."""
        sizes: np.ndarray = self.members.sum(axis=1)
        return sizes

    @property
    def singletons(self) -> float:
        """The share of sets with one label."""
        return float(np.mean(self.sizes == 1))

    def contains(self, y: Any) -> np.ndarray:
        """Return whether each label is in its set; a label unknown to the model is in no set.

        Parameters
        ----------
        y : array-like of shape (n_points,)
            The true labels of the points.

        Returns
        -------
        ndarray of bool, shape (n_points,)
        """
        true = self._true(y, "LabelSets.contains")
        inside: np.ndarray = (self.members & true).any(axis=1)
        return inside

    def coverage(self, y: Any) -> float:
        """Return the share of labels that are in their sets.

        Parameters
        ----------
        y : array-like of shape (n_points,)
            The true labels of the points.

        Returns
        -------
        float
        """
        return float(self.contains(y).mean())

    def coverage_by_class(self, y: Any) -> dict[Any, float]:
        """Return, for each class among the true labels, the share of its points whose sets contain it.

        Parameters
        ----------
        y : array-like of shape (n_points,)
            The true labels of the points.

        Returns
        -------
        dict of label to float
            In the order of `labels`; classes unknown to the model come last, with 0.
        """
        inside, known = self.contains(y), as_column(y, "y", "LabelSets.coverage_by_class")
        others = [label for label in dict.fromkeys(known.tolist()) if not (self.labels == label).any()]
        shares = {label: inside[known == label] for label in [*self.labels.tolist(), *others]}
        return {label: float(share.mean()) for label, share in shares.items() if len(share)}

    def correct_singletons(self, y: Any) -> float:
        """Return the share of points whose set contains the true label and no other.

        Parameters
        ----------
        y : array-like of shape (n_points,)
            The true labels of the points.

        Returns
        -------
        float
        """
        return float(np.mean((self.sizes == 1) & self.contains(y)))

    def to_list(self) -> list[list[Any]]:
        """Return the labels of each set, the most likely first."""
        order = np.argsort(-self.prediction, axis=1, kind="stable")
        return [self.labels[line[inside[line]]].tolist() for line, inside in zip(order, self.members, strict=True)]

    def to_frame(self) -> Any:
        """Return a pandas DataFrame of bool with a column per label, indexed like the points."""
        import pandas as pd

        return pd.DataFrame(self.members, index=self.index, columns=self.labels)

    def explain(self) -> str:
        """Explain the sets and their guarantee in sentences."""
        number = f"1 {self.method} label set" if len(self) == 1 else f"{len(self):,} {self.method} label sets"
        how = "" if self.confidence_level is None else f" at level {self.confidence_level:g}"
        if self.epsilon is not None and len(self):
            up_to = "up to " if self.epsilon.min() < self.epsilon.max() else ""
            how = f" with epsilon {up_to}{as_given(float(self.epsilon.max()))}"
        size = f"{np.mean(self.sizes):.3g} of {len(self.labels)} labels on average"
        one = f"{percent(self.singletons)} have one label"
        sentences = [f"{number}{how}: {size}, {one}.", self.guarantee]
        if self.training_coverage is not None:
            sentences.append(self._describe_classes())
        return paragraphs(sentences)

    def _describe_classes(self) -> str:
        """Return the sentence on the estimated coverage of each class; if there are many, of the two extremes."""
        assert self.training_coverage is not None
        assert self.training_rows is not None
        shares, sizes = self.training_coverage, self.training_rows
        names = [f"class {label!s} ({ROWS.count(int(n))})" for label, n in zip(self.labels, sizes, strict=True)]
        unknown = np.flatnonzero(np.isnan(shares))
        none = _listed([names[k] for k in unknown[:_FEW_CLASSES]], len(unknown) - _FEW_CLASSES)
        order = np.argsort(shares, kind="stable")[: len(shares) - len(unknown)]
        if not len(order):
            return f"There is no estimate for {none}."
        parts = [f"{percent(shares[k])} of {names[k]}" for k in np.sort(order)]
        listed = _listed(parts)
        if len(order) > _FEW_CLASSES:
            first, last = order[[0, -1]]
            listed = f"from {percent(shares[first])} of {names[first]} to {percent(shares[last])} of {names[last]}"
        rest = f"; no estimate for {none}" if none else ""
        return f"Estimated from the training rows, each predicted without itself, the sets cover {listed}{rest}."

    def _preview(self) -> tuple[str, Any, dict[str, Any]]:
        names = range(len(self)) if self.index is None else self.index
        return "point", names, {"labels": [", ".join(map(str, labels)) for labels in self]}

    def __iter__(self) -> Iterator[list[Any]]:
        return iter(self.to_list())

    def __len__(self) -> int:
        return len(self.members)

    def _true(self, y: Any, owner: str) -> np.ndarray:
        """Return one line per point, True in the column of its label."""
        expected = f"{len(self)} labels, one for each point"
        try:
            y = as_column(y, "y", owner)
        except (TypeError, ValueError):
            raise refuse_value("y", owner, expected, y) from None
        if len(y) != len(self):
            raise refuse_value("y", owner, expected, len(y))
        true: np.ndarray = y[:, None] == self.labels
        if len(y) and not true.any() and _are_texts(y) != _are_texts(self.labels):
            known = ", ".join(map(repr, self.labels[:3].tolist()))
            reason = f"the model was fitted to the labels {known}{', ...' if len(self.labels) > 3 else '.'}"
            raise refuse_value("y", owner, "labels of the same type as the model's", y[0], reason)
        return true


def predict_set(
    model: Any,
    X: Any,
    *,
    method: str = "inflated-argmax",
    epsilon: float | None = None,
    delta: float = 0.05,
    certificate: Any = None,
    confidence_level: float = 0.9,
    by_class: bool = True,
) -> LabelSets:
    """Predict sets of labels that are stable without any one training row, or that cover the true label.

    The label with the largest probability is not stable, even if the probabilities are. With the inflated argmax, a set
    has every label that leads after a small change of the probabilities. For all but a share delta of the training
    rows, the set without the row then has a label in common with this one. Both sets use the same epsilon, and points
    are compared one at a time. The certificate determines what "without the row" means: with
    ``certify(model, reused=True)``, the average over the fitted bags that do not contain it, which
    `selection_stability` measures; with ``certify(model)``, a refitted model. A class that vanishes with a row has
    probability zero without it.

    With "jackknife+", sets cover the true label of a new row instead, and may be unstable. A label is left out if, in
    the models without a row, it is less likely than that row's own label for a share 1 - a of the rows with this label
    (or of all rows with ``by_class=False``). A set is empty if every label is less likely than for most rows. A label
    without training rows is in no set. Nothing is refitted.

    If the model was fitted with groups, stability is about leaving out groups, and coverage about rows of new groups.

    Parameters
    ----------
    model : BaggedClassifier
        A fitted model.
    X : array-like, sparse array or data frame of shape (n_points, n_features), or BagPredictions
        The points at which to predict, or the result of `model.predict_once` at these points.
    method : {"inflated-argmax", "jackknife+"}, default="inflated-argmax"
        "inflated-argmax": stable sets, as small as the certificate allows. "jackknife+": sets with coverage.
    epsilon : float or None, default=None
        Vectors of probabilities within this distance of each other give sets that share a label. None uses the
        smallest epsilon for which the certificate guarantees `delta`; it may differ between points. If epsilon is
        given, delta is computed from the certificate.
    delta : float, default=0.05
        The fraction of training rows whose removal may make sets disjoint. Ignored if epsilon is given.
    certificate : Certificate, PointCertificate, ReusedBagsCertificate or None, default=None
        The certificate for vectors of probabilities (``vector=True``): ``certify(model)`` for refits, all data sets and
        points; ``certify(model, X)`` for refits at these points; ``certify(model, reused=True)`` for the fitted bags.
        None uses ``certify(model, X, reused=True)``, the sharpest certificate for the fitted bags at these points,
        which holds with certainty.
    confidence_level : float, default=0.9
        For "jackknife+", the level 1 - a. The guaranteed coverage is 1 - 2a.
    by_class : bool, default=True
        For "jackknife+", whether to cover each class at this level, even rare ones. A class with fewer than 1/a - 1
        training rows is in every set, because so few rows cannot rule it out. False covers rows of all classes
        together: sets are smaller, but may miss every row of a rare class, and a warning is given if they seem to.

    Returns
    -------
    LabelSets

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from stablebag import BaggedClassifier, predict_set
    >>> X, y = load_wine(return_X_y=True)
    >>> model = BaggedClassifier(n_bags=500, random_state=0).fit(X[::2], y[::2])
    >>> sets = predict_set(model, X[1::2], delta=0.1)
    >>> print(sets)
    89 inflated-argmax label sets with epsilon up to 0.3608: 1.03 of 3 labels on average, 96.6% have
    one label.
    Proved for these 500 bags and each of these 89 points: for all but at most 8 of the 89 rows
    (delta = 0.1), the set from the bags without the row, with the same epsilon, has a label in
    common with this one. Proof: the covariance of these bags and their variance at each point
    (docs/proofs.md, 7 and 13).
    >>> sets.to_list()[:3], round(sets.correct_singletons(y[1::2]), 3)
    ([[0], [0], [0]], 0.933)
    """
    owner = "predict_set"
    points = predict_once_if_small(model, X, owner)
    index = fitted(model).index_of(points)
    method = check_choice(method, "method", owner, METHODS)
    level, by_class = check_level(confidence_level, owner), check_flag(by_class, "by_class", owner)
    if method == "jackknife+":
        for name, value in (("epsilon", epsilon), ("certificate", certificate)):
            if value is not None:
                reason = 'only stable sets use it. Drop it, or use method="inflated-argmax".'
                raise refuse_value(name, owner, "None for the jackknife+", value, reason)
        rule = JackknifeSets(level, by_class)
        prediction, members = rule.members(model, points)
        sizes, shares = _of_training_rows(rule, model)
        _warn_if_all_labels(rule, model)
        if not by_class:
            _warn_if_hidden(rule, model, sizes, shares)
        more = {"confidence_level": float(level), "index": index, "training_rows": sizes, "training_coverage": shares}
        return LabelSets(members, model.classes_, prediction, method, rule.guarantee(model), **more)
    stability = LabelStability.of(model, points, epsilon, delta, certificate, owner)
    prediction = np.concatenate(
        [fitted(model).average.prediction([raw]) for _, raw in fitted(model).raw_blocks(points)]
    )
    members = inflated_argmax(prediction, stability.epsilon)
    more = {"epsilon": stability.epsilon, "delta": stability.delta, "index": index}
    return LabelSets(members, model.classes_, prediction, method, stability.guarantee, **more)


def predict_once_if_small(model: Any, X: Any, owner: str) -> Any:
    """Return the predictions of the bags at the points, or the points themselves if these would be too large."""
    reason = "for regressors, use predict_interval."
    check_bagged(model, owner, kind=BaggedClassifier, reason=reason)
    if isinstance(X, BagPredictions):
        return X
    size = len(model.bags_) * len(model.classes_) * fitted(model).n_points(X)
    return model.predict_once(X) if size <= _ONCE else X


def _are_texts(labels: np.ndarray) -> bool:
    return all(isinstance(label, str | bytes) for label in labels.tolist())


def _of_training_rows(rule: JackknifeSets, model: BaggedClassifier) -> tuple[np.ndarray, np.ndarray]:
    """Return the number of training rows of each class and their estimated coverage; NaN without an estimate."""
    codes, covered = np.searchsorted(model.classes_, fitted(model).y), rule.covered_rows(model)
    weights = np.ones(len(codes)) if model.units_.are_rows else 1 / model.units_.sizes[model.units_.of_rows]
    n_labels = len(model.classes_)
    shares = np.bincount(codes, weights * covered, n_labels) / np.bincount(codes, weights, n_labels)
    shares[rule.without_estimate(model)] = np.nan
    return np.bincount(codes, minlength=n_labels), shares


def _warn_if_all_labels(rule: JackknifeSets, model: BaggedClassifier) -> None:
    """Warn about labels that are in every set; the warning points to the line of the user."""
    n, noun, level = len(model.units_), model.units_.noun, f"level {float(rule.level):g}"
    if not rule.by_class:
        if rule.needed(n) > n:
            needed = f"{math.ceil(rule.level / (1 - rule.level)):,} training {noun.plural}"
            warnings.warn(
                f"Every set has all labels, because {level} needs at least {needed} and there are {n:,}. Use more "
                f"{noun.plural}, or a lower level.",
                stacklevel=3,
            )
        return
    weights, fewest = class_weights(model), float(rule.level / (1 - rule.level))
    few = np.flatnonzero(weights + 1e-9 < fewest)
    if not len(few):
        return
    named = [f"{model.classes_[k]!s} ({weights[k]:.3g} {_many(noun, weights[k])})" for k in few[:_FEW_CLASSES]]
    more = f" and {len(few) - _FEW_CLASSES:,} more" if len(few) > _FEW_CLASSES else ""
    head = f"Every set has the label{'s' if len(few) > 1 else ''} {', '.join(named)}{more}"
    if len(few) == len(weights):
        head = f"Every set has all labels, {', '.join(named)}{more}"
    of = f"training {noun.plural}"
    if not model.units_.are_rows:
        of = f"{noun.plural}, each counted by the share of its rows that are"
    warnings.warn(
        f"{head}: ruling out a class at {level} takes {math.ceil(fewest):,} {of} of that class. Use more rows, a lower "
        "level, or by_class=False to cover all classes together.",
        stacklevel=3,
    )


def _many(noun: Any, number: float) -> str:
    return str(noun.singular if number == 1 else noun.plural)


def _warn_if_hidden(rule: JackknifeSets, model: BaggedClassifier, sizes: np.ndarray, shares: np.ndarray) -> None:
    """Warn about classes whose estimated coverage is below the coverage guaranteed for all rows together."""
    proved = float(2 * rule.level - 1)
    counts = sizes if model.units_.are_rows else class_weights(model)
    chance = binom.cdf(np.round(shares * counts), np.round(counts), proved)
    hidden = np.flatnonzero((shares < proved) & (chance < _CHANCE))
    if not len(hidden):
        return
    hidden = hidden[np.argsort(shares[hidden], kind="stable")]
    some = hidden[:_FEW_CLASSES]
    named = [f"{percent(shares[k])} of class {model.classes_[k]!s} ({ROWS.count(int(sizes[k]))})" for k in some]
    more = f" and too little of {len(hidden) - len(some):,} more" if len(hidden) > len(some) else ""
    warnings.warn(
        f"These sets cover all classes together at level {float(rule.level):g}. By the training rows, they cover only "
        f"{', '.join(named)}{more}. Use by_class=True to cover each class.",
        stacklevel=3,
    )


def _listed(parts: list[str], n_more: int = 0) -> str:
    parts = [*parts, f"{n_more:,} more"] if n_more > 0 else parts
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)


# ----------------------------------------------------------------------------------------------------------- score sets
# The set in which scores of items lie; guarantees depend on its radius.

_NAMES = ("simplex", "box")
_ROUNDING = 1e-6


@dataclass(frozen=True)
class ScoreSet:
    """The set in which scores of items lie: a simplex, a box, or a ball.

    Parameters
    ----------
    within : {"simplex", "box"} or float
        "simplex": nonnegative scores that add up to 1. "box": scores in [0, 1]. A number: the largest distance from the
        origin; scores farther away are scaled to this distance.

    Examples
    --------
    >>> round(ScoreSet("simplex").radius(4) ** 2, 9), ScoreSet("box").radius(4), ScoreSet(2.5).radius(4)
    (0.75, 1.0, 2.5)
    >>> ScoreSet(1.0).held(np.array([3.0, 4.0]))
    array([0.6, 0.8])
    """

    within: Any

    def __post_init__(self) -> None:
        if isinstance(self.within, str):
            if self.within not in _NAMES:
                reason = "the guarantee depends on it. For scores that add up to 1, use 'simplex'."
                raise refuse_value("within", "stable_ranking", "'simplex', 'box' or a radius", self.within, reason)
            object.__setattr__(self, "within", str(self.within))  # a numpy string has another repr
            return
        reason = "a number is the radius of the ball that holds all scores. For scores that add up to 1, use 'simplex'."
        radius = check_real(self.within, "within", "stable_ranking", open_low=True, finite=True, reason=reason)
        object.__setattr__(self, "within", radius)

    def radius(self, n_items: int) -> float:
        """Return the largest distance from the centre: sqrt(1 - 1 / L), sqrt(L) / 2, or the radius of the ball."""
        if self.within == "simplex":
            return bounds.simplex_radius(n_items)
        return math.sqrt(n_items) / 2 if self.within == "box" else float(self.within)

    def diameter(self, n_items: int) -> float:
        """Return the largest distance between two vectors of scores."""
        return min(math.sqrt(2.0), 2 * self.radius(n_items)) if self.within == "simplex" else 2 * self.radius(n_items)

    def centre(self, n_items: int) -> np.ndarray:
        """Return the centre, where all scores are equal; empty bags have these scores."""
        value = {"simplex": 1 / n_items, "box": 0.5}.get(self.within, 0.0)
        return np.full(n_items, value)

    def held(self, scores: np.ndarray) -> np.ndarray:
        """Return scores scaled into a ball, or unchanged; scores outside a simplex or a box raise an error."""
        if self.within == "simplex":
            if not scores.any():  # for example, the importances of a tree without a split
                return self.centre(len(scores))
            total = float(scores.sum())
            if scores.min() < -_ROUNDING or abs(total - 1) > _ROUNDING:
                raise ValueError(
                    f"With within='simplex', scores must be nonnegative and add up to 1. Got {_shown(scores)}, whose "
                    f"sum is {total:g}. Divide them by their sum, or use within='box' or a radius such as within=2.0."
                )
            scores = np.maximum(scores, 0.0)
            share: np.ndarray = scores / scores.sum()
            return share
        if self.within == "box":
            if scores.min() < 0 or scores.max() > 1:
                raise ValueError(
                    f"With within='box', scores must be between 0 and 1. Got {_shown(scores)}. Scale them by constants "
                    "that do not depend on the data, or use a radius such as within=2.0."
                )
            return scores
        largest = float(np.abs(scores).max()) or 1.0  # dividing by it avoids overflow and underflow of squares
        length = float(np.linalg.norm(scores / largest))
        return scores if length * largest <= self.within else scores / largest * (self.within / length)

    def __str__(self) -> str:
        words = {"simplex": "scores that add up to 1", "box": "scores between 0 and 1"}
        return words.get(self.within, f"scores within {self.within} of the origin")


def _shown(scores: np.ndarray) -> str:
    return np.array2string(scores, precision=4, threshold=5, edgeitems=2)
