"""The choice of a solver for a learner: the first that covers it."""

from typing import Any

from stablebag.learning.solvers.general import General
from stablebag.learning.solvers.solver import Solver
from stablebag.learning.solvers.trees import Trees

SOLVERS: tuple[type[Solver], ...] = (Trees, General)


def solver_for(learner: Any) -> Solver:
    """Return the solver for a learner, or for a model that a learner has fitted."""
    return next(solver for solver in SOLVERS if solver.covers(learner))()
