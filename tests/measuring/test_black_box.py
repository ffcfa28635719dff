import numpy as np
import pytest
from scipy.stats import binom
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeRegressor

from stablebag import FunctionRegressor
from stablebag.measuring import StabilityTest, stability_test
from stablebag.measuring.black_box import _chance, _critical

GOLDEN = [(10, 0.1, 0, 0.143398599540), (10, 0.3, 1, 0.179682203708), (30, 0.1, 1, 0.053847373139)]
POWERS = [(10, 0.1, 0.0, 0.143398599540), (10, 0.1, 0.02, 0.117167096230), (10, 0.3, 0.02, 0.847034733935),
          (30, 0.1, 0.02, 0.563467726130)]  # fmt: skip

rng = np.random.default_rng(0)
X = rng.normal(size=(500, 3))
Y = X[:, 0] + rng.normal(size=500)


@pytest.mark.parametrize(("n_sets", "delta", "critical", "chance"), GOLDEN)
def test_critical_numbers_equal_golden_values(n_sets, delta, critical, chance):
    assert _critical(n_sets, delta, 0.05) == (critical, pytest.approx(chance, abs=1e-11))


@pytest.mark.parametrize(("n_sets", "delta", "true_delta", "power"), POWERS)
def test_powers_equal_golden_values(n_sets, delta, true_delta, power):
    assert _chance(n_sets, true_delta, *_critical(n_sets, delta, 0.05)) == pytest.approx(power, abs=1e-11)


@pytest.mark.parametrize("n_sets", [1, 5, 40])
@pytest.mark.parametrize("delta", [0.0, 0.05, 0.5, 1.0])
@pytest.mark.parametrize("alpha", [0.0, 0.05, 0.5, 1.0])
def test_the_level_is_exactly_alpha_at_delta_and_lower_beyond(n_sets, delta, alpha):
    rule = _critical(n_sets, delta, alpha)
    assert _chance(n_sets, delta, *rule) == pytest.approx(alpha, abs=1e-12)
    for worse in np.linspace(delta, 1, 5):
        assert _chance(n_sets, worse, *rule) <= alpha + 1e-12


def test_number_of_data_sets_equals_golden_value():
    result = stability_test(DummyRegressor(), X, Y, 0.5, 0.1, 50, random_state=0)
    assert (result.n_sets, result.n_available, result.n_unlabelled) == (9, 500, 0)
    more = stability_test(DummyRegressor(), X, Y, 0.5, 0.1, 50, X_unlabelled=X[:100] + 1, random_state=0)
    assert (more.n_sets, more.n_unlabelled) == (10, 100)


def test_distances_compare_fits_with_and_without_the_last_row():
    result = stability_test(DummyRegressor(), X, Y, 0.01, 0.1, 50, random_state=0)
    # The mean of 50 rows minus that of 49: each is one fiftieth of the last row's distance from the others' mean.
    assert result.distances.shape == (9,)
    assert (result.distances < 5 * 3 / 50).all()
    assert result.n_exceeding == (result.distances > 0.01).sum()
    again = stability_test(DummyRegressor(), X, Y, 0.01, 0.1, 50, n_jobs=2, random_state=0)
    np.testing.assert_array_equal(result.distances, again.distances)


@pytest.mark.slow
def test_a_perfectly_stable_learner_is_declared_stable_as_often_as_the_power_says():
    learner = DummyRegressor(strategy="constant", constant=1.0)
    results = [stability_test(learner, X, Y, 0.0, 0.3, 99, random_state=k) for k in range(200)]
    power = results[0].power(0.0)
    assert power == pytest.approx(0.05 / 0.7**5)  # five data sets, and the verdict at none is drawn at random
    declared = sum(result.declared_stable for result in results)
    # A false alarm by chance once in a million runs.
    assert binom.ppf(5e-7, 200, power) <= declared <= binom.isf(5e-7, 200, power)
    assert all(result.n_exceeding == 0 for result in results)


@pytest.mark.slow
def test_an_unstable_learner_is_rarely_declared_stable():
    results = [stability_test(DecisionTreeRegressor(), X, Y, 1e-9, 0.1, 40, random_state=k) for k in range(60)]
    assert sum(result.declared_stable for result in results) <= binom.isf(1e-6, 60, 0.05)


def test_explain_says_that_running_a_learner_reveals_little():
    text = " ".join(str(stability_test(DecisionTreeRegressor(), X, Y, 0.5, 0.1, 100, random_state=0)).split())
    assert "4 disjoint data sets of 100 rows" in text
    assert "Running a learner reveals little about its stability" in text
    easy = StabilityTest(True, 0.1, 0.3, 0.05, 10, 40, 0, np.zeros(40), *_critical(40, 0.3, 0.05), 440, 0)
    assert "reveals little" not in str(easy)
    for true_delta in (0.0, 0.02, 0.1, 0.3, 0.9):
        assert easy.power(true_delta) <= easy.ceiling(true_delta) + 1e-12


def test_ceiling_equals_golden_value():
    result = StabilityTest(True, 0.1, 0.1, 0.05, 50, 30, 0, np.zeros(30), *_critical(30, 0.1, 0.05), 1530, 0)
    assert result.ceiling(0.02) == pytest.approx(0.643393978340, abs=1e-9)


def test_classifiers_are_compared_by_their_probabilities():
    result = stability_test(LogisticRegression(), X, Y > 0, 0.5, 0.1, 50, random_state=0)
    assert result.distances.max() < 0.5


@pytest.mark.parametrize(("change", "error", "words"), [
    ({"n_samples": 500}, ValueError, "too few for a data set"), ({"n_samples": 1}, ValueError, "'n_samples'"),
    ({"epsilon": -1}, ValueError, "'epsilon'"), ({"delta": 2}, ValueError, "'delta'"),
    ({"alpha": 1.5}, ValueError, "'alpha'"), ({"estimator": DummyRegressor}, TypeError, "'estimator'"),
    ({"y": Y[:-1]}, ValueError, "inconsistent"),
])  # fmt: skip
def test_bad_input_raises(change, error, words):
    arguments = {"estimator": DummyRegressor(), "X": X, "y": Y, "epsilon": 0.1, "delta": 0.1, "n_samples": 50, **change}
    with pytest.raises(error, match=words):
        stability_test(**arguments)


def infinite(X, y, seed):
    return lambda points: np.full(len(points), np.inf)


def infinite_without_the_last(X, y, seed):
    return lambda points: np.full(len(points), np.inf if len(y) < 5 else 0.0)


@pytest.mark.parametrize("algorithm", [infinite, infinite_without_the_last])
def test_infinite_predictions_raise(algorithm):
    X, y = np.zeros((60, 1)), np.arange(60.0)
    with pytest.raises(ValueError, match="FunctionRegressor predicted NaN or infinity on data set 0"):
        stability_test(FunctionRegressor(algorithm), X, y, epsilon=1.0, delta=0.5, n_samples=5, random_state=0)
