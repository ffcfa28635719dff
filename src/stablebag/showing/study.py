"""A study: a learner beside its bagged version on one table, with what is measured, proved and held out."""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.metrics import accuracy_score, log_loss, mean_absolute_error, root_mean_squared_error

from stablebag._checks import check_integer, refuse_value
from stablebag._seeds import Seeds
from stablebag._wording import ROWS, Noun
from stablebag.deciding.intervals import Intervals, predict_interval
from stablebag.learning.classifier import BaggedClassifier
from stablebag.learning.ensemble import units_of
from stablebag.learning.learners import Copies
from stablebag.learning.progress import counted
from stablebag.learning.regressor import BaggedRegressor
from stablebag.learning.rows import n_rows
from stablebag.measuring.errors import LeaveOneOutError, leave_one_out_error
from stablebag.measuring.leave_one_out import leave_one_out
from stablebag.measuring.perturbations import Perturbations
from stablebag.measuring.refits import leave_one_out_refit
from stablebag.proving.certify import certify, certify_reused
from stablebag.proving.protocol import StabilityCertificate
from stablebag.proving.scope import Quantity, refuse_mismatch
from stablebag.resampling.schemes import Scheme
from stablebag.resampling.subbagging import Subbagging
from stablebag.showing.decisions import Decisions

_MOST_KEPT = 2**30  # the most bytes of predictions of all bags at all held-out rows that are kept


