"""Functions as learners: functions that predict, and functions that find something else in the rows."""

import inspect
from collections.abc import Callable
from numbers import Integral
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import check_consistent_length
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from stablebag._checks import as_array, as_reals, refuse_masked, refuse_type, refuse_value, shown
from stablebag._seeds import RandomState, Seeds
from stablebag.models.ensemble import BaggedEnsemble
from stablebag.models.learners import one_hot
from stablebag.models.ranges import PredictionRange
from stablebag.models.rows import are_several, as_column, columns, unmasked, validated_rows
from stablebag.resampling.schemes import Scheme, Subbagging
from stablebag.resampling.unequal import lacks_strata

# ------------------------------------------------------------------------------------------------------------ functions
# A function that takes rows and returns a function that predicts, as a learner.


class FunctionLearner(BaseEstimator):
    """The base class of both function learners."""

    def __init__(self, algorithm: Callable[..., Any], *, order_matters: bool = False, random_state: Any = None) -> None:
        self.algorithm = algorithm
        self.order_matters = order_matters
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Call the algorithm with these rows.

        Parameters
        ----------
        X : array-like, sparse array or data frame of shape (n_rows, n_features)
            The rows, passed to the algorithm unchanged.
        y : array-like of shape (n_rows,) or (n_rows, n_outputs)
            The targets of the rows.

        Returns
        -------
        self
        """
        if not callable(self.algorithm):
            expected = "a function of (X, y, seed) that returns a predict function"
            reason = "pass a scikit-learn estimator without this wrapper." if hasattr(self.algorithm, "fit") else ""
            raise refuse_type("algorithm", type(self).__name__, expected, self.algorithm, reason)
        X = validated_rows(self, X, reset=True, ensure_min_samples=1)
        y = self._check_targets(self._read_targets(y))
        check_consistent_length(X, y)
        seed = self.random_state
        if not isinstance(seed, Integral):
            seed = int(Seeds.from_random_state(seed).learner_seeds(0, 1)[0])
        predict = self.algorithm(X, y, int(seed))
        if not callable(predict):
            raise TypeError(
                f"The algorithm must return a function that predicts, got {shown(predict)}. For example: "
                "return lambda points: [y.mean()] * len(points)."
            )
        self.predict_ = predict
        return self

    def _call(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        return np.asarray(unmasked(self.predict_(validated_rows(self, X, reset=False, ensure_min_samples=1))))

    def _read_targets(self, y: Any) -> np.ndarray:
        return as_column(y, "y", type(self).__name__)

    def _check_targets(self, y: np.ndarray) -> np.ndarray:
        return y

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # The function is unknown, so it gets any table and may raise.
        tags.input_tags.sparse = tags.input_tags.allow_nan = True
        tags.input_tags.string = tags.input_tags.categorical = True
        tags.target_tags.required = True
        return tags


class FunctionRegressor(RegressorMixin, FunctionLearner):
    """A function as a regressor: it gets the training rows and returns a function that predicts.

    Parameters
    ----------
    algorithm : callable
        ``algorithm(X, y, seed)`` returns a function that takes points and returns predictions. X is passed unchanged, y
        as an array, and the seed as an integer. If y has several columns, the predictions must have as many.
    order_matters : bool, default=False
        Whether the result depends on the order of the rows. If so, ``n_bags="all"`` fits each bag in every order.
    random_state : None, int, RandomState or Generator, default=None
        The random seed. An integer is passed to the algorithm as it is.

    Examples
    --------
    >>> from stablebag import BaggedRegressor, FunctionRegressor, Subbagging
    >>> def mean(X, y, seed):
    ...     return lambda points: [y.mean()] * len(points)
    >>> model = BaggedRegressor(FunctionRegressor(mean), scheme=Subbagging(2), n_bags="all")
    >>> model.fit([[0], [1], [2], [3]], [0.0, 1.0, 2.0, 5.0]).predict([[7]])
    array([2.])
    """

    def predict(self, X: Any) -> np.ndarray:
        """Return the predictions of the function that the algorithm returned.

        Parameters
        ----------
        X : array-like, sparse array or data frame of shape (n_points, n_features)
            The points at which to predict.

        Returns
        -------
        ndarray of shape (n_points,) or (n_points, n_outputs)
        """
        return self._call(X).astype(float)

    def _read_targets(self, y: Any) -> np.ndarray:
        return columns(y) if are_several(y) else super()._read_targets(y)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def _check_targets(self, y: np.ndarray) -> np.ndarray:
        return y if y.dtype.kind in "biuf" else as_reals(y, "y", type(self).__name__, "numbers")


class FunctionClassifier(ClassifierMixin, FunctionLearner):
    """A function as a classifier: it gets the training rows and returns a function that predicts.

    Parameters
    ----------
    algorithm : callable
        ``algorithm(X, y, seed)`` returns a function that takes points and returns labels, or probabilities with one
        column per label in ``np.unique(y)``. X is passed unchanged, y as an array, and the seed as an integer.
    order_matters : bool, default=False
        Whether the result depends on the order of the rows. If so, ``n_bags="all"`` fits each bag in every order.
    random_state : None, int, RandomState or Generator, default=None
        The random seed. An integer is passed to the algorithm as it is.

    Examples
    --------
    >>> from stablebag import BaggedClassifier, FunctionClassifier
    >>> def first_label(X, y, seed):
    ...     return lambda points: [y[0]] * len(points)
    >>> model = BaggedClassifier(FunctionClassifier(first_label, order_matters=True), n_bags="all")
    >>> model.fit([[0], [1], [2], [3]], ["a", "b", "b", "b"]).predict_proba([[7]])
    array([[0.25, 0.75]])
    """

    classes_: np.ndarray

    def predict(self, X: Any) -> np.ndarray:
        """Return the label with the highest probability.

        Parameters
        ----------
        X : array-like, sparse array or data frame of shape (n_points, n_features)
            The points at which to predict.

        Returns
        -------
        ndarray of shape (n_points,)
        """
        best = self.predict_proba(X).argmax(axis=1)
        labels: np.ndarray = self.classes_[best]
        return labels

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probabilities from the function that the algorithm returned, or one-hot votes for its labels.

        Parameters
        ----------
        X : array-like, sparse array or data frame of shape (n_points, n_features)
            The points at which to predict.

        Returns
        -------
        ndarray of shape (n_points, n_classes)
        """
        given = self._call(X)
        if given.ndim == 2 and given.shape[1] == len(self.classes_) != 1:
            return given.astype(float)
        return one_hot(given, self.classes_)

    def _check_targets(self, y: np.ndarray) -> np.ndarray:
        check_classification_targets(y)
        self.classes_ = np.unique(y)
        return y


