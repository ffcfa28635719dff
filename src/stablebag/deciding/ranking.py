"""Rankings that no single row decides."""

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np

from stablebag._checks import as_positions, check_integer, check_real, hold_read_only, refuse_type, refuse_value
from stablebag._wording import ROWS, Noun, Result, as_given, at_most, count_bags, paragraphs
from stablebag.deciding.guarantees import StabilityGuarantee, StableDecision
from stablebag.deciding.inflated_argmax import as_scores, inflated_argmax
from stablebag.deciding.label_sets import ScoreSet
from stablebag.measuring.perturbations import Names
from stablebag.models.average import BagAverage
from stablebag.models.fitted import fitted
from stablebag.models.functions import BaggedFindings, Finder, find_in_bags
from stablebag.models.learners import Copies
from stablebag.resampling.units import plain

# ---------------------------------------------------------------------------------------------------------- importances
# How much a fitted learner makes of each feature, as scores of items.


@dataclass(frozen=True)
class Importances:
    """A function from data to scores: `feature_importances_` of a learner fitted to them, or the sizes of `coef_`.

    Parameters
    ----------
    estimator : estimator
        An unfitted learner, or a pipeline that ends with one.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> Importances(LinearRegression())([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]], [0.0, 1.0, -2.0], seed=0).round(9)
    array([1., 2.])
    """

    estimator: Any

    def __call__(self, X: Any, y: Any, seed: int) -> np.ndarray | dict[str, float]:
        """Fit a copy to these rows, and return its scores of the features, by name if the learner saw their names."""
        model = Copies(self.estimator).copy(seed)
        model.fit(X, y)
        last, names = model, getattr(model, "feature_names_in_", None)
        if hasattr(model, "steps"):
            last, names = model.steps[-1][1], _names_after(model)
        scores = self._scores(last)
        return scores if names is None or len(names) != len(scores) else dict(zip(names, scores, strict=True))

    @staticmethod
    def _scores(last: Any) -> np.ndarray:
        """What a fitted learner makes of the features that it saw."""
        if hasattr(last, "feature_importances_"):
            return np.asarray(last.feature_importances_, dtype=float)
        if not hasattr(last, "coef_"):
            raise TypeError(
                f"{type(last).__name__} has neither feature_importances_ nor coef_ after fit. Give a function of (X, "
                "y, seed) that returns the scores."
            )
        size: np.ndarray = np.abs(np.asarray(last.coef_, dtype=float))
        if size.ndim == 2 and len(size) != 1:
            raise TypeError(
                f"{type(last).__name__} has coefficients for {len(size)} outputs. Give a function of (X, y, seed) that "
                "makes one score of them for each feature."
            )
        return size.reshape(-1)


def _names_after(pipeline: Any) -> Any:
    """What the steps before the last call the features that they make; None if they do not say, or saw no names."""
    before = pipeline[:-1]
    if not hasattr(pipeline, "feature_names_in_"):
        return None
    try:
        return before.get_feature_names_out() if len(before) else pipeline.feature_names_in_
    except (AttributeError, ValueError, TypeError):
        return None


# ---------------------------------------------------------------------------------------------------- left out rankings
# What leaving out each row does to a ranking of items, measured from the scores of the same bags.


