"""Coverage of error intervals, and wrong verdicts, in simulation. Each test declares how often it may fail by chance.

Rows lie on a grid and noise has few values, so that the error of each fitted model is known exactly.
benchmarks/error_intervals.py makes the tables of docs/errors.md, with 10^6 fresh rows and more distributions.
"""

import numpy as np
import pytest
from scipy.stats import binom
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.linear_model import Ridge
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from stablebag import BaggedClassifier, BaggedRegressor, FixedRange, Subbagging, compare_errors, leave_one_out_error

pytestmark = pytest.mark.slow

FALSE_ALARM = 1e-6
GRID = np.stack(np.meshgrid(np.arange(8.0), np.arange(8.0)), axis=-1).reshape(-1, 2)
SIGNAL = np.sin(GRID[:, 0]) + (GRID[:, 1] > 3)
CLEAN = np.array([-1.0, 1.0]), np.array([0.5, 0.5])
HEAVY = np.array([-0.5, 0.5, -6.0, 6.0]), np.array([0.47, 0.47, 0.03, 0.03])
RANGE = FixedRange(-10, 10)


def least_covered(n_trials, level):
    """Fewer covered trials than this have a chance below the false-alarm rate where coverage is at least `level`."""
    return binom.ppf(FALSE_ALARM, n_trials, level)


def drawn(n, noise, rng):
    """Rows with their targets."""
    values, chances = noise
    places = rng.integers(0, len(GRID), n)
    return GRID[places], SIGNAL[places] + rng.choice(values, n, p=chances)


def risk(model, noise, power):
    """The exact expected loss of a fitted model at a new row."""
    values, chances = noise
    off = model.predict(GRID)[:, None] - SIGNAL[:, None] - values
    return float((np.abs(off) ** power @ chances).mean())


@pytest.mark.parametrize("noise", [CLEAN, HEAVY], ids=["clean", "heavy"])
@pytest.mark.parametrize("learner", [DecisionTreeRegressor(random_state=0), Ridge()], ids=["tree", "ridge"])
def test_the_error_of_the_fitted_model_is_covered(learner, noise, seed):
    n_trials, covered, proved = 120, 0, 0
    for trial in range(n_trials):
        rng = np.random.default_rng([seed, trial])
        X, y = drawn(60, noise, rng)
        model = BaggedRegressor(learner, n_bags=80, prediction_range=RANGE, random_state=trial).fit(X, y)
        error, true = leave_one_out_error(model, "absolute"), risk(model, noise, 1)
        covered += true in error.interval()
        proved += true in error.interval(kind="proved")
    assert covered >= least_covered(n_trials, 0.93)
    assert proved == n_trials


def test_of_rare_classes_the_error_is_covered(seed):
    chance, n_trials, covered = np.where(GRID[:, 0] > 5, 0.3, 0.02), 120, 0
    for trial in range(n_trials):
        rng = np.random.default_rng([seed, trial])
        places = rng.integers(0, len(GRID), 150)
        y = (rng.random(150) < chance[places]).astype(int)
        settings = {"scheme": Subbagging(0.3), "n_bags": 80, "random_state": trial}
        model = BaggedClassifier(DecisionTreeClassifier(max_depth=3), **settings).fit(GRID[places], y)
        rare = model.predict_proba(GRID)[:, 1]
        true = float((2 * chance * (1 - rare) ** 2 + 2 * (1 - chance) * rare**2).mean())
        covered += true in leave_one_out_error(model, "brier").interval()
    assert covered >= least_covered(n_trials, 0.93)


class SoftThreshold(RegressorMixin, BaseEstimator):
    """Covariances with the target, moved towards zero by `threshold`."""

    def __init__(self, threshold=0.0):
        self.threshold = threshold

    def fit(self, X, y):
        covariance = X.T @ y / len(y)
        self.coef_ = np.sign(covariance) * np.maximum(np.abs(covariance) - self.threshold, 0)
        return self

    def predict(self, X):
        return X @ self.coef_


