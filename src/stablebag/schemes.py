"""The resampling distributions Q_n: subbagging, Bernoulli subbagging, classical and Poissonized bagging, or one's own.

A scheme is a rule for every number of rows. `resolve` fixes that number and gives the law Q_n itself: it knows its
inclusion probability p and negative covariance q, draws bags, lists its support, and names Q_{n-1}.
"""

import copy
import itertools
import math
import numbers
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.random import Generator

from stablebag.arguments import as_share, check_integer, check_real, check_samples, refuse_type, refuse_value
from stablebag.assumptions import (
    MOST_CHECKED,
    MOST_LISTED,
    Probability,
    WeightedBag,
    check_inclusion,
    check_own_scheme,
)
from stablebag.bags import Bags
from stablebag.seeds import RandomState, Seeds

_MOST_DRAWN = 2e8  # draws times rows, to work out how many rows a bag of classical bagging has
_MOST_TRIES = 10_000  # to draw a bag without a given row
_LARGEST_BAG = 1e15  # whole numbers up to here are exact as floats


class ResamplingScheme(ABC):
    """A symmetric way to draw bags of training rows.

    A scheme of your own defines `draw_bag` and either `inclusion_probability` and `negative_covariance`, or
    `enumerate_bags`, from which both follow. It must treat all rows alike (Assumption 5 of the paper), and put each row
    into some bags and leave it out of others (0 < p < 1); `resolve` refuses a scheme that says otherwise of itself, or
    that draws other bags than it says. A scheme that makes two rows likelier together than apart (q < 0) is outside
    of the paper's Assumption 7; its guarantees are weaker, and hold all the same (docs/proofs.md, 1).

    `resolve` keeps a copy of the scheme: changing it afterwards changes no law that was made of it.

    Examples
    --------
    A scheme that draws one row or all but one, each half of the time, makes a row's presence more likely with that of
    another.

    >>> import itertools
    >>> from fractions import Fraction
    >>> from stablebag import ResamplingScheme
    >>> class OneOrMost(ResamplingScheme):
    ...     def draw_bag(self, n_samples, generator):
    ...         size = generator.choice([1, n_samples - 1])
    ...         return generator.choice(n_samples, size, replace=False)
    ...     def enumerate_bags(self, n_samples):
    ...         for size in (1, n_samples - 1):
    ...             for bag in itertools.combinations(range(n_samples), size):
    ...                 yield bag, Fraction(1, 2 * n_samples)
    >>> law = OneOrMost().resolve(n_samples=6)
    >>> law.inclusion_probability, round(law.negative_covariance, 6)
    (0.5, -0.083333)
    """

    has_finite_support: ClassVar[bool] = True

    @abstractmethod
    def draw_bag(self, n_samples: int, generator: Generator) -> np.ndarray:
        """Draw one bag: row numbers in [0, n_samples), in order and with repeats."""

    def inclusion_probability(self, n_samples: int) -> Probability:
        """Return p, the chance that a given row is in a bag."""
        return _moments(self, n_samples)[0]

    def negative_covariance(self, n_samples: int) -> Probability:
        """Return q, minus the covariance of two rows' being in a bag."""
        return _moments(self, n_samples)[1]

    def enumerate_bags(self, n_samples: int) -> Iterable[WeightedBag] | None:
        """Yield every bag up to order with its probability, or return None where that is not known."""
        return None

    def count_bags(self, n_samples: int) -> int | float:
        """Return how many bags there are up to order."""
        return sum(1 for _ in _listed(self, n_samples))

    def count_law(self, n_samples: int, n_rows: int) -> np.ndarray | None:
        """Return the probabilities that 0, 1, ..., `n_rows` of so many given rows are in a bag; None if unknown."""
        if self.enumerate_bags(n_samples) is None or self.count_bags(n_samples) > MOST_CHECKED:
            return None
        law = np.zeros(n_rows + 1)
        for bag, probability in _listed(self, n_samples):
            law[sum(row < n_rows for row in set(bag))] += float(probability)
        return law

    def empty_probability(self, n_samples: int) -> float:
        """Return the chance that a bag has no rows, or a bound on it where it is not known."""
        law = self.count_law(n_samples, n_samples)
        return float(1 - self.inclusion_probability(n_samples)) if law is None else float(law[0])

    def without_one(self, n_samples: int) -> "ResamplingScheme":
        """Return the scheme which, on n_samples - 1 rows, draws from Q_n given that the last row is out."""
        return _GivenLastRowOut(self, n_samples)

    def expected_size(self, n_samples: int) -> int | float:
        """Return the expected number of rows in a bag, repeats counted."""
        return float(sum(len(bag) * weight for bag, weight in _listed(self, n_samples)))

    def describe(self, n_samples: int) -> str:
        """Say in a few words what is drawn from how many rows."""
        return f"{type(self).__name__} on {n_samples:,} rows"

    def fix(self, n_samples: int) -> "ResamplingScheme":
        """Return the same scheme with everything that depends on the number of rows worked out."""
        return self

    def resolve(self, n_samples: int) -> "ResolvedScheme":
        """Fix the number of training rows.

        Parameters
        ----------
        n_samples : int
            How many training rows there are, 2 at least.

        Returns
        -------
        ResolvedScheme
            The law Q_n of the bags.
        """
        n_samples = check_samples(n_samples, f"{type(self).__name__}.resolve")
        for name in ("draw_bag", "inclusion_probability", "negative_covariance", "enumerate_bags"):
            if not callable(getattr(self, name)):
                raise refuse_type(name, type(self).__name__, "a method of n_samples", getattr(self, name))
        law = ResolvedScheme(self.fix(n_samples), n_samples)
        who = f"{type(self).__name__} at n_samples={n_samples}"
        if law.is_of_the_paper:
            check_inclusion(who, law.inclusion_probability)
        else:
            law = ResolvedScheme(copy.deepcopy(law.scheme), n_samples)
            check_own_scheme(law, who)
        return law

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash(type(self))

    def __call__(self, n_samples: int) -> "ResolvedScheme":
        """Fix the number of training rows: a scheme is a function from n to Q_n."""
        return self.resolve(n_samples)

    def _known_bags(self, n_samples: int) -> Iterable[WeightedBag]:
        bags = self.enumerate_bags(n_samples)
        if bags is None:
            raise TypeError(
                f"The bags of {type(self).__name__} cannot be listed, because it does not define enumerate_bags. For "
                "certificates it is enough to define inclusion_probability and negative_covariance."
            )
        return bags


