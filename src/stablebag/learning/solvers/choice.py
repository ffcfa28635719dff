"""The choice of a solver: by the learner's exact type and parameters, and only if the first bag comes out the same."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

import numpy as np
import sklearn
from sklearn.base import clone

from stablebag._checks import refuse_value
from stablebag._wording import count_bags
from stablebag.learning.asking import CONSTANT
from stablebag.learning.job import FitJob
from stablebag.learning.learners import has_callbacks
from stablebag.learning.parallel import one_thread
from stablebag.learning.rows import Points, take_rows
from stablebag.learning.solvers.conversion import ask
from stablebag.learning.solvers.general import General
from stablebag.learning.solvers.neighbours import Neighbours
from stablebag.learning.solvers.pipelines import Linear
from stablebag.learning.solvers.same import same_model
from stablebag.learning.solvers.solver import NotCovered, Solver, Structure
from stablebag.learning.solvers.tree_pipelines import TreePipelines
from stablebag.learning.solvers.trees import Trees

BY_ROW = "ties-in-row-order"
WANTED = ("auto", "scikit-learn", BY_ROW)
SOLVERS: list[type[Solver]] = [Trees, TreePipelines, Linear, Neighbours]
_TRIES = 10  # bags that are tried until one is not handed back
_POINTS = 100  # at which predictions are compared


@dataclass(frozen=True)
class Choice:
    """Which solver fits the bags of a model, and why it is not another.

    Attributes
    ----------
    name : str
        The solver; "scikit-learn" is one fit of the learner itself per bag.
    why : str
        Why the learner itself is fitted, if it is.
    n_handed_back : int
        The number of bags that the solver left to the learner itself.
    """

    name: str = "scikit-learn"
    why: str = ""
    n_handed_back: int = 0
    solver: Solver | None = field(default=None, repr=False, compare=False)
    kind: type[Solver] | None = field(default=None, repr=False, compare=False)

    @property
    def structure(self) -> Structure | None:
        """What the models have in common that the solver makes."""
        return None if self.solver is None else self.solver.structure

    def solver_of(self, job: FitJob) -> Solver | None:
        """Return the solver, made from the job if it was chosen in another process; None if it is not for this part."""
        if self.solver is not None or self.kind is None:
            return self.solver
        try:
            return self.kind(job)
        except NotCovered as reason:  # the learner itself gives the same bits
            _refuse_other_ties(self.kind, job, str(reason))
            return None

    def without_rows(self) -> "Choice":
        """Return the choice without the solver, which is made anew for other rows."""
        return replace(self, solver=None)

    def of(self, models: Any) -> "Choice":
        """Return the choice without the solver, and with the number of bags that were handed back."""
        others = [model for model in models.kept if not models.is_array(model)]
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
    """Add a solver for learners of one's own, as a decorator of its class."""
    SOLVERS.append(kind)
    return kind


def chosen(job: FitJob) -> FitJob:
    """Return the job with the solver that fits its bags."""
    return job if job.choice is not None else replace(job, choice=_choice(job))


def check_wanted(wanted: Any, owner: str) -> None:
    """Refuse a solver that does not exist."""
    if not isinstance(wanted, str) or wanted not in WANTED:
        raise refuse_value("solver", owner, f"one of {', '.join(map(repr, WANTED))}", wanted)


class _LearnerError(Exception):
    """Why the learner itself will fail; it says so again, and better."""


def _choice(job: FitJob) -> Choice:
    if job.solver_wanted == "scikit-learn":
        return Choice(why="the parameter solver says so")
    kind = next((kind for kind in SOLVERS if kind.takes(job.learner)), None)
    if kind is None:
        return Choice(why=f"there is no solver for {type(job.learner).__name__}")
    try:
        _check_call(kind, job)
        _refuse_invalid(job.learner)
        job = replace(job, learner=clone(job.learner))  # what is kept of it does not change with the caller's
        solver = kind(job)
        if job.gathered_of is not None and solver.structure.holds_rows:
            raise NotCovered("its models are made of all rows, which are not in memory")
        # With ties in row order a tree is not scikit-learn's: the same program is verified with its order of ties.
        same = solver if job.solver_wanted == "auto" else kind(replace(job, solver_wanted="auto"))
        with one_thread():  # as bags are fitted
            _verify_or_doubt(same, job)
    except _LearnerError as reason:
        return Choice(why=str(reason))
    except NotCovered as reason:
        _refuse_other_ties(kind, job, str(reason))
        return Choice(why=str(reason))
    return Choice(kind.name, solver=solver, kind=kind)


