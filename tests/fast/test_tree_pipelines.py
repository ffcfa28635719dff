import os
import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeRegressor

from fast.reader_cases import case
from marks import solver_compared
from stablebag import BaggedClassifier, BaggedRegressor, BernoulliSubbagging, forget, learn
from stablebag.fast.native import library as loading
from stablebag.fast.reader import ReadTree, TreePipelines
from stablebag.models.rows import Points
from stablebag.models.solving import NotCovered, same_model
from stablebag.tables.columns import Columns

pytestmark = solver_compared
N_CASES = int(os.environ.get("STABLEBAG_READER_CASES", "40"))
FIRST = int(os.environ.get("STABLEBAG_TEST_SEED", "0")) * 1000
RNG = np.random.default_rng(0)
N = 60
X = pd.DataFrame(
    {
        "age": np.where(RNG.random(N) < 0.1, np.nan, RNG.normal(50, 10, N)),
        "rooms": RNG.integers(1, 9, N),
        "town": RNG.choice(["Rome", "Oslo", "Lima"], N),
        "seen": pd.date_range("2024-01-01", periods=N),
        "said": [" ".join(RNG.choice(["sun", "moon", "sky", "sea"], 4)) for _ in range(N)],
    }
).astype({"town": object, "said": object})
X.loc[7, "town"] = "Aachen"  # the only one, and the first in order
X.loc[11, "age"] = 1e6
Y = X["rooms"].to_numpy() + RNG.normal(size=N)
LABELS = np.where(Y > 5, "yes", "no")
NEW = X.sample(20, random_state=0).assign(town="Quito")
COLUMNS = Columns.of(X)


def model_of(*, classes=False, learner=None, **parameters):
    kind, tree = (BaggedClassifier, DecisionTreeClassifier()) if classes else (BaggedRegressor, DecisionTreeRegressor())
    settings = {"n_bags": 6, "random_state": 0, **parameters}
    return kind(COLUMNS.pipeline(tree if learner is None else learner), **settings)


def fitted(*, classes=False, **parameters):
    return model_of(classes=classes, **parameters).fit(X, LABELS if classes else Y)


def asked(model, points):
    return (model.predict_proba if hasattr(model, "classes_") else model.predict)(points).tobytes()


def check_same(model, expected):
    """Check that two ensembles predict the same bits and have the same models."""
    for points in (X, NEW):
        assert asked(model, points) == asked(expected, points)
    assert all(map(same_model, model.estimators_, expected.estimators_))


@pytest.fixture(scope="module", params=[False, True], ids=["numbers", "classes"])
def pair(request):
    """A model of the solver, and the same by scikit-learn."""
    classes = {"classes": request.param}
    return fitted(**classes), fitted(solver="scikit-learn", **classes)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::UserWarning")  # of bags with nearly as many classes as rows
@pytest.mark.parametrize("number", range(FIRST, FIRST + N_CASES))
def test_models_and_predictions_are_scikit_learns_to_the_last_bit(number):
    assert case(number).is_same()


def test_ensembles_are_scikit_learns_to_the_last_bit(pair):
    model, expected = pair
    assert str(model.solver_) == "reader and trees"
    assert model.estimators_.n_arrays == 6
    check_same(model, expected)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_any_number_of_jobs_gives_the_same_bits(pair, n_jobs):
    model, expected = pair
    check_same(clone(model).set_params(n_jobs=n_jobs).fit(X, LABELS if hasattr(model, "classes_") else Y), expected)


def test_without_the_library_scikit_learn_fits_and_models_that_were_solved_predict_the_same_bits(pair, monkeypatch):
    model, expected = pair
    kept = pickle.dumps(model)
    monkeypatch.setattr(loading, "PATH", loading.PATH.with_name("nothing.so"))
    check_same(pickle.loads(kept), expected)
    without = clone(model).fit(X, LABELS if hasattr(model, "classes_") else Y)
    assert without.solver_.name == "scikit-learn"
    check_same(without, expected)


def test_pickled_models_are_the_same(pair):
    model, expected = pair
    again = pickle.loads(pickle.dumps(model))
    assert all(type(one) is ReadTree for one in again.estimators_.stored)
    check_same(again, expected)


