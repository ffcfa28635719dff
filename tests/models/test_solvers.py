"""Solvers: their interface, the general way, what is covered, and the choice of one that makes the same models."""

import copy
import importlib
import pickle
import warnings
from typing import ClassVar

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from scipy import sparse
from sklearn.base import clone
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from threadpoolctl import threadpool_info, threadpool_limits

from learners import RowRecorder
from marks import since, solver_chosen
from means import Mean, Means, WrongMeans, WrongPredictions
from stablebag import BaggedClassifier, BaggedRegressor, BernoulliSubbagging, Subbagging, forget
from stablebag.fast.native import library as growing
from stablebag.fast.native.library import library
from stablebag.models import solving as choice
from stablebag.models.ensemble import prepare_fit
from stablebag.models.rows import Points, is_per_row
from stablebag.models.solving import (
    FitJob,
    General,
    NotCovered,
    Solver,
    Structure,
    anything,
    as_matrix,
    call_method,
    check_parameters,
    converted,
    is_tree,
    same_model,
)
from stablebag.resampling import Bags

# ------------------------------------------------------------------------------------------- the interface of solvers

X_INTERFACE, Y_INTERFACE = np.zeros((4, 1)), np.array([1.0, 2.0, 3.0, 6.0])


def job_of_interface(learner):
    return FitJob(learner, X_INTERFACE, Y_INTERFACE, Bags([[0, 3], [1, 1]], n_samples=4), np.array([7, 8]))


def test_solvers_and_structures_must_define_the_abstract_methods():
    class Silent(Solver):
        pass

    class Still(Structure):
        pass

    with pytest.raises(TypeError, match="abstract"):
        Silent(job_of_interface(Mean()))
    with pytest.raises(TypeError, match="abstract"):
        Still()


def test_arrays_become_the_estimator_that_scikit_learn_would_fit():
    solver = Means(job_of_interface(Mean(shift=1.0)))
    model = solver.fit(np.array([0, 3]), 7)
    made, fitted = solver.structure.estimator(model, 7), Mean(1.0, 7).fit(X_INTERFACE[:2], Y_INTERFACE[[0, 3]])
    assert vars(made) == vars(fitted)
    assert solver.structure.predictor(Points(X_INTERFACE))([model, model]).tolist() == [[4.5] * 4] * 2


def test_job_that_is_not_covered_raises_with_the_reason():
    with pytest.raises(NotCovered, match="the shift is negative"):
        Means(job_of_interface(Mean(shift=-1.0)))


def test_solvers_cover_exact_types_only():
    class Other(Mean):
        pass

    assert Means.takes(Mean())
    assert not Means.takes(Other())


# ---------------------------------------------------------------------------------------------------- the general way

X_GENERAL, Y_GENERAL = np.random.default_rng(0).normal(size=(12, 2)), np.arange(12.0)


def job_of_general(learner, **fit_params):
    bags = Bags([[0, 1, 1, 5], [7, 2, 3, 4]], n_samples=12)
    return FitJob(learner, X_GENERAL, Y_GENERAL, bags, np.array([3, 4]), fit_params=fit_params)


def test_general_fit_is_one_fit_of_the_learner_to_its_rows():
    job = job_of_general(Ridge(), sample_weight=np.arange(1.0, 13.0))
    general = General(job)
    for rows, seed in zip(job.bags, job.seeds, strict=True):
        expected = Ridge(random_state=int(seed)).fit(
            X_GENERAL[rows], Y_GENERAL[rows], sample_weight=np.arange(1.0, 13.0)[rows]
        )
        assert same_model(general.fit(rows, int(seed)), expected)


def test_learner_gets_no_other_row():
    job = job_of_general(RowRecorder())
    rows = job.bags[1]
    model = General(job).fit(rows, 4)
    np.testing.assert_array_equal(model.X_, X_GENERAL[rows])


