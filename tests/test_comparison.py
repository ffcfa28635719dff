"""Check what docs/compare.md and docs/from_*.md say about other libraries, on their installed versions."""

import importlib
import inspect
import warnings
from importlib.metadata import requires
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import BaggingRegressor, RandomForestRegressor
from sklearn.linear_model import LinearRegression
from sklearn.svm import SVR
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import stablebag
from stablebag import (
    BaggedClassifier,
    BaggedRegressor,
    ClassicalBagging,
    leave_one_out,
    leave_one_out_error,
    suspects,
)

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


def names_of(module):
    """The names in a module of another library; the test is skipped where the library is not installed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # pyDVL 0.10 calls deprecated parts of its dependencies
        pytest.importorskip(module.split(".")[0])
        return set(dir(importlib.import_module(module)))


@pytest.mark.parametrize(("module", "names"), [
    ("mapie.regression", ["SplitConformalRegressor", "CrossConformalRegressor", "TimeSeriesRegressor"]),
    ("mapie.regression", ["ConformalizedQuantileRegressor", "CrossConformalizedQuantileRegressor"]),
    ("mapie.classification", ["SplitConformalClassifier", "CrossConformalClassifier"]),
    ("mapie.conformity_scores", ["GammaConformityScore", "ResidualNormalisedScore", "LACConformityScore"]),
    ("mapie.conformity_scores", ["APSConformityScore", "RAPSConformityScore", "TopKConformityScore"]),
    ("mapie.risk_control", ["precision", "recall"]),
    ("mapie.calibration", ["TopLabelCalibrator", "VennAbersCalibrator"]),
    ("mapie.exchangeability_testing", ["PermutationTest"]),
    ("cleanlab.filter", ["find_label_issues"]),
    ("cleanlab.rank", ["get_label_quality_scores"]),
    ("cleanlab.count", ["num_label_issues"]),
    ("cleanlab.classification", ["CleanLearning"]),
    ("cleanlab.regression.learn", ["CleanLearning"]),
    ("cleanlab.data_valuation", ["data_shapley_knn"]),
    ("pydvl.valuation", ["LOOValuation", "DataOOBValuation", "GroupedDataset", "ShapleyValuation"]),
    ("pydvl.valuation", ["MSRBanzhafValuation", "BetaShapleyValuation", "LeastCoreValuation", "KNNShapleyValuation"]),
])  # fmt: skip
def test_other_libraries_have_the_classes_and_functions_that_pages_name(module, names):
    assert set(names) <= names_of(module)


def test_stablebag_has_none_of_what_pages_call_missing():
    missing = ("time", "risk", "calibrat", "exchangeab", "quantile", "shapley", "banzhaf", "num_label", "duplicate")
    assert not [name for name in stablebag.__all__ for part in missing if part in name.lower()]


def test_mapie_takes_groups_in_cross_conformal_and_several_levels():
    regression = pytest.importorskip("mapie.regression")
    assert "groups" in inspect.signature(regression.CrossConformalRegressor.fit_conformalize).parameters
    bags = pytest.importorskip("mapie.subsample").Subsample(n_resamplings=60, random_state=0)
    peer = regression.JackknifeAfterBootstrapRegressor(LinearRegression(), confidence_level=[0.5, 0.9], resampling=bags)
    assert peer.fit_conformalize(X, Y).predict_interval(X)[1].shape == (60, 2, 2)


def test_forestci_takes_our_models_with_counts_but_does_not_calibrate_them():
    forestci = pytest.importorskip("forestci")
    model = BaggedRegressor(DecisionTreeRegressor(), scheme=ClassicalBagging(1.0), n_bags=100, random_state=0).fit(X, Y)
    counts = np.stack([np.bincount(rows, minlength=60) for rows in model.estimators_samples_], axis=1)
    variance = forestci.random_forest_error(model, X.shape, X, inbag=counts, calibrate=False)
    single = np.stack([learner.predict(X) for learner in model.estimators_])
    covariance = (counts - 1) @ (single - single.mean(axis=0)) / 100
    noise = 60 * np.mean(counts.var(axis=1)) * single.var(axis=0) / 100
    np.testing.assert_allclose(variance, (covariance**2).sum(axis=0) - noise)
    with pytest.raises((TypeError, AttributeError)):
        forestci.random_forest_error(model, X.shape, X, inbag=counts, calibrate=True)
    assert leave_one_out(model, X).debiased_rms().min() >= 0


def test_forestci_estimates_are_positive_after_calibration():
    forestci = pytest.importorskip("forestci")
    forest = RandomForestRegressor(20, random_state=0).fit(X, Y)
    assert forestci.random_forest_error(forest, X.shape, X, calibrate=True).min() > 0


def test_cleanlab_takes_our_out_of_bag_probabilities_and_chooses_the_length_of_its_list():
    issues = pytest.importorskip("cleanlab.filter")
    y = (X[:, 0] > 0).astype(int)
    y[:3] = 1 - y[:3]
    model = BaggedClassifier(DecisionTreeClassifier(), n_bags=100, oob_score=True, random_state=0).fit(X, y)
    found = issues.find_label_issues(
        y, model.oob_decision_function_, return_indices_ranked_by="self_confidence", n_jobs=1
    )
    assert 0 < len(found) < 20
    assert len(suspects(model, X[:2], k=2).unusual) == 2


def test_cleanlab_has_checks_for_more_than_labels():
    folder = Path(pytest.importorskip("cleanlab").__file__).parent / "datalab" / "internal" / "issue_manager"
    for kind in ("duplicate", "outlier", "noniid", "imbalance", "null"):
        assert (folder / f"{kind}.py").exists()


def test_pydvl_excludes_numpy_2():
    pytest.importorskip("pydvl")
    assert any(line.startswith("numpy") and "<2" in line for line in requires("pydvl"))


def test_data_oob_values_of_full_trees_are_out_of_bag_probabilities():
    names_of("pydvl.valuation")
    from pydvl.valuation import DataOOBValuation, Dataset

    y = (X[:, 0] > 0.3 * X[:, 1]).astype(int)
    model = BaggedClassifier(DecisionTreeClassifier(), n_bags=60, oob_score=True, random_state=0).fit(X, y)
    result = DataOOBValuation(model).fit(Dataset(X, y)).result
    values = np.asarray(result.values)[np.argsort(result.indices)]
    np.testing.assert_allclose(values, model.oob_decision_function_[range(60), y], rtol=0, atol=1e-15)
