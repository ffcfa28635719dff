"""Custom schemes for tests: by p and q, by a list of bags, and unequal ones."""

import itertools
from fractions import Fraction

import numpy as np
from scipy.stats import hypergeom

from stablebag.resampling import ResamplingScheme, UnequalScheme
from stablebag.resampling.components import Components, block
from stablebag.resampling.law import MatchedNoise


class Declared(ResamplingScheme):
    """A scheme that declares p and q."""

    def __init__(self, p, q):
        self.p, self.q = p, q

    def draw_bag(self, n_samples, generator):
        return np.flatnonzero(generator.random(n_samples) < self.p)

    def inclusion_probability(self, n_samples):
        return self.p

    def negative_covariance(self, n_samples):
        return self.q


class LikeSubbagging(ResamplingScheme):
    """Subbagging as a custom scheme with all optional methods."""

    def __init__(self, m):
        self.m = m

    def pick(self, n_samples, arrivals):
        return arrivals.first_rows(self.m)

    def inclusion_probability(self, n_samples):
        return Fraction(self.m, n_samples)

    def negative_covariance(self, n_samples):
        return Fraction(self.m * (n_samples - self.m), n_samples**2 * (n_samples - 1))

    def count_law(self, n_samples, n_rows):
        return hypergeom.pmf(np.arange(n_rows + 1), n_samples, n_rows, self.m)

    def matched_noise(self, n_samples):
        p = self.m / n_samples
        return [MatchedNoise(1.0, p, per_variance=2 * p * (1 + 1 / max(self.m, n_samples - self.m)))]

    def matched_components(self, n_samples, diameter):
        m, out = self.m, n_samples - self.m
        constant = m / out / (n_samples - 1)  # the bias of component 1, whose noise is 2 / (n - m)
        noisiest = 2 * m / n_samples * (1 + 1 / max(m, out))
        return Components((block(constant, 2 / out),), noisiest, m / n_samples * diameter**2)

    def raggedness(self, n_samples):
        return 1.0

    def subset_size(self, n_samples):
        return self.m

    def without_one(self, n_samples):
        return self


class Listed(ResamplingScheme):
    """A scheme that lists its bags."""

    def __init__(self, bags):
        self.bags = bags

    def draw_bag(self, n_samples, generator):
        bags, weights = zip(*self.bags, strict=True)
        return np.array(bags[generator.choice(len(bags), p=np.array(weights, dtype=float))])

    def enumerate_bags(self, n_samples):
        return iter(self.bags)


PAIRS_OF_FIVE = [(pair, Fraction(1, 10)) for pair in itertools.combinations(range(5), 2)]


class FirstRowOften(UnequalScheme):
    """Independent rows: the first is in a bag with probability 3/4, the others with 1/4."""

    def inclusion_probabilities(self, n_samples):
        return np.where(np.arange(n_samples) == 0, 0.75, 0.25)

    def covariance(self, n_samples):
        p = self.inclusion_probabilities(n_samples)
        return np.diag(p * (1 - p))

    def draw_bag(self, n_samples, generator):
        return np.flatnonzero(generator.random(n_samples) < self.inclusion_probabilities(n_samples))


class ListedUnequal(UnequalScheme):
    """An unequal scheme that lists its bags."""

    def __init__(self, bags):
        self.bags = bags

    draw_bag, enumerate_bags = Listed.draw_bag, Listed.enumerate_bags


def random_bags(rng, n):
    """Return random bags with random probabilities, without a row that is in every bag."""
    while True:
        inside = rng.random((int(rng.integers(3, 12)), n)) < rng.uniform(0.2, 0.8)
        weights = rng.dirichlet(np.ones(len(inside)))
        if (weights @ inside).max() < 0.999 and inside.any():
            return [(tuple(np.flatnonzero(row).tolist()), float(p)) for row, p in zip(inside, weights, strict=True)]
