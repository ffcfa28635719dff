"""Test every row of the tables in docs/from_bagging.md, on the installed version of scikit-learn."""

import inspect
import pickle
import re
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_diabetes, load_iris
from sklearn.ensemble import BaggingClassifier, BaggingRegressor, HistGradientBoostingRegressor, StackingClassifier
from sklearn.exceptions import InconsistentVersionWarning, NotFittedError
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.metrics import mean_absolute_error
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from learners import RowRecorder
from marks import older
from stablebag import BaggedClassifier, BaggedRegressor, ClassicalBagging, Subbagging, on_progress
from stablebag.models import ensemble as versions

PAGE = Path(__file__).parent.parent / "docs" / "from_bagging.md"
DIABETES, IRIS = load_diabetes(return_X_y=True), load_iris(return_X_y=True)
X, Y = DIABETES[0][:60], DIABETES[1][:60]
CHECKS = {}


def row(start):
    """Register the test of the row whose first cell is `start`."""

    def mark(check):
        CHECKS[start] = check
        return check

    return mark


def rows_of_the_page():
    cells = [line.split("|")[1].strip() for line in PAGE.read_text().splitlines() if line.startswith("| ")]
    return [cell for cell in cells if cell not in ("`Bagging*`", "in scikit-learn")]


def test_every_row_of_the_tables_has_a_test():
    assert rows_of_the_page() == list(CHECKS)


# ------------------------------------------------------------------------------------------------------ different names


@row("`n_estimators=10`")
def _():
    assert inspect.signature(BaggingRegressor).parameters["n_estimators"].default == 10
    assert inspect.signature(BaggedRegressor).parameters["n_bags"].default == 500


@row("`max_samples=1.0, bootstrap=True`")
def _():
    ours = BaggedRegressor(scheme=ClassicalBagging(1.0), n_bags=3, random_state=0).fit(X, Y)
    theirs = BaggingRegressor(n_estimators=3, random_state=0).fit(X, Y)
    for samples in (ours.estimators_samples_, theirs.estimators_samples_):
        assert {len(rows) for rows in samples} == {60}
        assert all(len(np.unique(rows)) < 60 for rows in samples)
    again = BaggedRegressor(scheme="classical", n_bags=3, random_state=0).fit(X, Y)
    np.testing.assert_array_equal(again.predict(X), ours.predict(X))


@row("`max_samples=0.5, bootstrap=False`")
def _():
    assert BaggedRegressor().scheme == Subbagging(0.5)
    assert {len(set(rows)) for rows in BaggedRegressor(n_bags=3).fit(X, Y).estimators_samples_} == {30}


@row("`max_samples=100`")
def _():
    model = BaggedRegressor(scheme=Subbagging(50), n_bags=3).fit(X, Y)
    assert {len(rows) for rows in model.estimators_samples_} == {50}


@row("`estimator__C`, `n_estimators` in a search")
def _():
    grid = {"n_bags": [2, 3], "estimator__C": [1, 2], "scheme__bag_size": [0.5]}
    search = GridSearchCV(BaggedClassifier(SVC()), grid, scoring="roc_auc", cv=2)  # which asks for decision functions
    search.fit(IRIS[0], IRIS[1] == 2)
    assert np.isfinite(search.best_score_)


# ------------------------------------------------------------------------------------------------------------- the same


@row("`estimators_`, `len(model)`, `model[3]`, `for fitted in model`")
def _():
    for model in (BaggedRegressor(n_bags=5).fit(X, Y), BaggingRegressor(n_estimators=5).fit(X, Y)):
        assert len(model) == len(list(model)) == len(model.estimators_) == 5
        assert isinstance(model[3], DecisionTreeRegressor)


@row("`estimator_`, `n_estimators`, `n_classes_`")
def _():
    ours = BaggedClassifier(SVC(C=2), n_bags=4)
    assert ours.n_estimators == BaggingClassifier(SVC(C=2), n_estimators=4).n_estimators == 4
    for model in (ours.fit(*IRIS), BaggingClassifier(SVC(C=2), n_estimators=4).fit(*IRIS)):
        assert (model.n_estimators, model.n_classes_) == (4, 3)
        assert (type(model.estimator_), model.estimator_.C) == (SVC, 2)
        assert not hasattr(model.estimator_, "classes_")
    assert ours.set_params(estimator__C=3).estimator_.C == 2  # of the fit; the other changes with it
    listed = BaggedRegressor(scheme=Subbagging(2), n_bags="all")
    assert not hasattr(listed, "n_estimators")
    listed.fit(X[:4], Y[:4])
    assert (listed.n_estimators, type(listed.estimator_)) == (6, DecisionTreeRegressor)


