"""BaggedRegressor and BaggedClassifier."""

import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import wraps
from numbers import Real
from typing import Any, TypeVar

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils import assert_all_finite
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from stablebag._checks import as_reals, read_only, refuse_type, refuse_value, shown
from stablebag._seeds import RandomState
from stablebag.models.ensemble import WARM_START, BaggedEnsemble
from stablebag.models.fitted import fitted, take_oob_score
from stablebag.models.ranges import ObservedRange, OutputRanges, as_prediction_range
from stablebag.models.rows import Output, are_several, columns, names_of, one_column, output_of, y_width
from stablebag.models.solving import PREDICT, PredictRequest
from stablebag.resampling.schemes import Scheme, Subbagging

_Init = TypeVar("_Init", bound=Callable[..., None])

# Parameters of scikit-learn's Bagging that have another name here, and what to use instead.
_NAMES_ELSEWHERE = {
    "n_estimators": "n_bags={0}",
    "base_estimator": "estimator={0}",
    "max_samples": "scheme=Subbagging({0}), or scheme=ClassicalBagging({0}) to draw rows with replacement",
    "bootstrap": "scheme=ClassicalBagging(1.0) to draw rows with replacement, or scheme=Subbagging(0.5) without",
    "bootstrap_features": "max_features, which draws columns without replacement",
    "verbose": "on_progress to follow a fit",
}


def _explains_other_names(init: _Init) -> _Init:
    """Let an `__init__` explain the parameters that people know from scikit-learn's Bagging; its signature stays."""

    @wraps(init)
    def explaining(self: Any, *args: Any, **params: Any) -> None:
        owner = type(self).__name__
        if len(args) > 1:
            raise TypeError(
                f"{owner} takes only the estimator by position, got {len(args)} arguments. Pass the others by name, "
                f"for example {owner}(estimator, n_bags=500)."
            )
        for name, instead in _NAMES_ELSEWHERE.items():
            if name in params:
                use = instead.format(shown(params[name]))
                raise TypeError(f"{owner} has no parameter {name!r}. Use {use}.")
        init(self, *args, **params)

    return explaining  # type: ignore[return-value]


# ------------------------------------------------------------------------------------------------------------ regressor
# Bagged regression around any learner: with drawn bags or all bags, with or without clipping.