@dataclass(frozen=True)
class ResolvedScheme:
    """The law Q_n of the bags of `n_samples` rows; made by `ResamplingScheme.resolve`.

    Examples
    --------
    >>> law = Subbagging(bag_size=0.5).resolve(n_samples=4)
    >>> law.bag_size, law.inclusion_probability, law.support_size
    (2, 0.5, 6)
    >>> [(bag.tolist(), str(probability)) for bag, probability in law.support()][:2]
    [([0, 1], '1/6'), ([0, 2], '1/6')]
    >>> law.draw(3, random_state=0) == law.draw(5, random_state=0)[:3]
    True
    """

    scheme: ResamplingScheme
    n_samples: int

    @property
    def is_of_the_paper(self) -> bool:
        """Whether the scheme is exactly one of the paper's four, of which everything is proved and nothing changes."""
        return "_of_the_paper" in vars(type(self.scheme))  # and not in those of a class that it inherits from

    @property
    def bag_size(self) -> int | float:
        """The number of rows in a bag (m); its expectation where it is random."""
        return self.scheme.expected_size(self.n_samples)

    @cached_property
    def inclusion_probability(self) -> float:
        """The chance p that a given row is in a bag."""
        return float(self._moment("inclusion_probability"))

    @cached_property
    def negative_covariance(self) -> float:
        """The number q: minus the covariance of "row i is in the bag" and "row j is in the bag"."""
        return float(self._moment("negative_covariance"))

    @cached_property
    def moments(self) -> tuple[Probability, Probability]:
        """The numbers p and q, exact where they are rational; what rounding has left below zero of q is zero."""
        return self._moment("inclusion_probability"), self._moment("negative_covariance")

    def _moment(self, name: str) -> Probability:
        value: Any = getattr(self.scheme, name)(self.n_samples)
        if not isinstance(value, numbers.Real) or math.isnan(value):
            raise TypeError(f"The {name} of {type(self.scheme).__name__} must be a number. Got {value!r}.")
        number: Probability = value  # type: ignore[assignment]
        return 0.0 if -1e-15 <= number < 0 else number

    def count_law(self, n_rows: int) -> np.ndarray | None:
        """Return the law of how many of `n_rows` given rows are in a bag.

        Parameters
        ----------
        n_rows : int
            How many rows are watched, at most `n_samples`. As all rows are alike, it does not matter which.

        Returns
        -------
        ndarray of shape (n_rows + 1,) or None
            The probabilities of 0, 1, ..., n_rows. None where they are not known, or where working them out would
            take too long.
        """
        n_rows = check_integer(n_rows, "n_rows", "count_law", minimum=0)
        if n_rows > self.n_samples:
            raise refuse_value("n_rows", "count_law", f"at most n_samples={self.n_samples}", n_rows)
        return self.scheme.count_law(self.n_samples, n_rows)

    @cached_property
    def empty_probability(self) -> float:
        """The chance that a bag has no rows, or a bound on it where it is not known."""
        return self.scheme.empty_probability(self.n_samples)

    @property
    def empty_without_a_row(self) -> float:
        """The chance that a bag has no rows given that a row is not in it, or a bound on it."""
        return min(1.0, self.empty_probability / (1 - self.inclusion_probability))

    @property
    def support_size(self) -> int | float:
        """The number of bags up to order; ``math.inf`` for Poissonized bagging."""
        return self.scheme.count_bags(self.n_samples)

    def count_support(self, *, ordered: bool = False, limit: float = math.inf) -> int | float:
        """Count the bags up to order, or in every order; stop counting the latter beyond `limit`.

        Parameters
        ----------
        ordered : bool, default=False
            Whether two orders of the same rows are two bags.
        limit : float, default=inf
            Beyond this number, a larger one is returned that need not be exact.

        Returns
        -------
        int or math.inf
        """
        size = self.support_size
        if not ordered or size > limit:
            return size
        total = 0
        for bag, _ in self.scheme._known_bags(self.n_samples):
            total += _orders(tuple(bag))
            if total > limit:
                break
        return total

    def support(self, mass: float = 1.0, *, ordered: bool = False) -> Iterator[tuple[np.ndarray, Probability]]:
        """List the bags up to order with their probabilities, exact fractions where the law is rational.

        Parameters
        ----------
        mass : float, default=1.0
            Stop once this much probability is listed. Poissonized bagging has infinitely many bags and needs
            a mass below 1.
        ordered : bool, default=False
            Whether to list a bag in each of its orders, which are equally likely, for learners that depend on it.

        Yields
        ------
        bag : ndarray of int
            The rows of the bag, with repeats; in increasing order, unless `ordered`.
        probability : Fraction or float
            The chance of drawing this bag: in any order, or in this one.
        """
        mass = check_real(mass, "mass", "support", high=1.0)
        if not self.scheme.has_finite_support and mass > 1 - 1e-9:
            reason = "its bags are infinitely many. Use a smaller mass, such as 0.999999."
            raise refuse_value("mass", f"support of {type(self.scheme).__name__}", "at most 1 - 1e-9", mass, reason)
        return self._walk_support(mass, ordered)

    def _walk_support(self, mass: float, ordered: bool) -> Iterator[tuple[np.ndarray, Probability]]:
        listed: Probability = Fraction(0)
        for bag, probability in self.scheme._known_bags(self.n_samples):
            if ordered:
                each = probability / _orders(tuple(bag))
                for order in _orderings(Counter(bag)):
                    yield np.array(order, dtype=np.intp), each
            else:
                yield np.array(bag, dtype=np.intp), probability
            listed += probability
            if mass < 1.0 and listed >= mass:
                return

    def draw(self, n_bags: int, random_state: RandomState = None, *, first: int = 0) -> Bags:
        """Draw bags; bag b depends on (random_state, b) alone.

        Parameters
        ----------
        n_bags : int
            How many bags to draw.
        random_state : None, int, RandomState or Generator, default=None
            The source of randomness; an integer makes the bags reproducible.
        first : int, default=0
            The number of the first bag drawn: ``draw(100, 0, first=100)`` is ``draw(200, 0)[100:]``.

        Returns
        -------
        Bags
        """
        owner = f"{type(self.scheme).__name__}.draw"
        n_bags = check_integer(n_bags, "n_bags", owner, minimum=1, reason="an average needs at least one bag.")
        first = check_integer(first, "first", owner, minimum=0)
        generators = Seeds.from_random_state(random_state, owner).bag_generators(first, first + n_bags)
        return Bags((self.scheme.draw_bag(self.n_samples, generator) for generator in generators), self.n_samples)

    def without_one(self) -> "ResolvedScheme":
        """Return Q_{n-1}: the law of a bag given that the last row is not in it, on n_samples - 1 rows."""
        if self.n_samples < 2 or self.inclusion_probability >= 1:
            why = "it is the only one" if self.n_samples < 2 else "it is in every bag"
            raise ValueError(f"There is no law without one row of {self}: {why}. Use more rows or smaller bags.")
        return ResolvedScheme(self.scheme.without_one(self.n_samples), self.n_samples - 1)

    def __str__(self) -> str:
        return self.scheme.describe(self.n_samples)