class TakesCodesAlone(DecisionTreeClassifier):
    """Takes the labels 0, 1, ... alone, as XGBoost's does."""

    __module__ = "xgboost.stand_in"

    def fit(self, X, y, **params):
        if not np.array_equal(np.unique(y), np.arange(len(np.unique(y)))):
            raise ValueError("labels are not 0, 1, ...")
        return super().fit(X, y, **params)


@row("text labels for a learner that only takes 0, 1, ..., such as `XGBClassifier`")
def _():
    for kind, about in ((BaggedClassifier, {"n_bags": 4}), (BaggingClassifier, {"n_estimators": 4})):
        model = kind(TakesCodesAlone(), **about).fit(IRIS[0], np.array(["A", "B", "C"])[IRIS[1]])
        assert set(model.predict(IRIS[0])) == {"A", "B", "C"}


@row("`estimators_samples_`")
def _():
    for model in (
        BaggedRegressor(RowRecorder(), scheme="classical", n_bags=3).fit(X, Y),
        BaggingRegressor(KNeighborsRegressor(1), n_estimators=3).fit(X, Y),
    ):
        seen = [getattr(fitted, "X_", getattr(fitted, "_fit_X", None)) for fitted in model]
        for table, rows in zip(seen, model.estimators_samples_, strict=True):
            np.testing.assert_array_equal(table, X[rows])


@row("`estimators_features_`")
def _():
    for model in (
        BaggedRegressor(Ridge(), max_features=4, n_bags=3).fit(X, Y),
        BaggingRegressor(Ridge(), max_features=4, n_estimators=3).fit(X, Y),
    ):
        assert {len(set(columns.tolist())) for columns in model.estimators_features_} == {4}
        single = [fitted.predict(X[:, c]) for fitted, c in zip(model, model.estimators_features_, strict=True)]
        assert np.shape(single) == (3, 60)
    ours = BaggedRegressor(Ridge(), max_features=4, n_bags=3).fit(X, Y)
    assert all((np.diff(columns) > 0).all() for columns in ours.estimators_features_)


@row("`max_features`")
def _():
    wide = np.random.default_rng(0).normal(size=(20, 100))
    for given, size in ((3, 3), (0.5, 50), (0.001, 1), (0.29, 29)):
        model = BaggedRegressor(Ridge(), max_features=given, n_bags=2).fit(wide, wide[:, 0])
        assert {len(columns) for columns in model.estimators_features_} == {size}
        theirs = BaggingRegressor(Ridge(), max_features=given, n_estimators=2).fit(wide, wide[:, 0])
        assert {len(columns) for columns in theirs.estimators_features_} == {size if given != 0.29 else 28}


@row("`predict_proba`, or votes of a learner without it")
def _():
    for learner in (LogisticRegression(max_iter=500), SVC()):
        ours = BaggedClassifier(learner, n_bags=4, random_state=0).fit(*IRIS)
        theirs = BaggingClassifier(learner, n_estimators=4).fit(*IRIS)
        theirs.estimators_, theirs.estimators_features_ = list(ours), ours.estimators_features_
        np.testing.assert_allclose(ours.predict_proba(IRIS[0]), theirs.predict_proba(IRIS[0]))
        np.testing.assert_array_equal(ours.predict(IRIS[0]), theirs.predict(IRIS[0]))


@row("`predict_log_proba`")
def _():
    ours = BaggedClassifier(n_bags=4, random_state=0).fit(*IRIS)
    theirs = BaggingClassifier(n_estimators=4).fit(*IRIS)
    theirs.estimators_, theirs.estimators_features_ = list(ours), ours.estimators_features_
    with np.errstate(divide="ignore"):
        np.testing.assert_allclose(ours.predict_log_proba(IRIS[0]), theirs.predict_log_proba(IRIS[0]), atol=1e-12)
    assert np.isneginf(ours.predict_log_proba(IRIS[0])).any()


