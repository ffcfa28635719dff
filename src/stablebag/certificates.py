"""Certificates: what bagging promises before any data is seen, in sentences; and plans that meet a promise."""

import math
import sys
import textwrap
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from stablebag import bounds
from stablebag.arguments import check_bags, check_real, check_samples, refuse_type, refuse_value, whole_rows
from stablebag.schemes import (
    SCHEMES,
    BernoulliSubbagging,
    ResamplingScheme,
    ResolvedScheme,
    Subbagging,
    as_law,
)

_MANY_BAGS = 10**9  # more than anyone fits; a plan that needs more is not offered


@dataclass(frozen=True, init=False)
class Certificate:
    """What is proved of bagging any learner, for every data set of `n_samples` rows and every test point.

    Leaving out row i moves the prediction by some L_i. The certificate bounds how many rows can move it far
    (`epsilon`, `delta`), how far any row can (`worst_case`) and how far they do on average (`mean`, `norm`). It assumes
    nothing about the learner or the data, except that predictions lie in an interval of length `range_length`.

    A share `delta` is a fraction of the training rows, not a confidence level. With finitely many bags, the statement
    is about the average over rows of the probability, over the draw of bags and learner seeds, that L_i > epsilon.

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
        depends on the data. The interval must not reach further when a row is left out; those of `ObservedRange` and
        `TrimmedRange` do not.

    Examples
    --------
    >>> from stablebag import Certificate, Subbagging
    >>> certificate = Certificate(Subbagging(0.5), n_samples=500)
    >>> round(certificate.epsilon(delta=0.1, bound="paper"), 10)
    0.070781495
    >>> print(certificate.explain(delta=0.1))
    For every learner, every data set of 500 rows and every test point: at most 50 of the 500
    rows (delta = 0.1) move the prediction by more than 0.07008 when left out.
    Proved by Theorem 8, counting whole rows (subbagging, 250 of 500 rows: p = 0.5, q = 0.000501;
    infinitely many bags; predictions in a range of length 1).
    No row at all moves it by more than 0.5 (Theorem 14); the mean over rows is at most 0.02238
    (Corollary 15).
    """

    scheme: ResolvedScheme
    n_samples: int
    n_bags: int | float
    range_length: float
    delta_range: float

    def __init__(
        self,
        scheme: ResamplingScheme | ResolvedScheme,
        n_samples: int,
        n_bags: int | float = math.inf,
        *,
        range_length: float = 1.0,
        delta_range: float = 0.0,
    ) -> None:
        owner = "Certificate"
        n_samples = check_samples(n_samples, owner)
        values = {
            "n_bags": check_bags(n_bags, owner),
            "range_length": check_real(range_length, "range_length", owner, high=sys.float_info.max),
            "delta_range": check_real(delta_range, "delta_range", owner, high=1.0),
            "n_samples": n_samples,
            "scheme": as_law(scheme, n_samples, owner),
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)

    # ------------------------------------------------------------------------------------------------ the guarantees

    def epsilon(self, delta: float, bound: str = "best") -> float:
        """Return the perturbation that at most a share `delta` of the rows can exceed.

        Parameters
        ----------
        delta : float
            A share of the training rows, in [0, 1].
        bound : {"best", "paper"}, default="best"
            "paper" is the formula of Theorem 8 (9 for finitely many bags, 13 and 20 with `delta_range`); "best" is the
            smallest bound that is proved, and never larger. `explain` names it.

        Returns
        -------
        float
            In the units of the prediction. Infinite where the paper's theorem says nothing.
        """
        delta = check_real(delta, "delta", "Certificate.epsilon", high=1.0)
        if _check_bound(bound, "Certificate.epsilon") == "best":
            return self._best(delta)[0]
        return self._scaled(bounds.clipped_epsilon(delta, self._constant, self.delta_range, self.n_bags))

    def delta(self, epsilon: float, bound: str = "best") -> float:
        """Return the share of rows that can move the prediction by more than `epsilon`.

        Parameters
        ----------
        epsilon : float
            A perturbation, in the units of the prediction.
        bound : {"best", "paper"}, default="best"
            As in `epsilon`.

        Returns
        -------
        float
            Never above 1. A multiple of 1 / n_samples for infinitely many bags, where rows are counted; with finitely
            many it bounds a mean of probabilities.
        """
        epsilon = check_real(epsilon, "epsilon", "Certificate.delta")
        if _check_bound(bound, "Certificate.delta") == "best":
            return self._smallest_delta(epsilon)
        if self.range_length == 0:
            return self.delta_range
        normalized = epsilon / self.range_length
        if math.isinf(self.n_bags):
            rows = bounds.average_case_delta(normalized, self._constant, self.n_samples)
        else:
            rows = bounds.finite_bags_delta(normalized, self._constant, self.n_bags)
        return min(1.0, rows + self.delta_range)

    def worst_case(self, delta: float = 0.0) -> float:
        """Return the perturbation that no row exceeds, by Theorem 14.

        Parameters
        ----------
        delta : float, default=0.0
            For finitely many bags: the probability, over the bags, with which a row may exceed it. The theorem is about
            infinitely many; Hoeffding's inequality adds the price of drawing some. With probability zero nothing
            better than the whole range can be promised.

        Returns
        -------
        float
        """
        delta = check_real(delta, "delta", "Certificate.worst_case", high=1.0)
        p = bounds.worst_case_epsilon(self.scheme.inclusion_probability)
        normalized = min(1.0, p + bounds.monte_carlo_radius(self.n_bags, delta))
        return self._scaled(1.0 if self.delta_range > 0 else normalized)

    def mean(self) -> float:
        """Return a bound on the mean over rows of the expected perturbation, by Corollary 15."""
        return self.norm(1)

    def norm(self, order: float) -> float:
        """Return a bound on (mean of L_i^order)^(1 / order) over rows, by Theorem 18.

        Parameters
        ----------
        order : float
            Positive; ``math.inf`` is the worst case, 1 the mean. Rows that change the prediction range count with
            the range's whole length.

        Returns
        -------
        float
        """
        p = self.scheme.inclusion_probability
        norm = bounds.norm_perturbation(order, self._constant, p, self.n_bags)
        if self.delta_range > 0:
            # The rows that change the range and those that do not are two groups: their powers add up.
            norm = 1.0 if math.isinf(order) else min(1.0, (norm**order + self.delta_range) ** (1 / order))
        return self._scaled(norm)

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

    def replace_one(self, lipschitz: float = 1.0) -> float:
        """Return a bound on the mean expected change of a loss when a row is *replaced* by another (Corollary 17).

        Parameters
        ----------
        lipschitz : float, default=1.0
            As in `loss`.

        Returns
        -------
        float
        """
        return bounds.replace_one_perturbation(self.mean(), lipschitz)

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
        delta = check_real(delta, "delta", "Certificate.explain", high=1.0)
        epsilon, theorem = self._best(delta)
        vacuous = epsilon >= self.range_length > 0
        promise = self._vacuous_promise(delta) if vacuous else self._promise(delta, epsilon)
        sentences = [
            f"For every learner, every data set of {self.n_samples:,} rows and every test point: {promise}",
            f"{'All that is known is' if vacuous else 'Proved by'} {theorem} ({self._setting()}).",
            self._worst_and_mean(),
        ]
        return "\n".join(textwrap.fill(sentence, width=94) for sentence in sentences)

    def __str__(self) -> str:
        return self.explain()

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
        if scheme is None:
            classes = {known.__name__: known for known in SCHEMES.values()}
            if values["scheme"] not in classes:
                raise ValueError(
                    f"The scheme {values['scheme']!r} is not one of {sorted(classes)}. Give it as the second argument."
                )
            size = values["bag_size"]
            scheme = classes[values["scheme"]](Fraction(size) if isinstance(size, str) else size)
        n_bags = math.inf if values["n_bags"] is None else values["n_bags"]
        lengths = {name: values[name] for name in ("range_length", "delta_range")}
        return cls(scheme, values["n_samples"], n_bags, **lengths)

    # ------------------------------------------------------------------------------------------------------- details

    @property
    def _constant(self) -> float:
        law = self.scheme
        return bounds.bagging_constant(law.n_samples, law.inclusion_probability, law.negative_covariance)

    def _scaled(self, normalized: float) -> float:
        """In the units of the prediction; a range of no length leaves nothing to move, whatever the theorem."""
        return 0.0 if self.range_length == 0 else normalized * self.range_length

    def _best(self, delta: float) -> tuple[float, str]:
        """The smallest epsilon proved for a share `delta` of the rows, and by what."""
        if delta == 1:
            return 0.0, "counting all rows"
        trivial = "that no prediction leaves its range"
        if math.isinf(self.n_bags):
            rows = whole_rows(delta, self.n_samples) - whole_rows(self.delta_range, self.n_samples)
            delta = rows / self.n_samples
        else:
            delta = delta - self.delta_range
        if delta < 0:
            return self._scaled(1.0), trivial
        law, n = self.scheme, self.n_samples
        p = law.inclusion_probability
        epsilon, rows = bounds.finite_bags_rows_epsilon(delta, n, self._constant, p, self.n_bags)
        if epsilon >= 1.0:
            return self._scaled(1.0), trivial
        theorems = ["Theorem 14" if bounds.kth_perturbation(rows + 1, n, self._constant, p) == p else "Theorem 8"]
        if not math.isinf(self.n_bags):
            theorems.append("Theorem 9 for the bags")
        if self.delta_range:
            theorems.append(f"Theorem {13 if math.isinf(self.n_bags) else 20} for the range")
        return self._scaled(epsilon), ", ".join(theorems) + ", counting whole rows"

    def _smallest_delta(self, epsilon: float) -> float:
        """The smallest delta whose best epsilon is at most this one; the best epsilon falls as delta grows."""
        if math.isinf(self.n_bags):
            n = self.n_samples
            return _first(0, n, lambda rows: self._best(rows / n)[0] <= epsilon) / n
        # With random bags delta is not a count. A grid finer than any row, and the next point up, is still proved.
        grid = 2**50
        return _first(0, grid, lambda step: self._best(step / grid)[0] <= epsilon) / grid

    def _promise(self, delta: float, epsilon: float) -> str:
        if math.isinf(self.n_bags):
            rows, n = whole_rows(delta, self.n_samples), self.n_samples
            return (
                f"at most {rows:,} of the {n:,} rows (delta = {delta:g}) move the prediction by more than "
                f"{epsilon:.4g} when left out."
            )
        return (
            f"the chance, over the draw of bags and seeds, that leaving out a row moves the prediction by more than "
            f"{epsilon:.4g} is at most {delta:g} on average over the rows."
        )

    def _vacuous_promise(self, delta: float) -> str:
        """Say that there is no promise, and what would bring one."""
        if delta <= self.delta_range:
            way_out = f"Leaving out a share {self.delta_range:.4g} of the rows changes the range itself: ask for more."
        else:
            lengths = {"range_length": self.range_length, "delta_range": self.delta_range}
            ideal = Certificate(self.scheme, self.n_samples, **lengths).epsilon(delta)
            way_out = f"With infinitely many bags it would be {ideal:.4g}: use more bags."
        return f"nothing is promised for delta = {delta:g}; the bound is vacuous. {way_out}"

    def _setting(self) -> str:
        law = self.scheme
        parts = [
            f"{law}: p = {law.inclusion_probability:.4g}, q = {law.negative_covariance:.3g}",
            "infinitely many bags" if math.isinf(self.n_bags) else f"{self.n_bags:,} bags",
            f"predictions in a range of length {self.range_length:.4g}",
        ]
        if self.delta_range > 0:
            parts[-1] += f" that changes with a share {self.delta_range:.4g} of the rows"
        return "; ".join(parts)

    def _worst_and_mean(self) -> str:
        worst, mean = self.worst_case(), self.mean()
        if mean >= self.range_length > 0:
            return "Of the mean over rows, too, nothing is proved (Corollary 15)."
        on_average = f"he mean over rows is at most {mean:.4g} (Corollary 15)."
        if worst >= self.range_length > 0:
            return "T" + on_average
        return f"No row at all moves it by more than {worst:.4g} (Theorem 14); t" + on_average


