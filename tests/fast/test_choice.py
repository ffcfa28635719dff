import copy
import importlib
import pickle
import warnings
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from threadpoolctl import threadpool_info, threadpool_limits

from marks import since, solver_chosen
from means import Mean, Means, WrongMeans, WrongPredictions
from stablebag import BaggedClassifier, BaggedRegressor, BernoulliSubbagging, Subbagging, forget
from stablebag.fast.native import library as growing
from stablebag.fast.native.library import library
from stablebag.models import solving as choice
from stablebag.models.ensemble import prepare_fit
from stablebag.models.solving import NotCovered

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(30, 2)), RNG.normal(size=30)


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
    return model_of(solver="scikit-learn", **more).fit(X, Y)


def test_a_solver_fits_all_bags_and_the_learner_only_the_first(use):
    use(Means)
    model = model_of().fit(X, Y)
    assert len(Mean.n_fits) == 1
    assert str(model.solver_) == "means"
    assert model.estimators_.n_arrays == 20


def test_models_and_predictions_are_those_of_the_learner(use):
    use(Means)
    model, plain = model_of().fit(X, Y), expected()
    assert [vars(one) for one in model.estimators_] == [vars(one) for one in plain.estimators_]
    np.testing.assert_array_equal(model.bag_predictions(X), plain.bag_predictions(X))
    np.testing.assert_array_equal(model.predict(X), plain.predict(X))


@pytest.mark.parametrize("kind", [WrongMeans, WrongPredictions])
def test_what_does_not_come_out_the_same_is_not_used(kind, use):
    use(kind)
    model = model_of().fit(X, Y)
    assert "of bag 0 did not come out the same" in str(model.solver_)
    assert model.solver_.name == "scikit-learn"
    assert model.estimators_.n_arrays == 0
    np.testing.assert_array_equal(model.predict(X), expected().predict(X))


def test_bags_that_are_handed_back_are_fitted_by_the_learner_and_counted(use):
    use(Means)
    y = Y.copy()
    y[0] = 1e9
    model = model_of(prediction_range=None).fit(X, y)
    outside = sum(0 not in bag for bag in model.bags_)
    assert 0 < outside < 20
    assert model.estimators_.n_arrays == outside
    assert str(model.solver_) == f"means; {20 - outside} bags by scikit-learn"
    plain = model_of(prediction_range=None, solver="scikit-learn").fit(X, y)
    np.testing.assert_array_equal(model.predict(X), plain.predict(X))


class OwnMean(Mean):
    """May do anything."""


@pytest.mark.parametrize(
    ("model", "fit_params", "why"),
    [(model_of(solver="scikit-learn"), {}, "the parameter solver says so"),
     (model_of(OwnMean()), {}, "there is no solver for OwnMean"),
     (model_of(Mean(shift=-1.0)), {}, "the shift is negative"),
     (model_of(n_bags=1), {}, "there is only one bag")],
)  # fmt: skip
def test_why_the_learner_itself_is_fitted(model, fit_params, why, use):
    use(Means)
    assert str(model.fit(X, Y, **fit_params).solver_) == f"scikit-learn, because {why}"


@solver_chosen
def test_what_is_passed_to_fit_is_for_the_learner():
    model = BaggedRegressor(Ridge(), n_bags=5, random_state=0).fit(X, Y, sample_weight=np.ones(30))
    assert str(model.solver_) == "scikit-learn, because sample_weight was passed to fit"