class BaggedRegressor(RegressorMixin, BaggedEnsemble):
    """Average a regressor over random bags of rows, so that almost no single row can change a prediction much.

    The regressor is fitted to `n_bags` random selections of the training rows (bags). Each bag's prediction is clipped
    to `prediction_range` before it is averaged (Algorithm 3 of the paper). ``prediction_range=None`` turns clipping off
    (Algorithm 1), and ``n_bags="all"`` averages over all possible bags (Algorithm 2). `certify(model)` states the
    resulting guarantee. Unlike `sklearn.ensemble.BaggingRegressor`, a bag's model never gets rows outside its bag, not
    even with weight zero.

    With several targets per row, the model predicts all of them; `output` returns the model of one.

    Parameters
    ----------
    estimator : estimator, default=None
        The learner to fit to each bag: any scikit-learn regressor or pipeline, or a function in a `FunctionRegressor`.
        None is a decision tree. Its `random_state` parameters that are None get a different seed in each bag.
    scheme : ResamplingScheme or {"subbagging", "bernoulli", "classical", "poissonized"}, default=Subbagging(0.5)
        How bags are drawn.
    n_bags : int, RandomBags or "all", default=500
        The number of bags to draw. "all" fits every possible bag and weights it by its probability. The learner then
        has the same seed in every bag, as the certificate is about one deterministic learner.
    prediction_range : PredictionRange, callable, list of these or None, default=ObservedRange()
        How to compute, from the targets, the interval that predictions are clipped to. None turns clipping off;
        certificates are then in units of the range of the learner's outputs, which is known only afterwards. With
        several outputs, each gets its own interval; a list has one rule per output.
    n_jobs : int or None, default=None
        The number of bags to fit in parallel. The fitted model is the same to the last bit.
    warm_start : bool, default=False
        If True, fitting the same data again with a larger `n_bags` keeps the fitted bags and only fits the new ones.
    keep_rows : bool, default=True
        Whether the model stores a copy of the training rows. Errors, intervals and `forget` need them.
        Nearest-neighbour models contain their rows and always store them.
    solver : {"auto", "scikit-learn"}, default="auto"
        What fits the bags. "auto" uses faster code for some learners, if it gives the same models as scikit-learn to
        the last bit. "scikit-learn" always fits the learner itself.
    max_features : int or float, default=1.0
        The number or fraction of columns that each bag's model is fitted to (random subspaces). They are drawn from the
        learner's seed and never depend on the rows, so every guarantee still holds. The models in `estimators_` expect
        these columns only, in the order of the table; `estimators_features_` lists them.
    oob_score : bool or callable, default=False
        Whether to compute `oob_score_`, the score of the out-of-bag predictions: each training row is predicted by the
        bags without it. True is R^2; a function is called with (y, predictions). `fit` raises ValueError before fitting
        anything if a row is in every bag.
    random_state : None, int, RandomState or Generator, default=None
        The random seed for the bags and the learners. Bag b depends only on the seed, on b and on the row IDs.

    Attributes
    ----------
    estimator_ : estimator
        An unfitted copy of the learner.
    estimators_ : sequence of estimators
        The fitted model of each bag; a constant for a bag without rows.
    n_estimators : int
        The number of bags.
    bags_ : Bags
        The rows (or groups) in each bag.
    solver_ : SolverChoice
        What fitted the bags, and why no faster solver was used if none was.
    estimators_samples_ : list of ndarray
        The positions of the rows in each bag.
    estimators_features_ : list of ndarray
        The columns that each bag's model was fitted to.
    oob_score_ : float
        The score of `oob_prediction_`. Only with `oob_score`.
    oob_prediction_ : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        The prediction at each training row by the bags without it. Only with `oob_score`.
    scheme_ : ResolvedScheme
        The distribution that the bags were drawn from.
    derandomized_ : bool
        Whether the model averages over all possible bags (``n_bags="all"``).
    prediction_range_ : PredictionRange, OutputRanges or None
        The rule for the interval that predictions are clipped to.
    range_ : tuple of two floats, or None
        That interval; with several outputs, a tuple with one interval per output.
    output_names_ : ndarray of shape (n_outputs,)
        The names of the outputs: the columns of y, or 0, 1, ... if they are unnamed. Only with several outputs.
    output_ : Output
        Which output this model predicts. Only in models that `output` returns.
    units_ : Units
        The groups that bags are drawn from, with their names; without `groups`, every training row is its own group.
    n_features_in_ : int
        The number of features.
    feature_names_in_ : ndarray of str
        The names of the features, if X has any.

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

    prediction_range_: Any
    range_: Any
    output_names_: np.ndarray
    output_: Output
    _estimator_type_wanted = "regressor"

    @_explains_other_names
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
        max_features: Any = 1.0,
        oob_score: Any = False,
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
        self.max_features = max_features
        self.oob_score = oob_score
        self.random_state = random_state

    def predict(self, X: Any, **params: Any) -> np.ndarray:
        """Return the average over bags of the clipped predictions.

        Parameters
        ----------
        X : array-like, sparse array or data frame of shape (n_points, n_features)
            The points at which to predict.
        **params : dict
            Passed to the learner's `predict` if it requests them; needs scikit-learn's metadata routing.

        Returns
        -------
        ndarray of shape (n_points,) or (n_points, n_outputs)
        """
        average = self._predicted(X, "predict", params)
        if not np.isfinite(average).all():
            point = int(np.argwhere(~np.isfinite(average))[0][0])
            raise ValueError(
                f"The prediction at point {point} is infinite. Set a prediction_range to which predictions are "
                "clipped, for example ObservedRange()."
            )
        return average

    def output(self, name: Any) -> "BaggedRegressor":
        """Return the fitted model of one of several outputs.

        Pass it to functions that need a single output, for example `predict_interval` or `leave_one_out_error`. It
        shares the bags and the fitted models with this model, so it costs nothing. Its `oob_prediction_` and
        `oob_score_` are for this output. If `oob_score` is a function, there is no `oob_score_`, because the function
        may need all outputs.

        Parameters
        ----------
        name : object
            The name of the output, one of `output_names_`. If no name is a number, its position works too.

        Returns
        -------
        BaggedRegressor

        Examples
        --------
        >>> import numpy as np
        >>> from stablebag import BaggedRegressor
        >>> X = np.arange(20.0)[:, None]
        >>> model = BaggedRegressor(n_bags=10, random_state=0).fit(X, np.column_stack([X, 100 - X]))
        >>> model.range_, model.output(1).range_
        (((0.0, 19.0), (81.0, 100.0)), (81.0, 100.0))
        """
        check_is_fitted(self)
        if not hasattr(self, "output_names_"):
            raise ValueError("This model has only one output. Use the model itself instead of model.output(...).")
        output = output_of(name, self.output_names_, "output")
        view: BaggedRegressor = fitted(self).cached(f"output {output.number}", lambda: self._view(output))
        return view

    def _view(self, output: Output) -> "BaggedRegressor":
        """A model of one output that shares everything else with this one; refitting it starts from scratch."""
        view = type(self).__new__(type(self))
        own = {name: value for name, value in vars(self).items() if name not in ("_memory", "output_names_")}
        y = read_only(output.column(self._average.y))
        view.__dict__.update(own, output_=output, warm_start=False)
        rule = self.prediction_range_
        if isinstance(rule, OutputRanges):
            view.prediction_range = view.prediction_range_ = rule.ranges[output.number]
            view.range_ = view.prediction_range_(y)
        view._average = replace(self._average, y=y, rule=view.prediction_range_, output_names=None)
        take_oob_score(view, output.column)
        return view

    def _predict_blocks(self, points: Any, request: PredictRequest = PREDICT) -> Iterator[np.ndarray]:
        output: Output | None = getattr(self, "output_", None)
        if output is None and not hasattr(self, "output_names_"):
            return super()._predict_blocks(points, request)
        n_outputs = len(self.output_names_) if output is None else output.of
        blocks = super()._predict_blocks(points, replace(request, n_outputs=n_outputs))
        return blocks if output is None else map(output.column, blocks)

    def _default_learner(self) -> Any:
        return DecisionTreeRegressor()

    def _check_parameters(self) -> None:
        super()._check_parameters()
        rule = self.prediction_range
        if isinstance(rule, list | tuple) and len(rule) == 2 and all(isinstance(end, Real) for end in rule):
            reason = f"for a fixed interval use FixedRange({rule[0]!r}, {rule[1]!r})."
            raise refuse_type("prediction_range", type(self).__name__, "a prediction range", rule, reason)
        for each in rule if isinstance(rule, list | tuple) else [rule]:
            if each is not None:
                as_prediction_range(each, type(self).__name__)

    def _read_targets(self, y: Any) -> np.ndarray:
        several, owner = are_several(y), type(self).__name__
        known = getattr(self, "output_names_", None)  # in a warm start, or from the model that this one was made from
        if hasattr(self, "bags_") and (hasattr(self, "output_") or (known is None) == several):
            raise ValueError(WARM_START.format("the outputs"))
        if not several:
            return one_column(y, owner, "")
        given = names_of(y, owner)
        if known is None:
            self.output_names_ = np.arange(y_width(y)) if given is None else given
        elif y_width(y) != len(known) or (given is not None and given.tolist() != known.tolist()):
            reason = "the outputs changed since the first fit. Use the same columns, or fit a clone."
            columns_now = y_width(y) if given is None else given.tolist()
            raise refuse_value("y", owner, f"with the columns {known.tolist()}", columns_now, reason)
        return columns(y)

    def _forget(self) -> None:
        super()._forget()
        for name in ("output_names_", "output_"):
            self.__dict__.pop(name, None)

    def _check_targets(self, y: np.ndarray) -> np.ndarray:
        y = as_reals(y, "y", type(self).__name__, "numbers").copy() if y.dtype.kind in "biufO" else y
        if y.dtype.kind != "f":
            raise ValueError(
                f"Unknown label type: {type(self).__name__} needs numbers as targets, got type {y.dtype}. Convert y to "
                "numbers, or use BaggedClassifier for classes."
            )
        assert_all_finite(y, input_name="y", estimator_name=type(self).__name__)
        return y

    def _learn_targets(self, y: np.ndarray) -> tuple[Any, None]:
        given, owner = self.prediction_range, type(self).__name__
        rule: Any = None
        if given is not None:
            rule = as_prediction_range(given, owner) if y.ndim == 1 else OutputRanges.of(given, y.shape[1], owner)
        self.prediction_range_ = rule
        self.range_ = None
        if rule is not None:
            ends = rule(y)
            self.range_ = ends if y.ndim == 1 else tuple(zip(*(end.tolist() for end in ends), strict=True))
            largest = self.units_.rows_of(np.array([np.argmax(self.units_.sizes)]))
            rule(np.delete(y, largest, axis=0))  # it must also be defined without the largest group; better fail now
        return rule, None

    def __sklearn_tags__(self) -> Any:
        tags, theirs = super().__sklearn_tags__(), self._learner_tags()
        if theirs is not None:
            tags.target_tags.multi_output = theirs.target_tags.multi_output
        return tags


# ----------------------------------------------------------------------------------------------------------- classifier
# Bagged classification around any learner: averaged probabilities, or votes.


def _has_decisions(model: Any) -> bool:
    return bool(model._learner_has("decision_function"))


class BaggedClassifier(ClassifierMixin, BaggedEnsemble):
    """Average a classifier's probabilities over random bags, so that almost no single row can change them much.

    The classifier is fitted to `n_bags` random selections of the training rows (bags). If it has no `predict_proba`,
    its labels count as votes. In each bag, classes without rows get probability zero. A bag with a single class
    predicts it with probability one, and a bag without rows gives all classes the same probability; the learner is not
    fitted to these bags. Unlike `sklearn.ensemble.BaggingClassifier`, a bag's model never gets rows outside its bag,
    not even with weight zero.

    Parameters
    ----------
    estimator : estimator, default=None
        The learner to fit to each bag: any scikit-learn classifier or pipeline, or a function in a
        `FunctionClassifier`. None is a decision tree. Its `random_state` parameters that are None get a different seed
        in each bag.
    scheme : ResamplingScheme or {"subbagging", "bernoulli", "classical", "poissonized"}, default=Subbagging(0.5)
        How bags are drawn.
    n_bags : int, RandomBags or "all", default=500
        The number of bags to draw. "all" fits every possible bag and weights it by its probability. The learner then
        has the same seed in every bag, as the certificate is about one deterministic learner.
    n_jobs : int or None, default=None
        The number of bags to fit in parallel. The fitted model is the same to the last bit.
    warm_start : bool, default=False
        If True, fitting the same data again with a larger `n_bags` keeps the fitted bags and only fits the new ones.
    keep_rows : bool, default=True
        Whether the model stores a copy of the training rows. Errors, intervals and `forget` need them.
        Nearest-neighbour models contain their rows and always store them.
    solver : {"auto", "scikit-learn"}, default="auto"
        What fits the bags. "auto" uses faster code for some learners, if it gives the same models as scikit-learn to
        the last bit. "scikit-learn" always fits the learner itself.
    max_features : int or float, default=1.0
        The number or fraction of columns that each bag's model is fitted to (random subspaces). They are drawn from the
        learner's seed and never depend on the rows, so every guarantee still holds. The models in `estimators_` expect
        these columns only, in the order of the table; `estimators_features_` lists them.
    oob_score : bool or callable, default=False
        Whether to compute `oob_score_`, the score of the out-of-bag predictions: each training row is predicted by the
        bags without it. True is accuracy; a function is called with (y, predicted labels). `fit` raises ValueError
        before fitting anything if a row is in every bag.
    random_state : None, int, RandomState or Generator, default=None
        The random seed for the bags and the learners. Bag b depends only on the seed, on b and on the row IDs.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The class labels, sorted.
    n_classes_ : int
        The number of classes.
    estimator_ : estimator
        An unfitted copy of the learner.
    estimators_ : sequence of estimators
        The fitted model of each bag; a constant for a bag without rows or with a single class.
    n_estimators : int
        The number of bags.
    bags_ : Bags
        The rows (or groups) in each bag.
    solver_ : SolverChoice
        What fitted the bags, and why no faster solver was used if none was.
    estimators_samples_ : list of ndarray
        The positions of the rows in each bag.
    estimators_features_ : list of ndarray
        The columns that each bag's model was fitted to.
    oob_score_ : float
        The score of the labels predicted by `oob_decision_function_`. Only with `oob_score`.
    oob_decision_function_ : ndarray of shape (n_samples, n_classes)
        The probabilities at each training row by the bags without it. Only with `oob_score`.
    scheme_ : ResolvedScheme
        The distribution that the bags were drawn from.
    derandomized_ : bool
        Whether the model averages over all possible bags (``n_bags="all"``).
    units_ : Units
        The groups that bags are drawn from, with their names; without `groups`, every training row is its own group.
    n_features_in_ : int
        The number of features.
    feature_names_in_ : ndarray of str
        The names of the features, if X has any.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from stablebag import BaggedClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = BaggedClassifier(n_bags=50, random_state=0).fit(X, y)
    >>> model.predict_proba(X[:1])
    array([[1., 0., 0.]])
    """

    classes_: np.ndarray
    _estimator_type_wanted = "classifier"

    @_explains_other_names
    def __init__(
        self,
        estimator: Any = None,
        *,
        scheme: Scheme = Subbagging(0.5),  # noqa: B008 (frozen)
        n_bags: Any = 500,
        n_jobs: int | None = None,
        warm_start: bool = False,
        keep_rows: bool = True,
        solver: str = "auto",
        max_features: Any = 1.0,
        oob_score: Any = False,
        random_state: RandomState = None,
    ) -> None:
        self.estimator = estimator
        self.scheme = scheme
        self.n_bags = n_bags
        self.n_jobs = n_jobs
        self.warm_start = warm_start
        self.keep_rows = keep_rows
        self.solver = solver
        self.max_features = max_features
        self.oob_score = oob_score
        self.random_state = random_state

    def predict(self, X: Any, **params: Any) -> np.ndarray:
        """Return the class with the highest average probability; ties go to the first class.

        Parameters
        ----------
        X : array-like, sparse array or data frame of shape (n_points, n_features)
            The points at which to predict.
        **params : dict
            Passed to the learner's `predict_proba` (or `predict`, if it has none) if it requests them; needs
            scikit-learn's metadata routing.

        Returns
        -------
        ndarray of shape (n_points,)
        """
        best = self._predicted(X, "predict", params).argmax(axis=1)
        labels: np.ndarray = self.classes_[best]
        return labels

    def predict_proba(self, X: Any, **params: Any) -> np.ndarray:
        """Return the class probabilities, or the votes, averaged over the bags.

        Parameters
        ----------
        X : array-like, sparse array or data frame of shape (n_points, n_features)
            The points at which to predict.
        **params : dict
            As in `predict`.

        Returns
        -------
        ndarray of shape (n_points, n_classes)
        """
        return self._predicted(X, "predict_proba", params)

    def predict_log_proba(self, X: Any, **params: Any) -> np.ndarray:
        """Return the logarithms of the averaged probabilities; the logarithm of zero is minus infinity.

        Certificates bound changes of the probabilities. There is no bound for their logarithms, which one row may
        change by any amount.

        Parameters
        ----------
        X : array-like, sparse array or data frame of shape (n_points, n_features)
            The points at which to predict.
        **params : dict
            As in `predict`.

        Returns
        -------
        ndarray of shape (n_points, n_classes)
        """
        with np.errstate(divide="ignore"):
            logarithms: np.ndarray = np.log(self._predicted(X, "predict_log_proba", params))
        return logarithms

    @available_if(_has_decisions)
    def decision_function(self, X: Any, **params: Any) -> np.ndarray:
        """Return the learner's decision function, averaged over the bags. Available if the learner has one.

        In each bag, a class without rows gets the lowest score among the other classes at that point. A bag with a
        single class, or without rows, counts as zero. Decision functions do not have a range, so **there is no
        guarantee for their average**: certificates and leave-one-out measurements are about the probabilities.
        `predict` returns the class with the highest probability, which need not be the class with the highest score.

        Parameters
        ----------
        X : array-like, sparse array or data frame of shape (n_points, n_features)
            The points at which to predict.
        **params : dict
            Passed to the learner's `decision_function` if it requests them; needs scikit-learn's metadata routing.

        Returns
        -------
        ndarray of shape (n_points,) or (n_points, n_classes)
            With two classes, the score of the second class.
        """
        return self._predicted(X, "decision_function", params, decisions=True)

    @property
    def n_classes_(self) -> int:
        """The number of classes."""
        return len(self.classes_)

    def _default_learner(self) -> Any:
        return DecisionTreeClassifier()

    def _check_targets(self, y: np.ndarray) -> np.ndarray:
        assert_all_finite(y, input_name="y", estimator_name=type(self).__name__)
        check_classification_targets(y)
        if len(classes := np.unique(y)) == 1:
            raise ValueError(
                f"{type(self).__name__} needs samples of at least 2 classes in the data, but the data contains only "
                f"one class: {classes.tolist()[0]!r}. Check that y is the right column."
            )
        return y

    def _learn_targets(self, y: np.ndarray) -> tuple[None, np.ndarray]:
        self.classes_ = np.unique(y)
        lost = sum(map(len, self.units_.classes_lost(y).values()))
        if not self.units_.are_rows and lost == len(self.classes_):
            one, many = self.units_.noun.singular, self.units_.noun.plural
            warnings.warn(
                f"Every class occurs in a single {one} only, so leaving out a {one} removes its class, and the model "
                f"cannot predict it. Fit without groups, or predict classes that several {many} share.",
                stacklevel=6,
            )
        return None, self.classes_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        theirs = self._learner_tags()
        if theirs is not None and theirs.classifier_tags is not None:
            tags.classifier_tags.multi_class = theirs.classifier_tags.multi_class
        return tags
