"""The seam: what reaches a learner, in which order, with which seed, and what comes back whatever the backend."""

import copy
import pickle
import re
import sys
import types
import weakref
from contextlib import contextmanager

import joblib
import numpy as np
import pytest
from joblib import parallel_config
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import LogisticRegression, Ridge, SGDClassifier, SGDRegressor
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR
from sklearn.tree import DecisionTreeRegressor

from learners import FailsOn, NeedsAllClasses, RowRecorder
from marks import since, solver_chosen
from stablebag import (
    BaggedClassifier,
    BaggedRegressor,
    BernoulliSubbagging,
    ClassicalBagging,
    FunctionRegressor,
    PoissonizedBagging,
    Subbagging,
    forget,
    leave_one_out_refit,
)
from stablebag._seeds import Seeds
from stablebag.fast.native.library import library
from stablebag.models import fitting
from stablebag.models.fitted import Fitted
from stablebag.models.fitting import Models, fit_and_predict_bags, fit_bags, predict_bags
from stablebag.models.solving import FitJob, same_model

from means import Mean, MeanArrays, MeanStructure  # isort: skip


# -------------------------------------------------------------------------------------------------------------- fitting

SCHEMES = [Subbagging(0.5), BernoulliSubbagging(0.3), ClassicalBagging(1.0), PoissonizedBagging(0.7)]


@pytest.fixture
def data():
    return np.arange(60.0).reshape(30, 2), np.random.default_rng(0).normal(size=30)


@pytest.mark.parametrize("scheme", SCHEMES, ids=str)
def test_learner_gets_the_rows_of_its_bag_in_order_with_repeats_and_its_seed(scheme, data):
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


@pytest.mark.parametrize("learner", [
    SVR(), SGDRegressor(max_iter=20, tol=None), HistGradientBoostingRegressor(max_iter=5, min_samples_leaf=5),
    make_pipeline(StandardScaler(), SVR()), DecisionTreeRegressor(),
], ids=lambda learner: type(learner).__name__)  # fmt: skip
def test_row_outside_a_bag_does_not_affect_its_model(learner):
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


def test_ensemble_equals_a_loop_over_its_bags(data):
    X, y = data
    model = BaggedRegressor(DecisionTreeRegressor(random_state=0), n_bags=25, random_state=1).fit(X, y)
    total = np.zeros(30)
    for bag in model.bags_:
        total += np.clip(DecisionTreeRegressor(random_state=0).fit(X[bag], y[bag]).predict(X), y.min(), y.max())
    np.testing.assert_array_equal(model.predict(X), total / 25)


def test_parameters_with_one_entry_per_row_are_sliced_and_others_are_not(data):
    X, y = data
    weight, names = np.arange(30.0), [f"row {i}" for i in range(30)]
    model = BaggedRegressor(RowRecorder(), n_bags=3, random_state=0).fit(X, y, sample_weight=weight, tag=names)
    for bag, learner in zip(model.bags_, model.estimators_, strict=True):
        np.testing.assert_array_equal(learner.sample_weight_, weight[bag])
        assert list(learner.tag_) == [names[row] for row in bag]
    model.fit(X, y, tag="the same for all")
    assert model.estimators_[0].tag_ == "the same for all"


def test_learner_is_not_fitted_to_empty_or_single_class_bags():
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
def test_error_in_fit_names_the_bag_its_size_and_its_classes(n_jobs):
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


def test_error_in_predict_names_the_bag(data):
    X, y = data
    model = BaggedRegressor(FailsOn(0.0, in_predict=True), n_bags=300, random_state=0).fit(X, y)
    with pytest.raises(RuntimeError, match=r"FailsOn failed to predict with the model of bag \d+: RuntimeError: boom"):
        model.predict(X)


# ------------------------------------------------------------------------------------------------- jobs, backends, bits


def fitted_bits(**settings):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(80, 30)), rng.integers(0, 3, 80)
    model = BaggedClassifier(LogisticRegression(max_iter=50), n_bags=37, random_state=0, **settings).fit(X, y)
    return model.predict_proba(rng.normal(size=(50, 30)))


def test_single_fit_starts_no_process(data, monkeypatch):
    def refuse(*given, **more):
        raise AssertionError

    monkeypatch.setattr(fitting, "results", refuse)
    X, y = data
    BaggedRegressor(SVR(), n_bags=1, n_jobs=2, random_state=0).fit(X, y)
    with pytest.raises(AssertionError):
        BaggedRegressor(SVR(), n_bags=2, n_jobs=2, random_state=0).fit(X, y)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:lbfgs failed to converge")
