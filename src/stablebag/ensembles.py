"""Bagging as scikit-learn estimators: generic, derandomized and adaptively clipped, around any learner."""

import inspect
import math
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from numbers import Integral
from typing import Any, Self

import joblib
import numpy as np
from sklearn import get_config
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, RegressorMixin
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils import assert_all_finite, check_consistent_length, column_or_1d, get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, has_fit_parameter, validate_data

from stablebag.arguments import check_integer, read_only, refuse_type, refuse_value
from stablebag.averaging import middle
from stablebag.bags import Bags
from stablebag.fitting import Assignment, fit_bags, predict_bags
from stablebag.outputs import one_hot
from stablebag.ranges import Interval, ObservedRange, PredictionRange, as_prediction_range
from stablebag.rows import kept
from stablebag.schemes import ResamplingScheme, ResolvedScheme, Subbagging, as_law
from stablebag.seeds import RandomState, Seeds

try:  # scikit-learn 1.9 and later
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stands in where scikit-learn has no callbacks yet."""

    def with_callbacks(method: Callable[..., Any]) -> Callable[..., Any]:
        """Leave the method as it is."""
        return method


_MOST_BAGS = 100_000  # that "all" will list; beyond, drawing some is the better idea


class _BaggedEnsemble(CallbackSupportMixin, MetaEstimatorMixin, BaseEstimator):
    """What bagged regressors and classifiers share: drawing, fitting and keeping one model per bag."""

    estimator: Any
    scheme: ResamplingScheme
    n_bags: Any
    n_jobs: int | None
    warm_start: bool
    random_state: RandomState

    estimators_: list[Any]
    bags_: Bags
    bag_weights_: np.ndarray
    scheme_: ResolvedScheme
    derandomized_: bool
    X_: Any
    y_: np.ndarray
    _estimator_type_wanted: str

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None, **fit_params: Any) -> Self:
        """Draw the bags and fit a clone of the learner to each.

        Parameters
        ----------
        X : array-like, sparse array or data frame of shape (n_samples, n_features)
            The training rows. A frame reaches the learner as a frame, NaN where the learner takes it.
        y : array-like of shape (n_samples,)
            The targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Passed on to the learner: each bag gets the weights of its rows. Bags are drawn without regard to it.
        **fit_params : dict
            Passed on to the learner's `fit`; arrays with one entry per row are sliced by bag.

        Returns
        -------
        self
        """
        work, bags, weights = self._prepared(X, y, {"sample_weight": sample_weight, **fit_params})
        done = len(getattr(self, "estimators_", []))  # of a warm start; a fit that begins anew has forgotten them
        new, seeds = bags[done:], self._learner_seeds(done, len(bags))
        with self._progress(len(new), work.X, work.y) as after_bag:
            models = fit_bags(work, new, seeds, first=done, n_jobs=self.n_jobs, on_bag=after_bag)
        self.estimators_ = [*getattr(self, "estimators_", []), *models]
        self.bags_, self.bag_weights_, self.y_ = bags, read_only(weights), work.y
        if done == 0:
            self.X_ = kept(work.X)  # no later change reaches it
        return self

    def bag_predictions(self, X: Any) -> np.ndarray:
        """Return what is averaged: the prediction of each bag's model, clipped to the range where there is one.

        Parameters
        ----------
        X : array-like, sparse array or data frame of shape (n_points, n_features)
            The points.

        Returns
        -------
        ndarray of shape (n_bags, n_points) or (n_bags, n_points, n_classes)
        """
        return np.stack(list(self._each_bag(self._validated_points(X))))

    # ------------------------------------------------------------------------------------------- what the two differ in

    def _default_learner(self) -> Any:
        raise TypeError("A bagged ensemble is a BaggedRegressor or a BaggedClassifier.")

    def _learn_targets(self, y: np.ndarray) -> None:
        """Keep what is needed of the targets beside the models."""

    def _classes(self) -> np.ndarray | None:
        return None

    def _middle(self) -> float:
        return 0.0

    def _check_targets(self, y: np.ndarray) -> np.ndarray:
        return y

    def _each_bag(self, X: Any) -> Any:
        """Yield each bag's prediction, as it is averaged."""
        return predict_bags(self.estimators_, X, self._classes(), n_jobs=self.n_jobs)

    # -------------------------------------------------------------------------------------------------------- the fit

    def _prepared(self, X: Any, y: Any, fit_params: dict[str, Any]) -> tuple[Assignment, Bags, np.ndarray]:
        """Everything up to the fitting itself: the work, the bags and their weights."""
        self._check_parameters()
        learner = self._learner()
        resumes = self._resumes()
        if not resumes:
            self._forget()
        X, y = self._validated(X, y, reset=not resumes)
        law = as_law(self.scheme, len(y), type(self).__name__)
        params = self._routed(learner, len(y), **fit_params)
        if resumes:
            self._check_resumed(law, X, y, params)
        else:
            self._seeds = Seeds.from_random_state(self.random_state, type(self).__name__)
            self._settings = self._what_must_stay(params)
        self.scheme_ = law
        bags, weights = self._draw(law, learner)
        self._learn_targets(y)
        return Assignment(learner, X, y, self._classes(), self._middle(), params), bags, weights

    def _learner_seeds(self, first: int, stop: int) -> np.ndarray:
        """The learner's seed in each bag; over all bags it is the same: with it, the learner is one fixed function."""
        if self.derandomized_:
            return np.repeat(self._seeds.learner_seeds(0, 1), stop - first)
        return self._seeds.learner_seeds(first, stop)

    def _check_parameters(self) -> None:
        name = type(self).__name__
        if isinstance(self.n_bags, str):
            if self.n_bags != "all":
                reason = 'the only word is "all", for derandomized bagging.'
                raise refuse_value("n_bags", name, 'an integer >= 1 or "all"', self.n_bags, reason)
        else:
            check_integer(self.n_bags, "n_bags", name, minimum=1, reason='use a whole number, or "all".')
        if not isinstance(self.scheme, ResamplingScheme | ResolvedScheme):
            raise refuse_type("scheme", name, "a resampling scheme, such as Subbagging(bag_size=0.5)", self.scheme)

    def _learner(self) -> Any:
        learner = self._default_learner() if self.estimator is None else self.estimator
        missing = [method for method in ("fit", "predict", "get_params") if not hasattr(learner, method)]
        if missing or isinstance(learner, type):
            expected = "an unfitted scikit-learn estimator, or FunctionRegressor or FunctionClassifier of a function"
            raise refuse_type("estimator", type(self).__name__, expected, learner)
        tags, own = get_tags(learner) if hasattr(learner, "__sklearn_tags__") else None, self._estimator_type_wanted
        if tags is not None and tags.estimator_type not in (own, None):
            reason = f"it is a {tags.estimator_type}. Use the other of BaggedRegressor and BaggedClassifier."
            raise refuse_type("estimator", type(self).__name__, f"a {own}", learner, reason)
        return learner

    def _validated(self, X: Any, y: Any, *, reset: bool) -> tuple[Any, np.ndarray]:
        X = _validated_rows(self, X, reset=reset, ensure_min_samples=2)
        if y is None:
            raise ValueError(f"This {type(self).__name__} estimator requires y to be passed, but the target y is None.")
        y = np.array(column_or_1d(y, warn=True))  # a copy: it is kept, and the caller's may change
        y.flags.writeable = False
        if y.dtype.kind == "O" and any(str(value) in ("None", "nan", "NaN", "<NA>", "NaT") for value in y):
            raise ValueError("Input y contains NaN or missing values. Remove those rows.")
        y = read_only(self._check_targets(y))
        check_consistent_length(X, y)
        return X, y

    def _validated_points(self, X: Any) -> Any:
        check_is_fitted(self)
        return self._validated_rows(X)

    def _validated_rows(self, X: Any) -> Any:
        return _validated_rows(self, X, reset=False, ensure_min_samples=1)

    def _resumes(self) -> bool:
        """Return whether a warm start goes on with the bags that are fitted already."""
        return self.warm_start and hasattr(self, "bags_") and self.n_bags != "all" and not self.derandomized_

    def _check_resumed(self, law: ResolvedScheme, X: Any, y: np.ndarray, params: dict[str, Any]) -> None:
        """Refuse a warm start that would not equal a cold one."""
        fitted = len(self.bags_)
        if self.n_bags < fitted:
            reason = f"with warm_start=True there are {fitted} bags already. Raise n_bags or fit a clone."
            raise refuse_value("n_bags", type(self).__name__, f"at least {fitted}", self.n_bags, reason)
        if law != self.scheme_ or not np.array_equal(y, self.y_) or not _same_table(X, self.X_):
            raise ValueError(
                "warm_start=True adds bags of the same data and scheme, and these are others than in the first fit. "
                "Fit a clone, or set warm_start=False."
            )
        now = self._what_must_stay(params)
        changed = sorted(name for name in now | self._settings if now.get(name) != self._settings.get(name))
        if changed:
            raise ValueError(
                f"warm_start=True adds bags to the same ensemble, and {', '.join(changed)} changed since the first "
                "fit. Fit a clone, or set warm_start=False."
            )
        if self.n_bags == fitted:
            warnings.warn("Warm-start fitting without raising n_bags does not fit new bags.", stacklevel=5)

    def _what_must_stay(self, fit_params: dict[str, Any]) -> dict[str, Any]:
        """Fingerprints of what all bags share beside the targets and rows that are kept."""
        free = {"n_bags", "n_jobs", "warm_start", "scheme"}
        shared = {name: value for name, value in self.get_params(deep=True).items() if name not in free}
        shared |= {f"the fit parameter {name}": value for name, value in fit_params.items()}
        return {name: _fingerprint(value) for name, value in shared.items()}

    def _forget(self) -> None:
        """Leave nothing of an earlier fit, so that a fit that fails half-way does not leave a mixture."""
        for name in ("bags_", "estimators_", "bag_weights_", "scheme_", "X_", "y_"):
            self.__dict__.pop(name, None)

    def _draw(self, law: ResolvedScheme, learner: Any) -> tuple[Bags, np.ndarray]:
        """The bags, and the weight of each in the average."""
        self.derandomized_ = self.n_bags == "all"
        self._law_of_n_bags = getattr(self.n_bags, "law", None)  # of a number that was drawn at random
        if not self.derandomized_:
            bags = law.draw(int(self.n_bags), self._seeds)
            return bags, np.full(len(bags), 1 / len(bags))
        parameters = {"order_matters": getattr(learner, "order_matters", False), **learner.get_params(deep=True)}
        ordered = any(value is True for name, value in parameters.items() if name.split("__")[-1] == "order_matters")
        # There are as many bags as rows at the least; for very many rows, even counting them all would take long.
        size: int | float = law.n_samples
        if size <= _MOST_BAGS:
            size = law.count_support(ordered=ordered, limit=_MOST_BAGS)
        if size > _MOST_BAGS:
            reason = f"{law} has {_many(size)} bags, and over {_MOST_BAGS:,} are not listed. Draw some: n_bags=10000."
            raise refuse_value("n_bags", type(self).__name__, "an integer for this scheme", "all", reason)
        sequences, probabilities = zip(*law.support(ordered=ordered), strict=True)
        return Bags(sequences, law.n_samples), np.array(probabilities, dtype=float)

    def _routed(self, learner: Any, n_samples: int, sample_weight: Any = None, **fit_params: Any) -> dict[str, Any]:
        """The parameters for the learner's fit, by metadata routing where it is switched on."""
        if sample_weight is not None:
            sample_weight = np.asarray(sample_weight)
            if sample_weight.ndim == 0:
                sample_weight = np.full(n_samples, sample_weight)
            if sample_weight.ndim != 1:
                raise ValueError(
                    f"Sample weights must be 1D array or scalar. Got an array of {sample_weight.ndim} axes."
                )
            check_consistent_length(sample_weight, np.empty(n_samples))
            assert_all_finite(sample_weight, input_name="sample_weight")
            fit_params = {"sample_weight": sample_weight, **fit_params}
        if not fit_params:
            return {}
        if get_config()["enable_metadata_routing"]:
            routed: dict[str, Any] = process_routing(self, "fit", **fit_params)["estimator"]["fit"]
            return routed
        if sample_weight is not None and not _takes_weights(learner):
            raise ValueError(
                f"The learner {type(learner).__name__} does not take sample_weight. Leave it out, pass it under the "
                "name of a pipeline's step (step__sample_weight), or switch on scikit-learn's metadata routing."
            )
        return fit_params

    @contextmanager
    def _progress(self, n_new: int, X: Any, y: np.ndarray) -> Iterator[Callable[[], None] | None]:
        """What is to be called after each bag: scikit-learn's callbacks, where this version has them."""
        if not hasattr(self, "_init_callback_context"):
            yield None
            return
        context = self._init_callback_context(max_subtasks=n_new)
        context.call_on_fit_task_begin(estimator=self, X=X, y=y)

        def after_bag() -> None:
            bag = context.subcontext(task_name="bag").call_on_fit_task_begin(estimator=self)
            if bag.call_on_fit_task_end(estimator=self):
                raise ValueError(
                    "A callback asked to stop before all bags were fitted. A certificate speaks of a number of bags "
                    "fixed beforehand, so fitting cannot stop early. Remove the callback, or lower n_bags."
                )

        yield after_bag
        context.call_on_fit_task_end(estimator=self, X=X, y=y)

    def _average(self, X: Any) -> np.ndarray:
        """The average, added up one bag after the other: the same bits however the bags were handed out."""
        total: np.ndarray | float = 0.0
        for weight, prediction in zip(self.bag_weights_, self._each_bag(X), strict=True):
            total = total + (weight * prediction if self.derandomized_ else prediction)
        return np.asarray(total if self.derandomized_ else total / len(self.bags_))

    # ------------------------------------------------------------------------------------------ scikit-learn's contract

    def get_metadata_routing(self) -> MetadataRouter:
        """Return who gets which metadata: all of it goes to the learner's fit."""
        mapping = MethodMapping().add(caller="fit", callee="fit")
        return MetadataRouter(owner=self).add(estimator=self._learner(), method_mapping=mapping)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        theirs = self._learner_tags()
        if theirs is None:
            return tags
        for name in ("sparse", "allow_nan", "categorical", "string", "positive_only"):
            setattr(tags.input_tags, name, getattr(theirs.input_tags, name))
        tags.target_tags.positive_only = theirs.target_tags.positive_only
        tags.non_deterministic = theirs.non_deterministic
        return tags

    def _learner_tags(self) -> Any:
        """The learner's tags; None where it is none of scikit-learn's making and has no such thing."""
        learner = self._default_learner() if self.estimator is None else self.estimator
        return get_tags(learner) if hasattr(learner, "__sklearn_tags__") else None

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "bags_")


