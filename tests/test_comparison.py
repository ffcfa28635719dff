"""Check what docs/compare.md says about other libraries, on their installed versions."""

import inspect

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import BaggingRegressor, RandomForestRegressor
from sklearn.linear_model import LinearRegression
from sklearn.svm import SVR

from stablebag import BaggedRegressor, leave_one_out_error

X = np.random.default_rng(0).normal(size=(60, 3))
Y = X[:, 0] + 0.1 * np.random.default_rng(1).normal(size=60)


class CountingSVR(SVR):
    """Keeps how many rows it was given."""

    def fit(self, X, y, sample_weight=None):
        self.n_rows_ = len(y)
        return super().fit(X, y, sample_weight)


def test_only_scikit_learn_gives_all_rows_to_learners_that_take_weights():
    theirs = BaggingRegressor(CountingSVR(), n_estimators=3, max_samples=0.5, bootstrap=False, random_state=0).fit(X, Y)
    assert {learner.n_rows_ for learner in theirs.estimators_} == {60}
    ours = BaggedRegressor(CountingSVR(), n_bags=3, random_state=0).fit(X, Y)
    assert {learner.n_rows_ for learner in ours.estimators_} == {30}


def test_scikit_learn_has_out_of_bag_scores_only_for_the_bootstrap():
    with pytest.raises(ValueError, match="bootstrap"):
        BaggingRegressor(bootstrap=False, max_samples=0.5, oob_score=True).fit(X, Y)
    assert leave_one_out_error(BaggedRegressor(LinearRegression(), n_bags=40, random_state=0).fit(X, Y)).value < 1


def test_scikit_learn_bagging_has_neither_intervals_nor_certificates():
    names = {name for name, _ in inspect.getmembers(BaggingRegressor)}
    assert not {name for name in names if "interval" in name or "certif" in name or "stab" in name}


def test_mapie_regressor_cannot_be_cloned_and_has_a_fixed_number_of_bags():
    regression = pytest.importorskip("mapie.regression")
    peer = regression.JackknifeAfterBootstrapRegressor(LinearRegression(), resampling=60, random_state=0)
    with pytest.raises(TypeError):
        clone(peer)
    peer.fit_conformalize(X, Y)
    assert peer.predict_interval(X[:2])[1].shape == (2, 2, 1)
    methods = inspect.getsource(regression.JackknifeAfterBootstrapRegressor)
    assert '"plus"' in methods
    assert '"minmax"' in methods
    subsample = pytest.importorskip("mapie.subsample").Subsample(n_resamplings=7, random_state=0)
    assert len(list(subsample.split(X))) == 7


def test_mapie_fits_exactly_the_rows_of_a_bag_with_or_without_replacement():
    regression, subsample = pytest.importorskip("mapie.regression"), pytest.importorskip("mapie.subsample")
    for replace in (True, False):
        bags = subsample.Subsample(n_resamplings=60, n_samples=20, replace=replace, random_state=0)
        peer = regression.JackknifeAfterBootstrapRegressor(CountingSVR(), resampling=bags, random_state=0)
        peer.fit_conformalize(X, Y)
        fitted = peer._mapie_regressor.estimator_.estimators_
        assert {learner.n_rows_ for learner in fitted} == {20}
        sizes = {len(set(train)) for train, _ in bags.split(X)}
        assert (sizes == {20}) == (not replace)
    assert any("Classifier" in name for name in vars(pytest.importorskip("mapie.classification")))


def test_scikit_learn_draws_bags_with_or_without_replacement():
    for bootstrap in (True, False):
        bags = BaggingRegressor(
            LinearRegression(), n_estimators=5, max_samples=0.5, bootstrap=bootstrap, random_state=0
        )
        repeats = any(len(set(rows)) < len(rows) for rows in bags.fit(X, Y).estimators_samples_)
        assert repeats == bootstrap


def test_forestci_needs_a_bootstrap_and_its_variances_can_be_negative():
    forestci = pytest.importorskip("forestci")
    forest = RandomForestRegressor(20, random_state=0).fit(X, Y)
    assert forestci.random_forest_error(forest, X.shape, X, calibrate=False).min() < 0
    whole = RandomForestRegressor(20, bootstrap=False, random_state=0).fit(X, Y)
    with pytest.raises(ValueError, match="bootstrap"):
        forestci.random_forest_error(whole, X.shape, X, calibrate=False)
