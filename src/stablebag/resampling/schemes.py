"""The four schemes of the paper, by class and by name, and a random number of bags."""

import itertools
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np

from stablebag._checks import check_integer, check_samples, refuse_type, refuse_value, shown
from stablebag._seeds import RandomState, Seeds
from stablebag._wording import probability, written_size
from stablebag.resampling.bags import WeightedBag
from stablebag.resampling.components import (
    Components,
    log_disjoint,
    of_any_law,
    of_draws,
    of_independent_rows,
    of_several_independent_rows,
    of_swaps,
    of_swaps_of_several,
)
from stablebag.resampling.drawing import Arrivals, Picked
from stablebag.resampling.law import (
    MatchedNoise,
    ResamplingScheme,
    ResolvedScheme,
    SizedScheme,
    binomial_law,
    log_concave_law,
    orders,
    swap_rate,
)

# ----------------------------------------------------------------------------------------------------------- subbagging


@dataclass(frozen=True)
class Subbagging(SizedScheme):
    """Bags of m distinct rows, drawn without replacement.

    Parameters
    ----------
    bag_size : int or float, default=0.5
        The number of rows m (int), or a fraction of the rows (float), rounded down to at least one row. It must be
        smaller than the number of rows, or than 1 as a fraction.

    Examples
    --------
    >>> law = Subbagging(bag_size=250).resolve(n_samples=500)
    >>> law.inclusion_probability, round(law.negative_covariance, 9)
    (0.5, 0.000501002)
    >>> law.without_one().bag_size  # m stays the same on n - 1 rows
    250
    """

    bag_size: int | float | Fraction = 0.5
    _in_closed_form: ClassVar[bool] = True

    def fix(self, n_samples: int) -> Self:
        self.refuse_whole_bags(n_samples, largest=f"{n_samples - 1}")
        return replace(self, bag_size=self.whole_size(n_samples))

    def pick(self, n_samples: int, arrivals: Arrivals) -> Picked:
        return arrivals.first_rows(self.whole_size(n_samples))

    def inclusion_probability(self, n_samples: int) -> Fraction:
        return Fraction(self.whole_size(n_samples), n_samples)

    def negative_covariance(self, n_samples: int) -> Fraction:
        m = self.whole_size(n_samples)
        return Fraction(m * (n_samples - m), n_samples**2 * max(1, n_samples - 1))

    def enumerate_bags(self, n_samples: int) -> Iterator[WeightedBag]:
        probability = Fraction(1, self.count_bags(n_samples))
        for bag in itertools.combinations(range(n_samples), self.whole_size(n_samples)):
            yield bag, probability

    def count_bags(self, n_samples: int) -> int:
        return math.comb(n_samples, self.whole_size(n_samples))

    def count_law(self, n_samples: int, n_rows: int) -> np.ndarray:
        # Hypergeometric: m draws from n rows, counting the `n_rows` given ones.
        m = self.whole_size(n_samples)
        fewest, most = max(0, m - (n_samples - n_rows)), min(m, n_rows)
        law, k = np.zeros(n_rows + 1), np.arange(fewest, most, dtype=float)
        log_ratios = np.log((n_rows - k) * (m - k) / ((k + 1) * (n_samples - n_rows - m + k + 1)))
        law[fewest : most + 1] = log_concave_law(log_ratios)
        return law

    def count_law_roundings(self, n_samples: int, n_rows: int) -> float:
        return min(self.whole_size(n_samples), n_rows)

    def subset_size(self, n_samples: int) -> int:
        return self.whole_size(n_samples)

    def matched_noise(self, n_samples: int) -> list[MatchedNoise]:
        m, p = self.whole_size(n_samples), float(self.inclusion_probability(n_samples))
        return [MatchedNoise(1.0, p, 2 * p * swap_rate(m, n_samples))]

    def matched_components(self, n_samples: int, diameter: float) -> Components:
        m, p = self.whole_size(n_samples), float(self.inclusion_probability(n_samples))
        return of_swaps(m, n_samples, self.covariance_norm(n_samples), p * diameter**2)

    def components_without(self, n_samples: int, n_rows: int, limit: float) -> Components:
        return of_swaps_of_several(self.whole_size(n_samples), n_samples, n_rows, limit)

    def log_avoidance(self, n_samples: int, n_rows: int) -> float:
        return log_disjoint(self.whole_size(n_samples), n_samples, n_rows)

    def raggedness(self, n_samples: int) -> float:
        return 1.0

    def empty_probability(self, n_samples: int) -> float:
        return 0.0

    def without_one(self, n_samples: int) -> Self:
        return replace(self, bag_size=self.whole_size(n_samples))

    def expected_size(self, n_samples: int) -> int:
        return self.whole_size(n_samples)

    def describe(self, n_samples: int, rows: str = "rows") -> str:
        return f"subbagging, {self.whole_size(n_samples):,} of {n_samples:,} {rows}"


