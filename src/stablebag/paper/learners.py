"""The learners of the paper's experiments."""

import threading
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
from scipy.special import expit, xlogy
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.preprocessing import LabelBinarizer
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import type_of_target

from stablebag.fast.linear import BagRows, Linear, LinearArrays, LinearStructure, LogisticForm, is_number, points_matrix
from stablebag.models.learners import Copies
from stablebag.models.rows import Points
from stablebag.models.solving import FitJob, NotCovered, Predictor, Solver, Structure, check_parameters, register

# ------------------------------------------------------------------------------------------------------------- logistic


class ScaledLogisticRegression(ClassifierMixin, BaseEstimator):
    """Logistic regression without an intercept, with a penalty fixed per row: C = `strength` / (number of rows).

    Parameters
    ----------
    strength : float, default=1000.0
        The paper uses 1e3. A bag of half the rows gets twice the C.

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.array([[1.0], [2.0], [-1.0], [-2.0]])
    >>> ScaledLogisticRegression().fit(rows, [1, 1, 0, 0]).model_.C
    250.0
    """

    def __init__(self, strength: float = 1e3) -> None:
        self.strength = strength

    def fit(self, X: Any, y: Any) -> Self:
        """Fit with the penalty for this number of rows."""
        self.model_ = LogisticRegression(C=self.strength / len(X), fit_intercept=False).fit(X, y)
        self.classes_ = self.model_.classes_
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probabilities of the two classes at each point."""
        probabilities: np.ndarray = self.model_.predict_proba(X)
        return probabilities

    def predict(self, X: Any) -> np.ndarray:
        """Return the more likely class at each point."""
        labels: np.ndarray = self.model_.predict(X)
        return labels


class ScaledForm(LogisticForm):
    """Logistic regression with a C that is divided by the number of rows."""

    def strength(self, n_rows: int) -> float:
        """Return the weight of the squared coefficients relative to the mean loss, rounded as in scikit-learn."""
        return 1.0 / (self.C / n_rows * n_rows)


class ScaledStructure(LinearStructure):
    """The structure of the paper's logistic regression."""

    def estimator(self, model: LinearArrays, seed: int) -> Any:
        estimator = self.copies.copy(seed)
        estimator.model_ = LogisticRegression(C=estimator.strength / model.n_rows, fit_intercept=False)
        self.fill([estimator.model_], model)
        estimator.classes_ = estimator.model_.classes_
        return estimator


@register
class ScaledLogistic(Linear):
    """The solver for the paper's logistic regression."""

    learners = (ScaledLogisticRegression,)
    structure_type = ScaledStructure

    def form_of(self, learner: Any, job: FitJob) -> ScaledForm:
        check_parameters(learner, strength=is_number)
        return ScaledForm.of(LogisticRegression(C=float(learner.strength), fit_intercept=False), job.classes)


# ------------------------------------------------------------------------------------------------------------- networks
# The paper's neural network, and a solver with the same arithmetic as scikit-learn but less overhead.

try:
    from sklearn.neural_network._stochastic_optimizers import SGDOptimizer  # private; the versions are checked
except ImportError:
    SGDOptimizer = None

_EPS = float(np.finfo(np.float64).eps)
_USUAL_BATCH = 200  # largest number of rows in scikit-learn's default batches
_LARGEST_SEED = 2**32 - 1


