"""The four simulation settings of section 6 of the paper, as in its text and as in its authors' script.

The data of the two differ. The script seeds numpy's legacy generator with 1234567891 before each data set, centres the
test point of Settings 1 to 3, records the probability of class 0, uses the same seed for the neural network in every
fit, and in Setting 4 adds noise from [-1, 1], where the text says [0, 1]. Its trees are not seeded: each takes a number
from the generator that drew the data, first the tree fitted to all rows, then the trees without each row, in order.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.tree import DecisionTreeRegressor

from stablebag._checks import check_integer, refuse_value
from stablebag.models.estimators import BaggedClassifier, BaggedRegressor
from stablebag.paper.learners import QuietNetwork, ScaledLogisticRegression
from stablebag.resampling.schemes import Subbagging

VARIANTS = ("text", "script")
SCRIPT_SEED = 1234567891
_LARGEST_TREE_SEED = 2**31 - 1  # scikit-learn's trees draw seeds below this number

Data = tuple[np.ndarray, np.ndarray, np.ndarray]


class ScriptTree(DecisionTreeRegressor):
    """The script's tree, which breaks ties between splits by a number from numpy's legacy generator.

    Its `random_state` is this number.
    """

    def fit(self, X: Any, y: Any) -> Self:
        """Fit with the number instead of a generator."""
        number: Any = self.random_state
        self.random_state: Any = _Drawn(number)
        try:
            return super().fit(X, y)  # type: ignore[no-any-return]
        finally:
            self.random_state = number


class _Drawn(np.random.RandomState):
    """A generator that always returns the same number."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number

    def randint(self, *arguments: Any, **options: Any) -> int:  # type: ignore[override]
        return self.number


@dataclass(frozen=True)
class Setting:
    """One of the four settings: its data, its learner, and the learner's subbagged version.

    Attributes
    ----------
    number : int
        The number of the setting, from 1 to 4.
    title : str
        A short description.
    n_samples : int
        The number of training rows n; bags have half as many.
    n_features : int
        The number of features d.
    classifies : bool
        Whether the learner's output is a probability, and so in [0, 1].
    """

    number: int
    title: str
    n_samples: int
    n_features: int
    classifies: bool
    make_learner: Callable[[str], Any]
    make_data: Callable[["Setting", str, int, int], Data]

    def data(self, variant: str = "text", seed: int = 0, n_points: int = 10) -> Data:
        """Draw the training rows and the test points.

        Parameters
        ----------
        variant : {"text", "script"}, default="text"
            As in the paper's text, or as in its authors' script.
        seed : int, default=0
            The seed of the data for the variant "text"; the script has a fixed seed.
        n_points : int, default=10
            The number of test points. The first is the paper's, and the others are drawn after everything else.

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
        y : ndarray of shape (n_samples,)
        points : ndarray of shape (n_points, n_features)
        """
        check_variant(variant, "Setting.data")
        n_points = check_integer(n_points, "n_points", "Setting.data", minimum=1)
        return self.make_data(self, variant, seed, n_points)

    def learner(self, variant: str = "text") -> Any:
        """Return the unfitted base learner; the variants differ only in the seed of the network."""
        return self.make_learner(check_variant(variant, "Setting.learner"))

    def refit_seeds(self, variant: str) -> np.ndarray | None:
        """Return the seeds of the base learner for the fit to all rows and the fits without each row, in order.

        None if all fits use the same seed, as in Definition 4 of the paper. The script's trees do not.
        """
        if check_variant(variant, "Setting.refit_seeds") == "text" or self.number != 4:
            return None
        legacy = np.random.RandomState(SCRIPT_SEED)
        _draw_sines(self, legacy)
        legacy.uniform(size=(1, self.n_features))  # the test point
        return legacy.randint(0, _LARGEST_TREE_SEED, size=self.n_samples + 1)

    def bagged(self, n_bags: int, variant: str = "text", *, n_jobs: int | None = None, seed: int = 0) -> Any:
        """Return the unfitted subbagged learner: bags of half the rows; trees are not clipped, as in the paper."""
        settings: dict[str, Any] = {"n_bags": n_bags, "n_jobs": n_jobs, "random_state": seed, "scheme": Subbagging(0.5)}
        if self.classifies:
            return BaggedClassifier(self.learner(variant), **settings)
        return BaggedRegressor(self.learner(variant), prediction_range=None, **settings)


