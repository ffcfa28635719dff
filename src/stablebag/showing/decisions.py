"""Decisions of a classifier that hinge on one row: how many of them, and on which rows, in sentences."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from stablebag._checks import hold_read_only
from stablebag._wording import ROWS, Noun
from stablebag.learning.rows import n_rows
from stablebag.measuring.leave_one_out import doubtful_blocks
from stablebag.measuring.names import Names
from stablebag.measuring.perturbations import Perturbations, flipped

HELD_OUT = Noun("held-out row", "held-out rows")
POINTS = Noun("point", "points")


@dataclass(frozen=True, eq=False)
class Decisions:
    """How many rows flip each decision, the class with the highest probability, and how many each row flips: measured.

    Attributes
    ----------
    by_point : ndarray of int, shape (n_points,)
        How many rows, or units, flip the bagged model's decision at each point, one at a time.
    by_row : ndarray of int, shape (n_rows,)
        How many of these decisions each row, or unit, flips.
    names : Names
        What rows are called.
    noun : Noun
        What is left out: rows, or units such as patients.
    points : Noun
        What the points are.
    base : ndarray of int or None, default=None
        How many refits flip the base learner's decision, at the first of the points.
    n_refits : int, default=0
        The number of rows, or units, without which the base learner was refitted.
    same : ndarray of int or None, default=None
        How many of these rows, or units, flip the bagged model's decision at these points.

    Examples
    --------
    >>> import numpy as np
    >>> from stablebag import Perturbations
    >>> from stablebag.showing.decisions import Decisions
    >>> left_out = np.array([[[0.4, 0.6], [0.8, 0.2]], [[0.6, 0.4], [0.8, 0.2]]])
    >>> moved = Perturbations(np.array([[0.55, 0.45], [0.8, 0.2]]), left_out, rows=np.arange(2))
    >>> Decisions.of_perturbations(moved).conclusion()
    'Of 2 points, 1 has a decision that some single training row flips when it is left out; for 1 none does.'
    """

    by_point: np.ndarray
    by_row: np.ndarray
    names: Names
    noun: Noun
    points: Noun = HELD_OUT
    base: np.ndarray | None = None
    n_refits: int = 0
    same: np.ndarray | None = None

    def __post_init__(self) -> None:
        hold_read_only(self)

    @classmethod
    def of_model(cls, model: Any, X: Any, base: Perturbations | None = None) -> "Decisions":
        """Measure the decisions of a fitted classifier at held-out rows; the base learner's are at the first of them.

        Rows flip what `selection_stability` says for the argmax. They are only counted, so that a large table of
        held-out rows takes no memory.
        """
        by_point, same = np.zeros(n_rows(X), dtype=int), np.zeros(n_rows(X), dtype=int)
        by_row = np.zeros(len(model.units_), dtype=int)
        for places, prediction, left_out in doubtful_blocks(model, X):
            flips = flipped(prediction, left_out)
            by_point[places] = flips.sum(axis=0)
            by_row += flips.sum(axis=1)
            same[places] = (flips if base is None else flips[base.rows]).sum(axis=0)
        names, noun = Names.of(model.units_), model.units_.noun
        return cls(by_point, by_row, names, noun, HELD_OUT, *_refitted(base, same))

    @classmethod
    def of_perturbations(cls, bagged: Perturbations, base: Perturbations | None = None) -> "Decisions":
        """Count the decisions that flip in perturbations of the probabilities of all classes."""
        flips, rows = bagged.flips(), np.asarray(bagged.rows)
        by_row = np.zeros(int(rows.max(initial=-1)) + 1, dtype=int)
        by_row[rows] = flips.sum(axis=1)
        chosen = slice(None) if base is None else np.isin(rows, base.rows)
        refitted = _refitted(base, flips[chosen].sum(axis=0))
        return cls(flips.sum(axis=0), by_row, bagged.names, bagged.noun, POINTS, *refitted)

    def __len__(self) -> int:
        return len(self.by_point)

    @property
    def n_flipped(self) -> int:
        """The number of points whose decision some single row flips."""
        return int((self.by_point > 0).sum())

    def conclusion(self) -> str:
        """Say in a sentence how many decisions hinge on one row."""
        n, some = len(self), self.n_flipped
        one = "training row flips when it is left out"
        if self.noun != ROWS:
            one = f"{self.noun.singular} flips when all rows of that {self.noun.singular} are left out"
        if some in (0, n):
            return f"Of {self.points.count(n)}, {'all have' if some else 'none has'} a decision that some single {one}."
        have = "1 has" if some == 1 else f"{some:,} have"
        return f"Of {self.points.count(n)}, {have} a decision that some single {one}; for {n - some:,} none does."

    def beside(self) -> str:
        """Say in a sentence how many decisions of the base learner do, and of the bagged one there; "" if not known."""
        if self.base is None:
            return ""
        n, many = len(self.base), len(self.by_row)
        where = f"At the first {n:,} of them" if n < len(self) else "At the same " + self.points.plural
        some = f"{self.n_refits:,} of " if self.n_refits < many else ""
        number = f"each of {some}the {self.noun.count(many)}"
        same = self.by_point[:n] if self.same is None else self.same
        before, after = int((self.base > 0).sum()), int((same > 0).sum())
        rest = f", and the bagged model, without each of the same {self.noun.plural}, has {after:,}"
        such = "such decision" if before == 1 else "such decisions"
        return f"{where} the base learner, refitted without {number}, has {before:,} {such}{rest}."

    def most_flips(self, k: int = 5) -> tuple[np.ndarray, np.ndarray]:
        """Return what the rows, or units, that flip most decisions are called, and how many each does.

        Parameters
        ----------
        k : int, default=5
            The number of rows, or units; fewer if fewer flip any.

        Returns
        -------
        names : ndarray
        counts : ndarray of int
        """
        order = np.argsort(-self.by_row, kind="stable")[:k]
        order = order[self.by_row[order] > 0]
        return self.names.of_rows(order), self.by_row[order]

    def explain(self) -> str:
        """Say in sentences how many decisions hinge on one row, before bagging and after."""
        return " ".join(filter(None, [self.conclusion(), self.beside()]))


def _refitted(base: Perturbations | None, same: np.ndarray) -> tuple[np.ndarray | None, int, np.ndarray | None]:
    return (None, 0, None) if base is None else (base.flips().sum(axis=0), len(base.rows), same[: len(base.prediction)])