@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_n_jobs_and_backend_do_not_change_bits(backend):
    serial = fitted_bits(n_jobs=1)
    with joblib.parallel_config(backend=backend):
        np.testing.assert_array_equal(fitted_bits(n_jobs=2), serial)
        np.testing.assert_array_equal(fitted_bits(n_jobs=3), serial)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:lbfgs failed to converge")
def test_batch_size_does_not_change_bits(monkeypatch):
    serial = fitted_bits(n_jobs=1)
    for seconds in (0.0, 1e-3, 1e9):
        monkeypatch.setattr("stablebag.models.parallel._SECONDS", seconds)
        np.testing.assert_array_equal(fitted_bits(n_jobs=2), serial)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:lbfgs failed to converge")
def test_prediction_blocks_do_not_change_bits(monkeypatch):
    serial = fitted_bits(n_jobs=1)
    monkeypatch.setattr("stablebag.models.fitting._SMALL_PREDICTION", 0)
    np.testing.assert_array_equal(fitted_bits(n_jobs=2), serial)
    monkeypatch.setattr("stablebag.models.fitting._BLOCK_BYTES", 1)
    np.testing.assert_array_equal(fitted_bits(n_jobs=2), serial)


SOLVED = {
    "trees": DecisionTreeRegressor(max_features=2),
    "linear": make_pipeline(StandardScaler(), Ridge()),
    "neighbours": KNeighborsRegressor(3),
    "logistic": LogisticRegression(),
}


