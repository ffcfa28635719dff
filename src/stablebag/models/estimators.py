"""BaggedRegressor and BaggedClassifier."""

import warnings
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils import assert_all_finite
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from stablebag._checks import as_reals, read_only, refuse_value
from stablebag._seeds import RandomState
from stablebag.models.ensemble import BaggedEnsemble
from stablebag.models.fitted import fitted, take_oob_score
from stablebag.models.ranges import ObservedRange, OutputRanges, as_prediction_range
from stablebag.models.rows import Output, are_several, columns, names_of, one_column, output_of, y_width
from stablebag.models.solving import PREDICT, PredictRequest
from stablebag.resampling.schemes import Scheme, Subbagging

# ------------------------------------------------------------------------------------------------------------ regressor
# Bagged regression: generic, derandomized and adaptively clipped, around any learner.


class BaggedRegressor(RegressorMixin, BaggedEnsemble):
    """Average a regressor over random bags of rows, so that no single row can move the prediction much.

    Each bag's prediction is clipped to `prediction_range` before it is averaged (Algorithm 3 of the paper). With
    ``prediction_range=None`` it is not clipped (Algorithm 1); with ``n_bags="all"`` the average is over all possible
    bags (Algorithm 2). It is like `sklearn.ensemble.BaggingRegressor`, except that rows outside a bag never reach the
    learner. It fits `n_bags` clones; `certify(model)` states what is then guaranteed.

    With several targets for each row, the learner predicts them all, and so does the average; `output` gives the model
    of one of them.

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
    prediction_range : PredictionRange, callable, list of these or None, default=ObservedRange()
        The rule that turns the targets into the interval to which predictions are clipped. None does not clip them;
        certificates are then about the range of the learner's outputs, which is known only afterwards. With several
        outputs, it makes an interval of the targets of each; a list has a rule for each of them.
    n_jobs : int or None, default=None
        The number of bags to fit in parallel; the result is the same to the last bit.
    warm_start : bool, default=False
        Whether a second `fit` to the same data with a larger `n_bags` keeps the fitted bags and fits only new ones.
    keep_rows : bool, default=True
        Whether the model keeps a copy of the training rows. Errors, intervals and `forget` need them. Models of nearest
        neighbours are made of their rows and keep them in any case.
    solver : {"auto", "scikit-learn"}, default="auto"
        What fits the bags. "auto" uses a faster program for learners whose structure is known, if it gives the same
        models to the last bit, and the learner itself for all others; "scikit-learn" always uses the learner itself.
    max_features : int or float, default=1.0
        How many columns each bag's learner sees, or which share of them: random subspaces. They are drawn from the
        learner's seed, never from the rows, so the learner is a randomized one and every guarantee holds as it is. The
        models in `estimators_` take these columns alone, in the order of the table; `estimators_features_` has them.
    oob_score : bool or callable, default=False
        Whether to score the predictions at the training rows, each by the bags without it, in `oob_score_`: True is
        R^2, and a metric is called with (y, predictions). A row that is in every bag is refused before
        anything is fitted.
    random_state : None, int, RandomState or Generator, default=None
        The source of randomness for the bags and the learners' seeds. Bag b depends only on it, on b and on the names
        of the rows.

    Attributes
    ----------
    estimator_ : estimator
        The learner that was fitted to each bag, unfitted.
    estimators_ : sequence of estimators
        The fitted model of each bag; a constant for a bag without rows.
    n_estimators : int
        The number of bags.
    bags_ : Bags
        The rows of each bag.
    solver_ : SolverChoice
        What fitted the bags, and why it was not another.
    estimators_samples_ : list of ndarray
        The positions of the rows of each bag.
    estimators_features_ : list of ndarray
        The columns that each bag's learner saw.
    oob_score_ : float
        The score of the predictions below, with `oob_score` only.
    oob_prediction_ : ndarray of shape (n_samples,)
        The prediction at each training row by the bags without it, with `oob_score` only.
    scheme_ : ResolvedScheme
        The law from which the bags were drawn.
    derandomized_ : bool
        Whether the bags are all possible ones, instead of drawn ones.
    prediction_range_ : PredictionRange, OutputRanges or None
        The rule for the interval to which predictions are clipped.
    range_ : tuple of two floats, or None
        That interval; with several outputs, a tuple of one for each.
    output_names_ : ndarray of shape (n_outputs,)
        What the outputs are called: the columns of y, or their numbers. There only with several outputs.
    output_ : Output
        Which output of several this is, in what `output` returns.
    units_ : Units
        What bags are drawn of, with their names: the training rows, or the units that `groups` named.
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

    prediction_range_: Any
    range_: Any
    output_names_: np.ndarray
    output_: Output
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
            Passed to the learner's `predict`, where scikit-learn's metadata routing is on and it is requested.

        Returns
        -------
        ndarray of shape (n_points,) or (n_points, n_outputs)
        """
        average = self._predicted(X, "predict", params)
        if not np.isfinite(average).all():
            point = int(np.argwhere(~np.isfinite(average))[0][0])
            raise ValueError(f"The prediction at point {point} is infinite. Clip predictions with a prediction_range.")
        return average

    def output(self, name: Any) -> "BaggedRegressor":
        """Return the fitted model of one output of several: the same bags and learners, and their predictions of it.

        Everything that is about one number takes it: `certify`, `leave_one_out`, `predict_interval`,
        `leave_one_out_error`, `suspects`. It costs nothing, and has no copy of what is fitted. `oob_prediction_` is of
        this output, and `oob_score_` its R^2; with a metric of your own, which may be one of all outputs, it is gone.

        Parameters
        ----------
        name : object
            The name of the output, one of `output_names_`; if these are no numbers, its number does as well.

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
            raise ValueError("This model has one output, and is the model of it. Leave output(...) out.")
        output = output_of(name, self.output_names_, "output")
        view: BaggedRegressor = fitted(self).cached(f"output {output.number}", lambda: self._view(output))
        return view

    def _view(self, output: Output) -> "BaggedRegressor":
        """A model of one output that shares everything else with this one; fitted again it begins anew."""
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
        for each in rule if isinstance(rule, list | tuple) else [rule]:
            if each is not None:
                as_prediction_range(each, type(self).__name__)

    def _read_targets(self, y: Any) -> np.ndarray:
        several, owner = are_several(y), type(self).__name__
        known = getattr(self, "output_names_", None)  # in a warm start, or of the model that this one is made from
        if hasattr(self, "bags_") and (hasattr(self, "output_") or (known is None) == several):
            raise ValueError(
                "warm_start=True adds bags of the same data, but there are other outputs than in the first fit. Fit a "
                "clone, or set warm_start=False."
            )
        if not several:
            return one_column(y, owner, "")
        given = names_of(y, owner)
        if known is None:
            self.output_names_ = np.arange(y_width(y)) if given is None else given
        elif y_width(y) != len(known) or (given is not None and given.tolist() != known.tolist()):
            reason = "the outputs are others than before. Use the same columns, or fit a clone."
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
            raise ValueError(f"Unknown label type: the targets of a regressor must be numbers. Got type {y.dtype}.")
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
            rule(np.delete(y, largest, axis=0))  # it must also be defined without a unit; better to fail now
        return rule, None

    def __sklearn_tags__(self) -> Any:
        tags, theirs = super().__sklearn_tags__(), self._learner_tags()
        if theirs is not None:
            tags.target_tags.multi_output = theirs.target_tags.multi_output
        return tags


# ----------------------------------------------------------------------------------------------------------- classifier
# Bagged classification: averaged probabilities, or votes, around any learner.


def _has_decisions(model: Any) -> bool:
    return bool(model._learner_has("decision_function"))


class BaggedClassifier(ClassifierMixin, BaggedEnsemble):
    """Average a classifier's probabilities over random bags of rows, so that no single row can move them much.

    If the learner has no `predict_proba`, its labels are counted as votes. Classes that a bag has not seen get
    probability zero. The learner is not used for a bag with a single class, which gets probability one, nor for a bag
    without rows, where all classes get the same probability. It is like `sklearn.ensemble.BaggingClassifier`, except
    that rows outside a bag never reach the learner.

    Parameters
    ----------
    estimator : estimator, default=None
        The learner: any scikit-learn classifier or pipeline, or `FunctionClassifier` around a function. None is a
        decision tree. `random_state` parameters of the learner that are None are filled, differently in each bag.
    scheme : ResamplingScheme or {"subbagging", "bernoulli", "classical", "poissonized"}, default=Subbagging(0.5)
        How bags are drawn.
    n_bags : int, RandomBags or "all", default=500
        The number of bags to draw. "all" fits every possible bag and weights it by its probability; the learner then
        has the same seed in every bag, which makes it the deterministic learner that the certificate is about.
    n_jobs : int or None, default=None
        The number of bags to fit in parallel; the result is the same to the last bit.
    warm_start : bool, default=False
        Whether a second `fit` to the same data with a larger `n_bags` keeps the fitted bags and fits only new ones.
    keep_rows : bool, default=True
        Whether the model keeps a copy of the training rows. Errors, intervals and `forget` need them. Models of nearest
        neighbours are made of their rows and keep them in any case.
    solver : {"auto", "scikit-learn"}, default="auto"
        What fits the bags. "auto" uses a faster program for learners whose structure is known, if it gives the same
        models to the last bit, and the learner itself for all others; "scikit-learn" always uses the learner itself.
    max_features : int or float, default=1.0
        How many columns each bag's learner sees, or which share of them: random subspaces. They are drawn from the
        learner's seed, never from the rows, so the learner is a randomized one and every guarantee holds as it is. The
        models in `estimators_` take these columns alone, in the order of the table; `estimators_features_` has them.
    oob_score : bool or callable, default=False
        Whether to score the predictions at the training rows, each by the bags without it, in `oob_score_`: True is
        accuracy, and a metric is called with (y, predicted labels). A row that is in every bag is refused before
        anything is fitted.
    random_state : None, int, RandomState or Generator, default=None
        The source of randomness for the bags and the learners' seeds. Bag b depends only on it, on b and on the names
        of the rows.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, in order.
    n_classes_ : int
        The number of labels.
    estimator_ : estimator
        The learner that was fitted to each bag, unfitted.
    estimators_ : sequence of estimators
        The fitted model of each bag; a constant for a bag without rows or with a single class.
    n_estimators : int
        The number of bags.
    bags_ : Bags
        The rows of each bag.
    solver_ : SolverChoice
        What fitted the bags, and why it was not another.
    estimators_samples_ : list of ndarray
        The positions of the rows of each bag.
    estimators_features_ : list of ndarray
        The columns that each bag's learner saw.
    oob_score_ : float
        The score of the predictions below, with `oob_score` only.
    oob_decision_function_ : ndarray of shape (n_samples, n_classes)
        The probabilities at each training row by the bags without it, with `oob_score` only.
    scheme_ : ResolvedScheme
        The law from which the bags were drawn.
    derandomized_ : bool
        Whether the bags are all possible ones, instead of drawn ones.
    units_ : Units
        What bags are drawn of, with their names: the training rows, or the units that `groups` named.
    n_features_in_ : int
        The number of features.
    feature_names_in_ : ndarray of str
        Their names, if X has any.

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
            Passed to the learner's `predict_proba`, or to `predict` if it has none, where scikit-learn's metadata
            routing is on and it is requested.

        Returns
        -------
        ndarray of shape (n_points,)
        """
        best = self._predicted(X, "predict", params).argmax(axis=1)
        labels: np.ndarray = self.classes_[best]
        return labels

    def predict_proba(self, X: Any, **params: Any) -> np.ndarray:
        """Return the average over bags of the class probabilities, or of the votes.

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
        """Return the logarithms of the averaged probabilities; that of zero is minus infinity.

        What is proved is about the probabilities. Their logarithms have no range, and one row may move them far.

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
        """Return the average over bags of the learner's decision functions, for a learner that has one.

        A class that a bag has not seen gets the lowest score of those that it has seen, at each point; a bag with a
        single class, or without rows, counts as zero. Decision functions have no range, so **nothing is proved of
        their average**: certificates and leave-one-out measurements are about the probabilities, and `predict` takes
        the class with the highest probability, which need not have the highest score.

        Parameters
        ----------
        X : array-like, sparse array or data frame of shape (n_points, n_features)
            The points at which to predict.
        **params : dict
            Passed to the learner's `decision_function`, where scikit-learn's metadata routing is on and it is
            requested.

        Returns
        -------
        ndarray of shape (n_points,) or (n_points, n_classes)
            For two classes, the score of the second.
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
                f"This {type(self).__name__} needs samples of at least 2 classes in the data, but the data contains "
                f"only one class: {classes.tolist()[0]!r}."
            )
        return y

    def _learn_targets(self, y: np.ndarray) -> tuple[None, np.ndarray]:
        self.classes_ = np.unique(y)
        lost = sum(map(len, self.units_.classes_lost(y).values()))
        if not self.units_.are_rows and lost == len(self.classes_):
            one, many = self.units_.noun.singular, self.units_.noun.plural
            warnings.warn(
                f"Every class belongs to a single {one}, so nothing is learned about the class of {many} that are left "
                f"out, or new. Leave groups out, or predict something that several {many} share.",
                stacklevel=6,
            )
        return None, self.classes_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        theirs = self._learner_tags()
        if theirs is not None and theirs.classifier_tags is not None:
            tags.classifier_tags.multi_class = theirs.classifier_tags.multi_class
        return tags
