"""Certificates at given test points, and for bags that are reused."""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from stablebag._checks import check_delta, check_epsilon, hold_read_only, whole_rows
from stablebag._wording import as_given, count_bags, count_points, paragraphs, rounded_down, rounded_up
from stablebag.proving import bounds
from stablebag.proving.certificate import TRIVIAL, Certificate, CertificateMixin, at_most_rows, expected_rows
from stablebag.proving.outputs import describe_shift
from stablebag.proving.scope import Quantity, Scope

# --------------------------------------------------------------------------------------------------------------- points


@dataclass(frozen=True, eq=False)
class PointCertificate(CertificateMixin):
    """A guarantee for a fitted model at given test points, with a confidence level over the draw of its bags.

    Made by `certify` with points. Averaged over all bags, the mean over rows of the squared change is at most c s^2,
    where s is the standard deviation of the output over bags at that point (proof of Theorem 8; Proposition 5 of Barber
    and Samworth 2026 for a scheme that does not treat all rows alike). The drawn bags give an upper bound on s (Maurer
    and Pontil 2009), at all points and classes at once. No value exceeds that of `certificate`, which holds for all
    data sets and points.

    Attributes
    ----------
    certificate : Certificate
        The guarantee for every learner, data set and point.
    standard_deviation : ndarray of shape (n_points,) or (n_points, n_classes)
        The bound on s in the units of the prediction, or its estimate if there is no bound on s.
    estimate : ndarray like standard_deviation
        The standard deviation over the drawn bags.
    confidence : float
        The probability with which everything holds; 1 if all bags were listed.
    proved : bool
        Whether this is a guarantee. It is False if the outputs are unlimited, because s is then only estimated.
    points : str or None
        The fingerprint of the points.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from stablebag import BaggedRegressor, certify
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = BaggedRegressor(n_bags=1000, random_state=0).fit(X[:400], y[:400])
    >>> print(certify(model, X[400:]).explain(delta=0.1))
    At each of these 42 points, at most 10% of the 400 rows (delta = 0.1) are expected to change
    the prediction by more than 17.98 when left out, and at half of the points by more than 15.09.
    The expectation is over the draw of bags and seeds. This holds for this learner and data set
    with 95% confidence over the draw of the model's bags, if both fits have the same seed and row
    IDs, so that bags without the row stay the same.
    For every data set with this range of targets and every point, the bound is 21.85.
    """

    certificate: Certificate
    standard_deviation: np.ndarray
    estimate: np.ndarray
    confidence: float
    proved: bool
    points: str | None = None

    def __post_init__(self) -> None:
        hold_read_only(self)

    def epsilon(self, delta: float) -> np.ndarray:
        """Return the change that at most a share `delta` of the rows exceeds, at each point.

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
        """Return the largest share of rows that can change the prediction by more than `epsilon`, at each point.

        Parameters
        ----------
        epsilon : float
            A change, in the units of the prediction.

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
        """Explain in sentences what is guaranteed at these points for a share `delta` of the rows.

        Parameters
        ----------
        delta : float, default=0.05
            A share of the training rows, in [0, 1].

        Returns
        -------
        str
        """
        delta = check_delta(delta, "PointCertificate.explain")
        epsilon, of = self.epsilon(delta), self.certificate
        n_points, n, noun, drawn = len(epsilon), of.n_samples, of.noun, math.isfinite(of.n_bags)
        each_point = epsilon.reshape(n_points, -1).max(axis=1)  # over classes, the weakest of the bounds
        middle, largest, ceiling = float(np.median(each_point)), float(epsilon.max()), self._ceiling(delta)
        rows = expected_rows(delta, n, noun) if drawn else at_most_rows(delta, n, noun)
        points = "this point" if n_points == 1 else f"each of {count_points(n_points)}"
        where = f"at {points}, {rows} {of.outputs.moved} more than {rounded_up(largest)} when left out"
        if middle < largest:
            where += f", and at half of the points by more than {rounded_up(middle)}"
        elif (smallest := float(each_point.min())) < largest:
            where += f", and at the best point by more than {rounded_up(smallest)}"
        where = where if self.proved else f"As an estimate, not a guarantee, {where}"
        sentences = [f"{where[0].upper()}{where[1:]}."]
        fits = f", {of.coupling.describe(noun)}" if drawn else ""
        sure = ""
        if self.proved and self.confidence < 1:
            sure = f" with {rounded_down(100 * self.confidence, 6)}% confidence over the draw of the model's bags"
        sentences[0] += " The expectation is over the draw of bags and seeds." if drawn else ""
        sentences[0] += f" This holds for this learner and data set{sure}{fits}."
        if each_point.min() >= ceiling:
            sentences = [
                f"At {points}, the guarantee for delta = {as_given(delta)} is the one for every data set and point."
            ]
        if not self.proved:
            sentences.append(
                "The outputs have no limits, so the standard deviation over bags is only estimated. For a guarantee, "
                "clip predictions to a range, such as prediction_range=ObservedRange()."
            )
        elif math.isfinite(ceiling):
            data = f"every data set{of.condition}"
            sentences.append(f"For {data} and every point, the bound is {rounded_up(ceiling)}.")
        return paragraphs(sentences)

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
        """What the certificate is about."""
        scope = replace(self.certificate.scope, n_points=len(self.estimate), points=self.points, proved=self.proved)
        return replace(scope, quantity=Quantity.NUMBER) if self._unbounded else scope

    def mean(self) -> np.ndarray:
        """Return a bound on the mean over rows of the expected change, at each point."""
        return self._with_rows_changing_range(1)

    def rms(self) -> np.ndarray:
        """Return a bound on the root of the mean over rows of the expected squared change, at each point."""
        return self._with_rows_changing_range(2)

    def worst_case(self) -> float:
        """Return the change that no row exceeds, at any point."""
        return math.inf if self._unbounded else self.certificate.worst_case()

    def to_dict(self) -> dict[str, Any]:
        """Return the certificate as a dictionary for JSON."""
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
        return self.certificate.outputs.quantity is Quantity.RELATIVE

    def _ceiling(self, delta: float) -> float:
        """What holds at every point, in the units of the prediction; infinite for unbounded outputs."""
        if self._unbounded:
            return 0.0 if delta == 1 else math.inf
        return self.certificate.epsilon(delta)

    def _rest(self, delta: float) -> float:
        """A share of rows less those that change the range."""
        return self.certificate.without_rows_changing_range(delta)

    @property
    def rms_of_free_rows(self) -> np.ndarray:
        """The bound on the root mean square over the rows that leave the range unchanged, at each point."""
        proved = self.certificate
        law, unit = proved.scheme, self._unit
        width = math.inf if self._unbounded else proved.outputs.width
        shift, share = proved.outputs.shift / unit, proved.outputs.shifted_share
        # The noise of the bags without rows: such a bag moves the output by shift / chance, with that chance.
        chance = law.empty_without_a_row
        variance = chance * (1 - chance) if chance < 0.5 else 0.25  # even if only a bound on the chance is known
        noise = shift / chance * math.sqrt(share * variance) if shift > 0 else 0.0
        squares = bounds.observed_mean_square(
            self.standard_deviation / unit, law.constant, proved.n_bags, law.raggedness, proved.coupling,
            shift=shift * math.sqrt(share), shift_noise=noise,
            shift_square=share * shift**2 / chance if shift > 0 else 0.0, width=width / unit,
        )  # fmt: skip
        return np.asarray(np.sqrt(squares) * unit)

    @property
    def _changing(self) -> tuple[float, float]:
        """The share of rows that change the range, and how far they can change a prediction."""
        return self.certificate.delta_range, self.certificate.reach

    @property
    def _unit(self) -> float:
        """A unit of length in which no square leaves the range of floats."""
        largest = float(np.max(self.standard_deviation, initial=0.0))
        return largest or 1.0