@dataclass(frozen=True, eq=False)
class Study:
    """What was measured and proved about a learner and its bagged version.

    Made by `study`. Perturbations of a classifier are Euclidean distances between the vectors of class probabilities,
    which are at most sqrt(2); in sentences there are decisions, and changes of the probability of a class.

    Attributes
    ----------
    task : {"regression", "classification"}
        The kind of task.
    n_samples : int
        The number of what is left out, one at a time: training rows, or units such as patients.
    model : BaggedRegressor, BaggedClassifier or None
        The fitted bagged model, if it is available.
    base : Perturbations or None
        The perturbations of the base learner, by refitting without each of some rows or units, if they were measured.
    bagged : Perturbations
        The perturbations of the bagged model, for all rows or units.
    proved : ReusedBagsCertificate, or another certificate that is about what was measured
        What is proved about these perturbations, for the bags that were drawn and at these points.
    anew : Certificate, VectorCertificate or None
        What is proved about models fitted anew, with bags drawn anew: for every data set of this size and every point.
    scores : dict of str to (float, float)
        The scores on the held-out rows, before and after bagging; empty if their targets are not known.
    error : LeaveOneOutError or None
        The bagged model's error at its own training rows, each left out.
    intervals : Intervals or None
        For a regressor, prediction intervals at the points at which perturbations were measured.
    points : array or DataFrame
        The points at which perturbations were measured.
    targets : ndarray or None
        The targets of the points.
    coverage : float or None
        The share of held-out rows in their intervals.
    decisions : Decisions or None, default=None
        For a classifier, how many decisions hinge on one row: of the study's held-out rows, or of the points.
    largest_class : tuple of Perturbations, default=()
        For a classifier, how far the probability of the class that moves most does: bagged, then of the base learner.
    """

    task: str
    n_samples: int
    model: Any
    base: Perturbations | None
    bagged: Perturbations
    proved: StabilityCertificate
    anew: StabilityCertificate | None
    scores: dict[str, tuple[float, float]]
    error: LeaveOneOutError | None
    intervals: Intervals | None
    points: Any
    targets: np.ndarray | None
    coverage: float | None
    decisions: Decisions | None = None
    largest_class: tuple[Perturbations, ...] = ()

    @classmethod
    def of(
        cls,
        bagged: Perturbations,
        proved: StabilityCertificate,
        *,
        anew: StabilityCertificate | None = None,
        base: Perturbations | None = None,
        model: Any = None,
        intervals: Intervals | None = None,
        targets: Any = None,
    ) -> "Study":
        """Build a study from existing objects.

        Parameters
        ----------
        bagged : Perturbations
            The perturbations of the bagged model, as `leave_one_out` measures them.
        proved : certificate
            What is proved about these perturbations, as `certify_reused` does about `leave_one_out`; for a classifier,
            with ``vector=True``. A certificate that is about something else is refused.
        anew : Certificate, VectorCertificate or None, default=None
            What is proved about models fitted anew, as `certify` states it.
        base : Perturbations or None, default=None
            The perturbations of the base learner, at the same points.
        model : BaggedRegressor, BaggedClassifier or None, default=None
            The fitted model, for its targets and its error.
        intervals : Intervals or None, default=None
            Prediction intervals at these points.
        targets : array-like or None, default=None
            The targets of the points.

        Returns
        -------
        Study
        """
        of_classes: dict[str, Any] = {}
        if bagged.prediction.ndim == 2:
            of_classes = {
                "decisions": Decisions.of_perturbations(bagged, base),
                "largest_class": _largest_class(bagged, base),
            }
            bagged, base = bagged.in_norm(), None if base is None else base.in_norm()
        refuse_mismatch(bagged.scope, proved.scope, "Study.of")
        _refuse_other_units(bagged, base=base, anew=anew, model=model)
        vector = proved.scope.quantity is Quantity.VECTOR
        known = None if targets is None else np.asarray(targets)
        covered = None if intervals is None or known is None else intervals.coverage(known)
        error = None if model is None else leave_one_out_error(model, None if vector else "absolute")
        task = "classification" if vector else "regression"
        parts = {"intervals": intervals, "points": None, "targets": known, "coverage": covered, **of_classes}
        return cls(task, len(bagged.rows), model, base, bagged, proved, anew, {}, error, **parts)

    @property
    def noun(self) -> Noun:
        """What is left out: rows, or units such as patients."""
        return self.bagged.noun

    @property
    def distance(self) -> str:
        """What the perturbations are, for the heading of a table."""
        if self.task == "regression":
            return "the prediction"
        return "the probabilities, as the distance between vectors of all classes (at most 1.41)"

    def comparison(self, delta: float = 0.05) -> list[tuple[str, float, float, float]]:
        """Return the lines of a table: what, for the base learner, for the bagged one, and proved for the bagged one.

        Parameters
        ----------
        delta : float, default=0.05
            A share of the training rows, or units, in [0, 1]: those whose perturbations may be larger.

        Returns
        -------
        list of tuples
            Averages over the points; NaN if nothing is proved.
        """
        proved = self.proved
        bounds = (np.mean(proved.mean()), np.mean(proved.epsilon(delta)), proved.worst_case())
        # That no prediction leaves its range is known without any proof.
        known = proved.range_length * (1 - 1e-9)  # means of the length itself are rounded
        mean, most, worst = (float(bound) if bound < known else math.nan for bound in bounds)
        many = self.noun.plural
        return [
            (f"mean over {many}", *self._both("mean"), mean),
            (f"{1 - delta:.0%} of the {many} below", *self._both("epsilon", delta), most),
            ("largest", *self._both("max"), worst),
            ("root mean square, without the bags' noise", self._of_base("norm", 2),
             float(self.bagged.debiased_rms("mean")), math.nan),
        ]  # fmt: skip

    def verdict(self, delta: float = 0.05) -> str:
        """Say in sentences what leaving out one row, or unit, does: to decisions, if there are any, and to predictions.

        Parameters
        ----------
        delta : float, default=0.05
            A share of the training rows, or units, in [0, 1]: those whose perturbations may be larger.

        Returns
        -------
        str
        """
        of = "prediction" if self.task == "regression" else "vector of class probabilities"
        moved: list[Perturbations] = [self.bagged, *([] if self.base is None else [self.base])]
        if self.largest_class:
            of, moved = "probability of any class", list(self.largest_class)
        (after, worst), *befores = [(float(np.mean(one.epsilon(delta))), float(np.max(one.max()))) for one in moved]
        beside, many = "", self.noun.plural
        for before, worst_before in befores:
            n_base = len(moved[1].rows)
            some = "" if n_base == self.n_samples else f", by {n_base:,} of the {many}"
            beside = f" For the base learner these are {before:.3g} and {worst_before:.3g}{some}."
        decided = "" if self.decisions is None else f"{self.decisions.explain()} "
        return (
            f"{decided}{self._leaving_one_out} moves the bagged {of} by at most {after:.3g} for {1 - delta:.0%} of the "
            f"{self.n_samples:,} {many}, on average over the test points; the largest move of all is {worst:.3g}."
            f"{beside}"
        )

    def most_influential(self, k: int = 5) -> tuple[np.ndarray, np.ndarray]:
        """Return what moves the bagged predictions most over all points, and the root mean square effects.

        Parameters
        ----------
        k : int, default=5
            The number of rows, or units; all of them if there are fewer.

        Returns
        -------
        rows : ndarray of shape (k,)
            What these rows, or units, are called, as `Perturbations.most_influential` calls them.
        effects : ndarray of shape (k,)
        """
        places, effects = self.ranked(k)
        return self.bagged.names.of_rows(places), effects

    def ranked(self, k: int = 5) -> tuple[np.ndarray, np.ndarray]:
        """Return the same as `most_influential` with the numbers of the rows, or units, in place of their names.

        Parameters
        ----------
        k : int, default=5
            The number of rows, or units; all of them if there are fewer.

        Returns
        -------
        numbers : ndarray of shape (k,)
        effects : ndarray of shape (k,)
        """
        total = self.bagged.row_norms()
        order = np.argsort(-total, kind="stable")[:k]
        return self.bagged.rows[order], total[order]

    @property
    def _leaving_one_out(self) -> str:
        if self.noun == ROWS:
            return "Leaving out a training row"
        return f"Leaving out all rows of {self.noun.any_one}"

    def _both(self, name: str, *arguments: Any) -> tuple[float, float]:
        return self._of_base(name, *arguments), float(np.mean(getattr(self.bagged, name)(*arguments)))

    def _of_base(self, name: str, *arguments: Any) -> float:
        return math.nan if self.base is None else float(np.mean(getattr(self.base, name)(*arguments)))


