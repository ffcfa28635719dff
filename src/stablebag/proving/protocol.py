"""What every certificate provides; displays, studies and reports use nothing else."""

from typing import Any, Protocol, runtime_checkable

import numpy as np

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
