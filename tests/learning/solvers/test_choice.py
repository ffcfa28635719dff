import pickle
import warnings

import numpy as np
import pytest
import sklearn
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier

from means import Mean, Means, WrongMeans, WrongPredictions
from stablebag import BaggedClassifier, BaggedRegressor, Subbagging, forget
from stablebag.learning.solvers import choice
from stablebag.learning.solvers.solver import NotCovered

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(30, 2)), RNG.normal(size=30)


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


def test_another_version_of_scikit_learn_is_not_trusted(use, monkeypatch):
    use(Means)
    monkeypatch.setattr(sklearn, "__version__", "2.7.3")
    why = str(model_of().fit(X, Y).solver_)
    assert why.endswith("was verified for version 1.6 and 1.7 and 1.8 and 1.9, and this is 2.7")


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


def in_row_order(**more):
    return BaggedRegressor(**{"n_bags": 20, "solver": "ties-in-row-order", "random_state": 0, **more})


def test_ties_in_row_order_are_the_same_for_a_warm_start_and_after_forgetting():
    warm = in_row_order(warm_start=True).fit(TIES, ROUGH).set_params(n_bags=21).fit(TIES, ROUGH)
    np.testing.assert_array_equal(warm.predict(TIES), in_row_order(n_bags=21).fit(TIES, ROUGH).predict(TIES))
    few = in_row_order(scheme=Subbagging(10), n_bags=15).fit(TIES, ROUGH)
    rows = [row for row in range(60) if len(few.bags_.with_any([row])) == 1]
    assert rows
    for row in rows[:5]:
        rest = np.delete(np.arange(60), row)
        fresh = in_row_order(scheme=Subbagging(10), n_bags=15).fit(TIES[rest], ROUGH[rest], row_ids=rest)
        np.testing.assert_array_equal(forget(few, [row]).predict(TIES), fresh.predict(TIES))


@pytest.mark.parametrize("learner", [
    LogisticRegression(C=0.0), LogisticRegression(max_iter="a"), make_pipeline(LogisticRegression(tol=-1)),
    DecisionTreeClassifier(max_depth=0), DecisionTreeClassifier(max_features="most"), KNeighborsClassifier(0),
])  # fmt: skip
def test_parameters_that_scikit_learn_refuses_are_refused_by_it(learner):
    with pytest.raises(ValueError, match=r"failed to fit on bag 0.*InvalidParameterError"):
        BaggedClassifier(learner, n_bags=5).fit(X, Y > 0)


def test_a_worker_whose_bags_are_not_for_the_solver_uses_the_learner(use, monkeypatch):
    use(Means)
    model = model_of(n_jobs=2)
    chosen = choice.chosen(model.prepare(X, Y))

    def refuse(self, job):
        raise NotCovered("not these bags")

    monkeypatch.setattr(Means, "__init__", refuse)
    far = pickle.loads(pickle.dumps(chosen.choice))
    assert far.solver_of(chosen) is None


def test_warnings_that_scikit_learn_gives_for_each_bag_are_given_for_each():
    many = np.arange(30) % 25
    for learner in (DecisionTreeClassifier(), KNeighborsClassifier(1)):
        told = []
        for solver in ("auto", "scikit-learn"):
            with warnings.catch_warnings(record=True) as found:
                warnings.simplefilter("always")
                model = BaggedClassifier(learner, scheme=Subbagging(25), n_bags=4, solver=solver, random_state=0)
                model.fit(X, many).predict(X)
            told.append({str(one.message)[:50] for one in found if "unique classes" in str(one.message)})
        assert told[0] == told[1] != set()
