"""Derandomized bagging by listing every bag: the ground truth that the theorems are held against."""

import functools
import inspect
import itertools
from dataclasses import dataclass

import numpy as np
import pytest

from grids import first
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


@functools.cache
def ensembles_of(n):
    """Every m, four schemes, for n rows."""
    ensembles = []
    for m in range(1, n + 1):
        if m < n:
            ensembles += [enumerate_law(scheme(m).resolve(n)) for scheme in (Subbagging, BernoulliSubbagging)]
        ensembles += [
            enumerate_law(ClassicalBagging(m).resolve(n)),
            enumerate_patterns(PoissonizedBagging(m).resolve(n)),
        ]
    return ensembles


def all_ensembles(largest):
    """Every n from 2 to `largest`, every m, four schemes."""
    return itertools.chain.from_iterable(map(ensembles_of, range(2, largest + 1)))


def for_all_laws(largest, n_quick=3):
    """Give a test every law of n rows, in one test for each n from 2 on; those after the first few n are slow."""

    def decorate(test):
        def run(n, **given):
            for ensemble in ensembles_of(n):
                try:
                    test(ensemble=ensemble, **given)
                except Exception as error:
                    error.add_note(f"with {ensemble.law}")
                    raise

        functools.update_wrapper(run, test)
        signature = inspect.signature(test)
        others = [parameter for name, parameter in signature.parameters.items() if name != "ensemble"]
        here = inspect.Parameter("n", inspect.Parameter.POSITIONAL_OR_KEYWORD)
        run.__signature__ = signature.replace(parameters=[here, *others])
        return pytest.mark.parametrize("n", first(range(2, largest + 1), n_quick))(run)

    return decorate


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
