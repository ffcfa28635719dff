"""The seam: what reaches a learner, in which order, with which seed, and what comes back whatever the backend."""

import os
import re
import signal
import subprocess
import sys
import threading
import time
import warnings
from contextlib import closing

import joblib
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import LogisticRegression, SGDClassifier, SGDRegressor
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.random_projection import GaussianRandomProjection
from sklearn.svm import SVR
from sklearn.tree import DecisionTreeRegressor
from threadpoolctl import threadpool_info

from learners import (
    Bare,
    FailsOn,
    NeedsAllClasses,
    OwnClone,
    PredictsNaN,
    Reversed,
    RowRecorder,
    Says,
    Sleeper,
    UnpicklableError,
)
from stablebag import (
    BaggedClassifier,
    BaggedRegressor,
    BernoulliSubbagging,
    ClassicalBagging,
    FunctionRegressor,
    PoissonizedBagging,
    Subbagging,
)
from stablebag._seeds import Seeds
from stablebag.learning.fitting import fit_and_predict_bags, fit_bags, predict_bags
from stablebag.learning.job import FitJob
from stablebag.learning.learners import random_state_names
from stablebag.learning.rows import take_rows

SCHEMES = [Subbagging(0.5), BernoulliSubbagging(0.3), ClassicalBagging(1.0), PoissonizedBagging(0.7)]


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = np.arange(60.0).reshape(30, 2)
    return X, rng.normal(size=30)


@pytest.mark.parametrize("scheme", SCHEMES, ids=str)
def test_a_learner_gets_exactly_its_rows_in_order_with_repeats_and_its_own_seed(scheme, data):
    X, y = data
    model = BaggedRegressor(RowRecorder(), scheme=scheme, n_bags=40, random_state=3).fit(X, y)
    seeds = Seeds(3).learner_seeds(0, 40)
    recorded = 0
    for bag, seed, learner in zip(model.bags_, seeds, model.estimators_, strict=True):
        if len(bag):
            np.testing.assert_array_equal(learner.X_, X[bag])
            np.testing.assert_array_equal(learner.y_, y[bag])
            assert learner.seed_ == seed
            recorded += 1
    assert recorded > 35


def test_a_seed_that_the_user_wrote_is_kept(data):
    model = BaggedRegressor(RowRecorder(random_state=7), n_bags=5, random_state=3).fit(*data)
    assert [learner.seed_ for learner in model.estimators_] == [7] * 5


def test_nested_random_states_that_are_none_are_filled_differently(data):
    X, y = data
    learner = make_pipeline(GaussianRandomProjection(2), GaussianRandomProjection(1, random_state=5), SGDRegressor())
    assert random_state_names(learner) == ["gaussianrandomprojection-1__random_state", "sgdregressor__random_state"]
    learner = make_pipeline(GaussianRandomProjection(2), SGDRegressor())
    model = BaggedRegressor(learner, n_bags=3, random_state=0).fit(X, y)
    seeds = [[step.random_state for _, step in fitted.steps] for fitted in model.estimators_]
    assert len({seed for pair in seeds for seed in pair}) == 6
    again = BaggedRegressor(learner, n_bags=3, random_state=0).fit(X, y)
    assert seeds == [[step.random_state for _, step in fitted.steps] for fitted in again.estimators_]


@pytest.mark.parametrize("learner", [
    SVR(), SGDRegressor(max_iter=20, tol=None), HistGradientBoostingRegressor(max_iter=5, min_samples_leaf=5),
    make_pipeline(StandardScaler(), SVR()), DecisionTreeRegressor(),
], ids=lambda learner: type(learner).__name__)  # fmt: skip
def test_a_row_outside_of_a_bag_does_not_reach_its_model(learner):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), rng.normal(size=60)
    X_other, y_other = X.copy(), y.copy()
    X_other[17] += 1000
    y_other[17] -= 1000
    settings = {"n_bags": 12, "prediction_range": None, "random_state": 0}
    model, other = (BaggedRegressor(learner, **settings).fit(*some) for some in ((X, y), (X_other, y_other)))
    points = rng.normal(size=(20, 3))
    before, after = model.bag_predictions(points), other.bag_predictions(points)
    without = model.bags_.without(17)
    assert 0 < len(without) < 12
    np.testing.assert_array_equal(before[without], after[without])
    inside = np.setdiff1d(np.arange(12), without)
    assert (before[inside] != after[inside]).any(axis=1).all()