# ---------------------------------------------------------------------------------------------------------- reused bags


@dataclass(frozen=True, eq=False)
class ReusedBagsCertificate(CertificateMixin):
    """A guarantee for leave-one-out predictions that reuse the drawn bags, for exactly these bags.

    Made by `certify` with ``reused=True``. It bounds what `leave_one_out` measures, where the prediction without row i
    is the average over the bags without it. It does not bound the change of a refitted model.

    For every learner and every point, the mean over rows of the squared change is at most lambda times the variance of
    the output over the drawn bags. Here lambda is the largest eigenvalue of a matrix that depends only on which rows
    are in which bags (Barber and Samworth 2026, Proposition 5, for the empirical law of the bags; docs/proofs.md, 7).
    Nothing is random here, so there is no confidence level.

    Attributes
    ----------
    eigenvalue : float
        The eigenvalue lambda.
    largest_inclusion : float
        The largest share of the bags that one row is in. No row that leaves the range unchanged changes a prediction by
        more than this times the range.
    scale : float
        The largest possible standard deviation over bags: half the range, or the radius of the outputs.
    range_length : float
        The length of the range of predictions; for vectors, the diameter of the outputs.
    scope : Scope
        What the certificate is about.
    delta_range : float
        The share of rows whose removal changes the range that predictions are clipped to.
    reach : float
        How far these rows can change a prediction.
    standard_deviation : ndarray or None
        The standard deviation over the drawn bags at the points, if points were given.
    shift : float
        How far bags without rows change the average of a classifier when a class loses its only row.
    shifted_share : float
        The share of the rows that are the only ones of their class.
    limit : tuple of two floats, or None
        What the eigenvalue and the largest share of bags with a row would be with infinitely many bags: c and p.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from stablebag import BaggedRegressor, FixedRange, certify
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = BaggedRegressor(n_bags=1000, prediction_range=FixedRange(0, 400), random_state=0).fit(X, y)
    >>> print(certify(model, reused=True).explain(delta=0.1))
    At any test point, at most 44 of the 442 rows (delta = 0.1) change the prediction by more than
    49.73 when left out. This holds for every learner, with these 1,000 bags: the prediction
    without a row is the average over the bags that do not contain it.
    Proved by the largest eigenvalue 0.006294 of the covariance of these bags (docs/proofs.md, 7).
    No row changes it by more than 219.3.
    With infinitely many bags, the bound would be about 29.85 instead of 49.73. About 4,000 bags
    would halve the difference.
    """

    eigenvalue: float
    largest_inclusion: float
    scale: float
    range_length: float
    scope: Scope
    delta_range: float = 0.0
    reach: float = math.inf
    standard_deviation: np.ndarray | None = None
    shift: float = 0.0
    shifted_share: float = 0.0
    limit: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        hold_read_only(self)

    @property
    def n_samples(self) -> int:
        """The number of training rows."""
        return self.scope.n_samples

    def mean(self) -> Any:
        """Return a bound on the mean change over rows: one number, or one per point."""
        if self.delta_range == 0:
            return self._of_free_rows
        return np.minimum(self._of_free_rows + self.delta_range * self.reach, self.worst_case())

    def rms(self) -> Any:
        """Return a bound on the root mean square of the change over rows: one number, or one per point."""
        if self.delta_range == 0:
            return self._of_free_rows
        return np.minimum(np.hypot(self._of_free_rows, math.sqrt(self.delta_range) * self.reach), self.worst_case())

    def worst_case(self) -> float:
        """Return the change that no row exceeds, including rows that change the range."""
        return self._most if self.delta_range == 0 else max(self._most, self.reach)

    def epsilon(self, delta: float) -> Any:
        """Return the change that at most a share `delta` of the rows exceeds.

        Parameters
        ----------
        delta : float
            A share of the training rows, in [0, 1].

        Returns
        -------
        float, or ndarray of shape (n_points,) or (n_points, n_classes)
            If more rows than this share change the range, it is the worst case.
        """
        delta = check_delta(delta, "ReusedBagsCertificate.epsilon")
        rows = whole_rows(delta, self.n_samples) - round(self.delta_range * self.n_samples)
        if delta == 1:
            return 0.0 * self._spread
        if rows < 0:
            return self.worst_case() + 0.0 * self._spread
        bound = np.minimum(math.sqrt(self.n_samples / (rows + 1)) * self._of_free_rows, self._most)
        return bound if self.standard_deviation is not None else float(bound)

    def delta(self, epsilon: float) -> Any:
        """Return the largest share of rows that can change the prediction by more than `epsilon`.

        Parameters
        ----------
        epsilon : float
            A change, in the units of the prediction.

        Returns
        -------
        float, or ndarray of shape (n_points,) or (n_points, n_classes)
        """
        epsilon = check_epsilon(epsilon, "ReusedBagsCertificate.delta")
        root = np.asarray(self._of_free_rows)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            share = np.where(root == 0, 0.0, (root / np.float64(epsilon)) ** 2)
        share = np.where(epsilon >= self._most, 0.0, np.maximum(np.ceil(share * self.n_samples) - 1, 0.0))
        total = np.minimum(share / self.n_samples + self.delta_range, 1.0) * (epsilon < self.worst_case())
        return total if self.standard_deviation is not None else float(total)

    def describe_price(self, delta: float = 0.05) -> str:
        """Say what the bound would be with infinitely many bags, on average over the points.

        Parameters
        ----------
        delta : float, default=0.05
            A share of the training rows, in [0, 1].

        Returns
        -------
        str
            Empty if the bags were not drawn, or if nothing is known about it.
        """
        price, enough = self._priced(delta, np.mean)
        now = float(np.mean(self.epsilon(delta)))
        if enough is None or not 0 < price < now < min(self.range_length, self.worst_case()):
            return ""
        several = self.standard_deviation is not None and self.standard_deviation.size > 1
        where = " on average over the points" if several else ""
        return (
            f"With infinitely many bags, the bound would be about {rounded_up(now - price)} instead of "
            f"{rounded_up(now)}{where}. About {enough:,} bags would halve the difference."
        )

    def price(self, delta: float = 0.05) -> tuple[float, int | None]:
        """Return what using finitely many bags adds to epsilon at the worst point, and how many bags are enough.

        The first number is an estimate: it compares these bags with all bags, at the same spread over bags. It falls
        with the root of the number of bags. The second number is not known.

        Parameters
        ----------
        delta : float, default=0.05
            A share of the training rows, in [0, 1].

        Returns
        -------
        price : float
        enough : None
            Not known here, unlike in `Certificate.price`.
        """
        return self._priced(delta, np.max)[0], None

    def to_dict(self) -> dict[str, Any]:
        """Return the certificate as a dictionary for JSON."""
        values = {
            name: value for name, value in vars(self).items() if name not in ("scope", "standard_deviation", "limit")
        }
        spread = None if self.standard_deviation is None else self.standard_deviation.tolist()
        finite = {name: value if math.isfinite(value) else None for name, value in values.items()}
        return {"about": "these bags", **self.scope.to_dict(), **finite, "standard_deviation": spread}

    def explain(self, delta: float = 0.05) -> str:
        """Explain in sentences what is guaranteed for a share `delta` of the rows.

        Parameters
        ----------
        delta : float, default=0.05
            A share of the training rows, in [0, 1].

        Returns
        -------
        str
        """
        delta = check_delta(delta, "ReusedBagsCertificate.explain")
        largest = float(np.max(self.epsilon(delta)))
        where, holds = "any test point", "for every learner"
        if self.standard_deviation is not None:
            n_points = len(self.standard_deviation)
            where = "this point" if n_points == 1 else f"each of {count_points(n_points)}"
            holds = "for this learner and data set"
        noun = self.scope.noun
        moved = {
            Quantity.VECTOR: "the vector of outputs by a distance of",
            Quantity.OUTPUTS: "the vector of outputs by a distance of",
            Quantity.CLASS: "the probability of a given class by",
        }.get(self.scope.quantity, "the prediction by")
        bags = "all bags" if self.scope.n_bags is None else f"these {count_bags(self.scope.n_bags)}"
        if math.isinf(largest) or largest >= self.range_length > 0:
            sentences = [f"Nothing is guaranteed for delta = {as_given(delta)}.", TRIVIAL.sentence]
        else:
            rows = at_most_rows(delta, self.n_samples, noun)
            sentences = [
                f"At {where}, {rows} {moved} more than {rounded_up(largest)} when left out. This holds {holds}, with "
                f"{bags}: the prediction without {noun.any_one} is the average over the bags that do not contain it.",
                f"Proved by the largest eigenvalue {self.eigenvalue:.4g} of the covariance of these bags "
                "(docs/proofs.md, 7).",
            ]
        if math.isfinite(worst := self.worst_case()):
            sentences[-1] += f" No {noun.singular} changes it by more than {rounded_up(worst)}."
        sentences.append(self.describe_price(delta))
        if self.delta_range > 0:
            changing = round(self.delta_range * self.n_samples)
            sentences.append(f"These numbers include the {noun.count(changing)} whose removal changes the range.")
        sentences.append(describe_shift(self.shift, self.shifted_share, self.n_samples, noun))
        return paragraphs(sentence for sentence in sentences if sentence)

    def _priced(self, delta: float, over_points: Any) -> tuple[float, int | None]:
        if self.limit is None or self.scope.n_bags is None:
            return 0.0, None
        ideal = replace(self, eigenvalue=self.limit[0], largest_inclusion=self.limit[1], limit=None)
        price = float(over_points(self.epsilon(delta))) - float(over_points(ideal.epsilon(delta)))
        return (price, 4 * self.scope.n_bags) if price > 0 else (0.0, None)  # it falls with the root of their number

    @property
    def _most(self) -> float:
        """How far any row that leaves the range unchanged can change a prediction."""
        return min(self.range_length, self.largest_inclusion * self.range_length + self.shift)

    @property
    def _spread(self) -> Any:
        return self.scale if self.standard_deviation is None else np.minimum(self.standard_deviation, self.scale)

    @property
    def _of_free_rows(self) -> Any:
        """The bound on the root mean square over the rows that leave the range unchanged."""
        return math.sqrt(self.eigenvalue) * self._spread + self.shift * math.sqrt(self.shifted_share)
