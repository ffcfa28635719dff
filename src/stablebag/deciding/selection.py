"""Model selection that is stable without any one row."""

import dataclasses
import math
import pickle
from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from functools import partial
from types import BuiltinFunctionType, FunctionType
from typing import Any

import joblib
import numpy as np
from scipy import sparse

from stablebag._checks import check_choice, check_integer, hold_read_only, read_only, refuse_type, refuse_value
from stablebag._wording import ROWS, Noun, Result, as_given, count_bags, count_points, paragraphs, percent
from stablebag.deciding.guarantees import StabilityGuarantee, StableDecision, for_most_rows
from stablebag.deciding.inflated_argmax import inflated_argmax
from stablebag.deciding.label_sets import LabelSets, predict_once_if_small, predict_set
from stablebag.measuring.leave_one_out import left_out_blocks
from stablebag.measuring.perturbations import Names, flipped
from stablebag.models.average import BagAverage
from stablebag.models.fitted import fitted
from stablebag.models.functions import Finder, find_in_bags
from stablebag.models.learners import Copies
from stablebag.proving import bounds

# -------------------------------------------------------------------------------------------------------------- choices
# Two choices are the same if their types and values are, even if different processes made them.
#
# Python's == does not do that: 1, 1.0 and True are equal, although a search over ``max_features=[1, 1.0]`` has two
# different models; NaN does not equal itself, although it is one choice; and objects compared by identity differ
# between processes. So votes are counted by a key.

_PLAIN = "biufcSU"  # kinds of numpy scalars that have a Python counterpart


def plain_choice(choice: Any) -> Any:
    """Return a choice with numpy scalars converted to Python's, also inside tuples and frozensets.

    >>> plain_choice((np.int64(3), np.str_("l1")))
    (3, 'l1')
    """
    if isinstance(choice, np.generic) and choice.dtype.kind in _PLAIN:
        return choice.item()
    if type(choice) in (tuple, frozenset):
        return type(choice)(map(plain_choice, choice))
    return choice


def key_of(choice: Any, name: str, owner: str) -> Hashable:
    """Return a key that is equal for two choices exactly if they are the same choice.

    Parameters
    ----------
    choice : object
        A choice; one that cannot be voted on raises an error.
    name : str
        The parameter it comes from, for error messages.
    owner : str
        The function with this parameter, for error messages.

    Returns
    -------
    Hashable

    Examples
    --------
    >>> keys = {key_of(choice, "selector", "select_model") for choice in (1, 1.0, True, float("nan"), float("nan"))}
    >>> len(keys)
    4
    """
    choice = plain_choice(choice)
    kind = type(choice)
    if isinstance(choice, tuple | frozenset):
        parts = (key_of(part, name, owner) for part in choice)
        return kind, (frozenset(parts) if isinstance(choice, frozenset) else tuple(parts))
    expected = "a function that returns something hashable"
    try:
        hash(choice)
    except TypeError:
        reason = "votes are counted by hash. Return a tuple, frozenset or string instead of a list, set or array."
        raise refuse_type(name, owner, expected, choice, reason) from None
    if dataclasses.is_dataclass(choice) and not isinstance(choice, type) and "__eq__" in vars(kind):
        return kind, tuple(key_of(getattr(choice, part.name), name, owner) for part in dataclasses.fields(choice))
    if not _is_equal_to_itself(choice):  # missing values of one kind are the same choice
        return kind, repr(choice)
    if _is_compared_by_identity(choice):
        reason = (
            "two bags can never return the same object, so their votes cannot be counted together. Return its name or "
            "parameters."
        )
        raise refuse_type(name, owner, "a function that returns something compared by value", choice, reason)
    return kind, choice


def _is_equal_to_itself(choice: Any) -> bool:
    try:
        return bool(choice == choice)
    except (TypeError, ValueError):  # for example pandas.NA
        return False


def _is_compared_by_identity(choice: Any) -> bool:
    """Return whether a choice is compared by identity, and returns from another process as another object."""
    own: Any = type(choice).__eq__
    if own is not object.__eq__:
        return False
    try:
        return pickle.loads(pickle.dumps(choice)) is not choice  # classes and functions of a module are pickled by name
    except (pickle.PicklingError, TypeError, AttributeError):
        return True


# -------------------------------------------------------------------------------------------------- left out selections

_SHOWN_LEFT_OUT = 5