def _logistic_data(setting: Setting, variant: str, seed: int, n_points: int) -> Data:
    n, d = setting.n_samples, setting.n_features
    effects = np.full(d, 0.1)
    if variant == "text":
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(n, d))
        y = (rng.random(n) < _sigmoid(X @ effects)).astype(int)
        return X, y, rng.normal(size=(n_points, d))
    legacy = np.random.RandomState(SCRIPT_SEED)
    legacy.normal(size=(1, d))  # drawn but not used
    first = legacy.normal(size=(1, d))
    X = legacy.normal(size=(n, d))
    y = (legacy.uniform(size=n) < _sigmoid(X @ effects)).astype(int)
    points = np.vstack([first, legacy.normal(size=(n_points - 1, d))])
    return X, y, points - points.mean(axis=1, keepdims=True)


def _sine_data(setting: Setting, variant: str, seed: int, n_points: int) -> Data:
    n, d = setting.n_samples, setting.n_features
    if variant == "text":
        rng = np.random.default_rng(seed)
        X = rng.random((n, d))
        y = np.sin(X / np.arange(1, d + 1)).sum(axis=1)
        y[::3] += rng.uniform(-0.25, 0.25, len(y[::3]))
        y[::4] += rng.random(len(y[::4]))
        return X, y, rng.random((n_points, d))
    legacy = np.random.RandomState(SCRIPT_SEED)
    X, y = _draw_sines(setting, legacy)
    return X, y, legacy.uniform(size=(n_points, d))


def _draw_sines(setting: Setting, legacy: np.random.RandomState) -> tuple[np.ndarray, np.ndarray]:
    X = legacy.uniform(size=(setting.n_samples, setting.n_features))
    y = np.sin(X / np.arange(1, setting.n_features + 1)).sum(axis=1)
    y[::4] += 2 * (0.5 - legacy.uniform(size=len(y[::4])))
    y[::3] += 0.5 * (0.5 - legacy.uniform(size=len(y[::3])))
    return X, y


def _sigmoid(z: np.ndarray) -> np.ndarray:
    chance: np.ndarray = 1 / (1 + np.exp(-z))
    return chance


def _logistic(variant: str) -> ScaledLogisticRegression:
    return ScaledLogisticRegression()


def _network(variant: str) -> QuietNetwork:
    seed = 1 if variant == "script" else None
    options = {"solver": "sgd", "learning_rate_init": 0.2, "max_iter": 8, "alpha": 1e-4}
    return QuietNetwork(hidden_layer_sizes=(40,), random_state=seed, **options)


def _tree(variant: str) -> DecisionTreeRegressor:
    return DecisionTreeRegressor(max_depth=50)


SETTINGS = {
    1: Setting(1, "logistic regression, n = 500, d = 200", 500, 200, True, _logistic, _logistic_data),
    2: Setting(2, "logistic regression, n = 1000, d = 200", 1000, 200, True, _logistic, _logistic_data),
    3: Setting(3, "neural network, n = 500, d = 200", 500, 200, True, _network, _logistic_data),
    4: Setting(4, "regression trees, n = 500, d = 40", 500, 40, False, _tree, _sine_data),
}


def check_variant(variant: str, owner: str) -> str:
    """Return the variant if it exists; otherwise raise an error."""
    if variant not in VARIANTS:
        raise refuse_value("variant", owner, f"one of {VARIANTS}", variant)
    return variant
