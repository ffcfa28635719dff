"""A study: one model and its bagged version, measured, proved and compared."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils import shuffle

from stablebag._checks import (
    as_reals,
    check_integer,
    check_jobs,
    check_real,
    distinct,
    hold_read_only,
    refuse_type,
    refuse_value,
)
from stablebag._seeds import Seeds
from stablebag._wording import GROUPS, ROWS, Noun
from stablebag.deciding.intervals import Intervals, predict_interval
from stablebag.deciding.label_sets import LabelSets, predict_set
from stablebag.measuring.errors import LeaveOneOutError, leave_one_out_error
from stablebag.measuring.leave_one_out import leave_one_out, undecided_blocks
from stablebag.measuring.perturbations import Names, Perturbations, flipped
from stablebag.measuring.refits import (
    checked_points,
    checked_training,
    leave_one_out_refit,
    may_refit_without,
    refit_without_each,
    spread_of_a_few,
)
from stablebag.measuring.suspects import Suspects, find_suspects
from stablebag.models.ensemble import BaggedEnsemble, units_of
from stablebag.models.estimators import BaggedClassifier, BaggedRegressor
from stablebag.models.fitted import BagPredictions, fitted
from stablebag.models.learners import Copies, may_predict, refuse_endless
from stablebag.models.parallel import counted, step
from stablebag.models.rows import RowSource, are_several, as_column, n_rows, one_column, take_rows
from stablebag.proving.certificate import StabilityCertificate
from stablebag.proving.certify import certify
from stablebag.proving.scope import Quantity, Rerun, refuse_mismatch
from stablebag.resampling.schemes import RandomBags
from stablebag.resampling.units import Units, numbered_groups
from stablebag.showing.comparison import Comparison, at_first_points, bagged_by, select_rows
from stablebag.showing.facts import Facts, facts_of
from stablebag.showing.scores import (
    SPANS,
    Covered,
    HeldOut,
    Loss,
    Ranking,
    Score,
    Unseen,
    are_harder,
    checked_metric,
    unseen_errors,
)
from stablebag.showing.verdict import NO_BETTER, NO_CHECKS, Checks, SummaryLine, Verdict, decide, summarize

# -------------------------------------------------------------------------------------------------------------- samples
# Which rows and points a study looks at, where all of them would take too much time or memory.

_MOST_COMPARED = 2**23  # leave-one-out predictions of the base model in memory
_MOST_AVERAGED = 2**27  # leave-one-out averages to compute
_MOST_PREDICTED = 2**24  # predictions of single bags in memory, for each refit of the bagged model


def source_targets(source: RowSource, y: Any, groups: Any, n_matched: int | None) -> tuple[np.ndarray, Any]:
    """Return the targets and groups of rows that are not in memory; raise an error for unsupported options."""
    if groups is not None:
        reason = 'name their column where the table is made: ParquetTable(..., groups="patient").'
        raise refuse_value("groups", "study", f"None with a {type(source).__name__}", groups, reason)
    if n_matched:
        reason = "the bagged model is not refitted to rows that are not in memory."
        raise refuse_value("n_matched", "study", f"0 with a {type(source).__name__}", n_matched, reason)
    y, _, units = source.all_of_fit(y, None, None, "study")
    return y, units


def n_points_to_compare(n_points: int, n_tests: int, n_units: int, n_refits: int, classes: int, n_bags: int = 1) -> int:
    """Return the number of held-out rows for the comparison: all of them, or as many as memory and time allow."""
    most = min(_MOST_COMPARED // n_refits, _MOST_AVERAGED // n_units, _MOST_PREDICTED // n_bags) // classes
    return min(n_tests, max(n_points, most))


def rows_to_refit(reused: Perturbations, n: int, random_state: int) -> tuple[np.ndarray, np.ndarray]:
    """Return `n` of the rows of the base model's refits, and how many of these rows each represents.

    `reused` has the changes from the bags without each of these rows. Half of the returned rows seem to change the
    bagged model most, because a few rows may cause most of its change. The others are drawn at random from the rest and
    represent it, so a mean with these weights is unbiased.
    """
    rows, n_rows = np.asarray(reused.rows), len(reused.rows)
    if n >= n_rows:
        return rows, np.ones(n_rows)
    size = reused.values.reshape(n_rows, -1)
    order = np.argsort(-((size / (size.max(initial=0.0) or 1.0)) ** 2).sum(axis=1), kind="stable")
    first, rest = order[: n // 2], order[n // 2 :]
    generator = next(Seeds.from_random_state(random_state, "study").bag_generators(1, 2))
    drawn = generator.choice(rest, n - len(first), replace=False)
    weights = np.ones(n_rows)
    weights[drawn] = len(rest) / len(drawn)
    chosen = np.sort(np.concatenate([first, drawn]))
    return rows[chosen], weights[chosen]


def first_rows(X: Any, n: int) -> Any:
    """Return the first rows of a table, or the first predictions of all bags; all of them if there are fewer."""
    return X[:n] if isinstance(X, BagPredictions) else take_rows(X, np.arange(min(n, n_rows(X))))


def draw_units(n_samples: int, n_refits: int, random_state: int) -> np.ndarray:
    """Return some rows, or groups, drawn by the seed of a study; all of them if there are fewer."""
    if n_refits >= n_samples:
        return np.arange(n_samples)
    generator = next(Seeds.from_random_state(random_state, "study").bag_generators(0, 1))
    return np.sort(generator.choice(n_samples, n_refits, replace=False))


def rows_of_some(units: Units, n_rows: int, random_state: int) -> np.ndarray:
    """Return about `n_rows` rows, all of groups that are drawn with equal chances; of large groups, some of the rows.

    Rows drawn one by one would contain a large group more often than a small one.
    """
    some = draw_units(len(units), max(2, n_rows * len(units) // units.n_rows), random_state)
    generator = next(Seeds.from_random_state(random_state, "study").bag_generators(1, 2))
    rows = generator.permutation(units.rows_of(some))
    rows = rows[np.argsort(units.of_rows[rows], kind="stable")]
    sizes = np.unique(units.of_rows[rows], return_counts=True)[1]
    places = np.arange(len(rows)) - np.repeat(np.cumsum(sizes) - sizes, sizes)  # of each row in its group
    return np.sort(rows[places < _MOST_OF_GROUP])


# ------------------------------------------------------------------------------------------------------------ decisions
# Decisions of a classifier that hinge on one row: how many, and on which rows, in sentences.

HELD_OUT = Noun("held-out row", "held-out rows")
POINTS = Noun("point", "points")
MANY = 0.05  # the advice mentions decisions that hinge on a row from this share on


@dataclass(frozen=True, eq=False)
class Decisions:
    """Decisions, the classes with the highest probability, that hinge on one row.

    A decision hinges on a row if refitting the bagged model without that row, with the same seed, flips it. Refits take
    long, so the bags without each row suggest rows to try first. Their average also flips decisions, but with more
    noise than a refit. Suggested flips and confirmed flips are counted separately.

    Attributes
    ----------
    by_point : ndarray of int, shape (n_points,)
        The number of refits that flip the bagged model's decision at each point.
    by_row : ndarray of int, shape (n_rows,)
        The number of these decisions that flip when the model is refitted without each row, or group.
    names : Names
        The names of rows.
    noun : Noun
        The word for a row or group that is left out.
    points : Noun
        The word for the points.
    suggested : ndarray of int, shape (n_suggested, 2)
        The pairs of a row and a point where the bags without the row decide differently.
    refitted : ndarray of int
        The rows, or groups, that the refits of the bagged model left out.
    n_confirmed : int, default=0
        The number of suggested flips that refits confirm.
    base : ndarray of int or None, default=None
        The number of refits that flip the base model's decision at each point.
    same : ndarray of int or None, default=None
        The same for refits of the bagged model without the same rows.
    n_same : int, default=0
        The number of rows, or groups, that refits of both models left out.

    Examples
    --------
    >>> import numpy as np
    >>> from stablebag.measuring import Perturbations
    >>> from stablebag.showing.study import Decisions
    >>> left_out = np.array([[[0.4, 0.6], [0.8, 0.2]], [[0.6, 0.4], [0.8, 0.2]]])
    >>> moved = Perturbations(np.array([[0.55, 0.45], [0.8, 0.2]]), left_out, rows=np.arange(2))
    >>> Decisions.of_perturbations(moved).conclusion()
    'Of 2 decisions, 1 hinges on a single training row: refitting without that row flips it.'
    """

    by_point: np.ndarray
    by_row: np.ndarray
    names: Names
    noun: Noun
    points: Noun
    suggested: np.ndarray
    refitted: np.ndarray
    n_confirmed: int = 0
    base: np.ndarray | None = None
    same: np.ndarray | None = None
    n_same: int = 0

    def __post_init__(self) -> None:
        hold_read_only(self)

    @classmethod
    def suggested_by(cls, model: Any, X: Any) -> "Decisions":
        """Find the flips that the bags of a fitted classifier suggest at held-out rows, without checking them."""
        pairs = [np.empty((0, 2), dtype=np.intp)]
        for places, prediction, left_out in undecided_blocks(model, X):
            rows, points = np.nonzero(flipped(prediction, left_out))
            pairs.append(np.stack([rows, places[points]], axis=1))
        by_point, by_row = np.zeros(n_rows(X), dtype=int), np.zeros(len(model.units_), dtype=int)
        names, noun, found = Names.of(model.units_), model.units_.noun, np.concatenate(pairs)
        return cls(by_point, by_row, names, noun, HELD_OUT, found, np.empty(0, dtype=np.intp))

    @classmethod
    def of_perturbations(cls, bagged: Perturbations, base: Perturbations | None = None) -> "Decisions":
        """Count the decisions that flip in perturbations of the probabilities of all classes.

        Perturbations of reused bags only suggest flips.
        """
        rows, points = np.nonzero(bagged.flips())
        n = int(np.asarray(bagged.rows).max(initial=-1)) + 1 if bagged.scope is None else bagged.scope.n_samples
        none = np.zeros(len(bagged.prediction), dtype=int), np.zeros(n, dtype=int)
        pairs = np.stack([np.asarray(bagged.rows)[rows], points], axis=1)
        made = cls(*none, bagged.names, bagged.noun, POINTS, pairs, np.empty(0, dtype=np.intp))
        is_reused = bagged.scope is not None and bagged.scope.rerun is Rerun.REUSED
        return made if is_reused else replace(made.checked(bagged, base), suggested=pairs[:0], n_confirmed=0)

    def to_check(self, most: int, known: np.ndarray) -> np.ndarray:
        """Return at most `most` rows, other than `known`, for which the bags suggest the most flips."""
        counts = np.bincount(self.suggested[:, 0], minlength=len(self.by_row))
        counts[known] = 0
        order = np.argsort(-counts, kind="stable")[:most]
        return np.sort(order[counts[order] > 0])

    def checked(self, refits: Perturbations, base: Perturbations | None = None) -> "Decisions":
        """Count the flips by refits of the bagged model and, without the same rows, of the base model."""
        flips, rows = refits.flips(), np.asarray(refits.rows)
        by_row = np.zeros(len(self.by_row), dtype=int)
        by_row[rows] = flips.sum(axis=1)
        pairs = set(map(tuple, np.stack([rows[np.nonzero(flips)[0]], np.nonzero(flips)[1]], axis=1).tolist()))
        confirmed = sum(pair in pairs for pair in map(tuple, self.suggested.tolist()))
        found = {"by_point": flips.sum(axis=0), "by_row": by_row, "refitted": rows, "n_confirmed": confirmed}
        made = replace(self, **found)
        if base is None:
            return made
        both = np.intersect1d(rows, base.rows)
        before = base.flips()[np.isin(base.rows, both)].sum(axis=0)
        return replace(made, base=before, same=flips[np.isin(rows, both)].sum(axis=0), n_same=len(both))

    def __len__(self) -> int:
        return len(self.by_point)

    @property
    def n_flipped(self) -> int:
        """The number of points whose decision flips in some refit without a single row."""
        return int((self.by_point > 0).sum())

    @property
    def n_suggested(self) -> int:
        """The number of points whose decision the bags without some row flip: an estimate with bagging noise."""
        return len(np.unique(self.suggested[:, 1]))

    @property
    def n_checked(self) -> int:
        """The number of suggested flips that were checked by a refit."""
        return int(np.isin(self.suggested[:, 0], self.refitted).sum())

    def conclusion(self) -> str:
        """Say in a sentence how many decisions hinge on one row."""
        one, that = ("training row", "row") if self.noun == ROWS else (self.noun.singular, self.noun.singular)
        n, some = len(self), self.n_flipped
        decisions = "1 decision" if n == 1 else f"{n:,} decisions"
        if not len(self.refitted):
            if not self.n_suggested:
                return f"The bags without each {one} suggest that none of {decisions} hinges on a single one."
            return (
                f"The bags without each {one} suggest that {self.n_suggested:,} of {decisions} may hinge on a single "
                "one. This is an estimate with bagging noise: no refit has checked it."
            )
        if not some:
            many = f"any of the {self.noun.count(len(self.by_row))}"
            if len(self.refitted) < len(self.by_row):
                many = f"each of {len(self.refitted):,} of the {self.noun.count(len(self.by_row))}"
            return f"Refitting without {many} flips none of {decisions}."
        hinge = f"hinges on a single {one}" if some == 1 else f"hinge on a single {one}"
        flips = f"refitting without that {that} flips {'it' if some == 1 else 'them'}"
        if len(self.refitted) >= len(self.by_row):
            return f"Of {decisions}, {some:,} {hinge}: {flips}."
        return f"Of {decisions}, at least {some:,} {hinge}: {flips}."

    def checks(self) -> str:
        """Describe the number of refits, and how many suggested flips they checked and confirmed."""
        if not len(self.refitted) or len(self.refitted) >= len(self.by_row):
            return ""
        refits = (
            f"The bagged model was refitted without {len(self.refitted):,} of the {self.noun.count(len(self.by_row))}."
        )
        total = len(self.suggested)
        if not total:
            return f"{refits} Its bags suggest no flip."
        flips = "1 flip" if total == 1 else f"{total:,} flips"
        were = "was" if self.n_checked == 1 else "were"
        return (
            f"{refits} Its bags suggest {flips} of a decision by a single {self.noun.singular}: {self.n_checked:,} "
            f"{were} checked by these refits, and {self.n_confirmed:,} confirmed."
        )

    def of_both(self) -> str:
        """Compare the flips of the base model and of the bagged model in a sentence; "" if not known."""
        if self.base is None or self.same is None or not self.n_same:
            return ""
        before, after = int((self.base > 0).sum()), int((self.same > 0).sum())
        without = (
            f"Without each of the same {self.noun.count(self.n_same)}"
            if self.n_same > 1
            else (f"Without the same {self.noun.singular}")
        )
        decisions = "decision" if before == 1 else "decisions"
        return f"{without}, refits flip {before:,} {decisions} of the base model and {after:,} of the bagged model."

    def most_flips(self, k: int = 5) -> tuple[np.ndarray, np.ndarray]:
        """Return the names of the rows, or groups, that flip most decisions when left out of a refit, and the numbers.

        Parameters
        ----------
        k : int, default=5
            The number of rows, or groups; fewer if fewer flip any.

        Returns
        -------
        names : ndarray
        counts : ndarray of int
        """
        order = self.rows_by_flips()[:k]
        return self.names.of_rows(order), self.by_row[order]

    def rows_by_flips(self) -> np.ndarray:
        """Return the rows, or groups, that flip some decision, those that flip most first, by number."""
        order = np.argsort(-self.by_row, kind="stable")
        return order[self.by_row[order] > 0]

    def explain(self) -> str:
        """Describe how many decisions hinge on one row, how that was checked, and the base model's flips."""
        return " ".join(filter(None, [self.conclusion(), self.checks(), self.of_both()]))

    @property
    def n_close(self) -> int:
        """The number of decisions that hinge on one row: by refits or, without any, as the bags suggest."""
        return self.n_flipped if len(self.refitted) else self.n_suggested

    @property
    def are_many(self) -> bool:
        """Whether enough decisions hinge on one row that someone should review them."""
        return self.n_close >= max(1, MANY * len(self))

    def counted(self) -> str:
        """Say in a short sentence how many decisions hinge on one row."""
        n, one, some = len(self), self.noun.singular, self.n_close
        hinge = "hinges" if some == 1 else "hinge"
        if not len(self.refitted):
            return f"{some:,} of {n:,} decisions may {hinge.removesuffix('s')} on one {one} (not checked by refits)."
        if not some:
            refits = "1 refit" if len(self.refitted) == 1 else f"{len(self.refitted):,} refits"
            return f"None of {n:,} decisions flipped in {refits}."
        least = "" if len(self.refitted) >= len(self.by_row) else "At least "
        return f"{least}{some:,} of {n:,} decisions {hinge} on one {one}."

    def advice(self) -> str:
        """Say what to do where many decisions hinge on one row; "" if few do."""
        some = self.n_close
        if not self.are_many:
            return ""
        are = "1 decision is a close call" if some == 1 else f"{some:,} of {len(self):,} decisions are close calls"
        if not len(self.refitted):
            are = are.replace(" is ", " may be ").replace(" are ", " may be ")
        them, sets = ("it", "a set") if some == 1 else ("them", "sets")
        return f"{are}: have someone review {them}, or answer with {sets} of labels (stablebag sets)."