# ------------------------------------------------------------------------------------------------------------ bernoulli


@dataclass(frozen=True)
class BernoulliSubbagging(SizedScheme):
    """Bags that contain each row independently with probability m/n; the size is random and may be zero.

    Parameters
    ----------
    bag_size : int or float, default=0.5
        The expected number of rows m (int), or the probability m/n (float). It must be smaller than the number of rows,
        or than 1 as a probability.

    Examples
    --------
    >>> law = BernoulliSubbagging(bag_size=100).resolve(n_samples=400)
    >>> law.inclusion_probability, law.negative_covariance
    (0.25, 0.0)
    >>> law.without_one().bag_size  # the probability stays, so the expected size falls
    99.75
    """

    bag_size: int | float | Fraction = 0.5
    _in_closed_form: ClassVar[bool] = True

    def fix(self, n_samples: int) -> Self:
        self.refuse_whole_bags(n_samples, largest=f"{n_samples - 1}, or a fraction below 1")
        return replace(self, bag_size=self.share_of(n_samples))

    def pick(self, n_samples: int, arrivals: Arrivals) -> Picked:
        return arrivals.rows_within(self.share_of(n_samples))

    def inclusion_probability(self, n_samples: int) -> Fraction:
        return self.share_of(n_samples)

    def negative_covariance(self, n_samples: int) -> Fraction:
        return Fraction(0)

    def enumerate_bags(self, n_samples: int) -> Iterator[WeightedBag]:
        p = self.share_of(n_samples)
        for size in range(n_samples + 1):
            probability = p**size * (1 - p) ** (n_samples - size)
            for bag in itertools.combinations(range(n_samples), size):
                yield bag, probability

    def count_bags(self, n_samples: int) -> int:
        return 1 << n_samples

    def count_law(self, n_samples: int, n_rows: int) -> np.ndarray:
        p = self.share_of(n_samples)
        return binomial_law(n_rows, float(p), float(1 - p))

    def count_law_roundings(self, n_samples: int, n_rows: int) -> float:
        return min(self.expected_size(n_samples), n_rows)

    def matched_noise(self, n_samples: int) -> list[MatchedNoise]:
        return _noise_of_independent_rows(float(self.share_of(n_samples)))

    def matched_components(self, n_samples: int, diameter: float) -> Components:
        p = float(self.share_of(n_samples))
        return of_independent_rows(p, n_samples, self.covariance_norm(n_samples), p * diameter**2)

    def components_without(self, n_samples: int, n_rows: int, limit: float) -> Components:
        return of_several_independent_rows(float(self.share_of(n_samples)), n_samples, n_rows, limit)

    def log_avoidance(self, n_samples: int, n_rows: int) -> float:
        return n_rows * math.log1p(-float(self.share_of(n_samples)))

    def constants_by_steps(self, n_samples: int, n_rows: int) -> np.ndarray:
        return _constants_of_independent_rows(float(self.share_of(n_samples)), n_samples, n_rows)

    def empty_probability(self, n_samples: int) -> float:
        return math.exp(n_samples * math.log1p(-float(self.share_of(n_samples))))

    def without_one(self, n_samples: int) -> Self:
        return replace(self, bag_size=self.share_of(n_samples))

    def expected_size(self, n_samples: int) -> float:
        return float(self.share_of(n_samples) * n_samples)

    def describe(self, n_samples: int, rows: str = "rows") -> str:
        share = float(self.share_of(n_samples))
        return f"Bernoulli subbagging, each of {n_samples:,} {rows} with probability {probability(share)}"


