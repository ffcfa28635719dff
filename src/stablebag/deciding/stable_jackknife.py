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

_TYPICAL_RESIDUAL = 0.1  # of the range: the deviation of residuals for which the interval is made shortest


@dataclass(frozen=True)
class StableJackknife(Jackknife):
    """The jackknife whose radius is a residual of higher rank plus epsilon, so that it is proved to cover.

    Parameters
    ----------
    level : Fraction
        The level 1 - a.
    units : Units or None, default=None
        None: it is proved for rows only.
    epsilon : float, default=0.0
        The perturbation that is added to the radius.
    delta : float, default=0.0
        The share of rows that may move a prediction by more than epsilon.
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
            reason = "stability is proved only for bagged models. Wrap it in BaggedRegressor."
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
        """Choose, without looking at residuals, a share of rows and with it an epsilon and a rank."""
        check_choice(bound, "bound", owner, ("best", "paper"))
        n, trimmed = certificate.n_samples, _trimmed_rows(rule)
        least = 2 * trimmed / n
        if delta is not None:
            delta = check_delta(delta, owner)
            shares = [delta]
            if delta < least:
                reason = "that many rows can each change the range to which predictions are clipped."
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
            f"Proved for exchangeable rows and any learner: coverage is at least {float(self.level):g}, by the "
            f"certificate. At most a share {as_given(self.delta)} of the rows moves a prediction by more than "
            f"{rounded_up(self.epsilon)}, which is added to the radius."
        )

    def warn_if_vacuous(self) -> None:
        """Warn about a radius that says nothing, on behalf of the function that the user called."""
        if self.epsilon >= self.range_length > 0:
            warnings.warn(
                f"The stable jackknife adds the whole range of predictions, {self.range_length:g}, because with so few "
                "rows or bags nothing less is proved. Use the jackknife+, or more rows and bags.",
                stacklevel=3,
            )

    def _radius(self, residuals: np.ndarray) -> float:
        return super()._radius(residuals) + self.epsilon

    def typical_radius(self, n_samples: int) -> float:
        """Return what the radius would be for normal residuals whose deviation is a tenth of the range."""
        level = self.residual / (n_samples + 1)
        return self.epsilon + _TYPICAL_RESIDUAL * self.range_length * float(norm.ppf((1 + level) / 2))


def stable_rank(delta: float, n_samples: int, trimmed: int, level: Fraction, bound: str) -> int:
    """Return the rank whose residual plus epsilon covers with probability `level`, with a share delta of unstable rows.

    With N = n + 1 points, rank k and shares delta, the chance of a miss is at most (N - k) / N + t / N, where t is the
    largest number with t (t + 1) / 2 <= N n delta (docs/proofs.md, 8); or (N - k) / N + 2 sqrt(delta), as in the paper.
    A range taken from the `trimmed` smallest and largest targets adds 2 `trimmed` / N to that chance.
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
        message = f"A share delta={delta:g} of unstable rows costs more than the {missed:g} that may be missed."
    elif trimmed:
        message = (
            "The stable jackknife has no choice of epsilon and delta that leaves a positive level: of "
            f"{n_samples} rows, {2 * trimmed} can change the range of predictions, which costs more than the "
            f"{missed:g} allowed."
        )
    else:
        message = f"Level {float(level):g} asks for more residuals than the {n_samples} rows have."
    if not enough(most):
        return message + " Use a smaller delta, or a lower level."
    needed = first_step(n_samples, most, enough)
    ways = [f"{needed:,} rows to be defined, and many more to be of use", "a lower level"]
    return f"{message} It would take {', or '.join([*ways, 'a FixedRange'] if trimmed else ways)}."


def _trimmed_rows(rule: PredictionRange | None) -> int:
    """How many of the smallest targets, and how many of the largest, determine the range."""
    if isinstance(rule, FixedRange):
        return 0
    if isinstance(rule, ObservedRange):
        return 1
    if isinstance(rule, TrimmedRange):
        return rule.rank
    raise ValueError(
        f"The stable jackknife is proved for predictions clipped to a FixedRange, ObservedRange or TrimmedRange. Got "
        f"prediction_range={rule!r}."
    )


def _certificate(rule: PredictionRange | None, interval: Any, law: ResolvedScheme, n_bags: int | float) -> Certificate:
    """The certificate for *every* data set, in which all rows that determine the range change it; in units of y."""
    changing, (low, high) = 2 * _trimmed_rows(rule) / law.n_samples, interval
    if changing == 0:
        return Certificate(law, law.n_samples, n_bags, range_length=high - low)
    outputs = AdaptiveOutputs(high - low, min(1.0, changing), high - low)
    return Certificate(law, law.n_samples, n_bags, outputs=outputs)
