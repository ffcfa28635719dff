"""Coverage of label sets by the jackknife+, in simulation. Each test declares how often it may fail by chance."""

import numpy as np
import pytest
from scipy.stats import binom
from sklearn.neighbors import KNeighborsClassifier

from stablebag import BaggedClassifier, Subbagging, predict_set, random_n_bags

FALSE_ALARM = 1e-6
LEVEL = 0.8  # at least 0.6 is proved
TRIALS = 150


def drawn(n_units, seed, trial, *, groups):
    """Labels that are hard to tell, and a row drawn at random from a new unit; large units have labels of their own."""
    rng = np.random.default_rng([seed, trial])
    large = rng.random(n_units + 1) < 0.4
    units = np.repeat(np.arange(n_units + 1), np.where(large, 15, 1)) if groups else np.arange(n_units + 1)
    X = rng.normal(size=(len(units), 2)) + (3.0 * large[units, None] if groups else 0.0)
    y = np.where(large[units] & groups, 0, rng.integers(1, 4, len(units)))  # of small units, nothing can be learned
    new = rng.choice(np.flatnonzero(units == n_units))
    seen = units < n_units
    return X[seen], y[seen], units[seen], X[[new]], y[[new]]


@pytest.mark.parametrize("groups", [False, True])
def test_new_rows_are_covered_as_is_proved(seed, groups):
    # One new row for each data set, so that trials are independent; the number of bags is random, as the proof needs.
    # Labels of the rows or units in question are tosses of a coin, so a set that covers cannot be that of a good guess.
    n, covered, scheme = 16, 0, Subbagging(8)
    for trial in range(TRIALS):
        X, y, units, point, label = drawn(n, seed, trial, groups=groups)
        n_bags = random_n_bags(scheme, n, 40, random_state=trial)
        model = BaggedClassifier(KNeighborsClassifier(1), scheme=scheme, n_bags=n_bags, random_state=trial)
        model.fit(X, y, groups=units if groups else None)
        sets = predict_set(model, point, method="jackknife+", confidence_level=LEVEL)
        covered += bool((sets.members & (sets.labels == label)).any())
    assert covered >= binom.ppf(FALSE_ALARM, TRIALS, 2 * LEVEL - 1)


def test_at_a_level_that_is_typical_the_sets_have_it():
    # Not proved, but how the jackknife+ behaves: with many test rows of one data set, near the level.
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2300, 2))
    y = (X[:, 0] + rng.normal(size=2300) > 0).astype(int) + 2 * (X[:, 1] + rng.normal(size=2300) > 0)
    model = BaggedClassifier(KNeighborsClassifier(5), n_bags=100, random_state=0).fit(X[:300], y[:300])
    sets = predict_set(model, X[300:], method="jackknife+", confidence_level=0.9)
    assert 0.85 < sets.coverage(y[300:]) < 0.95