@dataclass(frozen=True, eq=False, repr=False)
class LeftOutRankings(Result):
    """What leaving out each row, or unit, does to a ranking; made by `StableRanking.leave_one_out`.

    Attributes
    ----------
    changes_order : ndarray of bool, shape (n_samples,)
        Whether the order of the items by their scores is another without the row.
    changes_top_k : ndarray of bool, shape (n_samples,)
        Whether the k largest scores are those of other items without the row.
    keeps_ranking : ndarray of bool, shape (n_samples,)
        Whether the sets of rankings with and without the row have one in common.
    keeps_top_k : ndarray of bool, shape (n_samples,)
        Whether the inflated sets of the first k have at least k items in common.
    distance : ndarray of shape (n_samples,)
        How far the scores move.
    k : int
        How many items were wanted.
    names : Names
        What the rows are called.
    noun : Noun
        What is left out.
    """

    changes_order: np.ndarray
    changes_top_k: np.ndarray
    keeps_ranking: np.ndarray
    keeps_top_k: np.ndarray
    distance: np.ndarray
    k: int
    names: Names
    noun: Noun = ROWS

    def __post_init__(self) -> None:
        hold_read_only(self)

    def to_frame(self) -> Any:
        """Return a pandas DataFrame with a line per row, under its name."""
        import pandas as pd

        return pd.DataFrame(self._columns, index=self.names.rows)

    def explain(self) -> str:
        """Say in sentences how many rows change the order, and how many the sets."""
        changed, top = int(self.changes_order.sum()), int(self.changes_top_k.sum())
        lost, fewer = int((~self.keeps_ranking).sum()), int((~self.keeps_top_k).sum())
        rows = self.noun.plural
        said = (
            f"Measured with the same bags: leaving out one of the {len(self):,} {rows} changes the order by the scores "
            f"for {changed:,} of them and the first {self.k} for {top:,}; the sets of rankings have none in common "
            f"for {lost:,}, and those of the first {self.k} fewer than {self.k} items for {fewer:,}."
        )
        return paragraphs([said])

    def _preview(self) -> tuple[str, Any, dict[str, Any]]:
        names = range(len(self)) if self.names.rows is None else self.names.rows
        return self.noun.singular, names, self._columns

    @property
    def _columns(self) -> dict[str, np.ndarray]:
        columns = ("changes_order", "changes_top_k", "keeps_ranking", "keeps_top_k", "distance")
        return {name: getattr(self, name) for name in columns}

    def __len__(self) -> int:
        return len(self.distance)


# ------------------------------------------------------------------------------------------------------------ rank sets
# Rankings of items whose scores are close: all those that would do, so that two such sets have one in common.

_NEVER = -1  # the round of an item that stays
_OUT = -np.finfo(float).max  # the score of an item that is gone: further behind than any epsilon
_REMEMBERED = 2**14  # sets of items, while rankings are listed
_SHOWN_SETS = 3