def solved(learner, **settings):
    """A model of a table with some ties."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 4)).round(1), rng.normal(size=60)
    kind = BaggedClassifier if isinstance(learner, LogisticRegression) else BaggedRegressor
    model = kind(learner, **{"n_bags": 13, "random_state": 0, **settings})
    return model.fit(X, y > 0 if kind is BaggedClassifier else y)


def assert_same_bits(model, expected):
    model, expected = copy.deepcopy((model, expected))  # a tree of neighbours counts how often it is asked
    assert all(map(same_model, model.estimators_, expected.estimators_))
    np.testing.assert_array_equal(model.bag_predictions(Fitted(model).X), expected.bag_predictions(Fitted(model).X))
    np.testing.assert_array_equal(model.predict(Fitted(model).X), expected.predict(Fitted(model).X))


@pytest.fixture(params=SOLVED)
def learner(request):
    if request.param == "trees" and library() is None:
        pytest.skip("There is no compiled library.")
    if request.param == "logistic":
        request.applymarker(since("scipy", "1.15", "its minimizer has other arguments"))
    return SOLVED[request.param]


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_solvers_have_scikit_learns_bits_for_any_n_jobs_and_backend(learner, backend):
    expected = solved(learner, solver="scikit-learn")
    with joblib.parallel_config(backend=backend):
        for n_jobs in (1, 2):
            model = solved(learner, n_jobs=n_jobs)
            assert model.estimators_.n_arrays == 13
            assert_same_bits(model, expected)


@pytest.mark.slow
@pytest.mark.kernels
def test_solvers_have_scikit_learns_bits_for_any_batch_size(learner, monkeypatch):
    expected = solved(learner, solver="scikit-learn")
    monkeypatch.setattr("stablebag.models.fitting._SMALL_PREDICTION", 0)
    for seconds in (0.0, 1e9):
        monkeypatch.setattr("stablebag.models.parallel._SECONDS", seconds)
        monkeypatch.setattr("stablebag.models.fitting._AT_ONCE", seconds)
        for n_jobs in (1, 2):
            assert_same_bits(solved(learner, n_jobs=n_jobs), expected)
    monkeypatch.setattr("stablebag.models.fitting._BLOCK_BYTES", 1)
    assert_same_bits(solved(learner, n_jobs=2), expected)


@pytest.mark.kernels
@solver_chosen
def test_solvers_have_scikit_learns_bits_after_warm_start_and_forget(learner):
    expected, warm = solved(learner, solver="scikit-learn"), solved(learner, n_bags=5, warm_start=True)
    assert_same_bits(warm.set_params(n_bags=13).fit(Fitted(warm).X, Fitted(warm).y), expected)
    for gone in ([7], [0, 31, 59]):
        without, rest = forget(solved(learner), gone), np.delete(np.arange(60), gone)
        assert without.estimators_.n_arrays == 13
        assert_same_bits(without, forget(expected, gone))
        fresh = solved(learner).set_params(scheme=without.scheme)
        assert_same_bits(without, fresh.fit(Fitted(expected).X[rest], Fitted(expected).y[rest], row_ids=rest))


ALIVE = weakref.WeakSet()


class Counted(DecisionTreeRegressor):
    """Is counted as long as it is alive."""

    def fit(self, X, y):
        ALIVE.add(self)
        return super().fit(X, y)


def test_streaming_does_not_store_models(data):
    X, y = data
    bags, seeds = Subbagging(0.5).resolve(30).draw(20, random_state=0), Seeds(0).learner_seeds(0, 20)
    job = FitJob(Counted(), X, y, bags, seeds)
    assert max(len(ALIVE) for _ in fit_and_predict_bags(job, X)) <= 2
    models = list(fit_bags(job))
    assert len(ALIVE) == len(models) == 20


def test_streaming_gives_the_same_predictions(data):
    X, y = data
    bags, seeds = Subbagging(0.5).resolve(30).draw(20, random_state=0), Seeds(0).learner_seeds(0, 20)
    job = FitJob(DecisionTreeRegressor(), X, y, bags, seeds)
    kept = np.concatenate(list(predict_bags(Models(fit_bags(job), seeds), X)))
    for n_jobs in (1, 2):
        streamed = list(fit_and_predict_bags(job, X, n_jobs=n_jobs))
        np.testing.assert_array_equal(streamed, kept)


def test_read_only_memory_maps_are_accepted(tmp_path, data):
    X, y = data
    joblib.dump((X, y), tmp_path / "data")
    X_map, y_map = joblib.load(tmp_path / "data", mmap_mode="r")
    for n_jobs in (1, 2):
        model = BaggedRegressor(SVR(), n_bags=8, n_jobs=n_jobs, random_state=0).fit(X_map, y_map)
        expected = BaggedRegressor(SVR(), n_bags=8, random_state=0).fit(X, y).predict(X)
        np.testing.assert_array_equal(model.predict(X_map), expected)


def test_streaming_gives_the_same_votes(data):
    X, _ = data
    y = np.repeat([0, 1, 2], 10)
    bags, seeds = Subbagging(0.5).resolve(30).draw(10, random_state=0), Seeds(0).learner_seeds(0, 10)
    job = FitJob(SGDClassifier(loss="hinge"), X, y, bags, seeds, classes=np.unique(y))
    votes = np.array(list(fit_and_predict_bags(job, X)))
    assert votes.shape == (10, 30, 3)
    assert set(np.unique(votes)) == {0.0, 1.0}
    np.testing.assert_array_equal(votes.sum(axis=2), 1)


# ------------------------------------------------------------------------------------------------- MLflow's autologging


class Autologging(types.ModuleType):
    """Stands in for MLflow's switch: on or off for the whole process, and turned back by whoever leaves first."""

    _AUTOLOGGING_GLOBALLY_DISABLED = False

    @contextmanager
    def disable_autologging(self):
        self._AUTOLOGGING_GLOBALLY_DISABLED = True
        yield
        self._AUTOLOGGING_GLOBALLY_DISABLED = False


@pytest.fixture
def logs(monkeypatch):
    """Whether something would have been logged: in each fit and each prediction of a learner."""
    switch, logs = Autologging("mlflow.utils.autologging_utils"), []
    monkeypatch.setitem(sys.modules, switch.__name__, switch)

    def would_log(X, y, seed):
        logs.append(not switch._AUTOLOGGING_GLOBALLY_DISABLED)
        return lambda points: logs.append(not switch._AUTOLOGGING_GLOBALLY_DISABLED) or np.full(len(points), y.mean())

    return switch, would_log, logs


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_mlflow_autologging_does_not_log_bags(logs, backend):
    switch, would_log, logged = logs
    X, y = np.arange(40.0).reshape(20, 2), np.arange(20.0)
    inner = BaggedRegressor(FunctionRegressor(would_log), n_bags=2)
    with parallel_config(backend=backend):
        model = BaggedRegressor(inner, n_bags=3, n_jobs=1 if backend == "loky" else 2, random_state=0).fit(X, y)
    leave_one_out_refit(inner, X, y, X[:2])
    model.predict(X)
    assert len(logged) > 20
    assert not any(logged)
    assert not switch._AUTOLOGGING_GLOBALLY_DISABLED  # and then it may log again


