"""Suspicious rows: which move the predictions beyond the noise of the bags, and which are likely wrong."""

import html
import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import chi2, norm

from stablebag._checks import check_real
from stablebag._wording import ROWS, Noun, number, paragraphs, preformatted, printable
from stablebag.learning.bagged_models import check_bagged
from stablebag.learning.outputs import one_hot
from stablebag.measuring.leave_one_out import chosen_rows, left_out_at_rows, perturbations_of
from stablebag.measuring.names import Names
from stablebag.resampling.row_ids import plain

_NORMAL = 1.4826  # the standard deviation of a normal law, in units of the median distance from its middle
_ROUNDING = 64 * np.finfo(float).eps  # of a prediction: a move that is no larger is none
_LEAST = 0.03  # bags: a class that none of k bags predicts has the probability 0.03 / k, and not 0
_MOST_WRONG = 0.05  # of the rows of a classifier that can be called wrong
_MOST_OF_A_CLASS = 0.2  # of the rows of a class
_BULK = (0.1, 0.5)  # probabilities of rows that are neither sure nor likely wrong
_SHOWN = 10


class Suspect(NamedTuple):
    """A row, or unit, that stands out.

    Attributes
    ----------
    number : int
        Its number among the training rows, or units.
    name : object
        What it is called.
    value : float
        How far it moves the predictions, as a root mean square over points, of a classifier's probabilities as the
        distance between the vectors of all classes; or, of what is likely wrong, the target
        minus what is predicted without it, and for a classifier the probability of its class without it.
    noise : float
        Of what moves predictions, the noise of the bags in `value`; of what is likely wrong, the usual size of such a
        residual, and for a classifier the probability of the class that the others predict.
    chance : float
        The chance of as much, or more, if there were only noise; of a class, the share of the rows with probabilities
        up to this one that is expected there by chance.
    """

    number: int
    name: Any
    value: float
    noise: float
    chance: float


@dataclass(frozen=True, eq=False)
class Suspects:
    """The rows, or units, that stand out, the most suspicious first.

    Made by `suspects`.

    Attributes
    ----------
    moving : tuple of Suspect
        Those that move the predictions beyond the noise of the bags.
    wrong : tuple of Suspect
        Those that are likely wrong: far from what the bags without them predict. Of a unit, its worst row.
    noise : float
        The noise of the bags in how far a row moves the predictions, as a root mean square over rows.
    usual : float
        The usual size of a residual; NaN for a classifier.
    false_share : float
        The declared error rate: the share of each list that is expected to be there by chance alone.
    noun : Noun
        What they are.
    n_looked_at : int or None
        The number of rows, drawn at random, among which those that are likely wrong were looked for; None if all.
    """

    moving: tuple[Suspect, ...]
    wrong: tuple[Suspect, ...]
    noise: float
    usual: float
    false_share: float
    noun: Noun = ROWS
    n_looked_at: int | None = None

    @property
    def among(self) -> str:
        """Among how many rows those that are likely wrong were looked for, in words; "" if among all."""
        return "" if self.n_looked_at is None else f", among {ROWS.count(self.n_looked_at)} drawn at random"

    def explain(self) -> str:
        """Explain in sentences how many stand out, in what, and how many are expected to do so by chance."""
        none, noise = f"No {self.noun.singular}", f"beyond the noise of the bags ({number(self.noise)})"
        n_moving, n_wrong = (self.noun.count(len(found)) for found in (self.moving, self.wrong))
        moving = f"{n_moving} {_one_or_more(self.moving, 'moves', 'move')}" if self.moving else f"{none} moves"
        wrong = f"{none} stands out as likely wrong{self.among}."
        if self.wrong:
            are, it = _one_or_more(self.wrong, "is", "are"), _one_or_more(self.wrong, "it", "them")
            reason = f"what the bags without {it} predict is far from the target"
            if self._of_classes:
                reason = f"the bags without {it} hardly ever predict that class"
            wrong = f"{n_wrong} {are} likely wrong{self.among}: {reason}."
        chance = f"About {self.false_share:.0%} of such a list would be there by chance."
        return paragraphs([f"{moving} predictions {noise}.", wrong, *([chance] if self.moving or self.wrong else [])])

    def __str__(self) -> str:
        return self.explain()

    def _repr_html_(self) -> str:
        """For notebooks: how many stand out, and the first of them."""
        of_classes = ("probability of its class", "of the likeliest class")
        beside = of_classes if self._of_classes else ("off by", "usual size")
        moving = self._table(self.moving, ("moves predictions by", "noise of the bags"))
        return f"{preformatted(self.explain())}{moving}{self._table(self.wrong, beside)}"

    @property
    def _of_classes(self) -> bool:
        return math.isnan(self.usual)

    def _table(self, found: tuple[Suspect, ...], columns: tuple[str, str]) -> str:
        head = "".join(f"<th>{html.escape(column)}</th>" for column in (self.noun.singular, *columns))
        lines = "".join(
            f"<tr><th>{html.escape(printable(one.name))}</th><td>{number(one.value)}</td><td>{number(one.noise)}</td></tr>"
            for one in found[:_SHOWN]
        )
        more = f"<p>and {len(found) - _SHOWN:,} more</p>" if len(found) > _SHOWN else ""
        return f"<table><tr>{head}</tr>{lines}</table>{more}" if found else ""


