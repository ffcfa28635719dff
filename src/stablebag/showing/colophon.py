"""The colophon of a study: the data, target, learner, bags, seed and versions it is of, and a title that says so."""

import math
import platform
import re
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy
import sklearn
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from stablebag import __version__
from stablebag._wording import ROWS, Noun, printable
from stablebag.resampling.row_ids import plain

_NAMES = {
    "DecisionTree": "a decision tree",
    "ExtraTree": "a random tree",
    "ExtraTrees": "a forest of random trees",
    "GradientBoosting": "gradient boosting",
    "HistGradientBoosting": "gradient boosting",
    "KNeighbors": "nearest neighbours",
    "Lasso": "the lasso",
    "LinearRegression": "linear regression",
    "LogisticRegression": "logistic regression",
    "MLP": "a neural network",
    "RandomForest": "a random forest",
    "Ridge": "ridge regression",
    "SVC": "a support vector machine",
    "SVR": "a support vector machine",
}
_LONGEST_COMMAND = 4000  # letters


@dataclass(frozen=True)
class Colophon:
    """What a study is of, and what is needed to make it again.

    Attributes
    ----------
    data : str or None, default=None
        What the data are called, such as the name of a file.
    target : str or None, default=None
        What the target is called.
    learner : str or None, default=None
        The base learner in words; None if it is not known.
    model : str or None, default=None
        The base learner as code, with the parameters that are not its defaults.
    parameters : dict of str to str, number or None, default={}
        All parameters of the base learner.
    scheme : str or None, default=None
        How bags are drawn.
    n_bags : int or None, default=None
        The number of bags.
    seed : int or None, default=None
        The seed of the bags and the learners.
    n_rows : int or None, default=None
        The number of training rows.
    n_samples : int, default=0
        The number of what is left out, one at a time: training rows, or units such as patients.
    noun : Noun, default=ROWS
        What is left out.
    command : str or None, default=None
        The command that makes the study again.

    Examples
    --------
    >>> from stablebag.showing.colophon import Colophon
    >>> Colophon("houses.csv", "price", "a decision tree").title
    'price from houses.csv, by a decision tree'
    """

    data: str | None = None
    target: str | None = None
    learner: str | None = None
    model: str | None = None
    parameters: dict[str, Any] = field(default_factory=dict)
    scheme: str | None = None
    n_bags: int | None = None
    seed: int | None = None
    n_rows: int | None = None
    n_samples: int = 0
    noun: Noun = ROWS
    command: str | None = None

    @classmethod
    def of(cls, study: Any, *, data: str | None = None, target: Any = None, command: str | None = None) -> "Colophon":
        """Return the colophon of a study.

        Parameters
        ----------
        study : Study
            What was studied. What it does not know, as if there is no model in it, is left out.
        data : str or None, default=None
            What the data are called, such as the name of a file.
        target : str or None, default=None
            What the target is called.
        command : str or None, default=None
            The command that makes the study again.

        Returns
        -------
        Colophon
        """
        model = study.model
        of_model: dict[str, Any] = {}
        if model is not None:
            default = DecisionTreeClassifier() if study.task == "classification" else DecisionTreeRegressor()
            learner = _last_step(default if model.estimator is None else model.estimator)
            of_model = {
                "learner": in_words(learner),
                "model": _code(learner),
                "parameters": {name: _written(value) for name, value in learner.get_params(deep=False).items()},
                "scheme": study.noun.in_place_of_rows(str(model.scheme_)),
                "n_bags": len(model.bags_),
                "seed": _written(model.random_state),
                "n_rows": model.units_.n_rows,
            }
        return cls(
            data=None if data is None else printable(data),
            target=None if target is None else printable(target),
            n_samples=study.n_samples,
            noun=study.noun,
            command=None if command is None else printable(command, _LONGEST_COMMAND),
            **of_model,
        )

    @property
    def title(self) -> str:
        """What is predicted, from what and by what; less of it where less is known."""
        parts = [self.target or ("a target" if self.data else ""), f"from {self.data}" if self.data else ""]
        what = " ".join(filter(None, parts))
        if not what:
            return "Stability report" if self.learner is None else f"The stability of {self.learner}"
        return what if self.learner is None else f"{what}, by {self.learner}"

    @property
    def called(self) -> str:
        """The target's own name; "target" if it is not known."""
        return self.target or "target"

    def facts(self) -> list[tuple[str, str]]:
        """Return what is known, each with its name, for people."""
        counted = {
            "training rows": None if self.n_rows is None else f"{self.n_rows:,}",
            self.noun.plural: None if self.noun == ROWS else f"{self.n_samples:,}",
        }
        bags = None if self.n_bags is None else f"{self.n_bags:,}"
        known = {
            "data": self.data,
            "target": self.target,
            **counted,
            "model": None if self.model is None else printable(self.model, _LONGEST_COMMAND),
            "scheme": self.scheme,
            "bags": bags,
            "seed": None if self.seed is None else str(self.seed),
            "versions": ", ".join(f"{name} {version}" for name, version in versions().items()),
        }
        return [(name, value) for name, value in known.items() if value is not None]

    def to_dict(self) -> dict[str, Any]:
        """Return what is known as a dictionary for JSON, with the versions of what it was made by."""
        known = {**asdict(self), "noun": self.noun.singular, "versions": versions()}
        known["unit"] = known.pop("noun")
        return known


def in_words(learner: Any) -> str:
    """Return what a learner is called in a sentence.

    >>> from sklearn.linear_model import HuberRegressor, Ridge
    >>> in_words(Ridge()), in_words(HuberRegressor())
    ('ridge regression', 'HuberRegressor')
    """
    name = type(learner).__name__
    short = name.removesuffix("Regressor").removesuffix("Classifier")
    return _NAMES.get(short, name)


def versions() -> dict[str, str]:
    """Return the versions of what a study is made by."""
    return {
        "stablebag": __version__,
        "scikit-learn": sklearn.__version__,
        "numpy": numpy.__version__,
        "Python": platform.python_version(),
    }


def _last_step(learner: Any) -> Any:
    """The learner at the end of a pipeline, however deep."""
    while getattr(learner, "steps", None):
        learner = learner.steps[-1][1]
    return learner


def _written(value: Any) -> Any:
    """A parameter that JSON takes."""
    value = plain(value)
    simple = value is None or isinstance(value, bool | int | str) or (isinstance(value, float) and math.isfinite(value))
    return value if simple else _code(value)


def _code(value: Any) -> str:
    """An object as code, on one line and without its place in memory, which differs every time."""
    return re.sub(r" at 0x[0-9a-fA-F]+", "", " ".join(repr(value).split()))