class QuietNetwork(MLPClassifier):
    """scikit-learn's network without the warning that eight epochs do not converge, which is intended here."""

    def fit(self, X: Any, y: Any) -> Self:
        """Fit without the warning."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            super().fit(X, y)
        return self


class NetworkArrays(NamedTuple):
    """The network of one bag; with the seed, these arrays determine its estimator."""

    weights: np.ndarray  # flat: the coefficients of both layers, then their intercepts
    velocities: np.ndarray  # of the last step, in the same order
    losses: np.ndarray  # one per epoch
    stale: int  # epochs since the loss fell by more than the tolerance
    n_rows: int


class Weights(NamedTuple):
    """The weights of a network with one hidden layer and one output, in the order in which they are stored."""

    hidden: np.ndarray  # one line per feature
    output: np.ndarray  # one column
    hidden_intercept: np.ndarray
    output_intercept: np.ndarray


@dataclass(frozen=True, eq=False)
class NetworkStructure(Structure):
    """A network for two classes with one hidden layer, fitted by stochastic gradient descent."""

    learner: QuietNetwork
    n_features: int
    n_hidden: int
    classes: np.ndarray
    names: np.ndarray | None

    model_type = NetworkArrays

    @cached_property
    def copies(self) -> Copies:
        """Unfitted copies of the learner."""
        return Copies(self.learner)

    @property
    def n_coefficients(self) -> int:
        """The number of weights that are not intercepts."""
        return (self.n_features + 1) * self.n_hidden

    def seed(self, seed: int) -> int:
        """Return the seed of a bag's network; the learner's own seed takes precedence."""
        return seed if self.learner.random_state is None else self.learner.random_state

    def parts(self, flat: np.ndarray) -> Weights:
        """Return the parts of flat weights, as views."""
        d, h, inner = self.n_features, self.n_hidden, self.n_coefficients
        hidden, output = flat[: d * h].reshape(d, h), flat[d * h : inner].reshape(h, 1)
        return Weights(hidden, output, flat[inner : inner + h], flat[inner + h :])

    def initial(self, random: np.random.RandomState) -> np.ndarray:
        """Draw the initial flat weights."""
        flat = np.empty(self.n_coefficients + self.n_hidden + 1)
        hidden, output, hidden_intercept, output_intercept = self.parts(flat)
        for coefficients, intercept in ((hidden, hidden_intercept), (output, output_intercept)):
            bound = np.sqrt(6.0 / sum(coefficients.shape))
            coefficients[:] = random.uniform(-bound, bound, coefficients.shape)
            intercept[:] = random.uniform(-bound, bound, intercept.shape)
        return flat

    def estimator(self, model: NetworkArrays, seed: int) -> QuietNetwork:
        estimator: QuietNetwork = self.copies.copy(seed)
        if self.names is not None:
            estimator.feature_names_in_ = self.names.copy()
        estimator.n_features_in_, estimator.n_outputs_, estimator.n_layers_ = self.n_features, 1, 3
        estimator.out_activation_ = "logistic"
        estimator._label_binarizer = LabelBinarizer().fit(self.classes)
        estimator.classes_ = estimator._label_binarizer.classes_
        self._fill_history(estimator, model)
        random = check_random_state(self.seed(seed))
        estimator._best_coefs, estimator._best_intercepts = self._lists(self.initial(random))  # for early stopping
        for _ in range(estimator.n_iter_):
            random.shuffle(np.arange(model.n_rows))
        estimator._random_state = random
        estimator.coefs_, estimator.intercepts_ = self._lists(model.weights)
        estimator._optimizer = self._optimizer(model.velocities)
        return estimator

    def _fill_history(self, estimator: QuietNetwork, model: NetworkArrays) -> None:
        """Set the attributes on the loss by epoch."""
        estimator.loss_curve_ = list(model.losses)
        estimator.loss_, estimator.best_loss_ = model.losses[-1], model.losses.min()
        estimator.n_iter_, estimator.t_ = len(model.losses), len(model.losses) * model.n_rows
        estimator._no_improvement_count = model.stale
        estimator.validation_scores_ = estimator.best_validation_score_ = None

    def _lists(self, flat: np.ndarray) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """Return copies of the coefficients and of the intercepts."""
        parts = [part.copy() for part in self.parts(flat)]
        return parts[:2], parts[2:]

    def _optimizer(self, velocities: np.ndarray) -> Any:
        learner = self.learner
        rate, schedule = learner.learning_rate_init, learner.learning_rate
        found = SGDOptimizer([], rate, schedule, learner.momentum, learner.nesterovs_momentum, learner.power_t)
        found.velocities = [part.copy() for part in self.parts(velocities)]
        return found

    def predictor(self, points: Points) -> Predictor | None:
        X = points_matrix(points.X)
        if X is None:
            return None

        def predict(models: Sequence[NetworkArrays]) -> np.ndarray:
            lines = np.empty((len(models), len(X), 2))
            with np.errstate(divide="warn", over="warn", invalid="warn", under="ignore"):
                for line, model in zip(lines, models, strict=True):
                    chance = self._chance(X, self.parts(model.weights))
                    np.subtract(1, chance, out=line[:, 0])
                    line[:, 1] = chance
            return lines

        return predict

    def _chance(self, X: np.ndarray, weights: Weights) -> np.ndarray:
        """Return the probability of the second class at each point."""
        active = X @ weights.hidden
        active += weights.hidden_intercept
        np.maximum(active, 0, out=active)
        output = active @ weights.output
        output += weights.output_intercept
        chance: np.ndarray = expit(output, out=output)
        return chance[:, 0]


@register
class Networks(Solver):
    """The solver for the paper's network: stochastic gradient descent with momentum, as in scikit-learn."""

    name = "networks"
    learners = (QuietNetwork,)
    versions = ("1.9",)

    structure: NetworkStructure

    def __init__(self, job: FitJob) -> None:
        learner, classes = job.learner, job.classes
        if SGDOptimizer is None:
            raise NotCovered("this version of scikit-learn has a different optimizer")
        check_parameters(
            learner,
            hidden_layer_sizes=lambda sizes: _hidden_size(sizes) is not None,
            solver=("sgd",),
            alpha=_is_number,
            batch_size=lambda size: size == "auto" or _is_count(size),
            learning_rate_init=lambda rate: _is_number(rate) and rate > 0,
            max_iter=_is_count,
            random_state=lambda seed: seed is None or (_is_count(seed, least=0) and seed <= _LARGEST_SEED),
            tol=_is_number,
            momentum=lambda value: _is_number(value) and value <= 1,
            nesterovs_momentum=(True, False),
            n_iter_no_change=_is_count,
        )
        if classes is None or len(classes) != 2 or job.y.ndim != 1 or type_of_target(job.y) != "binary":
            raise NotCovered("it is only for two classes")
        rows = BagRows(job.X, by_row=True)
        self.X, self.y = rows.matrix, (job.y == classes[1]).astype(np.float64).reshape(-1, 1)
        n_hidden = _hidden_size(learner.hidden_layer_sizes)
        assert n_hidden is not None
        self.structure = NetworkStructure(learner, rows.n_features, n_hidden, classes, rows.names)
        self.generators = threading.local()  # creating a generator takes longer than seeding it

    def fit(self, rows: np.ndarray, seed: int) -> NetworkArrays | None:
        """Return the network of a bag; None on overflow or too large a batch, so that scikit-learn raises."""
        learner, n_rows = self.structure.learner, len(rows)
        size = min(_USUAL_BATCH, n_rows) if learner.batch_size == "auto" else learner.batch_size
        if size > n_rows:
            return None
        random = self._generator(self.structure.seed(seed))
        steps = _Steps(self.structure, self.structure.initial(random), self.X, self.y)
        losses, stale, best = list[float](), 0, np.inf
        try:
            with np.errstate(divide="raise", over="raise", invalid="raise", under="ignore"):
                while len(losses) < learner.max_iter and stale <= learner.n_iter_no_change:
                    order = np.arange(n_rows)
                    random.shuffle(order)
                    rows = rows.take(order)
                    loss = steps.epoch(rows, size)
                    losses.append(loss)
                    stale = stale + 1 if loss > best - learner.tol else 0
                    best = min(best, loss)
        except FloatingPointError:
            return None
        if not (np.isfinite(steps.flat).all() and np.isfinite(losses).all()):
            return None
        return NetworkArrays(steps.flat, steps.velocities, np.array(losses), stale, n_rows)

    def _generator(self, seed: int) -> np.random.RandomState:
        """Return this thread's generator, seeded."""
        if not hasattr(self.generators, "own"):
            self.generators.own = check_random_state(0)
        self.generators.own.seed(seed)
        generator: np.random.RandomState = self.generators.own
        return generator