@dataclass(frozen=True)
class _SizedScheme(ResamplingScheme):
    """What the four schemes of the paper share: a bag size, given as a number of rows or as a fraction of them."""

    bag_size: int | float | Fraction
    _repeats: ClassVar[bool] = False  # whether a row can be in a bag more than once

    def __post_init__(self) -> None:
        size, name = self.bag_size, type(self).__name__
        expected = "a positive number of rows (int) or fraction of the rows (float)"
        if not isinstance(size, numbers.Real) or isinstance(size, bool):
            raise refuse_type("bag_size", name, expected, size)
        if not 0 < size < _LARGEST_BAG:  # NaN, too, ends here
            raise refuse_value("bag_size", name, expected, size, "a bag needs rows to learn from. Try 0.5.")
        if size > 1 and not self._repeats and not isinstance(size, numbers.Integral):
            reason = f"a float is a fraction of the rows. For a number of rows write {math.floor(size)}."
            raise refuse_value("bag_size", name, "a fraction below 1, or an int", size, reason)

    def _share(self, n_samples: int) -> Fraction:
        """m / n, exactly."""
        if isinstance(self.bag_size, numbers.Integral):
            return Fraction(int(self.bag_size), n_samples)
        return self.bag_size if isinstance(self.bag_size, Fraction) else as_share(self.bag_size, n_samples)

    def _whole_size(self, n_samples: int) -> int:
        """m as a whole number of rows, one at the least."""
        if isinstance(self.bag_size, int):
            return self.bag_size
        return max(1, math.floor(self._share(n_samples) * n_samples))

    def _refuse_whole_bags(self, n_samples: int, largest: str) -> None:
        """Refuse a bag of all rows, or of more, in the schemes that draw without replacement."""
        if self._share(n_samples) >= 1:
            whole = self._share(n_samples) == 1
            size = "every bag would be the whole data set (p = 1)" if whole else "there are not so many rows"
            reason = f"{size}, and no stability can be promised. Use at most {largest}, or ClassicalBagging."
            expected = f"smaller than n_samples={n_samples}, and smaller than 1 as a fraction"
            raise refuse_value("bag_size", type(self).__name__, expected, self.bag_size, reason)


