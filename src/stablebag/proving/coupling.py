"""How the bags with and without a row depend on each other: what is assumed, and what follows."""

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from stablebag._checks import check_choice, refuse_type, refuse_value
from stablebag._wording import ROWS, Noun
from stablebag.resampling.components import Components
from stablebag.resampling.law import ResolvedScheme


@dataclass(frozen=True)
class Coupling:
    """What is assumed about the bags and the learners' seeds in two fits, with all rows and without one.

    Attributes
    ----------
    name : str
        Its name.
    noise : float
        A bound on the variance of the difference between two bags' outputs, one from each fit, for outputs in [0, 1].
    assumed : str
        The assumption in words, with placeholders for the rows or groups left out, for `describe`.
    tail : str
        The inequality that bounds the bagging noise with high probability, in the same form.
    """

    name: str
    noise: float
    assumed: str
    tail: str

    def mean_square(self, derandomized: Any, n_bags: float) -> Any:
        """Return the bound on the mean square with this many bags, given the one for infinitely many."""
        return derandomized + self.noise / n_bags

    def radius(self, n_bags: float, monte_carlo_delta: Any) -> Any:
        """Return what the noise of this many bags exceeds with probability at most `monte_carlo_delta`."""
        # Theorem 9: Hoeffding's inequality for each fit.
        return np.sqrt(2 / n_bags * (math.log(4) - np.log(monte_carlo_delta)))

    def of_deviations(self, with_all: Any, without: Any) -> Any:
        """Return a bound on the variance of the difference between two outputs with these standard deviations."""
        return (with_all + without) ** 2

    def describe(self, noun: Noun = ROWS) -> str:
        """Return the assumption in words."""
        return _with_noun(self.assumed, noun)

    def describe_tail(self, noun: Noun = ROWS) -> str:
        """Return the name of the inequality that bounds the bagging noise with high probability."""
        return _with_noun(self.tail, noun)

    def __str__(self) -> str:
        return self.name


def _with_noun(words: str, noun: Noun) -> str:
    return words.format(row=noun.singular, a_row=noun.any_one, rows=noun.plural)


@dataclass(frozen=True)
class _Independent(Coupling):
    def radius(self, n_bags: float, monte_carlo_delta: Any) -> Any:
        """Return what Hoeffding's inequality gives for the bags of both fits together."""
        return np.sqrt((math.log(2) - np.log(monte_carlo_delta)) / n_bags)

    def of_deviations(self, with_all: Any, without: Any) -> Any:
        """Return the sum of the variances."""
        return with_all**2 + without**2


@dataclass(frozen=True)
class Matched(Coupling):
    """The same seed in both fits, so that bags without the row are the same (docs/proofs.md, 10); made by `matched`.

    Attributes
    ----------
    noise : float
        A bound on the mean over rows of the expected square of the difference between a bag's outputs in both fits.
    chance : float
        The same for a single row: the largest probability that a bag has it, plus what bags without rows add.
    per_variance : float
        A bound on the mean over rows in units of the variance of the output over bags; infinite if there is none.
    weighted : float
        A bound on the sum over rows of the same, each divided by n times its `row_constants`, for unequal rows.
    parts : Components
        Bias and noise by component.
    weighted_parts : Components or None
        The same for the weighted sum.
    shift : float
        How far a row can change the average through bags without rows alone.
    shifted_share : float
        The share of rows that can.
    """

    chance: float = 1.0
    per_variance: float = math.inf
    weighted: float = math.inf
    parts: Components = field(default_factory=lambda: Components((), math.inf, 1.0), compare=False, repr=False)
    weighted_parts: Components | None = field(default=None, compare=False, repr=False)
    shift: float = 0.0
    shifted_share: float = 0.0

    def mean_square(self, derandomized: Any, n_bags: float) -> Any:
        """Return the smaller of two bounds: on rows and bags jointly (docs/proofs.md, 15), and separately.

        The mean square of the mean of B independent differences is 1 - 1 / B of the squared mean, plus v / B.
        """
        apart = (1 - 1 / n_bags) * derandomized + self.noise / n_bags
        return min(apart, with_shift(self.parts.mean_square(n_bags), n_bags, self.shift, self.shifted_share))

    def radius(self, n_bags: float, monte_carlo_delta: Any) -> Any:
        """Return the smaller of Bernstein's and Hoeffding's bounds for the differences."""
        logs = math.log(2) - np.log(monte_carlo_delta)
        third = logs / (3 * n_bags)
        bernstein = third + np.sqrt(third**2 + 2 * self.chance * logs / n_bags)
        return np.minimum(bernstein, np.sqrt(2 * logs / n_bags))


