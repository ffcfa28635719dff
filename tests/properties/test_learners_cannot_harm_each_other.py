"""Nothing that a learner does reaches another learner, the caller or the model: bits equal to a well-behaved twin.

Each misbehaving learner has a twin that computes the same from its own copies. Both are run through every entry point;
whatever differs was harm done.
"""

import os
import pickle
import random
import threading
import time
import warnings

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.decomposition import PCA
from sklearn.ensemble import BaggingRegressor, GradientBoostingRegressor, RandomForestRegressor, VotingRegressor
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.feature_selection import SelectKBest, mutual_info_regression
from sklearn.frozen import FrozenEstimator
from sklearn.impute import IterativeImputer
from sklearn.linear_model import LassoCV, LinearRegression, LogisticRegression, RANSACRegressor, Ridge
from sklearn.model_selection import GridSearchCV, KFold, RandomizedSearchCV, ShuffleSplit
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler, TargetEncoder
from sklearn.svm import SVC, LinearSVC, LinearSVR
from sklearn.tree import DecisionTreeRegressor
from threadpoolctl import threadpool_info, threadpool_limits

from rounding import assert_same_bounds, assert_same_sums
from stablebag import (
    BaggedClassifier,
    BaggedRegressor,
    FixedRange,
    FunctionRegressor,
    Subbagging,
    certify,
    leave_one_out,
    leave_one_out_error,
    leave_one_out_refit,
    predict_interval,
)
from stablebag.measuring import replace_one_refit, stability_test
from stablebag.models.fitted import Fitted

pytestmark = pytest.mark.slow

RANGE = FixedRange(-1000.0, 1000.0)


class Mean(RegressorMixin, BaseEstimator):
    """A learner that behaves: its prediction is a line through the mean of its targets."""

    def __init__(self, random_state=None):
        self.random_state = random_state

    def fit(self, X, y, extra=None):
        self.mean_, self.centre_ = float(np.mean(y)), np.asarray(X, dtype=float).mean(axis=0)
        return self

    def predict(self, X):
        return self.mean_ + (np.asarray(X, dtype=float) - self.centre_).sum(axis=1)


class WritesToPoints(Mean):
    def predict(self, X):
        X -= self.centre_
        return self.mean_ + X.sum(axis=1)


class WritesToRows(Mean):
    def fit(self, X, y, extra=None):
        super().fit(X, y)
        X[:], y[:] = -1e6, 1e6
        return self


class ReusesItsOutput(Mean):
    buffers = {}  # noqa: RUF012 (one for all instances is the point)

    def predict(self, X):
        buffer = self.buffers.setdefault(len(X), np.zeros(len(X)))
        buffer[:] = super().predict(X)
        return buffer


class ReturnsPartOfPoints(Mean):
    """Its answer is a view of what it was given."""

    def predict(self, X):
        X = np.array(X)
        X[:, 0] = super().predict(X)
        return X[:, 0]


class SeedsTheWorld(Mean):
    def fit(self, X, y, extra=None):
        np.random.seed(0)
        random.seed(0)
        return super().fit(X, y)

    def predict(self, X):
        np.random.seed(1)
        random.seed(1)
        return super().predict(X)


class SetsThreads(Mean):
    def fit(self, X, y, extra=None):
        threadpool_limits(2)
        return super().fit(X, y)

    def predict(self, X):
        threadpool_limits(2)
        return super().predict(X)


class ChangesItsExtra(Mean):
    """Adds to what it is passed beside X and y; the next bag would find more there."""

    def fit(self, X, y, extra=None):
        super().fit(X, y)
        extra["fits"] += 1
        self.mean_ += 100 * (extra["fits"] - 1)
        return self


class OneForAll(Mean):
    """Says that it is its own clone, and so would be fitted to all bags in turn."""

    def __sklearn_clone__(self):
        return self


HARMFUL = [
    WritesToPoints(), WritesToRows(), ReusesItsOutput(), ReturnsPartOfPoints(), SeedsTheWorld(), SetsThreads(),
    OneForAll(),
]  # fmt: skip


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(24, 3))
    return X, X @ [1.0, 2.0, 3.0] + rng.normal(size=24), rng.normal(size=(7, 3))


def model_of(learner, n_jobs=1, n_bags=16, **settings):
    return BaggedRegressor(learner, n_bags=n_bags, prediction_range=RANGE, n_jobs=n_jobs, random_state=0, **settings)


