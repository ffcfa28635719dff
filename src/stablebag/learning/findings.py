"""What a function of the data finds in every bag, where that is no prediction: a choice, or scores of some items."""

import inspect
from collections.abc import Callable
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator

from stablebag._checks import as_array, refuse_masked, refuse_type, refuse_value
from stablebag._seeds import RandomState
from stablebag.learning.ensemble import BaggedEnsemble
from stablebag.learning.ranges import PredictionRange
from stablebag.resampling.schemes import Scheme
from stablebag.resampling.stratified import StratifiedSubbagging
from stablebag.resampling.subbagging import Subbagging


class Finder(BaseEstimator):
    """A function of rows and targets as a learner that is fitted to bags; what it returns is kept in `found_`.

    Parameters
    ----------
    function : callable
        ``function(X, y)``, or ``function(X, y, seed)`` if its third parameter has no default or is called seed.
    has_targets : bool, default=True
        Whether there are targets; otherwise the function gets None for y.
    random_state : int or None, default=None
        The seed.
    """

    def __init__(self, function: Any, has_targets: bool = True, random_state: Any = None) -> None:
        self.function = function
        self.has_targets = has_targets
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Call the function.

        Parameters
        ----------
        X : array, sparse array or data frame
            The rows of a bag.
        y : ndarray
            Their targets.

        Returns
        -------
        self
        """
        arguments = (X, y if self.has_targets else None)
        seed = {} if self.random_state is None else {"seed": int(self.random_state)}
        self.found_ = self.read(call_with_seed(self.function, *arguments, **seed))
        return self

    def predict(self, X: Any) -> Any:
        """Refuse: there is nothing to predict."""
        raise TypeError(f"A {type(self).__name__} finds something in rows, and predicts nothing.")

    def read(self, found: Any) -> Any:
        """Return what was found as it is kept; subclasses check it here, so that an error names the bag."""
        return found


def call_with_seed(function: Callable[..., Any], X: Any, y: Any, seed: int = 0) -> Any:
    """Call a function of (X, y), or of (X, y, seed) if its third parameter has no default or is called seed.

    >>> call_with_seed(lambda X, y, seed: seed, None, None, 7), call_with_seed(lambda X, y, k=3: k, None, None, 7)
    (7, 3)
    """
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):  # some functions written in C have none
        return function(X, y)
    by_place = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    if any(p.name == "seed" and p.kind is not p.POSITIONAL_ONLY for p in parameters[2:]):
        return function(X, y, seed=seed)
    if len(by_place) > 2 and by_place[2].default is inspect.Parameter.empty:
        return function(X, y, seed)
    return function(X, y)


class BaggedFindings(BaggedEnsemble):
    """What a function finds in every bag: fitted as any bagged learner is, but not averaged here.

    Seeds, workers, progress, units and errors that name the bag are those of `BaggedRegressor`. Rows are not kept.

    Parameters
    ----------
    estimator : Finder
        The function.
    scheme : ResamplingScheme or {"subbagging", "bernoulli", "classical", "poissonized"}, default=Subbagging(0.5)
        How bags are drawn.
    n_bags : int, RandomBags or "all", default=500
        As in `BaggedRegressor`.
    n_jobs : int or None, default=None
        The number of bags to work on in parallel.
    random_state : None, int, RandomState or Generator, default=None
        The source of bags and seeds.

    Examples
    --------
    >>> def largest(X, y):
    ...     return int(y.max())
    >>> BaggedFindings(Finder(largest), scheme=Subbagging(2), n_bags="all").fit([[0], [1], [2]], [4, 5, 6]).found
    [5, 6, 6]
    """

    _estimator_type_wanted = "finder"
    warm_start = False
    keep_rows = False

    def __init__(
        self,
        estimator: Finder,
        *,
        scheme: Scheme = Subbagging(0.5),  # noqa: B008 (frozen)
        n_bags: Any = 500,
        n_jobs: int | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.estimator = estimator
        self.scheme = scheme
        self.n_bags = n_bags
        self.n_jobs = n_jobs
        self.random_state = random_state

    @property
    def found(self) -> list[Any]:
        """What was found in each bag; None in one without rows, which the function does not see."""
        return [getattr(model, "found_", None) for model in self.estimators_]

    def _learn_targets(self, y: np.ndarray) -> tuple[PredictionRange | None, np.ndarray | None]:
        return None, None


def find_in_bags(
    finder: Finder,
    X: Any,
    y: Any,
    owner: str,
    *,
    scheme: Scheme,
    n_bags: Any,
    groups: Any,
    n_jobs: int | None,
    random_state: RandomState,
    row_ids: Any = None,
    name: str = "function",
) -> BaggedFindings:
    """Draw bags and call a function on each; without targets, the function gets None in their place."""
    if not callable(finder.function):
        raise refuse_type(name, owner, "a function of X and y", finder.function)
    if isinstance(scheme, StratifiedSubbagging) and scheme.strata is None:
        reason = "there are no classes to take their place. Give them: StratifiedSubbagging(bag_size, strata=...)."
        raise refuse_value("scheme", owner, "stratified by labels of its own", scheme, reason)
    reason = "bags are drawn from its rows. Make it an array, a list of rows or a data frame."
    refuse_masked(X, "X", owner)
    table = X if hasattr(X, "shape") else as_array(X, "X", owner, "a table with two rows or more", reason)
    if len(table.shape) == 0:
        raise refuse_type("X", owner, "a table with two rows or more", X, reason)
    if y is None:
        y = np.zeros(X.shape[0] if hasattr(X, "shape") else len(X))
    about: dict[str, Any] = {"scheme": scheme, "n_bags": n_bags, "n_jobs": n_jobs, "random_state": random_state}
    try:
        model: BaggedFindings = BaggedFindings(finder, **about).fit(X, y, groups=groups, row_ids=row_ids)
    except (TypeError, ValueError) as error:
        if BaggedFindings.__name__ not in str(error):
            raise
        # What is said of the class is meant of the function that the user has called.
        words = str(error).replace(f"{BaggedFindings.__name__}.fit", owner).replace(BaggedFindings.__name__, owner)
        raise type(error)(words) from error
    return model