@row("`decision_function`, only if the learner has one")
def _():
    for learner, there in ((SVC(), True), (DecisionTreeClassifier(), False)):
        ours = BaggedClassifier(learner, n_bags=4, random_state=0).fit(*IRIS)
        theirs = BaggingClassifier(learner, n_estimators=4).fit(*IRIS)
        assert hasattr(ours, "decision_function") is hasattr(theirs, "decision_function") is there
        if there:
            theirs.estimators_, theirs.estimators_features_ = list(ours), ours.estimators_features_
            np.testing.assert_allclose(ours.decision_function(IRIS[0]), theirs.decision_function(IRIS[0]))


@row("`oob_score=True`")
def _():
    about = {"oob_score": True, "random_state": 0}
    ours, theirs = BaggedClassifier(n_bags=60, **about), BaggingClassifier(n_estimators=60, **about)
    assert abs(ours.fit(*IRIS).oob_score_ - theirs.fit(*IRIS).oob_score_) < 0.05
    assert ours.oob_decision_function_.shape == theirs.oob_decision_function_.shape == (150, 3)
    texts = BaggedClassifier(n_bags=60, **about).fit(IRIS[0], np.array(["A", "B", "C"])[IRIS[1]])
    assert texts.oob_score_ == ours.oob_score_  # whatever classes are called
    regressor = BaggedRegressor(Ridge(), n_bags=60, **about).fit(X, Y)
    assert regressor.oob_prediction_.shape == (60,)
    assert regressor.fit(X, Y).oob_score_ == regressor.oob_score_


@row("`warm_start` with more bags")
def _():
    warm = BaggedRegressor(n_bags=3, warm_start=True, random_state=0).fit(X, Y).set_params(n_bags=6).fit(X, Y)
    cold = BaggedRegressor(n_bags=6, random_state=0).fit(X, Y)
    np.testing.assert_array_equal(warm.predict(X), cold.predict(X))
    with pytest.raises(ValueError, match="at least 6"):
        warm.set_params(n_bags=2).fit(X, Y)
    with pytest.warns(UserWarning, match="n_bags is still 6"):
        warm.set_params(n_bags=6).fit(X, Y)


@row("NaN, infinities, texts and sparse tables")
def _():
    table = np.array([[1, 3, 5], [2, None, 6], [2, np.nan, 6], [2, np.inf, 6], [2, -np.inf, 6]], dtype=object)
    y = np.array([2, 3, 3, 3, 3])
    learner = make_pipeline(FunctionTransformer(finite), DecisionTreeRegressor())
    assert BaggedRegressor(learner, n_bags=3).fit(table, y).predict(table).shape == (5,)
    with pytest.raises(ValueError, match="failed to fit on bag"):
        BaggedRegressor(make_pipeline(DecisionTreeRegressor()), n_bags=9, random_state=0).fit(table, y)
    for container in (sparse.csr_array, sparse.csc_array):
        assert BaggedRegressor(n_bags=3, max_features=2).fit(container(X), Y).predict(container(X)).shape == (60,)
    for learner, allowed in ((HistGradientBoostingRegressor(), True), (Ridge(), False)):
        assert BaggedRegressor(learner).__sklearn_tags__().input_tags.allow_nan is allowed


def finite(X):
    X = X.astype(float, copy=True)
    return np.where(np.isfinite(X), X, 0)


@row("a search, pipeline, stack or calibration around or inside")
def _():
    tree = DecisionTreeClassifier(max_depth=2)
    for inside in (
        GridSearchCV(tree, {"max_depth": [1, 2]}, cv=2), make_pipeline(StandardScaler(), tree),
        StackingClassifier([("tree", tree)], cv=2), CalibratedClassifierCV(tree, cv=2),
    ):  # fmt: skip
        assert BaggedClassifier(inside, n_bags=2, random_state=0).fit(*IRIS).score(*IRIS) > 0.8
    bagged = BaggedClassifier(tree, n_bags=4, random_state=0)
    for around in (
        GridSearchCV(bagged, {"max_features": [1, 2]}, cv=2), make_pipeline(StandardScaler(), bagged),
        StackingClassifier([("bagged", bagged)], cv=2), CalibratedClassifierCV(bagged, cv=2),
    ):  # fmt: skip
        assert around.fit(*IRIS).score(*IRIS) > 0.8


class Shifted(RegressorMixin, BaseEstimator):
    def fit(self, X, y, sample_weight=None):
        self.weight_ = sample_weight
        return self

    def predict(self, X, shift=0.0):
        return X[:, 0] + shift


