"""Schemes, and their laws for n rows: p, q, exact support, drawing, and the law without a row."""

import copy
import math
import numbers
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.random import Generator
from scipy.stats import hypergeom

from stablebag._checks import (
    as_positions,
    as_share,
    check_flag,
    check_integer,
    check_real,
    check_samples,
    read_only,
    refuse_type,
    refuse_value,
)
from stablebag._seeds import RandomState, Seeds
from stablebag.resampling.bags import Bags, Probability, WeightedBag
from stablebag.resampling.components import Components, of_any_law
from stablebag.resampling.covariance import symmetric_norm
from stablebag.resampling.drawing import Arrivals, Picked, RowKeys, batches
from stablebag.resampling.law_checks import (
    MOST_CHECKED,
    MOST_LISTED,
    check_counts,
    check_inclusion,
    check_own_scheme,
)
from stablebag.resampling.units import LARGEST_NAME, RowIds, as_row_ids

# ------------------------------------------------------------------------------------------------------------- counting


def binomial_law(n: int, p: float, not_p: float) -> np.ndarray:
    """Return the probabilities of 0, ..., n successes."""
    k = np.arange(n, dtype=float)
    return log_concave_law(np.log((n - k) / (k + 1)) + math.log(p) - math.log(not_p))


def log_concave_law(log_ratios: np.ndarray) -> np.ndarray:
    """Return the probabilities whose successive ratios have these decreasing logs, summed outwards from the mode."""
    mode = int((log_ratios > 0).sum())
    below, above = -np.cumsum(log_ratios[:mode][::-1])[::-1], np.cumsum(log_ratios[mode:])
    weights = np.exp(np.concatenate([below, [0.0], above]))
    return np.asarray(weights / weights.sum())


def thinned(law: np.ndarray, n_rows: int) -> np.ndarray:
    """Return the law of the number of `n_rows` given rows in a bag, from the law of the number of all rows in it.

    All rows are treated alike, so the number of given rows among the s of n rows in a bag is hypergeometric.

    >>> thinned(np.array([0.0, 0.0, 1.0, 0.0]), 1)  # a bag has two of three rows; is a given row in it?
    array([0.33333333, 0.66666667])
    """
    n = len(law) - 1
    inside, watched = np.arange(n + 1)[:, None], np.arange(n_rows + 1)[None, :]
    return np.asarray(law @ hypergeom.pmf(watched, n, inside, n_rows))


def orders(bag: tuple[int, ...]) -> int:
    """Count the distinct orderings of a bag."""
    return math.factorial(len(bag)) // math.prod(math.factorial(k) for k in Counter(bag).values())


def orderings(counts: "Counter[int]") -> Iterator[tuple[int, ...]]:
    """Yield the distinct orderings of a bag, given how often it contains each row."""
    if not counts:
        yield ()
    for row in sorted(counts):
        for rest in orderings(counts - Counter([row])):
            yield row, *rest


# --------------------------------------------------------------------------------------------------------------- scheme
# A scheme is a rule for any number of rows. `resolve` fixes this number and returns the law Q_n of the bags.

_MOST_DRAWN = 2**42  # largest total number of rows in the drawn bags
_MOST_TRIES = 10_000  # tries to draw a bag without a given row
_MOST_THINNED = 3_000  # up to this many rows, laws for fewer rows are computed from the law for all rows
_MOST_COUNTED = 1_000_000  # up to this many rows, count_law of a user's scheme is called for all rows
_NOT_THE_LAW = frozenset({"describe", "digest", "condition"})  # methods that a subclass may override freely


@dataclass(frozen=True)
class MatchedNoise:
    """Bounds on the difference between matched bags with and without a row, for some of the rows.

    Let y be the output of a bag, and y' the output of the same bag without one of these rows. The mean over these rows
    of E(y - y')^2 is at most `inclusion` times the squared distance of the two outputs farthest apart, and at most
    `per_variance` times the variance of y over bags.

    Attributes
    ----------
    share : float
        The share of these rows among all rows.
    inclusion : float
        The mean probability of these rows to be in a bag.
    per_variance : float, default=inf
        The bound in units of the variance; infinite if none is known.
    constant : float or None, default=None
        The smallest of these rows' `row_constants`, if rows are not all treated alike.
    """

    share: float
    inclusion: float
    per_variance: float = math.inf
    constant: float | None = None

    def mean_square(self, diameter: float) -> float:
        """Return the bound for outputs within 1/2 of some point and at most `diameter` apart."""
        return min(self.inclusion * diameter**2, self.per_variance / 4)


