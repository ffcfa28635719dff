"""The base of both estimators: check parameters and data, fit the bags, predict."""

import copy
import inspect
import math
import types
import warnings
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass, replace
from functools import partial
from typing import Any, Self

import joblib
import numpy as np
from sklearn import get_config
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone, is_classifier
from sklearn.compose import TransformedTargetRegressor
from sklearn.exceptions import InconsistentVersionWarning
from sklearn.pipeline import Pipeline
from sklearn.utils import assert_all_finite, check_consistent_length, get_tags
from sklearn.utils.metadata_routing import UNUSED, MetadataRouter, MethodMapping, process_routing
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from stablebag import __version__
from stablebag._checks import (
    as_reals,
    check_flag,
    check_integer,
    check_jobs,
    is_missing,
    read_only,
    refuse_type,
    refuse_value,
)
from stablebag._seeds import RandomState, Seeds
from stablebag._wording import ROWS
from stablebag.models.average import BagAverage
from stablebag.models.fitted import OUT_OF_BAG, BagPredictions, check_oob_score, fitted, set_oob_score
from stablebag.models.fitting import Models, fit_bags, predict_bags, ready
from stablebag.models.learners import Subspaces, check_max_features, has_callbacks, may_predict, refuse_endless
from stablebag.models.parallel import counted, unlogged
from stablebag.models.ranges import PredictionRange
from stablebag.models.rows import (
    RowSource,
    are_several,
    fingerprint,
    in_memory,
    index_of,
    n_rows,
    one_column,
    own_copy,
    same_table,
    unwrap_tables,
    validated_rows,
    wrap_tables,
    y_width,
)
from stablebag.models.solving import (
    CONSTANT,
    PREDICT,
    FitJob,
    PredictRequest,
    SolverChoice,
    Structure,
    check_solver,
    choice_of,
)
from stablebag.resampling.bags import Bags
from stablebag.resampling.law import ResamplingScheme, ResolvedScheme
from stablebag.resampling.schemes import SCHEMES, RandomBags, Scheme, as_law, as_scheme
from stablebag.resampling.unequal import Partition, lacks_strata, refuse_strata, with_labels
from stablebag.resampling.units import Units, as_row_ids

# -------------------------------------------------------------------------------------------------------------- routing
# Metadata for the learner: what its `fit` and its predict methods are passed in addition to rows and points.

_PREDICT_METHODS = ("predict", "predict_proba", "predict_log_proba", "decision_function")


class Routing:
    """Passes metadata on to the learner, through scikit-learn's metadata routing if it is enabled."""

    estimator: Any
    _estimator_type_wanted: str
    _default_learner: Callable[[], Any]
    _learner: Callable[[], Any]

    def _routed(
        self, learner: Any, n_samples: int, sample_weight: Any, fit_params: dict[str, Any], groups: Any = None
    ) -> dict[str, Any]:
        """The parameters for the learner's fit. With metadata routing, the learner may also request groups."""
        if sample_weight is not None:
            sample_weight = as_reals(sample_weight, "sample_weight", f"{type(self).__name__}.fit")
            if sample_weight.ndim == 0:
                sample_weight = np.full(n_samples, sample_weight)
            if sample_weight.ndim != 1:
                raise ValueError(
                    "Sample weights must be 1D array or scalar, one weight per row. Got an array of shape "
                    f"{sample_weight.shape}."
                )
            check_consistent_length(sample_weight, np.empty(n_samples))
            assert_all_finite(sample_weight, input_name="sample_weight")
            fit_params = {"sample_weight": sample_weight, **fit_params}
        routing = get_config()["enable_metadata_routing"]
        if routing and groups is not None:
            fit_params = {"groups": groups, **fit_params}
        if not fit_params:
            return {}
        if routing:
            routed: dict[str, Any] = dict(process_routing(self, "fit", **fit_params)["estimator"]["fit"])
            return routed
        if sample_weight is not None and not _takes_weights(learner):
            raise ValueError(
                f"{type(learner).__name__} does not accept sample_weight. Remove it, or in a pipeline, name the step "
                "that gets it: fit(X, y, step__sample_weight=...)."
            )
        return fit_params

    def _routed_to_predict(self, caller: str, params: dict[str, Any]) -> dict[str, Any]:
        """The parameters for the learner's method that predicts, by metadata routing."""
        if not params:
            return {}
        if not get_config()["enable_metadata_routing"]:
            raise TypeError(
                f"{type(self).__name__}.{caller} got an unexpected argument, {', '.join(params)}. Remove it, or pass "
                "it to the learner through scikit-learn's metadata routing: "
                "sklearn.set_config(enable_metadata_routing=True)."
            )
        routed = process_routing(self, caller, **params)["estimator"]
        return dict(routed[self._learner_method(caller)])

    def _learner_method(self, caller: str) -> str:
        """The learner's method that a method of the ensemble calls."""
        if caller == "decision_function" or self._estimator_type_wanted != "classifier":
            return caller
        return "predict_proba" if self._learner_has("predict_proba") else "predict"

    def _learner_has(self, method: str) -> bool:
        """Whether the learner has a method; a fitted ensemble looks at the first fitted model."""
        models = getattr(self, "estimators_", Models([], np.empty(0)))
        first = (models[place] for place, model in enumerate(models.stored) if not isinstance(model, CONSTANT))
        return hasattr(next(first, self._default_learner() if self.estimator is None else self.estimator), method)

    def get_metadata_routing(self) -> MetadataRouter:
        """Return the metadata routing: all metadata go to the learner's method of the same purpose."""
        mapping = MethodMapping().add(caller="fit", callee="fit")
        for caller in _PREDICT_METHODS:
            if hasattr(type(self), caller):
                mapping.add(caller=caller, callee=self._learner_method(caller))
        return MetadataRouter(owner=self).add_self_request(self).add(estimator=self._learner(), method_mapping=mapping)