def test_parameter_as_long_as_the_table_is_one_per_row():
    assert is_per_row(np.ones(12), 12)
    assert is_per_row([1] * 12, 12)
    assert not is_per_row(np.ones(11), 12)
    assert not is_per_row("twelve chars", 12)


# --------------------------------------------------------------------------------------------- what is converted once


@pytest.fixture
def data():
    return np.arange(60.0).reshape(30, 2), np.random.default_rng(0).normal(size=30)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int64, np.uint8, bool, object])
def test_trees_have_scikit_learns_bits_for_any_dtype(dtype):
    rng = np.random.default_rng(0)
    X, y = (rng.random((40, 3)) * 5).astype(dtype), rng.normal(size=40)
    model = BaggedRegressor(DecisionTreeRegressor(random_state=0), n_bags=5, random_state=0).fit(X, y)
    each = model.bag_predictions(X)
    for bag, prediction in zip(model.bags_, each, strict=True):
        tree = DecisionTreeRegressor(random_state=0).fit(X[bag], y[bag])
        np.testing.assert_array_equal(np.clip(tree.predict(X), y.min(), y.max()), prediction)


@pytest.mark.filterwarnings("ignore:overflow encountered in cast")
@pytest.mark.parametrize("value", [np.inf, 1e300])
def test_values_beyond_float32_raise_in_trees(value, data):
    X, y = data
    X = X.copy()
    X[:, 0] = value
    with pytest.raises(ValueError, match=r"failed to fit on bag 0.*(infinity|too large)"):
        BaggedRegressor(n_bags=2).fit(X, y)


def job_of_converted(learner, X, y):
    return FitJob(learner, X, y, Bags([np.arange(len(y))], len(y)), np.array([0]))


def test_rows_of_trees_are_converted_and_checked_once(data):
    prepared = converted(job_of_converted(DecisionTreeRegressor(), *data))
    assert prepared.X.dtype == np.float32
    np.testing.assert_array_equal(prepared.X, data[0])
    assert prepared.fit_params == {"check_input": False}


@pytest.mark.parametrize("make", [sparse.csr_array, pd.DataFrame, lambda X: np.where(X == 0, np.nan, X)])
def test_tables_that_trees_must_check_are_not_converted(make, data):
    job = job_of_converted(DecisionTreeRegressor(), make(data[0]), data[1])
    assert converted(job) is job


def test_poisson_criterion_still_checks_the_targets(data):
    X, y = data
    assert converted(job := job_of_converted(DecisionTreeRegressor(criterion="poisson"), X, y)) is job
    with pytest.raises(ValueError, match=r"failed to fit on bag 0.*Some value\(s\) of y are negative"):
        BaggedRegressor(DecisionTreeRegressor(criterion="poisson"), n_bags=2).fit(X, -1 - np.abs(y))


def test_call_method_works_for_trees_and_constant_models(data):
    X, y = data
    points = Points(X)
    tree, constant = DecisionTreeRegressor(random_state=0).fit(X, y), DummyRegressor().fit(X, y)
    np.testing.assert_array_equal(call_method(tree, points, "predict", harmless=True), tree.predict(X))
    np.testing.assert_array_equal(call_method(constant, points, "predict", harmless=True), np.full(30, y.mean()))


def test_subclasses_of_trees_are_not_converted():
    class Mine(DecisionTreeRegressor):
        pass

    assert is_tree(DecisionTreeRegressor())
    assert not is_tree(Mine())


@pytest.mark.parametrize("make", [sparse.bsr_array, sparse.coo_array, sparse.lil_array, sparse.dok_array])
def test_sparse_formats_that_cannot_select_rows_are_converted_once(make, data):
    job = job_of_converted(Ridge(), make(data[0]), data[1])
    prepared = converted(job)
    assert prepared.X.format == "csr"
    np.testing.assert_array_equal(prepared.X.toarray(), data[0])
    assert job.X.format != "csr"
    assert prepared.bags is job.bags


