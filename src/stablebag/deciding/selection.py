"""Model selection that no single row decides."""

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
# When two choices are the same: by type and value, in whichever process they were made.
#
# Python holds 1, 1.0 and True to be equal, though a search over ``max_features=[1, 1.0]`` has two different models; and
# it holds a missing number to be unlike itself, though it is one choice. Objects that are compared by identity are
# others in every process. So votes are counted by a key.

_PLAIN = "biufcSU"  # kinds of numpy's scalars that are a Python number, text or bytes


def plain_choice(choice: Any) -> Any:
    """Return a choice with Python's own numbers and texts in place of numpy's, also inside tuples and frozensets.

    >>> plain_choice((np.int64(3), np.str_("l1")))
    (3, 'l1')
    """
    if isinstance(choice, np.generic) and choice.dtype.kind in _PLAIN:
        return choice.item()
    if type(choice) in (tuple, frozenset):
        return type(choice)(map(plain_choice, choice))
    return choice


def key_of(choice: Any, name: str, owner: str) -> Hashable:
    """Return what is equal for two choices exactly if they are the same choice.

    Parameters
    ----------
    choice : object
        A choice, checked to be one that can be voted on.
    name : str
        The parameter that made it, for error messages.
    owner : str
        Whose parameter that is.

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
        reason = "votes for it are counted. Return a tuple, a frozenset or a text in place of a list, set or array."
        raise refuse_type(name, owner, expected, choice, reason) from None
    if dataclasses.is_dataclass(choice) and not isinstance(choice, type) and "__eq__" in vars(kind):
        return kind, tuple(key_of(getattr(choice, part.name), name, owner) for part in dataclasses.fields(choice))
    if not _is_equal_to_itself(choice):  # missing values, of which there is one of a kind
        return kind, repr(choice)
    if _is_known_by_place(choice):
        reason = (
            "in every bag it is another one, though it may look the same. Return its name or its parameters; classes "
            "and functions are known by their names in a module."
        )
        raise refuse_type(name, owner, "a function that returns something compared by value", choice, reason)
    return kind, choice


def _is_equal_to_itself(choice: Any) -> bool:
    try:
        return bool(choice == choice)
    except (TypeError, ValueError):  # pandas.NA says neither
        return False


def _is_known_by_place(choice: Any) -> bool:
    """Whether it is compared by identity, and comes back from another process as another object."""
    own: Any = type(choice).__eq__
    if own is not object.__eq__:
        return False
    try:
        return pickle.loads(pickle.dumps(choice)) is not choice  # classes and functions of a module come back
    except (pickle.PicklingError, TypeError, AttributeError):
        return True


# -------------------------------------------------------------------------------------------------- left out selections
# What is selected without each row, measured from the votes of the same bags.

_SHOWN_LEFT_OUT = 5


@dataclass(frozen=True, eq=False, repr=False)
class LeftOutSelections(Result):
    """What leaving out each row, or unit, does to a selection; made by `Selection.leave_one_out`.

    Attributes
    ----------
    changes_winner : ndarray of bool, shape (n_samples,)
        Whether another choice has most votes without the row; a tie is no change.
    overlaps : ndarray of bool, shape (n_samples,)
        Whether the choices selected without the row have one in common with those selected with it.
    distance : ndarray of shape (n_samples,)
        How far the shares of the votes move.
    names : Names
        What the rows are called.
    noun : Noun
        What is left out.
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
        """The share of rows without which the selected choices have none in common with those selected with it."""
        return float(1 - self.overlaps.mean())

    @property
    def winner_instability(self) -> float:
        """The share of rows without which another choice has most votes."""
        return float(self.changes_winner.mean())

    def rows_that_change_the_winner(self) -> np.ndarray:
        """Return the names of the rows without which another choice has most votes."""
        return self.names.of_rows(np.flatnonzero(self.changes_winner))

    def to_frame(self) -> Any:
        """Return a pandas DataFrame with a line per row, under its name: changes_winner, overlaps, distance."""
        import pandas as pd

        return pd.DataFrame(self._columns, index=self.names.rows)

    def explain(self) -> str:
        """Say in sentences how many rows change the winner, and how many the whole selection."""
        n, changing = len(self.overlaps), self.rows_that_change_the_winner()
        some = ", ".join(map(str, changing[:_SHOWN_LEFT_OUT])) + (", ..." if len(changing) > _SHOWN_LEFT_OUT else "")
        named = f" ({some})" if len(changing) else ""
        rows = self.noun.plural  # a name may have the word row in it, and stays as it is
        said = (
            f"Measured with the same bags: without {len(changing):,} of the {n:,} {rows}{named} another choice has "
            f"most votes; without {int((~self.overlaps).sum()):,} the selected choices have none in common with those "
            f"selected with all {rows}."
        )
        return paragraphs([said])

    def _preview(self) -> tuple[str, Any, dict[str, Any]]:
        names = range(len(self)) if self.names.rows is None else self.names.rows
        return self.noun.singular, names, self._columns

    @property
    def _columns(self) -> dict[str, np.ndarray]:
        return {"changes_winner": self.changes_winner, "overlaps": self.overlaps, "distance": self.distance}

    def __len__(self) -> int:
        return len(self.overlaps)