class NumbersOfThreads(Means):
    """Notes the threads that it has."""

    seen: ClassVar[set[int]] = set()

    def fit(self, rows, seed):
        self.seen.update(pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas")
        return super().fit(rows, seed)


def test_a_solver_is_verified_on_one_thread_as_bags_are_fitted(use):
    use(NumbersOfThreads)
    with threadpool_limits(2, user_api="blas"):
        choice.with_solver(prepare_fit(model_of(), X, Y))
    assert NumbersOfThreads.seen == {1}


def test_bags_that_no_learner_sees_do_not_matter_for_the_choice(use):
    use(Means)
    model = model_of(scheme=BernoulliSubbagging(1e-6), n_bags=30).fit(X, Y)
    assert str(model.solver_) == "means"
    assert model.estimators_.n_arrays == 0
    assert Mean.n_fits == []


def test_another_version_of_scikit_learn_is_not_trusted(use, monkeypatch):
    use(Means)
    monkeypatch.setattr(sklearn, "__version__", "1.10.2")
    model = model_of().fit(X, Y)
    reason = f"the solver for Mean was verified for scikit-learn 1.6 to {choice.VERIFIED[-1]}, and this is 1.10"
    assert str(model.solver_) == f"scikit-learn, because {reason}"
    np.testing.assert_array_equal(model.predict(X), expected().predict(X))


def test_every_solver_was_verified_for_the_version_at_hand():
    importlib.import_module("stablebag.fast")
    version = ".".join(sklearn.__version__.split(".")[:2])
    verified = {kind.name for kind in choice.SOLVERS if version in kind.versions}
    assert {"trees", "reader and trees", "linear", "neighbours"} <= verified


def test_array_dispatch_is_left_to_scikit_learn(use, monkeypatch):
    use(Means)
    monkeypatch.setattr(sklearn, "get_config", lambda: {"array_api_dispatch": True})
    assert "array_api_dispatch" in str(model_of().fit(X, Y).solver_)


@pytest.mark.parametrize("solver", ["fast", None, 1, ["auto"]])
def test_a_solver_that_does_not_exist_is_refused(solver):
    with pytest.raises(ValueError, match="'solver' parameter of BaggedRegressor must be one of 'auto', 'scikit-learn'"):
        model_of(solver=solver).fit(X, Y)


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_workers_make_the_solver_for_themselves(backend, use):
    use(Means)
    import joblib

    with joblib.parallel_config(backend=backend):
        model = model_of(n_jobs=2).fit(X, Y)
    assert str(model.solver_) == "means"
    np.testing.assert_array_equal(model.predict(X), expected().predict(X))


def test_a_warm_start_goes_on_with_the_solver(use):
    use(Means)
    model = model_of(n_bags=8, warm_start=True).fit(X, Y)
    model.set_params(n_bags=20).fit(X, Y)
    assert model.estimators_.n_arrays == 20
    np.testing.assert_array_equal(model.predict(X), expected().predict(X))


def test_forgetting_keeps_arrays(use):
    use(Means)
    model = model_of().fit(X, Y)
    without = forget(model, [3])
    assert without.estimators_.n_arrays == 20
    again = forget(expected(), [3])
    np.testing.assert_array_equal(without.predict(X), again.predict(X))


def test_points_that_are_not_for_the_solver_are_for_the_estimators(use):
    use(Means)
    model = model_of().fit(X, Y)
    points = X.copy()
    points[0, 0] = np.nan
    np.testing.assert_array_equal(model.predict(points), expected().predict(X))


def test_a_pickled_model_keeps_what_was_used_but_no_rows_of_the_solver(use):
    use(Means)
    model = model_of(keep_rows=False).fit(X, Y)
    again = pickle.loads(pickle.dumps(model))
    assert again.solver_ == model.solver_
    assert again.solver_.solver is None
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


@solver_chosen
@compiled
def test_a_class_that_is_gone_does_not_shift_the_others():
    y = np.repeat(["a", "b", "c"], 10)
    y[0] = "A"  # the only one of its class, and the first in order
    model = BaggedClassifier(n_bags=20, random_state=0).fit(X, y)
    assert str(model.solver_) == "trees"
    without, plain = forget(model, [0]), forget(model.set_params(solver="scikit-learn").fit(X, y), [0])
    assert without.classes_.tolist() == ["a", "b", "c"]
    np.testing.assert_array_equal(without.predict_proba(X), plain.predict_proba(X))


@pytest.mark.parametrize("more", [0, 1])
def test_a_warm_start_of_few_bags_still_says_what_was_used(more, use):
    use(Means)
    model = model_of(warm_start=True).fit(X, Y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that no bags were added
        model.set_params(n_bags=20 + more).fit(X, Y)
    assert model.solver_.name == "means"
    assert model.solver_.n_handed_back == more
    np.testing.assert_array_equal(model.predict(X), expected(n_bags=20 + more).predict(X))


TIES = RNG.integers(0, 4, size=(60, 3)).astype(float)
ROUGH = RNG.normal(size=60)


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
    assert "no memory" in str(fitted().solver_)


@pytest.mark.parametrize("learner", [
    LogisticRegression(C=0.0), LogisticRegression(max_iter="a"), make_pipeline(LogisticRegression(tol=-1)),
    pytest.param(DecisionTreeClassifier(max_depth=0), marks=solver_chosen),
    pytest.param(DecisionTreeClassifier(max_features="most"), marks=solver_chosen), KNeighborsClassifier(0),
])  # fmt: skip
def test_parameters_that_scikit_learn_refuses_are_refused_by_it(learner):
    with pytest.raises(ValueError, match=r"failed to fit on bag 0.*InvalidParameterError"):
        BaggedClassifier(learner, n_bags=5).fit(X, Y > 0)


def test_a_worker_whose_bags_are_not_for_the_solver_uses_the_learner(use, monkeypatch):
    use(Means)
    model = model_of(n_jobs=2)
    chosen = choice.with_solver(prepare_fit(model, X, Y))

    def refuse(self, job):
        raise NotCovered("not these bags")

    monkeypatch.setattr(Means, "__init__", refuse)
    far = pickle.loads(pickle.dumps(chosen.choice))
    assert far.solver_of(chosen) is None


@since("scikit-learn", "1.7", "it does not warn of many classes")
def test_warnings_that_scikit_learn_gives_for_each_bag_are_given_for_each():
    many = np.arange(30) % 25
    for learner in (DecisionTreeClassifier(), KNeighborsClassifier(1), LogisticRegression()):
        told = []
        for solver in ("auto", "scikit-learn"):
            with warnings.catch_warnings(record=True) as found:
                warnings.simplefilter("always")
                model = BaggedClassifier(learner, scheme=Subbagging(25), n_bags=4, solver=solver, random_state=0)
                model.fit(X, many).predict(X)
            told.append({str(one.message)[:50] for one in found if "unique classes" in str(one.message)})
        assert told[0] == told[1] != set()


# ------------------------------------------------------------------------------------- what others do after the fit

KINDS = [
    DecisionTreeRegressor(max_depth=3), make_pipeline(StandardScaler(), Ridge()), Ridge(fit_intercept=False),
    KNeighborsRegressor(3),
]  # fmt: skip


def solved(learner, X=X, **more):
    model = BaggedRegressor(learner, n_bags=8, random_state=0, **more).fit(X, Y)
    assert model.solver_.name != "scikit-learn" or more
    return model


@solver_chosen
@pytest.mark.parametrize("learner", KINDS, ids=str)
def test_a_fitted_model_does_not_change_with_the_callers_table_and_learner(learner):
    table, own = X.copy(), clone(learner)
    model = solved(own, table)
    before, estimator = model.predict(X), model.estimators_[2]
    table[:] = 0
    change = {"max_depth": 1, "ridge__alpha": 50.0, "alpha": 50.0, "n_neighbors": 9}
    own.set_params(**{name: value for name, value in change.items() if name in own.get_params()})
    for one in (model, pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        np.testing.assert_array_equal(one.predict(X), before)
        assert str(one.estimators_[2].get_params()) == str(estimator.get_params())


@pytest.mark.parametrize("solver", ["auto", "scikit-learn"])
@pytest.mark.parametrize("learner", KINDS, ids=str)
def test_rows_are_not_forgotten_with_other_parameters(learner, solver):
    model = solved(clone(learner), solver=solver)
    without = forget(model, [3]).predict(X)
    change = {"max_depth": 1, "ridge__fit_intercept": False, "fit_intercept": True, "n_neighbors": 5}
    name, value = next((name, value) for name, value in change.items() if name in learner.get_params())
    model.estimator.set_params(**{name: value})
    with pytest.raises(ValueError, match=rf"other parameters: estimator__{name} changed\. Fit anew"):
        forget(model, [3])
    model.estimator.set_params(**{name: learner.get_params()[name]})
    other = "scikit-learn" if solver == "auto" else "auto"  # the bits are the same
    np.testing.assert_array_equal(forget(model.set_params(n_jobs=1, solver=other), [3]).predict(X), without)


# --------------------------------------------------------------------------------------------- points out of the way


@solver_chosen
@pytest.mark.filterwarnings("ignore:overflow encountered")
@pytest.mark.filterwarnings("ignore:invalid value encountered")
@pytest.mark.parametrize("size", [1e100, 1e153, 1e155, 1e200, 1e308])
@pytest.mark.parametrize("algorithm", ["kd_tree", "ball_tree", "brute"])
def test_points_that_are_too_far_for_floats_have_scikit_learns_neighbours(algorithm, size):
    far = np.array([[size, 0.0], [0.0, -size], [1.0, 1.0]])
    for learner in (KNeighborsRegressor(3, algorithm=algorithm), KNeighborsRegressor(1, algorithm=algorithm)):
        model, plain = solved(learner), solved(learner, solver="scikit-learn")
        np.testing.assert_array_equal(model.bag_predictions(far), plain.bag_predictions(far))


def test_what_a_step_makes_infinite_is_refused_as_scikit_learn_does():
    learner = make_pipeline(StandardScaler(), StandardScaler(), Ridge())
    for solver in ("auto", "scikit-learn"):
        model = BaggedRegressor(learner, n_bags=4, solver=solver, random_state=0).fit(X * 1e-130, Y)
        with (
            pytest.raises(ValueError, match="Input X contains infinity"),
            np.errstate(over="ignore"),
        ):
            model.predict([[1e200, 0.0]])


@solver_chosen
def test_settings_of_transformers_count_also_when_predicting():
    learner = make_pipeline(StandardScaler(), Ridge())
    model, plain = solved(learner), solved(learner, solver="scikit-learn")
    for output in ("pandas", "polars"):
        with sklearn.config_context(transform_output=output), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about names of features
            np.testing.assert_array_equal(model.predict(X), plain.predict(X))


def test_a_solver_that_cannot_be_verified_is_not_used(use):
    class Fails(Means):
        def fit(self, rows, seed):
            raise ZeroDivisionError("no")

    use(Fails)
    assert "it could not be verified (ZeroDivisionError: no)" in str(model_of().fit(X, Y).solver_)


@pytest.mark.parametrize("solver", ["auto", "scikit-learn"])
def test_no_learner_writes_to_the_callers_frame(solver):
    frame = pd.DataFrame(X, columns=["a", "b"])
    points, before = frame[:8].copy(), frame[:8].copy()
    models = [
        BaggedRegressor(make_pipeline(StandardScaler(copy=copies), Ridge()), n_bags=8, solver=solver, random_state=0)
        for copies in (False, True)
    ]
    found = [model.fit(frame, Y).predict(points) for model in models]
    pd.testing.assert_frame_equal(points, before)
    np.testing.assert_array_equal(*found)