@dataclass(frozen=True)
class Subbagging(_SizedScheme):
    """Bags of m distinct rows, drawn without replacement.

    Parameters
    ----------
    bag_size : int or float, default=0.5
        The number of rows m, or the fraction of the rows, rounded down to whole rows, one at the least. It must leave
        at least one row out.

    Examples
    --------
    >>> law = Subbagging(bag_size=250).resolve(n_samples=500)
    >>> law.inclusion_probability, round(law.negative_covariance, 9)
    (0.5, 0.000501002)
    >>> law.without_one().bag_size  # the rows left in a bag do not change with the data set
    250
    """

    bag_size: int | float | Fraction = 0.5
    _of_the_paper: ClassVar[bool] = True

    def fix(self, n_samples: int) -> Self:
        self._refuse_whole_bags(n_samples, largest=f"{n_samples - 1}")
        return replace(self, bag_size=self._whole_size(n_samples))

    def draw_bag(self, n_samples: int, generator: Generator) -> np.ndarray:
        return _draw_distinct(self._whole_size(n_samples), n_samples, generator)

    def inclusion_probability(self, n_samples: int) -> Fraction:
        return Fraction(self._whole_size(n_samples), n_samples)

    def negative_covariance(self, n_samples: int) -> Fraction:
        m = self._whole_size(n_samples)
        return Fraction(m * (n_samples - m), n_samples**2 * max(1, n_samples - 1))

    def enumerate_bags(self, n_samples: int) -> Iterator[WeightedBag]:
        probability = Fraction(1, self.count_bags(n_samples))
        for bag in itertools.combinations(range(n_samples), self._whole_size(n_samples)):
            yield bag, probability

    def count_bags(self, n_samples: int) -> int:
        return math.comb(n_samples, self._whole_size(n_samples))

    def count_law(self, n_samples: int, n_rows: int) -> np.ndarray:
        # Hypergeometric: m draws from n rows of which `n_rows` are watched.
        m = self._whole_size(n_samples)
        fewest, most = max(0, m - (n_samples - n_rows)), min(m, n_rows)
        law, k = np.zeros(n_rows + 1), np.arange(fewest, most, dtype=float)
        log_ratios = np.log((n_rows - k) * (m - k) / ((k + 1) * (n_samples - n_rows - m + k + 1)))
        law[fewest : most + 1] = _log_concave_law(log_ratios)
        return law

    def empty_probability(self, n_samples: int) -> float:
        return 0.0

    def without_one(self, n_samples: int) -> Self:
        return replace(self, bag_size=self._whole_size(n_samples))

    def expected_size(self, n_samples: int) -> int:
        return self._whole_size(n_samples)

    def describe(self, n_samples: int) -> str:
        return f"subbagging, {self._whole_size(n_samples):,} of {n_samples:,} rows"


