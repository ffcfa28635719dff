"""A study: a learner beside its bagged version on one table, with what is measured, proved and held out."""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from stablebag._checks import check_integer, check_jobs, refuse_type, refuse_value
from stablebag._seeds import Seeds
from stablebag._wording import Noun
from stablebag.deciding.intervals import Intervals, predict_interval
from stablebag.learning.classifier import BaggedClassifier
from stablebag.learning.ensemble import units_of
from stablebag.learning.learners import Copies
from stablebag.learning.progress import counted, step
from stablebag.learning.regressor import BaggedRegressor
from stablebag.learning.rows import n_rows
from stablebag.learning.sources.source import RowSource
from stablebag.learning.targets import are_several, one_column
from stablebag.measuring.errors import LeaveOneOutError, leave_one_out_error
from stablebag.measuring.leave_one_out import leave_one_out
from stablebag.measuring.perturbations import Perturbations
from stablebag.measuring.refits import leave_one_out_refit, may_refit_without, refit_without_each, spread_of_a_few
from stablebag.measuring.suspects import Suspects, suspects
from stablebag.proving.certify import certify, certify_reused
from stablebag.proving.protocol import StabilityCertificate
from stablebag.proving.scope import Quantity, refuse_mismatch
from stablebag.resampling.schemes import Scheme
from stablebag.resampling.subbagging import Subbagging
from stablebag.resampling.units import numbered_groups
from stablebag.showing.comparison import Comparison, Line, at_first, bagged_by, of_rows
from stablebag.showing.decisions import Decisions
from stablebag.showing.proofs import Proof, proofs
from stablebag.showing.samples import chosen_units, n_points_compared, of_source, rows_to_refit
from stablebag.showing.scores import Covered, HeldOut, Loss, Ranking, Score, checked_metric
from stablebag.showing.verdict import NO_BETTER, Verdict, decide

