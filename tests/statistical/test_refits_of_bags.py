"""Changes of refitted bagged models on average over their bags, and their estimates, compared with enumeration.

Each test says how often it would fail if nothing were wrong.
"""

import itertools
import math

import numpy as np
import pytest
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.tree import DecisionTreeRegressor

from stablebag import BaggedRegressor, Subbagging
from stablebag.measuring import Perturbations
from stablebag.measuring.refits import refit_without_each, spread_of_a_few
from stablebag.models.fitted import Fitted
from stablebag.showing import comparison
from stablebag.showing.comparison import Comparison, bagged_by, select_rows
from stablebag.showing.study import rows_to_refit

pytestmark = pytest.mark.slow

FALSE_ALARM = 5.0  # standard errors of a mean of independent numbers: about once in a million times
Y = np.array([0.0, 1.0, 2.0, 2.5, 4.0, 9.0])  # the last row carries most of the change
SIZE, N_BAGS, N_SEEDS = 3, 30, 40


class Largest(RegressorMixin, BaseEstimator):
    """Predicts its largest target, and half of it at another point."""

    def fit(self, X, y):
        self.largest_ = float(np.max(y))
        return self

    def predict(self, X):
        return self.largest_ * np.asarray(X)[:, 0]


def enumerated(row):
    """Return the mean and the mean square of the change of a bag in which another row replaces the one left out."""
    changes = []
    for bag in itertools.combinations(range(len(Y)), SIZE):
        others = [other for other in range(len(Y)) if other not in bag]
        for other in others:
            now = [other if each == row else each for each in bag]
            changes.append(Y[now].max() - Y[list(bag)].max())
    return np.mean(changes), np.mean(np.square(changes))


@pytest.fixture(scope="module", autouse=True)
def always_estimated():
    """Estimate everything that was not refitted, even if a study would not because it is not close."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(comparison, "_CLOSE", math.inf)
        patched.setattr(comparison, "_FAR", 0.0)
        yield


@pytest.fixture(scope="module")
def many():
    """Return comparisons of many models with different seeds, refitted and estimated."""
    X, Z, rows = np.ones((len(Y), 1)), np.array([[1.0], [0.5]]), np.arange(len(Y))
    base, found = Perturbations(np.zeros(2), np.ones((len(Y), 2)), rows), []
    for seed in range(N_SEEDS):
        model = BaggedRegressor(
            Largest(), scheme=Subbagging(SIZE), n_bags=N_BAGS, prediction_range=None, random_state=seed
        ).fit(X, Y)
        raw, reused = Fitted(model).raw(Z), bagged_by(model, Z, rows)
        refits = refit_without_each(model, Z, rows, raw)
        spread = spread_of_a_few(model, Z, rows, raw, seed)
        some, weights = rows_to_refit(reused, 4, seed)
        few = select_rows(refits.moved, some), refits.spread[some], weights
        parts = (refits.moved, refits.spread), (None, spread), few
        found.append([Comparison(base, reused, 99, "", *each) for each in parts])
    return found


def close(values, expected, slack=0.0):
    error = np.std(values, ddof=1) / math.sqrt(len(values))
    return abs(np.mean(values) - expected) < FALSE_ALARM * error + slack


def test_refits_agree_with_enumeration_with_and_without_noise(many):
    points = (1 + 0.25) / 2  # the mean square over the two points, beside that at the first
    means, squares = np.array([enumerated(row) for row in range(len(Y))]).T
    noise = points * np.mean(squares - means**2) / N_BAGS
    limit = points * np.mean(means**2)
    assert close([one.bagged_rms**2 for one, *_ in many], limit + noise)
    assert close([one.noise**2 for one, *_ in many], noise)
    assert close([one.bagged_rms**2 - one.noise**2 for one, *_ in many], limit)


@pytest.mark.parametrize("place", [1, 2], ids=["from one bag of each row", "from refits without some rows"])
def test_estimated_changes_of_refits_agree_with_refits(many, place):
    # The noise of the reused bags is known up to a share of about 1 / n_bags of the change.
    literal = np.array([each[0].bagged_rms ** 2 for each in many])
    estimated = np.array([each[place].bagged_rms ** 2 for each in many])
    assert {each[place].how for each in many} == {"estimated"}
    assert close(estimated - literal, 0.0, slack=2 / N_BAGS * literal.mean())
    noise = [each[place].noise ** 2 - each[0].noise ** 2 for each in many]
    assert close(noise, 0.0, slack=2 / N_BAGS**2 * literal.mean())


def test_sampled_rows_give_the_same_mean(seed):
    rng = np.random.default_rng(seed)
    changes = np.exp(rng.normal(size=(40, 1)) * 2)  # few rows carry most of it
    reused = Perturbations(np.zeros(1), changes * rng.lognormal(size=(40, 1)), np.arange(40))
    found = []
    for draw in range(2000):
        rows, weights = rows_to_refit(reused, 10, draw)
        assert weights.sum() == pytest.approx(40)
        found.append(np.average(changes[rows, 0] ** 2, weights=weights))
    assert close(found, np.mean(changes**2))


def test_estimates_for_a_tree_agree_with_refits():
    rng = np.random.default_rng(0)
    X, y, Z = rng.normal(size=(60, 3)), rng.normal(size=60), rng.normal(size=(30, 3))
    rows, ratios = np.arange(60), []
    for seed in range(8):
        model = BaggedRegressor(DecisionTreeRegressor(), n_bags=100, random_state=seed).fit(X, y)
        raw, reused = Fitted(model).raw(Z), bagged_by(model, Z, rows)
        refits = refit_without_each(model, Z, rows, raw)
        both = (refits.moved, refits.spread), (None, spread_of_a_few(model, Z, rows, raw, seed))
        one, other = (Comparison(None, reused, 60, "", *each) for each in both)
        ratios.append(other.bagged_rms / one.bagged_rms)
    assert close(ratios, 1.0, slack=0.05)
    assert 0.8 < min(ratios) <= max(ratios) < 1.25