@pytest.mark.parametrize("make", [np.array, sparse.csr_array, sparse.csc_array, sparse.csc_matrix])
def test_other_tables_are_not_converted(make, data):
    job = job_of_converted(Ridge(), make(data[0]), data[1])
    assert converted(job) is job


# --------------------------------------------------------------------------------------------------------- parameters


def test_defaults_are_covered():
    check_parameters(Ridge())
    check_parameters(DecisionTreeRegressor())


def test_allowed_values_are_covered():
    check_parameters(Ridge(alpha=3.0, solver="cholesky"), alpha=anything, solver=("auto", "cholesky"))
    check_parameters(Ridge(alpha=3.0), alpha=lambda value: value > 0)


@pytest.mark.parametrize(
    ("learner", "about"),
    [(Ridge(positive=True), r"Ridge\(positive=True\)"), (Ridge(solver="svd"), "solver='svd'"),
     (Ridge(alpha=-1.0), "alpha=-1.0"), (Ridge(fit_intercept=1), "fit_intercept=1")],
)  # fmt: skip
def test_first_uncovered_parameter_is_named(learner, about):
    with pytest.raises(NotCovered, match=about):
        check_parameters(learner, alpha=lambda value: value > 0, solver=("auto", "cholesky"))


def test_learner_with_an_extra_attribute_is_not_covered():
    learner = Ridge()
    learner.fit = lambda X, y: learner
    with pytest.raises(NotCovered, match="has the attribute fit"):
        check_parameters(learner)


# ----------------------------------------------------------------------------------------------------- the same model

RNG_SAME = np.random.default_rng(0)
X_SAME, Y_SAME = RNG_SAME.normal(size=(40, 3)), RNG_SAME.normal(size=40)
LEARNERS = [
    (DecisionTreeRegressor(random_state=0), Y_SAME),
    (Ridge(), Y_SAME),
    (LogisticRegression(), Y_SAME > 0),
    (make_pipeline(StandardScaler(), Ridge()), Y_SAME),
]


@pytest.mark.parametrize(("learner", "y"), LEARNERS, ids=lambda part: type(part).__name__)
def test_same_model_accepts_two_fits_to_the_same_rows(learner, y):
    from sklearn.base import clone

    assert same_model(clone(learner).fit(X_SAME, y), clone(learner).fit(X_SAME, y))


@pytest.mark.parametrize(("learner", "y"), LEARNERS, ids=lambda part: type(part).__name__)
def test_same_model_notices_a_missing_row(learner, y):
    from sklearn.base import clone

    assert not same_model(clone(learner).fit(X_SAME, y), clone(learner).fit(X_SAME[1:], y[1:]))


def test_same_model_notices_the_last_bit():
    one, other = Ridge().fit(X_SAME, Y_SAME), Ridge().fit(X_SAME, Y_SAME)
    other.coef_ = np.nextafter(other.coef_, np.inf)
    assert not same_model(one, other)


def test_same_model_notices_the_sign_of_zero_and_accepts_equal_nan():
    assert not same_model(np.array([0.0]), np.array([-0.0]))
    assert same_model(np.array([np.nan]), np.array([np.nan]))
    assert same_model(np.nan, np.nan)
    assert not same_model(0.0, -0.0)
    assert not same_model(np.float64(0.0), np.float64(-0.0))
    assert not same_model(np.array([None, 0.0]), np.array([None, -0.0]))
    assert same_model(np.array([None, np.nan, "a"]), np.array([None, float("nan"), "a"]))


@pytest.mark.parametrize(
    ("one", "other"),
    [(1, 1.0), (1, True), (np.float64(1), 1.0), ([1], (1,)), ({"a": 1}, {"b": 1}), (np.ones(2), np.ones(3)), (len, max),
     (np.ones(2), np.ones(2, dtype=np.float32)), ([1], [1, 2]), (slice(0, 1), slice(0, 2))],
)  # fmt: skip
def test_same_model_notices_types_and_shapes(one, other):
    assert not same_model(one, other)