@dataclass(frozen=True)
class Plan:
    """A scheme and a number of bags that meet the request (epsilon, delta), and the certificate that says so.

    Made by `plan`; printing it says what to use and what is then proved.
    """

    scheme: ResamplingScheme
    n_bags: int | float
    certificate: Certificate
    epsilon: float
    delta: float

    def __str__(self) -> str:
        bags = "infinitely many bags" if math.isinf(self.n_bags) else f"{self.n_bags:,} bags"
        return f"Use {self.certificate.scheme}, with {bags}.\n{self.certificate.explain(self.delta)}"


def plan(
    n_samples: int,
    epsilon: float,
    delta: float,
    scheme: str | ResamplingScheme = "subbagging",
    *,
    max_bags: int | float = 10_000,
    range_length: float = 1.0,
    delta_range: float = 0.0,
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
        How bags are drawn. A scheme object keeps its own bag size, and only the number of bags is planned.
    max_bags : int or math.inf, default=10000
        The largest number of bags that can be afforded; ``math.inf`` plans for derandomized bagging.
    range_length : float, default=1.0
        As in `Certificate`.
    delta_range : float, default=0.0
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
    Subbagging(bag_size=8335)
    >>> plan(10_000, epsilon=0.005, delta=0.01, max_bags=math.inf).scheme
    Subbagging(bag_size=99)
    >>> plan(10_000, epsilon=0.2, delta=0.05, max_bags=math.inf).scheme
    Subbagging(bag_size=9876)

    Finitely many bags take a part of epsilon:

    >>> print(plan(10_000, epsilon=0.05, delta=0.05))
    Use subbagging, 2,790 of 10,000 rows, with 9,999 bags.
    For every learner, every data set of 10,000 rows and every test point: the chance, over the
    draw of bags and seeds, that leaving out a row moves the prediction by more than 0.05 is at
    most 0.05 on average over the rows.
    Proved by Theorem 8, Theorem 9 for the bags, counting whole rows (subbagging, 2,790 of 10,000
    rows: p = 0.279, q = 2.01e-05; 9,999 bags; predictions in a range of length 1).
    The mean over rows is at most 0.02818 (Corollary 15).
    """
    n_samples = check_samples(n_samples, "plan")
    range_length = check_real(range_length, "range_length", "plan", high=sys.float_info.max, open_low=True)
    epsilon = check_real(epsilon, "epsilon", "plan", open_low=True)
    if epsilon >= range_length:
        reason = "no prediction moves further than its range, with or without bagging."
        raise refuse_value("epsilon", "plan", f"below range_length={range_length:g}", epsilon, reason)
    delta = check_real(delta, "delta", "plan", high=1.0, open_low=True)
    max_bags = check_bags(max_bags, "plan", name="max_bags")
    of_size, largest = _candidates(scheme, n_samples)

    def certificate(size: int, n_bags: int | float) -> Certificate:
        return Certificate(of_size(size), n_samples, n_bags, range_length=range_length, delta_range=delta_range)

    def meets(size: int, n_bags: int | float) -> bool:
        return certificate(size, n_bags).epsilon(delta) <= epsilon

    if not meets(1, max_bags):
        enough = [_first(1, _MANY_BAGS, lambda n_bags: meets(1, n_bags)), math.inf]
        enough = [n_bags for n_bags in enough if meets(1, n_bags)]
        raise ValueError(_impossible(certificate(1, max_bags), epsilon, delta, enough))
    size = _first(1, largest, lambda size: size == largest or not meets(size + 1, max_bags))
    n_bags = max_bags
    if isinstance(max_bags, int):
        n_bags = _first(1, max_bags, lambda n_bags: meets(size, n_bags))
    return Plan(of_size(size), n_bags, certificate(size, n_bags), epsilon, delta)


def _candidates(scheme: str | ResamplingScheme, n_samples: int) -> tuple[Callable[[int], ResamplingScheme], int]:
    """The schemes to choose from, by bag size, and the largest size."""
    if isinstance(scheme, ResamplingScheme):
        return lambda size: scheme, 1
    if not isinstance(scheme, str):
        raise refuse_type("scheme", "plan", f"one of {sorted(SCHEMES)} or a resampling scheme", scheme)
    if scheme not in SCHEMES:
        raise refuse_value("scheme", "plan", f"one of {sorted(SCHEMES)} or a resampling scheme", scheme)
    without_replacement = issubclass(SCHEMES[scheme], Subbagging | BernoulliSubbagging)
    return SCHEMES[scheme], n_samples - 1 if without_replacement else n_samples


def _impossible(best: Certificate, epsilon: float, delta: float, enough_bags: list[float]) -> str:
    """Say what would be possible in place of what is not."""
    bags = "infinitely many bags" if math.isinf(best.n_bags) else f"at most {best.n_bags:,} bags"
    possible = []
    if (smallest_epsilon := best.epsilon(delta)) < best.range_length:
        possible.append(f"epsilon >= {smallest_epsilon:.4g} for this delta")
    if (smallest_delta := best.delta(epsilon)) < 1:
        possible.append(f"delta >= {smallest_delta:.4g} for this epsilon")
    if enough_bags:
        possible.append(f"this very request with max_bags={enough_bags[0]:,}")
    return (
        f"No plan with {bags} certifies epsilon={epsilon:g} for delta={delta:g}: even {best.scheme}, does not. "
        f"Possible: {', or '.join([*possible, 'more rows'])}."
    )


def _check_bound(bound: str, owner: str) -> str:
    if bound not in ("best", "paper"):
        raise refuse_value("bound", owner, 'one of "best" and "paper"', bound)
    return bound


def _first(low: int, high: int, holds: Callable[[int], bool]) -> int:
    """The smallest whole number from `low` to `high` at which a monotone condition holds; at `high` it does."""
    return low + bisect_left(range(low, high), True, key=holds)
