"""The minimizer behind scikit-learn's logistic regression, called directly, so that it takes the same steps."""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from stablebag.learning.solvers.solver import NotCovered

try:
    from scipy.optimize._lbfgsb import setulb  # private: `is_known` says whether it is what is expected here
except ImportError:
    setulb = None

Function = Callable[[np.ndarray, np.ndarray], float]

_MEMORY, _LINE_SEARCH_STEPS, _EVALUATIONS, _PRECISION = 10, 50, 15_000, 64.0  # as scikit-learn and scipy set them
_NEW_POINT, _EVALUATE, _CONVERGED = 1, 3, 4  # what the minimizer wants, or has done


def minimum(function: Function, size: int, tol: float, max_iter: int) -> tuple[np.ndarray, int] | None:
    """Return where a function is smallest, and the number of steps from zero to there; None if it did not converge.

    The function returns its value, and writes its gradient into its second argument.
    """
    x, gradient, value = np.zeros(size), np.zeros(size), 0.0
    bounds, kinds_of_bounds = np.zeros(size), np.zeros(size, np.int32)  # there are none
    work = np.zeros(2 * _MEMORY * size + 5 * size + 11 * _MEMORY**2 + 8 * _MEMORY)
    whole_work, task, line_task = np.zeros(3 * size, np.int32), np.zeros(2, np.int32), np.zeros(2, np.int32)
    saved: Any = np.zeros(4, np.int32), np.zeros(44, np.int32), np.zeros(29)
    ends = (_PRECISION, tol, work, whole_work, task, *saved, _LINE_SEARCH_STEPS, line_task)
    steps = evaluations = 0
    while True:
        setulb(_MEMORY, x, bounds, bounds, kinds_of_bounds, value, gradient, *ends)
        wanted = task[0]
        if wanted == _EVALUATE:
            value = function(x, gradient)
            evaluations += 1
        elif wanted == _NEW_POINT:
            steps += 1
            if steps >= max_iter or evaluations > _EVALUATIONS:
                return None
        else:
            return (x, steps) if wanted == _CONVERGED else None


@cache
def is_known() -> bool:
    """Return whether scipy's minimizer is the one that is called here."""

    def function(x: np.ndarray, gradient: np.ndarray) -> float:
        gradient[:] = 2 * (x - 3)
        return float((x - 3) @ (x - 3))

    try:
        found = minimum(function, 2, 1e-9, 100)
    except Exception:  # whatever another version may say to these arguments
        return False
    return found is not None and bool((np.abs(found[0] - 3) < 1e-6).all())


def check_minimizer() -> None:
    """Raise `NotCovered` if scipy's minimizer is another one."""
    if not is_known():
        raise NotCovered("this version of scipy has another minimizer")