def through_every_entry(learner, X, y, points, n_jobs=1):
    """What each entry point gives, by name; everything is called twice where that could matter."""
    model = model_of(learner, n_jobs).fit(X, y)
    found = {"predict": model.predict(points), "predict again": model.predict(points)}
    found["bags"] = model.bag_predictions(points)
    found["leave one out"] = leave_one_out(model, points).left_out
    found["error"] = leave_one_out_error(model).losses
    found["intervals"] = np.array([predict_interval(model, points, confidence_level=0.5).lower])
    found["points"] = certify(model, points).standard_deviation
    found["reused"] = certify(model, points, reused=True).epsilon(0.1)
    found["stream"] = leave_one_out(model_of(learner, n_jobs), points, X_train=X, y_train=y).left_out
    found["refit"] = leave_one_out_refit(learner, X, y, points, rows=[0, 3], n_jobs=n_jobs, random_state=0).left_out
    found["replace"] = replace_one_refit(
        learner, X, y, X[::-1].copy(), y[::-1].copy(), points, rows=[1], n_jobs=n_jobs, random_state=0
    ).left_out
    found["test"] = stability_test(learner, X, y, 1.0, 0.1, 5, n_jobs=n_jobs, random_state=0).distances
    found["predict at last"] = model.predict(points)
    found["rows"] = np.asarray(Fitted(model).X)
    return found


SUMS = ("leave one out", "error", "intervals", "points", "stream")  # by matrix products; all else has the same bits


def assert_same(found, expected):
    for name, value in expected.items():
        if name in SUMS:
            assert_same_sums(found[name], value, 16, expected["bags"])
        elif name == "reused":
            assert_same_bounds(found[name], value)
        else:
            np.testing.assert_array_equal(found[name], value, err_msg=name)


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("learner", HARMFUL, ids=lambda learner: type(learner).__name__)
def test_misbehaving_learner_gives_the_same_numbers_as_a_clean_one(learner, n_jobs, data):
    X, y, points = data
    before = X.copy(), y.copy(), points.copy()
    expected = through_every_entry(Mean(), *(part.copy() for part in data))
    found = through_every_entry(learner, X, y, points, n_jobs)
    assert_same(found, expected)
    for now, then in zip((X, y, points), before, strict=True):
        np.testing.assert_array_equal(now, then)  # what the caller has is as it was


@pytest.mark.parametrize("learner", HARMFUL, ids=lambda learner: type(learner).__name__)
def test_misbehaving_learner_gives_the_same_numbers_in_threads(learner, data):
    X, y, points = data
    expected = through_every_entry(Mean(), X.copy(), y.copy(), points.copy())
    with joblib.parallel_config(backend="threading"):
        assert_same(through_every_entry(learner, X, y, points, n_jobs=2), expected)


@pytest.mark.parametrize("learner", [WritesToPoints(), SeedsTheWorld()], ids=lambda learner: type(learner).__name__)
def test_misbehaving_learner_gives_the_same_numbers_in_processes(learner, data):
    """Of two kinds only, because every entry starts a pool: what is in one process cannot reach another."""
    X, y, points = data
    expected = through_every_entry(Mean(), X.copy(), y.copy(), points.copy())
    with joblib.parallel_config(backend="multiprocessing"):
        assert_same(through_every_entry(learner, X, y, points, n_jobs=2), expected)


@pytest.mark.filterwarnings("ignore")
def test_misbehaving_learner_gives_the_same_numbers_in_dask_threads(data):
    distributed = pytest.importorskip("distributed")
    X, y, points = data
    expected = through_every_entry(Mean(), X.copy(), y.copy(), points.copy())
    with (
        distributed.LocalCluster(n_workers=1, threads_per_worker=2, dashboard_address=None, processes=False) as cluster,
        distributed.Client(cluster),
        joblib.parallel_config(backend="dask"),
    ):
        for learner in (WritesToPoints(), SeedsTheWorld(), ReusesItsOutput()):
            assert_same(through_every_entry(learner, X, y, points, n_jobs=-1), expected)


def test_scalers_that_work_in_place_predict_like_copying_ones(data):
    X, y, points = data
    expected = model_of(make_pipeline(StandardScaler(), Ridge())).fit(X, y).predict(points)
    model = model_of(make_pipeline(StandardScaler(copy=False), Ridge())).fit(X, y)
    for _ in range(2):
        np.testing.assert_array_equal(model.predict(points), expected)
    np.testing.assert_array_equal(Fitted(model).X, X)
    assert leave_one_out_error(model).value == leave_one_out_error(model).value
    table = sparse.csr_array(np.abs(X))
    here, there = sparse.csr_array(np.abs(points)), sparse.csr_array(np.abs(points))
    expected = model_of(make_pipeline(MaxAbsScaler(), Ridge())).fit(table, y).predict(there)
    model = model_of(make_pipeline(MaxAbsScaler(copy=False), Ridge())).fit(table, y)
    for _ in range(2):
        np.testing.assert_array_equal(model.predict(here), expected)
    np.testing.assert_array_equal(here.toarray(), there.toarray())