def _one_or_more(found: tuple[Suspect, ...], one: str, more: str) -> str:
    return one if len(found) == 1 else more


def suspects(model: Any, X: Any, *, false_share: float = 0.1, rows: Any = None, random_state: Any = None) -> Suspects:
    """Find the training rows that move predictions beyond the noise of the bags, and those that are likely wrong.

    The two are not the same. A row *moves predictions* if the bags without it predict something else at the points X;
    it is *likely wrong* if they predict something else at the row itself than its target. A wrong target among many
    rows like it moves little and is found by the second list.

    The lists are cut by the rule of Benjamini and Hochberg (1995), so that about a share `false_share` of what is
    listed is expected to be there by chance alone, if

    - the averages over bags are normal, for those that move predictions: without any effect, the squared move of a row
      is then a sum of chi-squared variables, whose first three moments the p-values have;
    - for a regressor, the residuals without the row are normal, with the spread that most of them have (the median
      distance from their median): long tails put more rows on the list;
    - for a classifier, the probabilities without the row are right, up to a factor that is read off the rows with
      probabilities between 0.1 and 0.5: it is then known how many rows would have a class of as small a probability.
      No class of more than 0.1 is listed, and no rows if they were more than 5 % of all, or more than 20 % of their
      class: then it is the model that is wrong, or too sure, as those are that only vote, or does not know the class.

    Parameters
    ----------
    model : BaggedRegressor or BaggedClassifier
        A fitted model.
    X : array-like, sparse array or data frame of shape (n_points, n_features), or BagPredictions
        The points at which predictions move, or what `model.predict_once` predicted at them.
    false_share : float, default=0.1
        The declared error rate, between 0 and 1.
    rows : int, array-like of int or None, default=None
        The training rows among which those that are likely wrong are looked for, by position, or how many of them to
        draw at random; None is all. All bags predict there, which takes long for very many rows.
    random_state : None, int, RandomState or Generator, default=None
        Which rows are drawn if `rows` is a number.

    Returns
    -------
    Suspects

    Examples
    --------
    A wrong target in row 7 of the diabetes data:

    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> from stablebag import BaggedRegressor, suspects
    >>> X, y = load_diabetes(return_X_y=True)
    >>> y[7] = 3 * y.max()
    >>> tree = DecisionTreeRegressor(max_depth=4)
    >>> model = BaggedRegressor(tree, n_bags=300, random_state=0).fit(X[:400], y[:400])
    >>> found = suspects(model, X[400:])
    >>> [suspect.name for suspect in found.wrong]
    [7]
    >>> print(found)
    5 rows move predictions beyond the noise of the bags (4.102).
    1 row is likely wrong: what the bags without it predict is far from the target.
    About 10% of such a list would be there by chance.
    """
    check_bagged(model, "suspects")
    reason = "it is the share of the lists that may be there by chance."
    share = check_real(false_share, "false_share", "suspects", high=1.0, open_low=True, reason=reason)
    chosen = chosen_rows(rows, len(model.y_), ROWS, random_state, "suspects")
    moving, noise = _moving(model, X, share)
    wrong, usual = (_unlikely_classes if model.average_.classes is not None else _far_residuals)(model, share, chosen)
    n_looked_at = None if chosen is None else len(chosen)
    return Suspects(moving, wrong, noise, usual, share, model.units_.noun, n_looked_at)