@dataclass(frozen=True, eq=False)
class RankSets:
    """All rankings in which every item is about the best of those that are not yet ranked.

    A ranking is in the set if each of its items is in the `inflated_argmax` of the scores of itself and of all items
    after it. If two vectors of scores are less than epsilon apart, their sets have a ranking in common: they have a
    first item in common, without it they are no further apart, and so on (Liang, Soloff, Barber and Willett 2025,
    arXiv 2506.02257). There can be as many as n_items! rankings, so they are not listed.

    Parameters
    ----------
    scores : array-like of shape (n_items,)
        The scores of the items.
    epsilon : float
        The distance of scores up to which two sets have a ranking in common.

    Examples
    --------
    >>> from stablebag.deciding import RankSets
    >>> rankings = RankSets([0.5, 0.45, 0.2], epsilon=0.1)
    >>> list(rankings)
    [(0, 1, 2), (1, 0, 2)]
    >>> (2, 0, 1) in rankings, rankings.size()
    (False, 2)
    >>> rankings.intersects(RankSets([0.45, 0.5, 0.2], epsilon=0.1))
    True
    """

    scores: np.ndarray
    epsilon: float

    def __post_init__(self) -> None:
        scores = as_scores(self.scores, "RankSets").copy()
        if scores.ndim != 1 or not len(scores) or not np.isfinite(scores).all():
            raise refuse_value("scores", "RankSets", "finite numbers, one for each item", self.scores)
        object.__setattr__(self, "scores", scores)
        object.__setattr__(self, "epsilon", check_real(self.epsilon, "epsilon", "RankSets"))
        hold_read_only(self)

    @property
    def n_items(self) -> int:
        """The number of items."""
        return len(self.scores)

    def candidates(self, remaining: Any) -> tuple[int, ...]:
        """Return which of some items may be ranked first among them, those with the largest scores first.

        Parameters
        ----------
        remaining : collection of int
            The numbers of the items that are not yet ranked.

        Returns
        -------
        tuple of int
        """
        expected = f"numbers of items from 0 to {self.n_items - 1}, each once"
        given = list(remaining) if isinstance(remaining, Set) else remaining
        numbers = np.sort(as_positions(given, "remaining", "RankSets.candidates", expected))
        if not len(numbers) or numbers[0] < 0 or numbers[-1] >= self.n_items or (np.diff(numbers) == 0).any():
            raise refuse_value("remaining", "RankSets.candidates", expected, remaining)
        numbers = numbers[np.argsort(-self.scores[numbers], kind="stable")]
        return tuple(numbers[inflated_argmax(self.scores[numbers], self.epsilon)].tolist())

    def __contains__(self, ranking: object) -> bool:
        if not isinstance(ranking, Sequence | np.ndarray) or isinstance(ranking, str):
            raise refuse_type("ranking", "RankSets", "a sequence of the numbers of all items", ranking)
        items = as_positions(ranking, "ranking", "RankSets", "a sequence of the numbers of all items").tolist()
        if sorted(items) != list(range(self.n_items)):
            reason = f"the best item comes first, and there are {self.n_items}."
            raise refuse_value("ranking", "RankSets", "every item once, by its number", ranking, reason)
        return all(item in self.candidates(items[place:]) for place, item in enumerate(items))

    def __iter__(self) -> Iterator[tuple[int, ...]]:
        """Yield the rankings, beginning with that by the scores."""
        candidates = lru_cache(_REMEMBERED)(self.candidates)  # the same items remain after many beginnings
        ranking: list[int] = []
        remaining = set(range(self.n_items))
        choices = [iter(candidates(frozenset(remaining)))]
        while choices:
            item = next(choices[-1], None)
            if item is None:
                choices.pop()
                remaining.update(ranking[-1:])
                del ranking[-1:]
            elif len(remaining) == 1:
                yield (*ranking, item)
            else:
                ranking.append(item)
                remaining.discard(item)
                choices.append(iter(candidates(frozenset(remaining))))

    def first(self, count: int = 10) -> list[tuple[int, ...]]:
        """Return some of the rankings, beginning with that by the scores.

        Parameters
        ----------
        count : int, default=10
            How many to return, if there are so many.

        Returns
        -------
        list of tuples of int
        """
        return list(itertools.islice(self, check_integer(count, "count", "RankSets.first", minimum=0)))

    def size(self, most: int = 10_000) -> int:
        """Return the number of rankings, if they are few.

        Parameters
        ----------
        most : int, default=10_000
            The largest number up to which they are counted; more are refused.

        Returns
        -------
        int
        """
        most = check_integer(most, "most", "RankSets.size", minimum=1)
        counted = sum(1 for _ in itertools.islice(self, most + 1))
        if counted > most:
            raise ValueError(
                f"There are more than {most:,} rankings. Ask for some of them (first), for one (in), or whether two "
                "sets have one in common (intersects)."
            )
        return counted

    def common(self, other: "RankSets") -> tuple[int, ...] | None:
        """Return a ranking that two sets have in common, or None if there is none.

        In each step, the items that both sets may rank next are ranked and taken away. Nothing has to be tried twice:
        an item that may be ranked next still may after others are gone (docs/proofs.md, 14).

        Parameters
        ----------
        other : RankSets
            Rankings of the same items.

        Returns
        -------
        tuple of int, or None
        """
        if not isinstance(other, RankSets):
            raise refuse_type("other", "RankSets", "RankSets of the same items", other)
        if other.n_items != self.n_items:
            reason = f"these are rankings of {self.n_items} items."
            raise refuse_value("other", "RankSets", "rankings of the same items", other.n_items, reason)
        rounds = common_rounds(self.scores, other.scores[None], self.epsilon, other.epsilon)[0]
        return None if (rounds == _NEVER).any() else tuple(np.lexsort((-self.scores, rounds)).tolist())

    def intersects(self, other: "RankSets") -> bool:
        """Return whether two sets of rankings have one in common.

        Parameters
        ----------
        other : RankSets
            Rankings of the same items.

        Returns
        -------
        bool
        """
        return self.common(other) is not None

    def __repr__(self) -> str:
        some = ", ".join(map(str, self.first(_SHOWN_SETS)))
        more = ", ..." if len(self.first(_SHOWN_SETS + 1)) > _SHOWN_SETS else ""
        return f"RankSets of {self.n_items} items at epsilon={self.epsilon:g}: {some}{more}"


