"""How sure a leave-one-out error is: losses, what is proved and measured of them, and the interval made of it."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import stats

from stablebag._checks import check_real, refuse_type, refuse_value
from stablebag._wording import (
    ROUNDING,
    ROWS,
    Noun,
    count_bags,
    number,
    paragraphs,
    percent,
    preformatted,
    rounded_down,
    rounded_up,
)
from stablebag.models.average import BagAverage
from stablebag.models.fitted import fitted
from stablebag.models.ranges import FixedRange, OutputRanges
from stablebag.models.rows import RowSource, take_rows
from stablebag.proving.bounds import simplex_radius
from stablebag.proving.error_bounds import (
    ErrorBound,
    expected_spread,
    largest_proving_size,
    spread_without_each,
)
from stablebag.resampling.covariance import largest_eigenvalue
from stablebag.resampling.schemes import BernoulliSubbagging, ClassicalBagging, PoissonizedBagging, Subbagging
from stablebag.resampling.unequal import ClusterSubbagging, StratifiedSubbagging

# --------------------------------------------------------------------------------------------------------------- losses
# Each with what a proof takes of it: how fast it changes with the prediction, and how large it can be.

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


# ------------------------------------------------------------------------------------------------------------- evidence
# What is proved and measured of the losses at the training rows.

# docs/proofs.md, 17: the bound on the distance between the two, and its measurement.

SMALL_RHO = 0.1  # a share of the variance that changes an interval by less than 5 %
ENOUGH_CARRYING = 12  # losses, or differences, that must carry the variance before it is relied on (docs/errors.md)
_MOST_LEFT_OUT, _MOST_OTHERS = 2000, 1000  # units at which losses are measured, and others that are left out there
_PARTS_OF_JUMPS = 8  # of the bags for a loss that jumps: of two parts, few rows at the jump would decide
_ENOUGH_FOR_PARTS = 100  # bags
_BLOCK_NUMBERS = 2**22
_POWER = float(stats.norm.ppf(0.8))
_LARGE_SHIFT = 0.25  # standard errors
_BLIND = (Subbagging, BernoulliSubbagging, ClassicalBagging, PoissonizedBagging)  # to the data
_SEED = 20261119  # of the choice of these units, where there are more


@dataclass(frozen=True, eq=False)
class LossSource:
    """A model, its loss, and the rows at which it is taken."""

    model: Any
    average: BagAverage
    name: str  # of the loss; empty if it is one's own
    given: Any
    function: Callable[..., Any]
    numbers: np.ndarray  # of the rows
    truth: np.ndarray  # their targets, as the loss takes them
    n_chosen: int

    def loss(self, predictions: np.ndarray, truth: np.ndarray) -> np.ndarray:
        """Return the loss at each prediction."""
        if not self.name:  # a function of one's own may change its arguments
            predictions, truth = predictions.copy(), truth.copy()
        with np.errstate(over="ignore"):  # an infinite loss raises an error
            losses = np.asarray(self.function(predictions, truth), dtype=float)
        if losses.shape != truth.shape[:1]:
            raise ValueError(
                f"The loss function must return one value for each of the {len(truth)} rows, not their average. It "
                f"returned an array of shape {losses.shape}."
            )
        return losses

    @property
    def declared(self) -> Declared:
        """Return what a proof takes of the loss; raises ValueError if it is not known."""
        return declared(self.name, self.given, self.average, self.truth, self.numbers)

    @property
    def of_rows(self) -> np.ndarray:
        """The unit of each of the rows."""
        units: np.ndarray = self.average.units.of_rows[self.numbers]
        return units

    # ---------------------------------------------------------------------------------------------------------- proved

    def bound(self) -> ErrorBound:
        """Return the proved bound; raises ValueError where there is none, with the reason and the way out."""
        self._refuse_refitted()
        self.refuse_parts_of_groups()
        proved, average = self.declared, self.average
        self._refuse_bags_that_look()
        weights = None if average.drawn else average.weights
        average.refuse_units_in_every_bag()
        kept, n = np.unique(self.of_rows), average.law.n_samples
        scale = proved.lipschitz * proved.scale
        eigenvalue, inclusion = fitted(self.model).cached(
            "eigenvalue", lambda: largest_eigenvalue(average.bags, weights)
        )
        if self.holds_over_draws:
            n_bags = len(average.bags) if average.drawn else math.inf
            spread = n * fitted(self.model).cached(
                "expected spread", lambda: expected_spread(n, int(average.law.bag_size), n_bags)
            )
        else:
            all_spreads = fitted(self.model).cached(
                "spread without each", lambda: spread_without_each(average.bags, weights, eigenvalue, np.arange(n))
            )
            spread = float(all_spreads[kept].sum())
        remainder = scale * math.sqrt(2 * spread) / len(kept)
        drift = min(scale * math.sqrt(eigenvalue * n / len(kept)), 2 * scale * inclusion)
        return ErrorBound(len(kept), proved.upper, remainder, drift)

    @property
    def holds_over_draws(self) -> bool:
        """Whether the remainder is bounded on average over the draw of bags, and not for the bags as they are.

        So it is for bags of a fixed size if all rows are predicted: it is smaller then.
        """
        law, n = self.average.law, self.average.law.n_samples
        return type(law.scheme) is Subbagging and len(np.unique(self.of_rows)) == n

    def _refuse_bags_that_look(self) -> None:
        if isinstance(self.average.law.scheme, StratifiedSubbagging | ClusterSubbagging):
            raise ValueError(
                f"Nothing is proved about this error with {self.average.law}: bags were drawn by labels of the rows, "
                "and the proof needs bags that do not depend on the data. Use Subbagging."
            )

    def refuse_parts_of_groups(self) -> None:
        """Reject some rows of a group without the others: large groups would be there too often, with parts of them."""
        units = self.average.units
        if units.are_rows:
            return
        there = np.bincount(self.of_rows, minlength=len(units))
        partly = int(((there > 0) & (there < np.bincount(units.of_rows, minlength=len(units)))).sum())
        if partly:
            raise ValueError(
                f"There is no interval for these rows: they are only some of the rows of {units.noun.count(partly)}, "
                f"and large {units.noun.plural} are more often among them. Choose {units.noun.plural} and pass all of "
                "their rows, or pass a number of rows, which draws whole ones."
            )

    def _refuse_refitted(self) -> None:
        if fitted(self.model).average is not self.average:
            raise ValueError("The model was fitted again since. Call leave_one_out_error again.")

    # -------------------------------------------------------------------------------------------------------- measured

    def changes(self, units: np.ndarray, others: np.ndarray) -> tuple[np.ndarray, float]:
        """Return how leaving out another unit changes the loss at a unit, in each of some parts of the bags.

        Shape (n_parts, n_units, n_others); NaN where no bag of a part is without both. If all bags are averaged, both
        parts are all of them. Also returns how much larger losses are because the bags without a unit are fewer than
        all bags: a loss is nearly linear in one over their number, as the losses of each part show.
        """
        self._refuse_refitted()
        average = self.average
        place = np.full(int(self.of_rows.max()) + 1, -1)
        place[units] = np.arange(len(units))
        chosen = np.flatnonzero(place[self.of_rows] >= 0)
        rows, of_units, truth = self.numbers[chosen], place[self.of_rows[chosen]], self.truth[chosen]
        counts = np.bincount(of_units, minlength=len(units))
        n_parts = _PARTS_OF_JUMPS if self.name == "zero_one" and len(average.bags) >= _ENOUGH_FOR_PARTS else 2
        n_parts = n_parts if average.drawn else 2
        found = np.zeros((n_parts, len(units), len(others)))
        without = average.bags.outside(others) * (1.0 if average.drawn else average.weights[:, None])
        parts = [slice(first, None, n_parts) for first in range(n_parts)] if average.drawn else [slice(None)]
        rise, inverse, missing = 0.0, 0.0, 0.0  # sums of l_part - l, of 1 / k_part - 1 / k, and of 1 / k - 1 / B
        for block, raw in self._blocks(rows):
            outputs = average.outputs(raw)
            lacks = average.lacks(rows[block]).astype(float)
            y, each = truth[block], 1 / counts[of_units[block]]
            whole, k = self.loss(self._without_own(outputs, lacks)[0], y), lacks.sum(axis=0)
            missing += float(each @ (1 / k - 1 / len(average.bags)))
            for part, bags in enumerate(parts):
                some = np.flatnonzero(lacks[bags].any(axis=0))
                if len(some):
                    of_part = outputs[bags][:, some], lacks[bags][:, some], y[some]
                    changed, alone = self._changed(*of_part, without[bags])
                    rise += float(each[some] @ (alone - whole[some]))
                    inverse += float(each[some] @ (1 / of_part[1].sum(axis=0) - 1 / k[some]))
                    np.add.at(found[part], of_units[block][some], changed)
                np.add.at(found[part], np.delete(of_units[block], some), np.nan)
        if len(parts) == 1:
            found[1] = found[0]
        found /= counts[:, None]
        return found, rise / inverse * missing / len(units) if average.drawn and inverse > 0 else 0.0

    def _blocks(self, rows: np.ndarray) -> Iterator[tuple[slice, np.ndarray]]:
        X, average = fitted(self.model).X, self.average
        some = X.take(rows) if isinstance(X, RowSource) else take_rows(X, rows)
        return fitted(self.model).raw_blocks(some, wanted=lambda block: average.lacks(rows[block]))

    def _without_own(self, outputs: np.ndarray, lacks: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The average at each row over those of these bags that lack it, and what of each bag enters it."""
        own = lacks if self.average.drawn else lacks * self.average.weights[:, None]
        weighted = outputs * lacks.reshape(*lacks.shape, *[1] * (outputs.ndim - 2))
        sums = np.einsum("br,br...->r...", own, outputs)
        return sums / own.sum(axis=0).reshape(-1, *[1] * (sums.ndim - 1)), weighted

    def _changed(
        self, outputs: np.ndarray, lacks: np.ndarray, truth: np.ndarray, without: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """How the loss at each row changes without another unit, for these bags, and the loss with it.

        Each row is outside of some bag. The change is NaN where no bag is without both.
        """
        n_rows, n_others = lacks.shape[1], without.shape[1]
        result, losses = np.empty((n_rows, n_others)), np.empty(n_rows)
        step = max(1, _BLOCK_NUMBERS // (n_others * outputs[0, 0].size))
        weights = (without != 0).astype(float) if self.average.drawn else without
        for first in range(0, n_rows, step):
            some = slice(first, first + step)
            off, y = lacks[:, some], truth[some]
            alone, weighted = self._without_own(outputs[:, some], off)
            losses[some] = self.loss(alone, y)
            count = off.T @ weights
            sums = (weighted.reshape(len(off), -1).T @ weights).reshape(len(y), -1, n_others)
            both = np.moveaxis(sums / np.maximum(count, np.finfo(float).tiny)[:, None], 1, 2)
            both = both.reshape(len(y), n_others, *outputs.shape[2:])
            undefined = count == 0
            both[undefined] = alone[np.nonzero(undefined)[0]]  # any prediction that a loss is defined for
            changed = self.loss(both.reshape(-1, *outputs.shape[2:]), np.repeat(y, n_others, axis=0))
            result[some] = np.where(undefined, np.nan, changed.reshape(len(y), n_others) - losses[some][:, None])
        return result, losses


@dataclass(frozen=True, eq=False)
class Evidence:
    """What an interval is made of: the mean losses of independent units, and the bounds and measurements for them."""

    sources: list[LossSource]
    losses: np.ndarray  # of each unit, or the differences of the two models' losses

    @classmethod
    def of(cls, sources: list[LossSource], losses: list[np.ndarray]) -> "Evidence":
        """Return it for one model, or for the difference of the first and the second."""
        difference = losses[0]
        largest = max(float(np.abs(each).max()) for each in losses)
        if len(losses) == 2:
            difference = losses[0] - losses[1]
            difference[np.abs(difference) <= ROUNDING * largest] = 0.0
        if not sources[0].average.units.are_rows:
            of_units = np.unique(sources[0].of_rows, return_inverse=True)[1]
            difference = np.bincount(of_units, weights=difference) / np.bincount(of_units)
        if np.ptp(difference) <= ROUNDING * largest:  # what rounding makes of equal losses
            difference = np.full(len(difference), difference[0])
        return cls(sources, difference)

    @property
    def noun(self) -> Noun:
        noun: Noun = self.sources[0].average.units.noun
        return noun

    @property
    def value(self) -> float:
        return self.unit * float((self.losses / self.unit).mean())

    @cached_property
    def unit(self) -> float:
        """The largest loss in size: squares in this unit stay floats."""
        return float(np.abs(self.losses).max()) or 1.0

    @cached_property
    def variance(self) -> float:
        """The variance of the mean in squared units, if losses were independent."""
        return float((self.losses / self.unit).var(ddof=1)) / len(self.losses) if len(self.losses) > 1 else math.nan

    @cached_property
    def n_carrying(self) -> float:
        """How many of the losses carry their variance, by the kurtosis: all if they are alike, one if it is one."""
        off = self.losses - self.losses.mean()
        largest = np.abs(off).max()
        if largest == 0:
            return float(len(off))
        squares = (off / largest) ** 2
        return float(squares.sum() ** 2 / (squares**2).sum())

    @cached_property
    def proved(self) -> tuple[ErrorBound | None, str]:
        """The proved bound, or why there is none."""
        try:
            bounds = [source.bound() for source in self.sources]
        except ValueError as error:
            return None, str(error)
        return bounds[0] if len(bounds) == 1 else bounds[0] + bounds[1], ""

    @cached_property
    def rho(self) -> float:
        """The largest share of the variance that the certificate cannot exclude."""
        bound = self.proved[0]
        if bound is None:
            return math.inf
        with np.errstate(divide="ignore", over="ignore"):
            return float(np.float64(bound.remainder / self.unit) ** 2 / self.variance)

    @property
    def measured(self) -> float:
        """An estimate of a bound on the remainder's mean square in squared units, without bagging noise.

        It is NaN where too few bags are without any two rows.
        """
        return self._measurements[0]

    @property
    def shift(self) -> float:
        """An estimate of how much larger the loss is because the bags without a row are fewer than all bags."""
        return self._measurements[1]

    @cached_property
    def _measurements(self) -> tuple[float, float]:
        """Both estimates, in units of the largest loss.

        The two factors of a square are from different parts of the bags, so that their noise is independent and has no
        part in the product. That the bags without two rows are fewer makes every loss larger, whichever row is the
        second: this is subtracted, as the mean over the second rows.
        """
        first = self.sources[0]
        kept, n = np.unique(first.of_rows), first.average.law.n_samples
        rng = np.random.default_rng(_SEED)
        units = np.sort(rng.choice(kept, min(len(kept), _MOST_LEFT_OUT), replace=False))
        others = np.sort(rng.choice(n, min(n, _MOST_OTHERS), replace=False))
        changes, shift = first.changes(units, others)
        if len(self.sources) == 2:
            subtracted, its_shift = self.sources[1].changes(units, others)
            changes, shift = changes - subtracted, shift - its_shift
        changes /= self.unit
        changes[:, units[:, None] == others] = np.nan
        there = np.isfinite(changes)
        with np.errstate(invalid="ignore"):
            mean = np.where(there, changes, 0.0).sum(axis=2) / there.sum(axis=2)
        changes -= mean[..., None]
        n_parts = len(changes)
        products = (changes.sum(axis=0) ** 2 - (changes**2).sum(axis=0)) / (n_parts * (n_parts - 1))
        known = np.isfinite(products)
        if known.sum() < products.size / 2:
            return math.nan, 0.0
        return max(0.0, 2 * (n - 1) / len(kept) * float(products[known].mean())), shift / self.unit

    @property
    def measured_rho(self) -> float:
        """The measured share of the variance."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return float(np.float64(self.measured) / self.variance)

    def interval(self, level: float, kind: str) -> "ErrorInterval":
        """Return the interval."""
        (least, most), value = self._possible, self.value
        half, shift = self._half_width(level, kind)
        low, high = max(value - half - max(shift, 0.0), least), min(value + half - min(shift, 0.0), most)
        return ErrorInterval(low, high, self.value, level, kind, self.rho, self._measured_or_nan, len(self.losses),
                             self._guarantee(level, kind), self.noun)  # fmt: skip

    def is_larger(self, missed: float, kind: str) -> bool:
        """Return whether the first model's expected loss is larger than the second's; wrongly with this probability."""
        if kind == "proved":
            bound = self._proved_or_raise
            return self.value > bound.half_width(1 - missed, differs=True, one_sided=True)
        if self.variance == 0:
            return False
        return self.value > self.asymptotic_half_width(missed) + max(self.unit * self.shift, 0.0)

    def n_enough(self, level: float, kind: str) -> float:
        """About how many units would tell the sign of the value with probability 80 %, if it stays as it is."""
        half, shift = self._half_width(level, kind)
        size = abs(self.value) - max(0.0, math.copysign(shift, shift * self.value))
        if size <= 0:
            return math.inf
        off = self.unit * math.sqrt(np.nan_to_num(self.variance) + (self.measured if kind == "asymptotic" else 0.0))
        return len(self.losses) * ((half + _POWER * off) / size) ** 2

    def _half_width(self, level: float, kind: str) -> tuple[float, float]:
        """Half the length of an interval for every possible value, and the shift by which it is longer on one side."""
        if kind == "proved":
            return self._proved_or_raise.half_width(level, differs=len(self.sources) == 2), 0.0
        return self.asymptotic_half_width((1 - level) / 2), self.unit * self.shift

    @property
    def _proved_or_raise(self) -> ErrorBound:
        bound, why = self.proved
        if bound is None:
            raise ValueError(why)
        return bound

    def nothing(self, level: float, kind: str) -> "ErrorInterval":
        """Return the interval for two models that have the same losses everywhere."""
        if kind == "proved":
            return self.interval(level, kind)
        said = f"Both models have the same loss at each of {len(self.losses):,} {self.noun.plural}."
        return ErrorInterval(0.0, 0.0, 0.0, level, kind, math.nan, math.nan, len(self.losses), said, self.noun)

    def asymptotic_half_width(self, tail: float) -> float:
        """Return half the length of the interval that misses this on each side."""
        n, trained = len(self.losses), self.sources[0].average.law.n_samples
        for source in self.sources:
            source.refuse_parts_of_groups()
        if n < 2 or trained < 3:
            least, got = ("two", n) if n < 2 else ("three", trained)
            raise ValueError(f"An interval needs at least {least} {self.noun.plural}, got {got}.")
        if self.variance == 0:
            raise ValueError(
                f"All {n:,} {self._losses} are equal, so they do not show how far their mean is off. Use more "
                f'{self.noun.plural}, or kind="proved".'
            )
        if math.isnan(self.measured):
            raise ValueError(
                f"With {count_bags(len(self.sources[0].average.bags))}, too few are without any two "
                f"{self.noun.plural} to measure how much losses depend on the same ones. Use more or smaller bags."
            )
        return self.unit * float(stats.t.isf(tail, n - 1)) * math.sqrt(self.variance + self.measured)

    @property
    def _measured_or_nan(self) -> float:
        return self.measured_rho if self.variance > 0 else math.nan

    @property
    def _possible(self) -> tuple[float, float]:
        """The smallest and the largest value that the expected loss, or the difference of two, can have."""
        upper, source = math.inf, self.sources[0]
        if self.proved[0] is not None:
            upper = self.proved[0].upper
        elif all(isinstance(each.given, BoundedLoss) for each in self.sources):
            upper = max(each.given.upper for each in self.sources)
        elif source.name in LARGEST:
            upper = LARGEST[source.name]
        known = bool(source.name) or isinstance(source.given, BoundedLoss)
        return (-upper if len(self.sources) == 2 else 0.0 if known else -math.inf), upper

    def _guarantee(self, level: float, kind: str) -> str:
        new = f"a new {self.noun.singular}"
        what = f"this fitted model's expected loss at {new}"
        if len(self.sources) == 2:
            what = f"the difference of the two fitted models' expected losses at {new}"
        share = f"{100 * level:g}%"
        if kind == "proved":
            return (
                f"Proved for every learner: with probability {share} over the draw of independent {self.noun.plural}"
                f"{self._and_bags}, {what} is in this interval{self._given_range}."
            )
        assumed = f"the mean of {len(self.losses):,} {self._losses} is nearly normal, which rare large ones can spoil"
        start = f"About {share} of such intervals contain {what}, if"
        few = ""
        if self.n_carrying < ENOUGH_CARRYING:
            few = (
                f" Only about {max(1, round(self.n_carrying))} of the {self._losses} carry most of their variance, so "
                f"the share can be far below {share}."
            )
        if self.rho <= SMALL_RHO and (bound := self.proved[0]) is not None:
            shift = bound.drift / self.unit / math.sqrt(self.variance)
            return (
                f"{start} {assumed}. Nothing is assumed of the learner: dependence between the losses adds at most "
                f"{_share_up(self.rho)} to the variance that they show (rho), and their mean is shifted by at most "
                f"{rounded_up(shift)} standard errors{self._given_range}. So the interval is proved to be "
                f"asymptotically exact: with more {self.noun.plural}, and more bags of the same size, both vanish.{few}"
            )
        stable = (
            f"losses depend on single training {self.noun.plural}, and on how many bags are averaged, no more than is "
            "measured"
        )
        if self.proved[0] is None:
            narrow = self._way_to_narrow
            return f"{start} {stable}, and {assumed}. That is assumed, not proved.{few}{narrow} {self.proved[1]}"
        known = f"the bags prove that dependence adds at most {rounded_up(self.rho)} times the variance (rho)"
        if math.isinf(self.rho):
            known = "the bags prove nothing about this (rho is infinite)"
        return (
            f"{start} {stable} (it adds {_added(self.measured_rho)}, which is included), and {assumed}."
            f" That is assumed: for every learner, {known}. {self._way_to_a_proof}{few}{self._way_to_narrow}"
        )

    @property
    def _losses(self) -> str:
        return "losses" if len(self.sources) == 1 else "differences of losses"

    @property
    def _way_to_narrow(self) -> str:
        """That more bags would help, if the bags without a row are so few that the interval had to be shifted."""
        if not abs(self.shift) > _LARGE_SHIFT * math.sqrt(self.variance + self.measured):
            return ""
        end = "lower" if self.shift > 0 else "upper"
        return (
            f" The bags without a {self.noun.singular} are fewer than all bags, which shifts the {end} end by "
            f"{number(self.unit * abs(self.shift))}: more bags would narrow this."
        )

    @classmethod
    def set_of_best(cls, sources: list[LossSource], level: float) -> str:
        """What is proved of a set that contains the best of several models, in words."""
        together = cls(sources, np.empty(0))
        return (
            f"Proved for every learner: with probability {100 * level:g}% over the draw of independent "
            f"{together.noun.plural}{together._and_bags}, the fitted model with the smallest expected loss at a new "
            f"{together.noun.singular} is one of those that may be best{together._given_range}."
        )

    @property
    def _and_bags(self) -> str:
        """Whether the probability is also over the draw of bags."""
        drawn = any(source.average.drawn and source.holds_over_draws for source in self.sources)
        return " and of the bags" if drawn else ""

    @property
    def _way_to_a_proof(self) -> str:
        """Which bag size would make rho small, at the same spread of the losses."""
        n = self.sources[0].average.law.n_samples
        strengths = [source.declared for source in self.sources]
        scale = sum(each.lipschitz * each.scale for each in strengths)
        size = largest_proving_size(n, scale / self.unit, SMALL_RHO * self.variance * len(self.losses))
        if size < 1:
            return f"With {n:,} {self.noun.plural}, no bag size would prove it."
        are = f"1 {self.noun.singular}" if size == 1 else f"at most {size:,} {self.noun.plural}"
        return f"Very many bags of {are} would prove it, at the same spread of losses."

    @property
    def _given_range(self) -> str:
        """What has to be true of new rows, and of what the user declared."""
        first, given = self.sources[0], []
        if first.average.classes is not None:
            if first.name != "probability":
                given.append(f"there are only these {len(first.average.classes)} classes")
        elif first.name:
            ends = np.array([source.average.interval for source in self.sources])
            given.append(f"all targets are from {ends[:, 0].max():g} to {ends[:, 1].min():g}")
        if isinstance(first.given, BoundedLoss):
            given.append("the loss is as declared")
        if not all(isinstance(source.average.law.scheme, _BLIND) for source in self.sources):
            given.append("no bag depends on the data")
        return f", if {' and '.join(given)}" if given else ""


# ------------------------------------------------------------------------------------------------------------ intervals


@dataclass(frozen=True, repr=False)
class ErrorInterval:
    """An interval for the expected loss of a fitted model, or for the difference of two; unpacks as ``low, high``.

    Attributes
    ----------
    low : float
        The lower end.
    high : float
        The upper end.
    value : float
        The mean loss at the training rows, each predicted by the bags without it. With groups, the mean over groups of
        their mean losses.
    confidence_level : float
        The probability, over the training rows, with which the interval contains what it is about.
    kind : {"asymptotic", "proved"}
        What it rests on.
    rho : float
        The largest share of the variance that the certificate of the bags cannot exclude; see `LeaveOneOutError.rho`.
    measured_rho : float
        The same share as it is measured.
    n : int
        The number of independent rows, or groups.
    guarantee : str
        What is guaranteed, and what is assumed, in words.
    noun : Noun
        What is independent: rows, or groups.
    """

    low: float
    high: float
    value: float
    confidence_level: float
    kind: str
    rho: float
    measured_rho: float
    n: int
    guarantee: str
    noun: Noun = ROWS

    def __iter__(self) -> Iterator[float]:
        return iter((self.low, self.high))

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high

    @property
    def width(self) -> float:
        """The length of the interval."""
        return self.high - self.low

    def explain(self) -> str:
        """Explain in sentences what is guaranteed."""
        return paragraphs([f"{self!r}.", self.guarantee])

    def to_frame(self) -> Any:
        """Return a pandas DataFrame of one line."""
        import pandas as pd

        names = ("value", "low", "high", "confidence_level", "kind", "rho", "measured_rho", "n")
        return pd.DataFrame({name: [getattr(self, name)] for name in names})

    def __str__(self) -> str:
        return self.explain()

    def __repr__(self) -> str:
        level = f"{100 * self.confidence_level:g}%"
        ends = f"from {signed_down(self.low)} to {signed_up(self.high)}"
        return f"{number(self.value)}, {level} interval {ends} ({self.kind})"

    def _repr_html_(self) -> str:
        """For notebooks."""
        return preformatted(self.explain())


def signed_up(value: float) -> str:
    """Return an upper end, which may be negative, rounded up."""
    return rounded_up(value) if value >= 0 else f"-{rounded_down(-value).lower()}"


def signed_down(value: float) -> str:
    """Return a lower end, which may be negative, rounded down."""
    if 1000 <= value < 1e15:
        return f"{math.floor(value):,}"
    return rounded_down(value).lower() if value >= 0 else f"-{rounded_up(-value)}"


def _added(value: float) -> str:
    return f"{percent(value)} to the variance" if value < 10 else f"{number(value)} times the variance"


def _share_up(value: float) -> str:
    return f"{rounded_up(100 * value, digits=3)}%"