class ResamplingScheme:
    """Base class of schemes that treat all training rows alike.

    To define your own scheme, derive a class with `draw_bag` or `pick`, and either `inclusion_probability` and
    `negative_covariance`, or `enumerate_bags`, which determines both. It must treat all rows alike (Assumption 5
    of the paper), and each row must be in some bags but not in all (0 < p < 1). `resolve` raises an error if a scheme
    declares otherwise, or if its draws contradict what it declares. If the presence of one row makes another more
    likely (q < 0), the scheme violates the paper's Assumption 7; its guarantees are weaker, but they hold
    (docs/proofs.md, 1). For a scheme that does not treat all rows alike, derive from `UnequalScheme`.

    Optional methods make certificates sharper: `count_law`, `matched_noise`, `matched_components`, `raggedness` and
    `subset_size`. If you derive from a scheme that defines them and change how bags are drawn, they are ignored,
    because they are proved for the parent's law. Define them again if they hold for yours.

    `resolve` copies the scheme, so changing the scheme later does not change the law.

    Examples
    --------
    This scheme draws one row or all but one, each with probability 1/2, so the presence of one row makes another more
    likely.

    >>> import itertools
    >>> from fractions import Fraction
    >>> from stablebag.resampling import ResamplingScheme
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
    is_symmetric: ClassVar[bool] = True  # whether all rows are treated alike
    condition: ClassVar[str] = ""  # words for the data sets that certificates cover, if rows are not treated alike
    lacks_strata: bool = False  # whether it still needs the stratum of each row
    _of_any_law: ClassVar[bool] = True  # all methods defined in this class hold for any law

    def draw_bag(self, n_samples: int, generator: Generator) -> np.ndarray:
        """Draw one bag: row numbers in [0, n_samples), in order and with repeats."""
        if type(self).pick is ResamplingScheme.pick:
            raise TypeError(f"{type(self).__name__} must define draw_bag or pick.")
        arrivals = Arrivals(RowKeys(RowIds(None, n_samples)), Seeds.from_random_state(generator), 0, 1)
        return arrivals.in_order(self.pick(n_samples, arrivals))[0]

    def pick(self, n_samples: int, arrivals: Arrivals) -> Picked:
        """Choose the rows of some bags by their arrival times: *matched* bags, which change little without a row.

        Define this instead of `draw_bag`. Without a row, under the scheme that `without_one` returns, bags that did not
        contain the row must not change; `resolve` tests this. The order in which a learner gets the rows is not chosen
        here. Certificates for matched bags are sharper (``coupling="matched"``).

        Parameters
        ----------
        n_samples : int
            The number of rows.
        arrivals : Arrivals
            Call its methods `first_rows`, `rows_within`, `first_arrivals`, `arrivals_within` or `uniforms`.

        Returns
        -------
        Picked
        """
        raise NotImplementedError

    def inclusion_probability(self, n_samples: int) -> Probability:
        """Return p, the probability that a given row is in a bag."""
        return _moments(self, n_samples)[0]

    def negative_covariance(self, n_samples: int) -> Probability:
        """Return q, minus the covariance of "row i is in the bag" and "row j is in the bag"."""
        return _moments(self, n_samples)[1]

    def inclusion_probabilities(self, n_samples: int) -> np.ndarray:
        """Return the probability of each row to be in a bag."""
        return np.full(n_samples, float(self.inclusion_probability(n_samples)))

    def covariance_norm(self, n_samples: int) -> float:
        """Return the norm of Cov(i in bag, j in bag) / (n (1 - pi_i) (1 - pi_j)): the bagging constant c."""
        return symmetric_norm(n_samples, self.inclusion_probability(n_samples), self.negative_covariance(n_samples))

    def row_constants(self, n_samples: int) -> np.ndarray:
        """Return a constant for each row, at most `covariance_norm`, which is always valid (docs/proofs.md, 11)."""
        return np.full(n_samples, self.covariance_norm(n_samples))

    def enumerate_bags(self, n_samples: int) -> Iterable[WeightedBag] | None:
        """Yield each bag, up to order, with its probability; or return None if they are unknown."""
        return None

    def count_bags(self, n_samples: int) -> int | float:
        """Return the number of bags up to order."""
        return sum(1 for _ in _listed(self, n_samples))

    def count_law(self, n_samples: int, n_rows: int) -> np.ndarray | None:
        """Return the probabilities that 0, 1, ..., `n_rows` of `n_rows` given rows are in a bag; None if unknown.

        With up to 3,000 rows, this is only called with ``n_rows == n_samples`` for your own scheme; the other laws are
        computed from it.
        """
        if self.enumerate_bags(n_samples) is None or self.count_bags(n_samples) > MOST_CHECKED:
            return None
        law = np.zeros(n_rows + 1)
        for bag, probability in _listed(self, n_samples):
            law[sum(row < n_rows for row in set(bag))] += float(probability)
        return law

    def count_law_roundings(self, n_samples: int, n_rows: int) -> float:
        """Return the number of rounded products in a probability of `count_law`."""
        return n_samples

    def subset_size(self, n_samples: int) -> int | None:
        """Return m if all sets of m rows are equally likely bags; None otherwise."""
        return None

    def strata_of_rows(self, n_samples: int) -> np.ndarray | None:
        """Return the stratum of each row, if bags have a fixed number of rows of each stratum; None otherwise."""
        return None

    def matched_noise(self, n_samples: int) -> Sequence[MatchedNoise]:
        """Return bounds on the difference between matched bags with and without a row, for each kind of rows."""
        return [MatchedNoise(1.0, float(self.inclusion_probability(n_samples)))]

    def matched_components(self, n_samples: int, diameter: float) -> Components:
        """Return the components of the change when a row is left out of matched bags, for outputs of this diameter."""
        law = ResolvedScheme(self, n_samples)
        return of_any_law(law.constant, law.mean_inclusion * diameter**2)

    def weighted_components(self, n_samples: int) -> Components | None:
        """Return the components of the sum of squared changes, each divided by n times its row constant, if known."""
        return None

    def components_without(self, n_samples: int, n_rows: int, limit: float) -> Components | None:
        """Return the components for leaving out several rows, if they are sharper than avoidance probabilities."""
        return None

    def log_avoidance(self, n_samples: int, n_rows: int) -> float | None:
        """Return the logarithm of the probability that a bag has none of `n_rows` given rows; None if unknown."""
        counts = ResolvedScheme(self, n_samples).count_law(n_rows) if n_rows else np.ones(1)
        with np.errstate(divide="ignore"):
            return None if counts is None else float(np.log(counts[0]))

    def log_joint_avoidance(self, n_samples: int, n_rows: int, common: np.ndarray) -> np.ndarray | None:
        """Return the log of P(avoid two sets of rows with `common` rows in common) / P(avoid one)^2, accurately.

        None if the naive computation is accurate enough.
        """
        return None

    def constants_by_steps(self, n_samples: int, n_rows: int) -> np.ndarray | None:
        """Return the constants of the laws for n rows, n - 1 rows, and so on, as by `without_one`; None if unknown."""
        return None

    def raggedness(self, n_samples: int) -> float:
        """Return a bound, for every bag, on the mean over rows of 1(row is out) / P(row is out).

        It is 1 if all bags have the same number of distinct rows. `PointCertificate` uses it.
        """
        return 1 / (1 - float(self.inclusion_probability(n_samples)))

    def empty_probability(self, n_samples: int) -> float:
        """Return the probability that a bag is empty; by default from `count_law`, or else the bound 1 - p."""
        counts = self.count_law(n_samples, n_samples)
        return 1 - float(self.inclusion_probability(n_samples)) if counts is None else float(counts[0])

    def without_one(self, n_samples: int) -> "ResamplingScheme":
        """Return the scheme that, on n_samples - 1 rows, draws from Q_n given that the last row is not in the bag."""
        return _GivenLastRowOut(self, n_samples)

    def expected_size(self, n_samples: int) -> int | float:
        """Return the expected number of rows in a bag, counting repeats."""
        return float(sum(len(bag) * weight for bag, weight in _listed(self, n_samples)))

    def digest(self, n_samples: int) -> str:
        """Return a text that distinguishes this law from others with the same description."""
        law = ResolvedScheme(self, n_samples)
        return f"p = {law.inclusion_probability!r}, q = {law.negative_covariance!r}"

    def describe(self, n_samples: int, rows: str = "rows") -> str:
        """Return a short description of the bags and the number of rows, or groups."""
        return f"{type(self).__name__} on {n_samples:,} {rows}"

    def fix(self, n_samples: int) -> "ResamplingScheme":
        """Return the same scheme, with everything computed that depends on the number of rows."""
        return self

    def resolve(self, n_samples: int) -> "ResolvedScheme":
        """Fix the number of training rows.

        Parameters
        ----------
        n_samples : int
            The number of training rows, at least 2.

        Returns
        -------
        ResolvedScheme
            The law Q_n of the bags.
        """
        n_samples = check_samples(n_samples, f"{type(self).__name__}.resolve")
        for name in ("draw_bag", "pick", "inclusion_probability", "negative_covariance", "enumerate_bags"):
            if not callable(getattr(self, name)):
                raise refuse_type(name, type(self).__name__, "a method of n_samples", getattr(self, name))
        law = ResolvedScheme(self.fix(n_samples), n_samples)
        who = f"{type(self).__name__} at n_samples={n_samples}"
        if law.is_in_closed_form:
            check_inclusion(who, law.inclusion_probability)
        else:
            law = ResolvedScheme(copy.deepcopy(law.scheme), n_samples)
            check_own_scheme(law, who)
        return law

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return False
        mine, theirs = vars(self), vars(other)
        # Values may be arrays, whose comparison is not a single bool.
        return mine.keys() == theirs.keys() and all(np.array_equal(mine[name], theirs[name]) for name in mine)

    def __hash__(self) -> int:
        return hash(type(self))

    def __call__(self, n_samples: int) -> "ResolvedScheme":
        """Fix the number of training rows: a scheme is a function from n to Q_n."""
        return self.resolve(n_samples)

    def _known_bags(self, n_samples: int) -> Iterable[WeightedBag]:
        bags = self.enumerate_bags(n_samples)
        if bags is None:
            raise TypeError(
                f"The bags of {type(self).__name__} cannot be listed, because it does not define enumerate_bags. "
                "Define it. For certificates, inclusion_probability and negative_covariance are enough."
            )
        return bags


@dataclass(frozen=True)
class ResolvedScheme:
    """The law Q_n of bags of `n_samples` rows; returned by `ResamplingScheme.resolve`.

    Examples
    --------
    >>> from stablebag import Subbagging
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
    def is_in_closed_form(self) -> bool:
        """Whether the law is known exactly, as for built-in schemes, so that no draws are needed to check it."""
        return is_true_of(self.scheme, "_in_closed_form")

    @property
    def is_constant(self) -> bool:
        """Whether the scheme is built in, and not derived from a built-in one."""
        return self.is_symmetric and "_in_closed_form" in vars(type(self.scheme))  # and not in those of a parent class

    @property
    def is_symmetric(self) -> bool:
        """Whether all rows are treated alike (Assumption 5 of the paper)."""
        return self.scheme.is_symmetric

    @property
    def is_matched(self) -> bool:
        """Whether bags are matched: with the same seed, removing a row does not change bags without it."""
        return _picks(self.scheme)

    @property
    def fingerprint(self) -> str:
        """A text that identifies this law."""
        return f"{self}: {self.scheme.digest(self.n_samples)}"

    @property
    def bag_size(self) -> int | float:
        """The number of rows in a bag (m); the expected number if it is random."""
        return self.scheme.expected_size(self.n_samples)

    @cached_property
    def inclusion_probability(self) -> float:
        """The probability p that a given row is in a bag."""
        return float(self._moment("inclusion_probability"))

    @cached_property
    def negative_covariance(self) -> float:
        """The number q: minus the covariance of "row i is in the bag" and "row j is in the bag"."""
        return float(self._moment("negative_covariance"))

    @cached_property
    def inclusion_probabilities(self) -> np.ndarray:
        """The probability of each row to be in a bag."""
        return read_only(np.asarray(self.scheme.inclusion_probabilities(self.n_samples), dtype=float))

    @property
    def largest_inclusion(self) -> float:
        """The largest probability of a row to be in a bag: p, if all rows are treated alike."""
        return self.inclusion_probability if self.is_symmetric else float(self.inclusion_probabilities.max())

    @property
    def mean_inclusion(self) -> float:
        """The mean over rows of the probability to be in a bag: p, if all rows are treated alike."""
        return self.inclusion_probability if self.is_symmetric else float(self.inclusion_probabilities.mean())

    @cached_property
    def constant(self) -> float:
        """The bagging constant c: the norm of Cov(i in bag, j in bag) / (n (1 - pi_i) (1 - pi_j))."""
        if self.is_symmetric:
            return symmetric_norm(self.n_samples, *self.p_and_q)
        return float(self.scheme.covariance_norm(self.n_samples))

    @cached_property
    def row_constants(self) -> np.ndarray:
        """A constant c_i for each row, such that sum L_i^2 / (n c_i) is at most the variance of outputs over bags."""
        return read_only(np.asarray(self.scheme.row_constants(self.n_samples), dtype=float))

    @cached_property
    def p_and_q(self) -> tuple[Probability, Probability]:
        """The numbers p and q, exact if they are rational; a rounding error below zero becomes zero."""
        return self._moment("inclusion_probability"), self._moment("negative_covariance")

    def _moment(self, name: str) -> Probability:
        value: Any = getattr(self.scheme, name)(self.n_samples)
        if not isinstance(value, numbers.Real) or math.isnan(value):
            raise TypeError(f"{type(self.scheme).__name__}.{name} must return a number. It returned {value!r}.")
        number: Probability = value  # type: ignore[assignment]
        return 0.0 if -1e-15 <= number < 0 else number

    def count_law(self, n_rows: int) -> np.ndarray | None:
        """Return the law of the number of given rows that are in a bag.

        Parameters
        ----------
        n_rows : int
            The number of given rows, at most `n_samples`. All rows are treated alike, so it does not matter which.

        Returns
        -------
        ndarray of shape (n_rows + 1,) or None
            The probabilities of 0, 1, ..., n_rows. None if they are unknown, or would take too long to compute.
        """
        n_rows = check_integer(n_rows, "n_rows", "count_law", minimum=0)
        if n_rows > self.n_samples:
            raise refuse_value("n_rows", "count_law", f"at most n_samples={self.n_samples}", n_rows)
        if self.is_in_closed_form:
            return self.scheme.count_law(self.n_samples, n_rows)
        if self.n_samples > _MOST_THINNED:
            return self._declared_count_law(n_rows)
        # The law for fewer rows is computed from the law for all rows, so a scheme cannot contradict itself.
        law = self._count_law_of_all
        return None if law is None else thinned(law, n_rows)

    @cached_property
    def _count_law_of_all(self) -> np.ndarray | None:
        if self.n_samples > _MOST_THINNED:
            return self._declared_count_law(self.n_samples) if self.n_samples <= _MOST_COUNTED else None
        law = self._ask("count_law", self.n_samples)
        return None if law is None else np.asarray(law, dtype=float)

    def _declared_count_law(self, n_rows: int) -> np.ndarray | None:
        """Return what a user's `count_law` returns for this many rows, if it is defined."""
        if self._defining_class("count_law") is ResamplingScheme or (law := self._ask("count_law", n_rows)) is None:
            return None
        counts = np.asarray(law, dtype=float)
        check_counts(counts, n_rows, self.inclusion_probability, self.negative_covariance, type(self.scheme).__name__)
        return counts

    def count_law_roundings(self, n_rows: int) -> float:
        """Return the number of rounded products in a probability of `count_law`."""
        return float(self._ask("count_law_roundings", n_rows))

    @property
    def subset_size(self) -> int | None:
        """The number m if all sets of m rows are equally likely bags; None otherwise."""
        size: int | None = self._ask("subset_size")
        return size

    @property
    def strata(self) -> np.ndarray | None:
        """The stratum of each row, if bags have a fixed number of rows of each; None otherwise."""
        labels: np.ndarray | None = self._ask("strata_of_rows")
        return labels

    @property
    def matched_noise(self) -> Sequence[MatchedNoise]:
        """Bounds on the difference between matched bags with and without a row, for each kind of rows."""
        kinds: Sequence[MatchedNoise] = self._ask("matched_noise")
        return kinds

    def matched_components(self, diameter: float = 1.0) -> Components:
        """Return the components of the change when a row is left out of matched bags (docs/proofs.md, 15).

        Parameters
        ----------
        diameter : float, default=1.0
            The largest distance between two outputs; for vectors, in units of twice their radius.

        Returns
        -------
        Components

        Examples
        --------
        >>> from stablebag import Subbagging
        >>> found = Subbagging(5).resolve(10).matched_components()
        >>> round(found.bias, 9), round(found.top, 9)  # c = 1 / 9, and 2 p (1 + 1 / 5)
        (0.111111111, 1.2)
        """
        found: Components = self._ask("matched_components", diameter)
        return found

    @property
    def weighted_components(self) -> Components | None:
        """The components of the sum of squared changes, each divided by n times its row constant; None if unknown."""
        found: Components | None = self._ask("weighted_components")
        return found

    def components_without(self, n_rows: int, limit: float) -> Components | None:
        """Return the components for leaving several rows out of matched bags; None if they are unknown."""
        found: Components | None = self._ask("components_without", n_rows, limit)
        return found

    def log_avoidance(self, n_rows: int) -> float | None:
        """Return the logarithm of the probability that a bag has none of `n_rows` given rows; None if unknown."""
        found: float | None = self._ask("log_avoidance", n_rows)
        return found

    def log_joint_avoidance(self, n_rows: int, common: np.ndarray) -> np.ndarray | None:
        """Return the log of P(avoid two sets of rows with `common` rows in common) / P(avoid one)^2, if known."""
        found: np.ndarray | None = self._ask("log_joint_avoidance", n_rows, common)
        return found

    def constants_by_steps(self, n_rows: int) -> np.ndarray | None:
        """Return the constants of the laws for n rows, n - 1 rows, and so on; None if unknown."""
        found: np.ndarray | None = self._ask("constants_by_steps", n_rows)
        return found

    @property
    def raggedness(self) -> float:
        """A bound, for every bag, on the mean over rows of 1(row is out) / P(row is out)."""
        return float(self._ask("raggedness"))

    def _ask(self, name: str, *arguments: Any) -> Any:
        """Call an optional method of the scheme, skipping methods that were proved for a parent with another law."""
        return vars(self._defining_class(name))[name](self.scheme, self.n_samples, *arguments)

    def _defining_class(self, name: str) -> type:
        kinds = type(self.scheme).__mro__
        return next(kind for kind in kinds if name in vars(kind) and _has_law_of(self.scheme, kind))

    @cached_property
    def empty_probability(self) -> float:
        """The probability that a bag is empty, or an upper bound if it is unknown."""
        if self.is_in_closed_form or not self.is_symmetric:
            return self.scheme.empty_probability(self.n_samples)
        law = self._count_law_of_all
        return 1 - self.inclusion_probability if law is None else float(law[0])

    @property
    def empty_without_a_row(self) -> float:
        """The probability that a bag is empty given that a row is not in it, or an upper bound."""
        return min(1.0, self.empty_probability / (1 - self.largest_inclusion))

    @property
    def support_size(self) -> int | float:
        """The number of bags up to order; ``math.inf`` for Poissonized bagging."""
        return self.scheme.count_bags(self.n_samples)

    def count_support(self, *, ordered: bool = False, limit: float = math.inf) -> int | float:
        """Count the bags up to order, or in every order.

        Parameters
        ----------
        ordered : bool, default=False
            Whether different orders of the same rows are different bags.
        limit : float, default=inf
            Stop counting ordered bags beyond this number: the result is then larger than `limit`, but not exact.

        Returns
        -------
        int or math.inf
        """
        size = self.support_size
        if not ordered or size > limit:
            return size
        total = 0
        for bag, _ in self.scheme._known_bags(self.n_samples):
            total += orders(tuple(bag))
            if total > limit:
                break
        return total

    def support(self, mass: float = 1.0, *, ordered: bool = False) -> Iterator[tuple[np.ndarray, Probability]]:
        """Yield the bags up to order with their probabilities, as exact fractions if the law is rational.

        Parameters
        ----------
        mass : float, default=1.0
            Stop once this much probability is listed. Poissonized bagging has infinitely many bags and needs
            a mass below 1.
        ordered : bool, default=False
            Whether to list each bag in all its orders, which are equally likely, for learners that depend on row order.

        Yields
        ------
        bag : ndarray of int
            The rows of the bag, with repeats; in increasing order unless `ordered`.
        probability : Fraction or float
            The probability of drawing this bag in any order, or in this order if `ordered`.
        """
        mass = check_real(mass, "mass", "support", high=1.0)
        if not self.scheme.has_finite_support and mass > 1 - 1e-9:
            reason = "this scheme has infinitely many bags. Use a smaller mass, such as 0.999999."
            raise refuse_value("mass", f"support of {type(self.scheme).__name__}", "at most 1 - 1e-9", mass, reason)
        return self._walk_support(mass, check_flag(ordered, "ordered", "support"))

    def _walk_support(self, mass: float, ordered: bool) -> Iterator[tuple[np.ndarray, Probability]]:
        listed: Probability = Fraction(0)
        for bag, probability in self.scheme._known_bags(self.n_samples):
            if ordered:
                each = probability / orders(tuple(bag))
                for order in orderings(Counter(bag)):
                    yield np.array(order, dtype=np.intp), each
            else:
                yield np.array(bag, dtype=np.intp), probability
            listed += probability
            if mass < 1.0 and listed >= mass:
                return

    def draw(self, n_bags: int, random_state: RandomState = None, *, first: int = 0, row_ids: Any = None) -> Bags:
        """Draw bags; bag b depends only on (random_state, b) and the row IDs.

        Parameters
        ----------
        n_bags : int
            The number of bags to draw.
        random_state : None, int, RandomState or Generator, default=None
            The source of randomness; an integer makes the bags reproducible.
        first : int, default=0
            The number of the first bag drawn: ``draw(100, 0, first=100)`` equals ``draw(200, 0)[100:]``.
        row_ids : None, sequence of int or sequence of labels, default=None
            The row IDs; None stands for 0, ..., n_samples - 1. If a row is removed or added, or rows are reordered,
            bags without that row do not change. A custom scheme that does not define `pick` ignores row IDs.

        Returns
        -------
        Bags
        """
        owner = f"{type(self.scheme).__name__}.draw"
        n_bags = check_integer(n_bags, "n_bags", owner, minimum=1, reason="an average needs at least one bag.")
        first = check_integer(first, "first", owner, minimum=0)
        seeds = Seeds.from_random_state(random_state, owner)
        if self.n_samples > LARGEST_NAME:
            reason = "row numbers are 64-bit integers. Certificates and plans have no such limit."
            raise refuse_value("n_samples", owner, "at most 2**62 to draw bags", self.n_samples, reason)
        self._refuse_too_many(n_bags, first, owner)
        ids = as_row_ids(row_ids, None, self.n_samples, owner)
        if self.is_matched:
            return self._draw_matched(ids, seeds, first, first + n_bags)
        generators = seeds.bag_generators(first, first + n_bags)
        return Bags((self.scheme.draw_bag(self.n_samples, generator) for generator in generators), self.n_samples)

    def _refuse_too_many(self, n_bags: int, first: int, owner: str) -> None:
        """Raise an error for more bags than fit into memory, before any is drawn."""
        each = max(1.0, self.n_samples * float(self.mean_inclusion))
        if n_bags > _MOST_DRAWN / each or first > _MOST_DRAWN:
            expected = f"at most {_MOST_DRAWN / each:,.0f} for bags of about {each:,.0f} rows"
            name, value = ("n_bags", n_bags) if first <= _MOST_DRAWN else ("first", first)
            raise refuse_value(name, owner, expected, value, "more do not fit into memory. Use a few thousand.")

    def _draw_matched(self, ids: RowIds, seeds: Seeds, first: int, stop: int) -> Bags:
        kind = np.min_scalar_type(self.n_samples - 1)
        size = float(self.bag_size if self.is_in_closed_form else self.n_samples * self.mean_inclusion)
        flat, sizes = np.empty(0, kind), [np.zeros(1, dtype=np.int64)]
        for arrivals in batches(ids, seeds, first, stop, size):
            rows, how_many = arrivals.in_order(self.scheme.pick(self.n_samples, arrivals))
            flat.resize(len(flat) + len(rows), refcheck=False)  # grows in place, without a second copy
            flat[len(flat) - len(rows) :] = rows
            sizes.append(how_many)
        return Bags.from_flat(flat, np.cumsum(np.concatenate(sizes)), self.n_samples)

    def without_one(self) -> "ResolvedScheme":
        """Return Q_{n-1}: the law of a bag given that the last row is not in it, on n_samples - 1 rows."""
        if self.n_samples < 2 or self.largest_inclusion >= 1:
            why = "there is only one row" if self.n_samples < 2 else "every bag contains it"
            raise ValueError(
                f"There is no law without one row for {self}, because {why}. Use more rows or smaller bags."
            )
        return ResolvedScheme(self.scheme.without_one(self.n_samples), self.n_samples - 1)

    def without(self, rows: Any) -> "ResolvedScheme":
        """Return the law of a bag given that none of these rows is in it, on the remaining rows.

        Parameters
        ----------
        rows : sequence of int
            The distinct positions of the rows. If all rows are treated alike, only their number matters.

        Returns
        -------
        ResolvedScheme
        """
        expected = f"distinct positions from 0 to {self.n_samples - 1}, and not all of them"
        given = as_positions(rows, "rows", "without", expected)
        gone = np.unique(given)
        if len(gone) != len(given) or len(gone) >= self.n_samples or ((gone < 0) | (gone >= self.n_samples)).any():
            raise refuse_value("rows", "without", expected, rows)
        if self.is_symmetric:
            law = self
            for _ in gone:
                law = law.without_one()
            return law
        return ResolvedScheme(self.scheme.without(self.n_samples, gone), self.n_samples - len(gone))  # type: ignore[attr-defined]

    def describe(self, rows: str = "rows") -> str:
        """Return a short description of the bags and the number of rows, or groups."""
        return self.scheme.describe(self.n_samples, rows)

    def __str__(self) -> str:
        return self.describe()