def _moving(model: Any, X: Any, share: float) -> tuple[tuple[Suspect, ...], float]:
    average, raw = model.average_, model.raw(X)
    moved = perturbations_of(average, raw)
    moves = (moved if moved.prediction.ndim == 1 else moved.in_norm()).row_norms()
    moves[moves <= _ROUNDING * np.abs(moved.prediction).max(initial=0.0)] = 0.0  # by rows in no bag, say
    drawn = getattr(average, "drawn", False)
    if drawn:
        outputs = average.outputs(raw)
        unit = float(np.ptp(outputs)) or 1.0  # a unit whose squares stay floats
        cumulants = _cumulants((outputs - outputs.min()) / unit)
        extra = 1 / average.bags.n_without - 1 / len(average.bags)
        noise = unit * np.sqrt(extra * cumulants[0])
        chances = _chance((moves / unit) ** 2, extra, cumulants)
    else:  # all bags have no noise
        noise, chances = np.zeros(len(moves)), np.where(moves > 0, 0.0, 1.0)
    order = np.argsort(-moves, kind="stable")
    listed = order[_is_listed(chances, share)[order]]
    names = Names.of(model.units_).of_rows(listed)
    found = zip(
        listed.tolist(), names, moves[listed].tolist(), noise[listed].tolist(), chances[listed].tolist(), strict=True
    )
    unit = float(noise.max()) or 1.0
    return tuple(Suspect(*each) for each in found), unit * float(np.sqrt(np.mean((noise / unit) ** 2)))


def _cumulants(outputs: np.ndarray) -> tuple[float, float, float]:
    """The first three cumulants of the mean square over points of a centred normal vector with the bags' covariance."""
    flat = outputs.reshape(len(outputs), -1)
    centred = (flat - flat.mean(axis=0)) / math.sqrt(outputs.shape[1] * max(1, len(flat) - 1))
    gram = centred @ centred.T if len(flat) < flat.shape[1] else centred.T @ centred
    return float(np.trace(gram)), 2 * float((gram**2).sum()), 8 * float(((gram @ gram) * gram).sum())


def _chance(squares: np.ndarray, extra: np.ndarray, cumulants: tuple[float, float, float]) -> np.ndarray:
    """The chance of as large a mean square by noise alone: a chi-squared law with the same three moments."""
    mean, variance, third = cumulants
    if variance == 0:
        return np.where(squares > 0, 0.0, 1.0)
    freedom = 8 * variance**3 / third**2
    standard = (squares / np.maximum(extra, np.finfo(float).tiny) - mean) / math.sqrt(variance)
    return np.asarray(chi2.sf(standard * math.sqrt(2 * freedom) + freedom, freedom))


def _is_listed(p_values: np.ndarray, share: float) -> np.ndarray:
    """The rule of Benjamini and Hochberg: the longest list of which about this share is expected by chance."""
    ordered = np.sort(p_values)
    within = np.flatnonzero(ordered <= share * np.arange(1, len(ordered) + 1) / len(ordered))
    return p_values <= (ordered[within[-1]] if len(within) else -1.0)