def _takes_weights(learner: Any) -> bool:
    """Whether the learner's fit accepts sample_weight, or any keyword; in a pipeline, the step must be named."""
    passes_on = any(p.kind is p.VAR_KEYWORD for p in inspect.signature(learner.fit).parameters.values())
    return has_fit_parameter(learner, "sample_weight") or (passes_on and not hasattr(learner, "steps"))


# ------------------------------------------------------------------------------------------------------------- sequence
# A fitted ensemble is a sequence of its bags' models, and knows the rows and columns of each.


class ModelSequence:
    """Makes an ensemble a sequence of its fitted models, in bag order."""

    n_bags: Any
    estimators_: Models
    bags_: Bags
    units_: Units
    n_features_in_: int

    def __len__(self) -> int:
        """Return the number of fitted models, one per bag."""
        check_is_fitted(self)
        return len(self.estimators_)

    def __bool__(self) -> bool:
        """Return True, also before `fit`, when there is no length yet."""
        return True

    def __getitem__(self, place: Any) -> Any:
        """Return the fitted model of a bag; a slice returns a list."""
        check_is_fitted(self)
        return self.estimators_[place]

    def __iter__(self) -> Iterator[Any]:
        check_is_fitted(self)
        return iter(self.estimators_)

    @property
    def n_estimators(self) -> int:
        """The number of bags, under scikit-learn's name; before `fit`, the value of `n_bags`."""
        if hasattr(self, "estimators_"):
            return len(self.estimators_)
        if isinstance(self.n_bags, str):
            raise AttributeError(f"With n_bags={self.n_bags!r}, the number of bags is known only after fit.")
        return int(self.n_bags)

    @property
    def estimators_samples_(self) -> list[np.ndarray]:
        """The positions of the rows in each bag, in the order and with the repeats that its model was fitted to."""
        check_is_fitted(self)
        return list(self.units_.rows_of_bags(self.bags_))

    @property
    def estimators_features_(self) -> list[np.ndarray]:
        """The columns that each bag's model was fitted to."""
        check_is_fitted(self)
        drawn = self.estimators_.subspaces
        if drawn is None:
            return [np.arange(self.n_features_in_) for _ in range(len(self.estimators_))]
        return [drawn.of(int(seed)) for seed in self.estimators_.seeds]


# --------------------------------------------------------------------------------------------------------- frozen parts
# Parameters of the scheme and the prediction range, such as ``scheme__bag_size``. These objects are frozen, so setting
# a parameter replaces the object.


