"""Solvers: the interface, the registry, and the check of the first bag against scikit-learn."""

import importlib
import pickle
import types
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, fields, replace
from functools import partial
from itertools import islice
from typing import Any, ClassVar

import numpy as np
import sklearn
from scipy import sparse
from sklearn import config_context
from sklearn.base import BaseEstimator, clone
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeClassifier, ExtraTreeRegressor

from stablebag._checks import refuse_value
from stablebag._wording import count_bags
from stablebag.models import learners as outputs
from stablebag.models.learners import (
    Copies,
    LabelCodes,
    Subspaces,
    Surroundings,
    has_callbacks,
    isolated,
    torch_is_imported,
    without_callbacks,
)
from stablebag.models.parallel import one_thread
from stablebag.models.rows import Points, as_float32, has_mutable_cells, is_per_row, take_rows, with_own_cells
from stablebag.resampling.bags import Bags

# ------------------------------------------------------------------------------------------------------------------ job
# One fit job: the data, the bags, the seeds, and how the bags are averaged.


@dataclass(frozen=True, eq=False)
class FitJob:
    """What to fit: one clone of a learner per bag.

    Made by `prepare_fit`. Refits without a row are also a job, with one bag per refit.

    Parameters
    ----------
    learner : estimator
        The learner, unfitted. It is cloned for every bag.
    X : array, sparse array or data frame
        The training rows.
    y : ndarray
        The targets of the training rows; for several outputs, one column each.
    bags : Bags
        The rows of each fit, in order and with repeats.
    seeds : ndarray of int
        The learner's seed in each bag.
    classes : ndarray or None, default=None
        The class labels in order; None for regression.
    fit_params : mapping or None, default=None
        Passed to the learner's `fit`; each bag gets its part of arrays with one entry per training row.
    average : BagAverage or None, default=None
        How the bags are averaged, if they are.
    empty_value : float or ndarray of shape (n_outputs,), default=0.0
        The prediction of a bag without rows in regression. In classification, all classes get the same probability.
    numbers : ndarray of int, range or None, default=None
        The numbers of the bags, for error messages; None for 0, 1, ...
    choice : SolverChoice or None, default=None
        Which solver fits the bags, or why none does; None before this is decided.
    by_row : frozenset of str or None, default=None
        The names of the fit parameters that have one entry per training row; None finds them by their lengths.
    gathered_of : int or None, default=None
        For a portion of a job with only its rows in memory: the number of bags of the whole job.
    subspaces : Subspaces or None, default=None
        The columns that each bag's learner gets, drawn from its seed; None for all.
    tasks : sequence of CallbackContext or None, default=None
        The task of each bag, for scikit-learn callbacks of the learner; None if it has none.
    """

    learner: Any
    X: Any
    y: np.ndarray
    bags: Bags
    seeds: np.ndarray
    classes: np.ndarray | None = None
    fit_params: Mapping[str, Any] | None = None
    average: Any = None
    empty_value: Any = 0.0
    numbers: np.ndarray | range | None = None
    choice: Any = None
    by_row: frozenset[str] | None = None
    gathered_of: int | None = None
    subspaces: Subspaces | None = None
    tasks: Sequence[Any] | None = None

    def __len__(self) -> int:
        return len(self.bags)

    @property
    def bag_numbers(self) -> "np.ndarray | range":
        """The number of each bag, for error messages."""
        return range(len(self)) if self.numbers is None else self.numbers

    @property
    def n_outputs(self) -> int | None:
        """The number of outputs of a regressor with several; None for one output."""
        return None if self.y.ndim == 1 else int(self.y.shape[1])

    def part(self, first: int, stop: int) -> "FitJob":
        """Return the job of the bags from `first` to `stop - 1`."""
        tasks = None if self.tasks is None else self.tasks[first:stop]
        bags, seeds, numbers = self.bags[first:stop], self.seeds[first:stop], self.bag_numbers[first:stop]
        return replace(self, bags=bags, seeds=seeds, tasks=tasks, numbers=numbers)

    def only(self, places: np.ndarray) -> "FitJob":
        """Return the job of some of the bags."""
        numbers = np.asarray(self.bag_numbers)[places]
        tasks = None if self.tasks is None else [self.tasks[place] for place in places]
        return replace(self, bags=self.bags.take(places), seeds=self.seeds[places], numbers=numbers, tasks=tasks)

    def params_by_row(self) -> frozenset[str]:
        """Return the names of the fit parameters that have one entry per training row."""
        if self.by_row is not None:
            return self.by_row
        given = self.fit_params or {}
        return frozenset(name for name, value in given.items() if is_per_row(value, len(self.y)))

    def on_own_rows(self, take: Callable[[Any, np.ndarray], Any] = take_rows) -> "FitJob":
        """Return the same job with only the rows of its bags, so that no others need to be sent or read."""
        rows, bags = self.bags.compacted()
        if not len(rows):  # all bags are empty, but some libraries do not accept a table without rows
            rows = np.zeros(1, np.int64)
        by_row, given = self.params_by_row(), self.fit_params or {}
        params = {name: take_rows(value, rows) if name in by_row else value for name, value in given.items()}
        parts = {"X": take(self.X, rows), "y": self.y[rows], "bags": bags, "fit_params": params, "by_row": by_row}
        choice = None if self.choice is None else self.choice.without_rows()  # a solver has the rows of the whole table
        return replace(self, **parts, choice=choice)

    def without_rows(self) -> "FitJob":
        """Return the job without the data, which is sent separately."""
        return replace(self, X=None, y=np.empty(0), average=None)


