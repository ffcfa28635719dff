"""The guarantee of a stable decision: a distance of scores, and the share of rows that may move them so far."""

import math
from dataclasses import dataclass
from typing import Any

from stablebag._checks import check_delta, check_real, whole_rows
from stablebag._wording import ROWS, Noun, Result, as_given, count_bags
from stablebag.models.functions import BaggedFindings
from stablebag.proving.certificate import Certificate
from stablebag.proving.outputs import VectorOutputs

_RELATIVE, _ROUNDING = 1e-9, 1e-12  # of distances


@dataclass(frozen=True)
class StabilityGuarantee:
    """How far scores may move so that decisions agree, and the share of rows that may move them further.

    Attributes
    ----------
    epsilon : float
        The Euclidean distance of scores below which decisions agree.
    delta : float
        The share of rows without which scores may move by epsilon or more; a share of rows, not a confidence.
    certificate : Certificate
        What proves it.
    epsilon_given : bool, default=False
        Whether epsilon was given, and delta follows from it; otherwise epsilon follows from delta.
    """

    epsilon: float
    delta: float
    certificate: Certificate
    epsilon_given: bool = False

    @classmethod
    def of(
        cls, model: BaggedFindings, radius: float, diameter: float, epsilon: Any, delta: Any, owner: str
    ) -> "StabilityGuarantee":
        """Return the guarantee about scores within a radius: epsilon from delta or, if epsilon is given, delta from it.

        Parameters
        ----------
        model : BaggedFindings
            The bags, fitted.
        radius : float
            The scores of every bag are within this distance of some point.
        diameter : float
            The largest distance between the scores of two bags.
        epsilon : float or None
            The distance, if it is given.
        delta : float
            The share of rows, which counts only if epsilon is None.
        owner : str
            Who asks, for error messages.

        Returns
        -------
        StabilityGuarantee
        """
        law = model.scheme_
        n_bags = math.inf if model.derandomized_ else len(model.bags_)
        coupling = "matched" if law.is_matched and math.isfinite(n_bags) else "any"
        outputs, noun = VectorOutputs(diameter, radius=radius), model.units_.noun
        certificate = Certificate(law, law.n_samples, n_bags, outputs=outputs, coupling=coupling, noun=noun)
        if epsilon is None:
            delta = check_delta(delta, owner)
            return cls(just_above(certificate.epsilon(delta)), delta, certificate)
        reason = "it is the distance of scores up to which decisions agree. Use a small one, or None with a delta."
        epsilon = check_real(epsilon, "epsilon", owner, open_low=True, finite=True, reason=reason)
        return cls(epsilon, certificate.delta(just_below(epsilon)), certificate, epsilon_given=True)

    def describe(self, agreement: str) -> str:
        """Say for how many rows decisions agree; `agreement` completes "what is found without the row"."""
        n, noun, n_bags = self.certificate.n_samples, self.certificate.noun, self.certificate.n_bags
        if self.delta >= 1:
            return nothing_proved(self.epsilon, n, n_bags, noun)
        proved = f"Proved for every data set of {noun.count(n)}:"
        if math.isinf(n_bags):
            which = for_most_rows(self.delta, n, noun)
            same = "with the same epsilon, law and seed"
            return f"{proved} {which}, what is found without the {noun.singular}, {same}, {agreement}."
        same = "with the same epsilon and law of bags"
        if self.certificate.coupling.name == "matched":
            same += f", seed and names of {noun.plural}"
        return f"{proved} what is found without {noun.any_one}, {same}, {agreement}, {rarely_fails(self.delta, noun)}."


class StableDecision(Result):
    """A decision from scores averaged over bags, with its guarantee."""

    stability: StabilityGuarantee

    @property
    def epsilon(self) -> float:
        """The distance of scores, or of shares of votes, below which decisions agree."""
        return self.stability.epsilon

    @property
    def delta(self) -> float:
        """The share of rows without which decisions may disagree; a share of rows, not a confidence."""
        return self.stability.delta


def just_above(proved: Any) -> Any:
    """Return an epsilon such that decisions agree where a certificate proves that scores move by no more than `proved`.

    Decisions agree for scores that are *less* than epsilon apart. The rest pays for rounding.
    """
    return proved * (1 + _RELATIVE) + _ROUNDING


def just_below(epsilon: float) -> float:
    """Return the distance to ask a certificate about, so that scores that move by no more are less than epsilon apart.

    >>> just_below(just_above(0.25)) >= 0.25 - 1e-15, just_below(0.0)
    (True, 0.0)
    """
    return max(0.0, epsilon * (1 - _RELATIVE) - _ROUNDING)


def nothing_proved(epsilon: float, n_samples: int, n_bags: float = math.inf, noun: Noun = ROWS) -> str:
    """Say that an epsilon is too small for a guarantee.

    >>> nothing_proved(0.01, 7), nothing_proved(0.01, 7, 40)[-24:]
    ('Nothing is proved at epsilon = 0.01: it is too small for 7 rows.', 'for 7 rows with 40 bags.')
    """
    bags = "" if math.isinf(n_bags) else f" with {count_bags(n_bags)}"
    return f"Nothing is proved at epsilon = {as_given(epsilon)}: it is too small for {noun.count(n_samples)}{bags}."


def for_most_rows(delta: float, n_samples: int, noun: Noun = ROWS) -> str:
    """Say for which rows a guarantee holds, in the middle of a sentence.

    >>> for_most_rows(0.05, 89), for_most_rows(0.001, 89)
    ('for all but at most 4 of the 89 rows (delta = 0.05)', 'for each of the 89 rows (delta = 0.001)')
    """
    n_others = whole_rows(delta, n_samples)
    which = f"all but at most {n_others:,}" if n_others else "each"
    return f"for {which} of the {n_samples:,} {noun.plural} (delta = {as_given(delta)})"


def rarely_fails(delta: float, noun: Noun = ROWS) -> str:
    """Say how rarely a guarantee about bags that are drawn anew fails, at the end of a sentence."""
    over = f"over the draw of bags and seeds and on average over the {noun.plural}"
    return f"except with a chance of at most {as_given(delta)}, {over}"