class FrozenParts(BaseEstimator):
    """An estimator with nested parameters of its frozen scheme and prediction range, as grid searches expect them."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters of this estimator.

        Parameters
        ----------
        deep : bool, default=True
            Whether to include the parameters of the learner, the scheme and the prediction range.

        Returns
        -------
        dict
        """
        params: dict[str, Any] = super().get_params(deep=deep)
        for name, part in self._frozen_parts().items() if deep else ():
            params |= {f"{name}__{field}": getattr(part, field) for field in _fields(part)}
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters of this estimator, or nested ones, for example ``scheme__bag_size=0.3``.

        Parameters
        ----------
        **params : dict
            The parameters, by name.

        Returns
        -------
        self
        """
        nested: dict[str, dict[str, Any]] = {}
        for name in list(params):
            part, separator, field = name.partition("__")
            if separator and part in ("scheme", "prediction_range"):
                nested.setdefault(part, {})[field] = params.pop(name)
        super().set_params(**params)
        for name, changes in nested.items():
            before = self._frozen_parts().get(name)
            known = [] if before is None else _fields(before)
            for field in changes:
                if field not in known:
                    held = f"{type(self).__name__} has {name}={getattr(self, name, None)!r}"
                    what = f"with the parameters {', '.join(known)}" if known else "which has no parameters"
                    raise ValueError(f"There is no parameter {name}__{field}. This {held}, {what}.")
            super().set_params(**{name: replace(before, **changes)})  # type: ignore[type-var]
        return self

    def _frozen_parts(self) -> dict[str, Any]:
        """The parts whose parameters can be set; the name of a scheme stands for that scheme."""
        parts = {name: getattr(self, name, None) for name in ("scheme", "prediction_range")}
        if isinstance(parts["scheme"], str) and parts["scheme"] in SCHEMES:
            parts["scheme"] = SCHEMES[parts["scheme"]]()  # type: ignore[call-arg]
        kinds = ResamplingScheme | PredictionRange
        return {name: part for name, part in parts.items() if isinstance(part, kinds) and is_dataclass(part)}


def _fields(part: Any) -> list[str]:
    return [field.name for field in fields(part) if field.init]


# ------------------------------------------------------------------------------------------------------------- versions
# A saved model contains the version of stablebag that made it. Loading it with another version warns.

_NAME = "_stablebag_version"


class OtherVersionWarning(InconsistentVersionWarning):
    """Warning that a saved model was made by another version of stablebag; a kind of `InconsistentVersionWarning`.

    Parameters
    ----------
    name : str
        The class of the model.
    made_by : str or None
        The version that made it; None for the first versions, which did not record it.
    """

    def __init__(self, *, name: str, made_by: str | None) -> None:
        self.name, self.made_by = name, made_by

    def __str__(self) -> str:
        before = f"stablebag {self.made_by}" if self.made_by else "an early stablebag that did not record its version"
        return (
            f"This {self.name} was saved by {before}, and you are using stablebag {__version__}. Its predictions may "
            "differ, and new functions may fail. Refit the model, or load it with the version that saved it."
        )


def stamped(state: dict[str, Any]) -> dict[str, Any]:
    """Return the state of a model with the current version added.

    >>> list(stamped({}))
    ['_stablebag_version']
    """
    return {**state, _NAME: __version__}


def unstamped(state: dict[str, Any], name: str) -> dict[str, Any]:
    """Return the state without the version; warn if it differs from the current one."""
    made_by = state.get(_NAME)
    if made_by != __version__:
        warnings.warn(OtherVersionWarning(name=name, made_by=made_by), stacklevel=4)
    return {key: value for key, value in state.items() if key != _NAME}


# --------------------------------------------------------------------------------------------------------------- strata
# The law of the bags if it depends on the stratum of each row.


def law_of_rows(scheme: Any, y: np.ndarray, strata: Any, units: Units, owner: str, *, by_class: bool) -> ResolvedScheme:
    """Return the law of a scheme for these rows. A scheme without strata gets those given to fit, or the classes.

    Parameters
    ----------
    scheme : ResamplingScheme, ResolvedScheme or the name of a scheme
        How bags are drawn.
    y : ndarray of shape (n_samples,)
        The targets.
    strata : array-like of shape (n_samples,) or None
        The argument of `fit`.
    units : Units
        The groups that bags are drawn from. The strata are then sets of groups.
    owner : str
        The name of the estimator, for error messages.
    by_class : bool
        Whether the targets are classes, which are the default strata.

    Returns
    -------
    ResolvedScheme
    """
    lacks_them = lacks_strata(scheme)
    if strata is not None and not lacks_them:
        refuse_strata(scheme.scheme if isinstance(scheme, ResolvedScheme) else scheme, strata, f"{owner}.fit")
    if lacks_them and strata is None and not by_class:
        raise ValueError(
            f"{owner} needs the stratum of each row to draw stratified bags, because regression has no classes. Use "
            "fit(X, y, strata=...)."
        )
    labels = y if strata is None else Partition.of(strata, len(y), "strata", f"{owner}.fit").values
    scheme = with_labels(scheme, labels, units)
    try:
        return as_law(scheme, len(units), owner)
    except ValueError as error:
        if units.noun == ROWS:
            raise
        drawn_from = units.noun.count(len(units))
        raise ValueError(f"Bags are drawn from {drawn_from}, so n_samples is their number. {error}") from error


def with_strata(estimator: Any, y: np.ndarray, units: Units) -> Any:
    """Return an estimator that keeps its strata when it is fitted to fewer rows."""
    scheme = getattr(estimator, "scheme", None)
    if not lacks_strata(scheme):  # also of what is not bagged
        return estimator
    average = getattr(estimator, "_average", None)
    if average is not None and np.array_equal(average.y, y):  # a fitted model knows its strata
        return clone(estimator).set_params(scheme=estimator.scheme_.scheme)
    if not is_classifier(estimator):
        raise ValueError(
            f"{type(estimator).__name__} must know the stratum of each row before it is refitted. Pass them to the "
            "scheme: StratifiedSubbagging(bag_size, strata=...)."
        )
    return clone(estimator).set_params(scheme=with_labels(scheme, y, units))


def refuse_unequal(scheme: Any, owner: str, instead: str) -> None:
    """Reject a scheme that does not treat all rows alike; `instead` says what to use."""
    scheme = scheme.scheme if isinstance(scheme, ResolvedScheme) else scheme
    if isinstance(scheme, ResamplingScheme) and not scheme.is_symmetric:
        reason = f"without a row, how bags are drawn depends on which row it was. {instead}"
        raise refuse_value("scheme", owner, "one that treats all rows alike", scheme, reason)


def law_with_more(
    law: ResolvedScheme, units: Units, y_before: np.ndarray, y: np.ndarray, strata: Any
) -> ResolvedScheme | None:
    """Return the law with more rows and as many of each stratum in a bag; None if it is not stratified."""
    before = law.strata
    if before is None:
        if strata is not None:
            refuse_strata(law.scheme, strata, "learn")
        return None
    if not units.are_rows:
        return None  # `_with` raises an error then
    if strata is None:
        if not all(a == b for a, b in zip(before.tolist(), np.asarray(y_before).tolist(), strict=True)):
            reason = "the strata of the earlier rows are not their targets. Pass strata=..."
            raise refuse_value("strata", "learn", "a label for each of the new rows", None, reason)
        strata = y
    elif len(strata) != len(y):
        raise ValueError(f"strata must have one label for each of the {len(y):,} new rows, got {len(strata):,}.")
    longer: ResamplingScheme = law.scheme.with_more(law.n_samples, strata)  # type: ignore[attr-defined]
    return longer.resolve(law.n_samples + len(y))


# ------------------------------------------------------------------------------------------------------------- ensemble
# What both estimators share: drawing bags, fitting and storing one model per bag, averaging.

try:  # scikit-learn 1.9 and later
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stands in for scikit-learn's mixin in versions without callbacks."""

    def with_callbacks(method: Callable[..., Any]) -> Callable[..., Any]:
        """Return the method unchanged."""
        return method


_MOST_BAGS = 100_000  # that n_bags="all" lists
WARM_START = (
    "With warm_start=True, fit only adds bags, but {} changed since the first fit. Fit a clone, or set "
    "warm_start=False."
)