# ----------------------------------------------------------------------------------------------------------- conversion
# Conversions that scikit-learn's learners would repeat in every bag: rows and points for trees, sparse formats.

_TREES = (DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeClassifier, ExtraTreeRegressor)


def is_tree(learner: Any) -> bool:
    """Return whether it is exactly one of scikit-learn's trees, not a subclass."""
    return type(learner) in _TREES


def converted(job: FitJob) -> FitJob:
    """Return the job with its rows already converted for the learner."""
    if is_tree(job.learner) and job.learner.criterion != "poisson":  # "poisson" checks y together with X
        X = as_float32(job.X)
        if X is not None:  # trees need not check these rows
            return replace(job, X=X, fit_params={**(job.fit_params or {}), "check_input": False})
    if sparse.issparse(job.X) and job.X.format not in ("csr", "csc"):  # other formats cannot select rows
        return replace(job, X=job.X.tocsr())
    return job


def call_method(model: Any, points: Points, method: str, *, harmless: bool, **params: Any) -> Any:
    """Call a method of a fitted model with the points; `harmless` if the model is known to change nothing."""
    if is_tree(model) and points.as_float32 is not None:
        return getattr(model, method)(points.as_float32, **{"check_input": False, **params})
    return points.call(model, method, harmless=harmless, **params)


# ------------------------------------------------------------------------------------------------- prediction
# What to predict with the bags' models, and how their answers become numbers to average.

CONSTANT = (DummyClassifier, DummyRegressor)  # for bags that no learner is fitted to


@dataclass(frozen=True)
class PredictRequest:
    """What the models of all bags have to predict.

    Parameters
    ----------
    decisions : bool, default=False
        Whether classifiers return decision functions instead of probabilities or votes.
    params : mapping or None, default=None
        Passed to the learner's method; constant models do not get them.
    n_outputs : int or None, default=None
        The number of outputs of regressors with several; None for one output.
    wanted : ndarray of bool, shape (n_bags, n_points), or None, default=None
        The points at which each bag's model has to predict; None for all. Elsewhere, its line may have any finite
        numbers.
    """

    decisions: bool = False
    params: Mapping[str, Any] | None = None
    n_outputs: int | None = None
    wanted: np.ndarray | None = None

    @property
    def is_plain(self) -> bool:
        """Whether it is a plain prediction, which solvers can make."""
        return not self.decisions and not self.params

    def predict(self, model: Any, points: Points, classes: np.ndarray | None, *, harmless: bool) -> np.ndarray:
        """Return a bag's predictions to average: numbers, probabilities, votes, or decision functions."""
        n_points, constant = points.n_points, isinstance(model, CONSTANT)
        given = {} if constant else self.params or {}
        params = {name: isolated(name, value) for name, value in given.items()}

        call: Callable[[str], Any] = partial(call_method, model, points, harmless=harmless, **params)
        if classes is None:
            return outputs.numbers(call("predict"), n_points, self.n_outputs, points.places)
        if self.decisions:
            if constant:
                return outputs.undecided(n_points, classes)
            if _compares_pairs(model) and len(classes) > 2:
                raise ValueError(
                    'decision_function_shape="ovo" scores pairs of classes, which cannot be averaged. Use "ovr".'
                )
            return outputs.decisions(call("decision_function"), n_points, model.classes_, classes)
        if hasattr(model, "predict_proba") and hasattr(model, "classes_"):
            return outputs.probabilities(call("predict_proba"), n_points, model.classes_, classes, points.places)
        return outputs.votes(call("predict"), n_points, classes)


