"""The stable jackknife: the jackknife with the certificate's epsilon added, at a higher rank."""

import math
import warnings
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from scipy.stats import norm

from stablebag._checks import check_choice, check_delta, refuse_type, refuse_value
from stablebag._wording import as_given, rounded_up
from stablebag.deciding.jackknife import Jackknife
from stablebag.models.estimators import BaggedRegressor
from stablebag.models.ranges import FixedRange, ObservedRange, PredictionRange, TrimmedRange
from stablebag.proving.certificate import Certificate, first_step
from stablebag.proving.outputs import AdaptiveOutputs
from stablebag.resampling.law import ResolvedScheme
from stablebag.resampling.schemes import as_law

_TYPICAL_RESIDUAL = 0.1  # standard deviation of residuals, relative to the range, for which the interval is shortest


@dataclass(frozen=True)
class StableJackknife(Jackknife):
    """The jackknife with a guarantee: its radius is a residual of higher rank plus epsilon.

    Parameters
    ----------
    level : Fraction
        The level 1 - a.
    units : Units or None, default=None
        Must be None, because the proof is for rows only.
    epsilon : float, default=0.0
        The change of a prediction that is added to the radius.
    delta : float, default=0.0
        The share of rows that may change a prediction by more than epsilon.
    residual : int, default=0
        The rank of the residual.
    range_length : float, default=0.0
        The length of the range of predictions.
    """

    epsilon: float = 0.0
    delta: float = 0.0
    residual: int = 0
    range_length: float = 0.0
    name: ClassVar[str] = "stable-jackknife"
    reuses_bags: ClassVar[bool] = True

    @classmethod
    def of_model(
        cls, model: BaggedRegressor, level: Fraction, delta: float | None, bound: str, owner: str
    ) -> "StableJackknife":
        """Choose epsilon and delta for a fitted model, without looking at residuals."""
        n_bags = math.inf if model.derandomized_ else len(model.bags_)
        certificate = _certificate(model.prediction_range_, model.range_, model.scheme_, n_bags)
        return cls.chosen(certificate, model.prediction_range_, level, delta, bound, owner)

    @classmethod
    def of_estimator(
        cls, estimator: Any, y: np.ndarray, level: Fraction, delta: float | None, bound: str, owner: str
    ) -> "StableJackknife":
        """Choose epsilon and delta for an unfitted model."""
        if not isinstance(estimator, BaggedRegressor):
            reason = "only bagged models have a certificate. Wrap it: BaggedRegressor(estimator)."
            raise refuse_type("estimator", owner, "a BaggedRegressor for the stable jackknife", estimator, reason)
        rule = estimator.prediction_range
        _trimmed_rows(rule)
        law = as_law(estimator.scheme, len(y), owner)
        n_bags = math.inf if estimator.n_bags == "all" else int(estimator.n_bags)
        return cls.chosen(_certificate(rule, rule(y), law, n_bags), rule, level, delta, bound, owner)

    @classmethod
    def chosen(
        cls,
        certificate: Certificate,
        rule: PredictionRange | None,
        level: Fraction,
        delta: float | None,
        bound: str,
        owner: str,
    ) -> "StableJackknife":
        """Choose a share of rows, and so epsilon and a rank, without looking at residuals."""
        check_choice(bound, "bound", owner, ("best", "paper"))
        n, trimmed = certificate.n_samples, _trimmed_rows(rule)
        least = 2 * trimmed / n
        if delta is not None:
            delta = check_delta(delta, owner)
            shares = [delta]
            if delta < least:
                reason = "this share of the rows can change the range to which predictions are clipped."
                raise refuse_value("delta", owner, f"at least {least:.4g}", delta, reason)
        else:
            shares = [least, *(least + (1 - least) * share for share in np.geomspace(1e-6, 0.5, 80))]
        usable = [(share, rank) for share in shares if (rank := stable_rank(share, n, trimmed, level, bound)) <= n]
        if not usable:
            raise ValueError(_too_few_rows(n, trimmed, level, delta, bound))
        length = certificate.range_length
        choices = [
            cls(
                level,
                epsilon=min(certificate.epsilon(share, bound), length),
                delta=share,
                residual=rank,
                range_length=length,
            )
            for share, rank in usable
        ]
        return min(choices, key=lambda choice: choice.typical_radius(n))

    def rank(self, n_units: int) -> int:
        return self.residual

    def guarantee(self, n_samples: int) -> str:
        return (
            f"Proved for exchangeable rows and any learner: coverage is at least {float(self.level):g}. By the "
            f"certificate, at most a share {as_given(self.delta)} of the rows changes a prediction by more than "
            f"{rounded_up(self.epsilon)}, which is added to the radius."
        )

    def warn_if_vacuous(self) -> None:
        """Warn about a radius as large as the range; the warning points to the line of the user."""
        if self.epsilon >= self.range_length > 0:
            warnings.warn(
                f"The stable jackknife adds the whole range of predictions, {self.range_length:g}, because the "
                'certificate is trivial with so few rows or bags. Use method="jackknife+", or more rows and bags.',
                stacklevel=3,
            )

    def _radius(self, residuals: np.ndarray) -> float:
        return super()._radius(residuals) + self.epsilon

    def typical_radius(self, n_samples: int) -> float:
        """Return the radius for normal residuals whose standard deviation is a tenth of the range."""
        level = self.residual / (n_samples + 1)
        return self.epsilon + _TYPICAL_RESIDUAL * self.range_length * float(norm.ppf((1 + level) / 2))


