"""Derandomized bagging by listing every bag: the ground truth that the theorems are held against."""

import itertools
from dataclasses import dataclass

import numpy as np

from stablebag import BernoulliSubbagging, ClassicalBagging, PoissonizedBagging, Subbagging
from stablebag.proving.bounds import bagging_constant


@dataclass(frozen=True)
class Ensemble:
    """All bags of a law with their weights; what a learner outputs on each is an array over these bags."""

    law: object
    bags: list
    weights: np.ndarray
    inside: np.ndarray  # (bags, rows)

    @property
    def constant(self):
        return bagging_constant(self.law.n_samples, self.law.inclusion_probability, self.law.negative_covariance)

    def average(self, outputs):
        return self.weights @ outputs

    def left_out(self, outputs):
        """The average over the bags without row i, for each row i."""
        outside = self.weights[:, None] * ~self.inside
        return outputs @ outside / outside.sum(axis=0)

    def perturbations(self, outputs):
        return np.abs(self.average(outputs) - self.left_out(outputs))

    def variance(self, outputs):
        return self.weights @ (outputs - self.average(outputs)) ** 2


def enumerate_law(law, mass=1.0):
    bags, weights = zip(*law.support(mass=mass), strict=True)
    inside = np.array([np.isin(np.arange(law.n_samples), bag) for bag in bags])
    weights = np.array(weights, dtype=float)
    return Ensemble(law, list(bags), weights, inside)


def enumerate_patterns(law):
    """A law under which rows are in a bag independently, by the 2^n patterns of who is in.

    Averages over all bags with the same pattern are what f and f^i depend on, so any learner is a function of these.
    """
    n, p = law.n_samples, law.inclusion_probability
    inside = np.array(list(itertools.product([False, True], repeat=n)))
    weights = np.prod(np.where(inside, p, 1 - p), axis=1)
    return Ensemble(law, [np.flatnonzero(row) for row in inside], weights, inside)


def all_ensembles(largest):
    """Every n from 2 to `largest`, every m, four schemes."""
    for n in range(2, largest + 1):
        for m in range(1, n + 1):
            if m < n:
                yield enumerate_law(Subbagging(m).resolve(n))
                yield enumerate_law(BernoulliSubbagging(m).resolve(n))
            yield enumerate_law(ClassicalBagging(m).resolve(n))
            yield enumerate_patterns(PoissonizedBagging(m).resolve(n))


def learners(ensemble, rng):
    """Outputs in [0, 1] over all bags, of learners that look up, that threshold and that memorize."""
    n, n_bags = ensemble.law.n_samples, len(ensemble.bags)
    yield "lookup", rng.random(n_bags)
    yield "coin", rng.integers(0, 2, n_bags).astype(float)
    counts = np.array([np.bincount(bag, minlength=n) for bag in ensemble.bags])
    for _ in range(3):
        score = counts @ rng.normal(size=n)
        yield "threshold", (score > np.median(score)).astype(float)
        # The half-space of section 1.3's extremal learners: who is in, signed, against its mean.
        signs = ensemble.inside @ rng.choice([-1, 1], n)
        yield "half-space", (signs > ensemble.weights @ signs).astype(float)
    yield "memorizer", ensemble.inside[:, 0].astype(float)