PREDICT = PredictRequest()  # probabilities, votes or numbers, without parameters


def _compares_pairs(model: Any) -> bool:
    """Whether a model, or the last step of a pipeline, has one score per pair of classes."""
    parameters = model.get_params(deep=True) if hasattr(model, "get_params") else {}
    shapes = [value for name, value in parameters.items() if name.split("__")[-1] == "decision_function_shape"]
    return "ovo" in shapes


# --------------------------------------------------------------------------------------------------------------- solver
# The interface of solvers: they fit scikit-learn's own models without its overhead.

Predictor = Callable[[Any], np.ndarray]
RELEASE = int(sklearn.__version__.split(".")[1])  # 9 for scikit-learn 1.9
VERIFIED = ("1.6", "1.7", "1.8", "1.9")  # docs/solvers.md lists how many random cases were compared with each


class NotCovered(Exception):  # noqa: N818 (not an error)
    """Why a solver does not fit a job, in words that complete "scikit-learn, because ..."."""


class Structure(ABC):
    """What the models of all bags share: how arrays become a scikit-learn estimator, and how they predict.

    Subclasses are frozen dataclasses. A model is a NamedTuple of arrays and numbers that differ between bags.
    """

    model_type: ClassVar[Any]  # the NamedTuple
    holds_rows: ClassVar[bool] = False  # whether models refer to the training rows by their positions

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]  # a dataclass

    @abstractmethod
    def estimator(self, model: Any, seed: int) -> Any:
        """Return the fitted estimator that scikit-learn would have made from the bag with this seed."""

    def stacked(self, models: list[Any]) -> Any:
        """Return the models in a form that predicts faster, and that can be sliced like a list."""
        return models

    @abstractmethod
    def predictor(self, points: Points) -> Predictor | None:
        """Return a function from stacked models to their predictions at the points, with one line per model.

        Several threads may call it at the same time. A line must not depend on the other models. None means that the
        estimators themselves predict at these points.
        """


class Solver(ABC):
    """Fits bags one by one, for some learners.

    The constructor does the work that all bags share; it raises `NotCovered` for jobs that the solver cannot fit.
    """

    name: ClassVar[str]
    learners: ClassVar[tuple[type, ...]]  # exact types, because a subclass may do anything
    versions: ClassVar[tuple[str, ...]] = VERIFIED  # of scikit-learn
    releases_lock: ClassVar[bool] = False  # whether threads can fit at the same time

    structure: Structure

    @classmethod
    def takes(cls, learner: Any) -> bool:
        """Return whether the solver may be able to fit this learner."""
        return type(learner) in cls.learners

    @abstractmethod
    def __init__(self, job: FitJob) -> None:
        pass

    @abstractmethod
    def fit(self, rows: np.ndarray, seed: int) -> Any | None:
        """Return the model of a bag as arrays; None hands the bag back to scikit-learn.

        A bag has at least one row and, in classification, at least two classes.
        """


# ----------------------------------------------------------------------------------------------------------- parameters
# The parameters of a learner that a solver covers; all others must have their defaults.

Allowed = tuple[Any, ...] | Callable[[Any], bool]


def anything(value: Any) -> bool:
    """Accept every value that scikit-learn accepts."""
    return True