def common_rounds(scores: np.ndarray, others: np.ndarray, epsilon: float, theirs: float | None = None) -> np.ndarray:
    """Return in which round items are ranked, if in each round all go that both of two sets of rankings may rank next.

    Parameters
    ----------
    scores : ndarray of shape (n_items,)
        The scores of the one set.
    others : ndarray of shape (n_sets, n_items)
        The scores of others.
    epsilon : float
        The epsilon of the one set.
    theirs : float or None, default=None
        That of the others; None if it is the same.

    Returns
    -------
    ndarray of int, shape (n_sets, n_items)
        The rounds from 0 on; -1 for items that are left when there is no such item, which is so exactly if the two
        have no ranking in common.

    Examples
    --------
    >>> common_rounds(np.array([0.5, 0.45, 0.2]), np.array([[0.45, 0.5, 0.2], [0.1, 0.9, 0.2]]), 0.1)
    array([[ 0,  0,  1],
           [-1,  0, -1]])
    """
    rounds: np.ndarray = np.full(others.shape, _NEVER)
    busy = np.arange(len(others))
    for number in range(others.shape[1]):
        left = rounds[busy] == _NEVER
        mine = inflated_argmax(np.where(left, scores, _OUT), epsilon)
        both = left & mine & inflated_argmax(np.where(left, others[busy], _OUT), epsilon if theirs is None else theirs)
        rounds[busy] = np.where(both, number, rounds[busy])
        busy = busy[both.any(axis=1) & (left & ~both).any(axis=1)]
        if not len(busy):
            break
    return rounds


def have_common_ranking(scores: np.ndarray, others: np.ndarray, epsilon: float) -> np.ndarray:
    """Return whether the set of rankings of some scores has one in common with those of others, one line each."""
    found: np.ndarray = (common_rounds(scores, others, epsilon) != _NEVER).all(axis=1)
    return found


# ---------------------------------------------------------------------------------------------------------------- top k
# Which items are about the first k: sets that have k items in common with and without most training rows.


def top_k_sets(scores: Any, k: int, epsilon: float) -> np.ndarray:
    """Return the items with about the k largest scores: k of them, or more where scores are close.

    If two vectors of scores are less than epsilon apart, their sets have at least k items in common. Liang, Soloff,
    Barber and Willett (2025), arXiv 2506.02257: the k - 1 largest, and the `inflated_argmax` of the others.
    Equivalently, an item is in the set if it is in the inflated argmax of the scores without the k - 1 largest of the
    other items; so how ties are broken does not matter. The proofs are in docs/proofs.md, 14.

    Parameters
    ----------
    scores : array-like of shape (n_items,) or (n_points, n_items)
        The scores of the items.
    k : int
        How many items are wanted, from 1 to n_items; 1 is the `inflated_argmax`.
    epsilon : float
        The distance of scores up to which sets have k items in common; zero gives the items that are not behind the
        k-th.

    Returns
    -------
    ndarray of bool, shaped like scores
        Which items are in the set.

    Examples
    --------
    >>> from stablebag.deciding import top_k_sets
    >>> top_k_sets([0.9, 0.6, 0.55, 0.52, 0.1], k=2, epsilon=0.1)
    array([ True,  True,  True, False, False])
    >>> top_k_sets([0.9, 0.6, 0.55, 0.52, 0.1], k=3, epsilon=0.1)
    array([ True,  True,  True,  True, False])
    """
    scores = as_scores(scores, "top_k_sets")
    k = check_integer(k, "k", "top_k_sets", minimum=1, reason="it is how many items are wanted.")
    if scores.ndim in (1, 2) and 0 < scores.shape[-1] < k:
        reason = f"there are {scores.shape[-1]} items."
        raise refuse_value("k", "top_k_sets", "at most the number of items", k, reason)
    if scores.ndim not in (1, 2) or not np.isfinite(scores).all():
        return inflated_argmax(scores, epsilon)  # which says what is wrong
    others = np.argsort(-scores, axis=-1, kind="stable")[..., k - 1 :]
    found = np.ones(scores.shape, dtype=bool)
    rest = inflated_argmax(np.take_along_axis(scores, others, axis=-1), epsilon)
    np.put_along_axis(found, others, rest, axis=-1)
    return found


