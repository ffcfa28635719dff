"""Which rows flip which decisions: measured for the argmax and for label sets, from the bags already fitted."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from stablebag._checks import check_choice, check_integer, read_only, refuse_value
from stablebag._wording import Noun, count_points, paragraphs, preformatted
from stablebag.deciding.inflated_argmax import INFLATED
from stablebag.deciding.label_sets import LabelSets, asked_once, predict_set
from stablebag.measuring.leave_one_out import left_out_blocks
from stablebag.measuring.names import Names
from stablebag.measuring.perturbations import flipped

RULES = ("argmax", *reversed(INFLATED))


@dataclass(frozen=True, eq=False, repr=False)
class SelectionStability:
    """Which rows flip the decision at some points, measured, beside what is proved.

    Made by `selection_stability`.

    Attributes
    ----------
    flips : dict of str to ndarray of bool, shape (n_rows, n_points)
        For the rules "argmax", "margin" and "inflated-argmax": whether without the row the decision has no label in
        common with the one with all rows.
    sets : LabelSets
        The sets by the inflated argmax, with the epsilon that both rules used, and what is proved about them.
    names : Names
        What rows and points are called.
    noun : Noun
        What is left out: rows, or units such as patients.
    is_noisy : bool, default=True
        Whether bags were drawn at random, so that some flips are their noise; not if all bags were listed.
    """

    flips: dict[str, np.ndarray]
    sets: LabelSets
    names: Names
    noun: Noun
    is_noisy: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "flips", {rule: read_only(flips) for rule, flips in self.flips.items()})

    def delta(self, rule: str = "argmax") -> np.ndarray:
        """Return the share of the rows that flip the decision at each point.

        Parameters
        ----------
        rule : {"argmax", "margin", "inflated-argmax"}, default="argmax"
            The rule of the decision.

        Returns
        -------
        ndarray of shape (n_points,)
        """
        shares: np.ndarray = self._of(rule, "SelectionStability.delta").mean(axis=0)
        return shares

    def rows_that_flip(self, point: int, rule: str = "argmax") -> np.ndarray:
        """Return which rows, or units, flip the decision at a point, one at a time, by name.

        Parameters
        ----------
        point : int
            The number of the point.
        rule : {"argmax", "margin", "inflated-argmax"}, default="argmax"
            The rule of the decision.

        Returns
        -------
        ndarray
            Their names, or their numbers if they have none; empty if no row flips it.
        """
        owner = "SelectionStability.rows_that_flip"
        flips, point = self._of(rule, owner), check_integer(point, "point", owner, minimum=0)
        if point >= flips.shape[1]:
            raise refuse_value("point", owner, f"below the number of points, {flips.shape[1]}", point)
        return self.names.of_rows(np.flatnonzero(flips[:, point]))

    def to_frame(self) -> Any:
        """Return a pandas DataFrame with a line per point: the share of rows that flip it by each rule."""
        import pandas as pd

        return pd.DataFrame({rule: self.delta(rule) for rule in RULES}, index=self.names.points)

    def explain(self) -> str:
        """Explain in sentences what was measured, and what is proved."""
        n_rows, n_points = self.flips["argmax"].shape
        noisy = " A flip may be noise of the bags: refit without the row to be sure." if self.is_noisy else ""
        sentences = [
            f"Measured at {count_points(n_points)} by leaving out each of {n_rows:,} rows, from the bags already "
            f"fitted.{noisy}"
        ]
        for rule in RULES:
            at, worst = self.flips[rule].any(axis=0).sum(), int(self.flips[rule].sum(axis=0).max(initial=0))
            most = "1 row does" if worst == 1 else f"{worst:,} rows do"
            flipped_at = f"some row flips the decision at {at:,} of {n_points:,}; at the worst point, {most}"
            sentences.append(f"- {rule}: {flipped_at if at else 'no row flips any decision'}.")
        sentences.append(self.sets.guarantee)
        return paragraphs(self.noun.in_place_of_rows(sentence) for sentence in sentences)

    def __str__(self) -> str:
        return self.explain()

    def __repr__(self) -> str:
        return self.explain()

    def _repr_html_(self) -> str:
        """For notebooks."""
        return preformatted(self.explain())

    def _of(self, rule: str, owner: str) -> np.ndarray:
        check_choice(rule, "rule", owner, RULES)
        return self.flips[rule]


def selection_stability(model: Any, X: Any, *, epsilon: float | None = None, delta: float = 0.05) -> SelectionStability:
    """Measure whether any one training row flips a prediction, and which, from the bags already fitted.

    The decision without row i is made from the average over the bags that do not contain it, with the same epsilon. It
    is compared with the decision with all rows at each point: the label with the highest probability, and the sets by
    the margin rule and by the inflated argmax. If the model was fitted with groups, units are left out in place of
    rows.

    Parameters
    ----------
    model : BaggedClassifier
        A fitted model.
    X : array-like, sparse array or data frame of shape (n_points, n_features), or BagPredictions
        The points at which to predict, or what `model.predict_once` predicted at them.
    epsilon : float or None, default=None
        As in `predict_set`: None takes that of the certificate of these bags.
    delta : float, default=0.05
        As in `predict_set`.

    Returns
    -------
    SelectionStability

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from stablebag import BaggedClassifier, selection_stability
    >>> X, y = load_wine(return_X_y=True)
    >>> model = BaggedClassifier(n_bags=500, random_state=0).fit(X[::2], y[::2])
    >>> measured = selection_stability(model, X[1::2], delta=0.1)
    >>> print(measured)  # doctest: +ELLIPSIS
    Measured at these 89 points by leaving out each of 89 rows, from the bags already fitted. A
    flip may be noise of the bags: refit without the row to be sure.
    - argmax: some row flips the decision at 3 of 89; at the worst point, 2 rows do.
    - margin: no row flips any decision.
    - inflated-argmax: no row flips any decision.
    Proved for these 500 bags as they were drawn and each of these 89 points: for all but at most
    8 of the 89 rows (delta = 0.1), the set from the bags without the row, with the same epsilon,
    has a label in common with this one. ...
    >>> point = int(measured.delta().argmax())
    >>> measured.rows_that_flip(point), measured.rows_that_flip(point, "inflated-argmax")
    (array([33, 49]), array([], dtype=int64))
    """
    points = asked_once(model, X, "selection_stability")
    sets = predict_set(model, points, epsilon=epsilon, delta=delta)
    each = np.asarray(sets.epsilon)
    flips = {rule: np.empty((len(model.units_), len(sets)), dtype=bool) for rule in RULES}
    for some, prediction, left_out in left_out_blocks(model, points):
        for rule, flips_by_rule in flips.items():
            chosen = None if rule == "argmax" else partial(INFLATED[rule], epsilon=each[some])
            flips_by_rule[:, some] = flipped(prediction, left_out, chosen)
    names = Names.of(model.units_, model.index_of(X), model.classes_)
    return SelectionStability(flips, sets, names, model.units_.noun, is_noisy=not model.derandomized_)
