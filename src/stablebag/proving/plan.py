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
from stablebag.proving.certificate import Certificate, enough_bags, first_step, replace_bags
from stablebag.proving.coupling import Coupling
from stablebag.proving.error_bounds import ErrorPlan, plan_error
from stablebag.proving.leave_out import VersionsCertificate
from stablebag.resampling.law import ResamplingScheme, ResolvedScheme
from stablebag.resampling.schemes import SCHEMES, as_law

_NUMBERS = tuple(step * 10**power for power in range(1, 9) for step in (1, 3))  # of bags, for other options
_FEWER = 3  # options with fewer bags than the plan
_NEARLY = 0.95  # of the largest bags: the last few percent of their size take most of the bags
_TOLERANCE = 0.02  # of the size of a bag, for the search
_MOST_REPLACED = 10**6
_FEW_ROWS = 1000  # with more rows that may exceed epsilon, sizes are searched for by second moments, which are faster


_CALM = (
    "The share of the rows in a bag decides: if the same share of rows is replaced, more rows do not make predictions "
    "change less."
)


@dataclass(frozen=True)
class PlanOption:
    """One way to get the guarantee: a bag size and a number of bags.

    Attributes
    ----------
    bag_size : int or float
        The number of rows in a bag; its expectation if it is random.
    n_bags : int or float
        The number of bags.
    epsilon : float
        What is then guaranteed: at most a share `delta` of the rows changes a prediction by more; with churn, `delta`
        is the chance that a prediction changes by more.
    price : float
        How much lower epsilon would be with infinitely many bags.
    """

    bag_size: int | float
    n_bags: int | float
    epsilon: float
    price: float