def _picks(scheme: ResamplingScheme) -> bool:
    """Return whether a scheme draws by `pick`; a subclass that overrides `draw_bag` does not."""
    names = [next(kind for kind in type(scheme).__mro__ if name in vars(kind)) for name in ("pick", "draw_bag")]
    return names[0] is not ResamplingScheme and issubclass(*names)


def _has_law_of(scheme: ResamplingScheme, kind: type) -> bool:
    """Return whether a class's methods hold for a derived scheme: they hold for any law, or the law did not change."""
    if "_of_any_law" in vars(kind):
        return True
    of_the_object = {name for name in vars(scheme) if callable(getattr(kind, name, None))}
    if type(scheme) is kind and not of_the_object:
        return True
    parameters = {field.name for field in fields(kind)} if is_dataclass(kind) else set()
    names = {name for name in dir(kind) if not name.startswith("__")} - parameters - _NOT_THE_LAW
    if names & of_the_object:  # a method was assigned to this object
        return False
    return all(_defined_in(type(scheme), name) is _defined_in(kind, name) for name in names)


def _defined_in(kind: type, name: str) -> type:
    return next(parent for parent in kind.__mro__ if name in vars(parent))


def is_true_of(scheme: ResamplingScheme, mark: str) -> bool:
    """Return whether a class of the scheme has this mark, and the scheme still has the law of that class."""
    kind = next((kind for kind in type(scheme).__mro__ if mark in vars(kind)), None)
    return kind is not None and _has_law_of(scheme, kind)


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
            f"{type(self.scheme).__name__}.draw_bag put the last row into {_MOST_TRIES:,} consecutive bags, although "
            f"inclusion_probability is {float(self.scheme.inclusion_probability(self.n_before)):g}. Make them agree."
        )

    def inclusion_probability(self, n_samples: int) -> Probability:
        # P(i in, n out) / P(n out), and P(i in, n in) = p^2 - q.
        p = self.scheme.inclusion_probability(self.n_before)
        return p + self.scheme.negative_covariance(self.n_before) / (1 - p)

    def negative_covariance(self, n_samples: int) -> Probability:
        if self.scheme.enumerate_bags(self.n_before) is None:
            raise TypeError(
                f"The negative covariance of {type(self.scheme).__name__} without one row is unknown. Define "
                "enumerate_bags or without_one."
            )
        return super().negative_covariance(n_samples)

    def enumerate_bags(self, n_samples: int) -> Iterable[WeightedBag] | None:
        bags = self.scheme.enumerate_bags(self.n_before)
        if bags is None:
            return None
        kept = 1 - self.scheme.inclusion_probability(self.n_before)
        return ((bag, probability / kept) for bag, probability in bags if n_samples not in bag)