class WritesToFrame(Mean):
    """What a careless transformer does: a new column, and values changed where they are."""

    def predict(self, X):
        if isinstance(X, pd.DataFrame):
            X["new"] = 1.0
            X.iloc[:, 0] = 0.0
        else:
            X.insert_column(0, pl.Series("new", np.ones(len(X))))
            X[0, "a"] = 77.0
        return np.full(len(X), self.mean_)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_learners_do_not_change_frames(frame, data):
    X, y, points = data
    table, there = frame(dict(zip("abc", X.T, strict=True))), frame(dict(zip("abc", points.T, strict=True)))
    model = model_of(WritesToFrame()).fit(table, y)
    first = model.predict(there)
    leave_one_out_error(model)
    assert list(there.columns) == ["a", "b", "c"] == list(Fitted(model).X.columns)
    np.testing.assert_array_equal(there.to_numpy(), points)
    np.testing.assert_array_equal(Fitted(model).X.to_numpy(), X)
    np.testing.assert_array_equal(model.predict(there), first)


def test_each_bag_gets_its_own_copy_of_fit_parameters(data):
    X, y, points = data
    extra = {"fits": 0}
    with_extra = model_of(ChangesItsExtra()).fit(X, y, extra=extra).predict(points)
    np.testing.assert_array_equal(with_extra, model_of(Mean()).fit(X, y).predict(points))
    assert extra == {"fits": 0}


def test_frozen_learner_is_not_copied_for_each_bag(data):
    X, y, _ = data
    frozen = FrozenEstimator(LinearRegression().fit(X, y))
    model = model_of(frozen).fit(X, y)
    assert all(fitted is frozen for fitted in model.estimators_)


def test_stored_rows_are_a_copy(data):
    X, y, _ = data
    for make in (np.array, sparse.csr_array, pd.DataFrame):
        table, targets = make(X), y.copy()
        model = model_of(Ridge()).fit(table, targets)
        before = leave_one_out_error(model).value
        if sparse.issparse(table):
            table.data[:] = 0.0
        elif isinstance(table, pd.DataFrame):
            table.iloc[:, :] = 0.0
        else:
            table[:] = 0.0
        targets[:] = 0.0
        assert leave_one_out_error(model_of(Ridge()).fit(make(X), y)).value == before
        dense = Fitted(model).X.toarray() if sparse.issparse(Fitted(model).X) else np.asarray(Fitted(model).X)
        np.testing.assert_array_equal(dense, X)
        np.testing.assert_array_equal(Fitted(model).y, y)


def test_arrays_of_models_and_results_are_read_only(data):
    X, y, points = data
    model = model_of(Ridge()).fit(X, y)
    moved, intervals = leave_one_out(model, points), predict_interval(model, points, confidence_level=0.5)
    held = [
        Fitted(model).X, Fitted(model).y, Fitted(model).average.weights, moved.prediction, moved.left_out, moved.rows,
        intervals.lower, intervals.upper, intervals.prediction, leave_one_out_error(model).losses,
        certify(model, points).standard_deviation, certify(model, points, reused=True).standard_deviation,
    ]  # fmt: skip
    for array in held:
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0.0


# --------------------------------------------------------------------------------------------- the process around it


def numbers_of_threads():
    return [pool["num_threads"] for pool in threadpool_info()]


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_blas_threads_are_restored(backend, data, monkeypatch):
    monkeypatch.setattr("stablebag.models.fitting._SMALL_PREDICTION", 0)
    X, y, points = data
    before = numbers_of_threads()
    with joblib.parallel_config(backend=backend):
        model = model_of(Mean(), n_jobs=2, n_bags=40).fit(X, y)
        model.predict(points)
    assert numbers_of_threads() == before
    with threadpool_limits(1), joblib.parallel_config(backend=backend):
        held = numbers_of_threads()
        model_of(Mean(), n_jobs=2, n_bags=40).fit(X, y).predict(points)
        assert numbers_of_threads() == held
    assert numbers_of_threads() == before