@dataclass(frozen=True)
class Plan:
    """A scheme and a number of bags for which (epsilon, delta)-stability is proved, with the certificate.

    Made by `plan`. Print it to see what to use and what is then guaranteed.

    Attributes
    ----------
    scheme : ResamplingScheme
        How to draw bags.
    n_bags : int or math.inf
        How many bags to draw.
    certificate : Certificate or VersionsCertificate
        What is then guaranteed.
    epsilon : float
        The epsilon that you asked for.
    delta : float
        The delta that you asked for.
    options : tuple of PlanOption
        Ways to get the same guarantee, by their number of bags. The plan is one of them. Fewer bags have to be smaller;
        the last option has as many bags as were allowed.
    """

    scheme: ResamplingScheme | ResolvedScheme
    n_bags: int | float
    certificate: Any
    epsilon: float
    delta: float
    options: tuple[PlanOption, ...] = ()

    def explain(self) -> str:
        """Explain in sentences what to use and what is then guaranteed."""
        return str(self)

    def __str__(self) -> str:
        if isinstance(self.certificate, VersionsCertificate):
            use = [f"Use {self.certificate.law}, with {count_bags(self.n_bags)}, in both versions. {_CALM}"]
            return f"{paragraphs(use)}\n{self.certificate.explain(self.delta)}"

        def ways(options: list[PlanOption]) -> str:
            return ", ".join(f"{count_bags(each.n_bags)} of {written_size(each.bag_size)} rows" for each in options)

        fewer = [option for option in self.options if option.n_bags < self.n_bags]
        more = [option for option in self.options if option.n_bags > self.n_bags]
        use = [f"Use {self.certificate.scheme}, with {count_bags(self.n_bags)}."]
        use += [f"Fewer bags have to be smaller: {ways(fewer[::-1])}."] if fewer else []
        use += [f"More bags can be a little larger: {ways(more)}."] if more else []
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
    """Find a large bag size, and a small number of bags, for which (epsilon, delta)-stability is proved.

    Large bags usually predict better, but with them single rows can move predictions further. Many bags take time. So
    `plan` looks for the largest bags that are proved with `max_bags` of them, takes 95 % of that size, and then the
    fewest bags that are proved at this size. The last 5 % would take most of the bags.

    Parameters
    ----------
    n_samples : int
        The number of training rows.
    epsilon : float or None, default=None
        How far a prediction may change when a row is left out, in the units of the prediction.
    delta : float or None, default=None
        The share of the training rows that may change it more, in [0, 1]; not a confidence level.
    scheme : {"subbagging", "bernoulli", "classical", "poissonized"} or ResamplingScheme, default="subbagging"
        How bags are drawn. A scheme object keeps its own bag size, so only the number of bags is planned. Bags drawn
        with replacement are planned with at most as many draws as there are rows.
    max_bags : int or math.inf, default=10000
        The largest number of bags that you can afford. ``math.inf`` plans for averaging over all bags, and then takes
        the largest bags that are proved.
    max_bag_size : int or None, default=None
        The largest bag that you can afford to fit a learner to. None allows all rows but one.
    range_length : float, default=1.0
        As in `Certificate`.
    delta_range : float, default=0.0
        As in `Certificate`.
    coupling : {"any", "independent", "matched"} or None, default=None
        As in `Certificate`. None is "matched" if the scheme draws matched bags, and "any" otherwise.
    churn : float or None, default=None
        Plan for a refit on a new version of the data instead of leaving out one row: this share of the rows leaves,
        chosen at random, and as many others come. Then `delta` is the chance that a prediction changes by more than
        `epsilon` between the two versions, which have the same seed, row IDs and bag size (`compare_versions`).
    error_width : float or None, default=None
        Plan for the error instead of stability, without `epsilon` and `delta`: for subbags with which the error of the
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
        With `scheme` and `n_bags`. A `Plan` also has the `certificate`, and `options`, which lists other ways.

    Examples
    --------
    The three regimes of the paper, for 10,000 rows and all bags. A moderate request allows bags in proportion to the
    data, a strict one needs very small bags, and a mild one allows nearly all rows:

    >>> import math
    >>> from stablebag import plan
    >>> plan(10_000, epsilon=0.05, delta=0.05, max_bags=math.inf).scheme
    Subbagging(bag_size=8871)
    >>> plan(10_000, epsilon=0.005, delta=0.01, max_bags=math.inf).scheme
    Subbagging(bag_size=148)
    >>> plan(10_000, epsilon=0.2, delta=0.05, max_bags=math.inf).scheme
    Subbagging(bag_size=9920)

    A new version in which 1% of the rows are replaced at random:

    >>> calm = plan(10_000, epsilon=0.1, delta=0.1, churn=0.01)
    >>> calm.scheme, calm.n_bags
    (Subbagging(bag_size=1451), 6600)

    Bags for which the error of the fitted model, for a loss from 0 to 1, has a proved interval of width 0.2:

    >>> print(plan(10_000, error_width=0.2))
    Use subbagging, 4,434 of 10,000 rows, with 8,330 bags.
    Proved for every learner: with probability 95% over the draw of independent rows and of the
    bags, an interval of width 0.2 contains the expected loss of the fitted model at a new row.
    The loss is from 0 to 1 and changes at most as much as the prediction, which is in a fixed
    range of length 1.
    Larger or smaller bags need other numbers of rows: 13,185 rows for bags of 50% of them, 1,415
    rows for bags of 10% of them, 474 rows for bags of 1% of them.

    With finitely many bags:

    >>> found = plan(1000, epsilon=0.2, delta=0.05)
    >>> found.scheme, found.n_bags
    (Subbagging(bag_size=870), 120)
    >>> for option in found.options:
    ...     print(f"{option.n_bags:>6} bags of {option.bag_size} rows")
        10 bags of 40 rows
        30 bags of 206 rows
       100 bags of 781 rows
       120 bags of 870 rows
     10000 bags of 915 rows
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
        reason = "no prediction changes by more than its range, with or without bagging."
        raise refuse_value("epsilon", "plan", f"below range_length={range_length:g}", epsilon, reason)
    delta = check_delta(delta, "plan")
    max_bags = check_bags(max_bags, "plan", name="max_bags")
    of_size, largest = _candidates(scheme, n_samples)
    if max_bag_size is not None:
        max_bag_size = check_integer(max_bag_size, "max_bag_size", "plan", minimum=1)
        if not isinstance(scheme, str) and (size := _size_of(as_law(scheme, n_samples, "plan"))) > max_bag_size:
            reason = "a scheme object keeps its bag size. Pass its name to plan for another size."
            raise refuse_value("max_bag_size", "plan", f"at least {size:g}", max_bag_size, reason)
        largest = min(largest, max_bag_size)
    if churn is not None:
        return _plan_for_churn(
            n_samples, epsilon, delta, of_size, largest, max_bags, range_length, delta_range, coupling, churn
        )
    if coupling is None:
        coupling = "matched" if as_law(of_size(1), n_samples, "plan").is_matched else "any"

    def certificate(size: int, n_bags: int | float) -> Certificate:
        lengths = {"range_length": range_length, "delta_range": delta_range}
        return Certificate(of_size(size), n_samples, n_bags, **lengths, coupling=coupling)  # type: ignore[arg-type]

    def meets(size: int, n_bags: int | float) -> bool:
        return certificate(size, n_bags).proves(epsilon, delta)

    if not meets(1, max_bags):
        raise ValueError(_impossible(certificate(1, max_bags), epsilon, delta))
    if isinstance(max_bags, float):
        size = first_step(1, largest, lambda size: size == largest or not meets(size + 1, max_bags))
        proved = certificate(size, max_bags)
        return Plan(of_size(size), max_bags, proved, epsilon, delta, (_option(proved, delta),))

    # The tail of classical bagging takes seconds for each size of thousands of draws.
    is_slow = certificate(largest, max_bags).scheme.count_law_roundings(1) > 1000

    def largest_size(n_bags: int, most: int) -> int:
        """The largest bags that are proved with this many bags, or nearly so."""
        if meets(most, n_bags):
            return most
        quick = first_step(1, most, lambda m: m == most or certificate(m + 1, n_bags).quick_epsilon(delta) > epsilon)
        if is_slow or delta * n_samples > _FEW_ROWS:
            return quick
        low, high = quick, most
        while high - low > max(1, _TOLERANCE * low):
            middle = (low + high) // 2
            low, high = (middle, high) if meets(middle, n_bags) else (low, middle)
        while low > quick and certificate(low, n_bags).epsilon(delta) > epsilon:  # see `Certificate.proves`
            low = max(quick, math.floor(0.98 * low))
        return low

    most = largest_size(max_bags, largest)
    size = most if most == largest else max(1, math.ceil(_NEARLY * most))
    found = enough_bags(lambda n_bags: certificate(size, n_bags), epsilon, delta, near=n_samples, most=max_bags)
    n_bags = max_bags if found is None else found
    ways = {n_bags: size}
    for number in [number for number in _NUMBERS if number < n_bags][: -_FEWER - 1 : -1]:
        if is_slow or not meets(1, number):
            break
        ways[number] = largest_size(number, size)
    if most > size:
        ways[max_bags] = most
    options = tuple(_option(certificate(ways[number], number), delta) for number in sorted(ways))
    return Plan(of_size(size), n_bags, certificate(size, n_bags), epsilon, delta, options)


def _plan_for_churn(
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
    """Large bags, and the fewest of them, for which epsilon is proved if a share of rows is replaced at random."""
    churn = check_real(churn, "churn", "plan", high=1.0, open_low=True, reason="it is a share of the rows: 1% is 0.01.")
    delta_range = check_real(delta_range, "delta_range", "plan", high=1.0)
    if delta_range or not (coupling is None or (isinstance(coupling, str) and coupling == "matched")):
        name, value = ("delta_range", delta_range) if delta_range else ("coupling", coupling)
        reason = "both versions have the same seed and a fixed range. Leave it out."
        raise refuse_value(name, "plan", f"{'0' if delta_range else 'None'} with churn", value, reason)
    replaced = max(1, round(churn * n_samples))
    if replaced > _MOST_REPLACED:
        reason = (
            f"{replaced:,} rows would be replaced. Plan for fewer rows; what matters is the share of rows in a bag."
        )
        raise refuse_value("churn", "plan", f"such that at most {_MOST_REPLACED:,} rows are replaced", churn, reason)

    def certificate(size: int, n_bags: int | float) -> VersionsCertificate:
        law = as_law(of_size(size), n_samples, "plan")
        return VersionsCertificate(law, replaced, replaced, n_bags, range_length)

    def meets(size: int, n_bags: int | float) -> bool:
        try:
            return certificate(size, n_bags).epsilon(delta) <= epsilon
        except ValueError:  # every bag may have a row that is replaced
            return False

    if not meets(1, max_bags):
        needs_more = math.isfinite(max_bags) and meets(1, math.inf)
        way = "more bags, or a larger epsilon or delta" if needs_more else "a larger epsilon or delta, or less churn"
        raise ValueError(
            f"No plan with at most {count_bags(max_bags)} proves epsilon={epsilon:g} for delta={delta:g} if "
            f"{replaced:,} of {n_samples:,} rows are replaced. Use {way}."
        )
    size = first_step(1, largest, lambda size: size == largest or not meets(size + 1, max_bags))
    n_bags = max_bags
    if isinstance(max_bags, int):
        size = size if size == largest else max(1, math.ceil(_NEARLY * size))
        n_bags = first_step(1, max_bags, lambda n_bags: meets(size, n_bags))
        unit = 10 ** max(0, len(str(n_bags)) - 2)
        n_bags = min(max_bags, -(-n_bags // unit) * unit)  # rounded up to two digits
    return Plan(of_size(size), n_bags, certificate(size, n_bags), epsilon, delta)


def _option(proved: Certificate, delta: float) -> PlanOption:
    value, ideal = proved.epsilon(delta), replace_bags(proved, math.inf).epsilon(delta)
    return PlanOption(_size_of(proved.scheme), proved.n_bags, value, value - ideal)


def _size_of(law: ResolvedScheme) -> int | float:
    """The number of rows in a bag; of a user-defined scheme, how many distinct ones are expected."""
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


def _impossible(best: Certificate, epsilon: float, delta: float) -> str:
    """Say what would be possible instead."""
    possible = []
    more_bags: float | None = enough_bags(
        lambda n_bags: replace_bags(best, n_bags), epsilon, delta, near=best.n_samples
    )
    if more_bags is None and replace_bags(best, math.inf).proves(epsilon, delta):
        more_bags = math.inf
    if (smallest_epsilon := best.epsilon(delta)) < best.range_length:
        possible.append(f"epsilon >= {rounded_up(smallest_epsilon)} for this delta")
    if (smallest_delta := best.delta(epsilon)) < 1:
        possible.append(f"delta >= {rounded_up(smallest_delta)} for this epsilon")
    if more_bags is not None:
        possible.append(f"max_bags={more_bags:,}")
    # However many rows there are, the bags' part of epsilon remains.
    rest = max(0.0, delta - best.delta_range)
    of_bags = bounds.second_moment_epsilon(rest, 0.0, best.n_bags, best.coupling) if rest else math.inf
    tail = bounds.monte_carlo_radius(best.n_bags, rest, best.coupling)
    of_bags = 0.0 if math.isinf(best.n_bags) else min(of_bags, tail)
    if of_bags * best.range_length < epsilon:
        possible.append("more rows")
    way = "a range that fewer rows change" if best.delta_range > 0 else "a larger epsilon or delta"
    way = f"Possible: {', or '.join(possible)}." if possible else f"Use {way}."
    return (
        f"No plan with at most {count_bags(best.n_bags)} proves epsilon={epsilon:g} for delta={delta:g}, not even with "
        f"{best.scheme}. {way}"
    )
