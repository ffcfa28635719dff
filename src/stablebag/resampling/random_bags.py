"""A number of bags that is drawn at random, as the theorem about the jackknife+ over bags needs it."""

from dataclasses import dataclass

from stablebag._checks import check_integer, check_samples
from stablebag._seeds import RandomState, Seeds
from stablebag.resampling.scheme import ResamplingScheme, ResolvedScheme, as_law


@dataclass(frozen=True)
class RandomBags:
    """A number of bags that was drawn at random, and the law of the bags for which it was.

    Made by `random_n_bags`; for `BaggedRegressor(n_bags=...)`.

    Attributes
    ----------
    number : int
        How many bags.
    law : ResolvedScheme
        The law of the bags for which it was drawn.
    """

    number: int
    law: ResolvedScheme

    def __int__(self) -> int:
        return self.number

    __index__ = __int__


def random_n_bags(
    scheme: ResamplingScheme | ResolvedScheme, n_samples: int, n_bags: int, random_state: RandomState = None
) -> RandomBags:
    """Draw the number of bags for which the jackknife+ over bags is proved to cover.

    Kim, Xu and Barber (2020): if bags were drawn from the training rows and the test row together, those without the
    test row would be a random number of the bags drawn, Binomial(B', 1 - p) with p the chance that a row of n + 1 is in
    a bag. With such a number the theorem is exact, with a fixed one it is not. Here it is for every scheme whose law on
    n + 1 rows is known.

    Parameters
    ----------
    scheme : ResamplingScheme
        How bags are drawn.
    n_samples : int
        The number of training rows.
    n_bags : int
        The number of bags to expect.
    random_state : None, int, RandomState or Generator, default=None
        The source of randomness; not the one of the model, from which it should be independent.

    Returns
    -------
    RandomBags
        For `BaggedRegressor(n_bags=...)`. Its number is zero with a chance that vanishes with `n_bags`.

    Examples
    --------
    >>> from stablebag import Subbagging, random_n_bags
    >>> random_n_bags(Subbagging(0.5), n_samples=100, n_bags=500, random_state=0).number
    526
    """
    owner = "random_n_bags"
    n_samples = check_samples(n_samples, owner)
    n_bags = check_integer(n_bags, "n_bags", owner, minimum=1)
    law = as_law(scheme, n_samples, owner)
    kept = 1 - probability_with_one_more(law)
    (generator,) = Seeds.from_random_state(random_state, owner).bag_generators(0, 1)
    return RandomBags(int(generator.binomial(round(n_bags / kept), kept)), law)


def probability_with_one_more(law: ResolvedScheme) -> float:
    """Return the chance p that a row is in a bag of the law on n + 1 rows of which this one is Q_n."""
    larger = law.scheme.resolve(law.n_samples + 1)
    if larger.without_one() != law:
        raise TypeError(
            f"The law on {law.n_samples + 1} rows of which {law} is that without one row is not known. Fix the number "
            "of bags instead; the guarantee is then approximate."
        )
    return larger.inclusion_probability
