"""Rankings that are stable without any one row."""

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


@dataclass(frozen=True)
class Importances:
    """A function from data to scores of features: `feature_importances_` of a fitted learner, or absolute `coef_`.

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
        """Fit a copy to these rows and return its scores, as a dict if the features have names."""
        model = Copies(self.estimator).copy(seed)
        model.fit(X, y)
        last, names = model, getattr(model, "feature_names_in_", None)
        if hasattr(model, "steps"):
            last, names = model.steps[-1][1], _names_after(model)
        scores = self._scores(last)
        return scores if names is None or len(names) != len(scores) else dict(zip(names, scores, strict=True))

    @staticmethod
    def _scores(last: Any) -> np.ndarray:
        """Return the scores of a fitted learner."""
        if hasattr(last, "feature_importances_"):
            return np.asarray(last.feature_importances_, dtype=float)
        if not hasattr(last, "coef_"):
            raise TypeError(
                f"{type(last).__name__} has neither feature_importances_ nor coef_ after fit. Pass a function of (X, "
                "y, seed) that returns the scores instead."
            )
        size: np.ndarray = np.abs(np.asarray(last.coef_, dtype=float))
        if size.ndim == 2 and len(size) != 1:
            raise TypeError(
                f"{type(last).__name__} has coefficients for {len(size)} outputs. Pass a function of (X, y, seed) that "
                "returns one score for each feature instead."
            )
        return size.reshape(-1)


def _names_after(pipeline: Any) -> Any:
    """Return the names of the features that reach the last step of a pipeline; None if they are unknown."""
    before = pipeline[:-1]
    if not hasattr(pipeline, "feature_names_in_"):
        return None
    try:
        return before.get_feature_names_out() if len(before) else pipeline.feature_names_in_
    except (AttributeError, ValueError, TypeError):
        return None


# ---------------------------------------------------------------------------------------------------- left out rankings


@dataclass(frozen=True, eq=False, repr=False)
class LeftOutRankings(Result):
    """How a ranking changes without each row, or group; returned by `StableRanking.leave_one_out`.

    Attributes
    ----------
    changes_order : ndarray of bool, shape (n_samples,)
        Whether the order of the items by score changes without the row.
    changes_top_k : ndarray of bool, shape (n_samples,)
        Whether the items with the k largest scores change without the row.
    keeps_ranking : ndarray of bool, shape (n_samples,)
        Whether the sets of rankings with and without the row have a ranking in common.
    keeps_top_k : ndarray of bool, shape (n_samples,)
        Whether the top-k sets with and without the row have at least k items in common.
    distance : ndarray of shape (n_samples,)
        The Euclidean distance between the scores with and without the row.
    k : int
        The number of items wanted.
    names : Names
        The row IDs or group labels.
    noun : Noun
        The word for a row or group that is left out.
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
        """Return a pandas DataFrame with a line per row, indexed by row ID or group label."""
        import pandas as pd

        return pd.DataFrame(self._columns, index=self.names.rows)

    def explain(self) -> str:
        """Explain in sentences how many rows change the order, and how many the sets."""
        changed, top = int(self.changes_order.sum()), int(self.changes_top_k.sum())
        lost, fewer = int((~self.keeps_ranking).sum()), int((~self.keeps_top_k).sum())
        sentences = [
            f"Measured with the same bags, leaving out one of the {len(self):,} {self.noun.plural} at a time: the "
            f"order of the items changes for {changed:,} of them, and the top {self.k} for {top:,}. The sets of "
            f"rankings have none in common for {lost:,}, and the top-{self.k} sets have fewer than {self.k} items in "
            f"common for {fewer:,}."
        ]
        return paragraphs(sentences)

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
# Sets of rankings of items whose scores are close, such that sets of similar scores have a ranking in common.

_NEVER = -1  # the round of an item that is never ranked
_OUT = -np.finfo(float).max  # the score of an item that was ranked before: further behind than any epsilon
_REMEMBERED = 2**14  # size of the cache while rankings are listed
_SHOWN_SETS = 3