def test_an_ensemble_is_the_loop_over_its_bags(data):
    X, y = data
    model = BaggedRegressor(DecisionTreeRegressor(random_state=0), n_bags=25, random_state=1).fit(X, y)
    total = np.zeros(30)
    for bag in model.bags_:
        total += np.clip(DecisionTreeRegressor(random_state=0).fit(X[bag], y[bag]).predict(X), y.min(), y.max())
    np.testing.assert_array_equal(model.predict(X), total / 25)


# -------------------------------------------------------------------------------------------- rows of any kind of table


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array, sparse.csc_matrix, sparse.coo_array, pd.DataFrame])
def test_rows_of_any_table_are_taken_in_order(make, data):
    X, y = data
    table = make(X)
    model = BaggedRegressor(RowRecorder(), n_bags=4, random_state=0).fit(table, y)
    for bag, learner in zip(model.bags_, model.estimators_, strict=True):
        seen = learner.X_
        seen = seen.toarray() if sparse.issparse(seen) else np.asarray(seen)
        np.testing.assert_array_equal(seen, X[bag])


def test_polars_frames_stay_polars_frames(data):
    polars = pytest.importorskip("polars")
    X, y = data
    model = BaggedRegressor(RowRecorder(), n_bags=2, random_state=0).fit(polars.DataFrame(X, schema=["a", "b"]), y)
    assert isinstance(model.estimators_[0].X_, polars.DataFrame)
    np.testing.assert_array_equal(model.estimators_[0].X_.to_numpy(), X[model.bags_[0]])


def test_weights_and_other_parameters_per_row_are_sliced_and_others_are_not(data):
    X, y = data
    weight, names = np.arange(30.0), [f"row {i}" for i in range(30)]
    model = BaggedRegressor(RowRecorder(), n_bags=3, random_state=0).fit(X, y, sample_weight=weight, tag=names)
    for bag, learner in zip(model.bags_, model.estimators_, strict=True):
        np.testing.assert_array_equal(learner.sample_weight_, weight[bag])
        assert list(learner.tag_) == [names[row] for row in bag]
    model.fit(X, y, tag="the same for all")
    assert model.estimators_[0].tag_ == "the same for all"


def test_take_rows_of_a_list():
    assert take_rows(["a", "b", "c"], np.array([2, 0, 2])) == ["c", "a", "c"]


# ------------------------------------------------------------------------------------------------------ degenerate bags


def test_an_empty_bag_predicts_the_middle_of_the_range(data):
    X, y = data
    scheme = BernoulliSubbagging(0.02)
    model = BaggedRegressor(DecisionTreeRegressor(), scheme=scheme, n_bags=60, random_state=0).fit(X, y)
    empty = model.bags_.sizes == 0
    assert empty.any()
    middle = (y.min() + y.max()) / 2
    np.testing.assert_allclose(model.bag_predictions(X)[empty], middle)
    free = BaggedRegressor(scheme=scheme, n_bags=60, prediction_range=None, random_state=0).fit(X, y)
    assert (free.bag_predictions(X)[empty] == 0).all()


def test_empty_and_single_class_bags_never_reach_a_learner_that_cannot_take_them():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20, 2)), np.array(["a"] * 17 + ["b", "b", "c"])
    for scheme in (BernoulliSubbagging(0.05), PoissonizedBagging(0.1), Subbagging(2)):
        model = BaggedClassifier(LogisticRegression(), scheme=scheme, n_bags=100, random_state=0).fit(X, y)
        probabilities = model.bag_predictions(X[:3])
        assert probabilities.shape == (100, 3, 3)
        np.testing.assert_allclose(probabilities.sum(axis=2), 1)
        for bag, probability in zip(model.bags_, probabilities, strict=True):
            seen = np.isin(model.classes_, y[bag])
            if len(bag) == 0:
                np.testing.assert_allclose(probability, 1 / 3)
            else:
                assert (probability[:, ~seen] == 0).all()
            if seen.sum() == 1:
                assert (probability[:, seen] == 1).all()