# ---------------------------------------------------------------------------------------------------------------- study
# A study: a model and its bagged version on one table, measured, compared and certified.

_MOST_KEPT = 2**30  # bytes for predictions of all bags at all held-out rows
_MOST_OF_GROUP = 1000  # rows of a group, where its mean error is estimated from a sample
_MOST_ROWS = 10_000  # rows of a source at which all bags predict, and that are left out where a sample is enough
_LEVEL = 0.9  # of the prediction intervals
_MATCHED = 20  # refits of the bagged model
_NOT_IN_MEMORY = (
    "It is not compared with the base model alone, which would have to be fitted to all {:,} rows at once, and they "
    "are not in memory."
)


@dataclass(frozen=True, eq=False, repr=False)
class Study:
    """Measurements and guarantees of a model and its bagged version.

    Returned by `study`. Perturbations of a classifier are Euclidean distances between vectors of class probabilities,
    which are at most sqrt(2). Sentences also count decisions.

    Attributes
    ----------
    task : {"regression", "classification"}
        The kind of task.
    n_samples : int
        The number of training rows, or of groups such as patients.
    model : BaggedRegressor, BaggedClassifier or None
        The fitted bagged model, if it is available.
    base : Perturbations or None
        The perturbations of the base model, refitted without each of some rows or groups; None if the rows are not in
        memory.
    bagged : Perturbations
        The perturbations of the bagged model, for all rows or groups.
    proved : ReusedBagsCertificate, or another certificate of the same perturbations
        The guarantee of these perturbations, for the bags that were drawn and at these points.
    anew : Certificate or None
        The guarantee of refitted models with new bags, for every data set of this size and every point.
    compared : Comparison
        How much both models change without the same rows, or groups, at the same points: as many held-out rows as
        memory and time allow.
    scores : tuple of Score
        The scores on the held-out rows, before and after bagging and of a constant; empty if their targets are not
        known.
    losses : tuple of Loss
        The losses at the held-out rows that the verdict compares.
    error : LeaveOneOutError or None
        The leave-one-out error of the bagged model at its training rows.
    intervals : Intervals or None
        For a regressor, prediction intervals at the points at which perturbations were measured.
    points : array or DataFrame
        The points at which perturbations were measured.
    targets : ndarray or None
        The targets of the points.
    coverage : float or None
        The share of held-out targets in their intervals.
    decisions : Decisions or None, default=None
        For a classifier, the decisions that hinge on one row, at the points of `compared`.
    suspects : Suspects or None, default=None
        The rows, or groups, that change predictions beyond bagging noise, and a ranking of those worth a look.
    refitted : Perturbations or None, default=None
        The perturbations of the bagged model, refitted with the same seed without some rows or groups, if they were
        measured; ``compared.weights`` has how many others each represents.
    ranking : Ranking or None, default=None
        How well the bagged model ranks the held-out rows.
    unseen : Unseen or None, default=None
        The errors of the bagged model on unseen rows, estimated from the training rows and compared with a constant;
        None if rows depend on each other in other ways than by `groups`.
    sets : LabelSets or None, default=None
        For a classifier, stable sets of labels at the points at which perturbations were measured.
    delta : float, default=0.05
        The share of changes above the quantile that is shown, and of training rows, or groups, that may change a
        prediction by more than the guarantee.
    checks : Checks, default=no checks
        The checks of the data and their findings. `stablebag measure` looks for leaking columns, repeated groups, time
        order and copied rows; `study` does not.
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
    unseen: Unseen | None = None
    sets: LabelSets | None = None
    delta: float = 0.05
    checks: Checks = NO_CHECKS

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
        delta: float = 0.05,
    ) -> "Study":
        """Build a study from existing objects.

        Parameters
        ----------
        bagged : Perturbations
            The perturbations of the bagged model, as `leave_one_out` measures them.
        proved : certificate
            The certificate of these perturbations, such as ``certify(model, reused=True)`` for `leave_one_out`; for a
            classifier, with ``vector=True``. A certificate of something else raises an error.
        anew : Certificate or None, default=None
            The certificate of refitted models, such as ``certify(model)``.
        base : Perturbations or None, default=None
            The perturbations of the base model, at the same points.
        model : BaggedRegressor, BaggedClassifier or None, default=None
            The fitted model, for its targets and its error.
        intervals : Intervals or None, default=None
            Prediction intervals at these points.
        targets : array-like or None, default=None
            The targets of the points.
        delta : float, default=0.05
            As in `study`.

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
        parts = {
            "intervals": intervals,
            "points": None,
            "targets": known,
            "coverage": covered,
            "delta": delta,
            **of_classes,
        }
        if model is not None and vector == (fitted(model).average.classes is not None):
            parts["unseen"] = unseen_errors(model)
        compared = Comparison.of(base, bagged)
        return cls(task, len(bagged.rows), model, base, bagged, proved, anew, compared, (), (), error, **parts)

    @property
    def noun(self) -> Noun:
        """The word for a row or group that is left out."""
        return self.bagged.noun

    @property
    def distance(self) -> str:
        """What changes, for captions."""
        if self.task == "regression":
            return "predictions"
        return "class probabilities"

    def facts(self) -> Facts:
        """Return everything that is shown of the study, by name: ``facts()["typical change"]``."""
        return facts_of(self)

    def to_frame(self) -> Any:
        """Return a pandas DataFrame with a line for each fact, by its name."""
        return self.facts().to_frame()

    def to_markdown(self) -> str:
        """Return what is printed as Markdown without a heading, for a model card or a pull request."""
        return self.facts().to_markdown()

    def __repr__(self) -> str:
        return str(self.facts())

    def _repr_html_(self) -> str:
        return self.facts()._repr_html_()

    def verdict(self) -> Verdict:
        """Return the conclusion with advice and reasons; for a classifier, the first reason counts decisions."""
        verdict = decide(self.compared, self.losses, self.ranking, **self._for_verdict)
        if self.decisions is None:
            return verdict
        advice = " ".join(filter(None, [verdict.advice, "" if verdict.case == NO_BETTER else self.decisions.advice()]))
        return replace(verdict, advice=advice, reasons=(self.decisions.explain(), *verdict.reasons))

    def summary(self) -> tuple[SummaryLine, SummaryLine, SummaryLine, SummaryLine]:
        """Sum up the study in four lines: does it predict, is anything suspicious, is it stable, and what to do."""
        verdict = decide(self.compared, self.losses, self.ranking, **self._for_verdict)
        return summarize(verdict, self.compared, self.losses, self.ranking, decisions=self.decisions,
                         checks=self.checks, **self._for_verdict)  # fmt: skip

    @property
    def _for_verdict(self) -> dict[str, Any]:
        quantity = "predictions" if self.task == "regression" else "class probabilities"
        return {"spread": self._spread, "quantity": quantity, "covered": self._covered, "unseen": self.unseen}

    def most_influential(self, k: int = 5) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows, or groups, that change the bagged predictions most, and their root mean square effects.

        Parameters
        ----------
        k : int, default=5
            The number of rows, or groups; all of them if there are fewer.

        Returns
        -------
        rows : ndarray of shape (k,)
            The names of these rows, or groups, as in `Perturbations.most_influential`.
        effects : ndarray of shape (k,)
        """
        places, effects = self.ranked(k)
        return self.bagged.names.of_rows(places), effects

    def ranked(self, k: int = 5) -> tuple[np.ndarray, np.ndarray]:
        """Return the same as `most_influential`, with the numbers of the rows, or groups, instead of their names.

        Parameters
        ----------
        k : int, default=5
            The number of rows, or groups; all of them if there are fewer.

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
        """The coverage of the intervals at the held-out rows, if known."""
        if self.coverage is None or self.intervals is None:
            return None
        n, groups = len(self.intervals.lower), None
        if self.losses:
            n, groups = len(self.losses[0].bagged), self.losses[0].groups
        n_units = n if groups is None else len(np.unique(groups))
        return Covered(self.coverage, n, n_units, self.intervals.confidence_level, self.n_samples)

    @property
    def _spread(self) -> float | None:
        """The standard deviation of the targets; for classes, of their one-hot vectors."""
        if self.model is None:
            return None
        if self.task == "regression":
            y = np.asarray(fitted(self.model).y, dtype=float)
            unit = float(np.abs(y).max(initial=0.0)) or 1.0
            return unit * float((y / unit).std())
        shares = np.unique(fitted(self.model).y, return_counts=True)[1] / len(fitted(self.model).y)
        return math.sqrt(1 - float((shares**2).sum()))