def _far_residuals(model: Any, share: float, rows: np.ndarray | None) -> tuple[tuple[Suspect, ...], float]:
    numbers = np.arange(len(model.y_)) if rows is None else rows
    residuals = model.y_[numbers] - left_out_at_rows(model, undefined="nan", rows=rows)
    known = np.flatnonzero(np.isfinite(residuals))
    middle = float(np.median(residuals[known]))
    usual = _NORMAL * float(np.median(np.abs(residuals[known] - middle)))
    distance = np.abs(residuals[known] - middle)
    chances = np.where(distance > 0, 0.0, 1.0) if usual == 0 else 2 * norm.sf(distance / usual)
    order = np.argsort(-distance, kind="stable")
    listed = order[_is_listed(chances, share)[order]]
    found = ((int(numbers[known[k]]), float(residuals[known[k]]), usual, float(chances[k])) for k in listed)
    return _of_units(model, found), usual


def _unlikely_classes(model: Any, share: float, rows: np.ndarray | None) -> tuple[tuple[Suspect, ...], float]:
    without = left_out_at_rows(model, undefined="nan", rows=rows)
    there = np.isfinite(without).all(axis=1)
    known, chances = np.flatnonzero(there) if rows is None else rows[there], without[there]
    own = (chances * one_hot(model.y_[known], model.classes_)).sum(axis=1)
    order = np.argsort(own, kind="stable")
    bags = model.bags_.n_without[model.units_.of_rows[known], None] if model.has_single_bags else math.inf
    expected = _expected(chances + _LEAST / bags, own + _LEAST / np.ravel(bags))
    expected = expected / np.searchsorted(own[order], own, side="right")
    within = np.flatnonzero((expected[order] <= share) & (own[order] <= _BULK[0]))
    listed = order[: within[-1] + 1] if len(within) else order[:0]
    _, of, sizes = np.unique(model.y_[known], return_inverse=True, return_counts=True)
    accused = np.bincount(of[listed], minlength=len(sizes))
    listed = listed[accused[of[listed]] <= _MOST_OF_A_CLASS * sizes[of[listed]]]  # the model does not know the others
    if len(listed) > _MOST_WRONG * len(known):  # it is then the model that is wrong
        listed = listed[:0]
    found = ((int(known[k]), float(own[k]), float(chances[k].max()), float(expected[k])) for k in listed)
    return _of_units(model, found), math.nan


def _expected(chances: np.ndarray, levels: np.ndarray) -> np.ndarray:
    """How many rows would have a class of at most each probability, if most of the probabilities are right.

    They are right if as many rows as expected have a class of a probability between 0.1 and 0.5; bagged learners are
    seldom as sure as they could be, so that there are fewer, and fewer are then expected below 0.1 as well.
    """
    small = np.sort(chances.ravel())
    sums = np.concatenate([[0.0], np.cumsum(small)])

    def below(level: Any) -> Any:
        return sums[np.searchsorted(small, level, side="right")]

    low, high = _BULK
    there, due = float(((levels > low) & (levels <= high)).sum()), float(below(high) - below(low))
    return np.asarray(below(levels) * min(1.0, (there + 1) / (due + 1)))


def _of_units(model: Any, rows: Any) -> tuple[Suspect, ...]:
    """Of each unit its worst row, which comes first."""
    units = model.units_
    found: dict[int, list[float]] = {}
    for row, *numbers in rows:
        found.setdefault(int(units.of_rows[row]), numbers)
    numbers = np.fromiter(found, dtype=np.intp, count=len(found))
    names = map(plain, Names.of(units).of_rows(numbers))
    return tuple(Suspect(k, name, *found[k]) for k, name in zip(numbers.tolist(), names, strict=True))
