"""Suspicious rows: a test of which rows move predictions beyond bagging noise, and a ranking of rows worth a look."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from stablebag._checks import check_integer, check_real
from stablebag._seeds import Seeds
from stablebag._wording import ROWS, Noun, Result, html_table, number, paragraphs, preformatted, printable
from stablebag.measuring.leave_one_out import chosen_rows, left_out_at_rows, perturbations_of
from stablebag.measuring.perturbations import Names, Perturbations
from stablebag.models.ensemble import check_bagged
from stablebag.models.fitted import fitted
from stablebag.models.learners import one_hot
from stablebag.resampling.bags import Bags, RowPatterns
from stablebag.resampling.units import plain

_NORMAL = 1.4826  # the standard deviation of a normal law, in units of the median distance from its middle
_ROUNDING = 64 * np.finfo(float).eps  # of a prediction: a smaller change is none
_BEYOND = 2.0  # times the noise: a change of the range that moves predictions as far is listed
_NEARBY = 50  # rows whose residuals give the usual size of a residual
_SMOOTHING = 0.1  # added to probabilities, so that none is divided by one near zero
_NEARLY = 0.001  # a probability of its own class that is less below the usual one is not low
_TIES = 1e-5  # relative: sums of 32-bit floats that differ by less are equal

# The test permutes outputs over bags: how often, and in how many directions, hangs on the work that this takes.
_WORK = 2 * 10**10  # multiplications, a few seconds
_SPARSE = 8  # a multiplication with a sparse matrix takes as long as so many others
_COMPONENTS = (4, 20)  # the fewest and the most principal components of the outputs
_MOST_COLUMNS = 500  # numbers that each bag predicts, from which the components are found
_FIRST = 1000  # rows whose thresholds are stepped down one by one
_BLOCK = 2**22  # numbers at once

RANKING = "This is a ranking: clean data have one too."
NONE_FAR = "The bags without a row predict its target exactly, for every row"
NONE_UNLIKELY = "The bags without a row give its class about the usual probability, for every row"


class InfluentialRow(NamedTuple):
    """A row, or group, that moves predictions beyond bagging noise.

    Attributes
    ----------
    number : int
        Its number among the training rows, or groups.
    name : object
        What it is called.
    change : float
        How far leaving it out moves the predictions, as a root mean square over points; for a classifier, of the
        distance between the vectors of probabilities.
    noise : float
        The bagging noise in `change`: its root mean square if the row had no effect.
    p_value : float
        The p-value, adjusted for having looked at all rows; 0 where bags have no noise, or where leaving out the row
        changes the range of the predictions and that alone moves them by more than twice the noise.
    """

    number: int
    name: Any
    change: float
    noise: float
    p_value: float


class UnusualRow(NamedTuple):
    """A row whose target is far from what the other rows predict. Of a group, its farthest row.

    Attributes
    ----------
    number : int
        Its number among the training rows, or groups.
    name : object
        What it is called.
    value : float
        The target minus the prediction without the row; for a classifier, the probability of its class without it.
    usual : float
        The usual size of such a residual among similar rows; for a classifier, the mean of such probabilities among
        the rows of its class.
    distance : float
        What the ranking is by: how many times the usual size the residual is. For a classifier, how many times below
        what is usual in its class the probability of its class is, less if no other class gets what is usual in it.
    """

    number: int
    name: Any
    value: float
    usual: float
    distance: float


@dataclass(frozen=True, eq=False, repr=False)
class Suspects(Result):
    """The rows, or groups, that move predictions beyond bagging noise, and those that are worth a look.

    Made by `suspects`.

    Attributes
    ----------
    influential : tuple of InfluentialRow
        Those that move the predictions beyond bagging noise, the largest change first. If no row had an effect, this
        list would have any row in it with a chance of at most `alpha`.
    unusual : tuple of UnusualRow
        Those that are farthest from what the other rows predict, the farthest first. It is a ranking: data without
        any mistake have one, too. Rows that are predicted exactly, and those whose class gets at least about its usual
        probability, are not in it.
    noise : float
        The bagging noise in how far a row moves the predictions, as a root mean square over rows.
    usual : float
        The usual size of a residual; NaN for a classifier.
    alpha : float
        The chance, at most, that any row is in `influential` if no row has an effect.
    noun : Noun
        What they are.
    n_looked_at : int or None
        The number of rows, drawn at random, that were ranked; None if all.
    n_points : int or None
        The number of points at which predictions may move; None if that is not known.
    """

    influential: tuple[InfluentialRow, ...]
    unusual: tuple[UnusualRow, ...]
    noise: float
    usual: float
    alpha: float = 0.05
    noun: Noun = ROWS
    n_looked_at: int | None = None
    n_points: int | None = None

    @property
    def at(self) -> str:
        """At how many points predictions may move, in words; "" if that is not known."""
        if self.n_points is None:
            return ""
        return f" at {self.n_points:,} test {'point' if self.n_points == 1 else 'points'}"

    @property
    def nothing_unusual(self) -> str:
        """That no row is worth a look, in a sentence."""
        return f"{NONE_UNLIKELY if self._of_classes else NONE_FAR}{self.among}."

    @property
    def among(self) -> str:
        """Among how many rows the ranking is, in words; "" if among all."""
        return "" if self.n_looked_at is None else f" among {ROWS.count(self.n_looked_at)} drawn at random"

    @property
    def claim(self) -> str:
        """What the list of those that move predictions claims; "" if it is empty, or if there is no noise."""
        if not self.influential or self.noise == 0:
            return ""
        rate = f"{100 * self.alpha:.3g}%"
        return f"If no {self.noun.singular} had an effect, the chance of listing any would be at most {rate}."

    @property
    def influence_summary(self) -> str:
        """How many move predictions, in a sentence."""
        if not self.influential:
            clearly = f" clearly beyond bagging noise ({number(self.noise)})" if self.noise else ""
            return f"No {self.noun.singular} moves predictions{self.at}{clearly}."
        verb = "moves" if len(self.influential) == 1 else "move"
        moves = f"{self.noun.count(len(self.influential))} {verb} predictions{self.at}"
        return f"{moves} beyond bagging noise ({number(self.noise)})." if self.noise else f"{moves}."

    def explain(self) -> str:
        """Explain in sentences how many move predictions, what that claims, and which are worth a look."""
        sentences = [f"{self.influence_summary} {self.claim}".rstrip()]
        if self.unusual:
            first = self.unusual[0]
            if self._of_classes:
                its = "its class" if self.noun == ROWS else "the class of one row"
                far = f"{its} has {first.value:.1%}, where rows of that class usually have {first.usual:.1%}"
            elif math.isinf(first.distance):
                far = f"off by {number(first.value)}, and most are not off at all"
            else:
                far = f"{number(first.distance)} times as far as usual"
            total = f"{self.noun.count(len(self.unusual))} farthest from what the other {self.noun.plural} predict"
            name = f"{self.noun.singular} {printable(plain(first.name))}"
            sentences.append(f"Worth a look, {total}{self.among}: first {name} ({far}). {RANKING}")
        else:
            sentences.append(self.nothing_unusual)
        return paragraphs(sentences)

    def to_frame(self) -> Any:
        """Return a pandas DataFrame with a line for each row, or group, that is in one of the two lists.

        Its index has their names, and `rank` is the place in the ranking, from 1. A cell is NaN where a row is in the
        other list only.
        """
        import pandas as pd

        value, usual = ("probability", "usual_probability") if self._of_classes else ("residual", "usual_residual")
        lines: dict[int, dict[str, float]] = {}
        for place, far in enumerate(self.unusual, 1):
            lines[far.number] = {"rank": place, value: far.value, usual: far.usual, "distance": far.distance}
        for one in self.influential:
            lines.setdefault(one.number, {}).update(change=one.change, noise=one.noise, p_value=one.p_value)
        names = {each[0]: each[1] for each in (*self.unusual, *self.influential)}
        columns = ["rank", value, usual, "distance", "change", "noise", "p_value"]
        index = pd.Index([names[key] for key in lines], name=self.noun.singular)
        return pd.DataFrame(list(lines.values()), index=index, columns=columns, dtype=float)

    def __repr__(self) -> str:
        return self.explain()

    def _repr_html_(self) -> str:
        """For notebooks: the sentences, and the first of both lists."""
        head, beside = self.noun.singular, ("residual", "usual size", "times the usual size")
        if self._of_classes:
            beside = ("probability of its class", "usual in its class", "distance")
        first: dict[str, Any] = {"moves predictions by": [one.change for one in self.influential]}
        first["bagging noise"] = [one.noise for one in self.influential]
        second: dict[str, Any] = {name: [one[place] for one in self.unusual] for place, name in enumerate(beside, 2)}
        tables = [
            html_table(head, [one.name for one in found], columns)
            for found, columns in ((self.influential, first), (self.unusual, second))
            if found
        ]
        return "".join([preformatted(self.explain()), *tables])

    @property
    def _of_classes(self) -> bool:
        return math.isnan(self.usual)


def suspects(
    model: Any, X: Any, *, k: int = 10, alpha: float = 0.05, rows: Any = None, random_state: Any = None
) -> Suspects:
    """Find the training rows that move predictions beyond bagging noise, and rank those that are worth a look.

    The two are not the same. A row *moves predictions* if the bags without it predict something else at the points X.
    It is *worth a look* if they predict something else at the row itself than its target. A wrong target among many
    rows like it moves little, and only the ranking shows it.

    **Which rows move predictions** is a test. If no row had an effect, what bags predict would not depend on which rows
    they contain, and any permutation of the predictions over the bags would be as likely. The largest standardized
    change over all rows is compared with what it is under such permutations, and thresholds are stepped down as in
    Westfall and Young (1993). The chance that any row is listed if none has an effect is at most `alpha`, for any
    learner, any output and any size of bags. This is proved for data in which no row has an effect. That rows without
    an effect are rarely listed next to rows with strong ones was only simulated (docs/measuring.md). Models that
    average all bags have no noise: every row that changes predictions is listed.

    **Which rows are worth a look** is a ranking, and claims no error rate. It lists `k` rows, also for clean data, or
    fewer if the others are predicted exactly, or if their class gets at least about its usual probability.

    - For a regressor, the residual without the row is divided by its usual size. This is made of the spread over the
      bags without the row, and of the median absolute residuals of all rows and of the 50 at which bags disagree as
      much.
    - For a classifier, the probability of each class without the row is divided by its mean over the rows of that
      class, after adding 0.1 to both. The distance is the largest of these ratios among the other classes, at most 1,
      divided by that of the row's own class. So rows of a rare class do not come first only because the model gives
      that class little probability.

    Parameters
    ----------
    model : BaggedRegressor or BaggedClassifier
        A fitted model.
    X : array-like, sparse array or data frame of shape (n_points, n_features), or BagPredictions
        The points at which predictions move, or what `model.predict_once` predicted at them.
    k : int, default=10
        How many rows, or groups, the ranking has at most.
    alpha : float, default=0.05
        The chance, at most, that any row is listed as moving predictions if no row has an effect; from 0.001 to 0.5.
    rows : int, array-like of int or None, default=None
        The training rows that are ranked, by position, or how many of them to draw at random; None is all. All bags
        predict there, which takes long for very many rows.
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
    >>> found = suspects(model, X[400:], k=3)
    >>> print(found)
    2 rows move predictions at 42 test points beyond bagging noise (4.102). If no row had an effect,
    the chance of listing any would be at most 5%.
    Worth a look, 3 rows farthest from what the other rows predict: first row 7 (9.17 times as far
    as usual). This is a ranking: clean data have one too.
    >>> found.to_frame().round(1)[["rank", "residual", "usual_residual", "distance", "change", "noise"]]
         rank  residual  usual_residual  distance  change  noise
    row
    7     1.0     890.0            97.0       9.2    16.3    4.2
    338   2.0     118.4            55.8       2.1     NaN    NaN
    77    3.0     111.3            56.9       2.0     NaN    NaN
    343   NaN       NaN             NaN       NaN    15.0    4.3
    """
    check_bagged(model, "suspects")
    k = check_integer(k, "k", "suspects", minimum=1)
    reason = "it is the chance of listing any row if none has an effect."
    alpha = check_real(alpha, "alpha", "suspects", low=0.001, high=0.5, reason=reason)
    chosen = chosen_rows(rows, len(fitted(model).y), ROWS, random_state, "suspects")
    moved = perturbations_of(fitted(model).average, fitted(model).raw(X))
    return find_suspects(model, X, moved, k=k, alpha=alpha, rows=chosen)


def find_suspects(
    model: Any, X: Any, moved: Perturbations, *, k: int = 10, alpha: float = 0.05, rows: np.ndarray | None = None
) -> Suspects:
    """Return what `suspects` does, of perturbations at X that were measured before."""
    moving, noise, n_points = _influential(model, X, moved, alpha)
    numbers = np.arange(len(fitted(model).y)) if rows is None else rows
    distances = _unlike_their_class if fitted(model).average.classes is not None else _far_residuals
    farthest, usual = distances(model, numbers, rows)
    n_looked_at = None if rows is None else len(rows)
    found = _of_groups(model, farthest, k)
    return Suspects(moving, found, noise, usual, alpha, model.units_.noun, n_looked_at, n_points)


# -------------------------------------------------------------------------------------------- who moves the predictions


def _influential(
    model: Any, X: Any, moved: Perturbations, alpha: float
) -> tuple[tuple[InfluentialRow, ...], float, int]:
    average, raw = fitted(model).average, fitted(model).raw(X)
    moves = (moved if moved.prediction.ndim == 1 else moved.in_norm()).row_norms()
    moves[moves <= _ROUNDING * np.abs(moved.prediction).max(initial=0.0)] = 0.0  # by rows in no bag, say
    noise, p_values = np.zeros(len(moves)), np.zeros(len(moves))  # all bags have no noise, nor have bags that agree
    outputs = average.outputs(raw) if getattr(average, "drawn", False) else np.zeros(1)
    if (unit := float(np.ptp(outputs))) > 0:  # a unit whose squares stay floats
        scaled = (outputs - outputs.min()) / unit
        extra = 1 / average.bags.n_without - 1 / len(average.bags)
        noise = unit * np.sqrt(extra * scaled.var(axis=0, ddof=1).sum() / scaled.shape[1])
        p_values = adjusted_p_values(average.bags, scaled.reshape(len(scaled), -1), alpha)
        for row in average.special_units:  # what the range does has no noise
            shift = (moved.left_out[row] - outputs[average.bags.without(row)].mean(axis=0)) / unit
            if unit * np.sqrt((shift**2).sum() / len(shift)) > _BEYOND * noise[row]:
                p_values[row] = 0.0
    p_values = np.where(moves > 0, p_values, 1.0)
    order = np.argsort(-moves, kind="stable")
    listed = order[p_values[order] <= alpha]
    names = Names.of(model.units_).of_rows(listed)
    found = zip(*(part.tolist() for part in (listed, moves[listed], noise[listed], p_values[listed])), strict=True)
    unit = float(noise.max()) or 1.0
    total = unit * float(np.sqrt(np.mean((noise / unit) ** 2)))
    moving = (InfluentialRow(row, plain(name), *others) for (row, *others), name in zip(found, names, strict=True))
    return tuple(moving), total, len(moved.prediction)


def adjusted_p_values(bags: Bags, outputs: np.ndarray, alpha: float = 0.05, random_state: Any = 0) -> np.ndarray:
    """Return for each row the p-value of "no row has an effect on what bags predict", adjusted for looking at all rows.

    Given which rows are in which bags, the outputs are then exchangeable over bags. With z_b the centred outputs of bag
    b, and k of B bags without row i, the statistic is |sum of z_b over the bags with i|^2 B / (k (B - k)), whose mean
    under permutations is the same for all rows. The largest over rows is compared with that under permutations
    (one-sided Monte-Carlo p-values, which are exact), and after each row whose p-value is small the next is compared
    with the largest over the rows that are left.
    """
    n_bags = len(bags)
    members = _RowsInBags.of(bags)
    least, most = max(39, math.ceil(2 / alpha) - 1), math.ceil(50 / alpha) - 1
    fewest, widest = _COMPONENTS
    width = int(np.clip(_WORK // (members.work * most), fewest, widest))
    scores = _components(outputs, width)
    if not scores.shape[1]:
        return np.ones(bags.n_samples)
    n_permutations = int(np.clip(_WORK // (members.work * scores.shape[1]), least, most))
    inside = members.n_inside
    scale = (n_bags / np.maximum(inside * (n_bags - inside), 1)).astype(np.float32)  # no row in all bags gets here

    def statistics(columns: np.ndarray) -> Iterator[tuple[slice, np.ndarray]]:
        """The statistic of each row under each permutation, by blocks of rows."""
        for lines, matrix in members.blocks(_BLOCK // columns.shape[1]):
            sums = np.asarray(matrix @ columns).reshape(matrix.shape[0], -1, scores.shape[1])
            yield lines, np.einsum("ijk,ijk->ij", sums, sums) * scale[lines, None]

    observed = np.concatenate([np.empty(0, np.float32), *(found[:, 0] for _, found in statistics(scores))])
    order = np.argsort(-observed, kind="stable")
    first, place = order[:_FIRST], np.full(len(observed), -1)
    place[first] = np.arange(len(first))
    of_first, of_others = np.empty((len(first), n_permutations)), np.zeros(n_permutations)
    rng = Seeds.from_random_state(random_state, "suspects").generator()
    step = max(1, 1000 // scores.shape[1])
    for start in range(0, n_permutations, step):
        some = slice(start, min(start + step, n_permutations))
        permuted = [scores[rng.permutation(n_bags)] for _ in range(some.start, some.stop)]
        for lines, found in statistics(np.ascontiguousarray(np.hstack(permuted))):
            there = place[lines] >= 0
            of_first[place[lines][there], some] = found[there]
            of_others[some] = np.maximum(of_others[some], found[~there].max(axis=0, initial=0.0))
    largest = np.maximum.accumulate(np.vstack([of_others, of_first[::-1]]), axis=0)[
        :0:-1
    ]  # of a row and those after it
    p_values = np.empty(len(observed))
    exceeded = (largest >= observed[first, None] * (1 - _TIES)).sum(axis=1)
    p_values[first] = np.maximum.accumulate((1 + exceeded) / (1 + n_permutations))
    rest = order[_FIRST:]
    exceeded = n_permutations - np.searchsorted(np.sort(of_others), observed[rest] * (1 - _TIES))
    p_values[rest] = np.maximum((1 + exceeded) / (1 + n_permutations), p_values[first[-1]] if len(rest) else 0.0)
    return members.by_row(p_values)


@dataclass(frozen=True, eq=False)
class _RowsInBags:
    """Which rows are in which bags, row by row, or of very many rows once for all that are in the same bags."""

    bags: Bags
    patterns: RowPatterns | None

    @classmethod
    def of(cls, bags: Bags) -> "_RowsInBags":
        return cls(bags, RowPatterns.of(bags) if bags.is_thin else None)

    @property
    def n_inside(self) -> np.ndarray:
        return len(self.bags) - self.bags.n_without if self.patterns is None else self.patterns.n_inside

    @property
    def work(self) -> int:
        """Multiplications for one column."""
        if self.patterns is None:
            return self.bags.n_samples * len(self.bags)
        return max(1, _SPARSE * int(self.patterns.n_inside.sum()))

    def blocks(self, n_lines: int) -> Iterator[tuple[slice, Any]]:
        n_lines = max(1, n_lines)
        if self.patterns is None:
            for rows, inside in self.bags.inclusion_blocks(max_bytes=n_lines * len(self.bags)):
                yield rows, inside.T.astype(np.float32)
            return
        matrix = self.patterns.matrix.astype(np.float32)
        for first in range(0, matrix.shape[0], n_lines):
            yield slice(first, first + n_lines), matrix[first : first + n_lines]

    def by_row(self, values: np.ndarray) -> np.ndarray:
        """The value of each row; 1 for rows in no bag."""
        if self.patterns is None:
            return values
        found = np.ones(self.bags.n_samples)
        found[self.patterns.rows] = np.repeat(values, self.patterns.counts)
        return found


def _components(outputs: np.ndarray, most: int) -> np.ndarray:
    """The first principal components of what bags predict, with a mean square of 1; they permute as the outputs do."""
    centred = outputs - outputs.mean(axis=0)
    if centred.shape[1] > _MOST_COLUMNS:  # random directions keep lengths, nearly
        centred = centred @ np.random.default_rng(0).normal(size=(centred.shape[1], _MOST_COLUMNS))
    values, directions = np.linalg.eigh(centred.T @ centred)
    kept = np.flatnonzero(values > _ROUNDING * max(values[-1], 0.0))[-most:]
    scores = centred @ directions[:, kept]
    return np.ascontiguousarray(scores / (np.sqrt((scores**2).sum() / len(scores)) or 1.0), dtype=np.float32)


# ------------------------------------------------------------------------------------------------- who is worth a look


class _Distances(NamedTuple):
    """Of each row that is ranked: its position, what it is far from, and how far; of equal distances, larger ties."""

    rows: np.ndarray
    values: np.ndarray
    usual: np.ndarray
    distances: np.ndarray
    ties: np.ndarray


def _far_residuals(model: Any, numbers: np.ndarray, chosen: np.ndarray | None) -> tuple[_Distances, float]:
    without = left_out_at_rows(model, undefined="nan", rows=chosen)
    known = np.flatnonzero(np.isfinite(without))
    targets = fitted(model).y[numbers[known]]
    rounding = _ROUNDING * np.abs(targets).max(initial=0.0)
    residuals = _beyond(targets - without[known], rounding)
    spread = _beyond(fitted(model).spread_at_rows(chosen)[known], rounding)
    usual, general = usual_residuals(residuals, without[known], spread)
    sizes = np.abs(residuals)
    with np.errstate(divide="ignore", invalid="ignore"):  # infinite where most residuals are zero
        distances = np.where(sizes > 0, sizes / usual, 0.0)
    return _Distances(numbers[known], residuals, usual, distances, sizes), general


def _beyond(values: np.ndarray, rounding: float) -> np.ndarray:
    return np.where(np.abs(values) > rounding, values, 0.0)


def usual_residuals(
    residuals: np.ndarray, predicted: np.ndarray, spread: np.ndarray | None
) -> tuple[np.ndarray, float]:
    """Return the usual size of each residual, and that of all.

    It is the root of a sum of squares: of the spread over the bags without the row; and of robust sizes of residuals,
    averaged, of all rows and of those other rows that are most similar in that spread, or else in what is predicted.
    """
    sizes, extra = np.abs(residuals), np.zeros(len(residuals)) if spread is None else spread
    general = _NORMAL * float(np.median(sizes))
    n, order = len(sizes), np.argsort(predicted if spread is None else spread, kind="stable")
    n_nearby, local = min(_NEARBY, n - 1), np.full(n, general)
    if n_nearby:
        windows = np.lib.stride_tricks.sliding_window_view(sizes[order], n_nearby + 1)
        for start in range(0, n, _BLOCK // 64):
            places = np.arange(start, min(start + _BLOCK // 64, n))
            first = np.clip(places - n_nearby // 2, 0, n - n_nearby - 1)
            others = windows[first][np.arange(n_nearby + 1) != (places - first)[:, None]].reshape(-1, n_nearby)
            local[order[places]] = _NORMAL * np.median(others, axis=1)
    unit = max(general, float(local.max()), float(extra.max())) or 1.0
    squares = ((local / unit) ** 2 + (general / unit) ** 2) / 2 + (extra / unit) ** 2
    return unit * np.sqrt(squares), general


def _unlike_their_class(model: Any, numbers: np.ndarray, chosen: np.ndarray | None) -> tuple[_Distances, float]:
    without = left_out_at_rows(model, undefined="nan", rows=chosen)
    known = np.flatnonzero(np.isfinite(without).all(axis=1))
    member = one_hot(fitted(model).y[numbers[known]], model.classes_)
    own, usual, distances, ties = against_class_levels(without[known], member)
    distances = np.where(own < usual - _NEARLY, distances, 0.0)
    return _Distances(numbers[known], own, usual, distances, ties), math.nan


def against_class_levels(probabilities: np.ndarray, member: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return of each row the probability of its class, its mean in that class, how far it is, and what breaks ties.

    Each class's probability is divided by its mean among the rows of that class, after adding 0.1 to both. The distance
    is the largest such ratio among other classes, at most 1, over that of the row's class; that largest breaks ties.
    """
    member = np.asarray(member, dtype=bool)
    own = probabilities[member]
    sizes = member.sum(axis=0)
    levels = (probabilities * member).sum(axis=0) / np.maximum(sizes, 1)
    levels[sizes == 0] = own.mean()
    relative = (probabilities + _SMOOTHING) / (levels + _SMOOTHING)
    others = np.where(member, 0.0, relative).max(axis=1)
    return own, member @ levels, np.minimum(others, 1.0) / relative[member], others


def _of_groups(model: Any, found: _Distances, k: int) -> tuple[UnusualRow, ...]:
    """The k farthest rows; of each group its farthest row."""
    order = np.lexsort((-found.ties, -found.distances))
    order = order[found.distances[order] > 0]  # those that are predicted exactly, or as usual, are not far
    groups = model.units_.of_rows[found.rows[order]]
    _, first = np.unique(groups, return_index=True)
    order = order[np.sort(first)[:k]]
    numbers = model.units_.of_rows[found.rows[order]]
    names = map(plain, Names.of(model.units_).of_rows(numbers))
    parts = (part[order].tolist() for part in (found.values, found.usual, found.distances))
    return tuple(UnusualRow(*each) for each in zip(numbers.tolist(), names, *parts, strict=True))