class CountsThreads(Mean):
    """Predicts how many threads BLAS and OpenMP may use where it is."""

    def fit(self, X, y, extra=None):
        self.during_fit_ = max(numbers_of_threads())
        return self

    def predict(self, X):
        return np.full(len(X), 10.0 * self.during_fit_ + max(numbers_of_threads()))


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_thread_limit_of_the_caller_does_not_change_fits(backend, data, monkeypatch):
    monkeypatch.setattr("stablebag.models.fitting._SMALL_PREDICTION", 0)
    X, y, points = data
    for n_jobs in (1, 2):
        with threadpool_limits(2), joblib.parallel_config(backend=backend):
            predicted = model_of(CountsThreads(), n_jobs).fit(X, y).predict(points)
        np.testing.assert_array_equal(predicted, 11.0)


class CountsJobs(Mean):
    """Predicts how many jobs a learner inside, that asks for none in particular, would be given."""

    def fit(self, X, y, extra=None):
        self.jobs_ = joblib.effective_n_jobs(None)
        return self

    def predict(self, X):
        return np.full(len(X), 10.0 * self.jobs_ + joblib.effective_n_jobs(None))


@pytest.mark.parametrize("n_jobs", [None, 1, 2])
def test_parallel_config_around_a_fit_does_not_affect_learners(n_jobs, data):
    X, y, points = data
    with joblib.parallel_config(n_jobs=3):
        predicted = model_of(CountsJobs(), n_jobs).fit(X, y).predict(points)
        assert joblib.effective_n_jobs(None) == 3
    np.testing.assert_array_equal(predicted, 11.0)


def test_global_generators_are_restored(data):
    X, y, points = data
    np.random.seed(5)
    random.seed(5)
    model = model_of(SeedsTheWorld()).fit(X, y)
    model.predict(points)
    drawn = np.random.random(), random.random()
    np.random.seed(5)
    random.seed(5)
    assert drawn == (np.random.random(), random.random())


# ---------------------------------------------------------------------------------------------- the same bits, any way


class DrawsGlobally(Mean):
    """Draws from numpy's and Python's global generators, in fit and in predict."""

    def fit(self, X, y, extra=None):
        self.mean_ = float(np.mean(y)) + np.random.normal() + random.random()
        return self

    def predict(self, X):
        return self.mean_ + np.random.normal(size=len(X)) + random.random()