def test_where_comparisons_are_unstable_the_naive_interval_misses_and_ours_does_not(seed):
    """Two soft-thresholded least squares (arXiv 2508.04409): each is stable, and the difference of their errors is not.

    The naive interval is that of ten-fold cross-validation, for the difference of the two models fitted to all rows.
    """
    n, n_trials, thresholds = 100, 150, (0.1, 0.105)
    truth = np.array([1.0, 0.5, 0.25] + 7 * [0.0])
    covered, naive, wrong = 0, 0, 0
    for trial in range(n_trials):
        rng = np.random.default_rng([seed, trial])
        X = rng.normal(size=(n, 10))
        y = X @ truth + rng.normal(size=n)
        settings = {"scheme": Subbagging(0.5), "n_bags": 60, "prediction_range": None, "random_state": trial}
        a, b = (BaggedRegressor(SoftThreshold(each), **settings).fit(X, y) for each in thresholds)
        off = [((np.mean([part.coef_ for part in model.estimators_], axis=0) - truth) ** 2).sum() for model in (a, b)]
        found = compare_errors(a, b, "squared")
        covered += off[0] - off[1] in found.interval
        wrong += found.better == ("a" if off[0] > off[1] else "b")
        fold, losses = rng.permutation(n) % 10, np.empty(n)
        for k in range(10):
            test = fold == k
            losses[test] = np.subtract(*(
                (SoftThreshold(each).fit(X[~test], y[~test]).predict(X[test]) - y[test]) ** 2 for each in thresholds
            ))  # fmt: skip
        whole = [((SoftThreshold(each).fit(X, y).coef_ - truth) ** 2).sum() for each in thresholds]
        naive += abs(losses.mean() - whole[0] + whole[1]) <= 1.96 * losses.std(ddof=1) / np.sqrt(n)
    assert covered >= least_covered(n_trials, 0.95)
    assert naive <= binom.ppf(0.005, n_trials, 0.95)  # about 0.80 are covered; if 0.95 were, this would fail
    assert wrong <= binom.isf(FALSE_ALARM, n_trials, 0.05)


@pytest.mark.parametrize("noise", [CLEAN, HEAVY], ids=["clean", "heavy"])
def test_of_equal_learners_few_are_called_better(noise, seed):
    """Two models of one learner with different bags: one is hardly better, and is called so in at most 5 % of cases."""
    n_trials, called, wrong = 150, 0, 0
    for trial in range(n_trials):
        rng = np.random.default_rng([seed, trial])
        X, y = drawn(60, noise, rng)
        settings = {"n_bags": 60, "prediction_range": RANGE}
        tree = DecisionTreeRegressor(max_depth=4, random_state=0)
        a, b = (BaggedRegressor(tree, random_state=2 * trial + k, **settings).fit(X, y) for k in range(2))
        found = compare_errors(a, b, "absolute")
        called += found.better is not None
        wrong += found.better == ("a" if risk(a, noise, 1) > risk(b, noise, 1) else "b")
    assert called <= binom.isf(FALSE_ALARM, n_trials, 0.05)
    assert wrong <= called


def test_the_best_of_several_models_is_in_the_set(seed):
    n_trials, excluded, sizes = 100, 0, []
    for trial in range(n_trials):
        X, y = drawn(60, HEAVY, np.random.default_rng([seed, trial]))
        learners = {
            "deep": DecisionTreeRegressor(random_state=0),
            "ridge": Ridge(),
            "stump": DecisionTreeRegressor(max_depth=1),
        }
        settings = {"n_bags": 60, "prediction_range": RANGE, "random_state": trial}
        models = {name: BaggedRegressor(learner, **settings).fit(X, y) for name, learner in learners.items()}
        risks = {name: risk(model, HEAVY, 1) for name, model in models.items()}
        found = compare_errors(models, loss="absolute")
        excluded += min(risks, key=risks.get) not in found
        sizes.append(len(found))
    assert excluded <= binom.isf(FALSE_ALARM, n_trials, 0.05)
    assert 1 <= np.mean(sizes) < 3