class BaggedRegressor(RegressorMixin, _BaggedEnsemble):
    """Average a regressor over random bags of rows, so that no single row can move the prediction much.

    Each bag's prediction is clipped to `prediction_range` before it is averaged (Algorithm 3 of the paper; with
    ``n_bags="all"``, over all bags there are, Algorithm 2; with ``prediction_range=None``, unclipped, Algorithm 1).
    It is what `sklearn.ensemble.BaggingRegressor` would be if rows outside of a bag never reached the learner. It fits
    `n_bags` clones; what it then promises is said by `certify(model)`.

    Parameters
    ----------
    estimator : estimator, default=None
        The learner: any scikit-learn regressor or pipeline, or `FunctionRegressor` around a function. None is a
        decision tree. Its `random_state` parameters that are None are filled, differently in each bag.
    scheme : ResamplingScheme, default=Subbagging(0.5)
        How bags are drawn.
    n_bags : int or "all", default=500
        How many bags are drawn; "all" fits every bag there is and weights it by its probability. The learner then has
        the same seed in every bag, with which it is the deterministic learner that the certificate speaks of.
    prediction_range : PredictionRange, callable or None, default=ObservedRange()
        The interval to which predictions are clipped, from the targets. None leaves them as they are; certificates
        then speak of the range of the learner's outputs, which is known only afterwards.
    n_jobs : int or None, default=None
        How many bags are fitted at once; the result is the same to the last bit.
    warm_start : bool, default=False
        Whether a second `fit` to the same data with a larger `n_bags` keeps its bags and fits only the new ones.
    random_state : None, int, RandomState or Generator, default=None
        The source of bags and seeds. Bag b depends on it and on b alone.

    Attributes
    ----------
    estimators_ : list of estimators
        The fitted model of each bag; a constant for an empty one.
    bags_ : Bags
        The rows of each bag.
    bag_weights_ : ndarray of shape (n_bags,)
        The weight of each bag in the average.
    scheme_ : ResolvedScheme
        The law from which the bags were drawn.
    derandomized_ : bool
        Whether the bags are all there are, and not drawn.
    prediction_range_ : PredictionRange or None
        The rule for the interval to which predictions are clipped.
    range_ : tuple of two floats, or None
        That interval.
    X_ : array, sparse array or data frame of shape (n_samples, n_features)
        A copy of the training rows: errors and intervals are made of the predictions at them.
    y_ : ndarray of shape (n_samples,)
        The targets, which the interval without a row depends on.
    n_features_in_ : int
        The number of features.
    feature_names_in_ : ndarray of str
        Their names, where X has some.

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
        scheme: ResamplingScheme = Subbagging(0.5),  # noqa: B008 (frozen)
        n_bags: Any = 500,
        prediction_range: Any = ObservedRange(),  # noqa: B008 (frozen)
        n_jobs: int | None = None,
        warm_start: bool = False,
        random_state: RandomState = None,
    ) -> None:
        self.estimator = estimator
        self.scheme = scheme
        self.n_bags = n_bags
        self.prediction_range = prediction_range
        self.n_jobs = n_jobs
        self.warm_start = warm_start
        self.random_state = random_state

    def predict(self, X: Any) -> np.ndarray:
        """Return the average over bags of the clipped predictions.

        Parameters
        ----------
        X : array-like, sparse array or data frame of shape (n_points, n_features)
            The points.

        Returns
        -------
        ndarray of shape (n_points,)
        """
        average = self._average(self._validated_points(X))
        if self.range_ is None and not np.isfinite(average).all():
            point = int(np.flatnonzero(~np.isfinite(average))[0])
            raise ValueError(f"The prediction at point {point} is infinite. Clip predictions by a prediction_range.")
        # An average of numbers in an interval is in it; rounding may put it out by an ulp.
        return average if self.range_ is None else np.clip(average, *self.range_)

    def _default_learner(self) -> Any:
        return DecisionTreeRegressor()

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.prediction_range is not None:
            as_prediction_range(self.prediction_range, type(self).__name__)

    def _check_targets(self, y: np.ndarray) -> np.ndarray:
        y = y.astype(float) if y.dtype.kind in "biufO" else y
        if y.dtype.kind != "f":
            raise ValueError(f"Unknown label type: the targets of a regressor must be numbers. Got type {y.dtype}.")
        assert_all_finite(y, input_name="y", estimator_name=type(self).__name__)
        return y

    def _learn_targets(self, y: np.ndarray) -> None:
        if self.prediction_range is None:
            self.prediction_range_ = self.range_ = None
            return
        self.prediction_range_ = as_prediction_range(self.prediction_range, type(self).__name__)
        self.range_ = self.prediction_range_(y)
        self.prediction_range_(y[1:])  # it has to be defined without a row as well; better to hear of it now

    def _middle(self) -> float:
        return 0.0 if self.range_ is None else middle(self.range_)

    def _each_bag(self, X: Any) -> Any:
        predictions = super()._each_bag(X)
        return predictions if self.range_ is None else (np.clip(p, *self.range_) for p in predictions)


class BaggedClassifier(ClassifierMixin, _BaggedEnsemble):
    """Average a classifier's probabilities over random bags of rows, so that no single row can move them much.

    A learner without `predict_proba` is voted. Classes that a bag has not seen get probability zero; a bag with a
    single class gives it probability one, and a bag without rows gives all classes the same, without the learner.
    It is what `sklearn.ensemble.BaggingClassifier` would be if rows outside of a bag never reached the learner.

    Parameters
    ----------
    estimator : estimator, default=None
        The learner: any scikit-learn classifier or pipeline, or `FunctionClassifier` around a function. None is a
        decision tree. Its `random_state` parameters that are None are filled, differently in each bag.
    scheme : ResamplingScheme, default=Subbagging(0.5)
        How bags are drawn.
    n_bags : int or "all", default=500
        How many bags are drawn; "all" fits every bag there is and weights it by its probability. The learner then has
        the same seed in every bag, with which it is the deterministic learner that the certificate speaks of.
    n_jobs : int or None, default=None
        How many bags are fitted at once; the result is the same to the last bit.
    warm_start : bool, default=False
        Whether a second `fit` to the same data with a larger `n_bags` keeps its bags and fits only the new ones.
    random_state : None, int, RandomState or Generator, default=None
        The source of bags and seeds. Bag b depends on it and on b alone.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, in order.
    estimators_ : list of estimators
        The fitted model of each bag.
    bags_ : Bags
        The rows of each bag.
    bag_weights_ : ndarray of shape (n_bags,)
        The weight of each bag in the average.
    scheme_ : ResolvedScheme
        The law from which the bags were drawn.
    derandomized_ : bool
        Whether the bags are all there are, and not drawn.
    X_ : array, sparse array or data frame of shape (n_samples, n_features)
        A copy of the training rows: errors and intervals are made of the predictions at them.
    y_ : ndarray of shape (n_samples,)
        The labels of the training rows.
    n_features_in_ : int
        The number of features.
    feature_names_in_ : ndarray of str
        Their names, where X has some.

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

    def __init__(
        self,
        estimator: Any = None,
        *,
        scheme: ResamplingScheme = Subbagging(0.5),  # noqa: B008 (frozen)
        n_bags: Any = 500,
        n_jobs: int | None = None,
        warm_start: bool = False,
        random_state: RandomState = None,
    ) -> None:
        self.estimator = estimator
        self.scheme = scheme
        self.n_bags = n_bags
        self.n_jobs = n_jobs
        self.warm_start = warm_start
        self.random_state = random_state

    def predict(self, X: Any) -> np.ndarray:
        """Return the class with the highest average probability; the first of them in a tie.

        Parameters
        ----------
        X : array-like, sparse array or data frame of shape (n_points, n_features)
            The points.

        Returns
        -------
        ndarray of shape (n_points,)
        """
        best = self.predict_proba(X).argmax(axis=1)
        labels: np.ndarray = self.classes_[best]
        return labels

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the average over bags of the class probabilities, or of the votes.

        Parameters
        ----------
        X : array-like, sparse array or data frame of shape (n_points, n_features)
            The points.

        Returns
        -------
        ndarray of shape (n_points, n_classes)
        """
        return self._average(self._validated_points(X))

    def _default_learner(self) -> Any:
        return DecisionTreeClassifier()

    def _check_targets(self, y: np.ndarray) -> np.ndarray:
        assert_all_finite(y, input_name="y", estimator_name=type(self).__name__)
        check_classification_targets(y)
        if len(classes := np.unique(y)) == 1:
            raise ValueError(
                f"This {type(self).__name__} needs samples of at least 2 classes in the data, but the data contains "
                f"only one class: {classes[0]!r}."
            )
        return y

    def _learn_targets(self, y: np.ndarray) -> None:
        self.classes_ = np.unique(y)

    def _classes(self) -> np.ndarray:
        return self.classes_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        theirs = self._learner_tags()
        if theirs is not None and theirs.classifier_tags is not None:
            tags.classifier_tags.multi_class = theirs.classifier_tags.multi_class
        return tags


class _FunctionLearner(BaseEstimator):
    """What both kinds of function learners share: a call of the algorithm, and its predict function kept."""

    def __init__(self, algorithm: Callable[..., Any], *, order_matters: bool = False, random_state: Any = None) -> None:
        self.algorithm = algorithm
        self.order_matters = order_matters
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Run the algorithm on these rows.

        Parameters
        ----------
        X : array-like, sparse array or data frame of shape (n_rows, n_features)
            The rows, handed to the algorithm as they are.
        y : array-like of shape (n_rows,)
            Their targets.

        Returns
        -------
        self
        """
        if not callable(self.algorithm):
            expected = "a function from (X, y, seed) to a predict function"
            raise refuse_type("algorithm", type(self).__name__, expected, self.algorithm)
        X = _validated_rows(self, X, reset=True, ensure_min_samples=1)
        y = self._check_targets(column_or_1d(y))
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
        return np.asarray(self.predict_(_validated_rows(self, X, reset=False, ensure_min_samples=1)))

    def _check_targets(self, y: np.ndarray) -> np.ndarray:
        return y

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # Nothing is known of the function; what it does not take, it will say.
        tags.input_tags.sparse = tags.input_tags.allow_nan = True
        tags.input_tags.string = tags.input_tags.categorical = True
        tags.target_tags.required = True
        return tags


