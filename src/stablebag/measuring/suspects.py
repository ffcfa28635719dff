"""Suspicious rows: a test for rows that change predictions beyond bagging noise, and a ranking of rows to look at."""

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

_NORMAL = 1.4826  # standard deviation of a normal distribution, divided by its median absolute deviation
_ROUNDING = 64 * np.finfo(float).eps  # relative to the prediction; smaller changes are rounding errors
_BEYOND = 2.0  # times the noise: a row that changes the range, and so the predictions by more than this, is listed
_NEARBY = 50  # similar rows whose residuals give the usual size of a residual
_SMOOTHING = 0.1  # added to probabilities, to avoid dividing by one near zero
_NEARLY = 0.001  # a row is not unusual if its class has a probability less than this below the usual one
_TIES = 1e-5  # relative; sums of 32-bit floats that differ by less are treated as equal

# The test permutes outputs over bags. The numbers of permutations and of components depend on the work they take.
_WORK = 2 * 10**10  # multiplications, a few seconds
_SPARSE = 8  # cost of a multiplication with a sparse matrix, relative to a dense one
_COMPONENTS = (4, 20)  # the fewest and the most principal components of the outputs
_MOST_COLUMNS = 500  # predictions per bag that the components are computed from
_FIRST = 1000  # rows whose thresholds are stepped down one by one
_BLOCK = 2**22  # numbers in memory at the same time

RANKING = "This is a ranking: clean data have one too."
NONE_FAR = "The bags without a row predict its target exactly, for every row"
NONE_UNLIKELY = "The bags without a row give its class about the usual probability, for every row"


class InfluentialRow(NamedTuple):
    """A row, or group, that changes predictions beyond bagging noise.

    Attributes
    ----------
    number : int
        Its position among the training rows, or groups.
    name : object
        Its row ID or group label.
    change : float
        How far leaving it out changes the predictions, as a root mean square over points; for a classifier, of the
        distance between the vectors of probabilities.
    noise : float
        The bagging noise in `change`: its root mean square if the row had no effect.
    p_value : float
        The p-value, adjusted for testing all rows. It is 0 if there is no bagging noise, or if leaving out the row
        changes the range of the predictions and this alone changes them by more than twice the noise.
    """

    number: int
    name: Any
    change: float
    noise: float
    p_value: float


class UnusualRow(NamedTuple):
    """A row whose target is far from what the other rows predict. For a group, its farthest row.

    Attributes
    ----------
    number : int
        Its position among the training rows, or groups.
    name : object
        Its row ID or group label.
    value : float
        The target minus the prediction without the row; for a classifier, the probability of its class without it.
    usual : float
        The usual size of such residuals among similar rows; for a classifier, the mean of such probabilities among the
        rows of its class.
    distance : float
        The ranking is by this number: the absolute residual divided by its usual size. For a classifier, the usual
        probability of the row's class divided by its probability for this row, with 0.1 added to both; less than that
        if no other class reaches its own usual probability.
    """

    number: int
    name: Any
    value: float
    usual: float
    distance: float