def check_parameters(learner: Any, **allowed: Allowed) -> None:
    """Raise `NotCovered` for the first parameter with neither an allowed value nor its default.

    >>> from sklearn.linear_model import Ridge
    >>> check_parameters(Ridge(alpha=2.0), alpha=anything)
    >>> check_parameters(Ridge(positive=True), alpha=anything)
    Traceback (most recent call last):
        ...
    stablebag.models.solving.NotCovered: Ridge(positive=True) is not covered
    """
    plain = type(learner)()
    parameters, defaults = learner.get_params(deep=False), plain.get_params(deep=False)
    if extra := sorted(vars(learner).keys() - vars(plain).keys()):
        raise NotCovered(f"this {type(learner).__name__} has the attribute {extra[0]}")
    for name, value in parameters.items():
        fine = allowed.get(name, (defaults[name],))
        if not (fine(value) if callable(fine) else _is_among(value, fine)):
            raise NotCovered(f"{type(learner).__name__}({name}={value!r}) is not covered")


def _is_among(value: Any, values: tuple[Any, ...]) -> bool:
    """Whether it is one of the values, of the same type: True is not 1."""
    return any(type(value) is type(other) and value == other for other in values)


# ----------------------------------------------------------------------------------------------------------------- same
# Whether two fitted models are the same to the last bit.

_PLAIN = (bool, int, str, bytes, slice, type(None))


def same_model(one: Any, other: Any) -> bool:
    """Return whether two models have the same attributes, with the same bits in all arrays.

    >>> from sklearn.linear_model import Ridge
    >>> X, y = [[0.0], [1.0], [3.0]], [1.0, 2.0, 0.0]
    >>> same_model(Ridge().fit(X, y), Ridge().fit(X, y)), same_model(Ridge().fit(X, y), Ridge().fit(X, [1, 2, 0.1]))
    (True, False)
    """
    if type(one) is not type(other):
        return False
    if isinstance(one, np.ndarray):
        return _same_array(one, other)
    if isinstance(one, float | np.generic):  # compare bits: -0.0 is not 0.0, and NaN equals NaN
        return _same_array(np.asarray(one), np.asarray(other))
    if isinstance(one, _PLAIN):
        return bool(one == other)
    if isinstance(one, np.dtype):
        return bool(one == other)
    if isinstance(one, np.random.RandomState):
        return same_model(one.get_state(), other.get_state())
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same_model(one[name], other[name]) for name in one)
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(same_model, one, other))
    if isinstance(one, type | types.FunctionType | types.BuiltinFunctionType):
        return one is other
    if isinstance(one, BaseEstimator):
        return same_model(vars(one), vars(other))
    return same_model(one.__getstate__(), other.__getstate__())  # what pickling keeps


def _same_array(one: np.ndarray, other: np.ndarray) -> bool:
    if one.dtype != other.dtype or one.shape != other.shape:
        return False
    if one.dtype.names is not None:  # ignore the padding between fields
        return all(_same_array(one[name], other[name]) for name in one.dtype.names)
    if one.dtype.kind == "O":
        return all(map(same_model, one.ravel().tolist(), other.ravel().tolist()))
    return one.tobytes() == other.tobytes()


# --------------------------------------------------------------------------------------------------------------- tables
# The training rows as scikit-learn converts them: a matrix of numbers and the names of its columns.