_MOST_KEPT = 2**30  # the most bytes of predictions of all bags at all held-out rows that are kept
_MOST_ROWS = 10_000  # the most rows of a source at which all bags predict, and that are left out where some are enough
_MATCHED = 20  # rows without which the bagged model is refitted
_NOT_IN_MEMORY = (
    "It is not compared with the base model alone, which would have to be fitted to all {:,} rows at once, and they "
    "are not in memory."
)


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
        The perturbations of the base learner, by refitting without each of some rows or units, if they were measured;
        None if the rows are not in memory.
    bagged : Perturbations
        The perturbations of the bagged model, for all rows or units.
    proved : ReusedBagsCertificate, or another certificate that is about what was measured
        What is proved about these perturbations, for the bags that were drawn and at these points.
    anew : Certificate, VectorCertificate or None
        What is proved about models fitted anew, with bags drawn anew: for every data set of this size and every point.
    compared : Comparison
        How far both change without the same rows, or units, at the same points: at as many held-out rows as memory and
        time allow.
    scores : tuple of Score
        The scores on the held-out rows, before and after bagging and of a constant; empty if their targets are not
        known.
    losses : tuple of Loss
        The losses at the held-out rows by which the verdict compares them.
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
        For a classifier, how many decisions hinge on one row: at the points of `compared`.
    suspects : Suspects or None, default=None
        The rows, or units, that move the predictions beyond bagging noise, and a ranking of those worth a look.
    refitted : Perturbations or None, default=None
        The perturbations of the bagged model by some rows, or units, without which it was refitted with the same seed,
        if they were measured; ``compared.weights`` says how many others each stands for.
    ranking : Ranking or None, default=None
        How well the bagged model ranks the held-out rows, by which the verdict compares it with a constant.
    """

    task: str
    n_samples: int
    model: Any
    base: Perturbations | None
    bagged: Perturbations
    proved: StabilityCertificate
    anew: StabilityCertificate | None
    compared: Comparison
    scores: tuple[Score, ...]
    losses: tuple[Loss, ...]
    error: LeaveOneOutError | None
    intervals: Intervals | None
    points: Any
    targets: np.ndarray | None
    coverage: float | None
    decisions: Decisions | None = None
    suspects: Suspects | None = None
    refitted: Perturbations | None = None
    ranking: Ranking | None = None

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
            of_classes = {"decisions": Decisions.of_perturbations(bagged, base)}
            bagged, base = bagged.in_norm(), None if base is None else base.in_norm()
        refuse_mismatch(bagged.scope, proved.scope, "Study.of")
        _refuse_other_units(bagged, base=base, anew=anew, model=model)
        vector = proved.scope.quantity is Quantity.VECTOR
        known = None if targets is None else np.asarray(targets)
        covered = None if intervals is None or known is None else intervals.coverage(known)
        error = None if model is None else leave_one_out_error(model, None if vector else "absolute")
        task = "classification" if vector else "regression"
        parts = {"intervals": intervals, "points": None, "targets": known, "coverage": covered, **of_classes}
        compared = Comparison.of(base, bagged)
        return cls(task, len(bagged.rows), model, base, bagged, proved, anew, compared, (), (), error, **parts)

    @property
    def noun(self) -> Noun:
        """What is left out: rows, or units such as patients."""
        return self.bagged.noun

    @property
    def distance(self) -> str:
        """What the perturbations are, for the heading of a table."""
        if self.task == "regression":
            return "the prediction"
        return "the class probabilities (distance between vectors, at most 1.41)"

    def comparison(self, delta: float = 0.05) -> list[Line]:
        """Return the lines of the table of changes: of the base model and of the bagged model, without the same rows.

        Parameters
        ----------
        delta : float, default=0.05
            A share of all changes, in [0, 1]: those that may be larger.

        Returns
        -------
        list of Line
            All are over rows, or units, and points together.
        """
        return self.compared.lines(delta)

    def proofs(self, delta: float = 0.05) -> list[Proof]:
        """Return the lines of the table of what is proved, beside what is measured of the same thing.

        Parameters
        ----------
        delta : float, default=0.05
            A share of the training rows, or units, in [0, 1]: those whose perturbations may be larger.

        Returns
        -------
        list of Proof
            All are at the worst of the points.
        """
        return proofs(self.bagged, self.proved, self.anew, self.refitted, delta, self.compared.weights)

    def verdict(self) -> Verdict:
        """Decide what the study comes to, with advice; for a classifier, decisions are the first reason."""
        quantity = "predictions" if self.task == "regression" else "class probabilities"
        options = {"spread": self._spread, "quantity": quantity, "covered": self._covered}
        verdict = decide(self.compared, self.losses, self.ranking, **options)  # type: ignore[arg-type]
        if self.decisions is None:
            return verdict
        advice = " ".join(filter(None, [verdict.advice, "" if verdict.case == NO_BETTER else self.decisions.advice()]))
        return replace(verdict, advice=advice, reasons=(self.decisions.explain(), *verdict.reasons))

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
        return np.asarray(self.bagged.rows)[order], total[order]

    @property
    def _covered(self) -> Covered | None:
        """How many of the held-out targets are in their intervals, if that is known."""
        if self.coverage is None or self.intervals is None:
            return None
        n, groups = len(self.intervals), None
        if self.losses:
            n, groups = len(self.losses[0].bagged), self.losses[0].groups
        n_units = n if groups is None else len(np.unique(groups))
        return Covered(self.coverage, n, n_units, self.intervals.confidence_level, self.n_samples)

    @property
    def _spread(self) -> float | None:
        """The standard deviation of the targets; of classes, that of the vectors with a one for the class."""
        if self.model is None:
            return None
        if self.task == "regression":
            y = np.asarray(self.model.y_, dtype=float)
            unit = float(np.abs(y).max(initial=0.0)) or 1.0
            return unit * float((y / unit).std())
        shares = np.unique(self.model.y_, return_counts=True)[1] / len(self.model.y_)
        return math.sqrt(1 - float((shares**2).sum()))


def study(
    learner: Any,
    X: Any,
    y: Any = None,
    X_test: Any = None,
    y_test: Any = None,
    *,
    groups: Any = None,
    groups_test: Any = None,
    scheme: Scheme = Subbagging(0.5),  # noqa: B008 (frozen)
    n_bags: int = 500,
    n_points: int = 20,
    n_refits: int = 200,
    n_matched: int | None = None,
    metrics: tuple[str, ...] = (),
    confidence_level: float = 0.9,
    n_jobs: int | None = None,
    random_state: int = 0,
) -> Study:
    """Measure a learner and its bagged version on the same rows and points.

    If the training rows are not in memory, as those of a `ParquetTable`, the base learner cannot be fitted to all of
    them, and is left out: the study is then of the bagged model alone. What takes predictions of all bags at training
    rows, its leave-one-out error and the rows that are worth a look, is then of 10,000 rows drawn at random, if there
    are more, and there are no intervals. What is proved, and how far rows move the points, is still of all rows.

    Parameters
    ----------
    learner : estimator
        A scikit-learn regressor or classifier.
    X : array or DataFrame of shape (n_samples, n_features), or RowSource
        The training rows.
    y : array-like of shape (n_samples,), default=None
        The targets of the training rows; left out with a source, which has them.
    X_test : array or DataFrame of shape (n_points, n_features), default=None
        Held-out rows. They have to be given, and must not be among the training rows.
    y_test : array-like or None, default=None
        The targets of the held-out rows, if they are known.
    groups : sequence of int or labels, of length n_samples, default=None
        The unit of each training row, such as its patient, as in `fit` of a bagged model: everything is then about
        leaving out a unit. Hold out whole units, or the scores are better than at rows of new units.
    groups_test : sequence of int or labels, of the length of X_test, default=None
        The unit of each held-out row. Rows of one unit are not independent: accuracy is then compared by unit. It can
        be given without `groups`, for example for held-out rows that are alike within a week.
    scheme : ResamplingScheme or {"subbagging", "bernoulli", "classical", "poissonized"}, default=Subbagging(0.5)
        How bags are drawn.
    n_bags : int, default=500
        The number of bags.
    n_points : int, default=20
        The number of held-out rows, the first ones, at which perturbations are measured.
    n_refits : int, default=200
        The number of training rows, or units, without which the base learner is refitted; drawn at random if there are
        more.
    n_matched : int or None, default=None
        The number of these rows, or units, without which the bagged model is refitted, too, with the same seed: half of
        them those that seem to change it most, the others drawn at random. Each takes as many fits as bags contain it.
        With fewer than `n_refits`, how far the model changes without all of them is estimated; 0 takes one refitted bag
        for each row. A classifier is also refitted without at most half as many rows that seem to flip decisions. None
        is 20 if the rows are in memory.
    metrics : tuple of str, default=()
        The scores to show, by the names of scikit-learn's scorers; () are those that fit the task.
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
    >>> result.verdict().case
    'stabilized'
    """
    owner = "study"
    check_jobs(n_jobs, owner)
    if y is not None and are_several(y):
        one_column(y, owner, "study one column at a time.")
    n_points = check_integer(n_points, "n_points", owner, minimum=1)
    n_refits = check_integer(n_refits, "n_refits", owner, minimum=1)
    if n_matched is not None:
        n_matched = check_integer(n_matched, "n_matched", owner, minimum=0)
    metrics = tuple(map(checked_metric, metrics))
    classifies = is_classifier(learner)
    maker = BaggedClassifier if classifies else BaggedRegressor
    in_memory, looked_at = not isinstance(X, RowSource), None
    if X_test is None or isinstance(X_test, RowSource):
        reason = "they are predicted by all bags. Give some: X_test=table.take(rows)."
        raise refuse_type("X_test", owner, "held-out rows in memory", X_test, reason)
    if groups_test is not None:
        groups_test = numbered_groups(groups_test, n_rows(X_test), owner, "groups_test")[1]
    if not in_memory:
        y, groups = of_source(X, y, groups, n_matched)
        looked_at = chosen_units(n_rows(X), _MOST_ROWS, random_state) if n_rows(X) > _MOST_ROWS else None
    n_units = n_rows(X) if groups is None else len(units_of(X, n_rows(X), None, groups, owner))
    rows = chosen_units(n_units, n_refits if in_memory else _MOST_ROWS, random_state)
    averaged = n_units if in_memory else len(rows)
    classes = len(np.unique(y)) if classifies else 1
    n_compared = n_points_compared(n_points, n_rows(X_test), averaged, len(rows), classes, n_bags)
    model = maker(learner, scheme=scheme, n_bags=n_bags, n_jobs=n_jobs, random_state=random_state)
    points, options = X_test[:n_points], {"groups": groups, "n_jobs": n_jobs, "random_state": random_state}
    n_matched = min(_MATCHED if n_matched is None else n_matched, len(rows)) if in_memory else 0
    base = decisions = None
    refits = _Refits()
    with counted(n_bags + (len(rows) + 1 if in_memory else 0) + n_matched + (n_matched + 1) // 2 * classifies) as count:
        with count.part():
            model.fit(X, y if in_memory else None, groups=groups if in_memory else None)
        if in_memory:
            with count.part():
                base = leave_one_out_refit(learner, X, y, X_test[:n_compared], rows=rows, **options)
        step(f"Predicting {len(X_test):,} held-out rows")
        at_tests, at_points, to_compare = _predicted_once(model, X_test, n_points, n_compared)
        same = bagged_by(model, to_compare, rows) if in_memory else leave_one_out(model, to_compare, rows=rows)
        if classifies:
            decisions = Decisions.suggested_by(model, to_compare)
        if base is not None:
            if n_matched:
                step(f"Refitting the bagged model without {model.units_.noun.count(n_matched)}")
            with count.part():
                refits = _Refits.of(model, X_test[:n_compared], to_compare, same, decisions, n_matched, random_state)
        count.reach(count.total)
    step(f"Leaving out each of {model.units_.noun.count(n_units)}")
    bagged = leave_one_out(model, at_points)
    targets = None if y_test is None else np.asarray(y_test)
    intervals = coverage = None
    if decisions is not None:
        decisions = decisions if refits.all is None else decisions.checked(refits.all, base)
        bagged, same = bagged.in_norm(), same.in_norm()
        base, refits = None if base is None else base.in_norm(), refits.in_norm()
    elif looked_at is None:
        everywhere = predict_interval(model, at_tests, confidence_level=confidence_level)
        coverage = None if targets is None else everywhere.coverage(targets)
        ends = {name: getattr(everywhere, name)[:n_points] for name in ("lower", "upper", "prediction")}
        index = None if everywhere.index is None else everywhere.index[:n_points]
        intervals = replace(everywhere, **ends, index=index)
    step("Proving what holds for these bags, and scoring held-out rows")
    held_out = None
    if targets is not None:
        predicted = np.concatenate([model.average_.prediction([raw]) for _, raw in model.raw_blocks(at_tests)])
        alone = _alone(learner, X, y, random_state) if in_memory else None
        held_out = HeldOut(alone, model, X_test, predicted, targets, groups_test)
    reason = "" if in_memory else _NOT_IN_MEMORY.format(n_rows(X))
    return Study(
        task="classification" if classifies else "regression",
        n_samples=n_units,
        model=model,
        base=None if base is None else at_first(base, len(bagged.prediction), bagged),
        bagged=bagged,
        proved=certify_reused(model, at_points, vector=classifies),
        anew=certify(model, vector=classifies),
        compared=Comparison(base, same, n_units, reason, refits.chosen, refits.spread, refits.weights),
        scores=() if held_out is None else held_out.scores(metrics),
        losses=() if held_out is None else held_out.losses(),
        error=leave_one_out_error(model, None if classifies else "absolute", rows=looked_at),
        intervals=intervals,
        points=points,
        targets=None if targets is None else targets[:n_points],
        coverage=coverage,
        decisions=decisions,
        suspects=suspects(model, at_points, rows=looked_at),
        refitted=None if refits.chosen is None else at_first(refits.chosen, len(bagged.prediction), bagged),
        ranking=None if held_out is None else held_out.ranking(),
    )


@dataclass(frozen=True, eq=False)
class _Refits:
    """Refits of the bagged model beside those of the base model.

    Attributes
    ----------
    chosen : Perturbations or None, default=None
        By some of the rows of the base model's refits; None if there are none.
    spread : ndarray or None, default=None
        As in `MatchedRefits`: of these rows, or estimated for all rows of the base model's refits.
    weights : ndarray or None, default=None
        How many of the base model's rows each row stands for.
    all : Perturbations or None, default=None
        By these rows and, for a classifier, by those that seem to flip decisions.
    """

    chosen: Perturbations | None = None
    spread: np.ndarray | None = None
    weights: np.ndarray | None = None
    all: Perturbations | None = None

    @classmethod
    def of(
        cls, model: Any, X: Any, raw: Any, same: Perturbations, decisions: Decisions | None, n: int, random_state: int
    ) -> "_Refits":
        """Refit a fitted model without `n` of the base model's rows, and half as many that seem to flip decisions."""
        predicted = model.raw(raw)
        if not may_refit_without(model):
            return cls()
        if not n:
            return cls(spread=spread_of_a_few(model, X, np.asarray(same.rows), predicted, random_state))
        chosen, weights = rows_to_refit(same, n, random_state)
        more = np.empty(0, dtype=np.intp) if decisions is None else decisions.to_check((n + 1) // 2, chosen)
        found = refit_without_each(model, X, np.concatenate([chosen, more]), predicted)
        moved = found.moved
        first = of_rows(moved, chosen) if len(more) else moved
        return cls(first, found.spread[: len(chosen)], weights, moved)

    def in_norm(self) -> "_Refits":
        """Return the Euclidean distances in place of the changes of each class."""
        if self.chosen is None or self.all is None:
            return self
        return replace(self, chosen=self.chosen.in_norm(), all=self.all.in_norm())


def _predicted_once(model: Any, X_test: Any, *numbers: int) -> tuple[Any, ...]:
    """What all bags predict at the held-out rows and at the first of them; the rows themselves if that is too large."""
    classes = 1 if model.average_.classes is None else len(model.average_.classes)
    is_small = 8 * len(model.bags_) * n_rows(X_test) * classes <= _MOST_KEPT
    at_tests = model.predict_once(X_test) if is_small else X_test
    return at_tests, *(at_tests[:some] for some in numbers)


def _alone(learner: Any, X: Any, y: Any, random_state: int) -> Any:
    """The learner fitted to all rows, with the seed that it has in the refits without a row."""
    (seed,) = Seeds.from_random_state(random_state, "study").learner_seeds(0, 1)
    (alone := Copies(learner).copy(int(seed))).fit(X, y)
    return alone


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
