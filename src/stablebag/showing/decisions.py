"""Decisions of a classifier that hinge on one row: how many of them, and on which rows, in sentences."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from stablebag._checks import hold_read_only
from stablebag._wording import ROWS, Noun
from stablebag.learning.rows import n_rows
from stablebag.measuring.leave_one_out import doubtful_blocks
from stablebag.measuring.names import Names
from stablebag.measuring.perturbations import Perturbations, flipped
from stablebag.proving.scope import Rerun

HELD_OUT = Noun("held-out row", "held-out rows")
POINTS = Noun("point", "points")
MANY = 0.05  # of the decisions: from so many on that hinge on a row, the advice speaks of them


@dataclass(frozen=True, eq=False)
class Decisions:
    """Which decisions, the classes with the highest probability, hinge on one row.

    A decision hinges on a row if refitting the bagged model without that row, with the same seed, flips it. Refits take
    long, so the bags without each row suggest rows to try first: their average flips some decisions, too, but with more
    noise than a refit has. What they suggest is counted apart from what refits confirm.

    Attributes
    ----------
    by_point : ndarray of int, shape (n_points,)
        How many refits flip the bagged model's decision at each point.
    by_row : ndarray of int, shape (n_rows,)
        How many of these decisions flip when the model is refitted without each row, or group.
    names : Names
        What rows are called.
    noun : Noun
        What is left out: rows, or groups such as patients.
    points : Noun
        What the points are.
    suggested : ndarray of int, shape (n_suggested, 2)
        The pairs of a row and a point where the bags without the row decide otherwise.
    refitted : ndarray of int
        The rows, or groups, without which the bagged model was refitted.
    n_confirmed : int, default=0
        How many of the suggested flips refits confirm.
    base : ndarray of int or None, default=None
        How many refits flip the base model's decision at each point.
    same : ndarray of int or None, default=None
        How many refits of the bagged model without the same rows do.
    n_same : int, default=0
        The number of these rows, or groups, without which both were refitted.

    Examples
    --------
    >>> import numpy as np
    >>> from stablebag import Perturbations
    >>> from stablebag.showing.decisions import Decisions
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
        """Find which flips the bags of a fitted classifier suggest at held-out rows; none is checked yet."""
        pairs = [np.empty((0, 2), dtype=np.intp)]
        for places, prediction, left_out in doubtful_blocks(model, X):
            rows, points = np.nonzero(flipped(prediction, left_out))
            pairs.append(np.stack([rows, places[points]], axis=1))
        by_point, by_row = np.zeros(n_rows(X), dtype=int), np.zeros(len(model.units_), dtype=int)
        names, noun, found = Names.of(model.units_), model.units_.noun, np.concatenate(pairs)
        return cls(by_point, by_row, names, noun, HELD_OUT, found, np.empty(0, dtype=np.intp))

    @classmethod
    def of_perturbations(cls, bagged: Perturbations, base: Perturbations | None = None) -> "Decisions":
        """Count the decisions that flip in perturbations of the probabilities of all classes.

        If these are of bags that were used again, they only suggest flips.
        """
        rows, points = np.nonzero(bagged.flips())
        n = int(np.asarray(bagged.rows).max(initial=-1)) + 1 if bagged.scope is None else bagged.scope.n_samples
        none = np.zeros(len(bagged.prediction), dtype=int), np.zeros(n, dtype=int)
        pairs = np.stack([np.asarray(bagged.rows)[rows], points], axis=1)
        made = cls(*none, bagged.names, bagged.noun, POINTS, pairs, np.empty(0, dtype=np.intp))
        is_reused = bagged.scope is not None and bagged.scope.rerun is Rerun.REUSED
        return made if is_reused else replace(made.checked(bagged, base), suggested=pairs[:0], n_confirmed=0)

    def to_check(self, most: int, known: np.ndarray) -> np.ndarray:
        """Return at most so many rows, beside those that are known, which flip most decisions as the bags suggest."""
        counts = np.bincount(self.suggested[:, 0], minlength=len(self.by_row))
        counts[known] = 0
        order = np.argsort(-counts, kind="stable")[:most]
        return np.sort(order[counts[order] > 0])

    def checked(self, refits: Perturbations, base: Perturbations | None = None) -> "Decisions":
        """Count what refits of the bagged model flip, and of the base model without those of the same rows."""
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
        """The number of points whose decision the bags without some row flip: an estimate, with bagging noise."""
        return len(np.unique(self.suggested[:, 1]))

    @property
    def n_checked(self) -> int:
        """How many of the suggested flips were checked by a refit."""
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
        """Say in sentences without how many rows the model was refitted, and what of the suggestions that confirmed."""
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

    def beside(self) -> str:
        """Say in a sentence how many decisions of the base model flip without the same rows; "" if not known."""
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
        """Return what the rows, or groups, that flip most decisions when left out of a refit are called, and how many.

        Parameters
        ----------
        k : int, default=5
            The number of rows, or groups; fewer if fewer flip any.

        Returns
        -------
        names : ndarray
        counts : ndarray of int
        """
        order = np.argsort(-self.by_row, kind="stable")[:k]
        order = order[self.by_row[order] > 0]
        return self.names.of_rows(order), self.by_row[order]

    def explain(self) -> str:
        """Say in sentences how many decisions hinge on one row, how that was checked, and what it is before bagging."""
        return " ".join(filter(None, [self.conclusion(), self.checks(), self.beside()]))

    def advice(self) -> str:
        """Say what to do where many decisions hinge on one row; "" if few do."""
        some = self.n_flipped if len(self.refitted) else self.n_suggested
        if some < max(1, MANY * len(self)):
            return ""
        are = "1 decision is a close call" if some == 1 else f"{some:,} of {len(self):,} decisions are close calls"
        if not len(self.refitted):
            are = are.replace(" is ", " may be ").replace(" are ", " may be ")
        them, sets = ("it", "a set") if some == 1 else ("them", "sets")
        return f"{are}: have someone review {them}, or answer with {sets} of labels (stablebag sets)."