@dataclass(frozen=True, eq=False, repr=False)
class LeftOutSelections(Result):
    """How a selection changes without each row, or group; returned by `Selection.leave_one_out`.

    Attributes
    ----------
    changes_winner : ndarray of bool, shape (n_samples,)
        Whether another choice has the most votes without the row; a tie does not count as a change.
    overlaps : ndarray of bool, shape (n_samples,)
        Whether the choices selected with and without the row have one in common.
    distance : ndarray of shape (n_samples,)
        The Euclidean distance between the shares of votes with and without the row.
    names : Names
        The row IDs or group labels.
    noun : Noun
        The word for a row or group that is left out.
    """

    changes_winner: np.ndarray
    overlaps: np.ndarray
    distance: np.ndarray
    names: Names
    noun: Noun = ROWS

    def __post_init__(self) -> None:
        hold_read_only(self)

    @property
    def instability(self) -> float:
        """The share of rows for which the choices selected with and without the row have none in common."""
        return float(1 - self.overlaps.mean())

    @property
    def winner_instability(self) -> float:
        """The share of rows whose removal gives another choice the most votes."""
        return float(self.changes_winner.mean())

    def rows_that_change_the_winner(self) -> np.ndarray:
        """Return the IDs of the rows whose removal gives another choice the most votes."""
        return self.names.of_rows(np.flatnonzero(self.changes_winner))

    def to_frame(self) -> Any:
        """Return a pandas DataFrame with columns changes_winner, overlaps and distance, indexed by row ID."""
        import pandas as pd

        return pd.DataFrame(self._columns, index=self.names.rows)

    def explain(self) -> str:
        """Explain in sentences how many rows change the winner, and how many the whole selection."""
        n, changing, rows = len(self.overlaps), self.rows_that_change_the_winner(), self.noun.plural
        some = ", ".join(map(str, changing[:_SHOWN_LEFT_OUT])) + (", ..." if len(changing) > _SHOWN_LEFT_OUT else "")
        named = f" ({some})" if len(changing) else ""
        sentences = [
            f"Measured with the same bags, leaving out one of the {n:,} {rows} at a time: the choice with the most "
            f"votes changes for {len(changing):,} of them{named}. The selected choices have none in common with those "
            f"of all {rows} for {int((~self.overlaps).sum()):,}."
        ]
        return paragraphs(sentences)

    def _preview(self) -> tuple[str, Any, dict[str, Any]]:
        names = range(len(self)) if self.names.rows is None else self.names.rows
        return self.noun.singular, names, self._columns

    @property
    def _columns(self) -> dict[str, np.ndarray]:
        return {"changes_winner": self.changes_winner, "overlaps": self.overlaps, "distance": self.distance}

    def __len__(self) -> int:
        return len(self.overlaps)


# ------------------------------------------------------------------------------------------------------------ selection
# Bags vote, and the choices close to the most votes are selected.
#
# Adrian, Soloff and Willett (2025), arXiv 2410.18268, give each choice a coordinate and take the inflated argmax of the
# shares of votes. Their code keeps only choices with votes, which can void the guarantee: two data sets may vote for
# many choices each, with none in common, although the shares are tiny and so close to each other. Here one phantom
# choice without votes stands for all others. If it is selected, all possible choices are. The proofs are in
# docs/proofs.md, 14.

_BLOCK_BYTES = 2**26
_ROUNDING = 1e-12  # rounding error of shares, which are then tied
_SHOWN = 5


class Selector(Finder):
    """A function from data to a choice, as a learner."""

    def read(self, found: Any) -> Any:
        """Return the choice; one that cannot be voted on raises an error."""
        choice = plain_choice(found)
        key_of(choice, "selector", "select_model")
        return choice