def _refuse_other_ties(kind: type[Solver], job: FitJob, why: str) -> None:
    """Refuse to take scikit-learn's order of ties where that of the rows was asked for.

    What stands against a solver may be a single row; bags without it would get other trees when it is forgotten.
    """
    if job.solver_wanted == BY_ROW and kind.orders_ties:
        owner = "BaggedRegressor" if job.classes is None else "BaggedClassifier"
        reason = f'the trees cannot be grown so, because {why}. Use solver="auto".'
        raise refuse_value("solver", owner, "'auto' or 'scikit-learn' here", BY_ROW, reason) from None


def _check_call(kind: type[Solver], job: FitJob) -> None:
    """Raise `NotCovered` because of what is around the learner and its rows."""
    version = ".".join(sklearn.__version__.split(".")[:2])
    if version not in kind.versions:
        solver, verified = f"the solver for {type(job.learner).__name__}", " and ".join(kind.versions)
        raise NotCovered(f"{solver} was verified for version {verified}, and this is {version}")
    n_bags = job.gathered_of or len(job)
    if n_bags < 2 and job.solver_wanted == "auto":  # verifying takes as long, and the bits are the same
        raise NotCovered("there is only one bag")
    if job.n_outputs is not None:
        raise NotCovered("there are several outputs")
    if job.fit_params:
        raise NotCovered(f"{next(iter(job.fit_params))} was passed to fit")
    if has_callbacks(job.learner):
        raise NotCovered("it has callbacks")
    if job.subspaces is not None:
        raise NotCovered("max_features draws columns for each bag")
    if sklearn.get_config()["array_api_dispatch"]:
        raise NotCovered("array_api_dispatch is switched on")


def _refuse_invalid(learner: Any) -> None:
    """Raise `_LearnerError` for parameters that scikit-learn will refuse when it fits."""
    parts = [learner, *learner.get_params(deep=True).values()]
    try:
        for part in parts:
            if hasattr(part, "_parameter_constraints"):
                part._validate_params()
    except ValueError as error:
        raise _LearnerError("it has a parameter that it will refuse") from error


def _verify_or_doubt(solver: Solver, job: FitJob) -> None:
    """Verify a solver; whatever goes wrong with that is a reason not to use it."""
    try:
        _verify(solver, job)
    except (NotCovered, _LearnerError):
        raise
    except Exception as error:
        raise NotCovered(f"it could not be verified ({type(error).__name__}: {error})") from error


def _verify(solver: Solver, job: FitJob) -> None:
    """Raise `NotCovered` unless the model of the first bag is that of scikit-learn, to the last bit."""
    first = list(islice(bags_for_solvers(job), _TRIES))
    if not first:  # and none will reach it
        return
    solved = ((b, solver.fit(job.bags[b], int(job.seeds[b]))) for b in first)
    bag, model = next(((b, model) for b, model in solved if model is not None), (None, None))
    if bag is None:
        raise NotCovered("none of the first bags is for a solver")
    rows, seed = job.bags[bag], int(job.seeds[bag])
    general = General(job)
    try:
        theirs = general.fit(rows, seed)
    except Exception as error:
        raise _LearnerError(f"it fails on bag {bag}") from error
    if not same_model(solver.structure.estimator(model, seed), theirs):
        raise NotCovered(f"the model of bag {bag} did not come out the same")
    points = Points(take_rows(job.X, rows[:_POINTS]))
    predictor = solver.structure.predictor(points)
    if predictor is None:
        return
    asked = "predict" if job.classes is None else "predict_proba"
    expected = np.asarray(ask(theirs, asked, points, harmless=True))
    found = predictor(solver.structure.stacked([model]))[0]
    if job.classes is not None:
        found = found[:, np.isin(job.classes, theirs.classes_)]
    if not np.array_equal(found, expected):
        raise NotCovered(f"the predictions of bag {bag} did not come out the same")


def bags_for_solvers(job: FitJob) -> Iterator[int]:
    """Yield the bags that reach a solver: they have rows and, in classification, more than one class."""
    for number, rows in enumerate(job.bags):
        y = job.y[rows]
        several = job.classes is None or not (y == y[:1]).all()
        if len(y) and several and not warns_of_many_classes(job, rows):
            yield number


def warns_of_many_classes(job: FitJob, rows: np.ndarray) -> bool:
    """Return whether scikit-learn warns that a bag has nearly as many classes as rows; it is left to warn itself."""
    most = round(0.5 * len(rows))
    if job.classes is None or len(rows) <= 20 or len(job.classes) <= most:
        return False
    return len(np.unique(job.y[rows])) > most