RANDOM = {
    "global generators": DrawsGlobally(),
    "folds in a search": GridSearchCV(Ridge(), {"alpha": [0.1, 10.0, 1000.0]}, cv=KFold(3, shuffle=True)),
    "folds in a lasso": LassoCV(alphas=[1.0, 0.1], cv=ShuffleSplit(3)),
    "a scored selection": make_pipeline(SelectKBest(mutual_info_regression, k=2), Ridge()),
    "an encoder of targets": make_pipeline(TargetEncoder(target_type="continuous", cv=2), Ridge()),
    "a random search": RandomizedSearchCV(
        DecisionTreeRegressor(max_features=1), {"max_depth": [1, 2, 3, 4]}, n_iter=2, cv=KFold(2, shuffle=True)
    ),
    "coordinate descent": LinearSVR(max_iter=50, tol=1e-8),
    "a forest": RandomForestRegressor(n_estimators=3),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", RANDOM)
def test_random_learner_gives_the_same_bits_for_any_n_jobs_and_backend(name, data):
    X, y, points = data
    if name == "an encoder of targets":
        X, points = np.round(X), np.round(points)
    fitted = model_of(RANDOM[name], n_bags=20).fit(X, y)
    expected = fitted.predict(points)
    assert len(np.unique(fitted.bag_predictions(points)[:, 0])) > 5  # bags differ
    np.testing.assert_array_equal(fitted.predict(points), expected)
    np.random.seed(99)  # another state of the world
    np.testing.assert_array_equal(model_of(RANDOM[name], n_bags=20).fit(X, y).predict(points), expected)
    for backend in ("loky", "threading", "multiprocessing"):
        with joblib.parallel_config(backend=backend):
            found = model_of(RANDOM[name], n_bags=20, n_jobs=2).fit(X, y).predict(points)
        np.testing.assert_array_equal(found, expected, err_msg=backend)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("learner", [
    LinearSVC(penalty="l1", dual=False, max_iter=100, tol=1e-9), SVC(), CalibratedClassifierCV(cv=2, n_jobs=1),
    LogisticRegression(solver="liblinear", penalty="l1", max_iter=100, tol=1e-9),
], ids=lambda learner: type(learner).__name__)  # fmt: skip
def test_c_libraries_with_one_global_generator_give_the_same_bits_in_threads(learner):
    rng = np.random.default_rng(0)
    X, y, points = rng.normal(size=(400, 50)), rng.integers(0, 2, 400), rng.normal(size=(30, 50))

    def models(n_jobs):
        return BaggedClassifier(learner, n_bags=40, n_jobs=n_jobs, random_state=0).fit(X, y)

    expected = models(1).bag_predictions(points)
    with joblib.parallel_config(backend="threading"):
        for _ in range(2):
            np.testing.assert_array_equal(models(4).bag_predictions(points), expected)


def test_nested_ensembles_do_not_deadlock_in_threads(data):
    X, y, points = data
    inner = BaggedRegressor(DrawsGlobally(), n_bags=4, n_jobs=2, prediction_range=RANGE)
    expected = model_of(inner, n_bags=6).fit(X, y).predict(points)
    with joblib.parallel_config(backend="threading"):
        found = []
        outer = model_of(inner, n_bags=6, n_jobs=2)
        thread = threading.Thread(target=lambda: found.append(outer.fit(X, y).predict(points)), daemon=True)
        thread.start()
        thread.join(timeout=120)
    assert not thread.is_alive(), "deadlock"
    with joblib.parallel_config(backend="threading"):
        np.testing.assert_array_equal(model_of(inner, n_bags=6, n_jobs=2).fit(X, y).predict(points), expected)


# ------------------------------------------------------------------------------------------------ what an attack found


class Own(Mean):
    def __init__(self, fails=False):
        self.fails = fails

    def fit(self, X, y):
        if self.fails:
            raise ValueError("no")
        return super().fit(X, y)


class FallsBack(Mean):
    """Tries one ensemble, which fails in its workers, and fits another."""

    def fit(self, X, y):
        try:
            self.inner_ = BaggedRegressor(Own(fails=True), n_bags=4, n_jobs=2, random_state=0).fit(X, y)
        except ValueError:
            self.inner_ = BaggedRegressor(Own(), n_bags=4, random_state=0).fit(X, y)
        return self

    def predict(self, X):
        return self.inner_.predict(X)


def test_nested_ensembles_that_fail_do_not_stop_others(data):
    X, y, points = data
    expected = model_of(FallsBack(), n_bags=4).fit(X, y).bag_predictions(points)
    model = model_of(FallsBack(), n_bags=4, n_jobs=2).fit(X, y)
    np.testing.assert_array_equal(model.bag_predictions(points), expected)


def loose_tree():
    return DecisionTreeRegressor(max_features=1)


UNSEEDED = {
    "a first guess": GradientBoostingRegressor(init=loose_tree(), n_estimators=2),
    "an imputer's learner": make_pipeline(IterativeImputer(loose_tree(), max_iter=1), Ridge()),
    "a consensus": RANSACRegressor(make_pipeline(StandardScaler(), loose_tree()), min_samples=10),
    "a search over learners": GridSearchCV(
        Pipeline([("m", Ridge())]), {"m": [loose_tree(), RandomForestRegressor(3)]}, cv=2
    ),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", UNSEEDED)
def test_every_seed_inside_a_learner_depends_on_the_bag(name, data):
    X, y, points = data
    X = X.copy()
    if name == "an imputer's learner":
        X[::5, 0] = np.nan
    predicted = []
    for seed in (1, 2):
        np.random.seed(seed)
        before = np.random.get_state()[1].copy()
        predicted.append(model_of(UNSEEDED[name], n_bags=6).fit(X, y).predict(points))
        np.testing.assert_array_equal(np.random.get_state()[1], before)
    predicted.append(model_of(UNSEEDED[name], n_bags=6, n_jobs=2).fit(X, y).predict(points))
    np.testing.assert_array_equal(predicted[0], predicted[1])
    np.testing.assert_array_equal(predicted[0], predicted[2])


def in_time(work):
    """What work gives, unless it hangs."""
    found = []
    thread = threading.Thread(target=lambda: found.append(work()), daemon=True)
    thread.start()
    thread.join(timeout=60)
    assert found, "deadlock, or an error"
    return found[0]


class Weighted(Mean):
    def fit(self, X, y, sample_weight=None):
        return super().fit(X, y)


def test_learners_that_fit_ensembles_in_threads_do_not_hang(data, monkeypatch):
    X, y, points = data
    inner = BaggedRegressor(Mean(), n_bags=3, prediction_range=RANGE)
    voting = VotingRegressor([("a", inner), ("b", inner)], n_jobs=2)
    expected = model_of(voting, n_bags=4).fit(X, y).predict(points)

    def fit():
        with joblib.parallel_config(backend="threading"):
            return model_of(voting, n_bags=4, n_jobs=2).fit(X, y).predict(points)

    np.testing.assert_array_equal(in_time(fit), expected)
    monkeypatch.setattr("stablebag.models.fitting._SMALL_PREDICTION", 0)
    nested = BaggingRegressor(BaggedRegressor(Weighted(), n_bags=2), n_estimators=2, n_jobs=2)
    model = model_of(nested, n_bags=6, n_jobs=2).fit(X, y)
    assert in_time(lambda: model.predict(points)).shape == (7,)


class NoisyPoints(Mean):
    """Adds noise to the points where they are: drawn twice, if it is asked twice."""

    def predict(self, X):
        X += np.random.normal(size=X.shape)
        return X.sum(axis=1)


class NoiseAlone(Mean):
    def predict(self, X):
        return np.random.normal(size=len(X))


def test_random_numbers_in_predict_depend_on_the_seed_of_the_bag(data):
    X, y, points = data
    models = (model_of(NoisyPoints(), n_jobs) for n_jobs in (1, 2))
    one, two = (leave_one_out(model, points, X_train=X, y_train=y) for model in models)
    np.testing.assert_array_equal(one.prediction, two.prediction)
    assert_same_sums(one.left_out, two.left_out, 16, RANGE(y))
    moved = leave_one_out_refit(NoiseAlone(), X, y, points, random_state=0)
    assert moved.max("max") == 0  # the same seed with and without the row
    assert replace_one_refit(NoiseAlone(), X, y, X, y, points, random_state=0).max("max") == 0
    every = model_of(NoiseAlone(), n_bags="all", scheme=Subbagging(23)).fit(X, y).bag_predictions(points)
    assert (every == every[0]).all()  # one fixed function


class SometimesGlobal(Mean):
    """Draws from the global generator in some bags only, and slowly."""

    def fit(self, X, y, extra=None):
        super().fit(X, y)
        if self.mean_ > 0:
            self.mean_ += np.random.normal()
            time.sleep(0.002)
            self.mean_ += np.random.normal()
        return self


def test_threads_of_the_caller_do_not_affect_each_other(data):
    X, y, points = data
    expected = model_of(SometimesGlobal(), n_bags=20).fit(X, y).predict(points)
    np.random.seed(11)
    before = np.random.get_state()[1].copy()
    found = []
    threads = [
        threading.Thread(target=lambda: found.append(model_of(SometimesGlobal(), n_bags=20).fit(X, y).predict(points)))
        for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    found.append(model_of(SometimesGlobal(), n_bags=20).fit(X, y).predict(points))
    for thread in threads:
        thread.join()
    with joblib.parallel_config(backend="threading"):
        found.append(model_of(SometimesGlobal(), n_bags=20, n_jobs=2).fit(X, y).predict(points))
    for one in found:
        np.testing.assert_array_equal(one, expected)
    np.testing.assert_array_equal(np.random.get_state()[1], before)


def test_reused_output_buffers_are_not_mixed_up(data):
    X, y, _ = data
    points = np.random.default_rng(1).normal(size=(100_000, 3))
    expected = model_of(Mean(), n_bags=20).fit(X, y).bag_predictions(points)
    found = model_of(ReusesItsOutput(), n_bags=20, n_jobs=2).fit(X, y).bag_predictions(points)
    np.testing.assert_array_equal(found, expected)


def test_strided_arrays_in_models_give_the_same_bits_after_pickling(data):
    X, y, points = data
    learner = make_pipeline(PCA(2, svd_solver="randomized"), Ridge())
    expected = model_of(learner, n_bags=20).fit(X, y)
    np.testing.assert_array_equal(model_of(learner, 2, 20).fit(X, y).predict(points), expected.predict(points))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(expected)).predict(points), expected.predict(points))


class ChangesSettings(Mean):
    def fit(self, X, y, extra=None):
        super().fit(X, y)
        np.seterr(divide="raise")
        np.set_printoptions(precision=2)
        sklearn.set_config(display="text")
        os.environ["STABLEBAG_TEST"] = "changed"
        warnings.simplefilter("ignore")
        return self


def test_process_settings_are_restored(data):
    X, y, points = data

    def settings():
        config = sklearn.get_config()["display"]
        return np.geterr(), np.get_printoptions(), config, os.environ.get("STABLEBAG_TEST"), list(warnings.filters)

    before = settings()
    for n_jobs in (1, 2):
        model_of(ChangesSettings(), n_jobs).fit(X, y).predict(points)
        assert settings() == before


class ItsOwnClone(BaseEstimator):
    """A scaler that says that it is its own clone, inside a pipeline."""

    def __sklearn_clone__(self):
        return self

    def fit(self, X, y=None):
        self.centre_ = X.mean(axis=0)
        return self

    def transform(self, X):
        return X - self.centre_


def test_parts_that_are_their_own_clones_are_not_shared(data):
    X, y, points = data
    part = ItsOwnClone()
    expected = model_of(make_pipeline(StandardScaler(with_std=False), Ridge())).fit(X, y).predict(points)
    for n_jobs in (1, 2):
        found = model_of(make_pipeline(part, Ridge()), n_jobs).fit(X, y).predict(points)
        np.testing.assert_allclose(found, expected)
    assert not hasattr(part, "centre_")


class CountingExtra(Mean):
    def fit(self, X, y, extra=None):
        super().fit(X, y)
        self.mean_ = extra()
        return self


class Counter:
    def __init__(self):
        self.calls = 0

    def __call__(self):
        self.calls += 1
        return float(self.calls)


def test_callable_fit_parameters_are_copied_and_uncopyable_ones_raise(data):
    X, y, _ = data
    for n_jobs in (1, 2):
        model = model_of(CountingExtra(), n_jobs).fit(X, y, extra=Counter())
        assert [fitted.mean_ for fitted in model.estimators_] == [1.0] * 16
        with pytest.raises(
            TypeError, match=r"fit parameter 'extra' cannot be copied|cannot be sent to another process"
        ):
            model_of(Mean(), n_jobs).fit(X, y, extra=(number for number in range(3)))


class AppendsToCells(Mean):
    def fit(self, X, y, extra=None):
        self.mean_ = float(sum(len(cell) for cell in X[:, 0]))
        for cell in X[:, 0]:
            cell.append(0)
        return self

    def predict(self, X):
        for cell in X[:, 0]:
            cell.append(0)
        return np.full(len(X), self.mean_ + sum(len(cell) for cell in X[:, 0]))


def test_mutable_cells_are_copied_for_each_bag():
    table = np.empty((20, 1), dtype=object)
    table[:, 0] = [[row] for row in range(20)]
    model = model_of(AppendsToCells()).fit(table, np.arange(20.0))
    np.testing.assert_array_equal(model.bag_predictions(table[:2]), 10.0 + 4)
    assert all(len(cell) == 1 for cell in table[:, 0])


class Unpicklable(Mean):
    def fit(self, X, y, extra=None):
        self.lock_ = threading.Lock()
        return super().fit(X, y)


def test_model_that_cannot_be_pickled_raises_with_n_jobs(data):
    X, y, points = data
    assert model_of(Unpicklable()).fit(X, y).predict(points).shape == (7,)
    with pytest.raises(TypeError, match=r"cannot be sent to another process.*Use n_jobs=1"):
        model_of(Unpicklable(), n_jobs=2).fit(X, y)


# ------------------------------------------------------------------------------------------------ what learners return


class Returns(RegressorMixin, BaseEstimator):
    def __init__(self, what="one less"):
        self.what = what

    def fit(self, X, y):
        self.fitted_ = True
        return self

    def predict(self, X):
        n = len(X)
        return {
            "one less": np.zeros(n - 1),
            "two columns": np.zeros((n, 2)),
            "a row": np.zeros((1, n)),
            "folded": np.zeros((n // 2, 2)),
            "masked": np.ma.masked_array(np.zeros(n), mask=np.arange(n) == 1),
            "text": np.array(["a"] * n),
            "complex": np.zeros(n) + 1j,
            "dates": np.zeros(n, dtype="datetime64[s]"),
        }[self.what]


@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")
@pytest.mark.parametrize("what", ["one less", "two columns", "a row", "folded", "masked", "text", "complex", "dates"])
def test_predictions_of_wrong_shape_or_type_raise_and_name_the_bag(what, data):
    X, y, points = data
    model = model_of(Returns(what)).fit(X, y)
    with pytest.raises(ValueError, match=r"Returns failed to predict with the model of bag 0"):
        model.predict(points[:6])


class Votes(ClassifierMixin, BaseEstimator):
    def __init__(self, what="one less"):
        self.what = what

    def fit(self, X, y):
        self.first_ = y[0]
        return self

    def predict(self, X):
        shape = {"one less": len(X) - 1, "two columns": (len(X), 2), "folded": (len(X) // 2, 2)}[self.what]
        return np.full(shape, self.first_)


@pytest.mark.parametrize("what", ["one less", "two columns", "folded"])
def test_wrong_number_of_votes_raises(what, data):
    X, y, points = data
    model = BaggedClassifier(Votes(what), n_bags=4, random_state=0).fit(X, y > 0)
    with pytest.raises(ValueError, match="predicted labels of shape"):
        model.predict(points[:6])


class VotesForNumbers(ClassifierMixin, BaseEstimator):
    def fit(self, X, y):
        return self

    def predict(self, X):
        return np.arange(len(X))


def test_votes_of_another_type_raise(data):
    X, y, points = data
    model = BaggedClassifier(VotesForNumbers(), n_bags=4, random_state=0).fit(X, np.where(y > 0, "yes", "no"))
    with pytest.raises(ValueError, match="it predicted the class 0, but the classes are"):
        model.predict(points)


def masked(X, y, seed):
    return lambda points: np.ma.masked_all(len(points))


def test_masked_predictions_of_functions_raise(data):
    X, y, points = data
    with pytest.raises(ValueError, match="masked at some points"):
        model_of(FunctionRegressor(masked)).fit(X, y).predict(points)


class SameClassTwice(ClassifierMixin, BaseEstimator):
    def fit(self, X, y):
        self.classes_ = np.array([False, True, True])
        return self

    def predict(self, X):
        return np.ones(len(X), dtype=bool)

    def predict_proba(self, X):
        return np.tile([0.5, 0.25, 0.25], (len(X), 1))


def test_duplicate_classes_raise(data):
    X, y, points = data
    with pytest.raises(ValueError, match="contain a class twice"):
        BaggedClassifier(SameClassTwice(), n_bags=4, random_state=0).fit(X, y > 0).predict_proba(points)


class NearlyProbabilities(SameClassTwice):
    """Adds up to 1 as far as half precision goes."""

    def fit(self, X, y):
        self.classes_ = np.array([False, True])
        return self

    def predict_proba(self, X):
        return np.tile([1.0004, -0.0002], (len(X), 1))


def test_rounded_probabilities_are_normalized(data):
    X, y, points = data
    each = BaggedClassifier(NearlyProbabilities(), n_bags=4, random_state=0).fit(X, y > 0).bag_predictions(points)
    assert each.min() >= 0
    np.testing.assert_allclose(each.sum(axis=2), 1, rtol=1e-15)


@pytest.mark.parametrize("learner", [Ridge(solver="svd"), DecisionTreeRegressor(max_depth=2)], ids=["linear", "tree"])
def test_fit_to_all_rows_in_order_does_not_write_to_a_frame(learner, data):
    X, y, points = data[0] * [1, 10, 100] + 5, data[1], data[2]
    frame, before = pd.DataFrame(X.copy(), columns=list("abc")), X.copy()
    writes, copies = (make_pipeline(StandardScaler(copy=copy), learner) for copy in (False, True))
    found = leave_one_out_refit(writes, frame, y, pd.DataFrame(points, columns=list("abc")), random_state=0)
    np.testing.assert_array_equal(frame.to_numpy(), before)
    expected = leave_one_out_refit(copies, X, y, points, random_state=0)
    np.testing.assert_allclose(found.left_out, expected.left_out, rtol=1e-9)
    wrapped = BaggedRegressor(writes, scheme="classical", n_bags=60, random_state=0).fit(frame.iloc[:3], y[:3])
    assert any(bag.tolist() == [0, 1, 2] for bag in wrapped.bags_)
    np.testing.assert_array_equal(frame.to_numpy(), before)


def test_learner_that_changes_cells_of_a_frame_does_not_affect_others(data):
    class AddsToCells(Mean):
        def fit(self, X, y, extra=None):
            for cell in X["words"]:
                cell.append("seen")
            self.level_ = max(map(len, X["words"]))
            return self

        def predict(self, X):
            for cell in X["words"]:
                cell.append("asked")
            return np.full(len(X), self.level_ + max(map(len, X["words"])))

    frame = pd.DataFrame({"words": [["one"] for _ in range(24)]})
    model = model_of(AddsToCells()).fit(frame, data[1])
    np.testing.assert_array_equal(model.bag_predictions(frame), 4.0)
    leave_one_out_error(model)
    assert frame["words"].tolist() == Fitted(model).X["words"].tolist() == [["one"]] * 24
