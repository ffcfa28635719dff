import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.ensemble import AdaBoostClassifier
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from stablebag import BaggedClassifier, BaggedRegressor, ParquetTable, Subbagging

X = np.random.default_rng(0).normal(size=(12, 2))
Y = np.repeat([0, 1], 6)


class Consumer(ClassifierMixin, BaseEstimator):
    """Adds what it is passed to its scores, and spoils it afterwards."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X, shift=None):
        return self.classes_[(self.decision_function(X, shift) > 0).astype(int)]

    def decision_function(self, X, shift=None, sample_weight=None):
        scores = X[:, 0] + (0 if shift is None else shift) + (0 if sample_weight is None else np.array(sample_weight))
        if isinstance(shift, np.ndarray):
            shift += 1000.0
        return scores


class WithProbabilities(Consumer):
    def predict_proba(self, X, shift=None):
        share = np.clip(0.5 + 0.1 * self.decision_function(X, shift), 0, 1)
        return np.stack([1 - share, share], axis=1)


class Regressor(RegressorMixin, BaseEstimator):
    def fit(self, X, y):
        return self

    def predict(self, X, shift=0.0):
        return X[:, 0] + shift


@pytest.fixture
def routing():
    with config_context(enable_metadata_routing=True):
        yield


def bagged(learner, **about):
    return BaggedClassifier(learner, n_bags=4, random_state=0, **about).fit(X, Y)


def test_metadata_reach_the_learners_predict_methods(routing):
    shift = np.linspace(0, 3, 12)
    model = bagged(WithProbabilities().set_predict_proba_request(shift=True).set_decision_function_request(shift=True))
    expected = WithProbabilities().fit(X, Y).predict_proba(X, shift.copy())
    np.testing.assert_allclose(model.predict_proba(X, shift=shift), expected)
    np.testing.assert_array_equal(model.predict(X, shift=shift), expected.argmax(axis=1))
    np.testing.assert_allclose(model.predict_log_proba(X, shift=shift), np.log(expected))
    np.testing.assert_allclose(model.decision_function(X, shift=shift), X[:, 0] + shift)
    np.testing.assert_array_equal(shift, np.linspace(0, 3, 12))  # no learner has reached another's


def test_learner_without_predict_proba_gets_metadata_in_predict(routing):
    model = bagged(Consumer().set_predict_request(shift=True))
    np.testing.assert_array_equal(model.predict(X, shift=100.0), np.ones(12))
    np.testing.assert_array_equal(model.predict_proba(X, shift=-100.0)[:, 0], np.ones(12))


def test_sample_weight_is_routed_like_other_metadata(routing):
    model = bagged(Consumer().set_decision_function_request(sample_weight=True))
    np.testing.assert_allclose(model.decision_function(X, sample_weight=np.arange(12)), X[:, 0] + np.arange(12))


def test_regressor_routes_metadata_too(routing):
    about = {"n_bags": 3, "random_state": 0, "prediction_range": None}
    model = BaggedRegressor(Regressor().set_predict_request(shift=True), **about).fit(X, Y)
    np.testing.assert_allclose(model.predict(X, shift=2.0), X[:, 0] + 2)
    np.testing.assert_allclose(model.predict(X), X[:, 0])


def test_pipelines_around_or_inside_route_metadata(routing):
    learner = WithProbabilities().set_predict_proba_request(shift=True)
    inside = bagged(make_pipeline(StandardScaler(), learner))
    assert (inside.predict_proba(X, shift=50.0)[:, 1] == 1).all()
    around = make_pipeline(StandardScaler(), BaggedClassifier(learner, n_bags=2, random_state=0)).fit(X, Y)
    assert (around.predict_proba(X, shift=50.0)[:, 1] == 1).all()


def test_metadata_that_nobody_requested_raise(routing):
    with pytest.raises(UnsetMetadataPassedError, match="shift"):
        bagged(WithProbabilities()).predict(X, shift=1.0)
    with pytest.raises(TypeError, match="tag"):
        bagged(WithProbabilities()).predict(X, tag=1.0)


@pytest.mark.parametrize("method", ["predict", "predict_proba", "predict_log_proba", "decision_function"])
def test_without_routing_metadata_for_predictions_raise(method):
    words = f"BaggedClassifier[.]{method} got an unexpected argument, shift. Remove it, or .* metadata routing"
    with pytest.raises(TypeError, match=words):
        getattr(bagged(WithProbabilities()), method)(X, shift=1.0)


def test_constant_models_get_no_metadata(routing):
    model = BaggedClassifier(
        Consumer().set_predict_request(shift=True), scheme=Subbagging(2), n_bags=30, random_state=0
    ).fit(X, Y)
    assert any(type(fitted).__name__ == "DummyClassifier" for fitted in model)
    share = np.mean([type(fitted).__name__ == "Consumer" for fitted in model])
    ones = np.mean([getattr(fitted, "class_prior_", [0])[0] == 1 and fitted.classes_[0] == 1 for fitted in model])
    np.testing.assert_allclose(model.predict_proba(X, shift=100.0)[:, 1], share + ones)


def test_metadata_for_rows_from_files_raise(routing, tmp_path):
    pandas = pytest.importorskip("pandas")
    pandas.DataFrame({"a": X[:, 0], "b": X[:, 1], "y": Y}).to_parquet(tmp_path / "table.parquet")
    table = ParquetTable(tmp_path / "table.parquet", target="y")
    model = BaggedClassifier(WithProbabilities().set_predict_proba_request(shift=True), n_bags=2, random_state=0)
    with pytest.raises(
        ValueError, match="predict_proba cannot pass shift to the learner for rows that are not in memory"
    ):
        model.fit(X, Y).predict_proba(table, shift=1.0)


def test_learner_without_routing_methods_works(routing):
    assert bagged(AdaBoostClassifier(n_estimators=1)).predict(X).shape == (12,)
