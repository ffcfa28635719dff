"""Plans: a scheme and a number of bags that meet a request."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, overload

from stablebag._checks import (
    check_bags,
    check_delta,
    check_epsilon,
    check_integer,
    check_real,
    check_samples,
    refuse_type,
    refuse_value,
)
from stablebag._wording import count_bags, paragraphs, preformatted, rounded_up, written_size
from stablebag.proving import bounds
from stablebag.proving.certificate import Certificate, first_step, replace_bags
from stablebag.proving.coupling import Coupling
from stablebag.proving.error_bounds import ErrorPlan, plan_error
from stablebag.proving.leave_out import VersionsCertificate
from stablebag.resampling.law import ResamplingScheme, ResolvedScheme
from stablebag.resampling.schemes import SCHEMES, as_law

_NUMBERS = tuple(step * 10**power for power in range(2, 9) for step in (1, 3))  # of bags, for other options
_MOST_OPTIONS = 5
_SPARED = 1.01  # the part of epsilon that is left for fewer bags
_MOST_REPLACED = 10**6
_MANY_BAGS = 10**9  # a plan that needs more bags is not offered


_CALM = (
    "The share of the rows in a bag decides: if the same share of rows is replaced, more rows do not make a retraining "
    "calmer."
)


@dataclass(frozen=True)
class PlanOption:
    """One way to meet a request: bags of a size, so many of them.

    Attributes
    ----------
    bag_size : int or float
        The number of rows in a bag; its expectation if it is random.
    n_bags : int or float
        The number of bags.
    epsilon : float
        What is then proved.
    price : float
        How much less it would be with infinitely many bags.
    """

    bag_size: int | float
    n_bags: int | float
    epsilon: float
    price: float


@dataclass(frozen=True)
class Plan:
    """A scheme and a number of bags that meet the request (epsilon, delta), and the certificate that says so.

    Made by `plan`; print it to see what to use and what is then proved.

    Attributes
    ----------
    scheme : ResamplingScheme
        How to draw bags.
    n_bags : int or math.inf
        How many.
    certificate : Certificate or VersionsCertificate
        What is then proved.
    epsilon : float
        The perturbation that was asked for.
    delta : float
        The share of rows that was asked for.
    options : tuple of PlanOption
        Other ways to meet the request: with fewer bags, bags must be smaller.
    """

    scheme: ResamplingScheme | ResolvedScheme
    n_bags: int | float
    certificate: Any
    epsilon: float
    delta: float
    options: tuple[PlanOption, ...] = ()

    def explain(self) -> str:
        """Explain in sentences what to use, and what is then proved."""
        return str(self)

    def __str__(self) -> str:
        fewer = [f"{option.n_bags:,} of {written_size(option.bag_size)} rows" for option in reversed(self.options[:-1])]
        if isinstance(self.certificate, VersionsCertificate):
            use = [f"Use {self.certificate.law}, with {count_bags(self.n_bags)}, in both versions. {_CALM}"]
            return f"{paragraphs(use)}\n{self.certificate.explain(self.delta)}"
        use = [f"Use {self.certificate.scheme}, with {count_bags(self.n_bags)}."]
        use += [f"Fewer bags keep the promise if they are smaller: {', '.join(fewer)}."] if fewer else []
        return f"{paragraphs(use)}\n{self.certificate.explain(self.delta)}"

    def _repr_html_(self) -> str:
        """For notebooks."""
        return preformatted(str(self))


@overload
def plan(
    n_samples: int,
    epsilon: float,
    delta: float,
    scheme: str | ResamplingScheme | ResolvedScheme = "subbagging",
    *,
    max_bags: int | float = 10_000,
    max_bag_size: int | None = None,
    range_length: float = 1.0,
    delta_range: float = 0.0,
    coupling: Coupling | str | None = None,
    churn: float | None = None,
) -> Plan: ...
@overload
def plan(
    n_samples: int,
    *,
    max_bags: int | float = 10_000,
    max_bag_size: int | None = None,
    range_length: float = 1.0,
    error_width: float,
    confidence_level: float = 0.95,
    lipschitz: float = 1.0,
    upper: float = 1.0,
) -> ErrorPlan: ...
def plan(
    n_samples: int,
    epsilon: float | None = None,
    delta: float | None = None,
    scheme: str | ResamplingScheme | ResolvedScheme = "subbagging",
    *,
    max_bags: int | float = 10_000,
    max_bag_size: int | None = None,
    range_length: float = 1.0,
    delta_range: float = 0.0,
    coupling: Coupling | str | None = None,
    churn: float | None = None,
    error_width: float | None = None,
    confidence_level: float = 0.95,
    lipschitz: float = 1.0,
    upper: float = 1.0,
) -> Plan | ErrorPlan:
    """Find a large bag size, and then the smallest number of bags, that certify (epsilon, delta)-stability.

    Large bags cost the least accuracy but the most stability; many bags cost time. From some number on, more matched
    bags lower epsilon by less than 1 %. So this takes the largest bags that can be certified for epsilon / 1.01 with
    `max_bags` of them, and then the fewest bags of that size that are enough for epsilon.

    Parameters
    ----------
    n_samples : int
        The number of training rows.
    epsilon : float or None, default=None
        The perturbation that few rows may exceed, in the units of the prediction.
    delta : float or None, default=None
        The share of the training rows that may exceed it, in [0, 1]; not a confidence level.
    scheme : {"subbagging", "bernoulli", "classical", "poissonized"} or ResamplingScheme, default="subbagging"
        How bags are drawn. A scheme object keeps its own bag size, so only the number of bags is planned. Bags drawn
        with replacement are planned with at most as many draws as there are rows.
    max_bags : int or math.inf, default=10000
        The largest number of bags that you can afford; ``math.inf`` plans for derandomized bagging.
    max_bag_size : int or None, default=None
        The largest bag that you can afford to fit a learner to; None is all rows but one.
    range_length : float, default=1.0
        As in `Certificate`.
    delta_range : float, default=0.0
        As in `Certificate`.
    coupling : {"any", "independent", "matched"} or None, default=None
        As in `Certificate`. None is "matched" if the scheme draws matched bags, and "any" otherwise.
    churn : float or None, default=None
        Plan for a retraining in place of leaving out one row: this share of the rows leaves, chosen at random, and as
        many others come. Then `delta` is the chance that a prediction changes by more than `epsilon` between the two
        versions, which have the same seed, row IDs and bag size (`compare_versions`).
    error_width : float or None, default=None
        Plan for the error in place of stability, without `epsilon` and `delta`: for subbags with which the error of the
        fitted model on new rows has a proved interval of this width (`leave_one_out_error`).
    confidence_level : float, default=0.95
        With `error_width`: the confidence level of that interval.
    lipschitz : float, default=1.0
        With `error_width`: how fast the loss changes with the prediction. It is 1 for the absolute error and for one
        minus the probability of the true class.
    upper : float, default=1.0
        With `error_width`: the largest possible loss.

    Returns
    -------
    Plan or ErrorPlan
        With `scheme` and `n_bags`; without `error_width` with the `certificate`, and `options` with fewer and smaller
        bags.

    Examples
    --------
    The three regimes of the paper, for 10,000 rows and infinitely many bags. A moderate request allows bags in
    proportion to the data; a strict one needs massive subsampling, and a mild one only minimal subsampling:

    >>> import math
    >>> from stablebag import plan
    >>> plan(10_000, epsilon=0.05, delta=0.05, max_bags=math.inf).scheme
    Subbagging(bag_size=8871)
    >>> plan(10_000, epsilon=0.005, delta=0.01, max_bags=math.inf).scheme
    Subbagging(bag_size=148)
    >>> plan(10_000, epsilon=0.2, delta=0.05, max_bags=math.inf).scheme
    Subbagging(bag_size=9920)

    A retraining in which 1% of the rows are replaced at random:

    >>> calm = plan(10_000, epsilon=0.1, delta=0.1, churn=0.01)
    >>> calm.scheme, calm.n_bags
    (Subbagging(bag_size=1499), 8335)

    Bags for which the error of the fitted model, for a loss from 0 to 1, has a proved interval of width 0.2:

    >>> print(plan(10_000, error_width=0.2))
    Use subbagging, 4,434 of 10,000 rows, with 8,330 bags.
    Proved for every learner: with probability 95% over the draw of independent rows and of the
    bags, an interval of width 0.2 contains the expected loss of the fitted model at a new row.
    The loss is from 0 to 1 and changes at most by 1 times the change of the prediction, in a
    fixed range of length 1.
    Larger or smaller bags need other numbers of rows: 13,185 rows for bags of 50% of them, 1,415
    rows for bags of 10% of them, 474 rows for bags of 1% of them.

    Finitely many bags take a part of epsilon, which enough of them make small:

    >>> print(plan(10_000, epsilon=0.05, delta=0.05))
    Use subbagging, 8,305 of 10,000 rows, with 3,323 bags.
    Fewer bags keep the promise if they are smaller: 3,000 of 7,499 rows, 1,000 of 2,499 rows, 300
    of 749 rows, 100 of 249 rows.
    For every learner, every data set of 10,000 rows and every test point: the chance, over the
    draw of bags and seeds, that leaving out a row moves the prediction by more than 0.05 is at
    most 0.05 on average over the rows.
    Proved by second moments of the bags, the same seed and names of rows with and without the
    row, so that bags without it stay as they are (subbagging, 8,305 of 10,000 rows: p = 0.8305, q
    = 1.41e-05; 3,323 bags; predictions in a range of length 1).
    3,323 bags are enough for this proof: more would lower it by at most 1 %. With infinitely
    many, a sharper proof gives 0.03948.
    The mean over rows, in expectation over bags and seeds, is at most 0.01118 (second moments of
    the bags).
    Replacing a row by another that takes its name moves it by at most 0.8306, in expectation over
    the bags; for independent rows from one distribution, by at most 0.02236 in expectation
    (Corollary 17).
    """
    n_samples = check_samples(n_samples, "plan")
    range_length = check_real(range_length, "range_length", "plan", open_low=True, finite=True)
    if error_width is not None:
        given: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "coupling": coupling, "churn": churn}
        is_zero = isinstance(delta_range, int | float) and delta_range == 0
        is_usual = isinstance(scheme, str) and scheme == "subbagging"
        given |= {"scheme": None if is_usual else scheme, "delta_range": None if is_zero else delta_range}
        if max_bag_size is not None:
            max_bag_size = check_integer(max_bag_size, "max_bag_size", "plan", minimum=1)
        return plan_error(
            n_samples, error_width, confidence_level, lipschitz=lipschitz, upper=upper, range_length=range_length,
            max_bags=check_bags(max_bags, "plan", name="max_bags"), max_bag_size=max_bag_size, given=given,
        )  # fmt: skip
    if epsilon is None or delta is None:
        name = "epsilon" if epsilon is None else "delta"
        raise refuse_type(name, "plan", "a number", None, "give epsilon and delta, or error_width.")
    epsilon = check_epsilon(epsilon, "plan", open_low=True)
    if epsilon >= range_length:
        reason = "no prediction moves further than its range, with or without bagging."
        raise refuse_value("epsilon", "plan", f"below range_length={range_length:g}", epsilon, reason)
    delta = check_delta(delta, "plan")
    max_bags = check_bags(max_bags, "plan", name="max_bags")
    of_size, largest = _candidates(scheme, n_samples)
    if max_bag_size is not None:
        max_bag_size = check_integer(max_bag_size, "max_bag_size", "plan", minimum=1)
        if not isinstance(scheme, str) and (size := _size_of(as_law(scheme, n_samples, "plan"))) > max_bag_size:
            reason = "the scheme keeps its own bag size. Give its name to plan for another."
            raise refuse_value("max_bag_size", "plan", f"at least {size:g}", max_bag_size, reason)
        largest = min(largest, max_bag_size)
    if churn is not None:
        return _calm_plan(
            n_samples, epsilon, delta, of_size, largest, max_bags, range_length, delta_range, coupling, churn
        )
    if coupling is None:
        coupling = "matched" if as_law(of_size(1), n_samples, "plan").is_matched else "any"

    def certificate(size: int, n_bags: int | float) -> Certificate:
        lengths = {"range_length": range_length, "delta_range": delta_range}
        return Certificate(of_size(size), n_samples, n_bags, **lengths, coupling=coupling)  # type: ignore[arg-type]

    def meets(size: int, n_bags: int | float, *, spared: float = 1.0) -> bool:
        return certificate(size, n_bags).epsilon(delta) * spared <= epsilon

    if not meets(1, max_bags):
        enough = [first_step(1, _MANY_BAGS, lambda n_bags: meets(1, n_bags)), math.inf]
        enough = [n_bags for n_bags in enough if meets(1, n_bags)]
        raise ValueError(_impossible(certificate(1, max_bags), epsilon, delta, enough))
    spared = 1.0 if math.isinf(max_bags) or not meets(1, max_bags, spared=_SPARED) else _SPARED
    size = first_step(1, largest, lambda size: size == largest or not meets(size + 1, max_bags, spared=spared))
    n_bags = max_bags
    if isinstance(max_bags, int):
        n_bags = first_step(1, max_bags, lambda n_bags: meets(size, n_bags))
    options = _options(certificate, epsilon, delta, size, n_bags)
    return Plan(of_size(size), n_bags, certificate(size, n_bags), epsilon, delta, options)


def _calm_plan(
    n_samples: int,
    epsilon: float,
    delta: float,
    of_size: Callable[[int], Any],
    largest: int,
    max_bags: int | float,
    range_length: float,
    delta_range: float,
    coupling: Any,
    churn: float,
) -> Plan:
    """The largest bags, and then the fewest, that certify epsilon for a share of rows replaced at random."""
    churn = check_real(churn, "churn", "plan", high=1.0, open_low=True, reason="it is a share of the rows: 1% is 0.01.")
    delta_range = check_real(delta_range, "delta_range", "plan", high=1.0)
    if delta_range or not (coupling is None or (isinstance(coupling, str) and coupling == "matched")):
        name, value = ("delta_range", delta_range) if delta_range else ("coupling", coupling)
        reason = "both versions have the same seed, and a fixed range."
        raise refuse_value(name, "plan", "left out with churn", value, reason)
    replaced = max(1, round(churn * n_samples))
    if replaced > _MOST_REPLACED:
        reason = f"{replaced:,} rows would be replaced. Plan for fewer rows: their share in a bag is what matters."
        raise refuse_value("churn", "plan", f"such that at most {_MOST_REPLACED:,} rows are replaced", churn, reason)

    def certificate(size: int, n_bags: int | float) -> VersionsCertificate:
        law = as_law(of_size(size), n_samples, "plan")
        return VersionsCertificate(law, replaced, replaced, n_bags, range_length)

    def meets(size: int, n_bags: int | float, *, spared: float = 1.0) -> bool:
        try:
            return certificate(size, n_bags).epsilon(delta) * spared <= epsilon
        except ValueError:  # every bag may have a row that is replaced
            return False

    if not meets(1, max_bags):
        enough = math.isinf(max_bags) or not meets(1, math.inf)
        way = "a larger epsilon or delta, or less churn" if enough else "more bags, or a larger epsilon or delta"
        raise ValueError(
            f"No plan with at most {count_bags(max_bags)} certifies epsilon={epsilon:g} for delta={delta:g} if "
            f"{replaced:,} of {n_samples:,} rows are replaced. Ask for {way}."
        )
    spared = 1.0 if math.isinf(max_bags) or not meets(1, max_bags, spared=_SPARED) else _SPARED
    size = first_step(1, largest, lambda size: size == largest or not meets(size + 1, max_bags, spared=spared))
    n_bags = max_bags
    if isinstance(max_bags, int):
        n_bags = first_step(1, max_bags, lambda n_bags: meets(size, n_bags))
    return Plan(of_size(size), n_bags, certificate(size, n_bags), epsilon, delta)


def _options(
    certificate: Callable[[int, int | float], Certificate], epsilon: float, delta: float, size: int, n_bags: int | float
) -> tuple[PlanOption, ...]:
    """The largest bags for each of some smaller numbers of bags, and the plan itself."""
    fewer = [number for number in _NUMBERS if number < n_bags]
    found: list[PlanOption] = []
    for number in [*fewer[-_MOST_OPTIONS:], n_bags]:
        if certificate(1, number).quick_epsilon(delta) > epsilon and number != n_bags:
            continue
        largest = size
        if number != n_bags:
            largest = first_step(
                1,
                size,
                lambda m, number=number: m == size or certificate(m + 1, number).quick_epsilon(delta) > epsilon,  # type: ignore[misc]
            )
        proved = certificate(largest, number)
        bag_size = _size_of(proved.scheme)
        if number != n_bags and found and bag_size == found[-1].bag_size:
            continue  # more bags that are no larger
        value, ideal = proved.epsilon(delta), replace_bags(proved, math.inf).epsilon(delta)
        found.append(PlanOption(bag_size, number, value, value - ideal))
    return tuple(found)


def _size_of(law: ResolvedScheme) -> int | float:
    """The number of rows in a bag; of your own scheme, how many distinct ones are expected."""
    return law.bag_size if law.is_in_closed_form else law.n_samples * law.mean_inclusion


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
    # Of very many rows, a bag of nearly all has them with a chance that no float tells from one.
    return SCHEMES[scheme], n_samples if SCHEMES[scheme].repeats else n_samples - 1 - n_samples // 2**51


def _impossible(best: Certificate, epsilon: float, delta: float, enough_bags: list[float]) -> str:
    """Say what would be possible instead."""
    possible = []
    if (smallest_epsilon := best.epsilon(delta)) < best.range_length:
        possible.append(f"epsilon >= {rounded_up(smallest_epsilon)} for this delta")
    if (smallest_delta := best.delta(epsilon)) < 1:
        possible.append(f"delta >= {rounded_up(smallest_delta)} for this epsilon")
    if enough_bags:
        possible.append(f"the same request with max_bags={enough_bags[0]:,}")
    # However many rows there are, the bags' part of epsilon remains.
    rest = max(0.0, delta - best.delta_range)
    of_bags = bounds.second_moment_epsilon(rest, 0.0, best.n_bags, best.coupling) if rest else math.inf
    tail = bounds.monte_carlo_radius(best.n_bags, rest, best.coupling)
    of_bags = 0.0 if math.isinf(best.n_bags) else min(of_bags, tail)
    if of_bags * best.range_length < epsilon:
        possible.append("more rows")
    return (
        f"No plan with at most {count_bags(best.n_bags)} certifies epsilon={epsilon:g} for delta={delta:g}, not even "
        f"with {best.scheme}. Possible: {', or '.join(possible) or 'nothing; use a fixed range'}."
    )