def study(
    learner: Any,
    X: Any,
    y: Any,
    X_test: Any,
    y_test: Any = None,
    *,
    groups: Any = None,
    scheme: Scheme = Subbagging(0.5),  # noqa: B008 (frozen)
    n_bags: int = 500,
    n_points: int = 20,
    n_refits: int = 200,
    confidence_level: float = 0.9,
    n_jobs: int | None = None,
    random_state: int = 0,
) -> Study:
    """Measure a learner and its bagged version on the same rows and points.

    Parameters
    ----------
    learner : estimator
        A scikit-learn regressor or classifier.
    X : array or DataFrame of shape (n_samples, n_features)
        The training rows.
    y : array-like of shape (n_samples,)
        The targets of the training rows.
    X_test : like X
        Held-out rows.
    y_test : array-like or None, default=None
        The targets of the held-out rows, if they are known.
    groups : sequence of int or labels, of length n_samples, default=None
        The unit of each training row, such as its patient, as in `fit` of a bagged model: everything is then about
        leaving out a unit. Hold out whole units, or the scores are better than at rows of new units.
    scheme : ResamplingScheme or {"subbagging", "bernoulli", "classical", "poissonized"}, default=Subbagging(0.5)
        How bags are drawn.
    n_bags : int, default=500
        The number of bags.
    n_points : int, default=20
        The number of held-out rows, the first ones, at which perturbations are measured.
    n_refits : int, default=200
        The number of training rows, or units, without which the base learner is refitted; drawn at random if there are
        more.
    confidence_level : float, default=0.9
        The level of the prediction intervals, between 0 and 1.
    n_jobs : int or None, default=None
        The number of fits in parallel.
    random_state : int, default=0
        The seed of everything.

    Returns
    -------
    Study

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> from stablebag.showing.study import study
    >>> X, y = load_diabetes(return_X_y=True)
    >>> result = study(DecisionTreeRegressor(), X[:300], y[:300], X[300:], y[300:], n_bags=100, n_refits=20)
    >>> result.verdict()[:58]
    'Leaving out a training row moves the bagged prediction by '
    """
    owner = "study"
    n_points = check_integer(n_points, "n_points", owner, minimum=1)
    n_refits = check_integer(n_refits, "n_refits", owner, minimum=1)
    classifies = is_classifier(learner)
    maker = BaggedClassifier if classifies else BaggedRegressor
    n_units = n_rows(X) if groups is None else len(units_of(X, n_rows(X), None, groups, owner))
    rows = _chosen_rows(n_units, n_refits, random_state)
    model = maker(learner, scheme=scheme, n_bags=n_bags, n_jobs=n_jobs, random_state=random_state)
    points = X_test[:n_points]
    with counted(n_bags + len(rows) + 1) as count:
        with count.part():
            model.fit(X, y, groups=groups)
        with count.part():
            options = {"rows": rows, "groups": groups, "n_jobs": n_jobs, "random_state": random_state}
            base = leave_one_out_refit(learner, X, y, points, **options)
    at_tests, at_points = _predicted_once(model, X_test, n_points)
    bagged = leave_one_out(model, at_points)
    targets = None if y_test is None else np.asarray(y_test)
    intervals = coverage = None
    of_classes: dict[str, Any] = {}
    if classifies:
        of_classes = {
            "decisions": Decisions.of_model(model, at_tests, base),
            "largest_class": _largest_class(bagged, base),
        }
        base, bagged = base.in_norm(), bagged.in_norm()
    else:
        everywhere = predict_interval(model, at_tests, confidence_level=confidence_level)
        coverage = None if targets is None else everywhere.coverage(targets)
        ends = {name: getattr(everywhere, name)[:n_points] for name in ("lower", "upper", "prediction")}
        index = None if everywhere.index is None else everywhere.index[:n_points]
        intervals = replace(everywhere, **ends, index=index)
    return Study(
        task="classification" if classifies else "regression",
        n_samples=n_units,
        model=model,
        base=base,
        bagged=bagged,
        proved=certify_reused(model, at_points, vector=classifies),
        anew=certify(model, vector=classifies),
        scores={}
        if targets is None
        else _scores(_alone(learner, X, y, random_state), model, at_tests, X_test, targets),
        error=leave_one_out_error(model, None if classifies else "absolute"),
        intervals=intervals,
        points=points,
        targets=None if targets is None else targets[:n_points],
        coverage=coverage,
        **of_classes,
    )


