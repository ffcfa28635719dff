"""Numbers and strong words in docs/*.md that no doctest beside them checks."""

import math

import numpy as np
import pytest
from scipy.stats import hypergeom
from sklearn.datasets import load_diabetes
from sklearn.linear_model import Lasso

from stablebag import (
    BernoulliSubbagging,
    Certificate,
    ClassicalBagging,
    ObservedRange,
    PoissonizedBagging,
    StratifiedSubbagging,
    Subbagging,
)

SHARES = (0.02, 0.05, 0.1, 0.5)


def epsilons(scheme, n, n_bags, delta):
    couplings = ("any", "independent", "matched")
    return {name: Certificate(scheme, n, n_bags, coupling=name).epsilon(delta) for name in couplings}


@pytest.mark.parametrize("n", [2, 3, 10, 500])
@pytest.mark.parametrize("kind", [Subbagging, BernoulliSubbagging, ClassicalBagging, PoissonizedBagging])
def test_matched_bags_are_always_sharper_than_bags_coupled_in_any_way(kind, n):
    """docs/certificates.md, "Of a fitted model"."""
    for size in (0.1, 0.5, 0.8):
        for n_bags in (1, 10, 1000):
            for delta in SHARES:
                found = epsilons(kind(size), n, n_bags, delta)
                assert found["matched"] <= found["any"]
                assert found["matched"] < found["any"] or found["any"] == 1


def test_matched_bags_are_usually_sharper_than_independent_ones():
    """docs/certificates.md, "Of a fitted model"."""
    as_there = epsilons(Subbagging(0.5), 442, 500, 0.1)
    assert as_there["matched"] < as_there["independent"]
    for few_or_large in ((BernoulliSubbagging(0.8), 50, 5), (Subbagging(0.8), 10, 500)):
        found = epsilons(*few_or_large, 0.5 if few_or_large[2] == 5 else 0.01)
        assert found["matched"] > found["independent"]


def test_how_much_matched_bags_are_worth():
    """docs/schemes.md, "Matched bags"."""
    for size, ratio in ((0.5, 2.5), (0.1, 5.3)):
        found = epsilons(Subbagging(size), 500, 500, 0.1)
        assert found["any"] / found["matched"] == pytest.approx(ratio, abs=0.05)
    many = epsilons(Subbagging(0.5), 50, 10**6, 0.1)
    assert many["any"] / many["matched"] < 1.05


def test_constants_of_the_schemes_that_are_compared():
    """docs/schemes.md, "Which one?"."""
    half, tenth, bootstrap = (law.resolve(500) for law in (Subbagging(0.5), Subbagging(0.1), ClassicalBagging(1.0)))
    assert half.constant == pytest.approx(1.002 / 500, rel=1e-3)
    assert bootstrap.constant / half.constant == pytest.approx(1.7, abs=0.05)
    assert half.constant / tenth.constant == pytest.approx(9, abs=0.01)
    assert math.sqrt(half.constant / tenth.constant) == pytest.approx(3, abs=0.01)
    assert bootstrap.inclusion_probability == pytest.approx(0.63, abs=0.005)


def test_the_price_of_matched_bags_is_as_large_as_the_rest_at_as_many_bags_as_rows():
    """docs/choosing_bags.md, "How many bags are enough?"."""
    for n in (100, 1000, 10_000):
        coupling = Certificate(Subbagging(0.5), n, n, coupling="matched").coupling
        rest = Subbagging(0.5).resolve(n).constant / 4
        assert coupling.noise / n == pytest.approx(rest, rel=0.05)
        assert coupling.noise / (10 * n) == pytest.approx(rest / 10, rel=0.05)


def test_no_more_than_two_rows_change_the_observed_range(seed):
    """docs/models.md, "The range of predictions"."""
    rng, rule = np.random.default_rng(seed), ObservedRange()
    for y in (rng.normal(size=9), rng.standard_cauchy(9), rng.integers(0, 3, 9), np.zeros(9), np.arange(2)):
        y = np.asarray(y, dtype=float)
        changing = sum(rule(np.delete(y, row)) != rule(y) for row in range(len(y)))
        assert changing == round(rule.delta(y) * len(y)) <= 2


def test_the_table_of_strata():
    """docs/strata.md, the table and the first paragraph; bounds are rounded up."""
    y = np.r_[np.zeros(392), np.ones(8)].astype(int)
    lines = (
        (Subbagging(40), 0.0210, 0.1),
        (StratifiedSubbagging(40), 0.0269, 0.125),
        (StratifiedSubbagging({0: 36, 1: 4}), 0.0275, 0.5),
    )
    for scheme, epsilon, any_one in lines:
        certificate = Certificate.for_labels(scheme, y)
        assert epsilon - 1e-4 < certificate.epsilon(0.1) <= epsilon
        assert certificate.worst_case() == pytest.approx(any_one)
    assert hypergeom(400, 8, 40).pmf(0) > 2 / 5


def test_leaving_out_any_of_21_rows_changes_the_features_of_the_lasso():
    """docs/selection.md, "The lasso's features"."""
    X, y = load_diabetes(return_X_y=True)

    def features(rows):
        return (Lasso(alpha=1.0).fit(X[rows], y[rows]).coef_ != 0).tolist()

    everyone = np.arange(len(y))
    assert sum(features(np.delete(everyone, row)) != features(everyone) for row in everyone) == 21