@row("metadata for `fit` and for predictions")
def _():
    with config_context(enable_metadata_routing=True):
        learner = Shifted().set_fit_request(sample_weight=True).set_predict_request(shift=True)
        model = BaggedRegressor(learner, n_bags=2, prediction_range=None).fit(X, Y, sample_weight=np.arange(60))
        np.testing.assert_array_equal(model[0].weight_, model.estimators_samples_[0])
        np.testing.assert_allclose(model.predict(X, shift=1.0), X[:, 0] + 1)


# --------------------------------------------------------------------------------------------------- different, and why


@row("gives all rows to learners that take weights")
def _():
    theirs = BaggingRegressor(RowRecorder(), n_estimators=2, max_samples=0.5).fit(X, Y)
    ours = BaggedRegressor(RowRecorder(), scheme=ClassicalBagging(0.5), n_bags=2).fit(X, Y)
    assert {len(fitted.X_) for fitted in theirs} == {60}
    assert {len(fitted.X_) for fitted in ours} == {30}


@row("draws rows according to `sample_weight`")
def _():
    weight = np.arange(60.0)
    model = BaggedRegressor(RowRecorder(), n_bags=2, random_state=0).fit(X, Y, sample_weight=weight)
    for fitted, rows in zip(model, model.estimators_samples_, strict=True):
        np.testing.assert_array_equal(fitted.sample_weight_, weight[rows])
    without = BaggedRegressor(RowRecorder(), n_bags=2, random_state=0).fit(X, Y)
    np.testing.assert_array_equal(without.estimators_samples_, model.estimators_samples_)


@row("fits a learner that takes no `sample_weight` (since 1.8)")
def _():
    theirs = BaggingRegressor(KNeighborsRegressor(), n_estimators=2)
    if older("scikit-learn", "1.8"):
        with pytest.raises(ValueError, match="doesn't support sample weight"):
            theirs.fit(X, Y, sample_weight=np.ones(60))
    else:
        theirs.fit(X, Y, sample_weight=np.ones(60))
    with pytest.raises(ValueError, match="does not accept sample_weight"):
        BaggedRegressor(KNeighborsRegressor(), n_bags=2).fit(X, Y, sample_weight=np.ones(60))


@row("a row in every bag gets an out-of-bag score of 0 or NaN, with a warning")
def _():
    with pytest.warns(UserWarning, match="Some inputs do not have OOB scores"):
        BaggingRegressor(n_estimators=1, oob_score=True).fit(X, Y)
    with pytest.raises(ValueError, match="never left out"):
        BaggedRegressor(n_bags=1, oob_score=True).fit(X, Y)


@row("raises for `oob_score=True` with `warm_start=True`")
def _():
    with pytest.raises(ValueError, match="warm_start"):
        BaggingRegressor(warm_start=True, oob_score=True).fit(X, Y)
    model = BaggedRegressor(n_bags=40, warm_start=True, oob_score=True, random_state=0).fit(X, Y)
    model.set_params(n_bags=50, oob_score=False).fit(X, Y)
    assert not hasattr(model, "oob_score_")


@row("raises for `oob_score=True` with `bootstrap=False`")
def _():
    with pytest.raises(ValueError, match="bootstrap"):
        BaggingRegressor(bootstrap=False, max_samples=0.5, oob_score=True).fit(X, Y)
    assert BaggedRegressor(n_bags=40, oob_score=True, random_state=0).fit(X, Y).oob_score_ < 1


@row("`oob_score` is True or False")
def _():
    with pytest.raises(ValueError, match="oob_score"):
        BaggingRegressor(oob_score=mean_absolute_error).fit(X, Y)
    assert BaggedRegressor(n_bags=40, oob_score=mean_absolute_error, random_state=0).fit(X, Y).oob_score_ > 1


@row("takes a frame with two columns of one name (up to 1.8)")
def _():
    frame = pd.DataFrame(X[:, :2], columns=["age", "age"])
    with pytest.raises(ValueError, match=r"two columns named 'age'.* Rename one"):
        BaggedRegressor(n_bags=2).fit(frame, Y)


@row("`bootstrap_features=True`")
def _():
    with pytest.raises(TypeError, match="bootstrap_features"):
        BaggedRegressor(bootstrap_features=True)