def _largest_class(*moved: Perturbations | None) -> tuple[Perturbations, ...]:
    """How far each row moves the probability of the class that it moves most, in place of one number per class."""
    return tuple(
        Perturbations(np.zeros(len(one.prediction)), one.values.max(axis=-1), one.rows)
        for one in moved
        if one is not None
    )


def _predicted_once(model: Any, X_test: Any, n_points: int) -> tuple[Any, Any]:
    """What all bags predict at the held-out rows and at the first of them; the rows themselves if that is too large."""
    classes = 1 if model.average_.classes is None else len(model.average_.classes)
    if 8 * len(model.bags_) * len(X_test) * classes > _MOST_KEPT:
        return X_test, X_test[:n_points]
    at_tests = model.predict_once(X_test)
    return at_tests, at_tests[:n_points]


def _chosen_rows(n_samples: int, n_refits: int, random_state: int) -> np.ndarray:
    if n_refits >= n_samples:
        return np.arange(n_samples)
    generator = next(Seeds.from_random_state(random_state, "study").bag_generators(0, 1))
    return np.sort(generator.choice(n_samples, n_refits, replace=False))


def _alone(learner: Any, X: Any, y: Any, random_state: int) -> Any:
    """The learner fitted to all rows, with the seed that it has in the refits without a row."""
    (seed,) = Seeds.from_random_state(random_state, "study").learner_seeds(0, 1)
    alone = Copies(learner).copy(int(seed))
    alone.fit(X, y)
    return alone


def _scores(alone: Any, model: Any, at_tests: Any, X_test: Any, y_test: np.ndarray) -> dict[str, tuple[float, float]]:
    """Scores on the held-out rows, of the learner alone and of its bagged version."""
    averages = [model.average_.prediction([raw]) for _, raw in model.raw_blocks(at_tests)]
    averaged = np.concatenate(averages)
    if averaged.ndim == 1:
        unit = float(np.abs(y_test).max(initial=0.0)) or 1.0  # a unit whose squares stay floats
        both = [np.asarray(predicted, dtype=float) / unit for predicted in (alone.predict(X_test), averaged)]
        errors = {"mean absolute error": mean_absolute_error, "root mean squared error": root_mean_squared_error}
        return {
            name: (unit * error(y_test / unit, both[0]), unit * error(y_test / unit, both[1]))
            for name, error in errors.items()
        }
    labels = model.classes_
    decided = labels[averaged.argmax(axis=1)]
    scores = {"accuracy": (accuracy_score(y_test, alone.predict(X_test)), accuracy_score(y_test, decided))}
    if hasattr(alone, "predict_proba") and set(np.unique(y_test)) <= set(labels):
        losses = [log_loss(y_test, table, labels=labels) for table in (alone.predict_proba(X_test), averaged)]
        scores["log loss"] = (losses[0], losses[1])
    return scores


def _refuse_other_units(bagged: Perturbations, **others: Any) -> None:
    """Refuse what is about other rows or units than the perturbations of the bagged model."""
    if bagged.scope is None:
        return
    own = (bagged.noun, bagged.scope.n_samples, bagged.scope.grouping)
    for name, other in others.items():
        units, scope = getattr(other, "units_", None), getattr(other, "scope", None)
        if units is not None:
            theirs = (units.noun, len(units), units.fingerprint)
        elif scope is not None:
            theirs = (scope.noun, scope.n_samples, scope.grouping)
        else:
            continue
        if theirs[:2] != own[:2] or (None not in (theirs[2], own[2]) and theirs[2] != own[2]):
            expected, got = f"about the same {own[0].count(own[1])}", theirs[0].count(theirs[1])
            raise refuse_value(name, "Study.of", expected, got, "measure and prove with the same groups.")