class BaggedEnsemble(CallbackSupportMixin, MetaEstimatorMixin, Routing, ModelSequence, FrozenParts):
    """The base class of `BaggedRegressor` and `BaggedClassifier`."""

    estimator: Any
    scheme: Scheme
    n_bags: Any
    n_jobs: int | None
    warm_start: bool
    keep_rows: bool = True
    solver: str = "auto"
    max_features: Any = 1.0
    oob_score: Any = False
    random_state: RandomState

    estimator_: Any
    solver_: SolverChoice
    _average: BagAverage
    scheme_: ResolvedScheme
    derandomized_: bool
    _has_random_n_bags: bool
    _X: Any
    _estimator_type_wanted: str

    # Weights go to the learner, if it requests them; row IDs and groups are for the ensemble.
    __metadata_request__fit = {"sample_weight": UNUSED, "groups": True}  # noqa: RUF012

    @with_callbacks
    @unlogged()
    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        row_ids: Any = None,
        groups: Any = None,
        strata: Any = None,
        **fit_params: Any,
    ) -> Self:
        """Draw the bags and fit a clone of the learner to each.

        Parameters
        ----------
        X : array-like, sparse array or data frame of shape (n_samples, n_features), or RowSource
            The training rows. The learner gets a data frame as a data frame, and NaN if it accepts them. A `RowSource`,
            for example a `ParquetTable`, has rows that are not in memory; they are read a few bags at a time.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None
            The targets. Several columns are for regressors only. None with a `RowSource`, which has its own targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Passed to the learner: each bag gets the weights of its rows. They do not affect how bags are drawn.
        row_ids : None, "index", or sequence of int or labels, default=None
            A unique ID for each row: integers or labels. "index" uses the index of a data frame; None uses the
            positions 0, 1, ... The bags of a row depend on its ID and on `random_state`, not on its position: if
            another row is removed, this row's bags stay the same.
        groups : sequence of int or labels, of length n_samples, default=None
            The group that each row belongs to, for example a patient with several visits. Bags are then drawn from the
            groups: `scheme` counts groups, a bag has all rows of its groups, and measurements and guarantees are about
            leaving out a group. None leaves out rows.
        strata : array-like of shape (n_samples,) or None, default=None
            The stratum of each row, for a `StratifiedSubbagging` without strata. None uses the classes of a classifier.
        **fit_params : dict
            Passed to the learner's `fit`; each bag gets its part of arrays with one entry per training row.

        Returns
        -------
        self
        """
        sampling = {"row_ids": row_ids, "groups": groups, "strata": strata}
        job = self._prepare(X, y, sample_weight=sample_weight, **sampling, **fit_params)
        before = getattr(self, "estimators_", None)  # only in a warm start
        models = [] if before is None else list(before.stored)
        new = job.part(len(models), len(job))
        choice, structure = SolverChoice(), None
        callbacks = CallbackTasks(self, new, sample_weight)
        with counted(len(new)) as count:
            for part in ready(replace(new, tasks=callbacks.tasks_of_learner)):
                choice, structure = part.choice.without_rows(), structure or part.choice.structure
                for model in fit_bags(part, self.n_jobs):
                    models.append(model)
                    count.one()
                    callbacks.end_bag(partial(self._state_of_part, job, models, choice, structure))
                del part  # before the rows of the next are read
        self._set_fitted(job, models, choice, structure, self if before is not None else None)
        callbacks.end_fit()
        return self

    def _state_of_part(
        self, job: FitJob, models: list[Any], choice: SolverChoice, structure: Structure | None
    ) -> dict[str, Any] | None:
        """The attributes of a model of the bags already fitted, for callbacks; None if bags have different weights."""
        if self.derandomized_:
            return None
        if structure is None and hasattr(self, "estimators_"):  # a warm start, whose models may be arrays
            structure = self.estimators_.structure
        count = len(models)
        weights = read_only(np.full(count, 1 / count))
        average = replace(job.average, bags=job.average.bags[:count], weights=weights)
        models_so_far = Models(models, job.seeds[:count], structure, job.subspaces)
        shared = {"_average": average, "bags_": average.bags, "estimator_": job.learner}
        return {"estimators_": models_so_far, "solver_": choice.of(models_so_far), **shared}

    def _set_fitted(self, job: FitJob, models: list[Any], choice: SolverChoice, structure: Structure | None,
              before: Self | None = None) -> Self:  # fmt: skip
        """Store the fitted models. Some may come from an earlier model, which in a warm start is this one."""
        goes_on = before is self
        # If at most one bag was added, no solver was used; the earlier models may still be arrays.
        if before is not None and structure is None and any(map(before.estimators_.is_array, models)):
            structure, choice = before.estimators_.structure, before.solver_
        self.estimators_, self._average = Models(models, job.seeds, structure, job.subspaces), job.average
        self.solver_ = choice.of(self.estimators_)
        self.bags_, self.estimator_ = job.average.bags, clone(job.learner)
        for name in OUT_OF_BAG:
            self.__dict__.pop(name, None)
        if self.oob_score:
            set_oob_score(self, job.X)
        if goes_on:
            return self
        if self.keep_rows:
            self._X = own_copy(job.X)
            self._fit_params = copy.deepcopy(dict(job.fit_params or {}))
        else:
            self._table = fingerprint(job.X)
        return self

    def _prepare(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        row_ids: Any = None,
        groups: Any = None,
        strata: Any = None,
        **fit_params: Any,
    ) -> FitJob:
        """Check parameters and data and draw all bags; in a warm start, the earlier bags come first.

        The model is not fitted yet, but stores what it learned from the data.
        """
        self._check_parameters()
        learner = self._learner()
        X, y = (in_memory(table, name, type(self).__name__) for table, name in ((X, "X"), (y, "y")))
        _refuse_swapped(X, y, type(self).__name__)
        resumes = self._resumes()
        # Wrong groups or row IDs raise here, before a fitted model is cleared. X that is not a table raises below.
        is_table = hasattr(X, "shape") or hasattr(X, "__len__")
        if isinstance(X, RowSource):
            y, row_ids, groups = X.all_of_fit(y, row_ids, groups, type(self).__name__)
        units = units_of(X, n_rows(X), row_ids, groups, type(self).__name__) if is_table else None
        if not resumes:
            self._forget()
        X, y = self._validated(X, y, reset=not resumes)
        units = units_of(X, len(y), row_ids, groups, type(self).__name__) if units is None else units
        params = self._routed(learner, len(y), sample_weight, fit_params, groups)
        if resumes:
            law = self._law(y, strata, units)
            self._check_resumed(law, X, y, units, params)
            return self._job(learner, X, y, law, params)
        return self._prepared(X, y, units, params, None, strata)

    def _law(self, y: np.ndarray, strata: Any, units: Units) -> ResolvedScheme:
        by_class = self._estimator_type_wanted == "classifier"
        return law_of_rows(self.scheme, y, strata, units, type(self).__name__, by_class=by_class)

    def _prepared(self, X: Any, y: np.ndarray, units: Units, params: dict[str, Any], seeds: Seeds | None,
                  strata: Any = None) -> FitJob:  # fmt: skip
        """The job of a fit from scratch, with new seeds or given ones."""
        if seeds is not None:
            X, y = self._validated(X, y, reset=True)
        law = self._law(y, strata, units)
        self._seeds = Seeds.from_random_state(self.random_state, type(self).__name__) if seeds is None else seeds
        self._settings, self.units_ = self._fit_settings(params), units
        return self._job(self._learner(), X, y, law, params)

    def _job(self, learner: Any, X: Any, y: np.ndarray, law: ResolvedScheme, params: dict[str, Any]) -> FitJob:
        """Draw the bags and the learners' seeds."""
        self.scheme_, self.derandomized_ = law, isinstance(self.n_bags, str)
        self._has_random_n_bags = isinstance(self.n_bags, RandomBags) and self.n_bags.law == law
        rule, classes = self._learn_targets(y)
        subspaces = Subspaces.read(self.max_features, self.n_features_in_, type(self).__name__)
        bags, weights = self._draw(law, learner)
        units = self.units_
        last = classes, units, getattr(self, "output_names_", None)
        average = BagAverage(law, bags, read_only(weights), not self.derandomized_, y, rule, *last)
        if self.oob_score:  # raise now, not after all fits
            average.refuse_units_in_every_bag()
        seeds = self._seeds.learner_seeds(0, len(bags))
        if self.derandomized_:  # one seed makes the learner one fixed function
            seeds = np.repeat(seeds[:1], len(bags))
            if subspaces is not None:
                subspaces.warn_of_one(stacklevel=6)
        rows, empty = units.rows_of_bags(bags), average.empty_value
        job = FitJob(learner, X, y, rows, seeds, classes, params, average, empty, choice=choice_of(self.solver))
        return replace(job, subspaces=subspaces)

    def bag_predictions(self, X: Any) -> np.ndarray:
        """Return the prediction of each bag, clipped to the range if there is one. `predict` returns their average.

        Parameters
        ----------
        X : array-like, sparse array or data frame of shape (n_points, n_features)
            The points at which to predict.

        Returns
        -------
        ndarray of shape (n_bags, n_points) or (n_bags, n_points, n_classes or n_outputs)
        """
        raw = self.predict_once(X).raw
        return self._average.outputs(raw)

    def predict_once(self, X: Any) -> BagPredictions:
        """Predict with every bag's model and keep the predictions for several functions.

        `leave_one_out`, `certify` and `predict_interval` accept the result in place of X. The models then predict only
        once.

        Parameters
        ----------
        X : array-like, sparse array or data frame of shape (n_points, n_features)
            The points at which to predict.

        Returns
        -------
        BagPredictions
            The predictions. They need 8 bytes per bag, point and class or output.
        """
        points = fitted(self).checked_points(X)
        output = getattr(self, "output_", None)
        return BagPredictions(self._raw(points), self.bags_, fingerprint(points), index_of(points), output)

    def _raw(self, points: Any, request: PredictRequest = PREDICT) -> np.ndarray:
        """The predictions of all bags, not yet clipped."""
        return np.concatenate(list(self._predict_blocks(points, request)))

    def _predict_blocks(self, points: Any, request: PredictRequest = PREDICT) -> Iterator[np.ndarray]:
        """The same in blocks of bags."""
        return predict_bags(self.estimators_, points, self._average.classes, self.n_jobs, request=request)

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()
        tables = {name: wrap_tables(state[name]) for name in ("_X", "_fit_params") if name in state}
        return stamped({name: value for name, value in (state | tables).items() if name != "_memory"})

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = unstamped(state, type(self).__name__)
        super().__setstate__(
            state | {name: unwrap_tables(state[name]) for name in ("_X", "_fit_params") if name in state}
        )

    # ------------------------------------------------------------------------------------------ what the two differ in

    def _default_learner(self) -> Any:
        raise TypeError("BaggedEnsemble is an abstract class. Use BaggedRegressor or BaggedClassifier.")

    def _learn_targets(self, y: np.ndarray) -> tuple[Any, np.ndarray | None]:
        """Store the needed parts of the targets; return the prediction range and the classes, or None."""
        return None, None

    def _read_targets(self, y: Any) -> np.ndarray:
        return one_column(y, type(self).__name__, "fit one model per column.")

    def _check_targets(self, y: np.ndarray) -> np.ndarray:
        return y

    # --------------------------------------------------------------------------------------------------------- the fit

    def _predicted(self, X: Any, caller: str, params: dict[str, Any], *, decisions: bool = False) -> np.ndarray:
        """The average over bags, summed bag by bag so that only the sum is in memory."""
        check_is_fitted(self)
        request = PredictRequest(decisions, self._routed_to_predict(caller, params))
        if isinstance(X, RowSource):
            if request.params:
                raise ValueError(
                    f"{caller} cannot pass {', '.join(request.params)} to the learner for rows that are not in memory. "
                    "Read them into memory first."
                )
            blocks = fitted(self).raw_blocks(X, request)
            return np.concatenate([self._average.prediction([raw], clip=not decisions) for _, raw in blocks])
        points = fitted(self).checked_points(X)
        return self._average.prediction(self._predict_blocks(points, request), clip=not decisions)

    def _check_parameters(self) -> None:
        name, reason = type(self).__name__, 'use a whole number such as 500, or "all" for every possible bag.'
        if isinstance(self.n_bags, str):
            if self.n_bags != "all":
                raise refuse_value("n_bags", name, 'an integer >= 1 or "all"', self.n_bags, reason)
        elif isinstance(self.n_bags, RandomBags):
            check_integer(int(self.n_bags), "n_bags", name, minimum=1, reason="draw it again with another seed.")
        else:
            check_integer(self.n_bags, "n_bags", name, minimum=1, reason=reason)
        as_scheme(self.scheme, name)
        check_solver(self.solver, name)
        check_jobs(self.n_jobs, name)
        check_max_features(self.max_features, name)
        check_oob_score(self.oob_score, name)
        check_flag(self.warm_start, "warm_start", name)
        check_flag(self.keep_rows, "keep_rows", name)

    def _learner(self) -> Any:
        learner = self._default_learner() if self.estimator is None else self.estimator
        owner, wanted = type(self).__name__, self._estimator_type_wanted
        refuse_endless(learner, owner)
        usable = hasattr(learner, "fit") and hasattr(learner, "get_params") and not isinstance(learner, type)
        if not usable or not may_predict(learner):
            raise refuse_type("estimator", owner, f"a {wanted}", learner, _instead_of(learner, wanted))
        kind = get_tags(learner).estimator_type if hasattr(learner, "__sklearn_tags__") else None
        if kind not in (wanted, None):
            what = f"it is {'an' if kind[0] in 'aeiou' else 'a'} {kind.replace('_', ' ')}"
            use = f"Use Bagged{kind.capitalize()}, or pass" if kind in ("classifier", "regressor") else "Pass"
            raise refuse_type("estimator", owner, f"a {wanted}", learner, f"{what}. {use} a {wanted}.")
        return learner

    def _validated(self, X: Any, y: Any, *, reset: bool) -> tuple[Any, np.ndarray]:
        X = validated_rows(self, X, reset=reset, ensure_min_samples=2)
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None. Use fit(X, y).")
        y = self._read_targets(y)
        if not isinstance(X, RowSource):
            y = np.array(y)  # a copy, because it is kept and the caller's may change
        if y.dtype.kind == "O" and any(map(is_missing, y.ravel())):
            raise ValueError("Input y contains NaN or missing values. Remove the rows without a target.")
        y = read_only(self._check_targets(y))
        check_consistent_length(X, y)
        return X, y

    def _resumes(self) -> bool:
        """Return whether a warm start keeps the fitted bags."""
        return self.warm_start and hasattr(self, "bags_") and self.n_bags != "all" and not self.derandomized_

    def _check_resumed(self, law: ResolvedScheme, X: Any, y: np.ndarray, units: Units, params: dict[str, Any]) -> None:
        """Reject a warm start that would give another model than a fit from scratch."""
        fitted = len(self.bags_)
        if int(self.n_bags) < fitted:
            reason = f"with warm_start=True, the {fitted} fitted bags are kept. Use more bags, or fit a clone."
            raise refuse_value("n_bags", type(self).__name__, f"at least {fitted}", self.n_bags, reason)
        same = same_table(X, self._X) if hasattr(self, "_X") else fingerprint(X) == self._table
        before = getattr(self, "units_", None)
        if units != before:
            what = "row_ids" if units.are_rows and (before is None or before.are_rows) else "groups"
            raise ValueError(WARM_START.format(what))
        if law != self.scheme_ or not np.array_equal(y, self._average.y) or not same:
            raise ValueError(WARM_START.format("the data or the scheme"))
        if changed := changed_settings(self._fit_settings(params), self._settings):
            raise ValueError(WARM_START.format(", ".join(changed)))
        if int(self.n_bags) == fitted:
            warnings.warn(
                f"No new bags were fitted, because n_bags is still {fitted}. Set a larger n_bags before a warm start.",
                stacklevel=5,
            )

    def _fit_settings(self, fit_params: dict[str, Any]) -> dict[str, Any]:
        """Fingerprints of all settings that change the fitted bags, except for the rows and targets."""
        free = {"n_bags", "n_jobs", "warm_start", "scheme", "oob_score"}
        parts = "scheme__", "prediction_range__"  # the parts themselves are compared
        params = {name: value for name, value in self.get_params(deep=True).items() if not name.startswith(parts)}
        shared = {name: value for name, value in params.items() if name not in free}
        shared |= {f"the fit parameter {name}": value for name, value in fit_params.items()}
        prints = {name: _fingerprint(value) for name, value in shared.items()}
        if isinstance(self.random_state, np.random.Generator | np.random.RandomState):
            prints["random_state"] = self.random_state  # the object itself, because its state changes with every draw
        return prints

    def _forget(self) -> None:
        """Remove the results of an earlier fit, so that a fit that fails does not leave a mixture."""
        public = ("bags_", "estimators_", "scheme_", "solver_", "units_", "estimator_", *OUT_OF_BAG)
        for name in (*public, "_average", "_X", "_memory", "_fit_params", "_table"):
            self.__dict__.pop(name, None)

    def _draw(self, law: ResolvedScheme, learner: Any) -> tuple[Bags, np.ndarray]:
        """The bags, and the weight of each in the average."""
        if not self.derandomized_:
            bags = law.draw(int(self.n_bags), self._seeds, row_ids=self.units_.ids)
            return bags.called(self.units_.noun), np.full(len(bags), 1 / len(bags))
        parameters = {"order_matters": getattr(learner, "order_matters", False), **learner.get_params(deep=True)}
        ordered = any(value is True for name, value in parameters.items() if name.split("__")[-1] == "order_matters")
        # There are at least as many bags as rows; counting them takes long if there are very many rows.
        size: int | float = law.n_samples
        if size <= _MOST_BAGS:
            size = law.count_support(ordered=ordered, limit=_MOST_BAGS)
        if size > _MOST_BAGS:
            exact = size == math.inf or (law.n_samples <= _MOST_BAGS and not ordered)
            least = "" if exact else "at least "
            raise ValueError(
                f'n_bags="all" fits at most {_MOST_BAGS:,} bags, but there are {least}{_many(size)} ({law}). Draw some '
                "of them instead, for example n_bags=10000."
            )
        sequences, probabilities = zip(*law.support(ordered=ordered), strict=True)
        bags = Bags(sequences, law.n_samples).called(self.units_.noun)
        return bags, np.array(probabilities, dtype=float)

    # ------------------------------------------------------------------------------------------ scikit-learn's contract

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
        """The learner's tags; None if it is not a scikit-learn estimator."""
        learner = self._default_learner() if self.estimator is None else self.estimator
        return get_tags(learner) if hasattr(learner, "__sklearn_tags__") else None

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "bags_")


