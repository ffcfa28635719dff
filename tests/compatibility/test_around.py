"""Our estimators inside of what others wrap around estimators, and on tables of other libraries."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import StackingClassifier, StackingRegressor
from sklearn.inspection import partial_dependence, permutation_importance
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from stablebag import BaggedClassifier, BaggedRegressor, Subbagging, certify, select_model

FEW = {"n_bags": 6, "random_state": 0}


def bagged_trees():
    return BaggedRegressor(DecisionTreeRegressor(max_depth=3), **FEW)


def bagged_classes():
    return BaggedClassifier(DecisionTreeClassifier(max_depth=2), **FEW)


def test_mapie_accepts_bagged_models(needs, regression, classification):
    mapie = needs("mapie.regression", "mapie")
    X, y = regression
    peer = mapie.CrossConformalRegressor(bagged_trees(), confidence_level=0.8, cv=3, random_state=0)
    _, ends = peer.fit_conformalize(X, y).predict_interval(X)
    assert ends.shape == (30, 2, 1)
    assert (ends[:, 0, 0] < ends[:, 1, 0]).all()
    split = mapie.SplitConformalRegressor(bagged_trees().fit(X[:15], y[:15]), confidence_level=0.8, prefit=True)
    predicted, ends = split.conformalize(X[15:], y[15:]).predict_interval(X)
    assert (ends[:, 0, 0] <= predicted).all()
    sets = needs("mapie.classification", "mapie")
    X, y = classification
    split = sets.SplitConformalClassifier(bagged_classes().fit(X[:15], y[:15]), confidence_level=0.8, prefit=True)
    _, members = split.conformalize(X[15:], y[15:]).predict_set(X)
    assert members.shape == (30, 2, 1)


def test_inspection_accepts_bagged_models(regression):
    X, y = regression
    model = bagged_trees().fit(X, y)
    importances = permutation_importance(model, X, y, n_repeats=3, random_state=0).importances_mean
    assert importances.argmax() == 0
    curve = partial_dependence(model, X, [0], grid_resolution=4, kind="both")
    assert curve["individual"].shape == (1, 30, 4)
    assert curve["average"][0, 0] < curve["average"][0, -1]


def test_calibration_accepts_bagged_models(classification):
    X, y = classification
    model = CalibratedClassifierCV(bagged_classes(), cv=3).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1)


def test_stacking_accepts_bagged_models(regression, classification):
    X, y = regression
    stack = StackingRegressor([("bagged", bagged_trees()), ("ridge", Ridge())], Ridge(), cv=2).fit(X, y)
    assert stack.score(X, y) > 0.5
    assert certify(stack.named_estimators_["bagged"]).epsilon(0.1) > 0
    X, y = classification
    stack = StackingClassifier([("bagged", bagged_classes())], LogisticRegression(), cv=2).fit(X, y)
    assert set(stack.predict(X)) <= {"high", "low"}


def test_set_output_works_inside_bagged_models(claims):
    X, y = claims
    learner = make_pipeline(StandardScaler(), Ridge()).set_output(transform="pandas")
    model = BaggedRegressor(learner, **FEW).fit(X[["amount"]], y)
    assert list(model.estimators_[0][-1].feature_names_in_) == ["amount"]
    plain = BaggedRegressor(make_pipeline(StandardScaler(), Ridge()), **FEW).fit(X[["amount"]], y)
    np.testing.assert_array_equal(model.predict(X[["amount"]]), plain.predict(X[["amount"]]))


def test_scikit_learn_searches_accept_bagged_models(regression):
    X, y = regression
    grid = {"scheme__bag_size": [0.3, 0.6], "estimator__max_depth": [1, 3]}
    search = GridSearchCV(bagged_trees(), grid, cv=2).fit(X, y)
    assert search.best_estimator_.scheme.bag_size in (0.3, 0.6)
    assert len({len(bag) for bag in search.best_estimator_.bags_}) == 1


def test_optuna_tunes_bagged_models(needs, regression):
    optuna = needs("optuna", "optuna")
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    X, y = regression

    def error(trial):
        depth, size = trial.suggest_int("depth", 1, 3), trial.suggest_float("size", 0.3, 0.8)
        model = bagged_trees().set_params(estimator__max_depth=depth, scheme__bag_size=size)
        assert model.scheme == Subbagging(size)
        return cross_val_score(model, X, y, cv=2).mean()

    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.RandomSampler(seed=0))
    study.optimize(error, n_trials=3)
    best = bagged_trees().set_params(
        estimator__max_depth=study.best_params["depth"], scheme__bag_size=study.best_params["size"]
    )
    assert cross_val_score(best, X, y, cv=2).mean() == study.best_value


def test_optuna_studies_are_selectors(needs, regression):
    optuna = needs("optuna", "optuna")
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    X, y = regression
    seeds = set()

    def best_depth(X, y, seed):
        def score(trial):
            tree = DecisionTreeRegressor(max_depth=trial.suggest_int("max_depth", 1, 3), random_state=0)
            return cross_val_score(tree, X, y, cv=2).mean()

        seeds.add(seed)
        search = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=seed))
        search.optimize(score, n_trials=2)
        return tuple(sorted(search.best_params.items()))

    first, second = (select_model(best_depth, X, y, bagging=bagged_trees(), epsilon=0.5) for _ in range(2))
    assert first.winner in {(("max_depth", depth),) for depth in (1, 2, 3)}
    assert first.winner == second.winner
    assert len(seeds) == 6  # one for each bag, the same in both runs


def test_skops_saves_bagged_models(needs, regression):
    io = needs("skops.io", "skops")
    X, y = regression
    model = bagged_trees().fit(X, y)
    written = io.dumps(model)
    again = io.loads(written, trusted=io.get_untrusted_types(data=written))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert certify(again).epsilon(0.1) == certify(model).epsilon(0.1)


def test_pandas_tables_are_accepted(claims):
    X, y = claims
    model = BaggedRegressor(Ridge(), **FEW).fit(X[["amount"]], y, row_ids="index")
    assert list(model.feature_names_in_) == ["amount"]
    with pytest.raises(ValueError, match="feature names"):
        model.predict(X[["amount"]].rename(columns={"amount": "sum"}))


def test_polars_tables_are_accepted(needs, regression):
    polars = needs("polars", "polars")
    X, y = regression
    frame = polars.DataFrame(X, schema=["a", "b", "c"])
    model = bagged_trees().fit(frame, y)
    assert list(model.feature_names_in_) == ["a", "b", "c"]
    np.testing.assert_array_equal(model.predict(frame), bagged_trees().fit(X, y).predict(X))
    assert clone(model).fit(frame, polars.Series(y)).range_ == model.range_


def test_mlflow_autologging_ignores_bagged_models(needs, classification, monkeypatch, tmp_path):
    mlflow = needs("mlflow", "mlflow-skinny")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its own
        needs("mlflow.sklearn", "mlflow-skinny")
        mlflow.set_tracking_uri(f"file:{tmp_path / 'runs'}")
        mlflow.set_experiment("ours")
        mlflow.sklearn.autolog(log_models=False, log_datasets=False, silent=True)
        try:
            model = BaggedClassifier(SVC(), n_bags=5, random_state=0).fit(*classification)
            assert mlflow.search_runs(output_format="list") == []  # of bags
            SVC().fit(*classification)
            assert len(mlflow.search_runs(output_format="list")) == 1
            with mlflow.start_run():
                mlflow.log_metric("accuracy", model.score(*classification))
            assert len(mlflow.search_runs(output_format="list")) == 2
        finally:
            mlflow.sklearn.autolog(disable=True, silent=True)