# ------------------------------------------------------------------------------------------------------------- findings
# Results of a function of each bag that are not predictions, for example a choice or scores of items.


class Finder(BaseEstimator):
    """A function of rows and targets as a learner; its result is stored in `found_`.

    Parameters
    ----------
    function : callable
        ``function(X, y)``, or ``function(X, y, seed)`` if its third parameter has no default or is called seed.
    has_targets : bool, default=True
        Whether there are targets. If not, the function gets None as y.
    random_state : int or None, default=None
        The random seed.
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
        """Raise TypeError: a finder does not predict."""
        raise TypeError(f"{type(self).__name__} cannot predict. Its result is in found_.")

    def read(self, found: Any) -> Any:
        """Return the result as it is stored; subclasses check it here, so that errors name the bag."""
        return found


def call_with_seed(function: Callable[..., Any], X: Any, y: Any, seed: int = 0) -> Any:
    """Call a function of (X, y), or of (X, y, seed) if its third parameter has no default or is called seed.

    >>> call_with_seed(lambda X, y, seed: seed, None, None, 7), call_with_seed(lambda X, y, k=3: k, None, None, 7)
    (7, 3)
    """
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):  # some functions written in C have no signature
        return function(X, y)
    by_place = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    if any(p.name == "seed" and p.kind is not p.POSITIONAL_ONLY for p in parameters[2:]):
        return function(X, y, seed=seed)
    if len(by_place) > 2 and by_place[2].default is inspect.Parameter.empty:
        return function(X, y, seed)
    return function(X, y)


class BaggedFindings(BaggedEnsemble):
    """The results of a function in every bag, without an average.

    Seeds, workers, progress, groups and errors work as in `BaggedRegressor`. Rows are not stored.

    Parameters
    ----------
    estimator : Finder
        The function.
    scheme : ResamplingScheme or {"subbagging", "bernoulli", "classical", "poissonized"}, default=Subbagging(0.5)
        How bags are drawn.
    n_bags : int, RandomBags or "all", default=500
        As in `BaggedRegressor`.
    n_jobs : int or None, default=None
        The number of bags to process in parallel.
    random_state : None, int, RandomState or Generator, default=None
        The random seed for bags and the function.

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
        """The result in each bag; None for bags without rows, for which the function is not called."""
        return [getattr(model, "found_", None) for model in self.estimators_]

    def _learn_targets(self, y: np.ndarray) -> tuple[PredictionRange | None, np.ndarray | None]:
        return None, None