def as_matrix(X: Any) -> tuple[np.ndarray, np.ndarray | None]:
    """Return a dense table as a matrix, and the names of its features or None.

    A data frame is covered if its columns are plain numbers, so that scikit-learn converts all its rows in the same
    way.

    >>> as_matrix(np.eye(2))
    (array([[1., 0.],
           [0., 1.]]), None)
    """
    if isinstance(X, np.ndarray):
        if type(X) not in (np.ndarray, np.memmap) or X.ndim != 2 or X.dtype.kind not in "iuf" or X.dtype.itemsize > 8:
            raise NotCovered(f"an array of type {X.dtype} with {X.ndim} axes is not covered")
        return np.asarray(X), None  # in a worker, it may be a memory map
    if not hasattr(X, "columns"):
        raise NotCovered(f"a table of type {type(X).__name__} is not covered")
    names = list(X.columns)
    if not all(type(name) is str for name in names) or len(set(names)) != len(names):
        raise NotCovered("columns without unique names are not covered")
    kinds = {str(kind) for kind in X.dtypes}
    if hasattr(X, "iloc") and not kinds <= {"float64", "float32", "int64", "int32"}:
        raise NotCovered(f"a frame with columns of type {', '.join(sorted(kinds))} is not covered")
    if not hasattr(X, "iloc") and not kinds <= {"Float64", "Float32", "Int64", "Int32"}:
        raise NotCovered(f"a frame with columns of type {', '.join(sorted(kinds))} is not covered")
    matrix = X.to_numpy()
    if matrix.dtype.kind not in "iuf" or (hasattr(X, "null_count") and matrix.dtype.kind == "f" and _has_nulls(X)):
        raise NotCovered("a frame with missing values is not covered")
    return matrix, np.array(names, dtype=object)


def _has_nulls(frame: Any) -> bool:
    """Whether a polars frame has nulls, which become NaN or objects."""
    return bool(frame.null_count().to_numpy().any())


# -------------------------------------------------------------------------------------------------------------- general
# Without a solver: fit the learner itself to each bag.


class General:
    """Fits a copy of the learner to the rows of each bag, such that copies cannot affect each other."""

    def __init__(self, job: FitJob) -> None:
        job = converted(job)
        self.X, self.y = job.X, job.y
        self.fresh, self.surroundings = Copies(job.learner), Surroundings(job.learner)
        self.given = job.fit_params or {}
        self.by_row = job.params_by_row()
        self.validated, self.mutable = False, has_mutable_cells(job.X)
        self.has_callbacks = has_callbacks(job.learner)
        self.subspaces, self.predicts_late = job.subspaces, not hasattr(job.learner, "predict")

    def fit(self, rows: np.ndarray, seed: int, task: Any = None) -> Any:
        """Return the model of a bag; `task` is its task for the learner's callbacks."""
        seedable = torch_is_imported()
        model = self._fitted(rows, seed, task)
        if not seedable and torch_is_imported():  # this fit imported torch, whose generators were not seeded
            model = self._fitted(rows, seed, task)
        self.validated = self.fresh.validated_once
        if self.predicts_late and not hasattr(model, "predict"):
            raise TypeError("it cannot predict, even after fit.")
        model = without_callbacks(model) if self.has_callbacks else model
        return _after_pickling(model.as_fitted() if isinstance(model, LabelCodes) else model)

    def _fitted(self, rows: np.ndarray, seed: int, task: Any) -> Any:
        model = self.fresh.copy(seed)
        params = {k: take_rows(v, rows) if k in self.by_row else isolated(k, v) for k, v in self.given.items()}
        X, y = take_rows(self.X, rows), self.y[rows]
        X = X if self.subspaces is None else self.subspaces.take(X, seed)
        within = nullcontext() if task is None else task.propagate_callback_context(model)
        with self.surroundings(seed), _validation_skipped() if self.validated else nullcontext(), within:
            model.fit(with_own_cells(X) if self.mutable else X, y, **params)  # fit may return nothing
        return model


def _validation_skipped() -> AbstractContextManager[None]:
    context: AbstractContextManager[None] = config_context(skip_parameter_validation=True)
    return context


def _after_pickling(model: Any) -> Any:
    """The model after pickling, as if it came from another process: strided arrays become contiguous."""
    if not _has_strided_arrays(model, depth=8):
        return model
    try:
        return pickle.loads(pickle.dumps(model))
    except Exception:  # it cannot be pickled, so it cannot come from another process
        return model


def _has_strided_arrays(part: Any, depth: int) -> bool:
    if isinstance(part, np.ndarray):
        return not (part.flags.c_contiguous or part.flags.f_contiguous)
    if depth == 0:
        return False
    if isinstance(part, list | tuple):
        return len(part) < 100 and any(_has_strided_arrays(item, depth - 1) for item in part)
    return hasattr(part, "get_params") and any(_has_strided_arrays(item, depth - 1) for item in vars(part).values())


