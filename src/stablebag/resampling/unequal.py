"""Schemes that do not treat all rows alike."""

import copy
import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar, NoReturn

import numpy as np
from numpy.random import Generator

from stablebag._checks import check_samples, refuse_type
from stablebag.resampling.assumptions import MOST_CHECKED, WeightedBag
from stablebag.resampling.covariance import given_out, moments, norm_of
from stablebag.resampling.scheme import ResamplingScheme, ResolvedScheme
from stablebag.resampling.unequal_assumptions import check_unequal_scheme

_MOST_TRIES = 10_000  # the most tries to draw a bag without given rows


class UnequalScheme(ResamplingScheme):
    """A way to draw bags that does not treat all training rows alike.

    Your own scheme defines `draw_bag` or `pick`, and either `inclusion_probabilities` and `covariance` (or, in place of
    the latter, its norm `covariance_norm`), or `enumerate_bags`, from which all of it follows. No row may be in every
    bag. `resolve` refuses a scheme that declares otherwise, or whose draws disagree with what it declares.

    Barber and Samworth (2026), "Algorithmic stability via ensembling", Proposition 5: leaving out row i moves the
    average over all bags by some L_i, whose mean square over rows is at most a quarter of `covariance_norm`, and
    whose size is at most the chance of row i to be in a bag. The paper's sharper results need rows that are all alike;
    they are not claimed for such a scheme (docs/proofs.md, 11).

    Examples
    --------
    This scheme is fond of the first row, which is in three bags of four:

    >>> import numpy as np
    >>> from stablebag import Certificate, UnequalScheme
    >>> class Fond(UnequalScheme):
    ...     def inclusion_probabilities(self, n_samples):
    ...         return np.where(np.arange(n_samples) == 0, 0.75, 0.25)
    ...     def covariance(self, n_samples):  # rows are in bags independently of each other
    ...         p = self.inclusion_probabilities(n_samples)
    ...         return np.diag(p * (1 - p))
    ...     def draw_bag(self, n_samples, generator):
    ...         return np.flatnonzero(generator.random(n_samples) < self.inclusion_probabilities(n_samples))
    >>> law = Fond().resolve(n_samples=6)
    >>> law.is_symmetric, law.largest_inclusion, round(law.constant, 6)  # 0.75 / 0.25 / 6
    (False, 0.75, 0.5)
    >>> Certificate(law, 6).worst_case()
    0.75
    """

    is_symmetric: ClassVar[bool] = False
    such: ClassVar[str] = " with these chances to be in a bag"

    def inclusion_probabilities(self, n_samples: int) -> np.ndarray:
        """Return the chance of each row to be in a bag, below one."""
        if self.enumerate_bags(n_samples) is None:
            raise TypeError(
                f"{type(self).__name__} does not say how often rows are in bags. Define inclusion_probabilities, or "
                "enumerate_bags."
            )
        return moments(self._known_bags(n_samples), n_samples)[0]

    def covariance(self, n_samples: int) -> np.ndarray:
        """Return the covariance of "row i is in the bag" and "row j is in the bag", for each two rows."""
        if self.enumerate_bags(n_samples) is None:
            raise TypeError(
                f"{type(self).__name__} does not say how rows depend on each other. Define covariance, its norm "
                "covariance_norm, or enumerate_bags."
            )
        return moments(self._known_bags(n_samples), n_samples)[1]

    def covariance_norm(self, n_samples: int) -> float:
        """Return the norm of Cov(i in bag, j in bag) / (n (1 - pi_i) (1 - pi_j)), which takes the place of c."""
        inclusion = np.asarray(self.inclusion_probabilities(n_samples), dtype=float)
        return norm_of(inclusion, np.asarray(self.covariance(n_samples), dtype=float))

    def row_constants(self, n_samples: int) -> np.ndarray:
        """Return a constant c_i for each row: the sum of L_i^2 / (n c_i) is at most the variance over bags.

        It is `covariance_norm` for all. A scheme whose rows fall apart into groups without covariance may have one for
        each group; `resolve` checks it by `covariance`.
        """
        return super().row_constants(n_samples)

    def knows_covariance(self, n_samples: int) -> bool:
        """Return whether `covariance` is known, and not only its norm."""
        declared = type(self).covariance is not UnequalScheme.covariance
        return declared or self.enumerate_bags(n_samples) is not None

    def raggedness(self, n_samples: int) -> float:
        """Return a bound, for every bag, on the mean over rows of 1(row is out) / P(row is out).

        It is one if the rows outside of any bag weigh as much as in any other; `PointCertificate` uses it.
        """
        return float(np.mean(1 / (1 - np.asarray(self.inclusion_probabilities(n_samples)))))

    def empty_probability(self, n_samples: int) -> float:
        """Return the chance that a bag has no rows, or an upper bound on it."""
        if self.enumerate_bags(n_samples) is None or self.count_bags(n_samples) > MOST_CHECKED:
            return 1 - float(np.max(self.inclusion_probabilities(n_samples)))
        return float(sum(probability for bag, probability in self._known_bags(n_samples) if len(bag) == 0))

    def expected_size(self, n_samples: int) -> int | float:
        """Return the expected number of distinct rows in a bag."""
        return float(np.sum(self.inclusion_probabilities(n_samples)))

    def without(self, n_samples: int, rows: np.ndarray) -> ResamplingScheme:
        """Return the scheme that, on the other rows, draws from Q_n given that these are out.

        Parameters
        ----------
        n_samples : int
            The number of rows with these.
        rows : ndarray of int
            The numbers of the rows that are gone, in order.

        Returns
        -------
        ResamplingScheme
        """
        return _GivenRowsOut(self, n_samples, tuple(np.asarray(rows).tolist()))

    def without_one(self, n_samples: int) -> NoReturn:
        """Refuse: it matters which row is gone."""
        raise TypeError(
            f"{type(self).__name__} does not treat all rows alike, so its law without a row depends on which row it "
            "is. Say which: law.without([row])."
        )

    def inclusion_probability(self, n_samples: int) -> NoReturn:
        """Refuse: rows differ in it."""
        raise self._refusal("one inclusion probability p", "inclusion_probabilities, or for the largest_inclusion")

    def negative_covariance(self, n_samples: int) -> NoReturn:
        """Refuse: pairs of rows differ in it."""
        raise self._refusal("one negative covariance q", "covariance, or for the constant that it amounts to")

    def count_law(self, n_samples: int, n_rows: int) -> None:
        """Return None: it matters which rows are counted."""
        return

    def digest(self, n_samples: int) -> str:
        law = ResolvedScheme(self, n_samples)
        text = hashlib.blake2b(law.inclusion_probabilities.tobytes(), digest_size=8).hexdigest()
        return f"c = {law.constant!r}, rows {text}"

    def resolve(self, n_samples: int) -> ResolvedScheme:
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
        for name in ("draw_bag", "pick", "inclusion_probabilities", "covariance", "covariance_norm", "enumerate_bags"):
            if not callable(getattr(self, name)):
                raise refuse_type(name, type(self).__name__, "a method of n_samples", getattr(self, name))
        law = ResolvedScheme(self.fix(n_samples), n_samples)
        if "_in_closed_form" not in vars(type(self)):  # nor does a child of such a class count
            law = ResolvedScheme(copy.deepcopy(law.scheme), n_samples)
            check_unequal_scheme(law, f"{type(self).__name__} at n_samples={n_samples}")
        return law

    def _refusal(self, what: str, ask: str) -> TypeError:
        return TypeError(f"{type(self).__name__} does not treat all rows alike, so it has not {what}. Ask for {ask}.")


