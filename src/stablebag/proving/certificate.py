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
    Noun,
    as_given,
    count_bags,
    paragraphs,
    preformatted,
    probability,
    rounded_up,
)
from stablebag.models.ranges import FixedRange, ObservedRange, as_prediction_range, as_units
from stablebag.proving import bounds, frontier
from stablebag.proving.coupling import Coupling, Matched, as_coupling
from stablebag.proving.leave_out import LeaveOutCertificate, leave_out
from stablebag.proving.outputs import (
    AdaptiveOutputs,
    BoxOutputs,
    ClassOutputs,
    Labels,
    Outputs,
    VectorOutputs,
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
    """What a bound rests on.

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
        """What a bound rests on, as the beginning of a sentence."""
        if self.words == TRIVIAL.words:
            return f"All that is known is {self.words}"
        return f"Proved by {self.words}" + (", and no smaller number holds for every learner" if self.exact else "")

    def and_(self, *others: str) -> "Proof":
        """Return the proof with further steps."""
        return Proof(", ".join([self.words, *others]), self.exact)


@dataclass(frozen=True, order=True)
class Bound:
    """A number with its proof; the smaller, the better.

    Attributes
    ----------
    value : float
        The number.
    proof : Proof
        What it rests on.
    """

    value: float
    proof: Proof = field(compare=False)


# What takes the place of Theorem 8 for a law that does not treat all rows alike (docs/proofs.md, 11).
PROPOSITION_5 = 'Proposition 5 of Barber and Samworth (2026), "Algorithmic stability via ensembling"'
TRIVIAL = Proof("that no prediction leaves its range")


# ------------------------------------------------------------------------------------------------------------- protocol
# What every certificate provides, of which displays, studies and reports use nothing else, and what all share.


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


class CertificateMixin:
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


# ---------------------------------------------------------------------------------------------------------------- price
# What drawing finitely many bags costs, and how many bags are enough.

ENOUGH = 1.1  # times the epsilon for infinitely many bags: from so many bags on, more lower it by less than 10 %
_WORTH_A_WORD = 0.02  # of the bound
_MANY_BAGS = 10**9  # more are never advised


def enough_bags(
    certificate: Callable[[int], "Certificate"], epsilon: float, delta: float, near: int, most: int = _MANY_BAGS
) -> int | None:
    """Return the fewest bags, rounded up to two digits, with which a certificate proves something; None above `most`.

    >>> from stablebag import Certificate, Subbagging
    >>> enough_bags(lambda n_bags: Certificate(Subbagging(0.5), 500, n_bags), 0.1, 0.1, near=1000)
    2800
    """
    numbers = [*range(1, 10), *(k * 10**power for power in range(8) for k in range(10, 100)), _MANY_BAGS]
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
# Certificates: what bagging guarantees before any data are seen, as numbers and in sentences.

_FORMAT = 1  # of to_dict; a dictionary that does not say is of the first
_BOUNDS = ("best", "exact", "paper")
_MOST_WITH_FRONTIER = 100_000  # rows up to which the frontier is worked out beside the noise of bags
_FEW_EMPTY = 1e-6  # a chance of bags without rows that changes none of the digits shown
_ORDERS = (1.0, 1.5, 2.0, 3.0, 4.0)  # a norm is not larger than one of higher order


@dataclass(frozen=True, init=False)
class Certificate(CertificateMixin):
    """What is proved about bagging any learner, for every data set of `n_samples` rows and every test point.

    Leaving out row i moves the prediction by some L_i. The certificate bounds how many rows can move it far
    (`epsilon`, `delta`), how far any row can (`worst_case`) and how far they do on average (`mean`, `norm`). It assumes
    nothing about the learner or the data, except that predictions lie in an interval of length `range_length`.

    A share `delta` is a fraction of the training rows, not a confidence level. With finitely many bags, the statement
    is about the average over rows of the probability, over the draw of bags and learner seeds, that L_i > epsilon.

    For a scheme that does not treat all rows alike (`UnequalScheme`), Proposition 5 of Barber and Samworth (2026) takes
    the place of the paper's theorems: the norm of the covariance of who is in a bag that of c, and the largest chance
    of a row to be in a bag that of p. There is no exact frontier then.

    `certify` returns the certificate of a fitted model, `for_targets` that of a prediction range and its targets, and
    `for_labels` that of class probabilities. For one class or output a certificate of numbers is sharper; for all of
    them jointly, one of vectors is.

    Parameters
    ----------
    scheme : ResamplingScheme
        How bags are drawn. It is kept resolved for `n_samples`.
    n_samples : int
        The number of training rows.
    n_bags : int or math.inf, default=inf
        The number of bags; ``math.inf`` stands for derandomized bagging.
    range_length : float, default=1.0
        The length of the interval in which the predictions lie, or to which they are clipped. Every epsilon is in
        the same units.
    delta_range : float, default=0.0
        The share of rows whose removal changes that interval: 0 for a fixed one, `PredictionRange.delta` for one that
        depends on the data. It is rounded up to whole rows.
    reach : float or None, default=None
        How far a prediction can move at all: in general `PredictionRange.reach`, which is `range_length` if the
        interval does not reach further without a row, as with `ObservedRange` and `TrimmedRange`. None stands for
        `range_length` if no row changes the interval, and for unknown (infinite) if some do.
    outputs : Outputs or None, default=None
        The set in which the outputs lie, in place of the three numbers above. It says what the certificate is about:
        a number, a class's probability, or a vector, whose distances are Euclidean (`VectorOutputs`, `BoxOutputs`).
    coupling : {"any", "independent", "matched"}, default="any"
        For finitely many bags: what is assumed about the bags with and without a row. "any" assumes nothing, so it
        also holds for the same seed in both runs. "independent" assumes that the bags, and the seeds of the learners,
        are drawn independently, as in two runs without a common seed. "matched" is for the same seed in both runs of a
        scheme that draws matched bags, as the paper's four do here: bags without the row are the same in both. The
        bounds are then sharper, and `explain` names the assumption.
    noun : Noun, default=ROWS
        What is left out, for sentences. If it is units of several rows, `n_samples` is the number of units.

    Examples
    --------
    >>> from stablebag import Certificate, Subbagging
    >>> certificate = Certificate(Subbagging(0.5), n_samples=500)
    >>> round(certificate.epsilon(delta=0.1, bound="paper"), 10)
    0.070781495
    >>> print(certificate.explain(delta=0.1))
    For every learner, every data set of 500 rows and every test point: at most 50 of the 500 rows
    (delta = 0.1) move the prediction by more than 0.05619 when left out.
    Proved by the exact frontier, and no smaller number holds for every learner (subbagging, 250
    of 500 rows: p = 0.5, q = 0.000501; infinitely many bags; predictions in a range of length 1).
    No row at all moves it by more than 0.5 (Theorem 14); the mean over rows is at most 0.01789
    (largest possible mean).
    Replacing a row by another moves it by at most 0.5; for independent rows from one
    distribution, by at most 0.03578 in expectation (Corollary 17).
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
            raise refuse_value("outputs", owner, "None beside range_length, delta_range or reach", outputs)
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
        """Return the certificate of each class's probability, for a classifier fitted to these labels.

        Parameters
        ----------
        scheme : ResamplingScheme
            How bags are drawn; stratified ones without strata of their own have the classes as strata.
        y : array-like of shape (n_samples,)
            The labels of the training rows.
        n_bags : int or math.inf, default=inf
            The number of bags; ``math.inf`` stands for derandomized bagging.
        vector : bool, default=False
            Whether it is about the vector of all probabilities, or of the shares of votes.
        coupling : {"any", "independent", "matched"}, default="any"
            As in `Certificate`.
        groups : sequence of int or labels, of length n_samples, default=None
            The unit of each row, if units of several rows are left out, as in `fit`.

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
        """Return the certificate of the vector of class probabilities, or of votes, whatever the sizes of the classes.

        Parameters
        ----------
        scheme : ResamplingScheme
            How bags are drawn.
        n_samples : int
            The number of training rows.
        n_classes : int
            The number of classes.
        n_bags : int or math.inf, default=inf
            The number of bags; ``math.inf`` stands for derandomized bagging.
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
        For every learner, every data set of 500 rows and every test point: at most 50 of the 500 rows
        (delta = 0.1) move the vector of outputs by a distance of more than 0.133 when left out.
        Proved by mean squares, counting whole rows (subbagging, 250 of 500 rows: p = 0.5, q =
        0.000501; infinitely many bags; outputs within 0.9487 of a point).
        No row at all moves it by more than 0.7072 (Theorem 14); the mean over rows is at most 0.04247
        (mean squares).
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
        """Return the certificate of predictions clipped to a range taken from these targets.

        Parameters
        ----------
        scheme : ResamplingScheme
            How bags are drawn.
        y : array-like of shape (n_samples,), or (n_samples, n_outputs) with `vector`
            The targets of the training rows.
        prediction_range : PredictionRange, callable or list of these, default=ObservedRange()
            The rule that turns the targets into the interval to which predictions are clipped; with `vector`, of each
            output, or a list with one rule for each.
        n_bags : int or math.inf, default=inf
            The number of bags; ``math.inf`` stands for derandomized bagging.
        vector : bool, default=False
            Whether it is about the vector of several outputs, each clipped to a range taken from its own targets.
        coupling : {"any", "independent", "matched"}, default="any"
            As in `Certificate`.
        groups : sequence of int or labels, of length n_samples, default=None
            The unit of each row, if units of several rows are left out, as in `fit`.

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
        adaptive = AdaptiveOutputs(high - low, delta_range, reach)
        return cls(scheme, n, n_bags, outputs=adaptive, **about)  # type: ignore[arg-type]

    # ------------------------------------------------------------------------------------------------ what it is about

    @property
    def range_length(self) -> float:
        """The largest distance between two predictions; every epsilon is in the same units."""
        return self.outputs.length

    @property
    def delta_range(self) -> float:
        """The share of rows whose removal changes that interval."""
        return self.outputs.delta_range

    @property
    def reach(self) -> float:
        """How far a prediction can move at all."""
        return self.outputs.reach

    @property
    def condition(self) -> str:
        """Which data sets of this size it is about, if not all."""
        return self.scheme.scheme.condition + self.outputs.condition(self.scheme, self.noun)

    @property
    def scope(self) -> Scope:
        """What it is about, to compare it with that of a measurement."""
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
        """Return the perturbation that at most a share `delta` of the rows can exceed.

        Parameters
        ----------
        delta : float
            A share of the training rows, in [0, 1].
        bound : {"best", "exact", "paper"}, default="best"
            "paper" is the formula of Theorem 8 (9 for finitely many bags, 13 and 20 with `delta_range`). "exact" is the
            exact frontier: with infinitely many bags, the smallest epsilon that holds for every learner; with finitely
            many, Theorem 9's term for the bags is added. If the frontier cannot be worked out (beyond 30,000 rows that
            may exceed epsilon, or for a scheme that does not say how many rows are in a bag), an upper bound on it is
            used. "best" is the smallest of all proved bounds, so it is never above the others. `explain` names it.
            The other two are for schemes that treat all rows alike.

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
            return 0.0  # not 0 times infinity: nothing moves within an interval of length zero
        return normalized * (self.range_length or 1.0)

    def delta(self, epsilon: float, bound: str = "best") -> float:
        """Return the share of rows that can move the prediction by more than `epsilon`.

        Parameters
        ----------
        epsilon : float
            A perturbation, in the units of the prediction.
        bound : {"best", "exact", "paper"}, default="best"
            As in `epsilon`. With "paper" it is zero if epsilon is at least the worst case of Theorem 14.

        Returns
        -------
        float
            At most 1. With infinitely many bags rows are counted, so it is a multiple of 1 / n_samples; with finitely
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
        """Return the perturbation that no row exceeds, by Theorem 14: the largest chance of a row to be in a bag.

        Parameters
        ----------
        monte_carlo_delta : float, default=0.0
            For finitely many bags: the probability, over the bags, with which each row may exceed it. The theorem is
            about infinitely many bags; Hoeffding's inequality adds the price of drawing finitely many. With probability
            zero, nothing better than the whole range can be promised.

        Returns
        -------
        float
        """
        monte_carlo_delta = check_delta(monte_carlo_delta, "Certificate.worst_case", name="monte_carlo_delta")
        if self.delta_range > 0:
            return self.reach
        return min(self.outputs.diameter, self._largest + self._noise(monte_carlo_delta)) * self.outputs.width

    def mean(self, bound: str = "best") -> float:
        """Return a bound on the mean over rows of the expected perturbation.

        Parameters
        ----------
        bound : {"best", "paper"}, default="best"
            "paper" is Corollary 15. "best" is the smallest proved bound: with infinitely many bags, the largest mean of
            any learner, if it can be worked out.

        Returns
        -------
        float
        """
        return self.norm(1, bound)

    def rms(self) -> float:
        """Return a bound on the root of the mean over rows of the expected squared perturbation."""
        return self.norm(2)

    def norm(self, order: float, bound: str = "best") -> float:
        """Return a bound on (mean of L_i^order)^(1 / order) over rows.

        Parameters
        ----------
        order : float
            Positive; ``math.inf`` is the worst case, 1 the mean. Rows that change the prediction range count with
            its whole `reach`.
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
        """The smallest bound on a norm over all rows; a norm is no larger than one of higher order."""
        orders = sorted({order, *(each for each in _ORDERS if each > order)})
        return min(Bound(self._of_all_rows(each, "best"), self._norm(each, "best").proof) for each in orders)

    def _of_all_rows(self, order: float, bound: str) -> float:
        """A bound on a norm over all rows, including those that change the range."""
        norm = self._norm(order, bound).value * self.outputs.width
        if self.delta_range == 0:
            return norm
        if math.isinf(order) or math.isinf(self.reach):
            return self.reach
        # The rows that change the range and those that do not are two groups, whose powers add up. In logarithms,
        # because powers of small or large order leave the range of floats.
        parts = [(norm, 1.0), (self.reach, self.delta_range)]
        logs = [order * math.log(size) + math.log(share) for size, share in parts if size > 0]
        return min(self.reach, math.exp(float(logsumexp(logs)) / order)) if logs else 0.0

    def loss(self, lipschitz: float = 1.0) -> float:
        """Return a bound on the mean expected change in a loss that is `lipschitz` in the prediction (Corollary 16).

        Parameters
        ----------
        lipschitz : float, default=1.0
            The loss changes by at most this times the change in the prediction; 1 for the absolute error.

        Returns
        -------
        float
        """
        return bounds.loss_perturbation(self.mean(), lipschitz)

    def replace_one(self, lipschitz: float = 1.0) -> float:
        """Return a bound on the change in a loss when a row is *replaced* by another, for every data set.

        Only the bags that contain the row change, so it is p times the range; with finitely many bags, in expectation
        over the bags. The memorizing learner attains it. If rows are not all alike, the new row takes the place of the
        old one in the law of bags, such as its stratum, and p is the largest chance of a row.

        Parameters
        ----------
        lipschitz : float, default=1.0
            As in `loss`.

        Returns
        -------
        float
        """
        if self.outputs.is_vector:
            raise ValueError("Nothing is proved about vectors when a row is replaced. Use a certificate of numbers.")
        if not self.outputs.is_fixed:
            raise ValueError(
                "Replacing a row needs a range that is fixed in advance: the new row could stretch any other without "
                "bound. Clip to a FixedRange."
            )
        # With two or more classes, bags without rows give none more than one half; the new row may bring a class.
        empty = self._most_of_empty * self.scheme.empty_probability if isinstance(self.outputs, ClassOutputs) else 0.0
        # Matched bags are the same if the new row takes the name of the old one: only their outputs change.
        moved = min(1.0, self.scheme.largest_inclusion + empty)
        if not isinstance(self.coupling, Matched):
            moved = bounds.finite_bags_mean(moved, self.n_bags, self.coupling)
        return bounds.loss_perturbation(moved * self.range_length, lipschitz)

    def replace_one_in_expectation(self, lipschitz: float = 1.0) -> float:
        """Return a bound on the expected change in a loss when a row is *replaced* by another (Corollary 17).

        The expectation is over rows, replacements and the test point, all drawn independently from one distribution. It
        is not a bound for every data set: for that, only `replace_one` holds. Both need a fixed range, because a new
        row can stretch a range taken from the targets without bound.

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
                "Corollary 17 needs a law of bags that is the same whatever the new row is, and here rows are not all "
                "alike. Use replace_one, which holds for every data set."
            )
        always, mean = self.replace_one(lipschitz), self.mean()
        if isinstance(self.outputs, ClassOutputs):  # it holds for these labels, but here it must hold for all
            shift = self._most_of_empty * self.scheme.empty_without_a_row
            for_all = replace(self.outputs, shift=shift, shifted_share=1.0)
            mean = self.with_outputs(for_all).mean()
        return min(always, bounds.replace_one_in_expectation(mean, lipschitz))

    # ------------------------------------------------------------------------------------------------------ in words

    def explain(self, delta: float = 0.05) -> str:
        """Explain in sentences what is promised for a share `delta` of the rows, and by which theorem.

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
        vacuous = math.isinf(bound.value) or bound.value >= self.range_length > 0
        promise = self._vacuous_promise(delta) if vacuous else self._promise(delta, bound.value)
        data = f"every data set of {self.noun.count(self.n_samples)}{self.condition}"
        sentences = [
            f"For every learner, {data} and every test point: {promise}",
            f"{bound.proof.sentence} ({self.describe_setting()}).",
            self._describe_price(delta),
            self._worst_and_mean(),
            self._replacing(),
            self.outputs.describe_shift(self.n_samples, self.noun),
        ]
        return paragraphs(sentence for sentence in sentences if sentence)

    def price(self, delta: float = 0.05) -> tuple[float, int | None]:
        """Return what drawing finitely many bags adds to epsilon, and how many bags are enough.

        Both compare with `epsilon` for infinitely many bags. More bags than enough lower epsilon by less than 10 %.

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
            None if bags are not drawn, if nothing is promised for this share, or if it takes more than a billion.

        Examples
        --------
        >>> from stablebag import Certificate, Subbagging
        >>> certificate = Certificate(Subbagging(0.5), n_samples=500, n_bags=250, coupling="matched")
        >>> price, enough = certificate.price(delta=0.1)
        >>> round(price, 4), enough
        (0.0252, 880)
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
        """Return whether it is proved that at most a share `delta` of the rows changes the prediction by more than that.

        Much faster than ``epsilon(delta) <= epsilon``. Both say the same, except that `epsilon` searches on a grid, and
        may be up to a few percent above what can be proved.

        Parameters
        ----------
        epsilon : float
            A perturbation, in the units of the prediction.
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
        """Return what is proved as a curve: the smallest epsilon for each share of rows.

        Parameters
        ----------
        over_points : {"max", "mean"}, default="max"
            Of no use: the certificate is about every point.

        Returns
        -------
        epsilon : ndarray
        delta : ndarray
        """
        if (tail := self._tail) is None:
            return super().curve(over_points)
        check_choice(over_points, "over_points", "curve", ("max", "mean"))
        n = self.n_samples
        # The tail is worked out at some epsilons, whose deltas take their place among the shares of rows.
        largest, smallest = (self._best(share, "best", tail=False).value for share in (1 / n, (n - 1) / n))
        tried = np.geomspace(0.5 * smallest, largest, 40) if 0 < smallest < largest else np.array([])
        known = np.array([tail.delta(epsilon / self.outputs.width) + self.delta_range for epsilon in tried])
        shares = np.unique([*(np.unique(np.geomspace(1, n - 1, 50).astype(np.int64)) / n), *known[known < 1]])
        epsilons = np.array([self._best(share, "best", tail=False).value for share in shares])
        by_tail = np.array([min(tried[known <= share], default=math.inf) for share in shares])
        epsilons = np.minimum(epsilons, by_tail)
        proved = np.isfinite(epsilons)
        return epsilons[proved], shares[proved]

    def _describe_price(self, delta: float) -> str:
        """Say what more bags would change; nothing if it is next to nothing, or if nothing is promised anyway."""
        if self._derandomized or not 0 < (now := self.epsilon(delta)) < self.range_length:
            return ""
        price, enough = self.price(delta)
        ideal = rounded_up(now - price) + self.outputs.unit
        if price < _WORTH_A_WORD * now:
            return ""
        if now <= ENOUGH * (now - price):
            return f"More bags would lower this by less than 10 %: with infinitely many it would be {ideal}."
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
        """Return the certificate as a dictionary that JSON takes; `from_dict` reads it back."""
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
            What `to_dict` returned, possibly after a trip through JSON.
        scheme : ResamplingScheme, default=None
            The scheme, if it is your own and cannot be made from its name.

        Returns
        -------
        Certificate
        """
        if not isinstance(values, dict) or not {"scheme", "bag_size", "n_samples", "n_bags"} <= set(values):
            expected = "a dictionary as to_dict returns it"
            raise refuse_type("values", "Certificate.from_dict", expected, values, "json.loads makes one from text.")
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
                    f"The dictionary says {name}={shown(values[name])}, but its other entries give {value!r}."
                )
        return certificate

    def leave_out(self, k: int) -> LeaveOutCertificate:
        """Return what is proved about leaving out `k` rows at once, if which rows leave was random.

        Parameters
        ----------
        k : int
            How many rows, or groups.

        Returns
        -------
        LeaveOutCertificate

        Examples
        --------
        Half of the bags lose a row on average if one leaves, and nearly all if ten do. Small bags keep calm:

        >>> from stablebag import Certificate, Subbagging
        >>> for size in (0.5, 0.1):
        ...     certificate = Certificate(Subbagging(size), n_samples=1000)
        ...     print(size, round(certificate.leave_out(10).epsilon(delta=0.1), 4))
        0.5 0.1589
        0.1 0.053
        """
        owner, outputs = "Certificate.leave_out", self.outputs
        if not (outputs.is_fixed or outputs.quantity is Quantity.RELATIVE):
            raise ValueError(
                f"What several {self.noun.plural} change in a range taken from the targets is not known. Clip to a "
                "FixedRange."
            )
        if outputs.quantity in (Quantity.CLASS, Quantity.VECTOR) and self.scheme.empty_probability > 0:
            raise ValueError(
                f"Several {self.noun.plural} can take classes away, of which bags without {self.noun.plural} then tell "
                "something else, and nothing is proved about that. Use a scheme without such bags, as Subbagging."
            )
        return LeaveOutCertificate(self, leave_out(self.scheme, check_integer(k, "k", owner, minimum=1)))

    def with_outputs(self, outputs: Outputs) -> "Certificate":
        """Return the certificate of the same bags for other outputs."""
        about = {"coupling": self.coupling, "noun": self.noun}
        return Certificate(self.scheme, self.n_samples, self.n_bags, outputs=outputs, **about)  # type: ignore[arg-type]

    def best(self, delta: float, bound: str = "best") -> Bound:
        """Return the smallest epsilon proved for a share `delta` of the rows, with its proof.

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
        """The smallest epsilon, with or without the tail for matched bags, which takes the longest."""
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
        # What a bag without rows predicts is fixed, so if there are many of them, less is attained.
        exact = found.proof.exact and self.outputs.is_fixed and self.scheme.empty_probability < _FEW_EMPTY
        proof = replace(found.proof.and_(theorem) if theorem else found.proof, exact=exact)
        return Bound(found.value * self.outputs.width, proof)

    def quick_epsilon(self, delta: float) -> float:
        """Return a bound for a share `delta` of the rows, as `epsilon` does, without the exact frontier.

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
        """Return what is left of a share of rows after those that change the range; below zero if nothing is."""
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
        """How far a bag without rows can move a class when a row is exchanged, or a unit, which may have several."""
        return 1.0 if isinstance(self.outputs, ClassOutputs) and self.outputs.several else 0.5

    @property
    def _constant(self) -> float:
        """The bagging constant c or, with a shift, what takes its place in the mean square."""
        return bounds.shifted_constant(self.scheme.constant, self._shift, self.outputs.shifted_share)

    @property
    def _largest(self) -> float:
        """How far any one row can move the average over all bags, in units of the width."""
        p, diameter = bounds.worst_case_epsilon(self.scheme.largest_inclusion), self.outputs.diameter
        return min(diameter, p * diameter + self._shift) if self.outputs.is_vector else p + self._shift

    @property
    def _tail(self) -> Tail | None:
        """The tail for matched bags, if it is known and the outputs are numbers."""
        if self._derandomized or self._shift > 0 or not self._has_frontier or not isinstance(self.coupling, Matched):
            return None
        if self.n_samples > _MOST_WITH_FRONTIER or self.outputs.width == 0:
            return None
        return tail_of(self.scheme, int(self.n_bags))

    @property
    def _has_frontier(self) -> bool:
        """Whether the exact frontier, which is about numbers and rows that are all alike, is of use."""
        return self.scheme.is_symmetric and not self.outputs.is_vector

    @property
    def _has_unequal_rows(self) -> bool:
        """Whether rows have constants of their own; with a shift, the largest is used for all."""
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
        """What the noise of the bags exceeds with probability at most `share`, in units of the width."""
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
        """Refuse a bound that is not known, and those that need rows that are all alike where they are not."""
        bound = check_choice(bound, "bound", owner, _BOUNDS)
        if bound != "best" and self.outputs.is_vector:
            reason = "the exact frontier and the theorems of the paper are about numbers."
            raise refuse_value("bound", owner, '"best" for vectors', bound, reason)
        if bound != "best" and not self.scheme.is_symmetric:
            what = "the exact frontier is" if bound == "exact" else "the theorems of the paper are"
            reason = f'{what} about laws that treat all rows alike. Use "best".'
            raise refuse_value("bound", owner, f'"best" for {type(self.scheme.scheme).__name__}', bound, reason)
        return bound

    @property
    def _shift(self) -> float:
        """The shift in units of the width."""
        return self.outputs.shift / self.outputs.width if self.outputs.shift else 0.0

    def _free_rows(self, rows: int) -> int:
        """How many of so many rows are left after those that change the range."""
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
        beyond = f"the exact frontier is not worked out beyond {known:,} {self.noun.plural}"
        if known < rank and epsilon <= frontier.all_plus(self.scheme, known) * (1 - 1e-9):
            # The frontier at the last rank worked out is no lower than the learner that counts rows: no need for it.
            return Bound(epsilon, Proof(f"{squares}; {beyond}"))
        point = frontier.frontier(self.scheme, known) if rank <= self.n_samples else None
        if point is None:
            return Bound(epsilon, Proof(f"{squares}; the exact frontier is not worked out for this law"))
        exact = point.value + self._shift
        if known == rank:
            return Bound(min(epsilon, exact), Proof("the exact frontier", exact=True))
        # The frontier falls with the rank, so its last value that was worked out bounds those beyond it.
        name = squares if epsilon < exact else f"the frontier at {known:,} {self.noun.plural}"
        return Bound(min(epsilon, exact), Proof(f"{name}; {beyond}"))

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
            proved.append(
                Bound(squares, Proof(f"{before}second moments of the bags, {self.coupling.describe(self.noun)}"))
            )
            if tail is not None and delta > 0:
                shared = f"the exact frontier and tail bounds for the bags, {self.coupling.describe(self.noun)}"
                proved.append(Bound(tail.epsilon(delta), Proof(shared)))
        # Of very many rows, the bags' part is nearly all of it.
        if bound == "best" and (n > _MOST_WITH_FRONTIER or not self._has_frontier):
            return min(proved)
        exact = self._frontier_and_bags(delta, rows, math.inf if bound == "exact" else min(proved).value)
        proved.append(Bound(exact, Proof(f"the exact frontier, {for_bags}")))
        return min(proved)

    def _frontier_and_bags(self, delta: float, rows: int, best: float) -> float:
        """The smallest sum of the exact frontier at some rank and the noise of the bags, if it is below `best`."""
        n, share = self.n_samples, as_share(delta, self.n_samples)

        def noise(k: int) -> float:
            return self._noise(max(0.0, float(share - Fraction(k, n))))

        found: dict[int, float] = {}

        def total(k: int) -> float:
            # The frontier is not below the learner that counts rows; if even that is too high, the frontier is not
            # worked out.
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
        # The norm of the shift, which Minkowski's inequality adds.
        shift = self._shift * math.pow(self.outputs.shifted_share, 1 / max(order, 1.0))
        if self.outputs.is_vector:
            proved = [Bound(self._largest if self._derandomized else self.outputs.diameter, Proof(self._one_row))]
        else:
            paper = min(1.0, bounds.norm_perturbation(order, constant, p, bags) + shift)
            theorem = "Corollary 15" if order <= 1 else "Theorem 18"
            proved = [Bound(paper, Proof(theorem if self.scheme.is_symmetric else "Proposition 5"))]
        if bound == "best" and not math.isinf(order):
            # No perturbation exceeds the diameter, so a norm of higher order is at most a root of the mean square.
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
        """What proves that."""
        if self.outputs.is_vector and self._derandomized:
            return self._mean_square
        return f"{'' if self.scheme.is_symmetric else 'Proposition 5 and '}second moments of the bags"

    def _smallest_delta(self, epsilon: float, bound: str) -> float:
        """The smallest delta whose best epsilon is at most this one; the best epsilon falls as delta grows."""
        if self._derandomized:
            n = self.n_samples
            return first_step(0, n, lambda rows: self._is_enough(rows, epsilon)) / n
        # With random bags delta is not a count. On a grid finer than any row, the next point up is still proved.
        known, tail = 2**50, self._tail if bound == "best" else None
        if tail is not None:
            known = min(known, math.ceil((tail.delta(epsilon / self.outputs.width) + self.delta_range) * known) + 1)
        return first_step(0, known, lambda step: self._best(step / 2**50, bound, tail=False).value <= epsilon) / 2**50

    def _is_enough(self, rows: int, epsilon: float) -> bool:
        """Whether at most so many rows can exceed `epsilon`, with infinitely many bags; the frontier comes last."""
        n, rank = self.n_samples, self._free_rows(rows) + 1
        if 1 <= rank <= n:
            if self._kth(rank) * self.outputs.width <= epsilon:
                return True
            counted = frontier.all_plus(self.scheme, rank) if self._has_frontier and rank <= frontier.MOST_ROWS else 0.0
            if counted * (1 - 1e-9) * self.range_length > epsilon:
                return False
        return self.best(rows / n).value <= epsilon

    def _promise(self, delta: float, epsilon: float) -> str:
        noun, moved = self.noun, f"{self.outputs.moved} more than {rounded_up(epsilon)}{self.outputs.unit}"
        if self._derandomized:
            return f"{at_most_rows(delta, self.n_samples, noun)} {moved} when left out."
        return (
            f"the chance, over the draw of bags and seeds, that leaving out {noun.any_one} moves {moved} is at most "
            f"{as_given(delta)} on average over the {noun.plural}."
        )

    def _vacuous_promise(self, delta: float) -> str:
        """Say that nothing is promised, and what would change that."""
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
            why = f" With infinitely many bags it would be {rounded_up(ideal)}{self.outputs.unit}."
        elif self.delta_range > 0 and rest <= 0:
            changing = round(self.delta_range * n)
            some = f"Any {self.noun.singular}" if changing == n else f"{changing:,} of the {self.noun.count(n)}"
            why = f" {some} can change the range itself."
        elif rest <= 0 and not self._derandomized:
            why = " However many bags are drawn, they may be drawn badly."
        if not ways and self.delta_range > 0:
            ways.append(f"a range that fewer {self.noun.plural} can change, such as a FixedRange")
        use = f" Use {' or '.join(ways)}." if ways else ""
        return f"nothing is promised for delta = {as_given(delta)}; the bound is vacuous.{why}{use}"

    def describe_setting(self) -> str:
        """Say to which bags and outputs a bound applies."""
        law, noun = self.scheme, self.noun
        parts = f"{law.describe(noun.plural)}: {numbers_of(law, noun)}", count_bags(self.n_bags)
        return "; ".join([*parts, self.outputs.describe(law, noun)])

    def _worst_and_mean(self) -> str:
        worst, mean, unit = self.worst_case(), self._best_norm(1), " times that range" if self.outputs.unit else ""
        if mean.value >= self.reach > 0:
            return f"Nothing is proved about the mean over {self.noun.plural}."
        drawn = "" if self._derandomized else ", in expectation over bags and seeds,"
        on_average = (
            f"mean over {self.noun.plural}{drawn} is at most {rounded_up(mean.value)}{unit} ({mean.proof.words})."
        )
        if worst >= self.reach > 0:
            return f"The {on_average}"
        none = f"No {self.noun.singular} at all moves it by more than {rounded_up(worst)}{unit}"
        return f"{none} ({self._one_row}); the {on_average}"

    def _replacing(self) -> str:
        if not self.outputs.is_fixed or self.outputs.is_vector or not self.scheme.is_symmetric:
            return ""
        if (always := self.replace_one()) >= self.range_length:
            return ""
        expected = self.replace_one_in_expectation()
        on_average = "" if self._derandomized else ", in expectation over the bags"
        named = " that takes its name" if isinstance(self.coupling, Matched) and not self._derandomized else ""
        sentence = (
            f"Replacing {self.noun.any_one} by another{named} moves it by at most {rounded_up(always)}{on_average}"
        )
        if expected >= always:
            return sentence + "."
        return (
            f"{sentence}; for independent {self.noun.plural} from one distribution, by at most {rounded_up(expected)} "
            "in expectation (Corollary 17)."
        )


def replace_bags(certificate: Certificate, n_bags: int | float) -> Certificate:
    """Return the same certificate for another number of bags."""
    parts = {"outputs": certificate.outputs, "coupling": certificate.coupling, "noun": certificate.noun}
    return Certificate(certificate.scheme, certificate.n_samples, n_bags, **parts)  # type: ignore[arg-type]


def first_step(low: int, high: int, holds: Callable[[int], bool]) -> int:
    """Return the smallest whole number from `low` to `high` at which a monotone condition, true at `high`, holds."""
    while low < high:  # bisect_left knows no range of 2**63 numbers
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle + 1, high)
    return low


def at_most_rows(delta: float, n_samples: int, noun: Noun = ROWS) -> str:
    """Say how many rows move something, at the beginning of a sentence.

    >>> at_most_rows(0.1, 442), at_most_rows(0.001, 442)
    ('at most 44 of the 442 rows (delta = 0.1) move', 'none of the 442 rows (delta = 0.001) moves')
    """
    rows = whole_rows(delta, n_samples)
    which, verb = (f"at most {rows:,}", "move") if rows else ("none", "moves")
    return f"{which} of the {noun.count(n_samples)} (delta = {as_given(delta)}) {verb}"


def numbers_of(law: ResolvedScheme, noun: Noun = ROWS) -> str:
    """Return the numbers through which a law enters the guarantees, in words."""
    if law.is_symmetric:
        return f"p = {probability(law.inclusion_probability)}, q = {law.negative_covariance:.3g}"
    least, most = float(law.inclusion_probabilities.min()), law.largest_inclusion
    chance = probability(most) if least == most else f"{probability(least)} to {probability(most)}"
    return f"{noun.any_one} is in a bag with probability {chance}, and the norm of the covariance is {law.constant:.3g}"


def law_to_dict(law: ResolvedScheme) -> dict[str, Any]:
    """Return a law as a dictionary that JSON takes."""
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
