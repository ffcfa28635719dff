"""Sets of labels: stable ones, and those with a coverage guarantee."""

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
# What a certificate guarantees of label sets: how far to inflate the argmax, for how many rows, and in which words.

_SIZES = {"radius": "scale", "length": "range_length", "shift": "shift", "shifted_share": "shifted_share"}


@dataclass(frozen=True, eq=False)
class LabelStability:
    """For which epsilon, and for all but which share of the rows, sets with and without a row share a label.

    Attributes
    ----------
    epsilon : ndarray of shape (n_points,)
        The epsilon of the rule at each point.
    delta : float
        The share of the rows.
    guarantee : str
        What is compared, for how many rows, and by which proof.
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
        """Return what a certificate guarantees at some points; None takes that of the bags as they were drawn."""
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
            reason = f"of it, {unsure:.3g} is for the confidence {certificate.confidence:g}. Certify with a higher one."
            raise refuse_value("delta", owner, f"above {unsure:.3g} with this certificate", delta, reason)
        proved = certificate.epsilon(delta - unsure if delta < 1 else 1.0)
        each = np.broadcast_to(just_above(proved), n_points).copy()
        return cls(each, delta, _guarantee(certificate, each, delta, unsure=unsure))


def _scope(model: Any, X: Any, certificate: Any, owner: str) -> Scope:
    """What the sets are about; a certificate of something else is refused."""
    if not isinstance(certificate, Certificate | PointCertificate | ReusedBagsCertificate):
        expected = "a certificate of vectors, or None"
        reason = "make one by certify with vector=True."
        raise refuse_type("certificate", owner, expected, certificate, reason)
    proved, points = certificate.scope, fitted(model).fingerprint_of(X)
    n_points = fitted(model).n_points(X)
    own = replace(scope_of(fitted(model).average, vector=True), n_points=n_points, points=points)
    if proved.rerun is Rerun.ANEW and own.rerun is Rerun.REUSED:
        law = model.scheme_.fingerprint
        own = replace(own, rerun=Rerun.ANEW, bags=law, coupling=proved.coupling, shift=0.0)
    why = own.mismatch(proved) or _too_small(model, certificate)
    if why:
        reason = f"{why}. Make it by certify of this model, with vector=True."
        raise refuse_value("certificate", owner, "of this model and these points", type(certificate).__name__, reason)
    return own


def _too_small(model: Any, certificate: Any) -> str | None:
    """Why a certificate is not about this model's probabilities, if they reach or jump further than it says."""
    given = certificate.certificate if isinstance(certificate, PointCertificate) else certificate
    reused = isinstance(given, ReusedBagsCertificate)
    own: Any = certify(model, vector=True, reused=True) if reused else certify(model, vector=True)
    for name, of_bags in _SIZES.items():
        both = (given, own) if reused else (given.outputs, own.outputs)
        theirs, needed = (float(getattr(of, of_bags if reused else name)) for of in both)
        if theirs < needed * (1 - 1e-9):
            what = "diameter" if name == "length" else name.replace("_", " ")
            return f"its {what} is {theirs:.4g}, and probabilities of these classes have {needed:.4g}"
    return None


def _guarantee(
    certificate: Any, epsilon: np.ndarray, delta: float, *, unsure: float = 0.0, confidence: float = 1.0
) -> str:
    """The guarantee in words; of delta, a part may be for a certificate that is not sure, or all of it be so."""
    scope: Scope = certificate.scope
    n, n_points, everywhere, noun = scope.n_samples, len(epsilon), scope.n_points is None, scope.noun
    if delta >= 1:
        return nothing_proved(float(epsilon.max(initial=0.0)), n, scope.n_bags or math.inf, noun)
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
        data = "this data set and"
        if everywhere:
            data = f"every learner, every data set of {noun.count(n)}{by.condition} and"
        assumed = by.coupling.describe(noun)
        said = (
            f"{proved} for {data} {where}: the set of a model fitted anew without {noun.any_one}, with the same "
            f"epsilon ({assumed}), {shares}, {rarely_fails(delta, noun)}."
        )
    else:
        bags, without = "the average over all bags", f"all bags without the {noun.singular}, with the same seed and"
        if scope.n_bags is not None:
            bags = f"{_these(scope.n_bags)} as they were drawn"
            without = f"the bags without the {noun.singular}, with the same"
        most = for_most_rows(delta, n, noun)
        said = f"{proved} for {bags} and {where}: {most}, the set from {without} epsilon, {shares}."
    if unsure:
        said += f" Of this chance, {unsure:.3g} is that the bags understate how much they differ."
    return f"{said} {_proof(certificate)}"


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