@dataclass(frozen=True, eq=False)
class RankSets:
    """All rankings in which each item is close to the best of the items not yet ranked.

    A ranking is in the set if each item is in the `inflated_argmax` of the scores of itself and all items after it. If
    two vectors of scores are less than epsilon apart, their sets have a ranking in common: they have a first item in
    common, the remaining scores are no farther apart, and so on (Liang, Soloff, Barber and Willett 2025, arXiv
    2506.02257). There can be up to n_items! rankings, so they are not stored.

    Parameters
    ----------
    scores : array-like of shape (n_items,)
        The scores of the items.
    epsilon : float
        Scores within this distance of each other give two sets that have a ranking in common.

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
        """Return which of some items may be ranked first among them, in the order of their scores.

        Parameters
        ----------
        remaining : collection of int
            The positions of the items that are not yet ranked.

        Returns
        -------
        tuple of int
        """
        expected = f"distinct positions of items from 0 to {self.n_items - 1}"
        given = list(remaining) if isinstance(remaining, Set) else remaining
        numbers = np.sort(as_positions(given, "remaining", "RankSets.candidates", expected))
        if not len(numbers) or numbers[0] < 0 or numbers[-1] >= self.n_items or (np.diff(numbers) == 0).any():
            raise refuse_value("remaining", "RankSets.candidates", expected, remaining)
        numbers = numbers[np.argsort(-self.scores[numbers], kind="stable")]
        return tuple(numbers[inflated_argmax(self.scores[numbers], self.epsilon)].tolist())

    def __contains__(self, ranking: object) -> bool:
        if not isinstance(ranking, Sequence | np.ndarray) or isinstance(ranking, str):
            raise refuse_type("ranking", "RankSets", "a sequence of the positions of all items", ranking)
        items = as_positions(ranking, "ranking", "RankSets", "a sequence of the positions of all items").tolist()
        if sorted(items) != list(range(self.n_items)):
            expected = f"the positions 0 to {self.n_items - 1} of all items, best item first"
            raise refuse_value("ranking", "RankSets", expected, ranking)
        return all(item in self.candidates(items[place:]) for place, item in enumerate(items))

    def __iter__(self) -> Iterator[tuple[int, ...]]:
        """Yield the rankings, starting with the one by score."""
        candidates = lru_cache(_REMEMBERED)(self.candidates)  # many beginnings leave the same items
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
        """Return some of the rankings, starting with the one by score.

        Parameters
        ----------
        count : int, default=10
            The largest number of rankings to return.

        Returns
        -------
        list of tuples of int
        """
        return list(itertools.islice(self, check_integer(count, "count", "RankSets.first", minimum=0)))

    def size(self, most: int = 10_000) -> int:
        """Return the number of rankings.

        Parameters
        ----------
        most : int, default=10_000
            The largest number to count to. If there are more, a ValueError is raised.

        Returns
        -------
        int
        """
        most = check_integer(most, "most", "RankSets.size", minimum=1)
        counted = sum(1 for _ in itertools.islice(self, most + 1))
        if counted > most:
            raise ValueError(
                f"There are more than {most:,} rankings. Raise `most`, list some with first(), test one with `in`, or "
                "compare two sets with intersects()."
            )
        return counted

    def common(self, other: "RankSets") -> tuple[int, ...] | None:
        """Return a ranking that two sets have in common, or None if there is none.

        In each step, all items that both sets may rank next are ranked. The search never backtracks, because an item
        that may be ranked next still may be after others are ranked (docs/proofs.md, 14).

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
            expected = f"rankings of the same {self.n_items} items"
            raise refuse_value("other", "RankSets", expected, f"rankings of {other.n_items} items")
        rounds = common_rounds(self.scores, other.scores[None], self.epsilon, other.epsilon)[0]
        return None if (rounds == _NEVER).any() else tuple(np.lexsort((-self.scores, rounds)).tolist())

    def intersects(self, other: "RankSets") -> bool:
        """Return whether two sets of rankings have a ranking in common.

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
    """Return the round in which each item is ranked, if each round ranks all items that both sets may rank next.

    Parameters
    ----------
    scores : ndarray of shape (n_items,)
        The scores of the first set.
    others : ndarray of shape (n_sets, n_items)
        The scores of the sets to compare with it.
    epsilon : float
        The epsilon of the first set.
    theirs : float or None, default=None
        The epsilon of the other sets; None if it is the same.

    Returns
    -------
    ndarray of int, shape (n_sets, n_items)
        The rounds from 0 on; -1 for items that remain when no item can be ranked. Items remain exactly if the two sets
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
    """Return whether the set of rankings of `scores` has a ranking in common with that of each line of `others`."""
    found: np.ndarray = (common_rounds(scores, others, epsilon) != _NEVER).all(axis=1)
    return found


