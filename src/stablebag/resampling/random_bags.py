"""A random number of bags, as the theorem about the jackknife+ over bags requires it."""

from dataclasses import dataclass

from stablebag._checks import check_integer, check_samples, refuse_value
from stablebag._seeds import RandomState, Seeds
from stablebag.resampling.scheme import ResolvedScheme
from stablebag.resampling.schemes import Scheme, as_law

_MOST = 2**40  # bags


@dataclass(frozen=True)
class RandomBags:
    """A number of bags that was drawn at random, and the law of the bags it was drawn for.

    Made by `random_n_bags`; pass it on as in `BaggedRegressor(n_bags=...)`.

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
    """Draw the number of bags for which the jackknife+ over bags is proved to cover.

    Kim, Xu and Barber (2020): if bags were drawn from the training rows and the test row together, those without the
    test row would be a random number of the bags drawn, Binomial(B', 1 - p) with p the chance that a row of n + 1 is in
    a bag. With such a random number the theorem is exact; with a fixed one it is not. Here the number can be drawn for
    every scheme whose law on n + 1 rows is known.

    Parameters
    ----------
    scheme : ResamplingScheme
        How bags are drawn.
    n_samples : int
        The number of training rows.
    n_bags : int
        The expected number of bags.
    random_state : None, int, RandomState or Generator, default=None
        The source of randomness, which should be independent of the model's: do not pass the same one.

    Returns
    -------
    RandomBags
        The number of bags, for `BaggedRegressor(n_bags=...)`. It is zero with a chance that vanishes as `n_bags` grows.

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
        raise refuse_value("n_bags", owner, f"at most {_MOST:,}", n_bags, "a few thousand will do.")
    law = as_law(scheme, n_samples, owner)
    kept = 1 - probability_with_one_more(law)
    (generator,) = Seeds.from_random_state(random_state, owner).bag_generators(0, 1)
    return RandomBags(int(generator.binomial(round(n_bags / kept), kept)), law)


def probability_with_one_more(law: ResolvedScheme) -> float:
    """Return the chance p that a row is in a bag under the law on n + 1 rows whose law without one row is this one."""
    if not law.is_symmetric:
        raise TypeError(
            f"The jackknife+ over bags is proved for bags that treat all rows alike, and {law} does not. Use a fixed "
            "number of bags; nothing is then proved about the coverage."
        )
    larger = law.scheme.resolve(law.n_samples + 1)
    if larger.without_one() != law:
        raise TypeError(
            f"A law on {law.n_samples + 1} rows whose law without one row is {law} is not known. Use a fixed number of "
            "bags instead; the guarantee is then approximate."
        )
    return larger.inclusion_probability