@dataclass(frozen=True)
class BernoulliSubbagging(_SizedScheme):
    """Bags in which each row is, independently, with probability m/n; their size is random and may be zero.

    Parameters
    ----------
    bag_size : int or float, default=0.5
        The expected number of rows m, or the probability m/n itself. It must be below all rows.

    Examples
    --------
    >>> law = BernoulliSubbagging(bag_size=100).resolve(n_samples=400)
    >>> law.inclusion_probability, law.negative_covariance
    (0.25, 0.0)
    >>> law.without_one().bag_size  # the probability stays, so the expected size falls
    99.75
    """

    bag_size: int | float | Fraction = 0.5
    _of_the_paper: ClassVar[bool] = True

    def fix(self, n_samples: int) -> Self:
        self._refuse_whole_bags(n_samples, largest=f"{n_samples - 1}, or a fraction below 1")
        return replace(self, bag_size=self._share(n_samples))

    def draw_bag(self, n_samples: int, generator: Generator) -> np.ndarray:
        size = int(generator.binomial(n_samples, float(self._share(n_samples))))
        return _draw_distinct(size, n_samples, generator)

    def inclusion_probability(self, n_samples: int) -> Fraction:
        return self._share(n_samples)

    def negative_covariance(self, n_samples: int) -> Fraction:
        return Fraction(0)

    def enumerate_bags(self, n_samples: int) -> Iterator[WeightedBag]:
        p = self._share(n_samples)
        for size in range(n_samples + 1):
            probability = p**size * (1 - p) ** (n_samples - size)
            for bag in itertools.combinations(range(n_samples), size):
                yield bag, probability

    def count_bags(self, n_samples: int) -> int:
        return 1 << n_samples

    def count_law(self, n_samples: int, n_rows: int) -> np.ndarray:
        p = self._share(n_samples)
        return _binomial_law(n_rows, float(p), float(1 - p))

    def empty_probability(self, n_samples: int) -> float:
        return math.exp(n_samples * math.log1p(-float(self._share(n_samples))))

    def without_one(self, n_samples: int) -> Self:
        return replace(self, bag_size=self._share(n_samples))

    def expected_size(self, n_samples: int) -> float:
        return float(self._share(n_samples) * n_samples)

    def describe(self, n_samples: int) -> str:
        share = float(self._share(n_samples))
        return f"Bernoulli subbagging, each of {n_samples:,} rows with probability {share:.4g}"