class CallbackTasks:
    """The tasks of a fit for scikit-learn's callbacks, one per bag; does nothing in versions without callbacks.

    Parameters
    ----------
    model : BaggedEnsemble
        The model.
    job : FitJob
        The bags to fit.
    sample_weight : array-like or None
        The weights that were passed to fit.
    """

    def __init__(self, model: BaggedEnsemble, job: FitJob, sample_weight: Any) -> None:
        self.root: Any = None
        self.tasks: Iterator[Any] = iter(())
        self.tasks_of_learner: list[Any] | None = None
        if not hasattr(model, "_init_callback_context"):
            return
        metadata = None if sample_weight is None else {"sample_weight": sample_weight}
        self.callback_arguments = {"estimator": model, "X": job.X, "y": job.y, "metadata": metadata}
        self.root = model._init_callback_context(max_subtasks=len(job))
        self.root.call_on_fit_task_begin(**self.callback_arguments)
        tasks = [self.root.subcontext(task_name="bag") for _ in range(len(job))]
        self.tasks = iter(tasks)
        if hasattr(job.learner, "set_callbacks") and has_callbacks(job.learner):
            self.tasks_of_learner = tasks
            for task in tasks:  # callbacks that go on to learners are called by these, perhaps in another process
                with task.propagate_callback_context(clone(job.learner)):
                    pass

    def end_bag(self, fitted: Callable[[], dict[str, Any] | None]) -> None:
        """Report the next bag; `fitted` returns the attributes of a model of the bags up to now."""
        if self.root is None:
            return
        task = next(self.tasks)
        task.call_on_fit_task_begin(**self.callback_arguments)
        if task.call_on_fit_task_end(**self.callback_arguments, reconstruction_attributes=fitted):
            raise ValueError(
                "A callback tried to stop the fit early. Certificates need a number of bags that was fixed in advance. "
                "Remove the callback, or use a smaller n_bags."
            )

    def end_fit(self) -> None:
        """Report the end of the fit."""
        if self.root is not None:
            self.root.call_on_fit_task_end(**self.callback_arguments, reconstruction_attributes={})


