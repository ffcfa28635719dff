"""The theorems at numbers of rows for which no one can list the bags: nearest neighbours have a closed form."""

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

from stablebag import BernoulliSubbagging, ClassicalBagging, PoissonizedBagging, Subbagging
from stablebag.fast.neighbours import AllBagsOfNeighbours
from stablebag.proving.bounds import bagging_constant

SCHEMES = [Subbagging(0.5), Subbagging(0.9), BernoulliSubbagging(0.7), ClassicalBagging(), PoissonizedBagging(2.0)]


def table(n):
    rng = np.random.default_rng(n)
    return rng.normal(size=(n, 2)).round(1), rng.integers(0, 2, n), rng.normal(size=(20, 2)).round(1)


@pytest.mark.parametrize("k", [1, 3, 10])
@pytest.mark.parametrize("n", [30, 300, 3000])
@pytest.mark.parametrize("scheme", SCHEMES, ids=str)
def test_the_mean_square_over_rows_is_at_most_the_constant_times_the_variance_over_bags(scheme, n, k):
    X, y, points = table(n)
    law = scheme.resolve(n)
    average = AllBagsOfNeighbours(KNeighborsRegressor(k), X, y.astype(float), law)
    ranking = average.ranked(points)
    moved = average.left_out(ranking) - average.prediction([ranking])
    proved = bagging_constant(n, *law.p_and_q) * average.deviation(ranking) ** 2
    assert ((moved**2).mean(axis=0) <= proved * (1 + 1e-9) + 1e-15).all()
    assert ((moved**2).mean(axis=0) > 0.05 * proved).any()  # it is not far off


@pytest.mark.parametrize("scheme", SCHEMES, ids=str)
def test_the_vector_of_probabilities_keeps_the_bound_of_its_variance(scheme):
    X, y, points = table(500)
    law = scheme.resolve(500)
    average = AllBagsOfNeighbours(KNeighborsClassifier(2), X, y, law, None, np.array([0, 1]))
    ranking = average.ranked(points)
    moved = average.left_out(ranking) - average.prediction([ranking])
    proved = bagging_constant(500, *law.p_and_q) * (average.deviation(ranking) ** 2).sum(axis=1)
    assert ((moved**2).sum(axis=2).mean(axis=0) <= proved * (1 + 1e-9) + 1e-15).all()