# ------------------------------------------------------------------------------------------------------------ classical

_MOST_DRAWN = 2e8  # largest product of draws and rows for which count_law is computed


@dataclass(frozen=True)
class ClassicalBagging(SizedScheme):
    """Bags of m rows drawn with replacement: the bootstrap if m = n.

    Parameters
    ----------
    bag_size : int or float, default=1.0
        The number of draws m (int), or its ratio to the number of rows (float), rounded down to at least one draw. It
        may exceed the number of rows, for example on n - 1 rows if m = n.

    Examples
    --------
    >>> law = ClassicalBagging(bag_size=1.0).resolve(n_samples=500)
    >>> round(law.inclusion_probability, 9), round(law.negative_covariance, 9)
    (0.632488745, 0.000270941)
    """

    bag_size: int | float | Fraction = 1.0
    _in_closed_form: ClassVar[bool] = True
    repeats: ClassVar[bool] = True

    def fix(self, n_samples: int) -> Self:
        return replace(self, bag_size=self.whole_size(n_samples))

    def pick(self, n_samples: int, arrivals: Arrivals) -> Picked:
        return arrivals.first_arrivals(self.whole_size(n_samples))

    def inclusion_probability(self, n_samples: int) -> float:
        if n_samples == 1:
            return 1.0
        return -math.expm1(self.whole_size(n_samples) * math.log1p(-1 / n_samples))

    def negative_covariance(self, n_samples: int) -> float:
        # (1 - 1/n)^2m - (1 - 2/n)^m, written so that two nearly equal powers are not subtracted.
        m = self.whole_size(n_samples)
        if n_samples <= 2:
            return math.exp(-m * math.log(4)) if n_samples == 2 else 0.0
        log_ratio = m * math.log1p(1 / (n_samples * (n_samples - 2)))
        return -math.exp(2 * m * math.log1p(-1 / n_samples)) * math.expm1(-log_ratio)

    def enumerate_bags(self, n_samples: int) -> Iterator[WeightedBag]:
        m = self.whole_size(n_samples)
        for bag in itertools.combinations_with_replacement(range(n_samples), m):
            yield bag, Fraction(orders(bag), n_samples**m)

    def count_bags(self, n_samples: int) -> int:
        m = self.whole_size(n_samples)
        return math.comb(n_samples + m - 1, m)

    def count_law(self, n_samples: int, n_rows: int) -> np.ndarray | None:
        # Each draw either adds one of the given rows to the bag, or changes nothing. All terms are positive, so nothing
        # cancels.
        m = self.whole_size(n_samples)
        if m * (n_rows + 500) > _MOST_DRAWN:
            return None
        hit = (n_rows - np.arange(n_rows + 1)) / n_samples
        law = np.zeros(n_rows + 1)
        law[0] = 1.0
        for _ in range(m):
            moved = law * hit
            law -= moved
            law[1:] += moved[:-1]
        return law

    def count_law_roundings(self, n_samples: int, n_rows: int) -> float:
        return self.whole_size(n_samples)

    def matched_components(self, n_samples: int, diameter: float) -> Components:
        limit, constant = self.inclusion_probability(n_samples) * diameter**2, self.covariance_norm(n_samples)
        if n_samples == 1:
            return of_any_law(constant, limit)
        return of_draws(self.whole_size(n_samples), n_samples, constant, limit)

    def log_avoidance(self, n_samples: int, n_rows: int) -> float:
        return self.whole_size(n_samples) * math.log1p(-n_rows / n_samples) if n_rows < n_samples else -math.inf

    def log_joint_avoidance(self, n_samples: int, n_rows: int, common: np.ndarray) -> np.ndarray:
        centred = (common - n_rows * (n_rows / n_samples)) / n_samples
        with np.errstate(divide="ignore"):
            each = np.log1p(np.maximum(-1.0, centred / (1 - n_rows / n_samples) ** 2))
        return np.asarray(self.whole_size(n_samples) * each)

    def constants_by_steps(self, n_samples: int, n_rows: int) -> np.ndarray | None:
        if n_samples - n_rows <= 1:
            return None
        m, left = self.whole_size(n_samples), n_samples - np.arange(n_rows, dtype=float)
        # If A_u is the probability to avoid u rows, p / (1 - p) = 1 / A_1 - 1 and q / (1 - p)^2 = 1 - A_2 / A_1^2.
        return np.asarray((np.expm1(-m * np.log1p(-1 / left)) - np.expm1(m * np.log1p(-1 / (left - 1) ** 2))) / left)

    def empty_probability(self, n_samples: int) -> float:
        return 0.0

    def without_one(self, n_samples: int) -> Self:
        return replace(self, bag_size=self.whole_size(n_samples))

    def expected_size(self, n_samples: int) -> int:
        return self.whole_size(n_samples)

    def describe(self, n_samples: int, rows: str = "rows") -> str:
        return f"classical bagging, {self.whole_size(n_samples):,} draws from {n_samples:,} {rows}"