def study(
    model: Any,
    X: Any,
    y: Any = None,
    X_test: Any = None,
    y_test: Any = None,
    *,
    groups: Any = None,
    groups_test: Any = None,
    test_size: float = 0.2,
    n_points: int = 20,
    n_refits: int = 200,
    n_matched: int | None = None,
    metrics: Sequence[str] = (),
    delta: float = 0.05,
) -> Study:
    """Measure a model and its bagged version on the same rows and points: accuracy, stability, guarantees, suspects.

    ``study(model, X, y)`` holds out some rows. The result prints as four lines with the numbers behind them, and
    ``stablebag.showing.report.write(path, result)`` writes a report.

    If the training rows are not in memory, such as those of a `ParquetTable`, the base model cannot be fitted to all of
    them, so the study measures only the bagged model. Above 10,000 rows, the leave-one-out error and the rows worth a
    look then come from 10,000 rows drawn at random; errors on unseen groups come from about as many rows, of groups
    drawn at random. Intervals are not given. Guarantees, and the changes that rows
    cause, are still about all rows.

    Parameters
    ----------
    model : estimator
        A scikit-learn regressor or classifier, which is compared with its bagged version: 500 bags of half of the rows.
        Or an unfitted `BaggedRegressor` or `BaggedClassifier`, which is compared with its `estimator`, and sets the
        bags and the number of parallel fits. Its `random_state` is the seed of the whole study; None means 0. The
        study fits a copy, which keeps its training rows.
    X : array or DataFrame of shape (n_samples, n_features), or RowSource
        The training rows.
    y : array-like of shape (n_samples,), default=None
        The targets of the training rows; None with a source, which has them.
    X_test : array or DataFrame of shape (n_points, n_features), default=None
        Held-out rows, which must not be among the training rows. None holds out some of X.
    y_test : array-like or None, default=None
        The targets of the held-out rows, if they are known.
    groups : sequence of int or labels, of length n_samples, default=None
        The group of each training row, such as its patient, as in `fit` of a bagged model. Everything is then about
        leaving out a group. Hold out whole groups, otherwise the scores are too good for rows of new groups.
    groups_test : sequence of int or labels, of the length of X_test, default=None
        The group of each held-out row. Rows of one group are not independent, so accuracy is compared by group. You can
        pass it without `groups`, for example for held-out rows that are alike within a week; errors on unseen rows are
        then not estimated. A Series with the name "span of time" has spans of time.
    test_size : float, default=0.2
        Without `X_test`, the share of the rows to hold out, between 0 and 1: by class if possible, and whole groups
        with `groups`.
    n_points : int, default=20
        The number of held-out rows, the first ones, at which perturbations are measured.
    n_refits : int, default=200
        The number of refits of the base model, each without one training row or group; drawn at random if there are
        more.
    n_matched : int or None, default=None
        The number of refits of the bagged model, with the same seed: half of them without the rows, or groups, that
        seem to change it most, the others without rows drawn at random. Each takes as many fits as bags contain the
        row. With fewer than `n_refits`, the typical change is estimated; 0 uses one refitted bag per row. A classifier
        is also refitted without at most half as many rows that seem to flip decisions. None means 20 if the rows are in
        memory.
    metrics : list or tuple of str, default=()
        The scores to show, by the names of scikit-learn's scorers; () means the usual ones of the task.
    delta : float, default=0.05
        A share in [0, 1]: of changes above the quantile that is shown, and of training rows, or groups, that may change
        a prediction by more than the guarantee.

    Returns
    -------
    Study

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> from stablebag import BaggedRegressor, study
    >>> X, y = load_diabetes(return_X_y=True)
    >>> result = study(BaggedRegressor(DecisionTreeRegressor(), n_bags=100), X, y, n_refits=20)
    >>> result.verdict().case
    'stabilized'
    >>> result.facts()["typical change"].kind
    'measured'
    """
    owner = "study"
    n_points = check_integer(n_points, "n_points", owner, minimum=1)
    n_refits = check_integer(n_refits, "n_refits", owner, minimum=1)
    if n_matched is not None:
        n_matched = check_integer(n_matched, "n_matched", owner, minimum=0)
    delta = check_real(delta, "delta", owner, low=0.0, high=1.0)
    if not isinstance(metrics, list | tuple):
        raise refuse_type("metrics", owner, "a list of names of scikit-learn's scorers", metrics)
    metrics = tuple(map(checked_metric, metrics))
    learner, model = _both(model)
    n_bags, random_state, classifies = int(model.n_bags), model.random_state, is_classifier(model)
    for name in metrics:
        checked_metric(name, "classification" if classifies else "regression")
    in_memory, looked_at = not isinstance(X, RowSource), None
    if in_memory:
        if y is None:
            raise refuse_value("y", owner, "the targets of the training rows", y)
        if are_several(y):
            one_column(y, owner, "study one column at a time.")
        X, y, _ = checked_training(model, X, y, owner)
        if groups is not None:
            units_of(X, len(y), None, groups, owner)
    if X_test is None and in_memory:
        train, test = train_and_test(y, groups, test_size, classifies, random_state)
        X, X_test, y, y_test = take_rows(X, train), take_rows(X, test), y[train], y[test]
        if groups is not None:
            groups, groups_test = take_rows(groups, train), take_rows(groups, test)
    if X_test is None or isinstance(X_test, RowSource):
        reason = "they are predicted by all bags. Give some: X_test=table.take(rows)."
        raise refuse_type("X_test", owner, "held-out rows in memory", X_test, reason)
    X_test = checked_points(X if in_memory else X.take(np.arange(1)), X_test, owner)
    spans = getattr(groups_test, "name", None) == SPANS.singular
    if groups_test is not None:
        groups_test = numbered_groups(groups_test, n_rows(X_test), owner, "groups_test")[1]
    if not in_memory:
        y, groups = source_targets(X, y, groups, n_matched)
    targets = None if y_test is None else _checked_targets(y_test, n_rows(X_test), np.unique(y) if classifies else None)
    n_units = n_rows(X) if groups is None else len(units_of(X, n_rows(X), None, groups, owner))
    rows = draw_units(n_units, n_refits if in_memory else _MOST_ROWS, random_state)
    averaged = n_units if in_memory else len(rows)
    classes = len(np.unique(y)) if classifies else 1
    n_compared = n_points_to_compare(n_points, n_rows(X_test), averaged, len(rows), classes, n_bags)
    points = first_rows(X_test, n_points)
    options = {"groups": groups, "n_jobs": model.n_jobs, "random_state": random_state}
    n_matched = min(_MATCHED if n_matched is None else n_matched, len(rows)) if in_memory else 0
    base = decisions = None
    refits = _Refits()
    with counted(n_bags + (len(rows) + 1 if in_memory else 0) + n_matched + (n_matched + 1) // 2 * classifies) as count:
        with count.part():
            model.fit(X, y if in_memory else None, groups=groups if in_memory else None)
        if not in_memory and n_rows(X) > _MOST_ROWS:
            n_drawn = max(2, round(_MOST_ROWS * n_units / n_rows(X)))  # whole groups
            looked_at = np.flatnonzero(np.isin(model.units_.of_rows, draw_units(n_units, n_drawn, random_state)))
        if in_memory:
            with count.part():
                base = leave_one_out_refit(learner, X, y, first_rows(X_test, n_compared), rows=rows, **options)
        step(f"Predicting {len(X_test):,} held-out rows")
        at_tests, at_points, to_compare = _predicted_once(model, X_test, n_points, n_compared)
        same = bagged_by(model, to_compare, rows) if in_memory else leave_one_out(model, to_compare, rows=rows)
        if classifies:
            decisions = Decisions.suggested_by(model, to_compare)
        if base is not None:
            if n_matched:
                step(f"Refitting the bagged model without {model.units_.noun.count(n_matched)}")
            with count.part():
                refits = _Refits.of(
                    model, first_rows(X_test, n_compared), to_compare, same, decisions, n_matched, random_state
                )
        unseen = None
        if groups is not None or groups_test is None:  # otherwise rows depend on each other in a way that is not known
            step("Estimating errors on unseen rows")
            of_units = looked_at is not None and not model.units_.are_rows
            unseen = unseen_errors(
                model, rows_of_some(model.units_, _MOST_ROWS, random_state) if of_units else looked_at
            )
        count.reach(count.total)
    step(f"Leaving out each of {model.units_.noun.count(n_units)}")
    bagged = leave_one_out(model, at_points)
    suspicious = find_suspects(model, at_points, bagged, rows=looked_at)
    intervals = coverage = sets = None
    if decisions is not None:
        decisions = decisions if refits.all is None else decisions.checked(refits.all, base)
        bagged, same = bagged.in_norm(), same.in_norm()
        if len(model.classes_) > 1:
            sets = predict_set(model, at_points, delta=delta)
        base, refits = None if base is None else base.in_norm(), refits.in_norm()
    elif looked_at is None:
        everywhere = predict_interval(model, at_tests, confidence_level=_LEVEL)
        coverage = None if targets is None else everywhere.coverage(targets)
        ends = {name: getattr(everywhere, name)[:n_points] for name in ("lower", "upper", "prediction")}
        index = None if everywhere.index is None else everywhere.index[:n_points]
        intervals = replace(everywhere, **ends, index=index)
    step("Proving what holds for these bags, and scoring held-out rows")
    held_out = None
    if targets is not None:
        fit = fitted(model)
        predicted = np.concatenate([fit.average.prediction([raw]) for _, raw in fit.raw_blocks(at_tests)])
        alone = None
        if base is not None:  # decisions of a classifier do not always follow from its probabilities
            is_known = not classifies and n_compared == len(targets)
            alone = base.prediction if is_known else _fit_base(learner, X, y, random_state)
        about = {"y": fit.y, "classes": model.classes_ if classifies else None, "groups": groups_test,
                 "grouped": SPANS if spans else GROUPS}  # fmt: skip
        held_out = HeldOut(alone, X_test, predicted, targets, **about)
    losses = () if held_out is None else held_out.losses()
    if unseen is not None and losses:
        unseen = replace(unseen, is_harder=are_harder(losses[0], unseen))
    reason = "" if in_memory else _NOT_IN_MEMORY.format(n_rows(X))
    return Study(
        task="classification" if classifies else "regression",
        n_samples=n_units,
        model=model,
        base=None if base is None else at_first_points(base, len(bagged.prediction), bagged),
        bagged=bagged,
        proved=certify(model, at_points, vector=classifies, reused=True),
        anew=certify(model, vector=classifies),
        compared=Comparison(base, same, n_units, reason, refits.chosen, refits.spread, refits.weights),
        scores=() if held_out is None else held_out.scores(metrics),
        losses=losses,
        error=leave_one_out_error(model, None if classifies else "absolute", rows=looked_at),
        intervals=intervals,
        points=points,
        targets=None if targets is None else targets[:n_points],
        coverage=coverage,
        decisions=decisions,
        suspects=suspicious,
        refitted=None if refits.chosen is None else at_first_points(refits.chosen, len(bagged.prediction), bagged),
        ranking=None if held_out is None else held_out.ranking(),
        unseen=unseen,
        sets=sets,
        delta=delta,
    )


def _both(model: Any) -> tuple[Any, Any]:
    """The unfitted base model and bagged model; the latter has a whole number as its seed."""
    owner = "study"
    refuse_endless(model, owner)
    if isinstance(model, type) or not (hasattr(model, "fit") and may_predict(model)):
        raise refuse_type("model", owner, "an unfitted scikit-learn regressor or classifier", model)
    if not isinstance(model, BaggedEnsemble):
        return model, (BaggedClassifier if is_classifier(model) else BaggedRegressor)(model, random_state=0)
    bags = model.n_bags.number if isinstance(model.n_bags, RandomBags) else model.n_bags
    check_integer(bags, "n_bags", owner, minimum=1, reason="a study needs bags that are drawn at random.")
    check_jobs(model.n_jobs, owner)
    seed = 0 if model.random_state is None else Seeds.from_random_state(model.random_state, owner).root
    default = DecisionTreeClassifier() if is_classifier(model) else DecisionTreeRegressor()
    return default if model.estimator is None else model.estimator, clone(model).set_params(
        random_state=seed, keep_rows=True
    )


def _checked_targets(y_test: Any, n_tests: int, classes: np.ndarray | None) -> np.ndarray:
    """The targets of the held-out rows, one for each: numbers, or labels, some of them classes."""
    owner = "study"
    targets = as_column(y_test, "y_test", owner, warn=False)
    if len(targets) != n_tests:
        raise refuse_value("y_test", owner, f"{n_tests:,} targets, one for each row of X_test", len(targets))
    if classes is not None:
        if not set(distinct(targets, "y_test", owner).tolist()) & set(classes.tolist()):
            reason = "none of its labels is in y. Write the classes in the same way."
            raise refuse_value("y_test", owner, "labels of the held-out rows", targets[0], reason)
        return targets
    numbers = as_reals(targets, "y_test", owner, "numbers")
    if not np.isfinite(numbers).all():
        raise refuse_value("y_test", owner, "finite numbers", numbers[~np.isfinite(numbers)][0])
    return numbers


def train_and_test(
    y: Any, groups: Any, test_size: float, classifies: bool, random_state: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows to train on and those to hold out: by class if possible, whole groups if there are any."""
    owner = "study"
    test_size = check_real(test_size, "test_size", owner, high=1.0)
    if not 0 < test_size < 1:
        raise refuse_value("test_size", owner, "a share of the rows between 0 and 1", test_size)
    units = None if groups is None else units_of(y, len(y), None, groups, owner)
    labels = y if units is None else np.arange(len(units))
    by_class = None
    if classifies and units is None:
        counts = np.unique(y, return_counts=True)[1]
        by_class = y if counts.min() >= 2 and len(counts) <= min(test_size, 1 - test_size) * len(y) else None
    n_test = math.ceil(test_size * len(labels))
    if len(labels) - n_test < 2:
        raise refuse_value("test_size", owner, "a share that leaves two rows, or groups, to train on", test_size)
    train, test = train_test_split(
        np.arange(len(labels)), test_size=n_test, random_state=random_state, stratify=by_class
    )
    if units is None:
        return train, test
    return np.sort(units.rows_of(train)), shuffle(units.rows_of(test), random_state=random_state)


@dataclass(frozen=True, eq=False)
class _Refits:
    """Refits of the bagged model, to compare with those of the base model.

    Attributes
    ----------
    chosen : Perturbations or None, default=None
        Without some of the rows of the base model's refits; None without refits.
    spread : ndarray or None, default=None
        As in `MatchedRefits`: for these rows, or estimated for all rows of the base model's refits.
    weights : ndarray or None, default=None
        How many of the base model's rows each row represents.
    all : Perturbations or None, default=None
        Without these rows and, for a classifier, without those that seem to flip decisions.
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
        predicted = fitted(model).raw(raw)
        if not may_refit_without(model):
            return cls()
        if not n:
            return cls(spread=spread_of_a_few(model, X, np.asarray(same.rows), predicted, random_state))
        chosen, weights = rows_to_refit(same, n, random_state)
        more = np.empty(0, dtype=np.intp) if decisions is None else decisions.to_check((n + 1) // 2, chosen)
        found = refit_without_each(model, X, np.concatenate([chosen, more]), predicted)
        moved = found.moved
        first = select_rows(moved, chosen) if len(more) else moved
        return cls(first, found.spread[: len(chosen)], weights, moved)

    def in_norm(self) -> "_Refits":
        """Return Euclidean distances instead of the changes of each class."""
        if self.chosen is None or self.all is None:
            return self
        return replace(self, chosen=self.chosen.in_norm(), all=self.all.in_norm())


def _predicted_once(model: Any, X_test: Any, *numbers: int) -> tuple[Any, ...]:
    """The predictions of all bags at the held-out rows and at the first ones; the rows themselves if too large."""
    classes = fitted(model).n_classes
    is_small = 8 * len(model.bags_) * n_rows(X_test) * classes <= _MOST_KEPT
    at_tests = model.predict_once(X_test) if is_small else X_test
    return at_tests, *(first_rows(at_tests, some) for some in numbers)


def _fit_base(learner: Any, X: Any, y: Any, random_state: int) -> Any:
    """The base model fitted to all rows, with the seed of its refits."""
    (seed,) = Seeds.from_random_state(random_state, "study").learner_seeds(0, 1)
    (alone := Copies(learner).copy(int(seed))).fit(X, y)
    return alone


def _refuse_other_units(bagged: Perturbations, **others: Any) -> None:
    """Raise an error if something is about other rows or groups than the perturbations of the bagged model."""
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