# --------------------------------------------------------------------------------------------------------------- errors


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_error_names_the_bag_its_size_and_its_classes_and_keeps_its_cause(n_jobs):
    X, y = np.zeros((12, 1)), np.repeat(["x", "y", "z"], 4)
    model = BaggedClassifier(NeedsAllClasses(3), scheme=Subbagging(4), n_bags=50, n_jobs=n_jobs, random_state=0)
    with pytest.raises(ValueError, match=r"NeedsAllClasses failed to fit on bag (\d+) \(4 rows; classes") as caught:
        model.fit(X, y)
    assert isinstance(caught.value.__cause__, ValueError)
    assert "2 classes are not 3" in str(caught.value)
    number = int(re.search(r"bag (\d+)", str(caught.value)).group(1))
    bags = Subbagging(4).resolve(12).draw(50, random_state=0)
    assert len(np.unique(y[bags[number]])) == 2
    assert all(len(np.unique(y[bag])) != 2 for bag in bags[:number])
    assert not hasattr(model, "bags_")


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize(("error", "kind"), [
    (RuntimeError, RuntimeError), (TypeError, TypeError), (KeyError, RuntimeError), (UnpicklableError, RuntimeError),
])  # fmt: skip
def test_an_error_is_of_the_learners_kind_or_a_runtime_error(error, kind, n_jobs):
    X = np.arange(10.0)[:, None]
    with pytest.raises(kind, match=r"FailsOn failed to fit on bag .*boom"):
        BaggedRegressor(FailsOn(3, error), n_bags=60, n_jobs=n_jobs, random_state=0).fit(X, X.ravel())


def test_an_error_in_prediction_names_the_bag(data):
    X, y = data
    model = BaggedRegressor(FailsOn(0.0, in_predict=True), n_bags=300, random_state=0).fit(X, y)
    with pytest.raises(RuntimeError, match=r"FailsOn failed to predict with the model of bag \d+: RuntimeError: boom"):
        model.predict(X)


def test_a_prediction_that_is_nan_is_an_error_and_not_an_average(data):
    X, y = data
    model = BaggedRegressor(PredictsNaN(), n_bags=3).fit(X, y)
    with pytest.raises(ValueError, match=r"bag 0.*prediction at point 1 is NaN"):
        model.predict(X)


# ------------------------------------------------------------------------------------------------- jobs, backends, bits


def fitted_bits(**settings):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(80, 30)), rng.integers(0, 3, 80)
    model = BaggedClassifier(LogisticRegression(max_iter=50), n_bags=37, random_state=0, **settings).fit(X, y)
    return model.predict_proba(rng.normal(size=(50, 30)))


@pytest.mark.filterwarnings("ignore:lbfgs failed to converge")
@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_the_same_bits_for_any_number_of_jobs_and_backend(backend):
    serial = fitted_bits(n_jobs=1)
    with joblib.parallel_config(backend=backend):
        np.testing.assert_array_equal(fitted_bits(n_jobs=2), serial)
        np.testing.assert_array_equal(fitted_bits(n_jobs=3), serial)


@pytest.mark.filterwarnings("ignore:lbfgs failed to converge")
def test_the_same_bits_for_any_batching(monkeypatch):
    serial = fitted_bits(n_jobs=1)
    for seconds in (0.0, 1e-3, 1e9):
        monkeypatch.setattr("stablebag.learning.parallel._SECONDS", seconds)
        np.testing.assert_array_equal(fitted_bits(n_jobs=2), serial)


@pytest.mark.filterwarnings("ignore:lbfgs failed to converge")
def test_the_same_bits_however_predictions_are_handed_out(monkeypatch):
    serial = fitted_bits(n_jobs=1)
    monkeypatch.setattr("stablebag.learning.fitting._SMALL_PREDICTION", 0)
    np.testing.assert_array_equal(fitted_bits(n_jobs=2), serial)
    monkeypatch.setattr("stablebag.learning.fitting._BLOCK_BYTES", 1)
    np.testing.assert_array_equal(fitted_bits(n_jobs=2), serial)


@pytest.mark.filterwarnings("ignore")
def test_the_same_bits_on_a_dask_cluster():
    distributed = pytest.importorskip("distributed")
    serial = fitted_bits(n_jobs=1)
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster),
        joblib.parallel_config(backend="dask"),
    ):
        np.testing.assert_array_equal(fitted_bits(n_jobs=-1), serial)


def test_streaming_gives_the_same_predictions_and_keeps_no_model(data):
    X, y = data
    bags, seeds = Subbagging(0.5).resolve(30).draw(20, random_state=0), Seeds(0).learner_seeds(0, 20)
    job = FitJob(DecisionTreeRegressor(), X, y, bags, seeds)
    kept = list(predict_bags(list(fit_bags(job)), seeds, X))
    for n_jobs in (1, 2):
        streamed = list(fit_and_predict_bags(job, X, n_jobs=n_jobs))
        np.testing.assert_array_equal(streamed, kept)


def test_read_only_memory_maps_are_taken(tmp_path, data):
    X, y = data
    joblib.dump((X, y), tmp_path / "data")
    X_map, y_map = joblib.load(tmp_path / "data", mmap_mode="r")
    for n_jobs in (1, 2):
        model = BaggedRegressor(SVR(), n_bags=8, n_jobs=n_jobs, random_state=0).fit(X_map, y_map)
        expected = BaggedRegressor(SVR(), n_bags=8, random_state=0).fit(X, y).predict(X)
        np.testing.assert_array_equal(model.predict(X_map), expected)