def find_in_bags(
    finder: Finder,
    X: Any,
    y: Any,
    owner: str,
    *,
    bagging: Any = None,
    groups: Any = None,
    row_ids: Any = None,
    name: str = "function",
) -> BaggedFindings:
    """Draw bags as a bagged model does, and call a function on each."""
    if not callable(finder.function):
        raise refuse_type(name, owner, "a function of X and y", finder.function)
    options = _bag_options(bagging, owner)
    scheme = options.get("scheme")
    if lacks_strata(scheme):
        raise ValueError(
            f"{owner} needs the stratum of each row to draw stratified bags. Use "
            "StratifiedSubbagging(bag_size, strata=...)."
        )
    reason = "pass an array, a list of rows or a data frame."
    refuse_masked(X, "X", owner)
    table = X if hasattr(X, "shape") else as_array(X, "X", owner, "a table with two rows or more", reason)
    if len(table.shape) == 0:
        raise refuse_type("X", owner, "a table with two rows or more", X, reason)
    if y is None:
        y = np.zeros(X.shape[0] if hasattr(X, "shape") else len(X))
    try:
        model: BaggedFindings = BaggedFindings(finder, **options).fit(X, y, groups=groups, row_ids=row_ids)
    except (TypeError, ValueError) as error:
        words, class_name = str(error), BaggedFindings.__name__
        if class_name not in words:
            raise
        # Name what the user called: the bagged model for its own parameters, the function for all others.
        theirs = any(f"'{option}' parameter" in words for option in options)
        whose = type(bagging).__name__ if theirs else owner
        raise type(error)(words.replace(f"{class_name}.fit", whose).replace(class_name, whose)) from error
    return model


def _bag_options(bagging: Any, owner: str) -> dict[str, Any]:
    """The options of a bagged model for drawing and processing bags."""
    if bagging is None:
        return {}
    if not isinstance(bagging, BaggedEnsemble):
        reason = "it sets how bags are drawn, for example bagging=BaggedRegressor(n_bags=500, random_state=0)."
        raise refuse_type("bagging", owner, "a BaggedRegressor, a BaggedClassifier or None", bagging, reason)
    if not isinstance(bagging.max_features, float) or bagging.max_features != 1.0:  # 1 is one column
        reason = "the function always gets all columns. Use 1.0."
        raise refuse_value("max_features", type(bagging).__name__, f"1.0 in {owner}", bagging.max_features, reason)
    return {name: getattr(bagging, name) for name in ("scheme", "n_bags", "n_jobs", "random_state")}
