"""The guarantee of a stable decision: a distance of scores, and the share of rows that may change them as much."""

import math
from dataclasses import dataclass
from typing import Any

from stablebag._checks import check_delta, check_real, whole_rows
from stablebag._wording import ROWS, Noun, Result, as_given, count_bags
from stablebag.models.functions import BaggedFindings
from stablebag.proving.certificate import Certificate
from stablebag.proving.outputs import VectorOutputs

_RELATIVE, _ROUNDING = 1e-9, 1e-12  # rounding errors of distances, relative and absolute


@dataclass(frozen=True)
class StabilityGuarantee:
    """How far scores may change so that decisions agree, and the share of rows that may change them more.

    Attributes
    ----------
    epsilon : float
        The Euclidean distance of scores below which decisions agree.
    delta : float
        The share of rows that may change scores by epsilon or more when left out. It is not a confidence.
    certificate : Certificate
        The certificate that proves it.
    epsilon_given : bool, default=False
        Whether epsilon was given and delta computed from it, or the other way round.
    """

    epsilon: float
    delta: float
    certificate: Certificate
    epsilon_given: bool = False

    @classmethod
    def of(
        cls, model: BaggedFindings, radius: float, diameter: float, epsilon: Any, delta: Any, owner: str
    ) -> "StabilityGuarantee":
        """Return the guarantee for scores within a radius: epsilon from delta or, if epsilon is given, delta from it.

        Parameters
        ----------
        model : BaggedFindings
            The fitted bags.
        radius : float
            The scores of all bags are within this distance of some point.
        diameter : float
            The largest distance between the scores of two bags.
        epsilon : float or None
            The distance, if given.
        delta : float
            The share of rows, used if epsilon is None.
        owner : str
            The public function, for error messages.

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
        reason = "it is the distance of scores up to which decisions agree. Use a small number, or None and a delta."
        epsilon = check_real(epsilon, "epsilon", owner, open_low=True, finite=True, reason=reason)
        return cls(epsilon, certificate.delta(just_below(epsilon)), certificate, epsilon_given=True)

    def describe(self, agreement: str) -> str:
        """Return the sentence for how many rows decisions agree; `agreement` completes "the result without the row"."""
        n, noun, n_bags = self.certificate.n_samples, self.certificate.noun, self.certificate.n_bags
        if self.delta >= 1:
            return nothing_proved(self.epsilon, n, n_bags, noun)
        proved = f"Proved for every data set of {noun.count(n)}:"
        if math.isinf(n_bags):
            which = for_most_rows(self.delta, n, noun)
            same = "with the same epsilon, law of bags and seed"
            return f"{proved} {which}, the result without the {noun.singular}, {same}, {agreement}."
        same = "with the same epsilon and law of bags"
        if self.certificate.coupling.name == "matched":
            same = f"with the same epsilon, law of bags, seed and {noun.singular} IDs"
        return f"{proved} the result without {noun.any_one}, {same}, {agreement}, {rarely_fails(self.delta, noun)}."


class StableDecision(Result):
    """A decision based on scores averaged over bags, with its guarantee."""

    stability: StabilityGuarantee

    @property
    def epsilon(self) -> float:
        """The distance of scores, or of shares of votes, below which decisions agree."""
        return self.stability.epsilon

    @property
    def delta(self) -> float:
        """The share of rows that may change the decision when left out. It is not a confidence."""
        return self.stability.delta


def just_above(proved: Any) -> Any:
    """Return an epsilon for which decisions agree if scores change by at most `proved`.

    Decisions agree for scores *less* than epsilon apart, so this is slightly more than `proved`, to allow for rounding.
    """
    return proved * (1 + _RELATIVE) + _ROUNDING


def just_below(epsilon: float) -> float:
    """Return the largest change of scores for which decisions at `epsilon` are sure to agree, despite rounding.

    >>> just_below(just_above(0.25)) >= 0.25 - 1e-15, just_below(0.0)
    (True, 0.0)
    """
    return max(0.0, epsilon * (1 - _RELATIVE) - _ROUNDING)


def nothing_proved(epsilon: float, n_samples: int, n_bags: float = math.inf, noun: Noun = ROWS) -> str:
    """Return the sentence that an epsilon is too small for a guarantee.

    >>> nothing_proved(0.01, 7), nothing_proved(0.01, 7, 40)[-24:]
    ('Nothing is proved at epsilon = 0.01: it is too small for 7 rows.', 'for 7 rows with 40 bags.')
    """
    bags = "" if math.isinf(n_bags) else f" with {count_bags(n_bags)}"
    return f"Nothing is proved at epsilon = {as_given(epsilon)}: it is too small for {noun.count(n_samples)}{bags}."


def for_most_rows(delta: float, n_samples: int, noun: Noun = ROWS) -> str:
    """Return the words for which rows a guarantee holds, in the middle of a sentence.

    >>> for_most_rows(0.05, 89), for_most_rows(0.001, 89)
    ('for all but at most 4 of the 89 rows (delta = 0.05)', 'for each of the 89 rows (delta = 0.001)')
    """
    n_others = whole_rows(delta, n_samples)
    which = f"all but at most {n_others:,}" if n_others else "each"
    return f"for {which} of the {n_samples:,} {noun.plural} (delta = {as_given(delta)})"


def rarely_fails(delta: float, noun: Noun = ROWS) -> str:
    """Return the words for how rarely a guarantee for refits fails, at the end of a sentence."""
    over = f"over the draw of bags and seeds and on average over the {noun.plural}"
    return f"except with a probability of at most {as_given(delta)}, {over}"