def test_every_bag_is_fitted_by_one_thread_of_blas():
    def threads(X, y, seed):
        return lambda points: np.full(len(points), max(pool["num_threads"] for pool in threadpool_info()))

    X = np.zeros((10, 1))
    for n_jobs in (1, 2):
        model = BaggedRegressor(FunctionRegressor(threads), n_bags=4, prediction_range=None, n_jobs=n_jobs)
        assert (model.fit(X, X.ravel()).predict(X) == 1).all()


INTERRUPTED = """
import sys
import numpy as np
sys.path.insert(0, {tests!r})
from learners import Sleeper
from stablebag import BaggedRegressor
X = np.zeros((20, 1))
print("fitting", flush=True)
try:
    BaggedRegressor(Sleeper({folder!r}), n_bags=10_000, n_jobs={n_jobs}).fit(X, X.ravel())
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_interrupt_stops_promptly_and_leaves_no_workers(n_jobs, tmp_path):
    code = INTERRUPTED.format(tests=os.path.dirname(os.path.dirname(__file__)), folder=str(tmp_path), n_jobs=n_jobs)
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as process:
        while len(list(tmp_path.iterdir())) < n_jobs:  # until the workers are at work
            time.sleep(0.05)
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=60)
    assert "interrupted" in output
    for name in tmp_path.iterdir():
        with pytest.raises(ProcessLookupError):
            os.kill(int(name.name), 0)


def test_streams_of_votes(data):
    X, _ = data
    y = np.repeat([0, 1, 2], 10)
    bags, seeds = Subbagging(0.5).resolve(30).draw(10, random_state=0), Seeds(0).learner_seeds(0, 10)
    job = FitJob(SGDClassifier(loss="hinge"), X, y, bags, seeds, classes=np.unique(y))
    votes = np.array(list(fit_and_predict_bags(job, X)))
    assert votes.shape == (10, 30, 3)
    assert set(np.unique(votes)) == {0.0, 1.0}
    np.testing.assert_array_equal(votes.sum(axis=2), 1)


# --------------------------------------------------------------------------------------------- what a second look found


def invalid_for_even_seeds(X, y, seed):
    DecisionTreeRegressor(max_depth=seed % 2).fit(X, y)  # max_depth=0 is refused, whoever else was validated before
    return lambda points: np.zeros(len(points))


def test_learners_that_validate_inside_do_so_in_every_bag(data):
    X, y = data
    messages = []
    for n_jobs in (1, 2):
        model = BaggedRegressor(FunctionRegressor(invalid_for_even_seeds), n_bags=32, n_jobs=n_jobs, random_state=0)
        with pytest.raises(ValueError, match="max_depth") as caught:
            model.fit(X, y)
        messages.append(str(caught.value))
    assert messages[0] == messages[1]


def test_a_search_inside_gives_the_same_for_any_number_of_jobs(data):
    X, y = data
    search = GridSearchCV(DecisionTreeRegressor(random_state=0), {"max_depth": [0, 3]}, cv=2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        models = [BaggedRegressor(search, n_bags=8, n_jobs=n_jobs, random_state=0).fit(X, y) for n_jobs in (1, 2)]
    assert all(fitted.best_params_ == {"max_depth": 3} for model in models for fitted in model.estimators_)
    np.testing.assert_array_equal(*[model.predict(X) for model in models])


def test_the_learners_order_of_classes_does_not_matter():
    X, y = np.zeros((40, 1)), np.array(["a"] * 30 + ["b"] * 8 + ["c"] * 2)
    model = BaggedClassifier(Reversed(), n_bags=50, random_state=0).fit(X, y)
    assert model.predict(X[:1]) == ["a"]
    np.testing.assert_allclose(model.predict_proba(X[:1])[0], [0.75, 0.2, 0.05], atol=0.04)


@pytest.mark.parametrize(("learner", "words"), [
    (Says(probabilities=[-50.0, 50.0]), "not between 0 and 1"),
    (Says(probabilities=[0.2, 0.2]), "not between 0 and 1 with sum 1"),
    (Says(probabilities=[1.0]), "have shape"),
    (Says(probabilities=0.0), "have shape"),
    (Says(label=99), "predicts the class .*99.*, which is not among"),
])  # fmt: skip
def test_what_is_no_probability_and_no_class_is_an_error(learner, words):
    X, y = np.zeros((10, 1)), np.repeat([0, 1], 5)
    model = BaggedClassifier(learner, n_bags=3, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match=words):
        model.predict_proba(X)


def test_ensembles_inside_ensembles_seed_their_own_learners(data):
    X, y = data
    inner = BaggedRegressor(SGDRegressor(), n_bags=4)
    assert random_state_names(inner) == ["random_state"]
    model = BaggedRegressor(inner, n_bags=2, random_state=0).fit(X, y)
    seeds = [fitted.random_state for outer in model.estimators_ for fitted in outer.estimators_]
    assert len(set(seeds)) == 8


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int64, np.uint8, bool, object])
def test_trees_give_the_same_bits_as_scikit_learn_for_any_type(dtype):
    rng = np.random.default_rng(0)
    X, y = (rng.random((40, 3)) * 5).astype(dtype), rng.normal(size=40)
    model = BaggedRegressor(DecisionTreeRegressor(random_state=0), n_bags=5, random_state=0).fit(X, y)
    each = model.bag_predictions(X)
    for bag, prediction in zip(model.bags_, each, strict=True):
        tree = DecisionTreeRegressor(random_state=0).fit(X[bag], y[bag])
        np.testing.assert_array_equal(np.clip(tree.predict(X), y.min(), y.max()), prediction)


@pytest.mark.filterwarnings("ignore:overflow encountered in cast")
@pytest.mark.parametrize("value", [np.inf, 1e300])
def test_values_that_trees_cannot_hold_are_refused_by_them(value, data):
    X, y = data
    X = X.copy()
    X[:, 0] = value
    with pytest.raises(ValueError, match=r"failed to fit on bag 0.*(infinity|too large)"):
        BaggedRegressor(n_bags=2).fit(X, y)


def test_a_learner_that_inherits_nothing_is_taken(data):
    X, y = data
    model = BaggedRegressor(Bare(), n_bags=30, random_state=0).fit(X, y)
    assert [fitted.random_state for fitted in model.estimators_] == Seeds(0).learner_seeds(0, 30).tolist()
    assert abs(model.predict(X)[0] - y.mean()) < 0.2
    assert "Bare" in model._repr_html_()


def test_a_learner_that_is_its_own_clone_is_not_seeded(data):
    learner = OwnClone()
    BaggedRegressor(learner, n_bags=3, random_state=0).fit(*data)
    assert learner.random_state is None


@pytest.mark.parametrize("value", [np.array(3), {1, 2}, "text", 7, {"a": 1}, None])
def test_fit_parameters_that_are_not_per_row_are_passed_whole_to_each_bag(value, data):
    model = BaggedRegressor(RowRecorder(), n_bags=2).fit(*data, tag=value)
    assert model.estimators_[0].tag_ == value
    assert type(model.estimators_[0].tag_) is type(value)
    if isinstance(value, dict | set | np.ndarray):
        assert len({id(value), *(id(fitted.tag_) for fitted in model.estimators_)}) == 3


def test_threads_that_overlap_leave_the_process_as_it_was(data):
    X, y = data
    before = [pool["num_threads"] for pool in threadpool_info()]
    models = [BaggedRegressor(n_bags=n_bags, random_state=0) for n_bags in (20, 60, 40)]
    threads = [threading.Thread(target=model.fit, args=(X, y)) for model in models]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [pool["num_threads"] for pool in threadpool_info()] == before
    bags, seeds = Subbagging(0.5).resolve(30).draw(5, 0), Seeds(0).learner_seeds(0, 5)
    stream = fit_and_predict_bags(FitJob(RowRecorder(), X, y, bags, seeds), X)
    next(stream)
    assert [pool["num_threads"] for pool in threadpool_info()] == before  # also between two predictions


@pytest.mark.filterwarnings("ignore:.*have been cancelled")  # warning filters are not safe among threads
def test_threads_stop_when_their_results_are_no_longer_wanted(data, tmp_path):
    X, y = data
    bags, seeds = Subbagging(0.5).resolve(30).draw(2000, random_state=0), Seeds(0).learner_seeds(0, 2000)

    job = FitJob(Sleeper(str(tmp_path), 0.001), X, y, bags, seeds)
    with joblib.parallel_config(backend="threading"), closing(fit_bags(job, n_jobs=2)) as fitting:
        next(fitting)
    time.sleep(0.3)
    fitted = sum(len(file.read_text()) for file in tmp_path.iterdir())
    time.sleep(0.5)
    assert sum(len(file.read_text()) for file in tmp_path.iterdir()) == fitted < 2000