# ---------------------------------------------------------------------------------------------------------------- top k


def top_k_sets(scores: Any, k: int, epsilon: float) -> np.ndarray:
    """Return the items whose scores are close to the k largest: at least k items, and more if scores are close.

    If two vectors of scores are less than epsilon apart, their sets have at least k items in common. The set consists
    of the k - 1 largest and the `inflated_argmax` of the others (Liang, Soloff, Barber and Willett 2025, arXiv
    2506.02257). Equivalently, an item is in the set if it is in the inflated argmax of the scores without the k - 1
    largest of the other items, so ties do not matter. The proofs are in docs/proofs.md, 14.

    Parameters
    ----------
    scores : array-like of shape (n_items,) or (n_points, n_items)
        The scores of the items.
    k : int
        The number of items wanted, from 1 to n_items; 1 gives the `inflated_argmax`.
    epsilon : float
        Scores within this distance of each other give sets with k items in common; zero gives the items that are
        not behind the k-th.

    Returns
    -------
    ndarray of bool, shaped like scores
        Whether each item is in the set.

    Examples
    --------
    >>> from stablebag.deciding import top_k_sets
    >>> top_k_sets([0.9, 0.6, 0.55, 0.52, 0.1], k=2, epsilon=0.1)
    array([ True,  True,  True, False, False])
    >>> top_k_sets([0.9, 0.6, 0.55, 0.52, 0.1], k=3, epsilon=0.1)
    array([ True,  True,  True,  True, False])
    """
    scores = as_scores(scores, "top_k_sets")
    k = check_integer(k, "k", "top_k_sets", minimum=1, reason="it is the number of items wanted.")
    if scores.ndim in (1, 2) and 0 < scores.shape[-1] < k:
        raise refuse_value("k", "top_k_sets", f"at most {scores.shape[-1]}, the number of items", k)
    if scores.ndim not in (1, 2) or not np.isfinite(scores).all():
        return inflated_argmax(scores, epsilon)  # raises the error
    others = np.argsort(-scores, axis=-1, kind="stable")[..., k - 1 :]
    found = np.ones(scores.shape, dtype=bool)
    rest = inflated_argmax(np.take_along_axis(scores, others, axis=-1), epsilon)
    np.put_along_axis(found, others, rest, axis=-1)
    return found


# -------------------------------------------------------------------------------------------------------------- ranking

_SHOWN = 10