@pytest.mark.parametrize("rows", [[7], [0, 3, 11]])
def test_rows_are_forgotten_as_if_they_had_never_been_there(pair, rows):
    model, expected = pair
    without = forget(model, rows)
    assert without.estimators_.n_arrays == 6
    check_same(without, forget(expected, rows))
    assert "Aachen" in str([one.names for one in model.estimators_.stored])
    if 7 in rows:
        assert "Aachen" not in str([one.names for one in without.estimators_.stored])


def test_rows_with_new_categories_are_learned():
    more = X[:2].assign(town="Aalen").set_axis([N, N + 1])
    some, plain = fitted(), fitted(solver="scikit-learn")
    check_same(learn(some, more, Y[:2]), learn(plain, more, Y[:2]))


def test_a_warm_start_goes_on_with_the_same_bits():
    model = fitted(n_bags=3, warm_start=True)
    model.set_params(n_bags=6).fit(X, Y)
    check_same(model, fitted(solver="scikit-learn"))


@pytest.mark.slow
def test_bags_without_rows_and_with_one_class_are_left_out_of_it():
    small = {"scheme": BernoulliSubbagging(0.03), "n_bags": 40}
    model, expected = fitted(classes=True, **small), fitted(classes=True, solver="scikit-learn", **small)
    assert 0 < model.estimators_.n_arrays < 40
    assert asked(model, X) == asked(expected, X)


def test_points_of_other_types_are_for_scikit_learn(pair):
    model, expected = pair
    points = [
        X.assign(age=X["age"].astype(np.float32), rooms=X["rooms"].astype(np.float32)),
        X.assign(age=X["age"].astype("Float64")),
    ]
    for some in points:
        assert model.estimators_.structure.predictor(Points(some)) is None
        assert asked(model, some) == asked(expected, some)
    for wrong, why in [(X.assign(age=np.inf), "infinity"), (X.drop(columns="age"), "age"), (X.assign(age="x"), "x")]:
        for one in pair:
            with pytest.raises(ValueError, match=why):
                asked(one, wrong)


@pytest.mark.filterwarnings("ignore:overflow encountered in cast")
def test_a_point_that_is_too_far_for_floats_is_refused_by_the_estimator(pair):
    for model in pair:
        with pytest.raises(ValueError, match="too large for dtype"):
            asked(model, X.assign(age=1e80))


def test_a_line_does_not_depend_on_the_other_models(pair):
    models = pair[0].estimators_
    predict = models.structure.predictor(Points(NEW))
    alone = np.concatenate([predict([model]) for model in models.stored])
    assert predict(models.stored).tobytes() == alone.tobytes()


def test_settings_that_change_what_transformers_return_are_left_to_scikit_learn(pair):
    structure, job = pair[0].estimators_.structure, case(0).job()
    assert structure.predictor(Points(X)) is not None
    with config_context(transform_output="pandas"):
        assert structure.predictor(Points(X)) is None
        with pytest.raises(NotCovered, match="transform_output"):
            TreePipelines(job)


@pytest.mark.parametrize(
    ("learner", "why"),
    [
        (DecisionTreeRegressor(max_leaf_nodes=4), "max_leaf_nodes=4"),
        (DecisionTreeRegressor(criterion="absolute_error"), "criterion="),
        (ExtraTreeRegressor(), "ends in ExtraTreeRegressor"),
    ],
)
def test_other_trees_are_left_to_scikit_learn(learner, why):
    assert why in fitted(learner=learner, n_bags=2).solver_.why


def test_a_pipeline_is_taken_by_its_two_exact_steps():
    def takes(*steps):
        return TreePipelines.takes(Pipeline([(str(place), step) for place, step in enumerate(steps)]))

    reader, tree = ColumnTransformer([("a", StandardScaler(), ["a"])]), DecisionTreeRegressor()
    assert takes(reader, tree)
    assert not takes(reader, StandardScaler(), tree)
    assert not takes(StandardScaler(), tree)
    assert not takes(tree)
    assert not TreePipelines.takes(tree)


def test_an_array_has_no_columns_to_read():
    job = case(0).job()
    with pytest.raises(NotCovered, match="a table of type ndarray"):
        TreePipelines(type(job)(job.learner, np.zeros((3, 2)), np.zeros(3), job.bags, job.seeds))


def test_a_function_of_ones_own_is_left_to_scikit_learn():
    model = model_of()
    model.estimator.steps[0][1].transformers[1][1].steps[0][1].func = lambda frame: frame.astype(str)
    assert "each row by itself" in model.set_params(n_bags=2).fit(X, Y).solver_.why