# -------------------------------------------------------------------------------------------------------------- ranking
# Rankings of items that do not hinge on single rows: scores averaged over bags, and the orders that would do.

_SHOWN = 10


class Scorer(Finder):
    """A function from data to scores of items, as a learner.

    Parameters
    ----------
    function : callable
        As in `Finder`.
    within : ScoreSet or None, default=None
        Where the scores lie; always given.
    has_targets : bool, default=True
        As in `Finder`.
    random_state : int or None, default=None
        The seed.
    """

    def __init__(
        self, function: Any, within: ScoreSet | None = None, has_targets: bool = True, random_state: Any = None
    ) -> None:
        super().__init__(function, has_targets, random_state)
        self.within = within

    def read(self, found: Any) -> tuple[np.ndarray, list[Any] | None]:
        """Return the scores, checked to be in their set, and the names of their items, if they have any."""
        names = None
        if isinstance(found, Mapping):
            names, found = list(found), list(found.values())
        elif hasattr(found, "index") and hasattr(found, "to_numpy"):  # a series
            names, found = list(found.index), found.to_numpy()
        try:
            scores: np.ndarray = as_scores(found, "stable_ranking")
        except ValueError:
            scores = np.empty(0)
        if scores.ndim != 1 or len(scores) < 2 or not np.isfinite(scores).all():
            raise ValueError(f"Scores must be finite numbers, one for each of two items or more. Got {found!r}.")
        assert self.within is not None
        return self.within.held(scores), names