# ---------------------------------------------------------------------------------------------------------- poissonized


@dataclass(frozen=True)
class PoissonizedBagging(SizedScheme):
    """Bags that contain each row independently Poisson(m/n) times; the size is random and may be zero.

    Parameters
    ----------
    bag_size : int or float, default=1.0
        The expected number of draws m (int), or the rate m/n (float). It may exceed the number of rows.

    Examples
    --------
    >>> law = PoissonizedBagging(bag_size=1.0).resolve(n_samples=500)
    >>> round(law.inclusion_probability, 9), law.negative_covariance, law.support_size
    (0.632120559, 0.0, inf)
    """

    bag_size: int | float | Fraction = 1.0
    _in_closed_form: ClassVar[bool] = True
    repeats: ClassVar[bool] = True
    has_finite_support: ClassVar[bool] = False

    def fix(self, n_samples: int) -> Self:
        return replace(self, bag_size=self.share_of(n_samples))

    def pick(self, n_samples: int, arrivals: Arrivals) -> Picked:
        return arrivals.arrivals_within(self.share_of(n_samples))

    def inclusion_probability(self, n_samples: int) -> float:
        return -math.expm1(-float(self.share_of(n_samples)))

    def negative_covariance(self, n_samples: int) -> Fraction:
        return Fraction(0)

    def enumerate_bags(self, n_samples: int) -> Iterator[WeightedBag]:
        m = self.expected_size(n_samples)
        for size in itertools.count():
            of_size = math.exp(size * math.log(m) - m - math.lgamma(size + 1))
            for bag in itertools.combinations_with_replacement(range(n_samples), size):
                yield bag, of_size * orders(bag) / n_samples**size

    def count_bags(self, n_samples: int) -> float:
        return math.inf

    def count_law(self, n_samples: int, n_rows: int) -> np.ndarray:
        rate = float(self.share_of(n_samples))
        return binomial_law(n_rows, -math.expm1(-rate), math.exp(-rate))

    def count_law_roundings(self, n_samples: int, n_rows: int) -> float:
        return min(self.expected_size(n_samples), n_rows)

    def matched_noise(self, n_samples: int) -> list[MatchedNoise]:
        return _noise_of_independent_rows(self.inclusion_probability(n_samples))

    def matched_components(self, n_samples: int, diameter: float) -> Components:
        p = self.inclusion_probability(n_samples)
        return of_independent_rows(p, n_samples, self.covariance_norm(n_samples), p * diameter**2)

    def components_without(self, n_samples: int, n_rows: int, limit: float) -> Components:
        return of_several_independent_rows(self.inclusion_probability(n_samples), n_samples, n_rows, limit)

    def log_avoidance(self, n_samples: int, n_rows: int) -> float:
        return -n_rows * float(self.share_of(n_samples))

    def constants_by_steps(self, n_samples: int, n_rows: int) -> np.ndarray:
        return _constants_of_independent_rows(self.inclusion_probability(n_samples), n_samples, n_rows)

    def empty_probability(self, n_samples: int) -> float:
        return math.exp(-self.expected_size(n_samples))

    def without_one(self, n_samples: int) -> Self:
        return replace(self, bag_size=self.share_of(n_samples))

    def expected_size(self, n_samples: int) -> float:
        return float(self.share_of(n_samples) * n_samples)

    def describe(self, n_samples: int, rows: str = "rows") -> str:
        number = written_size(self.expected_size(n_samples))
        draws = "1 draw" if number == "1" else f"{number} draws"
        return f"Poissonized bagging, {draws} expected from {n_samples:,} {rows}"