def _listed(scheme: ResamplingScheme, n_samples: int) -> Iterator[WeightedBag]:
    """Yield the bags of a user's scheme; too many raise an error."""
    for number, weighted in enumerate(scheme._known_bags(n_samples)):
        if number == MOST_LISTED:
            raise ValueError(
                f"{type(scheme).__name__} at n_samples={n_samples} lists more than {MOST_LISTED:,} bags. Define "
                "inclusion_probability, negative_covariance and count_bags in addition to enumerate_bags."
            )
        yield weighted


def _moments(scheme: ResamplingScheme, n_samples: int) -> tuple[Probability, Probability]:
    """Compute p and q from the listed bags, using the first two rows."""
    first: Probability = Fraction(0)
    second, both = first, first
    for bag, probability in _listed(scheme, n_samples):
        first += probability * (0 in bag)
        second += probability * (1 in bag)
        both += probability * (0 in bag and 1 in bag)
    return first, first * second - both


# ---------------------------------------------------------------------------------------------------------------- sized

_LARGEST_BAG = 2**64


@dataclass(frozen=True)
class SizedScheme(ResamplingScheme):
    """Base class of the paper's four schemes, which have a bag size: a number of rows, or a fraction of them."""

    bag_size: int | float | Fraction
    repeats: ClassVar[bool] = False  # whether a row can be in a bag more than once

    def __post_init__(self) -> None:
        check_bag_size(self.bag_size, type(self).__name__, repeats=self.repeats)

    def share_of(self, n_samples: int) -> Fraction:
        """Return m / n, exactly."""
        if isinstance(self.bag_size, numbers.Integral):
            return Fraction(int(self.bag_size), n_samples)
        return self.bag_size if isinstance(self.bag_size, Fraction) else as_share(self.bag_size, n_samples)

    def whole_size(self, n_samples: int) -> int:
        """Return m as a whole number of rows, at least one."""
        if isinstance(self.bag_size, int):
            return self.bag_size
        return max(1, math.floor(self.share_of(n_samples) * n_samples))

    def refuse_whole_bags(self, n_samples: int, largest: str) -> None:
        """Raise an error for bags of all rows, or more, in schemes without replacement."""
        if self.share_of(n_samples) >= 1:
            whole = self.share_of(n_samples) == 1
            size = "otherwise every bag is the whole data set, and no stability can be guaranteed"
            reason = f"{size if whole else 'there are not that many rows'}. Use at most {largest}, or ClassicalBagging."
            expected = f"smaller than n_samples={n_samples}, and smaller than 1 as a fraction"
            raise refuse_value("bag_size", type(self).__name__, expected, self.bag_size, reason)


def swap_rate(m: int, n: int) -> float:
    """Return one minus the smallest eigenvalue of swapping one of m rows in a bag for another (docs/proofs.md, 10).

    >>> swap_rate(2, 4)
    1.5
    """
    return 1 + 1 / max(m, n - m)


def check_bag_size(size: Any, owner: str, *, repeats: bool = False, things: str = "rows") -> None:
    """Raise an error unless `size` is a number of rows or a fraction of them; with repeats, it may exceed all rows."""
    expected = f"a positive number of {things} (int) or fraction of the {things} (float)"
    if not isinstance(size, numbers.Real) or isinstance(size, bool):
        raise refuse_type("bag_size", owner, expected, size)
    number: Any = size if isinstance(size, numbers.Rational) else float(size)
    if not 0 < number < _LARGEST_BAG:  # False for NaN
        raise refuse_value("bag_size", owner, expected, size, "a bag needs rows to learn from. Try 0.5.")
    if number > 1 and not repeats and not isinstance(size, numbers.Integral):
        reason = f"a float is a fraction of the {things}. For a number of {things}, use {math.floor(float(size))}."
        raise refuse_value("bag_size", owner, "a fraction below 1, or an int", size, reason)