# --------------------------------------------------------------------------------------------------------------- choice
# The choice of a solver: by the learner's exact type and parameters, and only if its first bag equals scikit-learn's.

SOLVER_OPTIONS = ("auto", "scikit-learn")
SOLVERS: list[type[Solver]] = []  # `stablebag.fast` registers its solvers when one is first needed
_TRIES = 10  # bags to try until one is not handed back
_POINTS = 100  # at which predictions are compared


@dataclass(frozen=True)
class SolverChoice:
    """Which solver fits the bags of a model, and why no faster one does.

    Attributes
    ----------
    name : str
        The name of the solver; "scikit-learn" if the learner itself fits each bag.
    why : str
        Why no solver is used; empty if one is.
    n_handed_back : int
        The number of bags that the solver left to scikit-learn.
    """

    name: str = "scikit-learn"
    why: str = ""
    n_handed_back: int = 0
    solver: Solver | None = field(default=None, repr=False, compare=False)
    kind: type[Solver] | None = field(default=None, repr=False, compare=False)

    @property
    def structure(self) -> Structure | None:
        """What the solver's models have in common."""
        return None if self.solver is None else self.solver.structure

    def solver_of(self, job: FitJob) -> Solver | None:
        """Return the solver, made again if it was chosen in another process; None if it does not cover this part."""
        if self.solver is not None or self.kind is None:
            return self.solver
        try:
            return self.kind(job)
        except NotCovered:  # the learner itself gives the same bits
            return None

    def without_rows(self) -> "SolverChoice":
        """Return the choice without the solver, which has to be made again for other rows."""
        return replace(self, solver=None)

    def of(self, models: Any) -> "SolverChoice":
        """Return the choice without the solver, with the number of bags that it handed back."""
        others = [model for model in models.stored if not models.is_array(model)]
        back = 0 if self.why else sum(not isinstance(model, CONSTANT) for model in others)
        return replace(self, n_handed_back=back, solver=None, kind=None)

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "solver": None}  # it refers to all rows

    def __str__(self) -> str:
        if self.why:
            return f"{self.name}, because {self.why}"
        if self.n_handed_back:
            return f"{self.name}; {count_bags(self.n_handed_back)} by scikit-learn"
        return self.name


def register(kind: type[Solver]) -> type[Solver]:
    """Register a solver; a decorator for its class."""
    SOLVERS.append(kind)
    return kind


def with_solver(job: FitJob) -> FitJob:
    """Return the job with a solver for its bags, or the reason why there is none."""
    return job if job.choice is not None else replace(job, choice=_choose_solver(job))


def check_solver(solver: Any, owner: str) -> None:
    """Check the parameter `solver`."""
    if not isinstance(solver, str) or solver not in SOLVER_OPTIONS:
        raise refuse_value("solver", owner, f"one of {', '.join(map(repr, SOLVER_OPTIONS))}", solver)


def choice_of(solver: str) -> "SolverChoice | None":
    """The choice that the parameter `solver` makes; None if it depends on the bags."""
    return None if solver == "auto" else SolverChoice(why='of solver="scikit-learn"')


class _LearnerError(Exception):
    """Why the learner itself will fail, which raises a better error later."""


def _choose_solver(job: FitJob) -> SolverChoice:
    importlib.import_module("stablebag.fast")
    kind = next((kind for kind in SOLVERS if kind.takes(job.learner)), None)
    if kind is None:
        return SolverChoice(why=f"there is no solver for {type(job.learner).__name__}")
    try:
        _check_call(kind, job)
        _refuse_invalid(job.learner)
        job = replace(job, learner=clone(job.learner))  # the caller may change the original
        solver = kind(job)
        if job.gathered_of is not None and solver.structure.holds_rows:
            raise NotCovered("its models contain all rows, which are not in memory")
        with one_thread():  # as bags are fitted
            _verify_or_doubt(solver, job)
    except (NotCovered, _LearnerError) as reason:
        return SolverChoice(why=str(reason))
    return SolverChoice(kind.name, solver=solver, kind=kind)