def _noise_of_independent_rows(p: float) -> list[MatchedNoise]:
    """Return the bound of the Efron-Stein inequality for independent rows."""
    return [MatchedNoise(1.0, p, 1 / (1 - p))]


def _constants_of_independent_rows(p: float, n_samples: int, n_rows: int) -> np.ndarray:
    return np.asarray(p / (1 - p) / (n_samples - np.arange(n_rows, dtype=float)))


# -------------------------------------------------------------------------------------------------------------- schemes

SCHEMES: dict[str, type[SizedScheme]] = {
    "subbagging": Subbagging,
    "bernoulli": BernoulliSubbagging,
    "classical": ClassicalBagging,
    "poissonized": PoissonizedBagging,
}
_WRITTEN = re.compile(r"\d{1,40}(/0*[1-9]\d{0,39}|\.\d{1,40})?")  # a number or a fraction
Scheme: TypeAlias = ResamplingScheme | ResolvedScheme | str  # what parameters called scheme accept


def scheme_from_words(name: Any, size: Any) -> ResamplingScheme:
    """Return the scheme that a saved certificate names by class and bag size.

    >>> scheme_from_words("Subbagging", "1/3")
    Subbagging(bag_size=Fraction(1, 3))
    """
    classes = {known.__name__: known for known in SCHEMES.values()}
    if not isinstance(name, str) or name not in classes:
        raise ValueError(f"The scheme {shown(name)} is not one of {sorted(classes)}. Pass it as the second argument.")
    if isinstance(size, str):
        if not _WRITTEN.fullmatch(size):  # for example 1e999999999, which would take all memory
            raise refuse_value("bag_size", name, "a decimal number or a fraction such as 1/3", size)
        size = Fraction(size)
    return classes[name](size)


def as_scheme(scheme: Any, owner: str) -> ResamplingScheme | ResolvedScheme:
    """Return the scheme, or the one with this name and its default bag size.

    >>> as_scheme("subbagging", "fit"), as_scheme(ClassicalBagging(100), "fit")
    (Subbagging(bag_size=0.5), ClassicalBagging(bag_size=100))
    """
    expected = f"a resampling scheme, such as Subbagging(bag_size=0.5), or one of {', '.join(map(repr, SCHEMES))}"
    if isinstance(scheme, str):
        if scheme not in SCHEMES:
            raise refuse_value("scheme", owner, expected, scheme)
        return SCHEMES[scheme]()  # type: ignore[call-arg]
    if not isinstance(scheme, ResamplingScheme | ResolvedScheme):
        is_class = isinstance(scheme, type) and issubclass(scheme, ResamplingScheme)
        reason = f"this is a class. Pass an instance: {scheme.__name__}(...)." if is_class else ""
        raise refuse_type("scheme", owner, expected, scheme, reason)
    return scheme