class Scorer(Finder):
    """A function from data to scores of items, as a learner.

    Parameters
    ----------
    function : callable
        As in `Finder`.
    within : ScoreSet or None, default=None
        The set in which scores lie; never None in use.
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
        """Return the scores, checked to be in their set, and the names of the items, if they have names."""
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
            raise ValueError(f"The function must return finite scores for two or more items. It returned {found!r}.")
        assert self.within is not None
        return self.within.held(scores), names


@dataclass(frozen=True, eq=False, repr=False)
class StableRanking(StableDecision):
    """Scores of items averaged over bags, the set of rankings, and their guarantee; returned by `stable_ranking`.

    Iterating over it yields the items in the order of their scores.

    Attributes
    ----------
    items : list
        The names of the items.
    scores : ndarray of shape (n_items,)
        Their averaged scores.
    k : int
        The number of items wanted.
    within : ScoreSet
        The set in which the scores of each bag lie.
    stability : StabilityGuarantee
        The distance epsilon and the share delta, with their certificate.
    bag_scores : ndarray of shape (n_bags, n_items)
        The scores of each bag.
    average : BagAverage
        The average over the bags.

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
    Measured with the same bags, leaving out one of the 442 rows at a time: the order of the items
    changes for 129 of them, and the top 2 for 0. The sets of rankings have none in common for 0,
    and the top-2 sets have fewer than 2 items in common for 0.
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
        """Whether each item is in the top-k set; shape (n_items,)."""
        return top_k_sets(self.scores, self.k, self.epsilon)

    @property
    def top_k(self) -> list[Any]:
        """The items of the top-k set, in the order of their scores: at least k, and more if scores are close."""
        inside = self.is_in_top_k
        return [self.items[place] for place in self._order if inside[place]]

    @property
    def rankings(self) -> RankSets:
        """The set of rankings, of the items by position."""
        return RankSets(self.scores, self.epsilon)

    @property
    def guarantee(self) -> str:
        """The guarantee in words."""
        candidates = "1 candidate" if self.k == 1 else f"{self.k} candidates"
        return self.stability.describe(f"has at least {candidates} and a ranking in common with this one")

    def leave_one_out(self) -> LeftOutRankings:
        """Measure the scores and sets without each row, or group, from the bags that do not contain it.

        The function is not called again. The result is about these bags, not about bags drawn again.

        Returns
        -------
        LeftOutRankings
        """
        left_out = self.average.left_out(self.bag_scores)
        distance = np.sqrt(((left_out - self.scores) ** 2).sum(axis=1))
        orders = np.argsort(-left_out, axis=1, kind="stable")
        first, firsts = set(self._order[: self.k].tolist()), orders[:, : self.k].tolist()
        common = (top_k_sets(left_out, self.k, self.epsilon) & self.is_in_top_k).sum(axis=1)
        keeps = distance < self.epsilon  # guaranteed; the others are checked one by one
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
        """Return a pandas DataFrame with a line per item, largest score first."""
        import pandas as pd

        return pd.DataFrame(self._columns, index=pd.Index(self.ranking, name="item", tupleize_cols=False))

    def explain(self) -> str:
        """Explain in sentences which items are first, and their guarantee."""
        n_bags, top = self.stability.certificate.n_bags, self.top_k
        bags = count_bags(n_bags) if math.isfinite(n_bags) else "all bags"
        some = ", ".join(map(str, top[:_SHOWN])) + (f" and {len(top) - _SHOWN:,} others" if len(top) > _SHOWN else "")
        found = (
            f"Candidates for the top {self.k} of {len(self.items):,} items, by {self.within} (radius "
            f"{at_most(self.within.radius(len(self.items)))}) averaged over {bags}, at epsilon = "
            f"{as_given(self.epsilon)}: {some}."
        )
        if self.k < len(top) == len(self.items):
            found += " These are all items, so nothing is decided."
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

    For most rows, leaving out the row gives a top-k set with at least k items in common, and a set of rankings with a
    ranking in common.

    Parameters
    ----------
    function : callable or estimator
        ``function(X, y, seed)`` or ``function(X, y)`` returns the scores of the items, always of the same items in the
        same order. Return a dictionary or a pandas Series to name the items. A learner ranks features by its
        `feature_importances_`, or by the absolute values of its `coef_`, after fit.
    X : array-like, sparse array or data frame of shape (n_samples, n_features)
        The rows.
    y : array-like of shape (n_samples,), or None
        The targets. If None, the function gets None.
    k : int, default=1
        The number of items wanted.
    within : {"simplex", "box"} or float, default="simplex"
        The set in which scores lie for all data; epsilon depends on it. "simplex": nonnegative scores that add up to 1
        (radius sqrt(1 - 1 / L) for L items; all zeros stand for equal scores). "box": scores between 0 and 1 (radius
        sqrt(L) / 2). A number: a ball of this radius around the origin; longer vectors of scores are scaled to it.
        Scores outside a simplex or a box raise a ValueError.
    bagging : BaggedRegressor, BaggedClassifier or None, default=None
        An unfitted bagged model whose `scheme`, `n_bags`, `n_jobs` and `random_state` are used; its learner is not.
        None stands for ``BaggedRegressor()``: 500 bags of half of the rows. Smaller bags give a smaller epsilon, but
        scores from less data.
    epsilon : float or None, default=None
        The distance of scores below which sets have k items, and a ranking, in common. None computes it from `delta`
        with the certificate; if epsilon is given, delta is computed from it.
    delta : float, default=0.05
        The fraction of rows whose removal may leave the sets with less in common. It is not a confidence.
    groups : sequence of int or labels, of length n_samples, default=None
        The group of each row, as in `BaggedRegressor.fit`. Groups are then left out instead of rows.
    row_ids : None, "index", or sequence of int or labels, default=None
        The row IDs, as in `BaggedRegressor.fit`. With the same seed, bags that do not contain a row are the same with
        and without it.

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
    Candidates for the top 3 of 10 items, by scores between 0 and 1 (radius 1.582) averaged over
    500 bags, at epsilon = 0.1999: bmi, s5, bp, s4, s3, s6.
    Proved for every data set of 442 rows: the result without a row, with the same epsilon, law of
    bags, seed and row IDs, has at least 3 candidates and a ranking in common with this one, except
    with a probability of at most 0.05, over the draw of bags and seeds and on average over the
    rows.
    """
    k = check_integer(k, "k", "stable_ranking", minimum=1, reason="it is the number of items wanted.")
    scores_in = ScoreSet(within)
    learner = hasattr(function, "fit") and hasattr(function, "get_params")
    finder = Scorer(Importances(function) if learner else function, scores_in, has_targets=y is not None)
    options: dict[str, Any] = {"bagging": bagging, "groups": groups, "row_ids": row_ids}
    model = find_in_bags(finder, X, y, "stable_ranking", **options)
    raw, names = _stacked(model, scores_in)
    n_items = raw.shape[1]
    if k > n_items:
        raise refuse_value("k", "stable_ranking", f"at most {n_items}, the number of items", k)
    items = list(range(n_items)) if names is None else [plain(name) for name in names]
    sizes = scores_in.radius(n_items), scores_in.diameter(n_items)
    stability = StabilityGuarantee.of(model, *sizes, epsilon, delta, "stable_ranking")
    average: BagAverage = fitted(model).average
    return StableRanking(items, average.prediction([raw]), k, scores_in, stability, raw, average)


def _stacked(model: BaggedFindings, scores_in: ScoreSet) -> tuple[np.ndarray, list[Any] | None]:
    """Return the scores of each bag and the names of the items; an empty bag has equal scores."""
    found = model.found
    first = next((number for number, one in enumerate(found) if one is not None), None)
    if first is None:
        raise ValueError("All bags are empty, so there are no scores. Use larger bags, or more of them.")
    n_items, names = len(found[first][0]), found[first][1]
    for number, one in enumerate(found):
        if one is not None and (len(one[0]) != n_items or one[1] != names):
            what = f"{len(one[0])} scores" if len(one[0]) != n_items else "scores of other items"
            raise ValueError(
                f"The function returned {what} for bag {number}, and {n_items} for bag {first}. It must return scores "
                "of the same items in the same order for any rows."
            )
    return np.stack([scores_in.centre(n_items) if one is None else one[0] for one in found]), names