# ------------------------------------------------------------------------------------------------------- jackknife sets
# Label sets of the jackknife+: the labels that are not stranger than those of rows that were not seen.
#
# Barber, Candes, Ramdas and Tibshirani (2021) state the jackknife+ for intervals; Romano, Sesia and Candes (2020),
# "Classification with valid and adaptive coverage", for labels. The score of a label is one minus its probability. By
# class, a label is compared only with the rows that have it. The proofs, also for units of several rows, are in
# docs/proofs.md, 13.

_RANK_ROUNDING = 1e-12  # of a probability: a tie is not stranger
_ROUNDING_OF_WEIGHTS = 1e-9  # in units
_UNSEEN = {
    False: "A label that no training row has is in no set; the chance of such a label comes on top.",
    True: "A class without training rows is in no set, so it is never covered.",
}
_PAIRS = 2**22  # rows, points and labels that are compared at once


@dataclass(frozen=True)
class JackknifeSets:
    """The labels of a point that beat less than a share 1 - a of the rows, each in the model without that row.

    Parameters
    ----------
    level : Fraction
        The level 1 - a.
    by_class : bool, default=True
        Whether a label is compared with the rows of its own class, so that each class is covered; otherwise with all.
    """

    level: Fraction
    by_class: bool = True

    def needed(self, weight: Any) -> Any:
        """Return the weight of the rows that a label has to beat to be left out; the rows of a unit have one in all."""
        return (self.level if isinstance(weight, int) else float(self.level)) * (weight + 1)

    def members(self, model: Any, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return the averaged probabilities at some points, and which labels are in their sets."""
        own = _own(model)
        found = [(there, self._inside(model, own, left_out)) for _, there, left_out in left_out_blocks(model, X)]
        return np.concatenate([there for there, _ in found]), np.concatenate([inside for _, inside in found])

    def covered_rows(self, model: Any) -> np.ndarray:
        """Return whether the set of each training row, predicted without it, has its label: an estimate.

        The probability of a row's label without row j, too, is taken to be that without the row alone.
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
        """Return which classes have just enough rows to be left out of a set, and too few without one of these rows.

        The training rows of such a class are covered whatever the model predicts, and new rows are not.
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
        """Say what is proved about the coverage of the sets of a fitted model."""
        units = model.units_
        if not model.scheme_.is_symmetric:
            return (
                f"Nothing is proved about their coverage, because the bags do not treat all {units.noun.plural} alike."
            )
        rule = JackknifePlus(self.level, units)
        said = rule.guarantee(len(units)) + describe_bags(model, rule)
        if self.by_class:
            said = said.replace("coverage is at least", "coverage of each class is at least", 1)
        return f"{said} {_UNSEEN[self.by_class]}" if said.startswith("Proved") else said

    def _compared(self, model: Any) -> list[tuple[np.ndarray, Any]]:
        """Which rows are compared with each other, and the labels that are compared with them."""
        codes = np.searchsorted(model.classes_, fitted(model).y)
        if not self.by_class:
            return [(np.arange(len(codes)), slice(None))]
        return [(np.flatnonzero(codes == code), slice(code, code + 1)) for code in range(len(model.classes_))]

    def _inside(self, model: Any, own: np.ndarray, left_out: np.ndarray) -> np.ndarray:
        """Which labels are in the sets at some points; `own` has each row's probability of its label without it."""
        units, weights = model.units_, _weights(model)
        inside = np.empty(left_out.shape[1:], dtype=bool)
        for rows, labels in self._compared(model):
            beaten = np.zeros(inside[:, labels].shape)
            step = max(1, _PAIRS // max(1, beaten.size))
            for first in range(0, len(rows), step):
                some: Any = rows[first : first + step]
                lines = units.of_rows[some]
                if units.are_rows and not self.by_class:
                    lines = slice(first, first + step)  # without a copy
                stranger = left_out[lines, :, labels] < own[some, None, None] - _RANK_ROUNDING
                beaten += stranger.sum(axis=0) if units.are_rows else np.tensordot(weights[some], stranger, axes=1)
            if units.are_rows:
                inside[:, labels] = beaten < float(self.needed(len(rows)))
            else:
                total = float(weights[rows].sum()) if self.by_class else len(units)
                inside[:, labels] = beaten < float(self.needed(total)) - _ROUNDING_OF_WEIGHTS
        return inside


def class_weights(model: Any) -> np.ndarray:
    """Return how many rows each class has; of units of several rows, how many units they amount to."""
    codes = np.searchsorted(model.classes_, fitted(model).y)
    return np.bincount(codes, _weights(model), minlength=len(model.classes_))


def _own(model: Any) -> np.ndarray:
    """The probability of each training row's label, by the bags without the row."""
    y = fitted(model).y
    own: np.ndarray = left_out_at_rows(model)[np.arange(len(y)), np.searchsorted(model.classes_, y)]
    return own


def _weights(model: Any) -> np.ndarray:
    """The weight of each row; those of a unit add up to one."""
    units = model.units_
    return np.ones(len(fitted(model).y)) if units.are_rows else np.asarray(1 / units.sizes[units.of_rows])


def _heavier(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The weight of the values that are clearly larger than each."""
    order = np.argsort(values)
    up_to = np.concatenate([[0.0], np.cumsum(weights[order])])
    above: np.ndarray = up_to[-1] - up_to[np.searchsorted(values[order], values + _RANK_ROUNDING, side="right")]
    return above


# ----------------------------------------------------------------------------------------------------------- label sets
# Sets of labels in place of one: stable under leaving out a row, or with a guarantee of coverage.

METHODS = ("inflated-argmax", "jackknife+")
_ONCE = 2**24  # predictions of single bags that are kept rather than made twice
_FEW_CLASSES = 5  # that are listed one by one
_CHANCE = 0.01  # of so few covered rows of a class whose coverage is the proved one


@dataclass(frozen=True, eq=False, repr=False)
class LabelSets(Result):
    """Sets of labels at some points, and what is proved about them.

    Made by `predict_set`. Iterating over them yields the labels of each point, the likeliest first.

    Attributes
    ----------
    members : ndarray of bool, shape (n_points, n_labels)
        Which labels are in the set of each point.
    labels : ndarray of shape (n_labels,)
        The class labels, in the order of the columns.
    prediction : ndarray of shape (n_points, n_labels)
        The averaged probabilities with all rows.
    method : str
        The method by which they were made.
    guarantee : str
        What is proved about them, in words: what is compared with what, and for how many rows.
    epsilon : ndarray of shape (n_points,) or None, default=None
        The epsilon of the rule at each point; None for sets with coverage.
    delta : float or None, default=None
        The share of the rows without which a set may have no label in common with this one; None for sets with
        coverage. It is a share of training rows, not a confidence.
    confidence_level : float or None, default=None
        The level 1 - a of sets with coverage.
    training_rows : ndarray of int, shape (n_labels,), or None, default=None
        For sets with coverage: the number of training rows of each class.
    training_coverage : ndarray of shape (n_labels,) or None, default=None
        For sets with coverage: the share of each class's training rows whose own set, made without the row, has their
        label. It estimates which share of the rows of each class the sets cover. It is NaN for a class that has just as
        many rows as it takes to leave its label out of a set, such as 9 at level 0.9: without one of them, there are
        too few, so all of them would be covered.
    index : pandas Index or None, default=None
        The index of the frame of points, if it names them.

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
        """The share of the sets that have one label."""
        return float(np.mean(self.sizes == 1))

    def contains(self, y: Any) -> np.ndarray:
        """Return whether each label is in its set; a label that the model does not know is in none.

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
        """Return the share of the labels that are in their sets.

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
        """Return, for each class among the true labels, the share of its points whose sets have it.

        Parameters
        ----------
        y : array-like of shape (n_points,)
            The true labels of the points.

        Returns
        -------
        dict of label to float
            In the order of `labels`; classes that the model does not know come last, with 0.
        """
        inside, known = self.contains(y), as_column(y, "y", "LabelSets.coverage_by_class")
        others = [label for label in dict.fromkeys(known.tolist()) if not (self.labels == label).any()]
        shares = {label: inside[known == label] for label in [*self.labels.tolist(), *others]}
        return {label: float(share.mean()) for label, share in shares.items() if len(share)}

    def correct_singletons(self, y: Any) -> float:
        """Return the share of the points whose set has one label, the true one.

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
        """Return the labels of each set, the likeliest first."""
        order = np.argsort(-self.prediction, axis=1, kind="stable")
        return [self.labels[line[inside[line]]].tolist() for line, inside in zip(order, self.members, strict=True)]

    def to_frame(self) -> Any:
        """Return a pandas DataFrame with a line per point, under the index of the points, and a column per label."""
        import pandas as pd

        return pd.DataFrame(self.members, index=self.index, columns=self.labels)

    def explain(self) -> str:
        """Explain in sentences what the sets are, and what is proved about them."""
        number = "1 set" if len(self) == 1 else f"{len(self):,} sets"
        how = "" if self.confidence_level is None else f" at level {self.confidence_level:g}"
        if self.epsilon is not None and len(self):
            up_to = "up to " if self.epsilon.min() < self.epsilon.max() else ""
            how = f" with epsilon {up_to}{as_given(float(self.epsilon.max()))}"
        size = f"{np.mean(self.sizes):.3g} of {len(self.labels)} labels on average"
        one = f"{percent(self.singletons)} have one label"
        sentences = [f"{number} of labels by {self.method}{how}: {size}, {one}.", self.guarantee]
        if self.training_coverage is not None:
            sentences.append(self._describe_classes())
        return paragraphs(sentences)

    def _describe_classes(self) -> str:
        """What each class gets, as the training rows tell; of many classes, the least and the most."""
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
        """One line per point, true in the column of its label."""
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
            reason = f"the model knows {known}{', ...' if len(self.labels) > 3 else '.'}"
            raise refuse_value("y", owner, "labels of the same kind as the model's", y[0], reason)
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
    """Predict sets of labels that no single training row can turn over, or that cover the true label.

    The label with the largest probability is not stable, however stable the probabilities are. By the inflated argmax,
    a set has every label that leads after a small change of the probabilities. For all but a share delta of the
    training rows, the set without the row has a label in common with this one. The sets that are compared are made
    with the same epsilon, one point at a time. What "without the row" means depends on the certificate: with
    ``certify(model, reused=True)``, the average over the fitted bags that do not contain it, which
    `selection_stability` measures; with ``certify(model)``, a model fitted anew. A class that is gone without a row
    has probability zero there.

    With "jackknife+", sets cover the true label of a new row instead, whether they are stable or not: a label is left
    out if, in the models without a row, it is less likely than that row's own label for a share 1 - a of the rows that
    have this label, or of all rows with ``by_class=False``. Such a set can be empty, if every label is stranger than
    most rows were; a label that no training row has is in none. No learner is fitted again.

    If the model was fitted with groups, all of this is about leaving out groups, and coverage about rows of new groups.

    Parameters
    ----------
    model : BaggedClassifier
        A fitted model.
    X : array-like, sparse array or data frame of shape (n_points, n_features), or BagPredictions
        The points at which to predict, or what `model.predict_once` predicted at them.
    method : {"inflated-argmax", "jackknife+"}, default="inflated-argmax"
        "inflated-argmax": the smallest sets that are known to be stable. "jackknife+": sets with coverage.
    epsilon : float or None, default=None
        The distance between vectors of probabilities up to which sets share a label. None takes the smallest for which
        the certificate proves the share `delta`, which may differ between points. If it is given, the share follows
        from the certificate.
    delta : float, default=0.05
        The share of the training rows without which sets may be disjoint. Not used if epsilon is given.
    certificate : Certificate, PointCertificate, ReusedBagsCertificate or None, default=None
        What is proved about the probabilities, made with ``vector=True``: by ``certify(model)`` of refits, for all
        data sets and points; by ``certify(model, X)`` of refits at these points; by ``certify(model, reused=True)`` of
        the bags as they were drawn. None is ``certify(model, X, reused=True)``, which holds for certain, and at each
        point is the sharpest of what is proved about the bags as they were drawn.
    confidence_level : float, default=0.9
        For "jackknife+": the level 1 - a; coverage is proved to be at least 1 - 2a.
    by_class : bool, default=True
        For "jackknife+": whether each class is covered at this level, the rare ones, too. Every set has the label of a
        class with fewer than 1/a - 1 training rows, because so few rows cannot rule it out. False covers rows of all
        classes together: sets are smaller, and may miss every row of a rare class, about which a warning is given.

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
    89 sets of labels by inflated-argmax with epsilon up to 0.3608: 1.03 of 3 labels on average,
    96.6% have one label.
    Proved for these 500 bags as they were drawn and each of these 89 points: for all but at most
    8 of the 89 rows (delta = 0.1), the set from the bags without the row, with the same epsilon,
    has a label in common with this one. Proof: the bags' own covariance and their variance at
    each point (docs/proofs.md, 7 and 13).
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
                reason = "sets with coverage have no epsilon. Use the inflated argmax for stable sets."
                raise refuse_value(name, owner, "None for the jackknife+", value, reason)
        rule = JackknifeSets(level, by_class)
        prediction, members = rule.members(model, points)
        sizes, shares = _of_training_rows(rule, model)
        _warn_if_all_labels(rule, model)
        if not by_class:
            _warn_if_hidden(rule, model, sizes, shares)
        about = {"confidence_level": float(level), "index": index, "training_rows": sizes, "training_coverage": shares}
        return LabelSets(members, model.classes_, prediction, method, rule.guarantee(model), **about)
    stability = LabelStability.of(model, points, epsilon, delta, certificate, owner)
    prediction = np.concatenate(
        [fitted(model).average.prediction([raw]) for _, raw in fitted(model).raw_blocks(points)]
    )
    members = inflated_argmax(prediction, stability.epsilon)
    about = {"epsilon": stability.epsilon, "delta": stability.delta, "index": index}
    return LabelSets(members, model.classes_, prediction, method, stability.guarantee, **about)


def predict_once_if_small(model: Any, X: Any, owner: str) -> Any:
    """Return what the bags predict at the points, if that is small enough to be kept; else the points themselves."""
    reason = "regressors have intervals: use predict_interval."
    check_bagged(model, owner, kind=BaggedClassifier, reason=reason)
    if isinstance(X, BagPredictions):
        return X
    size = len(model.bags_) * len(model.classes_) * fitted(model).n_points(X)
    return model.predict_once(X) if size <= _ONCE else X


def _are_texts(labels: np.ndarray) -> bool:
    return all(isinstance(label, str | bytes) for label in labels.tolist())


def _of_training_rows(rule: JackknifeSets, model: BaggedClassifier) -> tuple[np.ndarray, np.ndarray]:
    """How many training rows each class has, and which share of them their own sets cover; NaN without an estimate."""
    codes, covered = np.searchsorted(model.classes_, fitted(model).y), rule.covered_rows(model)
    weights = np.ones(len(codes)) if model.units_.are_rows else 1 / model.units_.sizes[model.units_.of_rows]
    n_labels = len(model.classes_)
    shares = np.bincount(codes, weights * covered, n_labels) / np.bincount(codes, weights, n_labels)
    shares[rule.without_estimate(model)] = np.nan
    return np.bincount(codes, minlength=n_labels), shares


def _warn_if_all_labels(rule: JackknifeSets, model: BaggedClassifier) -> None:
    """Warn about labels that are in every set, on behalf of the function that the user called."""
    n, noun, level = len(model.units_), model.units_.noun, f"level {float(rule.level):g}"
    if not rule.by_class:
        if (needed := rule.needed(n)) > n:
            text = f"The sets have all labels: {level} asks for {float(needed):g} of {n} training {noun.plural}."
            warnings.warn(f"{text} Use more {noun.plural}, or a lower level.", stacklevel=3)
        return
    weights, fewest = class_weights(model), float(rule.level / (1 - rule.level))
    few = np.flatnonzero(weights + 1e-9 < fewest)
    if not len(few):
        return
    named = [f"{model.classes_[k]!s} ({weights[k]:.3g} {_many(noun, weights[k])})" for k in few[:_FEW_CLASSES]]
    more = f" and {len(few) - _FEW_CLASSES:,} more" if len(few) > _FEW_CLASSES else ""
    head = f"Every set has the label{'s' if len(few) > 1 else ''} {', '.join(named)}{more}"
    if len(few) == len(weights):
        head = f"The sets have all labels, {', '.join(named)}{more}"
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
    """Warn about classes that are covered less often than is proved of all rows together, as the training rows tell."""
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
# The sets in which the scores of items lie, on whose radius the guarantees depend.

_NAMES = ("simplex", "box")
_ROUNDING = 1e-6


@dataclass(frozen=True)
class ScoreSet:
    """Where the scores of some items lie: a simplex, a box, or a ball.

    Parameters
    ----------
    within : {"simplex", "box"} or float
        "simplex": scores of at least 0 that add up to 1; "box": each in [0, 1]; a number: at most this far from the
        origin, where scores further away are pulled back to that distance.

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
                reason = "guarantees depend on where scores can be."
                raise refuse_value("within", "stable_ranking", "'simplex', 'box' or a radius", self.within, reason)
            object.__setattr__(self, "within", str(self.within))  # a text of numpy's own is none of Python's when shown
            return
        reason = "it is how far scores are from the origin at most. For importances that add up to 1 use 'simplex'."
        radius = check_real(self.within, "within", "stable_ranking", open_low=True, finite=True, reason=reason)
        object.__setattr__(self, "within", radius)

    def radius(self, n_items: int) -> float:
        """Return how far scores can be from the centre: sqrt(1 - 1 / L), sqrt(L) / 2, or the radius of the ball."""
        if self.within == "simplex":
            return bounds.simplex_radius(n_items)
        return math.sqrt(n_items) / 2 if self.within == "box" else float(self.within)

    def diameter(self, n_items: int) -> float:
        """Return the largest distance between two vectors of scores."""
        return min(math.sqrt(2.0), 2 * self.radius(n_items)) if self.within == "simplex" else 2 * self.radius(n_items)

    def centre(self, n_items: int) -> np.ndarray:
        """Return the centre, which is what a bag without rows has for scores: the same for all items."""
        value = {"simplex": 1 / n_items, "box": 0.5}.get(self.within, 0.0)
        return np.full(n_items, value)

    def held(self, scores: np.ndarray) -> np.ndarray:
        """Return scores as they are in the set; those outside of a simplex or a box are refused."""
        if self.within == "simplex":
            if not scores.any():  # such as the importances of a tree without a split
                return self.centre(len(scores))
            total = float(scores.sum())
            if scores.min() < -_ROUNDING or abs(total - 1) > _ROUNDING:
                raise ValueError(
                    f"Scores in a simplex are at least 0 and add up to 1. Got {_shown(scores)}, which add up to "
                    f"{total:g}. Divide them by their sum, or say where they are: within='box', or a radius."
                )
            scores = np.maximum(scores, 0.0)
            share: np.ndarray = scores / scores.sum()
            return share
        if self.within == "box":
            if scores.min() < 0 or scores.max() > 1:
                raise ValueError(
                    f"Scores in a box are between 0 and 1. Got {_shown(scores)}. Scale them by what is known before "
                    "any data is seen, or give the radius of a ball: within=2.0."
                )
            return scores
        largest = float(np.abs(scores).max()) or 1.0  # the unit, so that no square is too large or too small
        length = float(np.linalg.norm(scores / largest))
        return scores if length * largest <= self.within else scores / largest * (self.within / length)

    def __str__(self) -> str:
        words = {"simplex": "scores that add up to 1", "box": "scores between 0 and 1"}
        return words.get(self.within, f"scores within {self.within} of the origin")


def _shown(scores: np.ndarray) -> str:
    return np.array2string(scores, precision=4, threshold=5, edgeitems=2)
