"""Bagged regression: generic, derandomized and adaptively clipped, around any learner."""

from typing import Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils import assert_all_finite

from stablebag._checks import as_reals
from stablebag._seeds import RandomState
from stablebag.learning.ensemble import BaggedEnsemble
from stablebag.learning.ranges import Interval, ObservedRange, PredictionRange, as_prediction_range
from stablebag.resampling.schemes import Scheme
from stablebag.resampling.subbagging import Subbagging


class BaggedRegressor(RegressorMixin, BaggedEnsemble):
    """Average a regressor over random bags of rows, so that no single row can move the prediction much.

    Each bag's prediction is clipped to `prediction_range` before it is averaged (Algorithm 3 of the paper). With
    ``prediction_range=None`` it is not clipped (Algorithm 1); with ``n_bags="all"`` the average is over all possible
    bags (Algorithm 2). It is like `sklearn.ensemble.BaggingRegressor`, except that rows outside a bag never reach the
    learner. It fits `n_bags` clones; `certify(model)` states what is then guaranteed.

    Parameters
    ----------
    estimator : estimator, default=None
        The learner: any scikit-learn regressor or pipeline, or `FunctionRegressor` around a function. None is a
        decision tree. `random_state` parameters of the learner that are None are filled, differently in each bag.
    scheme : ResamplingScheme or {"subbagging", "bernoulli", "classical", "poissonized"}, default=Subbagging(0.5)
        How bags are drawn.
    n_bags : int, RandomBags or "all", default=500
        The number of bags to draw. "all" fits every possible bag and weights it by its probability; the learner then
        has the same seed in every bag, which makes it the deterministic learner that the certificate is about.
    prediction_range : PredictionRange, callable or None, default=ObservedRange()
        The rule that turns the targets into the interval to which predictions are clipped. None does not clip them;
        certificates are then about the range of the learner's outputs, which is known only afterwards.
    n_jobs : int or None, default=None
        The number of bags to fit in parallel; the result is the same to the last bit.
    warm_start : bool, default=False
        Whether a second `fit` to the same data with a larger `n_bags` keeps the fitted bags and fits only new ones.
    keep_rows : bool, default=True
        Whether the model keeps a copy of the training rows, in `X_`. Errors, intervals and `forget` need them. Models
        of nearest neighbours are made of their rows and keep them in any case.
    solver : {"auto", "scikit-learn", "ties-in-row-order"}, default="auto"
        What fits the bags. "auto" uses a faster program for learners whose structure is known (trees, linear models,
        nearest neighbours) if it gives the same models to the last bit, and the learner itself for all others;
        "scikit-learn" always uses the learner itself. "ties-in-row-order" is "auto", except that regression trees add
        up rows with equal values of a feature in the order of the rows: several times as fast on tables full of equal
        values, but the trees differ from scikit-learn's where splits are equally good up to rounding. Decision trees
        that cannot be grown so are then refused, with the reason; for other learners it changes nothing.
    random_state : None, int, RandomState or Generator, default=None
        The source of randomness for the bags and the learners' seeds. Bag b depends only on it, on b and on the names
        of the rows.

    Attributes
    ----------
    estimators_ : sequence of estimators
        The fitted model of each bag; a constant for a bag without rows.
    bags_ : Bags
        The rows of each bag.
    solver_ : Choice
        What fitted the bags, and why it was not another.
    bag_weights_ : ndarray of shape (n_bags,)
        The weight of each bag in the average.
    scheme_ : ResolvedScheme
        The law from which the bags were drawn.
    derandomized_ : bool
        Whether the bags are all possible ones, instead of drawn ones.
    prediction_range_ : PredictionRange or None
        The rule for the interval to which predictions are clipped.
    range_ : tuple of two floats, or None
        That interval.
    units_ : Units
        What bags are drawn of, with their names: the training rows, or the units that `groups` named.
    X_ : array, sparse array or data frame of shape (n_samples, n_features)
        A copy of the training rows, because errors and intervals are made from the predictions at them. Not there with
        ``keep_rows=False``.
    y_ : ndarray of shape (n_samples,)
        The targets of the training rows, on which the interval without a row depends.
    n_features_in_ : int
        The number of features.
    feature_names_in_ : ndarray of str
        Their names, if X has any.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from stablebag import BaggedRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = BaggedRegressor(n_bags=100, random_state=0).fit(X, y)
    >>> model.bags_
    Bags of 442 training rows: 100 bags with 221 rows
    >>> model.range_
    (25.0, 346.0)
    >>> model.predict(X[:2]).shape
    (2,)
    """

    prediction_range_: PredictionRange | None
    range_: Interval | None
    _estimator_type_wanted = "regressor"

    def __init__(
        self,
        estimator: Any = None,
        *,
        scheme: Scheme = Subbagging(0.5),  # noqa: B008 (frozen)
        n_bags: Any = 500,
        prediction_range: Any = ObservedRange(),  # noqa: B008 (frozen)
        n_jobs: int | None = None,
        warm_start: bool = False,
        keep_rows: bool = True,
        solver: str = "auto",
        random_state: RandomState = None,
    ) -> None:
        self.estimator = estimator
        self.scheme = scheme
        self.n_bags = n_bags
        self.prediction_range = prediction_range
        self.n_jobs = n_jobs
        self.warm_start = warm_start
        self.keep_rows = keep_rows
        self.solver = solver
        self.random_state = random_state

    def predict(self, X: Any) -> np.ndarray:
        """Return the average over bags of the clipped predictions.

        Parameters
        ----------
        X : array-like, sparse array or data frame of shape (n_points, n_features)
            The points at which to predict.

        Returns
        -------
        ndarray of shape (n_points,)
        """
        average = self._predicted(X)
        if not np.isfinite(average).all():
            point = int(np.flatnonzero(~np.isfinite(average))[0])
            raise ValueError(f"The prediction at point {point} is infinite. Clip predictions with a prediction_range.")
        return average

    def _default_learner(self) -> Any:
        return DecisionTreeRegressor()

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.prediction_range is not None:
            as_prediction_range(self.prediction_range, type(self).__name__)

    def _check_targets(self, y: np.ndarray) -> np.ndarray:
        y = as_reals(y, "y", type(self).__name__, "numbers").copy() if y.dtype.kind in "biufO" else y
        if y.dtype.kind != "f":
            raise ValueError(f"Unknown label type: the targets of a regressor must be numbers. Got type {y.dtype}.")
        assert_all_finite(y, input_name="y", estimator_name=type(self).__name__)
        return y

    def _learn_targets(self, y: np.ndarray) -> tuple[PredictionRange | None, None]:
        rule = self.prediction_range
        self.prediction_range_ = None if rule is None else as_prediction_range(rule, type(self).__name__)
        self.range_ = None if self.prediction_range_ is None else self.prediction_range_(y)
        if self.prediction_range_ is not None:
            largest = self.units_.rows_of(np.array([np.argmax(self.units_.sizes)]))
            self.prediction_range_(np.delete(y, largest))  # it must also be defined without a unit; better to fail now
        return self.prediction_range_, None
