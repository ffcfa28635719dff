"""The promise behind a stable decision: a distance of scores, and the share of rows that may move them so far."""

import math
from dataclasses import dataclass
from typing import Any

from stablebag._checks import check_delta, check_real, whole_rows
from stablebag._wording import rounded_up
from stablebag.learning.findings import BaggedFindings
from stablebag.proving.vector import VectorCertificate

_ABOVE = 1 + 1e-9  # decisions agree for scores less than epsilon apart, and a certificate is about more than epsilon


@dataclass(frozen=True)
class Promise:
    """How far scores may move so that decisions agree, and the share of rows that may move them further.

    Attributes
    ----------
    epsilon : float
        The Euclidean distance of scores below which decisions agree.
    delta : float
        The share of rows without which scores may move by epsilon or more; a share of rows, not a confidence.
    certificate : VectorCertificate
        What proves it.
    """

    epsilon: float
    delta: float
    certificate: VectorCertificate

    @classmethod
    def of(
        cls, model: BaggedFindings, radius: float, diameter: float, epsilon: Any, delta: Any, owner: str
    ) -> "Promise":
        """Return the promise about scores within a radius: epsilon from delta or, if epsilon is given, delta from it.

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
        Promise
        """
        law = model.scheme_
        n_bags = math.inf if model.derandomized_ else len(model.bags_)
        coupling = "matched" if law.is_matched and math.isfinite(n_bags) else "any"
        sets = {"radius": radius, "diameter": diameter}
        certificate = VectorCertificate(law, law.n_samples, n_bags, **sets, coupling=coupling, noun=model.units_.noun)
        if epsilon is None:
            delta = check_delta(delta, owner)
            return cls(certificate.epsilon(delta) * _ABOVE, delta, certificate)
        reason = "it is the distance of scores up to which decisions agree. Use a small one, or None with a delta."
        epsilon = check_real(epsilon, "epsilon", owner, open_low=True, finite=True, reason=reason)
        return cls(epsilon, certificate.delta(epsilon / _ABOVE), certificate)

    def words(self, agreement: str) -> str:
        """Say for how many rows decisions agree; `agreement` completes "what is found without the row"."""
        n, noun = self.certificate.n_samples, self.certificate.noun
        if self.delta >= 1:
            said = f"Nothing is proved at epsilon = {self.epsilon:.4g}: it is too small for {n:,} rows."
        elif math.isinf(self.certificate.n_bags):
            rows = whole_rows(self.delta, n)
            said = (
                f"Proved for every data set of {n:,} rows: for all but at most {rows:,} of them (delta = "
                f"{share_of(self.delta)}), what is found without the row, with the same epsilon, law and seed, "
                f"{agreement}."
            )
        else:
            said = (
                f"Proved for every data set of {n:,} rows: what is found without a row, with the same epsilon and "
                f"{self._same}, {agreement}, except with a chance of at most {share_of(self.delta)}, over the draw "
                "of bags and seeds and on average over the rows."
            )
        return noun.in_place_of_rows(said)

    @property
    def _same(self) -> str:
        matched = self.certificate.coupling.name == "matched"
        return "law of bags, seed and names of rows" if matched else "law of bags"


def share_of(value: float) -> str:
    """Return a share as it was written, or else four digits rounded up.

    >>> share_of(0.05), share_of(1 / 3)
    ('0.05', '0.3334')
    """
    return f"{value:.4g}" if float(f"{value:.4g}") == value else rounded_up(value)