@row("`predict` of a regressor is the plain average")
def _():
    far = np.full((1, 10), 100.0)
    about = {"n_bags": 5, "random_state": 0}
    clipped, plain = (BaggedRegressor(LinearRegression(), **about, **more).fit(X, Y)
                      for more in ({}, {"prediction_range": None}))  # fmt: skip
    assert Y.min() <= clipped.predict(far)[0] <= Y.max()
    assert plain.predict(far)[0] == pytest.approx(np.mean([fitted.predict(far)[0] for fitted in plain]))
    assert not Y.min() <= plain.predict(far)[0] <= Y.max()


@row("fits the learner on a bag with one class, or without rows")
def _():
    about = {"scheme": "bernoulli", "scheme__bag_size": 0.01, "n_bags": 30, "random_state": 0}
    model = BaggedClassifier(LogisticRegression()).set_params(**about).fit(*IRIS)
    empty = int(np.flatnonzero(model.bags_.sizes == 0)[0])
    one = int(np.flatnonzero(model.bags_.sizes == 1)[0])
    np.testing.assert_allclose(model.bag_predictions(IRIS[0][:1])[empty, 0], 1 / 3)
    assert model.bag_predictions(IRIS[0][:1])[one, 0].tolist() == np.eye(3)[IRIS[1][model.bags_[one][0]]].tolist()


class Centroids(ClassifierMixin, BaseEstimator):
    """A score for each class that it has seen, and no weights."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self.means_ = np.array([X[y == label].mean(axis=0) for label in self.classes_])
        return self

    def decision_function(self, X):
        scores = -((X[:, None] - self.means_) ** 2).sum(axis=2)
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X):
        return self.classes_[((X[:, None] - self.means_) ** 2).sum(axis=2).argmin(axis=1)]


@row("decision functions of bags that miss a class cannot be added")
def _():
    theirs = BaggingClassifier(Centroids(), n_estimators=40, max_samples=5, random_state=0).fit(*IRIS)
    with pytest.raises(ValueError, match="broadcast"):
        theirs.decision_function(IRIS[0])
    model = BaggedClassifier(Centroids(), n_bags=40, scheme=Subbagging(5), random_state=0).fit(*IRIS)
    assert len({len(fitted.classes_) for fitted in model}) > 1
    assert np.isfinite(model.decision_function(IRIS[0])).all()


@row("`predict_log_proba` averages the learner's own")
def _():
    class Apart(DecisionTreeClassifier):
        def predict_log_proba(self, X):
            raise AssertionError("it was asked")

    with pytest.raises(AssertionError, match="it was asked"):
        BaggingClassifier(Apart(), n_estimators=2).fit(*IRIS).predict_log_proba(IRIS[0])
    model = BaggedClassifier(Apart(), n_bags=2).fit(*IRIS)
    np.testing.assert_allclose(np.exp(model.predict_log_proba(IRIS[0])), model.predict_proba(IRIS[0]))


@row("an unfitted ensemble has no length and no truth value")
def _():
    with pytest.raises(AttributeError):
        bool(BaggingRegressor())
    assert BaggedRegressor()
    with pytest.raises(NotFittedError):
        len(BaggedRegressor())


@row("takes `warm_start=True` on other data")
def _():
    BaggingRegressor(n_estimators=2, warm_start=True).fit(X, Y).set_params(n_estimators=3).fit(2 * X, Y)
    with pytest.raises(ValueError, match="the data or the scheme changed"):
        BaggedRegressor(n_bags=2, warm_start=True).fit(X, Y).set_params(n_bags=3).fit(2 * X, Y)


@row("`verbose`")
def _():
    with pytest.raises(TypeError, match="verbose"):
        BaggedRegressor(verbose=1)
    seen = []
    with on_progress(lambda *done: seen.append(done)):
        BaggedRegressor(n_bags=3).fit(X, Y)
    assert seen


@row("a model of another scikit-learn version warns")
def _():
    model = BaggedRegressor(n_bags=2).fit(X, Y)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(versions, "__version__", "0.0.0")
        text = pickle.dumps(model)
    with pytest.warns(InconsistentVersionWarning, match="saved by stablebag 0[.]0[.]0"):
        pickle.loads(text)


@pytest.mark.parametrize("start", list(CHECKS), ids=lambda start: re.sub(r"\W+", "_", start)[:40])
def test_claim_of_the_table_is_true(start):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=FutureWarning, module="sklearn")
        CHECKS[start]()