@dataclass(frozen=True)
class ClassicalBagging(_SizedScheme):
    """Bags of m rows drawn with replacement: the bootstrap where m = n.

    Parameters
    ----------
    bag_size : int or float, default=1.0
        The number of draws m, or their ratio to the number of rows, rounded down to whole draws, one at the least. It
        may exceed the number of rows; the law on n - 1 rows always does where m = n.

    Examples
    --------
    >>> law = ClassicalBagging(bag_size=1.0).resolve(n_samples=500)
    >>> round(law.inclusion_probability, 9), round(law.negative_covariance, 9)
    (0.632488745, 0.000270941)
    """

    bag_size: int | float | Fraction = 1.0
    _of_the_paper: ClassVar[bool] = True
    _repeats: ClassVar[bool] = True

    def fix(self, n_samples: int) -> Self:
        return replace(self, bag_size=self._whole_size(n_samples))

    def draw_bag(self, n_samples: int, generator: Generator) -> np.ndarray:
        return generator.integers(n_samples, size=self._whole_size(n_samples))

    def inclusion_probability(self, n_samples: int) -> float:
        if n_samples == 1:
            return 1.0
        return -math.expm1(self._whole_size(n_samples) * math.log1p(-1 / n_samples))

    def negative_covariance(self, n_samples: int) -> float:
        # (1 - 1/n)^2m - (1 - 2/n)^m, written so that two nearly equal powers are not subtracted.
        m = self._whole_size(n_samples)
        if n_samples <= 2:
            return math.exp(-m * math.log(4)) if n_samples == 2 else 0.0
        log_ratio = m * math.log1p(1 / (n_samples * (n_samples - 2)))
        return -math.exp(2 * m * math.log1p(-1 / n_samples)) * math.expm1(-log_ratio)

    def enumerate_bags(self, n_samples: int) -> Iterator[WeightedBag]:
        m = self._whole_size(n_samples)
        for bag in itertools.combinations_with_replacement(range(n_samples), m):
            yield bag, Fraction(_orders(bag), n_samples**m)

    def count_bags(self, n_samples: int) -> int:
        m = self._whole_size(n_samples)
        return math.comb(n_samples + m - 1, m)

    def count_law(self, n_samples: int, n_rows: int) -> np.ndarray | None:
        # Draw by draw: a draw hits one of the watched rows that are not yet in the bag, or changes nothing. All terms
        # are positive, so nothing cancels.
        m = self._whole_size(n_samples)
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

    def empty_probability(self, n_samples: int) -> float:
        return 0.0

    def without_one(self, n_samples: int) -> Self:
        return replace(self, bag_size=self._whole_size(n_samples))

    def expected_size(self, n_samples: int) -> int:
        return self._whole_size(n_samples)

    def describe(self, n_samples: int) -> str:
        return f"classical bagging, {self._whole_size(n_samples):,} draws from {n_samples:,} rows"