def _check_call(kind: type[Solver], job: FitJob) -> None:
    """Raise `NotCovered` for reasons other than the learner and the rows."""
    version = ".".join(sklearn.__version__.split(".")[:2])
    if version not in kind.versions:
        first, last = kind.versions[0], kind.versions[-1]
        verified = f"{first} to {last}" if last != first else first
        solver = f"the solver for {type(job.learner).__name__}"
        raise NotCovered(f"{solver} was tested with scikit-learn {verified}, and this is {version}")
    n_bags = job.gathered_of or len(job)
    if n_bags < 2:  # verifying would take as long as fitting
        raise NotCovered("there is only one bag")
    if job.n_outputs is not None:
        raise NotCovered("there are several outputs")
    if job.fit_params:
        raise NotCovered(f"{next(iter(job.fit_params))} was passed to fit")
    if has_callbacks(job.learner):
        raise NotCovered("the learner has callbacks")
    if job.subspaces is not None:
        raise NotCovered("max_features draws columns for each bag")
    if sklearn.get_config()["array_api_dispatch"]:
        raise NotCovered("array_api_dispatch is enabled")


def _refuse_invalid(learner: Any) -> None:
    """Raise `_LearnerError` for parameters that scikit-learn will not accept."""
    parts = [learner, *learner.get_params(deep=True).values()]
    try:
        for part in parts:
            if hasattr(part, "_parameter_constraints"):
                part._validate_params()
    except ValueError as error:
        raise _LearnerError("the learner has an invalid parameter") from error


def _verify_or_doubt(solver: Solver, job: FitJob) -> None:
    """Verify a solver; any unexpected error is a reason not to use it."""
    try:
        _verify(solver, job)
    except (NotCovered, _LearnerError):
        raise
    except Exception as error:
        raise NotCovered(f"verifying the solver failed ({type(error).__name__}: {error})") from error


def _verify(solver: Solver, job: FitJob) -> None:
    """Raise `NotCovered` unless the model of the first bag equals scikit-learn's to the last bit."""
    first = list(islice(bags_for_solvers(job), _TRIES))
    if not first:  # the solver will fit no bag
        return
    solved = ((b, solver.fit(job.bags[b], int(job.seeds[b]))) for b in first)
    bag, model = next(((b, model) for b, model in solved if model is not None), (None, None))
    if bag is None:
        raise NotCovered(f"the solver handed back the first {len(first)} bags")
    rows, seed = job.bags[bag], int(job.seeds[bag])
    general = General(job)
    try:
        theirs = general.fit(rows, seed)
    except Exception as error:
        raise _LearnerError(f"the learner fails on bag {bag}") from error
    if not same_model(solver.structure.estimator(model, seed), theirs):
        raise NotCovered(f"the solver's model of bag {bag} differed from scikit-learn's")
    points = Points(take_rows(job.X, rows[:_POINTS]))
    predictor = solver.structure.predictor(points)
    if predictor is None:
        return
    method = "predict" if job.classes is None else "predict_proba"
    expected = np.asarray(call_method(theirs, points, method, harmless=True))
    found = predictor(solver.structure.stacked([model]))[0]
    if job.classes is not None:
        found = found[:, np.isin(job.classes, theirs.classes_)]
    if not np.array_equal(found, expected):
        raise NotCovered(f"the solver's predictions of bag {bag} differed from scikit-learn's")


def bags_for_solvers(job: FitJob) -> Iterator[int]:
    """Yield the bags that a solver may fit: they have rows and, in classification, more than one class."""
    for number, rows in enumerate(job.bags):
        y = job.y[rows]
        several = job.classes is None or not (y == y[:1]).all()
        if len(y) and several and not warns_of_many_classes(job, rows):
            yield number


def warns_of_many_classes(job: FitJob, rows: np.ndarray) -> bool:
    """Return whether scikit-learn would warn that a bag has nearly as many classes as rows, and so must fit it."""
    most = round(0.5 * len(rows))
    if job.classes is None or len(rows) <= 20 or len(job.classes) <= most:
        return False
    return len(np.unique(job.y[rows])) > most
