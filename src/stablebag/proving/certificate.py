"""Certificates: the bounds in units and sentences, before any data is seen."""

import math
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from fractions import Fraction
from typing import Any, Protocol, runtime_checkable

import numpy as np
from scipy.special import logsumexp

from stablebag._checks import (
    as_array,
    as_fraction,
    as_share,
    check_bags,
    check_choice,
    check_delta,
    check_epsilon,
    check_flag,
    check_integer,
    check_real,
    check_samples,
    refuse_format,
    refuse_type,
    refuse_value,
    shown,
    whole_rows,
)
from stablebag._wording import (
    ROWS,
    Explained,
    Noun,
    as_given,
    count_bags,
    paragraphs,
    probability,
    rounded_up,
)
from stablebag.models.ranges import FixedRange, ObservedRange, as_prediction_range, as_units
from stablebag.proving import bounds, frontier
from stablebag.proving.coupling import Coupling, Matched, as_coupling
from stablebag.proving.leave_out import LeaveOutCertificate
from stablebag.proving.outputs import (
    AdaptiveOutputs,
    BoxOutputs,
    ClassOutputs,
    Labels,
    Outputs,
    VectorOutputs,
    ends_of,
    outputs_from_dict,
)
from stablebag.proving.scope import Quantity, Rerun, Scope
from stablebag.proving.tails import Tail, tail_of
from stablebag.resampling.law import ResamplingScheme, ResolvedScheme
from stablebag.resampling.schemes import Scheme, as_law, scheme_from_words
from stablebag.resampling.unequal import with_labels

# ---------------------------------------------------------------------------------------------------------------- proof
# A bound is a number with the name of its proof.


@dataclass(frozen=True)
class Proof:
    """Why a bound holds.

    Attributes
    ----------
    words : str
        The theorem or argument, to follow "Proved by".
    exact : bool
        Whether no smaller number holds for every learner.
    """

    words: str
    exact: bool = False

    @property
    def sentence(self) -> str:
        """Why the bound holds, in words."""
        if self.words == TRIVIAL.words:
            return f"All that is known is {self.words}."
        return f"Proved by {self.words}" + ("; no smaller number holds for every learner." if self.exact else ".")

    def and_(self, *others: str) -> "Proof":
        """Return the proof with more steps."""
        return Proof(", ".join([self.words, *others]), self.exact)


@dataclass(frozen=True, order=True)
class Bound:
    """A number with its proof. The smaller, the better.

    Attributes
    ----------
    value : float
        The number.
    proof : Proof
        Why it holds.
    """

    value: float
    proof: Proof = field(compare=False)


# It replaces Theorem 8 for a law that does not treat all rows alike (docs/proofs.md, 11).
PROPOSITION_5 = 'Proposition 5 of Barber and Samworth (2026), "Algorithmic stability via ensembling"'
TRIVIAL = Proof("that no prediction leaves its range")


# ------------------------------------------------------------------------------------------------------------- protocol
# What every certificate provides. Displays, studies and reports use nothing else.


@runtime_checkable
class StabilityCertificate(Protocol):
    """A guarantee on how far leaving out a row changes predictions.

    A value is one number, or an array with one for each test point (and class) if the certificate is about some points.
    """

    @property
    def scope(self) -> Scope:
        """What the certificate is about."""

    @property
    def n_samples(self) -> int:
        """The number of training rows."""

    @property
    def range_length(self) -> float:
        """The largest distance between two predictions, which needs no proof."""

    def epsilon(self, delta: float) -> Any:
        """Return the change that at most a share `delta` of the rows exceeds."""

    def delta(self, epsilon: float) -> Any:
        """Return the largest share of rows that can change the prediction by more than `epsilon`."""

    def mean(self) -> Any:
        """Return a bound on the mean change over rows."""

    def rms(self) -> Any:
        """Return a bound on the root mean square of the change over rows."""

    def worst_case(self) -> float:
        """Return the change that no row exceeds."""

    def curve(self, over_points: str = "max") -> tuple[np.ndarray, np.ndarray]:
        """Return epsilon and delta as a curve."""

    def explain(self, delta: float = 0.05) -> str:
        """Explain in sentences what is guaranteed for a share `delta` of the rows."""

    def to_dict(self) -> dict[str, Any]:
        """Return the certificate as a dictionary for JSON."""


class CertificateMixin(Explained):
    """What all certificates share: the curve and the text."""

    def curve(self: StabilityCertificate, over_points: str = "max") -> tuple[np.ndarray, np.ndarray]:
        """Return the guarantee as a curve: the smallest proved epsilon for each share of rows.

        Parameters
        ----------
        over_points : {"max", "mean"}, default="max"
            For a certificate at test points: the worst of the points, or the average over points.

        Returns
        -------
        epsilon : ndarray
        delta : ndarray
        """
        over_points = check_choice(over_points, "over_points", "curve", ("max", "mean"))
        n = self.n_samples
        steps = 200 if n <= 2000 else 50  # the exact frontier takes long for many rows
        rows = np.minimum(np.geomspace(1, n - 1, steps), 2.0**62).astype(np.int64)  # for all rows, epsilon is 0
        shares = np.unique(rows) / n
        proved = np.array([self.epsilon(share) for share in shares])
        if proved.ndim == 1:
            finite = np.isfinite(proved)
            return proved[finite], shares[finite]
        # The mean of epsilon over points would not bound the mean of delta. So average delta at each epsilon.
        levels = np.quantile(proved.reshape(len(shares), -1), [0.0, 0.5, 1.0], axis=1)
        epsilon = np.unique(levels[np.isfinite(levels)])[::-1]
        summary = np.mean if over_points == "mean" else np.max
        each = np.array([summary(self.delta(level), axis=0) for level in epsilon])
        return epsilon, each.reshape(len(epsilon), -1).max(axis=1)  # over classes, the weakest of the bounds


# ---------------------------------------------------------------------------------------------------------------- price
# What using finitely many bags costs, and how many bags are enough.

ENOUGH = 1.1  # times the epsilon for infinitely many bags: more bags than enough lower epsilon by less than 10%
_WORTH_A_WORD = 0.02  # of the bound
_MANY_BAGS = 10**9  # more are never suggested


def enough_bags(
    certificate: Callable[[int], "Certificate"], epsilon: float, delta: float, near: int, most: int = _MANY_BAGS
) -> int | None:
    """Return the fewest bags, rounded up to two digits, with which a certificate proves something; None above `most`.

    >>> from stablebag import Certificate, Subbagging
    >>> enough_bags(lambda n_bags: Certificate(Subbagging(0.5), 500, n_bags), 0.1, 0.1, near=1000)
    2100
    """
    numbers: list[int] = [*range(1, 10), *(k * 10**power for power in range(8) for k in range(10, 100)), _MANY_BAGS]
    numbers = [*numbers[: bisect_left(numbers, most)], most]

    def holds(place: int) -> bool:
        return certificate(numbers[place]).proves(epsilon, delta)

    last, step = len(numbers) - 1, 8
    low = high = min(bisect_left(numbers, near), last)
    if holds(high):
        while low >= 0 and holds(low):
            low, high, step = low - step, low, 2 * step
    else:
        while not holds(high):
            if high == last:
                return None
            low, high, step = high, min(high + step, last), 2 * step
    found = first_step(max(low, -1) + 1, high, holds)
    while found < last and certificate(numbers[found]).epsilon(delta) > epsilon:
        found += 1
    return numbers[found]


# ---------------------------------------------------------------------------------------------------------- certificate
# What bagging guarantees before any data are seen, as numbers and in sentences.

