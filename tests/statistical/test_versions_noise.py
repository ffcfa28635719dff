"""The error rate of "beyond noise" that `compare_versions` declares, in simulation.

Where nothing but chance changed, any point is marked with a chance of at most 5%. A test with n runs allows six
standard deviations more, so each fails by chance at most about once in a million runs. benchmarks/versions_by_hand.py
has more of the same, with its table in docs/versions.md.
"""

import math

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import Ridge
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from stablebag import (
    BaggedClassifier,
    BaggedRegressor,
    BernoulliSubbagging,
    ClassicalBagging,
    Subbagging,
    compare_versions,
)
from stablebag.measuring.versions import ALPHA, _SignFlips

pytestmark = pytest.mark.slow


def allowed(n_runs, rate=ALPHA):
    return n_runs * rate + 6 * math.sqrt(n_runs * rate * (1 - rate))


def drawn(kind, rng, shape):
    if kind == "normal":
        return rng.normal(size=shape)
    if kind == "heavy":
        return rng.standard_t(1.2, size=shape)
    if kind == "skewed":
        return rng.exponential(size=shape) ** 2
    return (rng.random(shape) < 0.02).astype(float)  # rare: most bags agree


@pytest.mark.parametrize("kind", ["normal", "heavy", "skewed", "rare"])
@pytest.mark.parametrize("dependence", [0.0, 0.9])
def test_outputs_of_bags_with_another_seed_mark_a_point_in_at_most_5_percent_of_runs(kind, dependence, seed):
    rng, n_runs, found = np.random.default_rng(seed), 400, 0
    for _ in range(n_runs):
        common = drawn(kind, rng, (2, 60, 1))
        outputs = dependence * common + (1 - dependence) * drawn(kind, rng, (2, 60, 40))
        flips = _SignFlips(60, 40)
        found += bool((flips.add(outputs[1] - outputs[0]) > flips.threshold).any())
    assert found <= allowed(n_runs)


@pytest.mark.parametrize("kind", ["normal", "heavy", "skewed", "classes"])
@pytest.mark.parametrize("scheme", [Subbagging(20), BernoulliSubbagging(0.3), ClassicalBagging(30)], ids=str)
def test_another_seed_alone_marks_a_point_in_at_most_5_percent_of_runs(kind, scheme, seed):
    rng, n_runs, found = np.random.default_rng(seed), 200, 0
    for run in range(n_runs):
        X = rng.normal(size=(60, 2))
        target = drawn("normal" if kind == "classes" else kind, rng, 60) + X[:, 0]
        kinds = {"classes": (BaggedClassifier, DecisionTreeClassifier(max_depth=3), (target > 1).astype(int))}
        bagged, learner, y = kinds.get(kind, (BaggedRegressor, DecisionTreeRegressor(max_depth=3), target))
        old, new = (bagged(learner, scheme=scheme, n_bags=40, random_state=2 * run + half).fit(X, y) for half in (0, 1))
        found += bool(compare_versions(old, new, rng.normal(size=(30, 2))).n_beyond_noise)
    assert found <= allowed(n_runs)


def test_rows_under_other_names_mark_a_point_in_at_most_5_percent_of_runs(seed):
    rng, n_runs, found = np.random.default_rng(seed), 150, 0
    for run in range(n_runs):
        X = rng.normal(size=(50, 2))
        y = X[:, 0] + rng.standard_t(2, size=50)
        names = np.arange(50)
        model = {"scheme": Subbagging(15), "n_bags": 50, "random_state": run}
        old = BaggedRegressor(Ridge(), **model).fit(X, y, row_ids=names)
        new = BaggedRegressor(Ridge(), **model).fit(X, y, row_ids=np.where(names < 5, names + 1000, names))
        comparison = compare_versions(old, new, rng.normal(size=(20, 2)))
        assert (len(comparison.rows.left), len(comparison.rows.came)) == (5, 5)
        found += bool(comparison.n_beyond_noise)
    assert found <= allowed(n_runs)


@pytest.mark.parametrize(("n_changed", "rate"), [(20, 0.1), (60, 0.07), (200, 0.06)])
def test_moderately_skewed_differences_without_a_mean_are_marked_in_at_most_10_percent_of_runs(n_changed, rate, seed):
    """Rows that changed nothing on average: the pairs are not alike both ways round, and nothing is proved.

    With much more skewed differences, the rate is far higher (docs/versions.md).
    """
    rng, n_runs, found = np.random.default_rng(seed), 600, 0
    for _ in range(n_runs):
        differences = np.zeros((300, 20))
        shared = rng.exponential(size=(n_changed, 1)) - 1
        differences[:n_changed] = 0.7 * shared + 0.3 * (rng.exponential(size=(n_changed, 20)) - 1)
        flips = _SignFlips(300, 20)
        found += bool((flips.add(differences) > flips.threshold).any())
    assert found <= allowed(n_runs, rate)


def test_the_test_finds_what_is_there(seed):
    rng, found = np.random.default_rng(seed), 0
    for _ in range(50):
        differences = rng.normal(size=(200, 50))
        differences[:, 7] += 0.5  # seven standard errors
        flips = _SignFlips(200, 50)
        found += bool(flips.add(differences)[7] > flips.threshold)
    assert found >= 45


def test_a_class_that_no_bag_predicts_is_not_marked():
    X, y = np.zeros((40, 1)), np.repeat([0, 1], [39, 1])
    old, new = (
        BaggedClassifier(DummyClassifier(), scheme=Subbagging(10), n_bags=50, random_state=seed).fit(X, y)
        for seed in (0, 1)
    )
    assert not compare_versions(old, new, X[:2]).beyond_noise.any()