@dataclass(frozen=True, eq=False, repr=False)
class Selection(StableDecision):
    """The choices close to the most votes, with their guarantee; returned by `select_model`.

    Iterating over it yields the selected choices, most votes first.

    Attributes
    ----------
    choices : list
        All choices of the bags, most votes first; ties are in the order of the bags.
    shares : ndarray of shape (n_choices,)
        The share of the bags that made each choice.
    is_selected : ndarray of bool, shape (n_choices,)
        Whether each choice is selected.
    selects_all : bool
        Whether every possible choice is selected, even those that no bag made: the votes are spread so thinly that
        nothing is decided.
    stability : StabilityGuarantee
        The distance epsilon and the share delta, with their certificate.
    votes : ndarray of int, shape (n_bags,)
        The position of each bag's choice in `choices`.
    average : BagAverage
        The average over the bags.
    vote_delta : float or None
        A smaller delta for this data set, from the shares of votes: ``c (1 - |w|^2) / epsilon^2``. None unless all bags
        are used and epsilon was given.

    Examples
    --------
    >>> import numpy as np
    >>> from stablebag import BaggedRegressor, select_model
    >>> X, bagging = np.arange(30.0)[:, None], BaggedRegressor(n_bags=200, random_state=0)
    >>> selection = select_model(lambda X, y: bool(X.mean() > 12), X, None, bagging=bagging)
    >>> selection.selected, selection.shares
    ([True], array([0.92, 0.08]))
    >>> selection
    choice  share  selected
    True     0.92       yes
    False    0.08        no
    """

    choices: list[Any]
    shares: np.ndarray
    is_selected: np.ndarray
    selects_all: bool
    stability: StabilityGuarantee
    votes: np.ndarray
    average: BagAverage = field(repr=False)
    vote_delta: float | None = None

    def __post_init__(self) -> None:
        hold_read_only(self)

    @property
    def selected(self) -> list[Any]:
        """The selected choices, most votes first; if all are selected, those that any bag made."""
        return [choice for choice, chosen in zip(self.choices, self.is_selected, strict=True) if chosen]

    @property
    def winner(self) -> Any:
        """The choice with the most votes; if several are tied, that of the earliest bag."""
        return self.choices[0]

    @property
    def guarantee(self) -> str:
        """The guarantee in words."""
        sentence = self.stability.describe("has a choice in common with this one")
        if self.vote_delta is None or self.vote_delta >= min(1.0, self.delta):
            return sentence
        n, noun = self.stability.certificate.n_samples, self.stability.certificate.noun
        return f"{sentence} Proved for this data set, from its votes: {for_most_rows(self.vote_delta, n, noun)}."

    def leave_one_out(self) -> LeftOutSelections:
        """Measure the selection without each row, or group, from the votes of the bags that do not contain it.

        The selector is not called again. The result is about these bags, not about bags drawn again.

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
            selected, selects_all = with_phantom(shares, self.epsilon)
            changed.append(shares.max(axis=1) > shares[:, 0] + _ROUNDING)
            overlaps.append((selected & self.is_selected).any(axis=1) | selects_all | self.selects_all)
            distance.append(np.sqrt(((shares - self.shares) ** 2).sum(axis=1)))
        measured = np.concatenate(changed), np.concatenate(overlaps), np.concatenate(distance)
        return LeftOutSelections(*measured, Names.of(average.units), average.units.noun)

    def to_frame(self) -> Any:
        """Return a pandas DataFrame with columns choice, share (of the votes) and selected."""
        import pandas as pd

        column = np.empty(len(self.choices), dtype=object)
        column[:] = self.choices
        return pd.DataFrame({"choice": column, "share": self.shares, "selected": self.is_selected})

    def explain(self) -> str:
        """Explain the selection and its guarantee in sentences."""
        certificate, chosen = self.stability.certificate, self.selected
        first = zip(chosen[:_SHOWN], self.shares[self.is_selected], strict=False)
        some = ", ".join(f"{_text(choice)} ({percent(share)})" for choice, share in first)
        some += f" and {len(chosen) - _SHOWN:,} others" if len(chosen) > _SHOWN else ""
        drawn = math.isfinite(certificate.n_bags)
        bags = count_bags(certificate.n_bags) if drawn else "all bags"
        if self.selects_all:
            # More bags are no way out if all are used, and delta is not if epsilon was given.
            hopeless = bool(with_phantom(np.ones(1), self.epsilon)[1])  # even if all bags made the same choice
            ways = [] if hopeless else ["a selector with fewer possible choices"]
            ways += ["smaller bags"] + (["more of them"] if drawn else [])
            ways += ["a smaller epsilon"] if self.stability.epsilon_given else ["a larger delta"]
            spread = f"the votes of {bags} are spread over {len(self.choices):,} choices (most votes: {some}), so"
            why = f"whatever the votes (here {some})," if hopeless else spread
            selected = (
                f"Nothing is decided at epsilon = {as_given(self.epsilon)}: {why} every choice is selected, even those "
                f"that no bag made. Use {', '.join(ways[:-1])}, or {ways[-1]}."
            )
        elif len(self.choices) == 1:
            selected = f"All bags make the same choice ({bags}), which is selected: {some}."
        else:
            selected = (
                f"{len(chosen):,} of the {len(self.choices):,} choices made by {bags} "
                f"{'is' if len(chosen) == 1 else 'are'} selected at epsilon = {as_given(self.epsilon)}: {some}."
            )
        return paragraphs([selected, self.guarantee])

    def _preview(self) -> tuple[str, Any, dict[str, Any]]:
        return "choice", [*map(_text, self.choices)], {"share": self.shares, "selected": self.is_selected}

    def __iter__(self) -> Iterator[Any]:
        return iter(self.selected)

    def __len__(self) -> int:
        return int(self.is_selected.sum())

    def __contains__(self, choice: object) -> bool:
        """Return whether a choice is selected; if all are, True for any choice."""
        where = "choice", "Selection"
        try:
            return self.selects_all or key_of(choice, *where) in {key_of(one, *where) for one in self.selected}
        except TypeError:  # no bag can make such a choice
            return False


def select_model(
    selector: Any,
    X: Any,
    y: Any,
    *,
    bagging: Any = None,
    epsilon: float | None = None,
    delta: float = 0.05,
    groups: Any = None,
    row_ids: Any = None,
) -> Selection:
    """Let bags vote on a choice, and return the choices close to the most votes.

    A choice can be anything computed from data: the features that the lasso keeps, the winner of a grid search, or a
    number of clusters. For most rows, the choices selected with and without the row have one in common.

    Parameters
    ----------
    selector : callable
        ``selector(X, y)`` returns a hashable choice. It is called as ``selector(X, y, seed)`` if its third parameter
        has no default or is called seed. It gets the rows of a bag in the type of X. An empty bag chooses None. Two
        choices are the same if their types and values are: 1, 1.0 and True are three choices, and NaN is one.
    X : array-like, sparse array or data frame of shape (n_samples, n_features)
        The rows.
    y : array-like of shape (n_samples,), or None
        The targets. If None, the selector gets None.
    bagging : BaggedRegressor, BaggedClassifier or None, default=None
        An unfitted bagged model whose `scheme`, `n_bags`, `n_jobs` and `random_state` are used; its learner is not.
        None stands for ``BaggedRegressor()``: 500 bags of half of the rows. Smaller bags give a smaller epsilon, but
        choices from less data.
    epsilon : float or None, default=None
        The distance of the shares of votes below which selections have a choice in common. None computes it from
        `delta` with the certificate; if epsilon is given, delta is computed from it.
    delta : float, default=0.05
        The fraction of rows whose removal may give a selection that shares no choice with this one. It is not a
        confidence.
    groups : sequence of int or labels, of length n_samples, default=None
        The group of each row, as in `BaggedRegressor.fit`. Groups are then left out instead of rows.
    row_ids : None, "index", or sequence of int or labels, default=None
        The row IDs, as in `BaggedRegressor.fit`. With the same seed, bags that do not contain a row are the same with
        and without it.

    Returns
    -------
    Selection

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_diabetes
    >>> from stablebag import BaggedRegressor, Subbagging, select_model
    >>> X, y = load_diabetes(return_X_y=True)
    >>> def best_feature(X, y):
    ...     return int(np.abs(X.T @ (y - y.mean())).argmax())
    >>> bagging = BaggedRegressor(scheme=Subbagging(0.2), random_state=0)
    >>> selection = select_model(best_feature, X, y, bagging=bagging)
    >>> print(selection)
    1 of the 6 choices made by 500 bags is selected at epsilon = 0.1264: 2 (55.6%).
    Proved for every data set of 442 rows: the result without a row, with the same epsilon, law of
    bags, seed and row IDs, has a choice in common with this one, except with a probability of at
    most 0.05, over the draw of bags and seeds and on average over the rows.
    >>> print(selection.leave_one_out())
    Measured with the same bags, leaving out one of the 442 rows at a time: the choice with the most
    votes changes for 0 of them. The selected choices have none in common with those of all rows for
    0.
    """
    finder = Selector(selector, has_targets=y is not None)
    options: dict[str, Any] = {"bagging": bagging, "groups": groups, "row_ids": row_ids}
    model = find_in_bags(finder, X, y, "select_model", name="selector", **options)
    first: dict[Any, tuple[int, Any]] = {}  # the number of each choice, and the choice of the earliest bag
    made = [(key_of(choice, "selector", "select_model"), choice) for choice in model.found]
    votes = np.array([first.setdefault(key, (len(first), choice))[0] for key, choice in made], dtype=np.intp)
    average: BagAverage = fitted(model).average
    shares = np.bincount(votes) / len(votes) if average.drawn else np.bincount(votes, average.weights)
    order = np.argsort(-shares.round(12), kind="stable")
    shares, votes = shares[order], np.argsort(order)[votes]
    # Choices are corners of a simplex of unknown dimension, at distance 1 from the origin and sqrt(2) from each other.
    stability = StabilityGuarantee.of(model, 1.0, math.sqrt(2.0), epsilon, delta, "select_model")
    selected, selects_all = with_phantom(shares, stability.epsilon)
    of_votes = None
    if epsilon is not None and model.derandomized_:
        of_votes = bounds.vote_delta(stability.epsilon, model.scheme_.constant, (shares / shares.sum()).tolist())
    choices = [choice for _, choice in first.values()]
    ordered = [choices[number] for number in order]
    return Selection(ordered, shares, selected, bool(selects_all), stability, votes, average, of_votes)


def with_phantom(shares: np.ndarray, epsilon: float) -> tuple[np.ndarray, np.ndarray]:
    """Return which choices are in the inflated argmax of their shares, and whether a choice without votes is.

    One choice without votes stands for all of them: on the simplex, more would not change distances below epsilon.

    Parameters
    ----------
    shares : ndarray of shape (n_choices,) or (n_points, n_choices)
        The shares of the votes.
    epsilon : float
        The distance of shares.

    Returns
    -------
    selected : ndarray of bool, shaped like shares
        Whether each choice is in the set.
    selects_all : ndarray of bool, shape () or (n_points,)
        Whether a choice without votes is in the set, and so every possible choice.

    Examples
    --------
    >>> with_phantom(np.full(23, 1 / 23), 0.3)[1], with_phantom(np.array([0.7, 0.2, 0.1]), 0.3)
    (array(True), (array([ True, False, False]), array(False)))
    """
    nobody = np.zeros((*shares.shape[:-1], 1))
    found = inflated_argmax(np.concatenate([shares, nobody], axis=-1), epsilon)
    return found[..., :-1], np.asarray(found[..., -1])


def _text(choice: Any) -> str:
    """Return a choice as text; sets are sorted."""
    if isinstance(choice, frozenset):
        return "{" + ", ".join(sorted(map(str, choice))) + "}"
    if isinstance(choice, tuple) and choice and all(isinstance(part, tuple) and len(part) == 2 for part in choice):
        return ", ".join(f"{name}={value}" for name, value in choice)
    return str(choice)


# -------------------------------------------------------------------------------------------------------- search winner

_EXPECTED = "an unfitted search, such as GridSearchCV(...)"
_NONE = "it has no best_params_ after fit. To vote on something else, pass select_model a function of (X, y)."


@dataclass(frozen=True)
class SearchWinner:
    """A selector for `select_model` that returns the best parameters of a search; returned by `search_winner`.

    Attributes
    ----------
    search : estimator
        The unfitted search.
    """

    search: Any

    def __call__(self, X: Any, y: Any, seed: int) -> tuple[tuple[str, Any], ...]:
        """Run the search on these rows, and return its best parameters."""
        search = Copies(self.search).copy(seed)
        if search.get_params(deep=False).get("refit") is True:  # the refitted estimator would not be used
            search.set_params(refit=False)
        search.fit(X, y)
        if not hasattr(search, "best_params_"):
            raise refuse_type("search", "search_winner", _EXPECTED, self.search, _NONE)
        return tuple(sorted((name, _hashable(value)) for name, value in search.best_params_.items()))


def search_winner(search: Any) -> SearchWinner:
    """Return a selector for `select_model` that votes for the best parameters of a scikit-learn search.

    A choice is a tuple of (name, value) pairs, so ``dict(choice)`` has the parameters. Estimators among the values
    become strings. The search runs within each bag. Use bags without repeated rows (`Subbagging`): otherwise, copies of
    a row would be in several folds.

    Parameters
    ----------
    search : estimator
        An unfitted search with `best_params_` after fit, such as `GridSearchCV`. Each `random_state` that is None gets
        a different seed in each bag.

    Returns
    -------
    SearchWinner
        A function of (X, y, seed).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.model_selection import GridSearchCV
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from stablebag.deciding import search_winner
    >>> search = GridSearchCV(KNeighborsClassifier(), {"n_neighbors": [1, 5, 50]})
    >>> search_winner(search)(*load_iris(return_X_y=True), seed=0)
    (('n_neighbors', 5),)
    """
    if isinstance(search, type) or not all(hasattr(search, name) for name in ("fit", "get_params")):
        raise refuse_type("search", "search_winner", _EXPECTED, search)
    parameters = search.get_params(deep=False)
    if "estimator" not in parameters:  # every search has one
        raise refuse_type("search", "search_winner", _EXPECTED, search, _NONE)
    if parameters.get("refit", True) is False and isinstance(parameters.get("scoring"), list | tuple | dict | set):
        reason = "with several scores, set refit to the one that decides, for example refit='accuracy'."
        raise refuse_value("search", "search_winner", "a search with best_params_", search, reason)
    return SearchWinner(search)


def _hashable(value: Any) -> Any:
    """Return a hashable value that is equal for equal parameters, in all bags."""
    if isinstance(value, np.generic):
        return plain_choice(value)
    if isinstance(value, list | tuple | np.ndarray):
        return tuple(map(_hashable, value))
    if isinstance(value, dict):
        return tuple((name, _hashable(part)) for name, part in value.items())
    if hasattr(value, "get_params") and not isinstance(value, type):
        text = repr(value)
        return text if "..." not in text else f"{text} {joblib.hash(value)[:8]}"  # a shortened repr is not unique
    if isinstance(value, type | FunctionType | BuiltinFunctionType):
        return value
    # Objects hashed by identity differ between bags, so they are compared by content.
    by_identity = getattr(type(value), "__hash__", None) in (None, object.__hash__) or isinstance(value, partial)
    return value if not by_identity or value is None else f"{type(value).__name__} {joblib.hash(value)[:8]}"


# -------------------------------------------------------------------------------------------------- selection stability

RULES = ("argmax", "inflated-argmax")


@dataclass(frozen=True, eq=False, repr=False)
class SelectionStability(Result):
    """Which rows flip the decision at some points, as measured, with the guarantee for label sets.

    Returned by `selection_stability`.

    Attributes
    ----------
    flips : dict of str to ndarray of bool, shape (n_rows, n_points)
        For the rules "argmax" and "inflated-argmax": whether the decisions with and without the row have no label in
        common.
    sets : LabelSets
        The sets by the inflated argmax, with their epsilon and guarantee.
    names : Names
        The labels of rows and points.
    noun : Noun
        The word for a row or group that is left out.
    is_noisy : bool, default=True
        Whether bags were drawn at random, so some flips may be bagging noise.
    """

    flips: dict[str, np.ndarray]
    sets: LabelSets
    names: Names
    noun: Noun
    is_noisy: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "flips", {rule: read_only(flips) for rule, flips in self.flips.items()})

    def delta(self, rule: str = "argmax") -> np.ndarray:
        """Return the share of rows that flip the decision at each point.

        Parameters
        ----------
        rule : {"argmax", "inflated-argmax"}, default="argmax"
            The rule of the decision.

        Returns
        -------
        ndarray of shape (n_points,)
        """
        shares: np.ndarray = self._of(rule, "SelectionStability.delta").mean(axis=0)
        return shares

    def rows_that_flip(self, point: int, rule: str = "argmax") -> np.ndarray:
        """Return which rows, or groups, flip the decision at a point when left out one at a time.

        Parameters
        ----------
        point : int
            The position of the point.
        rule : {"argmax", "inflated-argmax"}, default="argmax"
            The rule of the decision.

        Returns
        -------
        ndarray
            The row IDs or group labels; empty if no row flips the decision.
        """
        owner = "SelectionStability.rows_that_flip"
        flips, point = self._of(rule, owner), check_integer(point, "point", owner, minimum=0)
        if point >= flips.shape[1]:
            raise refuse_value("point", owner, f"less than {flips.shape[1]}, the number of points", point)
        return self.names.of_rows(np.flatnonzero(flips[:, point]))

    def to_frame(self) -> Any:
        """Return a pandas DataFrame with a line per point: the share of rows that flip it, for each rule."""
        import pandas as pd

        return pd.DataFrame({rule: self.delta(rule) for rule in RULES}, index=self.names.points)

    def explain(self) -> str:
        """Explain the measurement and the guarantee in sentences."""
        n_rows, n_points = self.flips["argmax"].shape
        one, many = self.noun.singular, self.noun.plural
        noisy = f" A flip may be bagging noise: refit without the {one} to be sure." if self.is_noisy else ""
        sentences = [
            f"Measured at {count_points(n_points)} with the fitted bags, leaving out each of {n_rows:,} {many}.{noisy}"
        ]
        for rule in RULES:
            at, worst = self.flips[rule].any(axis=0).sum(), int(self.flips[rule].sum(axis=0).max(initial=0))
            most = f"{self.noun.count(worst)} {'does' if worst == 1 else 'do'}"
            flipped_at = f"some {one} flips the decision at {at:,} of {n_points:,} points; at the worst point, {most}"
            sentences.append(f"- {rule}: {flipped_at if at else f'no {one} flips any decision'}.")
        sentences.append(self.sets.guarantee)
        return paragraphs(sentences)

    def _preview(self) -> tuple[str, Any, dict[str, Any]]:
        names = range(len(self.sets)) if self.names.points is None else self.names.points
        return "point", names, {rule: self.delta(rule) for rule in RULES}

    def _of(self, rule: str, owner: str) -> np.ndarray:
        check_choice(rule, "rule", owner, RULES)
        return self.flips[rule]


def selection_stability(model: Any, X: Any, *, epsilon: float | None = None, delta: float = 0.05) -> SelectionStability:
    """Measure which training rows flip predictions when they are left out, without refitting.

    The decision without row i uses the average over the bags that do not contain it, and the same epsilon. At each
    point, it is compared with the decision with all rows: the label with the highest probability, and the set by the
    inflated argmax. If the model was fitted with groups, groups are left out instead of rows.

    Parameters
    ----------
    model : BaggedClassifier
        A fitted model.
    X : array-like, sparse array or data frame of shape (n_points, n_features), or BagPredictions
        The points at which to predict, or the result of `model.predict_once` at these points.
    epsilon : float or None, default=None
        As in `predict_set`: None uses the epsilon of the certificate for these bags.
    delta : float, default=0.05
        As in `predict_set`.

    Returns
    -------
    SelectionStability

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from stablebag import BaggedClassifier
    >>> from stablebag.deciding import selection_stability
    >>> X, y = load_wine(return_X_y=True)
    >>> model = BaggedClassifier(n_bags=500, random_state=0).fit(X[::2], y[::2])
    >>> measured = selection_stability(model, X[1::2], delta=0.1)
    >>> print(measured)  # doctest: +ELLIPSIS
    Measured at these 89 points with the fitted bags, leaving out each of 89 rows. A flip may be
    bagging noise: refit without the row to be sure.
    - argmax: some row flips the decision at 3 of 89 points; at the worst point, 2 rows do.
    - inflated-argmax: no row flips any decision.
    Proved for these 500 bags and each of these 89 points: for all but at most 8 of the 89 rows
    (delta = 0.1), the set from the bags without the row, with the same epsilon, has a label in
    common with this one. ...
    >>> point = int(measured.delta().argmax())
    >>> measured.rows_that_flip(point), measured.rows_that_flip(point, "inflated-argmax")
    (array([33, 49]), array([], dtype=int64))
    """
    points = predict_once_if_small(model, X, "selection_stability")
    sets = predict_set(model, points, epsilon=epsilon, delta=delta)
    each = np.asarray(sets.epsilon)
    flips = {rule: np.empty((len(model.units_), len(sets)), dtype=bool) for rule in RULES}
    for some, prediction, left_out in left_out_blocks(model, points):
        for rule, flips_by_rule in flips.items():
            chosen = None if rule == "argmax" else partial(inflated_argmax, epsilon=each[some])
            flips_by_rule[:, some] = flipped(prediction, left_out, chosen)
    names = Names.of(model.units_, fitted(model).index_of(X), model.classes_)
    return SelectionStability(flips, sets, names, model.units_.noun, is_noisy=not model.derandomized_)