class FunctionRegressor(RegressorMixin, _FunctionLearner):
    """Any algorithm A(D; seed) as a regressor: a function that is given rows and returns a function that predicts.

    Parameters
    ----------
    algorithm : callable
        ``algorithm(X, y, seed)`` returns a function from points to predictions. X is as it came, y an array, and the
        seed an integer.
    order_matters : bool, default=False
        Whether the algorithm depends on the order of the rows. Derandomized bagging (``n_bags="all"``) then lists bags
        in every order.
    random_state : None, int, RandomState or Generator, default=None
        Where the seed comes from; an integer is the seed itself.

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
        """Return what the predict function gives.

        Parameters
        ----------
        X : array-like, sparse array or data frame of shape (n_points, n_features)
            The points.

        Returns
        -------
        ndarray of shape (n_points,)
        """
        return self._call(X).astype(float)


class FunctionClassifier(ClassifierMixin, _FunctionLearner):
    """Any algorithm A(D; seed) as a classifier: a function that is given rows and returns a function that predicts.

    Parameters
    ----------
    algorithm : callable
        ``algorithm(X, y, seed)`` returns a function from points to labels, or to an array of probabilities with one
        column per label in ``np.unique(y)``. X is as it came, y an array, and the seed an integer.
    order_matters : bool, default=False
        Whether the algorithm depends on the order of the rows. Derandomized bagging (``n_bags="all"``) then lists bags
        in every order.
    random_state : None, int, RandomState or Generator, default=None
        Where the seed comes from; an integer is the seed itself.

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
            The points.

        Returns
        -------
        ndarray of shape (n_points,)
        """
        best = self.predict_proba(X).argmax(axis=1)
        labels: np.ndarray = self.classes_[best]
        return labels

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probabilities that the predict function gives, or one-hot votes where it gives labels.

        Parameters
        ----------
        X : array-like, sparse array or data frame of shape (n_points, n_features)
            The points.

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


def _same_table(X: Any, other: Any) -> bool:
    """Whether two tables, of the same kind or not, have the same entries; NaN is itself."""
    if type(X) is not type(other) or X.shape != other.shape:
        return False
    if hasattr(X, "equals"):
        return bool(X.equals(other))
    if hasattr(X, "tocsr"):
        names = ("data", "indices", "indptr")
        return all(_same_table(getattr(X, name), getattr(other, name)) for name in names)
    return bool(np.array_equal(X, other, equal_nan=X.dtype.kind == "f"))


def _fingerprint(value: Any) -> Any:
    """Something that is equal for equal values, and does not change with them; of what cannot be told, itself."""
    if hasattr(value, "fit"):
        return type(value)  # its parameters are told apart by themselves
    if isinstance(value, np.random.Generator | np.random.RandomState):
        return value  # which goes on being the same while it is drawn from
    try:
        return joblib.hash(value)
    except Exception:
        return value


def _takes_weights(learner: Any) -> bool:
    """Whether the learner's fit has sample_weight, or passes on what it is given; a pipeline wants a step's name."""
    passes_on = any(p.kind is p.VAR_KEYWORD for p in inspect.signature(learner.fit).parameters.values())
    return has_fit_parameter(learner, "sample_weight") or (passes_on and not hasattr(learner, "steps"))


def _many(number: int | float) -> str:
    if number == math.inf:
        return "infinitely many"
    return f"{number:,}" if number < 10**15 else f"about 10^{math.log10(number):.0f}"


def _validated_rows(estimator: Any, X: Any, *, reset: bool, ensure_min_samples: int) -> Any:
    """Check X as far as can be done without the learner: a frame stays a frame; sparse and NaN are its business."""
    if hasattr(X, "columns") and hasattr(X, "shape"):
        X = validate_data(estimator, X, reset=reset, skip_check_array=True)
        if X.shape[0] < ensure_min_samples:
            raise ValueError(
                f"Found array with {X.shape[0]} sample(s) (shape={X.shape}) while a minimum of {ensure_min_samples} is "
                f"required by {type(estimator).__name__}."
            )
        return X
    return validate_data(
        estimator,
        X,
        reset=reset,
        dtype=None,
        ensure_all_finite=False,
        accept_sparse="csr",
        ensure_min_samples=ensure_min_samples,
    )
