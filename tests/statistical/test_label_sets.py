"""Coverage of label sets by the jackknife+, in simulation. Each test declares how often it may fail by chance."""

import numpy as np
import pytest
from scipy.stats import binom
from sklearn.neighbors import KNeighborsClassifier

from stablebag import BaggedClassifier, Subbagging, predict_set, random_n_bags

pytestmark = pytest.mark.slow

FALSE_ALARM = 1e-6
LEVEL = 0.8  # at least 0.6 is proved
TRIALS = 150


def drawn(n_units, seed, trial, *, groups):
    """Return labels that are hard to predict, and a row drawn from a new group; large groups have their own labels."""
    rng = np.random.default_rng([seed, trial])
    large = rng.random(n_units + 1) < 0.4
    units = np.repeat(np.arange(n_units + 1), np.where(large, 15, 1)) if groups else np.arange(n_units + 1)
    X = rng.normal(size=(len(units), 2)) + (3.0 * large[units, None] if groups else 0.0)
    y = np.where(large[units] & groups, 0, rng.integers(1, 4, len(units)))  # of small units, nothing can be learned
    new = rng.choice(np.flatnonzero(units == n_units))
    seen = units < n_units
    return X[seen], y[seen], units[seen], X[[new]], y[[new]]


@pytest.mark.filterwarnings("ignore:These sets cover all classes together")
@pytest.mark.parametrize("groups", [False, True])
def test_new_rows_are_covered_as_guaranteed(seed, groups):
    # One new row per data set makes trials independent; the number of bags is random, as the proof needs. Labels are
    # coin tosses, so sets cannot cover because of good predictions.
    n, covered, scheme = 16, 0, Subbagging(8)
    for trial in range(TRIALS):
        X, y, units, point, label = drawn(n, seed, trial, groups=groups)
        n_bags = random_n_bags(scheme, n, 40, random_state=trial)
        model = BaggedClassifier(KNeighborsClassifier(1), scheme=scheme, n_bags=n_bags, random_state=trial)
        model.fit(X, y, groups=units if groups else None)
        sets = predict_set(model, point, method="jackknife+", confidence_level=LEVEL, by_class=False)
        covered += bool((sets.members & (sets.labels == label)).any())
    assert covered >= binom.ppf(FALSE_ALARM, TRIALS, 2 * LEVEL - 1)


IMBALANCED = {  # the number of rows, and the chance of each class
    "11 %": (60, [0.89, 0.11]),
    "3 %": (160, [0.97, 0.03]),
    "three classes": (80, [0.65, 0.25, 0.1]),
}


@pytest.mark.filterwarnings("ignore:Every set has", "ignore:These sets cover all classes together")
@pytest.mark.parametrize("name", IMBALANCED)
def test_every_class_is_covered_as_guaranteed_but_a_rare_one_only_by_class(seed, name):
    # One new row of each class per data set makes the trials of a class independent. At level 0.8, at least 0.6 of each
    # class is guaranteed; a class with fewer than four training rows is in every set. FALSE_ALARM is the false-alarm
    # rate of each class. Without by_class, 0.1 to 0.3 of the rarest class are covered.
    n, chances = IMBALANCED[name]
    trials, labels = 100, np.arange(len(chances))
    covered, overall = np.zeros(len(chances), dtype=int), 0
    for trial in range(trials):
        rng = np.random.default_rng([seed, trial])
        y = np.concatenate([rng.choice(labels, n, p=chances), labels])
        y[:2] = 0, 1  # a model needs two classes
        X = 0.7 * y[:, None] + rng.normal(size=(len(y), 2))
        scheme = Subbagging(0.5)
        n_bags = random_n_bags(scheme, n, 30, random_state=trial)
        model = BaggedClassifier(KNeighborsClassifier(5), scheme=scheme, n_bags=n_bags, random_state=trial)
        model.fit(X[:n], y[:n])
        points = model.predict_once(X[n:])
        covered += predict_set(model, points, method="jackknife+", confidence_level=LEVEL).contains(y[n:])
        at_once = predict_set(model, points, method="jackknife+", confidence_level=LEVEL, by_class=False)
        overall += at_once.contains(y[n:])[-1]
    assert (covered >= binom.ppf(FALSE_ALARM, trials, 2 * LEVEL - 1)).all()
    assert overall < binom.ppf(FALSE_ALARM, trials, 2 * LEVEL - 1)


def test_coverage_of_sets_is_typically_near_the_level():
    # Not proved, but typical of the jackknife+: with many test rows of one data set, coverage is near the level.
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2300, 2))
    y = (X[:, 0] + rng.normal(size=2300) > 0).astype(int) + 2 * (X[:, 1] + rng.normal(size=2300) > 0)
    model = BaggedClassifier(KNeighborsClassifier(5), n_bags=100, random_state=0).fit(X[:300], y[:300])
    sets = predict_set(model, X[300:], method="jackknife+", confidence_level=0.9)
    assert 0.85 < sets.coverage(y[300:]) < 0.95
    assert all(0.7 < share < 1 for share in sets.coverage_by_class(y[300:]).values())
