"""In other units everything is the same, times the unit: also where squares would leave the range of floats.

The units are powers of two, so that multiplying by one is exact, and so must be everything that scales with it.
"""

import math
from functools import cache

import numpy as np
import pytest
from sklearn.base import BaseEstimator, RegressorMixin

from stablebag import (
    BaggedRegressor,
    BernoulliSubbagging,
    FixedRange,
    ObservedRange,
    Subbagging,
    certify,
    leave_one_out,
    leave_one_out_error,
    leave_one_out_refit,
    predict_interval,
)
from stablebag.measuring import stability_test
from stablebag.showing.study import study

pytestmark = pytest.mark.slow

UNITS = [2.0**-900, 2.0**-565, 2.0**515, 2.0**900]  # 1e-271, 1e-170, 1e155, 1e271


class Nearest(RegressorMixin, BaseEstimator):
    """Predicts the target of the nearest row: in other units, exactly the same."""

    def fit(self, X, y):
        self.X_, self.y_ = X, y
        return self

    def predict(self, X):
        return self.y_[np.abs(X[:, :1] - self.X_[:, 0]).argmin(axis=1)]


@pytest.fixture(scope="module")
def plain(data):
    """What is found in the plain unit, once for each range and scheme."""
    return cache(lambda prediction_range, scheme: everything(data, 1.0, prediction_range, scheme))


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    return X, rng.normal(size=40), rng.normal(size=(6, 2))


def everything(data, unit, prediction_range, scheme):
    """Every number that scales with the targets, by name."""
    X, y, points = data[0], data[1] * unit, data[2]
    rule = {"fixed": FixedRange(-2 * unit, 2 * unit), "observed": ObservedRange(), "none": None}[prediction_range]
    settings = {"scheme": scheme, "prediction_range": rule, "n_bags": 120, "random_state": 0}
    model = BaggedRegressor(Nearest(), **settings).fit(X, y)
    once = model.predict_once(points)
    moved, reused, there = leave_one_out(model, once), certify(model, once, reused=True), certify(model, once)
    error = leave_one_out_error(model, "absolute")
    found = {
        "predict": model.predict(points), "left out": moved.left_out, "mean": moved.mean(), "norm": moved.norm(2),
        "norm 7": moved.norm(7), "epsilon": moved.epsilon(0.1), "noise": moved.noise, "debiased": moved.debiased_rms(),
        "debiased mean": moved.debiased_rms("mean"), "scale": moved.estimated_scale, "range": moved.estimated_range,
        "effects": moved.most_influential(3)[1], "curve": moved.curve()[0],
        "reused": reused.epsilon(0.1), "reused rms": reused.rms(),
        "points": there.epsilon(0.3), "points rms": there.rms(),
        "deviation": there.standard_deviation,
        "refit": leave_one_out_refit(model, X, y, points, rows=[0, 1]).values,
        "error": np.array([error.value]), "error of it": np.array([error.standard_error]),
        "intervals": predict_interval(model, once).upper,
        "test": stability_test(Nearest(), X, y, unit, 0.1, 3, random_state=0).distances,
    }  # fmt: skip
    if rule is not None:
        found["certificate"] = np.array([certify(model).epsilon(share) for share in (0.05, 0.2, 0.6)])
        found["certificate mean"] = np.array([certify(model).mean()])
        found["reused anywhere"] = np.array([certify(model, reused=True).epsilon(0.2)])
    counts = {
        "delta": moved.delta(0.01 * unit), "in points": there.delta(0.3 * unit),
        "in reused": reused.delta(0.1 * unit), "most": moved.most_influential(3)[0],
    }  # fmt: skip
    return found, counts


@pytest.mark.parametrize("scheme", [Subbagging(0.5), BernoulliSubbagging(0.3)], ids=str)
@pytest.mark.parametrize("prediction_range", ["fixed", "observed", "none"])
@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: f"2^{int(math.log2(unit))}")
def test_everything_scales_with_the_targets(unit, prediction_range, scheme, data, plain):
    expected, same = plain(prediction_range, scheme)
    found, counts = everything(data, unit, prediction_range, scheme)
    for name, value in expected.items():
        assert np.any(value != 0), name
        np.testing.assert_allclose(found[name] / unit, value, rtol=1e-12, err_msg=name)
    for name, value in same.items():
        np.testing.assert_array_equal(counts[name], value, err_msg=name)


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: f"2^{int(math.log2(unit))}")
def test_bound_for_reused_bags_holds_in_any_unit(unit, data):
    X, y, points = data
    model = BaggedRegressor(Nearest(), n_bags=60, random_state=0).fit(X, y * unit)
    assert (leave_one_out(model, points).norm(2) <= certify(model, points, reused=True).rms()).all()


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: f"2^{int(math.log2(unit))}")
def test_study_is_the_same_in_any_unit(unit, data):
    X, y, _ = data
    bagged, settings = BaggedRegressor(Nearest(), n_bags=60), {"n_refits": 5, "n_points": 4}
    plain, scaled = (study(bagged, X[:30], y[:30] * u, X[30:], y[30:] * u, **settings) for u in (1.0, unit))
    for one, other in zip(*(made.facts().section("changes").facts for made in (plain, scaled)), strict=True):
        sizes = [np.array([fact["base"], fact["bagged"]]) for fact in (one, other)]
        np.testing.assert_allclose(sizes[1] / unit, sizes[0], rtol=1e-12, err_msg=one.name)
    rows, effects = scaled.most_influential(3)
    np.testing.assert_array_equal(rows, plain.most_influential(3)[0])
    assert np.isfinite(effects).all()
    for one, other in zip(plain.scores, scaled.scores, strict=True):
        back = 1.0 if one.name == "R2" else unit
        np.testing.assert_allclose(np.array(other[1:4]) / back, one[1:4], rtol=1e-12, err_msg=one.name)
    assert scaled.verdict().case == plain.verdict().case
    assert [row.number for row in scaled.suspects.influential] == [row.number for row in plain.suspects.influential]


def test_squared_losses_that_overflow_or_underflow_raise(data):
    X, y, _ = data
    for unit, words in ((2.0**900, "Clip predictions with prediction_range"), (2.0**-900, "Multiply the targets")):
        model = BaggedRegressor(Nearest(), n_bags=60, random_state=0).fit(X, y * unit)
        with pytest.raises(ValueError, match=words):
            leave_one_out_error(model, "squared")


def test_middle_of_a_range_does_not_overflow(data):
    X, y, points = data
    largest = 1.7e308
    rule = FixedRange(0.9 * largest, largest)
    model = BaggedRegressor(
        Nearest(), scheme=BernoulliSubbagging(0.02), n_bags=60, prediction_range=rule, random_state=0
    )
    model.fit(X, y)
    assert (model.bags_.sizes == 0).any()
    np.testing.assert_allclose(model.bag_predictions(points)[model.bags_.sizes == 0], 0.95 * largest)