@dataclass(frozen=True)
class PoissonizedBagging(_SizedScheme):
    """Bags in which each row is, independently, Poisson(m/n) times; their size is random and may be zero.

    Parameters
    ----------
    bag_size : int or float, default=1.0
        The expected number of draws m, or the rate m/n itself. It may exceed the number of rows.

    Examples
    --------
    >>> law = PoissonizedBagging(bag_size=1.0).resolve(n_samples=500)
    >>> round(law.inclusion_probability, 9), law.negative_covariance, law.support_size
    (0.632120559, 0.0, inf)
    """

    bag_size: int | float | Fraction = 1.0
    _of_the_paper: ClassVar[bool] = True
    _repeats: ClassVar[bool] = True
    has_finite_support: ClassVar[bool] = False

    def fix(self, n_samples: int) -> Self:
        return replace(self, bag_size=self._share(n_samples))

    def draw_bag(self, n_samples: int, generator: Generator) -> np.ndarray:
        return generator.integers(n_samples, size=int(generator.poisson(self.expected_size(n_samples))))

    def inclusion_probability(self, n_samples: int) -> float:
        return -math.expm1(-float(self._share(n_samples)))

    def negative_covariance(self, n_samples: int) -> Fraction:
        return Fraction(0)

    def enumerate_bags(self, n_samples: int) -> Iterator[WeightedBag]:
        m = self.expected_size(n_samples)
        for size in itertools.count():
            of_size = math.exp(size * math.log(m) - m - math.lgamma(size + 1))
            for bag in itertools.combinations_with_replacement(range(n_samples), size):
                yield bag, of_size * _orders(bag) / n_samples**size

    def count_bags(self, n_samples: int) -> float:
        return math.inf

    def count_law(self, n_samples: int, n_rows: int) -> np.ndarray:
        rate = float(self._share(n_samples))
        return _binomial_law(n_rows, -math.expm1(-rate), math.exp(-rate))

    def empty_probability(self, n_samples: int) -> float:
        return math.exp(-self.expected_size(n_samples))

    def without_one(self, n_samples: int) -> Self:
        return replace(self, bag_size=self._share(n_samples))

    def expected_size(self, n_samples: int) -> float:
        return float(self._share(n_samples) * n_samples)

    def describe(self, n_samples: int) -> str:
        return f"Poissonized bagging, {self.expected_size(n_samples):,.6g} draws expected from {n_samples:,} rows"


SCHEMES: dict[str, type[_SizedScheme]] = {
    "subbagging": Subbagging,
    "bernoulli": BernoulliSubbagging,
    "classical": ClassicalBagging,
    "poissonized": PoissonizedBagging,
}


@dataclass(frozen=True)
class _GivenLastRowOut(ResamplingScheme):
    """Q_{n-1} of a user's scheme: Q_n given that the last row is not in the bag."""

    scheme: ResamplingScheme
    n_before: int

    def draw_bag(self, n_samples: int, generator: Generator) -> np.ndarray:
        for _ in range(_MOST_TRIES):
            bag = np.asarray(self.scheme.draw_bag(self.n_before, generator))
            if not (bag == n_samples).any():
                return bag
        raise ValueError(
            f"{type(self.scheme).__name__}.draw_bag put the last row into {_MOST_TRIES:,} bags in a row, although its "
            f"inclusion_probability is {float(self.scheme.inclusion_probability(self.n_before)):g}. Make them agree."
        )

    def inclusion_probability(self, n_samples: int) -> Probability:
        # P(i in, n out) / P(n out), and P(i in, n in) = p^2 - q.
        p = self.scheme.inclusion_probability(self.n_before)
        return p + self.scheme.negative_covariance(self.n_before) / (1 - p)

    def negative_covariance(self, n_samples: int) -> Probability:
        if self.scheme.enumerate_bags(self.n_before) is None:
            raise TypeError(
                f"The negative covariance of {type(self.scheme).__name__} without one row is not known, because it "
                "does not define enumerate_bags. Define that, or without_one."
            )
        return super().negative_covariance(n_samples)

    def enumerate_bags(self, n_samples: int) -> Iterable[WeightedBag] | None:
        bags = self.scheme.enumerate_bags(self.n_before)
        if bags is None:
            return None
        kept = 1 - self.scheme.inclusion_probability(self.n_before)
        return ((bag, probability / kept) for bag, probability in bags if n_samples not in bag)


