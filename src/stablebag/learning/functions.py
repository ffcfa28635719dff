"""Any algorithm A(D; seed) as a learner: a function that takes rows and returns a function that predicts."""

from collections.abc import Callable
from numbers import Integral
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import check_consistent_length
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from stablebag._checks import as_reals, refuse_type
from stablebag._seeds import Seeds
from stablebag.learning.outputs import one_hot, unmasked
from stablebag.learning.rows import as_column, validated_rows
from stablebag.learning.targets import are_several, columns


class FunctionLearner(BaseEstimator):
    """What both function learners share: they call the algorithm and keep the predict function that it returns."""

    def __init__(self, algorithm: Callable[..., Any], *, order_matters: bool = False, random_state: Any = None) -> None:
        self.algorithm = algorithm
        self.order_matters = order_matters
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Run the algorithm on these rows.

        Parameters
        ----------
        X : array-like, sparse array or data frame of shape (n_rows, n_features)
            The rows, passed to the algorithm as they are.
        y : array-like of shape (n_rows,) or (n_rows, n_outputs)
            The targets of the rows.

        Returns
        -------
        self
        """
        if not callable(self.algorithm):
            expected = "a function from (X, y, seed) to a predict function"
            raise refuse_type("algorithm", type(self).__name__, expected, self.algorithm)
        X = validated_rows(self, X, reset=True, ensure_min_samples=1)
        y = self._check_targets(self._read_targets(y))
        check_consistent_length(X, y)
        seed = self.random_state
        if not isinstance(seed, Integral):
            seed = int(Seeds.from_random_state(seed).learner_seeds(0, 1)[0])
        predict = self.algorithm(X, y, int(seed))
        if not callable(predict):
            raise TypeError(f"The algorithm must return a function from points to predictions. Got {predict!r}.")
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
        # Nothing is known about the function, which itself refuses what it does not take.
        tags.input_tags.sparse = tags.input_tags.allow_nan = True
        tags.input_tags.string = tags.input_tags.categorical = True
        tags.target_tags.required = True
        return tags


class FunctionRegressor(RegressorMixin, FunctionLearner):
    """Any algorithm A(D; seed) as a regressor: a function that takes rows and returns a function that predicts.

    Parameters
    ----------
    algorithm : callable
        ``algorithm(X, y, seed)`` returns a function from points to predictions. X is passed as it came, y as an array,
        and the seed as an integer. If y has several columns, the function returns as many for each point.
    order_matters : bool, default=False
        Whether the algorithm depends on the order of the rows. If so, derandomized bagging (``n_bags="all"``) lists
        each bag in every order.
    random_state : None, int, RandomState or Generator, default=None
        The source of the seed; an integer is the seed itself.

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
        """Return what the predict function returns.

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
    """Any algorithm A(D; seed) as a classifier: a function that takes rows and returns a function that predicts.

    Parameters
    ----------
    algorithm : callable
        ``algorithm(X, y, seed)`` returns a function from points to labels, or to an array of probabilities with one
        column per label in ``np.unique(y)``. X is passed as it came, y as an array, and the seed as an integer.
    order_matters : bool, default=False
        Whether the algorithm depends on the order of the rows. If so, derandomized bagging (``n_bags="all"``) lists
        each bag in every order.
    random_state : None, int, RandomState or Generator, default=None
        The source of the seed; an integer is the seed itself.

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
        """Return the probabilities that the predict function returns, or one-hot votes if it returns labels.

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