# ------------------------------------------------------------------------------------------------------------ selection
# Model selection that does not hinge on single rows: bags vote, and choices with about the most votes are returned.
#
# Adrian, Soloff and Willett (2025), arXiv 2410.18268, give each bag's choice a coordinate and take the inflated
# argmax of the shares of the votes. Their code keeps only choices with votes, which can void the guarantee: two data
# sets may vote for many choices each, none of them the same, with shares that are hardly apart. Here a phantom choice
# without votes stands for all the others; where it is selected, so is every choice that there is. The proofs are in
# docs/proofs.md, 14.

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


@dataclass(frozen=True, eq=False, repr=False)
class Selection(StableDecision):
    """The choices with about the most votes of the bags, and what is proved about them; made by `select_model`.

    Iterating over it yields the selected choices, those with most votes first.

    Attributes
    ----------
    choices : list
        All choices of the bags, those with most votes first, and among equal ones that of the earlier bag.
    shares : ndarray of shape (n_choices,)
        The share of the bags that made each choice.
    is_selected : ndarray of bool, shape (n_choices,)
        Which of them are selected.
    selects_all : bool
        Whether every choice is selected, also those that no bag made: the votes are spread so thin that nothing is
        decided.
    stability : StabilityGuarantee
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
        """The selected choices, those with most votes first; if all are selected, those that any bag made."""
        return [choice for choice, chosen in zip(self.choices, self.is_selected, strict=True) if chosen]

    @property
    def winner(self) -> Any:
        """The choice with most votes; of several, that of the earliest bag."""
        return self.choices[0]

    @property
    def guarantee(self) -> str:
        """What is proved, in words."""
        said = self.stability.describe("has a choice in common with what is selected here")
        if self.vote_delta is None or self.vote_delta >= min(1.0, self.delta):
            return said
        n, noun = self.stability.certificate.n_samples, self.stability.certificate.noun
        return f"{said} Proved for this data set, from its votes: {for_most_rows(self.vote_delta, n, noun)}."

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
            selected, selects_all = with_phantom(shares, self.epsilon)
            changed.append(shares.max(axis=1) > shares[:, 0] + _ROUNDING)
            overlaps.append((selected & self.is_selected).any(axis=1) | selects_all | self.selects_all)
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
        certificate, chosen = self.stability.certificate, self.selected
        first = zip(chosen[:_SHOWN], self.shares[self.is_selected], strict=False)
        some = ", ".join(f"{_text(choice)} ({percent(share)})" for choice, share in first)
        some += f" and {len(chosen) - _SHOWN:,} others" if len(chosen) > _SHOWN else ""
        drawn = math.isfinite(certificate.n_bags)
        bags = count_bags(certificate.n_bags) if drawn else "all bags"
        if self.selects_all:
            # With all bags there are no more, and an epsilon that is given does not change with delta.
            hopeless = bool(with_phantom(np.ones(1), self.epsilon)[1])  # even if all bags made one choice
            ways = [] if hopeless else ["a selector with fewer possible choices"]
            ways += ["smaller bags"] + (["more of them"] if drawn else [])
            ways += ["a smaller epsilon"] if self.stability.epsilon_given else ["a larger delta"]
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

    def _preview(self) -> tuple[str, Any, dict[str, Any]]:
        return "choice", [*map(_text, self.choices)], {"share": self.shares, "selected": self.is_selected}

    def __iter__(self) -> Iterator[Any]:
        return iter(self.selected)

    def __len__(self) -> int:
        return int(self.is_selected.sum())

    def __contains__(self, choice: object) -> bool:
        """Whether a choice is selected; if all are, any choice."""
        about = "choice", "Selection"
        try:
            return self.selects_all or key_of(choice, *about) in {key_of(one, *about) for one in self.selected}
        except TypeError:  # nothing that a bag can choose
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
    bagging : BaggedRegressor, BaggedClassifier or None, default=None
        How bags are drawn: the `scheme`, `n_bags`, `n_jobs` and `random_state` of an unfitted bagged model, whose
        learner is not used. None is ``BaggedRegressor()``: 500 bags of half of the rows. Smaller bags give a smaller
        epsilon, and choices from less data.
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
    1 of the 6 choices of 500 bags is selected at epsilon = 0.1264: 2 (55.6%).
    Proved for every data set of 442 rows: what is found without a row, with the same epsilon and
    law of bags, seed and names of rows, has a choice in common with what is selected here, except
    with a chance of at most 0.05, over the draw of bags and seeds and on average over the rows.
    >>> print(selection.leave_one_out())
    Measured with the same bags: without 0 of the 442 rows another choice has most votes; without
    0 the selected choices have none in common with those selected with all rows.
    """
    finder = Selector(selector, has_targets=y is not None)
    options: dict[str, Any] = {"bagging": bagging, "groups": groups, "row_ids": row_ids}
    model = find_in_bags(finder, X, y, "select_model", name="selector", **options)
    first: dict[Any, tuple[int, Any]] = {}  # the number of each choice, and as the earliest bag made it
    made = [(key_of(choice, "selector", "select_model"), choice) for choice in model.found]
    votes = np.array([first.setdefault(key, (len(first), choice))[0] for key, choice in made], dtype=np.intp)
    average: BagAverage = fitted(model).average
    shares = np.bincount(votes) / len(votes) if average.drawn else np.bincount(votes, average.weights)
    order = np.argsort(-shares.round(12), kind="stable")
    shares, votes = shares[order], np.argsort(order)[votes]
    # Choices are corners of a simplex of unknown dimension: within 1 of the origin, and sqrt(2) apart.
    stability = StabilityGuarantee.of(model, 1.0, math.sqrt(2.0), epsilon, delta, "select_model")
    selected, selects_all = with_phantom(shares, stability.epsilon)
    of_votes = None
    if epsilon is not None and model.derandomized_:
        of_votes = bounds.vote_delta(stability.epsilon, model.scheme_.constant, (shares / shares.sum()).tolist())
    choices = [choice for _, choice in first.values()]
    ordered = [choices[number] for number in order]
    return Selection(ordered, shares, selected, bool(selects_all), stability, votes, average, of_votes)


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
    selects_all : ndarray of bool, shape () or (n_points,)
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


