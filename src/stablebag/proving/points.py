"""What is proved about a fitted model at some test points, with a confidence level over the draw of its bags."""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from stablebag._checks import check_delta, check_epsilon, hold_read_only, whole_rows
from stablebag._wording import as_given, count_points, paragraphs, rounded_down, rounded_up
from stablebag.proving import bounds
from stablebag.proving.certificate import Certificate, at_most_rows
from stablebag.proving.outputs import UnboundedOutputs
from stablebag.proving.protocol import Spoken
from stablebag.proving.scope import Quantity, Scope
from stablebag.proving.vector import VectorCertificate
from stablebag.resampling.subbagging import Subbagging
from stablebag.resampling.unequal import UnequalScheme


@dataclass(frozen=True, eq=False)
class PointCertificate(Spoken):
    """What is proved about a fitted model at some test points, with a confidence level over the draw of its bags.

    Made by `certify` with points. The mean over rows of the squared perturbation of derandomized bagging is at most
    c s^2, where s is the standard deviation of the output over bags at that point (proof of Theorem 8; Proposition 5 of
    Barber and Samworth 2026 if the law of bags does not treat all rows alike). Here s is
    bounded from the drawn bags (Maurer and Pontil 2009), at all points and classes at once. No value exceeds that of
    `certificate`, which holds for all data sets and points.

    Attributes
    ----------
    certificate : Certificate or VectorCertificate
        What holds for every learner, data set and point.
    standard_deviation : ndarray of shape (n_points,) or (n_points, n_classes)
        The bound on s, or its estimate if there is no bound, in the units of the prediction.
    estimate : ndarray like standard_deviation
        The standard deviation over the drawn bags.
    confidence : float
        The probability with which everything holds: 1 if all bags were listed.
    proved : bool
        Whether this is a certificate. It is not if the outputs have no bounds, so that s is only estimated.
    points : str or None
        The fingerprint of the points.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from stablebag import BaggedRegressor, certify
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = BaggedRegressor(n_bags=1000, random_state=0).fit(X[:400], y[:400])
    >>> print(certify(model, X[400:]).explain(delta=0.1))
    With confidence 95 % over the draw of the bags, for this data set and these 42 points: in
    expectation over bags and seeds (the same seed and names of rows with and without the row), at
    most a share 0.1 of the 400 rows move the prediction by more than 21.25 when left out (by more
    than 17.83 at half of the points).
    For every data set with this range of targets and every point it would be 30.85.
    """

    certificate: Certificate | VectorCertificate
    standard_deviation: np.ndarray
    estimate: np.ndarray
    confidence: float
    proved: bool
    points: str | None = None

    def __post_init__(self) -> None:
        hold_read_only(self)

    def epsilon(self, delta: float) -> np.ndarray:
        """Return the perturbation that at most a share `delta` of the rows exceeds, at each point.

        Parameters
        ----------
        delta : float
            A share of the training rows, in [0, 1].

        Returns
        -------
        ndarray of shape (n_points,) or (n_points, n_classes)
            In the units of the prediction.
        """
        delta = check_delta(delta, "PointCertificate.epsilon")
        rest, ceiling = self._rest(delta), self._ceiling(delta)
        if rest < 0 or delta == 1:
            return np.full(self.estimate.shape, ceiling)
        n = self.certificate.n_samples
        share = (whole_rows(rest, n) + 1) / n if math.isinf(self.certificate.n_bags) else rest
        if share == 0:
            return np.full(self.estimate.shape, ceiling)
        return np.minimum(self.rms_of_free_rows / math.sqrt(share), ceiling)

    def delta(self, epsilon: float) -> np.ndarray:
        """Return the share of rows that can move the prediction by more than `epsilon`, at each point.

        Parameters
        ----------
        epsilon : float
            A perturbation, in the units of the prediction.

        Returns
        -------
        ndarray of shape (n_points,) or (n_points, n_classes)
        """
        epsilon = check_epsilon(epsilon, "PointCertificate.delta")
        n, changing = self.certificate.n_samples, self._changing[0]
        root = self.rms_of_free_rows
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            share = np.where(root == 0, 0.0, (root / np.float64(epsilon)) ** 2)
        if math.isinf(self.certificate.n_bags):
            share = np.maximum(np.ceil(share * n) - 1, 0.0) / n
        return np.minimum(share + changing, 1.0 if self._unbounded else self.certificate.delta(epsilon))

    def explain(self, delta: float = 0.05) -> str:
        """Explain in sentences what is promised at these points for a share `delta` of the rows.

        Parameters
        ----------
        delta : float, default=0.05
            A share of the training rows, in [0, 1].

        Returns
        -------
        str
        """
        delta = check_delta(delta, "PointCertificate.explain")
        epsilon = self.epsilon(delta)
        n_points, n = len(epsilon), self.certificate.n_samples
        points = count_points(n_points)
        if math.isinf(self.certificate.n_bags):
            rows = at_most_rows(delta, n)
        else:
            matched = " (the same seed and names of rows with and without the row)"
            how = matched if self.certificate.coupling.name == "matched" else ""
            rows = f"in expectation over bags and seeds{how}, at most a share {as_given(delta)} of the {n:,} rows move"
        what = "vector of outputs" if isinstance(self.certificate, VectorCertificate) else "prediction"
        each_point = epsilon.reshape(n_points, -1).max(axis=1)  # over classes, the weakest of the bounds
        middle, largest, ceiling = float(np.median(each_point)), float(epsilon.max()), self._ceiling(delta)
        moves = f"{rows} the {what} by more than {rounded_up(largest)} when left out"
        if middle < largest:
            moves += f" (by more than {rounded_up(middle)} at half of the points)"
        elif (smallest := float(each_point.min())) < largest:
            moves += f" (by more than {rounded_up(smallest)} at the best of the points)"
        if each_point.min() >= ceiling:
            moves = f"nothing more is known for delta = {as_given(delta)} than for every data set and point"
        if self.proved and self.confidence < 1:
            head = (
                f"With confidence {rounded_down(100 * self.confidence, 6)} % over the draw of the bags, for this data "
                f"set and {points}"
            )
        elif self.proved:
            head = f"For this data set and {points}"
        else:
            head = f"An estimate, not a certificate, for this data set and {points}"
        sentences = [f"{head}: {moves}."]
        if not self.proved:
            sentences.append(
                "The outputs have no bounds, so the standard deviation over bags is estimated, not bounded. Clip "
                "predictions to a range for a certificate."
            )
        elif math.isfinite(ceiling):
            of = self.certificate
            such = of.such if isinstance(of, VectorCertificate) else of.scheme.scheme.such + of.outputs.such(of.scheme)
            sentences.append(f"For every data set{such} and every point it would be {rounded_up(ceiling)}.")
        return paragraphs(self.certificate.noun.in_place_of_rows(sentence) for sentence in sentences)

    @property
    def n_samples(self) -> int:
        """The number of training rows."""
        return self.certificate.n_samples

    @property
    def range_length(self) -> float:
        """The largest distance between two predictions."""
        return math.inf if self._unbounded else self.certificate.range_length

    @property
    def scope(self) -> Scope:
        """What it is about."""
        scope = replace(self.certificate.scope, n_points=len(self.estimate), points=self.points, proved=self.proved)
        return replace(scope, quantity=Quantity.NUMBER) if self._unbounded else scope

    def mean(self) -> np.ndarray:
        """Return a bound on the mean over rows of the expected perturbation, at each point."""
        return self._with_rows_changing_range(1)

    def rms(self) -> np.ndarray:
        """Return a bound on the root of the mean over rows of the expected squared perturbation, at each point."""
        return self._with_rows_changing_range(2)

    def worst_case(self) -> float:
        """Return the perturbation that no row exceeds, at any point."""
        return math.inf if self._unbounded else self.certificate.worst_case()

    def to_dict(self) -> dict[str, Any]:
        """Return the certificate as a dictionary that JSON takes."""
        return {
            "about": "these points",
            **self.certificate.to_dict(),
            "standard_deviation": self.standard_deviation.tolist(),
            "estimate": self.estimate.tolist(),
            "confidence": self.confidence,
            "proved": self.proved,
        }

    def _with_rows_changing_range(self, order: int) -> np.ndarray:
        (changing, most), total = self._changing, self.rms_of_free_rows
        if changing > 0:
            added = changing * most if order == 1 else math.sqrt(changing) * most
            total = total + added if order == 1 else np.hypot(total, added)
        known = math.inf if self._unbounded else self.certificate.mean() if order == 1 else self.certificate.rms()
        return np.asarray(np.minimum(total, known))

    @property
    def _unbounded(self) -> bool:
        return isinstance(self.certificate, Certificate) and isinstance(self.certificate.outputs, UnboundedOutputs)

    def _ceiling(self, delta: float) -> float:
        """What holds in any case, in the units of the prediction; for unbounded outputs, nothing does."""
        if self._unbounded:
            return 0.0 if delta == 1 else math.inf
        return self.certificate.epsilon(delta)

    def _rest(self, delta: float) -> float:
        """What is left of a share of rows after those that change the range."""
        return self.certificate.without_rows_changing_range(delta)

    @property
    def rms_of_free_rows(self) -> np.ndarray:
        """The bound on the root mean square over the rows that leave the range unchanged, at each point."""
        proved = self.certificate
        law, unit = proved.scheme, self._unit
        if isinstance(law.scheme, UnequalScheme):
            ragged = law.scheme.raggedness(law.n_samples)
        else:
            ragged = 1.0 if type(law.scheme) is Subbagging else 1 / (1 - law.inclusion_probability)
        of = proved if isinstance(proved, VectorCertificate) else proved.outputs
        shift, share = of.shift / unit, of.shifted_share
        # The noise of the bags without rows: such a bag moves the output by shift / chance, with that chance.
        chance = law.empty_without_a_row
        variance = chance * (1 - chance) if chance < 0.5 else 0.25  # even if only a bound on the chance is known
        noise = shift / chance * math.sqrt(share * variance) if shift > 0 else 0.0
        squares = bounds.observed_mean_square(
            self.standard_deviation / unit, law.constant, proved.n_bags, ragged, proved.coupling,
            shift=shift * math.sqrt(share), shift_noise=noise,
            shift_square=share * shift**2 / chance if shift > 0 else 0.0, width=self._width / unit,
        )  # fmt: skip
        return np.asarray(np.sqrt(squares) * unit)

    @property
    def _changing(self) -> tuple[float, float]:
        """The share of rows that change the range, and how far they can move a prediction."""
        return self.certificate.delta_range, self.certificate.reach

    @property
    def _width(self) -> float:
        """The length of the range, or twice the radius of vectors."""
        return 2 * self.certificate.radius if isinstance(self.certificate, VectorCertificate) else self.range_length

    @property
    def _unit(self) -> float:
        """The unit of length for computations, so that no square leaves the range of floats."""
        largest = float(np.max(self.standard_deviation, initial=0.0))
        return largest or 1.0