@dataclass(frozen=True, eq=False, repr=False)
class StableRanking(StableDecision):
    """Scores of items averaged over bags, the orders that would do, and what is proved; made by `stable_ranking`.

    Iterating over it yields the items in the order of their scores.

    Attributes
    ----------
    items : list
        What the items are called.
    scores : ndarray of shape (n_items,)
        Their averaged scores.
    k : int
        How many items are wanted.
    within : ScoreSet
        Where the scores of a bag lie.
    stability : StabilityGuarantee
        The distance epsilon and the share delta, and what proves them.
    bag_scores : ndarray of shape (n_bags, n_items)
        The scores of each bag.
    average : BagAverage
        The bags, and what is left out of them.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> from stablebag import BaggedRegressor, Subbagging, stable_ranking
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> bagging = BaggedRegressor(scheme=Subbagging(0.2), random_state=0)
    >>> ranking = stable_ranking(DecisionTreeRegressor(max_depth=3), X, y, k=2, bagging=bagging)
    >>> ranking.ranking[:3], ranking.top_k
    (['s5', 'bmi', 'bp'], ['s5', 'bmi'])
    >>> print(ranking.leave_one_out())
    Measured with the same bags: leaving out one of the 442 rows changes the order by the scores
    for 129 of them and the first 2 for 0; the sets of rankings have none in common for 0, and
    those of the first 2 fewer than 2 items for 0.
    """

    items: list[Any]
    scores: np.ndarray
    k: int
    within: ScoreSet
    stability: StabilityGuarantee
    bag_scores: np.ndarray = field(repr=False)
    average: BagAverage = field(repr=False)

    def __post_init__(self) -> None:
        hold_read_only(self)

    @property
    def ranking(self) -> list[Any]:
        """The items in the order of their scores."""
        return [self.items[place] for place in self._order]

    @property
    def is_in_top_k(self) -> np.ndarray:
        """Which items are about the first k; shape (n_items,)."""
        return top_k_sets(self.scores, self.k, self.epsilon)

    @property
    def top_k(self) -> list[Any]:
        """The items that are about the first k, those with the largest scores first."""
        inside = self.is_in_top_k
        return [self.items[place] for place in self._order if inside[place]]

    @property
    def rankings(self) -> RankSets:
        """All rankings that would do, of the items by their places."""
        return RankSets(self.scores, self.epsilon)

    @property
    def guarantee(self) -> str:
        """What is proved, in words."""
        return self.stability.describe(
            f"has at least {self.k} of these items among its own, and a ranking in common with those that would do here"
        )

    def leave_one_out(self) -> LeftOutRankings:
        """Measure the scores and sets without each row, or unit, from the bags that do not contain it.

        Nothing is run again. It is about these bags, and not about bags drawn anew.

        Returns
        -------
        LeftOutRankings
        """
        left_out = self.average.left_out(self.bag_scores)
        distance = np.sqrt(((left_out - self.scores) ** 2).sum(axis=1))
        orders = np.argsort(-left_out, axis=1, kind="stable")
        first, firsts = set(self._order[: self.k].tolist()), orders[:, : self.k].tolist()
        common = (top_k_sets(left_out, self.k, self.epsilon) & self.is_in_top_k).sum(axis=1)
        keeps = distance < self.epsilon  # by the theorem; else it is looked for
        keeps[~keeps] = have_common_ranking(self.scores, left_out[~keeps], self.epsilon)
        return LeftOutRankings(
            (orders != self._order).any(axis=1),
            np.array([set(line) != first for line in firsts]),
            keeps,
            common >= self.k,
            distance,
            self.k,
            Names.of(self.average.units),
            self.average.units.noun,
        )

    def to_frame(self) -> Any:
        """Return a pandas DataFrame with a line per item, those with the largest scores first."""
        import pandas as pd

        return pd.DataFrame(self._columns, index=pd.Index(self.ranking, name="item", tupleize_cols=False))

    def explain(self) -> str:
        """Explain in sentences which items are first, and what is proved about them."""
        n_bags, top = self.stability.certificate.n_bags, self.top_k
        bags = count_bags(n_bags) if math.isfinite(n_bags) else "all bags"
        some = ", ".join(map(str, top[:_SHOWN])) + (f" and {len(top) - _SHOWN:,} others" if len(top) > _SHOWN else "")
        found = (
            f"About the first {self.k} of {len(self.items):,} items, by {self.within} (radius "
            f"{at_most(self.within.radius(len(self.items)))}) averaged over {bags}, at epsilon = "
            f"{as_given(self.epsilon)}: {some}."
        )
        if self.k < len(top) == len(self.items):
            found += " These are all of them: nothing is decided."
        return paragraphs([found, self.guarantee])

    def _preview(self) -> tuple[str, Any, dict[str, Any]]:
        return "item", self.ranking, self._columns

    @property
    def _columns(self) -> dict[str, np.ndarray]:
        return {"score": self.scores[self._order], "in_top_k": self.is_in_top_k[self._order]}

    def __iter__(self) -> Iterator[Any]:
        return iter(self.ranking)

    def __len__(self) -> int:
        return len(self.items)

    @property
    def _order(self) -> np.ndarray:
        return np.argsort(-self.scores, kind="stable")


