"""Schemes of one's own: one that says what p and q are, and one that lists its bags."""

import itertools
from fractions import Fraction

import numpy as np

from stablebag import ResamplingScheme


class Declared(ResamplingScheme):
    """A scheme that says what p and q are."""

    def __init__(self, p, q):
        self.p, self.q = p, q

    def draw_bag(self, n_samples, generator):
        return np.flatnonzero(generator.random(n_samples) < self.p)

    def inclusion_probability(self, n_samples):
        return self.p

    def negative_covariance(self, n_samples):
        return self.q


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
