"""Which solver fits a learner: the first that is for it."""

from typing import Any

from stablebag.learning.solvers.general import General
from stablebag.learning.solvers.solver import Solver
from stablebag.learning.solvers.trees import Trees

SOLVERS: tuple[type[Solver], ...] = (Trees, General)


def solver_for(learner: Any) -> Solver:
    """Return the solver for a learner, or for a model that was fitted by one."""
    return next(solver for solver in SOLVERS if solver.covers(learner))()