def as_law(scheme: Any, n_samples: int, owner: str) -> ResolvedScheme:
    """Return the law of a scheme on `n_samples` rows; a resolved scheme is returned unchanged."""
    known = as_scheme(scheme, owner)
    if isinstance(known, ResamplingScheme):
        return known.resolve(n_samples)
    if known.n_samples != n_samples:
        reason = "the scheme was resolved for another number of rows. Pass the unresolved scheme."
        raise refuse_value("n_samples", owner, f"{known.n_samples:,}, as in its scheme", n_samples, reason)
    return known


# ---------------------------------------------------------------------------------------------------------- random bags

_MOST = 2**40  # bags


@dataclass(frozen=True)
class RandomBags:
    """A random number of bags, and the law of the bags it was drawn for.

    Returned by `random_n_bags`. Pass it to a model: `BaggedRegressor(n_bags=...)`.

    Attributes
    ----------
    number : int
        The number of bags.
    law : ResolvedScheme
        The law of the bags it was drawn for.
    """

    number: int
    law: ResolvedScheme

    def __int__(self) -> int:
        return self.number

    __index__ = __int__


def random_n_bags(scheme: Scheme, n_samples: int, n_bags: int, random_state: RandomState = None) -> RandomBags:
    """Draw a random number of bags, for which the jackknife+ over bags has its exact guarantee.

    If bags were drawn from the training rows together with a test row, the number of bags without the test row would be
    random: Binomial(B', 1 - p), where p is the probability that one of n + 1 rows is in a bag. The guarantee of Kim, Xu
    and Barber (2020) is exact for such a random number, but not for a fixed one. This works for every scheme whose law
    on n + 1 rows is known.

    Parameters
    ----------
    scheme : ResamplingScheme
        The scheme that draws the bags.
    n_samples : int
        The number of training rows.
    n_bags : int
        The expected number of bags.
    random_state : None, int, RandomState or Generator, default=None
        The source of randomness. It should be independent of the model's, so do not use the same seed.

    Returns
    -------
    RandomBags
        The number of bags, for `BaggedRegressor(n_bags=...)`. The probability of zero bags vanishes as `n_bags` grows.

    Examples
    --------
    >>> from stablebag import Subbagging, random_n_bags
    >>> random_n_bags(Subbagging(0.5), n_samples=100, n_bags=500, random_state=0).number
    526
    """
    owner = "random_n_bags"
    n_samples = check_samples(n_samples, owner)
    n_bags = check_integer(n_bags, "n_bags", owner, minimum=1)
    if n_bags > _MOST:
        raise refuse_value("n_bags", owner, f"at most {_MOST:,}", n_bags, "use a few thousand.")
    law = as_law(scheme, n_samples, owner)
    kept = 1 - probability_with_one_more(law)
    (generator,) = Seeds.from_random_state(random_state, owner).bag_generators(0, 1)
    return RandomBags(int(generator.binomial(round(n_bags / kept), kept)), law)


def probability_with_one_more(law: ResolvedScheme) -> float:
    """Return p for the law on n + 1 rows whose law without one row is `law`."""
    if not law.is_symmetric:
        raise TypeError(
            f"A random number of bags needs bags that treat all rows alike, but {law} does not. Use a fixed number of "
            "bags; intervals then have no guarantee."
        )
    larger = law.scheme.resolve(law.n_samples + 1)
    if larger.without_one() != law:
        raise TypeError(
            f"A random number of bags needs a law on {law.n_samples + 1} rows whose law without one row is {law}, and "
            "this is unknown. Use a fixed number of bags; the guarantee is then approximate."
        )
    return larger.inclusion_probability
