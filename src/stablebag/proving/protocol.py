"""What every certificate provides, of which displays, studies and reports use nothing else, and what all share."""

from typing import Any, Protocol, runtime_checkable

import numpy as np

from stablebag._checks import check_choice
from stablebag._wording import preformatted
from stablebag.proving.scope import Scope


@runtime_checkable
class StabilityCertificate(Protocol):
    """What is proved about how far leaving out a row moves predictions.

    A value is one number, or an array with one for each point (and class) if the certificate is about some points.
    """

    @property
    def scope(self) -> Scope:
        """What it is about."""

    @property
    def n_samples(self) -> int:
        """The number of training rows."""

    @property
    def range_length(self) -> float:
        """The largest distance between two predictions, which is known without any proof."""

    def epsilon(self, delta: float) -> Any:
        """Return the perturbation that at most a share `delta` of the rows exceeds."""

    def delta(self, epsilon: float) -> Any:
        """Return the share of rows that can move the prediction by more than `epsilon`."""

    def mean(self) -> Any:
        """Return a bound on the mean over rows."""

    def rms(self) -> Any:
        """Return a bound on the root mean square over rows."""

    def worst_case(self) -> float:
        """Return the perturbation that no row exceeds."""

    def curve(self, over_points: str = "max") -> tuple[np.ndarray, np.ndarray]:
        """Return epsilon and delta as a curve."""

    def explain(self, delta: float = 0.05) -> str:
        """Explain in sentences what is promised for a share `delta` of the rows."""

    def to_dict(self) -> dict[str, Any]:
        """Return the certificate as a dictionary that JSON takes."""


class Spoken:
    """What certificates share: a curve and a text, made of what each of them proves."""

    def curve(self: StabilityCertificate, over_points: str = "max") -> tuple[np.ndarray, np.ndarray]:
        """Return what is proved as a curve: the smallest epsilon for each share of rows.

        Parameters
        ----------
        over_points : {"max", "mean"}, default="max"
            The worst of the points, or the average over points, if the certificate is about some.

        Returns
        -------
        epsilon : ndarray
        delta : ndarray
        """
        over_points = check_choice(over_points, "over_points", "curve", ("max", "mean"))
        n = self.n_samples
        steps = 200 if n <= 2000 else 50  # the exact frontier takes long for many rows
        rows = np.minimum(np.geomspace(1, n - 1, steps), 2.0**62).astype(np.int64)  # all rows need no proof
        shares = np.unique(rows) / n
        proved = np.array([self.epsilon(share) for share in shares])
        if proved.ndim == 1:
            finite = np.isfinite(proved)
            return proved[finite], shares[finite]
        # A mean of epsilon over points would not bound the mean of delta: delta's mean is taken at each epsilon.
        levels = np.quantile(proved.reshape(len(shares), -1), [0.0, 0.5, 1.0], axis=1)
        epsilon = np.unique(levels[np.isfinite(levels)])[::-1]
        summary = np.mean if over_points == "mean" else np.max
        each = np.array([summary(self.delta(level), axis=0) for level in epsilon])
        return epsilon, each.reshape(len(epsilon), -1).max(axis=1)  # over classes, the weakest of the bounds

    def __str__(self: StabilityCertificate) -> str:
        return self.explain()

    def _repr_html_(self: StabilityCertificate) -> str:
        """For notebooks."""
        return preformatted(self.explain())
