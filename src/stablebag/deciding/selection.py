"""Model selection that does not hinge on single rows: bags vote, and choices with about the most votes are returned.

Adrian, Soloff and Willett (2025), arXiv 2410.18268, give each bag's choice a coordinate and take the inflated argmax
of the shares of the votes. Their code keeps only choices with votes, which can void the guarantee: two data sets
may vote for many choices each, none of them the same, with shares that are hardly apart. Here a phantom choice without
votes stands for all the others; where it is selected, so is every choice that there is. The proofs are in
docs/proofs.md, 14.
"""

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse

from stablebag._checks import hold_read_only
from stablebag._seeds import RandomState
from stablebag._wording import as_given, count_bags, paragraphs, percent, preformatted
from stablebag.deciding.choices import key_of, plain_choice
from stablebag.deciding.inflated_argmax import inflated_argmax
from stablebag.deciding.left_out_selections import LeftOutSelections
from stablebag.deciding.promise import Promise, Promised, for_most_rows
from stablebag.learning.averaging import BagAverage
from stablebag.learning.findings import Finder, find_in_bags
from stablebag.measuring.names import Names
from stablebag.proving import bounds
from stablebag.resampling.schemes import Scheme
from stablebag.resampling.subbagging import Subbagging

_BLOCK_BYTES = 2**26
_ROUNDING = 1e-12  # of shares, in ties
_SHOWN = 5


class Selector(Finder):
    """A function from data to a choice, as a learner."""

    def read(self, found: Any) -> Any:
        """Return the choice, checked to be one that can be voted on."""
        choice = plain_choice(found)
        key_of(choice, "selector", "select_model")
        return choice


