"""Rankings of items whose scores are close: all those that would do, so that two such sets have one in common."""

import itertools
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from stablebag._checks import as_positions, check_integer, check_real, hold_read_only, refuse_type, refuse_value
from stablebag.deciding.inflated_argmax import as_scores, inflated_argmax

_NEVER = -1  # the round of an item that stays
_OUT = -np.finfo(float).max  # the score of an item that is gone: further behind than any epsilon
_REMEMBERED = 2**14  # sets of items, while rankings are listed
_SHOWN = 3


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
    >>> from stablebag import RankSets
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
        some = ", ".join(map(str, self.first(_SHOWN)))
        more = ", ..." if len(self.first(_SHOWN + 1)) > _SHOWN else ""
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