def stable_rank(delta: float, n_samples: int, trimmed: int, level: Fraction, bound: str) -> int:
    """Return the rank whose residual plus epsilon covers with probability `level`, with a share delta of unstable rows.

    With N = n + 1 points and rank k, the probability of a miss is at most (N - k) / N + t / N, where t is the largest
    number with t (t + 1) / 2 <= N n delta (docs/proofs.md, 8); or (N - k) / N + 2 sqrt(delta), as in the paper. A range
    taken from the `trimmed` smallest and largest targets adds 2 `trimmed` / N to this probability.
    """
    total = n_samples + 1
    missed = (1 - level) * total - 2 * trimmed
    strange = (math.sqrt(8 * total * n_samples * delta + 1) - 1) / 2
    extra = 2 * math.sqrt(delta) * total if bound == "paper" else strange
    return total - math.floor(missed - Fraction(extra and math.nextafter(extra, math.inf)))


def _too_few_rows(n_samples: int, trimmed: int, level: Fraction, delta: float | None, bound: str) -> str:
    def enough(n: int) -> bool:
        share = 2 * trimmed / n if delta is None else delta
        return stable_rank(share, n, trimmed, level, bound) <= n

    most = 10**9
    missed = float(1 - level)
    if delta is not None:
        message = (
            f"The stable jackknife cannot reach level {float(level):g} with delta={delta:g} and {n_samples:,} rows, "
            f"because a share {delta:g} of unstable rows may raise the miss probability by more than {missed:g}."
        )
    elif trimmed:
        message = (
            f"The stable jackknife cannot reach level {float(level):g} with {n_samples:,} rows, because {2 * trimmed} "
            f"of them can change the range, which may raise the miss probability by more than {missed:g}."
        )
    else:
        message = f"The stable jackknife cannot reach level {float(level):g} with {n_samples:,} rows."
    if not enough(most):
        return message + " Use a smaller delta, or a lower level."
    needed = first_step(n_samples, most, enough)
    ways = [f"at least {needed:,} rows (many more for useful intervals)", "a lower level"]
    return f"{message} Use {', or '.join([*ways, 'a FixedRange'] if trimmed else ways)}."


def _trimmed_rows(rule: PredictionRange | None) -> int:
    """Return how many of the smallest, and of the largest, targets determine the range."""
    if isinstance(rule, FixedRange):
        return 0
    if isinstance(rule, ObservedRange):
        return 1
    if isinstance(rule, TrimmedRange):
        return rule.rank
    raise ValueError(
        "The stable jackknife needs predictions clipped to a FixedRange, ObservedRange or TrimmedRange. Got "
        f"prediction_range={rule!r}."
    )


def _certificate(rule: PredictionRange | None, interval: Any, law: ResolvedScheme, n_bags: int | float) -> Certificate:
    """Return the certificate for every data set, where all rows that determine the range may change it."""
    changing, (low, high) = 2 * _trimmed_rows(rule) / law.n_samples, interval
    if changing == 0:
        return Certificate(law, law.n_samples, n_bags, range_length=high - low)
    outputs = AdaptiveOutputs(high - low, min(1.0, changing), high - low)
    return Certificate(law, law.n_samples, n_bags, outputs=outputs)