ANY = Coupling("any", 1.0, "however the bags of both fits depend on each other", "Theorem 9 for the bags")
INDEPENDENT = _Independent(
    "independent",
    0.5,
    "if the bags with and without {a_row} are drawn independently",
    "Hoeffding's inequality for independent bags",
)
NAMES = ("any", "independent", "matched")


def matched(
    law: ResolvedScheme,
    *,
    diameter: float = 1.0,
    shift: float = 0.0,
    shifted_share: float = 0.0,
    owner: str = "matched",
) -> Matched:
    """Return the known facts about matched bags of a law.

    Parameters
    ----------
    law : ResolvedScheme
        The law of the bags, which must draw matched ones.
    diameter : float, default=1.0
        The largest distance between two outputs; for vectors, in units of twice their radius.
    shift : float, default=0.0
        How far a row can change the average through bags without rows alone, in the same units.
    shifted_share : float, default=0.0
        The share of rows that can.
    owner : str, default="matched"
        The name of the caller, for the error message.

    Returns
    -------
    Matched

    Examples
    --------
    >>> from stablebag import Subbagging
    >>> round(matched(Subbagging(221).resolve(442)).noise, 8)  # (p / 2) (1 + 1 / 221)
    0.25113122
    """
    if not law.is_matched:
        reason = 'it draws different bags if a row is gone. Use "any", or define pick.'
        raise refuse_value("coupling", owner, f"one of {NAMES[:2]} for {type(law.scheme).__name__}", "matched", reason)
    kinds, of_empty_bags = law.matched_noise, shifted_share * shift
    noise = sum(kind.share * kind.mean_square(diameter) for kind in kinds) + of_empty_bags
    per_variance = sum(kind.share * kind.per_variance for kind in kinds)
    weighted = sum(kind.share * kind.mean_square(diameter) / (kind.constant or law.constant) for kind in kinds)
    chance = law.largest_inclusion * diameter**2 + shift
    words = "if both fits have the same seed and {row} IDs, so that bags without the {row} stay the same"
    tail = "Bernstein's inequality for the bags"
    return Matched(
        "matched",
        min(1.0, noise),
        words,
        tail,
        min(1.0, chance),
        per_variance,
        weighted,
        parts=law.matched_components(diameter),
        weighted_parts=law.weighted_components,
        shift=shift,
        shifted_share=shifted_share,
    )


def with_shift(square: Any, n_bags: float, shift: float, share: float) -> Any:
    """Add the effect of bags without rows if classes lose their only row: for a share of the rows, a shift.

    This is Minkowski's inequality for the mean square over rows and draws. A single bag changes by at most 1.
    """
    if shift == 0:
        return square
    added = (1 - 1 / n_bags) * shift**2 + shift / n_bags
    return (np.sqrt(square) + math.sqrt(share * added)) ** 2


def as_coupling(value: Any, owner: str, law: ResolvedScheme | None = None, **about: float) -> Coupling:
    """Return the given coupling, or the one with that name; a matched one is computed for its law."""
    if isinstance(value, Matched) and law is None:
        return value
    if isinstance(value, Coupling):
        value = value.name
    value = check_choice(
        value, "coupling", owner, NAMES, "it is how the bags with and without a row depend on each other."
    )
    known = {coupling.name: coupling for coupling in (ANY, INDEPENDENT)}
    if value == "matched" and law is not None:
        return matched(law, **about, owner=owner)
    if value == "matched":
        raise refuse_type("coupling", owner, "the coupling of a law", value, "use matched(law).")
    return known[value]
