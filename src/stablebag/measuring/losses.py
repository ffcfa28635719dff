"""Losses, each with what a proof takes of it: how fast it changes with the prediction, and how large it can be."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from stablebag._checks import check_real, refuse_type, refuse_value
from stablebag.models.average import BagAverage
from stablebag.models.ranges import FixedRange, OutputRanges
from stablebag.proving.bounds import simplex_radius

_SMALLEST = np.finfo(float).eps  # the logarithm of a probability of zero would be infinite
_MARGIN = 0.5  # over which the ramp falls from 1 to 0


def _squared(prediction: np.ndarray, y: np.ndarray) -> Any:
    distance = np.abs(prediction - y)
    square = distance**2
    if ((square == 0) & (distance > 0)).any():
        raise ValueError(
            "The targets are so small that squared errors underflow to zero. Multiply the targets by a constant, or "
            "use another loss."
        )
    return square


def _absolute(prediction: np.ndarray, y: np.ndarray) -> Any:
    return np.abs(prediction - y)


def _zero_one(probabilities: np.ndarray, truth: np.ndarray) -> Any:
    return (probabilities.argmax(axis=1) != truth.argmax(axis=1)).astype(float)


def _log(probabilities: np.ndarray, truth: np.ndarray) -> Any:
    return -np.log(np.maximum((probabilities * truth).sum(axis=1), _SMALLEST))


def _brier(probabilities: np.ndarray, truth: np.ndarray) -> Any:
    return ((probabilities - truth) ** 2).sum(axis=1)


def _probability(probabilities: np.ndarray, truth: np.ndarray) -> Any:
    return 1 - (probabilities * truth).sum(axis=1)


def _ramp(probabilities: np.ndarray, truth: np.ndarray) -> Any:
    margin = (probabilities * truth).sum(axis=1) - np.where(truth > 0, -1.0, probabilities).max(axis=1)
    return np.clip(1 - margin / _MARGIN, 0.0, 1.0)


_REGRESSION = {"squared": _squared, "absolute": _absolute}
_CLASSIFICATION = {
    "zero_one": _zero_one, "log": _log, "brier": _brier, "probability": _probability, "ramp": _ramp,
}  # fmt: skip


LARGEST = {"zero_one": 1.0, "brier": 2.0, "probability": 1.0, "ramp": 1.0}


@dataclass(frozen=True)
class BoundedLoss:
    """Your own loss, with what a proved interval needs to know of it.

    Parameters
    ----------
    function : callable
        ``function(prediction, y)``, elementwise, with values from 0 to `upper`. The prediction of a classifier is its
        class probabilities, and that of a regressor of several outputs has a column for each.
    lipschitz : float
        The loss changes at most by this times the change of the prediction; where that is a vector, times the Euclidean
        distance.
    upper : float
        The largest possible loss.

    Examples
    --------
    How many predictions are far off: from 0 for those within 40 to 1 for those off by 60 or more:

    >>> import numpy as np
    >>> from sklearn.datasets import load_diabetes
    >>> from stablebag import BaggedRegressor, FixedRange, leave_one_out_error
    >>> from stablebag.measuring import BoundedLoss
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = BaggedRegressor(prediction_range=FixedRange(0, 400), n_bags=300, random_state=0).fit(X, y)
    >>> far_off = BoundedLoss(lambda prediction, y: np.clip((abs(prediction - y) - 40) / 20, 0, 1), 1 / 20, upper=1)
    >>> leave_one_out_error(model, far_off)
    0.4028 (standard error 0.022) over 442 rows
    """

    function: Callable[[np.ndarray, np.ndarray], Any]
    lipschitz: float
    upper: float

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise refuse_type("function", "BoundedLoss", "a function of prediction and y", self.function)
        check_real(self.lipschitz, "lipschitz", "BoundedLoss", finite=True)
        check_real(self.upper, "upper", "BoundedLoss", open_low=True, finite=True)

    def __call__(self, prediction: np.ndarray, y: np.ndarray) -> Any:
        """Return the loss at each prediction."""
        return self.function(prediction, y)


@dataclass(frozen=True)
class Declared:
    """What is declared of a loss: its Lipschitz constant, its largest value, and the largest deviation over bags."""

    lipschitz: float
    upper: float
    scale: float


def loss_function(loss: Any, classifier: bool, owner: str) -> tuple[str, Callable[..., Any]]:
    """The name of a loss, "" if it is one's own, and its function."""
    if callable(loss):
        return "", loss
    known: dict[str, Callable[..., Any]] = _CLASSIFICATION if classifier else _REGRESSION
    name = next(iter(known)) if loss is None else loss
    if not isinstance(name, str):
        raise refuse_type("loss", owner, f"one of {sorted(known)} or a function of (prediction, y)", loss)
    if name not in known:
        reason = (
            f"this loss is for a {'regressor' if classifier else 'classifier'}."
            if name in (_REGRESSION if classifier else _CLASSIFICATION)
            else ""
        )
        raise refuse_value("loss", owner, f"one of {sorted(known)} or a function of (prediction, y)", loss, reason)
    return name, known[name]