def _draw_distinct(size: int, n_samples: int, generator: Generator) -> np.ndarray:
    """Draw a uniform sequence of distinct rows."""
    # A full permutation is twice as fast as `choice` except for small bags, which `choice` draws in O(size).
    if size * 50 > n_samples:
        return generator.permutation(n_samples)[:size].copy()  # a view would keep all of it alive
    return generator.choice(n_samples, size, replace=False)


def _binomial_law(n: int, p: float, not_p: float) -> np.ndarray:
    k = np.arange(n, dtype=float)
    return _log_concave_law(np.log((n - k) / (k + 1)) + math.log(p) - math.log(not_p))


def _log_concave_law(log_ratios: np.ndarray) -> np.ndarray:
    """Return the probabilities whose neighbours have these ratios, by their falling logs: summed from the mode out."""
    mode = int((log_ratios > 0).sum())
    below, above = -np.cumsum(log_ratios[:mode][::-1])[::-1], np.cumsum(log_ratios[mode:])
    weights = np.exp(np.concatenate([below, [0.0], above]))
    return np.asarray(weights / weights.sum())


def _orders(bag: tuple[int, ...]) -> int:
    """Count the sequences that are this bag up to order."""
    return math.factorial(len(bag)) // math.prod(math.factorial(k) for k in Counter(bag).values())


def _orderings(counts: "Counter[int]") -> Iterator[tuple[int, ...]]:
    """List the sequences with these rows, each as often as it is counted."""
    if not counts:
        yield ()
    for row in sorted(counts):
        for rest in _orderings(counts - Counter([row])):
            yield row, *rest


def _listed(scheme: ResamplingScheme, n_samples: int) -> Iterator[WeightedBag]:
    """Go through the bags of a user's scheme, unless they are too many to be gone through."""
    for number, weighted in enumerate(scheme._known_bags(n_samples)):
        if number == MOST_LISTED:
            raise ValueError(
                f"{type(scheme).__name__} at n_samples={n_samples} lists more than {MOST_LISTED:,} bags. Define "
                "inclusion_probability, negative_covariance and count_bags beside enumerate_bags."
            )
        yield weighted


def _moments(scheme: ResamplingScheme, n_samples: int) -> tuple[Probability, Probability]:
    """Work out p and q from the listed bags, looking at the first two rows."""
    first: Probability = Fraction(0)
    second, both = first, first
    for bag, probability in _listed(scheme, n_samples):
        first += probability * (0 in bag)
        second += probability * (1 in bag)
        both += probability * (0 in bag and 1 in bag)
    return first, first * second - both


def as_law(scheme: Any, n_samples: int, owner: str) -> ResolvedScheme:
    """Return the law of a scheme, or of one that is resolved already, on `n_samples` rows."""
    if isinstance(scheme, ResolvedScheme):
        if scheme.n_samples != n_samples:
            reason = f"the scheme was resolved for n_samples={scheme.n_samples}. Resolve it again."
            raise refuse_value("n_samples", owner, "the number of rows of its scheme", n_samples, reason)
        return scheme
    if not isinstance(scheme, ResamplingScheme):
        expected = "a resampling scheme, such as Subbagging(bag_size=0.5)"
        raise refuse_type("scheme", owner, expected, scheme)
    return scheme.resolve(n_samples)