def stable_ranking(
    function: Any,
    X: Any,
    y: Any,
    *,
    k: int = 1,
    within: str | float = "simplex",
    bagging: Any = None,
    epsilon: float | None = None,
    delta: float = 0.05,
    groups: Any = None,
    row_ids: Any = None,
) -> StableRanking:
    """Rank items by scores that are averaged over bags.

    Without most rows, the set of the first k has at least k items in common with the one with all rows, and the sets of
    rankings have one in common.

    Parameters
    ----------
    function : callable or estimator
        ``function(X, y, seed)`` or ``function(X, y)`` returns the scores of the items, always the same ones in the same
        order. Return a dictionary or a pandas Series to name the items. A learner ranks features, by its
        `feature_importances_` or by the sizes of its `coef_` after fit.
    X : array-like, sparse array or data frame of shape (n_samples, n_features)
        The rows.
    y : array-like of shape (n_samples,), or None
        Their targets; if there are none, the function gets None.
    k : int, default=1
        How many items are wanted.
    within : {"simplex", "box"} or float, default="simplex"
        Where scores lie, whatever the data, on which epsilon depends: "simplex" if they are at least 0 and add up to 1
        (radius sqrt(1 - 1 / L) for L items; all zeros stand for equal scores), "box" if each is between 0 and 1 (radius
        sqrt(L) / 2), a number for a ball of this radius around the origin. In a bag, scores beyond the ball are
        shortened to its radius, and those outside of a simplex or a box are refused.
    bagging : BaggedRegressor, BaggedClassifier or None, default=None
        How bags are drawn: the `scheme`, `n_bags`, `n_jobs` and `random_state` of an unfitted bagged model, whose
        learner is not used. None is ``BaggedRegressor()``: 500 bags of half of the rows. Smaller bags give a smaller
        epsilon, and scores from less data.
    epsilon : float or None, default=None
        The distance of scores below which sets have k items, and a ranking, in common. None takes what the certificate
        gives for `delta`; if it is given, the share of rows follows from it in place of `delta`.
    delta : float, default=0.05
        The share of rows, not a confidence, without which the sets may have fewer in common.
    groups : sequence of int or labels, of length n_samples, default=None
        The unit of each row, as in `BaggedRegressor.fit`: units are then left out in place of rows.
    row_ids : None, "index", or sequence of int or labels, default=None
        What the rows are called, as in `BaggedRegressor.fit`: with the same seed and a row less, the bags without it
        are the same.

    Returns
    -------
    StableRanking

    Examples
    --------
    >>> import pandas as pd
    >>> from sklearn.datasets import load_diabetes
    >>> from stablebag import BaggedRegressor, Subbagging, stable_ranking
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> def correlations(X, y):
    ...     return X.corrwith(pd.Series(y, X.index)).abs()
    >>> bagging = BaggedRegressor(scheme=Subbagging(0.2), random_state=0)
    >>> ranking = stable_ranking(correlations, X, y, k=3, within="box", bagging=bagging)
    >>> print(ranking)
    About the first 3 of 10 items, by scores between 0 and 1 (radius 1.582) averaged over 500
    bags, at epsilon = 0.1999: bmi, s5, bp, s4, s3, s6.
    Proved for every data set of 442 rows: what is found without a row, with the same epsilon and
    law of bags, seed and names of rows, has at least 3 of these items among its own, and a
    ranking in common with those that would do here, except with a chance of at most 0.05, over
    the draw of bags and seeds and on average over the rows.
    """
    k = check_integer(k, "k", "stable_ranking", minimum=1, reason="it is how many items are wanted.")
    scores_in = ScoreSet(within)
    learner = hasattr(function, "fit") and hasattr(function, "get_params")
    finder = Scorer(Importances(function) if learner else function, scores_in, has_targets=y is not None)
    options: dict[str, Any] = {"bagging": bagging, "groups": groups, "row_ids": row_ids}
    model = find_in_bags(finder, X, y, "stable_ranking", **options)
    raw, names = _stacked(model, scores_in)
    n_items = raw.shape[1]
    if k > n_items:
        raise refuse_value("k", "stable_ranking", "at most the number of items", k, f"there are {n_items} items.")
    items = list(range(n_items)) if names is None else [plain(name) for name in names]
    sizes = scores_in.radius(n_items), scores_in.diameter(n_items)
    stability = StabilityGuarantee.of(model, *sizes, epsilon, delta, "stable_ranking")
    average: BagAverage = fitted(model).average
    return StableRanking(items, average.prediction([raw]), k, scores_in, stability, raw, average)


def _stacked(model: BaggedFindings, scores_in: ScoreSet) -> tuple[np.ndarray, list[Any] | None]:
    """The scores of each bag, and what the items are called; a bag without rows has the same for all items."""
    found = model.found
    first = next((number for number, one in enumerate(found) if one is not None), None)
    if first is None:
        raise ValueError("No bag has any rows, so there are no scores. Draw larger bags, or more of them.")
    n_items, names = len(found[first][0]), found[first][1]
    for number, one in enumerate(found):
        if one is not None and (len(one[0]) != n_items or one[1] != names):
            what = f"{len(one[0])} scores" if len(one[0]) != n_items else "scores of other items"
            raise ValueError(
                f"The function returned {what} on bag {number}, and {n_items} on bag {first}. Return a score for each "
                "of the same items in the same order, whatever the rows."
            )
    return np.stack([scores_in.centre(n_items) if one is None else one[0] for one in found]), names
