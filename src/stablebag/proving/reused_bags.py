"""What is proved about leave-one-out predictions that reuse the drawn bags, for exactly these bags."""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from stablebag._checks import check_delta, check_epsilon, hold_read_only, whole_rows
from stablebag._wording import as_given, count_bags, count_points, paragraphs, rounded_up
from stablebag.proving.certificate import at_most_rows
from stablebag.proving.outputs import about_empty_bags
from stablebag.proving.proof import TRIVIAL
from stablebag.proving.protocol import Spoken
from stablebag.proving.scope import Quantity, Scope


@dataclass(frozen=True, eq=False)
class ReusedBagsCertificate(Spoken):
    """What is proved about leave-one-out predictions that reuse the drawn bags, for exactly these bags.

    Made by `certify_reused`. For every learner and every point, the mean over rows of the squared perturbation is at
    most lambda times the variance of the output over the drawn bags, where lambda is the largest eigenvalue of a
    matrix that depends only on which rows are in which bags (Barber and Samworth 2026, Proposition 5, for the empirical
    law of the bags; docs/proofs.md, 7). Nothing is random here: there is no confidence level, and no price for finitely
    many bags.

    It is about what `leave_one_out` measures, where the prediction without row i is the average over the bags without
    it. It is not about a model fitted anew.

    Attributes
    ----------
    eigenvalue : float
        The eigenvalue lambda.
    largest_inclusion : float
        The largest share of the bags that one row is in. No row that leaves the range unchanged moves a prediction by
        more than this times the range.
    scale : float
        The largest possible standard deviation over bags: half the range, or the radius of the outputs.
    range_length : float
        The length of the range of predictions; for vectors, the diameter of the outputs.
    scope : Scope
        What it is about.
    delta_range : float
        The share of rows whose removal changes the range to which predictions are clipped.
    reach : float
        How far these rows can move a prediction.
    standard_deviation : ndarray or None
        The standard deviation over the drawn bags at the points, if points were given.
    shift : float
        How far bags without rows alone move the average of a classifier when a class loses its only row.
    shifted_share : float
        The share of the rows that are the only ones of their class.
    limit : tuple of two floats, or None
        What the eigenvalue and the largest share of bags with a row would be with infinitely many bags: c and p.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from stablebag import BaggedRegressor, FixedRange, certify_reused
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = BaggedRegressor(n_bags=1000, prediction_range=FixedRange(0, 400), random_state=0).fit(X, y)
    >>> print(certify_reused(model).explain(delta=0.1))
    For these 1,000 bags as they were drawn, every learner and every test point: at most 44 of the
    442 rows (delta = 0.1) move the prediction by more than 49.73, where the prediction without a
    row is the average over the bags that do not contain it.
    Proved by the largest eigenvalue 0.006294 of the bags' own covariance (docs/proofs.md, 7). No
    row at all moves it by more than 219.3.
    With infinitely many bags it would be about 29.85 in place of 49.73: the rest is the price of
    drawing 1,000 at random, which about 4,000 would halve.
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
        """Return a bound on the mean over rows: one number, or one per point."""
        if self.delta_range == 0:
            return self._of_free_rows
        return np.minimum(self._of_free_rows + self.delta_range * self.reach, self.worst_case())

    def rms(self) -> Any:
        """Return a bound on the root mean square over rows: one number, or one per point."""
        if self.delta_range == 0:
            return self._of_free_rows
        return np.minimum(np.hypot(self._of_free_rows, math.sqrt(self.delta_range) * self.reach), self.worst_case())

    def worst_case(self) -> float:
        """Return the perturbation that no row exceeds, including those that change the range."""
        return self._most if self.delta_range == 0 else max(self._most, self.reach)

    def epsilon(self, delta: float) -> Any:
        """Return the perturbation that at most a share `delta` of the rows exceeds.

        Parameters
        ----------
        delta : float
            A share of the training rows, in [0, 1].

        Returns
        -------
        float, or ndarray of shape (n_points,) or (n_points, n_classes)
            For a share below that of the rows that change the range, it is the worst case.
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
        """Return the share of rows that can move the prediction by more than `epsilon`.

        Parameters
        ----------
        epsilon : float
            A perturbation, in the units of the prediction.

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

    def about_bags(self, delta: float = 0.05) -> str:
        """Say what would be proved with infinitely many bags, on average over the points.

        Parameters
        ----------
        delta : float, default=0.05
            A share of the training rows, in [0, 1].

        Returns
        -------
        str
            Empty if the bags were not drawn, or if it is not known.
        """
        price, enough = self._priced(delta, np.mean)
        now = float(np.mean(self.epsilon(delta)))
        if enough is None or not 0 < price < now < min(self.range_length, self.worst_case()):
            return ""
        several = self.standard_deviation is not None and self.standard_deviation.size > 1
        where = " on average over the points" if several else ""
        return (
            f"With infinitely many bags it would be about {rounded_up(now - price)} in place of {rounded_up(now)}"
            f"{where}: the rest is the price of drawing {self.scope.n_bags:,} at random, which about {enough:,} would "
            "halve."
        )

    def price(self, delta: float = 0.05) -> tuple[float, int | None]:
        """Return what of epsilon at the worst point is due to drawing finitely many bags, and how many would halve it.

        Both are estimates: they compare these bags with all of them, at the same spread over bags.

        Parameters
        ----------
        delta : float, default=0.05
            A share of the training rows, in [0, 1].

        Returns
        -------
        price : float
        enough : int or None
            None if the bags were not drawn, or if it is not known.
        """
        return self._priced(delta, np.max)

    def to_dict(self) -> dict[str, Any]:
        """Return the certificate as a dictionary that JSON takes."""
        values = {
            name: value for name, value in vars(self).items() if name not in ("scope", "standard_deviation", "limit")
        }
        spread = None if self.standard_deviation is None else self.standard_deviation.tolist()
        finite = {name: value if math.isfinite(value) else None for name, value in values.items()}
        return {"about": "these bags", **self.scope.to_dict(), **finite, "standard_deviation": spread}

    def explain(self, delta: float = 0.05) -> str:
        """Explain in sentences what is promised for a share `delta` of the rows.

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
        where = "every test point"
        if self.standard_deviation is not None:
            where = count_points(len(self.standard_deviation))
        learner = "every learner and" if self.standard_deviation is None else "the learner as fitted, at"
        vector = self.scope.quantity in (Quantity.VECTOR, Quantity.OUTPUTS)
        moved = "the vector of outputs by a distance of" if vector else "the prediction by"
        vacuous = math.isinf(largest) or largest >= self.range_length > 0
        by = f"{at_most_rows(delta, self.n_samples)} {moved} more than {rounded_up(largest)}"
        by = f"nothing is promised for delta = {as_given(delta)}" if vacuous else by
        bags = "all bags" if self.scope.n_bags is None else f"these {count_bags(self.scope.n_bags)} as they were drawn"
        sentences = [
            f"For {bags}, {learner} {where}: {by}, where the prediction without a row is the average over the bags "
            "that do not contain it.",
            f"{TRIVIAL.sentence}."
            if vacuous
            else f"Proved by the largest eigenvalue {self.eigenvalue:.4g} of the bags' own covariance (docs/proofs.md, "
            "7).",
        ]
        if math.isfinite(worst := self.worst_case()):
            sentences[-1] += f" No row at all moves it by more than {rounded_up(worst)}."
        sentences.append(self.about_bags(delta))
        if self.delta_range > 0:
            changing = round(self.delta_range * self.n_samples)
            rows = "1 row whose removal changes" if changing == 1 else f"{changing:,} rows whose removal changes"
            sentences.append(f"This includes the {rows} the range itself.")
        sentences.append(about_empty_bags(self.shift, self.shifted_share, self.n_samples))
        return paragraphs(self.scope.noun.in_place_of_rows(sentence) for sentence in sentences if sentence)

    def _priced(self, delta: float, over_points: Any) -> tuple[float, int | None]:
        if self.limit is None or self.scope.n_bags is None:
            return 0.0, None
        ideal = replace(self, eigenvalue=self.limit[0], largest_inclusion=self.limit[1], limit=None)
        price = float(over_points(self.epsilon(delta))) - float(over_points(ideal.epsilon(delta)))
        return (price, 4 * self.scope.n_bags) if price > 0 else (0.0, None)  # it falls with the root of their number

    @property
    def _most(self) -> float:
        """How far any row that leaves the range unchanged can move a prediction."""
        return min(self.range_length, self.largest_inclusion * self.range_length + self.shift)

    @property
    def _spread(self) -> Any:
        return self.scale if self.standard_deviation is None else np.minimum(self.standard_deviation, self.scale)

    @property
    def _of_free_rows(self) -> Any:
        """The bound on the root mean square over the rows that leave the range unchanged."""
        return math.sqrt(self.eigenvalue) * self._spread + self.shift * math.sqrt(self.shifted_share)
