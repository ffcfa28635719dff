"""Which parameters of a learner a solver covers; the others must have their default values."""

from collections.abc import Callable
from typing import Any

from stablebag.learning.solvers.solver import NotCovered

Allowed = tuple[Any, ...] | Callable[[Any], bool]


def anything(value: Any) -> bool:
    """Allow every value that scikit-learn allows."""
    return True


def check_parameters(learner: Any, **allowed: Allowed) -> None:
    """Raise `NotCovered` about the first parameter that has neither an allowed value nor its default.

    >>> from sklearn.linear_model import Ridge
    >>> check_parameters(Ridge(alpha=2.0), alpha=anything)
    >>> check_parameters(Ridge(positive=True), alpha=anything)
    Traceback (most recent call last):
        ...
    stablebag.learning.solvers.solver.NotCovered: Ridge(positive=True) is not covered
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
    """Whether it is one of the values; True is not 1."""
    return any(type(value) is type(other) and value == other for other in values)