def test_same_model_notices_a_missing_attribute():
    one, other = Ridge().fit(X_SAME, Y_SAME), Ridge().fit(X_SAME, Y_SAME)
    del other.n_features_in_
    assert not same_model(one, other)


def test_same_model_compares_search_trees():
    from sklearn.neighbors import KNeighborsRegressor

    one, other = (KNeighborsRegressor(algorithm="kd_tree").fit(rows, Y_SAME) for rows in (X_SAME, X_SAME + 1))
    assert same_model(one._tree, KNeighborsRegressor(algorithm="kd_tree").fit(X_SAME, Y_SAME)._tree)
    assert not same_model(one._tree, other._tree)


# ------------------------------------------------------------------------------------------------------------- tables


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, np.int64, np.uint8])
def test_as_matrix_accepts_arrays_of_numbers(dtype):
    X = np.arange(6).reshape(3, 2).astype(dtype)
    matrix, names = as_matrix(X)
    assert matrix is X
    assert names is None


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_as_matrix_returns_the_column_names_of_a_frame(frame):
    matrix, names = as_matrix(frame({"a": [1, 2], "b": [0.5, 1.5]}))
    np.testing.assert_array_equal(matrix, [[1, 0.5], [2, 1.5]])
    assert matrix.dtype == float
    assert names.tolist() == ["a", "b"]


@pytest.mark.parametrize(
    "table",
    [np.array([["a"]]), np.array([[True]]), np.array([[1j]]), np.array([[1]], dtype=object), np.ma.array([[1.0]]),
     sparse.csr_array(np.eye(2)), [[1.0]], np.ones((1, 1, 1)),
     pd.DataFrame({"a": [True]}), pd.DataFrame({"a": ["x"]}), pd.DataFrame({0: [1.0]}),
     pd.DataFrame([[1.0, 2.0]], columns=["a", "a"]), pd.DataFrame({"a": pd.array([1, None], dtype="Int64")}),
     pd.DataFrame({"a": pd.Categorical([1])}), pl.DataFrame({"a": [1, None]}), pl.DataFrame({"a": [1.0, None]}),
     pl.DataFrame({"a": ["x"]}), pl.DataFrame({"a": [True]})],
)  # fmt: skip
def test_as_matrix_does_not_cover_other_tables(table):
    with pytest.raises(NotCovered, match="not covered"):
        as_matrix(table)


# --------------------------------------------------------------------------------------------- the choice of a solver

RNG_CHOICE = np.random.default_rng(0)
X_CHOICE, Y_CHOICE = RNG_CHOICE.normal(size=(30, 2)), RNG_CHOICE.normal(size=30)


compiled = pytest.mark.skipif(library() is None, reason="there is no compiled library")


@pytest.fixture
def use(monkeypatch):
    def register(*kinds):
        monkeypatch.setattr(choice, "SOLVERS", kinds)
        Mean.n_fits.clear()

    return register


def model_of(learner=None, **more):
    return BaggedRegressor(Mean() if learner is None else learner, **{"n_bags": 20, "random_state": 0, **more})


def expected(**more):
    return model_of(solver="scikit-learn", **more).fit(X_CHOICE, Y_CHOICE)


def test_solver_fits_all_bags_and_the_learner_only_the_first(use):
    use(Means)
    model = model_of().fit(X_CHOICE, Y_CHOICE)
    assert len(Mean.n_fits) == 1
    assert str(model.solver_) == "means"
    assert model.estimators_.n_arrays == 20


def test_solved_models_and_predictions_equal_the_learners(use):
    use(Means)
    model, plain = model_of().fit(X_CHOICE, Y_CHOICE), expected()
    assert [vars(one) for one in model.estimators_] == [vars(one) for one in plain.estimators_]
    np.testing.assert_array_equal(model.bag_predictions(X_CHOICE), plain.bag_predictions(X_CHOICE))
    np.testing.assert_array_equal(model.predict(X_CHOICE), plain.predict(X_CHOICE))