def _instead_of(learner: Any, wanted: str) -> str:
    """What to pass instead of something that is not a learner."""
    kind = wanted.capitalize()
    if isinstance(learner, type):
        return f"it is a class. Pass an instance, {learner.__name__}()."
    if not hasattr(learner, "fit"):
        way = f"Wrap a function in Function{kind}" if callable(learner) else f"Pass an object like DecisionTree{kind}()"
        return f"it has no fit method. {way}."
    if hasattr(learner, "get_params"):
        return f"it cannot predict. Pass a {wanted}, or a pipeline that ends in one."
    return "it has no get_params method. Derive its class from sklearn.base.BaseEstimator."


def _refuse_swapped(X: Any, y: Any, owner: str) -> None:
    """Reject one column as X with several as y."""
    listed = isinstance(X, list) and X and not isinstance(X[0], list | tuple | np.ndarray)
    if (listed or len(getattr(X, "shape", ())) == 1) and are_several(y):
        raise ValueError(
            f"{owner}.fit got one column as X and {y_width(y)} columns as y. They may be swapped: use fit(X, y)."
        )


def prepare_fit(model: BaggedEnsemble, X: Any, y: Any = None, **fit_params: Any) -> FitJob:
    """Check the data and draw the bags as `fit` does, but fit nothing."""
    return model._prepare(X, y, **fit_params)