@dataclass(frozen=True, eq=False, repr=False)
class Suspects(Result):
    """The rows, or groups, that change predictions beyond bagging noise, and those worth a look.

    Returned by `suspects`.

    Attributes
    ----------
    influential : tuple of InfluentialRow
        Rows that change the predictions beyond bagging noise, largest change first. If no row had an effect, the
        probability of listing any row would be at most `alpha`.
    unusual : tuple of UnusualRow
        Rows whose targets are farthest from what the other rows predict, farthest first. This is a ranking, so data
        without mistakes have one too. It leaves out rows that are predicted exactly, and rows whose class gets about
        its usual probability or more.
    noise : float
        The bagging noise in the change due to a row, as a root mean square over rows.
    usual : float
        The usual size of a residual; NaN for a classifier.
    alpha : float
        The largest probability of listing any row in `influential` if no row has an effect.
    noun : Noun
        The word for what is listed: row or group.
    n_looked_at : int or None
        The number of randomly drawn rows that were ranked; None if all rows were.
    n_points : int or None
        The number of test points; None if unknown.
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
        """The words for the test points; "" if their number is unknown."""
        if self.n_points is None:
            return ""
        return f" at {self.n_points:,} test {'point' if self.n_points == 1 else 'points'}"

    @property
    def nothing_unusual(self) -> str:
        """The sentence for an empty ranking."""
        return f"{NONE_UNLIKELY if self._of_classes else NONE_FAR}{self.among}."

    @property
    def among(self) -> str:
        """The words for the rows that were ranked; "" if all were."""
        return "" if self.n_looked_at is None else f" among {ROWS.count(self.n_looked_at)} drawn at random"

    @property
    def claim(self) -> str:
        """The error rate of the list of influential rows; "" if it is empty, or if the noise is zero."""
        if not self.influential or self.noise == 0:
            return ""
        rate = f"{100 * self.alpha:.3g}%"
        return f"If no {self.noun.singular} had an effect, the chance of listing any would be at most {rate}."

    @property
    def influence_summary(self) -> str:
        """The sentence on how many rows change predictions."""
        if not self.influential:
            clearly = f" clearly beyond bagging noise ({number(self.noise)})" if self.noise else ""
            return f"No {self.noun.singular} changes predictions{self.at}{clearly}."
        verb = "changes" if len(self.influential) == 1 else "change"
        counted = f"{self.noun.count(len(self.influential))} {verb} predictions{self.at}"
        return f"{counted} beyond bagging noise ({number(self.noise)})." if self.noise else f"{counted}."

    def explain(self) -> str:
        """Explain in sentences which rows change predictions, at which error rate, and which are worth a look."""
        sentences = [f"{self.influence_summary} {self.claim}".rstrip()]
        if self.unusual:
            first = self.unusual[0]
            if self._of_classes:
                its = "its class" if self.noun == ROWS else "the class of one of its rows"
                far = f"{its} gets {first.value:.1%}; rows of that class usually get {first.usual:.1%}"
            elif math.isinf(first.distance):
                far = f"off by {number(first.value)}, while most rows are not off at all"
            else:
                far = f"{number(first.distance)} times as far as usual"
            alone = len(self.unusual) == 1
            total = self.noun.singular if alone else self.noun.count(len(self.unusual))
            name = f"{'' if alone else 'starting with '}{self.noun.singular} {printable(plain(first.name))}"
            farthest = f"the {total} farthest from what the other {self.noun.plural} predict{self.among}"
            sentences.append(f"Worth a look: {farthest}, {name} ({far}). {RANKING}")
        else:
            sentences.append(self.nothing_unusual)
        return paragraphs(sentences)

    def to_frame(self) -> Any:
        """Return a pandas DataFrame with a line for each row, or group, in one of the two lists.

        The index has row IDs or group labels, and `rank` is the place in the ranking, from 1. Cells of the list that a
        row is not in are NaN.
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
        """Return the sentences and the first rows of both lists, for notebooks."""
        head, heads = self.noun.singular, ("residual", "usual size", "times the usual size")
        if self._of_classes:
            heads = ("probability of its class", "usual in its class", "distance")
        first: dict[str, Any] = {"changes predictions by": [one.change for one in self.influential]}
        first["bagging noise"] = [one.noise for one in self.influential]
        second: dict[str, Any] = {name: [one[place] for one in self.unusual] for place, name in enumerate(heads, 2)}
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
    """Find the training rows that change predictions beyond bagging noise, and rank the rows worth a look.

    These are two different lists. A row *changes predictions* if the bags without it predict something else at the
    points X. A row is *worth a look* if the bags without it predict something else than its target, at the row itself.
    A wrong target among many similar rows changes little, so only the ranking shows it.

    **Which rows change predictions** is a test. If no row had an effect, the predictions of the bags would not depend
    on which rows they contain, and any permutation of the predictions over the bags would be equally likely. The test
    compares the largest standardized change over all rows with its values under such permutations, and steps thresholds
    down as in Westfall and Young (1993). If no row has an effect, the probability of listing any row is at most
    `alpha`, for any learner, output and bag size. This is proved. It does not cover rows without an effect in data
    where other rows have strong effects: that these are rarely listed was only simulated (docs/measuring.md). Models
    that average all bags are free of noise, so every row that changes predictions is listed.

    **Which rows are worth a look** is a ranking, and claims no error rate. It lists `k` rows even for clean data, or
    fewer if the others are predicted exactly, or if their class gets about its usual probability or more.

    - For a regressor, the residual without the row is divided by its usual size. This combines the spread over the bags
      without the row with the median absolute residuals of all rows and of the 50 rows at which bags disagree as much.
    - For a classifier, the probability of each class without the row is divided by its mean over the rows of that
      class, after adding 0.1 to both. The distance is the largest of these ratios among the other classes, capped at 1,
      divided by that of the row's own class. So rows of a rare class do not come first only because the model gives
      that class little probability.

    Parameters
    ----------
    model : BaggedRegressor or BaggedClassifier
        A fitted model.
    X : array-like, sparse array or data frame of shape (n_points, n_features), or BagPredictions
        The points whose predictions may change, or the result of `model.predict_once` at these points.
    k : int, default=10
        The largest number of rows, or groups, in the ranking.
    alpha : float, default=0.05
        The largest probability of listing any row as changing predictions if no row has an effect; from 0.001 to 0.5.
    rows : int, array-like of int or None, default=None
        The positions of the training rows to rank, or the number of rows to draw at random. None ranks all, which takes
        long for very many rows, because all bags predict at these rows.
    random_state : None, int, RandomState or Generator, default=None
        Determines which rows are drawn if `rows` is a number.

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
    2 rows change predictions at 42 test points beyond bagging noise (4.102). If no row had an
    effect, the chance of listing any would be at most 5%.
    Worth a look: the 3 rows farthest from what the other rows predict, starting with row 7 (9.17
    times as far as usual). This is a ranking: clean data have one too.
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
    reason = "it is the largest probability of listing any row if no row has an effect. Use 0.05."
    alpha = check_real(alpha, "alpha", "suspects", low=0.001, high=0.5, reason=reason)
    chosen = chosen_rows(rows, len(fitted(model).y), ROWS, random_state, "suspects")
    changes = perturbations_of(fitted(model).average, fitted(model).raw(X))
    return find_suspects(model, X, changes, k=k, alpha=alpha, rows=chosen)


def find_suspects(
    model: Any, X: Any, moved: Perturbations, *, k: int = 10, alpha: float = 0.05, rows: np.ndarray | None = None
) -> Suspects:
    """Return the result of `suspects` from perturbations at X that are already measured."""
    moving, noise, n_points = _influential(model, X, moved, alpha)
    numbers = np.arange(len(fitted(model).y)) if rows is None else rows
    distances = _unlike_their_class if fitted(model).average.classes is not None else _far_residuals
    farthest, usual = distances(model, numbers, rows)
    n_looked_at = None if rows is None else len(rows)
    found = _of_groups(model, farthest, k)
    return Suspects(moving, found, noise, usual, alpha, model.units_.noun, n_looked_at, n_points)


# --------------------------------------------------------------------------------------------------- influential rows


def _influential(
    model: Any, X: Any, moved: Perturbations, alpha: float
) -> tuple[tuple[InfluentialRow, ...], float, int]:
    average, raw = fitted(model).average, fitted(model).raw(X)
    moves = (moved if moved.prediction.ndim == 1 else moved.in_norm()).row_norms()
    moves[moves <= _ROUNDING * np.abs(moved.prediction).max(initial=0.0)] = 0.0  # for example of rows in no bag
    noise, p_values = np.zeros(len(moves)), np.zeros(len(moves))  # no noise with all bags, or with bags that agree
    outputs = average.outputs(raw) if getattr(average, "drawn", False) else np.zeros(1)
    if (unit := float(np.ptp(outputs))) > 0:  # dividing by it avoids overflow of squares
        scaled = (outputs - outputs.min()) / unit
        extra = 1 / average.bags.n_without - 1 / len(average.bags)
        noise = unit * np.sqrt(extra * scaled.var(axis=0, ddof=1).sum() / scaled.shape[1])
        p_values = adjusted_p_values(average.bags, scaled.reshape(len(scaled), -1), alpha)
        for row in average.special_units:  # changes of the range have no noise
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
    """Return a p-value for each row of the null hypothesis that no row affects the outputs, adjusted for all rows.

    Under the null hypothesis, the outputs are exchangeable over bags, given which rows are in which bags. If z_b are
    the centred outputs of bag b, and k of B bags do not contain row i, the statistic is |sum of z_b over the bags with
    i|^2 B / (k (B - k)). Its mean under permutations is the same for all rows. The largest over rows is compared with
    the largest under permutations, which gives exact one-sided Monte Carlo p-values. After each row with a small
    p-value, the next is compared with the largest over the remaining rows.
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
    scale = (n_bags / np.maximum(inside * (n_bags - inside), 1)).astype(np.float32)  # rows in all bags raised before

    def statistics(columns: np.ndarray) -> Iterator[tuple[slice, np.ndarray]]:
        """Yield the statistics of blocks of rows under each permutation."""
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
    # Line i is the largest statistic of row i and all rows after it.
    largest = np.maximum.accumulate(np.vstack([of_others, of_first[::-1]]), axis=0)[:0:-1]
    p_values = np.empty(len(observed))
    exceeded = (largest >= observed[first, None] * (1 - _TIES)).sum(axis=1)
    p_values[first] = np.maximum.accumulate((1 + exceeded) / (1 + n_permutations))
    rest = order[_FIRST:]
    exceeded = n_permutations - np.searchsorted(np.sort(of_others), observed[rest] * (1 - _TIES))
    p_values[rest] = np.maximum((1 + exceeded) / (1 + n_permutations), p_values[first[-1]] if len(rest) else 0.0)
    return members.by_row(p_values)