@pytest.mark.parametrize("kind", [WrongMeans, WrongPredictions])
def test_solver_with_other_models_or_predictions_is_not_used(kind, use):
    use(kind)
    model = model_of().fit(X_CHOICE, Y_CHOICE)
    assert "of bag 0 differed from scikit-learn's" in str(model.solver_)
    assert model.solver_.name == "scikit-learn"
    assert model.estimators_.n_arrays == 0
    np.testing.assert_array_equal(model.predict(X_CHOICE), expected().predict(X_CHOICE))


def test_handed_back_bags_are_fitted_by_the_learner_and_counted(use):
    use(Means)
    y = Y_CHOICE.copy()
    y[0] = 1e9
    model = model_of(prediction_range=None).fit(X_CHOICE, y)
    outside = sum(0 not in bag for bag in model.bags_)
    assert 0 < outside < 20
    assert model.estimators_.n_arrays == outside
    assert str(model.solver_) == f"means; {20 - outside} bags by scikit-learn"
    plain = model_of(prediction_range=None, solver="scikit-learn").fit(X_CHOICE, y)
    np.testing.assert_array_equal(model.predict(X_CHOICE), plain.predict(X_CHOICE))


class OwnMean(Mean):
    """May do anything."""


@pytest.mark.parametrize(
    ("model", "fit_params", "why"),
    [(model_of(solver="scikit-learn"), {}, 'of solver="scikit-learn"'),
     (model_of(OwnMean()), {}, "there is no solver for OwnMean"),
     (model_of(Mean(shift=-1.0)), {}, "the shift is negative"),
     (model_of(n_bags=1), {}, "there is only one bag")],
)  # fmt: skip
def test_solver_attribute_says_why_no_solver_is_used(model, fit_params, why, use):
    use(Means)
    assert str(model.fit(X_CHOICE, Y_CHOICE, **fit_params).solver_) == f"scikit-learn, because {why}"


@solver_chosen
def test_fit_parameters_are_not_covered_by_solvers():
    model = BaggedRegressor(Ridge(), n_bags=5, random_state=0).fit(X_CHOICE, Y_CHOICE, sample_weight=np.ones(30))
    assert str(model.solver_) == "scikit-learn, because sample_weight was passed to fit"