# -------------------------------------------------------------------------------------------------------- search winner
# The winner of a scikit-learn search as a choice that can be voted on.

_EXPECTED = "an unfitted search, such as GridSearchCV(...)"
_NONE = "it has no best_params_ after fit. For what a learner finds, give select_model a function of (X, y)."


@dataclass(frozen=True)
class SearchWinner:
    """A selector for `select_model`: the best parameters of a search; made by `search_winner`.

    Attributes
    ----------
    search : estimator
        The search, unfitted.
    """

    search: Any

    def __call__(self, X: Any, y: Any, seed: int) -> tuple[tuple[str, Any], ...]:
        """Run the search on these rows, and return its best parameters."""
        search = Copies(self.search).copy(seed)
        if search.get_params(deep=False).get("refit") is True:  # what it would be good for is not used
            search.set_params(refit=False)
        search.fit(X, y)
        if not hasattr(search, "best_params_"):
            raise refuse_type("search", "search_winner", _EXPECTED, self.search, _NONE)
        return tuple(sorted((name, _hashable(value)) for name, value in search.best_params_.items()))


def search_winner(search: Any) -> SearchWinner:
    """Return a selector whose choice is the winner of a scikit-learn search, for `select_model`.

    A choice is a tuple of pairs of a parameter's name and its value, ``dict(choice)`` the parameters; estimators among
    the values are written as texts. The search is run within each bag. Bags should not repeat rows (`Subbagging`):
    copies of a row would be in several of its folds.

    Parameters
    ----------
    search : estimator
        An unfitted search with `best_params_` after fit, such as `GridSearchCV`. Seeds in it that are None are filled,
        differently in each bag.

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
    if "estimator" not in parameters:  # a search has a learner whose parameters it tries
        raise refuse_type("search", "search_winner", _EXPECTED, search, _NONE)
    if parameters.get("refit", True) is False and isinstance(parameters.get("scoring"), list | tuple | dict | set):
        reason = "with several scores it must say which one decides: refit='accuracy'."
        raise refuse_value("search", "search_winner", "a search with best_params_", search, reason)
    return SearchWinner(search)


def _hashable(value: Any) -> Any:
    """A value that is equal in all bags where the parameter is."""
    if isinstance(value, np.generic):
        return plain_choice(value)
    if isinstance(value, list | tuple | np.ndarray):
        return tuple(map(_hashable, value))
    if isinstance(value, dict):
        return tuple((name, _hashable(part)) for name, part in value.items())
    if hasattr(value, "get_params") and not isinstance(value, type):
        text = repr(value)
        return text if "..." not in text else f"{text} {joblib.hash(value)[:8]}"  # of what is shortened, the content
    if isinstance(value, type | FunctionType | BuiltinFunctionType):
        return value
    # What is hashed by identity is another in every bag; its content is the same.
    by_identity = getattr(type(value), "__hash__", None) in (None, object.__hash__) or isinstance(value, partial)
    return value if not by_identity or value is None else f"{type(value).__name__} {joblib.hash(value)[:8]}"


# -------------------------------------------------------------------------------------------------- selection stability
# Which rows flip which decisions: measured for the argmax and for label sets, from the bags already fitted.

RULES = ("argmax", "inflated-argmax")


@dataclass(frozen=True, eq=False, repr=False)
class SelectionStability(Result):
    """Which rows flip the decision at some points, measured, beside what is proved.

    Made by `selection_stability`.

    Attributes
    ----------
    flips : dict of str to ndarray of bool, shape (n_rows, n_points)
        For the rules "argmax" and "inflated-argmax": whether without the row the decision has no label in
        common with the one with all rows.
    sets : LabelSets
        The sets by the inflated argmax, with their epsilon, and what is proved about them.
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
        rule : {"argmax", "inflated-argmax"}, default="argmax"
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
        rule : {"argmax", "inflated-argmax"}, default="argmax"
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
        one, many = self.noun.singular, self.noun.plural
        noisy = f" A flip may be noise of the bags: refit without the {one} to be sure." if self.is_noisy else ""
        sentences = [
            f"Measured at {count_points(n_points)} by leaving out each of {n_rows:,} {many}, from the bags already "
            f"fitted.{noisy}"
        ]
        for rule in RULES:
            at, worst = self.flips[rule].any(axis=0).sum(), int(self.flips[rule].sum(axis=0).max(initial=0))
            most = f"{self.noun.count(worst)} {'does' if worst == 1 else 'do'}"
            flipped_at = f"some {one} flips the decision at {at:,} of {n_points:,}; at the worst point, {most}"
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
    """Measure whether any one training row flips a prediction, and which, from the bags already fitted.

    The decision without row i is made from the average over the bags that do not contain it, with the same epsilon. It
    is compared with the decision with all rows at each point: the label with the highest probability, and the set by
    the inflated argmax. If the model was fitted with groups, groups are left out in place of rows.

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
    >>> from stablebag import BaggedClassifier
    >>> from stablebag.deciding import selection_stability
    >>> X, y = load_wine(return_X_y=True)
    >>> model = BaggedClassifier(n_bags=500, random_state=0).fit(X[::2], y[::2])
    >>> measured = selection_stability(model, X[1::2], delta=0.1)
    >>> print(measured)  # doctest: +ELLIPSIS
    Measured at these 89 points by leaving out each of 89 rows, from the bags already fitted. A
    flip may be noise of the bags: refit without the row to be sure.
    - argmax: some row flips the decision at 3 of 89; at the worst point, 2 rows do.
    - inflated-argmax: no row flips any decision.
    Proved for these 500 bags as they were drawn and each of these 89 points: for all but at most
    8 of the 89 rows (delta = 0.1), the set from the bags without the row, with the same epsilon,
    has a label in common with this one. ...
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
