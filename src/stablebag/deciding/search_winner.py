"""The winner of a scikit-learn search as a choice that can be voted on."""

from dataclasses import dataclass
from functools import partial
from types import BuiltinFunctionType, FunctionType
from typing import Any

import joblib
import numpy as np

from stablebag._checks import refuse_type, refuse_value
from stablebag.deciding.choices import plain_choice
from stablebag.learning.learners import Copies

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
    >>> from stablebag import search_winner
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
