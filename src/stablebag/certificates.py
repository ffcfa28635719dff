"""Certificates: what bagging promises before any data is seen, in sentences; and plans that meet a promise."""

import html
import math
import textwrap
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.special import logsumexp

from stablebag import bounds, frontier
from stablebag.arguments import (
    as_share,
    check_bags,
    check_delta,
    check_epsilon,
    check_real,
    check_samples,
    refuse_type,
    refuse_value,
    whole_rows,
)
from stablebag.ranges import FixedRange, ObservedRange, as_prediction_range
from stablebag.schemes import (
    SCHEMES,
    BernoulliSubbagging,
    ResamplingScheme,
    ResolvedScheme,
    Subbagging,
    as_law,
)
from stablebag.scope import Quantity, Rerun, Scope

_BOUNDS = ("best", "exact", "paper")
_RANGE_KINDS = ("fixed", "classes", "adaptive", "outputs")
_FIXED = ("fixed", "classes")
_THEOREM_8 = "Theorem 8, counting whole rows"
_EXACT = "the exact frontier"
_MANY_BAGS = 10**9  # more than anyone fits; a plan that needs more is not offered


@dataclass(frozen=True, init=False)
class Certificate:
    """What is proved of bagging any learner, for every data set of `n_samples` rows and every test point.

    Leaving out row i moves the prediction by some L_i. The certificate bounds how many rows can move it far
    (`epsilon`, `delta`), how far any row can (`worst_case`) and how far they do on average (`mean`, `norm`). It assumes
    nothing about the learner or the data, except that predictions lie in an interval of length `range_length`.

    A share `delta` is a fraction of the training rows, not a confidence level. With finitely many bags, the statement
    is about the average over rows of the probability, over the draw of bags and learner seeds, that L_i > epsilon.

    `certify` makes the certificate of a fitted model, and `for_targets` that of a prediction range and its targets.

    Parameters
    ----------
    scheme : ResamplingScheme
        How bags are drawn. It is kept resolved for `n_samples`.
    n_samples : int
        The number of training rows.
    n_bags : int or math.inf, default=inf
        The number of bags; infinitely many stand for derandomized bagging.
    range_length : float, default=1.0
        The length of the interval in which the predictions lie, or to which they are clipped. Every epsilon is in
        the same units.
    delta_range : float, default=0.0
        The share of rows whose removal changes that interval: 0 for a fixed one, `PredictionRange.delta` for one that
        depends on the data. It is rounded up to whole rows.
    reach : float or None, default=None
        How far a prediction can move at all: `range_length` where the interval does not reach further without a row,
        as those of `ObservedRange` and `TrimmedRange` do not, and in general `PredictionRange.reach`. None is
        `range_length` if no row changes the interval, and unknown (infinite) if some do.
    range_kind : {"fixed", "classes", "adaptive", "outputs"}, default="fixed"
        Whether the interval is known beforehand ("fixed", and "classes" for the probability of a class), or taken from
        the targets ("adaptive", which a positive `delta_range` implies; Theorems 13 and 20), or whether there is none
        and every epsilon is a multiple of the range of the learner's outputs at the test point over all bags
        ("outputs"; Theorems 12 and 19).
    coupling : {"any", "independent"}, default="any"
        For finitely many bags: what is assumed of those drawn with and without a row. "any" is nothing, and holds for
        the same seed in both. "independent" assumes that they, and the seeds of the learners, are drawn independently,
        as in two runs without a common seed; the bounds are then sharper, and `explain` names the assumption.
    shift : float, default=0.0
        How far leaving out a row can move the average through bags without rows alone. A classifier's give all classes
        the same probability, and a row that is the only one of its class takes the class with it (docs/proofs.md, 9).
        `for_labels` works it out; it is zero where no bag is empty.
    shifted_share : float, default=0.0
        The share of the rows that can do so.

    Examples
    --------
    >>> from stablebag import Certificate, Subbagging
    >>> certificate = Certificate(Subbagging(0.5), n_samples=500)
    >>> round(certificate.epsilon(delta=0.1, bound="paper"), 10)
    0.070781495
    >>> print(certificate.explain(delta=0.1))
    For every learner, every data set of 500 rows and every test point: at most 50 of the 500
    rows (delta = 0.1) move the prediction by more than 0.05619 when left out.
    Proved by the exact frontier, and no smaller number holds for every learner (subbagging, 250
    of 500 rows: p = 0.5, q = 0.000501; infinitely many bags; predictions in a range of length 1).
    No row at all moves it by more than 0.5 (Theorem 14); the mean over rows is at most 0.01789
    (largest possible mean).
    Replacing a row by another can move it by 0.5; for independent rows from one distribution it
    is at most 0.03578 in expectation (Corollary 17).
    """

    scheme: ResolvedScheme
    n_samples: int
    n_bags: int | float
    range_length: float
    delta_range: float
    reach: float
    range_kind: str
    coupling: str
    shift: float
    shifted_share: float

    def __init__(
        self,
        scheme: ResamplingScheme | ResolvedScheme,
        n_samples: int,
        n_bags: int | float = math.inf,
        *,
        range_length: float = 1.0,
        delta_range: float = 0.0,
        reach: float | None = None,
        range_kind: str = "fixed",
        coupling: str = "any",
        shift: float = 0.0,
        shifted_share: float = 0.0,
    ) -> None:
        owner = "Certificate"
        n_samples = check_samples(n_samples, owner)
        reason = "it is the length of the interval of predictions. Where there is none, use range_kind='outputs'."
        range_length = check_real(range_length, "range_length", owner, finite=True, reason=reason)
        changing = as_share(check_delta(delta_range, owner, name="delta_range"), n_samples) * n_samples
        delta_range = math.ceil(changing) / n_samples
        if range_kind not in _RANGE_KINDS:
            raise refuse_value("range_kind", owner, f"one of {_RANGE_KINDS}", range_kind)
        if range_kind == "outputs" and (range_length, delta_range) != (1.0, 0.0):
            reason = "then the range of the outputs is the unit, and no row changes it. Leave the lengths out."
            raise refuse_value("range_kind", owner, "'fixed' or 'adaptive' with a range", range_kind, reason)
        if coupling not in bounds.COUPLINGS:
            raise refuse_value("coupling", owner, f"one of {bounds.COUPLINGS}", coupling)
        shift = check_real(shift, "shift", owner, high=range_length)
        shifted_share = check_delta(shifted_share, owner, name="shifted_share")
        if shift > 0 and range_kind != "classes":
            raise refuse_value("shift", owner, "0 unless range_kind='classes'", shift, "it is about classes.")
        if reach is None:
            reach = math.inf if delta_range > 0 else range_length
        reach = check_real(reach, "reach", owner, low=range_length, reason="no less than range_length.")
        values = {
            "scheme": as_law(scheme, n_samples, owner),
            "n_samples": n_samples,
            "n_bags": check_bags(n_bags, owner),
            "range_length": range_length,
            "delta_range": delta_range,
            "reach": reach if delta_range > 0 else range_length,
            "range_kind": "adaptive" if delta_range > 0 else range_kind,
            "coupling": coupling,
            "shift": shift if shifted_share > 0 else 0.0,
            "shifted_share": shifted_share if shift > 0 else 0.0,
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @classmethod
    def for_labels(
        cls,
        scheme: ResamplingScheme | ResolvedScheme,
        y: Any,
        n_bags: int | float = math.inf,
        *,
        coupling: str = "any",
    ) -> "Certificate":
        """Return the certificate of each class's probability, for a classifier fitted to these labels.

        Parameters
        ----------
        scheme : ResamplingScheme
            How bags are drawn.
        y : array-like of shape (n_samples,)
            The labels of the training rows.
        n_bags : int or math.inf, default=inf
            The number of bags.
        coupling : {"any", "independent"}, default="any"
            What is assumed of the bags with and without a row.

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
        n_samples, n_classes, lonely = labels_of(y, "Certificate.for_labels")
        law = as_law(scheme, n_samples, "Certificate.for_labels")
        shift = bounds.empty_bags_shift(law.empty_without_a_row, n_classes)
        shifts = {"shift": shift, "shifted_share": lonely / n_samples}
        return cls(law, n_samples, n_bags, coupling=coupling, **shifts, range_kind="classes")

    @classmethod
    def for_targets(
        cls,
        scheme: ResamplingScheme | ResolvedScheme,
        y: Any,
        prediction_range: Any = ObservedRange(),  # noqa: B008 (frozen)
        n_bags: int | float = math.inf,
        *,
        coupling: str = "any",
    ) -> "Certificate":
        """Return the certificate of predictions clipped to a range taken from these targets.

        Parameters
        ----------
        scheme : ResamplingScheme
            How bags are drawn.
        y : array-like of shape (n_samples,)
            The targets of the training rows.
        prediction_range : PredictionRange or callable, default=ObservedRange()
            The rule for the interval.
        n_bags : int or math.inf, default=inf
            The number of bags.
        coupling : {"any", "independent"}, default="any"
            What is assumed of the bags with and without a row.

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
        rule = as_prediction_range(prediction_range, "Certificate.for_targets")
        low, high = rule(y)
        lengths = {"range_length": high - low, "delta_range": rule.delta(y), "reach": rule.reach(y)}
        kind = "fixed" if isinstance(rule, FixedRange) else "adaptive"
        return cls(scheme, len(y), n_bags, **lengths, range_kind=kind, coupling=coupling)

    # ------------------------------------------------------------------------------------------------ the guarantees

    def epsilon(self, delta: float, bound: str = "best") -> float:
        """Return the perturbation that at most a share `delta` of the rows can exceed.

        Parameters
        ----------
        delta : float
            A share of the training rows, in [0, 1].
        bound : {"best", "exact", "paper"}, default="best"
            "paper" is the formula of Theorem 8 (9 for finitely many bags, 13 and 20 with `delta_range`). "exact" is the
            exact frontier: with infinitely many bags the smallest epsilon that holds for every learner; with
            finitely many, Theorem 9's term for the bags comes on top. Where the frontier cannot be worked out
            (beyond 10,000 rows that may exceed epsilon, or for a scheme that does not say how many rows are in a bag)
            it is Theorem 8's bound, counting whole rows. "best" is the smallest of all bounds that are proved, and
            never above the others. `explain` names it.

        Returns
        -------
        float
            In the units of the prediction. Infinite where nothing is known.
        """
        delta = check_delta(delta, "Certificate.epsilon")
        if _check_bound(bound, "Certificate.epsilon") != "paper":
            return self._best(delta, bound)[0]
        normalized = bounds.clipped_epsilon(delta, self._constant, self.delta_range, self.n_bags)
        if self.range_length == 0 and not 0 < self.delta_range >= delta:
            return 0.0  # and not 0 times infinity: within an interval of no length nothing moves
        return normalized * (self.range_length or 1.0)

    def delta(self, epsilon: float, bound: str = "best") -> float:
        """Return the share of rows that can move the prediction by more than `epsilon`.

        Parameters
        ----------
        epsilon : float
            A perturbation, in the units of the prediction.
        bound : {"best", "exact", "paper"}, default="best"
            As in `epsilon`; "paper" is zero from the worst case of Theorem 14 on.

        Returns
        -------
        float
            Never above 1. A multiple of 1 / n_samples for infinitely many bags, where rows are counted; with finitely
            many it bounds a mean of probabilities.
        """
        epsilon = check_epsilon(epsilon, "Certificate.delta")
        if _check_bound(bound, "Certificate.delta") != "paper":
            return self._smallest_delta(epsilon, bound)
        if epsilon >= self.worst_case():
            return 0.0
        if self.range_length == 0:
            return self.delta_range
        normalized = epsilon / self.range_length
        return bounds.clipped_delta(normalized, self._constant, self.n_samples, self.delta_range, self.n_bags)

    def worst_case(self, monte_carlo_delta: float = 0.0) -> float:
        """Return the perturbation that no row exceeds, by Theorem 14.

        Parameters
        ----------
        monte_carlo_delta : float, default=0.0
            For finitely many bags: the probability, over the bags, with which each row may exceed it. The theorem is
            about infinitely many; Hoeffding's inequality adds the price of drawing some. With probability zero nothing
            better than the whole range can be promised.

        Returns
        -------
        float
        """
        monte_carlo_delta = check_delta(monte_carlo_delta, "Certificate.worst_case", name="monte_carlo_delta")
        if self.delta_range > 0:
            return self.reach
        p = bounds.worst_case_epsilon(self.scheme.inclusion_probability) + self._shift
        return min(1.0, p + bounds.monte_carlo_radius(self.n_bags, monte_carlo_delta)) * self.range_length

    def mean(self, bound: str = "best") -> float:
        """Return a bound on the mean over rows of the expected perturbation.

        Parameters
        ----------
        bound : {"best", "paper"}, default="best"
            "paper" is Corollary 15. "best" is the smallest that is proved: with infinitely many bags the largest mean
            that any learner has, where it can be worked out.

        Returns
        -------
        float
        """
        return self.norm(1, bound)

    def norm(self, order: float, bound: str = "best") -> float:
        """Return a bound on (mean of L_i^order)^(1 / order) over rows.

        Parameters
        ----------
        order : float
            Positive; ``math.inf`` is the worst case, 1 the mean. Rows that change the prediction range count with
            its whole `reach`.
        bound : {"best", "paper"}, default="best"
            "paper" is Theorem 18, and for finitely many bags Corollary 15 and its like. "best" is the smallest that is
            proved.

        Returns
        -------
        float
        """
        order = check_real(
            order, "order", "Certificate.norm", open_low=True, reason="1 is the mean, 2 the mean square."
        )
        if bound not in ("best", "paper"):
            raise refuse_value("bound", "Certificate.norm", 'one of "best" and "paper"', bound)
        norm = self._norm(order, bound)[0] * self.range_length
        if self.delta_range == 0:
            return norm
        if math.isinf(order) or math.isinf(self.reach):
            return self.reach
        # The rows that change the range and those that do not are two groups: their powers add up. In logarithms,
        # because the powers of a small or large order leave the range of floats.
        parts = [(norm, 1.0), (self.reach, self.delta_range)]
        logs = [order * math.log(size) + math.log(share) for size, share in parts if size > 0]
        return min(self.reach, math.exp(float(logsumexp(logs)) / order)) if logs else 0.0

    def rms(self) -> float:
        """Return a bound on the root, over rows, of the mean expected squared perturbation."""
        return self.norm(2)

    def curve(self, over_points: str = "max") -> tuple[np.ndarray, np.ndarray]:
        """Return what is proved as a curve: the smallest epsilon for each share of rows.

        Parameters
        ----------
        over_points : {"max", "mean"}, default="max"
            Without effect: it holds for every point.

        Returns
        -------
        epsilon : ndarray
        delta : ndarray
        """
        return curve_of(self, over_points)

    @property
    def scope(self) -> Scope:
        """What it speaks of."""
        kinds = {"outputs": Quantity.RELATIVE, "classes": Quantity.CLASS}
        quantity = kinds.get(self.range_kind, Quantity.NUMBER)
        rerun, n_bags = (Rerun.ALL, None) if math.isinf(self.n_bags) else (Rerun.ANEW, int(self.n_bags))
        length = None if quantity is Quantity.RELATIVE else self.range_length
        return Scope(self.n_samples, quantity, rerun, n_bags, range_length=length)

    def loss(self, lipschitz: float = 1.0) -> float:
        """Return a bound on the mean expected change of a loss that is `lipschitz` in the prediction (Corollary 16).

        Parameters
        ----------
        lipschitz : float, default=1.0
            The loss changes by at most this times the change of the prediction; 1 for the absolute error.

        Returns
        -------
        float
        """
        return bounds.loss_perturbation(self.mean(), lipschitz)

    def replace_one_in_expectation(self, lipschitz: float = 1.0) -> float:
        """Return a bound on the expected change of a loss when a row is *replaced* by another (Corollary 17).

        The expectation is over rows, replacements and the test point, all drawn independently from one distribution. It
        is not a bound for every data set: there, `replace_one` is all that holds. Both need a fixed range: a new row
        can stretch a range that is taken from the targets as far as it likes.

        Parameters
        ----------
        lipschitz : float, default=1.0
            As in `loss`.

        Returns
        -------
        float
            Never above `replace_one`.
        """
        always, mean = self.replace_one(lipschitz), self.mean()
        if self.range_kind == "classes":  # it holds for the labels at hand, and here it has to hold for all
            mean = replace(self, shift=0.5 * self.scheme.empty_without_a_row, shifted_share=1.0).mean()
        return min(always, bounds.replace_one_in_expectation(mean, lipschitz))

    def replace_one(self, lipschitz: float = 1.0) -> float:
        """Return a bound on the change of a loss when a row is *replaced* by another, for every data set.

        Only the bags that have the row change, so it is p times the range, in expectation over the bags where they are
        finitely many. The memorizing learner attains it.

        Parameters
        ----------
        lipschitz : float, default=1.0
            As in `loss`.

        Returns
        -------
        float
        """
        if self.range_kind not in _FIXED:
            raise ValueError(
                f"Replacing a row needs a fixed range, and this one is {self.range_kind}: the row put in could stretch "
                "it without bound. Clip to a FixedRange."
            )
        # Of two classes or more, bags without rows give none more than one half; the row put in may bring a new one.
        empty = 0.5 * self.scheme.empty_probability if self.range_kind == "classes" else 0.0
        moved = bounds.finite_bags_mean(self.scheme.inclusion_probability + empty, self.n_bags, self.coupling)
        return bounds.loss_perturbation(moved * self.range_length, lipschitz)

    # ------------------------------------------------------------------------------------------------------ in words

    def explain(self, delta: float = 0.05) -> str:
        """Say in sentences what is promised for a share `delta` of the rows, and by which theorem.

        Parameters
        ----------
        delta : float, default=0.05
            A share of the training rows, in [0, 1].

        Returns
        -------
        str
        """
        delta = check_delta(delta, "Certificate.explain")
        epsilon, theorem = self._best(delta)
        vacuous = epsilon >= self.range_length > 0
        promise = self._vacuous_promise(delta) if vacuous else self._promise(delta, epsilon)
        such = " with this range of targets" if self.range_kind == "adaptive" else ""
        such = " with these class sizes" if self.shift > 0 else such
        sentences = [
            f"For every learner, every data set of {self.n_samples:,} rows{such} and every test point: {promise}",
            f"{'All that is known is' if vacuous else 'Proved by'} {theorem} ({self._setting()}).",
            self._worst_and_mean(),
        ]
        if self.range_kind in _FIXED and self.replace_one() < self.range_length:
            sentences.append(self._replacing())
        if self.shift > 0:
            sentences.append(about_empty_bags(self.shift, self.shifted_share, self.n_samples))
        return "\n".join(textwrap.fill(sentence, width=94) for sentence in sentences)

    def __str__(self) -> str:
        return self.explain()

    def _repr_html_(self) -> str:
        """For notebooks."""
        return f"<pre>{html.escape(self.explain())}</pre>"

    def to_dict(self) -> dict[str, Any]:
        """Return the certificate as numbers and strings that JSON takes; `from_dict` reads it back."""
        size = getattr(self.scheme.scheme, "bag_size", None)
        return {
            "scheme": type(self.scheme.scheme).__name__,
            "bag_size": str(size) if isinstance(size, Fraction) else size,
            "n_samples": self.n_samples,
            "n_bags": None if math.isinf(self.n_bags) else self.n_bags,
            "range_length": self.range_length,
            "delta_range": self.delta_range,
            "reach": None if math.isinf(self.reach) else self.reach,
            "range_kind": self.range_kind,
            "coupling": self.coupling,
            "shift": self.shift,
            "shifted_share": self.shifted_share,
            "inclusion_probability": self.scheme.inclusion_probability,
            "negative_covariance": self.scheme.negative_covariance,
        }

    @classmethod
    def from_dict(cls, values: dict[str, Any], scheme: ResamplingScheme | None = None) -> "Certificate":
        """Read back what `to_dict` wrote.

        Parameters
        ----------
        values : dict
            As `to_dict` gives it, possibly after a trip through JSON.
        scheme : ResamplingScheme, default=None
            The scheme, where it is one of the user's own and cannot be made from its name.

        Returns
        -------
        Certificate
        """
        if not isinstance(values, dict) or not {"scheme", "bag_size", "n_samples", "n_bags"} <= set(values):
            expected = "a dictionary as to_dict gives it"
            reason = "json.loads makes one of text."
            raise refuse_type("values", "Certificate.from_dict", expected, values, reason)
        if scheme is None:
            classes = {known.__name__: known for known in SCHEMES.values()}
            if values["scheme"] not in classes:
                raise ValueError(
                    f"The scheme {values['scheme']!r} is not one of {sorted(classes)}. Give it as the second argument."
                )
            size = values["bag_size"]
            scheme = classes[values["scheme"]](Fraction(size) if isinstance(size, str) else size)
        n_bags = math.inf if values["n_bags"] is None else values["n_bags"]
        names = ("range_length", "delta_range", "reach", "range_kind", "coupling", "shift", "shifted_share")
        lengths = {name: values[name] for name in names if name in values}
        certificate = cls(scheme, values["n_samples"], n_bags, **lengths)
        for name, value in certificate.to_dict().items():
            if values.get(name, value) != value:
                raise ValueError(f"The dictionary says {name}={values[name]!r}, and its other entries give {value!r}.")
        return certificate

    # ------------------------------------------------------------------------------------------------------- details

    @property
    def _constant(self) -> float:
        """The bagging constant c; with a shift, what takes its place in the mean square."""
        constant = bounds.bagging_constant(self.n_samples, *self.scheme.moments)
        return bounds.shifted_constant(constant, self._shift, self.shifted_share)

    @property
    def _shift(self) -> float:
        """The shift in units of the range."""
        return self.shift / self.range_length if self.shift else 0.0

    def _best(self, delta: float, bound: str = "best") -> tuple[float, str]:
        """The smallest epsilon proved for a share `delta` of the rows, and by what."""
        if delta == 1:
            return 0.0, "counting all rows"
        rest = self._without_rows_changing_range(delta)
        trivial = "that no prediction leaves its range"
        if rest < 0:
            return self.reach, trivial
        derandomized = math.isinf(self.n_bags)
        if derandomized:
            normalized, theorem = self._of_rank(whole_rows(rest, self.n_samples) + 1)
        else:
            normalized, theorem = self._with_bags(rest, bound)
        if normalized >= 1.0:
            return self.range_length, trivial
        theorems = [theorem]
        if self.range_kind == "adaptive":
            theorems.append(f"Theorem {13 if derandomized else 20} for the range")
        if self.range_kind == "outputs":
            theorems.append(f"Theorem {12 if derandomized else 19} for unbounded outputs")
        if theorem == _EXACT and self.range_kind in _FIXED and self.shift == 0:
            theorems.append("and no smaller number holds for every learner")
        return normalized * self.range_length, ", ".join(theorems)

    def _of_rank(self, rank: int) -> tuple[float, str]:
        """A bound on the `rank`-th largest perturbation with infinitely many bags, and what proves it."""
        n, worst = self.n_samples, self.scheme.inclusion_probability + self._shift
        epsilon = self._kth(rank)
        if epsilon == 0 or rank == 1:
            return epsilon, "Theorem 14" if epsilon == worst else _THEOREM_8
        point = frontier.frontier(self.scheme, min(rank, frontier.MOST_ROWS)) if rank <= n else None
        if point is None:
            return epsilon, f"{_THEOREM_8}; the exact frontier is not worked out for this law"
        exact = point.value + self._shift
        if rank <= frontier.MOST_ROWS:
            return min(epsilon, exact), _EXACT
        # The frontier falls with the rank, so beyond the last one worked out that one is an upper bound.
        beyond = f"; the exact frontier is not worked out beyond {frontier.MOST_ROWS:,} rows"
        if epsilon < exact:
            return epsilon, _THEOREM_8 + beyond
        return exact, f"the frontier at {frontier.MOST_ROWS:,} rows" + beyond

    def _kth(self, rank: int) -> float:
        """Theorems 8 and 14 for the `rank`-th largest perturbation."""
        n, p = self.n_samples, self.scheme.inclusion_probability
        without_cap = math.sqrt(n * self._constant / (4 * rank)) if rank <= n else 0.0
        return min(without_cap, p + self._shift)

    def _with_bags(self, delta: float, bound: str) -> tuple[float, str]:
        """A bound for a share `delta` of the rows with finitely many bags, and what proves it."""
        n, p, constant, bags = self.n_samples, self.scheme.inclusion_probability, self._constant, self.n_bags
        for_bags = "Theorem 9 for the bags"
        if independent := self.coupling == "independent":
            for_bags = "Hoeffding's inequality for bags drawn independently with and without a row"

        def adding_bags(constant: float, of_rank: Callable[[int], float] | None = None) -> tuple[float, int]:
            return bounds.finite_bags_rows_epsilon(delta, n, constant, p, bags, self.coupling, of_rank)

        epsilon, rows = adding_bags(constant, self._kth)
        first = "Theorem 14" if self._kth(rows + 1) == p + self._shift else "Theorem 8"
        proved = [(epsilon, f"{first}, {for_bags}, counting whole rows")]
        if bound == "best":
            assumed = "drawn independently with and without a row" if independent else "however they are coupled"
            moments = bounds.second_moment_epsilon(delta, constant, bags, self.coupling)
            proved.append((moments, f"second moments of the bags, {assumed}"))
        # The frontier is no lower than the learner that counts rows; where even that is too high, it is not worked out.
        near = constant * 2 / math.pi
        lowest = adding_bags(near, lambda rank: frontier.all_plus(self.scheme, rank) if rank <= n else 0.0)[0]
        if bound == "exact" or lowest < min(proved)[0]:
            epsilon, _ = adding_bags(near, lambda rank: self._of_rank(rank)[0])
            proved.append((epsilon, f"{_EXACT}, {for_bags}"))
        return min(proved)

    def _norm(self, order: float, bound: str) -> tuple[float, str]:
        """A bound on the norm of the perturbations by rows that do not change the range, and what proves it."""
        p, bags = self.scheme.inclusion_probability, self.n_bags
        paper = "Corollary 15" if order <= 1 else "Theorem 18"
        constant = bounds.bagging_constant(self.n_samples, *self.scheme.moments)
        shift = self._shift * math.pow(self.shifted_share, 1 / max(order, 1.0))  # its norm, which Minkowski adds
        proved = [(min(1.0, bounds.norm_perturbation(order, constant, p, bags) + shift), paper)]
        if bound == "best" and not math.isinf(order):
            # No perturbation exceeds 1, so that a norm of higher order is a root of the mean square.
            root = bounds.mean_square_perturbation(self._constant, bags, self.coupling)
            proved.append((math.pow(root, 2 / max(order, 2)), "second moments of the bags"))
            mean = frontier.largest_mean(self.scheme) if order <= 1 else None
            if mean is not None:
                with_bags = "" if math.isinf(bags) else " and second moments of the bags"
                total = bounds.finite_bags_mean(mean + shift, bags, self.coupling)
                proved.append((total, "largest possible mean" + with_bags))
        return min(proved, key=lambda pair: pair[0])

    def _without_rows_changing_range(self, delta: float) -> float:
        """What is left of a share of rows after those that change the range; below zero where nothing is promised."""
        n = self.n_samples
        if math.isinf(self.n_bags):
            return self._free_rows(whole_rows(delta, n)) / n
        return float(as_share(delta, n) - as_share(self.delta_range, n))

    def _free_rows(self, rows: int) -> int:
        """How many of so many rows are left after those that change the range."""
        return rows - round(self.delta_range * self.n_samples)

    def _smallest_delta(self, epsilon: float, bound: str) -> float:
        """The smallest delta whose best epsilon is at most this one; the best epsilon falls as delta grows."""
        # With random bags delta is not a count. A grid finer than any row, and the next point up, is still proved.
        if not math.isinf(self.n_bags):
            return first_step(0, 2**50, lambda step: self._best(step / 2**50, bound)[0] <= epsilon) / 2**50
        n = self.n_samples
        return first_step(0, n, lambda rows: self._is_enough(rows, epsilon)) / n

    def _is_enough(self, rows: int, epsilon: float) -> bool:
        """Whether at most so many rows can exceed `epsilon`, with infinitely many bags; the frontier comes last."""
        n, rank = self.n_samples, self._free_rows(rows) + 1
        if 1 <= rank <= n:
            if self._kth(rank) * self.range_length <= epsilon:
                return True
            if frontier.all_plus(self.scheme, rank) * (1 - 1e-9) * self.range_length > epsilon:
                return False
        return self._best(rows / n)[0] <= epsilon

    def _promise(self, delta: float, epsilon: float) -> str:
        if math.isinf(self.n_bags):
            rows, n = whole_rows(delta, self.n_samples), self.n_samples
            return (
                f"at most {rows:,} of the {n:,} rows (delta = {delta:g}) move the prediction by more than "
                f"{rounded_up(epsilon)} when left out."
            )
        return (
            f"the chance, over the draw of bags and seeds, that leaving out a row moves the prediction by more than "
            f"{rounded_up(epsilon)} is at most {delta:g} on average over the rows."
        )

    def _vacuous_promise(self, delta: float) -> str:
        """Say that there is no promise, and what would bring one."""
        if self.delta_range > 0 and self._without_rows_changing_range(delta) <= 0:
            changing = f"A share {self.delta_range:.4g} of the rows can each change the range itself"
            way_out = f"{changing}: ask for a larger delta."
        else:
            lengths = {"range_length": self.range_length, "delta_range": self.delta_range, "reach": self.reach}
            ideal = Certificate(self.scheme, self.n_samples, **lengths).epsilon(delta)  # type: ignore[arg-type]
            way_out = f"With infinitely many bags it would be {rounded_up(ideal)}: use more bags or a larger delta."
        return f"nothing is promised for delta = {delta:g}; the bound is vacuous. {way_out}"

    def _setting(self) -> str:
        law = self.scheme
        parts = [
            f"{law}: p = {_probability(law.inclusion_probability)}, q = {law.negative_covariance:.3g}",
            count_bags(self.n_bags),
            f"predictions in a range of length {self.range_length:.4g}",
        ]
        if self.delta_range > 0:
            parts[-1] += f" that changes with a share {self.delta_range:.4g} of the rows"
        if self.range_kind == "outputs":
            parts[-1] = "in units of the range of the learner's outputs at that point, over all bags"
        return "; ".join(parts)

    def _worst_and_mean(self) -> str:
        worst, mean = self.worst_case(), self.mean()
        if mean >= self.reach > 0:
            return "Of the mean over rows nothing is proved."
        on_average = f"mean over rows is at most {rounded_up(mean)} ({self._norm(1, 'best')[1]})."
        if worst >= self.reach > 0:
            return f"The {on_average}"
        return f"No row at all moves it by more than {rounded_up(worst)} (Theorem 14); the {on_average}"

    def _replacing(self) -> str:
        always, expected = self.replace_one(), self.replace_one_in_expectation()
        sentence = f"Replacing a row by another can move it by {rounded_up(always)}"
        if expected >= always:
            return sentence + "."
        return (
            f"{sentence}; for independent rows from one distribution it is at most {rounded_up(expected)} in "
            "expectation (Corollary 17)."
        )


@dataclass(frozen=True)
class Plan:
    """A scheme and a number of bags that meet the request (epsilon, delta), and the certificate that says so.

    Made by `plan`; printing it says what to use and what is then proved.
    """

    scheme: ResamplingScheme | ResolvedScheme
    n_bags: int | float
    certificate: Certificate
    epsilon: float
    delta: float

    def explain(self) -> str:
        """Say in sentences what to use, and what is then proved."""
        return str(self)

    def __str__(self) -> str:
        return f"Use {self.certificate.scheme}, with {count_bags(self.n_bags)}.\n{self.certificate.explain(self.delta)}"


def plan(
    n_samples: int,
    epsilon: float,
    delta: float,
    scheme: str | ResamplingScheme | ResolvedScheme = "subbagging",
    *,
    max_bags: int | float = 10_000,
    range_length: float = 1.0,
    delta_range: float = 0.0,
    coupling: str = "any",
) -> Plan:
    """Find the largest bag size, and then the smallest number of bags, that certify (epsilon, delta)-stability.

    Large bags cost accuracy least and stability most; many bags cost time. So this takes the largest bags that
    `max_bags` of them can certify, and then no more bags than those need.

    Parameters
    ----------
    n_samples : int
        The number of training rows.
    epsilon : float
        The perturbation to be exceeded by few rows, in the units of the prediction.
    delta : float
        The share of the training rows that may exceed it; not a confidence level.
    scheme : {"subbagging", "bernoulli", "classical", "poissonized"} or ResamplingScheme, default="subbagging"
        How bags are drawn. A scheme object keeps its own bag size, and only the number of bags is planned. Bags drawn
        with replacement are planned with at most as many draws as there are rows.
    max_bags : int or math.inf, default=10000
        The largest number of bags that can be afforded; ``math.inf`` plans for derandomized bagging.
    range_length : float, default=1.0
        As in `Certificate`.
    delta_range : float, default=0.0
        As in `Certificate`.
    coupling : {"any", "independent"}, default="any"
        As in `Certificate`.

    Returns
    -------
    Plan
        With `scheme`, `n_bags` and `certificate`.

    Examples
    --------
    The three regimes of the paper, for 10,000 rows and as many bags as it takes. A moderate wish leaves bags in
    proportion to the data; a strict one asks for massive subsampling, a mild one only for minimal subsampling:

    >>> import math
    >>> from stablebag import plan
    >>> plan(10_000, epsilon=0.05, delta=0.05, max_bags=math.inf).scheme
    Subbagging(bag_size=8871)
    >>> plan(10_000, epsilon=0.005, delta=0.01, max_bags=math.inf).scheme
    Subbagging(bag_size=148)
    >>> plan(10_000, epsilon=0.2, delta=0.05, max_bags=math.inf).scheme
    Subbagging(bag_size=9920)

    Finitely many bags take a part of epsilon:

    >>> print(plan(10_000, epsilon=0.05, delta=0.05))
    Use subbagging, 4,999 of 10,000 rows, with 10,000 bags.
    For every learner, every data set of 10,000 rows and every test point: the chance, over the
    draw of bags and seeds, that leaving out a row moves the prediction by more than 0.05 is at
    most 0.05 on average over the rows.
    Proved by second moments of the bags, however they are coupled (subbagging, 4,999 of 10,000
    rows: p = 0.4999, q = 2.5e-05; 10,000 bags; predictions in a range of length 1).
    The mean over rows is at most 0.01119 (second moments of the bags).
    Replacing a row by another can move it by 0.51; for independent rows from one distribution it
    is at most 0.02237 in expectation (Corollary 17).
    """
    n_samples = check_samples(n_samples, "plan")
    range_length = check_real(range_length, "range_length", "plan", open_low=True, finite=True)
    epsilon = check_epsilon(epsilon, "plan", open_low=True)
    if epsilon >= range_length:
        reason = "no prediction moves further than its range, with or without bagging."
        raise refuse_value("epsilon", "plan", f"below range_length={range_length:g}", epsilon, reason)
    delta = check_delta(delta, "plan")
    max_bags = check_bags(max_bags, "plan", name="max_bags")
    of_size, largest = _candidates(scheme, n_samples)

    def certificate(size: int, n_bags: int | float) -> Certificate:
        lengths = {"range_length": range_length, "delta_range": delta_range}
        return Certificate(of_size(size), n_samples, n_bags, **lengths, coupling=coupling)  # type: ignore[arg-type]

    def meets(size: int, n_bags: int | float) -> bool:
        return certificate(size, n_bags).epsilon(delta) <= epsilon

    if not meets(1, max_bags):
        enough = [first_step(1, _MANY_BAGS, lambda n_bags: meets(1, n_bags)), math.inf]
        enough = [n_bags for n_bags in enough if meets(1, n_bags)]
        raise ValueError(_impossible(certificate(1, max_bags), epsilon, delta, enough))
    size = first_step(1, largest, lambda size: size == largest or not meets(size + 1, max_bags))
    n_bags = max_bags
    if isinstance(max_bags, int):
        n_bags = first_step(1, max_bags, lambda n_bags: meets(size, n_bags))
    return Plan(of_size(size), n_bags, certificate(size, n_bags), epsilon, delta)


def _candidates(
    scheme: str | ResamplingScheme | ResolvedScheme, n_samples: int
) -> tuple[Callable[[int], ResamplingScheme | ResolvedScheme], int]:
    """The schemes to choose from, by bag size, and the largest size."""
    if isinstance(scheme, ResamplingScheme | ResolvedScheme):
        return lambda size: scheme, 1
    if not isinstance(scheme, str):
        raise refuse_type("scheme", "plan", f"one of {sorted(SCHEMES)} or a resampling scheme", scheme)
    if scheme not in SCHEMES:
        raise refuse_value("scheme", "plan", f"one of {sorted(SCHEMES)} or a resampling scheme", scheme)
    without_replacement = issubclass(SCHEMES[scheme], Subbagging | BernoulliSubbagging)
    return SCHEMES[scheme], n_samples - 1 if without_replacement else n_samples


def _impossible(best: Certificate, epsilon: float, delta: float, enough_bags: list[float]) -> str:
    """Say what would be possible in place of what is not."""
    possible = []
    if (smallest_epsilon := best.epsilon(delta)) < best.range_length:
        possible.append(f"epsilon >= {rounded_up(smallest_epsilon)} for this delta")
    if (smallest_delta := best.delta(epsilon)) < 1:
        possible.append(f"delta >= {rounded_up(smallest_delta)} for this epsilon")
    if enough_bags:
        possible.append(f"this very request with max_bags={enough_bags[0]:,}")
    # However many rows there are, the bags' part of epsilon stays.
    rest = max(0.0, delta - best.delta_range)
    of_bags = bounds.second_moment_epsilon(rest, 0.0, best.n_bags) if rest else math.inf
    of_bags = 0.0 if math.isinf(best.n_bags) else min(of_bags, bounds.monte_carlo_radius(best.n_bags, rest))
    if of_bags * best.range_length < epsilon:
        possible.append("more rows")
    return (
        f"No plan with at most {count_bags(best.n_bags)} certifies epsilon={epsilon:g} for delta={delta:g}, not even "
        f"with {best.scheme}. Possible: {', or '.join(possible) or 'nothing; use a fixed range'}."
    )


def labels_of(y: Any, owner: str) -> tuple[int, int, int]:
    """Return how many rows and classes there are, and how many rows are the only ones of their class."""
    labels = np.asarray(y)
    if labels.ndim != 1 or len(labels) < 2:
        raise refuse_value("y", owner, "a one-dimensional array of two labels at least", labels.shape)
    counts = np.unique(labels, return_counts=True)[1]
    return len(labels), len(counts), int((counts == 1).sum())


def about_empty_bags(shift: float, shifted_share: float, n_samples: int) -> str:
    """Say what bags without rows add to a bound, and why."""
    lonely = round(shifted_share * n_samples)
    rows = "one row is the only one of its class" if lonely == 1 else f"{lonely:,} rows are the only ones of theirs"
    return (
        f"This includes {rounded_up(shift)} for bags without rows, which give all classes the same probability: "
        f"{rows}. Subbagging and classical bagging have no such bags."
    )


def curve_of(certificate: Any, over_points: str) -> tuple[np.ndarray, np.ndarray]:
    """Return what is proved as a curve of epsilon and delta; of some points, their worst or their average delta."""
    if over_points not in ("max", "mean"):
        raise refuse_value("over_points", "curve", 'one of "max" and "mean"', over_points)
    n = certificate.n_samples
    steps = 200 if n <= 2000 else 50  # the exact frontier of many rows takes its time
    shares = np.unique(np.geomspace(1, n - 1, steps).astype(int)) / n  # of all rows together nothing need be proved
    proved = np.array([certificate.epsilon(share) for share in shares])
    if proved.ndim == 1:
        finite = np.isfinite(proved)
        return proved[finite], shares[finite]
    # A mean over points of epsilon would bound no mean of delta: the mean is taken of delta, at each epsilon.
    levels = np.quantile(proved.reshape(len(shares), -1), [0.0, 0.5, 1.0], axis=1)
    epsilon = np.unique(levels[np.isfinite(levels)])[::-1]
    summary = np.mean if over_points == "mean" else np.max
    each = np.array([summary(certificate.delta(level), axis=0) for level in epsilon])
    return epsilon, each.reshape(len(epsilon), -1).max(axis=1)  # of classes, the one of which least is proved


def rounded_up(value: float) -> str:
    """Four digits, rounded so that what is printed is proved."""
    if value == 0 or math.isinf(value):
        return f"{value:g}"
    unit = Decimal(1).scaleb(Decimal(value).adjusted() - 3)
    return f"{float(Decimal(value).quantize(unit, rounding=ROUND_CEILING)):.4g}"


def _probability(value: float) -> str:
    """Four digits, but 1 only for 1."""
    return f"{value:.4g}" if value < 0.99995 else f"1 - {1 - value:.2g}"


def count_bags(n_bags: int | float) -> str:
    """Say how many bags there are."""
    if math.isinf(n_bags):
        return "infinitely many bags"
    return "1 bag" if n_bags == 1 else f"{n_bags:,} bags"


def _check_bound(bound: str, owner: str) -> str:
    if bound not in _BOUNDS:
        raise refuse_value("bound", owner, f"one of {_BOUNDS}", bound)
    return bound


def first_step(low: int, high: int, holds: Callable[[int], bool]) -> int:
    """The smallest whole number from `low` to `high` at which a monotone condition holds; at `high` it does."""
    return low + bisect_left(range(low, high), True, key=holds)