def units_of(X: Any, n_samples: int, row_ids: Any, groups: Any, owner: str) -> Units:
    """Return the groups that bags are drawn from, or the rows with their IDs."""
    if groups is None:
        ids = as_row_ids(row_ids, X, n_samples, owner)
        labels = X.labels() if isinstance(X, RowSource) else index_of(X)
        return Units(ids, labels=labels if row_ids is None else None)
    if row_ids is not None:
        raise ValueError(f"{owner} got both groups and row_ids. With groups, rows have no IDs. Remove row_ids.")
    _refuse_another_order(X, groups, owner)
    return Units.of_groups(groups, n_samples, owner)


def _refuse_another_order(X: Any, groups: Any, owner: str) -> None:
    """Reject groups whose index has the labels of X in another order, because they are used by position."""
    index, theirs = index_of(X), index_of(groups)
    if index is None or theirs is None or len(index) != len(theirs) or index.equals(theirs):
        return
    if index.is_unique and theirs.is_unique and theirs.isin(index).all():
        reason = "groups are matched to rows by position, not by index. Use groups.loc[X.index]."
        raise refuse_value("groups", owner, "in the order of the rows of X", theirs[:3].tolist(), reason)


def bagged_in(estimator: Any) -> dict[str, BaggedEnsemble]:
    """Return the bagged ensembles inside an estimator, by the prefix of their parameters."""
    inner = {"": estimator, **{f"{k}__": v for k, v in estimator.get_params(deep=True).items()}}
    return {prefix: part for prefix, part in inner.items() if isinstance(part, BaggedEnsemble)}