@dataclass(frozen=True, eq=False)
class Selection(Promised):
    """The choices with about the most votes of the bags, and what is proved about them; made by `select_model`.

    Attributes
    ----------
    choices : list
        All choices of the bags, those with most votes first, and among equal ones that of the earlier bag.
    shares : ndarray of shape (n_choices,)
        The share of the bags that made each choice.
    is_selected : ndarray of bool, shape (n_choices,)
        Which of them are selected.
    everything : bool
        Whether every choice is selected, also those that no bag made: the votes are spread so thin that nothing is
        decided.
    promise : Promise
        The distance epsilon and the share delta, and what proves them.
    votes : ndarray of int, shape (n_bags,)
        The place of each bag's choice in `choices`.
    average : BagAverage
        The bags, and what is left out of them.
    vote_delta : float or None
        A smaller delta for this data set, from the shares of the votes: ``c (1 - |w|^2) / epsilon^2``. Only with all
        bags and an epsilon that was given in advance; else None.

    Examples
    --------
    >>> import numpy as np
    >>> from stablebag import select_model
    >>> X = np.arange(30.0)[:, None]
    >>> selection = select_model(lambda X, y: bool(X.mean() > 12), X, None, n_bags=200, random_state=0)
    >>> selection.selected, selection.shares
    ([True], array([0.92, 0.08]))
    """

    choices: list[Any]
    shares: np.ndarray
    is_selected: np.ndarray
    everything: bool
    promise: Promise
    votes: np.ndarray
    average: BagAverage = field(repr=False)
    vote_delta: float | None = None

    def __post_init__(self) -> None:
        hold_read_only(self)

    @property
    def selected(self) -> list[Any]:
        """The selected choices, those with most votes first; if `everything` is selected, all that any bag made."""
        return [choice for choice, chosen in zip(self.choices, self.is_selected, strict=True) if chosen]

    @property
    def winner(self) -> Any:
        """The choice with most votes; of several, that of the earliest bag."""
        return self.choices[0]

    @property
    def guarantee(self) -> str:
        """What is proved, in words."""
        said = self.promise.words("has a choice in common with what is selected here")
        if self.vote_delta is None or self.vote_delta >= min(1.0, self.delta):
            return said
        n, noun = self.promise.certificate.n_samples, self.promise.certificate.noun
        more = f" Proved for this data set, from its votes: {for_most_rows(self.vote_delta, n)}."
        return said + noun.in_place_of_rows(more)

    def leave_one_out(self) -> LeftOutSelections:
        """Measure what is selected without each row, or unit, from the votes of the bags that do not contain it.

        Nothing is run again. It is about these bags, and not about bags drawn anew.

        Returns
        -------
        LeftOutSelections
        """
        average, n_choices = self.average, len(self.choices)
        average.refuse_units_in_every_bag()
        weights, n_bags = np.ones(len(self.votes)) if average.drawn else average.weights, len(self.votes)
        ballots = sparse.csr_array((weights, (self.votes, np.arange(n_bags))), shape=(n_choices, n_bags))
        changed, overlaps, distance = [], [], []
        for _, inside in average.bags.inclusion_blocks(max(1, _BLOCK_BYTES * n_bags // (8 * (n_bags + 4 * n_choices)))):
            outside = (~inside).astype(float)
            shares = (ballots @ outside).T / (weights @ outside)[:, None]
            selected, everything = with_phantom(shares, self.epsilon)
            changed.append(shares.max(axis=1) > shares[:, 0] + _ROUNDING)
            overlaps.append((selected & self.is_selected).any(axis=1) | everything | self.everything)
            distance.append(np.sqrt(((shares - self.shares) ** 2).sum(axis=1)))
        measured = np.concatenate(changed), np.concatenate(overlaps), np.concatenate(distance)
        return LeftOutSelections(*measured, Names.of(average.units), average.units.noun)

    def to_frame(self) -> Any:
        """Return a pandas DataFrame with a line per choice: choice, share of the votes, whether it is selected."""
        import pandas as pd

        column = np.empty(len(self.choices), dtype=object)
        column[:] = self.choices
        return pd.DataFrame({"choice": column, "share": self.shares, "selected": self.is_selected})

    def explain(self) -> str:
        """Explain in sentences what is selected, and what is proved about it."""
        certificate, chosen = self.promise.certificate, self.selected
        first = zip(chosen[:_SHOWN], self.shares[self.is_selected], strict=False)
        some = ", ".join(f"{_text(choice)} ({percent(share)})" for choice, share in first)
        some += f" and {len(chosen) - _SHOWN:,} others" if len(chosen) > _SHOWN else ""
        drawn = math.isfinite(certificate.n_bags)
        bags = count_bags(certificate.n_bags) if drawn else "all bags"
        if self.everything:
            # With all bags there are no more, and an epsilon that is given does not change with delta.
            hopeless = bool(with_phantom(np.ones(1), self.epsilon)[1])  # even if all bags made one choice
            ways = [] if hopeless else ["a selector with fewer possible choices"]
            ways += ["smaller bags"] + (["more of them"] if drawn else [])
            ways += ["a smaller epsilon"] if self.promise.given else ["a larger delta"]
            what = (
                f"the votes of {bags} are spread over {len(self.choices):,} choices, the first of which are {some}, and"
            )
            why = f"whatever the votes, here {some}," if hopeless else what
            selected = (
                f"Every choice is selected, also those that {f'none of {bags}' if drawn else 'no bag'} made: {why} "
                f"nothing is decided at epsilon = {as_given(self.epsilon)}. Use {', '.join(ways[:-1])}, or {ways[-1]}."
            )
        elif len(self.choices) == 1:
            selected = f"All bags make the same choice ({bags}), which is selected: {some}."
        else:
            selected = (
                f"{len(chosen):,} of the {len(self.choices):,} choices of {bags} {'is' if len(chosen) == 1 else 'are'} "
                f"selected at epsilon = {as_given(self.epsilon)}: {some}."
            )
        return paragraphs([selected, self.guarantee])

    def __str__(self) -> str:
        return self.explain()

    def _repr_html_(self) -> str:
        """For notebooks."""
        return preformatted(self.explain())

    def __len__(self) -> int:
        return int(self.is_selected.sum())

    def __contains__(self, choice: object) -> bool:
        """Whether a choice is selected; if everything is, any choice."""
        about = "choice", "Selection"
        try:
            return self.everything or key_of(choice, *about) in {key_of(one, *about) for one in self.selected}
        except TypeError:  # nothing that a bag can choose
            return False


def select_model(
    selector: Any,
    X: Any,
    y: Any,
    *,
    scheme: Scheme = Subbagging(0.5),  # noqa: B008 (frozen)
    n_bags: Any = 500,
    epsilon: float | None = None,
    delta: float = 0.05,
    groups: Any = None,
    row_ids: Any = None,
    n_jobs: int | None = None,
    random_state: RandomState = None,
) -> Selection:
    """Let bags vote on a choice, and return the choices with about the most votes.

    Any function that makes a choice from data will do: the features that the lasso keeps, the winner of a grid search,
    a number of clusters. Without most rows, the selected choices have one in common with those selected with it.

    Parameters
    ----------
    selector : callable
        ``selector(X, y)`` returns a hashable choice; ``selector(X, y, seed)`` if its third parameter has no default or
        is called seed. It gets the rows of a bag as they came. A bag without rows chooses None. Two choices are the
        same if their types and values are: 1, 1.0 and True are three, and a missing value is one.
    X : array-like, sparse array or data frame of shape (n_samples, n_features)
        The rows.
    y : array-like of shape (n_samples,), or None
        Their targets; if there are none, the selector gets None.
    scheme : ResamplingScheme or {"subbagging", "bernoulli", "classical", "poissonized"}, default=Subbagging(0.5)
        How bags are drawn. Smaller bags give a smaller epsilon, and choices from less data.
    n_bags : int, RandomBags or "all", default=500
        The number of bags; "all" lists every possible bag.
    epsilon : float or None, default=None
        The distance of the shares of votes below which collections have a choice in common. None takes what the
        certificate gives for `delta`; if it is given, the share of rows follows from it in place of `delta`.
    delta : float, default=0.05
        The share of rows, not a confidence, without which the collection may have no choice in common.
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
    Selection

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_diabetes
    >>> from stablebag import Subbagging, select_model
    >>> X, y = load_diabetes(return_X_y=True)
    >>> def best_feature(X, y):
    ...     return int(np.abs(X.T @ (y - y.mean())).argmax())
    >>> selection = select_model(best_feature, X, y, scheme=Subbagging(0.2), random_state=0)
    >>> print(selection)
    1 of the 6 choices of 500 bags is selected at epsilon = 0.1649: 2 (55.6%).
    Proved for every data set of 442 rows: what is found without a row, with the same epsilon and
    law of bags, seed and names of rows, has a choice in common with what is selected here, except
    with a chance of at most 0.05, over the draw of bags and seeds and on average over the rows.
    >>> print(selection.leave_one_out())
    Measured with the same bags: without 0 of the 442 rows another choice has most votes; without
    0 the selected choices have none in common with those selected with all rows.
    """
    finder = Selector(selector, has_targets=y is not None)
    about: dict[str, Any] = {
        "scheme": scheme,
        "n_bags": n_bags,
        "groups": groups,
        "row_ids": row_ids,
        "n_jobs": n_jobs,
        "random_state": random_state,
    }
    model = find_in_bags(finder, X, y, "select_model", name="selector", **about)
    first: dict[Any, tuple[int, Any]] = {}  # the number of each choice, and as the earliest bag made it
    made = [(key_of(choice, "selector", "select_model"), choice) for choice in model.found]
    votes = np.array([first.setdefault(key, (len(first), choice))[0] for key, choice in made], dtype=np.intp)
    average: BagAverage = model.average_
    shares = np.bincount(votes) / len(votes) if average.drawn else np.bincount(votes, average.weights)
    order = np.argsort(-shares.round(12), kind="stable")
    shares, votes = shares[order], np.argsort(order)[votes]
    # Choices are corners of a simplex of unknown dimension: within 1 of the origin, and sqrt(2) apart.
    promise = Promise.of(model, 1.0, math.sqrt(2.0), epsilon, delta, "select_model")
    selected, everything = with_phantom(shares, promise.epsilon)
    of_votes = None
    if epsilon is not None and model.derandomized_:
        of_votes = bounds.vote_delta(promise.epsilon, model.scheme_.constant, (shares / shares.sum()).tolist())
    choices = [choice for _, choice in first.values()]
    ordered = [choices[number] for number in order]
    return Selection(ordered, shares, selected, bool(everything), promise, votes, average, of_votes)


def with_phantom(shares: np.ndarray, epsilon: float) -> tuple[np.ndarray, np.ndarray]:
    """Return which choices are in the inflated argmax of their shares, and whether one without votes is.

    One choice without votes stands for all: on the simplex, more of them change no distance that is below epsilon.

    Parameters
    ----------
    shares : ndarray of shape (n_choices,) or (n_points, n_choices)
        The shares of the votes.
    epsilon : float
        The distance of shares.

    Returns
    -------
    selected : ndarray of bool, shaped like shares
        Which choices are in the set.
    everything : ndarray of bool, shape () or (n_points,)
        Whether a choice without votes is in the set, and with it every choice that there is.

    Examples
    --------
    >>> with_phantom(np.full(23, 1 / 23), 0.3)[1], with_phantom(np.array([0.7, 0.2, 0.1]), 0.3)
    (array(True), (array([ True, False, False]), array(False)))
    """
    nobody = np.zeros((*shares.shape[:-1], 1))
    found = inflated_argmax(np.concatenate([shares, nobody], axis=-1), epsilon)
    return found[..., :-1], np.asarray(found[..., -1])


def _text(choice: Any) -> str:
    """A choice in a sentence; sets are written in order."""
    if isinstance(choice, frozenset):
        return "{" + ", ".join(sorted(map(str, choice))) + "}"
    if isinstance(choice, tuple) and choice and all(isinstance(part, tuple) and len(part) == 2 for part in choice):
        return ", ".join(f"{name}={value}" for name, value in choice)
    return str(choice)
