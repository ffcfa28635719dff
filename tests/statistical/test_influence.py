"""The error rate of `suspects` for rows that change predictions, in simulations where no row has an effect.

Each test fails by chance at most once in a million runs. benchmarks/suspects_error_rate.py has more of the same.
"""

import numpy as np
import pytest
from scipy import stats
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

from stablebag import BaggedClassifier, BaggedRegressor, BernoulliSubbagging, Subbagging, suspects
from stablebag.measuring.suspects import adjusted_p_values

pytestmark = pytest.mark.slow

FALSE_ALARM, ALPHA = 1e-6, 0.05
OUTPUTS = {
    "normal": lambda rng: rng.normal(size=(60, 5)),
    "Cauchy": lambda rng: rng.standard_cauchy(size=(60, 5)),
    "rare": lambda rng: (rng.random((60, 2)) < 0.02).astype(float),
    "classes": lambda rng: np.eye(3)[rng.choice(3, size=(60, 4), p=[0.5, 0.48, 0.02])].reshape(60, -1),
}


def most_lists(n):
    """Return the largest plausible number of lists if each of n is made with probability at most 5%."""
    return stats.binom.isf(FALSE_ALARM, n, ALPHA)


@pytest.mark.parametrize("outputs", OUTPUTS)
@pytest.mark.parametrize(
    "scheme", [Subbagging(0.5), Subbagging(0.1), Subbagging(0.9), BernoulliSubbagging(0.1)], ids=str
)
def test_rows_without_an_effect_are_listed_at_most_at_the_declared_rate(scheme, outputs, seed):
    lists, n = 0, 60
    for repetition in range(n):
        rng = np.random.default_rng([seed, repetition])
        bags = scheme.resolve(25).draw(60, int(rng.integers(2**31)))
        p_values = adjusted_p_values(bags, OUTPUTS[outputs](rng), ALPHA, int(rng.integers(2**31)))
        lists += bool((p_values <= ALPHA).any())
    assert lists <= most_lists(n)


def test_rows_next_to_one_with_an_effect_are_listed_at_most_at_the_declared_rate(seed):
    found = others = 0
    for repetition in range(60):
        rng = np.random.default_rng([seed, repetition])
        bags = Subbagging(0.5).resolve(25).draw(60, int(rng.integers(2**31)))
        outputs = rng.normal(size=(60, 5)) + 3 * bags.inclusion[:, [0]]
        p_values = adjusted_p_values(bags, outputs, ALPHA, int(rng.integers(2**31)))
        found += p_values[0] <= ALPHA
        others += bool((p_values[1:] <= ALPHA).any())
    assert found == 60
    assert others <= most_lists(60)


class Heavy(RegressorMixin, BaseEstimator):
    """Ignores the rows, and predicts Cauchy numbers."""

    def __init__(self, random_state=None):
        self.random_state = random_state

    def fit(self, X, y):
        self.numbers_ = np.random.default_rng(self.random_state).standard_cauchy(size=40)
        return self

    def predict(self, X):
        return self.numbers_[: len(X)]


class Seldom(ClassifierMixin, BaseEstimator):
    """Ignores the rows, and rarely predicts the second class."""

    def __init__(self, random_state=None):
        self.random_state = random_state

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self.second_ = np.random.default_rng(self.random_state).random(40) < 0.03
        return self

    def predict_proba(self, X):
        second = self.second_[: len(X)].astype(float)
        return np.column_stack([1 - second, second])

    def predict(self, X):
        return self.classes_[self.second_[: len(X)].astype(int)]


@pytest.mark.parametrize("groups", [None, np.repeat(np.arange(20), 2)], ids=["rows", "groups"])
@pytest.mark.parametrize(("kind", "size"), [(Heavy, 0.1), (Heavy, 0.5), (Heavy, 0.8), (Seldom, 0.3), (Seldom, 0.8)])
def test_learners_that_ignore_rows_rarely_list_any(kind, size, groups, seed):
    lists, n = 0, 20
    bagged = BaggedRegressor if kind is Heavy else BaggedClassifier
    X, y = np.arange(40.0)[:, None], np.arange(40) % 2
    for repetition in range(n):
        options = {"scheme": Subbagging(size), "n_bags": 60, "random_state": 1000 * seed + repetition}
        if kind is Heavy:
            options["prediction_range"] = None
        model = bagged(kind(), **options).fit(X, y, groups=groups)
        lists += bool(suspects(model, X[:8]).influential)
    assert lists <= most_lists(n)