def changed_settings(now: dict[str, Any], before: dict[str, Any]) -> list[str]:
    """Return the names of the settings that changed: the innermost ones, or a part that was replaced as a whole."""
    replaced = {name.rpartition("__")[0] for name in now.keys() ^ before.keys()} - {""}
    changed = {name for name in now.keys() & before.keys() if now[name] != before[name]}
    changed |= {name for name in now.keys() ^ before.keys() if "__" not in name} | replaced
    found = []
    for name in sorted(changed):
        inside = any(other.startswith(f"{name}__") for other in changed) and name not in replaced
        if not inside and not any(name.startswith(f"{part}__") for part in replaced):
            found.append(name)
    return [name for name in found if not name.endswith("__steps")] or found


def _fingerprint(value: Any) -> Any:
    """A snapshot of a value that is equal for equal values; what cannot be hashed is returned as it is."""
    if isinstance(value, types.FunctionType):  # another function of the same name may do something else
        given = (*(value.__defaults__ or ()), *(value.__kwdefaults__ or {}).values())
        return (value.__module__, value.__qualname__, _code(value.__code__), tuple(map(_given, given)))
    try:
        return joblib.hash(value)
    except Exception:
        return type(value) if hasattr(value, "get_params") else value  # parameters are compared separately


def _given(value: Any) -> Any:
    """The default value of a function's argument; for a function, its code."""
    if isinstance(value, types.FunctionType):
        return _code(value.__code__)
    try:
        return joblib.hash(value)
    except Exception:
        return type(value)


def _code(code: types.CodeType) -> Any:
    """The same for the same code in every process: functions inside it are compared by code, not by address."""
    constants = [_code(each) if isinstance(each, types.CodeType) else repr(each) for each in code.co_consts]
    return (code.co_code, tuple(constants), code.co_names, code.co_varnames, code.co_freevars, code.co_flags)


def _many(number: int | float) -> str:
    if number == math.inf:
        return "infinitely many"
    return f"{number:,}" if number < 10**15 else f"about 10^{math.log10(number):.0f}"


# -------------------------------------------------------------------------------------------------------- bagged models
# Which models the functions of this package accept, and what to pass instead of a pipeline or search around one.

_KINDS = "BaggedRegressor or BaggedClassifier"


def check_bagged(
    model: Any,
    owner: str,
    *,
    kind: type | None = None,
    fitted: bool = True,
    reason: str = "",
    outputs: str = "one",
) -> None:
    """Reject anything but a bagged model, optionally of one kind and fitted.

    Also reject a pipeline or a search around a bagged model: its other steps and the choice of parameters have seen all
    rows, so measurements and guarantees are true of the bagged model only. The message says how to pass that one.

    Parameters
    ----------
    model : object
        The argument that was passed as a model.
    owner : str
        The function it was passed to.
    kind : type or None, default=None
        `BaggedRegressor` or `BaggedClassifier`, if only one of them is accepted.
    fitted : bool, default=True
        Whether it has to be fitted.
    reason : str, default=""
        The end of the message for a model without a bagged model inside.
    outputs : {"one", "any", "all"}, default="one"
        For regressors of several outputs: accept the model of one output only, either, or only the whole model.
    """
    if not isinstance(model, kind or BaggedEnsemble):
        expected = f"a {'fitted ' if fitted else ''}{kind.__name__ if kind else _KINDS}"
        why = _around(model, kind or BaggedEnsemble) or _not_a_model(model, owner) or reason
        raise refuse_type("model", owner, expected, model, why)
    if not fitted:
        return
    check_is_fitted(model)
    if outputs == "one":
        refuse_several_outputs(model, owner)
    if outputs == "all" and hasattr(model, "output_"):
        name = model.output_.name
        raise ValueError(
            f"{owner} needs the model of all outputs, got the model of output {name!r}. Use "
            f"{owner}(model, ...).output({name!r})."
        )


def refuse_several_outputs(model: Any, owner: str, way: str = "") -> None:
    """Reject a regressor of several outputs where one has to be chosen; `way` is another way out."""
    if hasattr(model, "output_names_"):
        names = model.output_names_.tolist()
        raise ValueError(
            f"{owner} needs a model of one output, and this one has {len(names)}. Pass model.output({names[0]!r}){way}."
        )


def _not_a_model(value: Any, owner: str) -> str:
    """Return what to pass instead of a class or of data; "" for anything else."""
    if isinstance(value, type):
        return f"this is a class. Pass a fitted instance: {value.__name__}(...).fit(X, y)."
    if not hasattr(value, "fit") and (hasattr(value, "shape") or isinstance(value, list | tuple)):
        return f"this is data. Pass the model first: {owner}(model, ...)."
    return ""


def _around(model: Any, kind: type) -> str:
    """What to pass instead of a model with a bagged model of this kind inside; "" if there is none."""
    path, notes, inner = "", [], model
    while not isinstance(inner, kind):
        if isinstance(inner, Pipeline):
            notes.append(_PIPELINE.format(path or "pipeline"))
            path, inner = f"{path or 'pipeline'}[-1]", inner.steps[-1][1]
        elif hasattr(inner, "best_estimator_"):
            notes.append(_SEARCH)
            path, inner = f"{path or 'search'}.best_estimator_", inner.best_estimator_
        elif isinstance(inner, TransformedTargetRegressor) and hasattr(inner, "regressor_"):
            notes.append(_TARGETS)
            path, inner = f"{path or 'model'}.regressor_", inner.regressor_
        else:
            return ""
    return f"pass {path}. {' '.join(notes)}"


_PIPELINE = (
    "Pass it the rows that {0}[:-1].transform(X) returns. The results are then about the last step only, because the "
    "steps before it have seen all rows. To include them, bag the whole pipeline."
)
_SEARCH = "The results then take the chosen parameters as given, although all rows were used to choose them."
_TARGETS = "The results are then about the transformed targets."
