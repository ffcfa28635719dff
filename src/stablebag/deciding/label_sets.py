"""Sets of labels in place of one: stable under leaving out a row, or with a guarantee of coverage."""

import html
import math
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import binom

from stablebag._checks import check_choice, check_flag, hold_read_only, refuse_value
from stablebag._wording import ROWS, paragraphs, percent, preformatted
from stablebag.deciding.inflated_argmax import INFLATED
from stablebag.deciding.jackknife import check_level
from stablebag.deciding.jackknife_sets import JackknifeSets, class_weights
from stablebag.deciding.promise import as_given
from stablebag.deciding.stable_sets import SharedLabels
from stablebag.learning.bagged_models import check_bagged
from stablebag.learning.classifier import BaggedClassifier
from stablebag.learning.predictions import BagPredictions
from stablebag.learning.rows import as_column, n_rows

METHODS = (*INFLATED, "jackknife+")
_ONCE = 2**24  # predictions of single bags that are kept rather than made twice
_SHOWN = 10
_FEW_CLASSES = 5  # that are listed one by one
_CHANCE = 0.01  # of so few covered rows of a class whose coverage is the proved one


@dataclass(frozen=True, eq=False)
class LabelSets:
    """Sets of labels at some points, and what is proved about them.

    Made by `predict_set`.

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
    >>> from stablebag import LabelSets
    >>> members = np.array([[True, False, False], [True, True, False]])
    >>> prediction = np.array([[0.8, 0.1, 0.1], [0.4, 0.39, 0.21]])
    >>> sets = LabelSets(members, np.array(["cat", "dog", "hen"]), prediction, "margin", "none")
    >>> sets.sizes, sets.contains(["cat", "hen"]), sets.singletons, sets.correct_singletons(["cat", "cat"])
    (array([1, 2]), array([ True, False]), 0.5, 0.5)
    >>> sets.coverage_by_class(["cat", "hen"])
    {'cat': 1.0, 'hen': 0.0}
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
            sentences.append(self._about_classes())
        return paragraphs(sentences)

    def _about_classes(self) -> str:
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

    def __str__(self) -> str:
        return self.explain()

    def _repr_html_(self) -> str:
        """For notebooks: what is proved, and the first sets."""
        names = range(len(self)) if self.index is None else self.index
        lines = list(zip(names, self.to_list()[:_SHOWN], strict=False))
        cells = "".join(f"<tr><th>{_text(name)}</th><td>{_text(*some)}</td></tr>" for name, some in lines)
        more = f"<p>and {len(self) - _SHOWN:,} more</p>" if len(self) > _SHOWN else ""
        head = "<tr><th>point</th><th>labels</th></tr>"
        return f"{preformatted(self.explain())}<table>{head}{cells}</table>{more}"

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
    training rows, the set without the row has a label in common with this one. The sets that are compared are made with
    the same epsilon, one point at a time. What "without the row" means depends on the certificate: with
    `certify_reused`, the average over the fitted bags that do not contain it, which `selection_stability` measures;
    with `certify`, a model fitted anew. A class that is gone without a row has probability zero there.

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
    method : {"inflated-argmax", "margin", "jackknife+"}, default="inflated-argmax"
        "inflated-argmax": the smallest sets that are known to be stable. "margin": all labels less than
        epsilon / sqrt(2) behind the likeliest, a simpler rule with the same guarantee and larger sets. "jackknife+":
        sets with coverage.
    epsilon : float or None, default=None
        The distance between vectors of probabilities up to which sets share a label. None takes the smallest for which
        the certificate proves the share `delta`, which may differ between points. If it is given, the share follows
        from the certificate.
    delta : float, default=0.05
        The share of the training rows without which sets may be disjoint. Not used if epsilon is given.
    certificate : VectorCertificate, PointCertificate, ReusedBagsCertificate or None, default=None
        What is proved about the probabilities, made with ``vector=True``: by ``certify(model)`` of refits, for all data
        sets and points; by ``certify(model, X)`` of refits at these points; by ``certify_reused(model)`` of the bags as
        they were drawn. None is ``certify_reused(model, X)``, which holds for certain, and at each point is the
        sharpest of what is proved about the bags as they were drawn.
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
    points = asked_once(model, X, owner)
    index = model.index_of(points)
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
        _warn_if_everything(rule, model)
        if not by_class:
            _warn_if_hidden(rule, model, sizes, shares)
        about = {"confidence_level": float(level), "index": index, "training_rows": sizes, "training_coverage": shares}
        return LabelSets(members, model.classes_, prediction, method, rule.guarantee(model), **about)
    shared = SharedLabels.of(model, points, epsilon, delta, certificate, owner)
    prediction = np.concatenate([model.average_.prediction([raw]) for _, raw in model.raw_blocks(points)])
    members = INFLATED[method](prediction, shared.epsilon)
    about = {"epsilon": shared.epsilon, "delta": shared.delta, "index": index}
    return LabelSets(members, model.classes_, prediction, method, shared.words, **about)


def asked_once(model: Any, X: Any, owner: str) -> Any:
    """Return what the bags predict at the points, if that is small enough to be kept; else the points themselves."""
    reason = "regressors have intervals: use predict_interval."
    check_bagged(model, owner, kind=BaggedClassifier, reason=reason)
    if isinstance(X, BagPredictions) or not model.has_single_bags:
        return X
    size = len(model.bags_) * len(model.classes_) * n_rows(model.checked_points(X))
    return model.predict_once(X) if size <= _ONCE else X


def _are_texts(labels: np.ndarray) -> bool:
    return all(isinstance(label, str | bytes) for label in labels.tolist())


def _of_training_rows(rule: JackknifeSets, model: BaggedClassifier) -> tuple[np.ndarray, np.ndarray]:
    """How many training rows each class has, and which share of them their own sets cover; NaN without an estimate."""
    codes, covered = np.searchsorted(model.classes_, model.y_), rule.covered_rows(model)
    weights = np.ones(len(codes)) if model.units_.are_rows else 1 / model.units_.sizes[model.units_.of_rows]
    n_labels = len(model.classes_)
    shares = np.bincount(codes, weights * covered, n_labels) / np.bincount(codes, weights, n_labels)
    shares[rule.without_estimate(model)] = np.nan
    return np.bincount(codes, minlength=n_labels), shares


def _warn_if_everything(rule: JackknifeSets, model: BaggedClassifier) -> None:
    """Warn about labels that are in every set, on behalf of the function that the user called."""
    n, noun, level = len(model.units_), model.units_.noun, f"level {float(rule.level):g}"
    if not rule.by_class:
        if (needed := rule.needed(n)) > n:
            text = f"The sets have all labels: {level} asks for {float(needed):g} of {n} training rows."
            warnings.warn(noun.in_place_of_rows(f"{text} Use more rows, or a lower level."), stacklevel=3)
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


def _text(*values: Any) -> str:
    return html.escape(", ".join(map(str, values)))