def declared(name: str, loss: Any, average: BagAverage, truth: np.ndarray, rows: np.ndarray) -> Declared:
    """Return what a proof takes of a loss of these targets; raises ValueError if it is not known, with the way out."""
    own = isinstance(loss, BoundedLoss)
    if not name and not own:
        raise ValueError(
            "Nothing is known of a loss of your own. Declare how fast it changes and how large it can be: "
            "BoundedLoss(function, lipschitz, upper)."
        )
    if name == "zero_one":
        raise ValueError('Nothing is proved about the zero-one loss, which jumps. Use "ramp", which is never smaller.')
    if name == "log":
        raise ValueError('Nothing is proved about the log loss, which has no bound. Use "brier" or "probability".')
    if average.classes is None:
        scale = _fixed_length(average) / 2
        if own:
            return Declared(loss.lipschitz, loss.upper, scale)
        _refuse_targets_outside(average, truth, rows)
        return Declared(4 * scale, 4 * scale * scale, scale) if name == "squared" else Declared(1.0, 2 * scale, scale)
    if (average.bags.sizes == 0).any():
        raise ValueError(
            f"Nothing is proved about this error: bag {int(np.argmin(average.bags.sizes))} is empty, and what it "
            "predicts depends on the classes of all rows. Use Subbagging, whose bags are never empty."
        )
    radius = simplex_radius(len(average.classes))
    if own:
        return Declared(loss.lipschitz, loss.upper, radius)
    lipschitz = {"brier": math.sqrt(8), "probability": 1.0, "ramp": math.sqrt(2) / _MARGIN}[name]
    return Declared(lipschitz, LARGEST[name], 0.5 if name == "probability" else radius)


def _fixed_length(average: BagAverage) -> float:
    """The length of a range that does not depend on the data; of several outputs, the diagonal of the box."""
    rule = average.rule
    rules = rule.ranges if isinstance(rule, OutputRanges) else [rule]
    if not all(type(each) is FixedRange for each in rules):
        which = "not clipped to a range" if rule is None else f"clipped to a range that depends on the data, {rule}"
        raise ValueError(
            f"Nothing is proved about this error: predictions are {which}. Fit with prediction_range=FixedRange(low, "
            "high), the smallest and the largest target that are possible."
        )
    low, high = average.interval
    return math.hypot(*np.atleast_1d(np.subtract(high, low)).tolist())


def _refuse_targets_outside(average: BagAverage, truth: np.ndarray, rows: np.ndarray) -> None:
    low, high = average.interval
    outside = (truth < low) | (truth > high)
    if outside.any():
        place = int(np.argmax(outside))
        raise ValueError(
            f"Nothing is proved about this error: row {int(rows[place])} has the target {float(truth[place]):g}, "
            f"outside of the range from {low:g} to {high:g}. Fit with a FixedRange that has all possible targets."
        )