def test_mlflow_autologging_is_restored_even_after_an_error(logs):
    switch, would_log, _ = logs
    X, y = np.arange(40.0).reshape(20, 2), np.arange(20.0)
    with switch.disable_autologging():
        BaggedRegressor(FunctionRegressor(would_log), n_bags=2).fit(X, y)
        assert switch._AUTOLOGGING_GLOBALLY_DISABLED
    with pytest.raises(ValueError, match="y"):
        BaggedRegressor(n_bags=2).fit(X, ["a"] * 20)
    assert not switch._AUTOLOGGING_GLOBALLY_DISABLED


# --------------------------------------------------------------------------------------------------------------- models


def models():
    kept = [MeanArrays(np.array([2.0]), 3), DummyRegressor(), MeanArrays(np.array([5.0]), 4)]
    return Models(kept, np.array([7, 8, 9]), MeanStructure(0.5))


def test_estimators_are_built_on_access():
    some = models()
    assert len(some) == 3
    assert isinstance(some[0], Mean)
    assert (some[0].mean_, some[0].seed_, some[0].shift) == (2.0, 7, 0.5)
    assert some[-1].mean_ == 5.0
    assert some[1] is some.stored[1]
    assert some[0] is not some[0]


def test_models_are_a_sequence():
    some = models()
    assert [type(one) for one in some] == [Mean, DummyRegressor, Mean]
    assert [one.mean_[0] for one in some[::2]] == [2.0, 5.0]
    assert [type(one) for one in reversed(some)] == [Mean, DummyRegressor, Mean]
    with pytest.raises(IndexError):
        some[3]
    with pytest.raises(TypeError):
        some["0"]


def test_repr_shows_how_many_models_are_arrays():
    assert repr(models()) == "Models of 3 bags, 2 of them stored as arrays"
    assert not models().may_run_beside_others  # nothing is known of Mean
    assert Models([DummyRegressor()], np.array([1])).may_run_beside_others


def test_without_a_structure_all_models_are_estimators():
    some = Models([DummyRegressor()] * 2, np.array([1, 2]))
    assert some.n_arrays == 0
    assert isinstance(pickle.loads(pickle.dumps(some))[1], DummyRegressor)


def test_pickling_concatenates_arrays():
    state = models().__getstate__()
    assert state["packed"][0]["flat"].tolist() == [2.0, 5.0]
    again = pickle.loads(pickle.dumps(models()))
    assert [type(one) for one in again.stored] == [MeanArrays, DummyRegressor, MeanArrays]
    assert again.stored[2].size == 4
    assert again[2].mean_ == 5.0
    assert again.seeds.tolist() == [7, 8, 9]


def test_arrays_of_any_shape_survive_pickling():
    shapes = [(2, 3), (0, 3), (4, 1)]
    kept = [MeanArrays(np.arange(np.prod(shape)).reshape(shape), 1) for shape in shapes]
    again = pickle.loads(pickle.dumps(Models(kept, np.zeros(3, int), MeanStructure(0.0))))
    for one, other in zip(again.stored, kept, strict=True):
        np.testing.assert_array_equal(one.mean, other.mean)
        assert one.mean.shape == other.mean.shape


def test_bags_that_are_stored_alike_predict_together():
    some = models()
    assert list(some.runs(0, 3)) == [(range(1), True), (range(1, 2), False), (range(2, 3), True)]
    assert some.together(range(2, 3)) == [some.stored[2]]
    arrays = Models([some.stored[0], some.stored[2]] * 3, np.arange(6), MeanStructure(0.0))
    assert list(arrays.runs(1, 4)) == [(range(1, 4), True)]
    assert [one.size for one in arrays.together(range(1, 4))] == [4, 3, 4]
    mixed = Models([DummyRegressor()] * 2 + [some.stored[0]] * 2, np.arange(4), MeanStructure(0.0))
    assert list(mixed.runs(1, 4)) == [(range(1, 2), False), (range(2, 4), True)]


def test_structure_without_arrays_survives_pickling():
    again = pickle.loads(pickle.dumps(Models([DummyRegressor()], np.array([1]), MeanStructure(0.0))))
    assert isinstance(again[0], DummyRegressor)
    assert again.n_arrays == 0