_FORMAT = 1  # of to_dict; dictionaries without a format are of the first
_BOUNDS = ("best", "exact", "paper")
_MOST_WITH_FRONTIER = 100_000  # with more rows, the exact frontier is not combined with bagging noise
_FEW_EMPTY = 1e-6  # such a small chance of bags without rows changes none of the digits shown
_ORDERS = (1.0, 1.5, 2.0, 3.0, 4.0)  # a norm is not larger than one of higher order


@dataclass(frozen=True, init=False)
class Certificate(CertificateMixin):
    """A guarantee for bagging any learner, on every data set of `n_samples` rows and at every test point.

    Leaving out row i changes the prediction by some L_i. The certificate bounds how many rows can change it by much
    (`epsilon`, `delta`), how much any row can (`worst_case`), and how much rows do on average (`mean`, `norm`). It
    assumes nothing about the learner or the data, except that predictions lie in an interval of length `range_length`.

    `delta` is a fraction of the training rows, not a confidence level. With finitely many bags, the guarantee is about
    the average over rows of the probability that L_i > epsilon, over the draw of bags and learner seeds.

    `certify` returns the certificate of a fitted model, `for_targets` that of a prediction range and its targets, and
    `for_labels` that of class probabilities. For one class or output, a certificate of numbers is sharper; for all of
    them jointly, a certificate of vectors is.

    For a scheme that does not treat all rows alike (`UnequalScheme`), Proposition 5 of Barber and Samworth (2026)
    replaces the theorems of the paper. The norm of the covariance of the rows in a bag then replaces c, and the largest
    chance of a row to be in a bag replaces p. There is no exact frontier for such a scheme.

    Parameters
    ----------
    scheme : ResamplingScheme
        How bags are drawn. The certificate keeps it resolved for `n_samples`.
    n_samples : int
        The number of training rows.
    n_bags : int or math.inf, default=inf
        The number of bags; ``math.inf`` stands for the average over all bags (derandomized bagging).
    range_length : float, default=1.0
        The length of the interval in which predictions lie, or that they are clipped to. Every epsilon is in the same
        units.
    delta_range : float, default=0.0
        The share of rows whose removal changes that interval: 0 for a fixed one, `PredictionRange.delta` for one that
        depends on the data. It is rounded up to whole rows.
    reach : float or None, default=None
        How far a prediction can change at all. In general this is `PredictionRange.reach`; it is `range_length` if the
        interval never reaches further without a row, as with `ObservedRange` and `TrimmedRange`. None stands for
        `range_length` if no row changes the interval, and for unknown (infinite) if some do.
    outputs : Outputs or None, default=None
        The set in which the outputs lie, instead of the three numbers above. This is what the certificate is about:
        a number, the probability of a class, or a vector with Euclidean distances (`VectorOutputs`, `BoxOutputs`).
    coupling : {"any", "independent", "matched"}, default="any"
        For finitely many bags: how the bags with and without a row depend on each other. "any" assumes nothing.
        "independent" assumes that the bags and the seeds of the learners are drawn independently, as in two fits
        without a common seed. "matched" is the sharpest. It assumes the same seed and row IDs in both fits, and a
        scheme that then keeps all bags without the row, as the four schemes of the paper do here.
    noun : Noun, default=ROWS
        The word for a row or group, for sentences. For groups of rows, `n_samples` is the number of groups.

    Examples
    --------
    >>> from stablebag import Certificate, Subbagging
    >>> certificate = Certificate(Subbagging(0.5), n_samples=500)
    >>> round(certificate.epsilon(delta=0.1, bound="paper"), 10)
    0.070781495
    >>> print(certificate.explain(delta=0.1))
    At any test point, at most 50 of the 500 rows (delta = 0.1) change the prediction by more than
    0.05619 when left out. This holds for every learner and every data set of 500 rows.
    Proved by the exact frontier; no smaller number holds for every learner. Setting: subbagging,
    250 of 500 rows (p = 0.5, q = 0.000501); infinitely many bags; predictions in a range of
    length 1.
    No row changes it by more than 0.5 (Theorem 14). The mean change over rows is at most 0.01789
    (largest possible mean).
    Replacing a row by another changes it by at most 0.5. For independent rows from one
    distribution, the expected change is at most 0.03578 (Corollary 17).
    """

    scheme: ResolvedScheme
    n_samples: int
    n_bags: int | float
    outputs: Outputs
    coupling: Coupling
    noun: Noun

    def __init__(
        self,
        scheme: Scheme,
        n_samples: int,
        n_bags: int | float = math.inf,
        *,
        range_length: float = 1.0,
        delta_range: float = 0.0,
        reach: float | None = None,
        outputs: Outputs | None = None,
        coupling: Coupling | str = "any",
        noun: Noun = ROWS,
    ) -> None:
        owner = "Certificate"
        n_samples = check_samples(n_samples, owner)
        if outputs is None:
            outputs = _outputs(range_length, delta_range, reach)
        elif (range_length, delta_range, reach) != (1.0, 0.0, None):
            reason = "it already has these numbers. Give either of them."
            raise refuse_value(
                "outputs", owner, "None together with range_length, delta_range or reach", outputs, reason
            )
        outputs, law = outputs.for_rows(n_samples), as_law(scheme, n_samples, owner)
        moved = {"shift": outputs.shift / (outputs.width or 1.0), "shifted_share": outputs.shifted_share}
        values = {
            "scheme": law,
            "n_samples": n_samples,
            "n_bags": check_bags(n_bags, owner),
            "outputs": outputs,
            "coupling": as_coupling(coupling, owner, law, diameter=outputs.diameter, **moved),
            "noun": noun,
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @classmethod
    def for_labels(
        cls,
        scheme: Scheme,
        y: Any,
        n_bags: int | float = math.inf,
        *,
        vector: bool = False,
        coupling: Coupling | str = "any",
        groups: Any = None,
    ) -> "Certificate":
        """Return the certificate for the probability of each class, for a classifier fitted to these labels.

        Parameters
        ----------
        scheme : ResamplingScheme
            How bags are drawn. A stratified scheme without strata takes the classes as strata.
        y : array-like of shape (n_samples,)
            The labels of the training rows.
        n_bags : int or math.inf, default=inf
            The number of bags; ``math.inf`` stands for the average over all bags.
        vector : bool, default=False
            Whether the certificate is about the vector of all probabilities, or of the shares of votes.
        coupling : {"any", "independent", "matched"}, default="any"
            As in `Certificate`.
        groups : sequence of int or labels, of length n_samples, default=None
            The group of each row, if whole groups are left out, as in `fit`.

        Returns
        -------
        Certificate

        Examples
        --------
        >>> from stablebag import BernoulliSubbagging, Certificate
        >>> certificate = Certificate.for_labels(BernoulliSubbagging(0.05), ["a", "a", "a", "b", "b", "c"])
        >>> round(certificate.worst_case(), 6)  # p, and a third of the bags without rows: only one row is of class c
        0.307927
        """
        labels = Labels.of(y, groups, "Certificate.for_labels")
        n_samples, noun = len(labels.units), labels.units.noun
        law = as_law(with_labels(scheme, y, labels.units), n_samples, "Certificate.for_labels")
        if check_flag(vector, "vector", "Certificate.for_labels"):
            lost = {"n_lost": labels.n_lost, "share_lonely": labels.share_lonely}
            outputs: Outputs = VectorOutputs.of_classes(labels.n_classes, law, **lost)  # type: ignore[arg-type]
        else:
            shift, several = labels.shift(law.empty_without_a_row), not labels.units.are_rows
            outputs = ClassOutputs(shift=shift, shifted_share=labels.share_lonely, several=several)
        return cls(law, n_samples, n_bags, outputs=outputs, coupling=coupling, noun=noun)

    @classmethod
    def for_classes(
        cls,
        scheme: Scheme,
        n_samples: int,
        n_classes: int,
        n_bags: int | float = math.inf,
        *,
        coupling: Coupling | str = "any",
    ) -> "Certificate":
        """Return the certificate for the vector of class probabilities, or of votes, for classes of any sizes.

        Parameters
        ----------
        scheme : ResamplingScheme
            How bags are drawn.
        n_samples : int
            The number of training rows.
        n_classes : int
            The number of classes.
        n_bags : int or math.inf, default=inf
            The number of bags; ``math.inf`` stands for the average over all bags.
        coupling : {"any", "independent", "matched"}, default="any"
            As in `Certificate`.

        Returns
        -------
        Certificate

        Examples
        --------
        >>> from stablebag import Certificate, Subbagging
        >>> certificate = Certificate.for_classes(Subbagging(0.5), n_samples=500, n_classes=10)
        >>> round(certificate.delta(0.1), 4)  # of 500 rows, 90
        0.18
        >>> print(certificate.explain(delta=0.1))
        At any test point, at most 50 of the 500 rows (delta = 0.1) change the vector of outputs by a
        distance of more than 0.133 when left out. This holds for every learner and every data set of
        500 rows.
        Proved by mean squares, counting whole rows. Setting: subbagging, 250 of 500 rows (p = 0.5, q
        = 0.000501); infinitely many bags; vectors within 0.9487 of a point.
        No row changes it by more than 0.7072 (Theorem 14). The mean change over rows is at most
        0.04247 (mean squares).
        """
        owner = "Certificate.for_classes"
        n_classes = check_integer(n_classes, "n_classes", owner, minimum=1)
        law = as_law(scheme, n_samples, owner)
        return cls(law, n_samples, n_bags, outputs=VectorOutputs.of_classes(n_classes, law), coupling=coupling)

    @classmethod
    def for_targets(
        cls,
        scheme: Scheme,
        y: Any,
        prediction_range: Any = ObservedRange(),  # noqa: B008 (frozen)
        n_bags: int | float = math.inf,
        *,
        vector: bool = False,
        coupling: Coupling | str = "any",
        groups: Any = None,
    ) -> "Certificate":
        """Return the certificate for predictions clipped to a range taken from these targets.

        Parameters
        ----------
        scheme : ResamplingScheme
            How bags are drawn.
        y : array-like of shape (n_samples,), or (n_samples, n_outputs) with `vector`
            The targets of the training rows.
        prediction_range : PredictionRange, callable or list of these, default=ObservedRange()
            The rule that turns the targets into the interval that predictions are clipped to. With `vector`, one rule
            for every output, or a list with one rule for each.
        n_bags : int or math.inf, default=inf
            The number of bags; ``math.inf`` stands for the average over all bags.
        vector : bool, default=False
            Whether the certificate is about the vector of several outputs, each clipped to a range of its targets.
        coupling : {"any", "independent", "matched"}, default="any"
            As in `Certificate`.
        groups : sequence of int or labels, of length n_samples, default=None
            The group of each row, if whole groups are left out, as in `fit`.

        Returns
        -------
        Certificate

        Examples
        --------
        >>> from stablebag import Certificate, Subbagging
        >>> certificate = Certificate.for_targets(Subbagging(2), [9.1, 12.0, 9.1, 15.5, 30.2, 11.8, 14.0, 17.3])
        >>> round(certificate.range_length, 1), certificate.delta_range  # only the row with 30.2 changes the range
        (21.1, 0.125)
        """
        owner = "Certificate.for_targets"
        if check_flag(vector, "vector", owner):
            units, outputs = BoxOutputs.for_targets(y, prediction_range, groups, owner)
            return cls(scheme, len(units), n_bags, outputs=outputs, coupling=coupling, noun=units.noun)
        rule = as_prediction_range(prediction_range, owner)
        low, high = rule(y)
        units = as_units(groups, y)
        n, about = len(units), {"coupling": coupling, "noun": units.noun}
        if isinstance(rule, FixedRange):
            return cls(scheme, n, n_bags, range_length=high - low, **about)  # type: ignore[arg-type]
        delta_range, reach = rule.change(y) if units.are_rows else rule.change(y, units)
        adaptive = AdaptiveOutputs(high - low, delta_range, reach, ends_of(rule, as_array(y, "y", owner), units))
        return cls(scheme, n, n_bags, outputs=adaptive, **about)  # type: ignore[arg-type]

    # ------------------------------------------------------------------------------------------------ what it is about

    @property
    def range_length(self) -> float:
        """The largest distance between two predictions; every epsilon is in the same units."""
        return self.outputs.length

    @property
    def delta_range(self) -> float:
        """The share of rows whose removal changes the range of predictions."""
        return self.outputs.delta_range

    @property
    def reach(self) -> float:
        """How far a prediction can change at all."""
        return self.outputs.reach

    @property
    def condition(self) -> str:
        """Which data sets of this size the certificate is about, if not all."""
        return self.scheme.scheme.condition + self.outputs.condition(self.scheme, self.noun)

    @property
    def scope(self) -> Scope:
        """What the certificate is about, for a comparison with the scope of a measurement."""
        rerun, n_bags = (Rerun.ALL, None) if self._derandomized else (Rerun.ANEW, int(self.n_bags))
        outputs = self.outputs
        return Scope(
            self.n_samples,
            outputs.quantity,
            rerun,
            n_bags,
            bags=self.scheme.fingerprint,
            range_length=None if outputs.quantity in (Quantity.RELATIVE, Quantity.VECTOR) else self.range_length,
            delta_range=self.delta_range,
            shift=outputs.shift,
            coupling=None if self._derandomized else self.coupling.name,
            noun=self.noun,
        )

    # ------------------------------------------------------------------------------------------------ the guarantees

    def epsilon(self, delta: float, bound: str = "best") -> float:
        """Return the change that at most a share `delta` of the rows can exceed.

        Parameters
        ----------
        delta : float
            A share of the training rows, in [0, 1].
        bound : {"best", "exact", "paper"}, default="best"
            "best" is the smallest of all proved bounds; `explain` names the one it is. "paper" is the formula of
            Theorem 8 (9 for finitely many bags, 13 and 20 with `delta_range`). "exact" is the exact frontier: with
            infinitely many bags, the smallest epsilon that holds for every learner; with finitely many, the term of
            Theorem 9 for the bags is added. An upper bound replaces the frontier if it takes too long to compute (more
            than 30,000 rows may exceed epsilon), or if the scheme does not say how many rows are in a bag. "paper" and
            "exact" are for schemes that treat all rows alike.

        Returns
        -------
        float
            In the units of the prediction. Infinite if nothing is known.
        """
        delta = check_delta(delta, "Certificate.epsilon")
        if self._checked_bound(bound, "Certificate.epsilon") != "paper":
            return self.best(delta, bound).value
        normalized = bounds.clipped_epsilon(delta, self._constant, self.delta_range, self.n_bags)
        if self.range_length == 0 and not 0 < self.delta_range >= delta:
            return 0.0  # not 0 times infinity: nothing changes within an interval of length zero
        return normalized * (self.range_length or 1.0)

    def delta(self, epsilon: float, bound: str = "best") -> float:
        """Return the largest share of rows that can change the prediction by more than `epsilon`.

        Parameters
        ----------
        epsilon : float
            A change, in the units of the prediction.
        bound : {"best", "exact", "paper"}, default="best"
            As in `epsilon`. With "paper", the share is zero if epsilon is at least the worst case of Theorem 14.

        Returns
        -------
        float
            At most 1. With infinitely many bags it counts rows, so it is a multiple of 1 / n_samples. With finitely
            many it bounds a mean of probabilities.
        """
        epsilon = check_epsilon(epsilon, "Certificate.delta")
        if self._checked_bound(bound, "Certificate.delta") != "paper":
            return self._smallest_delta(epsilon, bound)
        if epsilon >= self.worst_case():
            return 0.0
        if self.range_length == 0:
            return self.delta_range
        normalized = epsilon / self.range_length
        return bounds.clipped_delta(normalized, self._constant, self.n_samples, self.delta_range, self.n_bags)

    def worst_case(self, monte_carlo_delta: float = 0.0) -> float:
        """Return the change that no row exceeds, by Theorem 14: the largest chance of a row to be in a bag.

        Parameters
        ----------
        monte_carlo_delta : float, default=0.0
            For finitely many bags: the probability, over the bags, with which each row may exceed it. The theorem is
            about infinitely many bags, and a tail bound adds the bagging noise. With probability zero, nothing better
            than the whole range can be guaranteed.

        Returns
        -------
        float
        """
        monte_carlo_delta = check_delta(monte_carlo_delta, "Certificate.worst_case", name="monte_carlo_delta")
        if self.delta_range > 0:
            return self.reach
        return min(self.outputs.diameter, self._largest + self._noise(monte_carlo_delta)) * self.outputs.width

    def mean(self, bound: str = "best") -> float:
        """Return a bound on the mean over rows of the expected change.

        Parameters
        ----------
        bound : {"best", "paper"}, default="best"
            "paper" is Corollary 15. "best" is the smallest proved bound: with infinitely many bags, the largest mean of
            any learner, if it can be computed.

        Returns
        -------
        float
        """
        return self.norm(1, bound)

    def rms(self) -> float:
        """Return a bound on the root of the mean over rows of the expected squared change."""
        return self.norm(2)

    def norm(self, order: float, bound: str = "best") -> float:
        """Return a bound on (mean of L_i^order)^(1 / order) over rows.

        Parameters
        ----------
        order : float
            Positive; 1 is the mean, ``math.inf`` the worst case. Rows that change the prediction range count with its
            whole `reach`.
        bound : {"best", "paper"}, default="best"
            "paper" is Theorem 18, and for finitely many bags Corollary 15 and its extension to other orders. "best" is
            the smallest proved bound.

        Returns
        -------
        float
        """
        reason = "1 is the mean, 2 the root mean square."
        order = check_real(order, "order", "Certificate.norm", open_low=True, reason=reason)
        bound = self._checked_bound(
            check_choice(bound, "bound", "Certificate.norm", ("best", "paper")), "Certificate.norm"
        )
        return self._best_norm(order).value if bound == "best" else self._of_all_rows(order, bound)

    def _best_norm(self, order: float) -> Bound:
        """The smallest bound on a norm over all rows. A norm is at most that of a higher order."""
        orders = sorted({order, *(each for each in _ORDERS if each > order)})
        return min(Bound(self._of_all_rows(each, "best"), self._norm(each, "best").proof) for each in orders)

    def _of_all_rows(self, order: float, bound: str) -> float:
        """A bound on a norm over all rows, including those that change the range."""
        norm = self._norm(order, bound).value * self.outputs.width
        if self.delta_range == 0:
            return norm
        if math.isinf(order) or math.isinf(self.reach):
            return self.reach
        # The powers of the rows that change the range and of those that do not add up. Use logarithms, because powers
        # of small or large order leave the range of floats.
        parts = [(norm, 1.0), (self.reach, self.delta_range)]
        logs = [order * math.log(size) + math.log(share) for size, share in parts if size > 0]
        return min(self.reach, math.exp(float(logsumexp(logs)) / order)) if logs else 0.0

    def loss(self, lipschitz: float = 1.0) -> float:
        """Return a bound on the mean expected change of a loss that is Lipschitz in the prediction (Corollary 16).

        Parameters
        ----------
        lipschitz : float, default=1.0
            The loss changes by at most this times the change of the prediction; 1 for the absolute error.

        Returns
        -------
        float
        """
        return bounds.loss_perturbation(self.mean(), lipschitz)

    def replace_one(self, lipschitz: float = 1.0) -> float:
        """Return a bound on the change of a loss when a row is *replaced* by another, for every data set.

        Only the bags that contain the row change, so the bound is p times the range; with finitely many bags, in
        expectation over the bags. A learner that memorizes attains it. If the scheme does not treat all rows alike, the
        new row takes the place of the old one, such as its stratum, and p is the largest chance of a row.

        Parameters
        ----------
        lipschitz : float, default=1.0
            As in `loss`.

        Returns
        -------
        float
        """
        if self.outputs.is_vector:
            raise ValueError(
                "replace_one has no bound for vectors of outputs. Use the certificate of one number, such as "
                "certify(model) of a classifier, which is about the probability of each class."
            )
        if not self.outputs.is_fixed:
            raise ValueError(
                "replace_one needs a range that is fixed in advance, because a new target could stretch a range taken "
                "from the targets without limit. Use prediction_range=FixedRange(low, high)."
            )
        # With two or more classes, bags without rows give each at most one half. The new row may bring a class.
        empty = self._most_of_empty * self.scheme.empty_probability if isinstance(self.outputs, ClassOutputs) else 0.0
        # Matched bags stay the same if the new row takes the ID of the old one. Only their outputs change.
        moved = min(1.0, self.scheme.largest_inclusion + empty)
        if not isinstance(self.coupling, Matched):
            moved = bounds.finite_bags_mean(moved, self.n_bags, self.coupling)
        return bounds.loss_perturbation(moved * self.range_length, lipschitz)

    def replace_one_in_expectation(self, lipschitz: float = 1.0) -> float:
        """Return a bound on the expected change of a loss when a row is *replaced* by another (Corollary 17).

        The expectation is over rows, replacements and the test point, all drawn independently from one distribution.
        For a given data set, only `replace_one` holds. Both need a fixed range, because a new target can stretch a
        range taken from the targets without limit.

        Parameters
        ----------
        lipschitz : float, default=1.0
            As in `loss`.

        Returns
        -------
        float
            At most `replace_one`.
        """
        if not self.scheme.is_symmetric:
            raise ValueError(
                f"Corollary 17 is about schemes that treat all rows alike, unlike {type(self.scheme.scheme).__name__}. "
                "Use replace_one, which holds for every data set."
            )
        always, mean = self.replace_one(lipschitz), self.mean()
        if isinstance(self.outputs, ClassOutputs):  # the mean holds for these labels, and here it must for all
            shift = self._most_of_empty * self.scheme.empty_without_a_row
            for_all = replace(self.outputs, shift=shift, shifted_share=1.0)
            mean = self.with_outputs(for_all).mean()
        return min(always, bounds.replace_one_in_expectation(mean, lipschitz))

    # ------------------------------------------------------------------------------------------------------ in words

    def explain(self, delta: float = 0.05) -> str:
        """Explain in sentences what is guaranteed for a share `delta` of the rows, and by which theorem.

        Parameters
        ----------
        delta : float, default=0.05
            A share of the training rows, in [0, 1].

        Returns
        -------
        str
        """
        delta = check_delta(delta, "Certificate.explain")
        bound = self.best(delta)
        is_vacuous = math.isinf(bound.value) or bound.value >= self.range_length > 0
        sentences = [
            self._no_guarantee(delta) if is_vacuous else self._guarantee(delta, bound.value),
            f"{bound.proof.sentence} Setting: {self.describe_setting()}.",
            self._describe_price(delta),
            self._worst_and_mean(),
            self._replacing(),
            self.outputs.describe_shift(self.n_samples, self.noun),
        ]
        return paragraphs(sentence for sentence in sentences if sentence)

    def price(self, delta: float = 0.05) -> tuple[float, int | None]:
        """Return what using finitely many bags adds to epsilon, and how many bags are enough.

        Both numbers compare with `epsilon` for infinitely many bags. With enough bags, more of them lower epsilon by
        less than 10%.

        Parameters
        ----------
        delta : float, default=0.05
            A share of the training rows, in [0, 1].

        Returns
        -------
        price : float
            How much lower epsilon would be with infinitely many bags.
        enough : int or None
            The fewest bags, rounded up to two digits, with which epsilon is at most 1.1 times that for infinitely many.
            None if bags are not drawn, if nothing is guaranteed for this share, or if it takes more than a billion.

        Examples
        --------
        >>> from stablebag import Certificate, Subbagging
        >>> certificate = Certificate(Subbagging(0.5), n_samples=500, n_bags=250, coupling="matched")
        >>> price, enough = certificate.price(delta=0.1)
        >>> round(price, 4), enough
        (0.0229, 710)
        """
        delta = check_delta(delta, "Certificate.price")
        ideal = replace_bags(self, math.inf).epsilon(delta)
        if self._derandomized or math.isinf(ideal):
            return 0.0, None
        goal = min(ENOUGH * ideal, self.range_length * (1 - 1e-9))
        enough = None
        if 0 < ideal < goal:
            enough = enough_bags(lambda n_bags: replace_bags(self, n_bags), goal, delta, near=2 * self.n_samples)
        return self.epsilon(delta) - ideal, enough

    def proves(self, epsilon: float, delta: float) -> bool:
        """Return whether at most a share `delta` of the rows can change the prediction by more than `epsilon`.

        This is faster than ``epsilon(delta) <= epsilon``. In rare cases it proves slightly more, because `epsilon`
        searches on a grid.

        Parameters
        ----------
        epsilon : float
            A change, in the units of the prediction.
        delta : float
            A share of the training rows, in [0, 1].

        Returns
        -------
        bool
        """
        epsilon, delta = check_epsilon(epsilon, "Certificate.proves"), check_delta(delta, "Certificate.proves")
        if self.quick_epsilon(delta) <= epsilon:
            return True
        rest = self.without_rows_changing_range(delta)
        if (tail := self._tail) is not None and rest > 0 and tail.delta(epsilon / self.outputs.width) <= rest:
            return True
        return self._best(delta, "best", tail=False).value <= epsilon

    def curve(self, over_points: str = "max") -> tuple[np.ndarray, np.ndarray]:
        """Return the guarantee as a curve: the smallest proved epsilon for each share of rows.

        Parameters
        ----------
        over_points : {"max", "mean"}, default="max"
            Ignored, because the certificate is about every point.

        Returns
        -------
        epsilon : ndarray
        delta : ndarray
        """
        if (tail := self._tail) is None:
            return super().curve(over_points)
        check_choice(over_points, "over_points", "curve", ("max", "mean"))
        n = self.n_samples
        # Compute the tail at some epsilons, and add their deltas to the shares of rows.
        smallest = self._best((n - 1) / n, "best", tail=False).value
        tried = np.geomspace(0.5 * smallest, self.range_length, 40) if smallest > 0 else np.array([])
        known = np.array([tail.delta(epsilon / self.outputs.width) + self.delta_range for epsilon in tried])
        shares = np.unique([*(np.unique(np.geomspace(1, n - 1, 50).astype(np.int64)) / n), *known[known < 1]])
        epsilons = np.array([self._best(share, "best", tail=False).value for share in shares])
        by_tail = np.array([min(tried[known <= share], default=math.inf) for share in shares])
        epsilons = np.minimum(epsilons, by_tail)
        proved = np.isfinite(epsilons)
        return epsilons[proved], shares[proved]

    def _describe_price(self, delta: float) -> str:
        """Say what more bags would change, unless it is next to nothing, or nothing is guaranteed anyway."""
        if self._derandomized or not 0 < (now := self.epsilon(delta)) < self.range_length:
            return ""
        price, enough = self.price(delta)
        ideal = rounded_up(now - price) + self.outputs.unit
        if price < _WORTH_A_WORD * now:
            return ""
        if now <= ENOUGH * (now - price):
            return f"More bags would lower this by less than 10%: with infinitely many it would be {ideal}."
        if enough is None:
            return f"With infinitely many bags it would be {ideal}."
        with_enough = replace_bags(self, enough).epsilon(delta)
        return f"With {count_bags(enough)} it would be {rounded_up(with_enough)}, and with infinitely many {ideal}."

    def _second_moment_epsilon(self, delta: float, n_bags: float) -> float:
        squares = bounds.second_moment_epsilon(delta, self._constant, n_bags, self.coupling)
        if self._has_unequal_rows:
            constants = self.scheme.row_constants
            return min(squares, bounds.unequal_rows_epsilon(delta, constants, n_bags, self.coupling))
        return squares

    def to_dict(self) -> dict[str, Any]:
        """Return the certificate as a dictionary for JSON; `from_dict` reads it back."""
        return {
            "format": _FORMAT,
            **law_to_dict(self.scheme),
            "n_bags": None if self._derandomized else self.n_bags,
            "outputs": self.outputs.to_dict(),
            "coupling": self.coupling.name,
            "noun": asdict(self.noun),
        }

    @classmethod
    def from_dict(cls, values: dict[str, Any], scheme: ResamplingScheme | None = None) -> "Certificate":
        """Read back what `to_dict` returned.

        Parameters
        ----------
        values : dict
            What `to_dict` returned, also after it was written as JSON and read again.
        scheme : ResamplingScheme, default=None
            The scheme, if it is one that you wrote yourself.

        Returns
        -------
        Certificate
        """
        if not isinstance(values, dict) or not {"scheme", "bag_size", "n_samples", "n_bags"} <= set(values):
            expected = "a dictionary from to_dict"
            raise refuse_type(
                "values", "Certificate.from_dict", expected, values, "for JSON text, use json.loads first."
            )
        refuse_format(values.get("format", _FORMAT), _FORMAT, "The dictionary")
        if scheme is None:
            scheme = scheme_from_words(values["scheme"], values["bag_size"])
        n_bags = math.inf if values["n_bags"] is None else values["n_bags"]
        outputs = outputs_from_dict(values.get("outputs", Outputs().to_dict()))
        noun = Noun.from_dict(values.get("noun", asdict(ROWS)), "Certificate.from_dict")
        about = {"coupling": values.get("coupling", "any"), "noun": noun}
        certificate = cls(scheme, values["n_samples"], n_bags, outputs=outputs, **about)
        for name, value in certificate.to_dict().items():
            if name in values and (type(values[name]), values[name]) != (type(value), value):
                raise ValueError(
                    f"The dictionary has {name}={shown(values[name])}, but its other entries give {value!r}. It was "
                    "changed after to_dict, or belongs to another scheme."
                )
        return certificate

    def leave_out(self, k: int) -> LeaveOutCertificate:
        """Return the guarantee for leaving out `k` random rows at once.

        Parameters
        ----------
        k : int
            The number of rows, or groups.

        Returns
        -------
        LeaveOutCertificate

        Examples
        --------
        If one row leaves, half bags lose it with a chance of one half. If ten rows leave, nearly every half bag loses
        one of them. Predictions of smaller bags change less:

        >>> from stablebag import Certificate, Subbagging
        >>> for size in (0.5, 0.1):
        ...     certificate = Certificate(Subbagging(size), n_samples=1000)
        ...     print(size, round(certificate.leave_out(10).epsilon(delta=0.1), 4))
        0.5 0.1589
        0.1 0.053
        """
        return LeaveOutCertificate.of(self, k)

    def with_outputs(self, outputs: Outputs) -> "Certificate":
        """Return the certificate for the same bags and other outputs."""
        about = {"coupling": self.coupling, "noun": self.noun}
        return Certificate(self.scheme, self.n_samples, self.n_bags, outputs=outputs, **about)  # type: ignore[arg-type]

    def best(self, delta: float, bound: str = "best") -> Bound:
        """Return the smallest proved epsilon for a share `delta` of the rows, with its proof.

        Parameters
        ----------
        delta : float
            A share of the training rows, in [0, 1].
        bound : {"best", "exact"}, default="best"
            As in `epsilon`.

        Returns
        -------
        Bound
        """
        return self._best(check_delta(delta, "Certificate.best"), self._checked_bound(bound, "Certificate.best"))

    def _best(self, delta: float, bound: str, *, tail: bool = True) -> Bound:
        """The smallest epsilon, with or without the tail for matched bags, which is the slowest to compute."""
        if delta == 1:
            return Bound(0.0, Proof(f"counting all {self.noun.plural}"))
        rest = self.without_rows_changing_range(delta)
        if rest < 0:
            return Bound(self.reach, TRIVIAL)
        if self._derandomized:
            found = self._of_rank(whole_rows(rest, self.n_samples) + 1)
        else:
            found = self._drawn(rest, bound, self._tail if tail else None)
        if found.value >= self.outputs.diameter:
            return Bound(self.range_length, TRIVIAL)
        theorem = self.outputs.theorem(self._derandomized)
        # The prediction of a bag without rows is fixed. If there are many such bags, no learner attains the frontier.
        exact = found.proof.exact and self.outputs.is_fixed and self.scheme.empty_probability < _FEW_EMPTY
        proof = replace(found.proof.and_(theorem) if theorem else found.proof, exact=exact)
        return Bound(found.value * self.outputs.width, proof)

    def quick_epsilon(self, delta: float) -> float:
        """Return a bound like `epsilon`, without the exact frontier and the tail for matched bags.

        Parameters
        ----------
        delta : float
            A share of the training rows, in [0, 1].

        Returns
        -------
        float
            Never below `epsilon`, and much faster for many rows.
        """
        delta = check_delta(delta, "Certificate.quick_epsilon")
        if delta == 1:
            return 0.0
        rest = self.without_rows_changing_range(delta)
        if rest < 0:
            return self.reach
        diameter, width = self.outputs.diameter, self.outputs.width
        if self._derandomized:
            return min(diameter, self._kth(whole_rows(rest, self.n_samples) + 1)) * width
        squares = bounds.second_moment_epsilon(rest, self._constant, self.n_bags, self.coupling)
        return min(diameter, self._counting_rows(rest)[0], squares) * width

    def without_rows_changing_range(self, delta: float) -> float:
        """Return a share of rows less those that change the range; it is below zero if there are more of these."""
        n, delta = self.n_samples, check_delta(delta, "Certificate.without_rows_changing_range")
        if self._derandomized:
            return self._free_rows(whole_rows(delta, n)) / n
        return float(as_share(delta, n) - as_share(self.delta_range, n))

    # ------------------------------------------------------------------------------------------------------- details

    @property
    def _derandomized(self) -> bool:
        return math.isinf(self.n_bags)

    @property
    def _most_of_empty(self) -> float:
        """How far a bag without rows can change a class when a row is replaced, or a group, which may have several."""
        return 1.0 if isinstance(self.outputs, ClassOutputs) and self.outputs.several else 0.5

    @property
    def _constant(self) -> float:
        """The bagging constant c; with a shift, the constant that replaces it in the mean square."""
        return bounds.shifted_constant(self.scheme.constant, self._shift, self.outputs.shifted_share)

    @property
    def _largest(self) -> float:
        """How far any one row can change the average over all bags, in units of the width."""
        p, diameter = bounds.worst_case_epsilon(self.scheme.largest_inclusion), self.outputs.diameter
        return min(diameter, p * diameter + self._shift) if self.outputs.is_vector else p + self._shift

    @property
    def _tail(self) -> Tail | None:
        """The tail for matched bags, if it is known and the outputs are numbers."""
        if self._derandomized or self._shift > 0 or not self._has_frontier or not isinstance(self.coupling, Matched):
            return None
        if self.n_samples > _MOST_WITH_FRONTIER or self.outputs.width == 0:
            return None
        found: Tail | None = tail_of(self.scheme, int(self.n_bags))
        return found

    @property
    def _has_frontier(self) -> bool:
        """Whether the exact frontier applies: it is about numbers, and schemes that treat all rows alike."""
        return self.scheme.is_symmetric and not self.outputs.is_vector

    @property
    def _has_unequal_rows(self) -> bool:
        """Whether each row has its own constant; with a shift, the largest is used for all."""
        return not self.scheme.is_symmetric and self._shift == 0 and not self.outputs.is_vector

    @property
    def _mean_square(self) -> str:
        """The name of the theorem about the mean square over rows."""
        if not self.scheme.is_symmetric:
            return PROPOSITION_5
        return "mean squares" if self.outputs.is_vector else "Theorem 8"

    @property
    def _one_row(self) -> str:
        """The name of the theorem about any one row."""
        return "Theorem 14" if self.scheme.is_symmetric else f"the chance of any {self.noun.singular} to be in a bag"

    @property
    def _whole_rows(self) -> str:
        return f"counting whole {self.noun.plural}"

    def _noise(self, share: float) -> float:
        """What the bagging noise exceeds with probability at most `share`, in units of the width."""
        if self._derandomized:
            return 0.0
        return float(self.outputs.noise(self.coupling, self.n_bags, share)) if share > 0 else math.inf

    def _counting_rows(self, delta: float) -> tuple[float, int]:
        """Theorem 9 counting whole rows, and how many of them may exceed its first term."""
        n, constant, about = self.n_samples, self._constant, (self.n_bags, self.coupling)

        def noise(shares: np.ndarray) -> np.ndarray:
            return np.asarray(self.outputs.noise(self.coupling, self.n_bags, shares))

        return bounds.finite_bags_rows_epsilon(delta, n, constant, self._largest, *about, noise)

    def _checked_bound(self, bound: str, owner: str) -> str:
        """Raise an error for an unknown bound, or one that does not hold for this scheme or these outputs."""
        bound = check_choice(bound, "bound", owner, _BOUNDS)
        if bound != "best" and self.outputs.is_vector:
            reason = "the exact frontier and the theorems of the paper are about numbers."
            raise refuse_value("bound", owner, '"best" for vectors', bound, reason)
        if bound != "best" and not self.scheme.is_symmetric:
            what = "the exact frontier is" if bound == "exact" else "the theorems of the paper are"
            reason = f"{what} about schemes that treat all rows alike."
            raise refuse_value("bound", owner, f'"best" for {type(self.scheme.scheme).__name__}', bound, reason)
        return bound

    @property
    def _shift(self) -> float:
        """The shift in units of the width."""
        return self.outputs.shift / self.outputs.width if self.outputs.shift else 0.0

    def _free_rows(self, rows: int) -> int:
        """How many of `rows` rows are left after those that change the range."""
        return rows - round(self.delta_range * self.n_samples)

    def _of_rank(self, rank: int) -> Bound:
        """A bound on the `rank`-th largest perturbation with infinitely many bags."""
        epsilon, squares = self._kth(rank), f"{self._mean_square}, {self._whole_rows}"
        if epsilon == 0 or rank == 1 or not self._has_frontier:
            largest = self._largest
            if self._has_unequal_rows and rank <= self.n_samples:
                largest = float(np.sort(self.scheme.inclusion_probabilities)[-rank])
            return Bound(epsilon, Proof(self._one_row if epsilon == largest else squares))
        known = min(rank, frontier.MOST_ROWS)
        beyond = f"the exact frontier is computed for up to {known:,} {self.noun.plural}"
        if known < rank and epsilon <= frontier.all_plus(self.scheme, known) * (1 - 1e-9):
            # The frontier at the last known rank is at least the learner that counts rows, so it would not help.
            return Bound(epsilon, Proof(f"{squares} ({beyond})"))
        point = frontier.frontier(self.scheme, known) if rank <= self.n_samples else None
        if point is None:
            return Bound(epsilon, Proof(f"{squares} (the exact frontier is not known for this scheme and size)"))
        exact = point.value + self._shift
        if known == rank:
            return Bound(min(epsilon, exact), Proof("the exact frontier", exact=True))
        # The frontier falls with the rank, so its last known value is a bound for larger ranks.
        name = squares if epsilon < exact else f"the exact frontier at {known:,} {self.noun.plural}"
        return Bound(min(epsilon, exact), Proof(f"{name} ({beyond})"))

    def _kth(self, rank: int) -> float:
        """Theorems 8 and 14 for the `rank`-th largest perturbation."""
        if self._has_unequal_rows:
            return bounds.kth_of_unequal_rows(rank, self.scheme.row_constants, self.scheme.inclusion_probabilities)
        without_cap = math.sqrt(self.n_samples * self._constant / (4 * rank)) if rank <= self.n_samples else 0.0
        return min(without_cap, self._largest)

    def _drawn(self, delta: float, bound: str, tail: Tail | None) -> Bound:
        """A bound for a share `delta` of the rows with finitely many bags."""
        n, constant, bags = self.n_samples, self._constant, self.n_bags
        for_bags = self.outputs.tail or self.coupling.describe_tail(self.noun)
        epsilon, rows = self._counting_rows(delta)
        capped = rows < n and math.sqrt(n * constant / (4 * (rows + 1))) >= self._largest
        first = self._one_row if capped else self._mean_square
        proved = [Bound(epsilon, Proof(f"{first}, {for_bags}, {self._whole_rows}"))]
        if bound == "best":
            squares = self._second_moment_epsilon(delta, bags)
            before = "" if self.scheme.is_symmetric else f"{PROPOSITION_5}, and "
            proved.append(Bound(squares, Proof(f"{before}second moments of the bags")))
            if tail is not None and delta > 0:
                proved.append(Bound(tail.epsilon(delta), Proof("the exact frontier with tail bounds for the bags")))
        # With very many rows, nearly all of the bound comes from the bags.
        if bound == "best" and (n > _MOST_WITH_FRONTIER or not self._has_frontier):
            return min(proved)
        exact = self._frontier_and_bags(delta, rows, math.inf if bound == "exact" else min(proved).value)
        proved.append(Bound(exact, Proof(f"the exact frontier, {for_bags}")))
        return min(proved)

    def _frontier_and_bags(self, delta: float, rows: int, best: float) -> float:
        """The smallest sum of the exact frontier at some rank and the bagging noise, if it is below `best`."""
        n, share = self.n_samples, as_share(delta, self.n_samples)

        def noise(k: int) -> float:
            return self._noise(max(0.0, float(share - Fraction(k, n))))

        found: dict[int, float] = {}

        def total(k: int) -> float:
            # The frontier is at least the learner that counts rows. If even that is too high, skip the frontier.
            if k not in found:
                counted = frontier.all_plus(self.scheme, k + 1) if k < frontier.MOST_ROWS else 0.0
                radius = noise(k)
                is_lower = radius + counted < min([best, *found.values()])
                found[k] = radius + self._of_rank(k + 1).value if is_lower else math.inf
            return found[k]

        # The sum is smallest near where it is for Theorem 8, whose slope is a fifth steeper. From there it is followed
        # downhill, because for few bags the two can be several rows apart.
        near = {0, *(rows + step for step in (-3, -2, -1, 0, 1)), *(int(rows * f) for f in (0.5, 0.7, 0.85, 0.95))}
        ahead = sorted(k for k in near if 0 <= k < n and k <= share * n)
        while ahead:
            lowest = min(ahead, key=total)
            if total(lowest) >= best:
                break
            best = total(lowest)
            around = (lowest + step for step in (-3, -2, -1, 1, 2, 3))
            ahead = [k for k in around if 0 <= k < n and k <= share * n and k not in found]
        return best

    def _norm(self, order: float, bound: str) -> Bound:
        """A bound on the norm of the perturbations by rows that do not change the range."""
        p, bags, constant = self.scheme.largest_inclusion, self.n_bags, self.scheme.constant
        # Minkowski's inequality adds the norm of the shift.
        shift = self._shift * math.pow(self.outputs.shifted_share, 1 / max(order, 1.0))
        if self.outputs.is_vector:
            proved = [Bound(self._largest if self._derandomized else self.outputs.diameter, Proof(self._one_row))]
        else:
            paper = min(1.0, bounds.norm_perturbation(order, constant, p, bags) + shift)
            theorem = "Corollary 15" if order <= 1 else "Theorem 18"
            proved = [Bound(paper, Proof(theorem if self.scheme.is_symmetric else "Proposition 5"))]
        if bound == "best" and not math.isinf(order):
            # No change exceeds the diameter, so a norm of higher order is at most a root of the mean square.
            root, power = self._root_mean_square, 2 / max(order, 2)
            size = math.pow(root, power) * math.pow(self.outputs.diameter, 1 - power)
            proved.append(Bound(size, Proof(self._second_moments)))
            if order <= 1 and self._has_unequal_rows:
                by_row = bounds.unequal_rows_mean(self.scheme.row_constants, bags, self.coupling)
                proved.append(Bound(by_row, Proof(f"Proposition 5 for each kind of {self.noun.plural}")))
            mean = frontier.largest_mean(self.scheme) if order <= 1 and self._has_frontier else None
            if mean is not None:
                with_bags = "" if self._derandomized else " and second moments of the bags"
                total = bounds.finite_bags_mean(mean + shift, bags, self.coupling)
                proved.append(Bound(total, Proof("largest possible mean" + with_bags)))
        return min(proved)

    @property
    def _root_mean_square(self) -> float:
        """The bound on the root mean square over rows that do not change the range, in units of the width."""
        return bounds.mean_square_perturbation(self._constant, self.n_bags, self.coupling)

    @property
    def _second_moments(self) -> str:
        """The name of the proof of the root mean square."""
        if self.outputs.is_vector and self._derandomized:
            return self._mean_square
        return f"{'' if self.scheme.is_symmetric else 'Proposition 5 and '}second moments of the bags"

    def _smallest_delta(self, epsilon: float, bound: str) -> float:
        """The smallest delta whose best epsilon is at most this one. The best epsilon falls as delta grows."""
        if self._derandomized:
            n = self.n_samples
            return first_step(0, n, lambda rows: self._is_enough(rows, epsilon)) / n
        # With random bags delta is not a count. Search a fine grid; rounding up keeps the bound true.
        known, tail = 2**50, self._tail if bound == "best" else None
        if tail is not None:
            known = min(known, math.ceil((tail.delta(epsilon / self.outputs.width) + self.delta_range) * known) + 1)
        return first_step(0, known, lambda step: self._best(step / 2**50, bound, tail=False).value <= epsilon) / 2**50

    def _is_enough(self, rows: int, epsilon: float) -> bool:
        """Whether at most `rows` rows can exceed `epsilon`, with infinitely many bags; the frontier comes last."""
        n, rank = self.n_samples, self._free_rows(rows) + 1
        if 1 <= rank <= n:
            if self._kth(rank) * self.outputs.width <= epsilon:
                return True
            counted = frontier.all_plus(self.scheme, rank) if self._has_frontier and rank <= frontier.MOST_ROWS else 0.0
            if counted * (1 - 1e-9) * self.range_length > epsilon:
                return False
        return self.best(rows / n).value <= epsilon

    def holds_for(self, what: str = "This holds") -> str:
        """Say for which learners, data and fits the certificate holds, as a sentence."""
        data = f"every data set of {self.noun.count(self.n_samples)}{self.condition}"
        fits = "" if self._derandomized else f", {self.coupling.describe(self.noun)}"
        return f"{what} for every learner and {data}{fits}."

    def _guarantee(self, delta: float, epsilon: float) -> str:
        noun, n = self.noun, self.n_samples
        rows = at_most_rows(delta, n, noun) if self._derandomized else expected_rows(delta, n, noun)
        by_more = f"{self.outputs.moved} more than {rounded_up(epsilon)}{self.outputs.unit} when left out"
        drawn = "" if self._derandomized else ". The expectation is over the draw of bags and seeds"
        return f"At any test point, {rows} {by_more}{drawn}. {self.holds_for()}"

    def _no_guarantee(self, delta: float) -> str:
        """Say that nothing is guaranteed, and what would change that."""
        n, rest = self.n_samples, self.without_rows_changing_range(delta)
        ideal = replace_bags(self, math.inf).epsilon(delta)
        more_rows = self.quick_epsilon((n - 1) / n) < self.range_length  # whether any delta below 1 helps
        ways = []
        if rest > 0 and ideal < self.range_length and not self._derandomized:
            ways.append("more bags")
        if more_rows:
            ways.append("a larger delta")
        why = ""
        if "more bags" in ways:
            why = f" With infinitely many bags, the bound would be {rounded_up(ideal)}{self.outputs.unit}."
        elif self.delta_range > 0 and rest <= 0:
            changing = round(self.delta_range * n)
            some = f"Any {self.noun.singular}" if changing == n else f"{changing:,} of the {self.noun.count(n)}"
            why = f" {some} can change the range of predictions."
        elif rest <= 0 and not self._derandomized:
            why = " Random bags always leave a small chance."
        if not ways and self.delta_range > 0:
            ways.append(f"a range that fewer {self.noun.plural} can change, such as a FixedRange")
        use = f" Use {' or '.join(ways)}." if ways else ""
        others = self.holds_for("The other bounds hold")
        return f"Nothing is guaranteed for delta = {as_given(delta)}.{why}{use} {others}"

    def describe_setting(self) -> str:
        """Say for which bags and outputs a bound holds."""
        law, noun = self.scheme, self.noun
        parts = f"{law.describe(noun.plural)} ({numbers_of(law, noun)})", count_bags(self.n_bags)
        return "; ".join([*parts, self.outputs.describe(law, noun)])

    def _worst_and_mean(self) -> str:
        worst, mean, unit = self.worst_case(), self._best_norm(1), " times that range" if self.outputs.unit else ""
        if mean.value >= self.reach > 0:
            return f"There is no bound on the mean change over {self.noun.plural}."
        drawn = "" if self._derandomized else ", in expectation over bags and seeds,"
        on_average = (
            f"The mean change over {self.noun.plural}{drawn} is at most {rounded_up(mean.value)}{unit} "
            f"({mean.proof.words})."
        )
        if worst >= self.reach > 0:
            return on_average
        none = f"No {self.noun.singular} changes it by more than {rounded_up(worst)}{unit} ({self._one_row})."
        return f"{none} {on_average}"

    def _replacing(self) -> str:
        if not self.outputs.is_fixed or self.outputs.is_vector or not self.scheme.is_symmetric:
            return ""
        if (always := self.replace_one()) >= self.range_length:
            return ""
        expected, noun = self.replace_one_in_expectation(), self.noun
        on_average = "" if self._derandomized else ", in expectation over the bags"
        same = (
            f" with the same {noun.singular} ID"
            if isinstance(self.coupling, Matched) and not self._derandomized
            else ""
        )
        sentence = f"Replacing {noun.any_one} by another{same} changes it by at most {rounded_up(always)}{on_average}."
        if expected >= always:
            return sentence
        return (
            f"{sentence} For independent {noun.plural} from one distribution, the expected change is at most "
            f"{rounded_up(expected)} (Corollary 17)."
        )


def replace_bags(certificate: Certificate, n_bags: int | float) -> Certificate:
    """Return the same certificate for another number of bags."""
    parts = {"outputs": certificate.outputs, "coupling": certificate.coupling, "noun": certificate.noun}
    return Certificate(certificate.scheme, certificate.n_samples, n_bags, **parts)  # type: ignore[arg-type]


def first_step(low: int, high: int, holds: Callable[[int], bool]) -> int:
    """Return the smallest whole number from `low` to `high` for which a monotone condition, true at `high`, holds."""
    while low < high:  # bisect_left cannot search 2**63 numbers
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle + 1, high)
    return low