@dataclass(frozen=True)
class _GivenRowsOut(UnequalScheme):
    """The law of a user's scheme given that some rows are not in the bag, on the rows that are left."""

    scheme: UnequalScheme
    n_before: int
    gone: tuple[int, ...]

    def draw_bag(self, n_samples: int, generator: Generator) -> np.ndarray:
        for _ in range(_MOST_TRIES):
            bag = np.asarray(self.scheme.draw_bag(self.n_before, generator), dtype=np.intp)
            if not np.isin(bag, self.gone).any():
                return bag - np.searchsorted(self.gone, bag)
        raise ValueError(
            f"{type(self.scheme).__name__}.draw_bag put one of the rows {self.gone[:3]} into {_MOST_TRIES:,} bags in a "
            "row. Make draw_bag and inclusion_probabilities agree, or leave out fewer rows."
        )

    def inclusion_probabilities(self, n_samples: int) -> np.ndarray:
        if self.enumerate_bags(n_samples) is not None:
            return super().inclusion_probabilities(n_samples)
        if len(self.gone) > 1 or not self.scheme.knows_covariance(self.n_before):
            raise TypeError(
                f"The law of {type(self.scheme).__name__} without these rows is not known, because it does not define "
                "enumerate_bags. Define that, or without."
            )
        before = (self.scheme.inclusion_probabilities(self.n_before), self.scheme.covariance(self.n_before))
        return given_out(*before, self.gone[0])

    def enumerate_bags(self, n_samples: int) -> Iterable[WeightedBag] | None:
        listed = self.scheme.enumerate_bags(self.n_before)
        if listed is None:
            return None
        left = [(bag, probability) for bag, probability in listed if not set(bag) & set(self.gone)]
        total = sum(probability for _, probability in left)
        if total <= 0:
            raise ValueError(f"Every bag has one of the rows {self.gone[:3]}, so there is no law without them.")
        return ((self._renumbered(bag), probability / total) for bag, probability in left)

    def _renumbered(self, bag: tuple[int, ...]) -> tuple[int, ...]:
        return tuple((np.array(bag, dtype=np.intp) - np.searchsorted(self.gone, bag)).tolist())