class _Space:
    """Buffers for one batch, with one line per row."""

    def __init__(self, n_rows: int, n_features: int, n_hidden: int) -> None:
        self.X, self.error = np.empty((n_rows, n_features)), np.empty((n_rows, 1))
        self.active, self.back = np.empty((n_rows, n_hidden)), np.empty((n_rows, n_hidden))
        self.is_active = np.empty((n_rows, n_hidden), dtype=bool)


class _Steps:
    """The gradient steps of one network: its weights, their velocities, and buffers."""

    def __init__(self, structure: NetworkStructure, flat: np.ndarray, X: np.ndarray, y: np.ndarray) -> None:
        learner, self.structure, self.X, self.y, self.flat = structure.learner, structure, X, y, flat
        self.alpha, self.rate, self.momentum = learner.alpha, float(learner.learning_rate_init), learner.momentum
        self.nesterov = learner.nesterovs_momentum
        self.velocities, self.gradient, self.change = np.zeros(len(flat)), np.empty(len(flat)), np.empty(len(flat))
        self.weights, self.slopes = structure.parts(flat), structure.parts(self.gradient)
        self.spaces: dict[int, _Space] = {}  # by number of rows, because the last batch of an epoch may be smaller

    def epoch(self, rows: np.ndarray, size: int) -> float:
        """Take one step per batch of these rows, and return the mean loss before each row's step."""
        y = self.y.take(rows, axis=0)
        chance, batches = np.empty_like(y), [slice(start, start + size) for start in range(0, len(rows), size)]
        penalties = []
        for batch in batches:
            penalties.append(self._penalty())
            self._step(rows[batch], y[batch], chance[batch])
        logs, total = _log_likelihood(chance, y), 0.0
        for batch, penalty in zip(batches, penalties, strict=True):
            mine = logs[batch]
            total += float(-(np.add.reduce(mine, axis=0)[0] / len(mine)) + penalty / len(mine)) * len(mine)
        return total / len(rows)

    def _penalty(self) -> Any:
        hidden, output = self.weights.hidden.reshape(-1), self.weights.output.reshape(-1)
        return 0.5 * self.alpha * (np.dot(hidden, hidden) + np.dot(output, output))

    def _step(self, rows: np.ndarray, y: np.ndarray, chance: np.ndarray) -> None:
        """Take the step of a batch, and store the probabilities of the second class before it."""
        space = self.spaces.get(len(rows))
        if space is None:
            space = self.spaces[len(rows)] = _Space(len(rows), self.structure.n_features, self.structure.n_hidden)
        self.X.take(rows, axis=0, out=space.X, mode="clip")
        self._forward(space, chance)
        np.subtract(chance, y, out=space.error)
        self._backward(space)
        self._move(len(rows))

    def _forward(self, space: _Space, chance: np.ndarray) -> None:
        weights, active = self.weights, space.active
        np.matmul(space.X, weights.hidden, out=active)
        np.add(active, weights.hidden_intercept, out=active)
        np.maximum(active, 0, out=active)
        np.matmul(active, weights.output, out=chance)
        np.add(chance, weights.output_intercept, out=chance)
        expit(chance, out=chance)

    def _backward(self, space: _Space) -> None:
        """Sum the gradient over the rows, without the penalty."""
        slopes, active, error, back = self.slopes, space.active, space.error, space.back
        np.matmul(active.T, error, out=slopes.output)
        np.add.reduce(error, axis=0, out=slopes.output_intercept)
        np.matmul(error, self.weights.output.T, out=back)
        np.not_equal(active, 0, out=space.is_active)
        np.multiply(back, space.is_active, out=back)
        np.add(back, 0.0, out=back)  # no negative zeros
        np.matmul(space.X.T, back, out=slopes.hidden)
        np.add.reduce(back, axis=0, out=slopes.hidden_intercept)

    def _move(self, n_rows: int) -> None:
        """Update the weights by their velocities, with or without Nesterov's momentum."""
        velocities, change, gradient, inner = self.velocities, self.change, self.gradient, self.structure.n_coefficients
        np.multiply(self.alpha, self.flat[:inner], out=change[:inner])
        np.add(gradient[:inner], change[:inner], out=gradient[:inner])
        np.divide(gradient, float(n_rows), out=gradient)
        np.multiply(self.rate, gradient, out=gradient)
        np.multiply(self.momentum, velocities, out=velocities)
        np.subtract(velocities, gradient, out=velocities)
        if self.nesterov:
            np.multiply(self.momentum, velocities, out=change)
            np.subtract(change, gradient, out=change)
        np.add(self.flat, change if self.nesterov else velocities, out=self.flat)


def _log_likelihood(chance: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the log probability of each row's class, rounded as in scipy."""
    chance = np.minimum(np.maximum(chance, _EPS), 1 - _EPS)
    found: np.ndarray = xlogy(1.0, np.abs(chance - (1 - y)))
    return found


def _hidden_size(sizes: Any) -> int | None:
    """Return the size of the only hidden layer; None if there are several."""
    if isinstance(sizes, tuple | list):
        sizes = sizes[0] if len(sizes) == 1 else None
    return sizes if _is_count(sizes) else None


def _is_count(value: Any, least: int = 1) -> bool:
    return type(value) is int and value >= least


def _is_number(value: Any, least: float = 0.0) -> bool:
    return type(value) in (int, float) and least <= value < np.inf