class NumbersOfThreads(Means):
    """Notes the threads that it has."""

    seen: ClassVar[set[int]] = set()

    def fit(self, rows, seed):
        self.seen.update(pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas")
        return super().fit(rows, seed)


def test_solver_is_verified_with_one_thread(use):
    use(NumbersOfThreads)
    with threadpool_limits(2, user_api="blas"):
        choice.with_solver(prepare_fit(model_of(), X_CHOICE, Y_CHOICE))
    assert NumbersOfThreads.seen == {1}


def test_empty_bags_do_not_affect_the_choice_of_a_solver(use):
    use(Means)
    model = model_of(scheme=BernoulliSubbagging(1e-6), n_bags=30).fit(X_CHOICE, Y_CHOICE)
    assert str(model.solver_) == "means"
    assert model.estimators_.n_arrays == 0
    assert Mean.n_fits == []


def test_untested_version_of_scikit_learn_uses_no_solver(use, monkeypatch):
    use(Means)
    monkeypatch.setattr(sklearn, "__version__", "1.10.2")
    model = model_of().fit(X_CHOICE, Y_CHOICE)
    reason = f"the solver for Mean was tested with scikit-learn 1.6 to {choice.VERIFIED[-1]}, and this is 1.10"
    assert str(model.solver_) == f"scikit-learn, because {reason}"
    np.testing.assert_array_equal(model.predict(X_CHOICE), expected().predict(X_CHOICE))


def test_installed_version_is_covered_by_every_solver():
    importlib.import_module("stablebag.fast")
    version = ".".join(sklearn.__version__.split(".")[:2])
    verified = {kind.name for kind in choice.SOLVERS if version in kind.versions}
    assert {"trees", "reader and trees", "linear", "neighbours"} <= verified


def test_array_api_dispatch_is_not_covered(use, monkeypatch):
    use(Means)
    monkeypatch.setattr(sklearn, "get_config", lambda: {"array_api_dispatch": True})
    assert "array_api_dispatch" in str(model_of().fit(X_CHOICE, Y_CHOICE).solver_)


@pytest.mark.parametrize("solver", ["fast", None, 1, ["auto"]])
def test_unknown_solver_raises(solver):
    with pytest.raises(ValueError, match="'solver' parameter of BaggedRegressor must be one of 'auto', 'scikit-learn'"):
        model_of(solver=solver).fit(X_CHOICE, Y_CHOICE)


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_workers_create_their_own_solver(backend, use):
    use(Means)
    import joblib

    with joblib.parallel_config(backend=backend):
        model = model_of(n_jobs=2).fit(X_CHOICE, Y_CHOICE)
    assert str(model.solver_) == "means"
    np.testing.assert_array_equal(model.predict(X_CHOICE), expected().predict(X_CHOICE))


def test_warm_start_uses_the_solver_again(use):
    use(Means)
    model = model_of(n_bags=8, warm_start=True).fit(X_CHOICE, Y_CHOICE)
    model.set_params(n_bags=20).fit(X_CHOICE, Y_CHOICE)
    assert model.estimators_.n_arrays == 20
    np.testing.assert_array_equal(model.predict(X_CHOICE), expected().predict(X_CHOICE))


def test_forget_keeps_models_as_arrays(use):
    use(Means)
    model = model_of().fit(X_CHOICE, Y_CHOICE)
    without = forget(model, [3])
    assert without.estimators_.n_arrays == 20
    again = forget(expected(), [3])
    np.testing.assert_array_equal(without.predict(X_CHOICE), again.predict(X_CHOICE))


def test_estimators_predict_at_points_that_the_solver_does_not_cover(use):
    use(Means)
    model = model_of().fit(X_CHOICE, Y_CHOICE)
    points = X_CHOICE.copy()
    points[0, 0] = np.nan
    np.testing.assert_array_equal(model.predict(points), expected().predict(X_CHOICE))


def test_pickled_model_has_the_solvers_name_but_not_its_rows(use):
    use(Means)
    model = model_of(keep_rows=False).fit(X_CHOICE, Y_CHOICE)
    again = pickle.loads(pickle.dumps(model))
    assert again.solver_ == model.solver_
    assert again.solver_.solver is None
    np.testing.assert_array_equal(again.predict(X_CHOICE), model.predict(X_CHOICE))


@solver_chosen
@compiled
def test_removed_class_does_not_shift_the_others():
    y = np.repeat(["a", "b", "c"], 10)
    y[0] = "A"  # the only one of its class, and the first in order
    model = BaggedClassifier(n_bags=20, random_state=0).fit(X_CHOICE, y)
    assert str(model.solver_) == "trees"
    without, plain = forget(model, [0]), forget(model.set_params(solver="scikit-learn").fit(X_CHOICE, y), [0])
    assert without.classes_.tolist() == ["a", "b", "c"]
    np.testing.assert_array_equal(without.predict_proba(X_CHOICE), plain.predict_proba(X_CHOICE))


@pytest.mark.parametrize("more", [0, 1])
def test_warm_start_with_one_new_bag_keeps_the_solvers_name(more, use):
    use(Means)
    model = model_of(warm_start=True).fit(X_CHOICE, Y_CHOICE)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that no bags were added
        model.set_params(n_bags=20 + more).fit(X_CHOICE, Y_CHOICE)
    assert model.solver_.name == "means"
    assert model.solver_.n_handed_back == more
    np.testing.assert_array_equal(model.predict(X_CHOICE), expected(n_bags=20 + more).predict(X_CHOICE))


TIES = RNG_CHOICE.integers(0, 4, size=(60, 3)).astype(float)
ROUGH = RNG_CHOICE.normal(size=60)


@solver_chosen
@compiled
def test_without_memory_for_a_tree_scikit_learn_grows_it(monkeypatch):
    space = growing.Grower._space

    def scarce(self, n_rows):
        if n_rows > 25:
            raise MemoryError
        return space(self, n_rows)

    def nothing(*arguments, **more):
        raise MemoryError

    def fitted(**more):
        return BaggedRegressor(scheme=BernoulliSubbagging(0.4), n_bags=20, random_state=0, **more).fit(TIES, ROUGH)

    expected = fitted(solver="scikit-learn")
    monkeypatch.setattr(growing.Grower, "_space", scarce)
    model = fitted()
    assert 0 < model.solver_.n_handed_back < 20
    np.testing.assert_array_equal(model.predict(TIES), expected.predict(TIES))
    monkeypatch.setattr(growing.Grower, "__init__", nothing)
    assert "not enough memory" in str(fitted().solver_)


@pytest.mark.parametrize("learner", [
    LogisticRegression(C=0.0), LogisticRegression(max_iter="a"), make_pipeline(LogisticRegression(tol=-1)),
    pytest.param(DecisionTreeClassifier(max_depth=0), marks=solver_chosen),
    pytest.param(DecisionTreeClassifier(max_features="most"), marks=solver_chosen), KNeighborsClassifier(0),
])  # fmt: skip
def test_invalid_parameters_raise_scikit_learns_error(learner):
    with pytest.raises(ValueError, match=r"failed to fit on bag 0.*InvalidParameterError"):
        BaggedClassifier(learner, n_bags=5).fit(X_CHOICE, Y_CHOICE > 0)


def test_worker_without_a_solver_for_its_bags_uses_the_learner(use, monkeypatch):
    use(Means)
    model = model_of(n_jobs=2)
    chosen = choice.with_solver(prepare_fit(model, X_CHOICE, Y_CHOICE))

    def refuse(self, job):
        raise NotCovered("not these bags")

    monkeypatch.setattr(Means, "__init__", refuse)
    far = pickle.loads(pickle.dumps(chosen.choice))
    assert far.solver_of(chosen) is None


@since("scikit-learn", "1.7", "it does not warn of many classes")
def test_solvers_give_the_same_warnings_as_scikit_learn():
    many = np.arange(30) % 25
    for learner in (DecisionTreeClassifier(), KNeighborsClassifier(1), LogisticRegression()):
        told = []
        for solver in ("auto", "scikit-learn"):
            with warnings.catch_warnings(record=True) as found:
                warnings.simplefilter("always")
                model = BaggedClassifier(learner, scheme=Subbagging(25), n_bags=4, solver=solver, random_state=0)
                model.fit(X_CHOICE, many).predict(X_CHOICE)
            told.append({str(one.message)[:50] for one in found if "unique classes" in str(one.message)})
        assert told[0] == told[1] != set()


# ------------------------------------------------------------------------------------- what others do after the fit

KINDS = [
    DecisionTreeRegressor(max_depth=3), make_pipeline(StandardScaler(), Ridge()), Ridge(fit_intercept=False),
    KNeighborsRegressor(3),
]  # fmt: skip


def solved(learner, X_CHOICE=X_CHOICE, **more):
    model = BaggedRegressor(learner, n_bags=8, random_state=0, **more).fit(X_CHOICE, Y_CHOICE)
    assert model.solver_.name != "scikit-learn" or more
    return model


@solver_chosen
@pytest.mark.parametrize("learner", KINDS, ids=str)
def test_solved_model_does_not_change_with_the_callers_table_and_learner(learner):
    table, own = X_CHOICE.copy(), clone(learner)
    model = solved(own, table)
    before, estimator = model.predict(X_CHOICE), model.estimators_[2]
    table[:] = 0
    change = {"max_depth": 1, "ridge__alpha": 50.0, "alpha": 50.0, "n_neighbors": 9}
    own.set_params(**{name: value for name, value in change.items() if name in own.get_params()})
    for one in (model, pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        np.testing.assert_array_equal(one.predict(X_CHOICE), before)
        assert str(one.estimators_[2].get_params()) == str(estimator.get_params())


@pytest.mark.parametrize("solver", ["auto", "scikit-learn"])
@pytest.mark.parametrize("learner", KINDS, ids=str)
def test_forget_raises_if_parameters_changed(learner, solver):
    model = solved(clone(learner), solver=solver)
    without = forget(model, [3]).predict(X_CHOICE)
    change = {"max_depth": 1, "ridge__fit_intercept": False, "fit_intercept": True, "n_neighbors": 5}
    name, value = next((name, value) for name, value in change.items() if name in learner.get_params())
    model.estimator.set_params(**{name: value})
    with pytest.raises(ValueError, match=rf"fitted bags: estimator__{name} changed since fit\. Refit the model"):
        forget(model, [3])
    model.estimator.set_params(**{name: learner.get_params()[name]})
    other = "scikit-learn" if solver == "auto" else "auto"  # the bits are the same
    np.testing.assert_array_equal(forget(model.set_params(n_jobs=1, solver=other), [3]).predict(X_CHOICE), without)


# --------------------------------------------------------------------------------------------- points out of the way


@solver_chosen
@pytest.mark.filterwarnings("ignore:overflow encountered")
@pytest.mark.filterwarnings("ignore:invalid value encountered")
@pytest.mark.parametrize("size", [1e100, 1e153, 1e155, 1e200, 1e308])
@pytest.mark.parametrize("algorithm", ["kd_tree", "ball_tree", "brute"])
def test_points_at_infinite_distance_have_scikit_learns_neighbours(algorithm, size):
    far = np.array([[size, 0.0], [0.0, -size], [1.0, 1.0]])
    for learner in (KNeighborsRegressor(3, algorithm=algorithm), KNeighborsRegressor(1, algorithm=algorithm)):
        model, plain = solved(learner), solved(learner, solver="scikit-learn")
        np.testing.assert_array_equal(model.bag_predictions(far), plain.bag_predictions(far))


def test_infinite_values_from_a_step_raise_like_in_scikit_learn():
    learner = make_pipeline(StandardScaler(), StandardScaler(), Ridge())
    for solver in ("auto", "scikit-learn"):
        model = BaggedRegressor(learner, n_bags=4, solver=solver, random_state=0).fit(X_CHOICE * 1e-130, Y_CHOICE)
        with (
            pytest.raises(ValueError, match="Input X contains infinity"),
            np.errstate(over="ignore"),
        ):
            model.predict([[1e200, 0.0]])


@solver_chosen
def test_transform_output_setting_is_respected_when_predicting():
    learner = make_pipeline(StandardScaler(), Ridge())
    model, plain = solved(learner), solved(learner, solver="scikit-learn")
    for output in ("pandas", "polars"):
        with sklearn.config_context(transform_output=output), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about names of features
            np.testing.assert_array_equal(model.predict(X_CHOICE), plain.predict(X_CHOICE))


def test_solver_that_fails_in_verification_is_not_used(use):
    class Fails(Means):
        def fit(self, rows, seed):
            raise ZeroDivisionError("no")

    use(Fails)
    assert "verifying the solver failed (ZeroDivisionError: no)" in str(model_of().fit(X_CHOICE, Y_CHOICE).solver_)


@pytest.mark.parametrize("solver", ["auto", "scikit-learn"])
def test_learners_do_not_write_to_the_callers_frame(solver):
    frame = pd.DataFrame(X_CHOICE, columns=["a", "b"])
    points, before = frame[:8].copy(), frame[:8].copy()
    models = [
        BaggedRegressor(make_pipeline(StandardScaler(copy=copies), Ridge()), n_bags=8, solver=solver, random_state=0)
        for copies in (False, True)
    ]
    found = [model.fit(frame, Y_CHOICE).predict(points) for model in models]
    pd.testing.assert_frame_equal(points, before)
    np.testing.assert_array_equal(*found)