def at_most_rows(delta: float, n_samples: int, noun: Noun = ROWS) -> str:
    """Say how many rows change something.

    >>> at_most_rows(0.1, 442), at_most_rows(0.001, 442)
    ('at most 44 of the 442 rows (delta = 0.1) change', 'none of the 442 rows (delta = 0.001) changes')
    """
    rows = whole_rows(delta, n_samples)
    which, verb = (f"at most {rows:,}", "change") if rows else ("none", "changes")
    return f"{which} of the {noun.count(n_samples)} (delta = {as_given(delta)}) {verb}"


def expected_rows(delta: float, n_samples: int, noun: Noun = ROWS) -> str:
    """Say which share of rows changes something in expectation.

    >>> expected_rows(0.1, 442), expected_rows(1 / 3, 442)
    ('at most 10% of the 442 rows (delta = 0.1) are expected to change', \
'at most 33.34% of the 442 rows (delta = 0.3334) are expected to change')
    """
    share = as_given(float(100 * as_fraction(delta)))
    return f"at most {share}% of the {noun.count(n_samples)} (delta = {as_given(delta)}) are expected to change"


def numbers_of(law: ResolvedScheme, noun: Noun = ROWS) -> str:
    """Return the numbers of a law that its guarantees depend on, in words."""
    if law.is_symmetric:
        return f"p = {probability(law.inclusion_probability)}, q = {law.negative_covariance:.3g}"
    least, most = float(law.inclusion_probabilities.min()), law.largest_inclusion
    chance = probability(most) if least == most else f"{probability(least)} to {probability(most)}"
    return f"{noun.any_one} is in a bag with probability {chance}, and the norm of the covariance is {law.constant:.3g}"


def law_to_dict(law: ResolvedScheme) -> dict[str, Any]:
    """Return a law as a dictionary for JSON."""
    if not law.is_symmetric:
        sizes = {"bag_size": law.bag_size, "n_samples": law.n_samples}
        enters = {"largest_inclusion": law.largest_inclusion, "constant": law.constant}
        return {"scheme": type(law.scheme).__name__, **sizes, **enters}
    size = getattr(law.scheme, "bag_size", None)
    return {
        "scheme": type(law.scheme).__name__,
        "bag_size": str(size) if isinstance(size, Fraction) else size,
        "n_samples": law.n_samples,
        "inclusion_probability": law.inclusion_probability,
        "negative_covariance": law.negative_covariance,
    }


def _outputs(range_length: float, delta_range: float, reach: float | None) -> Outputs:
    if check_delta(delta_range, "Certificate", name="delta_range") == 0:
        outputs = Outputs(range_length)
        check_real(range_length if reach is None else reach, "reach", "Certificate", low=outputs.length)
        return outputs
    return AdaptiveOutputs(range_length, delta_range, math.inf if reach is None else reach)
