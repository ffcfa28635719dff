import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.linear_model import Lasso, LogisticRegression, Ridge
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from fast.linear_cases import (
    NUMBERS,
    TABLES,
    check_bag,
    check_junk,
    check_many,
    draw_logistic,
    draw_regression,
    solver_and_job,
    theirs,
)
from marks import since, solver_chosen, solver_compared
from stablebag.fast.linear import Linear, is_known
from stablebag.models.estimators import BaggedRegressor
from stablebag.models.fitting import Models
from stablebag.models.rows import Points
from stablebag.models.solving import FitJob, NotCovered, same_model

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(60, 5)), RNG.normal(size=60)
BAGS = [RNG.integers(0, 60, 40) for _ in range(5)]
PIPELINES = [
    make_pipeline(StandardScaler(), Ridge()),
    make_pipeline(SimpleImputer(), StandardScaler(with_mean=False), Ridge(fit_intercept=False)),
    pytest.param(
        make_pipeline(StandardScaler(with_std=False), SimpleImputer(strategy="median"), LogisticRegression()),
        marks=since("scipy", "1.15", "its minimizer has other arguments"),
    ),
    Pipeline([("only", Ridge())]),
]


def labelled(learner):
    return (Y > 0).astype(int) if isinstance(learner[-1], LogisticRegression) else Y


def draw_pipeline(rng):
    steps = []
    for _ in range(rng.integers(3)):
        scaler = StandardScaler(with_mean=bool(rng.integers(2)), with_std=bool(rng.integers(2)))
        steps.append(scaler if rng.random() < 0.6 else SimpleImputer(strategy=str(rng.choice(["mean", "median"]))))
    return make_pipeline(*steps, (draw_logistic if rng.random() >= 0.6 and is_known() else draw_regression)(rng))


@pytest.mark.slow
@solver_compared
@pytest.mark.parametrize("numbers", NUMBERS)
@pytest.mark.parametrize("table", TABLES)
def test_models_and_predictions_are_scikit_learns_to_the_last_bit(numbers, table):
    rng = np.random.default_rng([NUMBERS.index(numbers), TABLES.index(table)])
    assert check_many(rng, draw_pipeline, numbers, table, 6) > 1


@pytest.mark.parametrize("learner", PIPELINES, ids=str)
def test_rows_outside_of_the_bag_cannot_move_a_bit(learner):
    check_junk(learner, X, labelled(learner), np.full((60, 5), 1e139))


@pytest.mark.parametrize("learner", PIPELINES, ids=str)
def test_a_line_does_not_depend_on_the_other_models(learner):
    solver, _ = solver_and_job(learner, X, labelled(learner), BAGS)
    models = [solver.fit(bag, 0) for bag in BAGS]
    predict = solver.structure.predictor(Points(X))
    alone = np.concatenate([predict([model]) for model in models])
    assert predict(models).tobytes() == alone.tobytes()
    assert predict(models[::-1]).tobytes() == alone[::-1].tobytes()


@pytest.mark.parametrize("learner", PIPELINES, ids=str)
def test_pickled_models_are_the_same(learner):
    solver, _ = solver_and_job(learner, X, labelled(learner), BAGS)
    models = Models([solver.fit(bag, 0) for bag in BAGS], np.arange(5), solver.structure)
    back = pickle.loads(pickle.dumps(models))
    assert all(map(same_model, models, back))
    predicted = (found.structure.predictor(Points(X))(found.stored) for found in (models, back))
    assert next(predicted).tobytes() == next(predicted).tobytes()


@solver_compared
def test_only_the_first_step_knows_the_names():
    frame = pd.DataFrame(X, columns=list("abcde"))
    solver, job = solver_and_job(PIPELINES[0], frame, Y, BAGS)
    scaler, ridge = solver.structure.estimator(solver.fit(BAGS[0], 0), 0)
    assert scaler.feature_names_in_.tolist() == list("abcde")
    assert not hasattr(ridge, "feature_names_in_")
    assert check_bag(solver, job, 0, frame)


def test_a_scale_beyond_all_numbers_is_handed_back():
    tiny = np.where(np.arange(60)[:, np.newaxis] % 2, 1e-310, 0.0) * np.ones(5)
    solver, job = solver_and_job(make_pipeline(StandardScaler(), Ridge(alpha=0.0)), tiny, Y, BAGS)
    expected, warned = theirs(job, 0)
    model = solver.fit(BAGS[0], 0)
    assert model is None or (not warned and same_model(solver.structure.estimator(model, 0), expected))


@pytest.mark.parametrize(
    "learner",
    [make_pipeline(PCA(), Ridge()), make_pipeline(StandardScaler(), Lasso()), make_pipeline("passthrough", Ridge()),
     make_pipeline(StandardScaler(), Ridge(), memory="cache"), make_pipeline(StandardScaler(), Ridge(), verbose=True),
     make_pipeline(StandardScaler().set_output(transform="pandas"), Ridge()), Pipeline([])],
    ids=lambda learner: " ".join(type(part).__name__ for _, part in learner.steps),
)  # fmt: skip
def test_other_pipelines_are_not_covered(learner):
    with pytest.raises(NotCovered):
        Linear(FitJob(learner, X, Y, BAGS, np.arange(5)))


def test_settings_that_change_tables_are_not_covered():
    with config_context(transform_output="pandas"), pytest.raises(NotCovered, match="transform_output"):
        Linear(FitJob(PIPELINES[0], X, Y, BAGS, np.arange(5)))


def test_a_regression_of_labels_is_not_covered():
    with pytest.raises(NotCovered):
        Linear(FitJob(Ridge(), X, (Y > 0).astype(int), BAGS, np.arange(5), np.arange(2)))
    with pytest.raises(NotCovered):
        Linear(FitJob(LogisticRegression(), X, Y, BAGS, np.arange(5)))


@solver_chosen
@pytest.mark.parametrize("learner", [PIPELINES[0], PIPELINES[1]], ids=str)
def test_ensembles_are_fitted_by_it(learner):
    model = BaggedRegressor(learner, n_bags=4, random_state=0).fit(X, Y)
    plain = BaggedRegressor(learner, n_bags=4, random_state=0, solver="scikit-learn").fit(X, Y)
    assert str(model.solver_) == "linear"
    assert model.predict(X).tobytes() == plain.predict(X).tobytes()
