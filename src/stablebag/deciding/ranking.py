"""Rankings of items that do not hinge on single rows: scores averaged over bags, and the orders that would do."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from stablebag._checks import check_integer, hold_read_only, refuse_value
from stablebag._seeds import RandomState
from stablebag._wording import as_given, at_most, count_bags, paragraphs, preformatted
from stablebag.deciding.importances import Importances
from stablebag.deciding.inflated_argmax import as_scores
from stablebag.deciding.left_out_rankings import LeftOutRankings
from stablebag.deciding.promise import Promise, Promised
from stablebag.deciding.rank_sets import RankSets, have_common_ranking
from stablebag.deciding.score_sets import ScoreSet
from stablebag.deciding.top_k import top_k_sets
from stablebag.learning.averaging import BagAverage
from stablebag.learning.findings import BaggedFindings, Finder, find_in_bags
from stablebag.measuring.names import Names
from stablebag.resampling.row_ids import plain
from stablebag.resampling.schemes import Scheme
from stablebag.resampling.subbagging import Subbagging

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


@dataclass(frozen=True, eq=False)
class StableRanking(Promised):
    """Scores of items averaged over bags, the orders that would do, and what is proved; made by `stable_ranking`.

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
    promise : Promise
        The distance epsilon and the share delta, and what proves them.
    bag_scores : ndarray of shape (n_bags, n_items)
        The scores of each bag.
    average : BagAverage
        The bags, and what is left out of them.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> from stablebag import Subbagging, stable_ranking
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> ranking = stable_ranking(DecisionTreeRegressor(max_depth=3), X, y, k=2, scheme=Subbagging(0.2), random_state=0)
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
    promise: Promise
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
        return self.promise.words(
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

        lines = {"score": self.scores[self._order], "in_top_k": self.is_in_top_k[self._order]}
        return pd.DataFrame(lines, index=pd.Index(self.ranking, name="item", tupleize_cols=False))

    def explain(self) -> str:
        """Explain in sentences which items are first, and what is proved about them."""
        n_bags, top = self.promise.certificate.n_bags, self.top_k
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

    def __str__(self) -> str:
        return self.explain()

    def _repr_html_(self) -> str:
        """For notebooks."""
        return preformatted(self.explain())

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
    items: Sequence[Any] | None = None,
    scheme: Scheme = Subbagging(0.5),  # noqa: B008 (frozen)
    n_bags: Any = 500,
    epsilon: float | None = None,
    delta: float = 0.05,
    groups: Any = None,
    row_ids: Any = None,
    n_jobs: int | None = None,
    random_state: RandomState = None,
) -> StableRanking:
    """Rank items by scores that are averaged over bags.

    Without most rows, the set of the first k has at least k items in common with the one with all rows, and the sets of
    rankings have one in common.

    Parameters
    ----------
    function : callable or estimator
        ``function(X, y, seed)`` or ``function(X, y)`` returns the scores of the items, always the same ones in the same
        order; a dictionary or a pandas Series of them has the names of the items, too. A learner ranks features, by its
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
    items : sequence or None, default=None
        What the items are called. None takes the names that the scores have, for a learner those of the features that
        it saw, and else counts.
    scheme : ResamplingScheme or {"subbagging", "bernoulli", "classical", "poissonized"}, default=Subbagging(0.5)
        How bags are drawn. Smaller bags give a smaller epsilon, and scores from less data.
    n_bags : int, RandomBags or "all", default=500
        The number of bags; "all" lists every possible bag.
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
    n_jobs : int or None, default=None
        The number of bags to work on in parallel; the result is the same.
    random_state : None, int, RandomState or Generator, default=None
        The source of bags and seeds.

    Returns
    -------
    StableRanking

    Examples
    --------
    >>> import pandas as pd
    >>> from sklearn.datasets import load_diabetes
    >>> from stablebag import Subbagging, stable_ranking
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> def correlations(X, y):
    ...     return X.corrwith(pd.Series(y, X.index)).abs()
    >>> ranking = stable_ranking(correlations, X, y, k=3, within="box", scheme=Subbagging(0.2), random_state=0)
    >>> print(ranking)
    About the first 3 of 10 items, by scores between 0 and 1 (radius 1.582) averaged over 500
    bags, at epsilon = 0.2609: bmi, s5, bp, s4, s3, s6.
    Proved for every data set of 442 rows: what is found without a row, with the same epsilon and
    law of bags, seed and names of rows, has at least 3 of these items among its own, and a
    ranking in common with those that would do here, except with a chance of at most 0.05, over
    the draw of bags and seeds and on average over the rows.
    """
    k = check_integer(k, "k", "stable_ranking", minimum=1, reason="it is how many items are wanted.")
    scores_in = ScoreSet(within)
    learner = hasattr(function, "fit") and hasattr(function, "get_params")
    finder = Scorer(Importances(function) if learner else function, scores_in, has_targets=y is not None)
    about: dict[str, Any] = {"scheme": scheme, "n_bags": n_bags, "groups": groups, "n_jobs": n_jobs}
    model = find_in_bags(finder, X, y, "stable_ranking", row_ids=row_ids, random_state=random_state, **about)
    raw, names = _stacked(model, scores_in)
    n_items = raw.shape[1]
    if k > n_items:
        raise refuse_value("k", "stable_ranking", "at most the number of items", k, f"there are {n_items} items.")
    named = _named(items, names, n_items)
    sizes = scores_in.radius(n_items), scores_in.diameter(n_items)
    promise = Promise.of(model, *sizes, epsilon, delta, "stable_ranking")
    average: BagAverage = model.average_
    return StableRanking(named, average.prediction([raw]), k, scores_in, promise, raw, average)


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


def _named(items: Any, names: list[Any] | None, n_items: int) -> list[Any]:
    """What items are called: as the user says, as their scores do, or by number."""
    if items is None:
        return list(range(n_items)) if names is None else [plain(name) for name in names]
    try:
        fit = len(items) == n_items == len(set(items))
    except TypeError:  # no sequence, or of what cannot be told apart
        fit = False
    if not fit:
        expected = f"{n_items} different names, one for each score"
        raise refuse_value("items", "stable_ranking", expected, items, "the function returns so many scores.")
    return [plain(item) for item in items]
