"""The learner that --model names, with the parameters that --param sets."""

import ast
import importlib
from difflib import get_close_matches
from typing import Any

from sklearn.base import clone
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.svm import SVC, SVR
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from stablebag.commands.refusals import TableError

TASKS = ("regression", "classification")
MODELS: dict[str, tuple[Any, Any]] = {
    "tree": (DecisionTreeRegressor(), DecisionTreeClassifier()),
    "forest": (RandomForestRegressor(n_estimators=50), RandomForestClassifier(n_estimators=50)),
    "boosting": (HistGradientBoostingRegressor(), HistGradientBoostingClassifier()),
    "logistic": (None, LogisticRegression(max_iter=1000)),
    "ridge": (Ridge(), None),
    "knn": (KNeighborsRegressor(), KNeighborsClassifier()),
    "mlp": (MLPRegressor(early_stopping=False, max_iter=300), MLPClassifier(max_iter=300)),
    "svm": (SVR(), SVC()),
}


def make_learner(name: str, task: str, parameters: dict[str, Any]) -> Any:
    """Return a learner by its name in `MODELS`, or by ``package.module:Class``, with these parameters set."""
    if name in MODELS:
        known = MODELS[name][TASKS.index(task)]
        if known is None:
            others = ", ".join(other for other, pair in MODELS.items() if pair[TASKS.index(task)] is not None)
            raise TableError(f"The model {name!r} is not for {task}; use one of {others}.")
        learner = clone(known)
    else:
        learner = _imported(name)
    try:
        return learner.set_params(**parameters)
    except ValueError as error:
        raise TableError(f"The model {name!r} does not take a parameter: {str(error).splitlines()[0]}") from error


def parse_parameters(settings: tuple[str, ...]) -> dict[str, Any]:
    """Read ``name=value`` pairs, where a value is a Python literal or else a string.

    >>> parse_parameters(("max_depth=3", "criterion=absolute_error"))
    {'max_depth': 3, 'criterion': 'absolute_error'}
    """
    parameters: dict[str, Any] = {}
    for setting in settings:
        name, equals, value = setting.partition("=")
        if not equals or not name:
            raise TableError(f"Give a parameter as name=value. Got {setting!r}.")
        try:
            parameters[name] = ast.literal_eval(value)
        except (ValueError, SyntaxError):
            parameters[name] = value
    return parameters


def _imported(name: str) -> Any:
    module, colon, attribute = name.partition(":")
    if not colon:
        near = get_close_matches(name.lower(), MODELS, n=1)
        meant = f" Did you mean {near[0]!r}?" if near else ""
        raise TableError(f"There is no model {name!r}.{meant} Use one of {', '.join(MODELS)}, or package.module:Class.")
    try:
        kind = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise TableError(f"The model {name!r} cannot be made: {error}") from error
    # A function is not called to find out what it makes: it may do anything, such as end the process.
    if not (isinstance(kind, type) and all(hasattr(kind, method) for method in ("fit", "get_params"))):
        raise TableError(f"The model {name!r} is not a scikit-learn estimator.")
    try:
        return kind()
    except TypeError as error:
        raise TableError(f"The model {name!r} cannot be made: {error}") from error