@dataclass(frozen=True, eq=False)
class _RowsInBags:
    """Which rows are in which bags; if there are very many rows, those in the same bags share a line."""

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
        """The number of multiplications for one column."""
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
        """Return the value of each row; 1 for rows in no bag."""
        if self.patterns is None:
            return values
        found = np.ones(self.bags.n_samples)
        found[self.patterns.rows] = np.repeat(values, self.patterns.counts)
        return found


def _components(outputs: np.ndarray, most: int) -> np.ndarray:
    """Return the first principal components of the bags' outputs, scaled to a mean square of 1."""
    centred = outputs - outputs.mean(axis=0)
    if centred.shape[1] > _MOST_COLUMNS:  # random projections nearly preserve lengths
        centred = centred @ np.random.default_rng(0).normal(size=(centred.shape[1], _MOST_COLUMNS))
    values, directions = np.linalg.eigh(centred.T @ centred)
    kept = np.flatnonzero(values > _ROUNDING * max(values[-1], 0.0))[-most:]
    scores = centred @ directions[:, kept]
    return np.ascontiguousarray(scores / (np.sqrt((scores**2).sum() / len(scores)) or 1.0), dtype=np.float32)


# --------------------------------------------------------------------------------------------------- rows worth a look


class _Distances(NamedTuple):
    """The distances of ranked rows, with their positions and values; equal distances are ordered by `ties`."""

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
    """Return the usual size of each residual, and of all residuals.

    The square of a usual size is the squared spread over the bags without the row, plus the mean of two squared robust
    sizes: of the residuals of all rows, and of those of the rows with the most similar spread (or with the most similar
    prediction, if `spread` is None).
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
    """Return for each row the probability of its class, its mean in that class, the distance, and a tie-breaker.

    Each class's probability is divided by its mean among the rows of that class, after adding 0.1 to both. The distance
    is the largest such ratio among the other classes, capped at 1, over that of the row's class. The tie-breaker is the
    same largest ratio without the cap.
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
    """Return the k farthest rows, with only the farthest row of each group."""
    order = np.lexsort((-found.ties, -found.distances))
    order = order[found.distances[order] > 0]  # drops rows that are predicted exactly, or as well as usual
    groups = model.units_.of_rows[found.rows[order]]
    _, first = np.unique(groups, return_index=True)
    order = order[np.sort(first)[:k]]
    numbers = model.units_.of_rows[found.rows[order]]
    names = map(plain, Names.of(model.units_).of_rows(numbers))
    parts = (part[order].tolist() for part in (found.values, found.usual, found.distances))
    return tuple(UnusualRow(*each) for each in zip(numbers.tolist(), names, *parts, strict=True))
